"""The best tree there is: no other tree that is tried is better, and a bound that is too low changes nothing."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lowest_objective():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from optimum import lowest_objective
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return lowest_objective


def all_trees(X, rows, conditions, k):
    """Yield the cost and the conditions of every tree of k leaves over some rows."""
    if k == 1:
        yield float(((X[rows] - X[rows].mean(axis=0)) ** 2).sum()), len(rows) * len(conditions)
        return
    for feature in range(X.shape[1]):
        for cut in np.unique(X[rows, feature])[:-1]:
            left = X[rows, feature] <= cut
            for on_left in range(1, k):
                sides = (
                    list(all_trees(X, rows[left], conditions | {(feature, True)}, on_left)),
                    list(all_trees(X, rows[~left], conditions | {(feature, False)}, k - on_left)),
                )
                for (one, short), (other, long) in itertools.product(*sides):
                    yield one + other, short + long


@draws(60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([0.0, 0.03, 0.5]))
def test_it_is_the_lowest_of_all_trees(lowest_objective, seed, k, tradeoff):
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, size=(7, 2)).astype(float)
    trees = list(all_trees(X, np.arange(len(X)), frozenset(), k))
    assume(trees)
    reference = 1.0 + random.random()
    lowest = min(cost / reference + tradeoff * conditions / len(X) for cost, conditions in trees)
    for known in (lowest, 2 * lowest + 1):
        assert lowest_objective(X, X, k, reference, tradeoff, known) == pytest.approx(lowest, rel=1e-8, abs=1e-9)


def test_of_iris_a_bound_far_above_gives_the_same(lowest_objective):
    X = load_iris().data
    cost = KMeans(3, n_init=3, random_state=0).fit(X).inertia_
    one, other = (lowest_objective(X, X, 3, cost, 0.03, known) for known in (1.0798, 1.3))
    assert one == pytest.approx(other, rel=1e-9)
    assert one == pytest.approx(1.0797, abs=1e-4)

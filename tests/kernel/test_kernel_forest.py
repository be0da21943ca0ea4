"""The trees of several trade-offs: each is the tree that is grown alone."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws, few
from growths import EVERYTHING, assert_same, grow, grow_path, grown_once, version
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems
from tables import blobs

some = draws(150)


@some
@given(problems(), st.lists(st.sampled_from([0.0, 1e-3, 0.03, 0.3, 1.0, 10.0]), min_size=1, max_size=6))
def test_a_path_is_the_tree_of_each_tradeoff(problem, tradeoffs):
    path = grow_path(*problem.arrays, weight=problem.weight, tradeoffs=tradeoffs)
    for tradeoff, tree in zip(tradeoffs, path, strict=True):
        assert_same(tree, grow(*problem.arrays, weight=problem.weight, tradeoff=tradeoff))
    for i, one in enumerate(path):
        for two in path[:i]:
            equal = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in EVERYTHING)
            assert equal == (one is two)


@pytest.mark.slow
@pytest.mark.parametrize(("dense_limit", "kept_distances"), few([(None, 0), (1, 0), (5, 5), (128, 4), (128, 128)], 2))
def test_a_path_is_the_tree_of_each_tradeoff_on_tables_of_some_size(table, dense_limit, kept_distances):
    tradeoffs = [0.0, 0.3, 0.01, 0.03, 0.031, 0.3]
    with version(dense_limit=dense_limit, kept_distances=kept_distances):
        path = grow_path(*table.arrays, weight=table.weight, tradeoffs=tradeoffs, n_threads=2)
    for tradeoff, tree in zip(tradeoffs, path, strict=True):
        assert_same(tree, grown_once(table, tradeoff))
    assert path[1] is path[5]


def test_a_path_has_as_many_tradeoffs_as_are_asked_for():
    X = blobs(np.random.default_rng(4), 2000, 3, 8, 3.0)
    tradeoffs = list(np.linspace(0, 1, 150))
    path = grow_path(X, X, X[:8].copy(), X[:8].copy(), tradeoffs=tradeoffs)
    for i in (0, 63, 64, 127, 149):
        assert_same(path[i], grow(X, X, X[:8].copy(), X[:8].copy(), tradeoff=tradeoffs[i]))


def test_what_progress_raises_ends_a_path():
    X = blobs(np.random.default_rng(3), 200_000, 12, 20, 3.0)

    def refuse(done):
        assert 0 < done <= 1
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        grow_path(X, X, X[:20].copy(), X[:20].copy(), tradeoffs=[0.0, 0.03], n_threads=2, progress=refuse)

"""Searching under a bound in the kernel: the best cut of all, and never a worse tree."""

from __future__ import annotations

import numpy as np
import pytest
from clustered import Drawn
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from shallowrules._kernel import perturb_tree

seeds = st.integers(0, 2**32 - 1)
SETTINGS = (0.6, 1e-4, 0.3)


def searched(drawn, kind, bound, seed, passes=60.0, n_clusters=0, unit=1.0):
    total = float(len(drawn.columns) if drawn.weight is None else drawn.weight.sum())
    [found] = perturb_tree(
        drawn.coded, drawn.tree, condition_penalty=drawn.penalty, max_passes=passes, moves_leaves=True, seed=seed,
        settings=SETTINGS, n_clusters=n_clusters, goal=(kind, bound, unit, total),
    )  # fmt: skip
    return found, total


def with_own_centers(drawn):
    """Return the same tree with a cluster for each leaf."""
    leaves = np.flatnonzero(drawn.tree["feature"] < 0)
    drawn.tree["center"][leaves] = np.arange(len(leaves))
    drawn.k = len(leaves)
    return drawn


@draws(150)
@given(seeds, st.sampled_from(["length", "cost"]))
def test_of_two_leaves_it_finds_the_best_cut_of_all(seed, kind):
    drawn = with_own_centers(Drawn(seed, 1, 2))
    every = []
    for feature in range(drawn.columns.shape[1]):
        for cut in np.unique(drawn.columns[:, feature])[:-1]:
            tree = {name: array.copy() for name, array in drawn.tree.items()}
            tree["feature"][0], tree["cut"][0] = feature, cut
            every.append(drawn.figures(tree))
    costs = sorted(cost for cost, _ in every)
    bound = 1.0 if kind == "length" else costs[len(costs) // 2]  # one condition is all that two leaves have
    found, total = searched(drawn, kind, bound, seed, passes=400.0)
    drawn.check(found)
    assert found["after"][1] == pytest.approx(total)
    if kind == "length":
        assert found["after"][0] == pytest.approx(costs[0], rel=1e-8, abs=1e-9)
    else:
        assert found["after"][0] <= bound * (1 + 1e-9)


@draws(150)
@given(seeds, st.integers(2, 6), st.sampled_from(["length", "cost"]), st.booleans(), st.floats(0.7, 1.3))
def test_it_gets_no_worse_and_what_is_above_the_bound_counts_ten_times(seed, n_cuts, kind, unions, share):
    drawn = Drawn(seed, n_cuts, 2)
    if not unions:
        drawn = with_own_centers(drawn)
    before = drawn.figures(drawn.tree)
    unit = before[0] + 1e-9
    total = float(len(drawn.columns) if drawn.weight is None else drawn.weight.sum())
    bounded = kind == "length"

    def objective(figures, bound):
        low, held = (figures[0] / unit, figures[1] / total)[:: 1 if bounded else -1]
        return low + 10.0 * max(held - bound, 0.0)

    bound = share * (before[1] / total if bounded else before[0] / unit)
    found, _ = searched(drawn, kind, bound, seed, n_clusters=drawn.k if unions else 0, unit=unit)
    drawn.check(found)
    assert objective(found["after"], bound) <= objective(before, bound) * (1 + 1e-9)


@draws(60)
@given(seeds, st.integers(2, 6), st.sampled_from(["length", "cost"]))
def test_it_is_the_same_for_the_same_seed(seed, n_cuts, kind):
    drawn = with_own_centers(Drawn(seed, n_cuts, 2))
    one, other = (searched(drawn, kind, 1.5, seed)[0] for _ in range(2))
    for name in ("feature", "left", "right", "center", "cut"):
        np.testing.assert_array_equal(one[name], other[name])

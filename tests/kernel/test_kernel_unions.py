"""Clusters of several leaves in the kernel: against brute force, and against the figures that it claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clustered import Drawn
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from shallowrules._kernel import improve_tree, perturb_tree, split_leaves

seeds = st.integers(0, 2**32 - 1)
SETTINGS = (0.6, 1e-4, 0.3)


def cut_in_two(tree: dict[str, Any], leaf: int, feature: int, cut: float, left: int, right: int) -> dict[str, Any]:
    n = len(tree["feature"])
    names = ("feature", "left", "right", "center")
    after = {name: np.concatenate([tree[name], np.full(2, -1, np.int32)]) for name in names}
    after["cut"] = np.concatenate([tree["cut"], np.zeros(2)])
    after["feature"][leaf], after["cut"][leaf], after["left"][leaf], after["right"][leaf] = feature, cut, n, n + 1
    after["center"][leaf], after["center"][n], after["center"][n + 1] = -1, left, right
    return after


def best_cut(drawn: Drawn) -> float:
    """Return the lowest objective with one leaf cut in two for two clusters."""
    lowest, node = np.inf, drawn.leaves(drawn.tree)
    for leaf in np.unique(node):
        own = int(drawn.tree["center"][leaf])
        rows = drawn.columns[node == leaf]
        for feature in range(rows.shape[1]):
            for cut in np.unique(rows[:, feature])[:-1]:
                for other in set(range(drawn.k)) - {own}:
                    for pair in ((own, other), (other, own)):
                        lowest = min(lowest, drawn.objective(cut_in_two(drawn.tree, leaf, feature, cut, *pair)))
    return lowest


@draws(150)
@given(seeds, st.integers(1, 4), st.integers(2, 4))
def test_the_first_cut_is_the_best_of_all(seed, n_cuts, k):
    drawn = Drawn(seed, n_cuts, min(k, n_cuts + 1))
    options = {"n_clusters": drawn.k, "condition_penalty": drawn.penalty}
    found = split_leaves(drawn.coded, drawn.tree, n_leaves=n_cuts + 2, **options)
    before, lowest = drawn.objective(drawn.tree), best_cut(drawn)
    if not found:
        assert lowest >= before * (1 - 1e-8)
        return
    drawn.check(found[0])
    assert found[0]["before"] == pytest.approx(drawn.figures(drawn.tree), rel=1e-9)
    assert drawn.objective(found[0]) == pytest.approx(lowest, rel=1e-9, abs=1e-9)


@draws(150)
@given(seeds, st.integers(2, 6), st.integers(2, 4), st.booleans())
def test_trees_have_the_figures_they_claim_and_a_leaf_for_each_cluster(seed, n_cuts, k, perturbs):
    drawn = Drawn(seed, n_cuts, min(k, n_cuts + 1))
    options = {"n_clusters": drawn.k, "condition_penalty": drawn.penalty}
    cuts = split_leaves(drawn.coded, drawn.tree, n_leaves=n_cuts + 4, **options)
    for one in cuts:
        drawn.check(one)
    start = cuts[-1] if cuts else drawn.tree
    if perturbs:
        [found] = perturb_tree(
            drawn.coded, start, max_passes=20.0, moves_leaves=True, seed=seed, settings=SETTINGS, **options
        )
    else:
        found = improve_tree(drawn.coded, start, max_passes=100.0, moves_leaves=True, **options)
    drawn.check(found)
    objective = drawn.objective(found)
    assert objective <= drawn.objective(start) * (1 + 1e-9)
    if not perturbs:  # no whole leaf is better in another cluster
        for leaf in np.unique(drawn.leaves(found)):
            for other in range(drawn.k):
                center = found["center"].copy()
                center[leaf] = other
                if set(center[np.unique(drawn.leaves(found))]) == set(range(drawn.k)):
                    assert drawn.objective(found, center) >= objective * (1 - 1e-8) - 1e-9

"""Refining a table, and everything that a refined tree promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from growths import unique_rows
from hypothesis import assume, currently_in_test_context
from oracle import LEAF
from sklearn.cluster import KMeans
from strategies import Problem
from tables import blobs

from shallowrules import ExplainableKMeans
from shallowrules.measures.metrics import partition_cost
from shallowrules.trees import growing
from shallowrules.trees.candidates import SearchSettings
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.growth_data import ExplainedRows
from shallowrules.trees.refining import Refinement, refine


def nearest(problem: Problem) -> np.ndarray:
    points = problem.X_cluster.astype(np.float64)
    squares = np.stack([((points - center) ** 2).sum(axis=1) for center in problem.centers], axis=1)
    return np.asarray(squares.argmin(axis=1), np.int32)


def refined(problem: Problem, n_threads: int = 1, **options: Any) -> tuple[GrownTree, Refinement]:
    """Return the greedy tree and its refinement, for a problem that is assumed to have something to refine."""
    unique = unique_rows(*problem.arrays, weight=problem.weight, n_threads=n_threads)
    greedy = growing.grow(unique, tradeoff=problem.tradeoff, n_threads=n_threads)
    labels = nearest(problem)
    options = {"reference_labels": labels, "tradeoff": problem.tradeoff, **options}
    options.setdefault("reference_cost", partition_cost(problem.X_cluster, labels, problem.weight))
    # A cost that is nothing but rounding has no ratio.
    weight = np.ones(len(labels)) if problem.weight is None else problem.weight
    rounding = 1e-24 * weight.sum() * float(np.abs(problem.X_cluster[weight > 0]).max()) ** 2
    can_be_refined = options["reference_cost"] > rounding and 1 < greedy.n_leaves == len(problem.centers)
    if currently_in_test_context():  # where hypothesis draws the problem
        assume(can_be_refined)
    assert can_be_refined
    rows = ExplainedRows(unique, options.pop("reference_cost"), options.pop("reference_labels"))
    settings = SearchSettings(options.pop("tradeoff"), options.pop("random_seed", 0), n_threads)
    refinement = refine(greedy, rows, settings, **options)
    assert refinement is not None
    return greedy, refinement


def figures(problem: Problem, grown: GrownTree) -> tuple[float, float]:
    cost = partition_cost(problem.X_cluster, grown.labels, problem.weight)
    return (
        cost / partition_cost(problem.X_cluster, nearest(problem), problem.weight),
        grown.as_tree().waes,
    )


def assert_refined(problem: Problem, **options: Any) -> Refinement:
    """Refine, and assert everything that is promised."""
    greedy, refinement = refined(problem, **options)
    tree = refinement.tree
    before, after = figures(problem, greedy), figures(problem, tree)
    j_before, j_after = (cost + problem.tradeoff * waes for cost, waes in (before, after))
    weight = np.ones(len(problem.X_explain)) if problem.weight is None else problem.weight
    # The kernel takes distances to means as they are rounded, in every column by an ulp.
    ulp = np.spacing(float(np.abs(problem.X_cluster).max()))
    squares = weight.sum() * problem.X_cluster.shape[1] * ulp**2
    slack = 1e-9 + squares / partition_cost(problem.X_cluster, nearest(problem), problem.weight)
    assert j_after <= j_before + slack
    assert refinement.before == pytest.approx(before, rel=1e-9, abs=slack)
    assert refinement.after == pytest.approx(after, rel=1e-9, abs=slack)
    assert refinement.objectives[1] <= refinement.objectives[0]

    assert tree.n_leaves == len(problem.centers)
    assert sorted(tree.center[tree.feature == LEAF]) == list(range(len(problem.centers)))
    assert (tree.rows > 0).all()
    for thresholds in (tree.cut, tree.lower, np.nextafter(tree.upper, -np.inf)):
        leaf = np.full(len(weight), LEAF)
        pending = [(0, np.flatnonzero(weight > 0))]
        while pending:
            node, rows = pending.pop()
            assert tree.rows[node] == len(rows)
            assert tree.weight[node] == pytest.approx(weight[rows].sum(), rel=1e-9)
            leaf[rows] = tree.center[node]
            if tree.feature[node] != LEAF:
                left = problem.X_explain[rows, tree.feature[node]].astype(np.float64) <= thresholds[node]
                pending += [(tree.left[node], rows[left]), (tree.right[node], rows[~left])]
        assert np.array_equal(leaf, tree.labels)
    return refinement


def clustered_table(n_rows: int, k: int, seed: int = 0, n_columns: int = 4, spread: float = 3.0) -> Problem:
    """Return a table of overlapping blobs with k-means centers."""
    X = blobs(np.random.default_rng(seed), n_rows, n_columns, max(k, 2), spread)
    centers = KMeans(k, n_init=1, max_iter=20, random_state=0).fit(X[:5000]).cluster_centers_
    return Problem(X, X, centers, centers, None, 0.03)


def objective(model: ExplainableKMeans) -> float:
    return model.normalized_cost_ + model.tradeoff * model.waes_

"""The tree of least cost from the data alone: it costs no more than the regression tree that scikit-learn grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine
from sklearn.tree import DecisionTreeRegressor

from shallowrules._kernel import grow_data_tree

NAMES = ("feature", "left", "right", "center", "cut")


def grow(X: np.ndarray, n_leaves: int, weight: np.ndarray | None = None, **options: Any) -> dict[str, np.ndarray]:
    options = {"max_passes": 1e9, **options}
    tree = grow_data_tree(np.ascontiguousarray(X.T), np.ascontiguousarray(X), weight, n_leaves, **options)
    assert tree is not None
    return tree


def leaves_of(tree: dict[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    node = np.zeros(len(X), int)
    while (inner := tree["feature"][node] >= 0).any():
        left = X[np.arange(len(X)), np.maximum(tree["feature"][node], 0)] <= tree["cut"][node]
        node = np.where(inner, np.where(left, tree["left"][node], tree["right"][node]), node)
    return tree["center"][node]


def cost(X: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None) -> float:
    total, weight = 0.0, np.ones(len(X)) if weight is None else weight
    for label in np.unique(labels):
        rows, w = X[labels == label], weight[labels == label]
        total += float(w @ ((rows - np.average(rows, axis=0, weights=w)) ** 2).sum(axis=1))
    return total


@pytest.mark.parametrize(("load", "n_leaves"), [(load_wine, 3), (load_wine, 40), (load_digits, 30)])
def test_it_costs_as_much_as_a_regression_tree(load, n_leaves):
    X = load().data
    tree, peer = grow(X, n_leaves), DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=0).fit(X, X)
    assert cost(X, leaves_of(tree, X)) == pytest.approx(cost(X, peer.apply(X)), rel=1e-9)


@draws(300)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
def test_of_a_few_rows_the_best_leaf_is_cut_where_it_is_best(seed, n_leaves, weighted):
    random = np.random.default_rng(seed)
    X = random.integers(0, 9, (random.integers(n_leaves, 30), random.integers(1, 5))).astype(float)
    weight = random.integers(1, 5, len(X)).astype(float) if weighted else None
    tree = grow_data_tree(np.ascontiguousarray(X.T), X, weight, n_leaves, 1e9)
    if tree is None:
        assert len(np.unique(X, axis=0)) < n_leaves
        return
    labels, so_far = leaves_of(tree, X), np.zeros(len(X), int)
    for n_grown in range(1, n_leaves):
        best = min(
            cost(X, np.where((so_far == leaf) & (X[:, j] > t), n_grown, so_far), weight)
            for leaf in range(n_grown)
            for j in range(X.shape[1])
            for t in np.unique(X[so_far == leaf, j])[:-1]
        )
        # Leaves are numbered as they come: of those that are there by now the others are still part.
        path = _grown_after(tree, X, n_grown)
        assert cost(X, path, weight) == pytest.approx(best, rel=1e-9, abs=1e-9)
        so_far = path
    assert cost(X, labels, weight) == pytest.approx(cost(X, so_far, weight), rel=1e-9, abs=1e-9)


def _grown_after(tree: dict[str, np.ndarray], X: np.ndarray, n_cuts: int) -> np.ndarray:
    """Return the leaves after a given number of cuts: children are numbered in the order of the cuts."""
    early = {name: array.copy() for name, array in tree.items()}
    early["feature"][tree["left"] > 2 * n_cuts] = -1
    early["center"] = np.arange(len(early["feature"]))
    return np.unique(leaves_of(early, X), return_inverse=True)[1]


def test_the_bound_on_its_work_ends_it():
    X = np.random.default_rng(0).normal(size=(500, 3))
    assert grow_data_tree(np.ascontiguousarray(X.T), X, None, 200, 2.0) is None


def test_equal_rows_are_one_leaf():
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 10, axis=0)
    assert leaves_of(grow(X, 2), X).tolist() == [0] * 10 + [1] * 10
    assert grow_data_tree(np.ascontiguousarray(X.T), X, None, 3, 1e9) is None

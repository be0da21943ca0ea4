"""Small tables and trees over them whose leaves belong to clusters, for the kernel and for brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shallowrules._kernel import CodedRows, encode


class Drawn:
    """A table of few values, and a tree over it whose leaves belong to clusters."""

    def __init__(self, seed: int, n_cuts: int, k: int) -> None:
        random = np.random.default_rng(seed)
        n, d = int(random.integers(12, 60)), int(random.integers(1, 4))
        self.columns = random.integers(0, 9, size=(n, d)).astype(float)
        self.columns[: n_cuts + 2, 0] = np.arange(n_cuts + 2)
        self.points = self.columns if random.random() < 0.5 else random.normal(size=(n, random.integers(1, 5)))
        self.weight = None if random.random() < 0.5 else random.choice([0.5, 1.0, 3.0], n)
        self.penalty = float(random.choice([0.0, 0.01, 0.3]))
        codes, _, _, single_valued, _ = encode(
            self.columns, np.arange(n, dtype=np.int32), self.columns[:1], 1, ranks=512
        )
        self.coded = CodedRows(
            self.columns, self.points, np.arange(n, dtype=np.int32), self.weight, np.ascontiguousarray(codes.T),
            single_valued,
        )  # fmt: skip
        self.tree = chain(n_cuts)
        leaves = self.tree["feature"] < 0
        centers = np.concatenate([np.arange(k), random.integers(0, k, n_cuts + 1 - k)])
        self.tree["center"][leaves] = random.permutation(centers)
        self.k = k

    def leaves(self, tree: dict[str, Any]) -> np.ndarray:
        node = np.zeros(len(self.columns), int)
        while (inner := tree["feature"][node] >= 0).any():
            left = self.columns[np.arange(len(node)), np.maximum(tree["feature"][node], 0)] <= tree["cut"][node]
            node = np.where(inner, np.where(left, tree["left"][node], tree["right"][node]), node)
        return node

    def figures(self, tree: dict[str, Any], center: np.ndarray | None = None) -> tuple[float, float]:
        """Return the squared distances of rows to the mean of their cluster, and their conditions, by weight."""
        node = self.leaves(tree)
        label = (tree["center"] if center is None else center)[node]
        weight = np.ones(len(node)) if self.weight is None else self.weight
        cost = 0.0
        for cluster in np.unique(label):
            rows, w = self.points[label == cluster], weight[label == cluster]
            cost += float(w @ ((rows - np.average(rows, axis=0, weights=w)) ** 2).sum(axis=1))
        lengths = np.array([len(explanation(tree, leaf)) for leaf in range(len(tree["feature"]))])
        return cost, float(weight @ lengths[node])

    def objective(self, tree: dict[str, Any], center: np.ndarray | None = None) -> float:
        cost, conditions = self.figures(tree, center)
        return cost + self.penalty * conditions

    def check(self, found: dict[str, Any]) -> None:
        assert found["after"] == pytest.approx(self.figures(found), rel=1e-9, abs=1e-9)
        reached = np.unique(self.leaves(found))
        assert set(found["center"][reached]) == set(range(self.k))


def chain(n_cuts: int) -> dict[str, np.ndarray]:
    """Return a tree that cuts the first column at 0, 1, 2, ..., one below the other."""
    tree: dict[str, np.ndarray] = {"cut": np.zeros(2 * n_cuts + 1)}
    tree |= {name: np.full(2 * n_cuts + 1, -1, np.int32) for name in ("feature", "left", "right", "center")}
    for i in range(n_cuts):
        tree["feature"][2 * i], tree["cut"][2 * i] = 0, float(i)
        tree["left"][2 * i], tree["right"][2 * i] = 2 * i + 1, 2 * i + 2
    return tree


def explanation(tree: dict[str, Any], leaf: int) -> set[tuple[int, bool]]:
    pairs: set[tuple[int, bool]] = set()
    node = leaf
    while True:
        above = np.flatnonzero((tree["feature"] >= 0) & ((tree["left"] == node) | (tree["right"] == node)))
        if not len(above):
            return pairs
        [parent] = above
        pairs.add((int(tree["feature"][parent]), bool(tree["left"][parent] == node)))
        node = int(parent)

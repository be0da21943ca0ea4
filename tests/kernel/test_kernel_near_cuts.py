"""Rows near the cuts of a tree, their leaves and the gaps of the cuts, against NumPy, on drawn tables and trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shallowrules._kernel import gaps_of_cuts, route_rows, rows_near_cuts, weigh_near_cuts
from shallowrules.trees.tree import LEAF


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table of few values, a tree whose cuts are among these, and edges around the cuts of some nodes."""

    X: NDArray[Any]
    feature: NDArray[np.int32]
    cut: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    edges: list[NDArray[np.float64]]
    weight: NDArray[np.float64] | None

    @classmethod
    def of(cls, seed: int, n: int) -> Drawn:
        random = np.random.default_rng(seed)
        d, n_leaves = int(random.integers(1, 5)), int(random.integers(1, 9))
        X = random.integers(-4, 5, size=(n, 2 * d)) / 2
        X[(X == 0) & (random.random(X.shape) < 0.5)] = -0.0
        X = np.asarray(X if random.random() < 0.5 else X.astype(np.float32))
        X = [X[:, ::2], np.asfortranarray(X[:, :d]), np.ascontiguousarray(X[:, :d])][int(random.integers(3))]
        nodes = [[LEAF, 0.0, LEAF, LEAF]]
        while len(nodes) < 2 * n_leaves - 1:
            leaf = int(random.choice([i for i, node in enumerate(nodes) if node[0] == LEAF]))
            nodes[leaf] = [int(random.integers(d)), random.integers(-4, 5) / 2, len(nodes), len(nodes) + 1]
            nodes += [[LEAF, 0.0, LEAF, LEAF], [LEAF, 0.0, LEAF, LEAF]]
        feature, left, right = (np.array([node[i] for node in nodes], dtype=np.int32) for i in (0, 2, 3))
        edges = [
            np.unique(np.append(node[1], random.integers(-5, 6, size=int(random.integers(0, 6))) / 2))
            if node[0] != LEAF and random.random() < 0.8
            else np.empty(0)
            for node in nodes
        ]
        weight = random.integers(0, 4, size=n).astype(float) if random.random() < 0.5 else None
        return cls(X, feature, np.array([node[1] for node in nodes]), left, right, edges, weight)

    @property
    def nodes(self) -> tuple[NDArray[Any], ...]:
        return self.X, self.feature, self.cut, self.left, self.right

    @property
    def edge_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.append(0, np.cumsum([len(some) for some in self.edges])), np.concatenate([np.empty(0), *self.edges])

    def path(self, row: int, node: int = 0) -> list[int]:
        """Return the nodes that a row passes from a given one on, its leaf last."""
        found = [node]
        while self.feature[node] != LEAF:
            node = self.left[node] if self.X[row, self.feature[node]] <= self.cut[node] else self.right[node]
            found.append(int(node))
        return found

    def near(self) -> list[tuple[int, int, int]]:
        """Return each row in an interval, the interval's place, and the row's leaf across the cut."""
        first, found = self.edge_arrays[0], []
        for row in range(len(self.X)):
            for node in self.path(row)[:-1]:
                value, some = self.X[row, self.feature[node]], self.edges[node]
                place = int(np.count_nonzero(some < value))
                if 0 < place < len(some):
                    across = self.right[node] if value <= self.cut[node] else self.left[node]
                    found.append((row, int(first[node]) + place, self.path(row, int(across))[-1]))
        return found


drawn = st.builds(Drawn.of, st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 7, 60]))


@draws(300)
@given(drawn, st.sampled_from([1, 2]))
def test_rows_near_cuts_are_those_that_numpy_finds(table, n_threads):
    first, edges = table.edge_arrays
    expected = table.near()
    rows, places, across = rows_near_cuts(*table.nodes, first, edges, n_threads=n_threads)
    assert list(zip(rows.tolist(), places.tolist(), across.tolist(), strict=True)) == expected
    leaf, between = weigh_near_cuts(*table.nodes, first, edges, table.weight, n_threads=n_threads)
    assert leaf.tolist() == [table.path(row)[-1] for row in range(len(table.X))]
    assert leaf.tolist() == route_rows(*table.nodes, n_threads=n_threads).tolist()
    weight = np.zeros(len(edges))
    for row, place, _ in expected:
        weight[place] += 1 if table.weight is None else table.weight[row]
    assert between.tolist() == weight.tolist()


@draws(300)
@given(drawn, st.sampled_from([1, 2]))
def test_gaps_are_between_the_rows_that_count(table, n_threads):
    counted = np.ones(len(table.X), bool) if table.weight is None else table.weight > 0
    lower, upper = gaps_of_cuts(*table.nodes, np.where(counted, 0, LEAF).astype(np.int32), n_threads=n_threads)
    paths = [table.path(row) for row in range(len(table.X))]
    for node, feature in enumerate(table.feature):
        values = [float(table.X[row, feature]) for row in np.flatnonzero(counted) if node in paths[row][:-1]]
        assert lower[node] == max((value for value in values if value <= table.cut[node]), default=-np.inf)
        assert upper[node] == min((value for value in values if value > table.cut[node]), default=np.inf)
        assert not (np.signbit(lower[node]) and lower[node] == 0)
        assert not (np.signbit(upper[node]) and upper[node] == 0)


@pytest.mark.parametrize("seed", range(6))
def test_threads_change_nothing(seed):
    table = Drawn.of(seed, 40_000)
    first, edges = table.edge_arrays
    labels = np.zeros(len(table.X), np.int32)
    one, two = (
        [
            *rows_near_cuts(*table.nodes, first, edges, n_threads=n_threads),
            *weigh_near_cuts(*table.nodes, first, edges, table.weight, n_threads=n_threads),
            *gaps_of_cuts(*table.nodes, labels, n_threads=n_threads),
        ]
        for n_threads in (1, 2)
    )
    assert len(one) == len(two) == 7
    for alone, shared in zip(one, two, strict=True):
        np.testing.assert_array_equal(alone, shared)

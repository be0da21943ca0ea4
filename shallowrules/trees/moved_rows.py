"""Rows that move to other leaves when thresholds move, added up over a table or over its parts.

The results have a method `merged`, and sums are exact, so they depend neither on the order of rows nor on how a table
is divided into parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import route_rows, rows_near_cuts, weigh_near_cuts
from shallowrules.measures.summation import SumGrid
from shallowrules.trees.placing import RounderCut
from shallowrules.trees.tree import Tree

__all__ = [
    "Changes",
    "Edges",
    "Groups",
    "Leaves",
    "Moving",
    "RoundedRows",
    "sum_both",
    "sum_changes",
    "sum_leaves",
    "sum_moves",
]

MAX_TABLE = 1 << 20
"""Keys up to this one are looked up in a table; more are sorted."""

MIN_GROUP_ROWS = 8
"""With at least this many rows per group, threads share the rows."""

MAX_MOVED = 0.02
"""A threshold that moves more than this share of the weight is not a candidate; so the rows that it moves are few."""


class RoundedRows(Protocol):
    """Rows that count, as `encoding.rows` defines them for a part."""

    @property
    def matrix(self) -> NDArray[Any]:
        """The model columns, shape (n_rows, n_model_columns)."""

    @property
    def X_cluster(self) -> NDArray[Any]:
        """The columns in which distances are taken, shape (n_rows, m)."""

    @property
    def weight(self) -> NDArray[np.float64] | None:
        """Weights whose sums are exact, all positive."""

    @property
    def leaves(self) -> dict[bytes, NDArray[np.int32]] | None:
        """The leaf of each row by the thresholds of a tree, where rows stay between calls; kept by `Moving`."""


@dataclass(frozen=True, eq=False)
class Edges:
    """The thresholds of nodes and their candidates: between two successive ones of a node lies an interval.

    Parameters
    ----------
    first : ndarray of int64, shape (n_nodes + 1,)
        Those of node i are from ``first[i]`` up to ``first[i + 1]``.
    values : ndarray of float64, shape (n_edges,)
        Ascending in each node. The place of an interval is that of its upper edge.
    """

    first: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, tree: Tree, cuts: Mapping[int, Sequence[RounderCut]]) -> Edges:
        """Return the edges of the nodes that have candidates."""
        by_node = {
            node: np.unique([float(tree.threshold[node]), *(cut.threshold for cut in some)])
            for node, some in cuts.items()
        }
        counts = np.array([len(by_node.get(node, ())) for node in range(tree.n_nodes)])
        return cls(np.append(0, np.cumsum(counts)), np.concatenate([[], *(by_node[node] for node in sorted(by_node))]))

    def place(self, node: int, threshold: float) -> int:
        """Return the place of a threshold or candidate of a node."""
        first, last = self.first[node : node + 2]
        return int(first + np.searchsorted(self.values[first:last], threshold))


_WalkedNodes = tuple[
    NDArray[Any],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.float64],
]
"""A table, the nodes of a tree and their edges, as the kernel takes them."""


@dataclass(frozen=True, eq=False)
class Moving:
    """The task for which rows are added up.

    Parameters
    ----------
    tree : Tree
        With the thresholds before they are rounded.
    grid : SumGrid
    n_threads : int
    """

    tree: Tree
    grid: SumGrid
    n_threads: int

    def leaf_of(self, rows: RoundedRows, threshold: NDArray[np.float64] | None = None) -> NDArray[np.int32]:
        """Return the leaf that each row reaches, with other thresholds if they are given."""
        tree = self.tree
        threshold = tree.threshold if threshold is None else threshold
        known = {} if rows.leaves is None else rows.leaves
        found = known.get(threshold.tobytes())
        if found is None:
            found = route_rows(rows.matrix, tree.feature, threshold, tree.left, tree.right, n_threads=self.n_threads)
            known[threshold.tobytes()] = found
        return found

    def weigh(self, rows: RoundedRows, edges: Edges) -> NDArray[np.float64]:
        """Return the weight of the rows in each interval; the leaf of each row is known from then on."""
        leaf, weight = weigh_near_cuts(*self._near(rows, edges), rows.weight, n_threads=self.n_threads)
        if rows.leaves is not None:
            rows.leaves[self.tree.threshold.tobytes()] = leaf
        return weight

    def rows_near(
        self, rows: RoundedRows, edges: Edges
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return the rows in intervals, the places of the intervals, and the leaf of each row across the cut."""
        return rows_near_cuts(*self._near(rows, edges), n_threads=self.n_threads)

    def _near(self, rows: RoundedRows, edges: Edges) -> _WalkedNodes:
        """Return the arrays along which the kernel walks."""
        tree = self.tree
        return rows.matrix, tree.feature, tree.threshold, tree.left, tree.right, edges.first, edges.values

    def summed(self, rows: RoundedRows, which: NDArray[np.int64], *parts: tuple[NDArray[np.integer], int]) -> Groups:
        """Return the sums of some rows, those of equal keys together.

        Parameters
        ----------
        rows : RoundedRows
        which : ndarray of int64, shape (r,)
        parts : tuple of (ndarray of int, shape (r,), int)
            The digits of the keys, from the first to the last, and how many values each may have.
        """
        known, groups = np.zeros(1, dtype=np.int64), np.zeros(len(which), dtype=np.int64)
        if not len(which):
            sums = np.zeros((len(self.grid.rounder), 0, rows.X_cluster.shape[1]))
            return Groups(known[:0], groups, np.zeros(0), sums)
        for part, n_values in parts:
            keys, groups = _renumbered(groups * n_values + part)
            before, digit = np.divmod(keys, n_values)
            known = known[before] * n_values + digit
        weight = None if rows.weight is None else rows.weight[which]
        n_threads = self.n_threads if len(which) >= MIN_GROUP_ROWS * len(known) else 1  # each has its own groups
        sums = self.grid.add_up(rows.X_cluster, groups, len(known), weight, n_threads, which)
        counts = np.bincount(groups, minlength=len(known))
        weights = np.bincount(groups, weight, len(known)).astype(np.float64)
        return Groups(known, counts, weights, sums)


def _renumbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different keys, ascending, and for each key its place among them."""
    n_keys = int(keys.max()) + 1
    if n_keys > MAX_TABLE:
        return np.unique(keys, return_inverse=True)
    place = np.zeros(n_keys, dtype=np.int64)
    place[keys] = 1
    known = np.flatnonzero(place)
    place[known] = np.arange(len(known))
    return known, place[keys]


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows that are added up together where they come from the same leaf and may go to the same other leaf.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        Ascending: of the place of an interval, or 0, then of the leaf, then of the other one, as digits of a number.
    rows, weight : ndarray, shape (n,)
    sums : ndarray of float64, shape (n_grids, n, m)
    """

    keys: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    sums: NDArray[np.float64]

    def merged(self, other: Groups) -> Groups:
        """Return the sums of both parts."""
        keys = np.union1d(self.keys, other.keys)
        rows, weight = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys))
        sums = np.zeros((len(self.sums), len(keys), self.sums.shape[2]))
        for part in (self, other):
            places = np.searchsorted(keys, part.keys)
            rows[places] += part.rows
            weight[places] += part.weight
            sums[:, places] += part.sums
        return Groups(keys, rows, weight, sums)


@dataclass(frozen=True, eq=False)
class Leaves:
    """The rows of each leaf, and the weight between a threshold and its candidates.

    Parameters
    ----------
    rows, weight : ndarray, shape (n_nodes,)
        0 at inner nodes.
    sums : ndarray of float64, shape (n_grids, n_nodes, m)
    between : ndarray of float64, shape (n_edges,)
        The weight in each interval.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    sums: NDArray[np.float64]
    between: NDArray[np.float64]

    def merged(self, other: Leaves) -> Leaves:
        """Return the sums of both parts."""
        return Leaves(
            self.rows + other.rows, self.weight + other.weight, self.sums + other.sums, self.between + other.between
        )

    def few_moved(self, tree: Tree, cuts: Mapping[int, Sequence[RounderCut]]) -> dict[int, list[RounderCut]]:
        """Return the candidates that move little weight."""
        edges, below, most = Edges.of(tree, cuts), np.cumsum(self.between), MAX_MOVED * float(self.weight.sum())
        found = {}
        for node, some in cuts.items():
            own = below[edges.place(node, float(tree.threshold[node]))]
            few = [cut for cut in some if abs(below[edges.place(node, cut.threshold)] - own) <= most]
            if few:
                found[node] = few
        return found


def sum_leaves(rows: RoundedRows, state: tuple[Moving, Mapping[int, Sequence[RounderCut]]]) -> Leaves:
    """Return the sums of the leaves, and the weight that candidates move; the state is the task and the candidates."""
    on, cuts = state
    between = on.weigh(rows, Edges.of(on.tree, cuts))
    leaf, n_nodes = on.leaf_of(rows), on.tree.n_nodes
    sums = on.grid.add_up(rows.X_cluster, leaf, n_nodes, rows.weight, on.n_threads)
    weight = np.bincount(leaf, rows.weight, n_nodes).astype(np.float64)
    return Leaves(np.bincount(leaf, minlength=n_nodes), weight, sums, between)


def sum_moves(rows: RoundedRows, state: tuple[Moving, Mapping[int, Sequence[RounderCut]]]) -> Groups:
    """Return the rows in each interval, by their leaf and the one across the cut; the state is that of `sum_leaves`."""
    on, cuts = state
    edges, n_nodes = Edges.of(on.tree, cuts), on.tree.n_nodes
    which, places, across = on.rows_near(rows, edges)
    leaf = on.leaf_of(rows)[which]
    return on.summed(rows, which, (places, len(edges.values)), (leaf, n_nodes), (across, n_nodes))


def sum_both(rows: RoundedRows, state: tuple[Moving, Mapping[int, Sequence[RounderCut]]]) -> tuple[Leaves, Groups]:
    """Return the result of `sum_leaves` for a whole table, and of `sum_moves` for the candidates that move little."""
    on, cuts = state
    leaves = sum_leaves(rows, state)
    return leaves, sum_moves(rows, (on, leaves.few_moved(on.tree, cuts)))


@dataclass(frozen=True, eq=False)
class Changes:
    """For each of some choices, the rows that move to another leaf, by both leaves."""

    moved: Sequence[Groups]

    def merged(self, other: Changes) -> Changes:
        """Return the sums of both parts."""
        return Changes([one.merged(another) for one, another in zip(self.moved, other.moved, strict=True)])


def sum_changes(rows: RoundedRows, state: tuple[Moving, Sequence[NDArray[np.float64]]]) -> Changes:
    """Return the sums that each choice of thresholds moves; the state is the task and the choices."""
    on, choices = state
    leaf, moved, n_nodes = on.leaf_of(rows), [], on.tree.n_nodes
    for threshold in choices:
        other = on.leaf_of(rows, threshold)
        which = np.flatnonzero(other != leaf)
        moved.append(on.summed(rows, which, (leaf[which], n_nodes), (other[which], n_nodes)))
    return Changes(moved)

"""Rows that come to other leaves where thresholds move, added up over a table or over its parts.

What is returned has a method `merged`, and sums are exact, so that they depend neither on the order of rows nor on how
a table is cut into parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import route_rows
from shallowrules.placing import RounderCut
from shallowrules.summation import SumGrid
from shallowrules.tree import LEAF, Tree

__all__ = [
    "Changes",
    "Group",
    "Leaves",
    "Moves",
    "Moving",
    "RoundedRows",
    "edges_of",
    "sum_both",
    "sum_changes",
    "sum_leaves",
    "sum_moves",
]

MAX_TABLE = 1 << 20
"""Keys up to this one are looked up in a table; more are sorted."""

MIN_ROWS_BESIDE = 32768
"""Rows from which on several nodes are worked on at a time."""

MAX_MOVED = 0.02
"""A threshold that moves more than this share of the weight is no candidate; so the rows that it moves are few."""


class RoundedRows(Protocol):
    """Rows that count, as `passes.rows` has those of a part."""

    @property
    def matrix(self) -> NDArray[Any]:
        """The model columns, shape (n_rows, n_model_columns)."""

    @property
    def X_cluster(self) -> NDArray[Any]:
        """Where distances are taken, shape (n_rows, m)."""

    @property
    def weight(self) -> NDArray[np.float64] | None:
        """Weights whose sums are exact, all positive."""

    @property
    def leaves(self) -> dict[bytes, NDArray[np.int32]] | None:
        """The leaf of each row by the thresholds of a tree, where rows stay between calls; kept by `Moving`."""


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class OfNode(Protocol[T_co]):
    """What is found for a node from its rows, and from what they have in its column."""

    def __call__(self, on: Moving, node: int, members: NDArray[np.intp], values: NDArray[np.float64], /) -> T_co:
        """Return it."""


@dataclass(frozen=True, eq=False)
class Moving:
    """What rows are added up for.

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
        """Return the leaf that each row comes to, with other thresholds if they are given."""
        threshold = self.tree.threshold if threshold is None else threshold
        known = {} if rows.leaves is None else rows.leaves
        found = known.get(threshold.tobytes())
        if found is None:
            found = known[threshold.tobytes()] = self._routed(rows.matrix, threshold)
        return found

    def across(self, rows: RoundedRows, which: NDArray[np.intp], node: int, *, goes_left: bool) -> NDArray[np.int32]:
        """Return the leaf that rows of a node come to if they go to one side of it."""
        threshold = self.tree.threshold.copy()
        threshold[node] = math.inf if goes_left else -math.inf
        return self._routed(rows.matrix, threshold, which)

    def _routed(
        self, matrix: NDArray[Any], threshold: NDArray[np.float64], which: NDArray[np.intp] | None = None
    ) -> NDArray[np.int32]:
        tree = self.tree
        return route_rows(matrix, tree.feature, threshold, tree.left, tree.right, n_threads=self.n_threads, rows=which)

    def each_node(
        self, rows: RoundedRows, leaf: NDArray[np.int32], nodes: Iterable[int], function: OfNode[T]
    ) -> dict[int, T]:
        """Return what a function returns for each node, several nodes at a time where there are threads."""
        # Parents come first, and left before right: a subtree is contiguous. Of short integers NumPy sorts by digits.
        order = np.argsort(leaf.astype(np.min_scalar_type(self.tree.n_nodes)), kind="stable")
        begins = np.append(0, np.cumsum(np.bincount(leaf, minlength=self.tree.n_nodes)))
        ends = _subtree_ends(self.tree)
        one = replace(self, n_threads=1)

        def of_node(node: int) -> T:
            which = order[begins[node] : begins[ends[node]]]
            values = rows.matrix[:, self.tree.feature[node]][which].astype(np.float64, copy=False)
            return function(one, node, which, values)

        nodes = list(nodes)
        if self.n_threads == 1 or len(leaf) < MIN_ROWS_BESIDE:
            return {node: of_node(node) for node in nodes}
        with ThreadPoolExecutor(self.n_threads) as threads:
            return dict(zip(nodes, threads.map(of_node, nodes), strict=True))

    def summed(self, rows: RoundedRows, which: NDArray[np.intp], keys: NDArray[np.int64]) -> dict[int, Group]:
        """Return the sums of some rows, those of equal keys together."""
        if not len(which):
            return {}
        known, groups = _renumbered(keys)
        weight = None if rows.weight is None else rows.weight[which]
        sums = self.grid.add_up(rows.X_cluster, groups, len(known), weight, self.n_threads, which)
        counts = np.bincount(groups, minlength=len(known))
        weights = np.bincount(groups, weight, len(known)).astype(np.float64)
        return {key: Group(int(counts[i]), float(weights[i]), sums[:, i]) for i, key in enumerate(known.tolist())}


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


def _subtree_ends(tree: Tree) -> NDArray[np.intp]:
    """Return for each node the one behind its subtree; the nodes of a subtree follow each other."""
    ends = np.arange(1, tree.n_nodes + 1)
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:
        ends[node] = ends[tree.right[node]]
    return ends


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that are added up together.

    Parameters
    ----------
    rows : int
    weight : float
    sums : ndarray of float64, shape (n_grids, m)
    """

    rows: int
    weight: float
    sums: NDArray[np.float64]

    def merged(self, other: Group) -> Group:
        """Return the sums of both parts."""
        return Group(self.rows + other.rows, self.weight + other.weight, self.sums + other.sums)


def _merged(one: Mapping[int, Group], other: Mapping[int, Group]) -> dict[int, Group]:
    """Return the sums of both parts, by key."""
    found = dict(one)
    for key, group in other.items():
        found[key] = found[key].merged(group) if key in found else group
    return found


@dataclass(frozen=True, eq=False)
class Leaves:
    """The rows of each leaf, and the weight that each candidate moves.

    Parameters
    ----------
    rows, weight : ndarray, shape (n_nodes,)
        0 at inner nodes.
    sums : ndarray of float64, shape (n_grids, n_nodes, m)
    moved : mapping from int to ndarray of float64, shape (n_candidates,)
        By node.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    sums: NDArray[np.float64]
    moved: Mapping[int, NDArray[np.float64]]

    def merged(self, other: Leaves) -> Leaves:
        """Return the sums of both parts."""
        moved = {node: weights + other.moved[node] for node, weights in self.moved.items()}
        return Leaves(self.rows + other.rows, self.weight + other.weight, self.sums + other.sums, moved)

    def few_moved(self, cuts: Mapping[int, Sequence[RounderCut]]) -> dict[int, list[RounderCut]]:
        """Return the candidates that move little weight."""
        most = MAX_MOVED * float(self.weight.sum())
        found = {node: _few(some, self.moved[node], most) for node, some in cuts.items()}
        return {node: few for node, few in found.items() if few}


def _few(cuts: Sequence[RounderCut], moved: NDArray[np.float64], most: float) -> list[RounderCut]:
    """Return the candidates that move at most so much weight."""
    return [cut for cut, weight in zip(cuts, moved.tolist(), strict=True) if weight <= most]


def sum_leaves(rows: RoundedRows, state: tuple[Moving, Mapping[int, Sequence[RounderCut]]]) -> Leaves:
    """Return the sums of the leaves, and what candidates move; the state is what to add up for, and the candidates."""
    on, cuts = state
    leaf = on.leaf_of(rows)

    def moved(on: Moving, node: int, members: NDArray[np.intp], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return _moved_weights(on, rows, node, members, values, cuts[node])

    return _leaf_sums(on, rows, leaf, on.each_node(rows, leaf, cuts, moved))


def _leaf_sums(
    on: Moving, rows: RoundedRows, leaf: NDArray[np.int32], moved: Mapping[int, NDArray[np.float64]]
) -> Leaves:
    n_nodes = on.tree.n_nodes
    sums = on.grid.add_up(rows.X_cluster, leaf, n_nodes, rows.weight, on.n_threads)
    weight = np.bincount(leaf, rows.weight, n_nodes).astype(np.float64)
    return Leaves(np.bincount(leaf, minlength=n_nodes), weight, sums, moved)


def _moved_weights(
    on: Moving,
    rows: RoundedRows,
    node: int,
    members: NDArray[np.intp],
    values: NDArray[np.float64],
    cuts: Sequence[RounderCut],
) -> NDArray[np.float64]:
    """Return the weight that each candidate of a node moves; `values` are what the node's rows have in its column."""
    weight = None if rows.weight is None else rows.weight[members]
    n_left = _weight_below(values, weight, on.tree.threshold[node])
    return np.abs(np.array([_weight_below(values, weight, cut.threshold) for cut in cuts]) - n_left)


def _weight_below(values: NDArray[np.float64], weight: NDArray[np.float64] | None, threshold: float) -> float:
    """Return the weight of the rows that are at most the threshold."""
    below = values <= threshold
    return float(np.count_nonzero(below) if weight is None else weight[below].sum())


@dataclass(frozen=True, eq=False)
class Moves:
    """What the candidates of each node move.

    Parameters
    ----------
    groups : mapping from int to mapping from int to Group
        By node, and by one number for the interval between neighboring thresholds, the rows' leaf and the leaf
        across, as `sum_moves` makes it.
    """

    groups: Mapping[int, Mapping[int, Group]]

    def merged(self, other: Moves) -> Moves:
        """Return the sums of both parts."""
        return Moves({node: _merged(groups, other.groups[node]) for node, groups in self.groups.items()})


def sum_moves(rows: RoundedRows, state: tuple[Moving, Mapping[int, Sequence[RounderCut]]]) -> Moves:
    """Return what the candidates of each node move; the state is what to add up for, and the candidates."""
    on, cuts = state
    leaf = on.leaf_of(rows)

    def moves(on: Moving, node: int, members: NDArray[np.intp], values: NDArray[np.float64]) -> dict[int, Group]:
        return _moves_of_node(on, rows, leaf, node, members, values, cuts[node])

    return Moves(on.each_node(rows, leaf, cuts, moves))


def _moves_of_node(
    on: Moving,
    rows: RoundedRows,
    leaf: NDArray[np.int32],
    node: int,
    members: NDArray[np.intp],
    values: NDArray[np.float64],
    cuts: Sequence[RounderCut],
) -> dict[int, Group]:
    """Return the sums of the rows of a node that some candidate moves, by interval, leaf and leaf across."""
    edges = edges_of(on.tree.threshold[node], cuts)
    near = np.flatnonzero((values > edges[0]) & (values <= edges[-1]))
    which, interval = members[near], np.searchsorted(edges, values[near], side="left")
    below = values[near] <= on.tree.threshold[node]
    across = np.empty(len(which), dtype=np.int64)
    for goes_left in (False, True):
        chosen = below != goes_left
        across[chosen] = on.across(rows, which[chosen], node, goes_left=goes_left)
    n_nodes = on.tree.n_nodes
    return on.summed(rows, which, (interval * n_nodes + leaf[which]) * n_nodes + across)


def sum_both(rows: RoundedRows, state: tuple[Moving, Mapping[int, Sequence[RounderCut]]]) -> tuple[Leaves, Moves]:
    """Return what `sum_leaves` does of a whole table, and `sum_moves` for the candidates that move little."""
    on, cuts = state
    leaf = on.leaf_of(rows)
    most = MAX_MOVED * (len(leaf) if rows.weight is None else float(rows.weight.sum()))

    def both(
        on: Moving, node: int, members: NDArray[np.intp], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], dict[int, Group] | None]:
        moved = _moved_weights(on, rows, node, members, values, cuts[node])
        few = _few(cuts[node], moved, most)
        return moved, _moves_of_node(on, rows, leaf, node, members, values, few) if few else None

    found = on.each_node(rows, leaf, cuts, both)
    moves = {node: groups for node, (_, groups) in found.items() if groups is not None}
    return _leaf_sums(on, rows, leaf, {node: moved for node, (moved, _) in found.items()}), Moves(moves)


def edges_of(threshold: float, cuts: Sequence[RounderCut]) -> NDArray[np.float64]:
    """Return a cut's own threshold and its candidates, ascending."""
    return np.unique([float(threshold), *(cut.threshold for cut in cuts)])


@dataclass(frozen=True, eq=False)
class Changes:
    """For each of some choices the rows that come into another leaf, by both leaves as one number."""

    moved: Sequence[Mapping[int, Group]]

    def merged(self, other: Changes) -> Changes:
        """Return the sums of both parts."""
        return Changes([_merged(*pair) for pair in zip(self.moved, other.moved, strict=True)])


def sum_changes(rows: RoundedRows, state: tuple[Moving, Sequence[NDArray[np.float64]]]) -> Changes:
    """Return what each of some choices of thresholds moves; the state is what to add up for, and the choices."""
    on, choices = state
    leaf, moved = on.leaf_of(rows), []
    for threshold in choices:
        other = on.leaf_of(rows, threshold)
        which = np.flatnonzero(other != leaf)
        moved.append(on.summed(rows, which, leaf[which].astype(np.int64) * on.tree.n_nodes + other[which]))
    return Changes(moved)

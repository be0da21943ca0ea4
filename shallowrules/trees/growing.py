"""Growing: a table and its centers in, a tree in gaps out. Validates, merges equal rows, calls the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules._kernel import GrowthInput, Ranges
from shallowrules.errors import DataError, OptionError
from shallowrules.trees.tree import LEAF, Tree

__all__ = [
    "CutTree",
    "GrownTree",
    "GrowthData",
    "Objectives",
    "UniqueRows",
    "check_range",
    "count_leaves",
    "find_unique_rows",
    "grow",
    "grow_path",
    "preordered",
    "renumber_centers",
    "routed",
    "summed_up",
    "tree_with_rows",
    "with_gaps",
    "with_rows",
]


MAX_CENTERS = 25_000
"""Codes have 16 bits: room for two for each center, and for those of the bins between them."""
MAX_ROWS = 2**31 - 1
"""The kernel numbers rows in 32 bits."""
MAX_VALUE = 1e150
"""Squares of larger numbers, summed over columns, may exceed a float64."""

Progress = Callable[[float], None]
"""Takes the share of the work that is done. An exception that it raises ends the work, as an interrupt does."""


@dataclass(frozen=True, eq=False)
class GrowthData:
    """A table, and the centers that a tree over it should explain.

    Parameters
    ----------
    X_explain : ndarray of float32 or float64, shape (n_rows, d)
        Columns that are cut, finite. Any strides; neither this nor `X_cluster` is copied.
    X_cluster : ndarray of float32 or float64, shape (n_rows, m)
        Space of the distances; the same object where there is one space.
    explain_centers : ndarray of float64, shape (k, d)
    cluster_centers : ndarray of float64, shape (k, m)
        At most `MAX_CENTERS` of them.
    weight : ndarray of float64, shape (n_rows,), or None
        Not negative, not all 0. Rows of weight 0 do not count; a row of weight w stands for w equal rows.
    explain_ranges, cluster_ranges : Ranges, optional
        Those of the columns of `X_explain` and `X_cluster`, or wider ones, where they are known.
    path_sides : ndarray of uint8, shape (d,), optional
        Where the rows are those of a node of a larger tree, as in `GrowthInput`.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    explain_centers: NDArray[np.float64]
    cluster_centers: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    explain_ranges: Ranges | None = None
    cluster_ranges: Ranges | None = None
    path_sides: NDArray[np.uint8] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, those of weight 0 included."""
        return len(self.X_explain)

    @property
    def k(self) -> int:
        """Number of centers."""
        return len(self.cluster_centers)

    @property
    def total_weight(self) -> float:
        """Summed weight of the rows."""
        return float(self.n_rows if self.weight is None else self.weight.sum())


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """The distinct rows of positive weight: the kernel's rows.

    Attributes
    ----------
    data : GrowthData
        The table that they are of.
    first : ndarray of int32, shape (n_unique,)
        A row of the table for each.
    group : ndarray of int32, shape (n_rows,), or None
        The distinct row of each row, -1 for weight 0; None where all rows are distinct.
    order : ndarray of int32, shape (n_unique,)
        A copy of `first` that the kernel reorders, and `weight` alike.
    weight : ndarray of float64, shape (n_unique,), or None
        Summed weights; None where all are equal.
    labels : ndarray of int32, shape (n_unique,), or None
        The given center of each.
    """

    data: GrowthData
    first: NDArray[np.int32]
    group: NDArray[np.int32] | None
    order: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    labels: NDArray[np.int32] | None

    @property
    def total_weight(self) -> float:
        """Summed weight of the rows as the kernel counts it: where all weights are equal, it counts rows."""
        return float(len(self.order) if self.weight is None else self.weight.sum())

    def own_centers(self) -> NDArray[np.int32]:
        """Return the center of each distinct row: the given one, else the nearest. The kernel may reorder them."""
        if self.labels is not None:
            return self.labels.copy()
        return _kernel.nearest_centers(self.data.X_cluster, _contiguous(self.data.cluster_centers), self.first)[0]

    def kernel_input(self, distances: NDArray[np.float64] | None = None) -> GrowthInput:
        """Return the kernel's arguments for growing a tree; `distances` as for `grow`."""
        data = self.data
        centers = _contiguous(data.explain_centers), _contiguous(data.cluster_centers)
        table = data.X_explain, data.X_cluster, self.order, self.weight
        return GrowthInput(*table, *centers, data.explain_ranges, data.path_sides, distances=distances)

    def leaf_of_rows(
        self, leaves: NDArray[np.intp], begins: NDArray[np.integer], ends: NDArray[np.integer]
    ) -> NDArray[np.int32]:
        """Return the leaf of every row of the table, -1 for weight 0; the rows of a leaf are contiguous in `order`."""
        leaf_of = np.full(self.data.n_rows, LEAF, dtype=np.int32)
        for leaf, begin, end in zip(leaves, begins, ends, strict=True):
            leaf_of[self.order[begin:end]] = leaf
        if self.group is not None:
            leaf_of = np.where(self.group >= 0, leaf_of[self.first[self.group]], np.int32(LEAF))
        return leaf_of


@dataclass(frozen=True, eq=False)
class CutTree:
    """The nodes of a grown tree, whose thresholds are still gaps between rows.

    Attributes
    ----------
    feature, left, right, center : ndarray of int32, shape (n_nodes,)
        Parents first, left subtree before right; -1 where a leaf has no feature or child and
        where an inner node has no center.
    lower, upper : ndarray of float64, shape (n_nodes,)
        The gap of a cut: the largest explained value of its rows that go left, the smallest of
        those that go right. Every threshold in [lower, upper) separates the rows alike.
    cut : ndarray of float64, shape (n_nodes,)
        The threshold that separates rows and reference centers as the objective counted them.
    """

    feature: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    center: NDArray[np.int32]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    cut: NDArray[np.float64]

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Nodes that are leaves, ascending."""
        return np.flatnonzero(self.feature == LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == LEAF))

    def route(self, X_explain: NDArray[Any], n_threads: int) -> NDArray[np.int32]:
        """Return the leaf that each row reaches by the cuts."""
        return _kernel.route_rows(X_explain, self.feature, self.cut, self.left, self.right, n_threads=n_threads)


@dataclass(frozen=True)
class Objectives:
    """The objective ``J = cost / reference cost + tradeoff * WAES`` of a tree.

    Attributes
    ----------
    own : float
        Of the tree.
    bound : float
        What rounding does not raise it above: that of the greedy tree, or of one from the data alone that is lower.
    reference_cost : float
        Of the unrestricted clustering.
    tradeoff : float
    """

    own: float
    bound: float
    reference_cost: float
    tradeoff: float


@dataclass(frozen=True, eq=False)
class GrownTree(CutTree):
    """A grown tree with the rows that reach its nodes.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_nodes,)
        Rows of positive weight that reach the node.
    weight : ndarray of float64, shape (n_nodes,)
        Their summed weight.
    labels : ndarray of int32, shape (n_rows,)
        Center of each row's leaf; -1 for rows of weight 0.
    notes : tuple of str
        Notes for readers of the rules on how they came about.
    objectives : Objectives or None
        J as refinement found it; None for a tree that was not refined.
    threshold : ndarray of float64, shape (n_nodes,), or None
        The thresholds, once they are rounded; they need not lie in the gaps. None where any threshold in its gap will
        do.
    kept : ndarray of bool, shape (n_nodes,), or None
        The cuts that the user asked for, whose thresholds stay; None where there are none.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    labels: NDArray[np.int32]
    notes: tuple[str, ...] = ()
    objectives: Objectives | None = None
    threshold: NDArray[np.float64] | None = None
    kept: NDArray[np.bool_] | None = None

    def as_tree(self, threshold: NDArray[np.float64] | None = None) -> Tree:
        """Return the tree with a threshold for each gap, by default `cut`."""
        threshold = self.cut if threshold is None else threshold
        return Tree(self.feature, threshold, self.left, self.right, self.center, self.rows, self.weight)


def tree_with_rows(nodes: dict[str, NDArray[Any]], unique: UniqueRows) -> GrownTree:
    """Return the tree whose nodes an entry of the kernel returned, with its rows, as the kernel left them."""
    places, *children = _places(nodes)
    tree = _cut_tree(nodes, places, *children)
    first, last = (nodes[name][places[tree.leaves]] for name in ("first", "last"))
    return with_rows(tree, unique.leaf_of_rows(tree.leaves, first, last), unique.data.weight)


def grow(
    unique: UniqueRows,
    *,
    method: str = "exshallow",
    tradeoff: float = 0.03,
    max_leaves: int | None = None,
    base: str = "none",
    distances: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> GrownTree:
    """Grow the tree that explains the reference centers (the paper's Algorithm 3, IMM or ExKMC).

    Parameters
    ----------
    unique : UniqueRows
        The rows, as `find_unique_rows` returns them; they are reordered. For IMM, `labels` are the centers that rows
        should stay with; without it, that is the nearest center.
    method : {"exshallow", "exgreedy", "imm", "exkmc"}
        ExGreedy is ExShallow with ``tradeoff=0``.
    tradeoff : float
        The paper's lambda, at least 0: the share of cost given up per condition saved. Only ExShallow's.
    max_leaves : int, optional
        ExKMC's: leaves to stop at, at least k; by default k.
    base : {"none", "imm"}
        ExKMC's: its start, one leaf or IMM's tree.
    distances : ndarray of float64, shape (k, n_unique), optional
        Squared distances of the rows `first` to the centers, where they are known; they are overwritten. ExShallow's
        and ExGreedy's.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        Called now and then with the share of the work that is done, nodes weighted by their rows.

    Returns
    -------
    GrownTree
    """
    inputs, n_threads = unique.kernel_input(distances), max(1, n_threads)
    progress = progress if unique.data.k > 1 else None  # one center is one leaf: there is no work to report
    if method == "exkmc":
        n_leaves = unique.data.k if max_leaves is None else min(max_leaves, max(unique.data.k, len(unique.first)))
        assigned = unique.own_centers() if base == "imm" else None
        nodes = _kernel.grow_exkmc(inputs, n_leaves, assigned=assigned, n_threads=n_threads, progress=progress)
    elif method == "imm":
        nodes = _kernel.grow_imm(inputs, unique.own_centers(), n_threads=n_threads, progress=progress)
    else:
        tradeoff = 0.0 if method == "exgreedy" else float(tradeoff)
        nodes = _kernel.grow_tree(inputs, tradeoff, n_threads=n_threads, progress=progress)
    return tree_with_rows(nodes, unique)


def grow_path(
    unique: UniqueRows,
    tradeoffs: Sequence[float],
    *,
    distances: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> list[GrownTree]:
    """Grow ExShallow's tree for each of several trade-offs.

    Parameters are those of `grow`.

    Returns
    -------
    list of GrownTree
        One per trade-off, in their order; the same object where trees are equal.
    """
    found: dict[bytes, GrownTree] = {}
    grown = []
    for i, tradeoff in enumerate(tradeoffs):
        part = None if progress is None else partial(_report_part, progress, i, len(tradeoffs))
        tree = grow(unique, tradeoff=tradeoff, distances=distances, n_threads=n_threads, progress=part)
        distances = None  # the rows are in a different order now
        key = b"".join(array.tobytes() for array in (tree.feature, tree.cut, tree.center))
        grown.append(found.setdefault(key, tree))
    return grown


def _report_part(progress: Progress, i: int, n_parts: int, done: float) -> None:
    progress((i + done) / n_parts)


def find_unique_rows(data: GrowthData, assigned: NDArray[np.int32] | None = None, n_threads: int = 1) -> UniqueRows:
    """Validate a table and merge its equal rows.

    Parameters
    ----------
    data : GrowthData
    assigned : ndarray of int32, shape (n_rows,), optional
        The given center of each row; rows of different centers are not equal.
    n_threads : int

    Raises
    ------
    DataError
        If costs cannot be computed in float64, or there are too many rows.
    OptionError
        If there are too many centers.
    """
    if data.k > MAX_CENTERS:
        raise OptionError(f"{data.k:,} clusters are more than the {MAX_CENTERS:,} that a tree can have")
    if data.n_rows > MAX_ROWS:
        raise DataError(f"{data.n_rows:,} rows are more than the {MAX_ROWS:,} that can be grown at once; take a sample")
    ranges = data.cluster_ranges or _kernel.column_ranges(data.X_cluster, n_threads)
    check_range(*ranges, data.cluster_centers, 0.0 if data.weight is None else float(data.weight.sum()))
    labels = None if assigned is None else np.ascontiguousarray(assigned, dtype=np.int32)
    weight = data.weight
    first, group = _kernel.deduplicate(data.X_explain, data.X_cluster, weight, labels, n_threads)
    if group is None:
        merged = None if weight is None or _all_equal(weight) else weight.copy()
    else:
        inside = group >= 0
        merged = np.bincount(group[inside], None if weight is None else weight[inside], len(first)).astype(np.float64)
        if _all_equal(merged):
            merged = None
    return UniqueRows(data, first, group, first.copy(), merged, None if labels is None else labels[first])


def _all_equal(weight: NDArray[np.float64]) -> bool:
    """Whether weights change nothing: scaling them all scales every cost alike."""
    return bool((weight == weight[0]).all())


def _contiguous(centers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(centers, dtype=np.float64)


def check_range(
    low: NDArray[np.float64], high: NDArray[np.float64], cluster_centers: NDArray[np.float64], total_weight: float
) -> None:
    """Refuse clustered values from `low` to `high` whose squared distances overflow, or whose weighted sums do."""
    widest = max(float(-low.min()), float(high.max()), float(np.abs(cluster_centers).max()))
    if widest > MAX_VALUE:
        raise DataError(f"the table holds values as large as {widest:.1e}: squared distances overflow; rescale it")
    if total_weight and total_weight > MAX_VALUE**2 / max(widest, 1.0) ** 2:
        raise DataError(
            f"the table holds values as large as {widest:.1e}, and weights that sum to {total_weight:.1e}: sums of "
            "squared distances overflow; divide the weights by a constant"
        )


def routed(tree: CutTree, data: GrowthData, n_threads: int) -> GrownTree:
    """Return a tree with the rows that its cuts send to each node."""
    leaf_of = tree.route(data.X_explain, n_threads)
    if data.weight is not None:
        leaf_of[data.weight == 0] = LEAF
    return with_rows(tree, leaf_of, data.weight)


def with_gaps(tree: GrownTree, data: GrowthData, n_threads: int) -> GrownTree:
    """Return a tree whose gaps are those between the rows that its cuts separate."""
    lower, upper = _kernel.gaps_of_cuts(
        data.X_explain, tree.feature, tree.cut, tree.left, tree.right, tree.labels, n_threads=n_threads
    )
    inner = tree.feature != LEAF
    return replace(tree, lower=np.where(inner, lower, 0.0), upper=np.where(inner, upper, 0.0))


def renumber_centers(tree: GrownTree, numbers: NDArray[np.integer]) -> GrownTree:
    """Return a tree whose centers are renumbered: each gets the number at the place of its own."""
    of_number = np.append(numbers, LEAF).astype(np.int32)  # the last, at index -1, stays LEAF
    return replace(tree, center=of_number[tree.center], labels=of_number[tree.labels])


def join_leaves(tree: GrownTree) -> GrownTree:
    """Return a tree without the cuts whose sides are both leaves of one center; cuts to keep stay."""
    names = ("feature", "left", "right", "center", "lower", "upper", "cut")
    nodes = {name: getattr(tree, name).copy() for name in names}
    feature, left, right, center = (nodes[name] for name in names[:4])
    stays = np.ones(len(feature), dtype=bool)
    for node in np.flatnonzero(feature != LEAF)[::-1]:  # children before their parents
        sides = [left[node], right[node]]
        is_kept = tree.kept is not None and tree.kept[node]
        if (feature[sides] == LEAF).all() and center[sides[0]] == center[sides[1]] and not is_kept:
            stays[sides] = False
            for values in nodes.values():
                values[node] = values[sides[0]]
    if stays.all():
        return tree
    places = np.append(np.cumsum(stays) - 1, LEAF).astype(np.int32)  # the last, at index -1, stays LEAF
    nodes |= {"left": places[left], "right": places[right]}
    own = ("rows", "weight", *(name for name in ("threshold", "kept") if getattr(tree, name) is not None))
    nodes |= {name: getattr(tree, name) for name in own}
    return replace(tree, **{name: values[stays] for name, values in nodes.items()})


def with_rows(tree: CutTree, leaf_of: NDArray[np.int32], weight: NDArray[np.float64] | None) -> GrownTree:
    """Return a tree with the rows that reach each node, summed from the leaves up.

    Parameters
    ----------
    tree : CutTree
    leaf_of : ndarray of int32, shape (n_rows,)
        The leaf of each row; -1 for weight 0.
    weight : ndarray of float64, shape (n_rows,), or None
    """
    counted = leaf_of >= 0
    reached = leaf_of if counted.all() else leaf_of[counted]
    rows, sums = count_leaves(tree, reached, weight if weight is None or reached is leaf_of else weight[counted])
    labels = tree.center[leaf_of] if reached is leaf_of else np.where(counted, tree.center[leaf_of], np.int32(LEAF))
    return summed_up(tree, rows, sums, labels)


def count_leaves(
    tree: CutTree, leaf_of: NDArray[np.int32], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows of each leaf and their summed weight, shape (n_nodes,); each row has a leaf."""
    rows = np.bincount(leaf_of, minlength=len(tree.feature))
    return rows, (rows if weight is None else np.bincount(leaf_of, weight, len(rows))).astype(np.float64)


def summed_up(
    tree: CutTree, rows: NDArray[np.int64], sums: NDArray[np.float64], labels: NDArray[np.int32]
) -> GrownTree:
    """Return a tree with the rows of its nodes and their weight, from those of its leaves, which are changed."""
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:
        left, right = tree.left[node], tree.right[node]
        rows[node] = rows[left] + rows[right]
        sums[node] = sums[left] + sums[right]
    return GrownTree(
        **{name: getattr(tree, name) for name in CutTree.__dataclass_fields__}, rows=rows, weight=sums, labels=labels
    )


def preordered(nodes: dict[str, NDArray[Any]]) -> CutTree:
    """Return a tree from the kernel, with root node 0, with its nodes in the order of a `CutTree`."""
    return _cut_tree(nodes, *_places(nodes))


def _cut_tree(
    nodes: dict[str, NDArray[Any]], places: NDArray[np.int64], left: NDArray[np.int32], right: NDArray[np.int32]
) -> CutTree:
    """Return the nodes at some places as a tree."""
    feature = nodes["feature"][places].astype(np.int32)
    inner = feature != LEAF
    center = np.where(inner, LEAF, nodes["center"][places]).astype(np.int32)
    lower, upper, cut = (np.where(inner, nodes[name][places], 0.0) for name in ("lower", "upper", "cut"))
    return CutTree(feature, left, right, center, lower, upper, cut)


def _places(
    nodes: dict[str, NDArray[Any]],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the places of a tree's nodes, parents first, left subtree before right, and their children.

    Children are numbered by that order, -1 at leaves.
    """
    places: list[int] = []
    children: tuple[list[int], list[int]] = [], []
    pending = [(0, LEAF, 0)]
    while pending:
        node, parent, side = pending.pop()
        if parent != LEAF:
            children[side][parent] = len(places)
        if nodes["feature"][node] != LEAF:
            pending += [(int(nodes["right"][node]), len(places), 1), (int(nodes["left"][node]), len(places), 0)]
        places.append(node)
        for numbers in children:
            numbers.append(LEAF)
    left, right = (np.array(numbers, dtype=np.int32) for numbers in children)
    return np.array(places), left, right

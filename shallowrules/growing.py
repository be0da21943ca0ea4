"""Growing: arrays in, a tree in gaps out. Validates, merges equal rows, calls the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import (
    GrowthInput,
    column_ranges,
    deduplicate,
    grow_exkmc,
    grow_imm,
    grow_tree,
    nearest_centers,
    route_rows,
)
from shallowrules._kernel import grow_path as grow_nodes_of_path
from shallowrules.errors import DataError, OptionError
from shallowrules.tree import LEAF

__all__ = ["BASES", "METHODS", "Distinct", "Growth", "assemble", "find_distinct", "grow", "grow_path", "in_preorder"]

METHODS = ("exshallow", "exgreedy", "imm", "exkmc")
BASES = ("none", "imm")
MAX_CENTERS = 65535
MOST_TRADEOFFS = 64
MAX_ROWS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Growth:
    """The grown tree, its thresholds still gaps between rows.

    Attributes
    ----------
    feature, left, right, center : ndarray of int32, shape (n_nodes,)
        Parents first, left subtree before right; -1 where a leaf has no feature or child and
        where an inner node has no center.
    lower, upper : ndarray of float64, shape (n_nodes,)
        The gap of a cut: the largest explained value of its rows that go left, the smallest of
        those that go right. Every threshold in [lower, upper) parts the rows alike.
    cut : ndarray of float64, shape (n_nodes,)
        The threshold that parts rows and reference centers as the objective saw them.
    rows : ndarray of int64, shape (n_nodes,)
        Rows of positive weight that reach the node.
    weight : ndarray of float64, shape (n_nodes,)
        Their summed weight.
    labels : ndarray of int32, shape (n_rows,)
        Center of each row's leaf; -1 for rows of weight 0.
    notes : tuple of str
        What a reader of the rules should know about how they came about.
    """

    feature: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    center: NDArray[np.int32]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    cut: NDArray[np.float64]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    labels: NDArray[np.int32]
    notes: tuple[str, ...] = ()

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == LEAF))


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct rows of positive weight, which is what the kernel's rows are.

    Attributes
    ----------
    first : ndarray of int32, shape (n_distinct,)
        A row of the table for each.
    group : ndarray of int32, shape (n_rows,), or None
        The distinct row of each row, -1 for weight 0; None where all rows are distinct.
    slots : ndarray of int32, shape (n_distinct,)
        A copy of `first` for the kernel to reorder, and `weight` alike.
    weight : ndarray of float64, shape (n_distinct,), or None
        Summed weights; None where all are equal.
    labels : ndarray of int32, shape (n_distinct,), or None
        The given center of each.
    """

    first: NDArray[np.int32]
    group: NDArray[np.int32] | None
    slots: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    labels: NDArray[np.int32] | None

    def own_centers(self, clustered: NDArray[Any], centers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the center of each distinct row: the given one, else the nearest. For the kernel to reorder."""
        if self.labels is not None:
            return self.labels.copy()
        nearest: NDArray[np.int32] = nearest_centers(
            clustered, self.first, np.ascontiguousarray(centers, dtype=np.float64)
        )
        return nearest


def grow(
    explained: NDArray[Any],
    clustered: NDArray[Any],
    explained_centers: NDArray[np.float64],
    centers: NDArray[np.float64],
    *,
    weight: NDArray[np.float64] | None = None,
    method: str = "exshallow",
    tradeoff: float = 0.03,
    max_leaves: int | None = None,
    base: str = "none",
    assigned: NDArray[np.int32] | None = None,
    distinct: Distinct | None = None,
    n_threads: int = 1,
    report: Callable[[float], None] | None = None,
) -> Growth:
    """Grow the tree that explains the reference centers (the paper's Algorithm 3, IMM or ExKMC).

    Parameters
    ----------
    explained : ndarray of float32 or float64, shape (n_rows, d)
        Columns that are cut, finite. Any strides; neither it nor `clustered` is copied.
    clustered : ndarray of float32 or float64, shape (n_rows, m)
        Space of the distances; the same object where there is one space.
    explained_centers : ndarray of float64, shape (k, d)
    centers : ndarray of float64, shape (k, m)
        At most 65535 of them.
    weight : ndarray of float64, shape (n_rows,), optional
        Not negative, not all 0. Rows of weight 0 do not count; a row of weight w stands for w equal rows.
    method : {"exshallow", "exgreedy", "imm", "exkmc"}
        ExGreedy is ExShallow with ``tradeoff=0``.
    tradeoff : float
        The paper's lambda, at least 0: the share of cost given up per condition saved. ExShallow's alone.
    max_leaves : int, optional
        ExKMC's: leaves to stop at, at least k; by default k.
    base : {"none", "imm"}
        ExKMC's: what it starts from, one leaf or IMM's tree.
    assigned : ndarray of int32, shape (n_rows,), optional
        IMM's: the center that each row should stay with, where a labelling is explained; by default
        its nearest center.
    distinct : Distinct, optional
        What `find_distinct` returned for these arrays, to use it for several trees; its rows are reordered.
    n_threads : int
        The result does not depend on it.
    report : callable, optional
        Called now and then with the share of the work that is done, nodes weighted by their rows. What it
        raises ends the work, as an interrupt does.

    Returns
    -------
    Growth

    Raises
    ------
    DataError
        If costs cannot be computed in float64.
    OptionError
        If there are too many centers.
    """
    n_threads = max(1, n_threads)
    with_imm = method == "imm" or (method == "exkmc" and base == "imm")
    if distinct is None:
        distinct = find_distinct(explained, clustered, centers, weight, assigned if with_imm else None, n_threads)
    inputs = _kernel_input(explained, clustered, explained_centers, centers, distinct)
    own_centers = distinct.own_centers(clustered, centers) if with_imm else None
    if method == "exkmc":
        n_leaves = len(centers) if max_leaves is None else max_leaves
        nodes = grow_exkmc(inputs, n_leaves, assigned=own_centers, n_threads=n_threads, progress=report)
    elif own_centers is not None:
        nodes = grow_imm(inputs, own_centers, n_threads=n_threads, progress=report)
    else:
        nodes = grow_tree(
            inputs, 0.0 if method == "exgreedy" else float(tradeoff), n_threads=n_threads, progress=report
        )
    used, children = in_preorder(nodes, 0)
    return assemble(nodes, used, children, _leaves_of_slots(nodes, used, distinct, len(explained)), weight)


def grow_path(
    explained: NDArray[Any],
    clustered: NDArray[Any],
    explained_centers: NDArray[np.float64],
    centers: NDArray[np.float64],
    *,
    weight: NDArray[np.float64] | None = None,
    tradeoffs: Sequence[float],
    distinct: Distinct | None = None,
    n_threads: int = 1,
    report: Callable[[float], None] | None = None,
) -> list[Growth]:
    """Grow ExShallow's tree for each of several trade-offs.

    Parameters are those of `grow`.

    Returns
    -------
    list of Growth
        One per trade-off, in their order; the same object where trees are equal.
    """
    n_threads = max(1, n_threads)
    if distinct is None:
        distinct = find_distinct(explained, clustered, centers, weight, None, n_threads)
    inputs = _kernel_input(explained, clustered, explained_centers, centers, distinct)
    found: dict[bytes, Growth] = {}
    grown = []
    for begin in range(0, len(tradeoffs), MOST_TRADEOFFS):
        some = np.array(tradeoffs[begin : begin + MOST_TRADEOFFS], dtype=np.float64)
        nodes = grow_nodes_of_path(inputs, some, n_threads=n_threads, progress=report)
        for i in range(len(some)):
            used, children = in_preorder(nodes, i)
            key = b"".join(nodes[name][used].tobytes() for name in ("feature", "cut", "center"))
            if key not in found:
                tree = (nodes["feature"][used].astype(np.int32), nodes["cut"][used], *children)
                leaf_of = route_rows(explained, *tree, n_threads=n_threads)
                if weight is not None:
                    leaf_of[weight == 0] = LEAF
                found[key] = assemble(nodes, used, children, leaf_of, weight)
            grown.append(found[key])
    return grown


def _kernel_input(
    explained: NDArray[Any],
    clustered: NDArray[Any],
    explained_centers: NDArray[np.float64],
    centers: NDArray[np.float64],
    distinct: Distinct,
) -> GrowthInput:
    """Return what the kernel grows a tree from."""
    explained_centers, centers = (
        np.ascontiguousarray(array, dtype=np.float64) for array in (explained_centers, centers)
    )
    return GrowthInput(explained, clustered, distinct.slots, distinct.weight, explained_centers, centers)


def find_distinct(
    explained: NDArray[Any],
    clustered: NDArray[Any],
    centers: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    labels: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> Distinct:
    """Validate the arrays and merge equal rows; rows of different labels are not equal.

    Parameters are those of `grow`, `labels` its `assigned`.

    Raises
    ------
    DataError, OptionError
        As `grow` does.
    """
    if len(centers) > MAX_CENTERS:
        raise OptionError(f"{len(centers)} clusters are more than the {MAX_CENTERS} that a tree can have")
    if len(explained) > MAX_ROWS:
        raise DataError(f"{len(explained)} rows are more than the {MAX_ROWS} that can be grown at once; take a sample")
    _check_range(clustered, centers, n_threads)
    labels = None if labels is None else np.ascontiguousarray(labels, dtype=np.int32)
    first, group = deduplicate(explained, clustered, weight, labels, n_threads)
    if group is None:
        merged = None if weight is None or _all_equal(weight) else weight.copy()
    else:
        inside = group >= 0
        merged = np.bincount(group[inside], None if weight is None else weight[inside], len(first)).astype(np.float64)
        if _all_equal(merged):
            merged = None
    return Distinct(first, group, first.copy(), merged, None if labels is None else labels[first])


def _all_equal(weight: NDArray[np.float64]) -> bool:
    """Whether weights change nothing: scaling them all scales every cost alike."""
    return bool((weight == weight[0]).all())


def _check_range(clustered: NDArray[Any], centers: NDArray[np.float64], n_threads: int) -> None:
    """Refuse values whose squared distances overflow."""
    low, high = column_ranges(clustered, n_threads)
    widest = max(float(-low.min()), float(high.max()), float(np.abs(centers).max()))
    if widest > 1e150:
        raise DataError(f"the table holds values as large as {widest:.1e}: squared distances overflow; rescale it")


def _leaves_of_slots(
    nodes: dict[str, NDArray[Any]], used: NDArray[np.int64], distinct: Distinct, n_rows: int
) -> NDArray[np.int32]:
    """Return the leaf, of the nodes `used`, that each row has come to; -1 for weight 0."""
    leaf_of = np.full(n_rows, LEAF, dtype=np.int32)
    for node in np.flatnonzero(nodes["feature"][used] == LEAF):
        leaf_of[distinct.slots[nodes["first"][used[node]] : nodes["last"][used[node]]]] = node
    if distinct.group is not None:
        leaf_of = np.where(distinct.group >= 0, leaf_of[distinct.first[distinct.group]], np.int32(LEAF))
    return leaf_of


def assemble(
    nodes: dict[str, NDArray[Any]],
    used: NDArray[np.int64],
    children: NDArray[np.int32],
    leaf_of: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
) -> Growth:
    """Make a tree of some of the kernel's nodes, and sum rows and weights from the leaves up.

    Parameters
    ----------
    nodes : dict of ndarray
        What the kernel returned.
    used, children
        As `in_preorder` returns them.
    leaf_of : ndarray of int32, shape (n_rows,)
        The leaf of each row, in the order of `used`; -1 for weight 0.
    weight : ndarray of float64, shape (n_rows,), or None
    """
    left, right = children
    feature = nodes["feature"][used].astype(np.int32)
    inner = feature != LEAF
    center = np.where(inner, LEAF, nodes["center"][used]).astype(np.int32)
    counted = leaf_of >= 0
    reached = leaf_of if counted.all() else leaf_of[counted]
    rows = np.bincount(reached, minlength=len(used))
    if weight is None:
        sums = rows.astype(np.float64)
    else:
        sums = np.bincount(reached, weight if reached is leaf_of else weight[counted], len(used)).astype(np.float64)
    for node in np.flatnonzero(inner)[::-1]:
        rows[node] = rows[left[node]] + rows[right[node]]
        sums[node] = sums[left[node]] + sums[right[node]]
    lower, upper, cut = (np.where(inner, nodes[name][used], 0.0) for name in ("lower", "upper", "cut"))
    labels = center[leaf_of] if reached is leaf_of else np.where(counted, center[leaf_of], np.int32(LEAF))
    return Growth(feature, left, right, center, lower, upper, cut, rows, sums, labels)


def in_preorder(nodes: dict[str, NDArray[Any]], tradeoff: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the places of one trade-off's nodes, parents first, left subtree before right, and their children.

    Children are numbered by that order, shape (2, n_nodes), -1 at leaves.
    """
    order: list[int] = []
    children: tuple[list[int], list[int]] = [], []
    pending = [(0, LEAF, 0)]
    while pending:
        node, parent, side = pending.pop()
        while not nodes["tradeoffs"][node] >> tradeoff & 1:
            node = int(nodes["sibling"][node])
        if parent != LEAF:
            children[side][parent] = len(order)
        if nodes["feature"][node] != LEAF:
            pending += [(int(nodes["right"][node]), len(order), 1), (int(nodes["left"][node]), len(order), 0)]
        order.append(node)
        for numbers in children:
            numbers.append(LEAF)
    return np.array(order), np.array(children, dtype=np.int32)

"""Grown trees: nodes whose thresholds are still gaps between rows, and the rows that reach them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules.trees.growth_data import GrowthData, UniqueRows
from shallowrules.trees.tree import LEAF, Tree, sum_up

__all__ = [
    "CutTree",
    "GrownTree",
    "Objectives",
    "count_leaves",
    "join_leaves",
    "preordered",
    "renumber_centers",
    "routed",
    "summed_up",
    "tree_with_rows",
    "with_gaps",
    "with_rows",
    "without_gaps",
]


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
    def key(self) -> bytes:
        """Equal for equal trees."""
        return b"".join(array.tobytes() for array in (self.feature, self.cut, self.center))

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


def routed(tree: CutTree, X: NDArray[Any], weight: NDArray[np.float64] | None, n_threads: int) -> GrownTree:
    """Return a tree with the rows that its cuts send to each node."""
    leaf_of = tree.route(X, n_threads)
    if weight is not None:
        leaf_of[weight == 0] = LEAF
    return with_rows(tree, leaf_of, weight)


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
    sum_up(tree.left, tree.right, rows, sums)
    return GrownTree(
        **{name: getattr(tree, name) for name in CutTree.__dataclass_fields__}, rows=rows, weight=sums, labels=labels
    )


def preordered(nodes: dict[str, NDArray[Any]]) -> CutTree:
    """Return a tree from the kernel, with root node 0, with its nodes in the order of a `CutTree`."""
    return _cut_tree(nodes, *_places(nodes))


def without_gaps(nodes: dict[str, NDArray[Any]]) -> CutTree:
    """Return a tree from the kernel, whose gaps were not looked for; its cuts stand in their place."""
    return preordered(nodes | {"lower": nodes["cut"], "upper": nodes["cut"]})


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

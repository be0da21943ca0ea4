"""The gaps, rows and weights of a tree whose cuts are known, from one pass over a table in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding.rows import Encode
from shallowrules.measures.summation import ExactSums
from shallowrules.partitions import Partitions
from shallowrules.trees.grown_tree import CutTree, GrownTree
from shallowrules.trees.tree import LEAF

__all__ = ["LeafSums", "with_leaf_sums"]


@dataclass(frozen=True, eq=False)
class LeafSums:
    """Facts about the rows of a tree's leaves; inner nodes count no rows.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_nodes,)
    weight : ExactSums
        Of each node; the numbers of rows where there are no weights.
    low, high : ndarray of float64, shape (n_nodes, d)
        The ranges of the columns; infinity and minus infinity where there are no rows.
    """

    rows: NDArray[np.int64]
    weight: ExactSums
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def merged(self, other: LeafSums) -> LeafSums:
        """Return the facts about the rows of both parts."""
        return LeafSums(
            self.rows + other.rows,
            self.weight.merged(other.weight),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def with_leaf_sums(
    parts: Partitions, encode: Encode, tree: CutTree, explain_centers: NDArray[np.float64] | None = None
) -> GrownTree:
    """Return a tree with the gaps between its rows, their number and their weight, from one pass over the parts.

    Parameters
    ----------
    parts : Partitions
    encode : callable
        Takes a part, and returns its `Rows`, those of weight 0 left out.
    tree : CutTree
        Its `cut` says where rows go; `lower` and `upper` may be anything.
    explain_centers : ndarray of float64, shape (k, d), optional
        The reference centers in the columns that are cut. Each cut must have some of its node's centers on either side.
        If given, `cut` becomes the lowest value that separates the same rows and centers.

    Returns
    -------
    GrownTree
        With `lower` and `upper` as the rows of all parts have them. A gap is infinite on a side without rows. Its
        `labels` are empty. It does not depend on how the rows are cut into parts.

    Raises
    ------
    DataError
        If there are no rows.
    """
    found: LeafSums = parts.map_reduce(_sum_leaves, (encode, tree))
    lower, upper, cut = tree.lower.copy(), tree.upper.copy(), tree.cut.copy()
    rows, low, high, units = found.rows.copy(), found.low.copy(), found.high.copy(), list(found.weight.units)
    for node in np.flatnonzero(tree.feature != LEAF)[::-1].tolist():
        left, right, feature = int(tree.left[node]), int(tree.right[node]), tree.feature[node]
        lower[node], upper[node] = high[left, feature], low[right, feature]
        rows[node], units[node] = rows[left] + rows[right], units[left] + units[right]
        low[node], high[node] = np.minimum(low[left], low[right]), np.maximum(high[left], high[right])
    centers = {0: np.arange(0 if explain_centers is None else len(explain_centers))}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        if explain_centers is None:
            break
        coordinates = explain_centers[centers[node], tree.feature[node]]
        goes_left = coordinates <= tree.cut[node]
        cut[node] = max(lower[node], float(coordinates[goes_left].max()))
        centers[int(tree.left[node])] = centers[node][goes_left]
        centers[int(tree.right[node])] = centers[node][~goes_left]
    nodes = (tree.feature, tree.left, tree.right, tree.center, lower, upper, cut)
    weight = ExactSums(tuple(units)).rounded()
    return GrownTree(*nodes, rows=rows, weight=weight, labels=np.empty(0, dtype=np.int32))


def _sum_leaves(part: Any, state: tuple[Encode, CutTree]) -> LeafSums:
    encode, tree = state
    rows, n_nodes = encode(part), len(tree.feature)
    shape = n_nodes, rows.X_explain.shape[1]
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    leaf_of = tree.route(rows.X_explain, 1)
    counts = np.bincount(leaf_of, minlength=n_nodes)
    weight = ExactSums.counts(counts) if rows.weight is None else ExactSums.of(rows.weight, leaf_of, n_nodes)
    present = np.flatnonzero(counts)
    if len(present):
        begins = np.cumsum(counts)[present] - counts[present]
        order = np.argsort(leaf_of, kind="stable")
        for j in range(shape[1]):
            column = rows.X_explain[order, j].astype(np.float64) + 0.0  # of 0.0 and -0.0 one
            low[present, j] = np.minimum.reduceat(column, begins)
            high[present, j] = np.maximum.reduceat(column, begins)
    return LeafSums(counts, weight, low, high)

"""The cuts of a tree with thresholds for different rows than those that it was grown from.

Each cut keeps its column. Its threshold is moved to where the objective of the rows below it is lowest, given the
means of all clusters and every other cut, one cut after the other until none moves. Of the thresholds that are equally
good, up to a small share of the objective, the present one is kept if it is among them; otherwise the roundest is
taken.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder
from shallowrules.tables.table import Table
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.placing import readable_cut
from shallowrules.trees.row_samples import RowSample
from shallowrules.trees.tree import LEAF

__all__ = ["place_again"]

MAX_SWEEPS = 10
"""Maximum number of rounds over all cuts; two or three are usual."""


def place_again(
    tree: GrownTree, rows: RowSample, encoder: Encoder, table: Table, *, penalty: float, within: float
) -> GrownTree:
    """Return a tree with the same cuts and other thresholds, the tree itself where none is better.

    Parameters
    ----------
    tree : GrownTree
        Over the model columns.
    rows : RowSample
    encoder : Encoder
    table : Table
        Nothing but the types of its columns matters.
    penalty : float
        What a condition of a row of weight 1 costs.
    within : float
        The share of the objective that it may rise by, in all, for thresholds that stay or are round.

    Returns
    -------
    GrownTree
        All but its thresholds are those of `tree`.
    """
    numbers = [column.kind == "number" for column in encoder.columns]
    inner = [node for node in np.flatnonzero(tree.feature != LEAF).tolist() if numbers[tree.feature[node]]]
    every = np.arange(len(rows.matrix))
    for _ in range(MAX_SWEEPS):
        before, prices = tree, _prices(tree, rows, penalty)
        leaf = rows.leaves(tree, 0, every)
        room = within * float(prices[every, leaf].sum()) / max(1, len(inner))
        for node in inner:
            here = rows.reaching(tree, node)
            left, right = (
                prices[here, rows.leaves(tree, int(child), here)] for child in (tree.left[node], tree.right[node])
            )
            column = encoder.columns[tree.feature[node]]
            gap = _best_gap(rows.matrix[here, tree.feature[node]], left, right, float(tree.cut[node]), room)
            if gap is None:
                continue
            whole = table.columns[column.source].is_whole
            moved = _with_cut(tree, node, readable_cut(column, *gap, table), whole=whole)
            if set(rows.leaves(tree, node, here)) <= set(rows.leaves(moved, node, here)):  # no leaf loses all its rows
                tree = moved
        if tree is before:
            break
    return tree


def _prices(tree: GrownTree, rows: RowSample, penalty: float) -> NDArray[np.float64]:
    """Return the weighted cost of each row in each leaf, shape (n_rows, n_nodes)."""
    labels = tree.center[rows.leaves(tree, 0, np.arange(len(rows.matrix)))]
    distances = rows.distances(labels, int(tree.center.max()) + 1)
    return rows.weight[:, None] * (distances[:, tree.center] + penalty * tree.as_tree().explanation_size)


def _best_gap(
    values: NDArray[Any], left: NDArray[np.float64], right: NDArray[np.float64], cut: float, room: float
) -> tuple[float, float] | None:
    """Return the gap between rows for a new threshold, None if the threshold should stay.

    Parameters
    ----------
    values : ndarray of float, shape (n_rows,)
        Of the rows at a node.
    left, right : ndarray of float64, shape (n_rows,)
        What each costs on either side.
    cut : float
        The present threshold.
    room : float
        What another one may cost more than the best.
    """
    order = np.argsort(values, kind="stable")
    values = values[order].astype(np.float64)
    ends = np.flatnonzero(values[:-1] < values[1:])  # a threshold may follow these rows
    if not len(ends):
        return None
    costs = np.cumsum(left[order] - right[order])[ends]
    best = int(costs.argmin())
    good = costs <= costs[best] + room
    present = int(np.searchsorted(values[ends], cut, side="right")) - 1
    if values[0] <= cut < values[-1] and good[present]:
        return None
    first = last = best
    while first > 0 and good[first - 1]:
        first -= 1
    while last + 1 < len(ends) and good[last + 1]:
        last += 1
    return float(values[ends[first]]), float(values[ends[last] + 1])


def _with_cut(tree: GrownTree, node: int, cut: float, *, whole: bool) -> GrownTree:
    """Return a tree with another, fixed threshold at a node."""
    found = {name: getattr(tree, name).copy() for name in ("cut", "lower", "upper")}
    found["cut"][node] = found["lower"][node] = cut
    found["upper"][node] = cut + 1 if whole else math.nextafter(cut, math.inf)
    return replace(tree, **found)

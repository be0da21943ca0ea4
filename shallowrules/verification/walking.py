"""The cluster of each row by walking the tree in `RuleSet.nodes`, node by node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shallowrules.rules import Cut, Leaf, RuleSet
from shallowrules.tables.column import Column
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table
from shallowrules.trees.tree import compare

__all__ = ["Walk", "walk", "walk_columns"]


@dataclass(frozen=True, eq=False)
class Walk:
    """Where each row of a table ended up.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_rows,)
        The cluster of the leaf that it reached, -1 where it reached none.
    stopped_at : ndarray of int64, shape (n_rows,)
        The column of the rules in which it has no value that the tree could test; -1 where it reached a leaf.
    """

    labels: NDArray[np.int64]
    stopped_at: NDArray[np.int64]


def walk(rules: RuleSet, table: Table) -> NDArray[np.int64]:
    """Return the cluster of the leaf that each row reaches, -1 where a tested value is missing."""

    def read(feature: int) -> Column:
        return rules.columns[feature].read(table[rules.columns[feature].name])

    return walk_columns(rules, table.n_rows, read).labels


def walk_columns(rules: RuleSet, n_rows: int, read: Callable[[int], Column]) -> Walk:
    """Walk rows to their leaves; `read` gives a column of the rules, by its place, as they compare it."""
    labels = np.full(n_rows, NO_CLUSTER, dtype=np.int64)
    stopped_at = np.full(n_rows, -1, dtype=np.int64)
    columns: dict[int, Column] = {}
    pending = [(0, np.arange(n_rows))]
    while pending:
        index, rows = pending.pop()
        node = rules.nodes[index]
        if isinstance(node, Leaf):
            labels[rows] = node.cluster
            continue
        if node.column not in columns:
            columns[node.column] = read(node.column)
        column = columns[node.column]
        absent = column.absent[rows]
        stopped_at[rows[absent]] = node.column
        rows = rows[~absent]
        if isinstance(node, Cut):
            goes_left, goes_right = compare(column.numbers()[rows], node.threshold)
        else:
            goes_left = column.positions(node.values)[rows] >= 0
            goes_right = ~goes_left
        pending += [(node.left, rows[goes_left]), (node.right, rows[goes_right])]
    return Walk(labels, stopped_at)

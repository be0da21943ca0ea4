"""The cluster of each row by walking the tree in `RuleSet.nodes`, node by node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shallowrules.labels import NO_CLUSTER
from shallowrules.rules import Cut, Leaf, RuleSet
from shallowrules.table import Column, Table
from shallowrules.tree import compare

__all__ = ["walk"]


def walk(rules: RuleSet, table: Table) -> NDArray[np.int64]:
    """Return the cluster of the leaf that each row reaches, -1 where a tested value is missing."""
    labels = np.full(table.n_rows, NO_CLUSTER, dtype=np.int64)
    read: dict[int, Column] = {}
    pending = [(0, np.arange(table.n_rows))]
    while pending:
        index, rows = pending.pop()
        node = rules.nodes[index]
        if isinstance(node, Leaf):
            labels[rows] = node.cluster
            continue
        wanted = rules.columns[node.column]
        if node.column not in read:
            read[node.column] = wanted.read(table[wanted.name])
        column = read[node.column]
        rows = rows[~column.absent[rows]]
        if isinstance(node, Cut):
            goes_left, goes_right = compare(column.numbers()[rows], node.threshold)
        else:
            goes_left = column.positions(node.values)[rows] >= 0
            goes_right = ~goes_left
        pending += [(node.left, rows[goes_left]), (node.right, rows[goes_right])]
    return labels

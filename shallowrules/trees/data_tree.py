"""The tree of least cost from the data alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import (
    grow_data_tree,
)
from shallowrules.measures.summation import group_means
from shallowrules.trees.candidates import Candidate, SearchObjective
from shallowrules.trees.coded_samples import TINY, some_of
from shallowrules.trees.coded_table import CodedTable
from shallowrules.trees.grown_tree import without_gaps
from shallowrules.trees.lookahead import WIDE_ROWS
from shallowrules.trees.tree import LEAF

__all__ = ["FEW_DATA_VALUES", "from_data"]

DATA_PASSES, MAX_DATA_VALUES = 64.0, 1e7
"""A tree from the data alone visits all rows of the sample at most this many times; in a wide table, only the columns
that separate the clusters best are cut, so that a visit takes no more sums than this. Not tuned."""
WHOLE_DATA_CLUSTERS, FEW_DATA_ROWS, FEW_DATA_VALUES = 30, 512, 1e6
"""For fewer clusters that tree is grown on `WIDE_ROWS` rows, or on that many of a longer table, and a visit takes no
more sums than this: on the tables tried it is then never the best start, and on all rows a fit of digits takes a third
longer."""


def from_data(table: CodedTable, k: int, aim: SearchObjective, few_values: float = MAX_DATA_VALUES) -> list[Candidate]:
    """Grow the tree of least cost from the data alone; none if that takes too long.

    It knows neither centers nor conditions: where there are many clusters its cost can be the lowest. Where there are
    few, a visit takes at most `few_values` sums.
    """
    few, max_values = table, MAX_DATA_VALUES
    if k < WHOLE_DATA_CLUSTERS:
        few, max_values = table if len(table.rows) <= WIDE_ROWS else some_of(table, FEW_DATA_ROWS), few_values
    coded, rows = few.coded, few.rows
    features = _telling(few, max(1, int(max_values / (len(rows) * coded.X_cluster.shape[1]))))
    tree = grow_data_tree(
        np.ascontiguousarray(coded.X_explain[np.ix_(rows, features)].T, dtype=np.float64),
        np.ascontiguousarray(coded.X_cluster[rows], dtype=np.float64),
        few.weight,
        k,
        DATA_PASSES,
    )
    if tree is None:
        return []
    tree["feature"] = np.append(features, LEAF).astype(np.int32)[tree["feature"]]
    found = table.measure(without_gaps(tree), aim)
    return [replace(found, from_data=True)]


def _telling(table: CodedTable, count: int) -> NDArray[np.intp]:
    """Return the columns that separate the clusters best, ascending, at most `count` of them."""
    X = table.coded.X_explain
    if X.shape[1] <= count:
        return np.arange(X.shape[1])
    X, weight = X[table.rows].astype(np.float64), table.weight
    means = group_means(X, table.labels, int(table.labels.max()) + 1, weight)
    spread, within = (
        np.average((X - middle) ** 2, axis=0, weights=weight)
        for middle in (np.average(X, axis=0, weights=weight), means[table.labels])
    )
    return np.sort(np.argsort(within / np.maximum(spread, TINY), kind="stable")[:count])

"""From the gaps of a grown tree to thresholds in the model columns that are readable in the columns of the table.

A threshold in a column of codes is a code until `place_exact_thresholds`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder, ModelColumn
from shallowrules.tables.column import ColumnType
from shallowrules.tables.conversion import DOUBLE_EXACT
from shallowrules.tables.table import Table
from shallowrules.tables.times import TIME_TYPES, readable_time, rounder_times, time_level
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.thresholds import readable_threshold, rounder_thresholds, significant_digits
from shallowrules.trees.tree import LEAF, Tree

__all__ = ["RounderCut", "place_exact_thresholds", "place_thresholds", "readable_cut", "rounder_cuts"]


@dataclass(frozen=True)
class RounderCut:
    """A threshold that a cut may have in place of its own.

    Attributes
    ----------
    threshold : float
        In the model column.
    saved : int
        How many significant digits less than the cut's own it has, in the column of the table; of times, how many
        units (year, month, day, hour, …).
    """

    threshold: float
    saved: int


def place_thresholds(grown: GrownTree, encoder: Encoder, table: Table) -> Tree:
    """Return a tree with its chosen thresholds, or with a readable one in every gap.

    Any threshold in a gap separates the training rows equally. In a column of codes it is the greatest code that
    goes left. Only the column types of the table matter.
    """
    if grown.threshold is not None:
        return grown.as_tree(grown.threshold)
    threshold = np.zeros(len(grown.feature))
    for node in np.flatnonzero(grown.feature != LEAF):
        gap = _raw_gap(grown, int(node), encoder, table)
        if gap is not None:
            threshold[node] = gap.in_model(gap.readable)
        elif encoder.columns[grown.feature[node]].kind == "code":
            threshold[node] = grown.lower[node]
        else:
            threshold[node] = (grown.lower[node] + grown.upper[node]) / 2
    return grown.as_tree(threshold)


def readable_cut(column: ModelColumn, lower: float, upper: float, table: Table) -> float:
    """Return the roundest threshold of a gap in a model column of numbers."""
    gap = _gap_of(column, lower, upper, table)
    return gap.in_model(gap.readable)


def place_exact_thresholds(
    tree: Tree, kept: NDArray[np.bool_] | None, encoder: Encoder, table: Table
) -> tuple[Tree, Encoder]:
    """Return a tree and an encoder whose codes count thresholds of the table's columns, readable ones.

    They go where the codes of the training table did: between a number of the table and the next one. Without columns
    of codes, both are returned as they are.

    Parameters
    ----------
    tree : Tree
        What `place_thresholds` returned.
    kept : ndarray of bool, shape (n_nodes,), or None
        The cuts whose thresholds stay.
    encoder : Encoder
        Its codes are those that the tree was grown on.
    table : Table
        Nothing but the types of its columns matters.
    """
    columns, threshold = list(encoder.columns), tree.threshold.copy()
    for feature, column in enumerate(columns):
        if column.bounds is None:
            continue
        kind = table.columns[column.source].type
        values = {}
        for node in np.flatnonzero(tree.feature == feature).tolist():
            lower, upper = column.bounds[int(threshold[node]) :][:2].tolist()
            stays = kept is not None and kept[node]
            values[node] = lower if stays else int(_Gap(lower, upper, kind, turned=False).readable)
        bounds = sorted(set(values.values()))
        columns[feature] = replace(column, bounds=np.array(bounds, dtype=column.bounds.dtype))
        for node, value in values.items():
            threshold[node] = bounds.index(value)
    if not any(column.kind == "code" for column in columns):
        return tree, encoder
    return replace(tree, threshold=threshold), replace(encoder, columns=tuple(columns))


def rounder_cuts(grown: GrownTree, encoder: Encoder, table: Table) -> dict[int, list[RounderCut]]:
    """Return, for each node whose threshold could have fewer digits, the thresholds with fewer, ascending.

    They may separate the rows in a different way than the tree does.
    """
    found = {}
    for node in np.flatnonzero(grown.feature != LEAF).tolist():
        gap = _raw_gap(grown, node, encoder, table)
        if gap is None or (grown.kept is not None and grown.kept[node]):
            continue
        most = gap.digits(gap.readable)
        cuts = [RounderCut(gap.in_model(value), most - gap.digits(value)) for value in gap.rounder]
        if cuts:
            found[node] = sorted(cuts, key=lambda cut: cut.threshold)
    return found


@dataclass(frozen=True)
class _Gap:
    """The gap of a cut in the column of the table, whose order a model column may reverse."""

    lower: float
    upper: float
    type: ColumnType
    turned: bool

    @property
    def readable(self) -> int | float:
        """The roundest threshold in the gap."""
        if self.type in TIME_TYPES:
            return readable_time(self.type, *self._told_apart())
        return readable_threshold(self.lower, self.upper, integer=self.type == "integer")

    @property
    def rounder(self) -> Sequence[int | float]:
        """Rounder thresholds near the gap."""
        if self.type in TIME_TYPES:
            return rounder_times(self.type, *self._told_apart())
        return rounder_thresholds(self.lower, self.upper, integer=self.type == "integer")

    def _told_apart(self) -> tuple[int, int]:
        """Return a gap of times limited to those that a double tells apart, if it may be: 9999 means "never"."""
        lower, upper = int(self.lower), int(self.upper)
        if lower < DOUBLE_EXACT:
            upper = min(upper, DOUBLE_EXACT)
        return (max(lower, -DOUBLE_EXACT), upper) if upper > -DOUBLE_EXACT else (lower, upper)

    def digits(self, value: int | float) -> int:
        """Return how many digits of a threshold a person has to read; for a time, how many units."""
        return time_level(self.type, int(value)) if self.type in TIME_TYPES else significant_digits(value)

    def in_model(self, value: float) -> float:
        """Return a threshold of the table's column as one of the model column."""
        # Reversed, "above the value" is "below its negative", so the threshold is the float before that.
        return math.nextafter(-value, -math.inf) if self.turned else float(value)


def _raw_gap(grown: GrownTree, node: int, encoder: Encoder, table: Table) -> _Gap | None:
    """Return the gap of a node in the column that it tests; None for categories and codes."""
    model_column = encoder.columns[grown.feature[node]]
    if model_column.kind != "number":
        return None
    return _gap_of(model_column, float(grown.lower[node]), float(grown.upper[node]), table)


def _gap_of(column: ModelColumn, lower: float, upper: float, table: Table) -> _Gap:
    """Return a gap of a model column of numbers in the column of the table."""
    turned = column.direction < 0
    if turned:
        lower, upper = -upper, -lower
    return _Gap(lower, upper, table.columns[column.source].type, turned)

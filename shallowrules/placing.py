"""From the gaps of a grown tree to thresholds in the model columns that are readable in the columns of the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shallowrules.conversion import DOUBLE_EXACT
from shallowrules.encoding import Encoder
from shallowrules.errors import DataError
from shallowrules.growing import GrownTree
from shallowrules.table import ColumnType, Table
from shallowrules.thresholds import readable_threshold, rounder_thresholds, significant_digits
from shallowrules.times import TIME_TYPES, readable_time, rounder_times, time_level
from shallowrules.tree import LEAF, Tree

__all__ = ["RounderCut", "place_thresholds", "rounder_cuts"]


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
    """Return a tree with the thresholds that were chosen for it, or with a readable one in every gap.

    In a gap, it separates the training rows as any other there does. Of the table nothing but the types of its columns
    matters.
    """
    if grown.threshold is not None:
        return grown.as_tree(grown.threshold)
    threshold = np.zeros(len(grown.feature))
    for node in np.flatnonzero(grown.feature != LEAF):
        gap = _raw_gap(grown, int(node), encoder, table)
        if gap is None:
            threshold[node] = (grown.lower[node] + grown.upper[node]) / 2
            continue
        value = gap.readable
        if float(value) != value or not gap.lower <= float(value) < gap.upper:
            raise DataError(
                f"column {gap.name!r} holds integers beyond 2**53 that differ by less than a float64 can tell; "
                "exclude it, or subtract a constant from it"
            )
        threshold[node] = gap.in_model(value)
    return grown.as_tree(threshold)


def rounder_cuts(grown: GrownTree, encoder: Encoder, table: Table) -> dict[int, list[RounderCut]]:
    """Return for each node whose threshold could have fewer digits the thresholds that have fewer, ascending.

    They may separate the rows in another way than the tree does.
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
    """The gap of a cut in the column of the table, which a model column may turn around."""

    name: str
    lower: float
    upper: float
    type: ColumnType
    turned: bool

    @property
    def readable(self) -> int | float:
        """The roundest threshold in it."""
        if self.type in TIME_TYPES:
            found = readable_time(self.type, *self._told_apart())
            return found if float(found) == found else int(self.lower)
        return readable_threshold(self.lower, self.upper, integer=self.type == "integer")

    @property
    def rounder(self) -> Sequence[int | float]:
        """Thresholds near it that are rounder."""
        if self.type in TIME_TYPES:
            return [each for each in rounder_times(self.type, *self._told_apart()) if float(each) == each]
        return rounder_thresholds(self.lower, self.upper, integer=self.type == "integer")

    def _told_apart(self) -> tuple[int, int]:
        """Return the gap of times as far as floats tell microseconds apart: a year 9999 stands for "never"."""
        lower, upper = int(self.lower), int(self.upper)
        if lower < DOUBLE_EXACT:
            upper = min(upper, DOUBLE_EXACT)
        return (max(lower, -DOUBLE_EXACT), upper) if upper > -DOUBLE_EXACT else (lower, upper)

    def digits(self, value: int | float) -> int:
        """Return how many digits of a threshold a person has to read; of a time, how many units."""
        return time_level(self.type, int(value)) if self.type in TIME_TYPES else significant_digits(value)

    def in_model(self, value: float) -> float:
        """Return a threshold of the table's column as one of the model column."""
        # Turned, "above the value" is "below its negative", so the threshold is the float before that.
        return math.nextafter(-value, -math.inf) if self.turned else float(value)


def _raw_gap(grown: GrownTree, node: int, encoder: Encoder, table: Table) -> _Gap | None:
    """Return the gap of a node in the column that it tests; None for categories."""
    model_column = encoder.columns[grown.feature[node]]
    if model_column.kind != "number":
        return None
    column = table.columns[model_column.source]
    lower, upper = float(grown.lower[node]), float(grown.upper[node])
    turned = model_column.direction < 0
    if turned:
        lower, upper = -upper, -lower
    return _Gap(column.name, lower, upper, column.type, turned)

"""What sets a cluster apart from all other rows: each column by Cliff's delta, with marks and in words.

A delta compares a row of the cluster with a row outside it: the share of pairs in which the former has the higher
value, minus the share in which it has the lower one. For a category it is the difference of its shares.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.rules.columns import RuleColumn, format_value
from shallowrules.rules.figures import Cluster

__all__ = ["MARKS", "MIN_ROWS", "Contrast", "contrasts_of"]

MARKS = (0.15, 0.33)
"""The deltas, up or down, from which a column has one mark, and two: where Cliff's delta is small, and medium."""

MIN_ROWS = 10
"""Rows that a cluster needs for marks, and the rest of the table."""

DECIMALS = 12
"""Tolerance of deltas, so that shares of a category and of a column of 0 and 1 reach a mark alike."""


@dataclass(frozen=True)
class Contrast:
    """How a column of a cluster compares with that of all other rows.

    Attributes
    ----------
    index : int
        The position of the column.
    column : RuleColumn
    delta : float or None
        From -1 to 1; None where it is not known.
    value : int or None
        Of a column of categories the place of the one that differs most among its `values`; None of one of numbers.
    marks : int
        0, 1 or 2.
    """

    index: int
    column: RuleColumn
    delta: float | None
    value: int | None
    marks: int

    @property
    def words(self) -> str:
        """The comparison in words; empty where it is not known or there is no difference."""
        return self._compared("percentage points", " outside", " than outside")

    @property
    def short(self) -> str:
        """The comparison in words, below a heading that says that it is with all other rows."""
        return self._compared("points", "", "")

    def _compared(self, points: str, outside: str, than: str) -> str:
        if not self.delta:
            return ""
        if self.value is not None or self.column.is_flag:
            return f"{100 * abs(self.delta):.0f} {points} {'above' if self.delta > 0 else 'below'}{outside}"
        is_point = self.column.is_time and self.column.type != "duration"
        up, down = ("later", "earlier") if is_point else ("higher", "lower")
        share = 50 * (1 + abs(self.delta))
        rounded = f"{math.floor(round(share, 9) + 0.5)}% of"
        pairs = "all" if share == 100 else "over 99% of" if share > 99 else rounded
        return f"{up if self.delta > 0 else down}{than} in {pairs} pairs"

    @property
    def title(self) -> str:
        """The column and, if it has categories, the one that differs most."""
        value = "" if self.value is None else f" {format_value(self.column.values[self.value])}"
        return f"{self.column.name}{value}"

    def __str__(self) -> str:
        return f"{self.title}: {self.words}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data, the category itself in place of its position."""
        value = None if self.value is None else self.column.values[self.value]
        return {"column": self.column.name, "value": value, "delta": self.delta, "words": self.words}


def contrasts_of(
    columns: Sequence[RuleColumn], clusters: Sequence[Cluster], tested: Collection[int]
) -> dict[int, tuple[Contrast, ...]]:
    """Return by the index of each cluster how its columns compare with the others', the clearest difference first.

    Among equal ones, and unknown ones, the columns that are `tested` come first.
    """
    differences = _differences(columns, clusters)
    rows = sum(cluster.rows for cluster in clusters)
    found = {}
    for place, cluster in enumerate(clusters):
        has_marks = min(cluster.rows, rows - cluster.rows) >= MIN_ROWS
        contrasts = []
        for index, column in enumerate(columns):
            delta, value = cluster.deltas[index] if cluster.deltas else None, None
            if index in differences:
                each = differences[index][place].tolist()
                value = max(range(len(each)), key=lambda i: (abs(each[i]), column.values[i]))
                delta = None if math.isnan(each[value]) else each[value]
            marks = sum(abs(delta) >= limit for limit in MARKS) if has_marks and delta is not None else 0
            contrasts.append(Contrast(index, column, delta, value, marks))
        contrasts.sort(key=lambda each: (each.delta is None, -abs(each.delta or 0), each.index not in tested))
        found[cluster.index] = tuple(contrasts)
    return found


def _differences(columns: Sequence[RuleColumn], clusters: Sequence[Cluster]) -> dict[int, NDArray[np.float64]]:
    """Return by column of categories the shares in each cluster minus those in all others, shape (k, n_values).

    They are NaN for a cluster with no rows, or with all rows.
    """
    weight = np.array([cluster.weight for cluster in clusters])
    others = np.where(np.eye(len(weight), dtype=bool), 0.0, weight / weight.max())
    with np.errstate(invalid="ignore"):
        others /= others.sum(axis=1, keepdims=True)
    others[weight == 0] = np.nan
    found = {}
    for index, column in enumerate(columns):
        if not column.is_numeric:
            shares = np.array([cluster.shares[index] for cluster in clusters])
            found[index] = np.round(shares - others @ shares, DECIMALS)
    return found

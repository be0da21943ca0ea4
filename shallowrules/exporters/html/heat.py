"""The heat map of a page: what the clusters are like in the columns that separate them most."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, cast

from shallowrules.exporters.html.cards import Pictures
from shallowrules.exporters.wording import format_number, list_values
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.rules.figures import percent

__all__ = ["describe_heat"]

ROWS_SHOWN = 30
"""Maximum number of rows of the map."""

MAX_CELLS_OF_PATH = 4000
"""The number of cells in the maps of all trees of a path except the first one shown; above it, the maps have fewer
rows."""

VALUES_SHOWN = 12
"""With more clusters, values are shown only where the pointer or the focus is, and in print."""

LEVELS = (0.2, 0.5, 0.8)
"""Where the next color begins, in standard deviations of the column: small, medium and large effects after Cohen."""

WIDE = 2
"""The first or last bin holds a long tail if it is more than this many times as wide as the median bin; its rows then
count as at its inner edge."""


@dataclass(frozen=True)
class _Row:
    """A column, or the category of one in which clusters differ most, and its mean or share in each cluster.

    `apart` is the standard deviation of these figures around the table's; `deviation` is that of the column.
    """

    index: int
    column: RuleColumn
    category: int | None
    table: float
    here: tuple[float, ...]
    apart: float
    deviation: float

    def show(self, value: float) -> str:
        """Return a mean, or a share."""
        return percent(value) if self.category is not None or self.column.is_flag else format_number(value, self.column)

    def level(self, value: float) -> int:
        """Return the color of a value: 0 for one like the table's, above it 1 to 3, below it -1 to -3."""
        gap = value - self.table
        if not self.deviation > 0 or not math.isfinite(gap):
            return 0
        level = sum(abs(gap) >= limit * self.deviation for limit in LEVELS)
        return level if gap > 0 else -level


def describe_heat(
    rules: RuleSet, colours: Mapping[int, int], pictures: Pictures, n_trees: int
) -> dict[str, Any] | None:
    """Return the map of one of several trees, the most separating columns first; None for a single cluster."""
    clusters = rules.by_size
    if len(clusters) < 2:
        return None
    most = ROWS_SHOWN
    if n_trees > 1:
        most = min(most, MAX_CELLS_OF_PATH // (n_trees * len(clusters)))
    rows = sorted((_row(rules, i, pictures) for i in range(len(rules.columns))), key=_separation, reverse=True)
    shown = [row for row in rows if row.apart > 0][:most]
    return {
        "heads": [{"label": each.label, "colour": colours[each.index], "name": each.name} for each in clusters],
        "rows": [
            {
                "index": row.index if row.index in pictures.places else None,
                "width": pictures.width(row.index),
                "column": row.column.name,
                "category": "" if row.category is None else list_values([row.column.values[row.category]]),
                "table": row.show(row.table),
                "cells": [{"text": row.show(value), "level": row.level(value)} for value in row.here],
            }
            for row in shown
        ],
        "left_out": len(rows) - len(shown),
        "is_wide": len(clusters) > VALUES_SHOWN,
        "limits": [f"{limit:g}" for limit in LEVELS],
    }


def _row(rules: RuleSet, index: int, pictures: Pictures) -> _Row:
    """Return the row of a column; for categories, of the one in which clusters differ most."""
    column = rules.columns[index]
    if column.is_numeric:
        means = tuple(cast(float, cluster.means[index]) for cluster in rules.by_size)
        table = cast(float, column.mean)
        apart = _apart(rules, means, table)
        own = _of_share(table) if column.is_flag else _of_bins(pictures, index)
        return _Row(index, column, None, table, means, apart, max(own, apart))
    found = []
    for place, table in enumerate(column.shares):
        shares = tuple(cluster.shares[index][place] for cluster in rules.by_size)
        found.append(_Row(index, column, place, table, shares, _apart(rules, shares, table), _of_share(table)))
    return max(found, key=lambda row: row.apart)


def _apart(rules: RuleSet, values: tuple[float, ...], table: float) -> float:
    """Return the standard deviation of the clusters' figures around the table's, weighted by rows."""
    scale = max((abs(value - table) for value in values), default=0.0)
    if not 0 < scale < math.inf:
        return 0.0
    squares = (c.weight * ((v - table) / scale) ** 2 for c, v in zip(rules.by_size, values, strict=True))
    return scale * math.sqrt(sum(squares) / rules.statistics.weight)


def _of_share(share: float) -> float:
    """Return the standard deviation of a column that is 1 in a share of the rows and 0 in the others."""
    return math.sqrt(max(0.0, share * (1 - share)))


def _of_bins(pictures: Pictures, index: int) -> float:
    """Return the standard deviation of a column by its histogram, without long tails; 0 where it has none."""
    edges = [float(edge) for edge in pictures.edges.get(index, ())]
    if not edges or not math.isfinite(edges[-1] - edges[0]):
        return 0.0
    pairs = list(pairwise(edges))
    usual = WIDE * median(high - low for low, high in pairs)
    middles = [(low + high) / 2 for low, high in pairs]
    for place, inner in ((0, edges[1]), (-1, edges[-2])):
        if pairs[place][1] - pairs[place][0] > usual:
            middles[place] = inner
    center = sum(share * middle for share, middle in zip(pictures.shares[index], middles, strict=True))
    scale = edges[-1] - edges[0]
    squares = (share * ((m - center) / scale) ** 2 for share, m in zip(pictures.shares[index], middles, strict=True))
    return scale * math.sqrt(sum(squares))


def _separation(row: _Row) -> tuple[float, float]:
    """Return the sort key of a column: its share of the separation of the clusters, or the distance between these."""
    column = row.column
    width = cast(float, column.maximum) - cast(float, column.minimum) if column.is_numeric else 1.0
    apart = row.apart / width if 0 < width < math.inf else 0.0
    return (column.separation or 0.0, apart)

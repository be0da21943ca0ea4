"""Reasons against clustering a table as it is: row numbers, few distinct rows, a column that decides alone."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import ColumnFacts, categories
from shallowrules.encoding.roles import Roles
from shallowrules.errors import Finding
from shallowrules.fitting.survey import Survey
from shallowrules.partitions import Part, ThreadedPartitions, WholeTable
from shallowrules.partitions.base import has_values
from shallowrules.partitions.merging import Added
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Table
from shallowrules.tables.values import Value

__all__ = ["Rows", "Space", "count_distinct_rows", "count_incomplete", "find_ids", "largest_variance"]

Rows = WholeTable | ThreadedPartitions
"""A table that this process reads, in memory or in parts."""

MIN_ORDERED = 8
"""The number of rows above which a numbering is not a coincidence."""

FIRST_ROWS = 1000
"""The number of rows of a column that usually suffice to see that it has fractions."""

ID_WORDS = {"id", "ids", "key", "pk", "uuid", "guid", "rowid"}
ID_LAST_WORDS = ID_WORDS | {"no", "nr", "num", "index", "idx", "serial"}


def find_ids(rows: Rows, first: Table, columns: Sequence[ColumnFacts], insisted: Collection[str]) -> list[Finding]:
    """Return the columns that look like row numbers, except those that were asked for by name.

    `first` are the rows of the first part.
    """
    columns = [column for column in columns if column.type in ("integer", "float") and column.name not in insisted]
    return [
        Finding("id", repr(column.name), column.name)
        for column in columns
        if _is_id(first[column.name]) and (column.n_rows == first.n_rows or _is_id_throughout(rows, column, first))
    ]


def _is_id_throughout(rows: Rows, column: ColumnFacts, first: Table) -> bool:
    """Return whether a whole column looks like an ID, as it does in the first part."""
    distinct = rows.count_distinct(column.name)
    if distinct is not None and distinct < column.present:
        return False
    if _is_id_name(column.name) or column.ends is None:
        return True
    steps = np.abs(np.diff(first[column.name].numbers()))
    step = float(steps[0]) if (steps == steps[0]).all() else 1.0
    return float(column.ends[1]) - float(column.ends[0]) == step * (column.present - 1)


def _is_id(column: Column) -> bool:
    """Return whether whole numbers are all distinct and named like an ID, or are a numbering.

    A numbering has one step from row to row, or is shuffled and skips no number. Sorted values
    alone prove nothing: tables are often sorted by a quantity.
    """
    values = column.numbers() if column.is_finite else column.numbers()[~column.absent]
    if len(values) < 2 or not all(np.array_equal(some, np.floor(some)) for some in (values[:FIRST_ROWS], values)):
        return False
    if not _is_id_name(column.name):
        if len(values) < MIN_ORDERED:
            return False
        steps = np.diff(values)
        consecutive = float(values.max()) - float(values.min()) == len(values) - 1
        if not consecutive and not (steps == steps[0]).all():
            return False
    return len(np.unique(values)) == len(values)


def _is_id_name(name: str) -> bool:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return bool(words) and (words[0].lower() in ID_WORDS or words[-1].lower() in ID_LAST_WORDS)


def count_incomplete(rows: Rows, names: Sequence[str]) -> int:
    """Return how many rows lack a value in any of some columns."""
    return int(rows.map_reduce(_count_incomplete, names)["rows"])


def _count_incomplete(part: Part, names: Sequence[str]) -> Added:
    return Added({"rows": np.array(part.n_rows - np.count_nonzero(has_values(part, names)))})


@dataclass(frozen=True, eq=False)
class Space:
    """The rows that count in some columns, with the substitutes for missing values in them."""

    roles: Roles
    names: tuple[str, ...]
    imputed: Mapping[str, Number | Value | None]

    def __call__(self, part: Part) -> tuple[Table, NDArray[np.float64] | None]:
        """Return the rows of a part, and their weights."""
        columns = tuple(part[name].filled(self.imputed.get(name)) for name in self.names)
        table, weights = Table(columns, part.n_rows), self.roles.weights(part)
        if weights is None or (weights > 0).all():
            return table, weights
        return table.take(weights > 0), weights[weights > 0]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows, up to a limit."""

    rows: frozenset[tuple[Any, ...]]
    most: int

    def merged(self, other: DistinctRows) -> DistinctRows:
        """Return the distinct rows of both parts."""
        return DistinctRows(frozenset(islice(self.rows | other.rows, self.most)), self.most)


def count_distinct_rows(rows: Rows, space: Space, most: int) -> int:
    """Return how many distinct rows there are, counting no more than `most`."""
    return len(rows.map_reduce(_distinct_rows, (space, most)).rows)


def _distinct_rows(part: Part, state: tuple[Space, int]) -> DistinctRows:
    space, most = state
    table, _ = space(part)
    coded = [c.numbers() if c.is_numeric else c.positions(categories(c)) for c in table.columns]
    n_rows, found = 0, np.zeros(0, np.intp)
    while n_rows < table.n_rows and len(found) < most:
        # Usually the first rows already have enough distinct ones.
        n_rows = min(max(4 * most, 4 * n_rows), table.n_rows)
        found = np.unique(np.column_stack([codes[:n_rows] for codes in coded]), axis=0, return_index=True)[1]
    values = (column.values[found[:most]].tolist() for column in table.columns)
    return DistinctRows(frozenset(zip(*values, strict=True)), most)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of weights, deviations and squared deviations of some columns, a triple for each and each part."""

    sums: tuple[tuple[tuple[float, float, float], ...], ...]

    def merged(self, other: Moments) -> Moments:
        """Return the sums of both parts."""
        return Moments(self.sums + other.sums)

    def variances(self) -> list[float]:
        """Return the variance of each column; the order of the parts does not matter."""
        found = []
        for sums in zip(*self.sums, strict=True):
            weight, first, second = (math.fsum(values) for values in zip(*sums, strict=True))
            found.append(max(0.0, second / weight - (first / weight) ** 2))
        return found


def _moments(part: Part, state: tuple[Space, float, Sequence[float]]) -> Moments:
    space, largest, shifts = state
    table, weights = space(part)
    sums = []
    for column, shift in zip(table.columns, shifts, strict=True):
        gaps = column.numbers() / largest - shift
        weighed = gaps if weights is None else gaps * weights
        weight = float(len(gaps)) if weights is None else float(weights.sum())
        sums.append((weight, float(weighed.sum()), float(weighed @ gaps)))
    return Moments((tuple(sums),))


def largest_variance(rows: Rows, space: Space, facts: Survey) -> tuple[str, float]:
    """Return the column of numbers with the largest variance and its share of all; "" and 0 where fewer than 2 vary."""
    varying = [
        column
        for column in facts.columns
        if column.name in space.names and column.counted_ends is not None and column.only_value is None
    ]
    if len(varying) < 2:
        return "", 0.0
    ends = [tuple(map(float, column.counted_ends or ())) for column in varying]
    # Relative to the largest of all, squares cannot overflow.
    largest = max(abs(end) for both in ends for end in both)
    shifts = [low / largest / 2 + high / largest / 2 for low, high in ends]
    names = replace(space, names=tuple(column.name for column in varying))
    variances = rows.map_reduce(_moments, (names, largest, shifts)).variances()
    place = int(np.argmax(variances))
    # All may be 0: whole numbers that differ by less than a float can represent.
    return varying[place].name, variances[place] / sum(variances) if variances[place] else 0.0

"""Substitutes for missing values: the median of numbers, the most frequent category, or a category of their own.

The median is a value of the table, the lower of two in the middle, so that whole numbers stay whole and a row of weight
3 is three rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding.facts import ColumnFacts
from shallowrules.encoding.ranked import RankedColumn, Weighed, ranked_values
from shallowrules.errors import DataError
from shallowrules.measures.summation import in_units
from shallowrules.partitions.merging import Added, Run, at_once
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Table
from shallowrules.tables.values import Value

__all__ = [
    "COMPLETE",
    "IMPUTED",
    "Filling",
    "Present",
    "ReadPresent",
    "impute_table",
    "missing_category",
    "present_values",
    "values_for_missing",
]

Present = tuple[Column, NDArray[np.int64] | None]
"""The values of a column that are present in rows that count, and the weight of each; None for 1 each."""

ReadPresent = Callable[[Any], Sequence[Present]]
"""Takes the rows of a part; returns the values present in each column. It is pickled."""


@dataclass(frozen=True)
class Filling:
    """The missing values to impute, and how.

    Parameters
    ----------
    impute : None or "median"
        Fills the columns that `missing` does not.
    missing : None or "category"
        Whether missing values of text are a category of their own. Codes are numbers, and have no such category.
    """

    impute: str | None = None
    missing: str | None = None

    def fills(self, column: Column | ColumnFacts) -> bool:
        """Return whether the missing values of a column are filled in."""
        return self.impute is not None or self.adds_category(column)

    def adds_category(self, column: Column | ColumnFacts) -> bool:
        """Return whether the missing values of a column are a category of their own."""
        return self.missing == "category" and column.type == "text" and not column.holds_codes


COMPLETE = Filling()
"""No missing value is filled in."""

IMPUTED = Filling("median")
"""Every missing value is."""


def missing_category(values: Collection[Value]) -> str:
    """Return '(missing)', the category of missing values, in more parentheses if it is one of the others."""
    name = "(missing)"
    while name in values:
        name = f"({name})"
    return name


def impute_table(table: Table, sample_weight: NDArray[np.float64] | None = None, filling: Filling = IMPUTED) -> Table:
    """Return a table with each missing value filled in.

    Raises
    ------
    DataError
        If a column has no value at all.
    """
    lacking = [column for column in table.columns if column.n_missing and filling.fills(column)]
    if not lacking:
        return table
    counted = None if sample_weight is None else sample_weight > 0
    units = None if sample_weight is None else in_units(sample_weight, float(sample_weight.sum()))
    facts = [ColumnFacts.of(column, counted) for column in lacking]
    imputed = [column for column in lacking if not filling.adds_category(column)]
    read = [present_values(column, counted, units) for column in imputed]
    found = values_for_missing(at_once(read), list, facts, [column.values.dtype for column in imputed], filling)
    return table.filled([found.get(name) for name in table.names])


def present_values(column: Column, counted: NDArray[np.bool_] | None, units: NDArray[np.int64] | None) -> Present:
    """Return the values of a column that are present in rows that count, None for all, whose weights are `units`."""
    rows = ~column.absent if counted is None else counted & ~column.absent
    return replace(column, values=column.values[rows], missing=None, exact=None), None if units is None else units[rows]


def values_for_missing(
    run: Run,
    read: ReadPresent,
    columns: Sequence[ColumnFacts],
    dtypes: Sequence[np.dtype[Any]],
    filling: Filling,
) -> dict[str, Number | Value]:
    """Return the substitute for missing values by column name.

    Medians take a few passes, and the most frequent categories one; a category for missing values takes none.

    Parameters
    ----------
    run : callable
        As `Run` says.
    read : callable
        As `ReadPresent` says.
    columns : sequence of ColumnFacts
        Those that lack values.
    dtypes : sequence of numpy.dtype
        The NumPy type, in all parts, of each column that `read` returns: of those whose missing values are imputed.
    filling : Filling

    Raises
    ------
    DataError
        If a column has no value in the rows that count.
    """
    found: dict[str, Number | Value] = {
        each.name: missing_category(each.values) for each in columns if filling.adds_category(each)
    }
    columns = [each for each in columns if each.name not in found]
    for each in columns:
        if each.counted_ends is None and not each.counted_values:
            raise DataError(f"column {each.name!r} has no values, so none can be imputed; exclude it")
    if not columns:
        return found
    distinct = [tuple(sorted(each.counted_values)) for each in columns]
    weights = run(_weigh, (read, distinct))
    medians = {
        j: RankedColumn(dtype, each.counted_ends, [(int(weights[str(j)][0]) + 1) // 2 - 1])
        for j, (each, dtype) in enumerate(zip(columns, dtypes, strict=True))
        if each.counted_ends is not None
    }
    ranked = ranked_values(run, _WeighedColumns(read), medians)
    for j, (each, values) in enumerate(zip(columns, distinct, strict=True)):
        found[each.name] = values[int(np.argmax(weights[str(j)]))] if values else next(iter(ranked[j].values()))
    return found


def _weigh(rows: Any, state: tuple[ReadPresent, Sequence[Sequence[Value]]]) -> Added:
    """Return by column the weight of its values, or of each category if it has categories."""
    read, distinct = state
    found: dict[str, NDArray[np.int64]] = {}
    for j, ((column, weight), values) in enumerate(zip(read(rows), distinct, strict=True)):
        places = column.positions(values) if values else np.zeros(len(column.values), np.intp)
        found[str(j)] = np.bincount(places, weight, max(1, len(values))).astype(np.int64)
    return Added(found)


@dataclass(frozen=True)
class _WeighedColumns:
    """Reads the values to rank."""

    read: ReadPresent

    def __call__(self, rows: Any) -> list[Weighed]:
        return [Weighed(column.values, weight) for column, weight in self.read(rows)]

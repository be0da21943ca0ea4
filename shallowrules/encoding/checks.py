"""Obstacles to clustering a table: found here for all callers, each of which words them in terms of its own options."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges
from shallowrules.errors import DataError, Finding, all_at_once, counted
from shallowrules.tables.column import ColumnType
from shallowrules.tables.table import Table

__all__ = [
    "MAX_CATEGORIES",
    "are_too_many",
    "find_infinite",
    "find_missing",
    "find_other_types",
    "find_too_many_values",
    "find_without_values",
    "refuse_extreme_weights",
    "refuse_missing",
    "refuse_other_types",
    "refuse_too_large",
    "refuse_too_many_values",
    "refuse_unusable",
    "unusable",
    "values_counted",
]

MAX_CATEGORIES = 50
"""Maximum number of categories that a column may have: more are IDs or free text, and each would become a column."""

ID_LIKE_SHARE = 0.9
"""Share of distinct texts among the rows above which a column looks like IDs or free text."""

MIN_ID_LIKE = 10
"""Distinct texts below which a column never looks like IDs: in a small table all values may differ."""

MAX_VALUE = 1e290
"""Largest number of a column: the sums of ten rows of 1.7e308, and of their weights, exceed every double."""

MAX_SQUARED = 1e145
"""The same where squares are summed, as for a standard deviation."""

MIN_LARGEST_WEIGHT, MAX_WEIGHT = 1e-100, 1e100
"""Limits of the largest weight: sums that are weighted by it are squared."""


class Examined(Protocol):
    """A column, or the facts from one pass over a table in parts."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> ColumnType: ...
    @property
    def nature(self) -> str | None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_missing(self) -> int: ...
    @property
    def n_infinite(self) -> int: ...
    @property
    def n_distinct(self) -> int: ...


def find_missing(columns: Iterable[Examined]) -> list[Finding]:
    """Return the columns that lack values, and in how many rows."""
    return [
        Finding("missing values", f"{column.name!r} ({counted(found, 'row')})", column.name, found, column.n_rows)
        for column in columns
        if (found := column.n_missing)
    ]


def find_infinite(columns: Iterable[Examined]) -> list[Finding]:
    """Return the columns with infinite numbers, and in how many rows."""
    return [
        Finding("infinite values", f"{column.name!r} ({counted(found, 'row')})", column.name, found, column.n_rows)
        for column in columns
        if (found := column.n_infinite)
    ]


def find_without_values(columns: Iterable[Examined]) -> list[Finding]:
    """Return the columns in which every value is missing."""
    return [
        Finding("no values", repr(column.name), column.name) for column in columns if column.n_missing == column.n_rows
    ]


def find_other_types(columns: Iterable[Examined]) -> list[Finding]:
    """Return the columns that can be neither numbers nor categories, with their content as the example."""
    return [
        Finding("other type", f"{column.name!r} ({column.nature})", column.name, example=column.nature)
        for column in columns
        if column.type == "other"
    ]


def find_too_many_values(columns: Iterable[Examined]) -> list[Finding]:
    """Return the columns of text with too many values to be categories, such as IDs and free text.

    `count` is their number, or one more than the limit if counting stopped there.
    """
    found = []
    for column in columns:
        if column.type != "text":
            continue
        distinct, present = column.n_distinct, column.n_rows - column.n_missing
        if are_too_many(distinct, present):
            message = f"{column.name!r} ({values_counted(distinct)} in {counted(column.n_rows, 'row')})"
            found.append(Finding("too many values", message, column.name, distinct, column.n_rows))
    return found


def are_too_many(distinct: int, present: int) -> bool:
    """Return whether a column has too many distinct texts for categories: over 50, or a new one in nearly every row."""
    return distinct > MAX_CATEGORIES or (distinct >= MIN_ID_LIKE and distinct > ID_LIKE_SHARE * present)


def values_counted(distinct: int) -> str:
    """Return how many values a column of text has, in words; counting stops one beyond `MAX_CATEGORIES`."""
    return f"more than {MAX_CATEGORIES} values" if distinct == MAX_CATEGORIES + 1 else counted(distinct, "value")


def refuse_unusable(table: Table, complete: Iterable[Examined], ranges: Ranges | None = None) -> None:
    """Raise DataError naming the columns that hold infinite values, or missing ones, and in how many rows.

    Parameters
    ----------
    table : Table
    complete : iterable of Column
        Its columns that may not lack values.
    ranges : Ranges, optional
        Those of all columns, where they are known.
    """
    all_at_once(unusable(table, complete, ranges))


def unusable(table: Table, complete: Iterable[Examined], ranges: Ranges | None = None) -> list[Callable[[], None]]:
    """Return the checks of `refuse_unusable`, for `all_at_once`."""
    if ranges is not None and np.isfinite(ranges).all():
        return []
    remedy = "exclude these rows, impute the values, or exclude the columns"
    return [partial(refuse_missing, complete, remedy), partial(refuse_infinite, table.columns)]


def refuse_infinite(columns: Iterable[Examined]) -> None:
    """Raise DataError naming the columns that hold infinite numbers, and in how many rows."""
    infinite = find_infinite(columns)
    if infinite:
        raise DataError(
            f"infinity in {_listed(infinite)}: k-means needs finite numbers; correct or exclude the rows",
            findings=infinite,
        )


def refuse_missing(columns: Iterable[Examined], remedy: str) -> None:
    """Raise DataError naming the columns that lack values, and in how many rows, with a remedy."""
    missing = find_missing(columns)
    if missing:
        raise DataError(f"missing values (NaN, None or NULL) in {_listed(missing)}: {remedy}", findings=missing)


def refuse_other_types(columns: Iterable[Examined]) -> None:
    """Raise DataError naming the columns that can be neither numbers nor categories."""
    other = find_other_types(columns)
    if other:
        raise DataError(
            f"columns that are neither numbers nor categories cannot be used: {_listed(other)}; exclude them",
            findings=other,
        )


def refuse_too_many_values(columns: Iterable[Examined]) -> None:
    """Raise DataError naming the columns of text that have too many values to be categories."""
    many = find_too_many_values(columns)
    if many:
        raise DataError(
            f"{_listed(many)}: too many values to be categories (more than {MAX_CATEGORIES}, or a different one in "
            "nearly every row); they look like IDs or free text: exclude columns that should not be used",
            findings=many,
        )


def refuse_too_large(table: Table, scale: str | None, ranges: Ranges | None = None) -> None:
    """Raise DataError naming the columns of finite numbers so large that the sums of a scaling overflow."""
    largest = MAX_SQUARED if scale == "standard" else MAX_VALUE
    if ranges is not None and (np.abs(ranges) <= largest).all():
        return
    found = [
        Finding("too large", f"{column.name!r} ({value:.1e})", column.name)
        for column in table.columns
        if column.is_numeric and len(column.values) and largest < (value := max(map(abs, column.ends))) < math.inf
    ]
    if found:
        raise DataError(
            f"numbers beyond {largest:g} overflow when they are summed, in {_listed(found)}: divide the column by a "
            "power of ten, or exclude it",
            findings=found,
        )


def refuse_extreme_weights(weight: NDArray[np.float64]) -> None:
    """Raise DataError for weights so large or so small that squares of weighed values leave the range of floats."""
    largest = float(weight.max(initial=0.0))
    if largest and not MIN_LARGEST_WEIGHT <= largest <= MAX_WEIGHT:
        raise DataError(
            f"the largest weight is {largest:.1e}: sums of squares that are weighted by it overflow floats; multiply "
            "all weights by one constant"
        )


def _listed(findings: Sequence[Finding]) -> str:
    return ", ".join(finding.message for finding in findings)

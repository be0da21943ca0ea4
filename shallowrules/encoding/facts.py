"""Facts about a column from one pass, over a table or its parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding.blocks import place_between
from shallowrules.encoding.checks import MAX_CATEGORIES
from shallowrules.errors import DataError
from shallowrules.tables.column import NESTED, Column, ColumnType
from shallowrules.tables.conversion import Number
from shallowrules.tables.values import Value

__all__ = ["ColumnFacts", "categories"]

Ends = tuple[Number, Number]


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """Facts about one column.

    Parameters
    ----------
    name, type : str
    n_rows, n_missing, n_infinite : int
        Rows, those without a value, and those with an infinite number.
    nature : str or None
        Its content in the words of a message; None where no value shows it.
    ends, counted_ends : (least, greatest) or None
        Of all numbers, and of those in rows that count.
    values, counted_values : frozenset
        Categories, likewise; at most one more than there may be.
    holds_codes : bool
        Whether these are whole numbers.
    some_numbers : frozenset
        Of the numbers in rows that count, three that differ, or all distinct ones where there are fewer.
    """

    name: str
    type: ColumnType
    n_rows: int
    n_missing: int = 0
    n_infinite: int = 0
    nature: str | None = None
    ends: Ends | None = None
    counted_ends: Ends | None = None
    values: frozenset[Value] = frozenset()
    counted_values: frozenset[Value] = frozenset()
    holds_codes: bool = False
    some_numbers: frozenset[Number] = frozenset()

    @classmethod
    def of(cls, column: Column, rows: NDArray[np.bool_] | None) -> ColumnFacts:
        """Return the facts of one part, in which `rows` count."""
        n_missing = column.n_missing
        n_rows, codes = len(column.values), column.holds_codes
        facts = cls(column.name, column.type, n_rows, n_missing, column.n_infinite, holds_codes=codes)
        if n_missing == facts.n_rows:
            return facts
        facts = replace(facts, nature=column.nature)
        if column.type == "other":
            return facts
        known = None if not n_missing else ~column.absent
        among = rows if known is None else known if rows is None else known & rows
        values = column.values if known is None else column.values[known]
        counted_values = None if among is known else column.values[among]
        if column.is_numeric:
            numbers = values if counted_values is None else counted_values
            return replace(facts, ends=_ends(values), counted_ends=_ends(numbers), some_numbers=_some_numbers(numbers))
        distinct = _distinct(column, values)
        counted = distinct if counted_values is None else _distinct(column, counted_values)
        return replace(facts, values=distinct, counted_values=counted)

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.n_rows - self.n_missing

    @property
    def n_distinct(self) -> int:
        """Distinct texts, at most one more than the limit."""
        return len(self.values)

    @property
    def only_value(self) -> Number | Value | None:
        """The single value of all rows that count; None where they have several, or none."""
        if self.counted_ends is not None and self.counted_ends[0] == self.counted_ends[1]:
            return self.counted_ends[0]
        return next(iter(self.counted_values)) if len(self.counted_values) == 1 else None

    @property
    def counts_as(self) -> Literal["number", "category"] | None:
        """How a balanced weight treats the column, one with two numbers as categories; None if it is constant."""
        if len(self.counted_values) > 1 or len(self.some_numbers) == 2:
            return "category"
        return "number" if len(self.some_numbers) > 2 else None

    def merged(self, other: ColumnFacts) -> ColumnFacts:
        """Return the facts of both parts together."""
        one_nature = self.nature == other.nature or other.nature is None
        return ColumnFacts(
            self.name,
            self.type,
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            self.n_infinite + other.n_infinite,
            self.nature if one_nature else other.nature if self.nature is None else NESTED,
            _both_ends(self.ends, other.ends),
            _both_ends(self.counted_ends, other.counted_ends),
            _capped(self.values | other.values),
            _capped(self.counted_values | other.counted_values),
            self.holds_codes or other.holds_codes,
            frozenset(sorted(self.some_numbers | other.some_numbers)[:3]),
        )


def _distinct(column: Column, values: NDArray[Any]) -> frozenset[Value]:
    return _capped(categories(replace(column, values=values, missing=None)))


def _ends(values: NDArray[Any]) -> Ends | None:
    return (values.min().item(), values.max().item()) if len(values) else None


def _some_numbers(values: NDArray[Any]) -> frozenset[Number]:
    """Return three distinct numbers, or all if there are fewer."""
    ends = _ends(values)
    if ends is None:
        return frozenset()
    place = place_between(values, *ends)
    return frozenset(ends if place is None else (*ends, values[place].item()))


def _both_ends(one: Ends | None, other: Ends | None) -> Ends | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def _capped(values: Iterable[Value]) -> frozenset[Value]:
    return frozenset(sorted(values)[: MAX_CATEGORIES + 1])


def categories(column: Column) -> tuple[Value, ...]:
    """Return the distinct values of a column of categories, ascending; DataError for values of mixed types."""
    wanted = (bool, np.bool_) if column.type == "boolean" else str
    present = column.values[~column.absent]
    other = next((value for value in present if not isinstance(value, wanted)), None)
    if other is not None:
        raise DataError(
            f"column {column.name!r} mixes {column.nature} with {other!r} ({type(other).__name__}): "
            "make its values of one type, or exclude it"
        )
    return tuple(sorted({bool(value) if column.type == "boolean" else str(value) for value in present}))

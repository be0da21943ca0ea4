"""The raw columns that rules are over, and how a table's column becomes one of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError
from shallowrules.rules.reading import (
    read_codes,
    read_numbers,
    read_texts,
    read_times,
    read_truths,
    stray_codes,
    stray_numbers,
    stray_times,
    stray_truths,
)
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import INT64, Conversion, Number
from shallowrules.tables.given import plain_column
from shallowrules.tables.times import TIME_TYPES, TimeType, bound_text, format_time, time_range
from shallowrules.tables.values import Value, is_number_text

__all__ = ["OPTIONAL", "UINT64", "RuleColumn", "format_value", "held_numbers", "plain_text"]

CATEGORICAL = ("text", "boolean")
"""The types of columns that hold categories, which are compared by equality."""

UINT64 = range(2**64)

OPTIONAL = {"optional": True}
"""Marks a field that a document may omit; it is written only if it differs from its default."""


@dataclass(frozen=True)
class RuleColumn:
    """A raw column of the training table.

    `type` is how its values were read and are compared. For numbers, `mean`, `minimum` and `maximum` describe the
    training rows, in the column's own units; for categories they are None, and `values` are those of the training rows,
    the most frequent first, with their `shares` of the weight.

    `codes` says whether the values of a column of type "text" are whole numbers in their plain spelling, compared as
    numbers: 3, 3.0, a decimal 3.00 and the text '3.0' are one.

    `dates`, `decimal`, `nulls` and `format` say how the text of a file became the values, where it was needed
    (`shallowrules.tables.conversion.Conversion`). `imputed` is the substitute for missing values, None if they stay
    missing. `edges` are those of the bins of its histograms (`Cluster.histograms`): a bin holds values above its lower
    edge and at most its upper one, and the first also its lower edge. `separation` is its share of the separation of
    the clusters that the rules explain: its part of the sum of squares between them, in the space that was clustered,
    all its categories together; None where it is not known. `quartiles` are the lower one, the median and the upper one
    of the training rows; none where they were not measured.
    """

    name: str
    type: Literal["integer", "float", "date", "timestamp", "timestamptz", "duration", "text", "boolean"]
    mean: float | None
    minimum: Number | None
    maximum: Number | None
    values: tuple[Value, ...] = field(default=(), metadata=OPTIONAL)
    shares: tuple[float, ...] = field(default=(), metadata=OPTIONAL)
    codes: bool = field(default=False, metadata=OPTIONAL)
    dates: str = field(default="", metadata=OPTIONAL)
    decimal: str = field(default=".", metadata=OPTIONAL)
    nulls: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    format: str = field(default="", metadata=OPTIONAL)
    imputed: Number | Value | None = field(default=None, metadata=OPTIONAL)
    edges: tuple[Number, ...] = field(default=(), metadata=OPTIONAL)
    separation: float | None = field(default=None, metadata=OPTIONAL)
    quartiles: tuple[float, ...] = field(default=(), metadata=OPTIONAL)

    @property
    def conversion(self) -> Conversion:
        """The conversion of a file's text into values."""
        return Conversion(self.decimal, self.nulls, self.format, self.codes, self.dates)

    def read(self, given: Column) -> Column:
        """Return a column as the rules compare it: converted, and with its missing values imputed.

        Raises
        ------
        DataError
            If it holds values of a different type, or text that is neither a number nor means "no value".
        """
        given = plain_column(given)
        if given.is_time and not self.is_time and not given.absent.all():
            wanted = "numbers" if self.is_numeric else "text" if self.type == "text" else "true and false"
            raise DataError(f"column {given.name!r} must hold {wanted}, but holds {given.nature}: convert it first")
        if self.is_time:
            read = read_times(given, cast(TimeType, self.type), self.conversion)
        elif self.is_numeric:
            read = read_numbers(given, self.conversion, whole=self.is_whole)
            read.numbers()  # which refuses others
        elif self.type == "boolean":
            read = read_truths(given)
        elif self.codes:
            read = read_codes(given, self.conversion)
        else:
            read = read_texts(given, self.conversion, holds_numbers=self.holds_numbers)
            read.refuse_others(text=True)
        return read.filled(self.imputed)

    def read_strays(self, given: Column) -> tuple[Column, NDArray[np.bool_]]:
        """Return a column as `read` does, and the places of cells that are neither values nor missing.

        SQL finds no value there and imputes none: the value is missing in the result.

        Raises
        ------
        DataError
            If it holds values of a different type.
        """
        if (self.from_text or self.codes) and not given.is_numeric:
            strays = (stray_codes if self.codes else stray_numbers)(given, self.conversion)
            given = replace(given, type="text")  # beside numbers, in a database whose columns can hold both
        elif self.type == "boolean":
            strays = stray_truths(given)
        elif self.is_time:
            strays = stray_times(given, cast(TimeType, self.type), self.conversion)
        else:
            strays = np.zeros(len(given.values), bool)
        if not strays.any():
            return self.read(given), strays
        # Missing first, so that they can be read, and again where a value was imputed.
        return _without(self.read(_without(given, strays)), strays), strays

    @property
    def holds_numbers(self) -> bool:
        """Whether every category is a number, as in a categorical column of numbers, which rows give as numbers.

        For `codes` this is known; in a document of an earlier version, the values tell.
        """
        return self.codes or (self.type == "text" and bool(self.values) and all(map(is_number_text, self.values)))

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.type not in CATEGORICAL

    @property
    def is_whole(self) -> bool:
        """Whether the values are whole numbers."""
        return self.type == "integer" or self.is_time

    @property
    def is_time(self) -> bool:
        """Whether the values are dates, points in time or durations: whole numbers, of `shallowrules.tables.times`."""
        return self.type in TIME_TYPES

    @property
    def is_flag(self) -> bool:
        """Whether it is a column of whole numbers that are all 0 or 1."""
        return self.type == "integer" and self.minimum == 0 and self.maximum == 1

    def show(self, value: Number | Value) -> str:
        """Return a value as rules show it: a number with all its digits, a time, a text in quotes, true or false."""
        if isinstance(value, str | bool):
            return format_value(value)
        return format_time(self.type, int(value)) if self.is_time else str(value).removesuffix(".0")

    def show_threshold(self, threshold: Number | Value) -> str:
        """Return the value of a comparison, as rules show it: for points in time the first one above."""
        if self.is_time and not isinstance(threshold, str | bool):
            return bound_text(self.type, int(threshold), above=False)[1]
        return self.show(threshold)

    @property
    def from_text(self) -> bool:
        """Whether the values are numbers, but text to a reader that does not know the conversion."""
        return self.is_numeric and not self.is_time and self.conversion.from_text

    @property
    def converts_text(self) -> bool:
        """Whether the rules convert the text of a file themselves, so that a reader can leave it as it is."""
        told = bool(self.nulls or self.dates)
        return self.from_text or self.codes or ((self.is_time or not self.is_numeric) and told)


def held_numbers(column: RuleColumn) -> range:
    """Return the whole numbers that a column can hold: unsigned ones if it had one beyond a signed 64-bit integer."""
    if column.is_time:
        return time_range(column.type)
    return UINT64 if column.maximum is not None and column.maximum > INT64[-1] else INT64


def plain_text(value: Value) -> str:
    """Return a category as plain text: a text as it is, or true or false."""
    return value if isinstance(value, str) else format_value(value)


def format_value(value: Value) -> str:
    """Return a category as rules show it: a text in single quotes, doubled inside, or true or false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'"


def _without(column: Column, rows: NDArray[np.bool_]) -> Column:
    """Return a column whose values are missing in some rows."""
    if column.is_numeric:
        return replace(column, missing=column.absent | rows)
    values = column.values.astype(object)
    values[rows] = None
    return replace(column, values=values)

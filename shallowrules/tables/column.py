"""One raw column: its values in one type, which of them are missing, and what their text needed to become these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import repeat
from types import NoneType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError
from shallowrules.tables.conversion import DOUBLE_EXACT, PLAIN, Conversion, Number
from shallowrules.tables.times import NATURES, TIME_TYPES, format_time
from shallowrules.tables.values import Value, is_missing, number_text

__all__ = ["NESTED", "Column", "ColumnType"]

ColumnType = Literal["integer", "float", "date", "timestamp", "timestamptz", "duration", "text", "boolean", "other"]

OTHER_NATURES = {
    "str": "dates that are not all valid in one format, as 2024-03-31 is",
    "time": "times of day",
    "bytes": "binary data",
    "bytearray": "binary data",
    "UUID": "UUIDs",
    "Interval": "intervals",
    "Period": "periods",
    "complex": "complex numbers",
    **dict.fromkeys(("date", "datetime", "timedelta", "Timestamp", "Timedelta", "datetime64"), "dates or the like"),
    "timedelta64": "durations in years or months",
}
"""The content of a column of type "other", in the words of a message, by the type of its values."""

NESTED = "mixed or nested values"
"""Its content where the values are of several types, or collections."""


@dataclass(frozen=True, eq=False)
class Column:
    """One raw column.

    Parameters
    ----------
    name : str
    type : {"integer", "float", "date", "timestamp", "timestamptz", "duration", "text", "boolean", "other"}
        How the values are read and compared. "other" (lists, times of a day, …) can be named in an
        error message and nothing else.
    values : ndarray, shape (n_rows,)
        Integers and floats in a NumPy number type, or as objects where none holds them all; dates, points in time and
        durations as the whole numbers of `shallowrules.tables.times`; anything else as objects.
    missing : ndarray of bool, shape (n_rows,), optional
        Where the value is missing, beyond the NaN that a float column may hold.
    conversion : Conversion
        What the text of a file needed to become these values.
    exact : ndarray of object, shape (n_rows,), optional
        The numbers that they were before they became doubles, where that rounded one.
    imputed : int, float, str, bool or None
        The value that replaced missing ones; None where none was filled in.
    imputed_rows : ndarray of bool, shape (n_rows,), optional
        Where `imputed` stands in place of a missing value.
    of_numbers : bool
        Whether texts are those of the numbers of a categorical column, which are its categories in fitting alone.
    """

    name: str
    type: ColumnType
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    conversion: Conversion = PLAIN
    exact: NDArray[Any] | None = None
    imputed: Number | Value | None = None
    imputed_rows: NDArray[np.bool_] | None = None
    of_numbers: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers, or times, which are numbers to the rules."""
        return self.is_whole or self.type == "float"

    @property
    def is_whole(self) -> bool:
        """Whether they are whole numbers."""
        return self.type == "integer" or self.is_time

    @property
    def is_time(self) -> bool:
        """Whether they are dates, points in time or durations."""
        return self.type in TIME_TYPES

    @property
    def nature(self) -> str:
        """The content of the column, in the words of a message."""
        if self.type != "other":
            return {"boolean": "true or false", **NATURES}.get(self.type, self.type)
        present = self.values[~self.absent]
        nested = any(str(value).startswith(("[", "{")) for value in present)
        kinds = set(map(type, present))
        if nested or len(kinds) > 1 or kinds & {list, dict, tuple, set, np.ndarray}:
            return NESTED
        kind = next(iter(kinds), str)
        if issubclass(kind, Enum):
            return f"members of the Enum {kind.__name__}"
        return OTHER_NATURES.get(kind.__name__, f"values of type {kind.__name__}")

    @cached_property
    def absent(self) -> NDArray[np.bool_]:
        """Where the value is missing (NULL, None or NaN), shape (n_rows,)."""
        if self.is_numeric:
            absent = np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self.values), bool)
        else:
            known = self.value_types <= {str, bool, NoneType}  # of which only None is missing
            missing = (value is None for value in self.values.tolist()) if known else map(is_missing, self.values)
            absent = np.fromiter(missing, bool, len(self.values))
        return absent if self.missing is None else absent | self.missing

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value of a column of numbers that has rows, NaN where one is."""
        return float(self.values.min()), float(self.values.max())

    @cached_property
    def is_beyond_doubles(self) -> bool:
        """Whether the column holds a whole number so large that a double does not tell it from its neighbors."""
        return self.is_whole and len(self.values) > 0 and max(map(abs, self.ends)) >= DOUBLE_EXACT

    @property
    def is_finite(self) -> bool:
        """Whether every value is a number, none missing or infinite."""
        return self.is_numeric and self.missing is None and len(self.values) > 0 and all(map(math.isfinite, self.ends))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_missing(self) -> int:
        """Rows without a value."""
        return 0 if self.is_finite else int(np.count_nonzero(self.absent))

    @property
    def n_infinite(self) -> int:
        """Rows with an infinite number."""
        return 0 if self.is_finite or not self.is_numeric else int(np.count_nonzero(np.abs(self.values) == np.inf))

    @property
    def n_distinct(self) -> int:
        """Distinct values."""
        return len(set(self.values[~self.absent].tolist()))

    @cached_property
    def value_types(self) -> frozenset[Any]:
        """The Python types of the values."""
        return frozenset(map(type, self.values.tolist()))

    @property
    def holds_codes(self) -> bool:
        """Whether the values are codes: whole numbers that are categories."""
        return self.conversion.codes

    def show(self, value: Any) -> str:
        """Return a value as a message shows it: a time as text, anything else as Python prints it."""
        return format_time(self.type, value) if self.is_time else str(value)

    def numbers(self) -> NDArray[Any]:
        """Return the values of a numeric column; DataError names a column that is not numeric."""
        if not self.is_numeric:
            raise DataError(f"column {self.name!r} is not numeric (it was read as {self.type})")
        return self.values

    def filled(self, value: Number | Value | None) -> Column:
        """Return the column with a value in place of each that is missing; as it is for None."""
        if value is None or not self.absent.any():
            return self
        values = self.values
        if values.dtype.kind in "iuf":
            values = values.astype(_type_for(value, values.dtype), copy=False)
        values = np.where(self.absent, np.array(value, dtype=values.dtype), values)
        kind = "float" if values.dtype.kind == "f" else self.type
        return replace(
            self, type=kind, values=values, missing=None, exact=None, imputed=value, imputed_rows=self.absent
        )

    def number_categories(self) -> Column:
        """Return a column of numbers as categories; as it is if it has no numbers, or some that doubles round."""
        present = ~self.absent
        if (
            not self.is_numeric
            or self.is_time
            or not (np.abs(self.values[present].astype(np.float64)) <= DOUBLE_EXACT).all()
        ):
            return self
        return self.number_texts()

    def number_texts(self) -> Column:
        """Return a column of numbers as the texts of their values."""
        texts = np.full(len(self.values), None, dtype=object)
        texts[~self.absent] = [number_text(value) for value in self.values[~self.absent].tolist()]
        return replace(self, type="text", values=texts, missing=None, exact=None)

    def positions(self, values: Sequence[Value]) -> NDArray[np.intp]:
        """Return the position in `values` of each row's value, -1 for any other and where it is missing.

        Texts are compared character by character. 0 and 1 are truth values, as in a database that has no others.
        DataError names a column that holds values of another type.
        """
        kind = bool if values and isinstance(values[0], bool) else str
        if self.is_numeric and self.absent.all():
            return np.full(len(self.values), -1, dtype=np.intp)  # without a value there is no type either
        place: dict[Value, int] = {value: i for i, value in enumerate(values)}
        if self.missing is None and self.value_types <= {kind, NoneType}:
            return np.fromiter(map(place.get, self.values.tolist(), repeat(-1)), np.intp, len(self.values))
        self.refuse_others(text=kind is str)
        present = zip(self.values.tolist(), self.absent.tolist(), strict=True)
        return np.fromiter(
            (-1 if absent else place.get(value, -1) for value, absent in present), np.intp, len(self.values)
        )

    def refuse_others(self, *, text: bool) -> None:
        """Raise DataError if a value is neither missing nor text (or a truth value)."""
        if self.value_types <= {str if text else bool, NoneType}:
            return
        other = self._first_other(text)
        if other is not None:
            wanted = "text" if text else "true and false"
            raise DataError(
                f"column {self.name!r} must hold {wanted}, but holds {other!r} ({type(other).__name__}): "
                "convert it first"
            )

    def _first_other(self, text: bool) -> Any:
        """Return the first value that is neither missing nor text (or a truth value); None if all are."""
        present = (
            value for value, absent in zip(self.values.tolist(), self.absent.tolist(), strict=True) if not absent
        )
        if text:
            return next((value for value in present if not isinstance(value, str)), None)
        return next((value for value in present if isinstance(value, str) or value not in (0, 1)), None)


def _type_for(value: Number | Value, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that holds a number and all values of a NumPy type of numbers, unrounded.

    Whole numbers beside a fraction become doubles: only rules that compare doubles replace missing ones by a fraction.
    """
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            if float(dtype.type(value)) == value:
                return dtype
        return np.dtype(np.float64 if float(value) == value else object)
    if not isinstance(value, int):
        return np.dtype(np.float64)
    if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return dtype
    wider = np.result_type(dtype, np.min_scalar_type(value))
    return wider if wider.kind in "iu" else np.dtype(object)

"""The values of a table's column as rules compare them: numbers from text, truth values, and which are missing.

`docs/numbers.md` defines them. A cell that is neither a value nor missing is a DataError that names its row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import (
    DOUBLE_EXACT,
    FALSE_TEXTS,
    GRAMMAR,
    INT64,
    PLAIN,
    TRUE_TEXTS,
    Conversion,
    Number,
)
from shallowrules.tables.dates import written_time
from shallowrules.tables.given import column_of
from shallowrules.tables.time_columns import times_among_text, times_of_text
from shallowrules.tables.times import DAY, NATURES, TimeType, time_of_text
from shallowrules.tables.values import interval_texts, number_text

__all__ = [
    "code_numbers",
    "read_codes",
    "read_numbers",
    "read_texts",
    "read_times",
    "read_truths",
    "stray_codes",
    "stray_numbers",
    "stray_times",
    "stray_truths",
]


def read_numbers(column: Column, conversion: Conversion, *, whole: bool) -> Column:
    """Return the numbers of a column.

    Parameters
    ----------
    column : Column
    conversion : Conversion
        The conversion of text. It does not change converted values.
    whole : bool
        Whether the rules compare whole numbers, exactly; else the values become doubles.
    """
    if column.type == "text" and conversion.from_text:
        column = _parsed(column, conversion)
    elif not column.is_numeric:
        column = _of_numbers(column)
    if column.exact is not None and whole:
        numbers = column.exact
        missing = column.absent
        column = replace(column, type="integer", values=np.where(missing, 0, numbers), missing=missing, exact=None)
    elif not whole and column.is_numeric and column.values.dtype.kind in "iu":
        column = replace(column, type="float", values=column.values.astype(np.float64))
    null_numbers = conversion.null_numbers if whole else tuple(map(float, conversion.null_numbers))
    if not column.is_numeric or not null_numbers:
        return column
    return replace(column, missing=column.absent | _equal_one_of(column.values, null_numbers))


def _of_numbers(column: Column) -> Column:
    """Return a column of truth values, alone or mixed with numbers, as numbers 0 and 1; return any other unchanged."""
    values = [None if absent else value for value, absent in zip(column.values.tolist(), column.absent, strict=True)]
    if not all(value is None or isinstance(value, Real | Decimal | np.bool_) for value in values):
        return column
    numbers = [int(value) if isinstance(value, bool | np.bool_) else value for value in values]
    found = column_of(column.name, numbers)
    return found if found.is_numeric else replace(found, type="float", values=np.full(len(values), np.nan))


def read_texts(column: Column, conversion: Conversion, *, holds_numbers: bool = False) -> Column:
    """Return the texts of a column, without those that mean "no value".

    With `holds_numbers`, whose rules' categories are texts of numbers, numbers are read as their texts. Intervals are
    read as theirs.
    """
    if column.type == "other":
        column = replace(column, type="text", values=interval_texts(column.values))
    if holds_numbers:
        column = column.number_categories()
        if column.type == "text" and not column.value_types <= {str, NoneType}:
            values = [number_text(value) if _is_category(value) else value for value in column.values.tolist()]
            column = replace(column, values=np.array(values, dtype=object))
    if column.type != "text" or not conversion.nulls:
        return column
    values = [None if isinstance(value, str) and conversion.is_null(value) else value for value in column.values]
    return replace(column, values=np.array(values, dtype=object))


def _is_category(value: Any) -> bool:
    """Return whether a value is a number that a double tells from its neighbors."""
    is_number = isinstance(value, Real | Decimal) and not isinstance(value, bool)
    return is_number and bool(abs(value) <= DOUBLE_EXACT)


def read_codes(column: Column, conversion: Conversion) -> Column:
    """Return the codes of a column, which may hold them as numbers or as text, in their plain spelling."""
    return code_numbers(column, conversion).number_texts()


def code_numbers(column: Column, conversion: Conversion) -> Column:
    """Return a column of codes as doubles, for comparison."""
    if column.absent.all():
        return replace(column, type="float", values=np.full(len(column.values), np.nan), missing=None)
    numbers = _parsed(column, conversion) if column.type == "text" else column
    if not numbers.is_numeric:
        raise DataError(f"column {column.name!r} must hold codes, but holds {column.nature}: convert it first")
    return read_numbers(numbers, conversion, whole=False)


def read_truths(column: Column) -> Column:
    """Return the truth values of a column, which may hold them as numbers or as text."""
    if column.missing is None and column.value_types <= {bool, NoneType}:
        return Column(column.name, "boolean", column.values.astype(object))
    truths = np.full(len(column.values), None, dtype=object)
    present = zip(column.values.tolist(), column.absent.tolist(), strict=True)
    for row, (value, absent) in enumerate(present):
        if not absent:
            truths[row] = _truth(value)
            if truths[row] is None:
                raise DataError(
                    f"column {column.name!r} must hold true and false, but row {row + 1} has {value!r} "
                    f"({type(value).__name__}): convert it first"
                )
    return Column(column.name, "boolean", truths)


def read_times(column: Column, kind: TimeType, conversion: Conversion = PLAIN) -> Column:
    """Return a column of dates, points in time or durations as rules of one of these kinds compare it.

    A date stands for the first moment of its day; rules on dates compare points in time by their day.
    """
    if column.type == kind:
        return column
    if column.absent.all():
        return replace(column, type=kind, values=np.zeros(len(column.values), np.int64), missing=column.absent)
    if (column.type, kind) == ("timestamp", "date"):
        return replace(column, type="date", values=column.values // DAY)
    if (column.type, kind) == ("date", "timestamp"):
        return replace(column, type="timestamp", values=column.values * DAY)
    if column.type != "text":
        raise DataError(
            f"column {column.name!r} must hold {NATURES[kind]}, but holds {column.nature}: convert it first"
        )
    return times_of_text(column, kind, conversion, _reader(conversion))


def stray_numbers(column: Column, conversion: Conversion) -> NDArray[np.bool_]:
    """Return where a text is neither a number nor means "no value"."""
    texts = (isinstance(value, str) and conversion.read(value) is None for value in column.values.tolist())
    return np.fromiter(texts, bool, len(column.values))


def stray_codes(column: Column, conversion: Conversion) -> NDArray[np.bool_]:
    """Return where a text neither is a code as SQL takes it, in its plain spelling, nor means "no value"."""

    def is_stray(value: Any) -> bool:
        if not isinstance(value, str):
            return False
        number = conversion.read(value)
        return number is None or (number == number and re.fullmatch(GRAMMAR.plain_code, value.strip(" ")) is None)

    return np.fromiter(map(is_stray, column.values.tolist()), bool, len(column.values))


def stray_times(column: Column, kind: TimeType, conversion: Conversion) -> NDArray[np.bool_]:
    """Return where a text is neither a time of a kind nor means "no value"."""
    if column.type != "text":
        return np.zeros(len(column.values), bool)
    _, strays = times_among_text(column, kind, conversion, _reader(conversion))
    return strays


def stray_truths(column: Column) -> NDArray[np.bool_]:
    """Return where a value is neither a truth value nor missing."""
    present = zip(column.values.tolist(), column.absent.tolist(), strict=True)
    return np.fromiter((not absent and _truth(value) is None for value, absent in present), bool, len(column.values))


def _reader(conversion: Conversion) -> Callable[[str, str], int | None]:
    """Return the function that reads a text as a time of a kind: in ISO 8601, or in the conversion's format."""
    if not conversion.dates:
        return time_of_text

    def read(kind: str, text: str) -> int | None:
        number = time_of_text(kind, text)
        if number is None and (written := written_time(conversion.dates, text)) is not None:
            return written // DAY if kind == "date" else written
        return number

    return read


def _truth(value: Any) -> bool | None:
    """Return the truth value that a value stands for, None for any other value."""
    if isinstance(value, str):
        text = value.strip(" ").lower()
        return True if text in TRUE_TEXTS else False if text in FALSE_TEXTS else None
    return bool(value) if value in (0, 1) else None


def _parsed(column: Column, conversion: Conversion) -> Column:
    """Return the numbers in a column of text, in which some may be numbers already."""
    absent = column.absent.copy()
    numbers: list[Any] = []
    for row, (value, missing) in enumerate(zip(column.values.tolist(), column.absent.tolist(), strict=True)):
        number: Any = value
        if isinstance(value, str):
            number = conversion.read(value)
            missing |= number != number
        if missing:
            absent[row] = True
            number = 0
        elif isinstance(number, bool | np.bool_) and not conversion.codes:
            number = int(number)
        elif number is None or isinstance(number, bool | np.bool_ | bytes):
            kind = "codes, which are whole numbers such as 3" if conversion.codes else "numbers"
            raise DataError(
                f"column {column.name!r} holds {kind}, but row {row + 1} has {value!r}: correct it, or leave it empty"
            )
        numbers.append(number)
    parsed = column_of(column.name, numbers)
    return replace(parsed, missing=parsed.absent | absent)


def _equal_one_of(values: NDArray[Any], numbers: Iterable[Number]) -> NDArray[np.bool_]:
    """Return where a value is one of some numbers, without rounding either."""
    found = np.zeros(len(values), dtype=bool)
    for number in numbers:
        if values.dtype.kind == "f":
            if float(number) == number:
                found |= values == float(number)
        elif values.dtype.kind == "O":
            found |= np.fromiter((value == number for value in values), bool, len(values))
        elif number == int(number) and int(number) in INT64:
            found |= values == int(number)
    return found

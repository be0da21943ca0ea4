"""Columns of dates, points in time and durations, from texts, arrays of NumPy and Python's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import PLAIN, Conversion
from shallowrules.tables.times import DAY, NATURE, NATURES, TimeType, numbers_of_times, parse_time, time_of, time_range
from shallowrules.tables.values import is_missing

__all__ = ["from_python_times", "from_times", "time_column", "times_among_text", "times_of_text"]


def times_of_text(
    column: Column,
    kind: TimeType,
    conversion: Conversion = PLAIN,
    parse: Callable[[str, str], int | None] = parse_time,
) -> Column:
    """Return a column of text as one of times of a kind, as `parse` reads them.

    Blank texts and null markers are missing.

    Raises
    ------
    DataError
        If a value is not a time; names its row.
    """
    times, strays = times_among_text(column, kind, conversion, parse)
    if strays.any():
        row = int(strays.argmax())
        [value] = column.values[row : row + 1].tolist()
        raise DataError(
            f"column {column.name!r} holds {NATURES[kind]}, but row {row + 1} has {value!r}: correct it, or leave "
            "it empty"
        )
    return times


def times_among_text(
    column: Column, kind: TimeType, conversion: Conversion, parse: Callable[[str, str], int | None]
) -> tuple[Column, NDArray[np.bool_]]:
    """Return the result of `times_of_text`, missing where a value is not a time, and the places of these values."""
    numbers = np.zeros(len(column.values), np.int64)
    absent, strays = column.absent.copy(), np.zeros(len(column.values), bool)
    for row, value in enumerate(column.values.tolist()):
        if absent[row]:
            continue
        if isinstance(value, str) and (not value.strip(" ") or conversion.is_null(value)):
            absent[row] = True
            continue
        number = parse(kind, value) if isinstance(value, str) else None
        if number is None:
            absent[row] = strays[row] = True
        else:
            numbers[row] = number
    return replace(column, type=kind, values=numbers, missing=absent if absent.any() else None), strays


def time_column(name: str, kind: TimeType, values: NDArray[Any]) -> Column:
    """Return an array of datetime64 (of UTC, where there is a zone) or timedelta64 as a column of a kind.

    Raises
    ------
    DataError
        If a value is beyond the years 1 to 9999; names the column.
    """
    if isinstance(values, np.ma.MaskedArray):
        given = np.ma.getdata(values).copy()
        given[np.ma.getmaskarray(values)] = np.array("NaT", given.dtype)
        values = given
    return from_times(name, values, kind)


def from_times(name: str, values: NDArray[Any], kind: TimeType) -> Column:
    """Type an array of datetime64 or timedelta64; one of datetime64[D] holds dates."""
    try:
        numbers, missing = numbers_of_times(values)
    except OverflowError:
        raise _beyond(name, kind) from None
    if kind == "date" or values.dtype == np.dtype("M8[D]"):
        kind, numbers = "date", numbers // DAY
    return Column(name, kind, numbers, missing if missing.any() else None)


def _beyond(name: str, kind: str) -> DataError:
    return DataError(
        f"column {name!r} has a {NATURE[kind]} beyond the years 1 to 9999; correct it, or exclude the column"
    )


def from_python_times(name: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    """Type an array of dates, datetimes or timedeltas; if these are of several kinds, the column is of none."""
    found = [
        None if absent or is_missing(value) else time_of(value) for value, absent in zip(values, missing, strict=True)
    ]
    kinds = {each[0] for each in found if each is not None}
    if len(kinds) > 1:
        return Column(name, "other", values)
    kind = kinds.pop() if kinds else "duration"
    held = time_range(kind)
    if any(each is not None and each[1] not in held for each in found):
        raise _beyond(name, kind)
    numbers = np.array([0 if each is None else each[1] for each in found], dtype=np.int64)
    absent = np.array([each is None for each in found], dtype=bool)
    return Column(name, kind, numbers, absent if absent.any() else None)

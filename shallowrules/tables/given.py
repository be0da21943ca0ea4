"""Columns of what people have: arrays, lists, and series of any dataframe, each in the type that its values have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, counted
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import CODES, DOUBLE_EXACT, PLAIN
from shallowrules.tables.time_columns import from_python_times, from_times
from shallowrules.tables.times import TimeType, format_time
from shallowrules.tables.values import interval_texts, is_code_text, is_missing, is_na_type, nearest_double, number_text

__all__ = [
    "column_of",
    "column_of_labels",
    "from_array",
    "from_masked",
    "from_series",
    "numbers_of",
    "plain_column",
    "unmasked",
]


def unmasked(data: Any) -> Any:
    """Return a masked array as one of floats with NaN where a value is masked, anything else as it is."""
    if not isinstance(data, np.ma.MaskedArray):
        return data
    if not np.ma.is_masked(data):
        return np.ma.getdata(data)
    kind = np.float32 if data.dtype == np.float32 else np.float64
    return np.where(np.ma.getmaskarray(data), np.array(np.nan, kind), np.ma.getdata(data)).astype(kind)


def column_of(name: str, data: Any) -> Column:
    """Return a series, array or sequence as a column; DataError if it is not one-dimensional."""
    if isinstance(data, Column):
        return data
    series = nw.from_native(data, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return from_series(name, series)
    if isinstance(data, np.ma.MaskedArray) and data.ndim == 1:
        return from_masked(name, data)
    if isinstance(data, list | tuple):
        return _from_list(name, data)
    values = np.asarray(data)
    _check_one_dimension(name, values)
    return from_array(name, values)


def column_of_labels(name: str, data: Any) -> Column:
    """Return labels as a column; whole numbers that floats would merge stay apart, as a column of type "other".

    Times are labels by their text.
    """
    column = plain_column(column_of(name, data))
    if column.is_time:
        pairs = zip(column.values.tolist(), column.absent, strict=True)
        texts = [None if absent else format_time(column.type, value) for value, absent in pairs]
        return Column(name, "text", np.array(texts, dtype=object))
    if column.type != "float" or isinstance(data, Column):
        return column
    series = nw.from_native(data, series_only=True, pass_through=True)
    given = series.to_numpy() if isinstance(series, nw.Series) else data
    objects = np.array(given, dtype=object) if isinstance(given, list | tuple) else np.asarray(given)
    if objects.dtype == object and any(isinstance(v, Integral) and abs(int(v)) > DOUBLE_EXACT for v in objects):
        return Column(name, "other", objects)
    return column


def plain_column(column: Column) -> Column:
    """Return a categorical column of numbers or times as one of these; any other column as it is."""
    if column.type == "other":
        return _from_objects(column.name, column.values)
    if not column.of_numbers:
        return column
    texts = zip(column.values.tolist(), column.absent.tolist(), strict=True)
    return column_of(column.name, [None if absent else PLAIN.number(text) for text, absent in texts])


def _check_one_dimension(name: str, values: NDArray[Any]) -> None:
    if values.ndim != 1:
        raise DataError(f"expected one value per row for {name!r}, got an array of {counted(values.ndim, 'dimension')}")


def _from_list(name: str, data: list[Any] | tuple[Any, ...]) -> Column:
    """Type a list by its values."""
    found = _of_numbers(name, data)
    if found is not None:
        return found
    values = np.array(data, dtype=object)  # otherwise NumPy turns numbers beside a text into texts
    _check_one_dimension(name, values)
    return _from_objects(name, values)


def numbers_of(values: list[Any] | tuple[Any, ...]) -> tuple[NDArray[Any], NDArray[np.bool_] | None] | None:
    """Return a list's numbers, and which are missing: if all of it is float and None, or int and None.

    The numbers are float64 with NaN for None, or int64 with 0 for None; the other array is None if no value is missing.
    The result is None if a value has a different type (True is not 1, and 1 is not 1.0) or is beyond int64.
    """
    types = set(map(type, values))
    missing = None
    if NoneType in types:
        types.remove(NoneType)
        missing = np.fromiter((value is None for value in values), bool, len(values))
    if types == {float}:
        return np.array(values, np.float64), missing
    if types == {int}:
        try:
            return np.array([value or 0 for value in values], np.int64), missing
        except OverflowError:
            pass
    return None


def _of_numbers(name: str, data: list[Any] | tuple[Any, ...]) -> Column | None:
    """Return a column of nothing but Python's floats, or 64-bit ints, and None; None for other values."""
    found = numbers_of(data)
    if found is None:
        return None
    numbers, missing = found
    return Column(name, "float", numbers) if numbers.dtype.kind == "f" else Column(name, "integer", numbers, missing)


def from_masked(name: str, values: np.ma.MaskedArray[Any, Any]) -> Column:
    """Type a masked array; masked values are missing, whatever is stored there."""
    mask, given = np.ma.getmaskarray(values), np.ma.getdata(values)
    if given.dtype.kind in "iu":
        return Column(name, "integer", given, mask if mask.any() else None)
    if given.dtype.kind == "f":
        return from_array(name, np.where(mask, np.array(np.nan, given.dtype), given))
    objects = given.astype(object)
    objects[mask] = None
    return from_array(name, objects)


def from_array(name: str, values: NDArray[Any]) -> Column:
    """Type a NumPy array; an object array is numeric if all of it is."""
    kind = values.dtype.kind
    if kind == "O":
        found = _of_numbers(name, values.tolist())
        return _from_objects(name, values) if found is None else found
    if kind == "b":
        return Column(name, "boolean", values.astype(object))
    if kind == "m" and np.datetime_data(values.dtype)[0] in ("Y", "M", "generic"):  # of no fixed length
        return Column(name, "other", values.astype(object))
    if kind in "mM":
        return from_times(name, values, "duration" if kind == "m" else "timestamp")
    if kind in "iu":
        return Column(name, "integer", values)
    if kind == "f":
        if values.itemsize > 8:
            with np.errstate(over="ignore"):  # a long double may be beyond every double
                values = values.astype(np.float64)
        return Column(name, "float", values)
    return Column(name, "text" if kind in "US" else "other", values.astype(object))


def _from_objects(name: str, values: NDArray[Any]) -> Column:
    """Type an array of objects that `_of_numbers` does not; it is numeric if all of it is."""
    kinds = set(map(type, values.tolist()))
    if str in kinds:
        return Column(name, "text", values)
    without = {kind for kind in kinds if kind is NoneType or is_na_type(kind)}
    missing = np.fromiter((type(value) in without for value in values.tolist()), bool, len(values))
    present, held = values[~missing], kinds - without
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in held):
        whole = np.zeros(len(values), dtype=np.int64)
        try:
            whole[~missing] = present
            return Column(name, "integer", whole, missing if missing.any() else None)
        except OverflowError:
            pass
    if not held.isdisjoint((bool, np.bool_)):
        known = [value for value in present if not is_missing(value)]
        if all(isinstance(value, bool | np.bool_) for value in known):
            return Column(name, "boolean", values)
    if any(issubclass(kind, str | bytes | bool) for kind in held):
        return Column(name, "text", values)
    times = {type(value) for value in present if not is_missing(value)}
    if times and all(issubclass(kind, date | timedelta) for kind in times):
        return from_python_times(name, values, missing)
    try:
        doubles = _nearest_doubles(present)
    except (TypeError, ValueError):
        return Column(name, "other", values)
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = doubles
    return Column(name, "float", numbers, exact=values if _is_rounded(present, doubles) else None)


def _is_rounded(values: NDArray[Any], doubles: NDArray[np.float64]) -> bool:
    """Return whether whole numbers may compare differently with a number than with the double nearest to it."""
    # Other doubles are not whole numbers, and have none between them and the number.
    near = ~(np.abs(doubles) < DOUBLE_EXACT) | (doubles == np.floor(doubles))
    exact = (value for value in values[near] if isinstance(value, int | np.integer | Decimal))
    return any(
        value != value or not -DOUBLE_EXACT < value < DOUBLE_EXACT or (value % 1 != 0 and float(value).is_integer())
        for value in exact
    )


def from_series(name: str, series: Any) -> Column:
    """Type one column of a dataframe by its declared type."""
    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128):  # which NumPy does not have
        return from_array(name, np.array(series.to_list(), dtype=object))
    if dtype.is_integer():
        missing = series.is_null().to_numpy()
        if missing.any():
            return Column(name, "integer", series.fill_null(0).to_numpy(), missing)
        return Column(name, "integer", series.to_numpy())
    if dtype.is_decimal():
        return _from_decimals(name, series)
    if dtype.is_float():
        values = series.to_numpy()
        if values.dtype.kind != "f":  # with pandas' own missing values, only the type of objects is possible
            single = dtype == nw.Float32
            values = series.fill_null(float("nan")).to_numpy().astype(np.float32 if single else np.float64)
        return Column(name, "float", values)
    if dtype == nw.Boolean:
        return Column(name, "boolean", _objects(series))
    if dtype == nw.Date or isinstance(dtype, nw.Datetime | nw.Duration):
        return _from_time_series(name, series)
    if dtype == nw.Object:
        return from_array(name, np.asarray(series.to_numpy(), dtype=object))
    if dtype == nw.Unknown and str(getattr(series.to_native(), "type", "")) == "month_day_nano_interval":
        return _from_intervals(name, series.to_native().to_pylist())
    if dtype == nw.Unknown:  # such as sparse numbers, or decimals of 256 bits
        return from_array(name, _array(series))
    if dtype == nw.Categorical or isinstance(dtype, nw.Enum):  # the latter of an ordered Categorical too
        return _from_categories(name, _objects(series))
    if dtype == nw.String:
        return Column(name, "text", _objects(series.cast(nw.String())))
    return Column(name, "other", _objects(series))


def _from_decimals(name: str, series: Any) -> Column:
    """Type a column of decimals: as the nearest doubles, which Arrow's cast can miss by one unit in the last place."""
    decimals = np.array(series.to_list(), dtype=object)
    absent = series.is_null().to_list()
    found = [math.nan if gap else float(value) for gap, value in zip(absent, decimals, strict=True)]
    values = np.array(found, dtype=np.float64)
    return Column(name, "float", values, exact=decimals if _is_rounded(decimals, values) else None)


def _from_time_series(name: str, series: Any) -> Column:
    """Type a column of a dataframe that is declared to hold dates, points in time or durations."""
    dtype = series.dtype
    if dtype == nw.Date:
        values = np.asarray(series.to_numpy())
        if values.dtype.kind == "M":
            return from_times(name, values, "date")
        objects = _objects(series)
        return from_python_times(name, objects, np.array([value is None for value in objects], dtype=bool))
    zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
    if zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    kind: TimeType = "duration" if isinstance(dtype, nw.Duration) else "timestamp" if zone is None else "timestamptz"
    return from_times(name, np.asarray(series.to_numpy()), kind)


def _from_intervals(name: str, values: Sequence[Any]) -> Column:
    """Type Arrow's intervals as durations, with months of 30 days, as databases compare them."""
    spans = np.full(len(values), None, dtype=object)
    for row, value in enumerate(values):
        if value is not None:
            months, days, nanoseconds = value
            spans[row] = timedelta(days=30 * months + days, microseconds=nanoseconds // 1000)
    return from_python_times(name, spans, np.array([span is None for span in spans], dtype=bool))


def _from_categories(name: str, values: NDArray[Any]) -> Column:
    """Type a column of categories that need not be text, given as objects; numbers become the text of their value."""
    types = {type(value) for value in values if not is_missing(value)}
    if types <= {str}:
        return Column(name, "text", values)
    if {kind.__name__ for kind in types} == {"Interval"}:  # as pd.cut makes them
        return Column(name, "text", interval_texts(values))
    if all(issubclass(kind, bool | np.bool_) for kind in types):
        return Column(name, "boolean", values)
    if all(issubclass(kind, Real) and not issubclass(kind, bool) for kind in types):
        texts = [None if is_missing(value) else number_text(value) for value in values]
        codes = any(texts) and all(text is None or is_code_text(text) for text in texts)
        conversion = CODES if codes else PLAIN
        return Column(name, "text", np.array(texts, dtype=object), conversion=conversion, of_numbers=True)
    return Column(name, "other", values)


def _nearest_doubles(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as doubles, infinity where one is beyond the largest."""
    try:
        return np.fromiter(map(float, numbers), np.float64, len(numbers))
    except OverflowError:  # of an integer
        return np.fromiter(map(nearest_double, numbers), np.float64, len(numbers))


def _array(series: Any) -> NDArray[Any]:
    """Return a series as a NumPy array; values that its library cannot convert are taken one by one."""
    try:
        return np.asarray(series.to_numpy())
    except NotImplementedError:
        return np.array(list(series.to_native()), dtype=object)


def _objects(series: Any) -> NDArray[Any]:
    """Return a series as Python values, None where one is missing."""
    # Not through NumPy's own texts, which lose null characters at their end.
    values = np.fromiter(series.to_list(), object, len(series))
    values[series.is_null().to_numpy()] = None
    return values

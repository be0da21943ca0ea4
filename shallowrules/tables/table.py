"""The first stage: typed raw columns with names, from NumPy, any dataframe, or a mapping.

Files become tables in `shallowrules.sources`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from functools import cached_property
from itertools import repeat
from numbers import Integral, Real
from types import NoneType
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges, numbers_of
from shallowrules.errors import DataError, counted
from shallowrules.tables.conversion import CODES, DOUBLE_EXACT, PLAIN, Conversion, Number
from shallowrules.tables.times import (
    DAY,
    NATURE,
    NATURES,
    TIME_TYPES,
    TimeType,
    format_time,
    numbers_of_times,
    parse_time,
    time_of,
    time_range,
)

__all__ = [
    "NESTED",
    "Column",
    "ColumnType",
    "Table",
    "Value",
    "frame_of",
    "interval_texts",
    "is_code_text",
    "is_missing",
    "is_number_text",
    "is_sparse",
    "nearest_double",
    "time_column",
    "times_among_text",
    "times_of_text",
    "unmasked",
]

Value = str | bool
"""A value of a column of categories."""

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
"""The same by the type of the values of a column of type "other"."""

COLLECTED = {
    "duckdb": ".df()",
    "dask": ".compute()",
    "ibis": ".to_pyarrow()",
    "pyspark": ".toPandas()",
    "pyspark[connect]": ".toPandas()",
    "sqlframe": ".toPandas()",
}
"""The call that gets the rows of a table that is only a query, by library; for Polars and all others ``.collect()``."""

NESTED = "mixed or nested values"
"""Possible contents of a column of type "other"; any other column has one kind of value."""


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

    @classmethod
    def of(cls, name: str, data: Any) -> Column:
        """Return a series, array or sequence as a column; DataError if it is not one-dimensional."""
        if isinstance(data, Column):
            return data
        series = nw.from_native(data, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _from_series(name, series)
        if isinstance(data, np.ma.MaskedArray) and data.ndim == 1:
            return _from_masked(name, data)
        if isinstance(data, list | tuple):
            return _from_list(name, data)
        values = np.asarray(data)
        _check_one_dimension(name, values)
        if values.dtype.kind == "b":  # numbers only in a matrix
            return Column(name, "boolean", values.astype(object))
        return _column(name, values)

    @classmethod
    def of_labels(cls, name: str, data: Any) -> Column:
        """Return labels as a column; whole numbers that floats would merge stay apart, as a column of type "other".

        Times are labels by their text.
        """
        column = cls.of(name, data).plain()
        if column.is_time:
            pairs = zip(column.values.tolist(), column.absent, strict=True)
            texts = [None if absent else format_time(column.type, value) for value, absent in pairs]
            return cls(name, "text", np.array(texts, dtype=object))
        if column.type != "float" or isinstance(data, Column):
            return column
        series = nw.from_native(data, series_only=True, pass_through=True)
        given = series.to_numpy() if isinstance(series, nw.Series) else data
        objects = np.array(given, dtype=object) if isinstance(given, list | tuple) else np.asarray(given)
        if objects.dtype == object and any(isinstance(v, Integral) and abs(int(v)) > DOUBLE_EXACT for v in objects):
            return cls(name, "other", objects)
        return column

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

    @property
    def is_constant(self) -> bool:
        """Whether a column that has rows has only one value."""
        may_be = not self.is_numeric or self.ends[0] == self.ends[1]  # the ends of whole numbers may be rounded
        return may_be and bool((self.values == self.values[0]).all())

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

    def plain(self) -> Column:
        """Return a categorical column of numbers or times as one of these; any other column as it is."""
        if self.type == "other":
            return _from_objects(self.name, self.values)
        if not self.of_numbers:
            return self
        texts = zip(self.values.tolist(), self.absent.tolist(), strict=True)
        return Column.of(self.name, [None if absent else PLAIN.number(text) for text, absent in texts])

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


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length, with distinct names."""

    columns: tuple[Column, ...]
    n_rows: int

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise DataError(f"two columns are named {column.name!r}: rename one of them")
            seen.add(column.name)
            if len(column.values) != self.n_rows:
                raise DataError(
                    f"column {column.name!r} has {counted(len(column.values), 'row')}, the table {self.n_rows:,}"
                )

    @cached_property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    @cached_property
    def matrix(self) -> NDArray[Any] | None:
        """The matrix of floats whose columns are those of the table, in order; None where there is none.

        It is a view, not to be written to: of a matrix, or of the arrays in which a dataframe keeps its numbers.
        """
        if not self.columns or not self.n_rows:
            return None
        values = [column.values for column in self.columns]
        first, owner = values[0], _owner(values[0])
        if first.dtype not in (np.float32, np.float64) or any(_owner(each) is not owner for each in values):
            return None
        places: list[int] = [each.__array_interface__["data"][0] for each in values]
        step = places[1] - places[0] if len(places) > 1 else first.itemsize
        if step <= 0:
            return None
        shape, strides = (self.n_rows, len(values)), (first.strides[0], step)
        matrix = np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)
        return matrix if all(_is_same(c, matrix[:, j]) for j, c in enumerate(self.columns)) else None

    def ranges(self, n_threads: int = 1) -> Ranges | None:
        """Return the ranges of the columns of `matrix`, None where there is none; set the `ends` of its columns.

        All are found in one pass; the columns would each take their own.
        """
        if self.matrix is None:
            return None
        if not all("ends" in vars(column) for column in self.columns):
            self.set_ends(column_ranges(self.matrix, n_threads))
        return Ranges(*np.array([column.ends for column in self.columns]).T)

    def set_ends(self, ranges: Ranges) -> None:
        """Give the columns their `ends`, found in a matrix of the same numbers as floats."""
        for column, *ends in zip(self.columns, *ranges, strict=True):
            vars(column)["ends"] = tuple(map(float, ends))

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        if name in self._by_name:
            return self._by_name[name]
        raise DataError(f"there is no column {name!r}; the columns are: {', '.join(map(repr, self.names))}")

    def select(self, names: Sequence[str]) -> Table:
        """Return the table with these columns only, in this order."""
        return Table(tuple(self[name] for name in names), self.n_rows)

    @property
    def imputed(self) -> tuple[Number | Value | None, ...]:
        """The values that replaced missing ones, by column; empty where no column had any."""
        imputed = tuple(column.imputed for column in self.columns)
        return imputed if any(value is not None for value in imputed) else ()

    def filled(self, imputed: Sequence[Number | Value | None]) -> Table:
        """Return the table with a value for each column in place of its missing ones; as it is for no values."""
        if not imputed:
            return self
        columns = (column.filled(value) for column, value in zip(self.columns, imputed, strict=True))
        return Table(tuple(columns), self.n_rows)

    def take(self, rows: NDArray[Any]) -> Table:
        """Return the table with these rows only (a boolean mask or positions)."""
        columns = tuple(
            replace(
                c,
                values=c.values[rows],
                missing=None if c.missing is None else c.missing[rows],
                exact=None if c.exact is None else c.exact[rows],
                imputed_rows=None if c.imputed_rows is None else c.imputed_rows[rows],
            )
            for c in self.columns
        )
        n_rows = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return Table(columns, n_rows)

    @classmethod
    def of(cls, data: Any, names: Sequence[str] | None = None) -> Table:
        """Return `data` as a table, without copying a NumPy array's values.

        Parameters
        ----------
        data : Table, dataframe, mapping from name to values, or array-like of shape (n_rows, n_columns)
        names : sequence of str, optional
            Names for the columns of data that has none; by default ``x0``, ``x1``, …

        Raises
        ------
        DataError
            If the data is not a table, or its columns do not fit the names.
        """
        if isinstance(data, Table):
            return data
        if is_sparse(data):
            raise DataError("expected a table of rows and columns, got a sparse matrix: make it dense (toarray())")
        if isinstance(data, Mapping):
            columns = tuple(replace(Column.of(str(name), values), name=str(name)) for name, values in data.items())
            return cls(columns, len(columns[0].values) if columns else 0)
        frame = frame_of(data)
        if isinstance(frame, nw.DataFrame):
            named = zip(frame.columns, frame.iter_columns(), strict=True)
            return cls(tuple(_from_series(str(name), series) for name, series in named), len(frame))
        matrix = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        if matrix.dtype.kind == "b":
            matrix = matrix.astype(np.int8)  # a matrix has one type, and it is one of numbers
        if matrix.ndim != 2:
            raise DataError(
                f"expected a table of rows and columns, got an array of {counted(matrix.ndim, 'dimension')}"
            )
        if names is None:
            names = [f"x{j}" for j in range(matrix.shape[1])]
        if len(names) != matrix.shape[1]:
            raise DataError(
                f"the array has {counted(matrix.shape[1], 'column')}, expected {len(names)}: {', '.join(names)}"
            )
        make: Callable[[str, Any], Column] = _from_masked if isinstance(matrix, np.ma.MaskedArray) else _column
        return cls(tuple(make(name, matrix[:, j]) for j, name in enumerate(names)), len(matrix))


def is_sparse(data: Any) -> bool:
    """Return whether data is a sparse matrix of SciPy, some of which are mappings, too."""
    return hasattr(data, "tocsr")


def frame_of(data: Any, name: str = "the table") -> Any:
    """Return a dataframe wrapped by narwhals, and anything else unchanged; messages call it `name`.

    Raises
    ------
    DataError
        If two columns have one name, or it is a query whose rows are not read yet.
    """
    library = "dask" if nw.dependencies.is_dask_dataframe(data) else ""  # which narwhals warns of
    try:
        frame = data if library else nw.from_native(data, pass_through=True)
    except DuplicateError as error:
        raise DataError(f"two columns have the same name ({error}): rename one of them") from None
    if isinstance(frame, nw.LazyFrame):
        library = frame.implementation.value
    if library:
        raise DataError(
            f"{name} is a {type(data).__name__} of {library}, a query whose rows are not read yet: give "
            f"{name.removeprefix('the ')}{COLLECTED.get(library, '.collect()')}"
        )
    return frame


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


def _is_same(column: Column, values: NDArray[Any]) -> bool:
    """Return whether the values of a column are these in memory, none of them missing except NaN."""
    if column.type != "float" or column.missing is not None:
        return False
    mine, others = column.values.__array_interface__, values.__array_interface__
    return (
        mine["data"][0] == others["data"][0]
        and all(mine[fact] == others[fact] for fact in ("typestr", "shape"))
        and column.values.strides == values.strides
    )


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array that owns the memory of this one."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def is_missing(value: Any) -> bool:
    """Return whether a Python value means "no value": None, NaN, or pandas' own (NA, NaT)."""
    if value is None:
        return True
    differs = value != value
    if isinstance(differs, bool | np.bool_):
        return bool(differs)
    return _is_na_type(type(differs))  # for an array or the like, the result is an array


def _is_na_type(kind: type) -> bool:
    return kind.__name__ in ("NAType", "MaskedConstant")


def unmasked(data: Any) -> Any:
    """Return a masked array as one of floats with NaN where a value is masked, anything else as it is."""
    if not isinstance(data, np.ma.MaskedArray):
        return data
    if not np.ma.is_masked(data):
        return np.ma.getdata(data)
    kind = np.float32 if data.dtype == np.float32 else np.float64
    return np.where(np.ma.getmaskarray(data), np.array(np.nan, kind), np.ma.getdata(data)).astype(kind)


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


def _of_numbers(name: str, data: list[Any] | tuple[Any, ...]) -> Column | None:
    """Return a column of nothing but Python's floats, or 64-bit ints, and None; None for other values."""
    found = numbers_of(data)
    if found is None:
        return None
    numbers, missing = found
    return Column(name, "float", numbers) if numbers.dtype.kind == "f" else Column(name, "integer", numbers, missing)


def _from_masked(name: str, values: np.ma.MaskedArray[Any, Any]) -> Column:
    """Type a masked array; masked values are missing, whatever is stored there."""
    mask, given = np.ma.getmaskarray(values), np.ma.getdata(values)
    if given.dtype.kind in "iu":
        return Column(name, "integer", given, mask if mask.any() else None)
    if given.dtype.kind == "f":
        return _column(name, np.where(mask, np.array(np.nan, given.dtype), given))
    objects = given.astype(object)
    objects[mask] = None
    return _column(name, objects)


def _column(name: str, values: NDArray[Any]) -> Column:
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
        return _from_times(name, values, "duration" if kind == "m" else "timestamp")
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
    without = {kind for kind in kinds if kind is NoneType or _is_na_type(kind)}
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
        return _from_python_times(name, values, missing)
    try:
        doubles = _nearest_doubles(present)
    except (TypeError, ValueError):
        return Column(name, "other", values)
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = doubles
    return Column(name, "float", numbers, exact=values if _is_rounded(present, doubles) else None)


def times_of_text(
    column: Column,
    kind: TimeType,
    conversion: Conversion = PLAIN,
    parse: Callable[[str, str], int | None] = parse_time,
) -> Column:
    """Return a column of text as one of times of a kind, as `parse` reads them.

    Blank text, and words for "no value", are missing.

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
    return _from_times(name, values, kind)


def _from_times(name: str, values: NDArray[Any], kind: TimeType) -> Column:
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


def _from_python_times(name: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
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


def _is_rounded(values: NDArray[Any], doubles: NDArray[np.float64]) -> bool:
    """Return whether whole numbers may compare differently with a number than with the double nearest to it."""
    # Other doubles are not whole numbers, and have none between them and the number.
    near = ~(np.abs(doubles) < DOUBLE_EXACT) | (doubles == np.floor(doubles))
    exact = (value for value in values[near] if isinstance(value, int | np.integer | Decimal))
    return any(
        value != value or not -DOUBLE_EXACT < value < DOUBLE_EXACT or (value % 1 != 0 and float(value).is_integer())
        for value in exact
    )


def _from_series(name: str, series: Any) -> Column:
    """Type one column of a dataframe by its declared type."""
    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128):  # which NumPy does not have
        return _column(name, np.array(series.to_list(), dtype=object))
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
        return _column(name, np.asarray(series.to_numpy(), dtype=object))
    if dtype == nw.Unknown and str(getattr(series.to_native(), "type", "")) == "month_day_nano_interval":
        return _from_intervals(name, series.to_native().to_pylist())
    if dtype == nw.Unknown:  # such as sparse numbers, or decimals of 256 bits
        return _column(name, _array(series))
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
            return _from_times(name, values, "date")
        objects = _objects(series)
        return _from_python_times(name, objects, np.array([value is None for value in objects], dtype=bool))
    zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
    if zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    kind: TimeType = "duration" if isinstance(dtype, nw.Duration) else "timestamp" if zone is None else "timestamptz"
    return _from_times(name, np.asarray(series.to_numpy()), kind)


def _from_intervals(name: str, values: Sequence[Any]) -> Column:
    """Type Arrow's intervals as durations, with months of 30 days, as databases compare them."""
    spans = np.full(len(values), None, dtype=object)
    for row, value in enumerate(values):
        if value is not None:
            months, days, nanoseconds = value
            spans[row] = timedelta(days=30 * months + days, microseconds=nanoseconds // 1000)
    return _from_python_times(name, spans, np.array([span is None for span in spans], dtype=bool))


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


def interval_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Return intervals of pandas as texts such as (0, 1], and anything else as it is."""
    texts = [str(value) if type(value).__name__ == "Interval" else value for value in values.tolist()]
    return np.array(texts, dtype=object)


def number_text(number: Any) -> str:
    """Return a number that is a category as text, whole ones without a fraction: 7 and 7.0 are the same."""
    return str(int(number)) if nearest_double(number).is_integer() else repr(float(number))


def is_number_text(category: Value) -> bool:
    """Return whether a category is the text of a number that a double tells from its neighbors."""
    number = PLAIN.number(str(category))
    return number is not None and abs(number) <= DOUBLE_EXACT and number_text(number) == category


def is_code_text(category: Value) -> bool:
    """Return whether a category is the plain spelling of a whole number that a double tells from its neighbors."""
    number = CODES.number(str(category))
    return number is not None and abs(number) < DOUBLE_EXACT and str(number) == category


def _nearest_doubles(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as doubles, infinity where one is beyond the largest."""
    try:
        return np.fromiter(map(float, numbers), np.float64, len(numbers))
    except OverflowError:  # of an integer
        return np.fromiter(map(nearest_double, numbers), np.float64, len(numbers))


def nearest_double(number: Any) -> float:
    """Return a number as a double, infinity where it is beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


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

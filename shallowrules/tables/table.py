"""The first stage: typed raw columns with names, from NumPy, any dataframe, or a mapping.

Files become tables in `shallowrules.sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges
from shallowrules.errors import DataError, counted
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import Number
from shallowrules.tables.given import column_of, from_array, from_masked, from_series
from shallowrules.tables.values import Value

__all__ = ["Table", "frame_of", "is_sparse"]

COLLECTED = {
    "duckdb": ".df()",
    "dask": ".compute()",
    "ibis": ".to_pyarrow()",
    "pyspark": ".toPandas()",
    "pyspark[connect]": ".toPandas()",
    "sqlframe": ".toPandas()",
}
"""The call that gets the rows of a table that is only a query, by library; for Polars and all others ``.collect()``."""


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

    def ranges(self) -> Ranges | None:
        """Return the ranges of the columns of `matrix`, None where there is none; set the `ends` of its columns.

        All are found in one pass; the columns would each take their own.
        """
        if self.matrix is None:
            return None
        if not all("ends" in vars(column) for column in self.columns):
            self.set_ends(column_ranges(self.matrix))
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
            columns = tuple(replace(column_of(str(name), values), name=str(name)) for name, values in data.items())
            return cls(columns, len(columns[0].values) if columns else 0)
        frame = frame_of(data)
        if isinstance(frame, nw.DataFrame):
            named = zip(frame.columns, frame.iter_columns(), strict=True)
            return cls(tuple(from_series(str(name), series) for name, series in named), len(frame))
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
        make: Callable[[str, Any], Column] = from_masked if isinstance(matrix, np.ma.MaskedArray) else from_array
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

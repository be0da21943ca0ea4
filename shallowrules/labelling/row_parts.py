"""Rows that arrive in batches, kept by DuckDB, which stores them on disk beyond its memory limit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.tables.column import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["RowParts"]

NUMBERS = {"BIGINT", "DOUBLE"}
"""The types that numbers are loaded as; a column that has both is of the second type."""


TIMES: Mapping[str, str] = {
    "date": "DATE '1970-01-01' + CAST({value} AS INTEGER)",
    "timestamp": "make_timestamp({value})",
    "timestamptz": "make_timestamptz({value})",
    "duration": "to_microseconds({value})",
}
"""By the type of a column, the expression by which DuckDB converts the numbers that stand for its times."""


@dataclass(frozen=True)
class _Part:
    """Successive batches of the same types: the types in DuckDB, and which columns have any values."""

    types: tuple[str, ...]
    has_values: tuple[bool, ...]


class RowParts:
    """Tables of rows in the order in which they came, a new one where types change."""

    def __init__(self, database: DuckDBPyConnection) -> None:
        self.database = database
        self.n_rows = 0
        self._parts: list[_Part] = []
        database.execute(f"SET pandas_analyze_sample = {2**32 - 1}")  # values have one type: look at all of them

    def add(self, columns: Sequence[Column]) -> None:
        """Add some rows."""
        arrays: dict[str, NDArray[Any]] = {}
        loaded = ", ".join(f"{_loaded(column, j, arrays)} AS c{j}" for j, column in enumerate(columns))
        query = f"SELECT {loaded} FROM arrays"
        self.database.register("arrays", arrays)
        described = self.database.execute(f"DESCRIBE {query}").fetchall()
        part = _Part(tuple(row[1] for row in described), tuple(map(_has_values, columns)))
        if self._parts and self._parts[-1] == part:
            self.database.execute(f"INSERT INTO part{len(self._parts) - 1} {query}")
        else:
            self.database.execute(f"CREATE TABLE part{len(self._parts)} AS {query}")
            self._parts.append(part)
        self.database.unregister("arrays")
        self.n_rows += len(columns[0].values)

    def clear(self) -> None:
        """Drop all rows."""
        for i in range(len(self._parts)):
            self.database.execute(f"DROP TABLE part{i}")
        self.n_rows, self._parts = 0, []

    def selection(self, single: Collection[int] = ()) -> str | None:
        """Return the query for all rows; None where a column has values of several types.

        Whole numbers and other numbers count as one type, except in the columns `single`.
        """
        if not self._parts:
            return None
        types = [self._type_of(j, may_mix=j not in single) for j in range(len(self._parts[0].types))]
        if None in types:
            return None
        cast = ", ".join(f"CAST(c{j} AS {kind}) AS c{j}" for j, kind in enumerate(types))
        return " UNION ALL ".join(f"SELECT {cast} FROM part{i}" for i in range(len(self._parts)))

    def _type_of(self, j: int, *, may_mix: bool) -> str | None:
        """Return the type of a column in all parts that have values of it; None if there are several."""
        found = {part.types[j] for part in self._parts if part.has_values[j]} or {self._parts[0].types[j]}
        if len(found) == 1:
            return found.pop()
        return "DOUBLE" if may_mix and found == NUMBERS else None


def _has_values(column: Column) -> bool:
    """Return whether a column has values that tell its type; NaN is one."""
    return column.values.dtype.kind == "f" or not column.absent.all()


def _loaded(column: Column, position: int, arrays: dict[str, NDArray[Any]]) -> str:
    """Put a column among the arrays that DuckDB reads, and return DuckDB's expression for it."""
    arrays[f"value{position}"] = column.values
    if column.is_time:
        absent = column.absent
        arrays[f"value{position}"] = np.ma.MaskedArray(column.values, absent) if absent.any() else column.values
        return TIMES[column.type].format(value=f"value{position}")
    if column.is_numeric:
        if not column.absent.any():
            return f"value{position}"
        arrays[f"absent{position}"] = column.absent
        return f"CASE WHEN absent{position} THEN NULL ELSE value{position} END"
    kinds = {"text": "VARCHAR", "boolean": "BOOLEAN"}
    return f"CAST(value{position} AS {kinds[column.type]})" if column.type in kinds else f"value{position}"

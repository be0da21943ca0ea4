"""DuckDB, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import EngineError
from shallowrules.tables.conversion import INT64
from shallowrules.verification.engines.base import Cell, Engine, Row, as_text, missing_engine

__all__ = ["DuckDB", "import_duckdb"]


def import_duckdb() -> ModuleType:
    """Return the module; MissingExtraError where it is not installed."""
    try:
        import duckdb
    except ImportError:
        raise missing_engine(DuckDB.dialect, "duckdb", extra="cli") from None
    return duckdb


class DuckDB(Engine):
    """The DuckDB of its Python package."""

    dialect = "duckdb"
    title = "DuckDB"
    types: ClassVar[Mapping[str, str]] = {
        "integer": "BIGINT",
        "unsigned": "UBIGINT",
        "float": "DOUBLE",
        "float32": "FLOAT",
        "text": "VARCHAR",
        "date": "DATE",
        "timestamp": "TIMESTAMP",
        "timestamptz": "TIMESTAMPTZ",
        "duration": "INTERVAL",
        "boolean": "BOOLEAN",
    }
    settings: ClassVar[Mapping[str, str]] = {"SET default_collation = 'nocase'": "RESET default_collation"}

    def __init__(self, database: Any) -> None:
        self._database = database
        self.version = import_duckdb().__version__

    @classmethod
    def check_installed(cls) -> None:
        """Import it."""
        import_duckdb()

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        """Open a database in memory."""
        with import_duckdb().connect() as database:
            yield cls(database)

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make and fill a table."""
        self.query(self._declare(table, columns))
        arrays: dict[str, NDArray[Any]] = {}
        values = list(zip(*rows, strict=True))
        selected = [_loaded(j, column, arrays) for j, column in enumerate(values)]
        if not selected:
            return
        insertion = f"INSERT INTO {self.quote(table)} SELECT {', '.join(selected)} FROM arrays"
        self._database.register("arrays", arrays)
        try:
            self.query(insertion)
        finally:
            self._database.unregister("arrays")

    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run a statement."""
        duckdb = import_duckdb()
        try:
            for first in before:
                self._database.execute(first)
            found = self._database.execute(statement).fetchall()
        except (duckdb.Error, UnicodeError) as error:
            raise EngineError(self.title, statement, str(error)) from error
        return [tuple(map(as_text, row)) for row in found]


def _loaded(j: int, values: Sequence[Cell], arrays: dict[str, NDArray[Any]]) -> str:
    """Put a column among the arrays that DuckDB reads, and return DuckDB's expression for it."""
    kinds = {type(value) for value in values if value is not None}
    is_null = np.array([value is None for value in values], dtype=bool)
    if kinds == {float} or (kinds == {int} and all(value is None or value in INT64 for value in values)):
        dtype = np.float64 if kinds == {float} else np.int64
        arrays[f"value{j}"] = array = np.array([0 if value is None else value for value in values], dtype=dtype)
        cases = ""
        if is_null.any():
            arrays[f"null{j}"] = is_null
            cases += f"WHEN null{j} THEN NULL "
        if np.isnan(array).any():
            # NaN in an array arrives as NULL.
            arrays[f"nan{j}"] = np.isnan(array)
            cases += f"WHEN nan{j} THEN CAST('NaN' AS DOUBLE) "
        return f"CASE {cases}ELSE value{j} END" if cases else f"value{j}"
    if kinds <= {bool}:
        arrays[f"value{j}"] = np.array(values, dtype=object)
        return f"CAST(value{j} AS BOOLEAN)"
    arrays[f"value{j}"] = np.array([*map(as_text, values), None], dtype=object)[:-1]
    return f"CAST(value{j} AS VARCHAR)"

"""Databases that commands are run on: servers, and files of SQLite and DuckDB; ClickHouse, which has no URL here."""

from __future__ import annotations

import importlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from columntypes import COLUMNS

from shallowrules.verification.engines import ENGINES, Cell, Engine
from shallowrules.verification.engines.base import Row
from shallowrules.verification.engines.duckdb import DuckDB
from shallowrules.verification.engines.sqlite import SQLite

__all__ = ["FILES", "NAMES", "Place", "open_place"]

NAMES = ("sqlite", "duckdb", "postgres", "mysql", "clickhouse")


class Place:
    """A database, filled and asked as an engine is.

    Attributes
    ----------
    dialect, title, version : str
    url : str or None
        What a command takes; None where none can.
    columns : sequence of ColumnType
    """

    def __init__(self, engine: Engine | type[Engine], url: str | None, file: Path | None = None) -> None:
        self._engine, self._file = engine, file
        self.dialect, self.title, self.types = engine.dialect, engine.title, engine.types
        self.columns = COLUMNS[engine.title]
        self.url = url
        with self.opened() as open_engine:
            self.version = open_engine.version

    @contextmanager
    def opened(self) -> Iterator[Engine]:
        """Open a file for as long as the context lasts, so that a command has it to itself otherwise."""
        if isinstance(self._engine, Engine):
            yield self._engine
        elif self._engine is SQLite:
            with closing(sqlite3.connect(str(self._file), isolation_level=None)) as connection:
                yield SQLite(connection)
        else:
            driver: Any = importlib.import_module("duckdb")
            with driver.connect(str(self._file)) as connection:
                yield DuckDB(connection)

    def quote(self, name: str) -> str:
        """Return a name as SQL, without the exporter's help."""
        with self.opened() as engine:
            return engine.quote(name)

    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run statements and return the rows of the last."""
        with self.opened() as engine:
            return engine.query(statement, before)

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make and fill a table that can be changed."""
        with self.opened() as engine:
            engine.create(table, columns, rows)
        self.let_change(table)

    def let_change(self, table: str) -> None:
        """Give a table of ClickHouse an engine that lets it be changed."""
        if self.dialect == "clickhouse":
            kept, other = self.quote(table), self.quote("ordered while it is made")
            self.query(f"CREATE TABLE {other} ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM {kept}")
            self.query(f"EXCHANGE TABLES {other} AND {kept}")
            self.query(f"DROP TABLE {other}")

    def drop(self, table: str) -> None:
        """Remove a table."""
        with self.opened() as engine:
            engine.drop(table)


@contextmanager
def open_place(name: str) -> Iterator[Place]:
    """Open a place, and leave nothing of it behind.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    engine = ENGINES[name]
    engine.check_installed()
    if name in FILES:
        with tempfile.TemporaryDirectory(prefix="shallowrules-place-") as folder:
            file = Path(folder) / "file.db"
            yield Place(FILES[name], f"{name}:///{file}", file)
        return
    with engine.open() as running:
        if name == "clickhouse":  # its own database is of an engine that changes no table
            [[before]] = running.query("SELECT currentDatabase()")
            running.query("USE kept_places", ["CREATE DATABASE kept_places ENGINE = Atomic"])
            try:
                yield Place(running, None)
            finally:
                running.query(f"USE {before}")
                running.query("DROP DATABASE kept_places")
        else:
            yield Place(running, str(running.url))


FILES: Mapping[str, type[Engine]] = {"sqlite": SQLite, "duckdb": DuckDB}

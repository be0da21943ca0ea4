"""SQLite, in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date, timedelta
from decimal import Decimal
from typing import ClassVar, Self

from shallowrules.errors import EngineError
from shallowrules.tables.conversion import INT64
from shallowrules.verification.engines.base import Cell, Engine, Row, as_text

__all__ = ["SQLite"]


class SQLite(Engine):
    """The SQLite that comes with Python."""

    dialect = "sqlite"
    title = "SQLite"
    types: ClassVar[Mapping[str, str]] = {
        "integer": "INTEGER",
        "float": "REAL",
        "float32": "REAL",
        "text": "TEXT",
        "date": "DATE",
        "timestamp": "DATETIME",
        "boolean": "INTEGER",
    }
    holds_nan = False

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.version = sqlite3.sqlite_version

    @classmethod
    def check_installed(cls) -> None:
        """Do nothing: it comes with Python."""

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        """Open a database in memory."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            yield cls(database)

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make and fill a table."""
        self.query(self._declare(table, columns))
        insertion = f"INSERT INTO {self.quote(table)} VALUES ({', '.join('?' * len(columns))})"
        self.query("BEGIN")
        try:
            self._database.executemany(insertion, (tuple(map(_bound, row)) for row in rows))
        except (sqlite3.Error, UnicodeError) as error:
            raise EngineError(self.title, insertion, str(error)) from error
        finally:
            self.query("COMMIT")

    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run a statement."""
        try:
            for first in before:
                self._database.execute(first)
            found = self._database.execute(statement).fetchall()
        except (sqlite3.Error, UnicodeError) as error:
            raise EngineError(self.title, statement, str(error)) from error
        return [tuple(map(as_text, row)) for row in found]


def _bound(value: Cell) -> Cell:
    """Return a value as the driver takes it: numbers beyond 64 bits as text, which a column of numbers converts."""
    if isinstance(value, Decimal | date | timedelta) or (isinstance(value, int) and value not in INT64):
        return as_text(value)
    return value

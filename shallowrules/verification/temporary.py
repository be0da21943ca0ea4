"""Temporary tables in a user's database, whose columns have the types of another table's columns.

Only one connection sees them, and nothing of the user's schema changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import date, datetime
from typing import Any

from shallowrules.sources.connecting import writing
from shallowrules.sources.database import DatabaseSource

__all__ = ["TemporaryTable", "temporary_table"]

ROWS_AT_ONCE = 64


class TemporaryTable:
    """An empty table that `temporary_table` made.

    Parameters
    ----------
    source : DatabaseSource
        What has the columns.
    name_parts : sequence of str
        Its name, after a schema where it needs one.
    positions : sequence of int
        The columns of the source that it has, in this order.
    """

    def __init__(self, source: DatabaseSource, name_parts: Sequence[str], positions: Sequence[int]) -> None:
        self._source = source
        self.name_parts = name_parts
        self._positions = positions
        self._quoted = ".".join(map(source.quote, name_parts))

    def draw(self, n_rows: int) -> None:
        """Fill it with a sample of the source's rows."""
        source = self._source
        drawn = source.sampled(f"SELECT {self._columns} FROM {source.relation}", n_rows)
        with self._filling():
            source.connection.exec_driver_sql(f"INSERT INTO {self._quoted} {drawn}")
            source.connection.commit()

    def fill(self, rows: Sequence[tuple[Any, ...]]) -> int:
        """Insert rows, and return how many were left out because the type of a column refused a value."""
        with self._filling():
            return self._fill(rows)

    def _filling(self) -> AbstractContextManager[None]:
        """Let rows be inserted, which only SQLite refuses on a read-only connection; no query on it writes."""
        connection = self._source.connection
        return writing(connection) if connection.dialect.name == "sqlite" else nullcontext()

    def _fill(self, rows: Sequence[tuple[Any, ...]]) -> int:
        from sqlalchemy.exc import DBAPIError

        connection = self._source.connection
        mark, name = "?", self._quoted
        if connection.dialect.name not in ("sqlite", "duckdb"):
            mark, name = "%s", name.replace("%", "%%")
        statement = f"INSERT INTO {name} VALUES ({', '.join([mark] * len(self._positions))})"
        if connection.dialect.name == "sqlite":
            rows = [tuple(map(_as_sqlite_keeps, row)) for row in rows]
        pending = [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
        left_out = 0
        while pending:
            part = pending.pop()
            try:
                for row in part:  # psycopg sends several in a pipeline, and logs each refusal there
                    connection.exec_driver_sql(statement, row)
                connection.commit()
            except (DBAPIError, UnicodeError) as error:
                if getattr(error, "connection_invalidated", False):
                    raise
                connection.rollback()
                if len(part) == 1:
                    left_out += 1
                else:  # one of them is refused
                    middle = len(part) // 2
                    pending += [part[:middle], part[middle:]]
        return left_out

    @property
    def _columns(self) -> str:
        return ", ".join(self._source.quote(self._source.names[position]) for position in self._positions)

    def _create(self) -> None:
        """Make the table, with the types and collations of the columns."""
        connection = self._source.connection
        empty = f"SELECT {self._columns} FROM {self._source.relation} WHERE 1 = 0"
        connection.exec_driver_sql(f"CREATE TEMPORARY TABLE {self._quoted} AS {empty}")
        if connection.dialect.name == "sqlite":  # which does not keep a collation
            described = connection.exec_driver_sql(f"PRAGMA temp.table_info({self._quoted})").all()
            declared = [
                f"{self._source.quote(name)} {kind} COLLATE {self._collation_in_sqlite(position)}"
                for position, (_, name, kind, *_) in zip(self._positions, described, strict=True)
            ]
            self._drop()
            connection.exec_driver_sql(f"CREATE TEMPORARY TABLE {self._quoted} ({', '.join(declared)})")
        connection.commit()

    def _collation_in_sqlite(self, position: int) -> str:
        """Return the collation by which SQLite compares a column, found by texts that are equal under it."""
        source = self._source
        column = source.quote(source.names[position])
        # Comparing text with the column uses the column's collation.
        alike = f"SELECT {column} AS text FROM {source.relation} WHERE 1 = 0 UNION ALL SELECT 'a'"
        [shown] = source.connection.exec_driver_sql(f"SELECT text = 'A', text = 'a ' FROM ({alike})").all()
        return {(1, 0): "NOCASE", (0, 1): "RTRIM"}.get(tuple(shown), "BINARY")

    def _drop(self) -> None:
        temporary = "TEMPORARY " if self._source.connection.dialect.name in ("mysql", "mariadb") else ""
        self._source.connection.exec_driver_sql(f"DROP {temporary}TABLE IF EXISTS {self._quoted}")


def _as_sqlite_keeps(value: object) -> object:
    """Return a date or a point in time as text; since Python 3.12, sqlite3 warns when it converts one itself."""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date) else value


@contextmanager
def temporary_table(source: DatabaseSource, name: str, positions: Sequence[int]) -> Iterator[TemporaryTable]:
    """Make an empty table with some columns of a source, which is dropped when the context ends in any way.

    Raises
    ------
    SQLAlchemyError
        If the database refuses it.
    """
    from sqlalchemy.exc import SQLAlchemyError

    # MySQL requires a schema where the connection has none; elsewhere temporary tables have a schema of their own.
    schema = source.rows.name_parts[:-1] if source.connection.dialect.name in ("mysql", "mariadb") else []
    table = TemporaryTable(source, [*schema, name], positions)
    try:
        with writing(source.connection):
            table._create()
        yield table
    finally:
        with suppress(SQLAlchemyError), writing(source.connection):  # otherwise it is dropped with the connection
            table._drop()
            source.connection.commit()

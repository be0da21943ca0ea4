"""Rows of a database: a table or the result of a query, streamed into typed columns."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shallowrules.errors import DataError, Finding, OptionError, OptionName
from shallowrules.sources.adbc import copied_as, is_usable, read_copied
from shallowrules.sources.base import Provenance, Source
from shallowrules.sources.column_builder import ColumnBuilder
from shallowrules.sources.connecting import connect, find_url, show_database, timeout_statement
from shallowrules.sources.declared import declared_types
from shallowrules.sources.qualified_names import split_table
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import INT64
from shallowrules.tables.table import Table
from shallowrules.tables.time_columns import times_of_text
from shallowrules.tables.times import TIME_TYPES, TimeType

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["BATCH_ROWS", "DatabaseRows", "DatabaseSource", "open_rows"]

BATCH_ROWS = 65_536
BATCH_VALUES = 1 << 20
"""Maximum number of rows of a batch, and of its values, which are Python objects: 0.1 GB."""

MAX_TIMEOUT = 86_400
"""Seconds of a statement."""


@dataclass(frozen=True)
class DatabaseRows:
    """The rows of a database to read.

    Parameters
    ----------
    database : str
        A URL, or ``@name`` for an entry of ``shallowrules.toml``.
    table : str, optional
        A table or view, after its schema and a dot if it is not in the default one. A name with a dot in it is put in
        double quotes.
    query : str, optional
        A SELECT statement, in place of a table.
    sample : int, optional
        At most this many rows, drawn at random by the database. They are the same in every run as long as the database
        keeps its rows in the same order.
    seed : int
        Of the sample.
    timeout : float, optional
        Seconds after which PostgreSQL, MySQL or MariaDB ends a statement; others have no such setting and refuse it.

    Raises
    ------
    OptionError
        Unless there is either a table or a query, a sample of at least one row, and a positive time.
    """

    database: str = field(repr=False)  # which may have a password
    table: str | None = None
    query: str | None = None
    sample: int | None = None
    seed: int = 0
    timeout: float | None = None

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise OptionError(
                OptionName("database"),
                " needs either ",
                OptionName("table"),
                " or ",
                OptionName("query"),
                ": the rows to read",
            )
        if self.sample is not None and not self.sample >= 1:
            raise OptionError(f"a sample must have at least 1 row, not {self.sample}", option="sample")
        if self.timeout is not None and not 0 < self.timeout <= MAX_TIMEOUT:
            raise OptionError(
                f"a timeout must be more than 0 and at most {MAX_TIMEOUT:,} seconds, not {self.timeout}",
                option="timeout",
            )
        _ = self.name_parts  # OptionError if it is not a name

    def __str__(self) -> str:
        what = "a query" if self.table is None else f"table {self.table}"
        part = "" if self.sample is None else f"{self.sample:,} rows of "
        return f"{part}{what} in {show_database(self.database)}"

    @property
    def name_parts(self) -> list[str]:
        """Schema and table, or the table; empty for a query."""
        return [] if self.table is None else split_table(self.table)

    @property
    def is_whole_table(self) -> bool:
        """Whether these are all rows of a table or view."""
        return self.table is not None and self.sample is None

    @property
    def backend(self) -> str:
        """The kind of database, as a URL names it, such as "postgresql"."""
        return str(find_url(self.database).get_backend_name())


@contextmanager
def open_rows(rows: DatabaseRows) -> Iterator[DatabaseSource]:
    """Open rows of a database until the end of the context, to be read: the connection does not write.

    Raises
    ------
    DataError
        If the database cannot be reached, or refuses the request; the message is the database's, without a password.
    OptionError
        If the URL or the name of the database is not known.
    MissingExtraError
        If SQLAlchemy or the driver of the database is not installed.
    """
    with connect(find_url(rows.database), read_only=True, timeout=rows.timeout) as connection:
        yield DatabaseSource(connection, rows)


class DatabaseSource(Source):
    """A table of a database, or the result of a query.

    Columns are typed by their values, which drivers give in Python's types: whole numbers that fit 64 bits and NUMERIC
    values without a fraction in their type are integers, other numbers floats, enums text. A column declared BOOLEAN is
    one of truth values, even where the database keeps it as 0 and 1 (SQLite, MariaDB).
    """

    def __init__(self, connection: Connection, rows: DatabaseRows) -> None:
        self.connection = connection
        self.rows = rows
        self.relation = self._relation_of(rows)
        # No row is fetched, and no value of a query's result is computed if the database can tell that it is not
        # needed.
        described = connection.exec_driver_sql(f"SELECT * FROM {self.relation} WHERE 1 = 0")
        description = described.cursor.description
        described.close()
        self.described = list(description)
        self.declared = declared_types(connection, self.described)
        super().__init__([str(entry[0]) for entry in description], Provenance("database", (str(rows),)))
        self._n_rows: int | None = None

    def _relation_of(self, rows: DatabaseRows) -> str:
        if rows.table is not None:
            return ".".join(map(self.quote, rows.name_parts))
        return f"(\n{str(rows.query).strip().removesuffix(';')}\n) AS {self.quote('rows of the query')}"

    def quote(self, name: str) -> str:
        """Return a name as SQL."""
        mark = self.connection.dialect.identifier_preparer.initial_quote
        return f"{mark}{name.replace(mark, mark * 2)}{mark}"

    def count_rows(self) -> int:
        """Return the number of rows; DataError if there are none."""
        if self._n_rows is None:
            [counted] = self.connection.exec_driver_sql(f"SELECT count(*) FROM {self.relation}").one()
            self._n_rows = int(counted) if self.rows.sample is None else min(int(counted), self.rows.sample)
        if not self._n_rows:
            raise DataError(f"{self.provenance}: there are no rows")
        return self._n_rows

    def read(self, positions: Sequence[int], as_text: Sequence[str], findings: list[Finding]) -> list[Column]:
        """Return columns by position. The rows are counted as they come, so that all columns show the same state."""
        columns = self._copy(positions) if is_usable(self.connection) else None
        if columns is None:
            columns = self._build(positions)
        self._n_rows = len(columns[0].values)
        self.count_rows()  # refuses a table without rows
        return self.as_declared(columns, positions)

    def as_declared(self, columns: Sequence[Column], positions: Sequence[int]) -> list[Column]:
        """Return columns of values, by position, with their declared types."""
        declared = self._declared_in_table()
        return [self._as_declared(column, j, declared) for column, j in zip(columns, positions, strict=True)]

    def _as_declared(
        self, column: Column, position: int, declared: Mapping[str, Literal["boolean"] | TimeType]
    ) -> Column:
        """Return a column of values with the type of its declaration."""
        kind = self.declared[position].kind
        if kind == "other":
            return _as_other(column)
        if kind in TIME_TYPES:
            return _as_times(column, kind)
        in_table = declared.get(self.names[position])
        if in_table is None:
            return column
        return _as_truths(column) if in_table == "boolean" else _as_times_of_text(column, in_table)

    def _copy(self, positions: Sequence[int]) -> list[Column] | None:
        """Return columns by ADBC; None where it does not connect."""
        copied = [copied_as(self.described[j], self.declared[j]) for j in positions]
        names = [self.names[j] for j in positions]
        listed = ", ".join(
            f"{how.expression.format(column=self.quote(name))} AS c{i}"
            for i, (how, name) in enumerate(zip(copied, names, strict=True))
        )
        statement, before = f"SELECT {listed} FROM {self.relation}", list[str]()
        if self.rows.sample is not None:
            statement, before = self._draw(statement, self.rows.sample)
        if self.rows.timeout is not None:
            before = [timeout_statement(self.connection, self.rows.timeout), *before]
        return read_copied(self.connection, names, copied, statement, before)

    def _build(self, positions: Sequence[int]) -> list[Column]:
        """Return columns of the values that a cursor gives."""
        builders = [ColumnBuilder(self.names[j]) for j in positions]
        for batch in self._rows(positions):
            for builder, values in zip(builders, zip(*batch, strict=True), strict=True):
                builder.add(values)
        return [builder.column() for builder in builders]

    def _rows(self, positions: Sequence[int]) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield the rows in batches, with the columns at these positions."""
        statement = f"SELECT {', '.join(map(self.fetched, positions))} FROM {self.relation}"
        if self.rows.sample is not None:
            statement = self.sampled(statement, self.rows.sample)
        return self.fetch(statement, max(1, min(BATCH_ROWS, BATCH_VALUES // len(positions))))

    def tables(self, positions: Sequence[int]) -> Generator[Table, None, None]:
        """Yield the rows in batches, with the columns at these positions, each batch typed by its own values."""
        declared = self._declared_in_table()
        for batch in self._rows(positions):
            columns = []
            for j, values in zip(positions, zip(*batch, strict=True), strict=True):
                builder = ColumnBuilder(self.names[j])
                builder.add(values)
                columns.append(self._as_declared(builder.column(), j, declared))
            yield Table(tuple(columns), len(batch))

    def fetched(self, position: int) -> str:
        """Return the SQL by which the driver gives the values of a column unchanged."""
        return self.declared[position].fetched.format(column=self.quote(self.names[position]))

    def fetch(self, statement: str, n_rows: int = BATCH_ROWS) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield the rows of a query in batches, through a server-side cursor if there is one."""
        result = self.connection.exec_driver_sql(statement, execution_options={"stream_results": True})
        try:
            while batch := result.fetchmany(n_rows):
                yield batch
        finally:
            result.close()

    def sampled(self, statement: str, n_rows: int) -> str:
        """Return a query for some random rows, the same ones whenever this connection runs it."""
        drawn, before = self._draw(statement, n_rows)
        for command in before:
            self.connection.exec_driver_sql(command)
        return drawn

    def _draw(self, statement: str, n_rows: int) -> tuple[str, list[str]]:
        """Return a query for some random rows, and the statement to run before it, in the same session."""
        name, seed = self.connection.dialect.name, self.rows.seed
        before: list[str] = []
        if name == "postgresql":
            # Rows have to come in the order in which they are kept.
            before = ["SET synchronize_seqscans = off", "SET max_parallel_workers_per_gather = 0"]
            before += [f"SELECT setseed({random.Random(seed).uniform(-1, 1)})"]
            drawn = "random()"
        elif name in ("mysql", "mariadb"):
            drawn = f"RAND({seed})"
        elif name == "sqlite":
            driver: Any = self.connection.connection.driver_connection
            driver.create_function("shallowrules_random", 0, random.Random(seed).random)
            drawn = "shallowrules_random()"
        elif name == "duckdb":
            # Several threads would draw in an order of their own.
            before = ["SET threads = 1", f"SELECT setseed({random.Random(seed).random()})"]
            drawn = "random()"
        else:
            raise OptionError(f"cannot draw a sample from {name}: write a query that draws one", option="sample")
        return f"{statement} ORDER BY {drawn} LIMIT {min(n_rows, INT64[-1])}", before

    def _declared_in_table(self) -> dict[str, Literal["boolean"] | TimeType]:
        """Return the columns of a table declared as truth values or times that the database stores in another form.

        They are 0 and 1 in SQLite and MariaDB, and text in SQLite.
        """
        if self.rows.table is None:
            return {}
        name = self.connection.dialect.name
        if name == "sqlite":
            *schema, table = map(self.quote, self.rows.name_parts)
            asked = self.connection.exec_driver_sql(f"PRAGMA {'.'.join([*schema, 'table_info'])}({table})")
            declared = {str(column): SQLITE.get(str(kind).upper()) for _, column, kind, *_ in asked}
            return {column: kind for column, kind in declared.items() if kind is not None}
        if name in ("mysql", "mariadb"):
            asked = self.connection.exec_driver_sql(f"SHOW COLUMNS FROM {self.relation}")
            return {str(column): "boolean" for column, kind, *_ in asked if "tinyint(1)" in str(kind)}
        return {}


SQLITE: Mapping[str, Literal["boolean"] | TimeType] = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), "boolean"),
    "DATE": "date",
    **dict.fromkeys(("DATETIME", "TIMESTAMP"), "timestamp"),
}
"""By the declared type of a column in SQLite."""


def _as_times_of_text(column: Column, kind: TimeType) -> Column:
    """Return a column of text as times, dates among points in time as the latter; unchanged if it has other text."""
    kinds: tuple[TimeType, ...] = ("date", "timestamp") if kind == "date" else (kind,)
    for each in kinds if column.type == "text" else ():
        with suppress(DataError):
            return times_of_text(column, each)
    return column


def _as_truths(column: Column) -> Column:
    """Return a column of 0 and 1 as truth values; unchanged if it has any other number."""
    if column.type != "integer" or not np.isin(column.values, (0, 1)).all():
        return column
    truths = np.array([bool(value) for value in column.values], object)
    truths[column.absent] = None
    return Column(column.name, "boolean", truths)


def _as_times(column: Column, kind: TimeType) -> Column:
    """Return a column of times with the type that the database declares, where the values leave it open."""
    if column.absent.all():
        n_rows = len(column.values)
        return Column(column.name, kind, np.zeros(n_rows, np.int64), np.ones(n_rows, bool))
    if (column.type, kind) in (("timestamp", "timestamptz"), ("integer", "duration")):
        return replace(column, type=kind)  # which are fetched in UTC, and as microseconds
    return column


def _as_other(column: Column) -> Column:
    """Return a column as its declared type, which is neither numbers nor text; unchanged without a value."""
    if column.type == "other" or column.absent.all():
        return column
    objects = column.values.astype(object)
    objects[column.absent] = None
    return Column(column.name, "other", objects)

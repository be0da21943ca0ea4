"""Rows of PostgreSQL by ADBC, which copies them in binary.

Used where the driver is installed. Every column is cast, so that it has the type and the values that a cursor would
give. DuckDB turns Arrow into arrays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shallowrules.errors import DataError
from shallowrules.files import scratch_folder
from shallowrules.sources.column_builder import ColumnBuilder
from shallowrules.sources.connecting import database_answer, show_url
from shallowrules.sources.declared import DeclaredType
from shallowrules.sources.engine import open_database, typed_column
from shallowrules.tables.column import Column, ColumnType
from shallowrules.tables.times import TIME_TYPES

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Copied", "copied_as", "is_usable", "read_copied"]

MIN_VERSION = (12,)
"""Minimum version of PostgreSQL. Others that speak its protocol (Redshift) report an older one, and may not copy in
binary."""

READ_ONLY = "SET default_transaction_read_only = on"
"""Makes the database refuse statements that write."""

MAX_EXACT_DIGITS = 15
"""Decimal digits that a double keeps."""

CANCEL_SECONDS = 0.1
"""Seconds between two attempts to cancel a query: one made before the query has begun does nothing."""


@dataclass(frozen=True)
class Copied:
    """How a column is copied.

    Parameters
    ----------
    type : {"integer", "float", "date", "timestamp", "timestamptz", "duration", "text", "boolean", "other", "decimal"}
        The type in which its values arrive; a decimal arrives as text or as a float.
    expression : str
        The SQL that gives the values of a ``{column}`` in this type.
    scale : int, optional
        Of a decimal that arrives as a float: its digits after the point.
    """

    type: ColumnType | Literal["decimal"]
    expression: str
    scale: int | None = None


NUMERIC = 1700

BY_KIND: Mapping[str | None, Copied] = {
    "text": Copied("text", "CAST({column} AS TEXT)"),
    "boolean": Copied("boolean", "{column}"),
    "other": Copied("other", "CAST({column} AS TEXT)"),
}
AS_DOUBLE = "CAST({column} AS DOUBLE PRECISION)"
NUMBERS: Mapping[int, Copied] = {
    **dict.fromkeys((20, 21, 23), Copied("integer", "CAST({column} AS BIGINT)")),
    **dict.fromkeys((700, 701), Copied("float", AS_DOUBLE)),
    NUMERIC: Copied("decimal", "CAST({column} AS TEXT)"),
}
"""By the number of a type in `pg_type`."""


def is_usable(connection: Connection) -> bool:
    """Return whether ADBC is available for the database of a connection."""
    dialect = connection.dialect
    if (dialect.name, dialect.driver) != ("postgresql", "psycopg") or not _is_installed():
        return False
    driver: Any = connection.connection.driver_connection
    # The texts of SQL_ASCII are bytes.
    known = driver.info.parameter_status("server_encoding") != "SQL_ASCII"
    return known and (dialect.server_version_info or ()) >= MIN_VERSION


def _is_installed() -> bool:
    try:
        import adbc_driver_postgresql  # noqa: F401
        import duckdb  # noqa: F401
    except ImportError:
        return False
    return True


def copied_as(entry: Any, declared: DeclaredType) -> Copied:
    """Return how a column is copied, by its entry in a cursor's description and the meaning of its type."""
    code, precision, scale = entry[1], entry[4], entry[5]
    if declared.kind in TIME_TYPES:
        return Copied(declared.kind, declared.fetched)
    if declared.kind != "number":
        return BY_KIND[declared.kind]
    if code == NUMERIC and precision is not None and 0 <= scale <= precision <= MAX_EXACT_DIGITS:
        return Copied("decimal", AS_DOUBLE, scale)
    return NUMBERS[code]


def read_copied(
    connection: Connection,
    names: Sequence[str],
    copied: Sequence[Copied],
    statement: str,
    before: Sequence[str],
) -> list[Column] | None:
    """Return the columns of a query.

    Parameters
    ----------
    connection : Connection
        To the database, by the driver psycopg. Its uncommitted changes cannot be seen.
    names : sequence of str
    copied : sequence of Copied
        One for each column.
    statement : str
        The query, whose columns are called ``c0``, ``c1``, …
    before : sequence of str
        Statements to run before it, in the same session.

    Returns
    -------
    list of Column, or None
        None where ADBC does not connect: it does not know every way to log in.

    Raises
    ------
    DataError
        If the database refuses the query; the message is its own.
    """
    import adbc_driver_manager as manager

    connection.commit()  # otherwise a change of the table that waits for this connection would hold up the other one
    shown = show_url(connection.engine.url)
    try:
        with ExitStack() as opened:
            other = _connect(connection, opened)
            if other is None:
                return None
            for command in (READ_ONLY, *before):
                with manager.AdbcStatement(other) as prepared:
                    prepared.set_sql_query(command)
                    prepared.execute_update()
            query = opened.enter_context(manager.AdbcStatement(other))
            query.set_sql_query(statement)
            arrays = _fetch(query)
    except (manager.Error, DataError) as error:
        raise DataError(f"{shown}: {_answer(database_answer(error, connection.engine.url))}") from None
    return [_column(name, how, arrays[f"c{j}"]) for j, (name, how) in enumerate(zip(names, copied, strict=True))]


def _connect(connection: Connection, opened: ExitStack) -> Any:
    """Return an ADBC connection to the database of a given connection; None if there is none."""
    import adbc_driver_manager as manager
    from adbc_driver_postgresql import connect
    from psycopg.conninfo import make_conninfo

    driver: Any = connection.connection.driver_connection
    info = driver.info
    # The server that answered, where a URL names several.
    parameters = {**info.get_parameters(), "host": info.host, "port": info.port, "client_encoding": "UTF8"}
    if info.password:
        parameters["password"] = info.password
    try:
        return opened.enter_context(manager.AdbcConnection(opened.enter_context(connect(make_conninfo(**parameters)))))
    except manager.Error:
        return None


def _answer(text: str) -> str:
    """Return the database's own message, without the text that each library on the way adds to it."""
    return re.sub(r"^.*?\[libpq\].*? ERROR: | (LINE \d+:|Query was:).*$", "", text)


def _fetch(query: Any) -> Mapping[str, Any]:
    """Return the result of a query as arrays, masked where a value is missing; an interrupt cancels the query."""

    def fetch() -> Mapping[str, Any]:
        rows, _ = query.execute_query()
        with scratch_folder() as scratch, open_database(scratch) as database:
            database.register("copied", rows)
            return database.execute("SELECT * FROM copied").fetchnumpy()

    with ThreadPoolExecutor(1) as thread:
        fetched: Future[Mapping[str, Any]] = thread.submit(fetch)
        try:
            return fetched.result()
        except KeyboardInterrupt:
            while not fetched.done():
                query.cancel()
                wait([fetched], CANCEL_SECONDS)
            raise


def _column(name: str, copied: Copied, values: Any) -> Column:
    """Return the fetched values as the column that a `ColumnBuilder` would make of a cursor's values."""
    mask = np.ma.getmaskarray(values)
    if copied.type == "duration":
        values = values.astype("m8[us]")  # the type that they are fetched as
    if copied.type != "decimal" and not mask.all():
        return typed_column(name, copied.type, values)
    if copied.scale is not None and not mask.all() and not np.isnan(np.ma.getdata(values)[~mask]).any():
        return typed_column(name, "float", values) if copied.scale else _whole(name, values, mask)
    builder = ColumnBuilder(name)
    cells = values.tolist()
    if copied.scale is not None:
        # Floats that were decimals become decimals again: with NaN among them, the column has a different type.
        cells = [None if value is None else f"{value:.{copied.scale}f}" for value in cells]
    builder.add([None if text is None else Decimal(text) for text in cells])
    return builder.column()


def _whole(name: str, values: Any, mask: Any) -> Column:
    """Return doubles without a fraction as a column of integers."""
    whole = np.where(mask, 0, np.ma.getdata(values)).astype(np.int64)
    return Column(name, "integer", whole, mask if mask.any() else None)

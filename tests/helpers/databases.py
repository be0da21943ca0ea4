"""Databases that a test fills: files of SQLite and DuckDB, and the servers of the fixture `running`."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from shallowrules.sources import DatabaseRows
from shallowrules.verification.engines.base import Engine

SERVERS = ("postgres", "mysql")


def marked(*names: str) -> list[ParameterSet]:
    """Return databases and engines as parameters of a fixture or test; those that have to be started are marked."""
    return [pytest.param(name, marks=[] if name in ("sqlite", "duckdb") else [pytest.mark.services]) for name in names]


def on(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a test that runs on only these databases of the fixture `database`."""
    return pytest.mark.parametrize("database", marked(*names), indirect=True)


class File:
    """A database in a file, filled as the engines are."""

    def __init__(self, dialect: str, path: Path):
        self.dialect, self.path = dialect, path
        self.url = f"{dialect}:///{path}"
        self.types = {"integer": "BIGINT", "float": "DOUBLE", "text": "TEXT", "boolean": "BOOLEAN"}

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def run(self, statement: str, *rows: Sequence[Any]) -> None:
        connection = _driver(self.dialect).connect(str(self.path))
        connection.execute("BEGIN")  # DuckDB would end each row by itself
        connection.executemany(statement, rows) if rows else connection.execute(statement)
        connection.commit()
        connection.close()

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> None:
        self.run(f"CREATE TABLE {self.quote(table)} ({', '.join(f'{self.quote(n)} {kind}' for n, kind in columns)})")
        held = [[float(v) if isinstance(v, Decimal) and self.dialect == "sqlite" else v for v in row] for row in rows]
        if held:
            self.run(f"INSERT INTO {self.quote(table)} VALUES ({', '.join('?' * len(columns))})", *held)

    def drop(self, table: str) -> None:
        self.run(f"DROP TABLE {self.quote(table)}")

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        connection = _driver(self.dialect).connect(str(self.path))
        rows: list[tuple[Any, ...]] = connection.execute(statement).fetchall()
        connection.close()
        return rows


def _driver(dialect: str) -> Any:
    return sqlite3 if dialect == "sqlite" else importlib.import_module("duckdb")


SMALL = [(0.25, 1), (0.75, 3), (0.75, 4), (None, 4), (0.75, None), (0.25, None)]
"""Rows for `small_rules`, the last of them without a value that is tested."""

SMALL_LABELS = [0, 1, 2, None, None, 0]
"""Their clusters."""


def of(database: Any, table: str = "small", **options: Any) -> DatabaseRows:
    """Return rows of a table."""
    return DatabaseRows(database.url, table, **options)


SCHEMAS = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master",
    "duckdb": (
        "SELECT 'table', sql, comment FROM duckdb_tables() UNION ALL "
        "SELECT 'view', sql, comment FROM duckdb_views() WHERE NOT internal UNION ALL "
        "SELECT table_name, column_name, data_type || coalesce(comment, '') FROM duckdb_columns() WHERE NOT internal"
    ),
    "postgres": (
        "SELECT c.relkind, c.oid::regclass::text || coalesce(obj_description(c.oid, 'pg_class'), ''), "
        "coalesce(c.relacl::text, '') || coalesce(pg_get_viewdef(c.oid), '') "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' "
        "AND c.relkind IN ('r', 'v', 'm', 'i') "
        "UNION ALL SELECT '-', a.attrelid::regclass::text || '.' || a.attname, a.atttypid::text || "
        "coalesce(col_description(a.attrelid, a.attnum), '') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg\\_%' "
        "AND n.nspname <> 'information_schema' AND NOT attisdropped AND attnum > 0"
    ),
    "mysql": (
        "SELECT TABLE_TYPE, TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() "
        "UNION ALL SELECT TABLE_NAME, COLUMN_NAME, CONCAT(COLUMN_TYPE, COLUMN_COMMENT) FROM information_schema.COLUMNS "
        "WHERE TABLE_SCHEMA = DATABASE() UNION ALL "
        "SELECT 'view', TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()"
    ),
}


OBJECTS = {
    "sqlite": "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'table')",
    "duckdb": (
        "SELECT 'table', table_name FROM duckdb_tables() UNION ALL "
        "SELECT 'view', view_name FROM duckdb_views() WHERE NOT internal"
    ),
    "postgres": (
        "SELECT CASE relkind WHEN 'v' THEN 'view' ELSE 'table' END, relname FROM pg_class "
        "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')"
    ),
    "mysql": (
        "SELECT CASE TABLE_TYPE WHEN 'VIEW' THEN 'view' ELSE 'table' END, TABLE_NAME FROM information_schema.TABLES "
        "WHERE TABLE_SCHEMA = DATABASE()"
    ),
}


def schema_of(database: File | Engine) -> list[tuple[Any, ...]]:
    """Return everything that a database has, with comments and columns."""
    return sorted(map(tuple, database.query(SCHEMAS[database.dialect])), key=repr)


def objects_of(database: File | Engine) -> list[tuple[Any, ...]]:
    """Return the views and the tables of a database, each with its kind, views first."""
    return sorted(map(tuple, database.query(OBJECTS[database.dialect])), reverse=True)


def execute(database: File | Engine, statement: str) -> None:
    """Run a statement, whatever the database."""
    database.run(statement) if isinstance(database, File) else database.query(statement)

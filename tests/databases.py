"""Databases that a test fills: files of SQLite and DuckDB, and the servers of the fixture `running`."""

from __future__ import annotations

import importlib
import sqlite3
from decimal import Decimal

import pytest

from shallowrules.sources import DatabaseRows

SERVERS = ("postgres", "mysql")


def marked(*names):
    """Return databases as parameters of a fixture or test; servers are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SERVERS else []) for name in names]


def on(*names):
    """Return the mark of a test that is for these alone of the databases of the fixture `database`."""
    return pytest.mark.parametrize("database", marked(*names), indirect=True)


class File:
    """A database in a file, filled as the engines are."""

    def __init__(self, dialect, path):
        self.dialect, self.path = dialect, path
        self.url = f"{dialect}:///{path}"
        self.types = {"integer": "BIGINT", "float": "DOUBLE", "text": "TEXT", "boolean": "BOOLEAN"}

    def quote(self, name):
        return '"' + name.replace('"', '""') + '"'

    def run(self, statement, *rows):
        connection = _driver(self.dialect).connect(str(self.path))
        connection.executemany(statement, rows) if rows else connection.execute(statement)
        connection.commit()
        connection.close()

    def create(self, table, columns, rows):
        self.run(f"CREATE TABLE {self.quote(table)} ({', '.join(f'{self.quote(n)} {kind}' for n, kind in columns)})")
        held = [[float(v) if isinstance(v, Decimal) and self.dialect == "sqlite" else v for v in row] for row in rows]
        if held:
            self.run(f"INSERT INTO {self.quote(table)} VALUES ({', '.join('?' * len(columns))})", *held)

    def drop(self, table):
        self.run(f"DROP TABLE {self.quote(table)}")


def _driver(dialect):
    return sqlite3 if dialect == "sqlite" else importlib.import_module("duckdb")


SMALL = [(0.25, 1), (0.75, 3), (0.75, 4), (None, 4), (0.75, None), (0.25, None)]
"""Rows for `small_rules`, the last of them without a value that is tested."""


def of(database, table="small", **options):
    """Return rows of a table."""
    return DatabaseRows(database.url, table, **options)

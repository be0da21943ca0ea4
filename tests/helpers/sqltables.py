"""Tables in memory of SQLite and DuckDB, on which exported SQL is run."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from shallowrules import RuleSet

__all__ = ["EXECUTED", "Database"]

EXECUTED = ["sqlite", "duckdb"]


class Database:
    """One in-memory table, filled without the exporter's help."""

    def __init__(
        self, engine: str, rules: RuleSet, rows: Sequence[Sequence[Any]], types: tuple[str, str] = ("DOUBLE", "BIGINT")
    ) -> None:
        self.connection: Any = sqlite3.connect(":memory:") if engine == "sqlite" else _duckdb()
        declared = {"float": types[0], "integer": types[1], "text": "TEXT", "boolean": "BOOLEAN"}
        kinds = [declared[column.type] for column in rules.columns]
        columns = ", ".join(f"{_quote(c.name)} {kind}" for c, kind in zip(rules.columns, kinds, strict=True))
        self.connection.execute(f'CREATE TABLE "data" ("row number" BIGINT, {columns})')
        marks = ", ".join("?" * (len(kinds) + 1))
        self.connection.executemany(f'INSERT INTO "data" VALUES ({marks})', [(i, *row) for i, row in enumerate(rows)])

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows that a query gives."""
        found: list[tuple[Any, ...]] = self.connection.execute(text).fetchall()
        return found


def _duckdb() -> Any:
    import duckdb

    return duckdb.connect()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

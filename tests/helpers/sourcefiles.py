"""Helpers for the tests of sources: reading as the command line does, and tables as lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shallowrules.cli.advice import worded
from shallowrules.sources import read_table
from shallowrules.tables.table import Table


def read_as_told(path: str | Path, **options: Any) -> Table:
    """Read a table as the command line does, whose errors have remedies."""
    with worded():
        return read_table(path, **options)


def typed(table: Table) -> list[tuple[str, str, list[Any]]]:
    """Return name, type and values (None where missing) of every column."""
    found: list[tuple[str, str, list[Any]]] = []
    for column in table.columns:
        values = [
            None if absent else value
            for value, absent in zip(column.values.tolist(), column.absent.tolist(), strict=True)
        ]
        found.append((column.name, column.type, values))
    return found

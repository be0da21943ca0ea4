"""Run every style of SQL over a table, and find the rows that get a different cluster than the tree gives them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from columntypes import ColumnType, Texts
from definition import cluster_of

from shallowrules.exporters import export
from shallowrules.exporters.sql import cluster_predicates
from shallowrules.rules import RuleSet
from shallowrules.verification.engines import ENGINES, Cell, Engine
from shallowrules.verification.engines.duckdb import DuckDB

__all__ = ["GUARDS", "TABLE", "Block", "ParquetFiles", "labels_of"]

GUARDS = ("typed", "usual", "full")
"""How much the SQL knows of the columns: their types, that they are of the usual ones, or nothing."""

EXPRESSIONS = ("case", "ordered")
"""The styles that are expressions, not queries."""

TABLE = "data"
NUMBER = "row_number_of_it"
CLUSTER = "its cluster"
FILES = 24
"""Parquet files of a table, each with statistics of its own."""

SPELT = {"mysql": "mariadb"}
"""The name of a dialect that says more of an engine than the one under which it is known."""

MAX_QUERY = {"clickhouse": ("SET max_query_size = 10000000",)}
"""What an engine needs first for the SQL of large trees, as docs/numbers.md says."""


@dataclass(frozen=True)
class Block:
    """Rows of values, the kind of each, the type and the name of each column in the table, and one of `GUARDS`."""

    rules: RuleSet
    types: Sequence[ColumnType]
    kinds: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    names: Mapping[str, str]
    guards: str = "full"

    @property
    def options(self) -> dict[str, Any]:
        """The exporter's options."""
        if self.guards != "typed":
            return {"columns": self.names, "guards": self.guards}
        declared = (kind.declared for kind in self.types)
        return {"columns": self.names, "types": dict(zip(self.names.values(), declared, strict=True))}

    @property
    def type(self) -> str:
        """The type of the columns, where all have one."""
        return str(self.types[0])

    def expected(self) -> list[int | None]:
        """Return the clusters that the tree gives to the values that the columns hold."""
        return [cluster_of(self.rules, list(map(_held, self.types, row))) for row in self.rows]

    def only(self, kind: str) -> Block:
        """Return only the rows of one kind."""
        chosen = [i for i, name in enumerate(self.kinds) if name == kind]
        return replace(self, kinds=[kind] * len(chosen), rows=[self.rows[i] for i in chosen])


def _held(kind: ColumnType, value: Cell) -> Cell:
    return kind.holds.held(value) if isinstance(value, str) and isinstance(kind.holds, Texts) else value


def create(engine: Engine, blocks: Sequence[Block]) -> None:
    """Make a table of several blocks side by side, the shorter ones padded with their first row."""
    longest = max(len(block.rows) for block in blocks)
    declared = [(NUMBER, engine.types["integer"])]
    for block in blocks:
        declared += [(name, kind.declared) for name, kind in zip(block.names.values(), block.types, strict=True)]

    def rows() -> Iterator[Sequence[Cell]]:
        for number in range(longest):
            row: list[Cell] = [number]
            for block in blocks:
                row += block.rows[number if number < len(block.rows) else 0]
            yield row

    engine.create(TABLE, declared, rows())


def labels_of(
    engine: Engine, blocks: Sequence[Block], style: str, before: Sequence[str] = ()
) -> list[list[int | str | None]]:
    """Return the cluster that SQL of a style gives each row of each block; "several" where predicates overlap."""
    labels: list[list[int | str | None]] = [[None] * len(block.rows) for block in blocks]
    rows = engine.query(_statement(engine, blocks, style), [*MAX_QUERY.get(engine.dialect, ()), *before])
    if style in EXPRESSIONS:
        found = ((row, place, label) for row, *each in rows for place, label in enumerate(each))
    else:
        found = ((row, int(str(place)), label) for row, place, label in rows)
    for row, place, label in found:
        if label is not None and row is not None and int(row) < len(labels[place]):
            labels[place][int(row)] = int(label) if labels[place][int(row)] is None else "several"
    return labels


def _statement(engine: Engine, blocks: Sequence[Block], style: str) -> str:
    """Return a query of row number, block and label; for an expression, of row number and labels."""
    number = engine.quote(NUMBER)
    parts: list[str] = []
    for place, block in enumerate(blocks):
        dialect = engine.dialect if block.guards == "full" else SPELT.get(engine.dialect, engine.dialect)
        options: dict[str, Any] = {"dialect": dialect, **block.options}
        if style == "where":
            # Its own names stand in the predicates.
            for label, text in cluster_predicates(block.rules, **options).items():
                parts.append(f"SELECT {number}, {place}, {label} FROM {TABLE} WHERE {text}")
            continue
        text = export(block.rules, "sql", style=style, table=[TABLE], cluster_column=CLUSTER, **options)
        labelled = f"SELECT {number}, {place}, {engine.quote(CLUSTER)} FROM ({text}\n) AS labelled"
        parts.append(text if style in EXPRESSIONS else labelled)
    return f"SELECT {number}, {', '.join(parts)}\nFROM {TABLE}" if style in EXPRESSIONS else "\nUNION ALL ".join(parts)


class ParquetFiles(DuckDB):
    """DuckDB on a table in Parquet files, whose statistics may decide a comparison before the values are seen."""

    title = "DuckDB on Parquet"

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        """Open a database in memory, and a folder for the files."""
        with tempfile.TemporaryDirectory(prefix="shallowrules-parquet-") as folder, super().open() as engine:
            engine.folder = Path(folder)
            yield engine

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Any) -> None:
        """Make and fill the files."""
        super().create("loaded", columns, rows)
        for file in self.folder.iterdir():
            file.unlink()
        for part in range(FILES):
            chosen = f"SELECT * FROM loaded WHERE {self.quote(columns[0][0])} % {FILES} = {part}"
            self.query(f"COPY ({chosen}) TO '{self.folder}/{part}.parquet'")
        self.query("DROP TABLE loaded")
        self.query(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{self.folder}/*.parquet')")

    def drop(self, table: str) -> None:
        """Remove the view."""
        self.query(f"DROP VIEW {self.quote(table)}")


PLACES: dict[str, type[Engine]] = {**ENGINES, "parquet": ParquetFiles}
"""Where SQL is run: the engines by their dialect, and DuckDB on files."""

"""Projects of dbt in DuckDB: built by dbt itself, from an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shallowrules.rules import RuleSet

__all__ = ["DBT", "build_project", "labels_in", "run_dbt", "table_of"]

OWN = Path(__file__).parents[2] / "build" / "dbt" / "bin" / "dbt"
DBT = str(OWN) if OWN.exists() else shutil.which("dbt")

TYPES = {"float": "DOUBLE", "integer": "BIGINT", "text": "VARCHAR", "boolean": "BOOLEAN"}

Column = tuple[str, str, Sequence[Any]]
"""A name, a type of DuckDB, and the values."""


def build_project(folder: Path, tables: Mapping[str, Iterable[Column]], files: Mapping[str, str]) -> tuple[Any, Path]:
    """Build a project of models over tables in DuckDB, and return how dbt ended, and its database."""
    import duckdb

    database = folder / "shop.duckdb"
    with duckdb.connect(database) as connection:
        for name, columns in tables.items():
            columns = list(columns)
            declared = ", ".join(f'"{column.replace(chr(34), chr(34) * 2)}" {kind}' for column, kind, _ in columns)
            connection.execute(f"CREATE TABLE {name} ({declared})")
            rows = list(zip(*(values for *_, values in columns), strict=True))
            marks = ", ".join("?" * len(columns))
            if rows:
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    (folder / "dbt_project.yml").write_text("name: shop\nversion: 1.0.0\nprofile: shop\n")
    profile = {"shop": {"target": "dev", "outputs": {"dev": {"type": "duckdb", "path": str(database)}}}}
    (folder / "profiles.yml").write_text(json.dumps(profile))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return run_dbt(folder, "build"), database


def run_dbt(folder: Path, *arguments: str) -> Any:
    """Run dbt in a project, and return how it ended."""
    return subprocess.run(
        [str(DBT), *arguments, "--project-dir", folder, "--profiles-dir", folder, "--no-use-colors"],
        cwd=folder,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DO_NOT_TRACK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def table_of(rules: RuleSet, rows: Sequence[Sequence[Any]]) -> list[Column]:
    """Return the columns of rows, as DuckDB declares them."""
    return [(column.name, TYPES[column.type], [row[j] for row in rows]) for j, column in enumerate(rules.columns)]


def labels_in(database: Path, model: str, n_rows: int) -> list[int]:
    """Return the clusters in a model, by the column "row", -1 for none."""
    import duckdb

    with duckdb.connect(database, read_only=True) as connection:
        found = connection.execute(f'SELECT "row", cluster FROM {model} ORDER BY "row"').fetchall()
    assert [row for row, _ in found] == list(range(n_rows))
    return [-1 if cluster is None else cluster for _, cluster in found]

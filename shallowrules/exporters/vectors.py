"""Test vectors: rows at the limits of the rules with their clusters, and the schema of a row, as JSON.

They are the same for every language. In JSON, where a number may be read as a double and NaN is not allowed, a value is

- ``null`` if it is missing; ``true`` and ``false``; a text; a date, a point in time or a duration as text;
- a number if it is finite, is not -0.0, and is at most 2^53 in absolute value where it is whole;
- otherwise an object with one entry: ``{"float": "nan"}``, also ``"inf"``, ``"-inf"`` and ``"-0.0"``, or
  ``{"integer": "9007199254740993"}``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, cast

from shallowrules.exporters.context import package_version
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.rules.boundary import Cell, boundary_table, boundary_texts
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import DOUBLE_EXACT
from shallowrules.tables.labels import cluster_of
from shallowrules.tables.table import Table
from shallowrules.tables.times import format_time

__all__ = ["FORMAT", "row_schema", "vectors"]

FORMAT = "shallowrules/vectors/1"

NUMBERS_IN_JSON = {"float": ["number"], "integer": ["number"], "text": ["string"], "boolean": ["boolean"]}


def vectors(rules: RuleSet) -> str:
    """Return the rows of `boundary_table`, each once, with the number and the name of their cluster, as JSON.

    Rows with texts that are converted to numbers follow. Each row is on a line of its own.
    """
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    lines = dict.fromkeys(json.dumps(row) for table in _tables(rules) for row in _rows(rules, table))
    head = {
        "format": FORMAT,
        "written_by": f"shallowrules {package_version()}",
        "rules_sha256": rules.sha256,
        "columns": {column.name: "code" if column.codes else column.type for column in tested},
    }
    return json.dumps(head)[:-1] + ', "rows": [\n' + ",\n".join(lines) + "\n]}\n"


def row_schema(rules: RuleSet) -> str:
    """Return the JSON Schema of an object with the columns that the rules test."""
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A row for the rules with SHA-256 {rules.sha256}",
        "type": "object",
        "properties": {column.name: {"type": [*_json_types(column), "null"]} for column in tested},
        "required": [column.name for column in tested],
    }
    return json.dumps(schema, indent=2) + "\n"


def _json_types(column: RuleColumn) -> list[str]:
    """Return the JSON types of a column's values; a value of any other type is refused."""
    if column.is_time:
        return ["string"]
    if column.codes:
        return ["integer", "string"]
    return NUMBERS_IN_JSON[column.type] + (["string"] if column.is_numeric and column.from_text else [])


def _tables(rules: RuleSet) -> Iterator[Table]:
    if not rules.tested_columns:
        yield Table((), 1)
        return
    yield boundary_table(rules)
    if any(rules.columns[feature].from_text for feature in rules.tested_columns):
        yield boundary_texts(rules)


def _rows(rules: RuleSet, table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table of the tested columns, ready for JSON."""
    by_index: dict[int | None, tuple[Any, str]] = {c.index: (_written(c.label), c.name) for c in rules.clusters}
    columns = [_cells(column) for column in table.columns]
    for place, index in enumerate(rules.assign(table)):
        cluster, name = by_index.get(cluster_of(index), (None, None))
        row = {column.name: cells[place] for column, cells in zip(table.columns, columns, strict=True)}
        yield {"row": row, "cluster": cluster, "name": name}


def _cells(column: Column) -> list[Any]:
    values: list[Cell] = column.values.tolist()
    if column.is_time:
        values = [format_time(column.type, cast(int, value)) for value in values]
    missing = column.missing
    return [None if missing is not None and missing[place] else _written(value) for place, value in enumerate(values)]


def _written(value: Cell) -> Any:
    """Return a value as the module's docstring says."""
    if isinstance(value, float):
        plain = math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)
        return value if plain else {"float": repr(value)}
    if isinstance(value, int) and abs(value) > DOUBLE_EXACT:
        return {"integer": str(value)}
    return value

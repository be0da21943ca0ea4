"""JSON lines, or an array of objects: values show their own type, and a column has the one type that fits all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shallowrules.errors import DataError, Finding
from shallowrules.sources.base import Provenance, check_names
from shallowrules.sources.engine import (
    DuckDBSource,
    Field,
    batched,
    file_literal,
    quote_name,
    quote_text,
    text_literals,
)
from shallowrules.sources.number_formats import numbers_in_text
from shallowrules.sources.text_dates import text_field
from shallowrules.sources.text_findings import DATES, nearly_numeric
from shallowrules.tables.conversion import PLAIN, Conversion

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["JsonSource"]

NUMBERS = ("BIGINT", "UBIGINT", "DOUBLE")
"""DuckDB's names for the types of numbers."""

GEOJSON = ".geojson"
"""The ending of files in which DuckDB reads each feature as a row; with named columns it finds no values in them."""


class JsonSource(DuckDBSource):
    """A JSON file, loaded into the table `name`."""

    def __init__(self, database: DuckDBPyConnection, shown: str, file: str, told: Conversion, name: str) -> None:
        literal = file_literal(file)
        documents = f"read_json_objects({literal}, format='auto', compression='none', hive_partitioning=false)"
        numbered = f"(SELECT json, row_number() OVER () AS row FROM {documents})"
        stray = database.execute(
            f"SELECT row FROM {numbered} WHERE json_type(json) <> 'OBJECT' ORDER BY row LIMIT 1"
        ).fetchone()
        if stray is not None:
            raise DataError(f"row {stray[0]} is not a JSON object; every row must be one, from column name to value")
        names = [
            key
            for (key,) in database.execute(
                "SELECT name FROM (SELECT unnest(keys) AS name, unnest(range(len(keys))) AS place, row "
                f"FROM (SELECT json_keys(json) AS keys, row FROM {numbered})) "
                "GROUP BY name ORDER BY min({'row': row, 'place': place})"
            ).fetchall()
        ]
        if not names:
            raise DataError("it has no rows with columns")
        if "" in names:
            raise DataError("a column has an empty name: rename it")
        check_names(names)
        types = ", ".join(f"{quote_text(key)}: 'JSON'" for key in names)
        selected = ", ".join(f"{quote_name(key)} AS c{j}" for j, key in enumerate(names))
        rows = f"read_json({literal}, columns={{{types}}}, format='auto', compression='none', hive_partitioning=false)"
        if file.lower().endswith(GEOJSON):
            rows = documents
            selected = ", ".join(f"json -> {quote_text(_path(key))} AS c{j}" for j, key in enumerate(names))
        database.execute(f"CREATE TABLE {name} AS SELECT {selected} FROM {rows}")
        super().__init__(database, names, Provenance("json", (shown,)), name)
        self.told = told

    def text(self, j: int) -> str:
        """Return SQL for a column as the text that it is in the file."""
        return f"(c{j}->>'$')"

    def _fields(self, positions: Sequence[int], findings: list[Finding]) -> list[Field]:
        values, conversions = self._without_nulls(positions)
        fields = []
        for batch in batched(positions):
            counts = self.row(*(count for j in batch for count in _counts(values[j])))
            for i, j in enumerate(batch):
                fields.append(self._field(j, values[j], conversions[j], counts[3 * i : 3 * i + 3], findings))
        return fields

    def _without_nulls(self, positions: Sequence[int]) -> tuple[dict[int, str], dict[int, Conversion]]:
        """Return SQL for values that are not the texts for "no value", and which of these each column has."""
        values = {j: f"c{j}" for j in positions}
        conversions = dict.fromkeys(positions, PLAIN)
        if not self.told.nulls:
            return values, conversions
        for batch in batched(positions):
            is_null = {
                j: f"json_type(c{j}) = 'VARCHAR' AND trim(c{j}->>'$') IN ({text_literals(self.told.nulls)})"
                for j in batch
            }
            used = self.row(*(f"list(DISTINCT trim(c{j}->>'$')) FILTER ({is_null[j]})" for j in batch))
            for j, words in zip(batch, used, strict=True):
                if words:
                    conversions[j] = Conversion(nulls=tuple(token for token in self.told.nulls if token in words))
                    values[j] = f"(CASE WHEN {is_null[j]} THEN NULL ELSE c{j} END)"
        return values, conversions

    def _field(
        self, j: int, value: str, conversion: Conversion, counts: tuple[Any, ...], findings: list[Finding]
    ) -> Field:
        by_kind, whole, dates = counts
        kinds = {kind: n for kind, n in (by_kind or {}).items() if kind != "NULL"}
        given = sum(kinds.values())
        text = f"({value}->>'$')"
        if set(kinds) <= set(NUMBERS):
            if given and "DOUBLE" not in kinds and whole == given:
                return Field("integer", f"TRY_CAST({text} AS BIGINT)", conversion)
            return Field("float", f"TRY_CAST({text} AS DOUBLE)", conversion)
        if set(kinds) == {"BOOLEAN"}:
            return Field("boolean", f"CAST({text} AS BOOLEAN)")
        if set(kinds) & {"ARRAY", "OBJECT"}:
            return Field("other", text)
        if set(kinds) <= {*NUMBERS, "VARCHAR"}:
            n_known = len(findings)
            field = numbers_in_text(self, j, text, given, conversion, findings)
            if field is not None or len(findings) > n_known:
                return field or Field("text", text, conversion)
        offending = f"json_type({value}) NOT IN ({text_literals(NUMBERS)})"
        numbers = sum(kinds.get(kind, 0) for kind in NUMBERS)
        findings += nearly_numeric(self, self.names[j], text, offending, numbers, given)
        return text_field(self, j, text, dates, given, conversion, findings)


def _path(key: str) -> str:
    """Return where DuckDB finds a key in an object."""
    return '$."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _counts(value: str) -> list[str]:
    """Return SQL for the number of values of each kind, of those that are 64-bit integers, and of dates."""
    text = f"({value}->>'$')"
    return [
        f"histogram(json_type({value}))",
        f"count(TRY_CAST({text} AS BIGINT)) FILTER (json_type({value}) IN ({text_literals(NUMBERS)}))",
        f"count(*) FILTER (regexp_full_match({text}, {quote_text(DATES)}))",
    ]

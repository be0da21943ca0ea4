"""Parquet: types are declared, and only the values of wide integers and times are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from shallowrules.errors import Finding
from shallowrules.sources.arrow_schema import duration_units
from shallowrules.sources.base import Provenance
from shallowrules.sources.engine import DuckDBSource, Field, batched, file_literal, quote_name
from shallowrules.sources.number_formats import numbers_in_text
from shallowrules.tables.conversion import PLAIN
from shallowrules.tables.times import TimeType

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["ParquetSource"]

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
TIMES: Mapping[str, TimeType] = {
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "INTERVAL": "duration",
}
"""By the name that DuckDB has for a type."""

DURATION = "BIGINT of a duration"
"""The type of a column that only the Arrow schema marks as durations."""

MICROSECONDS = 10**6
"""In a second."""

WIDE_INTEGERS = ("HUGEINT", "UHUGEINT", "UBIGINT", "BIGNUM", "VARINT")


class ParquetSource(DuckDBSource):
    """A Parquet file."""

    names_may_repeat = True

    def __init__(self, database: DuckDBPyConnection, shown: str, file: str) -> None:
        # The schema is a tree in pre-order; DuckDB's own description has renamed names that repeat.
        schema = database.execute(f"SELECT name, num_children FROM parquet_schema({file_literal(file)})").fetchall()
        names = []
        within = 0
        for name, children in schema[1:]:
            if not within:
                names.append(name)
                within = 1
            within += (children or 0) - 1
        kept = database.execute(
            f"SELECT value FROM parquet_kv_metadata({file_literal(file)}) WHERE key = 'ARROW:schema'::BLOB"
        ).fetchone()
        self.durations = {} if kept is None else duration_units(kept[0])
        # A folder called a=1 would add a column.
        relation = f"read_parquet({file_literal(file)}, hive_partitioning=false)"
        super().__init__(database, names, Provenance("parquet", (shown,)), relation)

    def original(self, j: int) -> str:
        """Return SQL for a column as it stands in the file."""
        return quote_name(self._described[j][0])

    @cached_property
    def _described(self) -> list[tuple[str, str]]:
        """The name and the type that DuckDB has for each column: it makes equal names different."""
        described = self.database.execute(f"DESCRIBE SELECT * FROM {self.relation}").fetchall()
        return [(name, kind) for name, kind, *_ in described]

    def _fields(self, positions: Sequence[int], findings: list[Finding]) -> list[Field]:
        declared = {j: (quote_name(self._described[j][0]), self._described[j][1]) for j in positions}
        for j, (name, kind) in declared.items():
            unit = self.durations.get(self.names[j])
            if kind == "BIGINT" and unit is not None:
                declared[j] = _microseconds(name, unit), DURATION
        checked = [j for j, (_, kind) in declared.items() if kind in (*WIDE_INTEGERS, *TIMES, DURATION)]
        fits: dict[int, bool] = {}
        for batch in batched(checked):
            counts = self.row(*(_fits(*declared[j]) for j in batch))
            fits |= zip(batch, counts, strict=True)
        return [self._text(j, findings, _field(*declared[j], fits.get(j))) for j in positions]

    def _text(self, j: int, findings: list[Finding], field: Field) -> Field:
        """Return how to fetch a column, as numbers if it holds texts that are numbers in a format."""
        if field.type != "text":
            return field
        given = self.row(f"count({field.expression})")[0]
        return numbers_in_text(self, j, field.expression, given, PLAIN, findings) or field


def _microseconds(name: str, per_second: int) -> str:
    """Return SQL for the microseconds of a duration in other units; anything finer is truncated towards the past."""
    wide = f"CAST({name} AS HUGEINT)"
    if per_second <= MICROSECONDS:
        return f"({wide} * {MICROSECONDS // per_second})"
    step = per_second // MICROSECONDS
    return f"(({wide} - ({wide} % {step} + {step}) % {step}) // {step})"


def _fits(name: str, declared: str) -> str:
    """Return SQL for whether all wide integers of a column have 64 bits, or all its times are within the years."""
    if declared in (*WIDE_INTEGERS, DURATION):
        return f"count({name}) = count(TRY_CAST({name} AS BIGINT))"
    if declared == "INTERVAL":
        return "true"
    return f"count({name}) = count(*) FILTER (isfinite({name}) AND year({name}) BETWEEN 1 AND 9999)"


def _field(name: str, declared: str, fits: bool | None) -> Field:
    """Return how to fetch a column of a declared type; `fits` says whether all its values are within range."""
    if declared in INTEGERS:
        return Field("integer", name)
    if fits is not None and declared in WIDE_INTEGERS:
        # All of them in 64 bits, or as the double that a database compares them as.
        return Field("integer" if fits else "float", f"CAST({name} AS {'BIGINT' if fits else 'DOUBLE'})")
    if declared == DURATION and fits:
        return Field("duration", f"to_microseconds(CAST({name} AS BIGINT))")
    if declared in ("FLOAT", "DOUBLE"):
        return Field("float", name)
    if declared.startswith("DECIMAL"):
        return Field("float", f"CAST({name} AS DOUBLE)")
    if declared == "BOOLEAN":
        return Field("boolean", name)
    if declared in TIMES and fits:
        return Field(TIMES[declared], name)
    if declared in ("TIME", "BLOB"):  # whose values tell their type
        return Field("other", name)
    text = declared in ("VARCHAR", "UUID") or declared.startswith("ENUM")
    # An infinite date has no Python value.
    return Field("text" if text else "other", f"CAST({name} AS VARCHAR)")

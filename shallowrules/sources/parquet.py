"""Parquet: types are declared, and only the values of wide integers are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shallowrules.errors import Finding
from shallowrules.sources.base import Provenance
from shallowrules.sources.engine import DuckDBSource, Field, batched, file_literal, quote_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["ParquetSource"]

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
WIDE_INTEGERS = ("HUGEINT", "UHUGEINT", "UBIGINT", "BIGNUM", "VARINT")


class ParquetSource(DuckDBSource):
    """A Parquet file."""

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
        # A folder called a=1 would add a column.
        relation = f"read_parquet({file_literal(file)}, hive_partitioning=false)"
        super().__init__(database, names, Provenance("parquet", (shown,)), relation)

    def original(self, j: int) -> str:
        """Return SQL for a column as it stands in the file."""
        return quote_name(self.names[j])

    def _fields(self, positions: Sequence[int], findings: list[Finding]) -> list[Field]:
        described = self.database.execute(f"DESCRIBE SELECT * FROM {self.relation}").fetchall()
        declared = {j: (quote_name(described[j][0]), described[j][1]) for j in positions}
        wide = [j for j, (_, kind) in declared.items() if kind in WIDE_INTEGERS]
        fits: dict[int, bool] = {}
        for batch in batched(wide):
            names = [declared[j][0] for j in batch]
            counts = self.row(*(f"count({name}) = count(TRY_CAST({name} AS BIGINT))" for name in names))
            fits |= zip(batch, counts, strict=True)
        return [_field(*declared[j], fits.get(j)) for j in positions]


def _field(name: str, declared: str, fits: bool | None) -> Field:
    """Return how to fetch a column of a declared type; `fits` says of wide integers whether all have 64 bits."""
    if declared in INTEGERS:
        return Field("integer", name)
    if fits is not None:
        # All of them in 64 bits, or as the double that a database compares them as.
        return Field("integer" if fits else "float", f"CAST({name} AS {'BIGINT' if fits else 'DOUBLE'})")
    if declared in ("FLOAT", "DOUBLE"):
        return Field("float", name)
    if declared.startswith("DECIMAL"):
        return Field("float", f"CAST({name} AS DOUBLE)")
    if declared == "BOOLEAN":
        return Field("boolean", name)
    text = declared in ("VARCHAR", "UUID") or declared.startswith("ENUM")
    # Dates and the like as text: an infinite date has no Python value.
    return Field("text" if text else "other", f"CAST({name} AS VARCHAR)")

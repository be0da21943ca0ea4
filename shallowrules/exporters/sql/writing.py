"""How clusters are kept in a database: in a view, a table, or a column, as data for each dialect.

The facts on dialects that are not run here are from their documentation, listed in ``docs/dialects.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

__all__ = ["WRITING", "Writing", "dropping"]


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How one dialect keeps the clusters of rows.

    A template gets quoted names, ``{query}`` (what the style ``select`` writes) and ``{value}`` (a CASE expression).

    Attributes
    ----------
    numbers : tuple of (str, int)
        Types of a column of clusters' numbers, with their bits, the smallest first.
    text : str
        Type of a column of clusters' names.
    cast : str or None
        How a query casts a ``{case}`` after ``{indent}`` to a ``{type}`` of these; None where it cannot, or gives no
        larger one.
    view, table : str
        The statement that makes a view, or a table, ``{name}`` of a ``{query}``.
    materialized : str or None
        The statement that makes a materialized view; None where there are none.
    update : str
        The statement that gives ``{column}`` of ``{table}`` a ``{value}`` where ``{changed}`` is true. Both have the
        CASE: if another transaction changes a row meanwhile, the database evaluates both again, but not a subquery that
        is joined with the table. Where a query can be updated, its column ``{new}`` has the value, once.
    changed : str
        The predicate that ``{column}`` is not ``{value}``; NULL differs from every other value, but not from itself.
    added : str
        The statement that gives ``{table}`` an empty ``{column}`` of ``{type}``.
    column : str or None
        The statement that gives ``{table}`` a ``{column}`` of ``{type}`` that the database computes; None where
        `refused` says why there is none.
    refused : str
        Why there is no such column, and what to do.
    """

    numbers: tuple[tuple[str, int], ...] = (("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64))
    text: str
    cast: str | None = "CAST(\n{indent}  {case} AS {type}\n{indent})"
    view: str
    table: str
    materialized: str | None = None
    update: str
    changed: str
    added: str = "ALTER TABLE {table}\nADD COLUMN {column} {type}"
    column: str | None
    refused: str

    def type_of(self, numbers: Iterable[int]) -> str:
        """Return the smallest type that holds some whole numbers of 64 bits."""
        bits = 1 + max(number.bit_length() if number >= 0 else (~number).bit_length() for number in numbers)
        return next(name for name, available in self.numbers if bits <= available)


_STANDARD = Writing(
    text="VARCHAR",
    view="CREATE VIEW {name} AS\n{query}",
    table="CREATE TABLE {name} AS\n{query}",
    update="UPDATE {table}\nSET\n  {column} = {value}\nWHERE\n  {changed}",
    changed="{column} IS DISTINCT FROM {value}",
    column=None,
    refused="the database is not known to accept the rules as a computed column; make a view",
)

_MATERIALIZED = "CREATE MATERIALIZED VIEW {name} AS\n{query}"

_WITH_TINY = (("TINYINT", 8), *_STANDARD.numbers)

_COMPUTED = "ALTER TABLE {table}\nADD COLUMN {column} {type} GENERATED ALWAYS AS (\n  {value}\n) "

WRITING: Mapping[str, Writing] = {
    "ansi": _STANDARD,
    "bigquery": replace(_STANDARD, materialized=_MATERIALIZED, numbers=(("INT64", 64),), text="STRING", cast=None),
    "clickhouse": replace(
        _STANDARD,
        materialized="CREATE MATERIALIZED VIEW {name} ENGINE = MergeTree ORDER BY () POPULATE AS\n{query}",
        numbers=tuple((f"Nullable(Int{bits})", bits) for bits in (8, 16, 32, 64)),
        text="Nullable(String)",
        table="CREATE TABLE {name} ENGINE = MergeTree ORDER BY () AS\n{query}",
        update=(
            "ALTER TABLE {table}\nUPDATE {column} = (\n  {value}\n)\nWHERE\n  {changed}\nSETTINGS mutations_sync = 1"
        ),
        changed="NOT ({column} <=> {value})",
        column="ALTER TABLE {table}\nADD COLUMN {column} {type} MATERIALIZED (\n  {value}\n)",
        refused="",
    ),
    "databricks": replace(
        _STANDARD,
        materialized=_MATERIALIZED,
        numbers=_WITH_TINY,
        text="STRING",
        changed="NOT ({column} <=> {value})",
        refused="Databricks cannot add a computed column to an existing table; make a view",
    ),
    "duckdb": replace(
        _STANDARD,
        numbers=_WITH_TINY,
        refused="DuckDB cannot add a computed column to an existing table; make a view",
    ),
    "mysql": replace(
        _STANDARD,
        numbers=_WITH_TINY,
        cast=None,
        text="TEXT CHARACTER SET utf8mb4",
        changed="NOT ({column} <=> {value})",
        refused="MariaDB rewrites the texts of a computed column, incorrectly where they have a quote; make a view",
    ),
    "oracle": replace(
        _STANDARD,
        materialized=_MATERIALIZED,
        numbers=(("NUMBER(5)", 16), ("NUMBER(10)", 32), ("NUMBER(19)", 64)),
        text="VARCHAR2(4000)",
        changed="DECODE({column}, {value}, 0, 1) = 1",
        added="ALTER TABLE {table}\nADD {column} {type}",
    ),
    "postgres": replace(
        _STANDARD,
        materialized=_MATERIALIZED,
        text="TEXT",
        cast="(\n{indent}  {case}\n{indent})::{type}",
        column=_COMPUTED + "STORED",
        refused="",
    ),
    "redshift": replace(
        _STANDARD,
        materialized=_MATERIALIZED,
        text="VARCHAR(65535)",
        changed="({column} <> {value} OR ({column} IS NULL) <> ({value} IS NULL))",
        refused="Redshift has no computed columns; make a view",
    ),
    "snowflake": replace(_STANDARD, materialized=_MATERIALIZED),
    "spark": replace(
        _STANDARD,
        numbers=_WITH_TINY,
        text="STRING",
        changed="NOT ({column} <=> {value})",
        added="ALTER TABLE {table}\nADD COLUMNS ({column} {type})",
    ),
    "sqlite": replace(
        _STANDARD,
        numbers=(("INTEGER", 64),),
        text="TEXT",
        cast=None,
        changed="{column} IS NOT {value}",
        column=_COMPUTED + "VIRTUAL",
        refused="",
    ),
    "trino": replace(_STANDARD, materialized=_MATERIALIZED, numbers=_WITH_TINY),
    "tsql": replace(
        _STANDARD,
        text="NVARCHAR(MAX)",
        update=(
            "UPDATE labelled\nSET\n  {column} = {new}\nFROM (\n  SELECT\n    {column},\n    {value} AS {new}\n"
            "  FROM {table}\n) AS labelled\nWHERE\n  {changed}"
        ),
        table="SELECT *\nINTO {name}\nFROM (\n  {query}\n) AS labelled",
        added="ALTER TABLE {table}\nADD {column} {type}",
        changed="EXISTS (\n    SELECT {column}\n    EXCEPT\n    SELECT {value}\n  )",
    ),
}
"""By the name of the dialect."""


def dropping(kind: str, name: str, column: str = "") -> str:
    """Return the statement that drops a view, a table, a function, or a column of a table; names are SQL."""
    return f"ALTER TABLE {name}\nDROP COLUMN {column}" if kind == "column" else f"DROP {kind.upper()} {name}"

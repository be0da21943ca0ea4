"""How clusters are kept in a database: in a view, a table, or a column, as data for each dialect.

What is said of dialects that nothing here runs is from their documentation, listed in ``docs/dialects.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

__all__ = ["WRITING", "Writing"]


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How one dialect keeps the clusters of rows.

    A template gets quoted names, ``{query}``, what the style ``select`` writes, and ``{value}``, a CASE expression.

    Attributes
    ----------
    number, text : str
        Type of a column of clusters' numbers, and of their names.
    view, table : str
        The statement that makes a view, or a table, ``{name}`` of a ``{query}``.
    update : str
        The statement that gives ``{column}`` of ``{table}`` a ``{value}`` where ``{changed}`` is true.
    changed : str
        What is true where ``{column}`` is not ``{value}``; NULL is like no other value, and like itself.
    column : str or None
        The statement that gives ``{table}`` a ``{column}`` of ``{type}`` that the database computes; None where
        `refused` says why there is none.
    refused : str
        Why there is no such column, and what to do.
    """

    number: str
    text: str
    view: str
    table: str
    update: str
    changed: str
    column: str | None
    refused: str


_STANDARD = Writing(
    number="BIGINT",
    text="VARCHAR",
    view="CREATE VIEW {name} AS\n{query}",
    table="CREATE TABLE {name} AS\n{query}",
    update="UPDATE {table}\nSET {column} = {value}\nWHERE {changed}",
    changed="{column} IS DISTINCT FROM {value}",
    column=None,
    refused="it is not known here that the database takes the rules for a computed column: make a view",
)

_COMPUTED = "ALTER TABLE {table}\nADD COLUMN {column} {type} GENERATED ALWAYS AS (\n{value}\n) "

WRITING: Mapping[str, Writing] = {
    "ansi": _STANDARD,
    "bigquery": replace(_STANDARD, number="INT64", text="STRING"),
    "clickhouse": replace(
        _STANDARD,
        number="Nullable(Int64)",
        text="Nullable(String)",
        table="CREATE TABLE {name} ENGINE = MergeTree ORDER BY tuple() AS\n{query}",
        update="ALTER TABLE {table}\nUPDATE {column} = {value}\nWHERE {changed}\nSETTINGS mutations_sync = 1",
        changed="NOT ({column} <=> {value})",
        column="ALTER TABLE {table}\nADD COLUMN {column} {type} MATERIALIZED (\n{value}\n)",
        refused="",
    ),
    "databricks": replace(
        _STANDARD,
        text="STRING",
        changed="NOT ({column} <=> {value})",
        refused="Databricks adds no computed column to a table that is there already: make a view",
    ),
    "duckdb": replace(
        _STANDARD, refused="DuckDB adds no computed column to a table that is there already: make a view"
    ),
    "mysql": replace(
        _STANDARD,
        text="TEXT CHARACTER SET utf8mb4",
        changed="NOT ({column} <=> {value})",
        refused="MariaDB writes the texts of a computed column anew, and those with a quote wrongly: make a view",
    ),
    "oracle": replace(
        _STANDARD, number="NUMBER(19)", text="VARCHAR2(4000)", changed="DECODE({column}, {value}, 0, 1) = 1"
    ),
    "postgres": replace(_STANDARD, text="TEXT", column=_COMPUTED + "STORED", refused=""),
    "redshift": replace(
        _STANDARD,
        text="VARCHAR(65535)",
        changed="({column} <> {value} OR ({column} IS NULL) <> ({value} IS NULL))",
        refused="Redshift has no computed columns: make a view",
    ),
    "snowflake": _STANDARD,
    "spark": replace(_STANDARD, text="STRING", changed="NOT ({column} <=> {value})"),
    "sqlite": replace(
        _STANDARD,
        number="INTEGER",
        text="TEXT",
        changed="{column} IS NOT {value}",
        column=_COMPUTED + "VIRTUAL",
        refused="",
    ),
    "trino": _STANDARD,
    "tsql": replace(
        _STANDARD,
        text="NVARCHAR(MAX)",
        table="SELECT *\nINTO {name}\nFROM (\n{query}\n) AS labelled",
        changed="EXISTS (SELECT {column} EXCEPT SELECT {value})",
    ),
}
"""By the name of the dialect."""

"""The limits of engines: every row that is known to get a different cluster, with a statement that shows why."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shallowrules.exporters.sql import DIALECTS
from shallowrules.rules import RuleColumn

__all__ = ["REFUSALS", "Refusal", "refusal_of"]


@dataclass(frozen=True)
class Refusal:
    """Cells of one dialect that are not compared.

    `type`, `kind` and `column` are patterns for the whole of a rule column's type, of a kind of value and of a type of
    column, `texts` one that is found in one of the categories of a rule column. `statement` shows the limit on the
    engine, after the statements before it and "; "; its answer goes to the page. `guards` are those under which it is
    refused, all of them if empty.
    """

    dialect: str
    type: str
    kind: str
    column: str
    reason: str
    statement: str
    texts: str | None = None
    guards: str = ""


def refusal_of(dialect: str, rule_column: RuleColumn, kind: str, column: str, guards: str) -> Refusal | None:
    """Return the entry for a kind of value in a type of column, for a column of the rules; None if there is none."""
    for each in REFUSALS:
        asked = ((each.type, rule_column.type), (each.kind, kind), (each.column, column))
        if (
            each.guards not in ("", guards)
            or each.dialect != dialect
            or not all(re.fullmatch(pattern, name) for pattern, name in asked)
        ):
            continue
        if each.texts is None or any(re.search(each.texts, str(value)) for value in rule_column.values):
            return each
    return None


_COLLATION = "A column of another collation treats different texts as equal."
_DECIMALS = "Decimals of more than 15 digits are compared by all of them, not as doubles."
_ENUM = "Beside a text that the type does not have, the query ends with an error."

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "mysql",
        "float|integer",
        ".*",
        "YEAR",
        "Beside a number from 0 to 99 a YEAR is compared with a year of two digits: 7 is 2007.",
        "CREATE TEMPORARY TABLE years (y YEAR); INSERT INTO years VALUES (1998); SELECT y <= 7e0 FROM years",
    ),
    Refusal(
        "duckdb",
        "text",
        ".*",
        "VARCHAR COLLATE .*",
        "A text column declared with one collation cannot be compared under another. It is cast, but not beside a text "
        "that may stand for a number or a truth value, which DuckDB may hold as one: the query ends with an error.",
        "SELECT 'A' COLLATE NOCASE = '7' COLLATE C",
        texts=DIALECTS["duckdb"].texts.typed,
    ),
    *(
        Refusal(dialect, kind, ".*", column, reason, statement, guards="usual")
        for dialect, kind, column, reason, statement in (
            (
                "sqlite",
                "text",
                ".* COLLATE .*",
                _COLLATION,
                "CREATE TEMPORARY TABLE loose (c TEXT COLLATE NOCASE); INSERT INTO loose VALUES ('a'); "
                "SELECT c = 'A' FROM loose",
            ),
            ("duckdb", "text", "VARCHAR COLLATE .*", _COLLATION, "SELECT 'a' COLLATE NOCASE = 'A'"),
            (
                "duckdb",
                "float|integer",
                "UHUGEINT",
                "A number below 0 beside it ends the query with an error.",
                "SELECT 9223372036854775808::UHUGEINT <= -7",
            ),
            (
                "postgres",
                "float|integer",
                r"NUMERIC|NUMERIC\(38,9\)",
                _DECIMALS,
                "SELECT 2.50000000000000000001 > 2.5, 2.50000000000000000001 > 2.5::float8",
            ),
            (
                "postgres",
                "text",
                "TEXT COLLATE loose",
                "A nondeterministic collation treats different texts as equal.",
                "SELECT 'a' COLLATE loose = 'A'",
            ),
            (
                "postgres",
                "text",
                "ENUM",
                _ENUM,
                "SELECT 'A'::words = 'other'",
            ),
            (
                "mysql",
                "float",
                r"DECIMAL\(65,30\)",
                _DECIMALS,
                "SELECT CAST('2.500000000000000000001' AS DECIMAL(65,30)) > 2.5",
            ),
            (
                "clickhouse",
                "float",
                r"Nullable\(Decimal\(\d\d, 20\)\)",
                _DECIMALS,
                "SELECT toDecimal128('7.00000000000000000001', 20) <= 7",
            ),
            (
                "spark",
                "text",
                "STRING COLLATE .*",
                _COLLATION,
                "SELECT 'a' COLLATE UTF8_LCASE = 'A'",
            ),
            (
                "spark",
                "text",
                r"CHAR\(40\)",
                "Beside a text, the padding of CHAR(n) does not count.",
                "CREATE TABLE padded (c CHAR(3)) USING parquet; INSERT INTO padded VALUES ('A'); "
                "SELECT c = 'A' FROM padded",
            ),
            (
                "clickhouse",
                "text",
                "Enum8",
                _ENUM,
                "SELECT CAST('A' AS Enum8('A')) <> 'other'",
            ),
        )
    ),
)
"""As docs/numbers.md lists them."""

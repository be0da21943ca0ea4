"""What an engine cannot do: every row that is known to get another cluster, with a statement that shows why."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["REFUSALS", "Refusal", "refusal_of"]


@dataclass(frozen=True)
class Refusal:
    """Cells of one dialect that are not compared.

    `type`, `kind` and `column` are patterns for the whole of a rule column's type, of a kind of value and of a type of
    column. `statement` shows on the engine what it cannot do; its answer goes to the page.
    """

    dialect: str
    type: str
    kind: str
    column: str
    reason: str
    statement: str


def refusal_of(dialect: str, type: str, kind: str, column: str) -> Refusal | None:
    """Return what is listed of a kind of value in a type of column, to a rule column of a type; None if nothing is."""
    for each in REFUSALS:
        asked = ((each.type, type), (each.kind, kind), (each.column, column))
        if each.dialect == dialect and all(re.fullmatch(pattern, name) for pattern, name in asked):
            return each
    return None


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
        "A text column declared with a collation cannot be compared by another: the query ends with an error. "
        "COLLATE C on the column would fail on BOOLEAN, as which DuckDB may read a file's words.",
        "SELECT 'A' COLLATE NOCASE = 'a' COLLATE C",
    ),
    Refusal(
        "duckdb",
        "integer",
        "ends of 64 bits|ends of the type",
        "UHUGEINT",
        "A UHUGEINT of 2^63 and beyond cannot be compared with a negative whole number: the query ends with an error.",
        "SELECT x <= -7 FROM (SELECT 9223372036854775808::UHUGEINT x FROM range(2))",
    ),
)
"""As docs/numbers.md lists them."""

"""What an engine cannot do: every row that is known to get another cluster, with a statement that shows why."""

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
    column, `texts` one that is found in one of the categories of a rule column. `statement` shows on the engine what it
    cannot do; its answer goes to the page.
    """

    dialect: str
    type: str
    kind: str
    column: str
    reason: str
    statement: str
    texts: str | None = None


def refusal_of(dialect: str, rule_column: RuleColumn, kind: str, column: str) -> Refusal | None:
    """Return what is listed of a kind of value in a type of column, to a column of the rules; None if nothing is."""
    for each in REFUSALS:
        asked = ((each.type, rule_column.type), (each.kind, kind), (each.column, column))
        if each.dialect != dialect or not all(re.fullmatch(pattern, name) for pattern, name in asked):
            continue
        if each.texts is None or any(re.search(each.texts, str(value)) for value in rule_column.values):
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
        "A text column declared with a collation cannot be compared by another. It is cast, but not beside a text that "
        "may stand for a number or a truth value, which DuckDB may hold as such: the query ends with an error.",
        "SELECT 'A' COLLATE NOCASE = '7' COLLATE C",
        texts=DIALECTS["duckdb"].texts.typed,
    ),
)
"""As docs/numbers.md lists them."""

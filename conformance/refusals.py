"""What an engine cannot do: every row that is known to get another cluster, with a statement that shows why."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["REFUSALS", "Refusal"]


@dataclass(frozen=True)
class Refusal:
    """Cells of one dialect that are not compared.

    `case`, `kind` and `column` are patterns for the whole name of a rule set, of a kind of value and of a column type.
    `statement` shows on the engine what it cannot do; its answer goes to the page.
    """

    dialect: str
    case: str
    kind: str
    column: str
    reason: str
    statement: str

    def covers(self, case: str, kind: str, column: str) -> bool:
        """Return whether rows are among them."""
        asked = ((self.case, case), (self.kind, kind), (self.column, column))
        return all(re.fullmatch(pattern, name) for pattern, name in asked)


REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "sqlite",
        "float, tiny, .*(comma|words|infinity).*",
        "boundaries|ordinary",
        "TEXT|VARCHAR.*|CHAR.*|no type, texts",
        "A text of 16 digits and more may be read one unit in the last place off, mostly beyond 1e-280.",
        "SELECT CAST('-4.94065645841246544177e-324' AS REAL)",
    ),
    Refusal(
        "mysql",
        "(float|integer), .*",
        ".*",
        "YEAR",
        "Beside a number from 0 to 99 a YEAR is compared with a year of two digits: 7 is 2007.",
        "CREATE TEMPORARY TABLE years (y YEAR); INSERT INTO years VALUES (1998); SELECT y <= 7e0 FROM years",
    ),
    Refusal(
        "clickhouse",
        "float, .*",
        ".*",
        r"Nullable\(Decimal\(76, 20\)\)",
        "A Decimal beside a double is not rounded to the nearest double, nor does toFloat64 round it so: even -999 is "
        "not -999e0 there. Cast such a column.",
        "SELECT toDecimal256('-999.00000000000000000001', 20) = -999e0, "
        "toFloat64(toDecimal128('9007199254740992.999999999', 9)) = 9007199254740992",
    ),
    Refusal(
        "duckdb",
        "text.*",
        ".*",
        "VARCHAR COLLATE .*",
        "A text column declared with a collation is compared by it: COLLATE C fails on BOOLEAN, as which DuckDB may "
        "read a file's yes and no.",
        "SELECT true COLLATE C = 'yes'",
    ),
    Refusal(
        "duckdb",
        "integer, .*",
        ".*",
        "UHUGEINT",
        "A UHUGEINT of 2^63 and beyond cannot be compared with a negative whole number: the query ends with an error.",
        "SELECT x <= -7 FROM (SELECT 9223372036854775808::UHUGEINT x FROM range(2))",
    ),
    *(
        Refusal(
            dialect,
            "boolean.*",
            "truth values",
            kind,
            "A truth value in a number type with decimals is a text such as 1.00: no cluster.",
            statement,
        )
        for dialect, kind, statement in (("duckdb", r"DECIMAL.*", "SELECT CAST(CAST(1 AS DECIMAL(12,2)) AS VARCHAR)"),)
    ),
)
"""As docs/numbers.md lists them."""

"""Rules as a function of a database: the types of its arguments, one for each column that is tested."""

from __future__ import annotations

from collections.abc import Mapping

from shallowrules.errors import ExportError
from shallowrules.exporters.context import is_held_as_double
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.rules import RuleColumn, RuleSet

__all__ = ["FUNCTIONS", "argument_types"]

_BIGQUERY = {
    "numbers": "FLOAT64",
    "large": "INT64",
    "text": "STRING",
    "boolean": "BOOL",
    "date": "DATE",
    "timestamp": "DATETIME",
    "timestamptz": "TIMESTAMP",
}
_MYSQL = {
    "numbers": "DOUBLE",
    "text": "TEXT CHARACTER SET utf8mb4",
    "boolean": "TEXT CHARACTER SET utf8mb4",  # 'true' as BOOLEAN is 0
    "date": "DATE",
    "timestamp": "DATETIME(6)",
    "timestamptz": "TIMESTAMP(6)",
    "duration": "TIME(6)",
}
_POSTGRES = {
    "numbers": "DOUBLE PRECISION",
    "large": "BIGINT",
    "converted": "TEXT",
    "text": "TEXT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "duration": "INTERVAL",
}
_SNOWFLAKE = {
    "numbers": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "VARCHAR",  # 2 as BOOLEAN is TRUE
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP_TZ",
}

FUNCTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "bigquery": ("CREATE FUNCTION {name}{arguments}\nRETURNS {type}\nAS (\n  {value}\n)", _BIGQUERY),
    "clickhouse": ("CREATE FUNCTION {name} AS {arguments} ->\n  {value}", {}),
    "duckdb": ("CREATE MACRO {name}{arguments} AS\n{value}", {}),
    "mysql": ("CREATE FUNCTION {name}{arguments}\nRETURNS {type}\nDETERMINISTIC NO SQL\n  RETURN\n    {value}", _MYSQL),
    "postgres": (
        "CREATE FUNCTION {name}{arguments}\nRETURNS {type}\nLANGUAGE sql IMMUTABLE PARALLEL SAFE\nRETURN\n{value}",
        _POSTGRES,
    ),
    "snowflake": ("CREATE FUNCTION {name}{arguments}\nRETURNS {type}\nAS $$\n  {value}\n$$", _SNOWFLAKE),
}
"""By the name of the dialect: the statement that makes a function, and what its arguments are declared as, by what they
are compared as; none where they have no types. ``{value}`` is a CASE expression."""


def argument_types(rules: RuleSet, dialect: Dialect) -> dict[int, str]:
    """Return the type of the argument for each tested column, empty where arguments have no types.

    Numbers are doubles, which rules compare exactly unless a threshold is a whole number that no double equals.

    Raises
    ------
    ExportError
        If the dialect has no functions, or no type for a column.
    """
    if dialect.name not in FUNCTIONS:
        raise ExportError(
            f"dialect {dialect.name or 'ansi'!r} has no style 'function': write a view, or a function for "
            f"{', '.join(FUNCTIONS)}"
        )
    types = FUNCTIONS[dialect.name][1]
    found = {}
    for feature in rules.tested_columns if types else ():
        column = rules.columns[feature]
        kind = _kind(rules, feature, column)
        if kind not in types:
            said = _BY_KIND.get(kind, f"compared as {kind}")
            raise ExportError(
                f"a function of dialect {dialect.name!r} has no argument for column {column.name!r}, {said}: write a "
                "view"
            )
        found[feature] = types[kind]
    return found


_BY_KIND = {
    "large": "compared as a whole number beyond the doubles",
    "converted": "whose text may be a number",  # a FLOAT as text is rounded
}
"""Words on a column for which the dialect has no type, by the type in which it is compared."""


def _kind(rules: RuleSet, feature: int, column: RuleColumn) -> str:
    """Return the type in which a column is compared."""
    if column.from_text:
        return "converted"
    if column.is_time or not column.is_numeric:
        return column.type
    return "numbers" if is_held_as_double(rules, feature) else "large"

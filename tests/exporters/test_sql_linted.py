"""sqlfluff finds nothing in the SQL that is written, by the configuration on the page about dialects."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from draws import few, spread
from rulesets import make_rules
from sqlstyles import styles_of

from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS

pytest.importorskip("sqlfluff", reason="sqlfluff is not installed (extra dev)")

PAGE = Path(__file__).parents[2] / "docs" / "dialects.md"
KNOWN_AS = {"spark": "sparksql"}
TYPES = {
    "ansi": ("DECIMAL(10, 2)", "INTEGER", "VARCHAR(20)", "BOOLEAN"),
    "sqlite": ("REAL", "INTEGER", "TEXT", "INTEGER"),
    "duckdb": ("DECIMAL(10, 2)", "INTEGER", "VARCHAR", "BOOLEAN"),
    "postgres": ("NUMERIC(10, 2)", "INTEGER", "TEXT", "BOOLEAN"),
    "mysql": ("DECIMAL(10, 2)", "INT", "VARCHAR(20) COLLATE utf8mb4_general_ci", "TINYINT(1)"),
    "clickhouse": ("Decimal(10, 2)", "Int64", "String", "Bool"),
    "spark": ("DECIMAL(10, 2)", "INT", "STRING", "BOOLEAN"),
    "databricks": ("DECIMAL(10, 2)", "INT", "STRING", "BOOLEAN"),
    "snowflake": ("NUMBER(10, 2)", "INTEGER", "VARCHAR", "BOOLEAN"),
    "bigquery": ("NUMERIC(10, 2)", "INT64", "STRING", "BOOL"),
    "trino": ("DECIMAL(10, 2)", "INTEGER", "VARCHAR", "BOOLEAN"),
    "oracle": ("NUMBER(10, 2)", "NUMBER(10, 0)", "VARCHAR2(20)", "NUMBER(1, 0)"),
    "tsql": ("DECIMAL(10, 2)", "INT", "NVARCHAR(20)", "BIT"),
    "redshift": ("NUMERIC(10, 2)", "INTEGER", "VARCHAR(20)", "BOOLEAN"),
}
COLUMNS = [("MonthlyCharges", "float"), ("tenure", "integer"), ("Contract", "text"), ("Senior", "boolean")]
LONG = "a contract of a name that makes a long line of its condition"

UNREAD = [
    ("sqlite", "full", None),  # COLLATE in an expression
    ("oracle", "usual", None),  # 24.15d
    ("oracle", "full", None),
    ("clickhouse", "usual", "function"),  # a lambda
]
"""What sqlfluff cannot read, though the engine does: dialect, mode, and a style or all."""


BESIDE = {"columns beside it": "select", "columns beside it in a table": "table"}
"""Styles with the name and the precision beside the cluster's number."""

TOTALS = {"check of totals": "check", "drift of totals": "drift"}


def with_totals(rules):
    """Return rules that know the total of a column."""
    clusters = tuple(replace(cluster, total=float(cluster.rows)) for cluster in rules.clusters)
    statistics = replace(rules.statistics, measure="Revenue", total=float(rules.statistics.rows))
    return replace(rules, clusters=clusters, statistics=statistics)


def rules_of(dialect, mode):
    """Return rules of conditions that are long and short; a truth value without a type for it is read as text."""
    senior = (3, True, 3, 4) if mode == "typed" and dialect != "sqlite" else 3
    return make_rules(COLUMNS, (2, "Month-to-month", (0, 67.0, 0, (1, 12, 1, 2)), (2, LONG, (0, 24.15, senior, 5), 6)))


def config_for(dialect):
    from sqlfluff.core import FluffConfig

    shown = re.search(r"```ini\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    return FluffConfig.from_string(shown, overrides={"dialect": KNOWN_AS.get(dialect, dialect)})


def text_of(dialect, mode, style):
    """Return a whole statement: a part of one is put into a query."""
    options = {
        "usual": {},
        "full": {"guards": "full"},
        "typed": {"types": dict(zip((name for name, _ in COLUMNS), TYPES[dialect], strict=True))},
    }[mode]
    if style in BESIDE:
        options, style = {**options, "cluster_as": "both", "with_precision": True}, BESIDE[style]
    if style == "function":  # whose own name is one of those that are to be of one case
        options = {**options, "into": "CUSTOMER_CLUSTER"}
    rules = rules_of(dialect, mode)
    if style in TOTALS:
        rules, options, style = with_totals(rules), {**options, "measure": "Revenue"}, TOTALS[style]
    text = export(rules, "sql", dialect=dialect, style=style, table="customers", **options)
    quoted = DIALECTS[dialect].identifier
    if style in ("case", "ordered"):
        lines = [line for line in text.splitlines() if not line.startswith("--")]
        shifted = "\n  ".join(lines)
        return f"SELECT\n  {shifted} AS {quoted('answer')}\nFROM {quoted('customers')}\n"
    if style == "where":
        _, block, *_ = re.split(r"^-- cluster .*\n", text, flags=re.MULTILINE)
        return f"SELECT {quoted('id')}\nFROM {quoted('customers')}\nWHERE\n  {block.strip()}\n"
    return text


CASES = [
    (dialect, mode, style)
    for dialect in DIALECTS
    for mode in ("typed", "usual", "full")
    for style in (*styles_of(dialect), *BESIDE, *TOTALS)
    if mode == "usual" or style in {"typed": ("where", "select", "update"), "full": ("select",)}[mode]
]


@pytest.mark.slow
@pytest.mark.parametrize(("dialect", "mode", "style"), few(spread(CASES, 70), 12))
def test_sqlfluff_finds_nothing(dialect, mode, style):
    import sqlfluff

    found = sqlfluff.lint(text_of(dialect, mode, style), config=config_for(dialect))
    if {(dialect, mode, style), (dialect, mode, None)} & set(UNREAD):
        assert {one["code"] for one in found} & {"PRS", "LXR"}
    else:
        assert [(one["code"], one["description"], one["start_line_no"]) for one in found] == []

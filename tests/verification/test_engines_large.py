"""Rules of many leaves in the engines that refuse long queries, or long expressions, by default."""

from __future__ import annotations

import random
import re

import pytest
from rulesets import balanced_rules, route

from shallowrules.errors import EngineError
from shallowrules.exporters import export

pytestmark = pytest.mark.services

NAMES = {f"x{j}": f"{'long ' * 36}{j}" for j in range(3)}


@pytest.fixture
def rows(engine):
    chooser = random.Random(0)
    rows = [(i, *(chooser.random() for _ in NAMES)) for i in range(40)]
    columns = [("i", engine.types["integer"]), *((name, engine.types["float"]) for name in NAMES.values())]
    engine.create("large", columns, rows)
    yield rows
    engine.drop("large")


def clusters(rules, rows):
    return [(str(i), str(route(rules, row))) for i, *row in rows]


@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_spark_takes_a_thousand_leaves(engine, rows):
    """Before, as one CASE, they overflowed the stack of the compiler of its generated Java."""
    rules = balanced_rules(1000)
    text = export(rules, "sql", dialect="spark", style="case", columns=NAMES)
    assert text.count("CASE") == 10
    assert sorted(engine.query(f"SELECT i, {text} FROM large"), key=lambda row: int(row[0])) == clusters(rules, rows)


def test_only_a_long_case_is_several():
    assert export(balanced_rules(100), "sql", dialect="spark", style="case").count("CASE") == 1
    for dialect in ("duckdb", "clickhouse", "ansi"):
        assert export(balanced_rules(101), "sql", dialect=dialect, style="case").count("CASE") == 1


@pytest.mark.parametrize("engine", ["clickhouse"], indirect=True)
@pytest.mark.parametrize("style", ["select", "case"])
def test_long_sql_says_what_clickhouse_needs(engine, rows, style):
    rules = balanced_rules(300)
    text = export(rules, "sql", dialect="clickhouse", style=style, columns=NAMES, table="large")
    assert len(text) > 262_144
    query = (
        f"SELECT i, cluster FROM ({text}) ORDER BY i"
        if style == "select"
        else f"SELECT i, {text} FROM large ORDER BY i"
    )
    with pytest.raises(EngineError, match="Max query size exceeded"):
        engine.query(query)
    assert engine.query(query, [_setting(text)]) == clusters(rules, rows)
    with pytest.raises(EngineError, match="Max query size exceeded"):
        engine.query(query)


@pytest.mark.parametrize("engine", ["clickhouse"], indirect=True)
def test_long_sql_has_more_elements_than_clickhouse_takes(engine):
    text = export(balanced_rules(2500), "sql", dialect="clickhouse", style="select")
    setting = _setting(text)
    only_length = setting.split(", max_ast_elements")[0]
    with pytest.raises(EngineError, match="AST is too big"):
        engine.query(f"EXPLAIN AST {text}", [only_length])
    assert engine.query(f"EXPLAIN AST {text}", [setting])


@pytest.mark.parametrize("style", ["where", "case", "select", "check"])
def test_short_sql_says_nothing_of_settings(style):
    assert "max_query_size" not in export(balanced_rules(100), "sql", dialect="clickhouse", style=style)
    assert "max_query_size" not in export(balanced_rules(1500), "sql", dialect="duckdb", style=style)


def _setting(text):
    return re.search(r"^-- .*: (SET max_query_size = .*)$", text, re.MULTILINE)[1]

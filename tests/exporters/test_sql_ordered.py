"""The style ``ordered``: a CASE in which a branch relies on those before it. That it gives the tree's labels is tested
where all styles are executed."""

from __future__ import annotations

import math
import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    boundary_rows,
    chain_rules,
    hostile_texts,
    make_rules,
    moderate_float,
    route,
    rule_sets,
    small_rules,
)

from shallowrules.exporters import export
from shallowrules.exporters.sql import fastest_case
from shallowrules.exporters.sql.cases import ordered_predicates
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.exporters.sql.predicates import EVERY_ROW, Predicates
from shallowrules.rules import Leaf


def branches_of(rules, dialect="postgres"):
    names = [f"c{j}" for j in range(len(rules.columns))]
    return list(ordered_predicates(rules, Predicates(names, find_dialect(dialect))))


@given(rules=rule_sets())
def test_each_leaf_has_one_branch_and_the_last_takes_all_that_is_left(rules):
    branches = branches_of(rules)
    leaves = sorted(node.cluster for node in rules.nodes if isinstance(node, Leaf))
    assert sorted(cluster for _, cluster in branches if cluster is not None) == leaves
    predicate, cluster = branches[-1]
    assert predicate == EVERY_ROW
    assert cluster is not None
    assert EVERY_ROW not in [predicate for predicate, _ in branches[:-1]]


@pytest.mark.parametrize("rules", [balanced_rules(64), chain_rules(64), balanced_rules(1000), chain_rules(1000)])
def test_no_branch_has_more_conditions_than_the_logarithm_of_the_leaves(rules):
    most = math.log2((len(rules.nodes) + 1) / 2)
    for predicate, _ in branches_of(rules, "ansi"):
        assert len(set(re.findall(r'"c\d+"', predicate))) <= most + 1
        assert predicate.count(" AND ") <= 2 * most


@pytest.mark.parametrize("dialect", ["postgres", "sqlite", "duckdb", "mysql", "clickhouse"])
@pytest.mark.parametrize("rules", [balanced_rules(20), chain_rules(20)])
def test_it_is_the_shorter_case(rules, dialect):
    ordered, case = (export(rules, "sql", dialect=dialect, style=style, guards="full") for style in ("ordered", "case"))
    assert len(ordered[ordered.index("CASE") :]) < 0.75 * len(case[case.index("CASE") :])


@draws(60)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_the_fastest_case_gives_the_labels_of_the_tree(data, seed):
    rules = data.draw(rule_sets(kinds=MIXED, floats=moderate_float, categories=hostile_texts))
    rows = boundary_rows(rules, seed)
    with closing(sqlite3.connect(":memory:")) as connection:
        names = [f"c{j}" for j in range(len(rules.columns))]
        types = {"float": "REAL", "integer": "INTEGER", "text": "TEXT", "boolean": "BOOLEAN"}
        declared = ", ".join(f"{name} {types[column.type]}" for name, column in zip(names, rules.columns, strict=True))
        connection.execute(f"CREATE TABLE t ({declared})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
        columns = dict(zip((column.name for column in rules.columns), names, strict=True))
        case = fastest_case(rules, dialect="sqlite", columns=columns)
        found = connection.execute(f"SELECT {case} FROM t").fetchall()
    assert [-1 if label is None else label for (label,) in found] == [route(rules, row) for row in rows]


def test_the_fastest_case_of_a_deep_tree_is_not_as_deep():
    assert fastest_case(balanced_rules(16), dialect="sqlite").count("CASE") == 15
    assert fastest_case(chain_rules(100), dialect="sqlite").count("CASE") == 1
    assert fastest_case(balanced_rules(16), dialect="duckdb").count("CASE") == 1  # evaluates one inside another slower
    assert fastest_case(make_rules([("x", "float")], 3), dialect="sqlite") == "3"


def test_text_of_every_kind_of_branch():
    text = export(small_rules(), "sql", dialect="postgres", style="ordered", otherwise=-7)
    assert text[text.index("CASE") :].splitlines() == [
        "CASE",
        """  WHEN "x" IS NULL OR "x" = 'NaN'::FLOAT8 THEN -7""",
        """  WHEN "x" <= 0.5 THEN 0""",
        """  WHEN "i" IS NULL OR "i" = 'NaN'::FLOAT8 THEN -7""",
        """  WHEN "i" <= 3 THEN 1""",
        "  ELSE 2",
        "END",
    ]
    single = export(make_rules([("x", "float")], 3), "sql", style="ordered")
    assert single[single.index("CASE") :].splitlines() == ["CASE", "  WHEN 1 = 1 THEN 3", "END"]


def test_an_imputed_value_needs_no_branch_of_its_own():
    rules = make_rules([("c", "text"), ("b", "boolean")], (0, "u", 0, (1, True, 1, 2)))
    rules = replace(rules, columns=tuple(replace(c, imputed=c.values[0]) for c in rules.columns))
    text = export(rules, "sql", dialect="sqlite", style="ordered")
    assert '"c" IS NULL OR "c"' not in text
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (c TEXT, b)")
        rows = [("u", True), ("v", True), ("v", False), (None, None), ("v", None), ("v", "maybe"), ("v", 2), (None, 2)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        found = [label for (label,) in connection.execute(f"SELECT {text} FROM t")]
        case = [
            label
            for (label,) in connection.execute(f"SELECT {export(rules, 'sql', dialect='sqlite', style='case')} FROM t")
        ]
    assert found == case
    assert found[:3] == [0, 1, 2]
    assert found[5:7] == [None, None]  # neither true nor false, and not missing


@pytest.mark.services
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
@pytest.mark.parametrize("options", [{}, {"otherwise": -3}, {"cluster_as": "name"}])
def test_spark_gets_several_cases_of_a_long_one(engine, options):
    assert export(balanced_rules(40), "sql", dialect="spark", style="ordered").count("CASE") == 1
    rules = chain_rules(150)
    rows = [(i, None if i % 9 == 0 else i - 5.0) for i in range(170)]
    text = export(rules, "sql", dialect="spark", style="ordered", **options)
    assert text.count("CASE") == 2
    one_over = export(chain_rules(100), "sql", dialect="spark", style="ordered", **options)
    assert one_over.count("CASE") == 1  # and the last branch alone
    engine.query(f"SELECT {one_over} FROM (SELECT 1.5D AS x0)")
    assert len({node.cluster for node in rules.nodes if isinstance(node, Leaf)}) > 1
    engine.create("long", [("i", "INT"), (rules.columns[0].name, "DOUBLE")], rows)
    try:
        found = {int(i): label for i, label in engine.query(f"SELECT i, {text} FROM long")}
    finally:
        engine.drop("long")
    nothing = options.get("otherwise")
    wanted = {i: nothing if x is None else route(rules, (x,)) for i, x in rows}
    if options.get("cluster_as") == "name":
        assert found == {i: None if label is None else str(label) for i, label in wanted.items()}
    else:
        assert {i: None if label is None else int(label) for i, label in found.items()} == wanted


@pytest.mark.parametrize("style", ["check", "drift"])
def test_rows_that_get_what_is_said_in_place_of_a_cluster_are_counted_as_without_one(style):
    rules = small_rules()
    rows = boundary_rows(rules, 3)
    counts = []
    for otherwise in (None, -9):
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE TABLE data (x REAL, i INTEGER)")
            connection.executemany("INSERT INTO data VALUES (?, ?)", rows)
            counts.append(
                connection.execute(export(rules, "sql", dialect="sqlite", style=style, otherwise=otherwise)).fetchall()
            )
    assert counts[0] == counts[1]
    assert counts[0]

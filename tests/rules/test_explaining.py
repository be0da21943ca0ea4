"""Why a row has its cluster: the conditions are those of its rule, and the change that is shown moves it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import MIXED, as_columns, boundary_rows, make_rules, route, rule_sets, small_rules, texts

from shallowrules import ExplainableKMeans
from shallowrules.rules import Cut, Membership, RuleSet

FRESH = "a category that training never had"


def candidates(rules: RuleSet, index: int) -> list:
    """Return every value of a column that a tree of such nodes tells apart."""
    column = rules.columns[index]
    asked = [node for node in rules.nodes if isinstance(node, Cut | Membership) and node.column == index]
    if column.type == "boolean":
        return [True, False]
    if column.type == "text":
        return [*{value for node in asked for value in node.values}, FRESH]
    if column.type == "integer":
        return [cut.threshold + step for cut in asked for step in (0, 1) if cut.threshold + step < 2**63]
    return [value for cut in asked for value in (float(cut.threshold), math.nextafter(cut.threshold, math.inf))]


def distance(rules: RuleSet, index: int, value, other) -> float:
    column = rules.columns[index]
    if not column.is_numeric:
        return 1.0
    span = float(column.maximum) - float(column.minimum)
    return abs(float(other) - float(value)) / (span or 1.0)


@draws(150)
@given(rule_sets(kinds=MIXED, floats=st.floats(-1e6, 1e6), cluster_names=texts.filter(str.strip)), st.integers(0, 999))
def test_the_move_gives_the_cluster_that_it_says_and_none_is_smaller(rules, seed):
    rows = boundary_rows(rules, seed, 12)
    labels = rules.assign(as_columns(rules, rows)).tolist()
    for row, label, found in zip(rows, labels, rules.explain(as_columns(rules, rows)), strict=True):
        if label == -1:
            assert (found.cluster, found.rule, found.move) == (None, None, None)
            value = row[rules.columns.index(found.missing)]
            assert value is None or value != value
            continue
        assert found.cluster.index == found.rule.cluster == label
        assert tuple(step.condition for step in found.steps) == found.rule.conditions
        moves = []
        for index in rules.tested_columns:
            if row[index] is None or row[index] != row[index]:
                continue
            for value in candidates(rules, index):
                changed = [value if i == index else other for i, other in enumerate(row)]
                if route(rules, changed) not in (label, -1):
                    moves.append(distance(rules, index, row[index], value))
        finite = [move for move in moves if math.isfinite(move)]
        if found.move is None:
            assert not finite
            continue
        index = rules.columns.index(found.move.column)
        assert found.move.value == row[index]
        to = FRESH if found.move.to is None else found.move.to
        changed = [to if i == index else other for i, other in enumerate(row)]
        assert rules.assign(as_columns(rules, [changed]))[0] == found.move.cluster.index != label
        assert found.move.distance == distance(rules, index, row[index], to)
        assert found.move.distance <= min(finite) * (1 + 1e-12)


def test_the_words():
    rules = small_rules()
    several, missing, far = rules.explain({"x": [2.0, math.nan, math.inf], "i": [4, 4, -(2**63)]})
    assert str(several).splitlines() == [
        "cluster 2",
        "  x is 2: x > 0.5",
        "  i is 4: i > 3",
        "the smallest change of one value that would move it: i from 4 to 3 makes it cluster 1",
    ]
    assert str(missing).splitlines() == ["in no cluster: x is missing, and the tree tests it"]
    assert "i from -9223372036854775808 to 4 makes it cluster 2" in str(far)
    assert "x from 0.5 to just above 0.5 makes it cluster 2" in str(rules.explain({"x": [0.5], "i": [4]})[0])
    [only] = make_rules([("x", "float")], 0).explain({"x": [1.0]})
    assert str(only) == "cluster 0: every row\nno change of one value alone would move it to another cluster"


def test_whole_numbers_beyond_64_bits_with_a_sign_move_as_others_do():
    values = np.array([2**63, 2**63 + 2048, 2**64 - 2048, 2**64 - 1], dtype=np.uint64)
    rules = ExplainableKMeans(clusterer=["low", "low", "high", "high"]).fit({"n": values}).rules_
    [node, *_] = rules.nodes
    moves = [found.move.to for found in rules.explain({"n": values})]
    assert moves == [node.threshold + 1, node.threshold + 1, node.threshold, node.threshold]
    assert node.threshold >= 2**63


def test_categories_imputed_values_and_names_that_would_break_a_line():
    rules = make_rules([("k\nk", "text")], (0, "a", 0, 1)).with_names({1: "oth\x1ber"})
    assert "k k is 'b': k k <> 'a'\nthe smallest" in str(rules.explain({"k\nk": ["b"]})[0])
    assert "to 'a' makes it cluster 0" in str(rules.explain({"k\nk": ["b"]})[0])
    assert "\x1b" not in str(rules.explain({"k\nk": ["a"]})[0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    rules = make_rules([("x", "float"), ("n=m", "integer"), ("city", "text"), ("idle", "float")], TREE)
    rules.to_json("rules.json")
    return tmp_path


TREE = (0, 0.5, 0, (1, 3, 1, (2, "Bonn, Rhine", 2, 3)))


def test_rows_that_are_written_out(folder):
    shown = call("explain", "rules.json", "--row", 'x=2.5,n=m=7,"city=Bonn, Rhine",idle=1').stdout
    assert shown.startswith("cluster 2\n  x is 2.5: x > 0.5\n  n=m is 7: n=m > 3\n  city is 'Bonn, Rhine': city =")
    assert "move it: x from 2.5 to 0.5 makes it cluster 0" in shown
    shown = call("explain", "rules.json", "--row", "x=0", "--row", "x=2").stdout
    assert shown == (
        "cluster 0\n  x is 0: x <= 0.5\nno change of one value alone would move it to another cluster\n\n"
        "in no cluster: n=m is missing, and the tree tests it\n  x is 2: x > 0.5\n"
    )


def test_rows_of_a_file(folder):
    (folder / "t.csv").write_text('x,n=m,city\n0.1,1,a\n2,5,"Bonn, Rhine"\n2,5,b\n')
    shown = call("explain", "rules.json", "t.csv", "--number", "3", "--number", "1").stdout.split("\n\n")
    assert [text.splitlines()[0] for text in shown] == ["cluster 3", "cluster 0"]
    assert "--number 4: the table has 3 rows" in refused("explain", "rules.json", "t.csv", "--number", "4", status=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no row is given"),
        (["t.csv"], "--number says which row of TABLE"),
        (["t.csv", "--row", "x=1"], "no row is given"),
        (["--row", "x=1", "--number", "1"], "--number says which row of TABLE"),
        (["--row", "y=1"], "'y=1' is not COLUMN=VALUE with a column of the rules; they test 'x', 'n=m', 'city'"),
        (["--row", "x=1,x=2"], "--row gives column 'x' twice"),
        (["--row", "x=one"], "'one' is not a number, and column 'x' holds numbers"),
    ],
)
def test_refusals(folder, arguments, message):
    assert message in " ".join(refused("explain", "rules.json", *arguments, status=2).split())

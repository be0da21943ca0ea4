"""The rules as frames: their conditions give the labels of `assign`, in every library."""

from __future__ import annotations

import json

import narwhals.stable.v2 as nw
import pytest
from draws import draws, few
from hypothesis import given
from hypothesis import strategies as st
from rulesets import MIXED, TIMED, as_columns, boundary_rows, example_rules, make_rules, rule_sets, zero_texts

from shallowrules.rules import RuleSet
from shallowrules.tables.frames import BACKENDS
from shallowrules.tables.times import time_of

OWN = [
    "cluster",
    "name",
    "rule",
    "column",
    "kind",
    "lower",
    "upper",
    "values",
    "condition",
    "rows",
    "share",
    "precision",
    "recall",
]


def records(frame) -> list[dict]:
    """Return the rows of a frame, None where a value is missing."""
    columns = nw.from_native(frame, eager_only=True).iter_columns()
    plain = {
        column.name: [
            None if missing else value
            for value, missing in zip(column.to_list(), column.is_null().to_list(), strict=True)
        ]
        for column in columns
    }
    return [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]


def is_met(record: dict, value) -> bool:
    """Whether a value meets the condition in a row of the frame."""
    if value is None or value != value:
        return False
    if record["kind"] != "between":
        text = value if isinstance(value, str) else str(bool(value)).lower()
        return (text in record["values"]) == (record["kind"] == "one of")
    lower = [each for name, each in record.items() if name.startswith("lower") and each is not None]
    upper = [each for name, each in record.items() if name.startswith("upper") and each is not None]
    assert max(len(lower), len(upper)) == 1
    found = time_of(value)

    def number(bound):
        if found is None:
            return bound
        kind, number = time_of(bound)
        return number // 86_400_000_000 if found[0] == "date" != kind else number  # pandas has days as midnights

    own = value if found is None else found[1]
    return all(own > number(bound) for bound in lower) and all(own <= number(bound) for bound in upper)


def labels_by(frame, rules: RuleSet, rows) -> list[int]:
    """Return the label of each row by the conditions of the frame."""
    by_rule: dict[int, list[dict]] = {}
    for record in records(frame):
        by_rule.setdefault(record["rule"], []).append(record)
    assert list(by_rule) == list(range(len(rules)))
    names = [column.name for column in rules.columns]
    found = []
    for row in rows:
        value = dict(zip(names, row, strict=True))
        met = [
            conditions[0]["cluster"]
            for conditions in by_rule.values()
            if all(one["kind"] == "every row" or is_met(one, value[one["column"]]) for one in conditions)
        ]
        assert len(met) <= 1
        found.append(met[0] if met else -1)
    return found


@pytest.mark.parametrize("backend", few(BACKENDS, 3))
@draws(100)
@given(rule_sets(kinds=(*MIXED, *TIMED), categories=zero_texts | st.text("ab", max_size=2)), st.integers(0, 2**32))
def test_the_conditions_of_the_frame_give_the_labels_of_assign(backend, rules, seed):
    rows = boundary_rows(rules, seed)
    frame = rules.to_frame(backend)
    assert labels_by(frame, rules, rows) == rules.assign(as_columns(rules, rows)).tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_columns_are_those_that_are_documented(backend):
    rules = example_rules()
    frame = nw.from_native(rules.to_frame(backend), eager_only=True)
    assert frame.columns == OWN
    assert len(frame) == sum(len(rule.conditions) for rule in rules)
    wanted = dict.fromkeys(("cluster", "rule", "rows"), nw.Int64)
    wanted |= dict.fromkeys(("name", "column", "kind", "condition"), nw.String)
    wanted |= dict.fromkeys(("lower", "upper", "share", "precision", "recall"), nw.Float64)
    assert {name: frame.schema[name] for name in wanted} == wanted
    for record in records(rules.to_frame(backend)):
        rule = rules[record["rule"]]
        assert (record["cluster"], record["rows"], record["share"]) == (rule.label, rule.rows, rule.share)
        assert record["condition"] in map(str, rule.conditions)


def test_bounds_that_no_double_holds_have_columns_of_their_own():
    big = 2**53 + 1
    rules = make_rules([("i", "integer"), ("u", "duration")], (0, big, (0, 4, 0, 1), (1, 5, 0, 1)))
    frame = rules.to_frame()
    bounds = [name for name in frame.columns if name not in OWN]
    assert bounds == ["lower_duration", "upper_duration", "lower_integer", "upper_integer"]
    [between] = [one for one in records(frame) if one["condition"] == f"4 < i <= {big}"]
    assert (between["lower"], between["upper"], between["lower_integer"], between["upper_integer"]) == (
        4,
        None,
        None,
        big,
    )


def test_a_rule_that_every_row_meets_has_a_row():
    [only] = records(make_rules([("x", "float")], 3).to_frame("polars"))
    assert (only["cluster"], only["rule"], only["kind"], only["column"]) == (3, 0, "every row", None)
    assert (only["condition"], only["lower"], only["values"]) == ("every row", None, None)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_frame_of_the_clusters(backend):
    rules = example_rules()
    found = records(rules.clusters_frame(backend))
    assert [one["cluster"] for one in found] == [cluster.label for cluster in rules.by_size]
    for one, cluster in zip(found, rules.by_size, strict=True):
        for name in ("name", "note", "rows", "weight", "share", "precision", "recall", "total"):
            assert one[name] == getattr(cluster, name)
        own = rules.rules_of(cluster.index)
        assert (one["n_rules"], one["rules"]) == (len(own), " or ".join(map(str, own)))


def test_the_summary_is_figures_alone():
    rules = example_rules()
    found = rules.summary()
    assert json.loads(json.dumps(found)) == found
    assert all(isinstance(figure, int | float) for figure in found.values())
    assert found["n_rules"] == len(rules)
    assert found["n_clusters"] == len(rules.clusters)
    assert found["n_columns"] == len(rules.tested_columns)
    assert found["n_rows"] == sum(rule.rows for rule in rules)
    shares = [cluster.share for cluster in rules.clusters]
    assert (found["smallest"], found["largest"]) == (min(shares), max(shares))

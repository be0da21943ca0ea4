"""One row by name: the label and the explanation are those of the row in a table."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import MIXED, TIMED, as_columns, boundary_rows, make_rules, rule_sets, small_rules, zero_texts

from shallowrules.errors import DataError
from shallowrules.tables.given import column_of


@draws(150)
@given(rule_sets(kinds=(*MIXED, *TIMED), categories=zero_texts | st.text("ab", max_size=2)), st.integers(0, 2**32))
def test_a_row_has_the_label_and_the_explanation_of_its_table(rules, seed):
    rows = boundary_rows(rules, seed, 8)
    labels = rules.assign(as_columns(rules, rows)).tolist()
    explained = rules.explain(as_columns(rules, rows))
    for row, label, explanation in zip(rows, labels, explained, strict=True):
        named = dict(zip((column.name for column in rules.columns), row, strict=True))
        found = rules.assign(named)
        assert (type(found), found) == (int, label)
        assert str(rules.explain_row(named)) == str(explanation)
        data = explanation.to_dict()
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert data["cluster"] == (None if label == -1 else label)
        assert [step["condition"] for step in data["steps"]] == [str(step.condition) for step in explanation.steps]
        assert (data["move"] is None) == (explanation.move is None)


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), Decimal(2), True, np.True_],
    ids=lambda value: type(value).__name__,
)
def test_single_values_of_every_type(value):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    assert rules.assign({"x": value}) == 1
    with pytest.raises(DataError, match="column 'x' must hold text"):
        make_rules([("x", "text")], (0, "a", 0, 1)).assign({"x": value})


@pytest.mark.parametrize("value", [b"a", object(), {"a": 1}])
def test_single_values_of_another_type_are_refused(value):
    with pytest.raises(DataError, match="'x'"):
        make_rules([("x", "float")], (0, 0.5, 0, 1)).assign({"x": value})


@pytest.mark.parametrize("value", [None, math.nan, np.nan, pd.NA, pd.NaT, np.ma.masked, np.datetime64("NaT")])
@pytest.mark.parametrize("kind", ["float", "integer", "text", "boolean", "date", "timestamptz", "duration"])
def test_a_missing_value_matches_no_rule(kind, value):
    threshold = {"text": "a", "boolean": True}.get(kind, 3)
    rules = make_rules([("x", kind)], (0, threshold, 0, 1))
    assert rules.assign({"x": value}) == -1
    assert rules.explain_row({"x": value}).to_dict()["missing"] == "x"


@pytest.mark.parametrize(
    "value",
    [date(2024, 3, 1), datetime(2024, 3, 1), pd.Timestamp(2024, 3, 1), np.datetime64("2024-03-01"), "2024-03-01"],
)
def test_times(value):
    rules = make_rules([("day", "date")], (0, 19_782, 0, 1))  # 2024-02-29
    assert rules.assign({"day": value}) == 1
    [step] = rules.explain_row({"day": value}).to_dict()["steps"]
    assert step == {"column": "day", "value": "2024-03-01", "condition": "day > 2024-02-29"}
    assert rules.explain_row({"day": value}).to_dict()["move"]["to"] == "2024-02-29"


def test_infinity_is_text_in_data():
    data = make_rules([("x", "float")], (0, 0.5, 0, 1)).explain_row({"x": math.inf}).to_dict()
    assert (data["steps"][0]["value"], data["move"]) == ("inf", None)


def test_names_that_are_integers_are_names():
    """Names count, not positions: the columns are in another order."""
    rules = make_rules([("1", "float"), ("0", "float")], (0, 0.5, 0, 1))
    assert (rules.assign({0: 0.0, 1: 9.0}), rules.assign({1: 0.0, 0: 9.0})) == (1, 0)
    assert rules.explain_row({0: 0.0, 1: 9.0}).cluster.index == 1


def test_a_mapping_of_columns_stays_a_table():
    rules = small_rules()
    columns = {"x": [0.1], "i": np.array([1])}
    assert rules.assign(columns).tolist() == [0]
    assert rules.assign({"x": column_of("x", [0.1]), "i": column_of("i", [1])}).tolist() == [0]
    assert rules.assign({"x": pd.Series([0.1]), "i": range(1)}).tolist() == [0]


@pytest.mark.parametrize("call", ["assign", "explain_row"])
def test_single_values_beside_columns_are_refused_by_name(call):
    with pytest.raises(DataError, match="'i' has a single value and 'x' a column of values"):
        getattr(small_rules(), call)({"x": [0.1, 0.2], "i": 1})


def test_an_empty_mapping_is_a_row():
    one = make_rules([("x", "float")], 0)
    assert (type(one.assign({})), one.assign({})) == (int, 0)
    assert one.explain_row({}).cluster.index == 0
    for call in (small_rules().assign, small_rules().explain_row):
        with pytest.raises(DataError, match=r"test columns 'x', 'i', which .* have; it has no columns$"):
            call({})


def test_what_is_not_a_row():
    rules = small_rules()
    with pytest.raises(DataError, match=r"the rules test column 'i', which the table does not have; it has: 'x'"):
        rules.explain_row({"x": 0.1})
    frame = pd.DataFrame({"x": [0.1], "i": [1]})
    for other in (frame, frame.iloc[0], {"x": [0.1], "i": [1]}, [0.1, 1]):
        with pytest.raises(DataError, match="a row must be a mapping from column name to a single value"):
            rules.explain_row(other)
    assert rules.assign(frame.iloc[0].to_dict()) == 0

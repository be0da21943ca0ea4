"""Conditions: their words, combinations of two, and the visitor that tells the kinds apart."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rulesets import MIXED, boundary_rows, make_rules, route, rule_sets

from shallowrules.rules import (
    Between,
    Condition,
    ConditionVisitor,
    Cut,
    Membership,
    NoneOf,
    OneOf,
    RuleColumn,
    RuleSet,
)
from shallowrules.rules.conditions import both, either, is_empty

# --- words


def test_bounds_of_zero_are_bounds():
    column = RuleColumn("x", "integer", 0.0, -1, 1)
    assert str(Between(0, column, lower=0)) == "x > 0"
    assert str(Between(0, column, upper=0)) == "x <= 0"
    assert str(Between(0, column, 0, 0)) == "0 < x <= 0"


def test_what_rules_ask_of_categories():
    columns = [("c", "text"), ("flag", "boolean"), ("size", "text")]
    tree = (0, "A", (1, True, 0, 1), (0, "it's", 2, (0, "C", 3, (2, ("S", "M"), (2, ("S",), 4, 0), (0, "E", 1, 2)))))
    found = {str(rule): (rule.size, rule.depth) for rule in make_rules(columns, tree)}
    assert found == {
        "c = 'A' and flag = true": (2, 2),
        "c = 'A' and flag = false": (2, 2),
        # "=" makes the exclusion of 'A' redundant to read; the paper's measure counts a column for each category
        "c = 'it''s'": (2, 2),
        "c = 'C'": (3, 3),
        "c not in ('A', 'it''s', 'C') and size = 'S'": (4, 5),
        "c not in ('A', 'it''s', 'C') and size = 'M'": (5, 5),
        "c = 'E' and size not in ('S', 'M')": (5, 5),
        "c not in ('A', 'it''s', 'C', 'E') and size not in ('S', 'M')": (5, 5),
    }


def test_what_contradicts_itself_matches_no_row():
    rules = make_rules([("c", "text")], (0, "A", (0, "B", 0, 1), 2))
    assert rules.assign({"c": ["A", "B", "C", ""]}).tolist() == [1, 2, 2, 2]
    assert [str(rule) for rule in rules if rule.cluster == 0] == ["c in ()"]


@given(st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3))
def test_a_condition_is_empty_where_no_number_meets_it(lower, upper):
    condition = Between(0, RuleColumn("n", "integer", 0.0, -3, 3), lower, upper)
    numbers = [n for n in range(-5, 6) if (lower is None or n > lower) and (upper is None or n <= upper)]
    assert is_empty(condition) == (not numbers)


# --- two conditions at once

COLUMNS = {
    "text": RuleColumn("c", "text", None, None, None, ("A", "B", "C", ""), (0.4, 0.3, 0.2, 0.1)),
    "boolean": RuleColumn("f", "boolean", None, None, None, (True, False), (0.6, 0.4)),
    "integer": RuleColumn("i", "integer", 0.0, -9, 9),
}


class Holds(ConditionVisitor[bool]):
    """Whether a value meets a condition, by Python's own operators."""

    def __init__(self, value):
        self.value = value

    def between(self, condition):
        above = condition.lower is None or self.value > condition.lower
        return above and (condition.upper is None or self.value <= condition.upper)

    def one_of(self, condition):
        return self.value in condition.values

    def none_of(self, condition):
        return self.value not in condition.values


@st.composite
def conditions_and_values(draw):
    """Draw a column's conditions, those on one path, and a value."""
    kind = draw(st.sampled_from(sorted(COLUMNS)))
    column = COLUMNS[kind]
    nodes = []
    for _ in range(draw(st.integers(1, 5))):
        if kind == "integer":
            node = Cut(0, draw(st.integers(-9, 9)), 1, 2)
        else:
            values = draw(st.lists(st.sampled_from(column.values), min_size=1, unique=True))
            node = Membership(0, tuple(values), 1, 2)
        nodes.append((node, draw(st.booleans())))
    value = draw(st.integers(-10, 10) if kind == "integer" else st.sampled_from([*column.values, "none of these"][-5:]))
    if kind == "boolean":
        value = draw(st.booleans())
    return column, nodes, value


@given(conditions_and_values())
def test_what_two_conditions_have_in_common_holds_where_either_does(case):
    column, nodes, value = case
    conditions = [node.condition(column, goes_left) for node, goes_left in nodes]
    first, second = conditions[0], conditions[-1]
    found = either(first, second)
    if Holds(value)(first) or Holds(value)(second):
        assert found is None or Holds(value)(found)
    assert either(first, first) in (first, None)
    if not isinstance(found, Between | None):
        assert Holds(value)(found) == (Holds(value)(first) or Holds(value)(second))


@given(conditions_and_values())
def test_a_path_is_met_where_each_of_its_nodes_is(case):
    column, nodes, value = case
    expected, found = True, None
    for node, goes_left in nodes:
        left = value <= node.threshold if isinstance(node, Cut) else value in node.values
        expected = expected and left == goes_left
        condition = node.condition(column, goes_left)
        assert Holds(value)(condition) == (left == goes_left)
        found = condition if found is None else both(found, condition)
        assert (found.feature, found.column) == (0, column)
        assert Holds(value)(found) == expected
    if not isinstance(found, Between):
        assert len(set(found.values)) == len(found.values)
    assert not (column.type == "boolean" and isinstance(found, NoneOf))  # a truth value is one of two


def test_numbers_and_categories_have_nothing_in_common():
    with pytest.raises(TypeError, match="columns of different types"):
        both(Between(0, COLUMNS["integer"], upper=1), OneOf(1, COLUMNS["text"], ("A",)))


# --- the one place that tells kinds apart


class Name(ConditionVisitor[str]):
    def between(self, condition):
        return "between"

    def one_of(self, condition):
        return "one of"

    def none_of(self, condition):
        return "none of"


def test_a_visitor_is_told_the_kind():
    text = COLUMNS["text"]
    conditions = [Between(0, COLUMNS["integer"], upper=1), OneOf(1, text, ("A",)), NoneOf(1, text, ("A",))]
    assert list(map(Name(), conditions)) == ["between", "one of", "none of"]
    assert {type(condition) for condition in conditions} == set(get_args(Condition))


@pytest.mark.parametrize("kind", ["between", "one_of", "none_of"])
def test_a_visitor_that_forgets_a_kind_cannot_be_made(kind):
    methods = {name: getattr(Name, name) for name in ("between", "one_of", "none_of") if name != kind}
    with pytest.raises(TypeError, match=f"abstract method '?{kind}"):
        type("Forgetful", (ConditionVisitor,), methods)()


@given(rule_sets(kinds=MIXED))
def test_rules_hold_the_conditions_of_their_path(rules):
    """Conditions, tree and document: a row meets the rule of the leaf that it reaches, and no other."""
    again = RuleSet.from_dict(json.loads(rules.to_json()))
    for row in boundary_rows(rules, 0, 10):
        if any(value is None or value != value for value in row):
            continue
        for each in (rules, again):
            met = [rule.cluster for rule in each if all(Holds(row[c.feature])(c) for c in rule.conditions)]
            assert met == [route(rules, row)]

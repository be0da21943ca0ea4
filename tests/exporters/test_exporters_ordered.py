"""The list in which each rule relies on those before it: for any form, and as the sheet shows it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    boundary_rows,
    chain_rules,
    example_rules,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
    text_rules,
)
from structures import MARKDOWN

from shallowrules.errors import OptionError
from shallowrules.exporters import export
from shallowrules.exporters.decision_list import ordered_branches
from shallowrules.rules import ConditionVisitor


class Meets(ConditionVisitor):
    """Whether a row meets a condition, as a program compares: a missing value is not equal to any other."""

    def __init__(self, row):
        self.row = [math.nan if value is None else value for value in row]

    def between(self, condition):
        value = self.row[condition.feature]
        above = condition.lower is None or value > condition.lower
        return above and (condition.upper is None or value <= condition.upper)

    def one_of(self, condition):
        return self.row[condition.feature] in condition.values

    def none_of(self, condition):
        return self.row[condition.feature] not in condition.values


def cluster_by_list(rules, row):
    """Return the cluster of the first branch that holds."""
    meets = Meets(row)
    for branch in ordered_branches(rules):
        if all(map(meets, branch.conditions)):
            if branch.without is None:
                return branch.cluster
            if row[branch.without] is None or row[branch.without] != row[branch.without]:
                return -1
    raise AssertionError("the last branch takes every row")


@draws(100)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_the_first_branch_that_holds_is_the_tree(rules, seed):
    for row in boundary_rows(rules, seed):
        assert cluster_by_list(rules, row) == route(rules, row)


def steps_of(rules):
    """Return the lines of the sheet's list, as texts of their cells."""
    tokens = MARKDOWN.parse(export(rules, "markdown", style="ordered"))
    cells, rows, seen = [], [], False
    for token, after in pairwise(tokens):
        if token.type == "th_open" and after.content == "If":
            seen = True
        if seen and token.type == "tr_open":
            cells = []
        if seen and token.type == "td_open":
            cells.append("".join(child.content for child in after.children))
        if seen and token.type == "tr_close" and cells:
            rows.append(cells)
        if seen and token.type == "table_close":
            break
    return rows


@draws(50)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts))
def test_the_sheet_shows_every_branch_in_its_order(rules):
    steps, branches = steps_of(rules), list(ordered_branches(rules))
    assert len(steps) == len(branches)
    titles = {cluster.index: cluster.title for cluster in rules.clusters}
    by_leaf = {rule.leaf: rule for rule in rules}
    for number, (step, branch) in enumerate(zip(steps, branches, strict=True), 1):
        place, words, cluster, rows, share = step
        assert place == str(number)
        assert cluster == ("none" if branch.cluster is None else titles[branch.cluster])
        assert words.count(" is ") >= len(branch.conditions)
        assert ("has no value" in words) >= (branch.without is not None)
        if branch.leaf is not None:
            assert rows == f"{by_leaf[branch.leaf].rows:,}"
        assert bool(rows) == bool(share) == (branch.leaf is not None)


def test_the_list_of_the_example():
    rules = make_rules([("x", "float"), ("n", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))
    assert [step[1:3] for step in steps_of(rules)] == [
        ["x has no value", "none"],
        ["x is at most 0.5", "0"],
        ["n has no value", "none"],
        ["n is at most 3", "1"],
        ["otherwise", "2"],
    ]


def test_an_imputed_value_is_never_missing():
    rules = text_rules(0.5, imputed=3.0)
    assert [step[1:3] for step in steps_of(rules)] == [["n is at most 0.5", "0"], ["otherwise", "1"]]
    assert "A missing value counts as 3 in **n**;" in export(rules, "markdown", style="ordered")
    assert steps_of(make_rules([("x", "float")], 3))[0][1:3] == ["always", "3"]


@pytest.mark.parametrize("rules", [example_rules(), balanced_rules(100), chain_rules(100)])
def test_the_matching_line_has_fewer_conditions_than_the_rule(rules):
    branches = {branch.leaf: branch for branch in ordered_branches(rules) if branch.leaf is not None}
    of_lines = sum(rule.share * len(branches[rule.leaf].conditions) for rule in rules)
    assert of_lines < sum(rule.share * len(rule.conditions) for rule in rules)


def test_a_style_that_there_is_not():
    with pytest.raises(OptionError, match="style"):
        export(example_rules(), "markdown", style="nested")

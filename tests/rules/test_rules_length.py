"""Rules that are too long to be written or held are refused before they fill the memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rulesets import balanced_rules, chain_rules, example_of_categories, example_rules, make_rules

from shallowrules.errors import ExportError, RulesFormatError
from shallowrules.exporters import export
from shallowrules.exporters.sql import cluster_predicates
from shallowrules.rules import RuleSet
from shallowrules.rules.nodes import rules_length


def long_chain(n_columns: int) -> RuleSet:
    """Return a tree as deep as the number of its columns, each cut on a different one."""
    tree: Any = 0
    for column in reversed(range(n_columns)):
        tree = (column, 0.5, column % 2, tree)
    return make_rules([(f"x{j}", "float") for j in range(n_columns)], tree)


@pytest.mark.parametrize("name", ["sql", "python", "markdown"])
def test_rules_that_are_too_long_are_refused_before_they_are_written(name, monkeypatch):
    rules = long_chain(30)
    monkeypatch.setattr("shallowrules.exporters.context.MAX_LENGTH", rules_length(rules.nodes, rules.columns))
    assert export(rules, name)
    monkeypatch.setattr("shallowrules.exporters.context.MAX_LENGTH", rules_length(rules.nodes, rules.columns) - 1)
    with pytest.raises(ExportError, match=r"^31 rules would have about 13,\d{3} characters, and the limit is 13,\d{3}"):
        export(rules, name)
    with pytest.raises(ExportError, match="the limit is"):
        cluster_predicates(rules)


def test_the_length_of_rules_is_about_that_of_their_sql():
    for rules in (long_chain(60), balanced_rules(500), chain_rules(400), example_of_categories(), example_rules()):
        length = sum(map(len, cluster_predicates(rules).values()))
        assert 0.4 * length <= rules_length(rules.nodes, rules.columns) + 100 <= 2.5 * length + 100


def test_rules_that_would_fill_the_memory_are_refused_when_they_are_loaded(monkeypatch):
    rules = long_chain(30)
    monkeypatch.setattr("shallowrules.rules.validation.MAX_LENGTH", 10_000)
    with pytest.raises(RulesFormatError, match=r"its rules have about 13,\d{3} characters together"):
        replace(rules)

"""The rules of a tree: their content and order, and how they are shown, copied and compared."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    as_columns,
    boundary_rows,
    chain_rules,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    rule_sets,
    small_rules,
)

from shallowrules.errors import DataError
from shallowrules.rules import Cut, Leaf, RuleSet

TWO_LEAVES = (0, 0.5, 0, 1)


def nodes_on_path(rules, leaf):
    """Return (column, direction, value) of the cuts above a leaf, top first."""
    path = []
    while leaf:
        [parent] = [
            i for i, node in enumerate(rules.nodes) if not isinstance(node, Leaf) and leaf in (node.left, node.right)
        ]
        node = rules.nodes[parent]
        path.append((node.column, "<=" if node.left == leaf else ">", node.threshold))
        leaf = parent
    return path[::-1]


@given(rule_sets())
def test_a_rule_is_its_path_without_what_is_redundant(rules):
    assert sorted(rule.leaf for rule in rules) == [i for i, node in enumerate(rules.nodes) if isinstance(node, Leaf)]
    for rule in rules:
        path = nodes_on_path(rules, rule.leaf)
        leaf = rules.nodes[rule.leaf]
        assert (rule.cluster, rule.rows, rule.weight) == (leaf.cluster, leaf.rows, leaf.weight)
        assert rule.share == leaf.weight / rules.statistics.weight
        assert rule.depth == len(path)
        assert rule.size == len({(column, direction) for column, direction, _ in path})
        assert [condition.feature for condition in rule.conditions] == list(dict.fromkeys(cut[0] for cut in path))
        for condition in rule.conditions:
            here = [cut for cut in path if cut[0] == condition.feature]
            assert condition.column == rules.columns[condition.feature]
            assert condition.upper == min((cut[2] for cut in here if cut[1] == "<="), default=None)
            assert condition.lower == max((cut[2] for cut in here if cut[1] == ">"), default=None)


@given(rule_sets())
def test_rules_come_largest_cluster_first(rules):
    weight = {cluster.index: cluster.weight for cluster in rules.clusters}
    keys = [(-weight[rule.cluster], rule.cluster, -rule.weight, rule.leaf) for rule in rules]
    assert keys == sorted(keys)
    assert list(rules) == list(rules.rules)
    assert len(rules) == len(rules.rules)
    assert [cluster.index for cluster in rules.by_size] == list(dict.fromkeys(rule.cluster for rule in rules))
    for cluster in rules.clusters:
        assert rules.rules_of(cluster.index) == tuple(rule for rule in rules if rule.cluster == cluster.index)
    assert rules.rules_of(99) == ()
    tested = {node.column for node in rules.nodes if isinstance(node, Cut)}
    assert rules.tested_columns == tuple(sorted(tested))


def test_printed_one_rule_per_line():
    rules = make_rules([("alcohol", "float"), ("order", "integer")], (0, 12.85, (1, 1200, (0, 3.5, 2, 0), 2), 1))
    *lines, last = str(rules).split("\n")
    assert {str(rule) for rule in rules} == {
        "alcohol <= 3.5 and order <= 1200",
        "3.5 < alcohol <= 12.85 and order <= 1200",
        "alcohol <= 12.85 and order > 1200",
        "alcohol > 12.85",
    }
    for rule, line in zip(rules, lines, strict=True):
        assert line == f"cluster {rule.cluster}: {rule}  ({rule.rows} rows, {rule.share:.1%})"
    assert last == (
        "cost 1.029 times that of the clustering without rules; conditions per row 2.15, questions per row 2.22"
    )
    assert repr(rules) == "RuleSet(4 rules, 3 clusters, 2 columns)"


@pytest.mark.slow
@given(rule_sets(names=hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_hostile_names_do_not_break_lines(rules):
    text = str(rules)
    assert text.count("\n") == len(rules)
    assert all(line.isprintable() for line in text.split("\n"))


def test_names_are_escaped_in_a_notebook():
    rules = make_rules([("<script>", "float")], TWO_LEAVES, {0: "a & b"})
    assert "&lt;script&gt;" in rules._repr_html_()
    assert "a &amp; b" in rules._repr_html_()
    assert "<script>" not in rules._repr_html_()


def test_a_tree_that_is_a_single_leaf(tmp_path):
    rules = make_rules([("x", "float")], 3)
    [rule] = rules
    assert (rule.conditions, rule.size, rule.depth, rule.share) == ((), 0, 0, 1.0)
    assert str(rules).startswith("cluster 3: every row  (1 row, 100.0%)\n")
    assert rules.tested_columns == ()
    assert rules.assign([[1.0], [np.nan]]).tolist() == [3, 3]
    assert rules.assign({"other": ["a"]}).tolist() == [3]
    rules.to_json(tmp_path / "rules.json")
    assert RuleSet.from_json(tmp_path / "rules.json") == rules


def test_equality_is_that_of_the_content():
    assert example_rules() == example_rules()
    assert example_rules() != make_rules([("x", "float")], TWO_LEAVES)
    assert make_rules([("x", "float")], TWO_LEAVES) != make_rules([("x", "float")], (0, 0.25, 0, 1))
    assert example_rules() != "rules"
    with pytest.raises(TypeError, match="unhashable"):
        hash(example_rules())


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda rules: pickle.loads(pickle.dumps(rules))])
def test_copies(again):
    rules = example_rules()
    assert len(rules.rules) == 6  # derived parts are there before the copy
    assert again(rules) == rules
    assert again(rules).rules == rules.rules


def test_a_tree_deeper_than_the_interpreters_stack(tmp_path):
    rules = chain_rules(1500)
    assert max(rule.depth for rule in rules) == 1499
    assert max(rule.size for rule in rules) == 2
    rules.to_json(tmp_path / "rules.json")
    assert RuleSet.from_json(tmp_path / "rules.json") == rules


@given(rule_sets(kinds=MIXED), st.permutations(range(5)))
def test_other_numbers_are_the_same_rules(rules, numbers):
    renumbered = rules.with_numbers(dict(enumerate(numbers)))
    rows = as_columns(rules, boundary_rows(rules, 3, 20))
    expected = [numbers[label] if label >= 0 else -1 for label in rules.assign(rows).tolist()]
    assert renumbered.assign(rows).tolist() == expected
    assert renumbered.with_numbers({number: i for i, number in enumerate(numbers)}) == rules


def test_two_clusters_do_not_get_one_number():
    with pytest.raises(DataError, match="the clusters 0 and 1 would both have the number 1"):
        small_rules().with_numbers({0: 1})


def test_no_cluster_gets_the_number_that_another_has_as_its_name():
    named = small_rules().with_names({0: "7"})
    with pytest.raises(DataError, match="cluster 0 .* '7', and cluster 1 "):
        named.with_numbers({1: 7})
    assert [cluster.title for cluster in named.with_numbers({0: 7}).clusters][-1] == "7"

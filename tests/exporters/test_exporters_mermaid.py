"""The tree as a Mermaid flowchart: its structure, and names that cannot leave their place."""

from __future__ import annotations

from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import MIXED, example_rules, hostile_names, hostile_texts, make_rules, rule_sets
from structures import read_flowchart

from shallowrules.exporters import export
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.wording import branch_label
from shallowrules.rules import Leaf


@draws(200, deadline=None)
@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_every_node_and_branch_is_there_and_every_name_in_its_place(rules):
    boxes, edges, leaves = read_flowchart(export(rules, "mermaid"))
    titles = {cluster.index: one_line(cluster.title) for cluster in rules.clusters}
    asked = {}
    for index, node in enumerate(rules.nodes):
        if isinstance(node, Leaf):
            assert leaves.pop(index).startswith(f"{titles[node.cluster]}, ")
            continue
        column = rules.columns[node.column]
        assert boxes.pop(index) == one_line(column.name)
        asked |= {
            (index, child): one_line(branch_label(node, column, left))
            for child, left in ((node.left, True), (node.right, False))
        }
    assert (boxes, leaves) == ({}, {})
    assert edges == asked


@given(name=st.text(min_size=1, max_size=6))
def test_any_character_may_be_in_a_name(name):
    boxes, _, _ = read_flowchart(export(make_rules([(name, "float")], (0, 1.0, 0, 1)), "mermaid"))
    assert list(boxes.values()) == [one_line(name)]


def test_the_direction():
    assert export(example_rules(), "mermaid", direction="TD").startswith("flowchart TD\n")

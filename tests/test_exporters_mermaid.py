"""The tree as a Mermaid flowchart: its structure, and names that cannot leave their place."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from rulesets import MIXED, example_rules, hostile_names, hostile_texts, make_rules, rule_sets

from shallowrules.exporters import check_exporter, export, get_exporter
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.wording import branch_label
from shallowrules.rules import Leaf

LINE = re.compile(
    r'  n(?P<box>\d+)\["(?P<name>[^"]*)"\]'
    r'|  n(?P<start>\d+) -->\|"(?P<label>[^"]*)"\| n(?P<end>\d+)'
    r'|  n(?P<leaf>\d+)\(\["(?P<title>[^"]*)"\]\)'
)


def read(text):
    """Return boxes, edges and leaves of a flowchart, their texts as Mermaid shows them."""

    def shown(encoded):
        assert re.fullmatch(r"(?:[\w .,+%≤-]|#\d+;)*", encoded), encoded
        return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), encoded)

    first, remark, *lines = text.splitlines()
    assert first == "flowchart LR"
    assert remark.startswith("  %% ")
    boxes, edges, leaves = {}, {}, {}
    for line in lines:
        found = LINE.fullmatch(line)
        assert found is not None, line
        if found["box"]:
            boxes[int(found["box"])] = shown(found["name"])
        elif found["leaf"]:
            leaves[int(found["leaf"])] = shown(found["title"])
        else:
            edges[int(found["start"]), int(found["end"])] = shown(found["label"])
    return boxes, edges, leaves


def test_it_meets_the_contract():
    check_exporter(get_exporter("mermaid"))


@settings(max_examples=200, deadline=None)
@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_every_node_and_branch_is_there_and_every_name_in_its_place(rules):
    boxes, edges, leaves = read(export(rules, "mermaid"))
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
    boxes, _, _ = read(export(make_rules([(name, "float")], (0, 1.0, 0, 1)), "mermaid"))
    assert list(boxes.values()) == [one_line(name)]


def test_the_direction():
    assert export(example_rules(), "mermaid", direction="TD").startswith("flowchart TD\n")

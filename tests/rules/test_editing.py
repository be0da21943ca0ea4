"""Rules that a person changes: read from text, replaced, merged, and measured as a fit measures its own."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
from draws import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    boundary_rows,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    plain_names,
    rule_sets,
    small_rules,
)

from shallowrules import export
from shallowrules.errors import DataError, OptionError
from shallowrules.exporters.sheet_reading import is_sheet, text_of_sheet
from shallowrules.rules import Between, Cut, Leaf, Membership, NoneOf, OneOf, RuleSet
from shallowrules.rules.conditions import is_empty, printable
from shallowrules.rules.words.editing import edit
from shallowrules.rules.words.from_rules import WrittenRule, nodes_of_rules
from shallowrules.rules.words.written import read_condition, read_rules

FRESH = "a category that training never had"


def is_plain(rules: RuleSet) -> bool:
    """Return whether every rule can hold, and names and categories are told apart in print."""
    names = [column.name for column in rules.columns]
    shown = [[printable(str(value)) for value in column.values] for column in rules.columns]
    return not any(is_empty(condition) for rule in rules for condition in rule.conditions) and all(
        len(set(texts)) == len(texts) for texts in [list(map(printable, names)), *shown]
    )


def bare(nodes):
    """Return nodes whose leaves have no rows."""
    return tuple(Leaf(node.cluster, 0, 0.0) if isinstance(node, Leaf) else node for node in nodes)


@draws(200)
@given(rule_sets(kinds=MIXED, cluster_names=hostile_names.filter(str.strip)))
def test_what_is_printed_is_read_as_it_was(rules):
    assume(is_plain(rules))
    asked, names = read_rules(str(rules), rules.columns, rules.clusters)
    assert not names
    assert nodes_of_rules(asked, rules.columns, rules.nodes) == bare(rules.nodes)


@draws(200)
@given(rule_sets(kinds=MIXED, names=hostile_names, categories=hostile_texts), st.integers(0, 999))
def test_hostile_names_are_read_as_they_were_or_refused(rules, seed):
    assume(is_plain(rules))
    try:
        edited = edit(rules, text=str(rules))
    except DataError:  # the blanks around a name are not told from those between the words of a line
        assert any(name != name.strip() for name in (printable(column.name) for column in rules.columns))
        return
    assert labels_of(edited.nodes, rules, boundary_rows(rules, seed)) == labels_of(
        rules.nodes, rules, boundary_rows(rules, seed)
    )


@draws(150)
@given(
    rule_sets(kinds=MIXED, names=plain_names | hostile_names, categories=plain_names | hostile_texts),
    st.integers(0, 999),
    st.booleans(),
)
def test_a_sheet_is_read_as_it_was_or_refused(rules, seed, imputes):
    assume(is_plain(rules))
    if imputes:
        columns = tuple(replace(c, imputed=c.minimum if c.is_numeric else c.values[0]) for c in rules.columns)
        rules = replace(rules, columns=columns)
    sheet = export(rules, "markdown")
    assert is_sheet(sheet)
    assert not is_sheet(str(rules))
    try:
        edited = edit(rules, text=text_of_sheet(sheet, rules))
    except DataError:
        assert any(not each.replace("_", "").isalnum() for c in rules.columns for each in (c.name, *map(str, c.values)))
        return
    rows = boundary_rows(rules, seed)
    assert labels_of(edited.nodes, rules, rows) == labels_of(rules.nodes, rules, rows)


def test_what_is_changed_in_a_sheet(words):
    rules = make_rules(
        [("x", "float"), ("n", "integer"), ("flag", "integer"), ("city", "text"), ("paid", "boolean")],
        (0, 1234.5, (3, "Bonn", 0, (4, True, 1, 2)), (1, 12000, (2, 0, 3, 0), (3, ("Ulm", "Bonn"), 1, 2))),
    )
    flag = replace(rules.columns[2], minimum=0, maximum=1, mean=0.5)
    clusters = tuple(
        replace(c, means=tuple(0.5 if i == 2 else m for i, m in enumerate(c.means))) for c in rules.clusters
    )
    rules = replace(rules, columns=tuple(flag if i == 2 else c for i, c in enumerate(rules.columns)), clusters=clusters)
    sheet = export(rules, "markdown")
    assert "**flag** is 1" in sheet
    assert edit(rules, text=text_of_sheet(sheet, rules)).nodes == bare(rules.nodes)
    changed = (
        sheet.replace("1,234.5", "1,300")
        .replace("at most 12,000", "at most 13000")
        .replace("above 12,000", "above 13,000")
    )
    nodes = edit(rules, text=text_of_sheet(changed, rules)).nodes
    assert [node.threshold for node in nodes if isinstance(node, Cut)] == [1300.0, 13000, 0]
    named = edit(
        rules, text=text_of_sheet(sheet.replace("## Cluster 2\n", "## Cluster 2 (A *b* \\[c\\] &amp; d)\n"), rules)
    )
    assert named.names == {2: "A *b* [c] & d"}
    said = []
    for old, new in (
        ("at most 12,000", "at most twelve"),
        ("**x** is at most", "**y** is at most"),
        ("is 'Bonn'", "is 'Essen'"),
        ("## Cluster 2", "## Cluster two"),
    ):
        with pytest.raises(DataError, match=r"line \d+: ") as caught:
            text_of_sheet(sheet.replace(old, new), rules)
        said.append((f"{old} -> {new}", str(caught.value)))
    words(said)
    with pytest.raises(DataError, match="gap"):
        edit(rules, text=text_of_sheet(sheet.replace("above 12,000", "above 13,000"), rules))


def labels_of(nodes, rules, rows) -> list:
    """Return the cluster of each row by walking nodes."""
    found = []
    for row in rows:
        index = 0
        while not isinstance(nodes[index], Leaf):
            node = nodes[index]
            value = row[node.column]
            if value is None or value != value:
                break
            holds = value <= node.threshold if isinstance(node, Cut) else value in node.values
            index = node.left if holds else node.right
        found.append(nodes[index].cluster if isinstance(nodes[index], Leaf) else None)
    return found


def points(asked: list[WrittenRule], rules: RuleSet) -> list[tuple]:
    """Return a row for each combination of values that the rules tell apart."""
    columns = []
    for index, column in enumerate(rules.columns):
        conditions = [c for rule in asked for c in rule.conditions if c.feature == index]
        if column.type == "boolean":
            columns.append([False, True])
        elif column.type == "text":
            columns.append([*dict.fromkeys(v for c in conditions for v in c.values), FRESH])
        else:
            bounds = {bound for c in conditions for bound in (c.lower, c.upper) if bound is not None}
            up = (lambda v: v + 1) if column.type == "integer" else (lambda v: math.nextafter(v, math.inf))
            columns.append(sorted({value for bound in bounds for value in (bound, up(bound))} or {0}))
    return list(itertools.islice(itertools.product(*columns), 20_000))


def meets(row, condition) -> bool:
    value = row[condition.feature]
    match condition:
        case Between(lower=lower, upper=upper):
            return (lower is None or value > lower) and (upper is None or value <= upper)
        case OneOf(values=values):
            return value in values
        case NoneOf(values=values):
            return value not in values


def changed(asked: list[WrittenRule], chooser: random.Random) -> list[WrittenRule]:
    """Return rules, one of which is missing, repeated, without a condition, or with another bound or category."""
    rules = list(asked)
    place = chooser.randrange(len(rules))
    rule, way = rules[place], chooser.randrange(6)
    if way == 0 and len(rules) > 1:
        del rules[place]
        return rules
    if way == 1:
        return [*rules, replace(rule, cluster=9, name="again")]
    if not rule.conditions:
        return rules
    spot = chooser.randrange(len(rule.conditions))
    condition = rule.conditions[spot]
    kept = [*rule.conditions]
    if way == 2:
        del kept[spot]
    elif isinstance(condition, Between):
        others = [b for r in rules for c in r.conditions if c.feature == condition.feature for b in (c.lower, c.upper)]
        bound = chooser.choice([b for b in others if b is not None])
        sides = {"upper": bound} if condition.lower is None or chooser.random() < 0.5 else {"lower": bound}
        kept[spot] = replace(condition, **sides)
    else:
        kept[spot] = replace(condition, values=tuple(chooser.sample(condition.column.values, 1)))
    rules[place] = replace(rule, conditions=tuple(kept))
    return rules


@draws(400)
@given(rule_sets(kinds=MIXED, max_depth=3, floats=st.integers(-9, 9).map(float)), st.integers(0, 9999))
def test_changed_rules_are_a_tree_or_refused_for_what_is_wrong(rules, seed):
    assume(is_plain(rules))
    chooser = random.Random(seed)
    asked, _ = read_rules(str(rules), rules.columns, rules.clusters)
    for _ in range(chooser.randrange(3)):
        asked = changed(asked, chooser)
    chooser.shuffle(asked)
    like = rules.nodes if chooser.random() < 0.5 else (Leaf(0, 1, 1.0),)
    rows = points(asked, rules)
    matching = [[rule for rule in asked if all(meets(row, c) for c in rule.conditions)] for row in rows]
    try:
        nodes = nodes_of_rules(asked, rules.columns, like)
    except DataError as error:
        message = str(error)
        if "holds for no row" in message:
            assert any(is_empty(condition) for rule in asked for condition in rule.conditions)
        elif "overlap" in message:
            assert any(len(found) > 1 for found in matching)
        elif "gap" in message:
            assert any(not found for found in matching)
        else:
            assert "no sequence of questions" in message
        return
    assert all(len(found) == 1 for found in matching)
    assert labels_of(nodes, rules, rows) == [found[0].cluster for found in matching]


def test_a_pinwheel_is_no_tree():
    columns = make_rules([("x", "float"), ("y", "float")], (0, 1.0, 0, (1, 1.0, 1, 2))).columns
    text = (
        "cluster 0: x <= 2 and y <= 1\ncluster 1: x > 2 and y <= 2\ncluster 2: x > 1 and y > 2\n"
        "cluster 3: x <= 1 and y > 1\ncluster 4: 1 < x <= 2 and 1 < y <= 2"
    )
    asked, _ = read_rules(text, columns, ())
    with pytest.raises(DataError, match="5 rules"):
        nodes_of_rules(asked, columns, (Leaf(0, 1, 1.0),))


def test_the_words_of_a_text(words):
    rules = make_rules(
        [("x", "float"), ("n", "integer"), ("city", "text"), ("paid", "boolean"), ("a and b", "float"), ("a", "float")],
        (0, 0.5, (2, "Bonn", 0, (3, True, 1, (4, 2.5, 2, 3))), (1, 7, 3, (2, "o'clock", 2, (5, 1.0, 0, 1)))),
    )
    text = str(rules)
    assert edit(rules, text=f"\ufeff# all\n\n{text}\n").nodes == bare(rules.nodes)
    assert edit(rules, text="\n".join(line.split("  (")[0] for line in text.splitlines())).nodes == bare(rules.nodes)
    named = edit(rules, text=text.replace("cluster 2:", "cluster 2 (the (odd): ones):"))
    assert named.names == {2: "the (odd): ones"}
    assert named.nodes == bare(rules.nodes)
    words(
        (
            (text.replace("\n", " | "), refusal(rules, text))
            for text in (
                "cluster 0: x <= 3\nclutser 1: x > 3",
                "cluster 0: prolin <= 3",
                "cluster 0: x >= 3",
                "cluster 0: x <= 3 or x > 5",
                "cluster 0: n <= 7.5",
                "cluster 0: city = 'Ulm'",
                "cluster 0: 5 < x <= 3",
                "cluster 0:",
                "# nothing",
                "cluster 0 (a): x <= 1\ncluster 0 (b): x > 1",
                "cluster 0: x <= 3\ncluster 1: x > 2",
                "cluster 0: x <= 2\ncluster 1: x > 3",
            )
        ),
    )
    assert str(read_condition(" a and b > 2 ", rules.columns)) == "a and b > 2"
    assert str(read_condition("12,500 < n <= 1,000,000", rules.columns)) == "12500 < n <= 1000000"
    with pytest.raises(DataError, match="',125' should be"):  # a decimal comma is not one that keeps thousands apart
        read_condition("x <= 0,125", rules.columns)
    with pytest.raises(DataError, match=r"'income <= 3': .*; the columns are: x, n, city, paid, a and b, a$"):
        read_condition("income <= 3", rules.columns)
    with pytest.raises(DataError, match="not one condition"):
        read_condition("x > 2 and n <= 3", rules.columns)


def refusal(rules: RuleSet, text: str) -> str:
    with pytest.raises(DataError) as caught:
        edit(rules, text=text)
    return str(caught.value)


def test_columns_that_look_alike_are_not_read():
    rules = make_rules([("a b", "float"), ("a\nb", "float")], (0, 1.0, 0, (1, 2.0, 1, 2)))
    assert "printed alike" in refusal(rules, "cluster 0: a b <= 1\ncluster 1: a b > 1")
    overlapping = make_rules([("a", "float"), ("b", "float"), ("a <= 1 and b", "float")], (2, 3.0, 0, 1))
    assert "can be read in 2 ways" in refusal(overlapping, "cluster 0: a <= 1 and b <= 3")


def test_values_are_replaced_in_all_rules(words):
    rules = make_rules(
        [("x", "float"), ("n", "integer"), ("city: old", "text")],
        (0, 0.5, (1, 3, 0, 1), (1, 3, (2, "A -> B", 2, 3), (2, "C", 4, 0))),
    )
    grouped = edit(rules, replacements=["n: 3 -> 12,005", "x: 0.5 -> -1,234.5e1"]).nodes
    assert [node.threshold for node in grouped if isinstance(node, Cut)] == [-12345, 12005, 12005]
    nodes = edit(rules, replacements=["n: 3 -> 5", " x: 0.5->.75", "city: old: 'A -> B' -> 'one more'"]).nodes
    assert [node.threshold for node in nodes if isinstance(node, Cut)] == [0.75, 5, 5]
    assert [node.values for node in nodes if isinstance(node, Membership)] == [("one more",), ("C",)]
    said = []
    for text in ("n: 4 -> 5", "n: 3 -> 5.5", "n: 3 -> 12,00", "n 3", "m: 3 -> 4", "city: old: C -> nowhere"):
        with pytest.raises(DataError if text == "n: 4 -> 5" else OptionError) as caught:
            edit(rules, replacements=[text])
        said.append((text, str(caught.value)))
    words(said)
    with pytest.raises(DataError, match="no value meets 0.75 < x <= 0.5"):
        edit(make_rules([("x", "float")], (0, 0.5, (0, 0.25, 0, 1), 2)), replacements=["x: 0.25 -> 0.75"])


def test_merged_clusters():
    rules = make_rules([("x", "float")], (0, 4.0, (0, 2.0, 3, 1), (0, 6.0, 2, 0)), {3: "three", 1: "1", 2: "two"})
    edited = edit(rules, merge=[(3, 1)])
    assert edited.merged == {3: 1}
    assert edited.names == {1: "three", 2: "two"}
    assert [node.cluster for node in edited.nodes if isinstance(node, Leaf)] == [1, 2, 0]
    assert edited.words == ("clusters 1, 3 merged",)
    assert edit(rules, merge=[(3, 2), (2, 1)]).merged == {3: 1, 2: 1}
    assert edit(rules, merge=[(0, 1, 2, 3)]).nodes == (Leaf(0, 0, 0.0),)
    for group in ((1, 7), (1, 1)):
        with pytest.raises(DataError, match="merge|clusters"):
            edit(rules, merge=[group])


@given(rule_sets(kinds=MIXED), st.integers(0, 999))
def test_merging_changes_numbers_and_nothing_else(rules, seed):
    numbers = [cluster.index for cluster in rules.clusters]
    assume(len(numbers) > 2)
    group = random.Random(seed).sample(numbers, 2)
    edited = edit(rules, merge=[group])
    rows = [row for row in boundary_rows(rules, seed) if None not in row and all(value == value for value in row)]
    expected = [min(group) if label in group else label for label in labels_of(rules.nodes, rules, rows)]
    assert labels_of(edited.nodes, rules, rows) == expected


def test_example_rules_come_back():
    for rules in (small_rules(), example_of_categories()):
        assert edit(rules, text=str(rules)).nodes == bare(rules.nodes)
    awkward = example_rules()
    assert labels_of(edit(awkward, text=str(awkward)).nodes, awkward, boundary_rows(awkward, 1)) == labels_of(
        awkward.nodes, awkward, boundary_rows(awkward, 1)
    )

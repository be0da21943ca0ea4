"""Rules that a person changes: read from text, replaced, merged, and measured as a fit measures its own."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from commandline import call, refused
from draws import draws, few
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
from tables import write_people

from shallowrules import ExplainableKMeans, edit_rules, export
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning
from shallowrules.exporters.sheet_reading import is_sheet, text_of_sheet
from shallowrules.rules import Between, Cut, Leaf, Membership, NoneOf, OneOf, RuleSet
from shallowrules.rules.conditions import is_empty, printable
from shallowrules.rules.nodes import derive_rules
from shallowrules.rules.words.editing import edit
from shallowrules.rules.words.from_rules import WrittenRule, nodes_of_rules
from shallowrules.rules.words.written import read_condition, read_rules
from shallowrules.sources import read_table

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
    except DataError:  # such names that no text tells them apart, or that look like the rest of a line
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
    with pytest.raises(DataError):  # a decimal comma is not one that keeps thousands apart
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


OPTIONS = (
    ["-k", "4", "--drop-missing", "--exclude", "weight,segment", "--category-weight", "0.2"],
    ["-k", "4", "--impute", "median", "--exclude", "segment", "--weight", "weight", "--category-weight", "0.3"],
    ["--labels", "segment", "--drop-missing", "--exclude", "weight"],
    ["-k", "3", "--drop-missing", "--columns", "age,income", "--explain", "income,city,member", "--scale", "standard"],
    ["-k", "5", "--columns", "income,city,member", "--method", "imm", "--no-histograms"],
    ["-k", "3", "--columns", "income,member", "--method", "exkmc", "--max-leaves", "5", "--round-within", "1%"],
)


@pytest.mark.parametrize("options", few(OPTIONS), ids=map(" ".join, OPTIONS))
def test_rules_that_nobody_changed_are_measured_as_the_fit_did(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    assert call("fit", "people.csv", *options, "-o", "rules.json").exit_code == 0
    text = call("edit", "rules.json")
    (tmp_path / "rules.txt").write_text(text.stdout, encoding="utf-8")
    sheet = call("export", "rules.json", "markdown", "-o", "report.md")
    assert sheet.exit_code == 0, sheet.stderr
    again = call("edit", "rules.json", "--rules", "rules.txt", "--table", "people.csv", "-o", "again.json")
    assert again.exit_code == 0, again.stderr
    assert "0 of" in again.stderr
    of_sheet = call("edit", "rules.json", "--rules", "report.md", "--table", "people.csv")
    assert of_sheet.exit_code == 0, of_sheet.stderr
    assert of_sheet.stdout == (tmp_path / "again.json").read_text(encoding="utf-8")
    before, after = (RuleSet.from_json(tmp_path / name) for name in ("rules.json", "again.json"))
    found, expected = after.to_dict(), before.to_dict()
    for document in (found, expected):
        # How the search went is not a fact of the rules.
        notes = document["statistics"].pop("notes")
        assert not any("edited" in note for note in notes)
    assert found == expected


@pytest.mark.parametrize("options", few(OPTIONS), ids=map(" ".join, OPTIONS))
def test_an_edit_is_measured_and_every_form_follows_it(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    call("fit", "people.csv", *options, "-o", "rules.json")
    rules = RuleSet.from_json(tmp_path / "rules.json")
    cut = next(node for node in rules.nodes if isinstance(node, Cut))
    name, new = rules.columns[cut.column].name, cut.threshold + (30 if cut.threshold > 100 else 1)
    merge = sorted(cluster.index for cluster in rules.clusters)[1:3]
    edits = ["--set", f"{name}: {cut.threshold} -> {new}", "--merge", ",".join(map(str, merge))]
    edited = call("edit", "rules.json", *edits, "--table", "people.csv", "-o", "new.json")
    assert edited.exit_code == 0, edited.stderr
    assert re.search(r"the cost (rises|falls) by [0-9.]+%: [0-9.]+ times that of the clustering without", edited.stderr)
    after = RuleSet.from_json(tmp_path / "new.json")
    assert len(after.clusters) == len(rules.clusters) - 1
    table = read_table("people.csv")
    moved = {merge[1]: merge[0]}
    nodes = edit(rules, replacements=[edits[1]]).nodes
    assert after.assign(table).tolist() == [moved.get(label, label) for label in matched(rules, nodes, table)]
    assert any(note.startswith(f"edited by hand: {name}: ") for note in after.statistics.notes)
    assert moved.keys().isdisjoint({cluster.index for cluster in after.clusters})
    verified = call("verify", "new.json", "people.csv")
    assert verified.exit_code == 0, verified.stdout + verified.stderr
    pair = ",".join(str(cluster.index) for cluster in after.clusters[:2])
    again = call("edit", "new.json", "--merge", pair, "--table", "people.csv")
    assert again.exit_code == 0, again.stderr
    notes = RuleSet.from_dict(json.loads(again.stdout)).statistics.notes
    assert sum("edited by hand" in note for note in notes) == 2
    # What was merged is still known to be one.
    (tmp_path / "new.txt").write_text(call("edit", "new.json").stdout, encoding="utf-8")
    same = call("edit", "new.json", "--rules", "new.txt", "--table", "people.csv")
    found, expected = json.loads(same.stdout), after.to_dict()
    for document in (found, expected):
        document["statistics"].pop("notes")
    assert found == expected


def matched(rules: RuleSet, nodes, table) -> list:
    """Return the labels of nodes on a table, by matching each leaf's conditions."""
    from shallowrules.rules.matching import match_rules

    tested = sorted({node.column for node in nodes if not isinstance(node, Leaf)})
    return match_rules(derive_rules(nodes, rules.columns, 1.0), rules.columns, tested, table).tolist()


def test_another_table_is_measured_by_its_own_clustering(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    write_people(tmp_path / "later.csv", seed=8, shift=300)
    call("fit", "people.csv", *OPTIONS[0], "-o", "rules.json")
    edited = call("edit", "rules.json", "--merge", "0,1", "--table", "later.csv", "-o", "new.json")
    assert edited.exit_code == 0, edited.stderr
    assert "the table, or the parameters that cluster it, are not those that the rules were made with" in edited.stderr
    after = RuleSet.from_json(tmp_path / "new.json")
    assert after.assign(read_table("later.csv")).tolist() == [
        0 if label == 1 else label for label in RuleSet.from_json("rules.json").assign(read_table("later.csv")).tolist()
    ]


def test_names_and_notes_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    (tmp_path / "names.csv").write_text("number,name,note\n1,Students,Many move.\n3,Savers,\n", encoding="utf-8")
    call("fit", "people.csv", *OPTIONS[0], "--names", "names.csv", "-o", "rules.json")
    call("edit", "rules.json", "--merge", "1,3", "--table", "people.csv", "-o", "new.json")
    named = {c.index: (c.name, c.note) for c in RuleSet.from_json("new.json").clusters if c.is_named}
    assert named == {1: ("Students", "Many move.")}


def test_in_python():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.6, (60, 2)) for center in ([0, 0], [5, 0], [0, 5])])
    model = ExplainableKMeans(3, random_state=0).fit(X)
    cut = next(node for node in model.rules_.nodes if isinstance(node, Cut))
    name = model.rules_.columns[cut.column].name
    found = edit_rules(model.rules_, model, X, replacements=[f"{name}: {cut.threshold} -> {cut.threshold - 1}"])
    assert found.same_table
    assert found.before.to_dict() == model.rules_.to_dict()
    assert found.after.statistics.normalized_cost >= found.before.statistics.normalized_cost
    assert "change cluster" in str(found)
    moved = int((found.after.assign(X) != model.rules_.assign(X)).sum())
    assert sum(change.rows for change in found.changes.moved) == moved > 0


def test_a_model_with_other_parameters_is_said():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, [0.6, 60], (60, 2)) for center in ([0, 0], [5, 0], [0, 500])])
    rules = ExplainableKMeans(3, random_state=0).fit(X).rules_
    other = ExplainableKMeans(3, random_state=0, scale="standard").fit(X)
    with pytest.warns(ShallowRulesWarning, match="measured here they cost") as caught:
        found = edit_rules(rules, other, X, merge=[(0, 1)])
    [said] = [str(warning.message) for warning in caught]
    assert f"the rules cost {rules.statistics.normalized_cost:.4g} times" in said
    assert f"measured here they cost {found.before.statistics.normalized_cost:.4g} times" in said
    assert not found.same_table


def test_options_of_another_type_are_refused():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.6, (60, 2)) for center in ([0, 0], [5, 0], [0, 5])])
    model = ExplainableKMeans(3, random_state=0).fit(X)
    for wrong in ("x0: 1 -> 2", [1], 5):
        with pytest.raises(OptionError, match="replacements must be a list of changes, such as"):
            edit_rules(model.rules_, model, X, replacements=wrong)
    with pytest.raises(OptionError, match="rename must be a list of new names, such as"):
        edit_rules(model.rules_, model, X, rename={0: "a"}.items())
    for wrong in ([1, 2], ["ab"], 3, [(0, 1.5)]):
        with pytest.raises(OptionError, match="merge must be a list of groups of clusters, such as"):
            edit_rules(model.rules_, model, X, merge=wrong)
    assert edit_rules(model.rules_, model, X, merge=[np.array([0, 1])]).after.statistics.rows == 180


@pytest.mark.slow
def test_what_cannot_be_edited_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    call("fit", "people.csv", *OPTIONS[0], "-o", "rules.json")
    rules = RuleSet.from_json("rules.json")
    cut = next(node for node in rules.nodes if isinstance(node, Cut))
    name = rules.columns[cut.column].name
    assert "--table" in refused("edit", "rules.json", "--merge", "0,1", status=2)
    assert "as 3,4" in refused("edit", "rules.json", "--merge", "a", status=2)
    for change in (f"{name} {cut.threshold} -> 7", f"x{name}: {cut.threshold} -> 7", f"{name}: a -> b"):
        said = refused("edit", "rules.json", "--set", change, "--table", "people.csv", status=2)
        assert said.startswith("--set: ")
    assert "no cluster 9" in refused("edit", "rules.json", "--merge", "0,9", "--table", "people.csv", "-o", "n.json")
    far = f"{name}: {cut.threshold} -> 99999999"
    assert "holds for no row of the table" in refused("edit", "rules.json", "--set", far, "--table", "people.csv")
    replace(rules, settings={}).to_json("old.json")
    message = refused("edit", "old.json", "--merge", "0,1", "--table", "people.csv")
    assert "does not record the options that it was made with" in message
    replace(rules, settings={**rules.settings, "method": "magic"}).to_json("odd.json")
    assert "odd.json: option 'method': 'magic' is not one of" in refused(
        "edit", "odd.json", "--merge", "0,1", "--table", "people.csv"
    )
    replace(rules, settings={**rules.settings, "colour": "red"}).to_json("odd.json")
    assert "'colour'" in refused("edit", "odd.json", "--merge", "0,1", "--table", "people.csv")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    assert "UTF-8" in refused("edit", "rules.json", "--rules", "bad.txt", "--table", "people.csv")

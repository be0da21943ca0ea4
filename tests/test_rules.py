"""Rules as data: their order and words, JSON in and out with every refusal, and matching against the tree."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    boundary_rows,
    chain_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
)

from shallowrules.errors import DataError, RulesFormatError
from shallowrules.rules import Between, Cluster, Cut, Leaf, RuleColumn, RuleSet

TWO_LEAVES = (0, 0.5, 0, 1)
BIG = 2**53
NAN, INF = float("nan"), float("inf")


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


# --- what the rules say


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
    assert last == ("cost 1.029 of the unrestricted clustering's; conditions per row 1.50, questions per row 1.75")
    assert repr(rules) == "RuleSet(4 rules, 3 clusters, 2 columns)"


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


def test_columns_are_converted_and_imputed():
    rules = make_rules([("x", "float"), ("c", "text"), ("n", "integer")], (0, 1.5, (1, "A", 0, 1), (2, 3, 2, 3)))
    x, c, n = rules.columns
    columns = (replace(x, decimal=",", nulls=("NA", "-9")), replace(c, nulls=("",), imputed="A"), replace(n, imputed=4))
    rules = replace(rules, columns=columns)
    assert RuleSet.from_dict(json.loads(rules.to_json())) == rules
    table = {
        "x": np.array(["1,5", " 1,6 ", "NA", "", "-9,0", None, "1e3"], object),
        "c": np.array(["A", "B", "B", "B", "B", "B", "B"], object),
        "n": np.array([1, None, 1, 1, 1, 1, 3], object),
    }
    assert rules.assign(table).tolist() == [0, 3, -1, -1, -1, -1, 2]
    assert rules.assign({**table, "x": [1.5, 1.6, -9, np.nan, 0, 0, 9], "n": [9] * 7}).tolist() == [
        0,
        3,
        -1,
        -1,
        1,
        1,
        3,
    ]
    table["c"] = np.array(["  ", "A", "", None, "A ", "A", "A"], object)
    assert rules.assign({**table, "x": [0.0] * 7}).tolist() == [0, 0, 0, 0, 1, 0, 0]
    with pytest.raises(DataError, match="column 'x' holds numbers, but row 2 has '1.6'"):
        rules.assign({"x": ["1", "1.6"], "c": ["A", "A"], "n": [1, 1]})
    with pytest.raises(DataError, match="column 'x' holds numbers, but row 1 has 'one'"):
        rules.assign({"x": ["one"], "c": ["A"], "n": [1]})


def test_what_contradicts_itself_matches_no_row():
    rules = make_rules([("c", "text")], (0, "A", (0, "B", 0, 1), 2))
    assert rules.assign({"c": ["A", "B", "C", ""]}).tolist() == [1, 2, 2, 2]
    assert [str(rule) for rule in rules if rule.cluster == 0] == ["c in ()"]


@given(rule_sets(names=hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_hostile_names_do_not_break_lines_or_markup(rules):
    text = str(rules)
    assert text.count("\n") == len(rules)
    assert all(line.isprintable() for line in text.split("\n"))

    tags, shown = [], []
    parser = HTMLParser(convert_charrefs=True)
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, attributes))
    parser.handle_endtag = lambda tag: tags.append(tag)
    parser.handle_data = shown.append
    parser.feed(rules._repr_html_())
    parser.close()
    assert tags == [("pre", []), "pre"]
    assert "".join(shown) == text


def test_names_are_escaped_in_a_notebook():
    rules = make_rules([("<script>", "float")], TWO_LEAVES, {0: "a & b"})
    assert "&lt;script&gt;" in rules._repr_html_()
    assert "a &amp; b" in rules._repr_html_()
    assert "<script>" not in rules._repr_html_()


def test_a_tree_that_is_a_single_leaf(tmp_path):
    rules = make_rules([("x", "float")], 3)
    [rule] = rules
    assert (rule.conditions, rule.size, rule.depth, rule.share) == ((), 0, 0, 1.0)
    assert str(rules).startswith("cluster 3: every row  (1 rows, 100.0%)\n")
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


# --- JSON, out and in


@given(rule_sets(names=hostile_names, cluster_names=hostile_names))
def test_json_round_trip(tmp_path_factory, rules):
    path = tmp_path_factory.getbasetemp() / "round_trip.json"
    text = rules.to_json(path)
    assert path.read_bytes().decode("utf-8") == text
    again = RuleSet.from_json(path)
    assert again == rules
    for part in ("columns", "nodes", "clusters", "statistics", "rules"):
        assert getattr(again, part) == getattr(rules, part)
    assert [type(node.threshold) for node in again.nodes if isinstance(node, Cut)] == [
        type(node.threshold) for node in rules.nodes if isinstance(node, Cut)
    ]
    assert again.to_json() == text


def test_statistics_and_notes_survive(tmp_path):
    rules = make_rules([("x", "float")], TWO_LEAVES, weighted=True, notes=("one", "two"))
    again = RuleSet.from_json(str(rules.to_json(tmp_path / "a.json") and tmp_path / "a.json"))
    assert again.statistics == rules.statistics
    assert again.statistics.weighted is True
    assert again.statistics.notes == ("one", "two")


def test_whole_numbers_are_taken_where_floats_are_meant(tmp_path):
    document = example_rules().to_dict()
    document["statistics"]["cost"] = 7
    weight = int(document["nodes"][-1]["weight"])
    document["nodes"][-1]["weight"] = weight
    rules = RuleSet.from_dict(document)
    assert type(rules.statistics.cost) is float
    assert type(rules.nodes[-1].weight) is float


def test_the_document_says_its_format_first():
    text = example_rules().to_json()
    assert text.startswith('{\n "format": "shallowrules/1",\n')
    assert text.endswith("}\n")


def test_non_finite_figures_are_not_written(tmp_path):
    rules = make_rules([("x", "float")], TWO_LEAVES, cost=NAN)
    with pytest.raises(ValueError, match="not JSON compliant"):
        rules.to_json(tmp_path / "rules.json")
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "rules.json"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        example_rules().to_json(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["rules.json"]


def test_a_text_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        make_rules([("\ud800", "float")], TWO_LEAVES).to_json(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["rules.json"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        example_rules().to_json(tmp_path / "none" / "rules.json")
    with pytest.raises(FileNotFoundError):
        RuleSet.from_json(tmp_path / "rules.json")


def refused(path, text, message):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with pytest.raises(RulesFormatError, match=message) as caught:
        RuleSet.from_json(path)
    assert str(path) in str(caught.value)


def test_every_truncation_is_refused(tmp_path):
    text = make_rules([("x", "float")], TWO_LEAVES).to_json()
    for length in range(len(text) - 2):  # the last two are "}" and the end of the line
        refused(tmp_path / "rules.json", text[:length], "not valid JSON")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe{}", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (example_rules().to_json().replace("12.85", "9" * 5000), "not valid JSON"),
        (example_rules().to_json() + "{}", "not valid JSON"),
        (example_rules().to_json().replace("12.85", "NaN"), "the number NaN is not finite"),
        (example_rules().to_json().replace("12.85", "Infinity"), "the number Infinity is not finite"),
        (example_rules().to_json().replace("12.85", "-Infinity"), "the number -Infinity is not finite"),
        (example_rules().to_json().replace("12.85", "1e999"), r"nodes\[0\].value is inf, not a finite number"),
        (example_rules().to_json().replace('"alcohol"', '"\\ud800"'), r"columns\[0\].name is '\\ud800', not text"),
        (example_rules().to_json().replace('"format"', '"format": "shallowrules/1", "format"', 1), "repeats a key"),
        (example_rules().to_json().replace('"left": 1', '"left": 1, "left": 2', 1), "repeats a key"),
        ("null", "the top level is not a JSON object"),
        ("[]", "the top level is not a JSON object"),
        ("{}", 'its "format" is None'),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(tmp_path, text, message):
    refused(tmp_path / "rules.json", text, message)


def change(*path_and_value):
    """Return what sets (or, for DELETE, removes) an entry of a document."""
    *path, last, value = path_and_value

    def apply(document):
        for key in path:
            document = document[key]
        if value is DELETE:
            del document[last]
        elif isinstance(document, list) and last == len(document):
            document.append(value)
        else:
            document[last] = value

    return apply


DELETE = object()
A_LEAF = {"cluster": 0, "rows": 1, "weight": 1.0}
COLUMN = {"name": "y", "type": "float", "mean": 0.0, "minimum": 0.0, "maximum": 1.0}

PARTS = ("columns", "nodes", "clusters")


def lacking(*place, names):
    """Give one damage for each entry that is not there."""
    where = place[0] if len(place) == 1 else rf"{place[0]}\[{place[1]}\]"
    for name in names:
        yield change(*place, name, DELETE), f"{where} lacks {name}"


def mistyped(*place, meant, values):
    """Give one damage for each value that is not of the meant type."""
    where = rf"{place[0]}\[{place[1]}\].{place[2]}" if len(place) == 3 else ".".join(place)
    for value in values:
        yield change(*place, value), f"{where} is .*, not {meant}"


# Over the columns x (float) and i (integer): nodes 0 (x <= 0.5), 1 (leaf 0), 2 (i <= 3), 3 (leaf 1), 4 (leaf 2).
DAMAGES = [
    (change("format", "shallowrules/2"), r"its \"format\" is 'shallowrules/2'"),
    (change("format", 1), 'its "format" is 1'),
    (change("format", ["shallowrules/1"]), 'its "format" is'),
    (change("format", DELETE), 'its "format" is None'),
    (change("extra", 1), "unknown entries in the rules document: 'extra'"),
    (change(1, 1), "unknown entries in the rules document: 1"),
    *((change(part, DELETE), f"'{part}' must be a list") for part in PARTS),
    *((change(part, []), f"'{part}' must be a list that is not empty") for part in PARTS),
    *((change(part, {"0": 1}), f"'{part}' must be a list") for part in PARTS),
    *((change(part, 0, "text"), rf"{part}\[0\] must be an object") for part in PARTS),
    *((change(part, 0, None), rf"{part}\[0\] must be an object") for part in PARTS),
    (change("statistics", DELETE), "statistics must be an object"),
    (change("statistics", []), "statistics must be an object"),
    # entries that lack or are too many
    *lacking("columns", 0, names=COLUMN),
    *lacking("nodes", 0, names=("column", "operator", "value", "left", "right")),
    *lacking("nodes", 1, names=("rows", "weight")),
    (change("nodes", 1, "cluster", DELETE), r"nodes\[1\] lacks column, operator, value, left, right"),
    *lacking("clusters", 0, names=("index", "name", "means")),
    *lacking("statistics", names=("rows", "weighted", "waes", "notes")),
    (change("nodes", 0, "cluster", 1), r"nodes\[0\]"),
    *((change(part, 0, "more", 1), rf"{part}\[0\] has unknown entries 'more'") for part in PARTS),
    (change("statistics", "more", 1), "statistics has unknown entries 'more'"),
    # wrong types and values
    *mistyped("columns", 0, "name", meant="text", values=[1, None, ["x"]]),
    *mistyped("columns", 0, "type", meant="integer, float, text or boolean", values=["date", 1, None, []]),
    *mistyped("columns", 0, "mean", meant="a finite number", values=["1", True, NAN]),
    (change("columns", 0, "mean", None), "column 'x' is of type float and has no mean"),
    (change("columns", 0, "maximum", None), "column 'x' is of type float and has no mean, minimum or maximum"),
    (change("columns", 0, "values", ["a"]), "column 'x' is of type float and has values"),
    (change("columns", 0, "type", "text"), "column 'x' is of type text and has a mean, minimum or maximum"),
    (change("columns", 0, "mean", 10**400), r"columns\[0\].mean is too large a number"),
    (change("columns", 0, "minimum", float("-inf")), r"columns\[0\].minimum is -inf, not a finite number"),
    *mistyped("nodes", 0, "operator", meant="one of the operators <=, = and in", values=["<", ">", None, ["<="]]),
    *((change("nodes", 0, "operator", given), "tests the float column 'x' by categories") for given in ("=", "in")),
    *mistyped("nodes", 0, "value", meant="a finite number, a category", values=[None, [0.5], NAN, INF]),
    *((change("nodes", 0, "value", given), "does not cut 'x' at a finite number") for given in ("0.5", True, ["a"])),
    (change("nodes", 0, "value", 10**400), r"nodes\[0\] does not cut 'x' at a finite number"),
    (change("nodes", 2, "value", -(10**400)), r"nodes\[2\] does not cut 'i' at a finite number"),
    *mistyped("nodes", 0, "column", meant="a whole number", values=[0.0, "0", None, False]),
    *mistyped("nodes", 0, "left", meant="a whole number", values=[1.0, "1", None, True]),
    *mistyped("nodes", 1, "rows", meant="a whole number", values=[1.5, "1", None, True]),
    *mistyped("nodes", 1, "cluster", meant="a whole number", values=[0.0, "0", None]),
    *mistyped("clusters", 0, "name", meant="text", values=[0, None]),
    *mistyped("clusters", 0, "means", meant="a list of finite numbers", values=[0, "ab", [1.0, "2"], [1.0, NAN]]),
    *mistyped("statistics", "weighted", meant="true or false", values=[0, "no", None]),
    *mistyped("statistics", "notes", meant="a list of texts", values=["text", [1], None]),
    # no tree over the columns and clusters
    (change("columns", 1, "name", "x"), "two columns have the same name"),
    (change("nodes", 0, "column", 2), r"nodes\[0\] tests column 2; there are 2 columns"),
    (change("nodes", 0, "column", -1), r"nodes\[0\] tests column -1; there are 2 columns"),
    (change("nodes", 0, "column", 10**30), r"nodes\[0\] tests column 10+; there are 2 columns"),
    (change("nodes", 2, "value", 3.5), r"nodes\[2\] cuts the integer column 'i' at 3.5"),
    (change("nodes", 2, "value", 3.0), r"nodes\[2\] cuts the integer column 'i' at 3.0"),
    (change("nodes", 2, "left", 0), r"nodes\[2\] has child 0: .*no cycles"),
    (change("nodes", 2, "left", 2), r"nodes\[2\] has child 2: .*no cycles"),
    (change("nodes", 2, "left", 1), r"nodes\[2\] has child 1: .*no cycles"),
    (change("nodes", 2, "left", -1), r"nodes\[2\] has child -1"),
    (change("nodes", 2, "right", 5), r"nodes\[2\] has child 5"),
    (change("nodes", 2, "right", 3), r"nodes\[3\] has 2 parents"),
    (change("nodes", 0, "right", 3), r"nodes\[2\] has 0 parents"),
    (change("nodes", 5, A_LEAF), r"nodes\[5\] has 0 parents"),
    (change("nodes", 1, "rows", -1), r"nodes\[1\] has a negative number of rows or weight"),
    (change("nodes", 1, "weight", -0.5), r"nodes\[1\] has a negative number of rows or weight"),
    (change("clusters", 2, DELETE), r"clusters listed \(\[0, 1\]\) are not those of the leaves \(\[0, 1, 2\]\)"),
    (change("clusters", 1, "index", 0), "are not those of the leaves"),
    (change("clusters", 1, "index", 7), "are not those of the leaves"),
    (change("nodes", 1, "cluster", 5), "are not those of the leaves"),
    (change("nodes", 1, "cluster", 2), "are not those of the leaves"),
    (change("clusters", 0, "means", [1.0]), "cluster 0 has 1 means for 2 columns"),
    (change("clusters", 0, "means", [1.0, 2.0, 3.0]), "cluster 0 has 3 means for 2 columns"),
    (change("columns", 2, COLUMN), "cluster 0 has 2 means for 3 columns"),
    (change("statistics", "rows", 0), "must be positive"),
    (change("statistics", "weight", 0.0), "must be positive"),
    (change("statistics", "weight", -1), "must be positive"),
]  # fmt: skip


def small_rules():
    return make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=range(len(DAMAGES)))
def test_damaged_documents_are_refused(damage, message):
    document = small_rules().to_dict()
    damage(document)
    with pytest.raises(RulesFormatError, match=message):
        RuleSet.from_dict(document)


@pytest.mark.parametrize("number", [-1, 2**31])
def test_a_number_that_is_no_label_is_refused(number):
    document = small_rules().to_dict()
    document["nodes"][1]["cluster"] = document["clusters"][0]["index"] = number
    with pytest.raises(RulesFormatError, match=f"{number}"):
        RuleSet.from_dict(document)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d["clusters"][0].update(rows=-5), "cluster 0 has -5 rows, its leaves have"),
        (lambda d: d["clusters"][0].update(weight=0.5), "cluster 0 has weight 0.5, its leaves have"),
        (lambda d: d["clusters"][0].update(precision=1.5), "cluster 0: precision is 1.5, not a share"),
        (lambda d: d["statistics"].update(agreement=7.0), "statistics.agreement is 7.0, not a share"),
        (lambda d: d["statistics"].update(rows=99999), "statistics.rows is 99999"),
        (lambda d: d["columns"][0].update(minimum=1e9), "minimum 1000000000.0 above its maximum"),
    ],
)
def test_figures_that_cannot_be_are_refused(damage, message):
    document = small_rules().to_dict()
    damage(document)
    with pytest.raises(RulesFormatError, match=message):
        RuleSet.from_dict(document)


def test_the_largest_label_is_a_label():
    document = small_rules().to_dict()
    document["nodes"][1]["cluster"] = document["clusters"][0]["index"] = 2**31 - 1
    assert RuleSet.from_dict(document).assign([[0.0, 0]]).tolist() == [2**31 - 1]


# Over contract (text), paid (boolean), months (integer), size (text) and "pay ment" (text): nodes 0 (contract = …),
# 1 (paid = true), 2 (size in …), 6 (contract = …), 8 and 9 (pay ment = …), 11 (months <= 12).
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change("columns", 0, "mean", 1.0), "'contract' is of type text and has a mean"),
        (change("columns", 0, "minimum", 1), "'contract' is of type text and has a mean, minimum or maximum"),
        (change("columns", 0, "values", DELETE), r"'contract' is of type text and has the values \[\]"),
        (change("columns", 0, "values", [True]), r"'contract' is of type text and has the values \[True\]"),
        (change("columns", 1, "values", ["yes", "no"]), r"'paid' is of type boolean and has the values"),
        (change("columns", 0, "values", ["a", "a"]), "'contract' has a value twice"),
        (change("columns", 0, "values", [1]), r"columns\[0\].values is \[1\], not a list of texts"),
        (change("columns", 0, "shares", [0.5]), "'contract' has 1 shares for 3 values"),
        (change("columns", 1, "shares", [0.5, 1.5]), "'paid' has a share that is not from 0 to 1"),
        (change("columns", 1, "shares", ["a"]), r"columns\[1\].shares is .*, not a list of finite numbers"),
        (change("nodes", 0, "value", "Three year"), r"compares 'contract' with \('Three year',\), which is not among"),
        (change("nodes", 0, "value", True), r"compares 'contract' with \(True,\), which is not among"),
        (change("nodes", 1, "value", "true"), r"compares 'paid' with \('true',\), which is not among"),
        (change("nodes", 0, "value", 1), r"compares 'contract' with \(1,\)"),
        (change("nodes", 0, "value", ["Two year"]), r"compares 'contract' with \(\('Two year',\),\)"),
        (change("nodes", 0, "operator", "<="), "tests the text column 'contract' by a cut"),
        (change("nodes", 2, "operator", "="), r"compares 'size' with \(\('S', 'M'\),\)"),
        (change("nodes", 2, "value", []), r"compares 'size' with \(\), which is not among"),
        (change("nodes", 2, "value", "S"), "compares 'size' with 'S'"),
        (change("columns", 2, "decimal", ";"), "'months' is of type integer and has the decimal separator ';'"),
        (change("columns", 0, "decimal", ","), "'contract' is of type text and has the decimal separator ','"),
        (change("columns", 1, "nulls", ["NA"]), "'paid' is of type boolean, and no text means"),
        (change("columns", 0, "nulls", [" NA"]), "'contract' has spaces around a text that means"),
        (change("columns", 0, "nulls", "NA"), r"columns\[0\].nulls is 'NA', not a list of texts"),
        (change("columns", 2, "imputed", 0.5), "'months' is of type integer and takes missing values as 0.5"),
        (change("columns", 2, "imputed", "12"), "'months' is of type integer and takes missing values as '12'"),
        (change("columns", 2, "imputed", 10**400), "'months' takes missing values as a number that is not finite"),
        (change("columns", 1, "imputed", 1), "'paid' is of type boolean and takes missing values as 1"),
        (change("columns", 0, "imputed", True), "'contract' is of type text and takes missing values as True"),
        (change("clusters", 0, "means", 0, 1.0), "cluster 0 has a mean of the text column 'contract'"),
        (change("clusters", 0, "means", 2, None), "cluster 0 has no mean of the integer column 'months'"),
        (change("clusters", 0, "shares", DELETE), "cluster 0 has a column 'contract' that has 0 shares for 3 values"),
        (change("clusters", 0, "shares", []), "cluster 0 has a column 'contract' that has 0 shares for 3 values"),
        (change("clusters", 0, "shares", [[1.0]]), "cluster 0 has shares of 1 columns, not of 5"),
        (change("clusters", 0, "shares", 2, [1.0]), "cluster 0 has a column 'months' that has 1 shares for 0 values"),
        (change("clusters", 0, "shares", 1, [1.0, -1.0]), "'paid' that has a share that is not from 0 to 1"),
    ],
)
def test_damaged_categories_are_refused(damage, message):
    document = json.loads(example_of_categories().to_json())
    RuleSet.from_dict(document)
    damage(document)
    with pytest.raises(RulesFormatError, match=message):
        RuleSet.from_dict(document)


def test_categories_survive(tmp_path):
    rules = example_of_categories()
    rules.to_json(tmp_path / "rules.json")
    again = RuleSet.from_json(tmp_path / "rules.json")
    assert again == rules
    assert again.nodes == rules.nodes
    assert again.columns == rules.columns


def test_a_document_without_categories_says_nothing_of_them():
    document = small_rules().to_dict()
    assert "values" not in document["columns"][0]
    assert "shares" not in document["clusters"][0]


def mutations():
    """What may stand where something else is meant."""
    return st.sampled_from([None, True, -1, 0, 1, 2, 10**30, 0.5, -1e308, "", "<=", [], {}, [[]], NAN])


@given(rule_sets(max_depth=2, kinds=MIXED), st.data())
def test_any_damage_is_refused_or_harmless(rules, data):
    document = json.loads(rules.to_json())
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 5)):
            place = place[key]
            continue
        place[key] = data.draw(mutations())
        break
    try:
        damaged = RuleSet.from_dict(document)
    except RulesFormatError:
        return
    rows = boundary_rows(damaged, 0, 5)
    assert damaged.assign(as_columns(damaged, rows)).tolist() == [route(damaged, row) for row in rows]
    assert RuleSet.from_dict(json.loads(damaged.to_json())) == damaged
    assert str(damaged)


def test_parts_that_do_not_fit_are_refused_without_a_file():
    rules = small_rules()
    with pytest.raises(RulesFormatError, match="has child 9"):
        RuleSet(rules.columns, (Cut(0, 0.5, 1, 9), *rules.nodes[1:]), rules.clusters, rules.statistics)
    extra = Cluster(9, "9", 1, 1.0, 0.1, 1.0, 1.0, (0.0, 0.0))
    with pytest.raises(RulesFormatError, match="are not those of the leaves"):
        RuleSet(rules.columns, rules.nodes, (*rules.clusters, extra), rules.statistics)


# --- matching


def as_columns(rules, rows):
    """Return rows of plain values as a mapping: floats with NaN, all else as objects, which may be None."""
    columns = {}
    for index, column in enumerate(rules.columns):
        values = [row[index] for row in rows]
        if column.type != "float":
            columns[column.name] = np.array(values, dtype=object)
        else:
            columns[column.name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return columns


@given(rule_sets(kinds=MIXED, categories=hostile_texts), st.integers(0, 2**32))
def test_matching_the_rules_is_walking_the_tree(rules, seed):
    rows = boundary_rows(rules, seed)
    found = rules.assign(as_columns(rules, rows))
    assert found.dtype == np.int32
    assert found.tolist() == [route(rules, row) for row in rows]


@given(rule_sets(), st.integers(0, 2**32))
def test_every_complete_row_matches_exactly_one_rule(rules, seed):
    complete = [[0 if v is None or v != v else v for v in row] for row in boundary_rows(rules, seed)]
    assert -1 not in rules.assign(as_columns(rules, complete)).tolist()
    for row in complete:
        matching = [
            rule
            for rule in rules
            if all(
                (c.lower is None or row[c.feature] > c.lower) and (c.upper is None or row[c.feature] <= c.upper)
                for c in rule.conditions
            )
        ]
        assert len(matching) == 1


@given(rule_sets(), st.integers(0, 2**32))
def test_single_precision_is_matched_in_double(rules, seed):
    rows = boundary_rows(rules, seed)
    columns = as_columns(rules, rows)
    with np.errstate(over="ignore"):
        single = {
            name: values.astype(np.float32) if values.dtype == float else values for name, values in columns.items()
        }
    narrowed = [
        tuple(
            float(single[column.name][i]) if column.type == "float" else row[j]
            for j, column in enumerate(rules.columns)
        )
        for i, row in enumerate(rows)
    ]  # fmt: skip
    assert rules.assign(single).tolist() == [route(rules, row) for row in narrowed]


@given(rule_sets(), st.integers(0, 2**32))
def test_integer_columns_that_come_as_floats(rules, seed):
    rows = boundary_rows(rules, seed)
    columns = {
        column.name: np.array([np.nan if row[j] is None else float(row[j]) for row in rows])
        for j, column in enumerate(rules.columns)
    }
    floats = [tuple(float(columns[column.name][i]) for column in rules.columns) for i in range(len(rows))]
    assert rules.assign(columns).tolist() == [route(rules, row) for row in floats]


def test_integers_beyond_two_to_the_53_keep_their_neighbours():
    rules = make_rules([("i", "integer")], (0, BIG + 1, 0, 1))
    near = [BIG, BIG + 1, BIG + 2, 2**63 - 1, -(2**63)]
    assert rules.assign({"i": np.array(near)}).tolist() == [0, 0, 1, 1, 0]
    assert rules.assign({"i": np.array([BIG + 1, BIG + 2, 2**64 - 1], dtype=np.uint64)}).tolist() == [0, 1, 1]
    assert rules.assign({"i": near}).tolist() == [0, 0, 1, 1, 0]
    above = make_rules([("i", "integer")], (0, BIG + 3, 0, 1))
    assert above.assign({"i": np.array([BIG + 2.0, BIG + 4.0])}).tolist() == [0, 1]


def frames():
    """Build the same table, with missing values, in every form."""
    data = {"i": [1, 5, None, 4, 1], "unused": list("abcde"), "x": [0.1, 0.9, 0.9, None, 0.5]}

    def pandas(pd):
        return pd.DataFrame({**data, "i": pd.array(data["i"], dtype="Int64")}, index=[9, 9, 3, 1, 0])

    def pandas_plain(pd):
        return pd.DataFrame(data)  # i becomes a float column

    return {
        "mapping": lambda: {**data, "i": np.array(data["i"], dtype=object)},
        "mapping of lists": lambda: {"x": [0.1, 0.9, 0.9, np.nan, 0.5], "i": [1, 5, np.nan, 4, 1]},
        "array": lambda: np.array([[0.1, 1], [0.9, 5], [0.9, np.nan], [np.nan, 4], [0.5, 1]]),
        "single precision": lambda: np.array([[0.1, 1], [0.9, 5], [0.9, np.nan], [np.nan, 4], [0.5, 1]], np.float32),
        "lists": lambda: [[0.1, 1], [0.9, 5], [0.9, None], [None, 4], [0.5, 1]],
        "pandas": lambda: pandas(pytest.importorskip("pandas")),
        "pandas, floats": lambda: pandas_plain(pytest.importorskip("pandas")),
        "polars": lambda: pytest.importorskip("polars").DataFrame(data),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(data),
    }


@pytest.mark.parametrize("form", frames())
def test_tables_of_every_form(form):
    assert small_rules().assign(frames()[form]()).tolist() == [0, 2, -1, -1, 0]


def test_a_missing_value_matters_only_where_it_is_tested():
    rules = small_rules()
    assert rules.assign({"x": [0.1, 0.9, np.nan], "i": np.array([None, None, 1], dtype=object)}).tolist() == [0, -1, -1]
    assert rules.assign({"x": [0.1, 0.9], "i": np.array([None, None], dtype=object)}).tolist() == [0, -1]


def test_infinities_are_values():
    assert small_rules().assign([[-np.inf, 0], [np.inf, -np.inf], [np.inf, np.inf]]).tolist() == [0, 1, 2]


def test_columns_that_no_rule_tests_need_not_be_there():
    rules = make_rules([("a", "float"), ("b", "float"), ("c", "float")], (1, 0.5, 0, 1))
    assert rules.assign({"b": [0.1, 0.9]}).tolist() == [0, 1]
    assert rules.assign({"other": ["x", "y"], "b": [0.1, 0.9], "c": ["text", "text"]}).tolist() == [0, 1]


def test_no_rows():
    rules = small_rules()
    assert rules.assign(np.empty((0, 2))).shape == (0,)
    assert rules.assign({"x": np.empty(0), "i": np.empty(0, int)}).dtype == np.int32


def test_a_tested_column_that_is_missing_is_named():
    with pytest.raises(DataError, match=r"test column 'i', which the table does not have; it has: 'x', 'I'"):
        small_rules().assign({"x": [0.1], "I": [1]})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": ["a"], "i": [1]}, "column 'x' is not numeric .it was read as text"),
        ({"x": ["0.1"], "i": [1]}, "column 'x' is not numeric"),
        ({"x": [0.1], "i": np.array(["2020-01-01"], "datetime64[D]")}, "column 'i' is not numeric"),
        ({"x": [0.1, 0.2], "i": [1]}, "column 'i' has 1 rows, the table 2"),
        (np.zeros((2, 3)), "the array has 3 columns, expected 2: x, i"),
        (np.zeros(2), "1 dimension"),
    ],
)
def test_tables_that_do_not_fit(table, message):
    with pytest.raises(DataError, match=message):
        small_rules().assign(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"c": [1.5], "flag": [True]}, r"column 'c' must hold text, but holds np.float64\(1.5\)"),
        ({"c": [True], "flag": [True]}, "column 'c' must hold text, but holds"),
        ({"c": np.array(["A", 1], object), "flag": [True, True]}, r"column 'c' must hold text, but holds 1 \(int\)"),
        ({"c": ["A"], "flag": ["true"]}, "column 'flag' must hold true and false, but holds 'true'"),
        ({"c": ["A"], "flag": [1]}, r"column 'flag' must hold true and false, but holds np.int64\(1\)"),
    ],
)
def test_categories_that_do_not_fit(table, message):
    rules = make_rules([("c", "text"), ("flag", "boolean")], (0, "A", 0, (1, True, 1, 2)))
    with pytest.raises(DataError, match=message):
        rules.assign(table)


def test_a_missing_category_meets_no_condition():
    rules = make_rules([("c", "text"), ("flag", "boolean")], (0, "A", 0, (1, True, 1, 2)))
    c = np.array(["A", None, "B", "B", np.nan], object)
    flag = np.array([None, True, None, False, True], object)
    assert rules.assign({"c": c, "flag": flag}).tolist() == [0, -1, -1, 2, -1]
    assert rules.assign({"c": np.array([None, np.nan]), "flag": [True, False]}).tolist() == [-1, -1]


def test_many_rules_on_many_rows():
    rules = balanced_rules(200)
    X = np.random.default_rng(0).random((500, 3))
    assert rules.assign(X).tolist() == [route(rules, row) for row in X.tolist()]
    assert re.fullmatch(r"RuleSet\(200 rules, 7 clusters, 3 columns\)", repr(rules))

"""Consistency between the parts of a rule set: no document contradicts itself."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rulesets import DELETE, MIXED, change, example_of_categories, hostile_texts, make_rules, rule_sets, small_rules

from shallowrules.errors import RulesFormatError
from shallowrules.rules import Cluster, Cut, RuleSet
from shallowrules.rules.validation import TOLERANCE

A_LEAF = {"kind": "leaf", "cluster": 0, "rows": 1, "weight": 1.0}
COLUMN = {"name": "y", "type": "float", "mean": 0.0, "minimum": 0.0, "maximum": 1.0}


def refused(document, damage):
    """Return how a document is refused once it is damaged."""
    RuleSet.from_dict(document)
    damage(document)
    with pytest.raises(RulesFormatError) as caught:
        RuleSet.from_dict(document)
    return str(caught.value)


def refusals(rules, damages):
    """Yield each change that damages a document, and the error that it causes."""
    for *place, value in damages:
        written = "left out" if value is DELETE else repr(value)
        yield f"{'.'.join(map(str, place))}: {written}", refused(json.loads(rules.to_json()), change(*place, value))


# Over the columns x (float) and i (integer): nodes 0 (x <= 0.5), 1 (leaf 0), 2 (i <= 3), 3 (leaf 1), 4 (leaf 2),
# of 38, 12 and 49 rows. Means are 10 and 41, 17 and 48, 24 and 12.
STRUCTURE = [
    ("columns", 1, "name", "x"),
    ("columns", 0, "mean", None),
    ("columns", 0, "maximum", None),
    ("columns", 0, "values", ["a"]),
    ("columns", 0, "type", "text"),
    ("columns", 0, "maximum", 10**400),
    ("columns", 1, "maximum", 10**400),
    ("columns", 1, "minimum", -(2**63) - 1),
    ("columns", 1, "minimum", -5.0),
    ("columns", 0, "minimum", 1e9),
    ("columns", 0, "mean", 101.0),
    ("columns", 1, "mean", -6),
    ("nodes", 0, "column", 2),
    ("nodes", 0, "column", -1),
    ("nodes", 0, "column", 10**30),
    ("nodes", 0, "threshold", 10**400),
    ("nodes", 2, "threshold", -(10**400)),
    ("nodes", 2, "threshold", 2**64),
    ("nodes", 2, "threshold", 3.5),
    ("nodes", 2, "threshold", 3.0),
    ("nodes", 0, {"kind": "membership", "column": 0, "values": ["a"], "left": 1, "right": 2}),
    ("nodes", 2, "left", 0),
    ("nodes", 2, "left", 2),
    ("nodes", 2, "left", 1),
    ("nodes", 2, "left", -1),
    ("nodes", 2, "right", 5),
    ("nodes", 2, "right", 3),
    ("nodes", 0, "right", 3),
    ("nodes", 5, A_LEAF),
    ("nodes", 1, "rows", -1),
    ("nodes", 1, "rows", 2**63),
    ("nodes", 1, "weight", -0.5),
    ("nodes", 1, "weight", 0),
    ("nodes", 1, "rows", 0),
    ("clusters", 2, DELETE),
    ("clusters", 1, "index", 0),
    ("clusters", 1, "index", 7),
    ("nodes", 1, "cluster", 5),
    ("nodes", 1, "cluster", 2),
    ("clusters", 1, "name", "0"),
    ("clusters", 0, "means", [1.0]),
    ("clusters", 0, "means", [1.0, 2.0, 3.0]),
    ("columns", 2, COLUMN),
    *(("statistics", name, 0) for name in ("rows", "weight")),
    *(("statistics", name, -1) for name in ("rows", "weight")),
    *(("statistics", "left_out", given) for given in (-1, 2**63)),
]  # fmt: skip


def test_what_is_no_tree_over_columns_and_clusters_is_refused(words):
    words(refusals(small_rules(), STRUCTURE))


FIGURES = [
    ("clusters", 0, "rows", -5),
    ("clusters", 0, "rows", 39),
    ("clusters", 0, "weight", 38.5),
    ("clusters", 0, "share", 0.9),
    ("clusters", 0, "share", 38 / 99 + 2e-6),
    ("clusters", 0, "share", -0.1),
    ("clusters", 0, "precision", 1.5),
    ("clusters", 0, "precision", 0.5),
    ("clusters", 0, "precision", 0.0),
    ("clusters", 0, "recall", -0.5),
    ("clusters", 0, "recall", 0),
    ("clusters", 0, "recall", 0.1),
    ("clusters", 0, "means", [101.0, 41.0]),
    ("clusters", 0, "means", [11.0, 41.0]),
    ("columns", 1, "mean", 20.0),
    ("columns", 0, "maximum", 0.25),
    ("nodes", 0, "threshold", 100.5),
    ("nodes", 0, "threshold", 100),
    ("nodes", 2, "threshold", -6),
    ("statistics", "rows", 98),
    ("statistics", "weight", 98.0),
    ("statistics", "agreement", 7.0),
    ("statistics", "agreement", 0.9),
    ("statistics", "waes", -17),
    ("statistics", "wad", 1.0),
    ("statistics", "wad", sys.float_info.max),
    ("statistics", "normalized_cost", 0.5),
    ("statistics", "cost", 0),
    *(("statistics", name, -1) for name in ("cost", "reference_cost", "tradeoff")),
]  # fmt: skip


def test_figures_that_contradict_others_are_refused(words):
    words(refusals(small_rules(), FIGURES))


def test_two_shares_that_sum_to_more_than_the_table_are_refused():
    document = make_rules([("x", "float")], (0, 0.5, 0, 1)).to_dict()
    for cluster in document["clusters"]:
        cluster["share"] = 0.9
    with pytest.raises(RulesFormatError, match="cluster 0: share"):
        RuleSet.from_dict(document)


def test_rows_without_weights_weigh_one_each():
    document = small_rules().to_dict()
    for item in (*document["clusters"], *document["nodes"]):
        if "weight" in item:
            item["weight"] *= 2
    document["statistics"]["weight"] *= 2
    with pytest.raises(RulesFormatError, match=r"nodes\[\d\]: weight"):
        RuleSet.from_dict(document)
    document["statistics"]["weighted"] = True
    assert RuleSet.from_dict(document).statistics.weighted


def test_weights_cannot_move_between_the_leaves_of_a_cluster():
    document = make_rules([("x", "float")], (0, 0.5, 0, (0, 1.5, 1, 0))).to_dict()
    first, _, last = (node for node in document["nodes"] if "weight" in node)
    first["weight"] += 1e-3
    last["weight"] -= 1e-3
    with pytest.raises(RulesFormatError, match=r"nodes\[\d\]: weight"):
        RuleSet.from_dict(document)


@pytest.mark.parametrize("method", ["exkmc", "cart", "a tree of mine"])
def test_what_only_the_training_rows_could_tell_is_free(method):
    """This is documented in docs/rules-format.md: `rules_of_tree` takes any name of a method."""
    document = make_rules([("x", "float")], (0, 0.5, 0, 1)).to_dict()
    document["statistics"].update(method=method, weighted=True, labelled=True, left_out=3, tradeoff=1.5)
    statistics = RuleSet.from_dict(document).statistics
    assert (statistics.method, statistics.labelled, statistics.left_out) == (method, True, 3)


def test_a_cost_without_a_reference_is_beyond_all_bounds():
    largest = sys.float_info.max
    for cost, reference, price in ((0.0, 0.0, 1.0), (1.0, 0.0, largest), (1e300, 1e-300, largest)):
        figures = {"cost": cost, "reference_cost": reference, "normalized_cost": price}
        assert make_rules([("x", "float")], (0, 0.5, 0, 1), **figures).statistics.normalized_cost == price
        with pytest.raises(RulesFormatError, match="normalized_cost"):
            make_rules([("x", "float")], (0, 0.5, 0, 1), **{**figures, "normalized_cost": 1.5})


def test_a_cluster_without_rows_has_no_figures():
    document = make_rules([("x", "integer"), ("c", "text")], (0, 0, (0, 5, (1, "a", 0, 0), 1), 2)).to_dict()
    empty = document["clusters"][1]
    assert (empty["rows"], empty["share"], empty["precision"], empty["shares"]) == (0, 0.0, 0.0, [[], [0.0, 0.0]])
    document["clusters"][1]["means"] = [1e9, None]  # that of its center, which may lie anywhere
    RuleSet.from_dict(document)
    for name in ("precision", "recall"):
        assert "cluster 1" in refused(json.loads(json.dumps(document)), change("clusters", 1, name, 0.5))
    assert "'c'" in refused(document, change("clusters", 1, "shares", 1, [1.0, 0.0]))


def test_a_leaf_out_of_reach_has_not_even_a_row_of_little_weight():
    cluster = {
        "index": 0,
        "name": "0",
        "rows": 1,
        "weight": 1e-9,
        "share": 1e-9,
        "precision": 1,
        "recall": 1,
        "means": [1],
    }
    document = {
        "format": "shallowrules/2",
        "columns": [{"name": "x", "type": "integer", "mean": 1, "minimum": 0, "maximum": 1}],
        "nodes": [
            {"kind": "cut", "column": 0, "threshold": 0, "left": 1, "right": 2},
            {"kind": "leaf", "cluster": 0, "rows": 1, "weight": 1e-9},
            {"kind": "leaf", "cluster": 1, "rows": 9, "weight": 1.0},
        ],
        "clusters": [cluster, {**cluster, "index": 1, "name": "1", "rows": 9, "weight": 1.0, "share": 1}],
        "statistics": {
            **small_rules().to_dict()["statistics"],
            "rows": 10,
            "weight": 1.0,
            "weighted": True,
            "agreement": 1,
            "wad": 1,
            "waes": 1,
        },
    }
    assert "nodes[1]" in refused(document, change("columns", 0, "minimum", 1))


@pytest.mark.parametrize("number", [-1, 2**63, -(2**63) - 1])
def test_a_number_that_is_no_label_is_refused(number):
    document = small_rules().to_dict()
    document["nodes"][1]["cluster"] = document["clusters"][0]["index"] = number
    with pytest.raises(RulesFormatError, match=f"{number}"):
        RuleSet.from_dict(document)


@pytest.mark.parametrize("number", [2**31 - 1, 2**31, 2**63 - 1, -2, -(2**63)])
def test_the_ends_of_labels_are_labels(number):
    document = small_rules().to_dict()
    document["nodes"][1]["cluster"] = document["clusters"][0]["index"] = number
    assert RuleSet.from_dict(document).assign([[0.0, 0]]).tolist() == [number]


# Over contract (text), paid (boolean), months (integer), size (text) and "pay ment" (text): nodes 0 (contract = …),
# 1 (paid = true), 2 (size in …), 6 (contract = …), 8 and 10 (pay ment = …), 12 (months <= 12).
CATEGORIES = [
    ("columns", 0, "mean", 1.0),
    ("columns", 0, "minimum", 1),
    ("columns", 0, "values", DELETE),
    ("columns", 0, "values", [True]),
    ("columns", 1, "values", ["yes", "no"]),
    ("columns", 0, "values", ["a", "a"]),
    ("columns", 0, "values", [1]),
    ("columns", 0, "shares", [0.5]),
    ("columns", 1, "shares", [0.5, 1.5]),
    ("columns", 1, "shares", [0.9, 0.9]),
    ("columns", 1, "shares", [0.9, 0.1]),
    ("nodes", 0, "values", ["Three year"]),
    ("nodes", 0, "values", [True]),
    ("nodes", 1, "values", ["true"]),
    ("nodes", 2, "values", []),
    ("nodes", 2, "values", ["S", "S"]),
    ("nodes", 1, "values", [True, False]),
    ("nodes", 0, "values", ["Two year", "One year", "one more"]),
    ("nodes", 0, {"kind": "cut", "column": 0, "threshold": 1, "left": 1, "right": 6}),
    ("columns", 2, "decimal", ";"),
    ("columns", 0, "decimal", ","),
    ("columns", 1, "nulls", ["NA"]),
    ("columns", 0, "nulls", [" NA"]),
    ("columns", 2, "imputed", 0.5),
    ("columns", 2, "imputed", "12"),
    ("columns", 2, "imputed", True),
    ("columns", 2, "imputed", 10**400),
    ("columns", 1, "imputed", 1),
    ("columns", 0, "imputed", True),
    ("clusters", 0, "means", 0, 1.0),
    ("clusters", 0, "means", 2, None),
    ("clusters", 0, "shares", DELETE),
    ("clusters", 0, "shares", []),
    ("clusters", 0, "shares", [[1.0]]),
    ("clusters", 0, "shares", 2, [1.0]),
    ("clusters", 0, "shares", 1, [1.0, -1.0]),
    ("clusters", 0, "shares", 1, [0.9, 0.9]),
]  # fmt: skip


def test_categories_that_contradict_the_columns_are_refused(words):
    words(refusals(example_of_categories(), CATEGORIES))


def figures_of(document):
    """Yield the place of every figure that is a float."""
    pending = [((), document)]
    while pending:
        place, item = pending.pop()
        if isinstance(item, dict | list):
            entries = item.items() if isinstance(item, dict) else enumerate(item)
            pending += [((*place, key), entry) for key, entry in entries]
        elif isinstance(item, float):
            yield place


FREE = {"cost", "reference_cost", "tradeoff", "threshold", "minimum", "maximum"}
"""Figures that others follow from, and not they from others."""


@given(rule_sets(kinds=MIXED, categories=hostile_texts), st.data())
def test_no_figure_that_follows_from_others_can_be_another(rules, data):
    document = rules.to_dict()
    places = sorted(place for place in figures_of(document) if not FREE & set(place))
    place = data.draw(st.sampled_from(places))
    entry = document
    for key in place[:-1]:
        entry = entry[key]
    figure = entry[place[-1]]
    kind, largest = place[0], 1.0
    cluster = document["clusters"][place[1]] if kind == "clusters" else None
    if cluster is not None and place[2] == "means":
        largest = max(abs(document["columns"][place[3]][end]) for end in ("minimum", "maximum"))
        largest /= cluster["share"] or 1.0
        if not cluster["rows"]:
            return  # anywhere
    elif cluster is not None and place[2] in ("precision", "recall", "shares"):
        largest = 1 / (cluster["share"] or 1.0)
        if place[2] == "recall":
            return  # bounded only: `FIGURES` has one beyond the bound
    elif place[-1] == "mean":
        largest = max(abs(document["columns"][place[1]][end]) for end in ("minimum", "maximum"))
    entry[place[-1]] = figure + data.draw(st.sampled_from([-1, 1])) * 5 * TOLERANCE * max(largest, abs(figure))
    with pytest.raises(RulesFormatError):
        RuleSet.from_dict(document)


@given(rule_sets(kinds=MIXED, categories=hostile_texts), st.data())
def test_rounding_is_no_contradiction(rules, data):
    document = rules.to_dict()
    for place in figures_of(document):
        if place[0] != "nodes" and not {"minimum", "maximum"} & set(place):
            entry = document
            for key in place[:-1]:
                entry = entry[key]
            entry[place[-1]] = float(f"{entry[place[-1]]:.12g}")
    RuleSet.from_dict(document)


def test_parts_that_do_not_fit_are_refused_without_a_file():
    rules = small_rules()
    with pytest.raises(RulesFormatError, match="has child 9"):
        replace(rules, nodes=(Cut(0, 0.5, 1, 9), *rules.nodes[1:]))
    extra = Cluster(9, "9", 1, 1.0, 0.1, 1.0, 1.0, (0.0, 0.0))
    with pytest.raises(RulesFormatError, match="are not those of the leaves"):
        replace(rules, clusters=(*rules.clusters, extra))
    with pytest.raises(RulesFormatError, match="not a number .'0.5'"):
        replace(rules, nodes=(Cut(0, "0.5", 1, 2), *rules.nodes[1:]))
    with pytest.raises(RulesFormatError, match="nan"):
        replace(rules, statistics=replace(rules.statistics, waes=float("nan")))

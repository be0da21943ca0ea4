"""What must hold between the parts of a rule set: no document contradicts itself."""

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


def refused(document, damage, message):
    RuleSet.from_dict(document)
    damage(document)
    with pytest.raises(RulesFormatError, match=message):
        RuleSet.from_dict(document)


# Over the columns x (float) and i (integer): nodes 0 (x <= 0.5), 1 (leaf 0), 2 (i <= 3), 3 (leaf 1), 4 (leaf 2),
# of 38, 12 and 49 rows. Means are 10 and 41, 17 and 48, 24 and 12.
STRUCTURE = [
    (change("columns", 1, "name", "x"), "two columns have the same name"),
    (change("columns", 0, "mean", None), "column 'x' is of type float and has no mean"),
    (change("columns", 0, "maximum", None), "column 'x' is of type float and has no mean, minimum or maximum"),
    (change("columns", 0, "values", ["a"]), "column 'x' is of type float and has values"),
    (change("columns", 0, "type", "text"), "column 'x' is of type text and has a mean, minimum or maximum"),
    (change("columns", 0, "maximum", 10**400), "column 'x' is of type float and has a maximum that is not finite"),
    (change("columns", 1, "maximum", 10**400), "'i' is of type integer and has a maximum that is beyond 64 bits"),
    (change("columns", 1, "minimum", -(2**63) - 1), "'i' is of type integer and has a minimum that is beyond 64 b"),
    (change("columns", 1, "minimum", -5.0), "'i' is of type integer and has a minimum that is not a whole"),
    (change("columns", 0, "minimum", 1e9), "minimum 1000000000.0 above its maximum"),
    (change("columns", 0, "mean", 101.0), "column 'x' has the mean 101.0, outside -5 to 100"),
    (change("columns", 1, "mean", -6), "column 'i' has the mean -6.0, outside -5 to 100"),
    (change("nodes", 0, "column", 2), r"nodes\[0\] tests column 2; there are 2 columns"),
    (change("nodes", 0, "column", -1), r"nodes\[0\] tests column -1; there are 2 columns"),
    (change("nodes", 0, "column", 10**30), r"nodes\[0\] tests column 10+; there are 2 columns"),
    (change("nodes", 0, "threshold", 10**400), r"nodes\[0\] cuts the float column 'x' at a threshold that is not f"),
    (change("nodes", 2, "threshold", -(10**400)), r"\[2\] cuts the integer column 'i' at a threshold that is beyond"),
    (change("nodes", 2, "threshold", 2**64), r"\[2\] cuts the integer column 'i' at a threshold that is beyond"),
    (change("nodes", 2, "threshold", 3.5), r"'i' at a threshold that is not a whole number \(3.5\)"),
    (change("nodes", 2, "threshold", 3.0), r"'i' at a threshold that is not a whole number \(3.0\)"),
    (change("nodes", 0, {"kind": "membership", "column": 0, "values": ["a"], "left": 1, "right": 2}),
     r"nodes\[0\] tests the float column 'x' by categories"),
    (change("nodes", 2, "left", 0), r"nodes\[2\] has child 0: .*no cycles"),
    (change("nodes", 2, "left", 2), r"nodes\[2\] has child 2: .*no cycles"),
    (change("nodes", 2, "left", 1), r"nodes\[2\] has child 1: .*no cycles"),
    (change("nodes", 2, "left", -1), r"nodes\[2\] has child -1"),
    (change("nodes", 2, "right", 5), r"nodes\[2\] has child 5"),
    (change("nodes", 2, "right", 3), r"nodes\[3\] has 2 parents"),
    (change("nodes", 0, "right", 3), r"nodes\[2\] has 0 parents"),
    (change("nodes", 5, A_LEAF), r"nodes\[5\] has 0 parents"),
    (change("nodes", 1, "rows", -1), r"nodes\[1\] has a negative number of rows or weight"),
    (change("nodes", 1, "rows", 2**63), r"nodes\[1\] has .* more than 64 bits hold"),
    (change("nodes", 1, "weight", -0.5), r"nodes\[1\] has a negative number of rows or weight"),
    (change("nodes", 1, "weight", 0), r"nodes\[1\] has 38 rows of weight 0.0"),
    (change("nodes", 1, "rows", 0), r"nodes\[1\] has 0 rows of weight 38.0"),
    (change("clusters", 2, DELETE), r"clusters listed \(\[0, 1\]\) are not those of the leaves \(\[0, 1, 2\]\)"),
    (change("clusters", 1, "index", 0), "are not those of the leaves"),
    (change("clusters", 1, "index", 7), "are not those of the leaves"),
    (change("nodes", 1, "cluster", 5), "are not those of the leaves"),
    (change("nodes", 1, "cluster", 2), "are not those of the leaves"),
    (change("clusters", 1, "name", "0"), "the clusters 0 and 1 have the same name, '0'"),
    (change("clusters", 0, "means", [1.0]), "cluster 0 has 1 means for 2 columns"),
    (change("clusters", 0, "means", [1.0, 2.0, 3.0]), "cluster 0 has 3 means for 2 columns"),
    (change("columns", 2, COLUMN), "cluster 0 has 2 means for 3 columns"),
    *((change("statistics", name, 0), "must be positive") for name in ("rows", "weight")),
    *((change("statistics", name, -1), "must be positive") for name in ("rows", "weight")),
    *((change("statistics", "left_out", given), "statistics.left_out is") for given in (-1, 2**63)),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), STRUCTURE, ids=range(len(STRUCTURE)))
def test_what_is_no_tree_over_columns_and_clusters_is_refused(damage, message):
    refused(small_rules().to_dict(), damage, message)


FIGURES = [
    (change("clusters", 0, "rows", -5), "cluster 0 has -5 rows, its leaves have 38"),
    (change("clusters", 0, "rows", 39), "cluster 0 has 39 rows, its leaves have 38"),
    (change("clusters", 0, "weight", 38.5), "cluster 0: weight is 38.5, but its leaves give 38"),
    (change("clusters", 0, "share", 0.9), "cluster 0: share is 0.9, but the weights give 0.38"),
    (change("clusters", 0, "share", 38 / 99 + 2e-6), "cluster 0: share is 0.3838.*, but the weights give 0.3838"),
    (change("clusters", 0, "share", -0.1), "cluster 0: share is -0.1, not a share from 0 to 1"),
    (change("clusters", 0, "precision", 1.5), "cluster 0: precision is 1.5, not a share"),
    (change("clusters", 0, "precision", 0.5), "statistics.agreement is 0.9625, but the clusters' precision"),
    (change("clusters", 0, "precision", 0.0), "the precision 0.0 and the recall 0.97: both are 0 or"),
    (change("clusters", 0, "recall", -0.5), "cluster 0: recall is -0.5, not a share"),
    (change("clusters", 0, "recall", 0), "the precision 0.9625 and the recall 0.0: both are 0 or"),
    (change("clusters", 0, "recall", 0.1), "unrestricted clusters hold 4.3.* of the weight, more than there is"),
    (change("clusters", 0, "means", [101.0, 41.0]), "cluster 0 has the mean 101.0 of column 'x', outside -5 to 100"),
    (change("clusters", 0, "means", [11.0, 41.0]), "column 'x' has the mean 1.*, but the clusters give 1"),
    (change("columns", 1, "mean", 20.0), "column 'i' has the mean 20.0, but the clusters give"),
    (change("columns", 0, "maximum", 0.25), "outside -5 to 0.25"),
    (change("nodes", 0, "threshold", 100.5), r"nodes\[4\] has 49 rows, more than there are with x > 100.5"),
    (change("nodes", 0, "threshold", 100), r"nodes\[4\] has 49 rows, more than there are with x > 100 by"),
    (change("nodes", 2, "threshold", -6), r"nodes\[3\] has 12 rows, more than there are with i <= -6 by"),
    (change("statistics", "rows", 98), "statistics.rows is 98, which is not the sum over the clusters, 99"),
    (change("statistics", "weight", 98.0), "share is .*, but the weights give"),
    (change("statistics", "agreement", 7.0), "statistics.agreement is 7.0, not a share"),
    (change("statistics", "agreement", 0.9), "statistics.agreement is 0.9, but the clusters' precision and share give"),
    (change("statistics", "waes", -17), "statistics.waes is -17.0, but the leaves give 1.6"),
    (change("statistics", "wad", 1.0), "statistics.wad is 1.0, but the leaves give 1.6"),
    (change("statistics", "wad", sys.float_info.max), "statistics.wad is 1.79.*, but the leaves give"),
    (change("statistics", "normalized_cost", 0.5), "statistics.normalized_cost is 0.5, but the costs give 1.02875"),
    (change("statistics", "cost", 0), "statistics.normalized_cost is 1.02875, but the costs give 0"),
    *((change("statistics", name, -1), "must not be negative") for name in ("cost", "reference_cost", "tradeoff")),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), FIGURES, ids=range(len(FIGURES)))
def test_figures_that_contradict_others_are_refused(damage, message):
    refused(small_rules().to_dict(), damage, message)


def test_two_shares_that_sum_to_more_than_the_table_are_refused():
    document = make_rules([("x", "float")], (0, 0.5, 0, 1)).to_dict()
    for cluster in document["clusters"]:
        cluster["share"] = 0.9
    with pytest.raises(RulesFormatError, match="cluster 0: share is 0.9, but the weights give"):
        RuleSet.from_dict(document)


def test_rows_without_weights_weigh_one_each():
    document = small_rules().to_dict()
    for item in (*document["clusters"], *document["nodes"]):
        if "weight" in item:
            item["weight"] *= 2
    document["statistics"]["weight"] *= 2
    with pytest.raises(RulesFormatError, match=r"nodes\[\d\]: weight is .* its rows, which have no weights, give"):
        RuleSet.from_dict(document)
    document["statistics"]["weighted"] = True
    assert RuleSet.from_dict(document).statistics.weighted


def test_weights_cannot_move_between_the_leaves_of_a_cluster():
    document = make_rules([("x", "float")], (0, 0.5, 0, (0, 1.5, 1, 0))).to_dict()
    first, _, last = (node for node in document["nodes"] if "weight" in node)
    first["weight"] += 1e-3
    last["weight"] -= 1e-3
    with pytest.raises(RulesFormatError, match=r"nodes\[\d\]: weight is .* its rows, which have no weights, give"):
        RuleSet.from_dict(document)


@pytest.mark.parametrize("method", ["exkmc", "cart", "a tree of mine"])
def test_what_only_the_training_rows_could_tell_is_free(method):
    """Documented so in docs/rules-format.md: `RuleSet.from_tree` takes any name of a method."""
    document = make_rules([("x", "float")], (0, 0.5, 0, 1)).to_dict()
    document["statistics"].update(method=method, weighted=True, labelled=True, left_out=3, tradeoff=1.5)
    statistics = RuleSet.from_dict(document).statistics
    assert (statistics.method, statistics.labelled, statistics.left_out) == (method, True, 3)


def test_a_cost_without_a_reference_is_beyond_all_bounds():
    largest = sys.float_info.max
    for cost, reference, price in ((0.0, 0.0, 1.0), (1.0, 0.0, largest), (1e300, 1e-300, largest)):
        figures = {"cost": cost, "reference_cost": reference, "normalized_cost": price}
        assert make_rules([("x", "float")], (0, 0.5, 0, 1), **figures).statistics.normalized_cost == price
        with pytest.raises(RulesFormatError, match="normalized_cost is 1.5, but the costs give"):
            make_rules([("x", "float")], (0, 0.5, 0, 1), **{**figures, "normalized_cost": 1.5})


def test_a_cluster_without_rows_has_no_figures():
    document = make_rules([("x", "integer"), ("c", "text")], (0, 0, (0, 5, (1, "a", 0, 0), 1), 2)).to_dict()
    empty = document["clusters"][1]
    assert (empty["rows"], empty["share"], empty["precision"], empty["shares"]) == (0, 0.0, 0.0, [[], [0.0, 0.0]])
    document["clusters"][1]["means"] = [1e9, None]  # that of its center, which may lie anywhere
    RuleSet.from_dict(document)
    for name in ("precision", "recall"):
        refused(json.loads(json.dumps(document)), change("clusters", 1, name, 0.5), "cluster 1 has no rows, but the")
    refused(document, change("clusters", 1, "shares", 1, [1.0, 0.0]), "'c' that has shares that sum to 1, not to 0")


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
    refused(document, change("columns", 0, "minimum", 1), r"nodes\[1\] has 1 row, more than there are with x <= 0")


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
    (change("columns", 0, "mean", 1.0), "'contract' is of type text and has a mean"),
    (change("columns", 0, "minimum", 1), "'contract' is of type text and has a mean, minimum or maximum"),
    (change("columns", 0, "values", DELETE), r"'contract' is of type text and has the values \[\]"),
    (change("columns", 0, "values", [True]), r"'contract' is of type text and has the values \[True\]"),
    (change("columns", 1, "values", ["yes", "no"]), r"'paid' is of type boolean and has the values"),
    (change("columns", 0, "values", ["a", "a"]), "'contract' has a value twice"),
    (change("columns", 0, "values", [1]), r"columns\[0\].values\[0\] is 1, not text or true or false"),
    (change("columns", 0, "shares", [0.5]), "'contract' has 1 shares for 3 values"),
    (change("columns", 1, "shares", [0.5, 1.5]), "'paid' has a share that is not from 0 to 1"),
    (change("columns", 1, "shares", [0.9, 0.9]), "'paid' has shares that sum to 1.8, not to 1"),
    (change("columns", 1, "shares", [0.9, 0.1]), "'paid' has the share 0.9 of True, but the clusters give"),
    (change("nodes", 0, "values", ["Three year"]), r"compares 'contract' with \['Three year'\], not all of which are"),
    (change("nodes", 0, "values", [True]), r"compares 'contract' with \[True\], not all of which are values"),
    (change("nodes", 1, "values", ["true"]), r"compares 'paid' with \['true'\], not all of which are values"),
    (change("nodes", 2, "values", []), r"compares 'size' with \[\], not all of which are values"),
    (change("nodes", 2, "values", ["S", "S"]), r"compares 'size' with \['S', 'S'\], a value twice"),
    (change("nodes", 1, "values", [True, False]), r"nodes\[5\] has 86 rows, more than there are with paid in \(\)"),
    (change("nodes", 0, "values", ["Two year", "One year", "one more"]), r"nodes\[13\] has .* more than there are"),
    (change("nodes", 0, {"kind": "cut", "column": 0, "threshold": 1, "left": 1, "right": 6}),
     r"nodes\[0\] tests the text column 'contract' by a cut"),
    (change("columns", 2, "decimal", ";"), "'months' is of type integer and has the decimal separator ';'"),
    (change("columns", 0, "decimal", ","), "'contract' is of type text and has the decimal separator ','"),
    (change("columns", 1, "nulls", ["NA"]), "'paid' is of type boolean, and no text means"),
    (change("columns", 0, "nulls", [" NA"]), "'contract' has spaces around a text that means"),
    (change("columns", 2, "imputed", 0.5), "'months' is of type integer and takes missing values as something that"),
    (change("columns", 2, "imputed", "12"), "takes missing values as something that is not a number"),
    (change("columns", 2, "imputed", True), "takes missing values as something that is not a number"),
    (change("columns", 2, "imputed", 10**400), "takes missing values as something that is beyond"),
    (change("columns", 1, "imputed", 1), "'paid' is of type boolean and takes missing values as 1"),
    (change("columns", 0, "imputed", True), "'contract' is of type text and takes missing values as True"),
    (change("clusters", 0, "means", 0, 1.0), "cluster 0 has a mean of the text column 'contract'"),
    (change("clusters", 0, "means", 2, None), "cluster 0 has no mean of the integer column 'months'"),
    (change("clusters", 0, "shares", DELETE), "cluster 0 has a column 'contract' that has 0 shares for 3 values"),
    (change("clusters", 0, "shares", []), "cluster 0 has a column 'contract' that has 0 shares for 3 values"),
    (change("clusters", 0, "shares", [[1.0]]), "cluster 0 has shares of 1 columns, not of 5"),
    (change("clusters", 0, "shares", 2, [1.0]), "cluster 0 has a column 'months' that has 1 shares for 0 values"),
    (change("clusters", 0, "shares", 1, [1.0, -1.0]), "'paid' that has a share that is not from 0 to 1"),
    (change("clusters", 0, "shares", 1, [0.9, 0.9]), "'paid' that has shares that sum to 1.8, not to 1"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), CATEGORIES, ids=range(len(CATEGORIES)))
def test_categories_that_contradict_the_columns_are_refused(damage, message):
    refused(json.loads(example_of_categories().to_json()), damage, message)


def figures_of(document):
    """Give the place of every figure that is a float."""
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
        largest /= cluster["share"] or 0.0 if cluster["share"] else 1.0
        if not cluster["rows"]:
            return  # anywhere
    elif cluster is not None and place[2] in ("precision", "recall", "shares"):
        largest = 1 / cluster["share"] if cluster["share"] else 1.0
        if place[2] == "recall":
            return  # bounded only: test_recall_is_bounded_by_precision
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

"""The JSON document: written, read, and refused where an entry is not of its type."""

from __future__ import annotations

import io
import json
import os
import warnings
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from rulesets import (
    DELETE,
    MIXED,
    as_columns,
    boundary_rows,
    change,
    damaged_documents,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
    small_rules,
)

from shallowrules.errors import RulesFormatError, ShallowRulesWarning
from shallowrules.rules import Cluster, Cut, Leaf, Membership, RuleColumn, RuleSet, Statistics

TWO_LEAVES = (0, 0.5, 0, 1)
NAN, INF = float("nan"), float("inf")
DOCUMENTS = Path(__file__).parents[1] / "documents"


# --- out and in


@given(rule_sets(names=hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
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


def test_json_is_read_from_text_bytes_paths_and_open_files(tmp_path):
    rules = example_rules()
    path = tmp_path / "{a}.json"
    text = rules.to_json(path)
    sources = [text, "\ufeff \n" + text, text.encode(), bytearray(text.encode()), path, str(path)]
    sources += [io.StringIO(text), io.BytesIO(text.encode())]
    for source in sources:
        assert RuleSet.from_json(source) == rules
    with path.open(encoding="utf-8") as stream, path.open("rb") as content:
        assert RuleSet.from_json(stream) == RuleSet.from_json(content) == rules
    for damaged in (text[:-9], text[:-9].encode(), io.StringIO(text[:-9])):
        with pytest.raises(RulesFormatError, match=r"^not valid JSON"):
            RuleSet.from_json(damaged)
    path.write_text(text[:-9], encoding="utf-8")
    with path.open(encoding="utf-8") as stream, pytest.raises(RulesFormatError, match=r"\{a\}.json: not valid JSON"):
        RuleSet.from_json(stream)
    with pytest.raises(FileNotFoundError):
        RuleSet.from_json("absent.json")
    with pytest.raises(RulesFormatError, match=r"expected a path, .* not a dict: read it with from_dict$"):
        RuleSet.from_json(rules.to_dict())
    for other in (None, memoryview(text.encode()), 3):
        with pytest.raises(RulesFormatError, match=rf"expected a path, .* not a {type(other).__name__}$"):
            RuleSet.from_json(other)


def test_statistics_and_notes_survive(tmp_path):
    rules = make_rules([("x", "float")], TWO_LEAVES, weighted=True, notes=("one", "two"))
    again = RuleSet.from_json(str(rules.to_json(tmp_path / "a.json") and tmp_path / "a.json"))
    assert again.statistics == rules.statistics
    assert again.statistics.weighted is True
    assert again.statistics.notes == ("one", "two")


def test_whole_numbers_are_taken_where_floats_are_meant(tmp_path):
    document = example_rules().to_dict()
    document["statistics"].update(cost=7, reference_cost=7, normalized_cost=1)
    weight = int(document["nodes"][-1]["weight"])
    document["nodes"][-1]["weight"] = weight
    rules = RuleSet.from_dict(document)
    assert type(rules.statistics.cost) is float
    assert type(rules.nodes[-1].weight) is float


def test_the_document_says_its_format_first():
    text = example_rules().to_json()
    assert text.startswith('{\n "format": "shallowrules/2",\n')
    assert text.endswith("}\n")


def test_non_finite_figures_are_not_written(tmp_path):
    rules = make_rules([("x", "float")], TWO_LEAVES, cost=INF)
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


def test_a_node_says_its_kind():
    nodes = example_of_categories().to_dict()["nodes"]
    assert nodes[0] == {"kind": "membership", "column": 0, "values": ["Two year"], "left": 1, "right": 6}
    assert nodes[2] == {"kind": "membership", "column": 3, "values": ["S", "M"], "left": 3, "right": 4, "ordered": True}
    assert nodes[3] == {"kind": "leaf", "cluster": 0, "rows": 12, "weight": 12.0}
    assert nodes[12] == {"kind": "cut", "column": 2, "threshold": 12, "left": 13, "right": 14}


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


# --- what a newer or an older version wrote


@pytest.mark.parametrize(
    "name", ["cart", "categories", "conversion", "labels", "leaf", "numbers", "ordered", "weights"]
)
def test_documents_of_before_are_read_and_written_as_they_were(name):
    path = DOCUMENTS / f"{name}.json"
    assert RuleSet.from_json(path).to_json() == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "place",
    [(), ("columns", 0), ("nodes", 0), ("nodes", 1), ("clusters", 0), ("statistics",)],
    ids=lambda place: ".".join(map(str, place)) or "top",
)
def test_an_entry_that_is_not_known_is_left_out_with_a_warning(place):
    rules = small_rules()
    document = rules.to_dict()
    change(*place, "median \x1b", {"any": ["thing"]})(document)
    with pytest.warns(ShallowRulesWarning, match=r"does not know the entries 'median \\x1b'"):
        assert RuleSet.from_dict(document) == rules


def test_a_kind_of_node_that_is_not_known_is_refused():
    document = small_rules().to_dict()
    document["nodes"][0]["kind"] = "slope"
    with pytest.raises(RulesFormatError, match=r"nodes\[0\].kind is 'slope', not one of cut, membership, leaf"):
        RuleSet.from_dict(document)


def test_an_optional_entry_is_not_written_where_it_has_its_default():
    document = small_rules().to_dict()
    optional = {
        (kind, entry.name): entry.default
        for kind in (RuleColumn, Cut, Membership, Leaf, Cluster, Statistics)
        for entry in fields(kind)
        if entry.metadata.get("optional")
    }
    assert {name for _, name in optional} == {
        *("values", "shares", "codes", "dates", "decimal", "nulls", "format", "imputed", "edges", "ordered"),
        *("other_columns", "measure", "total", "unmeasured", "noise", "precision"),
        *(
            "separation",
            "quartiles",
            "deltas",
            "medians",
            "histograms",
            "reference_clusters",
            "reference_weights",
            "note",
            "named_by_rules",
        ),
    }
    for (kind, name), default in optional.items():
        part = {RuleColumn: "columns", Cluster: "clusters", Statistics: "statistics"}.get(kind, "nodes")
        items = [document[part]] if part == "statistics" else document[part]
        assert all(name not in item for item in items)
        if part != "nodes":
            place = (part,) if part == "statistics" else (part, 0)
            change(*place, name, list(default) if isinstance(default, tuple) else default)(document)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RuleSet.from_dict(document) == small_rules()


def test_the_other_columns_of_the_table_are_kept():
    rules = small_rules()
    rules = replace(rules, statistics=replace(rules.statistics, other_columns=("segment", "id")))
    assert RuleSet.from_dict(rules.to_dict()) == rules
    document = rules.to_dict()
    document["statistics"]["other_columns"] = ["segment", "x"]
    with pytest.raises(RulesFormatError, match="two columns have the same name"):
        RuleSet.from_dict(document)


# --- refused


def refused(path, text, message):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with pytest.raises(RulesFormatError, match=message) as caught:
        RuleSet.from_json(path)
    assert str(path) in str(caught.value)


@pytest.mark.slow
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
        (example_rules().to_json().replace("12.85", "1e999"), r"nodes\[0\].threshold is inf, not a finite number"),
        (example_rules().to_json().replace('"alcohol"', '"\\ud800"'), r"columns\[0\].name is '\\ud800', not text"),
        (example_rules().to_json().replace('"format"', '"format": "shallowrules/2", "format"', 1), "repeats the key"),
        (example_rules().to_json().replace('"left": 1', '"left": 1, "left": 2', 1), "repeats the key"),
        ("null", "the top level is not a JSON object"),
        ("[]", "the top level is not a JSON object"),
        ("{}", 'its "format" is None'),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(tmp_path, text, message):
    refused(tmp_path / "rules.json", text, message)


PARTS = ("columns", "nodes", "clusters")


def lacking(*place, names):
    """Yield a change that removes an entry, for each entry, and the message."""
    where = place[0] if len(place) == 1 else rf"{place[0]}\[{place[1]}\]"
    for name in names:
        yield change(*place, name, DELETE), f"{where} lacks {name}"


def mistyped(*place, meant, values):
    """Yield a change to each value that gives it a wrong type, and the message."""
    first, *rest = place
    where = first + "".join(rf"\[{entry}\]" if isinstance(entry, int) else f".{entry}" for entry in rest)
    for value in values:
        yield change(*place, value), f"{where} is .*, not {meant}"


# Over the columns x (float) and i (integer): nodes 0 (x <= 0.5), 1 (leaf 0), 2 (i <= 3), 3 (leaf 1), 4 (leaf 2).
TYPES = "integer, float, date, timestamp, timestamptz, duration, text or boolean"

DAMAGES = [
    (change("format", "shallowrules/3"), r"its \"format\" is 'shallowrules/3'.*if a newer version wrote it"),
    (change("format", 1), 'its "format" is 1'),
    (change("format", ["shallowrules/2"]), 'its "format" is'),
    (change("format", DELETE), 'its "format" is None'),
    *((change(part, DELETE), f"'{part}' must be a list") for part in PARTS),
    *((change(part, []), f"'{part}' must be a list that is not empty") for part in PARTS),
    *((change(part, {"0": 1}), f"'{part}' must be a list") for part in PARTS),
    *((change(part, 0, "text"), rf"{part}\[0\] must be an object") for part in PARTS),
    *((change(part, 0, None), rf"{part}\[0\] must be an object") for part in PARTS),
    (change("statistics", DELETE), "statistics must be an object"),
    (change("statistics", []), "statistics must be an object"),
    # entries that are not there
    *lacking("columns", 0, names=("name", "type", "mean", "minimum", "maximum")),
    *lacking("nodes", 0, names=("column", "threshold", "left", "right")),
    *lacking("nodes", 1, names=("cluster", "rows", "weight")),
    *lacking("clusters", 0, names=("index", "name", "rows", "weight", "share", "precision", "recall", "means")),
    *lacking("statistics", names=[entry.name for entry in fields(Statistics) if not entry.metadata.get("optional")]),
    *((change("nodes", 0, "kind", given), r"nodes\[0\].kind is") for given in (DELETE, None, 1, "", "Cut", ["cut"])),
    (change("nodes", 0, "kind", "leaf"), r"nodes\[0\] lacks cluster, rows, weight"),
    (change("nodes", 0, "kind", "membership"), r"nodes\[0\] lacks values"),
    # wrong types
    *mistyped("columns", 0, "name", meant="text", values=[1, None, ["x"], "\ud800"]),
    *mistyped("columns", 0, "type", meant=TYPES, values=["day", 1, None, []]),
    *mistyped("columns", 0, "mean", meant="a finite number or null", values=["1", True, NAN, []]),
    *mistyped("columns", 0, "minimum", meant="a finite number or null", values=["1", True, -INF]),
    *mistyped("columns", 0, "values", meant="a list", values=["ab", None, {}]),
    *mistyped("columns", 0, "imputed", meant="a finite number, text, true or false or null", values=[[], NAN, {}]),
    *mistyped("nodes", 0, "threshold", meant="a finite number", values=[None, [0.5], NAN, INF, "0.5", True]),
    *mistyped("nodes", 0, "column", meant="a whole number", values=[0.0, "0", None, False]),
    *mistyped("nodes", 0, "left", meant="a whole number", values=[1.0, "1", None, True]),
    *mistyped("nodes", 1, "rows", meant="a whole number", values=[1.5, "1", None, True]),
    *mistyped("nodes", 1, "cluster", meant="a whole number", values=[0.0, "0", None]),
    *mistyped("nodes", 1, "weight", meant="a finite number", values=["1", None, True, INF]),
    *mistyped("clusters", 0, "name", meant="text", values=[0, None]),
    *mistyped("clusters", 0, "means", meant="a list", values=[0, "ab", None]),
    *mistyped("clusters", 0, "means", 1, meant="a finite number or null", values=["2", NAN, False]),
    *mistyped("clusters", 0, "shares", meant="a list", values=[0, "ab", None]),
    *mistyped("clusters", 0, "shares", 0, meant="a list", values=[0, "ab", None]),
    *mistyped("statistics", "weighted", meant="true or false", values=[0, "no", None]),
    *mistyped("statistics", "notes", meant="a list", values=["text", None]),
    (change("statistics", "notes", [1]), r"statistics.notes\[0\] is 1, not text"),
    (change("columns", 0, "mean", 10**400), r"columns\[0\].mean is too large a number"),
    (change("clusters", 0, "weight", -(10**400)), r"clusters\[0\].weight is too large a number"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=range(len(DAMAGES)))
def test_damaged_documents_are_refused(damage, message):
    document = small_rules().to_dict()
    document["clusters"][0]["shares"] = [[], []]
    assert RuleSet.from_dict(document).nodes == small_rules().nodes
    damage(document)
    with pytest.raises(RulesFormatError, match=message):
        RuleSet.from_dict(document)


def test_a_value_of_thousands_of_digits_is_shown_in_part():
    document = small_rules().to_dict()
    document["columns"][0]["name"] = [1] * 1000
    with pytest.raises(RulesFormatError, match=r"is \[1, 1, .*\.\.\., not text$") as caught:
        RuleSet.from_dict(document)
    assert len(str(caught.value)) < 120


@given(damaged_documents(rule_sets(max_depth=2, kinds=MIXED)))
def test_any_damage_is_refused_or_harmless(document):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShallowRulesWarning)
            damaged = RuleSet.from_dict(document)
    except RulesFormatError:
        return
    rows = boundary_rows(damaged, 0, 5)
    assert damaged.assign(as_columns(damaged, rows)).tolist() == [route(damaged, row) for row in rows]
    assert RuleSet.from_dict(json.loads(damaged.to_json())) == damaged
    assert str(damaged)

"""The JSON Schema and the page of the format, checked against the loader."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import fields, replace
from typing import get_args

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    DELETE,
    MIXED,
    change,
    damaged_documents,
    example_of_categories,
    hostile_names,
    hostile_texts,
    rule_sets,
    small_rules,
)

from shallowrules.errors import RulesFormatError, ShallowRulesWarning
from shallowrules.rules import (
    Cluster,
    Clustering,
    Cut,
    Flow,
    Leaf,
    Membership,
    Node,
    RuleColumn,
    RuleSet,
    Statistics,
)

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads((ROOT / "docs" / "rules.schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "rules-format.md").read_text(encoding="utf-8")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PARTS = {
    "column": RuleColumn,
    "cut": Cut,
    "membership": Membership,
    "leaf": Leaf,
    "cluster": Cluster,
    "statistics": Statistics,
    "clustering": Clustering,
    "flow": Flow,
}


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(PARTS.values()) == {RuleColumn, Cluster, Statistics, Clustering, Flow, *get_args(Node)}


@pytest.mark.parametrize("part", PARTS)
def test_the_schema_has_every_field(part):
    described, known = SCHEMA["$defs"][part], fields(PARTS[part])
    assert list(described["properties"]) == [entry.name for entry in known]
    assert described["required"] == [entry.name for entry in known if not entry.metadata.get("optional")]
    for entry in known:
        if entry.metadata.get("optional"):
            default = list(entry.default) if isinstance(entry.default, tuple) else entry.default
            assert described["properties"][entry.name]["default"] == default


def test_the_page_has_every_entry():
    _, *sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    text = {section.split("\n")[0]: section for section in sections}
    places = {
        "column": "columns",
        "cluster": "clusters",
        **{name: name for name in ("statistics", "clustering", "flow")},
    }
    for part, kind in PARTS.items():
        for entry in fields(kind):
            assert f"`{entry.name}`" in text[places.get(part, "nodes")], f"{part}.{entry.name} is not on the page"
    assert all(f"`{kind}`" in text["nodes"] for kind in ("cut", "membership", "leaf"))


def test_the_example_of_the_page_loads():
    [example] = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    document = json.loads(example)
    VALIDATOR.validate(document)
    rules = RuleSet.from_dict(document)
    assert RuleSet.from_dict(rules.to_dict()) == rules
    assert rules.assign({"months": [12, 13, 0], "contract": ["monthly", "monthly", "other"]}).tolist() == [0, 1, 1]


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "documents").glob("*.json")), ids=lambda path: path.stem)
def test_documents_are_valid(path):
    VALIDATOR.validate(json.loads(path.read_text(encoding="utf-8")))


@given(rule_sets(names=hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_what_is_written_is_valid(rules):
    VALIDATOR.validate(json.loads(rules.to_json()))


@given(damaged_documents(rule_sets(max_depth=2, kinds=MIXED)))
def test_what_the_schema_refuses_the_loader_refuses(document):
    valid = VALIDATOR.is_valid(document)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShallowRulesWarning)
            RuleSet.from_dict(document)
    except RulesFormatError:
        return
    assert valid


def junk(schema):
    """Yield values of a different type than a part of the schema allows."""
    return [value for value in (None, True, "text", 1.5, -1, 10**400, {}, ["a"]) if not is_meant(value, schema)]


def is_meant(value, schema):
    return jsonschema.Draft202012Validator({**schema, "$defs": SCHEMA["$defs"]}).is_valid(value)


def going_on():
    """Return rules that record what a later fit continues from, and where their rows were by earlier ones."""
    rules = small_rules()
    numbers = tuple(cluster.index for cluster in rules.clusters)
    clustering = Clustering("minmax", 0.7, (0, 1), (None, None), (0.5, 2.0), (3.0, 1.0), ((0.1, 0.2), (0.7, 1.0)))
    flow = Flow((3, 4), ("3", "4 (old)"), ((-1, numbers[0], 2), (3, numbers[0], 5), (4, numbers[-1], 1)))
    return replace(rules, clustering=clustering, flow=flow)


def test_what_a_later_fit_goes_on_from_is_kept():
    rules = going_on()
    document = json.loads(rules.to_json())
    VALIDATOR.validate(document)
    assert RuleSet.from_dict(document) == rules
    for part in ("clustering", "flow"):
        for name, meant in SCHEMA["$defs"][part]["properties"].items():
            for value in (DELETE, *junk(meant)):
                damaged = json.loads(rules.to_json())
                change(part, name, value)(damaged)
                assert not VALIDATOR.is_valid(damaged), (part, name, value)
                with pytest.raises(RulesFormatError):
                    RuleSet.from_dict(damaged)
    moved = {cluster.index: cluster.index + 20 for cluster in rules.clusters}
    assert [new for _, new, _ in rules.with_numbers(moved).flow.pairs] == [moved[new] for _, new, _ in rules.flow.pairs]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (change("clustering", "units", [1.0]), "different lengths"),
        (change("clustering", "units", [1.0, 0.0]), "not above 0"),
        (change("clustering", "columns", [0, 9]), "not among the 2 columns"),
        (change("clustering", "centers", [[0.1]]), "without a number for each"),
        (change("flow", "titles", ["3"]), "or a cluster without a title"),
        (change("flow", "pairs", [[3, 0]]), "must be lists"),
        (change("flow", "pairs", [[5, 0, 1]]), "not listed"),
        (change("flow", "pairs", [[3, 77, 1]]), "not listed"),
        (change("flow", "pairs", [[3, 0, 0]]), "no rows"),
        (change("flow", "pairs", [[3, 0, 1], [3, 0, 2]]), "same two clusters twice"),
        (change("flow", "clusters", [3, -1]), "means none"),
    ],
)
def test_what_contradicts_itself_is_refused(damage, words):
    document = going_on().to_dict()
    damage(document)
    with pytest.raises(RulesFormatError, match=words):
        RuleSet.from_dict(document)


def required_and_mistyped():
    """Yield, for each entry of each part, a document without it and others where it has a wrong type."""
    places = {
        "column": ("columns", 0),
        "membership": ("nodes", 0),
        "leaf": ("nodes", 3),
        "cut": ("nodes", 12),
        "cluster": ("clusters", 0),
        "statistics": ("statistics",),
    }
    for part, place in places.items():
        for name, meant in SCHEMA["$defs"][part]["properties"].items():
            if name in SCHEMA["$defs"][part]["required"]:
                yield (*place, name, DELETE)
            for value in junk(meant):
                yield (*place, name, value)
    for name in SCHEMA["required"]:
        for value in (DELETE, None, [], "text"):
            yield name, value


@pytest.mark.slow
def test_the_schema_refuses_entries_that_lack_or_are_of_another_type():
    text = example_of_categories().to_json()
    VALIDATOR.validate(json.loads(text))
    for damage in required_and_mistyped():
        document = json.loads(text)
        change(*damage)(document)
        assert not VALIDATOR.is_valid(document), damage
        with pytest.raises(RulesFormatError):
            RuleSet.from_dict(document)


@pytest.mark.parametrize(
    "damage",
    [
        change("format", "shallowrules/3"),
        change("nodes", 0, "kind", "slope"),
        change("columns", 0, "maximum", 10**400),
        change("columns", 1, "maximum", 2**64),
        change("columns", 1, "minimum", 0.5),
        change("columns", 0, "type", "text"),
        change("columns", 0, "mean", None),
        change("columns", 0, "values", ["a"]),
        change("columns", 0, "imputed", "a"),
        change("clusters", 0, "share", 1.5),
        change("statistics", "waes", -17),
    ],
)
def test_the_schema_knows_ranges_and_types_of_columns(damage):
    document = small_rules().to_dict()
    VALIDATOR.validate(document)
    damage(document)
    assert not VALIDATOR.is_valid(document)


@given(st.sampled_from(["columns", "nodes", "clusters", "statistics", ""]), hostile_names)
def test_an_entry_that_is_not_known_is_valid(part, name):
    document = small_rules().to_dict()
    place = document[part][0] if part and part != "statistics" else document[part] if part else document
    if name not in place:
        place[name] = {}
        VALIDATOR.validate(document)

"""The path document: the rules of every tree of a path, with shared parts written once, read back, and refused."""

from __future__ import annotations

import copy
import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from commandline import call, write_groups
from conftest import ROOT
from rulesets import DELETE, change
from sklearn.datasets import load_wine

from shallowrules import ExplainableKMeans, tradeoff_path
from shallowrules.errors import RulesFormatError
from shallowrules.rules import RulePath, RuleSet, Statistics
from shallowrules.rules.documents.path_document import SHARED, TREE_ENTRIES


def grown(data, k):
    """Return a path of trees and the data that they were grown from: weights, and a column of text beside those of
    numbers."""
    data = data.assign(strong=np.where(data["alcohol"] > 13, "yes", "no"))
    weight = np.random.default_rng(0).random(len(data))
    model = ExplainableKMeans(k, random_state=0, scale="minmax", refine="none")
    return tradeoff_path(model, data, sample_weight=weight), data, weight


@pytest.fixture(scope="module")
def trees():
    return grown(load_wine(as_frame=True).data, 10)


def test_a_path_has_the_rules_that_the_estimator_fits(trees):
    path, data, weight = trees
    found = path.rule_sets()
    assert len(found) == len(path) > 2
    for point, tree in zip(path, found, strict=True):
        fitted = ExplainableKMeans(10, random_state=0, scale="minmax", tradeoff=point.tradeoff, refine=point.refine)
        rules = fitted.fit(data, sample_weight=weight).rules_
        assert (tree.refine, tree.rules.statistics.tradeoff) == (point.refine, point.tradeoff)
        assert (tree.rules.nodes, tree.rules.clusters) == (rules.nodes, rules.clusters)
        assert [column.edges for column in tree.rules.columns] == [column.edges for column in rules.columns]
        assert tree.rules.statistics.waes == point.conditions


def test_it_is_read_as_it_was_written(trees, tmp_path):
    path = trees[0].rule_sets()
    text = path.to_json(tmp_path / "path.json")
    again = RulePath.from_json(tmp_path / "path.json")
    assert [tree.refine for tree in again] == [tree.refine for tree in path]
    assert [tree.rules for tree in again] == [tree.rules for tree in path]
    assert again.to_json() == text
    assert text.count('"name": "alcohol"') == text.count('"reference_cost"') == 1


@pytest.fixture(scope="module")
def schema():
    jsonschema, referencing = pytest.importorskip("jsonschema"), pytest.importorskip("referencing")
    rules, path = (json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8")) for name in ("rules", "path"))
    jsonschema.Draft202012Validator.check_schema(path)
    beside = referencing.Registry().with_resource("rules.schema.json", referencing.Resource.from_contents(rules))
    return jsonschema.Draft202012Validator(path, registry=beside)


def test_the_schema_has_every_entry(schema, trees):
    own, shared = (schema.schema["$defs"][part] for part in ("own", "shared"))
    assert sorted({**own["properties"], **shared["properties"]}) == sorted(entry.name for entry in fields(Statistics))
    assert list(shared["properties"]) == list(SHARED)
    assert schema.schema["$defs"]["tree"]["required"] == list(TREE_ENTRIES)
    for part in (own, shared):
        optional = {entry.name for entry in fields(Statistics) if entry.metadata.get("optional")}
        assert part["required"] == [name for name in part["properties"] if name not in optional]


@pytest.mark.slow
def test_what_is_written_is_valid(schema, trees):
    path = trees[0].rule_sets()
    bare = RulePath.of([(tree.refine, tree.rules.without_histograms()) for tree in path])
    for document in (path.to_dict(), bare.to_dict()):
        schema.validate(json.loads(json.dumps(document)))


def entries_of(value, keys=()):
    """Yield the path to every entry of a document, and to the first ones of a list."""
    for key, held in value.items() if isinstance(value, dict) else enumerate(value[:2]):
        yield (*keys, key)
        if isinstance(held, dict | list):
            yield from entries_of(held, (*keys, key))


@pytest.mark.slow
def test_what_the_schema_refuses_the_loader_refuses(schema):
    few, _, _ = grown(load_wine(as_frame=True).data[["alcohol", "ash"]], 3)  # each damage is looked for everywhere
    document = json.loads(few.rule_sets().to_json())
    document["trees"] = document["trees"][:1]
    refused = 0
    for keys in entries_of(document):
        for value in (DELETE, True, "text", 1.5, -1, {}, ["a"]):
            damaged = copy.deepcopy(document)
            change(*keys, value)(damaged)
            if not schema.is_valid(damaged):
                refused += 1
                with pytest.raises(RulesFormatError):
                    RulePath.from_dict(damaged)
    assert refused > 500


def test_without_histograms(trees):
    path = RulePath.of([(tree.refine, tree.rules.without_histograms()) for tree in trees[0].rule_sets()])
    assert "edges" not in path.to_json()
    assert [tree.rules for tree in RulePath.from_dict(path.to_dict())] == [tree.rules for tree in path]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change("format", "shallowrules/2"), r"its \"format\" is 'shallowrules/2', not 'shallowrules-path/1'"),
        (change("trees", []), "at least one tree"),
        (change("trees", {}), "lists 'columns' and 'trees'"),
        (change("columns", DELETE), "lists 'columns' and 'trees'"),
        (change("trees", 1, []), r"trees\[1\] must be an object"),
        (change("trees", 1, "nodes", DELETE), r"trees\[1\] lacks nodes"),
        (change("trees", 1, "refine", 3), r"trees\[1\] has a refine that is not text"),
        (change("trees", 1, "binned", [99]), r"trees\[1\].binned must be positions of columns"),
        (change("trees", 1, "binned", []), r"trees\[1\]: cluster 0 has \d+ histograms for 0 columns"),
        (change("trees", 1, "nodes", 0, "threshold", "a"), r"trees\[1\]: nodes\[0\].threshold is 'a'"),
        (change("statistics", "rows", 5), r"trees\[0\]: statistics.rows is 5"),
    ],
)
def test_what_is_no_path_is_refused(trees, damage, message):
    document = json.loads(trees[0].rule_sets().to_json())
    RulePath.from_dict(copy.deepcopy(document))
    damage(document)
    with pytest.raises(RulesFormatError, match=message):
        RulePath.from_dict(document)


def test_trees_of_two_tables_are_no_path(trees):
    path = trees[0].rule_sets()
    other = ExplainableKMeans(4, random_state=0).fit(pd.DataFrame({"x": np.arange(40.0)})).rules_
    assert not path.is_of_one_table_with(other)
    with pytest.raises(RulesFormatError, match="the same columns, rows and clustering"):
        RulePath((*path.trees, type(path.trees[0])("none", other)))


@pytest.mark.slow
def test_the_command_writes_it_and_a_page_takes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_groups("t.csv")
    shown = call("path", "t.csv", "-k", "3")
    result = call("path", "t.csv", "-k", "3", "-o", "path.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "conditions per row" in shown.stdout
    assert "conditions per row" in result.stderr
    call("fit", "t.csv", "-k", "3", "-o", "rules.json")
    path = RulePath.from_json("path.json")
    assert path.is_of_one_table_with(RuleSet.from_json("rules.json"))
    assert path.trees[0].rules.statistics.notes == RuleSet.from_json("rules.json").statistics.notes
    assert call("export", "rules.json", "html", "--path", "path.json", "-o", "page.html").exit_code == 0
    assert 'id="slider"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    refused = call("export", "rules.json", "html", "--path", "rules.json")
    assert refused.exit_code == 2
    assert "--path" in refused.stderr
    call("path", "t.csv", "-k", "3", "--no-histograms", "-o", "bare.json")
    assert "edges" not in (tmp_path / "bare.json").read_text(encoding="utf-8")

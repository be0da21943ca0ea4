"""Edited rules are measured on a table, by the command line and in Python."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from commandline import call, refused
from draws import few
from tables import write_people

from shallowrules import ExplainableKMeans, edit_rules
from shallowrules.errors import OptionError, ShallowRulesWarning
from shallowrules.rules import Cut, Leaf, RuleSet
from shallowrules.rules.nodes import derive_rules
from shallowrules.rules.words.editing import edit
from shallowrules.sources import read_table

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

"""``--json``: one document on stdout whatever comes of a command, valid by its schema, with the terminal's figures."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from commandline import COMMAND, call, spawn, write_groups
from conftest import ROOT
from draws import draws
from hypothesis import HealthCheck, given
from rulesets import MIXED, hostile_names, hostile_texts, make_rules, rule_sets, small_rules

from shallowrules.cli import commands
from shallowrules.cli.advice import CHOICES
from shallowrules.cli.escaping import as_utf8, printable
from shallowrules.cli.failures import DONE, FOUND, INTERRUPTED, MISUSED, STOPPED
from shallowrules.cli.figures import rules_of
from shallowrules.cli.results import SCHEMA, plain, record_note, recording
from shallowrules.rules import RuleSet, changes_between

jsonschema = pytest.importorskip("jsonschema")

DOCUMENT = json.loads((ROOT / "docs" / "result.schema.json").read_text(encoding="utf-8"))

DOES = {
    "clusters": ["clusters", "t.csv", "--to", "3"],
    "diff": ["diff", "rules.json", "rules.json"],
    "drift": ["drift", "rules.json", "t.csv"],
    "explain": ["explain", "rules.json", "t.csv", "--number", "1", "--number", "2"],
    "label": ["label", "rules.json", "t.csv", "-o", "out.csv"],
    "path": ["path", "t.csv", "-k", "3", "--refine", "none"],
    "refit": ["refit", "rules.json", "moved.csv", "-o", "new.json"],
    "run": ["run", "t.csv", "-k", "3"],
    "verify": ["verify", "rules.json", "t.csv", "--exporter", "python"],
}
FINDS = {
    "diff": ["diff", "rules.json", "others.json", "t.csv"],
    "drift": ["drift", "rules.json", "moved.csv"],
    "verify": ["verify", "rules.json", "t.csv", "--exporter", "sql", "--dialect", "sqlite"],
}


def strict(part):
    """Return a schema that knows every entry, so that a document with one that it does not describe is not valid."""
    if isinstance(part, list):
        return [strict(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: strict(held) for key, held in part.items()}
    if "required" in found and isinstance(found.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    return found


VALIDATOR = jsonschema.Draft202012Validator(strict(DOCUMENT))


def document_of(text):
    """Return the one document that a text is, after a check."""
    document, end = json.JSONDecoder().raw_decode(text)
    assert text[end:] == "\n"
    assert text.isascii()
    VALIDATOR.validate(document)
    return document


def asked(*arguments, **settings):
    """Run a command with --json in this process; return its document and what stderr got."""
    done = call(*arguments, "--json", **settings)
    document = document_of(done.stdout)
    assert document["status"] == done.exit_code
    assert document["schema"] == SCHEMA
    return document, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write_groups(folder / "t.csv")
    header, *rows = (folder / "t.csv").read_text().splitlines()
    (folder / "moved.csv").write_text("\n".join([header, *rows[::3], rows[1], "99,99"]) + "\n")
    (folder / "sum.csv").write_text("\n".join([f"{header},sum", *(f"{row},{i / 4}" for i, row in enumerate(rows))]))
    for clusters, name in ((3, "rules.json"), (4, "others.json")):
        assert call("fit", folder / "t.csv", "-k", clusters, "-o", folder / name).exit_code == 0
    return folder


@pytest.fixture(autouse=True)
def in_folder(folder):
    """Every test works in the folder."""


# Outcomes ------------------------------------------------------------------------------------------


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)
    assert DOCUMENT["title"] == DOCUMENT["properties"]["schema"]["const"] == SCHEMA
    named = [
        rule["if"]["properties"]["command"]["const"]
        for rule in DOCUMENT["allOf"]
        if "command" in rule["if"]["properties"]
    ]
    assert sorted(named) == sorted(DOES)
    offered = [
        name
        for name in commands.NAMES
        if any("--json" in each.opts for each in import_module(f"shallowrules.cli.commands.{name}").command.params)
    ]
    assert offered == sorted(DOES)


@pytest.mark.parametrize("name", DOES)
def test_what_is_done_is_a_document_beside_the_same_text(name):
    said = call(*DOES[name])
    for path in ("out.csv", "new.json"):
        Path(path).unlink(missing_ok=True)
    shutil.rmtree("t_rules", ignore_errors=True)
    document, stderr = asked(*DOES[name])
    assert (document["command"], document["status"], document["error"]) == (name, DONE, None)
    assert document["result"]
    assert sorted(stderr.splitlines()) == sorted([*said.stdout.splitlines(), *said.stderr.splitlines()])
    shown = re.findall(r"^(?:note|warning): .*$", stderr, re.MULTILINE)
    for note, line in zip(document["notes"], shown, strict=True):
        remedy = line.removeprefix(f"{note['kind']}: {note['fact']}")
        assert remedy in [f"{begin}{note['remedy']}{end}" for begin, end in JOINED] if note["remedy"] else not remedy


JOINED = [(" (", ")"), (": ", ""), ("; ", ""), (" ", "")]
"""What stands around a remedy on the terminal."""


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        (" (--scale minmax)", "--scale minmax"),
        (" (--format 'a=(1)')", "--format 'a=(1)'"),
        ("; use --null x", "use --null x"),
        (": --exclude a excludes it (or --numbers a)", "--exclude a excludes it (or --numbers a)"),
        (" (a) or (b)", "(a) or (b)"),
        ("", None),
    ],
)
def test_a_remedy_reads_as_words(remedy, words):
    with recording(["run", "--json"]) as record:
        record_note("note", "fact", remedy)
    assert record.notes == [{"kind": "note", "fact": "fact", "remedy": words}]


def test_a_table_without_rows_is_labelled_as_shown():
    Path("empty.csv").write_text("width,my height\n")
    document, stderr = asked("label", "rules.json", "empty.csv", "-o", "out.csv")
    [none] = document["result"]["clusters"]
    assert (none["cluster"], none["rows"], none["share"]) == (None, 0, None)
    assert rows_of(stderr, "cluster")[0] == ["without a cluster", "0"]


def find(name, monkeypatch):
    """Run a command that finds something; for `verify`, SQL is made wrong."""
    if name == "verify":
        from shallowrules.verification.runners import sql

        predicates = sql.cluster_predicates
        monkeypatch.setattr(
            sql, "cluster_predicates", lambda *given, **kept: dict.fromkeys(predicates(*given, **kept), "1 = 1")
        )
    return asked(*FINDS[name])


@pytest.mark.parametrize("name", FINDS)
def test_what_is_found_is_the_result_and_no_error(monkeypatch, name):
    document, _ = find(name, monkeypatch)
    assert (document["command"], document["status"], document["error"]) == (name, FOUND, None)
    assert document["result"]


@pytest.mark.parametrize("name", DOES)
@pytest.mark.parametrize(
    ("status", "kind"), [(MISUSED, "usage"), (STOPPED, "file"), (STOPPED, "table"), (INTERRUPTED, "interrupted")]
)
def test_what_stops_a_command_is_the_error(monkeypatch, name, status, kind):
    words = DOES[name]
    if kind == "usage":
        words = [*words, "--nothing-like-it"]
    elif kind == "interrupted":
        monkeypatch.setattr(import_module(f"shallowrules.cli.commands.{name}").command, "callback", interrupt)
    else:
        for path in ("t.csv", "moved.csv", "rules.json"):
            Path(path).unlink() if kind == "file" else Path(path).write_bytes(b"\x00\xff\xfe\n,,\n")
    document, stderr = asked(*words)
    assert (document["command"], document["status"], document["result"]) == (name, status, None)
    wanted = "rules" if kind == "table" and "rules.json" in words else kind
    assert document["error"]["kind"] == wanted
    assert printable(document["error"]["message"]) in stderr
    assert "Traceback" not in stderr


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


# Figures -------------------------------------------------------------------------------------------


def rows_of(text, first):
    """Return the cells of the printed table whose first heading is given."""
    lines = text.splitlines()
    [begin] = [i for i, line in enumerate(lines) if re.match(rf" ?{re.escape(first)}(?:  |$)", line)]
    found = []
    for line in lines[begin + 2 :]:
        if not line.strip():
            return found
        found.append(re.split(r" {2,}", line.strip()))
    return found


def figure(value, spec):
    """Return a figure of a document as the terminal shows it."""
    return "–" if value is None else format(value, spec)


def test_the_figures_of_run():
    document, text = asked(*DOES["run"])
    result = document["result"]
    wanted = [[c["name"], f"{c['rows']:,}", f"{c['share']:.1%}", *c["rules"]] for c in result["clusters"]]
    assert [[re.sub(r"^\d+ \((.*)\)$", r"\1", title), *cells] for title, *cells in rows_of(text, "cluster")] == wanted
    assert f"k-means cost   {result['cost']:.3f} times that of the clustering" in text
    assert f"({result['extra']:+z.1%})" in text
    assert f"agreement      {result['agreement']:.1%} of" in text
    assert f"rule length    {result['conditions']:.2f} conditions" in text
    assert f"{result['questions']:.2f}" in text
    [first, *_] = result["separation"]
    assert f"differ by      {first['column']} {first['share']:.1%}" in text
    assert re.sub(r"\s+", " ", text).endswith(f"written {', '.join(result['files'])} ")
    assert all(os.path.isfile(path) for path in result["files"])
    assert RuleSet.from_json(result["files"][0]).statistics.normalized_cost == result["cost"]


def test_the_figures_of_labels_and_a_measure():
    Path("l.csv").write_text("a,b,l\n" + "".join(f"{i // 2},{i % 3 / 4},{'xy'[i > 11]}\n" for i in range(24)))
    document, text = asked("run", "l.csv", "--labels", "l", "--measure", "b")
    for cluster in document["result"]["clusters"]:
        [cells] = [cells for cells in rows_of(text, "cluster") if f"({cluster['name']})" in cells[0]]
        total = f"{cluster['total']:.4g} ({cluster['total_share']:.1%})"
        assert cells[1:6] == [
            str(cluster["rows"]),
            f"{cluster['share']:.1%}",
            total,
            f"{cluster['precision']:.1%}",
            f"{cluster['recall']:.1%}",
        ]
    assert f"{document['result']['total']['sum']:.4g} is the sum of b" in text


def test_the_figures_of_clusters():
    document, text = asked(*DOES["clusters"], "--plot", "p.svg")
    result = document["result"]
    specs = {"explained": ".1%", "silhouette": ".3f", "stability": ".3f", "price": ".3f", "conditions": ".2f"}
    specs |= {"n_rules": ",", "smallest": ".1%"}
    wanted = [[str(c["k"]), *(figure(c[name], spec) for name, spec in specs.items())] for c in result["counts"]]
    assert rows_of(text, "k") == wanted
    assert result["reason"].startswith(f"{result['recommended']} clusters: ")
    assert result["reason"] in re.sub(r"\s+", " ", text)
    assert (result["convincing"], result["unconvincing"]) == (True, None)
    assert result["files"] == ["p.svg"]
    assert os.path.isfile("p.svg")


def test_the_figures_of_path():
    document, text = asked(*DOES["path"], "-o", "path.json")
    result = document["result"]
    specs = {"tradeoff": "g", "cost": ".3f", "extra": "+z.1%", "conditions": ".2f", "questions": ".2f", "n_rules": ","}
    wanted = [[*(format(t[name], spec) for name, spec in specs.items()), t["refine"]] for t in result["trees"]]
    assert rows_of(text, "tradeoff") == wanted
    assert result["files"] == ["path.json"]
    costs = [tree["statistics"]["normalized_cost"] for tree in json.loads(Path("path.json").read_text())["trees"]]
    assert [tree["cost"] for tree in result["trees"]] == pytest.approx(costs, rel=1e-12)


def test_the_figures_of_drift():
    document, text = asked(*FINDS["drift"], "--max-shift", "10%", "--refit")
    result = document["result"]
    wanted = [
        [f"{c['rows']:,}", f"{c['share']:.1%}", f"{c['trained']:.1%}", f"{100 * c['shift']:+z.1f} points"]
        for c in result["clusters"]
    ]
    assert [cells[1:] for cells in rows_of(text, "cluster")] == wanted
    assert (result["rows"], result["max_shift"]) == (22, 0.1)
    assert result["rows"] == sum(cluster["rows"] for cluster in result["clusters"])
    moved = [cluster for cluster in result["clusters"] if cluster["moved"]]
    assert all((abs(c["shift"]) > 0.1) == c["moved"] for c in result["clusters"])
    said = text.partition("shifted by more than 10 percentage points: ")[2]
    assert len(said.split("; ")) == len(moved) > 0
    for cluster in moved:
        assert f"{cluster['share']:.1%} of rows ({cluster['trained']:.1%} in training)" in said
    for column in result["columns"]:
        assert f"column {column['column']!r}: {column['above']} row" in text
    assert [column["above"] for column in result["columns"]] == [1, 1]
    assert f"cost {result['refit']['now']:.4g} times" in text
    assert ("refitting pays" in text) == result["refit"]["pays"]


def test_the_figures_of_drift_with_a_measure():
    document, text = asked("drift", "rules.json", "sum.csv", "--measure", "sum")
    result = document["result"]
    for cells, cluster in zip(rows_of(text, "cluster"), result["clusters"], strict=True):
        assert cells[5] == f"{cluster['total']:.4g} ({cluster['total_share']:.1%})"
        assert cluster["total_trained"] is None
    assert result["total"] == {"column": "sum", "sum": sum(i / 4 for i in range(60)), "without_value": 0}


def test_the_figures_of_diff():
    document, text = asked(*FINDS["diff"])
    result = document["result"]
    assert result["changed"]
    share = result["moved_rows"] / result["rows"]
    assert f"{result['moved_rows']} of {result['rows']} rows change cluster ({share:.1%})" in text
    assert sum(move["rows"] for move in result["moved"]) == result["moved_rows"]
    for change in result["rules"]:
        words = {"old": "is gone", "new": "is new"}
        gone = [
            f"the rule {change[side]} {said}"
            for side, said in words.items()
            if change[side] and None in change.values()
        ]
        assert (gone[0] if gone else f"{change['old']} is now {change['new']}") in text
    assert [c["new"] for c in result["clusters"] if c["old"] is None]
    alone, _ = asked(*DOES["diff"])
    assert (alone["result"]["changed"], alone["result"]["rows"], alone["result"]["unchanged"]) == (False, None, 3)


def test_the_figures_of_explain():
    document, text = asked(*DOES["explain"])
    [first, second] = text.split("\n\n")
    for row, said in zip(document["result"]["rows"], (first, second), strict=True):
        assert f"cluster {row['cluster']}" in said
        for step in row["steps"]:
            assert f"{step['column']} is {step['value']}: {step['condition']}" in said
        assert f"makes it cluster {row['move']['cluster']}" in said
        for contrast in row["contrasts"][:4]:
            assert contrast["words"] in said
    missing, _ = asked("explain", "rules.json", "--row", "width=")
    assert (missing["result"]["rows"][0]["cluster"], missing["result"]["rows"][0]["rule"]) == (None, None)
    assert missing["result"]["rows"][0]["missing"]


def test_the_figures_of_label():
    header, *rows = Path("t.csv").read_text().splitlines()
    Path("gap.csv").write_text("\n".join([header, *rows[:9], ",3.5", "3.5,", *rows[9:]]) + "\n")
    document, text = asked("label", "rules.json", "gap.csv", "-o", "out.csv")
    result = document["result"]
    wanted = [[f"{c['rows']:,}", f"{c['share']:.1%}"] for c in result["clusters"]]
    assert [cells[1:] for cells in rows_of(text, "cluster")] == wanted
    assert (result["rows"], result["files"], result["applied"]) == (62, ["out.csv"], None)
    assert [c["rows"] for c in result["clusters"] if c["cluster"] is None] in ([1], [2])
    assert len(Path("out.csv").read_text().splitlines()) == 63


def test_what_label_does_not_count_is_null():
    rules = make_rules([("c", "text"), ("x", "float")], (0, "a", 0, (1, 0.5, 1, 2)))
    rules.to_json("words.json")
    Path("words.csv").write_text("c,x\na,1\nnew,1\nnew,9\n,0\n")
    labelled, _ = asked("label", "words.json", "words.csv", "-o", "words_out.csv")
    [column] = labelled["result"]["columns"]
    assert column == {
        "column": "c",
        "rows": 4,
        "unseen": 2,
        "examples": ["new"],
        **dict.fromkeys(("missing", "below", "above")),
    }
    drifted, _ = asked("drift", "words.json", "words.csv")
    assert drifted["result"]["columns"][0] == column | {"missing": 1, "below": 0, "above": 0}


def test_the_schema_says_which_commands_are_choices():
    said = DOCUMENT["$defs"]["error"]["properties"]["commands"]["description"]
    assert f"of kind {', '.join(CHOICES[:-1])} or {CHOICES[-1]}" in said


def test_the_figures_of_refit():
    document, text = asked(*DOES["refit"])
    result = document["result"]
    flow = result["flow"]
    assert f"{flow['moved']} of {flow['rows']} rows change cluster ({flow['share']:.1%})" in text
    assert sum(move["rows"] for move in flow["moves"]) == flow["moved"]
    assert result["files"] == ["new.json"]
    assert RuleSet.from_json("new.json").statistics.normalized_cost == result["cost"]


def test_the_figures_of_verify(monkeypatch):
    document, text = find("verify", monkeypatch)
    result = document["result"]
    wanted = [[c["form"], f"{c['rows']:,}", f"{c['disagreements']:,}"] for c in result["comparisons"]]
    assert rows_of(text, "format") == wanted
    differing = [comparison for comparison in result["comparisons"] if comparison["first"]]
    assert differing
    for comparison in differing:
        first = comparison["first"][0]
        assert f"{comparison['form']}: {first['row']} (" in text
    agreeing, _ = asked(*DOES["verify"])
    assert all(not comparison["disagreements"] for comparison in agreeing["result"]["comparisons"])
    assert agreeing["result"]["certificate"] is None


def test_labels_of_noise_and_given_numbers(tmp_path):
    rows = [(0, 0, 7)] * 9 + [(9, 0, 7000000000)] * 9 + [(0, 9, -1)] * 9
    text = "".join(f"{a + i % 3 / 8},{b + i % 5 / 8},{label}\n" for i, (a, b, label) in enumerate(rows))
    Path("n.csv").write_text(f"a,b,l\n{text}")
    document, _ = asked("run", "n.csv", "--labels", "l", "--noise", "cluster", "-o", "n")
    labels = [cluster["cluster"] for cluster in document["result"]["clusters"]]
    assert sorted(labels) == [-1, 7, 7000000000]
    drifted, _ = asked("drift", "n/rules.json", "n.csv")
    assert sorted(c["cluster"] for c in drifted["result"]["clusters"] if c["name"]) == sorted(labels)
    labelled, _ = asked("label", "n/rules.json", "n.csv", "-o", "out.csv")
    assert sorted(c["cluster"] for c in labelled["result"]["clusters"]) == sorted(labels)
    explained, _ = asked("explain", "n/rules.json", "n.csv", "--number", "27")
    assert (explained["result"]["rows"][0]["cluster"], explained["result"]["rows"][0]["name"]) == (-1, "noise")


# Numbers and texts ---------------------------------------------------------------------------------


def test_values_as_json_holds_them():
    largest = sys.float_info.max
    values = [math.nan, math.inf, -math.inf, np.float32("nan"), -0.0, 2**63 + 1, np.int64(2**62 + 1), np.bool_(True)]
    assert plain(values) == [None, largest, -largest, None, 0, 2**63 + 1, 2**62 + 1, True]
    assert plain({"a": (date(2024, 2, 29), None, Path("x"), True)}) == {"a": ["2024-02-29", None, "x", True]}
    assert plain({"\udce9": "\udce9"}) == {"\\udce9": "\\udce9"}
    assert plain(np.array([[1, 2]]), str) == [[1, 2]]


def test_whole_numbers_have_all_digits():
    rules = make_rules([("id", "integer")], (0, 2**62 + 1, 0, 1))
    rules.to_json("big.json")
    done = call("explain", "big.json", "--row", f"id={2**62 + 3}", "--json")
    assert f'"value": {2**62 + 3},' in done.stdout
    assert document_of(done.stdout)["result"]["rows"][0]["move"]["to"] == 2**62 + 1


def test_a_figure_that_is_not_known_is_null():
    Path("same.csv").write_text("a\n" + "0\n" * 30 + "1\n")
    document, text = asked("clusters", "same.csv", "--to", "2")
    [count] = document["result"]["counts"]
    assert figure(count["silhouette"], ".3f") == rows_of(text, "k")[0][2]


HOSTILE = ['say "no"', "two\nlines", "\x1b[31mred", "'; DROP TABLE x; --", "naïve ☃ 𝔘", "\u202eright", "a\\b", "[bold]"]


def test_hostile_names_of_columns_and_clusters():
    columns = [(name, "float") for name in HOSTILE]
    tree = 0
    for place in range(len(HOSTILE)):
        tree = (place, 1.5, tree, place + 1)
    names = {index: f"{name} {index}" for index, name in enumerate(HOSTILE)}
    rules = make_rules(columns, tree, names)
    rules.to_json("hostile.json")
    rows = [[*map(str, range(len(HOSTILE)))], ["1"] * len(HOSTILE)]
    quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
    Path("h.csv").write_text("\n".join(map(",".join, [quoted, *rows])) + "\n", encoding="utf-8")
    explained, stderr = asked("explain", "hostile.json", "h.csv", "--number", "2")
    row = explained["result"]["rows"][0]
    assert {step["column"] for step in row["steps"]} == set(HOSTILE)
    assert "\x1b" not in stderr
    drifted, _ = asked("drift", "hostile.json", "h.csv", "--max-shift", "0")
    assert {c["name"] for c in drifted["result"]["clusters"]} >= set(names.values())
    labelled, _ = asked("label", "hostile.json", "h.csv", "-o", "out.csv")
    assert labelled["result"]["rows"] == 2
    other = replace(rules, columns=tuple(replace(c, name=f"{c.name}2") for c in rules.columns))
    other.to_json("other.json")
    changed, _ = asked("diff", "hostile.json", "other.json")
    assert set(changed["result"]["untested"]) == set(HOSTILE)
    refused, _ = asked("drift", "other.json", "h.csv")
    assert refused["error"]["column"] in {f"{name}2" for name in HOSTILE}


@draws(40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(*[rule_sets(names=hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts)] * 2)
def test_rules_with_any_names_have_a_document(old, new):
    for command, result in (("run", rules_of(new)), ("diff", changes_between(old, new).to_dict())):
        envelope = {"schema": SCHEMA, "command": command, "status": 0, "result": result, "notes": [], "error": None}
        document = document_of(json.dumps(plain(envelope), allow_nan=False) + "\n")
        if command == "run":
            assert [c["name"] for c in document["result"]["clusters"]] == [as_utf8(c.name) for c in new.by_size]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_that_are_not_utf_8():
    name = os.fsdecode(b"caf\xe9.csv")
    shutil.copy("t.csv", name)
    document, _ = asked("run", name, "-k", "3", "-o", os.fsdecode(b"out\xe9"))
    assert document["result"]["files"][0] == "out\\udce9/rules.json"
    document, _ = asked("drift", "rules.json", os.fsdecode(b"none\xe9.csv"))
    assert document["error"]["kind"] == "file"


# Refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "status", "kind", "fields"),
    [
        (["run", "t.csv", "-k", "x"], MISUSED, "usage", {"option": "-k"}),
        (["run", "t.csv", "-k", "3", "--scal", "x"], MISUSED, "usage", {"option": "--scal"}),
        (
            ["run", "t.csv", "-k", "3", "--method", "imm", "--refine", "thorough"],
            MISUSED,
            "usage",
            {"option": "--refine"},
        ),
        (["drift"], MISUSED, "usage", {}),
        (["nothing"], MISUSED, "usage", {}),
        (["fit", "t.csv", "-k", "3"], MISUSED, "usage", {"option": "--json"}),
        (["refit", "rules.json", "t.csv"], MISUSED, "usage", {}),
        (["explain", "rules.json"], MISUSED, "usage", {}),
        (["drift", "rules.json", "no.csv"], STOPPED, "file", {}),
        (["drift", "rules.json", "no*.csv"], STOPPED, "file", {}),
        (["drift", "no.json", "t.csv"], STOPPED, "file", {}),
        (["drift", "t.csv", "t.csv"], STOPPED, "rules", {}),
        (["drift", "rules.json", "gaps.csv"], STOPPED, "table", {"column": "width"}),
        (["clusters", "t.csv", "--exclude", "no"], STOPPED, "table", {"column": "no"}),
        (["clusters", "t.csv", "--weight", "no"], STOPPED, "table", {"column": "no"}),
        (["label", "rules.json", "t.csv", "-o", "moved.csv"], STOPPED, "refused", {"option": "-o"}),
        (["label", "rules.json", "t.csv", "-o", "no/out.csv"], STOPPED, "refused", {"option": "-o"}),
        (["refit", "rules.json", "t.csv", "-o", "-"], STOPPED, "refused", {"option": "-o"}),
        (["clusters", "t.csv", "--to", "2", "--plot", "no/x.svg"], STOPPED, "refused", {"option": "--plot"}),
        (["diff", "rules.json", "rules.json", "--log-file", "t.csv"], STOPPED, "refused", {"option": "--log-file"}),
        (["run", "gaps.csv", "-k", "2"], STOPPED, "table", {"column": "b"}),
        (["drift", "rules.json", "--database", "sqlite:///no.db", "--table", "t"], STOPPED, "file", {}),
        (["drift", "rules.json", "--database", "sqlite:///t.csv", "--table", "t"], STOPPED, "database", {}),
    ],
)
def test_a_refusal_has_its_kind_and_its_fields(words, status, kind, fields):
    Path("gaps.csv").write_text("a,b\n" + "".join(f"{i % 7},{i if i % 4 else ''}\n" for i in range(1, 20)))
    document, stderr = asked(*words)
    error = document["error"]
    assert (document["status"], error["kind"], document["result"]) == (status, kind, None)
    assert {name: error[name] for name in ("option", "column")} == {"option": None, "column": None} | fields
    assert printable(error["message"]) in stderr


@pytest.mark.parametrize(
    "text", ["sead = 1", "seed = 'x'", "= 1", "[exporters.sql]\ndialect = 'x'", "[databases.shop]\nurll = 'x'"]
)
def test_a_fault_in_the_settings_has_its_kind(text):
    Path("shallowrules.toml").write_text(text + "\n")
    document, _ = asked("run", "t.csv", "-k", "3")
    assert (document["status"], document["error"]["kind"]) == (STOPPED, "settings")
    assert document["error"]["option"] is None


def test_a_refused_table_has_its_findings_and_a_command_that_works():
    Path("gaps.csv").write_text("a,b\n" + "".join(f"{i % 7},{i if i % 4 else ''}\n" for i in range(1, 20)))
    document, stderr = asked("clusters", "gaps.csv", "--to", "2")
    [finding] = document["error"]["findings"]
    assert (finding["kind"], finding["column"], finding["count"], finding["rows"]) == ("missing values", "b", 4, 19)
    [command] = document["error"]["commands"]
    assert f"This works: {command}\n" in stderr
    again = subprocess.run(
        ["sh", "-c", command.replace("shallowrules", '"$@"', 1), "sh", *COMMAND], stdout=-1, stderr=-1
    )
    assert document_of(again.stdout.decode())["status"] == DONE


def test_an_output_that_exists_has_a_command_that_replaces_it():
    document, _ = asked("label", "rules.json", "t.csv", "-o", "moved.csv")
    [command] = document["error"]["commands"]
    assert command == "shallowrules label rules.json t.csv -o moved.csv --json --force"
    assert asked(*command.split()[1:-2], "--force")[0]["status"] == DONE


def test_a_choice_has_a_command_for_each():
    Path("two.csv").write_text("a;b,c\n1;2,3\n4;5,6\n7;8,9\n")
    document, stderr = asked("run", "two.csv", "-k", "2")
    first, second = document["error"]["commands"]
    assert f"This works: {first}\nOr: {second}\n" in stderr
    assert ("--delimiter ," in first) != ("--delimiter ," in second)


def test_a_password_is_in_no_document():
    url = "postgresql://me:s3cret@127.0.0.1:1/x"
    document, stderr = asked("drift", "rules.json", "--database", url, "--table", "t")
    assert document["error"]["kind"] in ("database", "extra")
    assert "s3cret" not in json.dumps(document) + stderr


def test_an_answer_that_stops_is_refused(monkeypatch):
    import click

    command = import_module("shallowrules.cli.commands.diff").command
    monkeypatch.setattr(command, "callback", lambda **options: click.confirm("Go on?", abort=True, err=True))
    document, _ = asked("diff", "rules.json", "rules.json", input="n\n")
    assert (document["status"], document["error"]["kind"]) == (STOPPED, "refused")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (MemoryError(), "memory"),
        (ZeroDivisionError("x"), "unexpected"),
        (ModuleNotFoundError("no", name="rich"), "unexpected"),
    ],
)
def test_what_is_unexpected_is_an_error_too(monkeypatch, failure, kind):
    def fail(**options):
        raise failure

    monkeypatch.setattr(import_module("shallowrules.cli.commands.diff").command, "callback", fail)
    document, _ = asked("diff", "rules.json", "rules.json")
    assert (document["status"], document["error"]["kind"]) == (STOPPED, kind)


def test_what_was_found_before_it_stopped_is_kept(monkeypatch):
    from shallowrules.cli.commands import drift
    from shallowrules.errors import DataError

    def fail(*given):
        raise DataError("the table is gone")

    monkeypatch.setattr(drift, "_gain", fail)
    document, _ = asked("drift", "rules.json", "t.csv", "--refit")
    assert (document["status"], document["error"]["message"]) == (STOPPED, "the table is gone")
    assert document["result"]["rows"] == 60


# Streams -------------------------------------------------------------------------------------------


def test_help_and_a_value_are_no_request():
    assert call("drift", "--json", "--help").stdout.startswith("Usage: ")
    shown = call("clusters", "t.csv", "--to", "2", "--null", "--json")
    assert shown.exit_code == DONE
    assert "silhouette" in shown.stdout
    assert call("drift", "rules.json", "t.csv", "--", "--json").stdout == ""


def test_what_is_printed_on_the_way_goes_to_stderr(monkeypatch):
    from shallowrules.rules import RuleSet

    read = RuleSet.from_json

    def chatty(path):
        print("a plugin says hello")
        return read(path)

    monkeypatch.setattr(RuleSet, "from_json", chatty)
    _, stderr = asked(*DOES["diff"])
    assert "a plugin says hello" in stderr


def test_a_process_writes_one_document():
    done = spawn(*DOES["drift"], "--json")
    assert document_of(done.stdout)["status"] == done.returncode == DONE
    assert "\x1b" not in done.stderr
    wrong = spawn("drift", "--json", "--no")
    assert document_of(wrong.stdout)["status"] == wrong.returncode == MISUSED


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)])
def test_an_interrupted_process_writes_one_document(number, status):
    Path("t.csv").unlink()
    os.mkfifo("t.csv")  # reading waits for a writer
    process = subprocess.Popen(
        [*COMMAND, *DOES["drift"], "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    writer = os.open("t.csv", os.O_WRONLY)
    time.sleep(0.2)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    os.close(writer)
    document = document_of(output)
    assert process.returncode == document["status"] == status
    assert document["error"]["kind"] == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("where", ["closed", "full", "a reader that has gone"])
def test_a_document_that_cannot_be_written_is_3(where):
    if where == "full" and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    shell = {
        "closed": '"$@" >&-',
        "full": '"$@" > /dev/full',
        "a reader that has gone": '{ sleep 0.2; "$@"; echo "status $?" >&2; } | true; exit 3',
    }[where]
    words = ["sh", "-c", shell, "sh", *COMMAND, *DOES["diff"], "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (STOPPED, "")
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert where != "a reader that has gone" or "status 3\n" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_a_product_does_not_go_to_stdout():
    with open("out.txt", "w+") as out:
        words = ["refit", "rules.json", "t.csv", "-o", "/dev/stdout", "--force", "--json"]
        done = subprocess.run([*COMMAND, *words], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        out.seek(0)
        document = document_of(out.read())
    assert done.returncode == document["status"] == STOPPED
    assert document["error"]["kind"] == "refused"


# Databases -----------------------------------------------------------------------------------------


@pytest.fixture
def shop():
    pytest.importorskip("sqlalchemy")
    import sqlite3

    with sqlite3.connect("shop.db") as connection:
        connection.execute('CREATE TABLE t (width REAL, "my height" REAL)')
        rows = [line.split(",") for line in Path("t.csv").read_text().splitlines()[1:]]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    return ["--database", "sqlite:///shop.db", "--table", "t"]


def test_labels_in_a_database(shop):
    words = ["label", "rules.json", *shop, "--apply"]
    planned, stderr = asked(*words, "view", "--dry-run")
    applied = planned["result"]["applied"]
    assert (applied["done"], applied["dry_run"], planned["result"]["rows"]) == (False, True, 60)
    assert all(f"{statement};" in stderr for statement in applied["statements"])
    done, _ = asked(*words, "view")
    assert (done["result"]["applied"]["done"], done["result"]["applied"]["written"]) == (True, None)
    refused, _ = asked(*words, "update", input="")
    assert (refused["status"], refused["error"]["kind"]) == (STOPPED, "refused")
    assert refused["result"]["applied"]["done"] is False
    updated, _ = asked(*words, "update", "--yes")
    assert updated["result"]["applied"]["written"] == 60
    again, _ = asked(*words, "update", "--yes")
    assert again["result"]["applied"]["changes"] == 0
    assert sum(cluster["rows"] for cluster in updated["result"]["clusters"]) == 60
    undone, _ = asked(*words, "update", "--undo", "--yes")
    assert (undone["result"]["applied"]["undo"], undone["result"]["clusters"]) == (True, None)


def test_a_database_is_counted_and_verified(shop):
    drifted, _ = asked("drift", "rules.json", *shop)
    assert (drifted["status"], drifted["result"]["rows"]) == (DONE, 60)
    verified, _ = asked("verify", "rules.json", *shop, "-o", "c.json")
    assert verified["result"]["files"] == ["c.json"]
    written = json.loads(Path("c.json").read_text())
    certificate = copy.deepcopy(verified["result"]["certificate"])
    assert certificate == written
    styles = [(style["form"], style["rows"], style["mismatches"]) for style in written["styles"]]
    found = verified["result"]["comparisons"]
    assert [(each["form"], each["rows"], each["disagreements"]) for each in found] == styles


def test_rules_of_any_kind_have_a_document():
    small_rules().to_json("small.json")
    document, _ = asked("diff", "small.json", "rules.json")
    assert document["result"]["unrelated"]

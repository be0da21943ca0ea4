"""The figures of each command with --json are those of its text."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from jsonresults import DOCUMENT, DOES, FINDS, asked, figure, find, make_folder, rows_of
from rulesets import make_rules

from shallowrules.cli.advice import CHOICES
from shallowrules.rules import RuleSet


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_folder(tmp_path_factory)


@pytest.fixture(autouse=True)
def in_folder(folder):
    """Every test works in the folder."""


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
    assert result["rules"]
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

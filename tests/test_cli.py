"""The commands that fit: what they write, where, with which exit status, and what they leave behind."""

from __future__ import annotations

import csv
import json
import os
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import SCALED, call, refused, write_groups
from draws import few
from rulesets import make_rules

from shallowrules.cli import output
from shallowrules.cli.summary import show_rules
from shallowrules.exporters.sql import LABELLING_STYLES
from shallowrules.rules import RuleSet
from shallowrules.sources import read_table

FILES = ["report.html", "report.md", "rules.json", "rules.py", "rules.sql", "settings.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The main job --------------------------------------------------------------------------------------


def test_run_writes_four_files_and_a_summary(folder):
    result = call("run", write_groups(), "-k", 3)
    assert result.exit_code == 0
    assert sorted(os.listdir(folder / "t_rules")) == FILES
    assert sorted(os.listdir(folder)) == ["t.csv", "t_rules"]
    rules = RuleSet.from_json("t_rules/rules.json")
    assert len(rules.clusters) == 3
    assert sorted(cluster.rows for cluster in rules.clusters) == [20, 20, 20]
    assert result.stderr == f"note: {SCALED}\n"
    assert SCALED in rules.statistics.notes
    for rule in rules:
        assert str(rule) in result.stdout
    for text in ("33.3%", "k-means cost", f"{rules.statistics.normalized_cost:.3f}", "t_rules/report.md"):
        assert text in result.stdout.replace(os.sep, "/")
    assert '"my height"' in (folder / "t_rules" / "rules.sql").read_text() or len(rules.tested_columns) < 2


def test_run_repeats_itself(folder):
    call("run", write_groups(), "-k", 3, "-o", "a")
    call("run", write_groups(), "-k", 3, "-o", "b", "--seed", 0)
    for name in FILES:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


def test_the_emitted_forms_agree_with_the_rules(folder):
    call("run", write_groups(), "-k", 3)
    result = call("verify", "t_rules/rules.json", "t.csv")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert re.search(r"Python, nested\s+\d+\s+0\b", result.stdout)
    # Every style in DuckDB and in SQLite, and one on the file as DuckDB reads it.
    assert result.stdout.count("SQL, ") == 2 * len(LABELLING_STYLES) + 1


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_every_kind_of_file_gives_the_same_rules(folder, form):
    with open(write_groups(), encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    rows = [{name: float(value) for name, value in row.items()} for row in rows]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), "u.parquet")
    else:
        (folder / "u.jsonl").write_text("\n".join(map(json.dumps, rows)))
    one, other = (json.loads(call("fit", name, "-k", 3).stdout) for name in ("t.csv", f"u.{form}"))
    assert (one["settings"].pop("tables"), other["settings"].pop("tables")) == (["t.csv"], [f"u.{form}"])
    assert one == other


def test_run_options_reach_the_sql(folder):
    call("run", write_groups(), "-k", 3, "--dialect", "mysql", "--style", "select", "--column", "my height=h")
    text = (folder / "t_rules" / "rules.sql").read_text()
    assert "FROM `t`" in text
    assert "my height" not in "".join(line for line in text.splitlines() if not line.startswith("--"))
    call("run", "t.csv", "-k", 3, "--style", "select", "--table", "sales.rows", "--force")
    assert 'FROM "sales"."rows"' in (folder / "t_rules" / "rules.sql").read_text()


def test_fit_writes_json_to_stdout_and_the_rest_to_stderr():
    result = call("fit", write_groups(), "-k", 3)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["format"] == "shallowrules/2"
    assert "k-means cost" in result.stderr


def test_fit_writes_to_a_file(folder):
    result = call("fit", write_groups(), "-k", 3, "-o", "rules.json")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert len(RuleSet.from_json("rules.json")) == 3
    assert sorted(os.listdir(folder)) == ["rules.json", "t.csv"]


@pytest.mark.parametrize("method", ["exshallow", "exgreedy"])
def test_methods(method):
    statistics = json.loads(call("fit", write_groups(), "-k", 3, "--method", method).stdout)["statistics"]
    assert statistics["method"] == method


@pytest.mark.parametrize(
    "arguments", [("imm",), ("exkmc", "--max-leaves", 5), ("exkmc", "--max-leaves", 5, "--base", "imm")]
)
def test_imm_and_exkmc(arguments):
    result = call("run", write_groups(), "-k", 3, "--scale", "none", "--method", *arguments)
    assert result.exit_code == 0
    rules = RuleSet.from_json("t_rules/rules.json")
    assert rules.statistics.method == arguments[0]
    assert 3 <= len(rules) <= (5 if "--max-leaves" in arguments else 3)  # ExKMC stops where no cut gains
    assert ("\n or " in re.sub(r" +", " ", result.stdout)) == (len(rules) > 3)
    assert call("verify", "t_rules/rules.json", "t.csv").exit_code == 0


def crowded(path="t.csv"):
    """Write a table whose trees differ by the trade-off, and return its path."""
    rows = np.random.default_rng(1).normal(size=(300, 4)).round(2)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["a", "b", "c", "d"], *rows.tolist()])
    return path


def path_lines(*arguments):
    """Return the lines of `path`'s table, numbers but for the last; the third is in percent."""
    result = call("path", crowded(), "-k", 9, *arguments)
    assert result.exit_code == 0
    found = [line.replace("%", "").split() for line in result.stdout.splitlines()]
    return [[*map(float, line[:-1]), line[-1]] for line in found if line and re.fullmatch(r"[\d.]+", line[0])]


def test_path_shows_what_run_would_give():
    lines = path_lines()
    assert len(lines) > 4
    assert [line[1] for line in lines] == sorted(line[1] for line in lines)
    assert [line[3] for line in lines] == sorted((line[3] for line in lines), reverse=True)
    assert {line[6] for line in lines} == {"full", "none"}
    for tradeoff, cost, extra, conditions, questions, rules, refine in lines:
        fitted = call("fit", "t.csv", "-k", 9, "--tradeoff", tradeoff, "--refine", refine)
        statistics = json.loads(fitted.stdout)["statistics"]
        assert statistics["normalized_cost"] == pytest.approx(cost, abs=6e-4)
        assert extra == pytest.approx(100 * (statistics["normalized_cost"] - 1), abs=0.06)
        assert (statistics["waes"], statistics["wad"]) == pytest.approx((conditions, questions), abs=6e-3)
        assert rules == 9


def test_goals_choose_on_the_path():
    lines = path_lines()
    cheap, short = lines[2], lines[-2]
    call("run", "t.csv", "-k", 9, "--max-conditions", cheap[3] + 0.01)
    assert RuleSet.from_json("t_rules/rules.json").statistics.tradeoff == cheap[0]
    statistics = json.loads(call("fit", "t.csv", "-k", 9, "--max-cost", short[1] + 0.001).stdout)["statistics"]
    assert statistics["tradeoff"] == short[0]
    result = call("fit", "t.csv", "-k", 9, "--max-cost", cheap[1] + 0.001, "--max-conditions", short[3] - 0.1)
    assert result.exit_code == 0
    assert "warning: no tree has a cost of at most" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--max-cost", "0.9"], 3, "no tree has a cost of at most 0.9: the cheapest costs 1."),
        (["--max-conditions", "0.2"], 3, "no tree has at most 0.2 conditions per row: the shortest has"),
        (["--max-cost", "0"], 2, "not in the range"),
        (["--max-conditions", "nan"], 2, "not in the range"),
        (["--max-cost", "1.1", "--tradeoff", "0.1"], 2, "leave out --tradeoff"),
        (["--max-cost", "1.1", "--method", "exgreedy"], 2, "--method exgreedy has no trade-off to search"),
        (["--budget", "9"], 2, "--budget applies to --refine thorough only, not to --refine full"),
        (
            ["--refine", "thorough", "--budget", "soon"],
            2,
            "--budget must be a number of growths above 0, or of seconds",
        ),
        (["--max-leaves", "9"], 2, "--max-leaves applies to --method exkmc only, not to --method exshallow"),
        (["--base", "imm"], 2, "--base applies to --method exkmc only"),
        (["--method", "exkmc", "--max-leaves", "4"], 2, "--max-leaves 4 is less than the 9 clusters"),
    ],
)
def test_goals_and_leaves_that_are_refused(arguments, status, message):
    crowded()
    assert message in refused("run", "t.csv", "-k", 9, *arguments, status=status)


def test_a_thorough_search_and_its_budget_are_passed_on():
    crowded()
    fitted = call("fit", "t.csv", "-k", 9, "--refine", "thorough", "--budget", "20")
    statistics = json.loads(fitted.stdout)["statistics"]
    assert any(note.startswith("searched thoroughly") for note in statistics["notes"])
    full = json.loads(call("fit", "t.csv", "-k", 9).stdout)["statistics"]
    new, old = (one["normalized_cost"] + 0.03 * one["waes"] for one in (statistics, full))
    assert new <= old


def test_the_tradeoff_and_the_scale_are_passed_on():
    statistics = json.loads(call("fit", write_groups(), "-k", 3, "--tradeoff", 0.25).stdout)["statistics"]
    assert statistics["tradeoff"] == 0.25
    for scale in ("none", "standard", "robust"):
        notes = json.loads(call("fit", "t.csv", "-k", 3, "--scale", scale).stdout)["statistics"]["notes"]
        assert (scale == "none") == (not any(f"--scale {scale}" in note for note in notes))


def test_categories_get_rules_by_name(folder):
    rows = [(10.0 * (i % 2), ("month to month", "two year, fixed")[i % 2], i % 3) for i in range(30)]
    with open("t.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("pay", "contract", "n"), *rows])
    result = call("run", "t.csv", "-k", 2, "--columns", "contract,n", "--category-weight", 5)
    assert result.exit_code == 0
    assert {str(rule) for rule in RuleSet.from_json("t_rules/rules.json")} == {
        "contract = 'month to month'",
        "contract <> 'month to month'",
    }
    assert "\"contract\" = 'month to month'" in (folder / "t_rules" / "rules.sql").read_text()
    assert "contract == 'month to month'" in (folder / "t_rules" / "rules.py").read_text()
    assert "**contract** is 'month to month'" in (folder / "t_rules" / "report.md").read_text()
    verified = call("verify", "t_rules/rules.json", "t.csv")
    assert verified.exit_code == 0, verified.stdout


def test_notes_are_shown_and_kept(folder):
    rows = [(i % 3 * 1000.0, i % 2 / 10, 5, "" if i == 4 else 1.5 * (i % 5)) for i in range(30)]
    with open("t.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("big", "small", "same", "gap"), *rows])
    result = call("run", "t.csv", "-k", 3, "--drop-missing", "--scale", "none")
    assert result.exit_code == 0
    notes = RuleSet.from_json("t_rules/rules.json").statistics.notes
    for note in (
        "1 of 30 rows left out for missing values: 'gap' (1 row)",
        "column 'same' has one value only (5) and plays no part",
    ):
        assert f"note: {note}\n" in result.stderr
        assert note in notes
    [dominant] = [note for note in notes if "'big' has 99.9% of the variance" in note]
    assert f"warning: {dominant}\n" in result.stderr
    assert RuleSet.from_json("t_rules/rules.json").statistics.rows == 29


def test_rules_know_conversions_and_imputed_values(folder):
    """The options given once, when reading, are kept in the rules: verify does not need them."""
    rows = [(f"{i % 3},5", f" {i % 4}" if i % 7 else " ", ("a", "b")[i % 2] if i % 11 else "n/a") for i in range(99)]
    with open("t.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=";").writerows([("x", "n", "c"), *rows])
    said = ["--decimal", ",", "--null", "", "--null", "n/a", "--impute", "median"]
    result = call("run", "t.csv", "-k", 9, *said)
    assert result.exit_code == 0, result.stderr
    rules = RuleSet.from_json("t_rules/rules.json")
    assert [(c.type, c.decimal, c.nulls, c.imputed) for c in rules.columns] == [
        ("float", ",", (), None),
        ("integer", ".", ("",), 1),
        ("text", ".", ("n/a",), "a"),
    ]
    assert rules.tested_columns == (0, 1, 2)
    for note in (
        "a missing value of column 'n' (15 rows) is taken as 1, the median",
        "a missing value of column 'c' (9 rows) is taken as 'a', the most frequent value",
    ):
        assert f"note: {note}\n" in result.stderr
        assert note in rules.statistics.notes
    sql, python, sheet = ((folder / "t_rules" / name).read_text() for name in ("rules.sql", "rules.py", "report.md"))
    assert '"n" IS NULL OR ' in sql
    assert "REPLACE(" in sql
    assert "nulls=('',)" in python
    assert "decimal=','" in python
    assert "**n** (1 where missing)" in sheet
    assert "**c** ('a' where missing)" in sheet
    assert "is taken as 1, the median" in sheet
    verified = call("verify", "t_rules/rules.json", "t.csv")
    assert verified.exit_code == 0, verified.stdout + verified.stderr
    assert re.search(r"on the file itself +99 +0\b", verified.stdout)
    again = call("verify", "t_rules/rules.json", "t.csv", *said[:-2])
    assert again.exit_code == 0, again.stdout


def test_weights_count():
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write("x,w\n" + "0.5,1\n9.5,3\n" * 10)
    document = json.loads(call("fit", "t.csv", "-k", 2, "--weight", "w").stdout)
    assert [column["name"] for column in document["columns"]] == ["x"]
    assert document["statistics"]["weight"] == 40
    assert sorted(cluster["share"] for cluster in document["clusters"]) == [0.25, 0.75]


def labelled(path="t.csv"):
    """Write the three groups with a name for each but the last row's, a weight, and one row named wrongly."""
    with open(write_groups("plain.csv"), encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    names = [["low", "wide|", "high"][i % 3] for i in range(len(rows))]
    names[0], names[-1] = "high", ""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        made = [[*row, name, 1 + i % 2] for i, (row, name) in enumerate(zip(rows, names, strict=True))]
        csv.writer(stream).writerows([[*header, "segment", "w"], *made])
    os.remove("plain.csv")
    return path


def test_given_labels_are_explained(folder):
    result = call("run", labelled(), "--labels", "segment", "--exclude", "w")
    assert result.exit_code == 0
    scaled = SCALED.replace("for the clustering", "to measure distances")
    left_out = "left out of fitting: 1 of 60 rows, without a given label"
    assert result.stderr == f"note: {scaled}\nnote: {left_out}\n"
    rules = RuleSet.from_json("t_rules/rules.json")
    assert [column.name for column in rules.columns] == ["width", "my height"]
    assert [cluster.name for cluster in rules.clusters] == ["high", "low", "wide|"]
    statistics = rules.statistics
    assert (statistics.labelled, statistics.left_out, statistics.rows) == (True, 1, 59)
    assert statistics.agreement == pytest.approx(58 / 59)
    assert rules.clusters[1].precision == pytest.approx(19 / 20)  # the one that is named wrongly
    assert rules.clusters[0].recall == pytest.approx(19 / 20)
    words = " ".join(result.stdout.split())
    assert "cluster rows share precision recall rule" in words
    assert re.search(r"1 \(low\) 20 33\.9% 95\.0% 100\.0% ", words)
    assert "98.3% of the rows get their given label" in words
    assert "times that of the given clusters" in words
    assert "left out 1 row in no cluster" in words
    sheet = (folder / "t_rules" / "report.md").read_text(encoding="utf-8")
    for line in (
        "| Agreement with the given labels | 98.3 % |",
        "| Left out | 1 row |",
        "| Cluster | Rows | Share | Precision | Recall | Rule |",
        "| 1 (low) | 20 | 33.9 % | 95.0 % | 100.0 % | ",
        "| 2 (wide\\|) | 20 | 33.9 % | 100.0 % | 100.0 % | ",
        "95.0 % of what the rules put here has the given label 'low' (precision)",
        "- left out of fitting: 1 of 60 rows, without a given label",
    ):
        assert line in sheet
    assert call("verify", "t_rules/rules.json", "t.csv").exit_code == 0
    assert call("label", "t_rules/rules.json", "t.csv", "-o", "out.parquet").exit_code == 0
    found = pq.read_table("out.parquet")["cluster"].to_pylist()
    assert found == [["low", "wide|", "high"][i % 3] for i in range(60)]


def mixed(path="t.csv"):
    """Write numbers, categories, a segment that lacks in five rows, and a weight that is 0 in some."""
    random = np.random.default_rng(2)
    segment = random.integers(0, 4, 300)
    columns = {
        "months": random.integers(0, 40, 300) + 15 * segment,
        "amount": (random.normal(0, 9, 300) + 20 * (segment % 2)).round(1),
        "kind": np.array(["A", "B", "C", "D"])[np.where(random.random(300) < 0.8, segment, random.integers(0, 4, 300))],
        "segment": [["low", "mid", "high", "top"][i] if row >= 5 else "" for row, i in enumerate(segment)],
        "w": random.integers(0, 4, 300),
    }
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


@pytest.mark.parametrize(
    "chosen",
    few(
        [
            ["--labels", "segment", "--weight", "w"],
            ["--labels", "segment", "--weight", "w", "--explain", "kind,amount"],
            ["-k", "4", "--columns", "months,amount", "--explain", "kind,amount", "--weight", "w"],
            ["-k", "4", "--columns", "months,kind", "--scale", "standard"],
        ]
    ),
    ids=["labels", "labels by some", "some by others", "some"],
)
def test_path_and_goals_of_any_clustering(chosen):
    result = call("path", mixed(), *chosen)
    assert result.exit_code == 0
    found = [line.replace("%", "").split() for line in result.stdout.splitlines()]
    lines = [[*map(float, line[:-1]), line[-1]] for line in found if line and re.fullmatch(r"[\d.]+", line[0])]
    for tradeoff, cost, _, conditions, *_, refine in (lines[0], lines[-1]):
        alone = json.loads(call("fit", "t.csv", *chosen, "--tradeoff", tradeoff, "--refine", refine).stdout)
        statistics = alone["statistics"]
        assert (statistics["normalized_cost"], statistics["waes"]) == pytest.approx((cost, conditions), abs=6e-3)
        goal = json.loads(call("fit", "t.csv", *chosen, "--max-cost", cost + 0.001).stdout)
        assert goal.pop("settings") != alone.pop("settings")
        assert goal == alone
        assert statistics["labelled"] == ("--labels" in chosen)
        assert (statistics["left_out"] > 0) == ("--labels" in chosen)
    assert call("run", "t.csv", *chosen, "--max-conditions", lines[-1][3] + 0.01).exit_code == 0
    rules = RuleSet.from_json("t_rules/rules.json")
    tested = {rules.columns[j].name for j in rules.tested_columns}
    if "--explain" in chosen:
        assert tested <= {"kind", "amount"}
    assert call("verify", "t_rules/rules.json", "t.csv").exit_code == 0
    assert call("label", "t_rules/rules.json", "t.csv", "-o", "out.parquet").exit_code == 0
    named = any(cluster.is_named for cluster in rules.clusters)
    names = {cluster.index: cluster.name if named else str(cluster.index) for cluster in rules.clusters}
    given = [names[i] for i in rules.assign(read_table("t.csv")).tolist()]
    assert [str(name) for name in pq.read_table("out.parquet")["cluster"].to_pylist()] == given


def test_weights_count_in_every_figure_shown(folder):
    result = call("run", labelled(), "--labels", "segment", "--weight", "w")
    assert "note: rows count by the weights in column 'w'\n" in result.stderr
    statistics = RuleSet.from_json("t_rules/rules.json").statistics
    assert (statistics.rows, statistics.weight, statistics.weighted) == (59, 88, True)
    assert statistics.agreement == pytest.approx(87 / 88)
    assert "98.9% of the weight gets its given label" in result.stdout
    sheet = (folder / "t_rules" / "report.md").read_text(encoding="utf-8")
    assert "59 rows, 2 columns, weighing 88 in all" in sheet
    assert "- rows count by the weights in column 'w'" in sheet
    unlabelled = call("run", "t.csv", "-k", 3, "--weight", "w", "--exclude", "segment", "--force")
    assert "of the weight stays in its cluster" in unlabelled.stdout


def test_labels_that_no_cut_can_follow_get_a_warning():
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write("x,c\n" + "".join(f"{i},{i % 2}\n" for i in [*range(30), 5, 5]))
    result = call("fit", "t.csv", "--labels", "c")
    assert result.exit_code == 0
    assert "warning: the rules give" in result.stderr
    assert json.loads(result.stdout)["statistics"]["agreement"] < 0.8


def test_some_columns_are_clustered_and_others_explain():
    document = json.loads(call("fit", labelled(), "-k", 3, "--columns", "width", "--explain", "my height").stdout)
    assert [column["name"] for column in document["columns"]] == ["width", "my height"]
    assert {node["column"] for node in document["nodes"] if "column" in node} == {1}
    everything = json.loads(call("fit", "t.csv", "-k", 3, "--explain", "width", "--exclude", "segment").stdout)
    assert [column["name"] for column in everything["columns"]] == ["width", "my height", "w"]
    assert {node["column"] for node in everything["nodes"] if "column" in node} == {0}
    by_labels = json.loads(call("fit", "t.csv", "--labels", "segment", "--explain", "my height,width").stdout)
    assert [column["name"] for column in by_labels["columns"]] == ["my height", "width"]


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["-k", "3", "--labels", "segment"], "-k does not go with --labels", 2),
        (["--labels", "nix"], "there is no column 'nix'", 3),
        (["--labels", "w", "--weight", "w"], "column 'w' cannot be both the weights and the labels", 2),
        (["--labels", "segment", "--columns", "width,segment"], "'segment' has the labels: do not use, explain", 2),
        (["--labels", "segment", "--exclude", "segment"], "'segment' has the labels: do not use, explain", 2),
        (["-k", "3", "--explain", "w", "--exclude", "w"], "column 'w' is in --explain and in --exclude", 2),
        (["-k", "3", "--explain", "nix", "--exclude", "segment"], "there is no column 'nix'", 3),
        (["--labels", "width", "--exclude", "segment"], "column 'width' has another label in each of", 3),
        (["--labels", "same", "--exclude", "segment"], "column 'same' has one label only", 3),
        (["--labels", "segment", "--weight", "w", "--exclude", "width,my height,same"], "has no column but the", 3),
    ],
)
def test_labels_that_are_refused(arguments, message, status):
    rows = [f"{i * i + 0.5},{i % 5},{'abc'[i % 3]},{1 + i % 2},5\n" for i in range(30)]
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.writelines(["width,my height,segment,w,same\n", *rows])
    assert message in refused("run", "t.csv", *arguments, status=status)


def test_columns_and_exclude_are_lists():
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write('a,"b,c",d,e\n' + "".join(f"{i % 3},{i % 2},x,y\n" for i in range(12)))
    for arguments in (
        ["--exclude", "d,e"],
        ["--exclude", "d", "--exclude", "e"],
        ["--columns", 'a,"b,c"'],
        ["--columns", "a", "--columns", '"b,c"'],
    ):
        document = json.loads(call("fit", "t.csv", "-k", 2, *arguments).stdout)
        assert [column["name"] for column in document["columns"]] == ["a", "b,c"]


def test_a_cluster_with_a_name_is_shown_with_its_number(capsys):
    rules = make_rules([("x", "float"), ("n", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))
    clusters = [replace(c, name="high") if c.index == 1 else c for c in rules.clusters]
    show_rules(replace(rules, clusters=tuple(clusters)))
    assert sorted(re.findall(r"^ ?(\d(?: \(.+?\))?) ", capsys.readouterr().out, re.MULTILINE)) == ["0", "1 (high)", "2"]


def test_a_first_line_of_whole_numbers_is_shown_and_kept(folder):
    (folder / "t.csv").write_text("1,2\n3,4\n5,6\n")
    result = call("run", "t.csv", "-k", 2)
    assert result.exit_code == 0
    doubt = "the first line, 1, 2, was taken for the column names; if the file has no header, add one"
    assert result.stderr.count(f"warning: {doubt}\n") == 1
    assert doubt in RuleSet.from_json("t_rules/rules.json").statistics.notes


# Replacing files -----------------------------------------------------------------------------------


def test_files_are_not_replaced_unasked(folder):
    write_groups()
    (folder / "t_rules").mkdir()
    (folder / "t_rules" / "report.md").write_text("mine")
    (folder / "t_rules" / "other.txt").write_text("mine too")
    message = refused("run", "t.csv", "-k", 3)
    assert "t_rules/report.md exists; use --force" in message
    assert call("run", "t.csv", "-k", 3, "--force").exit_code == 0
    assert sorted(os.listdir("t_rules")) == ["other.txt", *FILES]
    assert (folder / "t_rules" / "report.md").read_text() != "mine"


@pytest.mark.parametrize("existed", [False, True])
def test_a_failure_half_way_leaves_nothing_half_written(folder, monkeypatch, existed):
    write_groups()
    if existed:
        (folder / "t_rules").mkdir()
        (folder / "t_rules" / "report.md").write_text("mine")
    atomic_write = output.atomic_write

    def full_disk(path, text):
        if path.name == "rules.py":
            raise OSError(28, "No space left on device", str(path))
        atomic_write(path, text)

    monkeypatch.setattr(output, "atomic_write", full_disk)
    message = refused("run", "t.csv", "-k", 3, "--force")
    assert "No space left on device" in message
    assert (folder / "t_rules").exists() == existed


def test_places_that_cannot_be_written_are_known_before_the_work(folder, monkeypatch):
    monkeypatch.setattr("shallowrules.cli.commands.run.fit_rules", lambda *_: pytest.fail("it went to work"))
    write_groups()
    (folder / "file").write_text("x")
    (folder / "full").mkdir()
    (folder / "full" / "rules.sql").mkdir()
    assert "file is a file; name a folder" in refused("run", "t.csv", "-k", 3, "-o", "file")
    assert "there is no folder" in refused("run", "t.csv", "-k", 3, "-o", "none/here")
    assert "is a folder" in refused("run", "t.csv", "-k", 3, "-o", "full", "--force")
    assert "there is no folder" in refused("fit", "t.csv", "-k", 3, "-o", "none/rules.json")
    assert "full is a folder; name a file" in refused("fit", "t.csv", "-k", 3, "-o", "full")
    assert "t.csv is the file that is read" in refused("fit", "t.csv", "-k", 3, "-o", "t.csv")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(folder):
    write_groups()
    (folder / "closed").mkdir(mode=0o500)
    assert "cannot be written to" in refused("run", "t.csv", "-k", 3, "-o", "closed")


def test_a_folder_is_read_again_without_the_results_of_last_time(folder):
    write_groups("t.csv")
    for name in "first", "second":
        done = call("run", ".", "-k", 3, "-o", f"{name}_rules")
        assert done.exit_code == 0, done.stderr
    assert (folder / "second_rules" / "rules.json").read_text() == (folder / "first_rules" / "rules.json").read_text()

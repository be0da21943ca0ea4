"""The commands that fit: their output, where it goes, the exit status, and anything left behind."""

from __future__ import annotations

import csv
import json
import os
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import SCALED, call, refused, write_groups
from commandtables import crowded, labelled
from rulesets import make_rules

from shallowrules.cli.summary import show_rules
from shallowrules.exporters.sql import LABELLING_STYLES
from shallowrules.rules import RuleSet

FILES = ["report.html", "report.md", "rules.json", "rules.py", "rules.sql", "settings.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The main job --------------------------------------------------------------------------------------


def test_run_writes_its_files_and_a_summary(folder):
    result = call("run", write_groups(), "-k", 3)
    assert result.exit_code == 0
    assert sorted(os.listdir(folder / "t_rules")) == FILES
    assert sorted(os.listdir(folder)) == ["t.csv", "t_rules"]
    rules = RuleSet.from_json("t_rules/rules.json")
    assert len(rules.clusters) == 3
    assert sorted(cluster.rows for cluster in rules.clusters) == [20, 20, 20]
    assert result.stderr == f"note: {SCALED}\n"
    assert SCALED.removesuffix(" (--scale minmax)") in rules.statistics.notes
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


def test_the_page_of_a_run_has_a_slider_and_no_rows_unless_told_otherwise(folder):
    call("sample", "wine", "-o", "t.csv")
    pages, rules = [], []
    for name, options in {"a": [], "b": ["--no-slider"], "c": ["--sample-rows", 20]}.items():
        assert call("run", "t.csv", "-k", 3, "-o", name, *options).exit_code == 0
        pages.append((folder / name / "report.html").read_text(encoding="utf-8"))
        rules.append((folder / name / "rules.json").read_bytes())
    assert ['id="slider"' in page for page in pages] == [True, False, True]
    assert ['class="dots"' in page for page in pages] == [False, False, True]
    assert len(set(rules)) == 1
    call("path", "t.csv", "-k", 3, "-o", "path.json")
    call("run", "t.csv", "-k", 3, "-o", "d", "--html-path", "path.json")
    trees = len(json.loads((folder / "path.json").read_text())["trees"])
    text = (folder / "d" / "report.html").read_text(encoding="utf-8")
    assert int(re.search(r"Tree \d+ of (\d+), the rules that", text)[1]) in (trees, trees + 1)


@pytest.mark.slow
def test_a_table_in_parts_has_no_rows_to_show(folder):
    write_groups(n_rows=800_000)
    message = refused("run", "t.csv", "-k", 3, "--memory", "64MB", "--sample-rows", 10, status=2)
    assert "--sample-rows needs the table in memory" in message
    assert not (folder / "t_rules").exists()


def test_the_emitted_forms_agree_with_the_rules(folder):
    call("run", write_groups(), "-k", 3)
    result = call("verify", "t_rules/rules.json", "t.csv")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert re.search(r"Python, nested\s+\d+\s+0\b", result.stdout)
    # Every style in DuckDB and in SQLite, and one on the file as each of them loads it.
    assert result.stdout.count("SQL, ") == 2 * len(LABELLING_STYLES) + 2


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


def test_a_thorough_search_and_its_budget_are_passed_on():
    crowded()
    fitted = call("fit", "t.csv", "-k", 9, "--refine", "thorough", "--budget", "20")
    statistics = json.loads(fitted.stdout)["statistics"]
    assert any(re.search(r"\d growths", note) for note in statistics["notes"])
    full = json.loads(call("fit", "t.csv", "-k", 9).stdout)["statistics"]
    new, old = (one["normalized_cost"] + 0.03 * one["waes"] for one in (statistics, full))
    assert new <= old


def test_the_tradeoff_and_the_scale_are_passed_on():
    statistics = json.loads(call("fit", write_groups(), "-k", 3, "--tradeoff", 0.25).stdout)["statistics"]
    assert statistics["tradeoff"] == 0.25
    for scale in ("none", "standard", "robust"):
        notes = json.loads(call("fit", "t.csv", "-k", 3, "--scale", scale).stdout)["statistics"]["notes"]
        assert (scale == "none") == (not any("every column of numbers is scaled" in note for note in notes))


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


def test_notes_are_shown_and_kept(folder, words):
    rows = [(i % 3 * 1000.0, i % 4 / 10, 5, "" if i == 4 else 1.5 * (i % 5)) for i in range(30)]
    with open("t.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("big", "small", "same", "gap"), *rows])
    result = call("run", "t.csv", "-k", 3, "--drop-missing", "--scale", "none")
    assert result.exit_code == 0
    notes = RuleSet.from_json("t_rules/rules.json").statistics.notes
    for kind, parts in (
        ("note", ["1 of 30 rows", "'gap' (1 row)"]),
        ("note", ["'same'", "only one value (5)"]),
        ("warning", ["'big'", "99.9%"]),
    ):
        [note] = [note for note in notes if all(part in note for part in parts)]
        assert f"{kind}: {note}" in result.stderr
    words(result.stderr.strip())
    assert RuleSet.from_json("t_rules/rules.json").statistics.rows == 29


@pytest.mark.slow
def test_rules_know_conversions_and_imputed_values(folder, words):
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
    imputed = []
    for parts in (["'n' (15 rows)", " 1, the median"], ["'c' (9 rows)", " 'a', the most"]):
        [note] = [note for note in rules.statistics.notes if all(part in note for part in parts)]
        assert f"note: {note}\n" in result.stderr
        imputed.append(note)
    words("\n".join(imputed))
    sql, python, sheet = ((folder / "t_rules" / name).read_text() for name in ("rules.sql", "rules.py", "report.md"))
    assert '"n" IS NULL OR ' in sql
    assert "REPLACE(" in sql
    assert "nulls=('',)" in python
    assert "decimal=','" in python
    assert "**n** (1 " in sheet
    assert "**c** ('a' " in sheet
    assert imputed[0] in sheet
    verified = call("verify", "t_rules/rules.json", "t.csv")
    assert verified.exit_code == 0, verified.stdout + verified.stderr
    assert re.search(r"file itself +99 +0\b", verified.stdout)
    again = call("verify", "t_rules/rules.json", "t.csv", *said[:-2])
    assert again.exit_code == 0, again.stdout


def test_weights_count():
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write("x,w\n" + "0.5,1\n9.5,3\n" * 10)
    document = json.loads(call("fit", "t.csv", "-k", 2, "--weight", "w").stdout)
    assert [column["name"] for column in document["columns"]] == ["x"]
    assert document["statistics"]["weight"] == 40
    assert sorted(cluster["share"] for cluster in document["clusters"]) == [0.25, 0.75]


def test_given_labels_are_explained(folder, words):
    result = call("run", labelled(), "--labels", "segment", "--exclude", "w")
    assert result.exit_code == 0
    scaled = SCALED.replace("for the clustering", "to measure distances")
    first, second = result.stderr.splitlines()
    assert first == f"note: {scaled}"
    kind, _, left_out = second.partition(": ")
    assert kind == "note"
    assert "1 of 60 rows" in left_out
    words(left_out)
    rules = RuleSet.from_json("t_rules/rules.json")
    assert [column.name for column in rules.columns] == ["width", "my height"]
    assert [cluster.name for cluster in rules.clusters] == ["high", "low", "wide|"]
    statistics = rules.statistics
    assert (statistics.labelled, statistics.left_out, statistics.rows) == (True, 1, 59)
    assert statistics.agreement == pytest.approx(58 / 59)
    assert rules.clusters[1].precision == pytest.approx(19 / 20)  # the one that is named wrongly
    assert rules.clusters[0].recall == pytest.approx(19 / 20)
    shown = " ".join(result.stdout.split())
    assert re.search(r"1 \(low\) 20 33\.9% 95\.0% 100\.0% ", shown)
    assert "98.3% of the rows" in shown
    assert "left out 1 row " in shown
    words(re.search(r"k-means cost .*(?= written )", shown)[0])
    sheet = (folder / "t_rules" / "report.md").read_text(encoding="utf-8")
    for line in (
        "| Left out | 1 row that was in no cluster",
        "| Cluster | Rows | Share | Correct | Found | A row is here if |",
        "| 1 (low) | 20 | 33.9% | 95.0% | 100.0% | ",
        "| 2 (wide\\|) | 20 | 33.9% | 100.0% | 100.0% | ",
        f"- {left_out}",
    ):
        assert line in sheet
    assert re.search(r"^\| Agreement \| 98\.3% of the rows have their given label \|", sheet, re.MULTILINE)
    assert re.search(r"\b95\.0% .* 'low' \(precision\)", sheet)
    assert call("verify", "t_rules/rules.json", "t.csv").exit_code == 0
    assert call("label", "t_rules/rules.json", "t.csv", "-o", "out.parquet").exit_code == 0
    found = pq.read_table("out.parquet")["cluster"].to_pylist()
    assert found == [["low", "wide|", "high"][i % 3] for i in range(60)]


def test_weights_count_in_every_figure_shown(folder, words):
    result = call("run", labelled(), "--labels", "segment", "--weight", "w")
    [note] = [line[6:] for line in result.stderr.splitlines() if line.startswith("note: ") and "'w'" in line]
    words(note)
    statistics = RuleSet.from_json("t_rules/rules.json").statistics
    assert (statistics.rows, statistics.weight, statistics.weighted) == (59, 88, True)
    assert statistics.agreement == pytest.approx(87 / 88)
    assert "98.9% of the weight" in result.stdout
    sheet = (folder / "t_rules" / "report.md").read_text(encoding="utf-8")
    assert re.search(r"\b59 rows, 2 columns, .*\b88\b", sheet)
    assert f"- {note}" in sheet
    unlabelled = call("run", "t.csv", "-k", 3, "--weight", "w", "--exclude", "segment", "--force")
    assert "% of the weight" in unlabelled.stdout


def test_labels_that_no_cut_can_follow_get_a_warning(words):
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write("x,c\n" + "".join(f"{i},{i % 2}\n" for i in [*range(30), 5, 5]))
    result = call("fit", "t.csv", "--labels", "c")
    assert result.exit_code == 0
    agreement = json.loads(result.stdout)["statistics"]["agreement"]
    assert agreement < 0.8
    [warning] = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert f"{agreement:.0%}" in warning
    words(warning)


def test_some_columns_are_clustered_and_others_explain():
    document = json.loads(call("fit", labelled(), "-k", 3, "--columns", "width", "--explain", "my height").stdout)
    assert [column["name"] for column in document["columns"]] == ["width", "my height"]
    assert {node["column"] for node in document["nodes"] if "column" in node} == {1}
    everything = json.loads(call("fit", "t.csv", "-k", 3, "--explain", "width", "--exclude", "segment").stdout)
    assert [column["name"] for column in everything["columns"]] == ["width", "my height", "w"]
    assert {node["column"] for node in everything["nodes"] if "column" in node} == {0}
    by_labels = json.loads(call("fit", "t.csv", "--labels", "segment", "--explain", "my height,width").stdout)
    assert [column["name"] for column in by_labels["columns"]] == ["my height", "width"]


def test_labels_that_are_refused(words):
    rows = [f"{i * i + 0.5},{i % 5},{'abc'[i % 3]},{1 + i % 2},5\n" for i in range(30)]
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.writelines(["width,my height,segment,w,same\n", *rows])
    said = []
    for arguments, status, found in (
        (["-k", "3", "--labels", "segment"], 2, ["-k", "--labels"]),
        (["--labels", "nix"], 3, ["no column 'nix'"]),
        (["--labels", "w", "--weight", "w"], 2, ["'w'", "weights", "labels"]),
        (["--labels", "segment", "--columns", "width,segment"], 2, ["'segment'", "labels"]),
        (["--labels", "segment", "--exclude", "segment"], 2, ["'segment'", "labels"]),
        (["-k", "3", "--explain", "w", "--exclude", "w"], 2, ["'w'", "--explain", "--exclude"]),
        (["-k", "3", "--explain", "nix", "--exclude", "segment"], 3, ["no column 'nix'"]),
        (["--labels", "width", "--exclude", "segment"], 3, ["'width'", "30"]),
        (["--labels", "same", "--exclude", "segment"], 3, ["'same'", "one label"]),
        (["--labels", "segment", "--weight", "w", "--exclude", "width,my height,same"], 3, ["'w'", "'segment'"]),
    ):
        message = refused("run", "t.csv", *arguments, status=status)
        assert all(part in message for part in found), message
        said.append((" ".join(arguments), message))
    words(said)


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


def test_what_was_found_in_a_file_is_shown_and_kept(folder, words):
    (folder / "t.csv").write_text("my table\n3,x\n4,y\n5,x\n6,y\n")
    result = call("run", "t.csv", "-k", 2)
    assert result.exit_code == 0
    notes = RuleSet.from_json("t_rules/rules.json").statistics.notes
    found = []
    for part, option in (("skipped", "--skip 1"), ("no header", "--header none"), ("own units", "--scale standard")):
        found += [note for note in notes if part in note]
        assert result.stderr.count(f"note: {found[-1]} ({option})\n") == 1
    words("\n".join(found[:2]))

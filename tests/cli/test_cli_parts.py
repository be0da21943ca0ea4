"""`run` and `fit` of tables that do not fit in memory: in parts, by --memory or by themselves."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shallowrules import RuleSet
from shallowrules.cli.commands import shallowrules
from shallowrules.partitions import memory as machine

pytest.importorskip("duckdb")


@pytest.fixture
def sales(tmp_path, monkeypatch):
    """Three Parquet files of one table, one of them without rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 900)
    frame = pd.DataFrame(
        {
            "amount": np.round(rng.normal(group * 5, 1.0), 2),
            "age": rng.integers(20, 60, 900) + 5 * group,
            "kind": np.array(["a", "b", "c", "d"])[group],
            "segment": np.array(["low", "mid", "high", "top"])[group],
            "copies": rng.integers(1, 4, 900),
        }
    )
    frame.to_parquet("whole.parquet", index=False)
    (tmp_path / "sales").mkdir()
    for i, piece in enumerate((frame[:400], frame[400:400], frame[400:])):
        piece.to_parquet(tmp_path / "sales" / f"{i}.parquet", index=False)
    return frame


@st.composite
def labelled_files(draw):
    """Return a CSV file with labels of one kind, some of them missing, and the options that name them."""
    n_rows = draw(st.integers(4, 40))
    kinds = [
        ["true", "false"],
        ["TRUE", "False", "t", "F", " true"],
        ["0", "1"],
        ["1", "2.5", "-3"],
        ["007", "7", "12"],
        ["low", "mid", "true"],
        ["one"],
        ["2024-01-31", "2023-12-01"],
        [f"r{i}" for i in range(n_rows)],
    ]
    words = draw(st.sampled_from(kinds))
    texts = words + draw(st.lists(st.sampled_from(words), min_size=n_rows, max_size=n_rows))
    missing = draw(st.just([]) | st.lists(st.integers(0, n_rows - 1), max_size=n_rows))
    labels = ["" if i in missing else label for i, label in enumerate(texts[:n_rows])]
    x = draw(st.lists(st.integers(0, 9), min_size=n_rows, max_size=n_rows))
    weights = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=n_rows, max_size=n_rows))
    lines = [f"{a / 4},{b},{label},{w}" for a, b, label, w in zip(x, x[::-1], labels, weights, strict=True)]
    others = draw(st.sampled_from([["--exclude", "w"], ["--weight", "w"]]))
    return "x,y,label,w\n" + "".join(f"{line}\n" for line in lines), ["--labels", "label", *others]


def clusters_of(document):
    """Return the nodes and the clusters of rules; notes are fewer in parts."""
    rules = json.loads(document)
    return rules["nodes"], rules["clusters"]


@draws(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=labelled_files())
def test_labels_are_the_same_in_memory_and_in_parts(tmp_path, drawn):
    text, options = drawn
    file = tmp_path / "l.csv"
    file.write_text(text)
    whole, parts = (
        CliRunner().invoke(shallowrules, ["fit", str(file), *options, *memory]) for memory in ([], ["--memory", "1GB"])
    )
    assert whole.exit_code == parts.exit_code, (whole.output, parts.output)
    if not whole.exit_code:
        assert clusters_of(parts.stdout) == clusters_of(whole.stdout)


def command(*arguments):
    return CliRunner().invoke(shallowrules, list(arguments), catch_exceptions=False)


def rules_of(*arguments):
    done = command(*arguments)
    assert done.exit_code == 0, done.output
    return RuleSet.from_json("rules.json").to_dict(), done


@pytest.mark.parametrize(
    "options",
    [
        ["--exclude", "copies"],
        ["--weight", "copies"],
        ["--explain", "amount,age"],
        ["--scale", "standard", "--refine", "none", "--exclude", "copies,kind"],
        ["--scale", "robust", "--exclude", "copies"],
        ["--no-histograms"],
    ],
)
def test_rules_of_labels_are_those_of_the_whole_table(sales, options):
    whole, _ = rules_of("fit", "whole.parquet", "--labels", "segment", *options, "-o", "rules.json", "--force")
    parts, _ = rules_of(
        "fit", "sales/*.parquet", "--labels", "segment", *options, "-o", "rules.json", "--force", "--memory", "1GB"
    )
    assert whole["settings"].pop("tables") == ["whole.parquet"]
    assert parts["settings"].pop("tables") == ["*.parquet"]
    assert parts == whole


def test_run_writes_all_forms_from_parts(sales, tmp_path):
    done = command("run", "sales", "-k", "4", "--exclude", "segment,copies", "--memory", "500MB", "-o", "out")
    assert done.exit_code == 0, done.output
    assert {"rules.json", "rules.sql", "rules.py", "report.md", "report.html"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }
    rules = RuleSet.from_json("out/rules.json")
    labels = rules.assign(sales)
    assert np.bincount(labels).tolist() == [cluster.rows for cluster in rules.clusters]
    assert rules.statistics.other_columns == ("segment", "copies")
    assert "no histograms" not in done.output


def test_a_table_that_does_not_fit_is_read_in_parts_by_itself(sales, tmp_path, monkeypatch, words):
    sales.drop(columns=["segment", "copies"]).to_csv("sales.csv", index=False)
    usual = command("fit", "sales.csv", "-k", "4", "-o", "rules.json", "--force")
    assert "in parts" not in usual.output
    monkeypatch.setattr(machine, "available_memory", lambda: 20_000)
    done = command("fit", "sales.csv", "-k", "4", "-o", "rules.json", "--force")
    assert done.exit_code == 0, done.output
    [note] = [line for line in done.stderr.splitlines() if "in parts" in line]
    assert "sales.csv" in note
    assert note.count("0.0 GB") == 2
    words(note)


def test_rows_of_a_database(sales):
    pytest.importorskip("sqlalchemy")
    with closing(sqlite3.connect("shop.db")) as connection:
        sales.to_sql("sales", connection, index=False)
        connection.commit()
    rows = ["--database", "sqlite:///shop.db", "--table", "sales", "--labels", "segment"]
    found, _ = rules_of("fit", *rows, "-o", "rules.json", "--force", "--memory", "1GiB")
    assert {cluster["name"] for cluster in found["clusters"]} == {"low", "mid", "high", "top"}


def test_what_does_not_work_on_parts_is_said(sales, tmp_path, words):
    said = []
    for options, found in (
        (["--drop-missing"], ["--drop-missing", "in parts"]),
        (["--max-cost", "1.2"], ["--max-cost", "--max-conditions", "in parts"]),
        (["--method", "imm"], ["--method imm", "in parts"]),
        (["--weight", "weights"], ["'weights'"]),
        (["--memory", "much"], ["--memory", "'much'"]),
        (["--memory", "1000"], ["--memory", "1000 "]),
    ):
        done = command("run", "sales", "-k", "4", "--memory", "1GB", *options)
        assert done.exit_code != 0
        message = " ".join(done.output.partition("Error: ")[2].split())
        assert all(part in message for part in found), done.output
        said.append((" ".join(options), message))
        assert not (tmp_path / "sales_rules").exists()
    words(said)


def test_a_missing_value_is_said_with_its_file_and_column(sales, tmp_path):
    broken = sales[:50].astype({"amount": float})
    broken.loc[7, "amount"] = np.nan
    broken.to_parquet(tmp_path / "sales" / "7.parquet", index=False)
    done = command("run", "sales", "-k", "4", "--memory", "1GB")
    assert done.exit_code == 3
    assert "7.parquet" in done.output
    assert "'amount'" in done.output
    assert "1 row" in done.output
    (tmp_path / "sales" / "1.parquet").unlink()  # fit of the whole refuses a file without rows
    labels = ["--labels", "segment", "--impute", "median", "-o", "rules.json", "--force"]
    found, done = rules_of("fit", "sales", *labels, "--memory", "1GB")
    assert "'amount' (1 row) is taken as" in " ".join(done.output.split())
    assert found == rules_of("fit", "sales", *labels)[0]


def test_the_number_of_a_row_is_no_column_to_cluster_by(sales, tmp_path):
    sales.assign(sale_id=range(len(sales))).to_csv("sales.csv", index=False)
    done = command("run", "sales.csv", "-k", "4", "--memory", "1GB")
    assert done.exit_code == 3
    assert "'sale_id'" in done.output
    assert "--exclude sale_id" in " ".join(done.output.split())

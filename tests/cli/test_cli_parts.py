"""`run` and `fit` of tables that do not fit in memory: in parts, by --memory or on its own."""

from __future__ import annotations

import os
import sqlite3
import warnings
from contextlib import closing
from datetime import date

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

import shallowrules.fitting.preparing_parts
from shallowrules import RuleSet
from shallowrules.cli.commands import shallowrules as command_line
from shallowrules.cli.options.memory import memory_for_parts
from shallowrules.clustering.clusterers import fit_clusterer
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


SMALL = st.integers(0, 9)
CELLS = {
    "number": st.sampled_from([0.25, 0.5, 1.75, -3.5, 100.125, 1e3]).map(str),
    "whole": SMALL.map(str),
    "large": st.integers(-(10**6), 10**6).map(str),
    "vast": st.sampled_from(["1e200", "-3e150", str(2**53 + 1), str(2**62)]),
    "code": SMALL.map(lambda i: f"0{i}7"),
    "truth": st.sampled_from(["true", "false"]),
    "text": st.sampled_from(["red", "green", "blue", "Ä ö"]),
    "ids": st.integers(0, 10**6).map(lambda i: f"r{i}"),
    "constant": st.just("7"),
    "word": st.just("same"),
    "date": st.dates(date(2020, 1, 1), date(2024, 1, 1)).map(str),
    "clock": st.sampled_from(["12.5.2020", "1.1.2021"]),
    "empty": st.just(""),
    "spoilt": st.sampled_from(["1", "2", "3", "4", "5", "6.5", "7", "8", "9", "?"]),
    "infinite": st.sampled_from(["1.5", "2.5", "inf"]),
    "NA": st.sampled_from(["a", "b", "NA"]),
    "comma": st.sampled_from(['"1,5"', '"2,25"', '"3,125"']),
}
"""By kind, the cells of a column."""

LABELS = [
    ["true", "false"],
    ["TRUE", "False", "t", "F", " true"],
    ["1", "2.5", "-3"],
    ["007", "7", "12"],
    ["low", "mid", "true"],
    ["one"],
    ["2024-01-31", "2023-12-01"],
]
"""Labels of a fit."""

WEIGHTS = [["1", "2"], ["0", "1", "0.5"], ["0.25", "3"], ["0"], ["-1", "1"], ["1", ""], ["x", "y"]]
"""Weights: three kinds that count, then some that are refused."""


@st.composite
def tables_and_options(draw):
    """Return a CSV file as people have them, with labels or without, and the options of its fit."""
    n_rows = draw(st.integers(3, 40))

    def column(values):
        return draw(st.lists(values, min_size=n_rows, max_size=n_rows))

    usual = st.sampled_from(["number", "whole", "large", "text", "truth", "code", "constant"])
    kinds = ["number", *draw(st.lists(usual, min_size=1, max_size=2))]
    if draw(st.integers(0, 2)) == 0:
        kinds.append(draw(st.sampled_from(sorted(CELLS))))
    names = draw(st.permutations(["a", "zip", "customer_id", "Größe", "x y"]).map(lambda found: found[: len(kinds)]))
    columns = dict(zip(names, [column(CELLS[kind]) for kind in kinds], strict=True))
    if draw(st.integers(0, 7)) == 0:
        columns["row"] = [str(i) for i in range(n_rows)]
    if has_gaps := draw(st.booleans()):
        name = draw(st.sampled_from(sorted(columns)))
        for i in draw(st.lists(st.integers(0, n_rows - 1), max_size=5)):
            columns[name][i] = ""
    options = []
    if draw(st.booleans()):
        words = draw(st.sampled_from([*LABELS, [f"r{i}" for i in range(n_rows)]]))
        columns["label"] = [*words, *column(st.sampled_from(["", *words]))][:n_rows]
        options += ["--labels", "label"]
    else:
        options += ["-k", str(draw(st.integers(2, 4)))]
    if draw(st.booleans()):
        weights = WEIGHTS[draw(st.integers(0, 6) if draw(st.integers(0, 2)) == 0 else st.integers(0, 2))]
        columns["w"] = column(st.sampled_from(weights))
        options += ["--weight", "w" if draw(st.integers(0, 7)) else "weight"]
    if has_gaps:
        options += draw(st.sampled_from([["--impute", "median"], ["--missing", "category"], ["--drop-missing"], []]))
    options += draw(st.sampled_from([[], [], ["--scale", "minmax"], ["--scale", "robust"], ["--scale", "standard"]]))
    if draw(st.integers(0, 7)) == 0:
        options += [draw(st.sampled_from(["--exclude", "--explain", "--columns", "--numbers"]))]
        options += [draw(st.sampled_from([*names, "label", "w", "nothing"]))]
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *map(",".join, rows)]) + "\n", options


def centers_of_the_whole(parts, encode, grids, n_clusters, random_state, log):
    """Return the centers that a fit of the whole table has: in parts it would start from a sample of distinct rows."""
    [rows] = map(encode, parts.parts())
    model = KMeans(n_clusters, n_init=10, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # too few distinct rows: the fit says so
        return fit_clusterer(model, rows.X_cluster, sample_weight=rows.weight).cluster_centers_


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
@draws(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=tables_and_options())
def test_a_table_in_parts_is_fitted_and_refused_as_one_in_memory(tmp_path, monkeypatch, drawn):
    monkeypatch.setattr(shallowrules.fitting.preparing_parts, "cluster_parts", centers_of_the_whole)
    text, options = drawn
    file = tmp_path / "l.csv"
    file.write_text(text)
    said = []
    for memory in ([], ["--memory", "1GB"]):
        done = CliRunner().invoke(command_line, ["fit", str(file), *options, *memory])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
        said.append((done.exit_code, done.stdout, done.stderr.replace(" --memory 1GB", "")))
    assert said[1] == said[0]


def command(*arguments):
    return CliRunner().invoke(command_line, list(arguments), catch_exceptions=False)


def rules_of(*arguments):
    done = command(*arguments)
    assert done.exit_code == 0, done.output
    return RuleSet.from_json("rules.json").to_dict(), done


@pytest.mark.usefixtures("in_parts")
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


@pytest.mark.usefixtures("in_parts")
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
    assert all(column.edges for column in rules.columns if column.is_numeric)


def test_a_table_that_does_not_fit_is_read_in_parts_by_itself(sales, tmp_path, monkeypatch, words):
    sales.drop(columns=["segment", "copies"]).to_csv("sales.csv", index=False)
    usual = command("fit", "sales.csv", "-k", "4", "-o", "rules.json", "--force")
    assert "in parts" not in usual.output
    whole = (tmp_path / "rules.json").read_bytes()
    with_room = command("fit", "sales.csv", "-k", "4", "--memory", "64MB", "-o", "rules.json", "--force")
    assert with_room.stderr == usual.stderr
    assert (tmp_path / "rules.json").read_bytes() == whole
    monkeypatch.setattr(machine, "available_memory", lambda: 20_000)
    done = command("fit", "sales.csv", "-k", "4", "-o", "rules.json", "--force")
    assert done.exit_code == 0, done.output
    [note] = [line for line in done.stderr.splitlines() if "in parts" in line]
    assert "sales.csv" in note
    assert note.count("0.0 GB") == 2
    words(note)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_in_parts_where_memory_is_given(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "t.csv").write_text("a\n1\n")
    for files in (("pipe.csv",), ("t.csv", "pipe.csv")):
        where = tuple(str(tmp_path / name) for name in files)
        assert memory_for_parts(where, 10**8) == 10**8
        assert memory_for_parts(where, None) is None
    assert memory_for_parts((str(tmp_path / "t.csv"),), 10**8) is None


@pytest.mark.usefixtures("in_parts")
def test_rows_of_a_database(sales):
    pytest.importorskip("sqlalchemy")
    with closing(sqlite3.connect("shop.db")) as connection:
        sales.to_sql("sales", connection, index=False)
        connection.commit()
    rows = ["--database", "sqlite:///shop.db", "--table", "sales", "--labels", "segment"]
    found, _ = rules_of("fit", *rows, "-o", "rules.json", "--force", "--memory", "1GiB")
    assert {cluster["name"] for cluster in found["clusters"]} == {"low", "mid", "high", "top"}


@pytest.mark.usefixtures("in_parts")
def test_what_does_not_work_on_parts_is_said(sales, tmp_path, words):
    said = []
    for options, found in (
        (["--categories", "age"], ["--categories", "in parts"]),
        (["--max-cost", "1.2"], ["--max-cost", "in parts"]),
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


@pytest.mark.usefixtures("in_parts")
def test_a_missing_value_is_said_and_filled(sales, tmp_path):
    broken = sales[:50].astype({"amount": float})
    broken.loc[7, "amount"] = np.nan
    broken.to_parquet(tmp_path / "sales" / "7.parquet", index=False)
    done = command("run", "sales", "-k", "4", "--memory", "1GB")
    assert done.exit_code == 3
    assert "'amount'" in done.output
    assert "1 row" in done.output
    labels = ["--labels", "segment", "--impute", "median", "-o", "rules.json", "--force"]
    found, done = rules_of("fit", "sales", *labels, "--memory", "1GB")
    assert "'amount' (1 row) are replaced by" in " ".join(done.output.split())
    assert found == rules_of("fit", "sales", *labels)[0]


@pytest.mark.usefixtures("in_parts")
def test_the_number_of_a_row_is_no_column_to_cluster_by(sales, tmp_path):
    sales.assign(sale_id=range(len(sales))).to_csv("sales.csv", index=False)
    done = command("run", "sales.csv", "-k", "4", "--memory", "1GB")
    assert done.exit_code == 3
    assert "'sale_id'" in done.output
    assert "--exclude sale_id" in " ".join(done.output.split())

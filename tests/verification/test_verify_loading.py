"""A CSV file as people load it: changes of a label are found, and the advice gives the tree's label."""

from __future__ import annotations

import csv
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from commandline import call
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import make_rules

from shallowrules.exporters import export
from shallowrules.labelling.answers import Answers
from shallowrules.sources import read_table
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.verification import CsvFile, verify_loading
from shallowrules.verification.loading import LOADERS, import_csv
from shallowrules.verification.runners import frames, sql

pandas = pytest.importorskip("pandas")

LOADED = [
    "pandas, after pandas.read_csv",
    "Python, flat, after pandas.read_csv",
    "Python, vectorized, after pandas.read_csv",
    "SQL, duckdb, on the file itself",
    "SQL, sqlite, after .import",
]
PANDAS, DUCKDB, SQLITE = LOADED[:3], LOADED[3], LOADED[4]
RULES = make_rules(
    [("x", "float"), ("n", "integer"), ("city", "text"), ("new", "boolean")],
    (0, 9.5, (1, 10, 0, (2, "Bonn", 1, 2)), (3, True, 3, (2, ("Köln", "a, b"), 4, 0))),
)
ROWS = [
    ("10", "9", "Bonn", "true"),
    ("9.5", "10", "Köln", "false"),
    ("-1e3", "100", "a, b", "true"),
    ("9", "2", "", "false"),
    ("", "30", 'say "x"', ""),
    ("1.5", "", "Ulm", "true"),
    ("100.25", "-7", "Ulm", "false"),
] * 3


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(rows, names=("x", "n", "city", "new"), delimiter=",", path="t.csv"):
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([names, *rows])
    return path


def load(rules, path="t.csv", delimiter=",", exporters=("python", "pandas", "sql"), **answers):
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    texts = [column.name for column in tested if column.converts_text or column.type == "text"]
    table = read_table(path, columns=[column.name for column in tested], as_text=texts, delimiter=delimiter)
    file = CsvFile(path, delimiter, told=delimiter != ",")
    return verify_loading(rules, table, file, Answers(rules, **answers), exporters, ("duckdb", "sqlite"))


def wrong_in(report):
    return [comparison.form for comparison in report.comparisons if comparison.disagreements]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_loaders_leave_alone_agrees_in_all(delimiter):
    """Numbers in columns of TEXT are compared as numbers: 10 is above 9.5, as a text it is below."""
    write([row for row in ROWS if row[2]], delimiter=delimiter)
    report = load(RULES, delimiter=delimiter)
    assert [comparison.form for comparison in report.comparisons] == LOADED
    assert not wrong_in(report)
    assert not report.remarks + report.failed + report.not_run


@draws(60)
@given(
    cells=st.lists(
        st.tuples(
            st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr), st.just("")),
            st.one_of(st.integers(-(2**62), 2**62).map(str), st.just("")),
            st.sampled_from(["Bonn", "Köln", "a, b", "new", "x "]),
            st.sampled_from(["true", "false", "True", "F", ""]),
        ),
        min_size=2,
        max_size=20,
    ),
    injected=st.sampled_from([None, "NA", "null", ""]),
    place=st.integers(0, 19),
)
def test_drawn_tables_agree_but_for_what_is_injected(tmp_path_factory, cells, injected, place):
    """A word for "no value" in a text is found in pandas, an empty field in SQLite; nothing else is."""
    path = str(tmp_path_factory.mktemp("drawn") / "t.csv")
    place %= len(cells)
    rows = [list(row) for row in [*cells, ("1", "11", "Bonn", "true"), ("10", "1", "Köln", "F")]]
    if injected is not None:
        rows[place] = ["1", "11", injected, "true"]
    report = load(RULES, write(rows, path=path))
    failed = [(each.form, each.reason) for each in report.failed]
    wrong = wrong_in(report)
    expected = {None: [], "": [SQLITE]}.get(injected, PANDAS)
    assert set(wrong) == set(expected), (report.remarks, failed)
    assert all("duckdb" in form for form, _ in failed)
    if injected is not None:
        assert any("column 'city'" in text and f"row {place + 1} " in text for text in report.remarks)


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3")
@draws(30)
@given(
    rows=st.lists(
        st.lists(st.text(st.sampled_from('a1,"\n é;\t'), max_size=4), min_size=2, max_size=4), min_size=1, max_size=6
    )
)
def test_the_table_is_that_of_the_shell(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("shell")
    path = write(rows, ("a", "B b", "c"), path=str(folder / "t.csv"))
    script = f".mode csv\n.import {path} data\n"
    subprocess.run(["sqlite3", str(folder / "t.db")], input=script, text=True, capture_output=True, check=True)
    with closing(sqlite3.connect(folder / "t.db")) as shell, closing(sqlite3.connect(":memory:")) as ours:
        import_csv(ours, CsvFile(path, ","))
        for query in ("SELECT * FROM data ORDER BY rowid", "SELECT name, type FROM pragma_table_info('data')"):
            assert ours.execute(query).fetchall() == shell.execute(query).fetchall()


def test_the_way_out_of_pandas_gives_the_label_of_the_tree():
    rules = make_rules([("zip", "text"), ("word", "text")], (0, "01067", (1, "NA", 0, 1), (1, "None", 2, 3)))
    write([("01067", "NA"), ("01067", ""), ("04109", "None"), ("04109", "b"), ("", "NA")] * 4, ("zip", "word"))
    table = read_table("t.csv", as_text=["zip", "word"])
    report = load(rules, exporters=["pandas"])
    assert not report.comparisons
    assert report.failed[0].form == "pandas, after pandas.read_csv"
    [reason] = {each.reason for each in report.failed}
    assert "'zip'" in reason
    [loaded] = re.findall(r"Load it by (pandas\.read_csv\(.*\))", reason)
    frame = eval(loaded)
    found = frames.define(export(rules, "pandas"))["assign_cluster"](frame).fillna(NO_CLUSTER)
    assert found.tolist() == rules.assign(table).tolist()


def test_the_way_out_of_sqlite_gives_the_label_of_the_tree():
    rules = make_rules([("city", "text")], (0, "Bonn", 0, 1))
    write([("Bonn", 1), ("", 2), ("Ulm", 3)], ("city", "x"))
    report = load(rules)
    assert wrong_in(report) == [SQLITE]
    [update] = re.findall(r"(UPDATE .*)$", report.remarks[-1])
    with closing(sqlite3.connect(":memory:")) as database:
        import_csv(database, CsvFile("t.csv", ","))
        database.execute(update)
        found = database.execute(f"SELECT {export(rules, 'sql', dialect='sqlite', style='case')} FROM data").fetchall()
    assert found == [(0,), (None,), (1,)]


@pytest.mark.parametrize("imputed", [3.0, 20.0])
def test_an_empty_field_of_a_column_of_numbers_is_imputed_in_sqlite(imputed):
    rules = make_rules([("x", "float")], (0, 9.5, 0, 1))
    rules = replace(rules, columns=tuple(replace(column, imputed=imputed) for column in rules.columns))
    write([("10", "a"), ("", "b"), ("9", "c")], ("x", "y"))
    report = load(rules)
    assert SQLITE in [comparison.form for comparison in report.comparisons]
    assert not wrong_in(report)


def test_an_exported_text_that_is_wrong_is_found(monkeypatch):
    """Where the loader changes nothing, it is the text."""
    write([row for row in ROWS if row[2]])
    real = sql.export
    monkeypatch.setattr(
        "shallowrules.verification.loading.export",
        lambda *args, **options: real(*args, **options).replace("CAST(9.5 AS NUMERIC)", "9.5"),
    )
    report = load(RULES)
    assert wrong_in(report) == [SQLITE]
    assert "changes no value" in report.remarks[-1]


def test_the_command_says_it_and_ends_with_its_status():
    rules = make_rules([("word", "text"), ("x", "float")], (0, "NA", 0, 1))
    rules.to_json("rules.json")
    write([("NA", "1"), ("b", "2")], ("word", "x"))
    found = call("verify", "rules.json", "t.csv", "--exporter", "pandas", "--exporter", "sql")
    assert found.exit_code == 1
    assert all(form in found.stderr for form in PANDAS)
    assert SQLITE not in found.stderr
    assert all(part in found.stdout for part in ("'NA' in row 1 becomes no value", "keep_default_na=False"))
    write([("c", "1"), ("b", "2")], ("word", "x"))
    assert call("verify", "rules.json", "t.csv", "--exporter", "pandas", "--exporter", "sql").exit_code == 0
    write([("07", "1"), ("08", "2")], ("word", "x"))
    ended = call("verify", "rules.json", "t.csv", "--exporter", "pandas")
    assert ended.exit_code == 3
    assert all(part in ended.stderr for part in ("ends in an error", "'word'", "dtype={'word': str}"))
    assert len(ended.stderr.splitlines()) == 1


def test_only_what_was_asked_for_is_loaded():
    write([row for row in ROWS if row[2]])
    RULES.to_json("rules.json")
    found = call("verify", "rules.json", "t.csv", "--exporter", "sql", "--dialect", "sqlite")
    assert found.exit_code == 0
    assert SQLITE in found.stdout
    assert not any(form in found.stdout for form in LOADED[:4])


def test_a_loader_that_is_not_there_is_named(monkeypatch):
    rules = make_rules([("x", "float"), ("a", "float")], (0, 1.5, 0, (1, 3, 1, 2)))
    write([(1, 2), (3, 4)], ("x", "a"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    report = load(rules)
    assert [each.exporter for each in report.not_run] == ["pandas.read_csv"]
    assert "pandas" in report.not_run[0].reason
    assert {loader.title for loader in LOADERS} == {"pandas.read_csv", "DuckDB's read_csv", "SQLite's .import"}

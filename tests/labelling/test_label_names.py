"""`label` on files with different column names, new categories or duplicate names; options that add to the rules."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import call
from databases import File
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import make_rules

from shallowrules.errors import DataError
from shallowrules.files import Reading
from shallowrules.labelling.files import label_file
from shallowrules.labelling.writing import Output
from shallowrules.sources import read_table

RULES = make_rules([("Gender", "text"), ("x", "float")], (0, "m", 0, (1, 5.0, 1, 2)))
KNOWN = RULES.columns[0].values
ROWS = [("m", 1), ("f", 2), ("d", 9), ("d", 8), ("", 3)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RULES.to_json("rules.json")


def write(rows, names=("Gender", "x"), path="t.csv"):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([names, *rows])
    return path


def written(path="out.csv"):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def label(*arguments, status=0):
    result = call("label", "rules.json", *arguments, "-o", "out.csv", "--force")
    assert result.exit_code == status, result.stderr
    return " ".join(result.stderr.split())


CLUSTERS = ["0", "1", "2", "2", ""]


@pytest.mark.parametrize("name", ["gender", "GENDER", "Sex", "Gender of the customer"])
def test_a_column_may_have_another_name(name):
    write(ROWS, (name, "x"))
    label("t.csv", "--column", f"Gender={name}")
    assert written()[0] == [name, "x", "cluster"]
    assert [row[-1] for row in written()[1:]] == CLUSTERS


def test_the_nearest_name_is_given_with_the_option_that_works():
    write(ROWS, ("gender", "x"))
    said = label("t.csv", status=3)
    assert "no column 'Gender' (the nearest is 'gender')" in said
    [option] = re.findall(r"use --column (\S+)", said)
    label("t.csv", "--column", option)
    assert [row[-1] for row in written()[1:]] == CLUSTERS
    for command in ("drift", "verify"):
        result = call(command, "rules.json", "t.csv")
        assert result.exit_code == 3
        assert "no column 'Gender' (the nearest is 'gender')" in result.stderr


@draws(60)
@given(
    cells=st.lists(st.sampled_from(["m", "f", "d", "", "new", "x, y", "it's", "NA?"]), min_size=1, max_size=30),
    parts=st.integers(1, 2),
)
def test_new_categories_are_counted_as_they_stand_there(tmp_path_factory, cells, parts):
    folder = tmp_path_factory.mktemp("new")
    for part in range(parts):
        write([(cell, 1) for cell in cells], path=str(folder / f"{part}.csv"))
    labelled = label_file(RULES, str(folder), Output(folder / "out.parquet"), Reading())
    expected = Counter(cell for cell in cells if cell and cell not in KNOWN)
    assert sum(shift.unseen for shift in labelled.unseen) == parts * expected.total()
    for shift in labelled.unseen:
        assert shift.rows == parts * len(cells)
        counts = [expected[example] for example in shift.examples]
        assert counts == sorted(expected.values(), reverse=True)[: len(counts)]


@pytest.mark.parametrize("how", [["-o", "out.csv"], ["--apply", "--yes"], ["--apply", "table", "--dry-run"]])
@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_new_categories_of_a_database_are_said_too(tmp_path, scheme, how):
    file = File(scheme, tmp_path / "file.db")
    text = "TEXT" if scheme == "sqlite" else "VARCHAR"
    file.create("t", [("Gender", text), ("x", "DOUBLE")], [(g or None, float(x)) for g, x in ROWS * 2])
    result = call("label", "rules.json", "--database", file.url, "--table", "t", *how)
    assert result.exit_code == 0, result.stderr
    unknown = [g for g, _ in ROWS * 2 if g and g not in KNOWN]
    said = " ".join(result.stderr.split())
    assert (
        f"column 'Gender': {len(unknown)} rows ({len(unknown) / 10:.1%}) with a value that did not occur in training"
        in said
    )


@pytest.mark.parametrize(
    "names", [("Gender", "gender", "x"), ("Gender", "a", "x", "a"), ("a", "A", "Gender", "x", "a")]
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_equal_names_that_no_rule_tests_stay_as_they_are(names, ending):
    rows = [[dict(zip(("Gender", "x"), row, strict=True)).get(name, 7) for name in names] for row in ROWS]
    write(rows, names)
    assert call("label", "rules.json", "t.csv", "-o", f"out.{ending}").exit_code == 0
    opened = gzip.open if ending.endswith("gz") else open
    with opened(f"out.{ending}", "rt", newline="", encoding="utf-8") as stream:
        found = list(csv.reader(stream))
    assert found[0] == [*names, "cluster"]
    assert [row[:-1] for row in found[1:]] == [list(map(str, row)) for row in rows]
    assert [row[-1] for row in found[1:]] == CLUSTERS
    assert call("drift", "rules.json", "t.csv", "--max-shift", "100%").exit_code == 0


def test_equal_names_are_refused_where_they_cannot_be_told_apart():
    write([("m", "m", 1)], ("Gender", "Gender", "x"))
    assert "columns 1 and 2 are both named 'Gender'" in label("t.csv", status=3)
    write([("m", "m", 1)], ("Gender", "gender", "x"))
    result = call("label", "rules.json", "t.csv", "-o", "out.parquet")
    assert result.exit_code == 3
    assert "columns 1 and 2 are named 'Gender' and 'gender'" in result.stderr


@pytest.mark.parametrize("command", ["fit", "run"])
@pytest.mark.parametrize(
    ("names", "excluded"), [(("a", "x", "A", "y"), "A"), (("a", "x", "a", "y"), "a"), (("x", "y", "y2", "Y2"), "?2")]
)
def test_equal_names_may_be_left_out(names, excluded, command):
    write([(i % 3, i % 7, i % 5, i % 2) for i in range(30)], names)
    refused = call(command, "t.csv", "-k", "2")
    assert refused.exit_code == 3
    assert "This works: " in refused.stderr
    target = ["-o", "out.json"] if command == "fit" else ["-o", "out"]
    assert call(command, "t.csv", "-k", "2", "--exclude", excluded, *target).exit_code == 0
    with pytest.raises(DataError, match="columns"):
        read_table("t.csv")
    assert read_table("t.csv", exclude=[excluded]).n_rows == 30


def test_equal_names_of_a_parquet_file():
    table = pa.table([["m", "f"], [1, 2], [1.0, 9.0]], names=["Gender", "gender", "x"])
    pq.write_table(table, "t.parquet")
    assert read_table("t.parquet", columns=["Gender", "x"])["Gender"].values.tolist() == ["m", "f"]
    assert label("t.parquet").startswith("cluster")
    assert [row[-1] for row in written()] == ["cluster", "0", "2"]


# What is told beside the rules' own conversions ----------------------------------------------------


def converted():
    """Return rules that read both columns from text."""
    gender, x = RULES.columns
    columns = (replace(gender, nulls=("-",)), replace(x, nulls=("k.A.",)))
    rules = replace(RULES, columns=columns)
    rules.to_json("rules.json")
    return rules


def test_words_for_no_value_are_added_to_those_of_the_rules():
    converted()
    write([("m", "1"), ("-", "2"), ("?", "9"), ("f", "k.A."), ("f", "-999"), ("f", "-999.0"), ("f", "7")])
    label("t.csv", "--null", "?", "--null", "-999")
    assert [row[-1] for row in written()[1:]] == ["0", "", "", "", "", "", "2"]
    label("t.csv")
    assert [row[-1] for row in written()[1:]] == ["0", "", "2", "", "1", "1", "2"]


def test_a_decimal_comma_goes_before_the_point_of_the_rules():
    converted()
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write("Gender;x\nf;4,5\nf;5,5\nf;k.A.\nm;1\n")
    assert "'4,5'" in label("t.csv", status=3)
    label("t.csv", "--decimal", ",")
    assert read_table("out.csv", columns=["cluster"])["cluster"].numbers().tolist()[:2] == [1, 2]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_what_means_nothing_to_a_file_is_refused(kind):
    if kind == "parquet":
        pq.write_table(pa.table({"Gender": ["m"], "x": [1.5]}), "t.parquet")
    else:
        with open("t.jsonl", "w", encoding="utf-8") as stream:
            stream.write('{"Gender": "m", "x": 1.5}\n')
    assert "--decimal means nothing" in label(f"t.{kind}", "--decimal", ",", status=2)
    label(f"t.{kind}")


def test_options_of_files_beside_a_database_are_refused(tmp_path):
    file = File("sqlite", tmp_path / "file.db")
    file.create("t", [("Gender", "TEXT"), ("x", "REAL")], [("m", 1.0)])
    assert "--null" in label("--database", file.url, "--table", "t", "--null", "-999", status=2)


def test_verify_refuses_a_word_that_no_exported_text_knows():
    write([("m", "1"), ("?", "2"), ("f", "9")])
    refused = call("verify", "rules.json", "t.csv", "--null", "?", "--exporter", "python")
    assert refused.exit_code == 2
    assert all(part in refused.stderr for part in ("'Gender'", "'?'", "--null"))
    write([("m", "1"), ("f", "9")])
    assert call("verify", "rules.json", "t.csv", "--null", "?", "--exporter", "python").exit_code == 0

"""`shallowrules label`: the exported SQL over a file, and the result that is written."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import threading
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from draws import few
from rulesets import make_rules

from shallowrules.cli.commands import shallowrules
from shallowrules.labelling import files as labelling
from shallowrules.labelling import writing
from shallowrules.sources import read_table
from shallowrules.sources.engine import DuckDBSource

TREE = (0, 0.5, 0, (1, 3, 1, 2))
ROWS = [(0.5, 7), (0.75, 3), (0.75, 4), (None, 4), (0.25, None), (0.75, None)]
CLUSTERS = [0, 1, 2, None, 0, None]
"""Of `ROWS`: the rules test n only where x is above 0.5."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rules():
    rules = make_rules([("x", "float"), ("n", "integer")], TREE)
    rules.to_json("rules.json")
    return rules


def name_clusters(rules, *names):
    """Write the rules with given labels for names."""
    clusters = [replace(cluster, name=names[cluster.index]) for cluster in rules.clusters]
    replace(rules, clusters=tuple(clusters)).to_json("rules.json")


def call(*arguments, **settings):
    result = CliRunner().invoke(shallowrules, ["label", "rules.json", *map(str, arguments)], **settings)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.stdout == ""
    return result


def write_csv(path="t.csv"):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("zip", "x", "n"), *((f"00{i}", *row) for i, row in enumerate(ROWS))])
    return path


def written_clusters(path):
    column = read_table(path, columns=["cluster"])["cluster"]
    return [None if absent else value for value, absent in zip(column.values.tolist(), column.absent, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending", few(["csv", "tsv", "csv.gz", "parquet", "pq", "json", "jsonl", "ndjson", "jsonl.gz"], 3)
)
def test_every_kind_of_file_is_written(rules, ending):
    result = call(write_csv(), "-o", f"out.{ending}")
    assert result.exit_code == 0, result.stderr
    assert written_clusters(f"out.{ending}") == CLUSTERS
    assert read_table(f"out.{ending}").names == ["zip", "x", "n", "cluster"]
    assert f"out.{ending}" in result.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", few(["parquet", "jsonl", "csv.gz"]))
def test_every_kind_of_file_is_read(rules, kind, ending):
    if kind == "parquet":
        pq.write_table(pa.table({"x": [x for x, _ in ROWS], "n": [n for _, n in ROWS]}), "t.parquet")
    elif kind == "jsonl":
        with open("t.jsonl", "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps({"x": x, "n": n}) + "\n" for x, n in ROWS)
    else:
        with open(write_csv(), "rb") as plain, gzip.open("t.csv.gz", "wb") as packed:
            packed.write(plain.read())
    assert call(f"t.{kind}", "-o", f"out.{ending}").exit_code == 0
    assert written_clusters(f"out.{ending}") == CLUSTERS


def test_the_labels_are_those_of_assign(rules):
    random = np.random.default_rng(0)
    x = np.where(random.random(500) < 0.1, np.nan, random.integers(0, 5, 500) / 4)
    pq.write_table(pa.table({"n": random.integers(0, 8, 500), "x": x}), "t.parquet")
    call("t.parquet", "-o", "out.parquet")
    expected = rules.assign(read_table("t.parquet"))
    assert written_clusters("out.parquet") == [None if label < 0 else label for label in expected.tolist()]
    assert {None, 0, 1, 2} == set(written_clusters("out.parquet"))


def test_what_stands_in_a_text_file_stays(rules):
    text = 'zip;x;n;"a ""note"""\n007;0,50;7;"one; two"\n08 ;1,25;04;"line\nbreak"\n;0,75;+3;\n'
    with open("t.csv", "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    assert call("t.csv", "-o", "out.csv", "--decimal", ",").exit_code == 0
    with open("out.csv", newline="", encoding="utf-8") as stream:
        found = list(csv.reader(stream, delimiter=";"))
    assert found == [
        ["zip", "x", "n", 'a "note"', "cluster"],
        ["007", "0,50", "7", "one; two", "0"],
        ["08 ", "1,25", "04", "line\nbreak", "2"],
        ["", "0,75", "+3", "", "1"],
    ]


def test_types_of_parquet_stay(rules):
    schema = pa.schema(
        [
            ("x", pa.float32()),
            ("n", pa.int8()),
            ("d", pa.date32()),
            ("m", pa.decimal128(6, 2)),
            ("l", pa.list_(pa.int8())),
        ]
    )
    rows = [{"x": 0.5, "n": 7, "d": date(2026, 1, 2), "m": Decimal("1.50"), "l": [1, 2]}]
    pq.write_table(pa.Table.from_pylist(rows, schema), "t.parquet")
    call("t.parquet", "-o", "out.parquet")
    found = pq.read_table("out.parquet")
    assert found.schema.remove(5).types == [
        pa.float32(),
        pa.int8(),
        pa.date32(),
        pa.decimal128(6, 2),
        pa.list_(pa.int8()),
    ]
    assert found.to_pylist() == [{**rows[0], "cluster": 0}]


def test_nested_json_stays_json(rules):
    with open("t.jsonl", "w", encoding="utf-8") as stream:
        stream.write('{"x": 0.5, "n": 7, "tags": ["a", {"b": null}], "s": "5"}\n{"n": 9}\n')
    call("t.jsonl", "-o", "out.jsonl")
    with open("out.jsonl", encoding="utf-8") as stream:
        first, second = map(json.loads, stream)
    assert first == {"x": 0.5, "n": 7, "tags": ["a", {"b": None}], "s": "5", "cluster": 0}
    assert second["cluster"] is None


def test_numbers_that_are_none_have_no_cluster(rules):
    pq.write_table(pa.table({"x": [math.nan, math.inf, 0.5], "n": [1, 1, 1]}), "t.parquet")
    for ending in ("parquet", "csv", "jsonl"):
        assert call("t.parquet", "-o", f"out.{ending}").exit_code == 0
    assert written_clusters("out.parquet") == [None, 1, 0]
    assert written_clusters("out.csv") == [None, 1, 0]
    with open("out.jsonl", encoding="utf-8") as stream:
        assert [json.loads(line)["cluster"] for line in stream] == [None, 1, 0]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("it's", 'a "b"', "c"), ["it's", 'a "b"', "c", None, "it's", None]),
        (("-3", "40", "7"), [-3, 40, 7, None, -3, None]),
        (("-3", "x", "7"), ["-3", "x", "7", None, "-3", None]),
        (("02", "3", "4"), ["02", "3", "4", None, "02", None]),
        (("²", "3", "4"), ["²", "3", "4", None, "²", None]),
    ],
)
def test_clusters_go_by_their_given_labels(rules, names, expected):
    name_clusters(rules, *names)
    call(write_csv(), "-o", "out.parquet")
    assert pq.read_table("out.parquet")["cluster"].to_pylist() == expected


def test_a_given_name_of_the_column(rules, words):
    write_csv()
    call("t.csv", "-o", "out.csv", "--cluster-column", "tested column 0 in shallowrules")
    assert read_table("out.csv").names[-1] == "tested column 0 in shallowrules"
    result = call("t.csv", "-o", "other.csv", "--cluster-column", "ZIP")
    assert result.exit_code == 3
    assert "'zip'" in result.stderr
    assert "--cluster-column" in result.stderr
    words(result.stderr.strip())
    assert call("t.csv", "-o", "other.csv", "--cluster-column", " ").exit_code == 2


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_no_name_of_the_table_is_one_that_we_make(rules, ending):
    """The names in queries, now and before, and the names used where these are taken."""
    names = [f"{stem}{end}" for stem in ("tested column 0", "TESTED column 1", "cluster number") for end in ("", " 2")]
    names += ["tested column 0 in shallowrules", "cluster number in shallowrules", "labelled", "read", "numbered", "c0"]
    columns = {name: [-99.0, 99.0] for name in names} | {"x": [0.25, 0.75], "n": [7, 4]}
    if ending == "csv":
        with open("t.csv", "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    elif ending == "json":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        Path("t.json").write_text(json.dumps(rows), encoding="utf-8")
    else:
        pq.write_table(pa.table(columns), "t.parquet")
    result = call(f"t.{ending}", "-o", "out.parquet", "--cluster-column", "cluster number 3")
    assert result.exit_code == 0, result.stderr
    written = pq.read_table("out.parquet")
    assert written.column_names == [*columns, "cluster number 3"]
    assert written["cluster number 3"].to_pylist() == [0, 2]


def test_columns_that_no_rule_tests_may_hold_anything(rules):
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write("x,n,price,c0,number\n" + "0.5,7,1.5,a,b\n" * 30 + "0.75,3,?,a,b\n")
    for ending in ("csv", "parquet"):
        assert call("t.csv", "-o", f"out.{ending}").exit_code == 0
    assert pq.read_table("out.parquet")["price"].to_pylist() == ["1.5"] * 30 + ["?"]


def test_rules_that_test_nothing_label_every_row():
    make_rules([("x", "float")], 0).to_json("rules.json")
    with open("t.csv", "w", encoding="utf-8") as stream:
        stream.write("other\n1\nx\n")
    assert call("t.csv", "-o", "out.csv").exit_code == 0
    assert written_clusters("out.csv") == [0, 0]


def test_the_counts_are_said(rules):
    name_clusters(rules, "low", "mid", "high")
    said = " ".join(call(write_csv(), "-o", "out.csv").stderr.split())
    for part in (
        "0 (low) 2 33.3%",
        "1 (mid) 1 16.7%",
        "2 (high) 1 16.7%",
        "without a cluster 2 33.3%",
        "written out.csv",
    ):
        assert part in said
    assert said.endswith(
        "note: 2 rows without a cluster: no value in a column that a rule tests; `shallowrules drift` counts these for "
        "each column"
    )


def test_what_is_refused_leaves_nothing_behind(rules, folder, words):
    said = []
    for text, arguments, status, found in (
        ("x,n\n1,2\n", ["-o", "out.txt"], 2, ["out.txt", ".csv"]),
        ("x,n\n1,2\n", ["-o", "out.parquet.gz"], 2, ["out.parquet.gz", ".csv"]),
        ("x,n\n1,2\n", ["-o", "t.csv"], 3, ["t.csv"]),
        ("x,n\n1,2\n", ["-o", "old.csv"], 3, ["old.csv", "--force"]),
        ("x,n\n1,2\n", ["-o", "no/out.csv"], 3, ["no folder"]),
        ("x,m\n1,2\n", ["-o", "out.csv"], 3, ["t.csv: ", "no column 'n'", "'x', 'm'"]),
        ("x,n\n1,b\n", ["-o", "out.csv"], 3, ["'n'", "text", "integer"]),
        ("x,n\n1,2,3\n", ["-o", "out.csv"], 3, ["line 2", "3 field"]),
        ("x,n\n1,2\n", [], 2, ["-o OUT"]),
    ):
        (folder / "t.csv").write_text(text)
        (folder / "old.csv").write_text("old")
        result = call("t.csv", *arguments)
        assert result.exit_code == status
        message = " ".join(result.stderr.partition("Error: ")[2].split())
        assert all(part in message for part in found), message
        said.append((" ".join([*text.split(), *arguments]), message))
        assert sorted(os.listdir()) == ["old.csv", "rules.json", "t.csv"]
        assert (folder / "old.csv").read_text() == "old"
        assert (folder / "t.csv").read_text() == text
    words(said)


def test_a_result_that_cannot_be_written_leaves_the_old_one(rules, folder, monkeypatch):
    write_csv()
    (folder / "out.csv").write_text("old")
    monkeypatch.setitem(writing.FORMATS, ".csv", ("csv", "FORMAT csv, NO_SUCH_OPTION"))
    result = call("t.csv", "-o", "out.csv", "--force")
    assert result.exit_code == 3
    assert "out.csv cannot be written" in result.stderr
    assert (folder / "out.csv").read_text() == "old"
    assert sorted(os.listdir()) == ["out.csv", "rules.json", "t.csv"]


def test_force_replaces(rules, folder):
    (folder / "out.csv").write_text("old")
    assert call(write_csv(), "-o", "out.csv", "--force").exit_code == 0
    assert written_clusters("out.csv") == CLUSTERS


@pytest.mark.parametrize("imputed", [{}, {"amount": 20.0, "kind": "C"}], ids=["missing", "imputed"])
@pytest.mark.parametrize("ending", few(["csv", "parquet", "jsonl"], 2))
def test_text_columns_and_kept_conversions(folder, ending, imputed):
    rules = make_rules([("amount", "float"), ("kind", "text")], (1, "B", (0, 20.0, 0, 1), (0, 3.0, 2, (1, "C", 3, 4))))
    kept = {"amount": {"decimal": ",", "nulls": ("NA",)}, "kind": {"nulls": ("NA", "")}}
    columns = tuple(replace(c, imputed=imputed.get(c.name), **kept[c.name]) for c in rules.columns)
    rules = replace(rules, columns=columns)
    rules.to_json("rules.json")
    (folder / "t.csv").write_text("city;amount;kind\né;1,5;A\nb; 20,25 ;B\nc;NA;B\nd;21,5; NA\ne;19,75;  \n;;\nf;9;C\n")
    expected = [2, 1, 0, 3, 3, 3, 3] if imputed else [2, 1, None, None, None, None, 3]
    # The rules know how to read the columns that they test, and the file's are written as they are.
    assert call("t.csv", "-o", f"out.{ending}").exit_code == 0
    assert written_clusters(f"out.{ending}") == expected
    written = read_table(f"out.{ending}", keep_text=["NA"], as_text=["amount"])
    assert written.names == ["city", "amount", "kind", "cluster"]
    assert written["amount"].values.tolist() == ["1,5", " 20,25 ", "NA", "21,5", "19,75", None, "9"]
    assert written["kind"].values.tolist() == ["A", "B", "B", " NA", "  ", None, "C"]
    as_read = read_table("t.csv", as_text=["amount", "kind"])
    assert rules.assign(as_read).tolist() == [-1 if label is None else label for label in expected]
    # Told once more, the labels are the same, and another kind of file has the numbers.
    assert call("t.csv", "-o", f"out.{ending}", "--force", "--decimal", ",", "--null", "NA").exit_code == 0
    assert written_clusters(f"out.{ending}") == expected
    if ending == "parquet":
        assert pq.read_table("out.parquet")["amount"].to_pylist() == [1.5, 20.25, None, 21.5, 19.75, None, 9.0]
        # In that one too, where they are numbers already.
        assert call("out.parquet", "-o", "again.parquet", "--cluster-column", "again").exit_code == 0
        assert pq.read_table("again.parquet")["again"].to_pylist() == expected


def test_categories_that_happen_to_be_numbers(folder):
    make_rules([("c", "text"), ("x", "float")], (0, "1", 0, (1, 0.5, 1, 2))).to_json("rules.json")
    (folder / "t.csv").write_text("c,x\n1,0\n2,0.25\n 1,1\n,1\n")
    assert call("t.csv", "-o", "out.csv").exit_code == 0
    assert written_clusters("out.csv") == [0, 1, 2, None]


def rules_over_numbers(first, *others):
    """Return rules over categories that are all numbers."""
    rules = make_rules([("c", "text")], (0, first, 0, (0, others, 1, 2)))
    known = tuple(value if value in (first, *others) else "-99" for value in rules.columns[0].values)
    return replace(rules, columns=(replace(rules.columns[0], values=known),))


HELD_NUMBERS = {
    "int8": (pa.int8(), [-7, 30, 2, None, 99]),
    "int64": (pa.int64(), [2**53, 30, -2, None, 99]),
    "uint64": (pa.uint64(), [7, 30, 2, None, 2**53]),
    "float": (pa.float32(), [0.1, 30.0, 1e-5, math.nan, -0.0]),
    "double": (pa.float64(), [0.1, 30.0, 1e-7, math.nan, -(2.0**53)]),
    "decimal": (pa.decimal128(9, 2), [Decimal("0.50"), Decimal(30), Decimal("-7.25"), None, Decimal("7.01")]),
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("kind", few(HELD_NUMBERS, 2))
def test_categories_that_are_numbers_in_a_file_of_numbers(suffix, kind):
    held, numbers = HELD_NUMBERS[kind]
    if suffix == "parquet":
        pq.write_table(pa.table({"c": pa.array(numbers, held)}), "t.parquet")
    else:
        rows = [{"c": None if n is None or n != n else float(n) if kind == "decimal" else n} for n in numbers]
        Path("t.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    table = read_table(f"t.{suffix}")
    rules = rules_over_numbers(*table["c"].number_categories().values[:3])
    rules.to_json("rules.json")
    assert call(f"t.{suffix}", "-o", "out.csv").exit_code == 0
    assert written_clusters("out.csv") == [0, 1, 1, None, 2]
    assert rules.assign(table).tolist() == [0, 1, 1, -1, 2]


@pytest.mark.parametrize("beyond", [2**53 + 2, math.inf])
def test_numbers_that_no_category_can_be_are_refused(beyond):
    rules_over_numbers("7", "8", "9").to_json("rules.json")
    pq.write_table(pa.table({"c": [7, beyond]}), "t.parquet")
    result = call("t.parquet", "-o", "out.csv")
    assert result.exit_code == 3
    assert "'c'" in result.stderr
    assert "as text" in result.stderr


@pytest.mark.parametrize(("kind", "text"), [("boolean", "c\nyes\n"), ("float", "c\nyes\n"), ("integer", "c\nno\n")])
def test_a_column_of_another_kind_is_refused(folder, kind, text):
    value = kind == "boolean" or 1
    make_rules([("c", kind)], (0, value, 0, 1)).to_json("rules.json")
    (folder / "t.csv").write_text(text)
    result = call("t.csv", "-o", "out.csv")
    assert result.exit_code == 3
    assert all(part in result.stderr for part in ("'c'", "as text", f"as {kind}"))


def test_truth_values_may_be_zero_and_one(folder):
    make_rules([("c", "boolean")], (0, True, 0, 1)).to_json("rules.json")
    (folder / "t.csv").write_text("c,x\n1,a\n0,b\n,c\n")
    assert call("t.csv", "-o", "out.csv").exit_code == 0
    assert written_clusters("out.csv") == [0, 1, None]
    (folder / "t.csv").write_text("c,x\n1,a\n2,b\n")
    result = call("t.csv", "-o", "out.csv", "--force")
    assert all(part in result.stderr for part in ("'c'", "as integer", "as boolean"))


def test_several_files_are_labelled_as_one(rules, folder):
    (folder / "p1.csv").write_text("x,n\n0.5,7\n0.75,3\n")
    (folder / "p2.csv").write_text("n,x\n4,0.75\n7,0.25\n")
    assert call("p1.csv", "p2.csv", "-o", "out.csv").exit_code == 0
    assert written_clusters("out.csv") == [0, 1, 2, 0]
    assert call("p?.csv", "-o", "out.parquet").exit_code == 0
    assert written_clusters("out.parquet") == [0, 1, 2, 0]
    (folder / "p2.csv").write_text("n,x\n4,0.75,1\n")
    assert "p2.csv: line 2 has 3 " in call("p?.csv", "-o", "out.csv", "--force").stderr


def test_the_result_of_last_time_in_the_folder_is_not_read(rules):
    os.mkdir("sales")
    write_csv("sales/p1.csv")
    write_csv("sales/p2.csv")
    assert call("sales", "-o", "sales/out.csv").exit_code == 0
    first = Path("sales/out.csv").read_text()
    assert call("sales", "-o", "sales/out.csv").exit_code == 3
    assert call("sales", "-o", "sales/out.csv", "--force").exit_code == 0
    assert Path("sales/out.csv").read_text() == first
    result = call("sales/p1.csv", "-o", "sales/p1.csv", "--force")
    assert result.exit_code == 3
    assert "p1.csv is the file " in result.stderr


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_rows_of_a_csv_file_are_held_by_no_table(monkeypatch, ending):
    seen = []
    write = labelling.write

    def spy(database, *arguments):
        seen.extend(database.execute("SELECT table_name FROM duckdb_tables()").fetchall())
        return write(database, *arguments)

    monkeypatch.setattr(labelling, "write", spy)
    call(write_csv(), "-o", f"out.{ending}")
    assert written_clusters(f"out.{ending}") == CLUSTERS
    assert seen == []


@pytest.mark.usefixtures("rules")
def test_one_query_reads_the_fields_of_a_csv_file_and_the_types_of_tested_columns(monkeypatch):
    asked = []
    row = DuckDBSource.row

    def spy(source, *expressions, **settings):
        asked.append(expressions)
        return row(source, *expressions, **settings)

    monkeypatch.setattr(DuckDBSource, "row", spy)
    call(write_csv(), "-o", "out.csv")
    assert len(asked) == 1
    assert written_clusters("out.csv") == CLUSTERS


def test_how_far_a_query_is_goes_to_the_caller(monkeypatch):
    shares = iter([-1.0, 0.0, 50.0, 100.0])
    shown, ended = [], threading.Event()

    class Database:
        def execute(self, statement):
            assert statement.startswith("SET enable_progress_bar")

        def query_progress(self):
            share = next(shares, None)
            if share is None:
                ended.set()
                return -1.0
            return share

    monkeypatch.setattr(writing, "WATCH_EVERY", 0.001)
    with writing._watched(Database(), shown.append, 0.25, 0.75):
        assert ended.wait(60)
    assert shown == [0.25, 0.5, 0.75]

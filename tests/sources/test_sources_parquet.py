"""Parquet files become tables, by their declared types."""

from __future__ import annotations

import base64
import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import call
from draws import drawn
from sourcefiles import typed

from shallowrules.errors import DataError
from shallowrules.sources import read_table
from shallowrules.sources.arrow_schema import duration_units


def test_parquet_types(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table(
            {
                "i8": pa.array([1, None, 3], pa.int8()),
                "u32": pa.array([1, 2, 3], pa.uint32()),
                "u64": pa.array([1, 2, 3], pa.uint64()),
                "big": pa.array([1, 2, 2**64 - 1], pa.uint64()),
                "f32": pa.array([0.1, None, float("nan")], pa.float32()),
                "f64": pa.array([0.1, 0.2, float("inf")]),
                "dec": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("2.20")]),
                "b": pa.array([True, None, False]),
                "s": pa.array(["x", None, "1"]),
                "d": pa.array([datetime.date(2020, 1, 2)] * 3),
                "ts": pa.array([datetime.datetime(2020, 1, 2, 3)] * 3),
                "l": pa.array([[1], [2], None]),
                "st": pa.array([{"x": 1, "y": {"z": 2}}] * 3),
                "c": pa.array(["u", "v", "u"]).dictionary_encode(),
            }
        ),
        path,
    )
    table = read_table(path)
    assert [(c.name, c.type) for c in table.columns] == [
        ("i8", "integer"),
        ("u32", "integer"),
        ("u64", "integer"),
        ("big", "float"),
        ("f32", "float"),
        ("f64", "float"),
        ("dec", "float"),
        ("b", "boolean"),
        ("s", "text"),
        ("d", "date"),
        ("ts", "timestamp"),
        ("l", "other"),
        ("st", "other"),
        ("c", "text"),
    ]
    assert table["f32"].values.dtype == np.float32
    assert table["u64"].values.dtype == np.int64
    assert table["i8"].absent.tolist() == [False, True, False]
    assert table["f32"].absent.tolist() == [False, True, True]
    assert table["dec"].values.tolist()[::2] == [1.1, 2.2]
    assert table["b"].values.tolist() == [True, None, False]
    assert table["s"].values.tolist() == ["x", None, "1"]
    assert table["d"].values.tolist() == [18263] * 3


def test_an_infinite_date_does_no_harm(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "t.parquet"
    with duckdb.connect() as database:
        database.execute(f"COPY (SELECT DATE 'infinity' AS d, 1 AS x) TO '{path}' (FORMAT parquet)")
    assert typed(read_table(path)) == [("d", "other", ["infinity"]), ("x", "integer", [1])]


@pytest.mark.parametrize("names", [["a", "a"], ["a", "A"]])
def test_parquet_with_one_name_twice(tmp_path, names):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=names), path)
    with pytest.raises(DataError, match="columns 1 and 2 are"):
        read_table(path)


def test_parquet_is_known_by_its_content(tmp_path, write):
    pq.write_table(pa.table({'a "b"': [1]}), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").names == ['a "b"']
    with pytest.raises(DataError, match="not a Parquet file"):
        read_table(write("a,b\n1,2\n", "t.parquet"))
    with pytest.raises(DataError, match=r"bad\.parquet: cannot be read"):
        read_table(write(b"PAR1 and nothing more", "bad.parquet"))


def test_parquet_without_rows(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_that_only_the_schema_of_arrow_tells(tmp_path, unit):
    path = tmp_path / "t.parquet"
    numbers = [None, 5, -1, -1500, 86_400_000_000]
    names = {"a, b": pa.array(numbers, pa.duration(unit)), "n": pa.array(numbers, pa.int64())}
    pq.write_table(pa.table({"x": [0.5] * 5, **names, "ä": pa.array(numbers, pa.duration(unit))}), path)
    table = read_table(path)
    assert {column.name: column.type for column in table.columns} == {
        "x": "float",
        "a, b": "duration",
        "n": "integer",
        "ä": "duration",
    }
    expected = np.array([0, *numbers[1:]], f"m8[{unit}]").astype("m8[us]").view(np.int64)
    assert table["ä"].values.tolist() == expected.tolist()
    assert table["ä"].absent.tolist() == [True, False, False, False, False]
    assert table["n"].values.tolist()[1:] == numbers[1:]


def test_durations_of_pandas_are_clustered_and_labelled_as_such(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stay = pd.to_timedelta(np.r_[np.arange(50) / 50, np.arange(50) / 50 + 30], unit="D").round("min")
    pd.DataFrame({"stay": stay, "x": np.resize([0.5, 1.5], 100)}).to_parquet("t.parquet")
    assert call("fit", "t.parquet", "-k", 2, "--columns", "stay", "-o", "rules.json").exit_code == 0
    assert ": stay <= 20 days  (50 rows" in call("edit", "rules.json").stdout
    moved = call("explain", "rules.json", "t.parquet", "--number", 1).stdout
    assert "stay from 00:00 to above 20 days" in moved
    labelled = call("label", "rules.json", "t.parquet", "-o", "out.csv")
    assert labelled.exit_code == 0, labelled.stderr
    clusters = [line.split(",")[-1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert (len(set(clusters[:50])), len(set(clusters[50:])), len(set(clusters))) == (1, 1, 2)


def test_a_damaged_schema_of_arrow_is_left_alone(tmp_path):
    table = pa.table({"d": pa.array([1, 2, 3], pa.duration("ms"))})
    pq.write_table(table, tmp_path / "t.parquet")
    encoded = pq.read_metadata(tmp_path / "t.parquet").metadata[b"ARROW:schema"]
    assert duration_units(encoded) == {"d": 1000}
    whole = base64.b64decode(encoded)
    random = np.random.default_rng(0)
    for _ in range(drawn(300)):
        broken = bytearray(whole)
        broken[random.integers(len(broken))] = random.integers(256)
        assert set(duration_units(base64.b64encode(broken)).values()) <= {1, 10**3, 10**6, 10**9}
    for length in range(0, len(whole), 7):
        duration_units(base64.b64encode(whole[:length]))
    assert duration_units(b"no base64") == {}
    pq.write_table(table.cast(pa.schema({"d": pa.int64()})), tmp_path / "n.parquet")
    assert read_table(tmp_path / "n.parquet")["d"].type == "integer"

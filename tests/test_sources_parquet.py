"""Parquet files become tables, by their declared types."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sourcefiles import typed

from shallowrules.errors import DataError
from shallowrules.sources import read_table


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

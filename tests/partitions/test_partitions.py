"""Tables in parts: every kind gives each row once, with the columns that the whole table has."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from shallowrules.errors import DataError, OptionError
from shallowrules.partitions import Part, TableParts, open_partitions
from shallowrules.partitions import sources as partition_sources
from shallowrules.sources import DatabaseRows, read_table
from shallowrules.tables.table import Table


@dataclass
class Rows:
    """How often each row was seen, and the NumPy types that arrived."""

    rows: Counter
    dtypes: set
    origins: set

    def merged(self, other: Rows) -> Rows:
        return Rows(self.rows + other.rows, self.dtypes | other.dtypes, self.origins | other.origins)


def rows_of(table: Table, state: object = None) -> Rows:
    columns = [np.where(column.absent, None, column.values.astype(object)).tolist() for column in table.columns]
    dtypes = tuple((column.type, column.values.dtype.str) for column in table.columns)
    return Rows(Counter(zip(*columns, strict=True)), {dtypes}, {getattr(table, "origin", "")})


def refuse(part: Part, state: str) -> Rows:
    if any(value == state for value in part["kind"].values):
        raise DataError(f"there is {state!r}")
    return rows_of(part)


def fail(part: Part, state: None) -> Rows:
    raise ZeroDivisionError


def a_table(n_rows: int = 1000, seed: int = 0) -> pyarrow.Table:
    rng = np.random.default_rng(seed)
    return pyarrow.table(
        {
            "amount": rng.normal(size=n_rows),
            "single": rng.normal(size=n_rows).astype(np.float32),
            "age": pyarrow.array(rng.integers(0, 90, n_rows), mask=rng.random(n_rows) < 0.1),
            "kind": rng.choice(["a", "b", "c"], n_rows),
            "open": rng.random(n_rows) < 0.5,
        }
    )


def write_parquet(folder: Path, table: pyarrow.Table, n_files: int) -> list[str]:
    cuts = np.linspace(0, table.num_rows, n_files + 1).astype(int)
    files = []
    for i, (start, end) in enumerate(itertools.pairwise(cuts)):
        files.append(str(folder / f"part{i:02}.parquet"))
        pyarrow.parquet.write_table(table.slice(start, end - start), files[-1])
    return files


@pytest.mark.parametrize("n_files", [1, 3])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_parquet_gives_each_row_once_as_the_whole_table_has_it(tmp_path, monkeypatch, n_files, n_threads):
    monkeypatch.setattr(partition_sources, "PART_ROWS", 100)
    files = write_parquet(tmp_path, a_table(), n_files)
    with open_partitions(str(tmp_path / "*.parquet"), n_threads=n_threads) as parts:
        found = parts.map_reduce(rows_of, None)
        again = parts.map_reduce(rows_of, None)
    whole = read_table(files)
    assert found.rows == again.rows == rows_of(whole).rows
    assert found.dtypes == rows_of(whole).dtypes
    assert found.origins == set(files)
    assert parts.types == {column.name: column.type for column in whole.columns}


def test_text_files_have_one_type_where_whole_numbers_meet_floats_and_empty_columns(tmp_path):
    (tmp_path / "one.csv").write_text("a,b,c\n1,x,\n2,y,\n")
    (tmp_path / "two.csv").write_text("c,a,b\n7,1.5,x\n8,,y\n")
    files = [str(tmp_path / "one.csv"), str(tmp_path / "two.csv")]
    with open_partitions(files) as parts:
        assert parts.types == {"a": "float", "b": "text", "c": "integer"}
        assert parts.map_reduce(rows_of, None).rows == rows_of(read_table(files)).rows


@pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesNote")
@pytest.mark.parametrize("values", [["1,5", "2,5"], ["$1,234.50", "$2.00"], ["01.02.2024", "31.12.2023"]])
def test_a_file_without_values_in_a_column_is_written_in_any_format(tmp_path, values):
    (tmp_path / "one.csv").write_text("a;b\n" + "".join(f"{value};x\n" for value in values))
    (tmp_path / "two.csv").write_text("b;a\ny;\nz;\n")
    files = [str(tmp_path / "one.csv"), str(tmp_path / "two.csv")]
    whole = read_table(files)
    with open_partitions(files) as parts:
        assert parts.types == {column.name: column.type for column in whole.columns}
        assert {name: kind.conversion for name, kind in parts.kinds.items()} == {
            column.name: column.conversion for column in whole.columns
        }
        assert parts.map_reduce(rows_of, None).rows == rows_of(whole).rows


def test_distinct_values_are_counted_over_all_files_whatever_the_order_of_their_columns(tmp_path):
    (tmp_path / "one.csv").write_text("a,b\n1,x\n2,x\n")
    (tmp_path / "two.csv").write_text("b,a\nx,2\ny,3\n")
    files = [str(tmp_path / "one.csv"), str(tmp_path / "two.csv")]
    for chosen in (None, ["b", "a"]):
        with open_partitions(files, columns=chosen) as parts:
            assert {name: parts.count_distinct(name) for name in parts.names} == {"a": 3, "b": 2}


def test_json_and_reading_options(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": null}\n')
    with open_partitions(str(tmp_path / "rows.jsonl"), exclude=["b"]) as parts:
        assert parts.map_reduce(rows_of, None).rows == Counter({(1,): 1, (2,): 1})


def test_a_database_is_fetched_once_and_typed_by_all_rows(tmp_path, monkeypatch):
    pytest.importorskip("sqlalchemy")
    monkeypatch.setattr("shallowrules.sources.database.BATCH_ROWS", 10)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (amount, kind TEXT, paid BOOLEAN)")
        values = [(i if i < 15 else i + 0.5, "ab"[i % 2], i % 2) for i in range(95)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", values)
    connection.close()
    where = DatabaseRows(f"sqlite:///{tmp_path / 'shop.db'}", "orders")
    with open_partitions(where) as parts:
        assert parts.types == {"amount": "float", "kind": "text", "paid": "boolean"}
        assert parts.map_reduce(rows_of, None).rows == rows_of(read_table(where)).rows


def test_empty_files_are_passed_over_and_no_rows_at_all_are_refused(tmp_path):
    table = a_table(20)
    write_parquet(tmp_path, table, 2)
    pyarrow.parquet.write_table(table.slice(0, 0), tmp_path / "a-first.parquet")
    with open_partitions(str(tmp_path)) as parts:
        assert sum(parts.map_reduce(rows_of, None).rows.values()) == 20
    with (
        pytest.raises(DataError, match=r"a-first\.parquet: there are no rows"),
        open_partitions(str(tmp_path / "a-first.parquet")),
    ):
        pass
    with pytest.raises(DataError, match="no rows"):
        TableParts([Table.of({"a": []})])


def test_a_file_with_other_columns_or_types_is_named(tmp_path):
    table = a_table(20)
    pyarrow.parquet.write_table(table, tmp_path / "1.parquet")
    pyarrow.parquet.write_table(table.drop_columns(["age"]), tmp_path / "2.parquet")
    with (
        pytest.raises(DataError, match=r"2\.parquet has no column 'age', which .*1\.parquet has"),
        open_partitions(str(tmp_path)),
    ):
        pass
    other = table.set_column(0, "amount", pyarrow.array(["x"] * 20))
    pyarrow.parquet.write_table(other, tmp_path / "2.parquet")
    with (
        pytest.raises(DataError, match=r"column 'amount' is float in .*1\.parquet and text in .*2\.parquet"),
        open_partitions(str(tmp_path)),
    ):
        pass
    whole = table.set_column(0, "amount", pyarrow.array([1] * 20))
    pyarrow.parquet.write_table(whole, tmp_path / "2.parquet")
    with (
        pytest.raises(DataError, match=r"column 'amount' is float in .*1\.parquet and integer in .*2\.parquet"),
        open_partitions(str(tmp_path)),
    ):
        pass


def test_what_is_wrong_in_a_part_is_said_with_its_file_and_other_errors_come_through(tmp_path):
    table = a_table(20)
    pyarrow.parquet.write_table(table, tmp_path / "1.parquet")
    odd = table.set_column(3, "kind", pyarrow.array(["odd"] * 20))
    pyarrow.parquet.write_table(odd, tmp_path / "2.parquet")
    with open_partitions(str(tmp_path), n_threads=2) as parts:
        with pytest.raises(DataError, match=r"2\.parquet: there is 'odd'"):
            parts.map_reduce(refuse, "odd")
        with pytest.raises(ZeroDivisionError):
            parts.map_reduce(fail, None)


def test_tables_in_memory_and_what_is_no_source():
    tables = [
        Table.of({"a": [1, 2], "b": ["x", None]}),
        Table.of({"b": ["y"], "a": [0.5]}),
        Table.of({"a": [], "b": []}),
    ]
    with open_partitions(TableParts(tables, n_threads=2)) as parts:
        assert parts.names == ["a", "b"]
        assert parts.map_reduce(rows_of, None).rows == Counter({(1.0, "x"): 1, (2.0, None): 1, (0.5, "y"): 1})
    with pytest.raises(DataError, match="partition 1 has no column 'b'"):
        TableParts([Table.of({"a": [1], "b": [1]}), Table.of({"a": [1]})])
    with (
        pytest.raises(OptionError, match="source is a ndarray"),
        open_partitions(np.zeros((2, 2))),
    ):
        pass

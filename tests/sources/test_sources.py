"""Sources: names, a count, rows as a table or streamed in batches; and several sources as one."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from draws import few
from rulesets import make_rules

from shallowrules.errors import DataError, Finding, MissingExtraError
from shallowrules.sources import Provenance, Source, files_of, open_source, read_table
from shallowrules.tables.given import column_of


class Records(Source):
    """A list of dicts, with all that a new kind of source needs."""

    def __init__(self, records):
        super().__init__(list(records[0]), Provenance("records"))
        self.records = records

    def count_rows(self):
        return len(self.records)

    def read(self, positions, as_text, findings):
        names = [self.names[j] for j in positions]
        return [column_of(name, [record.get(name) for record in self.records]) for name in names]


def test_a_source_needs_a_count_and_columns_only():
    source = Records([{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 3}])
    table = source.table(exclude=["b"])
    assert table["a"].values[~table["a"].absent].tolist() == [1, 3]
    assert {column.name: column.type for column in source.table().columns} == {"a": "integer", "b": "text"}
    assert str(source.provenance) == "records"


def test_a_stream_without_pyarrow_names_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        pytest.raises(MissingExtraError, match="needs pyarrow, .*: pip install pyarrow$"),
        open_source(tmp_path / "t.csv") as source,
    ):
        next(source.stream([0], source.fields([0]), 1))


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_stream_is_the_table(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"a": range(5), "b": [0.5, None, 1.5, 2.5, 3.5], "c": list("xyxyx")}), path)
    elif kind == "csv":
        path.write_text("a,b,c\n0,0.5,x\n1,,y\n2,1.5,x\n3,2.5,y\n4,3.5,x\n")
    else:
        rows = zip(range(5), (0.5, None, 1.5, 2.5, 3.5), "xyxyx", strict=True)
        path.write_text("\n".join(json.dumps({"a": a, "b": b, "c": c}) for a, b, c in rows))
    with open_source(path) as source:
        assert source.count_rows() == 5
        assert source.provenance.files == (str(path),)
        positions = source.positions(["b", "a", "c"])
        fields = source.fields(positions)
        assert [field.type for field in fields] == ["float", "integer", "text"]
        batches = list(source.stream(positions[:2], fields[:2], 2))
        assert source.table().n_rows == 5
    assert max(batch.num_rows for batch in batches) <= 2
    found = pa.Table.from_batches(batches)
    assert found.column_names == ["b", "a"]
    assert found["a"].to_pylist() == [0, 1, 2, 3, 4]
    assert found["b"].to_pylist() == [0.5, None, 1.5, 2.5, 3.5]


def test_names_that_are_one_in_sql_are_refused_of_any_source():
    with pytest.raises(DataError, match="named 'a' and 'A'"):
        Records([{"a": 1, "A": 2}])


# Several files ------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p2.csv").write_text("b,a\nx,1.5\n,2\n")
    (tmp_path / "p1.csv").write_text("a,b\n1,x\n2,y\n")
    return tmp_path


def test_a_folder_a_pattern_and_names_are_one_table(folder):
    (folder / "notes.md").write_text("no table")
    (folder / ".hidden.csv").write_text("a\n1\n")
    names = [str(folder / "p1.csv"), str(folder / "p2.csv")]
    for where in (folder, str(folder / "p?.csv"), names, [folder / "p1.csv", str(folder / "*2.csv")]):
        table = read_table(where)
        assert [(c.name, c.type) for c in table.columns] == [("a", "float"), ("b", "text")]
        assert table["a"].values.tolist() == [1, 2, 1.5, 2]
        assert table["b"].values.tolist() == ["x", "y", "x", None]
    with open_source(folder) as source:
        assert list(source.provenance.files) == names
        assert source.count_rows() == 4


def test_a_folder_leaves_out_its_own_results(folder):
    names = [str(folder / "p1.csv"), str(folder / "p2.csv")]
    rules = make_rules([("a", "float"), ("n", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))
    (folder / "table_rules" / "more").mkdir(parents=True)
    rules.to_json(folder / "table_rules" / "rules.json")
    rules.to_json(folder / "fitted.json")
    for name in ("labelled.csv", "more/labelled.csv"):
        (folder / "table_rules" / name).write_text("a,b,cluster\n1,x,0\n")
    assert files_of(folder) == names
    (folder / "result.csv").write_text("a,b,cluster\n1,x,0\n")
    assert files_of([folder], besides=folder / "table_rules" / ".." / "result.csv") == names
    assert files_of(folder) == [*names, str(folder / "result.csv")]
    (folder / "other").mkdir()
    (folder / "other" / "rules.json").write_text('[{"format": "shallowrules/2"}]')
    assert str(folder / "other" / "rules.json") in files_of(folder)
    assert files_of(folder / "table_rules") == [
        str(folder / "table_rules" / name) for name in ("labelled.csv", "more/labelled.csv")
    ]


def test_a_file_named_twice_is_refused(folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    (folder / "link.csv").symlink_to(folder / "p1.csv")
    said = []
    for names, first in (
        (["p1.csv", "p2.csv", "p1.csv"], "twice, and"),
        (["p1.csv", "./p1.csv"], "twice, .* p1.csv"),
        (["p1.csv", "link.csv"], "twice, .* p1.csv"),
        (["p?.csv", str(folder / "p2.csv")], "twice, .* p2.csv"),
        (["."], "twice, .* link.csv"),
    ):
        with pytest.raises(DataError, match=f"p[12].csv: .* named {first}|link.csv: .* named {first}") as caught:
            read_table(names)
        said.append((repr(names), str(caught.value)))
    words(said)


def test_a_file_whose_name_is_a_pattern_is_that_file(folder):
    (folder / "[a]*.csv").write_text("z\n1\n")
    assert read_table(folder / "[a]*.csv").names == ["z"]


def test_files_that_differ_are_refused_with_file_and_column(folder, words):
    said = []
    for text, named in (
        ("a\n1\n", r"p3.csv .*no column 'b', .*p1.csv"),
        ("a,b,c\n1,2,3\n", r"p3.csv .*column 'c', .*p1.csv .*not"),
        ("a,b\nx,y\n", r"column 'a' is integer .*p1.csv .*text .*p3.csv"),
        ("a,b\n1,2\n3\n", r"p3.csv: line 3 has 1 field"),
        ("a,b\n1,x\nNA,x\n", r"p3.csv: column 'a' .*'NA'"),
    ):
        (folder / "p3.csv").write_text(text)
        with pytest.raises(DataError, match=named) as caught:
            read_table([folder / "p1.csv", folder / "p3.csv"])
        said.append((repr(text), str(caught.value)))
    words(said)


def test_a_file_without_rows_adds_none(folder):
    whole = read_table([folder / "p1.csv", folder / "p2.csv"])
    (folder / "p0.csv").write_text("a,b\n")
    (folder / "p3.csv").write_text("b,a\n")
    table = read_table([folder / name for name in ("p0.csv", "p1.csv", "p2.csv", "p3.csv")])
    assert [(column.name, column.type) for column in table.columns] == [(c.name, c.type) for c in whole.columns]
    assert all((one.values == other.values).all() for one, other in zip(table.columns, whole.columns, strict=True))
    with pytest.raises(DataError, match="p0.csv: .*no rows"):
        read_table([folder / "p0.csv", folder / "p3.csv"])


def test_parts_of_parquet_have_one_declared_type(tmp_path):
    for name, values in (("p1", [1, 2]), ("p2", [3, None])):
        pq.write_table(
            pa.table({"a": pa.array(values, pa.int32()), "f": pa.array([0.5, 1.5])}), tmp_path / f"{name}.parquet"
        )
    table = read_table(tmp_path)
    assert table["a"].type == "integer"
    assert table["a"].absent.tolist() == [False, False, False, True]
    pq.write_table(pa.table({"a": [0.5], "f": [0.5]}), tmp_path / "p3.parquet")
    with pytest.raises(DataError, match=r"column 'a' is integer .*p1.parquet .*float .*p3.parquet"):
        read_table(tmp_path)


def test_a_column_without_values_in_one_text_file_has_the_type_of_the_others(folder):
    (folder / "p3.csv").write_text("a,b\n,\n7,\n")
    table = read_table([folder / "p1.csv", folder / "p3.csv"])
    assert [c.type for c in table.columns] == ["integer", "text"]
    assert table["a"].absent.tolist() == [False, False, True, False]
    assert table["b"].values.tolist() == ["x", "y", None, None]


def test_findings_of_several_files_name_theirs(folder):
    (folder / "p3.csv").write_text("a,b\n1,x\n?,x\n")
    findings: list[Finding] = []
    with open_source([folder / "p1.csv", folder / "p3.csv"]) as source:
        table = source.table(findings=findings)
    assert [(f.kind, f.column, f.place, f.file) for f in findings] == [
        ("nearly numeric", "a", 2, str(folder / "p3.csv"))
    ]
    assert table["a"].type == "text"
    assert table.n_rows == 4


def test_a_pattern_that_matches_no_file(tmp_path):
    with pytest.raises(DataError, match=r"\*\.csv: .*no such file, .*pattern"):
        files_of(str(tmp_path / "*.csv"))
    np.testing.assert_equal(files_of("none.csv"), ["none.csv"])


BREAKS = ("\n", "\r", "\r\n")


@pytest.mark.parametrize("end", BREAKS)
@pytest.mark.parametrize("in_name", ["", *BREAKS])
@pytest.mark.parametrize("in_value", few(["", *BREAKS]))
def test_line_breaks_in_names_and_values_of_csv(tmp_path, end, in_name, in_value):
    rows = [["k", f"a{in_name}b"], ["p", f"x{in_value}1"], ["q", "y"], ["r", f"{in_value}z"]]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(rows)
    table = read_table(tmp_path / "t.csv")
    columns = [column.values.tolist() for column in table.columns]
    assert [table.names, *map(list, zip(*columns, strict=True))] == rows

"""Files become tables; an error in a file is reported with its place."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rights import without_rights
from sourcefiles import read_as_told, typed

from shallowrules.errors import DataError, MissingExtraError, OptionError, ShallowRulesWarning
from shallowrules.sources import file_relation, open_source, read_table
from shallowrules.sources import text as text_source

# CSV: what a column is -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "kind", "values"),
    [
        (["1", "-2", "+3"], "integer", [1, -2, 3]),
        ([" 1", "2 ", "007"], "integer", [1, 2, 7]),
        (["1", "", "3"], "integer", [1, None, 3]),
        (["9223372036854775807", "-9223372036854775808"], "integer", [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], "float", [float(2**63), 1.0]),
        (["9007199254740993", "9007199254740992"], "integer", [2**53 + 1, 2**53]),
        (["1", "2.0"], "float", [1.0, 2.0]),
        (["1e3", ".5", "5."], "float", [1000.0, 0.5, 5.0]),
        (["0.1", "", "0.30000000000000004"], "float", [0.1, None, 0.30000000000000004]),
        (["1", "nan", "NaN"], "float", [1.0, None, None]),
        (["inf", "-Infinity", "1"], "float", [float("inf"), float("-inf"), 1.0]),
        (["", ""], "float", [None, None]),
        (["yes", "no"], "text", ["yes", "no"]),
        (["true", "False", "", "TRUE"], "boolean", [True, False, None, True]),
        (["t", "F", "true", ""], "boolean", [True, False, True, None]),
        (["true", "yes"], "text", ["true", "yes"]),
        (["true", " false"], "text", ["true", " false"]),
        (["t", "f", "0"], "text", ["t", "f", "0"]),
        (["true", "unknown"], "text", ["true", "unknown"]),
        (["2020-01-01", "2020-01-02"], "date", [18262, 18263]),
        (["2020-01-01 10:30", " 2020-1-2T09:00:00Z"], "other", ["2020-01-01 10:30", " 2020-1-2T09:00:00Z"]),
        (["1.2.2020", "31.12.21"], "other", ["1.2.2020", "31.12.21"]),
        (["2020-01-01", "later"], "text", ["2020-01-01", "later"]),
        (["1-2-3", "2020-01-01x"], "text", ["1-2-3", "2020-01-01x"]),
        (["1_000", "2_000"], "text", ["1_000", "2_000"]),
        (["0x1F", "0x20"], "text", ["0x1F", "0x20"]),
        (["missing", "", "x"], "text", ["missing", None, "x"]),
        (["S", "1", "2", "3", "L"], "text", ["S", "1", "2", "3", "L"]),
    ],
)
def test_a_csv_column_has_the_type_that_all_its_rows_have(write, fields, kind, values):
    path = write("x,other\n" + "".join(f"{field},0\n" for field in fields))
    assert typed(read_table(path))[0] == ("x", kind, values)


def test_a_type_is_decided_by_the_last_row_too(write):
    path = write("x,y\n" + "1,1\n" * 50_000 + "1,2.5\n")
    table = read_table(path)
    assert [column.type for column in table.columns] == ["integer", "float"]
    assert table.n_rows == 50_001


def test_rows_keep_their_order(write):
    path = write("x\n" + "".join(f"{i}\n" for i in range(300_000)))
    np.testing.assert_array_equal(read_table(path)["x"].values, np.arange(300_000))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end", "two ends"])
def test_line_ends_do_not_matter(write, end, last):
    tail = {"": "", "end": end, "two ends": end + end}[last]
    path = write(f"a,b{end}1,2{end}3,4{tail}")
    assert typed(read_table(path)) == [("a", "integer", [1, 3]), ("b", "integer", [2, 4])]


@pytest.mark.parametrize("text", ["a,b\r\n1,2\n3,4\r\n", "a,b\n1,2\n\n3,4\n", 'a,b\r\n1,2\n\n"3",4'])
def test_mixed_line_ends_and_blank_lines_are_read(write, text):
    assert typed(read_table(write(text))) == [("a", "integer", [1, 3]), ("b", "integer", [2, 4])]


def test_a_blank_line_is_no_row_of_a_single_column(write):
    assert typed(read_table(write('a\n1\n\n""\n3\n\n'))) == [("a", "integer", [1, None, 3])]


def test_quoted_delimiters_newlines_and_quotes(write):
    path = write('"na""me","two\nlines"\n"a,b","c\nd"\n"e""f",\'g\n')
    assert typed(read_table(path)) == [('na"me', "text", ["a,b", 'e"f']), ("two\nlines", "text", ["c\nd", "'g"])]


def test_a_byte_order_mark_is_not_part_of_a_name(write):
    assert read_table(write(b"\xef\xbb\xbfa,b\n1,2\n")).names == ["a", "b"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(write, delimiter):
    path = write(delimiter.join("ab") + "\n" + delimiter.join("12") + "\n")
    assert read_table(path).names == ["a", "b"]


def test_a_tsv_file_has_tabs(write):
    assert read_table(write("a,b\tc\n1\t2\n", "table.tsv")).names == ["a,b", "c"]


def test_a_delimiter_can_be_given(write):
    path = write("a;b,c\n1;x,y\n")
    with pytest.raises(DataError, match=r"may be ',' or ';'.*; use delimiter=',' or delimiter=';'"):
        read_as_told(path)
    assert read_table(path, delimiter=";").names == ["a", "b,c"]
    assert read_table(write("a b\n1 2\n"), delimiter=" ").names == ["a", "b"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_a_delimiter_that_looks_wrong_is_refused(write, name):
    path = write("a,b\n1,2\n3,4\n", name)
    with pytest.raises(DataError, match=r"delimiter .* 'a,b', .*','.*looks wrong; use delimiter=','"):
        read_table(path, delimiter=";" if name == "t.csv" else None)


def test_a_delimiter_that_looks_wrong_is_doubted_where_it_may_be_right(write):
    path = write("width,cm\n1,5\n2,5\n")
    with pytest.warns(ShallowRulesWarning, match="delimiter looks wrong"):
        assert typed(read_table(path, delimiter=";", decimal=",")) == [("width,cm", "float", [1.5, 2.5])]
    assert read_table(write("width, cm\n1.5\n"), delimiter=";").names == ["width, cm"]


def test_a_decimal_comma_is_found(write):
    path = write("a;b\n1,5;2\n-2,5;3\n")
    for told in ({}, {"decimal": ","}):
        assert typed(read_table(path, **told)) == [("a", "float", [1.5, -2.5]), ("b", "integer", [2, 3])]


def test_with_a_decimal_comma_a_point_can_only_group_digits(write):
    path = write("a;b\n1.234,5;1.5\n2.345,6;2.5\n")
    read = read_table(path, decimal=",", delimiter=";")
    assert typed(read) == [("a", "float", [1234.5, 2345.6]), ("b", "text", ["1.5", "2.5"])]


@pytest.mark.slow
@pytest.mark.parametrize("null", [(), ("NA",)])
def test_two_signs_are_no_number(write, null):
    assert read_table(write("a,b\n1.5,2\n+-1,3\n"), null=null)["a"].type == "text"
    path = write("a,b\n" + "1.5,2\n" * 200_000 + "+-1,3\n" + "1.5,2\n" * 200_000)  # not in the sample
    with pytest.raises(DataError, match=r"column 'a'.*'\+-1' in row 200001"):
        read_as_told(path, null=null)


def test_two_signs_are_found_between_chunks(monkeypatch):
    content = b"a,b\n1.5,2\n+-1,3\n"
    for size in range(1, len(content) + 1):
        monkeypatch.setattr(text_source, "SCAN_BYTES", size)
        assert text_source.scan(io.BytesIO(content), ",").odd_numbers


@pytest.mark.parametrize(("field", "null"), [("\t1", "NA"), ('"5\n"', "NA"), ("\t1.5", "NA")])
def test_numbers_that_rules_convert_have_no_blanks_but_spaces_around(write, field, null):
    """The rules read such a column from text themselves, and do not treat the field as a number."""
    path = write(f"a,b\n1,2\n{field},3\n{null},3\n")
    assert read_table(path, null=[null])["a"].type == "text"


def test_grouped_digits_do_not_become_text_silently(write):
    read = read_table(write('a,b\n"1,234",1\n"1,234,567",2\n'))
    assert typed(read) == [("a", "integer", [1234, 1234567]), ("b", "integer", [1, 2])]
    with pytest.raises(DataError, match="groups digits"):
        read_as_told(write('a,b\n"1,234",1\n"1,234",2\n'))


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("é,b\n1,2\n".encode("latin-1"), {"encoding": "latin-1"}),
        ("é,b\n1,2\n".encode("cp1252"), {"encoding": "cp1252"}),
        ("é,b\n1,2\n".encode("utf-16"), {"encoding": "utf-16"}),
        (gzip.compress("é,b\n1,2\n".encode(), mtime=0), {}),
        (gzip.compress("é,b\n1,2\n".encode("latin-1"), mtime=0), {"encoding": "latin-1"}),
    ],
)
def test_encodings_and_compression(write, content, options):
    assert typed(read_table(write(content), **options)) == [("é", "integer", [1]), ("b", "integer", [2])]


@pytest.mark.parametrize("form", ["utf-16-le", "utf-16-be", "compressed"])
def test_a_byte_order_mark_tells_utf_16(write, form):
    content = "\ufeffé,b\n1,2\n".encode(form if form != "compressed" else "utf-16-le")
    path = write(gzip.compress(content, mtime=0) if form == "compressed" else content)
    with pytest.warns(ShallowRulesWarning, match="table.csv is read as UTF-16"):
        assert typed(read_table(path)) == [("é", "integer", [1]), ("b", "integer", [2])]


@pytest.mark.parametrize(
    ("content", "encoding", "other"),
    [
        ("a,b\n1,é\n".encode(), "utf-16", "utf-8"),
        ("a,b\n1,é\n".encode(), "utf-32", "utf-8"),
        ("a,b\n1,é\n".encode(), "utf-7", "utf-8"),
        (b"a,b\n1,\xe9\n", "utf-16", "cp1252"),
        (b"a,b\n1,\x81\n", "cp1252", "latin-1"),
        ("a,b\n1,é\n".encode("utf-16"), "utf-32", "utf-16"),
    ],
)
def test_a_file_in_another_encoding_is_refused_with_one_that_may_be_meant(write, content, encoding, other):
    path = write(content)
    with pytest.raises(DataError, match=f"table.csv: .*{encoding}.*another encoding") as caught:
        read_table(path, encoding=encoding)
    [finding] = caught.value.findings
    assert (finding.kind, finding.values) == ("encoding", (other,))


@pytest.mark.parametrize("name", ["a*.csv", "[a].csv", "wh?t.csv", "it's.csv", "a b.csv", "x.csv.gz", "plain", "~.csv"])
def test_any_file_name(write, name):
    assert read_table(write("a,b\n1,2\n", name)).names == ["a", "b"]


def test_a_folder_that_looks_like_a_partition_adds_no_column(tmp_path):
    folder = tmp_path / "year=2020"
    folder.mkdir()
    (folder / "t.csv").write_text("a,b\n1,2\n")
    (folder / "t.jsonl").write_text('{"a": 1}\n')
    pq.write_table(pa.table({"a": [1]}), folder / "t.parquet")
    assert read_table(folder / "t.csv").names == ["a", "b"]
    assert read_table(folder / "t.jsonl").names == ["a"]
    assert read_table(folder / "t.parquet").names == ["a"]


def test_an_unnamed_column_is_named_as_duckdb_does(write):
    assert read_table(write(",a,\n0,1,2\n"), header="first").names == ["column0", "a", "column2"]


def test_wide_files(write):
    names = [f"c{j}" for j in range(350)]
    path = write(",".join(names) + "\n" + ",".join(f"{j}.5" for j in range(350)) + "\n")
    table = read_table(path)
    assert table.names == names
    assert [column.values[0] for column in table.columns] == [j + 0.5 for j in range(350)]


def test_columns_and_exclude(write):
    path = write("a,b,c\n1,NA,3\n2,5,4\n")
    assert read_table(path, columns=["c", "a"]).names == ["c", "a"]
    assert read_table(path, exclude=["b"]).names == ["a", "c"]
    with pytest.raises(DataError, match=r"no column 'd'; .*'a', 'b', 'c'"):
        read_table(path, exclude=["d"])
    with pytest.raises(DataError, match="no column"):
        read_table(path, columns=["a"], exclude=["a"])


# CSV: what is refused ------------------------------------------------------------------------------


def test_a_damaged_file_is_refused_with_its_place(write, words):
    said = []
    for content, named in (
        ("", "file is empty"),
        ("a,b\n", "no rows .*2 column names"),
        ("a,b", "no rows .*2 column names"),
        ("a,b\n1,2\n3\n", r"line 3 has 1 field, .* 2"),
        ("a,b\n1,2\n3,4,5\n", r"line 3 has 3 fields"),
        ("a,b\n1,2\n3,4,\n", r"line 3 has 3 fields"),
        ('a,b\n"x\ny",2\n3,4,5\n', r"line 4 has 3 fields"),
        ("a,b\n" + "1,2\n" * 5000 + "3\n", r"line 5002 has 1 field"),
        ("a,a\n1,2\n", "columns 1 and 2 .*'a'"),
        ("a,b,A\n1,2,3\n", "columns 1 and 3 .*'a' and 'A'"),
        (",column0\n1,2\n", "both named 'column0'"),
        ('a,b\n1,2\n"xy,2\n3,4\n', "line 3: .*quote is never closed"),
        ('a,b\n1,2\n"xy,2\n' + "3,4\n" * 50_000, "line 3: .*quote is never closed"),
        ('"a,b\n1,2\n', "line 1: .*quote is never closed"),
        ('a,b\n"xy"z,2\n', "line 2: ',' expected"),
        (b"a,b\n1,2\n3,\xe9\n", "line 3: byte 0xe9 is not utf-8.*--encoding cp1252"),
        (b"\x89PNG\r\n\x1a\n\0\0", "line 1 has bytes.*text file"),
        (bytes(range(254, 0, -1)), "line 1 has bytes.*text file"),
        (b"PK\x03\x04\x14\0\x06", "an archive"),
        (gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-9], "compressed file is damaged"),
        (b"\x1f\x8bno gzip at all", "compressed file is damaged"),
    ):
        path = write(content)
        with pytest.raises(DataError, match=named) as caught:
            read_as_told(path)
        assert str(caught.value).startswith(f"{path}: ")
        said.append((repr(content)[:30], str(caught.value)))
    words(said)


@pytest.mark.parametrize(
    ("fault", "named"),
    [('1,"x\n', "never closed"), ('1,"x"y\n', "',' expected"), ("1," + "x" * 200_000 + "\n# end\n", "too long")],
    ids=["open quote", "text behind a quote", "long field"],
)
def test_a_fault_far_below_a_comment_is_refused_with_its_line(write, fault, named):
    with pytest.raises(DataError, match=f"line 3003: .*{named}"):
        read_table(write("# made by hand\na,b\n" + "1,2\n" * 3000 + fault))


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("row", [0, 1, 3000])
def test_a_field_longer_than_the_csv_module_reads_is_read_wherever_it_is(write, delimiter, row):
    texts = ["y"] * 3001
    texts[row] = "x" * 200_000
    lines = [f"a{delimiter}b", *(f"{i}{delimiter}{text}" for i, text in enumerate(texts))]
    table = read_table(write("\n".join(lines) + "\n"))
    assert table.names == ["a", "b"]
    assert table["b"].values.tolist() == texts


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="a folder"):
        read_table(tmp_path)


def test_an_unreadable_file(write):
    path = write("a,b\n1,2\n")
    path.chmod(0)
    with without_rights(), pytest.raises(DataError, match="Permission denied"):
        read_table(path)


@pytest.mark.slow
def test_nearly_all_numbers_are_refused_with_the_ways_out(write, words):
    said = []
    for fields, named in (
        (["1", " ", "3"], r"1 of 3 values .*' ' in row 2: .*\(--null ''\)"),
        (["NA", "2", ""], r"1 of 2 values .*'NA' in row 1: .*--null NA\)$"),
        (["1", "?", "N/A"], r"2 of 3 values .*--null '\?' --null N/A"),
        ([*map(str, range(20)), "oops"], r"1 of 21 values.*'oops' in row 21"),
        ([*map(str, range(99)), *"abcd"], r"4 of 103 values.*correct the file"),
    ):
        path = write("my x,y\n" + "".join(f"{field},0\n" for field in fields))
        with pytest.raises(DataError, match=f"column 'my x' .*{named}") as caught:
            read_as_told(path)
        said.append((", ".join(fields[-4:]), str(caught.value)))
        assert read_table(path, exclude=["my x"]).names == ["y"]
    words(said)


def test_errors_of_all_columns_come_in_one_message(write):
    with pytest.raises(DataError, match=r"column 'a' .*; column 'b' "):
        read_table(write("a,b\n1,NA\n?,2\n"))


@pytest.mark.parametrize(("null", "values"), [([""], [1, None, 3]), (["  "], [1, None, 3]), (["x", ""], [1, None, 3])])
def test_null_makes_blanks_missing(write, null, values):
    assert typed(read_table(write("a,b\n1,0\n ,0\n3,0\n"), null=null))[0] == ("a", "integer", values)


def test_the_conversion_is_kept_as_far_as_it_was_needed(write):
    path = write("a;b;c;d;e;f\n1,5;1;x;1;-9;y\nNA;2;NA;3; -9.0;z\n2;NA; ;-9;5;z\n")
    table = read_table(path, decimal=",", null=["NA", "-9", ""])
    found = {column.name: (column.type, column.conversion.decimal, column.conversion.nulls) for column in table.columns}
    assert found == {
        "a": ("float", ",", ("NA",)),
        "b": ("integer", ".", ("NA",)),
        "c": ("text", ".", ("NA", "")),
        "d": ("integer", ".", ("-9",)),
        "e": ("text", ".", ("-9",)),  # with a decimal comma, -9.0 is not a number
        "f": ("text", ".", ()),
    }
    [e] = read_table(write("e,g\n-9,1\n -9.0,2\n5,3\n"), null=["-9"], columns=["e"]).columns
    assert (e.type, e.absent.tolist(), e.conversion.nulls) == ("float", [True, True, False], ("-9",))
    [n] = read_table(write('{"n": "NA"}\n{"n": 1}\n', "t.jsonl"), null=["NA", "x"]).columns
    assert (n.type, n.conversion.nulls) == ("integer", ("NA",))


def test_columns_as_the_text_that_they_are(write):
    text = read_table(write("a,b\n1,x\n NA,y\n,z\n"), as_text=["a"], null=["NA"])["a"]
    assert (text.type, text.values.tolist()) == ("text", ["1", " NA", None])
    text = read_table(write('{"n": "NA"}\n{"n": 1.25}\n', "t.jsonl"), as_text=["n"])["n"]
    assert (text.type, text.values.tolist()) == ("text", ["NA", "1.25"])


def test_what_a_user_reads_a_file_from(write, tmp_path):
    assert file_relation(write("a,b\n1,2\n")).startswith("read_csv('")
    assert "delim=';'" in file_relation(write("a;b\n1;2\n"), ";")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    assert file_relation(tmp_path / "t.parquet").startswith("read_parquet('")
    assert file_relation(write('{"a": 1}\n', "t.json")) is None
    assert file_relation(tmp_path / "none.csv") is None


def test_null_holds_for_text_too(write):
    assert typed(read_table(write("a,b\nx,0\n NA,0\n"), null=["NA"]))[0] == ("a", "text", ["x", None])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter .*one character"),
        ({"delimiter": '"'}, "delimiter .*one character"),
        ({"decimal": ";"}, "decimal separator ';'; .*: ., ,"),
        ({"decimal": ",", "thousands": ","}, "cannot both group digits"),
        ({"thousands": ";"}, "thousands ';' cannot group digits"),
        ({"format": ["a"]}, "format 'a' is not a column and an example"),
        ({"format": ["a=x"]}, "'x' is not an example of a number"),
        ({"format": ["a=1.234"]}, "'1.234' can be read in two ways: .*1.234,5 .*12.5"),
        ({"encoding": "klingon"}, "unknown encoding 'klingon'; "),
        ({"encoding": "zlib"}, "unknown encoding 'zlib'"),
        ({"encoding": "rot13"}, "unknown encoding 'rot13'"),
        ({"encoding": "undefined"}, "unknown encoding 'undefined'"),
        ({"encoding": "a\0b"}, "unknown encoding"),
    ],
)
def test_options_are_checked(write, options, message):
    with pytest.raises(OptionError, match=message):
        read_table(write("a,b\n1,2\n"), **options)


def test_without_duckdb_the_extra_is_named(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shallowrules\[cli\]'"):
        read_table(write("a,b\n1,2\n"))


def test_importing_does_not_need_duckdb():
    code = "import sys, shallowrules.sources; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
def test_a_pipe_is_read(tmp_path):
    code = "from shallowrules.sources import read_table; print(read_table('/dev/stdin')['b'].values.tolist())"
    done = subprocess.run([sys.executable, "-c", code], input="a,b\n1,2\n", text=True, capture_output=True, check=True)
    assert done.stdout == "[2]\n"


def test_no_progress_bar_is_printed_into_a_notebook():
    # DuckDB takes a Python without a script for one.
    code = """if True:
        from shallowrules.sources.engine import open_database
        with open_database("") as database:
            print(database.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0])
    """
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_nothing_is_left_in_the_temporary_folder(write, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    read_table(write("a,b\r\n1,2\n"))
    with pytest.raises(DataError):
        read_table(write("a,b\n1\n"))
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,x\n2,\n3,NA\n",
        'a,b\n"1","x, ""y"""\n2,"line 1\nline 2"\n',
        "a;b\n\n1;x\n\n2;y\n",
        "a\n1\n\n2\n",
        "a,b\n1,x,3\n2,y\n",
        'a,b\n1,"x\n2,y\n',
    ],
)
def test_rows_that_stream_are_those_that_a_table_holds(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_text(content)

    def read(*, streams):
        try:
            with open_source(path) as source:
                if streams:
                    source.stream_text()
                columns = ", ".join(source.original(j) for j in range(len(source.names)))
                rows = source.database.execute(f"SELECT {columns} FROM {source.relation}").fetchall()
                tables = source.database.execute("SELECT count(*) FROM duckdb_tables()").fetchone()[0]
        except DataError as error:
            return str(error), not streams
        return rows, tables

    held, n_tables = read(streams=False)
    assert n_tables == 1
    assert read(streams=True) == (held, 0)

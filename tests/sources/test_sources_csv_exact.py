"""A CSV file is read as Python's `csv` module and `float` read it; the fast way gives the same result as the slow
one."""

from __future__ import annotations

import csv
import io
import warnings

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from shallowrules.errors import DataError, ShallowRulesWarning
from shallowrules.files import Reading
from shallowrules.sources import open_source, read_table
from shallowrules.sources.csv import CsvSource

# Against the csv module ----------------------------------------------------------------------------

FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6) | st.text(
    st.sampled_from("a1,;\t|\"'\n\r \\#"), max_size=6
)


@draws(100, deadline=None)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(FIELDS, min_size=width, max_size=width), min_size=1, max_size=6)
    ),
    delimiter=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_fields_come_back_as_the_csv_module_wrote_them(tmp_path_factory, rows, delimiter, line_end, quoting):
    # A last column of letters keeps a row from being blank; an anchor row makes every column text.
    width = len(rows[0])
    rows = [[*row, "z"] for row in rows] + [["text"] * width + ["z"]] * 60
    if any("\r" in field for row in rows for field in row):
        quoting = csv.QUOTE_ALL  # the writer would leave a lone carriage return bare
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerow([f"c{j}" for j in range(width)] + ["end"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    words = sorted({field for row in rows for field in row})
    table = read_table(path, delimiter=delimiter, keep_text=words)
    for j, column in enumerate(table.columns):
        assert column.type == "text"
        assert column.values.tolist() == [row[j] or None for row in rows]


@draws(100, deadline=None)
@given(
    floats=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20),
    integers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=20, max_size=20),
)
def test_numbers_come_back_exactly(tmp_path_factory, floats, integers):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    lines = [f"{x!r},{i}" for x, i in zip(floats, integers, strict=False)]
    path.write_text("\n".join(["x,i", "0.5,0", *lines]))
    table = read_table(path)
    assert table["x"].type == "float"
    assert table["i"].type == "integer"
    assert table["x"].values.tolist() == [0.5, *floats]
    assert table["i"].values.tolist() == [0, *integers[: len(floats)]]


def test_pandas_reads_the_same_types_and_values(write):
    pd = pytest.importorskip("pandas")
    path = write("i,f,t,b,n\n1,1.5,x,true,1\n2,2.25,y,false,\n")
    frame = pd.read_csv(path)
    table = read_table(path)
    assert [c.type for c in table.columns] == ["integer", "float", "text", "boolean", "integer"]
    np.testing.assert_array_equal(table["i"].values, frame["i"])
    np.testing.assert_array_equal(table["f"].values, frame["f"])
    np.testing.assert_array_equal(table["b"].values, frame["b"])


# The quick way and the slow one -----------------------------------------------------------------------


def reference_rows(text):
    """Return the rows below the header as the `csv` module finds them, None where it finds a fault."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None
    if len(set(map(len, rows))) > 1:
        return None
    return [[field or None for field in row] for row in rows[1:]]


AS_IT_STANDS = {"delimiter": ",", "header": "first", "skip": 0, "comment": "\0", "footer": 0}


@draws(100, deadline=None)
@given(body=st.text(st.sampled_from('a,"\n \r;_'), max_size=9), width=st.sampled_from([1, 2]))
def test_any_text_is_read_as_the_csv_module_reads_it_or_refused(tmp_path_factory, body, width):
    text = {1: f"h\n{body}\nz\n", 2: f"h,i\nz,z\n{body}\nz,z\n"}[width]
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(text.encode())
    expected = reference_rows(text)
    if expected is None:
        with pytest.raises(DataError):
            read_table(path, as_text=["h", "i"][:width], **AS_IT_STANDS)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShallowRulesWarning)
        table = read_table(path, as_text=["h", "i"][:width], **AS_IT_STANDS)
    assert [list(row) for row in zip(*(c.values.tolist() for c in table.columns), strict=True)] == expected


EDGES = [
    "1_000",
    "0x1F",
    "0b11",
    "inf",
    "-Infinity",
    "nan",
    "1e400",
    "-1e-400",
    "4.9e-324",
    "2.4703282292062328e-324",
    "2.4703282292062327e-324",
    "007",
    "+3",
    "5.",
    ".5",
    "1.7976931348623159e308",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1e2",
    "1.0",
    "0.1000000000000000055511151231257827",
    "123456789012345678901234567890",
]
NUMBERS = st.text(st.sampled_from("0123456789.eE+-_ xbinfaN\t"), min_size=1, max_size=5) | st.sampled_from(EDGES)
WORDS = st.text(st.sampled_from("atrue nifNA/2"), min_size=1, max_size=4) | st.sampled_from(
    ["a", "One year", "z ", "é", "ab\t", "NULL", "na", "NA ", "n/a", "None", "nano", "Infinite", "T", "2024-01-02"]
)


@draws(100, deadline=None)
@given(
    fields=st.one_of(st.lists(kind, min_size=1, max_size=4) for kind in (NUMBERS, WORDS, NUMBERS | WORDS)),
    sampled=st.sampled_from(["0.5", "7", "word"]),
    beside=st.sampled_from(["", "z", "1"]),
)
def test_the_quick_way_gives_what_the_slow_one_gives(tmp_path_factory, fields, sampled, beside):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    rows = [[field, beside] if beside else [field] for field in ["x", sampled, *fields]]
    path.write_text("".join(",".join(row) + "\n" for row in rows).replace("x," + beside, "x,t", 1))

    def read(types):
        with pytest.MonkeyPatch.context() as patch:
            # The sample sees the first field alone.
            patch.setattr(CsvSource, "_sample", lambda source: [[sampled] + [beside] * (len(source.names) - 1)])
            if types is not None:
                patch.setattr(CsvSource, "_sampled_types", lambda source: types)
            with open_source(path, Reading(delimiter=",")) as source:
                found = []
                return source.table(findings=found)["x"], [finding.message for finding in found]

    (quick, said), (slow, said_slowly) = read(None), read({})
    assert said == said_slowly
    assert (quick.type, quick.values.dtype) == (slow.type, slow.values.dtype)
    assert quick.absent.tolist() == slow.absent.tolist()
    if quick.is_numeric:
        assert quick.values.tobytes() == slow.values.tobytes()
    else:
        assert quick.values.tolist() == slow.values.tolist()


def test_numbers_are_those_of_python_to_the_last_bit(write):
    texts = [
        "0.1000000000000000055511151231257827",
        "2.4703282292062328e-324",
        "2.4703282292062327e-324",
        "1e400",
        "-1e-400",
    ]
    texts += ["1.7976931348623157e308", "9007199254740993.0", "8.41e21", "5e-324", "+3.", "007.50"]
    values = read_table(write("x,y\n" + "".join(f"{text},a\n" for text in texts)))["x"].values
    assert values.tobytes() == np.array([float(text) for text in texts]).tobytes()


def test_what_the_sample_misses_is_found(write):
    rows = ["1,1.5,7"] * 3000
    rows[1500:1500] = ["2.5,x,1e2"]
    table = read_table(write("a,b,c\n" + "\n".join(rows) + "\n"), exclude=["b"])
    assert [column.type for column in table.columns] == ["float", "float"]
    assert table["c"].values[1500] == 100
    with pytest.raises(DataError, match=r"column 'b' .* 1 of 3,001 .* 'x' in row 1501"):
        read_table(write("a,b,c\n" + "\n".join(rows) + "\n"))


@pytest.mark.parametrize("word", ["NA", "N/A", "null ", "None"])
def test_a_word_for_no_value_that_the_sample_misses_is_found(write, word):
    rows = ["yes,1"] * 5000
    rows[4000:4000] = [f"{word},1"]
    path = write("a,b\n" + "\n".join(rows) + "\n")
    with open_source(path) as source:
        assert source._tried == {0: "text", 1: "integer"}
        with pytest.raises(
            DataError, match=rf"column 'a' is text, and 1 of 5001 values is '{word.strip()}', .* row 4001"
        ):
            source.table()


@pytest.mark.parametrize("tail", ["3,4,", '3,"4",', "3,4,,", '3,4,""'])
def test_too_many_empty_fields_are_found(write, tail):
    """DuckDB's strict mode passes over them."""
    with pytest.raises(DataError, match="line 3 has"):
        read_table(write(f'a,b\n1,"x,y"\n{tail}\n'))


def test_queries_do_not_grow_with_the_columns(write):
    """40 rows of 5,000 columns took a minute: a query for each column, planned over all of them."""
    duckdb = pytest.importorskip("duckdb")
    names = [f"c{j}" for j in range(1500)]
    path = write(",".join(names) + "\n" + (",".join("ab"[j % 2] for j in range(1500)) + "\n") * 3)
    run = []
    with open_source(path) as source:

        class Counted:
            def execute(self, query):
                run.append(query)
                return connection.execute(query)

        connection, source.database = source.database, Counted()
        table = source.table()
    assert isinstance(connection, duckdb.DuckDBPyConnection)
    assert len(run) <= 40
    assert [column.values[0] for column in table.columns[:3]] == ["a", "b", "a"]

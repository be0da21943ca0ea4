"""Where a table begins and ends: one small file of each shape, and drawn tables dressed as people dress them."""

from __future__ import annotations

import csv
import io
import warnings

import pyarrow
import pyarrow.parquet
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from sourcefiles import typed

from shallowrules.errors import DataError, OptionError, ShallowRulesNote, ShallowRulesWarning
from shallowrules.sources import file_relation, open_source, read_table, trimming

CITIES = "Berlin,12,300\nRom,13,200\nWien,20,100\n"
PLAIN = "city,customers,sales\n" + CITIES
TABLE = [("city", "text", ["Berlin", "Rom", "Wien"]), ("customers", "integer", [12, 13, 20])]
TABLE += [("sales", "integer", [300, 200, 100])]
FIRST_ROW = [("column1", "text", ["Berlin", "Rom", "Berlin"]), ("column2", "integer", [12, 13, 20])]


def read(path, **reading):
    """Return a table as lists, and its notes and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(path, **reading)
    notes = [str(each.message) for each in caught if issubclass(each.category, ShallowRulesNote)]
    others = [each for each in caught if not issubclass(each.category, ShallowRulesNote)]
    assert all(issubclass(each.category, ShallowRulesWarning) for each in others)
    return typed(table), notes, [str(each.message) for each in others]


DRESSED = {
    "plain": (PLAIN, ()),
    "a title": ("Sales of 2023\n" + PLAIN, ("skip=1",)),
    "a title and a blank line": ("Sales of 2023\n\n" + PLAIN, ("skip=2",)),
    "titles with commas behind": ("Sales of 2023,,\nall in EUR,,\n,,\n" + PLAIN, ("skip=3",)),
    "a title with a comma": ('"Sales, by city"\nEUR, net\n' + PLAIN, ("skip=2",)),
    "blank lines above": ("\n\n" + PLAIN, ()),
    "units in brackets": (PLAIN.replace("\n", "\n,[1],(EUR)\n", 1), ("line 2",)),
    "bare units": (PLAIN.replace("\n", "\n,persons,EUR\n", 1), ("line 2",)),
    "a title, units and a blank line": (
        "Sales\n" + PLAIN.replace("\n", "\n,persons,EUR\n\n", 1),
        ("skip=1", "line 3"),
    ),
    "comments above": ("# made by hand\n#\n" + PLAIN, ("comment='#'",)),
    "comments within": (PLAIN.replace("Rom", "# not sure\nRom"), ("comment='#'",)),
    "comments below": (PLAIN + "# end\n", ("comment='#'",)),
    "blank lines within": (PLAIN.replace("Rom", "\nRom"), ()),
    "empty rows at the end": (PLAIN + ",,\n,,\n\n", ("2 empty rows",)),
    "a total": (PLAIN + "Total,45,600\n", ("footer=1",)),
    "a total in German": (PLAIN + "Summe:,45,600\n", ("footer=1",)),
    "a grand total and a mean": (PLAIN + "Grand Total,45,600\nMean,15,200\n", ("footer=2",)),
    "a total with words": (PLAIN + "Total of cities,45,600\n", ("footer=1",)),
    "a total without a word": (PLAIN + ",45,600\n", ("footer=1",)),
    "a source": (PLAIN + "\nSource: Statistical Office, 2024\n", ("footer=1",)),
    "notes": (PLAIN + "* preliminary\n1) without Bonn\n", ("footer=2",)),
    "a total and notes": (PLAIN + "Total,45,600\n\nQuelle: Amt; Stand 2024\n", ("footer=2",)),
    "a sentence": (PLAIN + "All figures are preliminary and may change.,,\n", ("footer=1",)),
    "ends of lines of Windows": (
        ("Sales\n\n" + PLAIN + "Total,45,600\n").replace("\n", "\r\n"),
        ("skip=2", "footer=1"),
    ),
    "no line end": (PLAIN + "Total,45,600", ("footer=1",)),
    "semicolons": (("Sales 2023\n" + PLAIN + "Summe,45,600\n").replace(",", ";"), ("skip=1", "footer=1")),
    "aligned": (
        "city   customers sales\nBerlin        12   300\nRom           13   200\nWien  20   100\n",
        ("delimiter=' '",),
    ),
    "a title above sep=": ("sep=,\nSales\n" + PLAIN, ("skip=2",)),
}


@pytest.mark.parametrize("shape", DRESSED)
def test_a_dressed_table_is_read_as_the_plain_one_and_what_is_left_out_is_noted(write, shape):
    content, noted = DRESSED[shape]
    table, notes, others = read(write(content))
    assert table == TABLE
    assert len(notes) == len(noted)
    assert all(word in note for word, note in zip(noted, notes, strict=True))
    assert not others


@pytest.mark.parametrize("shape", [name for name, (_, noted) in DRESSED.items() if any("=" in word for word in noted)])
def test_the_options_that_a_note_names_say_the_same(write, shape):
    content, noted = DRESSED[shape]
    told = dict(word.split("=") for word in noted if "=" in word)
    reading = {
        name: value.strip("'") or " " if name in ("comment", "delimiter") else int(value)
        for name, value in told.items()
    }
    assert read(write(content), **reading)[0] == TABLE


HEADERLESS = {
    "figures and words": ("Berlin,12\nRom,13\nBerlin,20\n", FIRST_ROW),
    "figures alone": ("1.5,2\n3,4\n", [("column1", "float", [1.5, 3.0]), ("column2", "integer", [2, 4])]),
    "words that recur": (
        "e,x\np,x\ne,y\np,y\n",
        [("column1", "text", list("epep")), ("column2", "text", list("xxyy"))],
    ),
    "a title above": ("my table\nBerlin,12\nRom,13\nBerlin,20\n", FIRST_ROW),
    "blanks": ("Berlin  12\nRom     13\nBerlin  20\n", FIRST_ROW),
    "one column": ("5.5\n30\n12\n", [("column1", "float", [5.5, 30.0, 12.0])]),
}


@pytest.mark.parametrize("shape", HEADERLESS)
def test_a_table_without_a_header_keeps_its_first_row(write, shape):
    content, expected = HEADERLESS[shape]
    table, notes, _ = read(write(content))
    assert table == expected
    assert any("header='none'" in note for note in notes)


NAMES = {
    "years": ("country,1990,1991\nAustria,1.5,2.5\nItaly,3.5,4.5\n", ["country", "1990", "1991"]),
    "years below titles": (
        'Data Source,World Bank\n\n"Last Updated",2024-07-01\n\nCountry,Code,1990,1991\n'
        "Austria,AUT,1.5,2\nItaly,ITA,3,4\n",
        ["Country", "Code", "1990", "1991"],
    ),
    "years downwards": ("country,2020,2010\nAustria,1.5,2.5\nItaly,3.5,4.5\n", ["country", "2020", "2010"]),
    "days": ("place,Lat,1/22/20,1/23/20\nAustria,1.5,3,3\nItaly,2.5,4,4\n", ["place", "Lat", "1/22/20", "1/23/20"]),
    "months": ("country,2020-01,2020-02\nAustria,1.5,2.5\nItaly,3.5,4.5\n", ["country", "2020-01", "2020-02"]),
    "an index of pandas": (",0,1,2\n0,0.5,0.25,1.5\n1,1.5,2.5,3.5\n", ["column0", "0", "1", "2"]),
    "years of a table of years": ("2019,2020,2021\n5,6,7\n8,9,10\n", ["2019", "2020", "2021"]),
    "words alone": ("color,size\nred,S\nblue,M\n", ["color", "size"]),
    "a hash": ("#id,x\n1,2\n3,4\n", ["#id", "x"]),
}


@pytest.mark.parametrize("shape", NAMES)
def test_names_stay_names(write, shape):
    content, names = NAMES[shape]
    table, _, others = read(write(content))
    assert [name for name, _, _ in table] == names
    assert len(table[0][2]) == 2
    assert not others


DOUBTFUL = {
    "0 and 1 alone": ("1,2\n3,4\n5,7\n", ("header='first'", "header='none'")),
    "a value among names": ("color,red\nred,red\nblue,green\n", ("header='first'", "header='none'")),
    "two rows of names": ("a,b,c\nx,y,z\n1,2,3\n4,5,6\n", ("header='first'", "skip=1")),
    "a title as wide as the table": ("Sales, 2023\ncity,revenue\nA,1\nB,2\n", ("header='first'", "skip=1")),
    "a title padded above no header": ("Sales,\n1.5,2\n3,4\n3.5,7\n", ("header='first'", "skip=1")),
    "a title above one column": ("My sensor\n\ntemp\n1.5\n2.5\n", ("header='first'", "skip=2")),
    "a total called as a row": ("city,sales\nTotal,12\nRom,13\nTotal,25\n", ("footer=1", "footer=0")),
}


@pytest.mark.parametrize("shape", DOUBTFUL)
def test_what_is_doubtful_is_refused_with_both_options_and_both_work(write, shape):
    content, choices = DOUBTFUL[shape]
    path = write(content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    (finding,) = caught.value.findings
    assert (finding.kind, finding.values) == ("extent", choices)
    tables = []
    for choice in choices:
        name, value = choice.split("=")
        tables.append(read(path, **{name: int(value) if value.isdigit() else value.strip("'")})[0])
    assert tables[0] != tables[1]


def test_both_commands_of_a_doubtful_table_are_shown_and_run(write, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    write("1,2\n" + "".join(f"{i % 2 * 9 + i % 3 / 4},{i % 2}\n" for i in range(20)), "t.csv")
    message = refused("run", "t.csv", "-k", "2")
    words(message)
    assert "--header first" in message
    assert "--header none" in message
    for header in ("first", "none"):
        assert call("fit", "t.csv", "-k", "2", "--header", header, "-o", f"{header}.json").exit_code == 0


@pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesNote")
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (PLAIN + "Bonn,1\n", 5),
        ("Sales\n\n" + PLAIN + "Bonn,1\n", 7),
        ("Sales\n" + PLAIN.replace("Rom", "Rom,1"), 4),
        ("a,b\n1,2,3\n2,3,4\n", 2),
        ("a,b\nx,1,2,3\ny,3,4,5\n", 2),
    ],
)
def test_a_row_with_a_field_too_few_is_no_note_and_keeps_its_line(write, content, line):
    with pytest.raises(DataError, match=f"line {line} has"):
        read_table(write(content))


@pytest.mark.parametrize(
    "number", [lambda i: [], lambda i: [str(i) if i else ""]], ids=["figures alone", "numbered rows"]
)
def test_a_total_without_a_word_below_figures_is_the_sum_of_many_rows(write, number):
    rows = [[*number(i), str(i % 7 + 3), str(i % 5 * 2)] for i in range(1, 21)]
    total = [*number(0), str(sum(int(row[-2]) for row in rows)), str(sum(int(row[-1]) for row in rows))]
    names = ["n", "customers", "sales"][-len(total) :]

    def shown(*rows):
        return "".join(",".join(row) + "\n" for row in rows)

    plain, *nothing = read(write(shown(names, *rows)))
    assert nothing == [[], []]
    table, [note], warned = read(write(shown(names, *rows, total)))
    assert (table, warned) == (plain, [])
    assert "footer=1" in note
    other = [*total[:-1], str(int(total[-1]) + 1)]
    assert len(read(write(shown(names, *rows, other)))[0][-1][2]) == 21
    rare = [[*number(i), str(int(i == 4)), "0"] for i in range(1, 21)]
    assert read(write(shown(names, *rare, [*number(0), "1", "0"])))[1:] == ([], [])


def test_totals_within_a_table_are_warned_of_and_may_be_left_out(write):
    path = write(PLAIN.replace("Rom", "Total,1,2\nRom"))
    table, _, others = read(path)
    assert len(table[0][2]) == 4
    assert "comment='Total'" in others[0]
    assert read(path, comment="Total") == (TABLE, [], [])
    assert read(path, footer=0)[2] == []


@pytest.mark.parametrize("size", [4, 5000])
def test_the_end_of_a_large_file_is_found_without_reading_it(write, monkeypatch, size):
    parsed, real = [], trimming._parsed
    monkeypatch.setattr(trimming, "_parsed", lambda *given: (parsed.append(row) or row for row in real(*given)))
    rows = "".join(f"city {i},{i},{i * 2}\n" for i in range(size))
    table, notes, _ = read(write("Sales\ncity,customers,sales\n" + rows + "Total,9,9\n\nSource: ä, b\n"))
    assert [len(values) for _, _, values in table] == [size] * 3
    assert table[2][2][-1] == (size - 1) * 2
    assert ["skip=1" in notes[0], "footer=2" in notes[1]] == [True, True]
    assert 0 < len(parsed) < 3000


def test_a_plain_file_is_read_itself(write, tmp_path):
    path = write(PLAIN)
    found = trimming.trim(str(path), trimming.Reading(), [",", ";"], str(tmp_path))
    assert (found.text, found.line, found.remarks) == (str(path), 1, ())
    assert file_relation(path) is not None
    assert file_relation(write("Sales\n" + PLAIN, "dressed.csv")) is None


@pytest.mark.parametrize("told", [{"header": "second"}, {"skip": -1}, {"footer": 1.5}, {"comment": ""}, {"skip": True}])
def test_what_is_told_is_checked(write, told):
    with pytest.raises(OptionError, match=next(iter(told))):
        read_table(write(PLAIN), **told)


@pytest.mark.parametrize("skip", [5, 60, 10**18, 10**30])
def test_no_more_lines_are_skipped_than_there_are(write, skip):
    with pytest.raises(DataError, match="the file has 4 lines, and skip skips all of them"):
        read_table(write(PLAIN), skip=skip)


@pytest.mark.parametrize(
    "told",
    [{"thousands": ","}, {"header": "none"}, {"skip": 1}, {"comment": "#"}, {"footer": 1}],
)
@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_what_is_told_of_rows_is_refused_for_a_file_without_them(tmp_path, kind, told):
    path = tmp_path / f"t.{kind}"
    if kind == "json":
        path.write_text('[{"a": 1}, {"a": 2}]')
    else:
        pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2]}), path)
    with pytest.raises(OptionError, match=f"{next(iter(told))} is for CSV files and workbooks"):
        read_table(path, **told)


def test_of_several_files_each_is_trimmed_for_itself_and_one_note_names_them(tmp_path):
    for i, title in enumerate(["Sales", "Sales", ""]):
        (tmp_path / f"{i}.csv").write_text((title and title + "\n") + PLAIN)
    table, notes, _ = read(tmp_path)
    assert table[1][2] == [12, 13, 20] * 3
    assert len(notes) == 1
    assert "0.csv and 1 more" in notes[0]


def test_label_and_drift_find_what_the_fit_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(i % 2 * 9 + i % 3 / 4, i * i % 7) for i in range(20)]
    body = "".join(f"{a},{b}\n" for a, b in rows)
    (tmp_path / "plain.csv").write_text("a,b\n" + body)
    (tmp_path / "dressed.csv").write_text("My table\n\na,b\n(m),(s)\n" + body + "\nSource: me\n")
    for name in ("plain", "dressed"):
        assert call("fit", f"{name}.csv", "-k", "2", "-o", f"{name}.json").exit_code == 0
        assert call("label", f"{name}.json", f"{name}.csv", "-o", f"{name}-labels.csv").exit_code == 0
    assert (tmp_path / "plain-labels.csv").read_bytes() == (tmp_path / "dressed-labels.csv").read_bytes()
    shown = call("label", "plain.json", "dressed.csv", "-o", "again.csv").stderr
    assert "--skip 2" in shown
    assert "--footer 1" in shown
    assert call("drift", "plain.json", "dressed.csv").exit_code == 0
    assert call("fit", "dressed.csv", "-k", "2", "--memory", "64MB", "-o", "parts.json").exit_code == 0


NAMED = st.sampled_from(["city", "sales", "net weight", "Zahl", "x", "temp", "date"])
VALUES = {
    "integer": st.integers(-999, 99999),
    "float": st.integers(-99999, 99999).map(lambda number: (number * 10 + 1) / 1000),
    "text": st.sampled_from(["Berlin", "Rom", "New York", "o'Hara", "x y"]),
}


@st.composite
def plain_tables(draw):
    """Return names, types and rows of a table with at least one column of figures."""
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=2, max_size=5).filter(lambda k: set(k) != {"text"}))
    names = [f"{draw(NAMED)}{j}" for j in range(len(kinds))]
    rows = draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), min_size=4, max_size=12))
    return names, kinds, rows


@st.composite
def dressings(draw):
    """Return the lines above the header, below it, and below the table."""
    titles = draw(
        st.lists(st.sampled_from([["Sales report"], ["As of 2024-01-31"], [], ["Region: north"]]), max_size=3)
    )
    footers = draw(
        st.lists(st.sampled_from([["Source: office"], [], ["* preliminary figures"], ["Note: see above"]]), max_size=3)
    )
    return titles, draw(st.booleans()), draw(st.booleans()), footers, draw(st.booleans())


def dress(table, dressing, *, padded):
    """Return the rows of a dressed table."""
    names, kinds, rows = table
    titles, has_units, has_total, footers, has_header = dressing
    found = [*titles, *([names] if has_header else [])]
    if has_units and has_header:
        found.append(["(kg)" if kind != "text" else "" for kind in kinds])
    found += map(list, rows)
    if has_total and kinds[0] == "text":
        found.append(
            ["Total", *(sum(row[j] for row in rows) if kind != "text" else "" for j, kind in enumerate(kinds) if j)]
        )
    found += footers
    return [[*row, *([""] * (len(names) - len(row)))] if padded and row else row for row in found]


@pytest.mark.slow
@draws(400, deadline=None)
@given(plain_tables(), dressings(), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_a_drawn_table_is_read_as_the_plain_one_or_refused_by_name(
    tmp_path_factory, table, dressing, delimiter, padded
):
    path = tmp_path_factory.mktemp("drawn") / "t.csv"
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(dress(table, dressing, padded=padded))
    path.write_text(text.getvalue(), newline="")
    names, _, rows = table
    refusal = None
    try:
        found, notes, _ = read(path)
    except DataError as error:
        refusal = str(error)
    if refusal is not None:
        assert str(path) in refusal
        return
    expected = names if dressing[-1] else [f"column{j}" for j in range(1, len(names) + 1)]
    assert [name for name, _, _ in found] == expected, (text.getvalue(), notes)
    assert [tuple(row) for row in zip(*(values for _, _, values in found), strict=True)] == rows, text.getvalue()


def test_a_source_says_what_it_left_out_before_its_rows_are_read(write):
    with pytest.warns(ShallowRulesNote, match="skip=1"), open_source(write("Sales\n" + PLAIN)) as source:
        assert source.names == ["city", "customers", "sales"]

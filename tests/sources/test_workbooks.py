"""Spreadsheets as a source, and labels in one: types, sheets, lines above and below the table, and the limits of a
sheet."""

from __future__ import annotations

import csv
import datetime as dt
import re
import shutil
import subprocess
import warnings

import duckdb
import openpyxl
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import given
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table as OdfTable
from odf.table import TableCell, TableRow
from odf.text import P
from sourcefiles import typed
from test_extent import dress, dressings, plain_tables, read

from shallowrules.errors import DataError, OptionError, ShallowRulesWarning
from shallowrules.labelling import workbook as written_workbook
from shallowrules.sources import read_table

DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)


def write_xlsx(path, **sheets):
    """Write a workbook of sheets, each a list of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([*row])
    book.save(path)
    return path


def write_ods(path, rows):
    """Write a workbook of LibreOffice with one sheet."""
    book = OpenDocumentSpreadsheet()
    table = OdfTable(name="Sheet")
    for row in rows:
        line = TableRow()
        for value in row:
            number = isinstance(value, int | float)
            cell = TableCell(valuetype="float", value=value) if number else TableCell(valuetype="string")
            if value in ("", None):
                cell = TableCell()
            elif not number:
                cell.addElement(P(text=value))
            line.addElement(cell)
        table.addElement(line)
    book.spreadsheet.addElement(table)
    book.save(str(path))
    return path


def test_a_column_has_the_type_of_its_cells(tmp_path):
    rows = [["n", "x", "t", "day", "moment", "truth", "mixed"]]
    rows += [
        [1, 1.5, "a", DAY, MOMENT, True, DAY],
        [2, 2, "b", DAY, MOMENT, False, MOMENT],
        [3, None, "c", *[None] * 4],
    ]
    found = typed(read_table(write_xlsx(tmp_path / "t.xlsx", Sheet=rows)))
    assert [(name, kind) for name, kind, _ in found] == [
        *(("n", "integer"), ("x", "float"), ("t", "text"), ("day", "date"), ("moment", "timestamp")),
        *(("truth", "boolean"), ("mixed", "timestamp")),
    ]
    assert found[0][2] == [1, 2, 3]
    assert found[1][2] == [1.5, 2.0, None]
    assert found[5][2] == [True, False, None]
    assert found[3][2][0] == (DAY - dt.date(1970, 1, 1)).days


def test_dates_of_the_year_1904_are_the_same_days(tmp_path):
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    for row in (["day", "x"], [DAY, 1], [DAY, 2]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert typed(read_table(tmp_path / "t.xlsx"))[0][1:] == ("date", [19782, 19782])


@pytest.mark.renders
@pytest.mark.parametrize("ending", ["xls", "ods"])
def test_a_workbook_that_libreoffice_saved_in_another_form_is_the_same_table(tmp_path, ending):
    program = shutil.which("soffice") or pytest.skip("LibreOffice is not installed")
    rows = [["Title"], [], ["n", "x", "t", "day", "moment"], [1, 1.5, "a", DAY, MOMENT], [2, 2, "ü", DAY, MOMENT]]
    path = write_xlsx(tmp_path / "t.xlsx", Sheet=[*rows, ["#N/A", 3, None, None, None]])
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = [program, profile, "--headless", "--convert-to", ending, "--outdir", str(tmp_path), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert read(path.with_suffix(f".{ending}")) == read(path)


def test_errors_and_empty_cells_are_missing_values(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", Sheet=[["x", "y"], [1, "#N/A"], ["#DIV/0!", 2], [3, None]])
    assert typed(read_table(path)) == [("x", "integer", [1, None, 3]), ("y", "integer", [None, 2, None])]


def test_numbers_with_a_word_among_them_are_refused_by_row(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", Sheet=[["x", "y"], *[[i, i] for i in range(20)], ["oops", 3]])
    with pytest.raises(DataError, match="'x' is nearly all numbers.*'oops' in row 21"):
        read_table(path)


def test_of_several_sheets_one_is_named(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    table = [["a", "b"], *[[i % 2 * 9, i * i % 7] for i in range(20)]]
    write_xlsx("t.xlsx", Read_me=[["Hello"]], One=table, Two=[["c", "d"], [1, 2], [3, 5]])
    message = refused("run", "t.xlsx", "-k", "2")
    assert "--sheet One" in message
    assert "--sheet Two" in message
    assert "Read_me" not in message
    said = [message, refused("run", "t.xlsx", "-k", "2", "--sheet", "Three")]
    write_xlsx("one.xlsx", Read_me=[["Hello"]], One=table)
    write_xlsx("none.xlsx", Read_me=[["Hello"]])
    said.append(refused("run", "none.xlsx", "-k", "2"))
    words("\n".join(said))
    assert call("fit", "t.xlsx", "-k", "2", "--sheet", "One", "-o", "named.json").exit_code == 0
    assert call("fit", "one.xlsx", "-k", "2", "-o", "found.json").exit_code == 0
    assert read_table("t.xlsx", sheet="Two").names == ["c", "d"]


def test_a_sheet_is_for_workbooks(write):
    with pytest.raises(OptionError, match="sheet"):
        read_table(write("a,b\n1,2\n"), sheet="One")


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)])
def test_a_damaged_workbook_is_refused(tmp_path, content):
    path = write_xlsx(tmp_path / "t.xlsx", Sheet=[["a"], [1], [2]])
    path.write_bytes(path.read_bytes()[:900] if content.startswith(b"PK") else content)
    with pytest.raises(DataError, match="archive|cannot be read"):
        read_table(path)


def test_merged_titles_and_empty_tails_and_edges_are_no_part_of_the_table(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["B2"] = "Sales of 2023"
    sheet.merge_cells("B2:D2")
    for i, row in enumerate([["city", "n", "x"], ["", "[1]", "(kg)"], ["A", 1, 2.5], ["B", 2, 3.5], ["Total", 3, 6]]):
        for j, value in enumerate(row):
            sheet.cell(i + 4, j + 2, value or None)
    sheet["B10"] = "Source: office"
    sheet.cell(40, 9).number_format = "0.00"
    book.save(tmp_path / "t.xlsx")
    table, notes, _ = read(tmp_path / "t.xlsx")
    assert table == [("city", "text", ["A", "B"]), ("n", "integer", [1, 2]), ("x", "float", [2.5, 3.5])]
    assert ["skip=3" in notes[0], "row 5" in notes[1], "footer=2" in notes[2]] == [True] * 3


@draws(100, deadline=None)
@given(plain_tables(), dressings())
@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_drawn_table_in_a_sheet_is_read_as_the_plain_one_or_refused(tmp_path_factory, ending, table, dressing):
    path = tmp_path_factory.mktemp("drawn") / f"t.{ending}"
    rows = dress(table, dressing, padded=False)
    write_xlsx(path, Sheet=rows) if ending == "xlsx" else write_ods(path, rows)
    try:
        found, notes, _ = read(path)
    except DataError:
        return
    names, _, body = table
    assert [name for name, _, _ in found] == (names if dressing[-1] else [f"column{j + 1}" for j in range(len(names))])
    assert [tuple(row) for row in zip(*(values for _, _, values in found), strict=True)] == body, (rows, notes)


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    """Return a function that labels a table of rows of a, b and more, and returns the cells of the workbook."""
    monkeypatch.chdir(tmp_path)

    def labelled(rows, *options):
        with open("t.csv", "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([["a", "b", "more"], *rows])
        fitted = call("fit", "t.csv", "-k", "2", "--exclude", "more", "-o", "rules.json", "--force")
        assert fitted.exit_code == 0, fitted.stderr
        result = call("label", "rules.json", "t.csv", "-o", "out.xlsx", *options)
        if result.exit_code:
            return result.stderr
        sheet = openpyxl.load_workbook("out.xlsx").active
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref == sheet.dimensions
        return [list(row) for row in sheet.iter_rows(values_only=True)]

    return labelled


def rows_with(value):
    return [[i % 2 * 9 + i % 3 / 4, i * i % 7, value] for i in range(20)]


@pytest.mark.parametrize(
    ("written", "cell"),
    [
        ("2024-02-29", dt.datetime(2024, 2, 29)),
        ("2024-02-29 12:30", MOMENT),
        ("true", True),
        ("=1+1", "=1+1"),
        ("http://example.org", "http://example.org"),
        ("123456789012345", 123456789012345),
        ("2.5", 2.5),
        ("x", "x"),
    ],
)
def test_labels_in_a_workbook_have_types_and_are_those_of_a_csv_file(labelled, written, cell):
    cells = labelled(rows_with(written))
    assert cells[0] == ["a", "b", "more", "cluster"]
    assert [row[2] for row in cells[1:]] == [cell] * 20
    assert call("label", "rules.json", "t.csv", "-o", "out.csv").exit_code == 0
    with open("out.csv", encoding="utf-8") as stream:
        assert [row[3] for row in list(csv.reader(stream))[1:]] == [str(row[3]) for row in cells[1:]]
    again = call("label", "rules.json", "out.xlsx", "--cluster-column", "again", "-o", "again.xlsx")
    assert again.exit_code == 0, again.stderr
    both = list(openpyxl.load_workbook("again.xlsx").active.iter_rows(min_row=2, values_only=True))
    assert all(row[3] == row[4] for row in both)


@pytest.mark.parametrize("kind", ["BIGINT", "DECIMAL(18,0)"])
def test_whole_numbers_of_many_digits_are_shown_with_all_of_them_or_refused(labelled, kind):
    labelled(rows_with("1"))
    for digits, held in ((15, True), (16, False)):
        number = f"CAST({'1234567890123456'[:digits]} AS {kind})"
        duckdb.sql(f"SELECT i * 0.5 a, i % 7 b, {number} more FROM range(20) t(i)").write_parquet("t.parquet")
        result = call("label", "rules.json", "t.parquet", "-o", "many.xlsx", "--force")
        assert (result.exit_code == 0) == held, result.stderr
        assert held or "'more' has 20 whole numbers of more than 15 digits" in " ".join(result.stderr.split())
    cell = openpyxl.load_workbook("many.xlsx").active["C2"]
    assert (cell.value, cell.number_format) == (123456789012345, "0")


@pytest.mark.parametrize(
    ("written", "named"),
    [("1234567890123456", "'more'.*15 digits"), ("1800-01-01", "'more'.*1900"), ("x" * 33_000, "'more'.*32,767")],
)
def test_what_a_sheet_cannot_hold_is_refused_before_it_is_written(labelled, tmp_path, written, named):
    message = " ".join(labelled(rows_with(written)).split())
    assert re.search(named, message), message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rules.json", "t.csv"]


def test_more_rows_than_a_sheet_has_are_refused(labelled, monkeypatch):
    monkeypatch.setattr(written_workbook, "MAX_ROWS", 20)
    assert "20 rows" in labelled(rows_with("x"))


def test_every_command_takes_a_workbook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_xlsx("t.xlsx", Sheet=[["Title"], [], ["a", "b"], *[[i % 2 * 9 + i % 3 / 4, i * i % 7] for i in range(20)]])
    assert call("run", "t.xlsx", "-k", "2", "-o", "out").exit_code == 0
    for command in (
        ["drift", "out/rules.json", "t.xlsx"],
        ["clusters", "t.xlsx", "--to", "3"],
        ["path", "t.xlsx", "-k", "2", "-o", "path.json"],
        ["refit", "out/rules.json", "t.xlsx", "-o", "again.json"],
        ["verify", "out/rules.json", "t.xlsx", "--dialect", "duckdb"],
        ["fit", "t.xlsx", "-k", "2", "--memory", "64MB", "-o", "parts.json"],
        ["label", "out/rules.json", "t.xlsx", "-o", "labels.parquet"],
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShallowRulesWarning)
            result = call(*command)
        assert result.exit_code == 0, (command, result.stderr)

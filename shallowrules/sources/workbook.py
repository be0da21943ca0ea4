"""Spreadsheets: a sheet becomes the text that its table would be as CSV, which is then read like any other.

So a column has the type that all its cells have: whole numbers, numbers, dates, points in time, truth values or text.
"""

from __future__ import annotations

import csv
import datetime as dt
import os
from collections.abc import Sequence
from typing import Any

from shallowrules.errors import DataError, Finding, MissingExtraError, OptionName
from shallowrules.files import Reading
from shallowrules.sources.evidence import Record, is_blank
from shallowrules.sources.extent import Extent, find_comment, find_extent, is_comment
from shallowrules.sources.trimming import FIRST_ROWS, Trimmed
from shallowrules.tables.conversion import DOUBLE_EXACT
from shallowrules.tables.times import format_time

__all__ = ["DELIMITER", "sheet_text"]

DELIMITER = ","

MIN_ROWS = 2
"""Fewest rows of a sheet that may be a table: a header, and one below it."""

Cells = list[list[Any]]


def sheet_text(file: str, reading: Reading, scratch: str) -> Trimmed:
    """Return the table of a sheet as a text whose first line is the header.

    Parameters
    ----------
    file : str
        A workbook of Excel or LibreOffice.
    reading : Reading
    scratch : str
        Folder for the text.

    Raises
    ------
    DataError
        If it cannot be read, it is unclear which sheet is meant, or whether something is a row.
    MissingExtraError
        If the package that reads workbooks is not installed.
    """
    cells = _cells(file, reading.sheet)
    _write_times(cells)
    rows = [[_text(cell, reading.decimal) for cell in row] for row in cells]
    used = [j for j in range(len(rows[0]) if rows else 0) if any(row[j] for row in rows)]
    left, right = (used[0], used[-1] + 1) if used else (0, 0)
    records = [
        Record(place, [] if is_blank(row) else row[left:right])
        for place, row in enumerate(rows, 1)
        if place > (reading.skip or 0)
    ]
    comment = reading.comment or find_comment(records[:FIRST_ROWS])
    if comment is not None:
        records = [record for record in records if not is_comment(record.fields, comment)]
    first = records[:FIRST_ROWS]
    whole = len(records) <= FIRST_ROWS
    extent = find_extent(first, first if whole else records[-FIRST_ROWS:], reading, unit="row", whole=whole)
    if extent is None:
        raise DataError("the sheet has no table")
    dropped = 0 if extent.end is None else (len(first) if whole else FIRST_ROWS) - extent.end
    return _written(records[: len(records) - dropped], extent, os.path.join(scratch, "sheet"))


def _written(records: Sequence[Record], extent: Extent, path: str) -> Trimmed:
    """Write the header and the rows of a table, each on the line that is its row in the sheet."""
    begin = extent.first - 1 if extent.header is None else extent.header
    with open(path, "w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, delimiter=DELIMITER, lineterminator="\n")
        if extent.header is None:
            writer.writerow(extent.names)
        for record in records:
            if record.place == extent.header or (record.place >= extent.first and record.fields):
                writer.writerow(record.fields)
    return Trimmed(path, begin, DELIMITER, extent.remarks)


def _cells(file: str, sheet: str | None) -> Cells:
    """Return the cells of a sheet, all rows of the same length; DataError if it is unclear which one is meant."""
    try:
        import python_calamine
    except ModuleNotFoundError:
        raise MissingExtraError("reading a workbook", "python-calamine", "xlsx") from None
    try:
        book = python_calamine.load_workbook(file)
        names = [
            each.name
            for each in book.sheets_metadata
            if each.typ is python_calamine.SheetTypeEnum.WorkSheet
            and (sheet is not None or each.visible is python_calamine.SheetVisibleEnum.Visible)
        ]
        if sheet is not None:
            if sheet not in names:
                raise DataError(f"there is no sheet {sheet!r}; the sheets are: {', '.join(map(repr, names))}")
            return book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
        tables = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in names}
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the workbook cannot be read ({error}); save it again, as .xlsx or as CSV") from error
    found = [
        name for name, cells in tables.items() if sum(any(cell != "" for cell in row) for row in cells) >= MIN_ROWS
    ]
    if not found:
        raise DataError(f"no sheet has a table; the sheets are: {', '.join(map(repr, names))}")
    if len(found) > 1:
        message = f"{len(found)} sheets have a table: use "
        parts = [part for name in found for part in (OptionName("sheet", name), " or ")][:-1]
        finding = Finding("sheet", message + ", ".join(map(repr, found)), values=tuple(found))
        raise DataError(message, *parts, findings=[finding])
    return tables[found[0]]


def _write_times(cells: Cells) -> None:
    """Replace dates and times by text in ISO 8601; in a column with any time of day, each date gets one too."""
    for j in range(len(cells[0]) if cells else 0):
        times = [row for row in cells if isinstance(row[j], dt.date | dt.time | dt.timedelta)]
        with_clock = any(isinstance(row[j], dt.datetime) for row in times)
        for row in times:
            value = row[j]
            if isinstance(value, dt.timedelta):
                row[j] = format_time("duration", value // dt.timedelta(microseconds=1))
            elif isinstance(value, dt.time):
                row[j] = value.isoformat()
            elif with_clock and not isinstance(value, dt.datetime):
                row[j] = f"{value.isoformat()} 00:00:00"
            else:
                row[j] = value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat()


def _text(cell: Any, decimal: str) -> str:
    """Return a cell as a text file has it."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) <= DOUBLE_EXACT
        return str(int(cell)) if whole else repr(cell).replace(".", decimal)
    return str(cell)

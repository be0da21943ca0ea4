"""Opening the source that a name means: `_opened` has a line per kind of file, `open_source` opens all others."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallowrules.errors import OptionError, OptionName, ShallowRulesNote, check_choice
from shallowrules.files import Reading, scratch_folder
from shallowrules.sources.base import Source, named
from shallowrules.sources.combined import CombinedSource
from shallowrules.sources.csv import CsvSource, CsvText
from shallowrules.sources.database import DatabaseRows, open_rows
from shallowrules.sources.engine import DuckDBSource, file_literal, open_database, quote_text
from shallowrules.sources.extent import Remark
from shallowrules.sources.files import files_of, is_compressed, kind_of, open_bytes, regular_file, told_delimiter
from shallowrules.sources.json import JsonSource
from shallowrules.sources.number_formats import formats_by_column
from shallowrules.sources.parquet import ParquetSource
from shallowrules.sources.structure import check_delimiter, find_delimiter, possible_delimiters
from shallowrules.sources.text import check_encoding, found_encoding, plain_text
from shallowrules.sources.trimming import check_reading, say, trim
from shallowrules.sources.workbook import DELIMITER, sheet_text
from shallowrules.tables.conversion import PLAIN, Conversion
from shallowrules.tables.dates import FORMATS
from shallowrules.tables.number_format import MARKS
from shallowrules.tables.table import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Files", "Where", "delimiter_of", "file_relation", "files_of", "input_files", "open_source", "read_table"]

PLAINLY = Reading()

Files = str | Path | Sequence[str | Path]
"""A file, several files, a folder or a pattern."""

Where = Files | DatabaseRows
"""The sources from which rows are opened."""


def input_files(where: Where) -> list[str]:
    """Return the files that rows come from; none where a database has them."""
    return [] if isinstance(where, DatabaseRows) else files_of(where)


def read_table(
    where: Where,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    as_text: Sequence[str] = (),
    **reading: Any,
) -> Table:
    """Read a CSV, Parquet or JSON file or a sheet, or several that are one table; or rows of a database.

    The kind of file is known by its content and name: ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.json``,
    ``.jsonl``, ``.ndjson``, all but Parquet also followed by ``.gz``; ``.xlsx``, ``.xls``, ``.ods``.

    Parameters
    ----------
    where : str, Path or sequence of these, or DatabaseRows
        Files, folders (all tables in them, without the package's own results) or patterns such as
        ``"sales/*.parquet"``.
    columns : sequence of str, optional
        Read these columns only, in this order.
    exclude : sequence of str
        Columns that are not read, by name or by a pattern such as ``"flag_*"``; faults in their values do not matter.
    as_text : sequence of str
        Columns of a CSV or JSON file to leave as the text that they are, for rules that know how to convert it.
    **reading
        The options of `shallowrules.files.Reading`. They do not apply to a database, whose columns have types.

    Returns
    -------
    Table
        A column of whole numbers that fit 64 bits is "integer", other numbers are "float" (in single precision where
        Parquet says so, otherwise in double). In a CSV file a column of nothing but true, false, t and f, in any case,
        is "boolean", and yes and no are text. Dates and points in time, also as text in one format, are "date",
        "timestamp" or "timestamptz", durations in Parquet "duration"; other dates, lists and objects are "other".

    Raises
    ------
    DataError
        If a file is not a table, or columns are nearly all numbers but not quite, or files do not have the same
        columns. The message names the file, and the line, row or column; `findings` has the same as data.
    OptionError
        If an option has a value that is not allowed.
    MissingExtraError
        If DuckDB is not installed.

    Warns
    -----
    ShallowRulesNote
        On lines that were skipped: titles, units, comments, notes, totals; on a missing header.
    ShallowRulesWarning
        If rows within the table are called totals, or the delimiter looks wrong.
    """
    with open_source(where, Reading(**reading)) as source:
        return source.table(columns, exclude, as_text)


@contextmanager
def open_source(where: Where, reading: Reading = PLAINLY) -> Iterator[Source]:
    """Open the source that `read_table` reads, until the end of the context.

    It raises the exceptions of `read_table`.

    Yields
    ------
    Source
    """
    check_choice("decimal separator", reading.decimal, (".", ","))
    check_thousands(reading)
    check_delimiter(reading.delimiter)
    check_encoding(reading.encoding)
    _told_dates(reading.dates)
    check_reading(reading)
    if isinstance(where, DatabaseRows):
        with open_rows(where) as rows:
            yield rows
        return
    files = files_of(where)
    with scratch_folder() as scratch:
        remarks: list[tuple[str, Remark]] = []
        if len(files) == 1:
            with named(files[0]), open_database(scratch) as database:
                source = _opened(database, files[0], reading, scratch, remarks)
                say(remarks)
                yield source
            return
        with open_database(scratch) as database:
            parts = []
            for number, file in enumerate(files):
                folder = os.path.join(scratch, str(number))
                os.mkdir(folder)
                with named(file):
                    parts.append(_opened(database, file, reading, folder, remarks, f"fields{number}"))
            say(remarks)
            yield CombinedSource(parts)


def check_thousands(reading: Reading) -> None:
    """Refuse a mark that cannot group digits."""
    thousands = reading.thousands
    if thousands is None:
        return
    if len(thousands) != 1 or thousands not in MARKS:
        raise OptionError(
            OptionName("thousands"), f" {thousands!r} cannot group digits: use a comma, point, apostrophe or blank"
        )
    if thousands == reading.decimal == ",":
        raise OptionError(f"{thousands!r} cannot both group digits and be the decimal separator")


def _opened(
    database: DuckDBPyConnection,
    name: str,
    reading: Reading,
    scratch: str,
    remarks: list[tuple[str, Remark]],
    table: str = "fields",
) -> DuckDBSource:
    """Return the source of one file, loaded into a table of that name if at all; report the findings in it."""
    file = regular_file(name, scratch)
    kind = kind_of(name, file)
    if reading.sheet is not None and kind != "workbook":
        raise OptionError(OptionName("sheet"), f" is for a workbook, and {name} is not one; omit it")
    if kind in ("json", "parquet"):
        _refuse_options_of_rows(name, reading)
    if kind == "parquet":
        return _with_formats(ParquetSource(database, name, file), reading)
    # A point that groups digits leaves the comma for the fraction.
    decimal = "," if reading.thousands == "." else reading.decimal
    told = Conversion(decimal, tuple(dict.fromkeys(token.strip(" ") for token in reading.null)))
    dates = _told_dates(reading.dates)
    if kind == "workbook":
        found = sheet_text(file, reading, scratch)
        remarks += ((name, remark) for remark in found.remarks)
        sheet = CsvText(found.text, DELIMITER, name, found.line, kind="workbook")
        return _with_dates(CsvSource(database, sheet, told, table, scratch, reading), dates)
    encoding = found_encoding(file, reading.encoding)
    if encoding != reading.encoding:
        message = f"{name} is read as {encoding.upper()}, as its first bytes say"
        warnings.warn(message, ShallowRulesNote, stacklevel=2)
    text = plain_text(file, encoding, os.path.join(scratch, "text"))
    if kind == "json":
        return _with_formats(_with_dates(JsonSource(database, name, text, told, table), dates), reading)
    delimiter = reading.delimiter
    told_by_file = told_delimiter(text)
    if told_by_file is not None:
        text = _without_first_line(text, told_by_file[1], scratch)
        delimiter = delimiter or told_by_file[0]
    known = possible_delimiters(name, text, told.decimal) if delimiter is None else (delimiter,)
    found = trim(text, reading, known, scratch, 1 if told_by_file is None else 2)
    remarks += ((name, remark) for remark in found.remarks)
    delimiter = found.delimiter or delimiter or find_delimiter(name, found.text, told.decimal)
    text_of_rows = CsvText(found.text, delimiter, name, found.line)
    source = CsvSource(database, text_of_rows, told, table, scratch, reading)
    return _with_dates(source, dates)


def _refuse_options_of_rows(name: str, reading: Reading) -> None:
    """Raise OptionError for options about the rows of a file that has types, or keys, instead."""
    for option in ("thousands", "header", "skip", "comment", "footer"):
        if getattr(reading, option) is not None:
            raise OptionError(
                OptionName(option), f" is for CSV files and workbooks, and {name} is not one of these; omit it"
            )


def _told_dates(told: Sequence[str]) -> dict[str, str]:
    """Return the format of dates by column; OptionError for anything but COLUMN=FORMAT."""
    found = {}
    for each in told:
        name, _, form = each.rpartition("=")
        if form not in FORMATS:
            raise OptionError(
                OptionName("dates"),
                f" {each!r} is not a column and a format of dates, such as signup=%d/%m/%Y; the formats are "
                f"{', '.join(form for form in FORMATS if ':' not in form)}, also with a time after it: %H:%M, "
                "%H:%M:%S, %I:%M %p or %I:%M:%S %p",
            )
        found[name] = form
    return found


def _with_dates(source: DuckDBSource, dates: Mapping[str, str]) -> DuckDBSource:
    """Return a source with the given formats of dates; OptionError for a column that does not exist."""
    for name in dates:
        if name not in source.names:
            raise OptionError(
                OptionName("dates"), f": there is no column {name!r}; the columns are: {', '.join(source.names)}"
            )
    source.dates = dates
    return source


def _with_formats(source: DuckDBSource, reading: Reading) -> DuckDBSource:
    """Return a file with types, with the given formats of numbers in text."""
    source.formats = source.checked(formats_by_column(reading.format, PLAIN))
    return source


def _without_first_line(text: str, size: int, scratch: str) -> str:
    """Return the path of a copy of a text without its first line, which has this many bytes."""
    copy = os.path.join(scratch, "rows")
    with open_bytes(text) as stream, open(copy, "wb") as target:
        stream.read(size)
        shutil.copyfileobj(stream, target)
    return copy


def file_relation(path: str | Path, delimiter: str | None = None) -> str | None:
    """Return the DuckDB expression that selects from a CSV or Parquet file, as a user would write it; None for others.

    It states nothing that `read_table` finds out by itself, except a delimiter that `read_table` had to be given too.
    """
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        return None
    kind = kind_of(os.fspath(path), file)
    if kind == "csv" and (told_delimiter(file) is not None or not _is_plain(os.fspath(path), file, delimiter)):
        return None  # DuckDB would take another line for the header
    if kind == "csv":
        said = "" if delimiter is None else f", delim={quote_text(delimiter)}"
        return f"read_csv({file_literal(file)}, header=true, sample_size=-1{said})"
    return f"read_parquet({file_literal(file)})" if kind == "parquet" else None


def delimiter_of(path: str | Path, told: str | None = None) -> str | None:
    """Return the delimiter of a CSV file that every program reads unchanged; None for any other file.

    It is not compressed, and its first line has the names of the columns. `told` is the delimiter, if a person gave it.
    """
    file = os.path.abspath(path)
    if not os.path.isfile(file) or is_compressed(file) or kind_of(os.fspath(path), file) != "csv":
        return None
    if told_delimiter(file) is not None or not _is_plain(os.fspath(path), file, told):
        return None
    return told or find_delimiter(os.fspath(path), file, ".")


def _is_plain(name: str, file: str, delimiter: str | None) -> bool:
    """Return whether a CSV file is in UTF-8, begins with the header of its table and ends with its last row."""
    if found_encoding(file, "utf-8") != "utf-8":
        return False
    with scratch_folder() as scratch:
        text = plain_text(file, "utf-8", os.path.join(scratch, "text"))
        known = possible_delimiters(name, text, ".") if delimiter is None else (delimiter,)
        return trim(text, Reading(delimiter=delimiter), known, scratch).text == text

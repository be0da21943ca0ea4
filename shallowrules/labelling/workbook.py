"""Labelled rows as a sheet for Excel and LibreOffice: typed cells, a header that stays visible, and a filter."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallowrules.errors import DataError, MissingExtraError, counted
from shallowrules.sources.engine import batched, quote_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["MAX_COLUMNS", "MAX_ROWS", "write_sheet"]

MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767
"""The limits of a sheet: rows with the header, columns, characters of a cell."""

MAX_DIGITS = 15
"""Digits of a number that Excel keeps; in a whole number with more, it writes zeros for the last ones."""

FIRST_DAY = dt.date(1900, 3, 1)
"""Before this day, Excel counts a day that did not exist."""

SAMPLE_ROWS = 1_000
"""Rows that decide the widths of columns."""

MIN_WIDTH, MAX_WIDTH = 6, 60

BATCH_ROWS = 10_000

FORMATS: Mapping[str, str] = {
    "DATE": "yyyy-mm-dd",
    "TIMESTAMP": "yyyy-mm-dd hh:mm:ss",
    "INTERVAL": "[h]:mm:ss",
}
"""The format of cells of a type, by DuckDB's name for the type."""

ALL_DIGITS = "0"
"""The format of whole numbers; without one, those of twelve digits and more are shown as 1.2E+11."""

WHOLE = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
)


def write_sheet(database: DuckDBPyConnection, query: str, target: Path) -> None:
    """Write the rows of a query to a workbook with one sheet.

    Parameters
    ----------
    database : DuckDBPyConnection
    query : str
    target : Path
        A file that exists, and is replaced.

    Raises
    ------
    DataError
        If a sheet cannot hold the rows as they are; nothing is written then.
    MissingExtraError
        If XlsxWriter is not installed.
    """
    try:
        import xlsxwriter
    except ModuleNotFoundError:
        raise MissingExtraError("writing a workbook", "XlsxWriter", "xlsx") from None
    types = {name: kind for name, kind, *_ in database.execute(f"DESCRIBE {query}").fetchall()}
    _check(database, query, types)
    rows = database.execute(f"SELECT {', '.join(_selected(*column) for column in types.items())} FROM ({query})")
    settings = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(str(target), settings) as book:
        sheet = book.add_worksheet("Labelled rows")
        bold = book.add_format({"bold": True, "bottom": 1})
        formats = [ALL_DIGITS if _is_whole(kind) else FORMATS.get(kind) for kind in types.values()]
        shown = [book.add_format({"num_format": form}) if form else None for form in formats]
        first = rows.fetchmany(SAMPLE_ROWS)
        for j, name in enumerate(types):
            widest = max((len(_shown(row[j])) for row in first), default=0)
            sheet.set_column(j, j, min(MAX_WIDTH, max(MIN_WIDTH, len(name) + 3, widest + 1)))
        sheet.freeze_panes(1, 0)
        for j, name in enumerate(types):
            sheet.write_string(0, j, name, bold)
        place, batch = 1, first
        while batch:
            for row in batch:
                for j, value in enumerate(row):
                    if value is not None:
                        _write(sheet, place, j, value, shown[j])
                place += 1
            batch = rows.fetchmany(BATCH_ROWS)
        sheet.autofilter(0, 0, place - 1, len(types) - 1)


def _is_whole(kind: str) -> bool:
    """Return whether a type is one of whole numbers."""
    return kind in WHOLE or (kind.startswith("DECIMAL") and kind.endswith(",0)"))


def _selected(name: str, kind: str) -> str:
    """Return SQL for a column as cells hold it: numbers, truth values, dates, durations and text."""
    column = quote_name(name)
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"strftime({column} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%SZ')"
    if kind in (*WHOLE, "BOOLEAN", "DOUBLE", *FORMATS):
        return column
    return f"CAST({column} AS {'DOUBLE' if kind == 'FLOAT' or kind.startswith('DECIMAL') else 'VARCHAR'})"


def _check(database: DuckDBPyConnection, query: str, types: Mapping[str, str]) -> None:
    """Raise DataError for values that a sheet cannot hold."""
    instead = "write .csv or .parquet instead"
    [(n_rows,)] = database.execute(f"SELECT count(*) FROM ({query})").fetchall()
    if n_rows + 1 > MAX_ROWS:
        raise DataError(f"there are {n_rows:,} rows, and a sheet holds {MAX_ROWS - 1:,} below its header; {instead}")
    if len(types) > MAX_COLUMNS:
        raise DataError(f"there are {len(types):,} columns, and a sheet holds {MAX_COLUMNS:,}; {instead}")
    for names in batched(list(types)):
        counts = database.execute(f"SELECT {', '.join(_odd(name, types[name]) for name in names)} FROM ({query})")
        for name, count in zip(names, counts.fetchall()[0], strict=True):
            if count:
                raise DataError(f"column {name!r} has {_what(types[name], count)}; {instead}")


def _odd(name: str, kind: str) -> str:
    """Return SQL for how many values of a column a cell cannot hold."""
    column = quote_name(name)
    if _is_whole(kind):
        odd = f"abs(CAST({column} AS HUGEINT)) >= {10**MAX_DIGITS}"
    elif kind in ("DOUBLE", "FLOAT"):
        odd = f"NOT isfinite({column})"
    elif kind in ("DATE", "TIMESTAMP"):
        odd = f"{column} < DATE '{FIRST_DAY}' OR NOT isfinite({column})"
    elif kind == "INTERVAL":
        odd = f"{column} < INTERVAL 0 DAY"
    else:
        odd = f"length(CAST({column} AS VARCHAR)) > {MAX_TEXT}"
    return f"count(*) FILTER ({odd})"


def _what(kind: str, count: int) -> str:
    if _is_whole(kind):
        return f"{counted(count, 'whole number')} of more than {MAX_DIGITS} digits, and a cell keeps {MAX_DIGITS}"
    if kind in ("DOUBLE", "FLOAT"):
        return f"{counted(count, 'value')} that are infinite or NaN, which a cell cannot hold"
    if kind in ("DATE", "TIMESTAMP"):
        return f"{counted(count, 'date')} before {FIRST_DAY}, which Excel counts wrongly"
    if kind == "INTERVAL":
        return f"{counted(count, 'duration')} below 0, which a cell cannot show"
    return f"{counted(count, 'text')} of more than {MAX_TEXT:,} characters, and a cell holds {MAX_TEXT:,}"


def _write(sheet: Any, place: int, j: int, value: Any, shown: Any) -> None:
    """Write a cell of the value's own type: text that begins with = stays text."""
    if isinstance(value, bool):
        sheet.write_boolean(place, j, value)
    elif isinstance(value, int | float):
        sheet.write_number(place, j, value, shown)
    elif isinstance(value, dt.date | dt.timedelta):
        sheet.write_datetime(place, j, value, shown)
    else:
        sheet.write_string(place, j, value)


def _shown(value: Any) -> str:
    return "" if value is None else str(value).partition("\n")[0]

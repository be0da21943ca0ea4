"""The structure of a CSV file: its one delimiter, its header, and rows with as many fields."""

from __future__ import annotations

import csv
import itertools
import warnings
from collections.abc import Sequence
from typing import NoReturn, TextIO

from shallowrules.errors import DataError, Finding, OptionError, OptionName, ShallowRulesWarning, counted
from shallowrules.sources.base import refuse

__all__ = [
    "DELIMITERS",
    "check_delimiter",
    "check_rows",
    "check_single",
    "find_delimiter",
    "open_text",
    "possible_delimiters",
    "read_header",
    "unreadable",
]

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that are tried for a CSV file if none is given."""

SAMPLE_ROWS = 200
"""Rows that decide the delimiter."""


def check_delimiter(delimiter: str | None) -> None:
    """Refuse a delimiter that cannot separate the fields of a file."""
    if delimiter is None:
        return
    if len(delimiter) != 1 or delimiter in '"\r\n' or delimiter.isalnum():
        raise OptionError(f"the delimiter must be one character and no quote, letter or digit, not {delimiter!r}")


def possible_delimiters(name: str, text: str, decimal: str) -> tuple[str, ...]:
    """Return the delimiters to try for a file of that name by default.

    The decimal separator counts as the delimiter only if no other one fits and fields have it within quotes.
    """
    if name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return ("\t",)
    if decimal in DELIMITERS and not _fits(text, decimal) and _has_quoted(text, decimal):
        return (decimal,)
    return tuple(delimiter for delimiter in DELIMITERS if delimiter != decimal)


def find_delimiter(name: str, text: str, decimal: str) -> str:
    """Return the one delimiter by which the header and the rows have the same number of fields."""
    possible = possible_delimiters(name, text, decimal)
    fits = _fits(text, decimal) if len(possible) > 1 else {}
    if not fits:
        return possible[0]  # a single column
    perfect = [delimiter for delimiter, (share, _) in fits.items() if share == 1]
    if len(perfect) > 1:
        what = f"the delimiter may be {' or '.join(map(repr, perfect))}: with each, rows have equal numbers of fields"
        _refuse_delimiter(what, perfect)
    return max(fits, key=lambda delimiter: fits[delimiter])


def _has_quoted(text: str, delimiter: str) -> bool:
    """Return whether a delimiter gives the header and all rows of a sample several fields, some of which hold it."""
    share, _ = _fits(text).get(delimiter, (0.0, 0))
    if share < 1:
        return False
    with open_text(text) as stream:
        rows = itertools.islice(csv.reader(stream, delimiter=delimiter), SAMPLE_ROWS)
        return any(delimiter in field for row in rows for field in row)


def _fits(text: str, decimal: str | None = None) -> dict[str, tuple[float, int]]:
    """Return the delimiters by which the header has several fields: the share of rows with as many, and how many."""
    fits: dict[str, tuple[float, int]] = {}
    for delimiter in DELIMITERS:
        if delimiter == decimal:
            continue
        widths: list[int] = []
        with open_text(text) as stream:
            try:
                for row in itertools.islice(csv.reader(stream, delimiter=delimiter, strict=True), SAMPLE_ROWS):
                    widths += [len(row)] * bool(row)
            except csv.Error as error:
                if not _is_too_long(error):
                    continue
                widths.append(0)  # no more rows can be read, whatever the delimiter
        if widths and widths[0] > 1:
            fits[delimiter] = (widths[1:].count(widths[0]) / max(1, len(widths) - 1), widths[0])
    return fits


def _is_too_long(error: csv.Error) -> bool:
    """Return whether the `csv` module stopped at a field longer than it reads, perhaps because a quote is left open."""
    return "field limit" in str(error)


def check_single(name: str, text: str, delimiter: str, decimal: str) -> None:
    """Refuse one column that another delimiter divides in every row.

    If that delimiter is the `decimal` separator, this is a warning only.
    """
    others = [other for other, (share, _) in _fits(text).items() if share == 1]
    if not others:
        return
    message = (
        f"with the delimiter {delimiter!r} there is one column only, {name!r}, and {others[0]!r} divides it in every "
        "row: the delimiter looks wrong"
    )
    if others != [decimal]:
        _refuse_delimiter(message, others, name)
    warnings.warn(message, ShallowRulesWarning, stacklevel=2)


def _refuse_delimiter(what: str, choices: Sequence[str], column: str | None = None) -> NoReturn:
    """Raise DataError with the possible delimiters, each as an option."""
    finding = Finding("delimiter", what, column, values=tuple(choices))
    options = [OptionName("delimiter", choice) for choice in choices]
    between = [part for option in options for part in (" or ", option)][1:]
    raise DataError(f"{what}; use ", *between, findings=[finding])


def open_text(text: str) -> TextIO:
    """Open a text file with its line ends as they are."""
    return open(text, encoding="utf-8", newline="")


def read_header(text: str, delimiter: str, header_line: int) -> list[str]:
    """Return the fields of the first line."""
    with open_text(text) as stream:
        try:
            names = next(csv.reader(stream, delimiter=delimiter, strict=True), [])
        except csv.Error:
            refuse([first_fault(text, delimiter, header_line)])
    if not names:
        raise DataError(f"line {header_line} is blank; it must name the columns")
    return names


def check_rows(text: str, delimiter: str, header_line: int) -> None:
    """Refuse a file unless all rows have as many fields as the header; every row is checked."""
    with open_text(text) as stream:
        try:
            lengths = set(map(len, csv.reader(stream, delimiter=delimiter, strict=True)))
        except csv.Error as error:
            fault = first_fault(text, delimiter, header_line)
            raise DataError(fault.message, findings=[fault]) from error
    if len(lengths - {0}) > 1:
        refuse([first_fault(text, delimiter, header_line)])


def first_fault(text: str, delimiter: str, header_line: int) -> Finding:
    """Return the fault of the first line that is not a row, and the line's position."""
    with open_text(text) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        width, line = 0, header_line
        try:
            for row in reader:
                width = width or len(row)
                if len(row) not in (0, width):
                    break
                line = header_line + reader.line_num
        except csv.Error as error:
            return unreadable(error, line)
    message = f"line {line} has {counted(len(row), 'field')}, the header has {width} (delimiter {delimiter!r})"
    return Finding("ragged", message, count=len(row), place=line)


def unreadable(error: csv.Error, line: int) -> Finding:
    """Return the fault of a line that the `csv` module cannot read."""
    message = f"line {line}: {error}"
    # A quote that is left open shows only at the end of the file, or at the limit of a field's length.
    if "unexpected end of data" in str(error) or _is_too_long(error):
        message = f"line {line}: a field is too long or its quote is never closed ({error})"
    return Finding("quotes", message, place=line)

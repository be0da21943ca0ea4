"""A text file without the lines above, between and below its table's rows, found from the ends of the file alone."""

from __future__ import annotations

import csv
import itertools
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from shallowrules.errors import DataError, OptionError, OptionName, ShallowRulesNote, ShallowRulesWarning, counted
from shallowrules.files import Reading
from shallowrules.sources.base import refuse
from shallowrules.sources.evidence import Record, is_blank, is_figure, width_of
from shallowrules.sources.extent import Extent, Remark, find_comment, find_extent, in_effect, is_comment
from shallowrules.sources.structure import unreadable

__all__ = ["FIRST_ROWS", "Trimmed", "check_reading", "say", "trim"]

FIRST_ROWS = 200
FIRST_FIELDS = 5_000
MIN_FIRST_ROWS = 8
LAST_BYTES = 1 << 14
BYTES_PER_FIELD = 128
"""The amount examined to find where a table begins and ends: rows (fewer with many columns), and bytes at the end
(more with many columns). For 10 columns this takes 0.02 s of CPU."""

MIN_LAST_SHARE = 0.5
"""Share of the last rows that must have as many fields as the first; otherwise they were cut within a quoted field."""

BLANKS = (re.compile(r"\s+"), re.compile(r"\s{2,}|\t+"))
"""Separators of aligned columns: blanks, or several if a field may contain one."""

CLOCK = re.compile(r"\d{1,2}:\d\d.*|\d{3}")
"""Text after a blank within a single column: a time of the day, grouped digits."""

ALIGNED_SHARE = 0.9
"""Share of lines with several blanks inside from which these separate columns, even if not all lines have as many."""


@dataclass(frozen=True)
class Trimmed:
    """A text whose first line is the header, and facts about it.

    `line` is where it begins in the file; `delimiter` is None where it is not known yet.
    """

    text: str
    line: int = 1
    delimiter: str | None = None
    remarks: tuple[Remark, ...] = ()


def check_reading(reading: Reading) -> None:
    """Raise OptionError for options about a table's extent that are not allowed."""
    if reading.header not in (None, "first", "none"):
        raise OptionError(OptionName("header"), f" must be first or none, not {reading.header!r}")
    for name, number in (("skip", reading.skip), ("footer", reading.footer)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            raise OptionError(OptionName(name), f" must be a whole number, 0 or more, not {number!r}")
    if reading.comment is not None and (not reading.comment.strip() or set(reading.comment) & set('\r\n"')):
        raise OptionError(OptionName("comment"), f" must be what lines begin with, not {reading.comment!r}")


def say(remarks: Sequence[tuple[str, Remark]]) -> None:
    """Warn of findings in files, each once."""
    by_remark: dict[Remark, list[str]] = {}
    for file, remark in remarks:
        by_remark.setdefault(remark, []).append(file)
    several = len({file for file, _ in remarks}) > 1
    for remark, files in by_remark.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        place = (f"{files[0]}{more}: ",) if several else ()
        category = ShallowRulesWarning if remark.is_warning else ShallowRulesNote
        warnings.warn(category(*place, remark.fact, remedy=remark.remedy), stacklevel=2)


def trim(text: str, reading: Reading, delimiters: Sequence[str], scratch: str, line: int = 1) -> Trimmed:
    """Return a text file as one that begins with the header of its table and ends with its last row.

    If the file is one already, it is read as it is.

    Parameters
    ----------
    text : str
        UTF-8.
    reading : Reading
    delimiters : sequence of str
        Those that the fields may have between them.
    scratch : str
        Folder for a copy.
    line : int
        Where the text begins in the file.

    Raises
    ------
    DataError
        If it is unclear whether something is a row.
    """
    n_lines = line + os.path.getsize(text)  # at most
    skipped = max(line, min(reading.skip or 0, n_lines) + 1)  # the first line that is examined
    parsed = [(_first_records(text, delimiter, line, skipped), delimiter) for delimiter in delimiters]
    if sum(1 for (records, _), _ in parsed if _share(records) == (True, 1.0)) > 1:
        return Trimmed(text, line)  # the delimiter has to be found first
    (first, whole), delimiter = max(parsed, key=lambda each: _share(each[0][0]))  # of equals, the first
    width = width_of(first)
    if (width < 2 and reading.delimiter is None) or (reading.delimiter == " " and _share(first)[1] < 1):
        aligned = _aligned(text, os.path.join(scratch, "aligned"), line, skipped)
        if aligned is not None:
            found = trim(aligned, replace(reading, delimiter=","), ",", scratch, line)
            remark = Remark("columns are separated by blanks", in_effect("delimiter", " "))
            return replace(found, delimiter=",", remarks=(remark, *found.remarks))
    comment = reading.comment or find_comment(first)

    def is_dropped(fields: Sequence[str]) -> bool:
        """Return whether a row is a comment; one whose prefix was not given lacks the fields of a row."""
        if comment is None or not is_comment(fields, comment):
            return False
        return reading.comment is not None or width == 1 or len(fields) != width

    first = [record for record in first if not is_dropped(record.fields)]
    last = first if whole else _last_records(text, delimiter, width)
    last = [record for record in last if not is_dropped(record.fields)]
    extent = find_extent(first, last, reading, whole=whole)
    if extent is None:
        return Trimmed(text, line)
    is_plain = extent.header == line and not extent.left_out and extent.end is None
    if is_plain and comment is None:
        return Trimmed(text, line, remarks=extent.remarks)
    end = None if extent.end is None else last[extent.end].place
    dropped = _dropped_lines(text, delimiter, line, is_dropped) if comment is not None else set()
    begin = extent.first if extent.header is None else extent.header
    below = min((record.place for record in first if record.place > begin), default=extent.first)
    dropped |= set(range(below, extent.first))
    copy = os.path.join(scratch, "trimmed")
    _write(text, copy, extent, delimiter, (line, begin, end if whole else None), dropped)
    if end is not None and not whole:
        os.truncate(copy, os.path.getsize(copy) - (os.path.getsize(text) - end))
    remarks = extent.remarks
    if dropped and comment is not None and reading.comment is None:
        remarks = (Remark("skipped comment lines", in_effect("comment", comment)), *remarks)
    return Trimmed(copy, begin - (extent.header is None), delimiter, remarks)


def _share(records: Sequence[Record]) -> tuple[bool, float]:
    """Return how well a delimiter fits: whether there are columns, and the share of rows that have as many."""
    rows = [record for record in records if not is_blank(record.fields)]
    width = width_of(rows)
    return width > 1, sum(1 for record in rows if len(record.fields) == width) / max(1, len(rows))


def _parsed(lines: Iterable[str], delimiter: str, line: int) -> Iterator[Record]:
    """Yield the rows of lines, each with its first line; `csv.Error` where they are not CSV."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    place = line
    for fields in reader:
        yield Record(place, fields)
        place = line + reader.line_num


def _first_records(text: str, delimiter: str, line: int, skipped: int) -> tuple[list[Record], bool]:
    """Return the first rows from the line `skipped` on, and whether these are all."""
    records: list[Record] = []
    with _open(text) as stream:
        n_lines = sum(1 for _ in itertools.islice(stream, skipped - line))
        n_fields = 0
        try:
            for record in _parsed(stream, delimiter, skipped):
                records.append(record)
                n_fields += len(record.fields)
                if len(records) >= FIRST_ROWS or (n_fields >= FIRST_FIELDS and len(records) >= MIN_FIRST_ROWS):
                    break
        except csv.Error:  # the reader of all rows reports the line
            return [], True
        if skipped > line and not records:
            raise DataError(f"the file has {counted(n_lines, 'line')}, and ", OptionName("skip"), " skips all of them")
        return records, not stream.readline()


def _last_records(text: str, delimiter: str, width: int) -> list[Record]:
    """Return the last rows, whose place is the byte where they begin; none if these may be parts of rows."""
    with open(text, "rb") as stream:
        start = max(0, os.path.getsize(text) - max(LAST_BYTES, BYTES_PER_FIELD * width))
        stream.seek(start)
        cut_off, *lines = stream.read().splitlines(keepends=True)
    bytes_before = list(itertools.accumulate(map(len, lines), initial=start + len(cut_off)))
    texts = (each.decode("utf-8", "replace") for each in lines)
    try:
        records = [Record(bytes_before[place], fields) for place, fields in _parsed(texts, delimiter, 0)]
    except csv.Error:  # these begin within a quoted field
        return []
    n_rows = sum(1 for record in records if len(record.fields) == width)
    return records if n_rows >= MIN_LAST_SHARE * len(records) else []


def _dropped_lines(text: str, delimiter: str, line: int, is_dropped: Callable[[Sequence[str]], bool]) -> set[int]:
    """Return the lines that are comments, none of them within a quoted field; DataError for one that is not CSV."""
    dropped, place = set(), line
    with _open(text) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                if is_dropped(fields):
                    dropped.add(place)
                place = line + reader.line_num
        except csv.Error as error:
            refuse([unreadable(error, place)])
    return dropped


def _write(
    text: str, copy: str, extent: Extent, delimiter: str, places: tuple[int, int, int | None], dropped: set[int]
) -> None:
    """Write lines from a place to another, blank ones for those that are dropped, so that lines keep their numbers.

    `places` are the first line of the text, the first to write and the one to end before.
    """
    line, begin, end = places
    with _open(text) as stream, open(copy, "w", encoding="utf-8", newline="") as target:
        number = line
        while (raw := stream.readline()) and number != end:
            if number == begin and extent.header is None:
                names = csv.writer(target, delimiter=delimiter, lineterminator=_line_end(raw) or "\n")
                names.writerow(extent.names)
            if number >= begin:
                target.write(_line_end(raw) if number in dropped else raw)
            number += 1
            if end is None and number > max(dropped, default=begin):
                break
        else:
            return
        shutil.copyfileobj(stream, target)


def _line_end(raw: str) -> str:
    return raw[len(raw.rstrip("\r\n")) :]


def _aligned(text: str, copy: str, line: int, skipped: int) -> str | None:
    """Return a copy of a text with commas in place of the blanks between its columns; None if it has no such columns.

    Raises
    ------
    DataError
        If there seem to be aligned columns that blanks do not tell apart.
    """
    with _open(text) as stream:
        raws = list(itertools.islice(stream, skipped - line, skipped - line + FIRST_ROWS))
    lines = [raw.strip() for raw in raws if raw.strip() and not raw.lstrip().startswith("#")]
    if len(lines) < 2:
        return None
    for blanks in BLANKS:
        fields = [blanks.split(each) for each in lines]
        widths = {len(row) for row in fields}
        if len(widths) == 1 and _are_columns(lines, fields):
            with _open(text) as stream, open(copy, "w", encoding="utf-8", newline="") as target:
                writer = csv.writer(target, lineterminator="\n")
                for raw in stream:
                    writer.writerow(blanks.split(raw.strip()) if raw.strip() else [])
            return copy
    several = sum(1 for each in lines if BLANKS[1].search(each))
    if several >= ALIGNED_SHARE * len(lines) and any(any(map(is_figure, each.split())) for each in lines[1:]):
        counts = [len(BLANKS[0].split(each)) for each in lines]
        other = next(i for i, n_fields in enumerate(counts) if n_fields != counts[0])
        raise DataError(
            "columns seem to be aligned by blanks, but a field is empty or has blanks within: "
            f"{lines[0][:40]!r} has {counts[0]} words, and {lines[other][:40]!r} has {counts[other]}; save the table "
            "with commas between its columns"
        )
    return None


def _are_columns(lines: Sequence[str], fields: Sequence[Sequence[str]]) -> bool:
    """Return whether equally many words in all lines are columns, not values with blanks in a single column."""
    figures = [all(is_figure(row[j]) for row in fields[1:]) for j in range(len(fields[0]))]
    if len(figures) < 2 or not any(figures):
        return False
    if len(figures) > 2 or sum(1 for each in lines if BLANKS[1].search(each)) >= ALIGNED_SHARE * len(lines):
        return True
    return all(figures) and not all(CLOCK.fullmatch(row[1]) for row in fields[1:])


def _open(text: str) -> TextIO:
    """Open a text file with its line ends as they are."""
    return open(text, encoding="utf-8", newline="")

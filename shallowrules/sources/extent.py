"""Where a table begins and ends among rows of fields: titles, header, units, notes and totals.

Text files and spreadsheets give their first and last rows as texts; the decisions made here are the same for both.
Lines that certainly do not belong are skipped with a note. Doubtful ones are refused with the options that decide it,
so that no row of data is silently lost, and no total silently kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, NoReturn

from shallowrules.errors import DataError, Finding, OptionName, counted
from shallowrules.files import Reading
from shallowrules.sources.evidence import (
    TIME,
    Body,
    Record,
    are_sums,
    is_blank,
    is_figure,
    is_missing,
    is_sparse,
    is_unit,
    width_of,
)

__all__ = ["Extent", "Remark", "find_comment", "find_extent", "in_effect", "is_comment"]

COMMENT = "#"
"""Prefix of comments that is recognized by default."""

MAX_SHOWN = 40
"""Number of characters of a line that a note shows."""

YEARS = range(1500, 2201)
"""Numbers that name columns in open data."""

MIN_POSITIONS = 3
"""Number of columns from which 0, 1, 2 … count as names, as pandas and NumPy name columns."""

MIN_NOTE_WORDS = 3
"""A line below a table is a note if it has at least this many words."""

MIN_ADDENDS = 10
"""Number of rows that have to be summed in a table of figures alone, where no empty field of words marks the total."""

SUM_WORDS = r"total|totals|totale|totaal|sum|summe|gesamt|gesamtsumme|insgesamt|somme|suma"
STATISTICS = r"average|avg|mean|median|durchschnitt|mittelwert|moyenne|minimum|maximum|min|max|std|std\.? ?dev\.?"
TOTAL = re.compile(rf"(?:(?:grand|sub|over ?all)[ -]?)?(?P<word>{SUM_WORDS}|{STATISTICS})\b(?P<rest>.*)", re.IGNORECASE)
SUM = re.compile(rf"(?:(?:grand|sub|over ?all)[ -]?)?(?:{SUM_WORDS})\s*:?", re.IGNORECASE)

NOTE = re.compile(
    r"(source|sources|quelle|quellen|note|notes|anmerkung|anmerkungen|hinweis|footnote|legend|copyright|generated|"
    r"created|exported|stand|data|last updated?|\(c\)|©|\*|¹|²|†|\d\)|\[\d+\])(\b|\W|$)",
    re.IGNORECASE,
)
"""The beginnings of lines below a table."""


class Remark(NamedTuple):
    """A note or a warning on a file: the fact, and the option that decides it."""

    fact: str
    remedy: tuple[str | OptionName, ...] = ()
    is_warning: bool = False


@dataclass(frozen=True)
class Extent:
    """Where a table begins and ends.

    Parameters
    ----------
    width : int
        Its number of columns.
    header : int or None
        The place of the row that names them; None where nothing does.
    first : int
        The place from which rows of the table are.
    left_out : tuple of int
        The places of lines between the header and the rows that are neither.
    end : int or None
        How many of the last records belong to the table or are above it; None for all.
    remarks : tuple of Remark
    """

    width: int
    header: int | None
    first: int
    left_out: tuple[int, ...] = ()
    end: int | None = None
    remarks: tuple[Remark, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names for the columns of a table that has no header."""
        return [f"column{j}" for j in range(1, self.width + 1)]


def is_comment(fields: Sequence[str], mark: str) -> bool:
    """Return whether a row begins as comments do."""
    return bool(fields) and fields[0].lstrip().startswith(mark)


def find_comment(records: Sequence[Record]) -> str | None:
    """Return the prefix of comments among rows; None where there are none."""
    width = width_of(records)
    marked = [record for record in records if is_comment(record.fields, COMMENT)]
    others = [record for record in records if record not in marked and not is_blank(record.fields)]
    if width == 1:  # the names of the columns may begin like this
        return COMMENT if marked and others and not is_figure(others[0].fields[0]) else None
    return COMMENT if any(len(record.fields) != width for record in marked) else None


def find_extent(
    first: Sequence[Record], last: Sequence[Record], reading: Reading, *, unit: str = "line", whole: bool
) -> Extent | None:
    """Return where the table is; None where its rows cannot be told from others, so that a reader reports the reason.

    Parameters
    ----------
    first : sequence of Record
        The first records, without comments and skipped lines.
    last : sequence of Record
        The last records; the same as `first` where these are all.
    reading : Reading
        The user's options for it.
    unit : {"line", "row"}
        The unit of positions in messages.
    whole : bool
        Whether `first` has all records.

    Raises
    ------
    DataError
        If the rows are ambiguous; the message names the options that decide.
    """
    width = width_of(first)
    rows = [record for record in first if not is_blank(record.fields)]
    if not rows:
        return None
    body = Body.of(rows, width)
    top = _find_top(rows, body, reading, unit)
    if top is None:
        return None
    if top.header is not None and not top.left_out:  # the first row may have no values
        below = (record.place for record in first if record.place > top.header and record.fields)
        top = replace(top, first=next(below, top.first))
    above = sum(1 for record in last if record.place < top.first) if whole else 0
    inside = last[above:]
    end, remarks = _find_end(inside, body if whole else Body.of(inside, width), reading, whole=whole)
    within = [record for record in first if record.place >= top.first]
    within = within[:end] if whole else [*within, *inside[:end]]
    if reading.footer is None:
        remarks += _totals_within(within)
    return Extent(
        width,
        top.header,
        top.first,
        top.left_out,
        None if end is None else end + above,
        (*top.remarks, *remarks),
    )


def _find_top(rows: Sequence[Record], body: Body, reading: Reading, unit: str) -> Extent | None:
    """Return where the table begins; None where a reader should report the fault."""
    start = 0
    if reading.skip is None:
        found = _first_row(rows, body, reading, unit)
        if found is None:
            return None
        start = found
    row = rows[start]
    if len(row.fields) != body.width:
        return None
    remarks = _titles(rows[:start], row.place, reading, unit)
    if reading.header == "none":
        return Extent(body.width, None, row.place, remarks=remarks)
    if reading.header is None:
        nature = _nature(row.fields, body)
        below = rows[start + 1] if start + 1 < len(rows) else None
        if nature != "names" and below is not None and _more_names(below, body, 1) and not _is_units(below, body):
            _refuse_two_headers(row, below, unit)
        if nature == "doubtful":
            shown = _shown(row.fields)
            _refuse(
                f"{unit} {row.place}, {shown}, may name the columns or be a row: use ",
                OptionName("header", "first"),
                " if it names them, or ",
                OptionName("header", "none"),
                " if it is a row",
            )
        if nature == "values":
            remark = Remark(
                f"{unit} {row.place}, {_shown(row.fields)}, looks like the rows below it, so there is no header; "
                f"columns are named column1 to column{body.width}",
                in_effect("header", "none"),
            )
            return Extent(body.width, None, row.place, remarks=(*remarks, remark))
    left_out, more = _below_header(rows, start, body, reading, unit)
    first = rows[start + 1 + len(left_out)].place if start + 1 + len(left_out) < len(rows) else row.place + 1
    return Extent(body.width, row.place, first, left_out, remarks=(*remarks, *more))


def _first_row(rows: Sequence[Record], body: Body, reading: Reading, unit: str) -> int | None:
    """Return which row is the header, or the first row of a table without one; None where that cannot be told."""
    full = [i for i, record in enumerate(rows) if len(record.fields) == body.width]
    filled = [i for i in full if not is_sparse(rows[i].fields, body.width)]
    if not filled:
        return full[0] if full else None
    start = filled[0]
    nature = _nature(rows[start].fields, body)
    if start > full[0] and (nature in ("values", "doubtful") or (body.width == 2 and not body.figures)):
        if reading.header is None:
            _refuse_sparse(rows[full[0]], rows[start], unit)
        start = full[0] if reading.header == "first" else start
    titles = rows[:start]
    if sum(1 for record in titles if all(map(is_figure, filter(str.strip, record.fields)))) > 1:
        return None  # rows of another width
    adjacent = titles and titles[-1].place + 1 == rows[start].place
    if adjacent and nature != "names" and len(titles[-1].fields) > 1:
        return None  # a header with one name too few, or too many
    return start


def _refuse_sparse(sparse: Record, below: Record, unit: str) -> NoReturn:
    _refuse(
        f"{unit} {sparse.place}, {_shown(sparse.fields)}, may name the columns or be a title: use ",
        OptionName("header", "first"),
        " if it names them, or ",
        OptionName("skip", below.place - 1),
        " if it is a title",
    )


def _titles(titles: Sequence[Record], place: int, reading: Reading, unit: str) -> tuple[Remark, ...]:
    if not titles or reading.skip is not None:
        return ()
    what = counted(len(titles), f"title {unit}")
    shown = _shown(titles[0].fields)
    return (Remark(f"skipped {what} above the header, {shown}", in_effect("skip", place - 1)),)


def _nature(fields: Sequence[str], body: Body) -> str:
    """Return whether the first row has "names" or "values", is "doubtful" or "unknown".

    "figures" are names that are figures, such as years; if "unknown", nothing rules out names.
    """
    names = [j for j in body.figures if not is_figure(fields[j]) and not is_missing(fields[j])]
    figures = [j for j in body.figures if is_figure(fields[j])]
    names += [j for j in figures if TIME.match(fields[j].strip()) and j not in body.times]
    named = _named_by_figures(fields, body, [j for j in figures if j not in names])
    values = [j for j in figures if j not in names and j not in named]
    texts = [j for j in range(body.width) if j not in body.figures and fields[j].strip()]
    recurring = [j for j in texts if body.recurs(fields, j)]
    if names:
        return "doubtful" if values else "names"
    if values:
        return "values"
    if named:  # 0, 1, 2 or years alone
        return "doubtful" if recurring or not _sure_names(fields, texts, named) else "figures"
    if not any(body.values.values()) or not recurring:
        alone = not any(body.values.values()) and all(map(is_figure, fields))
        return "values" if alone else "unknown"
    return "values" if len(recurring) == len(texts) else "doubtful"


def _named_by_figures(fields: Sequence[str], body: Body, figures: Sequence[int]) -> list[int]:
    """Return columns whose names may be numbers: years, or positions that rise by one."""
    if not figures or not all(fields[j].strip().isdecimal() for j in figures):
        return []
    numbers = [int(fields[j]) for j in figures]
    steps = {after - before for before, after in pairwise(numbers)}
    rising = len(steps) == 1 and min(steps) > 0
    if all(number in YEARS for number in numbers):
        years = all(
            text.isdecimal() and int(text) in YEARS for j in figures for text in body.values[j] if is_figure(text)
        )
        ordered = numbers == sorted(set(numbers)) or numbers == sorted(set(numbers), reverse=True)
        return list(figures) if not years and ordered else []
    return list(figures) if rising and steps == {1} and numbers[0] in (0, 1) else []


def _sure_names(fields: Sequence[str], texts: Sequence[int], named: Sequence[int]) -> bool:
    """Return whether numbers certainly name columns: beside other names, or as 0, 1, 2 … over all columns."""
    numbers = [int(fields[j]) for j in named]
    if numbers[0] in YEARS:
        return bool(texts) or len(named) > 1
    return (numbers[0] == 0 or not fields[0].strip()) and len(named) >= MIN_POSITIONS


def _more_names(record: Record, body: Body, at_least: int) -> bool:
    """Return whether all columns of figures have words in a row, which do not recur below it."""
    words = body.words(record.fields)
    if len(record.fields) != body.width or len(words) != len(body.figures) or len(words) < at_least:
        return False
    return not any(body.recurs(record.fields, j) and body.values[j][record.fields[j].strip()] > 1 for j in body.figures)


def _is_units(record: Record, body: Body) -> bool:
    """Return whether a row has nothing but units of the columns."""
    if len(record.fields) != body.width:
        return False
    words = body.words(record.fields)
    texts = [record.fields[j] for j in range(body.width) if j not in body.figures]
    if not words or body.has_figures(record.fields) or not all(map(is_unit, words)):
        return False
    named = [text for text in texts if not is_missing(text) and not is_unit(text)]
    return not named or len(words) == len(body.figures)


def _below_header(
    rows: Sequence[Record], start: int, body: Body, reading: Reading, unit: str
) -> tuple[tuple[int, ...], tuple[Remark, ...]]:
    """Return the places of lines of units and the like below the header, and the message on them."""
    left_out: list[int] = []
    remarks: list[Remark] = []
    for above, record in pairwise(rows[start:-1]):
        if _is_units(record, body):
            what = "which has the units of the columns"
        elif _more_names(record, body, 2 if record.place == above.place + 1 else 1):
            if reading.header is None and not left_out:
                _refuse_two_headers(rows[start], record, unit)
            what = "which stands between the header and the rows"
        else:
            break
        left_out.append(record.place)
        remarks.append(Remark(f"skipped {unit} {record.place}, {_shown(record.fields)}, {what}"))
    return tuple(left_out), tuple(remarks)


def _refuse_two_headers(upper: Record, lower: Record, unit: str) -> NoReturn:
    _refuse(
        f"{unit} {upper.place}, {_shown(upper.fields)}, or {unit} {lower.place}, {_shown(lower.fields)}, may name the "
        "columns: use ",
        OptionName("header", "first"),
        f" if {unit} {upper.place} does, or ",
        OptionName("skip", lower.place - 1),
        f" if {unit} {lower.place} does",
    )


def _find_end(rows: Sequence[Record], body: Body, reading: Reading, *, whole: bool) -> tuple[int | None, list[Remark]]:
    """Return how many of the last rows belong to the table, None for all, and the message on the others."""
    n_empty = 0
    left: list[Record] = []
    kept = len(rows)
    while kept:
        record = rows[kept - 1]
        if not record.fields or (body.width > 1 and is_blank(record.fields)):
            n_empty += bool(record.fields) and not left
        elif len(left) == reading.footer:
            break
        elif reading.footer is not None or _is_footer(rows[:kept], body, whole=whole):
            left.append(record)
        else:
            break
        kept -= 1
    remarks = []
    if n_empty:
        remarks.append(Remark(f"skipped {counted(n_empty, 'empty row')} at the end"))
    if reading.footer is None:
        _check_totals(rows[:kept], left)
        if left:
            remarks.append(_left_footer(left[::-1]))
    return kept if n_empty or left else None, remarks


def _is_footer(rows: Sequence[Record], body: Body, *, whole: bool) -> bool:
    """Return whether the last of the rows is a note or a total, not a row of the table."""
    record = rows[-1]
    fields = [field.strip() for field in record.fields if field.strip()]
    if not fields:  # a missing value of the only column
        return False
    label, is_full = fields[0], len(record.fields) == body.width
    if NOTE.match(label) and ":" in label and not (is_full and body.recurs(record.fields, 0)):
        return True
    total = TOTAL.fullmatch(label)
    if total is not None and len(fields) > 1 and len(record.fields) <= body.width:
        return not any(map(str.isalpha, total["rest"])) or (whole and is_full and are_sums(rows, body))
    if is_full and body.has_figures(record.fields):
        unlabelled = all(not record.fields[j].strip() for j in range(body.width) if j not in body.figures)
        enough = len(body.figures) < body.width or len(rows) > MIN_ADDENDS
        return whole and unlabelled and enough and are_sums(rows, body)
    if is_figure(label):
        return False
    wordy = _is_wordy(fields, body) and not (is_full and len(fields) > 1)
    marked = NOTE.match(label) is not None or label.endswith(":") or wordy
    marked = marked or (len(rows) > 1 and is_blank(rows[-2].fields))
    if not is_full:
        return marked or (0 in body.figures and any(map(str.isalpha, label)))
    # A single value in a row of the table; in a column of figures, words are not values.
    lonely = len(fields) == 1 and body.width > 1 and (bool(body.figures) or NOTE.match(label) is not None)
    return marked and (lonely or bool(body.words(record.fields)))


def _is_wordy(fields: Sequence[str], body: Body) -> bool:
    """Return whether a line has more words than the values of the first column, and no separate figures."""
    n_words = len(" ".join(fields).split())
    longest = max((len(text.split()) for text in body.values.get(0, ())), default=0)
    return n_words >= max(MIN_NOTE_WORDS, longest + 1) and not any(map(is_figure, fields[1:]))


def _left_footer(left: Sequence[Record]) -> Remark:
    shown = ", ".join(_shown(record.fields, 1) for record in left[:3]) + (", …" if len(left) > 3 else "")
    what = "the last row" if len(left) == 1 else f"the last {len(left)} rows"
    return Remark(f"skipped {what}, {shown}", in_effect("footer", len(left)))


def _check_totals(rows: Sequence[Record], left: Sequence[Record]) -> None:
    """Refuse to skip a total whose label also occurs in rows above it."""
    for number, record in enumerate(left):
        j = next(j for j, field in enumerate(record.fields) if field.strip())
        label = record.fields[j].strip()
        same = sum(1 for row in rows if j < len(row.fields) and row.fields[j].strip() == label)
        if same and TOTAL.fullmatch(label):
            _refuse(
                f"the row {label!r} at the end may be a total, and {counted(same, 'row')} above it "
                f"{'has' if same == 1 else 'have'} that label too: use ",
                OptionName("footer", number + 1),
                " to skip it, or ",
                OptionName("footer", number),
                " if it is a row like others",
            )


def _totals_within(rows: Sequence[Record]) -> list[Remark]:
    """Return a warning of rows within the table that are called totals."""
    labels = (next((field.strip() for field in record.fields if field.strip()), "") for record in rows)
    found = [label for label in labels if SUM.fullmatch(label)]
    if not found:
        return []
    remedy = (
        ": use ",
        OptionName("comment", found[0]),
        " to skip lines with this prefix, or ",
        OptionName("footer", 0),
        " to skip nothing",
    )
    fact = f"{counted(len(found), 'row')} within the table {'is' if len(found) == 1 else 'are'} called {found[0]!r}"
    return [Remark(fact, remedy, is_warning=True)]


def in_effect(name: str, value: object) -> tuple[str | OptionName, ...]:
    """Return the option that a remark says is in effect, in brackets, to follow the fact."""
    return " (", OptionName(name, value), ")"


def _shown(fields: Sequence[str], most: int = 3) -> str:
    """Return the beginning of a row for a message, in quotes."""
    filled = [" ".join(field.split()) for field in fields if field.strip()]
    text = ", ".join(filled[:most])
    text = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
    return repr(text + (", …" if len(filled) > most > 1 else ""))


def _refuse(*parts: str | OptionName) -> NoReturn:
    message = "".join(map(str, parts))
    choices = tuple(str(part) for part in parts if isinstance(part, OptionName))
    raise DataError(*parts, findings=[Finding("extent", message, values=choices)])

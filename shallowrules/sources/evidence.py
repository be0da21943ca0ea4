"""Classifying fields and rows: figures, units, blanks; and the features shared by rows in the middle of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shallowrules.sources.text_findings import MISSING_SPELLINGS

__all__ = [
    "TIME",
    "Body",
    "Record",
    "are_sums",
    "is_blank",
    "is_figure",
    "is_missing",
    "is_sparse",
    "is_unit",
    "width_of",
]

FIGURE_SHARE = 0.8
"""Share of figures among the values of a column above which text in its first row is a name or a unit."""

LETTERS_OF_FIGURES = re.compile(
    r"(?<=\d)e[+-]?\d+|(?<=\d)t(?=\d)|(?<=\d)z$|(?<=\d)\s*[ap]\.?m\.?$|\b(eur|usd|chf|gbp)\b", re.IGNORECASE
)
"""The most letters that a number, an amount or a point in time has."""

PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")

TIME = re.compile(r"\d{1,4}[-/]\d{1,2}([-/]\d{1,4})?\b|\d{1,2}\.\d{1,2}\.\d{2,4}\b|\d{1,2}:\d\d")

FLAGS = ("(d)", "(s)", "(x)", "(z)", "(na)", "(n/a)", "..", "*", "k.a.", "k. a.", "n.a.")
"""Further ways to write "no value" in official statistics."""

UNITS = frozenset(
    re.findall(
        r"\S+",
        "kg g mg µg ug t lb oz m cm mm µm km mi ft in m2 m² m3 m³ km2 km² ha l ml s sec min h hr hrs ms d % ‰ € $ £ ¥ "
        "eur usd gbp chf °c °f degc degf deg pa hpa kpa mpa bar mbar psi v mv kv a ma w kw mw gw wh kwh mwh gwh j kj "
        "mj cal kcal n kn nm hz khz mhz ghz m/s km/h mph kmh rpm g/l mg/l mg/dl mmol/l µg/m3 µg/m³ ug/m3 mg/m3 mg/m³ "
        "w/m2 w/m² ppm ppb db lux lx mol years yrs days hours minutes seconds months persons units pcs",
    )
)
"""Units below the names of columns, in lower case."""

BRACKETED = re.compile(r"[(\[].{1,24}[)\]]")


class Record(NamedTuple):
    """A row of fields, including blank ones, and its first line in the file, or its row in the sheet."""

    place: int
    fields: Sequence[str]


def is_blank(fields: Iterable[str]) -> bool:
    """Return whether a row is empty."""
    return not any(field.strip() for field in fields)


def is_figure(text: str) -> bool:
    """Return whether a text is a number in any format, an amount, a date or a time: digits, and hardly any letters."""
    if PLAIN_NUMBER.fullmatch(text):
        return True
    if not any(map(str.isdecimal, text)) or text.lstrip().startswith("["):
        return False
    return not any(map(str.isalpha, LETTERS_OF_FIGURES.sub("", text.strip())))


def width_of(records: Sequence[Record]) -> int:
    """Return the likely number of columns of a table among records: most rows have it, and large ones are preferred."""
    widths = Counter(len(record.fields) for record in records if not is_blank(record.fields))
    return max(widths, key=lambda width: (widths[width] * width, widths[width]), default=0)


def is_missing(field: str) -> bool:
    """Return whether a field is empty, or one of the ways to write "no value"."""
    text = field.strip().lower()
    return text in MISSING_SPELLINGS or text in FLAGS or text in ("nan", "<na>")


def is_sparse(fields: Sequence[str], width: int) -> bool:
    """Return whether a row of many fields has hardly any: a title, or a heading over several columns."""
    n_filled = sum(1 for field in fields if field.strip())
    if width == 2:
        return n_filled == 1 and bool(fields[0].strip())
    return width > 2 and n_filled <= width // 2


def is_unit(field: str) -> bool:
    """Return whether a field is a unit, or something in brackets."""
    text = field.strip()
    return text.lower() in UNITS or BRACKETED.fullmatch(text) is not None


class Body(NamedTuple):
    """The contents of columns, judged by the rows in the middle of the table."""

    width: int
    figures: tuple[int, ...]
    times: frozenset[int]
    values: Mapping[int, Counter[str]]

    @classmethod
    def of(cls, rows: Sequence[Record], width: int) -> Body:
        """Return the fields of the rows with that many fields, the first row separate: it may name the columns."""
        fields = [
            record.fields
            for record in rows
            if len(record.fields) == width and not is_blank(record.fields) and not is_sparse(record.fields, width)
        ]
        names = fields[0] if fields else []
        inner = [row for row in fields[1:] if row != names] or fields[1:]
        with_figures = [i for i, row in enumerate(inner) if any(map(is_figure, row))]
        if len(with_figures) > len(inner) / 2:  # rows above are units or more names, rows below are notes
            inner = inner[with_figures[0] : with_figures[-1] + 1]
        values = {j: Counter(row[j].strip() for row in inner if not is_missing(row[j])) for j in range(width)}
        figures, times = [], []
        for j, found in values.items():
            n_figures = sum(n for text, n in found.items() if is_figure(text))
            if n_figures and n_figures >= FIGURE_SHARE * found.total():
                figures.append(j)
                if sum(n for text, n in found.items() if TIME.match(text)) > n_figures / 2:
                    times.append(j)
        return cls(width, tuple(figures), frozenset(times), values)

    def recurs(self, fields: Sequence[str], j: int) -> bool:
        """Return whether a field also occurs as a value of its column."""
        return fields[j].strip() in self.values[j]

    def has_figures(self, fields: Sequence[str]) -> bool:
        """Return whether there is a figure in any column of figures."""
        return any(is_figure(fields[j]) for j in self.figures if j < len(fields))

    def words(self, fields: Sequence[str]) -> list[str]:
        """Return the texts in columns of figures that are neither figures nor missing values."""
        found = (fields[j] for j in self.figures if j < len(fields))
        return [field for field in found if not is_figure(field) and not is_missing(field)]


def are_sums(rows: Sequence[Record], body: Body) -> bool:
    """Return whether the figures of the last row are the sums of those above it."""
    *others, last = (record.fields for record in rows if len(record.fields) == body.width)
    sums = 0
    for j in body.figures:
        if not last[j].strip():
            continue
        amounts = [_amount(fields[j]) for fields in others if is_figure(fields[j])]
        total = _amount(last[j])
        if total is None or None in amounts:
            return False
        expected = sum(amount for amount in amounts if amount is not None)
        if len(amounts) < 2 or not expected or abs(total - expected) > 1e-6 * max(1.0, abs(expected)):
            return False
        sums += sum(map(bool, amounts)) > 1  # the sum of a single amount is a value like any other
    return sums > 0


def _amount(text: str) -> float | None:
    """Return the approximate value of a figure in any format; None for a date."""
    if TIME.match(text.strip()):
        return None
    digits = re.sub(r"[^\d.,eE+-]", "", text.replace("\u2212", "-"))
    last = max(digits.rfind("."), digits.rfind(","))
    mark = digits[last] if last >= 0 and digits.count(digits[last]) == 1 else ""
    other = {".": ",", ",": "."}.get(mark, "")
    plain = digits.replace(other, "").replace(mark, ".") if mark else re.sub("[.,]", "", digits)
    try:
        return float(plain)
    except ValueError:
        return None

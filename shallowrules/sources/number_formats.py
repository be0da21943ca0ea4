"""Numbers as people write them: the format of a column of text, found from all its values, and its SQL.

A sample determines which formats to try; all values decide whether a column is written in one. Where a mark may
group digits or be the decimal separator, and the column does not tell, nothing is guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shallowrules.errors import Finding, OptionError, OptionName, counted
from shallowrules.sources.engine import DuckDBSource, Field, quote_text
from shallowrules.tables.conversion import GRAMMAR, Conversion
from shallowrules.tables.number_format import BELOW_ZERO, MARKS, NumberFormat, parts_of

__all__ = [
    "OTHER",
    "DetectedFormat",
    "Finder",
    "begins_with_currency",
    "count_points",
    "formats_by_column",
    "not_written",
    "numbers_in_text",
    "plain_number",
    "three_digits",
    "two_readings",
]

SAMPLE = 1000
"""Number of texts that determine which formats to try."""

MIN_SHARE = 0.8
"""Share of these texts that a format must fit to be tried on all."""

FORMAT = OptionName("format")

PERCENT = ("%", "\u2030")

MAX_LETTERS = 3
"""Letters next to the sign of a currency, as in US$."""

CODES = (
    *("AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP", "HKD"),
    *("HUF", "IDR", "ILS", "INR", "ISK", "JPY", "KRW", "MXN", "MYR", "NGN", "NOK", "NZD", "PEN", "PHP", "PKR", "PLN"),
    *("RON", "RSD", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "USD", "VND", "ZAR"),
)
OTHER = {".": ",", ",": "."}
"""The decimal separator where the other mark groups digits."""

NAMES = ("kr", "kr.", "K\u010d", "z\u0142", "Ft", "Fr.", "lei", "RM", "Rs", "Rs.", "\u0440\u0443\u0431.")
"""Currencies without a sign of their own."""

DIGIT_NEAR = re.compile("[^0-9]{1,6}[0-9]")
"""The beginning of a number after a currency."""

LETTERS = re.compile(r"[^\W\d_]")
"""Characters that make a text with digits more than a number: ``A1`` is a name, 7:30 or 12,34,567 may be a quantity."""

SCALES = ("k", "K", "M", "m", "B", "b", "G", "T", "bn", "mn", "Mio", "Mio.", "Mrd", "Mrd.", "million", "billion")
"""Letters after a number that multiply it."""


def formats_by_column(formats: Sequence[str], told: Conversion) -> dict[str, Conversion | None]:
    """Return the conversion of each column whose format is given as ``COLUMN=EXAMPLE``; None where none is wanted.

    Raises
    ------
    OptionError
        If one is something else.
    """
    found: dict[str, Conversion | None] = {}
    for each in formats:
        name, equals, example = each.rpartition("=")
        if not equals:
            raise OptionError(FORMAT, f" {each!r} is not a column and an example of a number: write revenue=$1,234.50")
        found[name] = Conversion.of(NumberFormat.of(example, told.decimal), told.nulls) if example else None
    return found


@dataclass(frozen=True)
class DetectedFormat:
    """The texts of a column, interpreted as numbers.

    Parameters
    ----------
    format : NumberFormat or None
        That of all values, or else of most; None where they are not numbers.
    numbers : int
        Values that are numbers by it.
    findings : tuple of Finding
        Why it is not taken: another reading that fits as well.
    notes : tuple of Finding
        That it was detected, or that the texts have units.
    """

    format: NumberFormat | None = None
    numbers: int = 0
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Finder:
    """Looks for the format of columns of one file.

    Parameters
    ----------
    source : DuckDBSource
    decimal, thousands : str or None
        As given for the whole file; None where it has to be found.
    """

    source: DuckDBSource
    decimal: str | None
    thousands: str | None

    def find(self, name: str, value: str, plain: str, numbers: int, given: int) -> DetectedFormat:
        """Return the format of a column of text.

        Parameters
        ----------
        name : str
        value, plain : str
            SQL for a text, and for the number that every reader takes it for; NULL where there is none.
        numbers, given : int
            Texts that are numbers in the format, and texts that are not NULL.
        """
        rows = self.source.database.execute(
            f"SELECT trim({value}) FROM {self.source.relation} WHERE {value} IS NOT NULL AND {plain} IS NULL "
            f"AND regexp_matches({value}, '[0-9]') LIMIT {SAMPLE}"
        ).fetchall()
        texts = [text for (text,) in rows]
        tried = self._candidates(texts)
        counts = self.source.row(*(f"count({plain_number(value, each)})" for each in tried)) if tried else ()
        full = [each for each, count in zip(tried, counts, strict=True) if count == given]
        if full:
            return self._decided(name, value, given, full)
        notes: tuple[Finding, ...] = ()
        if texts and 2 * numbers < given:
            notes = (() if numbers else _units(name, texts)) or _digits(name, texts)
        if notes and self._without_digits(value):  # a sample had digits in every text
            notes = ()
        fitting, nearly = max(zip(counts, tried, strict=True), key=lambda found: found[0], default=(0, None))
        return DetectedFormat(nearly, fitting, notes=notes)

    def _without_digits(self, value: str) -> int:
        """Return how many texts of a column have no digit."""
        return int(self.source.row(f"count(*) FILTER (NOT regexp_matches({value}, '[0-9]'))")[0])

    def _candidates(self, texts: Sequence[str]) -> list[NumberFormat]:
        """Return the formats that may be those of a column, by some of its texts that are not plain numbers."""
        parts = [found for found in map(parts_of, texts) if found is not None and set(found.marks) <= set(MARKS)]
        if not parts:
            return []
        [((before, behind), _)] = Counter((each.before, each.behind) for each in parts).most_common(1)
        if not all(not affix or is_currency(affix) or affix in PERCENT for affix in (before, behind)):
            return []
        signs = Counter(each.negative for each in parts if each.negative != "front")
        negative = signs.most_common(1)[0][0] if signs else "front"
        marks = [mark for mark in MARKS if any(mark in each.marks for each in parts)]
        decimals = [self.decimal] if self.decimal else [mark for mark in ".," if mark in marks] or ["."]
        possible = [
            NumberFormat(thousands, decimal, before, behind, negative)
            for thousands in ("", *marks)
            if self.thousands in (None, thousands) or not thousands
            for decimal in (*decimals, *((OTHER[thousands],) if thousands in OTHER and not self.decimal else ()))
            if decimal != thousands
        ]
        fitting = (each for each in dict.fromkeys(possible) if sum(map(each.fits, texts)) >= MIN_SHARE * len(texts))
        return list(fitting)

    def _decided(self, name: str, value: str, given: int, full: Sequence[NumberFormat]) -> DetectedFormat:
        """Return the format that the values single out among those that fit; or a finding that none stands out."""
        mark = next((each.decimal for each in full if not each.thousands), full[0].decimal)
        bare, long, example = self.source.row(
            f"count(*) FILTER (NOT contains({value}, '{mark}'))",
            f"count(*) FILTER (regexp_matches({value}, '[0-9]{{4}}'))",
            f"min(trim({value})) FILTER (contains({value}, '{mark}'))",
        )
        if long and len(full) > 1:  # digits that would be grouped
            full = [each for each in full if not each.thousands] or full
        if len(full) > 1 and (bare or mark == ","):
            grouped = next(each for each in full if each.thousands)
            decimal = next((each for each in full if not each.thousands), full[0])
            return DetectedFormat(findings=(two_readings(name, mark, given, bare, example, (grouped, decimal)),))
        taken = next((each for each in full if not each.thousands), full[0])
        notes = [three_digits(name, given, example)] if len(full) > 1 else []
        if not (taken.has_marks_alone and taken.thousands == self.thousands):
            notes.append(Finding("written", "", name, given, given, values=(taken.example,)))
        return DetectedFormat(taken, given, notes=tuple(notes))


def numbers_in_text(
    source: DuckDBSource, j: int, text: str, given: int, conversion: Conversion, findings: list[Finding]
) -> Field | None:
    """Return how to fetch a column of a file with types whose texts are all numbers in a format; None for other text.

    Texts of digits alone stay text: whoever wrote them could have written numbers. A format that is found is noted.

    Parameters
    ----------
    source : DuckDBSource
    j : int
    text : str
        SQL for a value.
    given : int
        Values that are not NULL.
    conversion : Conversion
        With the null markers of the column.
    findings : list of Finding
        Where to add a given format that does not fit, or one that can be read in two ways.
    """
    name = source.names[j]
    if name in source.formats:
        told = source.formats[name]
        found = None if told is None else told.number_format
        fitting = 0 if found is None else source.row(f"count({plain_number(text, found)})")[0]
        if told is not None and fitting < given:
            findings.append(not_written(name, told.format, fitting, given))
    else:
        plain = plain_number(text, NumberFormat())
        numbers = source.row(f"count({plain})")[0]
        decided = Finder(source, None, None).find(name, text, plain, numbers, given)
        source.column_notes[name] = decided.notes
        findings += (replace(each, values=("", *each.values[1:])) for each in decided.findings)
        found, fitting = decided.format, decided.numbers
    if found is None or not given or fitting < given:
        return None
    digits = plain_number(text, found)
    whole = f"CASE WHEN NOT contains({digits}, '.') THEN TRY_CAST({digits} AS BIGINT) END"
    if source.row(f"count({whole})")[0] == given:
        return Field("integer", whole, Conversion.of(found, conversion.nulls))
    return Field("float", f"TRY_CAST({digits} AS DOUBLE)", Conversion.of(found, conversion.nulls))


def not_written(name: str, example: str, numbers: int, given: int) -> Finding:
    """Return the finding that not all values of a column are written in the given format."""
    message = f"column {name!r} is not written as {example}: {numbers:,} of {given:,} values are"
    return Finding("format", message, name, given - numbers, given, values=(example,))


def three_digits(name: str, given: int, example: str) -> Finding:
    """Return the note that a point was taken for the decimal separator, though it may group digits."""
    return Finding("three digits", "", name, given, given, example=example, values=(".",))


def two_readings(
    name: str, mark: str, given: int, bare: int, example: str, formats: Sequence[NumberFormat] = ()
) -> Finding:
    """Return the finding that a mark may group digits or be the decimal separator.

    `formats` are the one in which it groups digits, and the other; by default those with no other marks.
    """
    other = OTHER[mark]
    grouped, decimal = formats or (NumberFormat(mark, other), NumberFormat(decimal=mark))
    what = "point" if mark == "." else "comma"
    among = f", and {bare:,} of {counted(given, 'value')} {'has' if bare == 1 else 'have'} no {what}" if bare else ""
    message = (
        f"column {name!r} can be read in two ways: wherever there is a {what}, exactly three digits follow it, as in "
        f"{example!r}{among}, so it may group digits or be the decimal separator"
    )
    return Finding(
        "two readings",
        message,
        name,
        given - bare,
        given,
        example=example,
        values=(mark, grouped.example, decimal.example),
    )


def count_points(value: str) -> tuple[str, str, str, str]:
    """Return SQL that counts numbers with a point, those it may group, and others that are long; and an example."""
    text = f"trim({value})"
    return (
        f"count(*) FILTER (contains({value}, '.'))",
        f"count(*) FILTER (regexp_full_match({text}, '[+-]?[1-9][0-9]{{0,2}}[.][0-9]{{3}}'))",
        f"count(*) FILTER (regexp_matches({value}, '[0-9]{{4}}|[a-zA-Z]'))",
        f"min({text}) FILTER (contains({value}, '.'))",
    )


def begins_with_currency(text: str) -> bool:
    """Return whether a text that begins with a letter may be a number after a currency."""
    return DIGIT_NEAR.match(text) is not None and (parts := parts_of(text)) is not None and is_currency(parts.before)


def is_currency(text: str) -> bool:
    """Return whether a text names a currency, by a sign such as $ or R$, or by its code."""
    signs = [character for character in text if unicodedata.category(character) == "Sc"]
    letters = text.replace(signs[0], "") if signs else ""
    by_sign = len(signs) == 1 and len(letters) <= MAX_LETTERS and (not letters or letters.isalpha())
    return by_sign or text in CODES or text in NAMES


def _units(name: str, texts: Sequence[str]) -> tuple[Finding, ...]:
    """Return a note on numbers with a unit after them, none for other texts."""
    parts = [parts_of(text) for text in texts]
    units = {each.behind for each in parts if each is not None and not each.before and set(each.marks) <= set(MARKS)}
    all_have_one = parts and all(each is not None and each.behind and not each.before for each in parts)
    if not all_have_one or not (len(units) == 1 or units <= {*SCALES}):
        return ()
    unit = sorted(units)
    examples: tuple[str, ...] = ()
    if len(unit) == 1:
        formats = (NumberFormat(mark, decimal, "", unit[0]) for decimal in ".," for mark in ("", *MARKS))
        fitting = next((each for each in formats if each.is_sound and all(map(each.fits, texts))), None)
        if fitting is None:
            return ()
        examples = (fitting.example,)
    return (Finding("unit", "", name, example=texts[0], values=(*unit, *examples)),)


def _digits(name: str, texts: Sequence[str]) -> tuple[Finding, ...]:
    """Return a note on texts of digits and signs that are not numbers in a known format, none for other texts."""
    return () if any(map(LETTERS.search, texts)) else (Finding("digits", "", name, example=texts[0]),)


def plain_number(value: str, number_format: NumberFormat) -> str:
    """Return SQL for a text in a format as digits with a decimal point, NULL where it is not a number."""
    text = f"trim({value})"
    digits = f"regexp_replace({text}, {quote_text(number_format.removed)}, '', 'g')"
    if number_format.decimal != ".":
        digits = f"replace({digits}, {quote_text(number_format.decimal)}, '.')"
    sign = f"CASE WHEN regexp_matches({text}, {quote_text(BELOW_ZERO)}) THEN '-' ELSE '' END"
    fits = f"length({text}) <= {GRAMMAR.longest} AND regexp_full_match({text}, {quote_text(number_format.pattern)})"
    return f"CASE WHEN {fits} THEN {sign} || {digits} END"

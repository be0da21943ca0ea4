"""A sample of the rows of a CSV file, and what its fields look like: a hint at which types to try first."""

from __future__ import annotations

import csv
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from shallowrules.sources.number_formats import begins_with_currency
from shallowrules.sources.structure import open_text
from shallowrules.sources.text_findings import MISSING_WORDS
from shallowrules.tables.column import ColumnType
from shallowrules.tables.dates import MONTHS

__all__ = ["FieldLooks", "is_padded", "is_surely_text", "sample_rows"]

SAMPLE_PLACES = 16
SAMPLE_BYTES = 1 << 12
MAX_SAMPLE_FIELDS = 2000
"""The number of places of a sample for the types, evenly over the file, the bytes at each, and the fields of the first
rows; all places together give as many fields."""

DIGIT = re.compile("[0-9]")
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
PADDED = re.compile(r"\s*0[0-9]+\s*")
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
GROUPED = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}\.[0-9]{3}\s*")
"""Numbers whose point may be one that groups digits."""

LETTER_FIRST = re.compile(
    rf"(?!nan|inf|({'|'.join(month[:3] for month in MONTHS)})[a-z]* \d)[a-z]", re.ASCII | re.IGNORECASE
)
DOUBTFUL = {"true", "false", "t", "f", *(word.lower() for word in MISSING_WORDS)}
"""A field that begins with a letter is text, except these words in any case and fields that begin like NaN or
infinity."""


@dataclass
class FieldLooks:
    """What the fields of each column look like in a sample, by the column's position.

    Parameters
    ----------
    numbers : dict from int to {"integer", "float"}
        The columns of nothing but numbers, or nothing at all, with the type that these have.
    given : set of int
        Those with a field that is not empty.
    doubtful : set of int
        Those with a field that may be something other than text.
    with_digits : set of int
        Those with a digit in a field.
    with_fraction : set of int
        Those with a number that has a fraction, whichever way its point is read.
    """

    numbers: dict[int, ColumnType]
    given: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)
    with_digits: set[int] = field(default_factory=set)
    with_fraction: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterable[list[str]], width: int) -> FieldLooks:
        """Return the looks of the fields of some rows with as many columns."""
        looks = cls(dict.fromkeys(range(width), "integer"))
        for row in rows:
            for j, text in enumerate(row):
                if text:
                    looks._add(j, text)
        return looks

    def _add(self, j: int, text: str) -> None:
        """Take a field that is not empty into account."""
        self.given.add(j)
        if j not in self.with_digits and DIGIT.search(text):
            self.with_digits.add(j)
        if j not in self.doubtful and not is_surely_text(text):
            self.doubtful.add(j)
        if j not in self.numbers:
            return
        if self.numbers[j] == "integer" and not WHOLE.fullmatch(text):
            self.numbers[j] = "float"
        if self.numbers[j] == "float":
            if not NUMBER.fullmatch(text):
                del self.numbers[j]
            elif j not in self.with_fraction and not WHOLE.fullmatch(text) and not GROUPED.fullmatch(text):
                self.with_fraction.add(j)


def sample_rows(file: str, delimiter: str, width: int, *, everywhere: bool) -> Iterator[list[str]]:
    """Yield rows of `width` fields from the beginning of a file, and from places all over it.

    The latter are found only where every line end is one of a row, as `everywhere` says. Rows that the `csv` module
    cannot read, such as those with a very long field, are skipped.
    """
    with open_text(file) as stream, suppress(csv.Error):
        rows = itertools.islice(csv.reader(stream, delimiter=delimiter), 1, MAX_SAMPLE_FIELDS // width + 2)
        yield from (row for row in rows if len(row) == width)
    size = os.path.getsize(file)
    places = SAMPLE_PLACES if everywhere else 0
    per_place = MAX_SAMPLE_FIELDS // SAMPLE_PLACES // width + 1
    with open(file, "rb") as stream:
        for place in range(places):
            stream.seek(place * size // places)
            content = stream.read(SAMPLE_BYTES)
            # The first line is the header, or cut off; the last may be cut off.
            lines = content.decode("utf-8", "replace").splitlines(keepends=True)[1:]
            if stream.tell() < size:
                lines = lines[:-1]
            with suppress(csv.Error):
                rows = itertools.islice(csv.reader(lines, delimiter=delimiter), per_place)
                yield from (row for row in rows if len(row) == width)


def is_padded(field: str) -> bool:
    """Return whether a field is a whole number with leading zeros."""
    return PADDED.fullmatch(field) is not None


def is_surely_text(field: str) -> bool:
    """Return whether a field cannot be a number, date, truth value or word for "no value"."""
    found = LETTER_FIRST.match(field) is not None and field.strip().lower() not in DOUBTFUL
    return found and not begins_with_currency(field)

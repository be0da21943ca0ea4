"""The definition of texts, numbers and missing values, and how a column of a file or database becomes values for rules.

`docs/numbers.md` states it in full. A column that holds "no value" in words (``NA``, blanks), or numbers with a decimal
comma, grouped digits or a currency, is text to any reader that does not know this. The rules keep the conversion that
was given or found, so that every form of them reads the column alike: `RuleSet.assign`, the emitted Python and every
dialect of SQL are made from `GRAMMAR` and `shallowrules.tables.number_format.NumberFormat`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from shallowrules.tables.number_format import NumberFormat

__all__ = [
    "CODES",
    "DOUBLE_EXACT",
    "FALSE_TEXTS",
    "GRAMMAR",
    "INT64",
    "PLAIN",
    "TRUE_TEXTS",
    "Conversion",
    "Grammar",
    "Number",
    "has_digit",
]

Number = int | float

INT64 = range(-(2**63), 2**63)
"""The whole numbers that a text of digits alone keeps exactly. Any other number is the nearest double."""

DOUBLE_EXACT = 2**53
"""Up to this number, a double tells each whole number from its neighbors."""


def has_digit(text: str) -> bool:
    """Return whether a text has a digit, or another character that is a number: it is a value then, not "no value"."""
    return any(character.isnumeric() for character in text)


@dataclass(frozen=True)
class Grammar:
    """The texts that are numbers, as patterns in the part of regular expressions that all engines have in common.

    A pattern is meant for the whole of a text, without the spaces (U+0020) around it.

    Attributes
    ----------
    whole : str
        Digits alone, which are a whole number.
    number : str
        A finite number; ``{point}`` stands for the decimal separator.
    infinity, nan : str
        The names of infinity, and of NaN, which is a missing value.
    code : str
        A whole number in a text that is the code of a category: without a sign or zeros in front, and perhaps with
        a fraction of zeros, which is what pandas writes once a value is missing.
    plain_code : str
        The one spelling of a code that SQL accepts.
    longest : int
        Characters of the longest text that is a number.
    """

    whole: str = "[+-]?[0-9]+"
    number: str = "[+-]?([0-9]+[{point}]?[0-9]*|[{point}][0-9]+)([eE][+-]?[0-9]{{1,3}})?"
    infinity: str = "[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
    nan: str = "[+-]?[nN][aA][nN]"
    code: str = "-?(0|[1-9][0-9]*)([.]0*)?"
    plain_code: str = "0|-?[1-9][0-9]*"
    longest: int = 300


GRAMMAR = Grammar()

TRUE_TEXTS = ("true", "t", "1", "1.0")
FALSE_TEXTS = ("false", "f", "0", "0.0")
"""The texts that are truth values, in small letters and without the spaces around them."""


@dataclass(frozen=True)
class Conversion:
    """How to read a column.

    Parameters
    ----------
    decimal : {".", ","}
        The separator of the fraction of a number.
    nulls : tuple of str
        Null markers, compared without the spaces around them: ``""`` is a text of nothing but spaces, which is missing
        in a column of numbers in any case. A marker that is a number stands for every number of its value, however it
        is written.
    format : str
        An example of a number, where they have more than a decimal separator: the `NumberFormat.example` of one with
        the same separator.
    codes : bool
        Whether the values are codes: whole numbers that are categories.
    dates : str
        How dates and points in time are written, besides ISO 8601, one of `shallowrules.tables.dates.FORMATS`; empty
        for ISO 8601 alone.
    """

    decimal: str = "."
    nulls: tuple[str, ...] = ()
    format: str = ""
    codes: bool = False
    dates: str = ""

    @classmethod
    def of(cls, number_format: NumberFormat, nulls: tuple[str, ...] = ()) -> Conversion:
        """Return the conversion of numbers in a format."""
        return cls(number_format.decimal, nulls, "" if number_format.is_plain else number_format.example)

    @cached_property
    def number_format(self) -> NumberFormat:
        """The format of the numbers."""
        return NumberFormat.of(self.format) if self.format else NumberFormat(decimal=self.decimal)

    @property
    def words(self) -> tuple[str, ...]:
        """The null markers that are not a finite number."""
        return tuple(token for token in self.nulls if self._finite(token) is None)

    @property
    def null_numbers(self) -> tuple[Number, ...]:
        """The null markers that are finite numbers, as numbers."""
        return tuple(number for number in map(self._finite, self.nulls) if number is not None)

    @property
    def from_text(self) -> bool:
        """Whether numbers are text to a reader that does not know of the conversion."""
        return self.decimal != "." or bool(self.format or self.words) or self.codes

    @property
    def is_for_sql(self) -> bool:
        """Whether SQL can convert the text: where only the marks between digits matter."""
        return self.number_format.has_marks_alone

    @property
    def pattern(self) -> str:
        """The pattern of a finite number in `GRAMMAR`, with this decimal separator; for codes, as SQL accepts them."""
        if self.codes:
            return GRAMMAR.plain_code
        return self.number_format.pattern if self.format else GRAMMAR.number.format(point=self.decimal)

    @cached_property
    def _number(self) -> re.Pattern[str]:
        others = "" if self.format else f"|{GRAMMAR.whole}|{GRAMMAR.infinity}"
        return re.compile(f"{self.pattern}|(?P<nan>{GRAMMAR.nan}){others}")

    def _finite(self, token: str) -> Number | None:
        number = self.number(token)
        return number if number is not None and math.isfinite(number) else None

    def is_null(self, text: str) -> bool:
        """Return whether a text is a null marker."""
        return text.strip(" ") in self.nulls

    def read(self, text: str) -> Number | None:
        """Return the value of a text in a column of numbers, NaN for a null marker, None for neither.

        The empty text means "no value" in any case.
        """
        text = text.strip(" ")
        return math.nan if not text or text in self.nulls else self.number(text)

    def number(self, text: str) -> Number | None:
        """Return the number that a text holds, NaN where it spells NaN, None where it holds none."""
        text = text.strip(" ")
        if len(text) > GRAMMAR.longest:
            return None
        if self.codes and not re.fullmatch(GRAMMAR.nan, text):
            return int(text.partition(".")[0]) if re.fullmatch(GRAMMAR.code, text) else None
        found = self._number.fullmatch(text)
        if found is None:
            return None
        plain = text.replace(self.decimal, ".")
        if self.format and found["nan"] is None:
            plain = str(self.number_format.plain(text))
        if _WHOLE.fullmatch(plain) and (whole := int(plain)) in INT64:
            return whole
        return float(plain)

    def written(self, number: Number) -> str:
        """Return a finite number as a column writes it."""
        if self.format:
            return self.number_format.written(f"{Decimal(str(number)):f}")
        return str(number).replace(".", self.decimal)


_WHOLE = re.compile(GRAMMAR.whole)

PLAIN = Conversion()
"""The values are compared as they are."""

CODES = Conversion(codes=True)
"""The values are whole numbers that are categories."""

"""How a column of numbers is written: grouped digits, a currency, a percent sign, and where the minus stands.

A format is given, kept and shown as an example of a number, ``$1,234.50``. `docs/numbers.md` has the grammar. Through
the two patterns of a format, the CSV reader, the rules, the emitted Python and the page all read a text alike: a match
of `pattern` is a number; removing the matches of `removed` leaves digits with a decimal separator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from shallowrules.errors import OptionError

__all__ = ["BELOW_ZERO", "BLANKS", "MARKS", "NumberFormat", "Parts", "parts_of"]

BLANKS = " \u00a0\u202f\u2009"
"""The blank, and blanks that keep a number on one line."""

MARKS = f",.'\u2019{BLANKS}"
"""Marks between groups of three digits."""

MINUS = "\u2212"

BELOW_ZERO = f"[({MINUS}-]"
"""A pattern that a number in a format matches somewhere if and only if it is below zero."""

MAX_AFFIX = 12
"""Characters of a currency or a unit."""

Negative = Literal["front", "minus", "behind", "parentheses"]
"""The sign of a number below zero: a hyphen in front, U+2212 in front, one at the end, or parentheses."""


@dataclass(frozen=True)
class Parts:
    """The parts of a text that may be a number: before its first digit, after its last one, and between."""

    before: str
    digits: str
    behind: str
    negative: Negative

    @property
    def marks(self) -> str:
        """The marks between the digits, in order."""
        return re.sub("[0-9]", "", self.digits)


def parts_of(text: str) -> Parts | None:
    """Return the parts of a text, None where there is not a digit."""
    found = re.fullmatch(r"([^0-9]*)([0-9](?:.*[0-9])?)([^0-9]*)", text, re.DOTALL)
    if found is None:
        return None
    head, digits, tail = found.groups()
    negative: Negative = "front"
    if "(" in head:
        negative = "parentheses"
    elif "-" in tail or MINUS in tail:
        negative = "behind"
    elif MINUS in head:
        negative = "minus"
    signs = str.maketrans("", "", f"+-()\t\r\n{MINUS}")
    before, behind = (part.translate(signs).strip(BLANKS) for part in (head, tail))
    return Parts(before, digits, behind, negative)


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Parameters
    ----------
    thousands : str
        The mark between groups of three digits, one of `MARKS`; empty if digits are never grouped.
    decimal : {".", ","}
    before, behind : str
        A currency, a percent sign or a unit, which every number has; blanks between it and the digits do not matter.
    negative : {"front", "minus", "behind", "parentheses"}
        How a number below zero may be written, in addition to a hyphen in front.
    """

    thousands: str = ""
    decimal: str = "."
    before: str = ""
    behind: str = ""
    negative: Negative = "front"

    @classmethod
    def of(cls, example: str, decimal: str = ".") -> NumberFormat:
        """Return the format of an example; `decimal` is the separator where it does not show one.

        Raises
        ------
        OptionError
            If it is not a number, or can be read in two ways.
        """
        parts = parts_of(example.strip(BLANKS))
        if parts is None:
            raise OptionError(f"{example!r} is not an example of a number: write one such as $1,234.50 or 12,5 %")
        thousands, marks = "", parts.marks
        if len(marks) == 1 and marks in ",.":
            if could_be_grouped(parts.digits, marks):
                other = "," if marks == "." else "."
                raise OptionError(
                    f"{example!r} can be read in two ways: write 1{marks}234{other}5 if the {marks!r} groups digits, "
                    f"or 12{marks}5 if it is the decimal separator"
                )
            decimal = marks
        elif marks:
            thousands = marks[0]
            if len(set(marks)) > 1:
                decimal = marks[-1]
            elif decimal == thousands:
                decimal = "," if thousands == "." else "."
        found = cls(thousands, decimal, parts.before, parts.behind, parts.negative)
        if not (found.is_sound and found.plain(example.strip(BLANKS)) is not None):
            raise OptionError(f"{example!r} is not an example of a number: write one such as $1,234.50 or 12,5 %")
        return found

    @property
    def is_sound(self) -> bool:
        """Whether the marks are valid, differ, and cannot be taken for parts of the text before or after a number."""
        affixes = (self.before, self.behind)
        return (
            self.decimal in (".", ",")
            and self.thousands != self.decimal
            and (not self.thousands or self.thousands in MARKS)
            and all(len(affix) <= MAX_AFFIX and affix.isprintable() for affix in affixes)
            and all(not affix or affix.strip(MARKS) for affix in affixes)
        )

    @property
    def is_plain(self) -> bool:
        """Whether a decimal separator is all there is to it."""
        return self == NumberFormat(decimal=self.decimal)

    @property
    def has_marks_alone(self) -> bool:
        """Whether it has nothing but marks between digits, which SQL can convert."""
        return not self.before and not self.behind and self.negative == "front"

    @cached_property
    def example(self) -> str:
        """A number that shows the format: `of` recreates it."""
        digits = f"1{self.thousands}234{self.decimal}50" if self.thousands else f"12{self.decimal}5"
        before = f"{self.before} " if self.before[-1:].isalpha() else self.before
        behind = f" {self.behind}" if self.behind and self.behind not in "%\u2030" else self.behind
        shown = {
            "front": "{before}{digits}{behind}",
            "minus": f"{MINUS}{{before}}{{digits}}{{behind}}",
            "behind": "{before}{digits}{behind}-",
            "parentheses": "({before}{digits}{behind})",
        }
        return shown[self.negative].format(before=before, digits=digits, behind=behind)

    @cached_property
    def pattern(self) -> str:
        """A pattern for the whole of a text that is a number."""
        digits = f"([1-9][0-9]{{0,2}}([{self.thousands}][0-9]{{3}})+|[0-9]+)" if self.thousands else "[0-9]+"
        number = f"({digits}([{self.decimal}][0-9]*)?|[{self.decimal}][0-9]+)"
        before = f"{_escaped(self.before)}[{BLANKS}]?" if self.before else ""
        behind = f"[{BLANKS}]?{_escaped(self.behind)}" if self.behind else ""
        sign = f"[+{MINUS}-]" if self.negative == "minus" else "[+-]"
        ways = [f"{sign}?{before}{number}{behind}"]
        if before:
            ways.append(f"{before}{sign}{number}{behind}")
        if self.negative == "behind":
            ways.append(f"{before}{number}{behind}[{BLANKS}]?[{MINUS}-]")
            if behind:
                ways.append(f"{before}{number}[{MINUS}-]{behind}")
        if self.negative == "parentheses":
            ways.append(f"[(]{before}{number}{behind}[)]")
            if before or behind:
                ways.append(f"{before}[(]{number}[)]{behind}")
        return "|".join(ways)

    @cached_property
    def removed(self) -> str:
        """A pattern for the parts of a number other than its digits and decimal separator."""
        affixes = [_escaped(affix) for affix in (self.before, self.behind) if affix]
        return "|".join([*affixes, f"[^0-9{self.decimal}]"])

    def fits(self, text: str) -> bool:
        """Return whether a text is a number in this format."""
        return re.fullmatch(self.pattern, text) is not None

    def plain(self, text: str) -> str | None:
        """Return a number as a text with a hyphen and a decimal point at most, None for any other text."""
        if not self.fits(text):
            return None
        digits = re.sub(self.removed, "", text).replace(self.decimal, ".")
        return f"-{digits}" if re.search(BELOW_ZERO, text) else digits

    def written(self, digits: str) -> str:
        """Return a number, given by a hyphen, digits and a decimal point, as this format writes it."""
        whole, _, fraction = digits.removeprefix("-").partition(".")
        if self.thousands and not whole.startswith("0"):
            whole = f"{int(whole):,}".replace(",", self.thousands)
        number = f"{self.before}{whole}{self.decimal if fraction else ''}{fraction}{self.behind}"
        if not digits.startswith("-"):
            return number
        ways = {"front": "-{}", "minus": f"{MINUS}{{}}", "behind": "{}-", "parentheses": "({})"}
        return ways[self.negative].format(number)


def could_be_grouped(digits: str, mark: str) -> bool:
    """Return whether a mark in a number may separate groups of three digits."""
    return re.fullmatch(f"[1-9][0-9]{{0,2}}([{mark}][0-9]{{3}})+", digits) is not None


def _escaped(text: str) -> str:
    """Return a pattern for a text, in the part of regular expressions that Python, JavaScript and DuckDB share."""
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", text)

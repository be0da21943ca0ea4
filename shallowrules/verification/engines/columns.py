"""The column types of an engine, and which values each of them holds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

import numpy as np

from shallowrules.tables.times import DAY, TimeType, parse_time, to_time

__all__ = [
    "WORDS",
    "ColumnType",
    "Decimals",
    "Doubles",
    "Numbers",
    "Singles",
    "Texts",
    "Times",
    "Truths",
    "Whole",
    "dates",
    "durations",
    "listed",
    "moments",
    "signed",
    "unsigned",
]

WORDS = ("A", "a", "b", "NA", "Two year", "1", "2.5", "-7", "1e3", "true", "false", "x y", "abc")
"""What the enums of the engines hold."""

DIGITS = 400
"""Significant digits of a double that are kept: more than any has."""


class Numbers(ABC):
    """The numbers that a column can hold."""

    nan: bool = False
    infinite: bool = False

    @abstractmethod
    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the numbers that it holds on a finite number and next to it, none where all are far from it."""

    @abstractmethod
    def ends(self) -> list[int | float | Decimal]:
        """Return the least and the greatest number that it holds, and the smallest ones of either sign."""


@dataclass(frozen=True)
class Doubles(Numbers):
    """Floating numbers of 64 bits."""

    nan: bool = True
    infinite: bool = True

    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the nearest double and its neighbours."""
        nearest = float(number)
        near = (math.nextafter(nearest, -math.inf), nearest, math.nextafter(nearest, math.inf))
        return [x for x in near if math.isfinite(x)]

    def ends(self) -> list[int | float | Decimal]:
        """Return the ends, and the smallest numbers."""
        greatest = float(np.finfo(np.float64).max)
        return [-greatest, -5e-324, -0.0, 0.0, 5e-324, greatest]


@dataclass(frozen=True)
class Singles(Numbers):
    """Floating numbers of 32 bits."""

    nan: bool = True
    infinite: bool = True

    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the nearest single and its neighbours."""
        with np.errstate(over="ignore", under="ignore"):
            nearest = np.float32(number)
            below, above = (np.nextafter(nearest, np.float32(side)) for side in (-np.inf, np.inf))
        return [float(x) for x in (below, nearest, above) if np.isfinite(x) and (x == 0 or abs(x) >= 2.0**-126)]

    def ends(self) -> list[int | float | Decimal]:
        """Return the ends, and the smallest numbers that every engine writes and reads."""
        greatest, least = float(np.finfo(np.float32).max), 2.0**-126
        return [-greatest, -least, -0.0, 0.0, least, greatest]


@dataclass(frozen=True)
class Whole(Numbers):
    """Whole numbers from `low` to `high`."""

    low: int
    high: int

    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the two whole numbers on either side."""
        near = range(math.floor(number) - 1, math.floor(number) + 3)
        return [n for n in near if self.low <= n <= self.high]

    def ends(self) -> list[int | float | Decimal]:
        """Return the ends and their neighbours."""
        return [n for n in (self.low, self.low + 1, -1, 0, 1, self.high - 1, self.high) if self.low <= n <= self.high]


@dataclass(frozen=True)
class Decimals(Numbers):
    """Numbers of at most `precision` decimal digits, `scale` of them behind the point."""

    precision: int
    scale: int
    nan: bool = False
    infinite: bool = False

    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the numbers on either side, and one more of each."""
        with localcontext() as context:
            context.prec = DIGITS
            unit = Decimal(f"1E-{self.scale}")
            below = Decimal(number).quantize(unit, rounding=ROUND_FLOOR)
            above = Decimal(number).quantize(unit, rounding=ROUND_CEILING)
            near = dict.fromkeys((below - unit, below, above, above + unit))
            return [x for x in near if abs(x) <= self._greatest()]

    def ends(self) -> list[int | float | Decimal]:
        """Return the ends, and the smallest numbers."""
        greatest, unit = self._greatest(), Decimal(f"1E-{self.scale}")
        return [greatest.copy_negate(), unit.copy_negate(), Decimal(f"0E-{self.scale}"), unit, greatest]

    def _greatest(self) -> Decimal:
        return Decimal(f"{'9' * self.precision}E-{self.scale}")


@dataclass(frozen=True)
class Texts:
    r"""Texts.

    Attributes
    ----------
    longest : int or None
        Characters (of types that count bytes: bytes) of the longest.
    charset : str
        What encodes the characters that it can hold.
    padding : str
        What fills up a shorter text and is part of the value.
    stripped : str
        What fills up a shorter text, or ends any, and is no part of the value, as the engine itself says.
    words : tuple of str, optional
        The only texts that it holds (ENUM).
    nul : bool
        Whether it holds the character 0.
    """

    longest: int | None = None
    charset: str = "utf-8"
    padding: str = ""
    stripped: str = ""
    words: tuple[str, ...] | None = None
    nul: bool = True

    def holds(self, text: str) -> bool:
        """Return whether it can hold a text."""
        if self.words is not None:
            return text in self.words
        if "\0" in text and not self.nul:
            return False
        try:
            length = len(text.encode(self.charset))
        except UnicodeError:
            return False
        return self.longest is None or length <= self.longest

    def held(self, text: str) -> str:
        """Return what the column holds where a text was put in."""
        if self.stripped:
            text = text.rstrip(self.stripped)
        return text.ljust(self.longest or 0, self.padding) if self.padding else text


@dataclass(frozen=True)
class Times:
    """Dates, points in time or durations.

    Attributes
    ----------
    kind : {"date", "timestamp", "timestamptz", "duration"}
    low, high : int
        The first and the last, in microseconds.
    unit : int
        Microseconds between one and the next.
    """

    kind: TimeType
    low: int
    high: int
    unit: int = 1

    def beside(self, microseconds: int) -> list[date | timedelta]:
        """Return what it holds on a moment or a duration and next to it."""
        near = (microseconds // self.unit * self.unit + step * self.unit for step in (-1, 0, 1))
        return [self._value(each) for each in near if self.low <= each <= self.high]

    def ends(self) -> list[date | timedelta]:
        """Return the ends and their neighbours."""
        last = self.high // self.unit * self.unit
        return [self._value(each) for each in (self.low, self.low + self.unit, last - self.unit, last)]

    def _value(self, microseconds: int) -> date | timedelta:
        return to_time(self.kind, microseconds // DAY if self.kind == "date" else microseconds)


@dataclass(frozen=True)
class Truths:
    """True and false."""


@dataclass(frozen=True)
class ColumnType:
    """A column type as it is declared, and what it holds.

    `name` is what to call it where the declaration is long. `before` are statements that it needs first.
    `nullable` tells whether it holds NULL.
    """

    declared: str
    holds: Numbers | Texts | Times | Truths
    name: str = ""
    before: Sequence[str] = ()
    nullable: bool = True

    def __str__(self) -> str:
        return self.name or self.declared


def signed(bits: int) -> Whole:
    """Return the whole numbers of a number of bits."""
    return Whole(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def unsigned(bits: int) -> Whole:
    """Return the whole numbers of a number of bits, from 0 on."""
    return Whole(0, 2**bits - 1)


def dates(first: str = "0001-01-01", last: str = "9999-12-31") -> Times:
    """Return the dates from one to another."""
    return Times("date", _day(first), _day(last), DAY)


def moments(
    first: str = "0001-01-01", last: str = "9999-12-31", *, unit: int = 1, zoned: bool = False, holds_first: bool = True
) -> Times:
    """Return the points in time of the days from one to another; of the first, perhaps not its first moment."""
    low = _day(first) + (0 if holds_first else 10**6)
    return Times("timestamptz" if zoned else "timestamp", low, _day(last) + DAY - unit, unit)


def durations(most: int = 10_000 * DAY) -> Times:
    """Return the durations of at most so many microseconds."""
    return Times("duration", -most, most)


def _day(text: str) -> int:
    day = parse_time("date", text)
    assert day is not None
    return day * DAY


def listed(words: Sequence[str]) -> str:
    """Return words, which have no quotes, as they are declared in an enum."""
    return ", ".join(f"'{word}'" for word in words)

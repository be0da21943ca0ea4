"""The column types of each engine, and the values that they hold."""

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
    "COLUMNS",
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

LOOSE = "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"

DIGITS = 400
"""Significant digits of a double that are kept: more than any has."""


class Numbers(ABC):
    """The numbers that a column can hold."""

    nan: bool = False
    infinite: bool = False

    @abstractmethod
    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the column values equal or next to a finite number; none where all are far from it."""

    @abstractmethod
    def ends(self) -> list[int | float | Decimal]:
        """Return the least and the greatest number that it holds, and the smallest ones of either sign."""


@dataclass(frozen=True)
class Doubles(Numbers):
    """Floating numbers of 64 bits."""

    nan: bool = True
    infinite: bool = True

    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the nearest double and its neighbors."""
        nearest = float(number)
        near = (math.nextafter(nearest, -math.inf), nearest, math.nextafter(nearest, math.inf))
        return [x for x in near if math.isfinite(x)]

    def ends(self) -> list[int | float | Decimal]:
        """Return the ends of the range, and the numbers nearest to 0."""
        greatest = float(np.finfo(np.float64).max)
        return [-greatest, -5e-324, -0.0, 0.0, 5e-324, greatest]


@dataclass(frozen=True)
class Singles(Numbers):
    """Floating numbers of 32 bits."""

    nan: bool = True
    infinite: bool = True

    def beside(self, number: int | float) -> list[int | float | Decimal]:
        """Return the nearest single and its neighbors."""
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
        """Return the ends and their neighbors."""
        return [n for n in (self.low, self.low + 1, -1, 0, 1, self.high - 1, self.high) if self.low <= n <= self.high]


@dataclass(frozen=True)
class Decimals(Numbers):
    """Numbers of at most `precision` decimal digits, `scale` of them after the point."""

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
        """Return the ends of the range, and the numbers nearest to 0."""
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
        What fills up a shorter text, or ends any, and is not part of the value, as the engine itself says.
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
        """Return the value that the column holds after a text is put in."""
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
        """Return the values that it holds at a moment or a duration and next to it."""
        near = (microseconds // self.unit * self.unit + step * self.unit for step in (-1, 0, 1))
        return [self._value(each) for each in near if self.low <= each <= self.high]

    def ends(self) -> list[date | timedelta]:
        """Return the ends and their neighbors."""
        last = self.high // self.unit * self.unit
        return [self._value(each) for each in (self.low, self.low + self.unit, last - self.unit, last)]

    def _value(self, microseconds: int) -> date | timedelta:
        return to_time(self.kind, microseconds // DAY if self.kind == "date" else microseconds)


@dataclass(frozen=True)
class Truths:
    """True and false."""


@dataclass(frozen=True)
class ColumnType:
    """A column type as it is declared, and its possible values.

    `name` is its short name where the declaration is long. `before` are statements that it needs first.
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
    """Return the whole numbers of a number of bits, from 0 up."""
    return Whole(0, 2**bits - 1)


def dates(first: str = "0001-01-01", last: str = "9999-12-31") -> Times:
    """Return the dates from one to another."""
    return Times("date", _day(first), _day(last), DAY)


def moments(
    first: str = "0001-01-01", last: str = "9999-12-31", *, unit: int = 1, zoned: bool = False, holds_first: bool = True
) -> Times:
    """Return the points in time of the days from one to another, perhaps without the first moment of the first day."""
    low = _day(first) + (0 if holds_first else 10**6)
    return Times("timestamptz" if zoned else "timestamp", low, _day(last) + DAY - unit, unit)


def durations(most: int = 10_000 * DAY) -> Times:
    """Return the durations of at most a given number of microseconds."""
    return Times("duration", -most, most)


def _day(text: str) -> int:
    day = parse_time("date", text)
    assert day is not None
    return day * DAY


def listed(words: Sequence[str]) -> str:
    """Return words, which have no quotes, as they are declared in an enum."""
    return ", ".join(f"'{word}'" for word in words)


COLUMNS: dict[str, Sequence[ColumnType]] = {
    "SQLite": (
        ColumnType("REAL", Doubles(nan=False)),
        ColumnType("INTEGER", signed(64)),
        ColumnType("NUMERIC", Doubles(nan=False)),
        ColumnType("BIGINT UNSIGNED", signed(64)),
        ColumnType("", Doubles(nan=False), "no type, numbers"),
        ColumnType("TEXT", Texts()),
        ColumnType("VARCHAR(20) COLLATE NOCASE", Texts()),
        ColumnType("CHAR(20) COLLATE RTRIM", Texts()),
        ColumnType("", Texts(), "no type, texts"),
        ColumnType("INTEGER", Truths(), "INTEGER, 0 and 1"),
        ColumnType("DATE", dates()),
        ColumnType("DATETIME", moments()),
        ColumnType("TEXT", moments(unit=10**6), "TEXT, points in time"),
    ),
    "DuckDB": (
        ColumnType("DOUBLE", Doubles()),
        ColumnType("FLOAT", Singles()),
        ColumnType("BIGINT", signed(64)),
        ColumnType("INTEGER", signed(32)),
        ColumnType("TINYINT", signed(8)),
        ColumnType("UBIGINT", unsigned(64)),
        ColumnType("HUGEINT", signed(128)),
        ColumnType("UHUGEINT", unsigned(128)),
        ColumnType("DECIMAL(12,2)", Decimals(12, 2)),
        ColumnType("DECIMAL(38,9)", Decimals(38, 9)),
        ColumnType("VARCHAR", Texts()),
        ColumnType("VARCHAR COLLATE NOCASE.NOACCENT", Texts()),
        ColumnType("CHAR(20)", Texts()),
        ColumnType(f"ENUM ({listed(WORDS)})", Texts(words=WORDS), "ENUM"),
        ColumnType("BOOLEAN", Truths()),
        ColumnType("DATE", dates()),
        ColumnType("TIMESTAMP", moments()),
        ColumnType("TIMESTAMP_S", moments(unit=10**6)),
        ColumnType("TIMESTAMP_MS", moments(unit=10**3)),
        ColumnType("TIMESTAMP_NS", moments("1678-01-01", "2261-12-31")),
        ColumnType("TIMESTAMPTZ", moments(zoned=True)),
        ColumnType("INTERVAL", durations()),
    ),
    "PostgreSQL": (
        ColumnType("DOUBLE PRECISION", Doubles()),
        ColumnType("REAL", Singles()),
        ColumnType("BIGINT", signed(64)),
        ColumnType("INTEGER", signed(32)),
        ColumnType("SMALLINT", signed(16)),
        ColumnType("NUMERIC", Decimals(300, 40, nan=True, infinite=True)),
        ColumnType("NUMERIC(12,2)", Decimals(12, 2, nan=True)),
        ColumnType("NUMERIC(38,9)", Decimals(38, 9, nan=True)),
        ColumnType("TEXT", Texts(nul=False)),
        ColumnType("VARCHAR(400)", Texts(400, nul=False)),
        ColumnType("CHAR(40)", Texts(40, stripped=" ", nul=False)),
        ColumnType("TEXT COLLATE loose", Texts(nul=False), before=(LOOSE,)),
        ColumnType("words", Texts(words=WORDS), "ENUM", before=(f"CREATE TYPE words AS ENUM ({listed(WORDS)})",)),
        ColumnType("BOOLEAN", Truths()),
        ColumnType("DATE", dates()),
        ColumnType("TIMESTAMP", moments()),
        ColumnType("TIMESTAMP(3)", moments(unit=10**3)),
        ColumnType("TIMESTAMPTZ", moments(zoned=True)),
        ColumnType("INTERVAL", durations()),
    ),
    "MariaDB": (
        ColumnType("DOUBLE", Doubles(nan=False, infinite=False)),
        ColumnType("FLOAT", Singles(nan=False, infinite=False)),
        ColumnType("BIGINT", signed(64)),
        ColumnType("INT", signed(32)),
        ColumnType("TINYINT", signed(8)),
        ColumnType("BIGINT UNSIGNED", unsigned(64)),
        ColumnType("INT UNSIGNED", unsigned(32)),
        ColumnType("DECIMAL(12,2)", Decimals(12, 2)),
        ColumnType("DECIMAL(38,9)", Decimals(38, 9)),
        ColumnType("DECIMAL(65,30)", Decimals(65, 30)),
        ColumnType("BIT(40)", unsigned(40)),
        ColumnType("YEAR", Whole(1901, 2155)),
        ColumnType("TEXT CHARACTER SET utf8mb4", Texts(), "TEXT"),
        ColumnType("VARCHAR(400) COLLATE utf8mb4_general_ci", Texts(400)),
        ColumnType("VARCHAR(400) COLLATE utf8mb4_unicode_ci", Texts(400)),
        ColumnType("VARCHAR(400) COLLATE utf8mb4_bin", Texts(400)),
        ColumnType("VARCHAR(400) CHARACTER SET latin1", Texts(400, "latin-1")),
        ColumnType("VARCHAR(400) CHARACTER SET utf16", Texts(400)),
        ColumnType("CHAR(40) CHARACTER SET utf8mb4", Texts(40, stripped=" "), "CHAR(40)"),
        ColumnType("VARBINARY(400)", Texts(400)),
        ColumnType("BLOB", Texts()),
        ColumnType(f"ENUM ({listed(WORDS)}) COLLATE utf8mb4_bin", Texts(words=WORDS), "ENUM"),
        ColumnType("BOOLEAN", Truths()),
        ColumnType("BIT(1)", Truths()),
        ColumnType("DATE", dates("1000-01-01")),
        ColumnType("DATETIME", moments("1000-01-01", unit=10**6)),
        ColumnType("DATETIME(6)", moments("1000-01-01")),
        ColumnType("TIMESTAMP(6) NULL", moments("1970-01-01", "2038-01-18", zoned=True, holds_first=False)),
        ColumnType("TIME(6)", durations((838 * 3600 + 3599) * 10**6)),
    ),
    "ClickHouse": (
        ColumnType("Nullable(Float64)", Doubles()),
        ColumnType("Float64", Doubles(), nullable=False),
        ColumnType("Nullable(Float32)", Singles()),
        ColumnType("Nullable(Int64)", signed(64)),
        ColumnType("Nullable(Int32)", signed(32)),
        ColumnType("Nullable(Int8)", signed(8)),
        ColumnType("Nullable(UInt64)", unsigned(64)),
        ColumnType("Nullable(Int128)", signed(128)),
        ColumnType("Nullable(UInt256)", unsigned(256)),
        ColumnType("Nullable(Int256)", signed(256)),
        ColumnType("Nullable(Decimal(12, 2))", Decimals(12, 2)),
        ColumnType("Nullable(Decimal(38, 9))", Decimals(38, 9)),
        ColumnType("Nullable(Decimal(38, 20))", Decimals(38, 20)),
        ColumnType("Nullable(Decimal(76, 20))", Decimals(76, 20)),
        ColumnType("Nullable(String)", Texts()),
        ColumnType("String", Texts(), nullable=False),
        ColumnType("LowCardinality(Nullable(String))", Texts()),
        ColumnType("Nullable(FixedString(40))", Texts(40, stripped="\0")),
        ColumnType(f"Nullable(Enum8({listed(WORDS)}))", Texts(words=WORDS), "Enum8"),
        ColumnType("Nullable(Bool)", Truths()),
        ColumnType("Nullable(Date)", dates("1970-01-01", "2149-06-06")),
        ColumnType("Nullable(Date32)", dates("1900-01-01", "2299-12-31")),
        ColumnType("Nullable(DateTime)", moments("1970-01-01", "2106-02-06", unit=10**6)),
        ColumnType("Nullable(DateTime64(3))", moments("1900-01-01", "2299-12-31", unit=10**3)),
        ColumnType("Nullable(DateTime64(6))", moments("1900-01-01", "2299-12-31")),
        ColumnType("Nullable(DateTime('UTC'))", moments("1970-01-01", "2106-02-06", unit=10**6, zoned=True)),
        ColumnType("Nullable(DateTime64(6, 'UTC'))", moments("1900-01-01", "2299-12-31", zoned=True)),
    ),
    "Spark": (
        ColumnType("DOUBLE", Doubles()),
        ColumnType("FLOAT", Singles()),
        ColumnType("BIGINT", signed(64)),
        ColumnType("INT", signed(32)),
        ColumnType("TINYINT", signed(8)),
        ColumnType("DECIMAL(12,2)", Decimals(12, 2)),
        ColumnType("DECIMAL(38,9)", Decimals(38, 9)),
        ColumnType("STRING", Texts()),
        ColumnType("STRING COLLATE UTF8_LCASE", Texts()),
        ColumnType("STRING COLLATE UNICODE_CI", Texts()),
        ColumnType("STRING COLLATE UTF8_BINARY_RTRIM", Texts()),
        ColumnType("VARCHAR(400)", Texts(400)),
        ColumnType("CHAR(40)", Texts(40, padding=" ")),
        ColumnType("BOOLEAN", Truths()),
        ColumnType("DATE", dates()),
        ColumnType("TIMESTAMP_NTZ", moments()),
        ColumnType("TIMESTAMP", moments(zoned=True)),
        ColumnType("INTERVAL DAY TO SECOND", durations()),
    ),
}
"""The types that columns may have, by the title of the engine."""

# DuckDB writes the first two as doubles, and no interval below 0.
COLUMNS["DuckDB on Parquet"] = tuple(
    kind for kind in COLUMNS["DuckDB"] if kind.declared not in ("HUGEINT", "UHUGEINT", "INTERVAL")
)

"""The definition of `docs/numbers.md` as a table: the meaning of a cell, by the column's conversion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from rulesets import make_rules

from shallowrules.rules import RuleSet

MISSING, NEITHER = "missing", "neither"
"""What a cell is that holds no value."""

Meaning = float | int | Decimal | str
"""The number in a cell, or what it is in place of one."""

Cells = Sequence[tuple[Any, Meaning]]

BIG = 2**53


@dataclass(frozen=True)
class Reading:
    """How rules read a column: its type, its conversion, and the thresholds that tell its values apart."""

    type: str
    decimal: str
    nulls: tuple[str, ...]
    imputed: int | float
    thresholds: tuple[int | float, ...]
    format: str = ""

    def rules(self, threshold: float, *, imputed: bool) -> RuleSet:
        """Return rules of one cut."""
        rules = make_rules([("x", self.type)], (0, threshold, 0, 1))
        value = self.imputed if imputed else None
        column = replace(rules.columns[0], decimal=self.decimal, nulls=self.nulls, format=self.format, imputed=value)
        return replace(rules, columns=(column,))

    def label(self, meaning: Meaning, threshold: float, *, imputed: bool) -> int:
        """Return the label of a cell, -1 where it has none."""
        if meaning == MISSING and imputed:
            meaning = self.imputed
        if isinstance(meaning, str):
            return -1
        return int((float(meaning) if self.type == "float" else meaning) > threshold)


def _beside(*values: float) -> tuple[float, ...]:
    """Return numbers, each with the double below it, so that cuts at them tell a number from its neighbors."""
    return tuple(x for value in values for x in (math.nextafter(value, -math.inf), value))


SINGLE = float(np.float32(0.1))

_FLOATS = _beside(0.1, SINGLE, 1.5, 7.0, 1000.0, float(BIG), float(BIG + 2), float(2**63), 1e300, -1e300, 5e-324)

READINGS: dict[str, Reading] = {
    "float": Reading("float", ".", ("NA", "-9"), 3.0, _FLOATS),
    "comma": Reading("float", ",", ("NA",), 3.0, _FLOATS),
    "integer": Reading(
        "integer",
        ".",
        ("NA", "-9"),
        3,
        (0, 1, 6, 7, 2**24 - 1, 2**24, 2**24 + 3, *range(BIG - 1, BIG + 4), 2**62 + 1, 2**63 - 2, -(2**63), -BIG - 1),
    ),
}

WIDE = (53393660479114112833, 42134349351563251736, 25288268887966828761, 19512620640806897701)
"""Whole numbers of which two steps that each round make a different double than one does."""

_GROUPED = (0, 1, 6, 7, 999, 1000, 1233, 1234, *range(BIG - 1, BIG + 3), 2**62 + 1, 2**63 - 2, -1235, -(2**63))

READINGS |= {
    "grouped": Reading("float", ".", ("NA", "-9"), 3.0, (*_FLOATS, *_beside(1234.5, 1234567.0)), "1,234.50"),
    "points": Reading("integer", ",", ("NA",), 3, _GROUPED, "1.234,50"),
    "blanks": Reading("float", ",", ("NA",), 3.0, _beside(0.1, 1.5, 7.0, 1234.5, 1234567.0), "1\u00a0234,50"),
    "apostrophes": Reading("integer", ".", ("NA",), 3, _GROUPED, "1'234.50"),
}
"""Formats that SQL converts, too."""

NUMBERS = Reading(
    "float", ".", ("-9", "-999"), 3.0, _beside(-9.0, 0.1, 1.5, 23.63, 7.0, 1234.56, float(BIG + 2), *map(float, WIDE))
)
"""How rules read a column that is never text."""

# What is a number whatever the type of the column; "." stands for the decimal separator.
_NUMBERS: Cells = [
    ("0", 0), ("7", 7), ("+7", 7), ("-7", -7), ("007", 7), (" 7 ", 7), ("7.", 7.0), (".5", 0.5), ("-.5", -0.5),
    ("0.1", 0.1), ("1.5", 1.5), ("1.4", 1.4), ("7.00", 7.0), ("1e3", 1e3), ("1E+3", 1e3), ("15e-1", 1.5),
    ("1e003", 1e3), ("1e400", math.inf), ("-1e400", -math.inf), ("1e-400", 0.0), ("-1e-400", -0.0), ("5e-324", 5e-324),
    ("2e-324", 0.0), ("1.8e308", math.inf), ("1e999", math.inf), ("inf", math.inf), ("-inf", -math.inf),
    ("+INF", math.inf), ("Infinity", math.inf), (" -iNfInItY ", -math.inf), ("9" * 300, 1e300), ("0" * 299 + "7", 7),
    ("9007199254740993", BIG + 1), ("9007199254740993.0", float(BIG)), ("-9007199254740993", -BIG - 1),
    ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)), ("09223372036854775806", 2**63 - 2),
    ("9223372036854775808", 2.0**63), ("1" + "0" * 19, 1e19), ("4611686018427387905", 2**62 + 1),
    ("16777217", 2**24 + 1),
]  # fmt: skip

# What is none: to some engine, or to Python, each of them is one.
_STRAY = [
    "abc", "4x", "1_0", "0x10", "1d", "1f", "1.5L", "+-1", "--1", "1 2", "5\n", "\t5", "5\t", "\u00a05", "\u0663", "1e",
    "e5", ".", "+", "1e+", "1e5.0", "1.2.3", "1e0001", "1,5,1", "infin", "i", "na", "NA.", "1'000", "$5", "5%", "TRUE",
    "1" * 301, "\u2212" + "5", "\uff15", "nanx", "2020-01-01", "1/2", "1e-0400", "''", "\\", "5\r", "1.5e3e2", "(5)",
]  # fmt: skip

_NO_VALUE = ["NA", " NA ", "", "   ", "nan", "NaN", " NAN ", "-nan", None]

_OF_A_POINT: Cells = [
    *_NUMBERS,
    *((text, NEITHER) for text in (*_STRAY, "1,5")),
    *((text, MISSING) for text in (*_NO_VALUE, "-9", "-9.0", " -90e-1 ")),
    ("-9.5", -9.5),
]
_OF_A_COMMA: Cells = [
    *((text.replace(".", ","), number) for text, number in _NUMBERS),
    *((text, NEITHER) for text in (*_STRAY, "1.5", "7.", ".5", "1.000,5", "1.500", "1,000.5")),
    *((text, MISSING) for text in _NO_VALUE),
    ("-9", -9),
]

_IN_GROUPS: Cells = [
    ("1,234", 1234), ("-1,234", -1234), ("+1,234", 1234), ("1,234,567", 1234567), (" 12,345 ", 12345), ("1234", 1234),
    ("1,234.5", 1234.5), ("1,234.", 1234.0), ("1234.5", 1234.5), ("999", 999), ("1,000", 1000), (".5", 0.5),
    ("7.00", 7.0),
    ("9,007,199,254,740,993", BIG + 1), ("9007199254740993", BIG + 1), ("-9,223,372,036,854,775,808", -(2**63)),
    ("9,223,372,036,854,775,807", 2**63 - 1), ("9,223,372,036,854,775,808", 2.0**63),
    ("4,611,686,018,427,387,905", 2**62 + 1),
    ("0.123", 0.123), ("007", 7), ("0", 0), ("-0", 0), ("9,007,199,254,740,993.0", float(BIG)),
    *((text, NEITHER) for text in (
        "0,123", "00,123", ",123", "1,23", "12,34", "1,2345", "1234,567", "1,,234", "1,234,", "1,234,56", "1,234.567,8",
        "1.234,5", "1.234.567", ".123,456", "1,5", "1e3", "1,234e3", "inf", "-Infinity", "1,234-", "(1,234)", "$1,234",
        "1,234%", "--1,234", "+-1", "1 234", "1\u00a0234.5.6", "\u22121", "abc", "1;234", ",", ".", "-",
        "1,\u0662\u0663\u0664",
        "1,234\n", "\t1,234", "1_234", "0x10", "1" * 301,
    )),
    *((text, MISSING) for text in _NO_VALUE),
]  # fmt: skip
"""What is a number where "," groups digits, and "." is the decimal separator."""


def _in_groups(thousands: str, decimal: str) -> Cells:
    """Return the cases with other marks; where a text already has one of these, a semicolon replaces it."""
    table = str.maketrans({thousands: ";", decimal: ";", ",": thousands, ".": decimal})
    return [(text.translate(table) if isinstance(text, str) else text, meaning) for text, meaning in _IN_GROUPS]


_COMMON: Cells = [("-9", MISSING), ("-9.0", MISSING)]

TEXTS: Mapping[str, Cells] = {
    "float": _OF_A_POINT,
    "comma": _OF_A_COMMA,
    "integer": _OF_A_POINT,
    "grouped": [*_IN_GROUPS, *_COMMON],
    "points": _in_groups(".", ","),
    "blanks": _in_groups("\u00a0", ","),
    "apostrophes": _in_groups("'", "."),
}

# What columns of each kind may hold, whatever an engine calls the kind.
_DOUBLES: Cells = [
    (0.1, 0.1), (1.5, 1.5), (7.0, 7.0), (1e300, 1e300), (5e-324, 5e-324), (float(BIG), float(BIG)), (None, MISSING),
    (float(BIG + 4), float(BIG + 4)), (float(2**62 + 1024), float(2**62 + 1024)), (-1e300, -1e300), (2e6, 2e6),
]  # fmt: skip
_SINGLES: Cells = [
    (0.1, SINGLE), (1.5, 1.5), (2000000.0, 2e6), (7.0, 7.0), (float(2**24 + 4), float(2**24 + 4)), (None, MISSING),
    (float(BIG), float(BIG)),
]  # fmt: skip
_WHOLE: Cells = [
    (0, 0), (7, 7), (BIG + 1, BIG + 1), (BIG, BIG), (2**63 - 1, 2**63 - 1), (-(2**63), -(2**63)),
    (2**24 + 1, 2**24 + 1), (2**62 + 1, 2**62 + 1), (None, MISSING),
]  # fmt: skip
_DECIMALS: Cells = [
    *((Decimal(n), Decimal(n)) for n in ("7.0", "0.1", "1.5", f"{BIG + 1}.0", f"{BIG + 1}.5", f"{2**62 + 1}.0")),
    (None, MISSING),
]
_LONG_DECIMALS: Cells = [
    *((Decimal(n), Decimal(n)) for n in ("7.0", "0.1", "1.5", "23.63", "1234.56", "7.000000000000000001")),
    (None, MISSING),
]
_WIDE: Cells = [*((n, n) for n in WIDE), (10**30, 10**30), (BIG + 1, BIG + 1), (7, 7), (None, MISSING)]
_CENTS: Cells = [(Decimal("7.00"), 7), (Decimal("1.50"), Decimal("1.5")), (None, MISSING)]
_ENUM: Cells = [("7", 7), ("NA", MISSING), ("x", NEITHER), (None, MISSING)]
_MINUS_NINE: Cells = [(-9, MISSING)]
_INFINITE: Cells = [(math.inf, math.inf), (-math.inf, -math.inf)]
_NAN: Cells = [(math.nan, MISSING)]
_SHORT: Cells = [("7", 7), ("1.5", 1.5), ("NA", MISSING), ("x", NEITHER), (None, MISSING)]

NUMBER_COLUMNS: Mapping[str, Mapping[str, Cells]] = {
    "sqlite": {
        "REAL": [*_DOUBLES, *_INFINITE, *_NAN],
        "INTEGER": _WHOLE,
        "NUMERIC": [*_DOUBLES, *_WHOLE],
        "": [*_DOUBLES, *_WHOLE, ("7", 7), ("x", NEITHER)],
    },
    "duckdb": {
        "DOUBLE": [*_DOUBLES, *_INFINITE, *_NAN],
        "FLOAT": [*_SINGLES, *_INFINITE, *_NAN],
        "BIGINT": _WHOLE,
        "HUGEINT": [*_WHOLE, (2**63, 2**63), *_WIDE],
        "UHUGEINT": _WIDE,
        "DECIMAL(38,0)": _WIDE,
        "DECIMAL(38,20)": _LONG_DECIMALS,
        "UTINYINT": [(7, 7), (None, MISSING)],
        "DECIMAL(22,1)": _DECIMALS,
        "DECIMAL(9,2)": _CENTS,
        "ENUM('7', 'NA', 'x')": _ENUM,
    },
    "postgres": {
        "DOUBLE PRECISION": [*_DOUBLES, *_INFINITE, *_NAN],
        "REAL": [*_SINGLES, *_INFINITE, *_NAN],
        "BIGINT": _WHOLE,
        "SMALLINT": [(7, 7), (None, MISSING)],
        "NUMERIC(22,1)": _DECIMALS,
        "NUMERIC(12,2)": _CENTS,
        "NUMERIC": [*_DECIMALS, *_NAN, *_WHOLE],
        "CHAR(9)": _SHORT,
        "VARCHAR(9)": _SHORT,
    },
    "mysql": {
        "DOUBLE": [cell for cell in _DOUBLES if cell[0] != float(2**62 + 1024)],
        "FLOAT": _SINGLES,
        "BIGINT": _WHOLE,
        "BIGINT UNSIGNED": [(7, 7), (2**63 - 1, 2**63 - 1), (2**64 - 1, 2**64 - 1), (None, MISSING)],
        "TINYINT": [(7, 7), (None, MISSING)],
        "DECIMAL(22,1)": _DECIMALS,
        "DECIMAL(12,2)": _CENTS,
        "ENUM('7', 'NA', 'x')": _ENUM,
        "CHAR(9)": _SHORT,
        "VARCHAR(9) CHARACTER SET latin1": _SHORT,
        "VARCHAR(9) CHARACTER SET utf16": _SHORT,
        "VARCHAR(9) COLLATE utf8mb4_bin": _SHORT,
    },
    "clickhouse": {
        "Nullable(Float64)": [*_DOUBLES, *_INFINITE, *_NAN],
        "Nullable(Float32)": [*_SINGLES, *_INFINITE, *_NAN],
        "Nullable(Int64)": _WHOLE,
        "Int64": [cell for cell in _WHOLE if cell[0] is not None],
        "Nullable(Int128)": [*_WHOLE, (2**63, 2**63), *_WIDE],
        "UInt256": [cell for cell in _WIDE if cell[0] is not None],
        "Nullable(UInt8)": [(7, 7), (None, MISSING)],
        "Nullable(Decimal(22,1))": _DECIMALS,
        "Nullable(Decimal(38,20))": _LONG_DECIMALS,
        "Nullable(Decimal(76,20))": _LONG_DECIMALS,
        "Decimal(12,2)": [cell for cell in _CENTS if cell[0] is not None],
        "Nullable(Enum8('7' = 1, 'NA' = 2, 'x' = 3))": _ENUM,
        "Nullable(FixedString(5))": _SHORT,
        "LowCardinality(Nullable(String))": _SHORT,
        "String": [cell for cell in _SHORT if cell[0] is not None],
    },
    "spark": {
        "DOUBLE": [*_DOUBLES, *_INFINITE, *_NAN],
        "FLOAT": [*_SINGLES, *_INFINITE, *_NAN],
        "BIGINT": _WHOLE,
        "TINYINT": [(7, 7), (None, MISSING)],
        "DECIMAL(22,1)": _DECIMALS,
        "DECIMAL(12,2)": _CENTS,
        "CHAR(9)": _SHORT,
        "STRING COLLATE UNICODE_CI": _SHORT,
    },
}
"""By dialect, the declarations of columns that hold numbers, with what their cells are."""

SIGNED = (
    *("BIGINT", "HUGEINT", "DOUBLE", "FLOAT", "REAL", "NUMERIC", "DECIMAL(12,2)", "DECIMAL(38,20)"),
    *("Nullable(Int64)", "Nullable(Float32)", "Nullable(Decimal(38,20))", "Nullable(Decimal(76,20))"),
)
"""Declarations in which -9 is tried, a word for "no value" that is a number."""


def cells_of(dialect: str, declaration: str, reading: str) -> Cells:
    """Return the cells to try in a column of a declared type, under a reading."""
    cells = NUMBER_COLUMNS[dialect][declaration]
    if declaration in SIGNED:
        cells = [*cells, *(_MINUS_NINE if "-9" in READINGS[reading].nulls else [(-9, -9)])]
    if READINGS[reading].decimal == ",":
        return [(cell, NEITHER if cell == "1.5" else meaning) for cell, meaning in cells]
    return cells


def numbers_of(dialect: str, declaration: str) -> Cells:
    """Return the cells to try in a column of a declared type that never holds text; none for a type that may."""
    cells = cells_of(dialect, declaration, "float")
    held = [(cell, meaning) for cell, meaning in cells if not isinstance(cell, str)]
    held += [(-999, MISSING)] * (declaration in SIGNED)
    return held if any(cell is not None for cell, _ in held) else []


_TRUE_TEXTS = [(text, True) for text in ("true", "TRUE", "True", "t", "T", "1", " 1 ", "1.0")]
_FALSE_TEXTS = [(text, False) for text in ("false", "FALSE", "False", "f", "F", "0", " 0", "0.0")]
_NO_TRUTHS = [(text, None) for text in ("yes", "no", "2", "10", "truth", "", "-", "0.5", "tr\u00fce")] + [(None, None)]

TRUTH_TEXTS: Sequence[tuple[str | None, bool | None]] = [*_TRUE_TEXTS, *_FALSE_TEXTS, *_NO_TRUTHS]
"""Texts in a column of truth values; None is not a truth value."""

TRUTH_COLUMNS: Mapping[str, Sequence[str]] = {
    "sqlite": ("BOOLEAN", "INTEGER", "REAL", "TEXT", ""),
    "duckdb": ("BOOLEAN", "BIGINT", "DOUBLE", "DECIMAL(3,0)", "DECIMAL(12,2)"),
    "postgres": ("BOOLEAN", "INTEGER", "DOUBLE PRECISION", "NUMERIC(1)", "REAL"),
    "mysql": ("BOOLEAN", "INT", "DOUBLE", "BIT(1)", "DECIMAL(1)"),
    "clickhouse": ("Nullable(Bool)", "Nullable(UInt8)", "Nullable(Float64)"),
    "spark": ("BOOLEAN", "INT", "DOUBLE", "DECIMAL(1)"),
}
"""By dialect, the declarations of columns that hold truth values, or 1 and 0 in place of them."""

BOOLEANS = ("BOOLEAN", "Nullable(Bool)")

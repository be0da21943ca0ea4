"""The values of the conformance run, by kind, for a column of the rules in a column type of an engine."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from cases import DAY, TIME_CUTS, Case
from columntypes import ColumnType, Doubles, Numbers, Texts, Times, Truths
from comparing import Block

from shallowrules.rules import Cut, RuleColumn, RuleSet

__all__ = ["CONTROLS", "EDGES", "STRAY", "applies", "block_of", "draw"]

SEED = 12

ORDINARY = 60
"""Values drawn at random, for each column."""

NANS = 24
"""As many as DuckDB's Parquet files of one table, so that each has one."""

EDGES = [
    "+5", "-.5", ".5", "5.", "-0", "+0.0", "1e5", "1E+005", "2e-3", "7e0", "70e-1", "0.7e1", "1e22", "1e308", "1e309",
    "-1e309", "1e400", "-1e400", "1e-400", "-1e-400", "1e999", "9e-999", "00000000000000000000000000000000000005",
    "+0000000000000000000007.50", "9" * 300, "-" + "9" * 299, "0" * 299 + "5", "0." + "0" * 290 + "12345",
    "1" + "0" * 298 + ".", "4.9406564584124654e-324", "2.4703282292062327e-324", "1.7976931348623157e308",
    "1.7976931348623159e308",
    "0.1000000000000000055511151231257827021181583404541015625", "2.5000000000000000000000001",
    "9007199254740992.9999999999999999", "9007199254740993.0", "9007199254740993e0", "18446744073709551616",
    "-9223372036854775809", "9223372036854775808", "9223372036854775807.5", "+9223372036854775807",
]  # fmt: skip

STRAY = [
    "abc", "4x", "x4", "1_0",
    "1.500,0", "1,500.0", "1.5.0", "1,5,0", "+-1", "--1", "++1", "1-", "- 1", "1 2", "1e", "e5",
    ".e5", "+",
    "-", ".", ",", "+.", "1e+", "1e5.5", "1e1000", "1e-1000", "0x10", "0b1", "1d", "1f", "1L", "٣", "１", "½",
    "1٫5", "na",
    "Na", "N A", "null", "NULL", "in", "infin", "+infinit", "nane", "nan1", "1" * 301, "0" * 300 + "1", "$5",
    "5%", "1'000", "true", "''", "\\N", "1;2", "--", "1/2", "(1)", "1e٣",
]  # fmt: skip

CONTROLS = [
    "5\n",
    "\n5",
    "5\r\n",
    "\t5",
    "5\t",
    "5\x0b",
    "\x0c5",
    "5\0",
    "\0",
    "\u00a05",
    "5\u2003",
    "\u200b5",
    "\x1f5",
    "\ufeff5",
]

HARD_TEXTS = [
    "", "'", "''", '"', "\\", "\\\\", "\\'", "%", "_", "%s", "${x}", "{{ x }}", "--", "/* */", ";", "NULL", "null",
    "\\N",
    "true", "1", "😀", "é", "e\u0301", "\u2028", "\ufffd", "a" * 39, "it's",
]  # fmt: skip

TRUTHS = ["true", "false", "TRUE", "False", "t", "F", "0", "1", " true ", "T", "f "]
NO_TRUTHS = ["yes", "no", "2", "-1", "tru", "", "true\n", "ｔ"]


def applies(column: RuleColumn, kind: ColumnType) -> bool:
    """Return whether a table may hold a column of the rules in a column type."""
    if column.type == "text":
        return isinstance(kind.holds, Texts)
    if column.type in TIME_CUTS:
        kind_of_both = {"date": "timestamp"}
        return isinstance(kind.holds, Times) and (
            kind_of_both.get(kind.holds.kind, kind.holds.kind) == kind_of_both.get(column.type, column.type)
        )
    if column.type == "boolean":
        return not isinstance(kind.holds, Times)
    return isinstance(kind.holds, Numbers) or (isinstance(kind.holds, Texts) and column.from_text)


def draw(rules: RuleSet, feature: int, kind: ColumnType, seed: int) -> list[tuple[str, Any]]:
    """Return values with the name of the kind of each, as they are put into the column."""
    column, holds = rules.columns[feature], kind.holds
    chooser = random.Random(f"{seed} {column.name} {kind}")
    cuts = [node.threshold for node in rules.nodes if isinstance(node, Cut) and node.column == feature]
    if isinstance(holds, Times):
        found = list(_times(column, cuts, holds, chooser))
    elif isinstance(holds, Truths):
        found = [("truth values", value) for value in (True, False)]
    elif isinstance(holds, Numbers):
        found = list(_truths_as_numbers(holds) if column.type == "boolean" else _numbers(column, cuts, holds, chooser))
    elif column.type == "boolean":
        found = [("truth values", text) for text in TRUTHS] + [("stray texts", text) for text in NO_TRUTHS]
    elif column.is_numeric:
        found = list(_texts_of_numbers(column, cuts, chooser))
    else:
        found = list(_texts(rules, feature, chooser))
    if isinstance(holds, Texts):
        found = [(name, text) for name, text in found if holds.holds(text)]
        found += [("enums", word) for word in holds.words or ()]
    return [*found, *[("NULL", None)] * kind.nullable]


def block_of(case: Case, kind: ColumnType, place: int) -> Block:
    """Return the rows of a case in columns of one type; with several columns, one at a time has a value of each
    kind."""
    called = {column.name: f"c{place}_{j}" for j, column in enumerate(case.rules.columns)}
    columns = [draw(case.rules, j, kind, SEED) for j in range(len(case.rules.columns))]
    if len(columns) == 1:
        rows = [(value,) for _, value in columns[0]]
        return Block(case.rules, [kind], [name for name, _ in columns[0]], rows, called)
    names, rows = [], []
    for j, values in enumerate(columns):
        for i, (name, value) in enumerate(values):
            row = [others[(7 * i + 3 * k) % len(others)][1] for k, others in enumerate(columns)]
            row[j] = value
            names.append(name)
            rows.append(tuple(row))
    return Block(case.rules, [kind] * len(columns), names, rows, called)


def _truths_as_numbers(holds: Numbers) -> Iterator[tuple[str, Any]]:
    for number in (0, 1, 2):
        for value in holds.beside(number):
            if value == number:
                yield "truth values", value


def _numbers(column: RuleColumn, cuts: list[Any], holds: Numbers, chooser: random.Random) -> Iterator[tuple[str, Any]]:
    for cut in cuts:
        yield from (("boundaries", value) for value in holds.beside(cut))
    near = [number for cut in cuts for number in _around(cut, chooser)]
    drawn = [chooser.uniform(-10, 2100) for _ in range(ORDINARY)] + near
    yield from (("ordinary", chooser.choice(found)) for number in drawn if (found := holds.beside(number)))
    for number in (*column.conversion.null_numbers, 2**53 + 1):
        yield from (("null numbers", value) for value in holds.beside(number))
    for number in (2**53, -(2**53), 2**53 + 1, -(2**53) - 1, 2**24 + 1, -(2**24) - 1):
        yield from (("neighbors of 2^53 and 2^24", value) for value in holds.beside(number))
    for number in (2**63 - 1, -(2**63), 2**63, 2**64, -(2**63) - 1):
        yield from (("ends of 64 bits", value) for value in holds.beside(number))
    yield from (("ends of the type", value) for value in holds.ends())
    yield from (("NaN", math.nan) for _ in range(NANS * holds.nan))
    yield from (("infinities", sign * math.inf) for sign in (1, -1) if holds.infinite)


def _times(column: RuleColumn, cuts: list[Any], holds: Times, chooser: random.Random) -> Iterator[tuple[str, Any]]:
    unit = DAY if column.type == "date" else 1
    for cut in cuts:
        for moment in (cut * unit, (cut + 1) * unit, (cut + 1) * unit - DAY, (cut + 1) * unit + DAY - 1):
            yield from (("boundaries", value) for value in holds.beside(moment))
    lowest, highest = max(holds.low, -30_000 * DAY), min(holds.high, 60_000 * DAY)
    for _ in range(ORDINARY):
        yield from (("ordinary", value) for value in holds.beside(chooser.randint(lowest, highest))[:1])
    if holds.kind != "duration":
        days = (10_957, 11_015, 11_016, 11_382, -1, 0, 19_782, 47_541, -25_508)  # of leap years, and their ends
        yield from (("leap years", value) for day in days for value in holds.beside(day * DAY))
    yield from (("ends of the type", value) for value in holds.ends())


def _around(cut: int | float, chooser: random.Random) -> list[int | float]:
    if isinstance(cut, int):
        return [max(-(2**63), min(2**63 - 1, cut + chooser.randint(-3, 3))) for _ in range(5)]
    return [cut * (1 + chooser.uniform(-1e-3, 1e-3)) for _ in range(5)]


def _texts_of_numbers(column: RuleColumn, cuts: list[Any], chooser: random.Random) -> Iterator[tuple[str, str]]:
    point = column.decimal
    exact = Doubles()
    for name, value in _numbers(column, cuts, exact, chooser):
        if name not in ("ends of the type", "NaN", "infinities"):
            yield name, _spelt(value, point, chooser)
    for cut in cuts:
        if isinstance(cut, int):
            texts = [str(cut), f"{cut}.0", f"{cut}.4", f"{cut}.5", f"{cut}e0", f"+{cut}".replace("+-", "-"), f" {cut} "]
            texts += [str(cut + step) for step in (-1, 1)]
        else:
            texts = [repr(cut), f" {cut!r}", f"{cut:.20e}", f"{cut:.3f}"]
        yield from (("boundaries", text.replace(".", point)) for text in texts if len(text) < 350)
    for number in (2**53 + 1, -(2**53) - 1, 2**53, 2**24 + 1):
        texts = [str(number), f" {number} ", f"{number:020}"]
        yield from (("neighbors of 2^53 and 2^24", text) for text in texts)
    for number in (2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 10**18, 10**19):
        yield from (("ends of 64 bits", text) for text in (str(number), f" {number}"))
    for number in column.conversion.null_numbers:
        texts = [str(number), f" {number} ", f"{float(number)!r}", f"{float(number):.6e}", f"{float(number):.1f}0"]
        yield from (("null numbers", text.replace(".", point)) for text in texts)
    yield from (("grammar's edges", text.replace(".", point)) for text in EDGES)
    yield from (("NaN", text) for text in ("nan", "NaN", " NAN ", "-nan", "+nan"))
    names = ("inf", "-inf", "+Inf", " INFINITY ", "-Infinity", "iNf", "1e400", "-1e400")
    yield from (("infinities", text) for text in names)
    yield from (
        ("missing words in spaces", f"{a}{word}{b}")
        for word in (*column.nulls, "")
        for a in ("", " ", "  ")
        for b in ("", " ")
    )
    yield from (("stray texts", text) for text in (*STRAY, f"1{'.' if point == ',' else ','}5"))
    yield from (("control characters", text) for text in CONTROLS)
    yield from (("control characters", f"{word}{end}") for word in column.nulls for end in ("\n", "\t", "\0", "\u00a0"))


def _spelt(value: Any, point: str, chooser: random.Random) -> str:
    text = repr(value) if chooser.random() < 0.7 else f"{value:.17e}"
    return f"{chooser.choice(['', '', ' ', '   '])}{text}{chooser.choice(['', '', ' '])}".replace(".", point)


def _texts(rules: RuleSet, feature: int, chooser: random.Random) -> Iterator[tuple[str, str]]:
    column = rules.columns[feature]
    categories = [str(value) for value in column.values]
    yield from (("ordinary", chooser.choice([*categories, "other", "another one"])) for _ in range(ORDINARY))
    for text in categories:
        like = (
            text.swapcase(),
            text + "\u0301",
            text.replace("e", "é"),
            text.replace("A", "Á"),
            text.replace("A", "Ａ"),
        )
        yield from (("collation look-alikes", each) for each in (*like, text.upper(), text.lower(), text + "\u200d"))
        pads = (text + " ", text + "   ", " " + text, f" {text} ", text + "\u00a0", text + "\u3000")
        yield from (("padding", each) for each in (text, *pads))
        yield from (("control characters", text + each) for each in ("\n", "\t", "\0", "\r", "\x1a", "\x7f", "\0\0"))
        yield from (("control characters", each + text) for each in ("\n", "\0", "\x1b"))
    yield from (("hard texts", text) for text in HARD_TEXTS)
    for word in (*column.nulls, ""):
        yield from (("missing words in spaces", f"{a}{word}{b}") for a in ("", " ", "  ") for b in ("", " ", "\t"))

"""Rows that are hard for some form of the rules: on thresholds and beside them, missing values, look-alikes, text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import cast

import numpy as np

from shallowrules.rules import Between, ConditionVisitor, Cut, NoneOf, Number, OneOf, Rule, RuleColumn, RuleSet
from shallowrules.rules.columns import UINT64, held_numbers
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import GRAMMAR
from shallowrules.tables.table import Table

__all__ = [
    "Cell",
    "Neighbors",
    "boundary_table",
    "boundary_texts",
    "has_text",
    "in_single_precision",
    "neighbors",
    "table_of_rows",
    "texts_without_number",
    "threshold_rows",
]

Cell = int | float | str | bool | None

Neighbors = Callable[[RuleColumn, Number], tuple[Number, Number]]
"""Gives the last value of a column up to a number, and the first above it."""

INFINITIES = ("inf", "+Inf", "-INF", "Infinity", "-infinity")

NO_PLAIN_CODES = ("03", "3.0", "3.", "+3", "-0", "3.5", "3e0", "3\n", "abc", "\u0663")
"""Texts that SQL does not read as codes."""

NO_NUMBERS = ("+-1", "1_0", "--1", "0x10", "5\n", "\t1", "1e", "+.e5", "4x", "abc", "1e1000", "\u0663")
"""Texts that an engine's own cast, but not the rules, may read as a number."""


MISPLACED = (
    *("1.5", "1,5", "12,34,567", "12.34.567", "1 23", "1'23", "0,123", "0.123", "1,234.5", "1.234,5", "$1", "1%"),
    *("(1)", "1-", "\u22121"),
)
"""Texts that are numbers in one format but not in another."""


def boundary_table(rules: RuleSet) -> Table:
    """Return rows around the box of every rule, in the tested columns.

    From a row inside the box: each threshold of the rule and the two numbers next to it, and in each column of the rule
    NULL, NaN and both infinities (for whole numbers the ends of 64 bits). For text, each category of the rule, a text
    that no row had, the empty one, and texts that a collation treats as the category: with other capitals, an extra
    blank or an accent.
    """
    return table_of_rows(rules, [row for rule in rules for row in _around(rules, rule, _Hard(), neighbors)])


def table_of_rows(rules: RuleSet, rows: Sequence[Mapping[int, Cell]]) -> Table:
    """Return rows, whose values are keyed by the place of their column, as a table of the tested columns."""
    tested = rules.tested_columns
    columns = [_column(rules.columns[feature], [row[feature] for row in rows]) for feature in tested]
    return Table(tuple(columns), len(rows) if tested else 0)


def neighbors(column: RuleColumn, number: Number) -> tuple[Number, Number]:
    """Return a number and the next one, of 64 bits."""
    return (int(number), int(number) + 1) if column.is_whole else (float(number), math.nextafter(number, math.inf))


def threshold_rows(rules: RuleSet, most: int, beside: Neighbors = neighbors) -> list[dict[int, Cell]]:
    """Return a few rows for people to read, with values keyed by the place of their column.

    For every rule a row that it matches; from there the values on both sides of each threshold, and each category of
    the rule; then a missing value in each tested column. The rules take turns, the largest first.

    Parameters
    ----------
    rules : RuleSet
    most : int
        Number of rows with all values at most, and as many again with a missing one.
    beside : Neighbors
        What is next to a threshold in the type that a column has where the rows go.
    """
    possible = [rule for rule in rules if None not in _inside(rules, rule, beside).values()]
    turns = zip_longest(*(_around(rules, rule, _BoundaryCells(beside), beside) for rule in possible))
    complete = {tuple(row.items()): row for turn in turns for row in turn if row is not None}
    missing = {
        condition.feature: {**_inside(rules, rule, beside), condition.feature: None}
        for rule in reversed(possible)
        for condition in rule.conditions
    }
    return [*[*complete.values()][:most], *[missing[feature] for feature in sorted(missing)][:most]]


def boundary_texts(rules: RuleSet) -> Table:
    """Return the finite rows of `boundary_table` as given by a reader that does not know how to convert text.

    Infinities appear under their names, and columns of whole numbers have fractions and other ways to write a number.
    """
    hard = _HardTexts(rules)
    rows = [row for rule in rules for row in _around(rules, rule, hard, neighbors)]
    converted = [feature for feature in rules.tested_columns if rules.columns[feature].from_text]
    return _text_table(rules, [row for row in rows if all(has_text(rules.columns[j], row[j]) for j in converted)])


def texts_without_number(rules: RuleSet) -> Table:
    """Return a row in the box of every rule for each text that is not a number in each column that it reads from text.

    Such a text is not a missing value either: it is not imputed.
    """
    rows: list[dict[int, Cell]] = []
    for rule in rules:
        inside = _inside(rules, rule, neighbors)
        for condition in rule.conditions:
            if condition.column.codes:
                texts = [text for text in NO_PLAIN_CODES if text not in condition.column.nulls]
                rows += [{**inside, condition.feature: text} for text in texts]
            elif condition.column.from_text:
                conversion = condition.column.conversion
                texts = [text for text in (*NO_NUMBERS, *MISPLACED) if conversion.read(text) is None]
                rows += [{**inside, condition.feature: _Written(text)} for text in texts]
    return _text_table(rules, rows)


class _Written(str):
    """A text as in a file, without a decimal separator added."""


def _text_table(rules: RuleSet, rows: Sequence[dict[int, Cell]]) -> Table:
    """Return rows in which the columns that are read from text are text, by the conversion of each."""
    columns = []
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        values = [row[feature] for row in rows]
        if column.from_text:
            texts = np.array([_spell(column, value) for value in values], dtype=object)
            columns.append(Column(column.name, "text", texts))
        else:
            columns.append(_column(column, values))
    return Table(tuple(columns), len(rows))


def _column(column: RuleColumn, values: Sequence[Cell]) -> Column:
    """Return values as a column of the type that the rules compare."""
    if not column.is_numeric:
        return Column(column.name, column.type, np.array(values, dtype=object))
    missing = np.array([value is None for value in values], dtype=bool)
    dtype = np.float64 if not column.is_whole else np.uint64 if held_numbers(column) is UINT64 else np.int64
    filled = np.array([0 if value is None else value for value in values], dtype=dtype)
    return Column(column.name, column.type, filled, missing if missing.any() else None)


def has_text(column: RuleColumn, value: Cell) -> bool:
    """Return whether a number can occur in the text of a column: a format has neither infinity nor exponents."""
    if not column.format or value is None:
        return not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, str) or not math.isfinite(value):
        return False
    return len(column.conversion.written(value)) <= GRAMMAR.longest


def _spell(column: RuleColumn, value: Cell) -> str | None:
    """Return a number as it may be written in a file, or a word for "no value"."""
    if value is None:
        words = column.conversion.words
        return f" {words[0]} " if words else None
    if isinstance(value, _Written):
        return f" {value}"
    if isinstance(value, str):
        return f" {value}".replace(".", column.decimal)
    return f" {column.conversion.written(value)}"


def _inside(rules: RuleSet, rule: Rule, beside: Neighbors) -> dict[int, Cell]:
    """Return a row inside the box of a rule, in the tested columns."""
    within = _Within(beside)
    inside: dict[int, Cell] = {}
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        inside[feature] = within(Between(feature, column) if column.is_numeric else NoneOf(feature, column, ()))
    for condition in rule.conditions:
        inside[condition.feature] = within(condition)
    return inside


def _around(
    rules: RuleSet, rule: Rule, hard: ConditionVisitor[list[Cell]], beside: Neighbors
) -> Iterator[dict[int, Cell]]:
    inside = _inside(rules, rule, beside)
    yield inside
    for condition in rule.conditions:
        yield from ({**inside, condition.feature: value} for value in hard(condition))


class _Within(ConditionVisitor[Cell]):
    """A value that satisfies a condition, if the column's type and the categories allow one."""

    def __init__(self, beside: Neighbors) -> None:
        self.beside = beside

    def between(self, condition: Between) -> Cell:
        """Return the upper bound, or else the number next to the lower one, or else the smallest."""
        column, lower, upper = condition.column, condition.lower, condition.upper
        if column.is_whole:
            smallest = int(cast(int, column.minimum)) if lower is None else int(lower) + 1
            held = held_numbers(column)
            return max(held[0], min(smallest if upper is None else int(upper), held[-1]))
        if upper is None and lower is not None:
            return self.beside(column, lower)[1]
        return self.beside(column, cast(float, column.minimum) if upper is None else upper)[0]

    def one_of(self, condition: OneOf) -> Cell:
        """Return the first of the categories."""
        return next(iter(condition.values), _no_category(condition.column))

    def none_of(self, condition: NoneOf) -> Cell:
        """Return the column's first category that is not among them."""
        others = (value for value in condition.column.values if value not in condition.values)
        return next(others, _no_category(condition.column))


def _no_category(column: RuleColumn) -> Cell:
    """Return a value that is not a category of a column; missing for truth values, of which there are two."""
    if column.codes:
        return str(max(map(int, column.values)) + 1)
    return None if column.type == "boolean" else "no such category"


class _Hard(ConditionVisitor[list[Cell]]):
    """Values on the edge of a condition, and those that engines confuse with others."""

    def between(self, condition: Between) -> list[Cell]:
        """Return each bound and its neighbors, missing values and the ends of the type."""
        bounds = [bound for bound in (condition.lower, condition.upper) if bound is not None]
        hard: list[Cell]
        if condition.column.is_whole:
            near = [int(bound) + step for bound in bounds for step in (-1, 0, 1)]
            held = held_numbers(condition.column)
            hard = [None, held[0], held[-1], *(value for value in near if value in held)]
        else:
            hard = [None, math.nan, -math.inf, math.inf]
            for bound in bounds:
                hard += [math.nextafter(bound, -math.inf), float(bound), math.nextafter(bound, math.inf)]
        return hard if condition.column.is_time else [*hard, *condition.column.conversion.null_numbers]

    def one_of(self, condition: OneOf) -> list[Cell]:
        """Return the categories and texts that resemble them."""
        return self._around(condition)

    def none_of(self, condition: NoneOf) -> list[Cell]:
        """Return the categories and texts that resemble them."""
        return self._around(condition)

    def _around(self, condition: OneOf | NoneOf) -> list[Cell]:
        if condition.column.type == "boolean":
            return [None, True, False]
        if condition.column.codes:
            near = (int(value) + step for value in condition.values for step in (-1, 0, 1))
            return [None, "", *map(str, near), *map(str, condition.column.conversion.null_numbers)]
        return [None, "", *condition.column.nulls, *_similar(cast(tuple[str, ...], condition.values))]


class _BoundaryCells(ConditionVisitor[list[Cell]]):
    """Values on both sides of each threshold, and the categories that are asked for."""

    def __init__(self, beside: Neighbors) -> None:
        self.beside = beside

    def between(self, condition: Between) -> list[Cell]:
        """Return the last value up to each bound, and the first above."""
        bounds = [bound for bound in (condition.lower, condition.upper) if bound is not None]
        values = [value for bound in bounds for value in self.beside(condition.column, bound)]
        return [value for value in values if not condition.column.is_whole or value in held_numbers(condition.column)]

    def one_of(self, condition: OneOf) -> list[Cell]:
        """Return the categories."""
        return list(condition.values)

    def none_of(self, condition: NoneOf) -> list[Cell]:
        """Return the categories."""
        return list(condition.values)


class _HardTexts(_Hard):
    """The same for columns that are text, where infinity has many names, and whole numbers may have fractions."""

    def __init__(self, rules: RuleSet) -> None:
        numbers: dict[int, set[float]] = {}
        for node in rules.nodes:
            if isinstance(node, Cut):
                column = rules.columns[node.column]
                numbers.setdefault(node.column, {*column.conversion.null_numbers}).add(node.threshold)
        # Beside a fraction, NumPy turns whole numbers into floats, so those beyond 2**53 cannot be told from their
        # neighbors.
        self.fractional = {
            feature for feature, found in numbers.items() if all(abs(number) < 2**53 for number in found)
        }

    def between(self, condition: Between) -> list[Cell]:
        """Return infinities, and fractions on both sides of each bound, too."""
        hard = super().between(condition)
        column = condition.column
        is_fractional = condition.feature in self.fractional
        if column.is_whole and column.from_text and is_fractional:
            for bound in (condition.lower, condition.upper):
                if bound is not None:
                    hard += [bound - 0.5, bound + 0.4, bound + 0.6, f"{bound}.0", f"{bound}e0", "1e200", "-1e200"]
        if column.from_text and (column.type == "float" or is_fractional):
            hard += INFINITIES
        return hard


def _similar(values: Sequence[str]) -> Iterator[str]:
    """Return categories, and texts that a collation or a careless comparison treats as equal to them."""
    for value in values:
        yield from (value, value.swapcase(), value + " ", " " + value, value + "\u0301", value + "x", value[:-1])


def in_single_precision(boundary: Table) -> Table:
    """Return the rows as a column of single-precision floats can hold them."""
    columns = []
    for column in boundary.columns:
        values = column.values
        if column.type == "float":
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        columns.append(Column(column.name, column.type, values, column.missing))
    return Table(tuple(columns), boundary.n_rows)

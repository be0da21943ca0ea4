"""Rules as SQL predicates: what every style of export is laid out from, and `shallowrules.verification` runs.

A column without a value meets no condition, so such a row gets no cluster: conditions are compared directly and never
negated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shallowrules.exporters.context import bounds
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.rules import Between, ConditionVisitor, NoneOf, Number, OneOf, Rule, RuleColumn, Value

__all__ = ["Predicates"]

EVERY_ROW = "1 = 1"
NO_ROW = "1 = 0"

DOUBLE_EXACT = 2**53
"""Below it, a double tells each whole number from its neighbours."""

MAX_CHAIN = 100
"""Engines bound the depth of an expression (SQLite at 1000), and a chain of ANDs or ORs is as deep as it is long."""


class Predicates(ConditionVisitor[list[str]]):
    """Conditions, rules and clusters as SQL.

    Parameters
    ----------
    names : sequence of str
        What the database calls each column of the rules.
    dialect : Dialect
    """

    def __init__(self, names: Sequence[str], dialect: Dialect) -> None:
        self.names = names
        self.dialect = dialect

    def of_rule(self, rule: Rule) -> str:
        """Return what is true of the rows that a rule matches."""
        parts = [part for condition in rule.conditions for part in self(condition)]
        return _chain(parts, " AND ") or EVERY_ROW

    def of_cluster(self, rules: Sequence[Rule]) -> str:
        """Return what is true of the rows that one of several rules matches."""
        return self.of_any([self.of_rule(rule) for rule in rules])

    def of_any(self, predicates: Sequence[str]) -> str:
        """Return what is true of the rows that meet one of several predicates."""
        if len(predicates) == 1:
            return predicates[0]
        alternatives = _chain([f"({predicate})" for predicate in predicates], "\n  OR ")
        return f"(\n  {alternatives}\n)"

    def between(self, condition: Between) -> list[str]:
        """Return a comparison for each bound, and one that NaN does not meet."""
        dialect = self.dialect
        lower, upper = bounds(condition)
        parts = []
        for sign, bound in ((">", lower), ("<=", upper)):
            if bound is not None:
                column = self._read(condition, bound)
                parts.append(f"{column} {sign} {dialect.number(bound)}")
        if not _never_nan(condition.column, dialect):  # integer columns too: the database may hold them as doubles
            parts += _not_nan(column, lower, upper, dialect, decided=not condition.column.from_text)
        return parts

    def one_of(self, condition: OneOf) -> list[str]:
        """Return a comparison with the categories to be one of."""
        return [self._compare(condition, "=", "IN") if condition.values else NO_ROW]

    def none_of(self, condition: NoneOf) -> list[str]:
        """Return a comparison with the categories to be none of."""
        return [self._compare(condition, "<>", "NOT IN")]

    def _compare(self, condition: OneOf | NoneOf, with_one: str, with_several: str) -> str:
        column = self._read(condition)
        if condition.column.type == "text":
            column = self.dialect.texts.column.format(column=column)
        literals = [self.dialect.category(value) for value in condition.values]
        if len(literals) == 1:
            return f"{column} {with_one} {literals[0]}"
        return f"{column} {with_several} ({', '.join(literals)})"

    def _read(self, condition: Between | OneOf | NoneOf, bound: Number = 0) -> str:
        return _read(condition.column, self.names[condition.feature], self.dialect, bound)


def _not_nan(value: str, lower: Number | None, upper: Number | None, dialect: Dialect, *, decided: bool) -> list[str]:
    """Return what holds of a value between bounds unless it is NaN; nothing where the bounds see to that.

    `decided` tells whether the engine may know bounds of the value.
    """
    nan = dialect.nan
    if decided and nan.finite is not None:
        finite = nan.finite.format(value=value)
        if lower is not None and upper is not None:
            return [finite]
        return [f"({value} = {'-' if lower is None else ''}{nan.infinity} OR {finite})"]
    if nan.sorts == "highest" and upper is None:
        return [f"{value} <= {nan.infinity}"]
    if nan.sorts == "lowest" and lower is None:
        return [f"{value} >= -{nan.infinity}"]
    return []


def _never_nan(column: RuleColumn, dialect: Dialect) -> bool:
    """Return whether NaN has become the imputed value before a column is compared."""
    return column.imputed is not None and column.type == "float" and dialect.nan.as_null is not None


def _read(column: RuleColumn, name: str, dialect: Dialect, bound: Number) -> str:
    """Return a column as the rules compare it with a bound: converted, and with its missing values imputed."""
    value = dialect.identifier(name)
    conversion = column.conversion
    may_be_nan = column.type == "float"
    if column.is_numeric:
        if column.from_text:
            as_double = column.type == "float" or all(
                -DOUBLE_EXACT < number < DOUBLE_EXACT for number in (bound, *conversion.null_numbers)
            )
            value = _parse(column, value, dialect, as_double=as_double)
            may_be_nan |= as_double and not dialect.numbers.checks_text
        for number in conversion.null_numbers:
            value = f"NULLIF({value}, {dialect.number(float(number) if column.type == 'float' else number)})"
    elif conversion.nulls:
        words = ", ".join(map(dialect.category, _writable(conversion.nulls, dialect)))
        if words:
            value = (
                f"CASE WHEN {dialect.texts.column.format(column=f'TRIM({value})')} NOT IN ({words}) THEN {value} END"
            )
    if column.imputed is None:
        return value
    if may_be_nan and dialect.nan.as_null is not None:
        value = dialect.nan.as_null.format(value=value)
    elif column.type == "text":
        value = dialect.texts.beside_literals.format(value=value)
    return f"COALESCE({value}, {_literal_of(column.imputed, column, dialect)})"


def _literal_of(value: Number | Value, column: RuleColumn, dialect: Dialect) -> str:
    if isinstance(value, str):
        return dialect.string(value)
    if isinstance(value, bool):
        return dialect.category(value)
    return dialect.number(float(value) if column.type == "float" else value)


def _parse(column: RuleColumn, value: str, dialect: Dialect, *, as_double: bool) -> str:
    """Return the number in a column of text, which may also hold numbers already; NULL where the text is no number.

    In a column of whole numbers a text may hold a fraction: 1.4 is above 1, so that no engine may round or cut it.
    """
    numbers = dialect.numbers
    text = f"TRIM({numbers.as_text.format(value=value)})"
    for word in _writable(column.conversion.words, dialect):
        if not numbers.checks_text or _is_infinite(column.conversion.number(word)):
            text = f"NULLIF({text}, {dialect.string(word)})"
    if column.conversion.decimal != ".":
        text = f"REPLACE({text}, {dialect.string(column.conversion.decimal)}, {dialect.string('.')})"
    if column.type == "float":
        template = numbers.to_double
    else:
        template = numbers.integer_to_double if as_double else numbers.to_integer
    return template.format(text=text, value=value)


def _is_infinite(number: Number | None) -> bool:
    return number is not None and math.isinf(number)


def _writable(words: Sequence[str], dialect: Dialect) -> list[str]:
    """Return the words that a dialect can tell from NULL: one that takes the empty text for NULL needs no care."""
    return [word for word in words if word or dialect.texts.empty]


def _chain(parts: Sequence[str], link: str) -> str:
    """Join parts by AND or OR, in nested groups where the chain would be too deep for an engine."""
    if len(parts) <= MAX_CHAIN:
        return link.join(parts)
    size = max(MAX_CHAIN, math.isqrt(len(parts)) + 1)
    groups = [parts[start : start + size] for start in range(0, len(parts), size)]
    return link.join(f"({link.join(group)})" for group in groups)

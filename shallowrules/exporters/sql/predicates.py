"""Rules as SQL predicates: the basis of every style of export, and run by `shallowrules.verification`.

A missing value satisfies no condition, so the row gets no cluster: conditions are compared directly and never negated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Self

from shallowrules.exporters.context import bounds
from shallowrules.exporters.sql.categories import TextColumn, TruthColumn
from shallowrules.exporters.sql.declared import Held
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.reading import CodeColumn, NumberColumn
from shallowrules.exporters.sql.times import TimeColumn
from shallowrules.rules import Between, Condition, ConditionVisitor, NoneOf, Number, OneOf, Rule, RuleColumn

__all__ = ["EVERY_ROW", "Predicates"]

EVERY_ROW = "1 = 1"
NO_ROW = "1 = 0"

MAX_LINE = 100
"""Maximum number of characters of a line that has more than one condition."""

MAX_CHAIN = 100
"""Engines bound the depth of an expression (SQLite at 1,000), and a chain of ANDs or ORs is as deep as it is long."""


Parts = tuple[list[str], list[str]]
"""The comparisons of a condition, and the guards against anything that is not a value of the column."""


class Predicates(ConditionVisitor[Parts]):
    """Conditions, rules and clusters as SQL.

    Guards come after all comparisons of a rule, so an engine tests them only on the rows that satisfy these.

    Parameters
    ----------
    names : sequence of str
        The database's name of each column of the rules.
    dialect : Dialect
    held : sequence of Held or None, optional
        What each column holds, None where that is not known; by default nothing is known of any.
    valued : bool
        Whether they are about rows of which none is as `without_value` says.
    indent : int, optional
        Blanks before each but the first condition of a rule that is too long for a line; by default all stand on one.
    """

    def __init__(
        self,
        names: Sequence[str],
        dialect: Dialect,
        held: Sequence[Held | None] | None = None,
        *,
        valued: bool = False,
        indent: int | None = None,
    ) -> None:
        self.names = names
        self.dialect = dialect
        self.held = (None,) * len(names) if held is None else held
        self.valued = valued
        self.indent = indent

    def behind_missing(self) -> Self:
        """Return the same predicates, for rows that `without_value` never matches."""
        return type(self)(self.names, self.dialect, self.held, valued=True, indent=self.indent)

    def indented(self, indent: int | None) -> Self:
        """Return the same predicates with other blanks before a condition."""
        return type(self)(self.names, self.dialect, self.held, valued=self.valued, indent=indent)

    def of_rule(self, rule: Rule) -> str:
        """Return the predicate for the rows that a rule matches."""
        return self.of_all(rule.conditions)

    def of_all(self, conditions: Iterable[Condition], also: str = "") -> str:
        """Return the predicate for the rows that satisfy some conditions and another predicate."""
        told = [self(condition) for condition in conditions]
        parts = [comparison for comparisons, _ in told for comparison in comparisons]
        parts += [guard for _, guards in told for guard in guards]
        if also:
            parts = [*parts, f"({also})" if parts and " OR " in also else also]
        line = _chain(parts, " AND ")
        if self.indent is None or len(line) + self.indent <= MAX_LINE:
            return line or EVERY_ROW
        return _chain(parts, f"\n{' ' * self.indent}AND ")

    def without_value(self, feature: int, column: RuleColumn) -> str:
        """Return the predicate for the rows that satisfy no condition on a column; empty where there are none."""
        return self._column(feature, column).without_value()

    def number(self, feature: int) -> str:
        """Return the number in a column that the rules do not test, NULL for NaN where the engine has that."""
        plain = RuleColumn(self.names[feature], "float", None, None, None)
        column = NumberColumn(plain, self.names[feature], self.dialect, self.held[feature])
        missing = column.without_value()
        if missing == f"{column.value} IS NULL":
            return column.value
        return f"CASE WHEN NOT ({missing}) THEN {column.value} END"

    def of_cluster(self, rules: Sequence[Rule]) -> str:
        """Return the predicate for the rows that one of several rules matches."""
        return self.of_any([self.of_rule(rule) for rule in rules])

    def unknown(self, feature: int, column: RuleColumn) -> str:
        """Return the predicate for the rows whose text in a column no training row had."""
        texts = [value for value in column.values if isinstance(value, str) and (value or self.dialect.texts.empty)]
        return self._categorical(feature, column).none_of(texts)

    def _categorical(self, feature: int, column: RuleColumn) -> CodeColumn | TextColumn:
        kind = CodeColumn if column.codes else TextColumn
        return kind(column, self.names[feature], self.dialect, self.held[feature])

    def _column(self, feature: int, column: RuleColumn) -> NumberColumn | TextColumn | TimeColumn | TruthColumn:
        name, dialect, held = self.names[feature], self.dialect, self.held[feature]
        if column.is_time:
            return TimeColumn(column, name, dialect)
        if column.is_numeric:
            return NumberColumn(column, name, dialect, held)
        if column.type == "boolean":
            return TruthColumn(column, name, dialect, held)
        return self._categorical(feature, column)

    def of_any(self, predicates: Sequence[str]) -> str:
        """Return the predicate for the rows that satisfy one of several predicates."""
        if len(predicates) == 1:
            return predicates[0]
        alternatives = _chain([f"({predicate})" for predicate in predicates], "\n  OR ")
        return f"(\n  {alternatives}\n)"

    def between(self, condition: Between) -> Parts:
        """Return a comparison for each bound, and guards against NaN and numeric null markers."""
        rule_column = condition.column
        if rule_column.is_time:
            return self._times(condition)
        column = NumberColumn(rule_column, self.names[condition.feature], self.dialect, self.held[condition.feature])
        lower, upper = bounds(condition)
        parts = [column.compare(sign, bound) for sign, bound in ((">", lower), ("<=", upper)) if bound is not None]
        if self.valued and rule_column.imputed is None:
            return parts, []
        null_numbers = rule_column.conversion.null_numbers
        if rule_column.type == "float":
            null_numbers = tuple(map(float, null_numbers))
        guards = [column.is_not(number) for number in null_numbers if _within(number, lower, upper)]
        value, _ = column.beside(0 if lower is None else lower)
        # Integer columns too: the database may hold them as doubles.
        if column.may_be_nan:
            guards += column.not_nan(value, lower, upper)
        imputed = rule_column.imputed
        if isinstance(imputed, int | float) and _within(imputed, lower, upper):
            return [f"({column.missing()} OR {' AND '.join([*parts, *guards])})"], []
        return parts, guards

    def _times(self, condition: Between) -> Parts:
        column = TimeColumn(condition.column, self.names[condition.feature], self.dialect)
        lower, upper = bounds(condition)
        parts, imputed = column.between(lower, upper), condition.column.imputed
        if isinstance(imputed, int) and _within(imputed, lower, upper):
            return [f"({column.missing()} OR {' AND '.join(parts)})"], []
        return parts, []

    def one_of(self, condition: OneOf) -> Parts:
        """Return a comparison with the accepted categories."""
        return self._categories(condition, condition.column.imputed in condition.values)

    def none_of(self, condition: NoneOf) -> Parts:
        """Return a comparison with the excluded categories."""
        return self._categories(condition, condition.column.imputed not in condition.values)

    def _categories(self, condition: OneOf | NoneOf, imputed_meets: bool) -> Parts:
        name, column, values = self.names[condition.feature], condition.column, condition.values
        asked: CodeColumn | TextColumn | TruthColumn
        if column.type == "boolean":
            asked = TruthColumn(column, name, self.dialect, self.held[condition.feature])
            wanted = isinstance(condition, OneOf)
            comparison = asked.one_of([value for value in (True, False) if (value in values) is wanted])
        else:
            asked = self._categorical(condition.feature, column)
            texts = [value for value in values if isinstance(value, str)]
            comparison = asked.one_of(texts) if isinstance(condition, OneOf) else asked.none_of(texts)
        if column.imputed is None or not imputed_meets:
            return [comparison or NO_ROW], []
        return [f"({asked.missing()} OR {comparison or NO_ROW})"], []


def _within(number: Number, lower: Number | None, upper: Number | None) -> bool:
    return (lower is None or number > lower) and (upper is None or number <= upper)


def _chain(parts: Sequence[str], link: str) -> str:
    """Join parts by AND or OR, in nested groups where the chain would be too deep for an engine."""
    if len(parts) <= MAX_CHAIN:
        return link.join(parts)
    size = max(MAX_CHAIN, math.isqrt(len(parts)) + 1)
    groups = [parts[start : start + size] for start in range(0, len(parts), size)]
    return link.join(f"({link.join(group)})" for group in groups)

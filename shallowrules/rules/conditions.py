"""Conditions on one column: a value between bounds, one of some categories, or none of them.

`Condition` is the sum of these three kinds, and whoever turns a condition into something else (a mask of rows, SQL,
Python, Markdown, …) derives from `ConditionVisitor`, which tells the kinds apart for all writers. The alternatives:

- ``match`` tells them apart separately in every writer, and nothing finds the one that forgot a kind;
- `functools.singledispatch` treats a kind that nobody registered as ``object``, and only at run time;
- a visitor with abstract methods cannot be made while it lacks a kind: mypy refuses it, and so does Python, in the
  package's exporters and in plugins alike.

So a fourth kind is a class here, an abstract method, and an error in each writer until it has an answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from shallowrules.rules.columns import RuleColumn, format_value
from shallowrules.tables.conversion import Number
from shallowrules.tables.times import bound_text
from shallowrules.tables.values import Value

__all__ = [
    "Between",
    "Condition",
    "ConditionVisitor",
    "NoneOf",
    "OneOf",
    "both",
    "category_condition",
    "either",
    "is_empty",
    "printable",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Between:
    """A number above `lower` and at most `upper`; None leaves that side open."""

    feature: int
    column: RuleColumn
    lower: Number | None = None
    upper: Number | None = None

    def __str__(self) -> str:
        lower, upper = self.bound(above=True), self.bound(above=False)
        if lower is not None and upper is not None:
            return f"{lower[1]} {lower[0].replace('>', '<')} {self.column.name} {' '.join(upper)}"
        return " ".join((self.column.name, *(lower or upper or ())))

    def bound(self, *, above: bool) -> tuple[str, str] | None:
        """Return the sign of one bound and the text after it; None where that side is open."""
        bound = self.lower if above else self.upper
        if bound is None:
            return None
        if self.column.is_time:
            return bound_text(self.column.type, int(bound), above=above)
        return ">" if above else "<=", self.column.show(bound)


@dataclass(frozen=True)
class OneOf:
    """A category that is one of `values`. With no values, no row meets it: the path asks for two different ones."""

    feature: int
    column: RuleColumn
    values: tuple[Value, ...]

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.column.name} = {format_value(self.values[0])}"
        return f"{self.column.name} in ({', '.join(map(format_value, self.values))})"


@dataclass(frozen=True)
class NoneOf:
    """A category other than `values`, including one that no training row had."""

    feature: int
    column: RuleColumn
    values: tuple[Value, ...]

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.column.name} <> {format_value(self.values[0])}"
        return f"{self.column.name} not in ({', '.join(map(format_value, self.values))})"


Condition = Between | OneOf | NoneOf
"""All that one rule requires of one column, `column`, which is number `feature`. A missing value never meets it."""


class ConditionVisitor(ABC, Generic[T]):
    """Turns a condition into something else, with a method for each kind; call it with a condition."""

    def __call__(self, condition: Condition) -> T:
        """Return the result of the method for the condition's kind."""
        match condition:
            case Between():
                return self.between(condition)
            case OneOf():
                return self.one_of(condition)
            case NoneOf():
                return self.none_of(condition)

    @abstractmethod
    def between(self, condition: Between) -> T:
        """Return the result for a number between bounds."""

    @abstractmethod
    def one_of(self, condition: OneOf) -> T:
        """Return the result for one of some categories, possibly none."""

    @abstractmethod
    def none_of(self, condition: NoneOf) -> T:
        """Return the result for none of one or more categories."""


def category_condition(
    feature: int, column: RuleColumn, values: tuple[Value, ...], *, included: bool
) -> OneOf | NoneOf:
    """Return a condition on categories; for truth values, "none of" becomes "one of" the others."""
    if included:
        return OneOf(feature, column, values)
    if column.type == "boolean":
        return OneOf(feature, column, tuple(value for value in (False, True) if value not in values))
    return NoneOf(feature, column, values)


def both(first: Condition, second: Condition) -> Condition:
    """Return the condition that a value meets if it meets two conditions on the same column."""
    match first, second:
        case Between(), Between():
            lower = [bound for bound in (first.lower, second.lower) if bound is not None]
            upper = [bound for bound in (first.upper, second.upper) if bound is not None]
            return replace(first, lower=max(lower, default=None), upper=min(upper, default=None))
        case OneOf(), OneOf():
            return replace(first, values=tuple(value for value in first.values if value in second.values))
        case OneOf(), NoneOf():
            return replace(first, values=tuple(value for value in first.values if value not in second.values))
        case NoneOf(), OneOf():
            return both(second, first)
        case NoneOf(), NoneOf():
            more = tuple(value for value in second.values if value not in first.values)
            return replace(first, values=first.values + more)
    raise TypeError(f"{first} and {second} are of columns of different types")


def either(first: Condition, second: Condition) -> Condition | None:
    """Return the strictest condition implied by either of two on the same column; None for no condition.

    For numbers it includes the values between the two.
    """
    match first, second:
        case Between(), Between():
            lower = None if first.lower is None or second.lower is None else min(first.lower, second.lower)
            upper = None if first.upper is None or second.upper is None else max(first.upper, second.upper)
            return None if lower is None and upper is None else replace(first, lower=lower, upper=upper)
        case OneOf(), OneOf():
            more = tuple(value for value in second.values if value not in first.values)
            every = first.column.type == "boolean" and len(first.values + more) > 1
            return None if every else replace(first, values=first.values + more)
        case NoneOf(), NoneOf():
            shared = tuple(value for value in first.values if value in second.values)
            return replace(first, values=shared) if shared else None
        case OneOf(), NoneOf():
            return either(second, first)
        case NoneOf(), OneOf():
            left = tuple(value for value in first.values if value not in second.values)
            return replace(first, values=left) if left else None
    raise TypeError(f"{first} and {second} are of columns of different types")


def is_empty(condition: Condition) -> bool:
    """Return whether no value meets a condition. Besides its own categories, a column of text may hold any other."""
    match condition:
        case Between(lower=lower, upper=upper):
            return lower is not None and upper is not None and lower >= upper
        case OneOf(values=values):
            return not values
        case NoneOf():
            return False


def printable(text: str) -> str:
    """Return a text with blanks instead of characters that would break a line or a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)

"""The tree and its rules as data for the page's script, which walks a typed row through them and rebuilds no text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from shallowrules.exporters.languages.reading import describe_reading, exact
from shallowrules.exporters.wording import ConditionWords, format_number
from shallowrules.rules import (
    Between,
    ConditionVisitor,
    Cut,
    Leaf,
    Membership,
    NoneOf,
    Number,
    OneOf,
    RuleColumn,
    RuleSet,
    Value,
    format_value,
)

__all__ = ["describe_inputs", "describe_walk"]

CHOICES_SHOWN = 60
"""Maximum number of categories to choose from; for a column with more, those that rules name, and "another"."""


def describe_walk(rules: RuleSet) -> dict[str, Any]:
    """Return the nodes and rules: numbers as texts that represent them exactly, categories unchanged.

    A node is ``[column, kind, threshold or values, left, right, words left, words right]`` with the kind "cut" or
    "in", or ``[cluster]``. A rule is its cluster and its conditions, ``[column, "between", lower, upper]``, or
    ``[column, "one" or "none", values]``.
    """
    words = ConditionWords()
    conditions = _ConditionData()
    nodes: list[list[Any]] = []
    for node in rules.nodes:
        if isinstance(node, Leaf):
            nodes.append([str(node.cluster)])
            continue
        column = rules.columns[node.column]
        said = [words(node.condition(column, goes_left)) for goes_left in (True, False)]
        asked: list[Any] = ["cut", exact(node.threshold)] if isinstance(node, Cut) else ["in", list(node.values)]
        nodes.append([node.column, *asked, node.left, node.right, *said])
    return {
        "nodes": nodes,
        "rules": [[str(rule.cluster), [conditions(condition) for condition in rule.conditions]] for rule in rules],
    }


def describe_inputs(trees: Iterable[RuleSet]) -> list[dict[str, Any]]:
    """Return the columns that any of the trees tests: the fields of a typed row. All trees have the same columns."""
    sets = list(trees)
    columns = sets[0].columns
    tested = sorted({i for rules in sets for i in rules.tested_columns})
    return [_input(i, columns[i], _asked_values(sets, i)) for i in tested]


def _asked_values(sets: Iterable[RuleSet], index: int) -> set[Value]:
    found: set[Value] = set()
    for rules in sets:
        for node in rules.nodes:
            if isinstance(node, Membership) and node.column == index:
                found.update(node.values)
    return found


def _input(index: int, column: RuleColumn, asked: set[Value]) -> dict[str, Any]:
    values = list(column.values)
    if len(values) > CHOICES_SHOWN:
        values = [value for value in values if value in asked]
    return {
        **describe_reading(column),
        "index": index,
        "type": column.type,
        "values": values,
        "minimum": None if column.minimum is None else exact(column.minimum),
        "maximum": None if column.maximum is None else exact(column.maximum),
        # Further data for the template.
        "choices": None if column.is_numeric else [format_value(value) for value in values],
        "hint": _hint(column) if column.is_numeric else None,
    }


def _hint(column: RuleColumn) -> str:
    """Return the range of a column of numbers."""
    least, greatest = cast(Number, column.minimum), cast(Number, column.maximum)
    if column.is_time:
        return f"{column.show(least)} to {column.show(greatest)}"
    return f"{format_number(least)} to {format_number(greatest)}"


class _ConditionData(ConditionVisitor[list[Any]]):
    """A condition as data."""

    def between(self, condition: Between) -> list[Any]:
        """Return the bounds."""
        lower, upper = (None if bound is None else exact(bound) for bound in (condition.lower, condition.upper))
        return [condition.feature, "between", lower, upper]

    def one_of(self, condition: OneOf) -> list[Any]:
        """Return the accepted categories."""
        return [condition.feature, "one", list(condition.values)]

    def none_of(self, condition: NoneOf) -> list[Any]:
        """Return the excluded categories."""
        return [condition.feature, "none", list(condition.values)]

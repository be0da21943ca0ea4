"""Bounds of conditions as Python text: numbers as literals, times as constants with descriptive names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shallowrules.exporters.context import bounds
from shallowrules.rules import Between, Cut, RuleColumn, RuleSet
from shallowrules.tables.times import bound_text, is_moment, parse_time

__all__ = ["bound_texts", "threshold_text", "time_constants"]


def bound_texts(condition: Between) -> list[tuple[str, str]]:
    """Return the sign and Python text of each existing bound, the lower one first."""
    column = condition.column
    pairs = zip((True, False), bounds(condition), strict=True)
    found = []
    for above, bound in pairs:
        if bound is None:
            continue
        if column.is_time:
            sign, name, _ = _constant(column, int(bound), above=above)
            found.append((sign, name))
        else:
            found.append((">" if above else "<=", repr(bound)))
    return found


def threshold_text(column: RuleColumn, threshold: int | float) -> str:
    """Return the number that a value must not exceed, as Python text."""
    if not column.is_time:
        return repr(threshold)
    _, name, _ = _constant(column, int(threshold), above=False)
    return f"{name} - 1" if is_moment(column.type) else name


def time_constants(rules: RuleSet) -> list[tuple[str, int, str]]:
    """Return the name, the number and the text of each time that rules are compared with, in their order."""
    return sorted(set(_of_nodes(rules)), key=lambda each: (each[1], each[0]))


def _of_nodes(rules: RuleSet) -> Iterator[tuple[str, int, str]]:
    for node in rules.nodes:
        if isinstance(node, Cut) and rules.columns[node.column].is_time:
            _, name, text = _constant(rules.columns[node.column], int(node.threshold), above=False)
            number = parse_time(rules.columns[node.column].type, text)
            assert number is not None
            yield name, number, text


def _constant(column: RuleColumn, bound: int, *, above: bool) -> tuple[str, str, str]:
    """Return the sign of a bound, and the name and the text of the constant that is compared."""
    sign, text = bound_text(column.type, bound, above=above)
    kind = "INSTANT" if column.type == "timestamptz" else column.type.upper()
    return sign, f"{kind}_{re.sub('[^0-9A-Za-z]', '_', text.replace('-', 'minus_', text[0] == '-'))}", text

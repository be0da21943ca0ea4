"""The meaning of a row by docs/numbers.md, and the cluster that the tree gives it: written again, value by value.

It is the truth that every engine is checked against, and shares no code with the forms of the rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from shallowrules.rules import Cut, Leaf, RuleColumn, RuleSet

__all__ = ["NEITHER", "cluster_of", "read"]

NEITHER = object()
"""What is neither a value nor missing."""

TRUE, FALSE = {"true", "t", "1"}, {"false", "f", "0"}
TRUE_NUMBERS, FALSE_NUMBERS = {"1.0"}, {"0.0"}
LONGEST = 300


def cluster_of(rules: RuleSet, row: Sequence[Any]) -> int | None:
    """Return the label of the leaf that a row reaches; None where a tested value is missing or neither."""
    node = rules.nodes[0]
    while not isinstance(node, Leaf):
        value = read(rules.columns[node.column], row[node.column])
        if value is None or value is NEITHER:
            return None
        holds = value <= node.threshold if isinstance(node, Cut) else value in node.values
        node = rules.nodes[node.left if holds else node.right]
    return node.cluster


def read(column: RuleColumn, value: Any) -> Any:
    """Return the value that a rule compares, None where it is missing, or `NEITHER`."""
    if column.type == "text":
        found = None if value is None or (column.nulls and value.strip(" ") in column.nulls) else value
    elif column.type == "boolean":
        found = None if value is None or value != value else _truth(value)
    elif column.type in ("date", "timestamp", "timestamptz", "duration"):
        found = _time(column, value)
    else:
        found = _number(column, value)
    return column.imputed if found is None else found


def _time(column: RuleColumn, value: Any) -> Any:
    if value is None or isinstance(value, timedelta):
        return None if value is None else value.days * 86_400_000_000 + value.seconds * 1_000_000 + value.microseconds
    if not isinstance(value, datetime):
        days = value.toordinal() - date(1970, 1, 1).toordinal()
        return days if column.type == "date" else days * 86_400_000_000
    value = value if value.tzinfo is None else value.astimezone(UTC)
    days = value.toordinal() - date(1970, 1, 1).toordinal()
    if column.type == "date":
        return days
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return (days * 86_400 + seconds) * 1_000_000 + value.microsecond


def _truth(value: Any) -> Any:
    if isinstance(value, str):
        text = value.strip(" ").lower()
        return True if text in TRUE | TRUE_NUMBERS else False if text in FALSE | FALSE_NUMBERS else NEITHER
    return bool(value) if value in (0, 1) else NEITHER


def _number(column: RuleColumn, value: Any) -> Any:
    if isinstance(value, str):
        value = _from_text(column, value)
    if value is None or value is NEITHER or value != value:
        return value if value is NEITHER else None
    if column.type == "float":
        value = _double(value)
    for word in column.nulls:
        meant = _from_text(column, word, is_word=True)
        if meant is not NEITHER and meant is not None:
            meant = _double(meant) if column.type == "float" else meant
            if abs(meant) != float("inf") and value == meant:
                return None
    return value


def _from_text(column: RuleColumn, text: str, is_word: bool = False) -> Any:
    text = text.strip(" ")
    if not is_word and (not text or text in column.nulls):
        return None
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if digits.lower() == "nan":
        return None
    if len(text) > LONGEST:
        return NEITHER
    if digits.lower() in ("inf", "infinity"):
        return float(f"{sign}inf")
    point = re.escape(column.decimal)
    found = re.fullmatch(f"([0-9]*)({point}?)([0-9]*)([eE][+-]?[0-9]{{1,3}})?", digits)
    if found is None or not (found[1] or found[3]):
        return NEITHER
    if not found[2] and not found[4] and -(2**63) <= int(sign + found[1]) < 2**63:
        return int(sign + found[1])
    return float(f"{sign}{found[1]}.{found[3]}{found[4] or ''}")


def _double(number: int | float | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")

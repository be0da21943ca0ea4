"""The facts by which JavaScript reads a column: see ``values.js``, which the page and the emitted module hold."""

from __future__ import annotations

from typing import Any

from shallowrules.rules import Number, RuleColumn, Value
from shallowrules.tables.dates import written_pattern

__all__ = ["describe_reading", "exact"]


def describe_reading(column: RuleColumn) -> dict[str, Any]:
    """Return the facts, with numbers as texts that represent them exactly."""
    conversion = column.conversion
    is_number = column.codes or (column.is_numeric and not column.is_time)
    numbers = conversion.null_numbers if is_number else ()
    return {
        "name": column.name,
        "type": "code" if column.codes else column.type,
        "decimal": column.decimal,
        "nulls": list(conversion.words if is_number else conversion.nulls),
        "nullNumbers": [exact(float(number) if column.type == "float" else number) for number in numbers],
        "holdsNumbers": column.holds_numbers and not column.codes,
        "written": [conversion.number_format.pattern, conversion.number_format.removed] if column.format else None,
        "dates": written_pattern(column.dates).replace("?P<", "?<") if column.dates else None,
        "imputed": None if column.imputed is None else _plain(column.imputed),
    }


def _plain(value: Number | Value) -> str | bool:
    return value if isinstance(value, str | bool) else exact(value)


def exact(number: Number) -> str:
    """Return a text that JavaScript reads as exactly this number: a double, or a whole number of any size."""
    return repr(number + 0)

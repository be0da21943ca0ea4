"""The columns that the emitted function reads: their variables, and the conversion of a row's values for comparison."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shallowrules.rules import Number, RuleColumn, RuleSet
from shallowrules.tables.dates import written_pattern

__all__ = ["describe_input", "name_variables", "snake_case"]

CLASSES: Mapping[str, str] = {"float": "float", "integer": "int", "text": "str", "boolean": "bool"}
"""By the type of a column: the class whose values need no conversion; values of other types are always read."""


ANNOTATIONS: Mapping[str, str] = {
    **CLASSES,
    "code": "int | str",
    "date": "date | str",
    "timestamp": "datetime | str",
    "timestamptz": "datetime | str",
    "duration": "timedelta | str",
}
"""By the kind of a column: the types of its values in a row."""


def describe_input(column: RuleColumn, variable: str) -> dict[str, Any]:
    """Return the template's data for a tested column: see `shallowrules.exporters.python.module`."""
    conversion = column.conversion
    is_number = column.codes or (column.is_numeric and not column.is_time)
    numbers = tuple(_as_compared(number, column) for number in conversion.null_numbers) if is_number else ()
    nulls: tuple[Any, ...] = (*conversion.words, *numbers) if is_number else conversion.nulls
    arguments = [
        ("nulls", repr(nulls) if nulls or column.from_text else ""),
        ("decimal", repr(conversion.decimal) if conversion.decimal != "." else ""),
        ("written", repr(_patterns(column)) if conversion.format else ""),
        ("numbers", "True" if column.holds_numbers and not column.codes else ""),
        ("kind", repr(column.type) if column.is_time else ""),
        ("dates", repr(written_pattern(column.dates)) if column.dates else ""),
    ]
    given = "".join(f", {name}={value}" for name, value in arguments if value)
    by_class = column.type in CLASSES and not column.codes
    of_class = f"type({variable}) is not {CLASSES[column.type]}" if by_class else ""
    kind = "code" if column.codes else column.type
    reads_text = is_number and bool(nulls or column.from_text)
    lenient = is_number and not column.codes and not reads_text
    given_value = f"_given({variable}, {column.name!r}{', lenient' if lenient else ''})"
    return {
        "column": column.name,
        "type": column.type,
        "kind": kind,
        "annotation": f"{ANNOTATIONS[kind]}{' | str' if reads_text and not column.codes else ''} | None",
        "reader": "time" if column.is_time else kind,
        "variable": variable,
        "given": given_value if is_number and not column.codes else variable,
        "lenient": lenient,
        **dict(arguments[:3]),
        "holds_numbers": column.holds_numbers,
        "dates": column.dates,
        "imputed": None if column.imputed is None else repr(column.imputed),
        "null_numbers": repr(numbers),
        "arguments": f"{column.name!r}{given}",
        # A text that means "no value" is of the class that texts have.
        "unread": ""
        if (nulls and not column.is_numeric) or not of_class
        else of_class + (f" or {variable} in {numbers!r}" if numbers else ""),
    }


def _patterns(column: RuleColumn) -> tuple[str, str]:
    """Return the patterns of a column's format: of a number, and of its marks other than digits."""
    number_format = column.conversion.number_format
    return number_format.pattern, number_format.removed


def _as_compared(number: Number, column: RuleColumn) -> Number:
    """Return a number in the type in which a column is compared with it: a double for a float column."""
    nearest = float(number)
    return nearest if column.type == "float" and nearest != number else number


def snake_case(words: Sequence[str]) -> str:
    """Return words as one name: monthly_charges."""
    return "_".join(words).lower()


def _is_taken(name: str) -> bool:
    return keyword.iskeyword(name) or hasattr(builtins, name)


def name_variables(
    rules: RuleSet,
    names: Iterable[str],
    spell: Callable[[Sequence[str]], str] = snake_case,
    is_taken: Callable[[str], bool] = _is_taken,
) -> dict[int, str]:
    """Return a readable variable for every tested column, distinct from every other one and from other names.

    Parameters
    ----------
    rules : RuleSet
    names : iterable of str
        The other names.
    spell : callable
        Makes a name of words of ASCII letters and digits.
    is_taken : callable
        Tells whether the language has a name for itself.
    """
    taken = set(names)
    variables = {}
    for feature in rules.tested_columns:
        stem = spell(re.findall("[0-9A-Za-z]+", rules.columns[feature].name))[:40].strip("_")
        if not stem or stem[0].isdigit():
            stem = spell(["x", stem] if stem else ["x"])
        if is_taken(stem):
            stem += "_"
        variable, repeat = stem, 1
        while variable in taken:
            repeat += 1
            variable = f"{stem}_{repeat}"
        taken.add(variable)
        variables[feature] = variable
    return variables

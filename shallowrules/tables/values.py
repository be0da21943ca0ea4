"""Single values: which are missing, which number a text is, and the text of a number that is a category."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.tables.conversion import CODES, DOUBLE_EXACT, PLAIN

__all__ = [
    "Value",
    "interval_texts",
    "is_code_text",
    "is_missing",
    "is_na_type",
    "is_number_text",
    "nearest_double",
    "number_text",
]

Value = str | bool
"""A value of a column of categories."""


def is_missing(value: Any) -> bool:
    """Return whether a Python value means "no value": None, NaN, or pandas' own (NA, NaT)."""
    if value is None:
        return True
    differs = value != value
    if isinstance(differs, bool | np.bool_):
        return bool(differs)
    return is_na_type(type(differs))  # for an array or the like, the result is an array


def is_na_type(kind: type) -> bool:
    """Return whether a type is that of pandas' or NumPy's own missing value."""
    return kind.__name__ in ("NAType", "MaskedConstant")


def interval_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Return intervals of pandas as texts such as (0, 1], and anything else as it is."""
    texts = [str(value) if type(value).__name__ == "Interval" else value for value in values.tolist()]
    return np.array(texts, dtype=object)


def number_text(number: Any) -> str:
    """Return a number that is a category as text, whole ones without a fraction: 7 and 7.0 are the same."""
    return str(int(number)) if nearest_double(number).is_integer() else repr(float(number))


def is_number_text(category: Value) -> bool:
    """Return whether a category is the text of a number that a double tells from its neighbors."""
    number = PLAIN.number(str(category))
    return number is not None and abs(number) <= DOUBLE_EXACT and number_text(number) == category


def is_code_text(category: Value) -> bool:
    """Return whether a category is the plain spelling of a whole number that a double tells from its neighbors."""
    number = CODES.number(str(category))
    return number is not None and abs(number) < DOUBLE_EXACT and str(number) == category


def nearest_double(number: Any) -> float:
    """Return a number as a double, infinity where it is beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf

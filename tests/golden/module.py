"""Label rows with their cluster by the rules of a shallow decision tree.

The rules describe a clustering of 349 rows into 4 clusters. Their k-means cost is
1.029 times that of the clustering without rules.

Written by shallowrules; it needs only Python. In use:

    cluster = assign_cluster(row)

where `row` maps column names to values, like a dict, a csv.DictReader row whose numbers
have been converted, or a row of a dataframe.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from typing import Any, Protocol

# Cluster number: facts about it. Shares are of the whole table.
CLUSTERS = {
    1: {'name': '1', 'rows': 146, 'share': 0.4183381088825215},
    4: {'name': '4', 'rows': 105, 'share': 0.3008595988538682},
    2: {'name': '#2 *large*\n-- DROP', 'rows': 86, 'share': 0.24641833810888253},
    0: {'name': 'small orders', 'rows': 12, 'share': 0.034383954154727794},
}


class NamedValues(Protocol):
    """An object that gives a value by the name of its column."""

    def __getitem__(self, name: str, /) -> Any: ...


def assign_cluster(row: NamedValues) -> int | None:
    """Return the cluster number of a row, or None if no rule matches it.

    No rule that tests a column matches where the column's value is missing (None or NaN). An
    absent column is a KeyError, a value that is not a number a TypeError.
    """
    try:
        alcohol = row['alcohol']
        order = row['order']
        colour_intensity = row['colour intensity (%)']
        odd_name_x_b = row['odd "name" `x` | <b>\n-- */']
    except KeyError:
        alcohol = _of_name(row, 'alcohol', "row")
        order = _of_name(row, 'order', "row")
        colour_intensity = _of_name(row, 'colour intensity (%)', "row")
        odd_name_x_b = _of_name(row, 'odd "name" `x` | <b>\n-- */', "row")
    if type(alcohol) is not float:
        alcohol = _float(alcohol, 'alcohol')
    if type(order) is not int:
        order = _integer(order, 'order')
    if type(colour_intensity) is not float:
        colour_intensity = _float(colour_intensity, 'colour intensity (%)')
    if type(odd_name_x_b) is not float:
        odd_name_x_b = _float(odd_name_x_b, 'odd "name" `x` | <b>\n-- */')
    if alcohol != alcohol:
        return None  # no value
    if alcohol <= 12.85:
        if order != order:
            return None  # no value
        if order > 1200:
            return 2  # 86 rows, 24.6%
        if odd_name_x_b != odd_name_x_b:
            return None  # no value
        if odd_name_x_b <= -0.25:
            return 0  # 12 rows, 3.4%
        return 1  # 49 rows, 14.0%
    if colour_intensity != colour_intensity:
        return None  # no value
    if colour_intensity > 3.5:
        return 4  # 71 rows, 20.3%
    if colour_intensity <= 1e-07:
        return 1  # 97 rows, 27.8%
    return 4  # 34 rows, 9.7%


def _of_name(values: Any, column: str, what: str) -> Any:
    """Return the value of a column whose name is this text, or has it as its text, as the number 1 has "1"."""
    try:
        return values[column]
    except KeyError:
        pass
    found = [name for name in getattr(values, "keys", tuple)() if str(name) == column]
    if not found:
        raise KeyError("the %s has no column %r, which the rules test" % (what, column))
    if len(found) > 1:
        raise KeyError("the %s has several columns named %s" % (what, column))
    return values[found[0]]


def _number(value: Any, column: str) -> Any:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError("column %r holds text, %r: convert it to a number first" % (column, value))
    return value


def _is_missing(value: Any) -> bool:
    """Recognize None, and the null markers of pandas and numpy, without importing either."""
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def _float(value: Any, column: str) -> float:
    return _to_float(_number(value, column), column)


def _integer(value: Any, column: str) -> int | float | Decimal:
    """Keep whole numbers as they are: beyond 2**53 a double would round them."""
    value = _number(value, column)
    try:
        return operator.index(value)
    except TypeError:
        pass
    if isinstance(value, Decimal) and not value.is_nan():
        return value
    return _to_float(value, column)


def _to_float(value: Any, column: str) -> float:
    """Convert to a double; a missing value becomes NaN, which satisfies no condition."""
    if _is_missing(value):
        return float("nan")
    try:
        if type(value).__name__.startswith("complex"):  # of which NumPy drops the imaginary part
            raise TypeError
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except (TypeError, ValueError):
        raise TypeError("column %r holds %r, which is not a number" % (column, value)) from None

"""Label rows with their cluster by the rules of a shallow decision tree.

The rules describe a clustering of 440 rows into 4 clusters. Their k-means cost is
1.034 times that of the clustering without rules.

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
    0: {'name': 'low Detergents_Paper, low Fresh', 'rows': 302, 'share': 0.6863636363636364},
    1: {'name': 'medium Detergents_Paper', 'rows': 72, 'share': 0.16363636363636364},
    2: {'name': 'low Detergents_Paper, high Fresh', 'rows': 56, 'share': 0.12727272727272726},
    3: {'name': 'high Detergents_Paper', 'rows': 10, 'share': 0.022727272727272728},
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
        fresh = row['Fresh']
        detergents_paper = row['Detergents_Paper']
    except KeyError:
        fresh = _of_name(row, 'Fresh', "row")
        detergents_paper = _of_name(row, 'Detergents_Paper', "row")
    if type(fresh) is not int:
        fresh = _integer(fresh, 'Fresh')
    if type(detergents_paper) is not int:
        detergents_paper = _integer(detergents_paper, 'Detergents_Paper')
    if detergents_paper != detergents_paper:
        return None  # no value
    if detergents_paper <= 5000:
        if fresh != fresh:
            return None  # no value
        if fresh <= 23400:
            return 0  # 302 rows, 68.6%
        return 2  # 56 rows, 12.7%
    if detergents_paper <= 17400:
        return 1  # 72 rows, 16.4%
    return 3  # 10 rows, 2.3%


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

"""Label rows with their cluster by the rules of a shallow decision tree.

The rules describe a clustering of 350 rows into 5 clusters. Their k-means cost is
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
    2: {'name': '2', 'rows': 142, 'share': 0.4057142857142857},
    4: {'name': '4', 'rows': 135, 'share': 0.38571428571428573},
    0: {'name': 'small orders', 'rows': 46, 'share': 0.13142857142857142},
    3: {'name': '3', 'rows': 19, 'share': 0.054285714285714284},
    1: {'name': '1', 'rows': 8, 'share': 0.022857142857142857},
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
        contract = row['contract']
        paid = row['paid']
        months = row['months']
        size = row['size']
        pay_ment = row['pay ment']
    except KeyError:
        contract = _of_name(row, 'contract', "row")
        paid = _of_name(row, 'paid', "row")
        months = _of_name(row, 'months', "row")
        size = _of_name(row, 'size', "row")
        pay_ment = _of_name(row, 'pay ment', "row")
    if type(contract) is not str:
        contract = _text(contract, 'contract')
    if type(paid) is not bool:
        paid = _boolean(paid, 'paid')
    if type(months) is not int:
        months = _integer(months, 'months')
    if type(size) is not str:
        size = _text(size, 'size')
    if type(pay_ment) is not str:
        pay_ment = _text(pay_ment, 'pay ment')
    if contract is None:
        return None  # no value
    if contract == 'Two year':
        if paid is None:
            return None  # no value
        if paid is False:
            return 4  # 86 rows, 24.6%
        if size is None:
            return None  # no value
        if size in ('S', 'M'):
            return 0  # 12 rows, 3.4%
        return 4  # 49 rows, 14.0%
    if contract == 'One year':
        return 2  # 60 rows, 17.1%
    if pay_ment is None:
        return None  # no value
    if pay_ment == 'Mailed check':
        return 0  # 34 rows, 9.7%
    if pay_ment == 'it\'s "auto" | \\':
        return 1  # 8 rows, 2.3%
    if months != months:
        return None  # no value
    if months <= 12:
        return 2  # 82 rows, 23.4%
    return 3  # 19 rows, 5.4%


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


def _text(value: Any, column: str) -> str | None:
    """Return the text unchanged, None where it is missing."""
    if isinstance(value, str):
        return value
    if _is_missing(value) or value != value:
        return None
    if type(value).__name__ == "Interval":  # of pandas, as (0, 1]
        return str(value)
    raise TypeError("column %r holds %r, which is not text" % (column, value))


def _boolean(value: Any, column: str) -> bool | None:
    """Return True or False, also for numbers and texts that are truth values, None where it is missing."""
    if _is_missing(value) or value != value:
        return None
    truth = value.strip(" ").lower() if isinstance(value, str) else value
    if truth in ('true', 't', '1', '1.0', 1):
        return True
    if truth in ('false', 'f', '0', '0.0', 0):
        return False
    raise TypeError("column %r holds %r, which is not true or false" % (column, value))

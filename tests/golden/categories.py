"""Give rows their cluster by the rules of a shallow decision tree.

The rules describe a clustering of 350 rows into 5 clusters. Their k-means cost is
1.029 times that of the clustering without rules.

Written by shallowrules; it needs nothing but Python. In use:

    cluster = assign_cluster(row)

where `row` maps column names to values, like a dict, a csv.DictReader row whose numbers
have been converted, or a row of a dataframe.
"""

import operator
from decimal import Decimal

# Cluster number: what is known of it. Shares are of the whole table.
CLUSTERS = {
    2: {'name': '2', 'rows': 142, 'share': 0.4057142857142857},
    4: {'name': '4', 'rows': 135, 'share': 0.38571428571428573},
    0: {'name': 'small orders', 'rows': 46, 'share': 0.13142857142857142},
    3: {'name': '3', 'rows': 19, 'share': 0.054285714285714284},
    1: {'name': '1', 'rows': 8, 'share': 0.022857142857142857},
}


def assign_cluster(row):
    """Return the cluster number of a row, or None if no rule matches it.

    No rule that tests a column matches where the column's value is missing (None or NaN). A
    column that is not there at all is a KeyError, a value that is not a number a TypeError.
    """
    contract = _text(row, 'contract')
    paid = _boolean(row, 'paid')
    months = _integer(row, 'months')
    size = _text(row, 'size')
    pay_ment = _text(row, 'pay ment')
    if contract is not None and contract not in ('Two year', 'One year') and pay_ment is not None and pay_ment not in ('Mailed check', 'it\'s "auto" | \\') and months <= 12:
        return 2
    if contract == 'One year':
        return 2
    if contract == 'Two year' and paid is False:
        return 4
    if contract == 'Two year' and paid is True and size is not None and size not in ('S', 'M'):
        return 4
    if contract is not None and contract not in ('Two year', 'One year') and pay_ment == 'Mailed check':
        return 0
    if contract == 'Two year' and paid is True and size in ('S', 'M'):
        return 0
    if contract is not None and contract not in ('Two year', 'One year') and pay_ment is not None and pay_ment not in ('Mailed check', 'it\'s "auto" | \\') and months > 12:
        return 3
    if contract is not None and contract not in ('Two year', 'One year') and pay_ment == 'it\'s "auto" | \\':
        return 1
    return None


def _read(row, column):
    try:
        return row[column]
    except KeyError:
        raise KeyError("the row has no column %r, which the rules test" % (column,)) from None


def _number(row, column):
    value = _read(row, column)
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError("column %r holds text, %r: convert it to a number first" % (column, value))
    return value


def _is_missing(value):
    """Tell None, and the marks of pandas and numpy for no value, without importing either."""
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def _float(row, column):
    return _to_float(_number(row, column), column)


def _integer(row, column):
    """Keep whole numbers as they are: beyond 2**53 a double would round them."""
    value = _number(row, column)
    try:
        return operator.index(value)
    except TypeError:
        pass
    if isinstance(value, Decimal) and not value.is_nan():
        return value
    return _to_float(value, column)


def _to_float(value, column):
    """Convert to a double; a missing value becomes NaN, which meets no condition."""
    if _is_missing(value):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except (TypeError, ValueError):
        raise TypeError("column %r holds %r, which is not a number" % (column, value)) from None


def _text(row, column):
    """Return the text as it stands, None where it is missing."""
    value = _read(row, column)
    if isinstance(value, str):
        return value
    if _is_missing(value) or value != value:
        return None
    raise TypeError("column %r holds %r, which is not text" % (column, value))


def _boolean(row, column):
    """Return True or False, also for numbers and texts that are truth values, None where it is missing."""
    value = _read(row, column)
    if _is_missing(value) or value != value:
        return None
    truth = value.strip(" ").lower() if isinstance(value, str) else value
    if truth in ('true', 't', '1', '1.0', 1):
        return True
    if truth in ('false', 'f', '0', '0.0', 0):
        return False
    raise TypeError("column %r holds %r, which is not true or false" % (column, value))

"""Values of rows whose index has the rows of a table in another order."""

from __future__ import annotations

import warnings
from typing import Any

from shallowrules.errors import ShallowRulesWarning

__all__ = ["warn_of_other_order"]


def warn_of_other_order(table: Any, **values: Any) -> None:
    """Warn of values that are taken by position, though their index is that of the table in another order.

    Parameters
    ----------
    table : array-like or dataframe
    **values : array-like, series, dataframe or anything else
        By the name of the parameter.
    """
    rows = _index(table)
    for name, given in values.items():
        index = _index(given)
        if rows is None or index is None or len(index) != len(rows) or index.equals(rows):
            continue
        if sorted(map(hash, index)) == sorted(map(hash, rows)):
            warnings.warn(
                f"{name} has the index of the table in another order, and is taken by position, row by row: "
                f"to match it by index, give {name}.loc[X.index]",
                ShallowRulesWarning,
                stacklevel=3,
            )


def _index(given: Any) -> Any:
    """Return the index of a series or dataframe of pandas, or of what is like it; None where there is none."""
    index = getattr(given, "index", None)
    return index if hasattr(index, "equals") else None

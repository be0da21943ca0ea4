"""One row that is given by name: a mapping from column to a single value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from shallowrules.errors import DataError
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table, is_sparse
from shallowrules.tables.values import is_missing

__all__ = ["Scalar", "single_row"]

Scalar = float | str | bool | date | timedelta | Decimal | np.generic | None
"""One value of a row."""


def single_row(data: Any) -> Table | None:
    """Return a mapping of single values as a table of one row; None for anything else, as a mapping of columns.

    An empty mapping is a row without values.

    Raises
    ------
    DataError
        If some of its values are single and others are columns; names one of each.
    """
    if not isinstance(data, Mapping) or is_sparse(data):
        return None
    single = [name for name, value in data.items() if _is_single(value)]
    if data and not single:
        return None
    columns = [name for name, value in data.items() if not _is_single(value)]
    if columns:
        raise DataError(
            f"{single[0]!r} has a single value and {columns[0]!r} a column of values: give a row, with one value for "
            "each, or columns of one length"
        )
    return replace(Table.of({name: _column(value) for name, value in data.items()}), n_rows=1)


def _is_single(value: Any) -> bool:
    if isinstance(value, str | bytes | np.generic):
        return True
    return value.ndim == 0 if isinstance(value, np.ndarray) else not isinstance(value, Column | Iterable)


def _column(value: Any) -> Any:
    """Return a value as a column of one; NumPy's keep their type."""
    if is_missing(value):
        return [None]
    if isinstance(value, np.generic | np.ndarray) and not isinstance(value, str):
        return np.asarray(value).reshape(1)
    return [value]

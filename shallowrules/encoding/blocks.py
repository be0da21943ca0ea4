"""Blocks of rows, small enough to stay in a processor's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK_VALUES", "place_between", "row_blocks"]

BLOCK_VALUES = 1 << 19
"""Values (rows x columns) of a block."""


def row_blocks(n_rows: int, n_columns: int) -> list[slice]:
    """Return the rows of a matrix in blocks, of `BLOCK_VALUES` values or one row each; none where it has no rows."""
    step = max(1, BLOCK_VALUES // max(1, n_columns))
    return [slice(first, first + step) for first in range(0, n_rows, step)]


def place_between(values: NDArray[Any], low: float, high: float) -> int | None:
    """Return the place of the first value that is neither `low` nor `high`; None if there is none.

    It is usually among the first, so these are checked separately.
    """
    first, size = 0, 1024
    while first < len(values):
        block = values[first : first + size]
        found = np.flatnonzero((block != low) & (block != high))
        if len(found):
            return first + int(found[0])
        first, size = first + size, 2 * size
    return None

"""Blocks of rows, small enough to stay in a processor's cache."""

from __future__ import annotations

__all__ = ["BLOCK_VALUES", "row_blocks"]

BLOCK_VALUES = 1 << 19
"""Values (rows x columns) of a block."""


def row_blocks(n_rows: int, n_columns: int) -> list[slice]:
    """Return the rows of a matrix in blocks, of `BLOCK_VALUES` values or one row each; none where it has no rows."""
    step = max(1, BLOCK_VALUES // max(1, n_columns))
    return [slice(first, first + step) for first in range(0, n_rows, step)]

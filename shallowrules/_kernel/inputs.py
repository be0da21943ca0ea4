"""Arguments and results of the kernel's entries: tables with their rows, ranges of columns, as tuples of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CodedRows", "GrowthInput", "Ranges", "column_ranges"]

MIN_VALUES = 1024
"""Values that NumPy compares in one pass: of shorter rows, each would take as long."""


class Ranges(NamedTuple):
    """The smallest and the largest value of each column of a matrix; NaN for a column that has one.

    Attributes
    ----------
    low, high : ndarray of float64, shape (n_columns,)
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def column_ranges(array: NDArray[Any], counted: NDArray[np.bool_] | None = None) -> Ranges:
    """Return the ranges of the columns of a float matrix, of all rows or the `counted` ones; infinite without rows."""
    d, where = array.shape[1], True if counted is None else counted[:, None]
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    if counted is None and array.flags.c_contiguous and d:
        # NumPy takes short rows six times as long as these: many in one.
        together = -(-MIN_VALUES // d)
        n_long = len(array) // together
        long = array[: n_long * together].reshape(n_long, together * d)
        low = long.min(axis=0, initial=np.inf).reshape(together, d).min(axis=0)
        high = long.max(axis=0, initial=-np.inf).reshape(together, d).max(axis=0)
        array = array[n_long * together :]
    return Ranges(
        np.minimum(low, array.min(axis=0, initial=np.inf, where=where)).astype(np.float64),
        np.maximum(high, array.max(axis=0, initial=-np.inf, where=where)).astype(np.float64),
    )


class GrowthInput(NamedTuple):
    """A table and the centers that a tree is grown for.

    Attributes
    ----------
    X_explain : ndarray of float32 or float64, shape (n, d)
        Columns that are cut.
    X_cluster : ndarray of float32 or float64, shape (n, m)
        Columns in which distances are taken.
    rows : ndarray of int32, shape (r,)
        The rows to use. The kernel reorders it, so that each node's rows are contiguous.
    weight : ndarray of float64, shape (r,), or None
        Positive weights of these rows; reordered like `rows`.
    explain_centers : ndarray of float64, shape (k, d)
    cluster_centers : ndarray of float64, shape (k, m)
    ranges : Ranges, optional
        Those of the columns of `X_explain`, or wider ones, where they are known.
    path_sides : ndarray of uint8, shape (d,), optional
        Where the rows are those of a node of a larger tree: which edges of each feature the path to it has, bit 0 for
        a left one, bit 1 for a right one.
    sample : ndarray of float64, shape (s, d), optional
        Explained values that determine the bins, so that they are the same in all parts of a table; by default a
        sample of the rows.
    distances : ndarray of float64, shape (k, r), optional
        Squared distances of these rows to the centers, as `nearest_centers` fills them, where they are known. The
        kernel overwrites them: they are good for one growth.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    rows: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    explain_centers: NDArray[np.float64]
    cluster_centers: NDArray[np.float64]
    ranges: Ranges | None = None
    path_sides: NDArray[np.uint8] | None = None
    sample: NDArray[np.float64] | None = None
    distances: NDArray[np.float64] | None = None


class CodedRows(NamedTuple):
    """A table and the codes of its rows, as `encode` makes them, for improving a finished tree.

    Attributes
    ----------
    X_explain : ndarray of float32 or float64, shape (n, d)
        Columns that are cut.
    X_cluster : ndarray of float32 or float64, shape (n, m)
        Columns in which distances are taken.
    rows : ndarray of int32, shape (r,)
        The rows to use.
    weight : ndarray of float64, shape (r,), or None
        Positive weights of these rows.
    codes : ndarray of uint16, shape (r, d)
        The transpose of what `encode` returns.
    single_valued : ndarray of uint8, shape (d, n_codes)
        Whether all rows of a code have the same value.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    rows: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    codes: NDArray[np.uint16]
    single_valued: NDArray[np.uint8]

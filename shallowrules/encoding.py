"""How raw columns become the numbers that are clustered and cut.

Two matrices over the same rows: `explained`, in raw units, where cuts live, and `clustered`, the same
columns brought to comparable scales if asked for, where distances are taken. Rules are read off the
explained columns, so nothing is ever inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError
from shallowrules.scaling import fit_scaler
from shallowrules.table import Table

__all__ = ["Encoding", "encode", "explained_matrix", "refuse_unusable"]


@dataclass(frozen=True, eq=False)
class Encoding:
    """The numeric face of a table.

    Parameters
    ----------
    explained : ndarray of float32 or float64, shape (n_rows, n_columns)
        The raw columns. X itself, not a copy, where X is a float matrix.
    clustered : ndarray of float32 or float64, shape (n_rows, n_columns)
        The same object unless the columns are scaled.
    scaler : fitted scikit-learn scaler or None
        What takes the explained columns to the clustered space.
    """

    explained: NDArray[Any]
    clustered: NDArray[Any]
    scaler: Any = None

    @property
    def one_space(self) -> bool:
        """Whether the columns are clustered as they are explained."""
        return self.explained is self.clustered


def explained_matrix(table: Table, matrix: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the raw columns as one float matrix, `matrix` itself where it is one already."""
    if matrix is not None and matrix.dtype in (np.float32, np.float64) and matrix.dtype.isnative:
        return matrix
    refused = [column for column in table.columns if not column.is_numeric]
    if refused:
        what = ", ".join(f"{column.name!r} ({column.type})" for column in refused)
        raise DataError(f"columns that are not numeric cannot be used: {what}; exclude them")
    single = all(column.values.dtype == np.float32 for column in table.columns)
    explained = np.empty((table.n_rows, len(table.columns)), dtype=np.float32 if single else np.float64)
    for position, column in enumerate(table.columns):
        explained[:, position] = column.values
        if column.missing is not None:
            explained[column.missing, position] = np.nan
    return explained


def refuse_unusable(table: Table, explained: NDArray[Any]) -> None:
    """Raise DataError naming the columns that hold missing or infinite values, and how many."""
    missing, infinite = [], []
    for j, column in enumerate(table.columns):
        n_missing = int(column.absent.sum())
        if n_missing:
            missing.append(f"{column.name!r} ({n_missing} rows)")
        n_infinite = int(np.isinf(explained[:, j]).sum())
        if n_infinite:
            infinite.append(f"{column.name!r} ({n_infinite} rows)")
    if missing:
        raise DataError(
            f"missing values (NaN, None or NULL) in {', '.join(missing)}: leave these rows out, fill them, "
            "or exclude the columns"
        )
    if infinite:
        raise DataError(f"infinity in {', '.join(infinite)}: k-means needs finite numbers; mend or leave out the rows")


def encode(explained: NDArray[Any], scale: str | None, sample_weight: NDArray[np.float64] | None = None) -> Encoding:
    """Return the explained columns together with the space to cluster in.

    Parameters
    ----------
    explained : ndarray of float32 or float64, shape (n_rows, n_columns)
    scale : None, "minmax", "standard" or "robust"
        As scikit-learn's scalers do it, each row counted by its weight; see `shallowrules.scaling`.
    sample_weight : ndarray of float64, shape (n_rows,), optional
    """
    scaler = fit_scaler(scale, explained, sample_weight)
    return Encoding(explained, explained if scaler is None else scaler.transform(explained), scaler)

"""The total behind a share: exact sums of a column of numbers by cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, counted
from shallowrules.measures.summation import ExactSums, halves
from shallowrules.tables.column import Column

__all__ = ["Totals", "check_measure", "count_totals", "refuse_infinite"]


@dataclass(frozen=True)
class Totals:
    """The sums of a column by cluster.

    Parameters
    ----------
    name : str
        Of the column.
    sums : mapping from int or None to float
        By the number of the cluster, None for rows without one.
    missing : mapping from int or None to int
        The rows without a value, likewise.
    whole : float
        The sum over all rows.
    """

    name: str
    sums: Mapping[int | None, float]
    missing: Mapping[int | None, int]
    whole: float

    @classmethod
    def of(cls, name: str, found: Mapping[str, NDArray[Any]], clusters: Sequence[int | None]) -> Totals:
        """Return the sums, each rounded once, from the result of `count_totals` for clusters with these numbers.

        Raises
        ------
        DataError
            If a sum is beyond the range of doubles.
        """
        units: list[int] = found["sums"].tolist()
        try:
            *sums, whole = ExactSums((*units, sum(units))).rounded().tolist()
        except OverflowError:
            raise _too_large(name) from None
        missing = found["unmeasured"].tolist()
        return cls(name, dict(zip(clusters, sums, strict=True)), dict(zip(clusters, missing, strict=True)), whole)

    def share(self, cluster: int | None) -> float | None:
        """Return the share of a cluster in the whole; None where that is 0 or not a number."""
        share = self.sums.get(cluster, 0.0) / self.whole if self.whole else math.nan
        return share if math.isfinite(share) else None


def check_measure(column: Column) -> None:
    """Raise DataError for a column that cannot be added up: one that is not of numbers, or has infinite ones."""
    if column.type not in ("integer", "float"):
        raise DataError(f"the measure {column.name!r} cannot be added up: it holds {column.nature}, not numbers")
    refuse_infinite(column.name, column.n_infinite)


def refuse_infinite(name: str, n_rows: int) -> None:
    """Raise DataError if a measure is infinite in any rows."""
    if n_rows:
        raise DataError(
            f"the measure {name!r} is infinite in {counted(n_rows, 'row')}, so it has no sum: correct these "
            "values, or leave them empty"
        )


def count_totals(
    column: Column, labels: NDArray[np.integer], k: int, weight: NDArray[np.float64] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the "sums" of a column in k clusters, in units of `ExactSums`, and the "unmeasured" rows without a value.

    Both add up over parts of a table.

    Parameters
    ----------
    column : Column
        One that `check_measure` accepts.
    labels : ndarray of int, shape (n_rows,)
        From 0 to ``k - 1``.
    k : int
    weight : ndarray of float64, shape (n_rows,), optional
        How many times each row counts.
    """
    absent, values = column.absent, column.values
    unmeasured = np.bincount(labels[absent], minlength=k)
    if absent.any():
        values, labels = values[~absent], labels[~absent]
        weight = None if weight is None else weight[~absent]
    sums = ExactSums((0,) * k)
    for doubles in _doubles(values):
        for numbers in [doubles] if weight is None else _products(doubles, weight):
            if not np.isfinite(numbers).all():
                raise _too_large(column.name)
            sums = sums.merged(ExactSums.of(numbers, labels, k))
    return {"sums": np.array(sums.units, dtype=object), "unmeasured": unmeasured}


def _too_large(name: str) -> DataError:
    return DataError(f"the sum of the measure {name!r} is too large for a double: write it in a larger unit")


def _doubles(values: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Return doubles that add up to numbers exactly: for whole numbers, the upper and the lower 32 bits."""
    if values.dtype.kind == "f":
        return [values.astype(np.float64)]
    whole = values if values.dtype == np.uint64 else values.astype(np.int64)
    return [np.ldexp((whole >> 32).astype(np.float64), 32), (whole & 0xFFFFFFFF).astype(np.float64)]


def _products(values: NDArray[np.float64], weight: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return doubles that add up to values times weights, exactly where these are above 2**-1022."""
    (first, exponent), (second, shift) = np.frexp(values), np.frexp(weight)
    with np.errstate(over="ignore", under="ignore"):
        return [np.ldexp(one * other, exponent + shift) for one in halves(first) for other in halves(second)]

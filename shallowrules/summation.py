"""Weighted sums that do not depend on the order of the rows, nor on how equal rows are written.

Adding floats rounds at every step, so that a row of weight 3 and three equal rows would have means that
differ in the last digit, and a tree grown from them may differ in a tie. Here every value is first cut
into parts on common grids, coarse enough for the sum of each part to be exact (the pre-rounding of
reproducible summation: Demmel and Nguyen, "Parallel reproducible summation", 2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges, sums_of_parts

__all__ = [
    "MAX_TOTAL",
    "GroupSums",
    "SumGrid",
    "adds_up_exactly",
    "exact_total",
    "group_means",
    "group_sums",
    "in_units",
]

KEPT_BITS = 62
"""Bits kept below the largest value: more than a float64 has, so that what is dropped does not show. Two grids have so
many for up to a million rows."""

MANTISSA = 52

MAX_TOTAL = 2**43
"""Sums of whole weights are exact below it."""


def group_sums(
    X: NDArray[Any],
    groups: NDArray[np.integer],
    n_groups: int,
    weight: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    ranges: Ranges | None = None,
) -> NDArray[np.float64]:
    """Return the weighted sum of the rows of each group.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
        Finite.
    groups : ndarray of int, shape (n_rows,)
        From 0 to ``n_groups - 1``.
    n_groups : int
    weight : ndarray of float64, shape (n_rows,), optional
        All positive. For whole numbers (that sum to less than 2**43) the result is, bit by bit, that of
        rows repeated so often, in any order; for others it is rounded as usual.
    n_threads : int
        The result does not depend on it.
    ranges : Ranges, optional
        Those of the columns of `X`, where they are known.

    Returns
    -------
    ndarray of float64, shape (n_groups, n_columns)
    """
    if X.dtype not in (np.float32, np.float64) or not X.dtype.isnative:
        X = X.astype(np.float64)
    if not X.size:
        return np.zeros((n_groups, X.shape[1]))
    total = len(X) if weight is None else float(weight.sum())
    exact = adds_up_exactly(weight)
    grid = SumGrid.of(column_ranges(X, n_threads) if ranges is None else ranges, total)
    return grid.sums(grid.add_up(X, groups, n_groups, weight, n_threads if exact else 1))


def adds_up_exactly(weight: NDArray[np.float64] | None) -> bool:
    """Return whether sums with these weights do not depend on the order of the rows."""
    return weight is None or (float(weight.sum()) < MAX_TOTAL and bool((weight == np.floor(weight)).all()))


def exact_total(weight: NDArray[np.float64]) -> float:
    """Return the summed weights, rounded once."""
    return float(weight.sum()) if adds_up_exactly(weight) else math.fsum(weight.tolist())


def in_units(weight: NDArray[np.float64], total: float) -> NDArray[np.int64]:
    """Return weights as whole numbers in proportion, whose sums are exact in floats too.

    Each is rounded by itself, a positive one to at least 1, to units that depend on `total`, the `exact_total` of all
    weights; where these are whole numbers and sum to less than `MAX_TOTAL`, none is rounded.
    """
    units = np.rint(np.ldexp(weight, MANTISSA - math.frexp(total)[1])).astype(np.int64)
    return np.where(weight > 0, np.maximum(units, 1), 0)


@dataclass(frozen=True, eq=False)
class SumGrid:
    """The grids that the values of each column are cut on: what is added up on them is exact, in any order.

    Parameters
    ----------
    exponent : ndarray of int, shape (n_columns,)
        Of the power of two that no value of a column is above.
    rounder : ndarray of float64, shape (n_grids,)
        Adding a number this large rounds to a multiple of the width of a grid.
    """

    exponent: NDArray[np.integer]
    rounder: NDArray[np.float64]

    @classmethod
    def of(cls, ranges: Ranges, total: float) -> SumGrid:
        """Return the grids for columns of these ranges, whose rows weigh so much together."""
        least, greatest = ranges
        exponent = np.frexp(np.maximum(np.abs(least), np.abs(greatest)))[1]
        bits = min(max(8, MANTISSA - 1 - math.ceil(math.log2(max(total, 1.0)))), MANTISSA - 3)
        levels = range(1, -(-KEPT_BITS // bits) + 1)
        return cls(exponent, np.array([math.ldexp(1.5, MANTISSA - bits * level) for level in levels]))

    def add_up(
        self,
        X: NDArray[Any],
        groups: NDArray[np.integer],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
        n_threads: int = 1,
    ) -> NDArray[np.float64]:
        """Return the weighted sums of the rows of each group on each grid, shape (n_grids, n_groups, n_columns).

        Those of parts of a table add up exactly to those of the whole where weights are whole numbers.
        """
        exponent = self.exponent
        # Values become at most 1. The factor of a tiny column is beyond a float64, and two make it.
        scale = np.ldexp(1.0, [-exponent // 2 * (exponent < 0), -exponent - -exponent // 2 * (exponent < 0)])
        return sums_of_parts(
            X,
            np.ascontiguousarray(groups, dtype=np.int32),
            n_groups,
            None if weight is None else np.ascontiguousarray(weight),
            scale,
            self.rounder,
            n_threads,
        )

    def sums(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of each group, shape (n_groups, n_columns), from those on each grid."""
        result = np.zeros(parts.shape[1:])
        for part in parts[::-1]:
            result += part
        return np.asarray(np.ldexp(result, self.exponent))

    def means(self, parts: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of each group, shape (n_groups, n_columns), of weights `size`; NaN for one without rows."""
        return self.sums(parts) / np.where(size > 0, size, np.nan)[:, None]

    def excess(self, parts: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the sums of each group are above its weight times its mean, shape (n_groups, n_columns).

        It is what the rounding of the mean leaves. `size` are whole numbers below `MAX_TOTAL`.
        """
        scaled = np.ldexp(np.nan_to_num(self.means(parts, size)), -self.exponent)
        # Both halves of a mean times both halves of a weight are exact (Veltkamp's splitting).
        shifted = scaled * (2.0**27 + 1)
        upper = shifted - (shifted - scaled)
        low_size = np.mod(size, 2.0**22)[:, None]
        products = [half * each for half in (upper, scaled - upper) for each in (size[:, None] - low_size, low_size)]
        result, lost = np.zeros(scaled.shape), np.zeros(scaled.shape)
        for part in [*parts, *(-product for product in products)]:  # nearly all of it cancels: keep what is rounded off
            total = result + part
            before = total - part
            lost += (result - before) + (part - (total - before))
            result = total
        return np.asarray(np.ldexp(result + lost, self.exponent))


@dataclass(frozen=True, eq=False)
class GroupSums:
    """The exact sums of the rows of each group.

    Attributes
    ----------
    grid : SumGrid
    parts : ndarray of float64, shape (n_grids, n_groups, n_columns)
    size : ndarray of float64, shape (n_groups,)
        The weight of each group.
    """

    grid: SumGrid
    parts: NDArray[np.float64]
    size: NDArray[np.float64]

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean row of each group, shape (n_groups, n_columns), NaN for one without rows."""
        return self.grid.means(self.parts, self.size)


def group_means(
    X: NDArray[Any],
    groups: NDArray[np.integer],
    n_groups: int,
    weight: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    ranges: Ranges | None = None,
) -> NDArray[np.float64]:
    """Return the weighted mean row of each group, shape (n_groups, n_columns), NaN for a group without rows.

    The parameters are those of `group_sums`, but rows may be in no group (-1) or have weight 0: they do not
    count.
    """
    counted = groups >= 0
    if weight is not None:
        counted &= weight > 0
    if not counted.all():
        X, groups, weight = X[counted], groups[counted], None if weight is None else weight[counted]
        ranges = None  # they may be wider than those of the rows that count
    size = np.bincount(groups, weight, n_groups).astype(np.float64)
    size[size == 0] = np.nan
    return group_sums(X, groups, n_groups, weight, n_threads, ranges) / size[:, None]

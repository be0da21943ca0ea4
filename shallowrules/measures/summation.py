"""Weighted sums that do not depend on the order of the rows, nor on how equal rows are written.

Adding floats rounds at every step, so that the means of a row of weight 3 and of three equal rows would differ in the
last digit, and the trees grown from them in a tie. Here every value is first cut into parts on common grids, coarse
enough for the sum of each part to be exact (the pre-rounding of reproducible summation: Demmel and Nguyen, "Parallel
reproducible summation", 2015).
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
    "ExactSums",
    "GroupSums",
    "SumGrid",
    "WeightFacts",
    "adds_up_exactly",
    "exact_weights",
    "group_means",
    "group_sums",
    "halves",
    "in_units",
    "sum_exponent",
]

KEPT_BITS = 62
"""Bits kept below the largest value: more than a float64 has, so the dropped bits make no difference. Two grids
have so many for up to a million rows."""

UNIT = 1200
"""`ExactSums` are kept in units of this negative power of two: below every double and its last bit."""

HALF_BITS = 26
"""The lower bits of a mantissa, which are added up separately: sums of either half are exact for 2**26 rows."""

MANTISSA = 52

MAX_TOTAL = 2**43
"""Products of whole weights that sum to less are exact on the grids."""


@dataclass(frozen=True)
class WeightFacts:
    """Facts about the weights of the rows that count.

    Parameters
    ----------
    n_rows : int
        Rows of positive weight.
    total, largest, smallest : float
        Their summed weight, and that of the heaviest and of the lightest.
    are_whole : bool
        Whether all are whole numbers.
    """

    n_rows: int
    total: float
    largest: float = 1.0
    smallest: float = 1.0
    are_whole: bool = True

    @classmethod
    def of(cls, weight: NDArray[np.float64] | None, n_rows: int) -> WeightFacts:
        """Return the facts of weights, none negative and some positive; of 1 for each row if there are no weights."""
        if weight is None:
            return cls(n_rows, float(n_rows))
        positive = weight if weight.all() else weight[weight > 0]
        whole = bool((positive == np.floor(positive)).all())
        return cls(len(positive), float(positive.sum()), float(positive.max()), float(positive.min()), whole)

    @property
    def multiply_exactly(self) -> bool:
        """Whether a row of weight 3 can be summed as three rows."""
        return self.are_whole and self.total < MAX_TOTAL


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
        All positive. For whole numbers (that sum to less than 2**43) the result is, bit for bit, that of rows repeated
        that many times; for others each row's term is rounded once. It does not depend on the order of the rows.
    n_threads : int
        The result does not depend on it.
    ranges : Ranges, optional
        Those of the columns of `X`, where they are known.

    Returns
    -------
    ndarray of float64, shape (n_groups, n_columns)
    """
    if not X.size:
        return np.zeros((n_groups, X.shape[1]))
    grid, parts = _added_up(X, groups, n_groups, weight, n_threads, ranges)
    return grid.sums(parts)


def _added_up(
    X: NDArray[Any],
    groups: NDArray[np.integer],
    n_groups: int,
    weight: NDArray[np.float64] | None,
    n_threads: int,
    ranges: Ranges | None,
) -> tuple[SumGrid, NDArray[np.float64]]:
    """Return the grids for a table that is not empty, and the sums on them, from the parameters of `group_sums`."""
    if X.dtype not in (np.float32, np.float64) or not X.dtype.isnative:
        X = X.astype(np.float64)
    ranges = column_ranges(X) if ranges is None else ranges
    grid = SumGrid.of(ranges, WeightFacts.of(weight, len(X)))
    return grid, grid.add_up(X, groups, n_groups, weight, n_threads)


def adds_up_exactly(weight: NDArray[np.float64] | None) -> bool:
    """Return whether sums of these weights are exact in floats, and so do not depend on the order."""
    if weight is None:
        return True
    units = np.ldexp(weight, MANTISSA + 1 - math.frexp(float(weight.sum()))[1])
    return bool((units == np.floor(units)).all())


def exact_weights(weight: NDArray[np.float64], exponent: int | None = None) -> NDArray[np.float64]:
    """Return weights whose sums are exact in floats, in any order.

    Each is rounded to a multiple of ``2**-52`` of the power of two above their sum, a positive one to at least that.
    Whole weights that sum to less than ``2**52`` stay what they are.

    Parameters
    ----------
    weight : ndarray of float64, shape (n_rows,)
        Finite, not negative.
    exponent : int, optional
        The `sum_exponent` of the weights of all rows, where these are some of them.
    """
    shift = MANTISSA - (sum_exponent(weight) if exponent is None else exponent)
    units = np.rint(np.ldexp(weight, shift))
    return np.asarray(np.ldexp(np.where(weight > 0, np.maximum(units, 1.0), 0.0), -shift))


def sum_exponent(weight: NDArray[np.float64]) -> int:
    """Return the exponent of the power of two above the sum of weights, whatever their order."""
    total = float(weight.sum())
    near = {math.frexp(total * (1 + error))[1] for error in (-1e-6, 1e-6)}
    return near.pop() if len(near) == 1 else math.frexp(math.fsum(weight.tolist()))[1]


def in_units(weight: NDArray[np.float64], total: float) -> NDArray[np.int64]:
    """Return weights as whole numbers in proportion, whose sums are exact in floats too.

    Each is rounded by itself, a positive one to at least 1, to units that depend on the `total` of all weights. The
    results of `exact_weights` are not rounded.
    """
    units = np.rint(np.ldexp(weight, MANTISSA + 1 - math.frexp(total)[1])).astype(np.int64)
    return np.where(weight > 0, np.maximum(units, 1), 0)


@dataclass(frozen=True, eq=False)
class SumGrid:
    """The grids to which the values of each column are truncated: sums on them are exact, in any order.

    Parameters
    ----------
    exponent : ndarray of int, shape (n_columns,)
        Of the power of two that no value of a column is above.
    rounder : ndarray of float64, shape (n_grids,)
        Adding a number this large rounds to a multiple of the width of a grid.
    weight_exponent : int or None
        Of the power of two above the largest weight, where the product of a row and its weight is cut on the grids;
        None where the parts of the row are multiplied, because that is exact.
    """

    exponent: NDArray[np.integer]
    rounder: NDArray[np.float64]
    weight_exponent: int | None

    @classmethod
    def of(cls, ranges: Ranges, weights: WeightFacts) -> SumGrid:
        """Return the grids for columns of these ranges and rows of these weights."""
        least, greatest = ranges
        exponent = np.frexp(np.maximum(np.abs(least), np.abs(greatest)))[1]
        added, kept, weight_exponent = weights.total, KEPT_BITS, None
        if not weights.multiply_exactly:
            added, weight_exponent = weights.n_rows, math.frexp(weights.largest)[1]
            kept += min(weight_exponent - math.frexp(weights.smallest)[1], MANTISSA)
        bits = min(max(8, MANTISSA - 1 - math.ceil(math.log2(max(added, 1.0)))), MANTISSA - 3)
        levels = range(1, -(-kept // bits) + 1)
        rounder = np.array([math.ldexp(1.5, MANTISSA - bits * level) for level in levels])
        return cls(exponent, rounder, weight_exponent)

    def scaled(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights as they are multiplied: at most 1 where products are cut on the grids."""
        return weight if self.weight_exponent is None else np.asarray(np.ldexp(weight, -self.weight_exponent))

    def add_up(
        self,
        X: NDArray[Any],
        groups: NDArray[np.integer],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
        n_threads: int = 1,
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the weighted sums of the rows of each group on each grid, shape (n_grids, n_groups, n_columns).

        The sums of parts of a table add up exactly to those of the whole. `groups` and `weight` are those of `rows`, by
        default of all.
        """
        exponent = self.exponent
        # Values become at most 1. The factor of a tiny column is beyond a float64, so it is applied as two.
        scale = np.ldexp(1.0, [-exponent // 2 * (exponent < 0), -exponent - -exponent // 2 * (exponent < 0)])
        return sums_of_parts(
            X,
            np.ascontiguousarray(groups, dtype=np.int32),
            n_groups,
            None if weight is None else np.ascontiguousarray(self.scaled(weight)),
            scale,
            self.rounder,
            n_threads,
            rounds_products=self.weight_exponent is not None,
            rows=rows,
        )

    def sums(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of each group, shape (n_groups, n_columns), from those on each grid."""
        return np.asarray(np.ldexp(_joined(parts), self.exponent + (self.weight_exponent or 0)))

    def means(self, parts: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of each group, shape (n_groups, n_columns), of weights `size`.

        It is NaN for a group without rows, and for one whose `scaled` weight is 0.
        """
        sums = np.ldexp(_joined(parts), self.exponent)  # with weights as they are scaled: others may overflow
        scaled = self.scaled(size)
        return np.asarray(sums / np.where(scaled > 0, scaled, np.nan)[:, None])

    def excess(self, parts: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the sums of each group are above its weight times its mean, shape (n_groups, n_columns).

        It is the rounding error of the mean, with weights as `scaled`. `size` are exact sums of weights.
        """
        scaled = np.ldexp(np.nan_to_num(self.means(parts, size)), -self.exponent)
        products = [half * each for half in halves(scaled) for each in halves(self.scaled(size)[:, None])]
        result, lost = np.zeros(scaled.shape), np.zeros(scaled.shape)
        for part in [*parts, *(-product for product in products)]:  # nearly all cancels: keep what is rounded off
            total = result + part
            before = total - part
            lost += (result - before) + (part - (total - before))
            result = total
        return np.asarray(np.ldexp(result + lost, self.exponent))


def _joined(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over all grids, from those on each; the finest is added first."""
    result = np.zeros(parts.shape[1:])
    for part in parts[::-1]:
        result += part
    return result


def halves(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the upper and the lower digits of numbers, whose products are exact (Veltkamp's splitting)."""
    shifted = values * (2.0**27 + 1)
    upper = shifted - (shifted - values)
    return upper, values - upper


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

    The same holds for a group whose weight is more than 300 decimal places smaller than the largest weight of a row.
    The parameters are those of `group_sums`, but rows may be in no group (-1) or have weight 0; these do not count.
    """
    counted = groups >= 0
    if weight is not None:
        counted &= weight > 0
    if not counted.all():
        X, groups, weight = X[counted], groups[counted], None if weight is None else weight[counted]
        ranges = None  # they may be wider than those of the rows that count
    if not X.size:
        return np.full((n_groups, X.shape[1]), np.nan)
    size = np.bincount(groups, weight, n_groups).astype(np.float64)
    grid, parts = _added_up(X, groups, n_groups, weight, n_threads, ranges)
    return grid.means(parts, size)


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums of doubles by group, without any rounding.

    Parameters
    ----------
    units : tuple of int
        The sum of each group, in units of ``2**-UNIT``.
    """

    units: tuple[int, ...]

    @classmethod
    def of(cls, values: NDArray[np.float64], groups: NDArray[np.integer], n_groups: int) -> ExactSums:
        """Return the sums of finite values, shape (n_rows,), in groups from 0 to ``n_groups - 1``."""
        units = [0] * n_groups
        for first in range(0, len(values), 1 << HALF_BITS):
            _add(units, values[first : first + (1 << HALF_BITS)], groups[first : first + (1 << HALF_BITS)])
        return cls(tuple(units))

    @classmethod
    def counts(cls, counts: NDArray[np.integer]) -> ExactSums:
        """Return the sums of whole numbers."""
        return cls(tuple(int(count) << UNIT for count in counts))

    def merged(self, other: ExactSums) -> ExactSums:
        """Return the sums of both parts."""
        return ExactSums(tuple(one + another for one, another in zip(self.units, other.units, strict=True)))

    def rounded(self) -> NDArray[np.float64]:
        """Return the double nearest to each sum."""
        return np.array([units / (1 << UNIT) for units in self.units])  # Python divides integers with one rounding


def _add(units: list[int], values: NDArray[np.float64], groups: NDArray[np.integer]) -> None:
    """Add at most 2**26 values to the sums of their groups, in units of ``2**-UNIT``."""
    if not len(values):
        return
    mantissa, exponent = np.frexp(values)
    lowest = int(exponent.min())
    n_exponents = int(exponent.max()) - lowest + 1
    cells = groups.astype(np.int64) * n_exponents + (exponent - lowest)
    scaled = np.ldexp(mantissa, 53 - HALF_BITS)
    upper = np.floor(scaled)
    lower = np.ldexp(scaled - upper, HALF_BITS)
    n_cells = len(units) * n_exponents
    uppers, lowers = (np.bincount(cells, half, n_cells) for half in (upper, lower))
    for cell in np.flatnonzero((uppers != 0) | (lowers != 0)).tolist():
        group, place = divmod(cell, n_exponents)
        whole = (int(uppers[cell]) << HALF_BITS) + int(lowers[cell])
        units[group] += whole << (lowest + place - 53 + UNIT)

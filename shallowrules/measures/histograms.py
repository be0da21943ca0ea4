"""Histograms of a column by cluster, and the confusion of two clusterings: counts that add up over parts of a table.

Rows are first counted in narrow bins whose edges follow from the column's smallest and largest value alone, so that
counts of parts of a table add up to those of the whole. Which of them are joined for a picture follows from the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import count_in_bins, place_rows
from shallowrules.measures.summation import group_sums
from shallowrules.tables.conversion import Number

__all__ = ["MAX_BINS", "NarrowBins", "count_rows", "cross_weights", "join_bins", "plain_numbers"]

MAX_BINS = 20
"""Bins of a picture: more would not be visible."""

NARROW_BINS = 2000
"""At most this many narrow bins, and at least a tenth of that except for whole numbers: where a column has a long tail,
the bins of a picture are joined from a few of them."""

TAIL = 0.005
"""Share of the weight at each end that may be put into one bin, where that leaves more room for the rest."""

GAIN = 4
"""By how much narrower the other bins must become for that."""

MIN_EXPONENT = -280
"""Columns that are narrower than this power of ten have no bins: their scale factor would exceed every double."""

MAX_MULTIPLE = 2**50
"""Larger multiples are too close together for a double to tell them apart safely."""

MAX_EXACT_EXPONENT = 22
"""Powers of ten up to this one are doubles."""

EXACT = Context(prec=800, rounding=ROUND_CEILING)
"""Enough digits for any sum of two doubles."""


@dataclass(frozen=True, eq=False)
class NarrowBins:
    """Bins between neighboring multiples of a power of ten.

    Bin i holds values above ``edges[i]`` and at most ``edges[i + 1]``.

    Attributes
    ----------
    first : int
        ``edges[0]`` is this multiple.
    exponent : int
        Of the power of ten.
    edges : ndarray of float64, shape (n_bins + 1,)
        Ascending.
    low_on_edge : bool
        Whether the smallest number is ``edges[1]``, so that the first bin holds only this number.
    """

    first: int
    exponent: int
    edges: NDArray[np.float64]
    low_on_edge: bool

    @classmethod
    def between(cls, low: Number, high: Number, *, integer: bool) -> NarrowBins | None:
        """Return the bins for numbers from `low` to `high`; None where these are equal or too close."""
        least, greatest = Decimal(low), Decimal(high)
        width = EXACT.subtract(greatest, least)
        if width <= 0 or width.adjusted() < MIN_EXPONENT:
            return None
        finest = (width / NARROW_BINS).adjusted()
        finest = max(finest, 0) if integer else finest
        for exponent in range(finest, finest + 6):
            first, last = int(_multiple(least, exponent)) - 1, int(_multiple(greatest, exponent))
            if last - first < 2:
                return None
            if last - first > NARROW_BINS or max(-first, last) >= MAX_MULTIPLE:
                continue
            edges = _multiples_of_power(first, last, exponent)
            if np.isfinite(edges).all() and (np.diff(edges) > 0).all():
                return cls(first, exponent, edges, least == Decimal(first + 1).scaleb(exponent))
        return None

    def column(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64], float, float, float]:
        """Return the kernel's arguments for a column and its bins."""
        if values.dtype not in (np.float32, np.float64, np.int64) or not values.dtype.isnative:
            values = values.astype(np.float64)
        # Where rounding misplaces a row, the edges of the neighboring bins correct it.
        return values, self.edges, 10.0 ** max(-self.exponent, 0), 10.0 ** max(self.exponent, 0), float(self.first)


def _multiples_of_power(first: int, last: int, exponent: int) -> NDArray[np.float64]:
    """Return the doubles nearest to the multiples of a power of ten from the first to the last."""
    if abs(exponent) <= MAX_EXACT_EXPONENT:  # both numbers are doubles, and one operation rounds once
        multiples = np.arange(first, last + 1).astype(np.float64)
        return multiples * 10.0**exponent if exponent >= 0 else multiples / 10.0**-exponent
    return np.array([float(Decimal(i).scaleb(exponent)) for i in range(first, last + 1)])


def count_rows(
    bins: Sequence[NarrowBins],
    columns: Sequence[NDArray[Any]],
    groups: NDArray[np.int32],
    n_groups: int,
    weight: NDArray[np.float64] | None = None,
    n_threads: int = 1,
) -> list[NDArray[Any]]:
    """Return how many rows of each group are in each bin of each column, or their summed weight.

    Parameters
    ----------
    bins : sequence of NarrowBins
    columns : sequence of ndarray of numbers, shape (n_rows,)
        The column of each of the `bins`.
    groups : ndarray of int32, shape (n_rows,)
        From 0 to ``n_groups - 1``.
    n_groups : int
    weight : ndarray of float64, shape (n_rows,), optional
        The sums do not depend on the order of the rows.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    list of ndarray of int64, or of float64 with weights, shape (n_groups, n_bins)
    """
    if weight is None:
        return count_in_bins(list(map(NarrowBins.column, bins, columns)), groups, n_groups, n_threads)
    sums = []
    for each, values in zip(bins, columns, strict=True):
        n_bins = len(each.edges) - 1
        converted, edges, up, down, first = each.column(values)
        places = place_rows(converted, groups, edges, up, down, first)
        sums.append(group_sums(weight[:, None], places, n_groups * n_bins).reshape(n_groups, n_bins))
    return sums


def _multiple(number: Decimal, exponent: int) -> Decimal:
    """Return the least multiple of a power of ten that is not below a number."""
    return EXACT.to_integral_value(number.scaleb(-exponent, EXACT))


def join_bins(bins: NarrowBins, counts: NDArray[Any], *, integer: bool) -> tuple[tuple[Number, ...], NDArray[Any]]:
    """Join narrow bins to at most `MAX_BINS` with plain edges.

    They are equally wide, 1, 2 or 5 times a power of ten; but where few rows are far from the others, the first, the
    last or both are as wide as it takes.

    Parameters
    ----------
    bins : NarrowBins
    counts : ndarray, shape (n_groups, n_bins)
        The result of `count_rows`, or a sum of its results.
    integer : bool
        Whether the edges are to be whole numbers.

    Returns
    -------
    edges : tuple of int or float
        A bin holds the values above its lower edge and at most its upper one; the first holds its lower edge, too.
    joined : ndarray, shape (n_groups, len(edges) - 1)
    """
    first, last = bins.first, bins.first + counts.shape[1]
    cumulated = np.cumsum(counts.sum(axis=0))
    total = cumulated[-1]
    low = first + int(np.searchsorted(cumulated, TAIL * total, side="right"))
    high = first + int(np.searchsorted(cumulated, total - TAIL * total, side="left")) + 1
    inner = _plain_width(low, max(high, low + 1), MAX_BINS - 2)
    begin = first + bins.low_on_edge  # a first bin that holds its lower edge needs no bin below for that edge
    whole = _plain_width(begin, last, MAX_BINS)
    if whole == 1:
        whole = _plain_width(first, last, MAX_BINS)
        begin = first if whole == 1 else begin
    if whole >= GAIN * inner:
        starts = [first, *_multiples(low, high, inner), last]
        starts = [start for start in dict.fromkeys(starts) if first <= start <= last]
    else:
        starts = _multiples(begin, last, whole)
    places = np.array([0, *(start - first for start in starts[1:-1])])
    joined = np.add.reduceat(counts, places, axis=1)
    numbers = [Decimal(start).scaleb(bins.exponent) for start in starts]
    return tuple(int(number) if integer else float(number) for number in numbers), joined


def _plain_width(low: int, high: int, most: int) -> int:
    """Return the least of 1, 2, 5, 10, 20, … whose multiples divide ``low`` to ``high`` into at most `most` bins."""
    power = 1
    while True:
        for width in (power, 2 * power, 5 * power):
            if -(-high // width) - low // width <= most:
                return width
        power *= 10


def _multiples(low: int, high: int, width: int) -> list[int]:
    """Return the multiples of a width from the last not above `low` to the first not below `high`."""
    return [width * i for i in range(low // width, -(-high // width) + 1)]


def cross_weights(
    labels: NDArray[np.integer], reference: NDArray[np.integer], k: int, weight: NDArray[np.float64] | None
) -> NDArray[Any]:
    """Return how many rows, or what weight, two clusterings put into each pair of clusters, shape (k, k).

    Rows of the result are clusters of `labels`. It does not depend on the order of the rows.
    """
    cells = labels.astype(np.int32) * np.int32(k) + reference.astype(np.int32)
    if weight is None:
        return np.bincount(cells, minlength=k * k).reshape(k, k)
    return group_sums(weight[:, None], cells, k * k).reshape(k, k)


def plain_numbers(sums: NDArray[Any]) -> tuple[Number, ...]:
    """Return counts or weights as Python's numbers, whole ones as int."""
    numbers = sums.tolist()
    if sums.dtype.kind in "iu":
        return tuple(numbers)
    return tuple(int(value) if value.is_integer() else value for value in numbers)

"""How the values of each group compare with those of all other rows: Cliff's delta, and medians.

Cliff's delta is the share of pairs, a row of the group and one of the others, in which the former has the higher value,
minus the share in which it has the lower one (Cliff, "Dominance statistics", 1993). It needs only the order of the
values, so no tail of a column hides what sets a group apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import weigh_by_bits

__all__ = ["MAX_CELLS", "Standing", "ValueBins", "WeightsByValue", "codes_of", "values_of"]

MAX_CELLS = 2**19
"""Up to this many values in all columns together, each value is counted by itself. More are put into bins: sorting a
million rows of 10 columns takes as long as a fit."""

MAX_BIN_CELLS, MAX_BIN_BITS = 2**21, 16
"""Maximum number of pairs of a bin and a group, and of bits of the number of a bin."""

MIN_MEDIAN_BITS = 10
"""Bits of a double's fraction that bins must keep; with fewer there are no medians: they would be off by over 0.1%."""

SIGN = np.uint64(1 << 63)
FRACTION_BITS = 52

DECIMALS = 12
"""Decimals of Cliff's delta, so that reaching a limit does not depend on how it was computed."""

QUARTERS = np.array([0.25, 0.5, 0.75])


def codes_of(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return whole numbers that are in the order of the values; 0.0 and -0.0 give the same one."""
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    if values.dtype.kind == "i":
        return values.astype(np.int64).view(np.uint64) ^ SIGN
    bits = (values.astype(np.float64, copy=False) + 0.0).view(np.int64)
    flips = bits >> 63  # every bit of a negative number, and the sign of the others
    flips |= np.int64(-1 << 63)
    bits ^= flips
    return bits.view(np.uint64)


def values_of(codes: NDArray[np.uint64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values of a type that have these codes."""
    if dtype.kind == "u":
        return codes
    if dtype.kind == "i":
        return (codes ^ SIGN).view(np.int64)
    return np.where(codes >= SIGN, codes ^ SIGN, ~codes).view(np.float64)


@dataclass(frozen=True, eq=False)
class Standing:
    """How the values of each group compare with those of all other rows.

    Attributes
    ----------
    deltas : ndarray of float64, shape (n_groups,)
        Cliff's delta, from -1 to 1; NaN for a group without rows, or with all of them.
    medians : ndarray of float64, shape (n_groups,)
        NaN for a group without rows.
    quartiles : ndarray of float64, shape (3,)
        Of all rows.
    """

    deltas: NDArray[np.float64]
    medians: NDArray[np.float64]
    quartiles: NDArray[np.float64]


@dataclass(frozen=True)
class ValueBins:
    """Bins of a column's values, which follow from its ends alone: each holds doubles that begin with the same bits.

    So they are as narrow, by ratio, at 0.01 as at a million, and no tail widens them.

    Parameters
    ----------
    first : int
        The code of the least value without its last bits.
    n_bins : int
    shift : int
        The number of last bits in which the codes of one bin may differ.
    """

    first: int
    n_bins: int
    shift: int

    @classmethod
    def between(cls, ends: Sequence[float], n_groups: int) -> ValueBins:
        """Return the narrowest bins, for a given number of groups, from the least value to the greatest."""
        low, high = codes_of(np.array(ends, np.float64)).tolist()
        most = min(MAX_BIN_CELLS // n_groups, 1 << MAX_BIN_BITS)
        shift = max(0, (high - low).bit_length() - most.bit_length())
        while (high >> shift) - (low >> shift) >= most:
            shift += 1
        return cls(low >> shift, (high >> shift) - (low >> shift) + 1, shift)


@dataclass(frozen=True, eq=False)
class WeightsByValue:
    """The weight of each group at each value of a column. The weights of a table's parts add up to those of the whole.

    Parameters
    ----------
    n_groups : int
    dtype : numpy.dtype
        Of the values; of values in bins, float64.
    codes : ndarray of uint64, shape (n_values,)
        Those of the distinct values, ascending.
    places, groups : ndarray of int, shape (n_cells,)
        Each pair of a value and a group that has rows, ascending: the place among the `codes`, and the group.
    weight : ndarray of int64 or float64, shape (n_cells,)
        Exact: sums do not depend on the order.
    shift : int
        The number of last bits that the codes have lost, where values are in bins; 0 for exact ones.
    """

    n_groups: int
    dtype: np.dtype[Any]
    codes: NDArray[np.uint64]
    places: NDArray[np.integer]
    groups: NDArray[np.integer]
    weight: NDArray[Any]
    shift: int = 0

    @classmethod
    def of(
        cls,
        values: NDArray[Any],
        groups: NDArray[np.integer],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
    ) -> WeightsByValue:
        """Return the weights of some rows, none of whose values is missing."""
        size = np.ones(len(values), np.int64) if weight is None else weight
        return cls(n_groups, values.dtype, *_counted(codes_of(values), groups, n_groups, size))

    @classmethod
    def in_bins(
        cls,
        columns: Sequence[NDArray[Any]],
        bins: Sequence[ValueBins],
        groups: NDArray[np.integer],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
    ) -> list[WeightsByValue]:
        """Return the weights of some rows in the bins of several columns, whose values need not be counted apart."""
        values = [each.astype(np.float64, copy=False) for each in columns]
        given = [(each, some.first, some.n_bins, some.shift) for each, some in zip(values, bins, strict=True)]
        found = weigh_by_bits(given, np.ascontiguousarray(groups, np.int32), n_groups, weight)
        return [cls._of_cells(n_groups, some, *cells) for some, cells in zip(bins, found, strict=True)]

    @classmethod
    def _of_cells(
        cls, n_groups: int, bins: ValueBins, cells: NDArray[np.int64], sums: NDArray[np.float64]
    ) -> WeightsByValue:
        numbers, groups = np.divmod(cells, n_groups)
        is_first = _begins(numbers)
        codes = (numbers[is_first].astype(np.uint64) + np.uint64(bins.first)) << np.uint64(bins.shift)
        return cls(n_groups, np.dtype(np.float64), codes, np.cumsum(is_first) - 1, groups, sums, bins.shift)

    def __add__(self, other: WeightsByValue) -> WeightsByValue:
        cells = ((each.codes[each.places], each.groups, each.weight) for each in (self, other))
        codes, groups, weight = (np.concatenate(each) for each in zip(*cells, strict=True))
        found = _counted(codes, groups, self.n_groups, weight)
        return WeightsByValue(self.n_groups, self.dtype, *found, self.shift)

    def standing(self) -> Standing:
        """Return how the values of each group compare with all others; pairs of equal values count half."""
        places, groups, n_groups = self.places, self.groups, self.n_groups
        weight = self.weight.astype(np.float64)
        weight *= 2.0 ** -math.frexp(weight.sum())[1]  # so that no product overflows
        at_value, size = np.bincount(places, weight), np.bincount(groups, weight, n_groups)
        reached = np.cumsum(at_value)
        total = reached[-1]
        # The weight below a value minus that above it. Within a group these differences cancel, and the rest of their
        # sum is against the others.
        score = (reached - at_value) - (total - reached)
        pairs = size * (total - size)
        sums = np.bincount(groups, weight * score[places], n_groups)
        deltas = np.divide(sums, pairs, out=np.full(n_groups, np.nan), where=pairs > 0)
        by_group = np.argsort(groups.astype(np.min_scalar_type(n_groups)), kind="stable")
        middles = np.cumsum(size) - size / 2
        medians = places[by_group][_ends(middles, np.cumsum(weight[by_group]))]
        values = self._between(np.concatenate([medians, _ends(total * QUARTERS, reached)], axis=1))
        found = np.where(size > 0, values[:n_groups], np.nan)
        if self.shift > FRACTION_BITS - MIN_MEDIAN_BITS:
            found[:] = np.nan
        return Standing(np.round(deltas, DECIMALS).clip(-1, 1) + 0.0, found, values[n_groups:])

    def _between(self, places: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the number halfway between two values, by their places."""
        middle = np.uint64((1 << self.shift) >> 1)  # of the codes that were merged into one
        low, high = values_of(self.codes[places] + middle, self.dtype).astype(np.float64)
        found: NDArray[np.float64] = np.where(low == high, low, low / 2 + high / 2)
        return found


def _ends(wanted: NDArray[Any], reached: NDArray[Any]) -> NDArray[np.integer]:
    """Return the two places at which this much weight is reached; they differ if it falls at the end of one."""
    both = np.stack([np.searchsorted(reached, wanted, side) for side in ("left", "right")])
    return np.minimum(both, len(reached) - 1)


def _begins(ascending: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value is not the one before it."""
    result = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=result[1:])
    return result


def _counted(
    codes: NDArray[np.uint64],
    groups: NDArray[np.integer],
    n_groups: int,
    weight: NDArray[Any],
) -> tuple[NDArray[np.uint64], NDArray[np.integer], NDArray[np.integer], NDArray[Any]]:
    """Return the distinct codes; the places, the groups and the weight of the cells, as `WeightsByValue` has them."""
    order = np.argsort(codes, kind="stable")
    codes, groups, weight = codes[order], groups[order], weight[order]
    is_first = _begins(codes)
    places, codes = np.cumsum(is_first) - 1, codes[is_first]
    if len(codes) == len(places):
        return codes, places, groups, weight
    cells = places * n_groups + groups
    if len(codes) * n_groups <= len(cells):
        sums = np.bincount(cells, weight, len(codes) * n_groups).astype(weight.dtype)
        filled = np.flatnonzero(sums)
        return codes, *np.divmod(filled, n_groups), sums[filled]
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    starts = np.flatnonzero(_begins(cells))
    return codes, *np.divmod(cells[starts], n_groups), np.add.reduceat(weight[order], starts)

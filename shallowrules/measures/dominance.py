"""How the values of each group stand to those of all other rows: Cliff's delta, and medians.

Cliff's delta is the share of pairs, a row of the group and one of the others, in which the former has the higher value,
minus the share in which it has the lower one (Cliff, "Dominance statistics", 1993). It needs the order of the values
alone, so that no tail of a column hides what sets a group apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_CELLS", "Standing", "WeightsByValue", "codes_of", "values_of"]

MAX_CELLS = 2**22
"""Pairs of a value and a group that are kept of all columns of a table in parts: some 100 MB."""

SIGN = np.uint64(1 << 63)

DECIMALS = 12
"""Of Cliff's delta: so it does not depend on how it was computed whether it reaches a limit."""

QUARTERS = (0.25, 0.5, 0.75)


def codes_of(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return whole numbers that are in the order of the values; of 0.0 and -0.0 one."""
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    if values.dtype.kind == "i":
        return values.astype(np.int64).view(np.uint64) ^ SIGN
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    return np.where(bits >= SIGN, ~bits, bits | SIGN)


def values_of(codes: NDArray[np.uint64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values, of a type, that have these codes."""
    if dtype.kind == "u":
        return codes
    if dtype.kind == "i":
        return (codes ^ SIGN).view(np.int64)
    return np.where(codes >= SIGN, codes ^ SIGN, ~codes).view(np.float64)


@dataclass(frozen=True, eq=False)
class Standing:
    """How the values of each group stand to those of all other rows.

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


@dataclass(frozen=True, eq=False)
class WeightsByValue:
    """The weight that each group has at each value of a column. Those of parts of a table add up to those of the whole.

    Where there are more than `limit` pairs of a value and a group, the codes lose as many of their last bits as needed.
    How many depends on all rows, and not on how they are split into parts.

    Parameters
    ----------
    n_groups : int
    dtype : numpy.dtype
        Of the values.
    codes : ndarray of uint64, shape (n_values,)
        Those of the distinct values, ascending.
    places, groups : ndarray of int, shape (n_cells,)
        Each pair of a value and a group that has rows, ascending: the place among the `codes`, and the group.
    weight : ndarray of int64 or float64, shape (n_cells,)
        Exact: sums do not depend on the order.
    limit : int or None
        At most so many cells, or two for each group; None for any number.
    shift : int
        The bits that the codes have lost.
    """

    n_groups: int
    dtype: np.dtype[Any]
    codes: NDArray[np.uint64]
    places: NDArray[np.integer]
    groups: NDArray[np.integer]
    weight: NDArray[Any]
    limit: int | None = None
    shift: int = 0

    @classmethod
    def of(
        cls,
        values: NDArray[Any],
        groups: NDArray[np.integer],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
        limit: int | None = None,
        order: NDArray[np.integer] | None = None,
    ) -> WeightsByValue:
        """Return those of some rows, none of whose values is missing; `order` is what sorts them, where it is known."""
        size = np.ones(len(values), np.int64) if weight is None else weight
        found = _counted(codes_of(values), groups, n_groups, size, order)
        return cls(n_groups, values.dtype, *found, limit)._within_limit()

    def __add__(self, other: WeightsByValue) -> WeightsByValue:
        shift = np.uint64(max(self.shift, other.shift))
        cells = ((each.codes[each.places], each.groups, each.weight) for each in (self, other))
        codes, groups, weight = (np.concatenate(each) for each in zip(*cells, strict=True))
        found = _counted(codes >> shift << shift, groups, self.n_groups, weight)
        return WeightsByValue(self.n_groups, self.dtype, *found, self.limit, int(shift))._within_limit()

    def _within_limit(self) -> WeightsByValue:
        """Return the same with as many bits of the codes as the limit leaves."""
        if self.limit is None or len(self.weight) <= self.limit:
            return self
        codes, groups = self.codes[self.places], self.groups
        order = np.argsort(groups, kind="stable")
        ordered, groups_of = codes[order], groups[order]
        # Two neighbors in a group are one from so many lost bits on as the highest in which they differ.
        needed = _bit_lengths(ordered[1:] ^ ordered[:-1])[groups_of[1:] == groups_of[:-1]]
        kept = len(codes) - np.cumsum(np.bincount(needed, minlength=65))
        shift = np.uint64(np.argmax(kept <= max(self.limit, 2 * self.n_groups)))
        found = _counted(codes >> shift << shift, groups, self.n_groups, self.weight)
        return WeightsByValue(self.n_groups, self.dtype, *found, self.limit, int(shift))

    def standing(self) -> Standing:
        """Return how the values of each group stand to all others; pairs of equal values count half."""
        places, groups = self.places, self.groups
        weight = self.weight.astype(np.float64)
        weight = np.ldexp(weight, -np.frexp(weight.sum())[1])  # so that no product is beyond floats
        at_value, size = np.bincount(places, weight), np.bincount(groups, weight, self.n_groups)
        reached = np.cumsum(at_value)
        # The weight below a value minus that above it. Within a group these differences cancel, and what is left of
        # their sum is against the others.
        score = (reached - at_value) - (reached[-1] - reached)
        pairs = size * (reached[-1] - size)
        sums = np.bincount(groups, weight * score[places], self.n_groups)
        deltas = np.divide(sums, pairs, out=np.full(self.n_groups, np.nan), where=pairs > 0)
        order = np.argsort(groups.astype(np.min_scalar_type(self.n_groups)), kind="stable")
        up_to = np.cumsum(size)
        medians = self._at(up_to - size / 2, np.cumsum(weight[order]), places[order])
        quartiles = self._at(reached[-1] * np.array(QUARTERS), reached, np.arange(len(reached)))
        return Standing(np.round(deltas, DECIMALS).clip(-1, 1) + 0.0, np.where(size > 0, medians, np.nan), quartiles)

    def _at(self, wanted: NDArray[Any], reached: NDArray[Any], places: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the values at which so much weight is reached: halfway between two where it is at the end of one."""
        middle = np.uint64((1 << self.shift) >> 1)  # of the codes that became one
        ends = (np.searchsorted(reached, wanted, side).clip(max=len(places) - 1) for side in ("left", "right"))
        low, high = (values_of(self.codes[places[end]] + middle, self.dtype).astype(np.float64) for end in ends)
        return np.where(low == high, low, low / 2 + high / 2)


def _counted(
    codes: NDArray[np.uint64],
    groups: NDArray[np.integer],
    n_groups: int,
    weight: NDArray[Any],
    order: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.uint64], NDArray[np.integer], NDArray[np.integer], NDArray[Any]]:
    """Return the distinct codes; the places, the groups and the weight of the cells, as `WeightsByValue` has them."""
    order = np.argsort(codes, kind="stable") if order is None else order
    codes, groups, weight = codes[order], groups[order], weight[order]
    is_first = np.ones(len(codes), bool)
    is_first[1:] = codes[1:] != codes[:-1]
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
    starts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    return codes, *np.divmod(cells[starts], n_groups), np.add.reduceat(weight[order], starts)


def _bit_lengths(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of bits of each number, 0 of 0."""
    upper, lower = numbers >> np.uint64(32), numbers & np.uint64(2**32 - 1)
    return np.where(upper > 0, np.frexp(upper.astype(np.float64))[1] + 32, np.frexp(lower.astype(np.float64))[1])

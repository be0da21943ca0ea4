"""Sums over parts that are exact, so that they depend neither on the order of rows nor on the cut into parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Added", "ByKey", "ExactSums"]

UNIT = 1200
"""Sums are kept in units of this negative power of two: below every double and its last bit."""

HALF_BITS = 26
"""The lower bits of a mantissa, which are added up apart: sums of either half are exact for 2**26 rows."""


@dataclass(frozen=True, eq=False)
class Added:
    """Arrays of counts or of exact sums, by name, which add up."""

    arrays: Mapping[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def merged(self, other: Added) -> Added:
        """Return the sums of both parts."""
        return Added({name: array + other.arrays[name] for name, array in self.arrays.items()})


@dataclass(frozen=True, eq=False)
class ByKey:
    """What is found of several things, of some of them in a part: results by node, say, each of which can be merged."""

    values: Mapping[Any, Any]

    def merged(self, other: ByKey) -> ByKey:
        """Return what is found in both parts."""
        values = dict(self.values)
        for key, value in other.values.items():
            values[key] = values[key].merged(value) if key in values else value
        return ByKey(values)


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
        """Return sums that are whole numbers."""
        return cls(tuple(int(count) << UNIT for count in counts))

    def merged(self, other: ExactSums) -> ExactSums:
        """Return the sums of both parts."""
        return ExactSums(tuple(one + another for one, another in zip(self.units, other.units, strict=True)))

    def rounded(self) -> NDArray[np.float64]:
        """Return the double nearest to each sum."""
        return np.array([units / (1 << UNIT) for units in self.units])  # Python divides integers with one rounding


def _add(units: list[int], values: NDArray[np.float64], groups: NDArray[np.integer]) -> None:
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

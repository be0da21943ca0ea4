"""The values of some ranks in columns of a table: exact, by passes that narrow down where they are.

Each column's numbers become whole numbers of 64 bits in the same order, their codes. A pass adds up the weight of the
rows by range of codes; the next one looks only at the range with the wanted rank, until it is a single code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.measures.dominance import codes_of, values_of
from shallowrules.partitions.merging import Added, ByKey, Run
from shallowrules.tables.conversion import Number

__all__ = ["RankedColumn", "ReadColumns", "Weighed", "ranked_values"]

MAX_CELLS = 2**20
"""Maximum number of ranges of codes, over all columns, that a pass sums: 8 MB in each part's result."""

MIN_BITS, MAX_BITS = 8, 16
"""Binary logarithms of the number of ranges into which a pass divides one: the least and the most."""

FEW_WEIGHT = 4096
"""Summed weight below which a range is fetched code by code."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """Numbers of a column and their weights.

    Parameters
    ----------
    values : ndarray of integers or floats, shape (n_values,)
        None missing.
    weight : ndarray of int64, shape (n_values,), or None
        Not negative; None for 1 each. All parts together weigh less than 2**53.
    """

    values: NDArray[Any]
    weight: NDArray[np.int64] | None


ReadColumns = Callable[[Any], Sequence[Weighed]]
"""Takes the rows of a part, and returns the numbers of each column. It is pickled."""


@dataclass(frozen=True)
class RankedColumn:
    """A column, and the ranks that are wanted.

    Parameters
    ----------
    dtype : numpy.dtype
        The type of its numbers in all parts.
    ends : (least, greatest)
        No number is beyond these.
    ranks : sequence of int
        The value of rank r is the least that, with all below it, weighs more than r.
    """

    dtype: np.dtype[Any]
    ends: tuple[Number, Number]
    ranks: Sequence[int]


@dataclass(frozen=True)
class _Range:
    """The codes from `low` to `high`, which contain one of a wanted rank.

    Parameters
    ----------
    below : int
        Summed weight of all lower codes.
    is_few : bool
        Whether its rows weigh at most `FEW_WEIGHT`.
    """

    low: int
    high: int
    below: int = 0
    is_few: bool = False

    def shift(self, bits: int) -> int:
        """Return the binary logarithm of the codes in each of at most ``2**bits`` equal ranges."""
        return max(0, (self.high - self.low).bit_length() - bits)

    def part_at(self, rank: int, counts: NDArray[np.int64], shift: int) -> _Range:
        """Return the range that contains a rank, among equal ranges with summed weights."""
        reached = np.cumsum(counts)
        place = int(np.searchsorted(reached, rank - self.below, side="right"))
        low = self.low + (place << shift)
        below = self.below + int(reached[place] - counts[place])
        return _Range(low, min(self.high, low + (1 << shift) - 1), below, bool(counts[place] <= FEW_WEIGHT))


@dataclass(frozen=True, eq=False)
class _Codes:
    """Codes, ascending, and the weight of each."""

    codes: NDArray[np.uint64]
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.uint64], weight: NDArray[np.int64]) -> _Codes:
        """Return the codes of some rows; values without weight are skipped."""
        codes, weight = codes[weight > 0], weight[weight > 0]
        known, numbers = np.unique(codes, return_inverse=True)
        return cls(known, np.bincount(numbers, weight, len(known)).astype(np.int64))

    def merged(self, other: _Codes) -> _Codes:
        """Return the codes of both parts."""
        return _Codes.of(np.concatenate([self.codes, other.codes]), np.concatenate([self.weight, other.weight]))

    def code_at(self, rank: int) -> int:
        """Return the code of a rank."""
        return int(self.codes[np.searchsorted(np.cumsum(self.weight), rank, side="right")])


def ranked_values(run: Run, read: ReadColumns, columns: Mapping[int, RankedColumn]) -> dict[int, dict[int, Number]]:
    """Return the values of the wanted ranks, by column and rank; 0.0 for both 0.0 and -0.0.

    Parameters
    ----------
    run : callable
        As `Run` says.
    read : callable
    columns : mapping from int to RankedColumn
        By the position among what `read` returns.
    """
    ranges = {(j, rank): _whole_range(column) for j, column in columns.items() for rank in column.ranks}
    while wanted := {(j, each) for (j, _), each in ranges.items() if each.low < each.high}:
        bits = min(MAX_BITS, max(MIN_BITS, (MAX_CELLS // len(wanted)).bit_length() - 1))
        found = run(_count_part, (read, sorted(wanted, key=itemgetter(0)), bits)).values
        ranges = {
            (j, rank): _narrowed(each, rank, found[j, each], bits) if each.low < each.high else each
            for (j, rank), each in ranges.items()
        }
    result: dict[int, dict[int, Number]] = {j: {} for j in columns}
    for (j, rank), each in ranges.items():
        result[j][rank] = values_of(np.array([each.low], np.uint64), columns[j].dtype)[0].item()
    return result


def _whole_range(column: RankedColumn) -> _Range:
    low, high = codes_of(np.array(column.ends, dtype=column.dtype)).tolist()
    return _Range(low, high)


def _narrowed(each: _Range, rank: int, found: Added | _Codes, bits: int) -> _Range:
    if isinstance(found, _Codes):
        code = found.code_at(rank - each.below)
        return _Range(code, code)
    return each.part_at(rank, found["weight"], each.shift(bits))


def _count_part(rows: Any, state: tuple[ReadColumns, Iterable[tuple[int, _Range]], int]) -> ByKey:
    """Return by column and range the summed weight in each of its equal ranges, or the codes of few rows."""
    read, wanted, bits = state
    columns = read(rows)
    found: dict[tuple[int, _Range], Added | _Codes] = {}
    for j, ranges in groupby(wanted, itemgetter(0)):
        codes = codes_of(columns[j].values)
        for _, each in ranges:
            found[j, each] = _count_range(codes, columns[j].weight, each, bits)
    return ByKey(found)


def _count_range(
    codes: NDArray[np.uint64], weight: NDArray[np.int64] | None, each: _Range, bits: int
) -> Added | _Codes:
    inside = np.flatnonzero((codes >= np.uint64(each.low)) & (codes <= np.uint64(each.high)))
    codes, weight = codes[inside], None if weight is None else weight[inside]
    if each.is_few:
        return _Codes.of(codes, np.ones(len(codes), np.int64) if weight is None else weight)
    shift = each.shift(bits)
    places = ((codes - np.uint64(each.low)) >> np.uint64(shift)).astype(np.int64)
    n_places = ((each.high - each.low) >> shift) + 1
    return Added({"weight": np.bincount(places, weight, n_places).astype(np.int64)})

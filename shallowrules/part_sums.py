"""What is found in the parts of a table while a tree grows: results that add up exactly, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel

__all__ = [
    "Collected",
    "Ends",
    "Found",
    "LeafSums",
    "Rows",
    "Sums",
    "Totals",
    "ValueSums",
    "ends_of",
    "exact_weight",
    "values_of",
]

WEIGHT_BITS = 1126
"""Weights are added up in units so fine that every float64 is a whole number of them."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a part as the tree is grown from them.

    Parameters
    ----------
    X_explain, X_cluster : ndarray of float32 or float64, shapes (n, d) and (n, m)
        Finite; the same object where there is one space.
    weight : ndarray of float64, shape (n,), or None
        Positive.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """What is found, by node or whatever it is of."""

    values: dict[Any, Any]

    def merged(self, other: Found) -> Found:
        """Return what is found in both."""
        values = dict(self.values)
        for key, value in other.values.items():
            values[key] = values[key].merged(value) if key in values else value
        return Found(values)


@dataclass(frozen=True, eq=False)
class Sums:
    """Whole numbers that are added up; None stays None."""

    arrays: tuple[NDArray[np.int64] | None, ...]

    def merged(self, other: Sums) -> Sums:
        """Return the sums of both."""
        pairs = zip(self.arrays, other.arrays, strict=True)
        return Sums(tuple(None if a is None or b is None else a + b for a, b in pairs))


@dataclass(frozen=True, eq=False)
class Totals:
    """What is known of the whole table before a tree is grown.

    Parameters
    ----------
    n_rows : int
    weighted : bool
    max_weight : float
    weight_sum : float
        As floats add up; a size, not for sums that matter.
    low, high : ndarray of float64, shape (m,)
        Of the clustered columns.
    keys : ndarray of uint64, shape (s,)
        Ascending, of the rows of the sample: those of the smallest keys, equal rows once.
    sample : ndarray of float64, shape (s, d)
    n_sample : int
        Rows of the sample, at most.
    """

    n_rows: int
    weighted: bool
    max_weight: float
    weight_sum: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    keys: NDArray[np.uint64]
    sample: NDArray[np.float64]
    n_sample: int

    @classmethod
    def of(cls, rows: Rows, n_sample: int) -> Totals:
        """Return those of some rows."""
        n, d, m = len(rows.X_explain), rows.X_explain.shape[1], rows.X_cluster.shape[1]
        weighted = rows.weight is not None
        if not n:
            ends = np.full(m, np.inf), np.full(m, -np.inf)
            return cls(0, weighted, 0.0, 0.0, *ends, np.empty(0, np.uint64), np.empty((0, d)), n_sample)
        keys = _kernel.row_keys(rows.X_explain, np.arange(n, dtype=np.int32))
        near = np.arange(n)
        if n > 4 * n_sample:
            near = np.flatnonzero(keys <= np.partition(keys, n_sample)[n_sample])
        chosen, first = np.unique(keys[near], return_index=True)
        picked = near[first[:n_sample]]
        return cls(
            n,
            weighted,
            0.0 if rows.weight is None else float(rows.weight.max()),
            0.0 if rows.weight is None else float(rows.weight.sum()),
            *_kernel.column_ranges(rows.X_cluster),
            chosen[:n_sample],
            rows.X_explain[picked].astype(np.float64) + 0.0,
            n_sample,
        )

    def merged(self, other: Totals) -> Totals:
        """Return those of the rows of both."""
        keys, first = np.unique(np.concatenate([self.keys, other.keys]), return_index=True)
        return Totals(
            self.n_rows + other.n_rows,
            self.weighted or other.weighted,
            max(self.max_weight, other.max_weight),
            self.weight_sum + other.weight_sum,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            keys[: self.n_sample],
            np.concatenate([self.sample, other.sample])[first[: self.n_sample]],
            self.n_sample,
        )


@dataclass(frozen=True, eq=False)
class ValueSums:
    """Sums of the rows of some bins of a feature, by value.

    Parameters
    ----------
    value : ndarray of float64, ascending
    sums : ndarray of int64, shape (n_values, 4)
        What the rows add to the induced cost from their value on, their weight, their number; the code of the value.
    """

    value: NDArray[np.float64]
    sums: NDArray[np.int64]

    def merged(self, other: ValueSums) -> ValueSums:
        """Return the sums of both."""
        values, places = np.unique(np.concatenate([self.value, other.value]), return_inverse=True)
        sums = np.zeros((len(values), 4), dtype=np.int64)
        for one, here in ((self, places[: len(self.value)]), (other, places[len(self.value) :])):
            sums[here, :3] += one.sums[:, :3]  # no value is twice in one
            sums[here, 3] = one.sums[:, 3]
        return ValueSums(values, sums)


@dataclass(frozen=True, eq=False)
class Ends:
    """The distinct rows of the lowest values of a feature, and those of the highest.

    Parameters
    ----------
    left, right : tuple of (ndarray of float64, ndarray of uint64, ndarray of uint64, ndarray of int64)
        Of each distinct row its value, its keys in both spaces and how often it is there; by value and keys.
    n_most : int
        Distinct rows at each end, at most.
    """

    left: tuple[NDArray[Any], ...]
    right: tuple[NDArray[Any], ...]
    n_most: int

    def merged(self, other: Ends) -> Ends:
        """Return those of the rows of both."""
        left, right = (
            _distinct(*(np.concatenate(both) for both in zip(one, another, strict=True)))
            for one, another in ((self.left, other.left), (self.right, other.right))
        )
        return Ends(
            tuple(array[: self.n_most] for array in left), tuple(array[-self.n_most :] for array in right), self.n_most
        )

    def repeated(self, n_centers: int) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """Return the outermost values, and how many of their rows repeat others.

        None if there are so few distinct rows that both ends overlap.
        """
        lowest, highest = self.left[0], self.right[0]
        if len(lowest) < n_centers or lowest[-1] > highest[0]:
            return None
        inner_left, inner_right = lowest < lowest[-1], highest > highest[0]
        values = np.concatenate([lowest[inner_left], highest[inner_right]])
        counts = np.concatenate([self.left[3][inner_left], self.right[3][inner_right]]) - 1
        of_values, places = np.unique(values, return_inverse=True)
        return of_values, np.bincount(places, counts, len(of_values)).astype(np.int64)


def ends_of(values: NDArray[np.float64], keys: NDArray[np.uint64], other_keys: NDArray[np.uint64], n_most: int) -> Ends:
    """Return the ends of some rows."""
    whole = _distinct(values, keys, other_keys, np.ones(len(values), dtype=np.int64))
    return Ends(tuple(array[:n_most] for array in whole), tuple(array[-n_most:] for array in whole), n_most)


def _distinct(
    values: NDArray[np.float64], keys: NDArray[np.uint64], other_keys: NDArray[np.uint64], counts: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """Return the distinct rows among some, by value and keys, with their counts added up."""
    order = np.lexsort((other_keys, keys, values))
    values, keys, other_keys = values[order], keys[order], other_keys[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (values[1:] != values[:-1]) | (keys[1:] != keys[:-1]) | (other_keys[1:] != other_keys[:-1])
    first = np.flatnonzero(is_new)
    return values[first], keys[first], other_keys[first], np.add.reduceat(counts[order], first)


def values_of(
    wanted: NDArray[np.float64], values: NDArray[np.float64], numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the number of each wanted value, 0 where it is not among the values, which ascend."""
    if not len(values):
        return np.zeros(len(wanted), dtype=np.int64)
    places = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[places] == wanted, numbers[places], 0)


@dataclass(frozen=True, eq=False)
class Collected:
    """The rows of a node, in pieces.

    Parameters
    ----------
    pieces : tuple of Rows
    distinct : bool
        Whether equal rows are one, with their weights added up.
    """

    pieces: tuple[Rows, ...]
    distinct: bool

    @classmethod
    def of(cls, rows: Rows, chosen: NDArray[np.int32], distinct: bool) -> Collected:
        """Return some rows of a part."""
        X_explain = rows.X_explain[chosen]
        X_cluster = X_explain if rows.X_cluster is rows.X_explain else rows.X_cluster[chosen]
        piece = Rows(X_explain, X_cluster, None if rows.weight is None else rows.weight[chosen])
        return cls((_distinct_rows(piece) if distinct else piece,), distinct)

    def merged(self, other: Collected) -> Collected:
        """Return the rows of both."""
        both = Collected(self.pieces + other.pieces, self.distinct)
        return Collected((_distinct_rows(both.rows()),), True) if self.distinct else both

    def rows(self) -> Rows:
        """Return all of them."""
        first = self.pieces[0]
        if len(self.pieces) == 1:
            return first
        X_explain = np.concatenate([piece.X_explain for piece in self.pieces])
        X_cluster = X_explain
        if first.X_cluster is not first.X_explain:
            X_cluster = np.concatenate([piece.X_cluster for piece in self.pieces])
        weights = [piece.weight for piece in self.pieces if piece.weight is not None]
        return Rows(X_explain, X_cluster, np.concatenate(weights) if weights else None)


def _distinct_rows(rows: Rows) -> Rows:
    """Return rows with equal ones as one; they have weights then."""
    weight = np.ones(len(rows.X_explain)) if rows.weight is None else rows.weight
    first, group = _kernel.deduplicate(rows.X_explain, rows.X_cluster, weight)
    if group is None:
        return Rows(rows.X_explain, rows.X_cluster, weight)
    X_explain = rows.X_explain[first]
    X_cluster = X_explain if rows.X_cluster is rows.X_explain else rows.X_cluster[first]
    return Rows(X_explain, X_cluster, np.bincount(group, weight, len(first)).astype(np.float64))


@dataclass(frozen=True, eq=False)
class LeafSums:
    """What is known of the rows of a leaf: how many, their exact weight, the ranges of columns."""

    n_rows: int
    weight: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def merged(self, other: LeafSums) -> LeafSums:
        """Return that of the rows of both."""
        return LeafSums(
            self.n_rows + other.n_rows,
            self.weight + other.weight,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def total_weight(self) -> float:
        """The weight as a number."""
        return float(self.weight / 2**WEIGHT_BITS)


def exact_weight(n_rows: int, weight: NDArray[np.float64] | None) -> int:
    """Return the exact sum of weights, or the number of rows, in units of ``2**-WEIGHT_BITS``."""
    if weight is None:
        return n_rows << WEIGHT_BITS
    mantissas, exponents = np.frexp(weight)
    digits = np.ldexp(mantissas, 53).astype(np.int64)
    found, places = np.unique(exponents, return_inverse=True)
    high, low = (np.bincount(places, part, len(found)) for part in (digits >> 27, digits & (2**27 - 1)))  # exact
    return sum(
        ((int(a) << 27) + int(b)) << (int(exponent) - 53 + WEIGHT_BITS)
        for exponent, a, b in zip(found, high, low, strict=True)
    )

"""Results for the rows of nodes while a tree grows over parts: they add up exactly, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules.clustering.nearest import nearest_labels
from shallowrules.encoding.rows import Rows

__all__ = ["Collected", "Ends", "KeySample", "Totals", "ValueSums", "ends_of", "values_of"]

MAX_KEY = np.uint64(2**64 - 1)

N_EXPONENTS = 2**12
"""More than the exponents that a float64 can have; that of 0 is in the middle."""


@dataclass(frozen=True, eq=False)
class KeySample:
    """A sample of the distinct rows, those with the smallest keys, which do not depend on the division into parts.

    Parameters
    ----------
    keys : ndarray of uint64, shape (s,)
        Ascending; equal rows once.
    rows : ndarray of float64, shape (s, d)
    n_most : int
        Rows of the sample, at most.
    """

    keys: NDArray[np.uint64]
    rows: NDArray[np.float64]
    n_most: int

    @classmethod
    def of(cls, X: NDArray[Any], chosen: NDArray[np.int32], n_most: int, max_key: np.uint64 = MAX_KEY) -> KeySample:
        """Return a sample of some rows of a matrix, from those whose keys are at most `max_key`."""
        if not len(chosen):
            return cls(np.empty(0, np.uint64), np.empty((0, X.shape[1])), n_most)
        keys = _kernel.row_keys(X, chosen)
        near = np.flatnonzero(keys <= max_key)
        kept, first = np.unique(keys[near], return_index=True)
        picked = chosen[near[first[:n_most]]]
        return cls(kept[:n_most], X[picked].astype(np.float64) + 0.0, n_most)

    def merged(self, other: KeySample) -> KeySample:
        """Return the sample from the rows of both parts."""
        keys, first = np.unique(np.concatenate([self.keys, other.keys]), return_index=True)
        rows = np.concatenate([self.rows, other.rows])[first[: self.n_most]]
        return KeySample(keys[: self.n_most], rows, self.n_most)


@dataclass(frozen=True, eq=False)
class Totals:
    """Facts about the whole table that are known before a tree is grown.

    Parameters
    ----------
    n_rows : int
    weighted : bool
    weight_sum : float
    low, high : ndarray of float64, shape (m,)
        Of the clustered columns.
    sample : KeySample
        Of the explained columns.
    exponents : ndarray of float64, shape (`N_EXPONENTS`,)
        The weight of the rows by the exponent of their squared distance from the nearest center, rows on it left out.
    """

    n_rows: int
    weighted: bool
    weight_sum: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sample: KeySample
    exponents: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows, cluster_centers: NDArray[np.float64], n_sample: int, max_key: np.uint64) -> Totals:
        """Return the facts about some rows, with a sample from rows whose keys are at most `max_key`."""
        n, m, weighted = len(rows.X_explain), rows.X_cluster.shape[1], rows.weight is not None
        sample = KeySample.of(rows.X_explain, np.arange(n, dtype=np.int32), n_sample, max_key)
        if not n:
            ends = np.full(m, np.inf), np.full(m, -np.inf)
            return cls(0, weighted, 0.0, *ends, sample, np.zeros(N_EXPONENTS))
        return cls(
            n,
            weighted,
            0.0 if rows.weight is None else float(rows.weight.sum()),
            *_kernel.column_ranges(rows.X_cluster),
            sample,
            _weigh_exponents(rows, cluster_centers),
        )

    def cost_bound(self) -> float:
        """Return an upper bound on the summed cost of the rows with their nearest centers, at most about twice that."""
        present = np.flatnonzero(self.exponents)
        return float(np.ldexp(self.exponents[present], present - N_EXPONENTS // 2).sum())

    def merged(self, other: Totals) -> Totals:
        """Return the facts about the rows of both."""
        return Totals(
            self.n_rows + other.n_rows,
            self.weighted or other.weighted,
            self.weight_sum + other.weight_sum,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.sample.merged(other.sample),
            self.exponents + other.exponents,
        )


def _weigh_exponents(rows: Rows, cluster_centers: NDArray[np.float64]) -> NDArray[np.float64]:
    nearest = nearest_labels(rows.X_cluster, cluster_centers, 1)
    distance = np.zeros(len(nearest))
    with np.errstate(over="ignore"):  # values that large are refused when all parts are known
        for j, coordinate in enumerate(cluster_centers.T):
            distance += (rows.X_cluster[:, j] - np.ascontiguousarray(coordinate)[nearest]) ** 2
        away = np.flatnonzero((distance > 0) & (distance < np.inf))
    exponents = np.frexp(distance[away])[1] + N_EXPONENTS // 2
    return np.bincount(exponents, None if rows.weight is None else rows.weight[away], N_EXPONENTS).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ValueSums:
    """Sums of the rows of some bins of a feature, by value.

    Parameters
    ----------
    blocks : tuple of (ndarray of float64, ndarray of int64 of shape (n_values, 4))
        Values, ascending; and what the rows of each add to the induced cost from their value on, their weight, their
        number, and the code of the value. Blocks are merged when they have about the same size, so that a value is
        merged a few times, however many parts there are.
    """

    blocks: tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...]

    def merged(self, other: ValueSums) -> ValueSums:
        """Return the sums of both parts."""
        blocks = sorted(self.blocks + other.blocks, key=lambda block: -len(block[0]))
        while len(blocks) > 1 and 2 * len(blocks[-1][0]) >= len(blocks[-2][0]):
            both = _merge_values(blocks[-2:])
            blocks = sorted([*blocks[:-2], both], key=lambda block: -len(block[0]))
        return ValueSums(tuple(blocks))

    def whole(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return all values and their sums as one block."""
        return self.blocks[0] if len(self.blocks) == 1 else _merge_values(self.blocks)


def _merge_values(
    blocks: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    every = np.concatenate([value for value, _ in blocks])
    order = np.argsort(every, kind="stable")  # a merge of runs
    every = every[order]
    first = np.flatnonzero(np.concatenate([np.ones(min(len(every), 1), bool), every[1:] != every[:-1]]))
    sums = np.concatenate([sums for _, sums in blocks])[order]
    codes = sums[first, 3]
    sums = np.add.reduceat(sums, first, axis=0) if len(first) else sums
    sums[:, 3] = codes
    return every[first], sums


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
        """Return the outermost rows of both."""
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
    """Return the `Ends` of rows, by value and keys."""
    whole = _distinct(values, keys, other_keys, np.ones(len(values), dtype=np.int64))
    return Ends(tuple(array[:n_most] for array in whole), tuple(array[-n_most:] for array in whole), n_most)


def _distinct(
    values: NDArray[np.float64], keys: NDArray[np.uint64], other_keys: NDArray[np.uint64], counts: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """Return the distinct rows, by value and keys, with their counts added up."""
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
        """Return all rows of the node together."""
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
    """Return rows with equal ones merged; they then have weights."""
    weight = np.ones(len(rows.X_explain)) if rows.weight is None else rows.weight
    first, group = _kernel.deduplicate(rows.X_explain, rows.X_cluster, weight)
    if group is None:
        return Rows(rows.X_explain, rows.X_cluster, weight)
    X_explain = rows.X_explain[first]
    X_cluster = X_explain if rows.X_cluster is rows.X_explain else rows.X_cluster[first]
    return Rows(X_explain, X_cluster, np.bincount(group, weight, len(first)).astype(np.float64))

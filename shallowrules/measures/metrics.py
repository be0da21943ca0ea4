"""The cost of a partition, and how far two partitions agree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules._kernel import Ranges, column_ranges, exact_squares
from shallowrules.measures.summation import GroupSums, SumGrid, WeightFacts, adds_up_exactly

__all__ = [
    "agreement",
    "cost_around_means",
    "cost_of_squares",
    "exact_sums",
    "partition_cost",
    "squares_around",
]

PRODUCT_ERROR = 2.0**-50
"""Largest share of a mean by which the rounded products of equal rows and their weights may miss it."""

ONE = 1 << 1074
"""The number 1 in the units of `exact_squares`."""


def partition_cost(
    X: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    n_threads: int = 1,
    ranges: Ranges | None = None,
) -> float:
    """Return the k-means cost of a partition, each cluster around its own mean (the paper's Eq. 1).

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The space that was clustered. Never copied whole; any number type, summed in float64.
    labels : array-like of shape (n_rows,)
        Cluster of each row; any values that compare.
    sample_weight : array-like of shape (n_rows,), optional
        Weights, none negative; 1 by default. Rows of weight 0 do not count, nor do those whose weight is beyond 300
        decimal places smaller than the largest.
    n_threads : int
        The result does not depend on it.
    ranges : Ranges, optional
        Those of the columns of `X`, where they are known.

    Returns
    -------
    float
        In squared units of `X`, infinity beyond the largest float. Accurate for clusters that are tight compared to
        their distance from the origin. Without weights, and with those from `exact_weights`, it does not depend on the
        order of the rows; with whole ones a row of weight 3 is three rows.
    """
    X, labels = np.asarray(X), _labels(labels)
    weight = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    if not len(labels):
        return 0.0
    if X.dtype not in (np.float32, np.float64) or not X.dtype.isnative:
        X = X.astype(np.float64)
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < len(labels):
        k, numbers = int(labels.max()) + 1, labels
    else:
        known, numbers = np.unique(labels, return_inverse=True)
        k = len(known)
    numbers = np.ascontiguousarray(numbers, dtype=np.int32)
    sums = exact_sums(X, numbers, k, weight, n_threads, ranges)
    if sums is not None:
        return cost_around_means(sums, X, numbers, weight, n_threads)
    with np.errstate(all="ignore"):
        return _rounded_cost(X, numbers, k, np.ones(len(X)) if weight is None else weight)


def _rounded_cost(X: NDArray[Any], labels: NDArray[np.int32], k: int, weight: NDArray[np.float64]) -> float:
    """Return the k-means cost of a partition where sums cannot be exact, because of weights or values."""
    # Weights of at most 1, by a power of two, which loses no digit: sums of larger ones may overflow.
    exponent = np.frexp(weight.max())[1]
    weight = np.ldexp(weight, -exponent)
    size = np.bincount(labels, weight, k)
    size[size == 0] = 1.0
    order, heaviest = np.argsort(weight, kind="stable"), np.zeros(k, np.intp)
    heaviest[labels[order]] = order  # the last one stays
    cost = 0.0
    for column in X.T:
        # Differences from the heaviest row of the cluster keep the digits that an offset would take.
        gap = column.astype(np.float64) - column[heaviest][labels]
        gap -= (np.bincount(labels, weight * gap, k) / size)[labels]
        # The amount that rounding the mean adds to the sum of squares is known and subtracted.
        excess = np.bincount(labels, weight * gap, k)
        cost += float((weight * gap * gap).sum() - (excess / size * excess).sum())
    return float(np.ldexp(max(cost, 0.0), exponent))


def squares_around(
    grid: SumGrid,
    X: NDArray[Any],
    labels: NDArray[np.int32],
    points: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_threads: int = 1,
) -> int | None:
    """Return the exact sum of squared distances of rows to the point of their cluster, for `cost_of_squares`.

    Each is rounded once, with its weight where the grid multiplies that way; the parameters are those of
    `exact_squares`.
    """
    weight = None if weight is None else grid.scaled(weight)
    rounds_products = grid.weight_exponent is not None
    return exact_squares(X, labels, points, weight, n_threads, rounds_products=rounds_products)


def cost_of_squares(
    squares: int | None, grid: SumGrid, sums: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    """Return the k-means cost of a partition from exact sums, of a table or of its parts.

    Parameters
    ----------
    squares : int or None
        The result of `squares_around` for the means, which `SumGrid.means` gives of the sums.
    grid : SumGrid
    sums : ndarray of float64, shape (n_grids, k, m)
        Of the rows of each cluster, as `SumGrid.add_up` gives them.
    weight : ndarray of float64, shape (k,)
        Of each cluster.
    """
    if squares is None:
        return math.inf
    # The amount that the rounding of the means adds to the squares is known and subtracted.
    excess, scaled = grid.excess(sums, weight), grid.scaled(weight)
    size = np.where(scaled > 0, scaled, 1.0)[:, None]
    try:
        total = squares / ONE  # Python divides integers with one rounding
        cost = max(total - math.fsum((excess / size * excess).ravel().tolist()), 0.0)
        if grid.weight_exponent is None:
            return cost
        # Equal rows cost nothing: any remainder comes from the rounding of products.
        means = np.nan_to_num(grid.means(sums, weight)) * PRODUCT_ERROR
        with np.errstate(over="ignore"):
            rounding = float((size * means * means).sum())
        return 0.0 if cost <= rounding < math.inf else math.ldexp(cost, grid.weight_exponent)
    except OverflowError:
        return math.inf


def exact_sums(
    X: NDArray[Any],
    labels: NDArray[np.int32],
    k: int,
    weight: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    ranges: Ranges | None = None,
) -> GroupSums | None:
    """Return the sums of clusters; None where they depend on the order of the rows, or there is nothing to add up.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_columns)
    labels : ndarray of int32, shape (n_rows,)
        From 0 to ``k - 1``.
    k : int
    weight : ndarray of float64, shape (n_rows,), optional
        None negative.
    n_threads : int
        The result does not depend on it.
    ranges : Ranges, optional
        Those of the columns of `X`, where they are known.
    """
    if not adds_up_exactly(weight):
        return None
    size = np.bincount(labels, weight, k).astype(np.float64)
    if not X.size or not size.any():
        return None
    if weight is not None and not weight.all():
        ranges = column_ranges(X, weight > 0)
    elif ranges is None:
        ranges = column_ranges(X)
    if not np.isfinite(ranges).all():
        return None
    grid = SumGrid.of(ranges, WeightFacts.of(weight, len(X)))
    return GroupSums(grid, grid.add_up(X, labels, k, weight, n_threads), size)


def cost_around_means(
    sums: GroupSums,
    X: NDArray[Any],
    labels: NDArray[np.int32],
    weight: NDArray[np.float64] | None = None,
    n_threads: int = 1,
) -> float:
    """Return the k-means cost of a partition whose sums are known; the parameters are those of `exact_sums`."""
    squares = squares_around(sums.grid, X, labels, sums.means, weight, n_threads)
    return cost_of_squares(squares, sums.grid, sums.parts, sums.size)


def agreement(
    shared: NDArray[Any], sums: NDArray[Any], reference: NDArray[Any]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the extent to which two labellings put rows into the same clusters.

    Parameters
    ----------
    shared, sums, reference : ndarray of numbers, shape (n_clusters,)
        Weight of the rows that both labellings put into a cluster, that the first one puts there, and that the
        reference does.

    Returns
    -------
    agreement : float
        Share of all weight that is in the same cluster of both.
    precision, recall : ndarray of float64, shape (n_clusters,)
        Share of the weight of the cluster, of the first labelling and of the reference, that both put there; 0 where it
        has none.
    """
    precision, recall = (
        np.divide(shared, total, out=np.zeros(len(total)), where=total > 0) for total in (sums, reference)
    )
    return float(shared.sum() / sums.sum()), precision, recall


def _labels(given: ArrayLike) -> NDArray[Any]:
    """Return labels as an array; texts as objects, because NumPy's own texts lose null characters at their end."""
    listed = isinstance(given, list | tuple) and any(isinstance(label, str) for label in given)
    return np.array(given, dtype=object) if listed else np.asarray(given)

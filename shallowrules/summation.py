"""Weighted sums that do not depend on the order of the rows, nor on how equal rows are written.

Adding floats rounds at every step, so that a row of weight 3 and three equal rows would have means that
differ in the last digit, and a tree grown from them may differ in a tie. Here every value is first cut
into parts on common grids, coarse enough for the sum of each part to be exact (the pre-rounding of
reproducible summation: Demmel and Nguyen, "Parallel reproducible summation", 2015).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["group_means", "group_sums"]

KEPT_BITS = 64
"""Bits kept below the largest value: more than a float64 has, so that what is dropped does not show."""

MANTISSA = 52


def group_sums(
    values: NDArray[Any], groups: NDArray[np.integer], n_groups: int, weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the weighted sum of the values of each group.

    Parameters
    ----------
    values : ndarray of float, shape (n_rows,)
        Finite.
    groups : ndarray of int, shape (n_rows,)
        From 0 to ``n_groups - 1``.
    n_groups : int
    weight : ndarray of float64, shape (n_rows,), optional
        All positive. For whole numbers (that sum to less than 2**43) the result is, bit by bit, that of
        rows repeated so often, in any order; for others it is rounded as usual.

    Returns
    -------
    ndarray of float64, shape (n_groups,)
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return np.zeros(n_groups)
    exponent = math.frexp(largest)[1]
    rest = np.ldexp(values.astype(np.float64), -exponent)  # at most 1
    total = len(values) if weight is None else float(weight.sum())
    bits = min(max(8, MANTISSA - 1 - math.ceil(math.log2(max(total, 1.0)))), MANTISSA - 3)
    sums = []
    for level in range(1, -(-KEPT_BITS // bits) + 1):
        # Adding a number this large rounds to a multiple of 2**(-bits*level).
        rounder = math.ldexp(1.5, MANTISSA - bits * level)
        part = (rest + rounder) - rounder
        rest -= part
        sums.append(np.bincount(groups, part if weight is None else part * weight, n_groups))
    result = np.zeros(n_groups)
    for part_sum in reversed(sums):
        result += part_sum
    return np.asarray(np.ldexp(result, exponent))


def group_means(
    X: NDArray[Any], groups: NDArray[np.integer], n_groups: int, weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the weighted mean row of each group, shape (n_groups, n_columns), NaN for a group without rows.

    The parameters are those of `group_sums`, with a matrix in place of one column, but rows may be in no group
    (-1) or have weight 0: they do not count.
    """
    counted = groups >= 0
    if weight is not None:
        counted &= weight > 0
    if not counted.all():
        X, groups, weight = X[counted], groups[counted], None if weight is None else weight[counted]
    size = np.bincount(groups, weight, n_groups).astype(np.float64)
    size[size == 0] = np.nan
    means = np.empty((n_groups, X.shape[1]))
    for j in range(X.shape[1]):
        means[:, j] = group_sums(X[:, j], groups, n_groups, weight) / size
    return means

"""The nearest center of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import nearest_centers

__all__ = ["HeldDistances", "nearest_labels", "squared_distances"]


class HeldDistances:
    """Squared distances of rows to centers, held from finding the nearest center until a tree is grown.

    Parameters
    ----------
    distances : ndarray of float64, shape (k, n_rows)
    """

    def __init__(self, distances: NDArray[np.float64]) -> None:
        self._distances: NDArray[np.float64] | None = distances

    def take(self) -> NDArray[np.float64] | None:
        """Return the distances, and hold them no longer: growth reorders them. None from the second time on."""
        distances, self._distances = self._distances, None
        return distances


MAX_TOGETHER = 1 << 18
"""Differences computed at once: this many fit a second-level cache."""


def nearest_labels(
    X: NDArray[Any],
    centers: NDArray[np.float64],
    n_threads: int,
    distances: NDArray[np.float64] | None = None,
) -> NDArray[np.int32]:
    """Return the nearest center of each row, the lowest index of equally near ones.

    The labels of a fitted KMeans are not used instead: it computes distances from a product of matrices, which
    rounds differently from one place in the table to another, and to know where that could decide takes the distance
    to the second nearest center, hence all of them. `distances` is filled with them, as by `nearest_centers`.
    """
    centers = np.ascontiguousarray(centers, dtype=np.float64)
    labels, doubtful = nearest_centers(X, centers, distances=distances, n_threads=n_threads)
    rows = np.flatnonzero(doubtful)
    step = max(1, MAX_TOGETHER // max(1, centers.size))
    for first in range(0, len(rows), step):
        here = rows[first : first + step]
        labels[here] = squared_distances(centers, np.ascontiguousarray(X[here], dtype=np.float64)[:, None]).argmin(
            axis=1
        )
    return labels


def squared_distances(X: NDArray[Any], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of every row to a point, or to each of several, summed alike for every row."""
    with np.errstate(over="ignore"):  # refused when the tree is grown
        return np.asarray(((X - point) ** 2).sum(axis=-1))

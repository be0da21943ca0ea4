"""The tree of the lowest J that there is, by dynamic programming over sets of rows; for small tables and few clusters.

A node is its rows and the conditions of its path, each a feature and a direction. The best tree below it with a given
number of leaves is the best over all its cuts, with the leaves divided between the sides in every way. With two leaves
the recursion ends: all cuts are measured at once. A cut is left out where even the least cost that any clustering of
its sides can have is too high: the sum of squares less the largest eigenvalues of the scatter, one for each cluster but
the first (Ding and He, 2004).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["lowest_objective"]


class _Search:
    """The data that all nodes share.

    Attributes
    ----------
    X, points : ndarray of float64, shapes (n, d) and (n, m)
        The columns that are cut, and the clustered ones around their mean.
    penalty : float
        What a condition costs for a row.
    """

    def __init__(self, X: NDArray[np.float64], points: NDArray[np.float64], penalty: float) -> None:
        self.X, self.points, self.penalty = X, points - points.mean(axis=0), penalty
        self.known: dict[tuple[bytes, frozenset[tuple[int, bool]], int], tuple[float, bool]] = {}

    def spread(self, rows: NDArray[np.intp]) -> float:
        """Return the sum of squares of some rows around their mean."""
        points = self.points[rows]
        return float((points**2).sum() - (points.sum(axis=0) ** 2).sum() / len(rows))

    def least(self, rows: NDArray[np.intp], conditions: frozenset[tuple[int, bool]], k: int) -> float:
        """Return a lower bound for trees of k leaves over some rows."""
        length = self.penalty * len(rows) * len(conditions)
        if k == 1:
            return self.spread(rows) + length
        points = self.points[rows] - self.points[rows].mean(axis=0)
        eigenvalues = np.linalg.eigvalsh(points.T @ points)
        return max(0.0, float(eigenvalues[: 1 - k].sum())) + length

    def cuts(self, rows: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
        """Yield each cut of some rows: its feature, the rows in the feature's order, the numbers that can go left."""
        for feature in range(self.X.shape[1]):
            order = rows[np.argsort(self.X[rows, feature], kind="stable")]
            values = self.X[order, feature]
            places = np.flatnonzero(values[1:] > values[:-1]) + 1
            if len(places):
                yield feature, order, places

    def best_of_two(self, rows: NDArray[np.intp], conditions: frozenset[tuple[int, bool]]) -> float:
        """Return the lowest cost and length of two leaves."""
        best, n, total = np.inf, len(rows), self.points[rows].sum(axis=0)
        squares = float((self.points[rows] ** 2).sum())
        for feature, order, places in self.cuts(rows):
            left = np.cumsum(self.points[order], axis=0)[places - 1]
            cost = squares - (left**2).sum(axis=1) / places - ((total - left) ** 2).sum(axis=1) / (n - places)
            sizes = [len(conditions | {(feature, side)}) for side in (True, False)]
            best = min(best, float((cost + self.penalty * (sizes[0] * places + sizes[1] * (n - places))).min()))
        return best

    def best(self, rows: NDArray[np.intp], conditions: frozenset[tuple[int, bool]], k: int, limit: float) -> float:
        """Return the lowest cost and length of a tree of k leaves; any number of at least `limit` if that is not below
        `limit`."""
        if k > len(rows):
            return np.inf
        if k == 1:
            return self.least(rows, conditions, 1)
        rows = np.sort(rows)
        key = rows.tobytes(), conditions, k
        known, is_exact = self.known.get(key, (-np.inf, False))
        if is_exact or known >= limit:
            return known
        found = self.best_of_two(rows, conditions) if k == 2 else self._best_cut(rows, conditions, k, limit)
        self.known[key] = found, found < limit or k == 2
        return max(found, limit) if found >= limit and k > 2 else found

    def _best_cut(self, rows: NDArray[np.intp], conditions: frozenset[tuple[int, bool]], k: int, limit: float) -> float:
        tried = []
        for feature, order, places in self.cuts(rows):
            sides = [conditions | {(feature, side)} for side in (True, False)]
            for place in places:
                for on_left in range(1, k):
                    low = [
                        self.least(order[:place], sides[0], on_left),
                        self.least(order[place:], sides[1], k - on_left),
                    ]
                    if sum(low) < limit:
                        tried.append((sum(low), low, order, int(place), sides, on_left))
        best = limit
        for least, low, order, place, sides, on_left in sorted(tried, key=lambda one: one[0]):
            if least >= best:
                break
            left = self.best(order[:place], sides[0], on_left, best - low[1])
            if left + low[1] < best:
                best = min(best, left + self.best(order[place:], sides[1], k - on_left, best - left))
        return best


def lowest_objective(
    X: NDArray[np.float64], X_cluster: NDArray[np.float64], k: int, reference_cost: float, tradeoff: float, known: float
) -> float:
    """Return J of the best tree of k leaves, where J of some tree is known.

    Parameters
    ----------
    X, X_cluster : ndarray of float64, shapes (n, d) and (n, m)
        The columns that are cut, and those that are clustered.
    k : int
    reference_cost : float
        Cost of the unrestricted clustering.
    tradeoff : float
    known : float
    """
    search = _Search(X, X_cluster, tradeoff * reference_cost / len(X))
    limit = known * reference_cost * (1 + 1e-9)
    return search.best(np.arange(len(X)), frozenset(), k, limit) / reference_cost

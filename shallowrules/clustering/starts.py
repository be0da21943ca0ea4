"""The starts of a KMeans, chosen by k-means++ in the kernel, all in one pass of the table.

In a fit by scikit-learn's KMeans with ten starts, its own k-means++ takes a third of the time on two cores (1,000,000
rows of 10 columns, k=10): it works in NumPy, on one core. With these starts, the fit takes 0.72 of the time. Each takes
the random numbers that it would have in a fit by KMeans alone, and with them the same rows, so that the clustering is
the same, bit for bit. Both add up distances, and their sums differ in the last bits; where that could decide which row
is taken, scikit-learn's function finds the start. That is rare up to a few million rows, and usual beyond ten
million, or where a few values are thousands of times as far out as most: little is gained then.

k-means++ as implemented there (Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding", 2007): the
first center is a row drawn by its weight. For each further one some candidates are drawn by their weighted squared
distances to the nearest center so far; the one that leaves the lowest potential, which is the sum of these, is taken.
"""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus

from shallowrules._kernel import draw_rows, sum_closest, without_centers

__all__ = ["fit_kmeans"]

ROUNDING = 2.0**-53
"""Unit roundoff of floats: the largest relative error of one operation, unless its result is too large or too small."""

TINIEST = 2.0**-1074
"""Twice the largest error of one operation whose result is so small that it has fewer digits."""

TOO_LARGE = 1e300
"""Sums of squares above which products may overflow floats."""


def fit_kmeans(kmeans: KMeans, X: NDArray[Any], sample_weight: NDArray[Any] | None, n_threads: int) -> KMeans:
    """Fit a KMeans.

    The result is that of its ``fit`` alone, unless another thread takes numbers of the same random state meanwhile.

    Parameters
    ----------
    kmeans : KMeans
    X : ndarray of float32 or float64, shape (n_rows, n_columns)
    sample_weight : ndarray of shape (n_rows,), optional
    n_threads : int
        The result does not depend on it.
    """
    given, n_init = kmeans.init, kmeans.n_init
    if not (isinstance(given, str) and given == "k-means++" and _are_usual(X, sample_weight) and _is_as_known()):
        return kmeans.fit(X, sample_weight=sample_weight)
    n_starts = 1 if n_init == "auto" else n_init  # with a function for `init`, it would be 10
    kmeans.set_params(init=_Starts(n_starts, sample_weight, n_threads), n_init=n_starts)
    try:
        return kmeans.fit(X, sample_weight=sample_weight)
    finally:
        kmeans.set_params(init=given, n_init=n_init)


def _are_usual(X: NDArray[Any], weight: NDArray[Any] | None) -> bool:
    """Return whether the bounds of the error hold for a table and its weights, and KMeans refuses neither.

    Single precision leaves k-means++ no digits to spare: only the same operations give the same rows.
    """
    if X.dtype != np.float64 or not np.einsum("ij,ij", X, X) < TOO_LARGE:  # `vdot` may make a copy
        return False
    if weight is None:
        return True
    return np.shape(weight) == (len(X),) and bool(np.min(weight) >= 0 and 0 < float(np.sum(weight)) < TOO_LARGE)


class _Starts:
    """The function that KMeans calls for each start; random numbers stay as if KMeans had found the start.

    Parameters
    ----------
    n_starts : int
    sample_weight : ndarray of shape (n_rows,), optional
    n_threads : int
    """

    def __init__(self, n_starts: int, sample_weight: NDArray[Any] | None, n_threads: int) -> None:
        self._n_left = n_starts
        self._weight = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        self._n_threads = n_threads
        self._found: deque[tuple[NDArray[Any], Any]] = deque()

    def __call__(self, X: NDArray[Any], n_clusters: int, random_state: np.random.RandomState) -> NDArray[Any]:
        """Return the centers of the next start."""
        if not self._found:
            n_together = min(int(self._n_left), X.shape[1])  # they hold as many distances as the table has values
            self._found.extend(find_starts(X, int(n_clusters), self._weight, random_state, n_together, self._n_threads))
        self._n_left -= 1
        centers, state = self._found.popleft()
        random_state.set_state(state)
        return centers


def find_starts(
    X: NDArray[np.float64],
    n_clusters: int,
    weight: NDArray[np.float64] | None,
    random_state: np.random.RandomState,
    n_starts: int,
    n_threads: int,
) -> list[tuple[NDArray[np.float64], Any]]:
    """Return the centers of starts, each with the state of the random numbers after it.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
    n_clusters : int
    weight : ndarray of float64, shape (n_rows,), optional
    random_state : RandomState
        Its state before the first start; it is not changed.
    n_starts, n_threads : int
    """
    random = deepcopy(random_state)
    states, numbers = [random.get_state(legacy=False)], []
    n_trials = 2 + int(np.log(n_clusters))
    for _ in range(n_starts):
        numbers.append(random.random_sample(1 + (n_clusters - 1) * n_trials))
        states.append(random.get_state(legacy=False))
    draws = np.array([drawn[1:].reshape(n_clusters - 1, n_trials) for drawn in numbers])
    with np.errstate(all="ignore"):  # squares that are too small for floats
        first = _drawn_by_weight(len(X), weight, np.array([drawn[0] for drawn in numbers]))
        rows, doubtful = _choose_rows(X, weight, first, draws, n_threads)
    starts = []
    for taken, is_doubtful, before, after in zip(rows, doubtful, states[:-1], states[1:], strict=True):
        if is_doubtful:
            random.set_state(before)
            centers, _ = kmeans_plusplus(X, n_clusters, sample_weight=weight, random_state=random)
        else:
            centers = X[taken]
        starts.append((centers, after))
    return starts


def _drawn_by_weight(
    n_rows: int, weight: NDArray[np.float64] | None, numbers: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the rows that ``RandomState.choice`` draws by these random numbers, by the same operations."""
    weight = np.ones(n_rows) if weight is None else weight
    up_to = (weight / weight.sum()).cumsum()
    up_to /= up_to[-1]
    return np.asarray(up_to.searchsorted(numbers, side="right"))


def _choose_rows(
    X: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    first: NDArray[np.int64],
    draws: NDArray[np.float64],
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows that become centers, and the starts for which rounding may decide about one.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
    weight : ndarray of float64, shape (n_rows,), optional
    first : ndarray of int64, shape (n_starts,)
        The first row of each start.
    draws : ndarray of float64, shape (n_starts, n_clusters - 1, n_trials)
        Random numbers from 0 to 1.
    n_threads : int

    Returns
    -------
    rows : ndarray of int64, shape (n_starts, n_clusters)
    doubtful : ndarray of bool, shape (n_starts,)

    Notes
    -----
    What rounding may decide: for m columns, scikit-learn's |x|² - 2xc + |c|² is off by (2m + 6) unit roundoffs of |x|²
    + |c|² and the sum of squared differences here by (m + 2) of itself. |c|² is at most twice |x|² and the squared
    distance of the two. So their distances from a row to the nearest center differ by no more than 6 (m
    + 8) roundoffs of |x|² and that distance, however far other centers are. A running sum less a share of the total
    differs by at most the sum of these bounds. Adding n numbers one after another, as scikit-learn does for the running
    sum and may do for the total, costs up to n roundoffs of each result. Where results have few digits, each of the
    operations adds at most `TINIEST`.
    """
    (n_rows, n_columns), (n_starts, n_further) = X.shape, draws.shape[:2]
    each = np.arange(n_starts)
    rows = np.empty((n_starts, 1 + n_further), dtype=np.int64)
    rows[:, 0] = first
    doubtful = np.zeros(n_starts, dtype=bool)
    closest = without_centers(n_starts, n_rows)
    if weight is None:
        squares, total_weight = np.vdot(X, X), float(n_rows)
    else:
        squares, total_weight = np.einsum("i,ij,ij", weight, X, X), weight.sum()
    # Those of adding the rows of a chunk one after another, and of adding the sums of chunks.
    own_roundings = 8192 + 2 * (n_rows // 4096)
    tiny = 4 * (n_columns + 8) * (n_rows + total_weight) * TINIEST
    for i in range(n_further):
        sums = sum_closest(X, X[rows[:, i]], closest, weight, keeps=True, n_threads=n_threads)
        up_to = np.ascontiguousarray(sums[:, :, 0].T.cumsum(axis=1))
        total = up_to[:, -1:]
        numbers = draws[:, i] * total
        of_distances = ROUNDING * (6 * (n_columns + 8) * (squares + total) + own_roundings * total) + tiny
        bound = of_distances + ROUNDING * 2 * n_rows * numbers
        candidates, unsure = draw_rows(closest, weight, n_rows, up_to, numbers, bound)
        left = sum_closest(X, X[candidates.ravel()], closest, weight, keeps=False, n_threads=n_threads)
        potentials = left.sum(axis=0)
        rows[:, i + 1] = candidates[each, potentials.argmin(axis=1)]
        doubtful |= unsure.any(axis=1)
        bound = of_distances + ROUNDING * 2 * n_rows * potentials
        as_good = ~(potentials - bound > (potentials + bound).min(axis=1)[:, None])
        for start in np.flatnonzero(as_good.sum(axis=1) > 1):
            doubtful[start] |= bool((X[candidates[start, as_good[start]]] != X[rows[start, i + 1]]).any())
        if doubtful.all():
            break
    return rows, doubtful


@lru_cache(maxsize=1)
def _is_as_known() -> bool:
    """Return whether the installed scikit-learn takes the same rows of a small table, by the same random numbers."""
    if KMeans.__module__ != kmeans_plusplus.__module__:
        return False  # another library has replaced them
    random = np.random.RandomState(0)
    X, weight = random.standard_normal((40, 3)), random.uniform(0.5, 2.0, 40)
    ((centers, after),) = find_starts(X, 7, weight, random, 1, 1)
    theirs, _ = kmeans_plusplus(X, 7, sample_weight=weight, random_state=random)
    number = random.random_sample()
    random.set_state(after)
    return np.array_equal(centers, theirs) and random.random_sample() == number

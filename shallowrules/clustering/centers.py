"""The centers that a tree over parts follows: given ones, those of a clusterer or of labels, or the package's own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from shallowrules._kernel import row_keys
from shallowrules.clustering.clusterers import fit_clusterer
from shallowrules.clustering.nearest import nearest_labels
from shallowrules.clustering.reference import read_centers
from shallowrules.encoding.rows import Encode, EncodedRows, RowEncoder
from shallowrules.errors import DataError, OptionError, counted
from shallowrules.measures.summation import SumGrid
from shallowrules.partitions import Part, Partitions
from shallowrules.partitions.merging import Added, Run

__all__ = [
    "Grids",
    "Sample",
    "cluster_parts",
    "given_centers",
    "means_of_clusters",
    "reference_labels",
    "sample_of_rows",
    "settle_centers",
    "sum_reference",
]

SAMPLE_ROWS = 20_000
"""Distinct rows from which the package's own centers start."""

MAX_ITERATIONS = 100
"""Iterations of Lloyd's algorithm over all rows. It starts near its end, so a few usually suffice."""

TOLERANCE = 1e-4
"""As in scikit-learn's KMeans: the squared movement of all centers at which to stop, in mean variances of the
columns."""


@dataclass(frozen=True)
class Grids:
    """The grids of sums in each space.

    Parameters
    ----------
    matrix, explain, cluster : SumGrid
        Of the model columns, and of those of `X_explain` and `X_cluster`.
    """

    matrix: SumGrid
    explain: SumGrid
    cluster: SumGrid

    def add_up(self, rows: EncodedRows, labels: NDArray[np.int32], k: int) -> dict[str, NDArray[np.float64]]:
        """Return the sums of some rows by cluster on each grid, as "matrix", "explain" and "cluster"."""
        cluster = _add_up(self.cluster, rows.X_cluster, labels, k, rows.weight)
        explain = matrix = cluster  # one matrix may be all three
        if rows.X_explain is not rows.X_cluster:
            explain = _add_up(self.explain, rows.X_explain, labels, k, rows.weight)
        if rows.matrix is not rows.X_cluster:
            matrix = _add_up(self.matrix, rows.matrix, labels, k, rows.weight)
        return {"matrix": matrix, "explain": explain, "cluster": cluster}


def _add_up(
    grid: SumGrid, X: NDArray[Any], labels: NDArray[np.int32], k: int, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the sums of rows by cluster on each grid; they are 0 if there are no rows."""
    if not len(X):
        return np.zeros((len(grid.rounder), k, X.shape[1]))
    return grid.add_up(X, labels, k, weight)


def given_centers(given: Any, n_columns: int) -> NDArray[np.float64]:
    """Return centers, given directly or in a fitted clusterer, shape (k, n_columns).

    Raises
    ------
    OptionError
        If there are none, they have a different number of columns, or the clusterer does not assign every row to
        its nearest center.
    """
    if isinstance(given, FrozenEstimator):
        given = given.estimator
    if isinstance(given, Pipeline):
        raise OptionError(
            "a Pipeline cannot cluster a table in parts; use scale, or give the columns that it makes as a separate "
            "table, and its clusterer's centers"
        )
    if isinstance(given, BaseEstimator) and type(given) not in (KMeans, MiniBatchKMeans) and hasattr(given, "predict"):
        known = type(given).__module__.partition(".")[0] != "sklearn"
        if not known:
            raise OptionError(
                f"{type(given).__name__} does not assign every row to its nearest center; give its labels as a "
                "column of the table (labels=NAME)"
            )
    centers = getattr(given, "cluster_centers_", None)
    if centers is None and callable(getattr(given, "clusterCenters", None)):  # of Spark MLlib
        centers = given.clusterCenters()
    if centers is None:
        if hasattr(given, "fit") or isinstance(given, str):
            raise OptionError(f"{given!r} has no centers; fit it first, or give numbers of shape (k, columns)")
        centers = given
    return read_centers(np.asarray(centers), n_columns)


def reference_labels(rows: EncodedRows, centers: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the cluster of each row: its given label, or else its nearest center."""
    return nearest_labels(rows.X_cluster, centers, 1) if rows.labels is None else rows.labels


def sum_reference(
    parts: Partitions, encode: RowEncoder, grids: Grids, centers: NDArray[np.float64] | None, k: int
) -> Added:
    """Return the rows, their weight and their sums in each space by cluster, in one pass.

    The arrays are ``rows`` and ``weight``, shape (k,), and ``matrix``, ``explain`` and ``cluster``, which the `grids`
    turn into sums. Where labels were given, `centers` may be None.
    """
    return parts.map_reduce(_sum_part, (encode, grids, centers, k))


def _sum_part(part: Part, state: tuple[RowEncoder, Grids, NDArray[np.float64] | None, int]) -> Added:
    encode, grids, centers, k = state
    rows = encode(part)
    labels = rows.labels if centers is None else reference_labels(rows, centers)
    assert labels is not None  # one of the two is given
    counts = {
        "rows": np.bincount(labels, minlength=k),
        "weight": np.bincount(labels, rows.weight, minlength=k).astype(np.float64),
    }
    return Added(counts | grids.add_up(rows, labels, k))


def means_of_clusters(grid: SumGrid, found: Added, name: str) -> NDArray[np.float64]:
    """Return the mean of each cluster, NaN for one without rows."""
    return grid.means(found[name], found["weight"])


def cluster_parts(
    parts: Partitions,
    encode: RowEncoder,
    grids: Grids,
    n_clusters: int,
    random_state: Any,
    log: Callable[[str], None],
) -> NDArray[np.float64]:
    """Return the package's own centers: those of KMeans on a sample, moved by Lloyd's algorithm over all rows.

    The sample consists of the rows with the least keys of their values, and sums are exact: centers depend neither on
    the order of rows nor on the division into parts.

    Raises
    ------
    DataError
        If there are fewer distinct rows than clusters.
    """
    started = time.monotonic()
    sample = sample_of_rows(parts.map_reduce, encode, clustered_columns)
    if len(sample.rows) < n_clusters:
        raise DataError(
            f"there are {counted(len(sample.rows), 'distinct row')} for {n_clusters} clusters: ask for fewer clusters"
        )
    X = sample.rows.astype(np.float64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        model = KMeans(n_clusters, n_init=10, random_state=random_state)
        centers = np.asarray(fit_clusterer(model, X, sample_weight=sample.weight).cluster_centers_, dtype=np.float64)
    mean = np.average(X, axis=0, weights=sample.weight)
    tolerance = TOLERANCE * float(np.average((X - mean) ** 2, axis=0, weights=sample.weight).mean())
    log(f"centers of {counted(len(X), 'distinct row')}: {time.monotonic() - started:.1f} s")
    for iteration in range(1, MAX_ITERATIONS + 1):
        moved, _ = _moved(parts.map_reduce, encode, grids.cluster, centers)
        movement = float(((moved - centers) ** 2).sum())
        centers = moved
        log(
            f"iteration {iteration} over all rows: centers moved by {movement**0.5:.3g}, "
            f"{time.monotonic() - started:.1f} s"
        )
        if movement <= tolerance:
            break
    return centers


def settle_centers(
    run: Run,
    encode: Encode,
    grid: SumGrid,
    centers: NDArray[np.float64],
    log: Callable[[str], None],
    n_threads: int = 1,
) -> NDArray[np.float64] | None:
    """Return the centers to which Lloyd's algorithm leads from given ones; None if one of them loses all its rows.

    Centers that hardly move stay as they are: starting from the centers of a clustering gives the same ones, bit for
    bit.

    Parameters
    ----------
    run : callable
        As `Run` says, over the rows of a table or of its parts.
    encode : callable
        As `Encode` says.
    grid : SumGrid
        For sums of the clustered columns.
    centers : ndarray of float64, shape (k, m)
    log : callable
    n_threads : int
        The result does not depend on it.
    """
    middle = centers.mean(axis=0)
    spread = run(_spread_part, (encode, middle))
    weight = spread["weight"][0]
    variance = spread["squares"] / weight - (spread["sums"] / weight) ** 2
    tolerance = TOLERANCE * max(0.0, float(variance.mean()))
    for iteration in range(1, MAX_ITERATIONS + 1):
        moved, size = _moved(run, encode, grid, centers, n_threads)
        if not size.all():
            return None
        movement = float(((moved - centers) ** 2).sum())
        log(f"iteration {iteration} from the earlier centers: they move by {movement**0.5:.3g}")
        if movement <= tolerance:
            break
        centers = moved
    return centers


def _spread_part(part: Any, state: tuple[Encode, NDArray[np.float64]]) -> Added:
    """Return the weight of rows, and sums of their differences from a point and of the squares of these."""
    encode, middle = state
    rows = encode(part)
    gaps = rows.X_cluster - middle
    weight = np.ones(len(gaps)) if rows.weight is None else rows.weight
    return Added({"weight": np.array([weight.sum()]), "sums": weight @ gaps, "squares": weight @ (gaps * gaps)})


def _moved(
    run: Run, encode: Encode, grid: SumGrid, centers: NDArray[np.float64], n_threads: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of the rows nearest to each center, the center itself where there are none, and the weights."""
    found = run(_move_part, (encode, grid, centers, n_threads))
    size = found["weight"][:, None]
    moved = np.where(size > 0, grid.sums(found["cluster"]) / np.where(size > 0, size, 1.0), centers)
    return moved, found["weight"]


def _move_part(part: Any, state: tuple[Encode, SumGrid, NDArray[np.float64], int]) -> Added:
    encode, grid, centers, n_threads = state
    rows, k = encode(part), len(centers)
    labels = nearest_labels(rows.X_cluster, centers, n_threads)
    weight = np.bincount(labels, rows.weight, minlength=k).astype(np.float64)
    return Added({"weight": weight, "cluster": _add_up(grid, rows.X_cluster, labels, k, rows.weight)})


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows with the least keys, ascending, and the weight of all rows equal to each."""

    keys: NDArray[np.uint64]
    rows: NDArray[Any]
    weight: NDArray[np.float64]

    def merged(self, other: Sample) -> Sample:
        """Return the sample of both parts."""
        return _sample(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.weight, other.weight]),
        )


def _sample(keys: NDArray[np.uint64], rows: NDArray[Any], weight: NDArray[np.float64]) -> Sample:
    known, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    kept = slice(0, SAMPLE_ROWS)
    return Sample(known[kept], rows[first[kept]], np.bincount(numbers, weight, len(known)).astype(np.float64)[kept])


def clustered_columns(rows: Any) -> NDArray[Any]:
    """Return the clustered columns of encoded rows."""
    return rows.X_cluster  # type: ignore[no-any-return]


def sample_of_rows(run: Run, encode: Callable[[Any], Any], columns: Callable[[Any], NDArray[Any]]) -> Sample:
    """Return the distinct rows with the least keys of their values in some columns; both functions are pickled."""
    return run(_sample_part, (encode, columns))  # type: ignore[no-any-return]


def _sample_part(part: Any, state: tuple[Callable[[Any], Any], Callable[[Any], NDArray[Any]]]) -> Sample:
    encode, columns = state
    rows = encode(part)
    X = columns(rows) + 0.0  # of 0.0 and -0.0 one
    weight = np.ones(len(X)) if rows.weight is None else rows.weight
    return _sample(row_keys(X, np.arange(len(X), dtype=np.int32)), X, weight)

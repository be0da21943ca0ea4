"""The reference: the unrestricted clustering that the tree explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from shallowrules.encoding import Encoding
from shallowrules.errors import DataError, OptionError

__all__ = ["Reference", "reference_clustering"]


@dataclass(frozen=True, eq=False)
class Reference:
    """The unrestricted partition and its centers.

    Parameters
    ----------
    centers : ndarray of float64, shape (k, n_clustered)
        Reference centers in the space that was clustered; cluster i of the tree is center i.
    explained_centers : ndarray of float64, shape (k, n_explained)
        Where these centers lie among the explained columns: the means of their rows.
    labels : ndarray of int32, shape (n_rows,)
        Center of each row.
    names : tuple of str
        What a person calls each cluster: the given label, or the number.
    labelled : bool
        Whether the clustering gave labels only, so that the centers are the means of the labels.
    """

    centers: NDArray[np.float64]
    explained_centers: NDArray[np.float64]
    labels: NDArray[np.int32]
    names: tuple[str, ...]
    labelled: bool


def reference_clustering(
    encoding: Encoding,
    clusterer: Any,
    n_clusters: int,
    random_state: Any,
    sample_weight: NDArray[np.float64] | None,
) -> tuple[Reference, Any]:
    """Cluster the table, or take over a clustering that was made before.

    Parameters
    ----------
    encoding : Encoding
    clusterer : None, an estimator (fitted or not), or array-like of shape (k, n_columns)
        None is scikit-learn's ``KMeans(n_clusters, n_init=10)``; an array is the centers.
    n_clusters : int
        Used only if `clusterer` is None.
    random_state : int, RandomState instance or None
    sample_weight : ndarray of float64, shape (n_rows,), optional

    Returns
    -------
    reference : Reference
    clusterer : the fitted clusterer, or None where centers were given
    """
    X = encoding.clustered
    fitted = None
    if clusterer is None:
        clusterer = KMeans(n_clusters=n_clusters, n_init=10, random_state=random_state)
    if hasattr(clusterer, "fit"):
        fitted = _fitted(clusterer, X, sample_weight)
        centers = getattr(fitted, "cluster_centers_", None)
        if centers is None or not _is_matrix(centers, X.shape[1]):
            if not hasattr(fitted, "labels_"):
                raise OptionError(
                    f"clusterer={clusterer!r} has neither cluster_centers_ nor labels_ after fitting; "
                    "give a scikit-learn clusterer, or an array of centers"
                )
            return _from_labels(encoding, np.asarray(fitted.labels_), sample_weight), fitted
    else:
        centers = clusterer
    return _from_centers(encoding, centers, sample_weight), fitted


def _is_matrix(centers: Any, n_columns: int) -> bool:
    return np.ndim(centers) == 2 and np.shape(centers)[1] == n_columns


def _fitted(clusterer: Any, X: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> Any:
    """Return a fitted clusterer: the one given if it is fitted, else a fitted clone."""
    try:
        check_is_fitted(clusterer)
    except NotFittedError:
        pass
    else:
        return clusterer
    clusterer = clone(clusterer)
    if sample_weight is None or not has_fit_parameter(clusterer, "sample_weight"):
        return clusterer.fit(X)
    return clusterer.fit(X, sample_weight=sample_weight)


def _from_centers(encoding: Encoding, centers: Any, sample_weight: NDArray[np.float64] | None) -> Reference:
    X = encoding.clustered
    try:
        centers = np.ascontiguousarray(centers, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"clusterer={centers!r} is neither a clusterer nor an array of centers; "
            "give a scikit-learn clusterer, or numbers of shape (k, columns)"
        ) from None
    if not _is_matrix(centers, X.shape[1]) or not len(centers):
        raise OptionError(
            f"clusterer gives centers of shape {centers.shape}, but the table has {X.shape[1]} columns: "
            "centers need one row per cluster and one column per column of the table"
        )
    if not np.isfinite(centers).all():
        raise OptionError("clusterer gives centers that are not finite numbers")
    labels = pairwise_distances_argmin(X, centers.astype(X.dtype, copy=False)).astype(np.int32)
    if encoding.one_space:
        explained_centers = centers
    else:
        explained_centers = _means(encoding.explained, labels, len(centers), sample_weight)
        empty = np.flatnonzero(np.bincount(labels, minlength=len(centers)) == 0)
        for center in empty:  # no rows to take a mean of: the row that is nearest to it stands in
            nearest = pairwise_distances_argmin(centers[center : center + 1], X)[0]
            explained_centers[center] = encoding.explained[nearest]
    names = tuple(str(i) for i in range(len(centers)))
    return Reference(centers, explained_centers, labels, names, labelled=False)


def _from_labels(encoding: Encoding, given: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> Reference:
    n_rows = len(encoding.clustered)
    if given.shape != (n_rows,):
        raise DataError(
            f"the clusterer has labels for {len(given)} rows, the table has {n_rows}: "
            "it must have been fitted on the same rows"
        )
    known, positions = np.unique(given, return_inverse=True)
    labels: NDArray[np.int32] = positions.astype(np.int32)
    if sample_weight is not None and (np.bincount(labels, sample_weight, len(known)) <= 0).any():
        raise DataError("a given label has no row of positive weight; leave its rows out")
    centers = _means(encoding.clustered, labels, len(known), sample_weight)
    explained = centers if encoding.one_space else _means(encoding.explained, labels, len(known), sample_weight)
    return Reference(centers, explained, labels, tuple(str(name) for name in known), labelled=True)


def _means(
    X: NDArray[Any], labels: NDArray[np.int32], k: int, sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the mean row of each label, shape (k, n_columns), as float64; 0 where a label has no row."""
    weight = np.bincount(labels, sample_weight, minlength=k)
    means = np.empty((k, X.shape[1]))
    for j in range(X.shape[1]):
        column = X[:, j].astype(np.float64, copy=False)
        means[:, j] = np.bincount(labels, column if sample_weight is None else column * sample_weight, minlength=k)
    return means / np.where(weight > 0, weight, 1.0)[:, None]

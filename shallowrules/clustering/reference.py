"""The reference: the unrestricted clustering that the tree explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, keeps_all_distances
from shallowrules.clustering.clusterers import (
    check_names,
    fitted_clusterer,
    into_space,
    known_labels,
    predicted_centers,
    predicted_labels,
    split_pipeline,
)
from shallowrules.clustering.given_labels import UNLABELLED, Labelling, classes_of_labels, label_notes
from shallowrules.clustering.nearest import HeldDistances, nearest_labels, squared_distances
from shallowrules.encoding import Encoding
from shallowrules.errors import DataError, OptionError, counted
from shallowrules.measures.summation import group_means

__all__ = ["Reference", "centers_among", "read_centers", "reference_clustering"]


@dataclass(frozen=True, eq=False)
class Reference:
    """The unrestricted partition and its centers.

    Parameters
    ----------
    centers : ndarray of float64, shape (k, n_clustered)
        Reference centers in the space that was clustered; cluster i of the tree is center i.
    explain_centers : ndarray of float64, shape (k, n_explained)
        Where these centers lie in `X_explain`: the means of their rows.
    labels : ndarray of int32, shape (n_rows,)
        Assigned center of each row: the given label where there are labels, else the nearest center.
        `UNLABELLED` for rows that are not to be fitted on.
    names : tuple of str
        What a person calls each cluster: the given label, or the number.
    classes : tuple of int
        The label of each cluster wherever rows get one: the given label where it is a whole number, else its index.
    labelled : bool
        Whether the labels are the clustering's own, and not those of the nearest center.
    notes : tuple of str
        What a reader of the rules should know about the clustering.
    noise : bool
        Whether the last cluster is noise.
    distances : HeldDistances, optional
        Of all rows to all centers, where they are wanted and growth can take them over.
    """

    centers: NDArray[np.float64]
    explain_centers: NDArray[np.float64]
    labels: NDArray[np.int32]
    names: tuple[str, ...]
    classes: tuple[int, ...]
    labelled: bool
    notes: tuple[str, ...] = ()
    noise: bool = False
    distances: HeldDistances | None = None


def reference_clustering(
    encoding: Encoding,
    clusterer: Any,
    sample_weight: NDArray[np.float64] | None,
    *,
    names: Sequence[str] | None = None,
    source: Any = None,
    holds_distances: bool = False,
    explains_noise: bool = False,
    n_threads: int = 1,
) -> tuple[Reference, Encoding, Any]:
    """Cluster the table, or adopt an existing clustering.

    Parameters
    ----------
    encoding : Encoding
    clusterer : an estimator (fitted or not), a Labelling, or array-like of shape (k, n_columns)
        An array is the centers.
    sample_weight : ndarray of float64, shape (n_rows,), optional
    names : sequence of str, optional
        Names of the clustered columns, where they have some.
    source : array-like or dataframe, optional
        The clustered columns as the user has them: what a Pipeline is given.
    holds_distances : bool
        Whether a tree is grown next that can take over the distances to the centers.
    explains_noise : bool
        Whether rows that the clusterer calls noise are a cluster; else they are in none, with a warning.
    n_threads : int
        For what is done beside the clusterer's own work; no result depends on it.

    Returns
    -------
    reference : Reference
    encoding : Encoding
        With the space in which distances are taken; the transformers of a Pipeline change it.
    clusterer : the fitted clusterer, or None where centers or labels were given

    Raises
    ------
    OptionError
        If `clusterer` is of another kind, or was made for another number of columns.
    DataError
        If its labels are those of another number of rows, or its columns have other names.
    """
    if isinstance(clusterer, Labelling):
        reference = _from_labels(encoding, clusterer, sample_weight, n_threads)
        absent = int(np.count_nonzero(clusterer.labels == UNLABELLED))
        return replace(reference, notes=label_notes(clusterer.names, absent, len(clusterer.labels))), encoding, None
    if not hasattr(clusterer, "fit"):
        reference = _from_centers(
            encoding, clusterer, sample_weight, holds_distances=holds_distances, n_threads=n_threads
        )
        return reference, encoding, None
    transformers, _ = split_pipeline(clusterer)
    if transformers and encoding.encoder.scaler is not None:
        raise OptionError("scale cannot be combined with a Pipeline, which does its own scaling; leave scale=None")
    X = encoding.X_cluster if source is None or not transformers else source
    fitted, seen, notes = fitted_clusterer(clusterer, X, sample_weight, n_threads)
    if transformers:
        check_names(fitted, names)
        encoding = encoding.in_space(into_space(fitted, encoding.X_cluster, X))
        names = None  # the transformers may name their columns otherwise
    reference = _take_over(
        encoding,
        split_pipeline(fitted)[1],
        sample_weight,
        seen,
        names,
        holds_distances=holds_distances,
        explains_noise=explains_noise,
        n_threads=n_threads,
    )
    return replace(reference, notes=(*notes, *reference.notes)), encoding, fitted


def centers_among(
    X: NDArray[Any],
    reference: Reference,
    X_cluster: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return the reference centers in any columns of the rows: the means of the rows of each.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
    reference : Reference
    X_cluster : ndarray of float, shape (n_rows, n_clustered)
        In the space of the centers. A center without rows gets the mean of the rows nearest to it.
    sample_weight : ndarray of float64, shape (n_rows,), optional
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (k, n_columns)
    """
    return _means(X, reference.labels, reference.centers, X_cluster, sample_weight, n_threads)


def _means(
    X: NDArray[Any],
    labels: NDArray[np.int32],
    centers: NDArray[np.float64],
    X_cluster: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
    n_threads: int,
    ranges: Ranges | None = None,
) -> NDArray[np.float64]:
    means = group_means(X, labels, len(centers), sample_weight, n_threads, ranges)
    empty = np.flatnonzero(np.isnan(means).any(axis=1))
    if len(empty):
        counted = labels >= 0
        if sample_weight is not None:
            counted &= sample_weight > 0
        for center in empty:
            distance = np.where(counted, squared_distances(X_cluster, centers[center]), np.inf)
            nearest = np.where(distance == distance.min(), 0, UNLABELLED)
            means[center] = group_means(X, nearest, 1, sample_weight)[0]
    return means


def _take_over(
    encoding: Encoding,
    fitted: Any,
    sample_weight: NDArray[np.float64] | None,
    seen: NDArray[np.bool_] | None,
    names: Sequence[str] | None,
    *,
    holds_distances: bool,
    explains_noise: bool,
    n_threads: int,
) -> Reference:
    """Return the centers of a fitted clusterer if it has some for this space, else its labels."""
    X = encoding.X_cluster
    given = known_labels(fitted, len(X), seen)
    centers = getattr(fitted, "cluster_centers_", None)
    if centers is None:
        centers = getattr(fitted, "means_", None)  # of a mixture
    centers = np.asarray([] if centers is None else centers)
    if len(centers) and _is_matrix(centers, X.shape[1]):
        check_names(fitted, names)
        reference = _from_centers(
            encoding,
            centers,
            sample_weight,
            predicted_centers(fitted, X, centers),
            holds_distances=holds_distances,
            n_threads=n_threads,
        )
        if given is None or not given.noise.any():
            return reference
        labels = np.where(given.noise, np.int32(UNLABELLED), reference.labels)
        if explains_noise:
            return _from_labels(encoding, _noisy(labels, ~given.seen), sample_weight, n_threads)
        given.warn_of_noise(fitted)
        return replace(reference, labels=labels, notes=given.notes)
    if given is None:
        given = predicted_labels(fitted, X, names)
    notes: tuple[str, ...] = ()
    if given.noise[given.seen].all():
        raise DataError(f"{type(fitted).__name__} marks every row as noise, so there is no cluster to explain")
    if explains_noise and given.noise.any():
        labelling = _noisy(np.where(given.noise, UNLABELLED, given.labels), ~given.seen)
    else:
        labelling = Labelling.of(given.labels, given.noise | ~given.seen)
        notes = given.notes
        given.warn_of_noise(fitted)
    reference = _from_labels(encoding, labelling, sample_weight, n_threads)
    if len(centers):
        notes = (
            f"the centers of {type(fitted).__name__} have {centers.shape[-1]} columns, the clustered table has "
            f"{X.shape[1]}: its labels are explained instead",
            *notes,
        )
    return replace(reference, notes=notes)


def _noisy(labels: NDArray[Any], absent: NDArray[np.bool_]) -> Labelling:
    """Return labels among which -1 is noise."""
    return Labelling.of(labels, absent).with_noise()


def _is_matrix(centers: Any, n_columns: int) -> bool:
    return np.ndim(centers) == 2 and np.shape(centers)[1] == n_columns


def read_centers(centers: Any, n_columns: int) -> NDArray[np.float64]:
    """Return given centers, shape (k, n_columns); OptionError for anything else."""
    try:
        read: NDArray[np.float64] = np.ascontiguousarray(centers, dtype=np.float64)
    except (TypeError, ValueError):
        shown = f"={centers!r}" if isinstance(centers, str | Real) else f" (of type {type(centers).__name__})"
        raise OptionError(
            f"clusterer{shown} is neither a clusterer nor an array of centers or labels; "
            "give a scikit-learn clusterer, numbers of shape (k, columns), or one label per row"
        ) from None
    if not _is_matrix(read, n_columns) or not len(read):
        raise OptionError(
            f"clusterer gives centers of shape {read.shape}, but the table has {counted(n_columns, 'column')}: "
            "centers need one row per cluster and one column per column of the table"
        )
    if not np.isfinite(read).all():
        raise OptionError("clusterer gives centers that are not finite numbers")
    return read


def _from_centers(
    encoding: Encoding,
    centers: Any,
    sample_weight: NDArray[np.float64] | None,
    labels: NDArray[np.int32] | None = None,
    *,
    holds_distances: bool,
    n_threads: int,
) -> Reference:
    """Return the clustering by given centers: by its own labels, or those of the nearest center."""
    X = encoding.X_cluster
    centers = read_centers(centers, X.shape[1])
    labelled = labels is not None
    distances = None
    if labels is None:
        if holds_distances and keeps_all_distances(X, len(centers)):
            distances = np.empty((len(centers), len(X)))
        labels = nearest_labels(X, centers, n_threads, distances)
    explain_centers = centers
    if not encoding.one_space:
        ranges = encoding.explain_ranges
        explain_centers = _means(encoding.X_explain, labels, centers, X, sample_weight, n_threads, ranges)
    classes = tuple(range(len(centers)))
    held = None if distances is None else HeldDistances(distances)
    return Reference(centers, explain_centers, labels, tuple(map(str, classes)), classes, labelled, distances=held)


def _from_labels(
    encoding: Encoding, given: Labelling, sample_weight: NDArray[np.float64] | None, n_threads: int
) -> Reference:
    """Return the clustering by given labels, its centers the means of their rows."""
    X = encoding.X_cluster
    counted = given.labels >= 0
    if sample_weight is not None:
        counted &= sample_weight > 0
    used = np.unique(given.labels[counted])
    if not len(used):
        raise DataError("no row with a label has a positive weight, so there is no clustering to explain")
    # A label whose rows all have weight 0 is left out.
    number = np.full(len(given.names) + 1, UNLABELLED, dtype=np.int32)  # the last entry, index -1, stays UNLABELLED
    number[used] = np.arange(len(used))
    labels = number[given.labels]
    centers = group_means(X, labels, len(used), sample_weight, n_threads, encoding.cluster_ranges)
    explain_centers = centers
    if not encoding.one_space:
        ranges = encoding.explain_ranges
        explain_centers = group_means(encoding.X_explain, labels, len(used), sample_weight, n_threads, ranges)
    names = tuple(given.names[i] for i in used)
    classes = classes_of_labels(None if given.numbers is None else [given.numbers[i] for i in used], len(used))
    noise = given.noise and used[-1] == len(given.names) - 1
    return Reference(centers, explain_centers, labels, names, classes, labelled=True, noise=bool(noise))

"""How short the explanations are, what the partition costs, and how far two partitions agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules._kernel import within_cluster_sum_of_squares
from shallowrules.tree import Tree

__all__ = [
    "agreement",
    "partition_cost",
    "precision_and_recall",
    "weighted_average_depth",
    "weighted_average_explanation_size",
]


def weighted_average_depth(tree: Tree) -> float:
    """Return the questions that a training row is asked on average (WAD, the paper's Eq. 2)."""
    return float(np.average(tree.depth[tree.leaves], weights=tree.weight[tree.leaves]))


def weighted_average_explanation_size(tree: Tree) -> float:
    """Return the conditions in a training row's explanation on average (WAES, the paper's Eq. 3)."""
    return float(np.average(tree.explanation_size[tree.leaves], weights=tree.weight[tree.leaves]))


def partition_cost(
    X: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None, n_threads: int = 1
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

    Returns
    -------
    float
        In squared units of `X`, infinity beyond the largest float. Accurate for clusters that are tight compared to
        their distance from the origin.
    """
    X, labels = np.asarray(X), _labels(labels)
    weight = None if sample_weight is None else np.ascontiguousarray(_weights(sample_weight, len(labels)))
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
    if weight is None:
        return float(within_cluster_sum_of_squares(X, numbers, k, None, n_threads))
    # Weights of at most 1, by a power of two, which takes no digit: sums of larger ones may be beyond floats.
    exponent = np.frexp(weight.max())[1]
    cost = within_cluster_sum_of_squares(X, numbers, k, np.ldexp(weight, -exponent), n_threads)
    with np.errstate(over="ignore"):
        return float(np.ldexp(cost, exponent))


def agreement(labels: ArrayLike, reference: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of weight that two labellings put in the same cluster.

    Parameters
    ----------
    labels, reference : array-like of shape (n_rows,)
        Cluster of each row; equal values mean the same cluster.
    sample_weight : array-like of shape (n_rows,), optional
    """
    equal = _labels(labels) == _labels(reference)
    if sample_weight is None:
        return float(np.count_nonzero(equal) / len(equal))
    return float(np.average(equal, weights=_weights(sample_weight, len(equal))))


def precision_and_recall(
    labels: ArrayLike, reference: ArrayLike, n_clusters: int, sample_weight: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far each cluster of a labelling is that of the reference, both ways.

    Parameters
    ----------
    labels, reference : array-like of int, shape (n_rows,)
        Clusters from 0 to ``n_clusters - 1``.
    n_clusters : int
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    precision : ndarray of float64, shape (n_clusters,)
        Share of the cluster's weight that the reference puts in it too; 0 for an empty cluster.
    recall : ndarray of float64, shape (n_clusters,)
        Share of the reference cluster's weight that the labelling puts in it too; 0 for an empty one.
    """
    labels, reference = np.asarray(labels), np.asarray(reference)
    weight = None if sample_weight is None else _weights(sample_weight, len(labels))
    equal = labels == reference
    shared = np.bincount(labels[equal], None if weight is None else weight[equal], n_clusters)
    precision, recall = (
        np.divide(shared, total, out=np.zeros(n_clusters), where=total > 0)
        for total in (np.bincount(labels, weight, n_clusters), np.bincount(reference, weight, n_clusters))
    )
    return precision, recall


def _labels(given: ArrayLike) -> NDArray[Any]:
    """Return labels as an array; texts as objects: NumPy's own texts end before their last characters 0."""
    listed = isinstance(given, list | tuple) and any(isinstance(label, str) for label in given)
    return np.array(given, dtype=object) if listed else np.asarray(given)


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    return np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)

"""How short the explanations are, what the partition costs, and how far two partitions agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.tree import Tree

__all__ = [
    "agreement",
    "normalized_cost",
    "partition_cost",
    "precision_and_recall",
    "weighted_average_depth",
    "weighted_average_explanation_size",
]

_BLOCK = 1 << 18
"""Values widened to float64 at once: what fits a second-level cache."""


def weighted_average_depth(tree: Tree) -> float:
    """Return the questions that a training row is asked on average (WAD, the paper's Eq. 2)."""
    return float(np.average(tree.depth[tree.leaves], weights=tree.weight[tree.leaves]))


def weighted_average_explanation_size(tree: Tree) -> float:
    """Return the conditions in a training row's explanation on average (WAES, the paper's Eq. 3)."""
    return float(np.average(tree.explanation_size[tree.leaves], weights=tree.weight[tree.leaves]))


def partition_cost(X: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the k-means cost of a partition, each cluster around its own mean (the paper's Eq. 1).

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The space that was clustered. Never copied whole; any number type, summed in float64.
    labels : array-like of shape (n_rows,)
        Cluster of each row; any values that compare.
    sample_weight : array-like of shape (n_rows,), optional
        Weights, none negative; 1 by default. Rows of weight 0 do not count.

    Returns
    -------
    float
        In squared units of `X`. Accurate for clusters that are tight compared to their distance
        from the origin.
    """
    X, labels = np.asarray(X), np.asarray(labels)
    weight = _weights(sample_weight, len(labels))
    order = np.argsort(labels, kind="stable")
    order = order[weight[order] > 0]
    borders = np.flatnonzero(labels[order][1:] != labels[order][:-1]) + 1
    cost = 0.0
    for rows in np.split(order, borders) if len(order) else []:
        # Sums of differences from a row of the cluster keep the digits that an offset would take.
        # What the rounding of the mean then adds to the sum of squares is known and subtracted.
        origin = X[rows[0]].astype(np.float64)
        total = weight[rows].sum()
        mean = origin + sum(np.einsum("i,ij->j", w, x) for w, x in _differences(X, weight, rows, origin)) / total
        excess = np.zeros_like(mean)
        for w, x in _differences(X, weight, rows, mean):
            cost += float(np.einsum("i,ij,ij->", w, x, x))
            excess += np.einsum("i,ij->j", w, x)
        cost -= float(excess @ excess) / total
    return max(cost, 0.0)


def normalized_cost(cost: float, reference_cost: float) -> float:
    """Return the price of explainability: a partition's cost by that of the unrestricted one.

    Where that is 0, no ratio tells how much more it costs: 1 if the partition costs nothing either, else infinity.
    """
    if reference_cost > 0:
        return cost / reference_cost
    return 1.0 if cost == 0 else float("inf")


def agreement(labels: ArrayLike, reference: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of weight that two labellings put in the same cluster.

    Parameters
    ----------
    labels, reference : array-like of shape (n_rows,)
        Cluster of each row; equal values mean the same cluster.
    sample_weight : array-like of shape (n_rows,), optional
    """
    equal = np.asarray(labels) == np.asarray(reference)
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
    weight = _weights(sample_weight, len(labels))
    equal = labels == reference
    shared = np.bincount(labels[equal], weight[equal], n_clusters)
    precision, recall = (
        np.divide(shared, total, out=np.zeros(n_clusters), where=total > 0)
        for total in (np.bincount(labels, weight, n_clusters), np.bincount(reference, weight, n_clusters))
    )
    return precision, recall


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    return np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)


def _differences(
    X: NDArray[Any], weight: NDArray[np.float64], rows: NDArray[np.intp], origin: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Give the rows' weights and their differences from `origin`, block by block in float64."""
    step = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        yield weight[block], np.subtract(X[block], origin, dtype=np.float64)

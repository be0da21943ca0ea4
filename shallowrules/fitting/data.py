"""What goes from one part of a fit to the next: parameters, the table as given, all that trees are grown from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges
from shallowrules.clustering.reference import UNLABELLED, Reference
from shallowrules.encoding import Encoding
from shallowrules.measures.metrics import cost_around_means, exact_sums, partition_cost
from shallowrules.measures.summation import GroupSums, group_means
from shallowrules.tables.table import Table

__all__ = ["FitData", "FitParameters", "GivenTable", "Log"]

Log = Callable[[str], None]
"""Takes a line that says what is being done."""


@dataclass(frozen=True, kw_only=True)
class FitParameters:
    """The parameters of `ExplainableKMeans`, checked; it documents them."""

    n_clusters: int
    method: str
    tradeoff: float
    max_leaves: int | None
    base: str
    refine: str
    budget: float | str
    round_within: float | None
    keep: Sequence[str]
    clusterer: Any
    cluster_columns: Sequence[str | int] | None
    explain_columns: Sequence[str | int] | None
    scale: str | None
    category_weight: float
    impute: str | None
    transformer: Any
    random_state: Any
    n_threads: int


@dataclass(frozen=True, eq=False)
class GivenTable:
    """A table as the user gave it, read.

    Parameters
    ----------
    X : array-like, dataframe or Table
    table : Table
        Its columns.
    matrix : ndarray of float32 or float64, shape (n_rows, n_columns), or None
        The same table where it came as a matrix.
    feature_names : ndarray of str, or None
        Names of the columns where they have some.
    """

    X: Any
    table: Table
    matrix: NDArray[Any] | None
    feature_names: NDArray[np.object_] | None

    def ranges(self, n_threads: int) -> Ranges | None:
        """Return the ranges of the columns of a matrix."""
        return None if self.matrix is None else column_ranges(self.matrix, n_threads)


@dataclass(frozen=True, eq=False)
class FitData:
    """A table that is read and clustered: all that trees are grown from.

    Parameters
    ----------
    parameters : FitParameters
    given : GivenTable
    encoding : Encoding
        Its table has the columns that are used.
    reference : Reference
    cluster_columns : list of int
        Positions of the columns that are clustered, among those given.
    clusterer : fitted estimator or None
        None where centers or labels were given.
    weight : ndarray of float64, shape (n_rows,), or None
        The weights that were given.
    fit_weight : ndarray of float64, shape (n_rows,), or None
        The weights that rows are fitted with: 0 also for those that are in no cluster.
    """

    parameters: FitParameters
    given: GivenTable
    encoding: Encoding
    reference: Reference
    cluster_columns: list[int]
    clusterer: Any
    weight: NDArray[np.float64] | None
    fit_weight: NDArray[np.float64] | None

    @cached_property
    def used_centers(self) -> NDArray[np.int32]:
        """The centers that rows of positive weight are assigned to."""
        sums, labels = self.reference_sums, self.reference.labels
        if sums is not None:
            return np.flatnonzero(sums.size).astype(np.int32)
        rows = np.bincount(labels if self.fit_weight is None else labels[self.fit_weight > 0])
        return np.flatnonzero(rows).astype(np.int32)

    @property
    def kept_centers(self) -> NDArray[np.integer]:
        """The centers to explain: all, but of a labelling only those that have rows."""
        return self.used_centers if self.reference.labelled else np.arange(len(self.reference.centers))

    @cached_property
    def reference_cost(self) -> float:
        """The k-means cost of the unrestricted clustering, with the means of its labels."""
        X, labels, sums = self.encoding.X_cluster, self.reference.labels, self.reference_sums
        weight, n_threads = self.fit_weight, self.parameters.n_threads
        if sums is not None:
            return cost_around_means(sums, X, labels, weight, n_threads)
        return partition_cost(X, labels, weight, n_threads, self.encoding.cluster_ranges)

    @cached_property
    def reference_sums(self) -> GroupSums | None:
        """The sums of the unrestricted clusters; None if rows are in none, and as `exact_sums` says."""
        labels, k = self.reference.labels, len(self.reference.centers)
        if labels.min() < 0:
            return None
        encoding, n_threads = self.encoding, self.parameters.n_threads
        return exact_sums(encoding.X_cluster, labels, k, self.fit_weight, n_threads, encoding.cluster_ranges)

    @property
    def reference_means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The means of the clusters of the unrestricted clustering in the clustered space, and their weights.

        Shapes (k, m) and (k,); NaN for the mean of one without rows.
        """
        sums = self.reference_sums
        if sums is not None:
            return sums.means, sums.size
        encoding, labels, weight, k = self.encoding, self.reference.labels, self.fit_weight, len(self.reference.centers)
        counted = labels >= 0
        sizes = np.bincount(labels[counted], None if weight is None else weight[counted], k).astype(np.float64)
        n_threads, ranges = self.parameters.n_threads, encoding.cluster_ranges
        return group_means(encoding.X_cluster, labels, k, weight, n_threads, ranges), sizes

    @property
    def left_out(self) -> int:
        """Number of rows in no cluster before there was a tree; rows of weight 0 were not meant to count."""
        unlabelled = self.reference.labels == UNLABELLED
        return int(np.count_nonzero(unlabelled if self.weight is None else unlabelled & (self.weight > 0)))

"""A table in memory that is read and clustered, and the figures of its clustering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.clusterers import has_transformers
from shallowrules.clustering.given_labels import UNLABELLED
from shallowrules.encoding import Encoder, Encoding
from shallowrules.encoding.blocks import row_blocks
from shallowrules.fitting.assembling import separation_of
from shallowrules.fitting.data import FitData, GivenTable
from shallowrules.fitting.earlier import clustering_of
from shallowrules.measures.metrics import cost_around_means, exact_sums, partition_cost
from shallowrules.measures.summation import GroupSums, group_means
from shallowrules.partitions.merging import as_given
from shallowrules.rules import Clustering, RuleSet
from shallowrules.rules.words.changes import count_pairs
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.trees.grown_tree import CutTree, GrownTree, routed
from shallowrules.trees.row_samples import RowSample

__all__ = ["ClusteredTable", "CountedRows"]


@dataclass(frozen=True, eq=False)
class ClusteredTable(FitData):
    """A table in memory that is read and clustered.

    Parameters
    ----------
    given : GivenTable
    encoding : Encoding
        Its table has the columns that are used.
    clusterer : fitted estimator or None
        None where centers or labels were given.
    weight : ndarray of float64, shape (n_rows,), or None
        The weights that were given.
    fit_weight : ndarray of float64, shape (n_rows,), or None
        The weights that rows are fitted with: 0 also for those that are in no cluster.
    measure : Column, optional
        The column to add up by cluster.
    """

    given: GivenTable
    encoding: Encoding
    clusterer: Any
    weight: NDArray[np.float64] | None
    fit_weight: NDArray[np.float64] | None
    measure: Column | None = None

    @property
    def encoder(self) -> Encoder:
        """The encoder of the model columns."""
        return self.encoding.encoder

    @property
    def table(self) -> Table:
        """The columns that are used."""
        return self.encoding.table

    @property
    def weighted(self) -> bool:
        """Whether weights were given."""
        return self.weight is not None

    @property
    def separation(self) -> Mapping[int, float]:
        """The share of each raw column in the separation of the clusters; empty if columns were transformed."""
        if self.encoder.transformer is not None or has_transformers(self.clusterer):
            return {}
        return separation_of(self.encoder, *self.reference_means)

    @property
    def clustering(self) -> Clustering | None:
        """The clustering and its space; None where columns were transformed."""
        if self.encoder.transformer is not None or has_transformers(self.clusterer):
            return None
        return clustering_of(self.encoder, self.parameters.scale, self.reference.centers)

    @cached_property
    def used_centers(self) -> NDArray[np.int32]:
        """The centers that rows of positive weight are assigned to."""
        sums, labels = self.reference_sums, self.reference.labels
        if sums is not None:
            return np.flatnonzero(sums.size).astype(np.int32)
        rows = np.bincount(labels if self.fit_weight is None else labels[self.fit_weight > 0])
        return np.flatnonzero(rows).astype(np.int32)

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
        """The sums of the unrestricted clusters; None if rows are in no cluster, or as `exact_sums` says."""
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
        """Number of rows of positive weight in no cluster."""
        unlabelled = self.reference.labels == UNLABELLED
        return int(np.count_nonzero(unlabelled if self.weight is None else unlabelled & (self.weight > 0)))

    def costs(self, grown: GrownTree) -> tuple[float, float]:
        """Return the k-means cost of a tree's partition and that of the clustering."""
        encoding, weight = self.encoding, self.fit_weight
        labels = grown.labels if weight is None else np.maximum(grown.labels, 0)  # of weight 0, they do not count
        cost = partition_cost(encoding.X_cluster, labels, weight, self.parameters.n_threads, encoding.cluster_ranges)
        return cost, self.reference_cost

    def routed(self, tree: CutTree) -> GrownTree:
        """Return a tree over the model columns with the rows that its cuts send to each node."""
        return routed(tree, self.encoding.matrix, self.fit_weight, self.parameters.n_threads)

    def count_pairs(self, earlier: RuleSet, rules: RuleSet | None) -> Counter[tuple[int, int]]:
        """Count rows by pair of clusters: by the earlier rules, and by `rules` or, without these, by the clustering."""
        table = self.given.table
        labels = self.reference.labels if rules is None else rules.assign(table)
        counted = slice(None) if self.fit_weight is None else self.fit_weight > 0
        return count_pairs(earlier.assign(table)[counted], labels[counted])

    def sample(self) -> RowSample:
        """Return distinct rows, or some of them if there are many."""
        matrix, X_cluster, weight = self.encoding.matrix, self.encoding.X_cluster, self.fit_weight

        def run(function: Callable[[Any, Any], Any], state: Any) -> Any:
            found = None  # one block at a time: no second matrix is needed
            for rows in row_blocks(*matrix.shape):
                block = CountedRows.of(matrix[rows], X_cluster[rows], None if weight is None else weight[rows])
                here = function(block, state)
                found = here if found is None else found.merged(here)
            return found

        return RowSample.of(run, as_given, matrix.shape[1])


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The rows that count, as `RoundedRows`."""

    matrix: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64] | None
    leaves: dict[bytes, NDArray[np.int32]] = field(default_factory=dict)

    @classmethod
    def of(cls, matrix: NDArray[Any], X_cluster: NDArray[Any], weight: NDArray[np.float64] | None) -> CountedRows:
        """Return the rows of a table that count; weights may be 0."""
        rows = cls(matrix, X_cluster, weight)
        if weight is None or weight.all():
            return rows
        counted = weight > 0
        return cls(rows.matrix[counted], rows.X_cluster[counted], weight[counted])

"""A table in memory as a fit works on it: trees grown, rounded and measured on all of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from shallowrules._kernel import column_ranges, route_rows
from shallowrules.clustering.clusterers import fit_clusterer
from shallowrules.clustering.nearest import nearest_labels
from shallowrules.clustering.reference import centers_among
from shallowrules.encoding import Encoder, Encoding
from shallowrules.fitting.clustered import ClusteredTable, CountedRows
from shallowrules.fitting.data import FitData, GivenTable, Log
from shallowrules.fitting.describing import LabelledRows
from shallowrules.fitting.growing import (
    objectives_of,
    seed_of,
    settings_of,
)
from shallowrules.fitting.keeping import Region, divide, join, kept_cuts, regions_of
from shallowrules.fitting.regions import Explained, grow_region
from shallowrules.measures.summation import SumGrid, WeightFacts, group_means
from shallowrules.partitions.merging import at_once
from shallowrules.trees.extending import price_more
from shallowrules.trees.grown_tree import GrownTree, Objectives, join_leaves, renumber_centers
from shallowrules.trees.progress import Progress, part_of
from shallowrules.trees.rounding import SummedRows, round_thresholds
from shallowrules.trees.row_samples import RowSample
from shallowrules.trees.tree import LEAF, Tree

__all__ = ["TableData"]


@dataclass(frozen=True, eq=False)
class TableData(ClusteredTable):
    """A clustered table in memory, and what a fit does with it; the parameters are those of `ClusteredTable`."""

    @classmethod
    def of_rows(cls, data: FitData, rows: RowSample, centers: NDArray[np.float64]) -> TableData:
        """Return some rows of a table, assigned to centers, so that trees can be grown for these rows alone."""
        n_threads = data.parameters.n_threads
        X_explain = data.encoder.explained(rows.matrix)
        X_cluster = rows.X_cluster
        labels = nearest_labels(X_cluster, centers, n_threads)
        reference = replace(data.reference, labels=labels, centers=centers, distances=None)
        explain_centers = centers_among(X_explain, reference, X_cluster, rows.weight, n_threads)
        encoding = Encoding(data.encoder, data.table, rows.matrix, X_explain, X_cluster, column_ranges(rows.matrix))
        given = GivenTable(data.table, data.table, None, None)
        reference = replace(reference, explain_centers=explain_centers)
        return cls(data.parameters, reference, data.cluster_columns, given, encoding, None, rows.weight, rows.weight)

    def grown_for(
        self,
        kept: NDArray[np.integer],
        tradeoffs: Sequence[float],
        progress: Progress | None,
        log: Log,
        tell_best: Callable[[float], None] | None,
    ) -> list[tuple[GrownTree, ...]]:
        """Return the trees for the kept centers, joined where cuts are kept; noise may have several leaves."""
        max_leaves, noise = self.parameters.max_leaves, len(self.reference.centers) - 1
        if self.reference.noise and max_leaves is not None and max_leaves > len(kept) and noise in kept:
            split = self._with_noise_split(max_leaves - len(kept) + 1)
            centers = np.append(kept, np.arange(noise + 1, len(split.reference.centers)))
            numbers = np.minimum(np.arange(len(split.reference.centers)), noise)
            return [
                tuple(join_leaves(renumber_centers(tree, numbers)) for tree in trees)
                for trees in split.grown_for(centers, tradeoffs, progress, log, tell_best)
            ]
        encoding, cuts = self.encoding, kept_cuts(self.parameters.keep, self.encoding)
        plan = divide(encoding, self.reference, self.fit_weight, kept, cuts)
        regions = regions_of(plan)
        found = [
            grow_region(self, region, tradeoffs, part_of(progress, i, len(regions)), log, tell_best)
            for i, region in enumerate(regions)
        ]
        if isinstance(plan, Region):
            return found[0]
        grown = []
        for i, tradeoff in enumerate(tradeoffs):
            in_regions = [trees[i] for trees in found]
            greedy, refined = (
                join(plan, [trees[which] for trees in in_regions], len(self.reference.labels)) for which in (0, -1)
            )
            trees = [greedy]
            if any(len(trees) > 1 for trees in in_regions):
                before, after = (objectives_of(self, tree, tradeoff).own for tree in (greedy, refined))
                best, own = (refined, after) if after < before else (greedy, before)
                trees.append(
                    replace(
                        best, notes=refined.notes, objectives=Objectives(own, before, self.reference_cost, tradeoff)
                    )
                )
            grown.append(tuple(trees))
        return grown

    def _with_noise_split(self, n_groups: int) -> TableData:
        """Return the rows with noise, the last cluster, split into groups of nearby rows, one per leaf."""
        encoding, reference, n_threads = self.encoding, self.reference, self.parameters.n_threads
        X, weight, noise = encoding.X_cluster, self.fit_weight, len(reference.centers) - 1
        rows = np.flatnonzero(reference.labels == noise)
        counted = rows if weight is None else rows[weight[rows] > 0]
        kmeans = KMeans(
            min(n_groups, len(np.unique(X[counted], axis=0))),
            n_init=10,
            random_state=seed_of(self.parameters.random_state),
        )
        fitted = fit_clusterer(kmeans, X[counted], n_threads, sample_weight=None if weight is None else weight[counted])
        labels = reference.labels.copy()
        labels[rows] = noise + nearest_labels(X[rows], fitted.cluster_centers_, n_threads)
        centers = np.concatenate([reference.centers[:noise], fitted.cluster_centers_])
        k = len(centers)
        explain_centers = centers
        if not encoding.one_space:
            explain_centers = group_means(encoding.X_explain, labels, k, weight, n_threads, encoding.explain_ranges)
        more = tuple(range(noise + 1, k))
        split = replace(
            reference,
            centers=centers,
            explain_centers=explain_centers,
            labels=labels,
            names=(*reference.names, *(f"{reference.names[noise]} {i}" for i in more)),
            classes=(*reference.classes, *more),
            noise=False,
        )
        return replace(self, parameters=replace(self.parameters, max_leaves=None), reference=split)

    @cached_property
    def _counted_rows(self) -> tuple[CountedRows, SumGrid]:
        """The rows that count, and the grid of their sums."""
        rows = CountedRows.of(self.encoding.matrix, self.encoding.X_cluster, self.fit_weight)
        if self.reference_sums is not None:
            return rows, self.reference_sums.grid
        ranges = column_ranges(rows.X_cluster)
        return rows, SumGrid.of(ranges, WeightFacts.of(rows.weight, len(rows.matrix)))

    def rounded(self, grown: GrownTree, objectives: Objectives) -> GrownTree:
        """Return a tree with rounder thresholds, and the labels that rows get."""
        rows, grid = self._counted_rows
        here, n_threads, weight = replace(rows, leaves={}), self.parameters.n_threads, self.fit_weight
        summed, within = SummedRows(at_once(here), grid, n_threads=n_threads), self.parameters.round_within
        found = round_thresholds(grown, self.encoder, self.table, summed, objectives, within=within)
        if found is grown:
            return grown
        matrix = self.encoding.matrix
        if len(rows.matrix) == len(matrix):
            leaf = here.leaves[found.cut.tobytes()]
        else:
            leaf = route_rows(matrix, found.feature, found.cut, found.left, found.right, n_threads=n_threads)
        labels = found.center[leaf]
        return replace(found, labels=labels if weight is None else np.where(weight > 0, labels, np.int32(LEAF)))

    def prices(self, grown: GrownTree, max_leaves: int, tradeoff: float) -> Sequence[float]:
        """Return the normalized cost of a tree, with one more leaf, with two more."""
        if not self.reference_cost > 0:
            return []
        over = Explained.of(self)
        return price_more(over.tree(grown), over.rows, settings_of(self.parameters, tradeoff), max_leaves)

    def rows_of(self, tree: Tree, encoder: Encoder, grown: GrownTree) -> LabelledRows:
        """Return the rows in the clusters of a tree; those of weight 0 follow its thresholds."""
        data = self if encoder is self.encoder else replace(self, encoding=self.encoding.recoded(encoder))
        labels = grown.labels.copy()
        if self.fit_weight is not None and not self.fit_weight.all():
            weightless = self.fit_weight == 0
            labels[weightless] = tree.predict(data.encoding.matrix[weightless])
        is_single = tree.n_leaves == len(np.unique(tree.cluster[tree.leaves]))
        leaf = None if is_single else tree.apply(data.encoding.matrix)
        return data.labelled(labels, self.reference.labels, len(tree.names), leaf)

    def labelled(
        self,
        labels: NDArray[np.int32],
        followed: NDArray[np.int32],
        k: int,
        leaf: NDArray[np.int32] | None = None,
    ) -> LabelledRows:
        """Return the rows with their labels, for k clusters that begin with those of the reference.

        Parameters
        ----------
        labels, followed, leaf : ndarray of int32, shape (n_rows,)
            As in `LabelledRows`.
        k : int
        """
        return LabelledRows(
            self.encoding,
            labels,
            followed,
            k,
            self.fit_weight,
            self.weighted,
            self._central_rows,
            self.reference_cost,
            self.parameters.n_threads,
            self.measure,
            self.weight,
            leaf,
        )

    def _central_rows(self) -> NDArray[np.float64]:
        """Return the substitutes for the means of clusters without rows, shape (n_centers, n_model_columns)."""
        encoding, reference = self.encoding, self.reference
        if encoding.X_explain is encoding.matrix:
            return reference.explain_centers
        n_threads = self.parameters.n_threads
        return centers_among(encoding.matrix, reference, encoding.X_cluster, self.fit_weight, n_threads)

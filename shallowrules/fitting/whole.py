"""A table in memory as a fit works on it: trees grown, rounded and measured on all of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from shallowrules._kernel import column_ranges, route_rows
from shallowrules.clustering.clusterers import fit_clusterer, has_transformers
from shallowrules.clustering.given_labels import UNLABELLED
from shallowrules.clustering.nearest import nearest_labels
from shallowrules.clustering.reference import centers_among
from shallowrules.encoding import Encoder, Encoding
from shallowrules.encoding.blocks import row_blocks
from shallowrules.errors import counted
from shallowrules.fitting.assembling import separation_of
from shallowrules.fitting.data import FitData, GivenTable, Log
from shallowrules.fitting.describing import LabelledRows
from shallowrules.fitting.earlier import clustering_of
from shallowrules.fitting.growing import (
    from_the_table,
    objectives_of,
    over_the_table,
    renumbered,
    seed_of,
    thorough_of,
)
from shallowrules.fitting.keeping import Region, divide, join, kept_cuts, regions_of
from shallowrules.measures.metrics import cost_around_means, exact_sums, partition_cost
from shallowrules.measures.summation import GroupSums, SumGrid, WeightFacts, group_means
from shallowrules.partitions.merging import as_given, at_once
from shallowrules.rules import Clustering, RuleSet
from shallowrules.rules.words.changes import count_pairs
from shallowrules.tables.table import Column, Table
from shallowrules.trees import growing
from shallowrules.trees.coded_table import Coded, code_rows, is_coded_beside
from shallowrules.trees.extending import extend, price_more
from shallowrules.trees.grown_tree import CutTree, GrownTree, Objectives, join_leaves, renumber_centers, with_rows
from shallowrules.trees.growth_data import GrowthData, UniqueRows, find_unique_rows
from shallowrules.trees.progress import Progress, part_of
from shallowrules.trees.refining import refine
from shallowrules.trees.rounding import round_thresholds
from shallowrules.trees.row_samples import RowSample
from shallowrules.trees.thorough import Thorough, note_of
from shallowrules.trees.tree import LEAF, Tree

__all__ = ["CountedRows", "Explained", "TableData"]


@dataclass(frozen=True, eq=False)
class TableData(FitData):
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
        What is added up by cluster.
    """

    given: GivenTable
    encoding: Encoding
    clusterer: Any
    weight: NDArray[np.float64] | None
    fit_weight: NDArray[np.float64] | None
    measure: Column | None = None

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
            _grow_region(self, region, tradeoffs, part_of(progress, i, len(regions)), log, tell_best)
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

    def costs(self, grown: GrownTree) -> tuple[float, float]:
        """Return the k-means cost of a tree's partition and that of the clustering."""
        encoding, weight = self.encoding, self.fit_weight
        labels = grown.labels if weight is None else np.maximum(grown.labels, 0)  # of weight 0, they do not count
        cost = partition_cost(encoding.X_cluster, labels, weight, self.parameters.n_threads, encoding.cluster_ranges)
        return cost, self.reference_cost

    def routed(self, tree: CutTree) -> GrownTree:
        """Return a tree over the model columns with the rows that its cuts send to each node."""
        leaf_of = tree.route(self.encoding.matrix, self.parameters.n_threads)
        if self.fit_weight is not None:
            leaf_of[self.fit_weight == 0] = LEAF
        return with_rows(tree, leaf_of, self.fit_weight)

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

    @cached_property
    def _counted_rows(self) -> tuple[CountedRows, SumGrid]:
        """The rows that count, and the grid of their sums."""
        rows = CountedRows.of(self.encoding.matrix, self.encoding.X_cluster, self.fit_weight)
        if self.reference_sums is not None:
            return rows, self.reference_sums.grid
        ranges = column_ranges(rows.X_cluster, self.parameters.n_threads)
        return rows, SumGrid.of(ranges, WeightFacts.of(rows.weight, len(rows.matrix)))

    def rounded(self, grown: GrownTree, objectives: Objectives) -> GrownTree:
        """Return a tree with rounder thresholds, and the labels that rows get."""
        rows, grid = self._counted_rows
        here, n_threads, weight = replace(rows, leaves={}), self.parameters.n_threads, self.fit_weight
        found = round_thresholds(
            grown,
            self.encoder,
            self.table,
            grid,
            at_once(here),
            objectives,
            within=self.parameters.round_within,
            n_threads=n_threads,
        )
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
        return price_more(
            over.tree(grown),
            over.unique,
            max_leaves=max_leaves,
            tradeoff=tradeoff,
            reference_cost=over.rows.reference_cost,
            n_threads=self.parameters.n_threads,
        )

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


def _grow_region(
    data: TableData,
    region: Region,
    tradeoffs: Sequence[float],
    progress: Progress | None,
    log: Log,
    tell_best: Callable[[float], None] | None,
) -> list[tuple[GrownTree, ...]]:
    """Grow the trees that explain the centers of a region; labels are those of its rows."""
    encoding, reference, parameters = data.encoding, data.reference, data.parameters
    method, n_threads, kept = parameters.method, parameters.n_threads, region.centers
    refines = (
        parameters.refine != "none" and method == "exshallow" and not reference.labelled and data.reference_cost > 0
    )
    with_imm = method == "imm" or (method == "exkmc" and parameters.base == "imm")
    rows = RegionRows.of(data, region)
    # For rows whose center is on the other side of a kept cut, take the nearest one on this side.
    assigned = renumbered(rows.labels, kept) if with_imm and region.rows is None else None
    unique = _unique_rows(data, region, rows, assigned)
    n_parts = 1 + refines * len(tradeoffs)
    first_part = part_of(progress, 0, n_parts)
    coded = None
    with ThreadPoolExecutor(1) as beside:
        if refines and is_coded_beside(unique, n_threads):
            coded = beside.submit(code_rows, unique, 1, with_codes=True)
        if len(tradeoffs) > 1:
            greedy = growing.grow_path(
                unique,
                tradeoffs,
                distances=_known_distances(data, region, unique),
                n_threads=n_threads,
                progress=first_part,
            )
        else:
            tree = growing.grow(
                unique,
                method=method,
                tradeoff=tradeoffs[0],
                max_leaves=parameters.max_leaves,
                base=parameters.base,
                distances=_known_distances(data, region, unique),
                n_threads=n_threads,
                progress=first_part,
            )
            greedy = [tree]
    by_model_column: dict[int, tuple[GrownTree, GrownTree]] = {}  # with the tree itself, whose id is the key
    grown = []
    for i, (tradeoff, tree) in enumerate(zip(tradeoffs, greedy, strict=True)):
        trees = [tree]
        if refines and tree.n_leaves == len(kept) > 1:
            thorough = thorough_of(parameters, len(kept), log, tell_best)
            part = part_of(progress, 1 + i, n_parts)
            trees.append(_refined(tree, unique, data, rows, kept, tradeoff, thorough, coded, log, part))
        takes_more = method == "exshallow" and parameters.max_leaves is not None and region.rows is None
        if takes_more and tree.n_leaves == len(kept):
            trees = [_extended(one, unique, data, rows, kept, tradeoff, log, searches=one is not tree) for one in trees]
        for one in trees:
            if id(one) not in by_model_column:
                by_model_column[id(one)] = one, over_the_table(renumber_centers(one, kept), encoding.encoder)
        grown.append(tuple(by_model_column[id(one)][1] for one in trees))
    return grown


def _unique_rows(
    data: TableData, region: Region, rows: RegionRows, assigned: NDArray[np.int32] | None = None
) -> UniqueRows:
    """Return the distinct rows of a region and its centers; `assigned` as for `find_unique_rows`."""
    encoding, reference, kept = data.encoding, data.reference, region.centers
    return find_unique_rows(
        GrowthData(
            rows.X_explain,
            rows.X_cluster,
            reference.explain_centers[kept],
            reference.centers[kept],
            rows.weight,
            encoding.explain_ranges,
            encoding.cluster_ranges,
            region.path_sides,
        ),
        assigned,
        data.parameters.n_threads,
    )


@dataclass(frozen=True, eq=False)
class RegionRows:
    """The rows of a region.

    Attributes
    ----------
    X_explain, X_cluster, weight
        As in `GrowthData`.
    labels : ndarray of int32
        Of the reference.
    reference_cost : float
        Its part of the cost of the reference, by weight: a condition then costs as much in refinement as in the whole
        table.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64] | None
    labels: NDArray[np.int32]
    reference_cost: float

    @classmethod
    def of(cls, data: TableData, region: Region) -> RegionRows:
        """Return the rows of a region of a table."""
        encoding, weight, labels = data.encoding, data.fit_weight, data.reference.labels
        if region.rows is None:
            return cls(encoding.X_explain, encoding.X_cluster, weight, labels, data.reference_cost)
        rows = region.rows
        share = len(rows) / len(labels) if weight is None else float(weight[rows].sum() / weight.sum())
        X_explain = encoding.X_explain[rows]
        X_cluster = X_explain if encoding.X_cluster is encoding.X_explain else encoding.X_cluster[rows]
        return cls(
            X_explain, X_cluster, None if weight is None else weight[rows], labels[rows], data.reference_cost * share
        )


def _known_distances(data: TableData, region: Region, unique: UniqueRows) -> NDArray[np.float64] | None:
    """Return the distances from finding the nearest centers, if they are those of a region's rows and centers."""
    held = data.reference.distances
    distances = None if held is None else held.take()
    is_whole = region.rows is None and unique.group is None and len(region.centers) == len(data.reference.centers)
    return distances if is_whole else None


def _refined(
    tree: GrownTree,
    unique: UniqueRows,
    data: TableData,
    rows: RegionRows,
    kept: NDArray[np.integer],
    tradeoff: float,
    thorough: Thorough | None,
    coded: Future[Coded] | None,
    log: Log,
    progress: Progress | None,
) -> GrownTree:
    """Return a refined tree; the greedy one if an interrupt ends a thorough search before there is another."""
    parameters = data.parameters
    try:
        refinement = refine(
            tree,
            unique,
            tradeoff=tradeoff,
            reference_cost=rows.reference_cost,
            reference_labels=renumbered(rows.labels, kept),
            random_seed=seed_of(parameters.random_state),
            thorough=thorough,
            coded=coded,
            n_threads=parameters.n_threads,
            progress=progress,
        )
    except KeyboardInterrupt:
        if thorough is None:
            raise
        return replace(tree, notes=(note_of(0, interrupted=True),))
    if refinement is None:
        return tree
    log(refinement.summary())
    return refinement.tree


def _extended(
    tree: GrownTree,
    unique: UniqueRows,
    data: TableData,
    rows: RegionRows,
    kept: NDArray[np.integer],
    tradeoff: float,
    log: Log,
    *,
    searches: bool,
) -> GrownTree:
    """Return a tree of at most `max_leaves` leaves whose J' is lower, or the tree itself."""
    parameters = data.parameters
    assert parameters.max_leaves is not None
    try:
        extended = extend(
            tree,
            unique,
            max_leaves=parameters.max_leaves,
            tradeoff=tradeoff,
            reference_cost=rows.reference_cost,
            reference_labels=renumbered(rows.labels, kept),
            random_seed=seed_of(parameters.random_state),
            searches=searches,
            n_threads=parameters.n_threads,
        )
    except KeyboardInterrupt:
        if parameters.refine != "thorough":
            raise
        return tree  # the best one so far
    if extended is not tree and extended.objectives is not None:
        before, after = extended.objectives.bound, extended.objectives.own
        log(f"{counted(extended.n_leaves, 'rule')} in place of {tree.n_leaves}: J {before:.4f} -> {after:.4f}")
    return extended


@dataclass(frozen=True, eq=False)
class Explained:
    """A table and its clustering as needed for a search that continues from grown trees."""

    data: TableData
    rows: RegionRows
    unique: UniqueRows

    @classmethod
    def of(cls, data: TableData) -> Explained:
        """Return the table and its clustering, as needed."""
        region = Region(None, data.kept_centers.astype(np.intp))
        rows = RegionRows.of(data, region)
        return cls(data, rows, _unique_rows(data, region, rows))

    def tree(self, grown: GrownTree) -> GrownTree:
        """Return a tree whose features are those that rules may test and whose centers are the kept ones."""
        return from_the_table(grown, self.data.encoding.encoder, self.data.kept_centers)

"""A table in parts as a fit works on it: trees grown, rounded and measured, by passes over the parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.centers import Grids, means_of_clusters, reference_labels
from shallowrules.clustering.nearest import nearest_labels
from shallowrules.encoding import Encoder
from shallowrules.encoding.rows import Encode, RowEncoder
from shallowrules.fitting.assembling import separation_of
from shallowrules.fitting.data import FitData, Log
from shallowrules.fitting.describing import TreeFigures, numbers_of
from shallowrules.fitting.earlier import clustering_of
from shallowrules.fitting.growing import from_the_table, over_the_table, settings_of, thorough_of
from shallowrules.fitting.imputing import imputation_notes
from shallowrules.fitting.measuring import (
    Counting,
    TreeOnParts,
    costs_of,
    costs_of_grown,
    count_tree,
    standings_of,
)
from shallowrules.fitting.stored_rows import stored_rows
from shallowrules.fitting.survey import Survey
from shallowrules.measures.metrics import partition_cost
from shallowrules.partitions import Part, Partitions
from shallowrules.partitions.merging import Added
from shallowrules.rules import Clustering, RuleSet
from shallowrules.rules.words.changes import PairCounts, count_pairs
from shallowrules.tables.table import Table
from shallowrules.trees.extending import extend
from shallowrules.trees.grown_tree import CutTree, GrownTree, Objectives, count_leaves, renumber_centers, summed_up
from shallowrules.trees.growth_data import ExplainedRows, UniqueRows
from shallowrules.trees.moved_rows import RoundedRows
from shallowrules.trees.parts.growing import PartsGrowthData, grow_parts
from shallowrules.trees.parts.refining import ExplainedParts, PartsReference, extend_parts, price_parts, refine_parts
from shallowrules.trees.progress import Progress, part_of
from shallowrules.trees.refining import refine
from shallowrules.trees.rounding import SummedRows, round_thresholds
from shallowrules.trees.row_samples import RowSample
from shallowrules.trees.tree import Tree

__all__ = ["PartsData"]


@dataclass(frozen=True, eq=False)
class PartsData(FitData):
    """A table in parts that is read and clustered.

    Parameters
    ----------
    parts : Partitions
    rows : RowEncoder
    facts : Survey
    head : Table
        With the ends and categories of the rows that count.
    grids : Grids
    sums : Added
        The result of `sum_reference` for the clustering.
    row_bytes : int
        Size of the numbers of a row.
    collected_rows : int
        Rows that may be collected.
    """

    parts: Partitions
    rows: RowEncoder
    facts: Survey
    head: Table
    grids: Grids
    sums: Added
    row_bytes: int
    collected_rows: int

    @property
    def encoder(self) -> Encoder:
        """The encoder of the model columns."""
        return self.rows.encoder

    @property
    def table(self) -> Table:
        """A small table with the ends and categories of the rows that count."""
        return self.head

    @property
    def weighted(self) -> bool:
        """Whether there is a column of weights."""
        return self.rows.roles.weight is not None

    @property
    def left_out(self) -> int:
        """Number of rows of positive weight without a label."""
        return self.facts.unlabelled

    @property
    def separation(self) -> Mapping[int, float]:
        """The share of each raw column in the separation of the clusters."""
        return separation_of(self.encoder, self._means, self.sums["weight"])

    @property
    def clustering(self) -> Clustering:
        """The clustering and its space."""
        return clustering_of(self.encoder, self.parameters.scale, self.reference.centers)

    @cached_property
    def _means(self) -> NDArray[np.float64]:
        """The means of the clusters, NaN for one without rows."""
        return means_of_clusters(self.grids.cluster, self.sums, "cluster")

    @property
    def used_centers(self) -> NDArray[np.integer]:
        """The centers that rows are nearest to."""
        return np.flatnonzero(self.sums["rows"])

    def grown_for(
        self,
        kept: NDArray[np.integer],
        tradeoffs: Sequence[float],
        progress: Progress | None,
        log: Log,
        tell_best: Callable[[float], None] | None,
    ) -> list[tuple[GrownTree, ...]]:
        """Return the trees for the kept centers, each trade-off by separate passes."""
        found = []
        for i, tradeoff in enumerate(tradeoffs):
            growing = _Growing(
                self, kept.astype(np.intp), tradeoff, part_of(progress, i, len(tradeoffs)), log, tell_best
            )
            found.append(growing.run())
        return found

    def costs(self, grown: GrownTree) -> tuple[float, float]:
        """Return the k-means cost of a tree's partition and that of the clustering, by two passes."""
        centers = self.reference.centers
        return costs_of_grown(self.parts, self.rows, grown, self.head, self.grids, centers, self.sums)

    def routed(self, tree: CutTree) -> GrownTree:
        """Return a tree over the model columns with the rows that its cuts send to each node, by a pass."""
        found = self.parts.map_reduce(_route_part, (self.rows, tree))
        return summed_up(tree, found["rows"], found["weight"], np.zeros(0, np.int32))

    def count_pairs(self, earlier: RuleSet, rules: RuleSet | None) -> Counter[tuple[int, int]]:
        """Count rows by pair of clusters: by the earlier rules, and by `rules` or, without these, by the clustering."""
        return Counter(self.parts.map_reduce(_pairs_part, (self.rows, earlier, rules or self.reference.centers)).values)

    def sample(self) -> RowSample:
        """Return distinct rows, or some of them if there are many."""
        return RowSample.of(self.parts.map_reduce, self.rows, len(self.encoder.columns))

    def rounded(self, grown: GrownTree, objectives: Objectives) -> GrownTree:
        """Return a tree with rounder thresholds."""

        def run(function: Callable[[RoundedRows, Any], Any], state: Any) -> Any:
            return self.parts.map_reduce(_on_part, (self.rows, function, state))

        rows, within = SummedRows(run, self.grids.cluster, in_parts=True), self.parameters.round_within
        return round_thresholds(grown, self.encoder, self.head, rows, objectives, within=within)

    def prices(self, grown: GrownTree, max_leaves: int, tradeoff: float) -> Sequence[float]:
        """Return the normalized cost of a tree, with one more leaf, with two more."""
        kept = self.kept_centers.astype(np.intp)
        tree = from_the_table(grown, self.encoder, kept)
        return price_parts(tree, self.explained(kept), settings_of(self.parameters, tradeoff), max_leaves)

    def explained(self, kept: NDArray[np.intp]) -> ExplainedParts:
        """Return the table and its clustering as a tree of some of its centers explains it."""
        reference = self.reference
        of_kept = PartsReference(
            reference.centers, kept, reference.explain_centers[kept], self._means, self.sums["weight"]
        )
        return ExplainedParts(self.parts, self.rows, of_kept)

    def rows_of(self, tree: Tree, encoder: Encoder, grown: GrownTree) -> LabelledParts:
        """Return the rows in the clusters of a tree, counted when they are measured."""
        rows = replace(self.rows, encoder=encoder)
        table = self.facts.head(self.parts, rows.roles, encoder.imputed, counted_only=False)
        return LabelledParts(self, rows, tree, table)


@dataclass(frozen=True, eq=False)
class LabelledParts:
    """The rows of a table in parts in the clusters that a tree gives them, as `TreeRows`.

    Parameters
    ----------
    data : PartsData
    rows : RowEncoder
        Gives the columns that the tree is over.
    tree : Tree
    table : Table
        With the ends and categories of all rows.
    """

    data: PartsData
    rows: RowEncoder
    tree: Tree
    table: Table
    labels: None = None

    @property
    def encoder(self) -> Encoder:
        """The encoder of the tree's columns."""
        return self.rows.encoder

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.data.facts.rows

    @property
    def measure_name(self) -> str | None:
        """The column that is added up by cluster."""
        return self.rows.roles.measure

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on missing values that were imputed."""
        data = self.data
        return imputation_notes(data.facts, self.rows.roles, self.encoder.imputed, data.parts.types)

    def ends(self) -> dict[int, Sequence[float]]:
        """Return the ends of each column of numbers."""
        return {i: column.ends for i, column in enumerate(self.table.columns) if column.is_numeric}

    def complete(self) -> Collection[int]:
        """Return the positions of the columns of numbers: none lacks a value."""
        return self.ends()

    def measure(self, counting: Counting) -> TreeFigures:
        """Return the counts, means and costs, by two passes."""
        data, grids = self.data, self.data.grids
        on = TreeOnParts(self.rows, self.tree, data.reference.centers, grids, counting)
        counts = count_tree(data.parts, on)
        means = means_of_clusters(grids.matrix, counts, "matrix")
        if np.isnan(means).any():  # clusters without rows
            one_matrix = not self.encoder.explain_positions
            centers = (
                data.reference.explain_centers if one_matrix else means_of_clusters(grids.matrix, data.sums, "matrix")
            )
            means = np.where(np.isnan(means), centers, means)
        return TreeFigures(
            counts.arrays,
            means,
            means_of_clusters(grids.cluster, counts, "cluster"),
            numbers_of(self.encoder, means),
            costs_of(data.parts, on, counts, data.sums),
            standings_of(counts.arrays, counting),
        )


@dataclass(frozen=True, eq=False)
class _Growing:
    """The arguments for growing the trees of a trade-off; `kept` are the centers that they explain."""

    data: PartsData
    kept: NDArray[np.intp]
    tradeoff: float
    progress: Progress | None
    log: Log
    tell_best: Callable[[float], None] | None

    def run(self) -> tuple[GrownTree, ...]:
        """Return the greedy tree, and after it the refined one, if there is one."""
        tree, unique = self._greedy()
        trees = [tree]
        if self._refines and tree.n_leaves == len(self.kept) > 1:
            trees.append(self._refined(tree, unique))
        trees[-1] = self._extended(trees[-1], tree, unique)
        return tuple(self._over_the_table(each) for each in trees)

    def _over_the_table(self, tree: GrownTree) -> GrownTree:
        tree = renumber_centers(replace(tree, labels=np.empty(0, dtype=np.int32)), self.kept)
        return over_the_table(tree, self.data.encoder)

    @property
    def _refines(self) -> bool:
        parameters = self.data.parameters
        return parameters.refine != "none" and parameters.method == "exshallow" and not self.data.reference.labelled

    def _table(self) -> AbstractContextManager[tuple[Partitions, Encode]]:
        """Return the table for the passes that grow a tree."""
        data = self.data
        if data.facts.counted <= data.collected_rows:  # there is a single pass
            return nullcontext((data.parts, data.rows))
        return stored_rows(data.parts, data.rows, data.facts.counted * data.row_bytes)

    def _greedy(self) -> tuple[GrownTree, UniqueRows | None]:
        data, reference, parameters = self.data, self.data.reference, self.data.parameters
        with self._table() as (parts, encode):
            explain_centers, centers = reference.explain_centers[self.kept], reference.centers[self.kept]
            return grow_parts(
                PartsGrowthData(parts, encode, explain_centers, centers, data.facts.counted),
                collected_rows=data.collected_rows,
                method=parameters.method,
                tradeoff=self.tradeoff,
                n_threads=parameters.n_threads,
                progress=part_of(self.progress, 0, 1 + self._refines),
                log=self.log,
            )

    def _refined(self, tree: GrownTree, unique: UniqueRows | None) -> GrownTree:
        """Return a refined tree, the greedy one if the clustering costs nothing."""
        data, parameters = self.data, self.data.parameters
        settings, progress = settings_of(parameters, self.tradeoff), part_of(self.progress, 1, 2)
        thorough = thorough_of(parameters, len(self.kept), self.log, self.tell_best)
        if unique is None:
            table = data.explained(self.kept)
            refinement = refine_parts(tree, table, settings, thorough=thorough, progress=progress)
        else:
            refinement = refine(tree, self._explained(unique), settings, thorough=thorough, progress=progress)
        if refinement is None:
            return tree
        self.log(refinement.summary())
        return refinement.tree

    def _extended(self, tree: GrownTree, greedy: GrownTree, unique: UniqueRows | None) -> GrownTree:
        """Return a tree of at most `max_leaves` leaves, if that is given."""
        data, parameters = self.data, self.data.parameters
        if parameters.method != "exshallow" or parameters.max_leaves is None or tree.n_leaves < len(self.kept):
            return tree
        settings, searches = settings_of(parameters, self.tradeoff), tree is not greedy
        if unique is None:
            table = data.explained(self.kept)
            return extend_parts(tree, table, settings, max_leaves=parameters.max_leaves, searches=searches)
        rows = self._explained(unique)
        return extend(tree, rows, settings, max_leaves=parameters.max_leaves, searches=searches)

    def _explained(self, unique: UniqueRows) -> ExplainedRows:
        """Return rows that are in memory with their clustering."""
        rows, centers, n_threads = unique.data, self.data.reference.centers, self.data.parameters.n_threads
        labels = nearest_labels(rows.X_cluster, centers, n_threads)
        cost = partition_cost(rows.X_cluster, labels, rows.weight, n_threads)
        place = np.zeros(len(centers), dtype=np.int32)
        place[self.kept] = np.arange(len(self.kept))
        return ExplainedRows(unique, cost, place[labels])


def _route_part(part: Part, state: tuple[RowEncoder, CutTree]) -> Added:
    encode, tree = state
    rows = encode(part)
    counts, weight = count_leaves(tree, tree.route(rows.matrix, 1), rows.weight)
    return Added({"rows": counts, "weight": weight})


def _pairs_part(part: Part, state: tuple[RowEncoder, RuleSet, RuleSet | NDArray[np.float64]]) -> PairCounts:
    encode, earlier, other = state
    counted = encode.roles.counted(part)
    before = earlier.assign(part) if counted is None else earlier.assign(part)[counted]
    if isinstance(other, RuleSet):
        now = other.assign(part) if counted is None else other.assign(part)[counted]
    else:
        now = reference_labels(encode(part), other)
    return PairCounts(count_pairs(before, now))


def _on_part(part: Part, state: tuple[RowEncoder, Callable[[RoundedRows, Any], Any], Any]) -> Any:
    rows, function, given = state
    return function(rows(part), given)

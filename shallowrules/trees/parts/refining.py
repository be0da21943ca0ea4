"""Refining over parts: trees are searched for on some rows of the table, and judged on all of them.

As `shallowrules.trees.refining` does with a large table: the rows of the search are those of the lowest keys in each
cluster of the greedy tree, which do not depend on the division into parts, and sums over all rows are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import row_keys
from shallowrules.clustering.centers import reference_labels
from shallowrules.encoding.rows import RowEncoder
from shallowrules.measures.summation import ExactSums
from shallowrules.partitions import Part, Partitions
from shallowrules.trees.candidates import TIE, Candidate, SearchObjective, SearchSettings, different
from shallowrules.trees.coded_samples import broad_sizes, highest_keys, sample_of, sampled
from shallowrules.trees.coded_table import CodedTable, key_order
from shallowrules.trees.extending import MAX_JUDGED, found_on
from shallowrules.trees.grown_tree import CutTree, GrownTree, Objectives
from shallowrules.trees.growth_data import GrowthData
from shallowrules.trees.lookahead import SearchTask, leaf_means
from shallowrules.trees.parts.leaf_sums import with_leaf_sums
from shallowrules.trees.progress import Progress
from shallowrules.trees.refining import Refinement, numbered, refinement_of
from shallowrules.trees.searching import Search, objective_of
from shallowrules.trees.thorough import Thorough
from shallowrules.trees.tree import explanation_sizes

__all__ = ["ExplainedParts", "PartsReference", "extend_parts", "price_parts", "refine_parts"]


@dataclass(frozen=True, eq=False)
class PartsReference:
    """The clustering that a tree over parts explains.

    Parameters
    ----------
    centers : ndarray of float64, shape (n_centers, m)
        Those that rows are nearest to.
    kept : ndarray of int, shape (k,)
        The centers that the tree explains; others have no rows.
    explain_centers : ndarray of float64, shape (k, d)
        The kept ones in the columns that rules may test.
    means : ndarray of float64, shape (n_centers, m)
        Of the rows nearest to each.
    weight : ndarray of float64, shape (n_centers,)
    """

    centers: NDArray[np.float64]
    kept: NDArray[np.intp]
    explain_centers: NDArray[np.float64]
    means: NDArray[np.float64]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExplainedParts:
    """A table in parts, and the clustering that trees over it are measured against, as `ExplainedRows`."""

    parts: Partitions
    encode: RowEncoder
    reference: PartsReference


def refine_parts(
    tree: GrownTree,
    table: ExplainedParts,
    settings: SearchSettings,
    *,
    thorough: Thorough | None = None,
    progress: Progress | None = None,
) -> Refinement | None:
    """Find a tree of lower J than the greedy one, as `refining.refine` does with a large table.

    Parameters
    ----------
    tree : GrownTree
        The greedy tree, with a leaf for each kept center.
    table : ExplainedParts
    settings, thorough, progress
        As for `refining.refine`.

    Returns
    -------
    Refinement or None
        Its J over all rows is never above that of `tree`. None if the clustering costs nothing.
    """
    on, reference = _Broad.of(tree, table, settings), table.reference
    if on is None:
        return None
    aim, broad, total = on.aim, on.rows, on.aim.weight
    coded = broad.coded
    data = GrowthData(coded.X_explain, coded.X_cluster, reference.explain_centers, reference.centers[reference.kept])
    search = Search(SearchTask(tree, data, aim), int(tree.rows[0]), settings.random_seed, thorough, progress)
    outcome = search.finalists(broad)
    greedy, *finalists = _judged(table, broad, [tree, *(one.tree for one in outcome.found)])
    best = search.choose([one.found for one in finalists], greedy.found)
    for one in finalists:
        if one.found is best:
            tree = numbered(with_leaf_sums(table.parts, table.encode, one.found.tree), one.shared)
    return refinement_of(outcome, tree, greedy.found, best, aim, total)


def extend_parts(
    tree: GrownTree,
    table: ExplainedParts,
    settings: SearchSettings,
    *,
    max_leaves: int,
    searches: bool,
    progress: Progress | None = None,
) -> GrownTree:
    """Return a tree of at most `max_leaves` leaves whose J' is lower, or the tree itself, as `extending.extend` does.

    Parameters are those of `refine_parts` and of `extending.extend`.
    """
    on, k = _Broad.of(tree, table, settings), len(table.reference.kept)
    if on is None or max_leaves <= k:
        return tree
    aim = replace(on.aim, n_clusters=k)
    found = found_on(tree, on.rows, aim, max_leaves, settings.random_seed, searches=searches, progress=progress)
    trees = [tree, *(one.tree for one in different(found, aim)[:MAX_JUDGED])]
    own, *others = _judged(table, on.rows, trees)
    best = min([own, *others], key=lambda one: aim.objective(one.found))
    after, before = (aim.objective(one.found) / aim.unit for one in (best, own))
    if after >= before * (1 - TIE):
        return tree
    extended = numbered(with_leaf_sums(table.parts, table.encode, best.found.tree), best.shared)
    objectives = Objectives(after, before, aim.reference_cost, settings.tradeoff)
    return replace(extended, notes=tree.notes, objectives=objectives)


def price_parts(tree: GrownTree, table: ExplainedParts, settings: SearchSettings, max_leaves: int) -> list[float]:
    """Return the normalized cost of a tree, with one more leaf, with two more, as `extending.price_more` does."""
    on = _Broad.of(tree, table, settings)
    if on is None:
        return []
    found = sample_of(on.rows).split(tree, replace(on.aim, n_clusters=len(table.reference.kept)), max_leaves)
    judged = _judged(table, on.rows, [tree, *(one.tree for one in found)])
    return [one.found.figures[0] / on.aim.unit for one in judged]


# The rows for the search ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Broad:
    """The rows for the search, and its objective."""

    rows: CodedTable
    aim: SearchObjective

    @classmethod
    def of(cls, tree: GrownTree, table: ExplainedParts, settings: SearchSettings) -> _Broad | None:
        """Examine all parts; None if the clustering costs nothing."""
        reference, k, leaves = table.reference, len(table.reference.kept), tree.leaves
        counts, weights = (
            np.bincount(tree.center[leaves], of_node[leaves], k).astype(np.float64)
            for of_node in (tree.rows, tree.weight)
        )
        found = _look(table, tree, counts.astype(np.int64), weights)
        total = float(weights.sum())
        aim = objective_of(settings.tradeoff, found.squares.cost(reference.weight), total, total, k)
        return cls(found.lowest.table(weights, settings.n_threads), aim) if aim.unit > 0 else None


@dataclass(frozen=True, eq=False)
class BottomKSample:
    """The distinct rows of the lowest keys in each cluster, by cluster and key, with the weight of all equal rows.

    Parameters
    ----------
    sizes : ndarray of int64, shape (k,)
        How many of each cluster, at most.
    """

    sizes: NDArray[np.int64]
    labels: NDArray[np.int32]
    keys: NDArray[np.uint64]
    X_explain: NDArray[Any]
    X_cluster: NDArray[Any] | None
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        sizes: NDArray[np.int64],
        labels: NDArray[np.int32],
        keys: NDArray[np.uint64],
        X_explain: NDArray[Any],
        X_cluster: NDArray[Any] | None,
        weight: NDArray[np.float64],
    ) -> BottomKSample:
        """Return the lowest-key rows among some rows; `X_cluster` is None where there is one space."""
        order = key_order(keys, X_explain, np.arange(len(keys)), labels)
        labels, keys, X_explain = labels[order], keys[order], X_explain[order]
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = (
            (labels[1:] != labels[:-1]) | (keys[1:] != keys[:-1]) | (X_explain[1:] != X_explain[:-1]).any(axis=1)
        )
        first = np.flatnonzero(is_new)
        weight = np.add.reduceat(weight[order], first) if len(first) else weight
        ends = np.searchsorted(labels[first], np.arange(len(sizes)), side="left")
        is_low = np.arange(len(first)) - ends[labels[first]] < sizes[labels[first]]
        low = first[is_low]
        cluster = None if X_cluster is None else X_cluster[order[low]]
        return cls(sizes, labels[low], keys[low], X_explain[low], cluster, weight[is_low])

    def merged(self, other: BottomKSample) -> BottomKSample:
        """Return the lowest-key rows among those of both parts."""
        X_cluster = None
        if self.X_cluster is not None and other.X_cluster is not None:
            X_cluster = np.concatenate([self.X_cluster, other.X_cluster])
        return BottomKSample.of(
            self.sizes,
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.X_explain, other.X_explain]),
            X_cluster,
            np.concatenate([self.weight, other.weight]),
        )

    def table(self, weights: NDArray[np.float64], n_threads: int) -> CodedTable:
        """Return the rows as a table in which the clusters have these weights."""
        X_explain = np.ascontiguousarray(self.X_explain)
        X_cluster = X_explain if self.X_cluster is None else np.ascontiguousarray(self.X_cluster)
        return sampled(X_explain, X_cluster, self.keys, self.labels, self.weight, weights, n_threads)


@dataclass(frozen=True, eq=False)
class Squares:
    """Sums of squares of rows around a point for each of some groups, and of the differences from it, both exact.

    Parameters
    ----------
    squares : ExactSums
        By group.
    gaps : ExactSums
        By group and column.
    """

    squares: ExactSums
    gaps: ExactSums

    @classmethod
    def of(
        cls,
        X: NDArray[Any],
        labels: NDArray[np.integer],
        around: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
    ) -> Squares:
        """Return the sums of some rows; `around` has a point near the mean of each group, shape (k, m)."""
        k, m = around.shape
        squares = np.zeros(len(X))
        gaps = ExactSums((0,) * (k * m))
        for j in range(m):  # column by column, so that a row's sum does not depend on its neighbors
            gap = X[:, j] - around[labels, j]
            squares += gap * gap
            gaps = gaps.merged(ExactSums.of(gap if weight is None else gap * weight, labels * m + j, k * m))
        return cls(ExactSums.of(squares if weight is None else squares * weight, labels, k), gaps)

    def merged(self, other: Squares) -> Squares:
        """Return the sums of both parts."""
        return Squares(self.squares.merged(other.squares), self.gaps.merged(other.gaps))

    def cost(self, weight: NDArray[np.float64]) -> float:
        """Return the squares around the means of the groups, whose weights these are."""
        excess = self.gaps.rounded().reshape(len(weight), -1)
        total = ExactSums((sum(self.squares.units),)).rounded()[0]
        return max(float(total - (excess / np.where(weight > 0, weight, 1.0)[:, None] * excess).sum()), 0.0)


@dataclass(frozen=True, eq=False)
class SurveyResult:
    """The rows for the search, and the squares around the means of the clustering."""

    lowest: BottomKSample
    squares: Squares

    def merged(self, other: SurveyResult) -> SurveyResult:
        """Return the rows and squares of both parts."""
        return SurveyResult(self.lowest.merged(other.lowest), self.squares.merged(other.squares))


def _look(
    table: ExplainedParts, tree: CutTree, counts: NDArray[np.int64], weights: NDArray[np.float64]
) -> SurveyResult:
    """Return the rows for the search; in one pass, or in two where many rows are equal."""
    sizes = np.minimum(broad_sizes(weights), counts)
    highest = highest_keys(sizes, counts)
    found: SurveyResult = table.parts.map_reduce(_look_part, (table.encode, tree, table.reference, sizes, highest))
    n_found = np.bincount(found.lowest.labels, minlength=len(sizes))
    any_key = np.uint64(np.iinfo(np.uint64).max)
    short = (n_found < sizes) & (highest < any_key)
    if not short.any():
        return found
    highest = np.where(short, any_key, highest)
    again: SurveyResult = table.parts.map_reduce(_look_part, (table.encode, tree, table.reference, sizes, highest))
    return again


def _look_part(
    part: Part, state: tuple[RowEncoder, CutTree, PartsReference, NDArray[np.int64], NDArray[np.uint64]]
) -> SurveyResult:
    encode, tree, reference, sizes, highest = state
    rows = encode(part)
    labels = tree.center[tree.route(rows.X_explain, 1)]
    keys = row_keys(rows.X_cluster, np.arange(len(labels), dtype=np.int32))
    low = np.flatnonzero(keys <= highest[labels])
    weight = np.ones(len(labels)) if rows.weight is None else rows.weight
    X_cluster = None if rows.X_cluster is rows.X_explain else rows.X_cluster[low]
    lowest = BottomKSample.of(sizes, labels[low], keys[low], rows.X_explain[low], X_cluster, weight[low])
    clusters = reference_labels(rows, reference.centers)
    return SurveyResult(lowest, Squares.of(rows.X_cluster, clusters, reference.means, rows.weight))


# Trees judged on all rows --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgedTree:
    """A tree with its figures on all rows.

    Parameters
    ----------
    found : Candidate
    shared : ndarray of float64, shape (k, k)
        The weight that each leaf, by its center, shares with each cluster of the reference.
    """

    found: Candidate
    shared: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeSums:
    """Sums for some trees: squares by center, and the weight that each leaf shares with each cluster."""

    squares: tuple[Squares, ...]
    shared: tuple[NDArray[np.float64], ...]

    def merged(self, other: TreeSums) -> TreeSums:
        """Return the sums of both parts."""
        return TreeSums(
            tuple(one.merged(another) for one, another in zip(self.squares, other.squares, strict=True)),
            tuple(one + another for one, another in zip(self.shared, other.shared, strict=True)),
        )


def _judged(table: ExplainedParts, broad: CodedTable, trees: Sequence[CutTree]) -> list[JudgedTree]:
    """Return trees with their figures on all rows, in one pass."""
    k = len(table.reference.kept)
    means = [leaf_means(broad, tree, k)[1] for tree in trees]
    found: TreeSums = table.parts.map_reduce(_judge_part, (table.encode, table.reference, list(trees), means))
    judged = []
    for tree, squares, of_leaves in zip(trees, found.squares, found.shared, strict=True):
        shared = np.zeros((k, k))
        np.add.at(shared, tree.center[tree.leaves], of_leaves)
        sizes = explanation_sizes(tree.feature, tree.left, tree.right)[tree.leaves]
        conditions = float((of_leaves.sum(axis=1) * sizes).sum())
        judged.append(JudgedTree(Candidate(tree, (squares.cost(shared.sum(axis=1)), conditions), False), shared))
    return judged


def _judge_part(
    part: Part, state: tuple[RowEncoder, PartsReference, list[CutTree], list[NDArray[np.float64]]]
) -> TreeSums:
    encode, reference, trees, means = state
    rows, k = encode(part), len(reference.kept)
    place = np.zeros(len(reference.centers), dtype=np.intp)
    place[reference.kept] = np.arange(k)
    clusters = place[reference_labels(rows, reference.centers)]
    squares, shared = [], []
    for tree, around in zip(trees, means, strict=True):
        leaf = tree.route(rows.X_explain, 1)
        squares.append(Squares.of(rows.X_cluster, tree.center[leaf], around, rows.weight))
        pairs = np.searchsorted(tree.leaves, leaf) * k + clusters
        shared.append(np.bincount(pairs, rows.weight, tree.n_leaves * k).astype(np.float64).reshape(-1, k))
    return TreeSums(tuple(squares), tuple(shared))

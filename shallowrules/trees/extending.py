"""Extending: more rules than clusters, where that is worthwhile. A cluster is then the rows of several leaves.

The objective is ``J' = cost / reference cost + tradeoff * WAES``, as for other trees: the cost is that of the clusters
around their means, the length that of each row's own rule. It does not account for the extra reading that a cluster of
several rules takes.

Leaves of the finished tree are split, one part for a different cluster, where that lowers J' most. With half of the
new leaves, and with all, an iterated local search continues; likewise from the tree from the data alone, whose leaves
are merged to clusters by Ward's criterion. As in `refining`, trees are searched for on a sample and judged on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shallowrules.measures.summation import group_means
from shallowrules.trees.candidates import TIE, Candidate, SearchObjective, SearchSettings, different
from shallowrules.trees.coded_samples import MAX_IMPROVED_ROWS, few_of, sample_of
from shallowrules.trees.coded_table import CodedTable, code_rows, coded_table
from shallowrules.trees.data_tree import from_data
from shallowrules.trees.grown_tree import CutTree, GrownTree, Objectives
from shallowrules.trees.growth_data import ExplainedRows
from shallowrules.trees.progress import Progress, part_of, side_by_side
from shallowrules.trees.refining import WholeTable, finished
from shallowrules.trees.searching import objective_of
from shallowrules.trees.tree import LEAF

__all__ = ["MAX_JUDGED", "AllRows", "extend", "found_on", "merge_by_ward", "price_more"]

N_STREAMS = 2
"""Number of searches from each of the two starts, each with random numbers of its own."""
PASSES = 560.0
"""Visits of all rows of the sample by each search. With two thirds of it, trees of twice as many leaves gain 0.02% less
on the nine tables of benchmarks/quality.py, seeds 40 to 42, with a third 0.1% less in half of the time."""
MAX_JUDGED = 4
"""Trees from the sample that are judged on all rows."""


def extend(
    tree: GrownTree,
    rows: ExplainedRows,
    settings: SearchSettings,
    *,
    max_leaves: int,
    searches: bool = True,
    progress: Progress | None = None,
) -> GrownTree:
    """Return a tree of at most a given number of leaves whose J' is lower, or the tree itself if there is none.

    Parameters
    ----------
    tree : GrownTree
        With a leaf for each center.
    rows, settings, progress
        As for `shallowrules.trees.refining.refine`.
    max_leaves : int
    searches : bool
        Whether the search continues from the tree with its leaves cut.
    """
    every = AllRows.of(tree, rows, settings, n_clusters=rows.data.k)
    aim = every.aim
    if not aim.unit > 0 or max_leaves <= aim.n_clusters:
        return tree
    found = found_on(tree, every.broad, aim, max_leaves, settings.random_seed, searches=searches, progress=progress)
    [own] = every.measure([tree])
    best = min([own, *every.judge(found)], key=aim.objective)
    if aim.objective(best) >= aim.objective(own) * (1 - TIE):
        return tree
    best, extended = every.finish(best)
    after, before = (aim.objective(one) / aim.unit for one in (best, own))
    objectives = Objectives(after, before, aim.reference_cost, settings.tradeoff)
    return replace(extended, notes=tree.notes, objectives=objectives)


def price_more(tree: GrownTree, rows: ExplainedRows, settings: SearchSettings, max_leaves: int) -> list[float]:
    """Return the normalized cost of a tree, with one more leaf, with two more, and so on, by splitting leaves only.

    Parameters
    ----------
    tree, rows, settings, max_leaves
        As for `extend`.
    """
    every = AllRows.of(tree, rows, settings, n_clusters=rows.data.k)
    if not every.aim.unit > 0:
        return []
    found = sample_of(every.broad).split(tree, every.aim, max_leaves)
    return [one.figures[0] / every.aim.unit for one in every.measure([tree, *(one.tree for one in found)])]


@dataclass(frozen=True, eq=False)
class AllRows:
    """The rows of a table on which trees from a search are judged.

    Attributes
    ----------
    table : CodedTable
    broad : CodedTable
        The rows for the search: the same, or a sample of a large table.
    whole : WholeTable
        Where trees from some rows are judged.
    aim : SearchObjective
    reference_labels : ndarray of int32, shape (n_rows,)
        As in `ExplainedRows`.
    """

    table: CodedTable
    broad: CodedTable
    whole: WholeTable
    aim: SearchObjective
    reference_labels: NDArray[np.int32]

    @classmethod
    def of(cls, tree: GrownTree, rows: ExplainedRows, settings: SearchSettings, *, n_clusters: int) -> AllRows:
        """Return the rows of a table; the labels of `tree` decide which rows of a large one the search uses."""
        data, unique, n_threads, total = rows.data, rows.unique, settings.n_threads, rows.unique.total_weight
        by_part = len(unique.first) > MAX_IMPROVED_ROWS
        table = coded_table(code_rows(unique, n_threads, with_codes=not by_part), tree, n_threads)
        aim = objective_of(settings.tradeoff, rows.reference_cost, data.total_weight, total, data.k)
        whole = WholeTable(data, total / data.total_weight, n_threads)
        broad = few_of(table) if by_part else table
        return cls(table, broad, whole, replace(aim, n_clusters=n_clusters), rows.reference_labels)

    @property
    def is_large(self) -> bool:
        """Whether trees are searched for on some of the rows."""
        return self.broad is not self.table

    def measure(self, trees: Sequence[CutTree]) -> list[Candidate]:
        """Return trees with their figures on all rows."""
        if not self.is_large:
            return [self.table.measure(tree, self.aim) for tree in trees]
        return [self.whole.judge(tree) for tree in trees]

    def judge(self, found: list[Candidate]) -> list[Candidate]:
        """Return the trees found by a search with their figures on all rows; for a large table, only the best few."""
        if not self.is_large:
            return found
        return self.measure([one.tree for one in different(found, self.aim)[:MAX_JUDGED]])

    def finish(self, best: Candidate) -> tuple[Candidate, GrownTree]:
        """Return the chosen tree with its final figures, and as `finished` returns it."""
        best = best if self.is_large else self.table.measure(best.tree, self.aim)
        data, labels, n_threads = self.whole.data, self.reference_labels, self.whole.n_threads
        return best, finished(best, data, labels, has_gaps=not self.is_large, n_threads=n_threads)


def found_on(
    tree: CutTree,
    table: CodedTable,
    aim: SearchObjective,
    max_leaves: int,
    seed: int,
    *,
    searches: bool,
    progress: Progress | None,
) -> list[Candidate]:
    """Return trees of more leaves that were found on a sample, with the rows of a table.

    Parameters
    ----------
    tree : CutTree
        With a leaf for each cluster.
    table : CodedTable
    aim : SearchObjective
        Of clusters of several leaves.
    max_leaves, searches
        As for `extend`.
    seed : int
    progress : callable or None
    """
    sample = sample_of(table)
    max_leaves = min(max_leaves, len(sample.rows))
    found = sample.split(tree, aim, max_leaves, part_of(progress, 0, 3))
    if searches:
        half = found[: (max_leaves - aim.n_clusters + 1) // 2]
        middle = _stream(sample, half[-1].tree if half else tree, aim, (seed << 24) + (5 << 21), None)[0]
        grown = sample.split(middle.tree, aim, max_leaves)
        found.append(middle)
        starts = [grown[-1].tree if grown else middle.tree]
        merged = _merged_from_data(sample, aim, max_leaves)
        starts += [] if merged is None else [merged]
        streams = [
            partial(_stream, sample, start, aim, (seed << 24) + (1 << 22) + number)
            for number in range(N_STREAMS)
            for start in starts
        ]
        found += side_by_side(streams, sample.n_threads, part_of(progress, 1, 3))
    if sample is table:
        return found
    judged = [table.measure(one.tree, aim) for one in different(found, aim)[:MAX_JUDGED]]
    if searches and judged:
        judged.append(table.improve(min(judged, key=aim.objective).tree, aim, part_of(progress, 2, 3)))
    return judged


def _stream(
    sample: CodedTable, start: CutTree, aim: SearchObjective, seed: int, progress: Progress | None
) -> list[Candidate]:
    return sample.perturb(start, aim, seed, PASSES, progress)


def _merged_from_data(table: CodedTable, aim: SearchObjective, n_leaves: int) -> CutTree | None:
    """Return the tree from the data alone with `n_leaves` leaves, merged by Ward's criterion; None without one."""
    found = from_data(table, n_leaves, replace(aim, n_clusters=0))
    if not found:
        return None
    tree = found[0].tree
    leaf_of_rows = table.leaf_of_rows(tree)
    leaves = tree.leaves
    number = np.full(len(tree.feature), LEAF)
    number[leaves] = np.arange(len(leaves))
    groups = number[leaf_of_rows].astype(np.int32)
    weight = np.bincount(groups, table.weight, len(leaves)).astype(np.float64)
    points = table.coded.X_cluster[table.rows].astype(np.float64)
    clusters = merge_by_ward(group_means(points, groups, len(leaves), table.weight), weight, aim.n_clusters)
    center = np.full(len(tree.feature), LEAF, dtype=np.int32)
    center[leaves] = clusters
    return replace(tree, center=center)


def merge_by_ward(means: NDArray[np.float64], weight: NDArray[np.float64], n_clusters: int) -> NDArray[np.int32]:
    """Return the cluster of each of some groups of rows, merged two by two so that the cost rises least.

    Parameters
    ----------
    means : ndarray of float64, shape (n_groups, m)
    weight : ndarray of float64, shape (n_groups,)
        Positive.
    n_clusters : int
        At most n_groups.
    """
    means, weight = means.copy(), weight.copy()
    clusters = np.arange(len(means))
    alive = list(range(len(means)))
    while len(alive) > n_clusters:
        gaps = ((means[alive, None] - means[None, alive]) ** 2).sum(axis=2)
        w = weight[alive]
        rises = gaps * (w[:, None] * w) / (w[:, None] + w)
        rises[np.tril_indices(len(alive))] = np.inf
        i, j = (alive[place] for place in np.unravel_index(np.argmin(rises), rises.shape))
        means[i] = (weight[i] * means[i] + weight[j] * means[j]) / (weight[i] + weight[j])
        weight[i] += weight[j]
        clusters[clusters == j] = i
        alive.remove(j)
    return np.searchsorted(alive, clusters).astype(np.int32)

"""Lookahead trees: among several cuts of a node, the one whose finished subtree has the lowest J."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import (
    GrowthInput,
    grow_ahead,
)
from shallowrules.measures.summation import group_means
from shallowrules.trees.candidates import Candidate, SearchObjective
from shallowrules.trees.coded_samples import SAMPLE_ROWS, some_of
from shallowrules.trees.coded_table import CodedTable
from shallowrules.trees.grown_tree import CutTree, GrownTree, preordered
from shallowrules.trees.growth_data import GrowthData
from shallowrules.trees.progress import Progress
from shallowrules.trees.tree import LEAF

__all__ = [
    "MAX_TREES",
    "ONE_ROUND_TREES",
    "ROUND_FACTORS",
    "WIDER_SHARES",
    "WIDE_ROWS",
    "WIDE_TREES",
    "Lookahead",
    "SearchTask",
    "group_centers",
    "grown_ahead",
    "leaf_means",
    "look_ahead",
    "wide_ahead",
]

LOOKAHEAD_LEVELS, LOOKAHEAD_WIDTH = 2, 4
"""On this many levels of the tree, this many cuts of a node are tried. A width of 8, or 3 levels, gains up to 0.08%
more on seven of the tables and takes one to two growths longer; an iterated local search gains as much in a third of
that."""
ROUND_FACTORS = (1.0, 0.6, 1.6)
"""Lookahead trees: factors of the trade-off that proposes cuts. J has the true one. The second and third
start, side by side, from the means of the best tree's leaves: without them letter gains 1.9% instead of 2.8%."""
MAX_TREES, ONE_ROUND_TREES = 6.0, 2.0
"""Such a tree takes at most the work of this many greedy ones on the sample, the only one of a shorter table that of
the second number: the time that it saves gains more in the local search (mice 1.39% instead of 1.14%)."""
WIDE_SHAPE, WIDE_TREES, WIDE_ROWS = (1, 16), 8.0, 1024
"""One more lookahead tree is grown with many cuts of the root, on at most about this many rows of the sample.
Without it diabetes gains 3.2% instead of 4.1%. On so few rows the work of 12 trees gains no more than that of 8, and
that of 6 gains 0.04% to 0.12% less on three of the tables."""
WIDER_TREES, WIDER_ROWS, WIDER_SHARES = 9.5, 2048, 2
"""The lookahead of a larger table that is searched in one round uses more rows, and its cuts are tried in two
searches side by side, of half the work each, which improve the best of theirs. In one, a second thread has nothing to
do for 6 ms of 86 of a fit of digits. On `WIDE_ROWS` digits gains 2.8% instead of 3.3%. With the work of 8 to 10 trees
J is the same within 0.03%. Avila and letter, looked at in three rounds, gain nothing by it."""
MIN_RANKS, MAX_RANKS, RANK_ROWS = 64, 256, 8
"""The lookahead tries cuts between this many bins of a feature: one for every `RANK_ROWS` rows, within these bounds. On
few rows 256 bins take one to two growths longer and gain the same; of many, avila gains 0.6% with 64, instead of
1.5%."""


Centers = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Centers in the explained and in the clustered columns."""


@dataclass(frozen=True, eq=False)
class SearchTask:
    """The greedy tree, and the objective by which others for its centers may be better.

    Attributes
    ----------
    tree : GrownTree
    data : GrowthData
        The centers, and rows in whose columns trees are grown.
    aim : SearchObjective
    """

    tree: GrownTree
    data: GrowthData
    aim: SearchObjective

    @property
    def centers(self) -> Centers:
        """The centers that the greedy tree explains."""
        return self.data.explain_centers, self.data.cluster_centers


@dataclass(frozen=True)
class Lookahead:
    """How a lookahead tree is grown.

    Attributes
    ----------
    shape : tuple of int
        Levels of the tree on which cuts are tried, and how many of a node.
    max_trees : float
        At most the work of this many greedy trees.
    factor : float
        What the trade-off that proposes cuts is multiplied by.
    cuts : tuple of int
        Which of the root's cuts are tried, best first: the number of the first, and the step to the next.
    """

    shape: tuple[int, int]
    max_trees: float
    factor: float = 1.0
    cuts: tuple[int, int] = (0, 1)


def look_ahead(
    sample: CodedTable,
    task: SearchTask,
    factor: float,
    best: Candidate | None,
    max_trees: float,
    progress: Progress | None = None,
) -> list[Candidate]:
    """Grow a lookahead tree on the sample, from the means of the best one's leaves if there is one, and improve it."""
    centers = task.centers if best is None else leaf_means(sample, best.tree, task.data.k)
    how = Lookahead((LOOKAHEAD_LEVELS, LOOKAHEAD_WIDTH), max_trees, factor)
    return grown_ahead(sample, sample, task, centers, how, progress)


def wide_ahead(
    sample: CodedTable,
    task: SearchTask,
    share: int,
    *,
    wider: bool,
    progress: Progress | None = None,
) -> list[Candidate]:
    """Grow a tree for each of many cuts of the root, on some rows of the sample; improve the best on all of these.

    With `wider`, there are more rows, and the cuts are those of one of `WIDER_SHARES` shares.
    """
    n_trees, n_rows, n_shares = (WIDER_TREES, WIDER_ROWS, WIDER_SHARES) if wider else (WIDE_TREES, WIDE_ROWS, 1)
    how = Lookahead(WIDE_SHAPE, n_trees / n_shares, cuts=(share, n_shares))
    return grown_ahead(some_of(sample, n_rows), sample, task, task.centers, how, progress)


def grown_ahead(
    few: CodedTable,
    sample: CodedTable,
    task: SearchTask,
    centers: Centers,
    how: Lookahead,
    progress: Progress | None,
) -> list[Candidate]:
    """Grow a lookahead tree from some centers and improve it on the sample; none if a center got no leaf.

    Parameters
    ----------
    few : CodedTable
        Rows of the sample to grow it on, or the sample.
    task : SearchTask
        How deep its tree is says what a tree takes.
    how : Lookahead
    """
    tree, data, aim = task.tree, task.data, task.aim
    wad = float(tree.weight[tree.feature != LEAF].sum() / tree.weight[0])  # passes over the rows per tree
    coded = few.coded
    inputs = GrowthInput(
        coded.X_explain,
        coded.X_cluster,
        coded.rows.copy(),
        None if coded.weight is None else coded.weight.copy(),
        explain_centers=np.ascontiguousarray(centers[0], dtype=np.float64),
        cluster_centers=np.ascontiguousarray(centers[1], dtype=np.float64),
    )
    max_work = how.max_trees * wad * min(len(few.rows), SAMPLE_ROWS) * data.X_explain.shape[1]
    nodes = grow_ahead(
        inputs,
        how.factor * aim.tradeoff,
        (*how.shape, aim.penalty, max_work),
        cuts=how.cuts,
        ranks=min(max(len(few.rows) // RANK_ROWS, MIN_RANKS), MAX_RANKS),
        n_threads=few.n_threads,
        progress=progress,
    )
    ahead = preordered(nodes)
    if ahead.n_leaves < data.k:
        return []
    return [sample.improve(ahead, aim)]


def leaf_means(sample: CodedTable, tree: CutTree, k: int) -> Centers:
    """Return the means of a tree's leaves in the order of centers."""
    return group_centers(sample, tree.center[sample.leaf_of_rows(tree)], k)


def group_centers(sample: CodedTable, labels: NDArray[np.int32], k: int) -> Centers:
    """Return the means of groups of rows, each of which has some."""
    X_explain, X_cluster, rows = sample.coded.X_explain, sample.coded.X_cluster, sample.rows
    explain_means = group_means(X_explain[rows], labels, k, sample.weight)
    if X_cluster is X_explain:
        return explain_means, explain_means
    return explain_means, group_means(X_cluster[rows], labels, k, sample.weight)

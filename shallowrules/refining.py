"""Refining: from the greedy tree to one that costs less and is shorter to explain, from the same centers.

The objective of a finished tree is ``J = cost / reference cost + tradeoff * WAES``. Three ways lead to lower ones,
each in the kernel:

- looking ahead: of several cuts of a node, the one whose finished subtree has the lowest J;
- improving a finished tree: every node's cut in turn, with the means of the leaves; and taking away a leaf that is
  hardly missed in order to cut another in two;
- starting again from the means of the best tree's leaves instead of the reference centers.

Trees are grown ahead on a sample of the rows, and only the best of them are improved on all rows. So a large table
takes no more than a few passes over its rows.

Inside, costs and conditions are sums over the weight of rows. A condition of a row of weight 1 costs the condition
penalty, ``tradeoff * reference cost / total weight``, so that ``cost + penalty * conditions`` is J times the reference
cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shallowrules._kernel import CodedRows, GrowthInput, encode, grow_ahead, improve_tree
from shallowrules.growing import CutTree, Forest, GrownTree, Progress, UniqueRows, preordered, routed
from shallowrules.tree import LEAF

__all__ = ["REFINEMENTS", "Refinement", "refine"]

REFINEMENTS = ("full", "none")

# How they were tuned: by the mean gain in J over the greedy tree and the time in greedy growths, of iris, wine, breast
# cancer, diabetes, digits, mice, anuran, avila and letter, 3 to 4 seeds. As they stand, over 10 seeds: 1.64 % at 4.8 to
# 11.7 growths, where at least 1.5 % and at most 15 growths were asked (benchmarks/quality.py, docs/refinement.md).

SAMPLE_ROWS = 4096
"""Distinct rows on which trees are grown ahead, about. With a sample for the search a round takes 2 to 3 growths; on
all rows it took 6 to 9."""
MIN_CLUSTER_ROWS = 32
"""Rows of each cluster in the sample, at least, if it has them, so that a small one is not lost. Not tuned."""
LOOKAHEAD_LEVELS, LOOKAHEAD_WIDTH = 2, 4
"""On this many levels of the tree, this many cuts of a node are tried. Looking ahead alone gains 0.66 %, improving
alone 0.56 %, both together 1.27 %. A width of 8 on 2 levels, or 4 on 3, gained 1.6 to 1.75 % on seven of the
tables at twice the time."""
ROUND_FACTORS = (1.0, 0.6, 1.6)
"""Rounds of looking ahead: what the trade-off that proposes cuts is multiplied by. J has the true one. Rounds that
start from the means of the best tree's leaves, with other trade-offs, gained 1.5 to 1.6 %; starting from the trees
of neighbouring trade-offs gained 1.4 %."""
MAX_TREES = 6.0
"""A round takes at most the work of this many greedy trees on the sample. Halved from 12 to stay below 15 growths."""
MAX_LOOKAHEAD_CLUSTERS = 128
"""Beyond this many clusters nothing is grown ahead, and the greedy tree is improved: the sample would have fewer than
`MIN_CLUSTER_ROWS` rows for each."""
MAX_MOVABLE_CLUSTERS = 512
"""Beyond this many clusters leaves stay where they are. A bound on the work; not tuned."""
MAX_BINS = 512
"""Cuts of a node are searched between this many bins of a feature, then within the best bin. Not tuned."""
MAX_PASSES, MAX_VISITED_VALUES = 40.0, 3e7
"""An improvement visits all rows at most `MAX_PASSES` times, and at most `MAX_VISITED_VALUES` values in all, but twice
in any case. The second was lowered from 4e7 until growth and refinement of 1,000,000 x 10, k = 50, took less than
its k-means with two threads (0.57 of it)."""
MAX_FINALISTS = 2
"""Trees from the sample that are improved on all rows. Three gained as much and took longer."""
PENALTY_FACTORS = (1.5, 3.0)
"""Where the best tree is longer than the greedy one, or dearer, it is improved with its condition penalty multiplied
or divided by these, to find a tree that is neither. Tuned, with `MIN_GAIN_SHARE`, by the tables whose mean cost and
mean WAES both fall: 6 of 9, where 5 were asked."""
MIN_GAIN_SHARE = 0.5
"""A tree that is neither dearer nor longer than the greedy one is taken if it has this share of the best gain."""
MAX_SORTED_ROWS = 1 << 16
"""Tables of at most this many distinct rows are summed in an order that does not depend on theirs. A bound on the work
of sorting; not tuned."""
TIE = 1e-9
"""Relative difference below which two sums are equal: equal partitions are summed in different orders."""
BOUND_REACHED = "the search for a better tree was ended by the bound on its work"


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined tree, and how it compares.

    Attributes
    ----------
    tree : GrownTree
        The greedy tree itself if none is better.
    before, after : tuple of float
        Normalized cost and WAES of the greedy tree and of this one.
    tradeoff : float
    n_sampled : int
        Distinct rows on which trees were grown ahead; 0 if there were too many clusters for it.
    bound_reached : bool
        Whether the bound on the work ended it before nothing better was found.
    """

    tree: GrownTree
    before: tuple[float, float]
    after: tuple[float, float]
    tradeoff: float
    n_sampled: int
    bound_reached: bool

    def summary(self) -> str:
        """Say what was found, in a line."""
        (cost, waes), (new_cost, new_waes) = self.before, self.after
        before, after = self.objectives
        where = (
            f"on {self.n_sampled} rows"
            if self.n_sampled
            else f"nothing ahead for over {MAX_LOOKAHEAD_CLUSTERS} clusters"
        )
        return (
            f"refined ({where}): cost {cost:.4f} -> {new_cost:.4f}, conditions {waes:.3f} -> {new_waes:.3f}, "
            f"J {before:.4f} -> {after:.4f}" + (f"; {BOUND_REACHED}" if self.bound_reached else "")
        )

    @property
    def objectives(self) -> tuple[float, float]:
        """J of the greedy tree and of this one, which is no higher."""
        before, after = (cost + self.tradeoff * waes for cost, waes in (self.before, self.after))
        return before, after


def refine(
    tree: GrownTree,
    unique: UniqueRows,
    *,
    tradeoff: float,
    reference_cost: float,
    reference_labels: NDArray[np.int32],
    moves_leaves: bool = True,
    round_factors: tuple[float, ...] = ROUND_FACTORS,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Refinement:
    """Find a tree of lower J than the greedy one from the same centers, as many leaves, none empty.

    Parameters
    ----------
    tree : GrownTree
        The greedy tree, with a leaf for each center.
    unique : UniqueRows
        The rows that it was grown from.
    tradeoff : float
        The paper's lambda in J.
    reference_cost : float
        Cost of the unrestricted clustering, above 0.
    reference_labels : ndarray of int32, shape (n_rows,)
        Its clusters: by them the leaves are numbered again if leaves moved.
    moves_leaves : bool
        Whether a cluster may lose its leaf, and another be cut in two: not where clusters have names.
    round_factors : tuple of float
        See `ROUND_FACTORS`; without any, the greedy tree is only improved.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        As for `shallowrules.growing.grow`.

    Returns
    -------
    Refinement
        Its J is never above that of `tree`, as the kernel sums it.
    """
    k, total_weight = unique.data.k, unique.data.total_weight
    penalty = _rounded(tradeoff * reference_cost / total_weight)
    moves_leaves = moves_leaves and k <= MAX_MOVABLE_CLUSTERS
    round_factors = round_factors if k <= MAX_LOOKAHEAD_CLUSTERS else ()
    steps = _steps(progress, 2 * len(round_factors) + 1 + MAX_FINALISTS + len(PENALTY_FACTORS))
    table, keys = _coded_table(unique, n_threads)
    greedy = table.improve(tree, penalty, moves_leaves, next(steps))
    before = greedy.figures_before
    found = [greedy]
    n_sampled = 0
    if round_factors:
        sample = _sample(table, tree, keys)
        n_sampled = len(sample.rows)
        ahead = _look_ahead(sample, tree, unique, round_factors, tradeoff, penalty, moves_leaves, steps)
        ahead.sort(key=lambda one: one.objective(penalty))
        if sample is table:
            found += ahead
        else:
            found += [table.improve(one.tree, penalty, moves_leaves, next(steps)) for one in ahead[:MAX_FINALISTS]]
    found += _neither_dearer_nor_longer(table, found, before, penalty, moves_leaves, steps)
    best = _choose(found, before, penalty)
    unit, kernel_weight = reference_cost * unique.total_weight / total_weight, unique.total_weight
    figures_before, figures = ((cost / unit, conditions / kernel_weight) for cost, conditions in (before, best.figures))
    if best.objective(penalty) < (before[0] + penalty * before[1]) * (1 - TIE):
        cut_tree = _renumbered(best.tree, table, reference_labels, k) if moves_leaves else best.tree
        refined = routed(cut_tree, unique.data, n_threads)
    else:
        refined, figures = tree, figures_before
    bound_reached = not round_factors or any(one.bound_reached for one in found)
    if bound_reached:
        refined = replace(refined, notes=(BOUND_REACHED,))
    return Refinement(refined, figures_before, figures, tradeoff, n_sampled, bound_reached)


def _steps(progress: Progress | None, n_steps: int) -> Iterator[Progress | None]:
    """Yield the `progress` of each step, which turns the share of the step into that of all."""
    step = 0

    def step_progress(share: float) -> None:
        assert progress is not None
        progress((step + share) / n_steps)

    while True:
        yield None if progress is None else step_progress
        step = min(step + 1, n_steps - 1)


# Rows and trees -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    """A tree, with its cost and the conditions of its rows, both summed by weight, and those of the tree before."""

    tree: CutTree
    figures: tuple[float, float]
    figures_before: tuple[float, float]
    bound_reached: bool

    def objective(self, penalty: float) -> float:
        return self.figures[0] + penalty * self.figures[1]

    def no_worse_than(self, figures: tuple[float, float]) -> bool:
        """Whether it is neither dearer nor longer."""
        return all(mine <= other * (1 + TIE) for mine, other in zip(self.figures, figures, strict=True))


@dataclass(frozen=True, eq=False)
class _CodedTable:
    """Distinct rows, and their codes in the explained columns."""

    coded: CodedRows
    n_threads: int

    @classmethod
    def of(
        cls,
        X_explain: NDArray[Any],
        X_cluster: NDArray[Any],
        rows: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        n_threads: int,
    ) -> _CodedTable:
        some_center = X_explain[rows[:1]].astype(np.float64)  # `encode` wants one
        codes, _, _, single_valued, _ = encode(X_explain, rows, some_center, n_threads, ranks=MAX_BINS)
        coded = CodedRows(X_explain, X_cluster, rows, weight, np.ascontiguousarray(codes.T), single_valued)
        return cls(coded, n_threads)

    @property
    def rows(self) -> NDArray[np.int32]:
        return self.coded.rows

    @property
    def weight(self) -> NDArray[np.float64] | None:
        return self.coded.weight

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row, 1 where all are equal."""
        return np.ones(len(self.rows)) if self.weight is None else self.weight

    def improve(self, tree: CutTree, penalty: float, moves_leaves: bool, progress: Progress | None) -> _Found:
        """Improve a tree whose every leaf has some of these rows."""
        found = improve_tree(
            self.coded,
            {name: getattr(tree, name) for name in ("feature", "left", "right", "center", "cut")},
            condition_penalty=penalty,
            max_passes=min(MAX_PASSES, max(2.0, MAX_VISITED_VALUES / self.coded.codes.size)),
            moves_leaves=moves_leaves,
            n_threads=self.n_threads,
            progress=progress,
        )
        return _Found(preordered(found), found["after"], found["before"], found["ended"])

    def leaf_of_rows(self, tree: CutTree) -> NDArray[np.int32]:
        """Return the leaf of each row."""
        return tree.route(self.coded.X_explain, self.n_threads)[self.rows]


def _coded_table(unique: UniqueRows, n_threads: int) -> tuple[_CodedTable, NDArray[np.uint64]]:
    """Return the rows of a table, and a key of each; small tables in the order of their keys."""
    rows, weight, data = unique.order, unique.weight, unique.data
    keys = _keys(data.X_cluster, rows)
    order = np.argsort(keys, kind="stable") if len(keys) <= MAX_SORTED_ROWS else np.arange(len(keys))
    weight = None if weight is None else weight[order]
    return _CodedTable.of(data.X_explain, data.X_cluster, rows[order], weight, n_threads), keys[order]


def _rounded(number: float) -> float:
    """Return a number without its last digits, which depend on the order in which rows were summed."""
    mantissa, exponent = np.frexp(number)
    return float(np.ldexp(np.round(np.ldexp(mantissa, 36)), exponent - 36))


def _keys(X_cluster: NDArray[Any], rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return 64 bits that look random for each row, equal for equal values in the clustered space."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    for j in range(X_cluster.shape[1]):
        values = X_cluster[rows, j].astype(np.float64) + 0.0  # -0.0 is 0.0
        keys = (keys ^ values.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(31)
    return keys


def _sample(table: _CodedTable, tree: GrownTree, keys: NDArray[np.uint64]) -> _CodedTable:
    """Return some rows of each cluster, weighted so that the clusters keep their weight; `table` if it is small.

    They are spread evenly over the column of the largest variance, rows of equal values there in the order of their
    keys: whatever the order of the table.
    """
    n_rows, X_explain, X_cluster = len(table.rows), table.coded.X_explain, table.coded.X_cluster
    if n_rows <= 1.25 * SAMPLE_ROWS:
        return table
    labels = tree.labels[table.rows]
    widest = int(np.argmax(np.var(X_cluster[table.rows[:: max(1, n_rows // SAMPLE_ROWS)]], axis=0)))
    order = np.lexsort((keys, X_cluster[table.rows, widest], labels))
    counts = np.bincount(labels)
    picked, weights = [], []
    proportional = table.weight is None
    for first, count in zip(np.cumsum(counts) - counts, counts, strict=True):
        if not count:
            continue
        share = round(SAMPLE_ROWS * count / n_rows)
        n = min(count, max(MIN_CLUSTER_ROWS, share))
        proportional &= n == share
        places = order[first + np.arange(n) * count // n]
        own = np.ones(n) if table.weight is None else table.weight[places]
        whole = float(count) if table.weight is None else float(table.weight[order[first : first + count]].sum())
        picked.append(places)
        weights.append(own * (whole / own.sum()))
    rows = table.rows[np.concatenate(picked)]
    X_sample = np.ascontiguousarray(X_explain[rows])
    return _CodedTable.of(
        X_sample,
        X_sample if X_cluster is X_explain else np.ascontiguousarray(X_cluster[rows]),
        np.arange(len(rows), dtype=np.int32),
        None if proportional else np.concatenate(weights),
        table.n_threads,
    )


# The search ---------------------------------------------------------------------------------------


def _look_ahead(
    sample: _CodedTable,
    tree: GrownTree,
    unique: UniqueRows,
    round_factors: tuple[float, ...],
    tradeoff: float,
    penalty: float,
    moves_leaves: bool,
    steps: Iterator[Progress | None],
) -> list[_Found]:
    """Grow a tree ahead in each round, from the means of the best one's leaves, and improve it; all on the sample."""
    data, coded = unique.data, sample.coded
    wad = float(tree.weight[tree.feature != LEAF].sum() / tree.weight[0])  # passes over the rows that a tree takes
    max_work = MAX_TREES * wad * len(sample.rows) * data.X_explain.shape[1]
    centers = data.explain_centers, data.cluster_centers
    found: list[_Found] = []
    for factor in round_factors:
        inputs = GrowthInput(
            coded.X_explain,
            coded.X_cluster,
            coded.rows.copy(),
            None if coded.weight is None else coded.weight.copy(),
            explain_centers=np.ascontiguousarray(centers[0], dtype=np.float64),
            cluster_centers=np.ascontiguousarray(centers[1], dtype=np.float64),
        )
        nodes = grow_ahead(
            inputs,
            factor * tradeoff,
            (LOOKAHEAD_LEVELS, LOOKAHEAD_WIDTH, penalty, max_work),
            n_threads=sample.n_threads,
            progress=next(steps),
        )
        ahead, progress = Forest(nodes).tree(), next(steps)
        if ahead.n_leaves == data.k:
            found.append(sample.improve(ahead, penalty, moves_leaves, progress))
            centers = _leaf_means(sample, min(found, key=lambda one: one.objective(penalty)).tree, data.k)
    return found


def _leaf_means(sample: _CodedTable, tree: CutTree, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means of a tree's leaves in the explained and in the clustered columns, in the order of centers."""
    center = tree.center[sample.leaf_of_rows(tree)]
    weight = sample.weights
    order = np.argsort(center, kind="stable")
    first = np.searchsorted(center[order], np.arange(k))
    total = np.add.reduceat(weight[order], first)[:, None]

    def mean(array: NDArray[Any]) -> NDArray[np.float64]:
        rows = array[sample.rows[order]].astype(np.float64)
        sums: NDArray[np.float64] = np.add.reduceat(rows * weight[order][:, None], first)
        return sums / total

    X_explain, X_cluster = sample.coded.X_explain, sample.coded.X_cluster
    explain_means = mean(X_explain)
    return explain_means, explain_means if X_cluster is X_explain else mean(X_cluster)


def _neither_dearer_nor_longer(
    table: _CodedTable,
    found: list[_Found],
    before: tuple[float, float],
    penalty: float,
    moves_leaves: bool,
    steps: Iterator[Progress | None],
) -> list[_Found]:
    """Improve the best tree with other condition penalties, until one is neither dearer nor longer than the greedy."""
    best = min(found, key=lambda one: one.objective(penalty))
    more: list[_Found] = []
    if best.no_worse_than(before):
        return more
    longer = best.figures[1] > before[1]
    for factor in PENALTY_FACTORS:
        other_penalty = penalty * factor if longer else penalty / factor
        more.append(table.improve(best.tree, other_penalty, moves_leaves, next(steps)))
        if more[-1].no_worse_than(before):
            break
    return more


def _choose(found: list[_Found], before: tuple[float, float], penalty: float) -> _Found:
    """Return the tree of the lowest J, or one that is neither dearer nor longer and has most of its gain."""
    best = min(found, key=lambda one: one.objective(penalty))
    no_worse = [one for one in found if one.no_worse_than(before)]
    if no_worse:
        other = min(no_worse, key=lambda one: one.objective(penalty))
        greedy = before[0] + penalty * before[1]
        if greedy - other.objective(penalty) >= MIN_GAIN_SHARE * (greedy - best.objective(penalty)):
            return other
    return best


def _renumbered(tree: CutTree, table: _CodedTable, reference_labels: NDArray[np.int32], k: int) -> CutTree:
    """Return a tree whose leaves are numbered so that most weight keeps the number of its reference cluster."""
    leaf = table.leaf_of_rows(tree)
    labels = reference_labels[table.rows]
    weight = table.weights
    known = labels >= 0
    shared = np.bincount(tree.center[leaf[known]].astype(np.int64) * k + labels[known], weight[known], k * k).reshape(
        k, k
    )
    _, number = linear_sum_assignment(-shared)
    if np.trace(shared) >= shared[np.arange(k), number].sum() * (1 - TIE):
        return tree
    return replace(tree, center=np.where(tree.center == LEAF, LEAF, number[tree.center]).astype(np.int32))

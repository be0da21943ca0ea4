"""Refining: from the greedy tree to one that costs less and is shorter to explain, from the same centers.

The objective of a finished tree is ``J = cost / reference cost + tradeoff * WAES``. Three ways lead to lower ones,
each in the kernel:

- looking ahead: of several cuts of a node, the one whose finished subtree has the lowest J;
- improving a finished tree: every node's cut in turn, with the means of the leaves; and taking away a leaf that is
  hardly missed in order to cut another in two;
- perturb and repair: a cut or a leaf of a finished tree is changed at random, the tree improved around it, and the
  change kept if J fell.

Trees are searched for on a sample of the rows and judged on all of them; only the best is improved on all rows. So a
large table takes no more than a few passes over its rows.

Inside, costs and conditions are sums over the weight of rows. A condition of a row of weight 1 costs the condition
penalty, ``tradeoff * reference cost / total weight``, so that ``cost + penalty * conditions`` is J times the reference
cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shallowrules.growing import CutTree, GrownTree, Progress, UniqueRows, routed
from shallowrules.searching import (
    FEWER_STREAM_PASSES,
    MIN_STREAM_VISITS,
    ROUND_FACTORS,
    STREAM_PASSES,
    TIE,
    Aim,
    CodedTable,
    Found,
    coded_table,
    different,
    few_of,
    look_ahead,
    part_of,
    rounded,
    sample_of,
    side_by_side,
    wide_ahead,
)
from shallowrules.thorough import Thorough, note_of, search_on
from shallowrules.tree import LEAF

__all__ = ["REFINEMENTS", "Refinement", "refine"]

REFINEMENTS = ("full", "thorough", "none")

# How they were tuned: by the mean gain in J over the greedy tree and the time in greedy growths, of iris, wine, breast
# cancer, diabetes, digits, mice, anuran, avila and letter, 3 seeds (benchmarks/quality.py, docs/refinement.md).

N_STREAMS = 2
"""Searches by perturb and repair, each with random numbers of its own: side by side where there are threads. One of
twice the length gains little more."""
MAX_LOOKAHEAD_CLUSTERS = 128
"""Beyond this many clusters the greedy tree is only improved: the sample would have fewer than `MIN_CLUSTER_ROWS` rows
for each."""
MAX_MOVABLE_CLUSTERS = 512
"""Beyond this many clusters leaves stay where they are. A bound on the work; not tuned."""
MAX_JUDGED = 4
"""Trees from the sample that are judged on all rows, those of the lowest J on the sample."""
PENALTY_FACTORS = (1.5, 3.0)
"""Where the best tree is longer than the greedy one, or dearer, it is improved with its condition penalty multiplied
or divided by these, to find a tree that is neither. Tuned, with `MIN_GAIN_SHARE`, by the tables whose mean cost and
mean WAES both fall."""
MIN_GAIN_SHARE = 0.8
"""A tree that is neither dearer nor longer than the greedy one is taken if it has this share of the best gain. Not
after a thorough search, which is asked for the lowest J."""
MAX_IMPROVED_ROWS = 1 << 16
"""Tables of more distinct rows are searched by a part of them, and only measured whole."""
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
    random_seed: int = 0,
    thorough: Thorough | None = None,
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
    random_seed : int
        Not negative. With it the search is the same for the same table.
    thorough : Thorough, optional
        To search on for as long as it says.
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
    moves_leaves = moves_leaves and k <= MAX_MOVABLE_CLUSTERS
    unit, kernel_weight = reference_cost * unique.total_weight / total_weight, unique.total_weight
    aim = Aim(tradeoff, rounded(tradeoff * reference_cost / total_weight), moves_leaves, unit)
    searches = k <= MAX_LOOKAHEAD_CLUSTERS
    min_share = MIN_GAIN_SHARE if thorough is None else 1.0
    by_part = searches and len(unique.first) > MAX_IMPROVED_ROWS
    table = coded_table(unique, tree, n_threads, with_codes=not by_part)
    broad = few_of(table) if by_part else table
    greedy = table.measure(tree, aim)
    before = greedy if broad is table else broad.measure(tree, aim)
    notes: tuple[str, ...] = ()
    if searches:
        sample = sample_of(broad)
        found, notes = _searched(sample, broad, before, tree, unique, aim, random_seed, thorough, progress)
    else:
        found = [table.improve(tree, aim, progress)]
        found += _neither_dearer_nor_longer(table, found, greedy, aim)
    bound_reached = not searches or any(one.bound_reached for one in found)
    if broad is not table:
        finalists = different([min(found, key=aim.objective), _choose([before, *found], before, aim, min_share)], aim)
        found = [table.measure(one.tree, aim) for one in finalists]
    best = _choose([*found, greedy], greedy, aim, min_share)
    figures_before, figures = (
        (cost / unit, conditions / kernel_weight) for cost, conditions in (greedy.figures, best.figures)
    )
    if aim.objective(best) < aim.objective(greedy) * (1 - TIE):
        if broad is table:  # what was perturbed there has no gaps yet
            best = table.measure(best.tree, aim)
        cut_tree = _renumbered(best.tree, table, reference_labels, k) if moves_leaves else best.tree
        refined = routed(cut_tree, unique.data, n_threads)
    else:
        refined, figures = tree, figures_before
    notes += (BOUND_REACHED,) * bound_reached
    refined = replace(refined, notes=notes) if notes else refined
    return Refinement(refined, figures_before, figures, tradeoff, len(sample.rows) if searches else 0, bound_reached)


def _behind(progress: Progress | None, begin: float) -> Progress | None:
    """Return what takes the share done of the work that is left after a share of it."""
    return None if progress is None else lambda share: progress(begin + (1 - begin) * share)


def _searched(
    sample: CodedTable,
    broad: CodedTable,
    greedy: Found,
    tree: GrownTree,
    unique: UniqueRows,
    aim: Aim,
    random_seed: int,
    thorough: Thorough | None,
    progress: Progress | None,
) -> tuple[list[Found], tuple[str, ...]]:
    """Search for trees on the sample, judge them on more rows and improve the best; return them, and notes.

    An interrupt ends a thorough search wherever it is, with the trees found by then.

    Parameters
    ----------
    greedy : Found
        The greedy tree as it is on `broad`.
    """
    on_sample: list[Found] = []
    found = [greedy]
    first, later = (progress, None) if thorough is None else (part_of(progress, 0, 10), _behind(progress, 0.1))
    notes: tuple[str, ...] = ()
    try:
        if thorough is not None:
            thorough.tell(found, aim)
        for some in _search(sample, tree, unique, aim, random_seed, first):
            on_sample += some
            if thorough is not None and sample is broad:
                thorough.tell([greedy, *on_sample], aim)
        found += _judged(on_sample, sample, broad, aim)
        if sample is not broad:
            found.append(broad.improve(min(found, key=aim.objective).tree, aim, part_of(first, 2, 3)))
        if thorough is not None:
            thorough.tell(found, aim)
            more, note = search_on(thorough, sample, broad, tree, unique.data, found, aim, random_seed, later)
            found, notes = [*found, *more], (note,)
        found += _neither_dearer_nor_longer(broad, found, greedy, aim)
    except KeyboardInterrupt:
        if thorough is None:
            raise
        if len(found) == 1:
            found += _judged(on_sample, sample, broad, aim)
        notes = notes or (note_of(0, interrupted=True),)
    return found, notes


def _judged(found: list[Found], sample: CodedTable, broad: CodedTable, aim: Aim) -> list[Found]:
    """Return trees of the sample as they are on more rows, not more than a few."""
    if sample is broad:
        return found
    return [broad.measure(one.tree, aim) for one in different(found, aim)[:MAX_JUDGED]]


def _search(
    sample: CodedTable,
    tree: GrownTree,
    unique: UniqueRows,
    aim: Aim,
    random_seed: int,
    progress: Progress | None,
) -> Iterator[list[Found]]:
    """Grow two trees ahead, or improve the greedy one if none comes of it, and perturb the better; all on the sample.

    Where clusters have names nothing is perturbed: a leaf could come to lie in another cluster. Of the work that
    `progress` is told of, these are two thirds.
    """

    def wide(progress: Progress | None) -> list[Found]:
        return wide_ahead(sample, tree, unique.data, aim, progress)

    def ahead(progress: Progress | None) -> list[Found]:
        return look_ahead(sample, tree, unique.data, aim, n_rounds, progress)

    def stream(number: int, progress: Progress | None) -> list[Found]:
        return sample.perturb(start.tree, aim, (random_seed << 24) + (1 << 23) + number, passes, progress)

    rounds_are_cheap = len(unique.first) >= len(ROUND_FACTORS) * len(sample.rows)
    n_rounds = len(ROUND_FACTORS) if rounds_are_cheap or not aim.moves_leaves else 1
    found = side_by_side([ahead, wide], sample.n_threads, part_of(progress, 0, 3))
    if not found or not aim.moves_leaves:
        found.append(sample.improve(tree, aim))
    yield found
    if not aim.moves_leaves:
        return
    start = min(found, key=aim.objective)
    fewer = min(max(FEWER_STREAM_PASSES, MIN_STREAM_VISITS / len(sample.rows)), STREAM_PASSES)
    passes = STREAM_PASSES if rounds_are_cheap else fewer
    streams = [partial(stream, number) for number in range(N_STREAMS)]
    yield side_by_side(streams, sample.n_threads, part_of(progress, 1, 3))


def _neither_dearer_nor_longer(table: CodedTable, found: list[Found], greedy: Found, aim: Aim) -> list[Found]:
    """Improve the best tree with other condition penalties, until one is neither dearer nor longer than the greedy."""
    best = min(found, key=aim.objective)
    more: list[Found] = []
    if best.no_worse_than(greedy):
        return more
    longer = best.figures[1] > greedy.figures[1]
    for factor in PENALTY_FACTORS:
        other = replace(aim, penalty=aim.penalty * factor if longer else aim.penalty / factor)
        more.append(table.improve(best.tree, other))
        if more[-1].no_worse_than(greedy):
            break
    return more


def _choose(found: list[Found], greedy: Found, aim: Aim, min_share: float) -> Found:
    """Return the tree of the lowest J, or one that is neither dearer nor longer and has such a share of its gain."""
    best = min(found, key=aim.objective)
    no_worse = [one for one in found if one.no_worse_than(greedy)]
    other = min(no_worse, key=aim.objective)  # the greedy one is among them
    gain, other_gain = (aim.objective(greedy) - aim.objective(one) for one in (best, other))
    return other if other_gain >= min_share * gain else best


def _renumbered(tree: CutTree, table: CodedTable, reference_labels: NDArray[np.int32], k: int) -> CutTree:
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

"""Refining: from the greedy tree to one that costs less and is shorter to explain, from the same centers.

The objective of a finished tree is ``J = cost / reference cost + tradeoff * WAES``. Three ways lead to lower ones,
each in the kernel:

- lookahead: among several cuts of a node, the one whose finished subtree has the lowest J;
- improving a finished tree: every node's cut in turn, with the means of the leaves; and removing a leaf that saves
  little cost in order to split another in two;
- iterated local search: a cut or a leaf of a finished tree is changed at random, the tree improved around it, and the
  change kept if J fell.

Trees are searched for on a sample of the rows and judged on all of them; only the best is improved on all rows. So a
large table takes no more than a few passes over its rows.

Inside, costs and conditions are sums over the weight of rows. A condition of a row of weight 1 costs the condition
penalty, ``tradeoff * reference cost / total weight``, so that ``cost + penalty * conditions`` is J times the reference
cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shallowrules.measures.metrics import partition_cost
from shallowrules.trees.growing import (
    GrownTree,
    GrowthData,
    Objectives,
    Progress,
    UniqueRows,
    renumber_centers,
    routed,
    with_gaps,
)
from shallowrules.trees.searching import (
    BROAD_ROWS,
    FEW_DATA_VALUES,
    MAX_IMPROVED_ROWS,
    MAX_ROWS_BESIDE,
    MAX_TREES,
    N_STREAMS,
    ONE_ROUND_TREES,
    ROUND_FACTORS,
    TIE,
    WIDE_ROWS,
    WIDER_SHARES,
    Candidate,
    Coded,
    CodedTable,
    SearchObjective,
    code_rows,
    coded_table,
    different,
    few_of,
    from_data,
    look_ahead,
    part_of,
    rounded,
    sample_of,
    side_by_side,
    wide_ahead,
)
from shallowrules.trees.thorough import Thorough, note_of, search_on
from shallowrules.trees.visits import is_long, stream_passes

__all__ = [
    "MAX_SEARCHED_CLUSTERS",
    "Outcome",
    "Refinement",
    "Search",
    "WholeTable",
    "finished",
    "numbered",
    "objective_of",
    "refine",
]

# How they were tuned: by the mean gain in J over the greedy tree and the time in greedy growths, on iris, wine, breast
# cancer, diabetes, digits, mice, anuran, avila and letter, 3 seeds (benchmarks/quality.py, docs/refinement.md).

MAX_SEARCHED_CLUSTERS = 512
"""Beyond this many clusters the greedy tree and that of the data alone are recut, and leaves stay where they are. A
bound on the work; not tuned."""
MANY_CLUSTERS = 128
"""With more clusters, the sample has so few rows that on all rows its trees are worse than an improved greedy one
(avila with 250 clusters): tables of up to `BROAD_ROWS` rows are searched whole."""
MAX_JUDGED = 2
"""Trees from the sample that are judged on all rows, those of the lowest J on the sample. With 4, anuran, avila and
letter gain no more."""
PENALTY_FACTORS = (1.5, 3.0)
"""If the best tree is longer or more expensive than the greedy one, one that is neither is searched for with the
condition penalty multiplied or divided by these. Tuned, with `MIN_GAIN_SHARE`, for the number of tables whose mean cost
and mean WAES both fall."""
PENALTY_PASSES = 7.0
"""Small tables of not too many clusters are searched by an iterated local search that visits all rows this many
times, others, and parts of a table, are searched by improving a tree. Without it anuran's mean WAES rises on some ten
seeds; 7 to 16 passes find much the same."""
MIN_GAIN_SHARE = 0.8
"""A tree that is neither more expensive nor longer than the greedy one is taken if it has this share of the best gain.
Not after a thorough search, which is asked for the lowest J."""
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
        Distinct rows on which lookahead trees were grown; 0 if there were too many clusters.
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
        """Return the outcome as a line of text."""
        (cost, waes), (new_cost, new_waes) = self.before, self.after
        before, after = self.objectives
        where = (
            f"on {self.n_sampled} rows"
            if self.n_sampled
            else f"no lookahead for more than {MAX_SEARCHED_CLUSTERS} clusters"
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
    random_seed: int = 0,
    thorough: Thorough | None = None,
    coded: Future[Coded] | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Refinement | None:
    """Find a tree of lower J than the greedy one for the same centers, with as many leaves, none of them empty.

    Parameters
    ----------
    tree : GrownTree
        The greedy tree, with a leaf for each center.
    unique : UniqueRows
        The rows that it was grown from.
    tradeoff : float
        The paper's lambda in J.
    reference_cost : float
        Cost of the unrestricted clustering.
    reference_labels : ndarray of int32, shape (n_rows,)
        Its clusters: by them the leaves are numbered again, so that each keeps the number of the cluster that most of
        its weight is from.
    random_seed : int
        Not negative. With it the search is the same for the same table.
    thorough : Thorough, optional
        To keep searching within its budget.
    coded : Future, optional
        The result of `code_rows` for the rows, if they were coded while the tree was grown.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        As for `shallowrules.trees.growing.grow`.

    Returns
    -------
    Refinement or None
        Its J is never above that of `tree`, as the kernel sums it. None if the clustering costs nothing.
    """
    data, kernel_weight = unique.data, unique.total_weight
    aim = objective_of(tradeoff, reference_cost, data.total_weight, kernel_weight, data.k)
    if not aim.unit > 0:
        return None
    search = Search(tree, data, len(unique.first), aim, random_seed, thorough, progress)
    by_part = search.by_part
    rows = code_rows(unique, n_threads, with_codes=not by_part) if coded is None else coded.result()
    table = coded_table(rows, tree, n_threads)
    if by_part:
        whole = WholeTable(data, kernel_weight / data.total_weight, n_threads)
        with ThreadPoolExecutor(1) as beside:  # most of the time a search keeps one thread busy
            judged = beside.submit(replace(whole, n_threads=1).judge, tree) if n_threads > 1 else None
            outcome = search.finalists(few_of(table))
        greedy = whole.judge(tree) if judged is None else judged.result()
        outcome = replace(outcome, found=[whole.judge(routed(one.tree, data, n_threads)) for one in outcome.found])
    else:
        greedy = table.measure(tree, aim)
        outcome = search.run(table, greedy)
    best = search.choose(outcome.found, greedy)
    if best is not greedy:
        best = best if by_part else table.measure(best.tree, aim)  # a perturbed tree has no gaps yet
        tree = finished(best, data, reference_labels, has_gaps=not by_part, n_threads=n_threads)
    return outcome.refinement(tree, greedy, best, aim, kernel_weight)


def finished(
    best: Candidate, data: GrowthData, reference_labels: NDArray[np.int32], *, has_gaps: bool, n_threads: int
) -> GrownTree:
    """Return a tree that was chosen, with the rows of its nodes and the gaps of its cuts, numbered as the reference."""
    tree = best.tree if isinstance(best.tree, GrownTree) else routed(best.tree, data, n_threads)
    if not has_gaps:
        tree = with_gaps(tree, data, n_threads)
    return numbered(tree, _shared_weights(tree, data, reference_labels))


@dataclass(frozen=True, eq=False)
class WholeTable:
    """A large table, on which trees found on a part of it are judged.

    Attributes
    ----------
    data : GrowthData
    unit : float
        What the kernel counts for a unit of weight.
    n_threads : int
    """

    data: GrowthData
    unit: float
    n_threads: int

    def judge(self, tree: GrownTree) -> Candidate:
        """Return a tree with its figures on all rows, which do not depend on their order; each center has one leaf."""
        data = self.data
        labels = tree.labels if data.weight is None else np.maximum(tree.labels, 0)  # of weight 0, they do not count
        cost = partition_cost(data.X_cluster, labels, data.weight, self.n_threads, data.cluster_ranges)
        conditions = tree.as_tree().waes * float(tree.weight[0])
        return Candidate(tree, (cost * self.unit, conditions * self.unit), False)


def objective_of(
    tradeoff: float, reference_cost: float, total_weight: float, kernel_weight: float, k: int
) -> SearchObjective:
    """Return the objective of the search.

    Parameters
    ----------
    reference_cost, total_weight : float
        Cost of the unrestricted clustering, and the weight of all rows.
    kernel_weight : float
        That weight as the kernel sums it, which may count rows in its place.
    k : int
        Number of centers.
    """
    penalty = rounded(tradeoff * reference_cost / total_weight)
    unit = reference_cost * kernel_weight / total_weight
    return SearchObjective(tradeoff, penalty, k <= MAX_SEARCHED_CLUSTERS, unit, reference_cost, kernel_weight)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a search.

    Attributes
    ----------
    found : list of Candidate
    notes : tuple of str
    n_sampled : int
        As in `Refinement`.
    bound_reached : bool
    """

    found: list[Candidate]
    notes: tuple[str, ...]
    n_sampled: int
    bound_reached: bool

    def refinement(
        self, tree: GrownTree, greedy: Candidate, best: Candidate, aim: SearchObjective, kernel_weight: float
    ) -> Refinement:
        """Return the refinement whose tree this is, from the greedy tree and the chosen one on all rows."""
        before, after = ((found.figures[0] / aim.unit, found.figures[1] / kernel_weight) for found in (greedy, best))
        notes = (*self.notes, *[BOUND_REACHED] * self.bound_reached)
        own, of_greedy = (cost + aim.tradeoff * waes for cost, waes in (after, before))
        bound = min(of_greedy, *(aim.objective(one) / aim.unit for one in self.found if one.from_data), math.inf)
        objectives = Objectives(own, bound, aim.reference_cost, aim.tradeoff)
        tree = replace(tree, notes=notes, objectives=objectives)
        return Refinement(tree, before, after, aim.tradeoff, self.n_sampled, self.bound_reached)


@dataclass(frozen=True, eq=False)
class Search:
    """The search for trees of lower J than the greedy one.

    Attributes
    ----------
    tree : GrownTree
        The greedy one.
    data : GrowthData
        The centers, and rows in whose columns trees are grown.
    n_rows : int
        Distinct rows of the table.
    aim : SearchObjective
    random_seed : int
    thorough : Thorough or None
    progress : callable or None
    """

    tree: GrownTree
    data: GrowthData
    n_rows: int
    aim: SearchObjective
    random_seed: int
    thorough: Thorough | None
    progress: Progress | None

    @property
    def is_ahead(self) -> bool:
        """Whether lookahead trees are grown: not for very many clusters."""
        return self.data.k <= MAX_SEARCHED_CLUSTERS

    @property
    def by_part(self) -> bool:
        """Whether the search uses a part of the rows, and all rows only judge."""
        return self.is_ahead and self.n_rows > MAX_IMPROVED_ROWS

    def run(self, table: CodedTable, greedy: Candidate) -> Outcome:
        """Search on all rows of a table; `greedy` is the greedy tree on these rows."""
        if self.is_ahead:
            is_broad = self.data.k > MANY_CLUSTERS and len(table.rows) <= BROAD_ROWS
            sample = table if is_broad else sample_of(table)
            found, notes = self._searched(sample, table, greedy)
            return Outcome(found, notes, len(sample.rows), any(one.bound_reached for one in found))
        found = [table.improve(self.tree, self.aim, self.progress), *self._from_data(table)]
        found += [table.improve(one.tree, self.aim) for one in found if one.from_data]
        found += self._neither_dearer_nor_longer(table, found, greedy)
        return Outcome(found, (), 0, bound_reached=True)

    def finalists(self, broad: CodedTable) -> Outcome:
        """Search on a part of the rows of a large table; the trees found are then judged on all of them."""
        greedy, objective = broad.measure(self.tree, self.aim), self.aim.objective
        outcome = self.run(broad, greedy)
        best = min(outcome.found, key=objective)
        return replace(outcome, found=different([best, self._pick([greedy, *outcome.found], greedy)], self.aim))

    def choose(self, found: list[Candidate], greedy: Candidate) -> Candidate:
        """Return the best of some trees, all judged on the same rows, or the greedy one if none is better."""
        best, objective = self._pick([*found, greedy], greedy), self.aim.objective
        return best if objective(best) < objective(greedy) * (1 - TIE) else greedy

    def _pick(self, found: list[Candidate], greedy: Candidate) -> Candidate:
        """Return the tree of lowest J, or one no worse in cost and length that has a large enough share of its gain.

        The J of that one is not above that of a tree from the data alone.
        """
        objective = self.aim.objective
        best = min(found, key=objective)
        no_worse = [one for one in found if one.no_worse_than(greedy)]
        other = min(no_worse, key=objective)  # the greedy one is among them
        gain, other_gain = (objective(greedy) - objective(one) for one in (best, other))
        min_share = MIN_GAIN_SHARE if self.thorough is None else 1.0
        no_higher = all(objective(other) <= objective(one) for one in found if one.from_data)
        return other if no_higher and other_gain >= min_share * gain else best

    def _searched(
        self, sample: CodedTable, broad: CodedTable, greedy: Candidate
    ) -> tuple[list[Candidate], tuple[str, ...]]:
        """Search for trees on the sample, judge them on more rows and improve the best; return them, and notes.

        An interrupt ends a thorough search at any point, with the trees found so far.

        Parameters
        ----------
        greedy : Candidate
            The greedy tree as it is on `broad`.
        """
        aim, thorough = self.aim, self.thorough
        on_sample: list[Candidate] = []
        data_wins = False  # whether the search begins with the tree of the data alone
        found = [greedy]
        first, later = (
            (self.progress, None) if thorough is None else (part_of(self.progress, 0, 10), _behind(self.progress, 0.1))
        )
        notes: tuple[str, ...] = ()
        try:
            if thorough is not None:
                thorough.tell(found, aim)
            for some in self._ahead(sample, first):
                data_wins = data_wins or (not on_sample and min(some, key=aim.objective).from_data)
                on_sample += some
                if thorough is not None and sample is broad:
                    thorough.tell([greedy, *on_sample], aim)
            found += _judged(on_sample, sample, broad, aim)
            if sample is not broad:
                if data_wins:
                    found += self._from_data(broad)
                found.append(broad.improve(min(found, key=aim.objective).tree, aim, part_of(first, 2, 3)))
            found += self._neither_dearer_nor_longer(broad, found, greedy)
            if thorough is not None:
                thorough.tell(found, aim)
                more, note = search_on(
                    thorough, sample, broad, self.tree, self.data, found, aim, self.random_seed, later
                )
                found, notes = [*found, *more], (note,)
        except KeyboardInterrupt:
            if thorough is None:
                raise
            if len(found) == 1:
                found += _judged(on_sample, sample, broad, aim)
            notes = notes or (note_of(0, interrupted=True),)
        return found, notes

    def _ahead(self, sample: CodedTable, progress: Progress | None) -> Iterator[list[Candidate]]:
        """Grow lookahead trees and one from the data, and perturb the best, on the sample.

        If that gives none, the greedy one is improved. These are two thirds of the work that `progress` is told about.
        """
        aim = self.aim

        def wide(share: int, progress: Progress | None) -> list[Candidate]:
            return wide_ahead(sample.alone, self.tree, self.data, aim, share, wider=wider, progress=progress)

        def ahead(factor: float, best: Candidate | None, progress: Progress | None) -> list[Candidate]:
            return look_ahead(sample.alone, self.tree, self.data, aim, factor, best, max_trees, progress)

        def improved(progress: Progress | None) -> list[Candidate]:
            return [sample.alone.improve(self.tree, aim, progress)]

        def stream(number: int, progress: Progress | None) -> list[Candidate]:
            return sample.perturb(start.tree, aim, self._stream_seed(number), passes, progress)

        def data(_: Progress | None) -> list[Candidate]:
            return self._from_data(sample.alone)

        rounds = is_long(self.n_rows, len(sample.rows))
        max_trees = MAX_TREES if rounds else ONE_ROUND_TREES
        first, *later = ROUND_FACTORS
        wider = not rounds and len(sample.rows) > WIDE_ROWS
        shares = range(WIDER_SHARES if wider else 1)
        begun = [partial(ahead, first, None), *(partial(wide, share) for share in shares)]
        found = side_by_side([*begun, data], sample.n_threads, part_of(progress, 0, 6)) or improved(None)
        start = min(found, key=aim.objective)
        if rounds:
            more = [partial(ahead, factor, start) for factor in later]
            found += side_by_side(more, sample.n_threads, part_of(progress, 1, 6))
            start = min(found, key=aim.objective)
        yield found
        passes = stream_passes(self.n_rows, len(sample.rows))
        streams = [partial(stream, number) for number in range(N_STREAMS)]
        yield side_by_side(streams, sample.n_threads, part_of(progress, 1, 3))

    def _from_data(self, table: CodedTable) -> list[Candidate]:
        return from_data(table, self.data.k, self.aim, FEW_DATA_VALUES)

    def _neither_dearer_nor_longer(
        self, table: CodedTable, found: list[Candidate], greedy: Candidate
    ) -> list[Candidate]:
        """Search with other condition penalties, until a tree is no worse than the greedy one in cost or length."""
        aim = self.aim
        best = min(found, key=aim.objective)
        if best.no_worse_than(greedy):
            return []
        longer = best.figures[1] > greedy.figures[1]
        is_small = len(table.rows) <= MAX_ROWS_BESIDE
        perturbs = is_small and self.is_ahead and not self.by_part

        def searched(number: int, _: Progress | None = None) -> list[Candidate]:
            factor = PENALTY_FACTORS[number]
            other = replace(aim, penalty=aim.penalty * factor if longer else aim.penalty / factor)
            start = min([*found, greedy], key=other.objective)
            if perturbs:
                return table.perturb(start.tree, other, self._stream_seed(N_STREAMS + number), PENALTY_PASSES)[:1]
            return [(table.alone if is_small else table).improve(start.tree, other)]

        tasks = [partial(searched, number) for number in range(len(PENALTY_FACTORS))]
        if table.n_threads > 1 and is_small:
            more: Iterable[Candidate] = side_by_side(tasks, table.n_threads, None)
        else:
            more = (one for task in tasks for one in task())
        tried = []
        for one in more:
            tried.append(one)
            if one.no_worse_than(greedy):
                break
        return tried

    def _stream_seed(self, number: int) -> int:
        """Return the seed of an iterated local search; those of a thorough search are lower."""
        return (self.random_seed << 24) + (1 << 23) + number


def _behind(progress: Progress | None, begin: float) -> Progress | None:
    """Return the function that takes the completed share of the work that remains after a first share."""
    return None if progress is None else lambda share: progress(begin + (1 - begin) * share)


def _judged(found: list[Candidate], sample: CodedTable, broad: CodedTable, aim: SearchObjective) -> list[Candidate]:
    """Return at most a few trees of the sample, with more rows."""
    if sample is broad:
        return found
    return [
        replace(broad.measure(one.tree, aim), from_data=one.from_data) for one in different(found, aim)[:MAX_JUDGED]
    ]


def _shared_weights(tree: GrownTree, data: GrowthData, reference_labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the weight that each leaf, by its center, shares with each cluster of the reference."""
    k, known, weight = data.k, (tree.labels >= 0) & (reference_labels >= 0), data.weight
    pairs = tree.labels[known].astype(np.int64) * k + reference_labels[known]
    return np.bincount(pairs, None if weight is None else weight[known], k * k).astype(np.float64).reshape(k, k)


def numbered(tree: GrownTree, shared: NDArray[np.float64]) -> GrownTree:
    """Return a tree whose leaves are numbered so that most weight keeps the number of its reference cluster.

    Parameters
    ----------
    shared : ndarray of float64, shape (k, k)
        The weight that each leaf, by its center, shares with each cluster of the reference.
    """
    _, number = linear_sum_assignment(-shared)
    if np.trace(shared) >= shared[np.arange(len(shared)), number].sum() * (1 - TIE):
        return tree
    return renumber_centers(tree, number)

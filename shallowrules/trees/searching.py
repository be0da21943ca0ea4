"""Searching: in which order trees of lower J than the greedy one are looked for, and which one is taken.

Lookahead trees, one from the data alone and the greedy one are candidates. They are found on a sample of the rows,
perturbed there, and judged on more rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shallowrules.trees.candidates import TIE, Candidate, SearchObjective, different
from shallowrules.trees.coded_samples import BROAD_ROWS, MAX_IMPROVED_ROWS, sample_of
from shallowrules.trees.coded_table import MAX_ROWS_BESIDE, CodedTable
from shallowrules.trees.data_tree import FEW_DATA_VALUES, from_data
from shallowrules.trees.lookahead import (
    MAX_TREES,
    ONE_ROUND_TREES,
    ROUND_FACTORS,
    WIDE_ROWS,
    WIDER_SHARES,
    SearchTask,
    look_ahead,
    wide_ahead,
)
from shallowrules.trees.progress import Progress, part_of, side_by_side
from shallowrules.trees.thorough import Thorough, note_of, search_on
from shallowrules.trees.visits import N_STREAMS, is_long, stream_passes

__all__ = ["MAX_SEARCHED_CLUSTERS", "Outcome", "Search", "objective_of"]

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


def _rounded(number: float) -> float:
    """Return a number without its last digits, which depend on the order in which rows were summed."""
    mantissa, exponent = np.frexp(number)
    return float(np.ldexp(np.round(np.ldexp(mantissa, 36)), exponent - 36))


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
    penalty = _rounded(tradeoff * reference_cost / total_weight)
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


@dataclass(frozen=True, eq=False)
class Search:
    """The search for trees of lower J than the greedy one.

    Attributes
    ----------
    task : SearchTask
    n_rows : int
        Distinct rows of the table.
    random_seed : int
    thorough : Thorough or None
    progress : callable or None
    """

    task: SearchTask
    n_rows: int
    random_seed: int
    thorough: Thorough | None
    progress: Progress | None

    @property
    def aim(self) -> SearchObjective:
        """The objective of the search."""
        return self.task.aim

    @property
    def k(self) -> int:
        """Number of centers."""
        return self.task.data.k

    @property
    def is_ahead(self) -> bool:
        """Whether lookahead trees are grown: not for very many clusters."""
        return self.k <= MAX_SEARCHED_CLUSTERS

    @property
    def by_part(self) -> bool:
        """Whether the search uses a part of the rows, and all rows only judge."""
        return self.is_ahead and self.n_rows > MAX_IMPROVED_ROWS

    def run(self, table: CodedTable, greedy: Candidate) -> Outcome:
        """Search on all rows of a table; `greedy` is the greedy tree on these rows."""
        if self.is_ahead:
            is_broad = self.k > MANY_CLUSTERS and len(table.rows) <= BROAD_ROWS
            sample = table if is_broad else sample_of(table)
            found, notes = self._searched(sample, table, greedy)
            return Outcome(found, notes, len(sample.rows), any(one.bound_reached for one in found))
        found = [table.improve(self.task.tree, self.aim, self.progress), *self._from_data(table)]
        found += [table.improve(one.tree, self.aim) for one in found if one.from_data]
        found += self._neither_dearer_nor_longer(table, found, greedy)
        return Outcome(found, (), 0, bound_reached=True)

    def finalists(self, broad: CodedTable) -> Outcome:
        """Search on a part of the rows of a large table; the trees found are then judged on all of them."""
        greedy, objective = broad.measure(self.task.tree, self.aim), self.aim.objective
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
                more, note = search_on(thorough, sample, broad, self.task, found, self.random_seed, later)
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
            return wide_ahead(sample.alone, self.task, share, wider=wider, progress=progress)

        def ahead(factor: float, best: Candidate | None, progress: Progress | None) -> list[Candidate]:
            return look_ahead(sample.alone, self.task, factor, best, max_trees, progress)

        def improved(progress: Progress | None) -> list[Candidate]:
            return [sample.alone.improve(self.task.tree, aim, progress)]

        def stream(number: int, progress: Progress | None) -> list[Candidate]:
            return sample.perturb(start.tree, aim, self._stream_seed(number), passes, progress)

        def data(_: Progress | None) -> list[Candidate]:
            return self._from_data(sample.alone)

        rounds = is_long(self.n_rows, len(sample.rows))
        max_trees = MAX_TREES if rounds else ONE_ROUND_TREES
        first, *later = ROUND_FACTORS
        wider = not rounds and len(sample.rows) > WIDE_ROWS
        shares = range(WIDER_SHARES if wider else 1)
        begun: list[Callable[[Progress | None], list[Candidate]]] = [
            partial(ahead, first, None),
            *(partial(wide, share) for share in shares),
            data,
        ]
        found = side_by_side(begun, sample.n_threads, part_of(progress, 0, 6)) or improved(None)
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
        return from_data(table, self.k, self.aim, FEW_DATA_VALUES)

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

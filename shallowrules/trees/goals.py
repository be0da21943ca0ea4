"""Goals: the cheapest tree of at most a given number of conditions, or the shortest one of at most a given cost.

The trees of all trade-offs leave gaps: a tree in a gap is the best under some bound, but not the best at any trade-off.
An iterated local search under the bound itself starts from trees on both sides of it and from the tree of the data
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from shallowrules.trees.candidates import Candidate, Goal, SearchObjective, SearchSettings
from shallowrules.trees.coded_samples import sample_of
from shallowrules.trees.coded_table import CodedTable
from shallowrules.trees.data_tree import from_data
from shallowrules.trees.extending import AllRows
from shallowrules.trees.grown_tree import CutTree, GrownTree
from shallowrules.trees.growth_data import ExplainedRows
from shallowrules.trees.progress import Progress, side_by_side

__all__ = ["search_within"]

MAX_STARTS = 4
"""Trees that a search starts from: each start takes as long as one of refinement."""
PASSES = 62.0
"""Number of times each search visits all rows of the sample."""

BROAD_PASSES = 8.0
"""Visits of all rows by which the best tree of a sample is brought within the bound on more rows. Not tuned."""


def search_within(
    goal: Goal,
    trees: Sequence[GrownTree],
    rows: ExplainedRows,
    settings: SearchSettings,
    *,
    n_clusters: int = 0,
) -> GrownTree | None:
    """Return the best tree within a bound, of some trees and those that a search from them finds; None without any.

    Parameters
    ----------
    goal : Goal
    trees : sequence of GrownTree
        Each with a leaf for each center, the likeliest first. At most `MAX_STARTS` of them serve as starts.
    rows : ExplainedRows
    settings : SearchSettings
        By its trade-off leaves are moved in random changes.
    n_clusters : int
        As in `SearchObjective`.
    """
    every = AllRows.of(trees[0], rows, settings, n_clusters=n_clusters)
    k, aim, table = rows.data.k, every.aim, every.table
    if not aim.unit > 0 or k == 1:
        return None
    found = every.judge(_found(goal, trees[:MAX_STARTS], every.broad, k, aim, settings.random_seed))
    within = [one for one in found if goal.is_met(table.normalized(one, aim))]
    if not within:
        return None
    return every.finish(min(within, key=lambda one: goal.low(table.normalized(one, aim))))[1]


def _found(
    goal: Goal, starts: Sequence[CutTree], table: CodedTable, k: int, aim: SearchObjective, seed: int
) -> list[Candidate]:
    """Return the trees at which searches from several trees and from the data end, with the rows of a table."""
    sample = sample_of(table)

    def stream(start: CutTree, number: int, progress: Progress | None) -> list[Candidate]:
        return sample.perturb(start, aim, (seed << 24) + (3 << 21) + number, PASSES, progress, goal)[:1]

    starts = [*starts, *(one.tree for one in from_data(sample, k, replace(aim, n_clusters=0)))]
    streams = [partial(stream, start, number) for number, start in enumerate(starts)]
    found = side_by_side(streams, sample.n_threads, None)
    if sample is table:
        return found
    best = min(found, key=lambda one: _excess(goal, sample.normalized(one, aim)))
    return table.perturb(best.tree, aim, seed, BROAD_PASSES, None, goal)[:1]


def _excess(goal: Goal, figures: tuple[float, float]) -> tuple[bool, float]:
    """Order trees: those within the bound first, then by the quantity to minimize."""
    return not goal.is_met(figures), goal.low(figures)

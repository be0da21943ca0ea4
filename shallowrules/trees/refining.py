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
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shallowrules.measures.metrics import partition_cost
from shallowrules.trees.candidates import TIE, Candidate, SearchObjective, SearchSettings
from shallowrules.trees.coded_samples import few_of
from shallowrules.trees.coded_table import Coded, code_rows, coded_table
from shallowrules.trees.grown_tree import CutTree, GrownTree, Objectives, renumber_centers, routed, with_gaps
from shallowrules.trees.growth_data import ExplainedRows, GrowthData
from shallowrules.trees.lookahead import SearchTask
from shallowrules.trees.progress import Progress
from shallowrules.trees.searching import MAX_SEARCHED_CLUSTERS, Outcome, Search, objective_of
from shallowrules.trees.thorough import Thorough

__all__ = ["Refinement", "WholeTable", "finished", "numbered", "refine", "refinement_of"]

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
    rows: ExplainedRows,
    settings: SearchSettings,
    *,
    thorough: Thorough | None = None,
    coded: Future[Coded] | None = None,
    progress: Progress | None = None,
) -> Refinement | None:
    """Find a tree of lower J than the greedy one for the same centers, with as many leaves, none of them empty.

    Parameters
    ----------
    tree : GrownTree
        The greedy tree, with a leaf for each center.
    rows : ExplainedRows
    settings : SearchSettings
    thorough : Thorough, optional
        To keep searching within its budget.
    coded : Future, optional
        The result of `code_rows` for the rows, if they were coded while the tree was grown.
    progress : callable, optional
        As for `shallowrules.trees.growing.grow`.

    Returns
    -------
    Refinement or None
        Its J is never above that of `tree`, as the kernel sums it. None if the clustering costs nothing.
    """
    data, unique, n_threads = rows.data, rows.unique, settings.n_threads
    kernel_weight = unique.total_weight
    aim = objective_of(settings.tradeoff, rows.reference_cost, data.total_weight, kernel_weight, data.k)
    if not aim.unit > 0:
        return None
    search = Search(SearchTask(tree, data, aim), len(unique.first), settings.random_seed, thorough, progress)
    by_part = search.by_part
    codes = code_rows(unique, n_threads, with_codes=not by_part) if coded is None else coded.result()
    table = coded_table(codes, tree, n_threads)
    if by_part:
        whole = WholeTable(data, kernel_weight / data.total_weight, n_threads)
        with ThreadPoolExecutor(1) as beside:  # most of the time a search keeps one thread busy
            judged = beside.submit(replace(whole, n_threads=1).judge, tree) if n_threads > 1 else None
            outcome = search.finalists(few_of(table))
        greedy = whole.judge(tree) if judged is None else judged.result()
        outcome = replace(
            outcome,
            found=[whole.judge(one.tree) for one in outcome.found],
        )
    else:
        greedy = table.measure(tree, aim)
        outcome = search.run(table, greedy)
    best = search.choose(outcome.found, greedy)
    if best is not greedy:
        best = best if by_part else table.measure(best.tree, aim)  # a perturbed tree has no gaps yet
        tree = finished(best, data, rows.reference_labels, has_gaps=not by_part, n_threads=n_threads)
    return refinement_of(outcome, tree, greedy, best, aim, kernel_weight)


def refinement_of(
    outcome: Outcome, tree: GrownTree, greedy: Candidate, best: Candidate, aim: SearchObjective, kernel_weight: float
) -> Refinement:
    """Return the refinement whose tree this is, from the greedy tree and the chosen one on all rows."""
    before, after = ((found.figures[0] / aim.unit, found.figures[1] / kernel_weight) for found in (greedy, best))
    notes = (*outcome.notes, *[BOUND_REACHED] * outcome.bound_reached)
    own, of_greedy = (cost + aim.tradeoff * waes for cost, waes in (after, before))
    bound = min(of_greedy, *(aim.objective(one) / aim.unit for one in outcome.found if one.from_data), math.inf)
    objectives = Objectives(own, bound, aim.reference_cost, aim.tradeoff)
    tree = replace(tree, notes=notes, objectives=objectives)
    return Refinement(tree, before, after, aim.tradeoff, outcome.n_sampled, outcome.bound_reached)


def finished(
    best: Candidate, data: GrowthData, reference_labels: NDArray[np.int32], *, has_gaps: bool, n_threads: int
) -> GrownTree:
    """Return a tree that was chosen, with the rows of its nodes and the gaps of its cuts, numbered as the reference."""
    tree = best.tree if isinstance(best.tree, GrownTree) else routed(best.tree, data.X_explain, data.weight, n_threads)
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

    def judge(self, tree: CutTree) -> Candidate:
        """Return a tree with its figures on all rows, which do not depend on their order; each center has one leaf."""
        data = self.data
        if not isinstance(tree, GrownTree):
            tree = routed(tree, data.X_explain, data.weight, self.n_threads)
        labels = tree.labels if data.weight is None else np.maximum(tree.labels, 0)  # of weight 0, they do not count
        cost = partition_cost(data.X_cluster, labels, data.weight, self.n_threads, data.cluster_ranges)
        conditions = tree.as_tree().waes * float(tree.weight[0])
        return Candidate(tree, (cost * self.unit, conditions * self.unit), False)


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

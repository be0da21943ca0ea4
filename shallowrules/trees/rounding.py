"""Rounder thresholds: cuts that leave the gap between rows where that hardly changes J.

For each cut there are some thresholds of fewer digits near its gap. The effect of a single one on J is known exactly
from the rows between it and the cut: those move to other leaves. Of all choices for the cuts whose changes add up to no
more than J may rise by, the one with the fewest digits is taken (a knapsack, solved exactly). The effect of rows that
two cuts move is found by sending all rows through the chosen tree; if J rose by more, or a leaf lost all its rows, a
smaller choice is taken.

All sums are exact, so the choice depends neither on the order of rows nor on how a table is divided into parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder
from shallowrules.errors import OptionError, OptionName, counted
from shallowrules.measures.summation import SumGrid
from shallowrules.partitions.merging import Run
from shallowrules.tables.table import Table
from shallowrules.trees.grown_tree import GrownTree, Objectives
from shallowrules.trees.moved_rows import (
    Changes,
    Edges,
    Groups,
    Leaves,
    Moving,
    sum_both,
    sum_changes,
    sum_leaves,
    sum_moves,
)
from shallowrules.trees.placing import RounderCut, place_thresholds, rounder_cuts
from shallowrules.trees.tree import Tree, sum_up

__all__ = ["ROUND_WITHIN", "SummedRows", "check_round_within", "round_thresholds", "rounds"]

ROUND_WITHIN = 0.0005
"""The share of J within which thresholds of a refined tree are rounded by default."""

SHARES = (1.0, 0.7, 0.4, 0.15, 0.0)
"""Number of choices within the bound on J that are tried: the changes of cuts that move the same rows do not add up."""


def rounds(within: float | None, grown: GrownTree) -> bool:
    """Return whether to round a tree's thresholds: by default those of a refined tree are rounded."""
    return within > 0 if within is not None else grown.objectives is not None


def check_round_within(within: float | None, *, labelled: bool) -> None:
    """Raise OptionError if thresholds should be rounded although rules follow given labels."""
    if within and labelled:
        raise OptionError(
            OptionName("round_within", within),
            " does not apply to given labels, whose thresholds stay between the labels; omit it",
        )


@dataclass(frozen=True, eq=False)
class SummedRows:
    """The rows of a table or of its parts, and how they are added up.

    Attributes
    ----------
    run : callable
        As `Run` says; the functions can be pickled.
    grid : SumGrid
        For sums of the clustered columns.
    in_parts : bool
        Whether `run` sees the rows in parts, so that no function knows all of them.
    n_threads : int
        The result does not depend on it.
    """

    run: Run
    grid: SumGrid
    in_parts: bool = False
    n_threads: int = 1


def round_thresholds(
    grown: GrownTree,
    encoder: Encoder,
    table: Table,
    rows: SummedRows,
    objectives: Objectives,
    *,
    within: float | None,
) -> GrownTree:
    """Return a tree whose thresholds have as few digits as a bound on J allows.

    Parameters
    ----------
    grown : GrownTree
        Over the model columns. Rows follow its gaps.
    encoder : Encoder
    table : Table
        Only the types of its columns matter.
    rows : SummedRows
    objectives : Objectives
        J of the tree, and the bound that it may not exceed.
    within : float or None
        The share of J that it may rise by, above 0. None for `ROUND_WITHIN`, but never above the bound.

    Returns
    -------
    GrownTree
        The given one if no threshold can be rounder. Else with `threshold`, the rows and weights of its nodes, and a
        note that says what changed; without `labels`; its gaps are no longer those of its rows.
    """
    cuts = rounder_cuts(grown, encoder, table)
    if not cuts or not objectives.reference_cost > 0:
        return grown
    rise = (ROUND_WITHIN if within is None else within) * objectives.own
    if within is None:
        rise = min(rise, objectives.bound - objectives.own) * (1 - 1e-9)
    on, run = Moving(place_thresholds(grown, encoder, table), rows.grid, rows.n_threads), rows.run
    leaves: Leaves
    groups: Groups
    if rows.in_parts:
        leaves = run(sum_leaves, (on, cuts))
        cuts = leaves.few_moved(on.tree, cuts)
        if not cuts:
            return grown
        groups = run(sum_moves, (on, cuts))
    else:
        leaves, groups = run(sum_both, (on, cuts))
        cuts = leaves.few_moved(on.tree, cuts)
    pricing = _Pricing.of(on, leaves, objectives)
    options = _priced(groups, cuts, pricing)
    choices: dict[bytes, NDArray[np.float64]] = {}
    for share in SHARES:
        threshold = _fewest_digits(on.tree, options, rise * share * objectives.reference_cost)
        choices.setdefault(threshold.tobytes(), threshold)
    choices.pop(on.tree.threshold.tobytes(), None)
    if not choices:
        return grown
    first, *others = choices.values()  # the others are hardly ever needed, and then take one more pass
    for some in ([first], others):
        changes: Changes = run(sum_changes, (on, some)) if some else Changes([])
        for threshold, moved in zip(some, changes.moved, strict=True):
            cost = pricing.rise(moved)
            if cost <= rise * objectives.reference_cost:
                paid = objectives.reference_cost * objectives.own  # 0 where each cluster's rows are equal
                share = cost / paid if paid > 0 else 0.0
                return _with_thresholds(grown, threshold, pricing, moved, share)
    return grown


# The cost ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pricing:
    """The change in J from rows that move to other leaves, in units of the cost.

    Parameters
    ----------
    tree : Tree
        With the rows and weights of its leaves as they were added up.
    grid : SumGrid
    means : ndarray of float64, shape (n_clusters, m)
    weight : ndarray of float64, shape (n_clusters,)
    penalty : float
        The cost of a condition of a row of weight 1.
    """

    tree: Tree
    grid: SumGrid
    means: NDArray[np.float64]
    weight: NDArray[np.float64]
    penalty: float

    @classmethod
    def of(cls, on: Moving, leaves: Leaves, objectives: Objectives) -> _Pricing:
        tree, k = on.tree, int(on.tree.cluster.max()) + 1
        weight = np.zeros(k)
        sums = np.zeros((leaves.sums.shape[0], k, leaves.sums.shape[2]))
        for leaf in tree.leaves:
            weight[tree.cluster[leaf]] += leaves.weight[leaf]
            sums[:, tree.cluster[leaf]] += leaves.sums[:, leaf]
        penalty = objectives.tradeoff * objectives.reference_cost / float(weight.sum())
        tree = replace(tree, rows=leaves.rows, weight=leaves.weight)
        return cls(tree, on.grid, on.grid.means(sums, weight), weight, penalty)

    def rise(self, groups: Groups) -> float:
        """Return the cost of moving rows; infinity if a leaf loses all."""
        moved = _Moved.of(groups, self)
        return moved.rises([0, len(groups.keys)])[-1]

    @cached_property
    def conditions(self) -> NDArray[np.int32]:
        """The number of conditions of each node."""
        return self.tree.explanation_size


@dataclass(frozen=True, eq=False)
class _Moved:
    """Groups of rows that move, with the change from each.

    A row x that goes from cluster a to b adds ``|x - m_b|² - |x - m_a|²`` around the old means, and the cost of its
    conditions. The means move as well: see `rises`.

    Parameters
    ----------
    pricing : _Pricing
    place, source, target : ndarray of int64, shape (n,)
        The interval that they lie in, ascending, and the leaves that they come from and to.
    rows : ndarray of int64, shape (n,)
    weight, added : ndarray of float64, shape (n,)
    around : ndarray of float64, shape (2, n, m)
        The sums of the rows around the means of the clusters that they come from and to.
    """

    pricing: _Pricing
    place: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    added: NDArray[np.float64]
    around: NDArray[np.float64]

    @classmethod
    def of(cls, groups: Groups, pricing: _Pricing) -> _Moved:
        """Return the groups of rows of a tree."""
        tree, means, weight = pricing.tree, pricing.means, groups.weight
        place, pair = np.divmod(groups.keys, tree.n_nodes**2)
        source, target = np.divmod(pair, tree.n_nodes)
        a, b = (means[tree.cluster[leaf]] for leaf in (source, target))
        sums = pricing.grid.sums(groups.sums)
        with np.errstate(over="ignore", invalid="ignore"):
            added = -2 * ((sums - weight[:, None] * (a / 2 + b / 2)) * (b - a)).sum(axis=1)
            added += pricing.penalty * weight * (pricing.conditions[target] - pricing.conditions[source])
            around = np.stack([sums - weight[:, None] * a, sums - weight[:, None] * b])
        return cls(pricing, place, source, target, groups.rows, weight, added, around)

    def rises(self, ends: Sequence[int]) -> list[float]:
        """Return the added cost if the groups move from the first of some places up, or down, to each of the others.

        It is infinity if a leaf loses all its rows. A cluster of the new weight W whose rows then sum to d around its
        old mean costs ``|d|² / W`` less.
        """
        tree, pricing = self.pricing.tree, self.pricing
        low, high = min(ends), max(ends)
        leaves, leaf = np.unique(np.concatenate([self.source[low:high], self.target[low:high]]), return_inverse=True)
        clusters, cluster = np.unique(tree.cluster[leaves], return_inverse=True)
        source, target = leaf[: high - low], leaf[high - low :]
        rows, weight = tree.rows[leaves].copy(), pricing.weight[clusters].copy()
        around, added = np.zeros((len(clusters), self.around.shape[2])), 0.0
        rises = []
        with np.errstate(over="ignore", invalid="ignore"):
            for begin, end in pairwise(ends):
                first, last = sorted((begin, end))
                if first < last:
                    some = slice(first, last)
                    added += float(self.added[some].sum())
                    for sign, leaf, sums in ((-1, source, self.around[0]), (1, target, self.around[1])):
                        of_group = leaf[first - low : last - low]
                        np.add.at(rows, of_group, sign * self.rows[some])
                        np.add.at(weight, cluster[of_group], sign * self.weight[some])
                        np.add.at(around, cluster[of_group], sign * sums[some])
                total = math.inf
                if rows.all():
                    changed = around.any(axis=1)
                    total = added - float((around[changed] / weight[changed, None] * around[changed]).sum())
                rises.append(total if math.isfinite(total) else math.inf)
        return rises


def _priced(
    groups: Groups, cuts: Mapping[int, Sequence[RounderCut]], pricing: _Pricing
) -> dict[int, list[tuple[RounderCut, float]]]:
    """Return for each node the candidates that leave no leaf empty, with the change that each makes alone."""
    tree, found = pricing.tree, {}
    edges, moved = Edges.of(tree, cuts), _Moved.of(groups, pricing)
    ends = np.searchsorted(moved.place, np.arange(len(edges.values)), side="right")  # of the groups up to each edge
    for node, some in cuts.items():
        own = edges.place(node, float(tree.threshold[node]))
        place_of = {cut.threshold: edges.place(node, cut.threshold) for cut in some}
        rise = {own: 0.0}  # a scaler may bring a candidate to the threshold itself
        for places in (
            sorted(place for place in place_of.values() if place > own),
            sorted((place for place in place_of.values() if place < own), reverse=True),
        ):
            if places:
                rise |= zip(places, moved.rises([int(ends[place]) for place in (own, *places)]), strict=True)
        priced = [(cut, rise[place_of[cut.threshold]]) for cut in some]
        if any(math.isfinite(rise) for _, rise in priced):
            found[node] = [(cut, rise) for cut, rise in priced if math.isfinite(rise)]
    return found


def _fewest_digits(
    tree: Tree, options: Mapping[int, Sequence[tuple[RounderCut, float]]], room: float
) -> NDArray[np.float64]:
    """Return the thresholds that save most digits and add at most `room`; among equal choices, those that add least."""
    threshold = tree.threshold.copy()
    most = sum(max(cut.saved for cut, _ in some) for some in options.values())
    least = np.full(most + 1, math.inf)  # the least cost of choices that save this many digits
    least[0] = 0.0
    taken: list[tuple[int, Sequence[tuple[RounderCut, float]], NDArray[np.intp]]] = []
    for node, some in options.items():
        best, which = least.copy(), np.full(most + 1, -1)
        for i, (cut, rise) in enumerate(some):
            through = np.full(most + 1, math.inf)
            through[cut.saved :] = least[: most + 1 - cut.saved] + rise
            better = through < best
            best[better], which[better] = through[better], i
        least = best
        taken.append((node, some, which))
    within = np.flatnonzero(least <= room)
    saved = int(within[-1]) if len(within) else 0
    for node, some, which in reversed(taken):
        if which[saved] >= 0:
            cut = some[which[saved]][0]
            threshold[node] = cut.threshold
            saved -= cut.saved
    return threshold


def _with_thresholds(
    grown: GrownTree, threshold: NDArray[np.float64], pricing: _Pricing, moved: Groups, share: float
) -> GrownTree:
    """Return the tree with these thresholds and the rows that they move; `share` is the change of J."""
    tree = pricing.tree
    rows, weight = tree.rows.copy(), tree.weight.copy()
    for leaf, sign in zip(np.divmod(moved.keys, tree.n_nodes), (-1, 1), strict=True):
        np.add.at(rows, leaf, sign * moved.rows)
        np.add.at(weight, leaf, sign * moved.weight)
    sum_up(tree.left, tree.right, rows, weight)
    n_moved = int(moved.rows.sum())
    notes = grown.notes
    if n_moved:
        n_rounded = int(np.count_nonzero(threshold != tree.threshold))
        said = f"{abs(share):.2%}"
        verb = "raised" if share > 0 else "lowered"
        change = "hardly changed the objective" if said == "0.00%" else f"{verb} the objective by {said}"
        notes += (
            f"{counted(n_rounded, 'threshold')} rounded: this moved {n_moved:,} of {counted(int(rows[0]), 'row')} to "
            f"another cluster and {change}",
        )
    return replace(
        grown, cut=threshold, threshold=threshold, rows=rows, weight=weight, labels=np.empty(0, np.int32), notes=notes
    )

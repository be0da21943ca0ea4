"""Rounder thresholds: cuts that leave the gap between rows where J hardly knows the difference.

For each cut there are some thresholds of fewer digits near its gap. What one of them alone does to J is known exactly
from the rows between it and the cut: those come into other leaves. Of all cuts together that choice is taken which has
the fewest digits while these changes add up to what J may rise by (a knapsack, solved exactly). What rows do that two
cuts move is found by sending all rows through the chosen tree; if J rose by more, or a leaf lost all its rows, a
smaller choice is taken.

All sums are exact, so that the choice depends neither on the order of rows nor on how a table is cut into parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder
from shallowrules.errors import OptionError, OptionName, counted
from shallowrules.growing import GrownTree, Objectives
from shallowrules.moved_rows import (
    Changes,
    Group,
    Leaves,
    Moves,
    Moving,
    RoundedRows,
    edges_of,
    sum_both,
    sum_changes,
    sum_leaves,
    sum_moves,
)
from shallowrules.placing import RounderCut, place_thresholds, rounder_cuts
from shallowrules.summation import SumGrid
from shallowrules.table import Table
from shallowrules.tree import LEAF, Tree

__all__ = ["ROUND_WITHIN", "check_round_within", "round_thresholds", "rounds"]

ROUND_WITHIN = 0.0005
"""The share of J that thresholds of a refined tree are rounded within where nothing else is asked for."""

SHARES = (1.0, 0.7, 0.4, 0.15, 0.0)
"""Of what J may rise by: choices that are tried, for where two cuts move the same rows their changes do not add up."""


def rounds(within: float | None, grown: GrownTree) -> bool:
    """Return whether a tree's thresholds are to be rounded: by default those of a refined tree are."""
    return within > 0 if within is not None else grown.objectives is not None


def check_round_within(within: float | None, *, labelled: bool) -> None:
    """Raise OptionError for thresholds that are asked to be rounded where rules follow given labels."""
    if within and labelled:
        raise OptionError(
            OptionName("round_within", within),
            " does not apply to given labels: thresholds stay where these part. Leave it out",
        )


Run = Callable[[Callable[[RoundedRows, Any], Any], Any], Any]
"""Calls a function with the rows of a table, or of each of its parts, and a state; returns the merged results."""


def round_thresholds(
    grown: GrownTree,
    encoder: Encoder,
    table: Table,
    grid: SumGrid,
    run: Run,
    objectives: Objectives,
    *,
    within: float | None,
    in_parts: bool = False,
    n_threads: int = 1,
) -> GrownTree:
    """Return a tree whose thresholds have as few digits as a bound on J allows.

    Parameters
    ----------
    grown : GrownTree
        Over the model columns. Rows follow its gaps.
    encoder : Encoder
    table : Table
        Nothing but the types of its columns matters.
    grid : SumGrid
        For sums of the clustered columns.
    run : callable
        As `Run` says; the functions can be pickled.
    objectives : Objectives
        J of the tree, and of the greedy one.
    within : float or None
        The share of J that it may rise by, above 0. None for `ROUND_WITHIN`, but never above J of the greedy tree.
    in_parts : bool
        Whether `run` sees the rows in parts, so that no function knows all of them.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    GrownTree
        The given one if no threshold can be rounder. Else with `threshold`, the rows and weights of its nodes, and a
        note that says what changed; without `labels`, and its gaps are no longer those of its rows.
    """
    cuts = rounder_cuts(grown, encoder, table)
    if not cuts or not objectives.reference_cost > 0:
        return grown
    rise = (ROUND_WITHIN if within is None else within) * objectives.own
    if within is None:
        rise = min(rise, objectives.greedy - objectives.own) * (1 - 1e-9)
    on = Moving(place_thresholds(grown, encoder, table), grid, n_threads)
    leaves: Leaves
    moves: Moves
    if in_parts:
        leaves = run(sum_leaves, (on, cuts))
        cuts = leaves.few_moved(cuts)
        moves = run(sum_moves, (on, cuts)) if cuts else Moves({})
    else:
        leaves, moves = run(sum_both, (on, cuts))
        cuts = leaves.few_moved(cuts)
    pricing = _Pricing.of(on, leaves, objectives)
    options = _priced(moves, cuts, on, pricing)
    choices: dict[bytes, NDArray[np.float64]] = {}
    for share in SHARES:
        threshold = _fewest_digits(on.tree, options, rise * share * objectives.reference_cost)
        choices.setdefault(threshold.tobytes(), threshold)
    choices.pop(on.tree.threshold.tobytes(), None)
    if not choices:
        return grown
    first, *others = choices.values()  # hardly ever are the others needed, and then in one more pass
    for some in ([first], others):
        changes: Changes = run(sum_changes, (on, some)) if some else Changes([])
        for threshold, moved in zip(some, changes.moved, strict=True):
            cost = pricing.rise(moved)
            if cost <= rise * objectives.reference_cost:
                share = cost / objectives.reference_cost / objectives.own
                return _with_thresholds(grown, threshold, pricing, moved, share)
    return grown


# What it costs -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pricing:
    """What rows that move to other leaves add to J, in units of the cost.

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

    def rise(self, groups: Mapping[int, Group]) -> float:
        """Return what is added if rows move, by both leaves as one number; infinity if a leaf loses all."""
        return self.rise_of(_Moved.of(groups, self.tree.n_nodes, self.grid))

    def rise_of(self, moved: _Moved) -> float:
        """Return what is added if rows move; infinity if a leaf loses all.

        A row x that goes from cluster a to b adds ``|x - m_b|² - |x - m_a|²`` around the means as they were. These move
        along: a cluster of the new weight W whose rows then sum to d around its mean m costs ``|d|² / W`` less.
        """
        tree, means = self.tree, self.means
        left = tree.rows.copy()
        np.subtract.at(left, moved.source, moved.rows)
        np.add.at(left, moved.target, moved.rows)
        if (left[tree.leaves] == 0).any():
            return math.inf
        weight, sums = moved.weight, moved.sums
        a, b = tree.cluster[moved.source], tree.cluster[moved.target]
        gained, around = np.zeros(len(self.weight)), np.zeros(means.shape)
        for cluster, sign in ((a, -1.0), (b, 1.0)):
            np.add.at(gained, cluster, sign * weight)
            np.add.at(around, cluster, sign * (sums - weight[:, None] * means[cluster]))
        changed = np.flatnonzero(around.any(axis=1))
        with np.errstate(over="ignore", invalid="ignore"):
            middles = sums - weight[:, None] * (means[a] / 2 + means[b] / 2)
            added = -2 * (middles * (means[b] - means[a])).sum(axis=1)
            added += self.penalty * weight * (self._conditions[moved.target] - self._conditions[moved.source])
            size = (self.weight + gained)[changed, None]
            total = float(added.sum() - (around[changed] / size * around[changed]).sum())
        return total if math.isfinite(total) else math.inf

    @cached_property
    def _conditions(self) -> NDArray[np.int32]:
        return self.tree.explanation_size


@dataclass(frozen=True, eq=False)
class _Moved:
    """Groups of rows that move, as arrays with an entry for each.

    Parameters
    ----------
    interval, source, target : ndarray of int64, shape (n,)
        Where they lie, and the leaves that they come from and to.
    rows, weight : ndarray, shape (n,)
    sums : ndarray of float64, shape (n, m)
    """

    interval: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, groups: Mapping[int, Group], n_nodes: int, grid: SumGrid) -> _Moved:
        """Return groups in the order of their keys, as `moved_rows` makes these."""
        keys = np.array(sorted(groups), dtype=np.int64)
        ordered = [groups[key] for key in keys.tolist()]
        interval, pair = np.divmod(keys, n_nodes**2)
        source, target = np.divmod(pair, n_nodes)
        rows = np.array([group.rows for group in ordered], dtype=np.int64)
        weight = np.array([group.weight for group in ordered])
        parts = [group.sums for group in ordered]
        sums = grid.sums(np.stack(parts, axis=1)) if parts else np.zeros((0, len(grid.exponent)))
        return cls(interval, source, target, rows, weight, sums)

    def between(self, low: int, high: int) -> _Moved:
        """Return those in the intervals above `low` and up to `high`."""
        chosen = (self.interval > low) & (self.interval <= high)
        return _Moved(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def _priced(
    moves: Moves, cuts: Mapping[int, Sequence[RounderCut]], on: Moving, pricing: _Pricing
) -> dict[int, list[tuple[RounderCut, float]]]:
    """Return for each node its candidates with what each alone adds, those that leave no leaf empty."""
    found = {}
    for node, some in cuts.items():
        own = float(on.tree.threshold[node])
        edges = edges_of(own, some)
        place = int(np.searchsorted(edges, own))
        moved = _Moved.of(moves.groups[node], on.tree.n_nodes, on.grid)
        priced = []
        for cut in some:
            low, high = sorted((place, int(np.searchsorted(edges, cut.threshold))))
            rise = pricing.rise_of(moved.between(low, high))
            if math.isfinite(rise):
                priced.append((cut, rise))
        if priced:
            found[node] = priced
    return found


def _fewest_digits(
    tree: Tree, options: Mapping[int, Sequence[tuple[RounderCut, float]]], room: float
) -> NDArray[np.float64]:
    """Return the thresholds that save most digits and add at most `room`; of equal choices those that add least."""
    threshold = tree.threshold.copy()
    most = sum(max(cut.saved for cut, _ in some) for some in options.values())
    least = np.full(most + 1, math.inf)  # what the choices that save so many digits add at least
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
    grown: GrownTree, threshold: NDArray[np.float64], pricing: _Pricing, moved: Mapping[int, Group], share: float
) -> GrownTree:
    """Return the tree with such thresholds and what they move; `share` is the change of J."""
    tree = pricing.tree
    rows, weight = tree.rows.copy(), tree.weight.copy()
    for key, group in moved.items():
        source, target = divmod(key, tree.n_nodes)
        for leaf, sign in ((source, -1), (target, 1)):
            rows[leaf] += sign * group.rows
            weight[leaf] += sign * group.weight
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:
        left, right = tree.left[node], tree.right[node]
        rows[node], weight[node] = rows[left] + rows[right], weight[left] + weight[right]
    n_moved = sum(group.rows for group in moved.values())
    notes = grown.notes
    if n_moved:
        n_rounded = int(np.count_nonzero(threshold != tree.threshold))
        said = f"{100 * abs(share):.2f} %"
        change = "hardly changed" if said == "0.00 %" else f"{said} {'higher' if share > 0 else 'lower'}"
        notes += (
            f"{counted(n_rounded, 'threshold')} rounded: {counted(n_moved, 'row')} of {int(rows[0]):,} in another "
            f"cluster for it, the objective {change}",
        )
    return replace(
        grown, cut=threshold, threshold=threshold, rows=rows, weight=weight, labels=np.empty(0, np.int32), notes=notes
    )

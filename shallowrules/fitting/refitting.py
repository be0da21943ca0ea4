"""Continue from earlier rules: their tree is compared with the new one, and clusters keep numbers and names.

The objective J is that of refinement, ``cost / reference cost + tradeoff * WAES``, on the new rows. The earlier rules,
unchanged, are preferred. Their cuts with thresholds placed again, and the tree that was grown, are each taken only
where they lower J by more than a share of it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder
from shallowrules.errors import OptionError, counted
from shallowrules.fitting.data import FitData, FitParameters, Log
from shallowrules.fitting.earlier import kept_scales, outside_notes
from shallowrules.fitting.finishing import Fit
from shallowrules.fitting.growing import grow
from shallowrules.fitting.keeping import KeptCut, cut_gap, kept_cuts, readable_column
from shallowrules.fitting.whole import TableData
from shallowrules.rules import Cut, Flow, Leaf, Node, RuleSet, match_clusters
from shallowrules.rules.figures import normalized_cost, show_figure
from shallowrules.rules.words.editing import notes_of_edits
from shallowrules.tables.table import Table
from shallowrules.trees.grown_tree import CutTree, GrownTree
from shallowrules.trees.placing_again import place_again
from shallowrules.trees.rounding import ROUND_WITHIN
from shallowrules.trees.row_samples import RowSample
from shallowrules.trees.tree import LEAF

__all__ = ["go_on", "judge", "named_as", "numbers_of"]

MIN_ROWS = 2
"""Rows per cluster in half of a table below which no other rules are tried on the halves, and the earlier ones stay."""

MANY_MOVED = 0.05
"""Share of rows that change cluster above which a note says that the earlier rules would do."""

Data = TypeVar("Data", bound=FitData)

IsWithin = Callable[[float, float], bool]
"""Tells whether a normalized cost and a WAES are within the requested bounds."""


@dataclass(frozen=True, eq=False)
class _Judged:
    """A tree with its figures on the new rows."""

    tree: GrownTree
    cost: float
    waes: float
    tradeoff: float

    @property
    def objective(self) -> float:
        """J."""
        return self.cost + self.tradeoff * self.waes

    @property
    def n_clusters(self) -> int:
        """Clusters that have rows in every leaf; 0 where a leaf has none."""
        leaves = self.tree.leaves
        return len(np.unique(self.tree.center[leaves])) if self.tree.rows[leaves].all() else 0

    def __str__(self) -> str:
        return f"cost {show_figure(self.cost, '.4g')} of the clustering's, {self.waes:.3g} conditions per row"


@dataclass(frozen=True, eq=False)
class Judgement:
    """Which tree was taken.

    Attributes
    ----------
    tree : GrownTree
    notes : tuple of str
        Why it was.
    old_rules : str
        How to keep the earlier rules, and their cost on the new rows, or the difference from them if they stay; empty
        if they were not considered.
    stays : bool
        Whether the earlier rules stay as they are.
    """

    tree: GrownTree
    notes: tuple[str, ...] = ()
    old_rules: str = ""
    stays: bool = False


def judge(data: FitData, grown: GrownTree, tradeoff: float, log: Log, within: IsWithin | None = None) -> Judgement:
    """Return the tree to take: that of the earlier rules, the same cuts with other thresholds, or the grown one.

    Parameters
    ----------
    data : FitData
        With earlier rules.
    grown : GrownTree
        One of the trees that `grow` returned.
    tradeoff : float
        The one that it was grown with.
    log : callable
    within : callable, optional
        A goal that no tree may miss which is taken in place of the grown one.
    """
    earlier = data.parameters.earlier
    if earlier is None or data.reference.labelled:
        return Judgement(grown)
    old_tree, why = _tree_of(earlier, data)
    if old_tree is None:
        return Judgement(grown, (f"the earlier tree was not considered: {why}",))
    tradeoff = tradeoff if data.parameters.method == "exshallow" else 0.0
    judging = _Judging(data, data.sample(), old_tree, tradeoff)
    old, fresh = judging.figures(data.routed(old_tree)), judging.figures(grown)
    again = judging.figures(judging.placed_again(data, judging.sample))
    for what, tree in (("the earlier rules", old), ("the same cuts placed again", again), ("a new tree", fresh)):
        log(f"{what}: {tree}, J {tree.objective:.4f}")
    stays, moves = (
        tree.n_clusters >= fresh.n_clusters and (within is None or within(tree.cost, tree.waes))
        for tree in (old, again)
    )
    moves = moves and not data.parameters.keep  # kept cuts fix their thresholds
    best = old if stays else again if moves else fresh
    if best is old and moves and judging.is_better(again, old, judging.place_on):
        best = again
    if best is not fresh and judging.is_better(fresh, best, judging.grow_on):
        best = fresh
    taken = fresh.tree if best is fresh else _staying(best.tree, data.encoder)
    if best is old:
        asked = f"{data.parameters.min_gain:.1%}"
        note = (
            f"the earlier rules stay: no others lower J (cost and length) by {asked}, the least gain that was asked "
            "for, including on rows that they were not fitted to"
        )
        return Judgement(taken, (note,), ", since these differ only in imputed values", stays=True)
    how = "the earlier cuts have new thresholds" if best is again else "the tree is new"
    empty = "" if old.n_clusters else ", and one of them matches no row"
    keeping = f"{' (with a larger gain asked for)' if stays else ''}, with {old}"
    return Judgement(taken, (f"{how}: {best}; by the earlier rules {old}{empty}",), keeping)


def _staying(tree: GrownTree, encoder: Encoder) -> GrownTree:
    """Return a tree whose thresholds stay as they are; those of codes are placed in the gaps that they are in."""
    stays = np.array([*(column.kind != "code" for column in encoder.columns), False])  # the last, at LEAF
    return replace(tree, kept=stays[tree.feature])


@dataclass(frozen=True, eq=False)
class _Judging:
    """How trees are compared: on all rows, and on rows that they were not made from."""

    data: FitData
    sample: RowSample
    old: CutTree
    tradeoff: float

    def figures(self, tree: GrownTree, data: FitData | None = None) -> _Judged:
        """Return a tree with its figures, on other rows if some are given."""
        data = data or self.data
        return _Judged(tree, normalized_cost(*data.costs(tree)), tree.as_tree().waes, self.tradeoff)

    def is_better(self, tree: _Judged, than: _Judged, make: Callable[[TableData], GrownTree]) -> bool:
        """Return whether a tree is better by the share of J that is asked for, and `make` confirms it.

        On the rows that it was made from, a tree looks better than it is, the more so the fewer they are. So `make`
        builds a tree from each half of the rows, and the other half compares it with the present one.
        """
        least = 1 - self.data.parameters.min_gain
        if not tree.objective < least * than.objective or len(self.sample.weight) < MIN_ROWS * len(self._centers):
            return False
        halves = [self.sample.taken(slice(first, None, 2)) for first in (0, 1)]
        tables = [TableData.of_rows(self.data, half, self._centers) for half in halves]
        before = after = 0.0
        for own, other in (tables, tables[::-1]):
            try:
                made = make(own)
            except OptionError:  # all its clusters are on one side of a kept cut
                return False
            before += self.figures(other.routed(than.tree), other).objective
            after += self.figures(other.routed(made), other).objective
        return after < least * before

    @property
    def _centers(self) -> NDArray[np.float64]:
        return self.data.reference.centers

    def grow_on(self, rows: TableData) -> GrownTree:
        """Return a new tree for some rows."""
        [trees] = grow(rows, [self.tradeoff], None, lambda line: None)
        return trees[-1]

    def place_on(self, rows: TableData) -> GrownTree:
        """Return the earlier cuts with thresholds for some rows."""
        return self.placed_again(rows, rows.sample())

    def placed_again(self, data: FitData, rows: RowSample) -> GrownTree:
        """Return the earlier cuts with thresholds for the rows of a table, placed on a sample of them."""
        round_within = data.parameters.round_within
        tree = data.routed(self.old)
        placed = place_again(
            tree,
            rows,
            data.encoder,
            data.table,
            penalty=self.tradeoff * data.costs(tree)[1] / float(tree.weight[0]),
            within=ROUND_WITHIN if round_within is None else round_within,
        )
        return tree if placed is tree else data.routed(placed)


def _tree_of(earlier: RuleSet, data: FitData) -> tuple[CutTree | None, str]:
    """Return the tree of earlier rules over the model columns and centers of a new table; or None, and why."""
    parameters, encoder = data.parameters, data.encoder
    k, clusters = len(data.reference.centers), [cluster.index for cluster in earlier.clusters]
    n_leaves = sum(isinstance(node, Leaf) for node in earlier.nodes)
    if len(clusters) > k:
        return None, f"it has {len(clusters)} clusters, instead of {k}"
    if n_leaves > (parameters.max_leaves or k):
        return None, f"it has {n_leaves} rules, more than {parameters.max_leaves or k}"
    if encoder.transformer is not None:
        return None, "the columns are transformed"
    matched = match_clusters(data.count_pairs(earlier, None))
    free = (center for center in range(k) if center not in matched.values())
    centers = {index: matched[index] if index in matched else next(free) for index in clusters}
    places = {name: i for i, name in enumerate(data.table.names)}
    cuts = []
    for node in earlier.nodes:
        cut = (LEAF, 0.0, 0.0, 0.0) if isinstance(node, Leaf) else _cut_of(node, earlier, encoder, data.table, places)
        if cut is None:
            return None, f"this table has no cut like its {_condition(node, earlier)}"
        cuts.append(cut)
    feature, cut_, lower, upper = map(np.array, zip(*cuts, strict=True))
    sides = [(LEAF, LEAF) if isinstance(node, Leaf) else _sides(node) for node in earlier.nodes]
    left, right = (np.array(children, np.int32) for children in zip(*sides, strict=True))
    center = np.array([centers[node.cluster] if isinstance(node, Leaf) else LEAF for node in earlier.nodes], np.int32)
    tree = CutTree(feature.astype(np.int32), left, right, center, lower, upper, cut_)
    if isinstance(data, TableData) and not _starts_with(tree, kept_cuts(parameters.keep, data.encoding)):
        return None, "it does not start with the cuts to keep"
    return tree, ""


def _starts_with(tree: CutTree, kept: Sequence[KeptCut]) -> bool:
    """Return whether a tree asks for kept cuts before all others, and for the first one first."""
    wanted = [(cut.column, cut.cut) for cut in kept]
    asked, pending = [], [0]
    while pending:
        node = pending.pop()
        question = int(tree.feature[node]), float(tree.cut[node])
        if question in wanted:
            asked.append(question)
            pending += [int(tree.left[node]), int(tree.right[node])]
    return asked[:1] == wanted[:1] and set(asked) == set(wanted)


def _sides(node: Node) -> tuple[int, int]:
    """Return the values left and right of a node in the model column: 1 is right, for the rows with a category."""
    assert not isinstance(node, Leaf)
    return (node.left, node.right) if isinstance(node, Cut) else (node.right, node.left)


def _condition(node: Node, rules: RuleSet) -> str:
    assert not isinstance(node, Leaf)
    return str(node.condition(rules.columns[node.column], True))


def _cut_of(
    node: Node, earlier: RuleSet, encoder: Encoder, table: Table, places: Mapping[str, int]
) -> tuple[int, float, float, float] | None:
    """Return the model column, cut and gap of a node of earlier rules; None where there is none in a new table."""
    assert not isinstance(node, Leaf)
    place = places.get(earlier.columns[node.column].name)
    if place is None or table.columns[place].is_numeric != isinstance(node, Cut):
        return None
    column = readable_column(table.columns[place])
    if isinstance(node, Cut):
        threshold = math.floor(node.threshold) if column.is_whole else float(node.threshold)
        node = replace(node, threshold=threshold)
    condition = replace(node, column=place).condition(column, True)
    for position in encoder.explain_positions or range(len(encoder.columns)):
        model = encoder.columns[position]
        if model.source != place:
            continue
        if model.bounds is not None and isinstance(node, Cut):
            code = float(bisect_right(model.bounds.tolist(), node.threshold) - 1)
            return position, code, code, code + 1
        if (gap := cut_gap(condition, model)) is not None:
            return position, *gap
    return None


def go_on(data: Data, fit: Fit, judgement: Judgement) -> tuple[Data, Fit]:
    """Return a fit whose clusters have the numbers and names of those of earlier rules, and the flow of rows.

    A cluster is the earlier one with which it shares the most rows. Given labels keep their own numbers.
    """
    earlier, parameters = data.parameters.earlier, data.parameters
    assert earlier is not None
    pairs = data.count_pairs(earlier, fit.rules)
    matched = match_clusters(pairs)
    titles = tuple(cluster.title for cluster in earlier.clusters)
    found = tuple((old, new, rows) for (old, new), rows in sorted(pairs.items()))
    rules = replace(fit.rules, flow=Flow(tuple(cluster.index for cluster in earlier.clusters), titles, found))
    rules = named_as(rules, earlier, matched)
    if not data.reference.labelled:
        numbers = numbers_of(rules, {new: old for old, new in matched.items()}, earlier)
        rules = rules.with_numbers(numbers)
        classes = tuple(numbers.get(number, number) for number in data.reference.classes)
        names = tuple(map(str, classes))
        data = replace(data, reference=replace(data.reference, classes=classes, names=names))
        fit = replace(fit, tree=replace(fit.tree, classes=classes, names=names))
    edits = notes_of_edits(earlier) if judgement.stays else ()
    notes = (*rules.statistics.notes, *edits, *judgement.notes, *_flow_notes(rules, judgement, parameters, earlier))
    return data, replace(fit, rules=replace(rules, statistics=replace(rules.statistics, notes=notes)))


def _flow_notes(rules: RuleSet, judgement: Judgement, parameters: FitParameters, earlier: RuleSet) -> list[str]:
    """Return notes on rows outside the earlier range, and on those that change cluster."""
    notes = outside_notes(earlier, rules.columns, kept_scales(parameters))
    assert rules.flow is not None
    if rules.flow.share > MANY_MOVED and judgement.old_rules:
        statistics = rules.statistics
        cost = show_figure(statistics.normalized_cost, ".4g")
        notes.append(
            f"{rules.flow.share:.1%} of {counted(rules.flow.rows, 'row')} change cluster; the earlier rules would also "
            f"do, and would change none{judgement.old_rules}; these have cost {cost}, {statistics.waes:.3g} conditions"
        )
    return notes


def named_as(rules: RuleSet, earlier: RuleSet, matched: Mapping[int, int]) -> RuleSet:
    """Return rules with the names and notes that people gave to earlier clusters, each matched to a new one."""
    kept = [each for each in earlier.clusters if (each.is_named or each.note) and each.index in matched]
    return rules.with_names(
        {matched[each.index]: each.name for each in kept if each.is_named},
        {matched[each.index]: each.note for each in kept if each.note},
    )


def numbers_of(rules: RuleSet, matched: Mapping[int, int], earlier: RuleSet) -> dict[int, int]:
    """Return a number for each cluster: that of the earlier one that it is matched to, or else an unused one."""
    known = {index for cluster in rules.clusters for index in (cluster.index, *cluster.reference_clusters)}
    others = count(1 + max(cluster.index for cluster in earlier.clusters))
    return {index: matched[index] if index in matched else next(others) for index in sorted(known)}

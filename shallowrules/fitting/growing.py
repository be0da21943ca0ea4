"""Grow: trees that follow the clustering, greedy and refined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from shallowrules._kernel import column_ranges, route_rows
from shallowrules.clustering.reference import UNLABELLED, fit_clusterer
from shallowrules.encoding import Encoder
from shallowrules.errors import counted
from shallowrules.fitting.data import FitData, FitParameters, Log
from shallowrules.fitting.keeping import Region, divide, join, kept_cuts, regions_of
from shallowrules.measures.metrics import partition_cost
from shallowrules.measures.summation import SumGrid, WeightFacts
from shallowrules.partitions.merging import at_once
from shallowrules.rules.figures import normalized_cost
from shallowrules.trees import growing
from shallowrules.trees.extending import extend
from shallowrules.trees.growing import (
    GrownTree,
    GrowthData,
    Objectives,
    Progress,
    UniqueRows,
    find_unique_rows,
    renumber_centers,
)
from shallowrules.trees.refining import refine
from shallowrules.trees.rounding import round_thresholds, rounds
from shallowrules.trees.searching import TIE, Coded, code_rows, is_coded_beside, part_of
from shallowrules.trees.thorough import Budget, Thorough, note_of
from shallowrules.trees.tree import LEAF

__all__ = [
    "RegionRows",
    "grow",
    "lowest",
    "neighbors_of",
    "over_the_table",
    "renumbered",
    "seed_of",
    "thorough_of",
    "unique_rows",
]

NEIGHBORS = (0.01, 0.03, 0.1, 0.3)
"""Trade-offs whose trees are taken for a trade-off of 0 where they cost less: a search for the cost alone ends at a
dearer tree than one that shortens rules, too, in half of the fits tried."""


def grow(
    data: FitData,
    tradeoffs: Sequence[float],
    progress: Progress | None,
    log: Log,
    tell_best: Callable[[float], None] | None = None,
) -> list[tuple[GrownTree, ...]]:
    """Grow the greedy tree for each trade-off, and unless ``refine="none"`` a refined one behind it.

    The refined one has the lowest J of the trees of all these trade-offs: within a path cost falls and length rises
    with falling trade-off. Where trees are equal, they are the same object.

    Parameters
    ----------
    data : FitData
    tradeoffs : sequence of float
        For a method other than "exshallow" any one number.
    progress : callable or None
        Called now and then with the share of the work that is done, and at the end with 1.
    log : callable
    tell_best : callable or None
        Called in a thorough search with J of the best tree so far.

    Returns
    -------
    list of tuple of GrownTree
        One tuple per trade-off, in their order. Features are model columns, centers those of the reference.
    """
    kept, used, method = data.kept_centers, data.used_centers, data.parameters.method
    neighbors = neighbors_of(data.parameters, tradeoffs, labelled=data.reference.labelled)
    asked, tradeoffs = len(tradeoffs), [*tradeoffs, *(each for each in neighbors if each not in tradeoffs)]
    log(f"growing a tree for {counted(len(kept), 'cluster')}")
    grown = _grow_for(data, kept, tradeoffs, progress, log, tell_best)
    separates = method != "exkmc" or data.parameters.base == "imm"
    if separates and len(used) < len(kept) and any(trees[0].n_leaves < len(kept) for trees in grown):
        # More centers than distinct rows: without the centers that no row has, cuts get valid.
        smaller = _grow_for(data, used, tradeoffs, progress, log, tell_best)
        grown = [max(pair, key=lambda trees: trees[0].n_leaves) for pair in zip(grown, smaller, strict=True)]
    rounded = _round_all(data, grown, tradeoffs, log)
    if progress is not None:
        progress(1.0)
    if len(tradeoffs) > 1 and any(len(trees) > 1 for trees in rounded):
        rounded = _shared(data, rounded, tradeoffs)
    return rounded[:asked]


def neighbors_of(parameters: FitParameters, tradeoffs: Sequence[float], *, labelled: bool) -> list[float]:
    """Return the trade-offs whose trees are tried for one of 0, if that is among those asked for."""
    searches = parameters.method == "exshallow" and parameters.refine == "full" and not labelled
    return list(NEIGHBORS) if searches and 0 in tradeoffs else []


def lowest(trees: Sequence[GrownTree], objectives: Sequence[float], own: int = 0) -> int:
    """Return which tree of as many clusters as `own` has the lowest objective; `own` where none is lower."""
    counts = [len(np.unique(tree.center[tree.leaves])) for tree in trees]
    complete = [i for i, count in enumerate(counts) if count == counts[own]]
    best = min(complete, key=lambda i: objectives[i])
    return best if objectives[best] < objectives[own] * (1 - TIE) else own


def _shared(
    data: FitData, grown: list[tuple[GrownTree, ...]], tradeoffs: Sequence[float]
) -> list[tuple[GrownTree, ...]]:
    """Return for each trade-off the refined tree of the lowest J among those of all trade-offs."""
    trees = [each[-1] for each in grown]
    figures: dict[int, tuple[float, float]] = {}
    for tree in trees:
        if id(tree) not in figures:
            cost = _cost_of(data, tree) / data.reference_cost
            figures[id(tree)] = cost, tree.as_tree().waes
    shared = []
    for i, (tradeoff, each) in enumerate(zip(tradeoffs, grown, strict=True)):
        objectives = [cost + tradeoff * waes for cost, waes in (figures[id(tree)] for tree in trees)]
        shared.append((*each[:-1], trees[lowest(trees, objectives, own=i)]) if len(each) > 1 else each)
    return shared


def _cost_of(data: FitData, tree: GrownTree) -> float:
    encoding, weight = data.encoding, data.fit_weight
    labels = tree.labels if weight is None else np.maximum(tree.labels, 0)  # of weight 0, they do not count
    return partition_cost(encoding.X_cluster, labels, weight, data.parameters.n_threads, encoding.cluster_ranges)


def _round_all(
    data: FitData, grown: Sequence[tuple[GrownTree, ...]], tradeoffs: Sequence[float], log: Log
) -> list[tuple[GrownTree, ...]]:
    """Return the trees with rounder thresholds, those that are to have them; equal trees stay the same object."""
    within = data.parameters.round_within
    if not any(rounds(within, tree) for trees in grown for tree in trees):
        return list(grown)
    weight = data.fit_weight
    rows, encoding = _Rows(data.encoding.matrix, data.encoding.X_cluster, weight), data.encoding
    if weight is not None and not weight.all():
        counted = weight > 0
        rows = _Rows(rows.matrix[counted], rows.X_cluster[counted], weight[counted])
    n_threads = data.parameters.n_threads
    if data.reference_sums is not None:
        grid = data.reference_sums.grid
    else:
        grid = SumGrid.of(column_ranges(rows.X_cluster, n_threads), WeightFacts.of(rows.weight, len(rows.matrix)))

    def rounded(tree: GrownTree, tradeoff: float) -> GrownTree:
        if not rounds(within, tree):
            return tree
        here = replace(rows, leaves={})
        found = round_thresholds(
            tree,
            encoding.encoder,
            encoding.table,
            grid,
            at_once(here),
            tree.objectives or _objectives(data, tree, tradeoff),
            within=within,
            n_threads=n_threads,
        )
        if found is tree:
            return tree
        for note in found.notes[len(tree.notes) :]:
            log(note)
        if len(rows.matrix) == len(encoding.matrix):
            leaf = here.leaves[found.cut.tobytes()]
        else:
            leaf = route_rows(encoding.matrix, found.feature, found.cut, found.left, found.right, n_threads=n_threads)
        labels = found.center[leaf]
        return replace(found, labels=labels if weight is None else np.where(weight > 0, labels, np.int32(LEAF)))

    same: dict[tuple[int, float], GrownTree] = {}
    for trees, tradeoff in zip(grown, tradeoffs, strict=True):
        for tree in trees:
            key = id(tree), tradeoff
            if key not in same:
                same[key] = rounded(tree, tradeoff)
    return [tuple(same[id(tree), tradeoff] for tree in trees) for trees, tradeoff in zip(grown, tradeoffs, strict=True)]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that count, as `RoundedRows`."""

    matrix: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64] | None
    leaves: dict[bytes, NDArray[np.int32]] = field(default_factory=dict)


def _objectives(data: FitData, tree: GrownTree, tradeoff: float) -> Objectives:
    """Return J of a tree that was not refined; of methods without a trade-off it is the cost alone."""
    tradeoff = tradeoff if data.parameters.method == "exshallow" else 0.0
    cost = partition_cost(data.encoding.X_cluster, tree.labels, data.fit_weight, data.parameters.n_threads)
    own = normalized_cost(cost, data.reference_cost) + tradeoff * tree.as_tree().waes
    return Objectives(own, own, data.reference_cost, tradeoff)


def _grow_for(
    data: FitData,
    kept: NDArray[np.integer],
    tradeoffs: Sequence[float],
    progress: Progress | None,
    log: Log,
    tell_best: Callable[[float], None] | None,
) -> list[tuple[GrownTree, ...]]:
    """Grow the trees that explain the centers `kept`."""
    plan = divide(data, kept, kept_cuts(data))
    regions = regions_of(plan)
    found = [
        _grow_region(data, region, tradeoffs, part_of(progress, i, len(regions)), log, tell_best)
        for i, region in enumerate(regions)
    ]
    if isinstance(plan, Region):
        return found[0]
    grown = []
    for i, tradeoff in enumerate(tradeoffs):
        in_regions = [trees[i] for trees in found]
        greedy, refined = (
            join(plan, [trees[which] for trees in in_regions], len(data.reference.labels)) for which in (0, -1)
        )
        trees = [greedy]
        if any(len(trees) > 1 for trees in in_regions):
            before, after = (_objectives(data, tree, tradeoff).own for tree in (greedy, refined))
            best, own = (refined, after) if after < before else (greedy, before)
            trees.append(
                replace(best, notes=refined.notes, objectives=Objectives(own, before, data.reference_cost, tradeoff))
            )
        grown.append(tuple(trees))
    return grown


def _grow_region(
    data: FitData,
    region: Region,
    tradeoffs: Sequence[float],
    progress: Progress | None,
    log: Log,
    tell_best: Callable[[float], None] | None,
) -> list[tuple[GrownTree, ...]]:
    """Grow the trees that explain the centers of a region; labels are those of its rows."""
    encoding, reference, parameters = data.encoding, data.reference, data.parameters
    method, n_threads, kept = parameters.method, parameters.n_threads, region.centers
    refines = (
        parameters.refine != "none" and method == "exshallow" and not reference.labelled and data.reference_cost > 0
    )
    with_imm = method == "imm" or (method == "exkmc" and parameters.base == "imm")
    rows = RegionRows.of(data, region)
    # Of rows whose center is on the other side of a kept cut, the nearest one on this side.
    assigned = renumbered(rows.labels, kept) if with_imm and region.rows is None else None
    unique = unique_rows(data, region, rows, assigned)
    n_parts = 1 + refines * len(tradeoffs)
    first_part = part_of(progress, 0, n_parts)
    coded = None
    with ThreadPoolExecutor(1) as beside:
        if refines and is_coded_beside(unique, n_threads):
            coded = beside.submit(code_rows, unique, 1, with_codes=True)
        if len(tradeoffs) > 1:
            greedy = growing.grow_path(
                unique,
                tradeoffs,
                distances=_known_distances(data, region, unique),
                n_threads=n_threads,
                progress=first_part,
            )
        else:
            tree = growing.grow(
                unique,
                method=method,
                tradeoff=tradeoffs[0],
                max_leaves=parameters.max_leaves,
                base=parameters.base,
                distances=_known_distances(data, region, unique),
                n_threads=n_threads,
                progress=first_part,
            )
            greedy = [tree]
    by_model_column: dict[int, tuple[GrownTree, GrownTree]] = {}  # with the tree itself, whose id is the key
    grown = []
    for i, (tradeoff, tree) in enumerate(zip(tradeoffs, greedy, strict=True)):
        trees = [tree]
        if refines and tree.n_leaves == len(kept) > 1:
            thorough = thorough_of(parameters, len(kept), log, tell_best)
            part = part_of(progress, 1 + i, n_parts)
            trees.append(_refined(tree, unique, data, rows, kept, tradeoff, thorough, coded, log, part))
        takes_more = method == "exshallow" and parameters.max_leaves is not None and region.rows is None
        if takes_more and tree.n_leaves == len(kept):
            trees = [_extended(one, unique, data, rows, kept, tradeoff, log, searches=one is not tree) for one in trees]
        for one in trees:
            if id(one) not in by_model_column:
                by_model_column[id(one)] = one, over_the_table(renumber_centers(one, kept), encoding.encoder)
        grown.append(tuple(by_model_column[id(one)][1] for one in trees))
    return grown


def unique_rows(
    data: FitData, region: Region, rows: RegionRows, assigned: NDArray[np.int32] | None = None
) -> UniqueRows:
    """Return the distinct rows of a region and its centers; `assigned` as for `find_unique_rows`."""
    encoding, reference, kept = data.encoding, data.reference, region.centers
    return find_unique_rows(
        GrowthData(
            rows.X_explain,
            rows.X_cluster,
            reference.explain_centers[kept],
            reference.centers[kept],
            rows.weight,
            encoding.explain_ranges,
            encoding.cluster_ranges,
            region.path_sides,
        ),
        assigned,
        data.parameters.n_threads,
    )


@dataclass(frozen=True, eq=False)
class RegionRows:
    """The rows of a region.

    Attributes
    ----------
    X_explain, X_cluster, weight
        As in `GrowthData`.
    labels : ndarray of int32
        Of the reference.
    reference_cost : float
        Its part of the cost of the reference, by weight: so much a condition costs in refinement as in the whole table.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64] | None
    labels: NDArray[np.int32]
    reference_cost: float

    @classmethod
    def of(cls, data: FitData, region: Region) -> RegionRows:
        """Return the rows of a region of a table."""
        encoding, weight, labels = data.encoding, data.fit_weight, data.reference.labels
        if region.rows is None:
            return cls(encoding.X_explain, encoding.X_cluster, weight, labels, data.reference_cost)
        rows = region.rows
        share = len(rows) / len(labels) if weight is None else float(weight[rows].sum() / weight.sum())
        X_explain = encoding.X_explain[rows]
        X_cluster = X_explain if encoding.X_cluster is encoding.X_explain else encoding.X_cluster[rows]
        return cls(
            X_explain, X_cluster, None if weight is None else weight[rows], labels[rows], data.reference_cost * share
        )


def _known_distances(data: FitData, region: Region, unique: UniqueRows) -> NDArray[np.float64] | None:
    """Return the distances that finding the nearest centers left, if they are those of a region's rows and centers."""
    held = data.reference.distances
    distances = None if held is None else held.take()
    is_whole = region.rows is None and unique.group is None and len(region.centers) == len(data.reference.centers)
    return distances if is_whole else None


def _refined(
    tree: GrownTree,
    unique: UniqueRows,
    data: FitData,
    rows: RegionRows,
    kept: NDArray[np.integer],
    tradeoff: float,
    thorough: Thorough | None,
    coded: Future[Coded] | None,
    log: Log,
    progress: Progress | None,
) -> GrownTree:
    """Return a refined tree; the greedy one if an interrupt ends a thorough search before there is another."""
    parameters = data.parameters
    try:
        refinement = refine(
            tree,
            unique,
            tradeoff=tradeoff,
            reference_cost=rows.reference_cost,
            reference_labels=renumbered(rows.labels, kept),
            random_seed=seed_of(parameters.random_state),
            thorough=thorough,
            coded=coded,
            n_threads=parameters.n_threads,
            progress=progress,
        )
    except KeyboardInterrupt:
        if thorough is None:
            raise
        return replace(tree, notes=(note_of(0, interrupted=True),))
    if refinement is None:
        return tree
    log(refinement.summary())
    return refinement.tree


def _extended(
    tree: GrownTree,
    unique: UniqueRows,
    data: FitData,
    rows: RegionRows,
    kept: NDArray[np.integer],
    tradeoff: float,
    log: Log,
    *,
    searches: bool,
) -> GrownTree:
    """Return a tree of at most `max_leaves` leaves whose J' is lower, or the tree itself."""
    parameters = data.parameters
    assert parameters.max_leaves is not None
    try:
        extended = extend(
            tree,
            unique,
            max_leaves=parameters.max_leaves,
            tradeoff=tradeoff,
            reference_cost=rows.reference_cost,
            reference_labels=renumbered(rows.labels, kept),
            random_seed=seed_of(parameters.random_state),
            searches=searches,
            n_threads=parameters.n_threads,
        )
    except KeyboardInterrupt:
        if parameters.refine != "thorough":
            raise
        return tree  # the best one so far
    if extended is not tree and extended.objectives is not None:
        before, after = extended.objectives.bound, extended.objectives.own
        log(f"{counted(extended.n_leaves, 'rule')} in place of {tree.n_leaves}: J {before:.4f} -> {after:.4f}")
    return extended


def seed_of(random_state: Any) -> int:
    """Return the seed of the search for better trees: fixed where the state of k-means is not a number."""
    return int(random_state) if isinstance(random_state, Integral) else 0


def thorough_of(
    parameters: FitParameters, k: int, log: Log, tell_best: Callable[[float], None] | None
) -> Thorough | None:
    """Return what a thorough search is given, if there is to be one.

    Parameters
    ----------
    parameters : FitParameters
    k : int
        Clusters of each of its starts of k-means.
    log, tell_best : callable
    """
    if parameters.refine != "thorough":
        return None

    def start(X: NDArray[Any], weight: NDArray[np.float64] | None, seed: int) -> NDArray[np.int32]:
        fitted = fit_clusterer(KMeans(k, n_init=1, random_state=seed), X, sample_weight=weight)
        return np.asarray(fitted.labels_, dtype=np.int32)

    return Thorough(Budget.of(parameters.budget), start, log, tell_best)


def over_the_table(tree: GrownTree, encoder: Encoder) -> GrownTree:
    """Return a tree whose features are model columns, from one over the columns that rules may test."""
    tested = encoder.explain_positions or range(len(encoder.columns))
    columns = np.append(tested, LEAF).astype(np.int32)
    return replace(tree, feature=columns[tree.feature])


def renumbered(labels: NDArray[np.int32], kept: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return labels as positions among the centers `kept`, `UNLABELLED` for other centers."""
    if np.array_equal(kept, np.arange(labels.max() + 1)):
        return labels
    numbers = np.full(
        int(max(labels.max(), kept.max())) + 2, UNLABELLED, dtype=np.int32
    )  # the last, at index -1, stays so
    numbers[kept] = np.arange(len(kept))
    return numbers[labels]

"""Grow: trees that follow the clustering, greedy and refined, of a table in memory or in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from shallowrules.clustering.clusterers import fit_clusterer
from shallowrules.clustering.given_labels import UNLABELLED
from shallowrules.encoding import Encoder
from shallowrules.errors import counted
from shallowrules.fitting.data import FitData, FitParameters, Log
from shallowrules.rules.figures import normalized_cost
from shallowrules.trees.candidates import TIE, SearchSettings
from shallowrules.trees.grown_tree import GrownTree, Objectives, renumber_centers
from shallowrules.trees.progress import Progress
from shallowrules.trees.rounding import rounds
from shallowrules.trees.thorough import Budget, Thorough
from shallowrules.trees.tree import LEAF

__all__ = [
    "from_the_table",
    "grow",
    "objectives_of",
    "over_the_table",
    "renumbered",
    "seed_of",
    "settings_of",
    "thorough_of",
]

NEIGHBORS = (0.01, 0.03, 0.1, 0.3)
"""Trade-offs whose trees are used for a trade-off of 0 where they cost less: in half of the fits tried, a search
for the cost alone ends at a more expensive tree than one that also shortens rules."""


def grow(
    data: FitData,
    tradeoffs: Sequence[float],
    progress: Progress | None,
    log: Log,
    tell_best: Callable[[float], None] | None = None,
    *,
    with_greedy: bool = False,
) -> list[tuple[GrownTree, ...]]:
    """Grow the greedy tree for each trade-off, and unless ``refine="none"`` also a refined one.

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
    with_greedy : bool
        Whether the greedy tree is wanted where there is a refined one.

    Returns
    -------
    list of tuple of GrownTree
        One tuple per trade-off, in their order. Features are model columns, centers those of the reference.
    """
    kept, used, parameters = data.kept_centers, data.used_centers, data.parameters
    neighbors = neighbors_of(parameters, tradeoffs, labelled=data.reference.labelled)
    asked, tradeoffs = len(tradeoffs), [*tradeoffs, *(each for each in neighbors if each not in tradeoffs)]
    log(f"growing a tree for {counted(len(kept), 'cluster')}")
    grown = data.grown_for(kept, tradeoffs, progress, log, tell_best)
    separates = parameters.method != "exkmc" or parameters.base == "imm"
    if separates and len(used) < len(kept) and any(trees[0].n_leaves < len(kept) for trees in grown):
        # More centers than distinct rows: without the centers that no row has, cuts become valid.
        smaller = data.grown_for(used, tradeoffs, progress, log, tell_best)
        grown = [max(pair, key=lambda trees: trees[0].n_leaves) for pair in zip(grown, smaller, strict=True)]
    are_refined = [len(trees) > 1 for trees in grown]
    rounded = _round_all(data, grown if with_greedy else [trees[-1:] for trees in grown], tradeoffs)
    if progress is not None:
        progress(1.0)
    if len(tradeoffs) > 1 and any(are_refined):
        rounded = _shared(data, rounded, are_refined, tradeoffs)
    return rounded[:asked]


def neighbors_of(parameters: FitParameters, tradeoffs: Sequence[float], *, labelled: bool) -> list[float]:
    """Return the trade-offs whose trees are tried for a trade-off of 0, if that is among those asked for."""
    searches = parameters.method == "exshallow" and parameters.refine == "full" and not labelled
    return list(NEIGHBORS) if searches and 0 in tradeoffs else []


def lowest(trees: Sequence[GrownTree], objectives: Sequence[float], own: int = 0) -> int:
    """Return the tree of as many clusters as `own` with the lowest objective; `own` if none is lower."""
    counts = [len(np.unique(tree.center[tree.leaves])) for tree in trees]
    complete = [i for i, count in enumerate(counts) if count == counts[own]]
    best = min(complete, key=lambda i: objectives[i])
    return best if objectives[best] < objectives[own] * (1 - TIE) else own


def _shared(
    data: FitData, grown: list[tuple[GrownTree, ...]], are_refined: Sequence[bool], tradeoffs: Sequence[float]
) -> list[tuple[GrownTree, ...]]:
    """Return for each trade-off the refined tree of the lowest J among those of all trade-offs."""
    trees = [each[-1] for each in grown]
    figures: dict[int, tuple[float, float]] = {}
    for tree in trees:
        if id(tree) not in figures:
            figures[id(tree)] = normalized_cost(*data.costs(tree)), tree.as_tree().waes
    shared = []
    for i, (tradeoff, each, is_refined) in enumerate(zip(tradeoffs, grown, are_refined, strict=True)):
        objectives = [cost + tradeoff * waes for cost, waes in (figures[id(tree)] for tree in trees)]
        shared.append((*each[:-1], trees[lowest(trees, objectives, own=i)]) if is_refined else each)
    return shared


def _round_all(
    data: FitData, grown: Sequence[tuple[GrownTree, ...]], tradeoffs: Sequence[float]
) -> list[tuple[GrownTree, ...]]:
    """Return the trees, with rounder thresholds where wanted; equal trees stay the same object."""

    def rounded(tree: GrownTree, tradeoff: float) -> GrownTree:
        if not rounds(data.parameters.round_within, tree):
            return tree
        return data.rounded(tree, tree.objectives or objectives_of(data, tree, tradeoff))

    same: dict[tuple[int, float], GrownTree] = {}
    for trees, tradeoff in zip(grown, tradeoffs, strict=True):
        for tree in trees:
            key = id(tree), tradeoff
            if key not in same:
                same[key] = rounded(tree, tradeoff)
    return [tuple(same[id(tree), tradeoff] for tree in trees) for trees, tradeoff in zip(grown, tradeoffs, strict=True)]


def objectives_of(data: FitData, tree: GrownTree, tradeoff: float) -> Objectives:
    """Return J of a tree that was not refined; for methods without a trade-off, the cost alone."""
    tradeoff = tradeoff if data.parameters.method == "exshallow" else 0.0
    cost, reference_cost = data.costs(tree)
    own = normalized_cost(cost, reference_cost) + tradeoff * tree.as_tree().waes
    return Objectives(own, own, reference_cost, tradeoff)


def seed_of(random_state: Any) -> int:
    """Return the seed of the search for better trees: fixed where the state of k-means is not a number."""
    return int(random_state) if isinstance(random_state, Integral) else 0


def settings_of(parameters: FitParameters, tradeoff: float) -> SearchSettings:
    """Return the settings of a search for better trees."""
    return SearchSettings(tradeoff, seed_of(parameters.random_state), parameters.n_threads)


def thorough_of(
    parameters: FitParameters, k: int, log: Log, tell_best: Callable[[float], None] | None
) -> Thorough | None:
    """Return the arguments of a thorough search, if one is requested.

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


def from_the_table(tree: GrownTree, encoder: Encoder, kept: NDArray[np.integer]) -> GrownTree:
    """Return a tree over the columns that rules may test and the centers `kept`, from one over all columns."""
    tested = list(encoder.explain_positions or range(len(encoder.columns)))
    numbers, places = np.empty(int(kept.max()) + 1, np.int32), np.empty(len(encoder.columns) + 1, np.int32)
    numbers[kept], places[LEAF] = np.arange(len(kept)), LEAF
    places[tested] = np.arange(len(tested))
    return replace(renumber_centers(tree, numbers), feature=places[tree.feature])


def renumbered(labels: NDArray[np.int32], kept: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return labels as positions among the centers `kept`, `UNLABELLED` for other centers."""
    if np.array_equal(kept, np.arange(labels.max() + 1)):
        return labels
    n_numbers = int(max(labels.max(), kept.max())) + 1
    numbers = np.full(n_numbers + 1, UNLABELLED, dtype=np.int32)  # the last, at index -1, stays UNLABELLED
    numbers[kept] = np.arange(len(kept))
    return numbers[labels]

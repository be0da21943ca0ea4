"""A fit and the trees beside it that the slider of a page moves through: other trade-offs, one or two more rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.fitting.growing import grow, seed_of
from shallowrules.fitting.searching import MORE_RULES, grow_more, takes_more_rules
from shallowrules.fitting.whole import TableData
from shallowrules.models.estimator import ExplainableKMeans
from shallowrules.models.fits import fitted, prepare_fit, unfitted
from shallowrules.models.reporting import log_of, progress_of
from shallowrules.models.tradeoff import TRADEOFFS, TradeoffPath, refuse_without_tradeoff
from shallowrules.models.tradeoff_points import TIE, TradeoffPoint, best_point, check_goal
from shallowrules.rules import RulePath, RuleSet
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.visits import visits_of_growth, visits_of_search

__all__ = ["TableFit", "fit_table", "sample_points"]

MULTIPLE = 1.0
"""The trees of a slider are grown if they visit at most this many times the rows that the fit visits."""
FREE_VALUES = 6e8
"""They are also grown if they visit rows of at most this many values in all: about as much work as Python's start."""

CLUSTERING_PASSES = 100.0
"""Visits of all rows that count as a clustering by k-means, with its ten starts of ten steps or so."""
MEASURING_PASSES = 10.0
"""Visits of all rows that count as the measuring of a tree: its thresholds, clusters and histograms. Not tuned."""

MAX_CLUSTERS = 250
"""Maximum number of clusters of all trees, which are chosen evenly: a page of 50 clusters and 100 columns then has at
most 600 kB."""

CLIPPED = 0.005
"""Share of rows on each side that are moved to the edge of a scatter plot, so that no distant row stretches it."""

STEPS = (2, 4, 6)
"""Every second value of `TRADEOFFS` is tried, or every fourth or sixth where that would take too many visits."""


class _SliderPath(TradeoffPath):
    """The trees that are tried beside that of a fit."""

    def add(self, grown: GrownTree) -> None:
        """Add the tree of the fit, which was grown alone, in place of others that cost as much and are as long."""
        own = replace(self._measure(self._model.tradeoff, grown), refine=self._model.refine)
        self._tried = [tried for tried in self._tried if not _as_good(tried[0], own)]
        self._tried.append((own, grown))
        self._take_stock()

    def fit_to_goal(self, max_cost: float | None, max_conditions: float | None) -> TableFit:
        """Return the fit of the tree that meets a goal best."""
        model = self._fit_to_goal(max_cost, max_conditions)
        grown = self._tree_of(best_point(self.points, max_cost, max_conditions))
        return TableFit(model, self._data, grown, self)

    def with_more_rules(self, own: GrownTree, tradeoff: float) -> RulePath:
        """Return the rules of all trees worth showing, and of those with one or two more rules than the fit's `own`."""
        found: list[tuple[TradeoffPoint, GrownTree]] = [(point, self._tree_of(point)) for point in self.points]
        most = own.n_leaves + (MORE_RULES if takes_more_rules(self._data, own) else 0)
        for n_leaves in range(own.n_leaves + 1, most + 1):
            grown = grow_more(self._explained, own, n_leaves)
            if grown is None or grown.n_leaves < n_leaves:
                continue
            point = replace(self._measure(tradeoff, grown), refine=self._model.refine)
            if not any(one.cost <= point.cost and one.conditions <= point.conditions for one, _ in found):
                found.append((point, grown))
        found.sort(key=lambda each: (each[0].cost, each[0].conditions))
        n_trees = max(2, MAX_CLUSTERS // len(self._data.kept_centers))
        if len(found) > n_trees:
            found = [found[i * (len(found) - 1) // (n_trees - 1)] for i in range(n_trees)]
        return self._finished(found)


def _as_good(one: TradeoffPoint, other: TradeoffPoint) -> bool:
    """Whether two trees have the same figures, apart from rounding: their cuts may differ within the same gaps."""
    pairs = ((one.cost, other.cost), (one.conditions, other.conditions))
    return all(math.isclose(mine, its, rel_tol=TIE) for mine, its in pairs)


@dataclass(frozen=True, eq=False)
class TableFit:
    """A fit of a table in memory, and the input from which the neighboring trees are grown.

    Attributes
    ----------
    model : ExplainableKMeans
        Fitted.
    data : TableData
    grown : GrownTree
        Its tree.
    tried : _SliderPath or None
        The trees that were tried for a goal.
    """

    model: ExplainableKMeans
    data: TableData
    grown: GrownTree
    tried: _SliderPath | None

    def tradeoffs(self) -> tuple[float, ...]:
        """Return the trade-offs whose trees the slider may have: as many as the bound on the work allows, or none."""
        n_rows, n_columns = self.data.encoding.X_cluster.shape
        labelled = self.data.reference.labelled
        own = visits_of_growth(n_rows)
        if self.data.parameters.refine != "none" and not labelled:
            own += visits_of_search(n_rows, n_columns)
        measuring = MEASURING_PASSES * n_rows
        fit = own + measuring + (0.0 if labelled else CLUSTERING_PASSES * n_rows)
        granted = max(MULTIPLE * fit, FREE_VALUES / n_columns) - MORE_RULES * measuring
        sets = (TRADEOFFS[1::step] for step in STEPS)
        return next((found for found in sets if len(found) * (own + measuring) <= granted), ())

    def slider(self, finish: Callable[[RuleSet], RuleSet]) -> RulePath | None:
        """Return the rules of the trees worth showing beside the fit, for the option `path` of the page.

        `finish` adds facts about the table to the rules of each.

        None where the method has no trade-off, where they would visit more rows than `MULTIPLE` times those of the fit
        and more than `FREE_VALUES` allows, and where there is no other tree.
        """
        parameters = self.data.parameters
        tradeoffs = self.tradeoffs()
        if parameters.method != "exshallow" or not tradeoffs:
            return None
        path = self.tried
        if path is None:
            refine = "full" if parameters.refine == "thorough" else parameters.refine
            data = replace(self.data, parameters=replace(parameters, refine=refine))
            path = _SliderPath(unfitted(self.model, refine=refine), data, tradeoffs)
            path.add(self.grown)
        trees = path.with_more_rules(self.grown, self.model.tradeoff)
        return RulePath.of([(tree.refine, finish(tree.rules)) for tree in trees]) if len(trees) > 1 else None


def sample_points(fit: TableFit, n_rows: int) -> tuple[tuple[float, float, int], ...]:
    """Return some rows, drawn by the seed of the fit, as two projected coordinates from 0 to 1 and the cluster.

    The directions are those in which the means of the clusters lie farthest apart, and where these lie on a line, in
    addition the one in which the rows do. The farthest half percent on each side is moved to the end.
    """
    data, labels = fit.data, fit.model.labels_
    counted = np.arange(len(labels)) if data.fit_weight is None else np.flatnonzero(data.fit_weight > 0)
    rows = np.sort(np.random.default_rng(seed_of(data.parameters.random_state)).permutation(counted)[:n_rows])
    X = data.encoding.X_cluster[rows].astype(np.float64)
    X -= X.mean(axis=0)
    found, groups = np.unique(labels[rows], return_inverse=True)
    sizes = np.bincount(groups)
    means = np.array([X[groups == i].mean(axis=0) for i in range(len(found))]) * np.sqrt(sizes)[:, None]
    axes = _directions(means, 2)
    if len(axes) < 2:
        axes = np.vstack([axes, _directions(X - X @ axes.T @ axes, 2 - len(axes))])
    places = np.zeros((len(rows), 2))
    places[:, : len(axes)] = X @ axes.T
    low, high = np.quantile(places, [CLIPPED, 1 - CLIPPED], axis=0)
    shares = (places.clip(low, high) - low) / np.where(high > low, high - low, 1.0)
    return tuple(
        (x, y, int(label)) for (x, y), label in zip(shares.round(3).tolist(), labels[rows].tolist(), strict=True)
    )


def _directions(points: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return the directions in which points vary most, at most a given number, their largest entries positive."""
    _, lengths, found = np.linalg.svd(points, full_matrices=False)
    found = found[lengths > TIE * max(lengths[0], 1e-300)][:most]
    largest = found[np.arange(len(found)), np.abs(found).argmax(axis=1)]
    turned: NDArray[np.float64] = found * np.sign(largest)[:, None]
    return turned


def fit_table(
    model: ExplainableKMeans,
    X: Any,
    *,
    max_cost: float | None = None,
    max_conditions: float | None = None,
    sample_weight: ArrayLike | None = None,
    measure: Any = None,
) -> TableFit:
    """Return the fit of a model to a table in memory; with a goal, the fit whose trade-off meets it.

    Parameters
    ----------
    model : ExplainableKMeans
        Without a goal it is fitted itself, as by `fit`; with one, a model is that `fit_to_goal` returns.
    X, max_cost, max_conditions, sample_weight, measure
        As for `fit_to_goal`.
    """
    if max_cost is None and max_conditions is None:
        data = prepare_fit(model, X, None, sample_weight, measure)
        [trees] = grow(data, [model.tradeoff], progress_of(model), log_of(model), model.on_best)
        return TableFit(fitted(model, data, trees[-1]), data, trees[-1], None)
    check_goal(max_cost, max_conditions)
    refuse_without_tradeoff(model)
    model = unfitted(model)
    path = _SliderPath(model, prepare_fit(model, X, None, sample_weight, measure), TRADEOFFS)
    return path.fit_to_goal(max_cost, max_conditions)

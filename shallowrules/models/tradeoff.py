"""The search over the trade-off: every tree worth having between cheap and short (ExShallow*).

The table is read and clustered once; the trees for all trade-offs are grown together. This replaces the
binary search of the paper's section 4.4, which looks at one tree after another and may miss some,
because neither cost nor length is monotone in the trade-off.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import filterfalse, pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.displays.pyplot import import_pyplot
from shallowrules.errors import DataError, OptionError, OptionName, ShallowRulesWarning
from shallowrules.fitting.finishing import finish
from shallowrules.fitting.growing import grow
from shallowrules.fitting.regions import Explained
from shallowrules.fitting.searching import grow_within
from shallowrules.fitting.whole import TableData
from shallowrules.measures.metrics import partition_cost
from shallowrules.models.estimator import ExplainableKMeans
from shallowrules.models.fits import fitted, prepare_fit, unfitted
from shallowrules.models.reporting import log_of, progress_of
from shallowrules.models.tradeoff_points import (
    TradeoffPoint,
    best_point,
    check_goal,
    figures_of,
    is_within,
    meets,
    non_dominated,
)
from shallowrules.rules import RulePath
from shallowrules.rules.figures import describe_cheaper, is_cheaper, normalized_cost, show_figure
from shallowrules.tables.frames import make_frame
from shallowrules.trees.candidates import Goal
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.thorough import BUDGET

__all__ = ["TRADEOFFS", "TradeoffPath", "fit_to_goal", "refuse_without_tradeoff", "tradeoff_path"]

TRADEOFFS: tuple[float, ...] = (
    0.0,
    *(0.0101, 0.0126, 0.0156, 0.0194, 0.0241),
    0.03,
    *(0.0373, 0.0464, 0.0576, 0.0716, 0.089, 0.111),
    *(0.138, 0.171, 0.213, 0.264, 0.328, 0.408, 0.507),
)
"""The trade-offs that are tried: 0 (ExGreedy), and 19 in a constant ratio from 0.01 to 0.5, the default 0.03 among
them.

Below 0.01, trees differ little from that of 0; above 0.5, saving a condition may cost half the k-means cost or more.
"""

BEYOND = (0.63, 0.78, 0.97, 1.2, 1.5, 1.9, 2.4, 3.0)
"""Larger trade-offs, for goals that no tree of `TRADEOFFS` meets; they go on in the same ratio."""
BETWEEN = 8
"""Trade-offs tried on each side of the best, where no tree of `TRADEOFFS` meets the whole goal. Not tuned."""
STARTS = 2
"""Trees within a bound, and beyond it, from which the best one under it is searched for."""
MIN_GAP, MAX_GAPS = 0.1, 6
"""Between trees of a path that are this many conditions apart, others are searched for, in this many gaps. Not
tuned."""


class TradeoffPath:
    """The trees that no other beats on both cost and length; `tradeoff_path` makes it.

    Iterating gives the `TradeoffPoint` of each, from the cheapest to the shortest; ``print`` shows them as a
    table. The table that it was made from is kept, so that any tree of it is available as a fitted model.

    Attributes
    ----------
    points : tuple of TradeoffPoint
        The non-dominated trees, cheapest first.
    tradeoffs, costs, conditions : ndarray of float64, shape (n_tradeoffs,)
        Every tree that was tried, by ascending trade-off, with its normalized cost and WAES: of a model with
        ``refine="full"``, or "thorough", the greedy tree of each trade-off and a refined one.
    """

    def __init__(self, model: ExplainableKMeans, data: TableData, tradeoffs: Sequence[float]) -> None:
        self._model = model
        self._data = data
        self._tried: list[tuple[TradeoffPoint, GrownTree]] = []
        self._try(tradeoffs)

    def _try(self, tradeoffs: Sequence[float]) -> None:
        """Grow and measure the trees of more trade-offs, the refined ones beside the greedy ones."""
        wanted = sorted(set(tradeoffs) - {point.tradeoff for point, _ in self._tried})
        if not wanted:
            return
        measured: dict[int, TradeoffPoint] = {}
        grown = grow(
            self._data, wanted, progress_of(self._model), log_of(self._model), self._model.on_best, with_greedy=True
        )
        for tradeoff, trees in zip(wanted, grown, strict=True):
            for refine, tree in zip(("none", self._model.refine), trees, strict=False):
                if id(tree) not in measured:
                    measured[id(tree)] = self._measure(tradeoff, tree)
                point = replace(measured[id(tree)], tradeoff=tradeoff, refine=refine)
                self._tried.append((point, tree))
        self._take_stock()

    def _take_stock(self) -> None:
        """Sort the trees that were tried, and find those that are worth having."""
        self._tried.sort(key=lambda tried: tried[0].tradeoff)
        found = [point for point, _ in self._tried]
        self.tradeoffs: NDArray[np.float64] = np.array([point.tradeoff for point in found])
        self.costs: NDArray[np.float64] = np.array([point.cost for point in found])
        self.conditions: NDArray[np.float64] = np.array([point.conditions for point in found])
        self.points: tuple[TradeoffPoint, ...] = non_dominated(found)

    @cached_property
    def _explained(self) -> Explained:
        return Explained.of(self._data)

    def _search_within(self, goal: Goal) -> None:
        """Search for the best tree within a bound, from those next to it on both sides."""
        data = self._data
        if self._model.refine == "none" or data.reference.labelled or data.parameters.keep:
            return  # trees are to be greedy, to stay near the labels, or to keep cuts
        distinct = {id(tree): (point, tree, len(np.unique(tree.center[tree.leaves]))) for point, tree in self._tried}
        most = max(count for *_, count in distinct.values())
        if most < len(data.kept_centers):
            return

        def is_met(tried: tuple[TradeoffPoint, GrownTree]) -> bool:
            return goal.is_met(figures_of(tried[0]))

        complete = [(point, tree) for point, tree, count in distinct.values() if count == most]
        within = sorted(filter(is_met, complete), key=lambda tried: goal.low(figures_of(tried[0])))
        beyond = sorted(filterfalse(is_met, complete), key=lambda tried: goal.bounded(figures_of(tried[0])))
        starts = [*within[:STARTS], *beyond[:STARTS]]
        nearest = starts[0][0]
        found = grow_within(self._explained, [tree for _, tree in starts], goal, nearest.tradeoff)
        if found is not None:
            point = replace(self._measure(nearest.tradeoff, found), refine=self._model.refine)
            self._tried.append((point, found))
            self._take_stock()

    def _fill_gaps(self) -> None:
        """Search between the trees that are farthest apart in length, under bounds in the middle between them."""
        lengths = [point.conditions for point in self.points]
        gaps = sorted(((low + high) / 2, high - low) for high, low in pairwise(lengths) if high - low > MIN_GAP)
        for middle, _ in sorted(gaps, key=lambda gap: -gap[1])[:MAX_GAPS]:
            self._search_within(Goal("length", middle))

    def _measure(self, tradeoff: float, grown: GrownTree) -> TradeoffPoint:
        """Return the cost of a grown tree and the length of its rules."""
        tree = grown.as_tree()  # any threshold of a gap gives the same figures
        cost = partition_cost(self._data.encoding.X_cluster, grown.labels, self._data.fit_weight)
        return TradeoffPoint(
            tradeoff,
            normalized_cost(cost, self._data.reference_cost),
            tree.waes,
            tree.wad,
            tree.n_leaves,
        )

    def __iter__(self) -> Iterator[TradeoffPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"TradeoffPath({len(self)} trees from {len(np.unique(self.tradeoffs))} trade-offs)"

    def __str__(self) -> str:
        lines = ["tradeoff  refine       cost  conditions  questions  leaves"]
        lines += [
            f"{p.tradeoff:8.5f}  {p.refine:8}  {show_figure(p.cost, '.3f'):>7}  "
            f"{p.conditions:10.2f}  {p.questions:9.2f}  {p.n_leaves:6d}"
            for p in self.points
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from shallowrules.models.cards import show_path  # when a notebook asks: it imports exporters

        remark = self.price_remark and f"Cost below 1: {self.price_remark}."
        return show_path(self.table(), [remark])

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the points as columns, cheapest first.

        Returns
        -------
        dict from str to ndarray, shape (n_points,)
            Columns ``tradeoff``, ``cost``, ``conditions``, ``questions``, ``n_leaves`` and ``refine``, as in
            `TradeoffPoint`.
        """
        names = TradeoffPoint.__dataclass_fields__
        return {name: np.array([getattr(point, name) for point in self.points]) for name in names}

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Return `table` as a frame: ``n_leaves`` is Int64, ``refine`` String, the others are Float64.

        The parameter, the frame and the errors are those of `RuleSet.to_frame`.
        """
        return make_frame({name: values.tolist() for name, values in self.table().items()}, backend)

    def select(self, *, max_cost: float | None = None, max_conditions: float | None = None) -> ExplainableKMeans:
        """Return the tree that meets a goal best, as a fitted model.

        Parameters
        ----------
        max_cost : float, optional
            Largest normalized cost, at least 1 in practice (1.05 is 5% above the unrestricted clustering).
        max_conditions : float, optional
            Largest number of conditions that explain a row on average (WAES).

        Returns
        -------
        ExplainableKMeans
            The cheapest tree within both bounds. With `max_cost` alone, and with a warning where no tree is
            within both, the shortest tree within `max_cost`. Its `tradeoff` and `refine` are those of the point.

        Raises
        ------
        OptionError
            If no bound is given, or one is not a finite number above 0.
        DataError
            If no tree is within `max_cost`, or within `max_conditions` given alone. The message says what is possible.
        """
        check_goal(max_cost, max_conditions)
        return self._select(max_cost, max_conditions)

    def _select(self, max_cost: float | None, max_conditions: float | None) -> ExplainableKMeans:
        point = best_point(self.points, max_cost, max_conditions)
        if not meets(point, max_cost, max_conditions):
            warnings.warn(
                f"no tree has a cost of at most {max_cost:g} and at most {max_conditions:g} conditions per row; "
                f"this one has {point.conditions:.4g}, the fewest at that cost",
                ShallowRulesWarning,
                stacklevel=3,
            )
        budget = self._model.budget if point.refine == "thorough" else BUDGET
        model = unfitted(self._model, tradeoff=point.tradeoff, refine=point.refine, budget=budget)
        return fitted(
            model,
            self._data,
            self._tree_of(point),
            lambda cost, conditions: is_within(cost, conditions, max_cost, max_conditions),
        )

    def _tree_of(self, point: TradeoffPoint) -> GrownTree:
        return next(tree for tried, tree in self._tried if tried is point)

    def _fit_to_goal(self, max_cost: float | None, max_conditions: float | None) -> ExplainableKMeans:
        """Search for the goal, and return the tree that meets it best, as `fit_to_goal` does."""
        self._try_more(max_cost, max_conditions)
        self._search_goal(max_cost, max_conditions)
        return self._select(max_cost, max_conditions)

    def _try_more(self, max_cost: float | None, max_conditions: float | None) -> None:
        """Where no tree is within both bounds, try more trade-offs: larger ones, and ones next to the best."""
        for more in (BEYOND, ()):
            wanted = list(more)
            with suppress(DataError):  # nothing is within the bound that counts: larger ones may be
                point = best_point(self.points, max_cost, max_conditions)
                if meets(point, max_cost, max_conditions):
                    return
                tried = np.unique(self.tradeoffs)
                place = int(np.searchsorted(tried, point.tradeoff))
                sides = tried[max(0, place - 1) : place + 2]
                for low, high in pairwise(sides.tolist()):
                    wanted += np.linspace(low, high, BETWEEN + 2)[1:-1].tolist()
            self._try(wanted)

    def _search_goal(self, max_cost: float | None, max_conditions: float | None) -> None:
        """Search under the bounds: for the cheapest tree that is short enough, or else the shortest of a cost."""
        if max_conditions is not None:
            self._search_within(Goal("length", max_conditions))
            with suppress(DataError):
                if meets(best_point(self.points, max_cost, max_conditions), max_cost, max_conditions):
                    return
        if max_cost is not None:
            self._search_within(Goal("cost", max_cost))

    def rule_sets(self) -> RulePath:
        """Return the rules of every tree of the path, measured on the table: the trees of the page's slider.

        Returns
        -------
        RulePath
            ``rule_sets().to_json(path)`` writes them as one document.
        """
        return self._finished([(point, self._tree_of(point)) for point in self.points])

    def _finished(self, trees: Sequence[tuple[TradeoffPoint, GrownTree]]) -> RulePath:
        return RulePath.of([(point.refine, finish(self._data, grown, point.tradeoff).rules) for point, grown in trees])

    def at_own_tradeoff(self) -> ExplainableKMeans:
        """Return the best tree at the model's own trade-off, as a fitted model."""
        tradeoff = self._model.tradeoff
        point = min(self.points, key=lambda point: point.cost + tradeoff * point.conditions)
        return fitted(unfitted(self._model), self._data, self._tree_of(point))

    @property
    def price_remark(self) -> str:
        """Why trees can cost less than the clustering, where some do, a sentence; else empty."""
        labelled = self._data.reference.labelled
        return describe_cheaper(labelled=labelled) if is_cheaper(self.points[0].cost) else ""

    def plot(self, ax: Any = None) -> Any:
        """Draw cost against length, a point per tree; needs the extra ``plot``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        if ax is None:
            ax = import_pyplot().subplots(layout="constrained")[1]
        figures = self.table()
        ax.plot(self.conditions, self.costs, ".", color="0.75", label="another tree does as well or better")
        ax.step(figures["conditions"], figures["cost"], "o-", where="pre", label="worth having")
        ax.set_xlabel("conditions that explain a row, on average (WAES)")
        ax.set_ylabel("k-means cost, without rules = 1")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)  # above: on no point
        return ax


def tradeoff_path(
    model: ExplainableKMeans,
    X: Any,
    *,
    tradeoffs: Sequence[float] | None = None,
    y: None = None,
    sample_weight: ArrayLike | None = None,
    measure: Any = None,
) -> TradeoffPath:
    """Return all trees worth having between the cheapest and the shortest.

    The reference clustering is made once, and the trees of all trade-offs are grown together.

    Parameters
    ----------
    model : ExplainableKMeans
        Says how to cluster; its method must be "exshallow". It is not changed, and its own `tradeoff` not used.
    X : array-like, dataframe or Table of shape (n_samples, n_features)
    tradeoffs : sequence of float, optional
        The values of the paper's lambda to try, at least 0; by default `TRADEOFFS`, 20 of them. Then others are
        searched for between the trees of these that are far apart in length.
    y : ignored
    sample_weight, measure : array-like of shape (n_samples,), optional
        As for ``fit``.

    Returns
    -------
    TradeoffPath

    Raises
    ------
    OptionError
        If the model's method has no trade-off, or a trade-off is not a number from 0 up to 1e6.
    DataError
        If the table cannot be used as it is.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> path = tradeoff_path(ExplainableKMeans(3, random_state=0), load_iris().data)
    >>> path.select(max_conditions=1.5).normalized_cost_ < 1.04
    True
    """
    values = list(TRADEOFFS if tradeoffs is None else tradeoffs)
    if not values or not all(isinstance(value, Real) and 0 <= value < 1e6 for value in values):
        raise OptionError(f"tradeoffs must be numbers from 0 up to 1e6, at least one, not {tradeoffs!r}")
    path = _path(model, X, list(map(float, values)), y, sample_weight, measure)
    if tradeoffs is None:
        path._fill_gaps()
    return path


def _path(
    model: ExplainableKMeans,
    X: Any,
    tradeoffs: Sequence[float],
    y: None,
    sample_weight: ArrayLike | None,
    measure: Any,
) -> TradeoffPath:
    refuse_without_tradeoff(model)
    model = unfitted(model)
    return TradeoffPath(model, prepare_fit(model, X, y, sample_weight, measure), tradeoffs)


def refuse_without_tradeoff(model: ExplainableKMeans) -> None:
    """Raise OptionError for a method without a trade-off."""
    if model.method != "exshallow":
        given, wanted = OptionName("method", model.method), OptionName("method", "exshallow")
        raise OptionError(given, " has no trade-off to search: use ", wanted)


def fit_to_goal(
    model: ExplainableKMeans,
    X: Any,
    *,
    max_cost: float | None = None,
    max_conditions: float | None = None,
    y: None = None,
    sample_weight: ArrayLike | None = None,
    measure: Any = None,
) -> ExplainableKMeans:
    """Fit the trade-off to a goal for cost, for length, or for both (ExShallow*, the paper's section 4.4).

    Parameters
    ----------
    model : ExplainableKMeans
        Says how to cluster; its method must be "exshallow". It is not changed, and its own `tradeoff` not used.
    X : array-like, dataframe or Table of shape (n_samples, n_features)
    max_cost, max_conditions : float, optional
        As for `TradeoffPath.select`, which says which tree is taken. Where none of `TRADEOFFS` meets both,
        larger ones are tried, and more around the one that comes nearest. Then trees are searched for under the bounds
        themselves.
    y : ignored
    sample_weight, measure : array-like of shape (n_samples,), optional
        As for ``fit``.

    Returns
    -------
    ExplainableKMeans
        Fitted, with the `tradeoff` that was found, or that of the tree from which a search within the bounds continued.

    Raises
    ------
    OptionError, DataError
        As `tradeoff_path` and `TradeoffPath.select` do.
    """
    check_goal(max_cost, max_conditions)
    return _path(model, X, TRADEOFFS, y, sample_weight, measure)._fit_to_goal(max_cost, max_conditions)

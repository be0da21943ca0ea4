"""Trees as points of cost and length: which of them are worth having, and which meets a goal best."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

from shallowrules.errors import DataError, OptionError, OptionName
from shallowrules.rules.figures import show_figure

__all__ = ["TIE", "TradeoffPoint", "best_point", "check_goal", "figures_of", "is_within", "meets", "non_dominated"]

TIE = 1e-9
"""Figures this close (relative) are equal: equal partitions are summed in different orders."""

LARGEST = sys.float_info.max


@dataclass(frozen=True)
class TradeoffPoint:
    """A tree on the path, and its figures.

    Attributes
    ----------
    tradeoff : float
        The smallest of the trade-offs at which it has the lowest J of the trees that were tried together.
    cost : float
        Its normalized cost, that of the unrestricted clustering being 1.
    conditions, questions : float
        Its WAES and WAD: conditions that explain a row on average, and questions that find its cluster.
    n_leaves : int
    refine : {"full", "thorough", "none"}
        "none" is the greedy tree of this trade-off, as the estimator grows it; else it is a refined one. The estimator
        alone, which does not see the trees of other trade-offs, grows it or one of no lower J.
    """

    tradeoff: float
    cost: float
    conditions: float
    questions: float
    n_leaves: int
    refine: str = "none"


def figures_of(point: TradeoffPoint) -> tuple[float, float]:
    """Return the figures that a goal bounds."""
    return point.cost, point.conditions


def check_goal(max_cost: float | None, max_conditions: float | None) -> None:
    """Raise OptionError unless at least one bound is given, and each is a finite number above 0."""
    if max_cost is None and max_conditions is None:
        raise OptionError("give a goal: ", OptionName("max_cost"), ", ", OptionName("max_conditions"), " or both")
    for name, value in (("max_cost", max_cost), ("max_conditions", max_conditions)):
        if value is not None and (not isinstance(value, Real) or isinstance(value, bool) or not 0 < value <= LARGEST):
            raise OptionError(OptionName(name), f" must be a number above 0, not {value!r}")


def meets(point: TradeoffPoint, max_cost: float | None, max_conditions: float | None) -> bool:
    """Whether a tree is within the bounds, apart from rounding."""
    return is_within(*figures_of(point), max_cost, max_conditions)


def is_within(cost: float, conditions: float, max_cost: float | None, max_conditions: float | None) -> bool:
    """Whether figures are within the bounds, apart from rounding."""
    return (max_cost is None or cost <= max_cost * (1 + TIE)) and (
        max_conditions is None or conditions <= max_conditions * (1 + TIE)
    )


def best_point(points: Sequence[TradeoffPoint], max_cost: float | None, max_conditions: float | None) -> TradeoffPoint:
    """Return the point that `TradeoffPath.select` takes; `points` are non-dominated, cheapest first."""
    within_both = [point for point in points if meets(point, max_cost, max_conditions)]
    if within_both:
        return within_both[-1 if max_conditions is None else 0]
    within_cost = [point for point in points if meets(point, max_cost, None)]
    if max_cost is None:
        shortest = points[-1]
        raise DataError(
            f"no tree has at most {max_conditions:g} conditions per row: the shortest has {shortest.conditions:.4g}, "
            f"at a cost of {show_figure(shortest.cost, '.4g')}; allow as many, or ask for fewer clusters"
        )
    if not within_cost:
        raise DataError(
            f"no tree has a cost of at most {max_cost:g}: the cheapest costs {show_figure(points[0].cost, '.4g')}, "
            f"with {points[0].conditions:.4g} conditions per row; allow as much, or ask for other clusters"
        )
    return within_cost[-1]


def non_dominated(points: Sequence[TradeoffPoint]) -> tuple[TradeoffPoint, ...]:
    """Return the points that no other beats or equals on both figures, cheapest first, the first of equals."""
    kept: list[TradeoffPoint] = []
    for point in sorted(points, key=lambda point: (point.cost, point.conditions, point.tradeoff)):
        if kept and point.conditions >= kept[-1].conditions * (1 - TIE):
            continue
        while kept and kept[-1].cost >= point.cost * (1 - TIE):  # cheaper by rounding only
            kept.pop()
        kept.append(point)
    return tuple(kept)

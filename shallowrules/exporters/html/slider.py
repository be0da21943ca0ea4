"""The slider over the trade-off: the trees that it moves through, and the curve of the cost of shorter rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shallowrules.errors import OptionError, OptionName, RulesFormatError, counted
from shallowrules.rules import RulePath, RuleSet
from shallowrules.rules.figures import show_figure

__all__ = ["describe_path", "describe_points", "join_path", "read_path"]

WIDTH, HEIGHT, MARGIN = 300, 130, 14
"""Pixels of the curve, and the room for a point at its ends."""

OPTION = OptionName("path")


def read_path(path: str | Path | RulePath) -> RulePath:
    """Return the path in a file, or a given one; OptionError if the file has none, OSError if it cannot be read."""
    if isinstance(path, RulePath):
        return path
    try:
        return RulePath.from_json(path)
    except RulesFormatError as error:
        raise OptionError(OPTION, f": {error}") from error


def join_path(path: RulePath, rules: RuleSet) -> tuple[list[RuleSet], int]:
    """Return the trees of a path, cheapest first, with the page's rules among them, and the index of these rules.

    Raises
    ------
    OptionError
        If the path is of a different table or clustering.
    """
    if not path.is_of_one_table_with(rules):
        raise OptionError(
            OPTION,
            " must be of the same table and clustering as the rules; make both with the same columns, rows, -k, "
            "--scale and --seed",
        )
    trees = [_named_as(rules, tree.rules) for tree in path]
    for i, tree in enumerate(trees):
        if [_question(node) for node in tree.nodes] == [_question(node) for node in rules.nodes]:
            return [*trees[:i], rules, *trees[i + 1 :]], i
    place = sum(tree.statistics.cost <= rules.statistics.cost for tree in trees)
    return [*trees[:place], rules, *trees[place:]], place


def _named_as(rules: RuleSet, tree: RuleSet) -> RuleSet:
    """Return a tree of the path, with the names of the rules' clusters that have the same numbers."""
    numbers = {cluster.index for cluster in tree.clusters}
    own = [cluster for cluster in rules.clusters if cluster.index in numbers]
    return tree.with_names(
        {cluster.index: cluster.name for cluster in own if not cluster.named_by_rules},
        {cluster.index: cluster.note for cluster in own},
    )


def _question(node: Any) -> tuple[Any, ...]:
    """Return the identity of a node across trees: everything but its rows and weight."""
    return tuple(value for name, value in vars(node).items() if name not in ("rows", "weight"))


def describe_points(trees: Sequence[RuleSet], own: int) -> list[str]:
    """Return the slider's text for each tree."""
    found = []
    for i, rules in enumerate(trees):
        s = rules.statistics
        extra = f"{show_figure(100 * (s.normalized_cost - 1), '+.1f')}%"
        mine = ", the rules that this page was made from" if i == own else ""
        found.append(
            f"Tree {i + 1} of {len(trees)}{mine}: {s.waes:.2f} conditions per row, {_rules(rules)}, "
            f"{extra} spread (trade-off {s.tradeoff:g})"
        )
    return found


def _rules(rules: RuleSet) -> str:
    """Return how many rules there are, and how many more than clusters."""
    more = len(rules) - len(rules.clusters)
    return f"{counted(len(rules), 'rule')}" + (f" ({more} more than clusters)" if more > 0 else "")


def describe_path(trees: Sequence[RuleSet], own: int) -> dict[str, Any]:
    """Return the curve: a point for each tree, further right the more conditions, higher the more it costs.

    It joins the trees with the fewest rules; the points of others are squares beside it.
    """
    lengths = [rules.statistics.waes for rules in trees]
    costs = [rules.statistics.normalized_cost for rules in trees]
    fewest = min(map(len, trees))
    points = [
        {
            "x": _scaled(length, lengths, WIDTH),
            "y": HEIGHT - _scaled(cost, costs, HEIGHT),
            "more": len(rules) - fewest,
        }
        for rules, length, cost in zip(trees, lengths, costs, strict=True)
    ]
    return {
        "points": points,
        "line": "M" + "L".join(f"{point['x']} {point['y']}" for point in points if not point["more"]),
        "width": WIDTH,
        "height": HEIGHT,
        "own": own,
        "said": describe_points(trees, own)[own],
        "shortest": f"{min(lengths):.2f}",
        "longest": f"{max(lengths):.2f}",
        "cheapest": f"{show_figure(100 * (min(costs) - 1), '+.1f')}%",
        "dearest": f"{show_figure(100 * (max(costs) - 1), '+.1f')}%",
    }


def _scaled(value: float, values: Sequence[float], length: int) -> float:
    """Return where a value lies between the least and the greatest."""
    low, high = min(values), max(values)
    share = (value - low) / (high - low) if high > low else 0.5
    return round(MARGIN + share * (length - 2 * MARGIN), 1)

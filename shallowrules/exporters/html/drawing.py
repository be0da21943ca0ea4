"""Pictures of a tree and of distributions as data for the template: numbers, and the paths of SVG made of numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from shallowrules.exporters.html.text import shorten
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.tree_layout import Place, lay_out
from shallowrules.exporters.wording import branch_label
from shallowrules.rules import Leaf, Node, RuleColumn, RuleSet

__all__ = ["HEIGHT", "bin_width", "describe_tree", "draw_bins", "place_value", "short"]

LEAF_HEIGHT, BOX_HEIGHT, LEAF_WIDTH = 30, 22, 190
"""Pixels of the drawing of a tree."""

NAME_LENGTH, LABEL_LENGTH = 18, 16
"""Characters that are shown in a box, and on a branch, at most."""

CHARACTER = 7
"""Pixels that a character takes, at most on average."""

WIDTH, HEIGHT = 216, 46
"""Pixels of the picture of a distribution, at most so wide."""


def describe_tree(rules: RuleSet, colours: dict[int, int]) -> dict[str, Any]:
    """Return the drawing of a tree: its size, the boxes of its inner nodes, its branches and its leaves."""
    nodes, columns = rules.nodes, rules.columns
    places = lay_out(nodes)
    names = {cluster.index: cluster for cluster in rules.clusters}
    boxes, branches, leaves = [], [], []
    box_width, level_width = _widths(rules, nodes, places)
    for index, (node, place) in enumerate(zip(nodes, places, strict=True)):
        x, y = 4 + place.level * level_width, round(LEAF_HEIGHT * (place.position + 0.5))
        if isinstance(node, Leaf):
            leaves.append(
                {
                    "node": index,
                    "x": x,
                    "y": y,
                    "cluster": node.cluster,
                    "colour": colours[node.cluster],
                    "share": place.share,
                    "name": names[node.cluster].name,
                }
            )
        else:
            name = one_line(columns[node.column].name)
            boxes.append({"node": index, "x": x, "y": y, "name": name, "shown": shorten(name, NAME_LENGTH)})
        if place.parent >= 0:
            parent = nodes[place.parent]
            start = round(LEAF_HEIGHT * (places[place.parent].position + 0.5))
            label = _label_of(parent, columns, place)
            begin = x - level_width + box_width
            branches.append(
                {
                    "node": index,
                    "x": x,
                    "y": y,
                    "label": label,
                    "shown": shorten(label, LABEL_LENGTH),
                    "path": f"M{begin - x} {start - y}h9V0H0",
                    "width": round(1 + 7 * place.share, 1),
                }
            )
    levels = max(place.level for place in places)
    return {
        "boxes": boxes,
        "branches": branches,
        "leaves": leaves,
        "box_width": box_width,
        "box_height": BOX_HEIGHT,
        "width": 8 + levels * level_width + LEAF_WIDTH,
        "height": LEAF_HEIGHT * len(leaves),
    }


def _widths(rules: RuleSet, nodes: Sequence[Node], places: Sequence[Place]) -> tuple[int, int]:
    """Return the width of a box and of a level, by the longest name and label that are shown."""
    tested = [rules.columns[i].name for i in rules.tested_columns]
    labels = [_label_of(nodes[place.parent], rules.columns, place) for place in places if place.parent >= 0]
    name = min(NAME_LENGTH, max(map(len, tested), default=0))
    label = min(LABEL_LENGTH, max(map(len, labels), default=0))
    box_width = max(60, CHARACTER * name + 14)
    return box_width, box_width + max(54, CHARACTER * label + 20)


def _label_of(parent: Node, columns: Sequence[RuleColumn], place: Place) -> str:
    assert not isinstance(parent, Leaf)
    return branch_label(parent, columns[parent.column], place.goes_left)


def bin_width(n_bins: int) -> int:
    """Return how many pixels wide a bin is."""
    return max(1, WIDTH // n_bins)


def draw_bins(shares: Sequence[float], most: float) -> str:
    """Return the outline of a histogram as the path of an SVG; `most` is the share that is as high as the picture."""
    heights = [round(HEIGHT * (1 - share / most)) if most > 0 else HEIGHT for share in shares]
    steps, level = [f"M0 {HEIGHT}"], HEIGHT
    across, wide = 0, bin_width(len(shares))
    for height in heights:
        if height != level:
            steps.append((f"h{across}" if across else "") + f"V{height}")
            level, across = height, 0
        across += wide
    return "".join(steps) + (f"h{across}V{HEIGHT}z" if level != HEIGHT else "z")


def short(number: float) -> float:
    """Return a number to a tenth, a whole one without a fraction: a page has thousands of them."""
    tenth = round(number, 1)
    return int(tenth) if tenth == int(tenth) else tenth


def place_value(value: float, edges: Sequence[float]) -> float:
    """Return where a value lies in the picture of a histogram."""
    wide = bin_width(len(edges) - 1)
    if value <= edges[0]:
        return 0
    if value >= edges[-1]:
        return wide * (len(edges) - 1)
    i = bisect_left(edges, value) - 1
    return short(wide * (i + (value - edges[i]) / (edges[i + 1] - edges[i])))

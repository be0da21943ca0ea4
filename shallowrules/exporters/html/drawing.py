"""Pictures of a tree and of distributions as data for the template: numbers, and the paths of SVG made of numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import Any

from shallowrules.exporters.html.text import shorten
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.tree_layout import Place, lay_out
from shallowrules.exporters.wording import branch_label
from shallowrules.rules import Leaf, Node, RuleColumn, RuleSet

__all__ = ["HEIGHT", "bin_width", "describe_tree", "draw_bins", "place_value", "short"]

LEAF_HEIGHT, BOX_HEIGHT, LEAF_WIDTH = 30, 22, 190
"""Pixels of the drawing of a tree."""

LONGEST, SHORTEST = 36, 16
"""Most characters shown of a name in a box and of a label on a branch: fewer in a tree of many levels."""

ROOM = 1040
"""Width in pixels of a drawing above which it shows fewer than `LONGEST` characters."""

CHARACTER = 7
"""Upper bound of the average width of a character in pixels."""

WIDTH, HEIGHT = 216, 46
"""Greatest width of the picture of a distribution in pixels."""


@dataclass(frozen=True)
class _Levels:
    """Where the levels of a tree stand, and the width of the boxes in each, in pixels; the last has leaves alone."""

    longest: int
    lefts: tuple[int, ...]
    boxes: tuple[int, ...]

    @property
    def width(self) -> int:
        return self.lefts[-1] + 4 + LEAF_WIDTH


def describe_tree(rules: RuleSet, colours: dict[int, int]) -> dict[str, Any]:
    """Return the drawing of a tree: its size, the boxes of its inner nodes, its branches and its leaves."""
    nodes, columns = rules.nodes, rules.columns
    places = lay_out(nodes)
    clusters = {cluster.index: cluster for cluster in rules.clusters}
    names = ["" if isinstance(node, Leaf) else one_line(columns[node.column].name) for node in nodes]
    labels = [_label_of(nodes[place.parent], columns, place) if place.parent >= 0 else "" for place in places]
    levels = _place_levels(places, names, labels)
    boxes, branches, leaves = [], [], []
    for index, (node, place, name, label) in enumerate(zip(nodes, places, names, labels, strict=True)):
        x, y = levels.lefts[place.level], _height_of(place)
        if isinstance(node, Leaf):
            leaves.append(
                {
                    "node": index,
                    "x": x,
                    "y": y,
                    "cluster": node.cluster,
                    "colour": colours[node.cluster],
                    "share": place.share,
                    "name": clusters[node.cluster].name,
                }
            )
        else:
            shown, width = shorten(name, levels.longest), levels.boxes[place.level]
            boxes.append({"node": index, "x": x, "y": y, "name": name, "shown": shown, "width": width})
        if place.parent >= 0:
            parent = places[place.parent]
            begin = levels.lefts[parent.level] + levels.boxes[parent.level]
            branches.append(
                {
                    "node": index,
                    "x": x,
                    "y": y,
                    "label": label,
                    "shown": shorten(label, levels.longest),
                    "path": f"M{begin - x} {_height_of(parent) - y}h9V0H0",
                    "width": round(1 + 7 * place.share, 1),
                }
            )
    return {
        "boxes": boxes,
        "branches": branches,
        "leaves": leaves,
        "box_height": BOX_HEIGHT,
        "width": levels.width,
        "height": LEAF_HEIGHT * len(leaves),
    }


def _height_of(place: Place) -> int:
    return round(LEAF_HEIGHT * (place.position + 0.5))


def _place_levels(places: Sequence[Place], names: Sequence[str], labels: Sequence[str]) -> _Levels:
    """Return levels of which each is as wide as its longest name and the longest label that leads on from it."""
    n_levels = 1 + max(place.level for place in places)
    name_lengths, label_lengths = [0] * n_levels, [0] * n_levels
    for place, name, label in zip(places, names, labels, strict=True):
        name_lengths[place.level] = max(name_lengths[place.level], len(name))
        if place.parent >= 0:
            label_lengths[place.level - 1] = max(label_lengths[place.level - 1], len(label))
    for longest in range(LONGEST, SHORTEST - 1, -1):
        boxes = [max(60, CHARACTER * min(longest, length) + 14) for length in name_lengths]
        steps = [max(54, CHARACTER * min(longest, length) + 20) for length in label_lengths]
        lefts = accumulate(map(add, boxes[:-1], steps[:-1]), initial=4)
        levels = _Levels(longest, tuple(lefts), tuple(boxes))
        if levels.width <= ROOM:
            break
    return levels


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

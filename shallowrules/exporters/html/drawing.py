"""Pictures of a tree and of distributions as data for the template: numbers, and the paths of SVG made of numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import add
from typing import Any

from shallowrules.exporters.html.text import shorten_apart, wrap
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.tree_layout import Place, lay_out
from shallowrules.exporters.wording import branch_label
from shallowrules.rules import Leaf, Node, RuleColumn, RuleSet

__all__ = ["CHARACTER", "HEIGHT", "bin_width", "describe_tree", "draw_bins", "place_value", "short"]

LEAF_HEIGHT, BOX_HEIGHT, LEAF_WIDTH = 30, 22, 220
"""Pixels of the drawing of a tree."""

LINE_HEIGHT, SHARE_WIDTH = 14, 50
"""Pixels of a line of a leaf's name, and of the share of rows before it."""

LONGEST, SHORTEST = 36, 16
"""Maximum number of characters shown of a column in a box and of a label on a branch: fewer in a deep tree."""

ROOM = 1040
"""Width in pixels of a drawing above which it shows fewer than `LONGEST` characters."""

CHARACTER = 7
"""Upper bound of the average width of a character in pixels."""

WIDTH, HEIGHT = 216, 46
"""Maximum width, and height, of the picture of a distribution in pixels."""


@dataclass(frozen=True)
class _Levels:
    """The positions of a tree's levels, and the width of the boxes in each, in pixels; the last has only leaves."""

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
    names = ["" if isinstance(node, Leaf) else one_line(columns[node.column].name) for node in nodes]
    labels = [_label_of(nodes[place.parent], columns, place) if place.parent >= 0 else "" for place in places]
    levels = _place_levels(places, names, labels)
    shown = shorten_apart([*names, *labels], levels.longest)
    leaves, width = _describe_leaves(rules, places, levels, colours)
    heights = _heights(places, leaves)
    boxes, branches = [], []
    for index, (place, name, label) in enumerate(zip(places, names, labels, strict=True)):
        x, y = levels.lefts[place.level], heights[index]
        if index in leaves:
            leaves[index]["y"] = y
        else:
            box = {"node": index, "x": x, "y": y, "name": name, "shown": shown[name]}
            boxes.append({**box, "width": levels.boxes[place.level]})
        if place.parent >= 0:
            parent = places[place.parent]
            begin = levels.lefts[parent.level] + levels.boxes[parent.level]
            branches.append(
                {
                    "node": index,
                    "x": x,
                    "y": y,
                    "label": label,
                    "shown": shown[label],
                    "path": f"M{begin - x} {heights[place.parent] - y}h9V0H0",
                    "width": round(1 + 7 * place.share, 1),
                }
            )
    return {
        "boxes": boxes,
        "branches": branches,
        "leaves": list(leaves.values()),
        "box_height": BOX_HEIGHT,
        "width": width,
        "height": sum(leaf["height"] for leaf in leaves.values()),
    }


def _describe_leaves(
    rules: RuleSet, places: Sequence[Place], levels: _Levels, colours: dict[int, int]
) -> tuple[dict[int, dict[str, Any]], int]:
    """Return the leaves by their nodes, and the width of the drawing.

    Nothing is drawn to the right of a leaf: its name takes the width that is left, and as many lines as it needs.
    """
    clusters = {cluster.index: cluster for cluster in rules.clusters}
    leaves: dict[int, dict[str, Any]] = {}
    width = levels.width
    for index, (node, place) in enumerate(zip(rules.nodes, places, strict=True)):
        if not isinstance(node, Leaf):
            continue
        name, label = one_line(clusters[node.cluster].name), str(clusters[node.cluster].label)
        pill = 16 + 8 * len(label)
        x, left = levels.lefts[place.level], pill + 6 + SHARE_WIDTH
        width = max(width, min(ROOM, x + left + CHARACTER * len(name)))
        leaves[index] = {
            "node": index,
            "x": x,
            "cluster": node.cluster,
            "label": label,
            "colour": colours[node.cluster],
            "share": place.share,
            "name": "" if name == label else name,
            "pill": pill,
            "left": left,
        }
    for leaf in leaves.values():
        room = (width - leaf["x"] - leaf["left"]) // CHARACTER
        lines = wrap(leaf["name"], room)
        leaf |= {
            "room": room,
            "lines": lines,
            "line_height": LINE_HEIGHT,
            "top": 4 - LINE_HEIGHT * (len(lines) - 1) / 2,
        }
        leaf["height"] = max(LEAF_HEIGHT, LINE_HEIGHT * len(lines) + 4)
    return leaves, width


def _heights(places: Sequence[Place], leaves: dict[int, dict[str, Any]]) -> list[int]:
    """Return how far down the middle of each node is, between leaves of different heights."""
    in_order = sorted(leaves, key=lambda index: places[index].position)
    tops = list(accumulate((leaves[index]["height"] for index in in_order), initial=0))
    middles = [(top + bottom) / 2 for top, bottom in pairwise(tops)]
    found = []
    for place in places:
        i = min(int(place.position), len(middles) - 1)
        after = middles[min(i + 1, len(middles) - 1)]
        found.append(round(middles[i] + (place.position - i) * (after - middles[i])))
    return found


def _place_levels(places: Sequence[Place], names: Sequence[str], labels: Sequence[str]) -> _Levels:
    """Return levels, each as wide as its longest name and the longest label that leads on from it."""
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

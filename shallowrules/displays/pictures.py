"""Pictures of matplotlib: the tree, the heat map of the page, and a silhouette per cluster.

Tree and heat map are laid out in the pixels of the page, on a `_Sheet`. Texts are as large as the axes allow, and no
wider than their place: none overlaps another one, whatever the axes and the names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.displays.pyplot import import_pyplot
from shallowrules.errors import DataError
from shallowrules.exporters.context import rows_text
from shallowrules.exporters.html.cards import Pictures
from shallowrules.exporters.html.drawing import CHARACTER, describe_tree
from shallowrules.exporters.html.heat import describe_heat
from shallowrules.exporters.html.text import shorten_apart
from shallowrules.exporters.palette import FOREGROUND, HEAT, LIGHT, LINE, MUTED, SOFT, cluster_colours
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.tree_layout import lay_out
from shallowrules.rules import RuleSet
from shallowrules.rules.figures import percent

__all__ = ["plot_heat", "plot_silhouettes", "plot_tree"]

PER_INCH = 80
"""Pixels of the page in an inch of a new figure."""

MAX_INCHES = 200
"""Maximum height and width of a new figure: backends refuse figures of more than 65,536 dots."""

ROWS_CHARACTER, TEXT = 6.4, 11
"""Pixels for a character of a number of rows, and the size of a text."""

LONGEST = 36
"""Characters that are shown of the name of a column or a cluster."""


class _Sheet:
    """Axes that are a sheet of pixels, counted from the top left.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        None makes a figure of the sheet's size.
    width, height : float
        In pixels.
    """

    def __init__(self, ax: Any, width: float, height: float) -> None:
        pyplot = import_pyplot()
        if ax is None:
            per_inch = max(PER_INCH, width / MAX_INCHES, height / MAX_INCHES)
            figure = pyplot.figure(figsize=(width / per_inch, height / per_inch), facecolor="white")
            ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
        ax.set_axis_off()
        root = ax.get_figure(root=True)
        root.draw_without_rendering()  # which lays the axes out
        box = ax.get_window_extent()
        self.ax = ax
        self.dots = min(box.width / width, box.height / height)  # of the figure, for each pixel of the sheet
        self.points = self.dots * 72 / root.dpi

    def box(self, x: float, y: float, width: float, height: float, colour: str, edge: str = "none") -> None:
        """Draw a box, given by its upper left corner."""
        from matplotlib.patches import Rectangle

        line = 0 if edge == "none" else self.points
        self.ax.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor=edge, linewidth=line))

    def line(self, xs: list[float], ys: list[float], width: float) -> None:
        """Draw a line through points."""
        self.ax.plot(xs, ys, color=LINE, linewidth=width * self.points, solid_joinstyle="miter", zorder=0)

    def write(self, x: float, y: float, text: str, room: float, side: str = "left", **style: Any) -> None:
        """Write a text centered at a height, in a smaller size where it would be wider than its room."""
        size = style.pop("size", TEXT)
        style = {"color": FOREGROUND, **style}
        said = self.ax.text(x, y, text, ha=side, va="center", fontsize=size * self.points, parse_math=False, **style)
        width = said.get_window_extent().width
        if width > room * self.dots:
            said.set_fontsize(size * self.points * room * self.dots / width)


def plot_tree(rules: RuleSet, ax: Any) -> Any:
    """Draw the tree of `RuleSet.plot`: rows go from left to right, and branches are as wide as they have rows."""
    drawing = describe_tree(rules, cluster_colours([rules]))
    texts = {leaf["node"]: rows_text(rules.nodes[leaf["node"]].rows, leaf["share"]) for leaf in drawing["leaves"]}
    rows_room = ROWS_CHARACTER * max(map(len, texts.values()))
    left = max(leaf["pill"] for leaf in drawing["leaves"]) + rows_room + 18
    right = max(leaf["x"] + left + CHARACTER * (max(map(len, leaf["lines"])) + 1) for leaf in drawing["leaves"])
    sheet = _Sheet(ax, max(drawing["width"], right), drawing["height"])
    places, boxes = lay_out(rules.nodes), {box["node"]: box for box in drawing["boxes"]}
    for branch in drawing["branches"]:
        parent = boxes[places[branch["node"]].parent]
        begin = parent["x"] + parent["width"]
        sheet.line([begin, begin + 9, begin + 9, branch["x"]], [parent["y"]] * 2 + [branch["y"]] * 2, branch["width"])
        room = branch["x"] - begin - 18
        sheet.write(branch["x"] - 6, branch["y"] - 9, branch["shown"], room, "right", color=MUTED, size=10)
    for box in boxes.values():
        sheet.box(box["x"], box["y"] - drawing["box_height"] / 2, box["width"], drawing["box_height"], SOFT, LINE)
        sheet.write(box["x"] + box["width"] / 2, box["y"], box["shown"], box["width"] - 6, "center")
    for leaf in drawing["leaves"]:
        x, y, pill = leaf["x"], leaf["y"], leaf["pill"]
        sheet.box(x, y - 10, pill, 20, LIGHT[leaf["colour"]])
        sheet.write(x + pill / 2, y, leaf["label"], pill - 4, "center", color="white", weight="bold")
        sheet.write(x + pill + 6, y, texts[leaf["node"]], rows_room)
        room = CHARACTER * max(1, *map(len, leaf["lines"]))
        sheet.write(x + pill + rows_room + 14, y, "\n".join(leaf["lines"]), room, color=MUTED)
    return sheet.ax


def plot_heat(rules: RuleSet, ax: Any) -> Any:
    """Draw the map of `RuleSet.plot_heat`.

    Raises
    ------
    DataError
        If there is a single cluster, or no column in which clusters differ.
    """
    colours = cluster_colours([rules])
    heat = describe_heat(rules, colours, Pictures.of(rules), 1)
    if heat is None or not heat["rows"]:
        lacking = "there is only one" if heat is None else "these do not differ in any column"
        raise DataError(f"a heat map compares clusters, and {lacking}")
    names = [one_line(f"{row['column']} {row['category']}".strip()) for row in heat["rows"]]
    shown = shorten_apart(names, LONGEST)
    cells = [cell["text"] for row in heat["rows"] for cell in row["cells"]]
    cell = 26 if heat["is_wide"] else CHARACTER * max(map(len, cells)) + 12
    table = CHARACTER * max(5, *(len(row["table"]) for row in heat["rows"])) + 12
    first = CHARACTER * max(map(len, shown.values())) + 16
    begin, step = first + table, 22
    sheet = _Sheet(ax, max(begin + cell * len(heat["heads"]), 420) + 4, step * (len(names) + 2) + 12)
    sheet.write(begin - 6, step / 2, "table", table - 6, "right", color=MUTED)
    for place, head in enumerate(heat["heads"]):
        x = begin + cell * place
        sheet.box(x + 2, 1, cell - 4, step - 4, LIGHT[head["colour"]])
        sheet.write(x + cell / 2, step / 2 - 1, str(head["label"]), cell - 6, "center", color="white", weight="bold")
    for number, (name, row) in enumerate(zip(names, heat["rows"], strict=True), 1):
        y = step * number
        sheet.write(4, y + step / 2, shown[name], first - 8)
        sheet.write(begin - 6, y + step / 2, row["table"], table - 6, "right", color=MUTED)
        for place, each in enumerate(row["cells"]):
            x = begin + cell * place
            sheet.box(x, y, cell, step, HEAT[each["level"] + 3], "white")
            if not heat["is_wide"]:
                sheet.write(x + cell / 2, y + step / 2, each["text"], cell - 6, "center")
    _write_key(sheet, step * (len(names) + 1) + 8, heat["limits"])
    return sheet.ax


def _write_key(sheet: _Sheet, y: float, limits: list[str]) -> None:
    """Write the meaning of the colors of a heat map below it."""
    sheet.write(4, y + 9, "standard deviations from the table", 190, color=MUTED, size=10)
    texts = [*(f"−{limit}" for limit in reversed(limits)), "", *(f"+{limit}" for limit in limits)]
    for place, (colour, text) in enumerate(zip(HEAT, texts, strict=True)):
        sheet.box(200 + 30 * place, y, 30, 18, colour)
        sheet.write(215 + 30 * place, y + 9, text, 28, "center", size=10)


def plot_silhouettes(values: NDArray[Any], labels: NDArray[Any], rules: RuleSet, ax: Any) -> Any:
    """Draw the silhouettes of rows, cluster by cluster, each from its highest value to its lowest.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        From -1 to 1.
    labels : ndarray of shape (n_rows,)
        The clusters of the rows.
    rules : RuleSet
        Has names and colors of the clusters.
    ax : matplotlib.axes.Axes or None
        None makes a figure.
    """
    colours = cluster_colours([rules])
    clusters = [cluster for cluster in rules.by_size if (labels == cluster.index).any()]
    if ax is None:
        ax = import_pyplot().subplots(figsize=(8, max(2.6, 1.2 + 0.3 * len(clusters))), layout="constrained")[1]
    shown = shorten_apart([one_line(cluster.name) for cluster in clusters], LONGEST)
    names = []
    for place, cluster in enumerate(clusters):
        own = np.sort(values[labels == cluster.index])[::-1]
        heights = np.linspace(place - 0.42, place + 0.42, len(own) + 1)
        ax.stairs(own, heights, orientation="horizontal", fill=True, color=LIGHT[colours[cluster.index]])
        name = "" if cluster.name == str(cluster.label) else f": {shown[one_line(cluster.name)]}"
        names.append(f"{cluster.label}{name} ({percent(len(own) / len(values))})")
    mean = ax.axvline(values.mean(), color=MUTED, linewidth=1, linestyle="--", label=f"mean: {values.mean():.2f}")
    ax.axvline(0, color=LINE, linewidth=1, zorder=0)
    ax.set_yticks(range(len(clusters)), names, parse_math=False)
    ax.set(ylim=(len(clusters) - 0.4, -0.6), xlabel="silhouette", ylabel="cluster (share of rows)")
    ax.legend(handles=[mean], loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return ax

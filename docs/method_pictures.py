"""The pictures of docs/method.md, and the figures in it, of two columns of the table of wines.

    python docs/method_pictures.py              # writes docs/method/*.svg
    python docs/method_pictures.py --figures    # prints the table of cuts
    python docs/method_pictures.py --trees      # prints the table of trees

The page has the SVG in its own text, so that its colors are those of the page, light or dark. Price and expected
conditions are computed here by the paper's definitions; RuntimeError if the package's tree has another root.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_wine

from shallowrules import ExplainableKMeans

FOLDER = Path(__file__).resolve().parent / "method"

COLUMNS = ("flavanoids", "proline")
UNITS = ((0.0, 5.5), (200.0, 1750.0))
"""What the axes show of each column."""
TICKS = ((1, 2, 3, 4, 5), (400, 800, 1200, 1600))
K = 4
TRADEOFF = 0.03
TOLD_APART = ("#e0572f", "#2f8fd8", "#2ba36b", "#a35bd0")
"""Colors of the clusters, which can be read on white and on black."""

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Cut:
    """A cut of the root, by the definitions of section 3 of the paper."""

    column: int
    threshold: float
    price: float
    conditions: float

    @property
    def words(self) -> str:
        """The condition of its left side."""
        return f"{COLUMNS[self.column]} ≤ {self.threshold:g}"

    @property
    def objective(self) -> float:
        """What the greedy tree minimizes."""
        return self.price + TRADEOFF * self.conditions


@dataclass(frozen=True)
class Node:
    """A node of a tree, with the part of the picture that its rows are in; leaves have a cluster, others a cut."""

    box: tuple[tuple[float, float], tuple[float, float]]
    depth: int
    column: int = -1
    threshold: float = 0.0
    cluster: int = -1


def table() -> Rows:
    """Return the two columns."""
    return np.asarray(load_wine(as_frame=True).data[list(COLUMNS)], dtype=np.float64)


@cache
def fitted(tradeoff: float, refine: str) -> ExplainableKMeans:
    """Return a fit; the clustering is the same each time."""
    return ExplainableKMeans(K, scale="minmax", tradeoff=tradeoff, refine=refine, random_state=0).fit(table())


def expected_conditions(k: int, centers_left: float, rows_left: float) -> float:
    """Return EvalWAD, Algorithm 2 of the paper: the depth of a tree that is split like this everywhere."""
    if k == 1:
        return 0.0
    left = min(max(int(np.ceil(k * centers_left - 1e-9)), 1), k - 1)
    return (
        1.0
        + rows_left * expected_conditions(left, centers_left, rows_left)
        + (1.0 - rows_left) * expected_conditions(k - left, centers_left, rows_left)
    )


@cache
def cuts_of_the_root(column: int) -> tuple[Cut, ...]:
    """Return all valid cuts of a column at the root; no edge is killer there, so DExp is EvalWAD."""
    X = table()
    low, high = X.min(axis=0), X.max(axis=0)
    centers = fitted(TRADEOFF, "none").reference_centers_
    distances = ((((X - low) / (high - low))[:, None] - centers) ** 2).sum(axis=2)
    current = distances.min(axis=1).sum()
    of_centers = centers[:, column] * (high - low)[column] + low[column]
    values = np.unique(X[:, column])
    found = []
    for threshold in (values[:-1] + values[1:]) / 2:
        rows, sides = X[:, column] <= threshold, of_centers <= threshold
        if sides.all() or not sides.any() or rows.sum() < sides.sum() or (~rows).sum() < (~sides).sum():
            continue
        induced = distances[np.ix_(rows, sides)].min(axis=1).sum() + distances[np.ix_(~rows, ~sides)].min(axis=1).sum()
        conditions = expected_conditions(K, float(sides.mean()), float(rows.mean()))
        found.append(Cut(column, float(threshold), float(induced / current), conditions))
    return tuple(found)


def best_cuts() -> list[Cut]:
    """Return the best cut of each column, best first; RuntimeError if the tree of the package has a different root."""
    found = sorted(
        (min(cuts_of_the_root(column), key=lambda cut: cut.objective) for column in range(2)),
        key=lambda cut: cut.objective,
    )
    tree, best = fitted(TRADEOFF, "none").tree_, found[0]
    sides = [table()[:, best.column] > threshold for threshold in (best.threshold, tree.threshold[0])]
    if tree.feature[0] != best.column or (sides[0] != sides[1]).any():
        raise RuntimeError(f"the root of the tree is {tree.feature[0]}, {tree.threshold[0]}, and not {best}")
    return found


def chosen_cut() -> Cut:
    """Return the first cut of the tree."""
    return best_cuts()[0]


def nodes_of(model: ExplainableKMeans) -> list[Node]:
    """Return the nodes of a tree, each before those below it."""
    tree, found = model.tree_, []

    def visit(number: int, box: tuple[tuple[float, float], tuple[float, float]], depth: int) -> None:
        column, threshold = int(tree.feature[number]), float(tree.threshold[number])
        if column < 0:
            found.append(Node(box, depth, cluster=int(tree.cluster[number])))
            return
        found.append(Node(box, depth, column, threshold))
        for child, side in ((tree.left[number], 0), (tree.right[number], 1)):
            ends = [*box[column]]
            ends[1 - side] = threshold
            part = ((ends[0], ends[1]), box[1]) if column == 0 else (box[0], (ends[0], ends[1]))
            visit(int(child), part, depth + 1)

    visit(0, UNITS, 0)
    return found


# SVG ----------------------------------------------------------------------------------------------

INK = "var(--md-default-fg-color,#222)"
FAINT = "var(--md-default-fg-color--lighter,#999)"
BACK = "var(--md-default-bg-color,#fff)"
WIDTH, HEIGHT = 300, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 26, 38


def text(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 13, more: str = "") -> str:
    """Return words at a place."""
    escaped = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}"{more}>{escaped}</text>'


def line(x: float, y: float, x2: float, y2: float, *, color: str = INK, width: float = 1, more: str = "") -> str:
    """Return a line."""
    place = f'x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{color}" stroke-width="{width:g}"{more}/>'


class Panel:
    """The first column along the bottom and, of rows, the second one along the side."""

    def __init__(self, title: str, *, of_rows: bool = True) -> None:
        bottom = HEIGHT - BOTTOM
        self.parts = [text(LEFT, 16, title, anchor="start", size=14, more=' font-weight="600"')]
        self.parts.append(f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="{FAINT}"/>')
        self.parts += [text(self.x(tick), bottom + 15, f"{tick}", size=11) for tick in TICKS[0]]
        self.parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, COLUMNS[0], size=12))
        if of_rows:
            self.parts += [text(LEFT - 5, self.y(tick) + 4, f"{tick}", anchor="end", size=11) for tick in TICKS[1]]
            middle = (TOP + bottom) / 2
            self.parts.append(text(11, middle, COLUMNS[1], size=12, more=f' transform="rotate(-90 11 {middle:.0f})"'))

    def x(self, value: float) -> float:
        """Return the place of a value of the first column."""
        low, high = UNITS[0]
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the place of a value of the second column."""
        low, high = UNITS[1]
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def rows(self, labels: NDArray[np.int32], *, faint: bool = False) -> None:
        """Draw the rows, each in the color of its cluster."""
        X = table()
        for cluster, color in enumerate(TOLD_APART):
            dots = "".join(f"M{self.x(a):.1f} {self.y(b):.1f}h0" for a, b in X[labels == cluster])
            look = ' stroke-opacity=".5"' if faint else ""
            self.parts.append(f'<path d="{dots}" stroke="{color}" stroke-width="5" stroke-linecap="round"{look}/>')

    def ringed(self, which: NDArray[np.bool_]) -> None:
        """Draw a ring around rows."""
        for a, b in table()[which]:
            self.parts.append(f'<circle cx="{self.x(a):.1f}" cy="{self.y(b):.1f}" r="4.5" fill="none" stroke="{INK}"/>')

    def centers(self) -> None:
        """Draw the reference centers, as crosses."""
        X = table()
        low, high = X.min(axis=0), X.max(axis=0)
        for a, b in fitted(TRADEOFF, "none").reference_centers_ * (high - low) + low:
            cross = f"M{self.x(a) - 6:.1f} {self.y(b) - 6:.1f}l12 12m0-12l-12 12"
            for color, width in ((BACK, 6), (INK, 3)):
                self.parts.append(f'<path d="{cross}" stroke="{color}" stroke-width="{width}"/>')

    def cut(
        self,
        column: int,
        threshold: float,
        box: tuple[tuple[float, float], tuple[float, float]] = UNITS,
        more: str = "",
    ) -> None:
        """Draw a cut through a part of the picture."""
        if column == 0:
            ends = self.x(threshold), self.y(box[1][0]), self.x(threshold), self.y(box[1][1])
        else:
            ends = self.x(box[0][0]), self.y(threshold), self.x(box[0][1]), self.y(threshold)
        self.parts.append(line(*ends, width=2, more=more))

    def cuts(self, nodes: Sequence[Node]) -> None:
        """Draw all cuts of a tree."""
        for node in nodes:
            if node.column >= 0:
                self.cut(node.column, node.threshold, node.box)


def picture(parts: Sequence[str], label: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    """Return a whole picture, with the words for those who cannot see it."""
    size = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
    look = f'font-family="inherit,sans-serif" fill="{INK}" role="img" aria-label="{label}"'
    return f"<svg {size} {look}>\n" + "\n".join(parts) + "\n</svg>\n"


def kmeans() -> str:
    """Return the clustering without rules."""
    panel = Panel("k-means, four clusters")
    panel.rows(fitted(TRADEOFF, "none").reference_labels_)
    panel.centers()
    label = (
        f"{COLUMNS[0]} and {COLUMNS[1]} of {len(table())} wines, in a color for each cluster; a cross on each center"
    )
    return picture(panel.parts, label)


def cut() -> str:
    """Return the first cut, with a ring around each row that it separates from its center."""
    best, model = chosen_cut(), fitted(TRADEOFF, "none")
    values = table()[:, best.column]
    of_centers = model.reference_centers_[:, best.column] * np.ptp(values) + values.min()
    apart = (values <= best.threshold) != (of_centers[model.reference_labels_] <= best.threshold)
    panel = Panel(f"{best.words}: price {best.price:.3f}")
    panel.rows(model.reference_labels_, faint=True)
    panel.ringed(apart)
    panel.centers()
    panel.cut(best.column, best.threshold)
    ringed = f"{int(apart.sum())} rows that it separates from their centers have a ring"
    label = f"The clusters and the cut {best.words}; {ringed}"
    return picture(panel.parts, label)


def prices() -> str:
    """Return the price of all cuts of the column of the first cut."""
    best, top = chosen_cut(), 1.8
    panel = Panel(f"price of each cut of {COLUMNS[best.column]}", of_rows=False)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - 1) / (top - 1) * (HEIGHT - TOP - BOTTOM)

    for tick in (1, 1.2, 1.4, 1.6, top):
        panel.parts.append(text(LEFT - 5, y(tick) + 4, f"{tick:g}", anchor="end", size=11))
    shown = [cut for cut in cuts_of_the_root(best.column) if cut.price <= top]
    curve = "L".join(f"{panel.x(cut.threshold):.1f} {y(cut.price):.1f}" for cut in shown)
    panel.parts.append(f'<path d="M{curve}" fill="none" stroke="{TOLD_APART[1]}" stroke-width="2"/>')
    x, bottom = panel.x(best.threshold), y(best.price)
    panel.parts.append(f'<circle cx="{x:.1f}" cy="{bottom:.1f}" r="4.5"/>')
    panel.parts.append(text(x + 44, bottom - 8, best.words, anchor="start", size=12))
    lowest = f"{best.price:.3f}, is at {best.threshold:g}"
    label = f"The price of each cut of {COLUMNS[best.column]}: a valley whose lowest point, {lowest}"
    return picture(panel.parts, label)


def objective() -> str:
    """Return the best cuts of both columns: price, and trade-off times expected conditions."""
    left, scale, parts = 128, 3000.0, []
    for number, cut in enumerate(best_cuts()):
        y, first, second = 34 + 46 * number, (cut.price - 1) * scale, TRADEOFF * cut.conditions * scale
        parts.append(text(left - 8, y + 17, cut.words, anchor="end"))
        parts.append(f'<rect x="{left}" y="{y}" width="{first:.1f}" height="26" fill="{TOLD_APART[1]}"/>')
        parts.append(f'<rect x="{left + first:.1f}" y="{y}" width="{second:.1f}" height="26" fill="{TOLD_APART[0]}"/>')
        parts.append(text(left + first + second + 8, y + 17, f"{cut.objective:.3f}", anchor="start"))
    for x, color, words in ((left, 1, "price − 1"), (left + 90, 0, f"{TRADEOFF:g} × expected conditions")):
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{TOLD_APART[color]}"/>')
        parts.append(text(x + 18, 18, words, anchor="start", size=12))
    words = "{0.words}, price {0.price:.3f}, {0.conditions:.2f} conditions, together {0.objective:.3f}"
    said = "; ".join(words.format(cut) for cut in best_cuts())
    return picture(parts, f"Two cuts as bars of their price and their expected conditions: {said}", 440, 122)


def growing(number: int) -> str:
    """Return the greedy tree with its first cuts, so many."""
    model = fitted(TRADEOFF, "none")
    inner = sorted((node for node in nodes_of(model) if node.column >= 0), key=lambda node: node.depth)
    new, last = inner[number - 1], number == len(inner)
    panel = Panel(f"{number}. {COLUMNS[new.column]} ≤ {new.threshold:g}")
    panel.rows(model.labels_ if last else model.reference_labels_, faint=not last)
    panel.cuts(inner[:number])
    panel.centers()
    label = f"The clusters and {number} of the cuts of the tree, the newest {COLUMNS[new.column]} at {new.threshold:g}"
    return picture(panel.parts, f"{label}; each part has one center" if last else label)


def refinement(refine: str) -> str:
    """Return the clusters by the greedy tree, or by the refined one."""
    model, title = fitted(TRADEOFF, refine), "greedy" if refine == "none" else "refined"
    panel = Panel(f"{title}: J = {objective_of(model):.3f}")
    panel.rows(model.labels_)
    nodes = nodes_of(model)
    panel.cuts(nodes)
    said = ", ".join(f"{COLUMNS[node.column]} at {node.threshold:g}" for node in nodes if node.column >= 0)
    return picture(panel.parts, f"The clusters by the {title} tree, with its cuts: {said}")


def objective_of(model: ExplainableKMeans) -> float:
    """Return J of a fit."""
    return float(model.normalized_cost_ + TRADEOFF * model.waes_)


PICTURES: dict[str, Callable[[], str]] = {
    "kmeans": kmeans,
    "cut": cut,
    "prices": prices,
    "objective": objective,
    **{f"growing-{number}": partial(growing, number) for number in (1, 2, 3)},
    "greedy": partial(refinement, "none"),
    "refined": partial(refinement, "full"),
}


def figures() -> str:
    """Return the table of cuts, in Markdown."""
    lines = ["| cut | price | expected conditions | price + 0.03 × conditions |", "| --- | --: | --: | --: |"]
    lines += [f"| {cut.words} | {cut.price:.3f} | {cut.conditions:.2f} | {cut.objective:.3f} |" for cut in best_cuts()]
    return "\n".join(lines)


def trees() -> str:
    """Return the table of trees, in Markdown."""
    lines = ["| tree | first cut | cost | WAES | J |", "| --- | --- | --: | --: | --: |"]
    for title, tradeoff, refine in (
        ("greedy, trade-off 0", 0.0, "none"),
        ("greedy, trade-off 0.03", TRADEOFF, "none"),
        ("refined, trade-off 0.03", TRADEOFF, "full"),
    ):
        model = fitted(tradeoff, refine)
        root = f"{COLUMNS[model.tree_.feature[0]]} ≤ {model.tree_.threshold[0]:g}"
        lines.append(
            f"| {title} | {root} | {model.normalized_cost_:.3f} | {model.waes_:.2f} | {objective_of(model):.3f} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Write the pictures, or print a table."""
    if printed := {"--figures": figures, "--trees": trees}.get(arguments[0] if arguments else ""):
        print(printed())
        return 0
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The gain of a search over the growths that it takes: read off as a table, and drawn as an SVG of a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

AFTER = (5, 10, 15, 20, 30, 45, 60, 80, 100)

Told = list[tuple[float, float]]
"""Of one search the growths by then and J of the best tree by then, the first of them the greedy one's."""


def best_by(told: Told, growths: float) -> float:
    """Return J of the best tree after a given number of growths."""
    return [told[0][1], *(objective for by_then, objective in told if by_then <= growths)][-1]


def gain_after(searches: Sequence[Told], growths: float) -> float:
    """Return the percentage by which the mean J of a table's searches is below that of their greedy trees."""
    before, after = (float(np.mean([best_by(told, by_then) for told in searches])) for by_then in (0.0, growths))
    return 100 * (1 - after / before)


def gains(tables: dict[str, list[Told]]) -> dict[str, list[float]]:
    """Return the gain of each table, and the mean gain of all, after each of `AFTER`."""
    found = {name: [gain_after(searches, growths) for growths in AFTER] for name, searches in tables.items()}
    return found | {"all": np.mean(list(found.values()), axis=0).tolist()}


WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 360, 48, 16, 120, 44


def draw_curve(curves: dict[str, list[float]], path: Path) -> None:
    """Draw the gain over the growths, the mean of the tables in bold."""
    highest = max(1.0, *(max(values) for values in curves.values()))

    def x(growths: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * growths / AFTER[-1]

    def y(gain: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * gain / highest

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12" role="img" aria-label="Gain in J over growths">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for gain in range(int(highest) + 1):
        lines.append(f'<path d="M{LEFT} {y(gain):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y(gain) + 4:.1f}" text-anchor="end">{gain}%</text>')
    lines += [
        f'<text x="{x(growths):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{growths}</text>'
        for growths in (0, 20, 40, 60, 80, 100)
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text x="{middle:g}" y="{HEIGHT - 6}" text-anchor="middle">growths of the greedy tree</text>')
    lowest = -np.inf
    for name in sorted(curves, key=lambda name: curves[name][-1]):
        values = curves[name]
        points = " ".join(f"{x(g):.1f},{y(gain):.1f}" for g, gain in zip((0, *AFTER), (0.0, *values), strict=True))
        style = 'stroke="#06c" stroke-width="3"' if name == "all" else 'stroke="#888"'
        lines.append(f'<polyline points="{points}" fill="none" {style}/>')
        # Names of curves that end together are put one above the other.
        lowest = max(y(0.0) - y(values[-1]), lowest + 13)
        lines.append(f'<text x="{WIDTH - RIGHT + 6}" y="{y(0.0) - lowest + 4:.1f}">{name}</text>')
    path.write_text("\n".join([*lines, "</svg>", ""]), encoding="utf-8")

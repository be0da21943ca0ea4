"""The scatter of a page: some rows as dots in two projected coordinates, in the color of their cluster, no values."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallowrules.errors import OptionError, OptionName, counted
from shallowrules.exporters.base import check_path
from shallowrules.files import read_whole
from shallowrules.rules import RuleSet

__all__ = ["Points", "describe_scatter", "read_points"]

WIDTH, HEIGHT, MARGIN = 520, 360, 12
"""Pixels of the drawing, and the room for a dot at its ends."""

OPTION = OptionName("points")


@dataclass(frozen=True)
class Points:
    """Rows as points: two coordinates that mean nothing by themselves, and the cluster."""

    rows: tuple[tuple[float, float, int], ...]


def read_points(given: str | Path | Points) -> Points:
    """Return the points of a CSV file with the columns x, y and cluster, or points themselves.

    Raises
    ------
    OptionError
        If the file has other columns, no columns, or values that are not numbers. OSError if it cannot be read.
    """
    if isinstance(given, Points):
        return given
    check_path("points", given)
    lines = read_whole(given).decode("utf-8-sig", "replace").splitlines()
    rows = []
    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            x, y, cluster = float(row["x"]), float(row["y"]), int(row["cluster"])
        except (KeyError, TypeError, ValueError):
            x = y = math.nan
        if not math.isfinite(x - y):
            raise OptionError(
                OPTION,
                f": line {number} of {given} does not hold two numbers and a cluster in columns x, y and cluster",
            )
        rows.append((x, y, cluster))
    if not rows:
        raise OptionError(OPTION, f": {given} has no rows; write one for each point, below the names x, y and cluster")
    return Points(tuple(rows))


def describe_scatter(points: Points, rules: RuleSet, colours: Mapping[int, int]) -> dict[str, Any]:
    """Return the drawing: for each cluster, its dots as the path of an SVG, and the place of its number.

    Raises
    ------
    OptionError
        If a point is in a cluster that the rules do not have.
    """
    indices = {number: each.index for each in rules.clusters for number in (each.index, each.label)}
    unknown = sorted({cluster for *_, cluster in points.rows} - set(indices))
    if unknown:
        raise OptionError(OPTION, f" has points in cluster {unknown[0]}, which the rules do not have")
    across, down = (_scale([row[i] for row in points.rows], size) for i, size in ((0, WIDTH), (1, HEIGHT)))
    groups = []
    for cluster in rules.by_size:
        found = zip(across, down, points.rows, strict=True)
        own = [(x, y) for x, y, (*_, number) in found if indices[number] == cluster.index]
        if own:
            groups.append(
                {
                    "label": cluster.label,
                    "colour": colours[cluster.index],
                    "path": "".join(f"M{x} {y}h0" for x, y in dict.fromkeys(own)),
                    "x": sorted(x for x, _ in own)[len(own) // 2],
                    "y": sorted(y for _, y in own)[len(own) // 2],
                }
            )
    return {"groups": groups, "rows": counted(len(points.rows), "row"), "width": WIDTH, "height": HEIGHT}


def _scale(values: list[float], size: int) -> list[int]:
    low, high = min(values), max(values)
    width = high - low if high > low else 1.0
    return [MARGIN + round((value - low) / width * (size - 2 * MARGIN)) for value in values]

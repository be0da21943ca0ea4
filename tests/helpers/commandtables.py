"""Tables for the command line: with labels, weights and categories, or with trees that differ by the trade-off."""

from __future__ import annotations

import csv
import os

import numpy as np
from commandline import write_groups

__all__ = ["crowded", "labelled", "mixed"]


def crowded(path: str = "t.csv") -> str:
    """Write a table whose trees differ by the trade-off, and return its path."""
    rows = np.random.default_rng(1).normal(size=(300, 4)).round(2)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["a", "b", "c", "d"], *rows.tolist()])
    return path


def labelled(path: str = "t.csv") -> str:
    """Write the three groups with a name for each but the last row's, a weight, and one row named wrongly."""
    with open(write_groups("plain.csv"), encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    names = [["low", "wide|", "high"][i % 3] for i in range(len(rows))]
    names[0], names[-1] = "high", ""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        made = [[*row, name, 1 + i % 2] for i, (row, name) in enumerate(zip(rows, names, strict=True))]
        csv.writer(stream).writerows([[*header, "segment", "w"], *made])
    os.remove("plain.csv")
    return path


def mixed(path: str = "t.csv") -> str:
    """Write numbers, categories, a segment that is missing in five rows, and a weight that is 0 in some."""
    random = np.random.default_rng(2)
    segment = random.integers(0, 4, 300)
    columns = {
        "months": random.integers(0, 40, 300) + 15 * segment,
        "amount": (random.normal(0, 9, 300) + 20 * (segment % 2)).round(1),
        "kind": np.array(["A", "B", "C", "D"])[np.where(random.random(300) < 0.8, segment, random.integers(0, 4, 300))],
        "segment": [["low", "mid", "high", "top"][i] if row >= 5 else "" for row, i in enumerate(segment)],
        "w": random.integers(0, 4, 300),
    }
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([columns, *zip(*columns.values(), strict=True)])
    return path

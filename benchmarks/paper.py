"""Are the trees as cheap and as short as the paper's? Cost, WAES and WAD next to what is known of each table.

For each table and seed one k-means (ten starts) is explained by ExShallow and by ExGreedy; the means over
the seeds stand next to the figures that the definitions reproduce on that table (`reproduced.csv`; the
published runs cannot be repeated exactly, their seeds are not known) and next to the paper's own.
Exit status 1 says that a figure is off: cost by more than 0.02, WAES or WAD more than 6 % too long.

iris and digits come with scikit-learn; the other tables are ``NAME.npz`` files with ``X`` and ``k`` in the
data folder, and the paper's figures are read from ``paper_results.csv`` next to that folder. What is not
there is left out.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import MinMaxScaler

from shallowrules import ExplainableKMeans

HERE = Path(__file__).resolve().parent
BUNDLED = {"iris": (load_iris, 3), "digits": (load_digits, 10)}
MEASURES = ("cost", "waes", "wad")
COST_TOLERANCE = 0.02
LENGTH_TOLERANCE = 0.06
ROUNDING = 1e-9  # 1.19 + 0.02 is no double; what lies on the limit is within it

Figures = dict[str, float]
"""A value per measure; a measure that is not known is not there."""


@dataclass(frozen=True)
class Expected:
    """What a method reproduces on a table: a row of ``reproduced.csv``."""

    table: str
    scale: str | None
    method: str
    figures: Figures


def read_expected() -> list[Expected]:
    """Return the rows of ``reproduced.csv``, in their order."""
    with open(HERE / "reproduced.csv", encoding="utf-8", newline="") as file:
        return [
            Expected(
                row["table"],
                row["scale"] or None,
                row["method"],
                {measure: float(row[measure]) for measure in MEASURES if row[measure]},
            )
            for row in csv.DictReader(file)
        ]


def read_published(path: Path) -> dict[tuple[str, str], Figures]:
    """Return the paper's figures by (table, method); none where the file is not there."""
    published: dict[tuple[str, str], Figures] = {}
    if path.is_file():
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                measure = row["measure"].removeprefix("normalized_")
                if row["table"] == "table2_quality" and measure in MEASURES:
                    published.setdefault((row["dataset"].lower(), row["method"]), {})[measure] = float(row["value"])
    return published


def load(name: str, folder: Path) -> tuple[NDArray[np.float64], int] | None:
    """Return a table and its number of clusters, or None where it is not there."""
    if name in BUNDLED:
        loader, k = BUNDLED[name]
        return loader().data, k
    path = folder / f"{name}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as stored:
        return stored["X"], int(stored["k"])


def measure(X: NDArray[np.float64], k: int, scale: str | None, methods: list[str], seeds: int) -> dict[str, Figures]:
    """Return the means over the seeds of cost, WAES and WAD, by method.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
        Raw units.
    k : int
    scale : None or "minmax"
        The space that is clustered.
    methods : list of str
    seeds : int
        Seeds 0, 1, … are used.
    """
    # The clusterer is given fitted, so that the methods explain one clustering, and it lives in the scaled space.
    clustered = MinMaxScaler().fit_transform(X) if scale == "minmax" else X
    found: dict[str, list[tuple[float, float, float]]] = {method: [] for method in methods}
    for seed in range(seeds):
        clusterer = KMeans(k, n_init=10, random_state=seed).fit(clustered)
        for method in methods:
            model = ExplainableKMeans(k, method=method, clusterer=clusterer, scale=scale, n_jobs=-1).fit(X)
            found[method].append((model.normalized_cost_, model.waes_, model.wad_))
        print(f"  seed {seed + 1} of {seeds}", file=sys.stderr, flush=True)
    return {
        method: dict(zip(MEASURES, map(float, np.mean(runs, axis=0)), strict=True)) for method, runs in found.items()
    }


def complaints(expected: Expected, measured: Figures) -> list[str]:
    """Return what is off by more than the tolerance, one sentence for each figure."""
    found = []
    for name, wanted in expected.figures.items():
        value = measured[name]
        if name == "cost":
            off, limit = abs(value - wanted) > COST_TOLERANCE + ROUNDING, f"{COST_TOLERANCE} away from"
        else:
            off, limit = value > wanted * (1 + LENGTH_TOLERANCE) + ROUNDING, f"{LENGTH_TOLERANCE:.0%} above"
        if off:
            found.append(f"{expected.table}, {expected.method}: {name} is {value:.4f}, more than {limit} {wanted:g}")
    return found


def shown(figures: Figures | None) -> str:
    """Return cost / WAES / WAD in columns, a dash for what is not known."""
    return " ".join(f"{figures[name]:6.2f}" if figures and name in figures else f"{'-':>6}" for name in MEASURES)


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison and return the exit status."""
    expected = read_expected()
    known = list(dict.fromkeys(row.table for row in expected))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SHALLOWRULES_DATA") or HERE.parent.parent / "shared" / "data"),
        help="folder of the tables (default: $SHALLOWRULES_DATA, else ../shared/data next to the repository)",
    )
    parser.add_argument("--seeds", type=int, default=5, help="k-means runs per table (default: 5)")
    parser.add_argument("--tables", help=f"comma-separated, of: {', '.join(known)} (default: all that are there)")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    wanted = options.tables.split(",") if options.tables else known
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"unknown tables: {', '.join(unknown)}; known are: {', '.join(known)}")

    published = read_published(options.data.parent / "paper_results.csv")
    print(f"mean over {options.seeds} seeds; each column is cost / WAES / WAD")
    print(f"{'table':8}{'method':11}{'measured':>20}   {'reproduces':>20}   {'paper':>20}")
    off: list[str] = []
    for name in wanted:
        loaded = load(name, options.data)
        if loaded is None:
            if options.tables:
                parser.error(f"table {name} was asked for, but there is no {options.data / name}.npz")
            print(f"{name}: left out, there is no {options.data / name}.npz", file=sys.stderr)
            continue
        X, k = loaded
        print(f"{name}: {X.shape[0]} rows x {X.shape[1]} columns, {k} clusters", file=sys.stderr, flush=True)
        rows = [row for row in expected if row.table == name]
        results = measure(X, k, rows[0].scale, [row.method for row in rows], options.seeds)
        for row in rows:
            measured, wrong = results[row.method], complaints(row, results[row.method])
            paper = published.get((name, row.method))
            columns = "   ".join(map(shown, (measured, row.figures, paper)))
            print(f"{name:8}{row.method:11}{columns}{'   OFF' if wrong else ''}", flush=True)
            off += wrong
    for sentence in off:
        print(sentence)
    if not off:
        print(f"measured within {COST_TOLERANCE} in cost, and at most {LENGTH_TOLERANCE:.0%} above in WAES and WAD")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())

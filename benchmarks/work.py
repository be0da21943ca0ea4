"""The work of growing a tree, counted and not timed: how it grows with the number of clusters, and in which parts.

    python benchmarks/work.py                  # 200,000 x 10, k = 10 and 100: visits, from the trees
    python benchmarks/work.py --instructions   # and the instructions of each part of the kernel, by valgrind: minutes
    python benchmarks/work.py --quick          # a tiny table: shows that it runs, and nothing else

A node of n rows and K centers takes the distance of each row to each center (n·K), and for each of d columns it reads
each row's code (n·d) and goes through the K centers of each row in the column's order (n·K·d). Codes are made once. The
instructions are those of one thread with AVX2.

The work that every exact sum needs is counted, too, from a sample of each node's rows. Along a column, the cheapest
center on a row's own side of the cut changes at the row's value, and then from center to center until it is the row's
nearest: each change is a step of the sum. The distance of the row to each center that is the cheapest at some cut is
part of it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measuring import log
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from speed_cases import SLOPE_BASE

from shallowrules.trees.growing import grow
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.growth_data import GrowthData, find_unique_rows
from shallowrules.trees.tree import LEAF, Tree

ROWS, QUICK_ROWS = 200_000, 2000
FEW, MANY = 10, 100
TRADEOFF = 0.03
SAMPLED_ROWS = 1000
"""Rows of a node, at most, that tell what its rows need."""

CHILD = """
import sys
import numpy as np
from shallowrules._kernel import GrowthInput, grow_tree
X, centers = np.load(sys.argv[1]), np.load(sys.argv[2])
rows = np.arange(len(X), dtype=np.int32)
grow_tree(GrowthInput(X, X, rows, None, centers, centers, None), float(sys.argv[3]))
"""

PARTS = (
    ("going over centers in a column's order", r"sr_dense_sweep|sr_dense_exact\b"),
    ("distances to centers", r"sr_lane_distances|distance_to"),
    ("what each center adds", r"sr_dense_units|sr_dense_exact_units|sr_nearest"),
    ("counting rows by code", r"_sweep_block|dense_sweep|bound_rows"),
    ("making codes", r"binning|column_ranges|sr_widen"),
    ("reading rows", r"load_block|load_point|prefetch_rows"),
    ("partitioning rows", r"partition"),
    ("choosing cuts", r"cut_scan|cut_search|depth|objective|histograms|qsort|msort"),
)
"""Parts of the kernel by the names of their functions; the first pattern that fits counts."""


def visits(tree: Tree, n_columns: int) -> dict[str, int]:
    """Return how often something was done, from the rows and leaves of every node that was cut."""
    leaves = np.ones(len(tree.feature), dtype=np.int64)
    for node in range(len(leaves) - 1, -1, -1):  # children come after their parents
        if tree.feature[node] != LEAF:
            leaves[node] = leaves[tree.left[node]] + leaves[tree.right[node]]
    cut = tree.feature != LEAF
    rows, centers = tree.rows[cut].astype(np.int64), leaves[cut]
    return {
        "rows coded x columns": int(tree.rows[0]) * n_columns,
        "rows of nodes x columns": int(rows.sum()) * n_columns,
        "rows x centers of nodes": int((rows * centers).sum()),
        "rows x centers x columns": int((rows * centers).sum()) * n_columns,
    }


def needed(grown: GrownTree, X: NDArray[np.float64], centers: NDArray[np.float64]) -> dict[str, int]:
    """Return the parts of an exact sum of the costs of all cuts, at the nodes that were cut."""
    random = np.random.default_rng(0)
    leaf_of = grown.route(X, 1)
    below: dict[int, tuple[NDArray[np.intp], list[int]]] = {}  # of a node, its rows and its centers
    steps = distances = 0.0
    for node in range(len(grown.feature) - 1, -1, -1):  # children come after their parents
        if grown.feature[node] == LEAF:
            below[node] = np.flatnonzero(leaf_of == node), [int(grown.center[node])]
            continue
        (rows, some), (more_rows, more) = below.pop(int(grown.left[node])), below.pop(int(grown.right[node]))
        rows = np.concatenate([rows, more_rows])
        below[node] = rows, [*some, *more]
        sample = random.choice(rows, min(SAMPLED_ROWS, len(rows)), replace=False)
        found = needed_of(X[sample], centers[below[node][1]])
        steps += found[0] * len(rows)
        distances += found[1] * len(rows)
    return {"steps of rows in columns": round(steps), "distances that are the cheapest": round(distances)}


def needed_of(X: NDArray[np.float64], centers: NDArray[np.float64]) -> tuple[float, float]:
    """Return how many steps a row has on average, in all columns, and how many centers are the cheapest at some cut."""
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    nearest = distance.argmin(axis=1)[:, None]
    position = np.arange(len(centers))
    cheapest = position == nearest
    n_steps = 0
    for j in range(X.shape[1]):
        for sign in (1, -1):  # the cuts above a row's value, where it goes left; those below it, where it goes right
            order = np.argsort(sign * centers[:, j], kind="stable")
            place = np.argsort(order)[nearest]
            behind = np.searchsorted(sign * centers[order, j], sign * X[:, j], side="right")[:, None]
            begin = np.maximum(behind, 1)  # no cut lies before the first center: a row before it begins there
            here = distance[:, order]
            lowest = np.minimum.accumulate(here, axis=1)
            changes = (here < np.pad(lowest[:, :-1], ((0, 0), (1, 0)), constant_values=np.inf)) & (position <= place)
            separated = place >= begin
            later = changes & separated & (position >= begin) & (position < len(order) - 1)  # nor after the last
            n_steps += int(np.count_nonzero(separated & (behind > 0)) + np.count_nonzero(later))
            first = (here <= np.take_along_axis(lowest, begin - 1, axis=1)).argmax(axis=1)[:, None]
            cheapest[:, order] |= changes & separated & (position >= first)
    return n_steps / len(X), float(cheapest.sum() / len(X))


def instructions(X: Path, centers: Path, folder: Path) -> dict[str, int]:
    """Return the instructions of growing a tree, by part."""
    counted = folder / "counted"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counted}", "--toggle-collect=*tree_*grow_tree*"]
    subprocess.run(
        [*command, sys.executable, "-c", CHILD, str(X), str(centers), str(TRADEOFF)], check=True, capture_output=True
    )
    annotated = subprocess.run(
        ["callgrind_annotate", "--threshold=100", str(counted)], check=True, capture_output=True, encoding="utf-8"
    )
    found = dict.fromkeys([*(name for name, _ in PARTS), "all else"], 0)
    for number, function in re.findall(r"^ *([\d,]+) \([^)]*\) +(.*)$", annotated.stdout, re.MULTILINE):
        if "PROGRAM TOTALS" not in function:
            part = next((name for name, pattern in PARTS if re.search(pattern, function)), "all else")
            found[part] += int(number.replace(",", ""))
    return found


def print_counts(title: str, few: dict[str, int], many: dict[str, int]) -> None:
    """Print counts in millions, their ratios, and the totals."""
    print(f"{title:42} {f'k={FEW}':>10} {f'k={MANY}':>10}  ratio")
    for name in few:
        ratio = f"{many[name] / few[name]:6.2f}" if few[name] else ""
        print(f"  {name:40} {few[name] / 1e6:10,.1f} {many[name] / 1e6:10,.1f} {ratio}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Count the work of both trees. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instructions", action="store_true", help="also count instructions, by valgrind")
    parser.add_argument("--quick", action="store_true", help="a tiny table: only shows that it runs")
    options = parser.parse_args(arguments)
    if options.instructions and shutil.which("valgrind") is None:
        parser.error("--instructions wants valgrind, which is not installed")
    visited, exact, counted = [], [], []
    for k in (FEW, MANY):
        log(f"k={k}")
        case = replace(SLOPE_BASE, rows=QUICK_ROWS if options.quick else ROWS, k=k)
        X = case.table(0)
        centers: NDArray[np.float64] = KMeans(k, n_init=1, max_iter=20, random_state=0).fit(X).cluster_centers_
        grown = grow(find_unique_rows(GrowthData(X, X, centers, centers)), tradeoff=TRADEOFF)
        visited.append(visits(grown.as_tree(), X.shape[1]))
        exact.append(needed(grown, X, centers))
        if options.instructions:
            with TemporaryDirectory() as scratch:
                folder = Path(scratch)
                np.save(folder / "X.npy", X)
                np.save(folder / "centers.npy", centers)
                counted.append(instructions(folder / "X.npy", folder / "centers.npy", folder))
    print_counts(f"visits, millions ({len(X):,} x {X.shape[1]})", *visited)
    print_counts("of these no exact sum can do without", *exact)
    if counted:
        print_counts("instructions, millions", *counted)
        print(
            f"  {'all':40} {sum(counted[0].values()) / 1e6:10,.1f} {sum(counted[1].values()) / 1e6:10,.1f} "
            f"{sum(counted[1].values()) / sum(counted[0].values()):6.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

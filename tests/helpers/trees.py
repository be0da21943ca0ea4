"""The trees of drawn and bundled tables, which are the same on every machine and from every compiler.

As a script, it compares those of the installed package with `golden/trees.txt`, which x86-64 wrote. It needs no other
packages, so that a wheel for any system can be tested. With --print it prints them, those of .npz files too.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from shallowrules import ExplainableKMeans
from shallowrules._kernel import openmp_enabled

GOLDEN = Path(__file__).parents[1] / "golden" / "trees.txt"

# Rows, columns and centers: of all ways that the kernel goes (complete and short lists, dense nodes, shared nodes).
DRAWN = [(500, 3, 4), (3000, 8, 12), (3000, 20, 40), (40_000, 6, 9), (4000, 12, 140)]
OPTIONS: list[dict[str, Any]] = [
    {"method": "imm"},
    {"method": "exgreedy"},
    {"method": "exkmc", "max_leaves": 24},
    {"refine": "none"},
    {"refine": "thorough", "budget": 20},
    {"max_leaves": 18},
]


def drawn(n_rows: int, n_columns: int, k: int) -> NDArray[np.float64]:
    """Return rows around k places, by whole numbers alone: other distributions use the machine's logarithm."""
    random = np.random.default_rng(n_rows + n_columns)
    places = random.integers(0, 100, (k, n_columns))
    spread = random.integers(-9, 10, (n_rows, n_columns)) * random.integers(0, 4, (n_rows, 1))
    table: NDArray[np.float64] = (places[random.integers(0, k, n_rows)] + spread) / 7.0
    return table


def line(name: str, X: NDArray[Any], k: int, **options: Any) -> str:
    """Return a name, the number of leaves, and a hash of all cuts and labels.

    Centers are rows of the table: those of KMeans come from BLAS, which sums in another order on each machine.
    """
    centers = np.unique(X[:: len(X) // k][:k].astype(np.float64), axis=0)
    model = ExplainableKMeans(clusterer=centers, n_jobs=2, random_state=0, **options).fit(X)
    digest = hashlib.sha256()
    tree = model.tree_
    for values in (tree.feature, tree.threshold, tree.left, tree.right, tree.cluster, tree.rows, model.labels_):
        digest.update(np.ascontiguousarray(values).tobytes())
    return f"{name}: {model.n_leaves_} leaves, {digest.hexdigest()[:16]}"


def lines(files: Sequence[Path] = ()) -> Iterator[str]:
    """Yield a line for each tree."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield line(name, getattr(datasets, f"load_{name}")().data, 7)
    for shape in DRAWN:
        yield line("drawn, {} x {}, k = {}".format(*shape), drawn(*shape), shape[-1])
    X = drawn(3000, 8, 12)
    for options in OPTIONS:
        yield line(", ".join(f"{name} {value}" for name, value in options.items()), X, 12, **options)
    yield line("float32", X.astype(np.float32), 12)
    for file in files:
        with np.load(file) as stored:
            yield line(file.stem, stored["X"], int(stored["k"]))


def main() -> int:
    """Return 1 if a tree differs, or the kernel was built otherwise than it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--openmp", choices=["on", "off"], help="whether the kernel should have OpenMP")
    parser.add_argument("--print", action="store_true", dest="prints")
    parser.add_argument("file", nargs="*", type=Path)
    told = parser.parse_args()
    is_enabled = "on" if openmp_enabled() else "off"
    if told.openmp not in (None, is_enabled):
        print(f"OpenMP is {is_enabled}", file=sys.stderr)
        return 1
    found = list(lines(told.file))
    if told.prints:
        print(*found, sep="\n")
        return 0
    expected = GOLDEN.read_text(encoding="utf-8").splitlines()
    for difference in difflib.unified_diff(expected, found, "golden", "here", lineterm=""):
        print(difference)
    print(f"OpenMP is {is_enabled}; the trees are {'equal' if found == expected else 'different'}")
    return int(found != expected)


if __name__ == "__main__":
    sys.exit(main())

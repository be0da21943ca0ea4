"""Code that the benchmarks share: the tables and their spaces, a clock, whether the machine is quiet, targets, and how
results are printed and drawn.

iris, digits, wine, breast_cancer and diabetes come with scikit-learn; the others are ``NAME.npz`` files with ``X``
(raw) and ``k`` in the data folder.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import normalized_mutual_info_score
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from shallowrules import RuleSet, Table, Tree, rules_of_tree
from shallowrules.encoding import encode

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SHALLOWRULES_DATA") or ROOT.parent / "shared" / "data")
BUNDLED = {
    "iris": (load_iris, 3),
    "wine": (load_wine, 3),
    "breast_cancer": (load_breast_cancer, 10),
    "diabetes": (load_diabetes, 10),
    "digits": (load_digits, 10),
}
SCALES = {"avila": "minmax", "wine": "standard", "breast_cancer": "standard", "diabetes": "standard"}
"""The space in which a table is clustered; raw columns unless named here. In that of avila, costs are as published."""

TITLES = {
    "exshallow": "ExShallow",
    "exgreedy": "ExGreedy",
    "imm": "IMM",
    "exkmc": "ExKMC",
    "cart": "CART",
    "exshallow_star": "ExShallow*",
}

Figures = dict[str, float]
"""A value per measure; unknown measures are left out."""


def log(message: str) -> None:
    """Print a line of progress to stderr."""
    print(message, file=sys.stderr, flush=True)


def cores() -> int | None:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


# Tables -------------------------------------------------------------------------------------------


def add_table_options(parser: argparse.ArgumentParser, known: Sequence[str]) -> None:
    """Add the options that `chosen_tables` reads."""
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        help="folder of the tables (default: $SHALLOWRULES_DATA, else ../shared/data next to the repository)",
    )
    parser.add_argument("--tables", help=f"comma-separated, of: {', '.join(known)} (default: all that are there)")


def chosen_tables(
    parser: argparse.ArgumentParser, options: argparse.Namespace, known: Sequence[str], made: Sequence[str] = ()
) -> list[str]:
    """Return the tables that were asked for and are there, smallest files first; `made` ones need no file."""
    wanted = options.tables.split(",") if options.tables else known
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"unknown tables: {', '.join(unknown)}; use one of: {', '.join(known)}")

    files = {name: options.data / f"{name}.npz" for name in wanted if name not in BUNDLED and name not in made}
    absent = [name for name, file in files.items() if not file.is_file()]
    if options.tables and absent:
        parser.error(f"there is no {files[absent[0]]}, though table {absent[0]} was asked for")
    if absent:
        log(f"left out, not in {options.data}: {', '.join(absent)}")
    there = [name for name in wanted if name not in absent]
    return sorted(there, key=lambda name: files[name].stat().st_size if name in files else 0)


def load(name: str, folder: Path) -> tuple[NDArray[np.float64], int]:
    """Return a table and its number of clusters."""
    if name in BUNDLED:
        loader, k = BUNDLED[name]
        return loader().data, k
    with np.load(folder / f"{name}.npz", allow_pickle=False) as stored:
        return stored["X"], int(stored["k"])


def into_space(name: str, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a table as it is clustered; X itself where that is raw."""
    return encode(Table.of(X), SCALES.get(name), matrix=X).X_cluster


# Measuring ----------------------------------------------------------------------------------------


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result, and the seconds that it took."""
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start


class Clock:
    """Runs things with a limited number of threads, and times them."""

    def __init__(self) -> None:
        # Set up once, when all libraries with threads are loaded: finding them takes milliseconds.
        self._pools = ThreadpoolController()

    def time(self, run: Callable[[], Any], threads: int) -> tuple[float, Any]:
        """Return the seconds that a function took, and its result."""
        with self._pools.limit(limits=threads):
            result, seconds = timed(run)
        return seconds, result


PROBE_ROUNDS = 1_000_000
"""Rounds of a hash in one probe: 0.2 s of each core."""

MAX_PROBES = 4
MIN_FREE_SHARE = 0.85
"""What a probe gets of the cores at least where nothing else runs. Seen: 0.94 to 1.00; beside other work 0.2 to 0.7."""


def free_share() -> float:
    """Return the share of the time of all cores that a probe gets: its CPU time by wall time and cores."""
    n_cores = cores() or 1
    with ThreadPoolExecutor(n_cores) as pool:
        wall, own = time.perf_counter(), time.process_time()
        list(pool.map(lambda _: hashlib.pbkdf2_hmac("sha256", b"", b"", PROBE_ROUNDS), range(n_cores)))
        return (time.process_time() - own) / (n_cores * (time.perf_counter() - wall))


class Quiet:
    """Checks now and then whether something else runs on the machine, so that no figure from that time is written down.

    `judges` is False where figures do not matter: a run that only shows that the script works.
    """

    def __init__(self, *, judges: bool = True) -> None:
        self.judges = judges
        self.least = 1.0

    def check(self) -> None:
        """Check again; the best of a few probes counts, because a disturbance as short as one does not matter."""
        best = 0.0 if self.judges else 1.0
        for _ in range(MAX_PROBES):
            if best < MIN_FREE_SHARE:
                best = max(best, free_share())
        self.least = min(self.least, best)

    @property
    def refusal(self) -> str:
        """The disturbance; empty if the machine was quiet at every check."""
        if self.least >= MIN_FREE_SHARE:
            return ""
        return f"the machine is busy: a probe got {self.least:.0%} of its {cores()} cores, so its times mean nothing"

    def begin(self, parser: argparse.ArgumentParser, page: Path | None) -> None:
        """Check for the first time, before the long run, and refuse to measure for a page on a busy machine."""
        self.check()
        if page is not None and self.refusal:
            parser.error(f"--markdown {page}: {self.refusal}")


def fit_cart(X: NDArray[np.float64], clusterer: KMeans, seed: int, criterion: str = "gini") -> DecisionTreeClassifier:
    """Return a scikit-learn tree that is fitted to the labels, with as many leaves as clusters."""
    leaves = max(clusterer.n_clusters, 2)
    return DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=leaves, random_state=seed).fit(
        X, clusterer.labels_
    )


def explain(tree: Tree, X: NDArray[np.float64], X_cluster: NDArray[np.float64], clusterer: KMeans) -> RuleSet:
    """Return the rules of any tree, measured against the clustering that it explains."""
    return rules_of_tree(tree, X, reference=clusterer.labels_, clustered=X_cluster)


def explain_by_cart(
    X: NDArray[np.float64], X_cluster: NDArray[np.float64], clusterer: KMeans, seed: int, criterion: str = "gini"
) -> RuleSet:
    """Return the rules of `fit_cart`'s tree."""
    return explain(Tree.from_sklearn(fit_cart(X, clusterer, seed, criterion)), X, X_cluster, clusterer)


def figures_of(rules: RuleSet, labels: NDArray[Any], clusterer: KMeans) -> Figures:
    """Return the measures of one run."""
    statistics = rules.statistics
    nmi = float(normalized_mutual_info_score(clusterer.labels_, labels))
    return {"cost": statistics.normalized_cost, "waes": statistics.waes, "wad": statistics.wad, "nmi": nmi}


def half_width(values: Sequence[float]) -> float:
    """Return half the width of the 95% interval of a mean, by Student's t; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    return float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))


def with_interval(value: float, interval: float, digits: int = 2) -> str:
    """Return for example "1.19 ±0.01"; no interval where it is 0."""
    return f"{value:.{digits}f}" + (f" ±{interval:.{digits}f}" if interval else "")


@dataclass
class Runs:
    """All runs of one table: by method and measure, a value per seed."""

    table: str
    runs: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, method: str, **values: float) -> None:
        """Add a run's values by measure."""
        for name, value in values.items():
            self.runs.setdefault(method, {}).setdefault(name, []).append(value)

    def mean(self, method: str, name: str) -> float:
        """Return the mean of a measure over the runs of a method."""
        return float(np.mean(self.runs[method][name]))

    def interval(self, method: str, name: str) -> float:
        """Return half the width of the mean's 95% interval; 0 for a single run."""
        return half_width(self.runs[method][name])


@dataclass(frozen=True)
class Target:
    """A figure asked for: at most, or at least, `value`."""

    sign: str
    value: float

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"

    def verdict(self, figure: float) -> str:
        """Return whether it is met."""
        return "ok" if (figure <= self.value if self.sign == "≤" else figure >= self.value) else "missed"


# What comes out -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sheet:
    """A table of text."""

    title: str
    headings: list[str]
    rows: list[list[str]]

    def text(self) -> str:
        """Return the table in columns."""
        lines = [self.headings, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.headings))]
        shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.title, *(line.rstrip() for line in shown)])

    def markdown(self) -> str:
        """Return the table in Markdown, under a heading."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        return "\n".join([f"### {self.title}", "", *("| " + " | ".join(line) + " |" for line in lines)])


def replace_measured(page: str, script: str, measured: str) -> str:
    """Return a page with the text between the two marks of a script replaced."""
    begin, end = (f"<!-- measured by benchmarks/{script}: {word} -->" for word in ("begin", "end"))
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page lacks the lines {begin} and {end}")
    return f"{before}{begin}\n\n{measured}\n\n{end}{after}"


def check_page(parser: argparse.ArgumentParser, page: Path | None, script: str) -> None:
    """Refuse a page of ``--markdown`` that `write_measured` cannot write into: before the long run, not after it."""
    if page is not None:
        try:
            replace_measured(page.read_text(encoding="utf-8"), script, "")
        except (OSError, ValueError) as error:
            parser.error(f"--markdown {page}: {error}")


def write_measured(page: Path, script: str, measured: str, quiet: Quiet) -> bool:
    """Put the results between the two marks of a script; False, and nothing written, if the machine was busy."""
    if quiet.refusal:
        log(f"{page} stays as it is: {quiet.refusal}")
        return False
    page.write_text(replace_measured(page.read_text(encoding="utf-8"), script, measured), encoding="utf-8")
    return True


def check_picture(parser: argparse.ArgumentParser, given: Path | None, default: Path) -> Path | None:
    """Return where ``-o`` draws; None, with a message, where matplotlib is missing. Called before the long run."""
    if importlib.util.find_spec("matplotlib") is None:
        advice = "matplotlib is not installed, so nothing can be drawn: pip install 'shallowrules[plot]'"
        if given:
            parser.error(advice)
        log(advice)
        return None
    path = given or default
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        parser.error(f"-o {path}: {error.strerror}")
    return path

"""The whole fit, as a user waits for it: against KMeans, scikit-learn's decision tree, and a script that does the same.

    python benchmarks/fit.py                    # all parts, five seeds: a quarter of an hour
    python benchmarks/fit.py --parts taken run  # some of them
    python benchmarks/fit.py --quick            # tiny tables, one seed: shows that it runs, and nothing else
    python benchmarks/fit.py --parts taken --cases 300000x50-k24 --seed 3 --keep ratios.jsonl
                                                # a table and a seed, added to a file; the medians are over all in it

taken: `ExplainableKMeans` explains a fitted KMeans, greedy and refined, on large tables. KMeans is
``KMeans(k, n_init=1).fit``, CART is ``DecisionTreeClassifier(max_leaf_nodes=k).fit`` on its labels.
own: `ExplainableKMeans(k)` clusters and refines; below the line is ``KMeans(k, n_init=10).fit``.
run: `shallowrules run` on a CSV file; below the line is a script of pandas, KMeans, CART and ``export_text``. Both are
processes of a Python whose modules are compiled, as on a machine where they have run before. The command brings columns
to one range before it clusters, and the script does not, so that their k-means takes more iterations or fewer, up to
half as many again; with ``--scale none`` both cluster the same table.

The sides of a ratio run one after the other for each seed (of the data, or of KMeans where the table is a file); the
table's ratio is the median over the seeds. A missed target is printed and is not an error: it depends on how busy the
machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from measuring import BUNDLED, DATA, Clock, Target, cores, into_space, load, log, timed
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from speed_cases import CASES, Case

from shallowrules import ExplainableKMeans
from shallowrules.errors import counted

QUICK_ROWS = 300
TURNS = 5
REST = 0.3  # seconds in which threads that wait for more work have given up
TAKEN = {  # the most that a greedy and a refined fit may take of KMeans; CART takes at least 25 greedy fits
    "1000000x10-k50": (0.1, 0.3),
    "1000000x10-k10": (0.6, 1.5),
    "300000x50-k24": (0.2, 0.5),
}
CART_OVER_FIT = 25
OWN = {"letter": 0.7, "avila": 0.7, "anuran": 0.7, "digits": 2.5}
RUN = Case("run", 1_000_000, 10, 10)
RUN_TARGET = Target("≤", 0.65)

COMMAND = "import shallowrules.cli; shallowrules.cli.script()"
SCRIPT = """
import sys
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier, export_text
X = pd.read_csv(sys.argv[1])
clusterer = KMeans(int(sys.argv[2]), n_init=10, random_state=int(sys.argv[3])).fit(X)
tree = DecisionTreeClassifier(max_leaf_nodes=clusterer.n_clusters, random_state=0).fit(X, clusterer.labels_)
print(export_text(tree, feature_names=list(X.columns)))
"""

Measured = dict[str, float]
"""Ratios by name."""


def taken(clock: Clock, case: Case, seed: int) -> Measured:
    """Return the ratios of fits that take over a KMeans."""
    X = case.table(seed)

    def fit(threads: int, refine: str) -> Callable[[], Any]:
        model = ExplainableKMeans(clusterer=FrozenEstimator(kmeans), refine=refine, n_jobs=threads)
        return lambda: model.fit(X)

    spent: dict[int, float] = {}
    measured: Measured = {}
    for threads in (1, 2):
        spent[threads], kmeans = clock.time(lambda: KMeans(case.k, n_init=1, random_state=seed).fit(X), threads)
        for refine, name in (("none", "greedy"), ("full", "refined")):
            seconds = min(clock.time(fit(threads, refine), threads)[0] for _ in range(2 if refine == "none" else 1))
            measured[f"{name} fit ÷ KMeans, {threads} threads"] = seconds / spent[threads]
            if refine == "none":
                greedy = seconds
    cart = DecisionTreeClassifier(max_leaf_nodes=case.k, random_state=0)
    return measured | {"CART ÷ greedy fit, 2 threads": timed(lambda: cart.fit(X, kmeans.labels_))[1] / greedy}


def own(X: NDArray[np.float64], k: int, seed: int) -> Measured:
    """Return the ratio for a fit with a clustering of its own, from the medians of fits that take turns.

    KMeans takes two to three times as long in one run as in the next where threads of BLAS get in its way; the best of
    a few runs would not be the time that a user waits. These threads keep the cores busy after it, too: each fit begins
    when they are at rest, as a user's fit does.
    """
    models = ExplainableKMeans(k, random_state=seed), KMeans(k, n_init=10, random_state=seed)
    ours, theirs = zip(*([_rested(partial(model.fit, X)) for model in models] for _ in range(TURNS)), strict=True)
    return {"fit ÷ KMeans(n_init=10)": median(ours) / median(theirs)}


def _rested(run: Callable[[], Any]) -> float:
    """Return the seconds that something takes once the threads of the previous step are at rest."""
    time.sleep(REST)
    return timed(run)[1]


def run(path: Path, k: int, seed: int) -> Measured:
    """Return the ratios of the command to the script."""
    command = [sys.executable, "-c", COMMAND, "run", str(path), "-k", str(k), "--seed", str(seed)]
    command += ["--force", "--output", str(path.with_name("rules"))]
    script = [sys.executable, "-c", SCRIPT, str(path), str(k), str(seed)]
    compiled = path.with_name("compiled")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = partial(
        subprocess.run, check=True, capture_output=True, env=environment | {"PYTHONPYCACHEPREFIX": str(compiled)}
    )
    if not compiled.exists():
        for line in (command, script):
            start(line)
    ours, theirs, unscaled = (
        timed(partial(start, line))[1] for line in (command, script, [*command, "--scale", "none"])
    )
    return {"run ÷ script": ours / theirs, "run --scale none ÷ script": unscaled / theirs}


def print_ratios(what: str, measured: Sequence[Measured], targets: dict[str, Target]) -> None:
    """Print the medians of ratios over seeds."""
    print(f"{what}; {counted(len(measured), 'seed')}")
    for name in measured[0]:
        values = [ratios[name] for ratios in measured]
        target = targets.get(name)
        judged = f"  {target}: {target.verdict(median(values))}" if target else ""
        print(f"  {name:32} {median(values):6.3g}  ({min(values):.3g} to {max(values):.3g}){judged}")


@dataclass(frozen=True)
class Chosen:
    """The request: which cases (none: all) and seeds, on tiny tables or not; `kept` has ratios of earlier runs."""

    cases: Sequence[str]
    seeds: Sequence[int]
    quick: bool
    kept: Path | None

    def has(self, name: str) -> bool:
        """Return whether to measure a case."""
        return not self.cases or name in self.cases

    def each_seed(self, name: str, measure: Callable[[int], Measured]) -> list[Measured]:
        """Return the ratios of every seed, including those of earlier runs."""
        name = f"quick {name}" if self.quick else name
        for i, seed in enumerate(self.seeds):
            log(f"{name}: seed {seed} ({i + 1} of {len(self.seeds)})")
            self._keep(name, seed, measure(seed))
        return list(self._known(name).values())

    def _keep(self, name: str, seed: int, measured: Measured) -> None:
        self._own.setdefault(name, {})[seed] = measured
        if self.kept is not None:
            with self.kept.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"case": name, "seed": seed, "ratios": measured}) + "\n")

    def _known(self, name: str) -> dict[int, Measured]:
        """Return the ratios of a case by seed, the last ones of each."""
        lines = [] if self.kept is None else map(json.loads, self.kept.read_text(encoding="utf-8").splitlines())
        return {line["seed"]: line["ratios"] for line in lines if line["case"] == name} | self._own.get(name, {})

    @cached_property
    def _own(self) -> dict[str, dict[int, Measured]]:
        return {}


def print_taken(chosen: Chosen) -> None:
    """Print the ratios of fits that take over a KMeans."""
    clock = Clock()
    cases = [case for case in CASES if case.name in TAKEN and chosen.has(case.name)]
    for case in cases[: 1 if chosen.quick else None]:
        greedy, refined = TAKEN[case.name]
        targets = {
            "greedy fit ÷ KMeans, 2 threads": Target("≤", greedy),
            "refined fit ÷ KMeans, 2 threads": Target("≤", refined),
            "CART ÷ greedy fit, 2 threads": Target("≥", CART_OVER_FIT),
        }
        measured_on = replace(case, rows=QUICK_ROWS) if chosen.quick else case
        measured = chosen.each_seed(case.name, partial(taken, clock, measured_on))
        what = f"taken: {measured_on.rows:,} x {case.columns}, k={case.k}"
        print_ratios(what, measured, {} if chosen.quick else targets)


def print_own(chosen: Chosen) -> None:
    """Print the ratios of fits with a clustering of their own."""
    for name, limit in OWN.items():
        if not chosen.has(name):
            continue
        if name not in BUNDLED and not (DATA / f"{name}.npz").is_file():
            print(f"own: {name}: skipped, not in the folder that SHALLOWRULES_DATA names ({DATA})")
            continue
        X, k = load(name, DATA)
        X = into_space(name, X)[: QUICK_ROWS if chosen.quick else None]
        targets = {} if chosen.quick else {"fit ÷ KMeans(n_init=10)": Target("≤", limit)}
        print_ratios(
            f"own: {name}, {len(X):,} x {X.shape[1]}, k={k}", chosen.each_seed(name, partial(own, X, k)), targets
        )


def print_run(chosen: Chosen) -> None:
    """Print the ratios of the command to the script."""
    if not chosen.has(RUN.name):
        return
    case = replace(RUN, rows=QUICK_ROWS) if chosen.quick else RUN
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")

        def on_a_file(seed: int) -> Measured:
            pd.DataFrame(case.table(seed).round(4)).add_prefix("c").to_csv(path, index=False)
            return run(path, case.k, seed)

        measured = chosen.each_seed(RUN.name, on_a_file)
    targets = {} if chosen.quick else dict.fromkeys(measured[0], RUN_TARGET)
    print_ratios(f"run: CSV of {case.rows:,} x {case.columns}, k={case.k}", measured, targets)


PARTS = {"taken": print_taken, "own": print_own, "run": print_run}
CASE_NAMES = [*TAKEN, *OWN, RUN.name]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the requested parts. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="which parts [default: all]"
    )
    parser.add_argument("--cases", nargs="+", choices=CASE_NAMES, default=[], help="which tables [default: all]")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds of each table [default: 5]")
    parser.add_argument("--seed", type=int, metavar="N", help="this seed alone")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add ratios to a file, print medians of all in it")
    parser.add_argument("--quick", action="store_true", help="tiny tables, one seed: only shows that it runs")
    options = parser.parse_args(arguments)
    if options.seeds is not None and options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if options.seeds is not None and options.seed is not None:
        parser.error("--seeds and --seed exclude each other")
    seeds = range(options.seeds or (1 if options.quick else 5)) if options.seed is None else [options.seed]
    print(f"cores: {cores()}; medians over the seeds (least to largest)")
    for name in options.parts:
        PARTS[name](Chosen(options.cases, seeds, options.quick, options.keep))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Rounder thresholds at a known price: digits, J and rows that change, for several bounds on J.

Run it with the environment that has the package::

    python benchmarks/rounding.py                              # all tables, five seeds: some minutes
    python benchmarks/rounding.py --tables wine,avila --seeds 1
    python benchmarks/rounding.py --markdown docs/rounding.md  # renews the table of that page
    python benchmarks/rounding.py --quick                      # two tables, one seed: shows that it runs

Each table is clustered with columns brought to one scale, as ``shallowrules run`` does, and explained by a refined
tree, its thresholds rounded within shares of J. Digits are significant digits without trailing zeros, on average over
the distinct thresholds; J is cost + 0.03 WAES. The figures are means over the seeds; they do not depend on the machine.

Exit status 1 says that J rose by more than its bound. A line says whether the digits are as few as asked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from measuring import DATA, Quiet, Sheet, Target, add_table_options, check_page, load, log, write_measured
from numpy.typing import NDArray

from shallowrules import ExplainableKMeans
from shallowrules.rules import Cut, RuleSet
from shallowrules.trees.thresholds import significant_digits

SCRIPT = "rounding.py"
ARRAYS = ("wine", "breast_cancer", "diabetes", "avila")
TABLES = {
    "wholesale_customers": (4, ["Customer ID", "Channel", "Region"]),
    "bank_marketing": (5, []),
    "telco_customer_churn": (5, ["customerID"]),
}
"""Clusters of each table of the examples, and the columns that are left out there."""
QUICK = ("wine", "breast_cancer")
BOUNDS = (0.0, 0.0005, 0.001, 0.002, 0.005)
ASKED = Target("≥", 5)
"""Tables with at most 2 digits on average, within 0.2% of J."""


def read(name: str, folder: Path) -> tuple[Any, int]:
    """Return a table and its number of clusters."""
    if name not in TABLES:
        return load(name, folder)
    clusters, excluded = TABLES[name]
    table = pd.read_csv(folder / f"{name}.csv", sep=None, engine="python", na_values=[" "])
    return table.drop(columns=excluded), clusters


def digits_of(rules: RuleSet) -> float:
    """Return the significant digits of a threshold, on average over the distinct ones."""
    found = {(node.column, node.threshold) for node in rules.nodes if isinstance(node, Cut)}
    return fmean(significant_digits(threshold) for _, threshold in found) if found else 0.0


def measure(name: str, folder: Path, seeds: Sequence[int]) -> tuple[list[list[str]], dict[float, float], bool]:
    """Return the lines of a table, its digits by bound, and whether J stayed within all bounds."""
    X, clusters = read(name, folder)
    found: dict[float, list[tuple[float, float, float]]] = {bound: [] for bound in BOUNDS}
    kept = True
    for seed in seeds:
        exact: tuple[float, NDArray[Any]] | None = None
        for bound in BOUNDS:
            model = ExplainableKMeans(
                clusters, scale="minmax", impute="median", random_state=seed, round_within=bound
            ).fit(X)
            tree = model.tree_
            waes = float(np.average(tree.explanation_size[tree.leaves], weights=tree.weight[tree.leaves]))
            objective = model.normalized_cost_ + model.tradeoff * waes
            exact = exact or (objective, model.labels_)
            rise = objective / exact[0] - 1
            kept &= rise <= bound + 1e-9
            found[bound].append((digits_of(model.rules_), rise, float((model.labels_ != exact[1]).mean())))
    log(f"{name}: {len(seeds)} seeds")
    lines = []
    for bound, runs in found.items():
        digits, rise, moved = (fmean(values) for values in zip(*runs, strict=True))
        lines.append([name, str(clusters), f"{bound:.2%}", f"{digits:.2f}", f"{max(rise, 0.0):.3%}", f"{moved:.2%}"])
    return lines, {bound: fmean(run[0] for run in runs) for bound, runs in found.items()}, kept


def main() -> int:
    """Measure, print, and write the page if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_table_options(parser, (*ARRAYS, *TABLES))
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds of k-means (default: 5)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="renew the measured table of this page")
    parser.add_argument("--quick", action="store_true", help="two tables, one seed")
    options = parser.parse_args()
    check_page(parser, options.markdown, SCRIPT)
    names = options.tables.split(",") if options.tables else QUICK if options.quick else (*ARRAYS, *TABLES)
    lines, few, kept = [], 0, True
    for name in names:
        rows, digits, within = measure(name, options.data or DATA, range(1 if options.quick else options.seeds))
        lines += rows
        few += digits[0.002] <= 2
        kept &= within
    headings = ["table", "clusters", "bound on J", "digits", "J rose by", "rows that change cluster"]
    sheet = Sheet("Rounder thresholds", headings, lines)
    verdict = (
        f"Tables with at most 2 digits within 0.2% of J: {few} of {len(names)}; asked {ASKED}: {ASKED.verdict(few)}."
    )
    print(f"{sheet.text()}\n\n{verdict}")
    if not kept:
        log("J rose by more than its bound")
    if options.markdown is not None and kept:
        write_measured(options.markdown, SCRIPT, f"{sheet.markdown()}\n\n{verdict}", Quiet(judges=False))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

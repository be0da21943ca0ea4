"""Rules made again on another half of a table: rows that change cluster, and the cost of rules that stay.

Run it with the environment that has the package::

    python benchmarks/refits.py                              # all tables, k = 3 to 8, five seeds: some minutes
    python benchmarks/refits.py --tables wine --seeds 1
    python benchmarks/refits.py --markdown docs/editing.md   # renews the tables of that page
    python benchmarks/refits.py --quick                      # one table, k = 3, one seed: shows that it runs

Each table is cut into halves at random. Rules are made from one half by ``scale="minmax"``, as ``shallowrules run``
does, and then for the other half: by a fit of its own with the same seed, which knows nothing of the earlier rules,
clusters matched by the rows that they share; and by a fit that continues from them. A row of the other half counts as
moved if its cluster by the new rules differs from its cluster by the earlier ones. J is cost + 0.03 WAES; its rise is
over that of the tree that was grown for the other half. The figures do not depend on the machine.

Exit status 1 says that the target of rows that change was missed, or that more changed without a warning.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import pandas as pd
from measuring import DATA, Quiet, Sheet, Target, add_table_options, check_page, log, write_measured
from rounding import read

from shallowrules import ExplainableKMeans, RuleSet
from shallowrules.fitting.growing import grow
from shallowrules.fitting.options import MIN_GAIN
from shallowrules.models.fits import fitted, prepare_fit
from shallowrules.models.reporting import log_of
from shallowrules.rules.words.changes import changes_between

SCRIPT = "refits.py"
TABLES = ("telco_customer_churn", "bank_marketing", "wholesale_customers", "wine")
CLUSTERS = range(3, 9)
GAINS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05)
MEDIAN = Target("≤", 0.02)
"""The median share of rows that change cluster."""
MANY = 0.05
"""The share above which a note has to say that the earlier rules would do."""
SAID = "the earlier rules would do"


def objective_of(rules: RuleSet) -> float:
    """Return J."""
    statistics = rules.statistics
    return statistics.normalized_cost + statistics.tradeoff * statistics.waes


def own_fit_moves(X: Any, earlier: RuleSet, model: ExplainableKMeans) -> float:
    """Return the share of rows that change cluster by a fit that knows nothing of earlier rules."""
    changes = changes_between(earlier, model.fit(X).rules_, X)
    return sum(moved.rows for moved in changes.moved) / len(X)


def measure(X: Any, k: int, seed: int) -> tuple[float, dict[float, tuple[float, float, bool]]]:
    """Return the share of rows that a fit of its own moves; by gain that share, the rise of J, and whether it is
    reported."""
    order = np.random.default_rng(seed).permutation(len(X))
    first, second = (X.iloc[np.sort(half)].reset_index(drop=True) for half in np.array_split(order, 2))
    options: dict[str, Any] = {"n_clusters": k, "scale": "minmax", "impute": "median", "random_state": seed}
    earlier = ExplainableKMeans(**options).fit(first).rules_
    own = own_fit_moves(second, earlier, ExplainableKMeans(**options))
    model = ExplainableKMeans(**options, earlier=earlier)
    data = prepare_fit(model, second, None, None)
    [trees] = grow(data, [model.tradeoff], None, log_of(model))
    grown, found = objective_of(fitted(ExplainableKMeans(**options), data, trees[-1]).rules_), {}
    for gain in GAINS:
        parameters = replace(data.parameters, min_gain=gain)
        rules = fitted(model, replace(data, parameters=parameters), trees[-1]).rules_
        assert rules.flow is not None
        said = any(SAID in note for note in rules.statistics.notes)
        found[gain] = (rules.flow.share, objective_of(rules) / grown - 1, said)
    return own, found


def line_of(name: str, shares: Sequence[float], said: Sequence[bool] | None, rises: Sequence[float]) -> list[str]:
    """Return the figures of some runs."""
    many = [share > MANY for share in shares]
    without = (
        "" if said is None else str(sum(is_many and not is_said for is_many, is_said in zip(many, said, strict=True)))
    )
    rise = f"{fmean(rises):.2%}" if rises else ""
    return [name, f"{median(shares):.1%}", f"{max(shares):.1%}", f"{fmean(many):.0%}", without, rise]


def main() -> int:
    """Measure, print, and write the page if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_table_options(parser, TABLES)
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds of halves and of k-means (default: 5)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="renew the measured tables of this page")
    parser.add_argument("--quick", action="store_true", help="one table, k = 3, one seed")
    options = parser.parse_args()
    check_page(parser, options.markdown, SCRIPT)
    names = options.tables.split(",") if options.tables else TABLES[-1:] if options.quick else TABLES
    runs = []
    for name in names:
        X = pd.DataFrame(read(name, options.data or DATA)[0])
        for k in CLUSTERS[:1] if options.quick else CLUSTERS:
            runs += [(name, *measure(X, k, seed)) for seed in range(1 if options.quick else options.seeds)]
            log(f"{name}: k = {k}")
    lines = []
    for name in [*names, *(["all"] if len(names) > 1 else [])]:
        here = [(own, found[MIN_GAIN]) for table, own, found in runs if name in (table, "all")]
        before, after = [own for own, _ in here], [found for _, found in here]
        lines.append([name, *line_of("a fit of its own", before, None, [])])
        shares, rises, said = zip(*after, strict=True)
        lines.append([name, *line_of("refit", shares, said, rises)])
    figures = ["median of rows that change", "most", f"runs above {MANY:.0%}", "without a word", "J rises by"]
    sheet = Sheet("Rows that change cluster", ["table", "rules", *figures], lines)
    by_gain = []
    for gain in GAINS:
        shares, rises, said = zip(*(found[gain] for _, _, found in runs), strict=True)
        by_gain.append(line_of(f"{gain:.1%}", shares, said, rises))
    gains = Sheet("By the gain in J that is asked for", ["--min-gain", *figures], by_gain)
    shares, _, said = zip(*(found[MIN_GAIN] for _, _, found in runs), strict=True)
    unsaid = sum(share > MANY and not is_said for share, is_said in zip(shares, said, strict=True))
    verdict = (
        f"{len(runs)} runs. Median of rows that change cluster: {median(shares):.1%}; asked {MEDIAN.sign} 2%: "
        f"{MEDIAN.verdict(median(shares))}. Runs above {MANY:.0%} without the note: {unsaid}."
    )
    print(f"{sheet.text()}\n\n{gains.text()}\n\n{verdict}")
    if options.markdown is not None:
        measured = f"{sheet.markdown()}\n\n{gains.markdown()}\n\n{verdict}"
        write_measured(options.markdown, SCRIPT, measured, Quiet(judges=False))
    return 1 if unsaid or MEDIAN.verdict(median(shares)) == "missed" else 0


if __name__ == "__main__":
    sys.exit(main())

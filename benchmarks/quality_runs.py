"""The runs that quality.py makes of each table: trees by every method, their figures and their times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from curve import Told
from leaves import (
    GOAL_SEEDS,
    More,
    measure_goals,
    measure_more,
)
from measuring import (
    Clock,
    Runs,
    explain,
    explain_by_cart,
    figures_of,
    fit_cart,
    into_space,
    load,
    log,
    timed,
)
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.tree import DecisionTreeRegressor
from speed import CASES, QUICK_ROWS

from shallowrules.measures.metrics import partition_cost
from shallowrules.measures.summation import group_means
from shallowrules.trees.candidates import SearchSettings
from shallowrules.trees.growing import grow
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.growth_data import ExplainedRows, GrowthData, UniqueRows, find_unique_rows
from shallowrules.trees.refining import Refinement, refine
from shallowrules.trees.thorough import BUDGET, Budget, Thorough
from shallowrules.trees.tree import Tree

TABLES = ("iris", "wine", "breast_cancer", "diabetes", "digits", "mice", "anuran", "avila", "letter")
WHOLE_FITS = ("letter", "avila")
LARGE = next(case for case in CASES if case.name == "1000000x10-k50")
TRADEOFF = 0.03
STARTS = 10

OTHERS = ("exgreedy", "imm", "exkmc")
PEERS = {
    "cart": "CART, Gini",
    "entropy": "CART, entropy",
    "data": "regression tree of the columns on themselves",
    "centers": "regression tree on the centers",
    "exkmc_imm": "ExKMC from IMM's tree",
}
"""scikit-learn's trees with as many leaves as clusters, and another base of ExKMC. Of the regression trees the leaves
are the clusters."""

MIN_ROUNDS, MAX_ROUNDS = 3, 15
SECONDS_PER_SEED = 1.0  # beyond MIN_ROUNDS, no round starts later


# Trees --------------------------------------------------------------------------------------------


class Partition:
    """A fitted k-means, and the trees that explain it as `ExplainableKMeans` grows them.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
        The explained columns.
    X_cluster : ndarray of float64, shape (n_rows, n_columns)
        The clustered columns; X itself if they are not scaled.
    kmeans : KMeans
    threads : int
        To grow with.
    """

    def __init__(
        self, X: NDArray[np.float64], X_cluster: NDArray[np.float64], kmeans: KMeans, threads: int = 1
    ) -> None:
        self.X, self.X_cluster, self.kmeans, self.threads = X, X_cluster, kmeans, threads
        self.labels = kmeans.labels_.astype(np.int32)
        self.centers = np.asarray(kmeans.cluster_centers_, dtype=np.float64)
        explain_centers = self.centers if X_cluster is X else group_means(X, self.labels, len(self.centers))
        self._data = GrowthData(X, X_cluster, explain_centers, self.centers)
        self.cost = partition_cost(X_cluster, self.labels)

    def unique_rows(self) -> UniqueRows:
        """Return the rows that trees are grown from."""
        return find_unique_rows(self._data, n_threads=self.threads)

    def grow(self, method: str, unique: UniqueRows | None = None) -> GrownTree:
        """Return a method's tree."""
        unique = self.unique_rows() if unique is None else unique
        return grow(unique, method=method, tradeoff=TRADEOFF, n_threads=self.threads)

    def grow_greedy(self) -> tuple[GrownTree, UniqueRows]:
        """Return the greedy tree and the rows that `refine` wants."""
        unique = self.unique_rows()
        return self.grow("exshallow", unique), unique

    def refine(self, tree: GrownTree, unique: UniqueRows) -> Refinement:
        """Return the refined tree."""
        return self._refine(tree, unique, None)

    def search(self, tree: GrownTree, unique: UniqueRows, tell_best: Callable[[float], None]) -> Refinement:
        """Return the tree of a thorough search, which tells J of the best tree so far."""
        return self._refine(tree, unique, Thorough(Budget.of(BUDGET), self._start, lambda line: None, tell_best))

    def _refine(self, tree: GrownTree, unique: UniqueRows, thorough: Thorough | None) -> Refinement:
        settings = SearchSettings(TRADEOFF, self.kmeans.random_state, self.threads)
        return refine(tree, self.explained(unique), settings, thorough=thorough)

    def explained(self, unique: UniqueRows) -> ExplainedRows:
        """Return rows with the clustering that trees are measured against."""
        return ExplainedRows(unique, self.cost, self.labels)

    def _start(self, X: NDArray[np.float64], weight: NDArray[np.float64] | None, seed: int) -> NDArray[np.int32]:
        kmeans = KMeans(len(self.centers), n_init=1, random_state=seed).fit(X, sample_weight=weight)
        return np.asarray(kmeans.labels_, dtype=np.int32)

    def figures(self, grown: GrownTree) -> dict[str, float]:
        """Return the measures of a grown tree."""
        numbers = range(len(self.centers))
        tree = replace(grown.as_tree(), names=tuple(map(str, numbers)), classes=tuple(numbers))
        rules = explain(tree, self.X, self.X_cluster, self.kmeans)
        return with_objective(figures_of(rules, grown.labels, self.kmeans))


def with_objective(figures: dict[str, float]) -> dict[str, float]:
    """Return the measures, and J."""
    return {**figures, "J": figures["cost"] + TRADEOFF * figures["waes"]}


# Measuring ----------------------------------------------------------------------------------------


@dataclass
class Measured(Runs):
    """All runs of one table.

    `times` has, by name, a value per seed: the time of each method as a multiple of the greedy tree's, and the
    `Ratio`s. `searches` are the thorough ones.
    """

    threads: int = 1
    times: dict[str, list[float]] = field(default_factory=dict)
    searches: list[Told] = field(default_factory=list)
    more: More = field(init=False)

    def __post_init__(self) -> None:
        self.more = More(self.table)

    def median_text(self, name: str) -> str:
        """Return the median of a time as text, "–" where it was not taken."""
        return f"{median(self.times[name]):.3g}" if name in self.times else "–"

    def with_range(self, name: str) -> str:
        """Return the median of a time as text, with its lowest and highest value."""
        values = self.times.get(name, ())
        return self.median_text(name) + (f" ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else "")


RATIOS = {
    "growths": "refinement ÷ growth",
    "kmeans": "(growth + refinement) ÷ k-means",
    "whole": "(k-means + growth + refinement) ÷ (k-means + CART)",
}


def measure_quality(found: Measured, X: NDArray[np.float64], X_cluster: NDArray[np.float64], k: int, seed: int) -> None:
    """Add the results of every method for one seed."""
    kmeans = KMeans(k, n_init=STARTS, random_state=seed).fit(X_cluster)
    partition = Partition(X, X_cluster, kmeans)
    greedy, unique = partition.grow_greedy()
    trees = {"greedy": greedy, "refined": partition.refine(greedy, unique).tree}
    told: Told = []
    begin = time.perf_counter()
    searched, seconds = timed(
        partial(partition.search, greedy, unique, lambda best: told.append((time.perf_counter() - begin, best)))
    )
    trees["thorough"] = searched.tree
    growth = timed(partition.grow_greedy)[1]
    found.times.setdefault("thorough", []).append(1.0 + seconds / growth)
    found.searches.append([(by_then / growth, best) for by_then, best in told])
    trees |= {method: partition.grow(method) for method in OTHERS}
    for method, growth in trees.items():
        found.add(method, **partition.figures(growth))
    for peer in PEERS:
        found.add(peer, **peer_figures(peer, X, X_cluster, kmeans, seed))
    measure_more(found.more, partition, trees["refined"], TRADEOFF, seed)
    if len(found.runs["refined"]["J"]) <= GOAL_SEEDS:
        theirs = [{name: found.runs[peer][name][-1] for name in ("cost", "waes")} for peer in (*OTHERS, *PEERS)]
        measure_goals(found.more, partition, theirs, seed)


def peer_figures(
    peer: str, X: NDArray[np.float64], X_cluster: NDArray[np.float64], kmeans: KMeans, seed: int
) -> dict[str, float]:
    """Return the measures of one of `PEERS`."""
    if peer == "exkmc_imm":
        partition = Partition(X, X_cluster, kmeans)
        return partition.figures(grow(partition.unique_rows(), method="exkmc", base="imm"))
    if peer in ("cart", "entropy"):
        rules = explain_by_cart(X, X_cluster, kmeans, seed, "gini" if peer == "cart" else "entropy")
        return with_objective(figures_of(rules, rules.assign(X), kmeans))
    aims = X_cluster if peer == "data" else kmeans.cluster_centers_[kmeans.labels_]
    nodes = DecisionTreeRegressor(max_leaf_nodes=max(kmeans.n_clusters, 2), random_state=seed).fit(X, aims).tree_
    clusters = np.where(nodes.feature < 0, np.arange(nodes.node_count), -1).astype(np.int32)
    children = (side.astype(np.int32) for side in (nodes.children_left, nodes.children_right))
    feature = np.maximum(nodes.feature, -1).astype(np.int32)
    tree = Tree(feature, nodes.threshold, *children, clusters, nodes.n_node_samples, nodes.weighted_n_node_samples)
    labels = nodes.apply(X.astype(np.float32))
    cost = partition_cost(X_cluster, labels) / partition_cost(X_cluster, kmeans.labels_)
    nmi = float(normalized_mutual_info_score(kmeans.labels_, labels))
    return with_objective({"cost": cost, "waes": tree.waes, "wad": tree.wad, "nmi": nmi})


def objectives_of_peers(X: NDArray[np.float64], kmeans: KMeans) -> dict[str, float]:
    """Return J of the trees of all other methods over a table that was clustered as it is."""
    partition = Partition(X, X, kmeans)
    others = {method: partition.figures(partition.grow(method))["J"] for method in OTHERS}
    return others | {peer: peer_figures(peer, X, X, kmeans, 0)["J"] for peer in PEERS}


def one_round(
    clock: Clock, X: NDArray[np.float64], X_cluster: NDArray[np.float64], k: int, seed: int, threads: int
) -> dict[str, float]:
    """Run everything once and return the ratios; with two threads only what `RATIOS` compares with two."""
    start = KMeans(k, n_init=1, random_state=seed)
    kmeans_seconds, kmeans = clock.time(partial(start.fit, X_cluster), threads)
    partition = Partition(X, X_cluster, kmeans, threads)
    before, (tree, unique) = clock.time(partition.grow_greedy, threads)
    refinement, _ = clock.time(partial(partition.refine, tree, unique), threads)
    after, _ = clock.time(partition.grow_greedy, threads)
    greedy = (before + after) / 2
    ratios = {"growths": refinement / greedy, "kmeans": (greedy + refinement) / kmeans_seconds}
    if threads == 1:
        others = {method: clock.time(partial(partition.grow, method), threads)[0] for method in OTHERS}
        others["cart"] = clock.time(partial(fit_cart, X, kmeans, seed), threads)[0]
        ratios["whole"] = (kmeans_seconds + greedy + refinement) / (kmeans_seconds + others["cart"])
        ratios |= {"greedy": 1.0, "refined": 1.0 + refinement / greedy}
        ratios |= {method: seconds / greedy for method, seconds in others.items()}
    return ratios


def measure_times(
    found: Measured,
    clock: Clock,
    X: NDArray[np.float64],
    X_cluster: NDArray[np.float64],
    k: int,
    seed: int,
    *,
    quick: bool,
) -> None:
    """Add the ratios of one seed, the medians over its rounds."""
    min_rounds, max_rounds = (1, 1) if quick else (MIN_ROUNDS, MAX_ROUNDS)
    start = time.perf_counter()
    measured: list[dict[str, float]] = []
    while len(measured) < min_rounds or (len(measured) < max_rounds and time.perf_counter() - start < SECONDS_PER_SEED):
        measured.append(one_round(clock, X, X_cluster, k, seed, found.threads))
    for name in measured[0]:
        found.times.setdefault(name, []).append(median(ratios[name] for ratios in measured))


def measure(name: str, clock: Clock, folder: Path, seeds: range, *, quick: bool) -> Measured:
    """Return all runs of one table."""
    X, k = load(name, folder)
    X_cluster = into_space(name, X)
    log(f"{name}: {X.shape[0]} rows x {X.shape[1]} columns, {k} clusters")
    found = Measured(name)
    for number, seed in enumerate(seeds, 1):
        measure_quality(found, X, X_cluster, k, seed)  # warms everything up, too
        measure_times(found, clock, X, X_cluster, k, seed, quick=quick)
        log(f"  {name}: seed {number} of {len(seeds)}")
    return found


def measure_large(clock: Clock, seeds: int, *, quick: bool) -> Measured:
    """Return the times of the large table, with two threads; each seed has rows of its own."""
    case = replace(LARGE, rows=QUICK_ROWS) if quick else LARGE
    log(f"{case.name}: {case.rows} rows x {case.columns} columns, {case.k} clusters")
    found = Measured(case.name, threads=2)
    for seed in range(seeds):
        X = case.table(seed)
        measure_times(found, clock, X, X, case.k, seed, quick=quick)
        log(f"  {case.name}: seed {seed + 1} of {seeds}")
    return found

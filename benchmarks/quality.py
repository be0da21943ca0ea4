"""Refined trees against greedy ones and the other methods: cost, length, and the time of refinement.

Run it with the environment that has the package::

    python benchmarks/quality.py                                   # all tables, ten seeds: some minutes
    python benchmarks/quality.py --tables letter,avila --seeds 3
    python benchmarks/quality.py --markdown docs/refinement.md     # renews the tables of that page
    python benchmarks/quality.py --quick                           # two tables, one seed: shows that it runs

For each table and seed one k-means (ten starts) is explained by every method, as paper.py does. J is cost + 0.03 WAES,
which refinement lowers; cost, as everywhere, is a multiple of that of k-means. Printed are:

Quality            cost, WAES, WAD, NMI with the labels of k-means, and J: means with their 95% interval
                   (Student's t); and the time, as a multiple of that of the greedy tree
Refined, greedy    the change of the means, and in how many runs the refined tree is better
Time               refinement beside growth, k-means (one start) and scikit-learn's tree
Asked and found    what is asked of refinement, and whether it holds
More leaves        J with k + 1, k + 2 and 2 k leaves, and ExKMC's with 2 k
Many clusters      J of 30 to 140 clusters, and that of the other methods
The best there is  J of the best of all trees, of small tables and few clusters
Gain               J after a given number of growths of a thorough search, which begins as refinement; drawn with
--markdown Picture            cost against WAES of all methods, a PNG

Times are those of a k-means of one start and of the trees grown from it. A round runs everything once, one after the
other in one process, with one thread (two where the table is large); a seed's ratio is the median over its rounds, the
table's the median over the seeds.

Exit status 1 says that J of a refined tree is above that of the greedy one, or that the machine was busy, so that no
page was written. Other missed targets are printed and are not errors, because they also depend on the machine.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import sklearn
from curve import AFTER, Told, draw_curve, gains
from leaves import (
    GOAL_SEEDS,
    OPTIMUM,
    More,
    measure_goals,
    measure_many,
    measure_more,
    measure_optimum,
    verdicts_of,
)
from leaves import sheets as more_sheets
from measuring import (
    ROOT,
    TITLES,
    Clock,
    Quiet,
    Runs,
    Sheet,
    Target,
    add_table_options,
    check_page,
    check_picture,
    chosen_tables,
    cores,
    explain,
    explain_by_cart,
    figures_of,
    fit_cart,
    into_space,
    load,
    log,
    timed,
    with_interval,
    write_measured,
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

SCRIPT = "quality.py"
TABLES = ("iris", "wine", "breast_cancer", "diabetes", "digits", "mice", "anuran", "avila", "letter")
QUICK_TABLES = ("iris", "wine")
WHOLE_FITS = ("letter", "avila")
LARGE = next(case for case in CASES if case.name == "1000000x10-k50")
LARGE_SEEDS = 3  # one start of k-means on this table takes as long as everything else here
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

METHODS = (
    {"greedy": "ExShallow, greedy", "refined": "ExShallow, refined", "thorough": "ExShallow, thorough"}
    | {name: TITLES[name] for name in OTHERS}
    | PEERS
)
MARKERS = "o*Ps^DXvp+x"
MEASURES = {"cost": 3, "waes": 2, "wad": 2, "nmi": 2, "J": 3}
"""What is measured of a tree, and the digits to print."""

TIE = 1e-9
"""Relative difference up to which figures are equal."""

MIN_ROUNDS, MAX_ROUNDS = 3, 15
SECONDS_PER_SEED = 1.0  # beyond MIN_ROUNDS, no round starts later

NO_WORSE, BETTER, HIGHER, BEHIND = Target("≥", 7), Target("≥", 7), Target("≤", 0), Target("≤", 0)
MAX_RISE = 0.01  # of the mean cost or WAES of a table
GAIN, THOROUGH_GAIN = Target("≥", 2.1), Target("≥", 2.4)
GROWTHS, KMEANS, WHOLE_FIT = Target("≤", 15), Target("≤", 1), Target("≤", 3)


# Trees --------------------------------------------------------------------------------------------


class Partition:
    """A fitted k-means, and the trees that explain it as `ExplainableKMeans` grows them.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
        What is explained.
    X_cluster : ndarray of float64, shape (n_rows, n_columns)
        What was clustered; X itself where it was not scaled.
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


# What comes out -----------------------------------------------------------------------------------


def lower(value: float, other: float) -> bool:
    """Whether a value is below another, by more than rounding."""
    return value < other * (1 - TIE)


def quality(results: Sequence[Measured]) -> Sheet:
    """Return the results of every method."""
    rows = []
    for found in results:
        for method, title in METHODS.items():
            cells = [
                with_interval(found.mean(method, name), found.interval(method, name), digits)
                for name, digits in MEASURES.items()
            ]
            rows.append([found.table, title, *cells, found.median_text(method)])
    headings = ["table", "method", "cost", "WAES", "WAD", "NMI", "J", "time"]
    return Sheet("Quality, mean ± 95% interval; time in greedy growths, k-means not included", headings, rows)


@dataclass(frozen=True)
class Change:
    """The changes by refinement in the means of a table, and in how many runs there are any.

    Attributes
    ----------
    gain : float
        By how many percent the mean J is lower.
    no_worse, better : bool
        Whether neither mean cost nor mean WAES is higher; whether both are lower.
    runs : dict of str to int
        Number of runs by `KINDS`.
    highest : float
        By what share the mean cost or the mean WAES rose, the higher of the two; below 0 where both fell.
    """

    gain: float
    no_worse: bool
    better: bool
    runs: dict[str, int]
    highest: float


KINDS = ("both lower", "one lower", "equal", "one higher", "J higher")


def kind_of(greedy: dict[str, float], refined: dict[str, float]) -> str:
    """Return which of `KINDS` a run is."""
    if lower(greedy["J"], refined["J"]):
        return "J higher"
    measures = ("cost", "waes")
    if any(lower(greedy[name], refined[name]) for name in measures):
        return "one higher"
    return ("equal", "one lower", "both lower")[sum(lower(refined[name], greedy[name]) for name in measures)]


def change_of(found: Measured, method: str = "refined") -> Change:
    """Return the changes by refinement, or by a thorough search, on one table."""
    names = ("cost", "waes", "J")
    greedy, refined = ({name: found.mean(one, name) for name in names} for one in ("greedy", method))
    runs = dict.fromkeys(KINDS, 0)
    for i in range(len(found.runs["greedy"]["J"])):
        pair = ({name: found.runs[one][name][i] for name in names} for one in ("greedy", method))
        runs[kind_of(*pair)] += 1
    return Change(
        100 * (1 - refined["J"] / greedy["J"]),
        not any(lower(greedy[name], refined[name]) for name in ("cost", "waes")),
        all(lower(refined[name], greedy[name]) for name in ("cost", "waes")),
        runs,
        max(refined[name] / greedy[name] - 1 for name in ("cost", "waes")),
    )


def comparison(results: Sequence[Measured]) -> Sheet:
    """Return a comparison of refined trees with greedy ones."""
    rows = []
    changes = [change_of(found) for found in results]
    for found, change in zip(results, changes, strict=True):
        cells = []
        for name in ("cost", "waes", "J"):
            before, after = (f"{found.mean(method, name):.{MEASURES[name]}f}" for method in ("greedy", "refined"))
            cells.append(f"{before} → {after}")
        rows.append([found.table, *cells, f"{change.gain:.2f}%", *map(str, change.runs.values())])
    total = {kind: sum(change.runs[kind] for change in changes) for kind in KINDS}
    mean = float(np.mean([change.gain for change in changes]))
    rows.append(["all", "", "", "", f"{mean:.2f}%", *map(str, total.values())])
    headings = ["table", "cost", "WAES", "J", "J lower by", *KINDS]
    return Sheet("Greedy → refined: means, and the runs by what became of their cost and WAES", headings, rows)


def durations(results: Sequence[Measured]) -> Sheet:
    """Return the time of refinement."""
    rows = [[found.table, str(found.threads), *map(found.with_range, RATIOS)] for found in results]
    headings = ["table", "threads", *RATIOS.values()]
    return Sheet("Time: median over the seeds (lowest to highest); k-means of one start", headings, rows)


def gain_curve(curves: dict[str, list[float]]) -> Sheet:
    """Return the gain of a thorough search over time."""
    rows = [[name, *(f"{gain:.2f}" for gain in values)] for name, values in curves.items()]
    return Sheet("J lower by, %, after so many growths of searching", ["table", *map(str, AFTER)], rows)


def verdicts(
    results: Sequence[Measured], large: Measured | None, many: dict[int, dict[str, float]], *, quick: bool
) -> tuple[Sheet, bool]:
    """Return the targets and whether they are met, and whether J is never higher."""
    changes = [change_of(found) for found in results]
    searches = [change_of(found, "thorough") for found in results]
    n_runs = sum(sum(change.runs.values()) for change in changes + searches)
    higher = sum(change.runs["J higher"] for change in changes + searches)
    rows = [
        [
            "runs whose J is no higher, of both searches",
            f"{n_runs - higher} of {n_runs}",
            "all",
            "missed" if higher else "ok",
        ]
    ]

    def add(what: str, figure: float, shown: str, target: Target, *, judged: bool = True) -> None:
        rows.append([what, shown, str(target), target.verdict(figure) if judged and not quick else "not judged"])

    if results:
        behind = sum(
            lower(theirs, own)
            for found in results
            for peer in (*OTHERS, *PEERS)
            for theirs, own in zip(found.runs[peer]["J"], found.runs["refined"]["J"], strict=True)
        )
        n_pairs = sum(len(found.runs["refined"]["J"]) for found in results) * len((*OTHERS, *PEERS))
        add("runs in which another method's tree has a lower J", behind, f"{behind} of {n_pairs}", BEHIND)
        complete = {found.table for found in results} == set(TABLES)
        for what, figure, target in (
            ("tables whose mean cost and mean WAES are no higher", sum(c.no_worse for c in changes), NO_WORSE),
            ("tables whose mean cost and mean WAES are both lower", sum(c.better for c in changes), BETTER),
        ):
            add(what, figure, f"{figure} of {len(changes)}", target, judged=complete)
        risen = sum(change.highest > MAX_RISE for change in changes)
        what = f"tables whose mean cost or mean WAES is higher by over {MAX_RISE:.0%}"
        add(what, risen, f"{risen} of {len(changes)}", HIGHER, judged=complete)
        for what, some, target in (("", changes, GAIN), (", thorough", searches, THOROUGH_GAIN)):
            gain = float(np.mean([change.gain for change in some]))
            add(f"mean gain in J, %{what}", gain, f"{gain:.2f}", target, judged=complete)
        slowest = max(results, key=lambda found: median(found.times["growths"]))
        add(
            f"{RATIOS['growths']}, highest of the tables ({slowest.table})",
            median(slowest.times["growths"]),
            slowest.median_text("growths"),
            GROWTHS,
        )
    verdicts_of(
        [found.more for found in results], many, add, complete={found.table for found in results} == set(TABLES)
    )
    timed = [("kmeans", KMEANS, large)] if large else []
    timed += [("whole", WHOLE_FIT, found) for found in results if found.table in WHOLE_FITS]
    for name, target, found in timed:
        add(f"{RATIOS[name]}, {found.table}", median(found.times[name]), found.median_text(name), target)
    return Sheet("Asked and found", ["of refinement", "found", "asked", ""], rows), not higher


def draw(results: Sequence[Measured], path: Path) -> None:
    """Draw cost against WAES, a panel per table: the runs, and each method's mean."""
    from matplotlib.figure import Figure

    columns = min(3, len(results))
    lines = -(-len(results) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).flat
    for panel in panels[len(results) :]:
        panel.set_axis_off()
    for found, panel in zip(results, panels, strict=False):
        for i, ((method, title), marker) in enumerate(zip(METHODS.items(), MARKERS, strict=True)):
            runs = found.runs[method]
            panel.plot(runs["waes"], runs["cost"], ".", color=f"C{i}", alpha=0.3, markersize=4)
            mean = [found.mean(method, name) for name in ("waes", "cost")]
            panel.plot(*mean, marker, color=f"C{i}", markerfacecolor="none", markersize=8, label=title)
        ends = [[found.mean(method, name) for method in ("greedy", "refined")] for name in ("waes", "cost")]
        panel.plot(*ends, color="0.5", linewidth=0.8, zorder=1)
        panel.set_title(found.table, fontsize="medium")
        panel.grid(alpha=0.3)
    figure.supxlabel("conditions that explain a row, on average (WAES)")
    figure.supylabel("k-means cost, without rules = 1")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(METHODS))
    figure.savefig(path, dpi=120, format="png")


# The command line ---------------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line, and refuse impossible requests before the work."""
    known = [*TABLES, LARGE.name]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_table_options(parser, known)
    parser.add_argument("--seeds", type=int, help="k-means runs per table (default: 10)")
    parser.add_argument(
        "--first-seed", type=int, default=0, help="the first of them; constants were chosen on 0 to 9 (default: 0)"
    )
    parser.add_argument("--quick", action="store_true", help="tiny tables, one seed: only shows that it runs")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the picture, a PNG (default: build/quality.png)"
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="PAGE", help="write the tables into this page, as docs/refinement.md"
    )
    options = parser.parse_args(arguments)
    if options.seeds is not None and options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if options.first_seed < 0:
        parser.error("--first-seed must be at least 0")
    options.chosen = bool(options.tables)
    options.seeds = options.seeds or (1 if options.quick else 10)
    given = {"--seeds": options.seeds, "--first-seed": options.first_seed, "--tables": options.tables}
    named = [f"{name} {value}" for name, value in given.items() if value] + ["--quick"] * options.quick
    options.command = " ".join([f"benchmarks/{SCRIPT}", *named])
    if options.quick and not options.tables:
        known = [*QUICK_TABLES, LARGE.name]
    check_page(parser, options.markdown, SCRIPT)
    options.tables = chosen_tables(parser, options, known, made=(LARGE.name,))
    options.output = check_picture(parser, options.output, ROOT / "build" / "quality.png")
    options.quiet = Quiet(judges=not options.quick)
    options.quiet.begin(parser, options.markdown)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the results and return the exit status."""
    options = parse(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    clock = Clock()
    names = [name for name in TABLES if name in options.tables]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    results = []
    for name in names:
        results.append(measure(name, clock, options.data, seeds, quick=options.quick))
        options.quiet.check()
    large = None
    if LARGE.name in options.tables:
        large = measure_large(clock, min(options.seeds, LARGE_SEEDS), quick=options.quick)
        options.quiet.check()
    many: dict[int, dict[str, float]] = {}
    optimum: list[list[str]] = []
    if not options.quick and not options.chosen:
        many = measure_many(options.data, Partition, objectives_of_peers, TRADEOFF)
        for name, k in OPTIMUM:
            X, _ = load(name, options.data)
            optimum.append(measure_optimum(name, k, X, into_space(name, X), Partition, TRADEOFF))
    judged, holds = verdicts(results, large, many, quick=options.quick)
    sheets = [judged]
    sheets += [comparison(results)] if results else []
    sheets += more_sheets([found.more for found in results], many, optimum)
    sheets += [durations([*results, *([large] if large else [])])]
    curves = gains({found.table: found.searches for found in results}) if results else {}
    sheets += [quality(results), gain_curve(curves)] if results else []
    if options.quiet.refusal:
        print(options.quiet.refusal)
    print(f"{options.seeds} seeds, {cores()} cores; numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    for sheet in sheets:
        print(f"\n{sheet.text()}")
    if results and options.output:
        draw(results, options.output)
        log(f"drawn: {options.output}")
    if options.markdown is not None:
        said = (
            f"Measured by `{options.command}` on {cores()} cores, with numpy {np.__version__} and scikit-learn "
            f"{sklearn.__version__}."
        )
        measured = "\n\n".join([said, *(sheet.markdown() for sheet in sheets)])
        written = write_measured(options.markdown, SCRIPT, measured, options.quiet)
        if written and results:
            draw_curve(curves, options.markdown.with_name("refinement-curve.svg"))
        holds &= written
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

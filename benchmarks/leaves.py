"""The gain from more leaves, many clusters, goals between the trade-offs and the best tree there is: for quality.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from measuring import Sheet, Target, load
from numpy.typing import NDArray
from optimum import lowest_objective
from sklearn.cluster import KMeans
from sklearn.preprocessing import minmax_scale

from shallowrules import ExplainableKMeans, fit_to_goal
from shallowrules.errors import DataError
from shallowrules.measures.metrics import partition_cost
from shallowrules.models.tradeoff import TRADEOFFS, tradeoff_path
from shallowrules.trees.candidates import SearchSettings
from shallowrules.trees.extending import extend
from shallowrules.trees.growing import grow
from shallowrules.trees.grown_tree import GrownTree

if TYPE_CHECKING:
    from quality_runs import Partition

__all__ = [
    "GOAL_SEEDS",
    "MANY",
    "OPTIMUM",
    "More",
    "measure_goals",
    "measure_many",
    "measure_more",
    "measure_optimum",
    "sheets",
    "verdicts_of",
]

MORE = {"k + 1": lambda k: k + 1, "k + 2": lambda k: k + 2, "2 k": lambda k: 2 * k}
GAINS = {"k + 1": Target("≥", 0.8), "k + 2": Target("≥", 1.3), "2 k": Target("≥", 2.5)}
"""By how many percent J is to be lower with more leaves than with k, all refined; the mean of the tables."""
BASES = ("none", "imm")
MANY = (30, 60, 100, 140)
"""Clusters of 5,000 rows of poker_part125008, min-max scaled over all."""
MANY_ROWS = 5000
OPTIMUM = (("iris", 3), ("iris", 4), ("wine", 3), ("breast_cancer", 2))
"""Tables and numbers of clusters for which all trees can be looked at in seconds."""
GOAL_SEEDS = 3
"""Seeds whose peers are compared with goals: a path takes as long as 20 refinements."""
TIE = 1e-9


@dataclass
class More:
    """Figures of one table beside those of its trees of k leaves.

    Attributes
    ----------
    table : str
    found : dict of str to list of float
        J by the number of leaves, by seed: of refined trees ("k", and those of `MORE`), and of ExKMC with 2 k leaves
        from either base.
    points : int
        Peers' trees that neither a path nor a fit to their own cost and length as a goal matches.
    peers : int
        Of so many.
    """

    table: str
    found: dict[str, list[float]] = field(default_factory=dict)
    points: int = 0
    peers: int = 0

    def mean(self, name: str) -> float:
        """Return the mean J over the seeds."""
        return float(np.mean(self.found[name]))


def objective(partition: Partition, tree: GrownTree, tradeoff: float) -> float:
    """Return J of a tree, whose leaves of one center are one cluster."""
    return partition_cost(partition.X_cluster, tree.labels) / partition.cost + tradeoff * tree.as_tree().waes


def measure_more(
    more: More,
    partition: Partition,
    refined: GrownTree,
    tradeoff: float,
    seed: int,
) -> None:
    """Add the gain from more leaves for one seed."""
    rows, k = partition.explained(partition.unique_rows()), len(partition.centers)
    found = {"k": objective(partition, refined, tradeoff)}
    for name, leaves in MORE.items():
        tree = extend(refined, rows, SearchSettings(tradeoff, seed), max_leaves=leaves(k))
        found[name] = objective(partition, tree, tradeoff)
    for base in BASES:
        tree = grow(partition.unique_rows(), method="exkmc", max_leaves=2 * k, base=base)
        found[f"ExKMC, 2 k, base {base}"] = objective(partition, tree, tradeoff)
    for name, value in found.items():
        more.found.setdefault(name, []).append(value)


def measure_goals(more: More, partition: Partition, peers: Sequence[dict[str, float]], seed: int) -> None:
    """Add how the trees of peers compare with a path, and with goals of their cost and length."""
    model = ExplainableKMeans(clusterer=partition.kmeans, random_state=seed)
    points = tradeoff_path(model, partition.X_cluster, tradeoffs=TRADEOFFS)  # trees are the same in any scale
    path = [(point.cost, point.conditions) for point in points]
    more.peers += len(peers)
    more.points += sum(not is_matched(partition, path, peer, seed) for peer in peers)


def is_matched(partition: Partition, path: Sequence[tuple[float, float]], peer: dict[str, float], seed: int) -> bool:
    """Whether the path, or a fit with the peer's cost and length as goals, has a tree no worse in either."""
    most = peer["cost"] * (1 + TIE), peer["waes"] * (1 + TIE)

    def within(cost: float, waes: float) -> bool:
        return cost <= most[0] and waes <= most[1]

    if any(within(*point) for point in path):
        return True
    model = ExplainableKMeans(clusterer=partition.kmeans, random_state=seed)
    try:
        found = fit_to_goal(model, partition.X_cluster, max_cost=peer["cost"], max_conditions=peer["waes"])
    except DataError:
        return False
    return within(found.normalized_cost_, found.waes_)


def measure_many(
    folder: Path, make: Callable[..., Partition], peers: Callable[..., dict[str, float]], tradeoff: float
) -> dict[int, dict[str, float]]:
    """Return J of the refined tree and of the peers' trees, by the number of clusters."""
    X, _ = load("poker_part125008", folder)
    X = minmax_scale(X)[np.random.default_rng(0).permutation(len(X))[:MANY_ROWS]]
    found = {}
    for k in MANY:
        kmeans = KMeans(k, n_init=1, random_state=0).fit(X)
        partition = make(X, X, kmeans)
        refined = partition.refine(*partition.grow_greedy()).tree
        found[k] = {"refined": objective(partition, refined, tradeoff), **peers(X, kmeans)}
    return found


def measure_optimum(
    name: str,
    k: int,
    X: NDArray[np.float64],
    X_cluster: NDArray[np.float64],
    make: Callable[..., Partition],
    tradeoff: float,
) -> list[str]:
    """Return the line of a table and a number of clusters: J of the refined tree, and of the best there is."""
    kmeans = KMeans(k, n_init=10, random_state=0).fit(X_cluster)
    partition = make(X, X_cluster, kmeans)
    refined = objective(partition, partition.refine(*partition.grow_greedy()).tree, tradeoff)
    best = lowest_objective(X, X_cluster, k, partition.cost, tradeoff, refined)
    return [name, str(k), f"{refined:.4f}", f"{best:.4f}", f"{max(0.0, 100 * (refined / best - 1)):.2f}%"]


def sheets(more: Sequence[More], many: dict[int, dict[str, float]], optimum: Sequence[list[str]]) -> list[Sheet]:
    """Return the tables."""
    found = []
    if more:
        names = list(more[0].found)
        rows = [[one.table, *(f"{one.mean(name):.4f}" for name in names)] for one in more]
        rows.append(["J lower by", "", *(f"{gain_of(more, name):.2f}%" for name in MORE), *[""] * len(BASES)])
        found.append(Sheet("J with more leaves, mean over the seeds", ["table", *names], rows))
    if many:
        names = list(next(iter(many.values())))
        rows = [[str(k), *(f"{value:.4f}" for value in figures.values())] for k, figures in many.items()]
        found.append(Sheet("J with many clusters: 5,000 rows of poker, min-max scaled", ["k", *names], rows))
    if optimum:
        headings = ["table", "k", "J, refined", "J, the best there is", "gap"]
        found.append(Sheet("The best tree there is, by dynamic programming", headings, list(optimum)))
    return found


def gain_of(more: Sequence[More], name: str) -> float:
    """Return the percentage by which J is lower with more leaves, as the mean of the tables."""
    return float(np.mean([100 * (1 - one.mean(name) / one.mean("k")) for one in more]))


def verdicts_of(
    more: Sequence[More], many: dict[int, dict[str, float]], add: Callable[..., None], *, complete: bool
) -> None:
    """Add the targets for more leaves, for many clusters and for goals."""
    for name, target in GAINS.items() if more else ():
        gain = gain_of(more, name)
        add(f"J with {name} leaves below that with k, %", gain, f"{gain:.2f}", target, judged=complete)
    if more:
        behind = sum(any(one.mean(f"ExKMC, 2 k, base {base}") < one.mean("2 k") for base in BASES) for one in more)
        add("tables where ExKMC has a lower J with 2 k leaves", behind, f"{behind} of {len(more)}", Target("≤", 0))
        points, peers = sum(one.points for one in more), sum(one.peers for one in more)
        what = "other methods' trees that neither a path nor a fit to their cost and length matches"
        add(what, points, f"{points} of {peers}", Target("≤", 0))
    if many:
        behind = sum(value < figures["refined"] * (1 - TIE) for figures in many.values() for value in figures.values())
        add("of many clusters, trees of other methods with a lower J", behind, str(behind), Target("≤", 0))

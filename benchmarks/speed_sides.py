"""One run of each side that speed.py compares: growth, KMeans, a Lloyd iteration, CART and other packages."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from measuring import Clock
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier
from speed_cases import Case

from shallowrules.trees.growing import grow
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.growth_data import GrowthData, find_unique_rows

LLOYD_ITERATIONS = 10
SECONDS_PER_POINT = 0.2  # a short run is repeated for this time


def grown_tree(X: NDArray[Any], centers: NDArray[np.float64], threads: int) -> GrownTree:
    """Grow a tree from everything that a user has."""
    unique = find_unique_rows(GrowthData(X, X, centers, centers), n_threads=threads)
    return grow(unique, n_threads=threads)


# --- one run of one side -------------------------------------------------------------------------


class Sides:
    """The sides of one case and seed. Each method runs its side once and returns seconds."""

    def __init__(self, clock: Clock, case: Case, seed: int) -> None:
        self.clock = clock
        self.X = case.table(seed)
        self.k = case.clusters()
        self.seed = seed
        self.kmeans = clock.time(self._fit, 2)[1]
        self.centers = np.asarray(self.kmeans.cluster_centers_, dtype=np.float64)
        self.start = self.X[np.random.default_rng(seed).choice(len(self.X), self.k, replace=False)]

    def _fit(self, **options: Any) -> Any:
        return KMeans(self.k, n_init=1, random_state=self.seed, **options).fit(self.X)

    def grown(self, threads: int) -> GrownTree:
        return grown_tree(self.X, self.centers, threads)

    def growth(self, threads: int) -> float:
        return self.clock.time(lambda: self.grown(threads), threads)[0]

    def fit(self, threads: int) -> float:
        return self.clock.time(self._fit, threads)[0]

    def lloyd(self, threads: int) -> float:
        """Return the time that an iteration adds to a fit; the fit's set-up and its last assignment cancel."""

        def fit(max_iter: int) -> tuple[float, Any]:
            return self.clock.time(lambda: self._fit(init=self.start, max_iter=max_iter, tol=0.0), threads)

        start = time.perf_counter()
        short, long = [fit(1)], [fit(1 + LLOYD_ITERATIONS)]
        while time.perf_counter() - start < SECONDS_PER_POINT:
            short.append(fit(1))
            long.append(fit(1 + LLOYD_ITERATIONS))
        added = long[0][1].n_iter_ - short[0][1].n_iter_
        seconds = median(spent for spent, _ in long) - median(spent for spent, _ in short)
        return seconds / added if seconds > 0 and added else float("nan")

    def cart(self, threads: int) -> float:
        tree = DecisionTreeClassifier(max_leaf_nodes=self.k, random_state=0)
        return self.clock.time(lambda: tree.fit(self.X, self.kmeans.labels_), threads)[0]

    def package(self, builder: Any, threads: int) -> float:
        return self.clock.time(lambda: builder(self.k).fit(self.X, self.kmeans), threads)[0]


class Rival(NamedTuple):
    """A rival that growth is compared with.

    Attributes
    ----------
    name : str
    run : callable of (Sides, int) to float
        Seconds of one run, given the number of threads.
    growth_above : bool
        Whether growth is above the line of the ratio.
    threads : int
        The rival's.
    growth_threads : tuple of int
    """

    name: str
    run: Callable[[Sides, int], float]
    growth_above: bool
    threads: int
    growth_threads: tuple[int, ...]

    def keys(self) -> list[tuple[str, int, int]]:
        """Return the names of its ratios, with the threads above and below the line."""
        if self.growth_above:
            return [(f"growth ÷ {self.name}", own, self.threads) for own in self.growth_threads]
        return [(f"{self.name} ÷ growth", self.threads, own) for own in self.growth_threads]


RIVALS = [
    Rival("KMeans fit", Sides.fit, True, 1, (1,)),
    Rival("KMeans fit", Sides.fit, True, 2, (2,)),
    Rival("Lloyd iteration", Sides.lloyd, True, 1, (1,)),
    Rival("Lloyd iteration", Sides.lloyd, True, 2, (2,)),
    Rival("CART", Sides.cart, False, 1, (1, 2)),
]


def other_packages() -> list[Rival]:
    """Return the builders of other packages that can be imported, and say which cannot."""
    found = []
    for name, module, attribute in [
        ("ShallowTree", "ShallowTree.ShallowTree", "ShallowTree"),
        ("ExKMC", "ExKMC.Tree", "Tree"),
    ]:
        try:
            builder = getattr(importlib.import_module(module), attribute)
        except (ImportError, OSError, AttributeError) as error:
            print(f"{name}: left out, it cannot be imported ({error}); it needs Python 3.10 and numpy 1.23")
            continue

        def run(sides: Sides, threads: int, builder: Any = builder) -> float:
            return sides.package(builder, threads)

        found.append(Rival(name, run, False, 1, (1, 2)))
    return found

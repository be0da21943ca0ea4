"""Candidates: trees that a search finds, and what makes one better than another."""

from __future__ import annotations

from dataclasses import dataclass

from shallowrules.trees.grown_tree import CutTree

__all__ = ["TIE", "Candidate", "Goal", "SearchObjective", "SearchSettings", "different"]

TIE = 1e-9
"""Relative difference below which two sums are equal: equal partitions are summed in different orders."""


@dataclass(frozen=True)
class SearchSettings:
    """The settings of every search for better trees.

    Attributes
    ----------
    tradeoff : float
        The paper's lambda in J.
    random_seed : int
        Not negative. With it the search is the same for the same table.
    n_threads : int
        The result does not depend on it.
    """

    tradeoff: float
    random_seed: int = 0
    n_threads: int = 1


@dataclass(frozen=True)
class SearchObjective:
    """The objective of a search.

    Attributes
    ----------
    tradeoff : float
        The paper's lambda: what proposes cuts while a tree grows.
    penalty : float
        What a condition of a row of weight 1 costs: ``cost + penalty * conditions`` is J times the reference cost.
    moves_leaves : bool
        Whether a cluster may lose its leaf, and another be cut in two.
    weight : float
        The weight of all rows, as the kernel sums it.
    n_clusters : int
        Where a cluster may have several leaves, all those of its center, how many there are; 0 where each leaf is a
        cluster.
    unit : float
        The reference cost, as the kernel sums it.
    reference_cost : float
        The reference cost itself.
    """

    tradeoff: float
    penalty: float
    moves_leaves: bool
    unit: float
    reference_cost: float
    weight: float
    n_clusters: int = 0

    def objective(self, found: Candidate) -> float:
        """Return J of a tree times the reference cost."""
        return found.figures[0] + self.penalty * found.figures[1]


@dataclass(frozen=True)
class Goal:
    """A bound under which a tree is searched for.

    Attributes
    ----------
    kind : {"length", "cost"}
        "length" bounds the conditions that explain a row on average (WAES), and the tree is to be cheap; "cost" bounds
        the normalized cost, and it is to be short.
    bound : float
    """

    kind: str
    bound: float

    def is_met(self, figures: tuple[float, float]) -> bool:
        """Whether a normalized cost and WAES are within the bound, apart from rounding."""
        return self.bounded(figures) <= self.bound * (1 + TIE)

    def bounded(self, figures: tuple[float, float]) -> float:
        """Return the one of the two that is bounded."""
        return figures[self.kind == "length"]

    def low(self, figures: tuple[float, float]) -> float:
        """Return the one of the two to minimize."""
        return figures[self.kind == "cost"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A tree, with its cost and the conditions of its rows, both summed by weight.

    Attributes
    ----------
    tree : CutTree
    figures : tuple of float
    bound_reached : bool
        Whether the bound on the work ended its improvement.
    from_data : bool
        Whether it was grown from the data alone.
    """

    tree: CutTree
    figures: tuple[float, float]
    bound_reached: bool
    from_data: bool = False

    def no_worse_than(self, other: Candidate) -> bool:
        """Whether it is neither more expensive nor longer."""
        return all(mine <= its * (1 + TIE) for mine, its in zip(self.figures, other.figures, strict=True))


def different(found: list[Candidate], aim: SearchObjective) -> list[Candidate]:
    """Return the distinct trees, those of the lowest J first."""
    by_key = {one.tree.key: one for one in found}
    return sorted(by_key.values(), key=aim.objective)

"""What a later fit continues from, the space and the centers of a clustering; and the rows by earlier rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shallowrules.errors import RulesFormatError
from shallowrules.tables.labels import NO_CLUSTER, is_label
from shallowrules.tables.values import Value

__all__ = ["Clustering", "Flow"]


@dataclass(frozen=True)
class Clustering:
    """The unrestricted clustering that rules explain, and the space in which it was made.

    Attributes
    ----------
    scale : str
        The scaler's option, "none" for none.
    category_weight : float
        What the columns of 0 and 1 were multiplied by.
    columns : tuple of int
        For each column of the space the position of its column in `RuleSet.columns`.
    values : tuple of str, bool or None
        The category that it is 1 for; None for numbers.
    origins, units : tuple of float
        Of numbers, in the units of their column: what became 0, and by how much more became 1. 0 and 1 for categories.
    centers : tuple of tuple of float
        In the columns of the space.
    """

    scale: str
    category_weight: float
    columns: tuple[int, ...]
    values: tuple[Value | None, ...]
    origins: tuple[float, ...]
    units: tuple[float, ...]
    centers: tuple[tuple[float, ...], ...]

    def check(self, n_columns: int) -> None:
        """Raise RulesFormatError if this is not a clustering of a table of a given number of columns."""
        n = len(self.columns)
        if not (n == len(self.values) == len(self.origins) == len(self.units)) or not n:
            raise RulesFormatError("clustering has columns, values, origins and units of different lengths, or none")
        if not all(0 <= column < n_columns for column in self.columns):
            raise RulesFormatError(f"clustering has a column that is not among the {n_columns} columns")
        if not self.centers or any(len(center) != n for center in self.centers):
            raise RulesFormatError(f"clustering has a center without a number for each of its {n} columns, or none")
        if not all(unit > 0 for unit in (*self.units, self.category_weight)):
            raise RulesFormatError("clustering has a unit or a weight that is not above 0")


@dataclass(frozen=True)
class Flow:
    """The rows of the table by their cluster in earlier rules and in these.

    Attributes
    ----------
    clusters : tuple of int
        The earlier clusters.
    titles : tuple of str
        Their numbers and names.
    pairs : tuple of tuple of int
        An earlier cluster, one of these, and the rows that are in both; -1 for no cluster.
    """

    clusters: tuple[int, ...]
    titles: tuple[str, ...]
    pairs: tuple[tuple[int, ...], ...]

    @property
    def counts(self) -> dict[tuple[int, int], int]:
        """The rows by pairs of clusters."""
        return {(old, new): rows for old, new, rows in self.pairs}

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(rows for _, _, rows in self.pairs)

    @property
    def moved(self) -> int:
        """The rows whose cluster has another number."""
        return sum(rows for old, new, rows in self.pairs if old != new)

    @property
    def share(self) -> float:
        """The share of rows whose cluster has another number."""
        return self.moved / self.rows

    @property
    def moves(self) -> list[tuple[int, ...]]:
        """The pairs of different clusters, most rows first."""
        return sorted((pair for pair in self.pairs if pair[0] != pair[1]), key=lambda pair: (-pair[2], pair))

    def title(self, cluster: int) -> str:
        """Return the number and the name of an earlier cluster."""
        return "none" if cluster == NO_CLUSTER else self.titles[self.clusters.index(cluster)]

    def table(self) -> tuple[list[int], list[tuple[str, list[int]]]]:
        """Return the clusters that rows are in now, and for each earlier one its title and its rows in each of them."""
        heads, counts = sorted({new for _, new, _ in self.pairs}), self.counts
        befores = [*self.clusters, *([NO_CLUSTER] if any(old == NO_CLUSTER for old, _, _ in self.pairs) else [])]
        return heads, [(self.title(old), [counts.get((old, new), 0) for new in heads]) for old in befores]

    def renumbered(self, numbers: Mapping[int, int]) -> Flow:
        """Return the flow into clusters with other numbers."""
        pairs = sorted((old, numbers.get(new, new), rows) for old, new, rows in self.pairs)
        return Flow(self.clusters, self.titles, tuple(pairs))

    def check(self, clusters: set[int]) -> None:
        """Raise RulesFormatError if this is not a flow into these clusters."""
        if len(self.clusters) != len(self.titles) or len(set(self.clusters)) != len(self.clusters):
            raise RulesFormatError("flow has a cluster twice, or a cluster without a title")
        if not self.pairs or any(len(pair) != 3 for pair in self.pairs):
            raise RulesFormatError("flow.pairs must be lists of an earlier cluster, a cluster and a number of rows")
        known, new = {*self.clusters, NO_CLUSTER}, {*clusters, NO_CLUSTER}
        if not all(map(is_label, self.clusters)):
            raise RulesFormatError("flow has a cluster whose number means none, or goes beyond 64 bits")
        if not all(pair[0] in known and pair[1] in new and 0 < pair[2] < 2**63 for pair in self.pairs):
            raise RulesFormatError(
                "flow.pairs has a cluster that is not listed, no rows, or more than 2**63 - 1 of them"
            )
        if len({pair[:2] for pair in self.pairs}) != len(self.pairs):
            raise RulesFormatError("flow.pairs has the same two clusters twice")

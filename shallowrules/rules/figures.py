"""Figures of the clusters and of the rules as a whole, measured on the training rows."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field

from shallowrules.errors import counted
from shallowrules.rules.columns import OPTIONAL
from shallowrules.rules.conditions import printable
from shallowrules.rules.shown import Shown
from shallowrules.tables.conversion import Number
from shallowrules.tables.labels import NO_CLUSTER, NOISE

__all__ = ["Cluster", "Statistics", "normalized_cost", "percent", "show_figure"]

LARGEST_SHOWN = 1e15
"""Ratios above this are of costs that are 0 apart from rounding."""


def normalized_cost(cost: float, reference_cost: float, *, finite: bool = False) -> float:
    """Return the price of explainability: a partition's cost divided by that of the unrestricted one.

    If that is 0, the result is 1 if the partition costs nothing either, else infinity, or with `finite` the
    largest float, which a document can hold.
    """
    ratio = cost / reference_cost if reference_cost > 0 else 1.0 if cost == 0 else math.inf
    return min(ratio, sys.float_info.max) if finite else ratio


def is_cheaper(price: float) -> bool:
    """Return whether rules cost less than the clustering that they explain, to three decimals."""
    return round(price, 3) < 1


def describe_cheaper(*, labelled: bool = False) -> str:
    """Return why rules can cost less than the clustering that they explain; `labelled` says that it was given."""
    if labelled:
        return "the given clusters are not those of least k-means cost, and the rules lead to clusters that cost less"
    return "k-means stops at a local optimum, and the rules lead to a clustering that costs less"


def show_figure(value: float, spec: str) -> str:
    """Return a figure by a format specification; "∞" for a ratio to 0, "–" where there is no figure (NaN)."""
    if math.isnan(value):
        return "–"
    return "∞" if value > LARGEST_SHOWN else format(value, spec)


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal; a tiny one is not shown as zero."""
    return "under 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


@dataclass(frozen=True)
class Cluster:
    """The figures of one cluster of the tree on the training rows.

    Attributes
    ----------
    index : int
        Label of the cluster, which every export returns, except for noise, for which exports return -1: the given label
        where it is a whole number, else the row of its reference center.
    name : str
        Its name: the given label, or the number, or the one set by `RuleSet.with_names`.
    rows, weight, share
        Training rows, their summed weight and its share of the table.
    precision : float
        Share of the cluster's weight that the unrestricted clustering puts in it too.
    recall : float
        Share of the unrestricted cluster's weight that the rules put in it too.
    means : tuple of float or None
        Mean of every column of `RuleSet.columns`, in its own units; None where it has categories.
    shares : tuple of tuple of float
        Per column of categories the share of each of its `values` in the cluster; empty for a column of
        numbers, and altogether if there are only these.
    histograms : tuple of tuple of int or float
        Per column that has `edges` the weight in each of its bins; empty where none was measured.
    reference_clusters, reference_weights : tuple
        The clusters of the unrestricted clustering that its rows are in, ascending, and the weight that is in each;
        empty where that was not measured.
    deltas : tuple of float or None
        Cliff's delta of every column of numbers in the cluster against all other rows: of the pairs of a row inside and
        one outside the share in which the former has the higher value, minus the share in which it has the lower one.
        None for a column of categories, and where it was not measured; empty where it was in no column.
    medians : tuple of float or None
        Median of every column of numbers, None and empty as for `deltas`.
    note : str
        A person's note on it; empty if there is none.
    named_by_rules : bool
        Whether the name was made from the conditions of its rules, because none was given.
    total : float or None
        The sum of the column `Statistics.measure` over its rows, each times its weight; None where there is none.
    unmeasured : int
        Rows without a value in that column.
    noise : bool
        Whether its rows are those that the clustering calls noise. Then its `label` is -1; `index` is its number where
        -1 stands for no rule, as in the arrays of `RuleSet.assign`.
    """

    index: int
    name: str
    rows: int
    weight: float
    share: float
    precision: float
    recall: float
    means: tuple[float | None, ...]
    shares: tuple[tuple[float, ...], ...] = field(default=(), metadata=OPTIONAL)
    histograms: tuple[tuple[Number, ...], ...] = field(default=(), metadata=OPTIONAL)
    reference_clusters: tuple[int, ...] = field(default=(), metadata=OPTIONAL)
    reference_weights: tuple[Number, ...] = field(default=(), metadata=OPTIONAL)
    deltas: tuple[float | None, ...] = field(default=(), metadata=OPTIONAL)
    medians: tuple[float | None, ...] = field(default=(), metadata=OPTIONAL)
    note: str = field(default="", metadata=OPTIONAL)
    named_by_rules: bool = field(default=False, metadata=OPTIONAL)
    total: float | None = field(default=None, metadata=OPTIONAL)
    unmeasured: int = field(default=0, metadata=OPTIONAL)
    noise: bool = field(default=False, metadata=OPTIONAL)

    @property
    def label(self) -> int:
        """The number that exports give its rows."""
        return NO_CLUSTER if self.noise else self.index

    @property
    def is_named(self) -> bool:
        """Whether it has a name that a person gave, or a given label."""
        return self.name != (NOISE if self.noise else str(self.index)) and not self.named_by_rules

    @property
    def title(self) -> str:
        """The number, which exports return, and the name, if it differs."""
        return self.name if self.name == str(self.label) else f"{self.label} ({self.name})"


@dataclass(frozen=True, repr=False)
class Statistics(Shown):
    """How good and how short the rules are, on the training rows; ``print`` shows them, one a line.

    `cost` and `reference_cost` are k-means costs (the paper's Eq. 1) in squared units of the
    space that was clustered, of the tree's partition and of the unrestricted one. `agreement`
    is the share of weight that both put in the same cluster. `wad` and `waes` are Eqs. 2 and 3.
    `labelled` says that labels were given to be explained, and not centers; `left_out` counts the
    rows that belonged to no cluster (noise, or without a label) and are in no other figure. `other_columns` are the
    table's other columns: labels, weights and excluded ones. `measure` is the column that was
    added up by cluster, and `total` its sum over all rows; None if there is none.
    """

    rows: int
    weight: float
    weighted: bool
    method: str
    tradeoff: float
    cost: float
    reference_cost: float
    normalized_cost: float
    agreement: float
    wad: float
    waes: float
    labelled: bool = False
    left_out: int = 0
    notes: tuple[str, ...] = field(default=())
    other_columns: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    measure: str | None = field(default=None, metadata=OPTIONAL)
    total: float | None = field(default=None, metadata=OPTIONAL)

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """What people read of them: the name of each figure, and the figure."""
        found = [
            ("rows", f"{self.rows:,}"),
            ("weight", f"{self.weight:,.10g}" if self.weighted else ""),
            ("rows left out", f"{self.left_out:,}" if self.left_out else ""),
            ("method", self.method),
            ("tradeoff", f"{self.tradeoff:g}"),
            ("cost, without rules = 1", show_figure(self.normalized_cost, ".3f")),
            ("rows with their given label" if self.labelled else "rows in the same cluster", percent(self.agreement)),
            ("conditions per row", f"{self.waes:.2f}"),
            ("questions per row", f"{self.wad:.2f}"),
            (f"total of {self.measure}", "" if self.total is None else f"{self.total:,.10g}"),
        ]
        return tuple((name, figure) for name, figure in found if figure)

    def __repr__(self) -> str:
        cost = show_figure(self.normalized_cost, ".3f")
        return f"Statistics({counted(self.rows, 'row')}, cost {cost}, agreement {percent(self.agreement)})"

    def __str__(self) -> str:
        wide = max(len(name) for name, _ in self.figures)
        lines = [f"{name:{wide}}  {figure}" for name, figure in self.figures]
        return "\n".join(map(printable, [*lines, *(f"note: {note}" for note in self.notes)]))

    def share_of_total(self, cluster: Cluster) -> float | None:
        """Return the share of a cluster in the total; None where there is none, or it is 0."""
        if cluster.total is None or not self.total:
            return None
        share = cluster.total / self.total
        return share if math.isfinite(share) else None

"""Data passed between the stages of a fit: parameters, the table as given, and the input for growing trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges
from shallowrules.clustering.reference import Reference
from shallowrules.encoding import Encoder, Weighing
from shallowrules.encoding.imputing import Filling
from shallowrules.fitting.describing import TreeRows
from shallowrules.rules import Clustering, RuleSet
from shallowrules.tables.table import Table
from shallowrules.trees.grown_tree import CutTree, GrownTree, Objectives
from shallowrules.trees.progress import Progress
from shallowrules.trees.row_samples import RowSample
from shallowrules.trees.tree import Tree

__all__ = ["FitData", "FitParameters", "GivenTable", "Log"]

Log = Callable[[str], None]
"""Takes a line on the current step."""


@dataclass(frozen=True, kw_only=True)
class FitParameters:
    """The parameters of `ExplainableKMeans`, checked; it documents them."""

    n_clusters: int
    method: str
    tradeoff: float
    max_leaves: int | None
    base: str
    refine: str
    budget: float | str
    round_within: float | None
    keep: Sequence[str]
    clusterer: Any
    cluster_columns: Sequence[str | int] | None
    explain_columns: Sequence[str | int] | None
    scale: str | None
    category_weight: float | str
    two_values: str
    impute: str | None
    missing: str | None
    noise: str
    transformer: Any
    random_state: Any
    earlier: RuleSet | None
    rescale: bool
    min_gain: float
    n_threads: int

    @property
    def filling(self) -> Filling:
        """The missing values to impute, and how."""
        return Filling(self.impute, self.missing)

    @property
    def weighing(self) -> Weighing:
        """How categories are weighed: the balanced weight of earlier rules stays with their scale."""
        weighing, kept = Weighing(self.category_weight, self.two_values == "category"), self.kept_clustering
        return Weighing(kept.category_weight, pairs=True) if kept is not None and weighing.is_balanced else weighing

    @property
    def kept_clustering(self) -> Clustering | None:
        """The clustering of earlier rules whose scale is kept; None where another scaler is asked for."""
        known = None if self.earlier is None or self.rescale else self.earlier.clustering
        return known if known is not None and known.scale == (self.scale or "none") else None


@dataclass(frozen=True, eq=False)
class GivenTable:
    """A table as the user gave it, read.

    Parameters
    ----------
    X : array-like, dataframe or Table
    table : Table
        Its columns.
    matrix : ndarray of float32 or float64, shape (n_rows, n_columns), or None
        The same table where it came as a matrix.
    feature_names : ndarray of str, or None
        Names of the columns where they have some.
    """

    X: Any
    table: Table
    matrix: NDArray[Any] | None
    feature_names: NDArray[np.object_] | None

    def ranges(self) -> Ranges | None:
        """Return the ranges of the columns of a matrix."""
        return None if self.matrix is None else column_ranges(self.matrix)


@dataclass(frozen=True, eq=False)
class FitData(ABC):
    """A clustered table, in memory or in parts: all that trees are grown from and measured on.

    Parameters
    ----------
    parameters : FitParameters
    reference : Reference
    cluster_columns : list of int
        Positions of the columns that are clustered, among those given.
    """

    parameters: FitParameters
    reference: Reference
    cluster_columns: list[int]

    @property
    @abstractmethod
    def encoder(self) -> Encoder:
        """The encoder of the model columns."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The columns that are used; for a table in parts, a small table with the same types, ends and categories."""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether weights were given."""

    @property
    @abstractmethod
    def left_out(self) -> int:
        """Number of rows in no cluster before there was a tree, without rows of weight 0."""

    @property
    @abstractmethod
    def separation(self) -> Mapping[int, float]:
        """The share of each raw column in the variance between the explained clusters, if known."""

    @property
    @abstractmethod
    def clustering(self) -> Clustering | None:
        """The clustering and its space, for rules to keep; None where columns were transformed."""

    @property
    @abstractmethod
    def used_centers(self) -> NDArray[np.integer]:
        """The centers that rows of positive weight are assigned to."""

    @property
    def kept_centers(self) -> NDArray[np.integer]:
        """The centers to explain: all of them, or for given labels only those that have rows."""
        return self.used_centers if self.reference.labelled else np.arange(len(self.reference.centers))

    @abstractmethod
    def grown_for(
        self,
        kept: NDArray[np.integer],
        tradeoffs: Sequence[float],
        progress: Progress | None,
        log: Log,
        tell_best: Callable[[float], None] | None,
    ) -> list[tuple[GrownTree, ...]]:
        """Return for each trade-off the greedy tree of some centers, and the refined one after it, if there is one.

        Features are model columns, centers those of the reference.
        """

    @abstractmethod
    def costs(self, grown: GrownTree) -> tuple[float, float]:
        """Return the k-means cost of a grown tree's partition and that of the clustering."""

    @abstractmethod
    def routed(self, tree: CutTree) -> GrownTree:
        """Return a tree over the model columns with the rows that its cuts send to each node."""

    @abstractmethod
    def count_pairs(self, earlier: RuleSet, rules: RuleSet | None) -> Counter[tuple[int, int]]:
        """Count rows by pair of clusters: by the earlier rules, and by `rules` or, without these, by the clustering."""

    @abstractmethod
    def sample(self) -> RowSample:
        """Return distinct rows, or some of them if there are many, chosen by their values."""

    @abstractmethod
    def rounded(self, grown: GrownTree, objectives: Objectives) -> GrownTree:
        """Return the result of `round_thresholds`, with the labels that rows get."""

    @abstractmethod
    def prices(self, grown: GrownTree, max_leaves: int, tradeoff: float) -> Sequence[float]:
        """Return the result of `price_more`; empty where the clustering costs nothing."""

    @abstractmethod
    def rows_of(self, tree: Tree, encoder: Encoder, grown: GrownTree) -> TreeRows:
        """Return the rows with the clusters that a grown tree gives them, once its thresholds are placed."""

"""Measuring a tree: rows are counted by cluster, in a table or in its parts; costs of parts take a second pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.centers import Grids, reference_labels
from shallowrules.encoding.rows import RowEncoder
from shallowrules.fitting.assembling import Measured, count_values, describe_columns
from shallowrules.measures.dominance import Standing, ValueBins, WeightsByValue
from shallowrules.measures.histograms import NarrowBins, count_rows, cross_weights
from shallowrules.measures.metrics import agreement, cost_of_squares, squares_around
from shallowrules.measures.totals import Totals, count_totals
from shallowrules.partitions import Part, Partitions
from shallowrules.partitions.merging import Added
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.tables.values import Value
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.placing import place_thresholds
from shallowrules.trees.tree import Tree

__all__ = [
    "Counting",
    "TreeOnParts",
    "costs_of",
    "costs_of_grown",
    "count_labels",
    "count_tree",
    "measured_of",
    "ranked_together",
    "standings_of",
    "total_counted",
    "weigh_values",
]

COLUMNS_AT_ONCE = 4
"""Columns whose values are weighed together: a row's values lie side by side, and are read from memory once."""


@dataclass(frozen=True, eq=False)
class Counting:
    """Which counts of rows by cluster to take.

    Parameters
    ----------
    k : int
        Clusters of the tree, and of the clustering that it follows.
    bins : mapping from int to NarrowBins
        By the position of the column.
    values : mapping from int to tuple of str or bool
        The categories of each column that has some, by its position.
    pairs : bool
        Whether each cluster is compared with each of the clustering that is followed.
    ranked : mapping from int to ValueBins or None
        By their positions the columns of numbers in which each cluster is compared with all other rows, with their bins
        if there are too many values for exact figures.
    n_threads : int
        The result does not depend on it.
    leaves : int
        Nodes of the tree, if the rows that agree with the clustering are counted by leaf as well; else 0.
    """

    k: int
    bins: Mapping[int, NarrowBins] = field(default_factory=dict)
    values: Mapping[int, tuple[Value, ...]] = field(default_factory=dict)
    pairs: bool = False
    ranked: Mapping[int, ValueBins | None] = field(default_factory=dict)
    n_threads: int = 1
    leaves: int = 0


def count_labels(
    columns: Sequence[Column],
    labels: NDArray[np.int32],
    followed: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    counting: Counting,
    leaf: NDArray[np.int32] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return counts of rows that add up over parts of a table.

    Parameters
    ----------
    columns : sequence of Column
        Of the rows that count.
    labels, followed : ndarray of int32, shape (n_rows,)
        Index of each row's cluster by the tree, and by the clustering that it follows.
    weight : ndarray of float64, shape (n_rows,), or None
    counting : Counting
    leaf : ndarray of int32, shape (n_rows,), optional
        Node of each row's leaf, where rows are counted by leaf.
    """
    k, same = counting.k, labels == followed
    rows = np.bincount(labels, minlength=k)
    found = {
        "rows": rows,
        "weight": (rows if weight is None else np.bincount(labels, weight, k)).astype(np.float64),
        "followed": np.bincount(followed, weight, k).astype(np.float64),
        "shared": np.bincount(labels[same], None if weight is None else weight[same], k).astype(np.float64),
    }
    if leaf is not None:
        agreed = np.bincount(leaf[same], None if weight is None else weight[same], counting.leaves)
        found["agreed"] = agreed.astype(np.float64)
    if counting.pairs:
        found["pairs"] = cross_weights(labels, followed, k, weight)
    for index, values in counting.values.items():
        found[f"values {index}"] = count_values(columns[index], values, labels, k, weight)
    bins = list(counting.bins.values())
    counts = [np.zeros((k, len(each.edges) - 1), np.int64) for each in bins]
    if len(labels):
        raw = [columns[index].values for index in counting.bins]
        counts = count_rows(bins, raw, np.ascontiguousarray(labels, np.int32), k, weight, counting.n_threads)
    return found | {f"bins {index}": each for index, each in zip(counting.bins, counts, strict=True)}


def ranked_together(counting: Counting) -> list[Sequence[int]]:
    """Return the positions of the `ranked` columns, those together that are weighed at once."""
    ranked = list(counting.ranked)
    return [ranked[first : first + COLUMNS_AT_ONCE] for first in range(0, len(ranked), COLUMNS_AT_ONCE)]


def weigh_values(
    columns: Sequence[Column],
    some: Sequence[int],
    labels: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    counting: Counting,
) -> dict[int, WeightsByValue]:
    """Return the weight of the values of some of the `ranked` columns by cluster, by position."""
    values, bins = [columns[index].values for index in some], [counting.ranked[index] for index in some]
    in_bins = [each for each in bins if each is not None]
    if len(in_bins) < len(bins):
        weighed = [WeightsByValue.of(each, labels, counting.k, weight) for each in values]
    else:
        weighed = WeightsByValue.in_bins(values, in_bins, labels, counting.k, weight)
    return dict(zip(some, weighed, strict=True))


def standings_of(found: Mapping[str, Any], counting: Counting) -> dict[int, Standing]:
    """Return by position how the clusters compare in each of the `ranked` columns, from the result of `count_tree`."""
    return {index: found[f"ranked {index}"].standing() for index in counting.ranked}


def total_counted(
    measure: Column,
    labels: NDArray[np.int32],
    k: int,
    weight: NDArray[np.float64] | None,
    counted: NDArray[np.bool_] | None,
) -> dict[str, NDArray[Any]]:
    """Return the result of `count_totals` for the rows that count; `labels` are theirs."""
    if counted is not None:
        [measure] = Table((measure,), measure.n_rows).take(counted).columns
        weight = None if weight is None else weight[counted]
    return count_totals(measure, labels, k, weight)


def measured_of(
    found: Mapping[str, Any],
    costs: tuple[float, float],
    counting: Counting,
    table: Table,
    numbers: Mapping[int, tuple[NDArray[np.float64], Sequence[float]]],
    standings: Mapping[int, Standing],
    measure: str | None = None,
) -> Measured:
    """Return the arguments of `assemble_rules`.

    Parameters
    ----------
    found : mapping from str to ndarray
        The result of `count_labels` for all rows.
    costs : (float, float)
        Of the tree's partition and of the clustering that it follows.
    counting : Counting
    table : Table
        With the types of the columns.
    numbers : mapping from int to (ndarray of float64, shape (k,), (least, greatest))
        The means of each column of numbers by cluster, and its ends.
    standings : mapping from int to Standing
        How the clusters stand in columns of numbers, where that was measured.
    measure : str, optional
        The column that was added up by cluster.
    """
    sums = found["weight"]
    cells = {index: found[f"values {index}"] for index in counting.values}
    columns, profiles = describe_columns(table, numbers, cells, sums, standings)
    agreed, precision, recall = agreement(found["shared"], sums, found["followed"])
    totals = None if measure is None else Totals.of(measure, found, range(counting.k))
    return Measured(
        columns,
        profiles,
        found["rows"],
        sums,
        *costs,
        agreed,
        precision,
        recall,
        found.get("pairs"),
        counting.bins,
        [found[f"bins {index}"] for index in counting.bins],
        totals,
        found.get("agreed"),
    )


@dataclass(frozen=True, eq=False)
class TreeOnParts:
    """The data that the passes of a tree need.

    Parameters
    ----------
    encode : RowEncoder
    tree : Tree
    centers : ndarray of float64, shape (k, m)
        Of the clustering that the tree follows.
    grids : Grids
    counting : Counting
    """

    encode: RowEncoder
    tree: Tree
    centers: NDArray[np.float64]
    grids: Grids
    counting: Counting


def count_tree(parts: Partitions, on: TreeOnParts) -> Added:
    """Return the results of `count_labels` and `weigh_values`, and the sums of the tree's clusters, in one pass."""
    return parts.map_reduce(_count_part, on)


def _count_part(part: Part, on: TreeOnParts) -> Added:
    rows = on.encode(part)
    labels, followed = on.tree.predict(rows.matrix), reference_labels(rows, on.centers)
    leaf = on.tree.apply(rows.matrix) if on.counting.leaves else None
    found = count_labels(rows.table.columns, labels, followed, rows.weight, on.counting, leaf)
    roles = on.encode.roles
    if roles.measure is not None:
        found |= total_counted(
            part[roles.measure], labels, on.counting.k, roles.given_weights(part), roles.counted(part)
        )
    by_value = {
        f"ranked {index}": each
        for some in ranked_together(on.counting)
        for index, each in weigh_values(rows.table.columns, some, labels, rows.weight, on.counting).items()
    }
    return Added(found | by_value | on.grids.add_up(rows, labels, on.counting.k))


@dataclass(frozen=True, eq=False)
class Squares:
    """Exact sums of squares around the means of some partitions, as `squares_around` gives them."""

    sums: tuple[int | None, ...]

    def merged(self, other: Squares) -> Squares:
        """Return the sums of both parts."""
        pairs = zip(self.sums, other.sums, strict=True)
        return Squares(tuple(None if one is None or another is None else one + another for one, another in pairs))


def costs_of(parts: Partitions, on: TreeOnParts, tree: Added, reference: Added) -> tuple[float, float]:
    """Return the k-means cost of the tree's partition and of the clustering, each around its own means, in one pass.

    `tree` is the result of `count_tree`, `reference` that of `sum_reference`.
    """
    grid, both = on.grids.cluster, (tree, reference)
    tree_means, means = (np.nan_to_num(grid.means(each["cluster"], each["weight"])) for each in both)
    found = parts.map_reduce(_cost_part, (on, tree_means, means))
    of_tree, of_reference = (
        cost_of_squares(squares, grid, each["cluster"], each["weight"])
        for squares, each in zip(found.sums, both, strict=True)
    )
    return of_tree, of_reference


def costs_of_grown(
    parts: Partitions,
    rows: RowEncoder,
    grown: GrownTree,
    head: Table,
    grids: Grids,
    centers: NDArray[np.float64],
    reference: Added,
) -> tuple[float, float]:
    """Return the result of `costs_of` for a tree whose thresholds are still to be placed, in two passes.

    `head` has the types of the columns; `reference` is the result of `sum_reference` for the centers.
    """
    on = TreeOnParts(rows, place_thresholds(grown, rows.encoder, head), centers, grids, Counting(len(centers)))
    return costs_of(parts, on, count_tree(parts, on), reference)


def _cost_part(part: Part, state: tuple[TreeOnParts, NDArray[np.float64], NDArray[np.float64]]) -> Squares:
    on, tree_means, means = state
    rows = on.encode(part)
    labels = on.tree.predict(rows.matrix), reference_labels(rows, on.centers)
    grid, around = on.grids.cluster, zip(labels, (tree_means, means), strict=True)
    return Squares(tuple(squares_around(grid, rows.X_cluster, each, points, rows.weight) for each, points in around))

"""A tree measured on parts: all figures that the rules have, in two passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.assembling import (
    Measured,
    count_values,
    describe_numbers,
    describe_values,
    profile_clusters,
)
from shallowrules.encoding import categories
from shallowrules.histograms import NarrowBins, count_rows, cross_weights
from shallowrules.partitions import Part, Partitions
from shallowrules.passes.centers import Grids, reference_labels
from shallowrules.passes.rows import RowEncoder
from shallowrules.passes.sums import Added, ExactSums
from shallowrules.table import Table, Value
from shallowrules.tree import Tree

__all__ = ["Squares", "TreeOnParts", "costs_of", "count_tree", "measured_of"]


@dataclass(frozen=True, eq=False)
class TreeOnParts:
    """What the passes of a tree need.

    Parameters
    ----------
    encode : RowEncoder
    tree : Tree
    centers : ndarray of float64, shape (k, m)
        Of the clustering that the tree follows.
    grids : Grids
    bins : mapping from int to NarrowBins
        By the position of the column.
    values : mapping from int to tuple of str or bool
        The categories of each column that has some, by its position.
    weighted : bool
        Whether weights were given.
    """

    encode: RowEncoder
    tree: Tree
    centers: NDArray[np.float64]
    grids: Grids
    bins: Mapping[int, NarrowBins]
    values: Mapping[int, tuple[Value, ...]]
    weighted: bool


def count_tree(parts: Partitions, on: TreeOnParts) -> Added:
    """Return counts and sums of the tree's clusters, in one pass."""
    return parts.map_reduce(_count_part, on)


def _count_part(part: Part, on: TreeOnParts) -> Added:
    rows, k = on.encode(part), len(on.centers)
    labels = on.tree.predict(rows.matrix)
    reference = reference_labels(rows, on.centers)
    weight = rows.weight
    found = {
        "rows": np.bincount(labels, minlength=k),
        "weight": np.bincount(labels, weight, minlength=k).astype(np.float64),
        "pairs": cross_weights(labels, reference, k, None),
        "pair weights": np.bincount(labels * k + reference, weight, k * k).reshape(k, k).astype(np.float64),
    }
    found |= on.grids.add_up(rows, labels, k)
    for index, values in on.values.items():
        found[f"values {index}"] = count_values(rows.table.columns[index], values, labels, k, weight)
    raw = [rows.table.columns[index].values for index in on.bins]
    if len(labels):
        bins = count_rows(list(on.bins.values()), raw, labels, k, weight if on.weighted else None)
    else:
        bins = [np.zeros((k, len(each.edges) - 1), np.int64) for each in on.bins.values()]
    return Added(found | {f"bins {index}": counts for index, counts in zip(on.bins, bins, strict=True)})


@dataclass(frozen=True, eq=False)
class Squares:
    """Sums of squares of rows around a point for each of some groups, and of the differences from it, both exact.

    Parameters
    ----------
    squares : ExactSums
        By group.
    gaps : ExactSums
        By group and column.
    """

    squares: ExactSums
    gaps: ExactSums

    @classmethod
    def of(
        cls,
        X: NDArray[Any],
        labels: NDArray[np.integer],
        around: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
    ) -> Squares:
        """Return those of some rows; `around` has a point near the mean of each group, shape (k, m)."""
        k, m = around.shape
        squares = np.zeros(len(X))
        gaps = ExactSums((0,) * (k * m))
        for j in range(m):  # column by column, so that a row's sum does not depend on its neighbors
            gap = X[:, j] - around[labels, j]
            squares += gap * gap
            gaps = gaps.merged(ExactSums.of(gap if weight is None else gap * weight, labels * m + j, k * m))
        return cls(ExactSums.of(squares if weight is None else squares * weight, labels, k), gaps)

    def merged(self, other: Squares) -> Squares:
        """Return the sums of both parts."""
        return Squares(self.squares.merged(other.squares), self.gaps.merged(other.gaps))

    def cost(self, weight: NDArray[np.float64]) -> float:
        """Return the squares around the means of the groups, whose weights these are."""
        excess = self.gaps.rounded().reshape(len(weight), -1)
        total = ExactSums((sum(self.squares.units),)).rounded()[0]
        return max(float(total - (excess / np.where(weight > 0, weight, 1.0)[:, None] * excess).sum()), 0.0)


@dataclass(frozen=True, eq=False)
class Costs:
    """Squares by the tree and by the clustering."""

    tree: Squares
    reference: Squares

    def merged(self, other: Costs) -> Costs:
        """Return the sums of both parts."""
        return Costs(self.tree.merged(other.tree), self.reference.merged(other.reference))


def costs_of(
    parts: Partitions,
    on: TreeOnParts,
    tree_means: NDArray[np.float64],
    tree_weight: NDArray[np.float64],
    means: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> tuple[float, float]:
    """Return the k-means cost of the tree's partition and of the clustering, each around its own means, in one pass.

    Parameters
    ----------
    parts : Partitions
    on : TreeOnParts
    tree_means, means : ndarray of float64, shape (k, m)
        Of the tree's clusters and of the clustering; anything where there are no rows.
    tree_weight, weight : ndarray of float64, shape (k,)
    """
    found = parts.map_reduce(_cost_part, (on, tree_means, means))
    return found.tree.cost(tree_weight), found.reference.cost(weight)


def _cost_part(part: Part, state: tuple[TreeOnParts, NDArray[np.float64], NDArray[np.float64]]) -> Costs:
    on, tree_means, means = state
    rows = on.encode(part)
    labels, clusters = on.tree.predict(rows.matrix), reference_labels(rows, on.centers)
    return Costs(
        Squares.of(rows.X_cluster, labels, tree_means, rows.weight),
        Squares.of(rows.X_cluster, clusters, means, rows.weight),
    )


def measured_of(
    found: Added, costs: tuple[float, float], on: TreeOnParts, head: Table, means: NDArray[np.float64]
) -> Measured:
    """Return what `assemble_rules` takes, from both passes.

    `head` has the ends and categories of all rows, `means` those of every cluster in the model columns.
    """
    sums, k = found["weight"], len(on.centers)
    place = {column.source: j for j, column in enumerate(on.encode.encoder.columns) if column.kind == "number"}
    described = []
    for source, raw in enumerate(head.columns):
        if raw.is_numeric:
            in_cluster = np.ascontiguousarray(means[:, place[source]])  # products add up as for a whole table
            described.append((describe_numbers(raw, float(in_cluster @ sums / sums.sum()), raw.ends), in_cluster))
        else:
            values = categories(raw)
            described.append(describe_values(raw, values, found[f"values {source}"], sums))
    columns, profiles = profile_clusters(head, described, k)
    pairs = found["pair weights"]
    shared = np.diagonal(pairs)
    precision, recall = (
        np.divide(shared, total, out=np.zeros(k), where=total > 0) for total in (pairs.sum(axis=1), pairs.sum(axis=0))
    )
    return Measured(
        columns,
        profiles,
        found["rows"],
        sums,
        *costs,
        float(shared.sum() / pairs.sum()),
        precision,
        recall,
        found["pair weights"] if on.weighted else found["pairs"],
        on.bins,
        [found[f"bins {index}"] for index in on.bins],
    )

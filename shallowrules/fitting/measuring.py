"""A tree measured on parts: all figures that the rules have, in two passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.centers import Grids, reference_labels
from shallowrules.encoding.rows import RowEncoder
from shallowrules.fitting.assembling import (
    Measured,
    count_values,
    describe_columns,
)
from shallowrules.measures.histograms import NarrowBins, count_rows, cross_weights
from shallowrules.measures.metrics import agreement_of_pairs, cost_of_squares, squares_around
from shallowrules.partitions import Part, Partitions
from shallowrules.partitions.merging import Added
from shallowrules.tables.table import Table, Value
from shallowrules.trees.tree import Tree

__all__ = ["TreeOnParts", "costs_of", "count_tree", "measured_of"]


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
    """Exact sums of squares around the means of some partitions, as `squares_around` gives them."""

    sums: tuple[int | None, ...]

    def merged(self, other: Squares) -> Squares:
        """Return the sums of both parts."""
        pairs = zip(self.sums, other.sums, strict=True)
        return Squares(tuple(None if one is None or another is None else one + another for one, another in pairs))


def costs_of(parts: Partitions, on: TreeOnParts, tree: Added, reference: Added) -> tuple[float, float]:
    """Return the k-means cost of the tree's partition and of the clustering, each around its own means, in one pass.

    `tree` is what `count_tree` gave, `reference` what `sum_reference` gave.
    """
    grid, both = on.grids.cluster, (tree, reference)
    tree_means, means = (np.nan_to_num(grid.means(each["cluster"], each["weight"])) for each in both)
    found = parts.map_reduce(_cost_part, (on, tree_means, means))
    of_tree, of_reference = (
        cost_of_squares(squares, grid, each["cluster"], each["weight"])
        for squares, each in zip(found.sums, both, strict=True)
    )
    return of_tree, of_reference


def _cost_part(part: Part, state: tuple[TreeOnParts, NDArray[np.float64], NDArray[np.float64]]) -> Squares:
    on, tree_means, means = state
    rows = on.encode(part)
    labels = on.tree.predict(rows.matrix), reference_labels(rows, on.centers)
    grid, around = on.grids.cluster, zip(labels, (tree_means, means), strict=True)
    return Squares(tuple(squares_around(grid, rows.X_cluster, each, points, rows.weight) for each, points in around))


def measured_of(
    found: Added, costs: tuple[float, float], on: TreeOnParts, head: Table, means: NDArray[np.float64]
) -> Measured:
    """Return what `assemble_rules` takes, from both passes.

    `head` has the ends and categories of all rows, `means` those of every cluster in the model columns.
    """
    sums = found["weight"]
    numbers = {
        # Side by side, so that products add up as for a whole table.
        column.source: (np.ascontiguousarray(means[:, j]), head.columns[column.source].ends)
        for j, column in enumerate(on.encode.encoder.columns)
        if column.kind == "number"
    }
    cells = {index: found[f"values {index}"] for index in on.values}
    columns, profiles = describe_columns(head, numbers, cells, sums)
    agreed, precision, recall = agreement_of_pairs(found["pair weights"])
    return Measured(
        columns,
        profiles,
        found["rows"],
        sums,
        *costs,
        agreed,
        precision,
        recall,
        found["pair weights"] if on.weighted else found["pairs"],
        on.bins,
        [found[f"bins {index}"] for index in on.bins],
    )

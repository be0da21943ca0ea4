"""The rows that a tree is grown from and the centers that it explains: validated, equal rows merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules._kernel import GrowthInput, Ranges
from shallowrules.errors import DataError, OptionError
from shallowrules.trees.tree import LEAF

__all__ = ["MAX_CENTERS", "ExplainedRows", "GrowthData", "UniqueRows", "check_range", "find_unique_rows"]

MAX_CENTERS = 25_000
"""Codes have 16 bits: room for two for each center, and for those of the bins between them."""
MAX_ROWS = 2**31 - 1
"""The kernel numbers rows in 32 bits."""
MAX_VALUE = 1e150
"""Squares of larger numbers, summed over columns, may exceed a float64."""


@dataclass(frozen=True, eq=False)
class GrowthData:
    """A table, and the centers that a tree over it should explain.

    Parameters
    ----------
    X_explain : ndarray of float32 or float64, shape (n_rows, d)
        Columns that are cut, finite. Any strides; neither this nor `X_cluster` is copied.
    X_cluster : ndarray of float32 or float64, shape (n_rows, m)
        Space of the distances; the same object where there is one space.
    explain_centers : ndarray of float64, shape (k, d)
    cluster_centers : ndarray of float64, shape (k, m)
        At most `MAX_CENTERS` of them.
    weight : ndarray of float64, shape (n_rows,), or None
        Not negative, not all 0. Rows of weight 0 do not count; a row of weight w stands for w equal rows.
    explain_ranges, cluster_ranges : Ranges, optional
        Those of the columns of `X_explain` and `X_cluster`, or wider ones, where they are known.
    path_sides : ndarray of uint8, shape (d,), optional
        Where the rows are those of a node of a larger tree, as in `GrowthInput`.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    explain_centers: NDArray[np.float64]
    cluster_centers: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    explain_ranges: Ranges | None = None
    cluster_ranges: Ranges | None = None
    path_sides: NDArray[np.uint8] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, those of weight 0 included."""
        return len(self.X_explain)

    @property
    def k(self) -> int:
        """Number of centers."""
        return len(self.cluster_centers)

    @property
    def total_weight(self) -> float:
        """Summed weight of the rows."""
        return float(self.n_rows if self.weight is None else self.weight.sum())


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """The distinct rows of positive weight: the kernel's rows.

    Attributes
    ----------
    data : GrowthData
        The table that they are of.
    first : ndarray of int32, shape (n_unique,)
        A row of the table for each.
    group : ndarray of int32, shape (n_rows,), or None
        The distinct row of each row, -1 for weight 0; None where all rows are distinct.
    order : ndarray of int32, shape (n_unique,)
        A copy of `first` that the kernel reorders, and `weight` alike.
    weight : ndarray of float64, shape (n_unique,), or None
        Summed weights; None where all are equal.
    labels : ndarray of int32, shape (n_unique,), or None
        The given center of each.
    """

    data: GrowthData
    first: NDArray[np.int32]
    group: NDArray[np.int32] | None
    order: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    labels: NDArray[np.int32] | None

    @property
    def total_weight(self) -> float:
        """Summed weight of the rows as the kernel counts it: where all weights are equal, it counts rows."""
        return float(len(self.order) if self.weight is None else self.weight.sum())

    def own_centers(self) -> NDArray[np.int32]:
        """Return the center of each distinct row: the given one, else the nearest. The kernel may reorder them."""
        if self.labels is not None:
            return self.labels.copy()
        return _kernel.nearest_centers(self.data.X_cluster, _contiguous(self.data.cluster_centers), self.first)[0]

    def kernel_input(self, distances: NDArray[np.float64] | None = None) -> GrowthInput:
        """Return the kernel's arguments for growing a tree; `distances` as for `grow`."""
        data = self.data
        centers = _contiguous(data.explain_centers), _contiguous(data.cluster_centers)
        table = data.X_explain, data.X_cluster, self.order, self.weight
        return GrowthInput(*table, *centers, data.explain_ranges, data.path_sides, distances=distances)

    def leaf_of_rows(
        self, leaves: NDArray[np.intp], begins: NDArray[np.integer], ends: NDArray[np.integer]
    ) -> NDArray[np.int32]:
        """Return the leaf of every row of the table, -1 for weight 0; the rows of a leaf are contiguous in `order`."""
        leaf_of = np.full(self.data.n_rows, LEAF, dtype=np.int32)
        for leaf, begin, end in zip(leaves, begins, ends, strict=True):
            leaf_of[self.order[begin:end]] = leaf
        if self.group is not None:
            leaf_of = np.where(self.group >= 0, leaf_of[self.first[self.group]], np.int32(LEAF))
        return leaf_of


@dataclass(frozen=True, eq=False)
class ExplainedRows:
    """The rows that the greedy tree was grown from, and the unrestricted clustering that trees are measured against.

    Attributes
    ----------
    unique : UniqueRows
    reference_cost : float
        Cost of the clustering.
    reference_labels : ndarray of int32, shape (n_rows,)
        Its clusters: by them the leaves of a tree are numbered again, so that each keeps the number of the cluster that
        most of its weight is from.
    """

    unique: UniqueRows
    reference_cost: float
    reference_labels: NDArray[np.int32]

    @property
    def data(self) -> GrowthData:
        """The table that the rows are of, and its centers."""
        return self.unique.data


def find_unique_rows(data: GrowthData, assigned: NDArray[np.int32] | None = None, n_threads: int = 1) -> UniqueRows:
    """Validate a table and merge its equal rows.

    Parameters
    ----------
    data : GrowthData
    assigned : ndarray of int32, shape (n_rows,), optional
        The given center of each row; rows of different centers are not equal.
    n_threads : int

    Raises
    ------
    DataError
        If costs cannot be computed in float64, or there are too many rows.
    OptionError
        If there are too many centers.
    """
    if data.k > MAX_CENTERS:
        raise OptionError(f"{data.k:,} clusters are more than the {MAX_CENTERS:,} that a tree can have")
    if data.n_rows > MAX_ROWS:
        raise DataError(f"{data.n_rows:,} rows are more than the {MAX_ROWS:,} that can be grown at once; take a sample")
    ranges = data.cluster_ranges or _kernel.column_ranges(data.X_cluster)
    check_range(*ranges, data.cluster_centers, 0.0 if data.weight is None else float(data.weight.sum()))
    labels = None if assigned is None else np.ascontiguousarray(assigned, dtype=np.int32)
    weight = data.weight
    first, group = _kernel.deduplicate(data.X_explain, data.X_cluster, weight, labels, n_threads)
    if group is None:
        merged = None if weight is None or _all_equal(weight) else weight.copy()
    else:
        inside = group >= 0
        merged = np.bincount(group[inside], None if weight is None else weight[inside], len(first)).astype(np.float64)
        if _all_equal(merged):
            merged = None
    return UniqueRows(data, first, group, first.copy(), merged, None if labels is None else labels[first])


def _all_equal(weight: NDArray[np.float64]) -> bool:
    """Whether weights change nothing: scaling them all scales every cost alike."""
    return bool((weight == weight[0]).all())


def _contiguous(centers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(centers, dtype=np.float64)


def check_range(
    low: NDArray[np.float64], high: NDArray[np.float64], cluster_centers: NDArray[np.float64], total_weight: float
) -> None:
    """Refuse clustered values from `low` to `high` whose squared distances overflow, or whose weighted sums do."""
    widest = max(float(-low.min()), float(high.max()), float(np.abs(cluster_centers).max()))
    if widest > MAX_VALUE:
        raise DataError(f"the table holds values as large as {widest:.1e}: squared distances overflow; rescale it")
    if total_weight and total_weight > MAX_VALUE**2 / max(widest, 1.0) ** 2:
        raise DataError(
            f"the table holds values as large as {widest:.1e}, and weights that sum to {total_weight:.1e}: sums of "
            "squared distances overflow; divide the weights by a constant"
        )

"""The tree as frozen parallel arrays, in the units of the explained columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LEAF", "Tree"]

LEAF = -1
"""Marks "no feature", "no child" and "no cluster" in the arrays of a `Tree`."""


@dataclass(frozen=True, eq=False)
class Tree:
    """An axis-aligned binary tree: node 0 is the root, children follow their parent.

    Parameters
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        Column that the node tests; ``LEAF`` at a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        A row goes left if and only if ``x[feature] <= threshold``; 0 at a leaf.
        In the units of the explained column.
    left, right : ndarray of int32, shape (n_nodes,)
        Children; ``LEAF`` at a leaf.
    cluster : ndarray of int32, shape (n_nodes,)
        Index of the reference center whose cluster the leaf carries; ``LEAF`` at inner nodes.
    rows : ndarray of int64, shape (n_nodes,)
        Training rows that reach the node.
    weight : ndarray of float64, shape (n_nodes,)
        Their summed weight (equal to `rows` where no weights were given).
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    cluster: NDArray[np.int32]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name).setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, array in state.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return f"Tree({self.n_leaves} leaves, depth {self.max_depth})"

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Node ids of the leaves, ascending, shape (n_leaves,)."""
        return np.flatnonzero(self.feature == LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == LEAF))

    @property
    def depth(self) -> NDArray[np.int32]:
        """Edges from the root to each node, shape (n_nodes,)."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in np.flatnonzero(self.feature != LEAF):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depth.max())

    @property
    def explanation_size(self) -> NDArray[np.int32]:
        """Distinct (feature, direction) pairs on the path to each node, shape (n_nodes,).

        At a leaf this is the size of its explanation, the non-redundant conditions
        of the paper's section 1.1.
        """
        size = np.zeros(self.n_nodes, dtype=np.int32)
        edges: list[frozenset[tuple[int, bool]]] = [frozenset()] * self.n_nodes
        for node in np.flatnonzero(self.feature != LEAF):
            for child, goes_left in ((self.left[node], True), (self.right[node], False)):
                edges[child] = edges[node] | {(int(self.feature[node]), goes_left)}
                size[child] = len(edges[child])
        return size

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            The explained columns. Values are compared as float64 (integers exactly),
            whatever the dtype.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
            Node ids; -1 where a value that the row's path tests is missing (NaN).
        """
        X = np.asarray(X)
        leaf = np.full(len(X), LEAF, dtype=np.int32)
        pending = [(0, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            if self.feature[node] == LEAF:
                leaf[rows] = node
            elif len(rows):
                values = X[rows, self.feature[node]]
                goes_left, goes_right = compare(values, float(self.threshold[node]))
                pending.append((int(self.left[node]), rows[goes_left]))
                pending.append((int(self.right[node]), rows[goes_right]))
        return leaf

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the cluster of each row, -1 where a value that its path tests is missing."""
        leaf = self.apply(X)
        return np.where(leaf == LEAF, np.int32(LEAF), self.cluster[leaf])


def compare(values: NDArray[Any], bound: int | float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return ``values <= bound`` and ``values > bound`` without a rounding of either side.

    Floats narrower than 64 bits are widened (NumPy would narrow `bound` instead) and integers
    are compared as integers, so that values beyond 2**53 keep their neighbours. For floats an integer
    that no float holds gives way to the next float below, which parts them alike. Both
    answers are False for NaN.
    """
    if values.dtype.kind in "iu":
        whole = math.floor(bound)
        info = np.iinfo(values.dtype)
        if whole < info.min:
            below = np.zeros(len(values), dtype=bool)
        elif whole >= info.max:
            below = np.ones(len(values), dtype=bool)
        else:
            below = values <= values.dtype.type(whole)
        return below, ~below
    values = values.astype(np.float64, copy=False)
    nearest = float(bound)
    if nearest > bound:
        nearest = math.nextafter(nearest, -math.inf)
    return values <= nearest, values > nearest

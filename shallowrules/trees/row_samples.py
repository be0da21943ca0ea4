"""Rows of a table that represent all of it when trees are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.centers import sample_of_rows
from shallowrules.partitions.merging import Run
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.tree import LEAF

__all__ = ["RowSample"]


@dataclass(frozen=True, eq=False)
class RowSample:
    """Distinct rows of a table: all of them, or some that are chosen by their values.

    Parameters
    ----------
    matrix : ndarray of float, shape (n_rows, n_model_columns)
    X_cluster : ndarray of float, shape (n_rows, m)
    weight : ndarray of float64, shape (n_rows,)
        Of all rows that are equal to each.
    """

    matrix: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, run: Run, encode: Callable[[Any], Any], n_columns: int) -> RowSample:
        """Return the sample of a table or of its parts, with a given number of model columns."""
        found = sample_of_rows(run, encode, _both)
        return cls(found.rows[:, :n_columns], found.rows[:, n_columns:], found.weight)

    def taken(self, places: slice) -> RowSample:
        """Return the rows at some places."""
        return RowSample(*(np.ascontiguousarray(each[places]) for each in (self.matrix, self.X_cluster, self.weight)))

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        X = self.X_cluster.astype(np.float64, copy=False)
        return np.asarray((X * X).sum(axis=1))

    def distances(self, labels: NDArray[np.int32], k: int) -> NDArray[np.float64]:
        """Return the squared distance of each row to the mean of each of k clusters; large where that is missing."""
        X, size = self.X_cluster.astype(np.float64, copy=False), np.bincount(labels, self.weight, k)
        sums = np.zeros((k, X.shape[1]))
        np.add.at(sums, labels, X * self.weight[:, None])
        means = sums / np.where(size > 0, size, 1.0)[:, None]
        found = self._squares[:, None] - 2 * X @ means.T + (means * means).sum(axis=1)
        return np.asarray(np.where(size > 0, np.maximum(found, 0.0), found.max()))

    def leaves(self, tree: GrownTree, node: int, rows: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the leaf that some rows reach from a node."""
        found = np.empty(len(rows), np.int32)
        for each, places in self._reached(tree, node, rows):
            if tree.feature[each] == LEAF:
                found[places] = each
        return found

    def reaching(self, tree: GrownTree, node: int) -> NDArray[np.intp]:
        """Return the rows that reach a node."""
        every = np.arange(len(self.matrix))
        return next(rows for each, rows in self._reached(tree, 0, every) if each == node)

    def _reached(self, tree: GrownTree, node: int, rows: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield a node and each node below it, with the places of the rows that reach it."""
        pending = [(node, np.arange(len(rows)))]
        while pending:
            each, places = pending.pop()
            yield each, places
            if tree.feature[each] != LEAF:
                left = self.matrix[rows[places], tree.feature[each]] <= tree.cut[each]
                pending += [(int(tree.left[each]), places[left]), (int(tree.right[each]), places[~left])]


def _both(rows: Any) -> NDArray[Any]:
    """Return the model columns and the clustered columns of encoded rows."""
    return np.hstack([rows.matrix, rows.X_cluster])

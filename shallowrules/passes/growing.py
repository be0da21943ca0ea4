"""The tree over parts: the numbers that rules may test are collected from all parts, and the kernel grows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules import growing
from shallowrules.errors import DataError
from shallowrules.growing import GrownTree, GrowthData, Progress, find_unique_rows
from shallowrules.partitions import Part, Partitions
from shallowrules.passes.rows import RowEncoder

__all__ = ["collect_rows", "grow_collected", "refuse_too_many"]

WORKING_SHARE = 4
"""Memory that collecting, sorting and growing take, in sizes of the collected numbers."""


@dataclass(frozen=True, eq=False)
class Collected:
    """The rows that count, in the order in which their parts came; the tree does not depend on it."""

    X_explain: tuple[NDArray[Any], ...]
    X_cluster: tuple[NDArray[Any], ...] | None
    weight: tuple[NDArray[np.float64], ...] | None

    def merged(self, other: Collected) -> Collected:
        """Return the rows of both parts."""
        return Collected(
            self.X_explain + other.X_explain,
            None if self.X_cluster is None else self.X_cluster + (other.X_cluster or ()),
            None if self.weight is None else self.weight + (other.weight or ()),
        )


def refuse_too_many(n_rows: int, n_numbers: int, itemsize: int, memory: int | None) -> None:
    """Raise DataError if the numbers of all rows are more than the memory holds while a tree is grown."""
    needed = WORKING_SHARE * n_rows * (n_numbers * itemsize + 8)
    if memory is not None and needed > memory:
        raise DataError(
            f"growing a tree over {n_rows:,} rows of {n_numbers} numbers takes about {needed / 1e9:,.1f} GB, and there "
            f"are {memory / 1e9:,.1f} GB: let rules test fewer columns (explain_columns), or take a sample of the rows"
        )


def collect_rows(
    parts: Partitions, encode: RowEncoder
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
    """Return `X_explain`, `X_cluster` and the weights of all rows that count, in one pass."""
    found = parts.map_reduce(_collect_part, encode)
    X_explain = _stacked(found.X_explain)
    X_cluster = X_explain if found.X_cluster is None else _stacked(found.X_cluster)
    return X_explain, X_cluster, None if found.weight is None else np.concatenate(found.weight)


def _stacked(blocks: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Return blocks of rows as one matrix whose columns are contiguous, as the encoder makes it."""
    matrix = np.empty((sum(map(len, blocks)), blocks[0].shape[1]), blocks[0].dtype, order="F")
    first = 0
    for block in blocks:
        matrix[first : first + len(block)] = block
        first += len(block)
    return matrix


def _collect_part(part: Part, encode: RowEncoder) -> Collected:
    rows = encode(part)
    one = rows.X_cluster is rows.X_explain
    weight = None if rows.weight is None else (rows.weight,)
    return Collected((rows.X_explain,), None if one else (rows.X_cluster,), weight)


def grow_collected(
    collected: tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None],
    explain_centers: NDArray[np.float64],
    centers: NDArray[np.float64],
    *,
    method: str,
    tradeoff: float,
    n_threads: int,
    progress: Progress | None,
) -> GrownTree:
    """Return the tree that follows the centers; its features are columns of `X_explain`."""
    X_explain, X_cluster, weight = collected
    unique = find_unique_rows(GrowthData(X_explain, X_cluster, explain_centers, centers, weight), None, n_threads)
    return growing.grow(unique, method=method, tradeoff=tradeoff, n_threads=n_threads, progress=progress)

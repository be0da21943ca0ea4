"""Samples of coded tables: some rows of each cluster, weighted so that the clusters keep their weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import (
    CodedRows,
)
from shallowrules.trees.coded_table import CodedTable, codes_of, key_order

__all__ = [
    "BROAD_ROWS",
    "MAX_IMPROVED_ROWS",
    "SAMPLE_MARGIN",
    "SAMPLE_ROWS",
    "TINY",
    "broad_sizes",
    "few_of",
    "highest_keys",
    "sample_of",
    "sampled",
    "some_of",
]

SAMPLE_ROWS = 4096
"""About how many distinct rows the search for trees uses. On 8,000 or 16,000 rows, or all, avila and letter gain no
more, and it takes longer."""
SAMPLE_MARGIN = 1.25
"""A table of at most this multiple of these rows is not sampled."""
BROAD_ROWS = 32768
"""Distinct rows of a large table on which the best trees of the sample are judged and improved. Not tuned."""
MIN_CLUSTER_ROWS = 32
"""Rows of each cluster in the sample, at least, if it has them, so that a small one is not lost. Not tuned."""
MAX_IMPROVED_ROWS = 1 << 16
"""Tables of more distinct rows are searched by a part of their rows, and only measured whole."""
TINY = 1e-300


def sample_of(table: CodedTable) -> CodedTable:
    """Return some rows of each cluster, weighted so that the clusters keep their weight; `table` if it is small.

    They are spread evenly over the column of the largest variance, rows of equal values there in the order of their
    keys, so the order of the table does not matter.
    """
    n_rows, X_cluster = len(table.rows), table.coded.X_cluster
    if n_rows <= SAMPLE_MARGIN * SAMPLE_ROWS:
        return table
    widest = int(np.argmax(np.var(X_cluster[table.rows[:: max(1, n_rows // SAMPLE_ROWS)]], axis=0)))
    order = np.lexsort((table.keys, X_cluster[table.rows, widest], table.labels))
    counts = table.counts
    sizes = np.minimum(counts, cluster_sizes(counts, SAMPLE_ROWS))
    first = np.cumsum(counts) - counts
    places = [order[first[c] + np.arange(sizes[c]) * counts[c] // sizes[c]] for c in np.flatnonzero(counts)]
    return _part(table, np.concatenate(places))


def few_of(table: CodedTable) -> CodedTable:
    """Return `BROAD_ROWS` rows of a large table, those of the lowest keys in each cluster, weighted as by `sample_of`.

    All rows are examined, and few are sorted.
    """
    counts = table.counts
    sizes = np.minimum(counts, broad_sizes(table.leaf_weights))
    low = np.flatnonzero(table.keys <= highest_keys(sizes, counts)[table.labels])
    found = np.bincount(table.labels[low], minlength=len(counts))
    if (found < sizes).any():  # many rows have one key
        low, found = np.arange(len(table.keys)), counts
    low = low[key_order(table.keys[low], table.coded.X_explain, table.rows[low], table.labels[low])]
    first = np.cumsum(found) - found
    return _part(table, np.concatenate([low[first[c] : first[c] + sizes[c]] for c in np.flatnonzero(counts)]))


def broad_sizes(weights: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many rows of each cluster of a large table the search uses, if it has enough, by its weight."""
    return cluster_sizes(weights, BROAD_ROWS)


def highest_keys(sizes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return for each cluster a key below which a given number of its distinct rows almost certainly are."""
    share = np.minimum((sizes + 6 * np.sqrt(sizes) + 6) / np.maximum(counts, 1), 1.0)
    highest: NDArray[np.uint64] = np.ldexp(share, 64).clip(max=2.0**64 - 2048).astype(np.uint64)
    highest[share == 1.0] = np.iinfo(np.uint64).max
    return highest


def some_of(table: CodedTable, n_rows: int) -> CodedTable:
    """Return about this many rows at even distances, weighted as by `sample_of`; `table` itself if it has no more."""
    step = -(-len(table.rows) // n_rows)
    return table if step == 1 else _part(table, np.arange(0, len(table.rows), step))


def cluster_sizes(weights: NDArray[Any], n_sampled: int) -> NDArray[np.int64]:
    """Return how many rows of each cluster a sample has, if there are enough."""
    shares = np.round(n_sampled * weights / weights.sum()).astype(np.int64)
    return np.where(weights > 0, np.maximum(MIN_CLUSTER_ROWS, shares), 0)


def _part(table: CodedTable, places: NDArray[np.intp]) -> CodedTable:
    """Return the rows at some places, weighted so that the clusters keep their weight."""
    coded, labels = table.coded, table.labels[places]
    rows = table.rows[places]
    X_explain = np.ascontiguousarray(coded.X_explain[rows])
    X_cluster = X_explain if coded.X_cluster is coded.X_explain else np.ascontiguousarray(coded.X_cluster[rows])
    own = np.ones(len(places)) if table.weight is None else table.weight[places]
    codes = (coded.codes[places], coded.single_valued) if coded.codes.size else None
    return sampled(X_explain, X_cluster, table.keys[places], labels, own, table.leaf_weights, table.n_threads, codes)


def sampled(
    X_explain: NDArray[Any],
    X_cluster: NDArray[Any],
    keys: NDArray[np.uint64],
    labels: NDArray[np.int32],
    own: NDArray[np.float64],
    totals: NDArray[np.float64],
    n_threads: int,
    codes: tuple[NDArray[np.uint16], NDArray[np.uint8]] | None = None,
) -> CodedTable:
    """Return rows of a table as a table, weighted so that the clusters keep their weight.

    Parameters
    ----------
    X_explain, X_cluster : ndarray of float32 or float64, shapes (r, d) and (r, m)
        Distinct rows, contiguous.
    keys, labels
        As in `CodedTable`.
    own : ndarray of float64, shape (r,)
        The weight that each has in the table.
    totals : ndarray of float64, shape (k,)
        The weight of each cluster there.
    n_threads : int
    codes : tuple of ndarray, optional
        Codes of the rows, and which have one value; by default found again.
    """
    slots = np.arange(len(labels), dtype=np.int32)
    scale = totals / np.maximum(np.bincount(labels, own, len(totals)), TINY)
    weight = own * scale[labels]
    equal = None if (weight == weight[0]).all() else weight  # all costs are scaled alike
    codes = codes_of(X_explain, slots, n_threads) if codes is None else codes
    return CodedTable(CodedRows(X_explain, X_cluster, slots, equal, *codes), keys, labels, n_threads)

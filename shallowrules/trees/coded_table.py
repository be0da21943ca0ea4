"""Coded tables: distinct rows in the form that the kernel takes, to measure, improve and perturb trees on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import (
    CodedRows,
    encode,
    improve_tree,
    perturb_tree,
    row_keys,
    split_leaves,
)
from shallowrules.trees.candidates import Candidate, Goal, SearchObjective
from shallowrules.trees.grown_tree import CutTree, GrownTree, preordered, without_gaps
from shallowrules.trees.growth_data import UniqueRows
from shallowrules.trees.progress import Progress

__all__ = [
    "MAX_PASSES",
    "MAX_ROWS_BESIDE",
    "MAX_VISITED_VALUES",
    "Coded",
    "CodedTable",
    "code_rows",
    "coded_table",
    "codes_of",
    "is_coded_beside",
    "key_order",
]

LEAF_SHARE, MIN_STEP, MAX_RISE = 0.6, 1e-4, 0.3
"""The share of random changes that move a leaf; the least share of the objective that a step of a repair
must gain; and the largest share by which a change that is repaired may raise it. Shares of leaf moves from 0.3 to 0.9,
steps from 1e-9 to 3e-4 and rises from 0.3 on gain the same within the differences between seeds; a rise of 0.1 gains
0.1% less on some tables."""
N_KEPT = 2
"""Trees of such a search that are judged on all rows where it had a sample: the best one after each of this many parts
of the work. Later ones fit the sample closer, and not always the table."""
MAX_BINS = 512
"""Cuts of a node are searched between this many bins of a feature, then within the best bin. Not tuned."""
MAX_PASSES, MAX_VISITED_VALUES = 40.0, 1.5e7
"""An improvement visits all rows at most `MAX_PASSES` times, and at most `MAX_VISITED_VALUES` values in all, but
at least twice. With 3e7, ten tables of 100,000 x 50 gain 0.03% more, and a fit takes 5% longer; of 10 columns, nothing
changes."""
MAX_SORTED_ROWS = 1 << 16
"""Tables of at most this many distinct rows are summed in an order that does not depend on theirs. A bound on the work
of sorting; not tuned."""
MAX_ROWS_BESIDE = 32767
"""Tables of at most this many rows are searched by parallel tasks, each with one thread."""


def _without_gaps(found: dict[str, Any]) -> Candidate:
    """Return a tree from the kernel, whose gaps were not looked for."""
    return Candidate(without_gaps(found), found["after"], False)


def _arrays(tree: CutTree) -> dict[str, NDArray[Any]]:
    """Return the arrays of a tree that the kernel takes."""
    return {name: getattr(tree, name) for name in ("feature", "left", "right", "center", "cut")}


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Distinct rows, and their codes in the explained columns.

    Attributes
    ----------
    coded : CodedRows
        Without codes trees can only be measured.
    keys : ndarray of uint64, shape (r,)
        Numbers that look random and tell nothing but the values of a row.
    labels : ndarray of int32, shape (r,)
        The leaf of each row in the greedy tree, as its center.
    n_threads : int
    """

    coded: CodedRows
    keys: NDArray[np.uint64]
    labels: NDArray[np.int32]
    n_threads: int

    @property
    def rows(self) -> NDArray[np.int32]:
        """Distinct rows of the table."""
        return self.coded.rows

    @property
    def weight(self) -> NDArray[np.float64] | None:
        """Their weight, None where all are equal."""
        return self.coded.weight

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each leaf, by its center."""
        return np.bincount(self.labels)

    @cached_property
    def leaf_weights(self) -> NDArray[np.float64]:
        """Their summed weight."""
        weights = self.counts if self.weight is None else np.bincount(self.labels, self.weight)
        return weights.astype(np.float64)

    @property
    def total_weight(self) -> float:
        """Their summed weight, as the kernel counts it."""
        return float(len(self.rows) if self.weight is None else self.weight.sum())

    def normalized(self, found: Candidate, aim: SearchObjective) -> tuple[float, float]:
        """Return the normalized cost and the WAES of a tree that was measured on these rows."""
        weight = self.total_weight
        return found.figures[0] / (aim.unit * weight / aim.weight), found.figures[1] / weight

    @property
    def alone(self) -> CodedTable:
        """The same rows for one thread, for searches that run side by side."""
        return replace(self, n_threads=1)

    def measure(self, tree: CutTree, aim: SearchObjective) -> Candidate:
        """Return a tree, whose every leaf has some of these rows, with its gaps and figures on them."""
        return replace(self._improve(tree, aim, 0.0, None), bound_reached=False)

    def improve(self, tree: CutTree, aim: SearchObjective, progress: Progress | None = None) -> Candidate:
        """Improve a tree whose every leaf has some of these rows."""
        max_passes = min(MAX_PASSES, max(2.0, MAX_VISITED_VALUES / self.coded.codes.size))
        return self._improve(tree, aim, max_passes, progress)

    def _improve(self, tree: CutTree, aim: SearchObjective, max_passes: float, progress: Progress | None) -> Candidate:
        found = improve_tree(
            self.coded,
            _arrays(tree),
            condition_penalty=aim.penalty,
            max_passes=max_passes,
            moves_leaves=aim.moves_leaves,
            n_clusters=aim.n_clusters,
            n_threads=self.n_threads,
            progress=progress,
        )
        return Candidate(preordered(found), found["after"], found["ended"])

    def perturb(
        self,
        tree: CutTree,
        aim: SearchObjective,
        seed: int,
        passes: float,
        progress: Progress | None = None,
        goal: Goal | None = None,
    ) -> list[Candidate]:
        """Search locally for a better tree, with perturbations; return the best ones on the way, the last one first.

        Under a goal, better means better within its bound, not of lower J.
        """
        weight = self.total_weight
        found = perturb_tree(
            self.coded,
            _arrays(tree),
            condition_penalty=aim.penalty,
            max_passes=passes,
            moves_leaves=aim.moves_leaves,
            n_clusters=aim.n_clusters,
            seed=seed,
            n_trees=N_KEPT,
            settings=(LEAF_SHARE, MIN_STEP, MAX_RISE),
            progress=progress,
            goal=None if goal is None else (goal.kind, goal.bound, aim.unit * weight / aim.weight, weight),
        )
        return [_without_gaps(one) for one in reversed(found)]

    def split(
        self, tree: CutTree, aim: SearchObjective, n_leaves: int, progress: Progress | None = None
    ) -> list[Candidate]:
        """Split leaves of a tree, for other clusters, up to a given number; return the tree after each split."""
        found = split_leaves(
            self.coded,
            _arrays(tree),
            n_clusters=aim.n_clusters,
            n_leaves=min(n_leaves, len(self.rows)),
            condition_penalty=aim.penalty,
            progress=progress,
        )
        return [_without_gaps(one) for one in found]

    def leaf_of_rows(self, tree: CutTree) -> NDArray[np.int32]:
        """Return the leaf of each row."""
        return tree.route(self.coded.X_explain, self.n_threads)[self.rows]


Coded = tuple[CodedRows, NDArray[np.uint64]]
"""The rows of a table with their codes, and their keys."""


def is_coded_beside(unique: UniqueRows, n_threads: int) -> bool:
    """Return whether a table may be coded while its tree is grown, which leaves a thread free and its rows in place."""
    return n_threads > 1 and unique.weight is None and len(unique.first) <= MAX_ROWS_BESIDE


def code_rows(unique: UniqueRows, n_threads: int, *, with_codes: bool) -> Coded:
    """Return the rows of a table, their codes and their keys; small tables in the order of the keys."""
    weight, data = unique.weight, unique.data
    rows = unique.first if weight is None else unique.order  # weights are in the kernel's order; the table's is faster
    keys = row_keys(data.X_cluster, rows, n_threads)
    if len(keys) <= MAX_SORTED_ROWS:
        order = key_order(keys, data.X_explain, rows, np.zeros(len(keys), np.int8))
        rows, keys, weight = rows[order], keys[order], None if weight is None else weight[order]
    if with_codes:
        codes, single_valued = codes_of(data.X_explain, rows, n_threads)
    else:
        codes, single_valued = np.empty((0, 0), np.uint16), np.zeros((data.X_explain.shape[1], 1), np.uint8)
    return CodedRows(data.X_explain, data.X_cluster, rows, weight, codes, single_valued), keys


def coded_table(coded: Coded, tree: GrownTree, n_threads: int) -> CodedTable:
    """Return the rows of a table for the search; `tree` is the greedy one."""
    rows, keys = coded
    return CodedTable(rows, keys, tree.labels[rows.rows], n_threads)


def key_order(
    keys: NDArray[np.uint64], X_explain: NDArray[Any], rows: NDArray[np.integer], labels: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Return the order of some rows by their labels and keys; rows with the same key by their explained columns."""
    order = np.lexsort((keys, labels))
    in_order, label_of = keys[order], labels[order]
    is_next = (in_order[1:] == in_order[:-1]) & (label_of[1:] == label_of[:-1])
    if is_next.any():  # they differ in columns other than the clustered ones
        tied = np.zeros(len(order), dtype=bool)
        tied[1:] = is_next
        run = np.cumsum(~tied)
        tied[:-1] |= is_next
        places = np.flatnonzero(tied)
        among = order[places]
        order[places] = among[np.lexsort((*X_explain[rows[among]].T[::-1], run[places]))]
    return order


def codes_of(
    X_explain: NDArray[Any], rows: NDArray[np.int32], n_threads: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the codes of rows, and which codes have one value."""
    some_center = X_explain[rows[:1]].astype(np.float64)  # `encode` wants one
    codes, _, _, single_valued, _ = encode(X_explain, rows, some_center, n_threads, ranks=MAX_BINS)
    return np.ascontiguousarray(codes.T), single_valued

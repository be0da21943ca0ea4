"""Searching: trees of lower J, found on a table's rows or on a sample of them.

A table is in the form that the kernel takes: its distinct rows and their codes. `refining` decides in which order trees
are searched for, and which one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import (
    CodedRows,
    GrowthInput,
    encode,
    grow_ahead,
    grow_data_tree,
    improve_tree,
    perturb_tree,
    row_keys,
    split_leaves,
)
from shallowrules.measures.summation import group_means
from shallowrules.trees.growing import CutTree, GrownTree, GrowthData, Progress, UniqueRows, preordered
from shallowrules.trees.tree import LEAF

__all__ = [
    "BROAD_ROWS",
    "FEW_DATA_VALUES",
    "MAX_IMPROVED_ROWS",
    "MAX_PASSES",
    "MAX_ROWS_BESIDE",
    "MAX_TREES",
    "MAX_VISITED_VALUES",
    "MIN_STREAM_VISITS",
    "N_STREAMS",
    "ONE_ROUND_TREES",
    "PART_STREAM_PASSES",
    "ROUND_FACTORS",
    "SAMPLE_MARGIN",
    "SAMPLE_ROWS",
    "SHORT_STREAM_PASSES",
    "STREAM_PASSES",
    "TIE",
    "WIDER_SHARES",
    "WIDE_ROWS",
    "WIDE_TREES",
    "Candidate",
    "Coded",
    "CodedTable",
    "Goal",
    "SearchObjective",
    "broad_sizes",
    "code_rows",
    "coded_table",
    "different",
    "few_of",
    "from_data",
    "group_centers",
    "grown_ahead",
    "highest_keys",
    "is_coded_beside",
    "key_order",
    "leaf_means",
    "look_ahead",
    "part_of",
    "rounded",
    "sample_of",
    "sampled",
    "side_by_side",
    "some_of",
    "wide_ahead",
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
LOOKAHEAD_LEVELS, LOOKAHEAD_WIDTH = 2, 4
"""On this many levels of the tree, this many cuts of a node are tried. A width of 8, or 3 levels, gains up to 0.08%
more on seven of the tables and takes one to two growths longer; an iterated local search gains as much in a third of
that."""
ROUND_FACTORS = (1.0, 0.6, 1.6)
"""Lookahead trees: factors of the trade-off that proposes cuts. J has the true one. The second and third
start, side by side, from the means of the best tree's leaves: without them letter gains 1.9% instead of 2.8%."""
MAX_TREES, ONE_ROUND_TREES = 6.0, 2.0
"""Such a tree takes at most the work of this many greedy ones on the sample, the only one of a shorter table that of
the second number: the time that it saves gains more in the local search (mice 1.39% instead of 1.14%)."""
WIDE_SHAPE, WIDE_TREES, WIDE_ROWS = (1, 16), 8.0, 1024
"""One more lookahead tree is grown with many cuts of the root, on at most about this many rows of the sample.
Without it diabetes gains 3.2% instead of 4.1%. On so few rows the work of 12 trees gains no more than that of 8, and
that of 6 gains 0.04% to 0.12% less on three of the tables."""
WIDER_TREES, WIDER_ROWS, WIDER_SHARES = 9.5, 2048, 2
"""The lookahead of a larger table that is searched in one round uses more rows, and its cuts are tried in two
searches side by side, of half the work each, which improve the best of theirs. In one, a second thread has nothing to
do for 6 ms of 86 of a fit of digits. On `WIDE_ROWS` digits gains 2.8% instead of 3.3%. With the work of 8 to 10 trees
J is the same within 0.03%. Avila and letter, looked at in three rounds, gain nothing by it."""
DATA_PASSES, MAX_DATA_VALUES = 64.0, 1e7
"""A tree from the data alone visits all rows of the sample at most this many times; in a wide table, only the columns
that separate the clusters best are cut, so that a visit takes no more sums than this. Not tuned."""
WHOLE_DATA_CLUSTERS, FEW_DATA_ROWS, FEW_DATA_VALUES = 30, 512, 1e6
"""For fewer clusters that tree is grown on `WIDE_ROWS` rows, or on that many of a longer table, and a visit takes no
more sums than this: on the tables tried it is then never the best start, and on all rows a fit of digits takes a third
longer."""
MIN_RANKS, MAX_RANKS, RANK_ROWS = 64, 256, 8
"""The lookahead tries cuts between this many bins of a feature: one for every `RANK_ROWS` rows, within these bounds. On
few rows 256 bins take one to two growths longer and gain the same; of many, avila gains 0.6% with 64, instead of
1.5%."""
STREAM_PASSES, SHORT_STREAM_PASSES, MIN_STREAM_VISITS = 75.0, 42.0, 28e3
"""An iterated local search visits all rows of the sample at most this many times: the first number as a rule; the
second for a table that is searched in one round, where a visit is a larger part of a growth. For a very small table it
goes on until it has visited the third number of rows in all."""
PART_STREAM_PASSES = 31.0
"""The same for a table of which a part is searched. With 62, 22 tables of 100,000 rows gain 0.01% more, and a fit takes
up to 14% longer."""
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
MAX_IMPROVED_ROWS = 1 << 16
"""Tables of more distinct rows are searched by a part of their rows, and only measured whole."""
N_STREAMS = 2
"""Iterated local searches, each with random numbers of its own: side by side where there are threads. One of
twice the length gains little more."""
MAX_ROWS_BESIDE = 32767
"""Tables of at most this many rows are searched by parallel tasks, each with one thread."""
TINY = 1e-300
TIE = 1e-9
"""Relative difference below which two sums are equal: equal partitions are summed in different orders."""


@dataclass(frozen=True)
class SearchObjective:
    """The objective of a search.

    Attributes
    ----------
    tradeoff : float
        The paper's lambda: what proposes cuts while a tree grows.
    penalty : float
        What a condition of a row of weight 1 costs: ``cost + penalty * conditions`` is J times the reference cost.
    moves_leaves : bool
        Whether a cluster may lose its leaf, and another be cut in two.
    weight : float
        The weight of all rows, as the kernel sums it.
    n_clusters : int
        Where a cluster may have several leaves, all those of its center, how many there are; 0 where each leaf is a
        cluster.
    unit : float
        The reference cost, as the kernel sums it.
    reference_cost : float
        The reference cost itself.
    """

    tradeoff: float
    penalty: float
    moves_leaves: bool
    unit: float
    reference_cost: float
    weight: float
    n_clusters: int = 0

    def objective(self, found: Candidate) -> float:
        """Return J of a tree times the reference cost."""
        return found.figures[0] + self.penalty * found.figures[1]


@dataclass(frozen=True)
class Goal:
    """A bound under which a tree is searched for.

    Attributes
    ----------
    kind : {"length", "cost"}
        "length" bounds the conditions that explain a row on average (WAES), and the tree is to be cheap; "cost" bounds
        the normalized cost, and it is to be short.
    bound : float
    """

    kind: str
    bound: float

    def is_met(self, figures: tuple[float, float]) -> bool:
        """Whether a normalized cost and WAES are within the bound, apart from rounding."""
        return self.bounded(figures) <= self.bound * (1 + TIE)

    def bounded(self, figures: tuple[float, float]) -> float:
        """Return the one of the two that is bounded."""
        return figures[self.kind == "length"]

    def low(self, figures: tuple[float, float]) -> float:
        """Return the one of the two to minimize."""
        return figures[self.kind == "cost"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A tree, with its cost and the conditions of its rows, both summed by weight.

    Attributes
    ----------
    tree : CutTree
    figures : tuple of float
    bound_reached : bool
        Whether the bound on the work ended its improvement.
    from_data : bool
        Whether it was grown from the data alone.
    """

    tree: CutTree
    figures: tuple[float, float]
    bound_reached: bool
    from_data: bool = False

    @property
    def key(self) -> bytes:
        """Equal for equal trees."""
        return b"".join(array.tobytes() for array in (self.tree.feature, self.tree.cut, self.tree.center))

    def no_worse_than(self, other: Candidate) -> bool:
        """Whether it is neither more expensive nor longer."""
        return all(mine <= its * (1 + TIE) for mine, its in zip(self.figures, other.figures, strict=True))


def _without_gaps(found: dict[str, Any]) -> Candidate:
    """Return a tree from the kernel, whose gaps were not looked for."""
    return Candidate(preordered(found | {"lower": found["cut"], "upper": found["cut"]}), found["after"], False)


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
        codes, single_valued = _codes(data.X_explain, rows, n_threads)
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


def _codes(
    X_explain: NDArray[Any], rows: NDArray[np.int32], n_threads: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the codes of rows, and which codes have one value."""
    some_center = X_explain[rows[:1]].astype(np.float64)  # `encode` wants one
    codes, _, _, single_valued, _ = encode(X_explain, rows, some_center, n_threads, ranks=MAX_BINS)
    return np.ascontiguousarray(codes.T), single_valued


def rounded(number: float) -> float:
    """Return a number without its last digits, which depend on the order in which rows were summed."""
    mantissa, exponent = np.frexp(number)
    return float(np.ldexp(np.round(np.ldexp(mantissa, 36)), exponent - 36))


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
    sizes = np.minimum(counts, _sizes(counts, SAMPLE_ROWS))
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
    return _sizes(weights, BROAD_ROWS)


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


def _sizes(weights: NDArray[Any], n_sampled: int) -> NDArray[np.int64]:
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
    codes = _codes(X_explain, slots, n_threads) if codes is None else codes
    return CodedTable(CodedRows(X_explain, X_cluster, slots, equal, *codes), keys, labels, n_threads)


def different(found: list[Candidate], aim: SearchObjective) -> list[Candidate]:
    """Return the distinct trees, those of the lowest J first."""
    by_key = {one.key: one for one in found}
    return sorted(by_key.values(), key=aim.objective)


Centers = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Centers in the explained and in the clustered columns."""


def look_ahead(
    sample: CodedTable,
    tree: GrownTree,
    data: GrowthData,
    aim: SearchObjective,
    factor: float,
    best: Candidate | None,
    max_trees: float,
    progress: Progress | None = None,
) -> list[Candidate]:
    """Grow a lookahead tree on the sample, from the means of the best one's leaves if there is one, and improve it."""
    centers = (data.explain_centers, data.cluster_centers) if best is None else leaf_means(sample, best.tree, data.k)
    shape = LOOKAHEAD_LEVELS, LOOKAHEAD_WIDTH
    return grown_ahead(sample, sample, tree, data, centers, aim, factor, shape, max_trees, progress)


def wide_ahead(
    sample: CodedTable,
    tree: GrownTree,
    data: GrowthData,
    aim: SearchObjective,
    share: int,
    *,
    wider: bool,
    progress: Progress | None = None,
) -> list[Candidate]:
    """Grow a tree for each of many cuts of the root, on some rows of the sample; improve the best on all of these.

    With `wider`, there are more rows, and the cuts are those of one of `WIDER_SHARES` shares.
    """
    centers = data.explain_centers, data.cluster_centers
    n_trees, n_rows, n_shares = (WIDER_TREES, WIDER_ROWS, WIDER_SHARES) if wider else (WIDE_TREES, WIDE_ROWS, 1)
    few, max_trees, cuts = some_of(sample, n_rows), n_trees / n_shares, (share, n_shares)
    return grown_ahead(few, sample, tree, data, centers, aim, 1.0, WIDE_SHAPE, max_trees, progress, cuts)


def from_data(table: CodedTable, k: int, aim: SearchObjective, few_values: float = MAX_DATA_VALUES) -> list[Candidate]:
    """Grow the tree of least cost from the data alone; none if that takes too long.

    It knows neither centers nor conditions: where there are many clusters its cost can be the lowest. Where there are
    few, a visit takes at most `few_values` sums.
    """
    few, max_values = table, MAX_DATA_VALUES
    if k < WHOLE_DATA_CLUSTERS:
        few, max_values = table if len(table.rows) <= WIDE_ROWS else some_of(table, FEW_DATA_ROWS), few_values
    coded, rows = few.coded, few.rows
    features = _telling(few, max(1, int(max_values / (len(rows) * coded.X_cluster.shape[1]))))
    tree = grow_data_tree(
        np.ascontiguousarray(coded.X_explain[np.ix_(rows, features)].T, dtype=np.float64),
        np.ascontiguousarray(coded.X_cluster[rows], dtype=np.float64),
        few.weight,
        k,
        DATA_PASSES,
    )
    if tree is None:
        return []
    tree["feature"] = np.append(features, LEAF).astype(np.int32)[tree["feature"]]
    found = table.measure(preordered(tree | {"lower": tree["cut"], "upper": tree["cut"]}), aim)
    return [replace(found, from_data=True)]


def _telling(table: CodedTable, count: int) -> NDArray[np.intp]:
    """Return the columns that separate the clusters best, ascending, at most `count` of them."""
    X = table.coded.X_explain
    if X.shape[1] <= count:
        return np.arange(X.shape[1])
    X, weight = X[table.rows].astype(np.float64), table.weight
    means = group_means(X, table.labels, int(table.labels.max()) + 1, weight)
    spread, within = (
        np.average((X - middle) ** 2, axis=0, weights=weight)
        for middle in (np.average(X, axis=0, weights=weight), means[table.labels])
    )
    return np.sort(np.argsort(within / np.maximum(spread, TINY), kind="stable")[:count])


def grown_ahead(
    few: CodedTable,
    sample: CodedTable,
    tree: GrownTree,
    data: GrowthData,
    centers: Centers,
    aim: SearchObjective,
    factor: float,
    shape: tuple[int, int],
    max_trees: float,
    progress: Progress | None,
    cuts: tuple[int, int] = (0, 1),
) -> list[Candidate]:
    """Grow a lookahead tree from some centers and improve it on the sample; none if a center got no leaf.

    Parameters
    ----------
    few : CodedTable
        Rows of the sample to grow it on, or the sample.
    tree : GrownTree
        The greedy one: how deep it is says what a tree takes.
    factor : float
        What the trade-off that proposes cuts is multiplied by.
    shape : tuple of int
        Levels of the tree on which cuts are tried, and how many of a node.
    max_trees : float
        At most the work of this many greedy trees.
    cuts : tuple of int
        Which of the root's cuts are tried, best first: the number of the first, and the step to the next.
    """
    wad = float(tree.weight[tree.feature != LEAF].sum() / tree.weight[0])  # passes over the rows per tree
    coded = few.coded
    inputs = GrowthInput(
        coded.X_explain,
        coded.X_cluster,
        coded.rows.copy(),
        None if coded.weight is None else coded.weight.copy(),
        explain_centers=np.ascontiguousarray(centers[0], dtype=np.float64),
        cluster_centers=np.ascontiguousarray(centers[1], dtype=np.float64),
    )
    max_work = max_trees * wad * min(len(few.rows), SAMPLE_ROWS) * data.X_explain.shape[1]
    nodes = grow_ahead(
        inputs,
        factor * aim.tradeoff,
        (*shape, aim.penalty, max_work),
        cuts=cuts,
        ranks=min(max(len(few.rows) // RANK_ROWS, MIN_RANKS), MAX_RANKS),
        n_threads=few.n_threads,
        progress=progress,
    )
    ahead = preordered(nodes)
    if ahead.n_leaves < data.k:
        return []
    return [sample.improve(ahead, aim)]


def leaf_means(sample: CodedTable, tree: CutTree, k: int) -> Centers:
    """Return the means of a tree's leaves in the order of centers."""
    return group_centers(sample, tree.center[sample.leaf_of_rows(tree)], k)


def group_centers(sample: CodedTable, labels: NDArray[np.int32], k: int) -> Centers:
    """Return the means of groups of rows, each of which has some."""
    X_explain, X_cluster, rows = sample.coded.X_explain, sample.coded.X_cluster, sample.rows
    explain_means = group_means(X_explain[rows], labels, k, sample.weight)
    if X_cluster is X_explain:
        return explain_means, explain_means
    return explain_means, group_means(X_cluster[rows], labels, k, sample.weight)


def side_by_side(
    tasks: Sequence[Callable[[Progress | None], list[Candidate]]], n_threads: int, progress: Progress | None
) -> list[Candidate]:
    """Return the results of several searches, in their order; they run at the same time where there are threads.

    In that case the first one reports progress, from the calling thread, in which an interrupt is raised. An interrupt
    there ends the others: they check as often as they would report progress. Searches that still wait for a thread at
    that point are run by the calling one.
    """
    if n_threads == 1 or len(tasks) == 1:
        return [found for i, task in enumerate(tasks) for found in task(part_of(progress, i, len(tasks)))]
    ended = False

    def look(share: float) -> None:
        if ended:
            raise InterruptedError

    with ThreadPoolExecutor(n_threads - 1) as threads:
        others = [threads.submit(task, look) for task in tasks[1:]]
        try:
            found = tasks[0](progress)
            left = {other: task(look) for task, other in zip(tasks[1:], others, strict=True) if other.cancel()}
            return found + [one for other in others for one in (left[other] if other in left else other.result())]
        except BaseException:
            ended = True
            raise


def part_of(progress: Progress | None, part: int, n_parts: int) -> Progress | None:
    """Return the function that takes the completed share of one of several equal parts of the work."""
    if progress is None or n_parts == 1:
        return progress
    return lambda share: progress((part + share) / n_parts)

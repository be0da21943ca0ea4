"""Refining: from the greedy tree to one that costs less and is shorter to explain, from the same centers.

The objective of a finished tree is ``J = cost / reference cost + tradeoff * WAES``. Three ways lead to lower ones,
each in the kernel:

- looking ahead: of several cuts of a node, the one whose finished subtree has the lowest J;
- improving a finished tree: every node's cut in turn, with the means of the leaves; and taking away a leaf that is
  hardly missed in order to cut another in two;
- starting again from the means of the best tree's leaves instead of the reference centers.

What to grow is found out on a sample of the rows, and only the best few trees are improved on all of them. So a
large table takes no more than a few looks at its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shallowrules._kernel import CodedRows, GrowthInput, encode, grow_ahead, improve_tree, route_rows
from shallowrules.growing import Distinct, Growth, assemble, in_preorder
from shallowrules.tree import LEAF

__all__ = ["REFINEMENTS", "Refinement", "refine"]

REFINEMENTS = ("full", "none")

SAMPLE = 4096
"""Distinct rows on which trees are grown ahead, about; of each cluster at least `LEAST` if it has them."""
LEAST = 32
LEVELS, WIDTH = 2, 4
"""On so many levels of the tree so many cuts of a node are tried."""
ROUNDS = (1.0, 0.6, 1.6)
"""Rounds of looking ahead: what the trade-off that proposes cuts is multiplied by. J has the true one."""
MOST_TREES = 6.0
"""A round takes no more than so many greedy trees on the sample."""
MOST_CLUSTERS = 128
"""Beyond so many clusters nothing is grown ahead; the greedy tree is improved."""
MOST_MOVABLE = 512
"""Beyond so many clusters leaves stay where they are."""
RANKS = 512
"""Cuts of a node are looked for between so many bins, then within the best."""
LOOKS, LOOKED = 40.0, 3e7
"""An improvement looks at all rows so many times at most, and at so many values in all, but twice in any case."""
FINALISTS = 2
"""Trees from the sample that are improved on all rows."""
HARDER = (1.5, 3.0)
"""Factors for the price of a condition, where the best tree is longer than the greedy one, or dearer."""
SHARE = 0.5
"""A tree that is neither dearer nor longer than the greedy one is taken if it gains so much of what the best does."""
CANONICAL = 1 << 16
"""Tables of up to so many distinct rows are summed in an order that does not depend on theirs."""
TIE = 1e-9
ENDED = "the search for a better tree was ended by the bound on its work"


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined tree, and what came of it.

    Attributes
    ----------
    growth : Growth
        The greedy tree itself if none is better.
    before, after : tuple of float
        Normalized cost and WAES of the greedy tree and of this one.
    tradeoff : float
    n_sampled : int
        Distinct rows on which trees were grown ahead; 0 if there were too many clusters for it.
    ended : bool
        Whether the bound on the work ended it before nothing better was found.
    """

    growth: Growth
    before: tuple[float, float]
    after: tuple[float, float]
    tradeoff: float
    n_sampled: int
    ended: bool

    def summary(self) -> str:
        """Say what came of it, in a line."""
        (cost, waes), (new_cost, new_waes) = self.before, self.after
        before, after = self.objectives
        where = f"on {self.n_sampled} rows" if self.n_sampled else f"nothing ahead for over {MOST_CLUSTERS} clusters"
        return (
            f"refined ({where}): cost {cost:.4f} -> {new_cost:.4f}, conditions {waes:.3f} -> {new_waes:.3f}, "
            f"J {before:.4f} -> {after:.4f}" + (f"; {ENDED}" if self.ended else "")
        )

    @property
    def objectives(self) -> tuple[float, float]:
        """J of the greedy tree and of this one, which is no higher."""
        before, after = (cost + self.tradeoff * waes for cost, waes in (self.before, self.after))
        return before, after


@dataclass(frozen=True, eq=False)
class _Rows:
    """Distinct rows, and their codes in the explained columns."""

    explained: NDArray[Any]
    clustered: NDArray[Any]
    rows: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    codes: NDArray[np.int32]
    single: NDArray[np.uint8]
    n_threads: int

    @classmethod
    def of(
        cls,
        explained: NDArray[Any],
        clustered: NDArray[Any],
        rows: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        n_threads: int,
    ) -> _Rows:
        anywhere = explained[rows[:1]].astype(np.float64)  # codes need the place of some center
        codes, _, _, single, _ = encode(explained, rows, anywhere, n_threads, ranks=RANKS)
        return cls(explained, clustered, rows, weight, np.ascontiguousarray(codes.T), single, n_threads)

    def improve(self, tree: dict[str, Any], price: float, moves: bool, report: Callable[[float], None] | None) -> _Tree:
        """Improve a tree whose every leaf has some of these rows."""
        most = min(LOOKS, max(2.0, LOOKED / self.codes.size))
        found = improve_tree(
            CodedRows(self.explained, self.clustered, self.rows, self.weight, self.codes, self.single),
            _ordered(tree),
            condition_penalty=price,
            max_passes=most,
            moves_leaves=moves,
            n_threads=self.n_threads,
            progress=report,
        )
        return _Tree(found, found["after"], found["before"], found["ended"])

    def leaves(self, tree: dict[str, Any]) -> NDArray[np.int32]:
        """Return the leaf of each row, a node of the ordered tree."""
        nodes = _ordered(tree)
        everywhere: NDArray[np.int32] = route_rows(
            self.explained, nodes["feature"], nodes["cut"], nodes["left"], nodes["right"], n_threads=self.n_threads
        )
        return everywhere[self.rows]


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree in the kernel's arrays, with its cost and the conditions of its rows, both summed by weight."""

    nodes: dict[str, Any]
    figures: tuple[float, float]
    before: tuple[float, float]
    ended: bool

    def objective(self, price: float) -> float:
        return self.figures[0] + price * self.figures[1]

    def no_worse_than(self, figures: tuple[float, float]) -> bool:
        """Whether it is neither dearer nor longer."""
        return all(mine <= other * (1 + TIE) for mine, other in zip(self.figures, figures, strict=True))


class _Progress:
    """Turns the share of a step into that of all steps."""

    def __init__(self, report: Callable[[float], None] | None, n_steps: int) -> None:
        self._report, self._n_steps, self._step = report, n_steps, 0

    def steps(self) -> Iterator[Callable[[float], None] | None]:
        """Yield the `report` of each step."""
        while True:
            yield None if self._report is None else self._say
            self._step = min(self._step + 1, self._n_steps - 1)

    def _say(self, share: float) -> None:
        assert self._report is not None
        self._report((self._step + share) / self._n_steps)


def refine(
    growth: Growth,
    explained: NDArray[Any],
    clustered: NDArray[Any],
    explained_centers: NDArray[np.float64],
    centers: NDArray[np.float64],
    distinct: Distinct,
    *,
    tradeoff: float,
    reference_cost: float,
    reference_labels: NDArray[np.int32],
    weight: NDArray[np.float64] | None = None,
    moves: bool = True,
    rounds: tuple[float, ...] = ROUNDS,
    n_threads: int = 1,
    report: Callable[[float], None] | None = None,
) -> Refinement:
    """Find a tree of lower J than the greedy one from the same centers, as many leaves, none empty.

    Parameters
    ----------
    growth : Growth
        The greedy tree, with a leaf for each center.
    explained, clustered, explained_centers, centers, weight, n_threads, report
        As for `shallowrules.growing.grow`. The result does not depend on the number of threads.
    distinct : Distinct
        The rows that `growth` was grown from.
    tradeoff : float
        The paper's lambda in J.
    reference_cost : float
        Cost of the unrestricted clustering, above 0.
    reference_labels : ndarray of int32, shape (n_rows,)
        Its clusters: by them the leaves are numbered again if leaves moved.
    moves : bool
        Whether a cluster may lose its leaf, and another be cut in two: not where clusters have names.
    rounds : tuple of float
        See `ROUNDS`; none only improves the greedy tree.

    Returns
    -------
    Refinement
        Its J is never above that of `growth`, as the kernel sums it.
    """
    k = len(centers)
    total_weight = float(len(explained) if weight is None else weight.sum())
    in_kernel = float(len(distinct.slots) if distinct.weight is None else distinct.weight.sum())
    price = _rounded(tradeoff * reference_cost / total_weight)  # of a condition, per unit of weight
    unit = reference_cost * in_kernel / total_weight  # where all weights are equal, the kernel counts rows
    moves = moves and k <= MOST_MOVABLE
    rounds = rounds if k <= MOST_CLUSTERS else ()
    step = _Progress(report, 2 * len(rounds) + 1 + FINALISTS + len(HARDER)).steps()
    keys = _keys(clustered, distinct.slots)
    order = np.argsort(keys, kind="stable") if len(keys) <= CANONICAL else np.arange(len(keys))
    weights = None if distinct.weight is None else distinct.weight[order]
    table = _Rows.of(explained, clustered, distinct.slots[order], weights, n_threads)
    greedy = {name: getattr(growth, name) for name in ("feature", "left", "right", "center", "cut")}
    trees = [table.improve(greedy, price, moves, next(step))]
    before = trees[0].before

    sample = _sample(table, growth, keys[order]) if rounds else table
    depth = float(growth.weight[growth.feature != LEAF].sum() / growth.weight[0])  # WAD: the work of a tree
    ahead: list[_Tree] = []
    places = explained_centers, centers
    for factor in rounds:
        inputs = GrowthInput(
            sample.explained,
            sample.clustered,
            sample.rows.copy(),
            None if sample.weight is None else sample.weight.copy(),
            *(np.ascontiguousarray(array, dtype=np.float64) for array in places),
        )
        nodes = grow_ahead(
            inputs,
            factor * tradeoff,
            (LEVELS, WIDTH, price, MOST_TREES * depth * len(sample.rows) * explained.shape[1]),
            n_threads=n_threads,
            progress=next(step),
        )
        used, (left, right) = in_preorder(nodes, 0)
        tree = {"feature": nodes["feature"][used].astype(np.int32), "left": left, "right": right}
        tree |= {"center": nodes["center"][used].astype(np.int32), "cut": nodes["cut"][used]}
        report_step = next(step)
        if np.count_nonzero(tree["feature"] == LEAF) == k:
            ahead.append(sample.improve(tree, price, moves, report_step))
            places = _means(sample, min(ahead, key=lambda found: found.objective(price)).nodes, places)
    ahead.sort(key=lambda found: found.objective(price))
    if sample is table:
        trees += ahead
    else:
        trees += [table.improve(found.nodes, price, moves, next(step)) for found in ahead[:FINALISTS]]
    best = min(trees, key=lambda found: found.objective(price))
    if not best.no_worse_than(before):
        longer = best.figures[1] > before[1]
        for factor in HARDER:
            trees.append(table.improve(best.nodes, price * factor if longer else price / factor, moves, next(step)))
            if trees[-1].no_worse_than(before):
                break
    best = _choose(trees, before, price)
    ended = len(rounds) == 0 or any(found.ended for found in trees)
    n_sampled = len(sample.rows) if rounds else 0
    figures = [(cost / unit, conditions / in_kernel) for cost, conditions in (before, best.figures)]
    if not best.objective(price) < (before[0] + price * before[1]) * (1 - TIE):
        refined, figures[1] = growth, figures[0]
    else:
        nodes = _numbered(best.nodes, table, reference_labels, k) if moves else best.nodes
        refined = _as_growth(nodes, explained, weight, n_threads)
    if ended:
        refined = replace(refined, notes=(ENDED,))
    return Refinement(refined, figures[0], figures[1], tradeoff, n_sampled, ended)


def _choose(trees: list[_Tree], before: tuple[float, float], price: float) -> _Tree:
    """Return the tree of the lowest J, or a better rounded one that has most of its gain."""
    best = min(trees, key=lambda found: found.objective(price))
    rounded = [found for found in trees if found.no_worse_than(before)]
    if rounded:
        other = min(rounded, key=lambda found: found.objective(price))
        greedy = before[0] + price * before[1]
        if greedy - other.objective(price) >= SHARE * (greedy - best.objective(price)):
            return other
    return best


def _rounded(number: float) -> float:
    """Return a number without its last digits, which depend on the order in which rows were summed."""
    mantissa, exponent = np.frexp(number)
    return float(np.ldexp(np.round(np.ldexp(mantissa, 36)), exponent - 36))


def _keys(clustered: NDArray[Any], rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return 64 bits that look random for each row, equal for equal values in the clustered space."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    for j in range(clustered.shape[1]):
        values = clustered[rows, j].astype(np.float64) + 0.0  # -0.0 is 0.0
        keys = (keys ^ values.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(31)
    return keys


def _sample(table: _Rows, growth: Growth, keys: NDArray[np.uint64]) -> _Rows:
    """Return some rows of each cluster, weighted so that the clusters keep their weight; `table` if it is small.

    They are those of the lowest keys, whatever the order of the table.
    """
    if len(table.rows) <= 1.25 * SAMPLE:
        return table
    labels = growth.labels[table.rows]
    widest = int(np.argmax(np.var(table.clustered[table.rows[:: max(1, len(table.rows) // SAMPLE)]], axis=0)))
    order = np.lexsort((keys, table.clustered[table.rows, widest], labels))
    counts = np.bincount(labels)
    picked, weights = [], []
    even = table.weight is None
    for first, count in zip(np.cumsum(counts) - counts, counts, strict=True):
        if not count:
            continue
        share = round(SAMPLE * count / len(order))
        n = min(count, max(LEAST, share))
        even &= n == share
        places = order[first + np.arange(n) * count // n]
        own = np.ones(n) if table.weight is None else table.weight[places]
        whole = float(count) if table.weight is None else float(table.weight[order[first : first + count]].sum())
        picked.append(places)
        weights.append(own * (whole / own.sum()))
    places = np.concatenate(picked)
    rows = table.rows[places]
    explained = np.ascontiguousarray(table.explained[rows])
    clustered = explained if table.clustered is table.explained else np.ascontiguousarray(table.clustered[rows])
    return _Rows.of(
        explained,
        clustered,
        np.arange(len(rows), dtype=np.int32),
        None if even else np.concatenate(weights),
        table.n_threads,
    )


def _ordered(tree: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return a tree's arrays with parents first, left subtree before right."""
    nodes = {"tradeoffs": np.ones(len(tree["feature"]), dtype=np.int64), **tree}
    used, (left, right) = in_preorder(nodes, 0)
    return {"left": left, "right": right} | {
        name: np.ascontiguousarray(tree[name][used]) for name in ("feature", "center", "cut")
    }


def _means(
    sample: _Rows, tree: dict[str, Any], places: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means of a tree's leaves in the explained and in the clustered columns, in the order of centers."""
    nodes = _ordered(tree)
    center = nodes["center"][sample.leaves(tree)]
    weight = np.ones(len(center)) if sample.weight is None else sample.weight
    order = np.argsort(center, kind="stable")
    first = np.searchsorted(center[order], np.arange(len(places[0])))
    total = np.add.reduceat(weight[order], first)[:, None]

    def mean(array: NDArray[Any]) -> NDArray[np.float64]:
        rows = array[sample.rows[order]].astype(np.float64)
        sums: NDArray[np.float64] = np.add.reduceat(rows * weight[order][:, None], first)
        return sums / total

    explained = mean(sample.explained)
    return explained, explained if sample.clustered is sample.explained else mean(sample.clustered)


def _numbered(tree: dict[str, Any], table: _Rows, reference_labels: NDArray[np.int32], k: int) -> dict[str, Any]:
    """Return a tree whose leaves are numbered so that most weight keeps the number of its reference cluster."""
    nodes = _ordered(tree)
    leaf = table.leaves(tree)
    labels = reference_labels[table.rows]
    weight = np.ones(len(leaf)) if table.weight is None else table.weight
    known = labels >= 0
    shared = np.bincount(
        nodes["center"][leaf[known]].astype(np.int64) * k + labels[known], weight[known], k * k
    ).reshape(k, k)
    _, number = linear_sum_assignment(-shared)
    if np.trace(shared) >= shared[np.arange(k), number].sum() * (1 - TIE):
        return tree
    center = np.where(tree["center"] == LEAF, LEAF, number[tree["center"]]).astype(np.int32)
    return {**tree, "center": center}


def _as_growth(
    tree: dict[str, Any], explained: NDArray[Any], weight: NDArray[np.float64] | None, n_threads: int
) -> Growth:
    nodes = {"tradeoffs": np.ones(len(tree["feature"]), dtype=np.int64), **tree}
    used, children = in_preorder(nodes, 0)
    leaf_of = route_rows(explained, tree["feature"][used], tree["cut"][used], *children, n_threads=n_threads)
    if weight is not None:
        leaf_of[weight == 0] = LEAF
    return assemble(nodes, used, children, leaf_of, weight)

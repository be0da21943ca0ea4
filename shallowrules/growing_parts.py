"""Growing the kernel's tree from a table in parts that are never together in memory.

Nodes of one level are worked on together. A pass adds up what the rows of each part add to the cuts of each bin, in the
kernel's fixed point; a second one fetches the rows of the bins inside which the best cut may lie, those of one value as
one. Both add up exactly, however the rows are cut into parts. Small nodes are collected and grown by the kernel whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules._kernel import GrowthInput, NodeScan, Ranges
from shallowrules.errors import DataError, OptionError
from shallowrules.growing import (
    MAX_CENTERS,
    CutTree,
    Forest,
    GrownTree,
    GrowthData,
    check_range,
    find_unique_rows,
    preordered,
)
from shallowrules.part_sums import (
    Collected,
    Ends,
    Found,
    LeafSums,
    Rows,
    Sums,
    Totals,
    ValueSums,
    ends_of,
    exact_weight,
    values_of,
)
from shallowrules.tree import LEAF

__all__ = ["COLLECTED_CELLS", "Parts", "grow_parts"]

COLLECTED_CELLS = 2**24
"""Nodes of at most this many cells (rows x columns) are collected, and together at most twice as many in one pass."""
SAMPLE_CELLS = 2**20
"""Of the rows that say what the bins are, together; of a node at most `NODE_SAMPLE` rows."""
NODE_SAMPLE = 4096
FIRST_REACH, REACH_FACTOR = 4.0, 16.0
"""As in the kernel's `fixed_point`."""
MAX_COARSENESS = 64.0
"""Sums are taken again where a node's cost allows units this many times finer."""
TIE = 1e-9
"""As in the kernel's `objective`: of the centers whose cost is that near the lowest, the first is a leaf's."""

Encode = Callable[[Any], Rows]


class Parts(Protocol):
    """A table in parts: see `shallowrules.partitions.Partitions`."""

    def map_reduce(self, function: Callable[[Any, Any], Any], state: Any) -> Any:
        """Return the merged results of ``function(part, state)``."""


@dataclass(eq=False)
class _Node:
    """A node that has no cut yet."""

    place: int
    centers: NDArray[np.intp]
    path_sides: NDArray[np.uint8]
    n_rows: int
    weight: float
    cost_bound: float
    sample: NDArray[np.float64]
    reach: float = FIRST_REACH
    fixed: tuple[float, float, float] = (0.0, 0.0, 0.0)
    few_rows: bool = False


@dataclass(frozen=True, eq=False)
class _Route:
    """The tree so far."""

    feature: NDArray[np.int32]
    cut: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]

    def rows_at(self, X_explain: NDArray[Any], places: Sequence[int]) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Yield the rows of a part that are in each of some leaves, if it has any."""
        reached = _kernel.route_rows(X_explain, self.feature, self.cut, self.left, self.right, n_threads=1)
        number = np.full(len(self.feature), -1, dtype=np.int16 if len(places) < 2**15 else np.int32)
        number[list(places)] = np.arange(len(places))
        order = np.argsort(number[reached], kind="stable").astype(np.int32)
        begins = np.searchsorted(number[reached][order], np.arange(len(places) + 1))
        for place, begin, end in zip(places, begins[:-1], begins[1:], strict=True):
            if end > begin:
                yield place, order[begin:end]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a part is asked for: of the nodes at some places."""

    encode: Encode
    route: _Route
    nodes: dict[int, Any]
    weight_scale: float
    explain_centers: NDArray[np.float64]
    cluster_centers: NDArray[np.float64]

    def node_rows(self, rows: Rows) -> Iterator[tuple[int, _kernel.NodeRows]]:
        """Yield the kernel's rows of each node."""
        for place, chosen in self.route.rows_at(rows.X_explain, list(self.nodes)):
            node = self.nodes[place]
            inputs = GrowthInput(
                rows.X_explain,
                rows.X_cluster,
                np.ascontiguousarray(chosen),
                None if rows.weight is None else rows.weight[chosen],
                np.ascontiguousarray(self.explain_centers[node.centers]),
                np.ascontiguousarray(self.cluster_centers[node.centers]),
                _ranges_of(node.sample),
                None,
                node.sample,
            )
            yield place, _kernel.NodeRows(inputs, self.weight_scale, node.fixed)


@dataclass(frozen=True, eq=False)
class _NodeAsked:
    """What a part needs to know of a node."""

    centers: NDArray[np.intp]
    sample: NDArray[np.float64]
    fixed: tuple[float, float, float]
    bins: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    features: tuple[int, ...] = ()
    distinct: bool = False


def _ranges_of(sample: NDArray[np.float64]) -> Ranges:
    return Ranges(sample.min(axis=0), sample.max(axis=0))


def _totals(part: Any, asked: tuple[Encode, int]) -> Totals:
    encode, n_sample = asked
    return Totals.of(encode(part), n_sample)


def _sums(part: Any, asked: _Asked) -> Found:
    return Found({place: Sums(node.sums()) for place, node in asked.node_rows(asked.encode(part))})


def _values(part: Any, asked: _Asked) -> Found:
    found: dict[Any, Any] = {}
    for place, node in asked.node_rows(asked.encode(part)):
        for feature, bins in asked.nodes[place].bins.items():
            found[place, feature] = ValueSums(*node.rows_of_bins(feature, bins))
    return Found(found)


def _center_costs(part: Any, asked: _Asked) -> Found:
    return Found({place: Sums((node.center_costs(),)) for place, node in asked.node_rows(asked.encode(part))})


def _ends(part: Any, asked: _Asked) -> Found:
    rows = asked.encode(part)
    found: dict[Any, Any] = {}
    for place, chosen in asked.route.rows_at(rows.X_explain, list(asked.nodes)):
        keys = _kernel.row_keys(rows.X_explain, chosen), _kernel.row_keys(rows.X_cluster, chosen)
        for feature in asked.nodes[place].features:
            values = rows.X_explain[chosen, feature].astype(np.float64) + 0.0
            found[place, feature] = ends_of(values, *keys, len(asked.nodes[place].centers))
    return Found(found)


def _collected(part: Any, asked: _Asked) -> Found:
    rows = asked.encode(part)
    return Found(
        {
            place: Collected.of(rows, chosen, asked.nodes[place].distinct)
            for place, chosen in asked.route.rows_at(rows.X_explain, list(asked.nodes))
        }
    )


def _leaf_sums(part: Any, asked: _Asked) -> Found:
    rows = asked.encode(part)
    found = {}
    for place, chosen in asked.route.rows_at(rows.X_explain, list(asked.nodes)):
        weight = None if rows.weight is None else rows.weight[chosen]
        ranges = _kernel.column_ranges(rows.X_explain[chosen])
        found[place] = LeafSums(len(chosen), exact_weight(len(chosen), weight), *ranges)
    return Found(found)


def grow_parts(
    parts: Parts,
    encode: Encode,
    explain_centers: NDArray[np.float64],
    cluster_centers: NDArray[np.float64],
    *,
    method: str = "exshallow",
    tradeoff: float = 0.03,
    n_threads: int = 1,
    collected_cells: int = COLLECTED_CELLS,
) -> GrownTree:
    """Grow the tree that explains some centers, from a table in parts: the one that `growing.grow` grows from it whole.

    Parameters
    ----------
    parts : Parts
    encode : callable
        Takes a part, and returns its `Rows`, those of weight 0 left out; with dtypes that are those of all parts. It is
        pickled.
    explain_centers : ndarray of float64, shape (k, d)
    cluster_centers : ndarray of float64, shape (k, m)
    method : {"exshallow", "exgreedy"}
    tradeoff : float
        As for `growing.grow`.
    n_threads : int
        Threads that grow what is collected.
    collected_cells : int
        Nodes of at most so many cells are collected and grown in memory. The tree does not depend on it.

    Returns
    -------
    GrownTree
        Its `labels` are empty.

    Raises
    ------
    DataError
        If there are no rows, or costs cannot be computed in float64.
    OptionError
        If the method needs the table whole, or there are too many centers.
    """
    if method not in ("exshallow", "exgreedy"):
        raise OptionError(
            f'method "{method}" needs the whole table in memory; over parts there are "exshallow" and "exgreedy"'
        )
    if len(cluster_centers) > MAX_CENTERS:
        raise OptionError(f"{len(cluster_centers)} clusters are more than the {MAX_CENTERS} that a tree can have")
    growth = _Growth(
        parts,
        encode,
        np.ascontiguousarray(explain_centers, dtype=np.float64),
        np.ascontiguousarray(cluster_centers, dtype=np.float64),
        0.0 if method == "exgreedy" else float(tradeoff),
        n_threads,
        collected_cells,
    )
    return growth.run()


class _Growth:
    """A tree that grows, level by level."""

    def __init__(
        self,
        parts: Parts,
        encode: Encode,
        explain_centers: NDArray[np.float64],
        cluster_centers: NDArray[np.float64],
        tradeoff: float,
        n_threads: int,
        collected_cells: int,
    ) -> None:
        self.parts, self.encode, self.tradeoff, self.n_threads = parts, encode, tradeoff, n_threads
        self.explain_centers, self.cluster_centers = explain_centers, cluster_centers
        self.k, self.d = explain_centers.shape
        self.collected_rows = collected_cells // (self.d + cluster_centers.shape[1])
        self.feature, self.left, self.right, self.center = [LEAF], [LEAF], [LEAF], [0]
        self.cut = [0.0]
        self.weight_scale = 1.0
        self.weighted = False

    def run(self) -> GrownTree:
        """Return the tree."""
        n_sample = max(NODE_SAMPLE, min(2**16, SAMPLE_CELLS // self.d))
        totals: Totals = self.parts.map_reduce(_totals, (self.encode, n_sample))
        if not totals.n_rows:
            raise DataError("there are no rows of positive weight")
        self.weighted = totals.weighted
        total = totals.weight_sum if self.weighted else float(totals.n_rows)
        check_range(totals.low, totals.high, self.cluster_centers, totals.weight_sum if self.weighted else 0.0)
        most = totals.n_rows * (totals.max_weight if self.weighted else 1.0)
        self.weight_scale = math.ldexp(1.0, min(max(60 - math.frexp(most)[1], -1000), 1000))
        farthest = np.maximum(np.abs(totals.high - self.cluster_centers), np.abs(self.cluster_centers - totals.low))
        bound = total * float((farthest**2).sum(axis=1).min()) * (1 + 1e-6)
        root = _Node(
            0,
            np.arange(self.k),
            np.zeros(self.d, dtype=np.uint8),
            totals.n_rows,
            total * (1 + 1e-6),
            bound,
            totals.sample,
        )
        pending, small = [root], list[_Node]()
        while pending:
            self._sort_out(pending, small)
            large = [node for node in pending if node not in small and len(node.centers) > 1]
            pending = self._cut_level(large, small) if large else []
        self._grow_small(small)
        return self._finished()

    def _sort_out(self, nodes: Iterable[_Node], small: list[_Node]) -> None:
        """Make leaves of the nodes of one center; put the small ones to the others."""
        for node in nodes:
            if len(node.centers) == 1:
                self.center[node.place] = int(node.centers[0])
            elif node.n_rows <= self.collected_rows or node.cost_bound == 0.0:
                node.few_rows = node.n_rows > self.collected_rows
                small.append(node)

    def _asked(self, nodes: dict[int, _NodeAsked]) -> _Asked:
        route = _Route(
            np.array(self.feature, dtype=np.int32),
            np.array(self.cut),
            np.array(self.left, dtype=np.int32),
            np.array(self.right, dtype=np.int32),
        )
        return _Asked(self.encode, route, nodes, self.weight_scale, self.explain_centers, self.cluster_centers)

    def _cut_level(self, level: list[_Node], small: list[_Node]) -> list[_Node]:
        """Cut the nodes of one level; return their children."""
        for node in level:
            node.sample = self._sample_of(node)
        children: list[_Node] = []
        waiting = level
        while waiting:
            waiting = self._cut_nodes(waiting, small, children)
        return children

    def _sample_of(self, node: _Node) -> NDArray[np.float64]:
        """Return the rows of the sample that say a node's bins."""
        if not len(node.sample):
            return self.explain_centers[node.centers]
        return node.sample

    def _cut_nodes(self, nodes: list[_Node], small: list[_Node], children: list[_Node]) -> list[_Node]:
        """Cut some nodes; return those whose sums have to be taken again, in finer units or up to higher prices."""
        for node in nodes:
            node.fixed = _kernel.fixed_point(
                self.cluster_centers[node.centers], node.cost_bound, node.n_rows, node.weight, node.reach
            )
        asked = {node.place: _NodeAsked(node.centers, node.sample[:NODE_SAMPLE], node.fixed) for node in nodes}
        found = self.parts.map_reduce(_sums, self._asked(asked)).values
        again: list[_Node] = []
        searches: list[_Search] = []
        for node in nodes:
            tally, weight, center_step, cost = found[node.place].arrays
            exact = _kernel.cost_of(cost, node.fixed[0])
            rounding = node.n_rows * 2.0**-28 / node.fixed[0]
            if not cost[2]:
                node.few_rows = True
                small.append(node)
                continue
            bound = exact + rounding
            ideal = _kernel.fixed_point(self.cluster_centers[node.centers], bound, node.n_rows, node.weight, node.reach)
            if ideal[0] > MAX_COARSENESS * node.fixed[0]:
                node.cost_bound = bound
                again.append(node)
                continue
            scale, cap, reach = node.fixed
            fixed = scale, cap, reach * node.cost_bound / exact
            searches.append(_Search(self, node, tally, weight, center_step, exact, fixed))
        searches = self._count_distinct(searches, small)
        bins = {
            search.node.place: replace(asked[search.node.place], bins=search.bins)
            for search in searches
            if search.find_bins()
        }
        if bins:
            for (place, feature), values in self.parts.map_reduce(_values, self._asked(bins)).values.items():
                next(s for s in searches if s.node.place == place).take_values(feature, values)
        leaves = []
        for search in searches:
            node = search.node
            lowest = search.lowest()
            if lowest == math.inf:
                leaves.append(search)
            elif not search.scan.is_within_reach(lowest):
                node.reach, node.cost_bound = node.reach * REACH_FACTOR, search.cost
                again.append(node)
            else:
                children += search.cut(lowest)
        self._end_branches(leaves, asked)
        return again

    def _count_distinct(self, searches: list[_Search], small: list[_Node]) -> list[_Search]:
        """Count the distinct rows where they decide whether a cut is valid; collect the nodes that have few."""
        asked = {
            s.node.place: _NodeAsked(s.node.centers, s.node.sample, s.node.fixed, features=s.doubtful)
            for s in searches
            if s.doubtful
        }
        if not asked:
            return searches
        found = self.parts.map_reduce(_ends, self._asked(asked)).values
        kept = []
        for search in searches:
            if all(search.take_ends(feature, found[search.node.place, feature]) for feature in search.doubtful):
                kept.append(search)
            else:
                search.node.few_rows = True
                small.append(search.node)
        return kept

    def _end_branches(self, searches: list[_Search], asked: dict[int, _NodeAsked]) -> None:
        """Make leaves of nodes without a valid cut: the first of the cheapest centers."""
        if not searches:
            return
        nodes = {}
        for search in searches:
            node, gap = search.node, self.cluster_centers[search.node.centers]
            diagonal = float(((gap.max(axis=0) - gap.min(axis=0)) ** 2).sum())
            largest = 2.0 * search.cost + 2.0 * node.weight * diagonal  # of every center's cost
            scale = math.ldexp(1.0, min(max(61 - math.frexp(largest)[1], -1000), 1000))
            nodes[node.place] = replace(asked[node.place], fixed=(scale, math.inf, math.inf))
        found = self.parts.map_reduce(_center_costs, self._asked(nodes)).values
        for search in searches:
            place = search.node.place
            costs = [_kernel.cost_of(cost, nodes[place].fixed[0]) for cost in found[place].arrays[0]]
            cheapest = next(i for i, cost in enumerate(costs) if cost <= min(costs) * (1 + TIE))
            self.center[place] = int(search.node.centers[cheapest])

    def add_children(self, place: int, feature: int, threshold: float) -> tuple[int, int]:
        """Cut a node; return the places of its children."""
        left = len(self.feature)
        self.feature[place], self.cut[place] = feature, threshold
        self.left[place], self.right[place] = left, left + 1
        for numbers in (self.feature, self.left, self.right, self.center):
            numbers += [LEAF, LEAF]
        self.cut += [0.0, 0.0]
        return left, left + 1

    def _grow_small(self, small: list[_Node]) -> None:
        """Collect the small nodes, as many at a time as fit, and grow them."""
        while small:
            group: list[_Node] = []
            n_rows = 0
            for node in small:
                if node.few_rows or not group or n_rows + node.n_rows <= 2 * self.collected_rows:
                    group.append(node)
                    n_rows += 0 if node.few_rows else node.n_rows
            chosen = {node.place for node in group}
            small = [node for node in small if node.place not in chosen]
            asked = {
                node.place: _NodeAsked(node.centers, node.sample[:0], node.fixed, distinct=node.few_rows)
                for node in group
            }
            found = self.parts.map_reduce(_collected, self._asked(asked)).values
            for node in group:
                self._graft(node, found.pop(node.place).rows())

    def _graft(self, node: _Node, rows: Rows) -> None:
        """Grow a collected node, and put its subtree in its place."""
        data = GrowthData(
            rows.X_explain,
            rows.X_cluster,
            self.explain_centers[node.centers],
            self.cluster_centers[node.centers],
            rows.weight,
        )
        unique = find_unique_rows(data, n_threads=self.n_threads)
        inputs = unique.kernel_input()._replace(path_sides=node.path_sides)
        tree = Forest(_kernel.grow_tree(inputs, self.tradeoff, n_threads=self.n_threads)).tree()
        places = {0: node.place}
        for i, place in ((i, places[i]) for i in range(len(tree.feature))):
            if tree.feature[i] == LEAF:
                self.center[place] = int(node.centers[tree.center[i]])
            else:
                children = self.add_children(place, int(tree.feature[i]), float(tree.cut[i]))
                places[int(tree.left[i])], places[int(tree.right[i])] = children

    def _finished(self) -> GrownTree:
        """Return the tree with its gaps and the rows that reach each node, from one pass."""
        blank = np.zeros(len(self.feature))
        names = "feature", "left", "right", "center", "cut"
        nodes = {name: np.array(getattr(self, name)) for name in names}
        tree = preordered(nodes | {"lower": blank, "upper": blank})
        self.feature, self.left, self.right = tree.feature.tolist(), tree.left.tolist(), tree.right.tolist()
        self.cut = tree.cut.tolist()
        no_sample = np.empty((0, self.d))
        asked = {int(leaf): _NodeAsked(np.arange(1), no_sample, (0.0, 0.0, 0.0)) for leaf in tree.leaves}
        found = self.parts.map_reduce(_leaf_sums, self._asked(asked)).values
        return _with_sums(tree, found, self.explain_centers)


class _Search:
    """The search for the cut of a node whose sums are known."""

    def __init__(
        self,
        growth: _Growth,
        node: _Node,
        tally: NDArray[np.int64],
        weight: NDArray[np.int64] | None,
        center_step: NDArray[np.int64],
        cost: float,
        fixed: tuple[float, float, float],
    ) -> None:
        self.growth, self.node, self.cost, self.fixed = growth, node, cost, fixed
        self.tally, self.weight = tally, weight
        self.sample = node.sample[:NODE_SAMPLE]
        self.own_centers = np.ascontiguousarray(growth.explain_centers[node.centers])
        table = np.concatenate([self.sample, self.own_centers])
        rows = np.arange(len(table), dtype=np.int32)
        some = np.ones(len(table))  # rows are counted apart from weights, distinct ones
        inputs = GrowthInput(
            table, table, rows, some, self.own_centers, self.own_centers, _ranges_of(self.sample), node.path_sides,
            self.sample,
        )  # fmt: skip
        self.scan = NodeScan(inputs)
        self.scan.take_sums(
            tally,
            np.ascontiguousarray(tally[:, :, 2]) if weight is None else weight,
            center_step,
            cost,
            fixed,
            growth.tradeoff,
        )
        self.bins: dict[int, NDArray[np.int32]] = {}
        self.too_many: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
        self.values: dict[int, ValueSums] = {}
        self.doubtful = tuple(f for f in range(growth.d) if self._is_doubtful(f))

    def _is_doubtful(self, feature: int) -> bool:
        """Whether a cut may have as many rows on each side as centers, but fewer distinct ones.

        The sample's rows are distinct, and so those on a side are at least as many.
        """
        n_sample, n_codes = len(self.sample), self.tally.shape[1]
        codes = self.scan.codes[feature]
        centers = np.sort(codes[n_sample:])
        low, high = int(centers[0]), int(centers[-1])
        at = np.arange(low, high)
        n_left = np.searchsorted(centers, at, side="right")
        n_right = len(centers) - n_left
        sampled = np.cumsum(np.bincount(codes[:n_sample], minlength=n_codes))
        counted = np.concatenate([[0], np.cumsum(self.tally[feature, :, 2])])  # before each code
        n_rows = counted[-1]
        left = (sampled[at] < n_left) & (counted[at + 2] >= n_left)
        right = (n_sample - sampled[at] < n_right) & (n_rows - counted[at] >= n_right)
        return bool((left | right).any())

    def take_ends(self, feature: int, ends: Ends) -> bool:
        """Count the rows of the outermost values as distinct; False if the node has few distinct rows."""
        counts = ends.repeated(len(self.node.centers))
        if counts is None:
            return False
        values, repeated = counts
        self.too_many[feature] = values, repeated
        codes = np.clip(self._codes_of(feature, values), *self._outer_codes(feature))
        rows = self.tally[feature, :, 2] - np.bincount(codes, repeated, self.tally.shape[1]).astype(np.int64)
        self.scan.take_rows(feature, np.ascontiguousarray(rows))
        return True

    def _outer_codes(self, feature: int) -> tuple[int, int]:
        codes = self.scan.codes[feature, len(self.sample) :]
        return int(codes.min()), int(codes.max())

    def _codes_of(self, feature: int, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the bins of values of a feature."""
        if not len(values):
            return np.empty(0, dtype=np.int32)
        table = np.zeros((len(values), self.growth.d))
        table[:, feature] = values
        rows = np.arange(len(values), dtype=np.int32)
        ranges = _ranges_of(self.sample)
        codes = _kernel.encode(table, rows, self.own_centers, 1, ranges=ranges, sample=self.sample)[0]
        return np.asarray(codes[feature])

    def find_bins(self) -> bool:
        """List the bins inside which the best cut may lie; return whether there are any."""
        features = range(self.growth.d)
        lowest = min(self.scan.lowest(feature, False, math.inf) for feature in features)
        found = {feature: self.scan.bins_within(feature, lowest) for feature in features}
        self.bins = {feature: bins for feature, bins in found.items() if len(bins)}
        self.at_ends = lowest
        return bool(self.bins)

    def take_values(self, feature: int, values: ValueSums) -> None:
        """Take the rows of the bins of a feature."""
        sums = values.sums
        self.values[feature] = values
        if feature in self.too_many:
            of_ends, repeated = self.too_many[feature]
            sums = sums.copy()
            sums[:, 2] -= values_of(values.value, of_ends, repeated)
        self.scan.take_items(feature, values.value, sums)

    def lowest(self) -> float:
        """Return the lowest objective of all cuts, infinity if none is valid."""
        return min(self.scan.lowest(feature, True, self.at_ends) for feature in range(self.growth.d))

    def cut(self, lowest: float) -> list[_Node]:
        """Make the first of the best cuts; return the children."""
        growth, node = self.growth, self.node
        feature, found = next((f, cut) for f in range(growth.d) if (cut := self.scan.first_cut(f, lowest)) is not None)
        code, inside, value = found
        low = int(self.tally[feature, : code + (not inside), 2].sum())
        weights = self.tally[feature, :, 2] if self.weight is None else self.weight[feature]
        weight = int(weights[: code + (not inside)].sum())
        if inside:
            of_code = self.values[feature]
            below = (of_code.sums[:, 3] == code) & (of_code.value <= value)
            low += int(of_code.sums[below, 2].sum())
            weight += int(of_code.sums[below, 1].sum())
        threshold = value if inside else self._last_value(feature, code)
        places = growth.add_children(node.place, feature, threshold)
        goes_left = growth.explain_centers[node.centers, feature] <= threshold
        sampled_left = node.sample[:, feature] <= threshold
        scale = growth.weight_scale if growth.weighted else 1.0
        # Price is at most the objective: a subtree is no shallower than one condition, and no more than one is saved.
        bound = self.cost * max(lowest, 1.0) * (1 + 1e-6)
        children = []
        for side, place in enumerate(places):
            path_sides = node.path_sides.copy()
            path_sides[feature] |= 2 if side else 1
            here = ~goes_left if side else goes_left
            children.append(
                _Node(
                    place,
                    node.centers[here],
                    path_sides,
                    node.n_rows - low if side else low,
                    ((int(weights.sum()) - weight) if side else weight) / scale * (1 + 1e-6),
                    bound,
                    node.sample[~sampled_left if side else sampled_left],
                )
            )
        return children

    def _last_value(self, feature: int, code: int) -> float:
        """Return the largest number whose bin is at most `code`: the cut at the end of a bin as a threshold."""
        coordinates = self.own_centers[:, feature]
        codes = self.scan.codes[feature, len(self.sample) :]
        low = _position(float(coordinates[codes <= code].max()))
        high = _position(float(coordinates[codes > code].min()))
        while high - low > 1:
            step = max(1, (high - low) // 1024)
            positions = [low, *range(low + step, high, step), high]
            values = np.array([_number(position) for position in positions])
            n_left = int((self._codes_of(feature, values) <= code).sum())
            low, high = positions[n_left - 1], positions[n_left]
        return _number(low)


def _position(value: float) -> int:
    """Return a whole number that is in the order of the floats."""
    bits = int(np.float64(value + 0.0).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def _number(position: int) -> float:
    """Return the float at a position."""
    value = float(np.int64(abs(position)).view(np.float64))
    return value if position >= 0 else -value


def _with_sums(tree: CutTree, found: dict[int, LeafSums], explain_centers: NDArray[np.float64]) -> GrownTree:
    """Return a tree with the gaps between its rows, and their number and weight, from those of its leaves."""
    n_nodes, d = len(tree.feature), explain_centers.shape[1]
    nothing = LeafSums(0, 0, np.full(d, np.inf), np.full(d, -np.inf))
    at: list[LeafSums] = [nothing] * n_nodes
    lower, upper, cut = tree.lower.copy(), tree.upper.copy(), tree.cut.copy()
    for node in range(n_nodes)[::-1]:
        if tree.feature[node] == LEAF:
            at[node] = found.get(node, nothing)
            continue
        left, right = at[tree.left[node]], at[tree.right[node]]
        at[node] = left.merged(right)
        lower[node] = left.high[tree.feature[node]]
        upper[node] = right.low[tree.feature[node]]
    centers = {0: np.arange(len(explain_centers))}
    for node in range(n_nodes):
        if tree.feature[node] == LEAF:
            continue
        coordinates = explain_centers[centers[node], tree.feature[node]]
        goes_left = coordinates <= tree.cut[node]
        cut[node] = max(lower[node], float(coordinates[goes_left].max()))
        centers[int(tree.left[node])] = centers[node][goes_left]
        centers[int(tree.right[node])] = centers[node][~goes_left]
    return GrownTree(
        tree.feature,
        tree.left,
        tree.right,
        tree.center,
        lower,
        upper,
        cut,
        rows=np.array([sums.n_rows for sums in at], dtype=np.int64),
        weight=np.array([sums.total_weight for sums in at]),
        labels=np.empty(0, dtype=np.int32),
    )

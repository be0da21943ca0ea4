"""Growing the kernel's tree from a table in parts that are never together in memory.

Nodes of one level are worked on together. A pass adds up the contributions of each part's rows to the cuts of each bin,
in the kernel's fixed point; a second one fetches the rows of the bins inside which the best cut may lie, merging those
of equal value. Both add up exactly, however the rows are cut into parts. Small nodes are collected and grown whole by
the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules.encoding.rows import Encode, Rows
from shallowrules.errors import DataError, OptionError, counted
from shallowrules.partitions import Partitions
from shallowrules.trees.growing import grow
from shallowrules.trees.grown_tree import GrownTree, preordered, without_gaps
from shallowrules.trees.growth_data import MAX_CENTERS, GrowthData, UniqueRows, check_range, find_unique_rows
from shallowrules.trees.parts.cut_search import FIRST_REACH, NODE_SAMPLE, CutSearch, FoundCut, Node
from shallowrules.trees.parts.leaf_sums import with_leaf_sums
from shallowrules.trees.parts.node_passes import (
    NodeRequest,
    Request,
    Route,
    collect_part,
    collect_rows,
    find_ends,
    find_totals,
    sample_bins,
    sum_bins,
    sum_center_costs,
    sum_values,
)
from shallowrules.trees.parts.node_sums import Collected, Totals
from shallowrules.trees.progress import Progress
from shallowrules.trees.tree import LEAF

__all__ = ["PartsGrowthData", "grow_parts"]

SAMPLE_CELLS, MAX_SAMPLE = 2**20, 2**16
"""Maximum numbers and rows of the sample that determines the bins of all nodes; it has at least `NODE_SAMPLE` rows."""

SAMPLE_MARGIN = 2.0
"""Rows whose keys are examined for the sample, as a multiple of its size: a part need not sort the others."""

MIN_FETCHED_ROWS = 2**16
"""Rows of bins whose values are fetched even with little memory: they take no more than the sums of bins."""

REACH_FACTOR = FIRST_REACH**2
"""As in the kernel's `fixed_point`."""

MAX_COARSENESS = 64.0
"""Sums are taken again where a node's cost allows units this many times finer."""

TIE = 1e-9
"""As in the kernel's `objective`: of the centers whose cost is that close to the lowest, a leaf gets the first."""


@dataclass(frozen=True, eq=False)
class PartsGrowthData:
    """A table in parts, and the centers that a tree over it should explain, as `GrowthData`.

    Parameters
    ----------
    parts : Partitions
    encode : callable
        Takes a part, and returns its `Rows`, those of weight 0 left out.
    explain_centers : ndarray of float64, shape (k, d)
    cluster_centers : ndarray of float64, shape (k, m)
    n_rows : int
        Rows that count.
    """

    parts: Partitions
    encode: Encode
    explain_centers: NDArray[np.float64]
    cluster_centers: NDArray[np.float64]
    n_rows: int


def grow_parts(
    table: PartsGrowthData,
    *,
    collected_rows: int,
    method: str = "exshallow",
    tradeoff: float = 0.03,
    n_threads: int = 1,
    progress: Progress | None = None,
    log: Callable[[str], None] | None = None,
) -> tuple[GrownTree, UniqueRows | None]:
    """Grow the tree that explains some centers, from a table in parts: the one that `growing.grow` grows from it whole.

    Parameters
    ----------
    table : PartsGrowthData
    collected_rows : int
        Most rows that this process may collect. The tree does not depend on it. A table within the limit is
        collected in one pass and grown as a whole.
    method : {"exshallow", "exgreedy"}
    tradeoff : float
        As for `growing.grow`.
    n_threads : int
        Threads that grow the collected nodes.
    progress, log : callable, optional
        Called with the share of the cuts that are made; with a line for each level.

    Returns
    -------
    GrownTree
        Its `labels` are empty, unless the table was collected.
    UniqueRows or None
        The table as it was collected, None if it was not.

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
    k = len(table.cluster_centers)
    if k > MAX_CENTERS:
        raise OptionError(f"{k:,} clusters are more than the {MAX_CENTERS:,} that a tree can have")
    if table.n_rows <= collected_rows:
        found: Collected = table.parts.map_reduce(collect_part, table.encode)
        rows = found.rows()
        centers = table.explain_centers, table.cluster_centers
        data = GrowthData(rows.X_explain, rows.X_cluster, *centers, rows.weight)
        unique = find_unique_rows(data, n_threads=n_threads)
        return grow(unique, method=method, tradeoff=tradeoff, n_threads=n_threads, progress=progress), unique
    growth = _Growth(table, 0.0 if method == "exgreedy" else float(tradeoff), n_threads)
    growth.progress = progress
    if log is not None:
        growth.log = log
    return growth.run(table.n_rows, collected_rows), None


class _Growth:
    """A tree that grows, level by level."""

    def __init__(self, table: PartsGrowthData, tradeoff: float, n_threads: int) -> None:
        self.parts, self.encode, self.tradeoff, self.n_threads = table.parts, table.encode, tradeoff, n_threads
        self.explain_centers = np.ascontiguousarray(table.explain_centers, dtype=np.float64)
        self.cluster_centers = np.ascontiguousarray(table.cluster_centers, dtype=np.float64)
        self.k, self.d = self.explain_centers.shape
        self.progress: Progress | None = None
        self.log: Callable[[str], None] = lambda line: None
        self.feature, self.left, self.right, self.center = [LEAF], [LEAF], [LEAF], [0]
        self.cut = [0.0]
        self.weight_scale, self.weighted = 1.0, False
        self.collected: list[Node] = []
        self.fetched_rows = MIN_FETCHED_ROWS

    def run(self, n_rows: int, collected_rows: int) -> GrownTree:
        """Return the tree."""
        self.fetched_rows = max(MIN_FETCHED_ROWS, collected_rows)
        root, room = self._root(n_rows), collected_rows
        pending, level = [root], 0
        while pending:
            large = []
            for node in sorted(pending, key=lambda node: node.n_rows):
                if len(node.centers) == 1:
                    self.center[node.place] = int(node.centers[0])
                elif node.cost_bound == 0.0:
                    self._collect_distinct(node)
                elif node.n_rows <= room:
                    room -= node.n_rows
                    self.collected.append(node)
                else:
                    large.append(node)
            if large:
                level += 1
                n_rows = sum(node.n_rows for node in large)
                self.log(f"level {level}: {counted(len(large), 'node')} of {counted(n_rows, 'row')} cut over the parts")
            pending = self._cut_level(sorted(large, key=lambda node: node.place))
        self._grow_collected()
        return self._finished()

    def _root(self, n_rows: int) -> Node:
        """Return the root, from a pass over all rows."""
        n_sample = max(NODE_SAMPLE, min(MAX_SAMPLE, SAMPLE_CELLS // self.d))
        share = min(1.0, SAMPLE_MARGIN * n_sample / max(n_rows, 1))
        max_key = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
        totals: Totals = self.parts.map_reduce(find_totals, (self.encode, self.cluster_centers, n_sample, max_key))
        if not totals.n_rows:
            raise DataError("there are no rows of positive weight")
        self.weighted = totals.weighted
        weight = totals.weight_sum if self.weighted else float(totals.n_rows)
        check_range(totals.low, totals.high, self.cluster_centers, totals.weight_sum if self.weighted else 0.0)
        self.weight_scale = math.ldexp(1.0, min(max(60 - math.frexp(weight)[1], -1000), 1000))
        cost_bound = totals.cost_bound() * (1 + 1e-6)
        centers, no_sides = np.arange(self.k), np.zeros(self.d, dtype=np.uint8)
        return Node(0, centers, no_sides, totals.n_rows, weight * (1 + 1e-6), cost_bound, totals.sample.rows)

    def _request(self, nodes: Mapping[int, NodeRequest]) -> Request:
        route = Route(
            np.array(self.feature, dtype=np.int32),
            np.array(self.cut),
            np.array(self.left, dtype=np.int32),
            np.array(self.right, dtype=np.int32),
        )
        return Request(self.encode, route, nodes, self.weight_scale, self.explain_centers, self.cluster_centers)

    def _collect_distinct(self, node: Node) -> None:
        node.few_rows = True
        self.collected.append(node)

    def _cut_level(self, level: list[Node]) -> list[Node]:
        """Cut the nodes of one level; return their children."""
        for node in level:
            if not len(node.sample):
                node.sample = self.explain_centers[node.centers]
        children: list[Node] = []
        while level:
            level = self._cut_nodes(level, children)
        return children

    def _cut_nodes(self, nodes: list[Node], children: list[Node]) -> list[Node]:
        """Cut some nodes; return those whose sums are taken again: in finer units or bins, or up to higher prices."""
        for node in nodes:
            node.fixed = self._fixed_point(node, node.cost_bound)
        requests = {node.place: NodeRequest(node.centers, node.bin_sample, node.fixed) for node in nodes}
        found = self.parts.map_reduce(sum_bins, self._request(requests)).values
        again: list[Node] = []
        searches: list[CutSearch] = []
        for node in nodes:
            sums = found[node.place]
            scale, cap, reach = node.fixed
            if not sums["cost"][2]:  # every row lies on a center
                self._collect_distinct(node)
                continue
            cost = _kernel.cost_of(sums["cost"], scale)
            bound = cost + node.n_rows * 2.0**-28 / scale
            if self._fixed_point(node, bound)[0] > MAX_COARSENESS * scale:
                node.cost_bound = bound
                again.append(node)
                continue
            if (
                not cost
            ):  # rows are nearer to their centers than the units can resolve, because other centers are very far away
                self._collect_distinct(node)
                continue
            fixed = scale, cap, reach * node.cost_bound / cost
            sample = requests[node.place].sample
            searches.append(CutSearch(node, sample, sums, cost, fixed, self.explain_centers, self.tradeoff))
        searches = self._count_distinct(searches)
        large = self._divide_bins(searches, requests)
        again += large
        searches = [search for search in searches if search.node not in large]
        self._fetch_values(searches, requests)
        leaves = []
        for search in searches:
            node, lowest = search.node, search.lowest()
            if lowest == math.inf:
                leaves.append(search)
            elif not search.scan.is_within_reach(lowest):
                node.reach, node.cost_bound = node.reach * REACH_FACTOR, search.cost
                again.append(node)
            else:
                # The price is at most the objective: a subtree has at least one condition, and no more than one is
                # saved.
                children += self._cut(node, search.cut(lowest), search.cost * max(lowest, 1.0) * (1 + 1e-6))
        self._end_branches(leaves, requests)
        return again

    def _fixed_point(self, node: Node, cost: float) -> tuple[float, float, float]:
        return _kernel.fixed_point(self.cluster_centers[node.centers], cost, node.n_rows, node.weight, node.reach)

    def _divide_bins(self, searches: Sequence[CutSearch], requests: Mapping[int, NodeRequest]) -> list[Node]:
        """Find the bins inside which cuts may win, and sample those that are too large; return the nodes of these.

        A bin is not divided again if hardly any rows would leave it, because they are equal.
        """
        wanted, nodes = {}, []
        for search in searches:
            node, n_inside = search.node, search.find_bins()
            if n_inside > self.fetched_rows and (node.inner_rows is None or 2 * n_inside <= node.inner_rows):
                wanted[node.place] = replace(requests[node.place], bins=search.bins)
                node.inner_rows = n_inside
                nodes.append(node)
        if nodes:
            self.log(f"the bins of {counted(len(nodes), 'node')} in which the best cut may lie are divided again")
            found = self.parts.map_reduce(sample_bins, (self._request(wanted), NODE_SAMPLE)).values
            for node in nodes:
                node.inner_sample = found[node.place].rows
        return nodes

    def _fetch_values(self, searches: Sequence[CutSearch], requests: Mapping[int, NodeRequest]) -> None:
        """Fetch the rows of the bins inside which cuts may win."""
        by_place = {search.node.place: search for search in searches if search.bins}
        if not by_place:
            return
        wanted = {place: replace(requests[place], bins=search.bins) for place, search in by_place.items()}
        found = dict(self.parts.map_reduce(sum_values, self._request(wanted)).values)
        for place, feature in list(found):
            by_place[place].take_values(feature, found.pop((place, feature)))

    def _count_distinct(self, searches: list[CutSearch]) -> list[CutSearch]:
        """Count the distinct rows where they decide whether a cut is valid; collect the nodes that have few."""
        wanted = {
            search.node.place: NodeRequest(
                search.node.centers, search.node.sample, search.node.fixed, features=search.doubtful
            )
            for search in searches
            if search.doubtful
        }
        if not wanted:
            return searches
        found = self.parts.map_reduce(find_ends, self._request(wanted)).values
        kept = []
        for search in searches:
            if all(search.take_ends(feature, found[search.node.place, feature]) for feature in search.doubtful):
                kept.append(search)
            else:
                self._collect_distinct(search.node)
        return kept

    def _end_branches(self, searches: Sequence[CutSearch], requests: Mapping[int, NodeRequest]) -> None:
        """Make leaves of nodes without a valid cut, each with the first of the cheapest centers."""
        if not searches:
            return
        wanted = {}
        for search in searches:
            node, own = search.node, self.cluster_centers[search.node.centers]
            diagonal = float(((own.max(axis=0) - own.min(axis=0)) ** 2).sum())
            largest = 2.0 * search.cost + 2.0 * node.weight * diagonal  # of every center's cost
            scale = math.ldexp(1.0, min(max(61 - math.frexp(largest)[1], -1000), 1000))
            wanted[node.place] = replace(requests[node.place], fixed=(scale, math.inf, math.inf))
        found = self.parts.map_reduce(sum_center_costs, self._request(wanted)).values
        for search in searches:
            place = search.node.place
            costs = [_kernel.cost_of(cost, wanted[place].fixed[0]) for cost in found[place]["costs"]]
            cheapest = next(i for i, cost in enumerate(costs) if cost <= min(costs) * (1 + TIE))
            self.center[place] = int(search.node.centers[cheapest])

    def _cut(self, node: Node, cut: FoundCut, cost_bound: float) -> list[Node]:
        """Cut a node; return its children."""
        places = self._add_children(node.place, cut.feature, cut.threshold)
        if self.progress is not None:
            self.progress(sum(feature != LEAF for feature in self.feature) / max(self.k - 1, 1))
        goes_left = self.explain_centers[node.centers, cut.feature] <= cut.threshold
        sampled_left = node.sample[:, cut.feature] <= cut.threshold
        scale = self.weight_scale if self.weighted else 1.0
        children = []
        for side, place in enumerate(places):
            path_sides = node.path_sides.copy()
            path_sides[cut.feature] |= 2 if side else 1
            n_rows = node.n_rows - cut.left_rows if side else cut.left_rows
            weight = (cut.weight - cut.left_weight if side else cut.left_weight) / scale * (1 + 1e-6)
            centers = node.centers[~goes_left if side else goes_left]
            sample = node.sample[~sampled_left if side else sampled_left]
            children.append(Node(place, centers, path_sides, n_rows, weight, cost_bound, sample))
        return children

    def _add_children(self, place: int, feature: int, threshold: float) -> tuple[int, int]:
        """Give a leaf of the tree so far a cut; return the places of its children."""
        left = len(self.feature)
        self.feature[place], self.cut[place] = feature, threshold
        self.left[place], self.right[place] = left, left + 1
        for numbers in (self.feature, self.left, self.right, self.center):
            numbers += [LEAF, LEAF]
        self.cut += [0.0, 0.0]
        return left, left + 1

    def _grow_collected(self) -> None:
        """Collect the nodes that are small, in one pass, and grow their subtrees."""
        if not self.collected:
            return
        n_rows = sum(node.n_rows for node in self.collected)
        self.log(f"{counted(len(self.collected), 'node')} of {counted(n_rows, 'row')} collected")
        wanted = {
            node.place: NodeRequest(node.centers, node.sample[:0], node.fixed, distinct=node.few_rows)
            for node in self.collected
        }
        found = dict(self.parts.map_reduce(collect_rows, self._request(wanted)).values)
        for node in self.collected:
            self._graft(node, found.pop(node.place).rows())

    def _graft(self, node: Node, rows: Rows) -> None:
        """Grow a collected node, and replace it by its subtree."""
        data = GrowthData(
            rows.X_explain,
            rows.X_cluster,
            self.explain_centers[node.centers],
            self.cluster_centers[node.centers],
            rows.weight,
        )
        unique = find_unique_rows(data, n_threads=self.n_threads)
        inputs = unique.kernel_input()._replace(path_sides=node.path_sides)
        made = sum(feature != LEAF for feature in self.feature)

        def report(share: float) -> None:
            if self.progress is not None:
                self.progress((made + share * (len(node.centers) - 1)) / max(self.k - 1, 1))

        grown = _kernel.grow_tree(inputs, self.tradeoff, n_threads=self.n_threads, progress=report)
        tree = preordered(grown)
        places = {0: node.place}
        for i, place in ((i, places[i]) for i in range(len(tree.feature))):
            if tree.feature[i] == LEAF:
                self.center[place] = int(node.centers[tree.center[i]])
            else:
                children = self._add_children(place, int(tree.feature[i]), float(tree.cut[i]))
                places[int(tree.left[i])], places[int(tree.right[i])] = children

    def _finished(self) -> GrownTree:
        """Return the tree with its gaps and the rows that reach each node, from one pass."""
        nodes = {name: np.array(getattr(self, name)) for name in ("feature", "left", "right", "center", "cut")}
        return with_leaf_sums(self.parts, self.encode, without_gaps(nodes), self.explain_centers)

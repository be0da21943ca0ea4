"""The definitions by brute force, against which the kernel is tested.

Plain NumPy, no sweep, no codes, no fixed point. A *node* is the rows and the centers that reach
it; the objective of every cut of every feature is computed again at every node. Equation and section numbers are those
of Laber, Murtinho and Oliveira, "Shallow decision trees for explainable k-means clustering".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from strategies import Problem

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Objectives this close (relative) to the smallest are tied with it."""

ROUNDING = 1e-10
"""More than any sum of this size is off by, relative to the objective."""

LEAF = -1


@dataclass(frozen=True)
class Node:
    """The rows and centers at a node; equal rows are one row here."""

    columns: Floats  # (rows, features): where cuts live
    distances: Floats  # (rows, centers): squared, in the space that was clustered
    weight: Floats  # (rows,)
    coordinates: Floats  # (centers, features): the centers where cuts live
    centers: NDArray[np.intp]  # (centers,): their indices
    edges: frozenset[tuple[int, bool]] = frozenset()  # (feature, goes left) from the root
    assigned: NDArray[np.intp] | None = None  # (rows,): for IMM, the position in `centers` of each row's own

    def child(self, feature: int, threshold: float, left: bool) -> Node:
        """Return the rows and centers on one side of a cut; for IMM, without the rows that lose their center."""
        rows = (self.columns[:, feature] <= threshold) == left
        centers = (self.coordinates[:, feature] <= threshold) == left
        assigned = None
        if self.assigned is not None:
            rows &= centers[self.assigned]
            assigned = (np.cumsum(centers) - 1)[self.assigned[rows]]
        return Node(
            self.columns[rows],
            self.distances[np.ix_(rows, centers)],
            self.weight[rows],
            self.coordinates[centers],
            self.centers[centers],
            self.edges | {(feature, left)},
            assigned,
        )

    def side(self, feature: int, threshold: float, left: bool) -> Node:
        """Return the rows on one side of a cut, and all centers, from which ExKMC's leaves choose."""
        rows = (self.columns[:, feature] <= threshold) == left
        return replace(
            self, columns=self.columns[rows], distances=self.distances[rows], weight=self.weight[rows], assigned=None
        )

    @property
    def current_cost(self) -> float:
        """Weighted squared distance of each row to the nearest of the node's centers."""
        return float((self.weight * self.distances.min(axis=1)).sum())

    @property
    def center_costs(self) -> Floats:
        """The cost of the node as a leaf of each of its centers."""
        # Not a matrix product, which may sum equal columns in different orders.
        return np.asarray((self.weight[:, None] * self.distances).sum(axis=0))

    @property
    def cheapest_center(self) -> int:
        """The first of the centers that tie for the cheapest leaf."""
        costs = self.center_costs
        return int(self.centers[costs <= costs.min() * (1 + TOLERANCE)].min())


@dataclass(frozen=True)
class Cuts:
    """Valid cuts of a node by feature and threshold, one per way of splitting it."""

    feature: NDArray[np.intp]
    threshold: Floats
    centers_left: NDArray[np.intp]
    share_left: Floats  # of the node's weight
    induced: Floats  # cost once each row keeps to the centers on its side

    def __len__(self) -> int:
        return len(self.feature)


def weighted(weight: Floats | None, n_rows: int) -> tuple[NDArray[np.bool_], Floats]:
    """Return which rows take part at all, and the weights of those."""
    weight = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
    return weight > 0, weight[weight > 0]


def make_root(
    X_explain: NDArray[np.floating],
    X_cluster: NDArray[np.floating],
    explain_centers: Floats,
    centers: Floats,
    weight: Floats | None,
    assigned: NDArray[np.integer] | None = None,
    method: str = "exshallow",
) -> Node:
    """Return the root: rows of weight 0 left out, rows equal in both spaces (and in their label) merged.

    For IMM each row has a center of its own: the given one, else the nearest, the first of equally near ones.
    """
    present, weight = weighted(weight, len(X_explain))
    columns, points = X_explain[present].astype(np.float64), X_cluster[present].astype(np.float64)
    labels = np.zeros(len(columns)) if assigned is None else assigned[present].astype(np.float64)
    together = np.hstack([columns, points, labels[:, None]]) + 0.0  # -0.0 and 0.0 are one value
    _, first, which = np.unique(together, axis=0, return_index=True, return_inverse=True)
    distances = np.stack([((points[first] - center) ** 2).sum(axis=1) for center in centers], axis=1)
    merged = np.bincount(which.ravel(), weight).astype(np.float64)
    root = Node(columns[first], distances, merged, explain_centers, np.arange(len(centers)))
    if method != "imm":
        return root
    own = distances.argmin(axis=1) if assigned is None else labels[first].astype(np.intp)
    return replace(root, assigned=own)


def eval_wad(n_centers: int, n_left: int, share_left: float | Floats) -> float | Floats:
    """Return f_K(p): the depth expected if all cuts below split like this one (EvalWAD)."""
    f = [np.zeros_like(share_left), np.zeros_like(share_left)]
    for m in range(2, n_centers + 1):
        a = min(max(-(-m * n_left // n_centers), 1), m - 1)
        f.append(1 + share_left * f[a] + (1 - share_left) * f[m - a])
    return f[n_centers]


def induced_cost(node: Node, feature: int, threshold: float) -> float:
    """Return the cost of one cut, exactly as it is defined."""
    cost = 0.0
    for left in (True, False):
        side = node.child(feature, threshold, left)
        cost += side.current_cost if len(side.weight) else 0.0
    return cost


def induced_costs(node: Node, feature: int, thresholds: Floats) -> Floats:
    """Return `induced_cost` for many cuts of a feature that all separate centers.

    The cost of a row on its side depends on the cut only through the number of centers there, so
    running sums over the sorted rows, one per number of centers, hold the answer to every cut.
    """
    by_row = np.argsort(node.columns[:, feature], kind="stable")
    by_center = np.argsort(node.coordinates[:, feature], kind="stable")
    costs = (node.weight[:, None] * node.distances)[np.ix_(by_row, by_center)]
    nothing = np.zeros((1, len(by_center)))
    # On the left with the first m + 1 centers; on the right with all but the first m.
    left = np.vstack([nothing, np.cumsum(np.minimum.accumulate(costs, axis=1), axis=0)])
    right = np.minimum.accumulate(costs[:, ::-1], axis=1)[:, ::-1]
    right = np.vstack([np.cumsum(right[::-1], axis=0)[::-1], nothing])
    rows_left = np.searchsorted(node.columns[by_row, feature], thresholds, side="right")
    centers_left = np.searchsorted(node.coordinates[by_center, feature], thresholds, side="right")
    return np.asarray(left[rows_left, centers_left - 1] + right[rows_left, centers_left])


def splitting_values(node: Node, feature: int) -> Floats:
    """Return one threshold for every way in which a feature splits the node's rows and centers."""
    return np.unique(np.concatenate([node.columns[:, feature], node.coordinates[:, feature]]))


def candidate_cuts(node: Node) -> Cuts:
    """Return all valid cuts: a center on each side, and at least as many rows as centers there."""
    n_rows, n_features = node.columns.shape
    found = []
    for feature in range(n_features):
        thresholds = splitting_values(node, feature)
        by_row = np.argsort(node.columns[:, feature], kind="stable")
        rows_left = np.searchsorted(node.columns[by_row, feature], thresholds, side="right")
        centers_left = np.searchsorted(np.sort(node.coordinates[:, feature]), thresholds, side="right")
        centers_right = len(node.centers) - centers_left
        valid = (centers_left > 0) & (centers_right > 0)
        valid &= (rows_left >= centers_left) & (n_rows - rows_left >= centers_right)
        weight_left = np.concatenate([[0.0], np.cumsum(node.weight[by_row])])[rows_left]
        found.append(
            Cuts(
                np.full(valid.sum(), feature),
                thresholds[valid],
                centers_left[valid],
                weight_left[valid] / node.weight.sum(),
                induced_costs(node, feature, thresholds[valid]),
            )
        )
    return Cuts(*(np.concatenate([getattr(cuts, name) for cuts in found]) for name in Cuts.__dataclass_fields__))


def objectives(node: Node, cuts: Cuts, tradeoff: float) -> Floats:
    """Return Price + λ·DExp of each cut; where the node costs nothing, the quantity that decides then."""
    depth = np.empty(len(cuts))
    for n_left in np.unique(cuts.centers_left):
        same = cuts.centers_left == n_left
        depth[same] = eval_wad(len(node.centers), int(n_left), cuts.share_left[same])
    has_left = np.array([(feature, True) in node.edges for feature in cuts.feature], dtype=bool)
    has_right = np.array([(feature, False) in node.edges for feature in cuts.feature], dtype=bool)
    expected = depth - cuts.share_left * has_left - (1 - cuts.share_left) * has_right

    current = node.current_cost
    if current > 0:
        return np.asarray(np.maximum(cuts.induced / current, 1) + tradeoff * expected)
    if (cuts.induced == 0).any():
        return np.where(cuts.induced == 0, 1 + tradeoff * expected, np.inf)
    return cuts.induced


def mistakes(node: Node, cuts: Cuts) -> Floats:
    """Return the weight of the rows that each cut separates from their center (IMM)."""
    own = node.coordinates[node.assigned]
    if (node.weight == np.floor(node.weight)).all() and node.weight.sum() < 2**53:
        return counted_mistakes(node, cuts, own)
    return np.array(
        [
            node.weight[(node.columns[:, feature] <= threshold) != (own[:, feature] <= threshold)].sum()
            for feature, threshold in zip(cuts.feature, cuts.threshold, strict=True)
        ]
    )


def counted_mistakes(node: Node, cuts: Cuts, own: Floats) -> Floats:
    """Return the weight that each cut separates, from running sums, which are exact for whole weights.

    A row is separated by the thresholds from the lower of its value and its center's, up to the higher.
    """
    found = np.empty(len(cuts))
    for feature in range(node.columns.shape[1]):
        mine = cuts.feature == feature
        ends = np.sort([node.columns[:, feature], own[:, feature]], axis=0)
        sums = []
        for end in ends:
            order = np.argsort(end, kind="stable")
            reached = np.searchsorted(end[order], cuts.threshold[mine], side="right")
            sums.append(np.concatenate([[0.0], np.cumsum(node.weight[order])])[reached])
        found[mine] = sums[0] - sums[1]
    return found


def surrogate_cuts(node: Node) -> Cuts:
    """Return all cuts with rows on both sides; `induced` is their surrogate cost, one center per side (ExKMC)."""
    found = []
    for feature in range(node.columns.shape[1]):
        by_row = np.argsort(node.columns[:, feature], kind="stable")
        costs = (node.weight[:, None] * node.distances)[by_row]
        thresholds = np.unique(node.columns[:, feature])[:-1]
        rows_left = np.searchsorted(node.columns[by_row, feature], thresholds, side="right")
        left = np.cumsum(costs, axis=0)[rows_left - 1]
        right = np.cumsum(costs[::-1], axis=0)[::-1][rows_left]
        nothing = np.zeros(len(thresholds))
        induced = left.min(axis=1) + right.min(axis=1)
        found.append(Cuts(np.full(len(thresholds), feature), thresholds, nothing.astype(np.intp), nothing, induced))
    return Cuts(*(np.concatenate([getattr(cuts, name) for cuts in found]) for name in Cuts.__dataclass_fields__))


def gain(node: Node, cuts: Cuts) -> float:
    """Return how much the best of its cuts lowers the surrogate cost of a leaf; 0 where only rounding does."""
    cost = float(node.center_costs.min())
    lowered = cost - float(cuts.induced.min()) if len(cuts) else -np.inf
    return lowered if lowered > ROUNDING * cost else min(lowered, 0.0)


def score(node: Node, cuts: Cuts, method: str, tradeoff: float) -> Floats:
    """Return the quantity that a method minimizes over the cuts of a node."""
    if method == "exkmc":
        return cuts.induced
    return mistakes(node, cuts) if method == "imm" else objectives(node, cuts, tradeoff)


def best(node: Node, cuts: Cuts, tradeoff: float, method: str = "exshallow") -> int:
    """Return the winner: the first cut, by feature and threshold, tied with the smallest objective."""
    objective = score(node, cuts, method, tradeoff)
    return int(np.flatnonzero(objective <= objective.min() * (1 + TOLERANCE))[0])


@dataclass
class Branch:
    """A node of a tree that is being grown: its rows (of those with weight), and its cut or center."""

    rows: NDArray[np.bool_]
    whole: Node  # its rows, all centers
    center: int = LEAF
    feature: int = LEAF
    cut: float = 0.0
    left: Branch | None = None
    right: Branch | None = None

    def split(self, columns: Floats, feature: int, cut: float) -> tuple[Branch, Branch]:
        """Make two leaves of a leaf."""
        goes_left = columns[:, feature] <= cut
        self.feature, self.cut, self.center = feature, cut, LEAF
        self.left = Branch(self.rows & goes_left, self.whole.side(feature, cut, left=True))
        self.right = Branch(self.rows & ~goes_left, self.whole.side(feature, cut, left=False))
        return self.left, self.right


def grow(
    problem: Problem,
    *,
    method: str = "exshallow",
    max_leaves: int | None = None,
    base: str = "none",
    assigned: NDArray[np.integer] | None = None,
) -> SimpleNamespace:
    """Grow the whole tree by brute force; its arrays are named like the kernel's."""
    present, row_weight = weighted(problem.weight, len(problem.X_explain))
    columns = problem.X_explain[present].astype(np.float64)
    arrays, n_centers = (*problem.arrays, problem.weight), len(problem.centers)
    top = Branch(np.ones(len(columns), dtype=bool), make_root(*arrays))
    leaves: list[Branch] = []  # oldest first

    def divide(branch: Branch, node: Node, how: str) -> None:
        """Grow the part below a node that separates centers."""
        cuts = candidate_cuts(node)
        if not len(cuts):
            branch.center = node.cheapest_center
            leaves.append(branch)
            return
        winner = best(node, cuts, problem.tradeoff, how)
        feature, cut = int(cuts.feature[winner]), float(cuts.threshold[winner])
        for child, left in zip(branch.split(columns, feature, cut), (True, False), strict=True):
            divide(child, node.child(feature, cut, left), how)

    if method != "exkmc":
        divide(top, make_root(*arrays, assigned, method), method)
    elif base == "imm":
        divide(top, make_root(*arrays, assigned, "imm"), "imm")
    else:
        top.center = int(np.argmin(top.whole.center_costs))
        leaves.append(top)
    while method == "exkmc" and len(leaves) < (n_centers if max_leaves is None else max_leaves):
        gains = [gain(leaf.whole, surrogate_cuts(leaf.whole)) for leaf in leaves]
        if max(gains) <= 0:
            break
        leaf = leaves.pop(int(np.argmax(gains)))
        cuts = surrogate_cuts(leaf.whole)
        winner = best(leaf.whole, cuts, problem.tradeoff, "exkmc")
        for child in leaf.split(columns, int(cuts.feature[winner]), float(cuts.threshold[winner])):
            child.center = int(np.argmin(child.whole.center_costs))
            leaves.append(child)
    return _flat(top, columns, row_weight)


def _flat(top: Branch, columns: Floats, row_weight: Floats) -> SimpleNamespace:
    """Return a tree's arrays, in pre-order."""
    nodes: list[dict[str, float]] = []

    def add(branch: Branch) -> int:
        index = len(nodes)
        entry = {"feature": branch.feature, "lower": 0.0, "upper": 0.0, "cut": branch.cut, "left": LEAF, "right": LEAF}
        entry |= {"center": branch.center, "rows": branch.rows.sum(), "weight": row_weight[branch.rows].sum()}
        nodes.append(entry)
        if branch.left is not None and branch.right is not None:
            entry["lower"] = columns[branch.left.rows, branch.feature].max()
            entry["upper"] = columns[branch.right.rows, branch.feature].min()
            entry["left"], entry["right"] = add(branch.left), add(branch.right)
        return index

    add(top)
    return SimpleNamespace(**{name: np.array([entry[name] for entry in nodes]) for name in nodes[0]})


def check_tree(
    grown: Any,
    problem: Problem,
    *,
    method: str = "exshallow",
    max_leaves: int | None = None,
    base: str = "none",
    assigned: NDArray[np.integer] | None = None,
) -> None:
    """Assert that every node of a grown tree is as good as the definitions ask.

    Follows the tree's own choices, so that one tie does not excuse or condemn the nodes below it.
    """
    present, row_weight = weighted(problem.weight, len(problem.X_explain))
    columns = problem.X_explain[present].astype(np.float64)
    arrays, n_centers = (*problem.arrays, problem.weight), len(problem.centers)
    dividing = base if method == "exkmc" else method
    # What separates centers at a node, None once that is done; its rows with all centers; its rows.
    divided = None if dividing == "none" else make_root(*arrays, assigned, dividing)
    pending = [(0, divided, make_root(*arrays), np.ones(len(columns), dtype=bool))]
    visited, frontier, expanded = [], [], {}
    while pending:
        index, node, whole, rows = pending.pop()
        visited.append(index)
        where = f"node {index} ({len(whole.weight)} distinct rows, centers {'all' if node is None else node.centers})"
        assert grown.rows[index] == rows.sum(), f"{where}: {grown.rows[index]} rows, not {rows.sum()}"
        assert np.isclose(grown.weight[index], row_weight[rows].sum(), rtol=1e-9, atol=0), f"{where}: weight"
        is_leaf = grown.feature[index] == LEAF
        if is_leaf:
            assert grown.left[index] == grown.right[index] == LEAF, f"{where}: a leaf with children"
        else:
            assert grown.center[index] == LEAF, f"{where}: an inner node with a center"

        cuts = surrogate_cuts(whole) if node is None else candidate_cuts(node)
        if node is None:
            expanded[index] = gain(whole, cuts), float(whole.center_costs.min())
            frontier += [index] * (index == 0)
        if is_leaf:
            check_leaf(where, int(grown.center[index]), *((whole, None) if node is None else (node, cuts)))
        if node is not None and method == "exkmc" and not len(cuts):  # a leaf of the base, which may be split on
            cuts, node = surrogate_cuts(whole), None
            expanded[index] = gain(whole, cuts), float(whole.center_costs.min())
            frontier.append(index)
        if is_leaf:
            continue

        feature, cut = int(grown.feature[index]), float(grown.cut[index])
        if node is None:
            check_cut(where, feature, cut, whole, cuts, problem.tradeoff, "exkmc")
        else:
            check_cut(where, feature, cut, node, cuts, problem.tradeoff, dividing)
        goes_left = columns[:, feature] <= cut
        gap = columns[rows & goes_left, feature].max(), columns[rows & ~goes_left, feature].min()
        assert (grown.lower[index], grown.upper[index]) == gap, f"{where}: the gap is {gap}"
        assert index < grown.left[index] < grown.right[index], f"{where}: not in pre-order"
        for child, left in ((grown.right[index], False), (grown.left[index], True)):
            below = None if node is None else node.child(feature, cut, left)
            pending.append((int(child), below, whole.side(feature, cut, left), rows & (goes_left == left)))
    assert visited == list(range(len(grown.feature))), "the nodes are not one tree in pre-order"
    if method == "exkmc":
        check_order(grown, frontier, expanded, n_centers if max_leaves is None else max_leaves)


def check_order(grown: Any, frontier: list[int], expanded: dict[int, tuple[float, float]], max_leaves: int) -> None:
    """Assert that ExKMC split, at each turn, a leaf whose best cut lowers the cost most, and stopped in time.

    `expanded` has, per node, the gain of its best cut and its own cost; the gain of a leaf is off by the rounding of
    that cost. Leaves that tie are split in any order here; small tests say which is first. So one that tied, and had to
    wait, may still have been the earlier one: the nodes that came from the other do not matter.
    """
    frontier = list(frontier)
    waiting: set[int] = set()
    while len(frontier) < max_leaves:
        slack = {index: ROUNDING * expanded[index][1] for index in frontier}
        highest = max(expanded[index][0] - slack[index] for index in frontier)
        tied = [i for i in frontier if expanded[i][0] + slack[i] >= highest - TOLERANCE * abs(highest)]
        split = [index for index in tied if grown.feature[index] != LEAF]
        split = split or sorted(waiting.intersection(frontier))
        waiting.update(split[1:])
        if not split:
            assert highest <= 0, f"of leaves {frontier}, one of {tied} should be split, which gains {highest!r}"
            break
        assert expanded[split[0]][0] > -slack[split[0]], f"node {split[0]} was split and gained nothing"
        frontier.remove(split[0])
        frontier += [int(grown.left[split[0]]), int(grown.right[split[0]])]
    extra = [index for index in frontier if grown.feature[index] != LEAF]
    assert not extra, f"nodes {extra} were split, though there are {len(frontier)} leaves without"


def check_leaf(where: str, center: int, node: Node, cuts: Cuts | None) -> None:
    """Assert that a leaf had no choice and carries its cheapest center."""
    assert not cuts, f"{where}: a leaf, though {0 if cuts is None else len(cuts)} cuts are valid"
    assert center in node.centers, f"{where}: center {center} is not among its own"
    costs = node.center_costs
    cheapest = costs <= costs.min() * (1 + TOLERANCE)
    assert center in node.centers[cheapest], f"{where}: center {center} is not the cheapest"
    if np.ptp(node.distances[:, cheapest], axis=1).max(initial=0) == 0:  # a tie beyond rounding
        assert center == node.centers[cheapest].min(), f"{where}: center {center} is not the first of the cheapest"


def check_cut(
    where: str, feature: int, cut: float, node: Node, cuts: Cuts, tradeoff: float, method: str = "exshallow"
) -> None:
    """Assert that a cut is valid, as good as the best, and the first of those that tie with it."""
    values = np.unique(node.columns[:, feature]) if method == "exkmc" else splitting_values(node, feature)
    threshold = values[values <= cut].max(initial=-np.inf)
    (chosen,) = np.nonzero((cuts.feature == feature) & (cuts.threshold == threshold))
    assert len(chosen) == 1, f"{where}: the cut x{feature} <= {cut!r} is not valid"
    objective = score(node, cuts, method, tradeoff)
    border = objective.min() * (1 + TOLERANCE)
    first = best(node, cuts, tradeoff, method)
    better = f"x{cuts.feature[first]} <= {cuts.threshold[first]!r} with {objective[first]!r}"
    found = f"{where}: chose x{feature} <= {cut!r} with {objective[chosen[0]]!r}, not {better}"
    slack = ROUNDING * objective.min()
    assert objective[chosen[0]] <= border + slack, found
    if not ((border - slack <= objective) & (objective <= border + slack)).any():
        assert chosen[0] == first, f"{found} (first of a tie)"

"""The definitions by brute force: what the kernel is held against.

Plain NumPy, no sweep, no codes, no fixed point. A *node* is the rows and the centers that reach
it; every cut of every feature is priced anew at every node. Equation and section numbers are those
of Laber, Murtinho and Oliveira, "Shallow decision trees for explainable k-means clustering".
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def child(self, feature: int, threshold: float, left: bool) -> Node:
        """Return what one side of a cut receives."""
        rows = (self.columns[:, feature] <= threshold) == left
        centers = (self.coordinates[:, feature] <= threshold) == left
        return Node(
            self.columns[rows],
            self.distances[np.ix_(rows, centers)],
            self.weight[rows],
            self.coordinates[centers],
            self.centers[centers],
            self.edges | {(feature, left)},
        )

    @property
    def current_cost(self) -> float:
        """Weighted squared distance of each row to the nearest of the node's centers."""
        return float((self.weight * self.distances.min(axis=1)).sum())

    @property
    def center_costs(self) -> Floats:
        """What the node would cost as a leaf of each of its centers."""
        return np.asarray(self.weight @ self.distances)


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
    explained: NDArray[np.floating],
    clustered: NDArray[np.floating],
    explained_centers: Floats,
    centers: Floats,
    weight: Floats | None,
) -> Node:
    """Return the root: rows of weight 0 left out, rows equal in both spaces merged."""
    present, weight = weighted(weight, len(explained))
    columns, points = explained[present].astype(np.float64), clustered[present].astype(np.float64)
    together = np.hstack([columns, points]) + 0.0  # -0.0 and 0.0 are one value
    _, first, which = np.unique(together, axis=0, return_index=True, return_inverse=True)
    distances = np.stack([((points[first] - center) ** 2).sum(axis=1) for center in centers], axis=1)
    merged = np.bincount(which.ravel(), weight)
    return Node(columns[first], distances, merged, explained_centers, np.arange(len(centers)))


def eval_wad(n_centers: int, n_left: int, share_left: float | Floats) -> float | Floats:
    """Return f_K(p): the depth expected if all cuts below split like this one (EvalWAD)."""
    f = [np.zeros_like(share_left), np.zeros_like(share_left)]
    for m in range(2, n_centers + 1):
        a = min(max(-(-m * n_left // n_centers), 1), m - 1)
        f.append(1 + share_left * f[a] + (1 - share_left) * f[m - a])
    return f[n_centers]


def induced_cost(node: Node, feature: int, threshold: float) -> float:
    """Return the cost of one cut, word for word as it is defined."""
    cost = 0.0
    for left in (True, False):
        side = node.child(feature, threshold, left)
        cost += side.current_cost if len(side.weight) else 0.0
    return cost


def induced_costs(node: Node, feature: int, thresholds: Floats) -> Floats:
    """Return `induced_cost` for many cuts of a feature that all separate centers.

    What a row costs on its side depends on the cut only through the number of centers there, so
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
    """Return Price + λ·DExp of each cut; where the node costs nothing, what then decides."""
    depth = np.empty(len(cuts))
    for n_left in np.unique(cuts.centers_left):
        same = cuts.centers_left == n_left
        depth[same] = eval_wad(len(node.centers), int(n_left), cuts.share_left[same])
    killer_left = np.array([(feature, True) in node.edges for feature in cuts.feature], dtype=bool)
    killer_right = np.array([(feature, False) in node.edges for feature in cuts.feature], dtype=bool)
    expected = depth - cuts.share_left * killer_left - (1 - cuts.share_left) * killer_right

    current = node.current_cost
    if current > 0:
        return np.maximum(cuts.induced / current, 1) + tradeoff * expected
    if (cuts.induced == 0).any():
        return np.where(cuts.induced == 0, 1 + tradeoff * expected, np.inf)
    return cuts.induced


def best(node: Node, cuts: Cuts, tradeoff: float) -> int:
    """Return the winner: the first cut, by feature and threshold, tied with the smallest objective."""
    objective = objectives(node, cuts, tradeoff)
    return int(np.flatnonzero(objective <= objective.min() * (1 + TOLERANCE))[0])


def grow(
    explained: NDArray[np.floating],
    clustered: NDArray[np.floating],
    explained_centers: Floats,
    centers: Floats,
    *,
    weight: Floats | None = None,
    tradeoff: float = 0.03,
) -> SimpleNamespace:
    """Grow the whole tree by brute force; its arrays are named as those of the kernel's."""
    present, row_weight = weighted(weight, len(explained))
    columns = explained[present].astype(np.float64)
    nodes: list[dict[str, float]] = []

    def add(node: Node, rows: NDArray[np.bool_]) -> int:
        index = len(nodes)
        entry = {"feature": LEAF, "lower": 0.0, "upper": 0.0, "cut": 0.0, "left": LEAF, "right": LEAF, "center": LEAF}
        entry |= {"rows": rows.sum(), "weight": row_weight[rows].sum()}
        nodes.append(entry)
        cuts = candidate_cuts(node)
        if not len(cuts):
            entry["center"] = node.centers[np.argmin(node.center_costs)]
            return index
        winner = best(node, cuts, tradeoff)
        feature, cut = int(cuts.feature[winner]), float(cuts.threshold[winner])
        left, right = rows & (columns[:, feature] <= cut), rows & (columns[:, feature] > cut)
        entry |= {"feature": feature, "cut": cut}
        entry |= {"lower": columns[left, feature].max(), "upper": columns[right, feature].min()}
        entry["left"] = add(node.child(feature, cut, left=True), left)
        entry["right"] = add(node.child(feature, cut, left=False), right)
        return index

    add(make_root(explained, clustered, explained_centers, centers, weight), np.ones(len(columns), dtype=bool))
    return SimpleNamespace(**{name: np.array([entry[name] for entry in nodes]) for name in nodes[0]})


def check_tree(
    grown: Any,
    explained: NDArray[np.floating],
    clustered: NDArray[np.floating],
    explained_centers: Floats,
    centers: Floats,
    *,
    weight: Floats | None = None,
    tradeoff: float = 0.03,
) -> None:
    """Assert that every node of a grown tree is as good as the definitions ask.

    Follows the tree's own choices, so that one tie does not excuse or condemn what is below it.
    """
    present, row_weight = weighted(weight, len(explained))
    columns = explained[present].astype(np.float64)
    root = make_root(explained, clustered, explained_centers, centers, weight)
    pending = [(0, root, np.ones(len(columns), dtype=bool))]
    visited = []
    while pending:
        index, node, rows = pending.pop()
        visited.append(index)
        where = f"node {index} ({len(node.weight)} distinct rows, centers {node.centers})"
        assert grown.rows[index] == rows.sum(), f"{where}: {grown.rows[index]} rows, not {rows.sum()}"
        assert np.isclose(grown.weight[index], row_weight[rows].sum(), rtol=1e-9, atol=0), f"{where}: weight"
        cuts = candidate_cuts(node)
        if grown.feature[index] == LEAF:
            assert grown.left[index] == grown.right[index] == LEAF, f"{where}: a leaf with children"
            check_leaf(where, int(grown.center[index]), node, cuts)
            continue
        assert grown.center[index] == LEAF, f"{where}: an inner node with a center"
        feature, cut = int(grown.feature[index]), float(grown.cut[index])
        check_cut(where, feature, cut, node, cuts, tradeoff)

        goes_left = columns[:, feature] <= cut
        gap = columns[rows & goes_left, feature].max(), columns[rows & ~goes_left, feature].min()
        assert (grown.lower[index], grown.upper[index]) == gap, f"{where}: the gap is {gap}"
        assert index < grown.left[index] < grown.right[index], f"{where}: not in pre-order"
        pending.append((int(grown.right[index]), node.child(feature, cut, left=False), rows & ~goes_left))
        pending.append((int(grown.left[index]), node.child(feature, cut, left=True), rows & goes_left))
    assert visited == list(range(len(grown.feature))), "the nodes are not one tree in pre-order"


def check_leaf(where: str, center: int, node: Node, cuts: Cuts) -> None:
    """Assert that a leaf had no choice and carries its cheapest center."""
    assert not len(cuts), f"{where}: a leaf, though {len(cuts)} cuts are valid"
    assert center in node.centers, f"{where}: center {center} is not among its own"
    costs = node.center_costs
    cheapest = costs <= costs.min() * (1 + TOLERANCE)
    assert center in node.centers[cheapest], f"{where}: center {center} is not the cheapest"
    if np.ptp(node.distances[:, cheapest], axis=1).max() == 0:  # a tie beyond rounding
        assert center == node.centers[cheapest].min(), f"{where}: center {center} is not the first of the cheapest"


def check_cut(where: str, feature: int, cut: float, node: Node, cuts: Cuts, tradeoff: float) -> None:
    """Assert that a cut is valid, as good as the best, and the first of those that tie with it."""
    values = splitting_values(node, feature)
    threshold = values[values <= cut].max(initial=-np.inf)
    (chosen,) = np.nonzero((cuts.feature == feature) & (cuts.threshold == threshold))
    assert len(chosen) == 1, f"{where}: the cut x{feature} <= {cut!r} is not valid"
    objective = objectives(node, cuts, tradeoff)
    border = objective.min() * (1 + TOLERANCE)
    first = best(node, cuts, tradeoff)
    better = f"x{cuts.feature[first]} <= {cuts.threshold[first]!r} with {objective[first]!r}"
    found = f"{where}: chose x{feature} <= {cut!r} with {objective[chosen[0]]!r}, not {better}"
    slack = ROUNDING * objective.min()
    assert objective[chosen[0]] <= border + slack, found
    if not ((border - slack <= objective) & (objective <= border + slack)).any():
        assert chosen[0] == first, f"{found} (first of a tie)"

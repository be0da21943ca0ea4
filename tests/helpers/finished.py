"""A finished tree and its objective by brute force, against which the kernel's refinement is tested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from oracle import LEAF, Floats


@dataclass(frozen=True)
class Finished:
    """A finished tree, and the rows that it explains: the tests compare an improved tree with it.

    Its objective is the sum of squared distances of rows to the mean of their leaf, plus a penalty for each row and
    condition that explains it.
    """

    feature: NDArray[np.integer]
    left: NDArray[np.integer]
    right: NDArray[np.integer]
    cut: Floats
    columns: Floats
    points: Floats
    weight: Floats
    condition_penalty: float
    root: int = 0

    def edges(self, without: int = LEAF) -> dict[int, frozenset[tuple[int, bool]]]:
        """Return the (feature, goes left) on the path to every node, without the edges of one node."""
        found: dict[int, frozenset[tuple[int, bool]]] = {self.root: frozenset()}
        pending = [self.root]
        while pending:
            node = pending.pop()
            if self.feature[node] != LEAF:
                for child, left in ((int(self.left[node]), True), (int(self.right[node]), False)):
                    own = frozenset() if node == without else {(int(self.feature[node]), left)}
                    found[child] = found[node] | own
                    pending.append(child)
        return found

    @property
    def inner(self) -> list[int]:
        """All nodes that are cut."""
        return [node for node in self.edges() if self.feature[node] != LEAF]

    def leaves(self, node: int | None = None) -> list[int]:
        """Return the leaves below a node."""
        node = self.root if node is None else node
        if self.feature[node] == LEAF:
            return [node]
        return self.leaves(int(self.left[node])) + self.leaves(int(self.right[node]))

    def route(self, node: int | None = None) -> NDArray[np.intp]:
        """Return the leaf that each row would reach from a node."""
        node = self.root if node is None else node
        if self.feature[node] == LEAF:
            return np.full(len(self.columns), node)
        left = self.columns[:, self.feature[node]] <= self.cut[node]
        return np.where(left, self.route(int(self.left[node])), self.route(int(self.right[node])))

    def means(self) -> dict[int, Floats]:
        """Return the mean of each leaf; none is empty."""
        leaf = self.route()
        found = {}
        for node in self.leaves():
            origin = self.points[leaf == node][0]  # differences keep the digits that an offset would take
            gaps = self.points[leaf == node] - origin
            found[node] = origin + np.average(gaps, axis=0, weights=self.weight[leaf == node])
        return found

    def figures(self) -> tuple[float, float]:
        """Return the weighted sums of squared distances to the means and of conditions."""
        leaf, edges = self.route(), self.edges()
        squares = conditions = 0.0
        for node, mean in self.means().items():
            weight = self.weight[leaf == node]
            squares += float((weight * ((self.points[leaf == node] - mean) ** 2).sum(axis=1)).sum())
            conditions += float(weight.sum()) * len(edges[node])
        return squares, conditions

    @property
    def objective(self) -> float:
        """The quantity to minimize."""
        squares, conditions = self.figures()
        return squares + self.condition_penalty * conditions

    def recut_costs(self, node: int) -> tuple[float, list[Recut]]:
        """Return the cost of a node's rows, and with every other cut, all means held fixed."""
        below, means, reached = self.edges(without=node), self.means(), self.route()
        rows = np.isin(reached, self.leaves(node))
        columns, points, weight = self.columns[rows], self.points[rows], self.weight[rows]

        def cost(leaf: NDArray[np.intp], edge: tuple[int, bool]) -> Floats:
            size = np.array([len(below[i] | {edge}) for i in leaf])
            gaps = points - np.array([means[i] for i in leaf])
            return np.asarray(weight * ((gaps**2).sum(axis=1) + self.condition_penalty * size))

        through = self.route(int(self.left[node]))[rows], self.route(int(self.right[node]))[rows]
        found = []
        for feature in range(columns.shape[1]):
            for swapped in (False, True):
                left, right = through[::-1] if swapped else through
                on_left, on_right = cost(left, (feature, True)), cost(right, (feature, False))
                for threshold in np.unique(columns[:, feature])[:-1]:
                    goes_left = columns[:, feature] <= threshold
                    whole = len(np.unique(np.where(goes_left, left, right))) == len(self.leaves(node))
                    objective = float(on_left[goes_left].sum() + on_right[~goes_left].sum())
                    found.append(Recut(objective, feature, float(threshold), swapped, whole))
        feature, goes_left = int(self.feature[node]), columns[:, self.feature[node]] <= self.cut[node]
        on_left, on_right = cost(through[0], (feature, True)), cost(through[1], (feature, False))
        return float(on_left[goes_left].sum() + on_right[~goes_left].sum()), found

    def recut(self, node: int, cut: Recut) -> Finished:
        """Return the tree with another cut of a node."""
        feature, cuts, left, right = self.feature.copy(), self.cut.copy(), self.left.copy(), self.right.copy()
        feature[node], cuts[node] = cut.feature, cut.threshold
        if cut.swapped:
            left[node], right[node] = right[node], left[node]
        return replace(self, feature=feature, cut=cuts, left=left, right=right)

    def moved(self) -> Iterator[Finished]:
        """Yield every tree in which a leaf is removed, and another one, not below its parent, is cut in two."""
        reached, parents = self.route(), {}
        for node in self.inner:
            parents[int(self.left[node])] = parents[int(self.right[node])] = node
        for gone, parent in parents.items():
            if self.feature[gone] != LEAF or parent == self.root:
                continue
            sibling = int(self.right[parent] if self.left[parent] == gone else self.left[parent])
            above = parents[parent]
            for leaf in set(self.leaves()) - set(self.leaves(parent)):
                for feature in range(self.columns.shape[1]):
                    for threshold in np.unique(self.columns[reached == leaf, feature])[:-1]:
                        features, cuts = self.feature.copy(), self.cut.copy()
                        left, right = self.left.copy(), self.right.copy()
                        (left if left[above] == parent else right)[above] = sibling
                        features[leaf], cuts[leaf], left[leaf], right[leaf] = feature, threshold, parent, gone
                        features[parent] = LEAF
                        yield replace(self, feature=features, cut=cuts, left=left, right=right)


@dataclass(frozen=True, order=True)
class Recut:
    """Another cut of a node of a finished tree."""

    objective: float  # of the node's rows, all means held fixed
    feature: int
    threshold: float
    swapped: bool  # the subtrees change sides
    whole: bool  # no leaf loses all its rows

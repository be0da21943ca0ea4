"""The tree as frozen parallel arrays, in the units of the explained columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.errors import OptionError, counted
from shallowrules.tables.labels import own_numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["LEAF", "Tree", "compare", "explanation_sizes", "sum_up"]

LEAF = -1
"""Marks "no feature", "no child" and "no cluster" in the arrays of a `Tree`."""


@dataclass(frozen=True, eq=False)
class Tree:
    """An axis-aligned binary tree: node 0 is the root, children follow their parent.

    Parameters
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        Column that the node tests; ``LEAF`` at a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        A row goes left if and only if ``x[feature] <= threshold``; 0 at a leaf.
        In the units of the explained column.
    left, right : ndarray of int32, shape (n_nodes,)
        Children; ``LEAF`` at a leaf.
    cluster : ndarray of int32, shape (n_nodes,)
        Index of the reference center whose cluster the leaf carries; ``LEAF`` at inner nodes.
    rows : ndarray of int64, shape (n_nodes,)
        Training rows that reach the node.
    weight : ndarray of float64, shape (n_nodes,)
        Their summed weight (equal to `rows` where no weights were given).
    names : tuple of str
        The name that a person gave each cluster; empty where clusters have numbers only.
    classes : tuple of int
        The label of each cluster in the rules; empty where it is the cluster's index.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    cluster: NDArray[np.int32]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    names: tuple[str, ...] = ()
    classes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    @classmethod
    def from_sklearn(cls, classifier: Any) -> Tree:
        """Return a fitted scikit-learn decision tree as a `Tree`, node for node.

        scikit-learn rounds every value to float32 before it compares it with a threshold. The
        thresholds here are for the values as they are: the largest float64 that scikit-learn sends
        left. So `apply` and `predict` agree with those of the classifier on every complete row
        whose values are float64 numbers (integers beyond 2**53 may not be). A row
        whose path tests a missing value gets -1, as in every `Tree`; scikit-learn sends it where most rows went.

        Parameters
        ----------
        classifier : sklearn.tree.DecisionTreeClassifier
            Fitted, with one output. Cluster i is class ``classifier.classes_[i]``, its name the class as text. The
            rules give it that class as its label where classes are whole numbers, and i where they are not.

        Returns
        -------
        Tree
            `rows` and `weight` are those that the classifier was fitted on.

        Raises
        ------
        OptionError
            If it is of a different kind (a regressor, a pipeline, a forest), has several outputs, or learned where to
            send missing values.
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        """
        from sklearn.tree import DecisionTreeClassifier
        from sklearn.utils.validation import check_is_fitted

        kind = type(classifier).__name__
        if not isinstance(classifier, DecisionTreeClassifier):
            raise OptionError(
                f"{kind} is not a DecisionTreeClassifier; of a pipeline or an ensemble, give the fitted tree itself"
            )
        check_is_fitted(classifier)
        if classifier.n_outputs_ != 1:
            raise OptionError(f"the {kind} has {classifier.n_outputs_} outputs; fit it to one column of labels")
        grown = classifier.tree_
        inner = grown.children_left != LEAF
        _refuse_learnt_missing(grown, inner, kind)
        feature = np.where(inner, grown.feature, LEAF).astype(np.int32)
        threshold = np.zeros(grown.node_count)
        threshold[inner] = [_widest_below(value) for value in grown.threshold[inner]]
        return cls(
            feature,
            threshold,
            grown.children_left.astype(np.int32),
            grown.children_right.astype(np.int32),
            np.where(inner, LEAF, np.argmax(grown.value[:, 0, :], axis=1)).astype(np.int32),
            grown.n_node_samples.astype(np.int64),
            grown.weighted_n_node_samples.astype(np.float64),
            tuple(str(label) for label in classifier.classes_.tolist()),
            own_numbers(classifier.classes_.tolist()),
        )

    def __repr__(self) -> str:
        return f"Tree({counted(self.n_leaves, 'leaf', 'leaves')}, depth {self.max_depth})"

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Node ids of the leaves, ascending, shape (n_leaves,)."""
        return np.flatnonzero(self.feature == LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == LEAF))

    @property
    def depth(self) -> NDArray[np.int32]:
        """Edges from the root to each node, shape (n_nodes,)."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in np.flatnonzero(self.feature != LEAF):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depth.max())

    @property
    def explanation_size(self) -> NDArray[np.int32]:
        """Distinct (feature, direction) pairs on the path to each node, shape (n_nodes,).

        At a leaf this is the size of its explanation, the non-redundant conditions
        of the paper's section 1.1.
        """
        return explanation_sizes(self.feature, self.left, self.right)

    @property
    def wad(self) -> float:
        """The number of questions that a training row is asked on average (the paper's Eq. 2)."""
        return self._average_of_leaves(self.depth)

    @property
    def waes(self) -> float:
        """The number of conditions in a training row's explanation on average (the paper's Eq. 3)."""
        return self._average_of_leaves(self.explanation_size)

    def _average_of_leaves(self, values: NDArray[Any]) -> float:
        weight = self.weight[self.leaves]
        return float(np.average(values[self.leaves], weights=weight)) if weight.any() else 0.0

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the leaf that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            The explained columns. Values are compared as float64 (integers exactly),
            whatever the dtype.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
            Node ids; -1 where a value that the row's path tests is missing (NaN).
        """
        X = np.asarray(X)
        leaf = np.full(len(X), LEAF, dtype=np.int32)
        pending = [(0, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            if self.feature[node] == LEAF:
                leaf[rows] = node
            elif len(rows):
                values = X[rows, self.feature[node]]
                goes_left, goes_right = compare(values, float(self.threshold[node]))
                pending.append((int(self.left[node]), rows[goes_left]))
                pending.append((int(self.right[node]), rows[goes_right]))
        return leaf

    def decision_path(self, X: ArrayLike) -> csr_matrix:
        """Return the nodes that each row passes, its leaf among them.

        Returns
        -------
        sparse csr_matrix of int64, shape (n_rows, n_nodes)
            1 where a row passes a node; none where a value that its path tests is missing.
        """
        from scipy.sparse import csr_matrix

        paths: list[list[int]] = [[0] for _ in range(self.n_nodes)]
        for node in np.flatnonzero(self.feature != LEAF).tolist():
            for child in (int(self.left[node]), int(self.right[node])):
                paths[child] = [*paths[node], child]
        passed = [paths[leaf] if leaf != LEAF else [] for leaf in self.apply(X).tolist()]
        ends = np.cumsum([0, *map(len, passed)])
        nodes = np.fromiter(chain.from_iterable(passed), np.int32, ends[-1])
        return csr_matrix((np.ones(len(nodes), np.int64), nodes, ends), (len(passed), self.n_nodes))

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the cluster of each row, -1 where a value that its path tests is missing."""
        leaf = self.apply(X)
        return np.where(leaf == LEAF, np.int32(LEAF), self.cluster[leaf])

    def count(self, X: ArrayLike, sample_weight: NDArray[np.float64] | None = None) -> Tree:
        """Return the same tree with `rows` and `weight` counted on other rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        sample_weight : ndarray of float64, shape (n_rows,), optional
            1 by default; rows of weight 0 are not counted.
        """
        leaf = self.apply(X)
        weight = np.ones(len(leaf)) if sample_weight is None else sample_weight
        reached = (leaf != LEAF) & (weight > 0)
        rows = np.bincount(leaf[reached], minlength=self.n_nodes)
        sums = np.bincount(leaf[reached], weight[reached], self.n_nodes).astype(np.float64)
        sum_up(self.left, self.right, rows, sums)
        return replace(self, rows=rows.astype(np.int64), weight=sums)


def explanation_sizes(
    feature: NDArray[np.int32], left: NDArray[np.int32], right: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the distinct (feature, direction) pairs on the path to each node of a tree, shape (n_nodes,)."""
    size = np.zeros(len(feature), dtype=np.int32)
    edges: list[frozenset[tuple[int, bool]]] = [frozenset()] * len(feature)
    for node in np.flatnonzero(feature != LEAF):
        for child, goes_left in ((left[node], True), (right[node], False)):
            edges[child] = edges[node] | {(int(feature[node]), goes_left)}
            size[child] = len(edges[child])
    return size


def sum_up(left: NDArray[np.int32], right: NDArray[np.int32], *values: NDArray[Any]) -> None:
    """Give each inner node of a tree the sum of its children, from the leaves up, in each of some arrays."""
    for node in np.flatnonzero(left != LEAF)[::-1]:
        for each in values:
            each[node] = each[left[node]] + each[right[node]]


def _refuse_learnt_missing(grown: Any, inner: NDArray[np.bool_], kind: str) -> None:
    """Raise OptionError if a scikit-learn tree was fitted with missing values.

    Fitted without them, each node sends missing values to the side of most of its rows, and every threshold is finite.
    """
    left, right = grown.children_left[inner], grown.children_right[inner]
    by_size = grown.n_node_samples[left] > grown.n_node_samples[right]
    learnt = (grown.missing_go_to_left[inner].astype(bool) != by_size) | ~np.isfinite(grown.threshold[inner])
    if learnt.any():
        features = sorted(set(grown.feature[inner][learnt].tolist()))
        raise OptionError(
            f"the {kind} learned where to send missing values (column {', '.join(map(str, features))}), which rules "
            "do not do: fit it to complete rows"
        )


def _widest_below(threshold: float) -> float:
    """Return the largest float64 that, rounded to float32, is at most `threshold`."""
    with np.errstate(over="ignore"):
        below = np.float32(threshold)
        if float(below) > threshold:  # NumPy would round the threshold too
            below = np.nextafter(below, np.float32(-np.inf))
        above = np.nextafter(below, np.float32(np.inf))
    # Beyond the largest float32, values round as if the next float32 were 2**128.
    low, high = (math.copysign(2.0**128, side) if np.isinf(side) else float(side) for side in (below, above))
    middle = low / 2 + high / 2
    # The middle itself rounds to the neighbor whose last bit is 0.
    return middle if below.view(np.int32) % 2 == 0 else math.nextafter(middle, -math.inf)


def compare(values: NDArray[Any], bound: int | float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return ``values <= bound`` and ``values > bound``; neither side is rounded.

    Objects are Python's numbers, which it compares by their value. Floats narrower than 64 bits are widened (NumPy
    would narrow `bound` instead) and integers are compared as integers, so that values beyond 2**53 keep their
    neighbors. If `bound` is an integer that is not a float, floats are compared with the next float below, which
    separates them at the same place. Both answers are False for NaN.
    """
    if values.dtype.kind == "O":
        below = np.fromiter((value <= bound for value in values), bool, len(values))
        return below, np.fromiter((value > bound for value in values), bool, len(values))
    if values.dtype.kind in "iu":
        whole = math.floor(bound)
        info = np.iinfo(values.dtype)
        if whole < info.min:
            below = np.zeros(len(values), dtype=bool)
        elif whole >= info.max:
            below = np.ones(len(values), dtype=bool)
        else:
            below = values <= values.dtype.type(whole)
        return below, ~below
    values = values.astype(np.float64, copy=False)
    nearest = float(bound)
    if nearest > bound:
        nearest = math.nextafter(nearest, -math.inf)
    return values <= nearest, values > nearest

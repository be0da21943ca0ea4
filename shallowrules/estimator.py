"""`ExplainableKMeans`: the scikit-learn face, where the stages are wired."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from shallowrules.clustering import UNLABELLED, Labelling, Reference, centers_among, into_space, reference_clustering
from shallowrules.encoding import Encoding, encode, explained_matrix
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning, check_choice
from shallowrules.growing import METHODS, Growth, grow
from shallowrules.metrics import (
    agreement,
    partition_cost,
    precision_and_recall,
    weighted_average_depth,
    weighted_average_explanation_size,
)
from shallowrules.rules import Cluster, Leaf, RuleColumn, RuleSet, Split, Statistics
from shallowrules.scaling import SCALES
from shallowrules.summation import group_means
from shallowrules.table import Column, Table
from shallowrules.thresholds import readable_threshold
from shallowrules.tree import LEAF, Tree

__all__ = ["ExplainableKMeans"]

LOW_AGREEMENT = 0.8


class ExplainableKMeans(ClusterMixin, BaseEstimator):
    """k-means whose clusters are explained by a shallow decision tree (ExShallow).

    A k-means clustering is made, or taken over from `clusterer`; a tree with one leaf per cluster is
    grown that follows it at little extra cost and with few conditions per leaf; its leaves are rules
    in the columns and units of X.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 1. Not used if `clusterer` is given.
    method : {"exshallow", "exgreedy"}, default="exshallow"
        How a node's cut is priced. "exgreedy" looks at cost alone.
    tradeoff : float, default=0.03
        The paper's lambda: the share of k-means cost given up to save one condition.
    max_leaves : None
        For methods that can give a cluster several leaves; there is none yet.
    refine : {"none"}, default="none"
        "none" is the published greedy tree.
    clusterer : estimator or array-like of shape (k, n_features) or (n_samples,), default=None
        The clustering to explain. None clusters by
        ``KMeans(n_clusters, n_init=10, random_state=random_state)``.

        - Any scikit-learn clusterer, fitted or not: its centers are explained if it has them
          (``cluster_centers_``, or ``means_`` of a mixture), else its labels. Rows that it calls noise (-1)
          are left out of fitting and counted. Given fitted, it is not fitted again; `clone` drops its fit
          unless it is wrapped in ``sklearn.frozen.FrozenEstimator``.
        - A Pipeline of transformers and a clusterer gets X as it is. Distances are taken in the space
          behind the transformers, rules are in the columns of X. `scale` stays None.
        - Numbers of shape (k, number of clustered columns): the centers themselves.
        - One label per row, of any kind; their names are kept. Rows whose label is missing (None, NaN) are left
          out of fitting and counted; -1 is a label like any other. Distances are taken in the explained
          columns, the centers are the means of the labels.

        Cluster i of the tree is center i, or the i-th label in ascending order.
    cluster_columns : sequence of str or int, default=None
        Columns of X to cluster by, by name or position; None takes all, or for given labels those to
        explain by.
    explain_columns : sequence of str or int, default=None
        Columns of X that rules may test; None takes `cluster_columns`. X has the columns of both, in
        `fit` as in `predict`; ``rules_.assign`` needs only those that rules test.
    scale : {None, "minmax", "standard", "robust"}, default=None
        Scale the columns for the clustering, rows counted by their weight ("robust" takes whole weights
        only). Rules stay in the units of X.
    categories : {"auto"}, default="auto"
        How columns that are not numeric enter. For now they are refused by name.
    random_state : int, RandomState instance or None, default=None
        Passed to KMeans.
    n_jobs : int or None, default=None
        Threads for growing; None is 1, -1 is all cores. The tree does not depend on it.
    verbose : int, default=0
        1 reports each stage on standard output.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each training row, by the tree.
    tree_ : Tree
        The tree over the columns of X, thresholds in their units.
    rules_ : RuleSet
        One rule per leaf, with everything an exporter needs.
    n_leaves_ : int
    wad_, waes_ : float
        Weighted average depth and explanation size (the paper's Eqs. 2 and 3).
    inertia_ : float
        k-means cost (Eq. 1) of the tree's partition, in squared units of the clustered space.
    reference_labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row in the unrestricted clustering; -1 for noise and rows without a label.
    reference_centers_ : ndarray of float64, shape (k, n_clustered)
        Its centers, in the clustered space.
    reference_inertia_ : float
        Its cost, with the means of its labels.
    normalized_cost_ : float
        ``inertia_ / reference_inertia_``, the price of explainability.
    cluster_centers_ : ndarray of float64, shape (k, n_features)
        Means of the tree's clusters, in the units of X; the reference center where a cluster is empty.
    clusterer_ : estimator or None
        The fitted clusterer.
    scaler_ : estimator or None
        The fitted scaler of ``scale``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where X has column names that are all text.

    Raises
    ------
    OptionError
        If a parameter has a value that is not known or not allowed.
    DataError
        If the table cannot be used as it is.

    References
    ----------
    Laber, Murtinho, Oliveira: Shallow decision trees for explainable k-means clustering, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> model = ExplainableKMeans(n_clusters=3, random_state=0).fit(X)
    >>> len(model.rules_)
    3
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "exshallow",
        tradeoff: float = 0.03,
        max_leaves: int | None = None,
        refine: str = "none",
        clusterer: Any = None,
        cluster_columns: Sequence[str | int] | None = None,
        explain_columns: Sequence[str | int] | None = None,
        scale: str | None = None,
        categories: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.tradeoff = tradeoff
        self.max_leaves = max_leaves
        self.refine = refine
        self.clusterer = clusterer
        self.cluster_columns = cluster_columns
        self.explain_columns = explain_columns
        self.scale = scale
        self.categories = categories
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> ExplainableKMeans:
        """Cluster the table, grow the tree, derive the rules.

        Parameters
        ----------
        X : array-like, dataframe or Table of shape (n_samples, n_features)
            Numbers without missing or infinite values. float32 and float64 arrays are not copied.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights, none negative, not all 0. A row of weight 0 does not count but gets a label.

        Returns
        -------
        self
        """
        self._check_parameters()
        table, matrix = self._read(X, reset=True)
        if y is not None and hasattr(y, "__len__") and len(y) != len(matrix):
            raise DataError(f"y has {len(y)} entries, X has {len(matrix)} rows")
        weight = None
        if sample_weight is not None:
            if not np.asarray(sample_weight).any():
                raise DataError("Sample weights must contain at least one non-zero number, but sample_weight is all 0")
            weight = _check_sample_weight(sample_weight, matrix, dtype=np.float64)
            if (weight < 0).any():
                raise DataError(f"Negative values in data passed to `sample_weight`: {int((weight < 0).sum())} rows")
        n_counted = len(matrix) if weight is None else int(np.count_nonzero(weight))
        if self.clusterer is None and n_counted < self.n_clusters:
            raise DataError(
                f"n_samples={n_counted} should be >= n_clusters={self.n_clusters}: "
                "ask for fewer clusters or give more rows"
            )
        given = _given_labels(self.clusterer, len(matrix))
        self._clustered, self._explained = self._choose_columns(table.names, labelled=given is not None)
        # Rows in no cluster are as those of weight 0: they do not count, and get a label by the tree.
        counting = weight if given is None else _without_unlabelled(weight, given.labels)
        encoding = encode(_columns(matrix, self._clustered), self.scale, counting)
        if self._explained != self._clustered:
            encoding = replace(encoding, explained=_columns(matrix, self._explained))
        self.scaler_ = encoding.scaler
        self._say(f"clustering {len(matrix)} rows x {len(self._clustered)} columns")
        with warnings.catch_warnings():
            # Too few distinct rows: said below, once, in words of leaves.
            warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
            reference, encoding, self.clusterer_ = reference_clustering(
                encoding,
                self.clusterer if given is None else given,
                self.n_clusters,
                self.random_state,
                counting,
                names=[table.names[j] for j in self._clustered] if hasattr(self, "feature_names_in_") else None,
                source=_native(X, matrix, self._clustered),
            )
        for note in reference.notes:
            self._say(note)
        counting = _without_unlabelled(counting, reference.labels)
        k = len(reference.centers)
        self._say(f"growing a tree for {k} clusters")
        used = np.unique(reference.labels if counting is None else reference.labels[counting > 0])
        # Labels are what they are: a component of a mixture that no row is in gets no leaf.
        kept = used if reference.labelled else np.arange(k)
        growth = self._grow(encoding, reference, kept, counting)
        if growth.n_leaves < len(kept) and len(used) < len(kept):
            # More centers than distinct rows: without the centers that no row has, cuts get valid.
            smaller = self._grow(encoding, reference, used, counting)
            growth = max(growth, smaller, key=lambda candidate: candidate.n_leaves)
        if growth.n_leaves < len(kept):
            warnings.warn(
                f"the tree has {growth.n_leaves} leaves for {len(kept)} clusters: Number of distinct clusters "
                f"({growth.n_leaves}) found smaller than n_clusters ({len(kept)}), because rows or centers coincide "
                "or no rows are near a center",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.tree_ = _place_thresholds(growth, table)
        self.labels_ = growth.labels
        if counting is not None and not counting.all():
            apart = counting == 0
            self.labels_[apart] = self.tree_.predict(matrix[apart])
        self._measure(table, matrix, encoding, reference, counting, weight)
        return self

    def _grow(
        self,
        encoding: Encoding,
        reference: Reference,
        kept: NDArray[np.integer],
        weight: NDArray[np.float64] | None,
    ) -> Growth:
        """Grow the tree that explains the centers `kept`, numbered as in the reference, over the columns of X."""
        growth = grow(
            encoding.explained,
            encoding.clustered,
            reference.explained_centers[kept],
            reference.centers[kept],
            weight=weight,
            method=self.method,
            tradeoff=self.tradeoff,
            n_threads=_thread_count(self.n_jobs),
        )
        numbers = np.append(kept, LEAF).astype(np.int32)  # the last, at index -1, stays LEAF
        columns = np.append(self._explained, LEAF).astype(np.int32)
        return replace(
            growth,
            feature=columns[growth.feature],
            center=numbers[growth.center],
            labels=numbers[growth.labels],
        )

    def _check_parameters(self) -> None:
        """Raise OptionError for a parameter that is not known or not allowed."""
        check_choice("method", self.method, METHODS)
        check_choice("refine", self.refine, ("none",))
        check_choice("categories", self.categories, ("auto",))
        if self.scale is not None:
            check_choice("scale", self.scale, [name for name in SCALES if name is not None])
        if self.max_leaves is not None:
            raise OptionError(f"max_leaves does not apply to method={self.method!r}, whose leaves are the clusters")
        if not isinstance(self.n_clusters, Integral) or isinstance(self.n_clusters, bool) or self.n_clusters < 1:
            raise OptionError(f"n_clusters must be a whole number of at least 1, not {self.n_clusters!r}")
        if not isinstance(self.tradeoff, Real) or isinstance(self.tradeoff, bool) or not 0 <= self.tradeoff < 1e6:
            raise OptionError(f"tradeoff must be a number from 0 up to 1e6, not {self.tradeoff!r}")
        _thread_count(self.n_jobs)

    def _choose_columns(self, names: Sequence[str], *, labelled: bool) -> tuple[list[int], list[int]]:
        """Return the positions of the columns to cluster and of those to explain by."""
        everything = list(range(len(names)))
        clustered = _positions("cluster_columns", self.cluster_columns, names)
        explained = _positions("explain_columns", self.explain_columns, names)
        if explained is None:
            explained = everything if clustered is None else clustered
        if clustered is None:
            clustered = explained if labelled else everything
        return clustered, explained

    def _read(self, X: Any, *, reset: bool) -> tuple[Table, NDArray[Any]]:
        """Return X as a table and as the matrix of its explained columns, validated as scikit-learn does."""
        if isinstance(X, Table) or hasattr(X, "__dataframe__") or hasattr(X, "columns"):
            table = Table.of(X)
            explained = explained_matrix(table)
            if isinstance(X, Table):
                self._check_names(X.names, reset=reset)
            else:
                validate_data(self, X, reset=reset, skip_check_array=True)
            _refuse_unusable(table, explained)
            check_array(explained, dtype=None, ensure_all_finite=False, estimator=self)
            return table, explained
        integral = _kind_of(X) in "biu"
        explained = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False)
        try:
            assert_all_finite(explained)
        except ValueError:
            _refuse_unusable(Table.of(explained), explained)
        names = [f"x{j}" for j in range(explained.shape[1])]
        if integral:
            raw = np.asarray(X)
            return Table.of(raw.astype(np.int8) if raw.dtype.kind == "b" else raw, names), explained
        return Table.of(explained, names), explained

    def _check_names(self, names: list[str], *, reset: bool) -> None:
        """Do for a Table what scikit-learn's validation does for a dataframe."""
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
        elif names != list(getattr(self, "feature_names_in_", names)) or len(names) != self.n_features_in_:
            raise DataError(f"the table has columns {', '.join(names)}, not those that the model was fitted on")

    def _measure(
        self,
        table: Table,
        matrix: NDArray[Any],
        encoding: Encoding,
        reference: Reference,
        counting: NDArray[np.float64] | None,
        weight: NDArray[np.float64] | None,
    ) -> None:
        """Set the fitted attributes that say how good the tree is, and its rules.

        `weight` are the weights that were given, `counting` those that rows were fitted with.
        """
        tree = self.tree_
        clustered = encoding.clustered
        self.n_leaves_ = tree.n_leaves
        self.wad_ = weighted_average_depth(tree)
        self.waes_ = weighted_average_explanation_size(tree)
        self.inertia_ = partition_cost(clustered, self.labels_, counting)
        self.reference_labels_ = reference.labels
        self.reference_centers_ = reference.centers
        self.reference_inertia_ = partition_cost(clustered, reference.labels, counting)
        # Where the unrestricted clustering costs nothing, so does its explanation, or no ratio tells how much more.
        if self.reference_inertia_ > 0:
            self.normalized_cost_ = self.inertia_ / self.reference_inertia_
        else:
            self.normalized_cost_ = 1.0 if self.inertia_ == 0 else float("inf")
        k = len(reference.centers)
        inside = np.ones(len(matrix), dtype=bool) if counting is None else counting > 0
        labels, assigned = self.labels_[inside], reference.labels[inside]
        inside_weight = None if counting is None else counting[inside]
        same = agreement(labels, assigned, inside_weight)
        if reference.labelled and same < LOW_AGREEMENT:
            warnings.warn(
                f"the rules give {same:.0%} of the rows their given label: clusters of this shape are not "
                "told apart by cuts on single columns; see the clusters' precision and recall",
                ShallowRulesWarning,
                stacklevel=3,
            )
        counts = np.bincount(labels, minlength=k)
        sums = np.bincount(labels, inside_weight, minlength=k).astype(np.float64)
        self._space_centers = _filled(group_means(clustered, self.labels_, k, counting), reference.centers)
        means = group_means(matrix, self.labels_, k, counting)
        if np.isnan(means).any():
            whole = encoding.explained is matrix
            fallback = reference.explained_centers if whole else centers_among(matrix, reference, clustered, counting)
            means = _filled(means, fallback)
        columns = []
        for j, column in enumerate(table.columns):
            columns.append(_describe(column.name, column.type, column.values, np.average(means[:, j], weights=sums)))
        self.cluster_centers_ = means
        precision, recall = precision_and_recall(labels, assigned, k, inside_weight)
        clusters = tuple(
            Cluster(
                index=int(i),
                name=reference.names[i],
                rows=int(counts[i]),
                weight=float(sums[i]),
                share=float(sums[i] / sums.sum()),
                precision=float(precision[i]),
                recall=float(recall[i]),
                means=tuple(float(value) for value in means[i]),
            )
            for i in np.unique(tree.cluster[tree.leaves])
        )
        # Rows of weight 0 were not meant to count; those in no cluster were.
        left_out = reference.labels == UNLABELLED
        if weight is not None:
            left_out &= weight > 0
        statistics = Statistics(
            rows=int(counts.sum()),
            weight=float(sums.sum()),
            weighted=weight is not None,
            method=self.method,
            tradeoff=0.0 if self.method == "exgreedy" else float(self.tradeoff),
            cost=self.inertia_,
            reference_cost=self.reference_inertia_,
            normalized_cost=min(self.normalized_cost_, np.finfo(np.float64).max),
            agreement=same,
            wad=self.wad_,
            waes=self.waes_,
            labelled=reference.labelled,
            left_out=int(np.count_nonzero(left_out)),
            notes=reference.notes,
        )
        self.rules_ = RuleSet(tuple(columns), _rule_nodes(tree, table), clusters, statistics)

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[ExplainableKMeans] {message}")

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf (a node of ``tree_``) that each row reaches, shape (n_samples,)."""
        check_is_fitted(self)
        return self.tree_.apply(self._read(X, reset=False)[1])

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster of each row, shape (n_samples,)."""
        check_is_fitted(self)
        return self.tree_.predict(self._read(X, reset=False)[1])

    def fit_predict(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Fit and return the cluster of each training row, shape (n_samples,)."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the k-means cost of X around the tree's clusters, in the space that was clustered.

        Each row is charged its squared distance to the mean of the cluster that the tree gives it; on
        the training rows this is minus ``inertia_``.
        """
        check_is_fitted(self)
        matrix = self._read(X, reset=False)[1]
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, matrix, dtype=np.float64)
        labels = self.tree_.predict(matrix)
        if self.scaler_ is not None:
            space = self.scaler_.transform(_columns(matrix, self._clustered))
        else:
            space = into_space(self.clusterer_, _native(X, matrix, self._clustered))
        gaps = np.asarray(space, dtype=np.float64) - self._space_centers[labels]
        squares = np.einsum("ij,ij->i", gaps, gaps)
        return -float(squares.sum() if weight is None else squares @ weight)


def _positions(parameter: str, wanted: Any, names: Sequence[str]) -> list[int] | None:
    """Return the positions of columns given by name or position; OptionError for what is none."""
    if wanted is None:
        return None
    if isinstance(wanted, str | bytes) or np.ndim(wanted) != 1 or not len(wanted):
        raise OptionError(f"{parameter} must be a list of column names or positions, not {wanted!r}")
    place = {name: j for j, name in enumerate(names)}
    positions: list[int] = []
    for column in wanted:
        position = place.get(column, -1) if isinstance(column, str) else column
        is_position = isinstance(position, Integral) and not isinstance(position, bool)
        if not is_position or not 0 <= position < len(names):
            raise OptionError(
                f"{parameter} names a column {column!r}, which X does not have; "
                f"its {len(names)} columns are: {', '.join(map(repr, names))}"
            )
        positions.append(int(position))
    if len(set(positions)) < len(positions):
        raise OptionError(f"{parameter} names a column twice: {', '.join(names[j] for j in positions)}")
    return positions


def _columns(matrix: NDArray[Any], positions: Sequence[int]) -> NDArray[Any]:
    """Return columns of a matrix; the matrix itself if they are all of it."""
    return matrix if list(positions) == list(range(matrix.shape[1])) else matrix[:, list(positions)]


def _native(X: Any, matrix: NDArray[Any], positions: Sequence[int]) -> Any:
    """Return columns of X as the user has them, for a Pipeline that may choose its columns by name or type."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return _columns(matrix, positions)
    if list(positions) == list(range(len(frame.columns))):
        return X
    return frame.select([frame.columns[j] for j in positions]).to_native()


def _given_labels(clusterer: Any, n_rows: int) -> Labelling | None:
    """Return the labels if `clusterer` is one label per row, and not a clusterer or centers."""
    if clusterer is None or hasattr(clusterer, "fit") or isinstance(clusterer, str):
        return None
    if not isinstance(clusterer, Column):
        try:
            if np.ndim(clusterer) != 1:
                return None
        except ValueError:  # lists of different lengths are neither
            return None
    column = Column.of("clusterer", clusterer)
    if len(column.values) != n_rows:
        raise DataError(
            f"clusterer has {len(column.values)} labels, the table has {n_rows} rows: give one label per row, "
            "or centers of shape (k, columns)"
        )
    return Labelling.of(column.values, column.absent)


def _without_unlabelled(weight: NDArray[np.float64] | None, labels: NDArray[np.int32]) -> NDArray[np.float64] | None:
    """Return weights that are 0 where a row is in no cluster."""
    unlabelled = labels == UNLABELLED
    if not unlabelled.any():
        return weight
    counting = np.where(unlabelled, 0.0, 1.0 if weight is None else weight)
    if not counting.any():
        raise DataError("no row with a label has a positive weight: there is no clustering to explain")
    return counting


def _filled(means: NDArray[np.float64], fallback: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means, those of clusters without rows (NaN) replaced."""
    return np.where(np.isnan(means), fallback, means)


def _kind_of(X: Any) -> str:
    """Return NumPy's kind of an array-like's numbers, "?" where it has none."""
    try:
        return str(np.asarray(X).dtype.kind)
    except ValueError:
        return "?"


def _thread_count(n_jobs: int | None) -> int:
    """Return the number of threads, reading `n_jobs` as joblib does."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise OptionError(f"n_jobs must be None or a whole number that is not 0, not {n_jobs!r}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _refuse_unusable(table: Table, explained: NDArray[Any]) -> None:
    """Raise DataError naming the columns that hold missing or infinite values, and how many."""
    missing, infinite = [], []
    for j, column in enumerate(table.columns):
        n_missing = int(column.absent.sum())
        if n_missing:
            missing.append(f"{column.name!r} ({n_missing} rows)")
        n_infinite = int(np.isinf(explained[:, j]).sum())
        if n_infinite:
            infinite.append(f"{column.name!r} ({n_infinite} rows)")
    if missing:
        raise DataError(
            f"missing values (NaN, None or NULL) in {', '.join(missing)}: leave these rows out, fill them, "
            "or exclude the columns"
        )
    if infinite:
        raise DataError(f"infinity in {', '.join(infinite)}: k-means needs finite numbers; mend or leave out the rows")


def _place_thresholds(growth: Growth, table: Table) -> Tree:
    """Choose a readable threshold in every gap, which parts the training rows as the gap does."""
    threshold = np.zeros(len(growth.feature))
    for node in np.flatnonzero(growth.feature != LEAF):
        lower, upper = float(growth.lower[node]), float(growth.upper[node])
        column = table.columns[growth.feature[node]]
        value = readable_threshold(lower, upper, integer=column.type == "integer")
        threshold[node] = value
        if threshold[node] != value or not lower <= threshold[node] < upper:
            raise DataError(
                f"column {column.name!r} holds integers beyond 2**53 that differ by less than a float64 can tell; "
                "exclude it, or subtract a constant from it"
            )
    return Tree(growth.feature, threshold, growth.left, growth.right, growth.center, growth.rows, growth.weight)


def _describe(name: str, kind: str, values: NDArray[Any], mean: float) -> RuleColumn:
    """Return what the rules keep of a column."""
    number = int if kind == "integer" else float
    return RuleColumn(name, kind, float(mean), number(values.min()), number(values.max()))  # type: ignore[arg-type]


def _rule_nodes(tree: Tree, table: Table) -> tuple[Split | Leaf, ...]:
    """Return the tree's nodes as the rules keep them: integers for integer columns."""
    nodes: list[Split | Leaf] = []
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            nodes.append(Leaf(int(tree.cluster[node]), int(tree.rows[node]), float(tree.weight[node])))
            continue
        value = float(tree.threshold[node])
        integer = table.columns[tree.feature[node]].type == "integer"
        nodes.append(
            Split(
                int(tree.feature[node]),
                "<=",
                int(value) if integer else value,
                int(tree.left[node]),
                int(tree.right[node]),
            )
        )
    return tuple(nodes)

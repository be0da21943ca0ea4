"""`ExplainableKMeans`: the scikit-learn face, where the stages are wired."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from shallowrules.clustering import Reference, reference_clustering
from shallowrules.encoding import CATEGORY_WEIGHT, SCALES, Encoder, Encoding, categories, encode
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
from shallowrules.table import Column, Table, Value
from shallowrules.thresholds import readable_threshold
from shallowrules.transformers import encode_through, fitted_transformer, transformed
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
    clusterer : estimator or array-like of shape (k, n_features), default=None
        None clusters by ``KMeans(n_clusters, n_init=10, random_state=random_state)``. Any scikit-learn
        clusterer, fitted or not: its centers are explained if it has them, else its labels. Given
        fitted, it is not fitted again; `clone` drops its fit unless it is wrapped in
        ``sklearn.frozen.FrozenEstimator``. An array is the centers themselves. Cluster i of the tree
        is center i.
    scale : {None, "minmax", "standard", "robust"}, default=None
        Scale the columns for the clustering. Rules stay in the units of X.
    categories : {"auto"}, default="auto"
        How columns that are not numeric enter. "auto": text and truth values of a dataframe become a column of 0
        and 1 for each value, and rules ask for values by name. Columns of more than 50 values, or of another
        in nearly every row, are refused by name, and so are dates.
    category_weight : float, default=sqrt(1/2)
        What these columns of 0 and 1 are multiplied by for the clustering. By default rows that differ in a
        category are as far apart as the ends of a column that ``scale="minmax"`` brought to 0 and 1: they
        differ in two columns of 0 and 1, which makes a squared distance of ``2 * category_weight**2``.
    impute : {None, "median"}, default=None
        None refuses missing values. "median" takes those of a column as the median of its numbers (a value of the
        table, the lower of two in the middle) or its most frequent category, and the rules, SQL and Python do
        so for new rows; in columns without a missing value in X they are refused later too.
    transformer : scikit-learn transformer, default=None
        In place of `scale`, `category_weight` and `impute`: what takes X to the space to cluster in. Fitted or
        not, as `clusterer`; not fitted, it is fitted on the rows without their weights. Rules ask for the columns of
        X all the same: scalers, OneHotEncoder, OrdinalEncoder, SimpleImputer, monotone functions, and Pipeline and
        ColumnTransformer of them are seen through; what mixes columns goes into `clusterer`.
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
        The tree over the explained columns: those of X, thresholds in their units, and where X has categories
        a column of 0 and 1 for each, as ``encoder_.columns`` lists them.
    encoder_ : Encoder
        What turns rows of X into explained columns (``encoder_.explain``) and these into the space that was
        clustered (``encoder_.place``).
    rules_ : RuleSet
        One rule per leaf, with everything an exporter needs.
    n_leaves_ : int
    wad_, waes_ : float
        Weighted average depth and explanation size (the paper's Eqs. 2 and 3).
    inertia_ : float
        k-means cost (Eq. 1) of the tree's partition, in squared units of the clustered space.
    reference_labels_ : ndarray, shape (n_samples,)
        Cluster of each row in the unrestricted clustering.
    reference_centers_ : ndarray of float64, shape (k, n_features)
        Its centers, in the clustered space.
    reference_inertia_ : float
        Its cost, with the means of its labels.
    normalized_cost_ : float
        ``inertia_ / reference_inertia_``, the price of explainability.
    cluster_centers_ : ndarray of float64, shape (k, n_explained)
        Means of the tree's clusters in the explained columns, in the units of X (shares for categories); the
        reference center where a cluster is empty.
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
        scale: str | None = None,
        categories: str = "auto",
        category_weight: float = CATEGORY_WEIGHT,
        impute: str | None = None,
        transformer: Any = None,
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
        self.scale = scale
        self.categories = categories
        self.category_weight = category_weight
        self.impute = impute
        self.transformer = transformer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> ExplainableKMeans:
        """Cluster the table, grow the tree, derive the rules.

        Parameters
        ----------
        X : array-like, dataframe or Table of shape (n_samples, n_features)
            Numbers without missing or infinite values; in a dataframe also text and truth values.
            float32 and float64 arrays are not copied.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights, none negative, not all 0. A row of weight 0 does not count but gets a label.

        Returns
        -------
        self
        """
        self._check_parameters()
        table, matrix = self._read(X, reset=True)
        if y is not None and hasattr(y, "__len__") and len(y) != table.n_rows:
            raise DataError(f"y has {len(y)} entries, X has {table.n_rows} rows")
        weight = None
        if sample_weight is not None:
            if not np.asarray(sample_weight).any():
                raise DataError("Sample weights must contain at least one non-zero number, but sample_weight is all 0")
            rows = np.broadcast_to(np.float64(0), (table.n_rows, 1))
            weight = _check_sample_weight(sample_weight, rows, dtype=np.float64)
            if (weight < 0).any():
                raise DataError(f"Negative values in data passed to `sample_weight`: {int((weight < 0).sum())} rows")
        n_counted = table.n_rows if weight is None else int(np.count_nonzero(weight))
        if self.clusterer is None and n_counted < self.n_clusters:
            raise DataError(
                f"n_samples={n_counted} should be >= n_clusters={self.n_clusters}: "
                "ask for fewer clusters or give more rows"
            )
        table, encoding = self._encode(table, X, matrix, weight)
        self.encoder_ = encoding.encoder
        self.scaler_ = encoding.encoder.scaler
        self._say(f"clustering {table.n_rows} rows x {encoding.clustered.shape[1]} columns")
        with warnings.catch_warnings():
            # Too few distinct rows: said below, once, in words of leaves.
            warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
            reference, self.clusterer_ = reference_clustering(
                encoding, self.clusterer, self.n_clusters, self.random_state, weight
            )
        k = len(reference.centers)
        self._say(f"growing a tree for {k} clusters")
        growth = self._grow(encoding, reference, np.arange(k), weight)
        used = np.unique(reference.labels if weight is None else reference.labels[weight > 0])
        if growth.n_leaves < k and len(used) < k:
            # More centers than distinct rows: without the centers that no row has, cuts get valid.
            smaller = self._grow(encoding, reference, used, weight)
            growth = max(growth, smaller, key=lambda candidate: candidate.n_leaves)
        if growth.n_leaves < k:
            warnings.warn(
                f"the tree has {growth.n_leaves} leaves for {k} clusters: Number of distinct clusters "
                f"({growth.n_leaves}) found smaller than n_clusters ({k}), because rows or centers coincide "
                "or no rows are near a center",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.tree_ = _place_thresholds(growth, encoding.encoder, encoding.encoder.fill(table))
        self.labels_ = growth.labels
        if weight is not None and not weight.all():
            apart = weight == 0
            self.labels_[apart] = self.tree_.predict(encoding.explained[apart])
        self._measure(encoding, reference, weight, table)
        return self

    def _encode(
        self, table: Table, X: Any, matrix: NDArray[Any] | None, weight: NDArray[np.float64] | None
    ) -> tuple[Table, Encoding]:
        """Return the table of the columns that are used, and their encoding."""
        if self.transformer is not None:
            if isinstance(X, Table):
                raise OptionError("transformer needs a dataframe or an array that it can transform, not a Table")
            rows = X if matrix is None else np.asarray(X)
            encoding = encode_through(fitted_transformer(self.transformer, rows, weight), table, rows)
            return table.select(encoding.encoder.names), encoding
        encoding = encode(
            table,
            self.scale,
            category_weight=float(self.category_weight),
            impute=self.impute,
            sample_weight=weight,
            matrix=matrix,
        )
        return table, encoding

    def _grow(
        self,
        encoding: Encoding,
        reference: Reference,
        kept: NDArray[np.intp],
        weight: NDArray[np.float64] | None,
    ) -> Growth:
        """Grow the tree that explains the centers `kept`, numbered as in the reference."""
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
        return replace(growth, center=numbers[growth.center], labels=numbers[growth.labels])

    def _check_parameters(self) -> None:
        """Raise OptionError for a parameter that is not known or not allowed."""
        check_choice("method", self.method, METHODS)
        check_choice("refine", self.refine, ("none",))
        check_choice("categories", self.categories, ("auto",))
        if self.scale is not None:
            check_choice("scale", self.scale, [name for name in SCALES if name is not None])
        if self.impute is not None:
            check_choice("impute", self.impute, ("median",))
        if self.transformer is not None and not (self.scale is self.impute is None):
            raise OptionError("transformer does what scale and impute do: leave these at None")
        if self.max_leaves is not None:
            raise OptionError(f"max_leaves does not apply to method={self.method!r}, whose leaves are the clusters")
        if not isinstance(self.n_clusters, Integral) or isinstance(self.n_clusters, bool) or self.n_clusters < 1:
            raise OptionError(f"n_clusters must be a whole number of at least 1, not {self.n_clusters!r}")
        if not isinstance(self.tradeoff, Real) or isinstance(self.tradeoff, bool) or not 0 <= self.tradeoff < 1e6:
            raise OptionError(f"tradeoff must be a number from 0 up to 1e6, not {self.tradeoff!r}")
        weight = self.category_weight
        if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 < weight < 1e6:
            raise OptionError(f"category_weight must be a number above 0 and up to 1e6, not {weight!r}")
        _thread_count(self.n_jobs)

    def _read(self, X: Any, *, reset: bool) -> tuple[Table, NDArray[Any] | None]:
        """Return X as a table, and as a matrix where it is one, validated as scikit-learn does."""
        if isinstance(X, Table) or hasattr(X, "__dataframe__") or hasattr(X, "columns"):
            table = Table.of(X)
            if not table.n_rows or not table.columns:
                raise DataError(
                    f"Found array with {table.n_rows} sample(s) and {len(table.columns)} feature(s) while a minimum "
                    "of 1 is required: the table needs rows and columns"
                )
            if isinstance(X, Table):
                self._check_names(X.names, reset=reset)
            else:
                validate_data(self, X, reset=reset, skip_check_array=True)
            _refuse_unusable(table, self._imputing(table, reset))
            return table, None
        integral = _kind_of(X) in "biu"
        matrix = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False)
        try:
            assert_all_finite(matrix)
        except ValueError:
            _refuse_unusable(Table.of(matrix), self._imputing(Table.of(matrix), reset))
        names = [f"x{j}" for j in range(matrix.shape[1])]
        return Table.of(np.asarray(X) if integral else matrix, names), matrix

    def _imputing(self, table: Table, reset: bool) -> list[bool]:
        """Return for each column whether its missing values are imputed."""
        if reset:
            # What a transformer leaves missing is known once it is seen through.
            return [self.impute is not None or self.transformer is not None] * len(table.columns)
        encoder = self.encoder_
        names = encoder.names or table.names
        imputed = dict(zip(names, encoder.imputed or (None,) * len(names), strict=True))
        return [imputed.get(name, "unused") is not None for name in table.names]

    def _explain(self, X: Any) -> NDArray[Any]:
        """Return the explained columns of new rows."""
        table, matrix = self._read(X, reset=False)
        return self.encoder_.explain(table, matrix)

    def _check_names(self, names: list[str], *, reset: bool) -> None:
        """Do for a Table what scikit-learn's validation does for a dataframe."""
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
        elif names != list(getattr(self, "feature_names_in_", names)) or len(names) != self.n_features_in_:
            raise DataError(f"the table has columns {', '.join(names)}, not those that the model was fitted on")

    def _measure(
        self, encoding: Encoding, reference: Reference, weight: NDArray[np.float64] | None, table: Table
    ) -> None:
        """Set the fitted attributes that say how good the tree is, and its rules."""
        tree, clustered = self.tree_, encoding.clustered
        self.n_leaves_ = tree.n_leaves
        self.wad_ = weighted_average_depth(tree)
        self.waes_ = weighted_average_explanation_size(tree)
        self.inertia_ = partition_cost(clustered, self.labels_, weight)
        self.reference_labels_ = reference.labels
        self.reference_centers_ = reference.centers
        self.reference_inertia_ = partition_cost(clustered, reference.labels, weight)
        # Where the unrestricted clustering costs nothing, so does its explanation, or no ratio tells how much more.
        if self.reference_inertia_ > 0:
            self.normalized_cost_ = self.inertia_ / self.reference_inertia_
        else:
            self.normalized_cost_ = 1.0 if self.inertia_ == 0 else float("inf")
        k = len(reference.centers)
        same = agreement(self.labels_, reference.labels, weight)
        if reference.labelled and same < LOW_AGREEMENT:
            warnings.warn(
                f"the rules give {same:.0%} of the rows their given label: clusters of this shape are not "
                "told apart by cuts on single columns; see the clusters' precision and recall",
                ShallowRulesWarning,
                stacklevel=3,
            )
        counts = np.bincount(self.labels_ if weight is None else self.labels_[weight > 0], minlength=k)
        sums = (counts if weight is None else np.bincount(self.labels_, weight, minlength=k)).astype(np.float64)
        means = _cluster_means(encoding.explained, self.labels_, weight, sums)
        self.cluster_centers_ = np.where((sums > 0)[:, None], means, reference.explained_centers)
        precision, recall = precision_and_recall(self.labels_, reference.labels, k, weight)
        self._clustered_centers = self.cluster_centers_
        if not encoding.one_space:
            placed = _cluster_means(clustered, self.labels_, weight, sums)
            self._clustered_centers = np.where((sums > 0)[:, None], placed, reference.centers)
        filled = encoding.encoder.fill(table)
        columns, profiles = _describe_columns(encoding.encoder, filled, means, self.labels_, weight, sums)
        clusters = tuple(
            Cluster(
                index=int(i),
                name=reference.names[i],
                rows=int(counts[i]),
                weight=float(sums[i]),
                share=float(sums[i] / sums.sum()),
                precision=float(precision[i]),
                recall=float(recall[i]),
                **profiles[i],
            )
            for i in np.unique(tree.cluster[tree.leaves])
        )
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
            notes=_imputation_notes(table, encoding.encoder),
        )
        self.rules_ = RuleSet(columns, _rule_nodes(tree, encoding.encoder, filled), clusters, statistics)

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[ExplainableKMeans] {message}")

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf (a node of ``tree_``) that each row reaches, shape (n_samples,)."""
        check_is_fitted(self)
        return self.tree_.apply(self._explain(X))

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster of each row, shape (n_samples,)."""
        check_is_fitted(self)
        return self.tree_.predict(self._explain(X))

    def fit_predict(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Fit and return the cluster of each training row, shape (n_samples,)."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the k-means cost of X around the tree's clusters, in the space that was clustered.

        Each row is charged its squared distance to the mean of the cluster that the tree gives it; on
        the training rows this is minus ``inertia_``.
        """
        check_is_fitted(self)
        table, matrix = self._read(X, reset=False)
        explained = self.encoder_.explain(table, matrix)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, explained, dtype=np.float64)
        labels = self.tree_.predict(explained)
        transformer = self.encoder_.transformer
        if transformer is None:
            clustered = self.encoder_.place(explained)
        else:
            clustered = transformed(transformer, X if matrix is None else np.asarray(X))
        gaps = clustered.astype(np.float64, copy=False) - self._clustered_centers[labels]
        squares = np.einsum("ij,ij->i", gaps, gaps)
        return -float(squares.sum() if weight is None else squares @ weight)


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


def _refuse_unusable(table: Table, imputing: Sequence[bool]) -> None:
    """Raise DataError naming the columns that hold missing values, unless imputed, or infinite ones, and how many."""
    missing, infinite = [], []
    for column, imputed in zip(table.columns, imputing, strict=True):
        n_missing = 0 if imputed else int(column.absent.sum())
        if n_missing:
            missing.append(f"{column.name!r} ({n_missing} rows)")
        n_infinite = int(np.isinf(column.values).sum()) if column.is_numeric else 0
        if n_infinite:
            infinite.append(f"{column.name!r} ({n_infinite} rows)")
    if missing:
        raise DataError(
            f"missing values (NaN, None or NULL) in {', '.join(missing)}: leave these rows out, fill them "
            "(impute), or exclude the columns"
        )
    if infinite:
        raise DataError(f"infinity in {', '.join(infinite)}: k-means needs finite numbers; mend or leave out the rows")


def _place_thresholds(growth: Growth, encoder: Encoder, table: Table) -> Tree:
    """Choose a readable threshold in every gap, which parts the training rows as the gap does."""
    threshold = np.zeros(len(growth.feature))
    for node in np.flatnonzero(growth.feature != LEAF):
        lower, upper = float(growth.lower[node]), float(growth.upper[node])
        cut = encoder.columns[growth.feature[node]]
        if cut.kind != "number":
            threshold[node] = (lower + upper) / 2
            continue
        column = table.columns[cut.source]
        if cut.direction < 0:
            lower, upper = -upper, -lower
        value = readable_threshold(lower, upper, integer=column.type == "integer")
        if float(value) != value or not lower <= float(value) < upper:
            raise DataError(
                f"column {column.name!r} holds integers beyond 2**53 that differ by less than a float64 can tell; "
                "exclude it, or subtract a constant from it"
            )
        # Turned, "above the value" is "below its negative", so the threshold is the float before that.
        threshold[node] = value if cut.direction > 0 else math.nextafter(-value, -math.inf)
    return Tree(growth.feature, threshold, growth.left, growth.right, growth.center, growth.rows, growth.weight)


def _cluster_means(
    explained: NDArray[Any],
    labels: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    sums: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the mean row of each cluster, shape (k, n_explained), as float64; 0 for an empty one."""
    means = np.empty((len(sums), explained.shape[1]))
    for j in range(explained.shape[1]):
        values = explained[:, j].astype(np.float64, copy=False)
        means[:, j] = np.bincount(labels, values if weight is None else values * weight, minlength=len(sums))
    return means / np.where(sums > 0, sums, 1.0)[:, None]


def _describe_columns(
    encoder: Encoder,
    table: Table,
    means: NDArray[np.float64],
    labels: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    sums: NDArray[np.float64],
) -> tuple[tuple[RuleColumn, ...], list[dict[str, Any]]]:
    """Return what the rules keep of each raw column, and of each cluster its means and shares by column."""
    place = {column.source: j for j, column in enumerate(encoder.columns) if column.kind == "number"}
    columns: list[RuleColumn] = []
    of_numbers: list[list[float | None]] = [[] for _ in sums]
    of_values: list[list[tuple[float, ...]]] = [[] for _ in sums]
    for source, raw in enumerate(table.columns):
        if raw.is_numeric:
            if source in place:
                in_cluster = means[:, place[source]] * encoder.columns[place[source]].direction
            else:  # a transformer left it out, or took its numbers for categories
                in_cluster = _cluster_means(raw.values[:, None], labels, weight, sums)[:, 0]
            columns.append(_describe_numbers(raw, float(in_cluster @ sums / sums.sum())))
            shares = np.empty((len(sums), 0))
        else:
            described, shares = _describe_values(raw, labels, weight, sums)
            columns.append(described)
        for i in range(len(sums)):
            of_numbers[i].append(float(in_cluster[i]) if raw.is_numeric else None)
            of_values[i].append(tuple(shares[i].tolist()))
    imputed = encoder.imputed or (None,) * len(columns)
    columns = [
        replace(described, decimal=raw.conversion.decimal, nulls=raw.conversion.nulls, imputed=value)
        for described, raw, value in zip(columns, table.columns, imputed, strict=True)
    ]
    mixed = any(not column.is_numeric for column in columns)
    profiles = [
        {"means": tuple(numbers), "shares": tuple(values) if mixed else ()}
        for numbers, values in zip(of_numbers, of_values, strict=True)
    ]
    return tuple(columns), profiles


def _imputation_notes(table: Table, encoder: Encoder) -> tuple[str, ...]:
    """Return what a reader of the rules has to know of missing values that were imputed."""
    notes = []
    for column, value in zip(table.columns, encoder.imputed, strict=False):
        if value is not None:
            what = "the median" if column.is_numeric else "the most frequent value"
            what = what if encoder.transformer is None else "as the transformer does"
            count = int(column.absent.sum())
            notes.append(f"a missing value of column {column.name!r} ({count:,} rows) is taken as {value!r}, {what}")
    return tuple(notes)


def _describe_numbers(raw: Column, mean: float) -> RuleColumn:
    number = int if raw.type == "integer" else float
    return RuleColumn(raw.name, raw.type, mean, number(raw.values.min()), number(raw.values.max()))  # type: ignore[arg-type]


def _describe_values(
    raw: Column, labels: NDArray[np.int32], weight: NDArray[np.float64] | None, sums: NDArray[np.float64]
) -> tuple[RuleColumn, NDArray[np.float64]]:
    """Return a column of categories, the most frequent first, and their shares, shape (k, n_values)."""
    values: list[Value] = list(categories(raw))
    positions = raw.positions(values)
    cells = np.bincount(labels * len(values) + positions, weight, len(sums) * len(values)).reshape(len(sums), -1)
    order = np.argsort(-cells.sum(axis=0), kind="stable")
    shares = cells[:, order] / np.where(sums > 0, sums, 1.0)[:, None]
    of_all = (cells.sum(axis=0)[order] / sums.sum()).tolist()
    described = RuleColumn(raw.name, raw.type, None, None, None, tuple(values[i] for i in order), tuple(of_all))  # type: ignore[arg-type]
    return described, shares


def _rule_nodes(tree: Tree, encoder: Encoder, table: Table) -> tuple[Split | Leaf, ...]:
    """Return the tree's nodes as the rules keep them: over raw columns, integers for integer columns."""
    nodes: list[Split | Leaf] = []
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            nodes.append(Leaf(int(tree.cluster[node]), int(tree.rows[node]), float(tree.weight[node])))
            continue
        cut = encoder.columns[tree.feature[node]]
        threshold, below, above = float(tree.threshold[node]), int(tree.left[node]), int(tree.right[node])
        if cut.kind == "indicator":
            nodes.append(Split(cut.source, "=", cut.values[0], above, below))
        elif cut.kind == "rank":
            nodes.append(Split(cut.source, "in", cut.values[: math.floor(threshold) + 1], below, above))
        else:
            value = threshold if cut.direction > 0 else -math.nextafter(threshold, math.inf) + 0.0
            left, right = (below, above) if cut.direction > 0 else (above, below)
            integer = table.columns[cut.source].type == "integer"
            nodes.append(Split(cut.source, "<=", int(value) if integer else value, left, right))
    return tuple(nodes)

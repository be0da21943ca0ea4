"""`ExplainableKMeans`: the scikit-learn face, where the stages are wired."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from shallowrules.clustering import UNLABELLED, Labelling, Reference, centers_among, into_space, reference_clustering
from shallowrules.describing import describe_tree
from shallowrules.encoding import (
    CATEGORY_WEIGHT,
    SCALES,
    Encoder,
    Encoding,
    encode,
    encode_through,
    fitted_transformer,
    refuse_unusable,
    transformed,
)
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning, check_choice
from shallowrules.growing import BASES, METHODS, Growth, find_distinct, grow, grow_path
from shallowrules.metrics import normalized_cost, partition_cost
from shallowrules.refining import REFINEMENTS, refine
from shallowrules.summation import group_means
from shallowrules.table import Column, Table
from shallowrules.thresholds import readable_threshold
from shallowrules.tree import LEAF, Tree

__all__ = ["ExplainableKMeans"]

LOW_AGREEMENT = 0.8


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table that is read and clustered: all that trees are grown from.

    Parameters
    ----------
    table : Table
        The columns that are used.
    encoding : Encoding
    reference : Reference
    weight : ndarray of float64, shape (n_rows,), or None
        The weights that were given.
    counting : ndarray of float64, shape (n_rows,), or None
        The weights that rows are fitted with: 0 also for those that are in no cluster.
    """

    table: Table
    encoding: Encoding
    reference: Reference
    weight: NDArray[np.float64] | None
    counting: NDArray[np.float64] | None

    @cached_property
    def used(self) -> NDArray[np.int32]:
        """The centers that rows are assigned to, of the rows that count."""
        labels = self.reference.labels
        return np.unique(labels if self.counting is None else labels[self.counting > 0])

    @property
    def kept(self) -> NDArray[np.integer]:
        """The centers to explain. Labels are what they are: a component of a mixture that no row is in is none."""
        return self.used if self.reference.labelled else np.arange(len(self.reference.centers))

    @cached_property
    def reference_cost(self) -> float:
        """The k-means cost of the unrestricted clustering, with the means of its labels."""
        return partition_cost(self.encoding.X_cluster, self.reference.labels, self.counting)

    @property
    def left_out(self) -> int:
        """Number of rows in no cluster before there was a tree; rows of weight 0 were not meant to count."""
        apart = self.reference.labels == UNLABELLED
        return int(np.count_nonzero(apart if self.weight is None else apart & (self.weight > 0)))


class ExplainableKMeans(ClusterMixin, BaseEstimator):
    """k-means whose clusters are explained by a shallow decision tree.

    A k-means clustering is made, or taken over from `clusterer`; a tree is grown that follows it at
    little extra cost and with few conditions per leaf; its leaves are rules in the columns and units
    of X. Each cluster has one leaf, except by ExKMC, where one may have several or none.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 1. Not used if `clusterer` is given.
    method : {"exshallow", "exgreedy", "imm", "exkmc"}, default="exshallow"
        How a node's cut is priced. "exshallow" weighs cost against the length of rules, "exgreedy"
        looks at cost alone, "imm" at the rows that are separated from their center, "exkmc" at the
        cost of giving each side a single center.
    tradeoff : float, default=0.03
        The paper's lambda: the share of k-means cost given up to save one condition. Of "exshallow" only.
    max_leaves : int or None, default=None
        Of "exkmc" only: leaves at which to stop, at least one per cluster; None is one per cluster.
        More leaves cost less and make more rules.
    base : {"none", "imm"}, default="none"
        Of "exkmc" only: what it starts from, a single leaf or the tree of "imm".
    refine : {"full", "none"}, default="full"
        Of "exshallow" only, and not for given labels, whose leaves stay near their labels. "none" is the published
        greedy tree. "full" goes on from it to a tree of as many leaves
        whose ``normalized_cost_ + tradeoff * waes_`` is lower, and never higher: subtrees are grown ahead before a
        cut is chosen, on a sample of some thousand rows, and the best trees are improved on all rows, cut by cut.
        If `clusterer` is None, a cluster may lose its leaf and another be cut in two; clusters are then numbered so
        that as many rows as can be keep the number of their reference cluster.
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
        1 reports each stage on standard output, 2 also how far growing is, every second.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each training row, by the tree.
    tree_ : Tree
        The tree over the columns of X, thresholds in their units, and where X has categories over a column of 0
        and 1 for each, as ``encoder_.columns`` lists them.
    encoder_ : Encoder
        What turns rows of X into these columns (``encoder_.transform``) and them into the space that was clustered
        (``encoder_.to_clustered_space``), in which a Pipeline in `clusterer` goes on.
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
    cluster_centers_ : ndarray of float64, shape (k, n_model_columns)
        Means of the tree's clusters in the columns of ``tree_``, in the units of X (shares for categories); the
        reference center where a cluster is empty.
    clusterer_ : estimator or None
        The fitted clusterer.
    scaler_ : estimator or None
        The fitted scaler of ``scale``.
    on_progress : callable or None
        Not a parameter, so `clone` does not take it along: if set, growing calls it now and then with the share
        of its work that is done. What it raises ends the fit.
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

    on_progress: Callable[[float], None] | None = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "exshallow",
        tradeoff: float = 0.03,
        max_leaves: int | None = None,
        base: str = "none",
        refine: str = "full",
        clusterer: Any = None,
        cluster_columns: Sequence[str | int] | None = None,
        explain_columns: Sequence[str | int] | None = None,
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
        self.base = base
        self.refine = refine
        self.clusterer = clusterer
        self.cluster_columns = cluster_columns
        self.explain_columns = explain_columns
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
        prepared = self._prepare(X, y, sample_weight)
        [growths] = self._grow(prepared, [self.tradeoff])
        return self._finish(prepared, growths[-1])

    def _prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Prepared:
        """Validate, read and cluster the table: all that comes before the tree."""
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
        given = _given_labels(self.clusterer, table.n_rows)
        # Rows in no cluster are as those of weight 0: they do not count, and get a label by the tree.
        counting = weight if given is None else _without_unlabelled(weight, given.labels)
        self._clustered, explained = self._choose_columns(table.names, labelled=given is not None)
        names = [table.names[j] for j in self._clustered]
        table, encoding = self._encode(table, X, matrix, counting, explained)
        encoder = self.encoder_ = encoding.encoder
        self.scaler_ = encoder.scaler
        numbers = encoder.transformer is None and all(table[name].is_numeric for name in names)
        self._say(f"clustering {table.n_rows} rows x {encoding.X_cluster.shape[1]} columns")
        with warnings.catch_warnings():
            # Too few distinct rows: said below, once, in words of leaves.
            warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
            reference, encoding, self.clusterer_ = reference_clustering(
                encoding,
                self.clusterer if given is None else given,
                self.n_clusters,
                self.random_state,
                counting,
                # A clusterer of columns of 0 and 1 knows them by other names.
                names=names if numbers and hasattr(self, "feature_names_in_") else None,
                source=self._source(X, matrix),
            )
        for note in reference.notes:
            self._say(note)
        counting = _without_unlabelled(counting, reference.labels)
        prepared = Prepared(table, encoding, reference, weight, counting)
        k = len(prepared.kept)
        if self.max_leaves is not None and self.max_leaves < k:
            raise OptionError(f"max_leaves={self.max_leaves} is less than the {k} clusters: each may need a leaf")
        return prepared

    def _encode(
        self,
        table: Table,
        X: Any,
        matrix: NDArray[Any] | None,
        weight: NDArray[np.float64] | None,
        explained: list[int],
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
            cluster_columns=self._clustered,
            explain_columns=explained,
        )
        return table, encoding

    def _source(self, X: Any, matrix: NDArray[Any] | None) -> Any:
        """Return what a Pipeline in `clusterer` takes, for it may choose columns by name or type: those of X.

        None where it takes the rows as they are clustered: of a Table, and behind a transformer.
        """
        if self.encoder_.transformer is not None or isinstance(X, Table):
            return None
        if matrix is not None:
            return matrix if self._clustered == list(range(matrix.shape[1])) else matrix[:, self._clustered]
        frame = nw.from_native(X, eager_only=True)
        if self._clustered == list(range(len(frame.columns))):
            return X
        return frame.select([frame.columns[j] for j in self._clustered]).to_native()

    def _grow(self, prepared: Prepared, tradeoffs: Sequence[float]) -> list[tuple[Growth, ...]]:
        """Grow the greedy tree for each trade-off, and with ``refine="full"`` a refined one behind it.

        Where greedy trees are equal, they are the same object.
        """
        kept, used = prepared.kept, prepared.used
        self._say(f"growing a tree for {len(kept)} clusters")
        growths = self._grow_for(prepared, kept, tradeoffs)
        separates = self.method != "exkmc" or self.base == "imm"
        if separates and len(used) < len(kept) and any(found[0].n_leaves < len(kept) for found in growths):
            # More centers than distinct rows: without the centers that no row has, cuts get valid.
            smaller = self._grow_for(prepared, used, tradeoffs)
            growths = [max(pair, key=lambda found: found[0].n_leaves) for pair in zip(growths, smaller, strict=True)]
        return growths

    def _grow_for(
        self, prepared: Prepared, kept: NDArray[np.integer], tradeoffs: Sequence[float]
    ) -> list[tuple[Growth, ...]]:
        """Grow the trees that explain the centers `kept`, numbered as in the reference, over the columns of X."""
        encoding, reference = prepared.encoding, prepared.reference
        spaces = encoding.X_explain, encoding.X_cluster
        arrays = (*spaces, reference.explained_centers[kept], reference.centers[kept])
        n_threads = _thread_count(self.n_jobs)
        labels = _renumbered(reference.labels, kept)
        watch = self._watch()
        refines = (
            self.refine == "full"
            and self.method == "exshallow"
            and not reference.labelled
            and prepared.reference_cost > 0
        )
        with_imm = self.method == "imm" or (self.method == "exkmc" and self.base == "imm")
        assigned = labels if reference.labelled and with_imm else None
        distinct = find_distinct(*spaces, reference.centers[kept], prepared.counting, assigned, n_threads)
        common: dict[str, Any] = {"weight": prepared.counting, "distinct": distinct, "n_threads": n_threads}
        report = _part_of(watch, 0, 1 + refines * len(tradeoffs))
        if len(tradeoffs) > 1:
            growths = grow_path(*arrays, **common, tradeoffs=tradeoffs, report=report)
        else:
            growth = grow(
                *arrays,
                **common,
                method=self.method,
                tradeoff=tradeoffs[0],
                max_leaves=self.max_leaves,
                base=self.base,
                assigned=assigned,
                report=report,
            )
            growths = [growth]
        numbers = np.append(kept, LEAF).astype(np.int32)  # the last, at index -1, stays LEAF
        tested = encoding.encoder.explain_positions or range(encoding.matrix.shape[1])
        columns = np.append(tested, LEAF).astype(np.int32)

        def over_the_table(growth: Growth) -> Growth:
            return replace(
                growth,
                feature=columns[growth.feature],
                center=numbers[growth.center],
                labels=numbers[growth.labels],
            )

        greedy = {id(growth): over_the_table(growth) for growth in growths}
        found = []
        for i, (tradeoff, growth) in enumerate(zip(tradeoffs, growths, strict=True)):
            trees = [greedy[id(growth)]]
            if refines and growth.n_leaves == len(kept) > 1:
                refinement = refine(
                    growth,
                    *arrays,
                    **common,
                    tradeoff=tradeoff,
                    reference_cost=prepared.reference_cost,
                    reference_labels=labels,
                    moves=self.clusterer is None,
                    report=_part_of(watch, 1 + i, 1 + len(tradeoffs)),
                )
                self._say(refinement.summary())
                trees.append(over_the_table(refinement.growth))
            found.append(tuple(trees))
        return found

    def _finish(self, prepared: Prepared, growth: Growth) -> ExplainableKMeans:
        """Place the tree's thresholds and set the fitted attributes."""
        table, encoding, reference = prepared.table, prepared.encoding, prepared.reference
        kept, counting, matrix = prepared.kept, prepared.counting, encoding.matrix
        if growth.n_leaves < len(kept):
            warnings.warn(
                f"the tree has {growth.n_leaves} leaves for {len(kept)} clusters: Number of distinct clusters "
                f"({growth.n_leaves}) found smaller than n_clusters ({len(kept)}), because rows or centers coincide "
                "or no rows are near a center",
                ConvergenceWarning,
                stacklevel=3,
            )
        tree = self.tree_ = _place_thresholds(growth, encoding.encoder, encoding.encoder.impute(table), reference.names)
        self.labels_ = growth.labels.copy()
        if counting is not None and not counting.all():
            apart = counting == 0
            self.labels_[apart] = tree.predict(matrix[apart])
        leafless = np.setdiff1d(kept, tree.cluster[tree.leaves])
        k = len(reference.centers)
        space_means = group_means(encoding.X_cluster, self.labels_, k, counting)
        self._space_centers = np.where(np.isnan(space_means), reference.centers, space_means)
        whole = encoding.X_explain is matrix
        self.rules_, self.cluster_centers_ = describe_tree(
            tree,
            table,
            encoding,
            self.labels_,
            reference.labels,
            weight=counting,
            weighted=prepared.weight is not None,
            fallback=(
                reference.explained_centers if whole else centers_among(matrix, reference, encoding.X_cluster, counting)
            ),
            method=self.method,
            tradeoff=float(self.tradeoff) if self.method == "exshallow" else 0.0,
            labelled=reference.labelled,
            left_out=prepared.left_out,
            notes=(*reference.notes, *growth.notes, *_leafless_note([reference.names[i] for i in leafless], len(kept))),
        )
        statistics = self.rules_.statistics
        self.n_leaves_ = tree.n_leaves
        self.wad_, self.waes_ = statistics.wad, statistics.waes
        self.inertia_, self.reference_inertia_ = statistics.cost, statistics.reference_cost
        self.normalized_cost_ = normalized_cost(self.inertia_, self.reference_inertia_)
        self.reference_labels_ = reference.labels
        self.reference_centers_ = reference.centers
        if reference.labelled and statistics.agreement < LOW_AGREEMENT:
            warnings.warn(
                f"the rules give {statistics.agreement:.0%} of the rows their given label: clusters of this shape "
                "are not told apart by cuts on single columns; see the clusters' precision and recall",
                ShallowRulesWarning,
                stacklevel=3,
            )
        return self

    def _check_parameters(self) -> None:
        """Raise OptionError for a parameter that is not known or not allowed."""
        check_choice("method", self.method, METHODS)
        check_choice("refine", self.refine, REFINEMENTS)
        check_choice("categories", self.categories, ("auto",))
        if self.scale is not None:
            check_choice("scale", self.scale, [name for name in SCALES if name is not None])
        if self.impute is not None:
            check_choice("impute", self.impute, ("median",))
        if self.transformer is not None:
            if not (self.scale is self.impute is None):
                raise OptionError("transformer does what scale and impute do: leave these at None")
            if not (self.cluster_columns is self.explain_columns is None):
                raise OptionError(
                    "transformer chooses the columns, which are clustered and explained: leave cluster_columns and "
                    "explain_columns at None, or put it in a Pipeline in front of the clusterer"
                )
        check_choice("base", self.base, BASES)
        if self.method != "exkmc":
            for name, unset in (("max_leaves", None), ("base", "none")):
                if getattr(self, name) != unset:
                    raise OptionError(f"{name} applies to method='exkmc' only, not to method={self.method!r}")
        if self.max_leaves is not None and (not _is_whole(self.max_leaves) or self.max_leaves < 1):
            raise OptionError(f"max_leaves must be a whole number of at least n_clusters, not {self.max_leaves!r}")
        if not _is_whole(self.n_clusters) or self.n_clusters < 1:
            raise OptionError(f"n_clusters must be a whole number of at least 1, not {self.n_clusters!r}")
        if not isinstance(self.tradeoff, Real) or isinstance(self.tradeoff, bool) or not 0 <= self.tradeoff < 1e6:
            raise OptionError(f"tradeoff must be a number from 0 up to 1e6, not {self.tradeoff!r}")
        weight = self.category_weight
        if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 < weight < 1e6:
            raise OptionError(f"category_weight must be a number above 0 and up to 1e6, not {weight!r}")
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
            refuse_unusable(table, self._imputing(table, reset))
            return table, None
        integral = _kind_of(X) in "biu"
        matrix = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False)
        try:
            assert_all_finite(matrix)
        except ValueError:
            refuse_unusable(Table.of(matrix), self._imputing(Table.of(matrix), reset))
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
        return self.encoder_.transform(table, matrix)

    def _check_names(self, names: list[str], *, reset: bool) -> None:
        """Do for a Table what scikit-learn's validation does for a dataframe."""
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
        elif names != list(getattr(self, "feature_names_in_", names)) or len(names) != self.n_features_in_:
            raise DataError(f"the table has columns {', '.join(names)}, not those that the model was fitted on")

    def _watch(self) -> Callable[[float], None] | None:
        """Return what is to be called with the share of growing that is done."""
        if self.on_progress is not None or self.verbose < 2:
            return self.on_progress
        started = last = time.monotonic()

        def say(done: float) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= 1.0:
                last = now
                self._say(f"growing: {done:.0%} after {now - started:.0f} s")

        return say

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
        encoder = self.encoder_
        columns = encoder.transform(table, matrix)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, columns, dtype=np.float64)
        labels = self.tree_.predict(columns)
        if encoder.transformer is None:
            clustered = encoder.to_clustered_space(columns)
        else:
            clustered = transformed(encoder.transformer, X if matrix is None else np.asarray(X))
        space = into_space(self.clusterer_, clustered, self._source(X, matrix))
        gaps = np.asarray(space, dtype=np.float64) - self._space_centers[labels]
        squares = np.einsum("ij,ij->i", gaps, gaps)
        return -float(squares.sum() if weight is None else squares @ weight)


def _part_of(watch: Callable[[float], None] | None, part: int, n_parts: int) -> Callable[[float], None] | None:
    """Return what takes the share done of one of several equal parts of the work."""
    if watch is None or n_parts == 1:
        return watch
    return lambda share: watch((part + share) / n_parts)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


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
        if not _is_whole(position) or not 0 <= position < len(names):
            raise OptionError(
                f"{parameter} names a column {column!r}, which X does not have; "
                f"its {len(names)} columns are: {', '.join(map(repr, names))}"
            )
        positions.append(int(position))
    if len(set(positions)) < len(positions):
        raise OptionError(f"{parameter} names a column twice: {', '.join(names[j] for j in positions)}")
    return positions


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


def _renumbered(labels: NDArray[np.int32], kept: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return labels as positions among the centers `kept`, `UNLABELLED` where they are none of them."""
    numbers = np.full(
        int(max(labels.max(), kept.max())) + 2, UNLABELLED, dtype=np.int32
    )  # the last, at index -1, stays so
    numbers[kept] = np.arange(len(kept))
    return numbers[labels]


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
    if not _is_whole(n_jobs) or n_jobs == 0:
        raise OptionError(f"n_jobs must be None or a whole number that is not 0, not {n_jobs!r}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _leafless_note(names: Sequence[str], k: int) -> tuple[str, ...]:
    """Return what to say of clusters without a rule: nothing, or one note."""
    if not names:
        return ()
    return (f"{len(names)} of {k} clusters have no rule, their rows are in others: {', '.join(names)}",)


def _place_thresholds(growth: Growth, encoder: Encoder, table: Table, names: tuple[str, ...]) -> Tree:
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
    return Tree(growth.feature, threshold, growth.left, growth.right, growth.center, growth.rows, growth.weight, names)

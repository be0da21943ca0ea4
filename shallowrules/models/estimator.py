"""`ExplainableKMeans`, the scikit-learn face. `parameters` checks what it is given, `fits` sets what a fit gives it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from shallowrules.encoding import CATEGORY_WEIGHT, Encoder, refuse_unusable
from shallowrules.fitting.data import GivenTable
from shallowrules.fitting.growing import grow, seed_of
from shallowrules.fitting.options import MIN_GAIN
from shallowrules.fitting.preparing import to_clustered_space
from shallowrules.fitting.preparing_parts import prepare_parts, refuse_options
from shallowrules.models.arguments import read_as, read_rows, read_weights
from shallowrules.models.fits import NOT_OF_ALL_TABLES, fitted, prepare_fit
from shallowrules.models.parameters import fit_parameters
from shallowrules.models.reporting import log_of, progress_of
from shallowrules.models.silhouettes import plot_silhouettes
from shallowrules.models.tree_mixin import TreeMixin
from shallowrules.partitions import open_partitions
from shallowrules.partitions.memory import check_memory
from shallowrules.rules import RuleSet
from shallowrules.rules.documents.pickled import reading, stamped
from shallowrules.tables.order import warn_of_other_order
from shallowrules.trees.thorough import BUDGET
from shallowrules.trees.tree import Tree

__all__ = ["ExplainableKMeans"]


class ExplainableKMeans(TreeMixin, ClusterMixin, BaseEstimator):
    """k-means whose clusters are explained by a shallow decision tree.

    A k-means clustering is made, or adopted from `clusterer`; a tree is grown that follows it at
    little extra cost and with few conditions per leaf; its leaves are rules in the columns and units
    of X. Each cluster has one leaf, or several with `max_leaves`; by ExKMC it may have none.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at least 1. Not used if `clusterer` is given.
    method : {"exshallow", "exgreedy", "imm", "exkmc"}, default="exshallow"
        What a cut costs. "exshallow" weighs cost against the length of rules, "exgreedy" counts cost alone,
        "imm" the rows that are separated from their center, "exkmc" the cost of giving each side a single
        center.
    tradeoff : float, default=0.03
        The paper's lambda: the share of k-means cost given up to save one condition. For "exshallow" only: like every
        option of one method, it is ignored beside others, so that a search may cross them.
    max_leaves : int or None, default=None
        For "exshallow" and "exkmc": leaves at which to stop, at least one per cluster; None is one per cluster.
        More leaves make more rules and cost less: a cluster may have several. "exshallow" stops where another leaf no
        longer lowers ``normalized_cost_ + tradeoff * waes_``; there it goes with neither given labels nor `keep`.
    base : {"none", "imm"}, default="none"
        For "exkmc" only: what it starts from, a single leaf or the tree of "imm".
    refine : {"full", "thorough", "none"}, default="full"
        For "exshallow" only, and not for given labels, whose leaves stay near their labels. "none" is the published
        greedy tree. "full" improves it to a tree of as many leaves
        whose ``normalized_cost_ + tradeoff * waes_`` is lower, and never higher: a lookahead grows subtrees before
        a cut is chosen, and cuts and leaves are changed at random and the tree repaired around them, on a sample of
        some thousand rows; the best trees are judged on all rows. "thorough" keeps searching within `budget`; an
        interrupt then ends the search with the best tree so far. A cluster may lose its leaf and another one be split;
        clusters are then numbered so that as many rows as possible keep the number of their reference cluster. With
        ``tradeoff=0`` "full" takes the cheapest tree of a few small trade-offs.
    budget : float or str, default=100
        For ``refine="thorough"`` only: about how many times the work of growing the greedy tree it may take, or how
        many seconds, as in ``"30s"``. Either way a note in the rules gives the former: with that number the tree is the
        same.
    round_within : float or None, default=None
        The share of ``normalized_cost_ + tradeoff * waes_`` by which it may rise for rounder thresholds: 0.002 is
        0.2%. They may then leave the gap between rows, and a note in the rules says how many rows change cluster. 0
        keeps every threshold in its gap. None is 0.0005 for refined trees, but never above the greedy tree's, and 0
        for others. Not for given labels.
    keep : sequence of str, default=()
        Cuts that the tree has to start with, such as ``["proline <= 750"]`` or ``["city = 'Ulm'"]``: the first is asked
        first, the next wherever it has clusters on both sides. Their thresholds stay as they are. Not for ExKMC.
    clusterer : estimator or array-like of shape (k, n_features) or (n_samples,), default=None
        The clustering to explain. None clusters by
        ``KMeans(n_clusters, n_init=10, random_state=random_state)``.

        - Any scikit-learn clusterer, fitted or not: its centers are explained if it has them
          (``cluster_centers_``, or ``means_`` of a mixture), else its labels. Rows that it calls noise (-1)
          are left out of fitting and counted. Given fitted, it is not fitted again; `clone` drops its fit
          unless it is wrapped in ``sklearn.frozen.FrozenEstimator``.
        - A Pipeline of transformers and a clusterer gets X as it is. Distances are taken in the space
          after the transformers, rules are in the columns of X. `scale` stays None.
        - Numbers of shape (k, number of clustered columns): the centers themselves.
        - One label per row, of any kind; their names are kept. Rows whose label is missing (None, NaN) are left
          out of fitting and counted; -1 is a label like any other. Distances are taken in the explained
          columns, the centers are the means of the labels.

        Cluster i of the tree is center i, or the i-th label in ascending order, noise last: `classes_` says which label
        its rows get.
    cluster_columns : sequence of str or int, default=None
        Columns of X to cluster by, by name or position; None takes all, or for given labels those to
        explain by.
    explain_columns : sequence of str or int, default=None
        Columns of X that rules may test; None takes `cluster_columns`. X has the columns of both, in
        `fit` as in `predict`; ``rules_.assign`` needs only those that rules test.
    scale : {None, "minmax", "standard", "robust"}, default=None
        Scale the columns for the clustering, rows counted by their weight ("robust" takes whole weights
        only). Rules stay in the units of X.
    category_weight : float or "auto", default=sqrt(1/2)
        Text and truth values of a dataframe become a column of 0 and 1 for each value, and rules ask for values by
        name; columns of more than 50 values, or of a different one in nearly every row, are refused by name.
        This is the factor of these columns in the clustering. By default rows that differ in a
        category are as far apart as the ends of a column that ``scale="minmax"`` brought to 0 and 1: they
        differ in two columns of 0 and 1, which makes a squared distance of ``2 * category_weight**2``.
        "auto" is the weight by which a column of categories varies as much as a column of numbers, on average over the
        columns that are not constant, once these are scaled: the square root of the mean variance of numbers over
        the mean Gini impurity of categories, to four digits. A column of two numbers then counts as categories. Without
        columns of both kinds it is sqrt(1/2). `category_weight_` holds it.
    two_values : {"number", "category"}, default="number"
        How a column of two numbers, such as 0 and 1, is clustered: scaled as other numbers, or weighed as if its
        values were texts, as ``category_weight="auto"`` always does. Rules test its numbers in any case.
    impute : {None, "median"}, default=None
        None refuses missing values. "median" replaces those of a column by the median of its numbers (a value of the
        table, the lower of two in the middle) or its most frequent category, and the rules, SQL and Python do
        so for new rows; in columns without a missing value in X they are refused later too.
    missing : {None, "category"}, default=None
        "category" takes the missing values of a column of text as a category of its own, '(missing)', and so do the
        rules, SQL and Python; `impute` then fills numbers and truth values alone. Codes are numbers here.
    noise : {"drop", "cluster"}, default="drop"
        "drop" leaves the rows that a clusterer calls noise (-1 beside 0, 1, …, as of DBSCAN and HDBSCAN) out of
        fitting, with a warning, and takes -1 among given labels as a label like any other. "cluster" gives noise, and
        rows of the given label -1, rules of their own, called "noise", with precision and recall: one, or with
        `max_leaves` at most as many as that leaves beside one for each other cluster, since noise lies around the
        clusters. Every export gives these rows -1, and NULL or None where no rule matches; arrays, in which -1 means
        "no rule", give them the next free number, the last of `classes_`.
    transformer : scikit-learn transformer, default=None
        In place of `scale`, `category_weight`, `impute` and `missing`: takes X to the space to cluster in. Fitted or
        not, as `clusterer`; not fitted, it is fitted on the rows without their weights. Rules still test the columns of
        X: scalers, OneHotEncoder, OrdinalEncoder, SimpleImputer, monotone functions, and Pipeline and
        ColumnTransformer of them are seen through; what mixes columns goes into `clusterer`.
    random_state : int, RandomState instance or None, default=None
        Passed to KMeans. A number is from 0 to 2**32 - 1.
    earlier : RuleSet or None, default=None
        Rules to continue from, for example from month to month: `rules_` of an earlier fit, or
        ``RuleSet.from_json(path)``. Columns keep the scale of their table, k-means starts from their centers, and their
        tree is compared with the new one, as it is and with other thresholds. Clusters keep numbers (`classes_`,
        which then need not ascend) and names by the rows that they share; ``rules_.flow`` has the rows by their
        clusters in both. With given labels only the scale is kept, and a given `clusterer` has centers of its own.
    rescale : bool, default=False
        Beside `earlier`: scale the columns by this table.
    min_gain : float, default=0.02
        Beside `earlier`: the share of ``normalized_cost_ + tradeoff * waes_`` by which other rules have to be better
        than the earlier ones to be taken. 0 takes the best.
    n_jobs : int or None, default=None
        Threads for growing and refining; the tree does not depend on it. None is what OpenMP gives scikit-learn's
        KMeans: one per physical core that the process may use, fewer under a limit of ``threadpoolctl``, of
        ``OMP_NUM_THREADS``, or inside joblib's workers, which share the cores. A number above 0 is taken as it is,
        up to 64 or the logical cores where these are more.
        Below 0 it counts from the logical cores, as in joblib: -1 is all, -2 all but one.
    verbose : int, default=0
        1 reports each stage and note, in a notebook with tqdm also a bar of how far growing is; 2 reports this every
        second where there is no bar. Lines are printed where no logging is set up that shows those of level INFO of
        the logger ``shallowrules``, which gets the stages and notes at 0 too.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each training row, by the tree: one of `classes_`. int64 where these need it.
    classes_ : ndarray of int32 or int64, shape (k,)
        The label of each cluster, ascending, noise last; row i of `cluster_centers_` and of `reference_centers_`
        belongs to ``classes_[i]``. Labels that were given as whole numbers are these numbers; other clusters are
        numbered from 0, and so are, with a warning, those of given labels that contain -1 or go beyond 64 bits.
    tree_ : Tree
        The tree over the columns of X, thresholds in their units; where X has categories, over a column of 0 and 1
        for each, and where it has integers of 2**53 and more, over a column of codes, as ``encoder_.columns`` lists
        them. Its cluster i is ``classes_[i]``.
    encoder_ : Encoder
        Turns rows of X into these columns (``encoder_.transform``) and them into the space that was clustered
        (``encoder_.to_clustered_space``), in which a Pipeline in `clusterer` continues.
    rules_ : RuleSet
        One rule per leaf, with everything an exporter needs.
    n_leaves_ : int
    wad_, waes_ : float
        Weighted average depth and explanation size (the paper's Eqs. 2 and 3).
    inertia_ : float
        k-means cost (Eq. 1) of the tree's partition, in squared units of the clustered space.
    reference_labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row in the unrestricted clustering, one of `classes_`; -1 for noise and rows without a label.
    reference_centers_ : ndarray of float64, shape (k, n_clustered)
        Its centers, in the clustered space.
    reference_inertia_ : float
        Its cost, with the means of its labels.
    normalized_cost_ : float
        ``inertia_ / reference_inertia_``, the price of explainability.
    cluster_centers_ : ndarray of float64, shape (k, n_model_columns)
        Means of the tree's clusters in the units of X (shares for categories); the reference center where a cluster is
        empty. Their columns are those of ``encoder_.columns`` that are not codes.
    clusterer_ : estimator or None
        The fitted clusterer.
    scaler_ : estimator or None
        The fitted scaler of ``scale``.
    category_weight_ : float
        The weight that was used.
    on_progress : callable or None
        Not a parameter, so neither `clone` nor pickles keep it: if set, growing calls it now and then with
        the share of its work that is done, and at the end with 1. An exception from it ends the fit.
    on_best : callable or None
        Like `on_progress`: if set, a thorough search calls it with J of the best tree so far.
    prices_more_rules : bool
        Not a parameter either: if set, a note in the rules says how far one or two more rules would lower the cost at
        least, as the command line does.
    n_iter_ : int
        Iterations of the clusterer, where it counts them.
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
    on_best: Callable[[float], None] | None = None
    prices_more_rules: bool = False

    # Set by `fit`, all in one step.
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    encoder_: Encoder
    scaler_: Any
    category_weight_: float
    clusterer_: Any
    tree_: Tree
    labels_: NDArray[Any]
    classes_: NDArray[Any]
    rules_: RuleSet
    n_leaves_: int
    wad_: float
    waes_: float
    inertia_: float
    normalized_cost_: float
    cluster_centers_: NDArray[np.float64]
    reference_labels_: NDArray[Any]
    reference_centers_: NDArray[np.float64]
    reference_inertia_: float
    _cluster_columns: list[int]
    _clustered_centers: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "exshallow",
        tradeoff: float = 0.03,
        max_leaves: int | None = None,
        base: str = "none",
        refine: str = "full",
        budget: float | str = BUDGET,
        round_within: float | None = None,
        keep: Sequence[str] = (),
        clusterer: Any = None,
        cluster_columns: Sequence[str | int] | None = None,
        explain_columns: Sequence[str | int] | None = None,
        scale: str | None = None,
        category_weight: float | str = CATEGORY_WEIGHT,
        two_values: str = "number",
        impute: str | None = None,
        missing: str | None = None,
        noise: str = "drop",
        transformer: Any = None,
        random_state: Any = None,
        earlier: RuleSet | None = None,
        rescale: bool = False,
        min_gain: float = MIN_GAIN,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.tradeoff = tradeoff
        self.max_leaves = max_leaves
        self.base = base
        self.refine = refine
        self.budget = budget
        self.round_within = round_within
        self.keep = keep
        self.clusterer = clusterer
        self.cluster_columns = cluster_columns
        self.explain_columns = explain_columns
        self.scale = scale
        self.category_weight = category_weight
        self.two_values = two_values
        self.impute = impute
        self.missing = missing
        self.noise = noise
        self.transformer = transformer
        self.random_state = random_state
        self.earlier = earlier
        self.rescale = rescale
        self.min_gain = min_gain
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: None = None, sample_weight: ArrayLike | None = None, measure: Any = None
    ) -> ExplainableKMeans:
        """Cluster the table, grow the tree, derive the rules.

        Parameters
        ----------
        X : array-like, dataframe, Table or mapping of columns, of shape (n_samples, n_features)
            Numbers without missing or infinite values; in a dataframe also text and truth values.
            float32 and float64 arrays are not copied, except those up to 1 GiB whose columns are contiguous.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights, none negative, not all 0. A row of weight 0 does not count but gets a label. A weight with a
            fraction is rounded to a multiple of 2**-52 of the power of two above the sum of all, so that sums do not
            depend on the order of the rows.
        measure : array-like of shape (n_samples,), optional
            Numbers to add up by cluster, which are not clustered: `rules_` keep their exact sums (``Cluster.total``),
            each number times its weight. A missing one is counted (``Cluster.unmeasured``). A series has its name,
            which is not that of a column of X; anything else is called "measure".

        Returns
        -------
        self
        """
        data = prepare_fit(self, X, y, sample_weight, measure)
        [trees] = grow(data, [self.tradeoff], progress_of(self), log_of(self), self.on_best)
        return fitted(self, data, trees[-1])

    def fit_partitions(
        self,
        source: Any,
        *,
        centers: Any = None,
        labels: str | None = None,
        sample_weight: str | None = None,
        measure: str | None = None,
        memory: int | None = None,
    ) -> ExplainableKMeans:
        """Fit a table in parts: files, rows of a database, or a table of Dask or Spark.

        The tree and its figures are those of `fit` on the whole table, from the same centers and however the rows are
        cut into parts. There are no `labels_` and no `reference_labels_`. The table is read in passes. If the numbers
        of its rows fit, they are collected in the memory of this process and the tree is grown at once; if not, it is
        grown by passes, two for each level, and a better one is searched for on some rows and judged on all, as `fit`
        does with more than 65,536 distinct rows. With fewer, or over 512 clusters, the refined tree may then be a
        different one; its J too is never above the greedy tree's.

        Parameters
        ----------
        source : str, Path, sequence of these, DatabaseRows, table of Dask or Spark, or Partitions
            See `shallowrules.partitions.open_partitions`. All its columns are used but `labels`, `sample_weight`
            and `measure`.
        centers : array-like of shape (k, n_clustered) or fitted clusterer, default=None
            Of scikit-learn (KMeans), dask-ml or Spark MLlib. None takes `clusterer`; where that is None too, KMeans on
            a sample of distinct rows, moved by Lloyd's algorithm over all rows.
        labels : str, default=None
            The column of given labels to explain.
        sample_weight : str, default=None
            The column of weights.
        measure : str, default=None
            The column of numbers to add up by cluster, as in `fit`.
        memory : int, default=None
            Bytes that the work in this process may take; None for half of what the machine has available.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If the table cannot be used; the message names the file or partition, the column and the rows.
        OptionError
            For options that do not work on parts: ``method="imm"`` and ``"exkmc"``, `transformer`, a Pipeline as
            clusterer.
        """
        parameters, memory = fit_parameters(self), check_memory(memory)
        refuse_options(parameters, centers, labels)
        with open_partitions(source, memory=memory, n_threads=parameters.n_threads) as parts:
            data = prepare_parts(
                parts,
                parameters,
                centers=centers,
                labels=labels,
                weight=sample_weight,
                measure=measure,
                memory=memory,
                log=log_of(self),
            )
            [trees] = grow(data, [self.tradeoff], progress_of(self), log_of(self), self.on_best)
            return fitted(self, data, trees[-1])

    def fit_predict(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> NDArray[Any]:
        """Fit and return the cluster of each training row, one of `classes_`, shape (n_samples,)."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the k-means cost of X around the tree's clusters, in the space that was clustered.

        Each row is charged its squared distance to the mean of the cluster that the tree gives it; on
        the training rows this is minus ``inertia_``.
        """
        columns, space = self._new_rows(X)
        warn_of_other_order(X, sample_weight=sample_weight)
        weight = None if sample_weight is None else read_weights(sample_weight, len(space))
        gaps = space - self._clustered_centers[self.tree_.predict(columns)]
        squares = np.einsum("ij,ij->i", gaps, gaps)
        return -float(squares.sum() if weight is None else squares @ weight)

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree, with the rows of every leaf: `RuleSet.plot` of ``rules_``."""
        check_is_fitted(self)
        return self.rules_.plot(ax)

    def plot_silhouettes(self, X: Any, ax: Any = None) -> Any:
        """Draw the silhouettes of rows, cluster by cluster; needs the extra ``plot``.

        A silhouette compares the mean distance of a row to the other rows of its cluster with that to the rows of the
        nearest other one, in the space that was clustered; clusters are those of the tree.

        Parameters
        ----------
        X : array-like, dataframe or Table of shape (n_samples, n_features)
            Beyond 4,000 rows a sample is drawn, by `random_state` where that is a number.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        DataError
            If the rows are in one cluster, or each in one of its own.
        MissingExtraError
            If matplotlib is not installed.
        """
        columns, space = self._new_rows(X)
        labels = self.classes_[self.tree_.predict(columns)]
        return plot_silhouettes(space, labels, self.rules_, seed_of(self.random_state), ax)

    def _html_repr(self) -> str:
        """Return the box of scikit-learn, which calls this, and below it the tree and the rules."""
        from shallowrules.models.cards import show_model  # when a notebook asks: it imports exporters

        return show_model(super()._html_repr(), getattr(self, "rules_", None))

    def _model_columns(self, X: Any) -> tuple[GivenTable, NDArray[Any]]:
        """Return new rows, read, and their model columns."""
        check_is_fitted(self)
        given = read_rows(self, X, reset=False)
        if given.matrix is None:
            given = replace(given, table=read_as(self.rules_.columns, self.encoder_, given.table))
        else:
            ranges = given.ranges()
            refuse_unusable(given.table, self.encoder_.complete_columns(given.table), ranges)
        return given, self.encoder_.transform(given.table, given.matrix)

    def _new_rows(self, X: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        given, columns = self._model_columns(X)
        return columns, to_clustered_space(given, columns, self.encoder_, self.clusterer_, self._cluster_columns)

    def __copy__(self) -> ExplainableKMeans:
        again = type(self).__new__(type(self))
        again.__dict__ |= vars(self)
        return again

    def __deepcopy__(self, memo: dict[int, Any]) -> ExplainableKMeans:
        memo[id(self)] = again = type(self).__new__(type(self))
        for call in (self.on_progress, self.on_best):
            memo[id(call)] = call  # what it belongs to, such as a progress bar, is not the model's
        again.__dict__ |= copy.deepcopy(vars(self), memo)
        return again

    def __getstate__(self) -> dict[str, Any]:
        """Return all that is pickled: everything but the user's functions, which pickle may not know."""
        calls = ("on_progress", "on_best")
        return stamped({name: value for name, value in super().__getstate__().items() if name not in calls})

    def __setstate__(self, state: dict[str, Any]) -> None:
        with reading(state) as parts:
            if "tree_" in parts:
                parts["encoder_"] = Encoder(**vars(parts["encoder_"]))  # with fields that the writer did not know
                parts.setdefault("category_weight_", parts["encoder_"].category_weight)
                if missing := FITTED - parts.keys():
                    raise KeyError(*missing)
            self.__dict__ = {**vars(ExplainableKMeans()), **parts}


FITTED = {
    name
    for name in ExplainableKMeans.__annotations__
    if name not in NOT_OF_ALL_TABLES and not hasattr(ExplainableKMeans, name)
}
"""Attributes that every fit sets."""

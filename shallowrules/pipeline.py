"""The way of a table through one fit: prepare, grow, finish. Plain functions on plain data.

`prepare` decides how a table is clustered and clusters it, `grow` grows trees that follow the clustering, and
`finish` makes one of them a `Fit`: thresholds, labels, rules, figures. `shallowrules.estimator` and
`shallowrules.tradeoff` call these and hold no logic of their own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from shallowrules import growing
from shallowrules.clustering import UNLABELLED, Labelling, Reference, centers_among, into_space, reference_clustering
from shallowrules.describing import FitRecord, describe_tree
from shallowrules.encoding import Encoder, Encoding, encode, encode_through, fitted_transformer, transformed
from shallowrules.errors import DataError, OptionError, OptionName, ShallowRulesWarning
from shallowrules.growing import GrownTree, GrowthData, Progress, find_unique_rows
from shallowrules.metrics import partition_cost
from shallowrules.refining import refine
from shallowrules.rules import RuleSet
from shallowrules.summation import group_means
from shallowrules.table import Column, Table
from shallowrules.thresholds import readable_threshold
from shallowrules.tree import LEAF, Tree

__all__ = [
    "Fit",
    "FitData",
    "FitParameters",
    "GivenTable",
    "finish",
    "grow",
    "is_whole",
    "prepare",
    "to_clustered_space",
]

LOW_AGREEMENT = 0.8
"""Share of rows with their given label below which the fit warns: k-means geometry cannot follow every shape."""

Log = Callable[[str], None]
"""Takes a line that says what is being done."""


@dataclass(frozen=True, kw_only=True)
class FitParameters:
    """The parameters of `ExplainableKMeans`, checked; it documents them."""

    n_clusters: int
    method: str
    tradeoff: float
    max_leaves: int | None
    base: str
    refine: str
    clusterer: Any
    cluster_columns: Sequence[str | int] | None
    explain_columns: Sequence[str | int] | None
    scale: str | None
    category_weight: float
    impute: str | None
    transformer: Any
    random_state: Any
    n_threads: int


@dataclass(frozen=True, eq=False)
class GivenTable:
    """A table as the user gave it, read.

    Parameters
    ----------
    X : array-like, dataframe or Table
    table : Table
        Its columns.
    matrix : ndarray of float32 or float64, shape (n_rows, n_columns), or None
        The same table where it came as a matrix.
    feature_names : ndarray of str, or None
        Names of the columns where they have some.
    """

    X: Any
    table: Table
    matrix: NDArray[Any] | None
    feature_names: NDArray[np.object_] | None


@dataclass(frozen=True, eq=False)
class FitData:
    """A table that is read and clustered: all that trees are grown from.

    Parameters
    ----------
    parameters : FitParameters
    given : GivenTable
    table : Table
        The columns that are used.
    encoding : Encoding
    reference : Reference
    cluster_columns : list of int
        Positions of the columns that are clustered, among those given.
    clusterer : fitted estimator or None
        None where centers or labels were given.
    weight : ndarray of float64, shape (n_rows,), or None
        The weights that were given.
    fit_weight : ndarray of float64, shape (n_rows,), or None
        The weights that rows are fitted with: 0 also for those that are in no cluster.
    """

    parameters: FitParameters
    given: GivenTable
    table: Table
    encoding: Encoding
    reference: Reference
    cluster_columns: list[int]
    clusterer: Any
    weight: NDArray[np.float64] | None
    fit_weight: NDArray[np.float64] | None

    @cached_property
    def used_centers(self) -> NDArray[np.int32]:
        """The centers that rows of positive weight are assigned to."""
        labels = self.reference.labels
        return np.unique(labels if self.fit_weight is None else labels[self.fit_weight > 0])

    @property
    def kept_centers(self) -> NDArray[np.integer]:
        """The centers to explain: all, but of a labelling only those that have rows."""
        return self.used_centers if self.reference.labelled else np.arange(len(self.reference.centers))

    @cached_property
    def reference_cost(self) -> float:
        """The k-means cost of the unrestricted clustering, with the means of its labels."""
        return partition_cost(self.encoding.X_cluster, self.reference.labels, self.fit_weight)

    @property
    def left_out(self) -> int:
        """Number of rows in no cluster before there was a tree; rows of weight 0 were not meant to count."""
        unlabelled = self.reference.labels == UNLABELLED
        return int(np.count_nonzero(unlabelled if self.weight is None else unlabelled & (self.weight > 0)))


@dataclass(frozen=True, eq=False)
class Fit:
    """A finished fit.

    Parameters
    ----------
    tree : Tree
        Over the model columns, with readable thresholds.
    labels : ndarray of int32, shape (n_rows,)
        Cluster of each row, by the tree.
    rules : RuleSet
    cluster_centers : ndarray of float64, shape (k, n_model_columns)
        Means of the clusters in the model columns.
    clustered_centers : ndarray of float64, shape (k, n_clustered)
        Means of the clusters in the clustered space.
    warnings : tuple of (str, type of Warning)
        What the caller is to be warned of.
    """

    tree: Tree
    labels: NDArray[np.int32]
    rules: RuleSet
    cluster_centers: NDArray[np.float64]
    clustered_centers: NDArray[np.float64]
    warnings: tuple[tuple[str, type[Warning]], ...]


# Prepare ------------------------------------------------------------------------------------------


def prepare(given: GivenTable, parameters: FitParameters, weight: NDArray[np.float64] | None, log: Log) -> FitData:
    """Encode and cluster a table: all that comes before the tree.

    Parameters
    ----------
    given : GivenTable
    parameters : FitParameters
    weight : ndarray of float64, shape (n_rows,), or None
        Not negative, not all 0.
    log : callable

    Raises
    ------
    DataError, OptionError
        If the table cannot be clustered in this way.
    """
    table = given.table
    n_weighted = table.n_rows if weight is None else int(np.count_nonzero(weight))
    if parameters.clusterer is None and n_weighted < parameters.n_clusters:
        raise DataError(
            f"n_samples={n_weighted} should be >= n_clusters={parameters.n_clusters}: "
            "ask for fewer clusters or give more rows"
        )
    labelling = _given_labels(parameters.clusterer, table.n_rows)
    # Rows in no cluster are as those of weight 0: they do not count, and get a label by the tree.
    fit_weight = weight if labelling is None else _without_unlabelled(weight, labelling.labels)
    cluster_columns, explain_columns = _choose_columns(parameters, table.names, labelled=labelling is not None)
    names = [table.names[j] for j in cluster_columns]
    table, encoding = _encode(given, parameters, fit_weight, cluster_columns, explain_columns)
    numeric = encoding.encoder.transformer is None and all(table[name].is_numeric for name in names)
    log(f"clustering {table.n_rows} rows x {encoding.X_cluster.shape[1]} columns")
    with warnings.catch_warnings():
        # Too few distinct rows: `finish` says so once, in words of leaves.
        warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
        reference, encoding, clusterer = reference_clustering(
            encoding,
            parameters.clusterer if labelling is None else labelling,
            parameters.n_clusters,
            parameters.random_state,
            fit_weight,
            # A clusterer of columns of 0 and 1 knows them by other names.
            names=names if numeric and given.feature_names is not None else None,
            source=_pipeline_input(given, encoding.encoder, cluster_columns),
        )
    for note in reference.notes:
        log(note)
    fit_weight = _without_unlabelled(fit_weight, reference.labels)
    data = FitData(parameters, given, table, encoding, reference, cluster_columns, clusterer, weight, fit_weight)
    k, max_leaves = len(data.kept_centers), parameters.max_leaves
    if max_leaves is not None and max_leaves < k:
        given_leaves = OptionName("max_leaves", max_leaves)
        raise OptionError(given_leaves, f" is less than the {k} clusters: each may need a leaf")
    return data


def _encode(
    given: GivenTable,
    parameters: FitParameters,
    fit_weight: NDArray[np.float64] | None,
    cluster_columns: list[int],
    explain_columns: list[int],
) -> tuple[Table, Encoding]:
    """Return the table of the columns that are used, and their encoding."""
    if parameters.transformer is not None:
        if isinstance(given.X, Table):
            raise OptionError("transformer needs a dataframe or an array that it can transform, not a Table")
        rows = _transformer_input(given)
        transformer = fitted_transformer(parameters.transformer, rows, fit_weight)
        encoding = encode_through(transformer, given.table, rows)
        return given.table.select(encoding.encoder.names), encoding
    encoding = encode(
        given.table,
        parameters.scale,
        category_weight=float(parameters.category_weight),
        impute=parameters.impute,
        sample_weight=fit_weight,
        matrix=given.matrix,
        cluster_columns=cluster_columns,
        explain_columns=explain_columns,
    )
    return given.table, encoding


def _transformer_input(given: GivenTable) -> Any:
    """Return what a transformer takes: the table as it was given."""
    return given.X if given.matrix is None else np.asarray(given.X)


def _pipeline_input(given: GivenTable, encoder: Encoder, cluster_columns: list[int]) -> Any:
    """Return what a Pipeline in `clusterer` takes, for it may choose columns by name or type: those of X.

    None where it takes the rows as they are clustered: of a Table, and behind a transformer.
    """
    if encoder.transformer is not None or isinstance(given.X, Table):
        return None
    if given.matrix is not None:
        everything = cluster_columns == list(range(given.matrix.shape[1]))
        return given.matrix if everything else given.matrix[:, cluster_columns]
    frame = nw.from_native(given.X, eager_only=True)
    if cluster_columns == list(range(len(frame.columns))):
        return given.X
    return frame.select([frame.columns[j] for j in cluster_columns]).to_native()


def to_clustered_space(
    given: GivenTable, columns: NDArray[Any], encoder: Encoder, clusterer: Any, cluster_columns: list[int]
) -> NDArray[np.float64]:
    """Return rows in the space that was clustered.

    Parameters
    ----------
    given : GivenTable
    columns : ndarray, shape (n_rows, n_model_columns)
        The same rows in the model columns.
    encoder, clusterer, cluster_columns
        Those of the fit.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_clustered)
    """
    if encoder.transformer is None:
        X_cluster = encoder.to_clustered_space(columns)
    else:
        X_cluster = transformed(encoder.transformer, _transformer_input(given))
    space = into_space(clusterer, X_cluster, _pipeline_input(given, encoder, cluster_columns))
    return np.asarray(space, dtype=np.float64)


def _choose_columns(parameters: FitParameters, names: Sequence[str], *, labelled: bool) -> tuple[list[int], list[int]]:
    """Return the positions of the columns to cluster and of those to explain by."""
    everything = list(range(len(names)))
    cluster_columns = _positions("cluster_columns", parameters.cluster_columns, names)
    explain_columns = _positions("explain_columns", parameters.explain_columns, names)
    if explain_columns is None:
        explain_columns = everything if cluster_columns is None else cluster_columns
    if cluster_columns is None:
        cluster_columns = explain_columns if labelled else everything
    return cluster_columns, explain_columns


def _positions(parameter: str, wanted: Any, names: Sequence[str]) -> list[int] | None:
    """Return the positions of columns given by name or position; OptionError for any other value."""
    if wanted is None:
        return None
    if isinstance(wanted, str | bytes) or np.ndim(wanted) != 1 or not len(wanted):
        raise OptionError(f"{parameter} must be a list of column names or positions, not {wanted!r}")
    place = {name: j for j, name in enumerate(names)}
    positions: list[int] = []
    for column in wanted:
        position = place.get(column, -1) if isinstance(column, str) else column
        if not is_whole(position) or not 0 <= position < len(names):
            raise OptionError(
                f"{parameter} names a column {column!r}, which X does not have; "
                f"its {len(names)} columns are: {', '.join(map(repr, names))}"
            )
        positions.append(int(position))
    if len(set(positions)) < len(positions):
        raise OptionError(f"{parameter} names a column twice: {', '.join(names[j] for j in positions)}")
    return positions


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, and not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


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
    fit_weight = np.where(unlabelled, 0.0, 1.0 if weight is None else weight)
    if not fit_weight.any():
        raise DataError("no row with a label has a positive weight: there is no clustering to explain")
    return fit_weight


# Grow ---------------------------------------------------------------------------------------------


def grow(data: FitData, tradeoffs: Sequence[float], progress: Progress | None, log: Log) -> list[tuple[GrownTree, ...]]:
    """Grow the greedy tree for each trade-off, and with ``refine="full"`` a refined one behind it.

    Where greedy trees are equal, they are the same object.

    Parameters
    ----------
    data : FitData
    tradeoffs : sequence of float
        For a method other than "exshallow" any one number.
    progress : callable or None
        Called now and then with the share of the work that is done, and at the end with 1.
    log : callable

    Returns
    -------
    list of tuple of GrownTree
        One tuple per trade-off, in their order. Features are model columns, centers those of the reference.
    """
    kept, used, method = data.kept_centers, data.used_centers, data.parameters.method
    log(f"growing a tree for {len(kept)} clusters")
    grown = _grow_for(data, kept, tradeoffs, progress, log)
    separates = method != "exkmc" or data.parameters.base == "imm"
    if separates and len(used) < len(kept) and any(trees[0].n_leaves < len(kept) for trees in grown):
        # More centers than distinct rows: without the centers that no row has, cuts get valid.
        smaller = _grow_for(data, used, tradeoffs, progress, log)
        grown = [max(pair, key=lambda trees: trees[0].n_leaves) for pair in zip(grown, smaller, strict=True)]
    if progress is not None:
        progress(1.0)
    return grown


def _grow_for(
    data: FitData, kept: NDArray[np.integer], tradeoffs: Sequence[float], progress: Progress | None, log: Log
) -> list[tuple[GrownTree, ...]]:
    """Grow the trees that explain the centers `kept`."""
    encoding, reference, parameters = data.encoding, data.reference, data.parameters
    method, n_threads = parameters.method, parameters.n_threads
    labels = _renumbered(reference.labels, kept)
    with_imm = method == "imm" or (method == "exkmc" and parameters.base == "imm")
    unique = find_unique_rows(
        GrowthData(
            encoding.X_explain,
            encoding.X_cluster,
            reference.explain_centers[kept],
            reference.centers[kept],
            data.fit_weight,
        ),
        labels if reference.labelled and with_imm else None,
        n_threads,
    )
    refines = (
        parameters.refine == "full" and method == "exshallow" and not reference.labelled and data.reference_cost > 0
    )
    n_parts = 1 + refines * len(tradeoffs)
    first_part = _part_of(progress, 0, n_parts)
    if len(tradeoffs) > 1:
        greedy = growing.grow_path(unique, tradeoffs, n_threads=n_threads, progress=first_part)
    else:
        tree = growing.grow(
            unique,
            method=method,
            tradeoff=tradeoffs[0],
            max_leaves=parameters.max_leaves,
            base=parameters.base,
            n_threads=n_threads,
            progress=first_part,
        )
        greedy = [tree]
    over_the_table = {id(tree): _over_the_table(tree, encoding, kept) for tree in greedy}
    grown = []
    for i, (tradeoff, tree) in enumerate(zip(tradeoffs, greedy, strict=True)):
        trees = [over_the_table[id(tree)]]
        if refines and tree.n_leaves == len(kept) > 1:
            refinement = refine(
                tree,
                unique,
                tradeoff=tradeoff,
                reference_cost=data.reference_cost,
                reference_labels=labels,
                moves_leaves=parameters.clusterer is None,
                n_threads=n_threads,
                progress=_part_of(progress, 1 + i, n_parts),
            )
            log(refinement.summary())
            trees.append(_over_the_table(refinement.tree, encoding, kept))
        grown.append(tuple(trees))
    return grown


def _over_the_table(tree: GrownTree, encoding: Encoding, kept: NDArray[np.integer]) -> GrownTree:
    """Return a tree whose features are model columns, and whose centers are numbered as in the reference."""
    numbers = np.append(kept, LEAF).astype(np.int32)  # the last, at index -1, stays LEAF
    tested = encoding.encoder.explain_positions or range(encoding.matrix.shape[1])
    columns = np.append(tested, LEAF).astype(np.int32)
    return replace(tree, feature=columns[tree.feature], center=numbers[tree.center], labels=numbers[tree.labels])


def _part_of(progress: Progress | None, part: int, n_parts: int) -> Progress | None:
    """Return what takes the share done of one of several equal parts of the work."""
    if progress is None or n_parts == 1:
        return progress
    return lambda share: progress((part + share) / n_parts)


def _renumbered(labels: NDArray[np.int32], kept: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return labels as positions among the centers `kept`, `UNLABELLED` for other centers."""
    numbers = np.full(
        int(max(labels.max(), kept.max())) + 2, UNLABELLED, dtype=np.int32
    )  # the last, at index -1, stays so
    numbers[kept] = np.arange(len(kept))
    return numbers[labels]


# Finish -------------------------------------------------------------------------------------------


def finish(data: FitData, grown: GrownTree, tradeoff: float) -> Fit:
    """Place the thresholds of a grown tree, label all rows, derive and measure the rules.

    Parameters
    ----------
    data : FitData
        What the tree was grown from.
    grown : GrownTree
        One of the trees that `grow` returned.
    tradeoff : float
        The one that it was grown with.
    """
    table, encoding, reference = data.table, data.encoding, data.reference
    fit_weight, matrix, method = data.fit_weight, encoding.matrix, data.parameters.method
    tree = _place_thresholds(grown, encoding.encoder, encoding.table, reference.names)
    labels = grown.labels.copy()
    if fit_weight is not None and not fit_weight.all():
        weightless = fit_weight == 0
        labels[weightless] = tree.predict(matrix[weightless])
    k, n_kept = len(reference.centers), len(data.kept_centers)
    leafless = np.setdiff1d(data.kept_centers, tree.cluster[tree.leaves])
    clustered_means = group_means(encoding.X_cluster, labels, k, fit_weight)
    one_matrix = encoding.X_explain is matrix
    rules, cluster_centers = describe_tree(
        tree,
        table,
        encoding,
        labels,
        reference.labels,
        weight=fit_weight,
        fallback=(
            reference.explain_centers
            if one_matrix
            else centers_among(matrix, reference, encoding.X_cluster, fit_weight)
        ),
        record=FitRecord(
            method,
            weighted=data.weight is not None,
            reference_cost=data.reference_cost,
            tradeoff=float(tradeoff) if method == "exshallow" else 0.0,
            labelled=reference.labelled,
            left_out=data.left_out,
            notes=(*reference.notes, *grown.notes, *_leafless_note([reference.names[i] for i in leafless], n_kept)),
        ),
    )
    return Fit(
        tree,
        labels,
        rules,
        cluster_centers,
        np.where(np.isnan(clustered_means), reference.centers, clustered_means),
        tuple(_doubts(tree.n_leaves, n_kept, rules)),
    )


def _doubts(n_leaves: int, k: int, rules: RuleSet) -> list[tuple[str, type[Warning]]]:
    """Return what to warn of: fewer leaves than clusters, given labels that the rules hardly follow."""
    doubts: list[tuple[str, type[Warning]]] = []
    if n_leaves < k:
        message = (
            f"the tree has {n_leaves} leaves for {k} clusters: Number of distinct clusters ({n_leaves}) found "
            f"smaller than n_clusters ({k}), because rows or centers coincide or no rows are near a center"
        )
        doubts.append((message, ConvergenceWarning))
    statistics = rules.statistics
    if statistics.labelled and statistics.agreement < LOW_AGREEMENT:
        message = (
            f"the rules give {statistics.agreement:.0%} of the rows their given label: clusters of this shape "
            "are not told apart by cuts on single columns; see the clusters' precision and recall"
        )
        doubts.append((message, ShallowRulesWarning))
    return doubts


def _leafless_note(names: Sequence[str], k: int) -> tuple[str, ...]:
    """Return one note on the clusters without a rule, or no note where each has one."""
    if not names:
        return ()
    return (f"{len(names)} of {k} clusters have no rule, their rows are in others: {', '.join(names)}",)


def _place_thresholds(grown: GrownTree, encoder: Encoder, table: Table, names: tuple[str, ...]) -> Tree:
    """Choose a readable threshold in every gap; it separates the training rows as any other in the gap does."""
    threshold = np.zeros(len(grown.feature))
    for node in np.flatnonzero(grown.feature != LEAF):
        lower, upper = float(grown.lower[node]), float(grown.upper[node])
        model_column = encoder.columns[grown.feature[node]]
        if model_column.kind != "number":
            threshold[node] = (lower + upper) / 2
            continue
        column = table.columns[model_column.source]
        if model_column.direction < 0:
            lower, upper = -upper, -lower
        value = readable_threshold(lower, upper, integer=column.type == "integer")
        if float(value) != value or not lower <= float(value) < upper:
            raise DataError(
                f"column {column.name!r} holds integers beyond 2**53 that differ by less than a float64 can tell; "
                "exclude it, or subtract a constant from it"
            )
        # Turned, "above the value" is "below its negative", so the threshold is the float before that.
        threshold[node] = value if model_column.direction > 0 else math.nextafter(-value, -math.inf)
    return grown.as_tree(threshold, names)

"""A tree measured on a table: the rules that follow from it, and how good they are.

The one module that leads from rules back to the encoding and the metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.clustering.given_labels import UNLABELLED
from shallowrules.encoding import Encoder, Encoding, categories, encode, refuse_extreme_weights
from shallowrules.errors import DataError, counted
from shallowrules.fitting.assembling import (
    MAX_CLUSTERS,
    FitRecord,
    assemble_rules,
    choose_bins,
    describe_numbers,
    imputation_note,
    rule_nodes,
)
from shallowrules.fitting.measuring import (
    Counting,
    count_labels,
    measured_of,
    ranked_together,
    total_counted,
    weigh_values,
)
from shallowrules.measures.dominance import MAX_CELLS, Standing, ValueBins
from shallowrules.measures.metrics import cost_around_means, exact_sums, partition_cost
from shallowrules.measures.summation import exact_weights, group_means
from shallowrules.rules import Node, RuleSet
from shallowrules.tables.column import Column
from shallowrules.tables.given import column_of_labels, unmasked
from shallowrules.tables.order import warn_of_other_order
from shallowrules.tables.table import Table
from shallowrules.trees.tree import LEAF, Tree

__all__ = ["LabelledRows", "TreeFigures", "TreeRows", "describe_tree", "numbers_of", "rules_of_tree"]

MAX_WEIGHED_AT_ONCE = 4
"""Threads that compare clusters with all other rows: each may take some 100 MB."""


def rules_of_tree(
    tree: Tree,
    X: Any,
    *,
    reference: ArrayLike | None = None,
    clustered: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    method: str = "cart",
) -> RuleSet:
    """Return any tree's rules, measured on a table as the package's own trees are.

    Parameters
    ----------
    tree : Tree
        For example one of `Tree.from_sklearn`, over the columns of `X`.
    X : Table, dataframe or array-like of shape (n_rows, n_columns)
        The raw columns, complete. The rules take names and types from them.
    reference : array-like of shape (n_rows,), optional
        The clustering that the tree follows: for a classifier, its labels. Costs, agreement,
        precision and recall are against it; by default it is the tree's own prediction. A row whose
        label is missing (None, NaN) is left out, as in ``fit``.
    clustered : array-like of shape (n_rows, m), optional
        The space in which costs are measured; by default `X`.
    sample_weight : array-like of shape (n_rows,), optional
        None negative, not all 0.
    method : str
        A name for the method that made the tree.

    Returns
    -------
    RuleSet

    Raises
    ------
    DataError
        If the table, the labels or the weights do not fit the tree or one another.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    >>> rules_of_tree(Tree.from_sklearn(cart), X, reference=y).statistics.waes
    1.36
    """
    table = Table.of(X)
    warn_of_other_order(X, reference=reference, sample_weight=sample_weight)
    _check_columns(tree, table)
    n_rows = table.n_rows
    weight = None
    if sample_weight is not None:
        weight = np.asarray(unmasked(sample_weight), dtype=np.float64)
        if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any():
            raise DataError(f"sample_weight must be {n_rows} numbers, one per row, none negative")
        refuse_extreme_weights(weight)
    encoding = encode(table, with_codes=False)
    X_explain = encoding.X_explain
    points = X_explain if clustered is None else np.asarray(unmasked(clustered))
    if points.ndim != 2 or len(points) != n_rows:
        raise DataError(f"clustered must have {n_rows:,} rows, as the table has; its shape is {points.shape}")
    labels = tree.predict(X_explain)
    k = max(len(tree.names), int(tree.cluster.max()) + 1)
    names = tree.names or tuple(str(i) for i in range(k))
    followed = labels if reference is None else _numbered(reference, names, n_rows)
    unlabelled = followed == UNLABELLED
    fit_weight = np.where(unlabelled, 0.0, 1.0 if weight is None else weight) if unlabelled.any() else weight
    if not n_rows or (fit_weight is not None and not fit_weight.any()):
        raise DataError("there is no row to measure the tree on; give at least one with a positive weight and a label")
    fit_weight = None if fit_weight is None else exact_weights(fit_weight)
    rows = LabelledRows(
        encoding.in_space(points),
        labels,
        followed,
        k,
        fit_weight,
        sample_weight is not None,
        lambda: np.broadcast_to(np.average(X_explain, axis=0, weights=fit_weight), (k, X_explain.shape[1])),
        leaf=tree.apply(X_explain),
    )
    record = FitRecord(
        method,
        weighted=sample_weight is not None,
        labelled=reference is not None,
        left_out=int(unlabelled.sum()),
    )
    return describe_tree(replace(tree.count(X_explain, fit_weight), names=names), rows, record)[0]


class TreeRows(Protocol):
    """Rows in the clusters that a tree gives them, of a table in memory or in parts."""

    @property
    def encoder(self) -> Encoder:
        """The encoder of the tree's columns."""

    @property
    def table(self) -> Table:
        """The raw columns; for a table in parts, a small table with the same types, ends and categories."""

    @property
    def n_rows(self) -> int:
        """The number of rows, of all parts."""

    @property
    def labels(self) -> NDArray[np.int32] | None:
        """The cluster of each row; None for a table in parts."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on missing values that were imputed."""

    @property
    def measure_name(self) -> str | None:
        """The column that is added up by cluster."""

    def ends(self) -> Mapping[int, Sequence[float]]:
        """Return the ends of each column of numbers by its position, NaN where they are not known."""

    def complete(self) -> Collection[int]:
        """Return the positions of the columns of numbers without a missing or infinite value."""

    def measure(self, counting: Counting) -> TreeFigures:
        """Return the counts, means and costs of the rows that count."""


@dataclass(frozen=True, eq=False)
class TreeFigures:
    """Counts, means and costs of rows in the clusters of a tree.

    Parameters
    ----------
    counts : mapping from str to ndarray
        As `count_labels` gives them.
    means : ndarray of float64, shape (k, n_model_columns)
        Of every cluster, also of those without a leaf; a substitute for a cluster without rows.
    clustered_means : ndarray of float64, shape (k, m)
        In the space that was clustered; NaN for a cluster without rows.
    numbers : mapping from int to ndarray of float64, shape (k,)
        The means of each raw column of numbers, by its position.
    costs : (float, float)
        Of the tree's partition and of the clustering that it follows.
    standings : mapping from int to Standing
        How the clusters stand in the columns that `Counting` ranks, by their position.
    """

    counts: Mapping[str, NDArray[Any]]
    means: NDArray[np.float64]
    clustered_means: NDArray[np.float64]
    numbers: Mapping[int, NDArray[np.float64]]
    costs: tuple[float, float]
    standings: Mapping[int, Standing]


def describe_tree(
    tree: Tree, rows: TreeRows, record: FitRecord, nodes: tuple[Node, ...] | None = None, n_threads: int = 1
) -> tuple[RuleSet, TreeFigures]:
    """Measure a tree on its rows and return its rules, and the figures that they come from.

    Parameters
    ----------
    tree : Tree
        Counted on these rows; it names every cluster.
    rows : TreeRows
    record : FitRecord
    nodes : tuple of Node, optional
        The tree over the raw columns, where it is known. The columns that `tree` tests do not matter then.
    n_threads : int
        The result does not depend on it.
    """
    table, ends = rows.table, rows.ends()
    nodes = rule_nodes(tree, rows.encoder, table) if nodes is None else nodes
    n_clusters = len(np.unique(tree.cluster[tree.leaves]))
    values = {i: categories(column) for i, column in enumerate(table.columns) if not column.is_numeric}
    columns = {i: describe_numbers(table.columns[i], 0.0, each) for i, each in ends.items()}
    has_pairs = n_clusters <= MAX_CLUSTERS
    complete = rows.complete()
    bins = choose_bins(columns, nodes, n_clusters, complete, record.separation) if has_pairs else {}
    ranked = _ranked(rows, {i: ends[i] for i in columns if i in complete}, len(tree.names)) if has_pairs else {}
    leaves = tree.n_nodes if tree.n_leaves > n_clusters else 0
    counting = Counting(len(tree.names), bins, values, has_pairs, ranked, n_threads, leaves)
    figures = rows.measure(counting)
    numbers = {i: (figures.numbers[i], each) for i, each in ends.items()}
    measured = measured_of(
        figures.counts, figures.costs, counting, table, numbers, figures.standings, rows.measure_name
    )
    return assemble_rules(tree, nodes, measured, replace(record, notes=(*rows.notes, *record.notes))), figures


def _ranked(rows: TreeRows, ends: Mapping[int, Sequence[float]], k: int) -> dict[int, ValueBins | None]:
    """Return columns by their ends as `Counting.ranked` has them."""
    is_exact = rows.n_rows * len(ends) <= MAX_CELLS
    return {i: None if is_exact else ValueBins.between(each, k) for i, each in ends.items()}


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows in memory in the clusters that a tree gives them, as `TreeRows`.

    Parameters
    ----------
    encoding : Encoding
        The columns that the tree is over, and the space in which costs are measured.
    labels, followed : ndarray of int32, shape (n_rows,)
        Index of each row's cluster by the tree, and by the clustering that it follows; anything where rows do not
        count.
    k : int
        Clusters of the tree, whether they have a leaf or not.
    weight : ndarray of float64, shape (n_rows,), or None
        Rows of weight 0 do not count.
    weighted : bool
        Whether weights were given: where rows are in no cluster, there are weights in any case.
    central_rows : callable
        Returns what stands for the means of clusters without rows, shape (n, n_model_columns), of the first n clusters.
    reference_cost : float or None
        The cost of the clustering, where it is known.
    n_threads : int
        The result does not depend on it.
    added_up : Column, optional
        The column to add up by cluster.
    given_weight : ndarray of float64, shape (n_rows,), optional
        The weights with which it is added up, as they were given.
    leaf : ndarray of int32, shape (n_rows,), optional
        Node of each row's leaf, for a tree that has several leaves for a cluster.
    """

    encoding: Encoding
    labels: NDArray[np.int32]
    followed: NDArray[np.int32]
    k: int
    weight: NDArray[np.float64] | None
    weighted: bool
    central_rows: Callable[[], NDArray[np.float64]]
    reference_cost: float | None = None
    n_threads: int = 1
    added_up: Column | None = None
    given_weight: NDArray[np.float64] | None = None
    leaf: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    @property
    def encoder(self) -> Encoder:
        """The encoder of the tree's columns."""
        return self.encoding.encoder

    @property
    def table(self) -> Table:
        """The raw columns."""
        return self.encoding.table

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on missing values that were imputed."""
        return _imputation_notes(self.encoding)

    @property
    def measure_name(self) -> str | None:
        """The column that is added up by cluster."""
        return None if self.added_up is None else self.added_up.name

    def ends(self) -> dict[int, Sequence[float]]:
        """Return the ends of each column of numbers, NaN where a transformer hides them."""
        encoder = self.encoder
        found: dict[int, Sequence[float]] = {}
        places = encoder.number_places
        for source, raw in enumerate(self.table.columns):
            if source in places:
                j = places[source]
                direction = encoder.columns[j].direction
                found[source] = sorted(float(end[j]) * direction for end in self.encoding.ranges)
            elif raw.is_numeric:  # a transformer left it out, or took its numbers for categories
                found[source] = [math.nan, math.nan]
        return found

    def complete(self) -> set[int]:
        """Return the positions of the columns of numbers without a missing or infinite value."""
        return _complete(self.encoding)

    def measure(self, counting: Counting) -> TreeFigures:
        """Return the counts, means and costs of the rows that count."""
        encoding, labels, weight, n_threads = self.encoding, self.labels, self.weight, self.n_threads
        cluster, ranges = encoding.X_cluster, encoding.cluster_ranges
        sums = exact_sums(cluster, labels, self.k, weight, n_threads, ranges)
        if sums is None:
            cost = partition_cost(cluster, labels, weight, n_threads, ranges)
            clustered_means = group_means(cluster, labels, self.k, weight, n_threads, ranges)
        else:
            cost = cost_around_means(sums, cluster, labels, weight, n_threads)
            clustered_means = sums.means
        means = clustered_means
        if cluster is not encoding.matrix:
            means = group_means(encoding.matrix, labels, self.k, weight, n_threads, encoding.ranges)
        if np.isnan(means).any():
            central = self.central_rows()
            known = means[: len(central)]
            means = np.vstack([np.where(np.isnan(known), central, known), means[len(central) :]])
        reference_cost = self.reference_cost
        if reference_cost is None:
            same = self.followed is labels
            reference_cost = cost if same else partition_cost(cluster, self.followed, weight, n_threads, ranges)
        counts, standings = self._counts(counting)
        costs = cost, reference_cost
        return TreeFigures(counts, means, clustered_means, self._numbers(means), costs, standings)

    def _counts(self, counting: Counting) -> tuple[dict[str, NDArray[Any]], dict[int, Standing]]:
        columns, labels, followed, weight = self.table.columns, self.labels, self.followed, self.weight
        leaf = self.leaf if counting.leaves else None
        rows = None if weight is None or weight.all() else weight > 0
        if rows is not None and weight is not None:
            columns, labels, followed, weight = (
                self.table.take(rows).columns,
                labels[rows],
                followed[rows],
                weight[rows],
            )
            leaf = None if leaf is None else leaf[rows]
        weight = weight if self.weighted else None

        def standings_of(some: Sequence[int]) -> dict[int, Standing]:
            weighed = weigh_values(columns, some, labels, weight, counting)
            return {index: each.standing() for index, each in weighed.items()}

        with ThreadPoolExecutor(min(counting.n_threads, MAX_WEIGHED_AT_ONCE)) as pool:
            found_at_once = pool.map(standings_of, ranked_together(counting))
            standings = {index: each for some in found_at_once for index, each in some.items()}
        found = count_labels(columns, labels, followed, weight, counting, leaf)
        if self.added_up is not None:
            found |= total_counted(self.added_up, labels, counting.k, self.given_weight, rows)
        return found, standings

    def _numbers(self, means: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
        """Return the means of each raw column of numbers."""
        numbers = numbers_of(self.encoder, means)
        for source, raw in enumerate(self.table.columns):
            if raw.is_numeric and source not in numbers:
                numbers[source] = np.nan_to_num(
                    group_means(raw.values[:, None], self.labels, self.k, self.weight)[:, 0]
                )
        return numbers


def numbers_of(encoder: Encoder, means: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
    """Return the means of the raw columns of numbers, by position, from those of the model columns, a column each."""
    return {source: means[:, j] * encoder.columns[j].direction for source, j in encoder.number_places.items()}


def _complete(encoding: Encoding) -> set[int]:
    """Return the positions of the columns of numbers without a missing or infinite value."""
    finite = np.isfinite(encoding.ranges.low) & np.isfinite(encoding.ranges.high)
    known = {source for source, j in encoding.encoder.number_places.items() if finite[j]}
    columns = enumerate(encoding.table.columns)
    return known | {i for i, column in columns if i not in known and column.is_numeric and not column.absent.any()}


def _imputation_notes(encoding: Encoding) -> tuple[str, ...]:
    """Return the notes on missing values that were imputed."""
    notes = []
    for column in encoding.table.columns:
        if column.imputed_rows is not None and column.imputed is not None:
            way = None if encoding.encoder.transformer is None else "as the transformer does"
            n_rows = int(np.count_nonzero(column.imputed_rows))
            is_new = column.type == "text" and column.imputed not in set(column.values[~column.imputed_rows].tolist())
            notes.append(imputation_note(column.name, n_rows, column.imputed, column.type, is_new=is_new, way=way))
    return tuple(notes)


def _check_columns(tree: Tree, table: Table) -> None:
    """Raise DataError if the table cannot be the one that the tree is over."""
    refused = [column for column in table.columns if not column.is_numeric]
    if refused:
        what = ", ".join(f"{column.name!r} ({column.nature})" for column in refused)
        raise DataError(f"columns that are not numeric cannot be used: {what}; exclude them")
    tested = np.unique(tree.feature[tree.feature != LEAF])
    if len(tested) and tested[-1] >= len(table.columns):
        raise DataError(
            f"the tree tests column {tested[-1]}, but the table has {counted(len(table.columns), 'column')}"
        )
    for column in (table.columns[feature] for feature in tested):
        if column.is_beyond_doubles:
            raise DataError(
                f"column {column.name!r} holds integers beyond 2**53, which a tree over floats cannot tell "
                "apart; exclude it, or subtract a constant from it"
            )


def _numbered(reference: Any, names: Sequence[str], n_rows: int) -> NDArray[np.int32]:
    """Return given labels as the numbers of the clusters with these names, `UNLABELLED` where a label is missing.

    A whole number names the same cluster whether it is an integer or, as among missing labels, a float.
    """
    column = column_of_labels("reference", reference)
    if len(column.values) != n_rows:
        raise DataError(f"reference must have {n_rows} labels, one per row; it has {len(column.values)}")
    rows = np.flatnonzero(~column.absent)
    keys = [(type(label), str(label)) for label in column.values[rows].tolist()]
    distinct = dict(zip(keys, column.values[rows].tolist(), strict=True))
    known = {name: number for number, name in enumerate(names)}
    found = {
        key: next((known[n] for n in _names_of(label) if n in known), UNLABELLED) for key, label in distinct.items()
    }
    unknown = sorted({str(distinct[key]) for key, number in found.items() if number == UNLABELLED})
    if unknown:
        raise DataError(
            f"reference has labels that the tree does not know: {', '.join(map(repr, unknown[:5]))}; "
            f"its clusters are: {', '.join(map(repr, names[:20]))}"
        )
    meant: dict[int, Any] = {}
    for key, number in found.items():
        if meant.setdefault(number, distinct[key]) != distinct[key]:
            raise DataError(
                f"reference has the labels {meant[number]!r} and {distinct[key]!r}, which name the same cluster: "
                "make them of one type"
            )
    numbers = np.full(n_rows, UNLABELLED, dtype=np.int32)
    numbers[rows] = [found[key] for key in keys]
    return numbers


def _names_of(label: Any) -> tuple[str, ...]:
    """Return the name for a cluster with this label."""
    if isinstance(label, float) and label.is_integer():
        return str(label), str(int(label))
    if isinstance(label, int) and not isinstance(label, bool):
        return str(label), f"{label}.0"
    return (str(label),)

"""A tree measured on a table: the rules that follow from it, and how good they are.

The one module that leads from rules back to the encoding and the metrics.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.clustering.reference import UNLABELLED
from shallowrules.encoding import Encoding, categories, encode, refuse_extreme_weights
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
from shallowrules.fitting.measuring import Counting, count_labels, measured_of
from shallowrules.measures.metrics import cost_around_means, partition_cost
from shallowrules.measures.summation import GroupSums, exact_weights, group_means
from shallowrules.rules import Node, RuleSet
from shallowrules.tables.table import Column, Table, unmasked
from shallowrules.trees.tree import LEAF, Tree

__all__ = ["describe_tree", "rules_of_tree"]


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
        The raw columns, complete. Names and types of the rules' columns are theirs.
    reference : array-like of shape (n_rows,), optional
        The clustering that the tree is to follow: for a classifier, its labels. Costs, agreement,
        precision and recall are against it; by default it is what the tree itself predicts. A row whose
        label is missing (None, NaN) is left out, as in ``fit``.
    clustered : array-like of shape (n_rows, m), optional
        The space in which costs are measured; by default `X`.
    sample_weight : array-like of shape (n_rows,), optional
        None negative, not all 0.
    method : str
        What to call the way in which the tree was made.

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
        raise DataError(f"clustered must have {n_rows} rows, those of the table; its shape is {points.shape}")
    labels = tree.predict(X_explain)
    k = max(len(tree.names), int(tree.cluster.max()) + 1)
    names = tree.names or tuple(str(i) for i in range(k))
    followed = labels if reference is None else _numbered(reference, names, n_rows)
    unlabelled = followed == UNLABELLED
    fit_weight = np.where(unlabelled, 0.0, 1.0 if weight is None else weight) if unlabelled.any() else weight
    if not n_rows or (fit_weight is not None and not fit_weight.any()):
        raise DataError("there is no row to measure the tree on: give at least one of positive weight and with a label")
    fit_weight = None if fit_weight is None else exact_weights(fit_weight)
    means = group_means(X_explain, labels, k, fit_weight)
    return describe_tree(
        replace(tree.count(X_explain, fit_weight), names=names),
        encoding.in_space(points),
        labels,
        followed,
        means=np.where(np.isnan(means), np.average(X_explain, axis=0, weights=fit_weight), means),
        weight=fit_weight,
        record=FitRecord(
            method,
            weighted=weight is not None,
            labelled=reference is not None,
            left_out=int(unlabelled.sum()),
        ),
    )


def describe_tree(
    tree: Tree,
    encoding: Encoding,
    labels: NDArray[np.int32],
    reference: NDArray[np.int32],
    *,
    means: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    record: FitRecord,
    sums: GroupSums | None = None,
    nodes: tuple[Node, ...] | None = None,
    n_threads: int = 1,
) -> RuleSet:
    """Measure a tree on its rows and return its rules.

    Parameters
    ----------
    tree : Tree
        Counted on these rows; it names every cluster.
    encoding : Encoding
        The columns that the tree is over, and the space in which costs are measured.
    labels, reference : ndarray of int32, shape (n_rows,)
        Index of each row's cluster by the tree, and by the clustering that it follows; anything where rows do not
        count.
    means : ndarray of float64, shape (k, n_model_columns)
        Mean of every cluster, also of those without a leaf, in all model columns; what stands for it in a cluster
        without rows.
    weight : ndarray of float64, shape (n_rows,), or None
        Rows of weight 0 do not count.
    record : FitRecord
    sums : GroupSums, optional
        What `exact_sums` gives for the clusters of the tree in the space of the costs, where it is known.
    nodes : tuple of Node, optional
        The tree over the raw columns, where it is known. What `tree` tests does not matter then.
    n_threads : int
        The result does not depend on it.
    """
    k = len(tree.names)
    cluster, ranges = encoding.X_cluster, encoding.cluster_ranges
    if sums is None:
        cost = partition_cost(cluster, labels, weight, n_threads, ranges)
    else:
        cost = cost_around_means(sums, cluster, labels, weight, n_threads)
    reference_cost = record.reference_cost
    if reference_cost is None:
        reference_cost = cost if reference is labels else partition_cost(cluster, reference, weight, n_threads, ranges)
    numbers = _numbers_of(encoding, means, labels, weight)
    nodes = rule_nodes(tree, encoding.encoder, encoding.table) if nodes is None else nodes
    n_clusters = len(np.unique(tree.cluster[tree.leaves]))
    table = encoding.table
    values = {i: categories(column) for i, column in enumerate(table.columns) if not column.is_numeric}
    columns = {i: describe_numbers(table.columns[i], 0.0, ends) for i, (_, ends) in numbers.items()}
    has_pairs = n_clusters <= MAX_CLUSTERS
    bins = choose_bins(columns, nodes, n_clusters, _complete(encoding)) if has_pairs else {}
    if weight is not None and not weight.all():
        rows = weight > 0
        table, labels, reference, weight = table.take(rows), labels[rows], reference[rows], weight[rows]
    counting = Counting(k, bins, values, has_pairs, n_threads)
    found = count_labels(table.columns, labels, reference, weight if record.weighted else None, counting)
    measured = measured_of(found, (cost, reference_cost), counting, encoding.table, numbers)
    return assemble_rules(tree, nodes, measured, replace(record, notes=(*_imputation_notes(encoding), *record.notes)))


def _complete(encoding: Encoding) -> set[int]:
    """Return the positions of the columns of numbers without a missing or infinite value."""
    finite = np.isfinite(encoding.ranges.low) & np.isfinite(encoding.ranges.high)
    known = {
        column.source
        for column, is_finite in zip(encoding.encoder.columns, finite, strict=True)
        if column.kind == "number" and is_finite
    }
    columns = enumerate(encoding.table.columns)
    return known | {i for i, column in columns if i not in known and column.is_numeric and not column.absent.any()}


def _numbers_of(
    encoding: Encoding, means: NDArray[np.float64], labels: NDArray[np.int32], weight: NDArray[np.float64] | None
) -> dict[int, tuple[NDArray[np.float64], Sequence[float]]]:
    """Return the means of each raw column of numbers by cluster, and its ends, NaN where they are not known."""
    encoder = encoding.encoder
    place = {column.source: j for j, column in enumerate(encoder.columns) if column.kind == "number"}
    numbers: dict[int, tuple[NDArray[np.float64], Sequence[float]]] = {}
    for source, raw in enumerate(encoding.table.columns):
        if source in place:
            direction = encoder.columns[place[source]].direction
            ends = sorted(float(end[place[source]]) * direction for end in encoding.ranges)
            numbers[source] = means[:, place[source]] * direction, ends
        elif raw.is_numeric:  # a transformer left it out, or took its numbers for categories
            in_cluster = np.nan_to_num(group_means(raw.values[:, None], labels, len(means), weight)[:, 0])
            numbers[source] = in_cluster, (math.nan, math.nan)
    return numbers


def _imputation_notes(encoding: Encoding) -> tuple[str, ...]:
    """Return what a reader of the rules has to know of missing values that were imputed."""
    notes = []
    for column in encoding.table.columns:
        if column.imputed_rows is not None and column.imputed is not None:
            way = None if encoding.encoder.transformer is None else "as the transformer does"
            n_rows = int(np.count_nonzero(column.imputed_rows))
            notes.append(imputation_note(column.name, n_rows, column.imputed, column.type, way=way))
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
                f"column {column.name!r} holds integers beyond 2**53, which a tree over floats takes for others; "
                "exclude it, or subtract a constant from it"
            )


def _numbered(reference: Any, names: Sequence[str], n_rows: int) -> NDArray[np.int32]:
    """Return given labels as the numbers of the clusters that are named so, `UNLABELLED` where there is none.

    A whole number names the same cluster whether it is an integer or, as beside missing labels, a float.
    """
    column = Column.of_labels("reference", reference)
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
    """Return what a cluster of this label may be named."""
    if isinstance(label, float) and label.is_integer():
        return str(label), str(int(label))
    if isinstance(label, int) and not isinstance(label, bool):
        return str(label), f"{label}.0"
    return (str(label),)

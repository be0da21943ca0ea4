"""A tree measured on a table: the rules that follow from it, and how good they are.

The one module that leads from rules back to the encoding and the metrics.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.clustering import UNLABELLED
from shallowrules.conversion import DOUBLE_EXACT, Number
from shallowrules.encoding import Encoder, Encoding, categories, encode, refuse_extreme_weights
from shallowrules.errors import DataError, counted
from shallowrules.histograms import NarrowBins, count_rows, cross_weights, join_bins, plain_numbers
from shallowrules.metrics import (
    agreement,
    partition_cost,
    precision_and_recall,
    weighted_average_depth,
)
from shallowrules.rules import Cluster, Cut, Leaf, Membership, Node, RuleColumn, RuleSet, Statistics, Value
from shallowrules.rules.figures import normalized_cost
from shallowrules.rules.nodes import derive_rules
from shallowrules.summation import group_means
from shallowrules.table import Column, Table, unmasked
from shallowrules.tree import LEAF, Tree

__all__ = ["FitRecord", "describe_tree", "rules_of_tree"]

MAX_CLUSTERS = 200
"""With more clusters there are no histograms and no confusion: nobody looks at so many pictures."""

MAX_HISTOGRAMS = 4000
"""Histograms of all clusters and columns together, of some 100 bytes each; what most nodes test has them."""


def rules_of_tree(
    tree: Tree,
    X: Any,
    *,
    reference: ArrayLike | None,
    clustered: ArrayLike | None,
    sample_weight: ArrayLike | None,
    method: str,
) -> RuleSet:
    """Return any tree's rules, measured on a table; the parameters are those of `RuleSet.from_tree`."""
    table = Table.of(X)
    _check_columns(tree, table)
    n_rows = table.n_rows
    weight = None
    if sample_weight is not None:
        weight = np.asarray(unmasked(sample_weight), dtype=np.float64)
        if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any():
            raise DataError(f"sample_weight must be {n_rows} numbers, one per row, none negative")
        refuse_extreme_weights(weight)
    encoding = encode(table)
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


@dataclass(frozen=True)
class FitRecord:
    """What is known of a fit without measuring it; the fields are those of `Statistics`.

    `weighted` says whether weights were given: where rows are in no cluster, there are weights in any case. The
    reference cost is measured if it is not known.
    """

    method: str
    weighted: bool
    reference_cost: float | None = None
    tradeoff: float = 0.0
    labelled: bool = False
    left_out: int = 0
    notes: tuple[str, ...] = ()


def describe_tree(
    tree: Tree,
    encoding: Encoding,
    labels: NDArray[np.int32],
    reference: NDArray[np.int32],
    *,
    means: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    record: FitRecord,
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
    n_threads : int
        The result does not depend on it.
    """
    k = len(tree.names)
    counts = np.bincount(labels if weight is None else labels[weight > 0], minlength=k)
    sums = (counts if weight is None else np.bincount(labels, weight, minlength=k)).astype(np.float64)
    columns, profiles = _describe_columns(encoding, means, labels, weight, sums)
    cost = partition_cost(encoding.X_cluster, labels, weight, n_threads)
    reference_cost = record.reference_cost
    if reference_cost is None:
        reference_cost = (
            cost if reference is labels else partition_cost(encoding.X_cluster, reference, weight, n_threads)
        )
    rows: slice | NDArray[np.bool_] = slice(None)
    if weight is not None and not weight.all():
        rows = weight > 0
        labels, reference, weight = labels[rows], reference[rows], weight[rows]
    quality = precision_and_recall(labels, reference, k, weight)
    clusters = _describe_clusters(tree, counts, sums, quality, profiles)
    nodes = _rule_nodes(tree, encoding.encoder, encoding.table)
    if len(clusters) <= MAX_CLUSTERS:
        row_weight = weight if record.weighted else None
        fitted_rows = (rows, labels, row_weight)
        columns, clusters = _with_histograms(columns, nodes, clusters, tree, encoding, fitted_rows, n_threads)
        clusters = _with_confusion(clusters, tree, cross_weights(labels, reference, k, row_weight))
    rules = derive_rules(nodes, columns, float(sums.sum()))
    statistics = Statistics(
        rows=int(counts.sum()),
        weight=float(sums.sum()),
        weighted=record.weighted,
        method=record.method,
        tradeoff=record.tradeoff,
        cost=cost,
        reference_cost=reference_cost,
        normalized_cost=normalized_cost(cost, reference_cost, finite=True),
        agreement=agreement(labels, reference, weight),
        wad=weighted_average_depth(tree),
        # By raw columns, of which the tree may test several images.
        waes=float(np.average([rule.size for rule in rules], weights=[rule.weight for rule in rules])),
        labelled=record.labelled,
        left_out=record.left_out,
        notes=(*_imputation_notes(encoding), *record.notes),
    )
    return RuleSet(columns, nodes, clusters, statistics)


def _describe_clusters(
    tree: Tree,
    counts: NDArray[np.intp],
    sums: NDArray[np.float64],
    quality: tuple[NDArray[np.float64], NDArray[np.float64]],
    profiles: Sequence[Mapping[str, Any]],
) -> tuple[Cluster, ...]:
    """Return the clusters that have a leaf, from the rows, weight, precision, recall and profile of every cluster."""
    precision, recall = quality
    return tuple(
        Cluster(
            index=tree.classes[i] if tree.classes else int(i),
            name=tree.names[i],
            rows=int(counts[i]),
            weight=float(sums[i]),
            share=float(sums[i] / sums.sum()),
            precision=float(precision[i]),
            recall=float(recall[i]),
            **profiles[i],
        )
        for i in np.unique(tree.cluster[tree.leaves])
    )


def _with_histograms(
    columns: tuple[RuleColumn, ...],
    nodes: Sequence[Node],
    clusters: tuple[Cluster, ...],
    tree: Tree,
    encoding: Encoding,
    fitted_rows: tuple[slice | NDArray[np.bool_], NDArray[np.int32], NDArray[np.float64] | None],
    n_threads: int,
) -> tuple[tuple[RuleColumn, ...], tuple[Cluster, ...]]:
    """Return the columns and the clusters with the histograms of the columns of numbers that the nodes test.

    `fitted_rows` are the rows of the table that count, their labels, and their weights if they have any.
    """
    rows, labels, weight = fitted_rows
    asked = Counter(node.column for node in nodes if isinstance(node, Cut))
    most = max(1, MAX_HISTOGRAMS // len(clusters))
    table = encoding.table
    finite = np.isfinite(encoding.ranges.low) & np.isfinite(encoding.ranges.high)
    complete = {
        column.source
        for column, is_finite in zip(encoding.encoder.columns, finite, strict=True)
        if column.kind == "number" and is_finite
    }
    bins: dict[int, NarrowBins] = {}
    for index in sorted(index for index, _ in asked.most_common(most)):
        column = columns[index]
        low, high = cast(Number, column.minimum), cast(Number, column.maximum)
        narrow = NarrowBins.between(low, high, integer=column.type == "integer")
        if narrow is not None and (index in complete or not table.columns[index].absent.any()):
            bins[index] = narrow
    raw = [table.columns[index].values[rows] for index in bins]
    groups = np.ascontiguousarray(labels, dtype=np.int32)
    counts = count_rows(list(bins.values()), raw, groups, len(tree.names), weight, n_threads)
    described, found = list(columns), []
    for (index, narrow), counted_rows in zip(bins.items(), counts, strict=True):
        edges, joined = join_bins(narrow, counted_rows, integer=columns[index].type == "integer")
        described[index] = replace(columns[index], edges=edges)
        found.append(joined)
    places = np.unique(tree.cluster[tree.leaves])
    measured = (
        replace(cluster, histograms=tuple(plain_numbers(joined[place]) for joined in found))
        for place, cluster in zip(places, clusters, strict=True)
    )
    return tuple(described), tuple(measured)


def _with_confusion(clusters: tuple[Cluster, ...], tree: Tree, weights: NDArray[Any]) -> tuple[Cluster, ...]:
    """Return the clusters with where their rows are without rules.

    `weights` has a row for each cluster of the tree and a column for each of the clustering that it follows.
    """
    found = []
    for place, cluster in zip(np.unique(tree.cluster[tree.leaves]), clusters, strict=True):
        places = sorted(np.flatnonzero(weights[place]), key=lambda i: tree.classes[i] if tree.classes else i)
        found.append(
            replace(
                cluster,
                reference_clusters=tuple(tree.classes[i] if tree.classes else int(i) for i in places),
                reference_weights=plain_numbers(weights[place, places]),
            )
        )
    return tuple(found)


def _describe_columns(
    encoding: Encoding,
    means: NDArray[np.float64],
    labels: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    sums: NDArray[np.float64],
) -> tuple[tuple[RuleColumn, ...], list[dict[str, Any]]]:
    """Return what the rules keep of each raw column, and of each cluster its means and shares by column."""
    encoder, table = encoding.encoder, encoding.table
    place = {column.source: j for j, column in enumerate(encoder.columns) if column.kind == "number"}
    columns: list[RuleColumn] = []
    of_numbers: list[list[float | None]] = [[] for _ in sums]
    of_values: list[list[tuple[float, ...]]] = [[] for _ in sums]
    for source, raw in enumerate(table.columns):
        if raw.is_numeric:
            if source in place:
                direction = encoder.columns[place[source]].direction
                in_cluster = means[:, place[source]] * direction
                ends = sorted(float(end[place[source]]) * direction for end in encoding.ranges)
            else:  # a transformer left it out, or took its numbers for categories
                in_cluster = np.nan_to_num(group_means(raw.values[:, None], labels, len(sums), weight)[:, 0])
                ends = [math.nan, math.nan]
            columns.append(_describe_numbers(raw, float(in_cluster @ sums / sums.sum()), ends))
            shares = np.empty((len(sums), 0))
        else:
            described, shares = _describe_values(raw, labels, weight, sums)
            columns.append(described)
        for i in range(len(sums)):
            of_numbers[i].append(float(in_cluster[i]) if raw.is_numeric else None)
            of_values[i].append(tuple(shares[i].tolist()))
    columns = [
        replace(described, decimal=raw.conversion.decimal, nulls=raw.conversion.nulls, imputed=raw.imputed)
        for described, raw in zip(columns, table.columns, strict=True)
    ]
    mixed = any(not column.is_numeric for column in columns)
    profiles = [
        {"means": tuple(numbers), "shares": tuple(values) if mixed else ()}
        for numbers, values in zip(of_numbers, of_values, strict=True)
    ]
    return tuple(columns), profiles


def _imputation_notes(encoding: Encoding) -> tuple[str, ...]:
    """Return what a reader of the rules has to know of missing values that were imputed."""
    notes = []
    for column in encoding.table.columns:
        if column.imputed_rows is not None:
            what = "the median" if column.is_numeric else "the most frequent value"
            what = what if encoding.encoder.transformer is None else "as the transformer does"
            taken = (
                f"({counted(int(np.count_nonzero(column.imputed_rows)), 'row')}) is taken as {column.imputed!r}, {what}"
            )
            notes.append(f"a missing value of column {column.name!r} {taken}")
    return tuple(notes)


def _describe_numbers(raw: Column, mean: float, ends: Sequence[float]) -> RuleColumn:
    """Return a column of numbers; `ends` are the smallest and the largest where doubles tell them, else NaN."""
    known = all(abs(end) < DOUBLE_EXACT if raw.type == "integer" else math.isfinite(end) for end in ends)
    low, high = ends if known else (raw.values.min(), raw.values.max())
    number = int if raw.type == "integer" else float
    # Of 0.0 and -0.0 the one that is left would depend on the order of the rows.
    return RuleColumn(raw.name, raw.type, mean, number(low) + 0, number(high) + 0)  # type: ignore[arg-type]


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


def _rule_nodes(tree: Tree, encoder: Encoder, table: Table) -> tuple[Node, ...]:
    """Return the tree's nodes as the rules keep them: over raw columns, integers for integer columns."""
    nodes: list[Node] = []
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            cluster = int(tree.cluster[node])
            label = tree.classes[cluster] if tree.classes else cluster
            nodes.append(Leaf(label, int(tree.rows[node]), float(tree.weight[node])))
            continue
        cut = encoder.columns[tree.feature[node]]
        threshold, below, above = float(tree.threshold[node]), int(tree.left[node]), int(tree.right[node])
        if cut.kind == "indicator":
            nodes.append(Membership(cut.source, cut.values, above, below))
        elif cut.kind == "rank":
            values = cut.values[: math.floor(threshold) + 1]
            nodes.append(Membership(cut.source, values, below, above, ordered=True))
        else:
            value = threshold if cut.direction > 0 else -math.nextafter(threshold, math.inf) + 0.0
            left, right = (below, above) if cut.direction > 0 else (above, below)
            integer = table.columns[cut.source].type == "integer"
            nodes.append(Cut(cut.source, math.floor(value) if integer else value, left, right))
    return tuple(nodes)


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
        if column.type == "integer" and (np.abs(column.values.astype(np.float64)) > 2.0**53).any():
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

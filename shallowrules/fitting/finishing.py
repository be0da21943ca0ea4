"""Finish: a grown tree gets thresholds, labels, rules and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from shallowrules.clustering.reference import Reference, centers_among, has_transformers
from shallowrules.encoding import Encoder
from shallowrules.errors import ShallowRulesWarning, counted
from shallowrules.fitting.assembling import FitRecord, separation_of
from shallowrules.fitting.data import FitData
from shallowrules.fitting.describing import describe_tree
from shallowrules.measures.metrics import exact_sums
from shallowrules.measures.summation import group_means
from shallowrules.rules import Node, RuleSet
from shallowrules.tables.table import Table
from shallowrules.trees.growing import GrownTree
from shallowrules.trees.placing import place_exact_thresholds, place_thresholds
from shallowrules.trees.tree import Tree

__all__ = ["Described", "Fit", "describe", "doubts_of", "finish", "leafless_note", "placed", "record_of"]

LOW_AGREEMENT = 0.8
"""Share of rows with their given label below which the fit warns: k-means geometry cannot follow every shape."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A finished fit.

    Parameters
    ----------
    tree : Tree
        Over the model columns, with readable thresholds.
    encoder : Encoder
        What gives these columns.
    labels : ndarray of int32, shape (n_rows,), or None
        Index of each row's cluster, by the tree; None of a table in parts.
    rules : RuleSet
    cluster_centers : ndarray of float64, shape (k, n_model_columns)
        Means of the clusters in the model columns.
    clustered_centers : ndarray of float64, shape (k, n_clustered)
        Means of the clusters in the clustered space.
    warnings : tuple of (str, type of Warning)
        What the caller is to be warned of.
    """

    tree: Tree
    encoder: Encoder
    labels: NDArray[np.int32] | None
    rules: RuleSet
    cluster_centers: NDArray[np.float64]
    clustered_centers: NDArray[np.float64]
    warnings: tuple[tuple[str, type[Warning]], ...]


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
    encoding, reference = data.encoding, data.reference
    fit_weight, method = data.fit_weight, data.parameters.method
    tree, encoder = placed(grown, encoding.encoder, encoding.table, reference)
    if encoder is not encoding.encoder:
        encoding = encoding.recoded(encoder)
        data = replace(data, encoding=encoding)
    labels = grown.labels.copy()
    if fit_weight is not None and not fit_weight.all():
        weightless = fit_weight == 0
        labels[weightless] = tree.predict(encoding.matrix[weightless])
    record = record_of(grown, tree, reference, data.kept_centers, method, tradeoff, weighted=data.weight is not None)
    described = describe(data, tree, labels, reference.labels, record)
    rules = described.rules
    return Fit(
        tree,
        encoder,
        labels,
        rules,
        described.means,
        np.where(np.isnan(described.clustered_means), reference.centers, described.clustered_means),
        tuple(doubts_of(tree.n_leaves, len(data.kept_centers), rules)),
    )


def placed(grown: GrownTree, encoder: Encoder, table: Table, reference: Reference) -> tuple[Tree, Encoder]:
    """Return a grown tree with readable thresholds and the names of its clusters, and what gives its columns."""
    tree = place_thresholds(grown, encoder, table)
    tree, encoder = place_exact_thresholds(tree, grown.kept, encoder, table)
    return replace(tree, names=reference.names, classes=reference.classes), encoder


def record_of(
    grown: GrownTree,
    tree: Tree,
    reference: Reference,
    kept: NDArray[np.integer],
    method: str,
    tradeoff: float,
    *,
    weighted: bool,
) -> FitRecord:
    """Return what is known of a fit without measuring it; `kept` are the centers that it explains."""
    leafless = np.setdiff1d(kept, tree.cluster[tree.leaves])
    return FitRecord(
        method,
        weighted=weighted,
        tradeoff=float(tradeoff) if method == "exshallow" else 0.0,
        labelled=reference.labelled,
        names_clusters=not reference.labelled,
        notes=(*reference.notes, *grown.notes, *leafless_note([reference.names[i] for i in leafless], len(kept))),
    )


@dataclass(frozen=True, eq=False)
class Described:
    """The rules of a tree, and where its clusters lie.

    Parameters
    ----------
    rules : RuleSet
    means : ndarray of float64, shape (k, n_model_columns)
        Of a cluster without rows its center.
    clustered_means : ndarray of float64, shape (k, n_clustered)
        In the space that was clustered; NaN for a cluster without rows.
    """

    rules: RuleSet
    means: NDArray[np.float64]
    clustered_means: NDArray[np.float64]


def describe(
    data: FitData,
    tree: Tree,
    labels: NDArray[np.int32],
    followed: NDArray[np.int32],
    record: FitRecord,
    nodes: tuple[Node, ...] | None = None,
) -> Described:
    """Measure a tree on the rows of a fit.

    Parameters
    ----------
    data : FitData
    tree : Tree
        Its first clusters are those of the reference; there may be more behind them.
    labels, followed : ndarray of int32, shape (n_rows,)
        As for `describe_tree`.
    record : FitRecord
        What it says of the clustering that is followed is filled in here.
    nodes : tuple of Node, optional
        As for `describe_tree`.
    """
    encoding, reference = data.encoding, data.reference
    fit_weight, matrix, n_threads = data.fit_weight, encoding.matrix, data.parameters.n_threads
    k = len(tree.names)
    clustered = encoding.X_cluster, labels, k, fit_weight, n_threads, encoding.cluster_ranges
    sums = exact_sums(*clustered)
    clustered_means = group_means(*clustered) if sums is None else sums.means
    if encoding.X_cluster is matrix:
        means = clustered_means
    else:
        means = group_means(matrix, labels, k, fit_weight, n_threads, encoding.ranges)
    if np.isnan(means).any():  # clusters without rows, which are of the reference
        one_matrix = encoding.X_explain is matrix
        centers = (
            reference.explain_centers
            if one_matrix
            else centers_among(matrix, reference, encoding.X_cluster, fit_weight, n_threads)
        )
        of_reference = means[: len(centers)]
        means = np.vstack([np.where(np.isnan(of_reference), centers, of_reference), means[len(centers) :]])
    rules = describe_tree(
        tree,
        encoding,
        labels,
        followed,
        means=means,
        sums=sums,
        weight=fit_weight,
        nodes=nodes,
        n_threads=n_threads,
        record=replace(
            record,
            reference_cost=data.reference_cost,
            labelled=reference.labelled,
            left_out=data.left_out,
            names_clusters=not reference.labelled,
            separation=_separation(data),
        ),
    )
    return Described(rules, means, clustered_means)


def _separation(data: FitData) -> dict[int, float]:
    """Return the share of each raw column in what separates the clusters that are explained, where it is known."""
    encoder = data.encoding.encoder
    if encoder.transformer is not None or has_transformers(data.clusterer):
        return {}
    return separation_of(encoder, *data.reference_means)


def doubts_of(n_leaves: int, k: int, rules: RuleSet) -> list[tuple[str, type[Warning]]]:
    """Return what to warn of: fewer leaves than clusters, given labels that the rules hardly follow."""
    doubts: list[tuple[str, type[Warning]]] = []
    if n_leaves < k:
        message = (
            f"the tree has {counted(n_leaves, 'leaf', 'leaves')} for {k} clusters: "
            f"Number of distinct clusters ({n_leaves}) found smaller than n_clusters ({k}), because rows or centers "
            "coincide or no rows are near a center"
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


def leafless_note(names: Sequence[str], k: int) -> tuple[str, ...]:
    """Return one note on the clusters without a rule, or no note where each has one."""
    if not names:
        return ()
    return (f"{len(names)} of {k} clusters have no rule, their rows are in others: {', '.join(names)}",)

"""Finish: a grown tree gets thresholds, labels, rules and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from shallowrules.encoding import CATEGORY_WEIGHT, Encoder
from shallowrules.errors import ShallowRulesWarning, counted
from shallowrules.fitting.assembling import FitRecord
from shallowrules.fitting.data import FitData
from shallowrules.fitting.describing import describe_tree
from shallowrules.rules import RuleSet
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.placing import place_exact_thresholds, place_thresholds
from shallowrules.trees.tree import Tree

__all__ = ["Fit", "finish", "leafless_note", "record_of"]

LOW_AGREEMENT = 0.8
"""Share of rows with their given label below which the fit warns: cuts on single columns cannot follow every shape."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A finished fit.

    Parameters
    ----------
    tree : Tree
        Over the model columns, with readable thresholds.
    encoder : Encoder
        The encoder of these columns.
    labels : ndarray of int32, shape (n_rows,), or None
        Index of each row's cluster, by the tree; None for a table in parts.
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
        The data from which the tree was grown.
    grown : GrownTree
        One of the trees that `grow` returned.
    tradeoff : float
        The one that it was grown with.
    """
    reference, kept, method = data.reference, data.kept_centers, data.parameters.method
    tree = place_thresholds(grown, data.encoder, data.table)
    tree, encoder = place_exact_thresholds(tree, grown.kept, data.encoder, data.table)
    tree = replace(tree, names=reference.names, classes=reference.classes)
    rows = data.rows_of(tree, encoder, grown)
    leafless = np.setdiff1d(kept, tree.cluster[tree.leaves])
    notes = leafless_note([reference.names[i] for i in leafless], len(kept))
    record = record_of(
        data, method, tradeoff if method == "exshallow" else 0.0, (*reference.notes, *grown.notes, *notes)
    )
    rules, figures = describe_tree(tree, rows, record, n_threads=data.parameters.n_threads)
    return Fit(
        tree,
        encoder,
        rows.labels,
        rules,
        figures.means,
        np.where(np.isnan(figures.clustered_means), reference.centers, figures.clustered_means),
        tuple(_doubts(tree.n_leaves, len(kept), rules, given=not hasattr(data.parameters.clusterer, "fit"))),
    )


def record_of(data: FitData, method: str, tradeoff: float, notes: Sequence[str]) -> FitRecord:
    """Return the facts about rules for a clustered table that need no measurement."""
    return FitRecord(
        method,
        weighted=data.weighted,
        tradeoff=float(tradeoff),
        labelled=data.reference.labelled,
        left_out=data.left_out,
        notes=(*_weight_note(data.encoder), *notes),
        names_clusters=not data.reference.labelled,
        separation=data.separation,
        clustering=data.clustering,
        noise=data.reference.noise,
    )


def _weight_note(encoder: Encoder) -> tuple[str, ...]:
    """Return one note on the weight of categories relative to numbers; none for the usual weight."""
    numbers, others = encoder.numbers()
    if encoder.transformer is not None or not numbers or not others or encoder.category_weight == CATEGORY_WEIGHT:
        return ()
    pairs = " and columns of two numbers" if encoder.pairs else ""
    return (f"for the clustering, categories{pairs} are weighted by {encoder.category_weight:g}",)


def _doubts(n_leaves: int, k: int, rules: RuleSet, *, given: bool) -> list[tuple[str, type[Warning]]]:
    """Return the warnings: fewer leaves than clusters, or labels (`given`, or a clusterer's) followed poorly."""
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
        labels = "their given label" if given else "the label of the clustering"
        message = (
            f"the rules give {statistics.agreement:.0%} of the rows {labels}: cuts on single columns "
            "cannot separate clusters of this shape; see the clusters' precision and recall"
        )
        doubts.append((message, ShallowRulesWarning))
    return doubts


def leafless_note(names: Sequence[str], k: int) -> tuple[str, ...]:
    """Return one note on the clusters without a rule, or no note where each has one."""
    if not names:
        return ()
    return (f"{len(names)} of {k} clusters have no rule; their rows are in other clusters: {', '.join(names)}",)

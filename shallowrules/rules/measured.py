"""Checks of the measured fields for pictures (histograms, the confusion with the clustering) and for marks of clusters.

A document may omit either. If present, it agrees with the figures of `shallowrules.rules.validation`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import RulesFormatError, counted
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.figures import Cluster
from shallowrules.rules.validation import TOLERANCE
from shallowrules.tables.conversion import Number
from shallowrules.tables.labels import is_label
from shallowrules.tables.values import nearest_double

__all__ = ["MAX_EDGES", "check_histograms", "check_standings"]

MAX_EDGES = 1000
"""Edges of a column's bins; more than a picture shows."""


def check_histograms(columns: Sequence[RuleColumn], clusters: Sequence[Cluster]) -> None:
    """Check histograms and confusion against the other figures of the columns and clusters.

    Raises
    ------
    RulesFormatError
        Naming the figure, and its correct value.
    """
    binned = [i for i, column in enumerate(columns) if column.edges]
    for i in binned:
        fault = _edges_fault(columns[i])
        if fault:
            raise RulesFormatError(f"column {columns[i].name!r} {fault}")
    for cluster in clusters:
        if len(cluster.histograms) != len(binned):
            has = f"{counted(len(cluster.histograms), 'histogram')} for {counted(len(binned), 'column')} with bins"
            raise RulesFormatError(f"cluster {cluster.index} has {has}")
    for place, i in enumerate(binned):
        _check_histograms_of_column(columns[i], i, place, clusters)
    for cluster in clusters:
        fault = _confusion_fault(cluster)
        if fault:
            raise RulesFormatError(f"cluster {cluster.index} has {fault}")
    _check_confusion(clusters)


def check_standings(columns: Sequence[RuleColumn], clusters: Sequence[Cluster]) -> None:
    """Check quartiles, medians and Cliff's deltas against the other figures of the columns and clusters.

    Raises
    ------
    RulesFormatError
        Naming the figure, and what it should be.
    """
    for i, column in enumerate(columns):
        within = column.is_numeric and _are_within(column.quartiles, column)
        if column.quartiles and not (len(column.quartiles) == 3 and within):
            raise RulesFormatError(
                f"column {column.name!r} has quartiles that are not three numbers, ascending, from its minimum to its "
                "maximum"
            )
        for cluster in clusters:
            fault = _standing_fault(cluster, i, column, len(columns))
            if fault:
                raise RulesFormatError(f"cluster {cluster.index} has {fault} of column {column.name!r}")
    for i, column in enumerate(columns):
        _check_deltas(i, column, clusters)


def _are_within(values: Sequence[float], column: RuleColumn) -> bool:
    """Return whether numbers ascend from a column's minimum to its maximum at most."""
    ends = float(cast(Number, column.minimum)), float(cast(Number, column.maximum))
    return all(first <= second for first, second in pairwise((ends[0], *values, ends[1])))


def _standing_fault(cluster: Cluster, index: int, column: RuleColumn, n_columns: int) -> str | None:
    """Return the fault of the median or the delta of a column in a cluster, worded to stand between "has" and "of"."""
    for what, figures in (("deltas", cluster.deltas), ("medians", cluster.medians)):
        if figures and len(figures) != n_columns:
            return f"{len(figures)} {what}, not {n_columns}, so none"
    delta = cluster.deltas[index] if cluster.deltas else None
    median = cluster.medians[index] if cluster.medians else None
    if not column.is_numeric:
        return None if delta is median is None else f"a delta or median of the type {column.type}"
    if delta is not None and not -1 <= delta <= 1:
        return f"the delta {delta}, which is not from -1 to 1,"
    if median is not None and not _are_within([median], column):
        return f"the median {median}, which is outside {column.minimum} to {column.maximum},"
    return None


def _check_deltas(index: int, column: RuleColumn, clusters: Sequence[Cluster]) -> None:
    """Check that the clusters' deltas balance: whatever one has more than the others, these have less."""
    filled = [cluster for cluster in clusters if cluster.rows]
    deltas = [cluster.deltas[index] if cluster.deltas else None for cluster in filled]
    if None in deltas:
        return
    left = sum(c.share * (1 - c.share) * cast(float, delta) for c, delta in zip(filled, deltas, strict=True))
    if abs(left) > TOLERANCE:
        raise RulesFormatError(
            f"column {column.name!r} has deltas of which share * (1 - share) * delta sums to {left:.7g} over the "
            "clusters, not to 0"
        )


def _edges_fault(column: RuleColumn) -> str | None:
    """Return the fault in the edges of a column's bins, to follow its name."""
    edges = column.edges
    if not column.is_numeric:
        return f"is of type {column.type} and has edges of bins"
    if not 2 <= len(edges) <= MAX_EDGES:
        return f"has {counted(len(edges), 'edge')} of bins, not 2 to {MAX_EDGES}"
    if not all(-sys.float_info.max <= edge <= sys.float_info.max for edge in edges):
        return "has an edge of bins that is not finite"
    if not all(lower < upper for lower, upper in pairwise(edges)):
        return "has edges of bins that do not ascend"
    lowest, highest = cast(Number, column.minimum), cast(Number, column.maximum)
    if not edges[0] <= lowest or not highest <= edges[-1]:
        return f"has bins from {edges[0]} to {edges[-1]}, which do not hold its values from {lowest} to {highest}"
    return None


def _check_histograms_of_column(column: RuleColumn, index: int, place: int, clusters: Sequence[Cluster]) -> None:
    """Check the histograms of a column, whose position is the same in each cluster."""

    def refuse(cluster: Cluster, fault: str) -> NoReturn:
        raise RulesFormatError(f"cluster {cluster.index} has a histogram of column {column.name!r} {fault}")

    n_bins = len(column.edges) - 1
    for cluster in clusters:
        found = len(cluster.histograms[place])
        if found != n_bins:
            refuse(cluster, f"of {counted(found, 'bin')}, not of {n_bins}")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        weights = _as_floats([cluster.histograms[place] for cluster in clusters])
        for i in np.flatnonzero(~((weights >= 0) & (weights <= sys.float_info.max)).all(axis=1)).tolist():
            refuse(clusters[i], "with a weight that is negative or not finite")
        own = _as_floats([cluster.weight for cluster in clusters])
        sums = weights.sum(axis=1)
        for i in np.flatnonzero(~(np.abs(sums - own) <= TOLERANCE * np.maximum(sums, own)) | np.isinf(sums)).tolist():
            refuse(clusters[i], f"that weighs {sums[i]:.7g}, not {own[i]:.7g}")
        edges, shares = _as_floats(column.edges), weights / own[:, None]
        lowest, highest = shares @ edges[:-1], shares @ edges[1:]
        means = _as_floats([cluster.means[index] for cluster in clusters])
        slack = TOLERANCE * np.abs(edges).max()
        inside = (lowest - slack <= means) & (means <= highest + slack)
        filled = np.array([bool(cluster.rows) for cluster in clusters])
        for i in np.flatnonzero(filled & np.isfinite(means) & ~inside).tolist():
            refuse(clusters[i], f"by which its mean is from {lowest[i]:.7g} to {highest[i]:.7g}, not {means[i]:.7g}")


def _as_floats(numbers: Sequence[Any]) -> NDArray[np.float64]:
    """Return numbers as floats, those beyond floats as infinity."""
    try:
        return np.array(numbers, dtype=np.float64)
    except OverflowError:
        return np.asarray(np.vectorize(nearest_double, otypes=[np.float64])(np.array(numbers, dtype=object)))


def _confusion_fault(cluster: Cluster) -> str | None:
    """Return the fault in the reference clusters of a cluster's rows, to follow "has"."""
    found, weights = cluster.reference_clusters, cluster.reference_weights
    if len(found) != len(weights):
        return f"{len(weights)} reference_weights for {len(found)} reference_clusters"
    if not found:
        return None
    if not all(map(is_label, found)) or not all(first < second for first, second in pairwise(found)):
        return "reference_clusters that are not numbers of clusters, ascending"
    if not all(0 < weight <= sys.float_info.max for weight in weights):
        return "reference_weights that are not all positive and finite"
    if not math.isclose(sum(weights), cluster.weight, rel_tol=TOLERANCE):
        return f"reference_weights that sum to {sum(weights):.7g}, not to {cluster.weight:.7g}"
    own = dict(zip(found, weights, strict=True)).get(cluster.index, 0.0)
    if abs(own / cluster.weight - cluster.precision) > TOLERANCE:
        return f"the precision {cluster.precision}, but reference_weights give {own / cluster.weight:.7g}"
    return None


def _check_confusion(clusters: Sequence[Cluster]) -> None:
    """Check that either all clusters with rows have reference clusters or none has, and recall by these."""
    filled = [cluster for cluster in clusters if cluster.rows]
    measured = [cluster for cluster in filled if cluster.reference_clusters]
    if not measured:
        return
    if len(measured) < len(filled):
        raise RulesFormatError("some clusters have reference_clusters and others have none")
    totals: dict[int, float] = {}
    for cluster in filled:
        for index, weight in zip(cluster.reference_clusters, cluster.reference_weights, strict=True):
            totals[index] = totals.get(index, 0.0) + weight
    for cluster in filled:
        own = dict(zip(cluster.reference_clusters, cluster.reference_weights, strict=True)).get(cluster.index, 0.0)
        derived = own / totals[cluster.index] if own else 0.0
        if abs(derived - cluster.recall) > TOLERANCE:
            raise RulesFormatError(
                f"cluster {cluster.index} has the recall {cluster.recall}, but reference_weights give {derived:.7g}"
            )

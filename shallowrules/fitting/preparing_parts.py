"""Prepare a table in parts: decide how it is clustered, and cluster it, by passes over the parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import column_ranges, nearest_centers
from shallowrules.clustering.centers import Grids, cluster_parts, given_centers, means_of_clusters, sum_reference
from shallowrules.clustering.given_labels import classes_of_labels, label_notes
from shallowrules.clustering.reference import Reference
from shallowrules.encoding import encode
from shallowrules.encoding.codes import with_all_codes
from shallowrules.encoding.roles import Roles
from shallowrules.encoding.rows import RawColumns, RowEncoder
from shallowrules.errors import DataError, OptionError, counted
from shallowrules.fitting.data import FitParameters, Log
from shallowrules.fitting.earlier import kept_scales, start_from
from shallowrules.fitting.imputing import find_imputed
from shallowrules.fitting.options import refuse_in_parts
from shallowrules.fitting.parts import PartsData
from shallowrules.fitting.preparing import check_max_leaves, check_rows, choose_columns
from shallowrules.fitting.survey import Survey, survey
from shallowrules.measures.summation import SumGrid
from shallowrules.partitions import Partitions
from shallowrules.partitions.memory import rows_within
from shallowrules.partitions.merging import Added
from shallowrules.trees.rounding import check_round_within

__all__ = ["prepare_parts", "refuse_options"]


def prepare_parts(
    parts: Partitions,
    parameters: FitParameters,
    *,
    centers: Any,
    labels: str | None,
    weight: str | None,
    measure: str | None,
    memory: int | None,
    log: Log,
) -> PartsData:
    """Encode and cluster a table in parts: everything before the tree.

    Parameters
    ----------
    parts : Partitions
    parameters : FitParameters
        Its clusterer may be centers, or a fitted clusterer that has some.
    centers : array-like of shape (k, n_clustered), fitted clusterer or None
    labels, weight, measure : str or None
        Names of columns.
    memory : int or None
        Bytes that the work in this process may take; None for half of what the machine has available.
    log : callable

    Raises
    ------
    DataError, OptionError
        If the table cannot be clustered in this way.
    """
    refuse_options(parameters, centers, labels)
    if centers is not None:
        parameters = replace(parameters, clusterer=centers)
    roles = Roles.of(parts, labels, weight, filling=parameters.filling, measure=measure)
    log("looking at names, ranges and categories")
    facts = survey(parts, roles)
    roles = replace(roles, weight_exponent=facts.weight_exponent)
    cluster_columns, explain_columns = choose_columns(parameters, roles.columns, labelled=labels is not None)
    imputed = find_imputed(parts, facts, roles)
    head = facts.head(parts, roles, imputed, counted_only=True)
    encoding = encode(head, parameters.scale, cluster_columns=cluster_columns, explain_columns=explain_columns)
    encoder = with_all_codes(parts, roles, encoding.encoder)
    read = RawColumns.of(roles, encoder)
    encoder = encoder.fitted(
        parameters.scale, parameters.weighing, parts.map_reduce, read, read.ends(head), facts.weights
    ).keeping_scales(head.names, kept_scales(parameters))
    matrix = encoder.encode_imputed(head)
    X_explain, X_cluster = encoder.spaces(matrix)
    grids = Grids(*(SumGrid.of(column_ranges(X), facts.weights) for X in (matrix, X_explain, X_cluster)))
    row_bytes = (X_explain.shape[1] + (X_explain is not X_cluster) * X_cluster.shape[1]) * X_cluster.itemsize + 8
    rows = RowEncoder(roles, encoder)
    if labels is None:
        sums, reference = _cluster(parts, rows, facts, grids, parameters, X_cluster.shape[1], log)
    else:
        explains_noise = parameters.noise == "cluster"
        rows, sums, reference = _follow_labels(parts, rows, facts, grids, explains_noise=explains_noise)
    if X_explain is not X_cluster:
        reference = replace(reference, explain_centers=_explained(reference.centers, grids, sums, parameters.clusterer))
    check_max_leaves(parameters, len(reference.centers), labelled=reference.labelled)
    n_collected = rows_within(memory, row_bytes)
    return PartsData(
        parameters, reference, cluster_columns, parts, rows, facts, head, grids, sums, row_bytes, n_collected
    )


def _explained(centers: NDArray[np.float64], grids: Grids, sums: Added, clusterer: Any) -> NDArray[np.float64]:
    """Return the centers in the explained columns: the means of the rows that are nearest to them."""
    means, has_rows = means_of_clusters(grids.explain, sums, "explain"), sums["rows"] > 0
    empty = np.flatnonzero(~has_rows)
    if not len(empty):
        return means
    if clusterer is not None:
        raise DataError(
            f"no row is nearest to the centers {', '.join(map(str, empty))}, so they have no place in the "
            "explained columns; remove them"
        )
    # A center of our own without rows coincides with another one, as far as distances tell.
    nearest, _ = nearest_centers(centers[empty], centers[has_rows])
    means[empty] = means[has_rows][nearest]
    return means


def _cluster(
    parts: Partitions,
    rows: RowEncoder,
    facts: Survey,
    grids: Grids,
    parameters: FitParameters,
    n_columns: int,
    log: Log,
) -> tuple[Added, Reference]:
    """Return the sums of the clusters around given centers or the package's own, and the clustering."""
    log(f"clustering {counted(facts.rows, 'row')} x {counted(n_columns, 'column')}")
    notes: tuple[str, ...] = ()
    if parameters.clusterer is None:
        check_rows(facts.counted, parameters)
        run, names = parts.map_reduce, rows.roles.columns
        started, notes = start_from(parameters, rows.encoder, names, run, rows, grids.cluster, log)
        points = (
            cluster_parts(parts, rows, grids, parameters.n_clusters, parameters.random_state, log)
            if started is None
            else started
        )
    else:
        points = given_centers(parameters.clusterer, n_columns)
    classes = tuple(range(len(points)))
    sums = sum_reference(parts, rows, grids, points, len(points))
    labels = np.zeros(0, np.int32)
    return sums, Reference(points, points, labels, tuple(map(str, classes)), classes, labelled=False, notes=notes)


def _follow_labels(
    parts: Partitions, rows: RowEncoder, facts: Survey, grids: Grids, *, explains_noise: bool
) -> tuple[RowEncoder, Added, Reference]:
    """Return the reader of the labels, the sums and the clustering; a label whose rows have weight 0 is excluded."""
    known, numbers, used = facts.labelling(explains_noise=explains_noise)
    place = np.cumsum(used) - 1
    rows = replace(rows, numbers={label: int(place[i]) for label, i in numbers.items() if used[i]})
    sums = sum_reference(parts, rows, grids, None, int(used.sum()))
    names = tuple(compress(known.names, used))
    whole = None if known.numbers is None else list(compress(known.numbers, used))
    means, notes = (
        means_of_clusters(grids.cluster, sums, "cluster"),
        label_notes(known.names, facts.absent_labels, facts.rows),
    )
    classes, noise = classes_of_labels(whole, len(names)), known.noise and bool(used[-1])
    reference = Reference(means, means, np.zeros(0, np.int32), names, classes, labelled=True, notes=notes, noise=noise)
    return rows, sums, reference


def refuse_options(parameters: FitParameters, centers: Any, labels: str | None) -> None:
    """Raise OptionError for parameters that do not work on parts, with a remedy."""
    refuse_in_parts(vars(parameters))
    check_round_within(parameters.round_within, labelled=labels is not None)
    if labels is not None and (centers is not None or parameters.clusterer is not None):
        raise OptionError("labels and centers are both given; give only one of them")

"""Prepare: decide how a table is clustered, and cluster it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from shallowrules._kernel import column_ranges
from shallowrules.clustering.clusterers import into_space
from shallowrules.clustering.given_labels import UNLABELLED, Labelling
from shallowrules.clustering.reference import reference_clustering
from shallowrules.encoding import Encoder, Encoding, encode
from shallowrules.errors import DataError, OptionError, OptionName, counted
from shallowrules.fitting.clustered import CountedRows
from shallowrules.fitting.data import FitParameters, GivenTable, Log
from shallowrules.fitting.earlier import kept_scales, start_from
from shallowrules.fitting.whole import TableData
from shallowrules.measures.summation import SumGrid, WeightFacts, exact_weights
from shallowrules.partitions.merging import as_given, at_once
from shallowrules.tables.column import NESTED, Column
from shallowrules.tables.given import column_of_labels, unmasked
from shallowrules.tables.table import Table
from shallowrules.trees.rounding import check_round_within

__all__ = ["check_max_leaves", "check_rows", "choose_columns", "is_whole", "prepare", "to_clustered_space"]


def prepare(
    given: GivenTable,
    parameters: FitParameters,
    weight: NDArray[np.float64] | None,
    log: Log,
    measure: Column | None = None,
) -> TableData:
    """Encode and cluster a table: all that comes before the tree.

    Parameters
    ----------
    given : GivenTable
    parameters : FitParameters
    weight : ndarray of float64, shape (n_rows,), or None
        Not negative, not all 0.
    log : callable
    measure : Column, optional
        The column to add up by cluster.

    Raises
    ------
    DataError, OptionError
        If the table cannot be clustered in this way.
    """
    table = given.table
    if parameters.clusterer is None:
        check_rows(table.n_rows if weight is None else int(np.count_nonzero(weight)), parameters)
    labelling = _given_labels(parameters.clusterer, table.n_rows)
    explains_noise = parameters.noise == "cluster"
    if labelling is not None and explains_noise:
        labelling = labelling.with_noise()
    check_round_within(parameters.round_within, labelled=labelling is not None)
    # Rows in no cluster are like those of weight 0: they do not count, and get a label from the tree.
    fit_weight = weight if labelling is None else _without_unlabelled(weight, labelling.labels)
    fit_weight = None if fit_weight is None else exact_weights(fit_weight)
    cluster_columns, explain_columns = choose_columns(parameters, table.names, labelled=labelling is not None)
    names = [table.names[j] for j in cluster_columns]
    encoding = _encode(given, parameters, fit_weight, cluster_columns, explain_columns)
    encoder = encoding.encoder.keeping_scales(encoding.table.names, kept_scales(parameters))
    encoding = encoding.rescaled(encoder, parameters.n_threads)
    numeric = encoding.encoder.transformer is None and all(table[name].is_numeric for name in names)
    log(f"clustering {counted(table.n_rows, 'row')} x {counted(encoding.X_cluster.shape[1], 'column')}")
    clusterer = parameters.clusterer if labelling is None else labelling
    notes: tuple[str, ...] = ()
    if clusterer is None:
        started, notes = _started(parameters, encoding, fit_weight, log)
        own = KMeans(parameters.n_clusters, n_init=10, random_state=parameters.random_state)
        clusterer = own if started is None else started
    with warnings.catch_warnings():
        # Too few distinct rows: `finish` says so once, in terms of leaves.
        warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
        reference, encoding, clusterer = reference_clustering(
            encoding,
            unmasked(clusterer) if labelling is None else labelling,
            fit_weight,
            # A clusterer that was fitted to columns of 0 and 1 knows them by other names.
            names=names if numeric and given.feature_names is not None else None,
            source=_pipeline_input(given, encoding.encoder, cluster_columns),
            explains_noise=explains_noise,
            holds_distances=parameters.method in ("exshallow", "exgreedy"),
            n_threads=parameters.n_threads,
        )
    reference = replace(reference, notes=(*notes, *reference.notes))
    fit_weight = _without_unlabelled(fit_weight, reference.labels)
    data = TableData(parameters, reference, cluster_columns, given, encoding, clusterer, weight, fit_weight, measure)
    has_noise = reference.noise and len(data.kept_centers) > 1
    check_max_leaves(parameters, len(data.kept_centers), labelled=reference.labelled and not has_noise)
    return data


def _started(
    parameters: FitParameters, encoding: Encoding, fit_weight: NDArray[np.float64] | None, log: Log
) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Return the centers that those of earlier rules lead to, or None, and a note on why."""
    rows = CountedRows.of(encoding.matrix, encoding.X_cluster, fit_weight)
    grid = SumGrid.of(column_ranges(rows.X_cluster), WeightFacts.of(rows.weight, len(rows.matrix)))
    return start_from(parameters, encoding.encoder, encoding.table.names, at_once(rows), as_given, grid, log)


def check_rows(n_counted: int, parameters: FitParameters) -> None:
    """Raise DataError if there are fewer rows that count than clusters."""
    if n_counted < parameters.n_clusters:
        raise DataError(
            f"n_samples={n_counted} should be >= n_clusters={parameters.n_clusters}; "
            "ask for fewer clusters or give more rows"
        )


def check_max_leaves(parameters: FitParameters, k: int, *, labelled: bool) -> None:
    """Raise OptionError for too few leaves for k clusters, or for more where they do not apply."""
    max_leaves = parameters.max_leaves
    if max_leaves is not None and max_leaves < k:
        given = OptionName("max_leaves", max_leaves)
        raise OptionError(given, f" is less than the {k} clusters: each may need a leaf")
    if max_leaves is not None and max_leaves > k and parameters.method == "exshallow":
        option = OptionName("max_leaves")
        if labelled:
            raise OptionError(option, " does not work for given labels: use ", OptionName("method", "exkmc"))
        if parameters.keep:
            raise OptionError(option, " does not work beside ", OptionName("keep"), ": use one of them")


def _encode(
    given: GivenTable,
    parameters: FitParameters,
    fit_weight: NDArray[np.float64] | None,
    cluster_columns: list[int],
    explain_columns: list[int],
) -> Encoding:
    """Return the columns that are used, encoded by the parameters."""
    if parameters.transformer is not None:
        if isinstance(given.X, Table):
            raise OptionError("transformer needs a dataframe or an array that it can transform, not a Table")
        from shallowrules.encoding.transformers import encode_through

        return encode_through(parameters.transformer, given.table, _transformer_input(given), fit_weight)
    return encode(
        given.table,
        parameters.scale,
        weighing=parameters.weighing,
        filling=parameters.filling,
        sample_weight=fit_weight,
        matrix=given.matrix,
        cluster_columns=cluster_columns,
        explain_columns=explain_columns,
        n_threads=parameters.n_threads,
    )


def _transformer_input(given: GivenTable) -> Any:
    """Return the input of a transformer: the table as it was given."""
    return given.X if given.matrix is None else np.asarray(given.X)


def _pipeline_input(given: GivenTable, encoder: Encoder, cluster_columns: list[int]) -> Any:
    """Return the input of a Pipeline in `clusterer`, which may choose columns by name or type: those of X.

    None where it takes the rows as they are clustered: for a Table, and after a transformer.
    """
    if encoder.transformer is not None or isinstance(given.X, Table):
        return None
    array = given.X if given.matrix is None else given.matrix
    if isinstance(array, np.ndarray):
        everything = cluster_columns == list(range(array.shape[1]))
        return array if everything else array[:, cluster_columns]
    frame = nw.from_native(given.X, eager_only=True)
    if cluster_columns == list(range(len(frame.columns))):
        return given.X
    return frame[:, cluster_columns].to_native()  # by position: names need not be text


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
        from shallowrules.encoding.transformers import transformed

        X_cluster = transformed(encoder.transformer, _transformer_input(given))
    space = into_space(clusterer, X_cluster, _pipeline_input(given, encoder, cluster_columns))
    return np.asarray(space, dtype=np.float64)


def choose_columns(parameters: FitParameters, names: Sequence[str], *, labelled: bool) -> tuple[list[int], list[int]]:
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
        named = place.get(str(column), -1)
        position = named if isinstance(column, str) else column
        if is_whole(column) and named not in (-1, column):
            if 0 <= column < len(names):
                raise OptionError(
                    f"{parameter} names a column {column}, which may be the one of that name or the one at that "
                    f"position, {names[column]!r}: give names as text"
                )
            position = named
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
    if not isinstance(clusterer, Column) and not nw.dependencies.is_into_series(clusterer):
        clusterer = _one_column(clusterer, n_rows)
        if clusterer is None:
            return None
    column = column_of_labels("clusterer", clusterer)
    if column.type == "other" and column.nature == NESTED:
        raise DataError(f"the labels given as clusterer hold {column.nature}: give a number or a text per row")
    if len(column.values) != n_rows:
        raise DataError(
            f"clusterer has {counted(len(column.values), 'label')}, the table has {counted(n_rows, 'row')}: "
            "give one label per row, or centers of shape (k, columns)"
        )
    return Labelling.of(column.values, column.absent)


def _one_column(clusterer: Any, n_rows: int) -> Any:
    """Return labels of one dimension; None for centers.

    Raises
    ------
    OptionError
        For a matrix with a row per row of the table: as many centers are never meant.
    """
    try:
        shape = np.shape(clusterer)
    except ValueError:  # lists of different lengths are neither
        return None
    if len(shape) != 2 or shape[0] != n_rows:
        return clusterer if len(shape) == 1 else None
    if shape[1] == 1:
        frame = nw.from_native(clusterer, eager_only=True, pass_through=True)
        return frame[:, 0].to_native() if isinstance(frame, nw.DataFrame) else np.asarray(clusterer)[:, 0]
    raise OptionError(
        f"clusterer has {counted(n_rows, 'row')} of {shape[1]} columns, and the table has as many rows: centers have "
        "one row per cluster, and labels are one value per row; if it has a column per cluster, give the labels "
        "np.argmax(clusterer, axis=1)"
    )


def _without_unlabelled(weight: NDArray[np.float64] | None, labels: NDArray[np.int32]) -> NDArray[np.float64] | None:
    """Return weights that are 0 where a row is in no cluster."""
    unlabelled = labels == UNLABELLED
    if not unlabelled.any():
        return weight
    fit_weight = np.where(unlabelled, 0.0, 1.0 if weight is None else weight)
    if not fit_weight.any():
        raise DataError("no row with a label has a positive weight, so there is no clustering to explain")
    return fit_weight

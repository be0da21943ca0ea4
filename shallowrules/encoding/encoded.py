"""A table in its numeric form, which its columns and the options determine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges
from shallowrules.encoding.checks import refuse_other_types, refuse_too_large, refuse_too_many_values, unusable
from shallowrules.encoding.encoder import Encoder, ModelColumn, select_columns
from shallowrules.encoding.facts import categories
from shallowrules.encoding.imputing import COMPLETE, Filling, impute_table
from shallowrules.encoding.scaling import counted_rows
from shallowrules.encoding.weighing import FIXED, Weighing
from shallowrules.errors import all_at_once
from shallowrules.partitions.merging import as_given, at_once
from shallowrules.tables.table import Table

__all__ = ["Encoding", "code_columns", "encode"]

MAX_TURNED_BYTES = 1 << 30
"""Up to this size, a matrix stored by column is copied to rows, from which trees are grown in 0.7 of the time. A larger
one is used as it is, to save memory."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """The numeric form of a table.

    Parameters
    ----------
    encoder : Encoder
    table : Table
        The raw columns that are used, their missing values imputed.
    matrix : ndarray of float32 or float64, shape (n_rows, n_model_columns)
        All model columns. X itself, not a copy, where X is a float matrix stored row by row, or a large one.
    X_explain : ndarray of float32 or float64, shape (n_rows, n_explain)
        Where cuts live: those model columns that rules may test, the same object where these are all.
    X_cluster : ndarray of float32 or float64, shape (n_rows, n_cluster)
        Where distances are taken; the same object as `X_explain` where there is one space.
    ranges : Ranges
        Those of the columns of `matrix`.
    scaled_ranges : Ranges, optional
        Those of the columns of `X_cluster` where it is the matrix scaled.
    """

    encoder: Encoder
    table: Table
    matrix: NDArray[Any]
    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    ranges: Ranges
    scaled_ranges: Ranges | None = None

    def in_space(self, X_cluster: NDArray[Any]) -> Encoding:
        """Return the encoding with distances taken in other rows, `X_cluster`."""
        return replace(self, X_cluster=X_cluster, scaled_ranges=None)

    def rescaled(self, encoder: Encoder, n_threads: int) -> Encoding:
        """Return the encoding with the same columns by an encoder that scales differently."""
        if encoder is self.encoder:
            return self
        X_explain, X_cluster = encoder.spaces(self.matrix, n_threads=n_threads)
        ends = select_columns(np.array(self.ranges, dtype=self.matrix.dtype), encoder.cluster_positions)
        return replace(
            self,
            encoder=encoder,
            X_explain=X_explain,
            X_cluster=X_cluster,
            scaled_ranges=Ranges(*encoder.scaled(ends)),
        )

    def recoded(self, encoder: Encoder) -> Encoding:
        """Return the encoding with the same columns by an encoder that has other codes."""
        matrix = encoder.encode_imputed(self.table)
        X_explain = select_columns(matrix, encoder.explain_positions)
        return replace(self, encoder=encoder, matrix=matrix, X_explain=X_explain, ranges=column_ranges(matrix))

    @property
    def one_space(self) -> bool:
        """Whether the columns are clustered as they are explained."""
        return self.X_explain is self.X_cluster

    @property
    def explain_ranges(self) -> Ranges:
        """The ranges of the columns of `X_explain`."""
        positions = list(self.encoder.explain_positions)
        return Ranges(*(ends[positions] for ends in self.ranges)) if positions else self.ranges

    @property
    def cluster_ranges(self) -> Ranges | None:
        """The ranges of the columns of `X_cluster`, None where they have to be found."""
        if self.X_cluster is self.matrix:
            return self.ranges
        return self.explain_ranges if self.one_space else self.scaled_ranges


def encode(
    table: Table,
    scale: str | None = None,
    *,
    weighing: Weighing = FIXED,
    filling: Filling = COMPLETE,
    sample_weight: NDArray[np.float64] | None = None,
    matrix: NDArray[Any] | None = None,
    cluster_columns: Sequence[int] | None = None,
    explain_columns: Sequence[int] | None = None,
    with_codes: bool = True,
    n_threads: int = 1,
) -> Encoding:
    """Decide how a table is clustered and explained, and do it.

    Parameters
    ----------
    table : Table
        Complete rows, unless values are imputed. Texts and truth values become a column of 0 and 1 for each of
        their values.
    scale : None, "minmax", "standard" or "robust"
        For the numbers, as scikit-learn's scalers do it, each row counted by its weight; see `scaling`.
    weighing : Weighing
        Of the columns of 0 and 1.
    filling : Filling
        The values that replace missing ones, if these are not filled in already: see `impute_table`.
    sample_weight : ndarray of float64, shape (n_rows,), optional
    matrix : ndarray, shape (n_rows, n_columns), optional
        The same table, if it was given as a matrix.
    cluster_columns, explain_columns : sequence of int, optional
        Positions of the columns to cluster by, and of those that rules may test; None is all.
    with_codes : bool
        Whether whole numbers that doubles round get a column of codes for cuts.
    n_threads : int
        The result does not depend on it.

    Raises
    ------
    DataError
        If a column holds infinite values, or missing ones that are not imputed; if it holds neither numbers nor
        categories, or too many categories, or numbers that overflow.
    """
    if matrix is None:
        ranges, matrix = table.ranges(), table.matrix
    else:
        ranges = column_ranges(matrix)
        table.set_ends(ranges)
    complete = [column for column in table.columns if not filling.fills(column)]
    all_at_once(
        (
            *unusable(table, complete, ranges),
            lambda: refuse_other_types(table.columns),
            lambda: refuse_too_many_values(table.columns),
            lambda: refuse_too_large(table, scale, ranges),
        )
    )
    table = impute_table(table, sample_weight, filling)
    columns = _model_columns(table, sample_weight)
    if with_codes:
        columns += code_columns(columns, table, sample_weight)
    encoder = Encoder(columns, None, weighing.known_weight, table.imputed)
    encoder = encoder.with_columns(cluster_columns, explain_columns)
    given, matrix = matrix, encoder.encode_imputed(table, matrix)
    if ranges is None or matrix is not given:
        ranges = column_ranges(matrix)
    matrix = _row_by_row(matrix)
    raw = select_columns(matrix, encoder.cluster_positions)
    ends = select_columns(np.array(ranges, dtype=matrix.dtype), encoder.cluster_positions)
    if scale is not None or weighing.takes_pairs:
        rows, counted_ends, weights = counted_rows(raw, sample_weight, ends)
        encoder = encoder.fitted(scale, weighing, at_once(rows), as_given, counted_ends, weights)
    spaces = encoder.spaces(matrix, raw, n_threads)
    # Scaling keeps the order of the values of a column, so that its ends are the scaled ends.
    return Encoding(encoder, table, matrix, *spaces, ranges, Ranges(*encoder.scaled(ends)))


def _row_by_row(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix whose rows are contiguous in memory; the same object if they already are, or if it is large."""
    between_rows, between_columns = map(abs, matrix.strides)
    turned = between_columns > between_rows and matrix.shape[1] > 1 and matrix.nbytes <= MAX_TURNED_BYTES
    return np.ascontiguousarray(matrix) if turned else matrix


def _model_columns(table: Table, sample_weight: NDArray[np.float64] | None) -> tuple[ModelColumn, ...]:
    """Return the columns of the model matrix, in the order of the table and then of the values that count."""
    found = []
    for source, column in enumerate(table.columns):
        if column.is_numeric:
            found.append(ModelColumn(source))
            continue
        if sample_weight is not None:
            column = replace(column, values=column.values[sample_weight > 0], missing=None)
        values = set(categories(column))
        if isinstance(column.imputed, str | bool):
            values.add(column.imputed)
        found += [ModelColumn(source, "indicator", (value,)) for value in sorted(values)]
    return tuple(found)


def code_columns(
    columns: Sequence[ModelColumn], table: Table, sample_weight: NDArray[np.float64] | None
) -> tuple[ModelColumn, ...]:
    """Return a column of codes for each number column among `columns` with raw values that doubles may round."""
    rows = slice(None) if sample_weight is None else sample_weight > 0
    return tuple(
        ModelColumn(column.source, "code", bounds=np.unique(raw.values[rows][~raw.absent[rows]]))
        for column in columns
        if column.kind == "number" and (raw := table.columns[column.source]).is_beyond_doubles
    )

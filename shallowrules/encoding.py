"""How raw columns become the numbers that are clustered and cut.

Matrices over the same rows: the model columns are the raw numbers and, for each value of a column of categories, a
column of 0 and 1; `explained`, where cuts live, is all or some of them; `clustered`, where distances are
taken, has all or some brought to comparable scales. Rules are read off the raw columns, so nothing is ever inverted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shallowrules.conversion import Number
from shallowrules.errors import DataError
from shallowrules.scaling import fit_scaler
from shallowrules.table import Column, Table, Value

__all__ = [
    "CATEGORY_WEIGHT",
    "Encoder",
    "Encoding",
    "ModelColumn",
    "categories",
    "encode",
    "imputed_values",
    "refuse_unusable",
    "too_many_values",
]

CATEGORY_WEIGHT = math.sqrt(0.5)
"""What a column of 0 and 1 is multiplied by: two categories are then as far apart as 0 and 1.

Rows of different categories differ in two such columns, so that their squared distance is twice the square
of the weight; the ends of a column that is scaled by "minmax" have the squared distance 1.
"""

MOST_VALUES = 50
NEARLY_ALL = 0.9
FEWEST_VALUES = 10
"""Values from which "another in nearly every row" is no matter of a small table."""


@dataclass(frozen=True)
class ModelColumn:
    """One column of the model matrix, and the raw column that it came from.

    Parameters
    ----------
    source : int
        Position of the raw column in the table.
    kind : {"number", "indicator", "rank"}
        The raw number; 1 where the raw value is the one of `values` and else 0; or the raw value's position in
        `values`, which is ``len(values)`` for any other.
    values : tuple of str or bool
        Categories, but for a number.
    direction : {1, -1}
        -1 for a number whose sign is turned, because what is clustered falls where it rises.
    """

    source: int
    kind: Literal["number", "indicator", "rank"] = "number"
    values: tuple[Value, ...] = ()
    direction: Literal[1, -1] = 1


@dataclass(frozen=True, eq=False)
class Encoder:
    """What turns a table into matrices, once the training table has decided how.

    Parameters
    ----------
    columns : tuple of ModelColumn
        The model columns.
    scaler : fitted scikit-learn scaler or None
        What takes the clustered numbers to the clustered space.
    category_weight : float
        What the columns of 0 and 1 are multiplied by in the clustered space.
    imputed : tuple
        Per raw column what a missing value is taken as, None where it is not taken as anything; empty if none is.
    names : tuple of str
        The raw columns that `columns` and `imputed` count, where they are not all of the table; else empty.
    transformer : fitted scikit-learn transformer or None
        What takes the raw table to the clustered space in place of the scaler and the weight.
    clustered, explained : tuple of int
        Positions of the model columns to cluster by, and of those that rules may test; empty for all of them.
    """

    columns: tuple[ModelColumn, ...]
    scaler: Any
    category_weight: float
    imputed: tuple[Number | Value | None, ...] = ()
    names: tuple[str, ...] = ()
    transformer: Any = None
    clustered: tuple[int, ...] = ()
    explained: tuple[int, ...] = ()

    def with_columns(self, clustered: Sequence[int] | None, explained: Sequence[int] | None) -> Encoder:
        """Return the encoder with the raw columns to cluster by, and those that rules may test; None is all."""
        return replace(self, clustered=self._positions(clustered), explained=self._positions(explained))

    def _positions(self, sources: Sequence[int] | None) -> tuple[int, ...]:
        """Return the model columns of raw columns, in the order of these; none for all as they stand."""
        if sources is None:
            return ()
        found = tuple(j for source in sources for j, column in enumerate(self.columns) if column.source == source)
        return () if found == tuple(range(len(self.columns))) else found

    def fill(self, table: Table) -> Table:
        """Return the used columns of a table with their missing values imputed, as far as they are."""
        if self.names:
            table = table.select(self.names)
        if not self.imputed:
            return table
        columns = (column.filled(value) for column, value in zip(table.columns, self.imputed, strict=True))
        return Table(tuple(columns), table.n_rows)

    def explain(self, table: Table, matrix: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the model matrix of a table, `matrix` itself where it is that already.

        Parameters
        ----------
        table : Table
            With the columns of the training table, in their order. A category that the training table
            did not have is none of its categories.
        matrix : ndarray, shape (n_rows, n_columns), optional
            The same table where it is a matrix.

        Returns
        -------
        ndarray of float32 or float64, shape (n_rows, n_model_columns)
            NaN where a number is missing.
        """
        table = self.fill(table)
        if (
            matrix is not None
            and not self.imputed
            and self.transformer is None
            and matrix.dtype in (np.float32, np.float64)
            and matrix.dtype.isnative
        ):
            return matrix
        single = all(column.values.dtype == np.float32 for column in table.columns)
        explained = np.empty((table.n_rows, len(self.columns)), np.float32 if single else np.float64, order="F")
        positions: dict[int, NDArray[np.intp]] = {}
        for j, column in enumerate(self.columns):
            raw = table.columns[column.source]
            if column.kind == "number":
                explained[:, j] = raw.numbers()
                if raw.missing is not None:
                    explained[raw.missing, j] = np.nan
                if column.direction < 0:
                    explained[:, j] *= -1
            elif column.kind == "rank":
                places = raw.positions(column.values)
                explained[:, j] = np.where(places < 0, len(column.values), places)
            else:
                if column.source not in positions:
                    positions[column.source] = raw.positions(self._values_of(column.source))
                explained[:, j] = positions[column.source] == self._values_of(column.source).index(column.values[0])
        return explained

    def _values_of(self, source: int) -> tuple[Value, ...]:
        """Return the categories of a raw column that have a column of 0 and 1."""
        return tuple(
            column.values[0] for column in self.columns if column.source == source and column.kind == "indicator"
        )

    def place(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return rows of the model matrix in the clustered space, the same object where that is one."""
        return self._scaled(_columns(matrix, self.clustered))

    def _numbers(self) -> tuple[list[int], list[int]]:
        """Return the positions of numbers, and of columns of 0 and 1 or of ranks, among the clustered columns."""
        kinds = [self.columns[j].kind for j in self.clustered or range(len(self.columns))]
        numbers = [j for j, kind in enumerate(kinds) if kind == "number"]
        return numbers, [j for j, kind in enumerate(kinds) if kind != "number"]

    def _fitted(self, scale: str | None, raw: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> Encoder:
        """Return the encoder with a scaler for the numbers among the clustered columns, given as they are."""
        numbers, others = self._numbers()
        if scale is None or not numbers:
            return self
        return replace(self, scaler=fit_scaler(scale, raw[:, numbers] if others else raw, sample_weight))

    def _scaled(self, raw: NDArray[Any]) -> NDArray[Any]:
        numbers, others = self._numbers()
        if not others:
            return raw if self.scaler is None else self.scaler.transform(raw)
        clustered = raw.copy(order="K")
        if self.scaler is not None:
            clustered[:, numbers] = self.scaler.transform(raw[:, numbers])
        clustered[:, others] *= self.category_weight
        return clustered


@dataclass(frozen=True, eq=False)
class Encoding:
    """The numeric face of a table.

    Parameters
    ----------
    encoder : Encoder
    matrix : ndarray of float32 or float64, shape (n_rows, n_model_columns)
        All model columns. X itself, not a copy, where X is a float matrix.
    explained : ndarray of float32 or float64, shape (n_rows, n_explained)
        Where cuts live: those model columns that rules may test, the same object where these are all.
    clustered : ndarray of float32 or float64, shape (n_rows, n_clustered)
        Where distances are taken; the same object as `explained` where there is one space.
    """

    encoder: Encoder
    matrix: NDArray[Any]
    explained: NDArray[Any]
    clustered: NDArray[Any]

    @property
    def one_space(self) -> bool:
        """Whether the columns are clustered as they are explained."""
        return self.explained is self.clustered


def refuse_unusable(table: Table, imputing: Sequence[bool] = ()) -> None:
    """Raise DataError naming the columns that hold missing values, unless imputed, or infinite ones, and how many."""
    missing, infinite = [], []
    for column, imputed in zip(table.columns, imputing or (False,) * len(table.columns), strict=True):
        n_missing = 0 if imputed else int(column.absent.sum())
        if n_missing:
            missing.append(f"{column.name!r} ({n_missing} rows)")
        n_infinite = int(np.isinf(column.values).sum()) if column.is_numeric else 0
        if n_infinite:
            infinite.append(f"{column.name!r} ({n_infinite} rows)")
    if missing:
        raise DataError(
            f"missing values (NaN, None or NULL) in {', '.join(missing)}: leave these rows out, fill them "
            "(impute), or exclude the columns"
        )
    if infinite:
        raise DataError(f"infinity in {', '.join(infinite)}: k-means needs finite numbers; mend or leave out the rows")


def encode(
    table: Table,
    scale: str | None = None,
    *,
    category_weight: float = CATEGORY_WEIGHT,
    impute: str | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    matrix: NDArray[Any] | None = None,
    clustered: Sequence[int] | None = None,
    explained: Sequence[int] | None = None,
) -> Encoding:
    """Decide how a table is clustered and explained, and do it.

    Parameters
    ----------
    table : Table
        Complete rows, unless values are imputed. Texts and truth values become a column of 0 and 1 for each of
        their values.
    scale : None, "minmax", "standard" or "robust"
        For the numbers, as scikit-learn's scalers do it, each row counted by its weight; see `shallowrules.scaling`.
    category_weight : float
        For the columns of 0 and 1.
    impute : None or "median"
        What `imputed_values` takes missing values as.
    sample_weight : ndarray of float64, shape (n_rows,), optional
    matrix : ndarray, shape (n_rows, n_columns), optional
        The same table where it is a matrix.
    clustered, explained : sequence of int, optional
        Positions of the columns to cluster by, and of those that rules may test; None is all.

    Raises
    ------
    DataError
        If a column holds neither numbers nor categories, or too many categories.
    """
    imputed = () if impute is None else imputed_values(table, sample_weight)
    encoder = Encoder(_model_columns(table, sample_weight), None, category_weight, imputed)
    encoder = encoder.with_columns(clustered, explained)
    matrix = encoder.explain(table, None if imputed else matrix)
    raw = _columns(matrix, encoder.clustered)
    encoder = encoder._fitted(scale, raw, sample_weight)
    tested = raw if encoder.explained == encoder.clustered else _columns(matrix, encoder.explained)
    return Encoding(encoder, matrix, tested, encoder._scaled(raw))


def _columns(matrix: NDArray[Any], positions: Sequence[int]) -> NDArray[Any]:
    """Return columns of a matrix; the matrix itself if no positions are given."""
    return matrix[:, list(positions)] if len(positions) else matrix


def imputed_values(table: Table, sample_weight: NDArray[np.float64] | None = None) -> tuple[Number | Value | None, ...]:
    """Return what a missing value is taken as in every column that has one, None in the others.

    That is the median of a column of numbers, and of one of categories the most frequent one. The median is
    a value of the table, the lower of two in the middle, so that whole numbers stay whole and a row of weight 3
    is three rows. Empty where no value is missing.

    Raises
    ------
    DataError
        If a column has no value at all.
    """
    weight = np.ones(table.n_rows) if sample_weight is None else sample_weight
    imputed = tuple(_middle(column, weight) if column.absent.any() else None for column in table.columns)
    return imputed if any(value is not None for value in imputed) else ()


def _middle(column: Column, weight: NDArray[np.float64]) -> Number | Value:
    """Return the median of a column of numbers, or the most frequent category, the first of several."""
    counted = ~column.absent & (weight > 0)
    if not counted.any():
        raise DataError(f"column {column.name!r} has no values, so that none can be imputed; exclude it")
    values, weight = column.values[counted], weight[counted]
    if not column.is_numeric:
        distinct = categories(column)
        shares = np.bincount(column.positions(distinct)[counted], weight, len(distinct))
        return distinct[int(np.argmax(shares))]
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    middle: Number = values[order][np.searchsorted(reached, reached[-1] / 2)].item()
    return middle


def _model_columns(table: Table, sample_weight: NDArray[np.float64] | None) -> tuple[ModelColumn, ...]:
    """Return the columns of the model matrix, in the order of the table and then of the values that count."""
    _refuse_types(table)
    found = []
    for source, column in enumerate(table.columns):
        if column.is_numeric:
            found.append(ModelColumn(source))
            continue
        if sample_weight is not None:
            column = replace(column, values=column.values[sample_weight > 0], missing=None)
        found += [ModelColumn(source, "indicator", (value,)) for value in categories(column)]
    return tuple(found)


def _refuse_types(table: Table) -> None:
    """Raise DataError naming the columns that can be neither numbers nor categories."""
    other = [column for column in table.columns if column.type == "other"]
    if other:
        what = ", ".join(f"{column.name!r} ({column.nature})" for column in other)
        raise DataError(f"columns that are neither numbers nor categories cannot be used: {what}; exclude them")
    many = too_many_values(table.columns)
    if many:
        what = ", ".join(f"{column.name!r} ({count:,} values in {table.n_rows:,} rows)" for column, count in many)
        raise DataError(
            f"{what}: too many values to be categories (more than {MOST_VALUES}, or another in nearly every row), "
            "as ids and free text have them; exclude what is to play no part"
        )


def categories(column: Column) -> tuple[Value, ...]:
    """Return the distinct values of a column of categories, ascending; DataError for values of mixed types."""
    wanted = (bool, np.bool_) if column.type == "boolean" else str
    present = column.values[~column.absent]
    other = next((value for value in present if not isinstance(value, wanted)), None)
    if other is not None:
        raise DataError(
            f"column {column.name!r} mixes {column.nature} with {other!r} ({type(other).__name__}): "
            "make its values of one type, or exclude it"
        )
    return tuple(sorted({bool(value) if column.type == "boolean" else str(value) for value in present}))


def too_many_values(columns: Sequence[Column]) -> list[tuple[Column, int]]:
    """Return the columns of text with too many values to be categories, and how many each has."""
    found = []
    for column in columns:
        if column.type == "text":
            n_rows = int(np.count_nonzero(~column.absent))
            count = len(set(column.values[~column.absent].tolist()))
            if count > MOST_VALUES or (count >= FEWEST_VALUES and count > NEARLY_ALL * n_rows):
                found.append((column, count))
    return found

"""Tracing the columns of scikit-learn transformers back to raw columns.

Every step is followed from its input columns to its output columns. On the way, each keeps its meaning in raw terms: a
number, a category, a place in an order, the value that replaces missing ones. A transformer that mixes columns is
refused: no cut of a raw column would be equivalent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from shallowrules._kernel import column_ranges
from shallowrules.encoding.checks import refuse_missing, refuse_unusable
from shallowrules.encoding.encoded import Encoding, code_columns
from shallowrules.encoding.encoder import Encoder, ModelColumn
from shallowrules.encoding.fitted import is_fitted, unfitted
from shallowrules.errors import DataError, OptionError
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Table
from shallowrules.tables.values import Value

__all__ = ["encode_through", "transformed"]

MONOTONE = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PowerTransformer)
"""Transformers that apply an increasing function to each column of numbers."""

TOLERANCE = 1e-9
"""Share of its range by which a function may go the wrong way through rounding and still count as monotone."""


@dataclass(frozen=True)
class _Trace:
    """The meaning of a column on the way: the raw column it came from, and how.

    `changed` tells whether the values are no longer those of the raw column.
    """

    source: int
    kind: Literal["number", "indicator", "rank"] = "number"
    values: tuple[Value, ...] = ()
    imputed: Number | Value | None = None
    changed: bool = False


def _fitted(transformer: Any, X: Any, sample_weight: NDArray[np.float64] | None) -> Any:
    """Return a fitted transformer: the one given if it is fitted, else a clone fitted on the rows that count."""
    try:
        if is_fitted(transformer):
            return transformer
    except TypeError:
        raise OptionError(f"transformer={transformer!r} is not a scikit-learn transformer") from None
    rows = slice(None) if sample_weight is None else np.flatnonzero(sample_weight > 0)
    return unfitted(transformer).fit(X.iloc[rows] if hasattr(X, "iloc") else X[rows])


def transformed(transformer: Any, X: Any) -> NDArray[np.float64]:
    """Return the output of a fitted transformer for a table, as a matrix of finite numbers."""
    given = transformer.transform(X)
    given = given.toarray() if hasattr(given, "toarray") else given
    try:
        matrix = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the transformer gives values that are not numbers ({error}): encode its categories") from None
    spoilt = np.flatnonzero(~np.isfinite(matrix).all(axis=0))
    if len(spoilt):
        raise DataError(
            f"the transformer gives missing or infinite values in {len(spoilt)} of its columns, the first of which has "
            f"the index {spoilt[0]}: impute them first (SimpleImputer)"
        )
    return matrix


def encode_through(
    transformer: Any, table: Table, X: Any, sample_weight: NDArray[np.float64] | None = None
) -> Encoding:
    """Encode a table by a transformer, so that rules still test the raw columns.

    Parameters
    ----------
    transformer : scikit-learn transformer
        Fitted; otherwise a clone of it is fitted on the rows that count. StandardScaler, MinMaxScaler, MaxAbsScaler,
        RobustScaler, PowerTransformer, OneHotEncoder, OrdinalEncoder, SimpleImputer, FunctionTransformer (each output
        a monotone function of one input), and Pipeline and ColumnTransformer of these. Rules impute in the columns in
        which a value is missing here.
    table : Table
    X : dataframe or array
        The same table, as the transformer takes it.
    sample_weight : ndarray of float64, shape (n_rows,), optional
        Rows of weight 0 do not count.

    Returns
    -------
    Encoding
        `X_cluster` is the output of the transformer.

    Raises
    ------
    OptionError
        If the transformer mixes columns, or does something that no rule on a raw column can express.
    DataError
        If values are infinite; or if they are missing in a used column and not imputed.
    """
    refuse_unusable(table, ())  # which missing values are not imputed is known below
    transformer = _fitted(transformer, X, sample_weight)
    traces = [_Trace(source) for source in range(len(table.columns))]
    traces = _follow(transformer, traces, table)
    X_cluster = transformed(transformer, X)
    if X_cluster.shape[1] != len(traces):
        raise OptionError(
            f"{_name(transformer)} gives {X_cluster.shape[1]} columns where {len(traces)} can be traced to raw columns"
        )
    imputed: list[Number | Value | None] = [None] * len(table.columns)
    for trace in traces:
        if trace.imputed is not None and table.columns[trace.source].absent.any():
            if imputed[trace.source] not in (None, trace.imputed):
                raise OptionError(
                    f"column {table.columns[trace.source].name!r} has its missing values imputed in two ways"
                )
            imputed[trace.source] = trace.imputed
    used = sorted({trace.source for trace in traces})
    refuse_missing((table.columns[i] for i in used if imputed[i] is None), "put a SimpleImputer before the encoding")
    kept = [i for i, c in enumerate(table.columns) if i in used or (c.is_numeric and not c.absent.any())]
    table = table.filled(imputed).select([table.columns[i].name for i in kept])
    columns: dict[ModelColumn, None] = {}
    for j, trace in enumerate(traces):
        source = kept.index(trace.source)
        column = table.columns[source]
        if trace.kind == "number" or column.is_numeric:
            direction = 1 if trace.kind != "number" else _direction(column, X_cluster[:, j], transformer)
            if ModelColumn(source, direction=-direction) not in columns:  # type: ignore[arg-type]
                columns[ModelColumn(source, direction=direction)] = None  # type: ignore[arg-type]
        else:
            columns[ModelColumn(source, trace.kind, trace.values)] = None
    encoder = Encoder(
        (*columns, *code_columns(tuple(columns), table, sample_weight)),
        None,
        1.0,
        table.imputed,
        names=tuple(table.names),
        transformer=transformer,
    ).with_columns(None, None)
    matrix = encoder.encode_imputed(table)
    return Encoding(encoder, table, matrix, encoder.spaces(matrix)[0], X_cluster, column_ranges(matrix))


def _direction(column: Column, image: NDArray[np.float64], transformer: Any) -> int:
    """Return 1 if a transformed column rises with its raw one, -1 if it falls; OptionError if neither."""
    if not column.is_numeric:
        raise OptionError(
            f"{_name(transformer)} passes the {column.nature} column {column.name!r} on unchanged; put a "
            "OneHotEncoder or an OrdinalEncoder before it"
        )
    order = np.argsort(column.values, kind="stable")
    raw, steps = column.values[order], np.diff(image[order])
    slack = TOLERANCE * float(np.ptp(image)) if len(image) else 0.0
    same = raw[1:] == raw[:-1]
    if (np.abs(steps[same]) <= slack).all():
        if (steps >= -slack).all():
            return 1
        if (steps <= slack).all():
            return -1
    raise OptionError(
        f"{_name(transformer)} transforms column {column.name!r} in a way that is not monotone, so no cut of "
        f"the raw column is equivalent; {_WAY_OUT}"
    )


_WAY_OUT = (
    "put transformers that mix or bend columns into the clusterer: clusterer=make_pipeline(transformer, KMeans(k)), "
    "whose clusters are explained in the raw columns"
)


def _name(transformer: Any) -> str:
    return type(transformer).__name__


def _follow(transformer: Any, traces: list[_Trace], table: Table) -> list[_Trace]:
    """Return the meanings of a transformer's output columns, from those of its input columns."""
    if isinstance(transformer, FrozenEstimator):
        return _follow(transformer.estimator, traces, table)
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            if step is not None and step != "passthrough":
                traces = _follow(step, traces, table)
        return traces
    for kinds, follow in _FOLLOWING.items():
        if isinstance(transformer, kinds):
            return follow(transformer, traces, table)
    raise OptionError(
        f"{_name(transformer)} mixes columns, or may do so, so columns cannot be traced through it; {_WAY_OUT}"
    )


def _through_columns(transformer: Any, traces: list[_Trace], table: Table) -> list[_Trace]:
    """Follow a ColumnTransformer."""
    found: list[_Trace] = []
    names = getattr(transformer, "feature_names_in_", None)
    for _, step, columns in transformer.transformers_:
        chosen = [traces[position] for position in _positions(columns, len(traces), names)]
        if not chosen or (isinstance(step, str) and step == "drop"):
            continue
        found += chosen if isinstance(step, str) else _follow(step, chosen, table)
    return found


def _positions(columns: Any, n_columns: int, names: Any) -> list[int]:
    """Return the positions that a ColumnTransformer's specification of columns refers to."""
    known = [] if names is None else list(names)
    if isinstance(columns, str):
        return [known.index(columns)]
    if isinstance(columns, slice) and (isinstance(columns.start, str) or isinstance(columns.stop, str)):
        start = 0 if columns.start is None else known.index(columns.start)
        stop = n_columns if columns.stop is None else known.index(columns.stop) + 1
        return list(range(n_columns))[start : stop : columns.step]
    if isinstance(columns, slice):
        return list(range(n_columns))[columns]
    chosen = np.atleast_1d(np.asarray(columns))
    if chosen.dtype == bool:
        return np.flatnonzero(chosen).tolist()
    if not len(chosen):
        return []
    if chosen.dtype.kind in "iu":
        return [int(position) % n_columns for position in chosen]
    return [known.index(name) for name in chosen.tolist()]


def _through_scaler(transformer: Any, traces: list[_Trace], table: Table) -> list[_Trace]:
    return [replace(trace, changed=True) for trace in traces]


def _through_function(transformer: Any, traces: list[_Trace], table: Table) -> list[_Trace]:
    """Follow a function that is taken to work column by column; whether it does is checked on the rows."""
    return traces if transformer.func is None else [replace(trace, changed=True) for trace in traces]


def _through_imputer(transformer: Any, traces: list[_Trace], table: Table) -> list[_Trace]:
    if transformer.add_indicator:
        raise OptionError(
            "SimpleImputer(add_indicator=True) adds columns that no rule can express; turn the indicator off"
        )
    missing = transformer.missing_values
    if missing is not None and missing == missing and type(missing).__name__ != "NAType":
        raise OptionError(
            f"SimpleImputer(missing_values={missing!r}) treats values as missing that rules do not; "
            "make them missing (NaN or None) in the table"
        )
    found = []
    for trace, value in zip(traces, transformer.statistics_, strict=True):
        column = table.columns[trace.source]
        if trace.changed:
            raise OptionError(
                f"SimpleImputer fills column {column.name!r} after it was scaled or encoded; put it first"
            )
        if value is None or value != value:  # the column has no values, and the imputer drops it
            if not transformer.keep_empty_features:
                continue
            raise OptionError(f"column {column.name!r} has no values: exclude it")
        found.append(replace(trace, imputed=trace.imputed if trace.imputed is not None else _imputed(value, column)))
    return found


def _imputed(value: Any, column: Column) -> Number | Value:
    """Return an imputed value in the column's type."""
    if not column.is_numeric:
        return bool(value) if column.type == "boolean" else str(value)
    number = float(value)
    return int(number) if column.is_whole and number.is_integer() else number


def _through_one_hot(transformer: Any, traces: list[_Trace], table: Table) -> list[_Trace]:
    if any(infrequent is not None for infrequent in getattr(transformer, "infrequent_categories_", ())):
        raise OptionError(
            "OneHotEncoder puts infrequent categories together (min_frequency, max_categories), which rules cannot "
            "name; group them in the table"
        )
    dropped = transformer.drop_idx_ if transformer.drop_idx_ is not None else [None] * len(traces)
    found = []
    for trace, known, drop in zip(traces, transformer.categories_, dropped, strict=True):
        values = _categories(transformer, known, trace, table)
        found += [
            replace(trace, kind="indicator", values=(value,), changed=True)
            for i, value in enumerate(values)
            if i != drop
        ]
    return found


def _through_ordinal(transformer: Any, traces: list[_Trace], table: Table) -> list[_Trace]:
    return [
        replace(trace, kind="rank", values=_categories(transformer, known, trace, table), changed=True)
        for trace, known in zip(traces, transformer.categories_, strict=True)
    ]


def _categories(transformer: Any, known: Any, trace: _Trace, table: Table) -> tuple[Value, ...]:
    """Return the categories of an encoder's column; those of a column of numbers are ignored."""
    column = table.columns[trace.source]
    if trace.changed:
        raise OptionError(f"{_name(transformer)} encodes column {column.name!r} after it was scaled or encoded")
    if column.is_numeric:
        return tuple(str(value) for value in known)
    if any(value is None or value != value for value in known):
        raise OptionError(
            f"{_name(transformer)} takes the missing values of column {column.name!r} for a category: put a "
            "SimpleImputer(strategy='constant', fill_value='missing') before it"
        )
    return tuple(bool(value) if column.type == "boolean" else str(value) for value in known)


_Follow = Callable[[Any, list[_Trace], Table], list[_Trace]]
_FOLLOWING: dict[Any, _Follow] = {
    ColumnTransformer: _through_columns,
    MONOTONE: _through_scaler,
    FunctionTransformer: _through_function,
    SimpleImputer: _through_imputer,
    OneHotEncoder: _through_one_hot,
    OrdinalEncoder: _through_ordinal,
}

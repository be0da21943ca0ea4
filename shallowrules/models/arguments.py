"""The arguments of the estimator's methods, read and checked as scikit-learn checks them: rows, weights, a measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from shallowrules.encoding import Encoder, refuse_extreme_weights, unusable
from shallowrules.errors import DataError, all_at_once, counted
from shallowrules.fitting.data import GivenTable
from shallowrules.measures.totals import check_measure
from shallowrules.rules import RuleColumn
from shallowrules.tables.column import Column
from shallowrules.tables.given import column_of, unmasked
from shallowrules.tables.table import Table, frame_of, is_sparse

__all__ = ["read_as", "read_measure", "read_rows", "read_weights"]


def read_rows(model: BaseEstimator, X: Any, *, reset: bool) -> GivenTable:
    """Return X validated as scikit-learn does, except for missing and infinite values.

    With `reset` the model takes over the names and the number of the columns, else they are compared with its own.
    """
    matrix = None
    if is_sparse(X):
        raise TypeError(  # as scikit-learn does
            "X is a sparse matrix, and rules need a dense table: give X.toarray(), or cluster the sparse one and "
            "explain its labels (clusterer=labels) with a dense table of some of its columns"
        )
    frame_of(X)  # which refuses a query without rows
    if isinstance(X, Mapping):
        X = Table.of(X)
    if isinstance(X, Table) or hasattr(X, "__dataframe__") or hasattr(X, "columns"):
        table = Table.of(X)
        if not table.n_rows or not table.columns:
            raise DataError(
                f"Found array with {table.n_rows} sample(s) and {len(table.columns)} feature(s) while a minimum "
                "of 1 is required: the table needs rows and columns"
            )
        if isinstance(X, Table):
            _check_names(model, X.names, reset=reset)
        else:
            validate_data(model, X, reset=reset, skip_check_array=True)
            if not reset and not hasattr(model, "feature_names_in_"):
                _check_order(table.names, [column.name for column in model.rules_.columns])
    else:
        kind = _kind_of(X)
        if kind in "mM":
            times = np.asanyarray(X)  # masked values stay missing
            validate_data(model, np.asarray(times).view(np.int64), reset=reset, dtype=None)
            table = Table.of(times)
            return GivenTable(table, table, None, None)
        numbers = validate_data(
            model, unmasked(X), reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
        )
        if kind not in "?f":
            X = np.asanyarray(X)
        table = Table.of(numbers if kind in "?f" else X)
        texts = [repr(column.name) for column in table.columns if column.type == "text"]
        if texts:
            raise DataError(
                f"an array holds text in column {', '.join(texts)}: convert it to numbers, or give a dataframe, whose "
                "text is used as categories"
            )
        if all(column.is_numeric for column in table.columns):
            matrix = numbers
    return GivenTable(X, table, matrix, getattr(model, "feature_names_in_", None))


def _check_names(model: BaseEstimator, names: list[str], *, reset: bool) -> None:
    """Validate a Table as scikit-learn validates a dataframe."""
    if reset:
        model.feature_names_in_ = np.array(names, dtype=object)
        model.n_features_in_ = len(names)
        return
    known = list(getattr(model, "feature_names_in_", ()))
    if len(names) != model.n_features_in_ or (known and names != known):
        if sorted(names) == sorted(known):
            _check_order(names, known)
        fitted_on = ", ".join(known) or counted(model.n_features_in_, "column")
        raise DataError(
            f"the table has columns {', '.join(names)}, not those that the model was fitted on: {fitted_on}"
        )


def read_as(columns: Sequence[RuleColumn], encoder: Encoder, table: Table) -> Table:
    """Return new rows with their columns read as the rules read them, so that dates are not taken for points in time.

    DataError says at once which columns cannot be read, lack values that `encoder` does not impute, or hold infinity.
    """
    rules = dict(zip(encoder.names or table.names, columns, strict=True))
    found = {column.name: column for column in table.columns}

    def read(column: Column) -> None:
        rule = rules.get(column.name)
        if rule is not None and not _is_read(column, rule):
            found[column.name] = replace(rule, imputed=None).read(column)

    def checks() -> Iterator[Callable[[], None]]:
        yield from (partial(read, column) for column in table.columns)
        as_read = Table(tuple(found.values()), table.n_rows)
        yield from unusable(as_read, encoder.complete_columns(as_read))

    all_at_once(checks())
    return Table(tuple(found.values()), table.n_rows)


def _is_read(column: Column, rule: RuleColumn) -> bool:
    """Return whether a column has its values as a rule compares them, numbers of any type."""
    if rule.is_time or not rule.is_numeric:
        return column.type == rule.type and not (rule.holds_numbers or column.of_numbers)
    return column.is_numeric and not column.is_time


def _check_order(names: list[str], known: list[str]) -> None:
    """Refuse a changed order of columns; scikit-learn would take those whose names are not all text by position."""
    given = [name for name in names if name in known]
    if given != [name for name in known if name in given]:
        raise DataError(
            f"the columns {', '.join(map(repr, given))} are in a different order than in fit, which was "
            f"{', '.join(map(repr, known))}: give them in that order, or use rules_.assign, which takes them by name"
        )


def _kind_of(X: Any) -> str:
    """Return NumPy's kind of an array-like's numbers, "?" if it has none."""
    try:
        return str(np.asarray(X).dtype.kind)
    except ValueError:
        return "?"


def read_measure(measure: Any, table: Table) -> Column:
    """Return the column of numbers to add up by cluster."""
    name = getattr(measure, "name", None)
    column = column_of(name if isinstance(name, str) else "measure", measure)
    if column.n_rows != table.n_rows:
        raise DataError(
            f"measure has {counted(column.n_rows, 'entry', 'entries')}, X has {counted(table.n_rows, 'row')}"
        )
    if column.name in table.names:
        raise DataError(f"the measure {column.name!r} has the name of a column of X: leave that one out, or rename it")
    check_measure(column)
    return column


def read_weights(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return the weight of each row; one number is the weight of all."""
    rows = np.broadcast_to(np.float64(0), (n_rows, 1))
    given = [sample_weight] * n_rows if isinstance(sample_weight, Real) else sample_weight
    column = column_of("sample_weight", given)
    missing = int(np.count_nonzero(column.absent))
    if missing:
        raise DataError(
            f"sample_weight contains NaN or another missing value, in {counted(missing, 'row')}; "
            "give a row that should not count the weight 0"
        )
    if column.type not in ("integer", "float", "boolean"):
        raise DataError(f"sample_weight must hold a number per row, but holds {column.nature}")
    weight = column.values.astype(np.float64)
    if not weight.any():  # as scikit-learn words it
        raise DataError("Sample weights must contain at least one non-zero number, but sample_weight is all 0")
    infinite = int(np.count_nonzero(np.isinf(weight)))
    if infinite:
        raise DataError(
            f"sample_weight is infinite in {infinite:,} of {counted(len(weight), 'row')}: give finite weights"
        )
    refuse_extreme_weights(weight)
    checked: NDArray[np.float64] = _check_sample_weight(weight, rows, dtype=np.float64)
    return checked

"""The emitted functions of dataframes: those of pandas and of Polars, where these are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from shallowrules.errors import MissingExtraError
from shallowrules.exporters import export
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleSet
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.tables.times import array_of_times
from shallowrules.verification.comparing import python_rows
from shallowrules.verification.runners.base import CLUSTER, Form, Labels
from shallowrules.verification.runners.python import define

__all__ = ["clusters_of_series", "imported", "run_pandas", "run_polars"]


@contextmanager
def run_pandas(rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Define the function of a dataframe of pandas."""
    pandas = imported("pandas")
    assign_cluster = define(export(rules, "pandas"))["assign_cluster"]
    yield {"pandas": Form(partial(_by_pandas, pandas, assign_cluster, Answers(rules)))}


@contextmanager
def run_polars(rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Define the expression of Polars."""
    polars = imported("polars")
    assign_cluster = define(export(rules, "polars"))["assign_cluster"]
    yield {"Polars": Form(partial(_by_polars, polars, assign_cluster, Answers(rules)))}


def imported(package: str) -> Any:
    """Return a package; MissingExtraError says what needs it where it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtraError(f"running the rules on dataframes of {package}", package) from None


def _by_pandas(pandas: Any, assign_cluster: Callable[[Any], Any], answers: Answers, table: Table) -> Labels:
    columns = {column.name: _as_series(pandas, column) for column in table.columns}
    frame = pandas.DataFrame(columns, index=range(table.n_rows))
    return clusters_of_series(answers, assign_cluster(frame))


def clusters_of_series(answers: Answers, labels: Any) -> Labels:
    """Return the clusters that labels in a series of pandas mean."""
    return answers.clusters(labels.fillna(0).to_numpy(dtype=np.int64), labels.isna().to_numpy())


def _as_series(pandas: Any, column: Column) -> Any:
    if column.is_time:
        series = pandas.Series(array_of_times(column.type, column.values, column.absent))
        return series.dt.tz_localize("UTC") if column.type == "timestamptz" else series
    if column.missing is None and column.is_numeric:
        return column.values
    return pandas.Series(_values(column), dtype=object)


def _by_polars(polars: Any, assign_cluster: Callable[[], Any], answers: Answers, table: Table) -> Labels:
    types = {"text": polars.String, "boolean": polars.Boolean, "integer": polars.Int64, "float": polars.Float64}
    types |= {
        "date": polars.Date,
        "timestamp": polars.Datetime("us"),
        "timestamptz": polars.Datetime("us", "UTC"),
        "duration": polars.Duration("us"),
    }
    series = []
    for column in table.columns:
        kind = {"float32": polars.Float32, "uint64": polars.UInt64}.get(column.values.dtype.name, types[column.type])
        series.append(polars.Series(column.name, _values(column), dtype=kind))
    frame = polars.DataFrame(series or {"no column": [None] * table.n_rows})
    labelled = frame.with_columns(assign_cluster().alias(CLUSTER))[CLUSTER]
    return answers.clusters(labelled.fill_null(0).cast(polars.Int64).to_numpy(), labelled.is_null().to_numpy())


def _values(column: Column) -> list[Any]:
    return [value for (value,) in python_rows(Table((column,), len(column.values)))]

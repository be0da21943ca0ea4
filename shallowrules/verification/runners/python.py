"""The emitted Python: the function of a row in each style, and the function of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, get_args

import numpy as np

from shallowrules.exporters import export
from shallowrules.exporters.python import Style
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleSet
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.tables.times import array_of_times
from shallowrules.verification.comparing import python_rows
from shallowrules.verification.runners.base import Form, Labels

__all__ = ["define", "run_python"]


@contextmanager
def run_python(rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Run the modules, and return their functions."""
    forms = {
        f"Python, {style}": Form(
            partial(_by_row, define(export(rules, "python", style=style))["assign_cluster"], Answers(rules).cluster)
        )
        for style in get_args(Style)
    }
    by_columns = partial(_by_columns, define(export(rules, "python", vectorized=True))["assign_clusters"])
    yield {**forms, "Python, vectorized": Form(by_columns)}


def define(module: str) -> dict[str, Any]:
    """Return the names that an emitted module defines."""
    namespace: dict[str, Any] = {"__name__": "emitted_rules"}
    exec(compile(module, "<emitted rules>", "exec"), namespace)
    return namespace


def _by_row(
    assign_cluster: Callable[[Mapping[str, Any]], int | None], understood: Callable[[Any], int], table: Table
) -> Labels:
    labels = np.empty(table.n_rows, dtype=np.int64)
    for row, values in enumerate(python_rows(table)):
        labels[row] = understood(assign_cluster(dict(zip(table.names, values, strict=True))))
    return labels


def _by_columns(assign_clusters: Callable[[Mapping[str, Any]], Labels], table: Table) -> Labels:
    columns = {column.name: _as_given(column) for column in table.columns}
    return assign_clusters(columns or {"no column": [None] * table.n_rows})


def _as_given(column: Column) -> Any:
    """Return the values of a column, masked where one is missing beyond NaN; times as NumPy or Python has them."""
    if column.type == "timestamptz":
        return [value for (value,) in python_rows(Table((column,), len(column.values)))]
    if column.is_time:
        return array_of_times(column.type, column.values, column.absent)
    return column.values if column.missing is None else np.ma.MaskedArray(column.values, column.missing)

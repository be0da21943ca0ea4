"""Runners: each runs an exporter's output, and returns the clusters of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.rules.reading import code_numbers
from shallowrules.tables.column import Column
from shallowrules.tables.given import plain_column
from shallowrules.tables.table import Table
from shallowrules.verification.engines import Engine

__all__ = ["CLUSTER", "EngineLabeller", "Form", "Labels", "Runner", "SqlRunner", "as_given", "spread"]

CLUSTER = "cluster in shallowrules"
"""The name of the column of clusters, where a form has one beside the table's own."""

Labels = NDArray[np.int64]
"""The cluster of each row, -1 for none."""


@dataclass(frozen=True)
class Form:
    """A function that labels rows.

    Parameters
    ----------
    label : callable
        Gives the clusters of the rows of a table of the tested columns, which are as they were read.
    holds : callable, optional
        Tells which rows of a table it can be asked for; by default all.
    label_several : callable, optional
        Gives the clusters of the rows of several tables, where that costs less than one table after the other.
    """

    label: Callable[[Table], Labels]
    holds: Callable[[Table], NDArray[np.bool_]] | None = None
    label_several: Callable[[Sequence[Table]], Sequence[Labels]] | None = None

    def labels(self, tables: Sequence[Table]) -> Sequence[Labels]:
        """Return the clusters of the rows of each table."""
        return list(map(self.label, tables)) if self.label_several is None else self.label_several(tables)


def as_given(column: RuleColumn, given: Column) -> Column:
    """Return a column as a program gets it: text is already converted; missing values are imputed by the program."""
    given = plain_column(given)
    if column.codes:
        return code_numbers(given, column.conversion)
    if given.type == column.type or (given.is_numeric and column.is_numeric):
        return given
    return replace(column, imputed=None).read(given)


def spread(n_rows: int, most: int) -> NDArray[np.bool_]:
    """Return which rows of a table to ask for, at most a given number of them, spread over the table."""
    chosen = np.zeros(n_rows, dtype=bool)
    if n_rows:
        chosen[np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)] = True
    return chosen


class Runner(Protocol):
    """Runs an exporter's output: a function in the table `RUNNERS` that opens whatever the output needs."""

    def __call__(self, rules: RuleSet) -> AbstractContextManager[Mapping[str, Form]]:
        """Return the forms of the rules by their names, until the context ends.

        Raises
        ------
        MissingExtraError
            If a program that runs them is not installed.
        EngineError
            If it does not start.
        ExportError
            If the exporter cannot express the rules.
        """
        ...


EngineLabeller = Callable[[int], Labels]
"""Gives the clusters of the numbered rows of the engine's table, given their number."""


class SqlRunner(Protocol):
    """Runs an exporter's output for databases: a function in the table `SQL_RUNNERS`."""

    def __call__(self, rules: RuleSet, engine: Engine, answers: Answers) -> Mapping[str, EngineLabeller]:
        """Return the functions that label the rows of the engine's table, by the name of the form."""
        ...

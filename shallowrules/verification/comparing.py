"""The result of comparing one form of the rules with the tree, and where it went wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallowrules.tables.table import Table
from shallowrules.tables.times import to_time

__all__ = [
    "NO_ANSWER",
    "SEVERAL",
    "Comparison",
    "Difference",
    "Failed",
    "NotRun",
    "grouped_by_reason",
    "python_rows",
]

SEVERAL = "more than one cluster"
NO_ANSWER = "a value that is not a cluster's"
"""Results of a form other than a cluster or none: these are not numbers, as any number may be a cluster's."""


@dataclass(frozen=True)
class Difference:
    """A row that a form gives a different cluster than the tree does; None is not a cluster.

    `origin` says which row it is, and `values` are its values in the tested columns. `found` may also be `SEVERAL` or
    `NO_ANSWER`.
    """

    origin: str
    values: dict[str, Any]
    expected: int | None
    found: int | str | None

    @property
    def places(self) -> tuple[str, str]:
        """The clusters in which the tree and the form put the row, in words."""
        return _place(self.expected), _place(self.found)

    @property
    def cells(self) -> dict[str, Any]:
        """The values as JSON can hold them."""
        return {name: _cell(value) for name, value in self.values.items()}


@dataclass(frozen=True)
class Comparison:
    """How one form of the rules did.

    `rows` are those compared, `disagreements` those with a cluster other than the tree's, `differences` the first of
    these.
    """

    form: str
    rows: int
    disagreements: int
    differences: tuple[Difference, ...] = ()

    @property
    def first(self) -> Difference | None:
        """The first difference, if there is any."""
        return self.differences[0] if self.differences else None


@dataclass(frozen=True)
class NotRun:
    """An installed exporter that was not run, and why."""

    exporter: str
    reason: str


@dataclass(frozen=True)
class Failed:
    """A form that ended in an error, such as one that its compiler refused, and the error."""

    form: str
    error: Exception

    @property
    def reason(self) -> str:
        """The words of the error."""
        return str(self.error)


def grouped_by_reason(given: Iterable[NotRun | Failed]) -> list[tuple[list[str], str]]:
    """Return the names of exporters or forms by the reason why they have no result, in the order of the reasons."""
    names: dict[str, list[str]] = {}
    for each in given:
        names.setdefault(each.reason, []).append(each.form if isinstance(each, Failed) else each.exporter)
    return [(found, reason) for reason, found in names.items()]


def _place(found: int | str | None) -> str:
    if isinstance(found, str):
        return found
    return "no cluster" if found is None else f"cluster {found}"


def _cell(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else str(value)


def python_rows(table: Table) -> Iterator[tuple[Any, ...]]:
    """Return the rows as Python values: None for a missing value that is not NaN, times as dates and the like."""
    if not table.columns:
        return iter([()] * table.n_rows)
    columns = []
    for column in table.columns:
        values: list[Any] = column.values.tolist()
        if column.is_time:
            values = [to_time(column.type, value) for value in values]
        if column.missing is not None:
            for row in np.flatnonzero(column.missing):
                values[row] = None
        columns.append(values)
    return zip(*columns, strict=True)

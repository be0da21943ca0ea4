"""How one form of the rules did beside the tree, and where it went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallowrules.labels import NO_CLUSTER
from shallowrules.table import Table

__all__ = ["Comparison", "Difference", "cluster_of", "python_rows"]


@dataclass(frozen=True)
class Difference:
    """A row that a form gives another cluster than the tree does; None is no cluster.

    `origin` says which row it is, `values` what it holds in the tested columns.
    """

    origin: str
    values: dict[str, Any]
    expected: int | None
    found: int | None


@dataclass(frozen=True)
class Comparison:
    """How one form of the rules did.

    `rows` are those compared, `disagreements` those with another cluster than the tree's, `differences` the first of
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


def cluster_of(label: int | np.integer[Any]) -> int | None:
    """Return the cluster that a label means, None for none."""
    return None if label == NO_CLUSTER else int(label)


def python_rows(table: Table) -> Iterator[tuple[Any, ...]]:
    """Return the rows as Python values, None where a value is missing beyond NaN."""
    if not table.columns:
        return iter([()] * table.n_rows)
    columns = []
    for column in table.columns:
        values: list[Any] = column.values.tolist()
        if column.missing is not None:
            for row in np.flatnonzero(column.missing):
                values[row] = None
        columns.append(values)
    return zip(*columns, strict=True)

"""Rows with the clusters that the tree gives them, and how the labels of a form compare with these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shallowrules.labelling.answers import Answers
from shallowrules.tables.labels import cluster_of
from shallowrules.tables.table import Table
from shallowrules.verification.comparing import NO_ANSWER, Comparison, Difference, python_rows

__all__ = ["Part", "compare_parts"]


@dataclass(frozen=True, eq=False)
class Part:
    """Rows to compare, a name for each of them, and the clusters that the tree gives them."""

    name: str
    table: Table
    expected: NDArray[np.int64]

    def chosen(self, rows: NDArray[np.bool_]) -> Part:
        """Return some of the rows."""
        return self if rows.all() else Part(self.name, self.table.take(np.flatnonzero(rows)), self.expected[rows])


def compare_parts(
    form: str,
    parts: Sequence[Part],
    labels: Sequence[NDArray[np.int64]],
    answers: Answers | None = None,
    foreign: str = NO_ANSWER,
) -> Comparison:
    """Compare the labels that a form gives the rows of some parts; `foreign` is what the answers' own mark means."""
    disagreements, first = 0, None
    for part, found in zip(parts, labels, strict=True):
        differing = np.flatnonzero(found != part.expected)
        disagreements += len(differing)
        if first is None and len(differing):
            row = int(differing[0])
            [values] = python_rows(part.table.take(differing[:1]))
            first = Difference(
                f"{part.name} {row + 1}",
                dict(zip(part.table.names, values, strict=True)),
                cluster_of(part.expected[row]),
                foreign if answers is not None and found[row] == answers.foreign else cluster_of(found[row]),
            )
    return Comparison(form, sum(part.table.n_rows for part in parts), disagreements, () if first is None else (first,))

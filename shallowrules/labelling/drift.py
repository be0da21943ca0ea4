"""How the shares of the clusters have moved since training, and which values did not occur in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, OptionError, counted
from shallowrules.exporters import export
from shallowrules.exporters.sql import dialect_of_database, unknown_predicate
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.labelling.tested_columns import find_tested_columns
from shallowrules.measures.totals import Totals
from shallowrules.rules import Number, RuleColumn, RuleSet, Value, format_value
from shallowrules.rules.matching import read_columns
from shallowrules.sources import DatabaseRows
from shallowrules.sources.database import DatabaseSource, open_rows
from shallowrules.tables.column import Column
from shallowrules.tables.labels import cluster_of
from shallowrules.tables.table import Table
from shallowrules.tables.values import number_text
from shallowrules.trees.tree import compare

__all__ = [
    "ColumnShift",
    "Counts",
    "Shift",
    "UnseenCategories",
    "count_clusters",
    "count_labels",
    "measure_columns",
    "measure_shifts",
    "open_counted",
    "query_counts",
    "unseen_in_database",
]

VALUES_SHOWN = 5
"""Maximum number of new categories that are named, the most frequent first."""

Counts = Mapping[int | None, int]
"""Rows by the number of their cluster, None for those without one."""


@dataclass(frozen=True)
class Shift:
    """One cluster's rows, and their share of all, beside its share in training.

    `cluster` is its number, None for the rows without a cluster, of which training had none. Shares are of rows, from
    0 to 1, whatever the rows' weights in training.

    `total` is the sum of a column over the rows, `total_share` its share of the sum over all rows, and `total_trained`
    that in training, where rows had no weights; None where that is not known.
    """

    cluster: int | None
    title: str
    rows: int
    share: float
    trained: float
    total: float | None = None
    total_share: float | None = None
    total_trained: float | None = None

    @property
    def size(self) -> float:
        """The difference of the shares: above 0 where there are more rows than in training."""
        return self.share - self.trained

    def exceeds(self, limit: float) -> bool:
        """Return whether the share has moved by more than a limit, up or down."""
        return abs(self.size) > limit


@dataclass(frozen=True)
class ColumnShift:
    """Values of a column that rules test and that did not occur in training, by rows.

    Attributes
    ----------
    column : RuleColumn
    rows : int
        All rows of the table.
    missing : int
        Rows without a value; those that are imputed too.
    below, above : int
        Rows whose number is below the least of training, or above the greatest.
    unseen : int
        Rows whose category training did not have.
    examples : tuple of str or bool
        The most frequent of these categories.
    """

    column: RuleColumn
    rows: int
    missing: int = 0
    below: int = 0
    above: int = 0
    unseen: int = 0
    examples: tuple[Value, ...] = ()

    def sentences(self) -> list[str]:
        """Return the new values in the table, in a sentence for each kind."""
        column = self.column
        facts = [
            (self.below, f"a value below {_end(column, column.minimum)}, the minimum in training"),
            (self.above, f"a value above {_end(column, column.maximum)}, the maximum in training"),
            (self.unseen, f"a value that did not occur in training: {', '.join(map(format_value, self.examples))}"),
            (self.missing, "no value" if column.imputed is None else "no value, and one is imputed"),
        ]
        return [
            f"column {column.name!r}: {counted(n, 'row')} ({n / self.rows:.1%}) with {words}" for n, words in facts if n
        ]


def _end(column: RuleColumn, number: Number | None) -> str:
    return "" if number is None else column.show(number)


def measure_columns(rules: RuleSet, table: Table) -> list[ColumnShift]:
    """Return the shift of each column that rules test, in their order; raises as `RuleSet.assign`.

    Raises
    ------
    DataError
        If there are no rows.
    """
    n_rows, columns = read_columns(rules.columns, rules.tested_columns, table)
    if not n_rows:
        raise DataError("there are no rows, so no value is new")
    return [_column_shift(rules.columns[feature], read, n_rows) for feature, read in columns.items()]


def _column_shift(column: RuleColumn, read: Column, n_rows: int) -> ColumnShift:
    missing = read.absent if read.imputed_rows is None else read.absent | read.imputed_rows
    n_missing, values = int(np.count_nonzero(missing)), read.values[~missing]
    if column.minimum is not None and column.maximum is not None:
        below, above = compare(values, column.minimum), compare(values, column.maximum)
        n_below = int(np.count_nonzero(below[0])) - int(np.count_nonzero(values == column.minimum))
        return ColumnShift(column, n_rows, n_missing, n_below, int(np.count_nonzero(above[1])))
    found = _count_unseen(column, values)
    return ColumnShift(column, n_rows, n_missing, unseen=found.total(), examples=_most_frequent(found))


def _count_unseen(column: RuleColumn, values: NDArray[Any]) -> Counter[Value]:
    known = set(column.values)
    return Counter(value for value in values.tolist() if value not in known)


def _most_frequent(found: Counter[Value]) -> tuple[Value, ...]:
    return tuple(value for value, _ in found.most_common(VALUES_SHOWN))


class UnseenCategories:
    """Counts the categories that did not occur in training, for rows that come in parts."""

    def __init__(self, columns: Sequence[RuleColumn]) -> None:
        self.columns = [column for column in columns if column.type == "text"]
        self.clear()

    def clear(self) -> None:
        """Forget the rows."""
        self._found: dict[str, Counter[Value]] = {column.name: Counter() for column in self.columns}

    def add(self, table: Table) -> None:
        """Count the new categories of rows; raises the errors of `RuleSet.assign`."""
        for column in self.columns:
            read = column.read(table[column.name])
            self._found[column.name] += _count_unseen(column, read.values[~read.absent])

    def shifts(self, n_rows: int) -> tuple[ColumnShift, ...]:
        """Return the columns with new categories, in a table of a given number of rows."""
        return tuple(
            ColumnShift(column, n_rows, unseen=found.total(), examples=_most_frequent(found))
            for column in self.columns
            if (found := self._found[column.name])
        )


def measure_shifts(rules: RuleSet, counts: Counts, totals: Totals | None = None) -> list[Shift]:
    """Return the shift of each cluster, largest in training first, and that of rows without a cluster.

    `totals` are the sums of a column by cluster, which are shown beside their shares in training where rules know them.

    Raises
    ------
    DataError
        If there are no rows.
    """
    total = sum(counts.values())
    if not total:
        raise DataError("there are no rows, so no share has moved")
    found = [(c.index, c.title, c.rows / rules.statistics.rows) for c in rules.by_size]
    shifts = [
        Shift(index, title, counts.get(index, 0), counts.get(index, 0) / total, trained)
        for index, title, trained in [*found, (None, "without a cluster", 0.0)]
    ]
    if totals is None:
        return shifts
    trained = rules.trained_totals(totals.name)
    return [
        replace(
            shift,
            total=totals.sums.get(shift.cluster, 0.0),
            total_share=totals.share(shift.cluster),
            total_trained=trained.get(shift.cluster, 0.0) if trained else None,
        )
        for shift in shifts
    ]


def count_clusters(labels: NDArray[np.integer]) -> Counts:
    """Return the rows of each cluster, by the labels of `RuleSet.assign`."""
    labels, counts = np.unique(labels, return_counts=True)
    return {cluster_of(label): count for label, count in zip(labels, counts.tolist(), strict=True)}


@contextmanager
def open_counted(rows: DatabaseRows) -> Iterator[DatabaseSource]:
    """Open a table whose clusters the database counts; OptionError if there is none, or no SQL for it."""
    if not rows.is_whole_table or dialect_of_database(rows.backend) is None:
        raise OptionError(f"no query counts the clusters of {rows}: read the rows", option="table")
    with open_rows(rows) as source:
        yield source


def count_labels(rules: RuleSet, source: DatabaseSource, columns: Mapping[str, str]) -> Counts:
    """Return the rows of each cluster of an open table, counted in the database by the SQL of the style ``drift``.

    Parameters
    ----------
    rules : RuleSet
    source : DatabaseSource
    columns : mapping from str to str
        The database's names of columns of the rules that have a different name there.

    Raises
    ------
    DataError
        If a tested column is missing or has a different type, or the database refuses the query; the message is then
        its own.
    OptionError
        If SQL for this database is not known.
    """
    found = query_counts(rules, source, columns)
    return {cluster_of(cluster): int(count) for cluster, _, count, *_ in found if count}


def query_counts(
    rules: RuleSet, source: DatabaseSource, columns: Mapping[str, str], measure: str | None = None
) -> Sequence[Any]:
    """Return the rows that SQL of the style ``drift`` gives for an open table; `measure` is a column to add up."""
    known = find_tested_columns(rules, source, columns).options
    query = export(rules, "sql", style="drift", table=source.rows.name_parts, measure=measure, **known)
    return source.connection.exec_driver_sql(query).all()


def unseen_in_database(
    rules: RuleSet, source: DatabaseSource, columns: Mapping[str, str], n_rows: int
) -> tuple[ColumnShift, ...]:
    """Return the columns of text of an open table with categories that did not occur in training.

    They are counted in the database; `n_rows` are the rows of the table, the others are as in `count_labels`.
    """
    found = find_tested_columns(rules, source, columns)
    shifts = []
    for column in (column for column in found.columns if column.type == "text"):
        name = found.names[column.name]
        unknown = unknown_predicate(column, name, found.dialect)
        quoted = find_dialect(found.dialect).identifier(name)
        query = f"SELECT {quoted}, COUNT(*) FROM {source.relation} WHERE {unknown} GROUP BY {quoted}"
        rows = source.connection.exec_driver_sql(query).all()
        values: Counter[Value] = Counter()
        for value, count in rows:  # in a column of codes, a number that may be 3.00
            values[value if isinstance(value, str) else number_text(value)] += int(count)
        if values:
            shifts.append(ColumnShift(column, n_rows, unseen=values.total(), examples=_most_frequent(values)))
    return tuple(shifts)

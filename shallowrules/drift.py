"""How the shares of the clusters have moved since training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shallowrules.errors import DataError, OptionError
from shallowrules.exporters import export
from shallowrules.exporters.sql import dialect_of_database
from shallowrules.rules import RuleSet
from shallowrules.sources import DatabaseRows
from shallowrules.sources.database import DatabaseSource, open_rows
from shallowrules.table import Table
from shallowrules.tested_columns import find_tested_columns
from shallowrules.verification.comparing import cluster_of

__all__ = ["Counts", "Shift", "count_in_database", "count_labels", "count_rows", "measure_shifts"]

Counts = Mapping[int | None, int]
"""Rows by the number of their cluster, None for those without one."""


@dataclass(frozen=True)
class Shift:
    """One cluster's rows, and their share of all, beside its share in training.

    `cluster` is its number, None for the rows without a cluster, of which training had none. Shares are of rows, from
    0 to 1, whatever the rows' weights in training.
    """

    cluster: int | None
    title: str
    rows: int
    share: float
    trained: float

    @property
    def size(self) -> float:
        """The difference of the shares: above 0 where there are more rows than in training."""
        return self.share - self.trained


def measure_shifts(rules: RuleSet, counts: Counts) -> list[Shift]:
    """Return the shift of each cluster, largest in training first, and that of rows without a cluster.

    Raises
    ------
    DataError
        If there are no rows.
    """
    total = sum(counts.values())
    if not total:
        raise DataError("there are no rows, so that no share has moved")
    found = [(c.index, c.title, c.rows / rules.statistics.rows) for c in rules.by_size]
    return [
        Shift(index, title, counts.get(index, 0), counts.get(index, 0) / total, trained)
        for index, title, trained in [*found, (None, "without a cluster", 0.0)]
    ]


def count_rows(rules: RuleSet, table: Table) -> Counts:
    """Return the rows of each cluster of a table, by `RuleSet.assign`, which says what it raises."""
    labels, counts = np.unique(rules.assign(table), return_counts=True)
    return {cluster_of(label): count for label, count in zip(labels, counts.tolist(), strict=True)}


def count_in_database(rules: RuleSet, rows: DatabaseRows, columns: Mapping[str, str] | None = None) -> Counts:
    """Return the rows of each cluster of a database's table, counted there by the SQL of the style ``drift``.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
        A table without a sample.
    columns : mapping from str to str, optional
        What the database calls columns of the rules that have another name there.

    Raises
    ------
    DataError
        If a tested column is missing or of another type, or the database cannot be reached or refuses the query; the
        message is then its own.
    OptionError
        If there is no table, or SQL for this database is not known.
    """
    if not rows.is_whole_table or dialect_of_database(rows.backend) is None:
        raise OptionError(f"no query counts the clusters of {rows}: read the rows", option="table")
    with open_rows(rows) as source:
        return count_labels(rules, source, columns or {})


def count_labels(rules: RuleSet, source: DatabaseSource, columns: Mapping[str, str]) -> Counts:
    """Return the rows of each cluster of an open table, as `count_in_database` does."""
    names = find_tested_columns(rules, source, columns).names
    dialect = str(dialect_of_database(source.rows.backend))
    query = export(rules, "sql", style="drift", dialect=dialect, table=source.rows.name_parts, columns=names)
    found = source.connection.exec_driver_sql(query).all()
    return {cluster_of(cluster): int(count) for cluster, _, count, *_ in found if count}

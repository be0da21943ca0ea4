"""The total behind a share, for a table to label or to watch: a column of numbers, added up by cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError
from shallowrules.exporters.sql import DIALECTS, dialect_of_database
from shallowrules.labelling.drift import Counts, query_counts
from shallowrules.measures.totals import Totals, check_measure, count_totals
from shallowrules.partitions.merging import Added
from shallowrules.rules import RuleSet
from shallowrules.sources.database import DatabaseSource
from shallowrules.tables.column import Column
from shallowrules.tables.labels import cluster_of
from shallowrules.tables.names import find_name, show_absent

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["find_measure", "total_labels", "total_query", "total_rows"]

BATCH_ROWS = 100_000
"""Rows that are added up at a time."""


def total_rows(column: Column, labels: NDArray[np.integer]) -> Totals:
    """Return the sums of a column by cluster; `labels` are those of `RuleSet.assign`.

    Raises
    ------
    DataError
        If it cannot be added up.
    """
    check_measure(column)
    found, places = np.unique(labels, return_inverse=True)
    return Totals.of(column.name, count_totals(column, places, len(found)), [cluster_of(label) for label in found])


def total_query(database: DuckDBPyConnection, query: str, name: str, rules: RuleSet) -> Totals:
    """Return the sums by cluster from a query for the number of each row's cluster, and its number to add up."""
    clusters: list[int | None] = [None, *(cluster.index for cluster in rules.clusters)]
    place = {cluster: i for i, cluster in enumerate(clusters)}
    found = Added(count_totals(Column(name, "float", np.empty(0)), np.empty(0, np.intp), len(clusters)))
    result = database.execute(query)
    while rows := result.fetchmany(BATCH_ROWS):
        labels = np.array([place[cluster] for cluster, _ in rows])
        column = _column(name, [value for _, value in rows])
        check_measure(column)
        found = found.merged(Added(count_totals(column, labels, len(clusters))))
    return Totals.of(name, found.arrays, clusters)


def _column(name: str, given: list[Any]) -> Column:
    """Return numbers as they come from DuckDB, None for one that is missing."""
    missing = np.array([value is None for value in given])
    values = np.array([0 if value is None else value for value in given])
    if values.dtype.kind not in "iuf":  # whole numbers of 128 bits, decimals
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f"the measure {name!r} cannot be added up: it holds values that are not numbers") from None
    return Column(name, "float" if values.dtype.kind == "f" else "integer", values, missing)


def total_labels(
    rules: RuleSet, source: DatabaseSource, measure: str, columns: Mapping[str, str]
) -> tuple[Counts, Totals]:
    """Return the rows of each cluster of an open table, and the sums of a column, as the database adds them up.

    Parameters
    ----------
    rules : RuleSet
    source : DatabaseSource
    measure : str
    columns : mapping from str to str
        What the database calls columns of the rules, or the measure, that have another name there.

    Raises
    ------
    DataError
        If a column is missing or has a different type.
    """
    name = source.names[find_measure(source, columns.get(measure, measure))]
    rows = query_counts(rules, source, {**columns, measure: name}, measure=measure)
    counts = {cluster_of(row.cluster): int(row.rows_found) for row in rows}
    sums = {cluster_of(row.cluster): float(row.total_found) for row in rows}
    missing = {cluster_of(row.cluster): int(row.rows_without_value) for row in rows}
    if sum(missing.values()) == sum(counts.values()):  # in SQLite also texts, whatever the column is declared as
        raise DataError(f"the measure {name!r} of {source.rows} cannot be added up: it has no number in any row")
    totals = Totals(measure, sums, missing, sum(sums.values()))
    return {cluster: n_rows for cluster, n_rows in counts.items() if n_rows}, totals


def find_measure(source: DatabaseSource, name: str) -> int:
    """Return the position of the column to add up in an open table; DataError if it is not there or not of numbers."""
    dialect = dialect_of_database(source.rows.backend)
    found = find_name(name, source.names, str.casefold if dialect is None else DIALECTS[dialect].names.fold)
    if found is None:
        raise DataError(
            f"{source.rows} has no column {show_absent(name, source.names)} to add up; its columns are: "
            f"{', '.join(map(repr, source.names))}"
        )
    position = source.names.index(found)
    kind = source.declared[position].kind
    if kind not in (None, "number"):
        raise DataError(f"the measure {found!r} of {source.rows} cannot be added up: it holds {kind}, not numbers")
    return position

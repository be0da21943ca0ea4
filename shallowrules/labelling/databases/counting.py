"""Rows by cluster, counted in a database before labels are written there, or before they are committed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from shallowrules.exporters.base import ClusterAs
from shallowrules.exporters.sql import fastest_case
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.labelling.answers import Answers
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject
from shallowrules.labelling.drift import Counts
from shallowrules.rules import RuleSet
from shallowrules.tables.labels import NO_CLUSTER

__all__ = ["changed_rows", "count_changes", "count_made"]


def changed_rows(database: Database, thing: DatabaseObject, case: str) -> str:
    """Return a query for how many rows have a value in a column other than the one that an expression gives them."""
    changed = WRITING[database.dialect.name].changed.format(
        column=database.dialect.identifier(thing.column), value=f"(\n{case}\n)"
    )
    return f"SELECT COUNT(*) FROM {database.quoted(thing.name)}\nWHERE {changed}"


def count_changes(database: Database, rules: RuleSet, thing: DatabaseObject, **options: Any) -> int:
    """Return the number of rows whose existing label differs from their cluster.

    Parameters
    ----------
    database : Database
    rules : RuleSet
    thing : DatabaseObject
        The column.
    **options
        Of the exporter: dialect, columns, types, guards and otherwise.
    """
    case = fastest_case(rules, **options)
    return int(database.connection.exec_driver_sql(changed_rows(database, thing, case)).scalar_one())


def count_made(
    database: Database,
    rules: RuleSet,
    thing: DatabaseObject,
    column: str,
    cluster_as: ClusterAs,
    otherwise: str | int | None,
) -> Counts:
    """Return the rows of each cluster in a table that has them.

    Parameters
    ----------
    database : Database
    rules : RuleSet
    thing : DatabaseObject
        The table, or a column of it.
    column : str
        That of the clusters.
    cluster_as : {"number", "name"}
        The labels in the table.
    otherwise : str or int, optional
        The value of rows without a cluster.
    """
    cluster, answers = database.dialect.identifier(column), Answers(rules, cluster_as, otherwise)
    query = f"SELECT {cluster}, COUNT(*) FROM {database.quoted(thing.name)} GROUP BY {cluster}"
    counts: Counter[int | None] = Counter()
    for answer, rows in database.connection.exec_driver_sql(query).all():
        number = answers.cluster(answer)
        counts[None if number == NO_CLUSTER else number] += int(rows)
    return counts

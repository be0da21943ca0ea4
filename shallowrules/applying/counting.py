"""Rows by cluster, counted in a database before its labels are put there, or before they are there for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from shallowrules.applying.inspecting import Database, Thing
from shallowrules.drift import Counts
from shallowrules.exporters.base import ClusterAs
from shallowrules.exporters.sql import fastest_case
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.labels import NO_CLUSTER
from shallowrules.rules import RuleSet
from shallowrules.verification.answers import Answers

__all__ = ["count_changes", "count_made"]


def count_changes(database: Database, rules: RuleSet, thing: Thing, **options: Any) -> tuple[Counts, int]:
    """Return the rows of each cluster, and how many of them have another number in the column that is there.

    The rules are evaluated once for each row.

    Parameters
    ----------
    database : Database
    rules : RuleSet
    thing : Thing
        The column.
    **options
        Of the exporter: columns and otherwise.
    """
    dialect = database.dialect
    old, new, n = map(dialect.identifier, ("old", "new", "n"))
    case = fastest_case(rules, dialect=dialect.name, **options)
    changed = WRITING[dialect.name].changed.format(column=old, value=new)
    found = database.connection.exec_driver_sql(
        f"SELECT {new}, SUM({n}), SUM(CASE WHEN {changed} THEN {n} ELSE 0 END)\n"
        f"FROM (\nSELECT {case}\nAS {new}, {dialect.identifier(thing.column)} AS {old}, COUNT(*) AS {n}\n"
        f"FROM {database.quoted(thing.name)}\nGROUP BY 1, 2\n) AS {dialect.identifier('labelled')}\nGROUP BY {new}"
    ).all()
    return _by_cluster(rules, found, "number", options["otherwise"]), sum(int(changes) for *_, changes in found)


def count_made(
    database: Database, rules: RuleSet, thing: Thing, column: str, cluster_as: ClusterAs, otherwise: str | int | None
) -> Counts:
    """Return the rows of each cluster in a table that was made.

    Parameters
    ----------
    database : Database
    rules : RuleSet
    thing : Thing
        The table.
    column : str
        That of the clusters.
    cluster_as : {"number", "name"}
    otherwise : str or int, optional
        What it has of clusters, and in place of one.
    """
    cluster = database.dialect.identifier(column)
    query = f"SELECT {cluster}, COUNT(*) FROM {database.quoted(thing.name)} GROUP BY {cluster}"
    found = database.connection.exec_driver_sql(query).all()
    return _by_cluster(rules, found, cluster_as, otherwise)


def _by_cluster(
    rules: RuleSet, found: Iterable[Sequence[Any]], cluster_as: ClusterAs, otherwise: str | int | None
) -> Counts:
    """Return rows by the number of their cluster, given what SQL answers and how often."""
    answers = Answers(rules, cluster_as, otherwise)
    counts: Counter[int | None] = Counter()
    for answer, rows, *_ in found:
        cluster = answers.cluster(answer)
        counts[None if cluster == NO_CLUSTER else cluster] += int(rows)
    return counts

"""Results of verifying in a database, as text and JSON: engine, rows, clusters, and differences of SQL and tree."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from typing import Any

from shallowrules.errors import counted
from shallowrules.exporters.rendering import one_line
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleSet
from shallowrules.verification.comparing import Comparison, Difference, NotRun, grouped_by_reason

__all__ = ["BoundaryRows", "Certificate", "Unlabelled"]

FORMAT = "shallowrules certificate/1"


@dataclass(frozen=True)
class Unlabelled:
    """Rows without a cluster that have no value in a column that the tree tests, and why they have none."""

    column: str
    reason: str
    rows: int


@dataclass(frozen=True)
class BoundaryRows:
    """How the styles did on boundary rows.

    `left_out` are rows with a value that the type of a column refuses; `refused` is the database's message if it did
    not allow the temporary table, so that nothing was compared.
    """

    rows: int
    left_out: int = 0
    comparisons: tuple[Comparison, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What `verify_database` found.

    Parameters
    ----------
    rules : RuleSet
    database : str
        Its URL, without a password.
    engine, version, dialect : str
    table, query : str or None
        Where the rows are; a query goes by its hash.
    sample : int or None
        How many rows were asked for, drawn by `seed`.
    seed : int
    columns : mapping from str to str
        Names in the rules and those in the database that were given for them.
    answers : Answers
        What SQL gave a row.
    rows : int
    by_cluster : mapping from int to int
        Rows by cluster, as the tree labels them.
    unlabelled : tuple of Unlabelled
    comparisons : tuple of Comparison
        Of each style of SQL, on the rows.
    boundary : BoundaryRows
    not_run : tuple of NotRun
        The installed exporters besides ``"sql"`` that were not run.
    time : datetime
    """

    rules: RuleSet
    database: str
    engine: str
    version: str
    dialect: str
    table: str | None
    query: str | None
    sample: int | None
    seed: int
    columns: Mapping[str, str]
    answers: Answers
    rows: int
    by_cluster: Mapping[int, int]
    unlabelled: tuple[Unlabelled, ...]
    comparisons: tuple[Comparison, ...]
    boundary: BoundaryRows
    not_run: tuple[NotRun, ...] = ()
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def disagreeing(self) -> list[str]:
        """The styles that gave a row a different cluster than the tree, on rows of the table or on boundary rows."""
        found = [*self.comparisons, *self.boundary.comparisons]
        return list(dict.fromkeys(comparison.form for comparison in found if comparison.disagreements))

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON-ready data."""
        clusters = {cluster.index: cluster for cluster in self.rules.clusters}
        boundary: dict[str, Any] = {"rows": self.boundary.rows, "left_out": self.boundary.left_out}
        if self.boundary.refused is None:
            boundary["styles"] = list(map(_comparison, self.boundary.comparisons))
        else:
            boundary["refused"] = self.boundary.refused
        query = None if self.query is None else hashlib.sha256(self.query.encode()).hexdigest()
        return {
            "format": FORMAT,
            "agrees": not self.disagreeing,
            "shallowrules": installed_version("shallowrules"),
            "time": self.time.isoformat(timespec="seconds"),
            "rules_sha256": self.rules.sha256,
            "database": self.database,
            "engine": {"name": self.engine, "version": self.version, "dialect": self.dialect},
            **({"table": self.table} if query is None else {"query_sha256": query}),
            "sample": None if self.sample is None else {"rows": self.sample, "seed": self.seed},
            "columns": dict(self.columns),
            "cluster_as": self.answers.cluster_as,
            "else": self.answers.otherwise,
            "rows": self.rows,
            "clusters": [
                {"cluster": clusters[i].label, "name": clusters[i].name, "rows": rows}
                for i, rows in self.by_cluster.items()
            ],
            "unlabelled": {
                "rows": sum(part.rows for part in self.unlabelled),
                "why": [{"column": p.column, "reason": p.reason, "rows": p.rows} for p in self.unlabelled],
            },
            "styles": list(map(_comparison, self.comparisons)),
            "boundary_rows": boundary,
            "not_run": [{"exporter": each.exporter, "reason": each.reason} for each in self.not_run],
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_text(self) -> str:
        """Return the certificate as text for a person."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        differs = "; ".join(self.disagreeing)
        verdict = f"NOT AS THE TREE: {differs}" if differs else "SQL gives every row the cluster of the tree"
        yield verdict
        yield ""
        what = "a query" if self.table is None else one_line(self.table)
        drawn = (
            "" if self.sample is None else f", of which {counted(self.sample, 'row')} were drawn with seed {self.seed}"
        )
        yield _line("rules", f"SHA-256 {self.rules.sha256}")
        yield _line("database", f"{one_line(self.database)}, {one_line(f'{self.engine} {self.version}')}")
        yield _line("table", f"{what}{drawn}")
        if self.columns:
            yield _line("columns", ", ".join(one_line(f"{old} is {new}") for old, new in self.columns.items()))
        otherwise = self.answers.otherwise
        without = "NULL" if otherwise is None else one_line(repr(otherwise))
        yield _line("answers", f"the {self.answers.cluster_as} of the cluster, {without} for a row without one")
        time = self.time.strftime("%Y-%m-%d %H:%M:%S %Z")
        yield _line("made", f"{time}, by shallowrules {installed_version('shallowrules')}")
        yield ""
        yield _line("rows", f"{self.rows:,}")
        titles = {cluster.index: cluster.title for cluster in self.rules.clusters}
        for index, rows in self.by_cluster.items():
            yield _line("", f"{rows:,} in cluster {one_line(titles[index])}")
        yield _line("", f"{sum(part.rows for part in self.unlabelled):,} in no cluster")
        for part in self.unlabelled:
            yield _line("", f"  {counted(part.rows, 'row')}: {part.reason} in {one_line(repr(part.column))}")
        yield ""
        for comparison in self.comparisons:
            yield _line("compared", _summary(comparison))
        if self.boundary.refused is not None:
            yield _line("boundary", f"rows were not compared: {one_line(self.boundary.refused)}")
        else:
            for comparison in self.boundary.comparisons:
                yield _line("boundary", _summary(comparison))
            out = counted(self.boundary.left_out, "boundary row")
            yield _line("left out", f"{out} with a value that the type of its column refuses")
        for names, reason in grouped_by_reason(self.not_run):
            yield _line("not run", one_line(f"{', '.join(names)}: {reason}"))
        for comparison in (*self.comparisons, *self.boundary.comparisons):
            for difference in comparison.differences:
                yield _line("differs", f"{comparison.form}: {_describe(difference)}")


def _line(title: str, text: str) -> str:
    return f"{title:<10} {text}".rstrip()


def _summary(comparison: Comparison) -> str:
    mismatches = counted(comparison.disagreements, "mismatch", "mismatches")
    return f"{comparison.form}: {counted(comparison.rows, 'row')}, {mismatches}"


def _describe(difference: Difference) -> str:
    values = ", ".join(one_line(f"{name} = {value!r}") for name, value in difference.values.items())
    by_tree, by_sql = difference.places
    return f"{difference.origin} ({values}): {by_tree} by the tree, {by_sql} by SQL"


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "form": comparison.form,
        "rows": comparison.rows,
        "mismatches": comparison.disagreements,
        "first": [
            {
                "values": difference.cells,
                "tree": difference.expected,
                "sql": difference.found,
            }
            for difference in comparison.differences
        ],
    }

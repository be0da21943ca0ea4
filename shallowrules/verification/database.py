"""The SQL of the rules, executed in a user's own database, against the tree.

A row comes from the database with its values and with the cluster that SQL gives it, in one query, so the order of rows
does not matter. Every style is run on the rows of the table, or a sample of them that is drawn once, and on boundary
rows in a temporary table whose columns have the types of the table's own. The tree labels each row by its values as the
columns store them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, OptionError
from shallowrules.exporters import export, installed_exporters
from shallowrules.exporters.sql import LABELLING_STYLES, cluster_predicates, dialect_of_database
from shallowrules.labelling.answers import Answers
from shallowrules.labelling.tested_columns import find_tested_columns
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.rules.boundary import boundary_table, boundary_texts, texts_without_number
from shallowrules.sources import DatabaseRows
from shallowrules.sources.column_builder import ColumnBuilder
from shallowrules.sources.connecting import database_answer, find_url, show_url
from shallowrules.sources.database import DatabaseSource, open_rows
from shallowrules.tables.column import Column
from shallowrules.tables.labels import NO_CLUSTER, cluster_of
from shallowrules.tables.table import Table
from shallowrules.tables.times import NATURE
from shallowrules.tables.values import is_code_text
from shallowrules.verification.certificate import BoundaryRows, Certificate, Unlabelled
from shallowrules.verification.comparing import NO_ANSWER, SEVERAL, Comparison, Difference, NotRun, python_rows
from shallowrules.verification.runners import cannot_be_run
from shallowrules.verification.runners.base import CLUSTER
from shallowrules.verification.temporary import temporary_table
from shallowrules.verification.walking import Walk, walk_columns

__all__ = ["verify_database"]

QUERY = "rows of the query"
SAMPLE = "sample in shallowrules"
BOUNDARY = "boundary rows in shallowrules"

MAX_DIFFERENCES = 10
"""Maximum number of differences of a style that are shown."""

MAX_PREDICATES = 100
"""Predicates in one statement: SQLite takes at most 500 parts of a UNION ALL."""

VERSIONS: Mapping[str, tuple[str, str]] = {
    "postgresql": ("PostgreSQL", "SHOW server_version"),
    "mysql": ("MySQL", "SELECT VERSION()"),
    "mariadb": ("MariaDB", "SELECT VERSION()"),
    "sqlite": ("SQLite", "SELECT sqlite_version()"),
    "duckdb": ("DuckDB", "SELECT version()"),
}
"""By an engine's name in a URL: its title, and the query for its version."""


def verify_database(
    rules: RuleSet,
    rows: DatabaseRows,
    columns: Mapping[str, str] | None = None,
    answers: Answers | None = None,
) -> Certificate:
    """Compare the SQL of the rules, executed in a database, with the tree.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
    columns : mapping from str to str, optional
        What the database calls columns of the rules that have another name there.
    answers : Answers, optional
        What SQL gives a row; by default the number of its cluster, NULL where it has none.

    Raises
    ------
    DataError
        If a tested column is missing or has a different type, there are no rows, or the database refuses something.
    OptionError
        If its SQL is not known, `columns` names a column that the rules do not have, or the value of `answers` for rows
        without a cluster is a cluster's.
    ExportError
        If its SQL cannot express the rules.
    """
    if rows.backend not in VERSIONS:
        known = ", ".join(title for title, _ in VERSIONS.values())
        raise OptionError(
            f"the databases that rules are verified in are {known}, not {rows.backend}", option="database"
        )
    with open_rows(rows) as source:
        return _Verification(rules, source, dict(columns or {}), answers or Answers(rules)).run()


@dataclass(frozen=True, eq=False)
class _Relation:
    """Rows that SQL can be run on: the text before a query of them, and their name in it.

    `kept` means that no one else sees them, so they are the same in two statements.
    """

    name_parts: Sequence[str]
    before: str = ""
    kept: bool = False


@dataclass(frozen=True, eq=False)
class _Read:
    """Rows as they came from the database: tested columns, the answer of SQL for each row, and the tree's cluster."""

    table: Table
    found: NDArray[np.int64]
    walk: Walk
    strays: Mapping[int, NDArray[np.bool_]]


class _Verification:
    """The rules, together with the tested columns of a source."""

    def __init__(self, rules: RuleSet, source: DatabaseSource, columns: dict[str, str], answers: Answers) -> None:
        self.rules = rules
        self.source = source
        self.answers = answers
        self.dialect = str(dialect_of_database(source.rows.backend))
        found = find_tested_columns(rules, source, columns)
        self.tested, self.positions = found.columns, found.positions
        self.given_names = columns
        self.options = found.options
        # Values that cannot be written are refused before any work.
        for style in LABELLING_STYLES:
            self._export(style)
        self.predicates = cluster_predicates(rules, **self.options)

    def run(self) -> Certificate:
        """Compare all styles on all rows."""
        rows = self.source.rows
        if rows.sample is not None:
            with temporary_table(self.source, SAMPLE, self.positions or [0]) as sample:
                sample.draw(rows.sample)
                comparisons, read = self._compare(_Relation(sample.name_parts, kept=True), "row")
        elif rows.table is not None:
            comparisons, read = self._compare(_Relation(rows.name_parts), "row")
        else:
            query = str(rows.query).strip().removesuffix(";")
            materialized = "" if self.dialect == "mysql" else "MATERIALIZED "
            before = f"WITH {self.source.quote(QUERY)} AS {materialized}(\n{query}\n)\n"
            comparisons, read = self._compare(_Relation([QUERY], before), "row")
        if not read.table.n_rows:
            raise DataError(f"{rows}: there are no rows")
        title, version = self._engine()
        clusters = Counter(read.walk.labels.tolist())
        return Certificate(
            rules=self.rules,
            database=show_url(find_url(rows.database)),
            engine=title,
            version=version,
            dialect=self.dialect,
            table=rows.table,
            query=rows.query,
            sample=rows.sample,
            seed=rows.seed,
            columns=self.given_names,
            answers=self.answers,
            rows=read.table.n_rows,
            by_cluster={cluster.index: clusters[cluster.index] for cluster in self.rules.by_size},
            unlabelled=tuple(self._unlabelled(read)),
            comparisons=tuple(comparisons),
            boundary=self._compare_boundary(),
            not_run=tuple(_not_run()),
        )

    def _engine(self) -> tuple[str, str]:
        title, asked = VERSIONS[self.source.rows.backend]
        version = str(self.source.connection.exec_driver_sql(asked).scalar())
        return "MariaDB" if "mariadb" in version.lower() else title, version

    def _unlabelled(self, read: _Read) -> Iterator[Unlabelled]:
        """Yield the reasons why rows have no cluster, by the column in which the tree found no value."""
        for feature in self.rules.tested_columns:
            stopped = read.walk.stopped_at == feature
            strays = stopped & read.strays[feature] if feature in read.strays else np.zeros(len(stopped), bool)
            column = self.rules.columns[feature]
            for reason, mask in (("missing value", stopped & ~strays), (_stray(column), strays)):
                if mask.any():
                    yield Unlabelled(column.name, reason, int(mask.sum()))

    # Boundary rows -----------------------------------------------------------------------------------

    def _compare_boundary(self) -> BoundaryRows:
        """Compare the styles on those boundary rows that the columns can hold."""
        from sqlalchemy.exc import SQLAlchemyError

        if not self.tested:
            return BoundaryRows(0)
        rows = self._boundary_rows()
        try:
            with temporary_table(self.source, BOUNDARY, self.positions) as table:
                left_out = table.fill(rows)
                comparisons, read = self._compare(_Relation(table.name_parts, kept=True), "boundary row")
        except SQLAlchemyError as error:
            answer = database_answer(error, find_url(self.source.rows.database))
            return BoundaryRows(0, len(rows), refused=answer)
        return BoundaryRows(read.table.n_rows, left_out, tuple(comparisons))

    def _boundary_rows(self) -> list[tuple[Any, ...]]:
        """Return boundary rows with values that the declared types accept."""
        kinds = [self.source.declared[j].kind for j in self.positions]
        tables = [boundary_table(self.rules)]
        if any((c.from_text or c.codes) and kind in ("text", None) for c, kind in zip(self.tested, kinds, strict=True)):
            tables += [boundary_texts(self.rules), texts_without_number(self.rules)]
        rows = (
            tuple(_as_declared(value, kind) for value, kind in zip(row, kinds, strict=True))
            for table in tables
            for row in python_rows(table)
        )
        return list({repr(row): row for row in rows}.values())

    # Styles ------------------------------------------------------------------------------------------

    def _compare(self, relation: _Relation, origin: str) -> tuple[list[Comparison], _Read]:
        """Return how each style did on rows, and these rows."""
        comparisons, reads = [], []
        for style in LABELLING_STYLES:
            form = f"SQL, {self.dialect}, {style}"
            if style == "where":
                comparisons.append(self._compare_predicates(form, relation, origin))
            else:
                reads.append(self._read(self.answers.cluster, self._labelled(style, relation)))
                comparisons.append(_compare_labels(form, reads[-1], origin, self.answers.foreign))
        return comparisons, reads[0]

    @property
    def _values(self) -> list[str]:
        return [self.source.fetched(position) for position in self.positions]

    def _quoted(self, relation: _Relation) -> str:
        return ".".join(map(self.source.quote, relation.name_parts))

    def _labelled(self, style: str, relation: _Relation) -> str:
        """Return a query for the cluster that a style gives each row, and the row's values."""
        quote, table = self.source.quote, self._quoted(relation)
        if style != "select":
            expressions = [self._export(style), *self._values]
            return f"{relation.before}SELECT {', '.join(expressions)}\nFROM {table}"
        text = self._export(style, table=relation.name_parts, cluster_column=CLUSTER)
        expressions = [quote(CLUSTER), *self._values]
        return f"{relation.before}SELECT {', '.join(expressions)}\nFROM (\n{text}\n) AS {quote('labelled rows')}"

    def _export(self, style: str, **options: Any) -> str:
        """Return the SQL of a style as the user exports it."""
        answers = {} if style == "where" else self.answers.options
        return export(self.rules, "sql", style=style, **self.options, **answers, **options)

    def _by_predicates(self, relation: _Relation, numbered: Mapping[int, str]) -> list[str]:
        """Return statements that select the rows of each numbered predicate with its number, and all rows with -1."""
        values = "".join(f", {value}" for value in self._values)
        every = f"SELECT -1{values}\nFROM {self._quoted(relation)}"
        chosen = [
            f"SELECT {number}{values}\nFROM {self._quoted(relation)}\nWHERE {predicate}"
            for number, predicate in numbered.items()
        ]
        if relation.kept:
            return [every, *chosen]
        # In one statement, so that they see one state of the table.
        return [relation.before + "\nUNION ALL\n".join([every, *chosen])]

    def _compare_predicates(self, form: str, relation: _Relation, origin: str) -> Comparison:
        numbered = list(enumerate(self.predicates.items()))
        disagreements, differences, n_rows = 0, list[Difference](), 0
        for start in range(0, len(numbered), MAX_PREDICATES):
            part = numbered[start : start + MAX_PREDICATES]
            statements = self._by_predicates(relation, {number: text for number, (_, text) in part})
            read = self._read(int, *statements)
            clusters = {number: cluster for number, (cluster, _) in part}
            wrong, shown = _compare_chosen(read, clusters, origin)
            n_rows = max(n_rows, int(np.count_nonzero(read.found == NO_CLUSTER)))
            disagreements += wrong
            differences += shown
        return Comparison(form, n_rows, disagreements, tuple(differences[:MAX_DIFFERENCES]))

    def _read(self, understood: Callable[[Any], int], *statements: str) -> _Read:
        """Run queries for an answer, which `understood` reads, and the tested columns; return the rows' content."""
        builders = [ColumnBuilder(column.name) for column in self.tested]
        found: list[NDArray[np.int64]] = []
        for statement in statements:
            for batch in self.source.fetch(statement):
                answers, *values = zip(*batch, strict=True)
                found.append(np.fromiter(map(understood, answers), np.int64, len(batch)))
                for builder, cells in zip(builders, values, strict=True):
                    builder.add(cells)
        finished = [_decoded(b.column()) if self.dialect == "mysql" else b.column() for b in builders]
        columns = dict(zip(self.rules.tested_columns, self.source.as_declared(finished, self.positions), strict=True))
        numbers_found = np.concatenate(found) if found else np.zeros(0, np.int64)
        table = Table(tuple(columns.values()), len(numbers_found))
        strays: dict[int, NDArray[np.bool_]] = {}

        def read(feature: int) -> Column:
            column, strays[feature] = self.rules.columns[feature].read_strays(columns[feature])
            return column

        return _Read(table, numbers_found, walk_columns(self.rules, table.n_rows, read), strays)


def _stray(column: RuleColumn) -> str:
    """Return the content of a column's cell that is neither a value nor missing."""
    if column.type == "boolean":
        return "value that is not a truth value"
    return f"text that is not a {NATURE.get(column.type, 'number')}"


def _not_run() -> Iterator[NotRun]:
    """Yield all exporters except the SQL one: a database does not run their output."""
    for exporter in installed_exporters():
        if exporter.name != "sql":
            yield NotRun(exporter.name, cannot_be_run(exporter) or "verify runs it on the rows of a file")


def _decoded(column: Column) -> Column:
    """Return a column with text in place of bytes, as MariaDB compares a BLOB or VARBINARY with text."""
    if column.type != "other" or bytes not in column.value_types:
        return column
    try:
        values = [value.decode() if isinstance(value, bytes) else value for value in column.values.tolist()]
    except UnicodeDecodeError:
        raise DataError(f"column {column.name!r} holds bytes that are not UTF-8 text: cast it in a view") from None
    return Column(column.name, "text", np.array(values, dtype=object))


def _as_declared(value: Any, kind: str | None) -> Any:
    """Return a value as a column of a kind accepts it: truth values may be numbers or text there."""
    if isinstance(value, bool) and kind == "number":
        return int(value)
    if kind == "number" and isinstance(value, str) and is_code_text(value):
        return int(value)
    return str(value).lower() if isinstance(value, bool) and kind == "text" else value


def _compare_labels(form: str, read: _Read, origin: str, foreign: int) -> Comparison:
    """Compare a style that gives each row one cluster, or a mark for an answer that is not one."""
    expected = read.walk.labels
    differing = np.flatnonzero(read.found != expected)
    shown = differing[:MAX_DIFFERENCES]
    differences = tuple(
        Difference(origin, values, cluster_of(expected[row]), NO_ANSWER if label == foreign else cluster_of(label))
        for row, label, values in zip(shown, read.found[shown], _values_of(read.table.take(shown)), strict=True)
    )
    return Comparison(form, len(expected), len(differing), differences)


def _compare_chosen(read: _Read, clusters: Mapping[int, int], origin: str) -> tuple[int, list[Difference]]:
    """Compare the rows that predicates choose with all rows.

    Parameters
    ----------
    read : _Read
        All rows, found as -1, and again those that meet a predicate, found as its number.
    clusters : mapping
        The cluster of each predicate by its number.

    Returns
    -------
    tuple of int and list of Difference
        How many rows are chosen by a predicate other than that of their cluster, or not by that one; and some of them.
    """
    every = read.found == NO_CLUSTER
    labels, counts = np.unique(read.walk.labels[every], return_counts=True)
    wanted = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    all_right = all(
        (read.walk.labels[read.found == number] == cluster).all()
        and np.count_nonzero(read.found == number) == wanted.get(cluster, 0)
        for number, cluster in clusters.items()
    )
    if all_right:
        return 0, []
    # Rows of equal values cannot be told apart, and need not be.
    texts = [repr(list(values.items())) for values in _values_of(read.table)]
    present: Counter[str] = Counter()
    chosen: dict[str, Counter[int]] = {}
    place: dict[str, int] = {}
    for row, text in enumerate(texts):
        number = int(read.found[row])
        if number == NO_CLUSTER:
            present[text] += 1
            place.setdefault(text, row)
        else:
            chosen.setdefault(text, Counter())[clusters[number]] += 1
    disagreements, differences = 0, []
    for text, row in place.items():
        expected = cluster_of(read.walk.labels[row])
        expected = expected if expected in clusters.values() else None
        found = chosen.get(text, Counter[int]())
        right = found[expected] if expected is not None else present[text]
        others = [cluster for cluster in found if cluster != expected]
        wrong = max([present[text] - right, *(found[cluster] for cluster in others)])
        if wrong:
            disagreements += wrong
            several = len(others) > 1 or (others and expected is not None and right)
            [values] = _values_of(read.table.take(np.array([row])))
            differences.append(
                Difference(origin, values, expected, SEVERAL if several else others[0] if others else None)
            )
    return disagreements, differences[:MAX_DIFFERENCES]


def _values_of(table: Table) -> Iterator[dict[str, Any]]:
    return (dict(zip(table.names, row, strict=True)) for row in python_rows(table))

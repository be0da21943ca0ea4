"""Every form of the rules against the tree, on the rows of a file.

`RuleSet.assign`, the emitted Python and the emitted SQL, executed in engines of this machine, have to give each row
the cluster that the tree gives it. Besides the rows of a table these are rows on every threshold and next to it, with
missing values, and with infinities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from shallowrules.boundary import boundary_table, boundary_texts, in_single_precision, texts_without_number
from shallowrules.engines import ENGINES, Engine
from shallowrules.engines.duckdb import import_duckdb
from shallowrules.errors import DataError, check_choice, counted
from shallowrules.exporters import export
from shallowrules.exporters.python import Style as PythonStyle
from shallowrules.exporters.sql import ALIASES, LABELLING_STYLES, cluster_predicates
from shallowrules.labels import NO_CLUSTER
from shallowrules.rules import RuleSet
from shallowrules.sources.engine import reason
from shallowrules.table import Column, Table
from shallowrules.verification.answers import Answers
from shallowrules.verification.comparing import (
    NO_ANSWER,
    SEVERAL,
    Comparison,
    Difference,
    cluster_of,
    python_rows,
)
from shallowrules.verification.walking import walk

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["DEFAULT_DIALECTS", "DIALECTS", "verify"]

DIALECTS = tuple(ENGINES)
"""The SQL dialects whose engines can be run here, if they are installed."""

DEFAULT_DIALECTS = ("duckdb", "sqlite")
"""Those that are run unless others are asked for."""

TABLE = "data"
ROW_NUMBER = "row number in shallowrules"
CLUSTER = "cluster in shallowrules"


def verify(
    rules: RuleSet,
    table: Any,
    dialects: Sequence[str] = DEFAULT_DIALECTS,
    relation: str | None = None,
    answers: Answers | None = None,
) -> Iterator[Comparison]:
    """Compare every form of the rules with the tree, one at a time.

    Parameters
    ----------
    rules : RuleSet
    table : Table or anything `Table.of` takes
        Rows to compare on, besides those of `boundary_table`.
    dialects : sequence of str
        Of `DIALECTS`, or other names of these: the SQL to execute. Rows that an engine cannot hold (infinity in
        MariaDB, a text with the character 0 in PostgreSQL) are left out there.
    relation : str, optional
        What DuckDB reads the same rows from by itself, such as ``read_csv('customers.csv')``. The SQL of that
        dialect is run on it too.
    answers : Answers, optional
        What SQL gives a row; by default the number of its cluster, NULL where it has none.

    Yields
    ------
    Comparison
        Of ``RuleSet.assign``, each style of the emitted Python and its function of columns, each style of SQL in
        each dialect, and SQL on the relation.

    Raises
    ------
    DataError
        If the table lacks a tested column, or it holds values of another type than the rules compare.
    OptionError
        If a dialect cannot be executed here, or what `answers` has for rows without a cluster is a cluster's.
    MissingExtraError
        If its engine is not installed.
    EngineError
        If it does not start, or refuses the SQL.
    """
    dialects = [check_choice("dialect to verify", ALIASES.get(dialect, dialect), DIALECTS) for dialect in dialects]
    for dialect in dialects:
        ENGINES[dialect].check_installed()
    answers = Answers(rules) if answers is None else answers
    for dialect in dialects if answers.otherwise is not None else ():
        export(rules, "sql", dialect=dialect, style="case", **answers.options)  # refused before any work
    table = Table.of(table, names=[column.name for column in rules.columns])
    table = table.select([rules.columns[feature].name for feature in rules.tested_columns])
    boundary = boundary_table(rules)
    tables = [("row", table), ("boundary row", boundary)]
    if any(column.values.dtype == np.float32 for column in table.columns):
        tables.append(("boundary row in single precision", in_single_precision(boundary)))
    if any(rules.columns[feature].from_text for feature in rules.tested_columns):
        tables.append(("boundary row as text", boundary_texts(rules)))
    parts = [_Part(name, part, walk(rules, part)) for name, part in tables if part.n_rows]

    yield _compare("RuleSet.assign", parts, [rules.assign(part.table) for part in parts])
    label = _emitted_python(rules)
    found_by = [label(part.table) for part in parts]
    for form in found_by[0] if found_by else ():
        yield _compare(form, parts, [found[form] for found in found_by])
    no_numbers = texts_without_number(rules)
    if no_numbers.n_rows:  # the other forms raise an error
        unmatched = np.full(no_numbers.n_rows, NO_CLUSTER, dtype=np.int64)
        parts.append(_Part("row with a text that is no number", no_numbers, unmatched))
    for dialect in dialects:
        with ENGINES[dialect].open() as engine:
            yield from _compare_sql(rules, engine, parts, answers)
    if relation is not None and "duckdb" in dialects and table.n_rows:
        rows = _Part("row", table, parts[0].expected)
        yield _compare(
            "SQL, duckdb, on the file itself",
            [rows],
            [_labels_of_file(rules, relation, table.n_rows, answers)],
            answers,
        )


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows to compare on, what to call one of them, and the clusters that the tree gives them."""

    name: str
    table: Table
    expected: NDArray[np.int64]

    def held_by(self, engine: Engine) -> _Part:
        """Return the rows without those that an engine cannot hold."""
        held = np.ones(self.table.n_rows, dtype=bool)
        for column in self.table.columns:
            if column.is_numeric and not engine.holds_infinity:
                held &= column.absent | ~np.isinf(column.values)
            elif column.type == "text" and not engine.holds_nul:
                held &= np.array([text is None or "\0" not in text for text in column.values], dtype=bool)
        return self if held.all() else _Part(self.name, self.table.take(np.flatnonzero(held)), self.expected[held])


def _compare(
    form: str,
    parts: Sequence[_Part],
    labels: Sequence[NDArray[np.int64]],
    answers: Answers | None = None,
    foreign: str = NO_ANSWER,
) -> Comparison:
    """Compare the labels that a form gives the rows of some parts; `foreign` says what the answers' own mark means."""
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


def _emitted_python(rules: RuleSet) -> Callable[[Table], dict[str, NDArray[np.int64]]]:
    """Return what labels a table's rows by the emitted modules, by form: each style, and the function of columns."""
    functions = {
        f"Python, {style}": _run(export(rules, "python", style=style))["assign_cluster"]
        for style in get_args(PythonStyle)
    }
    assign_clusters = _run(export(rules, "python", vectorized=True))["assign_clusters"]

    def label(table: Table) -> dict[str, NDArray[np.int64]]:
        found = {form: np.full(table.n_rows, NO_CLUSTER, dtype=np.int64) for form in functions}
        for row, values in enumerate(python_rows(table)):
            given = dict(zip(table.names, values, strict=True))
            for form, function in functions.items():
                cluster = function(given)
                if cluster is not None:
                    found[form][row] = cluster
        columns = {column.name: _as_given(column) for column in table.columns} or {"no column": [None] * table.n_rows}
        return {**found, "Python, vectorized": assign_clusters(columns)}

    return label


def _run(module: str) -> dict[str, Any]:
    """Return what an emitted module defines."""
    namespace: dict[str, Any] = {"__name__": "emitted_rules"}
    exec(compile(module, "<emitted rules>", "exec"), namespace)
    return namespace


def _as_given(column: Column) -> Any:
    """Return the values of a column, masked where one is missing beyond NaN."""
    return column.values if column.missing is None else np.ma.MaskedArray(column.values, column.missing)


def _compare_sql(rules: RuleSet, engine: Engine, parts: Sequence[_Part], answers: Answers) -> Iterator[Comparison]:
    """Compare each style of SQL with the tree, on the rows that an engine can hold."""
    parts = [part.held_by(engine) for part in parts]
    labellers = {style: _labeller(rules, engine, style, answers) for style in LABELLING_STYLES}
    found: dict[str, list[NDArray[np.int64]]] = {style: [] for style in LABELLING_STYLES}
    for part in parts:
        _create(engine, part.table)
        for style, label in labellers.items():
            found[style].append(label(part.table.n_rows))
        engine.drop(TABLE)
    for style, labels in found.items():
        foreign = SEVERAL if style == "where" else NO_ANSWER
        yield _compare(f"SQL, {engine.dialect}, {style}", parts, labels, answers, foreign)


def _create(engine: Engine, table: Table) -> None:
    """Make a table of numbered rows, every column in its own type."""
    declared = [(ROW_NUMBER, engine.types["integer"])]
    for column in table.columns:
        kind = "float32" if column.values.dtype == np.float32 else column.type
        declared.append((column.name, engine.types[kind]))
    rows = ((number, *row) for number, row in enumerate(python_rows(table)))
    if not engine.holds_nan:
        rows = (tuple(None if value != value else value for value in row) for row in rows)
    engine.create(TABLE, declared, rows)


def _labeller(rules: RuleSet, engine: Engine, style: str, answers: Answers) -> Callable[[int], NDArray[np.int64]]:
    """Return what asks an engine for the cluster that SQL of one style gives each of several rows."""
    number, cluster = engine.quote(ROW_NUMBER), engine.quote(CLUSTER)
    if style == "where":
        predicates = cluster_predicates(rules, dialect=engine.dialect)
        return lambda n_rows: _labels_by_predicate(predicates, engine, n_rows, answers.foreign)
    options: dict[str, Any] = {"dialect": engine.dialect, "table": [TABLE], "cluster_column": CLUSTER}
    text = export(rules, "sql", style=style, **options, **answers.options)
    labelled = text if style == "select" else f"SELECT *, {text}\nAS {cluster} FROM {TABLE}"
    selected = f"SELECT {number}, {cluster} FROM ({labelled}\n) AS labelled"

    def label(n_rows: int) -> NDArray[np.int64]:
        labels = np.full(n_rows, answers.foreign, dtype=np.int64)
        for row, found in engine.query(selected):
            if row is not None:
                labels[int(row)] = answers.cluster(found)
        return labels

    return label


def _labels_by_predicate(
    predicates: Mapping[int, str], engine: Engine, n_rows: int, ambiguous: int
) -> NDArray[np.int64]:
    """Return the cluster whose predicate each row meets, `ambiguous` where there are several."""
    labels = np.full(n_rows, NO_CLUSTER, dtype=np.int64)
    for cluster, predicate in predicates.items():
        found = engine.query(f"SELECT {engine.quote(ROW_NUMBER)} FROM {TABLE} WHERE {predicate}")
        rows = np.array(found, dtype=np.int64).ravel()
        labels[rows] = np.where(labels[rows] == NO_CLUSTER, cluster, ambiguous)
    return labels


def _labels_of_file(rules: RuleSet, relation: str, n_rows: int, answers: Answers) -> NDArray[np.int64]:
    """Return the cluster that emitted SQL gives each row of a file that DuckDB reads by itself."""
    duckdb = import_duckdb()
    text = export(rules, "sql", dialect="duckdb", style="case", **answers.options)
    with duckdb.connect() as database:
        try:
            found = database.execute(f"SELECT {text} FROM {relation}").fetchall()
        except duckdb.Error as error:
            raise DataError(
                f"DuckDB cannot run the rules on the file as it reads it by itself ({reason(error)})"
                f"{_read_otherwise(rules, database, relation)}"
            ) from error
    if len(found) != n_rows:
        raise DataError(f"DuckDB finds {counted(len(found), 'row')} in the file where {n_rows} were read")
    return np.array([answers.cluster(answer) for (answer,) in found], dtype=np.int64)


WANTED_TYPES: Mapping[str, tuple[str, str]] = {
    "integer": ("BIGINT", r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"),
    "float": ("DOUBLE", r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*"),
    "text": ("VARCHAR", "VARCHAR|ENUM.*"),
    "boolean": ("BOOLEAN", "BOOLEAN"),
}
"""By the type of a column of rules: what to load it as, and the types that do, as a pattern."""


def _read_otherwise(rules: RuleSet, database: DuckDBPyConnection, relation: str) -> str:
    """Return what to do about the columns that DuckDB reads as another type than the rules compare."""
    found = {name: str(kind) for name, kind, *_ in database.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()}
    tested = (rules.columns[feature] for feature in rules.tested_columns)
    wanted = {
        column.name: WANTED_TYPES[column.type][0]
        for column in tested
        if column.name in found and not re.fullmatch(WANTED_TYPES[column.type][1], found[column.name])
    }
    if not wanted:
        return ""
    read = ", ".join(f"{name!r} as {found[name]}" for name in wanted)
    return f": it reads {read}. Say the types when you load it: read_csv(…, types={wanted!r})"

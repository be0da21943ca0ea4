"""The emitted SQL: each style in an engine, and a file that DuckDB reads by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, counted
from shallowrules.exporters import export
from shallowrules.exporters.sql import LABELLING_STYLES, cluster_predicates, range_of_times
from shallowrules.labelling.answers import Answers
from shallowrules.rules import INT64, RuleColumn, RuleSet
from shallowrules.sources.engine import reason
from shallowrules.tables.column import Column
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table
from shallowrules.verification.comparing import python_rows
from shallowrules.verification.engines import Engine
from shallowrules.verification.engines.duckdb import import_duckdb
from shallowrules.verification.runners.base import CLUSTER, EngineLabeller, Labels

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "TABLE",
    "NotLoadedError",
    "answer_each_row",
    "create_table",
    "held_by",
    "labels_of_file",
    "run_sql",
    "say_types",
]

TABLE = "data"
ROW_NUMBER = "row number in shallowrules"


def run_sql(rules: RuleSet, engine: Engine, answers: Answers) -> Mapping[str, EngineLabeller]:
    """Return the functions that ask an engine for the clusters that each style gives."""
    options: dict[str, Any] = {"dialect": engine.dialect, "table": [TABLE], "cluster_column": CLUSTER}
    forms: dict[str, EngineLabeller] = {}
    for style in LABELLING_STYLES:
        form = f"SQL, {engine.dialect}, {style}"
        if style == "where":
            predicates = cluster_predicates(rules, dialect=engine.dialect)
            forms[form] = partial(_by_predicates, predicates, engine, answers.foreign)
        else:
            text = export(rules, "sql", style=style, **options, **answers.options)
            query = text if style == "select" else f"SELECT *, {text}\nAS {engine.quote(CLUSTER)} FROM {TABLE}"
            forms[form] = answer_each_row(query, engine, answers.cluster, answers.foreign)
    return forms


def answer_each_row(query: str, engine: Engine, understood: Callable[[Any], int], unanswered: int) -> EngineLabeller:
    """Return the function that runs a query of all columns and `CLUSTER`; rows that it omits get `unanswered`."""
    selected = f"SELECT {engine.quote(ROW_NUMBER)}, {engine.quote(CLUSTER)} FROM ({query}\n) AS labelled"

    def label(n_rows: int) -> Labels:
        labels = np.full(n_rows, unanswered, dtype=np.int64)
        for row, found in engine.query(selected):
            if row is not None:
                labels[int(row)] = understood(found)
        return labels

    return label


def _by_predicates(predicates: Mapping[int, str], engine: Engine, ambiguous: int, n_rows: int) -> Labels:
    """Return the cluster whose predicate each row meets, `ambiguous` where there are several."""
    labels = np.full(n_rows, NO_CLUSTER, dtype=np.int64)
    for cluster, predicate in predicates.items():
        found = engine.query(f"SELECT {engine.quote(ROW_NUMBER)} FROM {TABLE} WHERE {predicate}")
        rows = np.array(found, dtype=np.int64).ravel()
        labels[rows] = np.where(labels[rows] == NO_CLUSTER, cluster, ambiguous)
    return labels


def held_by(engine: Engine, table: Table) -> NDArray[np.bool_]:
    """Return which rows an engine can hold."""
    held = np.ones(table.n_rows, dtype=bool)
    for column in table.columns:
        if column.type == "float" and not engine.holds_infinity:
            held &= column.absent | ~np.isinf(column.values)
        elif _is_unsigned(column) and "unsigned" not in engine.types:
            held &= column.absent | (column.values <= INT64[-1])
        elif column.type == "text" and not engine.holds_nul:
            held &= np.array([text is None or "\0" not in text for text in column.values], dtype=bool)
        if column.is_time and (ends := range_of_times(engine.dialect, column.type)) is not None:
            held &= column.absent | ((column.values >= ends[0]) & (column.values <= ends[1]))
    return held


def create_table(engine: Engine, table: Table) -> None:
    """Make a table of numbered rows, every column in its own type."""
    declared = [(ROW_NUMBER, engine.types["integer"])]
    for column in table.columns:
        kind: str = "float32" if column.values.dtype == np.float32 else column.type
        if _is_unsigned(column):
            kind = "unsigned"
        declared.append((column.name, engine.types[kind]))
    rows = ((number, *row) for number, row in enumerate(python_rows(table)))
    if not engine.holds_nan:
        rows = (tuple(None if value != value else value for value in row) for row in rows)
    engine.create(TABLE, declared, rows)


def _is_unsigned(column: Column) -> bool:
    """Return whether a column holds whole numbers beyond a signed 64-bit integer."""
    return column.values.dtype.kind == "u" and len(column.values) > 0 and int(column.values.max()) > INT64[-1]


class NotLoadedError(DataError):
    """DuckDB cannot read a file by itself."""


def labels_of_file(rules: RuleSet, relation: str, n_rows: int, answers: Answers) -> Labels:
    """Return the cluster that emitted SQL gives each row of a file that DuckDB reads by itself."""
    duckdb = import_duckdb()
    text = export(rules, "sql", dialect="duckdb", style="case", **answers.options)
    with duckdb.connect() as database:
        try:
            found = database.execute(f"SELECT {text} FROM {relation}").fetchall()
        except duckdb.Error as error:
            raise DataError(
                f"DuckDB cannot run the rules on the file with the types that it detects ({reason(error)})"
                f"{_read_otherwise(rules, database, relation)}"
            ) from error
    if len(found) != n_rows:
        raise DataError(f"DuckDB finds {counted(len(found), 'row')} in the file where {n_rows:,} were read")
    return np.array([answers.cluster(answer) for (answer,) in found], dtype=np.int64)


WANTED_TYPES: Mapping[str, tuple[str, str]] = {
    "integer": ("BIGINT", r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"),
    "float": ("DOUBLE", r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*"),
    **dict.fromkeys(("date", "timestamp"), ("TIMESTAMP", "DATE|TIMESTAMP(_S|_MS|_NS)?")),
    "timestamptz": ("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"),
    "duration": ("INTERVAL", "INTERVAL"),
    "text": ("VARCHAR", "VARCHAR|ENUM.*"),
    "boolean": ("BOOLEAN", "BOOLEAN"),
}
"""By the type of a column of rules: the type to load it as, and the suitable types, as a pattern."""


def _read_otherwise(rules: RuleSet, database: DuckDBPyConnection, relation: str) -> str:
    """Return the remedy for columns that DuckDB reads as a different type than the rules compare."""
    duckdb = import_duckdb()
    try:
        described = database.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    except duckdb.Error as error:
        raise NotLoadedError(f"DuckDB does not load the file by itself ({reason(error)})") from error
    found = {name: str(kind) for name, kind, *_ in described}
    tested = (rules.columns[feature] for feature in rules.tested_columns)
    wanted = [
        column
        for column in tested
        if column.name in found and not re.fullmatch(WANTED_TYPES[column.type][1], found[column.name])
    ]
    if not wanted:
        return ""
    read = ", ".join(f"{column.name!r} as {found[column.name]}" for column in wanted)
    return f": it reads {read}. {say_types(wanted)}"


def say_types(columns: Iterable[RuleColumn]) -> str:
    """Return how to load a CSV file so that DuckDB reads columns as the rules do."""
    types, formats = {}, []
    for column in columns:
        types[column.name] = "VARCHAR" if column.format else WANTED_TYPES[column.type][0]
        if column.dates and column.type == "date":
            types[column.name] = "DATE"
        if column.dates:
            formats.append(f"{'dateformat' if column.type == 'date' else 'timestampformat'}={column.dates!r}")
    options = [f"types={types!r}", *dict.fromkeys(formats)]
    return f"Specify the types when you load it: read_csv(…, {', '.join(options)})"

"""Every form of the rules against the tree, row by row.

The tree in `RuleSet.nodes` is walked here, node by node; `RuleSet.assign`, the emitted Python and the emitted
SQL, executed, have to give each row the same cluster. Besides the rows of a table these are rows on
every threshold and next to it, with missing values, and with infinities.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import count
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, MissingExtraError, check_choice
from shallowrules.exporters import export
from shallowrules.exporters.sql import STYLES, cluster_predicates
from shallowrules.labels import NO_CLUSTER
from shallowrules.rules import Between, ConditionVisitor, Cut, Leaf, NoneOf, OneOf, Rule, RuleColumn, RuleSet
from shallowrules.table import Column, Table
from shallowrules.tree import compare

__all__ = ["DIALECTS", "Comparison", "Difference", "boundary_table", "verify", "walk"]

DIALECTS = ("duckdb", "sqlite")
"""The SQL dialects whose engines can be run here."""

UNMATCHED = NO_CLUSTER

SQLITE_TYPES = {"integer": "INTEGER", "float": "REAL", "text": "TEXT", "boolean": "INTEGER"}

INFINITIES = ("inf", "+Inf", "-INF", "Infinity", "-infinity")

NO_NUMBERS = ("+-1", "1_0", "--1", "0x10", "5\n", "\t1", "1e", "+.e5")
"""Texts that an engine's own cast may take for a number, and the rules do not."""

INT64 = np.iinfo(np.int64)
TABLE = "data"
ROW_NUMBER = "row number in shallowrules"
CLUSTER = "cluster in shallowrules"


@dataclass(frozen=True)
class Difference:
    """The first row that a form gives another cluster than the tree does; None is no cluster.

    `origin` says which row it is, `values` what it holds in the tested columns.
    """

    origin: str
    values: dict[str, Any]
    expected: int | None
    found: int | None


@dataclass(frozen=True)
class Comparison:
    """How one form of the rules did.

    `rows` are those compared, `disagreements` those with another cluster than the tree's.
    """

    form: str
    rows: int
    disagreements: int
    first: Difference | None


def verify(
    rules: RuleSet, table: Any, dialects: Sequence[str] = DIALECTS, relation: str | None = None
) -> Iterator[Comparison]:
    """Compare every form of the rules with the tree, one at a time.

    Parameters
    ----------
    rules : RuleSet
    table : Table or anything `Table.of` takes
        Rows to compare on, besides those of `boundary_table`.
    dialects : sequence of str
        Of `DIALECTS`: the SQL to execute.
    relation : str, optional
        What DuckDB reads the same rows from by itself, such as ``read_csv('customers.csv')``. The SQL of that
        dialect is run on it too.

    Yields
    ------
    Comparison
        Of ``RuleSet.assign``, the emitted Python, each style of SQL in each dialect, and SQL on the relation.

    Raises
    ------
    DataError
        If the table lacks a tested column, or it holds values of another type than the rules compare.
    OptionError
        If a dialect cannot be executed here.
    MissingExtraError
        If its engine is not installed.
    """
    dialects = [check_choice("dialect to verify", dialect, DIALECTS) for dialect in dialects]
    table = Table.of(table, names=[column.name for column in rules.columns])
    table = table.select([rules.columns[feature].name for feature in rules.tested_columns])
    boundary = boundary_table(rules)
    tables = [("row", table), ("boundary row", boundary)]
    if any(column.values.dtype == np.float32 for column in table.columns):
        tables.append(("boundary row in single precision", _single(boundary)))
    if any(rules.columns[feature].from_text for feature in rules.tested_columns):
        tables.append(("boundary row as text", _boundary_texts(rules)))
    parts = [_Part(name, part, walk(rules, part)) for name, part in tables if part.n_rows]

    yield _compare("RuleSet.assign", parts, [rules.assign(part.table) for part in parts])
    assign = _emitted_python(rules)
    yield _compare("Python", parts, [assign(part.table) for part in parts])
    no_numbers = _no_numbers(rules)
    if no_numbers.n_rows:  # the other forms raise an error
        unmatched = np.full(no_numbers.n_rows, UNMATCHED, dtype=np.int64)
        parts.append(_Part("row with a text that is no number", no_numbers, unmatched))
    for dialect in dialects:
        with ExitStack() as databases:
            run = _run_duckdb if dialect == "duckdb" else _run_sqlite
            queries = [databases.enter_context(run(part.table)) for part in parts]
            for style in STYLES:
                label = _labeller(rules, dialect, style)
                found = [label(query, part.table.n_rows) for query, part in zip(queries, parts, strict=True)]
                yield _compare(f"SQL, {dialect}, {style}", parts, found)
    if relation is not None and "duckdb" in dialects and table.n_rows:
        rows = _Part("row", table, parts[0].expected)
        yield _compare("SQL, duckdb, on the file itself", [rows], [_labels_of_file(rules, relation, table.n_rows)])


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows to compare on, what to call one of them, and the clusters that the tree gives them."""

    name: str
    table: Table
    expected: NDArray[np.int64]


def _compare(form: str, parts: Sequence[_Part], labels: Sequence[NDArray[np.int64]]) -> Comparison:
    disagreements, first = 0, None
    for part, found in zip(parts, labels, strict=True):
        differing = np.flatnonzero(found != part.expected)
        disagreements += len(differing)
        if first is None and len(differing):
            row = int(differing[0])
            [values] = _python_rows(part.table.take(differing[:1]))
            first = Difference(
                f"{part.name} {row + 1}",
                dict(zip(part.table.names, values, strict=True)),
                _cluster(part.expected[row]),
                _cluster(found[row]),
            )
    return Comparison(form, sum(part.table.n_rows for part in parts), disagreements, first)


def _cluster(label: np.int64) -> int | None:
    return None if label == UNMATCHED else int(label)


def _python_rows(table: Table) -> Iterator[tuple[Any, ...]]:
    """Return the rows as Python values, None where a value is missing beyond NaN."""
    if not table.columns:
        return iter([()] * table.n_rows)
    columns = []
    for column in table.columns:
        values: list[Any] = column.values.tolist()
        if column.missing is not None:
            for row in np.flatnonzero(column.missing):
                values[row] = None
        columns.append(values)
    return zip(*columns, strict=True)


def walk(rules: RuleSet, table: Table) -> NDArray[np.int64]:
    """Return the cluster of the leaf that each row reaches, -1 where a tested value is missing."""
    labels = np.full(table.n_rows, UNMATCHED, dtype=np.int64)
    read: dict[int, Column] = {}
    pending = [(0, np.arange(table.n_rows))]
    while pending:
        index, rows = pending.pop()
        node = rules.nodes[index]
        if isinstance(node, Leaf):
            labels[rows] = node.cluster
            continue
        wanted = rules.columns[node.column]
        if node.column not in read:
            read[node.column] = wanted.read(table[wanted.name])
        column = read[node.column]
        rows = rows[~column.absent[rows]]
        if isinstance(node, Cut):
            goes_left, goes_right = compare(column.numbers()[rows], node.threshold)
        else:
            goes_left = column.positions(node.values)[rows] >= 0
            goes_right = ~goes_left
        pending += [(node.left, rows[goes_left]), (node.right, rows[goes_right])]
    return labels


# Rows that are hard -------------------------------------------------------------------------------


def boundary_table(rules: RuleSet) -> Table:
    """Return rows around the box of every rule, in the tested columns.

    From a row inside the box: each threshold of the rule and the two numbers next to it, and in each column
    of the rule NULL, NaN and both infinities (for whole numbers the ends of 64 bits). Of a text each
    category of the rule, a text that no row had, the empty one, and what a collation takes for the category:
    in other capitals, with a blank or an accent more.
    """
    tested = rules.tested_columns
    rows = [row for rule in rules for row in _around(rules, rule, _Hard())]
    columns = [_column(rules.columns[feature], [row[feature] for row in rows]) for feature in tested]
    return Table(tuple(columns), len(rows) if tested else 0)


def _boundary_texts(rules: RuleSet) -> Table:
    """Return the finite rows of `boundary_table` as a reader gives them that does not know how to convert text.

    There are infinities by their names, and in columns of whole numbers fractions and other ways to write a number.
    """
    hard = _HardTexts(rules)
    rows = [row for rule in rules for row in _around(rules, rule, hard)]
    converted = [feature for feature in rules.tested_columns if rules.columns[feature].from_text]
    return _text_table(rules, [row for row in rows if all(_is_finite(row[feature]) for feature in converted)])


def _no_numbers(rules: RuleSet) -> Table:
    """Return a row in the box of every rule for each text of `NO_NUMBERS` in each column that it reads from text.

    Columns with an imputed value are left out: SQL takes for missing what it cannot read.
    """
    rows: list[dict[int, Cell]] = []
    for rule in rules:
        inside = _inside(rules, rule)
        for condition in rule.conditions:
            if condition.column.from_text and condition.column.imputed is None:
                rows += [{**inside, condition.feature: text} for text in NO_NUMBERS]
    return _text_table(rules, rows)


def _text_table(rules: RuleSet, rows: Sequence[dict[int, Cell]]) -> Table:
    """Return rows whose columns that are read from text are text, by the conversion of each."""
    columns = []
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        values = [row[feature] for row in rows]
        if column.from_text:
            texts = np.array([_spell(column, value) for value in values], dtype=object)
            columns.append(Column(column.name, "text", texts))
        else:
            columns.append(_column(column, values))
    return Table(tuple(columns), len(rows))


def _column(column: RuleColumn, values: Sequence[Cell]) -> Column:
    """Return values as a column of the type that the rules compare."""
    if not column.is_numeric:
        return Column(column.name, column.type, np.array(values, dtype=object))
    missing = np.array([value is None for value in values], dtype=bool)
    dtype = np.int64 if column.type == "integer" else np.float64
    filled = np.array([0 if value is None else value for value in values], dtype=dtype)
    return Column(column.name, column.type, filled, missing if missing.any() else None)


def _is_finite(value: Cell) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _spell(column: RuleColumn, value: Cell) -> str | None:
    """Return a number as it may stand in a file, or a word for "no value"."""
    if value is None:
        words = column.conversion.words
        return f" {words[0]} " if words else None
    return f" {value}".replace(".", column.conversion.decimal)


Cell = int | float | str | bool | None


def _inside(rules: RuleSet, rule: Rule) -> dict[int, Cell]:
    """Return a row inside the box of a rule, in the tested columns."""
    within = _Within()
    inside: dict[int, Cell] = {}
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        inside[feature] = within(Between(feature, column) if column.is_numeric else NoneOf(feature, column, ()))
    for condition in rule.conditions:
        inside[condition.feature] = within(condition)
    return inside


def _around(rules: RuleSet, rule: Rule, hard: _Hard) -> Iterator[dict[int, Cell]]:
    inside = _inside(rules, rule)
    yield inside
    for condition in rule.conditions:
        yield from ({**inside, condition.feature: value} for value in hard(condition))


class _Within(ConditionVisitor[Cell]):
    """A value that meets a condition, as far as 64 bits and the categories can hold one."""

    def between(self, condition: Between) -> Cell:
        """Return the upper bound, else the number next to the lower one, else the smallest."""
        column, lower, upper = condition.column, condition.lower, condition.upper
        if column.type == "integer":
            smallest = int(cast(int, column.minimum)) if lower is None else int(lower) + 1
            return max(INT64.min, min(smallest if upper is None else int(upper), INT64.max))
        if upper is not None:
            return float(upper)
        return float(cast(float, column.minimum)) if lower is None else math.nextafter(lower, math.inf)

    def one_of(self, condition: OneOf) -> Cell:
        """Return the first of the categories."""
        return next(iter(condition.values), "no such category")

    def none_of(self, condition: NoneOf) -> Cell:
        """Return the column's first category that is not among them."""
        others = (value for value in condition.column.values if value not in condition.values)
        return next(others, "no such category")


class _Hard(ConditionVisitor[list[Cell]]):
    """Values on the edge of a condition, and those that engines take for others."""

    def between(self, condition: Between) -> list[Cell]:
        """Return each bound and its neighbours, missing values and the ends of the type."""
        bounds = [bound for bound in (condition.lower, condition.upper) if bound is not None]
        hard: list[Cell]
        if condition.column.type == "integer":
            near = [int(bound) + step for bound in bounds for step in (-1, 0, 1)]
            hard = [None, INT64.min, INT64.max, *(value for value in near if INT64.min <= value <= INT64.max)]
        else:
            hard = [None, math.nan, -math.inf, math.inf]
            for bound in bounds:
                hard += [math.nextafter(bound, -math.inf), float(bound), math.nextafter(bound, math.inf)]
        return [*hard, *condition.column.conversion.null_numbers]

    def one_of(self, condition: OneOf) -> list[Cell]:
        """Return the categories and texts that resemble them."""
        return self._around(condition)

    def none_of(self, condition: NoneOf) -> list[Cell]:
        """Return the categories and texts that resemble them."""
        return self._around(condition)

    def _around(self, condition: OneOf | NoneOf) -> list[Cell]:
        if condition.column.type == "boolean":
            return [None, True, False]
        return [None, "", *condition.column.nulls, *_similar(cast(tuple[str, ...], condition.values))]


class _HardTexts(_Hard):
    """Such values for columns that are text, where infinity has many names, and whole numbers may have fractions."""

    def __init__(self, rules: RuleSet) -> None:
        numbers: dict[int, set[float]] = {}
        for node in rules.nodes:
            if isinstance(node, Cut):
                column = rules.columns[node.column]
                numbers.setdefault(node.column, {*column.conversion.null_numbers}).add(node.threshold)
        # Beside a fraction, NumPy takes whole numbers for floats, so that those beyond 2**53 lose their neighbours.
        self.fractional = {
            feature for feature, found in numbers.items() if all(abs(number) < 2**53 for number in found)
        }

    def between(self, condition: Between) -> list[Cell]:
        """Return infinities, and fractions on both sides of each bound, too."""
        hard = super().between(condition)
        column = condition.column
        is_fractional = condition.feature in self.fractional
        if column.type == "integer" and column.from_text and is_fractional:
            for bound in (condition.lower, condition.upper):
                if bound is not None:
                    hard += [bound - 0.5, bound + 0.4, bound + 0.6, f"{bound}.0", f"{bound}e0", "1e200", "-1e200"]
        if column.from_text and (column.type == "float" or is_fractional):
            hard += INFINITIES
        return hard


def _similar(values: Sequence[str]) -> Iterator[str]:
    """Give categories, and texts that a collation or a careless comparison takes for them."""
    for value in values:
        yield from (value, value.swapcase(), value + " ", " " + value, value + "\u0301", value + "x", value[:-1])


def _single(boundary: Table) -> Table:
    """Return the rows as a column of single-precision floats can hold them."""
    columns = []
    for column in boundary.columns:
        values = column.values
        if column.type == "float":
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        columns.append(Column(column.name, column.type, values, column.missing))
    return Table(tuple(columns), boundary.n_rows)


# The forms, executed ------------------------------------------------------------------------------


def _emitted_python(rules: RuleSet) -> Callable[[Table], NDArray[np.int64]]:
    """Return what the emitted module says of a table's rows."""
    namespace: dict[str, Any] = {"__name__": "emitted_rules"}
    exec(compile(export(rules, "python"), "<emitted rules>", "exec"), namespace)
    assign_cluster = namespace["assign_cluster"]

    def assign(table: Table) -> NDArray[np.int64]:
        found = (assign_cluster(dict(zip(table.names, row, strict=True))) for row in _python_rows(table))
        return np.fromiter((UNMATCHED if label is None else label for label in found), np.int64, table.n_rows)

    return assign


Query = Callable[[str], list[tuple[Any, ...]]]


def _labeller(rules: RuleSet, dialect: str, style: str) -> Callable[[Query, int], NDArray[np.int64]]:
    """Return what asks an engine for the cluster that SQL of one style gives each of several rows."""
    if style == "where":
        predicates = cluster_predicates(rules, dialect=dialect)
        return lambda query, n_rows: _labels_by_predicate(predicates, query, n_rows)
    text = export(rules, "sql", dialect=dialect, style=style, table=[TABLE], cluster_column=CLUSTER)
    labelled = text if style == "select" else f'SELECT *, {text}\nAS "{CLUSTER}" FROM {TABLE}'
    selected = f'SELECT "{ROW_NUMBER}", "{CLUSTER}" FROM ({labelled}\n) AS labelled'

    def label(query: Query, n_rows: int) -> NDArray[np.int64]:
        labels = np.full(n_rows, UNMATCHED, dtype=np.int64)
        for row, cluster in query(selected):
            if cluster is not None:
                labels[row] = cluster
        return labels

    return label


def _labels_by_predicate(predicates: Mapping[int, str], query: Query, n_rows: int) -> NDArray[np.int64]:
    """Return the cluster whose predicate each row meets; where there are several, a number that no cluster has."""
    ambiguous = next(number for number in count(-2, -1) if number not in predicates)
    labels = np.full(n_rows, UNMATCHED, dtype=np.int64)
    for cluster, predicate in predicates.items():
        rows = np.array(query(f'SELECT "{ROW_NUMBER}" FROM {TABLE} WHERE {predicate}'), dtype=np.int64).ravel()
        labels[rows] = np.where(labels[rows] == UNMATCHED, cluster, ambiguous)
    return labels


def _labels_of_file(rules: RuleSet, relation: str, n_rows: int) -> NDArray[np.int64]:
    """Return the cluster that emitted SQL gives each row of a file that DuckDB reads by itself."""
    duckdb = _import_duckdb()
    text = export(rules, "sql", dialect="duckdb", style="case")
    with duckdb.connect() as database:
        try:
            found = database.execute(f"SELECT {text} FROM {relation}").fetchall()
        except duckdb.Error as error:
            raise DataError(f"DuckDB cannot run the rules on the file as it reads it: {error}") from error
    if len(found) != n_rows:
        raise DataError(f"DuckDB finds {len(found)} rows in the file where {n_rows} were read")
    return np.array([UNMATCHED if label is None else label for (label,) in found], dtype=np.int64)


def _import_duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("verifying the SQL of dialect 'duckdb'", "duckdb", "cli") from None
    return duckdb


@contextmanager
def _run_duckdb(table: Table) -> Iterator[Query]:
    """Load a table into an embedded DuckDB, every column in its own type."""
    duckdb = _import_duckdb()
    arrays: dict[str, NDArray[Any]] = {"number": np.arange(table.n_rows)}
    selected = [f'number AS "{ROW_NUMBER}"']
    for j, column in enumerate(table.columns):
        if not column.is_numeric:
            objects = column.values.astype(object)
            objects[column.absent] = None
            arrays[f"value{j}"] = objects
            kind = "BOOLEAN" if column.type == "boolean" else "VARCHAR"
            selected.append(f"CAST(value{j} AS {kind}) AS {_quoted(column.name)}")
            continue
        values = np.ascontiguousarray(column.values)
        arrays[f"value{j}"] = values
        cases = ""
        if column.missing is not None:
            arrays[f"null{j}"] = column.missing
            cases += f"WHEN null{j} THEN NULL "
        if values.dtype.kind == "f":
            # NaN in an array arrives as NULL.
            arrays[f"nan{j}"] = np.isnan(values)
            cases += f"WHEN nan{j} THEN CAST('NaN' AS {'FLOAT' if values.dtype == np.float32 else 'DOUBLE'}) "
        value = f"CASE {cases}ELSE value{j} END" if cases else f"value{j}"
        selected.append(f"{value} AS {_quoted(column.name)}")
    with duckdb.connect() as database:
        database.register("arrays", arrays)
        database.execute(f"CREATE TABLE {TABLE} AS SELECT {', '.join(selected)} FROM arrays")
        yield lambda query: database.execute(query).fetchall()


@contextmanager
def _run_sqlite(table: Table) -> Iterator[Query]:
    """Load a table into an SQLite in memory."""
    with closing(sqlite3.connect(":memory:")) as database:
        columns = [f'"{ROW_NUMBER}" INTEGER']
        columns += [f"{_quoted(column.name)} {SQLITE_TYPES[column.type]}" for column in table.columns]
        database.execute(f"CREATE TABLE {TABLE} ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        rows = ((number, *row) for number, row in enumerate(_python_rows(table)))
        database.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", rows)
        yield lambda query: database.execute(query).fetchall()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""A CSV file as people load it, and the rules on the result.

`pandas.read_csv`, DuckDB's ``read_csv`` and SQLite's ``.import`` read the file with their defaults, except for a
delimiter other than a comma, and may change values on the way: a code loses its zeros, the word NA becomes a missing
value, an empty field an empty text. A form then gives the tree's label or a different one, or ends in an error.
"""

from __future__ import annotations

import csv
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, ExportError, MissingExtraError, counted
from shallowrules.exporters import export
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.sources import file_relation
from shallowrules.sources.engine import quote_name
from shallowrules.tables.conversion import PLAIN
from shallowrules.tables.dates import format_words
from shallowrules.tables.table import Table
from shallowrules.verification.comparing import Comparison, Failed, NotRun, python_rows
from shallowrules.verification.engines.duckdb import import_duckdb
from shallowrules.verification.parts import Part, compare_parts
from shallowrules.verification.runners.base import Labels
from shallowrules.verification.runners.frames import clusters_of_series, imported
from shallowrules.verification.runners.python import define
from shallowrules.verification.runners.sql import labels_of_file, say_types
from shallowrules.verification.walking import walk

__all__ = ["LOADERS", "CsvFile", "LoadingReport", "import_csv", "verify_loading"]

NUMPY = re.compile(r"np\.\w+\((.*?)\)")
"""How NumPy shows a number."""


@dataclass(frozen=True)
class CsvFile:
    """A CSV file in UTF-8.

    Parameters
    ----------
    path : str
    delimiter : str
        The character between its fields.
    told : bool
        Whether a person had to give it, so that every loader is given it.
    """

    path: str
    delimiter: str
    told: bool = False


@dataclass(frozen=True)
class Change:
    """A column whose values a loader changes so that rows get a different label.

    Attributes
    ----------
    column : RuleColumn
    row : int
        The first of these rows, from 1.
    written, loaded : object
        The file's text there, and the loaded value; None for no value.
    """

    column: RuleColumn
    row: int
    written: Any
    loaded: Any


@dataclass
class LoadingReport:
    """The results of the forms on a file that is loaded as people load it.

    Attributes
    ----------
    comparisons : list of Comparison
        Of each form that gave labels.
    remarks : list of str
        What a loader changes so that rows get another label, and what to do about it.
    failed : list of Failed
        The forms that end in an error, with the error and what to do about it.
    not_run : list of NotRun
        The loaders that are not installed, or do not load the file.
    """

    comparisons: list[Comparison] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)


@dataclass(frozen=True)
class Loaded:
    """A file that a loader has read, with the forms to run on it.

    Attributes
    ----------
    n_rows : int
    names : collection of str
        Of its columns.
    forms : mapping from str to callable
        Gives the clusters of the rows, by the name of the form.
    columns : callable
        Gives the values of a column of the rules, as the rules find them.
    """

    n_rows: int
    names: Collection[str]
    forms: Mapping[str, Callable[[], Labels]]
    columns: Callable[[RuleColumn], Any]


@dataclass(frozen=True)
class Rows:
    """The input of a comparison: rules, a file, and its rows with the clusters that the tree gives them."""

    rules: RuleSet
    file: CsvFile
    part: Part


@dataclass(frozen=True)
class Loader:
    """A way to load a file.

    Attributes
    ----------
    title : str
    exporters : tuple of str
        Whose forms it serves.
    dialect : str or None
        The dialect that has to be among those to run; None where its forms are not SQL.
    load : callable
        Loads a file, for as long as a context lasts.
    advise : callable
        Returns the way to load a file without some changes, as a sentence.
    """

    title: str
    exporters: tuple[str, ...]
    dialect: str | None
    load: Callable[[RuleSet, CsvFile, Answers], AbstractContextManager[Loaded]]
    advise: Callable[[CsvFile, Sequence[Change]], str]


def verify_loading(
    rules: RuleSet, table: Table, file: CsvFile, answers: Answers, exporters: Collection[str], dialects: Collection[str]
) -> LoadingReport:
    """Compare the forms that people run on a loaded CSV file with the tree, for one loader after another.

    Parameters
    ----------
    rules : RuleSet
    table : Table
        The rows of the file, with the tested columns as they were read.
    file : CsvFile
    answers : Answers
        What SQL gives a row.
    exporters, dialects : collection of str
        Those whose forms are to be run.
    """
    report = LoadingReport()
    if not table.n_rows:
        return report
    table = table.select([rules.columns[feature].name for feature in rules.tested_columns])
    part = Part("row", table, walk(rules, table))
    for loader in LOADERS:
        if not set(loader.exporters) & set(exporters) or (
            loader.dialect is not None and loader.dialect not in dialects
        ):
            continue
        try:
            with loader.load(rules, file, answers) as loaded:
                _check_shape(loaded, part.table)
                _compare(loader, loaded, Rows(rules, file, part), answers, report)
        except (MissingExtraError, ExportError) as error:
            report.not_run.append(NotRun(loader.title, str(error)))
        except DataError as error:
            report.not_run.append(NotRun(loader.title, f"it does not load the file: {error}"))
    return report


def _check_shape(loaded: Loaded, table: Table) -> None:
    """Raise DataError unless a loaded file has the rows and columns that were read."""
    lacking = [name for name in table.names if name not in loaded.names]
    if lacking:
        raise DataError(f"the loaded table has no column {lacking[0]!r}")
    if loaded.n_rows != table.n_rows:
        raise DataError(f"it finds {counted(loaded.n_rows, 'row')}, and the file has {table.n_rows:,}")


def _compare(loader: Loader, loaded: Loaded, rows: Rows, answers: Answers, report: LoadingReport) -> None:
    """Run the forms on a loaded file, and report how they did."""
    differing = np.zeros(rows.part.table.n_rows, dtype=bool)
    errors: dict[str, list[str]] = {}
    for form, label in loaded.forms.items():
        try:
            labels = label()
        except Exception as error:  # any error of the user's loader
            message = NUMPY.sub(r"\1", str(error).strip()) or type(error).__name__
            errors.setdefault(message, []).append(form)
            continue
        differing |= labels != rows.part.expected
        report.comparisons.append(compare_parts(form, [rows.part], [labels], answers))
    for message, forms in errors.items():
        changes = _changes(loaded, rows, np.ones_like(differing))
        advice = loader.advise(rows.file, changes) if changes else ""
        said = message if advice in message else f"{message}. {advice}"
        report.failed += [Failed(form, DataError(said)) for form in forms]
    if not differing.any():
        return
    n_rows = counted(int(np.count_nonzero(differing)), "row")
    changes = _changes(loaded, rows, differing)
    for change in changes:
        report.remarks.append(
            f"{loader.title} changes column {change.column.name!r}: {_shown(change.written)} in row {change.row:,} "
            f"becomes {_shown(change.loaded)}"
        )
    if changes:
        report.remarks.append(f"this gives {n_rows} a different label. {loader.advise(rows.file, changes)}")
    elif unread := _unread(rows.rules):
        report.remarks += [
            f"this gives {n_rows} a different label: {loader.title} leaves column {words}" for words in unread
        ]
    else:
        report.remarks.append(f"{loader.title} changes no value of the {n_rows} that get a different label")


def _unread(rules: RuleSet) -> list[str]:
    """Return for each tested column whose text SQL does not read as the rules do: its name, why, and what to do."""
    found = []
    for column in (rules.columns[feature] for feature in rules.tested_columns):
        if column.dates:
            why, wanted = f"written as {format_words(column.dates)}, and SQL reads only dates", "a date"
        elif column.codes:
            why, wanted = "and SQL reads a text as a code only if it is written plainly, as '3'", "a whole number"
        elif not column.conversion.is_for_sql:
            why, wanted = f"written as {column.format}, and SQL reads only numbers", "a number"
        else:
            continue
        found.append(f"{column.name!r} as text, {why}: make it {wanted} in the table")
    return found


def _is_read_as_text(column: RuleColumn) -> bool:
    """Return whether the rules need the text of a column, and convert it themselves where it is a number."""
    return column.type == "text" or bool(column.format)


def _shown(value: Any) -> str:
    return "no value" if value is None else repr(value)


def _changes(loaded: Loaded, rows: Rows, chosen: NDArray[np.bool_]) -> list[Change]:
    """Return the first change of each tested column in some rows."""
    changes = []
    places, table = np.flatnonzero(chosen), rows.part.table
    for feature in rows.rules.tested_columns:
        column = rows.rules.columns[feature]
        written = Table((table[column.name],), table.n_rows).take(places)
        values = Table.of({column.name: loaded.columns(column)}).take(places)
        first = _first_difference(column, written, values)
        if first is None:
            continue
        [(before,)] = python_rows(written.take(np.array([first])))
        [(after,)] = python_rows(values.take(np.array([first])))
        after = None if after is None or after != after else after
        changes.append(Change(column, int(places[first]) + 1, before, after))
    return changes


def _first_difference(column: RuleColumn, written: Table, loaded: Table) -> int | None:
    """Return the first row in which the rules find another value, None if there is none."""
    given = written.columns[0]
    told = column.read(given)
    try:
        found = column.read(loaded.columns[0])
    except DataError:  # of a different type: that of all values
        present = np.flatnonzero(~told.absent)
        return int(present[0]) if len(present) else 0
    differs = told.absent != found.absent
    both = ~told.absent & ~found.absent
    differs[both] = told.values.astype(object)[both] != found.values.astype(object)[both]
    return int(np.argmax(differs)) if differs.any() else None


# pandas --------------------------------------------------------------------------------------------


@contextmanager
def _load_by_pandas(rules: RuleSet, file: CsvFile, answers: Answers) -> Iterator[Loaded]:
    pandas = imported("pandas")
    options = {} if file.delimiter == "," else {"sep": file.delimiter}
    try:
        frame = pandas.read_csv(file.path, **options)
    except Exception as error:  # DuckDB has its own error for every fault of a file
        raise DataError(str(error).strip().splitlines()[0]) from error
    names = [name for name in (rules.columns[f].name for f in rules.tested_columns) if name in frame]

    def by_frame() -> Labels:
        return clusters_of_series(Answers(rules), define(export(rules, "pandas"))["assign_cluster"](frame))

    def by_row() -> Labels:
        assign_cluster = define(export(rules, "python"))["assign_cluster"]
        found = (assign_cluster(row) for row in frame[names].to_dict("records"))
        labels = map(Answers(rules).cluster, found)
        return np.fromiter(labels, np.int64, len(frame)) if names else np.array(list(labels), np.int64)

    def by_arrays() -> Labels:
        assign_clusters = define(export(rules, "python", vectorized=True))["assign_clusters"]
        return assign_clusters({name: frame[name].to_numpy() for name in names})  # type: ignore[no-any-return]

    forms = {"pandas": by_frame, "Python, flat": by_row, "Python, vectorized": by_arrays}
    said = {f"{form}, after pandas.read_csv": label for form, label in forms.items()}
    yield Loaded(len(frame), set(frame.columns), said, lambda column: frame[column.name])


def _advise_pandas(file: CsvFile, changes: Sequence[Change]) -> str:
    options = []
    if file.delimiter != ",":
        options.append(f"sep={file.delimiter!r}")
    if texts := {change.column.name: "str" for change in changes if _is_read_as_text(change.column)}:
        options.append(f"dtype={{{', '.join(f'{name!r}: {kind}' for name, kind in texts.items())}}}")
    if any(change.loaded is None and change.written is not None for change in changes):
        options.append("keep_default_na=False, na_values=['']")
    if any(change.column.is_numeric and not (change.column.is_time or change.column.format) for change in changes):
        options.append("float_precision='round_trip'")
    return f"Load it by pandas.read_csv({', '.join([repr(os.path.basename(file.path)), *options])})"


# DuckDB --------------------------------------------------------------------------------------------


@contextmanager
def _load_by_duckdb(rules: RuleSet, file: CsvFile, answers: Answers) -> Iterator[Loaded]:
    duckdb = import_duckdb()
    relation = file_relation(file.path, file.delimiter if file.told else None)
    with duckdb.connect() as database:
        try:
            names = [name for name, *_ in database.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()]
            [(n_rows,)] = database.execute(f"SELECT count(*) FROM {relation}").fetchall()
        except duckdb.Error as error:
            raise DataError(str(error).strip().splitlines()[0]) from error

        def values(column: RuleColumn) -> list[Any]:
            return [value for (value,) in database.sql(f"SELECT {quote_name(column.name)} FROM {relation}").fetchall()]

        label = partial(labels_of_file, rules, str(relation), n_rows, answers)
        yield Loaded(n_rows, names, {"SQL, duckdb, on the file itself": label}, values)


def _advise_duckdb(file: CsvFile, changes: Sequence[Change]) -> str:
    return say_types(change.column for change in changes)


# SQLite --------------------------------------------------------------------------------------------

TABLE = "data"


def import_csv(database: sqlite3.Connection, file: CsvFile) -> list[str]:
    """Load a file as ``.import`` of SQLite's shell does in ``.mode csv``, and return the names of the columns.

    The first line names them, and all are TEXT. An empty field is an empty text; a line that is too short is padded
    with NULL, and one that is too long is cut off.
    """
    try:
        with open(file.path, encoding="utf-8-sig", newline="") as stream:
            rows = csv.reader(stream, delimiter=file.delimiter)
            names = next(rows, [])
            columns = ", ".join(f"{quote_name(name)} TEXT" for name in names)
            database.execute(f"CREATE TABLE {TABLE} ({columns})")
            width = len(names)
            filled = ((row + [None] * width)[:width] for row in rows if row)
            database.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join('?' * width)})", filled)
    except (sqlite3.Error, csv.Error, UnicodeError) as error:
        raise DataError(str(error)) from error
    return names


@contextmanager
def _load_by_sqlite(rules: RuleSet, file: CsvFile, answers: Answers) -> Iterator[Loaded]:
    text = export(rules, "sql", dialect="sqlite", style="case", **answers.options)
    with closing(sqlite3.connect(":memory:")) as database:
        names = import_csv(database, file)
        [(n_rows,)] = database.execute(f"SELECT count(*) FROM {TABLE}").fetchall()

        def label() -> Labels:
            found = database.execute(f"SELECT {text} FROM {TABLE} ORDER BY rowid")
            return np.fromiter((answers.cluster(answer) for (answer,) in found), np.int64, n_rows)

        def values(column: RuleColumn) -> list[Any]:
            found = database.execute(f"SELECT {quote_name(column.name)} FROM {TABLE} ORDER BY rowid")
            texts = [value for (value,) in found]
            if column.is_numeric and not column.is_time and not column.from_text:
                return [PLAIN.read(text) for text in texts]  # which the SQL compares
            no_value = column.type == "boolean" and column.imputed is None  # to the SQL, as it is not a truth value
            return [text or None for text in texts] if no_value else texts

        yield Loaded(n_rows, names, {"SQL, sqlite, after .import": label}, values)


def _advise_sqlite(file: CsvFile, changes: Sequence[Change]) -> str:
    updates = "; ".join(
        f"UPDATE {TABLE} SET {quote_name(change.column.name)} = NULL WHERE {quote_name(change.column.name)} = ''"
        for change in changes
    )
    return f"Make the empty texts NULL once the table is loaded: {updates}"


LOADERS = (
    Loader("pandas.read_csv", ("python", "pandas"), None, _load_by_pandas, _advise_pandas),
    Loader("DuckDB's read_csv", ("sql",), "duckdb", _load_by_duckdb, _advise_duckdb),
    Loader("SQLite's .import", ("sql",), "sqlite", _load_by_sqlite, _advise_sqlite),
)

"""Every form of the rules against the tree, on the rows of a file.

`RuleSet.assign` and the output of the exporters, run by engines on this machine, have to give each row the cluster that
the tree gives it. Besides the rows of a table, these include rows on every threshold and next to it, with missing
values, and with infinities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from shallowrules.errors import EngineError, ExportError, MissingExtraError, OptionError, check_choice
from shallowrules.exporters import InstalledExporter, export, exporter_names, installed_exporters
from shallowrules.exporters.sql import ALIASES
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleSet
from shallowrules.rules.boundary import boundary_table, boundary_texts, in_single_precision, texts_without_number
from shallowrules.rules.reading import code_numbers, read_numbers, read_times, stray_codes
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table
from shallowrules.tables.times import TIME_TYPES
from shallowrules.verification.comparing import NO_ANSWER, SEVERAL, Comparison, Failed, NotRun
from shallowrules.verification.engines import ENGINES, Engine
from shallowrules.verification.parts import Part, compare_parts
from shallowrules.verification.runners import RUNNERS, SQL_RUNNERS, cannot_be_run
from shallowrules.verification.runners.base import EngineLabeller
from shallowrules.verification.runners.sql import TABLE, NotLoadedError, create_table, held_by, labels_of_file
from shallowrules.verification.walking import walk

__all__ = ["DEFAULT_DIALECTS", "DIALECTS", "verify"]

DIALECTS = tuple(ENGINES)
"""The SQL dialects whose engines can be run here, if they are installed."""

DEFAULT_DIALECTS = ("duckdb", "sqlite")
"""The dialects that are run unless others are asked for."""


def verify(
    rules: RuleSet,
    table: Any,
    dialects: Sequence[str] | None = None,
    relation: str | None = None,
    answers: Answers | None = None,
    *,
    exporters: Sequence[str] | None = None,
    on_not_run: Callable[[NotRun], object] | None = None,
    on_failed: Callable[[Failed], object] | None = None,
) -> Iterator[Comparison]:
    """Compare every form of the rules with the tree, one at a time.

    Parameters
    ----------
    rules : RuleSet
    table : Table or anything `Table.of` takes
        Rows to compare on, besides those of `boundary_table`.
    dialects : sequence of str
        Of `DIALECTS`, or other names of these: the SQL to execute; by default that of `DEFAULT_DIALECTS` in which the
        rules can be written. Rows that an engine cannot hold (infinity in MariaDB, a text with the character 0 in
        PostgreSQL) are left out there.
    relation : str, optional
        The expression from which DuckDB reads the same rows by itself, such as ``read_csv('customers.csv')``. The SQL
        of that dialect is run on it too.
    answers : Answers, optional
        The answer of SQL for a row; by default the number of its cluster, NULL where it has none.
    exporters : sequence of str, optional
        Names of those whose forms to run; by default all that are installed and can be run here.
    on_not_run : callable, optional
        Called with each form that was not run: where `exporters` is None that of an installed exporter, and
        where `dialects` is None the SQL of a dialect that cannot express the rules.
    on_failed : callable, optional
        Called with each form whose engine or compiler fails; the others are still compared. By default, the first
        error is raised.

    Yields
    ------
    Comparison
        Of ``RuleSet.assign``, each form that an exporter writes (a style of Python, the page in a browser), each form
        of SQL in each dialect, and SQL on the relation.

    Raises
    ------
    DataError
        If the table lacks a tested column, or it holds values of a different type than the rules compare.
    OptionError
        If a dialect cannot be executed here, an exporter named by `exporters` is not known or has nothing to run, or
        the value of `answers` for rows without a cluster is a cluster's.
    MissingExtraError
        If the engine of a dialect is not installed, or that of an exporter named by `exporters`.
    EngineError
        If it does not start, or refuses the SQL, and there is no `on_failed`.
    ExportError
        If SQL, or an exporter named by `exporters`, cannot express the rules.
    """
    by_default = dialects is None
    dialects = DEFAULT_DIALECTS if dialects is None else dialects
    dialects = [check_choice("dialect to verify", ALIASES.get(dialect, dialect), DIALECTS) for dialect in dialects]
    for dialect in dialects:
        ENGINES[dialect].check_installed()
    not_run: list[NotRun] = []
    chosen = _choose(exporters, not_run)
    answers = Answers(rules) if answers is None else answers
    for dialect in dialects if answers.otherwise is not None else ():
        export(rules, "sql", dialect=dialect, style="case", **answers.options)  # refused before any work
    table = Table.of(table, names=[column.name for column in rules.columns])
    table = table.select([rules.columns[feature].name for feature in rules.tested_columns])
    parts = _with_boundary(rules, table)

    yield compare_parts("RuleSet.assign", parts, [rules.assign(part.table) for part in parts])
    left_out = None if exporters is not None else not_run
    fail = _raise if on_failed is None else on_failed
    yield from _run_by_themselves(rules, parts, chosen, left_out, fail)
    run_in_databases = [name for name in SQL_RUNNERS if name in chosen]
    ran = not run_in_databases
    if run_in_databases:
        with_strays = _for_databases(rules, parts)
        lacking = not_run if by_default else left_out
        for dialect in dialects:
            for found in _run_in_dialect(
                rules, dialect, with_strays, answers, run_in_databases, lacking, required=not by_default
            ):
                ran = True
                if isinstance(found, Failed):
                    fail(found)
                else:
                    yield found
    if exporters is not None and not_run and not ran:
        raise ExportError(not_run[-1].reason)
    if relation is not None and "sql" in chosen and "duckdb" in dialects and table.n_rows:
        rows, form = Part("row", table, parts[0].expected), "SQL, duckdb, on the file itself"
        try:
            labels = labels_of_file(rules, relation, table.n_rows, answers)
            yield compare_parts(form, [rows], [labels], answers)
        except NotLoadedError as error:
            not_run.append(NotRun(form, str(error)))
    if on_not_run is not None:
        for each in not_run:
            on_not_run(each)


def _with_boundary(rules: RuleSet, table: Table) -> list[Part]:
    """Return the rows of a table, and those on thresholds and beside them, with the clusters that the tree gives."""
    boundary = boundary_table(rules)
    tables = [("row", table), ("boundary row", boundary)]
    if any(column.values.dtype == np.float32 for column in table.columns):
        tables.append(("boundary row in single precision", in_single_precision(boundary)))
    if any(rules.columns[feature].from_text for feature in rules.tested_columns):
        tables.append(("boundary row as text", boundary_texts(rules)))
    return [Part(name, part, walk(rules, part)) for name, part in tables if part.n_rows]


def _for_databases(rules: RuleSet, parts: Sequence[Part]) -> list[Part]:
    """Return the rows in databases' types, and rows with texts that are not numbers, at which other forms raise."""
    found = [_in_their_types(rules, part) for part in parts]
    no_numbers = texts_without_number(rules)
    if no_numbers.n_rows:
        unmatched = np.full(no_numbers.n_rows, NO_CLUSTER, dtype=np.int64)
        found.append(Part("row with a text that is not a number", no_numbers, unmatched))
    return found


def _in_their_types(rules: RuleSet, part: Part) -> Part:
    """Return rows with times in place of their texts, and numbers in place of texts that SQL does not convert.

    Databases have types of their own for times; for codes, SQL accepts only texts such as '3', and for formatted
    numbers not $3. Rows with a fraction that a column of whole numbers would round are left out.
    """
    columns = []
    held = np.ones(part.table.n_rows, dtype=bool)
    for column, feature in zip(part.table.columns, rules.tested_columns, strict=True):
        wanted, given = rules.columns[feature], column
        if column.type == "text" and wanted.type in TIME_TYPES:
            given = read_times(column, wanted.type, wanted.conversion)
        elif column.type == "text" and wanted.codes:
            given = code_numbers(column, wanted.conversion) if stray_codes(column, wanted.conversion).any() else column
        elif column.type == "text" and wanted.from_text and not wanted.conversion.is_for_sql:
            given = read_numbers(column, wanted.conversion, whole=wanted.is_whole)
            if given.type == "integer":
                held &= np.array([value % 1 == 0 for value in given.values.tolist()], dtype=bool)
        columns.append(given)
    return replace(part, table=Table(tuple(columns), part.table.n_rows)).chosen(held)


def _choose(exporters: Sequence[str] | None, not_run: list[NotRun]) -> list[str]:
    """Return the names of the exporters whose forms can be run; add the others to a list, or refuse those asked for."""
    for name in exporters or ():
        check_choice("exporter to verify", name, exporter_names(), option="exporters")
    chosen: list[str] = []
    for each in _installed(exporters):
        reason = cannot_be_run(each)
        if reason is None:
            chosen.append(each.name)
        elif exporters is None:
            not_run.append(NotRun(each.name, reason))
        else:
            raise OptionError(f"exporter {each.name!r} cannot be run: {reason}", option="exporters")
    return chosen


def _installed(exporters: Sequence[str] | None) -> list[InstalledExporter]:
    return [each for each in installed_exporters() if exporters is None or each.name in exporters]


def _raise(failed: Failed) -> None:
    raise failed.error


def _run_by_themselves(
    rules: RuleSet,
    parts: Sequence[Part],
    chosen: Sequence[str],
    not_run: list[NotRun] | None,
    fail: Callable[[Failed], object],
) -> Iterator[Comparison]:
    """Run the forms that need no database, of some exporters; `fail` is called with those that fail.

    One that cannot be run here is added to `not_run`; where that is None its error is raised.
    """
    answers = Answers(rules)
    for name, runner in RUNNERS.items():
        if name not in chosen:
            continue
        with ExitStack() as opened:
            try:
                forms = opened.enter_context(runner(rules))
            except (MissingExtraError, EngineError, ExportError) as error:
                if not_run is not None:
                    not_run.append(NotRun(name, str(error)))
                elif isinstance(error, EngineError):
                    fail(Failed(name, error))
                else:
                    raise
                continue
            for form, each in forms.items():
                held = parts if each.holds is None else [part.chosen(each.holds(part.table)) for part in parts]
                if not_run is not None and not any(part.table.n_rows for part in held):
                    not_run.append(NotRun(name, f"{form}: none of the rows asks it for a cluster"))
                    continue
                try:
                    labels = each.labels([part.table for part in held])
                except EngineError as error:
                    fail(Failed(form, error))
                else:
                    yield compare_parts(form, held, labels, answers)


def _run_in_dialect(
    rules: RuleSet,
    dialect: str,
    parts: Sequence[Part],
    answers: Answers,
    names: Sequence[str],
    not_run: list[NotRun] | None,
    *,
    required: bool,
) -> Iterator[Comparison | Failed]:
    """Start the engine of a dialect, and yield the result of `_run_in_database`; its failure ends it."""
    try:
        with ENGINES[dialect].open() as engine:
            yield from _run_in_database(rules, engine, parts, answers, names, not_run, required=required)
    except EngineError as error:
        yield Failed(f"SQL, {dialect}", error)


def _run_in_database(
    rules: RuleSet,
    engine: Engine,
    parts: Sequence[Part],
    answers: Answers,
    names: Sequence[str],
    not_run: list[NotRun] | None,
    *,
    required: bool,
) -> Iterator[Comparison | Failed]:
    """Compare each form of SQL with the tree, on the rows that an engine can hold.

    Unless it is required, SQL that its dialect cannot express is added to `not_run`, as other forms are.
    """
    parts = [part.chosen(held_by(engine, part.table)) for part in parts]
    labellers: dict[str, EngineLabeller] = {}
    for name in names:
        try:
            labellers |= SQL_RUNNERS[name](rules, engine, answers)
        except ExportError as error:
            if not_run is None or (name == "sql" and required):
                raise
            not_run.append(NotRun(name, f"{engine.dialect}: {error}"))
    if not labellers:
        return
    found: dict[str, list[Any]] = {form: [] for form in labellers}
    for part in parts:
        create_table(engine, part.table)
        for form in list(found):
            try:
                found[form].append(labellers[form](part.table.n_rows))
            except EngineError as error:
                del found[form]
                yield Failed(form, error)
        engine.drop(TABLE)
    for form, labels in found.items():
        foreign = SEVERAL if form.endswith(", where") else NO_ANSWER
        yield compare_parts(form, parts, labels, answers, foreign)

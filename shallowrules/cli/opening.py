"""The rows of a table, and which of their columns the options of a fit choose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shallowrules.cli.advice import Refusal, RefusedTable, refusals_of, remedy_of, worded
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.errors import DataError, Finding, OptionError
from shallowrules.files import Reading
from shallowrules.fitting.examining import Rows
from shallowrules.models.parameters import thread_count
from shallowrules.partitions import Partitions, ThreadedPartitions, WholeTable, open_partitions
from shallowrules.rules.reading import read_texts
from shallowrules.sources import Source, Where, open_source
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import DOUBLE_EXACT, Conversion
from shallowrules.tables.table import Table

__all__ = ["Opened", "open_rows"]


@dataclass(frozen=True, eq=False)
class Opened:
    """Rows as they are read, and the columns to cluster or explain by.

    `padded` are the columns whose whole numbers have leading zeros in the source, `nulls` the null markers that options
    give.
    """

    rows: Rows
    columns: tuple[str, ...]
    padded: set[str]
    nulls: tuple[str, ...]

    @cached_property
    def first(self) -> Table:
        """The rows of the first part; all rows of a table in memory."""
        return self.rows.first()


def open_rows(
    sources: ExitStack,
    where: Where,
    fit: FitOptions,
    reading: Reading,
    memory: int | None,
    refusals: list[Refusal],
) -> Opened:
    """Return the rows with the columns that the options choose; faults of these are added to the refusals."""
    named = _named_roles(fit)
    columns = _columns_to_read(fit, named)
    findings: list[Finding] = []
    rows: Rows | Partitions
    try:
        with worded():
            if memory is None:
                with open_source(where, reading) as source:
                    rows, padded = _whole(source, columns, fit, named, reading, findings)
            else:
                rows = sources.enter_context(
                    open_partitions(
                        list(where) if isinstance(where, tuple) else where,
                        columns=columns,
                        exclude=fit.exclude,
                        as_words=[] if fit.labels is None else [fit.labels],
                        findings=findings,
                        reading=reading,
                        memory=memory,
                        n_threads=thread_count(),
                    )
                )
                assert isinstance(rows, ThreadedPartitions)  # files and rows of a database are
                _check_chosen(fit, named, rows.types, rows.all_names)
                padded = rows.zero_padded()
    except DataError as error:
        if [finding.kind for finding in error.findings] not in (["encoding"], ["equal names"]):
            raise
        raise RefusedTable(str(error), error.findings, remedy_of(error.findings[0])) from error
    told = [
        finding for finding in findings if not (finding.kind == "nearly numeric" and finding.column in fit.categories)
    ]
    if memory is not None:  # a table in parts has no whole numbers as categories
        told = [replace(finding, distinct=None) for finding in told]
    refusals += refusals_of(told, rows.where, named)
    for name in (*named, *(fit.explain or ())):
        if name not in rows.types:
            message = f"{rows.where}: there is no column {name!r}; the columns are: {', '.join(map(repr, rows.names))}"
            raise DataError(message, findings=[Finding("missing column", message, name)])
    others = tuple(name for name in rows.names if name not in named)
    if not others:
        listed = " and ".join(f"the {what} {name!r}" for name, what in named.items())
        raise DataError(f"{rows.where} has no column besides {listed}")
    return Opened(rows, others, padded, tuple(reading.null))


def _whole(
    source: Source,
    columns: Sequence[str] | None,
    fit: FitOptions,
    named: Mapping[str, str],
    reading: Reading,
    findings: list[Finding],
) -> tuple[WholeTable, set[str]]:
    """Return the rows of a source in memory, and the columns whose whole numbers have leading zeros."""
    table = source.table(columns, fit.exclude, findings=findings)
    _check_chosen(fit, named, {column.name: column.type for column in table.columns}, source.names)
    padded = source.zero_padded() & {column.name for column in table.columns if column.type == "integer"}
    table = _with_categories(_as_written(source, table, padded & {*fit.categories}), fit.categories, named)
    if fit.labels is not None and fit.labels in table.names:
        labels = _labels_as_written(source, table[fit.labels], reading)
        table = replace(table, columns=tuple(labels if c.name == fit.labels else c for c in table.columns))
    # So that the checks need no separate pass.
    table.select([name for name in table.names if name not in named]).ranges()
    rows = WholeTable(table, str(source.provenance))
    rows.all_names, rows.format = list(dict.fromkeys(source.names)), source.provenance.kind
    rows.column_notes = source.column_notes
    return rows, padded


def _check_chosen(fit: FitOptions, named: Mapping[str, str], types: Mapping[str, str], names: Collection[str]) -> None:
    """Raise OptionError where options name columns that others exclude, or that are not numbers."""
    _refuse_excluded(fit, named, types, names)
    _refuse_no_numbers(fit, named, types)


def _named_roles(fit: FitOptions) -> dict[str, str]:
    """Return the columns of weights, labels and measure with their content; OptionError if also used otherwise."""
    roles = {"weights": fit.weight, "labels": fit.labels, "numbers to add up": fit.measure}
    named: dict[str, str] = {}
    for what, name in roles.items():
        if name in named:
            raise OptionError(f"column {name!r} cannot be both the {named[name]} and the {what}")
        if name is not None:
            named[name] = what
    for name in (*(fit.columns or ()), *(fit.explain or ()), *fit.exclude):
        if name in named:
            raise OptionError(f"column {name!r} has the {named[name]}: do not also use, explain or exclude it")
        if name in fit.exclude and name in (fit.explain or ()):
            raise OptionError(f"column {name!r} is in both --explain and --exclude; name it in one of them")
    return named


def _refuse_no_numbers(fit: FitOptions, named: Mapping[str, str], types: Mapping[str, str]) -> None:
    """Raise OptionError if --numbers names columns that are not numbers; `types` are those of the columns read."""
    for name in fit.numbers:
        _refuse_unread("--numbers", name, named, types)
        if name in fit.categories:
            raise OptionError(f"column {name!r} is in both --numbers and --categories; name it in one of them")
        if types[name] not in ("integer", "float"):
            raise OptionError(f"--numbers: column {name!r} was read as {types[name]}, which is not a quantity")


def _refuse_unread(option: str, name: str, named: Mapping[str, str], read: Collection[str]) -> None:
    """Raise OptionError unless a column that an option names is one of those read to cluster or explain by."""
    if name in named:
        raise OptionError(f"{option}: column {name!r} has the {named[name]}")
    if name not in read:
        raise OptionError(f"{option}: column {name!r} is not read; the columns are: {', '.join(read)}")


def _with_categories(table: Table, names: Sequence[str], named: Mapping[str, str]) -> Table:
    """Return the table with the whole numbers of some columns as categories."""
    for name in names:
        _refuse_unread("--categories", name, named, table.names)
        if table[name].is_time:
            raise OptionError(f"--categories: column {name!r} holds {table[name].nature}, which are not codes")
        if table[name].conversion.format:
            raise OptionError(
                f"--categories: column {name!r} is written as {table[name].conversion.format}: these are not codes"
            )
        _refuse_no_codes(table[name])
    return replace(
        table, columns=tuple(_as_category(column) if column.name in names else column for column in table.columns)
    )


def _refuse_no_codes(column: Column) -> None:
    """Raise OptionError if a column of numbers has one that is not a whole number, or that a double does not hold."""
    if not column.is_numeric:
        return
    values = np.where(column.absent, 0, column.values)
    doubles = values.astype(np.float64)
    for wrong, what, why in (
        (doubles != np.floor(doubles), "numbers with fractions", "codes are whole numbers"),
        (~(np.abs(doubles) < DOUBLE_EXACT), "large numbers", f"codes are below {DOUBLE_EXACT:,} (2**53)"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            raise OptionError(
                f"--categories: column {column.name!r} holds {what}, such as {values[row].item()!r} in row {row + 1}; "
                f"{why}"
            )


def _as_category(column: Column) -> Column:
    if not column.is_numeric:
        return replace(column, conversion=replace(column.conversion, decimal="."))
    return replace(column.number_texts(), conversion=replace(column.conversion, decimal=".", codes=True))


def _as_written(source: Source, table: Table, names: Set[str]) -> Table:
    """Return a table with some columns as text, as the source writes them, with leading zeros."""
    if not names:
        return table
    written = source.table(sorted(names), as_text=sorted(names))
    return replace(table, columns=tuple(written[c.name] if c.name in names else c for c in table.columns))


def _refuse_excluded(fit: FitOptions, named: Iterable[str], read: Collection[str], names: Collection[str]) -> None:
    """Raise OptionError if a pattern of --exclude matches one of the columns `names` that another option names."""
    for name in (*named, *(fit.explain or ())):
        if name in names and name not in read:
            raise OptionError(f"column {name!r} is excluded by --exclude and named by another option; choose one")


def _columns_to_read(fit: FitOptions, named: Iterable[str]) -> list[str] | None:
    """Return the columns that the options choose, and those named for weights, labels and measure; None for all."""
    columns = None
    if fit.columns is not None:
        columns = (*fit.columns, *(fit.explain or ()), *named)
    elif fit.explain is not None and fit.labels is not None:
        columns = (*fit.explain, *named)  # nothing is clustered
    return None if columns is None else list(dict.fromkeys(columns))


def _labels_as_written(source: Source, labels: Column, reading: Reading) -> Column:
    """Return labels as they are in the source: a CSV file's words for truth values stay words."""
    if labels.type != "boolean":
        return labels
    told = Conversion(nulls=tuple(token.strip(" ") for token in reading.null))
    return read_texts(source.table([labels.name], as_text=[labels.name])[labels.name], told)

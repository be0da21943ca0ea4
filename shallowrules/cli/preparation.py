"""From a file to the columns and rows to cluster, or to a refusal that says what to do."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any, NoReturn

from numpy.typing import NDArray

from shallowrules.cli.advice import Refusal, RefusedTable, Remedy, column_list, exclude
from shallowrules.cli.opening import Opened, open_rows
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.cli.output import messages_of
from shallowrules.encoding import ColumnFacts
from shallowrules.encoding.checks import (
    find_infinite,
    find_missing,
    find_other_types,
    find_too_many_values,
    find_without_values,
    values_counted,
)
from shallowrules.encoding.roles import Roles
from shallowrules.errors import (
    DataError,
    Finding,
    OptionError,
    OptionName,
    ShallowRulesError,
    ShallowRulesWarning,
    counted,
)
from shallowrules.files import Reading
from shallowrules.fitting.examining import (
    Rows,
    Space,
    count_distinct_rows,
    count_incomplete,
    find_ids,
    largest_variance,
)
from shallowrules.fitting.imputing import find_imputed
from shallowrules.fitting.survey import Survey, find_facts
from shallowrules.partitions import WholeTable
from shallowrules.sources import Where, input_files
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Column, Table, Value
from shallowrules.tables.times import TIME_TYPES, format_time

__all__ = ["LoadedTable", "prepare", "prepared", "working_remedy"]

DOMINANT_SHARE = 0.9
"""Share of the variance from which a column is said to decide the clustering alone."""

MAX_DROPPED_SHARE = 0.2
"""Share of incomplete rows up to which they are proposed to be left out; of more rows values are filled."""

MAX_SHOWN = 5
"""Columns with one value only that a note names."""

MAX_TRIALS = 4
"""Times that a proposed command is tried and added to."""

CODE = re.compile(r"(?i)(?<![a-z])(zip|plz|post_?code|postal|region|code|sku|msisdn)(?![a-z])")
"""Words in the names of columns whose whole numbers are codes more often than quantities."""


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """What to cluster: complete rows of numbers and categories, or imputed ones, their weights and labels.

    Parameters
    ----------
    rows : WholeTable or ThreadedPartitions
        In memory or in parts, with the columns of weights and labels.
    columns : tuple of str
        Those to cluster and to explain by; `weight_column` and `label_column` may stand beside them.
    n_rows : int
    notes, warnings : tuple of str
        What a reader of the rules should know, and what may be wrong with them.
    cluster_columns, explain_columns : list of str or None
        None for the estimator's default.
    other_columns : tuple of str
        Those of the source that are not in `columns`.
    """

    rows: Rows
    columns: tuple[str, ...]
    n_rows: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    weight_column: str | None = None
    label_column: str | None = None
    cluster_columns: list[str] | None = None
    explain_columns: list[str] | None = None
    other_columns: tuple[str, ...] = ()

    @property
    def in_parts(self) -> bool:
        """Whether the table is not in memory."""
        return not isinstance(self.rows, WholeTable)

    @cached_property
    def table(self) -> Table:
        """The table to cluster, of rows in memory."""
        return self._whole.select(self.columns)

    @property
    def weight(self) -> NDArray[Any] | None:
        """The weights of rows in memory, shape (n_rows,); None where there are none."""
        return None if self.weight_column is None else self._whole[self.weight_column].numbers()

    @property
    def labels(self) -> Column | None:
        """The labels of rows in memory."""
        return None if self.label_column is None else self._whole[self.label_column]

    @property
    def _whole(self) -> Table:
        assert isinstance(self.rows, WholeTable)
        return self.rows.table


def prepare(where: Where, fit: FitOptions, reading: Reading) -> LoadedTable:
    """Read a table into memory and choose its rows and columns.

    Raises
    ------
    RefusedTable
        If columns hold dates or the like, have too many categories, look like an id, have no values or are nearly
        numbers; if values are missing or infinite. All of it is said at once.
    DataError
        If the file is not a table; if weights are negative or all zero; if there are fewer distinct rows than
        clusters; or if labels are no clustering.
    """
    with prepared(where, fit, reading) as loaded:
        return loaded


@contextmanager
def prepared(where: Where, fit: FitOptions, reading: Reading, memory: int | None = None) -> Iterator[LoadedTable]:
    """Do what `prepare` does; with `memory`, a number of bytes, for a table in parts until the end of the context."""
    if fit.drop_missing and fit.impute is not None:
        raise OptionError("--drop-missing and --impute exclude each other: rows are left out, or their values filled")
    with ExitStack() as sources:
        try:
            refusals: list[Refusal] = []
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ShallowRulesWarning)
                opened = open_rows(sources, where, fit, reading, memory, refusals)
            yield judged(opened, fit, refusals, messages_of(caught))
        except DataError:
            sources.pop_all().close()  # which would say again in which file
            raise


def judged(opened: Opened, fit: FitOptions, refusals: list[Refusal], said: Sequence[tuple[str, str]]) -> LoadedTable:
    """Return a table that can be clustered, with what is to be said of it, or raise what speaks against it.

    `said` are notes and warnings of its reading.
    """
    rows, columns = opened.rows, opened.columns
    cluster_columns = None if fit.columns is None else [name for name in columns if name in fit.columns]
    explain_columns = None if fit.explain is None else list(dict.fromkeys(fit.explain))
    weight = fit.weight
    if weight is not None and rows.types[weight] not in ("integer", "float"):
        if weight not in _columns_of(refusals):
            refusals.append(_weights_without_numbers(weight, rows.types[weight]))
        weight = None
    roles = Roles(columns, fit.labels, weight, imputes=fit.impute is not None)
    facts = find_facts(rows, roles)
    refusals += _unusable_columns(rows, facts, (*(fit.columns or ()), *(fit.explain or ())), refusals)
    rows, notes, missing = _complete_rows(rows, facts, roles, fit, _columns_of(refusals))
    notes = [*(message for kind, message in said if kind == "note"), *notes]
    refusals += missing
    if rows is not opened.rows and not refusals:
        facts = find_facts(rows, roles)
    refusals += _infinite_columns(facts, _columns_of(refusals))
    if refusals:
        remedy = reduce(or_, (refusal.remedy for refusal in refusals))
        findings = [finding for refusal in refusals for finding in refusal.findings]
        raise RefusedTable("\n".join(refusal.message for refusal in refusals), findings, remedy, said)
    _refuse_weights(facts)
    if fit.labels is not None:
        _refuse_labels(fit.labels, len(facts.labels), facts.counted)
    imputed: Mapping[str, Number | Value | None] = {}
    if fit.impute is not None:
        rows, imputed = _imputed(rows, facts, roles)
    spaces = cluster_columns or (explain_columns if fit.labels is not None else None) or columns
    space = Space(roles, tuple(spaces), imputed)
    if fit.clusters is not None:
        _refuse_too_many_clusters(rows, space, facts.rows, fit.clusters)
    notes = [*opened.rows.notes, *notes, *_truth_values(rows, columns)]
    notes += _codes(rows.types, columns, fit.numbers, opened.padded)
    notes += _constant_columns(facts)
    types = [rows.types[name] for name in spaces]
    has_numbers = any(kind in ("integer", "float", *TIME_TYPES) for kind in types)
    notes += _scale_notes(fit.scale, has_numbers=has_numbers, clustering=fit.labels is None)
    if weight is not None:
        notes.append(f"rows count by the weights in column {weight!r}")
    dominant = _dominant_column(rows, space, facts) if fit.scale is None and fit.labels is None else []
    return LoadedTable(
        rows,
        columns,
        facts.rows,
        tuple(notes),
        (*(message for kind, message in said if kind == "warning"), *dominant),
        weight,
        fit.labels,
        cluster_columns,
        explain_columns,
        tuple(name for name in rows.all_names if name not in set(columns)),
    )


def _columns_of(refusals: Sequence[Refusal]) -> set[str]:
    """Return the columns that are refused already; what else is wrong with them does not matter."""
    return {finding.column for refusal in refusals for finding in refusal.findings if finding.column is not None}


def working_remedy(
    where: Where, fit: FitOptions, reading: Reading, refused: RefusedTable, memory: int | None = None
) -> Remedy | None:
    """Return options with which the table is not refused, tried out; None where none are found."""
    if not all(map(os.path.isfile, input_files(where))):
        return None  # a pipe is read once
    remedy = refused.remedy
    for _ in range(MAX_TRIALS):
        try:
            with prepared(where, *_remedied(fit, reading, remedy), memory):
                return remedy
        except RefusedTable as error:
            if error.remedy | remedy == remedy:
                return None
            remedy = remedy | error.remedy
        except ShallowRulesError:
            return None
    return None


def _remedied(fit: FitOptions, reading: Reading, remedy: Remedy) -> tuple[FitOptions, Reading]:
    """Return the options as a remedy changes them."""
    fit = replace(
        fit,
        exclude=(*fit.exclude, *remedy.exclude),
        drop_missing=fit.drop_missing or remedy.drop_missing,
        impute=remedy.impute or fit.impute,
    )
    reading = replace(
        reading,
        null=(*reading.null, *remedy.null),
        decimal=remedy.decimal or reading.decimal,
        encoding=remedy.encoding or reading.encoding,
    )
    return fit, reading


def _codes(
    types: Mapping[str, str], names: Sequence[str], numbers: Collection[str], padded: Collection[str]
) -> list[str]:
    """Return notes on whole numbers that may be codes, but for those that are said to be numbers.

    They are called as codes are, or `padded` with leading zeros.
    """
    columns = [name for name in names if types[name] == "integer" and name not in numbers]
    with_zeros = [name for name in columns if name in padded]
    called = [name for name in columns if name not in padded and CODE.search(name)]
    notes = []
    for names, one, more in (
        (called, "holds whole numbers that look like a code", "hold whole numbers that look like codes"),
        (with_zeros, "has leading zeros, which a number loses", "have leading zeros, which numbers lose"),
    ):
        if names:
            notes.append(
                f"{', '.join(map(repr, names))} {one if len(names) == 1 else more}: --categories {column_list(names)} "
                f"takes them as categories, --numbers {column_list(names)} says that they are quantities"
            )
    return notes


def _truth_values(rows: Rows, columns: Sequence[str]) -> list[str]:
    """Return a note on columns of a CSV file that are truth values by their words alone."""
    names = [repr(name) for name in columns if rows.types[name] == "boolean"]
    if rows.format != "csv" or not names:
        return []
    return [f"nothing but true and false is in {', '.join(names)}: read as truth values, not as text"]


def _refuse_labels(name: str, distinct: int, n_rows: int) -> None:
    """Raise DataError for labels that tell no rows apart, or all of them.

    Parameters
    ----------
    name : str
        Of their column.
    distinct, n_rows : int
        Labels that differ, and rows that count and have one.
    """
    if distinct < 2:
        what = "no label" if not distinct else "one label only"
        raise DataError(f"column {name!r} has {what}: a clustering to explain has 2 or more (--labels)")
    if distinct == n_rows:
        raise DataError(f"column {name!r} has a different label in each of {n_rows:,} rows: this is not a clustering")


def _weights_without_numbers(name: str, kind: str) -> Refusal:
    message = f"the weights {name!r} are not numbers; they were read as {kind}"
    return Refusal((Finding("not numeric", message, name),), message, Remedy())


def _unusable_columns(rows: Rows, facts: Survey, insisted: Sequence[str], refusals: Sequence[Refusal]) -> list[Refusal]:
    """Return what is wrong with columns, whatever the rows: each column is refused for one reason."""
    found: list[Refusal] = []
    for find, word in (
        (find_other_types, _other_types),
        (find_without_values, _without_values),
        (lambda columns: _find_too_many_values(rows, columns), _too_many_values),
        (lambda columns: find_ids(rows, columns, insisted), _ids),
    ):
        refused = _columns_of([*refusals, *found])
        findings = find([column for column in facts.columns if column.name not in refused])
        if findings:
            found.append(Refusal(tuple(findings), word(findings), Remedy(exclude=_names(findings))))
    return found


def _other_types(findings: Sequence[Finding]) -> str:
    return (
        f"{counted(len(findings), 'column holds', 'columns hold')} neither numbers nor categories: "
        f"{', '.join(f'{finding.column!r} ({finding.example})' for finding in findings)}; "
        f"leave out what is to play no part: {exclude(_names(findings))}"
    )


def _without_values(findings: Sequence[Finding]) -> str:
    return (
        f"{counted(len(findings), 'column has', 'columns have')} no values: {_listed(findings)}; "
        f"leave out what is empty: {exclude(_names(findings))}"
    )


def _too_many_values(findings: Sequence[Finding]) -> str:
    listed = ", ".join(f"{finding.column!r} ({values_counted(finding.count or 0)})" for finding in findings)
    return (
        f"too many different texts to be categories, as ids and free text have them, in {listed} of "
        f"{counted(findings[0].rows or 0, 'row')}; leave out what is to play no part: {exclude(_names(findings))}"
    )


def _ids(findings: Sequence[Finding]) -> str:
    return (
        f"{_listed(findings)} {'looks' if len(findings) == 1 else 'look'} like the number of a row, another in each "
        f"and nothing to cluster by; leave out what is an id: {exclude(_names(findings))}; or name in --columns all "
        "columns to cluster by, if it is meant"
    )


def _find_too_many_values(rows: Rows, columns: Sequence[ColumnFacts]) -> list[Finding]:
    """Return the columns of text with too many values, and how many each has, as far as that can be told."""
    return [
        replace(finding, count=rows.count_distinct(str(finding.column)) or finding.count)
        for finding in find_too_many_values(columns)
    ]


def _imputed(rows: Rows, facts: Survey, roles: Roles) -> tuple[Rows, Mapping[str, Number | Value | None]]:
    """Return the rows, filled if they are in memory, and what is taken for missing values that are still in them."""
    found = find_imputed(rows, facts, replace(roles, weight_exponent=facts.weight_exponent))
    imputed = dict(zip(roles.columns, found, strict=False))
    if isinstance(rows, WholeTable):
        return rows.with_table(rows.table.filled([imputed.get(name) for name in rows.table.names])), {}
    return rows, imputed


def _complete_rows(
    rows: Rows, facts: Survey, roles: Roles, fit: FitOptions, refused: set[str]
) -> tuple[Rows, list[str], list[Refusal]]:
    """Return the complete rows with a note, or all rows and why they are refused; what is imputed is not missing.

    Rows may lack a label: the estimator counts them.
    """
    used = [] if fit.impute is not None else [column for column in facts.columns if column.name not in refused]
    used += [] if facts.weight is None else [facts.weight]
    findings = find_missing(used)
    if not findings:
        return rows, [], []
    lacking = _names(findings)
    n_rows = count_incomplete(rows, lacking)
    counts = ", ".join(f"{finding.column!r} ({counted(finding.count or 0, 'row')})" for finding in findings)
    names = tuple(name for name in lacking if name != roles.weight)
    weights_are_missing = len(names) < len(findings)  # which nothing is to be taken for
    if not fit.drop_missing:
        instead = "" if fit.impute is None else f" in place of --impute {fit.impute}"
        ways = f"leave these rows out (--drop-missing{instead})"
        ways += f" or the columns ({exclude(names)})" if names else ""
        ways += "" if weights_are_missing else ", or fill the values (--impute median)"
        message = f"values are missing in {counts}, {n_rows:,} of {counted(facts.rows, 'row')} in all: {ways}"
        few = n_rows <= MAX_DROPPED_SHARE * facts.rows or weights_are_missing
        remedy = Remedy(drop_missing=True) if few else Remedy(impute="median")
        return rows, [], [Refusal(tuple(findings), message, remedy)]
    if n_rows == facts.rows:
        message = f"every row lacks a value, in {counts}{_leave_out(names)}"
        return rows, [], [Refusal(tuple(findings), message, Remedy(exclude=names))]
    note = f"{n_rows:,} of {counted(facts.rows, 'row')} left out for missing values: {counts}"
    return rows.complete(lacking), [note], []


def _infinite_columns(facts: Survey, refused: set[str]) -> list[Refusal]:
    columns = [*facts.columns, *([] if facts.weight is None else [facts.weight])]
    findings = find_infinite(column for column in columns if column.name not in refused)
    if not findings:
        return []
    listed = ", ".join(f"{finding.column!r} ({counted(finding.count or 0, 'row')})" for finding in findings)
    names = tuple(name for name in _names(findings) if facts.weight is None or name != facts.weight.name)
    ways = f" or leave columns out ({exclude(names)})" if names else ""
    message = f"values are infinite in {listed}: correct the file{ways}"
    return [Refusal(tuple(findings), message, Remedy(exclude=names))]


def _refuse_weights(facts: Survey) -> None:
    """Raise DataError if weights are negative or all zero."""
    if facts.weight is None:
        return
    negative = sum(n for (kind, _, _), n in facts.wrong.items() if kind == "negative")
    if negative:
        raise DataError(
            f"the weights {facts.weight.name!r} are negative in {counted(negative, 'row')}; a row counts 0 or more"
        )
    if facts.weight.ends == (0, 0):
        raise DataError(f"the weights {facts.weight.name!r} are all zero, so that no row counts")


def _refuse_too_many_clusters(rows: Rows, space: Space, n_rows: int, clusters: int) -> None:
    """Refuse more clusters than there are distinct rows that count."""
    if clusters > n_rows:
        _refuse_clusters(clusters, _only(n_rows, "row"))
    distinct = count_distinct_rows(rows, space, clusters)
    if distinct < clusters:
        _refuse_clusters(clusters, _only(distinct, "distinct row"))


def _refuse_clusters(clusters: int, fact: str) -> NoReturn:
    raise DataError(f"{clusters} clusters were asked for (", OptionName("clusters"), f"), but {fact}")


def _only(number: int, what: str) -> str:
    way = "ask for fewer clusters" if number >= 2 else "a clustering needs 2 distinct rows or more"
    return f"there {'is' if number == 1 else 'are'} only {counted(number, what)}: {way}"


def _constant_columns(facts: Survey) -> list[str]:
    """Return a note on the columns that have one value only."""
    constant = [column for column in facts.columns if column.only_value is not None]
    if not constant:
        return []
    shown = ", ".join(f"{column.name!r} ({_shown(column)})" for column in constant[:MAX_SHOWN])
    if len(constant) == 1:
        return [f"column {constant[0].name!r} has one value only ({_shown(constant[0])}) and plays no part"]
    more = f" and {len(constant) - MAX_SHOWN:,} more" if len(constant) > MAX_SHOWN else ""
    return [f"{len(constant):,} columns have one value only and play no part: {shown}{more}"]


def _shown(column: ColumnFacts) -> str:
    """Return the only value of a column, a time as one."""
    value = column.only_value
    return format_time(column.type, value) if column.type in TIME_TYPES and isinstance(value, int) else str(value)


def _scale_notes(scale: str | None, *, has_numbers: bool, clustering: bool) -> list[str]:
    """Return a note on the scales in which distances are taken, unless they are the table's own."""
    if scale is None or not has_numbers:
        return []
    how = {
        "minmax": "every column of numbers is brought to the range from 0 to 1",
        "standard": "every column of numbers is brought to mean 0 and standard deviation 1",
        "robust": "every column of numbers is brought to median 0 and quartiles one apart",
    }[scale]
    purpose = "for the clustering" if clustering else "to measure distances"
    return [f"{purpose}, {how} (--scale {scale}); the rules are in the table's own units"]


def _dominant_column(rows: Rows, space: Space, facts: Survey) -> list[str]:
    """Return a warning if one of several columns has nearly all of the variance, which is what k-means divides."""
    name, share = largest_variance(rows, space, facts)
    if share <= DOMINANT_SHARE:
        return []
    return [
        f"column {name!r} has {min(share, 0.999):.1%} of the variance and all but decides the "
        "clustering alone, because the columns are on very different scales; --scale minmax gives each the same range"
    ]


def _listed(findings: Sequence[Finding]) -> str:
    return ("column " if len(findings) == 1 else "columns ") + ", ".join(map(repr, _names(findings)))


def _leave_out(names: Sequence[str]) -> str:
    return f": leave columns out ({exclude(names)})" if names else ": correct the file"


def _names(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(finding.column for finding in findings if finding.column is not None)

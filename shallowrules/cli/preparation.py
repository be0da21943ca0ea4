"""From a file to the columns and rows to cluster, or to a refusal that says what to do."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from shallowrules.cli.advice import RefusedTable, Remedy, column_list, exclude, remedy_of, way_out, worded
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.encoding import categories, impute_table
from shallowrules.encoding.checks import (
    find_infinite,
    find_missing,
    find_other_types,
    find_too_many_values,
    find_without_values,
)
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
from shallowrules.models.estimator import thread_count
from shallowrules.rules.reading import read_texts
from shallowrules.sources import Source, Where, input_files, open_source
from shallowrules.tables.conversion import Conversion
from shallowrules.tables.table import Column, Table

__all__ = [
    "LoadedTable",
    "columns_to_read",
    "named_roles",
    "prepare",
    "refuse_ids",
    "refuse_no_clustering",
    "refuse_no_numbers",
    "scale_notes",
    "working_remedy",
]

MIN_ORDERED = 8
"""Rows from which a numbering is taken for no coincidence."""

FIRST_ROWS = 1000
"""Rows of a column of fractions that are looked at to see that it has some, mostly."""

DOMINANT_SHARE = 0.9
"""Share of the variance from which a column is said to decide the clustering alone."""

MAX_DROPPED_SHARE = 0.2
"""Share of incomplete rows up to which they are proposed to be left out; of more rows values are filled."""

MAX_TRIALS = 4
"""Times that a proposed command is tried and added to."""

CODE = re.compile(r"(?i)(?<![a-z])(zip|plz|post_?code|postal|region|code|sku|msisdn)(?![a-z])")
"""Words in the names of columns whose whole numbers are codes more often than quantities."""

ID_WORDS = {"id", "ids", "key", "pk", "uuid", "guid", "rowid"}
ID_LAST_WORDS = ID_WORDS | {"no", "nr", "num", "index", "idx", "serial"}


@dataclass(frozen=True)
class LoadedTable:
    """What to cluster: complete rows of numbers and categories, or imputed ones, their weights and labels.

    `cluster_columns` and `explain_columns` are the names of columns to cluster and to explain by, None for the
    estimator's default; `other_columns` are those of the source that are not in `table`. `notes` are what a reader of
    the rules should know, `warnings` what may be wrong with them.
    """

    table: Table
    weight: NDArray[Any] | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    labels: Column | None = None
    cluster_columns: list[str] | None = None
    explain_columns: list[str] | None = None
    other_columns: tuple[str, ...] = ()


def prepare(where: Where, fit: FitOptions, reading: Reading) -> LoadedTable:
    """Read a table and choose its rows and columns.

    Raises
    ------
    RefusedTable
        If columns hold dates or the like, have too many categories, look like an id, have no values or are nearly
        numbers; if values are missing or infinite. All of it is said at once.
    DataError
        If the file is not a table; if weights are negative or all zero; if there are fewer distinct rows than
        clusters; or if labels are no clustering.
    """
    if fit.drop_missing and fit.impute is not None:
        raise OptionError("--drop-missing and --impute exclude each other: rows are left out, or their values filled")
    refusals: list[Refusal] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ShallowRulesWarning)
        chosen = _read(where, fit, reading, refusals)
    table, weight, labels = chosen.table, chosen.weight, chosen.labels
    table.ranges(thread_count())  # so that the checks below need no pass of their own
    doubts = [str(warning.message) for warning in caught if issubclass(warning.category, ShallowRulesWarning)]
    cluster_columns = None if fit.columns is None else [name for name in table.names if name in fit.columns]
    explain_columns = None if fit.explain is None else table.select(list(dict.fromkeys(fit.explain))).names
    if weight is not None and (not weight.is_numeric or weight.is_time) and weight.name not in _columns_of(refusals):
        refusals.append(_weights_without_numbers(weight))
    refusals += _unusable_columns(table, (*(fit.columns or ()), *(fit.explain or ())), refusals)
    table, weight, labels, notes, missing = _complete_rows(table, weight, labels, fit, _columns_of(refusals))
    refusals += missing
    refusals += _infinite_columns(table, weight, _columns_of(refusals))
    if refusals:
        remedy = reduce(or_, (refusal.remedy for refusal in refusals))
        findings = [finding for refusal in refusals for finding in refusal.findings]
        raise RefusedTable("\n".join(refusal.message for refusal in refusals), findings, remedy)
    weights = None if weight is None else _checked_weights(weight)
    if labels is not None:
        _refuse_labels(labels, weights)
    if fit.impute is not None:
        table = impute_table(table, _weights_of_labelled(weights, labels))
    space = table.select(cluster_columns or (explain_columns if labels is not None else None) or table.names)
    if fit.clusters is not None:
        _refuse_too_many_clusters(space, weights, fit.clusters)
    rows, positive = table, None
    if weights is not None:  # rows of weight 0 make no column vary
        counted = weights > 0
        rows, space, positive = table.take(counted), space.take(counted), weights[counted]
    notes += _truth_values(chosen) + _codes(table, fit.numbers, chosen.padded) + _constant_columns(rows)
    has_numbers = any(column.is_numeric for column in space.columns)
    notes += scale_notes(fit.scale, has_numbers=has_numbers, clustering=labels is None)
    if weight is not None:
        notes.append(f"rows count by the weights in column {weight.name!r}")
    dominant = _dominant_column(space, positive) if fit.scale is None and labels is None else []
    told = tuple(notes), (*doubts, *dominant)
    return LoadedTable(table, weights, *told, labels, cluster_columns, explain_columns, chosen.other_columns)


@dataclass(frozen=True)
class Refusal:
    """Findings of one kind, worded together, and options that may do away with them."""

    findings: tuple[Finding, ...]
    message: str
    remedy: Remedy


def _columns_of(refusals: Sequence[Refusal]) -> set[str]:
    """Return the columns that are refused already; what else is wrong with them does not matter."""
    return {finding.column for refusal in refusals for finding in refusal.findings if finding.column is not None}


def working_remedy(where: Where, fit: FitOptions, reading: Reading, refused: RefusedTable) -> Remedy | None:
    """Return options with which the table is not refused, tried out; None where none are found."""
    if not all(map(os.path.isfile, input_files(where))):
        return None  # a pipe is read once
    remedy = refused.remedy
    for _ in range(MAX_TRIALS):
        try:
            prepare(where, *_remedied(fit, reading, remedy))
        except RefusedTable as error:
            if error.remedy | remedy == remedy:
                return None
            remedy = remedy | error.remedy
        except ShallowRulesError:
            return None
        else:
            return remedy
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


@dataclass(frozen=True)
class ChosenColumns:
    """The columns to cluster and explain by, the weights, the labels; names of other columns, the kind of source.

    `padded` are the columns whose whole numbers have leading zeros in the source.
    """

    table: Table
    weight: Column | None
    labels: Column | None
    other_columns: tuple[str, ...]
    kind: str
    padded: set[str]


def _read(where: Where, fit: FitOptions, reading: Reading, refusals: list[Refusal]) -> ChosenColumns:
    """Return the columns that the options choose; what is wrong with them is added to the refusals."""
    named = named_roles(fit)
    columns = columns_to_read(fit, named)
    findings: list[Finding] = []
    try:
        with worded(), open_source(where, **asdict(reading)) as source:
            table = source.table(columns, fit.exclude, findings=findings)
            refuse_excluded(fit, named, table.names, source.names)
            refuse_no_numbers(fit, named, {column.name: column.type for column in table.columns})
            padded = source.zero_padded() & {column.name for column in table.columns if column.type == "integer"}
            table = _with_categories(_as_written(source, table, padded & {*fit.categories}), fit.categories, named)
            labels = None if fit.labels is None else _labels_as_written(source, table[fit.labels], reading)
    except DataError as error:
        if [finding.kind for finding in error.findings] != ["encoding"]:
            raise
        raise RefusedTable(str(error), error.findings, remedy_of(error.findings[0])) from error
    for finding in findings:
        needed = finding.column in named
        place = "" if finding.file is not None else f"{source.provenance}: "  # of several files it is said already
        message = f"{place}{finding.message}{way_out(finding, needed=needed)}"
        refusals.append(Refusal((finding,), message, remedy_of(finding, needed=needed)))
    weight = None if fit.weight is None else table[fit.weight]
    others = [name for name in table.names if name not in named]
    if not others:
        listed = " and ".join(f"the {what} {name!r}" for name, what in named.items())
        raise DataError(f"{where} has no column but {listed}")
    used = set(others)
    unused = tuple(name for name in source.names if name not in used)
    return ChosenColumns(table.select(others), weight, labels, unused, source.provenance.kind, padded)


def named_roles(fit: FitOptions) -> dict[str, str]:
    """Return the columns of weights and labels with what they have; OptionError if they are used otherwise too."""
    roles = {"weights": fit.weight, "labels": fit.labels}
    named = {name: what for what, name in roles.items() if name is not None}
    if fit.weight is not None and fit.weight == fit.labels:
        raise OptionError(f"column {fit.weight!r} cannot be both the weights and the labels")
    for name in (*(fit.columns or ()), *(fit.explain or ()), *fit.exclude):
        if name in named:
            raise OptionError(f"column {name!r} has the {named[name]}: do not use, explain or exclude it as well")
        if name in fit.exclude and name in (fit.explain or ()):
            raise OptionError(f"column {name!r} is in --explain and in --exclude")
    return named


def refuse_no_numbers(fit: FitOptions, named: Mapping[str, str], types: Mapping[str, str]) -> None:
    """Raise OptionError if --numbers names what are no columns of numbers; `types` are those of the columns read."""
    for name in fit.numbers:
        _refuse_unread("--numbers", name, named, types)
        if name in fit.categories:
            raise OptionError(f"column {name!r} is in --numbers and in --categories: it is one or the other")
        if types[name] not in ("integer", "float"):
            raise OptionError(f"--numbers: column {name!r} was read as {types[name]}, which is no quantity")


def _refuse_unread(option: str, name: str, named: Mapping[str, str], read: Collection[str]) -> None:
    """Raise OptionError unless a column that an option names is one of those read to cluster or explain by."""
    if name in named:
        raise OptionError(f"{option}: column {name!r} has the {named[name]}")
    if name not in read:
        raise OptionError(f"{option}: column {name!r} is not read; the columns are: {', '.join(read)}")


def _with_categories(table: Table, names: Sequence[str], named: Mapping[str, str]) -> Table:
    """Return the table with whole numbers of some columns taken as categories."""
    for name in names:
        _refuse_unread("--categories", name, named, table.names)
        if table[name].is_time:
            raise OptionError(f"--categories: column {name!r} holds {table[name].nature}, which are no codes")
        if table[name].type == "float":
            raise OptionError(f"--categories: column {name!r} holds numbers with fractions, which are no codes")
    return replace(
        table, columns=tuple(_as_category(column) if column.name in names else column for column in table.columns)
    )


def _as_category(column: Column) -> Column:
    conversion = replace(column.conversion, decimal=".")
    return replace(column.number_categories(), conversion=conversion)


def _as_written(source: Source, table: Table, names: Set[str]) -> Table:
    """Return a table some columns of which are the text that they are in the source, with its leading zeros."""
    if not names:
        return table
    written = source.table(sorted(names), as_text=sorted(names))
    return replace(table, columns=tuple(written[c.name] if c.name in names else c for c in table.columns))


def _codes(table: Table, numbers: Collection[str], padded: Collection[str]) -> list[str]:
    """Return notes on whole numbers that may be codes, but for those that are said to be numbers.

    They are called as codes are, or `padded` with leading zeros.
    """
    columns = [column.name for column in table.columns if column.type == "integer" and column.name not in numbers]
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


def refuse_excluded(fit: FitOptions, named: Iterable[str], read: Collection[str], names: Collection[str]) -> None:
    """Raise OptionError if a pattern of --exclude leaves out one of the columns `names` that another option names."""
    for name in (*named, *(fit.explain or ())):
        if name in names and name not in read:
            raise OptionError(f"--exclude leaves out column {name!r}, which another option names: name what is meant")


def columns_to_read(fit: FitOptions, named: Iterable[str]) -> list[str] | None:
    """Return the columns that the options choose, with those that are named for weights and labels; None for all."""
    columns = None
    if fit.columns is not None:
        columns = (*fit.columns, *(fit.explain or ()), *named)
    elif fit.explain is not None and fit.labels is not None:
        columns = (*fit.explain, *named)  # nothing is clustered
    return None if columns is None else list(dict.fromkeys(columns))


def _labels_as_written(source: Source, labels: Column, reading: Reading) -> Column:
    """Return labels as they stand in the source: truth values that a CSV file has as words are these words."""
    if labels.type != "boolean":
        return labels
    told = Conversion(nulls=tuple(token.strip(" ") for token in reading.null))
    return read_texts(source.table([labels.name], as_text=[labels.name])[labels.name], told)


def _truth_values(chosen: ChosenColumns) -> list[str]:
    """Return a note on columns of a CSV file that are truth values by their words alone."""
    names = [repr(column.name) for column in chosen.table.columns if column.type == "boolean"]
    if chosen.kind != "csv" or not names:
        return []
    return [f"nothing but true and false is in {', '.join(names)}: read as truth values, not as text"]


def _refuse_labels(labels: Column, weights: NDArray[Any] | None) -> None:
    counted = ~labels.absent if weights is None else ~labels.absent & (weights > 0)
    refuse_no_clustering(labels.name, len(set(labels.values[counted].tolist())), int(np.count_nonzero(counted)))


def refuse_no_clustering(name: str, distinct: int, n_rows: int) -> None:
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


def _weights_without_numbers(weight: Column) -> Refusal:
    message = f"the weights {weight.name!r} are not numbers; they were read as {weight.type}"
    return Refusal((Finding("not numeric", message, weight.name),), message, Remedy())


def _unusable_columns(table: Table, insisted: Sequence[str], refusals: Sequence[Refusal]) -> list[Refusal]:
    """Return what is wrong with columns, whatever the rows: each column is refused for one reason."""
    found: list[Refusal] = []
    for find, word in (
        (find_other_types, _other_types),
        (find_without_values, _without_values),
        (find_too_many_values, _too_many_values),
        (lambda columns: _find_ids(columns, insisted), _ids),
    ):
        refused = _columns_of([*refusals, *found])
        findings = find([column for column in table.columns if column.name not in refused])
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
    listed = ", ".join(f"{finding.column!r} ({counted(finding.count or 0, 'value')})" for finding in findings)
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


def refuse_ids(rows: Table, insisted: Sequence[str]) -> None:
    """Raise DataError if columns look like the number of a row in some rows of a table that follow each other.

    Parameters
    ----------
    rows : Table
    insisted : sequence of str
        Columns that were asked for by name.
    """
    findings = _find_ids(rows.columns, insisted)
    if findings:
        raise DataError(_ids(findings), findings=findings)


def _find_ids(columns: Sequence[Column], insisted: Sequence[str]) -> list[Finding]:
    return [
        Finding("id", repr(column.name), column.name)
        for column in columns
        if column.is_numeric and not column.is_time and column.name not in insisted and _is_id(column)
    ]


def _is_id(column: Column) -> bool:
    """Return whether whole numbers are all distinct and named like an id or those of a numbering.

    A numbering has one step from row to row, or is shuffled and leaves no number out. Sorted values
    alone are no evidence: tables are often sorted by what they measure.
    """
    values = column.numbers() if column.is_finite else column.numbers()[~column.absent]
    if len(values) < 2 or not all(np.array_equal(some, np.floor(some)) for some in (values[:FIRST_ROWS], values)):
        return False
    if not _is_id_name(column.name):
        if len(values) < MIN_ORDERED:
            return False
        steps = np.diff(values)
        consecutive = float(values.max()) - float(values.min()) == len(values) - 1
        if not consecutive and not (steps == steps[0]).all():
            return False
    return len(np.unique(values)) == len(values)


def _is_id_name(name: str) -> bool:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return bool(words) and (words[0].lower() in ID_WORDS or words[-1].lower() in ID_LAST_WORDS)


def _weights_of_labelled(weights: NDArray[Any] | None, labels: Column | None) -> NDArray[Any] | None:
    """Return weights that are 0 where a row has no label: such rows do not count."""
    if labels is None or not labels.absent.any():
        return weights
    return np.where(labels.absent, 0.0, 1.0 if weights is None else weights)


def _complete_rows(
    table: Table, weight: Column | None, labels: Column | None, fit: FitOptions, refused: set[str]
) -> tuple[Table, Column | None, Column | None, list[str], list[Refusal]]:
    """Return the complete rows with a note, or all rows and why they are refused; what is imputed is not missing.

    Rows may lack a label: the estimator counts them.
    """
    used = [] if fit.impute is not None else [column for column in table.columns if column.name not in refused]
    used += [] if weight is None else [weight]
    findings = find_missing(used)
    if not findings:
        return table, weight, labels, [], []
    incomplete = np.logical_or.reduce([column.absent for column in used])
    n_rows = int(np.count_nonzero(incomplete))
    counts = ", ".join(f"{finding.column!r} ({counted(finding.count or 0, 'row')})" for finding in findings)
    names = _without(weight, findings)
    weights_are_missing = len(names) < len(findings)  # which nothing is to be taken for
    if not fit.drop_missing:
        instead = "" if fit.impute is None else f" in place of --impute {fit.impute}"
        ways = f"leave these rows out (--drop-missing{instead})"
        ways += f" or the columns ({exclude(names)})" if names else ""
        ways += "" if weights_are_missing else ", or fill the values (--impute median)"
        message = f"values are missing in {counts}, {n_rows:,} of {counted(table.n_rows, 'row')} in all: {ways}"
        few = n_rows <= MAX_DROPPED_SHARE * table.n_rows or weights_are_missing
        remedy = Remedy(drop_missing=True) if few else Remedy(impute="median")
        return table, weight, labels, [], [Refusal(tuple(findings), message, remedy)]
    if n_rows == table.n_rows:
        message = f"every row lacks a value, in {counts}{_leave_out(names)}"
        return table, weight, labels, [], [Refusal(tuple(findings), message, Remedy(exclude=names))]
    note = f"{n_rows:,} of {counted(table.n_rows, 'row')} left out for missing values: {counts}"

    def complete(column: Column | None) -> Column | None:
        return None if column is None else Table((column,), len(incomplete)).take(~incomplete).columns[0]

    return table.take(~incomplete), complete(weight), complete(labels), [note], []


def _infinite_columns(table: Table, weight: Column | None, refused: set[str]) -> list[Refusal]:
    columns = [*table.columns, *([] if weight is None else [weight])]
    findings = find_infinite(column for column in columns if column.name not in refused)
    if not findings:
        return []
    listed = ", ".join(f"{finding.column!r} ({counted(finding.count or 0, 'row')})" for finding in findings)
    names = _without(weight, findings)
    ways = f" or leave columns out ({exclude(names)})" if names else ""
    message = f"values are infinite in {listed}: correct the file{ways}"
    return [Refusal(tuple(findings), message, Remedy(exclude=names))]


def _checked_weights(weight: Column) -> NDArray[Any]:
    weights = weight.numbers()
    negative = int(np.count_nonzero(weights < 0))
    if negative:
        raise DataError(
            f"the weights {weight.name!r} are negative in {counted(negative, 'row')}; a row counts 0 or more"
        )
    if not weights.any():
        raise DataError(f"the weights {weight.name!r} are all zero, so that no row counts")
    return weights


def _refuse_too_many_clusters(table: Table, weights: NDArray[Any] | None, clusters: int) -> None:
    """Refuse more clusters than there are distinct rows that count."""
    if clusters > table.n_rows:
        _refuse_clusters(clusters, _only(table.n_rows, "row"))
    counted = table if weights is None else table.take(weights > 0)
    coded = [c.numbers() if c.is_numeric else c.positions(categories(c)) for c in counted.columns]
    n_rows, distinct = 0, 0
    while n_rows < counted.n_rows:
        # Mostly the first rows have enough distinct ones already.
        n_rows = min(max(4 * clusters, 4 * n_rows), counted.n_rows)
        distinct = len(np.unique(np.column_stack([codes[:n_rows] for codes in coded]), axis=0))
        if distinct >= clusters:
            return
    _refuse_clusters(clusters, _only(distinct, "distinct row"))


def _refuse_clusters(clusters: int, fact: str) -> NoReturn:
    raise DataError(f"{clusters} clusters were asked for (", OptionName("clusters"), f"), but {fact}")


def _only(number: int, what: str) -> str:
    way = "ask for fewer clusters" if number >= 2 else "a clustering needs 2 distinct rows or more"
    return f"there {'is' if number == 1 else 'are'} only {counted(number, what)}: {way}"


def _constant_columns(table: Table) -> list[str]:
    return [
        f"column {column.name!r} has one value only ({column.show(column.values.tolist()[0])}) and plays no part"
        for column in table.columns
        if column.is_constant
    ]


def scale_notes(scale: str | None, *, has_numbers: bool, clustering: bool) -> list[str]:
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


def _dominant_column(table: Table, weights: NDArray[Any] | None) -> list[str]:
    """Return a warning if one of several columns has nearly all of the variance, which is what k-means divides."""
    varying = [column for column in table.columns if column.is_numeric and not column.is_constant]
    if len(varying) < 2:
        return []
    # Relative to the largest of all, squares cannot overflow.
    largest = max(abs(end) for column in varying for end in column.ends)
    variances = []
    for column in varying:
        values = column.numbers() / largest
        mean = np.average(values, weights=weights)
        variances.append(float(np.average((values - mean) ** 2, weights=weights)))
    dominant = int(np.argmax(variances))
    if not variances[dominant]:  # whole numbers that differ by less than a float can tell
        return []
    share = variances[dominant] / sum(variances)
    if share <= DOMINANT_SHARE:
        return []
    return [
        f"column {varying[dominant].name!r} has {min(share, 0.999):.1%} of the variance and all but decides the "
        "clustering alone, because the columns are on very different scales; --scale minmax gives each the same range"
    ]


def _listed(findings: Sequence[Finding]) -> str:
    return ("column " if len(findings) == 1 else "columns ") + ", ".join(map(repr, _names(findings)))


def _leave_out(names: Sequence[str]) -> str:
    return f": leave columns out ({exclude(names)})" if names else ": correct the file"


def _without(weight: Column | None, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the columns that may be left out: all but that of the weights."""
    return tuple(name for name in _names(findings) if weight is None or name != weight.name)


def _names(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(finding.column for finding in findings if finding.column is not None)

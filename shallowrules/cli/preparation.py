"""From a file to the columns and rows to cluster, or to a refusal that says what to do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.cli.advice import exclude, worded
from shallowrules.cli.fitting_options import FitOptions
from shallowrules.cli.reading_options import ReadingOptions
from shallowrules.encoding import categories, imputed_values, too_many_values
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning
from shallowrules.sources import read_table
from shallowrules.table import Column, Table

__all__ = ["Prepared", "prepare"]

FEWEST_ORDERED = 8
"""Rows from which a numbering is taken for no coincidence."""

DOMINANT = 0.9
"""Share of the variance from which a column is said to decide the clustering alone."""

ID_WORDS = {"id", "ids", "key", "pk", "uuid", "guid", "rowid"}
ID_LAST_WORDS = ID_WORDS | {"no", "nr", "num", "index", "idx", "serial"}


@dataclass(frozen=True)
class Prepared:
    """What to cluster: rows of numbers and categories, complete unless values are imputed, their weights and labels.

    `clustered` and `explained` are the names of columns to cluster and to explain by, None for the
    estimator's default. `notes` are what a reader of the rules should know, `warnings` what may be wrong with them.
    """

    table: Table
    weight: NDArray[Any] | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    labels: Column | None = None
    clustered: list[str] | None = None
    explained: list[str] | None = None


def prepare(path: str, fit: FitOptions, reading: ReadingOptions) -> Prepared:
    """Read a file and choose its rows and columns.

    Raises
    ------
    DataError
        If the file is no table; if a column holds dates or the like, has too many categories, looks like an id,
        or has no values; if values are missing or infinite; if weights are negative or all zero; if there are
        fewer distinct rows than clusters; or if labels are no clustering.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ShallowRulesWarning)
        table, weight, labels = _read(path, fit, reading)
    doubts = [str(warning.message) for warning in caught if issubclass(warning.category, ShallowRulesWarning)]
    clustered = None if fit.columns is None else [name for name in table.names if name in fit.columns]
    explained = None if fit.explain is None else table.select(list(dict.fromkeys(fit.explain))).names
    _refuse_unusable(table, weight)
    _refuse_empty(table)
    _refuse_too_many_values(table)
    _refuse_ids(table, (*(fit.columns or ()), *(fit.explain or ())))
    if fit.drop_missing and fit.impute is not None:
        raise OptionError("--drop-missing and --impute exclude each other: rows are left out, or their values filled")
    table, weight, labels, notes = _without_missing(table, weight, labels, fit.drop_missing, fit.impute is not None)
    _refuse_infinite(table, weight)
    weights = None if weight is None else _checked_weights(weight)
    if labels is not None:
        _refuse_no_clustering(labels, weights)
    filled = table if fit.impute is None else _filled(table, weights)
    space = filled.select(clustered or (explained if labels is not None else None) or table.names)
    if fit.clusters is not None:
        _refuse_too_many_clusters(space, weights, fit.clusters)
    notes += _constant_columns(filled) + _spaces(space, fit.scale, clustering=labels is None)
    if weight is not None:
        notes.append(f"rows count by the weights in column {weight.name!r}")
    dominant = _dominant_column(space, weights) if fit.scale is None and labels is None else []
    return Prepared(table, weights, tuple(notes), (*doubts, *dominant), labels, clustered, explained)


def _read(path: str, fit: FitOptions, reading: ReadingOptions) -> tuple[Table, Column | None, Column | None]:
    """Return the columns to cluster and explain by, the weights, and the given labels."""
    roles = {"weights": fit.weight, "labels": fit.labels}
    named = {name: what for what, name in roles.items() if name is not None}
    if fit.weight is not None and fit.weight == fit.labels:
        raise OptionError(f"column {fit.weight!r} cannot be both the weights and the labels")
    for name in (*(fit.columns or ()), *(fit.explain or ()), *fit.exclude):
        if name in named:
            raise OptionError(f"column {name!r} has the {named[name]}: do not use, explain or exclude it as well")
        if name in fit.exclude and name in (fit.explain or ()):
            raise OptionError(f"column {name!r} is in --explain and in --exclude")
    columns = None
    if fit.columns is not None:
        columns = (*fit.columns, *(fit.explain or ()), *named)
    elif fit.explain is not None and fit.labels is not None:
        columns = (*fit.explain, *named)  # nothing is clustered
    with worded():
        table = read_table(path, columns=columns, exclude=fit.exclude, **asdict(reading))
    weight, labels = (None if name is None else table[name] for name in roles.values())
    others = [name for name in table.names if name not in named]
    if not others:
        listed = " and ".join(f"the {what} {name!r}" for name, what in named.items())
        raise DataError(f"{path} has no column but {listed}")
    return table.select(others), weight, labels


def _refuse_no_clustering(labels: Column, weights: NDArray[Any] | None) -> None:
    """Refuse labels that tell no rows apart, or all of them."""
    counted = ~labels.absent if weights is None else ~labels.absent & (weights > 0)
    n_rows = int(np.count_nonzero(counted))
    values = labels.values[counted]
    distinct = len(set(values.tolist()))
    if distinct < 2:
        what = "no label" if not distinct else "one label only"
        raise DataError(f"column {labels.name!r} has {what}: a clustering to explain has 2 or more (--labels)")
    if distinct == n_rows:
        raise DataError(f"column {labels.name!r} has another label in each of {n_rows:,} rows: this is no clustering")


def _refuse_unusable(table: Table, weight: Column | None) -> None:
    if weight is not None and not weight.is_numeric:
        raise DataError(f"the weights {weight.name!r} are not numbers; they were read as {weight.type}")
    found = [column for column in table.columns if column.type == "other"]
    if found:
        listed = ", ".join(f"{column.name!r} ({column.nature})" for column in found)
        raise DataError(
            f"{_count(len(found), 'column holds', 'columns hold')} neither numbers nor categories: {listed}; "
            f"leave out what is to play no part: {_exclude(found)}"
        )


def _refuse_too_many_values(table: Table) -> None:
    found = too_many_values(table.columns)
    if found:
        listed = ", ".join(f"{column.name!r} ({_count(count, 'value')})" for column, count in found)
        raise DataError(
            f"too many different texts to be categories, as ids and free text have them, in {listed} of "
            f"{_count(table.n_rows, 'row')}; leave out what is to play no part: {_exclude([c for c, _ in found])}"
        )


def _refuse_empty(table: Table) -> None:
    found = [column for column in table.columns if column.absent.all()]
    if found:
        raise DataError(
            f"{_count(len(found), 'column has', 'columns have')} no values: {_listed(found)}; "
            f"leave out what is empty: {_exclude(found)}"
        )


def _refuse_ids(table: Table, insisted: Sequence[str]) -> None:
    numeric = (column for column in table.columns if column.is_numeric)
    found = [column for column in numeric if column.name not in insisted and _is_id(column)]
    if found:
        raise DataError(
            f"{_listed(found)} {'looks' if len(found) == 1 else 'look'} like the number of a row, another in each and "
            f"nothing to cluster by; leave out what is an id: {_exclude(found)}; or name in --columns all "
            "columns to cluster by, if it is meant"
        )


def _is_id(column: Column) -> bool:
    """Return whether whole numbers are all distinct and named like an id or those of a numbering.

    A numbering has one step from row to row, or is shuffled and leaves no number out. Sorted values
    alone are no evidence: tables are often sorted by what they measure.
    """
    values = column.numbers()[~column.absent]
    if len(values) < 2 or not np.array_equal(values, np.floor(values)):
        return False
    if not _is_id_name(column.name):
        if len(values) < FEWEST_ORDERED:
            return False
        steps = np.diff(values)
        consecutive = float(values.max()) - float(values.min()) == len(values) - 1
        if not consecutive and not (steps == steps[0]).all():
            return False
    return len(np.unique(values)) == len(values)


def _is_id_name(name: str) -> bool:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return bool(words) and (words[0].lower() in ID_WORDS or words[-1].lower() in ID_LAST_WORDS)


def _filled(table: Table, weights: NDArray[Any] | None) -> Table:
    """Return the table as it will be clustered."""
    values = imputed_values(table, weights)
    columns = (column.filled(value) for column, value in zip(table.columns, values, strict=True))
    return Table(tuple(columns), table.n_rows) if values else table


def _without_missing(
    table: Table, weight: Column | None, labels: Column | None, drop: bool, impute: bool
) -> tuple[Table, Column | None, Column | None, list[str]]:
    """Return the complete rows, or refuse incomplete ones; what is imputed is not missing.

    Rows may lack a label: the estimator counts them.
    """
    used = () if impute else table.columns
    used = used if weight is None else (*used, weight)
    found = [column for column in used if column.absent.any()]
    if not found:
        return table, weight, labels, []
    incomplete = np.logical_or.reduce([column.absent for column in found])
    n_rows = int(np.count_nonzero(incomplete))
    counts = ", ".join(f"{column.name!r} ({_count(int(column.absent.sum()), 'row')})" for column in found)
    if not drop:
        raise DataError(
            f"values are missing in {counts}, {n_rows:,} of {_count(table.n_rows, 'row')} in all: leave these "
            f"rows out (--drop-missing) or the columns ({_exclude(found)}), or fill the values (--impute median)"
        )
    if n_rows == table.n_rows:
        raise DataError(f"every row lacks a value, in {counts}: leave columns out ({_exclude(found)})")
    note = f"{n_rows:,} of {_count(table.n_rows, 'row')} left out for missing values: {counts}"

    def complete(column: Column | None) -> Column | None:
        return None if column is None else Table((column,), len(incomplete)).take(~incomplete).columns[0]

    return table.take(~incomplete), complete(weight), complete(labels), [note]


def _refuse_infinite(table: Table, weight: Column | None) -> None:
    used = table.columns if weight is None else (*table.columns, weight)
    counts = {column: int(np.count_nonzero(np.isinf(column.numbers()))) for column in used if column.is_numeric}
    found = [column for column, count in counts.items() if count]
    if found:
        listed = ", ".join(f"{column.name!r} ({_count(counts[column], 'row')})" for column in found)
        raise DataError(f"values are infinite in {listed}: correct the file or leave columns out ({_exclude(found)})")


def _checked_weights(weight: Column) -> NDArray[Any]:
    weights = weight.numbers()
    negative = int(np.count_nonzero(weights < 0))
    if negative:
        raise DataError(
            f"the weights {weight.name!r} are negative in {_count(negative, 'row')}; a row counts 0 or more"
        )
    if not weights.any():
        raise DataError(f"the weights {weight.name!r} are all zero, so that no row counts")
    return weights


def _refuse_too_many_clusters(table: Table, weights: NDArray[Any] | None, clusters: int) -> None:
    """Refuse more clusters than there are distinct rows that count."""
    if clusters > table.n_rows:
        raise DataError(f"{clusters} clusters were asked for (-k), but {_only(table.n_rows, 'row')}")
    counted = table if weights is None else table.take(weights > 0)
    coded = [c.numbers() if c.is_numeric else c.positions(categories(c)) for c in counted.columns]
    n_rows, distinct = 0, 0
    while n_rows < counted.n_rows:
        # Mostly the first rows have enough distinct ones already.
        n_rows = min(max(4 * clusters, 4 * n_rows), counted.n_rows)
        distinct = len(np.unique(np.column_stack([codes[:n_rows] for codes in coded]), axis=0))
        if distinct >= clusters:
            return
    raise DataError(f"{clusters} clusters were asked for (-k), but {_only(distinct, 'distinct row')}")


def _only(number: int, what: str) -> str:
    way = "ask for fewer clusters" if number >= 2 else "a clustering needs 2 distinct rows or more"
    return f"there {'is' if number == 1 else 'are'} only {_count(number, what)}: {way}"


def _is_constant(column: Column) -> bool:
    return bool((column.values == column.values[0]).all())


def _constant_columns(table: Table) -> list[str]:
    return [
        f"column {column.name!r} has one value only ({column.values.tolist()[0]}) and plays no part"
        for column in table.columns
        if _is_constant(column)
    ]


def _spaces(table: Table, scale: str | None, *, clustering: bool) -> list[str]:
    """Return a note on the scales in which distances are taken, unless they are the table's own."""
    if scale is None or not any(column.is_numeric for column in table.columns):
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
    varying = [column for column in table.columns if column.is_numeric and not _is_constant(column)]
    if len(varying) < 2:
        return []
    # Relative to the largest of all, squares cannot overflow.
    largest = max(float(np.abs(column.numbers().astype(np.float64)).max()) for column in varying)
    variances = []
    for column in varying:
        values = column.numbers() / largest
        mean = np.average(values, weights=weights)
        variances.append(float(np.average((values - mean) ** 2, weights=weights)))
    dominant = int(np.argmax(variances))
    share = variances[dominant] / sum(variances)
    if share <= DOMINANT:
        return []
    return [
        f"column {varying[dominant].name!r} has {min(share, 0.999):.1%} of the variance and all but decides the "
        "clustering alone, because the columns are on very different scales; --scale minmax gives each the same range"
    ]


def _count(number: int, one: str, more: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def _listed(columns: Sequence[Column]) -> str:
    return ("column " if len(columns) == 1 else "columns ") + ", ".join(repr(column.name) for column in columns)


def _exclude(columns: Sequence[Column]) -> str:
    return exclude([column.name for column in columns])

"""From a file to the columns and rows to cluster, or to a refusal with a remedy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from numpy.typing import NDArray

from shallowrules.cli.advice import Refusal, Remedy, format_notes, refused_table
from shallowrules.cli.columns import (
    column_notes,
    columns_of,
    infinite_columns,
    label_warnings,
    repeated_ids,
    unusable_columns,
)
from shallowrules.cli.missing import Filled, complete_rows, fill, find_filled
from shallowrules.cli.opening import Opened, open_rows
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.cli.output import Note, messages_of
from shallowrules.encoding.roles import Roles
from shallowrules.errors import DataError, Finding, OptionError, OptionName, ShallowRulesWarning, counted
from shallowrules.files import Reading
from shallowrules.fitting.examining import Rows, Space, count_distinct_rows, largest_variance
from shallowrules.fitting.survey import Survey, find_facts
from shallowrules.measures.totals import refuse_infinite
from shallowrules.partitions import WholeTable
from shallowrules.sources import Where
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.tables.times import TIME_TYPES

__all__ = ["LoadedTable", "prepared"]

DOMINANT_SHARE = 0.9
"""Share of the variance above which a column is said to decide the clustering alone."""


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """The input of a clustering: complete rows of numbers and categories, or imputed ones, their weights and labels.

    Parameters
    ----------
    rows : WholeTable or ThreadedPartitions
        In memory or in parts, with the columns of weights, labels and measure.
    columns : tuple of str
        Those to cluster and to explain by; `weight_column`, `label_column` and `measure_column` may stand beside
        them.
    n_rows : int
    notes, warnings : tuple of Note
        What a reader of the rules should know, and what may be wrong with them.
    cluster_columns, explain_columns : list of str or None
        None for the estimator's default.
    other_columns : tuple of str
        Those of the source that are not in `columns`.
    left_out : int
        Rows that are left out for missing values.
    filled : tuple of Filled
        The substitutes for missing values.
    scale : str or None
        The scale of the clustering; "auto" is replaced by the one that it stands for.
    """

    rows: Rows
    columns: tuple[str, ...]
    n_rows: int
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]
    weight_column: str | None = None
    label_column: str | None = None
    measure_column: str | None = None
    cluster_columns: list[str] | None = None
    explain_columns: list[str] | None = None
    other_columns: tuple[str, ...] = ()
    left_out: int = 0
    filled: tuple[Filled, ...] = ()
    scale: str | None = None

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
    def measure(self) -> Column | None:
        """The column whose total is shown by cluster, of rows in memory."""
        return None if self.measure_column is None else self._whole[self.measure_column]

    @property
    def _whole(self) -> Table:
        assert isinstance(self.rows, WholeTable)
        return self.rows.table


@contextmanager
def prepared(where: Where, fit: FitOptions, reading: Reading, memory: int | None = None) -> Iterator[LoadedTable]:
    """Read a table and choose its rows and columns; with `memory`, in bytes, it is in parts, until the context ends.

    Raises
    ------
    RefusedTable
        If columns hold dates or the like, have too many categories, look like an ID, have no values or are nearly
        numbers; if values are missing or infinite. All of these are reported at once.
    DataError
        If the file is not a table; if weights are negative or all zero; if there are fewer distinct rows than
        clusters; or if labels are not a clustering.
    """
    if fit.drop_missing and fit.impute is not None:
        raise OptionError("--drop-missing and --impute exclude each other: rows are excluded, or their values imputed")
    with ExitStack() as sources:
        try:
            refusals: list[Refusal] = []
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ShallowRulesWarning)
                opened = open_rows(sources, where, fit, reading, memory, refusals)
            yield _judged(opened, fit, refusals, messages_of(caught))
        except DataError:
            sources.pop_all().close()  # which would say again in which file
            raise


def _judged(opened: Opened, fit: FitOptions, refusals: list[Refusal], said: Sequence[tuple[str, Note]]) -> LoadedTable:
    """Return a table that can be clustered, with notes on it, or raise the reasons why it cannot.

    `said` are notes and warnings of its reading.
    """
    rows, columns = opened.rows, opened.columns
    roles = _roles(opened, fit, refusals)
    facts = find_facts(rows, roles)
    refusals += unusable_columns(opened, facts, fit, refusals)
    ids = repeated_ids(opened, facts, fit, columns_of(refusals))
    n_given = facts.rows
    rows, notes, missing = complete_rows(rows, facts, roles, fit, columns_of(refusals), ids)
    said_of_columns = format_notes(opened.rows.column_notes)
    notes = [*(message for kind, message in said if kind == "note"), *said_of_columns, *notes]
    refusals += missing
    if rows is not opened.rows and not refusals:
        facts = find_facts(rows, roles)
    refusals += infinite_columns(opened, facts, columns_of(refusals))
    if refusals:
        raise refused_table(refusals, said)
    _refuse_values(facts, roles)
    filled = find_filled(rows, facts, roles)
    rows, imputed = fill(rows, filled)
    cluster_columns = None if fit.columns is None else [name for name in columns if name in fit.columns]
    explain_columns = None if fit.explain is None else list(dict.fromkeys(fit.explain))
    spaces = cluster_columns or (explain_columns if fit.labels is not None else None) or columns
    space = Space(roles, tuple(spaces), imputed)
    if fit.clusters is not None:
        _refuse_too_many_clusters(rows, space, facts.rows, fit.clusters)
    notes += column_notes(rows, opened, facts, ids, fit)
    scale, scale_notes, dominant = _distances(rows, space, facts, fit)
    notes += [*scale_notes, *_role_notes(roles)]
    return LoadedTable(
        rows=rows,
        columns=columns,
        n_rows=facts.rows,
        notes=tuple(notes),
        warnings=(
            *(message for kind, message in said if kind == "warning"),
            *label_warnings(opened, facts, fit),
            *dominant,
        ),
        weight_column=roles.weight,
        label_column=fit.labels,
        measure_column=roles.measure,
        cluster_columns=cluster_columns,
        explain_columns=explain_columns,
        other_columns=tuple(name for name in rows.all_names if name not in set(columns)),
        left_out=n_given - facts.rows,
        filled=tuple(filled),
        scale=scale,
    )


def _roles(opened: Opened, fit: FitOptions, refusals: list[Refusal]) -> Roles:
    """Return the roles of the columns; refuse weights and a measure that are not numbers, and leave these out."""
    types, weight, measure = opened.rows.types, fit.weight, fit.measure
    if weight is not None and types[weight] not in ("integer", "float"):
        if weight not in columns_of(refusals):
            refusals.append(_weights_without_numbers(weight, types[weight]))
        weight = None
    if measure is not None and types[measure] not in ("integer", "float"):
        if measure not in columns_of(refusals):
            refusals.append(_measure_without_numbers(measure, types[measure]))
        measure = None
    return Roles(opened.columns, fit.labels, weight, filling=fit.filling, measure=measure)


def _refuse_values(facts: Survey, roles: Roles) -> None:
    """Raise DataError for weights, a measure or labels whose values cannot be used."""
    _refuse_weights(facts)
    if roles.measure is not None:
        infinite = sum(n for (_, name, _), n in facts.wrong.items() if name == roles.measure)
        refuse_infinite(roles.measure, infinite)
    if roles.labels is not None:
        _refuse_labels(roles.labels, len(facts.labels), facts.counted)


def _distances(rows: Rows, space: Space, facts: Survey, fit: FitOptions) -> tuple[str | None, list[Note], list[Note]]:
    """Return the scale in which distances are taken, notes on it, and warnings if one column decides them."""
    types = [rows.types[name] for name in space.names]
    has_numbers = any(kind in ("integer", "float", *TIME_TYPES) for kind in types)
    kinds = {each.counts_as for each in facts.columns if each.name in space.names}
    scale, clustering = fit.scale_of(kinds), fit.labels is None
    as_they_are = scale is None and not fit.balances(kinds) and clustering
    dominant = _dominant_column(rows, space, facts) if as_they_are else []
    return scale, _scale_notes(scale, has_numbers=has_numbers, clustering=clustering), dominant


def _role_notes(roles: Roles) -> list[Note]:
    """Return notes on the column of weights and on the measure."""
    notes = []
    if roles.weight is not None:
        notes.append(Note(f"rows are weighted by column {roles.weight!r}"))
    if roles.measure is not None:
        fact = f"column {roles.measure!r} is added up in each cluster, and is neither clustered nor tested by rules"
        notes.append(Note(fact))
    return notes


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
    message = f"the weights {name!r} are not numbers: they were read as {kind}; name a column of numbers (--weight)"
    return Refusal((Finding("not numeric", message, name),), message, Remedy())


def _measure_without_numbers(name: str, kind: str) -> Refusal:
    message = f"the measure {name!r} cannot be added up: it was read as {kind}; name a column of numbers (--measure)"
    return Refusal((Finding("not numeric", message, name),), message, Remedy())


def _refuse_weights(facts: Survey) -> None:
    """Raise DataError if weights are negative or all zero."""
    if facts.weight is None:
        return
    negative = sum(n for (kind, _, _), n in facts.wrong.items() if kind == "negative")
    if negative:
        raise DataError(
            f"the weights {facts.weight.name!r} are negative in {counted(negative, 'row')}; weights must be 0 or more"
        )
    if facts.weight.ends == (0, 0):
        raise DataError(f"the weights {facts.weight.name!r} are all zero, so no row counts")


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
    way = "ask for fewer clusters" if number >= 2 else "a clustering needs at least 2 distinct rows"
    return f"there {'is' if number == 1 else 'are'} only {counted(number, what)}: {way}"


def _scale_notes(scale: str | None, *, has_numbers: bool, clustering: bool) -> list[Note]:
    """Return a note on the scales in which distances are taken, unless they are the table's own."""
    if scale is None or not has_numbers:
        return []
    how = {
        "minmax": "every column of numbers is scaled to the range 0 to 1",
        "standard": "every column of numbers is scaled to mean 0 and standard deviation 1",
        "robust": "every column of numbers is scaled to median 0 and an interquartile range of 1",
    }[scale]
    purpose = "for the clustering" if clustering else "to measure distances"
    return [Note(f"the rules are in the table's own units; {purpose}, {how}", f" (--scale {scale})")]


def _dominant_column(rows: Rows, space: Space, facts: Survey) -> list[Note]:
    """Return a warning if one of several columns has nearly all of the variance, which k-means divides."""
    name, share = largest_variance(rows, space, facts)
    if share <= DOMINANT_SHARE:
        return []
    return [
        Note(
            f"column {name!r} has {min(share, 0.999):.1%} of the variance and nearly decides the clustering alone, "
            "because the columns are on very different scales",
            "; --scale minmax gives each the same range",
        )
    ]

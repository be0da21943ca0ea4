"""What missing values of a table in parts are taken as: what `encoding.impute_table` finds of the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from shallowrules.encoding import median_rank, most_frequent
from shallowrules.encoding.roles import Roles
from shallowrules.errors import DataError
from shallowrules.fitting.assembling import imputation_note
from shallowrules.fitting.ranked import RankedColumn, Weighed, ranked_values
from shallowrules.fitting.survey import Survey
from shallowrules.measures.summation import in_units
from shallowrules.partitions import Part, Partitions
from shallowrules.partitions.merging import Added
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import ColumnType, Value

__all__ = ["find_imputed", "imputation_notes"]


def find_imputed(parts: Partitions, facts: Survey, roles: Roles) -> tuple[Number | Value | None, ...]:
    """Return what a missing value of each column is taken as, None where none is missing; empty if none is anywhere.

    Medians take a few passes, the most frequent categories one.

    Raises
    ------
    DataError
        If a column has no value in the rows that count.
    """
    key = ("imputed", roles)
    if key not in parts.kept:
        parts.kept[key] = _find_imputed(parts, facts, roles)
    found: tuple[Number | Value | None, ...] = parts.kept[key]
    return found


def _find_imputed(parts: Partitions, facts: Survey, roles: Roles) -> tuple[Number | Value | None, ...]:
    lacking = {name: each for name, each in zip(roles.columns, facts.columns, strict=True) if each.present < facts.rows}
    if not lacking:
        return ()
    for name, each in lacking.items():
        if each.counted_ends is None and not each.counted_values:
            raise DataError(f"column {name!r} has no values, so that none can be imputed; exclude it")
    read = _Present(roles, tuple(lacking), facts.weights.total)
    distinct = {name: tuple(sorted(each.counted_values)) for name, each in lacking.items() if each.counted_values}
    sums = parts.map_reduce(_weigh, (read, distinct))
    found: dict[str, Number | Value] = {name: most_frequent(values, sums[name]) for name, values in distinct.items()}
    medians = {
        j: RankedColumn(np.dtype(parts.kinds[name].dtype), each.counted_ends, [median_rank(int(sums[name][0]))])
        for j, (name, each) in enumerate(lacking.items())
        if each.counted_ends is not None
    }
    for j, values in ranked_values(parts, read, medians).items():
        found[read.names[j]] = next(iter(values.values()))
    return tuple(found.get(name) for name in roles.columns)


def imputation_notes(
    facts: Survey, roles: Roles, imputed: tuple[Number | Value | None, ...], types: Mapping[str, ColumnType]
) -> tuple[str, ...]:
    """Return what a reader of the rules has to know of missing values that were imputed."""
    if not imputed:
        return ()
    columns = zip(roles.columns, facts.columns, imputed, strict=True)
    return tuple(
        imputation_note(name, facts.rows - each.present, value, types[name])
        for name, each, value in columns
        if value is not None
    )


@dataclass(frozen=True)
class _Present:
    """Reads the values of some columns that are present in rows that count.

    Parameters
    ----------
    roles : Roles
    names : tuple of str
    total : float
        Weight of all rows that count.
    """

    roles: Roles
    names: tuple[str, ...]
    total: float

    def __call__(self, part: Part) -> list[Weighed]:
        """Return the values of each column with their weights."""
        counted, weight = self.roles.counted(part), self.roles.weights(part)
        units = None if weight is None else in_units(weight, self.total)
        found = []
        for name in self.names:
            column = part[name]
            rows = ~column.absent if counted is None else counted & ~column.absent
            found.append(Weighed(column.values[rows], None if units is None else units[rows]))
        return found


def _weigh(part: Part, state: tuple[_Present, Mapping[str, tuple[Value, ...]]]) -> Added:
    """Return by column the weight of its values, of each category where it has some."""
    read, distinct = state
    found = {}
    for name, column in zip(read.names, read(part), strict=True):
        values = distinct.get(name, ())
        places = np.zeros(len(column.values), np.intp)
        if values:
            places = replace(part[name], values=column.values, missing=None).positions(values)
        sums = np.bincount(places, column.weight, max(1, len(values)))
        found[name] = sums.astype(np.int64)
    return Added(found)

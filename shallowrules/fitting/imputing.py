"""Substitutes for missing values of a table in parts: those that `encoding.impute_table` finds in the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shallowrules.encoding.imputing import Present, present_values, values_for_missing
from shallowrules.encoding.roles import Roles
from shallowrules.fitting.assembling import imputation_note
from shallowrules.fitting.survey import Survey
from shallowrules.measures.summation import in_units
from shallowrules.partitions import Part, Partitions
from shallowrules.tables.column import ColumnType
from shallowrules.tables.conversion import Number
from shallowrules.tables.values import Value

__all__ = ["find_imputed", "imputation_notes"]


def find_imputed(parts: Partitions, facts: Survey, roles: Roles) -> tuple[Number | Value | None, ...]:
    """Return each column's substitute for missing values, None where none is missing; empty if none are.

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
    lacking = [each for each in facts.columns if each.n_missing and roles.filling.fills(each)]
    if not lacking:
        return ()
    names = tuple(each.name for each in lacking if not roles.filling.adds_category(each))
    dtypes = [np.dtype(parts.kinds[name].dtype) for name in names]
    read = _ReadParts(roles, names, facts.weights.total)
    found = values_for_missing(parts.map_reduce, read, lacking, dtypes, roles.filling)
    return tuple(found.get(name) for name in roles.columns)


@dataclass(frozen=True)
class _ReadParts:
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

    def __call__(self, part: Part) -> list[Present]:
        counted, weight = self.roles.counted(part), self.roles.weights(part)
        units = None if weight is None else in_units(weight, self.total)
        return [present_values(part[name], counted, units) for name in self.names]


def imputation_notes(
    facts: Survey, roles: Roles, imputed: tuple[Number | Value | None, ...], types: Mapping[str, ColumnType]
) -> tuple[str, ...]:
    """Return the notes on missing values that were imputed."""
    if not imputed:
        return ()
    columns = zip(roles.columns, facts.columns, imputed, strict=True)
    return tuple(
        imputation_note(
            name,
            facts.rows - each.present,
            value,
            types[name],
            is_new=each.type == "text" and value not in each.values,
        )
        for name, each, value in columns
        if value is not None
    )

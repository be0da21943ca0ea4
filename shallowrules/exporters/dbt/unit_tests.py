"""Unit tests of a model: rows at the limits of the rules, and the cluster that the rules give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np

from shallowrules.exporters.dbt.jinja import QUOTE, YAML
from shallowrules.exporters.dbt.options import DbtOptions
from shallowrules.exporters.sql.declared import Held, held_by
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.rules import Number, RuleColumn, RuleSet
from shallowrules.rules.boundary import Cell, neighbors, table_of_rows, threshold_rows
from shallowrules.sources.qualified_names import split_table
from shallowrules.tables.conversion import DOUBLE_EXACT
from shallowrules.tables.labels import cluster_of
from shallowrules.tables.times import format_time

__all__ = ["rows_of_unit_test"]

MAX_ROWS = 50

LARGEST_SINGLE = float(np.finfo(np.float32).max)


def rows_of_unit_test(rules: RuleSet, settings: DbtOptions, dialect: Dialect) -> list[tuple[str, str]]:
    """Return rows at the limits of the rules, as YAML: as they are given, and as they are expected, with the cluster.

    There are none where dbt could not make the rows: it escapes nothing in the names that it puts in quotes, and treats
    names that differ only in case as one.
    """
    names, tested = settings.names_of(rules), rules.tested_columns
    columns = {*names, *(settings.table_types or rules.statistics.other_columns)}
    quoted = any(map(QUOTE.search, [*columns, *split_table(settings.table)]))
    if not tested or quoted or len({name.lower() for name in columns}) < len(columns):
        return []
    declared = {
        rules.columns[feature].name: held_by(dialect, settings.table_types.get(names[feature], ""))
        for feature in tested
    }
    rows = threshold_rows(rules, MAX_ROWS, lambda column, number: _beside(column, number, declared[column.name]))
    labels: dict[int | None, int] = {cluster.index: cluster.label for cluster in rules.clusters}
    written = []
    for row, label in zip(rows, rules.assign(table_of_rows(rules, rows)), strict=True):
        given = {names[i]: _given(rules.columns[i], row[i], declared[rules.columns[i].name]) for i in tested}
        written.append((_mapping(given), _mapping({**given, settings.cluster_column: labels.get(cluster_of(label))})))
    return written


def _mapping(values: Mapping[str, Cell]) -> str:
    """Return a row as YAML."""
    shown = (
        f"{YAML.identifier(name)}: {YAML.string(value) if isinstance(value, str) else YAML.number(value)}"
        for name, value in values.items()
    )
    return f"{{{', '.join(shown)}}}"


def _beside(column: RuleColumn, number: Number, held: Held | None) -> tuple[Number, Number]:
    """Return the last value up to a number and the first above it that the column's type holds.

    Where the type is not known it may be a decimal, so that the next value has as many digits as the number.
    """
    if column.is_whole or (held is not None and held.floating and not held.singles):
        return neighbors(column, number)
    if held is not None and held.singles and abs(number) < LARGEST_SINGLE:
        single = np.float32(number)
        below = np.nextafter(single, np.float32(-np.inf)) if single > number else single
        return float(below), float(np.nextafter(below, np.float32(np.inf)))
    exact = Fraction(repr(float(number)))
    digits = -int(Decimal(repr(float(number))).normalize().as_tuple().exponent)
    digits = max(digits, 0) if held is None or held.scale is None else held.scale
    below = Fraction(math.floor(exact * 10**digits), 10**digits)
    above = float(below + Fraction(1, 10**digits))
    return (float(below), above) if above > number else neighbors(column, number)


def _given(column: RuleColumn, value: Cell, held: Held | None) -> Cell:
    """Return a value as a row of a unit test has it: as a text where YAML or the warehouse might change it."""
    if value is None or isinstance(value, str | bool):
        return value
    if column.type == "duration":
        return f"{Decimal(value).scaleb(-6):f} seconds"
    if column.is_time:
        return format_time(column.type, int(value))
    converts = column.decimal != "." or column.format
    if converts and column.conversion.is_for_sql and (held is None or held.kind == "texts"):
        return column.conversion.written(value)
    if abs(value) < DOUBLE_EXACT and value == int(value):
        return int(value)
    plain = abs(value) < DOUBLE_EXACT and "e" not in repr(value) and float(f"{value:.15g}") == value
    return value if plain else repr(value)

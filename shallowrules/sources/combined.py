"""Several sources that are one table: the rows of one below those of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shallowrules.errors import DataError, Finding
from shallowrules.sources.base import Provenance, Source, in_file, named
from shallowrules.sources.engine import DuckDBSource
from shallowrules.tables.column import Column, ColumnType
from shallowrules.tables.conversion import PLAIN, Conversion
from shallowrules.tables.number_format import NumberFormat
from shallowrules.tables.times import TIME_TYPES

__all__ = ["FOUND_TYPES", "CombinedSource", "check_one_format"]


class CombinedSource(Source):
    """Rows of several sources with the same columns, in whatever order each has these.

    A column has one type in all of them. Only where types are found, not declared (as in text files), do whole numbers
    in one become floats like those of another.

    Parameters
    ----------
    parts : sequence of DuckDBSource
        In the order of their rows; one without rows adds nothing. DataError names the part and the column where names
        differ.
    """

    def __init__(self, parts: Sequence[DuckDBSource]) -> None:
        first = parts[0]
        super().__init__(
            first.names, Provenance(first.provenance.kind, tuple(f for part in parts for f in part.provenance.files))
        )
        for part in parts[1:]:
            lacking = [name for name in first.names if name not in set(part.names)]
            added = [name for name in part.names if name not in set(first.names)]
            if lacking or added:
                what = f"has no column {lacking[0]!r}" if lacking else f"has a column {added[0]!r}"
                other = "has" if lacking else "has not"
                raise DataError(
                    f"{part.provenance} {what}, which {first.provenance} {other}: files of one table have the "
                    "same columns"
                )
        self.parts = tuple(part for part in parts if not _is_empty(part)) or tuple(parts[:1])

    def count_rows(self) -> int:
        """Return the number of rows of all parts; DataError if there are none."""
        n_rows = 0
        for part in self.parts:
            with named(str(part.provenance)):
                n_rows += part.count_rows()
        return n_rows

    def zero_padded(self) -> set[str]:
        """Return columns whose whole numbers are written with leading zeros in any part."""
        return set().union(*(part.zero_padded() for part in self.parts))

    def read(self, positions: Sequence[int], as_text: Sequence[str], findings: list[Finding]) -> list[Column]:
        """Return columns by position, of one type each."""
        names = [self.names[j] for j in positions]
        tables = []
        for part in self.parts:
            found: list[Finding] = []
            where = str(part.provenance)
            with named(where):
                tables.append(part.read(part.positions(names), as_text, found))
            findings += [in_file(finding, where) for finding in found]
            self.column_notes |= part.column_notes
        for i, name in enumerate(names):
            in_parts = ((str(part.provenance), table[i]) for part, table in zip(self.parts, tables, strict=True))
            check_one_format(name, [(where, c.type, c.conversion) for where, c in in_parts if not c.absent.all()])
        refused = {finding.column for finding in findings}
        return [
            _stacked([table[i] for table in tables], self.parts, refused=name in refused)
            for i, name in enumerate(names)
        ]


def check_one_format(name: str, found: Sequence[tuple[str, ColumnType, Conversion]]) -> None:
    """Raise DataError where files write the numbers or dates of a column in several formats, of which rules keep one.

    Each file is given by its name and by the column in it. Whole numbers as any program writes them go with a
    format that has marks between digits alone.
    """
    written = {each.number_format: where for where, kind, each in found if kind in ("integer", "float")}
    if all(each.has_marks_alone for each in written):
        plain = [where for where, kind, each in found if kind == "integer" and each.number_format == NumberFormat()]
        written = {each: where for each, where in written.items() if where not in plain}
    if len(written) > 1:
        ways = " and ".join(f"{each.example} in {where}" for each, where in written.items())
        raise DataError(
            f"column {name!r} is written as {ways}: all files of a table must write the numbers of a column in the "
            "same way, because rules store one; correct a file"
        )
    dates = dict.fromkeys(each.dates for _, _, each in found if each.dates)
    if len(dates) > 1:
        raise DataError(
            f"column {name!r} has dates written as {' and '.join(dates)} in different files: a table has "
            "one format for a column"
        )


def _is_empty(part: DuckDBSource) -> bool:
    with named(str(part.provenance)):
        return part.is_empty


def _stacked(columns: Sequence[Column], parts: Sequence[Source], *, refused: bool) -> Column:
    """Return columns of one name as one column; one that is refused anyway is returned as text."""
    types = {} if refused else _types(columns, parts)
    if refused or "text" in types.values():
        kind: ColumnType = "text"
    elif "float" in types.values() and "integer" in types.values():
        kind = "float"
    else:
        kind = next(iter(types.values()), columns[0].type)
    missing = np.concatenate([column.absent for column in columns])
    if kind in ("integer", "float", *TIME_TYPES):
        # A column without values in a part may have any type there.
        filled = [c.values if c.is_numeric else np.full(len(c.values), np.nan) for c in columns]
        if kind == "float":
            filled = [np.where(c.absent, np.nan, values) for c, values in zip(columns, filled, strict=True)]
        else:
            filled = [np.where(c.absent, 0, values).astype(np.int64) for c, values in zip(columns, filled, strict=True)]
        values = np.concatenate(filled)
        return replace(
            columns[0],
            type=kind,
            values=values,
            missing=missing if kind != "float" and missing.any() else None,
            conversion=_conversion(columns),
        )
    objects = [
        np.where(column.absent, np.array(None, dtype=object), column.values.astype(object)) for column in columns
    ]
    return Column(columns[0].name, kind, np.concatenate(objects), conversion=_conversion(columns))


def _types(columns: Sequence[Column], parts: Sequence[Source]) -> dict[str, ColumnType]:
    """Return the type in each part that has values; DataError where they do not go together."""
    types: dict[str, ColumnType] = {}
    for column, part in zip(columns, parts, strict=True):
        if column.absent.all() and part.provenance.kind in FOUND_TYPES:
            continue
        where = str(part.provenance)
        for other, kind in types.items():
            numbers = {kind, column.type} == {"integer", "float"} and part.provenance.kind in FOUND_TYPES
            if kind != column.type and not numbers:
                raise DataError(
                    f"column {column.name!r} is {kind} in {other} and {column.type} in {where}: a table has one type "
                    "for a column"
                )
        types[where] = column.type
    return types


FOUND_TYPES = ("csv", "json", "workbook")
"""Kinds of sources whose types are found from the values."""


def _conversion(columns: Sequence[Column]) -> Conversion:
    """Return the conversions that the text of any part needed."""
    told = next((c.conversion for c in columns if c.conversion.decimal != "." or c.conversion.format), PLAIN)
    dates = next((c.conversion.dates for c in columns if c.conversion.dates), "")
    nulls = tuple(dict.fromkeys(token for c in columns for token in c.conversion.nulls))
    return replace(told, nulls=nulls, dates=dates)

"""A user's options for reading a file whose text is converted by the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shallowrules.files import Reading
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.sources.number_formats import OTHER, formats_by_column
from shallowrules.tables.conversion import Conversion

__all__ = ["read_as_told"]


def read_as_told(rules: RuleSet, reading: Reading, columns: Mapping[str, str] | None = None) -> RuleSet:
    """Return rules that read a file by their own conversions and the user's options.

    Columns of text, and those whose text the rules convert, are read by the rules; the null markers of the reading
    are added to theirs, and its number formats take precedence. All other columns are read as `Reading`
    says.

    Parameters
    ----------
    rules : RuleSet
    reading : Reading
    columns : mapping from str to str, optional
        What the file calls columns of the rules that have another name there.
    """
    nulls = tuple(token.strip(" ") for token in reading.null)
    if not nulls and reading.decimal == "." and reading.thousands is None and not reading.format:
        return rules
    formats = formats_by_column(reading.format, Conversion(reading.decimal))
    tested = set(rules.tested_columns)

    def told(column: RuleColumn) -> RuleColumn:
        if not (column.converts_text or column.type == "text"):
            return column
        column = replace(column, nulls=tuple(dict.fromkeys((*column.nulls, *nulls))))
        if not (column.from_text and column.is_numeric):
            return column
        name = (columns or {}).get(column.name, column.name)
        numbers = formats.get(name) or (Conversion(reading.decimal) if name in formats else _written(column, reading))
        return replace(column, decimal=numbers.decimal, format=numbers.format)

    return replace(rules, columns=tuple(told(c) if j in tested else c for j, c in enumerate(rules.columns)))


def _written(column: RuleColumn, reading: Reading) -> Conversion:
    """Return how the numbers of a column are written, with the marks that were given for the whole file."""
    written = column.conversion.number_format
    if reading.decimal != ".":
        thousands = OTHER[reading.decimal] if written.thousands == reading.decimal else written.thousands
        written = replace(written, decimal=reading.decimal, thousands=thousands)
    if reading.thousands is not None:
        decimal = OTHER.get(reading.thousands, written.decimal)
        written = replace(written, decimal=decimal, thousands=reading.thousands)
    return Conversion.of(written)

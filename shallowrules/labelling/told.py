"""What a person says of how a file is read, where the rules' own conversions decide how its text is read."""

from __future__ import annotations

from dataclasses import replace

from shallowrules.files import Reading
from shallowrules.rules import RuleColumn, RuleSet

__all__ = ["read_as_told"]


def read_as_told(rules: RuleSet, reading: Reading) -> RuleSet:
    """Return rules that read a file as they know how to, and as a person says.

    Columns of text, and those whose text the rules convert, are read by the rules; to these, what the reading says
    means "no value" is added, and its decimal comma goes before. All other columns are read as `Reading` says.

    Parameters
    ----------
    rules : RuleSet
    reading : Reading
    """
    nulls = tuple(token.strip(" ") for token in reading.null)
    if not nulls and reading.decimal == ".":
        return rules
    tested = set(rules.tested_columns)
    columns = (_told(c, nulls, reading.decimal) if j in tested else c for j, c in enumerate(rules.columns))
    return replace(rules, columns=tuple(columns))


def _told(column: RuleColumn, nulls: tuple[str, ...], decimal: str) -> RuleColumn:
    if not (column.converts_text or column.type == "text"):
        return column
    column = replace(column, nulls=tuple(dict.fromkeys((*column.nulls, *nulls))))
    return replace(column, decimal=decimal) if column.from_text and decimal != "." else column

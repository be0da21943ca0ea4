"""Finding the columns that rules test in a table: their positions, and whether their values suit the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shallowrules.errors import DataError, Finding, OptionName, nearest
from shallowrules.exporters.sql import DIALECTS, dialect_of_database
from shallowrules.files import Reading
from shallowrules.labelling.column_types import column_types, dialect_of
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.sources.database import DatabaseSource
from shallowrules.tables.names import find_name, show_absent
from shallowrules.tables.times import NATURES

__all__ = ["FoundColumns", "find_columns", "find_tested_columns", "reading_for"]

_KINDS = {"number": "numbers", "boolean": "truth values", "other": "dates or the like", **NATURES}


@dataclass(frozen=True)
class FoundColumns:
    """The columns that rules test, in the rules and in a database.

    Parameters
    ----------
    columns : tuple of RuleColumn
    positions : tuple of int
        Where the database's table has each of them.
    names : mapping from str to str
        The database's names of columns of the rules: the tested ones, and others that were given.
    types : mapping from str to str
        The declared type of each column of the table; empty for a query.
    dialect : str
        The dialect of the database's SQL.
    """

    columns: tuple[RuleColumn, ...]
    positions: tuple[int, ...]
    names: Mapping[str, str]
    types: Mapping[str, str]
    dialect: str

    @property
    def options(self) -> dict[str, Any]:
        """The options of the SQL exporter for the facts about the database and its columns."""
        guards = "usual" if self.types else "full"
        return {"dialect": self.dialect, "columns": self.names, "types": self.types, "guards": guards}


def reading_for(rules: RuleSet, reading: Reading, columns: Mapping[str, str] | None = None) -> Reading:
    """Return how a file is read for rules: they know the formats of their columns, so none are detected.

    `columns` are the file's names of columns of the rules that have a different name there.
    """
    told = {each.rpartition("=")[0] for each in reading.format}
    given = [rules.columns[feature] for feature in rules.tested_columns]
    # A mark given for the whole file applies where the rules leave the reading to the file.
    decided = [column for column in given if column.converts_text or reading.thousands is None]
    tested = [(columns or {}).get(column.name, column.name) for column in decided]
    return replace(reading, format=(*reading.format, *(f"{name}=" for name in tested if name not in told)))


def find_tested_columns(rules: RuleSet, source: DatabaseSource, given: Mapping[str, str]) -> FoundColumns:
    """Find the columns that rules test in a table of a database.

    Parameters
    ----------
    rules : RuleSet
    source : DatabaseSource
    given : mapping from str to str
        The database's names of columns of the rules that have a different name there.

    Raises
    ------
    DataError
        If one is missing, or is declared as a different type than the rules test.
    """
    tested = tuple(rules.columns[feature] for feature in rules.tested_columns)
    dialect = dialect_of_database(source.rows.backend)
    fold = str.casefold if dialect is None else DIALECTS[dialect].names.fold
    positions = find_columns(tested, source.names, given, str(source.rows), fold)
    _check_types(tested, positions, source)
    names = {column.name: source.names[j] for column, j in zip(tested, positions, strict=True)}
    return FoundColumns(tested, positions, {**given, **names}, column_types(source), dialect_of(source))


def find_columns(
    tested: Sequence[RuleColumn],
    names: Sequence[str],
    given: Mapping[str, str],
    where: str | None,
    *folds: Callable[[str], str],
) -> tuple[int, ...]:
    """Return the positions in a table of the columns that rules test.

    Parameters
    ----------
    tested : sequence of RuleColumn
    names : sequence of str
        Of all columns of the table.
    given : mapping from str to str
        The table's names of columns of the rules that have a different name there.
    where : str or None
        The table's name in a message; None where the caller puts it before the message.
    *folds : callable
        As `find_name` has them.

    Raises
    ------
    DataError
        If one is missing.
    """
    missing, positions = [], []
    near: list[OptionName] = []
    for column in tested:
        name = given.get(column.name, column.name)
        found = find_name(name, names, *folds)
        if found is not None:
            positions.append(names.index(found))
            continue
        missing.append(name)
        if (alike := nearest(name, names)) is not None:
            near.append(OptionName("columns", {column.name: alike}))
    if missing:
        listed, shown = ", ".join(show_absent(name, names) for name in missing), ", ".join(map(repr, names))
        lacking = f"the rules test {listed}, which {where} does not have; its columns are: {shown}"
        if where is None:
            lacking = f"there is no column {listed}, which the rules test; the columns are: {shown}"
        parts: list[str | OptionName]
        parts = [f"{lacking}. ", OptionName("columns", {"OLD": "NEW"}), " says what a column is called there"]
        if len(near) == len(missing):
            parts += ["; if that is the column, use", *(part for option in near for part in (" ", option))]
        findings = [Finding("missing column", f"the rules test {show_absent(name, names)}", name) for name in missing]
        raise DataError(*parts, findings=findings)
    return tuple(positions)


def _check_types(tested: tuple[RuleColumn, ...], positions: tuple[int, ...], source: DatabaseSource) -> None:
    wrong = [
        f"column {source.names[j]!r} of {source.rows} holds {_KINDS.get(kind, kind)}, and the rules test it as "
        f"{column.type}"
        for column, j in zip(tested, positions, strict=True)
        if (kind := source.declared[j].kind) is not None and kind not in _allowed_kinds(column)
    ]
    if wrong:
        raise DataError(f"{'; '.join(wrong)}; cast it in a view, or with ", OptionName("query"))


def _allowed_kinds(column: RuleColumn) -> set[str]:
    """Return the kinds of declared types whose values rules can compare as a column's type."""
    if column.type == "boolean":
        return {"boolean", "number", "text"}
    if column.type == "text":
        return {"text", "number"} if column.holds_numbers else {"text"}
    if column.is_time:
        return {"date", "timestamp"} if column.type in ("date", "timestamp") else {column.type}
    return {"number", "text"} if column.from_text else {"number"}

"""The columns that rules test, found in a database: where they are, and whether they hold what the rules compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shallowrules.errors import DataError, nearest
from shallowrules.exporters.sql import DIALECTS, dialect_of_database
from shallowrules.files import Reading
from shallowrules.labelling.column_types import column_types, dialect_of
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.sources.database import DatabaseSource
from shallowrules.tables.times import NATURES

__all__ = ["FoundColumns", "find_tested_columns", "reading_for"]

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
        What the database calls columns of the rules: those that are tested, and others that were given.
    types : mapping from str to str
        What it declares each column of the table as; none of a query.
    dialect : str
        Its SQL.
    """

    columns: tuple[RuleColumn, ...]
    positions: tuple[int, ...]
    names: Mapping[str, str]
    types: Mapping[str, str]
    dialect: str

    @property
    def options(self) -> dict[str, Any]:
        """The options of the exporter of SQL that say what is known of the database and its columns."""
        guards = "usual" if self.types else "full"
        return {"dialect": self.dialect, "columns": self.names, "types": self.types, "guards": guards}


def reading_for(rules: RuleSet, reading: Reading) -> Reading:
    """Return how a file is read for rules: they say how their columns are written, so that no format is looked for."""
    told = {each.rpartition("=")[0] for each in reading.format}
    tested = [rules.columns[feature].name for feature in rules.tested_columns]
    return replace(reading, format=(*reading.format, *(f"{name}=" for name in tested if name not in told)))


def find_tested_columns(rules: RuleSet, source: DatabaseSource, given: Mapping[str, str]) -> FoundColumns:
    """Find the columns that rules test in a table of a database.

    Parameters
    ----------
    rules : RuleSet
    source : DatabaseSource
    given : mapping from str to str
        What the database calls columns of the rules that have another name there.

    Raises
    ------
    DataError
        If one is missing, or is declared as another type than the rules test.
    """
    tested = tuple(rules.columns[feature] for feature in rules.tested_columns)
    positions = _find(tested, source, given)
    _check_types(tested, positions, source)
    names = {column.name: source.names[j] for column, j in zip(tested, positions, strict=True)}
    return FoundColumns(tested, positions, {**given, **names}, column_types(source), dialect_of(source))


def _find(tested: tuple[RuleColumn, ...], source: DatabaseSource, given: Mapping[str, str]) -> tuple[int, ...]:
    dialect = dialect_of_database(source.rows.backend)
    fold = str.casefold if dialect is None else DIALECTS[dialect].names.fold
    places = {fold(name): j for j, name in enumerate(source.names)}
    missing, positions = [], []
    for column in tested:
        name = given.get(column.name, column.name)
        if fold(name) in places:
            positions.append(places[fold(name)])
            continue
        alike = nearest(name, source.names)
        missing.append(repr(name) if alike is None else f"{name!r} (the nearest is {alike!r})")
    if missing:
        raise DataError(
            f"the rules test {', '.join(missing)}, which {source.rows} does not have; its columns are: "
            f"{', '.join(map(repr, source.names))}. --column OLD=NEW says what a column is called there"
        )
    return tuple(positions)


def _check_types(tested: tuple[RuleColumn, ...], positions: tuple[int, ...], source: DatabaseSource) -> None:
    wrong = [
        f"column {source.names[j]!r} of {source.rows} holds {_KINDS.get(kind, kind)}, and the rules test it as "
        f"{column.type}"
        for column, j in zip(tested, positions, strict=True)
        if (kind := source.declared[j].kind) is not None and kind not in _allowed_kinds(column)
    ]
    if wrong:
        raise DataError(f"{'; '.join(wrong)}: cast it in a view, or by --query")


def _allowed_kinds(column: RuleColumn) -> set[str]:
    """Return the kinds of declared types whose values rules can compare as a column's type."""
    if column.type == "boolean":
        return {"boolean", "number", "text"}
    if column.type == "text":
        return {"text", "number"} if column.holds_numbers else {"text"}
    if column.is_time:
        return {"date", "timestamp"} if column.type in ("date", "timestamp") else {column.type}
    return {"number", "text"} if column.from_text else {"number"}

"""The contents of a database: objects by name, whether they were made here, keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from shallowrules.errors import DataError, OptionError, OptionName
from shallowrules.exporters.sql import DIALECTS, dialect_of_database
from shallowrules.labelling.databases.databases import DATABASES, REGISTRY, REGISTRY_COLUMNS
from shallowrules.labelling.databases.marks import Mark
from shallowrules.sources import DatabaseRows
from shallowrules.sources.database import DatabaseSource

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Database", "DatabaseObject", "ExistingObject", "dialect_for"]


def dialect_for(rows: DatabaseRows) -> str:
    """Return the dialect of a database that labels are applied in; OptionError where that is not known."""
    dialect = dialect_of_database(rows.backend)
    if dialect is None or dialect not in DATABASES:
        known = ", ".join(facts.title for facts in DATABASES.values())
        raise OptionError(
            f"the databases that labels are applied in are {known}, not {rows.backend}: run the SQL of `export` there",
            option="database",
        )
    return dialect


@dataclass(frozen=True)
class DatabaseObject:
    """A view, a table or a column, by its name.

    Parameters
    ----------
    kind : str
        "view", "table" or "column".
    name : tuple of str
        Of the view or table, or of the column's table, in parts.
    column : str
    """

    kind: str
    name: tuple[str, ...]
    column: str = ""


@dataclass(frozen=True)
class ExistingObject:
    """An object with a name.

    Parameters
    ----------
    kind : str
        "view", "table", "column", or the database's word for another object.
    mark : Mark or None
        None if it is not known to have been made here.
    changed : bool
        Whether an object of that name was made here and has since changed.
    """

    kind: str
    mark: Mark | None
    changed: bool = False


class Database:
    """A connection to a database, and the facts about its kind."""

    def __init__(self, connection: Connection, rows: DatabaseRows) -> None:
        self.connection = connection
        self.rows = rows
        self.dialect = DIALECTS[dialect_for(rows)]
        self.facts = DATABASES[self.dialect.name]
        self.has_made = False
        """Whether an object may have been permanently created here."""
        for statement in self.facts.settings:
            connection.exec_driver_sql(statement)

    @cached_property
    def source(self) -> DatabaseSource:
        """The table that is labelled, as it was when it was first asked for."""
        return DatabaseSource(self.connection, self.rows)

    def limit_waiting(self, seconds: float) -> None:
        """Wait at most this long for the locks of others."""
        times = {"seconds": math.ceil(seconds), "milliseconds": math.ceil(seconds * 1000)}
        for statement in self.facts.patience:
            self.connection.exec_driver_sql(statement.format(**times))
        self.connection.commit()

    def claim(self, thing: DatabaseObject, seconds: float) -> bool:
        """Keep other runs from creating an object of this name while this connection lasts, if none is doing so."""
        if self.facts.claim is None:
            return True
        name = self.dialect.string(f"shallowrules {sha256(repr(thing.name).encode()).hexdigest()[:32]}")
        asked = self.facts.claim.format(name=name, seconds=math.ceil(seconds))
        return self.connection.exec_driver_sql(asked).scalar() == 1

    def begin(self) -> None:
        """Begin a transaction that writes, if the driver does not."""
        if self.facts.begin is not None:
            driver: Any = self.connection.connection.driver_connection
            driver.isolation_level = None  # otherwise the driver commits before a statement that makes an object
            self.connection.exec_driver_sql(self.facts.begin)

    def write(self, update: str) -> int:
        """Run an update, and return how many rows it has written."""
        result = self.connection.exec_driver_sql(update)
        return int(result.scalar_one()) if result.returns_rows else result.rowcount  # a row of DuckDB

    def roll_back(self) -> None:
        """Roll back what the database can; a lost connection has already done so."""
        from sqlalchemy.exc import SQLAlchemyError

        with suppress(SQLAlchemyError):
            self.connection.rollback()

    def quoted(self, name: Sequence[str]) -> str:
        """Return the name of a table or view as SQL; ExportError if the database cannot hold it."""
        return ".".join(map(self.dialect.identifier, name))

    def fill(self, template: str, thing: DatabaseObject, **values: str) -> str:
        """Return a template of the facts, filled in for an object, as a statement."""
        *schema, name = thing.name
        string, identifier = self.dialect.string, self.dialect.identifier
        return template.format(
            schema=string(schema[-1]) if schema else "NULL",
            name=string(name),
            column=string(thing.column),
            quoted=self.quoted(thing.name),
            text=string(self.quoted(thing.name)),
            quoted_column=identifier(thing.column) if thing.column else "",
            column_text=string(identifier(thing.column)) if thing.column else "NULL",
            bare=identifier(name),
            catalog=f"{identifier(schema[-1] if schema else 'main')}.",
            place=self._in_schema(schema),
            **values,
        )

    def _in_schema(self, schema: Sequence[str]) -> str:
        """Return the predicate for DuckDB's objects in a schema, or a database and a schema."""
        if not schema:
            return "schema_name = current_schema() AND database_name = current_database()"
        lower = [f"lower({self.dialect.string(part)})" for part in schema]
        if len(lower) > 1:
            return f"lower(database_name) = {lower[0]} AND lower(schema_name) = {lower[1]}"
        return (
            f"((lower(schema_name) = {lower[0]} AND database_name = current_database()) "
            f"OR (lower(database_name) = {lower[0]} AND schema_name = 'main'))"
        )

    def ask(self, template: str, thing: DatabaseObject) -> Sequence[Sequence[Any]]:
        """Return the rows that a query of the facts finds for an object."""
        return self.connection.exec_driver_sql(self.fill(template, thing)).all()

    def place(self, table: Sequence[str], into: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of a table and of the object made from it, with schemas where plain names are ambiguous."""
        query = self.facts.schema_of_table
        if query is None:
            return tuple(table), tuple(into)
        [[schema, usual]] = self.ask(query, DatabaseObject("table", tuple(table)))
        if len(into) == 1 and usual is None:
            raise DataError(
                f"the search path names no schema for {into[0]!r}: put one before the name, ",
                OptionName("into", "SCHEMA.NAME"),
            )
        return (schema, table[-1]), tuple(into) if len(into) > 1 else (usual, *into)

    # Objects made here ------------------------------------------------------------------------------

    def is_registered(self, kind: str) -> bool:
        """Whether objects of a kind are known by the registry, because they cannot have comments."""
        return kind not in self.facts.comments

    def registry_of(self, thing: DatabaseObject) -> DatabaseObject:
        """Return the registry that knows an object."""
        return DatabaseObject("table", (*thing.name[:-1], REGISTRY))

    def find(self, thing: DatabaseObject) -> ExistingObject | None:
        """Return the object that has the name, None if the name is free."""
        if thing.kind == "column":
            names = {self.dialect.names.fold(name) for name in self.source.names}
            if self.dialect.names.fold(thing.column) not in names:
                return None
            comments = self.ask(self.facts.columns, thing) if self.facts.columns is not None else []
            kind, comment = "column", str(comments[0][0]) if comments else None
        else:
            found = self.ask(self.facts.objects, thing)
            if not found:
                return None
            kind, comment = str(found[0][0]), found[0][1]
        if kind != thing.kind or not self.is_registered(kind):
            return ExistingObject(kind, Mark.read(comment))
        return self._find_registered(thing)

    def _find_registered(self, thing: DatabaseObject) -> ExistingObject:
        if not self.has_registry(thing):
            return ExistingObject(thing.kind, None)
        [[definition]] = self.ask(self.facts.definitions[thing.kind], thing)
        known = self.connection.exec_driver_sql(
            f"SELECT mark, definition FROM {self.quoted(self.registry_of(thing).name)} WHERE {self.is_row_of(thing)}"
        ).all()
        marks = [Mark.read(mark) for mark, then in known if then == definition]
        return ExistingObject(thing.kind, marks[0] if marks else None, changed=bool(known) and not marks)

    def has_registry(self, thing: DatabaseObject) -> bool:
        """Return whether there is a registry; DataError if something else has its name."""
        registry = self.registry_of(thing)
        found = self.ask(self.facts.objects, registry)
        if not found:
            return False
        names = self.connection.exec_driver_sql(f"SELECT * FROM {self.quoted(registry.name)} WHERE 1 = 0").keys()
        if [str(found[0][0]), *names] != ["table", *REGISTRY_COLUMNS]:
            raise DataError(
                f"there is a {found[0][0]} {REGISTRY} that was not made here, and {self.facts.title} keeps no comment "
                f"on a {thing.kind}: rename it"
            )
        return True

    def is_row_of(self, thing: DatabaseObject) -> str:
        """Return the predicate for the rows of the registry that are about an object."""
        wanted = {"kind": thing.kind, "name": thing.name[-1], "part": thing.column}
        alike = " COLLATE NOCASE" if self.dialect.name == "sqlite" else ""
        return " AND ".join(f"{part} = {self.dialect.string(value)}{alike}" for part, value in wanted.items())

    def others_registered(self, thing: DatabaseObject) -> bool:
        """Return whether the registry knows any other object."""
        query = f"SELECT count(*) FROM {self.quoted(self.registry_of(thing).name)} WHERE NOT ({self.is_row_of(thing)})"
        return bool(self.connection.exec_driver_sql(query).scalar())

    def key_of(self, table: Sequence[str]) -> list[str]:
        """Return the columns of a table's primary key, empty if it has none."""
        return [str(name) for [name] in self.ask(self.facts.key, DatabaseObject("table", tuple(table)))]

"""Statements that drop objects that were made here, and delete them from the registry."""

from __future__ import annotations

from shallowrules.exporters.sql.writing import dropping
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject
from shallowrules.labelling.databases.plan import Plan

__all__ = ["drop", "forget", "leftovers", "unregister"]


def leftovers(database: Database, plan: Plan) -> list[str]:
    """Return the statements that clean up after a failed plan without a rollback; objects of others stay."""
    statements = [drop(database, thing) for thing in plan.beside if database.find(thing) is not None]
    for thing, mark in plan.made:
        found = database.find(thing)
        if found is not None and found.mark != mark:
            continue  # another run has created it since
        statements += [] if found is None else [drop(database, thing)]
        statements += unregister(database, thing)
    return statements


def drop(database: Database, thing: DatabaseObject) -> str:
    """Return the statement that drops an object."""
    quoted = database.quoted(thing.name)
    return dropping(thing.kind, quoted, database.dialect.identifier(thing.column) if thing.column else "")


def forget(database: Database, thing: DatabaseObject) -> str:
    """Return the statement that deletes an object from the registry."""
    registry = database.quoted(database.registry_of(thing).name)
    return f"DELETE FROM {registry} WHERE {database.is_row_of(thing)}"


def unregister(database: Database, thing: DatabaseObject) -> list[str]:
    """Return the statements that delete an object from the registry, or drop the registry if it knows no other."""
    if not database.is_registered(thing.kind) or not database.has_registry(thing):
        return []
    if database.others_registered(thing):
        return [forget(database, thing)]
    return [drop(database, database.registry_of(thing))]

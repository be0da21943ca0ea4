"""Why a database refused a statement, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from shallowrules.errors import DataError, OptionName
from shallowrules.labelling.databases.application import APPLIED_STYLES
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject
from shallowrules.sources.connecting import database_answer, find_url, show_url

__all__ = ["NOTHING_CHANGED", "State", "explain"]

REASONS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "lock": {
        "postgres": ("55P03",),
        "mysql": ("1205",),
        "sqlite": ("SQLITE_BUSY", "SQLITE_LOCKED"),
        "duckdb": ("Could not set lock",),
    },
    # A deadlock, a transaction that has to be repeated, and an object that appeared after the plan was renewed.
    "rival": {
        "postgres": ("40001", "40P01", "23505", "42P07", "42701", "42710", "tuple concurrently"),
        "mysql": ("1020", "1050", "1060", "1213", "1684"),
        "sqlite": ("SQLITE_SCHEMA",),
        "duckdb": ("conflict", "Conflict"),
    },
    "right": {
        "postgres": ("42501",),
        "mysql": ("1044", "1142", "1143", "1227", "1290", "1370"),
        "sqlite": ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"),
        "duckdb": ("read-only", "Permission denied"),
    },
    "dependent": {"postgres": ("2BP01",), "duckdb": ("depend",)},
    "disk": {
        "postgres": ("53100",),
        "mysql": ("1021", "1114"),
        "sqlite": ("SQLITE_FULL", "SQLITE_IOERR"),
        "duckdb": ("No space left", "Could not write", "Could not sync"),
    },
    "computed": {"postgres": ("42P17",)},
}
"""The reasons why a statement was refused, by the codes of each database; for DuckDB, by words in its messages."""

_OF_A_FILE = dict.fromkeys(APPLIED_STYLES, "to write the file and its folder")

RIGHTS: Mapping[str, Mapping[str, str]] = {
    "sqlite": _OF_A_FILE,
    "duckdb": _OF_A_FILE,
    "postgres": {
        "view": "CREATE on the schema and SELECT on the table",
        "table": "CREATE on the schema and SELECT on the table",
        "update": "UPDATE and SELECT on the table, which its owner alone can add a column to",
        "column": "to be the owner of the table",
        "labels": "CREATE on the schema and SELECT on the table",
    },
    "mysql": {
        "view": "CREATE VIEW, SHOW VIEW, DROP, CREATE, INSERT, DELETE and SELECT in the database",
        "table": "CREATE, DROP, ALTER, INSERT and SELECT in the database",
        "update": "ALTER, UPDATE and SELECT on the table, CREATE TEMPORARY TABLES for batches",
        "column": "ALTER on the table",
        "labels": "CREATE, DROP, ALTER, INSERT, UPDATE, DELETE and SELECT in the database",
    },
}
"""The rights that a user needs, by dialect and style."""

NOTHING_CHANGED = ("Nothing has changed",)

State = Sequence[str | OptionName]
"""What a failure left behind, as parts of a message."""


def explain(
    error: Any, database: Database, style: str, things: Sequence[DatabaseObject], target: str, state: State
) -> DataError:
    """Return the error of a database with a remedy.

    Parameters
    ----------
    error : SQLAlchemyError
    database : Database
        Its transaction is over.
    style : str
        How labels are applied.
    things : sequence of DatabaseObject
        The objects that may be locked.
    target : str
        The object of the work, for messages.
    state : sequence of str or OptionName
    """
    url, name = find_url(database.rows.database), database.dialect.name
    said = f"{show_url(url)}: {target}: {database_answer(error, url)}"
    detail = getattr(getattr(getattr(error, "orig", None), "diag", None), "message_detail", None)
    if detail:
        said += f" ({' '.join(detail.split())})"
    codes = _codes(error)
    reasons = (
        reason
        for reason, by_dialect in REASONS.items()
        if any(code in known for known in codes for code in by_dialect.get(name, ()))
    )
    advice: State = ()
    match next(reasons, None):
        case "lock":
            holders = _holders(database, things)
            who = f"; locks are held by {holders}" if holders else ""
            wait = "Wait until it ends and run the command again, or wait longer with "
            advice = (f": another transaction holds a lock{who}. {wait}", OptionName("lock_timeout"))
        case "rival":
            advice = (": another run or program is changing the same object. Run the command again",)
        case "right":
            advice = (f": a right is missing. {style!r} needs {RIGHTS[name][style]}",)
        case "dependent":
            advice = (": another object depends on it. Drop that first, and create it again afterwards",)
        case "disk":
            advice = (": the disk is full. Free some space",)
        case "computed":
            advice = (": the database cannot compute a column by these rules. Apply a view",)
    return DataError(said, *advice, ". ", *state)


def _codes(error: Any) -> list[str]:
    """Return a driver's code for the kind of an error."""
    cause = getattr(error, "orig", None) or error
    found = [getattr(cause, name, None) for name in ("sqlstate", "sqlite_errorname")]
    first = cause.args[0] if getattr(cause, "args", ()) else None
    return [str(code) for code in (*found, first) if code is not None]


def _holders(database: Database, things: Sequence[DatabaseObject]) -> str:
    """Return the holders of locks, where the database names them."""
    from sqlalchemy.exc import SQLAlchemyError

    found: list[Sequence[Any]] = []
    for thing in things if database.facts.holders is not None else ():
        with suppress(SQLAlchemyError):
            found += database.ask(str(database.facts.holders), thing)
        database.roll_back()
    said = (f"session {number} of {user}" + (f", since {since}" if since else "") for number, user, since in found)
    return "; ".join(dict.fromkeys(said))

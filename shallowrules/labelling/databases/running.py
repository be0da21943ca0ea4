"""Running a plan: all or nothing if the database has transactions for that, otherwise in a safe order."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from shallowrules.errors import DataError, OptionName, counted
from shallowrules.exporters.base import ClusterAs
from shallowrules.labelling.databases.counting import count_made
from shallowrules.labelling.databases.dropping import leftovers
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject
from shallowrules.labelling.databases.plan import UNDO, Plan
from shallowrules.labelling.databases.planning import plan_in
from shallowrules.labelling.databases.refusals import explain
from shallowrules.labelling.drift import Counts
from shallowrules.sources.connecting import connect, find_url, raise_interrupt

__all__ = ["run_plan"]

KILLED_SECONDS = 10
"""Longest wait for a server to end the session of an interrupted statement."""


def run_plan(
    plan: Plan, progress: Callable[[int], None] | None = None, show: Callable[[Counts], None] | None = None
) -> int:
    """Run a plan, and return how many rows an update has written.

    Parameters
    ----------
    plan : Plan
    progress : callable, optional
        Called after each batch with the number of rows examined so far.
    show : callable, optional
        Called with the rows of each cluster in a new table, before it is committed or gets its name, if the plan has
        not counted them.

    Raises
    ------
    DataError
        If the database is no longer as the plan found it, or refuses a statement; the message has a remedy; created
        objects are then dropped, except for batches, which a second run continues.
    """
    from sqlalchemy.exc import SQLAlchemyError

    if plan.is_done:
        return 0
    session: int | None = None
    database: Database | None = None
    try:
        with connect(find_url(plan.rows.database), timeout=plan.rows.timeout) as connection:
            database = Database(connection, plan.rows)
            try:
                database.limit_waiting(plan.application.lock_timeout)
                session = _prepare(plan, database)
                return _run(plan, database, progress, show)
            except SQLAlchemyError as error:
                database.roll_back()
                raise_interrupt(error)
                things = [DatabaseObject("table", tuple(plan.rows.name_parts)), plan.thing]
                style, state = plan.application.style, plan.state_of_failure
                if getattr(error, "connection_invalidated", False) and not database.has_made:
                    rest = "all of it is done, or nothing" if plan.is_whole else "the same command does the rest"
                    state = (f"The connection is lost: {rest}",)
                raise explain(error, database, style, things, plan.target, state) from None
            except BaseException:
                database.roll_back()
                raise
    except BaseException as failure:
        made = database is not None and database.has_made and (plan.beside or plan.made)
        if made and not _take_back(plan, session) and isinstance(failure, DataError):
            raise DataError(
                *failure.parts, ", except for objects that could not be reached: ", UNDO, " drops them"
            ) from None
        raise


def _prepare(plan: Plan, database: Database) -> int | None:
    """Begin, and check that everything is as the plan found it; return the session if it may continue by itself."""
    database.begin()
    if not database.claim(plan.thing, plan.application.lock_timeout):
        raise DataError(
            f"{plan.target}: another run is making it. Run the command again when that has ended, or wait longer with ",
            OptionName("lock_timeout"),
        )
    changed = f"{plan.target}: the database has changed since this was shown: run the command again"
    try:
        again = plan_in(database, plan.rules, plan.application, undo=plan.undo)
    except DataError as error:  # which the plan did not find
        raise DataError(f"{changed}. Now ", *error.parts) from error
    if again.statements != plan.statements:
        raise DataError(changed)
    query = database.facts.session
    return None if query is None else database.connection.exec_driver_sql(query).scalar_one()


def _run(
    plan: Plan,
    database: Database,
    progress: Callable[[int], None] | None,
    show: Callable[[Counts], None] | None,
) -> int:
    database.has_made = not database.facts.transactional
    _make(plan, database, show)
    if plan.update is not None and not plan.is_whole:  # so that nobody waits for the column's lock meanwhile
        database.has_made = True
        database.connection.commit()
        database.begin()
    return _write(plan, database, progress)


def _make(plan: Plan, database: Database, show: Callable[[Counts], None] | None) -> None:
    """Run the statements before an update, and show the size of each cluster in a table that is created."""
    for statement in plan.steps:
        database.connection.exec_driver_sql(statement)
    if plan.counts is None and not plan.undo and show is not None:
        application = plan.application
        made = plan.beside[0] if plan.beside else plan.thing
        kind: ClusterAs = "name" if application.cluster_as == "name" else "number"
        show(count_made(database, plan.rules, made, application.cluster_column, kind, application.otherwise))


def _write(plan: Plan, database: Database, progress: Callable[[int], None] | None) -> int:
    """Run the update and the statements after it, and return how many rows it has written."""
    connection = database.connection
    update = None if plan.changes == 0 else plan.update  # it would examine each row again
    written = 0
    if update is not None and plan.batches is not None:
        for looked_at, so_far in plan.batches.run(database, update):
            written = so_far
            if progress is not None:
                progress(looked_at)
    elif update is not None:
        written = database.write(update)
    unwritten = None if update is None else plan.unwritten
    if unwritten is not None and (count := connection.exec_driver_sql(unwritten).scalar_one()):
        raise DataError(
            f"{plan.target}: {counted(count, 'row')} would be left with a label other than the rules': a trigger or a "
            "policy of the table keeps them from being written. Apply a view. ",
            *plan.state_of_failure,
        )
    if not database.facts.transactional:
        connection.commit()  # an update, before statements that commit by themselves
    for statement in plan.ending:
        connection.exec_driver_sql(statement)
    connection.commit()
    return written


def _end(session: int, database: Database) -> None:
    """End a session whose statement may still be running, and wait for a while until it has ended."""
    from sqlalchemy.exc import SQLAlchemyError

    with suppress(SQLAlchemyError):
        database.connection.exec_driver_sql(database.facts.kill.format(number=session))
    latest = time.monotonic() + KILLED_SECONDS
    while database.connection.exec_driver_sql(database.facts.is_alive.format(number=session)).scalar():
        if time.monotonic() > latest:
            break
        time.sleep(0.05)


def _take_back(plan: Plan, session: int | None) -> bool:
    """Drop the created objects over a new connection, and return whether that succeeded.

    The first connection may be lost, and its statement still running.
    """
    from sqlalchemy.exc import SQLAlchemyError

    with suppress(SQLAlchemyError, DataError), connect(find_url(plan.rows.database)) as connection:
        database = Database(connection, plan.rows)
        database.limit_waiting(plan.application.lock_timeout)
        if session is not None:
            _end(session, database)
        if not database.claim(plan.thing, 0):
            return False  # the existing object may belong to another run
        database.begin()
        for statement in leftovers(database, plan):
            connection.exec_driver_sql(statement)
        connection.commit()
        return True
    return False

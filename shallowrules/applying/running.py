"""Running a plan: all of it or nothing where the database has transactions for it, in a safe order where it has not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from shallowrules.applying.inspecting import Database
from shallowrules.applying.planning import Plan, leftovers, plan_in
from shallowrules.applying.refusals import explain
from shallowrules.errors import DataError
from shallowrules.sources.connecting import connect, find_url
from shallowrules.sources.database import DatabaseSource, open_rows

__all__ = ["run_plan"]

KILLED_SECONDS = 10
"""How long an interrupted statement of a server is waited for."""


def run_plan(plan: Plan, lock_timeout: float = 10.0, progress: Callable[[int], None] | None = None) -> None:
    """Run a plan.

    Parameters
    ----------
    plan : Plan
    lock_timeout : float
        Seconds to wait for another's lock.
    progress : callable, optional
        Called after each batch with the rows that are looked at so far.

    Raises
    ------
    DataError
        If the database is no longer as the plan found it, or refuses a statement, in words of what is missing; what
        was made is taken away then, but for batches, which a second run continues.
    """
    from sqlalchemy.exc import SQLAlchemyError

    running: _Running | None = None
    try:
        with open_rows(plan.rows) as source:
            running = _Running(plan, Database(source), lock_timeout)
            try:
                running.prepare()
                running.run(progress)
            except SQLAlchemyError as error:
                running.roll_back()
                raise explain(error, plan, running.database) from None
            except BaseException:
                running.roll_back()
                raise
    except BaseException:
        if running is not None and running.began and (plan.beside or plan.made):
            running.take_back()
        raise


class _Running:
    """A plan on an open connection."""

    def __init__(self, plan: Plan, database: Database, lock_timeout: float) -> None:
        self.plan = plan
        self.database = database
        self.connection = database.connection
        self.lock_timeout = lock_timeout
        self.began = False
        self.number: int | None = None

    def prepare(self) -> None:
        """Set the lock time-out, begin the transaction, and look whether all is as the plan found it."""
        facts, execute = self.database.facts, self.connection.exec_driver_sql
        self.connection.rollback()
        times = {"seconds": math.ceil(self.lock_timeout), "milliseconds": math.ceil(self.lock_timeout * 1000)}
        for statement in facts.patience:
            execute(statement.format(**times))
        if facts.session is not None:
            self.number = execute(facts.session).scalar_one()
        driver: Any = self.connection.connection.driver_connection
        if facts.begin is not None:
            driver.isolation_level = None  # or the driver commits before a statement that makes an object
        self.connection.commit()
        if facts.begin is not None:
            execute(facts.begin)
        again = plan_in(
            DatabaseSource(self.connection, self.plan.rows), self.plan.rules, self.plan.application, undo=self.plan.undo
        )
        if again.statements != self.plan.statements:
            raise DataError(f"{self.plan.target}: the database has changed since this was shown: run the command again")

    def run(self, progress: Callable[[int], None] | None) -> None:
        self.began = True
        for statement in self.plan.steps:
            self.connection.exec_driver_sql(statement)
        if self.plan.batches is not None:
            self.connection.commit()
            for looked_at in self.plan.batches.run(self.database):
                if progress is not None:
                    progress(looked_at)
        if not self.database.facts.transactional:
            self.connection.commit()
        for statement in self.plan.ending:
            self.connection.exec_driver_sql(statement)
        self.connection.commit()

    def roll_back(self) -> None:
        """Undo what the database undoes; a connection that is lost has done so."""
        from sqlalchemy.exc import SQLAlchemyError

        with suppress(SQLAlchemyError):
            self.connection.rollback()

    def take_back(self) -> None:
        """Take away what was made, by another connection: this one may be lost, and its statement go on."""
        from sqlalchemy.exc import SQLAlchemyError

        facts = self.database.facts
        if facts.transactional:
            return
        with suppress(SQLAlchemyError, DataError), connect(find_url(self.plan.rows.database)) as connection:
            with suppress(SQLAlchemyError):
                connection.exec_driver_sql(facts.kill.format(number=self.number))
            latest = time.monotonic() + KILLED_SECONDS
            while connection.exec_driver_sql(facts.is_alive.format(number=self.number)).scalar():
                if time.monotonic() > latest:
                    break
                time.sleep(0.05)
            for statement in leftovers(Database(DatabaseSource(connection, self.plan.rows)), self.plan):
                connection.exec_driver_sql(statement)
            connection.commit()

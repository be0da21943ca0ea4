"""Plans for applying labels in a database, or for dropping them, with the rows of each cluster counted."""

from __future__ import annotations

from dataclasses import replace

from shallowrules.errors import OptionError, OptionName
from shallowrules.labelling.databases.application import Application
from shallowrules.labelling.databases.counting import count_changes, count_made
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject, dialect_for
from shallowrules.labelling.databases.plan import Plan
from shallowrules.labelling.databases.planner import Planner
from shallowrules.labelling.databases.refusals import NOTHING_CHANGED, explain
from shallowrules.labelling.drift import ColumnShift, count_labels, unseen_in_database
from shallowrules.labelling.tested_columns import find_tested_columns
from shallowrules.rules import RuleSet
from shallowrules.sources import DatabaseRows
from shallowrules.sources.connecting import connect, find_url, raise_interrupt

__all__ = ["plan_in", "plan_labels"]


def plan_labels(
    rules: RuleSet, rows: DatabaseRows, application: Application, *, undo: bool = False, counted: bool = True
) -> Plan:
    """Return the plan for applying labels to a table, or for undoing it; nothing is changed.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
        A table without a sample.
    application : Application
    undo : bool
    counted : bool
        Whether to count the rows of each cluster now, even for a new table, whose own rows tell once it is made.

    Raises
    ------
    DataError
        If a tested column is missing or has a different type, if the object exists already, or if the database
        cannot be reached or refuses to say.
    OptionError
        If labels are not applied in databases of this kind, or there is no table.
    ExportError
        If its SQL cannot express the rules, or has no such style.
    """
    from sqlalchemy.exc import SQLAlchemyError

    dialect_for(rows)
    if not rows.is_whole_table:
        raise OptionError("labels are applied to all rows of a table: name it with ", OptionName("table"))
    with connect(find_url(rows.database), read_only=True, timeout=rows.timeout) as connection:
        database = Database(connection, rows)
        try:
            database.limit_waiting(application.lock_timeout)
            plan = plan_in(database, rules, application, undo=undo)
            if undo:
                return plan
            plan = plan if application.style == "table" and not counted else _counted(plan, database)
            return replace(plan, unseen=_unseen(plan, database))
        except SQLAlchemyError as error:
            database.roll_back()
            raise_interrupt(error)
            table = DatabaseObject("table", tuple(rows.name_parts))
            target = f"table {rows.table}"
            raise explain(error, database, application.style, [table], target, NOTHING_CHANGED) from None


def _unseen(plan: Plan, database: Database) -> tuple[ColumnShift, ...]:
    """Return the columns with categories that training did not have."""
    source, columns = database.source, plan.application.columns
    n_rows = source.count_rows() if plan.counts is None else sum(plan.counts.values())
    return unseen_in_database(plan.rules, source, columns, n_rows)


def _counted(plan: Plan, database: Database) -> Plan:
    """Return the plan with the rows of each cluster."""
    rules, source, application = plan.rules, database.source, plan.application
    if not plan.is_repeated or application.cluster_as != "number":
        return replace(plan, counts=count_labels(rules, source, application.columns))
    known = find_tested_columns(rules, source, application.columns).options
    otherwise = application.otherwise
    changes = count_changes(database, rules, plan.thing, **known, otherwise=otherwise)
    if changes:
        counts = count_labels(rules, source, application.columns)
    else:  # reading the column is faster than the rules
        counts = count_made(database, rules, plan.thing, plan.thing.column, "number", otherwise)
    return replace(plan, counts=counts, changes=changes)


def plan_in(database: Database, rules: RuleSet, application: Application, *, undo: bool) -> Plan:
    """Return the plan, made by an open connection, without counting rows."""
    planner = Planner(database, rules, application)
    return planner.undo() if undo else planner.apply()

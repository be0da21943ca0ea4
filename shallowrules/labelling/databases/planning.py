"""Plans for applying labels in a database, or for dropping them: statements as data, and notes on them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from shallowrules.errors import DataError, ExportError, OptionError, OptionName, check_choice
from shallowrules.exporters import export
from shallowrules.exporters.sql import SqlOptions, cluster_type
from shallowrules.exporters.sql.options import QUERIES, SqlClusterAs, Style
from shallowrules.exporters.sql.writing import WRITING, dropping
from shallowrules.labelling.databases.batches import Batches
from shallowrules.labelling.databases.counting import changed_rows, count_changes, count_made
from shallowrules.labelling.databases.databases import REGISTRY
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject, ExistingObject, dialect_for
from shallowrules.labelling.databases.labels import Labels, find_key
from shallowrules.labelling.databases.marks import Mark
from shallowrules.labelling.databases.refusals import NOTHING_CHANGED, State, explain
from shallowrules.labelling.drift import ColumnShift, Counts, count_labels, unseen_in_database
from shallowrules.labelling.tested_columns import find_tested_columns
from shallowrules.rules import RuleSet
from shallowrules.sources import DatabaseRows
from shallowrules.sources.connecting import connect, find_url, raise_interrupt

__all__ = ["APPLIED_STYLES", "Application", "Plan", "leftovers", "plan_in", "plan_labels"]

APPLIED_STYLES = ("view", "table", "update", "column", "labels")

BATCH_ROWS = 100_000
"""Rows per batch when the update of a long table is run in batches."""

INTO, KEY, CLUSTER_COLUMN = map(OptionName, ("into", "key", "cluster_column"))
REPLACE, UNDO = map(OptionName, ("replace", "undo"))


@dataclass(frozen=True, kw_only=True)
class Application:
    """How labels are put into a database.

    Parameters
    ----------
    style : {"view", "table", "update", "column", "labels"}
        A view or a new table of every column and the cluster; a column of the table, which is written; a column that
        the database computes; a table of keys and their clusters, into which each run merges those that have changed.
    into : str, or sequence of its parts, optional
        Name of the view or table; by default that of the table with ``_clusters``, or ``_labels``.
    key : sequence of str
        The columns that tell the rows of the table apart; labels alone need them.
    cluster_column : str
    cluster_as : {"number", "name", "both"}
    with_precision : bool
    otherwise : str or int, optional
        As `SqlOptions` has them; only a view and a table have the precision.
    columns : mapping from str to str
        What the database calls columns of the rules that have another name there.
    replace : bool
        Whether to make again what was made here.
    batch : int, optional
        How many rows an update writes in one transaction; by default all of a table of up to a million rows or without
        a primary key, and `BATCH_ROWS` of a longer one.
    lock_timeout : float
        Seconds to wait for another's lock.

    Raises
    ------
    OptionError
        If the style is not known, or options do not go together.
    """

    style: str
    into: str | Sequence[str] | None = None
    key: Sequence[str] = ()
    cluster_column: str = "cluster"
    cluster_as: SqlClusterAs = "number"
    with_precision: bool = False
    otherwise: str | int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    replace: bool = False
    batch: int | None = None
    lock_timeout: float = 10.0

    def __post_init__(self) -> None:
        check_choice("style", self.style, APPLIED_STYLES, option="apply")
        if self.into is not None and self.writes_on_table:
            raise OptionError(
                INTO, f" names a view or a table, and {self.style!r} adds a column: name it with ", CLUSTER_COLUMN
            )
        if self.batch is not None and (self.style != "update" or self.batch < 1):
            raise OptionError(OptionName("batch"), " is a number of rows, at least 1, and goes with 'update'")
        if self.key and self.style != "labels":
            raise OptionError(KEY, " names columns that tell rows apart, for ", OptionName("apply", "labels"))
        if self.with_precision and self.style not in QUERIES:
            raise OptionError(OptionName("with_precision"), f" goes with a view or a table, not with {self.style!r}")
        if self.style == "labels" and self.cluster_as == "name":
            raise OptionError(OptionName("cluster_as"), " 'name' does not go with labels, which have both")

    def sql_options(self, table: Sequence[str]) -> SqlOptions:
        """Return the options of the SQL exporter that do not depend on the database."""
        is_labels, into = self.style == "labels", self.into
        if is_labels and into is None:
            into = [*table[:-1], f"{table[-1]}_labels"]
        return SqlOptions(
            style="select" if is_labels else cast("Style", self.style),
            table=table,
            into=into,
            cluster_column=self.cluster_column,
            cluster_as="both" if is_labels else self.cluster_as,
            with_precision=self.with_precision,
            otherwise=self.otherwise,
            output_columns=self.key,
        )

    @property
    def writes_on_table(self) -> bool:
        """Whether the table itself is changed."""
        return self.style in ("update", "column")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The statements to run, planned by inspecting the database.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
        The table.
    application : Application
    undo : bool
        Whether to undo an earlier application.
    thing : DatabaseObject
        The object to create or drop.
    target : str
        The same for a person.
    steps, ending : tuple of str
        Statements in their order, those before the update and those after it; one transaction if `is_whole`.
    update : str or None
        The statement that writes labels on the table.
    batches : Batches or None
        How it is run in several transactions.
    unwritten : str or None
        A query for how many rows have a label other than the update was to write, where something may interfere.
    is_whole : bool
        Whether the database undoes all of it if one statement fails.
    beside : tuple of DatabaseObject
        Objects that are created under a temporary name.
    made : tuple of DatabaseObject and Mark
        The objects to drop if a statement fails and the database does not roll back.
    notes : tuple of str
        Notes to show first.
    is_repeated : bool
        Whether the column is there, with numbers or names as wanted, so that some rows at most are written.
    counts : mapping or None
        Rows by the number of their cluster, as the database counts them; None if labels are dropped, or counted in the
        new table.
    unseen : tuple of ColumnShift
        The columns with categories that training did not have.
    changes : int or None
        Rows that an update writes; None where that is not known.
    replaces : bool
        Whether an update drops its column first and adds a new one.
    """

    rules: RuleSet
    rows: DatabaseRows
    application: Application
    undo: bool
    thing: DatabaseObject
    target: str
    steps: tuple[str, ...]
    update: str | None = None
    batches: Batches | None = None
    unwritten: str | None = None
    ending: tuple[str, ...] = ()
    is_whole: bool = True
    beside: tuple[DatabaseObject, ...] = ()
    made: tuple[tuple[DatabaseObject, Mark], ...] = ()
    notes: tuple[str, ...] = ()
    is_repeated: bool = False
    counts: Counts | None = None
    unseen: tuple[ColumnShift, ...] = ()
    changes: int | None = None
    replaces: bool = False

    @property
    def state_of_failure(self) -> State:
        """The objects left behind if a statement fails."""
        if self.batches is not None:
            return "Batches that are written stay: the same command continues, ", UNDO, " takes them away"
        is_update = self.application.style == "update"
        if self.is_whole or (is_update and self.made and not self.replaces):  # a column that was created is dropped
            return NOTHING_CHANGED
        if is_update and not self.made:
            return ("The update is unfinished: the same command continues",)
        return ("The objects created so far have been dropped",)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to run: each row already has its label, and the column's comment says so."""
        return self.changes == 0 and not self.steps and not self.ending

    @property
    def statements(self) -> list[str]:
        """All statements, the update once without its batches."""
        return [*self.steps, *([] if self.update is None else [self.update]), *self.ending]


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
        Whether the rows of each cluster are counted now also where the table that is made tells them, before it is
        there for good.

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
    planner = _Planner(database, rules, application)
    return planner.undo() if undo else planner.apply()


class _Planner:
    """Looks at a database and lays out statements."""

    def __init__(self, database: Database, rules: RuleSet, application: Application) -> None:
        self.database, self.facts, self.source = database, database.facts, database.source
        self.rules, self.application = rules, application
        options = application.sql_options(database.rows.name_parts)
        into = options.target
        if application.into is None and not application.writes_on_table:
            self._check_name(into)
        self.table, self.into = self.database.place(database.rows.name_parts, into)
        if self.facts.temporary and ".".join([*self.into[:-1], ""]).lower() == self.facts.temporary:
            raise DataError(
                f"{self.database.quoted(self.into)} would vanish with the connection; choose a different place with ",
                INTO,
            )
        self.mark = Mark(application.style, self.table, options.cluster_as, rules.sha256)
        self.notes: list[str] = []
        self.cluster_as, self.new_columns = options.cluster_as, options.new_columns
        self.writing = WRITING[self.database.dialect.name]
        self.type = cluster_type(rules, options, self.writing)
        self.thing = DatabaseObject("table" if application.style == "labels" else application.style, self.into)
        if application.writes_on_table:
            self.mark = replace(self.mark, table=self.table[-1:])
            self.thing = DatabaseObject("column", self.table, self._column())

    def _check_name(self, into: Sequence[str]) -> None:
        """Refuse a name of our own making that the database cannot hold."""
        try:
            self.database.quoted(into)
        except ExportError:
            raise DataError(
                f"{self.facts.title} cannot hold the name {into[-1]!r}; give the new object a different name with ",
                INTO,
            ) from None

    def _column(self) -> str:
        """Return the name of the clusters' column, in the table's spelling if the table has it."""
        fold, wanted = self.database.dialect.names.fold, self.application.cluster_column
        for name in self.source.names:
            if fold(name) == fold(wanted):
                return name
            if name.casefold() == wanted.casefold():  # no table is read with both
                raise DataError(
                    f"{self.source.rows} has a column {name!r}, which differs from {wanted!r} only by case: name the "
                    "new one with ",
                    CLUSTER_COLUMN,
                )
        return wanted

    def _shown(self, thing: DatabaseObject) -> str:
        quoted = self.database.quoted(thing.name)
        if thing.kind == "column":
            return f"column {self.database.dialect.identifier(thing.column)} of table {quoted}"
        return f"{thing.kind} {quoted}"

    def _finish(self, steps: Sequence[str], undo: bool = False, **others: object) -> Plan:
        settings: dict[str, object] = {"is_whole": self.facts.transactional, **others}
        return Plan(
            rules=self.rules,
            rows=self.source.rows,
            application=self.application,
            undo=undo,
            thing=self.thing,
            target=self._shown(self.thing),
            steps=tuple(steps),
            notes=tuple(self.notes),
            **settings,  # type: ignore[arg-type]
        )

    # Applying ----------------------------------------------------------------------------------------

    def apply(self) -> Plan:
        self.known = find_tested_columns(self.rules, self.source, self.application.columns).options
        if self.application.writes_on_table:
            self._refuse_no_table()
        elif self.application.style != "labels":
            self._refuse_taken_names()
        case = _without_comments(self._export("case"))
        self.mark = replace(self.mark, sql=hashlib.sha256(case.encode()).hexdigest()[:16])
        if self.application.style == "update":
            return self._update()
        if self.application.style == "labels":
            return self._labels()
        return self._make() if self.facts.transactional else self._make_beside()

    def _export(self, style: str, into: Sequence[str] | None = None) -> str:
        options = {
            "table": list(self.table),
            "into": list(into or self.into),
            **self.known,
            "cluster_column": self.thing.column or self.application.cluster_column,
            "cluster_as": self.cluster_as if style in QUERIES or self.cluster_as == "name" else "number",
            "with_precision": self.application.with_precision and style in QUERIES,
            "output_columns": self.application.key if style in QUERIES else (),
            "otherwise": self.application.otherwise,
        }
        return export(self.rules, "sql", style=style, **options).rstrip()

    def _refuse_taken_names(self) -> None:
        """Refuse new columns that would have the name of one of the table's."""
        self._column()
        new = {name.casefold() for name in self.new_columns}
        for name in self.source.names:
            if name.casefold() in new:
                raise DataError(
                    f"{self.source.rows} already has a column {name!r}: name the new one with ", CLUSTER_COLUMN
                )

    def _query(self) -> tuple[str, str]:
        """Return the comment before a view or a table, and the query that it is made from."""
        kind = self.thing.kind
        statement = self.writing.view if kind == "view" else self.writing.table
        head = statement.partition("{query}")[0].format(name=self.database.quoted(self.into))
        comment, _, query = self._export(kind).partition(head)
        return comment, query

    def _refuse_no_table(self) -> None:
        found = self.database.find(DatabaseObject("table", self.table))
        if found is not None and found.kind != "table":
            raise DataError(
                f"{self.database.quoted(self.table)} is not a table that a column can be added to: apply a view"
            )

    def _existing(self, *, again: bool = False) -> ExistingObject | None:
        """Return the object that was made here before under the name; DataError unless it may be replaced.

        `again` tells whether a second run of the same rules replaces nothing.
        """
        found = self.database.find(self.thing)
        if found is None:
            self._refuse_heirs()
            return None
        mark = self._refuse_others(found)
        if self.thing.kind == "table" and self.application.replace:
            self.notes.append("the table is recreated: anything added to it, such as an index, is lost")
        is_merged = self.application.style == "labels"
        if self.application.replace or is_merged or (again and mark.is_of(self.rules.sha256, self.cluster_as)):
            return found
        which = "of other rules"
        if mark.rules == self.rules.sha256:
            which = "of these rules"
            if mark.sql != self.mark.sql:
                which += ", as other SQL (for other types of columns, or by another version)"
        state = ", whose update is unfinished" if mark.unfinished else ""
        raise DataError(
            f"there is a {self._shown(self.thing)} already, made by shallowrules {which}{state}: ",
            REPLACE,
            " recreates it, ",
            UNDO,
            " drops it",
        )

    def _refuse_heirs(self) -> None:
        """Refuse a column that would merge with a column of a table that inherits from this one."""
        if self.thing.kind == "column" and self.facts.heirs is not None:
            heirs = [str(name) for [name] in self.database.ask(self.facts.heirs, self.thing)]
            if heirs:
                raise DataError(
                    f"{', '.join(heirs)} inherits from the table and has a column {self.thing.column!r} of its own, "
                    "which would be overwritten: name the new one with ",
                    CLUSTER_COLUMN,
                )

    def _refuse_others(self, found: ExistingObject) -> Mark:
        """Return the mark of the object made here in this style; DataError for anything else."""
        thing, shown = self.thing, self._shown(self.thing)
        option = CLUSTER_COLUMN if thing.kind == "column" else INTO
        another = ", so it is not touched; use a different name with ", option
        if found.kind != thing.kind:
            kind = {"index": "an index"}.get(
                found.kind, f"a {found.kind}" if found.kind != "other" else "something else"
            )
            raise DataError(f"{self.database.quoted(thing.name)} is already {kind}, not a {thing.kind}", *another)
        if found.mark is None:
            why = "has been changed since shallowrules made it" if found.changed else "was not made by shallowrules"
            raise DataError(f"there is a {shown} already, which {why}", *another)
        if thing.kind != "column" and not _is_same(found.mark.table, self.mark.table):
            of = ".".join(found.mark.table)
            raise DataError(f"{shown} was made by shallowrules for table {of}", *another)
        if found.mark.style != self.application.style:
            raise DataError(
                f"{shown} was made by ", OptionName("apply", found.mark.style), "; use that to replace or drop it"
            )
        return found.mark

    def _make(self) -> Plan:
        """Plan a view, a table or a computed column, in one transaction."""
        found = self._existing()
        steps = self._registering(self.thing.kind)
        rights: list[str] = []
        if found is not None:
            steps += [self._drop(self.thing)]
            if self.facts.rights is not None and self.thing.kind != "column":
                rights = [str(grant) for [grant] in self.database.ask(self.facts.rights, self.thing)]
        if self.thing.kind == "column" and self.facts.holders is not None:
            self.notes.append(f"{self.facts.title} locks the table for readers until all of it is done")
        made = [self._export(self.application.style), *self._marking(self.thing, self.mark)]
        return self._finish([*steps, *made, *rights])

    def _make_beside(self) -> Plan:
        """Plan a view or a table where each statement is a transaction: an object gets its name when complete."""
        if self.application.style == "column":
            self._export("column")  # says why there is none
        found = self._existing()
        kind = self.thing.kind
        new = DatabaseObject(kind, (*self.into[:-1], _name_beside("new", self.into)))
        old = DatabaseObject(kind, (*self.into[:-1], _name_beside("old", self.into)))
        self._note_no_transaction()
        steps = self._registering(kind)
        steps += [self._drop(thing) for thing in (new, old) if self.database.find(thing) is not None]
        made = () if found is not None else ((self.thing, self.mark),)
        comment, query = self._query()
        if self.database.is_registered(kind):
            steps += [self._export("view", new.name), self._register(self.thing, self.mark, like=new)]
            if found is None:
                steps += [self._export("view")]
            else:
                steps += [comment + self._fill(str(self.facts.replaced_view), self.thing, self.mark, query=query)]
            steps += [self._drop(new)]
            if found is not None and found.mark != self.mark:
                steps += [f"{self._forget(self.thing)} AND mark <> {self.mark.literal}"]
            return self._finish(steps, beside=(new,), made=made)
        steps += [comment + self._fill(str(self.facts.marked_table), new, self.mark, query=query)]
        before, after, aside = map(self.database.quoted, (new.name, self.into, old.name))
        ending = [f"RENAME TABLE {before} TO {after}"]
        if found is not None:
            ending = [f"RENAME TABLE {after} TO {aside}, {before} TO {after}", self._drop(old)]
        return self._finish(steps, ending=tuple(ending), beside=(new,), made=made)

    def _labels(self) -> Plan:
        """Plan a table of keys and clusters, and the merge of the labels into it."""
        if not self.application.key:
            raise OptionError("labels need columns that tell the rows of the table apart: name them with ", KEY)
        key = find_key(self.database, self.table, self.application.key)
        labels = Labels(self.database, self.table, self.thing, key, self.new_columns, _name_beside("key", self.into))
        labels.check_names()
        found = self._existing(again=True)
        is_kept = found is not None and not self.application.replace
        if is_kept and found is not None and found.mark is not None:
            self._refuse_other_columns(labels, found.mark)
            self.type = found.mark.type or self.type
        in_one, mark = self.facts.transactional, replace(self.mark, type=self.type)
        started = mark if in_one else replace(mark, unfinished=True)
        steps = [*self.facts.strict, *self._registering("table")]
        if is_kept:
            steps += [labels.removal()]
        else:
            steps += [] if found is None else [self._drop(self.thing)]
            made = self.facts.marked_table or "CREATE TABLE {quoted} AS\n{query}"
            steps += [self._fill(made, self.thing, started, query=labels.empty()), *labels.completing(self.type)]
        if in_one and (found is None or not is_kept or found.mark != mark):
            steps += self._marking(self.thing, mark)
        ending = [] if in_one or (found is not None and found.mark == mark) else self._marking(self.thing, mark)
        if not in_one:
            self._note_no_transaction()
        return self._finish(
            steps,
            update=labels.merge(_without_comments(self._export("select")), self.rules.sha256),
            ending=tuple(ending),
            made=() if is_kept else ((self.thing, started),),
        )

    def _refuse_other_columns(self, labels: Labels, mark: Mark) -> None:
        """Refuse a table of labels that was made with a different key, or for smaller numbers."""
        shown = self.database.quoted(self.into)
        there = list(self.database.connection.exec_driver_sql(f"SELECT * FROM {shown} WHERE 1 = 0").keys())
        why = ""
        if there != labels.columns:
            why = (
                f"has the columns {', '.join(map(repr, there))}, and labels have {', '.join(map(repr, labels.columns))}"
            )
        elif self._kept_type(mark) is None:
            why = self._too_small(mark)
        elif self.facts.needs_key and self.database.key_of(self.into) != list(labels.key):
            why = "has lost its primary key"
        if why:
            raise DataError(f"table {shown} {why}: ", REPLACE, " recreates it")

    def _update(self) -> Plan:
        """Plan a column of the table, written where the cluster changes.

        A new one is created in its own transaction, so no one waits for its lock while rows are written.
        """
        found = self._existing(again=True)
        is_new = found is None
        kept = None if found is None or found.mark is None else self._kept_type(found.mark)
        if found is not None and found.mark is not None and kept is None and not self.application.replace:
            raise DataError(f"{self._shown(self.thing)} {self._too_small(found.mark)}: ", REPLACE, " recreates it")
        self.type = kept or self.type
        is_number = self.application.cluster_as == "number"
        mark = replace(self.mark, type=self.type if is_number else "")
        update, unwritten = self._keep_columns(self._export("update")), self._unwritten()
        batches = self._batches()
        in_one = self.facts.transactional and batches is None and not is_new
        started = mark if in_one else replace(mark, unfinished=True)
        steps = self._registering("column")
        if kept is None:
            steps += [] if is_new else [self._drop(self.thing)]
            if self.facts.marked_column is not None:
                steps += [self._fill(self.facts.marked_column, self.thing, started)]
            else:
                steps += [self._added(self.thing), *self._marking(self.thing, started)]
        elif found is not None and found.mark not in (mark, started):
            steps += self._marking(self.thing, started)
        made = ((self.thing, started),) if kept is None and batches is None else ()
        changed = found is None or found.mark != mark
        ending = [] if in_one or not changed else self._marking(self.thing, mark, again=True)
        if not self.facts.transactional and batches is None:
            self._note_no_transaction()
        if in_one and kept is None and self.facts.holders is not None:
            self.notes.append(
                f"{self.facts.title} locks the table for readers until all of it is done; an update in batches does"
            )
        if batches is not None:
            self.notes.append(
                f"{batches.size:,} rows are updated in each transaction, by the primary key "
                f"({', '.join(map(repr, batches.key))}): after an interruption, the same command continues"
            )
        return self._finish(
            steps,
            update=update,
            batches=batches,
            unwritten=unwritten,
            ending=tuple(ending),
            is_whole=in_one,
            made=made,
            is_repeated=kept is not None,
            replaces=kept is None and not is_new,
        )

    def _kept_type(self, mark: Mark) -> str | None:
        """Return the type of the column that is there, None if it cannot hold the clusters."""
        if mark.cluster_as != self.cluster_as:
            return None
        if mark.cluster_as == "name":
            return self.type
        sizes = [name for name, _ in self.writing.numbers]
        there = mark.type or sizes[-1]
        return there if there in sizes and sizes.index(self.type) <= sizes.index(there) else None

    def _too_small(self, mark: Mark) -> str:
        """Return the message on numbers that a column cannot hold."""
        return f"has numbers of type {mark.type}, and these labels need {self.type}"

    def _batches(self) -> Batches | None:
        """Return how an update is run in several transactions: on request, or if the table is long."""
        if self.application.batch is not None:
            return Batches.of(self.database, self.table, self.application.batch)
        if self.facts.many_rows is None or not self.database.key_of(self.table):
            return None
        beyond = f"SELECT 1 FROM {self.database.quoted(self.table)} LIMIT 1 OFFSET {self.facts.many_rows}"
        if self.database.connection.exec_driver_sql(beyond).first() is None:
            return None
        return Batches.of(self.database, self.table, BATCH_ROWS)

    def _keep_columns(self, update: str) -> str:
        """Return an update that leaves unchanged the columns that the database would update by itself."""
        if self.facts.kept_columns is None:
            return update
        found = self.database.ask(self.facts.kept_columns, DatabaseObject("table", self.table))
        names = [self.database.dialect.identifier(str(name)) for [name] in found]
        before, start, rest = update.partition(f"UPDATE {self.database.quoted(self.table)}\nSET\n  ")
        return f"{before}{start}{''.join(f'{name} = {name}, ' for name in names)}{rest}"

    def _unwritten(self) -> str | None:
        """Return a query for the rows that were withheld from an update; None where nothing does that."""
        interferes = self.facts.interferes
        if interferes is None or not self.database.ask(interferes, DatabaseObject("table", self.table))[0][0]:
            return None
        return changed_rows(self.database, self.thing, self._export("case"))

    def _note_no_transaction(self) -> None:
        self.notes.append(
            f"{self.facts.title} cannot roll back statements that create or drop an object: they run in an order "
            "that never leaves a half-made object under the name, and leftovers are dropped"
        )

    # Dropping ----------------------------------------------------------------------------------------

    def undo(self) -> Plan:
        found = self.database.find(self.thing)
        steps: list[str] = []
        if not self.facts.transactional and self.thing.kind != "column":
            beside = (
                DatabaseObject(self.thing.kind, (*self.into[:-1], _name_beside(way, self.into)))
                for way in ("new", "old")
            )
            steps += [self._drop(thing) for thing in beside if self.database.find(thing) is not None]
            self._note_no_transaction()
        if found is not None:
            self._refuse_others(found)
            steps.append(self._drop(self.thing))
        elif not steps:
            raise DataError(f"there is no {self._shown(self.thing)}, so there is nothing to drop")
        return self._finish([*steps, *_unregister(self.database, self.thing)], undo=True)

    # Statements --------------------------------------------------------------------------------------

    def _fill(self, template: str, thing: DatabaseObject, mark: Mark, **values: str) -> str:
        return self.database.fill(template, thing, mark=mark.literal, type=self.type, **values)

    def _added(self, thing: DatabaseObject) -> str:
        """Return the statement that adds an empty column."""
        table, column = self.database.quoted(thing.name), self.database.dialect.identifier(thing.column)
        return self.writing.added.format(table=table, column=column, type=self.type)

    def _drop(self, thing: DatabaseObject) -> str:
        return _drop(self.database, thing)

    def _forget(self, thing: DatabaseObject) -> str:
        return _forget(self.database, thing)

    def _registering(self, kind: str) -> list[str]:
        """Return the statements that create the registry, if an object of this kind needs one and there is none."""
        if not self.database.is_registered(kind) or self.database.has_registry(self.thing):
            return []
        self.notes.append(
            f"{self.facts.title} keeps no comment on a {kind}: a table {REGISTRY} is created, which records "
            "what shallowrules made"
        )
        return [self.database.fill(self.facts.registry, self.database.registry_of(self.thing))]

    def _marking(self, thing: DatabaseObject, mark: Mark, *, again: bool = False) -> list[str]:
        """Return the statements that mark an object as made here; `again` if it carries an older mark."""
        if not self.database.is_registered(thing.kind):
            return [self._fill(self.facts.comments[thing.kind], thing, mark)]
        before = [self._forget(thing)] if again or self.database.has_registry(thing) else []
        return [*before, self._register(thing, mark, like=thing)]

    def _register(self, thing: DatabaseObject, mark: Mark, like: DatabaseObject) -> str:
        """Return the statement that adds an object to the registry, as `like` is now."""
        registry, string = self.database.quoted(self.database.registry_of(thing).name), self.database.dialect.string
        definition = self.database.fill(self.facts.definitions[thing.kind], like)
        return (
            f"INSERT INTO {registry} (kind, name, part, mark, definition)\n"
            f"SELECT {string(thing.kind)}, {string(thing.name[-1])}, {string(thing.column)}, {mark.literal}, "
            f"({definition})"
        )


def leftovers(database: Database, plan: Plan) -> list[str]:
    """Return the clean-up statements for a failed plan where there is no rollback; others' objects stay."""
    statements = [_drop(database, thing) for thing in plan.beside if database.find(thing) is not None]
    for thing, mark in plan.made:
        found = database.find(thing)
        if found is not None and found.mark != mark:
            continue  # another run has created it since
        statements += [] if found is None else [_drop(database, thing)]
        statements += _unregister(database, thing)
    return statements


def _is_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names may mean one table, possibly without its schema or in a different case."""
    parts = min(len(one), len(other))
    return [part.casefold() for part in one[-parts:]] == [part.casefold() for part in other[-parts:]]


def _without_comments(sql: str) -> str:
    """Return SQL without its leading comment lines."""
    lines = sql.split("\n")
    return "\n".join(lines[next(i for i, line in enumerate(lines) if not line.startswith("--")) :])


def _name_beside(way: str, target: Sequence[str]) -> str:
    """Return a name for an object before or after it is in place: not a user's, and the same in each run."""
    return f"shallowrules_{way}_{hashlib.sha256(repr(tuple(target)).encode()).hexdigest()[:16]}"


def _drop(database: Database, thing: DatabaseObject) -> str:
    quoted = database.quoted(thing.name)
    return dropping(thing.kind, quoted, database.dialect.identifier(thing.column) if thing.column else "")


def _forget(database: Database, thing: DatabaseObject) -> str:
    """Return the statement that deletes an object from the registry."""
    registry = database.quoted(database.registry_of(thing).name)
    return f"DELETE FROM {registry} WHERE {database.is_row_of(thing)}"


def _unregister(database: Database, thing: DatabaseObject) -> list[str]:
    """Return the statements that delete an object from the registry, or drop the registry if it knows no other."""
    if not database.is_registered(thing.kind) or not database.has_registry(thing):
        return []
    if database.others_registered(thing):
        return [_forget(database, thing)]
    return [_drop(database, database.registry_of(thing))]

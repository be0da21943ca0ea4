"""The statements of a plan, laid out by looking at a database."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from shallowrules.errors import DataError, ExportError, OptionError, OptionName
from shallowrules.exporters import export
from shallowrules.exporters.sql import cluster_type
from shallowrules.exporters.sql.options import QUERIES
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.labelling.databases.application import CLUSTER_COLUMN, INTO, KEY, Application
from shallowrules.labelling.databases.batches import Batches
from shallowrules.labelling.databases.counting import changed_rows
from shallowrules.labelling.databases.databases import REGISTRY, REGISTRY_COLUMNS
from shallowrules.labelling.databases.dropping import drop, forget, unregister
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject, ExistingObject
from shallowrules.labelling.databases.labels import Labels, find_key
from shallowrules.labelling.databases.marks import Mark
from shallowrules.labelling.databases.plan import REPLACE, UNDO, Plan
from shallowrules.labelling.tested_columns import find_tested_columns
from shallowrules.rules import RuleSet

__all__ = ["Planner"]

BATCH_ROWS = 100_000
"""Rows per batch when the update of a long table is run in batches."""


class Planner:
    """Looks at a database and lays out the statements that apply labels, or drop them."""

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
        """Return the plan that applies labels."""
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
            steps += [drop(self.database, self.thing)]
            if self.facts.rights is not None and self.thing.kind != "column":
                rights = [str(grant) for [grant] in self.database.ask(self.facts.rights, self.thing)]
        if self.thing.kind == "column" and self.facts.holders is not None:
            self.notes.append(f"{self.facts.title} locks the table for readers until all of it is done")
        made = [self._export(self.application.style), *self._marking(self.thing, self.mark)]
        return self._finish([*steps, *made, *rights])

    def _make_beside(self) -> Plan:
        """Plan a view or a table where each statement is a transaction: an object gets its name when complete."""
        if self.application.style == "column":
            self._export("column")  # refuses: these databases have no column computed by such an expression
        found = self._existing()
        kind = self.thing.kind
        new = DatabaseObject(kind, (*self.into[:-1], _name_beside("new", self.into)))
        old = DatabaseObject(kind, (*self.into[:-1], _name_beside("old", self.into)))
        self._note_no_transaction()
        steps = self._registering(kind)
        steps += [drop(self.database, thing) for thing in (new, old) if self.database.find(thing) is not None]
        made = () if found is not None else ((self.thing, self.mark),)
        comment, query = self._query()
        if self.database.is_registered(kind):
            steps += [self._export("view", new.name), self._register(self.thing, self.mark, like=new)]
            if found is None:
                steps += [self._export("view")]
            else:
                steps += [comment + self._fill(str(self.facts.replaced_view), self.thing, self.mark, query=query)]
            steps += [drop(self.database, new)]
            if found is not None and found.mark != self.mark:
                steps += [f"{forget(self.database, self.thing)} AND mark <> {self.mark.literal}"]
            return self._finish(steps, beside=(new,), made=made)
        steps += [comment + self._fill(str(self.facts.marked_table), new, self.mark, query=query)]
        before, after, aside = map(self.database.quoted, (new.name, self.into, old.name))
        ending = [f"RENAME TABLE {before} TO {after}"]
        if found is not None:
            ending = [f"RENAME TABLE {after} TO {aside}, {before} TO {after}", drop(self.database, old)]
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
            steps += [] if found is None else [drop(self.database, self.thing)]
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
            steps += [] if is_new else [drop(self.database, self.thing)]
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
        """Return the plan that drops what an earlier application made."""
        found = self.database.find(self.thing)
        steps: list[str] = []
        if not self.facts.transactional and self.thing.kind != "column":
            beside = (
                DatabaseObject(self.thing.kind, (*self.into[:-1], _name_beside(way, self.into)))
                for way in ("new", "old")
            )
            steps += [drop(self.database, thing) for thing in beside if self.database.find(thing) is not None]
            self._note_no_transaction()
        if found is not None:
            self._refuse_others(found)
            steps.append(drop(self.database, self.thing))
        elif not steps:
            raise DataError(f"there is no {self._shown(self.thing)}, so there is nothing to drop")
        return self._finish([*steps, *unregister(self.database, self.thing)], undo=True)

    # Statements --------------------------------------------------------------------------------------

    def _fill(self, template: str, thing: DatabaseObject, mark: Mark, **values: str) -> str:
        return self.database.fill(template, thing, mark=mark.literal, type=self.type, **values)

    def _added(self, thing: DatabaseObject) -> str:
        """Return the statement that adds an empty column."""
        table, column = self.database.quoted(thing.name), self.database.dialect.identifier(thing.column)
        return self.writing.added.format(table=table, column=column, type=self.type)

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
        before = [forget(self.database, thing)] if again or self.database.has_registry(thing) else []
        return [*before, self._register(thing, mark, like=thing)]

    def _register(self, thing: DatabaseObject, mark: Mark, like: DatabaseObject) -> str:
        """Return the statement that adds an object to the registry, as `like` is now."""
        registry, string = self.database.quoted(self.database.registry_of(thing).name), self.database.dialect.string
        definition = self.database.fill(self.facts.definitions[thing.kind], like)
        return (
            f"INSERT INTO {registry} ({', '.join(REGISTRY_COLUMNS)})\n"
            f"SELECT {string(thing.kind)}, {string(thing.name[-1])}, {string(thing.column)}, {mark.literal}, "
            f"({definition})"
        )


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

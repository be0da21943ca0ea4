"""Labels applied to the table ``small`` of a database, and its objects afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from click.testing import Result
from commandline import call
from databases import SCHEMAS, SMALL, SMALL_LABELS, execute, schema_of
from rulesets import make_rules

from shallowrules.errors import ExportError
from shallowrules.exporters.sql import DIALECTS
from shallowrules.labelling.databases import Application, plan_labels, run_plan
from shallowrules.sources import DatabaseRows
from shallowrules.sources.connecting import connect, parse_url

COMPUTED = ("sqlite", "postgres")
"""Databases with a computed column."""

OTHER = make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 7, (1, 3, 8, 9)))
"""Other rules than `small_rules`: the clusters 7, 8 and 9 in place of 0, 1 and 2."""

OTHER_LABELS = [None if label is None else label + 7 for label in SMALL_LABELS]


def apply(database: Any, *arguments: str, table: str = "small", rules: str = "rules.json", **settings: Any) -> Result:
    return call("label", rules, "--database", database.url, "--table", table, "--apply", *arguments, **settings)


def applied(database: Any, style: str, *arguments: str, **settings: Any) -> str:
    """Apply, and return the output."""
    done = apply(database, style, "--yes", *arguments, **settings)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def refused(database: Any, *arguments: str, **settings: Any) -> str:
    """Apply options that are refused; return the message. Nothing has changed."""
    before = schema_of(database)
    done = apply(database, *arguments, "--yes", **settings)
    assert done.exit_code == 3, done.output
    assert schema_of(database) == before
    return " ".join(done.stderr.partition("Error: ")[2].split())


def target(style: str) -> str:
    """Return which of the tables has the labels."""
    return "small" if style in ("update", "column") else "small_clusters"


def labelled(database: Any, name: str = "small", column: str = "cluster") -> list[tuple[str | None, ...]]:
    """Return the rows of the table ``small``, or of an object made from it, with their labels."""
    quote = database.quote
    return _as_texts(database.query(f"SELECT {quote('x')}, {quote('i')}, {quote(column)} FROM {quote(name)}"))


def expected(labels: Sequence[int | None] = SMALL_LABELS) -> list[tuple[str | None, ...]]:
    """Return the rows of the table ``small`` with labels."""
    return _as_texts((*row, label) for row, label in zip(SMALL, labels, strict=True))


def _as_texts(rows: Iterable[Sequence[Any]]) -> list[tuple[str | None, ...]]:
    return sorted((tuple(None if cell is None else f"{float(cell):g}" for cell in row) for row in rows), key=repr)


class HostileShop:
    """A table, its rules, and names for objects made from it, all with hostile texts.

    Parameters
    ----------
    database : File or Engine
        With a `url`; a table ``kept`` is in it.
    chooser : random.Random
    pieces : sequence of str
        What texts are made of.
    """

    def __init__(self, database: Any, chooser: random.Random, pieces: Sequence[str]):
        self.database, self.chooser, self.pieces = database, chooser, pieces
        self.dialect = DIALECTS[database.dialect]
        self.table, self.target, self.cluster_column, *columns = (self._name(j) for j in range(5))
        categories, names = [self._text() for _ in range(3)], [f"{self._text()}{j}" for j in range(4)]
        self.columns = list(zip(columns, ("text", "float"), strict=True))
        tree = (0, categories[0], (1, 0.5, 0, 1), (0, f"{categories[1]}!", 2, 3))
        self.rules = make_rules(self.columns, tree, dict(enumerate(names)))
        known = [categories[0], f"{categories[1]}!", f"{categories[2]}?", None]
        self.values = [(text, number) for text in known for number in (0.25, 0.75, None)]
        self.labels = self.rules.assign(dict(zip(columns, map(list, zip(*self.values, strict=True)), strict=True)))
        self.names = {c.index: c.name for c in self.rules.clusters}

    def _text(self) -> str:
        """Return a text that the database can hold."""
        while True:
            text = "".join(self.chooser.choices(self.pieces, k=self.chooser.randint(1, 4)))
            with suppress(ExportError):
                self.dialect.string(text)
                if "\0" not in text and "\r" not in text and text.strip():
                    return text

    def _name(self, number: int) -> str:
        """Return a name that the database can hold and that is unlike any other."""
        while True:
            name = f"{self._text()}{number}" if self.chooser.random() < 0.5 else f"{number}{self._text()}"
            with suppress(ExportError):
                self.dialect.column(name)
                return name

    def make(self) -> None:
        """Make the table, with a key."""
        types = {"text": self.database.types["text"], "float": self.database.types["float"]}
        declared = [("key", "INTEGER"), *((name, types[kind]) for name, kind in self.columns)]
        told = ", ".join(f"{self.database.quote(name)} {kind}" for name, kind in declared)
        with connect(parse_url(self.database.url)) as connection:
            quoted = self.database.quote(self.table)
            connection.exec_driver_sql(f"CREATE TABLE {quoted} ({told}, PRIMARY KEY ({self.database.quote('key')}))")
            for key, (text, number) in enumerate(self.values):
                literal = "NULL" if text is None else self.dialect.string(text)
                connection.exec_driver_sql(
                    f"INSERT INTO {quoted} VALUES ({key}, {literal}, {'NULL' if number is None else number})"
                )
            connection.commit()

    def drop(self) -> None:
        execute(self.database, f"DROP TABLE {self.database.quote(self.table)}")

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query, as the driver gives them."""
        with connect(parse_url(self.database.url)) as connection:
            return sorted(map(tuple, connection.exec_driver_sql(statement).all()), key=repr)

    def state(self) -> tuple[list[tuple[Any, ...]], ...]:
        """Return everything that the database has, and the rows of its tables."""
        tables = [self.database.quote(name) for name in ("kept", self.table)]
        return self.ask(SCHEMAS[self.database.dialect]), *(self.ask(f"SELECT * FROM {table}") for table in tables)

    def check(self, style: str, cluster_as: Any, batch: int | None) -> None:
        """Apply, look at the labels, and drop them: nothing else is touched."""
        before = self.state()
        rows = DatabaseRows(self.database.url, '"' + self.table.replace('"', '""') + '"')
        into = None if style in ("update", "column") else [self.target]
        application = Application(
            style=style, into=into, cluster_column=self.cluster_column, cluster_as=cluster_as, batch=batch
        )
        run_plan(plan_labels(self.rules, rows, application))
        quote = self.database.quote
        found = self.ask(f"SELECT {quote('key')}, {quote(self.cluster_column)} FROM {quote((into or [self.table])[0])}")
        wanted: list[Any] = [None if label == -1 else int(label) for label in self.labels]
        if cluster_as == "name":
            wanted = [None if label is None else self.names[label] for label in wanted]
        assert sorted(found) == list(enumerate(wanted))
        assert self.ask("SELECT * FROM kept") == before[1]
        run_plan(plan_labels(self.rules, rows, application, undo=True))
        assert self.state() == before

r"""Hostile names of tables, columns, clusters and categories: the statements that keep labels touch nothing but their
own object.

    python tests/conformance/hostile_database.py --texts 2000 --seed 1 --only postgres mysql

Each round draws a rule set and a table as `hostile.py` does, also with names that are words of SQL, fill the longest
name that a database has, or differ by case from another's. There are other tables beside it, with a view on one. The
styles `view`, `table`, `update` and `column` are run as `export` writes them, and by `label --apply` and `--undo`.
Before and after, all objects of the database and all rows of its tables are read: another object that is there, gone or
changed is a finding, and so is a row with a cluster other than the tree's. `--seed N --rounds 1` runs one round again.
The exit status is 1 if there was a finding.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from click.testing import CliRunner
from hostile import Hostile
from places import NAMES, Place, open_place

from shallowrules.cli.commands import shallowrules
from shallowrules.cli.escaping import printable
from shallowrules.errors import EngineError, ExportError, MissingExtraError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.labelling.databases.databases import REGISTRY

__all__ = ["Round", "bystanders", "run_round"]

STYLES = ("view", "table", "update", "column")
NUMBER = "number of the row"

WORDS = (
    "select", "table", "order", "group", "user", "from", "end", "case", "null", "values", "default", "rowid", "oid",
    "t", "ctid", "labelled", "data", "small", "cluster", "new", "old", "excluded", "current_user", "true", "index",
    "ſelect", "ßtrasse", "STRASSE", "İd", "ıd", "ID", "K", "k", "\u212a", "Ω", "\u2126", "e\u0301", "é", "main",
    "public", "information_schema", "sqlite_master", "pg_class", "KEPT", "Kept View", "kept\u200b", "kept ",
)  # fmt: skip

LISTED = {
    "sqlite": "SELECT type, hex(name), coalesce(sql, '') FROM sqlite_master",
    "duckdb": """
SELECT 'table', hex(table_name), sql || coalesce(comment, '') || database_name || schema_name FROM duckdb_tables()
UNION ALL SELECT 'view', hex(view_name), sql || coalesce(comment, '') FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT 'column', hex(table_name), column_name || data_type || coalesce(comment, '')
FROM duckdb_columns() WHERE NOT internal
UNION ALL SELECT 'database', hex(database_name), '' FROM duckdb_databases()
UNION ALL SELECT 'schema', hex(schema_name), '' FROM duckdb_schemas() WHERE NOT internal""",
    "postgres": r"""
SELECT c.relkind::text, encode(convert_to(c.relname, 'UTF8'), 'hex'), md5(
  coalesce(pg_get_viewdef(c.oid), '') || coalesce(obj_description(c.oid, 'pg_class'), '')
  || coalesce(c.relacl::text, '') || n.nspname || coalesce((
    SELECT string_agg(attname || format_type(atttypid, atttypmod) || attgenerated::text
      || coalesce(col_description(attrelid, attnum), ''), ',' ORDER BY attname)
    FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped), ''))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'v', 'm', 'i', 'S')
UNION ALL SELECT 'role', encode(convert_to(rolname, 'UTF8'), 'hex'), '' FROM pg_roles
UNION ALL SELECT 'schema', encode(convert_to(nspname, 'UTF8'), 'hex'), '' FROM pg_namespace WHERE nspname !~ '^pg_'
UNION ALL SELECT 'function', encode(convert_to(proname, 'UTF8'), 'hex'), '' FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'trigger', encode(convert_to(tgname, 'UTF8'), 'hex'), '' FROM pg_trigger
UNION ALL SELECT 'database', encode(convert_to(datname, 'UTF8'), 'hex'), '' FROM pg_database""",
    "mysql": """
SELECT TABLE_TYPE, HEX(TABLE_NAME), TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
UNION ALL SELECT 'column', HEX(TABLE_NAME), HEX(CONCAT(COLUMN_NAME, ' ', COLUMN_TYPE, ' ', COLUMN_COMMENT))
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
UNION ALL SELECT 'definition', HEX(TABLE_NAME), HEX(VIEW_DEFINITION)
FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()
UNION ALL SELECT 'schema', HEX(SCHEMA_NAME), '' FROM information_schema.SCHEMATA
UNION ALL SELECT 'routine', HEX(ROUTINE_NAME), '' FROM information_schema.ROUTINES
UNION ALL SELECT 'trigger', HEX(TRIGGER_NAME), '' FROM information_schema.TRIGGERS""",
    "clickhouse": """
SELECT engine, hex(name), hex(create_table_query) FROM system.tables WHERE database = currentDatabase()
UNION ALL SELECT 'database', hex(name), '' FROM system.databases""",
}
"""What tells every object of a database: its kind, its name in hexadecimal digits, and what it is."""

TABLES = {"r", "v", "BASE TABLE", "VIEW", "table", "view", "View", "MergeTree", "Memory"}
"""The kinds of objects that have rows, as the databases call them."""

State = tuple[dict[tuple[str, str], tuple[str, ...]], dict[str, list[str]]]


def state_of_objects(place: Place) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return every object by kind and name."""
    objects: dict[tuple[str, str], list[str]] = {}
    for kind, name, what in place.query(LISTED[place.dialect]):
        objects.setdefault((str(kind), str(name).lower()), []).append(str(what))
    return {key: tuple(sorted(found)) for key, found in objects.items()}


def state_of(place: Place) -> State:
    """Return every object, by kind and name, and the rows of every table and view, by name."""
    objects, rows = state_of_objects(place), {}
    with place.opened() as engine:
        for kind, name in objects:
            if kind in TABLES and not bytes.fromhex(name).decode().startswith("sqlite_"):
                found = engine.query(f"SELECT * FROM {engine.quote(bytes.fromhex(name).decode())}")
                rows[name] = sorted(map(repr, found))
    return objects, rows


def bystanders(place: Place) -> list[str]:
    """Make the tables that have to stay as they are, and a view on one; return the statements that drop them."""
    integer, text = place.types["integer"], place.types["text"]
    place.create("kept", [("x", integer), ("t", text)], [(1, "a"), (2, None), (3, "it's")])
    others = ("small", "t_clusters", "a.b", "kept'; --", "labelled")
    for name in others:
        place.create(name, [("x", integer)], [(7,)])
    place.query(f"CREATE VIEW {place.quote('kept view')} AS SELECT x FROM {place.quote('kept')}")
    return [f"DROP VIEW {place.quote('kept view')}", *(f"DROP TABLE {place.quote(name)}" for name in ("kept", *others))]


class Round:
    """One round in one place: the table, the object that has to be touched, and no other."""

    def __init__(self, place: Place, drawn: Hostile, refused: Counter[str]) -> None:
        self.place, self.drawn, self.refused = place, drawn, refused
        self.dialect = DIALECTS[place.dialect]
        chooser = random.Random(drawn.chooser.getrandbits(64))
        self.table = self._held(self._name(chooser, drawn.table), "plain table")
        self.into = self._held(self._name(chooser, f"{drawn.table}{drawn.cluster_column}"), "plain view")
        self.added = self._held(self._name(chooser, drawn.cluster_column), "plain cluster")
        self.columns = {name: self._held(name, f"plain{j}") for j, (name, _) in enumerate(drawn.columns)}
        pairs = zip(drawn.rows, drawn.expected, strict=True)
        with place.opened() as engine:
            self.holds_nul = engine.holds_nul
        kept = [
            (row, label)
            for row, label in pairs
            if self.holds_nul or not any(isinstance(v, str) and "\0" in v for v in row)
        ]
        self.rows, self.expected = [row for row, _ in kept], {i: label for i, (_, label) in enumerate(kept)}

    def _name(self, chooser: random.Random, drawn: str) -> str:
        if chooser.random() < 0.7:
            return drawn
        word = chooser.choice(WORDS)
        longest = self.dialect.names.longest or 63
        return chooser.choice(
            [word, word.swapcase(), f"{word}{'x' * 70}"[:longest], f"{word}.{word}", f'"{word}"', f"{word}';--"]
        )

    def _held(self, name: str, other: str) -> str:
        """Return a name, or another where the database cannot hold it."""
        if self.place.dialect == "mysql" and "\r" in name:  # its client makes one line break of two characters
            return other
        try:
            self.dialect.column(name)
        except ExportError:
            self.refused[f"{self.place.dialect}, name"] += 1
            return other
        return name

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that every text is exported with."""
        return {
            "dialect": self.place.dialect,
            "columns": self.columns,
            "table": [self.table],
            "cluster_column": self.added,
        }

    def run(self) -> Iterator[str]:
        """Make the table, and run every style both ways."""
        place = self.place
        declared = [(NUMBER, place.types["integer"])]
        declared += [(self.columns[name], place.types[kind]) for name, kind in self.drawn.columns]
        try:
            place.create(self.table, declared, [(i, *row) for i, row in enumerate(self.rows)])
        except EngineError as error:
            self.refused[f"{place.dialect}, table: {error.answer[:60]}"] += 1  # another has this name
            return
        before = state_of(place)
        try:
            for style in STYLES:
                yield from self._exported(style, before)
                if place.url is not None:
                    yield from self._applied(style, before)
        finally:
            self._clear(before)

    def _clear(self, before: State) -> None:
        """Drop the table, and anything that a finding left behind: the next round starts as this one did."""
        quote = self.place.quote
        with suppress(EngineError):
            if left := state_of_objects(self.place).keys() - before[0].keys():
                for kind, name in left:
                    if kind in TABLES:
                        word = "VIEW" if kind.lower() in ("v", "view") else "TABLE"
                        self.place.query(f"DROP {word} {quote(bytes.fromhex(name).decode())}")
        self.place.drop(self.table)

    def _exported(self, style: str, before: State) -> Iterator[str]:
        place, quote, named = self.place, self.place.quote, self.drawn.chooser.choice(["number", "name"])
        try:
            text = export(self.drawn.rules, "sql", style=style, into=[self.into], cluster_as=named, **self.options)
        except ExportError as error:
            self.refused[f"{place.dialect}, {style}: {str(error)[:25]}"] += 1
            return
        onto = style in ("update", "column")
        kind = WRITING[place.dialect].type_of([0]) if named == "number" else WRITING[place.dialect].text
        try:
            if style == "update":
                place.query(f"ALTER TABLE {quote(self.table)} ADD COLUMN {quote(self.added)} {kind}")
            place.query(text)
        except EngineError as error:
            if style == "update":
                place.query(f"ALTER TABLE {quote(self.table)} DROP COLUMN {quote(self.added)}")
            if not self._is_refused(error):
                yield f"export {style}: {error.answer[:300]} | {text[:1500]!r}"
        else:
            yield from self._labels(f"export {style}", style, named)
            yield from self._touched(f"export {style}", before, style)
            away = (
                f"ALTER TABLE {quote(self.table)} DROP COLUMN {quote(self.added)}"
                if onto
                else f"DROP {style} {quote(self.into)}"
            )
            place.query(away)
        yield from self._same(f"export {style}, taken away", before)

    def _is_refused(self, error: EngineError) -> bool:
        """Whether another object has the name of the new one, or the database cannot compute a column."""
        parts = ("already", "exist", "not a base", "not immutable")
        reason = next((part for part in parts if part in error.answer.lower()), None)
        self.refused[f"{self.place.dialect}, by the engine: {reason}"] += reason is not None
        return reason is not None

    def _applied(self, style: str, before: State) -> Iterator[str]:
        def part(name: str) -> str:
            return '"' + name.replace('"', '""') + '"'

        named = self.drawn.chooser.choice(["number", "name"])
        self.drawn.rules.to_json("rules.json")
        words = ["label", "rules.json", "--database", str(self.place.url), "--table", part(self.table)]
        words += ["--apply", style, "--yes", f"--cluster-column={self.added}", "--cluster-as", named]
        for old, new in self.columns.items():
            if "=" in old or "=" in new:  # where OLD ends could not be said
                if old != new:
                    self.refused[f"{self.place.dialect}, OLD=NEW"] += 1
                    return
            elif old != new:
                words.append(f"--column={old}={new}")
        if style in ("view", "table"):
            words.append(f"--into={part(self.into)}")
        what = f"label --apply {style}"
        done = _call(words)
        if done.exit_code:
            said = " ".join(done.stderr.partition("Error: ")[2].split())
            self.refused[f"{what}: {_without_names(said)}"] += 1
            yield from self._same(f"{what}, refused", before)
            if not said or "Traceback" in done.output:
                yield f"{what}: {done.output!r}"
            return
        yield from self._labels(what, style, named)
        yield from self._touched(what, before, style)
        again = _call([*words, "--undo"])
        if again.exit_code:
            yield f"{what} --undo: {again.output!r}"
        yield from self._same(f"{what} --undo", before)
        if printable(done.output) != done.output:
            yield f"{what}: prints what a terminal obeys"
        if sorted(os.listdir()) != ["rules.json"]:
            yield f"{what}: leaves {os.listdir()}"

    def _labels(self, what: str, style: str, named: str) -> Iterator[str]:
        quote, names = self.place.quote, {c.index: c.name for c in self.drawn.rules.clusters}
        relation = self.table if style in ("update", "column") else self.into
        asked = f"SELECT {quote(NUMBER)}, {quote(self.added)} FROM {quote(relation)}"
        if named == "name":  # as digits, which no client changes
            digits = "encode(convert_to({0}, 'UTF8'), 'hex')" if self.place.dialect == "postgres" else "hex({0})"
            of_name = digits.format(quote(self.added))
            of_name = f"CASE WHEN {quote(self.added)} IS NOT NULL THEN {of_name} END"
            asked = f"SELECT {quote(NUMBER)}, {of_name} FROM {quote(relation)}"
        found: dict[int, Any] = {}
        for row, label in self.place.query(asked):
            found[int(str(row))] = label if label is None or named == "number" else bytes.fromhex(label).decode()
        for row, label in self.expected.items():
            wanted = None if label is None else str(label) if named == "number" else names[label]
            if found.get(row, "no such row") != wanted:
                yield f"{what}, {named}: {self.rows[row]}: {found.get(row, 'no such row')!r}, the tree {wanted!r}"

    def _touched(self, what: str, before: State, style: str) -> Iterator[str]:
        """Compare the objects now with those before: except for our own object, all are the same."""
        (objects, rows), (then, rows_then) = state_of(self.place), before
        own = self.table if style in ("update", "column") else self.into
        allowed = {_hex(own), _hex(REGISTRY)}
        for key in sorted({*objects, *then}):
            if objects.get(key) != then.get(key) and key[1] not in allowed:
                yield f"{what}: touches {key[0]} {bytes.fromhex(key[1])!r}"
        for name in rows_then:
            if name not in allowed and rows.get(name) != rows_then[name]:
                yield f"{what}: changes rows of {bytes.fromhex(name)!r}"
        if style in ("update", "column"):
            quote = self.place.quote
            listed = ", ".join(map(quote, [NUMBER, *self.columns.values()]))
            kept = sorted(map(repr, self.place.query(f"SELECT {listed} FROM {quote(self.table)}")))
            if kept != rows_then[_hex(self.table)]:
                yield f"{what}: changes other columns of the table"

    def _same(self, what: str, before: State) -> Iterator[str]:
        (objects, rows), (then, rows_then) = state_of(self.place), before
        differing = [key for key in sorted({*objects, *then}) if objects.get(key) != then.get(key)]
        differing += [("rows", name) for name in sorted({*rows, *rows_then}) if rows.get(name) != rows_then.get(name)]
        for kind, name in differing:
            yield f"{what}: not as before: {kind} {bytes.fromhex(name)!r}"


def _hex(name: str) -> str:
    return name.encode().hex()


PARTS_OF_REFUSALS = (
    "already has a column", "is about the column", "was not made by shallowrules", "as one; rename", "cannot hold",
    "has no style", "not immutable", "character 0", "is already a", "would overwrite",
)  # fmt: skip


def _without_names(said: str) -> str:
    """Return the words of a message without its quotations, so that equal refusals are counted together."""
    for start in PARTS_OF_REFUSALS:
        if start in said:
            return start
    return said[:200]


def _call(words: Sequence[str]) -> Any:
    done = CliRunner().invoke(shallowrules, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run_round(place: Place, seed: int, refused: Counter[str]) -> tuple[int, list[str]]:
    """Return how many texts were drawn in a round, and the findings."""
    drawn = Hostile(random.Random(seed))
    with tempfile.TemporaryDirectory(prefix="shallowrules-hostile-") as folder:
        here = os.getcwd()
        os.chdir(folder)
        try:
            found = list(Round(place, drawn, refused).run())
        except EngineError as error:
            found = [f"the engine refuses: {error.answer[:300]} | {error.statement[:500]!r}"]
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        finally:
            os.chdir(here)
    return drawn.texts, found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rounds in each place until enough texts have been drawn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--texts", type=int, default=2000, help="names, labels and values to draw for each place")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each round's is one more")
    parser.add_argument("--rounds", type=int, help="stop after as many rounds")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="run these alone")
    options = parser.parse_args(arguments)
    failed = False
    for name in options.only:
        refused, texts, findings, seed = Counter[str](), 0, 0, options.seed
        try:
            with open_place(name) as place:
                bystanders(place)
                while texts < options.texts and (options.rounds is None or seed < options.seed + options.rounds):
                    drawn, found = run_round(place, seed, refused)
                    for finding in found[:4]:
                        print(f"{name}, seed {seed}: {printable(finding)[:2000]}", flush=True)
                    texts, findings, seed = texts + drawn, findings + bool(found), seed + 1
                rounds = f"{seed - options.seed:,} rounds, {findings} with findings"
                print(f"{place.title} {place.version}: {texts:,} texts in {rounds}")
        except MissingExtraError as missing:
            print(f"left out: {missing}")
            findings += 1
        for what, count in sorted(refused.items()):
            print(f"  refused, {printable(what)}: {count:,}", flush=True)
        failed |= bool(findings)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

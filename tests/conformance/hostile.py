r"""Hostile names, labels and values: every form has to give the labels of the tree, and to do nothing else.

    python tests/conformance/hostile.py --texts 10000 --seed 1

Each round draws a rule set whose columns, clusters and categories have names made of quotes, comments, line breaks,
characters that turn the order of others, escapes of terminals, templates and statements, and rows of such values. Its
SQL is executed in the embedded engines, its Python is executed, its sheet is parsed, and `label` gives the rows of a
file their clusters. A text that a form cannot hold has to be refused by an error of ours. A finding is printed with the
seed of its round: `--seed N --rounds 1` runs that round alone. The exit status is 1 if there was one.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from comparing import MAX_QUERY, PLACES
from definition import cluster_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "helpers"))

from rulesets import FRAGMENTS, make_rules
from structures import markdown_structure, python_structure

from shallowrules.cli.commands import shallowrules
from shallowrules.cli.escaping import printable
from shallowrules.errors import EngineError, ExportError, MissingExtraError, ShallowRulesError
from shallowrules.exporters import export
from shallowrules.exporters.rendering import escape_markdown
from shallowrules.exporters.sql import DIALECTS, cluster_predicates
from shallowrules.rules import RuleSet
from shallowrules.verification.engines import Engine

__all__ = ["EMBEDDED", "KEPT", "Hostile", "assigned", "audit", "executed_sql", "findings", "parsed_sheet", "watched"]

PIECES = [
    *FRAGMENTS, "\0", "\x1b]0;title\x07", "\x9b31m", "\x08\x08", "\x7f", "\x85", "\u2029", "\u202e", "\u2066", "\u200f",
    "\u200b", "\ufeff", "\ufdd0", "\U0010ffff", "e\u0301\u0301\u0301", "\u0130", "\u00df", "\uff07", "\u2019", "\xa0",
    "{0}", "{", "}", "{{", "}}", "{# x #}", "{%- for x in y %}", "${x}", "$(touch made)", "`touch made`", "%(x)s", "%%",
    "$$", "$a$", "E'", "U&'", "N'", "X'", "\\x41", "\\u0041", "\\", "\\\\", "\\'", "''", '""', "``", "]]", "<!--",
    "'; ATTACH 'made' AS m; --", "'; DROP TABLE kept; --", "\"; DROP TABLE kept; --", "' || (SELECT 1) || '", "';\n--",
    "\n/", "\nGO\n", "NULL", "null", "NA", "true", "FALSE", "rowid", "1", "-1", "1e5", "nan", "inf", "AS", "FROM",
    "-->", "END", "CASE WHEN", "__import__('os')", "\"\"\"\nraise SystemExit\n", "'''\n1/0\n", "\\\n", "<script>", "![x](http://x)",
    "](javascript:x)", "```", "~~~", "---", "# x", "> x", "1. x", "| x |", "=1+1", "@x", "  ", "\r", "\t", ",", ";",
]  # fmt: skip

LONG = 4000
LONGEST_TABLE = 15
ROWS = 12
KEPT = "kept"
"""A table that has to stay as it is."""

EMBEDDED = ("sqlite", "duckdb", "clickhouse")
TABLES = {
    "sqlite": "SELECT name FROM sqlite_master",
    "duckdb": "SELECT table_name FROM duckdb_tables() UNION ALL SELECT database_name FROM duckdb_databases()",
    "clickhouse": "SELECT name FROM system.tables WHERE database = currentDatabase()",
}
"""What tells every table of an engine."""


class Hostile:
    """The choices that are drawn: rules, their plain twin with the same tree, and rows."""

    columns_drawn = (1, 3)
    n_clusters = 5
    n_rows = ROWS

    def __init__(self, chooser: random.Random) -> None:
        self.chooser = chooser
        self.texts = 0
        n_columns = chooser.randint(*self.columns_drawn)
        kinds = [chooser.choice(["text", "text", "text", "float", "boolean"]) for _ in range(n_columns)]
        names = [f"{j}{self._text()}" if chooser.random() < 0.5 else f"{self._text()}{j}" for j in range(len(kinds))]
        self.columns = list(zip(names, kinds, strict=True))
        # ClickHouse makes a folder of the table's name.
        self.table, self.cluster_column = self._text()[:LONGEST_TABLE] + "t", self._text() + "c"
        plain = [(f"c{j}", kind) for j, kind in enumerate(kinds)]
        self.tree = self._tree(0)
        self.titles = {cluster: f"{self._text()}{cluster}" for cluster in range(self.n_clusters)}
        self.named = self.texts
        self.rules = make_rules(self.columns, self.tree, self.titles)
        titles = {cluster: f"name{cluster}" for cluster in self.titles}
        self.plain = make_rules(plain, self._plain(self.tree, {}), titles)
        self.rows = [tuple(self._value(j) for j in range(len(kinds))) for _ in range(self.n_rows)]
        self.expected = [cluster_of(self.rules, row) for row in self.rows]
        notes = {cluster.index: self._text() for cluster in self.rules.clusters}
        self.rules = self.rules.with_names({}, notes)
        self.plain = self.plain.with_names({}, {index: f"note {index}" for index in notes})

    def _text(self) -> str:
        chooser = self.chooser
        self.texts += 1
        pieces = [chooser.choice(PIECES) for _ in range(chooser.randint(1, 4))]
        if not chooser.randrange(4):
            pieces.insert(
                chooser.randrange(len(pieces) + 1), chr(chooser.choice([*range(1, 0x300), *range(0x2000, 0x2070)]))
            )
        if not chooser.randrange(200):
            pieces.append(chooser.choice(PIECES).replace("\0", "") * LONG)
        return "".join(pieces)

    def _tree(self, depth: int) -> Any:
        chooser = self.chooser
        if depth == 3 or (depth and not chooser.randrange(4)):
            return chooser.randrange(self.n_clusters)
        j = chooser.randrange(len(self.columns))
        return (j, self._cut(j), self._tree(depth + 1), self._tree(depth + 1))

    def _cut(self, j: int) -> Any:
        chooser = self.chooser
        cut: Any = {"float": chooser.choice([0.5, -1e10, 7.0]), "boolean": True}.get(self.columns[j][1])
        if cut is not None:
            return cut
        texts = tuple(dict.fromkeys(self._text() for _ in range(chooser.randint(1, 3))))
        return texts if len(texts) > 1 else texts[0]

    def _plain(self, tree: Any, known: dict[str, str]) -> Any:
        """Return the tree with plain categories."""
        if not isinstance(tree, tuple):
            return tree
        j, cut, *branches = tree
        if isinstance(cut, str):
            cut = known.setdefault(cut, f"v{len(known)}")
        elif isinstance(cut, tuple):
            cut = tuple(known.setdefault(text, f"v{len(known)}") for text in cut)
        return (j, cut, *(self._plain(branch, known) for branch in branches))

    def _value(self, j: int) -> Any:
        chooser, kind = self.chooser, self.columns[j][1]
        if not chooser.randrange(8):
            return None
        if kind == "float":
            return chooser.choice([0.5, 0.25, 7.0, 8.0, -2e10])
        if kind == "boolean":
            return chooser.random() < 0.5
        known = str(chooser.choice(self.rules.columns[j].values))
        if chooser.random() < 0.6:
            return known
        return chooser.choice(
            [known + " ", known.swapcase(), known[:-1], " " + known, known + self._text(), self._text()]
        )


Findings = Iterator[str]


def assigned(drawn: Hostile) -> Findings:
    """Check `RuleSet.assign` of the rules, written as a document and read back, against the tree."""
    read = RuleSet.from_dict(json.loads(json.dumps(drawn.rules.to_dict())))
    if read != drawn.rules:
        yield "rules.json gives other rules"
    data = {
        column.name: list(values) for column, values in zip(read.columns, zip(*drawn.rows, strict=True), strict=True)
    }
    yield from _differences("assign", drawn, [None if label == -1 else int(label) for label in read.assign(data)])


def executed_python(drawn: Hostile) -> Findings:
    """Check the emitted module against its plain twin: its syntax, its labels, and no other event."""
    for cluster_as in ("number", "name"):
        text = export(drawn.rules, "python", cluster_as=cluster_as)
        plain = export(drawn.plain, "python", cluster_as=cluster_as)
        if python_structure(text) != python_structure(plain):
            yield f"Python, {cluster_as}: other syntax than that of plain names"
            continue
        watched(lambda text=plain: _calls(text, drawn.plain, drawn.rows[:1]))
        usual, _ = watched(lambda text=plain: _calls(text, drawn.plain, drawn.rows[:1]))
        seen, labels = watched(lambda text=text: _calls(text, drawn.rules, drawn.rows))
        if set(seen) - set(usual):
            yield f"Python, {cluster_as}: {sorted(set(seen) - set(usual))} happened"
        yield from _differences(f"Python, {cluster_as}", drawn, labels, named=cluster_as == "name")


EVENTS: list[str] | None = None


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Note the events of Python's audit while `watched` watches: a hook, to be added once."""
    if EVENTS is not None:
        EVENTS.append(f"{event} {arguments[0]!r}" if event in ("open", "import") and arguments else event)


def watched(run: Callable[[], Any]) -> tuple[list[str], Any]:
    """Return the events that Python's audit saw during a call, and its result."""
    global EVENTS
    EVENTS = []
    try:
        return EVENTS, run()
    finally:
        EVENTS = None


def _calls(text: str, rules: RuleSet, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    namespace: dict[str, Any] = {"__name__": "emitted_rules"}
    exec(compile(text, "<emitted rules>", "exec"), namespace)
    names = [column.name for column in rules.columns]
    return [namespace["assign_cluster"](dict(zip(names, row, strict=True))) for row in rows]


def parsed_sheet(drawn: Hostile) -> Findings:
    """Check the sheet against its plain twin: the same structure, and nothing that a terminal obeys."""
    clusters = drawn.rules.clusters
    shown = [*(column.name for column in drawn.rules.columns), *(c.name for c in clusters), *(c.note for c in clusters)]
    if not all(map(escape_markdown, shown)):
        return  # nothing is left of a name of control characters, and the structure differs by its text
    sheet = export(drawn.rules, "markdown")
    if markdown_structure(sheet) != markdown_structure(export(drawn.plain, "markdown")):
        yield "Markdown: another structure than that of plain names"
    if printable(sheet) != sheet:
        yield "Markdown: a character that a terminal obeys"


def _other_labels(
    what: str, found: Mapping[str, Any], rows: Sequence[Any], expected: Sequence[int | None], rules: RuleSet
) -> Findings:
    """Yield each row with a label other than the tree's; the style "select" gives names."""
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    for row, label in zip(rows, expected, strict=True):
        wanted = None if label is None else names[label] if what.endswith("select") else str(label)
        if found.get(str(row[0])) != wanted:
            yield f"{what}: {row}: {found.get(str(row[0]))!r}, the tree {wanted!r}"


def executed_sql(drawn: Hostile, engine: Engine, refused: Counter[str]) -> Findings:
    """Run the SQL of every style in one engine, names that it cannot hold replaced by plain ones."""
    dialect = DIALECTS[engine.dialect]

    def held(name: str, other: str) -> str:
        try:
            dialect.column(name)
        except ExportError:
            refused[f"{engine.dialect}, name"] += 1
            return other
        return name

    columns = {name: held(name, f"plain{j}") for j, (name, _) in enumerate(drawn.columns)}
    table, added = held(drawn.table, "plain table"), held(drawn.cluster_column, "plain cluster")
    number = "number of the row"
    declared = [(number, engine.types["integer"])]
    declared += [(columns[name], engine.types[kind]) for name, kind in drawn.columns]
    known = drawn.chooser.choice([{"types": dict(declared)}, {"guards": "usual"}, {"guards": "full"}])
    options: dict[str, Any] = {"dialect": engine.dialect, "columns": columns, "table": [table], **known}
    rows, expected = zip(
        *(
            ((place, *row), label)
            for place, (row, label) in enumerate(zip(drawn.rows, drawn.expected, strict=True))
            if engine.holds_nul or not any(isinstance(value, str) and "\0" in value for value in row)
        ),
        strict=True,
    )
    engine.create(table, declared, rows)
    before = sorted(engine.query(TABLES[engine.dialect]))
    try:
        case = export(drawn.rules, "sql", style="case", **options)
        named = export(drawn.rules, "sql", style="select", cluster_as="name", cluster_column=added, **options)
        check = export(drawn.rules, "sql", style="check", **options)
        predicates = cluster_predicates(drawn.rules, dialect=engine.dialect, columns=columns, **known)
    except ExportError as error:
        refused[f"{engine.dialect}, text"] += 1
        if "character 0" not in str(error):
            yield f"{engine.dialect}: refused: {error}"
        return
    finally:
        if sys.exc_info()[0] is not None:
            engine.drop(table)
    place, source, before_query = engine.quote(number), engine.quote(table), MAX_QUERY.get(engine.dialect, ())
    try:
        asked = {
            "case": f"SELECT {place}, {case}\nFROM {source}",
            "where": "\nUNION ALL ".join(
                f"SELECT {place}, {label} FROM {source} WHERE {text}\n" for label, text in predicates.items()
            ),
            "select": f"SELECT {place}, {engine.quote(added)} FROM ({named}\n) AS labelled",
        }
        for style, statement in asked.items():
            found = dict(engine.query(statement, before_query))
            yield from _other_labels(f"{engine.dialect}, {style}", found, rows, expected, drawn.rules)
        counts = [int(float(str(row[2]))) for row in engine.query(check, before_query) if row[0] == "rows of a cluster"]
        if sorted(counts) != sorted(expected.count(cluster.index) for cluster in drawn.rules.clusters):
            yield f"{engine.dialect}, check: {counts}"
        if sorted(engine.query(TABLES[engine.dialect])) != before or engine.query(f"SELECT x FROM {KEPT}") != [("1",)]:
            yield f"{engine.dialect}: other tables than before"
    finally:
        engine.drop(table)


def labelled_file(drawn: Hostile, kind: str) -> Findings:
    """Run `label` on a file of the rows: it gives the name of each cluster, and makes no other file."""
    rows, expected = drawn.rows, drawn.expected
    names = [name for name, _ in drawn.columns]
    if kind == "csv":  # which has no empty text beside a missing one, and no character 0
        rows = [tuple(None if value == "" else value for value in row) for row in rows]
        expected = [cluster_of(drawn.rules, row) for row in rows]
        if any(isinstance(text, str) and "\0" in text for row in (names, *rows) for text in row):
            return
        with open("t.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    else:
        held = {"text": pa.string(), "float": pa.float64(), "boolean": pa.bool_()}
        columns = zip(drawn.columns, zip(*rows, strict=True), strict=True)
        pq.write_table(pa.table({name: pa.array(values, held[kind]) for (name, kind), values in columns}), "t.parquet")
    drawn.rules.to_json("rules.json")
    result = CliRunner().invoke(
        shallowrules,
        ["label", "rules.json", f"t.{kind}", "-o", "out.parquet", "--cluster-column", drawn.cluster_column],
    )
    if result.exit_code:
        yield f"label, {kind}: {result.output.strip()} {result.exception!r}"
        return
    if printable(result.output) != result.output:
        yield f"label, {kind}: prints what a terminal obeys"
    if sorted(os.listdir()) != ["out.parquet", "rules.json", f"t.{kind}"]:
        yield f"label, {kind}: leaves {os.listdir()}"
    written = pq.read_table("out.parquet")
    if written.column_names != [*names, drawn.cluster_column]:
        yield f"label, {kind}: writes {written.column_names}"
        return
    titles = {cluster.index: cluster.name for cluster in drawn.rules.clusters}
    wanted = [None if label is None else titles[label] for label in expected]
    for row, found, label in zip(rows, written[drawn.cluster_column].to_pylist(), wanted, strict=True):
        if found != label:
            yield f"label, {kind}: {row}: {found!r}, the tree {label!r}"


def _differences(form: str, drawn: Hostile, found: Sequence[Any], *, named: bool = False) -> Findings:
    names = {cluster.index: cluster.name for cluster in drawn.rules.clusters}
    for row, label, right in zip(drawn.rows, found, drawn.expected, strict=True):
        wanted = names[right] if named and right is not None else right
        if label != wanted:
            yield f"{form}: {row}: {label!r}, the tree {wanted!r}"


def findings(drawn: Hostile, engines: Sequence[Engine], refused: Counter[str]) -> Findings:
    """Run one round in an empty folder of its own."""
    forms: list[Callable[[], Findings]] = [
        lambda: assigned(drawn),
        lambda: executed_python(drawn),
        lambda: parsed_sheet(drawn),
        lambda: labelled_file(drawn, drawn.chooser.choice(["csv", "parquet"])),
        *(lambda engine=engine: executed_sql(drawn, engine, refused) for engine in engines),
    ]
    for form in forms:
        with tempfile.TemporaryDirectory(prefix="shallowrules-hostile-") as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                yield from form()
                if "made" in os.listdir():
                    yield "a file was made"
            except EngineError as error:
                yield f"the engine refuses: {error.answer[:300]} | {error.statement[:300]!r}"
            except Exception as error:
                yield f"{type(error).__name__}: {error}"
            finally:
                os.chdir(here)


def surrogates_are_refused(drawn: Hostile) -> Findings:
    """Half a surrogate pair, which no file can hold: rules that have one are refused."""
    document = drawn.rules.to_dict()
    document["columns"][0]["name"] += "\udc80"
    try:
        RuleSet.from_dict(document)
    except ShallowRulesError:
        return
    yield "half a surrogate pair is taken for a name"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rounds until enough texts have been drawn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--texts", type=int, default=10_000, help="names, labels and values to draw")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each round's is one more")
    parser.add_argument("--rounds", type=int, help="stop after as many rounds")
    options = parser.parse_args(arguments)
    sys.addaudithook(audit)
    refused, texts, found, seed = Counter[str](), 0, 0, options.seed
    with ExitStack() as opened:
        engines = []
        for place in EMBEDDED:
            try:
                engine = opened.enter_context(PLACES[place].open())
            except MissingExtraError as missing:
                print(f"left out: {missing}")
                continue
            engine.create(KEPT, [("x", engine.types["integer"])], [(1,)])
            engines.append(engine)
        while texts < options.texts and (options.rounds is None or seed < options.seed + options.rounds):
            drawn = Hostile(random.Random(seed))
            wrong = [*surrogates_are_refused(drawn), *findings(drawn, engines, refused)]
            for finding in wrong[:5]:
                print(f"seed {seed}: {printable(finding)[:1500]}", flush=True)
            texts += drawn.texts
            found += bool(wrong)
            seed += 1
        names = ", ".join(f"{engine.title} {engine.version}" for engine in engines)
    print(f"{texts:,} texts in {seed - options.seed:,} rule sets: assign, Python, Markdown, label, {names}")
    for what, count in sorted(refused.items()):
        print(f"refused, {what}: {count:,}")
    print(f"seeds {options.seed} to {seed - 1}: {found} rounds with findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

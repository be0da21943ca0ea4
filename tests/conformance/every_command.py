"""Every command on rows of a database, and every style of SQL run there, checked against `RuleSet.assign` and the tree.

    all places, real tables, all cases on all column types:
        python tests/conformance/every_command.py
    one place, one case in nine of each type of rule column:
        python tests/conformance/every_command.py --only postgres --each 9

The tables telco and avila are read from the folder that SHALLOWRULES_DATA names. The exit status is 1 if a row gets
a different cluster, or something created is not dropped. A command that refuses a column type says so in the table.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, cases, one_in
from click.testing import CliRunner
from columntypes import ColumnType
from comparing import MAX_QUERY, NUMBER
from comparing import create as create_blocks
from places import NAMES, Place, open_place
from refusals import refusal_of
from sklearn.datasets import load_wine
from values import applies, block_of

from shallowrules.cli.commands import shallowrules
from shallowrules.errors import EngineError, ExportError, MissingExtraError
from shallowrules.exporters import export
from shallowrules.exporters.sql import STYLES, cluster_predicates
from shallowrules.rules import RuleSet
from shallowrules.tables.labels import NO_CLUSTER

__all__ = ["APPLIED", "READING", "REAL", "RealTable", "Run", "real_tables"]

ID = "number of the row"
CLUSTER = "its cluster"
DATA = Path(os.environ.get("SHALLOWRULES_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")

CHANGING = ("view", "table", "update", "column")
MAKING = (*CHANGING, "function")
READING = tuple(style for style in STYLES if style not in MAKING)
APPLIED = (*CHANGING, "labels")

_NO_TEXT = "Invalid utf8mb4 character string", "a BIT that is not text, written in strict mode (docs/numbers.md)"
KNOWN_ERRORS = {
    ("postgres", "column"): ("not immutable", "the generation expression is not immutable"),
    ("mysql", "table"): _NO_TEXT,
    ("mysql", "update"): _NO_TEXT,
}
"""By dialect and style, an engine's answer that ends a statement, and why that is left so. No row gets a label then."""

Labels = Mapping[int, int | None]


@dataclass(frozen=True)
class RealTable:
    """A table of people, its columns by type, and the options to fit it with."""

    name: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Any]]
    options: Sequence[str]

    def labels(self, rules: RuleSet) -> dict[int, int | None]:
        """Return the cluster that `RuleSet.assign` gives each row."""
        values = zip(*self.rows, strict=True)
        data = {name: list(column) for (name, _), column in zip(self.columns, values, strict=True)}
        assigned = rules.assign({name: np.array(column, object) for name, column in data.items()})
        return {row: None if label == NO_CLUSTER else int(label) for row, label in enumerate(assigned)}


def _wine() -> RealTable:
    wine = load_wine()
    names = [(str(name), "float") for name in wine.feature_names]
    return RealTable("wine", names, wine.data.tolist(), ["-k", "3"])


def _avila() -> RealTable:
    with np.load(DATA / "avila.npz", allow_pickle=False) as stored:
        names = [(str(name), "float") for name in stored["feature_names"]]
        return RealTable("avila", names, stored["X"].tolist(), ["-k", "12"])


def _telco() -> RealTable:
    with open(DATA / "telco_customer_churn.csv", newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    kinds = {"SeniorCitizen": "integer", "tenure": "integer", "MonthlyCharges": "float", "TotalCharges": "float"}
    of_kind: dict[str, Callable[[str], Any]] = {
        "integer": int,
        "float": lambda cell: float(cell) if cell.strip() else None,
        "text": str,
    }
    columns = [(name, kinds.get(name, "text")) for name in names]
    typed = [[of_kind[kind](cell) for (_, kind), cell in zip(columns, row, strict=True)] for row in rows]
    return RealTable("telco", columns, typed, ["-k", "4", "--exclude", "customerID", "--impute", "median"])


REAL: Mapping[str, Callable[[], RealTable]] = {"wine": _wine, "telco": _telco, "avila": _avila}


def real_tables() -> Iterator[RealTable]:
    """Yield the real tables that are there."""
    for name, read in REAL.items():
        try:
            yield read()
        except FileNotFoundError as error:
            print(f"left out: {name}: {error}")


class Run:
    """The run in one place and its results: rows and mismatches by command and table."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.rows: Counter[tuple[str, str]] = Counter()
        self.mismatches: Counter[tuple[str, str]] = Counter()
        self.refused: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.findings: list[str] = []

    def call(self, *arguments: object) -> Any:
        """Run a command in this process."""
        result = CliRunner().invoke(shallowrules, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def count(self, command: str, table: str, expected: Labels, found: Mapping[int, Any]) -> None:
        """Count rows, and those whose cluster is not the expected one, or is missing."""
        self.rows[command, table] += len(expected)
        wrong = [row for row, label in expected.items() if found.get(row, "no such row") != label]
        self.mismatches[command, table] += len(wrong)
        for row in wrong[:3]:
            self.fail(command, table, f"row {row}: {found.get(row, 'no such row')!r}, the tree {expected[row]!r}", 0)

    def count_totals(self, command: str, table: str, expected: Mapping[Any, int], found: Mapping[Any, int]) -> None:
        """Count rows of clusters that were counted by the command itself."""
        self.rows[command, table] += sum(expected.values())
        wrong = sum(abs(expected.get(key, 0) - found.get(key, 0)) for key in {*expected, *found})
        if wrong:
            self.fail(command, table, f"counts {dict(found)}, expected {dict(expected)}", wrong)

    def fail(self, command: str, table: str, what: str, mismatches: int = 1) -> None:
        """Note a finding."""
        self.mismatches[command, table] += mismatches
        self.findings.append(f"{self.place.title} | {command} | {table} | {what}")

    # One table -----------------------------------------------------------------------------------------

    def styles(
        self, title: str, table: str, rules: RuleSet, expected: Labels, columns: Mapping[str, str], key: str
    ) -> None:
        """Run the text of every style, as the user who exports it does."""
        for style in (*READING, *MAKING):
            options = {"dialect": self.place.dialect, "table": [table], "columns": dict(columns), "guards": "full"}
            try:
                if style in READING:
                    self._read_style(style, title, table, rules, expected, options, key)
                else:
                    self._change_style(style, title, table, rules, expected, options, key)
            except ExportError as error:
                self.refused[f"export {style}", title][str(error)] += 1
            except EngineError as error:
                said, reason = KNOWN_ERRORS.get((self.place.dialect, style), ("", ""))
                if said and said in error.answer:
                    self.refused[f"export {style}", title][reason] += 1
                    continue
                self.fail(f"export {style}", title, f"{error.answer[-300:]}: {error.statement[:300]}", len(expected))

    def _read_style(
        self, style: str, title: str, table: str, rules: RuleSet, expected: Labels, options: dict[str, Any], key: str
    ) -> None:
        quote, before = self.place.quote, MAX_QUERY.get(self.place.dialect, ())
        command = f"export {style}"
        if style in ("check", "drift"):
            found = self.place.query(export(rules, "sql", style=style, **options), before)
            counts: Counter[int | None] = Counter(expected.values())
            if style == "drift":
                totals = {None if int(row[0]) == NO_CLUSTER else int(row[0]): int(float(row[2])) for row in found}
                self.count_totals(command, title, counts, {k: n for k, n in totals.items() if n})
            else:
                clusters = sorted(int(float(row[2])) for row in found if row[0] == "rows of a cluster")
                wanted = sorted(counts[cluster.index] for cluster in rules.clusters)
                self.count_totals(command, title, Counter(wanted), Counter(clusters))
            return
        if style == "where":
            labels: dict[int, Any] = dict.fromkeys(expected)
            for cluster, text in cluster_predicates(
                rules, dialect=options["dialect"], columns=options["columns"], guards=options["guards"]
            ).items():
                for (row,) in self.place.query(f"SELECT {quote(key)} FROM {quote(table)} WHERE {text}", before):
                    labels[int(row)] = cluster if labels.get(int(row)) is None else "several"
        else:
            text = export(rules, "sql", style=style, cluster_column=CLUSTER, **options)
            labelled = text if style == "select" else f"SELECT *, {text}\nAS {quote(CLUSTER)} FROM {quote(table)}"
            labels = self._labels(f"({labelled}\n) AS labelled", key, before)
        self.count(command, title, expected, labels)

    def _change_style(
        self, style: str, title: str, table: str, rules: RuleSet, expected: Labels, options: dict[str, Any], key: str
    ) -> None:
        quote, before = self.place.quote, MAX_QUERY.get(self.place.dialect, ())
        text = export(rules, "sql", style=style, into=["made of it"], cluster_column=CLUSTER, **options)
        if style == "function":
            self.place.query(text, before)
            names = [rules.columns[i].name for i in rules.tested_columns]
            arguments = ", ".join(quote(options["columns"].get(name, name)) for name in names)
            called = f"{quote('made of it')}({arguments}) AS {quote(CLUSTER)}"
            try:
                found = self._labels(f"(SELECT {quote(key)}, {called} FROM {quote(table)}) AS called", key, before)
            finally:
                kind = "MACRO" if self.place.dialect == "duckdb" else "FUNCTION"
                self.place.query(f"DROP {kind} {quote('made of it')}")
        elif style in ("view", "table"):
            self.place.query(text, before)
            found = self._labels(quote("made of it"), key, before)
            self.place.query(f"DROP {style} {quote('made of it')}")
        else:
            if style == "update":
                kind = "Nullable(Int64)" if self.place.dialect == "clickhouse" else "BIGINT"
                self.place.query(f"ALTER TABLE {quote(table)} ADD COLUMN {quote(CLUSTER)} {kind}")
            try:
                self.place.query(text, before)
                found = self._labels(quote(table), key, before)
            finally:
                if style == "update" or sys.exc_info()[0] is None:
                    self.place.query(f"ALTER TABLE {quote(table)} DROP COLUMN {quote(CLUSTER)}")
        self.count(f"export {style}", title, expected, found)

    def _labels(self, relation: str, key: str, before: Sequence[str] = ()) -> dict[int, int | None]:
        quote = self.place.quote
        rows = self.place.query(f"SELECT {quote(key)}, {quote(CLUSTER)} FROM {relation}", before)
        return {int(str(row)): None if label is None else int(label) for row, label in rows if row is not None}

    def applied(
        self, title: str, table: str, rules: RuleSet, expected: Labels, columns: Mapping[str, str], key: str
    ) -> None:
        """Apply and drop each style by the command; update twice, and by batches."""
        there = ["label", "rules.json", "--database", self.place.url, "--table", table, "--cluster-column", CLUSTER]
        there += [word for old, new in columns.items() for word in ("--column", f"{old}={new}")]
        before = self.place.query(_SCHEMAS[self.place.dialect])
        for style in APPLIED:
            command, into = f"label {style}", table if style in ("update", "column") else "made of it"
            named = ["--into", f'"{into}"'] if into != table else []
            named += ["--key", key] if style == "labels" else []
            for more in ([], ["--replace"]):
                done = self.call(*there, "--apply", style, "--yes", *named, *more)
                if done.exit_code:
                    break
                self.count(command, title, expected, self._labels(self.place.quote(into), key))
            else:
                done = self.call(*there, "--apply", style, "--yes", *named, "--undo")
            said = " ".join(done.stderr.partition("Error: ")[2].split())
            if done.exit_code:
                self.refused[command, title][said[:160]] += 1
            if (after := self.place.query(_SCHEMAS[self.place.dialect])) != before:
                self.fail(command, title, f"another schema than before: {set(after) ^ set(before)}; {said}")
                return

    def watched(
        self, title: str, table: str, rules: RuleSet, expected: Labels, columns: Mapping[str, str], *answers: str
    ) -> None:
        """Verify the answers of SQL and count the drift with the commands."""
        there = ["rules.json", "--database", self.place.url, "--table", table]
        there += [word for old, new in columns.items() for word in ("--column", f"{old}={new}")]
        counts: Counter[int | None] = Counter(expected.values())
        done = self.call("verify", *there, "-o", "certificate.txt", "--force", *answers)
        if "Error" in done.stderr and not done.stdout:
            self.refused["verify", title][" ".join(done.stderr.split())[:160]] += 1
        else:
            lines = [line.split() for line in done.stdout.splitlines()]
            sizes = [int(words[0].replace(",", "")) for words in lines if words[1:3] == ["in", "cluster"]]
            found = {c.index: n for c, n in zip(rules.by_size, sizes, strict=True) if n}
            without = [int(words[0].replace(",", "")) for words in lines if words[1:] == ["in", "no", "cluster"]]
            found |= {None: without[0]} if without[0] else {}
            self.count_totals("verify", title, counts, found)
            if done.exit_code:
                self.fail("verify", title, done.output)
        done = self.call("drift", *there, "--max-shift", "100%")
        if done.exit_code:
            self.refused["drift", title][" ".join(done.stderr.split())[:160]] += 1
            return
        lines = [line.split() for line in done.stdout.splitlines() if line.rstrip().endswith(" points")]
        sizes = [int(words[-5].replace(",", "")) for words in lines if "%" in words[-3]]
        found = dict(zip([*(c.index for c in rules.by_size), None], sizes, strict=True))
        self.count_totals("drift", title, counts, {key: n for key, n in found.items() if n})

    # Tables of people ----------------------------------------------------------------------------------

    def real(self, table: RealTable) -> None:
        """Run everything on a real table."""
        declared = [
            (ID, self.place.types["integer"]),
            *((name, self.place.types[kind]) for name, kind in table.columns),
        ]
        self.place.create(table.name, declared, [(row, *values) for row, values in enumerate(table.rows)])
        try:
            if self.place.url is not None:
                self._fitted(table)
            else:  # rules of the same rows in a file
                self._written(table)
                done = self.call("fit", "t.csv", *self._options(table), "-o", "rules.json", "--force")
                assert done.exit_code == 0, done.output
            rules = RuleSet.from_json("rules.json")
            expected = table.labels(rules)
            self.styles(table.name, table.name, rules, expected, {}, ID)
            if self.place.url is not None:
                self.watched(table.name, table.name, rules, expected, {}, "--cluster-as", "name", "--else", "none")
                self.applied(table.name, table.name, rules, expected, {}, ID)
        finally:
            self.place.drop(table.name)

    def _options(self, table: RealTable) -> list[str]:
        options = list(table.options)
        if "--exclude" in options:
            options[options.index("--exclude") + 1] += f",{ID}"
            return options
        return [*options, "--exclude", ID]

    def _written(self, table: RealTable) -> None:
        with open("t.csv", "w", newline="", encoding="utf-8") as file:
            rows = ([row, *values] for row, values in enumerate(table.rows))
            csv.writer(file).writerows([[ID, *(name for name, _ in table.columns)], *rows])

    def _fitted(self, table: RealTable) -> None:
        """Fit by `run` and `fit`, show the path, and label a file: all of the same rows."""
        options, there = self._options(table), ["--database", self.place.url, "--table", table.name]
        done = self.call(
            "run", *there, *options, "-o", "out", "--force", "--sql-style", "select", "--cluster-column", CLUSTER
        )
        assert done.exit_code == 0, done.output
        rules = RuleSet.from_json("out/rules.json")
        text = Path("out/rules.sql").read_text(encoding="utf-8")
        expected = table.labels(rules)
        self.count("run", table.name, expected, self._labels(f"({text}\n) AS labelled", ID))
        done = self.call("fit", *there, *options, "-o", "rules.json", "--force")
        assert done.exit_code == 0, done.output
        fitted = RuleSet.from_json("rules.json")
        self.count("fit", table.name, expected, table.labels(fitted))
        counts: Counter[int | None] = Counter(expected.values())
        self.count_totals("fit", table.name, counts, {cluster.index: cluster.rows for cluster in fitted.clusters})
        self._written(table)
        quote = self.place.quote  # rows in the order of the file: an update moves them, and k-means depends on it
        in_order = ["--query", f"SELECT * FROM {quote(table.name)} ORDER BY {quote(ID)}"]
        of_database, of_file = (
            self.call("path", *rows, *options).stdout for rows in ([*there[:2], *in_order], ["t.csv"])
        )
        lines = dict(enumerate(of_file.splitlines()))
        self.count("path, lines", table.name, lines, dict(enumerate(of_database.splitlines())))  # type: ignore[arg-type]
        for command, rows in (("label -o, of a file", ["t.csv"]), ("label -o", there)):
            done = self.call("label", "rules.json", *rows, "-o", "labelled.csv", "--force", "--cluster-column", CLUSTER)
            assert done.exit_code == 0, done.output
            with open("labelled.csv", newline="", encoding="utf-8") as file:
                labelled = {int(row[ID]): int(row[CLUSTER]) if row[CLUSTER] else None for row in csv.DictReader(file)}
            self.count(command, table.name, expected, labelled)

    # Column types --------------------------------------------------------------------------------------

    def case(self, case: Case, kinds: Sequence[ColumnType]) -> None:
        """Run the styles and the commands on each type of column that may hold the values that a rule set tests."""
        blocks = []
        for number, kind in enumerate(kinds):
            if all(applies(column, kind) for column in case.rules.columns):
                block = block_of(case, kind, number)
                if not any(
                    refusal_of(self.place.dialect, case.rules.columns[0], name, str(kind), "full")
                    for name in block.kinds
                ):
                    blocks.append(block)
        case.rules.to_json("rules.json")
        for block in blocks:
            with self.place.opened() as engine:
                try:
                    create_blocks(engine, [block])
                except EngineError as error:
                    self.refused["create", str(block.type)][error.answer[:160]] += 1
                    continue
            self.place.let_change("data")
            expected = dict(enumerate(block.expected()))
            try:
                self.styles(f"type {block.type}", "data", case.rules, expected, block.names, NUMBER)
                if self.place.url is not None:
                    self.watched(f"type {block.type}", "data", case.rules, expected, block.names)
                    self.applied(f"type {block.type}", "data", case.rules, expected, block.names, NUMBER)
            finally:
                self.place.drop("data")

    def prepare(self) -> None:
        """Run the statements that column types need first."""
        for kind in self.place.columns:
            for statement in kind.before:
                self.place.query(statement)


_SCHEMAS = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2",
    "duckdb": "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY 1, 2",
    "postgres": (
        "SELECT table_name, column_name, data_type, is_generated FROM information_schema.columns "
        "WHERE table_schema = 'public' ORDER BY 1, 2"
    ),
    "mysql": (
        "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_COMMENT FROM information_schema.COLUMNS "
        "WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1, 2"
    ),
}


def show(run: Run, seconds: float) -> bool:
    """Print the results of a place; return whether anything is wrong."""
    print(f"\n{run.place.title} {run.place.version}, {seconds:.0f} s")
    for command, table in sorted(run.rows, key=lambda cell: (cell[1].startswith("type"), cell[1], cell[0])):
        refusals = sum(run.refused[command, table].values())
        more = f", {refusals:,} refused" if refusals else ""
        figures = f"{run.rows[command, table]:>9,} rows {run.mismatches[command, table]:>6,} mismatches{more}"
        print(f"  {table:40} {command:16} {figures}")
    reasons: Counter[str] = Counter()
    for (command, _), found in run.refused.items():
        for reason, times in found.items():
            reasons[f"{command}: {reason}"] += times
    for reason, times in reasons.most_common(20):
        print(f"  refused {times:,} times: {reason}")
    for finding in run.findings[:30]:
        print(f"  FOUND {finding[:900]}")
    total, wrong = sum(run.rows.values()), sum(run.mismatches.values())
    print(f"  {total:,} rows, {wrong:,} mismatches, {sum(reasons.values()):,} refusals", flush=True)
    return bool(wrong)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the places."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="run these alone")
    parser.add_argument("--each", type=int, default=1, help="of each type's cases run one in this many; 0 for none")
    parser.add_argument("--tables", nargs="*", choices=list(REAL), default=list(REAL), help="real tables")
    options = parser.parse_args(arguments)
    failed = False
    for name in options.only:
        try:
            with open_place(name) as place, tempfile.TemporaryDirectory() as folder:
                here, started, run = os.getcwd(), time.monotonic(), Run(place)
                os.chdir(folder)
                try:
                    run.prepare()
                    for table in real_tables():
                        if table.name in options.tables:
                            run.real(table)
                    for case in one_in(options.each, cases()) if options.each else ():
                        run.case(case, place.columns)
                finally:
                    os.chdir(here)
                failed |= show(run, time.monotonic() - started)
        except MissingExtraError as missing:
            print(f"left out: {missing}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Rule sets, column declarations, names and values, all drawn, executed in the engines until the time is up.

    python tests/conformance/fuzz.py --minutes 20 --seed 1

Each round draws a rule set of one to four columns with names, conversions and categories, a type for each column of
an engine's own, and rows of values on every edge; every style has to give each row the cluster of the definition. A
finding is printed with the seed of its round: `--seed N --rounds 1 --only ENGINE` runs that round alone. The exit
status is 1 if there was one.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from typing import Any

from cases import CONVERSIONS, TEXT_CONVERSIONS, TIME_CONVERSIONS, TIME_CUTS
from columntypes import COLUMNS, ColumnType, Texts
from comparing import GUARDS, PLACES, TABLE, Block, create, labels_of
from refusals import refusal_of
from rulesets import FRAGMENTS, make_rules
from values import CONTROLS, EDGES, STRAY, applies, draw

from shallowrules.errors import EngineError, ExportError, MissingExtraError
from shallowrules.exporters.sql import DIALECTS, LABELLING_STYLES
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.verification.engines import Engine

__all__ = ["Round"]

DEFAULT = ("sqlite", "duckdb", "parquet", "clickhouse", "postgres", "mysql")
ROWS = 60
SHOWN = 3
"""Rows of a round that are printed for each style."""

TYPES = ("float", "integer", "text", "boolean", *TIME_CUTS)


def _column_of(kind: str) -> RuleColumn:
    """Return a column of a type, to ask which columns of an engine hold it."""
    return RuleColumn("", kind, None, None, None)  # type: ignore[arg-type]


class Round:
    """The choices that are drawn for one engine."""

    def __init__(self, chooser: random.Random, engine: Engine) -> None:
        self.chooser = chooser
        self.engine = engine
        self.rules = self._rules()
        self.kinds = [self._kind(column) for column in self.rules.columns]
        self.names = {column.name: self._name(j) for j, column in enumerate(self.rules.columns)}

    def _rules(self) -> RuleSet:
        chooser = self.chooser
        types = [kind for kind in TYPES if any(applies(_column_of(kind), each) for each in COLUMNS[self.engine.title])]
        columns = [(f"{self._text()}{j}", chooser.choice(types)) for j in range(chooser.randint(1, 4))]

        def grow(depth: int) -> Any:
            if depth == 5 or (depth and not chooser.randrange(4)):
                return chooser.randrange(5)
            j = chooser.randrange(len(columns))
            return (j, self._cut(columns[j][1]), grow(depth + 1), grow(depth + 1))

        rules = make_rules(columns, grow(0))
        return replace(rules, columns=tuple(map(self._converted, rules.columns)))

    def _cut(self, kind: str) -> Any:
        chooser = self.chooser
        if kind == "boolean":
            return chooser.random() < 0.5
        if kind == "text":
            texts = tuple(dict.fromkeys(self._text() for _ in range(chooser.randint(1, 3))))
            return texts if len(texts) > 1 or chooser.random() < 0.5 else texts[0]
        if kind in TIME_CUTS:
            return chooser.choice(TIME_CUTS[kind]) + chooser.choice([0, 0, 1, chooser.randint(-300, 300)])
        if kind == "integer":
            near = chooser.choice([0, 0, 10, 2**24, 2**31, 2**53, -(2**53), 2**62])
            return near + chooser.randint(-5, 5)
        return chooser.choice(
            [0.1, -2.5, 7.0, 2.0**53, 1e22, 1e-300, chooser.uniform(-1e3, 1e3), chooser.gauss(0, 1e-6)]
        )

    def _converted(self, column: RuleColumn) -> RuleColumn:
        if column.type == "boolean":
            return replace(column, imputed=self.chooser.choice([None, True, False]))
        table = TEXT_CONVERSIONS if column.type == "text" else TIME_CONVERSIONS if column.is_time else CONVERSIONS
        conversion = dict(table[self.chooser.choice(list(table))])
        if column.type == "integer":
            conversion.pop("decimal", None)
        if conversion.get("imputed") is not None and column.is_numeric:
            conversion["imputed"] = self._cut(column.type)
        return replace(column, **conversion)

    def _text(self) -> str:
        """Draw a hostile text."""
        chooser = self.chooser
        pieces = [chooser.choice(FRAGMENTS) for _ in range(chooser.randint(1, 3))]
        if not chooser.randrange(4):
            pieces.append(chr(chooser.choice([0x130, 0x131, 0xDF, 0x3C2, 0x1F600, 0xFEFF, 0x202E, 0x7F, 0xA0, 0x1E9E])))
        return "".join(pieces)

    def _name(self, j: int) -> str:
        """Draw the table's name for a column: a hostile one, where the dialect can hold it."""
        dialect = DIALECTS[self.engine.dialect]
        for _ in range(9):
            name = f"{self._text()}{j}"
            try:
                dialect.identifier(name)
            except ExportError:
                continue
            return name
        return f"c{j}"

    def _kind(self, column: RuleColumn) -> ColumnType:
        """Draw a column type, except those whose every value the engine refuses."""
        dialect = self.engine.dialect
        kinds = [kind for kind in COLUMNS[self.engine.title] if applies(column, kind)]
        return self.chooser.choice([kind for kind in kinds if not refusal_of(dialect, column, "", str(kind), "full")])

    def rows(self) -> list[tuple[Any, ...]]:
        """Draw rows: values of the kinds of the conformance run, and texts put together from pieces.

        Values that an engine is known to refuse (`refusals.py`) are left out.
        """
        columns = []
        for j, kind in enumerate(self.kinds):
            column = self.rules.columns[j]
            drawn = draw(self.rules, j, kind, self.chooser.randrange(2**32))
            if isinstance(kind.holds, Texts) and kind.holds.words is None:
                made = (self._made(j) for _ in range(40))
                drawn += [("ordinary", text) for text in made if kind.holds.holds(text)]
            dialect = self.engine.dialect
            columns.append([value for name, value in drawn if not refusal_of(dialect, column, name, str(kind), "full")])
        return [tuple(self.chooser.choice(values) for values in columns) for _ in range(ROWS)] if all(columns) else []

    def _made(self, j: int) -> str:
        chooser, column = self.chooser, self.rules.columns[j]
        if column.type == "text":
            return self._text() if chooser.random() < 0.5 else str(chooser.choice(column.values)) + self._text()
        pieces = [*EDGES, *STRAY, *CONTROLS, *"+-.,eE 0123456789_", "inf", "nan", "true", "NA", " ", "00", "e308"]
        return "".join(chooser.choice(pieces) for _ in range(chooser.randint(1, 4)))

    def block(self) -> Block:
        """Return the rows for the engine."""
        rows = self.rows()
        return Block(self.rules, self.kinds, [""] * len(rows), rows, names=self.names)

    def findings(self) -> Iterator[str]:
        """Run the round and yield every finding."""
        block = self.block()
        expected = block.expected()
        create(self.engine, [block])
        try:
            for guards, style in product(self.guards(), LABELLING_STYLES):
                try:
                    [found] = labels_of(self.engine, [replace(block, guards=guards)], style)
                except ExportError as error:
                    if "character 0" not in str(error):
                        yield f"{style}: the exporter refuses: {error}"
                    return
                wrong = [row for row, label in enumerate(found) if label != expected[row]]
                for row in wrong[:SHOWN]:
                    described = self._described(block.rows[row])
                    yield f"{guards}, {style}: {described}: {found[row]}, the tree {expected[row]}"
        finally:
            self.engine.drop(TABLE)

    def guards(self) -> Sequence[str]:
        """Return the guards under which nothing in the columns is refused."""
        dialect, columns = self.engine.dialect, zip(self.rules.columns, self.kinds, strict=True)
        refused = [refusal_of(dialect, column, "", str(kind), "usual") is not None for column, kind in columns]
        return [guards for guards in GUARDS if guards != "usual" or not any(refused)]

    def _described(self, row: Sequence[Any]) -> str:
        tested = self.rules.tested_columns
        parts = []
        for j in tested:
            column = self.rules.columns[j]
            conversion = {name: getattr(column, name) for name in ("decimal", "nulls", "imputed")}
            parts.append(f"{column.type} {conversion} in {self.kinds[j]} = {row[j]!r}")
        return "; ".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rounds until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each round's is one more")
    parser.add_argument("--rounds", type=int, help="stop after as many rounds")
    parser.add_argument("--only", nargs="+", choices=list(PLACES), help="run these engines alone")
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    rounds, rows, found = Counter[str](), Counter[str](), 0
    with ExitStack() as opened:
        engines = {}
        for place in options.only or DEFAULT:
            try:
                engines[place] = opened.enter_context(PLACES[place].open())
            except MissingExtraError as missing:
                print(f"left out: {missing}")
                continue
            for kind in COLUMNS[engines[place].title]:
                for statement in kind.before:
                    engines[place].query(statement)
        seed = options.seed
        while time.monotonic() < end and (options.rounds is None or seed < options.seed + options.rounds):
            for place, engine in engines.items():
                drawn = Round(random.Random(seed), engine)
                try:
                    findings = list(drawn.findings())
                except EngineError as error:
                    findings = [f"the engine refuses: {error.answer[:300]} | {' '.join(error.statement.split())[:300]}"]
                for finding in findings:
                    print(f"{place}, seed {seed}: {finding}", flush=True)
                rounds[place] += 1
                rows[place] += ROWS
                found += bool(findings)
            seed += 1
    for place in engines:
        print(f"{place}: {rounds[place]:,} rule sets, {rows[place]:,} rows in {len(LABELLING_STYLES)} styles")
    print(f"seeds {options.seed} to {seed - 1}: {found} rounds with findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

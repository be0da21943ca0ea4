"""Every engine on every kind of value in every type of column, checked against the definition: docs/conformance.md.

    python tests/conformance/run.py                      all engines; rewrites the page
    python tests/conformance/run.py --only duckdb spark  some of them
    python tests/conformance/run.py --short              the form of CI: a part of the cases, no page

The exit status is 1 if a row gets a different cluster than the tree gives it, or an engine answers with an error, where
`refusals.py` does not list it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import zip_longest
from multiprocessing import get_context

from cases import Case, cases, one_in
from columntypes import COLUMNS, ColumnType
from comparing import GUARDS, PLACES, TABLE, Block, create, labels_of
from forms import FORMS
from refusals import Refusal, refusal_of
from results import Result
from values import applies, block_of

from shallowrules.errors import EngineError, ExportError, MissingExtraError
from shallowrules.exporters.sql import LABELLING_STYLES
from shallowrules.verification.engines import Engine

EACH_OF_SHORT = {"spark": 40, "python": 1}
"""Of an engine's or form's cases the short form runs one in this many of each type; of others, one in `EACH`."""
EACH = 4
"""Numbers have 9 or 7 conversions, in several sizes: as 4 divides neither, nearly every conversion has its turn."""

TOGETHER = {"spark": 20}
"""Blocks that are compared by one query, where planning a query takes longer than running it; elsewhere one."""


class Run:
    """One engine's run."""

    def __init__(self, engine: Engine, place: str, guards: Sequence[str]) -> None:
        self.engine = engine
        self.place = place
        self.guards = guards
        self.results = {name: Result(engine.title, engine.version, name) for name in guards}
        self.columns = [kind for kind in COLUMNS[engine.title] if self.prepare(kind)]

    def prepare(self, kind: ColumnType) -> bool:
        """Run the statements that a column type needs first; False where the engine refuses one."""
        try:
            for statement in kind.before:
                self.engine.query(statement)
        except EngineError as error:
            for result in self.results.values():
                result.findings.append(f"{kind}: {error.statement}: {error.answer}")
            return False
        return True

    def case(self, case: Case) -> None:
        """Run one rule set on every type of column."""
        blocks = []
        for place, kind in enumerate(self.columns):
            if all(applies(column, kind) for column in case.rules.columns):
                blocks.append(block_of(case, kind, place))
        if not blocks:
            return
        create(self.engine, blocks)
        together = TOGETHER.get(self.place, 1)
        groups = [blocks[start : start + together] for start in range(0, len(blocks), together)]
        failed = [
            block
            for guards in self.guards
            for group in groups
            for block in self.compare(case, [replace(block, guards=guards) for block in group])
        ]
        self.engine.drop(TABLE)
        for block in failed:  # find the rows that the engine does not take
            for kind in dict.fromkeys(block.kinds):
                part = block.only(kind)
                create(self.engine, [part])
                self.compare(case, [part], final=True)
                self.engine.drop(TABLE)

    def compare(self, case: Case, blocks: Sequence[Block], final: bool = False) -> list[Block]:
        """Compare each style, and one of them under each setting; return the blocks of which it refuses a statement."""
        runs: list[tuple[str, Sequence[str], str | None]] = [(style, (), None) for style in LABELLING_STYLES]
        if case.settings:
            runs += [
                ("case", (setting,), back)
                for setting, back in self.engine.settings.items()
                if "default_collation" not in setting or blocks[0].guards == "full"  # as the text says
            ]
        expected = [block.expected() for block in blocks]
        wrong: list[dict[int, str]] = [{} for _ in blocks]
        for style, before, back in runs:
            try:
                found = labels_of(self.engine, blocks, style, before)
            except (EngineError, ExportError) as error:
                if len(blocks) > 1:
                    return [failed for block in blocks for failed in self.compare(case, [block], final)]
                return self.refused(case, blocks[0], style, error, final)
            finally:
                if back is not None:
                    self.engine.query(back)
            for place, wanted in enumerate(expected):
                for row, (label, right) in enumerate(zip(found[place], wanted, strict=True)):
                    if label != right:
                        text = f"{style} {' '.join(before)} gives {label}, the tree {right}"
                        wrong[place].setdefault(row, text)
        for block, findings in zip(blocks, wrong, strict=True):
            self.count(case, block, findings)
        return []

    def refused(
        self, case: Case, block: Block, style: str, error: EngineError | ExportError, final: bool
    ) -> list[Block]:
        """Count a block that the engine or the exporter refuses; return one that should be tried in parts."""
        if isinstance(error, ExportError):
            self.refuse(block, range(len(block.rows)), None)
            self.results[block.guards].findings.append(f"{case.name}, {block.type}: the exporter refuses: {error}")
            return []
        if not final:
            return [block]
        self.count(case, block, dict.fromkeys(range(len(block.rows)), f"{style}: {error.answer}"))
        return []

    def count(self, case: Case, block: Block, wrong: dict[int, str]) -> None:
        """Count the rows of a block, and those of them that went wrong."""
        for row, kind in enumerate(block.kinds):
            cell = (kind, block.type)
            if row in wrong:
                listed = refusal_of(self.engine.dialect, case.rules.columns[0], *cell, block.guards)
                if listed is not None:
                    self.refuse(block, [row], listed)
                    continue
            self.results[block.guards].count(case, block, row, wrong.get(row))

    def refuse(self, block: Block, rows: Iterable[int], refusal: Refusal | None) -> None:
        """Count rows as refused, and ask the engine for its answer."""
        result = self.results[block.guards]
        for row in rows:
            cell = (block.kinds[row], block.type)
            result.refused[cell] += 1
            if refusal is not None:
                result.reasons.setdefault(cell, refusal)
        if refusal is not None and refusal not in result.answers:
            *before, last = refusal.statement.split("; ")
            try:
                answer = "; ".join(" | ".join(map(str, row)) for row in self.engine.query(last, before))
            except EngineError as error:
                answer = error.answer
            result.answers[refusal] = answer


def run_one(name: str, part: str, short: bool, guards: Sequence[str]) -> list[Result] | str:
    """Return the results of one engine or form, on the cases whose name has `part`; a text if it is missing."""
    chosen = [case for case in cases() if part in case.name]
    if short:
        chosen = one_in(EACH_OF_SHORT.get(name, EACH), chosen)
    if name in FORMS:
        return [FORMS[name](chosen)]
    try:
        PLACES[name].check_installed()
    except MissingExtraError as missing:
        return f"{PLACES[name].title}: {missing}"
    return run_engine(name, chosen, guards, short)


def run_engine(place: str, chosen: Sequence[Case], guards: Sequence[str], short: bool = False) -> list[Result]:
    """Return the results of one engine, by guards; in the short form each case has one of them, in turn."""
    started = time.monotonic()
    with PLACES[place].open() as engine:
        run = Run(engine, place, guards)
        for number, case in enumerate(chosen):
            run.guards = [guards[number % len(guards)]] if short else guards
            run.case(case)
    results = list(run.results.values())
    for result in results:
        result.seconds = (time.monotonic() - started) / len(results)
    return results


def show(result: Result, shown: int) -> None:
    """Print the results of an engine, and some of its findings: each kind once before any kind twice."""
    total = sum(result.rows.values())
    name = ", ".join(filter(None, (f"{result.title} {result.version}", result.guards)))
    print(
        f"{name}: {total:,} rows, {sum(result.mismatches.values()):,} mismatches, "
        f"{sum(result.refused.values()):,} refused, {len(result.compared)} of {len(result.cells)} cells, "
        f"{result.seconds:.0f} s",
        flush=True,
    )
    groups: dict[str, list[str]] = defaultdict(list)
    for finding in result.findings:
        groups[" | ".join(finding.split(" | ")[:3])].append(finding)
    ordered = [finding for turn in zip_longest(*groups.values()) for finding in turn if finding is not None]
    for finding in ordered[:shown]:
        print("   ", finding[:600])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the engines and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", choices=[*FORMS, *PLACES], help="run these alone, and write no page")
    parser.add_argument("--short", action="store_true", help="a part of the cases; write no page")
    parser.add_argument("--guards", nargs="+", choices=GUARDS, default=GUARDS, help="with these alone; writes no page")
    parser.add_argument("--case", default="", help="only the cases whose name has this in it; write no page")
    parser.add_argument("--shown", type=int, default=12, help="findings to print for each engine")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="engines to run at once")
    options = parser.parse_args(arguments)
    results: dict[str, list[Result]] = {}
    failed = False
    # The slowest first, so that none is left at the end.
    names = options.only or [*reversed(PLACES), *FORMS]
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        started = {name: pool.submit(run_one, name, options.case, options.short, options.guards) for name in names}
        for name, future in started.items():
            found = future.result()
            if isinstance(found, str):
                print(found, flush=True)
                failed = True
                continue
            for result in found:
                show(result, options.shown)
                failed |= bool(result.mismatches)
            results[name] = found
    if not (options.only or options.short or options.case or options.guards != GUARDS) and len(results) == len(names):
        from page import PAGE, write_page

        write_page(PAGE, [result for name in (*PLACES, *FORMS) for result in results[name]])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

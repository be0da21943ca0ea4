"""10,000 hostile names, labels and categories through every exporter, whose output is executed.

    python tests/conformance/hostile_exporters.py                     10,000 names, seed 1
    python tests/conformance/hostile_exporters.py --short             a part of them
    python tests/conformance/hostile_exporters.py --write             the figures into docs/conformance.md too

Each round draws rules over 20 to 60 columns, whose names, categories and clusters are made of quotes, comments,
markup, templates and statements (`hostile.py`), and rows. `hostile_forms.py` says how each exporter is run. A finding
is printed with the seed of its round: `--seed N --rounds 1` runs that round alone, `--only html` a form alone. The exit
status is 1 if there was one, or if an installed exporter has no check.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from comparing import PLACES
from hostile import EMBEDDED, KEPT, audit
from hostile_forms import BESIDE, CHECKS, Check
from hostile_tools import ManyNames, Tools
from page import PAGE, put_section, section_of
from workbooks import tree_says

from shallowrules.cli.escaping import printable
from shallowrules.errors import EngineError, MissingExtraError
from shallowrules.exporters import export, exporter_names
from shallowrules.verification.runners.page import open_chromium
from shallowrules.verification.runners.xlsx import compute_workbooks, shown_labels

__all__ = ["last_findings", "main", "missing_checks", "round_findings"]

HEADING = "Hostile names through every exporter"
SHORT = 200
HOW = {
    "sql": "each style executed in {engines}; other dialects in turn read by sqlglot: the same statements",
    "python": "each style and the function of columns executed, under Python's audit",
    "markdown": "read by markdown-it-py: the same parts",
    "html": "opened in chromium, rows typed in; with a slider in every second round",
    "svg": "opened in chromium",
    "mermaid": "read by its grammar",
    "xlsx": "rows pasted, computed by LibreOffice",
    "pmml": "scored by pypmml, names read from the XML",
    "onnx": "run by onnxruntime, names read from the model",
    "dbt": "one project, built by dbt in DuckDB",
    "javascript": "run by Node.js: as many lines as with plain names",
    **dict.fromkeys(("c", "go", "java", "rust"), "compiled and run: as many lines as with plain names"),
    "r": "run by R: as many lines as with plain names",
    "path documents": "read back",
    "dmn (the example of a plugin)": "executed by pyDMNrules, {dmn:,} other names in rule sets of 2 or 3 columns",
}


def missing_checks() -> list[str]:
    """Return the installed exporters without a check."""
    return [name for name in exporter_names() if name not in CHECKS and name != "dmn"]


def round_findings(drawn: ManyNames, tools: Tools, checks: Mapping[str, Check]) -> Iterator[tuple[str, str]]:
    """Run each check on the drawn rules, and yield its name and each finding."""
    for name, check in checks.items():
        yield from _in_a_folder(name, partial(check, drawn, tools))


def last_findings(tools: Tools, names: Container[str]) -> Iterator[tuple[str, str]]:
    """Run the checks that run once for all rounds, for some exporters; yield the name and each finding."""
    for name, check in AT_LAST.items():
        if name in names:
            yield from _in_a_folder(name, partial(check, tools))


def _in_a_folder(name: str, check: Callable[[], Iterator[str]]) -> Iterator[tuple[str, str]]:
    """Run a check in an empty folder of its own."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="shallowrules-hostile-") as folder:
        os.chdir(folder)
        try:
            for finding in check():
                yield name, finding
            if "made" in os.listdir():
                yield name, "a file was made"
        except EngineError as error:
            yield name, f"the engine refuses: {error.answer[:300]} | {error.statement[:300]!r}"
        except Exception as error:
            yield name, f"{type(error).__name__}: {error}"
        finally:
            os.chdir(here)


def build_models(tools: Tools) -> Iterator[str]:
    """Build all models in one project of dbt, and compare the clusters in its views with those of the tree."""
    from dbtprojects import DBT, build_project, labels_in, table_of
    from rulesets import as_columns

    if DBT is None:
        yield "dbt is not installed: make build/dbt/bin/dbt"
        return
    tables: dict[str, Any] = {}
    files: dict[str, str] = {}
    for rules, rows, seed in tools.models:
        tables[f"t{seed}"] = [("row", "BIGINT", list(range(len(rows)))), *table_of(rules, rows)]
        options = {"dialect": "duckdb", "table": ["main", f"t{seed}"], "max_shift": 1.0, "materialized": "table"}
        files |= dict(export(rules, "dbt", **options))  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory(prefix="shallowrules-dbt-") as folder:
        done, database = build_project(Path(folder), tables, files)
        unit_tests = sum("unit_tests:" in text for name, text in files.items() if name.endswith(".yml"))
        passed = f"PASS={4 * len(tools.models) + unit_tests} WARN=0 ERROR=0 SKIP=0"
        if done.returncode or passed not in done.stdout:
            yield f"not {passed}: {done.stdout[-1500:]}"
            return
        for rules, rows, seed in tools.models:
            expected = rules.assign(as_columns(rules, rows)).tolist()
            if labels_in(database, f"t{seed}_clusters", len(rows)) != expected:
                yield f"seed {seed}: other labels than the tree's"


def compute_labels(tools: Tools) -> Iterator[str]:
    """Compute all workbooks in one start of LibreOffice, and compare the clusters in them with those of the tree."""
    shown = compute_workbooks([workbook for _, _, workbook, _ in tools.workbooks])
    for (rules, rows, _, seed), cells in zip(tools.workbooks, shown, strict=True):
        labels = zip(rows, shown_labels(cells, len(rows)), tree_says(rules, rows), strict=True)
        wrong = [(row, found, wanted) for row, found, wanted in labels if found != wanted]
        if wrong:
            row, found, wanted = wrong[0]
            yield f"seed {seed}: {len(wrong)} rows, the first {row}: {found!r}, the tree {wanted!r}"


AT_LAST: Mapping[str, Callable[[Tools], Iterator[str]]] = {"dbt": build_models, "xlsx": compute_labels}
"""What starts slowly is run once, on what the checks of all rounds kept."""


def section(
    names: Sequence[str], drawn: int, rounds: int, seed: int, found: Counter[str], tools: Tools
) -> Iterator[str]:
    """Yield the lines of the page."""
    engines = " and ".join(f"{engine.title} {engine.version}" for engine in tools.engines)
    yield f"{drawn:,} names of columns and clusters and categories in {rounds:,} rule sets of 20 to 60 columns, seeds"
    yield f"{seed} to {seed + rounds - 1}: quotes, comments, line breaks, markup, templates, statements, characters"
    yield "that reverse the order of others. What each exporter wrote was executed. A **finding** is a row with a label"
    yield "other than the tree's, a name that is not read back unchanged, or any other effect, such as a request."
    yield ""
    yield "| exporter | how it was run | refused names | findings |"
    yield "|---|---|---:|---:|"
    for name in names:
        own = {name, name.split()[0], *(EMBEDDED if name == "sql" else ())}
        refused = sum(count for form, count in tools.refused.items() if form.split(",")[0] in own)
        how = HOW.get(name, "run as verify runs it, under Python's audit").format(
            engines=engines, dmn=tools.counts["dmn, names"]
        )
        yield f"| {name} | {how} | {refused:,} | {found[name]} |"
    yield ""
    yield "A **refused** name is one that the form, or the program that ran it, cannot have; a plain one was used in"
    yield "its place. C, R and ONNX cannot hold the character U+0000, ONNX no empty text either, and Java no text of"
    yield "more than 10,000 characters. `tests/conformance/hostile_exporters.py --write` runs this again."


def renewed(lines: Sequence[str]) -> list[str]:
    """Return the section of the page with the rows of some exporters, which ran alone; the others stay."""
    kept = section_of(PAGE, HEADING)
    if kept[:2] != list(lines[:2]):
        raise SystemExit("the page has other names or seeds: run all exporters with --write")
    rows = {line.split(" | ")[0]: line for line in [*kept, *lines] if line.startswith("| ")}
    ordered = [rows[head] for head in (f"| {name}" for name in (*CHECKS, *BESIDE)) if head in rows]
    text = [line for line in lines if not line.startswith("| ")]
    rule = next(place for place, line in enumerate(text) if line.startswith("|-"))
    return [*text[:rule], rows["| exporter"], text[rule], *ordered, *text[rule + 1 :]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rounds until enough names have been drawn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--names", type=int, default=10_000, help="names, labels and categories to draw")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each round's is one more")
    parser.add_argument("--rounds", type=int, help="stop after as many rounds")
    parser.add_argument("--only", nargs="+", choices=[*CHECKS, *BESIDE], help="run these alone")
    parser.add_argument("--short", action="store_true", help=f"{SHORT:,} names")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/conformance.md")
    options = parser.parse_args(arguments)
    missing = missing_checks()
    for name in missing:
        print(f"exporter {name!r} has no check: say in CHECKS of hostile_forms.py how what it writes is run")
    checks = {
        name: check for name, check in {**CHECKS, **BESIDE}.items() if options.only is None or name in options.only
    }
    wanted = SHORT if options.short else options.names
    print(f"seed {options.seed}", flush=True)
    found, drawn_names, seed = Counter[str](), 0, options.seed
    sys.addaudithook(audit)
    with ExitStack() as opened:
        engines = []
        for place in EMBEDDED:
            try:
                engine = opened.enter_context(PLACES[place].open())
            except MissingExtraError as error:
                print(f"left out: {error}")
                continue
            engine.create(KEPT, [("x", engine.types["integer"])], [(1,)])
            engines.append(engine)
        browser = opened.enter_context(open_chromium()) if {"html", "svg"} & set(checks) else None
        tools = Tools(opened, engines, browser)
        while drawn_names < wanted and (options.rounds is None or seed < options.seed + options.rounds):
            tools.seed = seed
            drawn = ManyNames(random.Random(seed))
            shown = Counter[str]()
            for name, finding in round_findings(drawn, tools, checks):
                found[name] += 1
                shown[name] += 1
                if shown[name] <= 2:
                    print(f"seed {seed}: {name}: {printable(finding)[:1200]}", flush=True)
            drawn_names += drawn.named
            seed += 1
        for name, finding in last_findings(tools, checks):
            found[name] += 1
            print(f"{name}: {printable(finding)[:2000]}", flush=True)
        rounds = seed - options.seed
        lines = list(section(list(checks), drawn_names, rounds, options.seed, found, tools))
    print("\n".join(lines))
    for what, count in sorted([*tools.refused.items(), *tools.counts.items()]):
        print(f"{what}: {count:,}")
    if options.write and not missing:
        put_section(PAGE, HEADING, lines if options.only is None else renewed(lines))
    return int(bool(found.total()) or bool(missing))


if __name__ == "__main__":
    sys.exit(main())

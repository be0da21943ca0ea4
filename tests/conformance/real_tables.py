"""The output of every exporter for wine, telco and avila, run by `verify` on all rows and on boundary rows.

    python tests/conformance/real_tables.py            print the figures
    python tests/conformance/real_tables.py --write    put them into docs/conformance.md too

The tables telco and avila are read from the folder that SHALLOWRULES_DATA names. `--only wine` runs a table alone. The
exit status is 1 if a row gets a different cluster than the tree gives it, or a table or an engine is missing.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from click.testing import CliRunner
from every_command import REAL, RealTable
from page import PAGE, put_section

from shallowrules.cli.commands import shallowrules
from shallowrules.cli.options.reading import read_tested
from shallowrules.exporters import installed_exporters
from shallowrules.files import Reading
from shallowrules.rules import RuleSet
from shallowrules.sources import file_relation
from shallowrules.verification import Comparison, NotRun, verify
from shallowrules.verification.comparing import grouped_by_reason
from shallowrules.verification.runners import cannot_be_run

__all__ = ["section", "verified"]

HEADING = "Every exporter on real tables"


def verified(table: RealTable) -> tuple[list[Comparison], list[NotRun]]:
    """Fit rules to a table in a file, and run whatever the exporters write on its rows and on boundary rows."""
    not_run: list[NotRun] = []
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="shallowrules-real-") as folder:
        os.chdir(folder)
        try:
            with open("t.csv", "w", newline="", encoding="utf-8") as file:
                rows = [["" if value is None else value for value in row] for row in table.rows]
                csv.writer(file).writerows([[name for name, _ in table.columns], *rows])
            fitted = CliRunner().invoke(shallowrules, ["fit", "t.csv", "-o", "rules.json", *table.options])
            if fitted.exit_code:
                raise RuntimeError(f"{table.name}: {fitted.output}")
            rules = RuleSet.from_json("rules.json")
            _, given = read_tested(rules, "t.csv", Reading())
            found = verify(rules, given, relation=file_relation("t.csv"), on_not_run=not_run.append)
            return list(found), not_run
        finally:
            os.chdir(here)


def section(found: Mapping[str, tuple[int, Sequence[Comparison]]], not_run: Sequence[NotRun]) -> Iterator[str]:
    """Yield the page's lines: for each table the number of its rows and its comparisons."""
    yield "Rules are fitted to each table by `shallowrules fit`, written by every exporter, and run by `verify` on all"
    yield "rows of the table and on boundary rows: on each threshold, beside it, and with missing values."
    yield ""
    yield f"| form | {' | '.join(f'{name}, {rows:,} rows' for name, (rows, _) in found.items())} |"
    yield f"|---|{'---:|' * len(found)}"
    forms = list(dict.fromkeys(each.form for _, comparisons in found.values() for each in comparisons))
    for form in forms:
        cells = []
        for _, comparisons in found.values():
            [each] = [each for each in comparisons if each.form == form] or [None]
            cells.append("–" if each is None else f"{each.rows:,}, {_mismatches(each.disagreements)}")
        yield f"| {form} | {' | '.join(cells)} |"
    yield ""
    for names, reason in grouped_by_reason(not_run):
        yield f"- Not run: {', '.join(names)}: {reason}."
    yield ""
    yield "`tests/conformance/real_tables.py --write` runs this again."


def _mismatches(number: int) -> str:
    return f"{number:,} mismatches" if not number else f"**{number:,} mismatches**"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tables and write the section."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", choices=list(REAL), help="run these tables alone")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/conformance.md")
    options = parser.parse_args(arguments)
    found: dict[str, tuple[int, list[Comparison]]] = {}
    not_run: list[NotRun] = []
    missing = False
    for name in options.only or REAL:
        try:
            table = REAL[name]()
        except FileNotFoundError as error:
            print(f"left out: {name}: {error}")
            missing = True
            continue
        comparisons, not_run = verified(table)
        found[name] = (len(table.rows), comparisons)
    lines = list(section(found, not_run))
    print("\n".join(lines))
    can_be_run = {each.name for each in installed_exporters() if cannot_be_run(each) is None}
    missing |= bool(can_be_run & {each.exporter for each in not_run})
    wrong = any(each.disagreements for _, comparisons in found.values() for each in comparisons)
    if options.write and not missing and not options.only:
        put_section(PAGE, HEADING, lines)
    return int(wrong or missing)


if __name__ == "__main__":
    sys.exit(main())

"""The page of the conformance run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from results import Result

__all__ = ["PAGE", "page", "put_section", "section_of", "write_page"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"

LAST = "Run it again"
"""The heading of the last section; those that other scripts put into the page come before it."""

HEAD = """# Conformance

Does SQL give every row the cluster that the tree gives it? This page has the answers of six database engines, with
those of `RuleSet.assign` and the emitted Python beside them. `make conformance` runs them and writes it.

- **Rules**: numbers, whole numbers, text and truth values; with and without a conversion (a decimal comma, words and
  numbers that mean "no value"), with and without an imputed value; thresholds at the ends of every type; deep trees.
- **Columns**: every type of column that an engine has for them, listed below.
- **Values**: every kind in the second table, as far as the column can hold it: on each threshold and beside it, at the
  ends of 64 bits, NaN, infinities, texts that are nearly numbers, look-alikes of collations, padding.
- **SQL**: the styles `where`, `case`, `ordered` and `select`, and `case` under the settings of a session that change
  what SQL means.
- **Guards**: `typed` is SQL for the types that the columns are declared as, `usual` for the usual types of numbers and
  texts, `full` for any. Rows refused under `usual` are those that the comment in the emitted SQL warns of.

A row is compared with [the definition of numbers and missing values](numbers.md), which is written again for this
run, in `tests/conformance/definition.py`. Where a value is missing and not imputed, or is not a value, the row must
get no cluster. A **mismatch** is a row that gets anything else in one of the styles. A row is **refused** where the
engine is known to be unable to follow: each of these cases is listed, with a statement that shows it and the engine's
answer. A **cell** is one kind of value in one type of column; it counts as compared if none of its rows is refused.
"""


def write_page(path: Path, results: Sequence[Result]) -> None:
    """Write the results of the engines; sections that other scripts put into the page stay."""
    written = page(results)
    kept = _sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(written, encoding="utf-8")
    for heading, text in kept.items():
        if heading not in _sections(written):
            put_section(path, heading, [text.strip()])


def put_section(path: Path, heading: str, lines: Sequence[str]) -> None:
    """Put a section into the page, in place of the one with that heading, or else before the last one."""
    sections = _sections(path.read_text(encoding="utf-8"))
    last = {LAST: sections.pop(LAST)} if heading not in sections else {}
    sections[heading] = "\n\n" + "\n".join(lines) + "\n\n"
    sections |= last
    path.write_text("".join(f"## {name}{text}" if name else text for name, text in sections.items()), encoding="utf-8")


def section_of(path: Path, heading: str) -> list[str]:
    """Return the lines of a section of the page; none if it has no such section."""
    return _sections(path.read_text(encoding="utf-8")).get(heading, "").strip().splitlines()


def _sections(text: str) -> dict[str, str]:
    """Return the text below each heading of the second level, and before the first one."""
    head, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
    parted = [part.partition("\n") for part in rest]
    return {"": head, **{name: f"{end}{below}" for name, end, below in parted}}


def page(results: Sequence[Result]) -> str:
    """Return the page."""
    whole = [each for each in results if each.guards in ("", "full")]
    lines = [HEAD, *_summary(results), *_kinds(whole), *_refused(results), *_columns(whole), *_again()]
    return "\n".join(lines)


def _summary(results: Sequence[Result]) -> Iterator[str]:
    yield "## The engines\n"
    yield "| engine | version | guards | rows compared | mismatches | rows refused | cells compared |"
    yield "|---|---|---|---:|---:|---:|---:|"
    for each in results:
        counts = [f"{sum(counter.values()):,}" for counter in (each.rows, each.mismatches, each.refused)]
        share = 100 * len(each.compared) / max(1, len(each.cells))
        cells = f"{len(each.compared)} of {len(each.cells)} ({share:.1f}%)"
        yield f"| {' | '.join([each.title, each.version, each.guards or '–', *counts, cells])} |"
    yield ""


def _kinds(results: Sequence[Result]) -> Iterator[str]:
    """Yield the rows by kind of value and engine; mismatches and refused rows are named beside their number."""
    yield "## Rows compared, by kind of value\n"
    yield f"| kind of value | {' | '.join(each.title for each in results)} |"
    yield f"|---|{'---:|' * len(results)}"
    for kind in sorted({kind for each in results for kind, _ in each.cells}):
        yield f"| {kind} | {' | '.join(_counted(each, kind) for each in results)} |"
    yield ""
    yield "–: the engine has no column that holds these values.\n"


def _counted(result: Result, kind: str) -> str:
    rows, mismatches, refused = (_of_kind(each, kind) for each in (result.rows, result.mismatches, result.refused))
    if not rows and not refused:
        return "–"
    notes = [f"{mismatches:,} **mismatches**"] * bool(mismatches) + [f"{refused:,} refused"] * bool(refused)
    return f"{rows:,} ({', '.join(notes)})" if notes else f"{rows:,}"


def _of_kind(counter: Counter[tuple[str, str]], kind: str) -> int:
    return sum(number for (name, _), number in counter.items() if name == kind)


def _refused(results: Sequence[Result]) -> Iterator[str]:
    """Yield each refusal with the cells that it keeps from being compared."""
    yield "## What is refused\n"
    if not any(each.refused for each in results):
        yield "Nothing."
    for each in results:
        for refusal, answer in each.answers.items():
            cells = sorted(cell for cell, reason in each.reasons.items() if reason == refusal)
            if not cells:  # all of its rows are in cells that another refusal keeps from being compared
                continue
            rows = sum(each.refused[cell] for cell in cells)
            yield f"- **{_named(each)}.** {refusal.reason}"
            yield f"  Tried: {_code(refusal.statement)}; its answer: {_code(answer)}."
            yield f"  {rows:,} rows: {'; '.join(f'{kind} in {_code(column)}' for kind, column in cells)}."
        unexplained = sorted(cell for cell in each.refused if each.refused[cell] and cell not in each.reasons)
        if unexplained:
            names = "; ".join(f"{kind} in {_code(column)}" for kind, column in unexplained)
            yield f"- **{_named(each)}.** The exporter refuses the rules: {names}."
    yield ""


def _named(result: Result) -> str:
    return ", ".join(filter(None, (result.title, result.guards)))


def _columns(results: Sequence[Result]) -> Iterator[str]:
    yield "## Types of columns\n"
    for each in results:
        yield f"- {each.title}: {', '.join(dict.fromkeys(_code(kind) for _, kind in sorted(each.cells)))}."
    yield ""


def _again() -> Iterator[str]:
    yield """## Run it again

<!-- not run: .ci/run does, with six engines -->
```sh
make conformance                                # all engines; writes this page
.venv/bin/python tests/conformance/run.py --only spark duckdb   # some of them; writes nothing
```

`--case integer` runs only the rule sets with that word in their name. If something is missing on the machine (Java for
Spark, MariaDB), it is named, and the page is not written.
"""


def _code(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line}`" if "`" not in line else f"`` {line} ``"

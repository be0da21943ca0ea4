"""The page of the conformance run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from results import Result

__all__ = ["write_page"]

HEAD = """# Conformance

`make conformance` writes this page. Every engine gets tables of values of every kind, in every type of column that can
hold them, and the SQL of rule sets of every kind (numbers with and without a conversion, with and without an imputed
value, text, truth values, deep trees), in the three styles and under the settings of a session that change what SQL
means. Each row has to get the cluster that the tree gives it by [the definition](numbers.md), written again for this
run in `conformance/definition.py`; no cluster where a value is missing and not imputed, or neither a number nor
missing.

A *cell* is a kind of value in a type of column. A row is *refused* where the engine cannot do what the definition says;
the statement that shows it, and the engine's answer, are listed below its table.
"""


def write_page(path: Path, results: Sequence[Result]) -> None:
    """Write what came of the engines."""
    path.write_text("\n".join([HEAD, *_summary(results), *(line for each in results for line in _engine(each))]))


def _summary(results: Sequence[Result]) -> Iterator[str]:
    yield "| engine | version | rows | mismatches | refused | cells compared | of |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for each in results:
        counts = [sum(counter.values()) for counter in (each.rows, each.mismatches, each.refused)]
        numbers = [f"{count:,}" for count in (*counts, len(each.compared), len(each.cells))]
        yield f"| {' | '.join([each.title, each.version, *numbers])} |"
    yield ""


def _engine(result: Result) -> Iterator[str]:
    yield f"## {result.title}\n"
    yield f"Column types: {', '.join(dict.fromkeys(_code(kind) for _, kind in sorted(result.cells)))}.\n"
    yield "| kind of value | rows compared | mismatches | refused |"
    yield "|---|---:|---:|---:|"
    for name in dict.fromkeys(kind for kind, _ in sorted(result.cells)):
        counters = (result.rows, result.mismatches, result.refused)
        counts = [sum(number for (kind, _), number in counter.items() if kind == name) for counter in counters]
        yield f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |"
    yield ""
    left_out = sorted(result.cells - result.compared)
    if left_out:
        yield (
            "Cells with rows that are refused: "
            + "; ".join(f"{kind} in {_code(name)}" for kind, name in left_out)
            + ".\n"
        )
    for refusal, answer in result.answers.items():
        yield f"- {refusal.reason} {_code(refusal.statement)} answers {_code(answer)}."
    if result.answers:
        yield ""


def _code(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line}`" if "`" not in line else f"`` {line} ``"

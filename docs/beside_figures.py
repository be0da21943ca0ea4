"""The tables of docs/beside.md, from the figures that the benchmarks have written into docs/refinement.md.

python docs/beside_figures.py quality     # cost, length and J of every method
python docs/beside_figures.py leaves      # J with twice as many leaves as clusters
python docs/beside_figures.py time        # times as multiples of growing the greedy tree
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median

PAGE = Path(__file__).resolve().parent / "refinement.md"

OURS = "ExShallow, refined"
METHODS = {
    OURS: "shallowrules",
    "ExShallow, greedy": 'shallowrules, `refine="none"`: the published ExShallow',
    "ExKMC": "ExKMC, as many leaves as clusters",
    "ExKMC from IMM's tree": "ExKMC from IMM's tree",
    "CART, Gini": "CART on the labels, Gini",
    "CART, entropy": "CART on the labels, entropy",
    "regression tree of the columns on themselves": "Kauri with a linear kernel (\\*)",
}
"""The methods of refinement.md, by their names here."""

TIE = 1e-9


def rows_of(heading: str) -> list[dict[str, str]]:
    """Return the rows of the table below a heading, by its columns; LookupError if there is none."""
    page = PAGE.read_text(encoding="utf-8")
    if not (found := re.search(rf"^### {re.escape(heading)}[^\n]*\n\n((?:\|.*\n)+)", page, re.MULTILINE)):
        raise LookupError(f"{PAGE.name} has no table below {heading!r}")
    names, _, *lines = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in found[1].splitlines())
    return [dict(zip(names, line, strict=True)) for line in lines]


def number(cell: str) -> float:
    """Return a figure without its interval or range."""
    return float(cell.split()[0])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, its figures on the right."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def quality() -> str:
    """Return the means of every method, and on how many tables it is cheaper, shorter and better than ours."""
    figures: dict[str, dict[str, list[float]]] = {}
    for row in rows_of("Quality, mean ± 95% interval"):
        for name in ("cost", "WAES", "J"):
            figures.setdefault(row["method"], {}).setdefault(name, []).append(number(row[name]))
    rows = []
    for method, title in METHODS.items():
        found = figures[method]
        means = [f"{mean(found['cost']):.3f}", f"{mean(found['WAES']):.2f}", f"{mean(found['J']):.3f}"]
        lower = [
            sum(theirs < ours - TIE for theirs, ours in zip(found[name], figures[OURS][name], strict=True))
            for name in ("cost", "WAES", "J")
        ]
        rows.append([title, *means, *(["–"] * 3 if method == OURS else map(str, lower))])
    tables = len(figures[OURS]["J"])
    return table(["method", "cost", "WAES", "J", "cheaper", "shorter", f"lower J, of {tables} tables"], rows)


def leaves() -> str:
    """Return J with twice as many leaves as clusters."""
    rows = [
        [row["table"], row["k"], row["2 k"], row["ExKMC, 2 k, base none"], row["ExKMC, 2 k, base imm"]]
        for row in rows_of("J with more leaves")
        if row["2 k"] and row["ExKMC, 2 k, base none"]
    ]
    return table(["table", "shallowrules, k leaves", "2 k leaves", "ExKMC, 2 k", "ExKMC from IMM, 2 k"], rows)


def time() -> str:
    """Return the time of every method that has one, lowest and highest of the tables, and that of the whole fit."""
    times: dict[str, list[float]] = {}
    for row in rows_of("Quality, mean ± 95% interval"):
        if row["method"] in METHODS and row["time"] != "–":
            times.setdefault(row["method"], []).append(number(row["time"]))
    rows = [
        [METHODS[method], *spread(values)] for method, values in sorted(times.items(), key=lambda one: median(one[1]))
    ]
    return table(["tree, without k-means", "lowest", "median", "highest of the tables"], rows)


def fits() -> str:
    """Return the time of a whole fit against k-means and CART."""
    column = "(k-means + growth + refinement) ÷ (k-means + CART)"
    found = [number(row[column]) for row in rows_of("Time: median over the seeds") if row[column] != "–"]
    return table(["fit", "lowest", "median", "highest of the tables"], [["shallowrules", *spread(found)]])


def spread(values: Sequence[float]) -> list[str]:
    """Return the lowest, the median and the highest figure."""
    return [f"{of(values):.2g}" for of in (min, median, max)]


TABLES: dict[str, Callable[[], str]] = {"quality": quality, "leaves": leaves, "time": time, "fits": fits}

if __name__ == "__main__":
    print(TABLES[sys.argv[1]]())

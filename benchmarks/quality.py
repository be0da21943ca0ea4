"""Refined trees against greedy ones and the other methods: cost, length, and the time of refinement.

Run it with the environment that has the package::

    python benchmarks/quality.py                                   # all tables, ten seeds: some minutes
    python benchmarks/quality.py --tables letter,avila --seeds 3
    python benchmarks/quality.py --markdown docs/refinement.md     # renews the tables of that page
    python benchmarks/quality.py --quick                           # two tables, one seed: shows that it runs

For each table and seed one k-means (ten starts) is explained by every method, as paper.py does. J is cost + 0.03 WAES,
which refinement lowers; cost, as everywhere, is a multiple of that of k-means. Printed are:

Quality            cost, WAES, WAD, NMI with the labels of k-means, and J: means with their 95% interval
                   (Student's t); and the time, as a multiple of that of the greedy tree
Refined, greedy    the change of the means, and in how many runs the refined tree is better
Time               refinement beside growth, k-means (one start) and scikit-learn's tree
Asked and found    what is asked of refinement, and whether it holds
More leaves        J with k + 1, k + 2 and 2 k leaves, and ExKMC's with 2 k
Many clusters      J of 30 to 140 clusters, and that of the other methods
The best there is  J of the best of all trees, of small tables and few clusters
Gain               J after a given number of growths of a thorough search, which begins as refinement; drawn with
--markdown Picture            cost against WAES of all methods, a PNG

Times are those of a k-means of one start and of the trees grown from it. A round runs everything once, one after the
other in one process, with one thread (two where the table is large); a seed's ratio is the median over its rounds, the
table's the median over the seeds.

Exit status 1 says that J of a refined tree is above that of the greedy one, or that the machine was busy, so that no
page was written. Other missed targets are printed and are not errors, because they also depend on the machine.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import sklearn
from curve import AFTER, draw_curve, gains
from leaves import (
    OPTIMUM,
    measure_many,
    measure_optimum,
    verdicts_of,
)
from leaves import sheets as more_sheets
from measuring import (
    ROOT,
    TITLES,
    Clock,
    Quiet,
    Sheet,
    Target,
    add_table_options,
    check_page,
    check_picture,
    chosen_tables,
    cores,
    into_space,
    load,
    log,
    with_interval,
    write_measured,
)
from quality_runs import (
    LARGE,
    OTHERS,
    PEERS,
    RATIOS,
    TABLES,
    TRADEOFF,
    WHOLE_FITS,
    Measured,
    Partition,
    measure,
    measure_large,
    objectives_of_peers,
)

SCRIPT = "quality.py"
QUICK_TABLES = ("iris", "wine")
LARGE_SEEDS = 3  # one start of k-means on this table takes as long as everything else here

METHODS = (
    {"greedy": "ExShallow, greedy", "refined": "ExShallow, refined", "thorough": "ExShallow, thorough"}
    | {name: TITLES[name] for name in OTHERS}
    | PEERS
)
MARKERS = "o*Ps^DXvp+x"
MEASURES = {"cost": 3, "waes": 2, "wad": 2, "nmi": 2, "J": 3}
"""What is measured of a tree, and the digits to print."""

TIE = 1e-9
"""Relative difference up to which figures are equal."""

NO_WORSE, BETTER, HIGHER, BEHIND = Target("≥", 7), Target("≥", 7), Target("≤", 0), Target("≤", 0)
MAX_RISE = 0.01  # of the mean cost or WAES of a table
GAIN, THOROUGH_GAIN = Target("≥", 2.1), Target("≥", 2.4)
GROWTHS, KMEANS, WHOLE_FIT = Target("≤", 15), Target("≤", 1), Target("≤", 3)


# What comes out -----------------------------------------------------------------------------------


def lower(value: float, other: float) -> bool:
    """Whether a value is below another, by more than rounding."""
    return value < other * (1 - TIE)


def quality(results: Sequence[Measured]) -> Sheet:
    """Return the results of every method."""
    rows = []
    for found in results:
        for method, title in METHODS.items():
            cells = [
                with_interval(found.mean(method, name), found.interval(method, name), digits)
                for name, digits in MEASURES.items()
            ]
            rows.append([found.table, title, *cells, found.median_text(method)])
    headings = ["table", "method", "cost", "WAES", "WAD", "NMI", "J", "time"]
    return Sheet("Quality, mean ± 95% interval; time in greedy growths, k-means not included", headings, rows)


@dataclass(frozen=True)
class Change:
    """The changes by refinement in the means of a table, and in how many runs there are any.

    Attributes
    ----------
    gain : float
        By how many percent the mean J is lower.
    no_worse, better : bool
        Whether neither mean cost nor mean WAES is higher; whether both are lower.
    runs : dict of str to int
        Number of runs by `KINDS`.
    highest : float
        By what share the mean cost or the mean WAES rose, the higher of the two; below 0 where both fell.
    """

    gain: float
    no_worse: bool
    better: bool
    runs: dict[str, int]
    highest: float


KINDS = ("both lower", "one lower", "equal", "one higher", "J higher")


def kind_of(greedy: dict[str, float], refined: dict[str, float]) -> str:
    """Return which of `KINDS` a run is."""
    if lower(greedy["J"], refined["J"]):
        return "J higher"
    measures = ("cost", "waes")
    if any(lower(greedy[name], refined[name]) for name in measures):
        return "one higher"
    return ("equal", "one lower", "both lower")[sum(lower(refined[name], greedy[name]) for name in measures)]


def change_of(found: Measured, method: str = "refined") -> Change:
    """Return the changes by refinement, or by a thorough search, on one table."""
    names = ("cost", "waes", "J")
    greedy, refined = ({name: found.mean(one, name) for name in names} for one in ("greedy", method))
    runs = dict.fromkeys(KINDS, 0)
    for i in range(len(found.runs["greedy"]["J"])):
        pair = ({name: found.runs[one][name][i] for name in names} for one in ("greedy", method))
        runs[kind_of(*pair)] += 1
    return Change(
        100 * (1 - refined["J"] / greedy["J"]),
        not any(lower(greedy[name], refined[name]) for name in ("cost", "waes")),
        all(lower(refined[name], greedy[name]) for name in ("cost", "waes")),
        runs,
        max(refined[name] / greedy[name] - 1 for name in ("cost", "waes")),
    )


def comparison(results: Sequence[Measured]) -> Sheet:
    """Return a comparison of refined trees with greedy ones."""
    rows = []
    changes = [change_of(found) for found in results]
    for found, change in zip(results, changes, strict=True):
        cells = []
        for name in ("cost", "waes", "J"):
            before, after = (f"{found.mean(method, name):.{MEASURES[name]}f}" for method in ("greedy", "refined"))
            cells.append(f"{before} → {after}")
        rows.append([found.table, *cells, f"{change.gain:.2f}%", *map(str, change.runs.values())])
    total = {kind: sum(change.runs[kind] for change in changes) for kind in KINDS}
    mean = float(np.mean([change.gain for change in changes]))
    rows.append(["all", "", "", "", f"{mean:.2f}%", *map(str, total.values())])
    headings = ["table", "cost", "WAES", "J", "J lower by", *KINDS]
    return Sheet("Greedy → refined: means, and the runs by what became of their cost and WAES", headings, rows)


def durations(results: Sequence[Measured]) -> Sheet:
    """Return the time of refinement."""
    rows = [[found.table, str(found.threads), *map(found.with_range, RATIOS)] for found in results]
    headings = ["table", "threads", *RATIOS.values()]
    return Sheet("Time: median over the seeds (lowest to highest); k-means of one start", headings, rows)


def gain_curve(curves: dict[str, list[float]]) -> Sheet:
    """Return the gain of a thorough search over time."""
    rows = [[name, *(f"{gain:.2f}" for gain in values)] for name, values in curves.items()]
    return Sheet("J lower by, %, after so many growths of searching", ["table", *map(str, AFTER)], rows)


def verdicts(
    results: Sequence[Measured], large: Measured | None, many: dict[int, dict[str, float]], *, quick: bool
) -> tuple[Sheet, bool]:
    """Return the targets and whether they are met, and whether J is never higher."""
    changes = [change_of(found) for found in results]
    searches = [change_of(found, "thorough") for found in results]
    n_runs = sum(sum(change.runs.values()) for change in changes + searches)
    higher = sum(change.runs["J higher"] for change in changes + searches)
    rows = [
        [
            "runs whose J is no higher, of both searches",
            f"{n_runs - higher} of {n_runs}",
            "all",
            "missed" if higher else "ok",
        ]
    ]

    def add(what: str, figure: float, shown: str, target: Target, *, judged: bool = True) -> None:
        rows.append([what, shown, str(target), target.verdict(figure) if judged and not quick else "not judged"])

    if results:
        behind = sum(
            lower(theirs, own)
            for found in results
            for peer in (*OTHERS, *PEERS)
            for theirs, own in zip(found.runs[peer]["J"], found.runs["refined"]["J"], strict=True)
        )
        n_pairs = sum(len(found.runs["refined"]["J"]) for found in results) * len((*OTHERS, *PEERS))
        add("runs in which another method's tree has a lower J", behind, f"{behind} of {n_pairs}", BEHIND)
        complete = {found.table for found in results} == set(TABLES)
        for what, figure, target in (
            ("tables whose mean cost and mean WAES are no higher", sum(c.no_worse for c in changes), NO_WORSE),
            ("tables whose mean cost and mean WAES are both lower", sum(c.better for c in changes), BETTER),
        ):
            add(what, figure, f"{figure} of {len(changes)}", target, judged=complete)
        risen = sum(change.highest > MAX_RISE for change in changes)
        what = f"tables whose mean cost or mean WAES is higher by over {MAX_RISE:.0%}"
        add(what, risen, f"{risen} of {len(changes)}", HIGHER, judged=complete)
        for what, some, target in (("", changes, GAIN), (", thorough", searches, THOROUGH_GAIN)):
            gain = float(np.mean([change.gain for change in some]))
            add(f"mean gain in J, %{what}", gain, f"{gain:.2f}", target, judged=complete)
        slowest = max(results, key=lambda found: median(found.times["growths"]))
        add(
            f"{RATIOS['growths']}, highest of the tables ({slowest.table})",
            median(slowest.times["growths"]),
            slowest.median_text("growths"),
            GROWTHS,
        )
    verdicts_of(
        [found.more for found in results], many, add, complete={found.table for found in results} == set(TABLES)
    )
    timed = [("kmeans", KMEANS, large)] if large else []
    timed += [("whole", WHOLE_FIT, found) for found in results if found.table in WHOLE_FITS]
    for name, target, found in timed:
        add(f"{RATIOS[name]}, {found.table}", median(found.times[name]), found.median_text(name), target)
    return Sheet("Asked and found", ["of refinement", "found", "asked", ""], rows), not higher


def draw(results: Sequence[Measured], path: Path) -> None:
    """Draw cost against WAES, a panel per table: the runs, and each method's mean."""
    from matplotlib.figure import Figure

    columns = min(3, len(results))
    lines = -(-len(results) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).flat
    for panel in panels[len(results) :]:
        panel.set_axis_off()
    for found, panel in zip(results, panels, strict=False):
        for i, ((method, title), marker) in enumerate(zip(METHODS.items(), MARKERS, strict=True)):
            runs = found.runs[method]
            panel.plot(runs["waes"], runs["cost"], ".", color=f"C{i}", alpha=0.3, markersize=4)
            mean = [found.mean(method, name) for name in ("waes", "cost")]
            panel.plot(*mean, marker, color=f"C{i}", markerfacecolor="none", markersize=8, label=title)
        ends = [[found.mean(method, name) for method in ("greedy", "refined")] for name in ("waes", "cost")]
        panel.plot(*ends, color="0.5", linewidth=0.8, zorder=1)
        panel.set_title(found.table, fontsize="medium")
        panel.grid(alpha=0.3)
    figure.supxlabel("conditions that explain a row, on average (WAES)")
    figure.supylabel("k-means cost, without rules = 1")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(METHODS))
    figure.savefig(path, dpi=120, format="png")


# The command line ---------------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line, and refuse impossible requests before the work."""
    known = [*TABLES, LARGE.name]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_table_options(parser, known)
    parser.add_argument("--seeds", type=int, help="k-means runs per table (default: 10)")
    parser.add_argument(
        "--first-seed", type=int, default=0, help="the first of them; constants were chosen on 0 to 9 (default: 0)"
    )
    parser.add_argument("--quick", action="store_true", help="tiny tables, one seed: only shows that it runs")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the picture, a PNG (default: build/quality.png)"
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="PAGE", help="write the tables into this page, as docs/refinement.md"
    )
    options = parser.parse_args(arguments)
    if options.seeds is not None and options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if options.first_seed < 0:
        parser.error("--first-seed must be at least 0")
    options.chosen = bool(options.tables)
    options.seeds = options.seeds or (1 if options.quick else 10)
    given = {"--seeds": options.seeds, "--first-seed": options.first_seed, "--tables": options.tables}
    named = [f"{name} {value}" for name, value in given.items() if value] + ["--quick"] * options.quick
    options.command = " ".join([f"benchmarks/{SCRIPT}", *named])
    if options.quick and not options.tables:
        known = [*QUICK_TABLES, LARGE.name]
    check_page(parser, options.markdown, SCRIPT)
    options.tables = chosen_tables(parser, options, known, made=(LARGE.name,))
    options.output = check_picture(parser, options.output, ROOT / "build" / "quality.png")
    options.quiet = Quiet(judges=not options.quick)
    options.quiet.begin(parser, options.markdown)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the results and return the exit status."""
    options = parse(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    clock = Clock()
    names = [name for name in TABLES if name in options.tables]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    results = []
    for name in names:
        results.append(measure(name, clock, options.data, seeds, quick=options.quick))
        options.quiet.check()
    large = None
    if LARGE.name in options.tables:
        large = measure_large(clock, min(options.seeds, LARGE_SEEDS), quick=options.quick)
        options.quiet.check()
    many: dict[int, dict[str, float]] = {}
    optimum: list[list[str]] = []
    if not options.quick and not options.chosen:
        many = measure_many(options.data, Partition, objectives_of_peers, TRADEOFF)
        for name, k in OPTIMUM:
            X, _ = load(name, options.data)
            optimum.append(measure_optimum(name, k, X, into_space(name, X), Partition, TRADEOFF))
    judged, holds = verdicts(results, large, many, quick=options.quick)
    sheets = [judged]
    sheets += [comparison(results)] if results else []
    sheets += more_sheets([found.more for found in results], many, optimum)
    sheets += [durations([*results, *([large] if large else [])])]
    curves = gains({found.table: found.searches for found in results}) if results else {}
    sheets += [quality(results), gain_curve(curves)] if results else []
    if options.quiet.refusal:
        print(options.quiet.refusal)
    print(f"{options.seeds} seeds, {cores()} cores; numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    for sheet in sheets:
        print(f"\n{sheet.text()}")
    if results and options.output:
        draw(results, options.output)
        log(f"drawn: {options.output}")
    if options.markdown is not None:
        said = (
            f"Measured by `{options.command}` on {cores()} cores, with numpy {np.__version__} and scikit-learn "
            f"{sklearn.__version__}."
        )
        measured = "\n\n".join([said, *(sheet.markdown() for sheet in sheets)])
        written = write_measured(options.markdown, SCRIPT, measured, options.quiet)
        if written and results:
            draw_curve(curves, options.markdown.with_name("refinement-curve.svg"))
        holds &= written
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

"""Growing the tree against k-means, scikit-learn's decision tree and other builders: ratios, side by side.

Run it with the environment that has the package::

    python benchmarks/speed.py                          # the table of ratios: many minutes, most of them the rivals'
    python benchmarks/speed.py --cases letter poker     # some of its cases
    python benchmarks/speed.py --slopes -o slopes.png   # the table, then the slopes in n, d and k, and their picture
    python benchmarks/speed.py --cases none --memory    # only the peak memory of 10,000,000 x 10 float32
    python benchmarks/speed.py --quick                  # tiny tables, one seed: shows that it runs, and nothing else

The tables letter, avila and poker are read from the folder in the environment variable SHALLOWRULES_DATA, or from
``../shared/data`` beside the repository; where one is absent, it is skipped.

Notes
-----
Growth is ``find_unique_rows`` and ``grow`` of ``shallowrules.trees.growing``: everything from X and the centers to the
tree and the labels of its rows. The centers are those of the KMeans that it is compared with.

Every rival runs between two growths with 1 thread and two with 2 threads, and is compared with the mean of the growth
before and the growth after it, so that a busy neighbor affects both sides alike. Rounds of this are repeated while a
seed has time left; a seed's ratio is the median over its rounds, the table's the median over the seeds (of the data,
and of KMeans where the table is a file). All runs in one process, threads limited to the number printed; in a column of
threads, "1 / 2" reads as in the ratio: the side above the line has 1 thread, the side below it 2. KMeans has its
defaults except ``n_init=1``. The time of a Lloyd iteration is the time that ten more iterations add to a fit, divided
by ten.

Peak memory is that of a fresh process that holds X and grows with 2 threads, less what it held before.

A missed target is printed and is not an error, because it also depends on how busy the machine is. The exit status is
1 only where trees differ between numbers of threads.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import sklearn
from measuring import DATA, ROOT, Clock, Target, check_picture, cores, log
from numpy.typing import NDArray
from speed_cases import CASES, LARGEST, SLOPE_BASE, SLOPE_POINTS, SLOPE_QUICK, Case
from speed_sides import RIVALS, SECONDS_PER_POINT, Rival, Sides, grown_tree, other_packages

from shallowrules._kernel import openmp_enabled
from shallowrules.trees.grown_tree import GrownTree

MIB = 2**20
IDENTICAL_FOR = (1, 2, 7)
MAX_ROUNDS = 5
SECONDS_PER_SEED = 10.0  # no round starts later; every seed has at least one
QUICK_ROWS = 1000


# --- ratios --------------------------------------------------------------------------------------


class Ratio(NamedTuple):
    """One ratio, and the seconds above and below its line."""

    value: float
    above: float
    below: float


Key = tuple[str, int, int]


def one_round(sides: Sides, rivals: Sequence[Rival]) -> dict[Key, Ratio]:
    """Run every rival once between two growths, and return the ratios."""
    before = {threads: sides.growth(threads) for threads in (1, 2)}
    pairs = [before]
    ratios: dict[Key, Ratio] = {}
    for rival in rivals:
        spent = rival.run(sides, rival.threads)
        after = {threads: sides.growth(threads) for threads in (1, 2)}
        pairs.append(after)
        for own, key in zip(rival.growth_threads, rival.keys(), strict=True):
            growth = (before[own] + after[own]) / 2
            above, below = (growth, spent) if rival.growth_above else (spent, growth)
            ratios[key] = Ratio(above / below, above, below)
        before = after
    one, two = (median(pair[threads] for pair in pairs) for threads in (1, 2))
    return {("growth ÷ growth", 1, 2): Ratio(median(pair[1] / pair[2] for pair in pairs), one, two), **ratios}


def middle(ratios: Sequence[Ratio]) -> Ratio:
    """Return the medians of the ratios and of their seconds, without those lost in noise."""
    known = [ratio for ratio in ratios if not np.isnan(ratio.value)]
    return Ratio(*map(median, zip(*known, strict=True))) if known else Ratio(*[float("nan")] * 3)


def measure(sides: Sides, rivals: Sequence[Rival], rounds: int) -> dict[Key, Ratio]:
    """Return the ratios of one seed: the medians over its rounds."""
    start = time.perf_counter()
    measured: list[dict[Key, Ratio]] = []
    while len(measured) < rounds and (not measured or time.perf_counter() - start < SECONDS_PER_SEED):
        measured.append(one_round(sides, rivals))
    return {key: middle([ratios[key] for ratios in measured]) for key in measured[0]}


def differing_field(sides: Sides) -> str | None:
    """Return the name of an array that depends on the number of threads, None where none does."""
    first, *others = (sides.grown(threads) for threads in IDENTICAL_FOR)
    for field in fields(GrownTree):
        expected = getattr(first, field.name)
        if not all(np.array_equal(expected, getattr(other, field.name)) for other in others):
            return field.name
    return None


# --- memory --------------------------------------------------------------------------------------


def held_bytes(name: str) -> int:
    """Return the memory that the process holds ("VmRSS") or held at most ("VmHWM").

    The kernel's own mark comes first: ru_maxrss of a child begins at what its parent held, which hides the child's
    growth where the parent holds a table of its own.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def grow_and_weigh(case: Case, seed: int, centers: NDArray[np.float64]) -> int:
    """Grow with 2 threads and return the bytes held at the peak less those held before. Runs in a fresh process."""
    X = case.table(seed)
    small = np.ascontiguousarray(X[:1000])
    grown_tree(small, centers, 2)  # threads and libraries are there before the first reading
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak of making X is not growth's
    before = held_bytes("VmRSS")
    grown_tree(X, centers, 2)
    return held_bytes("VmHWM") - before


def peak_above_table(case: Case, seed: int, centers: NDArray[np.float64]) -> int | None:
    """Return the bytes that growth needs besides X, None where the system does not tell."""
    if importlib.util.find_spec("resource") is None:
        return None
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(grow_and_weigh, case, seed, centers).result()


# --- printing ------------------------------------------------------------------------------------


WIDTHS = (48, 8, 8, 16, 8, 8)


def print_row(*cells: str) -> None:
    print("  ".join(cell.ljust(width) for cell, width in zip(cells, (*WIDTHS, 0), strict=True)).rstrip())


def print_head() -> None:
    print()
    print_row("ratio", "threads", "median", "lowest, highest", "target", "verdict", "(seconds)")
    print("-" * (sum(WIDTHS) + 2 * len(WIDTHS) + 18))


def print_ratio(
    name: str, threads: str, values: Sequence[float], target: Target | None = None, beside: str = "", digits: int = 3
) -> None:
    values = [value for value in values if not np.isnan(value)]
    if not values:
        print_row("  " + name, threads, "–", "lost in noise", "–", "", "")
        return
    value = median(values)
    extremes = "" if len(values) < 2 else f"{min(values):.{digits}g}, {max(values):.{digits}g}"
    verdict = target.verdict(value) if target else ""
    print_row("  " + name, threads, f"{value:.{digits}g}", extremes, str(target or "–"), verdict, beside)


def print_memory(case: Case, shape: tuple[int, int], peak: int | None, limit: Target | None, *, judged: bool) -> None:
    """Print a peak against X and against the allowance besides X: 4 bytes a value and 100 bytes a row."""
    if peak is None:
        print("  peak memory: this system does not tell it")
        return
    rows, columns = shape
    size = rows * columns * np.dtype(case.dtype).itemsize
    beside = f"({peak / MIB:.0f} MiB above the {size / MIB:.0f} of X)"
    print_ratio("peak memory above X ÷ X", "2", [peak / size], beside=beside)
    allowed = rows * columns * 4 + rows * 100
    print_ratio(
        "peak memory above X ÷ (4 B/value + 100 B/row)", "2", [peak / allowed], Target("≤", 1) if judged else None
    )
    if limit:
        print_ratio("peak memory above X ÷ GiB", "2", [peak / 2**30], limit)


# --- the parts of a run --------------------------------------------------------------------------


def print_case(
    clock: Clock, case: Case, rivals: Sequence[Rival], seeds: int, rounds: int, *, judged: bool, weighed: bool
) -> bool:
    """Measure one case and print its rows. Returns whether its trees are the same for all numbers of threads."""
    measured: list[dict[Key, Ratio]] = []
    iterations: list[int] = []
    differing: list[str] = []
    for seed in range(seeds):
        log(f"{case.name}: seed {seed + 1} of {seeds}")
        sides = Sides(clock, case, seed)
        if seed == 0:
            shape, k, centers = sides.X.shape, sides.k, sides.centers
        iterations.append(sides.kmeans.n_iter_)
        field = differing_field(sides)  # warms everything up, too
        if field:
            differing.append(f"seed {seed}: {field}")
        measured.append(measure(sides, rivals, rounds))
        del sides
    what = case.name if case.file else f"std {case.std:g}"
    tries = f"{min(iterations)} to {max(iterations)}" if min(iterations) < max(iterations) else f"{iterations[0]}"
    print(f"{shape[0]:,} x {shape[1]}, k={k}, {what} (seeds: {seeds}, iterations of KMeans: {tries})")
    asked = dict(case.targets) if judged else {}
    for key in measured[0]:
        name, above, below = key
        middle_ratio = middle([ratios[key] for ratios in measured])
        seconds = f"({middle_ratio.above:.3g} / {middle_ratio.below:.3g})"
        print_ratio(name, f"{above} / {below}", [ratios[key].value for ratios in measured], asked.get(key), seconds)
    if weighed:
        log(f"{case.name}: memory")
        print_memory(case, shape, peak_above_table(case, 0, centers), None, judged=judged and not case.file)
    print_identity(differing)
    return not differing


def print_identity(differing: Sequence[str]) -> None:
    threads = ", ".join(map(str, IDENTICAL_FOR))
    print(f"  trees for {threads} threads: {'DIFFERENT (' + '; '.join(differing) + ')' if differing else 'identical'}")


def print_largest(case: Case, *, judged: bool) -> None:
    """Print the peak memory of a table too large for comfort."""
    log(f"{case.name}: memory")
    print(f"{case.rows:,} x {case.columns} {case.dtype}, k={case.k}, std {case.std:g}")
    # Where the blobs are is as good as any centers, and no KMeans has to hold a table.
    peak = peak_above_table(case, 0, case.blob_means(0))
    print_memory(case, (case.rows, case.columns), peak, Target("≤", 2) if judged else None, judged=judged)


def point_seconds(sides: Sides, threads: int) -> float:
    """Return the median of growths repeated for a moment."""
    start = time.perf_counter()
    spent = [sides.growth(threads)]
    while time.perf_counter() - start < SECONDS_PER_POINT:
        spent.append(sides.growth(threads))
    return median(spent)


def slope_seconds(clock: Clock, axis: str, points: Sequence[int], base: Case, rounds: int) -> dict[int, list[float]]:
    """Return, by threads, the seconds at each point of an axis. A round goes over all points: they share the noise."""
    every = []
    for point in points:
        log(f"slopes: {axis} = {point:,}: table and centers")
        every.append(Sides(clock, replace(base, **{axis: point}), 0))  # type: ignore[arg-type]
    spent: dict[int, list[list[float]]] = {threads: [[] for _ in points] for threads in (1, 2)}
    for number in range(rounds):
        log(f"slopes: {axis}: round {number + 1} of {rounds}")
        for threads, i in [(threads, i) for i in range(len(points)) for threads in (1, 2)]:
            spent[threads][i].append(point_seconds(every[i], threads))
    return {threads: [median(values) for values in lists] for threads, lists in spent.items()}


def print_slopes(clock: Clock, rounds: int, *, quick: bool) -> tuple[bool, dict[str, Any]]:
    """Print slopes and their targets. Returns whether all trees are identical, and the points to draw."""
    base = replace(SLOPE_BASE, rows=QUICK_ROWS) if quick else SLOPE_BASE
    drawn: dict[str, Any] = {}
    print(f"slopes of time, log-log, one at a time from {base.rows:,} x {base.columns}, k={base.k}, std {base.std:g}")
    for axis, points in (SLOPE_QUICK if quick else SLOPE_POINTS).items():
        seconds = slope_seconds(clock, axis, points, base, rounds)
        drawn[axis] = (points, seconds)
        limit = Target("≤", 1.1) if axis == "rows" and not quick else None
        for threads, values in seconds.items():
            slope = float(np.polyfit(np.log(points), np.log(values), 1)[0])
            span = f"({points[0]:,} to {points[-1]:,}: {values[0]:.3g} to {values[-1]:.3g})"
            print_ratio(f"slope in {axis}", str(threads), [slope], limit, span)
    small, large = (5, 10) if quick else (10, 100)
    points, seconds = drawn["k"]
    for threads, values in seconds.items():
        above, below = values[points.index(large)], values[points.index(small)]
        limit = None if quick else Target("≤", 2.5)
        span = f"({above:.3g} / {below:.3g})"
        print_ratio(f"growth, k={large} ÷ k={small}", f"{threads} / {threads}", [above / below], limit, span)
    same = True
    for case in (case for case in CASES if case.rows == 1_000_000):
        case = replace(case, rows=QUICK_ROWS) if quick else case
        log(f"two threads against one: {case.rows:,} x {case.columns}, k={case.k}")
        sides = Sides(clock, case, 0)
        field = differing_field(sides)
        same &= field is None
        pairs = [one_round(sides, ())["growth ÷ growth", 1, 2] for _ in range(rounds)]
        ratio = middle(pairs)
        name = f"growth ÷ growth, {case.rows:,} x {case.columns}, k={case.k}"
        limit = None if quick else Target("≥", 1.6)
        print_ratio(name, "1 / 2", [pair.value for pair in pairs], limit, f"({ratio.above:.3g} / {ratio.below:.3g})")
        print_identity([field] if field else [])
    return same, drawn


def draw(drawn: dict[str, Any], path: Path) -> None:
    """Draw time against each axis, as multiples of the time at its first point."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    for panel, (axis, (points, seconds)) in zip(figure.subplots(1, len(drawn)), drawn.items(), strict=True):
        for threads, values in seconds.items():
            slope = float(np.polyfit(np.log(points), np.log(values), 1)[0])
            label = f"{threads} thread{'s' if threads > 1 else ''}: slope {slope:.2f}"
            panel.loglog(points, np.array(values) / values[0], "o-", label=label)
        panel.loglog(points, np.array(points) / points[0], ":", color="grey", label="slope 1")
        panel.set(xlabel=axis, ylabel=f"time ÷ time at {points[0]:,}")
        panel.grid(alpha=0.3)
        panel.legend()
    figure.suptitle(f"Growing the tree; else {SLOPE_BASE.rows:,} x {SLOPE_BASE.columns}, k={SLOPE_BASE.k}")
    figure.savefig(path, dpi=120, format="png")


# --- the command line ----------------------------------------------------------------------------


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description="Ratios of growing the tree to other builders.")
    parser.add_argument(
        "--cases",
        nargs="+",
        metavar="CASE",
        choices=[*names, "none"],
        default=names,
        help=", ".join(names) + "; or none",
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds of each case (default: 5)")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"at most N rounds of a seed (default: {MAX_ROUNDS})")
    parser.add_argument(
        "--slopes", action="store_true", help="slopes of time in rows, columns and k, and their picture"
    )
    parser.add_argument(
        "--memory", action="store_true", help=f"peak memory of {LARGEST.rows:,} x {LARGEST.columns} too"
    )
    parser.add_argument("--quick", action="store_true", help="tiny tables, one seed: only shows that it runs")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture of --slopes, a PNG (default: build/slopes.png)"
    )
    options = parser.parse_args(arguments)
    for name in ("seeds", "rounds"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    options.seeds = options.seeds or (1 if options.quick else 5)
    options.rounds = options.rounds or (1 if options.quick else MAX_ROUNDS)
    if options.output and not options.slopes:
        parser.error("-o is the picture of --slopes, which is missing")
    if options.slopes:
        options.output = check_picture(parser, options.output, ROOT / "build" / "slopes.png")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested cases. Returns the exit status."""
    options = parsed(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
    print(f"cores: {cores()}; numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    if hasattr(os, "getloadavg"):
        print(
            f"load of the machine at the start: {os.getloadavg()[0]:.1f} (on a busy one, 2 threads wait for each other)"
        )
    if not openmp_enabled():
        print("the kernel was built without OpenMP: growth with 2 threads runs on 1")
    if options.quick:
        print("--quick: tiny tables, so the ratios mean nothing and no target is judged")
    chosen = [case for case in CASES if case.name in options.cases]
    rivals = [*RIVALS, *other_packages()] if chosen else []
    clock = Clock()
    print_head()
    same = True
    for case in chosen:
        if not case.is_there():
            print(f"{case.name}: skipped, no {case.file} in the folder that SHALLOWRULES_DATA names ({DATA})")
            continue
        case = replace(case, rows=QUICK_ROWS) if options.quick else case
        weighed = not options.quick or case.name == chosen[0].name
        same &= print_case(
            clock, case, rivals, options.seeds, options.rounds, judged=not options.quick, weighed=weighed
        )
    if options.memory:
        print_largest(replace(LARGEST, rows=QUICK_ROWS) if options.quick else LARGEST, judged=not options.quick)
    if options.slopes:
        identical, drawn = print_slopes(clock, options.rounds, quick=options.quick)
        same &= identical
        if options.output:
            draw(drawn, options.output)
            log(f"drawn: {options.output}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

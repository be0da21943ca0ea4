"""Reading a CSV file, side by side with pandas.read_csv in one process.

    python benchmarks/reading.py            # 1,000,000 x 10 floats, whole numbers, and both beside text
    python benchmarks/reading.py --quick    # tiny tables: shows that it runs, and nothing else

The file is in the machine's cache. Ratios are of the elapsed time, the smallest of several rounds each; ratios of the
process's CPU time are shown beside them, and are more reliable on a busy machine. Asked for: at most twice the time of
pandas.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from measuring import Target

from shallowrules.sources import read_table

ROWS, COLUMNS = 1_000_000, 10
QUICK_ROWS = 1_000
LIMIT = Target("≤", 2.0)


def floats(random: np.random.Generator, rows: int) -> pd.DataFrame:
    return pd.DataFrame(random.normal(size=(rows, COLUMNS))).add_prefix("c")


def whole_numbers(random: np.random.Generator, rows: int) -> pd.DataFrame:
    return pd.DataFrame(random.integers(0, 100_000, size=(rows, COLUMNS))).add_prefix("c")


def mixed(random: np.random.Generator, rows: int) -> pd.DataFrame:
    half = COLUMNS // 2
    frame = pd.DataFrame(random.normal(size=(rows, half))).add_prefix("f")
    frame = frame.join(pd.DataFrame(random.integers(0, 1000, size=(rows, half - 1))).add_prefix("i"))
    return frame.assign(text=random.choice(["monthly", "One year", "Two_year"], rows))


CASES: dict[str, Callable[[np.random.Generator, int], pd.DataFrame]] = {
    "floats": floats,
    "whole numbers": whole_numbers,
    "floats, whole numbers, text": mixed,
}


def smallest(rounds: int, *runs: Callable[[], Any]) -> list[tuple[float, float]]:
    """Return the smallest elapsed and CPU time of each, in alternating rounds."""
    times: list[list[tuple[float, float]]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, found in zip(runs, times, strict=True):
            start, cpu = time.perf_counter(), time.process_time()
            run()
            found.append((time.perf_counter() - start, time.process_time() - cpu))
    return [(min(wall for wall, _ in found), min(cpu for _, cpu in found)) for found in times]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each kind of table. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny tables: only shows that it runs")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="times each is read [default: 5]")
    options = parser.parse_args(arguments)
    rows = QUICK_ROWS if options.quick else ROWS
    print(f"{rows:,} x {COLUMNS}          read_table ÷ pandas.read_csv: elapsed, CPU")
    with TemporaryDirectory() as folder:
        for name, make in CASES.items():
            path = Path(folder, "table.csv")
            make(np.random.default_rng(0), rows).to_csv(path, index=False)
            table, frame = read_table(path), pd.read_csv(path)
            same = all(
                np.array_equal(column.values, frame[column.name].to_numpy())
                for column in table.columns
                if column.is_numeric
            )
            ours, theirs = smallest(options.rounds, partial(read_table, path), partial(pd.read_csv, path))
            verdict = "" if options.quick else f"  {LIMIT}" if name == "floats" else ""
            numbers = "the same numbers" if same else "numbers that pandas rounds in its last digit"
            print(f"{name:32} {ours[0] / theirs[0]:6.2f} {ours[1] / theirs[1]:6.2f}   {numbers}{verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

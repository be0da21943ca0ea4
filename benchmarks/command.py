"""The time that `shallowrules run` spends on a large CSV file, by part, against `pandas.read_csv` of that file.

    python benchmarks/command.py            # 1,000,000 x 10, k = 10, five rounds: two minutes
    python benchmarks/command.py --quick    # a tiny table: shows that it runs, and nothing else

In each round the command runs on the file and on its first rows, and a script reads the file; all three are processes.
"Around it" is all time of the command outside k-means, growing and refining. Of that, the time until the table is read
is start-up, and so is the later time of the command on the first rows. In a narrower sense, start-up is only the time
until the table is read. Both ratios are those of the rest to `pandas.read_csv`. Figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pandas as pd
from measuring import Target, log
from speed_cases import Case

CASE = Case("command", 1_000_000, 10, 10)
QUICK_ROWS = 300
FIRST_ROWS = 40
LIMIT = Target("≤", 2.0)
FITTING = ("k-means", "distinct rows", "growing", "refining")  # a tree is grown from distinct rows, as in quality.py

# Runs the command with a clock at the functions that do its parts; writes when each began and how long it took.
WATCHED = """
import atexit, importlib, json, sys, time
PARTS = {
    "reading": ("shallowrules.cli.preparation", "open_rows"),
    "checking": ("shallowrules.cli.preparation", "_judged"),
    "encoding": ("shallowrules.fitting.preparing", "encode"),
    "k-means": ("shallowrules.clustering.clusterers", "fit_clusterer"),
    "distinct rows": ("shallowrules.fitting.regions", "find_unique_rows"),
    "growing": ("shallowrules.trees.growing", "grow"),
    "refining": ("shallowrules.fitting.regions", "refine"),
    "finishing": ("shallowrules.models.fits", "finish"),
    "exporting": ("shallowrules.exporters", "export_by"),
}
began, spent = {}, dict.fromkeys(PARTS, 0.0)

def watch(part, module, name):
    module = importlib.import_module(module)
    function = getattr(module, name)
    def watched(*given, **named):
        start = time.time()
        began.setdefault(part, start)
        try:
            return function(*given, **named)
        finally:
            spent[part] += time.time() - start
    setattr(module, name, watched)

target = sys.argv.pop(1)
for part, (module, name) in PARTS.items():
    watch(part, module, name)
atexit.register(lambda: open(target, "w").write(json.dumps({"began": began["reading"], "spent": spent})))
import shallowrules.cli
shallowrules.cli.script()
"""
READ = """
import sys, time
import pandas
start = time.time()
pandas.read_csv(sys.argv[1])
print(time.time() - start)
"""


def spent_on(path: Path, k: int) -> dict[str, float]:
    """Return the seconds of each part of the command, run in a process of its own."""
    times = path.with_name("times.json")
    command = [sys.executable, "-c", WATCHED, str(times), "run", str(path), "-k", str(k), "--seed", "0", "--force"]
    start = time.time()
    subprocess.run([*command, "--output", str(path.with_name("rules"))], check=True, capture_output=True)
    whole = time.time() - start
    measured = json.loads(times.read_text(encoding="utf-8"))
    parts: dict[str, float] = {"until reading": measured["began"] - start, **measured["spent"]}
    return parts | {"the rest": whole - sum(parts.values())}


def seconds_of_pandas(path: Path) -> float:
    """Return the seconds that ``pandas.read_csv`` takes, in a process of its own and without the import."""
    return float(subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True).stdout)


def around(parts: dict[str, float]) -> float:
    """Return the seconds from reading on, outside k-means, growing and refining."""
    return sum(seconds for part, seconds in parts.items() if part not in ("until reading", *FITTING))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the parts and the ratios. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny table, one round: only shows that it runs")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="times each process runs [default: 5]")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    case = replace(CASE, rows=QUICK_ROWS) if options.quick else CASE
    large, small, read = [], [], []
    with TemporaryDirectory() as folder:
        path, first = Path(folder, "table.csv"), Path(folder, "first.csv")
        pd.DataFrame(case.table(0).round(4)).add_prefix("c").to_csv(path, index=False)
        with path.open(encoding="utf-8") as lines:
            first.write_text("".join(islice(lines, FIRST_ROWS + 1)), encoding="utf-8")
        rounds = 1 if options.quick else options.rounds
        for number in range(1, rounds + 1):
            log(f"round {number} of {rounds}")
            large.append(spent_on(path, case.k))
            small.append(spent_on(first, case.k))
            read.append(seconds_of_pandas(path))
    print(f"run: CSV of {case.rows:,} x {case.columns}, k={case.k}; parts as multiples of pandas.read_csv")
    pandas = median(read)
    for part in large[0]:
        print(f"  {part:16}{median(parts[part] for parts in large) / pandas:7.2f}")
    ratios = {
        "around it less start-up": [around(all_) - around(few) for all_, few in zip(large, small, strict=True)],
        "around it less until reading": [around(all_) for all_ in large],
    }
    for name, seconds in ratios.items():
        ratio = median(seconds) / pandas
        print(f"{name:38} ÷ read_csv {ratio:6.2f}" + ("" if options.quick else f"  {LIMIT}: {LIMIT.verdict(ratio)}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A fit of a table in parts against the fit of that table in memory: time, peak memory, and how they grow with rows.

    python benchmarks/scale.py                     # 1, 3 and 10 million rows x 10, k=20: many minutes
    python benchmarks/scale.py --largest           # then 100 million rows: half an hour, and 18 GB of disk
    python benchmarks/scale.py --ways parts dask   # some of the ways alone
    python benchmarks/scale.py --quick             # tiny tables: shows that it runs, and nothing else

Ways: "memory" reads the table and calls `fit`; "collected" is `fit_partitions` where the rows fit in the memory that it
may take, "parts" where they do not, so that the tree is grown over the parts; "dask" is "collected" with two
workers of one thread each; the others have two threads. All start from Parquet files and from given centers.

Each run is a process of its own. Its time is that of the fit, with all reading, without starting Dask and without
imports, since it first fits a tiny table; its memory is the most that it had at any time, that of Dask's workers not
counted. Ratios are medians over the rounds; those of processor time are more reliable where others use the machine too.
The tables are written in parts to a folder of temporary files, which is removed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from measuring import ROOT, Quiet, Target, check_picture, log

COLUMNS, CLUSTERS = 10, 20
ROWS, LARGEST, FILE_ROWS, GROUP_ROWS = (1_000_000, 3_000_000, 10_000_000), 100_000_000, 1_000_000, 2**17
QUICK_ROWS = (1000, 2000)
SMALL_MEMORY, LARGEST_MEMORY = 2**28, 2**31
GIB = 2**30
WAYS = ("memory", "collected", "parts", "dask")
COMPARED = {
    ("collected", "memory"): Target("≤", 3.0),
    ("parts", "memory"): None,
    ("dask", "collected"): Target("≤", 1.3),
}
SLOPE = 0.9, 1.1
PEAK = Target("≤", 2.0)

# What one run does: the arguments are the way, the folders of a small table and of the table, and the bytes that the
# fit may take. The small table is fitted first, so that no way's imports are counted, those of Dask's workers neither.
RUN = """
import json, sys, time
from contextlib import ExitStack
from pathlib import Path
import numpy as np
import duckdb, pyarrow, sklearn.cluster
from shallowrules import ExplainableKMeans
from shallowrules.partitions import Partitions
from shallowrules.sources import read_table
import shallowrules.fitting.parts

def fit(way, model, folder, memory):
    files = sorted(map(str, folder.glob("*.parquet")))
    centers = np.load(folder / "centers.npy")
    if way == "memory":
        return model.set_params(clusterer=centers).fit(read_table(files))
    if way == "dask":
        import dask.dataframe
        files = dask.dataframe.read_parquet(files).persist()
    return model.fit_partitions(files, centers=centers, memory=memory)

def main():
    way, small, folder, memory = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]) or None
    model = ExplainableKMeans(refine="none", n_jobs=2)
    map_reduce, passes = Partitions.map_reduce, []
    Partitions.map_reduce = lambda self, function, state: (passes.append(1), map_reduce(self, function, state))[1]
    used_elsewhere = lambda: 0.0
    with ExitStack() as stack:
        if way == "dask":
            import distributed
            cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
            client = stack.enter_context(distributed.Client(stack.enter_context(cluster)))
            used_elsewhere = lambda: sum(client.run(time.process_time).values())
        fit(way, model, small, memory)
        passes.clear()
        started, used = time.perf_counter(), time.process_time() + used_elsewhere()
        fit(way, model, folder, memory)
        seconds, used = time.perf_counter() - started, time.process_time() + used_elsewhere() - used
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    tree = [model.tree_.feature.tolist(), model.tree_.threshold.tolist(), model.tree_.rows.tolist()]
    print(json.dumps({"seconds": seconds, "used": used, "peak": peak * 1024, "passes": len(passes), "tree": tree}))

if __name__ == "__main__":
    main()
"""

Run = dict[str, Any]


def write_table(folder: Path, n_rows: int, file_rows: int) -> None:
    """Write rows around as many points as there are clusters, and these points, which are the centers."""
    folder.mkdir()
    centers = np.random.default_rng(0).normal(size=(CLUSTERS, COLUMNS)) * 3
    np.save(folder / "centers.npy", centers)
    for number, first in enumerate(range(0, n_rows, file_rows)):
        rng = np.random.default_rng([1, number])
        own = centers[rng.integers(CLUSTERS, size=min(file_rows, n_rows - first))]
        X = own + rng.normal(size=own.shape)
        table = pyarrow.table({f"c{j}": column for j, column in enumerate(X.T)})
        pyarrow.parquet.write_table(
            table, folder / f"{number:04}.parquet", row_group_size=GROUP_ROWS, use_dictionary=False
        )


def run(way: str, folder: Path, memory: int) -> Run:
    """Fit once in a process of its own."""
    script, small = folder.parent / "run.py", folder.parent / "small"
    if not small.exists():
        write_table(small, QUICK_ROWS[-1], QUICK_ROWS[0])
    script.write_text(RUN, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(script), way, str(small), str(folder), str(memory)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"{way}: {done.stderr}")
    found: Run = json.loads(done.stdout.splitlines()[-1])
    used = f"{found['seconds']:.1f} s, {found['used']:.1f} s of processors"
    log(f"  {way}: {used}, {found['passes']} passes, peak {found['peak'] / GIB:.2f} GiB")
    return found


def measure(folder: Path, ways: Sequence[str], rounds: int, small: int) -> dict[str, list[Run]]:
    """Return the runs of each way on one table; SystemExit if their trees differ."""
    runs: dict[str, list[Run]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            runs[way].append(run(way, folder, small if way == "parts" else 0))
    trees = {json.dumps(each["tree"]) for of_way in runs.values() for each in of_way}
    if len(trees) > 1:
        raise SystemExit("the trees of the ways differ")
    return runs


def print_table(n_rows: int, runs: dict[str, list[Run]], *, judged: bool) -> None:
    """Print the ratios of one table, and each way's passes and peak memory."""
    print(f"{n_rows:,} rows x {COLUMNS}, k={CLUSTERS}: trees identical")
    for way, of_way in runs.items():
        peak = max(each["peak"] for each in of_way) / GIB
        print(f"  {way:9} {of_way[0]['passes']:3} passes, peak memory {peak:.2f} GiB")
    for (way, other), target in COMPARED.items():
        if way in runs and other in runs:
            pairs = list(zip(runs[way], runs[other], strict=True))
            ratios, used = ([a[name] / b[name] for a, b in pairs] for name in ("seconds", "used"))
            verdict = f"  {target}: {target.verdict(median(ratios))}" if judged and target else ""
            spread = f"({min(ratios):.3g} to {max(ratios):.3g}; processor time {median(used):.3g})"
            print(f"  {way} ÷ {other}: {median(ratios):.3g}  {spread}{verdict}")


def median_of(runs: dict[str, list[Run]], way: str, name: str = "seconds") -> float:
    """Return the median time of a way, or another of its figures."""
    return median(each[name] for each in runs[way])


def print_slopes(found: dict[int, dict[str, list[Run]]], *, judged: bool) -> None:
    """Print how the time of each way grows with the rows."""
    for way in next(iter(found.values())):
        sizes = [n_rows for n_rows in found if way in found[n_rows]]
        if len(sizes) < 2:
            continue
        slope, used = (
            float(np.polyfit(np.log(sizes), np.log([median_of(found[n], way, name) for n in sizes]), 1)[0])
            for name in ("seconds", "used")
        )
        verdict = f"  {SLOPE[0]:g} to {SLOPE[1]:g}: {'ok' if SLOPE[0] <= slope <= SLOPE[1] else 'missed'}"
        verdict = verdict if judged and way == "parts" else ""
        print(f"slope in rows, {way}: {slope:.2f} (processor time {used:.2f}){verdict}")


def draw(found: dict[int, dict[str, list[Run]]], path: Path) -> None:
    """Draw time, as a multiple of that of the smallest table in memory, and peak memory over the rows."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (times, peaks) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    smallest = next(iter(found.values()))
    unit = median_of(smallest, next(iter(smallest)))
    for way in smallest:
        sizes = [n_rows for n_rows in found if way in found[n_rows]]
        times.loglog(sizes, [median_of(found[n], way) / unit for n in sizes], "o-", label=way)
        peaks.loglog(sizes, [max(each["peak"] for each in found[n][way]) / GIB for n in sizes], "o-", label=way)
    times.set(xlabel="rows", ylabel=f"time ÷ that of {next(iter(smallest))}, fewest rows")
    peaks.set(xlabel="rows", ylabel="peak memory, GiB")
    times.legend()
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the requested tables. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="which ways [default: all]")
    parser.add_argument("--rows", nargs="+", type=int, metavar="N", help="sizes of the tables")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds of each table [default: 3]")
    parser.add_argument("--largest", action="store_true", help=f"{LARGEST:,} rows too, over the parts, once")
    parser.add_argument("--quick", action="store_true", help="tiny tables, one round: only shows that it runs")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the tables are written for the time being")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="picture (default: build/scale.png)")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if min(options.rows or [1]) < 1:
        parser.error("--rows must be at least 1")
    path = check_picture(parser, options.output, ROOT / "build" / "scale.png")
    quick = options.quick
    quiet = Quiet(judges=not quick)
    quiet.check()
    sizes = sorted(options.rows or (QUICK_ROWS if quick else ROWS))
    found: dict[int, dict[str, list[Run]]] = {}
    with TemporaryDirectory(prefix="scale-", dir=options.folder) as scratch:
        for n_rows in sizes:
            log(f"{n_rows:,} rows")
            folder = Path(scratch, str(n_rows))
            write_table(folder, n_rows, QUICK_ROWS[0] if quick else FILE_ROWS)
            found[n_rows] = measure(folder, options.ways, 1 if quick else options.rounds, 1 if quick else SMALL_MEMORY)
            print_table(n_rows, found[n_rows], judged=not quick)
            for file in folder.iterdir():
                file.unlink()
        if options.largest:
            n_rows = 2 * QUICK_ROWS[-1] if quick else LARGEST
            log(f"{n_rows:,} rows: writing them")
            folder = Path(scratch, str(n_rows))
            write_table(folder, n_rows, QUICK_ROWS[0] if quick else FILE_ROWS)
            largest = run("parts", folder, 1 if quick else LARGEST_MEMORY)
            found[n_rows] = {"parts": [largest]}
            peak = largest["peak"] / GIB
            verdict = "" if quick else f"  {PEAK}: {PEAK.verdict(peak)}"
            print(f"{n_rows:,} rows x {COLUMNS}: {largest['passes']} passes, peak memory {peak:.2f} GiB{verdict}")
    print_slopes(found, judged=not quick)
    if path is not None:
        draw(found, path)
        log(f"drawn: {path}")
    if quiet.refusal:
        log(quiet.refusal)
    return 0


if __name__ == "__main__":
    sys.exit(main())

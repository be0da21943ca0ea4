"""Two versions of the package side by side: equal trees and labels, and the ratio of the times that a user waits.

Run it with the environment of the newer version, and name the Python of the environment that has the other::

    python benchmarks/versions.py /path/to/other/.venv/bin/python             # trees, labels and texts; then ratios
    python benchmarks/versions.py /path/to/other/.venv/bin/python --no-times  # trees, labels and texts alone

Notes
-----
Each version runs in a worker process of its own. Tables and centers are made here, once, and read by both from files,
so that both grow from the same numbers. Both run every table with every method and each number of threads; what a user
gets (the tree's arrays, labels, centers, figures, the printed rules, `assign`, and the text of every exporter and SQL
dialect) is compared, to the last bit, and each kind that differs is named with one such fit. Growing, refining and
labelling are timed on the tables in `TIMED` unless trees, labels or figures differ. Texts may differ: two versions may
write one tree differently.

Both workers do a step in each round, in alternating order, each repeating it for at least `SECONDS`; a
round's time is the least of these. Two times are taken: the processor time of the process, which other processes of
the machine hardly change, and that of the clock. For each, a line shows the ratio of the newer version to the other
one, least time over least time of all rounds, and the quartiles of the rounds' own ratios: how far to trust it. One
thread is timed by both, two by the clock alone: a thread that waits takes processor time. Labelling of text and files
is the same work for any number of threads, and timed with one.

The exit status is 1 where anything differs, a text too. Ratios are printed and never judged, because they also depend
on how busy the machine is.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SECONDS = 0.3
ROUNDS = 9
WIDE = 500
"""A table of more columns is run with one method and one trade-off: it takes minutes otherwise."""
SMALL = 25_000
"""A table of at most this many rows is also clustered by the package itself, and its trade-off path is grown."""

METHODS: dict[str, dict[str, Any]] = {
    "exshallow none": {"method": "exshallow", "tradeoff": 0.03, "refine": "none"},
    "exshallow full": {"method": "exshallow", "tradeoff": 0.03, "refine": "full"},
    "exshallow none, tradeoff 0": {"method": "exshallow", "tradeoff": 0.0, "refine": "none"},
    "exshallow full, tradeoff 0": {"method": "exshallow", "tradeoff": 0.0, "refine": "full"},
    "exgreedy": {"method": "exgreedy"},
    "imm": {"method": "imm"},
    "exkmc": {"method": "exkmc", "max_leaves": 3},
    "exkmc from imm": {"method": "exkmc", "base": "imm", "max_leaves": 3},
}
"""The ways to grow a tree; `max_leaves` is what is added to the number of clusters."""

TIMED = ("letter", "avila", "blobs100000x20-k20", "blobs1000000x10-k50")
STEPS: dict[str, dict[str, Any]] = {
    "grow": {"refine": "none"},
    "grow, refine": {"refine": "full"},
    "predict": {"refine": "none"},
    "assign": {"refine": "none"},
    "assign columns": {"refine": "none"},
    "assign text": {"refine": "none"},
    "label": {"refine": "none"},
    "imm": {"method": "imm"},
    "exkmc": {"method": "exkmc"},
}
"""What is timed, and with which options.

`predict` and `assign` label the rows that the tree was grown on, as one array; `assign columns` at most `SMALL` of them
as a list per column; `assign text` as text with a decimal comma, by rules that were told of it; the command `label` as
a CSV file.
"""
OF_TEXT = ("assign columns", "assign text", "label")
TIMED_ON_ONE = ("imm", "exkmc", *OF_TEXT)
ONE = "blobs100000x20-k20"
"""The table on which the steps of `TIMED_ON_ONE` are timed; of tables that are asked for, each."""
MUST_AGREE = ("tree", "labels", "figures")
"""What must be equal for a ratio of times to mean anything."""

ARRAYS = ("feature", "threshold", "left", "right", "cluster", "rows", "weight")
"""All arrays of a tree."""

DIALECTS = ("ansi", "sqlite", "duckdb", "postgres", "mysql", "snowflake", "bigquery", "spark", "trino", "clickhouse")


# The worker: runs with either version, so it uses public names alone --------------------------------


def digest(*parts: Any) -> str:
    """Return a hash of arrays and texts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes())
    return found.hexdigest()[:20]


def fingerprint(model: Any, X: NDArray[Any]) -> dict[str, str]:
    """Return hashes of the results that a user gets from a fit."""
    from shallowrules import export

    tree, rules = model.tree_, model.rules_
    figures = [model.inertia_, model.normalized_cost_, model.wad_, model.waes_, model.reference_inertia_]
    found = {
        "tree": digest(*(getattr(tree, name) for name in ARRAYS)),
        "labels": digest(model.labels_, model.predict(X), rules.assign(X)),
        "figures": digest(model.cluster_centers_, np.array(figures)),
        "printed rules": digest(str(rules)),
        "python": digest(export(rules, "python")),
        "markdown": digest(export(rules, "markdown")),
    }
    for dialect in DIALECTS:
        found[f"sql {dialect}"] = digest(*(export(rules, "sql", dialect=dialect, style=s) for s in ("where", "case")))
    return found


class Worker:
    """A worker that carries out requests from standard input, with the version of the package that its Python has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.timed: tuple[tuple[str, str, int], Callable[[], Any]] | None = None

    def load(self, table: str) -> tuple[NDArray[Any], NDArray[np.float64]]:
        return np.load(self.folder / f"{table}.npy"), np.load(self.folder / f"{table}.centers.npy")

    def version(self) -> str:
        import shallowrules

        return str(Path(shallowrules.__file__).parent)

    def compare(self, table: str, method: str, threads: int) -> dict[str, str]:
        """Fit a table by one method and return the results."""
        from shallowrules import ExplainableKMeans

        X, centers = self.load(table)
        options = dict(METHODS[method])
        if "max_leaves" in options:
            options["max_leaves"] += len(centers)
        model = ExplainableKMeans(len(centers), clusterer=centers, n_jobs=threads, random_state=0, **options)
        return fingerprint(model.fit(X), X)

    def compare_own(self, table: str, refine: str) -> dict[str, str]:
        """Have the package cluster a table with one thread, so that k-means repeats, and grow its path."""
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        from shallowrules import ExplainableKMeans, tradeoff_path

        X, centers = self.load(table)
        with threadpool_limits(1):
            model = ExplainableKMeans(len(centers), refine=refine, n_jobs=1, random_state=0)
            path = tradeoff_path(ExplainableKMeans(len(centers), refine=refine, clusterer=centers, n_jobs=1), X)
            return {**fingerprint(model.fit(X), X), "path": digest(str(path))}

    def prepare(self, table: str, step: str, threads: int) -> Callable[[], Any]:
        """Return the steps to time, each run once: the first run takes longer."""
        from shallowrules import ExplainableKMeans

        X, centers = self.load(table)
        model = ExplainableKMeans(len(centers), clusterer=centers, n_jobs=threads, random_state=0, **STEPS[step]).fit(X)
        run: Callable[[], Any] = lambda: model.fit(X)  # noqa: E731
        if step == "predict":
            run = lambda: model.predict(X)  # noqa: E731
        elif step == "assign":
            run = lambda: model.rules_.assign(X)  # noqa: E731
        elif step in OF_TEXT:
            run = self.prepare_labelling(model.rules_, X[:SMALL], step)
        run()
        return run

    def prepare_labelling(self, rules: Any, X: NDArray[Any], step: str) -> Callable[[], Any]:
        """Return the labelling of rows that are not an array."""
        from shallowrules import RuleSet
        from shallowrules.cli import main as command

        columns = {column.name: values for column, values in zip(rules.columns, X.T.tolist(), strict=True)}
        if step == "assign columns":
            return lambda: rules.assign(columns)
        if step == "assign text":
            document = rules.to_dict()
            for column in document["columns"]:
                column.update(decimal=",", nulls=["NA"])
            told = RuleSet.from_dict(document)
            texts = {name: [str(value).replace(".", ",") for value in values] for name, values in columns.items()}
            return lambda: told.assign(texts)
        folder = tempfile.mkdtemp(dir=self.folder)  # each version writes its own
        files = [str(Path(folder, name)) for name in ("rules.json", "table.csv", "labelled.csv")]
        rules.to_json(files[0])
        np.savetxt(files[1], X, "%.17g", delimiter=",", header=",".join(columns), comments="")

        def label() -> None:
            sys.argv = ["shallowrules", "label", *files[:2], "-o", files[2], "--force"]
            with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                try:
                    command()
                except SystemExit as ended:
                    status = ended.code
            assert not status, "the command failed"

        return label

    def time(self, table: str, step: str, threads: int) -> tuple[float, float]:
        """Return the least processor time and the least time that a step takes, in as many runs as fill `SECONDS`."""
        if self.timed is None or self.timed[0] != (table, step, threads):
            self.timed = None  # the table before need not stay in memory
            self.timed = (table, step, threads), self.prepare(table, step, threads)
        run = self.timed[1]
        begin = time.perf_counter()
        runs: list[tuple[float, float]] = []
        while not runs or time.perf_counter() - begin < SECONDS:
            processor, clock = time.process_time(), time.perf_counter()
            run()
            runs.append((time.process_time() - processor, time.perf_counter() - clock))
        return min(run[0] for run in runs), min(run[1] for run in runs)

    def serve(self) -> None:
        """Answer until standard input ends; each answer is a line."""
        for line in sys.stdin:
            name, arguments = json.loads(line)
            print(json.dumps(getattr(self, name)(*arguments)), flush=True)


# The other side -------------------------------------------------------------------------------------


class Version:
    """A worker with a version of the package."""

    def __init__(self, python: str, folder: Path) -> None:
        command = [python, __file__, "--worker", str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", cwd=folder
        )

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return the worker's answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, arguments]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"a worker ended while it was asked for {name} {arguments}")
        return json.loads(answer)

    def close(self) -> None:
        """End the worker."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def write_tables(folder: Path, names: list[str], data: Path, quick: bool) -> Iterator[tuple[str, int, int]]:
    """Write each table and the centers to grow from; yield its name, rows and columns."""
    from measuring import into_space, load
    from sklearn.cluster import KMeans
    from sklearn.datasets import make_blobs

    for name in names:
        if name.startswith("blobs"):
            rows, columns, k = (int(part) for part in name.removeprefix("blobs").replace("-k", "x").split("x"))
            X = make_blobs(min(rows, 2000) if quick else rows, columns, centers=k, cluster_std=5.0, random_state=k)[0]
        else:
            X, k = load(name, data)
            X = into_space(name, X)
        np.save(folder / f"{name}.npy", X)
        centers = KMeans(k, n_init=1, random_state=0).fit(X).cluster_centers_
        np.save(folder / f"{name}.centers.npy", centers)
        yield name, *X.shape


def differences(
    new: Version, other: Version, table: str, rows: int, columns: int, threads: list[int]
) -> dict[str, list[str]]:
    """Return the differences between two versions on one table: by kind, the fits."""
    wide = columns > WIDE
    methods = ["exshallow none"] if wide else list(METHODS)
    asked: list[tuple[Any, ...]] = [
        ("compare", table, method, n) for method, n in itertools.product(methods, threads[:1] if wide else threads)
    ]
    if rows <= SMALL and not wide:
        asked += [("compare_own", table, refine) for refine in ("none", "full")]
    found: dict[str, list[str]] = {}
    for question in asked:
        mine, theirs = new.ask(*question), other.ask(*question)
        for kind in (kind for kind in mine if mine[kind] != theirs[kind]):
            found.setdefault(kind, []).append(" ".join(map(str, question[1:])))
    print(f"{table}: {len(asked)} fits, {'DIFFERENT: ' + ', '.join(found) if found else 'all equal'}", flush=True)
    return found


def ratios(
    new: Version, other: Version, table: str, step: str, threads: int, rounds: int
) -> list[tuple[float, float, float]]:
    """Return the ratio of processor times and that of times, least over least, with the quartiles of the rounds."""
    times: dict[Version, list[tuple[float, float]]] = {new: [], other: []}
    for i in range(rounds):
        for version in (new, other) if i % 2 else (other, new):
            times[version].append(version.ask("time", table, step, threads))
    found = []
    for kind in range(2):
        mine, theirs = ([both[kind] for both in times[version]] for version in (new, other))
        low, high = np.quantile(np.divide(mine, theirs), [0.25, 0.75])
        found.append((min(mine) / min(theirs), float(low), float(high)))
    return found


def print_times(new: Version, other: Version, tables: list[str], on_one: list[str], rounds: int) -> None:
    """Time the steps on some tables and print a line for each; those of `TIMED_ON_ONE` on the tables `on_one` alone."""
    print(f"time of this version by that of the other: least by least of {rounds} rounds (quartiles of the rounds)")
    for table, step in itertools.product(tables, STEPS):
        if step in TIMED_ON_ONE and table not in on_one:
            continue
        processor, one = ratios(new, other, table, step, 1, rounds)
        named = {"processor": processor, "clock": one}
        if step not in OF_TEXT:
            _, named["clock, 2 threads"] = ratios(new, other, table, step, 2, rounds)
        shown = [f"{name} {ratio:.3f} ({low:.3f} to {high:.3f})" for name, (ratio, low, high) in named.items()]
        print(f"{table:20} {step:15} {'   '.join(shown)}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Compare, then time; return the exit status."""
    if arguments is None and sys.argv[1:2] == ["--worker"]:
        warnings.simplefilter("ignore")
        Worker(Path(sys.argv[2])).serve()
        return 0
    from measuring import BUNDLED, add_table_options, chosen_tables

    files = ["mice", "anuran", "avila", "letter", "poker_part125008", "20newsgroups"]
    blobs = ["blobs100000x8-k10", "blobs100000x14-k20", "blobs100000x20-k30"]
    known = [*BUNDLED, *files, *blobs, *(name for name in TIMED if name not in files)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", metavar="PYTHON", help="the Python of the environment with the other version")
    add_table_options(parser, known)
    parser.add_argument("--no-times", action="store_true", help="compare trees, labels and texts alone")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of timing (default: {ROUNDS})")
    parser.add_argument("--threads", default="1,2,7", help="numbers of threads to compare (default: 1,2,7)")
    parser.add_argument("--quick", action="store_true", help="small tables and one round: shows that it runs")
    options = parser.parse_args(arguments)
    threads = [int(number) for number in options.threads.split(",")]
    made = [name for name in known if name.startswith("blobs")]
    names = chosen_tables(parser, options, known, made)
    timed = names if options.tables else [name for name in TIMED if name in names]
    if not options.tables:
        names = [name for name in names if name in files or name not in TIMED]

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        new, other = Version(sys.executable, folder), Version(options.other, folder)
        print(f"{new.ask('version')}\nagainst {other.ask('version')}", flush=True)
        shapes = list(write_tables(folder, names, options.data, options.quick))
        faults: dict[str, list[str]] = {}
        for shape in shapes:
            for kind, fits in differences(new, other, *shape, threads).items():
                faults.setdefault(kind, []).extend(fits)
        for kind, fits in faults.items():
            print(f"DIFFERENT: {kind} in {len(fits)} fits, such as {fits[0]}")
        if not faults:
            print("every tree, label and text is equal")
        if not options.no_times and faults.keys().isdisjoint(MUST_AGREE):
            list(write_tables(folder, [name for name in timed if name not in names], options.data, options.quick))
            on_one = timed if options.tables else [ONE]
            print_times(new, other, timed, on_one, 1 if options.quick else options.rounds)
        new.close()
        other.close()
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

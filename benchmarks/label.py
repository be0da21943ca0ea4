"""Memory that `shallowrules label` takes for a large file, as a multiple of what it takes for a small one.

    python benchmarks/label.py            # files and databases of 1,000,000 and 5,000,000 rows: ten minutes
    python benchmarks/label.py --kinds sqlite duckdb
    python benchmarks/label.py --quick    # tiny files: shows that it runs, and nothing else

A table that is held whole takes five times the memory for five times the rows. One that streams takes no more than a
bound: rows that wait to be written, fewer in a small file. Databases are files of SQLite and DuckDB. Each command is a
process of its own, and its memory is the most that it had at any time.
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
from measuring import Target

from shallowrules import ExplainableKMeans
from shallowrules.tables.table import Table

SMALL, LARGE, COLUMNS, CLUSTERS = 1_000_000, 5_000_000, 10, 10
QUICK_ROWS = 1000
LIMIT = Target("≤", 2.0)
TABLE = "rows_to_label"
COMMAND = "import shallowrules.cli; shallowrules.cli.script()"
# By a process that is small itself: the memory of the one that starts a process counts as that of the process.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
WRITTEN = ("csv", "parquet")
DATABASES = ("sqlite", "duckdb")
KINDS = (*WRITTEN, *DATABASES)


def write_table(path: Path, n_rows: int) -> None:
    """Write a table of random numbers."""
    columns = ", ".join(f"round(random() * 100, 4) AS c{j}" for j in range(COLUMNS))
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        database.execute("SELECT setseed(0.5)")
        rows = f"SELECT {columns} FROM range({n_rows})"
        if path.suffix == ".duckdb":
            database.execute(f"ATTACH '{path}' AS written")
            database.execute(f"CREATE TABLE written.{TABLE} AS {rows}")
        elif path.suffix == ".sqlite":
            fill_sqlite(path, database.execute(rows))
        else:
            database.execute(f"COPY ({rows}) TO '{path}'")


def fill_sqlite(path: Path, rows: duckdb.DuckDBPyConnection) -> None:
    """Write the result of a query to a file of SQLite."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE {TABLE} ({', '.join(f'c{j} REAL' for j in range(COLUMNS))})")
        while batch := rows.fetchmany(100_000):
            database.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join('?' * COLUMNS)})", batch)
        database.commit()


def write_rules(path: Path) -> None:
    """Write rules that test the columns of such tables."""
    X = np.random.default_rng(0).uniform(0, 100, (5000, COLUMNS))
    table = Table.of(X, [f"c{j}" for j in range(COLUMNS)])
    ExplainableKMeans(CLUSTERS, refine="none", random_state=0).fit(table).rules_.to_json(path)


def peak_of(rules: Path, table: Path, target: Path) -> int:
    """Return the most memory that labelling a file takes, in the system's unit."""
    kind = table.suffix[1:]
    given = ["--database", f"{kind}:///{table}", "--table", TABLE] if kind in DATABASES else [str(table)]
    command = [sys.executable, "-c", COMMAND, "label", str(rules), *given, "-o", str(target), "--force"]
    done = subprocess.run([sys.executable, "-c", PEAK, *command], check=True, capture_output=True)
    return int(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all pairs of kinds. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny files: only shows that it runs")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="which tables [default: all]")
    options = parser.parse_args(arguments)
    quick = options.quick
    sizes = (QUICK_ROWS, 2 * QUICK_ROWS) if quick else (SMALL, LARGE)
    print(f"peak memory of label, {sizes[1]:,} rows x {COLUMNS} ÷ {sizes[0]:,} rows")
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_rules(folder / "rules.json")
        for kind, n_rows in product(options.kinds, sizes):
            write_table(folder / f"{n_rows}.{kind}", n_rows)
        for kind, written in product(options.kinds, WRITTEN):
            small, large = (
                peak_of(folder / "rules.json", folder / f"{n_rows}.{kind}", folder / f"out.{written}")
                for n_rows in sizes
            )
            judged = "" if quick else f"  {LIMIT}: {LIMIT.verdict(large / small)}"
            print(f"  {kind:7} to {written:7} {large / small:6.3g}{judged}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

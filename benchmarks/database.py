"""Rules at work in a database: labels put there, and rows read from there, against the time of the engine alone.

    python benchmarks/database.py                      # 1,000,000 x 10 floats, 50 clusters, on four engines
    python benchmarks/database.py --only read --engines postgres
    python benchmarks/database.py --quick              # a small table: shows that it runs, and nothing else

``table``   `label --apply table` as a whole, by the engine's own CREATE TABLE AS of the same rows without labels plus
            the bare CASE alone; "its statements" are the ones that change the database, without its look-ups and output
            before them.
``update``  a second `label --apply update`, by the first, which made the column. It cannot take less time than the
rules alone, each row's cluster in the fastest form for the engine: the ratio of these to the first is the floor.
``case``    the CASE that `export` writes for the types of the columns, in its styles ``case`` and ``ordered``, by one
            without guards as a person writes it; on ClickHouse and Spark, too. The columns are doubles, so that guards
            against NaN are left. On PostgreSQL also "not compiled", with jit = off.
``read``    from query to finished table, by a cursor of the server that fetches all rows; on PostgreSQL by psycopg and
            by ADBC, and ADBC by psycopg.

PostgreSQL is a server of its own, the system's or that of the extra `test`; so is the system's MariaDB. Ratios are of
elapsed time. All steps of a round run one after another: the quartiles of the rounds' own ratios are shown beside the
ratio of the least times.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
from characters import by_hand
from click.testing import CliRunner
from measuring import Sheet, Target, log, timed
from sklearn.cluster import KMeans
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from shallowrules import ExplainableKMeans, RuleSet, export
from shallowrules.cli.commands import shallowrules
from shallowrules.exporters.sql import dialect_of_database, fastest_case
from shallowrules.labelling.column_types import column_types
from shallowrules.labelling.databases import Application, plan_labels
from shallowrules.sources import DatabaseRows, read_table
from shallowrules.sources.adbc import is_usable
from shallowrules.sources.connecting import connect, find_url
from shallowrules.sources.database import BATCH_ROWS, open_rows
from shallowrules.verification.engines import ENGINES as ALL_ENGINES
from shallowrules.verification.engines import Engine
from shallowrules.verification.engines.mariadb import MariaDB
from shallowrules.verification.engines.postgres import Postgres

SERVERS = {"postgres": Postgres, "mysql": MariaDB}
ENGINES = (*SERVERS, "sqlite", "duckdb")
WITHOUT_URL = {
    "clickhouse": (
        "Float64",
        "INSERT INTO points SELECT {values} FROM (SELECT toInt64(number) AS i FROM numbers({n}))",
    ),
    "spark": ("DOUBLE", "INSERT INTO points SELECT {values} FROM (SELECT id AS i FROM range({n}))"),
}
"""Engines that no command takes a table from: their type of doubles, and what fills the table."""
ROWS, COLUMNS, CLUSTERS = 1_000_000, 10, 50
QUICK_ROWS, QUICK_CLUSTERS = 2_000, 5
FITTED_ROWS = 20_000
TARGETS = {
    ("", "table: command by engine alone"): Target("≤", 1.3),
    ("", "update: second command by first"): Target("≤", 0.2),
    ("", "case: for types by a person's"): Target("≤", 1.1),
    ("postgres", "read: psycopg by plain cursor"): Target("≤", 1.5),
}
"""By engine, "" for all, and what is measured."""

ORDERS = ("case", "ordered")
SETTINGS = (("", ""), ("SET LOCAL jit = off; ", ", not compiled"))
"""PostgreSQL compiles long expressions, which may take longer than their evaluation."""
"""A CASE of rules that stand alone, as views, tables and updates have it, and the shorter one."""

PRIMES = (104_729, 224_737, 350_377, 479_909, 611_953, 746_773, 882_377, 15_487, 32_452, 67_867)[:COLUMNS]
PRIME = 1_000_003
"""Values are remainders by it of products with other primes, so that every engine has the same table."""


@dataclass(frozen=True)
class Place:
    """A database with the table ``points``, and rules for it."""

    engine: str
    url: str
    rules: RuleSet
    rules_file: str

    def run(self, statement: str) -> None:
        """Run a statement, in a session with the engine's own settings."""
        with create_engine(find_url(self.url), poolclass=NullPool).begin() as connection:
            result = connection.execution_options(no_parameters=True).exec_driver_sql(statement)
            if result.returns_rows:
                result.all()

    @property
    def types(self) -> Mapping[str, str]:
        """The declared types of the columns."""
        with open_rows(DatabaseRows(self.url, "points")) as source:
            return column_types(source)

    def statements(self, table: str, style: str) -> list[str]:
        """Return the plan that ``label --apply`` would run now."""
        return plan_labels(self.rules, DatabaseRows(self.url, table), Application(style=style)).statements

    def run_all(self, statements: Sequence[str]) -> None:
        """Run statements in one transaction of a session like that of ``label``."""
        with connect(find_url(self.url)) as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
            connection.commit()

    def label(self, table: str, style: str, *options: str) -> None:
        """Run ``label --apply`` as a whole, in this process."""
        arguments = ["label", self.rules_file, "--database", self.url, "--table", table, "--apply", style, *options]
        done = CliRunner().invoke(shallowrules, arguments, catch_exceptions=False)
        if done.exit_code:
            raise RuntimeError(done.output)


@contextmanager
def opened(engine: str, n_rows: int, k: int) -> Iterator[Place]:
    """Make a database with its table, and rules that are fitted to a sample of it."""
    with TemporaryDirectory(prefix="shallowrules-") as folder:
        if engine in SERVERS:
            with SERVERS[engine].open() as server:
                yield _filled(engine, server.url, n_rows, k, folder)
        else:
            file = Path(folder, "points.db")
            if engine == "sqlite":
                file.touch()
            yield _filled(engine, f"{engine}:///{file}", n_rows, k, folder)


def _values() -> list[str]:
    """Return SQL for the values of row ``i``."""
    return [f"(i * {prime} % {PRIME}) / {PRIME}e0" for prime in PRIMES]


def _filled(engine: str, url: str, n_rows: int, k: int, folder: str) -> Place:
    digits = range(len(str(n_rows - 1)))
    number = " + ".join(f"{10**place} * d{place}.v" for place in digits)
    whole = "SIGNED" if engine == "mysql" else "BIGINT"
    with connect(find_url(url)) as connection:
        declared = ", ".join(f"c{j} DOUBLE PRECISION" for j in range(COLUMNS))
        connection.exec_driver_sql(f"CREATE TABLE points ({declared})")
        connection.exec_driver_sql(
            f"INSERT INTO points WITH digits(v) AS (VALUES {', '.join(f'({v})' for v in range(10))}), "
            f"numbers(i) AS (SELECT CAST(0 AS {whole}) + {number} FROM {', '.join(f'digits d{p}' for p in digits)}) "
            f"SELECT {', '.join(_values())} FROM numbers WHERE i < {n_rows}"
        )
        connection.commit()
    sample = read_table(DatabaseRows(url, "points", sample=min(n_rows, FITTED_ROWS)))
    rules = _fitted(pd.DataFrame({column.name: column.values for column in sample.columns}), k)
    file = Path(folder, "rules.json")
    rules.to_json(file)
    return Place(engine, url, rules, str(file))


def _fitted(sample: pd.DataFrame, k: int) -> RuleSet:
    """Return rules of a sample."""
    return ExplainableKMeans(clusterer=KMeans(k, n_init=1, random_state=0)).fit(sample).rules_


@dataclass(frozen=True)
class Engined:
    """The table ``points`` in an engine without a URL, and rules for it."""

    engine: str
    running: Engine
    rules: RuleSet

    def run(self, statement: str) -> None:
        """Run a statement."""
        self.running.query(statement)

    @property
    def types(self) -> dict[str, str]:
        """The declared types of the columns."""
        return {f"c{j}": WITHOUT_URL[self.engine][0] for j in range(COLUMNS)}


@contextmanager
def opened_without_url(engine: str, n_rows: int, k: int) -> Iterator[Engined]:
    """Fill an engine that has no URL."""
    kind, fill = WITHOUT_URL[engine]
    i = np.random.default_rng(0).integers(0, n_rows, min(n_rows, FITTED_ROWS))
    sample = pd.DataFrame({f"c{j}": i * prime % PRIME / PRIME for j, prime in enumerate(PRIMES)})
    with ALL_ENGINES[engine].open() as running:
        running.create("points", [(f"c{j}", kind) for j in range(COLUMNS)], [])
        running.query(fill.format(values=", ".join(_values()), n=n_rows))
        yield Engined(engine, running, _fitted(sample, k))


Step = tuple[str, Callable[[], object]]
"""What is run, and its name; of steps with "" for a name the time is not taken."""


def measure(rounds: int, steps: Sequence[Step]) -> dict[str, list[float]]:
    """Return the seconds of each step, one for each round; a round before these fills caches."""
    times: dict[str, list[float]] = {name: [] for name, _ in steps}
    for turn in range(rounds + 1):
        for name, run in steps:
            _, seconds = timed(run)
            if turn:
                times[name].append(seconds)
    return times


def line(place: Place | Engined, name: str, over: Sequence[float], under: Sequence[float]) -> list[str]:
    """Return a line of the result: the ratio of the least times, the quartiles of the rounds' ratios, the target."""
    least = min(over) / min(under)
    quartiles = " ".join(f"{value:.2f}" for value in np.percentile(np.divide(over, under), [25, 50, 75]))
    target = TARGETS.get((place.engine, name)) or TARGETS.get(("", name))
    return [place.engine, name, f"{least:.2f}", quartiles, f"{target} {target.verdict(least)}" if target else ""]


def compare_table(place: Place, rounds: int) -> Iterator[list[str]]:
    """Compare ``--apply table`` with the engine's own work for the same rows."""
    dialect = dialect_of_database(find_url(place.url).get_backend_name())
    case = export(place.rules, "sql", style="case", dialect=dialect, types=place.types)
    statements = place.statements("points", "table")
    undo: Step = ("", lambda: place.label("points", "table", "--undo"))
    steps: list[Step] = [
        ("command", lambda: place.label("points", "table")),
        undo,
        ("statements", lambda: place.run_all(statements)),
        undo,
        ("plain", lambda: place.run("CREATE TABLE plain AS SELECT * FROM points")),
        ("", lambda: place.run("DROP TABLE plain")),
        ("case", lambda: place.run(f"SELECT count(\n{case}\n) FROM points")),
    ]
    times = measure(rounds, steps)
    alone = np.add(times["plain"], times["case"]).tolist()
    yield line(place, "table: command by engine alone", times["command"], alone)
    yield line(place, "table: its statements by engine alone", times["statements"], alone)


def compare_case(place: Place | Engined, rounds: int) -> Iterator[list[str]]:
    """Compare the CASE for the types of the columns, in both orders, with one that a person writes."""
    cases = {s: export(place.rules, "sql", style=s, dialect=place.engine, types=place.types) for s in ORDERS}
    cases["by hand"] = _by_hand(place.rules)
    for setting, name in SETTINGS if place.engine == "postgres" else SETTINGS[:1]:
        steps: list[Step] = [
            (style, partial(place.run, f"{setting}SELECT count(\n{case}\n) FROM points"))
            for style, case in cases.items()
        ]
        times = measure(rounds, steps)
        for style in ORDERS:
            yield line(place, f"{style}: for types by a person's{name}", times[style], times["by hand"])


def _by_hand(rules: RuleSet) -> str:
    """Return a CASE over columns of floats as a person writes it."""
    return f"CASE {' '.join(f'WHEN {by_hand(rule, str)} THEN {rule.cluster}' for rule in rules)} END"


def compare_update(place: Place, rounds: int) -> Iterator[list[str]]:
    """Compare a second ``--apply update`` with the first."""

    case = fastest_case(place.rules, dialect=dialect_of_database(find_url(place.url).get_backend_name()))
    first: list[str] = []
    second: list[str] = []
    fresh: Step = ("", lambda: place.run("CREATE TABLE fresh AS SELECT * FROM points"))
    gone: list[Step] = [
        ("", lambda: place.label("fresh", "update", "--undo", "--yes")),
        ("", lambda: place.run("DROP TABLE fresh")),
    ]
    steps: list[Step] = [
        fresh,
        ("first command", lambda: place.label("fresh", "update", "--yes")),
        ("second command", lambda: place.label("fresh", "update", "--yes")),
        ("rules", lambda: place.run(f"SELECT count(\n{case}\n) FROM fresh")),
        *gone,
        fresh,
        ("", lambda: first.extend(place.statements("fresh", "update"))),
        ("first statements", lambda: place.run_all(first)),
        ("", lambda: second.extend(place.statements("fresh", "update"))),
        ("second statements", lambda: place.run_all(second)),
        *gone,
        ("", lambda: (first.clear(), second.clear())),
    ]
    times = measure(rounds, steps)
    yield line(place, "update: rules alone by first command", times["rules"], times["first command"])
    for name, title in (("command", "second command by first"), ("statements", "its statements, second by first")):
        yield line(place, f"update: {title}", times[f"second {name}"], times[f"first {name}"])


def compare_read(place: Place, rounds: int) -> Iterator[list[str]]:
    """Compare reading a table with a cursor that fetches its rows."""

    def read(by_adbc: bool) -> None:
        usable = is_usable if by_adbc else lambda connection: False
        with patch("shallowrules.sources.database.is_usable", usable):
            read_table(DatabaseRows(place.url, "points"))

    driver = "psycopg" if place.engine == "postgres" else "driver"
    steps: list[Step] = [("cursor", lambda: fetch_all(place.url)), (driver, lambda: read(False))]
    with connect(find_url(place.url)) as connection:
        has_adbc = is_usable(connection)
    if has_adbc:
        steps.append(("ADBC", lambda: read(True)))
    elif place.engine == "postgres":
        log("ADBC is left out, it is not installed: pip install 'shallowrules[adbc]'")
    times = measure(rounds, steps)
    yield line(place, f"read: {driver} by plain cursor", times[driver], times["cursor"])
    if has_adbc:
        yield line(place, "read: ADBC by plain cursor", times["ADBC"], times["cursor"])
        yield line(place, "read: ADBC by psycopg", times["ADBC"], times[driver])


def fetch_all(url: str) -> None:
    """Fetch all rows as they come, by a cursor of the server where it has any."""
    with connect(find_url(url)) as connection:
        rows = connection.exec_driver_sql("SELECT * FROM points", execution_options={"stream_results": True})
        while rows.fetchmany(BATCH_ROWS):
            pass


PARTS = {"table": compare_table, "update": compare_update, "case": compare_case, "read": compare_read}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the ratios. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small table: only shows that it runs")
    parser.add_argument("--rows", type=int, metavar="N", help=f"rows of the table [default: {ROWS:,}]")
    parser.add_argument("--clusters", type=int, metavar="K", help=f"clusters of the rules [default: {CLUSTERS}]")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="times each is run [default: 5]")
    parser.add_argument("--engines", default=",".join((*ENGINES, *WITHOUT_URL)), help="comma-separated [default: all]")
    parser.add_argument("--only", default=",".join(PARTS), help=f"comma-separated parts [default: {','.join(PARTS)}]")
    options = parser.parse_args(arguments)
    engines, parts = options.engines.split(","), options.only.split(",")
    known = (*ENGINES, *WITHOUT_URL)
    if unknown := [name for name in engines + parts if name not in (*known, *PARTS)]:
        parser.error(f"unknown: {', '.join(unknown)}; engines are {', '.join(known)}, parts {', '.join(PARTS)}")
    n_rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    k = options.clusters or (QUICK_CLUSTERS if options.quick else CLUSTERS)
    lines = []
    for engine in engines:
        if engine in WITHOUT_URL:
            if "case" in parts:
                log(f"{engine}: case, {options.rounds + 1} rounds")
                with opened_without_url(engine, n_rows, k) as place:
                    lines += compare_case(place, options.rounds)
            continue
        log(f"making {n_rows:,} rows in {engine}")
        with opened(engine, n_rows, k) as place:
            for part in parts:
                log(f"{engine}: {part}, {options.rounds + 1} rounds")
                lines += PARTS[part](place, options.rounds)
    if options.quick:
        lines = [[*cells[:-1], ""] for cells in lines]
    headings = ["engine", "what", "least", "quartiles", "asked for"]
    print(Sheet(f"{n_rows:,} x {COLUMNS} floats, k = {k}", headings, lines).text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Dates, points in time and durations of files and databases, from end to end."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from commandline import call, refused
from databases import of, on
from rulesets import as_columns, make_rules

from shallowrules import RuleSet, export
from shallowrules.sources import read_table
from shallowrules.tables.times import (
    DAY,
    TIME_TYPES,
    format_time,
    parse_time,
    time_range,
)


def write_csv(path, rows, header="day,seen,zone,x"):
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")


def rows_of(n_rows=80, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(n_rows):
        group = i % 2
        day = date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 40)) + 100 * group)
        seen = datetime(2024, 5, 1) + timedelta(seconds=int(rng.integers(0, 10**6)) + 3 * 10**6 * group)
        yield day.isoformat(), seen.isoformat(" "), f"{seen.isoformat()}Z", f"{rng.normal() + group:.3f}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
def test_a_file_of_dates_from_end_to_end(folder):
    rows = list(rows_of())
    rows[7] = ("", *rows[7][1:])
    write_csv(folder / "t.csv", rows)
    call("run", "t.csv", "-k", "2", "--impute", "median", "-o", "out")
    rules = RuleSet.from_json("out/rules.json")
    assert [column.type for column in rules.columns] == ["date", "timestamp", "timestamptz", "float"]
    call("label", "out/rules.json", "t.csv", "-o", "labelled.csv")
    labelled = (folder / "labelled.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in labelled[1:]] == [",".join(row) for row in rows]
    call("label", "out/rules.json", "t.csv", "-o", "labelled.parquet")
    call("label", "out/rules.json", "labelled.parquet", "-o", "again.csv", "--cluster-column", "again")
    again = [line.split(",")[-2:] for line in (folder / "again.csv").read_text().splitlines()[1:]]
    assert all(one == other for one, other in again)
    call("run", "t.csv", "-k", "2", "--impute", "median", "-o", "parts", "--memory", "64MB")
    in_parts = RuleSet.from_json("parts/rules.json")
    assert {frozenset(rule.conditions) for rule in in_parts} == {frozenset(rule.conditions) for rule in rules}


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2024-01-01", " 2024-02-03 ", ""], "date"),
        (["2024-01-01", "2024-02-03 12:30"], "timestamp"),
        (["2024-01-01T00:00:00", "2024-02-03 12:30:05.25"], "timestamp"),
        (["2024-01-01 00:00Z", "2024-02-03 12:30+0200"], "timestamptz"),
        (["2024-01-01 00:00", "2024-02-03 12:30+02:00"], "other"),
        (["2024-02-30", "2024-01-01"], "other"),
        (["01.01.2024", "31.12.2024"], "date"),
        (["31.12.2024", "01/01/2024"], "other"),
        (["2024-01-01", "soon"], "text"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesNote")
def test_what_makes_a_column_one_of_times(folder, texts, kind, form):
    import json

    from shallowrules.sources import open_source

    if form == "csv":
        (folder / "t.csv").write_text("t,x\n" + "".join(f"{text},1\n" for text in texts))
    else:
        (folder / "t.json").write_text(json.dumps([{"t": text or None, "x": 1} for text in texts]))
    with open_source(f"t.{form}") as source:
        column = source.table()["t"]
    assert column.type == kind
    if kind in TIME_TYPES:
        shown = [
            None if absent else format_time(kind, v)
            for v, absent in zip(column.values.tolist(), column.absent, strict=True)
        ]
        assert shown[0] in ("2024-01-01", "2024-01-01 00:00Z")


def test_words_for_no_value_beside_dates(folder):
    rows = list(rows_of())
    rows[3] = ("NA", *rows[3][1:])
    write_csv(folder / "t.csv", rows)
    call("run", "t.csv", "-k", "2", "--null", "NA", "--impute", "median", "--columns", "day", "-o", "out")
    rules = RuleSet.from_json("out/rules.json")
    assert (rules.columns[0].type, rules.columns[0].nulls) == ("date", ("NA",))
    call("label", "out/rules.json", "t.csv", "-o", "labelled.csv")
    namespace = {}
    exec((folder / "out/rules.py").read_text(), namespace)
    labels = [line.rpartition(",")[2] for line in (folder / "labelled.csv").read_text().splitlines()[1:]]
    assert labels == [str(namespace["assign_cluster"]({"day": row[0]})) for row in rows]
    rows[5] = ("5th of May", *rows[5][1:])
    write_csv(folder / "t.csv", rows)
    assert re.search("column 'day' .*text, .* date", refused("label", "out/rules.json", "t.csv", "-o", "refused.csv"))


def test_a_row_of_times_is_explained(folder):
    write_csv(folder / "t.csv", rows_of())
    call("run", "t.csv", "-k", "2", "--columns", "day", "-o", "out")
    said = call("explain", "out/rules.json", "--row", "day=2024-01-05").stdout
    assert "day is 2024-01-05: day <= 2024-0" in said
    refusal = refused("explain", "out/rules.json", "--row", "day=May", status=2)
    assert all(part in refusal for part in ("--row: 'May'", "not a date", "column 'day'", " 2024-01-"))


# Databases ---------------------------------------------------------------------------------------------------


TIMED_TYPES = {
    "sqlite": ("DATE", "DATETIME"),
    "duckdb": ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"),
    "postgres": ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"),
    "mysql": ("DATE", "DATETIME(6)", "TIMESTAMP(6) NULL", "TIME(6)"),
}
"""By the dialect of a database: its columns of dates, points in time, those with a zone, and durations."""


def cells(dialect, day, seen, span):
    """Return the values of a row as a database takes them."""
    if dialect == "sqlite":
        return [day and day.isoformat(), seen.isoformat(" ")]
    return [day, seen, seen.replace(tzinfo=UTC), span][: len(TIMED_TYPES[dialect])]


def test_a_table_of_a_database_from_end_to_end(database, fill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = TIMED_TYPES[database.dialect]
    columns = [*zip(("day", "seen", "zone", "span"), kinds, strict=False), ("x", database.types["float"])]
    rng = np.random.default_rng(1)
    rows = []
    for i in range(60):
        day = date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 40)) + 100 * (i % 2))
        seen = datetime(2024, 5, 1) + timedelta(seconds=int(rng.integers(0, 10**6)) + 10**7 * (i % 3), microseconds=i)
        rows.append((*cells(database.dialect, None if i == 4 else day, seen, timedelta(minutes=i * 7)), float(i % 2)))
    fill("timed", columns, rows)
    there = ["--database", database.url, "--table", "timed"]
    made = call("run", *there, "-k", "3", "--impute", "median", "-o", "out", "--tradeoff", "0")
    assert made.exit_code == 0, made.stderr
    rules = RuleSet.from_json("out/rules.json")
    assert [column.type for column in rules.columns] == [*TIME_TYPES[: len(kinds)], "float"]
    assert {rules.columns[feature].is_time for feature in rules.tested_columns} >= {True}
    verified = call("verify", "out/rules.json", *there)
    assert verified.exit_code == 0, verified.stdout
    call("label", "out/rules.json", *there, "-o", "labelled.parquet")
    table = read_table("labelled.parquet")
    assert [table[name].type for name, _ in columns] == [column.type for column in rules.columns]
    assert rules.assign(table).tolist() == table["cluster"].values.tolist()
    assert rules.assign(table).tolist() == rules.assign(as_columns(rules, [numbers_of(row) for row in rows])).tolist()


def numbers_of(row):
    """Return a row of a database with Python values in place of the texts that SQLite stores."""
    return [value_of(value) if isinstance(value, str) else value for value in row]


def value_of(text):
    """Return the date or the point in time that a text means."""
    return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)


@on("duckdb", "postgres")
def test_times_beyond_the_years_are_at_their_ends(database, fill):
    columns = [("d", "DATE"), ("t", "TIMESTAMP"), ("z", "TIMESTAMPTZ")]
    before = "0044-03-15 (BC)" if database.dialect == "duckdb" else "0044-03-15 BC"
    given = ["infinity", "-infinity", "12000-01-01", before]
    fill("far", [("i", database.types["integer"]), *columns], [(i, *[text] * 3) for i, text in enumerate(given)])
    table = read_table(of(database, "far"))
    for name, kind in (("d", "date"), ("t", "timestamp"), ("z", "timestamptz")):
        first, last = time_range(kind)[0], time_range(kind)[-1]
        order = np.argsort(table["i"].values)
        assert table[name].values[order].tolist() == [last, first, last, first]


@pytest.mark.parametrize("adbc", [True, False])
@pytest.mark.parametrize(
    "session", ["", "-c intervalstyle=sql_standard -c datestyle=german -c timezone=Pacific/Kiritimati"]
)
@on("postgres")
def test_settings_of_a_session_change_no_time(database, fill, adbc, session, monkeypatch):
    if not adbc:
        monkeypatch.setattr("shallowrules.sources.database.is_usable", lambda connection: False)
    given = ["1 year", "365 days", "360 days", "-1 month", "2 years -3 days 04:05:06.789", "170000000 years", None]
    zones = ["infinity", "-infinity", "9999-12-31 23:30+00", "0001-01-01 00:30+00", "2024-03-31 12:00+02"]
    zones += ["1969-12-31", None]
    columns = [("i", "INTEGER"), ("t", "INTERVAL"), ("z", "TIMESTAMPTZ"), ("d", "DATE")]
    fill("spans", columns, [(i, *row, "2024-03-31") for i, row in enumerate(zip(given, zones, strict=True))])
    rows = of(database, "spans")
    options = f"{'&' if '?' in rows.database else '?'}options={quote(session)}" if session else ""
    table = read_table(replace(rows, database=rows.database + options))
    order = np.argsort(table["i"].values)
    spans = [day * DAY for day in (360, 365, 360, -30, 717)]
    spans[4] += 4 * 3600 * 10**6 + 5 * 60 * 10**6 + 6_789_000
    assert table["t"].values[order].tolist()[:-1] == [*spans, time_range("duration")[-1]]
    for name in "tz":
        assert table[name].absent[order].tolist() == [False] * 6 + [True]
    first, last = time_range("timestamptz")[0], time_range("timestamptz")[-1]
    moments = [last, first, last + 1 - 1_800_000_000, first + 1_800_000_000]
    assert table["z"].values[order].tolist()[:4] == moments
    assert table["z"].values[order].tolist()[4] == parse_time("timestamptz", "2024-03-31 10:00Z")
    assert set(table["d"].values.tolist()) == {parse_time("date", "2024-03-31")}


def test_arrow_columns_with_a_zone_are_no_points_in_time_without_one():
    pa = pytest.importorskip("pyarrow")
    rules = make_rules([("t", "timestamp")], (0, parse_time("timestamp", "2024-04-01") - 1, 0, 1))
    namespace = {}
    exec(export(rules, "python", vectorized=True), namespace)
    naive = pa.array([datetime(2024, 3, 31, 23), datetime(2024, 4, 1)], pa.timestamp("us"))
    assert namespace["assign_clusters"](pa.table({"t": naive})).tolist() == [0, 1]
    with pytest.raises(TypeError, match="is not a point"):
        namespace["assign_clusters"](pa.table({"t": naive.cast(pa.timestamp("us", "America/New_York"))}))


@pytest.mark.renders
def test_durations_from_end_to_end(folder):
    duckdb = pytest.importorskip("duckdb")
    hours = [*range(10), *range(100, 120), *range(500, 520)]
    rows = ", ".join(f"(INTERVAL '{hour} hours', {i % 3})" for i, hour in enumerate(hours))
    with duckdb.connect() as database:
        database.execute(f"COPY (SELECT * FROM (VALUES {rows}) AS t (stay, x)) TO '{folder / 'd.parquet'}'")
    made = call("run", "d.parquet", "-k", "3", "--scale", "standard", "-o", "out")
    assert made.exit_code == 0, made.stderr
    assert re.search("rules.sql .* dialect 'ansi' .* duration", " ".join(made.stderr.split()))
    assert not Path("out/rules.sql").exists()
    assert Path("out/report.md").exists()
    again = call("run", "--settings", "out/settings.json", "-o", "again")  # a run that left a form out can be repeated
    assert again.exit_code == 0, again.stderr
    assert Path("again/rules.json").read_bytes() == Path("out/rules.json").read_bytes()
    assert "sql" in refused("run", "d.parquet", "-k", "3", "--write", "sql", "-o", "named")
    verified = call("verify", "out/rules.json", "d.parquet")
    assert verified.exit_code == 0, verified.stdout
    assert re.search("sqlite: dialect 'sqlite' .* duration", " ".join(verified.stdout.split()))


def test_label_reads_durations_of_a_file_of_text(folder):
    rules = make_rules([("t", "duration")], (0, 2 * DAY, 0, 1))
    rules.to_json("rules.json")
    texts = ["2 days", "2 days 00:00:01", "-3 days 12:00", "99:59", " 49:00:00.5 ", ""]
    Path("t.csv").write_text("t\n" + "".join(f'"{text}"\n' for text in texts))
    call("label", "rules.json", "t.csv", "-o", "out.csv")
    assert [line.rpartition(",")[2] for line in Path("out.csv").read_text().splitlines()[1:]] == [
        *("0", "1", "0", "1", "1", ""),
    ]
    Path("t.csv").write_text("t\n9999999 days\n")  # beyond what rules compare
    refusal = refused("label", "rules.json", "t.csv", "-o", "out.csv", "--force")
    assert re.search("column 't' .*text, .* duration", refusal)

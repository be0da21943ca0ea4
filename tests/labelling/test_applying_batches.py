"""An update in batches: by keys of any type, complete in the end, and continued after a failure."""

from __future__ import annotations

import os
import signal

import pytest
from applications import OTHER, applied, refused
from databases import execute, on, schema_of
from draws import few
from rulesets import small_rules

from shallowrules.labelling.databases import Application, plan_labels, run_plan
from shallowrules.sources import DatabaseRows

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

KEYED = "keyed"
N_ROWS = 53


def value_of(row):
    """Return x and i of a row, which has no cluster if one of them is missing."""
    return (None if row % 11 == 7 else (row % 7) / 4), (None if row % 13 == 5 else row % 6)


def labels_of(rules, n_rows=N_ROWS):
    x, i = zip(*map(value_of, range(n_rows)), strict=True)
    return [None if label == -1 else int(label) for label in rules.assign({"x": list(x), "i": list(i)}).tolist()]


TEXT = {
    "mysql": "VARCHAR(60) CHARACTER SET latin1",
    "postgres": "TEXT",
    "sqlite": "TEXT COLLATE NOCASE",
    "duckdb": "TEXT",
}
KEYS = {
    "a number": [("id", "BIGINT")],
    "two columns": [("Shop %s", "INTEGER"), ("it's", "SMALLINT")],
    "a text": [("name", "text")],
    "three columns": [("name", "text"), ("day", "DATE"), ("id", "INTEGER")],
}


def key_of(kinds, row):
    """Return the key of a row: rows with one value of a column are adjacent for some columns, and not for others."""
    parts = {
        "BIGINT": (row * 37) % 101 - 50,
        "INTEGER": row % 4,
        "SMALLINT": row,
        "text": f"{'aBé'[row % 3]}'%s:p\\{row}",
    }
    days = {"DATE": f"2026-01-{row % 5 + 1:02}"}
    values = [(parts | days)[kind] for kind in kinds]
    return [row if kind == "INTEGER" and len(kinds) == 3 else value for kind, value in zip(kinds, values, strict=True)]


@pytest.fixture
def keyed(shop):
    """Return a function that makes a table with a primary key."""

    def keyed(columns, n_rows=N_ROWS):
        kinds = [TEXT[shop.dialect] if kind == "text" else kind for _, kind in columns]
        names = [name for name, _ in columns]
        declared = [*zip(names, kinds, strict=True), ("x", shop.types["float"]), ("i", "INTEGER"), ("row", "INTEGER")]
        rows = [[*key_of([kind for _, kind in columns], row), *value_of(row), row] for row in range(n_rows)]
        keys = ", ".join(map(shop.quote, names))
        told = ", ".join(f"{shop.quote(name)} {kind}" for name, kind in declared)
        execute(shop, f"CREATE TABLE {KEYED} ({told}, PRIMARY KEY ({keys}))")
        shop.create("loaded", declared, rows)
        execute(shop, f"INSERT INTO {KEYED} SELECT * FROM loaded")
        shop.drop("loaded")
        return shop

    return keyed


def found(database):
    rows = database.query(f"SELECT {database.quote('row')}, cluster FROM {KEYED}")
    labels = {int(row): None if label is None else int(label) for row, label in rows}
    return [labels[row] for row in range(len(labels))]


@pytest.mark.parametrize("columns", few(KEYS.values()), ids=KEYS)
def test_every_row_gets_its_cluster(keyed, columns):
    database = keyed(columns)
    before = schema_of(database)
    applied(database, "update", "--batch", "10", table=KEYED)
    assert found(database) == labels_of(small_rules())
    assert "unfinished" not in repr(schema_of(database))
    OTHER.to_json("other.json")
    assert "of other rules" in refused(database, "update", "--batch", "7", table=KEYED, rules="other.json")
    applied(database, "update", "--batch", "7", "--replace", table=KEYED, rules="other.json")
    assert found(database) == labels_of(OTHER)
    applied(database, "update", "--undo", table=KEYED)
    assert schema_of(database) == before


@pytest.mark.slow
@on("sqlite", "duckdb")
@pytest.mark.parametrize("size", few([1, N_ROWS - 1, N_ROWS, N_ROWS + 1]))
def test_batches_of_any_size(keyed, size):
    database = keyed(KEYS["a number"])
    rows = DatabaseRows(database.url, KEYED)
    seen = []
    plan = plan_labels(small_rules(), rows, Application(style="update", batch=size))
    wanted = sum(label is not None for label in labels_of(small_rules()))
    assert run_plan(plan, seen.append) == wanted
    assert seen == [size * k for k in (*range(1, N_ROWS // size + 1), N_ROWS // size)]
    assert run_plan(plan_labels(small_rules(), rows, Application(style="update", batch=size))) == 0
    assert found(database) == labels_of(small_rules())


def test_what_is_interrupted_is_continued_by_the_same_command(keyed, words):
    database = keyed(KEYS["two columns"])
    rows = DatabaseRows(database.url, KEYED)
    plan = plan_labels(small_rules(), rows, Application(style="update", batch=10))

    def interrupt(looked_at):
        if looked_at == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, interrupt)
    wanted = labels_of(small_rules())
    # What is written stays, and nothing else is.
    half = found(database)
    assert half != wanted
    assert sum(a == b for a, b in zip(half, wanted, strict=True) if b is not None) == sum(
        label is not None for label in half
    )
    assert any(label is not None for label in half)
    OTHER.to_json("other.json")
    said = refused(database, "update", "--batch", "10", table=KEYED, rules="other.json")
    assert all(part in said for part in ("of other rules", "unfinished"))
    if database.dialect == "sqlite":
        words(said)
    applied(database, "update", "--batch", "10", table=KEYED)
    assert found(database) == wanted
    assert "unfinished" not in repr(schema_of(database))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_is_killed_is_continued_by_the_same_command(keyed):
    database = keyed(KEYS["a text"])
    plan = plan_labels(small_rules(), DatabaseRows(database.url, KEYED), Application(style="update", batch=10))
    child = os.fork()
    if not child:
        try:
            run_plan(plan, lambda looked_at: os.kill(os.getpid(), signal.SIGKILL) if looked_at == 20 else None)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    wanted = labels_of(small_rules())
    written = [(a, b) for a, b in zip(found(database), wanted, strict=True) if a is not None]
    assert 0 < len(written) < sum(label is not None for label in wanted)
    assert all(a == b for a, b in written)
    applied(database, "update", "--batch", "10", table=KEYED)
    assert found(database) == wanted


def test_rows_that_come_meanwhile_and_are_below_have_a_cluster_too(keyed):
    if (database := keyed(KEYS["a number"])).dialect == "duckdb":
        return  # another process has no access meanwhile
    plan = plan_labels(small_rules(), DatabaseRows(database.url, KEYED), Application(style="update", batch=10))
    insert = f"INSERT INTO {KEYED} (id, x, i, {database.quote('row')}) VALUES (-1000, 0.25, 1, {N_ROWS})"

    def come(looked_at):
        if looked_at == 30:
            execute(database, insert)

    run_plan(plan, come)
    assert found(database) == [*labels_of(small_rules()), 0]


@on("sqlite")
def test_a_key_of_sqlite_may_be_missing(shop):
    shop.run('CREATE TABLE keyed (id TEXT PRIMARY KEY, x REAL, i INTEGER, "row" INTEGER)')
    shop.run("INSERT INTO keyed VALUES (?, 0.25, 1, ?)", *[(None, k) for k in range(4)], ("b", 4), (None, 5))
    applied(shop, "update", "--batch", "2", table=KEYED)
    assert found(shop) == [0] * 6


def test_a_table_without_a_primary_key_is_refused(shop, words):
    said = refused(shop, "update", "--batch", "2")
    assert all(part in said for part in ("small", "no primary key", "--batch"))
    if shop.dialect == "sqlite":
        words(said)

"""A table of keys and clusters, into which each run merges the changes; updates of long tables in batches."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from applications import OTHER, applied, apply, refused
from databases import execute, on, schema_of
from rulesets import small_rules

from shallowrules.labelling.databases import Application, databases, planner
from shallowrules.labelling.databases.labels import RULES, STAMP

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

ROWS = [(row, ("a", "B", "it's %s")[row % 3] + str(row // 3), (row % 7) / 4, row % 6) for row in range(20)]


@pytest.fixture
def keyed(shop):
    """Make a table with a number and a text for a key."""
    text = {"mysql": "VARCHAR(60)", "postgres": "TEXT", "sqlite": "TEXT", "duckdb": "TEXT"}[shop.dialect]
    shop.create("keyed", [("id", "INTEGER"), ("name", text), ("x", shop.types["float"]), ("i", "INTEGER")], ROWS)
    return shop


def message(done):
    assert done.exit_code in (2, 3), done.output
    return " ".join(done.stderr.split())


def found(database, columns=("cluster", "cluster_name", RULES), table="keyed_labels"):
    rows = database.query(f"SELECT id, {', '.join(columns)} FROM {table}")
    return {int(key): (None if number is None else int(number), *rest) for key, number, *rest in rows}


def wanted(rules, rows=ROWS):
    keys, _, x, i = zip(*rows, strict=True)
    labels = rules.assign({"x": list(x), "i": list(i)}).tolist()
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    return {
        key: (label, names[label], rules.sha256) if label != -1 else (None, None, rules.sha256)
        for key, label in zip(keys, labels, strict=True)
    }


def stamps(database):
    return {int(key): stamp for key, stamp in database.query(f"SELECT id, {STAMP} FROM keyed_labels")}


def make_old(database):
    """Make the labels look as if they were from another day."""
    execute(database, f"UPDATE keyed_labels SET {STAMP} = '2020-01-01 00:00:00'")


@pytest.mark.parametrize("keys", [("id",), ("name", "id")])
def test_labels_are_made_merged_and_taken_away(keyed, keys):
    before = schema_of(keyed)
    arguments = [part for key in keys for part in ("--key", key)]
    applied(keyed, "labels", *arguments, table="keyed")
    assert found(keyed) == wanted(small_rules())
    make_old(keyed)
    old = stamps(keyed)
    applied(keyed, "labels", *arguments, table="keyed")
    assert stamps(keyed) == old  # nothing has changed, and nothing is written
    execute(keyed, "DELETE FROM keyed WHERE id = 3")
    execute(keyed, "UPDATE keyed SET x = 0.25 WHERE id = 9")
    execute(keyed, "INSERT INTO keyed VALUES (77, 'new', 0.25, 1)")
    rows = [(*row[:2], 0.25, row[3]) if row[0] == 9 else row for row in ROWS if row[0] != 3] + [(77, "new", 0.25, 1)]
    applied(keyed, "labels", *arguments, table="keyed")
    assert found(keyed) == wanted(small_rules(), rows)
    changed = {key for key, stamp in stamps(keyed).items() if stamp not in old.values()}
    assert changed == {77} | ({9} if wanted(small_rules())[9] != wanted(small_rules(), rows)[9] else set())
    OTHER.to_json("other.json")
    applied(keyed, "labels", *arguments, table="keyed", rules="other.json")
    assert found(keyed) == wanted(OTHER, rows)
    applied(keyed, "labels", "--undo", table="keyed")
    assert schema_of(keyed) == before


@on("postgres", "mysql", "duckdb")  # an INTEGER of SQLite holds every number
def test_labels_of_smaller_numbers_make_room_for_larger_ones(keyed):
    applied(keyed, "labels", "--key", "id", table="keyed")
    assert "numbers of type" in refused(keyed, "labels", "--key", "id", "--else", "100000000000", table="keyed")
    applied(keyed, "labels", "--key", "id", "--else", "100000000000", "--replace", table="keyed")
    none = [key for key, (label, *_) in wanted(small_rules()).items() if label is None]
    assert all(found(keyed)[key][0] == 100_000_000_000 for key in none)


def test_a_key_tells_every_row_apart(keyed):
    execute(keyed, "INSERT INTO keyed VALUES (5, 'again', 0.5, 1), (NULL, 'none', 0.5, 1)")
    assert "1 row without a value in 'id'" in refused(keyed, "labels", "--key", "id", table="keyed")
    execute(keyed, "DELETE FROM keyed WHERE id IS NULL")
    assert "1 key more than once in 'id'" in refused(keyed, "labels", "--key", "id", table="keyed")
    said = refused(keyed, "labels", "--key", "naem", table="keyed")
    assert "has no column 'naem' (the nearest is 'name')" in said
    assert "name them with --key" in message(apply(keyed, "labels", table="keyed"))
    assert "--key names columns" in message(apply(keyed, "view", "--key", "id", table="keyed"))


def test_what_has_the_name_already_is_left_alone(keyed):
    execute(keyed, "CREATE TABLE keyed_labels (id INTEGER)")
    assert "was not made by shallowrules" in refused(keyed, "labels", "--key", "id", table="keyed")
    applied(keyed, "labels", "--key", "id", "--into", "others", table="keyed")
    said = refused(keyed, "labels", "--key", "name", "--into", "others", table="keyed")
    assert "--replace recreates it" in said
    applied(keyed, "labels", "--key", "name", "--into", "others", "--replace", table="keyed")


def test_what_is_of_another_table_stays(keyed):
    applied(keyed, "labels", "--key", "id", "--into", "lab", table="keyed")
    execute(keyed, "CREATE TABLE other (id INTEGER, x DOUBLE PRECISION, i INTEGER)")
    execute(keyed, "INSERT INTO other VALUES (1, 0.25, 1)")
    for more in ([], ["--replace"], ["--undo"]):
        said = refused(keyed, "labels", "--key", "id", "--into", "lab", *more, table="other")
        assert re.search(r"made by shallowrules for table \S*keyed, so it is not touched", said)
    assert found(keyed, table="lab") == wanted(small_rules())


@on("sqlite")
def test_keys_are_compared_by_their_characters(shop):
    execute(shop, "CREATE TABLE keyed (id TEXT COLLATE NOCASE, x REAL, i INTEGER)")
    execute(shop, "INSERT INTO keyed VALUES ('a', 0.25, 1)")
    applied(shop, "labels", "--key", "id", table="keyed")
    execute(shop, "UPDATE keyed SET id = 'A', x = 1, i = 5")
    applied(shop, "labels", "--key", "id", table="keyed")
    assert shop.query("SELECT id, cluster FROM keyed_labels") == [("A", 2)]


@on("mysql")
def test_a_key_that_has_grown_is_not_cut(keyed):
    applied(keyed, "labels", "--key", "id", table="keyed")
    execute(keyed, "ALTER TABLE keyed MODIFY id BIGINT")
    execute(keyed, "INSERT INTO keyed VALUES (9000000000, 'big', 0.25, 1)")
    said = message(apply(keyed, "labels", "--key", "id", table="keyed"))
    assert "Out of range" in said
    execute(keyed, "DELETE FROM keyed WHERE id = 9000000000")
    execute(keyed, "ALTER TABLE keyed_labels DROP PRIMARY KEY")
    assert "has lost its primary key: --replace recreates it" in refused(keyed, "labels", "--key", "id", table="keyed")
    applied(keyed, "labels", "--key", "id", "--replace", table="keyed")
    assert found(keyed) == wanted(small_rules())


def test_names_that_would_be_two_things(keyed):
    quoted = keyed.quote("LABELLED_AT" if keyed.dialect == "sqlite" else "labelled_at")
    execute(keyed, f"ALTER TABLE keyed ADD COLUMN {quoted} INTEGER DEFAULT 1")
    execute(keyed, "DELETE FROM keyed WHERE id > 0")
    assert "'labelled_at' twice" in refused(keyed, "labels", "--key", "labelled_at", table="keyed")
    for name in ("excluded", "shallowrules_source"):
        said = refused(keyed, "labels", "--key", "id", "--into", name, table="keyed")
        assert f"cannot have the name '{name}': choose another with --into" in said
    for _ in range(2):
        applied(keyed, "labels", "--key", "id", "--into", '"a{b} %s"', table="keyed")
    assert keyed.query(f"SELECT count(*) FROM {keyed.quote('a{b} %s')}") in ([(1,)], [("1",)])


def test_both_beside_a_column_of_that_name(keyed):
    execute(keyed, "ALTER TABLE keyed ADD COLUMN Cluster_Name INTEGER")
    said = refused(keyed, "view", "--cluster-as", "both", table="keyed")
    assert re.search("already has a column '(?i:cluster_name)': name the new one with --cluster-column", said)
    applied(keyed, "view", "--cluster-as", "both", "--cluster-column", "segment", table="keyed")
    assert found(keyed, ["segment", "segment_name"], "keyed_clusters") == {
        key: label[:2] for key, label in wanted(small_rules()).items()
    }


@on("postgres", "mysql", "duckdb")
def test_a_column_of_too_small_numbers_is_made_anew_where_that_is_said(keyed):
    applied(keyed, "update", table="keyed")
    more = ("--else", "100000000000")
    assert "and these labels need BIGINT: --replace recreates it" in refused(keyed, "update", *more, table="keyed")
    applied(keyed, "update", *more, "--replace", table="keyed")


@on("postgres", "mysql", "sqlite")
def test_a_long_table_is_updated_in_batches(keyed, monkeypatch):
    """A table without a primary key is updated in one transaction."""
    facts = databases.DATABASES[keyed.dialect]
    monkeypatch.setitem(databases.DATABASES, keyed.dialect, replace(facts, many_rows=len(ROWS) - 1))
    monkeypatch.setattr(planner, "BATCH_ROWS", 7)
    assert "transaction, by the primary key" not in applied(keyed, "update", table="keyed")
    execute(keyed, "CREATE TABLE short (id INTEGER PRIMARY KEY, x DOUBLE PRECISION, i INTEGER)")
    execute(keyed, "INSERT INTO short SELECT id, x, i FROM keyed")
    assert "7 rows are updated in each transaction, by the primary key ('id')" in applied(
        keyed, "update", table="short"
    )
    assert found(keyed, ["cluster"], "short") == {key: label[:1] for key, label in wanted(small_rules()).items()}
    execute(keyed, "DELETE FROM short WHERE id = 0")
    assert "transaction, by the primary key" not in applied(keyed, "update", table="short")


@on("duckdb")
def test_no_table_of_duckdb_is_updated_in_batches_unasked(keyed):
    assert databases.DATABASES["duckdb"].many_rows is None  # no index of it finds the rows of a batch
    assert Application(style="update").batch is None


def test_a_mark_tells_other_sql_of_the_same_rules(shop):
    applied(shop, "view")
    assert "made by shallowrules of these rules: " in refused(shop, "view")
    assert "of these rules, as other SQL (" in refused(shop, "view", "--else", "-9")
    OTHER.to_json("other.json")
    assert "made by shallowrules of other rules: " in refused(shop, "view", rules="other.json")

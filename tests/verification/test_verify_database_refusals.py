"""Verifying in a database: refusals, leftovers, and options that go together."""

from __future__ import annotations

import json
import re

import pytest
from commandline import call
from databases import SMALL, File, of, on
from rulesets import make_rules, small_rules

from shallowrules.errors import DataError, OptionError
from shallowrules.rules import RuleSet
from shallowrules.sources import DatabaseRows
from shallowrules.sources.database import open_rows
from shallowrules.verification.database import verify_database
from shallowrules.verification.temporary import temporary_table

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")


@pytest.mark.parametrize("wrong", ["SELECT nowhere", "SELECT 1"])
def test_the_temporary_table_is_gone_after_a_failure(small, wrong):
    """After an error of the database too, which ends PostgreSQL's transaction."""
    from sqlalchemy.exc import DBAPIError

    def fail(source):
        counting = f"SELECT count(*) FROM {source.quote('some rows')}"
        with temporary_table(source, "some rows", [0, 1]) as table:
            assert table.fill([(0.5, 1), (0.75, 2)]) == 0
            assert source.connection.exec_driver_sql(counting).scalar() == 2
            source.connection.exec_driver_sql(wrong)
            source.connection.exec_driver_sql("SELECT nothing")

    with open_rows(of(small)) as source:
        with pytest.raises(DBAPIError):
            fail(source)
        with pytest.raises(DBAPIError, match="some rows"):
            source.connection.exec_driver_sql(f"SELECT count(*) FROM {source.quote('some rows')}")
        source.connection.rollback()
        assert source.connection.exec_driver_sql(f"SELECT count(*) FROM {source.relation}").scalar() == len(SMALL)


@on("duckdb", "postgres", "mysql")  # a column of SQLite refuses nothing
def test_what_a_type_refuses_is_left_out_and_the_rest_is_compared(database, fill, caplog):
    kinds = {"duckdb": "TINYINT", "postgres": "SMALLINT", "mysql": "TINYINT"}
    fill("narrow", [("i", kinds[database.dialect])], [[1], [100]])
    certificate = verify_database(make_rules([("i", "integer")], (0, 99, 0, 1)), of(database, "narrow"))
    assert certificate.disagreeing == []
    assert certificate.boundary.left_out == 2  # the ends of 64 bits
    assert caplog.records == []  # psycopg writes to the terminal of what it sends by a pipeline
    assert certificate.boundary.rows >= 4


RIGHTS = {
    "postgres": (
        ["REVOKE TEMP ON DATABASE postgres FROM PUBLIC", "CREATE ROLE guest LOGIN PASSWORD 'hidden'"],
        "GRANT SELECT ON small TO guest",
        ["GRANT TEMP ON DATABASE postgres TO PUBLIC", "DROP ROLE guest"],
    ),
    "mysql": (
        [
            "CREATE DATABASE shop",
            "CREATE TABLE shop.small AS SELECT * FROM test.small",
            "CREATE USER guest@localhost IDENTIFIED BY 'hidden'",
        ],
        "GRANT SELECT ON shop.* TO guest@localhost",
        ["DROP DATABASE shop", "DROP USER guest@localhost"],
    ),
}
"""What gives a user the right to read, and no other; and what takes it back."""


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgres", "mysql"])
def test_without_the_right_to_temporary_tables_the_certificate_says_so(place, running):
    pytest.importorskip({"postgres": "psycopg", "mysql": "pymysql"}[place])
    server = running(place)
    url = re.sub("://[^/]*@", "://guest:hidden@", server.url).replace("/test?", "/shop?")
    before, grant, after = RIGHTS[place]
    server.create("small", [("x", server.types["float"]), ("i", server.types["integer"])], SMALL)
    try:
        server.query(grant, before)
        certificate = verify_database(small_rules(), DatabaseRows(url, "small"))
        assert certificate.disagreeing == []
        assert "denied" in certificate.boundary.refused
        assert re.search("^ *boundary +.*not compared", certificate.to_text(), re.MULTILINE)
        assert "hidden" not in certificate.to_text() + certificate.to_json()
        with pytest.raises(DataError, match="denied") as error:
            verify_database(small_rules(), DatabaseRows(url, "small", sample=2))
        assert "hidden" not in str(error.value)
    finally:
        server.drop("small")
        server.query(after[-1], after[:-1])


def test_the_schema_is_as_before(tmp_path):
    for dialect in ("sqlite", "duckdb"):
        file = File(dialect, tmp_path / f"{dialect}.db")
        file.create("small", [("x", "DOUBLE"), ("i", "BIGINT")], SMALL)
        before = file.path.read_bytes()
        verify_database(small_rules(), of(file, sample=3))
        assert file.path.read_bytes() == before


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["y", "i"], "test 'x', .* table small .*'y', 'i'"),
        (["x", "ix"], "test 'i'"),
        (["x", "index"], "test 'i'.*'x', 'index'"),
    ],
    ids=["y", "ix", "index"],
)
def test_a_tested_column_that_is_missing_is_named(tmp_path, words, columns, said):
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [(name, "REAL") for name in columns], [])
    with pytest.raises(DataError, match=said) as error:
        verify_database(small_rules(), of(file))
    words(str(error.value))


def test_the_nearest_column_is_named(tmp_path):
    file = File("duckdb", tmp_path / "file.db")
    file.create("small", [("alcohols", "DOUBLE"), ("Weight", "DOUBLE")], [])
    rules = make_rules([("alcohol", "float"), ("weight", "float")], (0, 0.5, 0, (1, 3.0, 1, 2)))
    with pytest.raises(DataError, match=r"test 'alcohol' \(.*'alcohols'\), .* table small"):
        verify_database(rules, of(file))
    with pytest.raises(DataError, match="no rows"):
        verify_database(rules, of(file), {"alcohol": "alcohols"})  # DuckDB takes weight for Weight


@on("duckdb", "postgres", "mysql")  # SQLite declares no types
@pytest.mark.parametrize(
    ("declared", "rule", "held"),
    [
        ("TEXT", "float", "text"),
        ("DATE", "integer", "dates"),
        ("BOOLEAN", "float", "truth values"),
        ("INTEGER", "text", "numbers"),
        ("DATE", "boolean", "dates"),
    ],
)
def test_a_column_of_another_type_is_refused_before_any_work(database, fill, declared, rule, held):
    if (database.dialect, declared) == ("mysql", "BOOLEAN"):
        declared, held = "DATE", "dates"  # BOOLEAN is a TINYINT there
    fill("other", [("x", declared)], [])
    value = {"text": "a", "boolean": True, "float": 0.5, "integer": 3}[rule]
    with pytest.raises(DataError, match=f"column 'x' of table other .* {held}, .* {rule}\\b"):
        verify_database(make_rules([("x", rule)], (0, value, 0, 1)), of(database, "other"))


def test_a_column_of_sqlite_with_other_values_is_refused_by_these(tmp_path):
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [("x", "REAL"), ("i", "INTEGER")], [[0.5, 1], ["abc", 2]])
    with pytest.raises(DataError, match="column 'x' is not numeric"):
        verify_database(small_rules(), of(file))


@pytest.mark.parametrize(
    ("arguments", "status", "named"),
    [
        (["--dialect", "postgres"], 2, ("--dialect", "--database")),
        (["-o", "certificate.csv"], 2, (".json, .txt",)),
        (["--column", "x"], 2, ("'x'", "OLD=NEW")),
        (["--column", "nix=y"], 2, ("--column", "'nix'")),
        (["--column", "x=wide"], 3, ("test 'wide'",)),
        (["-o", "nowhere/certificate.json"], 3, ("nowhere", "(-o)")),
    ],
    ids=["dialect", "suffix", "no name", "no column", "no such column there", "no folder"],
)
def test_options_that_do_not_go_together(tmp_path, monkeypatch, words, arguments, status, named):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [("x", "REAL"), ("i", "INTEGER")], SMALL)
    done = call("verify", "rules.json", "--database", file.url, "--table", "small", *arguments)
    assert done.exit_code == status
    message = " ".join(done.stderr.partition("Error: ")[2].split())
    assert all(part in message for part in named)
    words(message)
    assert {path.name for path in tmp_path.iterdir()} == {"rules.json", "file.db"}


@pytest.mark.parametrize("arguments", [["-o", "c.json"], ["--column", "x=y"], ["--sample", "5"]])
def test_options_of_databases_with_a_file(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i\n0.5,1\n")
    done = call("verify", "rules.json", "t.csv", *arguments)
    assert done.exit_code == 2
    message = " ".join(done.stderr.partition("Error: ")[2].split())
    assert all(part in message for part in (arguments[0], "database"))


def test_a_database_whose_sql_is_not_run(tmp_path):
    with pytest.raises(OptionError, match="PostgreSQL, MySQL, MariaDB, SQLite, DuckDB, not oracle"):
        verify_database(small_rules(), DatabaseRows("oracle://me@host/x", "t"))


def test_rules_of_one_leaf(small):
    rules = make_rules([("x", "float")], 3)
    certificate = verify_database(rules, of(small, sample=4))
    assert (certificate.by_cluster, certificate.boundary.rows) == ({3: 4}, 0)
    assert certificate.disagreeing == []


def test_the_hash_is_of_the_rules_and_not_of_their_file(tmp_path):
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [("x", "REAL"), ("i", "INTEGER")], SMALL)
    rules = small_rules()
    text = rules.to_json()
    (tmp_path / "compact.json").write_text("\ufeff" + json.dumps(json.loads(text)))
    again = RuleSet.from_json(tmp_path / "compact.json")
    assert verify_database(rules, of(file)).rules.sha256 == verify_database(again, of(file)).rules.sha256
    other = make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 0, (1, 3, 2, 1)))
    assert verify_database(other, of(file)).rules.sha256 != verify_database(rules, of(file)).rules.sha256


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
@pytest.mark.parametrize("secret", ["me:hidden@127.0.0.1:1/shop", "127.0.0.1:1/shop?user=me&password=hidden"])
def test_a_password_is_in_no_error(tmp_path, monkeypatch, scheme, secret):
    pytest.importorskip({"postgresql": "psycopg", "mysql": "pymysql"}[scheme])
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    url = f"{scheme}://{secret}"
    done = call("verify", "rules.json", "--database", url, "--table", "t", "-o", "certificate.json")
    assert done.exit_code == 3
    assert "127.0.0.1" in done.output
    assert "hidden" not in done.output
    assert not (tmp_path / "certificate.json").exists()

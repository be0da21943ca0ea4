"""Commands that read a database change nothing in it, whatever a query asks for; and how long a statement may take."""

from __future__ import annotations

import pytest
from commandline import call
from databases import of, on, schema_of
from draws import few

from shallowrules.errors import DataError, OptionError
from shallowrules.sources import DatabaseRows, read_table
from shallowrules.sources import database as reading
from shallowrules.sources.database import open_rows
from shallowrules.verification.engines.duckdb import import_duckdb

WRITES = (
    "INSERT INTO small SELECT * FROM small",
    "UPDATE small SET i = 7",
    "DELETE FROM small",
    "CREATE TABLE other (x INTEGER)",
    "CREATE TABLE other AS SELECT * FROM small",
    "CREATE VIEW other AS SELECT * FROM small",
    "ALTER TABLE small ADD COLUMN x INTEGER",
    "DROP TABLE small",
)

NEXT = {"duckdb": "nextval('numbers')", "postgres": "nextval('numbers')", "mysql": "NEXTVAL(numbers)"}
LAST = {
    "duckdb": "SELECT last_value FROM duckdb_sequences() WHERE sequence_name = 'numbers'",
    "postgres": "SELECT last_value, is_called FROM numbers",
    "mysql": "SELECT next_not_cached_value FROM numbers",
}
COMMANDS = (
    ("fit", "-k", "2", "--drop-missing"),
    ("fit", "-k", "2", "--memory", "1GB", "--impute", "median"),
    ("run", "-k", "2", "--drop-missing"),
    ("path", "-k", "2", "--drop-missing"),
    ("clusters", "--to", "3", "--drop-missing"),
    ("label", "rules.json", "-o", "out.csv"),
    ("verify", "rules.json"),
    ("verify", "rules.json", "--sample", "3"),
    ("drift", "rules.json"),
)


@pytest.fixture
def numbers(small):
    """The database with a sequence."""
    run = small.run if small.dialect == "duckdb" else small.query
    run("CREATE SEQUENCE numbers")
    yield small
    run("DROP SEQUENCE numbers")


def content_of(database):
    return schema_of(database), sorted(map(tuple, database.query("SELECT x, i FROM small")), key=repr)


def run(database, statement):
    """Run a statement on a reading connection, and commit."""
    with open_rows(of(database)) as source:
        source.connection.exec_driver_sql(statement)
        source.connection.commit()


@pytest.mark.parametrize("write", few(WRITES, 3))
def test_a_connection_that_reads_writes_nothing(small, write):
    before = content_of(small)
    with pytest.raises(DataError):
        run(small, write)
    assert content_of(small) == before
    with open_rows(of(small)) as source:
        assert source.table().n_rows == 6


@pytest.mark.slow
@on("duckdb", "postgres", "mysql")
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("command", few(map(list, COMMANDS), 3), ids=["-".join(command[:2]) for command in COMMANDS])
def test_a_query_that_writes_is_refused_of_every_command(numbers, command, copied, monkeypatch):
    if not copied:
        monkeypatch.setattr(reading, "is_usable", lambda connection: False)
    before = content_of(numbers), numbers.query(LAST[numbers.dialect])
    query = f"SELECT x, i, {NEXT[numbers.dialect]} AS n FROM small"
    result = call(*command, "--database", numbers.url, "--query", query)
    assert result.exit_code not in (0, 2), result.stderr
    assert "read-only" in result.stderr.lower().replace(" ", "-").replace("\n", "-")
    assert (content_of(numbers), numbers.query(LAST[numbers.dialect])) == before


@pytest.mark.parametrize("command", few(map(list, COMMANDS), 3), ids=["-".join(command[:2]) for command in COMMANDS])
def test_what_only_reads_is_done_and_leaves_nothing_behind(small, command):
    before = content_of(small)
    result = call(*command, "--database", small.url, "--table", "small")
    assert result.exit_code in (0, 1), result.stderr
    assert "read-only" not in result.stderr
    assert content_of(small) == before


@pytest.mark.parametrize("style", ["view", "table", "update"])
def test_a_plan_is_made_by_reading(small, style):
    before = content_of(small)
    result = call("label", "rules.json", "--database", small.url, "--table", "small", "--apply", style, "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert content_of(small) == before


SLEEPING = {"postgres": "pg_sleep(60)::text", "mysql": "SLEEP(60)"}


@on("postgres", "mysql")
@pytest.mark.parametrize("copied", [True, False])
def test_a_statement_ends_after_the_time_that_is_given(small, copied, monkeypatch):
    if not copied:
        monkeypatch.setattr(reading, "is_usable", lambda connection: False)
    query = f"SELECT x, i, {SLEEPING[small.dialect]} AS slept FROM small"
    result = call("fit", "--database", small.url, "--query", query, "-k", "2", "--timeout", "0.2")
    assert result.exit_code not in (0, 2)
    assert "time" in result.stderr
    assert read_table(of(small, timeout=3600.0)).n_rows == 6


@on("sqlite", "duckdb")
def test_a_database_without_a_timeout_refuses_it(small):
    result = call("fit", "--database", small.url, "--table", "small", "-k", "2", "--timeout", "5")
    assert result.exit_code == 2
    assert "--timeout" in result.stderr
    with pytest.raises(OptionError, match="timeout"):
        read_table(of(small, timeout=5.0))


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_a_timeout_is_a_time(seconds):
    with pytest.raises(OptionError, match="timeout"):
        DatabaseRows("sqlite:///x.db", "t", timeout=seconds)


def test_timeout_is_for_a_database():
    result = call("fit", "t.csv", "-k", "2", "--timeout", "5")
    assert result.exit_code == 2
    assert "--timeout" in result.stderr


@on("duckdb")
def test_a_file_that_is_read_is_open_to_other_readers(small):
    with open_rows(of(small)), open_rows(of(small)) as second:
        assert second.count_rows() == 6


@on("duckdb")
def test_a_file_that_this_process_writes_is_refused_in_words(small):
    with import_duckdb().connect(str(small.path)), pytest.raises(DataError, match="close that connection"):
        read_table(of(small))

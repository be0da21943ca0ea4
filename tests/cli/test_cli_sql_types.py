"""SQL for the types of a table, on the command line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from commandline import call, refused
from rulesets import make_rules

RULES = make_rules([("Spend", "float"), ("region", "text")], (0, 67.0, 0, (1, "North", 1, 2)))


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Return the URL of a database, in a folder that has the rules."""
    monkeypatch.chdir(tmp_path)
    RULES.to_json("rules.json")
    with closing(sqlite3.connect("shop.db")) as connection:
        connection.execute("CREATE TABLE customers (spend REAL, region TEXT COLLATE NOCASE, age INTEGER)")
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)", [(v, r, v) for v in range(40, 100) for r in ("North", "south")]
        )
        connection.commit()
    return "sqlite:///shop.db"


def conditions(text):
    return [line for line in text.splitlines() if line and not line.startswith("--")]


def test_types_are_those_of_the_database(shop):
    done = call("export", "rules.json", "sql", "--database", shop, "--table", "customers")
    assert done.exit_code == 0, done.output
    assert "`spend` <= 67" in conditions(done.stdout)
    assert "`region` COLLATE BINARY = 'North'" in done.stdout
    assert "Written for the types that the table's columns have" in done.stdout


def test_types_are_those_of_a_statement(shop):
    Path("schema.sql").write_text("CREATE TABLE customers (spend INT, region VARCHAR(20));")
    table = ["--dialect", "postgres", "--table", "customers"]
    done = call("export", "rules.json", "sql", *table, "--types", "schema.sql", "--identifiers", "as-in-table")
    assert "spend <= 67" in conditions(done.stdout), done.output
    typed = call("export", "rules.json", "sql", *table, "--type", "spend=INT", "--type", "region=VARCHAR(20)")
    assert '"spend" <= 67' in conditions(typed.stdout), typed.output
    full = call("export", "rules.json", "sql", *table, "--guards", "full")
    assert '"Spend" <= 67.0::FLOAT8' in conditions(full.stdout), full.output


def test_what_is_missing_is_said(shop):
    export = ("export", "rules.json")
    message = refused(*export, "markdown", "--database", shop, status=2)
    assert "markdown does not depend on the types of columns; omit --database" in message
    assert "--database needs --table, the table whose column types are read" in refused(
        *export, "sql", "--database", shop, status=2
    )
    message = refused(*export, "sql", "--type", "Spend=INT", "--type", "regio=TEXT", status=2)
    assert "the table has no column 'region' (the nearest is 'regio'); give its type with --type" in message
    assert "--types none.sql: it cannot be read" in refused(*export, "sql", "--types", "none.sql", status=2)


def test_what_is_made_in_a_database_is_for_its_types(shop):
    shown = call("label", "rules.json", "--database", shop, "--table", "customers", "--apply", "view", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "WHEN `spend` <= 67 THEN 0" in shown.stdout
    verified = call("verify", "rules.json", "--database", shop, "--table", "customers")
    assert verified.exit_code == 0, verified.output
    run = ["run", "--database", shop, "--table", "customers", "-k", "2", "--columns", "spend,age", "-o", "out"]
    done = call(*run, "--write", "sql")
    assert done.exit_code == 0, done.output
    text = Path("out/rules.sql").read_text()
    assert "Written for the types" in text
    other = call(*run, "--write", "sql", "--sql-dialect", "postgres", "--force")
    assert other.exit_code == 0, other.output
    assert "Written for the types" not in Path("out/rules.sql").read_text()

"""Names of columns and tables in SQL, and options that are refused."""

import sqlite3
from contextlib import closing

import pytest
from rulesets import (
    example_rules,
    make_rules,
)

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import export


def test_a_missing_column_is_an_error_in_sqlite_not_a_string():
    rules = make_rules([("x", "float")], (0, 1.0, 0, 1))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE data (y DOUBLE)")
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            connection.execute(export(rules, "sql", dialect="sqlite", style="select"))


def test_columns_are_renamed():
    rules = make_rules([("old name", "float"), ("b", "float")], (0, 1.0, 0, 1))
    text = export(rules, "sql", columns={"old name": "NEW"})
    assert '"NEW" <= 1\n' in text
    assert "old name" not in text
    with pytest.raises(OptionError, match=r"'olt'.*'old name', 'b'"):
        export(rules, "sql", columns={"olt": "NEW"})


def test_names_taken_for_one_are_refused():
    rules = make_rules([("Size", "float"), ("size", "float"), ("other", "float")], (0, 1.0, 0, 1))
    for dialect in ("sqlite", "duckdb", "mysql", "tsql"):
        with pytest.raises(ExportError, match=r"'Size' and 'size'.*columns"):
            export(rules, "sql", dialect=dialect)
        assert "big size" in export(rules, "sql", dialect=dialect, columns={"Size": "big size"})
    assert export(rules, "sql", dialect="postgres")
    with pytest.raises(ExportError, match="'size' and 'size'"):
        export(rules, "sql", dialect="postgres", columns={"Size": "size"})
    untested = make_rules([("Size", "float"), ("size", "float"), ("other", "float")], (2, 1.0, 0, 1))
    assert export(untested, "sql", dialect="sqlite")


@pytest.mark.parametrize(
    ("dialect", "name", "message"),
    [
        ("postgres", "é" * 32, "64 bytes, but postgres allows 63"),
        ("mysql", "x" * 65, "65 characters"),
        ("mysql", "a\n", r"mysql cannot hold the name 'a\\n'.*columns"),
        ("mysql", "😀", "mysql cannot hold the name '😀'"),
        ("duckdb", "a\0b", r"'a\\x00b'"),
        ("ansi", "\ud800", r"'\\ud800'"),
        ("ansi", "", "empty"),
    ],
)
def test_names_that_sql_cannot_hold(dialect, name, message):
    rules = make_rules([(name, "float")], (0, 1.0, 0, 1))
    with pytest.raises(ExportError, match=message):
        export(rules, "sql", dialect=dialect)
    assert '"a"' in export(rules, "sql", columns={name: "a"})


@pytest.mark.parametrize(
    ("table", "written"),
    [
        ("shop.customers", '"shop"."customers"'),
        ('"my.shop"."the ""best"""', '"my.shop"."the ""best"""'),
        (("my.file",), '"my.file"'),
        ('it"s', '"it""s"'),
        ("Robert'); DROP TABLE data; --", '"Robert\'); DROP TABLE data; --"'),
    ],
)
def test_table_names(table, written):
    rules = make_rules([("x", "float")], (0, 1.0, 0, 1))
    assert export(rules, "sql", dialect="duckdb", style="select", table=table).endswith(f"FROM {written}\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dialect": "vertica"}, "unknown SQL dialect 'vertica'"),
        ({"dialect": None}, "dialect must be text"),
        ({"style": "json"}, "unknown style 'json'"),
        ({"table": ""}, "'' is not a table name"),
        ({"table": "a..b"}, "'a..b' is not a table name"),
        ({"table": 'a."b'}, "is not a table name"),
        ({"table": ["a", 1]}, "is not a table name"),
        ({"columns": [("x", "y")]}, "columns must map"),
        ({"columns": {"x": 1}}, "columns must map"),
        ({"cluster_column": " "}, "cluster_column must be text"),
        ({"nonsense": 1}, "no option 'nonsense'"),
    ],
)
def test_bad_options(options, said):
    with pytest.raises(OptionError, match=said):
        export(example_rules(), "sql", **options)


def test_unknown_values_list_the_known():
    with pytest.raises(OptionError, match="ansi, sqlite, duckdb, postgres, mysql"):
        export(example_rules(), "sql", dialect="access")
    with pytest.raises(OptionError, match="where, case, ordered, select"):
        export(example_rules(), "sql", style="having")
    options = (
        "dialect, table, style, columns, types, ddl, guards, identifiers, output_columns, cluster_column, cluster_as, "
        "with_precision, into, materialized, otherwise, measure, template"
    )
    with pytest.raises(OptionError, match=options):
        export(example_rules(), "sql", tabel="x")


def test_a_column_named_cluster():
    rules = make_rules([("x", "float"), ("Cluster", "float")], (0, 1.0, 0, 1))
    with pytest.raises(ExportError, match="cluster_column"):
        export(rules, "sql", style="select")
    assert 'AS "segment"' in export(rules, "sql", style="select", cluster_column="segment")
    assert export(rules, "sql", style="case")

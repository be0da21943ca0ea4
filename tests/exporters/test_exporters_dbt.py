"""A model of dbt: its files, and the result of dbt itself on DuckDB."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from dbtprojects import DBT, build_project, labels_in, run_dbt, table_of
from draws import draws
from goldenfiles import assert_golden
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from jinja2 import Environment
from rulesets import (
    FRAGMENTS,
    MIXED,
    as_columns,
    boundary_rows,
    example_of_categories,
    example_rules,
    hostile_texts,
    make_rules,
    rule_sets,
    small_rules,
)

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import export
from shallowrules.rules import RuleSet

needs_dbt = pytest.mark.skipif(DBT is None, reason="dbt is not installed: make build/dbt/bin/dbt")

MARKS = ["{{", "{%", "{#", "{% endraw %}", "{%- raw -%}", "}}", "%}", "#}", "{{ ref('x') }}", "{% enddocs %}", "{{% "]


TYPES = {"row": "BIGINT", "id": "BIGINT", "seen": "TIMESTAMP", "x": "DOUBLE", "i": "INTEGER"}


def test_files_and_names():
    files = export(example_rules(), "dbt", dialect="duckdb", table="shop.customers", max_shift=0.1)
    assert sorted(files) == [
        "models/customers_clusters.md",
        "models/customers_clusters.sql",
        "models/customers_clusters.yml",
        "models/customers_clusters_sources.yml",
        "tests/customers_clusters_complete.sql",
        "tests/customers_clusters_shares.sql",
    ]
    assert "{{ source('shop', 'customers') }}" in files["models/customers_clusters.sql"]
    assert "> 0.1" in files["tests/customers_clusters_shares.sql"]
    declared = export(example_rules(), "dbt", table="shop.customers", sources=False)
    assert set(files) - set(declared) == {"models/customers_clusters_sources.yml"}
    files = export(example_rules(), "dbt", table="customers", model="segments", materialized="table")
    assert "{{ ref('customers') }}" in files["models/segments.sql"]
    assert "materialized='table'" in files["models/segments.sql"]
    assert "models/segments_sources.yml" not in files


def test_golden():
    options = {
        "materialized": "incremental",
        "key": ["id"],
        "updated_at": "seen",
        "types": {**TYPES, "seen": "TIMESTAMP"},
    }
    files = export(small_rules(), "dbt", dialect="duckdb", table="shop.customers", **options)
    for ending in (".sql", ".yml", "_sources.yml"):
        assert_golden(f"dbt{ending}", files[f"models/customers_clusters{ending}"])


def test_nothing_is_to_be_signed_in_the_documentation():
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1), notes=("column 'ash' has only one value",))
    [text] = [text for name, text in export(rules, "dbt").items() if name.endswith(".md")]
    assert "ash" in text
    assert not re.search("sign|approved", text)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"table": "a.b.c"}, "table"),
        ({"model": "a-b"}, "model"),
        ({"model": "../x"}, "model"),
        ({"table": "a b"}, "table|model"),
        ({"materialized": "seed"}, "materialized"),
        ({"materialized": "incremental"}, "key"),
        ({"key": ["id"]}, "'incremental'.*materialized"),
        ({"updated_at": "seen"}, "'incremental'.*materialized"),
        ({"materialized": "incremental", "key": "id"}, "key"),
        ({"materialized": "incremental", "key": ['i"d']}, "key"),
        ({"materialized": "incremental", "key": ["id"], "types": {"alcohol": "DOUBLE"}}, "'id'.*types"),
        ({"types": {"cluster": "BIGINT"}}, "cluster_column"),
        ({"cluster_column": "{{ x }}"}, "cluster_column"),
        ({"cluster_column": ""}, "cluster_column"),
        ({"cluster_column": 'a"b'}, "cluster_column"),
        ({"max_shift": 1.5}, "max_shift"),
        ({"max_shift": float("nan")}, "max_shift"),
        ({"max_shift": "0_1"}, "max_shift"),
        ({"max_shift": None}, "max_shift"),
        ({"dialect": "cobol"}, "dialect"),
        ({"columns": {"none": "x"}}, "columns"),
    ],
)
def test_what_is_refused(options, named):
    with pytest.raises((OptionError, ExportError), match=named):
        export(example_rules(), "dbt", **options)


def test_types_are_read_from_the_statement_that_makes_the_table(tmp_path):
    """Names differ in case there, and those of other columns do not matter."""
    statement = tmp_path / "shop.sql"
    statement.write_text("CREATE TABLE customers (ID BIGINT, X DECIMAL(9,2), Y VARCHAR COLLATE NOCASE, I INTEGER)")
    rules = small_rules()
    rules = replace(rules, statistics=replace(rules.statistics, other_columns=("y", "id")))
    files = export(rules, "dbt", dialect="duckdb", table="shop.customers", ddl=statement)
    properties = files["models/customers_clusters.yml"]
    assert "enforced: true" in properties
    assert re.findall('data_type: "(.*)"', properties) == ["BIGINT", "DECIMAL(9, 2)", "TEXT", "INT", "TINYINT"]
    assert '{"X": 0.51, "I": 3}' in properties


@pytest.mark.parametrize(
    ("names", "table", "has_unit_test"),
    [
        (("a", "b"), "t", True),
        (("a", "t"), "s.T", True),
        (("a", "A"), "t", False),
        (("a", 'b"'), "t", False),
        (("a", "b"), ["s", "t\\"], False),
    ],
)
def test_no_unit_test_where_dbt_could_not_make_its_rows(names, table, has_unit_test):
    """It puts names in quotes as they are, and treats names of columns that differ only in case as one."""
    rules = make_rules([(name, "float") for name in names], (0, 0.5, 0, (1, 0.5, 1, 2)))
    files = export(rules, "dbt", dialect="postgres", table=table, model="m")
    assert ("unit_tests:" in files["models/m.yml"]) == has_unit_test


@pytest.mark.parametrize(
    ("options", "has_contract"),
    [
        ({"dialect": "snowflake", "types": TYPES}, True),
        ({"dialect": "bigquery", "types": {"x": "FLOAT64", "i": "INT64"}}, True),
        ({"dialect": "mysql", "types": TYPES}, False),
        ({"types": {**TYPES, 'a"b': "BIGINT"}}, False),
        ({"types": {**TYPES, "unknown": ""}}, False),
        ({}, False),
    ],
)
def test_a_contract_where_dbt_can_hold_the_model_to_it(options, has_contract):
    """Without one the model gives every column."""
    files = export(small_rules(), "dbt", **options)
    assert ("contract: {enforced: true}" in files["models/data_clusters.yml"]) == has_contract
    assert ("labelled_rows" in files["models/data_clusters.sql"]) == has_contract
    assert ("*,\n" in files["models/data_clusters.sql"]) != has_contract


def test_a_single_rule_without_conditions_has_no_unit_test():
    files = export(make_rules([("a", "float")], 0), "dbt", table="s.t")
    assert "unit_tests:" not in files["models/t_clusters.yml"]
    assert "columns:" not in files["models/t_clusters_sources.yml"]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "snowflake", "bigquery"])
def test_sqlfluff_finds_nothing_in_a_model_and_its_tests(dialect):
    pytest.importorskip("sqlfluff", reason="sqlfluff is not installed (extra dev)")
    from sqlfluff.core import Linter
    from test_sql_linted import COLUMNS, config_for, rules_of
    from test_sql_linted import TYPES as COLUMN_TYPES

    types = dict(zip((name for name, _ in COLUMNS), COLUMN_TYPES[dialect], strict=True))
    files = export(rules_of(dialect, "typed"), "dbt", dialect=dialect, table="shop.customers", types=types)
    for name, text in files.items():
        if name.endswith(".sql"):
            assert Linter(config=config_for(dialect)).lint_string(text).violations == [], name


@draws(200, deadline=None)
@given(
    names=st.lists(
        st.lists(st.sampled_from([*MARKS, *FRAGMENTS]), min_size=1, max_size=4).map("".join),
        min_size=3,
        max_size=3,
        unique_by=str.casefold,
    )
)
def test_jinja_sees_every_name_as_it_is(names):
    """dbt renders the SQL that the exporter sql gives an engine."""
    column, category, cluster = names
    rules = make_rules([(column, "text")], (0, category, 0, 1), {0: cluster, 1: "other"})
    files = export(rules, "dbt", dialect="duckdb", table="rows")
    environment = Environment(keep_trailing_newline=True)
    functions = {"config": lambda **_: "", "ref": lambda name: f'"{name}"', "source": lambda *names: ".".join(names)}
    rendered = {
        name: environment.from_string(text).render(functions) for name, text in files.items() if name.endswith(".sql")
    }
    model = rendered["models/rows_clusters.sql"]
    plain = export(rules, "sql", style="select", dialect="duckdb", table="rows", guards="full")
    plain = plain.replace("/* {% raw %} */\n", "").replace("/* {% endraw %} */\n", "")
    assert model.split('FROM "rows"\n)\n\n')[1] == re.sub('"rows"\n$', "rows_to_label\n", plain)
    environment.from_string(re.sub(r"\{% (end)?docs.*? %\}", "", files["models/rows_clusters.md"])).render()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a function that builds a project of models in DuckDB; it returns the output of dbt, and the database."""
    return lambda tables, files: build_project(tmp_path_factory.mktemp("project"), tables, files)


@needs_dbt
@pytest.mark.builds
def test_dbt_gives_the_labels_of_the_tree(project):
    """One project: our examples and random rules with hostile names, each a model over its own table."""
    drawn = []

    @draws(12, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
    def draw(rules, seed):
        columns = tuple(
            replace(column, name=f"{column.name} {MARKS[(seed + j) % len(MARKS)]} {j}")
            for j, column in enumerate(rules.columns)
        )
        drawn.append((replace(rules, columns=columns), seed))

    draw()
    cases = [(example_rules(), 0), (example_of_categories(), 1), *drawn]
    tables, files, expected = {}, {}, {}
    for number, (rules, seed) in enumerate(cases):
        rows = [
            row
            for row in boundary_rows(rules, seed)
            if not any(isinstance(value, str) and "\0" in value for value in row)
        ]
        name = f"t{number}"
        tables[name] = [("row", "BIGINT", list(range(len(rows)))), *table_of(rules, rows)]
        files |= export(rules, "dbt", dialect="duckdb", table=["main", name], max_shift=1.0)
        expected[name] = rules.assign(as_columns(rules, rows)).tolist()
    done, database = project(tables, files)
    assert done.returncode == 0, done.stdout
    unit_tests = [text.count("unit_tests:\n") for name, text in files.items() if name.endswith("_clusters.yml")]
    # The first has a name with quotes; what is drawn may be a single leaf.
    assert unit_tests == [0, *(bool(rules.tested_columns) for rules, _ in cases[1:])]
    assert f"PASS={4 * len(cases) + sum(unit_tests)} WARN=0 ERROR=0 SKIP=0" in done.stdout
    sources = json.loads((database.parent / "target" / "manifest.json").read_text())["sources"]
    for (rules, _), name in zip(cases, tables, strict=True):
        tested = [rules.columns[feature].name for feature in rules.tested_columns]
        assert list(sources[f"source.shop.main.{name}"]["columns"]) == tested
    for name, labels in expected.items():
        assert labels_in(database, f"{name}_clusters", len(labels)) == labels


DECLARED = {
    "row": "BIGINT",
    "double": "DOUBLE",
    "single {{ x }}": "FLOAT",
    "decimal": "DECIMAL(10,2)",
    "small": "SMALLINT",
    "text": "VARCHAR",
    "truth": "BOOLEAN",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "zoned": "TIMESTAMP WITH TIME ZONE",
    "span": "INTERVAL",
}


def rules_of_every_type() -> RuleSet:
    """Return rules that test a column of each of these types, at limits that are hard to write or to hold."""
    kinds = ("float", "float", "float", "integer", "text", "boolean", "date", "timestamp", "timestamptz", "duration")
    thresholds = (0.1 + 0.2, 0.1, 12.855, 7, "ü'\"\\ {{ ref('x') }} {% enddocs %}\r\n\u2028\x85😀\x1b\n", True)
    moment = 19_813 * 86_400 * 10**6 + 5
    tree: Any = 10
    for column, threshold in reversed(list(enumerate([*thresholds, 19_813, moment, 45_000_000_000, -90_061_000_001]))):
        tree = (column, threshold, column, tree)
    return make_rules(list(zip(list(DECLARED)[1:], kinds, strict=True)), tree)


@needs_dbt
@pytest.mark.builds
def test_the_contract_and_the_unit_tests_hold_for_columns_of_every_type(project):
    """Types are changed and limits are moved by hand, each of which dbt finds."""
    rules = rules_of_every_type()
    tables = {
        name: [(column, kind, [None]) for column, kind in DECLARED.items()] for name in ("same", "other", "moved")
    }
    tables["other"][4] = ("small", "BIGINT", [None])
    files: dict[str, str] = {}
    for name in tables:
        files |= export(rules, "dbt", dialect="duckdb", table=["main", name], types=DECLARED, max_shift=1.0)
    # A decimal whose type nobody gave holds the values beside a limit of as many digits.
    tables["unknown"] = [("x", "DECIMAL(10,2)", [None])]
    files |= export(make_rules([("x", "float")], (0, 2.13, 0, 1)), "dbt", table=["main", "unknown"], max_shift=1.0)
    files["models/moved_clusters.sql"] = re.sub('("small" (<=|>)) 7', r"\1 8", files["models/moved_clusters.sql"])
    done, _ = project(tables, files)
    failed = re.findall(r"Failure in (?:unit_test|model) (\w+)", done.stdout)
    assert set(failed) == {"moved_clusters_limits", "other_clusters"}, done.stdout
    assert "small       | BIGINT          | SMALLINT" in done.stdout


@needs_dbt
@pytest.mark.builds
@pytest.mark.parametrize(
    "types", [{}, {**TYPES, "seen": "TIMESTAMP", "row": "BIGINT"}], ids=["all columns", "contract"]
)
def test_an_incremental_run_labels_what_is_new_or_updated(project, types):
    import duckdb

    rules = small_rules()
    days = [datetime(2026, 1, day) for day in (1, 2, 3)]
    values = ([0, 1, 2], [7, 8, 9], days, [0.0, 1.0, 1.0], [3, 3, 4])
    columns = [(name, kind, held) for (name, kind), held in zip(TYPES.items(), values, strict=True)]
    options = {"dialect": "duckdb", "max_shift": 1.0, "materialized": "incremental", "types": types}
    files = {
        **export(rules, "dbt", table=["main", "plain"], key=["id", "row"], **options),
        **export(rules, "dbt", table=["main", "timed"], key=["id"], updated_at="seen", **options),
    }
    done, database = project({"plain": columns, "timed": columns}, files)
    assert done.returncode == 0, done.stdout
    assert labels_in(database, "plain_clusters", 3) == labels_in(database, "timed_clusters", 3) == [0, 1, 2]
    with duckdb.connect(database) as connection:
        for table in ("plain", "timed"):
            connection.execute(f"UPDATE {table} SET x = 0 WHERE row = 1")
            connection.execute(f"UPDATE {table} SET x = 0, seen = '2026-01-04' WHERE row = 2")
            connection.execute(f"INSERT INTO {table} VALUES (3, 10, '2025-01-01', 1, NULL)")
    done = run_dbt(database.parent, "build")
    assert done.returncode == 0, done.stdout
    assert labels_in(database, "plain_clusters", 4) == [0, 1, 2, -1]
    assert labels_in(database, "timed_clusters", 4) == [0, 1, 0, -1]
    assert run_dbt(database.parent, "run", "--full-refresh").returncode == 0
    assert labels_in(database, "plain_clusters", 4) == [0, 0, 0, -1]


@needs_dbt
@pytest.mark.builds
def test_dbt_fails_where_shares_moved_or_rows_are_wrong(project):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    shares = {cluster.index: cluster.share for cluster in rules.clusters}
    like = np.where(np.arange(1000) < 1000 * shares[0], 0.0, 1.0).tolist()
    tables = {
        "alike": [("row", "BIGINT", list(range(1000))), ("x", "DOUBLE", like)],
        "moved": [("row", "BIGINT", list(range(1000))), ("x", "DOUBLE", [0.0] * 1000)],
        "missing": [("row", "BIGINT", list(range(1000))), ("x", "DOUBLE", like[:500] + [None] * 500)],
    }
    files = {}
    for name in tables:
        files |= export(rules, "dbt", dialect="duckdb", table=["main", name])
    done, _ = project(tables, files)
    failed = set(re.findall(r"Failure in test (\w+)", done.stdout))
    assert failed == {"moved_clusters_shares", "missing_clusters_shares"}, done.stdout

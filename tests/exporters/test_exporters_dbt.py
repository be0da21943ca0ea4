"""A model of dbt: its files, and what dbt itself makes of them on DuckDB."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from dbtprojects import DBT, build_project, labels_in, table_of
from draws import draws
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
)

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import check_exporter, export, get_exporter

needs_dbt = pytest.mark.skipif(DBT is None, reason="dbt is not installed: make build/dbt/bin/dbt")

MARKS = ["{{", "{%", "{#", "{% endraw %}", "{%- raw -%}", "}}", "%}", "#}", "{{ ref('x') }}", "{% enddocs %}", "{{% "]


def test_it_meets_the_contract():
    check_exporter(get_exporter("dbt"))


def test_files_and_names():
    files = export(example_rules(), "dbt", dialect="duckdb", table="shop.customers", max_shift=0.1)
    assert sorted(files) == [
        "models/customers_clusters.md",
        "models/customers_clusters.sql",
        "models/customers_clusters.yml",
        "tests/customers_clusters_complete.sql",
        "tests/customers_clusters_shares.sql",
    ]
    assert '{{ source("shop", "customers") }}' in files["models/customers_clusters.sql"]
    assert "> 0.1" in files["tests/customers_clusters_shares.sql"]
    files = export(example_rules(), "dbt", table="customers", model="segments", materialized="table")
    assert '{{ ref("customers") }}' in files["models/segments.sql"]
    assert "materialized='table'" in files["models/segments.sql"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"table": "a.b.c"}, "table"),
        ({"model": "a-b"}, "model"),
        ({"model": "../x"}, "model"),
        ({"table": "a b"}, "table|model"),
        ({"materialized": "incremental"}, "materialized"),
        ({"cluster_column": "{{ x }}"}, "cluster_column"),
        ({"cluster_column": ""}, "cluster_column"),
        ({"max_shift": 1.5}, "max_shift"),
        ({"max_shift": float("nan")}, "max_shift"),
        ({"dialect": "cobol"}, "dialect"),
        ({"columns": {"none": "x"}}, "columns"),
    ],
)
def test_what_is_refused(options, named):
    with pytest.raises((OptionError, ExportError), match=named):
        export(example_rules(), "dbt", **options)


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
    """What dbt renders is the SQL that the exporter sql gives an engine."""
    column, category, cluster = names
    rules = make_rules([(column, "text")], (0, category, 0, 1), {0: cluster, 1: "other"})
    files = export(rules, "dbt", dialect="duckdb", table="rows")
    environment = Environment(keep_trailing_newline=True)
    functions = {"config": lambda **_: "", "ref": lambda name: f'"{name}"', "source": lambda *names: ".".join(names)}
    rendered = {
        name: environment.from_string(text).render(functions) for name, text in files.items() if name.endswith(".sql")
    }
    model = rendered["models/rows_clusters.sql"]
    plain = export(rules, "sql", style="select", dialect="duckdb", table=["rows to label"], guards="full")
    plain = plain.replace("/* {% raw %} */\n", "").replace("/* {% endraw %} */\n", "")
    assert model.split('SELECT * FROM "rows"\n)\n')[1] == plain
    environment.from_string(re.sub(r"\{% (end)?docs.*? %\}", "", files["models/rows_clusters.md"])).render()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a function that builds a project of models in DuckDB; it returns what dbt says, and the database."""
    return lambda tables, files: build_project(tmp_path_factory.mktemp("project"), tables, files)


@needs_dbt
@pytest.mark.builds
def test_dbt_gives_the_labels_of_the_tree(project):
    """One project: our examples and drawn rules of hostile names, each a model over a table of its own."""
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
    tests = 3 * len(cases)
    assert f"PASS={tests + len(cases)} WARN=0 ERROR=0 SKIP=0" in done.stdout
    for name, labels in expected.items():
        assert labels_in(database, f"{name}_clusters", len(labels)) == labels


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

"""Emitted SQL in database servers, on rows of all kinds; skipped where a server is not installed."""

from __future__ import annotations

import math
from dataclasses import replace

import engines
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rulesets import MIXED, boundary_rows, hostile_texts, make_rules, moderate_float, route, rule_sets

from shallowrules.exporters import export

POSTGRES_TYPES = {"float": "DOUBLE PRECISION", "integer": "BIGINT", "text": "TEXT", "boolean": "BOOLEAN"}


@pytest.fixture(scope="module")
def postgres():
    with engines.postgres() as server:
        if server is None:
            pytest.skip("PostgreSQL is not installed, or does not start")
        yield server


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return f"'{value!r}'::float8"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def labels_in_postgres(server, rules, rows, types=POSTGRES_TYPES):
    columns = [f"c{j}" for j in range(len(rules.columns))]
    declared = ", ".join(f"{name} {types[c.type]}" for name, c in zip(columns, rules.columns, strict=True))
    values = ", ".join(f"({i}, {', '.join(map(literal, row))})" for i, row in enumerate(rows))
    renamed = {column.name: name for name, column in zip(columns, rules.columns, strict=True)}
    text = export(rules, "sql", dialect="postgres", style="case", columns=renamed)
    found = server.query(
        f"CREATE TEMP TABLE data (i INT, {declared}); INSERT INTO data VALUES {values}; "
        f"SELECT {text} FROM data ORDER BY i"
    )
    return [int(label) if label else -1 for (label,) in found]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rules=rule_sets(kinds=MIXED, floats=moderate_float, categories=hostile_texts.filter(lambda text: "\0" not in text)),
    seed=st.integers(0, 2**32),
)
def test_postgres_gives_the_cluster_of_the_tree(postgres, rules, seed):
    rows = boundary_rows(rules, seed, 30)
    assert labels_in_postgres(postgres, rules, rows) == [route(rules, row) for row in rows]


def test_neither_padding_nor_a_collation_matters_in_postgres(postgres):
    rules = make_rules([("c", "text")], (0, "A", 0, (0, "two year", 1, 2)))
    rows = [("A",), ("a",), ("A ",), ("two year",), ("Two year",), ("two year  ",), ("two yéar",), (None,)]
    postgres.query(
        "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    for kind in ("TEXT", "VARCHAR(20)", "TEXT COLLATE loose"):
        assert labels_in_postgres(postgres, rules, rows, {"text": kind}) == [0, 2, 2, 1, 2, 2, 2, -1]
    assert labels_in_postgres(postgres, rules, rows[:2], {"text": "CHAR(9)"}) == [0, 2]


def test_conversions_and_imputing_in_postgres(postgres):
    rules = make_rules([("x", "float"), ("c", "text"), ("n", "integer")], (0, 1.5, (1, "A", 0, 1), (2, 3, 2, 3)))
    x, c, n = rules.columns
    columns = (
        replace(x, decimal=",", nulls=("NA", "-9")),
        replace(c, nulls=("",), imputed="A"),
        replace(n, nulls=("?",), imputed=4),
    )
    rules = replace(rules, columns=columns)
    values = ["1,5", " 1,6 ", "NA", "", "-9,0", None, "1e3", "+,5", "7", "-1,25e-3"]
    rows = [(x, c, n) for x in values for c in ("A", "B", "  ", "", None) for n in ("3", "?", " 4", None)]
    table = {
        column.name: np.array(cells, object) for column, cells in zip(columns, zip(*rows, strict=True), strict=True)
    }
    expected = rules.assign(table).tolist()
    assert set(expected) == {-1, 0, 1, 2, 3}
    types = dict.fromkeys(POSTGRES_TYPES, "TEXT")
    assert labels_in_postgres(postgres, rules, rows, types) == expected
    # numbers that arrived as numbers are left alone
    numbers = [(1.5, "A", 3), (1.6, "A", None), (-9.0, "A", 3), (1 / 3, "B", 3), (None, "A", 3)]
    assert labels_in_postgres(postgres, rules, numbers) == [0, 3, -1, 1, -1]


def test_nan_is_imputed_in_postgres(postgres):
    [x] = (rules := make_rules([("x", "float")], (0, 1.5, 0, 1))).columns
    rules = replace(rules, columns=(replace(x, imputed=1.0),))
    assert labels_in_postgres(postgres, rules, [(math.nan,), (None,), (2.0,), (math.inf,)]) == [0, 0, 1, 1]

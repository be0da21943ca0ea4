"""Emitted SQL in database servers, on rows of all kinds; skipped where a server is not installed."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from draws import draws, spread
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from rulesets import (
    FRACTIONS,
    INFINITIES,
    MIXED,
    NO_NUMBERS,
    any_float,
    balanced_rules,
    boundary_rows,
    chain_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
    text_rules,
)

from shallowrules.errors import EngineError, ExportError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS

pytestmark = pytest.mark.slow

FUZZED = {"suppress_health_check": [HealthCheck.function_scoped_fixture]}


@pytest.fixture
def postgres(running):
    return running("postgres")


@pytest.fixture
def mariadb(running):
    return running("mysql")


@pytest.fixture(params=["postgres", "mariadb"])
def server(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def predicates(tmp_path_factory):
    """Return a template that lists the row numbers that meet each cluster's predicate."""
    path = tmp_path_factory.mktemp("templates") / "predicates.sql.j2"
    path.write_text(
        "{% for cluster in clusters %}{{ 'UNION ALL ' if not loop.first }}SELECT number_of_row, {{ cluster.index }} "
        "FROM data WHERE {{ cluster.predicate }}\n{% endfor %}"
    )
    return path


def storable(server, rows):
    """Return rows with a missing value in place of every number that a server cannot hold."""
    if server.holds_infinity:
        return rows
    return [tuple(None if isinstance(v, float) and not math.isfinite(v) else v for v in row) for row in rows]


def labels_in(server, rules, rows, predicates, types=None, *, names=None, before=(), index=False):
    """Return the label of every row, which all styles of export have to agree on."""
    types = {**server.types, **(types or {})}
    names = names or [f"c{j}" for j in range(len(rules.columns))]
    declared = [(name, types[column.type]) for name, column in zip(names, rules.columns, strict=True)]
    options = {
        "dialect": server.dialect,
        "columns": {column.name: name for name, column in zip(names, rules.columns, strict=True)},
        "cluster_column": "its cluster",
        "guards": "full",
    }
    selected = f"CREATE TEMPORARY TABLE labelled AS\n{export(rules, 'sql', style='select', **options)}"
    statements = {
        **{
            style: (f"SELECT number_of_row,\n{export(rules, 'sql', style=style, **options)}FROM data", before)
            for style in ("case", "ordered")
        },
        "select": (f"SELECT number_of_row, {server.quote('its cluster')} FROM labelled", [*before, selected]),
        "where": (export(rules, "sql", template=predicates, **options), before),
    }
    labels = {style: [-1] * len(rows) for style in statements}
    try:
        server.create("data", [("number_of_row", "INT"), *declared], [(i, *row) for i, row in enumerate(rows)])
        for j, name in enumerate(names):
            if index:
                server.query(f"CREATE INDEX i{j} ON data ({server.quote(name)})")
        for style, (statement, first) in statements.items():
            for row, label in server.query(statement, first):
                if label is not None:
                    assert labels[style][int(row)] == -1, "rules overlap"
                    labels[style][int(row)] = int(label)
    finally:
        server.query("DROP TABLE IF EXISTS data")
    assert labels["case"] == labels["ordered"] == labels["select"] == labels["where"]
    return labels["case"]


@draws(60, **FUZZED)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_every_row_gets_the_cluster_of_the_tree(server, predicates, data, seed):
    texts = hostile_texts if server.holds_nul else hostile_texts.filter(lambda text: "\0" not in text)
    rules = data.draw(rule_sets(kinds=MIXED, floats=any_float, categories=texts))
    rows = storable(server, boundary_rows(rules, seed, 30))
    setting = data.draw(st.sampled_from([None, *server.settings]))
    assert labels_in(server, rules, rows, predicates, before=[setting] if setting else []) == [
        route(rules, row) for row in rows
    ]


@draws(60, **FUZZED)
@given(rules=rule_sets(hostile_names, any_float, hostile_names, max_depth=3), seed=st.integers(0, 2**32))
def test_names_of_all_kinds(server, predicates, rules, seed):
    rows = storable(server, boundary_rows(rules, seed, 10))
    names = [name_in(server, column.name, f"column {j}") for j, column in enumerate(rules.columns)]
    assert labels_in(server, rules, rows, predicates, names=names) == [route(rules, row) for row in rows]


def name_in(server, name, other):
    """Return a name, or the other one where no column of the engine can have it."""
    try:
        DIALECTS[server.dialect].identifier(name)
    except ExportError:
        return other
    return name


@pytest.mark.parametrize(
    "name", ["order", "Group By", "a.b", "1", "`", '"', "'", "é", "a\\", "a\\'b", "?", "%s", "#", "--"]
)
def test_reserved_and_odd_names(server, predicates, name):
    rules = make_rules([("x", "float"), ("c", "text")], (0, 0.5, 0, (1, "A", 1, 2)))
    rows = [(0.5, "B"), (1.0, "A"), (1.0, "B"), (None, "A")]
    for names in ([name, "other"], ["other", name]):
        assert labels_in(server, rules, rows, predicates, names=names) == [0, 1, 2, -1]


@pytest.mark.parametrize(
    "value", [0.1, -0.1, 0.0, 1e-07, 1e22, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, 1e308]
)
@pytest.mark.parametrize("index", [False, True])
def test_neighbours_of_a_threshold(server, predicates, value, index):
    rules = make_rules([("x", "float")], (0, value, 0, 1))
    greatest = float(np.finfo(float).max)
    beside = [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]
    rows = [(x,) for x in (*beside, 0.0, -0.0, 5e-324, -5e-324, greatest, -greatest, None)]
    assert labels_in(server, rules, rows, predicates, index=index) == [route(rules, row) for row in rows]


@pytest.mark.parametrize("bound", [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0])
@pytest.mark.parametrize("index", [False, True])
def test_integers_keep_every_neighbour(server, predicates, bound, index):
    rules = make_rules([("n", "integer")], (0, bound, 0, 1))
    rows = [(value,) for value in range(bound - 2, bound + 3) if -(2**63) <= value < 2**63]
    assert labels_in(server, rules, rows, predicates, index=index) == [route(rules, row) for row in rows]


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("DECIMAL(9,2)", lambda x: round(x, 2)),
        ("BIGINT", round),
        ("SMALLINT", round),
        ("FLOAT", lambda x: float(np.float32(x))),
    ],
)
@pytest.mark.parametrize("threshold", [0.1, 0.125, 2.5, -2.5, 1 / 3, float(np.float32(0.1)), 1e-9])
def test_columns_of_other_numbers_are_compared_as_doubles(server, predicates, kind, stored, threshold, index):
    if kind == "FLOAT" and server.dialect == "postgres":
        kind = "REAL"
    rules = make_rules([("x", "float")], (0, threshold, 0, 1))
    rows = [(stored(x),) for x in (0.1, 0.12, 0.13, 0.0, -0.1, 2.0, 3.0, -2.0, -3.0, 0.33, 0.34)]
    expected = [route(rules, (float(x),)) for (x,) in rows]
    assert labels_in(server, rules, rows, predicates, {"float": kind}, index=index) == expected


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize(
    ("kind", "bounds", "values"),
    [
        ("DOUBLE", [-1, 5, 2**24 + 1], [5.5, -5.0, 2.0**24, 2.0**24 + 1, 2.0**24 + 1.5, 1e300]),
        ("FLOAT", [-1, 5, 2**24 + 1], [5.5, -5.0, 2.0**24, 2.0**24 + 2]),
        ("DECIMAL(20,1)", [-1, 5, 2**53 + 1, -(2**53) - 1], [4.9, 5.0, 5.1, -1.1, 2**53, 2**53 + 2, -(2**53) - 2]),
        ("SMALLINT", [-1, 0, 5, 2**24], [5, 6, -1, -2, 0, 1]),
        ("INT UNSIGNED", [-1, 0, 5, 2**53], [0, 1, 5, 6]),
        ("BIGINT UNSIGNED", [-1, 0, 2**63 - 1], [0, 1, 2**63 - 1, 2**63]),
        ("BIT(40)", [-1, 5, 2**24], [0, 5, 6, 2**24 + 1]),
        ("YEAR", [1000, 1999, 2024], [0, 1999, 2000, 2024, 2025]),
    ],
)
def test_integer_rules_on_columns_of_other_numbers_in_mariadb(mariadb, predicates, kind, bounds, values, index):
    rows = [(value,) for value in (*values, None)]
    for bound in bounds:
        rules = make_rules([("n", "integer")], (0, bound, 0, 1))
        found = labels_in(mariadb, rules, rows, predicates, {"integer": kind}, index=index)
        assert found == [route(rules, row) for row in rows]


@pytest.mark.parametrize("kind", ["BIT(1)", "TINYINT UNSIGNED", "INT"])
def test_truth_values_as_numbers_in_mariadb(mariadb, predicates, kind):
    rules = make_rules([("b", "boolean")], (0, True, 0, 1))
    assert labels_in(mariadb, rules, [(True,), (False,), (None,)], predicates, {"boolean": kind}) == [0, 1, -1]


def test_a_null_gets_a_cluster_only_where_nothing_asks_for_it(server, predicates):
    rules = make_rules(
        [("x", "float"), ("b", "boolean"), ("c", "text")], (0, 0.5, (1, True, 0, 1), (2, ("A", "B"), 2, 3))
    )
    rows = [(x, b, c) for x in (0.0, 1.0, None) for b in (True, False, None) for c in ("A", "C", "", None)]
    expected = [route(rules, row) for row in rows]
    assert {-1, 0, 1, 2, 3} == set(expected)
    assert labels_in(server, rules, rows, predicates) == expected


TEXTS = ["A", "a", "A ", " A", "two year", "Two year", "two year  ", "two yéar", "two ye\u0301ar", "", None]


def in_text_column(server, predicates, kind, texts=TEXTS):
    """Return the texts that a column of some type takes for 'A', for 'two year', for neither and for none."""
    rules = make_rules([("c", "text")], (0, "A", 0, (0, "two year", 1, 2)))
    return labels_in(server, rules, [(text,) for text in texts], predicates, {"text": kind})


def test_neither_case_nor_padding_nor_a_collation_matters_in_postgres(postgres, predicates):
    for kind in ("TEXT", "VARCHAR(20)", 'TEXT COLLATE "C"'):
        assert in_text_column(postgres, predicates, kind) == [0, 2, 2, 2, 1, 2, 2, 2, 2, 2, -1]
    assert in_text_column(postgres, predicates, "CHAR(9)", TEXTS[:2]) == [0, 2]


def test_no_collation_of_icu_matters_in_postgres(postgres, predicates):
    try:
        postgres.query(
            "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
    except EngineError as error:
        if "ICU is not supported" in error.answer:
            pytest.skip("this PostgreSQL is built without ICU")
        raise
    found = in_text_column(postgres, predicates, "TEXT COLLATE loose")
    assert found == [0, 2, 2, 2, 1, 2, 2, 2, 2, 2, -1]


@pytest.mark.parametrize(
    "kind",
    [
        "TEXT CHARACTER SET utf8mb4",
        "VARCHAR(20) COLLATE utf8mb4_general_ci",
        "VARCHAR(20) COLLATE utf8mb4_unicode_ci",
        "VARCHAR(20) COLLATE utf8mb4_bin",
        "VARCHAR(20) COLLATE utf8mb4_nopad_bin",
        "VARCHAR(20) CHARACTER SET utf8mb3",
        "VARCHAR(20) CHARACTER SET utf16",
        "BLOB",
        "VARBINARY(20)",
    ],
)
def test_neither_case_nor_padding_nor_a_collation_matters_in_mariadb(mariadb, predicates, kind):
    assert in_text_column(mariadb, predicates, kind) == [0, 2, 2, 2, 1, 2, 2, 2, 2, 2, -1]


def test_temporary_tables_of_other_servers_stay(mariadb):
    with tempfile.NamedTemporaryFile(prefix="#sql-", suffix=".MAD") as other, type(mariadb).open():
        assert Path(other.name).exists()


def test_character_sets_that_hold_less_in_mariadb(mariadb, predicates):
    texts = [text for text in TEXTS if text is None or "\u0301" not in text]
    found = in_text_column(mariadb, predicates, "VARCHAR(20) CHARACTER SET latin1", texts)
    assert found == [0, 2, 2, 2, 1, 2, 2, 2, 2, -1]
    texts = ["A", "a", "two year", None]
    kinds = ["CHAR(9)", "ENUM('A', 'a', 'two year') COLLATE utf8mb4_bin", "VARCHAR(9) CHARACTER SET ascii"]
    for kind in kinds:
        assert in_text_column(mariadb, predicates, kind, texts) == [0, 2, 1, -1]


def converted_rules():
    rules = make_rules([("x", "float"), ("c", "text"), ("n", "integer")], (0, 1.5, (1, "A", 0, 1), (2, 3, 2, 3)))
    x, c, n = rules.columns
    columns = (
        replace(x, decimal=",", nulls=("NA", "-9")),
        replace(c, nulls=("",), imputed="A"),
        replace(n, nulls=("?",), imputed=4),
    )
    return replace(rules, columns=columns)


def test_conversions_and_imputing(server, predicates):
    rules = converted_rules()
    values = ["1,5", " 1,6 ", "NA", "", "-9,0", None, "1e3", "+,5", "7", "-1,25e-3"]
    rows = [(x, c, n) for x in values for c in ("A", "B", "  ", "", None) for n in ("3", "?", " 4", None)]
    table = {
        column.name: np.array(cells, object)
        for column, cells in zip(rules.columns, zip(*rows, strict=True), strict=True)
    }
    expected = rules.assign(table).tolist()
    assert set(expected) == {-1, 0, 1, 2, 3}
    assert labels_in(server, rules, rows, predicates, dict.fromkeys(server.types, server.types["text"])) == expected


@pytest.mark.parametrize("imputed", [None, 1, 7])
@pytest.mark.parametrize("bound", spread([1, 0, -1, 2**53 - 1, 2**53, 2**53 + 1], 3))
def test_fractions_in_a_column_that_held_whole_numbers(server, predicates, bound, imputed):
    rules = text_rules(bound, imputed)
    # One row at a time: beside a fraction, NumPy takes whole numbers for floats.
    expected = [int(rules.assign({"n": np.array([text], object)})[0]) for text in FRACTIONS]
    kind = {"integer": server.types["text"]}
    assert labels_in(server, rules, [(text,) for text in FRACTIONS], predicates, kind) == expected
    for beyond in ("1e400", "-1e400", "1e-400", "9" * 400):  # no error at least
        assert labels_in(server, rules, [(beyond,)], predicates, kind)


@pytest.mark.parametrize("kind", ["float", "integer"])
def test_text_that_is_no_number_gets_no_cluster(server, predicates, kind):
    [column] = (rules := make_rules([("x", kind)], (0, 4, 0, 1))).columns
    rules = replace(rules, columns=(replace(column, nulls=("NA",), decimal="," if kind == "float" else "."),))
    rows = [("5",), (" 3 ",), *((text,) for text in NO_NUMBERS)]
    found = labels_in(server, rules, rows, predicates, {kind: server.types["text"]})
    assert found == [1, 0, *[-1] * len(NO_NUMBERS)]


@pytest.mark.parametrize("bound", [0, 2**53 + 1, 0.5])
def test_infinity_in_a_column_of_text(server, predicates, bound):
    columns = dict.fromkeys(("integer", "float"), server.types["text"])
    found = labels_in(server, text_rules(bound), [(text,) for text in INFINITIES], predicates, columns)
    assert found == [int("-" not in text) for text in INFINITIES]


def test_infinity_may_mean_no_value(server, predicates):
    [column] = (rules := text_rules(0.5)).columns
    rules = replace(rules, columns=(replace(column, nulls=("inf", "NA")),))
    rows = [("inf",), (" inf ",), ("NA",), ("1",)]
    assert labels_in(server, rules, rows, predicates, {"float": server.types["text"]}) == [-1, -1, -1, 1]


def test_numbers_that_arrived_as_numbers_are_left_alone(server, predicates):
    rows = [(1.5, "A", 3), (1.6, "A", None), (-9.0, "A", 3), (1 / 3, "B", 3), (None, "A", 3)]
    assert labels_in(server, converted_rules(), rows, predicates) == [0, 3, -1, 1, -1]


@draws(40, **FUZZED)
@given(x=any_float, step=st.sampled_from([-math.inf, 0.0, math.inf]))
def test_numbers_read_from_text_are_exact(server, predicates, x, step):
    [column] = (rules := make_rules([("x", "float")], (0, x, 0, 1))).columns
    rules = replace(rules, columns=(replace(column, nulls=("NA",)),))
    value = math.nextafter(x, step) if step else x
    assume(math.isfinite(value))
    for kind, row in (("TEXT", repr(value)), (server.types["float"], value)):
        assert labels_in(server, rules, [(row,)], predicates, {"float": kind}) == [route(rules, (value,))]


def test_nan_is_imputed_in_postgres(postgres, predicates):
    [x] = (rules := make_rules([("x", "float")], (0, 1.5, 0, 1))).columns
    rules = replace(rules, columns=(replace(x, imputed=1.0),))
    assert labels_in(postgres, rules, [(math.nan,), (None,), (2.0,), (math.inf,)], predicates) == [0, 0, 1, 1]


MODES = ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "ANSI", "TRADITIONAL", "ANSI,NO_BACKSLASH_ESCAPES", "ORACLE"]


# fmt: off
ESCAPED = [
    "it's", 'a"b', "\\", "a\\", "\\'", "a\\'b", "\0", "\\0", "a\0b", "\r\n", "\n", "\t", "\x1a", "\b", "%", "\\%",
    "é😀",
]
# fmt: on


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", spread(ESCAPED, 6))
def test_a_text_is_the_same_in_every_mode_of_mariadb(mariadb, predicates, mode, text):
    rules = make_rules([("c", "text"), ("b", "boolean")], (0, text, 0, (0, (f"{text}x", "B"), 1, (1, True, 2, 3))))
    rules = replace(rules, columns=(replace(rules.columns[0], imputed=text), rules.columns[1]))
    rows = [(t, b) for t in (text, f"{text}x", "B", f"{text} ", "\\" + text, None) for b in (True, False)]
    expected = [0, 0, 1, 1, 1, 1, 2, 3, 2, 3, 0, 0]
    before = [f"SET sql_mode = '{mode}'"]
    for kind in ("TEXT CHARACTER SET utf8mb4", *(["TEXT CHARACTER SET latin1"] if text.isascii() else [])):
        assert labels_in(mariadb, rules, rows, predicates, {"text": kind}, before=before) == expected


@pytest.mark.parametrize(
    "names", ["latin1", "utf8mb3", "utf8mb4", "utf8mb4 COLLATE utf8mb4_unicode_520_ci", "ascii", "binary"]
)
def test_the_character_set_of_the_connection_does_not_matter_in_mariadb(mariadb, predicates, names):
    texts = ["é", "😀λ", "a\\é"]
    rules = make_rules([("c", "text"), ("x", "float")], (0, "é", 0, (0, ("😀λ", "a\\é"), 1, (1, 0.5, 2, 3))))
    columns = (replace(rules.columns[0], imputed="😀λ", nulls=("ø",)), replace(rules.columns[1], decimal=","))
    rows = [(text, x) for text in (*texts, "e", "ø", None) for x in ("0,5", "0,6")]
    found = labels_in(
        mariadb,
        replace(rules, columns=columns),
        rows,
        predicates,
        dict.fromkeys(mariadb.types, mariadb.types["text"]),
        before=[f"SET NAMES {names}"],
    )
    assert found == [0, 0, 1, 1, 1, 1, 2, 3, 1, 1, 1, 1]


@pytest.mark.parametrize("mode", MODES)
def test_conversions_are_the_same_in_every_mode_of_mariadb(mariadb, predicates, mode):
    rows = [("1,5", "A", "3"), ("1,6", " ", "3"), ("NA", "A", "3"), ("1,6", "B", "?"), ("-1,25e-3", "B", "3")]
    types = dict.fromkeys(mariadb.types, "TEXT CHARACTER SET latin1")
    found = labels_in(mariadb, converted_rules(), rows, predicates, types, before=[f"SET sql_mode = '{mode}'"])
    assert found == [0, 2, -1, 3, 1]


def test_an_imputed_text_that_a_column_cannot_hold_in_mariadb(mariadb, predicates):
    [column] = (rules := make_rules([("c", "text")], (0, "λ\\", 0, 1))).columns
    rules = replace(rules, columns=(replace(column, imputed="λ\\"),))
    found = labels_in(mariadb, rules, [("é",), (None,)], predicates, {"text": "TEXT CHARACTER SET latin1"})
    assert found == [1, 0]


@pytest.mark.parametrize("make", [balanced_rules, chain_rules])
def test_many_leaves(server, predicates, make):
    rules = make(1000)
    generator = np.random.default_rng(0)
    scale = 1.0 if len(rules.columns) > 1 else 1000.0
    rows = [tuple(map(float, row)) for row in generator.random((50, len(rules.columns))) * scale]
    assert labels_in(server, rules, rows, predicates) == [route(rules, row) for row in rows]


def test_many_categories(server, predicates):
    categories = tuple(f"it's {i}" for i in range(1500))
    rules = make_rules([("c", "text"), ("x", "float")], (0, categories, 0, (1, 0.5, 1, 2)))
    rows = [(text, x) for text in ("it's 0", "it's 1499", "IT'S 0", "it's 1500", None) for x in (0.0, 1.0)]
    assert labels_in(server, rules, rows, predicates) == [0, 0, 0, 0, 1, 2, 1, 2, -1, -1]

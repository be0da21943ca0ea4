"""The SQL of the rules in a user's database against the tree: comparisons, findings, and nothing left behind."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from cases import cases
from columntypes import COLUMNS, Times
from commandline import call
from databases import SMALL, File, of, on
from draws import draws
from hypothesis import HealthCheck, given, reject
from hypothesis import strategies as st
from refusals import refusal_of
from rulesets import MIXED, boundary_rows, make_rules, moderate_float, route, rule_sets, small_rules
from values import applies, block_of

from shallowrules.exporters.sql import DIALECTS, LABELLING_STYLES, dialects
from shallowrules.sources import DatabaseRows, read_table
from shallowrules.sources.database import DatabaseSource
from shallowrules.tables.times import parse_time
from shallowrules.verification import database as verification
from shallowrules.verification import walk
from shallowrules.verification.comparing import SEVERAL
from shallowrules.verification.database import verify_database
from shallowrules.verification.engines import ENGINES

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

fuzzed = draws(15, suppress_health_check=[HealthCheck.function_scoped_fixture])


def forms_of(certificate):
    return [comparison.form.split(", ")[-1] for comparison in certificate.comparisons]


def test_noise_has_the_number_that_sql_gives(small):
    rules = small_rules()
    rules = replace(rules, clusters=tuple(replace(each, noise=each.index == 2) for each in rules.clusters))
    certificate = verify_database(rules, of(small))
    assert certificate.disagreeing == []
    assert sorted(each["cluster"] for each in certificate.to_dict()["clusters"]) == [-1, 0, 1]


def test_what_agrees(small):
    certificate = verify_database(small_rules(), of(small))
    assert certificate.disagreeing == []
    assert forms_of(certificate) == list(LABELLING_STYLES)
    assert {comparison.rows for comparison in certificate.comparisons} == {len(SMALL)}
    assert certificate.by_cluster == {0: 2, 1: 1, 2: 1}
    assert {(part.column, part.reason, part.rows) for part in certificate.unlabelled} == {
        ("x", "missing value", 1),
        ("i", "missing value", 1),
    }
    boundary = certificate.boundary
    assert len(boundary.comparisons) == len(LABELLING_STYLES)
    assert {comparison.rows for comparison in boundary.comparisons} == {boundary.rows}
    assert boundary.rows > 15
    assert (boundary.left_out > 0) == (small.dialect == "mysql")  # which has neither NaN nor infinity


def tamper(monkeypatch, rules):
    """Let SQL be that of other rules."""
    export, predicates = verification.export, verification.cluster_predicates
    monkeypatch.setattr(verification, "export", lambda _, *args, **options: export(rules, *args, **options))
    monkeypatch.setattr(verification, "cluster_predicates", lambda _, **options: predicates(rules, **options))


def test_a_threshold_that_is_off_by_a_bit_is_found_on_boundary_rows(small, monkeypatch):
    """No row of the table lies there."""
    other = make_rules([("x", "float"), ("i", "integer")], (0, math.nextafter(0.5, 1), 0, (1, 3, 1, 2)))
    tamper(monkeypatch, other)
    certificate = verify_database(small_rules(), of(small))
    assert {comparison.disagreements for comparison in certificate.comparisons} == {0}
    assert all(comparison.disagreements for comparison in certificate.boundary.comparisons)
    assert len(certificate.boundary.comparisons) == len(LABELLING_STYLES)
    for comparison in certificate.boundary.comparisons:
        assert {difference.values["x"] for difference in comparison.differences} == {math.nextafter(0.5, 1)}
        assert {difference.found for difference in comparison.differences} == {0}


def test_rows_with_another_cluster_are_counted_and_shown(small, monkeypatch):
    """An extra cluster for some rows, none for others."""
    tamper(monkeypatch, make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 0, (1, 2, 1, 2))))
    done = call("verify", "rules.json", "--database", small.url, "--table", "small", "-o", "certificate.json")
    assert done.exit_code == 1
    assert "the tree: SQL" in " ".join(done.stderr.split())
    assert re.search(r"row \(x = 0\.75, i = 3\): cluster 1 .* tree, cluster 2 .* SQL", done.stdout)
    with open("certificate.json", encoding="utf-8") as file:
        written = json.load(file)
    assert written["agrees"] is False
    for style in written["styles"]:
        assert style["mismatches"] == 1
        assert style["first"] == [{"values": {"x": 0.75, "i": 3}, "tree": 1, "sql": 2}]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda texts: {**texts, 1: texts[0]}, {(0, SEVERAL), (1, None)}),
        (lambda texts: {**texts, 1: "1 = 0"}, {(1, None)}),
        (lambda texts: {**texts, 1: "1 = 1"}, {(0, SEVERAL), (2, SEVERAL), (None, 1)}),
    ],
)
def test_predicates_that_overlap_or_leave_rows_out_are_found(small, monkeypatch, change, found):
    predicates = verification.cluster_predicates
    monkeypatch.setattr(verification, "cluster_predicates", lambda *a, **options: change(predicates(*a, **options)))
    certificate = verify_database(small_rules(), of(small))
    assert certificate.disagreeing == [certificate.comparisons[0].form]
    [where, *_] = certificate.comparisons
    assert {(difference.expected, difference.found) for difference in where.differences} == found
    assert where.disagreements == sum({0: 2, 1: 1, 2: 1, None: 2}[expected] for expected, _ in found)


def test_predicates_in_several_statements(small, monkeypatch):
    monkeypatch.setattr(verification, "MAX_PREDICATES", 2)
    assert verify_database(small_rules(), of(small)).disagreeing == []
    tamper(monkeypatch, make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 2, (1, 3, 1, 0))))
    [where, case, *_] = verify_database(small_rules(), of(small)).comparisons
    assert case.disagreements == 3
    assert where.disagreements >= 3


@on("sqlite", "postgres", "mysql")  # DuckDB lets nobody else into its file
def test_rows_that_come_in_between_are_no_mismatch(small, monkeypatch):
    """A row has its values and its cluster from one statement."""
    add = getattr(small, "run", None) or small.query
    fetch, seen = DatabaseSource.fetch, []

    def fetch_later(source, statement):
        if "boundary" not in statement:
            add(f"INSERT INTO {small.quote('small')} VALUES (0.75, 9)")
        seen.append(statement)
        return fetch(source, statement)

    monkeypatch.setattr(DatabaseSource, "fetch", fetch_later)
    certificate = verify_database(small_rules(), of(small))
    assert certificate.disagreeing == []
    rows = [comparison.rows for comparison in certificate.comparisons]
    if small.dialect != "mysql":  # which shows one state to all statements
        assert rows == [len(SMALL) + 1 + place for place in range(len(LABELLING_STYLES))]
    assert len(seen) > len(rows)


def test_a_sample_is_drawn_once(database, fill):
    rows = [(i / 100, i % 7) for i in range(200)]
    fill("many", [("x", database.types["float"]), ("i", database.types["integer"])], rows)
    chosen = of(database, "many", sample=60, seed=5)
    certificate = verify_database(small_rules(), chosen)
    assert certificate.disagreeing == []
    assert {comparison.rows for comparison in certificate.comparisons} == {60}
    assert Counter(walk(small_rules(), read_table(chosen)).tolist()) == Counter(certificate.by_cluster)
    assert certificate.to_dict()["sample"] == {"rows": 60, "seed": 5}


SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgres": "public", "mysql": "test"}


def test_a_table_in_a_schema(small):
    table = f"{SCHEMAS[small.dialect]}.small"
    for options in ({}, {"sample": 5}):
        certificate = verify_database(small_rules(), of(small, table, **options))
        assert certificate.disagreeing == []
        assert certificate.rows == options.get("sample", len(SMALL))
        assert certificate.boundary.rows > 15


def test_a_query(small):
    query = f"SELECT x * 1 AS x, i AS \"other\", '%s :p' AS t FROM {small.quote('small')} WHERE i > 1 -- all\n;"
    query = query.replace('"', small.quote("x")[0])
    certificate = verify_database(small_rules(), DatabaseRows(small.url, query=query), {"i": "other"})
    assert certificate.disagreeing == []
    assert certificate.rows == 3
    assert "%s" not in certificate.to_text() + certificate.to_json()


# Types of columns ----------------------------------------------------------------------------------

TYPES = {
    "sqlite": {"d": "NUMERIC(12,2)", "r": "REAL", "b": "BOOLEAN", "t": "TEXT COLLATE NOCASE", "e": "VARCHAR(9)"},
    "duckdb": {"d": "DECIMAL(12,2)", "r": "FLOAT", "b": "BOOLEAN", "t": "TEXT", "e": "ENUM('a', 'A', '%s')"},
    "postgres": {"d": "NUMERIC(12,2)", "r": "REAL", "b": "BOOLEAN", "t": "CHAR(5)", "e": "shade"},
    "mysql": {
        "d": "DECIMAL(12,2)",
        "r": "FLOAT",
        "b": "BOOLEAN",
        "t": "VARCHAR(20) COLLATE utf8mb4_general_ci",
        "e": "ENUM('a', '%s', 'B') COLLATE utf8mb4_general_ci",
    },
}

TYPED = [("d", "float"), ("r", "float"), ("b", "boolean"), ("t", "text"), ("e", "text"), ("n", "integer")]


@pytest.fixture
def typed(database, fill):
    """Return a database with a table of columns of several types."""
    if database.dialect == "postgres":
        database.query("CREATE TYPE shade AS ENUM ('a', 'A', '%s')")
    kinds = {**TYPES[database.dialect], "n": "NUMERIC(10,0)"}
    rows = [
        (0.1, 0.1, True, "it's", "a", 7),
        (0.25, 0.1, False, "IT'S", "%s", 7),
        (7, 16777216, True, "é", "a", 8),
        (None, None, None, None, None, None),
        (7.5, 0.25, None, "it's", "%s", None),
    ]
    fill("typed", [(name, kinds[name]) for name, _ in TYPED], rows)
    yield database
    if database.dialect == "postgres":
        database.query("DROP TABLE typed")
        database.query("DROP TYPE shade")
        database.query("CREATE TABLE typed (x INTEGER)")  # for the fixture


@pytest.mark.parametrize(
    "tree",
    [
        (0, 0.1, 0, (0, 7.0, 1, 2)),
        (1, 0.1, 0, (1, 16777216.0, 1, 2)),
        (2, True, 0, 1),
        (3, "it's", 0, (3, ("e", "é"), 1, 2)),
        (4, "a", 0, (4, "%s", 1, 2)),
        (5, 7, 0, 1),
        (2, True, (0, 0.1, (4, "a", 0, 1), 2), (5, 7, 3, (3, "it's", 4, 0))),
    ],
)
def test_columns_of_each_type(typed, tree):
    certificate = verify_database(make_rules(TYPED, tree), of(typed, "typed"))
    assert certificate.disagreeing == []
    assert certificate.boundary.rows >= 3
    assert sum(part.rows for part in certificate.unlabelled) >= 1


def test_a_float_below_a_threshold_in_single_precision_is_above_it_in_double(typed):
    """REAL 0.1 is above 0.1: SQL and the tree must agree on that."""
    certificate = verify_database(make_rules(TYPED, (1, 0.1, 0, 1)), of(typed, "typed"))
    assert certificate.by_cluster == ({0: 2, 1: 2} if typed.dialect == "sqlite" else {0: 0, 1: 4})


FOLDING = {
    "sqlite": ("TEXT COLLATE NOCASE", {"column": "{column}", "trimmed": "TRIM({value})"}),
    "mysql": ("VARCHAR(20) COLLATE utf8mb4_general_ci", {"column": "{column}", "literal": "{literal}"}),
}


@on(*FOLDING)
def test_the_temporary_table_has_the_collation_of_the_table(database, fill, monkeypatch):
    """SQL that forgets the collation is found, though no row of the table shows it."""
    kind, facts = FOLDING[database.dialect]
    fill("folding", [("t", kind)], [["other"], ["A"]])
    rules = make_rules([("t", "text")], (0, "A", 0, 1))
    assert verify_database(rules, of(database, "folding")).disagreeing == []
    dialect = DIALECTS[database.dialect]
    forgetful = replace(dialect, texts=replace(dialect.texts, **facts, exactly="{literal}"))
    monkeypatch.setitem(DIALECTS, database.dialect, forgetful)
    monkeypatch.setattr(dialects, "MARIADB", forgetful)
    certificate = verify_database(rules, of(database, "folding"))
    assert {comparison.disagreements for comparison in certificate.comparisons} == {0}
    assert all(comparison.disagreements for comparison in certificate.boundary.comparisons)
    assert len(certificate.boundary.comparisons) == len(LABELLING_STYLES)
    assert "a" in {difference.values["t"] for difference in certificate.boundary.comparisons[0].differences}


@pytest.mark.parametrize("imputed", [None, 7])
def test_text_that_is_no_number_has_no_cluster_and_is_counted(database, fill, imputed):
    rules = make_rules([("n", "integer"), ("x", "float")], (1, 0.5, 0, (0, 3, 1, 2)))
    columns = (replace(rules.columns[0], nulls=("NA",), imputed=imputed), rules.columns[1])
    rules = replace(rules, columns=columns)
    texts = ["1", " 7 ", "NA", "abc", "1_0", None, "4x"]
    fill(
        "texts",
        [("n", "VARCHAR(20)"), ("x", database.types["float"])],
        [*((text, 0.75) for text in texts), ("abc", 0.25)],
    )
    certificate = verify_database(rules, of(database, "texts"))
    assert certificate.disagreeing == []
    why = {part.reason: part.rows for part in certificate.unlabelled}
    assert why == ({"text that is not a number": 3} | ({} if imputed else {"missing value": 2}))
    assert certificate.by_cluster == {0: 1, 1: 1, 2: 1 if imputed is None else 3}
    assert certificate.boundary.rows > 30


def test_a_column_of_sqlite_with_numbers_beside_texts(tmp_path):
    file = File("sqlite", tmp_path / "file.db")
    file.create("mixed", [("n", "")], [[1], ["7"], ["NA"], [2.5], ["abc"], [None]])
    rules = make_rules([("n", "integer")], (0, 2, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], nulls=("NA",)),))
    certificate = verify_database(rules, of(file, "mixed"))
    assert certificate.disagreeing == []
    assert certificate.by_cluster == {0: 1, 1: 2}
    assert {part.reason: part.rows for part in certificate.unlabelled} == {
        "missing value": 2,
        "text that is not a number": 1,
    }


@pytest.mark.parametrize("declared", ["DATE", "TEXT", ""])
@pytest.mark.parametrize("imputed", [None, 0])
def test_dates_of_sqlite_beside_points_in_time_and_other_texts(tmp_path, declared, imputed):
    texts = ["2024-03-31", "2024-03-31 23:59:59", "2024-04-01T00:00", "NA", "soon", "2024-04-01 00:00Z", " ", None]
    file = File("sqlite", tmp_path / "file.db")
    file.create("dated", [("t", declared)], [[text] for text in texts])
    rules = make_rules([("t", "date")], (0, parse_time("date", "2024-03-31"), 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], nulls=("NA",), imputed=imputed),))
    certificate = verify_database(rules, of(file, "dated"))
    assert certificate.disagreeing == []
    assert certificate.by_cluster == {0: 2 if imputed is None else 5, 1: 1}
    assert {part.reason: part.rows for part in certificate.unlabelled} == {
        "text that is not a date": 2,
        **({"missing value": 3} if imputed is None else {}),
    }


HOSTILE = [
    "%s",
    ":p",
    "it's",
    "%(x)s",
    "?",
    '"',
    "`",
    "\\",
    "{{ 7*7 }}",
    "$1",
    "-- x",
    "*/",
    "a%b",
    "é\u0301",
    " ",
    "1",
]


def test_hostile_names_and_categories(database, fill):
    names = ["%s", ":p", 'it\'s "x"', "a%b`"]
    columns = [(name, "text") for name in names]
    rules = make_rules(columns, (0, tuple(HOSTILE[:8]), (1, ":p", 0, 1), (2, HOSTILE[9], 2, (3, tuple(HOSTILE), 3, 4))))
    rows = [[HOSTILE[(i + j) % len(HOSTILE)] for j in range(4)] for i in range(len(HOSTILE))]
    table = "%s :p"
    fill(table, [(name, database.types["text"]) for name in names], rows)
    certificate = verify_database(rules, of(database, f'"{table}"'))
    assert certificate.disagreeing == []
    assert certificate.rows == len(HOSTILE)
    assert certificate.boundary.left_out == 0


@fuzzed
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_drawn_rules_and_rows(database, data, seed):
    rules = data.draw(rule_sets(kinds=MIXED, floats=moderate_float, max_depth=3))
    rows = boundary_rows(rules, seed, 20)
    if database.dialect == "mysql":
        rows = [row for row in rows if all(not isinstance(v, float) or math.isfinite(v) for v in row)]
    declared = [(column.name, database.types[column.type]) for column in rules.columns]
    database.create("drawn", declared, [*rows, [None] * len(declared)])
    try:
        certificate = verify_database(rules, of(database, "drawn"))
    finally:
        database.drop("drawn")
    assert certificate.disagreeing == [], certificate.to_text()
    expected = Counter(route(rules, row) for row in rows)
    assert certificate.by_cluster == {
        cluster.index: expected[cluster.index] + (len(rules.nodes) == 1) for cluster in rules.by_size
    }


CASES = list(cases())


@pytest.mark.slow
@fuzzed
@given(data=st.data())
def test_drawn_types_of_columns(database, data):
    """The rule sets, values and column types of the conformance run."""
    kinds = [
        kind
        for kind in COLUMNS[ENGINES[database.dialect].title]
        if all("IF NOT EXISTS" in text for text in kind.before)
    ]
    kind = data.draw(st.sampled_from(kinds))
    case = data.draw(st.sampled_from([c for c in CASES if all(applies(column, kind) for column in c.rules.columns)]))
    refused = (refusal_of(database.dialect, column, "ordinary", str(kind), "typed") for column in case.rules.columns)
    if any(refused) or kind.declared == "YEAR":  # which MariaDB compares with years of two digits
        reject()
    check_type(database, kind, case)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in COLUMNS["SQLite"] if isinstance(kind.holds, Times)], ids=str)
def test_every_rule_set_on_times_in_every_type_of_sqlite(kind, tmp_path):
    """Its types hold any text: the values that are read depend on the declared type, and on the rules."""
    fitting = [case for case in CASES if all(applies(column, kind) for column in case.rules.columns)]
    assert {column.type for case in fitting for column in case.rules.columns} >= {"date", "timestamp"}
    for case in fitting:
        check_type(File("sqlite", tmp_path / f"{case.name}.db"), kind, case)


def check_type(database, kind, case):
    """Check the verified content of a database with a column of some type against the values put in."""
    block = block_of(case, kind, 0)
    for statement in kind.before:
        database.query(statement)
    database.create("drawn", [(name, kind.declared) for name in block.names.values()], block.rows)
    try:
        certificate = verify_database(case.rules, of(database, "drawn"), block.names)
    finally:
        database.drop("drawn")
    assert certificate.disagreeing == [], certificate.to_text()
    expected = Counter(block.expected())
    assert {cluster: rows for cluster, rows in certificate.by_cluster.items() if rows} == {
        cluster: rows for cluster, rows in expected.items() if cluster is not None
    }
    assert sum(part.rows for part in certificate.unlabelled) == expected[None]


# Real tables ---------------------------------------------------------------------------------------


def load(database, fill, path, name, **options):
    table = read_table(path, **options)
    cells = [np.where(column.absent, None, column.values.astype(object)).tolist() for column in table.columns]
    declared = [(column.name, database.types[column.type]) for column in table.columns]
    fill(name, declared, list(zip(*cells, strict=True)))


def test_wines(database, fill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("sample", "wine", "-o", "wine.csv").exit_code == 0
    load(database, fill, "wine.csv", "wines")
    reading = ["--database", database.url, "--table", "wines"]
    assert call("fit", *reading, "-k", "3", "-o", "rules.json").exit_code == 0
    done = call("verify", "rules.json", *reading, "-o", "certificate.txt")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "certificate.txt").read_text() == done.stdout
    assert "178 rows, 0 mismatches" in done.stdout
    assert call("verify", "rules.json", *reading, "--sample", "20", "-o", "certificate.json").exit_code == 0
    written = json.loads((tmp_path / "certificate.json").read_text())
    assert (written["agrees"], written["rows"], written["table"]) == (True, 20, "wines")
    assert re.fullmatch("[0-9a-f]{64}", written["rules_sha256"])


@pytest.mark.slow
def test_customers(database, fill, shared_data, tmp_path, monkeypatch):
    """Text, truth values and missing values of a real table."""
    monkeypatch.chdir(tmp_path)
    load(database, fill, shared_data / "telco_customer_churn.csv", "telco", null=[""])
    reading = ["--database", database.url, "--table", "telco"]
    chosen = ["--exclude", "customerID", "--impute", "median", "--sample", "1500"]
    done = call("fit", *reading, "-k", "4", *chosen, "-o", "rules.json")
    assert done.exit_code == 0, done.output
    done = call("verify", "rules.json", *reading)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("7,043 rows, 0 mismatches") == len(LABELLING_STYLES)

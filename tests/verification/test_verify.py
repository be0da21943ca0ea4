"""Comparing every form of the rules with the tree finds the differences, and nothing else."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import call
from rulesets import balanced_rules, chain_rules, example_of_categories, example_rules, make_rules, text_rules
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from shallowrules.errors import DataError, MissingExtraError, OptionError
from shallowrules.exporters import sql
from shallowrules.models.estimator import ExplainableKMeans
from shallowrules.rules import Cut, RuleSet
from shallowrules.rules.boundary import boundary_table
from shallowrules.sources import file_relation, read_table
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.verification import runners, walk
from shallowrules.verification import verify as verify_forms
from shallowrules.verification.comparing import SEVERAL

FORMS = [
    "RuleSet.assign",
    "Python, flat",
    "Python, ordered",
    "Python, nested",
    "Python, vectorized",
    *(f"SQL, {dialect}, {style}" for dialect in ("duckdb", "sqlite") for style in sql.LABELLING_STYLES),
]


EXPORTERS = ("python", "sql")


def verify(*arguments, **options):
    """Compare the forms that need no other program."""
    return verify_forms(*arguments, **{"exporters": EXPORTERS, **options})


def random_table(rules, n_rows=200, dtype=np.float64):
    generator = np.random.default_rng(0)
    columns = {}
    for column in rules.columns:
        if column.type == "integer":
            columns[column.name] = generator.integers(-10, 2000, n_rows)
        elif column.type in ("text", "boolean"):
            columns[column.name] = generator.choice(np.array([*column.values, None], object), n_rows)
        else:
            columns[column.name] = generator.normal(0, 10, n_rows).astype(dtype)
    return columns


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "rules",
    [
        example_rules(),
        example_of_categories(),
        balanced_rules(40),
        chain_rules(30),
        make_rules([("a", "integer"), ("b", "float")], (0, 2**53 + 1, 0, (1, 1e22, 1, 2))),
        make_rules([("x", "float")], (0, 0.1, 0, 1)),
        make_rules([("i", "integer")], (0, 2**63 - 2, 0, (0, 2**63 - 1, 1, 2))),
        make_rules([("a", "float")], 3),
    ],
    ids=["example", "categories", "balanced", "chain", "large numbers", "a tenth", "the last integer", "single leaf"],
)
def test_all_forms_agree(rules, dtype):
    found = list(verify(rules, random_table(rules, dtype=dtype)))
    assert [comparison.form for comparison in found] == FORMS
    for comparison in found:
        assert comparison.disagreements == 0
        assert comparison.first is None
        assert comparison.rows >= 200


def test_missing_values_of_either_kind():
    rules = make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))
    x = Column("x", "float", np.array([0.1, np.nan, 0.1, 0.7]), np.array([False, False, True, False]))
    i = Column("i", "integer", np.array([1, 1, 1, 1]), np.array([False, False, False, True]))
    table = Table((x, i), 4)
    assert walk(rules, table).tolist() == [0, -1, -1, -1]
    assert all(comparison.disagreements == 0 for comparison in verify(rules, table))


def test_nan_in_a_parquet_file_is_seen_on_the_file_itself(tmp_path, monkeypatch):
    rules = make_rules([("x", "float")], (0, 0.5, 0, (0, 3.0, 1, 2)))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0, math.nan, 5.0, 0.25, math.nan]}), path)
    table, relation = read_table(path), file_relation(path)
    assert all(comparison.disagreements == 0 for comparison in verify(rules, table, relation=relation))
    duckdb = sql.DIALECTS["duckdb"]
    monkeypatch.setitem(sql.DIALECTS, "duckdb", replace(duckdb, nan=replace(duckdb.nan, finite=None, infinite=None)))
    wrong = [comparison for comparison in verify(rules, table, relation=relation) if comparison.disagreements]
    assert [(comparison.form, comparison.disagreements) for comparison in wrong] == [
        ("SQL, duckdb, on the file itself", 2)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_a_form_that_rounds_fractions_is_found(monkeypatch, dialect):
    """DuckDB and SQLite did this to text in a column of whole numbers before fractions were compared as they are."""
    rules = text_rules(1)
    table = {"n": np.array(["0", "1", "2", "NA", None], object)}
    assert all(comparison.disagreements == 0 for comparison in verify(rules, table))
    facts = sql.DIALECTS[dialect]
    fact, exact, rounded = {"duckdb": ("to_double", "DOUBLE", "BIGINT"), "sqlite": ("either", "NUMERIC", "INTEGER")}[
        dialect
    ]
    template = getattr(facts.numbers, fact)
    rounding = {fact: template.replace(exact, rounded)}
    assert rounding != {fact: template}
    monkeypatch.setitem(sql.DIALECTS, dialect, replace(facts, numbers=replace(facts.numbers, **rounding)))
    wrong = [comparison for comparison in verify(rules, table) if comparison.disagreements]
    assert [comparison.form for comparison in wrong] == [f"SQL, {dialect}, {style}" for style in sql.LABELLING_STYLES]
    assert wrong[0].first.origin.startswith("boundary row as text ")
    assert (wrong[0].first.values, wrong[0].first.expected, wrong[0].first.found) == ({"n": " 1.4"}, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [1, 2**53 + 1, 0.5])
def test_sql_that_takes_a_text_for_a_number_is_found(monkeypatch, bound):
    """DuckDB's own cast reads +-1 as -1, and 1_0 as 10."""
    rules = text_rules(bound)
    table = {"n": np.array(["0", "1", "NA", None], object)}
    facts = sql.DIALECTS["duckdb"]
    monkeypatch.setitem(sql.DIALECTS, "duckdb", replace(facts, numbers=replace(facts.numbers, is_number=None)))
    found = list(verify(rules, table))
    [first, *_] = wrong = [comparison for comparison in found if comparison.disagreements]
    assert {comparison.form for comparison in wrong} <= {f"SQL, duckdb, {style}" for style in sql.LABELLING_STYLES}
    if bound < 2**53:
        assert first.first.origin.endswith("not a number 1")
        assert (first.first.values, first.first.expected, first.first.found) == ({"n": " +-1"}, None, 0)


def test_sql_that_imputes_what_is_no_number_is_found(monkeypatch):
    rules = text_rules(1, imputed=7)
    table = {"n": np.array(["0", "1", "NA", None], object)}
    assert all(comparison.disagreements == 0 for comparison in verify(rules, table))
    imputing = replace(rules, columns=(replace(rules.columns[0], nulls=("NA", "-9", "abc")),))
    predicates, export = runners.sql.cluster_predicates, runners.sql.export

    def wrong(rules, name, **options):
        return export(imputing if name == "sql" else rules, name, **options)

    monkeypatch.setattr(runners.sql, "export", wrong)
    monkeypatch.setattr(runners.sql, "cluster_predicates", lambda rules, **options: predicates(imputing, **options))
    found = [comparison for comparison in verify(rules, table) if comparison.disagreements]
    assert {comparison.form.split(",")[0] for comparison in found} == {"SQL"}
    assert all(comparison.first.origin.partition("not a number")[1] for comparison in found)
    assert {(comparison.first.values["n"], comparison.first.found) for comparison in found} == {(" abc", 1)}


@pytest.mark.parametrize("bound", [0, -7, 2**53 + 1])
@pytest.mark.parametrize("imputed", [None, 3])
def test_whole_numbers_read_from_text_agree(bound, imputed):
    rules = text_rules(bound, imputed)
    table = {"n": np.array(["0", "1", "NA", None], object)}
    assert all(comparison.disagreements == 0 for comparison in verify(rules, table))


def test_boundary_rows_are_on_and_beside_every_threshold():
    rules = make_rules([("x", "float"), ("i", "integer")], (0, 0.1, 0, (1, 3, 1, 2)))
    table = boundary_table(rules)
    x, i = table["x"], table["i"]
    near = {math.nextafter(0.1, -1), 0.1, math.nextafter(0.1, 1), -math.inf, math.inf}
    assert near <= set(x.values.tolist())
    assert {2, 3, 4, -(2**63), 2**63 - 1} <= set(i.values.tolist())
    assert np.isnan(x.values).any()
    assert x.missing is not None
    assert x.missing.any()
    assert i.absent.any()
    assert set(walk(rules, table).tolist()) == {-1, 0, 1, 2}


def test_boundary_rows_reach_every_leaf():
    rules = balanced_rules(64)
    labels = walk(rules, boundary_table(rules))
    assert set(labels.tolist()) == {-1, *range(7)}


def test_columns_that_no_rule_tests_do_not_matter():
    rules = make_rules([("x", "float"), ("unused", "float")], (0, 0.5, 0, 1))
    table = {"other": np.array(["text", "too"], object), "x": [0.1, 0.9]}
    assert all(comparison.disagreements == 0 for comparison in verify(rules, table))


def test_a_lacking_or_textual_column_is_refused():
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    with pytest.raises(DataError, match="no column 'x'"):
        list(verify(rules, {"y": [1.0]}))
    with pytest.raises(DataError, match="'x' is not numeric"):
        list(verify(rules, {"x": ["a"]}))


def shifted(rules, by):
    """Return the rules with every threshold moved, as an exporter's bug would."""
    nodes = tuple(
        replace(node, threshold=node.threshold + by) if isinstance(node, Cut) else node for node in rules.nodes
    )
    return RuleSet(rules.columns, nodes, rules.clusters, rules.statistics)


@pytest.mark.parametrize("exporter", ["python", "sql"])
def test_a_form_that_is_off_by_one_float_is_found(monkeypatch, exporter):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    wrong = shifted(rules, math.ulp(0.5))
    export = runners.sql.export

    def faulty(rules, name, **options):
        return export(wrong if name == exporter else rules, name, **options)

    predicates = runners.sql.cluster_predicates
    of = {"sql": wrong}.get(exporter, rules)
    monkeypatch.setattr(getattr(runners, exporter), "export", faulty)
    monkeypatch.setattr(runners.sql, "cluster_predicates", lambda rules, **options: predicates(of, **options))
    found = {comparison.form: comparison for comparison in verify(rules, {"x": [0.1, 0.9]})}
    for form, comparison in found.items():
        if form.lower().startswith(exporter):
            assert comparison.disagreements >= 1
            assert comparison.first.origin.startswith("boundary row ")
            assert comparison.first.values == {"x": math.nextafter(0.5, 1)}
            assert (comparison.first.expected, comparison.first.found) == (1, 0)
        else:
            assert comparison.disagreements == 0


def test_overlapping_predicates_are_found(monkeypatch):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))

    def overlapping(rules, **options):
        found = predicates(rules, **options)
        return {cluster: re.sub(r"> (CAST\(.*?\)|\S+)", "> 0.4", predicate) for cluster, predicate in found.items()}

    predicates = runners.sql.cluster_predicates
    monkeypatch.setattr(runners.sql, "cluster_predicates", overlapping)
    found = {comparison.form: comparison for comparison in verify(rules, {"x": [0.1, 0.45]}, ["sqlite"])}
    where = found["SQL, sqlite, where"]
    assert where.disagreements >= 1
    assert where.first.origin == "row 2"
    assert where.first.found == SEVERAL


def test_names_that_look_like_comments_make_no_difference():
    rules = make_rules(
        [('a\n-- cluster 1: "x"', "float"), ("it's `b` -- ", "float")], (0, 0.5, 0, (1, 0.25, 1, 2)), {1: "x\n-- y"}
    )
    assert all(comparison.disagreements == 0 for comparison in verify(rules, random_table(rules)))


def test_dialects_that_cannot_be_run_are_refused():
    with pytest.raises(OptionError, match="'oracle'; .* duckdb, sqlite, postgres, mysql, clickhouse, spark"):
        list(verify(example_rules(), random_table(example_rules()), ["oracle"]))


def test_without_a_dialect_there_is_no_sql():
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    assert [each.form for each in verify(rules, {"x": [0.1]}, [], exporters=["sql"])] == ["RuleSet.assign"]


def test_without_duckdb_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    with pytest.raises(MissingExtraError, match=r"shallowrules\[cli\]"):
        list(verify(rules, {"x": [0.1]}))
    assert len(list(verify(rules, {"x": [0.1]}, ["sqlite"]))) == 5 + len(sql.LABELLING_STYLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "avila", "letter"])
def test_all_forms_agree_on_real_tables(name, request):
    if name == "wine":
        X, k = load_wine().data, 3
    else:
        with np.load(request.getfixturevalue("shared_data") / f"{name}.npz", allow_pickle=False) as stored:
            X, k = stored["X"], int(stored["k"])
    model = ExplainableKMeans(clusterer=KMeans(k, n_init=1, random_state=0)).fit(X)
    table = Table.of(X)
    np.testing.assert_array_equal(walk(model.rules_, table), model.labels_)
    np.testing.assert_array_equal(walk(model.rules_, table), model.tree_.predict(X))
    for comparison in verify(model.rules_, table):
        assert comparison.rows > len(X)
        assert comparison.disagreements == 0


def test_what_was_compared_is_shown_where_duckdb_reads_the_file_otherwise(tmp_path, monkeypatch):
    """DuckDB reads a column that contains +3 as text."""
    monkeypatch.chdir(tmp_path)
    make_rules([("n", "float")], (0, 5.0, 0, 1)).to_json("rules.json")
    (tmp_path / "t.csv").write_text("n\n" + "007\n+3\n12\n" * 20)
    result = call("verify", "rules.json", "t.csv")
    assert result.exit_code == 3
    for form in ("RuleSet.assign", "Python, flat", "Python, vectorized", "SQL, duckdb, case", "SQL, sqlite, case"):
        assert re.search(rf"{form} +\d+ +0\b", result.stdout)
    assert len(result.stderr.splitlines()) == 1
    assert all(part in result.stderr for part in ("'n' as VARCHAR", "read_csv(…, types={'n': 'DOUBLE'})"))

"""Columns of truth values: the words of a CSV file, and their form in databases."""

from __future__ import annotations

import csv
from decimal import Decimal

import numpy as np
import pytest
from commandline import call
from databases import marked
from rulesets import make_rules

from shallowrules import RuleSet, export
from shallowrules.sources import read_table
from shallowrules.verification.engines import ENGINES

N_ROWS = 60
WORDS = [("TRUE", "FALSE"), ("true", "False"), ("t", "f"), ("T", "F")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def truths():
    return [row % 3 == 0 for row in range(N_ROWS)]


def write_visits(words, path="visits.csv", **columns):
    """Write a table of visits, whose clusters follow from its column revenue."""
    generator = np.random.default_rng(0)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["pages", "revenue", *columns])
        pages = generator.normal(0, 1, N_ROWS).round(3)
        revenue = [words[not truth] for truth in truths()]
        writer.writerows(zip(pages, revenue, *columns.values(), strict=True))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("words", WORDS)
def test_rules_test_truth_values_and_it_is_said(words):
    write_visits(words)
    result = call("fit", "visits.csv", "-k", "2", "-o", "rules.json", "--force")
    assert result.exit_code == 0
    assert "the only values are true and false in 'revenue': read as truth values, not as text" in result.stderr
    rules = RuleSet.from_json("rules.json")
    assert [column.type for column in rules.columns] == ["float", "boolean"]
    assert rules.tested_columns == (1,)
    assert call("verify", "rules.json", "visits.csv").exit_code == 0
    assert call("label", "rules.json", "visits.csv", "-o", "out.csv").exit_code == 0
    with open("out.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["revenue"] for row in rows} == set(words)
    assert [int(row["cluster"]) for row in rows] == rules.assign(read_table("visits.csv")).tolist()


def test_missing_truth_values_are_imputed():
    asked = ["NA" if row % 7 == 0 else "f" if row % 2 else "T" for row in range(N_ROWS)]
    write_visits(("true", "false"), asked=asked)
    result = call("fit", "visits.csv", "-k", "2", "--null", "NA", "--impute", "median", "-o", "rules.json", "--force")
    assert result.exit_code == 0, result.stderr
    rules = RuleSet.from_json("rules.json")
    assert [column.type for column in rules.columns] == ["float", "boolean", "boolean"]
    assert rules.columns[2].imputed is not None


def test_labels_that_are_truth_values_keep_their_words():
    labels = ["yes" if truth else "no" for truth in truths()]
    write_visits(("true", "false"), bought=labels)
    write_visits(("true", "false"), "words.csv", bought=[{"yes": "TRUE", "no": "FALSE"}[label] for label in labels])
    for path, names in (("visits.csv", ["no", "yes"]), ("words.csv", ["FALSE", "TRUE"])):
        assert call("fit", path, "--labels", "bought", "-o", "rules.json", "--force").exit_code == 0
        assert [cluster.name for cluster in RuleSet.from_json("rules.json").clusters] == names


def test_rules_over_text_read_the_words_as_text():
    """As in rules files from earlier versions, and in rules over a dataframe of texts."""
    write_visits(("TRUE", "maybe"))
    assert call("fit", "visits.csv", "-k", "2", "-o", "rules.json", "--force").exit_code == 0
    rules = RuleSet.from_json("rules.json")
    assert rules.columns[1].type == "text"
    write_visits(("TRUE", "FALSE"))
    assert call("label", "rules.json", "visits.csv", "-o", "out.csv").exit_code == 0
    expected = rules.assign(read_table("visits.csv", as_text=["revenue"]))
    assert read_table("out.csv")["cluster"].values.tolist() == expected.tolist()


# In a database -----------------------------------------------------------------------------------------

HELD = {"BOOLEAN": "boolean", "0 and 1": "integer", "text": "text", "other words": "text"}
"""How a database may hold the column, and in which of its types."""


def held(how, truth):
    return {"BOOLEAN": truth, "0 and 1": int(truth), "text": str(truth).upper(), "other words": "tf"[not truth]}[how]


@pytest.mark.slow
@pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)
def test_the_database_gives_the_clusters_of_the_tree(engine):
    write_visits(("TRUE", "FALSE"))
    assert call("fit", "visits.csv", "-k", "2", "-o", "rules.json", "--force").exit_code == 0
    rules = RuleSet.from_json("rules.json")
    table = read_table("visits.csv")
    pages = table["pages"].values.tolist()
    rows = [(page, *(held(how, truth) for how in HELD)) for page, truth in zip(pages, truths(), strict=True)]
    declared = [(how, engine.types[kind]) for how, kind in HELD.items()]
    engine.create("visits", [("pages", engine.types["float"]), *declared], rows)
    try:
        options = {how: {"dialect": engine.dialect, "columns": {"revenue": how}} for how in HELD}
        cases = [export(rules, "sql", style="case", **each) for each in options.values()]
        found = engine.query(f"SELECT {', '.join([engine.quote('pages'), *cases])} FROM visits")
        expected = zip(pages, *[rules.assign(table).tolist()] * len(HELD), strict=True)
        assert sorted((float(page), *map(int, clusters)) for page, *clusters in found) == sorted(expected)
        for how in ["BOOLEAN"] if engine.dialect == "spark" else HELD:
            check = engine.query(export(rules, "sql", style="check", table="visits", **options[how]))
            assert [(finding, int(float(count)), int(training)) for finding, _, count, training, *_ in check] == [
                *(("rows of a cluster", cluster.rows, cluster.rows) for cluster in rules.by_size),
                ("rows without a cluster", 0, 0),
            ]
    finally:
        engine.drop("visits")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_truth_values_in_decimals(engine):
    rules = make_rules([("b", "boolean")], (0, True, 0, 1))
    values = [Decimal("1.00"), Decimal("0.00"), Decimal("0.01"), Decimal("2.00"), Decimal("-1.00"), None]
    kinds = ["DECIMAL(12,2)", "DECIMAL(38,9)", "DECIMAL(38,30)"]
    declared = [(f"b{j}", kind) for j, kind in enumerate(kinds)]
    engine.create("truths", [("i", "INT"), *declared], [(i, *[value] * len(kinds)) for i, value in enumerate(values)])
    cases = [export(rules, "sql", dialect="spark", style="case", columns={"b": name}) for name, _ in declared]
    try:
        found = engine.query(f"SELECT i, {', '.join(cases)} FROM truths ORDER BY i")
    finally:
        engine.drop("truths")
    assert [labels for _, *labels in found] == [["0"] * 3, ["1"] * 3, *[[None] * 3] * 4]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["mysql"], indirect=True)
def test_no_year_is_a_truth_value(engine):
    """MariaDB takes the year 2001 as equal to 1, but no year is a truth value."""
    engine.create("years", [("b", "YEAR")], [("2001",), ("2000",), ("0000",), (None,)])
    case = export(make_rules([("b", "boolean")], (0, True, 0, 1)), "sql", dialect="mysql", style="case")
    try:
        assert engine.query(f"SELECT b, {case} FROM years") == [
            ("2001", None),
            ("2000", None),
            ("0000", "1"),
            (None, None),
        ]
    finally:
        engine.drop("years")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "named"),
    # Spark is asked for few of the names: each query takes it seconds.
    [
        (engine, name)
        for name in ("visits", "labels", "Counts", "training")
        for engine in ENGINES
        if engine != "spark" or name in ("Counts", "training")
    ],
    indirect=["engine"],
)
def test_check_shows_what_is_wrong_with_a_table(engine, named):
    rules = make_rules([("kind", "text"), ("x", "float")], (0, "A", 0, (1, 0.5, 1, 2)), {1: "it's"})
    rows = [("A", 1.0), ("new", 0.25), ("new", None), ("other", 0.25), (None, 0.25)]
    engine.create(named, [("kind", engine.types["text"]), ("x", engine.types["float"])], rows)
    try:
        found = engine.query(export(rules, "sql", dialect=engine.dialect, style="check", table=named))
    finally:
        engine.drop(named)
    titles = [("rows of a cluster", cluster.title) for cluster in rules.by_size]
    counts = {0: 1, 1: 2, 2: 0}
    assert [(finding, value, int(float(count))) for finding, value, count, *_ in found] == [
        *((*title, counts[cluster.index]) for title, cluster in zip(titles, rules.by_size, strict=True)),
        ("rows without a cluster", "-", 2),
        ("new value in kind", "new", 2),
        ("new value in kind", "other", 1),
    ]
    shares = [float(share) for finding, _, _, _, share, _ in found if finding.startswith("rows") and share is not None]
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"], indirect=True)
def test_check_of_many_clusters(engine):
    """SQLite puts at most 500 SELECTs together."""
    n_clusters = 620
    tree = n_clusters - 1
    for cluster in reversed(range(n_clusters - 1)):
        tree = (0, float(cluster), cluster, tree)
    rules = make_rules([("x", "float")], tree)
    engine.create("visits", [("x", engine.types["float"])], [(float(cluster),) for cluster in range(n_clusters)] * 2)
    try:
        found = engine.query(export(rules, "sql", dialect=engine.dialect, style="check", table="visits"))
    finally:
        engine.drop("visits")
    assert [(value, int(float(count)), int(training)) for _, value, count, training, *_ in found[:-1]] == sorted(
        ((cluster.title, 2, cluster.rows) for cluster in rules.clusters), key=lambda row: (-row[2], row[0])
    )
    assert found[-1][:3] == ("rows without a cluster", "-", "0")

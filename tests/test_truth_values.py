"""Columns of truth values: the words of a CSV file, and what databases make of them."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from commandline import call
from rulesets import make_rules

from shallowrules import RuleSet, export
from shallowrules.sources import read_table

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


@pytest.mark.parametrize("words", WORDS)
def test_rules_test_truth_values_and_it_is_said(words):
    write_visits(words)
    result = call("fit", "visits.csv", "-k", "2", "-o", "rules.json")
    assert result.exit_code == 0
    assert "nothing but true and false is in 'revenue': read as truth values, not as text" in result.stderr
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
    result = call("fit", "visits.csv", "-k", "2", "--null", "NA", "--impute", "median", "-o", "rules.json")
    assert result.exit_code == 0, result.stderr
    rules = RuleSet.from_json("rules.json")
    assert [column.type for column in rules.columns] == ["float", "boolean", "boolean"]
    assert rules.columns[2].imputed is not None


def test_labels_that_are_truth_values_keep_their_words():
    labels = ["yes" if truth else "no" for truth in truths()]
    write_visits(("true", "false"), bought=labels)
    write_visits(("true", "false"), "words.csv", bought=[{"yes": "TRUE", "no": "FALSE"}[label] for label in labels])
    for path, names in (("visits.csv", ["no", "yes"]), ("words.csv", ["FALSE", "TRUE"])):
        assert call("fit", path, "--labels", "bought", "-o", "rules.json").exit_code == 0
        assert [cluster.name for cluster in RuleSet.from_json("rules.json").clusters] == names


def test_rules_over_text_read_the_words_as_text():
    """As rules files that were written earlier do, and rules over a dataframe of texts."""
    write_visits(("TRUE", "maybe"))
    assert call("fit", "visits.csv", "-k", "2", "-o", "rules.json").exit_code == 0
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


EACH_ENGINE = pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgres", "mysql", "clickhouse"], indirect=True)


@pytest.mark.slow
@EACH_ENGINE
@pytest.mark.parametrize("how", HELD)
def test_the_database_gives_the_clusters_of_the_tree(engine, how):
    write_visits(("TRUE", "FALSE"))
    assert call("fit", "visits.csv", "-k", "2", "-o", "rules.json").exit_code == 0
    rules = RuleSet.from_json("rules.json")
    table = read_table("visits.csv")
    pages = table["pages"].values.tolist()
    rows = [(page, held(how, truth)) for page, truth in zip(pages, truths(), strict=True)]
    engine.create("visits", [("pages", engine.types["float"]), ("revenue", engine.types[HELD[how]])], rows)
    try:
        case = export(rules, "sql", dialect=engine.dialect, style="case")
        found = engine.query(f"SELECT {engine.quote('pages')}, {case} FROM visits")
        expected = sorted(zip(pages, rules.assign(table).tolist(), strict=True))
        assert sorted((float(page), int(cluster)) for page, cluster in found) == expected
        check = engine.query(export(rules, "sql", dialect=engine.dialect, style="check", table="visits"))
        # Engines promise no order of what UNION ALL puts together.
        assert sorted((finding, int(float(count)), int(training)) for finding, _, count, training, *_ in check) == [
            *sorted(("rows of a cluster", cluster.rows, cluster.rows) for cluster in rules.clusters),
            ("rows without a cluster", 0, 0),
        ]
    finally:
        engine.drop("visits")


@pytest.mark.slow
@EACH_ENGINE
@pytest.mark.parametrize("named", ["visits", "labels", "Counts"])
def test_check_shows_what_is_wrong_with_a_table(engine, named):
    rules = make_rules([("kind", "text"), ("x", "float")], (0, "A", 0, (1, 0.5, 1, 2)), {1: "it's"})
    rows = [("A", 1.0), ("new", 0.25), ("new", None), ("other", 0.25), (None, 0.25)]
    engine.create(named, [("kind", engine.types["text"]), ("x", engine.types["float"])], rows)
    try:
        found = engine.query(export(rules, "sql", dialect=engine.dialect, style="check", table=named))
    finally:
        engine.drop(named)
    counts = {(finding, value): int(float(count)) for finding, value, count, *_ in found}
    titles = {cluster.index: cluster.title for cluster in rules.clusters}
    assert counts == {
        ("rows of a cluster", titles[0]): 1,
        ("rows of a cluster", titles[1]): 2,
        ("rows of a cluster", titles[2]): 0,
        ("rows without a cluster", "-"): 2,
        ("new value in kind", "new"): 2,
        ("new value in kind", "other"): 1,
    }
    shares = [float(share) for finding, _, _, _, share, _ in found if finding.startswith("rows") and share is not None]
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)

"""Columns of truth values: the words of a CSV file, and what databases make of them."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from commandline import call

from shallowrules import RuleSet
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

"""The shift of each cluster's share since training, counted in a database and in files."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from commandline import call
from databases import File
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from rulesets import MIXED, as_columns, boundary_rows, make_rules, moderate_float, rule_sets

from shallowrules.errors import DataError, OptionError
from shallowrules.labelling.drift import (
    count_clusters,
    count_labels,
    measure_columns,
    measure_shifts,
    open_counted,
)
from shallowrules.labelling.totals import total_labels, total_rows
from shallowrules.sources import DatabaseRows, read_table
from shallowrules.tables.table import Table

pytest.importorskip("sqlalchemy")

RULES = make_rules([("kind", "text"), ("x", "float")], (0, "A", 0, (1, 0.5, 1, 2)), {1: "it's"})
ROWS = [("A", 1.0)] * 5 + [("b %s :p", 0.25)] * 2 + [("b %s :p", 0.75)] + [(None, 0.25), ("c", None)]
COUNTS = {0: 5, 1: 2, 2: 1, None: 2}


def test_values_that_training_did_not_have():
    rules = make_rules([("x", "float"), ("n", "integer"), ("kind", "text"), ("idle", "float")], TREE)
    x, n, kind, _idle = rules.columns
    table = {
        "x": [x.minimum, x.maximum, math.nextafter(x.minimum, -math.inf), math.inf, math.nan],
        "n": [n.minimum - 1, n.minimum, n.maximum, n.maximum + 1, 2**62],
        "kind": ["A", "B", "new", "new", "it's"],
    }
    found = measure_columns(rules, Table.of(table))
    figures = [(s.column.name, s.missing, s.below, s.above, s.unseen, s.examples) for s in found]
    assert figures == [
        ("x", 1, 1, 1, 0, ()),
        ("n", 0, 1, 2, 0, ()),
        ("kind", 0, 0, 0, 3 + ("B" not in kind.values), figures[2][5]),
    ]
    assert figures[2][5][0] == "new"
    assert found[1].sentences() == [
        f"column 'n': 1 row (20.0%) with a value below {n.minimum}, the minimum in training",
        f"column 'n': 2 rows (40.0%) with a value above {n.maximum}, the maximum in training",
    ]
    assert found[0].sentences()[-1] == "column 'x': 1 row (20.0%) with no value"
    with pytest.raises(DataError, match="there are no rows"):
        measure_columns(rules, Table.of({name: np.array(values)[:0] for name, values in table.items()}))


TREE = (0, 0.5, (1, 3, 0, 1), (2, "A", 2, 3))


@given(rule_sets(kinds=MIXED), st.integers(0, 999))
def test_new_values_are_counted_row_by_row(rules, seed):
    rows = boundary_rows(rules, seed, 25)
    shifts = measure_columns(rules, Table.of(as_columns(rules, rows)))
    assert [shift.column for shift in shifts] == [rules.columns[feature] for feature in rules.tested_columns]
    for shift in shifts:
        values = [row[rules.columns.index(shift.column)] for row in rows]
        present = [value for value in values if value is not None and value == value]
        assert shift.missing == 25 - len(present)
        if shift.column.is_numeric:
            assert shift.below == sum(value < shift.column.minimum for value in present)
            assert shift.above == sum(value > shift.column.maximum for value in present)
        else:
            assert shift.unseen == sum(value not in shift.column.values for value in present)


@pytest.fixture
def filled(database, fill, tmp_path, monkeypatch):
    """Return a database with the table ``visits``; the rules, and the rows as CSV, are beside it."""
    monkeypatch.chdir(tmp_path)
    fill("visits", [("kind", database.types["text"]), ("x", database.types["float"])], ROWS)
    RULES.to_json("rules.json")
    with open("visits.csv", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("kind", "x"), *ROWS])
    return database


def count_in_database(rules, rows):
    with open_counted(rows) as source:
        return count_labels(rules, source, {})


def test_a_database_counts_what_the_tree_says(filled):
    rows = DatabaseRows(filled.url, "visits")
    assert count_in_database(RULES, rows) == COUNTS
    assert count_clusters(RULES.assign(read_table(rows))) == COUNTS
    with pytest.raises(OptionError, match="read the rows"):
        count_in_database(RULES, DatabaseRows(filled.url, query="SELECT * FROM visits"))


SUMS = [10, 2.5, -3, None, 0, 7, 1e6, None, 0.1, 4]
"""Of the rows above, in their order."""


def test_a_database_adds_up_what_the_tree_says(database, fill):
    types = database.types
    columns = [("kind", types["text"]), ("x", types["float"]), ("paid", types["float"]), ("units", types["integer"])]
    fill("visits", columns, [(*row, paid, i) for i, (row, paid) in enumerate(zip(ROWS, SUMS, strict=True))])
    rows = DatabaseRows(database.url, "visits")
    table = read_table(rows)
    for measure in ("paid", "units"):
        expected = total_rows(table[measure], RULES.assign(table))
        with open_counted(rows) as source:
            counts, totals = total_labels(RULES, source, measure, {})
        assert counts == COUNTS
        assert {**dict.fromkeys(totals.sums, 0.0), **expected.sums} == pytest.approx(totals.sums)
        assert {**dict.fromkeys(totals.missing, 0), **expected.missing} == totals.missing
        shifts = measure_shifts(RULES, counts, totals)
        assert [shift.total for shift in shifts] == [totals.sums[shift.cluster] for shift in shifts]
        assert sum(shift.total_share for shift in shifts) == pytest.approx(1)
        assert {shift.total_trained for shift in shifts} == {None}


def test_the_command_says_how_far_and_which(filled):
    there = ["--database", filled.url, "--table", "visits"]
    shown = [
        call("drift", "rules.json", *there, "--max-shift", "100%"),
        call("drift", "rules.json", "visits.csv", "--max-shift", 1),
    ]
    query = ["--database", filled.url, "--query", "SELECT * FROM visits"]
    shown.append(call("drift", "rules.json", *query, "--max-shift", "1.0"))
    assert [done.exit_code for done in shown] == [0, 0, 0], [done.output for done in shown]
    assert len({done.stdout for done in shown}) == 1
    shares = {cluster.index: cluster.rows / RULES.statistics.rows for cluster in RULES.clusters}
    lines = [line.split() for line in shown[0].stdout.splitlines() if "%" in line]
    assert shown[0].stdout.splitlines()[-1] == "no share shifted by more than 100 percentage points"
    assert [line[-5:] for line in lines] == [
        *(
            [
                str(COUNTS[c.index]),
                f"{COUNTS[c.index] / 10:.1%}",
                f"{shares[c.index]:.1%}",
                f"{COUNTS[c.index] * 10 - 100 * shares[c.index]:+.1f}",
                "points",
            ]
            for c in RULES.by_size
        ),
        ["2", "20.0%", "0.0%", "+20.0", "points"],
    ]
    sizes = [abs(COUNTS[index] / 10 - share) for index, share in {**shares, None: 0.0}.items()]
    for most, status in ((max(sizes) + 0.001, 0), (max(sizes) - 0.001, 1), (0, 1)):
        assert call("drift", "rules.json", *there, "--max-shift", most).exit_code == status
    refused = call("drift", "rules.json", *there)
    assert refused.exit_code == 1
    assert "shifted by more than 5 percentage points: " in refused.stderr
    for cluster in RULES.by_size:
        is_moved = abs(COUNTS[cluster.index] / 10 - shares[cluster.index]) > 0.05
        assert (f"cluster {cluster.title}, {COUNTS[cluster.index] / 10:.1%} of rows (" in refused.stderr) == is_moved
    assert "rows without a cluster, 20.0% of rows (0.0% in training)" in refused.stderr


def test_another_name_of_a_column(filled, fill):
    fill("others", [("Art", filled.types["text"]), ("x", filled.types["float"])], ROWS)
    there = ["--database", filled.url, "--table", "others", "--max-shift", "1"]
    assert call("drift", "rules.json", *there, "--column", "kind=Art").exit_code == 0
    refused = call("drift", "rules.json", *there)
    assert refused.exit_code == 3
    assert "kind" in refused.stderr


@pytest.mark.parametrize("text", ["-1", "200%", "many", "1.5", ""])
def test_a_share_is_one(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RULES.to_json("rules.json")
    refused = call("drift", "rules.json", "visits.csv", "--max-shift", text)
    assert refused.exit_code == 2
    assert "use for example 5% or 0.05" in refused.stderr


def test_what_does_not_go_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RULES.to_json("rules.json")
    refused = call("drift", "rules.json", "visits.csv", "--column", "kind=Art")
    assert refused.exit_code == 2
    assert "--column is for a table of a database" in refused.stderr
    with pytest.raises(DataError, match="there are no rows"):
        measure_shifts(RULES, {})


@pytest.mark.slow
@draws(25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_any_rules_on_any_rows(tmp_path_factory, kind, data):
    rules = data.draw(rule_sets(floats=moderate_float, kinds=("float",)))
    values = st.one_of(st.none(), moderate_float)
    rows = data.draw(st.lists(st.tuples(*[values] * len(rules.columns)), min_size=1, max_size=8))
    database = File(kind, tmp_path_factory.mktemp("drift") / "file.db")
    database.create("t", [(column.name, database.types["float"]) for column in rules.columns], rows)
    found = DatabaseRows(database.url, "t")
    assert count_in_database(rules, found) == count_clusters(rules.assign(read_table(found)))

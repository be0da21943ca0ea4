"""Rows at the limits of the rules that people read: few, on both sides of each threshold, of every cluster."""

from __future__ import annotations

import numpy as np
from draws import draws
from hypothesis import given
from rulesets import MIXED, balanced_rules, example_of_categories, make_rules, rule_sets

from shallowrules.rules.boundary import boundary_table, table_of_rows, threshold_rows


def test_rows_on_both_sides_of_each_threshold_and_a_missing_value_in_each_column():
    rules = make_rules([("x", "float"), ("unused", "float"), ("i", "integer")], (0, 0.1, 0, (2, 3, 1, 2)))
    above = float(np.nextafter(0.1, 1))
    rows = threshold_rows(rules, 9)
    assert {row[0] for row in rows} == {0.1, above, None}
    assert {row[2] for row in rows} >= {3, 4, None}
    assert {0: above, 2: 3} in rows
    assert {0: above, 2: 4} in rows
    assert sum(None in row.values() for row in rows) == 2
    assert threshold_rows(rules, 1) == [rows[0], *[row for row in rows if None in row.values()][:1]]


def test_the_values_beside_a_threshold_are_those_of_its_type():
    rules = make_rules([("x", "float")], (0, 0.125, 0, 1))
    rows = threshold_rows(rules, 9, lambda column, number: (0.12, 0.13) if number == 0.125 else (number, number))
    assert {row[0] for row in rows} == {0.12, 0.13, None}


@draws(100)
@given(rules=rule_sets(kinds=MIXED))
def test_no_row_is_there_twice_and_the_limit_holds(rules):
    rows = [tuple(row.items()) for row in threshold_rows(rules, 8)]
    assert len(set(rows)) == len(rows)
    complete = [row for row in rows if all(value is not None for _, value in row)]
    assert len(complete) <= 8
    assert len(rows) - len(complete) <= min(8, len(rules.tested_columns))


def test_every_cluster_has_rows():
    for rules in (balanced_rules(32), example_of_categories()):
        labels = rules.assign(table_of_rows(rules, threshold_rows(rules, 50)))
        assert set(labels.tolist()) == {-1, *(cluster.index for cluster in rules.clusters)}


def test_a_rule_that_no_truth_value_meets_has_no_row_with_another_value():
    rules = make_rules([("paid", "boolean")], (0, True, 0, (0, False, 1, 2)))
    rows = [row[0] for row in threshold_rows(rules, 9)]
    assert rows == [True, False, None]
    assert set(boundary_table(rules)["paid"].values.tolist()) == {True, False, None}

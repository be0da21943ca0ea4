"""The changes between two sets of rules: in words, and exactly for a table's rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import MIXED, as_columns, boundary_rows, make_rules, rule_sets

from shallowrules.errors import DataError
from shallowrules.rules import ChangedRows, changes_between, match_clusters

COLUMNS = [("x", "float"), ("n", "integer"), ("city", "text")]
OLD = make_rules(COLUMNS, (0, 0.5, 0, (1, 3, 1, (2, "Bonn", 2, 3))))
MOVED = make_rules(COLUMNS, (0, 0.75, 0, (1, 3, 1, (2, "Bonn", 2, 3))))
RENUMBERED = make_rules(COLUMNS, (0, 0.5, 3, (1, 3, 1, (2, "Bonn", 2, 0))))
SHORTER = make_rules(COLUMNS, (0, 0.5, 0, (1, 4, 1, 2)))
TABLE = {"x": [0.1, 0.6, 0.6, 2.0, 2.0, np.nan], "n": [1, 1, 9, 9, 9, 1], "city": ["a", "a", "Bonn", "Bonn", "b", "a"]}


def test_moved_thresholds_and_rows(words):
    changes = changes_between(OLD, MOVED, TABLE)
    assert [change.cluster for change in changes.rules if change.old and change.new] == [0, 1, 2, 3]
    assert (changes.rows, changes.moved) == (6, (ChangedRows(1, 0, 1), ChangedRows(2, 0, 1)))
    assert str(changes).startswith(f"{changes_between(OLD, MOVED)}\n")
    words(str(changes))


def test_rules_columns_and_clusters_that_are_gone_or_new(words):
    changes = changes_between(OLD, SHORTER)
    kinds = [(change.cluster, change.old is not None, change.new is not None) for change in changes.rules]
    assert kinds == [(1, True, True), (2, False, True), (2, True, False), (3, True, False)]
    assert (changes.pairs, changes.unchanged) == ({0: 0, 1: 1, 2: 2}, 1)
    words([("shorter", f"{changes}"), ("longer", f"{changes_between(SHORTER, OLD)}")])


def test_other_numbers_for_the_same_rows_are_no_changes(words):
    changes = changes_between(OLD, RENUMBERED, TABLE)
    assert (changes.pairs, changes.rules, changes.moved) == ({0: 3, 1: 1, 2: 2, 3: 0}, (), ())
    assert changes
    words(str(changes))
    assert str(changes_between(OLD, RENUMBERED)) == "\n".join(str(changes).splitlines()[:3])


def test_nothing_and_names(words):
    same = changes_between(OLD, OLD, TABLE)
    assert not same
    assert (same.unchanged, same.rows) == (4, 6)
    words(str(same))
    named = changes_between(OLD.with_names({1: "One"}), OLD.with_names({1: "Uno\x1b"}))
    assert named
    words(str(named))
    with pytest.raises(DataError, match="no rows"):
        changes_between(OLD, MOVED, {name: np.array(values)[:0] for name, values in TABLE.items()})


def test_rules_that_have_nothing_in_common_are_not_matched_by_number(words):
    other = make_rules([("weight", "float")], (0, 1.5, 0, 1))
    changes = changes_between(OLD, other)
    assert changes.pairs == {}
    assert {change.cluster for change in changes.rules if change.new is None} == {0, 1, 2, 3}
    words(str(changes))
    assert changes_between(OLD, other, same_numbers=True).pairs == {0: 0, 1: 1}


def test_names_that_rules_gave_are_not_given_up_by_anybody(words):
    def named_by_rules(rules, names):
        clusters = tuple(replace(cluster, name=names[cluster.index], named_by_rules=True) for cluster in rules.clusters)
        return replace(rules, clusters=clusters)

    old = named_by_rules(OLD, dict(enumerate("abcd")))
    new = named_by_rules(MOVED, dict(enumerate("efgh")))
    assert "was called" not in str(changes_between(old, new))
    for one, other, was in ((old, new.with_names({0: "One"}), "'a'"), (old.with_names({0: "One"}), new, "'One'")):
        said = str(changes_between(one, other))
        assert was in said
        words(said)


def test_a_rule_that_takes_every_row(words):
    changes = changes_between(make_rules(COLUMNS, 0), SHORTER)
    assert [change.cluster for change in changes.rules if change.new is None] == [0]
    words(str(changes))


@draws(60)
@given(rule_sets(kinds=MIXED), st.data(), st.integers(0, 999))
def test_the_rows_that_change_are_those_whose_labels_differ(old, data, seed):
    new = data.draw(rule_sets(columns=[(column.name, column.type) for column in old.columns]))
    rows = as_columns(old, boundary_rows(old, seed, 30))
    before, now = old.assign(rows).tolist(), new.assign(rows).tolist()
    changes = changes_between(old, new, rows)
    stays = {-1: -1} | changes.pairs  # a row of a cluster that is gone moves, to no cluster too
    expected = Counter((one, other) for one, other in zip(before, now, strict=True) if stays.get(one) != other)
    found = {(-1 if m.old is None else m.old, -1 if m.new is None else m.new): m.rows for m in changes.moved}
    assert found == expected
    assert changes.rows == 30
    assert len(set(changes.pairs.values())) == len(changes.pairs)
    rules = {rule.leaf for change in changes.rules if (rule := change.new) is not None}
    assert len(rules) + changes.unchanged == len(new)
    gone = {rule.leaf for change in changes.rules if (rule := change.old) is not None}
    assert len(gone) + changes.unchanged == len(old)


@given(st.dictionaries(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), st.integers(1, 9), max_size=12))
def test_clusters_are_matched_to_share_the_most_rows(counts):
    pairs = match_clusters(counts)
    assert all(counts[pair] for pair in pairs.items())
    assert -1 not in pairs
    assert -1 not in pairs.values()
    shared = [sum(counts.get(pair, 0) for pair in enumerate(ways)) for ways in permutations(range(5))]
    assert sum(counts[pair] for pair in pairs.items()) == max(shared)


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    OLD.to_json("old.json")
    MOVED.to_json("new.json")
    (tmp_path / "t.csv").write_text("x,n,city\n0.1,1,a\n0.6,1,a\n0.6,9,Bonn\n2,9,Bonn\n2,9,b\n,1,a\n")
    assert call("diff", "old.json", "new.json").stdout == f"{changes_between(OLD, MOVED)}\n"
    assert call("diff", "old.json", "new.json", "t.csv").stdout == f"{changes_between(OLD, MOVED, TABLE)}\n"
    (tmp_path / "t.csv").write_text("x,n\n1,1\n2,2\n")
    assert "city" in refused("diff", "old.json", "new.json", "t.csv")

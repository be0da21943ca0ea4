"""The estimator adds up a column that it does not cluster: in memory and in parts alike."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from tablesinparts import a_frame, check_equal, cut

from shallowrules import ExplainableKMeans, RuleSet, fit_to_goal, tradeoff_path
from shallowrules.errors import DataError, OptionError, RulesFormatError
from shallowrules.models.pricing import edit_rules
from shallowrules.rules import RulePath


@pytest.fixture(scope="module")
def shop():
    """Return a table to cluster, the revenue of its rows with gaps, and weights, some of them 0."""
    frame = a_frame(400).drop(columns=["label", "copies"])
    rng = np.random.default_rng(7)
    revenue = pd.Series(rng.normal(size=len(frame)) * 10.0 ** rng.integers(-9, 10, len(frame)), name="revenue")
    revenue[rng.random(len(frame)) < 0.1] = np.nan
    return frame, revenue, np.round(rng.gamma(0.7, 1.0, len(frame)), 1)


def exact(values, weight):
    return float(sum((Fraction(v) * Fraction(w) for v, w in zip(values, weight, strict=True) if v == v), Fraction(0)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_totals_are_exact_and_of_the_rows_that_count(shop, weighted, labelled):
    frame, revenue, weight = shop
    labels = np.where(np.arange(len(frame)) % 9 == 0, None, (frame["amount"] > 6).map({True: "high", False: "low"}))
    model = ExplainableKMeans(4, clusterer=labels if labelled else None, random_state=0)
    model.fit(frame, sample_weight=weight if weighted else None, measure=revenue)
    counted = np.ones(len(frame), bool) if not labelled else np.array([label is not None for label in labels])
    times = weight if weighted else np.ones(len(frame))
    counted &= times > 0
    rules = model.rules_
    for cluster in rules.clusters:
        mine = counted & (model.labels_ == cluster.index)
        assert cluster.rows == mine.sum()
        assert cluster.total == exact(revenue[mine], times[mine])
        assert cluster.unmeasured == revenue[mine].isna().sum()
    assert rules.statistics.measure == "revenue"
    assert rules.statistics.total == exact(revenue[counted], times[counted])
    shares = [rules.statistics.share_of_total(cluster) for cluster in rules.clusters]
    assert math.isclose(sum(shares), 1)
    assert RuleSet.from_dict(rules.to_dict()) == rules
    plain = ExplainableKMeans(4, clusterer=labels if labelled else None, random_state=0)
    plain.fit(frame, sample_weight=weight if weighted else None)
    without = replace(
        rules,
        clusters=tuple(replace(cluster, total=None, unmeasured=0) for cluster in rules.clusters),
        statistics=replace(rules.statistics, measure=None, total=None),
    )
    assert plain.rules_ == without


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_parts", [1, 4])
def test_parts_are_equal_to_the_bit(shop, weighted, n_parts):
    frame, revenue, weight = shop
    frame = frame[["amount", "age"]]
    centers = KMeans(4, n_init=1, random_state=0).fit(frame).cluster_centers_
    names = {"measure": "revenue", "sample_weight": "w" if weighted else None}
    model = ExplainableKMeans(clusterer=centers, random_state=0)
    model.fit(frame, sample_weight=weight if weighted else None, measure=revenue)
    table = frame.assign(revenue=revenue, **({"w": weight} if weighted else {}))
    parts = ExplainableKMeans(random_state=0).fit_partitions(cut(table, n_parts), centers=centers, **names)
    check_equal(parts, model)
    assert parts.n_features_in_ == 2
    again = frame.assign(w=weight, revenue=revenue).sample(frac=1, random_state=5)
    shuffled = ExplainableKMeans(clusterer=centers, random_state=0, n_jobs=2)
    shuffled.fit(again[["amount", "age"]], sample_weight=again["w"] if weighted else None, measure=again["revenue"])
    assert [cluster.total for cluster in shuffled.rules_.clusters] == [c.total for c in model.rules_.clusters]


def test_the_name_and_what_does_not_go(shop):
    frame, revenue, _ = shop
    model = ExplainableKMeans(3, random_state=0)
    assert model.fit(frame, measure=revenue.to_numpy()).rules_.statistics.measure == "measure"
    for measure, message in (
        (revenue[:-1], "measure has 399 entries, X has 400 rows"),
        (revenue.rename("age"), "'age' has the name of a column of X"),
        (frame["kind"].rename("other"), "'other' cannot be added up: it holds text"),
        (revenue.fillna(math.inf), "is infinite in"),
    ):
        with pytest.raises(DataError, match=message):
            model.fit(frame, measure=measure)
    table = frame.assign(revenue=revenue.fillna(math.inf), word="a b")
    for names, error, message in (
        ({"measure": "nope"}, OptionError, "measure names a column 'nope'"),
        ({"measure": "age", "sample_weight": "age"}, OptionError, "'age' cannot be both the measure"),
        ({"measure": "kind"}, DataError, "'kind' cannot be added up: it was read as text"),
        ({"measure": "revenue"}, DataError, "infinity in column 'revenue'"),
    ):
        with pytest.raises(error, match=message):
            model.fit_partitions(cut(table, 2), **names)


def test_edits_paths_and_goals_keep_it(shop):
    frame, revenue, weight = shop
    numbers = frame[["amount", "age"]]
    model = ExplainableKMeans(4, random_state=0).fit(numbers, sample_weight=weight, measure=revenue)
    found = edit_rules(model.rules_, model, numbers, merge=[(0, 1)], sample_weight=weight, measure=revenue).after
    merged = np.isin(model.labels_, [0, 1]) & (weight > 0)
    totals = {cluster.index: cluster.total for cluster in found.clusters}
    assert totals[0] == exact(revenue[merged], weight[merged])
    assert {index: totals[index] for index in (2, 3)} == {c.index: c.total for c in model.rules_.clusters[2:]}
    assert found.with_numbers({0: 7}).clusters[-1].total == totals[0]
    goal = fit_to_goal(ExplainableKMeans(4, random_state=0), numbers, max_cost=3.0, measure=revenue)
    path = tradeoff_path(ExplainableKMeans(4, random_state=0), numbers, tradeoffs=[0.0, 0.4], measure=revenue)
    kept = RulePath.of([(tree.refine, tree.rules) for tree in path.rule_sets()])
    for rules in (goal.rules_, *(tree.rules for tree in RulePath.from_dict(kept.to_dict()))):
        assert rules.statistics.total == math.fsum(revenue.dropna())
        assert all(cluster.total is not None for cluster in rules.clusters)


def test_totals_that_contradict_one_another_are_refused(shop):
    frame, revenue, _ = shop
    rules = ExplainableKMeans(3, random_state=0).fit(frame, measure=revenue.abs()).rules_
    statistics, first = rules.statistics, rules.clusters[0]

    def refused(message, *, cluster=first, **changed):
        with pytest.raises(RulesFormatError, match=re.escape(message)):
            replace(rules, clusters=(cluster, *rules.clusters[1:]), statistics=replace(statistics, **changed))

    refused("a cluster has no total of 'revenue'", cluster=replace(first, total=None))
    refused("but the clusters give", cluster=replace(first, total=2 * first.total + 1))
    refused("but the clusters give", total=2 * statistics.total)
    refused("not from 0 to its rows", cluster=replace(first, unmeasured=first.rows + 1))
    refused("not from 0 to its rows", cluster=replace(first, unmeasured=-1))
    refused("which is a column of the rules", measure="age")
    refused("without all of these", measure=None)
    refused("without all of these", total=None)

"""Trees beside a fit, for the slider of a page: which are grown, within which bound; the fit stays the same."""

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.datasets import load_wine

from shallowrules import ExplainableKMeans, export, fit_to_goal
from shallowrules.models import sliding
from shallowrules.models.sliding import fit_table, sample_points
from shallowrules.models.tradeoff import TRADEOFFS


def unchanged(rules):
    return rules


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture
def model():
    return ExplainableKMeans(3, random_state=0, scale="minmax")


def test_the_fit_is_that_without_a_slider(wine, model):
    fit = fit_table(model, wine)
    trees = fit.slider(unchanged)
    alone = ExplainableKMeans(3, random_state=0, scale="minmax").fit(wine).rules_
    assert fit.model.rules_.to_json() == alone.to_json()
    again = fit_table(ExplainableKMeans(3, random_state=0, scale="minmax"), wine).slider(unchanged)
    assert trees.to_json() == again.to_json()
    assert export(alone, "html", path=trees) == export(alone, "html", path=again)


def test_no_tree_is_dearer_longer_and_of_more_rules_than_another(wine, model):
    fit = fit_table(model, wine)
    found = [(r.statistics.cost, r.statistics.waes, len(r)) for r in (tree.rules for tree in fit.slider(unchanged))]
    assert {n for *_, n in found} == {3, 4, 5}
    assert len(set(found)) == len(found)
    for i, one in enumerate(found):
        others = [each for j, each in enumerate(found) if j != i]
        assert not any(all(a <= b for a, b in zip(other, one, strict=True)) for other in others)
    assert [cost for cost, *_ in found] == sorted(cost for cost, *_ in found)


def test_a_tree_of_more_rules_gives_each_row_one_of_the_same_clusters(wine, model):
    for tree in fit_table(model, wine).slider(unchanged):
        labels = tree.rules.assign(wine)
        assert set(np.unique(labels)) == {0, 1, 2}
        assert [int((labels == cluster.index).sum()) for cluster in tree.rules.clusters] == [
            cluster.rows for cluster in tree.rules.clusters
        ]


def test_a_goal_keeps_the_trees_that_were_tried_for_it(wine, model):
    fit = fit_table(model, wine, max_conditions=1.7)
    alone = fit_to_goal(ExplainableKMeans(3, random_state=0, scale="minmax"), wine, max_conditions=1.7)
    assert fit.model.rules_.to_json() == alone.rules_.to_json()
    lengths = [tree.rules.statistics.waes for tree in fit.slider(unchanged)]
    assert alone.rules_.statistics.waes in lengths


def test_the_bound_leaves_fewer_trees_then_none(wine, model):
    fit = fit_table(model, wine)
    counts = []
    for values in (6e8, 9e6, 6e6, 0):
        with patch.object(sliding, "FREE_VALUES", values):
            counts.append(len(fit.tradeoffs()))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == len(TRADEOFFS) // 2
    assert counts[-1] == 0
    with patch.object(sliding, "FREE_VALUES", 0):
        assert fit.slider(unchanged) is None


def test_trees_of_many_clusters_are_fewer(wine, model):
    fit = fit_table(model, wine)
    found = [tree.rules.statistics.cost for tree in fit.slider(unchanged)]
    with patch.object(sliding, "MAX_CLUSTERS", 9):
        fewer = [tree.rules.statistics.cost for tree in fit.slider(unchanged)]
    assert len(found) > len(fewer) == 3
    assert (fewer[0], fewer[-1]) == (found[0], found[-1])


@pytest.mark.parametrize("options", [{"method": "imm"}, {"method": "exkmc", "max_leaves": 5}])
def test_a_method_without_a_tradeoff_has_no_slider(wine, options):
    assert fit_table(ExplainableKMeans(3, random_state=0, **options), wine).slider(unchanged) is None


@pytest.mark.parametrize("k", [1, 2, 3])
def test_points_are_rows_with_the_clusters_of_the_rules_and_no_values(wine, k):
    fit = fit_table(ExplainableKMeans(k, random_state=0, scale="minmax"), wine)
    points = sample_points(fit, 50)
    assert len(points) == 50
    assert points == sample_points(fit, 50)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y, _ in points)
    assert len({x for x, *_ in points}) > 20
    every = sample_points(fit, 10_000)
    assert [label for *_, label in every] == fit.model.labels_.tolist()


def test_rows_that_do_not_count_are_no_points(wine, model):
    weight = np.ones(len(wine))
    weight[::2] = 0
    fit = fit_table(model, wine, sample_weight=weight)
    assert [label for *_, label in sample_points(fit, 1000)] == fit.model.labels_[1::2].tolist()


def test_given_labels_and_weights_have_a_slider_of_as_many_rules_as_labels(wine):
    labels = load_wine().target
    weight = np.random.default_rng(0).integers(1, 4, len(wine)).astype(float)
    fit = fit_table(ExplainableKMeans(clusterer=labels, random_state=0, scale="minmax"), wine, sample_weight=weight)
    trees = fit.slider(unchanged)
    assert {len(tree.rules) for tree in trees} == {3}
    assert trees.is_of_one_table_with(fit.model.rules_)

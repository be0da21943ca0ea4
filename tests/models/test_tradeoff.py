"""The search over the trade-off: every tree worth considering, and the one that meets a goal."""

from __future__ import annotations

import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from charts import check_that_nothing_is_overprinted
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from shallowrules import ExplainableKMeans, fit_to_goal, tradeoff_path
from shallowrules.errors import DataError, MissingExtraError, OptionError, ShallowRulesWarning
from shallowrules.measures.metrics import partition_cost
from shallowrules.models.tradeoff import TRADEOFFS, TradeoffPath
from shallowrules.models.tradeoff_points import TradeoffPoint, non_dominated
from shallowrules.trees.tree import Tree


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return load_digits().data


@pytest.fixture(scope="module")
def clusterer(digits) -> KMeans:
    return KMeans(10, n_init=1, random_state=0).fit(digits)


@pytest.fixture(scope="module")
def path(digits, clusterer) -> TradeoffPath:
    return tradeoff_path(ExplainableKMeans(clusterer=clusterer), digits)


def test_twenty_tradeoffs_are_tried_the_default_among_them():
    assert len(TRADEOFFS) == 20
    assert list(TRADEOFFS) == sorted(TRADEOFFS)
    assert TRADEOFFS[0] == 0
    assert ExplainableKMeans().tradeoff in TRADEOFFS


@pytest.mark.slow
def test_every_tradeoff_has_a_tree_no_worse_than_a_model_of_its_own(digits, clusterer):
    path = tradeoff_path(ExplainableKMeans(clusterer=clusterer), digits, tradeoffs=TRADEOFFS)
    assert tuple(path.tradeoffs) == tuple(np.repeat(TRADEOFFS, 2))
    tried = list(zip(path.tradeoffs, path.costs, path.conditions, ["none", "full"] * len(TRADEOFFS), strict=True))
    for tradeoff, cost, conditions, refine in tried[::5]:
        alone = ExplainableKMeans(clusterer=clusterer, tradeoff=tradeoff, refine=refine).fit(digits)
        own, theirs = cost + tradeoff * conditions, alone.normalized_cost_ + tradeoff * alone.waes_
        assert own == pytest.approx(theirs, rel=1e-12) if refine == "none" else own <= theirs * (1 + 1e-12)
    # The trees of a path help each other.
    assert (np.diff(path.costs[1::2]) >= -1e-12).all()
    assert (np.diff(path.conditions[1::2]) <= 1e-12).all()


@pytest.mark.slow
def test_wide_gaps_are_filled_under_a_bound(path, digits, clusterer):
    plain = tradeoff_path(ExplainableKMeans(clusterer=clusterer), digits, tradeoffs=TRADEOFFS)
    assert len(path) > len(plain)
    assert max(-np.diff([point.conditions for point in path])) < max(-np.diff([point.conditions for point in plain]))


def test_between_the_trees_of_all_tradeoffs_is_one_under_the_bound():
    # CART by entropy has a cost of 1.0790 there; no trade-off leads to it.
    X = StandardScaler().fit_transform(load_wine().data)
    model = fit_to_goal(ExplainableKMeans(3, random_state=0), X, max_conditions=1.635)
    assert model.normalized_cost_ <= 1.0790
    assert model.waes_ <= 1.635
    shortest = fit_to_goal(ExplainableKMeans(3, random_state=0), X, max_cost=1.0790)
    assert shortest.normalized_cost_ <= 1.0790
    assert shortest.waes_ <= model.waes_ * (1 + 1e-9)


def test_a_goal_changes_no_cut_that_is_to_be_kept_and_leaves_labels_their_leaves():
    X, labels = load_wine(return_X_y=True)
    frame = pd.DataFrame(X).add_prefix("x")
    for goal in ({"max_conditions": 1.66}, {"max_cost": 3.0}, {}):
        kept = ExplainableKMeans(3, keep=["x12 <= 700"], random_state=0)
        found = fit_to_goal(kept, frame, **goal) if goal else tradeoff_path(kept, frame).select(max_cost=3.0)
        assert found.rules_.nodes[0].threshold == 700
    path = tradeoff_path(ExplainableKMeans(clusterer=labels), X)
    assert set(path.tradeoffs) == set(TRADEOFFS)
    assert {point.refine for point in path} == {"none"}


@pytest.mark.slow
@draws(30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from([None, 2]))
def test_no_regression_tree_is_cheaper_at_its_length(seed, k, more):
    random = np.random.default_rng(seed)
    X = random.normal(size=(k, 3))[random.integers(k, size=200)] * 3 + random.normal(size=(200, 3))
    model = ExplainableKMeans(k, random_state=0, max_leaves=None if more is None else k + more).fit(X)
    aims = model.clusterer_.cluster_centers_[model.reference_labels_]
    tree = DecisionTreeRegressor(max_leaf_nodes=k, random_state=0).fit(X, aims)
    labels = tree.apply(X)
    cost = partition_cost(X, labels) / model.reference_inertia_
    flow = tree.tree_
    clusters = np.where(flow.feature < 0, np.arange(flow.node_count), -1).astype(np.int32)
    sides = (side.astype(np.int32) for side in (flow.children_left, flow.children_right))
    features = np.maximum(flow.feature, -1).astype(np.int32)
    waes = Tree(features, flow.threshold, *sides, clusters, flow.n_node_samples, flow.weighted_n_node_samples).waes
    found = fit_to_goal(ExplainableKMeans(**model.get_params()), X, max_cost=cost, max_conditions=waes)
    assert found.normalized_cost_ <= cost * (1 + 1e-9)
    assert found.waes_ <= waes * (1 + 1e-9)


@pytest.mark.slow
def test_a_tree_is_on_the_path_unless_another_beats_it(path):
    every = list(zip(path.costs, path.conditions, strict=True))
    listed = [(point.cost, point.conditions) for point in path]
    for cost, conditions in every:
        beaten = any(c <= cost and w <= conditions and (c, w) != (cost, conditions) for c, w in every)
        assert beaten != ((cost, conditions) in listed)
    assert [cost for cost, _ in listed] == sorted({cost for cost, _ in listed})
    assert [w for _, w in listed] == sorted({w for _, w in listed}, reverse=True)


figures = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(figures, figures, st.sampled_from([0.0, 1e-15, -1e-15])), min_size=1, max_size=12))
def test_points_that_differ_by_rounding_are_one(drawn):
    points = [TradeoffPoint(float(i), 1 + c + e, 1 + w - e, 0.0, 1) for i, (c, w, e) in enumerate(drawn)]
    kept = non_dominated(points)
    whole = {(round(point.cost), round(point.conditions)) for point in points}
    best = {(c, w) for c, w in whole if not any(a <= c and b <= w and (a, b) != (c, w) for a, b in whole)}
    assert sorted((round(point.cost), round(point.conditions)) for point in kept) == sorted(best)


def test_the_table_makes_a_frame_and_print_shows_it(path):
    frame = pd.DataFrame(path.table())
    assert list(frame.columns) == ["tradeoff", "cost", "conditions", "questions", "n_leaves", "refine"]
    assert len(frame) == len(path) == len(path.points) > 3
    assert (frame.n_leaves == 10).all()
    lines = str(path).splitlines()
    assert len(lines) == len(path) + 1
    assert f"{path.points[0].cost:.3f}" in lines[1]
    assert repr(path) == f"TradeoffPath({len(path)} trees from 20 trade-offs)"


def test_selecting_gives_the_fitted_model_of_the_tree(path, digits):
    middle = path.points[len(path) // 2]
    model = path.select(max_conditions=middle.conditions)
    assert (model.normalized_cost_, model.waes_) == pytest.approx((middle.cost, middle.conditions), rel=1e-12)
    assert (model.tradeoff, model.wad_, model.n_leaves_) == (middle.tradeoff, middle.questions, middle.n_leaves)
    assert model.refine == middle.refine
    np.testing.assert_array_equal(model.predict(digits), model.labels_)
    other = path.select(max_cost=path.points[0].cost)
    assert other.tradeoff == path.points[0].tradeoff
    assert model.tradeoff == middle.tradeoff  # one selection leaves another as it was


def test_bounds_alone_and_together(path):
    cheap, short = path.points[1], path.points[-2]
    assert path.select(max_cost=short.cost).waes_ == pytest.approx(short.conditions)
    assert path.select(max_conditions=cheap.conditions).normalized_cost_ == pytest.approx(cheap.cost)
    # Of those within both, the cheapest.
    both = path.select(max_cost=short.cost, max_conditions=cheap.conditions)
    assert both.normalized_cost_ == pytest.approx(cheap.cost)
    with pytest.warns(ShallowRulesWarning, match=f"this one has {cheap.conditions:.4g}, the fewest") as caught:
        nearly = path.select(max_cost=cheap.cost, max_conditions=short.conditions)
    assert nearly.waes_ == pytest.approx(cheap.conditions)
    assert caught[0].filename == __file__


def test_a_bound_missed_by_rounding_alone_is_met(path):
    point = path.points[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = path.select(max_cost=point.cost * (1 - 1e-13), max_conditions=point.conditions * (1 - 1e-13))
    assert model.tradeoff == point.tradeoff


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goal", "error", "message"),
    [
        ({}, OptionError, "give a goal"),
        ({"max_cost": 0}, OptionError, "max_cost must be a number above 0, not 0"),
        ({"max_cost": float("nan")}, OptionError, "max_cost must be"),
        ({"max_conditions": "3"}, OptionError, "max_conditions must be a number above 0, not '3'"),
        ({"max_conditions": True}, OptionError, "max_conditions must be"),
        ({"max_cost": 1.0}, DataError, "no tree has a cost of at most 1: the cheapest costs {0.cost:.4g}, with"),
        (
            {"max_cost": 1.0, "max_conditions": 3},
            DataError,
            "no tree has a cost of at most 1: the cheapest costs {0.cost:.4g}, with {0.conditions:.4g} conditions",
        ),
        (
            {"max_conditions": 0.5},
            DataError,
            "at most 0.5 conditions per row: the shortest has {1.conditions:.4g}, at a cost of {1.cost:.4g}",
        ),
    ],
)
def test_goals_out_of_reach_say_what_can_be_had(path, goal, error, message):
    expected = re.escape(message.format(path.points[0], path.points[-1]))
    with pytest.raises(error, match=expected):
        path.select(**goal)


@pytest.mark.slow
def test_fitting_to_a_goal_searches_between_the_tradeoffs(digits, clusterer):
    model = ExplainableKMeans(clusterer=clusterer, tradeoff=0.5)
    coarse = tradeoff_path(model, digits, tradeoffs=TRADEOFFS)  # its gaps are not filled: a goal begins from these
    found = fit_to_goal(model, digits, max_cost=coarse.points[1].cost, max_conditions=coarse.points[1].conditions)
    assert found.normalized_cost_ <= coarse.points[1].cost * (1 + 1e-9)
    assert found.waes_ <= coarse.points[1].conditions * (1 + 1e-9)
    # No tree of the coarse search is within both of these; the finer one must do no worse.
    goal = {"max_cost": coarse.points[3].cost * 1.0001, "max_conditions": coarse.points[4].conditions}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShallowRulesWarning)
        finer = fit_to_goal(model, digits, **goal)
    assert finer.normalized_cost_ <= goal["max_cost"]
    assert finer.waes_ <= coarse.points[3].conditions + 1e-12
    assert model.tradeoff == 0.5
    assert not hasattr(model, "tree_")


@pytest.mark.slow
def test_where_the_goal_is_between_two_tradeoffs_more_are_tried(path, digits, clusterer):
    again = tradeoff_path(ExplainableKMeans(clusterer=clusterer), digits, tradeoffs=[0.0, 0.95])
    low, high = again.points[0], again.points[-1]
    goal = low.cost * 1.1, (low.conditions + high.conditions) / 2
    again._try_more(*goal)
    assert len(again.tradeoffs) > 2
    assert again.tradeoffs.min() == 0
    assert again.tradeoffs.max() > 0.95  # larger ones are tried, too
    assert len(again) > 2


@pytest.mark.slow
def test_the_clustering_is_made_once_and_the_clusterer_stays_fitted(digits, clusterer, monkeypatch):
    fits = []
    fit = KMeans.fit
    monkeypatch.setattr(KMeans, "fit", lambda self, *args, **kwargs: fits.append(1) or fit(self, *args, **kwargs))
    model = fit_to_goal(ExplainableKMeans(10, random_state=0), digits, max_conditions=4)
    assert len(fits) == 1
    model = fit_to_goal(ExplainableKMeans(clusterer=clusterer), digits, max_conditions=4)
    assert len(fits) == 1
    assert model.clusterer_ is clusterer
    assert model.waes_ <= 4


def test_weights_scale_and_names_are_passed_on():
    X, _ = make_blobs(300, 4, centers=5, cluster_std=3.0, random_state=2)
    frame = pd.DataFrame(X * [1, 100, 1, 1e-3], columns=list("abcd"))
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    model = ExplainableKMeans(5, scale="standard", random_state=0)
    found = fit_to_goal(model, frame, max_conditions=2.5, sample_weight=weight)
    assert found.waes_ <= 2.5
    assert found.scale == "standard"
    assert found.rules_.statistics.weight == weight.sum()
    assert list(found.feature_names_in_) == list("abcd")
    counted = weight > 0
    np.testing.assert_array_equal(found.predict(frame)[counted], found.labels_[counted])


def test_one_cluster_and_too_few_rows():
    X = np.array([[0.0], [0.0], [1.0]])
    assert [point.conditions for point in tradeoff_path(ExplainableKMeans(1), X)] == [0.0]
    path = tradeoff_path(ExplainableKMeans(3, random_state=0), X, tradeoffs=[0, 1])
    assert [(point.cost, point.n_leaves) for point in path] == [(1.0, 2)]


@pytest.mark.parametrize("tradeoffs", [[], [-1], [float("nan")], [1e6], [0.1, float("inf")]])
def test_invalid_tradeoffs_are_refused(digits, tradeoffs):
    with pytest.raises(OptionError, match="from 0 up to 1e6"):
        tradeoff_path(ExplainableKMeans(3), digits, tradeoffs=tradeoffs)


@pytest.mark.parametrize("method", ["exgreedy", "imm", "exkmc"])
def test_methods_without_a_tradeoff_are_refused(digits, method):
    with pytest.raises(OptionError, match=f"method='{method}' has no trade-off"):
        fit_to_goal(ExplainableKMeans(3, method=method), digits, max_cost=2)


def test_plotting_draws_every_tree(path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = path.plot()
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    drawn = axes.lines[1].get_xydata()
    assert {tuple(point) for point in drawn} >= {(point.conditions, point.cost) for point in path}
    check_that_nothing_is_overprinted(axes.figure)
    given = pyplot.figure().add_subplot()
    assert path.plot(given) is given
    pyplot.close("all")


def test_a_cost_below_that_of_the_clustering_is_explained(path):
    assert path.price_remark == ""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    labels = (np.arange(60) % 2).astype(str)
    given = tradeoff_path(ExplainableKMeans(clusterer=labels), rows, tradeoffs=[0])
    assert given.points[0].cost < 1
    assert given.price_remark.startswith("the given clusters are not those of least k-means cost")
    wide = np.array([[x, y] for x in (0, 10) for y in (0, 1)] * 5) + rows[:20] / 100
    start = np.array([[5.0, 0.0], [5.0, 1.0]])  # from which k-means never splits the longer side
    poor = tradeoff_path(ExplainableKMeans(clusterer=KMeans(2, init=start, n_init=1)), wide, tradeoffs=[0])
    assert poor.points[0].cost < 0.999
    assert poor.price_remark.startswith("k-means stops at a local optimum")


def test_the_tree_of_the_own_tradeoff_is_the_best_of_the_path(path, digits):
    own = path.at_own_tradeoff()
    objectives = [point.cost + own.tradeoff * point.conditions for point in path]
    assert own.normalized_cost_ + own.tradeoff * own.waes_ == pytest.approx(min(objectives))


def test_plotting_without_matplotlib_says_how_to_get_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"shallowrules\[plot\]"):
        path.plot()

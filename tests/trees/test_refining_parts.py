"""A refined tree over parts is that of `fit` where `fit` too searches on some rows alone; J is never above greedy's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from draws import draws, few
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from tablesinparts import a_frame, check_equal, cut

from shallowrules import ExplainableKMeans

pytestmark = pytest.mark.filterwarnings("ignore:the rules give")


def objective(model: ExplainableKMeans) -> float:
    return model.normalized_cost_ + model.tradeoff * model.waes_


@pytest.fixture(scope="module")
def large() -> pd.DataFrame:
    """More distinct rows than `fit` improves a tree on."""
    random = np.random.default_rng(0)
    middle = random.normal(scale=4.0, size=(6, 4))
    rows = middle[random.integers(0, 6, 90_000)] + random.normal(size=(90_000, 4)) * 1.6
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d"])
    frame["copies"] = random.integers(1, 4, len(frame))
    frame["share"] = frame.copies / 3 + 0.1 * random.random(len(frame))
    return frame


@pytest.fixture(scope="module")
def large_centers(large) -> np.ndarray:
    return KMeans(6, n_init=1, random_state=0).fit(large[["a", "b", "c", "d"]][:5000]).cluster_centers_


@pytest.mark.parametrize("memory", [None, 1], ids=["collected", "over the parts"])
@pytest.mark.parametrize(
    ("n_parts", "weights", "columns"),
    few(
        [
            (1, None, {}),
            (7, None, {}),
            (7, "share", {}),
            (7, "copies", {}),
            (3, None, {"explain_columns": ["a", "b", "c"]}),
        ]
    ),
)
def test_the_tree_is_that_of_the_whole_table(large, large_centers, n_parts, weights, columns, memory):
    used = large.drop(columns=["copies", "share"])
    frame, weight = (used.assign(weight=large[weights]), large[weights]) if weights else (used, None)
    options = {"clusterer": large_centers, "random_state": 3, **columns}
    model = ExplainableKMeans(**options).fit(used, sample_weight=weight)
    of_parts = ExplainableKMeans(**options)
    of_parts.fit_partitions(cut(frame, n_parts), sample_weight=weights and "weight", memory=memory)
    check_equal(of_parts, model)
    greedy = ExplainableKMeans(**options, refine="none").fit(used, sample_weight=weight)
    assert objective(of_parts) < objective(greedy)


@pytest.mark.slow
def test_the_tree_depends_neither_on_the_cut_nor_on_the_order_of_rows(large):
    """Also where clusters are our own, so that leaves move, and where many rows are equal."""
    rounded = large.drop(columns=["copies", "share"]).round(0)
    found = []
    for n_parts, shuffled in ((1, False), (5, True), (13, False)):
        model = ExplainableKMeans(6, random_state=0)
        model.fit_partitions(cut(rounded, n_parts, shuffled=shuffled), memory=1)
        found.append(model.rules_.to_json())
    assert found[0] == found[1] == found[2]


@draws(25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 6), st.booleans(), st.booleans())
def test_j_is_never_above_that_of_the_greedy_tree(seed, n_parts, k, collected, own):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(int(random.integers(30, 400)), 3)), int(random.integers(0, 3)))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    centers = None if own else np.unique(X, axis=0)[:k]
    figures = []
    for refine in ("none", "full"):
        model = ExplainableKMeans(k, refine=refine, random_state=0, clusterer=centers)
        model.fit_partitions(cut(frame, n_parts), memory=None if collected else 1)
        figures.append((objective(model), model.tree_.n_leaves))
    (greedy, n_leaves), (refined, n_refined) = figures
    assert n_refined == n_leaves
    assert refined <= greedy * (1 + 1e-9)


def test_a_thorough_search_over_parts():
    frame = a_frame().drop(columns=["label", "copies"])
    model = ExplainableKMeans(4, refine="thorough", budget=4, random_state=0)
    found = [model.fit_partitions(cut(frame, n_parts), memory=1).rules_.to_json() for n_parts in (1, 6)]
    assert found[0] == found[1]
    assert "growths" in found[0]


def test_categories_and_weights_of_a_small_table():
    frame = a_frame().drop(columns="label")
    for memory in (None, 1):
        gains = []
        for k in (3, 6, 9):
            greedy = ExplainableKMeans(k, refine="none", scale="minmax", random_state=0)
            refined = ExplainableKMeans(k, scale="minmax", random_state=0)
            for model in (greedy, refined):
                model.fit_partitions(cut(frame, 4), sample_weight="copies", memory=memory)
            gains.append(objective(greedy) - objective(refined))
        assert min(gains) > -1e-9
        assert max(gains) > 1e-4


def test_clusters_without_cost_stay_as_they_are():
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 5})
    for memory in (None, 1):
        model = ExplainableKMeans(3, random_state=0).fit_partitions(cut(frame, 2), memory=memory)
        assert model.inertia_ == 0.0

"""More rules than clusters: never worse, the same whatever the order of rows, and right in every form."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, ward
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine

from shallowrules import ExplainableKMeans, fit_to_goal, tradeoff_path
from shallowrules.errors import OptionError
from shallowrules.fitting.searching import _notes_of
from shallowrules.partitions import TableParts
from shallowrules.tables.table import Table
from shallowrules.trees.extending import merge_by_ward
from shallowrules.verification import verify

seeds = st.integers(0, 2**32 - 1)


def groups(seed: int, n_rows: int = 200) -> np.ndarray:
    random = np.random.default_rng(seed)
    n_columns, k = random.integers(2, 6), random.integers(2, 7)
    middles = random.normal(size=(k, n_columns))[random.integers(k, size=n_rows)] * 3
    return np.round(middles + random.normal(size=(n_rows, n_columns)), 2)


def fit(X, k, weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ExplainableKMeans(k, random_state=0, **options).fit(X, sample_weight=weight)


def objective(model):
    return model.normalized_cost_ + model.tradeoff * model.waes_


@draws(60, deadline=None)
@given(seeds, st.integers(2, 6), st.integers(1, 6), st.sampled_from(["none", "full"]), st.booleans())
def test_more_rules_are_never_worse(seed, k, more, refine, weighted):
    X = groups(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(X)) if weighted else None
    one = fit(X, k, weight, refine=refine, round_within=0)
    several = fit(X, k, weight, refine=refine, round_within=0, max_leaves=k + more)
    assert objective(several) <= objective(one) * (1 + 1e-9)
    assert one.n_leaves_ <= several.n_leaves_ <= k + more
    clusters = several.rules_.clusters
    assert len(clusters) == len(one.rules_.clusters)
    np.testing.assert_array_equal(several.predict(X), several.labels_)
    assert str(fit(X, k, weight, refine=refine, max_leaves=k).rules_) == str(fit(X, k, weight, refine=refine).rules_)


@draws(20, deadline=None)
@given(seeds, st.integers(2, 6), st.sampled_from([1, 3]))
def test_order_threads_and_repeated_rows_change_nothing(seed, k, more):
    X = groups(seed)
    random = np.random.default_rng(seed)
    times = random.integers(1, 4, len(X))
    centers = KMeans(k, n_init=1, random_state=0).fit(X, sample_weight=times).cluster_centers_
    given = {"clusterer": centers, "max_leaves": k + more}
    order = random.permutation(len(X))
    repeated = fit(np.repeat(X, times, axis=0), k, **given)
    weighted = fit(X[order], k, times[order], n_jobs=2, **given)
    np.testing.assert_array_equal(repeated.predict(X), weighted.predict(X))
    assert repeated.waes_ == pytest.approx(weighted.waes_, rel=1e-12)


def test_iris_with_two_more_rules_costs_what_its_clustering_costs():
    model = fit(load_iris().data, 3, max_leaves=5)
    assert model.n_leaves_ == 5
    assert model.normalized_cost_ == pytest.approx(1.0, abs=5e-5)
    assert model.waes_ < 1.6
    assert [len(model.rules_.rules_of(cluster.index)) for cluster in model.rules_.clusters] != [1, 1, 1]


@pytest.mark.slow
def test_a_large_table_is_searched_by_a_part_of_it():
    random = np.random.default_rng(0)
    X = random.normal(size=(6, 4))[random.integers(6, size=80_000)] * 2 + random.normal(size=(80_000, 4))
    one, several = fit(X, 6), fit(X, 6, max_leaves=9)
    assert objective(several) < objective(one) * 0.999
    assert several.n_leaves_ > 6


@draws(8, deadline=None)
@given(seeds)
def test_every_form_gives_the_labels_of_the_tree(seed):
    X = groups(seed)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    model = fit(frame, 3, max_leaves=7)
    compared = list(verify(model.rules_, Table.of(frame), ["sqlite", "duckdb"]))
    assert len(compared) > 5
    assert [each.disagreements for each in compared] == [0] * len(compared)


@pytest.mark.slow
def test_a_path_has_trees_that_the_estimator_grows_with_the_same_options():
    X = load_wine().data
    model = ExplainableKMeans(3, random_state=0, scale="standard", max_leaves=5)
    path = tradeoff_path(model, X, tradeoffs=[0.0, 0.03, 0.2])
    alone = tradeoff_path(model.set_params(max_leaves=None), X, tradeoffs=[0.0, 0.03, 0.2])
    assert path.costs.min() < alone.costs.min()
    for point in path:
        options = {"tradeoff": point.tradeoff, "refine": point.refine, "max_leaves": 5, "scale": "standard"}
        assert fit(X, 3, **options).normalized_cost_ == pytest.approx(point.cost, rel=2e-3)
    goal = fit_to_goal(model.set_params(max_leaves=5), X, max_cost=1.01)
    assert goal.normalized_cost_ <= 1.01
    assert goal.n_leaves_ > 3


def test_merged_leaves_are_those_of_ward():
    random = np.random.default_rng(1)
    for _ in range(20):
        means = random.normal(size=(12, 3))
        ours, theirs = merge_by_ward(means, np.ones(12), 5), fcluster(ward(means), 5, "maxclust")
        assert len(np.unique(ours)) == len(np.unique(np.stack([ours, theirs]), axis=1).T) == 5


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"max_leaves": 5, "keep": ["x0 <= 0"]}, "keep"),
        ({"max_leaves": 5, "clusterer": np.repeat([0, 1], 100)}, "labels"),
        ({"max_leaves": 2}, "less than the 3 clusters"),
    ],
)
def test_what_goes_with_no_more_rules_is_refused(options, kind):
    frame = pd.DataFrame(groups(0), columns=None).add_prefix("x")
    with pytest.raises(OptionError, match=kind):
        fit(frame, 3, **options)


@pytest.mark.parametrize("memory", [None, 1], ids=["collected", "over the parts"])
@pytest.mark.parametrize("refine", ["none", "full"])
def test_a_table_in_parts_has_the_tree_of_the_whole(refine, memory):
    X = pd.DataFrame(groups(5, 400)).add_prefix("x")
    centers = KMeans(4, n_init=1, random_state=0).fit(X.to_numpy()).cluster_centers_
    options = {"clusterer": centers, "max_leaves": 7, "refine": refine}
    whole = fit(X, 4, **options)
    parts = ExplainableKMeans(4, random_state=0, **options)
    parts.prices_more_rules = True
    parts.fit_partitions(TableParts([Table.of(some) for some in np.array_split(X, 3)]), memory=memory)
    assert objective(parts) == pytest.approx(objective(whole), rel=1e-9)
    assert parts.n_leaves_ == whole.n_leaves_ > 4


@pytest.mark.parametrize("memory", [None, 1], ids=["collected", "over the parts"])
def test_the_note_on_more_rules_is_the_same_over_parts(memory):
    X = pd.DataFrame(load_iris().data).add_prefix("x")
    centers = KMeans(3, n_init=1, random_state=0).fit(X.to_numpy()).cluster_centers_
    notes = []
    for parts in (None, TableParts([Table.of(some) for some in np.array_split(X, 3)])):
        model = ExplainableKMeans(3, clusterer=centers, random_state=0)
        model.prices_more_rules = True
        if parts is None:
            model.fit(X)
        else:
            model.fit_partitions(parts, memory=memory)
        notes.append(model.rules_.statistics.notes)
    assert notes[0] == notes[1]
    assert any("rules instead of 3, the cost would fall" in note for note in notes[0])


def test_rules_that_are_cheaper_than_the_clustering_need_no_more():
    [note] = _notes_of([1.04, 1.02, 1.01], 5)
    assert note.startswith("with 7 rules instead of 5, the cost would fall from +4.0% to +1.0% or less")
    assert _notes_of([0.998, 0.9979, 0.9978], 5) == []

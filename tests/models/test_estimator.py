"""The scikit-learn interface: its checks, the input that it accepts, and its messages when something is wrong."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from clusterers import Given
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from shallowrules import ExplainableKMeans, RuleSet, export
from shallowrules.errors import OptionError, ShallowRulesWarning
from shallowrules.fitting import describing, finishing, preparing, regions
from shallowrules.tables.table import Table
from shallowrules.verification import verify

CHECKS = {
    # The one that scikit-learn lists for KMeans, whose seeding draws rows: with the centers given,
    # test_row_of_weight_three_is_three_rows shows the equality.
    "check_sample_weight_equivalence_on_dense_data": "as KMeans does",
}


@parametrize_with_checks(
    [
        ExplainableKMeans(n_clusters=3, random_state=0),
        ExplainableKMeans(n_clusters=3, method="exgreedy", scale="minmax", n_jobs=2, random_state=0),
    ],
    expected_failed_checks=lambda estimator: CHECKS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        ExplainableKMeans(n_clusters=3, method="imm", random_state=0),
        ExplainableKMeans(n_clusters=3, method="exkmc", random_state=0),
        ExplainableKMeans(n_clusters=3, method="exkmc", base="imm", max_leaves=5, scale="robust", random_state=0),
        ExplainableKMeans(n_clusters=3, impute="median", random_state=0),
    ],
    expected_failed_checks=lambda estimator: CHECKS,
)
def test_scikit_learn_checks_of_other_parameters(estimator, check):
    check(estimator)


def same_model(one, two):
    assert one.rules_ == two.rules_
    np.testing.assert_array_equal(one.labels_, two.labels_)


def test_tree_rules_and_labels_agree(six_groups):
    model = ExplainableKMeans(6, random_state=0).fit(six_groups)
    assert model.n_leaves_ == len(model.rules_) == 6
    np.testing.assert_array_equal(model.predict(six_groups), model.labels_)
    np.testing.assert_array_equal(model.rules_.assign(six_groups), model.labels_)
    assert model.normalized_cost_ >= 1
    assert model.waes_ <= model.wad_
    for cluster in model.rules_.clusters:
        inside = six_groups[model.labels_ == cluster.index]
        assert cluster.rows == len(inside)
        np.testing.assert_allclose(cluster.means, inside.mean(axis=0))
        np.testing.assert_allclose(model.cluster_centers_[cluster.index], inside.mean(axis=0))
    assert model.score(six_groups) == pytest.approx(-model.inertia_)


@pytest.fixture(scope="module")
def noisy():
    """Clusters that overlap, so that trees make mistakes and ExKMC leaves clusters without a leaf."""
    return make_blobs(500, 3, centers=9, cluster_std=4.0, random_state=1)[0]


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "imm"},
        {"method": "exkmc"},
        {"method": "exkmc", "max_leaves": 16},
        {"method": "exkmc", "max_leaves": 16, "base": "imm"},
        {"method": "exkmc", "max_leaves": 16, "base": "imm", "scale": "minmax"},
    ],
    ids=str,
)
def test_every_method_goes_through_every_form(noisy, parameters):
    X = np.column_stack([noisy, noisy[:, 0].round()]) * [1, 50, 1e-3, 1]
    model = ExplainableKMeans(9, random_state=0, **parameters).fit(X)
    rules = model.rules_
    assert model.n_leaves_ == len(rules) <= parameters.get("max_leaves", 9)  # ExKMC stops where no cut gains
    assert model.n_leaves_ >= 9
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert rules.statistics.method == parameters["method"]
    assert rules.statistics.tradeoff == 0
    assert rules.statistics.waes == pytest.approx(sum(rule.size * rule.share for rule in rules))
    assert [comparison.form for comparison in verify(rules, X) if comparison.disagreements] == []
    assert RuleSet.from_dict(rules.to_dict()) == rules
    assert all(export(rules, name) for name in ("sql", "python", "markdown"))
    assert model.normalized_cost_ >= 1
    assert model.cluster_centers_.shape == (9, 4)


def test_more_leaves_cost_less_and_base_imm_gives_every_cluster_a_leaf(noisy):
    clusterer = KMeans(9, n_init=1, random_state=0).fit(noisy)
    costs = [
        ExplainableKMeans(clusterer=clusterer, method="exkmc", max_leaves=n).fit(noisy).normalized_cost_
        for n in (9, 18, 60)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    on_imm = ExplainableKMeans(clusterer=clusterer, method="exkmc", base="imm", max_leaves=14).fit(noisy)
    assert len(on_imm.rules_.clusters) == 9
    plain = ExplainableKMeans(clusterer=clusterer, method="exkmc", base="imm").fit(noisy)
    assert plain.rules_.nodes == ExplainableKMeans(clusterer=clusterer, method="imm").fit(noisy).rules_.nodes


def test_clusters_without_a_rule_are_noted_and_keep_their_reference_center(noisy):
    clusterer = KMeans(9, n_init=10, random_state=0).fit(noisy)
    model = ExplainableKMeans(clusterer=clusterer, method="exkmc").fit(noisy)
    leafless = sorted(set(range(9)) - {cluster.index for cluster in model.rules_.clusters})
    assert leafless
    [note] = model.rules_.statistics.notes
    names = ", ".join(map(str, leafless))
    assert note == f"{len(leafless)} of 9 clusters have no rule; their rows are in other clusters: {names}"
    assert not np.isin(model.labels_, leafless).any()
    np.testing.assert_allclose(model.cluster_centers_[leafless], clusterer.cluster_centers_[leafless])
    assert model.score(noisy) == pytest.approx(-model.inertia_)
    assert note in export(model.rules_, "markdown")


def test_exkmc_leaves_clusters_of_letter_without_a_rule(shared_data):
    stored = np.load(shared_data / "letter.npz")
    clusterer = KMeans(26, n_init=1, random_state=0).fit(stored["X"])
    model = ExplainableKMeans(clusterer=clusterer, method="exkmc", n_jobs=-1).fit(stored["X"])
    assert model.n_leaves_ == 26
    assert len(model.rules_.clusters) < 26
    np.testing.assert_array_equal(model.rules_.assign(stored["X"]), model.labels_)
    assert model.normalized_cost_ == pytest.approx(1.36, abs=0.04)


def test_imm_follows_given_labels_rather_than_the_nearest_center():
    # The last of the left group is labelled as the right one: by labels the cut is before it, by distance after.
    X = np.array([[0.0], [1.0], [2.0], [4.0], [10.0], [11.0], [12.0]])
    given = ExplainableKMeans(clusterer=Given(np.array([0, 0, 0, 1, 1, 1, 1])), method="imm").fit(X)
    assert given.labels_.tolist() == [0, 0, 0, 1, 1, 1, 1]
    nearest = ExplainableKMeans(clusterer=given.reference_centers_, method="imm").fit(X)
    assert nearest.labels_.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_scaled_clustering_has_rules_in_raw_units(six_groups):
    stretched = six_groups * [1, 1000, 1e-3, 1]
    model = ExplainableKMeans(6, scale="standard", random_state=0).fit(stretched)
    np.testing.assert_array_equal(model.rules_.assign(stretched), model.labels_)
    scaled = StandardScaler().fit_transform(stretched)
    by_hand = ExplainableKMeans(6, random_state=0).fit(scaled)
    np.testing.assert_array_equal(by_hand.labels_, model.labels_)


@pytest.mark.parametrize("convert", [np.asfortranarray, pd.DataFrame, lambda X: pl.DataFrame(X), lambda X: X.tolist()])
def test_any_container_gives_the_same_tree(six_groups, convert):
    model = ExplainableKMeans(6, random_state=0).fit(six_groups)
    frame = convert(six_groups)
    if isinstance(frame, pd.DataFrame):
        frame.columns = [f"x{j}" for j in frame.columns]
    other = ExplainableKMeans(6, random_state=0).fit(frame)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_array_equal(other.tree_.threshold, model.tree_.threshold)


def test_names_of_a_frame_are_kept():
    X = load_iris(as_frame=True).data
    model = ExplainableKMeans(3, random_state=0).fit(X)
    assert list(model.feature_names_in_) == list(X.columns)
    assert {condition.column.name for rule in model.rules_ for condition in rule.conditions} <= set(X.columns)
    np.testing.assert_array_equal(ExplainableKMeans(3, random_state=0).fit(Table.of(X)).labels_, model.labels_)


def test_float32_and_read_only_memory_map(tmp_path, six_groups):
    np.save(tmp_path / "six_groups.npy", six_groups.astype(np.float32))
    mapped = np.load(tmp_path / "six_groups.npy", mmap_mode="r")
    model = ExplainableKMeans(6, random_state=0).fit(mapped)
    np.testing.assert_array_equal(model.predict(mapped), model.labels_)
    np.testing.assert_array_equal(model.rules_.assign(mapped), model.labels_)


def test_integers_get_integer_thresholds():
    X = np.random.default_rng(0).integers(0, 50, (300, 3))
    model = ExplainableKMeans(5, random_state=0).fit(X)
    bounds = [b for rule in model.rules_ for c in rule.conditions for b in (c.lower, c.upper) if b is not None]
    assert all(type(bound) is int for bound in bounds)
    np.testing.assert_array_equal(model.rules_.assign(X), model.labels_)


STAGES = [
    (preparing, "reference_clustering"),
    (regions, "find_unique_rows"),
    (regions, "refine"),
    (finishing, "describe_tree"),
    (describing, "exact_sums"),
]
"""Functions that the pipeline calls, at least one of each part of a fit."""


def fail_in(stage, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(*stage, fail)


@pytest.mark.parametrize("stage", STAGES)
def test_a_model_whose_only_fit_failed_is_not_fitted(six_groups, monkeypatch, stage):
    model = ExplainableKMeans(3, random_state=0)
    with monkeypatch.context() as patch:
        fail_in(stage, patch, MemoryError())
        with pytest.raises(MemoryError):
            model.fit(pd.DataFrame(six_groups, columns=list("abcd")))
    for ask in (model.predict, model.apply, model.score):
        with pytest.raises(NotFittedError):
            ask(six_groups)
    assert vars(model) == vars(ExplainableKMeans(3, random_state=0))


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_fit_leaves_the_earlier_one_whole(six_groups, monkeypatch, stage):
    frame = pd.DataFrame(six_groups, columns=list("abcd"))
    model = ExplainableKMeans(6, random_state=0).fit(frame)
    before = dict(vars(model))
    model.n_clusters = 3
    with monkeypatch.context() as patch:
        fail_in(stage, patch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            model.fit(six_groups[:, :3])
    after = dict(vars(model))
    assert after.pop("n_clusters") == 3
    assert before.pop("n_clusters") == 6
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)


def test_a_new_fit_leaves_nothing_of_the_earlier_one(six_groups):
    model = (
        ExplainableKMeans(6, random_state=0).fit(pd.DataFrame(six_groups, columns=list("abcd"))).fit(six_groups[:, :3])
    )
    assert vars(model).keys() == vars(ExplainableKMeans(6, random_state=0).fit(six_groups)).keys()
    np.testing.assert_array_equal(model.predict(six_groups[:, :3]), model.labels_)


def test_a_warning_made_an_error_leaves_the_earlier_fit_whole(six_groups):
    model = ExplainableKMeans(3, random_state=0).fit(six_groups)
    rules = model.rules_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            model.fit(np.array([[0.0], [0.0], [1.0], [1.0]]))
    assert model.rules_ is rules
    assert model.n_features_in_ == 4


class Watch:
    """An object that can be neither pickled nor copied, such as a progress bar's lock."""

    def see(self, share):
        pass

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot be pickled")


def test_a_model_that_is_watched_can_be_pickled_and_copied(six_groups):
    model = ExplainableKMeans(6, random_state=0)
    model.on_progress = model.on_best = watch = Watch().see
    model.fit(six_groups)
    for other in (copy.copy(model), copy.deepcopy(model), copy.deepcopy([model, model])[1]):
        assert other is not model
        assert other.on_progress is other.on_best is watch
        same_model(other, model)
    assert copy.copy(model).rules_ is model.rules_
    assert copy.deepcopy(model).tree_ is not model.tree_
    pickled = pickle.loads(pickle.dumps(model))
    assert pickled.on_progress is pickled.on_best is None
    same_model(pickled, model)
    assert model.on_progress is watch


def test_a_pickle_from_before_modules_moved_is_read(six_groups):
    model = ExplainableKMeans(3, random_state=0).fit(six_groups)
    pickled = pickle.dumps(model, protocol=0)  # names in lines of their own
    moved = {
        b"shallowrules.models.estimator": b"shallowrules.estimator",
        b"shallowrules.trees.tree": b"shallowrules.tree",
    }
    for now, then in moved.items():
        assert now in pickled
        pickled = pickled.replace(now, then)
    same_model(pickle.loads(pickled), model)


def test_pickle_clone_and_pipeline(six_groups):
    model = ExplainableKMeans(6, random_state=0).fit(six_groups)
    same_model(pickle.loads(pickle.dumps(model)), model)
    same_model(clone(model).fit(six_groups), model)
    pipeline = make_pipeline(StandardScaler(), ExplainableKMeans(6, random_state=0)).fit(six_groups)
    assert len(np.unique(pipeline.predict(six_groups))) == 6


def test_set_output_frames_keep_their_names():
    X = load_iris(as_frame=True).data
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), ExplainableKMeans(3, random_state=0))
    pipeline.fit(X)
    assert list(pipeline[-1].feature_names_in_) == list(X.columns)


def test_clusterers_fitted_frozen_bare_and_by_labels(six_groups):
    kmeans = KMeans(6, n_init=10, random_state=0).fit(six_groups)
    by_default = ExplainableKMeans(6, refine="none", random_state=0).fit(six_groups)  # refined, it may move leaves
    for clusterer in (kmeans, FrozenEstimator(kmeans), kmeans.cluster_centers_, KMeans(6, n_init=10, random_state=0)):
        model = ExplainableKMeans(clusterer=clusterer, refine="none").fit(six_groups)
        np.testing.assert_array_equal(model.labels_, by_default.labels_)
        np.testing.assert_allclose(model.reference_centers_, kmeans.cluster_centers_)
    assert clone(ExplainableKMeans(clusterer=FrozenEstimator(kmeans))).fit(six_groups).n_leaves_ == 6
    ExplainableKMeans(clusterer=MiniBatchKMeans(4, random_state=0, n_init=3)).fit(six_groups)
    by_labels = ExplainableKMeans(clusterer=AgglomerativeClustering(5)).fit(six_groups)
    assert by_labels.n_leaves_ == 5
    assert [cluster.name for cluster in by_labels.rules_.clusters] == list("01234")


def test_given_labels_keep_their_names(six_groups):
    given = np.array(["low", "high"])[(six_groups[:, 0] > 0).astype(int)]
    model = ExplainableKMeans(clusterer=Given(given)).fit(six_groups)
    assert {cluster.name for cluster in model.rules_.clusters} == {"low", "high"}


def test_labels_no_cut_can_follow_are_warned_of():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 800)
    radius = np.where(np.arange(800) % 2, 1.0, 3.0)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    labels = np.arange(800) % 2
    for clusterer, named in ((labels, "their given label"), (Given(labels), "the label of the clustering")):
        with pytest.warns(ShallowRulesWarning, match=f"of the rows {named}: cuts on single columns"):
            ExplainableKMeans(clusterer=clusterer).fit(rings)


def test_row_of_weight_three_is_three_rows(six_groups):
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, len(six_groups)).astype(float)
    centers = KMeans(6, n_init=1, random_state=0).fit(six_groups).cluster_centers_
    weighted = ExplainableKMeans(clusterer=centers).fit(six_groups, sample_weight=weight)
    repeated = ExplainableKMeans(clusterer=centers).fit(np.repeat(six_groups, weight.astype(int), axis=0))
    np.testing.assert_array_equal(weighted.tree_.threshold, repeated.tree_.threshold)
    np.testing.assert_array_equal(weighted.tree_.feature, repeated.tree_.feature)
    assert weighted.waes_ == pytest.approx(repeated.waes_)
    assert weighted.normalized_cost_ == pytest.approx(repeated.normalized_cost_)


def test_too_few_distinct_rows_give_fewer_leaves():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    with pytest.warns(ConvergenceWarning, match="2 leaves for 3 clusters"):
        model = ExplainableKMeans(3, random_state=0).fit(X)
    assert model.n_leaves_ == 2


def test_score_is_minus_the_cost_in_the_space_that_was_clustered(six_groups):
    for scale in (None, "minmax", "robust"):
        model = ExplainableKMeans(6, scale=scale, random_state=0).fit(six_groups * [1, 1000, 1e-3, 1])
        assert model.score(six_groups * [1, 1000, 1e-3, 1]) == pytest.approx(-model.inertia_)


def test_exporting_a_model_says_where_its_rules_are(six_groups):
    with pytest.raises(OptionError, match="rules_"):
        export(ExplainableKMeans(3, random_state=0).fit(six_groups), "sql")

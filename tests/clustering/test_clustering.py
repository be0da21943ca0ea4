"""Any clustering is explained: every kind of clusterer, with centers or labels, and its noise."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from clusterers import Given, fit, name_of
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    BisectingKMeans,
    KMeans,
    MeanShift,
    MiniBatchKMeans,
)
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import pairwise_distances_argmin, precision_recall_fscore_support
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning
from shallowrules.measures.metrics import partition_cost
from shallowrules.tables.table import Table


@pytest.fixture(scope="module")
def frame(five_groups):
    return pd.DataFrame(five_groups, columns=list("abcd"))


def centers_given():
    return [
        KMeans(5, n_init=3, random_state=0),
        MiniBatchKMeans(5, n_init=3, random_state=0),
        BisectingKMeans(5, random_state=0),
        GaussianMixture(5, random_state=0),
        MeanShift(bandwidth=4, bin_seeding=True),
    ]


def labels_given():
    return [AgglomerativeClustering(5), DBSCAN(eps=1.5, min_samples=5), HDBSCAN(min_cluster_size=15, copy=True)]


# Estimators ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("as_container", [pd.DataFrame, Table.of])
@pytest.mark.parametrize("clusterer", [*centers_given(), *labels_given()], ids=name_of)
def test_fitted_or_not_each_kind_is_explained(five_groups, as_container, clusterer):
    X = as_container(five_groups)
    if isinstance(X, pd.DataFrame):
        X.columns = list("abcd")
    fitted = clone(clusterer).fit(five_groups if isinstance(X, Table) else X)
    one, two = fit(clusterer, X), fit(FrozenEstimator(fitted), X)
    assert str(one.rules_) == str(two.rules_)
    np.testing.assert_array_equal(one.reference_labels_, two.reference_labels_)
    np.testing.assert_array_equal(one.predict(X), one.labels_)
    matrix_type = np.float32 if as_container is np.float32 else np.float64
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        given = fitted.labels_ if hasattr(fitted, "labels_") else fitted.predict(five_groups.astype(matrix_type))
    np.testing.assert_array_equal(two.reference_labels_, given)
    statistics = two.rules_.statistics
    assert statistics.agreement > 0.95
    assert statistics.labelled == (not isinstance(clusterer, KMeans | MiniBatchKMeans))
    inside = given >= 0
    assert statistics.left_out == np.count_nonzero(~inside)
    assert statistics.rows == np.count_nonzero(inside)
    matrix = five_groups.astype(matrix_type)
    assert two.inertia_ == pytest.approx(partition_cost(matrix[inside], two.labels_[inside]))
    assert two.reference_inertia_ == pytest.approx(partition_cost(matrix[inside], given[inside]))


@pytest.mark.slow
def test_centers_are_those_of_the_clusterer(five_groups):
    for clusterer in centers_given():
        fitted = clusterer.fit(five_groups)
        centers = fitted.means_ if isinstance(fitted, GaussianMixture) else fitted.cluster_centers_
        np.testing.assert_array_equal(fit(fitted, five_groups).reference_centers_, centers)


@pytest.mark.parametrize("offset", [0.0, 2000.0, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_row_is_assigned_to_its_nearest_center_the_first_of_equally_near_ones(offset, dtype):
    random = np.random.default_rng(0)
    X = (random.integers(-3, 4, (300, 3)) + offset).astype(dtype)
    centers = np.concatenate([X[:6] + random.choice([0, 0.5], (6, 3)), X[:2]]).astype(np.float64)
    distance = ((X[:, None, :].astype(np.float64) - centers) ** 2).sum(axis=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ExplainableKMeans(clusterer=centers).fit(X)
    np.testing.assert_array_equal(model.reference_labels_, distance.argmin(axis=1))


def test_values_whose_squares_overflow_are_refused():
    X = np.array([[1e200], [2e200], [-1e200]])
    with pytest.raises(DataError, match="distances overflow"):
        fit(X[:2], X)


def test_bisecting_descends_its_own_tree():
    X = make_blobs(800, 2, centers=9, cluster_std=3.0, random_state=1)[0]
    fitted = BisectingKMeans(8, random_state=0).fit(X)
    assert (pairwise_distances_argmin(X, fitted.cluster_centers_) != fitted.labels_).any()
    np.testing.assert_array_equal(ExplainableKMeans(clusterer=fitted).fit(X).reference_labels_, fitted.labels_)


def test_a_component_without_rows_gets_no_leaf(five_groups):
    mixture = BayesianGaussianMixture(n_components=8, max_iter=500, random_state=0).fit(five_groups)
    used = np.unique(mixture.predict(five_groups))
    assert len(used) < 8
    model = fit(mixture, five_groups)
    assert [cluster.index for cluster in model.rules_.clusters] == used.tolist()
    assert model.cluster_centers_.shape == (8, 4)
    assert np.isfinite(model.cluster_centers_).all()


def test_noise_is_left_out_counted_and_named(five_groups, capsys):
    X = np.vstack([five_groups, np.random.default_rng(0).uniform(-40, 40, (30, 4))])
    clusterer = DBSCAN(eps=1.5, min_samples=5)
    with pytest.warns(ShallowRulesWarning, match="DBSCAN calls .* noise"):
        model = ExplainableKMeans(clusterer=clusterer, verbose=1).fit(X)
    noise = clusterer.fit(X).labels_ == -1
    assert noise.sum() > 20
    statistics = model.rules_.statistics
    [note] = statistics.notes
    assert all(part in note for part in (f"{noise.sum()} of 530 rows", "DBSCAN"))
    assert note in capsys.readouterr().out
    assert statistics.left_out == noise.sum()
    assert not statistics.weighted
    np.testing.assert_array_equal(model.reference_labels_ == -1, noise)
    assert (model.labels_ >= 0).all()  # the rules have a cluster for every row
    without = fit(clusterer.labels_[~noise], X[~noise])
    np.testing.assert_array_equal(without.tree_.threshold, model.tree_.threshold)
    np.testing.assert_array_equal(without.labels_, model.labels_[~noise])
    labels = range(model.n_leaves_)
    precision, recall, _, _ = precision_recall_fscore_support(
        clusterer.labels_[~noise], without.labels_, labels=labels, zero_division=0
    )
    assert [cluster.precision for cluster in model.rules_.clusters] == pytest.approx(precision)
    assert [cluster.recall for cluster in model.rules_.clusters] == pytest.approx(recall)
    assert statistics.agreement == np.mean(without.labels_ == clusterer.labels_[~noise])


def test_nothing_but_noise_is_refused(five_groups):
    with pytest.raises(DataError, match="DBSCAN .*noise"):
        fit(DBSCAN(eps=1e-9), five_groups)


def test_minus_one_is_noise_only_beside_0_1_and_so_on(five_groups):
    three = np.digitize(five_groups[:, 0], np.quantile(five_groups[:, 0], [0.3, 0.6]))
    for names, expected in (([-1, 0, 1], ["0", "1"]), ([-1, 3, 7], ["-1", "3", "7"]), ([-2, -1, 1], ["-2", "-1", "1"])):
        said = "contain -1" if "-1" in expected else "calls 150 of 500 rows noise"
        with pytest.warns(ShallowRulesWarning, match=said):
            model = ExplainableKMeans(clusterer=Given(np.array(names)[three])).fit(five_groups)
        assert [cluster.name for cluster in model.rules_.clusters] == expected


def test_a_clusterer_of_other_columns_is_refused_by_name(frame, words):
    fitted = KMeans(5, n_init=1, random_state=0).fit(frame)
    with pytest.raises(DataError, match="columns 'a', 'b', 'c', 'd', .* 'b', 'a'") as caught:
        fit(fitted, frame[["b", "a", "d", "c"]])
    words(str(caught.value))
    fit(fitted, frame.to_numpy())  # no names, no check
    mixture = GaussianMixture(5, random_state=0).fit(frame)
    with pytest.raises(DataError, match="columns 'a', 'b', 'c', 'd', .* 'b', 'a'"):
        fit(mixture, frame[["b", "a", "d", "c"]])


def test_labels_stand_in_for_centers_of_other_columns(five_groups, words):
    scores = PCA(2).fit_transform(five_groups)
    fitted = KMeans(5, n_init=1, random_state=0).fit(scores)
    model = fit(fitted, five_groups)
    [note] = model.rules_.statistics.notes
    assert all(part in note for part in ("KMeans", "2 columns", "4"))
    np.testing.assert_array_equal(model.reference_labels_, fitted.labels_)
    with pytest.raises(DataError, match="500 rows, .* 100") as caught:
        fit(AgglomerativeClustering(3).fit(five_groups), five_groups[:100])
    words([("note", note), ("other rows", str(caught.value))])


def test_predict_alone_will_do(five_groups):
    class Halves(BaseEstimator):
        def fit(self, X, y=None):
            self.border_ = np.median(X[:, 0])
            return self

        def predict(self, X):
            return np.where(X[:, 0] > self.border_, "high", "low")

    model = fit(Halves(), five_groups)
    assert [cluster.name for cluster in model.rules_.clusters] == ["high", "low"]
    np.testing.assert_array_equal(model.reference_labels_, five_groups[:, 0] <= np.median(five_groups[:, 0]))


def test_centers_that_are_predicted_otherwise_are_refused(five_groups):
    class Odd(BaseEstimator):
        def fit(self, X, y=None):
            self.cluster_centers_ = X[:3]
            return self

        def predict(self, X):
            return np.full(len(X), 3)

    with pytest.raises(OptionError, match="predicts .* 0 to 2"):
        fit(Odd(), five_groups)

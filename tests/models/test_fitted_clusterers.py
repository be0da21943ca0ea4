"""Clusterers and transformers are explained alike, fitted or not, and get weights where they take some."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils import all_estimators

from shallowrules import ExplainableKMeans
from shallowrules.encoding.fitted import is_fitted

BLOBS = make_blobs(90, 2, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)[0]


class Sides(ClusterMixin, BaseEstimator):
    """A clusterer that has nothing but labels."""

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        self.labels_ = (np.asarray(X)[:, 0] > 6).astype(int)
        return self


def clusterers():
    """Return one of each clusterer of scikit-learn, Pipelines and searches of some, and two that others wrote."""
    own = {"n_clusters": 3, "random_state": 0, "copy": True, "bandwidth": 3.0, "eps": 2.0, "min_cluster_size": 10}
    for name, kind in all_estimators(type_filter="cluster"):
        if name in ("FeatureAgglomeration", "SpectralBiclustering", "SpectralCoclustering"):
            continue  # of columns
        known = kind._get_param_names()
        yield kind(**{parameter: value for parameter, value in own.items() if parameter in known})
    for mixture in (GaussianMixture, BayesianGaussianMixture):
        yield mixture(n_components=3, random_state=0)
    k_means = KMeans(3, n_init=3, random_state=0)
    root = FunctionTransformer(np.sqrt)
    yield make_pipeline(k_means)
    yield make_pipeline(StandardScaler(), k_means)
    yield make_pipeline(MinMaxScaler(), root, k_means)
    yield make_pipeline(root, make_pipeline(k_means))
    yield make_pipeline(make_pipeline(MinMaxScaler(), root), PCA(1), k_means)
    yield make_pipeline(SimpleImputer(), Normalizer(), k_means)
    yield make_pipeline(make_union(make_pipeline(MinMaxScaler(), root), StandardScaler()), k_means)
    yield make_pipeline(ColumnTransformer([("a", root, [0]), ("b", MinMaxScaler(), [1])]), k_means)
    yield make_pipeline("passthrough", k_means)
    yield make_pipeline(FrozenEstimator(StandardScaler().fit(BLOBS)), k_means)
    yield make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0))
    yield make_pipeline(StandardScaler(), HDBSCAN(min_cluster_size=10, copy=True))
    yield make_pipeline(KernelPCA(2), AgglomerativeClustering(3))
    yield GridSearchCV(k_means, {"n_clusters": [2, 3]}, cv=2)
    yield GridSearchCV(make_pipeline(StandardScaler(), k_means), {"kmeans__n_clusters": [2, 3]}, cv=2)
    yield ExplainableKMeans(3, random_state=0)
    yield Sides()


def steps_of(clusterer):
    return "-".join(type(step).__name__ for _, step in getattr(clusterer, "steps", [("", clusterer)]))


EACH = list(clusterers())


@pytest.mark.parametrize("clusterer", EACH, ids=steps_of)
def test_a_clusterer_is_explained_alike_fitted_or_not(clusterer):
    X = BLOBS - BLOBS.min(axis=0) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (UserWarning, FutureWarning, ConvergenceWarning))
        fitted = clone(clusterer).fit(X)
        assert is_fitted(fitted)
        assert not is_fitted(clusterer)
        models = [ExplainableKMeans(clusterer=each).fit(X) for each in (clusterer, fitted, FrozenEstimator(fitted))]
    for model in models[1:]:
        np.testing.assert_array_equal(model.reference_labels_, models[0].reference_labels_)
        np.testing.assert_array_equal(model.labels_, models[0].labels_)


@pytest.mark.parametrize("parameters", [{"clusterer": KMeans(3)}, {"transformer": MinMaxScaler()}], ids=str)
def test_what_is_frozen_must_be_fitted(parameters):
    [(name, estimator)] = parameters.items()
    with pytest.raises(NotFittedError, match=rf"the {type(estimator).__name__} in a FrozenEstimator is not fitted"):
        ExplainableKMeans(3, **{name: FrozenEstimator(estimator)}).fit(BLOBS)


def test_there_are_many_clusterers():
    assert len(EACH) >= 28


@pytest.mark.parametrize(
    ("estimator", "fitted"),
    [
        (FunctionTransformer(np.sqrt), True),
        (Normalizer(), True),
        (make_pipeline(Normalizer(), FunctionTransformer()), True),
        (StandardScaler(), False),
        (make_pipeline(MinMaxScaler(), FunctionTransformer(np.sqrt)), False),
        (make_pipeline(SimpleImputer(), FunctionTransformer(np.sqrt)), False),
        (make_pipeline(make_pipeline(MinMaxScaler(), FunctionTransformer()), "passthrough"), False),
        (make_pipeline(MinMaxScaler(), StandardScaler().fit(BLOBS)), False),
        (make_pipeline(MinMaxScaler().fit(BLOBS), FunctionTransformer()), True),
        (FeatureUnion([("a", Normalizer()), ("b", "drop")]), True),
        (make_union(make_pipeline(MinMaxScaler(), Normalizer())), False),
        (ColumnTransformer([("a", FunctionTransformer(), [0])]), False),
        (FrozenEstimator(make_pipeline(MinMaxScaler().fit(BLOBS), Normalizer())), True),
    ],
    ids=lambda value: "" if isinstance(value, bool) else type(value).__name__,
)
def test_only_what_needs_a_fit_is_asked_whether_it_has_one(estimator, fitted):
    assert is_fitted(estimator) is fitted


def test_a_transformer_whose_last_step_needs_no_fit_is_fitted():
    X = pd.DataFrame(BLOBS - BLOBS.min(axis=0) + 1, columns=["a", "b"])
    root = FunctionTransformer(np.sqrt)
    of_columns = ColumnTransformer([("a", root, ["a"]), ("b", make_pipeline(MinMaxScaler(), root), ["b"])])
    for transformer in (
        root,
        make_pipeline(MinMaxScaler(), root),
        make_pipeline(SimpleImputer(), root),
        make_pipeline(make_pipeline(MinMaxScaler(), root), root),
        of_columns,
    ):
        model = ExplainableKMeans(3, transformer=transformer, random_state=0).fit(X)
        given = ExplainableKMeans(3, transformer=clone(transformer).fit(X), random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, given.labels_)


# Weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clusterer",
    [
        KMeans(3, n_init=3, random_state=0),
        make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)),
        make_pipeline(FunctionTransformer(), KMeans(3, n_init=3, random_state=0)),
        make_pipeline(make_pipeline(StandardScaler(), PCA(1)), make_pipeline(KMeans(3, n_init=3, random_state=0))),
    ],
    ids=lambda each: type(each).__name__,
)
def test_weights_reach_the_steps_whether_scikit_learn_routes_them_or_not(clusterer):
    weight = np.random.default_rng(0).integers(0, 4, 90).astype(float)
    found = []
    for routed in (False, True):
        with sklearn.config_context(enable_metadata_routing=routed):
            model = ExplainableKMeans(clusterer=clusterer).fit(BLOBS, sample_weight=weight)
        found.append((model.reference_centers_.tolist(), model.labels_.tolist(), model.rules_.statistics.notes))
    assert found[0] == found[1]
    notes = found[0][2]
    assert notes == (("PCA took no weights: each row counted once there",) if "PCA" in repr(clusterer) else ())


def test_a_step_that_requests_no_weights_gets_none():
    weight = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        requesting = KMeans(3, n_init=3, random_state=0).set_fit_request(sample_weight=True)
        for last in (requesting, KMeans(3, n_init=3, random_state=0)):
            model = ExplainableKMeans(clusterer=make_pipeline(scaler, last)).fit(BLOBS, sample_weight=weight)
            assert model.rules_.statistics.notes == ("StandardScaler took no weights: each row counted once there",)
            np.testing.assert_allclose(model.clusterer_[0].mean_, BLOBS.mean(axis=0))
        none = make_pipeline(scaler, KMeans(3, n_init=3, random_state=0).set_fit_request(sample_weight=False))
        model = ExplainableKMeans(clusterer=none).fit(BLOBS, sample_weight=weight)
        assert "StandardScaler and KMeans took no weights" in model.rules_.statistics.notes[0]

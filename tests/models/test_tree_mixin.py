"""The methods of scikit-learn's clusterers and trees, by the same names: distances, paths, depth, names, tags."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix, dok_array
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from shallowrules import ExplainableKMeans, Tree, tradeoff_path
from shallowrules.errors import DataError

WINE = load_wine(as_frame=True).data
MIXED = WINE.assign(kind=np.where(WINE["proline"] > 700, "rich", "plain"))[["alcohol", "proline", "kind"]]

MODELS = {
    "as it is": (ExplainableKMeans(3, random_state=0), WINE),
    "scaled": (ExplainableKMeans(4, scale="minmax", random_state=0), WINE),
    "mixed": (ExplainableKMeans(3, scale="standard", random_state=0), MIXED),
    "labels": (ExplainableKMeans(clusterer=np.where(WINE["proline"] > 700, 7, 3)), WINE),
    "behind a pipeline": (
        ExplainableKMeans(clusterer=make_pipeline(StandardScaler(), PCA(2), KMeans(3, random_state=0))),
        WINE,
    ),
    "behind a transformer": (ExplainableKMeans(3, transformer=StandardScaler(), random_state=0), WINE),
    "some columns": (ExplainableKMeans(3, cluster_columns=["proline", "ash"], random_state=0), WINE),
}


@pytest.mark.parametrize("name", MODELS)
def test_distances_are_those_to_the_means_of_the_clusters(name):
    model, X = MODELS[name]
    model = clone(model)
    distances = model.fit_transform(X)
    assert distances.shape == (len(X), len(model.classes_))
    np.testing.assert_allclose(model.transform(X), distances)
    own = distances[np.arange(len(X)), np.searchsorted(model.classes_, model.labels_)]
    assert own @ own == pytest.approx(model.inertia_)
    names = model.get_feature_names_out().tolist()
    assert names == [f"explainablekmeans{label}" for label in model.classes_]
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame.index, X.index)


def test_distances_are_those_of_kmeans_where_the_tree_keeps_its_clusters():
    X = make_blobs(90, 2, centers=3, cluster_std=0.1, random_state=0)[0]
    model = ExplainableKMeans(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), model.clusterer_.transform(X), atol=1e-9)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.predict(X))
    assert model.n_iter_ == model.clusterer_.n_iter_


def test_a_cluster_without_a_leaf_has_its_reference_center():
    X = make_blobs(500, 3, centers=9, cluster_std=4.0, random_state=1)[0]
    model = ExplainableKMeans(9, method="exkmc", random_state=0).fit(X)
    empty = sorted({*range(9)} - {*model.labels_.tolist()})
    assert empty
    gaps = X[:, None] - model.reference_centers_[empty]
    np.testing.assert_allclose(model.transform(X)[:, empty], np.sqrt((gaps**2).sum(axis=2)))


def test_the_output_is_set_for_models_of_a_path_too():
    model = ExplainableKMeans(3, random_state=0).set_output(transform="polars")
    for fitted in (clone(model).fit(WINE), tradeoff_path(model, WINE).select(max_cost=2)):
        assert isinstance(fitted.transform(WINE), pl.DataFrame)
    assert isinstance(clone(model).fit_transform(WINE), pl.DataFrame)


def test_a_pipeline_goes_on_from_the_distances():
    flowers = load_iris()
    steps = make_pipeline(ExplainableKMeans(5, random_state=0), LogisticRegression())
    assert steps.fit(flowers.data, flowers.target).score(flowers.data, flowers.target) > 0.9
    assert list(steps[:-1].get_feature_names_out()) == [f"explainablekmeans{i}" for i in range(5)]


@draws(50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_paths_are_those_of_a_scikit_learn_tree(seed, leaves):
    random = np.random.default_rng(seed)
    X = random.integers(0, 9, (60, 3)).astype(float)
    cart = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, random.integers(0, 3, 60))
    tree = Tree.from_sklearn(cart)
    found, expected = tree.decision_path(X), cart.decision_path(X)
    assert (found.shape, found.dtype, found.has_canonical_format) == (expected.shape, expected.dtype, True)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    assert tree.max_depth == cart.get_depth()


def test_paths_depth_and_leaves_of_a_model():
    model = ExplainableKMeans(6, scale="minmax", random_state=0).fit(WINE)
    paths = model.decision_path(WINE)
    assert paths.shape == (len(WINE), model.tree_.n_nodes)
    np.testing.assert_array_equal(paths.sum(axis=0).A1, model.tree_.rows)
    assert paths[np.arange(len(WINE)), model.apply(WINE)].min() == 1
    assert paths.sum(axis=1).max() == model.get_depth() + 1
    assert model.get_n_leaves() == model.n_leaves_ == 6


def test_a_row_with_a_missing_value_passes_no_node():
    tree = ExplainableKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]]).tree_
    assert tree.decision_path([[np.nan], [0.0]]).toarray().tolist() == [[0, 0, 0], [1, 1, 0]]


def test_what_a_fit_does_not_have():
    model = ExplainableKMeans(3, random_state=0)
    assert not hasattr(model, "n_iter_")
    for call in (model.get_depth, model.get_n_leaves, model.get_feature_names_out, lambda: model.transform(WINE)):
        with pytest.raises(NotFittedError):
            call()
    for clusterer in (WINE["proline"] > 700, AgglomerativeClustering(3)):
        fitted = ExplainableKMeans(clusterer=clusterer).fit(WINE)
        assert not hasattr(fitted, "n_iter_")
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        fitted.get_feature_names_out(["a"] * 13)


def test_tags():
    tags = get_tags(ExplainableKMeans())
    assert (tags.estimator_type, tags.input_tags.allow_nan, tags.input_tags.sparse) == ("clusterer", False, False)
    assert tags.transformer_tags is not None
    assert get_tags(ExplainableKMeans(impute="median")).input_tags.allow_nan


@pytest.mark.parametrize("kind", [csr_matrix, coo_array, dok_array])
def test_a_sparse_matrix_is_refused_with_the_way_that_works(kind):
    X = WINE.to_numpy()
    model = ExplainableKMeans(3, random_state=0)
    model.fit(X)
    for call in (model.fit, model.predict, model.transform):
        with pytest.raises(TypeError, match=r"X is a sparse matrix.* X\.toarray\(\), .*clusterer=labels"):
            call(kind(X))
    for call in (model.rules_.assign, model.rules_.explain):
        with pytest.raises(DataError, match=r"got a sparse matrix: make it dense \(toarray\(\)\)"):
            call(kind(X))

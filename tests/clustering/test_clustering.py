"""Any clustering is explained: every kind of clusterer, Pipelines, noise, given labels, some columns by others."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from draws import few, spread
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    BisectingKMeans,
    KMeans,
    MeanShift,
    MiniBatchKMeans,
)
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import pairwise_distances_argmin, precision_recall_fscore_support
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from shallowrules import ExplainableKMeans, _kernel, fit_to_goal, tradeoff_path
from shallowrules.clustering import reference as clustering
from shallowrules.clustering.given_labels import Labelling
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning
from shallowrules.measures.metrics import partition_cost
from shallowrules.tables.table import Table
from shallowrules.verification import verify

FIVE = ["array", "single precision", "pandas", "polars", "Table"]


class Given(ClusterMixin, BaseEstimator):
    """A clusterer that has labels and nothing else."""

    def __init__(self, labels):
        self.labels = labels

    def fit(self, X, y=None):
        self.labels_ = np.asarray(self.labels)
        return self


@pytest.fixture(scope="module")
def five_groups():
    return make_blobs(500, 4, centers=5, cluster_std=1.0, random_state=3)[0]


@pytest.fixture(scope="module")
def frame(five_groups):
    return pd.DataFrame(five_groups, columns=list("abcd"))


def fit(clusterer, X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="DBSCAN calls .* noise")  # as test_noise.py expects it
        return ExplainableKMeans(clusterer=clusterer, **parameters).fit(X)


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


def name_of(value):
    return type(value).__name__


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


def test_different_labels_of_one_text_are_refused(five_groups, words):
    said = []
    for labels in ([1, "1"], ["1", 1], [1.5, "1.5"], [True, "True"], [None, "None", 1, "1"]):
        with pytest.raises(DataError, match=f"both called {str(labels[-1])!r}") as caught:
            fit((labels * len(five_groups))[: len(five_groups)], five_groups)
        said.append((repr(labels), str(caught.value)))
    words(said)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["a\0", "a"], ["a", "a\0"]),
        (["", "\0"], ["", "\0"]),
        ([1, "b"], ["1", "b"]),
        ([np.str_("a"), "a", "b"], ["a", "b"]),
    ],
)
def test_different_texts_are_different_labels(labels, names):
    rows = np.arange(len(labels) * 4)
    given = Labelling.of(np.array(labels * 4, dtype=object), np.zeros(len(rows), dtype=bool))
    assert list(given.names) == names
    assert [given.names[i] for i in given.labels] == [str(label) for label in labels * 4]


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


# Pipelines -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("as_container", [np.asarray, pd.DataFrame, pl.DataFrame], ids=["array", *FIVE[2:4]])
@pytest.mark.parametrize(
    "last",
    [KMeans(5, n_init=3, random_state=0), GaussianMixture(5, random_state=0), AgglomerativeClustering(5)],
    ids=name_of,
)
def test_distances_are_taken_behind_a_pipelines_transformers(five_groups, as_container, last):
    X = as_container(five_groups * [1, 100, 0.01, 1])
    if isinstance(X, pd.DataFrame):
        X.columns = list("abcd")
    pipeline = make_pipeline(StandardScaler(), PCA(2), last)
    model = fit(pipeline, X)
    fitted = clone(pipeline).fit(X)
    space = fitted[:-1].transform(X)
    assert model.reference_centers_.shape == (5, 2)
    given = fitted[-1].labels_ if hasattr(fitted[-1], "labels_") else fitted.predict(X)
    np.testing.assert_array_equal(model.reference_labels_, given)
    assert model.inertia_ == pytest.approx(partition_cost(space, model.labels_))
    assert model.score(X) == pytest.approx(-model.inertia_)
    np.testing.assert_array_equal(model.rules_.assign(X), model.labels_)
    assert fit(FrozenEstimator(fitted), X).rules_ == model.rules_


def test_a_pipeline_gets_the_table_as_it_is(frame):
    pipeline = make_pipeline(
        make_column_transformer((QuantileTransformer(n_quantiles=20), ["c", "a"])).set_output(transform="pandas"),
        "passthrough",
        KMeans(4, n_init=3, random_state=0).set_output(transform="default"),
    )
    model = fit(pipeline, frame)
    assert model.reference_centers_.shape == (4, 2)
    assert model.score(frame) == pytest.approx(-model.inertia_)
    nested = make_pipeline(StandardScaler(), make_pipeline(PCA(2), KMeans(3, n_init=3)))
    assert fit(nested, frame).reference_centers_.shape == (3, 2)
    alone = make_pipeline(KMeans(4, n_init=3, random_state=0))
    assert fit(alone, frame).reference_centers_.shape == (4, 4)


def test_scale_does_not_go_with_a_pipeline(five_groups):
    with pytest.raises(OptionError, match="scale=None"):
        fit(make_pipeline(StandardScaler(), KMeans(3)), five_groups, scale="minmax")


def test_a_pipeline_that_breaks_numbers_is_refused(five_groups):
    class Blank(BaseEstimator):
        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return np.full((len(X), 1), np.nan)

    fitted = make_pipeline(Blank(), Given(np.arange(500) % 2))
    with pytest.raises(DataError, match="transformers .*infinite"):
        fit(fitted, five_groups)


# Labels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([10, -5, 3], ["-5", "3", "10"]),
        ([2.0, 0.5, 7.0], ["0.5", "2.0", "7.0"]),
        ([2.0, 4.0, 7.0], ["2", "4", "7"]),
        (["x", "b|d", "ä"], ["b|d", "x", "ä"]),
        ([True, True, False], ["False", "True"]),
        (["b", 3, 0.5], ["0.5", "3", "b"]),
    ],
)
@pytest.mark.parametrize(
    "as_container", [list, lambda names: np.array(names, dtype=object), pd.Series], ids=["list", "array", "series"]
)
def test_labels_keep_their_names(five_groups, as_container, names, expected):
    three = np.digitize(five_groups[:, 0], np.quantile(five_groups[:, 0], [0.3, 0.6]))
    model = fit(as_container([names[i] for i in three]), five_groups)
    clusters = model.rules_.clusters
    assert [cluster.name for cluster in clusters] == expected
    whole = names in ([10, -5, 3], [2.0, 4.0, 7.0])
    classes = list(map(int, expected)) if whole else list(range(len(expected)))
    assert [cluster.index for cluster in clusters] == model.classes_.tolist() == classes
    given = [names[i] for i in three]
    labels = given if whole else [expected.index(str(name)) for name in given]
    assert model.reference_labels_.tolist() == labels


@pytest.mark.parametrize(
    "labels",
    [
        np.where(np.arange(500) % 7 == 0, np.nan, np.arange(500) % 3),
        pd.Series(np.arange(500) % 3).where(np.arange(500) % 7 != 0).astype("Int64"),
        pd.Series(np.array(["0", "1", "2"])[np.arange(500) % 3]).where(np.arange(500) % 7 != 0),
        [None if i % 7 == 0 else i % 3 for i in range(500)],
        pl.Series([None if i % 7 == 0 else i % 3 for i in range(500)]),
        pl.Series([None if i % 7 == 0 else str(i % 3) for i in range(500)], dtype=pl.Categorical),
    ],
    ids=["nan", "Int64", "text", "list", "polars", "categorical"],
)
def test_rows_without_a_label_are_left_out(five_groups, labels):
    with pytest.warns(ShallowRulesWarning, match="given label"):
        model = ExplainableKMeans(clusterer=labels, scale="standard").fit(five_groups)
    statistics = model.rules_.statistics
    assert statistics.left_out == 72
    [note] = statistics.notes
    assert all(part in note for part in ("72 of 500 rows", "given label"))
    inside = np.arange(500) % 7 != 0
    with pytest.warns(ShallowRulesWarning, match="given label"):
        without = ExplainableKMeans(clusterer=(np.arange(500) % 3)[inside], scale="standard").fit(five_groups[inside])
    assert [cluster.name for cluster in model.rules_.clusters] == ["0", "1", "2"]
    np.testing.assert_array_equal(model.tree_.threshold, without.tree_.threshold)
    np.testing.assert_array_equal(model.reference_centers_, without.reference_centers_)
    np.testing.assert_array_equal(model.labels_[inside], without.labels_)
    np.testing.assert_array_equal(model.predict(five_groups), model.labels_)


def test_given_labels_are_their_own_assignment_and_their_means_the_centers(five_groups):
    given = np.random.default_rng(0).integers(0, 3, 500)
    with pytest.warns(ShallowRulesWarning, match=r"\d+% of the rows .*given label"):
        model = ExplainableKMeans(clusterer=given).fit(five_groups)
    np.testing.assert_array_equal(model.reference_labels_, given)
    np.testing.assert_allclose(model.reference_centers_, [five_groups[given == i].mean(axis=0) for i in range(3)])


def test_minus_one_in_a_list_of_labels_is_a_label(five_groups, words):
    with pytest.warns(ShallowRulesWarning, match=r"contain -1, .* 0 to 1 "):
        model = ExplainableKMeans(clusterer=np.where(five_groups[:, 0] > 0, -1, 0)).fit(five_groups)
    assert [cluster.title for cluster in model.rules_.clusters] == ["0 (-1)", "1 (0)"]
    assert set(model.labels_.tolist()) == {0, 1}
    [note] = model.rules_.statistics.notes
    assert all(part in note for part in ("-1", "noise"))
    words(note)


def test_labels_that_are_refused(five_groups, words):
    said = []
    for kind, about, labels, weight in (
        (DataError, "3 labels for 500 rows", [0, 1, 2], None),
        (DataError, "no label", [None] * 500, None),
        (DataError, "labels where there is no weight", ["a"] * 3 + [None] * 497, np.arange(500) > 2),
        (OptionError, "not an array", [[1.0, 2.0], [3.0]], None),
    ):
        with pytest.raises(kind) as caught:
            ExplainableKMeans(clusterer=labels).fit(five_groups, sample_weight=weight)
        said.append((about, str(caught.value)))
    words(said)


# Columns -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_container", [np.asarray, pd.DataFrame, pl.DataFrame, Table.of], ids=["array", *FIVE[2:]])
def test_some_columns_are_clustered_and_others_explain(five_groups, as_container):
    X = as_container(five_groups)
    if isinstance(X, pd.DataFrame):
        X.columns = list("abcd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShallowRulesWarning)
        model = ExplainableKMeans(4, cluster_columns=[3, 0], explain_columns=[2, 1], random_state=0).fit(X)
    by_hand = KMeans(4, n_init=10, random_state=0).fit(five_groups[:, [3, 0]])
    np.testing.assert_allclose(model.reference_centers_, by_hand.cluster_centers_)
    np.testing.assert_array_equal(model.reference_labels_, by_hand.labels_)
    assert set(model.rules_.tested_columns) <= {1, 2}
    assert model.cluster_centers_.shape == (4, 4)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.inertia_ == pytest.approx(partition_cost(five_groups[:, [3, 0]], model.labels_))
    assert model.score(X) == pytest.approx(-model.inertia_)
    names = [column.name for column in model.rules_.columns]
    tested = {names[j]: five_groups[:, j] for j in model.rules_.tested_columns}
    np.testing.assert_array_equal(model.rules_.assign(tested), model.labels_)


def test_columns_default_to_one_another(frame):
    def fitted(clusterer=None, **parameters):
        model = ExplainableKMeans(3, clusterer=clusterer, random_state=0, **parameters).fit(frame)
        return model.reference_centers_.shape[1], set(model.rules_.tested_columns)

    assert fitted()[0] == 4
    clustered, tested = fitted(cluster_columns=["b", "d"])
    assert (clustered, tested <= {1, 3}) == (2, True)
    clustered, tested = fitted(explain_columns=["a"])
    assert (clustered, tested) == (4, {0})
    labels = KMeans(3, n_init=1, random_state=0).fit_predict(frame[["a"]])
    assert fitted(labels, explain_columns=["a"]) == (1, {0})
    assert fitted(labels, explain_columns=["a"], cluster_columns=["a", "b"]) == (2, {0})


def test_a_pipeline_gets_the_clustered_columns_only(frame):
    table = frame.assign(e=frame["a"] + 0.5)
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), ["b"]), remainder="passthrough"), PCA(2), KMeans(4)
    )
    fitted = pipeline.fit(frame[["b", "c", "d"]])
    model = fit(fitted, table, cluster_columns=["b", "c", "d"], explain_columns=["e", "c"])
    assert {table.columns[j] for j in model.rules_.tested_columns} <= {"e", "c"}
    assert model.score(table) == pytest.approx(-model.inertia_)


def test_columns_that_are_refused(frame, words):
    said = []
    for parameter in ("cluster_columns", "explain_columns"):
        for columns in (["z"], [4], [-1], [True], ["a", 0], [], "a"):
            with pytest.raises(OptionError, match=parameter) as caught:
                ExplainableKMeans(3, **{parameter: columns}).fit(frame)
            said.append((f"{parameter}={columns!r}", str(caught.value)))
    words(said)


# Columns of every kind -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def customers():
    """Numbers and categories of three segments that overlap a little."""
    random = np.random.default_rng(0)
    segment = random.integers(0, 3, 300)
    kind = np.where(random.random(300) < 0.9, segment, random.integers(0, 3, 300))
    return pd.DataFrame(
        {
            "months": random.integers(0, 60, 300) + 20 * segment,
            "amount": (random.normal(0, 5, 300) + 30 * (segment == 1)).round(2),
            "kind": np.array(["A", "B", "C"])[kind],
            "paid": random.random(300) < 0.3 + 0.4 * (segment == 2),
            "segment": pd.Series(np.array(["low", "mid", "high"])[segment]).where(np.arange(300) >= 5),
            "weight": random.integers(0, 4, 300).astype(float),
        }
    )


MIXTURE = ["months", "amount", "kind", "paid"]


def encoder():
    """Return a transformer that is seen through, not fitted."""
    return make_column_transformer((OneHotEncoder(), ["kind", "paid"]), (StandardScaler(), ["months", "amount"]))


EXPLAINED = {
    "labels": lambda frame: {"clusterer": frame["segment"], "scale": "minmax"},
    "labels behind a transformer": lambda frame: {"clusterer": frame["segment"], "transformer": encoder()},
    "numbers by categories": lambda frame: {"cluster_columns": MIXTURE[:2], "explain_columns": MIXTURE[2:]},
    "categories by numbers": lambda frame: {"cluster_columns": MIXTURE[2:], "explain_columns": MIXTURE[:2]},
    "some of each": lambda frame: {"cluster_columns": ["kind", "amount"], "scale": "standard"},
    "a pipeline": lambda frame: {"clusterer": make_pipeline(encoder(), KMeans(3, n_init=3, random_state=0))},
    "a pipeline behind a transformer": lambda frame: {
        "clusterer": make_pipeline(PCA(2), KMeans(3, n_init=3, random_state=0)),
        "transformer": encoder(),
    },
    "noise": lambda frame: {"clusterer": HDBSCAN(min_cluster_size=15, copy=True), "scale": "minmax"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "weighted"), spread(product(EXPLAINED, [False, True]), len(EXPLAINED)))
def test_categories_go_with_any_clustering(customers, name, weighted):
    X = customers[MIXTURE]
    parameters = {"n_clusters": 3, "random_state": 0, **EXPLAINED[name](customers)}
    weight = customers["weight"].to_numpy() if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShallowRulesWarning)
        model = ExplainableKMeans(**parameters).fit(X, sample_weight=weight)
        path = tradeoff_path(ExplainableKMeans(**parameters), X, sample_weight=weight)
        chosen = fit_to_goal(ExplainableKMeans(**parameters), X, max_cost=100.0, sample_weight=weight)
    names = [column.name for column in model.rules_.columns]
    assert {names[j] for j in model.rules_.tested_columns} <= set(parameters.get("explain_columns", MIXTURE))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert all(comparison.disagreements == 0 for comparison in verify(model.rules_, X))
    counts = np.ones(300) if weight is None else weight
    inside = np.where(model.reference_labels_ < 0, 0.0, counts)
    assert model.score(X, sample_weight=inside) == pytest.approx(-model.inertia_)
    statistics = model.rules_.statistics
    assert statistics.left_out == np.count_nonzero((inside == 0) & (counts > 0))
    assert statistics.agreement == pytest.approx(np.average(model.labels_ == model.reference_labels_, weights=inside))
    if isinstance(parameters.get("clusterer"), pd.Series):
        assert [cluster.name for cluster in model.rules_.clusters] == ["high", "low", "mid"]
    last = path.points[-1]
    assert chosen.normalized_cost_ <= 100.0
    assert chosen.waes_ <= last.conditions * (1 + 1e-9)
    np.testing.assert_array_equal(chosen.predict(X), chosen.labels_)
    assert all(comparison.disagreements == 0 for comparison in verify(chosen.rules_, X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShallowRulesWarning)
        alone = ExplainableKMeans(**parameters, tradeoff=last.tradeoff, refine=last.refine).fit(X, sample_weight=weight)
    if statistics.labelled:  # nothing is searched for under the goal
        assert (chosen.tradeoff, chosen.rules_) == (last.tradeoff, alone.rules_)
        assert (alone.normalized_cost_, alone.waes_) == pytest.approx((last.cost, last.conditions))
    else:  # the trees of a path help each other
        best = min(point.cost + last.tradeoff * point.conditions for point in path)
        assert best <= (alone.normalized_cost_ + last.tradeoff * alone.waes_) * (1 + 1e-9)


@pytest.mark.parametrize("as_container", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, Table.of])
def test_missing_values_of_labelled_rows_are_imputed(customers, as_container):
    frame = customers[MIXTURE].copy()
    frame.loc[::7, "amount"] = np.nan
    frame.loc[::5, "kind"] = None
    X = as_container(frame)
    model = ExplainableKMeans(clusterer=customers["segment"], impute="median", scale="robust").fit(X)
    with_label = customers["segment"].notna()
    known = frame.loc[with_label, "amount"].dropna()
    imputed = {column.name: column.imputed for column in model.rules_.columns}
    assert imputed["amount"] == np.sort(known)[(len(known) - 1) // 2]
    np.testing.assert_array_equal(model.rules_.assign(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_clusterer_of_other_numbers_is_refused_beside_categories(customers):
    clusterer = KMeans(3, n_init=1, random_state=0).fit(customers[["months", "amount"]])
    parameters = {"clusterer": clusterer, "explain_columns": ["kind", "months"]}
    ExplainableKMeans(cluster_columns=["months", "amount"], **parameters).fit(customers[MIXTURE])
    with pytest.raises(DataError, match="columns 'months', 'amount', "):
        ExplainableKMeans(cluster_columns=["amount", "months"], **parameters).fit(customers[MIXTURE])


@pytest.mark.parametrize("parameter", ["cluster_columns", "explain_columns"])
def test_a_transformer_chooses_the_columns(customers, parameter):
    with pytest.raises(OptionError, match="transformer chooses"):
        ExplainableKMeans(3, transformer=encoder(), **{parameter: ["months"]}).fit(customers[MIXTURE])


# Distances that finding the nearest centers leaves to growth ---------------------------------------


@pytest.fixture
def taken(monkeypatch):
    """Whether each growth of a tree was given the distances."""
    given = []
    grow_tree = _kernel.grow_tree

    def spy(inputs, *args, **options):
        given.append(inputs.distances is not None)
        return grow_tree(inputs, *args, **options)

    monkeypatch.setattr(_kernel, "grow_tree", spy)
    return given


def wide_table(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(300, 64)).round(3)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", few([1, 2]))
@pytest.mark.parametrize(
    ("how", "expected"),
    [("plain", True), ("path", True), ("weights", True), ("equal rows", False), ("centers", True), ("columns", True)],
)
def test_growth_takes_over_distances_and_the_tree_is_the_same(how, expected, n_jobs, taken, monkeypatch):
    X, weight = wide_table(3), None
    if how == "weights":
        weight = np.random.default_rng(1).integers(1, 5, len(X)).astype(float)
    if how == "equal rows":
        X[100:200] = X[:100]
    clusterer = X[:6].copy() if how == "centers" else KMeans(6, n_init=1, random_state=0)

    def fitted():
        options = {"explain_columns": [1, 5, 9]} if how == "columns" else {}
        model = ExplainableKMeans(6, clusterer=clusterer, n_jobs=n_jobs, **options)
        if how == "path":
            path = tradeoff_path(model, X, tradeoffs=[0.0, 0.1])
            return path.points, path.rule_sets().to_dict()
        return model.fit(X, sample_weight=weight).rules_.to_dict()

    with_them = fitted()
    assert taken
    assert taken[0] is expected
    assert not any(taken[1:])  # held for one growth only
    monkeypatch.setattr(clustering, "keeps_all_distances", lambda X, k: False)
    taken.clear()
    assert fitted() == with_them
    assert not any(taken)


def test_distances_are_held_only_where_growth_takes_them(taken):
    X = wide_table(0)
    ExplainableKMeans(6, method="imm", random_state=0).fit(X)
    ExplainableKMeans(40, random_state=0).fit(X)  # more distances than half of the memory of a row
    ExplainableKMeans(6, random_state=0).fit(X[:, :20])  # narrow rows
    assert not any(taken)

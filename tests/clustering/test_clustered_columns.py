"""Some columns are clustered and others explain; categories go with any clustering."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from clusterers import FIVE, fit
from draws import spread
from sklearn.cluster import (
    HDBSCAN,
    KMeans,
)
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shallowrules import ExplainableKMeans, fit_to_goal, tradeoff_path
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning
from shallowrules.measures.metrics import partition_cost
from shallowrules.tables.table import Table
from shallowrules.verification import verify


@pytest.fixture(scope="module")
def frame(five_groups):
    return pd.DataFrame(five_groups, columns=list("abcd"))


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

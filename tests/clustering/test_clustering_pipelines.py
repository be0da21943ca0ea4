"""A clusterer behind the transformers of a Pipeline is explained in the columns of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from clusterers import FIVE, Given, fit, name_of
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import (
    AgglomerativeClustering,
    KMeans,
)
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from shallowrules.errors import DataError, OptionError
from shallowrules.measures.metrics import partition_cost


@pytest.fixture(scope="module")
def frame(five_groups):
    return pd.DataFrame(five_groups, columns=list("abcd"))


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

"""Options, weights and tables that the estimator refuses."""

from __future__ import annotations

from datetime import time

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import StandardScaler

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError, OptionError


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "cart"}, "exshallow, exgreedy, imm, exkmc"),
        ({"refine": "much"}, "unknown refine"),
        ({"scale": "log"}, "minmax, standard, robust"),
        ({"method": "exkmc", "base": "cart"}, "unknown base 'cart'; use one of: none, imm"),
        ({"method": "exkmc", "max_leaves": 7}, "max_leaves=7 is less than the 8 clusters"),
        ({"method": "exkmc", "max_leaves": 9.5}, "max_leaves must be a whole number"),
        ({"method": "exkmc", "max_leaves": True}, "max_leaves must be a whole number"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 2.5}, "n_clusters must be"),
        ({"tradeoff": -1}, "tradeoff must be"),
        ({"tradeoff": float("nan")}, "tradeoff must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"clusterer": np.zeros((2, 9))}, "one column per column"),
        ({"clusterer": np.full((2, 4), np.nan)}, "not finite"),
        ({"clusterer": StandardScaler()}, "neither cluster_centers_ nor labels_"),
    ],
)
def test_options_that_are_refused(six_groups, parameters, message):
    with pytest.raises(OptionError, match=message):
        ExplainableKMeans(**parameters).fit(six_groups)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(np.zeros(600), "all 0"), (-np.ones(600), "Negative values")],
)
def test_weights_that_are_refused(six_groups, weight, message):
    with pytest.raises(DataError, match=message):
        ExplainableKMeans(3).fit(six_groups, sample_weight=weight)


def test_tables_that_are_refused(six_groups):
    with pytest.raises(DataError, match="n_samples=2 should be >= n_clusters=3"):
        ExplainableKMeans(3).fit(six_groups[:2])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        ExplainableKMeans(3).fit(csr_matrix(six_groups))
    frame = pd.DataFrame(six_groups, columns=list("abcd"))
    with pytest.raises(DataError, match=r"missing values .* 'b' \(2 rows\)"):
        ExplainableKMeans(3).fit(frame.assign(b=frame.b.where(frame.index > 1)))
    with pytest.raises(DataError, match=r"infinity in 'c' \(1 row\)"):
        ExplainableKMeans(3).fit(frame.assign(c=frame.c.where(frame.index > 0, np.inf)))
    with pytest.raises(DataError, match=r"neither numbers nor categories .*'when' \(times of day\); exclude"):
        ExplainableKMeans(3).fit(frame.assign(when=time(12), why="x"))
    with pytest.raises(DataError, match=r"'id' \(600 values in 600 rows\): too many values .* exclude"):
        ExplainableKMeans(3).fit(frame.assign(id=[f"row {i}" for i in range(600)]))
    with pytest.raises(DataError, match="rows and columns"):
        ExplainableKMeans(3).fit(frame[:0])


def test_missing_and_infinite_values_are_refused_in_arrays(six_groups):
    for value, message in ((np.nan, r"NaN.* 'x1' \(1 row\)"), (np.inf, r"infinity in 'x1' \(1 row\)")):
        spoilt = six_groups.copy()
        spoilt[3, 1] = value
        with pytest.raises(DataError, match=message):
            ExplainableKMeans(3).fit(spoilt)


def test_columns_of_one_name_are_refused(six_groups):
    with pytest.raises(DataError, match="same name"):
        ExplainableKMeans(3).fit(pd.DataFrame(six_groups, columns=list("aabc")))


def test_what_is_no_clusterer_is_refused_by_name(six_groups):
    with pytest.raises(OptionError, match="clusterer='foo' is neither"):
        ExplainableKMeans(clusterer="foo").fit(six_groups)

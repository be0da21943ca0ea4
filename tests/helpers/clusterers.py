"""Clusterings of a table to explain: clusterers of tests, and a fit that warns of nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from shallowrules import ExplainableKMeans

__all__ = ["FIVE", "Given", "fit", "name_of"]

FIVE = ["array", "single precision", "pandas", "polars", "Table"]
"""The names of the forms of a table."""


class Given(ClusterMixin, BaseEstimator):
    """A clusterer that has labels and no centers."""

    def __init__(self, labels: Any) -> None:
        self.labels = labels

    def fit(self, X: Any, y: Any = None) -> Given:
        self.labels_ = np.asarray(self.labels)
        return self


def fit(clusterer: Any, X: Any, **parameters: Any) -> ExplainableKMeans:
    """Explain a clustering; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="DBSCAN calls .* noise")  # as test_noise.py expects it
        return ExplainableKMeans(clusterer=clusterer, **parameters).fit(X)


def name_of(value: Any) -> str:
    """Return the type of a clusterer, for the name of a test."""
    return type(value).__name__

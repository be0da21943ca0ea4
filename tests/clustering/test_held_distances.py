"""Distances from finding the nearest centers, which growth takes over."""

from __future__ import annotations

import numpy as np
import pytest
from draws import few
from sklearn.cluster import (
    KMeans,
)

from shallowrules import ExplainableKMeans, _kernel, tradeoff_path
from shallowrules.clustering import reference as clustering


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

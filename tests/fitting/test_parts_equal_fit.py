"""A table in parts gives the rules of `fit`, every figure among them, on real tables and a large one."""

from __future__ import annotations

import itertools
import json
import os

import numpy as np
import pandas as pd
import pytest
from draws import DRAWS
from sklearn.cluster import KMeans

from shallowrules import ExplainableKMeans
from shallowrules.measures.dominance import MAX_CELLS
from shallowrules.partitions import TableParts
from shallowrules.tables.table import Table

pytestmark = pytest.mark.slow

TABLES = ["avila", "letter", "poker_part125008", "made"]
WEIGHTED = ["letter", "made"]

MADE_ROWS = 1_000_000 if DRAWS == "long" else 250_000
"""More than are searched on whole."""

MEMORY = {"collected": 4_000_000_000, "over the parts": 1}


@pytest.fixture(scope="module", params=[*((name, False) for name in TABLES), *((name, True) for name in WEIGHTED)])
def table(request, shared_data):
    """Return the rows, with their weights, the centers of a clustering of some of them, and the fits."""
    name, weighted = request.param
    if name == "made":
        rng = np.random.default_rng(0)
        X, k = rng.normal(size=(MADE_ROWS, 10)) + 4 * rng.random((20, 10))[rng.integers(0, 20, MADE_ROWS)], 20
    else:
        with np.load(shared_data / f"{name}.npz", allow_pickle=False) as stored:
            X, k = stored["X"], int(stored["k"])
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    centers = KMeans(k, n_init=1, random_state=0).fit(X[:: max(1, len(X) // 20_000)]).cluster_centers_
    weight = np.random.default_rng(0).gamma(1.0, size=len(X)) if weighted else None  # with fractions
    fitted = {}
    for refine in ("none", "full"):
        model = ExplainableKMeans(refine=refine, clusterer=centers, random_state=0)
        fitted[refine] = model.fit(frame, sample_weight=weight)
    frame = frame if weight is None else frame.assign(weight=weight)
    return frame.sample(frac=1, random_state=1), centers, fitted


def assert_close(found, expected):
    """Assert that what is not exact of so many rows in parts is near the exact figures, and take it out of both."""
    for part, names in (("columns", ["quartiles"]), ("clusters", ["deltas", "medians"])):
        for one, other in zip(found[part], expected[part], strict=True):
            for name in names:
                np.testing.assert_allclose(one.pop(name), other.pop(name), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("way", MEMORY)
@pytest.mark.parametrize("refine", ["none", "full"])
@pytest.mark.parametrize("n_parts", [7] if os.environ.get("CI") else [1, 2, 7, 64])  # all take two minutes
def test_shuffled_rows_in_parts(table, n_parts, refine, way):
    frame, centers, fitted = table
    if refine == "full" and way == "over the parts" and len(frame) < 65_536:
        pytest.skip("with so few rows fit refines on all of them, and the parts on some")
    cuts = np.linspace(0, len(frame), n_parts + 1).astype(int)
    parts = TableParts([Table.of(frame.iloc[a:b]) for a, b in itertools.pairwise(cuts)], 2)
    model = ExplainableKMeans(refine=refine, random_state=0)
    weight = "weight" if "weight" in frame else None
    model.fit_partitions(parts, centers=centers, sample_weight=weight, memory=MEMORY[way])
    found, expected = (json.loads(each.rules_.to_json()) for each in (model, fitted[refine]))
    if len(frame) > MAX_CELLS // len(found["columns"]):
        assert_close(found, expected)
    assert found == expected
    np.testing.assert_array_equal(model.tree_.threshold, fitted[refine].tree_.threshold)
    np.testing.assert_array_equal(model.cluster_centers_, fitted[refine].cluster_centers_)

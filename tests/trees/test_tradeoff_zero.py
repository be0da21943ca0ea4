"""A trade-off of 0 asks for the lowest cost: its tree costs no more than those of small trade-offs."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from draws import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from tablesinparts import check_equal

from shallowrules import ExplainableKMeans, tradeoff_path
from shallowrules.fitting.growing import NEIGHBORS
from shallowrules.partitions import TableParts
from shallowrules.tables.table import Table


def groups(seed: int, n_rows: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    n_columns, k = random.integers(2, 6), random.integers(2, 7)
    return random.normal(size=(k, n_columns))[random.integers(k, size=n_rows)] * 4 + random.normal(
        size=(n_rows, n_columns)
    )


@draws(40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.booleans())
def test_it_is_nowhere_dearer(seed, k, weighted):
    X = groups(seed, 150)
    weight = np.random.default_rng(seed).integers(0, 4, len(X)) if weighted else None
    found = {}
    for tradeoff in (0.0, *NEIGHBORS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[tradeoff] = ExplainableKMeans(k, tradeoff=tradeoff, random_state=0).fit(X, sample_weight=weight)
    assume(len({model.n_leaves_ for model in found.values()}) == 1)
    costs = {tradeoff: model.normalized_cost_ for tradeoff, model in found.items()}
    assert costs[0.0] <= min(costs.values()) * (1 + 1e-9)


def test_a_path_from_0_begins_with_the_tree_of_0():
    X = groups(3, 400)
    path = tradeoff_path(ExplainableKMeans(5, random_state=0), X, tradeoffs=[0.0, 0.05])
    assert set(path.tradeoffs) == {0.0, 0.05}
    alone = ExplainableKMeans(5, tradeoff=0.0, random_state=0).fit(X)
    assert path.costs.min() == pytest.approx(alone.normalized_cost_, rel=1e-12)


@pytest.mark.slow
def test_it_is_the_same_over_parts():
    frame = pd.DataFrame(groups(7, 70_000), columns=list("abcdefgh")[: groups(7, 1).shape[1]])
    centers = ExplainableKMeans(6, refine="none", random_state=0).fit(frame).reference_centers_
    whole = ExplainableKMeans(clusterer=centers, tradeoff=0.0, random_state=0).fit(frame)
    parts = TableParts([Table.of(frame.iloc[:30_000]), Table.of(frame.iloc[30_000:])], 2)
    check_equal(ExplainableKMeans(tradeoff=0.0, random_state=0).fit_partitions(parts, centers=centers), whole)

"""Which rows are equal, and the ranges of columns: by any number of threads and in any layout, against plain code."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from shallowrules._kernel import column_ranges, deduplicate

SHARED = 33_000  # rows, which threads share


def grouped(*columns, weight=None):
    """Return the first row of each group of equal rows, and the group of each row, None where all differ."""
    first, group, seen = [], [], {}
    for row, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        if weight is not None and weight[row] == 0:
            group.append(-1)
            continue
        if key not in seen:
            seen[key] = len(first)
            first.append(row)
        group.append(seen[key])
    return first, None if len(first) == len(columns[0]) else group


def laid_out(X, layout):
    """Return the same values in another layout."""
    if layout == "columns":
        return np.asfortranarray(X)
    if layout == "spaced":
        return np.repeat(X, 2, axis=1)[:, ::2]
    return X


@draws(50)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 5, SHARED, SHARED + 3]),
    st.sampled_from(["none", "one pair", "many"]),
    st.sampled_from(["rows", "columns", "spaced"]),
    st.sampled_from(["none", "positive", "zeros"]),
    st.booleans(),
    st.booleans(),
)
def test_equal_rows_are_found(seed, n, equal, layout, weights, labelled, two_spaces):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(rng.choice([np.float32, np.float64]))
    Y = rng.integers(0, 2, (n, 1)).astype(np.float64)
    labels = rng.integers(0, 2, n).astype(np.int32) if labelled else None
    if equal == "one pair":
        one, other = rng.integers(0, n, 2)
        X[other], Y[other] = X[one], Y[one]
        if labels is not None:
            labels[other] = labels[one]
    elif equal == "many":
        X = X[rng.integers(0, max(1, n // 3), n)]
        X[rng.random(n) < 0.1] *= 0.0  # 0.0 and -0.0
    weight = {"none": None, "positive": np.ones(n), "zeros": rng.integers(0, 2, n) * 1.0}[weights]
    X = laid_out(X, layout)
    keys = [*X.T, *(Y.T if two_spaces else []), *([labels] if labelled else [])]
    first, group = grouped(*(column + 0.0 if column.dtype.kind == "f" else column for column in keys), weight=weight)
    for threads in (1, 2, 3):
        found, groups = deduplicate(X, Y if two_spaces else X, weight, labels, threads)
        assert found.tolist() == first
        assert (None if groups is None else groups.tolist()) == group


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["rows", "columns", "spaced"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1001, 60_001])
def test_ranges_are_the_ends_of_columns(n, layout, dtype):
    rng = np.random.default_rng(n)
    X = laid_out((rng.normal(size=(n, 11)) * 10.0 ** rng.integers(-3, 4, 11)).astype(dtype), layout)
    X[rng.integers(0, n), 2], X[rng.integers(0, n), 4], X[rng.integers(0, n), 5] = np.nan, np.inf, -np.inf
    X[:, 7] = -0.0
    low, high = column_ranges(X)
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))

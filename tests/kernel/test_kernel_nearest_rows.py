"""The nearest center of each row, by any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems

from shallowrules._kernel import nearest_centers
from shallowrules.clustering.reference import reference_clustering
from shallowrules.encoding import encode
from shallowrules.tables.table import Table


def distances(X, centers):
    """Return squared distances, shape (n, k), summed column by column."""
    total = np.zeros((len(X), len(centers)))
    for j in range(centers.shape[1]):
        total += (X[:, j : j + 1].astype(np.float64) - centers[:, j]) ** 2
    return total


@draws(200)
@given(problems(max_columns=12, max_centers=40))
def test_the_nearest_center_is_the_first_of_the_least_distance(problem: Problem):
    expected = distances(problem.X_cluster, problem.centers)
    picked = np.arange(len(expected), dtype=np.int32)[::-2].copy()
    nearest, doubtful = nearest_centers(problem.X_cluster, problem.centers)
    np.testing.assert_array_equal(nearest, expected.argmin(axis=1))
    # Where there is no doubt, no other center is nearer, in whatever order the distances are summed.
    ascending = np.sort(expected, axis=1)
    if expected.shape[1] > 1:
        tied = ascending[:, 1] <= ascending[:, 0] * (1 + 1e-15)
        assert doubtful[tied].all()
        assert not doubtful[ascending[:, 1] > ascending[:, 0] * (1 + 1e-13)].any()
    kept = np.full((len(problem.centers), len(picked)), np.nan)
    some, _ = nearest_centers(problem.X_cluster, problem.centers, picked, distances=kept)
    np.testing.assert_array_equal(some, nearest[picked])
    np.testing.assert_array_equal(kept.argmin(axis=0), some)
    np.testing.assert_allclose(kept, expected[picked].T, rtol=1e-12)


@draws(60)
@given(problems(max_columns=12), st.integers(0, 2**32 - 1))
def test_labels_depend_on_neither_the_order_of_the_rows_nor_their_neighbours(problem, seed):
    # Equally near centers: each twice, and the same columns in another order.
    X = problem.X_cluster.astype(np.float64)
    centers = np.concatenate([problem.centers, problem.centers, problem.centers[:, ::-1]])
    order = np.random.default_rng(seed).permutation(len(X))

    def labels(rows):
        return reference_clustering(encode(Table.of(rows), matrix=rows), centers, None)[0].labels

    expected = labels(X)
    np.testing.assert_array_equal(labels(X[order]), expected[order])
    alone = np.concatenate([labels(row[None]) for row in X])
    np.testing.assert_array_equal(alone, expected)
    np.testing.assert_array_equal(expected, ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1))


def nearly_halfway(random, n_columns, far):
    """Return centers and rows that are about as far from two of them, and a center far from all."""
    centers = random.normal(size=(int(random.integers(2, 9)), n_columns))
    one, other = centers[random.integers(0, len(centers), (2, 160))]
    rows = (one + other) / 2 + random.normal(size=one.shape) * 10.0 ** random.integers(-2, 7)
    gap = other - one
    squares = (gap * gap).sum(axis=1, keepdims=True)
    rows -= gap * ((rows - (one + other) / 2) * gap).sum(axis=1, keepdims=True) / np.where(squares > 0, squares, 1.0)
    rows += gap * random.choice([-1, 0, 1], (160, 1)) * 10.0 ** random.uniform(-17, -2, (160, 1))
    if far:
        centers = np.concatenate([centers, np.full((1, n_columns), far)])
    return rows, centers


@draws(60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 7, 60, 700]),
    st.sampled_from([0.0, 1e3, 1e7, -1e15]),
    st.sampled_from([0.0, 1e5, 1e20, 1e40]),
    st.sampled_from([1.0, 1e-30, 1e-145, 1e-152, 1e30, 1e140, 1e307]),
    st.sampled_from([np.float64, np.float32]),
)
def test_keeping_distances_changes_nothing_where_two_centers_are_near(seed, n_columns, offset, far, scale, dtype):
    """Rows on both sides of the plane between two centers."""
    random = np.random.default_rng(seed)
    rows, centers = nearly_halfway(random, n_columns, far)
    with np.errstate(over="ignore"):
        rows, centers = ((rows + offset) * scale).astype(dtype), (centers + offset) * scale
    if not np.isfinite(rows).all():
        rows = np.nan_to_num(rows)
    kept = np.empty((len(centers), len(rows)))
    expected, expected_doubt = nearest_centers(rows, centers, distances=kept)
    nearest, doubtful = nearest_centers(rows, centers)
    np.testing.assert_array_equal(nearest, expected)
    np.testing.assert_array_equal(doubtful, expected_doubt)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_threads_and_layout_change_no_label(dtype, order):
    random = np.random.default_rng(0)
    X = random.integers(-2, 3, (70_001, 4)).astype(dtype, order=order)
    centers = random.integers(-2, 3, (9, 4)) / 2.0
    expected = distances(X, centers).argmin(axis=1)
    for threads in (1, 2, 7):
        kept = np.full((9, len(X)), np.nan)
        nearest, _ = nearest_centers(X, centers, distances=kept, n_threads=threads)
        np.testing.assert_array_equal(nearest, expected)
        np.testing.assert_array_equal(kept, distances(X, centers).T)  # quarters: every sum is exact


def test_no_rows_have_no_centers():
    nearest, doubtful = nearest_centers(np.empty((0, 2)), np.zeros((1, 2)))
    assert len(nearest) == len(doubtful) == 0

"""The parts of k-means++ that read the rows, by any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems

from shallowrules._kernel import draw_rows, sum_closest, without_centers

CHUNK = 4096


def squared_distances(X, centers):
    return ((X[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)


@draws(200)
@given(problems(max_columns=12, max_centers=12), st.integers(1, 4), st.integers(1, 3))
def test_sums_of_the_distances_to_the_nearest_center(problem: Problem, n_starts, n_trials):
    X, weight = problem.X_cluster, problem.weight
    rng = np.random.default_rng(len(X))
    first, tried = (X[rng.integers(len(X), size=size)].astype(np.float64) for size in (n_starts, n_starts * n_trials))
    weights = np.ones(len(X)) if weight is None else weight
    seen = set()
    for n_threads in (1, 3):
        closest = without_centers(n_starts, len(X))
        sums = sum_closest(X, first, closest, weight, keeps=True, n_threads=n_threads)
        expected = squared_distances(X, first).T
        np.testing.assert_allclose(closest[:, : len(X)], expected, rtol=1e-12)
        np.testing.assert_allclose(sums[0, :, 0], (expected * weights).sum(axis=1), rtol=1e-12)
        held = closest.copy()
        left = sum_closest(X, tried, closest, weight, keeps=False, n_threads=n_threads)
        np.testing.assert_array_equal(closest, held)
        further = squared_distances(X, tried).T.reshape(n_starts, n_trials, len(X))
        least = (np.minimum(expected[:, None], further) * weights).sum(axis=2)
        np.testing.assert_allclose(left[0], least, rtol=1e-12)
        seen.add((closest.tobytes(), sums.tobytes(), left.tobytes()))
    assert len(seen) == 1


@pytest.mark.parametrize("n_rows", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_many_rows_are_summed_in_chunks(n_rows):
    rng = np.random.default_rng(n_rows)
    X, weight = rng.normal(size=(n_rows, 30)), rng.uniform(size=n_rows)
    closest = without_centers(2, n_rows)
    sums = sum_closest(X, X[:2], closest, weight, keeps=True, n_threads=2)
    starts_of_chunks = np.arange(0, n_rows, CHUNK)
    expected = np.add.reduceat(squared_distances(X, X[:2]) * weight[:, None], starts_of_chunks)
    np.testing.assert_allclose(sums[:, :, 0], expected, rtol=1e-12)
    alone = sum_closest(X, X[:2], without_centers(2, n_rows), weight, keeps=True, n_threads=1)
    np.testing.assert_array_equal(sums, alone)


@draws(200)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 15, 16, 17, 100, CHUNK, 2 * CHUNK + 100]), st.booleans())
def test_the_row_at_which_a_sum_reaches_a_number(seed, n_rows, weighted):
    """Distances are whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    closest = without_centers(2, n_rows)
    closest[:, :n_rows] = rng.integers(0, 5, size=(2, n_rows))
    weight = rng.integers(0, 3, size=n_rows).astype(float) if weighted else None
    running = (closest[:, :n_rows] * (1.0 if weight is None else weight)).cumsum(axis=1)
    ends = np.minimum(np.arange(CHUNK, n_rows + CHUNK, CHUNK), n_rows) - 1
    numbers = rng.uniform(-0.5, 1.1, size=(2, 6)) * running[:, -1:]
    numbers[:, ::2] = np.round(numbers[:, ::2])
    bound = np.repeat([[0.0], [0.3]], 6, axis=1)
    rows, doubtful = draw_rows(closest, weight, n_rows, np.ascontiguousarray(running[:, ends]), numbers, bound)
    for start in range(2):
        expected = running[start].searchsorted(numbers[start])
        np.testing.assert_array_equal(rows[start], np.minimum(expected, n_rows - 1))
        before = np.concatenate([[0.0], running[start]])[expected]
        after = np.append(running[start], -np.inf)[expected]
        certain = (after - numbers[start] > bound[start]) & (numbers[start] - before > bound[start])
        np.testing.assert_array_equal(doubtful[start], ~certain)


def test_what_does_not_belong_to_the_table_is_refused():
    X, closest = np.zeros((20, 2)), without_centers(2, 20)
    for centers, distances, weight in [
        (np.zeros((2, 3)), closest, None),
        (np.zeros((3, 2)), closest, None),
        (np.zeros((2, 2)), without_centers(2, 5), None),
        (np.zeros((2, 2)), closest, np.ones(19)),
    ]:
        with pytest.raises(ValueError, match="of another table"):
            sum_closest(X, centers, distances, weight, keeps=False)
    numbers, sums = np.zeros((2, 3)), np.ones((2, 1))
    for distances, weight, n_rows in [
        (closest, None, 40),
        (closest, np.ones(19), 20),
        (without_centers(2, 5000), None, 5000),
    ]:
        with pytest.raises(ValueError, match="of another table"):
            draw_rows(distances, weight, n_rows, sums, numbers, numbers)

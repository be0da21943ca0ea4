"""The starts of a KMeans are those of its `fit` alone, whatever the table, the weights and the random numbers."""

from __future__ import annotations

import warnings
from copy import deepcopy
from hashlib import sha256
from numbers import Integral

import numpy as np
import pytest
from draws import drawn, draws, few
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs
from sklearn.utils import check_random_state
from strategies import Problem, problems
from threadpoolctl import threadpool_limits

from shallowrules.clustering import starts

RANDOM_STATES = [
    7,
    np.int64(7),
    None,
    np.random.RandomState(5),
    np.random.RandomState(np.random.PCG64(5)),
]


def outcome(kmeans, X, weight, fit):
    """Return a fit's warnings, its result, bit for bit, or error, and the next random number after it."""
    kmeans = deepcopy(kmeans)
    if kmeans.random_state is None:
        np.random.seed(3)  # noqa: NPY002 - the numbers that KMeans takes
    try:
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")  # of fewer distinct rows than clusters, of squares beyond floats
            fit(kmeans, X, weight)
    except ValueError as error:
        return warned(said), (str(error), str(kmeans.init), kmeans.n_init)
    state = kmeans.random_state
    after = None if isinstance(state, Integral) else check_random_state(state).random_sample()
    found = kmeans.labels_, kmeans.cluster_centers_, kmeans.inertia_, kmeans.n_iter_
    digests = [sha256(np.asarray(value).tobytes()).hexdigest() for value in found]
    return warned(said), (digests, after, str(kmeans.init), kmeans.n_init)


def warned(said):
    return {str(warning.message) for warning in said}


def assert_as_alone(kmeans, X, weight, threads=(1, 2, 3)):
    said_alone, alone = outcome(kmeans, X, weight, lambda kmeans, X, weight: kmeans.fit(X, sample_weight=weight))
    for n_threads in threads:
        said, ours = outcome(kmeans, X, weight, lambda *fit, n=n_threads: starts.fit_kmeans(*fit, n))
        assert ours == alone
        assert said <= said_alone


@pytest.mark.slow
@pytest.mark.parametrize("random_state", RANDOM_STATES)
@pytest.mark.parametrize("n_init", few([1, 2, 5, np.int32(5), "auto"], 3))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_is_that_of_kmeans_alone(random_state, n_init, weighted):
    X = make_blobs(300, 3, centers=9, cluster_std=4.0, random_state=1)[0]
    weight = np.arange(300) % 4 + 0.5 if weighted else None
    assert_as_alone(KMeans(7, n_init=n_init, random_state=random_state), X, weight)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"init": "random"}, {"init": np.arange(21.0).reshape(7, 3)}, {"algorithm": "elkan"}, {"max_iter": 1}]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_options_and_types_of_kmeans(options, dtype):
    X = (10 * make_blobs(300, 3, centers=9, cluster_std=4.0, random_state=1)[0]).astype(dtype)
    assert_as_alone(KMeans(7, **{"n_init": 2, "random_state": 0, **options}), X, None)
    assert_as_alone(KMeans(7, **{"n_init": 2, "random_state": 0, **options}), np.asfortranarray(X), None)


@draws(150)
@given(problems(max_columns=6, max_centers=12), st.integers(0, 2**32 - 1))
def test_a_fit_of_any_table(problem: Problem, seed):
    kmeans = KMeans(len(problem.centers), n_init=3, max_iter=3, random_state=seed)
    assert_as_alone(kmeans, problem.X_cluster.astype(np.float64), problem.weight, threads=(2,))


@pytest.mark.parametrize(
    "X",
    [
        np.arange(3.0)[:, None],  # fewer rows than clusters
        np.repeat([[0.0, 1.0], [2.0, 1.0]], 20, axis=0),  # fewer distinct rows
        np.zeros((40, 2)),
        np.linspace(-1e154, 1e154, 40)[:, None],  # sums of squares beyond floats
        np.linspace(-1e200, 1e200, 40)[:, None],  # squares beyond floats
        np.linspace(0.9e308, 1.7e308, 40)[:, None],  # the sum of values, too
        np.linspace(-1e-200, 1e-200, 40)[:, None],  # squares that are 0
        np.vstack([np.random.default_rng(0).normal(size=(200, 2)), [[1e9, 0.0]]]),
    ],
)
def test_tables_at_the_edge(X):
    assert_as_alone(KMeans(5, n_init=4, random_state=0), X, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "weight",
    [
        np.zeros(40),
        np.eye(40)[7],
        np.eye(40)[7] - 0.01,
        np.full(40, 1e-300),
        np.full(40, 1e300),
        np.full(40, 1e307),
        np.full(40, np.nan),
        list(range(40)),
        np.arange(80, dtype=np.float32)[::2],
        2.0,
        np.ones(39),
        np.ones((40, 1)),
    ],
)
@pytest.mark.parametrize("n_clusters", [1, 3])
def test_weights_at_the_edge(weight, n_clusters):
    X = make_blobs(40, 2, centers=5, random_state=0)[0]
    assert_as_alone(KMeans(n_clusters, n_init=4, random_state=0), X, weight)


@pytest.mark.parametrize("exponent", few(np.arange(-166.0, -150.0, 0.5), 8))
@pytest.mark.parametrize("weight", [1e-8, 1.0, 1e8])
def test_squares_with_few_digits(exponent, weight):
    for seed in range(drawn(20)):
        random = np.random.RandomState(seed)
        X = random.standard_normal((60, 2)) * 10.0**exponent
        starts_of_table = starts.find_starts(X, 6, np.full(60, weight), random, 2, 1)
        for centers, _ in starts_of_table:
            theirs, _ = kmeans_plusplus(X, 6, sample_weight=np.full(60, weight), random_state=random)
            np.testing.assert_array_equal(centers, theirs)


@pytest.mark.parametrize("n_clusters", [np.int8(30), np.uint8(60)])
def test_numbers_of_few_bits(n_clusters):
    X = make_blobs(300, 3, centers=9, cluster_std=4.0, random_state=1)[0]
    assert_as_alone(KMeans(n_clusters, n_init=np.int8(3), random_state=0), X, None)


class Scripted(np.random.RandomState):
    """Random numbers that are given: one for the first row, and then those that draw each further row."""

    def __init__(self, first, draws):
        super().__init__(0)
        self._first = first
        self._draws = iter(draws)

    def choice(self, *_, **__):
        return self._first

    def uniform(self, **_):
        return next(self._draws)


def costs(X, weight, closest, rows):
    """Return the potential that each of some rows leaves as a further center."""
    return [(weight * np.minimum(closest, ((X - X[row]) ** 2).sum(axis=1))).sum() for row in rows]


@draws(400)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.sampled_from([12, 60, 5000]),
    n_columns=st.integers(1, 4),
    n_clusters=st.integers(2, 7),
    offset=st.sampled_from([0, 0, 1000, 10**6]),
    mirrored=st.booleans(),
    weighted=st.booleans(),
)
def test_where_rounding_may_decide(seed, n_rows, n_columns, n_clusters, offset, mirrored, weighted):
    """Rows that are not marked doubtful are those that scikit-learn takes.

    Numbers fall on the boundary of two rows; in a table that is its own mirror image, rows leave the same potential.
    Whole numbers give exact sums, and tenths of them give rounded ones.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n_rows, n_columns))
    weight = rng.integers(0, 4, size=n_rows) if weighted else np.ones(n_rows, dtype=int)
    rows = [int(rng.integers(n_rows))]
    if mirrored:
        half = n_rows // 2
        X[:half], weight[:half] = 8 - X[-half:], weight[-half:]
        X[rows[0]] = 4
    n_trials = 2 + int(np.log(n_clusters))
    closest, draws = np.full(n_rows, 10**9), []
    for _ in range(1, n_clusters):
        closest = np.minimum(closest, ((X - X[rows[-1]]) ** 2).sum(axis=1))
        up_to = (weight * closest).cumsum()
        boundaries = up_to[rng.integers(n_rows, size=n_trials)] / max(up_to[-1], 1)
        moved = boundaries * (1 + rng.integers(-3, 4, size=n_trials) * 2.0**-53)
        draws.append(np.where(rng.random(n_trials) < 0.3, np.clip(moved, 0, 1), rng.random(n_trials)))
        tried = np.minimum(up_to.searchsorted(draws[-1] * up_to[-1]), n_rows - 1)
        rows.append(int(tried[np.argmin(costs(X, weight, closest, tried))]))
    table, weights = (X + offset) / 10, weight.astype(float)
    (ours,), (doubtful,) = starts._choose_rows(table, weights, np.array(rows[:1]), np.array([draws]), 1)
    if not doubtful:
        theirs, _ = kmeans_plusplus(table, n_clusters, sample_weight=weights, random_state=Scripted(rows[0], draws))
        np.testing.assert_array_equal(table[ours], theirs)


class Given(np.random.RandomState):
    """Random numbers that are given."""

    def __init__(self, numbers):
        super().__init__(0)
        self._numbers = numbers

    def random_sample(self, _):
        return self._numbers


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, 6, 49, 1000])
def test_the_first_row_is_the_one_that_numpy_draws(n_rows, weighted):
    weight = np.random.default_rng(n_rows).integers(0, 9, size=n_rows) / 10 + 0.1 if weighted else np.ones(n_rows)
    up_to = weight.cumsum() / weight.sum()
    numbers = np.concatenate([up_to, np.nextafter(up_to, 0), np.nextafter(up_to, 1)])
    numbers = numbers[numbers < 1]
    share = weight / weight.sum()
    expected = Given(numbers).choice(n_rows, size=len(numbers), p=share)
    np.testing.assert_array_equal(starts._drawn_by_weight(n_rows, weight if weighted else None, numbers), expected)


def test_doubt_is_rare(monkeypatch):
    """Otherwise scikit-learn would find the starts, and nothing would be gained: here, for columns with outliers."""
    asked = []
    monkeypatch.setattr(
        starts, "kmeans_plusplus", lambda *_, **options: asked.append(1) or kmeans_plusplus(*_, **options)
    )
    for seed in range(3):
        X = np.exp(2 * np.random.default_rng(seed).normal(size=(20_000, 4)))
        starts.find_starts(X - X.mean(axis=0), 20, None, np.random.RandomState(seed), 4, 2)
    assert len(asked) <= 1


def test_another_version_of_k_means_plus_plus_is_left_alone(monkeypatch):
    """A start that takes other rows, or more random numbers, is that of KMeans alone."""
    X = make_blobs(300, 3, centers=9, cluster_std=4.0, random_state=1)[0]

    def other_rows(X, n_clusters, **_):
        return X[:n_clusters], np.arange(n_clusters)

    def more_numbers(X, n_clusters, *, random_state, **options):
        found = kmeans_plusplus(X, n_clusters, random_state=random_state, **options)
        random_state.random_sample()
        return found

    for version in (other_rows, more_numbers):
        monkeypatch.setattr(starts, "kmeans_plusplus", version)
        starts._is_as_known.cache_clear()
        try:
            assert not starts._is_as_known()
            assert_as_alone(KMeans(7, n_init=3, random_state=0), X, None)
        finally:
            starts._is_as_known.cache_clear()
    monkeypatch.undo()
    assert starts._is_as_known()


def test_a_kmeans_of_another_library_is_left_alone(monkeypatch):
    class OtherKMeans(KMeans):
        __module__ = "other.cluster"

    monkeypatch.setattr(starts, "KMeans", OtherKMeans)
    starts._is_as_known.cache_clear()
    try:
        assert not starts._is_as_known()
    finally:
        starts._is_as_known.cache_clear()


def test_a_failed_fit_leaves_the_clusterer_as_it_was():
    kmeans = KMeans(5, n_init=4)
    with pytest.raises(ValueError, match="n_samples=3"):
        starts.fit_kmeans(kmeans, np.arange(3.0)[:, None], None, 2)
    assert kmeans.init == "k-means++"

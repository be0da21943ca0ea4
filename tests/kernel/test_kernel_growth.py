"""Growing: the kernel against the oracle, progress and interrupts, corners."""

from __future__ import annotations

import inspect
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from draws import draws, few, spread
from growths import assert_same, check, grow, grown
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems
from tables import TABLES, blobs

from shallowrules import _kernel
from shallowrules._kernel import GrowthInput, encode, grow_tree, openmp_enabled
from shallowrules.errors import DataError, OptionError
from shallowrules.trees import growing
from shallowrules.trees.growth_data import MAX_CENTERS

many = draws(1500)
some = draws(150)


@many
@given(problems())
def test_every_choice_is_the_oracles(problem):
    check(problem)


@some
@given(problems(max_rows=200, max_columns=3, max_centers=24))
def test_every_choice_is_the_oracles_with_many_centers(problem):
    check(problem)


@some
@given(problems())
def test_labels_are_where_the_cuts_and_every_value_of_their_gaps_send_the_rows(problem):
    tree = grown(problem)
    weight = np.ones(len(problem.X_explain)) if problem.weight is None else problem.weight
    for thresholds in (tree.cut, tree.lower, np.nextafter(tree.upper, -np.inf)):
        labels = np.full(len(weight), -1)
        pending = [(0, np.flatnonzero(weight > 0))]
        while pending:
            node, rows = pending.pop()
            if tree.feature[node] == -1:
                labels[rows] = tree.center[node]
                continue
            left = problem.X_explain[rows, tree.feature[node]].astype(np.float64) <= thresholds[node]
            pending += [(tree.left[node], rows[left]), (tree.right[node], rows[~left])]
        assert np.array_equal(labels, tree.labels)


@pytest.mark.parametrize("tradeoff", few(spread([0.0, 0.03, 1.0], 2)))
def test_every_choice_is_the_oracles_on_tables_of_some_size(table, tradeoff):
    tree = check(replace(table, tradeoff=tradeoff))
    assert tree.n_leaves > 1


@some
@given(problems(), st.sampled_from([2, 7]))
def test_threads_change_nothing_on_small_tables(problem, n_threads):
    assert_same(grown(problem), grown(problem, n_threads))


def test_threads_change_nothing_on_tables_of_some_size(table):
    alone = grown(table)
    for n_threads in (2, 7):
        assert_same(alone, grown(table, n_threads))


def test_growing_tells_its_progress():
    random = np.random.default_rng(3)
    X = blobs(random, 200_000, 12, 20, 3.0)
    for n_threads in (1, 2):
        shares: list[float] = []
        grow(X, X, X[:20].copy(), X[:20].copy(), n_threads=n_threads, progress=shares.append)
        assert len(shares) >= 3 - n_threads
        assert shares == sorted(shares)
        assert 0 < shares[0] < shares[-1] <= 1 + 1e-9


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_progress_raises_ends_growing(n_threads):
    random = np.random.default_rng(3)
    X = blobs(random, 200_000, 12, 20, 3.0)
    calls = []

    def refuse(done):
        calls.append(done)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        grow(X, X, X[:20].copy(), X[:20].copy(), n_threads=n_threads, progress=refuse)
    assert len(calls) == 1


def test_an_interrupt_ends_growing():
    random = np.random.default_rng(3)
    X = blobs(random, 200_000, 12, 20, 3.0)
    with pytest.raises(KeyboardInterrupt):
        grow(X, X, X[:20].copy(), X[:20].copy(), progress=lambda done: signal.raise_signal(signal.SIGINT))


def test_one_center_is_all_the_work():
    X = np.random.default_rng(5).normal(size=(200_000, 30))
    shares: list[float] = []
    rows = np.arange(len(X), dtype=np.int32)
    grow_tree(GrowthInput(X, X, rows, None, X[:1].copy(), X[:1].copy()), 0.03, progress=shares.append)
    assert shares == [1.0]


def test_the_kernel_says_whether_it_has_threads():
    compiled = [path.read_bytes() for folder in _kernel.__path__ for path in Path(folder).rglob("*.so")]
    if not compiled:
        pytest.skip("the names of OpenMP's functions are those of Linux and macOS")
    calls = (b"GOMP_parallel", b"__kmpc_fork_call")
    assert openmp_enabled() is any(call in content for content in compiled for call in calls)


def test_one_center_is_one_leaf():
    X = np.random.default_rng(0).normal(size=(10, 2))
    tree = check(Problem(X, X, X[:1], X[:1], None, 0.03))
    assert (tree.n_leaves, tree.labels.tolist()) == (1, [0] * 10)


def test_as_many_centers_as_rows_cost_nothing_and_the_oracle_agrees():
    X = np.random.default_rng(0).normal(size=(8, 2))
    tree = check(Problem(X, X, X, X, None, 0.03))
    assert tree.labels.tolist() == list(range(8))


def test_equal_rows_and_centers_end_in_one_leaf():
    X = np.ones((5, 2))
    tree = check(Problem(X, X, X[:3], X[:3], None, 0.03))
    assert (tree.n_leaves, tree.center[0]) == (1, 0)


def test_one_row_is_one_leaf_of_its_nearest_center():
    X = np.array([[1.0, 2.0]])
    centers = np.array([[9.0, 9.0], [1.0, 3.0], [0.0, 0.0]])
    tree = check(Problem(X, X, centers, centers, None, 0.03))
    assert (tree.feature.tolist(), tree.labels.tolist()) == ([-1], [1])


def test_fewer_distinct_rows_than_centers_end_in_a_leaf_of_the_cheapest():
    # Two distinct rows for three centers: no cut leaves both sides as many rows as centers.
    X = np.array([[0.0], [0.0], [10.0], [0.0]])
    centers = np.array([[10.0], [5.0], [3.0]])
    tree = check(Problem(X, X, centers, centers, None, 0.03))
    assert (tree.feature.tolist(), tree.labels.tolist()) == ([-1], [2, 2, 2, 2])
    heavy = check(Problem(X, X, centers, centers, np.array([1.0, 1.0, 9.0, 1.0]), 0.03))
    assert heavy.labels.tolist() == [0, 0, 0, 0]


def test_both_zeros_are_one_value():
    X = np.array([[0.0], [-0.0], [1.0], [1.0]])
    tree = check(Problem(X, X, X[[0, 2]], X[[0, 2]], None, 0.03))
    assert tree.rows.tolist() == [4, 2, 2]


def test_two_features_that_tie_give_the_first():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 1)), 3, axis=1)
    tree = check(Problem(X, X, X[:5], X[:5], None, 0.03))
    assert (tree.feature <= 0).all()


def test_a_tie_inside_a_bin_of_an_earlier_feature_still_wins():
    # The second feature separates the groups without loss and at the end of a bin. The first sends one row to
    # the other side, which costs less than the tolerance, and its cut lies inside a bin: far rows make it wide.
    random = np.random.default_rng(0)
    side = np.repeat([0.0, 1.0], [202, 198])
    points = side + 1e-3 * random.random(400)
    first = np.where(side, 0.9, 0.1) + 0.05 * random.random(400)
    first[0], first[1], first[-1] = 0.92, -1e4, 1e4
    points[0] = 0.5 - 1e-10
    X = np.stack([first, side], axis=1)
    tree = check(Problem(X, points[:, None], np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0], [1.0]]), None, 0.0))
    assert tree.feature[0] == 0


def test_a_tie_of_four_rows_goes_to_the_first_feature_too():
    # The smallest such table: the first feature's cut is inside a bin and worse by 2e-10, a fifth of the tolerance.
    X = np.array([[1.5, 0.02], [0.0, 0.01], [1.01, 1.03], [1e4, 1.0]])
    points = np.array([[0.499999999975], [0.0], [1.0], [1.0]])
    tree = check(Problem(X, points, np.array([[-1e3, 0.0], [2e4, 1.0]]), np.array([[0.0], [1.0]]), None, 0.0))
    assert (tree.feature[0], tree.cut[0]) == (0, 0.0)


def test_a_sentinel_value_far_away_hides_no_cost():
    # 999999999 for "unknown" is a cluster of its own; the costs between the others are 1e-16 of its distance.
    random = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0]], 300, axis=0) + random.normal(size=(900, 2))
    X[:3, 0] = 999_999_999
    centers = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [999_999_999, 0.0]])
    check(Problem(X, X, centers, centers, None, 0.03))


def test_exgreedy_is_exshallow_without_a_tradeoff():
    problem = TABLES["overlapping"](np.random.default_rng(6))
    greedy = grow(*problem.arrays, method="exgreedy", tradeoff=0.3)
    assert_same(greedy, grow(*problem.arrays, tradeoff=0.0))


def test_values_whose_squares_overflow_are_refused():
    X = np.array([[1e200], [-1e200]])
    with pytest.raises(DataError, match="overflow"):
        grow(X, X, X, X)


def test_more_centers_than_can_be_numbered_are_refused():
    X = np.zeros((2, 1))
    centers = np.zeros((MAX_CENTERS + 1, 1))
    with pytest.raises(OptionError, match=f"more than the {MAX_CENTERS:,}"):
        grow(X, X, centers, centers)


@pytest.mark.parametrize("ranks", [0, 256])
@pytest.mark.parametrize("power", [1, 9])
def test_as_many_centers_as_there_may_be_have_codes(power, ranks):
    random = np.random.default_rng(power)
    X = random.normal(size=(200_000, 1)) ** power  # a power of 9 crowds in few cells
    X[: len(X) // 3] = random.integers(0, 3000, len(X) // 3)[:, None]  # values of many rows
    rows, centers = np.arange(len(X), dtype=np.int32), random.permutation(X)[:MAX_CENTERS] + 1e-9
    codes, center_codes, n_codes, _, _ = encode(X, rows, centers, 2, ranks=ranks)
    assert codes.max() < n_codes
    order = np.argsort(np.concatenate([X[:, 0], centers[:, 0]]), kind="stable")
    assert (np.diff(np.concatenate([codes[0].astype(int), center_codes[0]])[order]) >= 0).all()


@pytest.mark.slow
@many
@given(problems(max_columns=3), st.sampled_from([0, 1, 3, 16, 512]), st.sampled_from([1, 3, 9, 31]), st.data())
def test_codes_keep_the_order_of_values_and_those_of_centers_are_the_rows(problem, ranks, power, data):
    columns = problem.X_explain.astype(np.float64)
    columns /= np.abs(columns).max(axis=0, initial=1e-300)
    columns *= np.abs(columns) ** (power - 1)  # crowd in few cells
    some = data.draw(st.lists(st.integers(0, len(columns) - 1), min_size=1, max_size=8))
    centers = np.ascontiguousarray(columns[some])
    codes, center_codes, n_codes, _, _ = encode(
        columns, np.arange(len(columns), dtype=np.int32), centers, 1, ranks=ranks
    )
    assert codes.max() < n_codes
    for values, code, center, center_code in zip(columns.T, codes.astype(int), centers.T, center_codes, strict=True):
        assert np.array_equal(code[some], center_code)
        order = np.argsort(values, kind="stable")
        assert (np.diff(code[order]) >= 0).all()
        for value, own in zip(center, center_code, strict=True):  # no other value has it
            assert np.array_equal(code == own, values == value)


def test_grow_keeps_its_default_tradeoff():
    assert inspect.signature(growing.grow).parameters["tradeoff"].default == 0.03


@draws(100)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([5, 6, 8]), st.floats(6.0, 11.0), st.sampled_from([0.03, 1e5, 1e8, 1e10])
)
def test_cuts_are_found_where_the_path_has_nearly_all_of_their_depth(seed, k, power, tradeoff):
    # The heaviest cluster is cut off at the root, and of what is left nearly all lies on the side of that edge: what a
    # cut adds to the depth is far less than what the depth is rounded by.
    random = np.random.default_rng(seed)
    X = np.repeat(np.arange(k, dtype=float), 3)[:, None] + np.tile([0.0, -0.1, 0.1], k)[:, None]
    weight = np.ones(len(X))
    weight[:3] = 10.0**power * random.uniform(1, 2)
    weight[-3:] = 10.0**power * random.uniform(50, 100)
    centers = np.arange(k, dtype=float)[:, None]
    check(Problem(X, X, centers, centers, weight, tradeoff))

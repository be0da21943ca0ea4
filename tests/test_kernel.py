"""The kernel against the oracle, and against itself on tables that mean the same."""

from __future__ import annotations

import functools
import inspect
import os
import signal
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import oracle
import pytest
from growths import EVERYTHING, STRUCTURE, assert_same, grow, grow_path
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Problem, problems
from tables import blobs, lloyd, one_space, repeated_rows, whole_weights

from shallowrules import _kernel, growing
from shallowrules._kernel import eval_wad, openmp_enabled
from shallowrules.errors import DataError, OptionError
from shallowrules.growing import GrownTree

pytestmark = pytest.mark.slow

many = settings(max_examples=75 if os.environ.get("SHALLOWRULES_SHORT") else 1500)  # `make sanitize SHORT=1`
some = settings(max_examples=150)


def grown(problem: Problem, n_threads: int = 1) -> GrownTree:
    return grow(*problem.arrays, **problem.options, n_threads=n_threads)


def check(problem: Problem, n_threads: int = 1) -> GrownTree:
    tree = grown(problem, n_threads)
    oracle.check_tree(tree, *problem.arrays, **problem.options)
    return tree


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
    weight = np.ones(len(problem.explained)) if problem.weight is None else problem.weight
    for thresholds in (tree.cut, tree.lower, np.nextafter(tree.upper, -np.inf)):
        labels = np.full(len(weight), -1)
        pending = [(0, np.flatnonzero(weight > 0))]
        while pending:
            node, rows = pending.pop()
            if tree.feature[node] == -1:
                labels[rows] = tree.center[node]
                continue
            left = problem.explained[rows, tree.feature[node]].astype(np.float64) <= thresholds[node]
            pending += [(tree.left[node], rows[left]), (tree.right[node], rows[~left])]
        assert np.array_equal(labels, tree.labels)


# IMM and ExKMC.


def own_centers(problem: Problem) -> dict[str, np.ndarray]:
    """Return each row's nearest center by name of `grow`'s argument, or nothing where no two are nearly as near.

    Where they are, rounding decides, and the kernel need not round as the oracle does.
    """
    points = problem.clustered.astype(np.float64)
    distances = np.stack([((points - center) ** 2).sum(axis=1) for center in problem.centers], axis=1)
    near = np.sort(distances, axis=1)[:, :2]
    if distances.shape[1] == 1 or (near[:, 1] - near[:, 0] > 1e-9 * near[:, 1]).all():
        return {}
    return {"assigned": distances.argmin(axis=1).astype(np.int32)}


def check_method(problem: Problem, n_threads: int = 1, **options) -> GrownTree:
    tree = grow(*problem.arrays, **problem.options, **options, n_threads=n_threads)
    oracle.check_tree(tree, *problem.arrays, **problem.options, **options)
    return tree


@many
@given(problems())
def test_every_choice_of_imm_is_the_oracles(problem):
    check_method(problem, method="imm", **own_centers(problem))


@some
@given(problems(max_rows=200, max_columns=3, max_centers=24))
def test_every_choice_of_imm_is_the_oracles_with_many_centers(problem):
    check_method(problem, method="imm", **own_centers(problem))


@many
@given(problems(), st.integers(0, 2**32 - 1))
def test_imm_minds_given_labels(problem, seed):
    labels = np.random.default_rng(seed).integers(len(problem.centers), size=len(problem.explained))
    check_method(problem, method="imm", assigned=labels.astype(np.int32))


@many
@given(problems(), st.none() | st.integers(0, 6))
def test_every_choice_of_exkmc_is_the_oracles(problem, extra):
    max_leaves = None if extra is None else len(problem.centers) + extra
    check_method(problem, method="exkmc", max_leaves=max_leaves)


@some
@given(problems(), st.integers(0, 6))
def test_every_choice_of_exkmc_on_imm_is_the_oracles(problem, extra):
    options = {"method": "exkmc", "base": "imm", "max_leaves": len(problem.centers) + extra}
    check_method(problem, **options, **own_centers(problem))


def test_of_leaves_that_gain_alike_exkmc_splits_the_oldest():
    X = np.array([[0.0], [2.0], [100.0], [102.0]])
    tree = check_method(Problem(X, X, X, X, None, 0.0), method="exkmc", max_leaves=3)
    assert tree.labels.tolist() == [0, 1, 2, 2]


def test_of_equally_near_centers_imm_assigns_the_first():
    # The middle row goes with the center that is named first; else no cut would part both from it alike.
    X = np.array([[0.0], [5.0], [10.0]])
    for centers, labels in ((X[[0, 2]], [0, 0, 1]), (X[[2, 0]], [1, 0, 0])):
        assert check_method(Problem(X, X, centers, centers, None, 0.0), method="imm").labels.tolist() == labels


@some
@given(problems(), st.sampled_from([2, 7]), st.sampled_from(["imm", "exkmc"]))
def test_threads_change_nothing_for_imm_and_exkmc(problem, n_threads, method):
    assert_same(
        grow(*problem.arrays, **problem.options, method=method),
        grow(*problem.arrays, **problem.options, method=method, n_threads=n_threads),
    )


# Tables of some size: bins of many rows, lists of near centers that run out, deep trees.


def overlapping(random):
    return one_space(blobs(random, 4000, 8, 30, 4.0), 60, random)


def separate(random):
    return one_space(blobs(random, 5000, 3, 40, 0.2), 40, random)


def one_column(random):
    return one_space(random.normal(size=(5000, 1)), 50, random)


def discrete(random):
    return one_space(random.binomial(15, random.uniform(0.2, 0.8, size=8), size=(4000, 8)).astype(float), 26, random)


def heavy_tailed(random):
    return one_space(np.exp(1.5 * random.normal(size=(3000, 5))), 20, random)


def extreme_tailed(random):
    return one_space(np.exp(4 * random.normal(size=(4000, 4))), 30, random)


def spiked(random):
    X = random.lognormal(size=(3000, 6)) * (random.random((3000, 6)) < 0.3)
    return one_space(X.round(2), 25, random)


def binary(random):
    return one_space((random.random((3000, 16)) < random.random(16)).astype(float), 20, random)


def repeated(random):
    X = blobs(random, 500, 4, 12, 2.0)
    return one_space(X[random.integers(500, size=5000)], 12, random)


def wide(random):
    return one_space(blobs(random, 500, 100, 10, 6.0), 16, random)


def narrow_precision(random):
    return one_space(blobs(random, 3000, 6, 20, 3.0).astype(np.float32), 20, random)


def offset(random):
    return one_space(1e9 + blobs(random, 2000, 4, 12, 2.0), 12, random)


def weighty(random):
    problem = one_space(blobs(random, 3000, 5, 15, 3.0), 20, random)
    return replace(problem, weight=random.choice([0.0, 1e-3, 1.0, 2.5, 40.0], size=3000))


def two_spaces(random):
    X = blobs(random, 3000, 6, 15, 3.0)
    points = (X @ random.normal(size=(6, 2))).astype(np.float32)
    centers = lloyd(points, 20, random)
    labels = ((points[:, None, :] - centers) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([X[labels == i].mean(axis=0) if (labels == i).any() else X[0] for i in range(20)])
    return Problem(X, points, means, centers, None, 0.03)


def arbitrary_centers(random):
    X = blobs(random, 1500, 4, 10, 3.0)
    centers = random.uniform(-15, 15, size=(100, 4))
    return Problem(X, X, centers, centers, None, 0.03)


TABLES: dict[str, Callable[[np.random.Generator], Problem]] = {
    make.__name__: make
    for make in (
        overlapping, separate, one_column, discrete, heavy_tailed, extreme_tailed, spiked, binary, repeated, wide,
        narrow_precision, offset, weighty, two_spaces, arbitrary_centers,
    )
}  # fmt: skip


@pytest.fixture(params=TABLES)
def table(request) -> Problem:
    return TABLES[request.param](np.random.default_rng(20))


@pytest.mark.parametrize("tradeoff", [0.0, 0.03, 1.0])
def test_every_choice_is_the_oracles_on_tables_of_some_size(table, tradeoff):
    tree = check(replace(table, tradeoff=tradeoff))
    assert tree.n_leaves > 1


@pytest.mark.parametrize(
    "options",
    [
        {"method": "imm"},
        {"method": "exkmc"},
        {"method": "exkmc", "max_leaves": 130},
        {"method": "exkmc", "base": "imm", "max_leaves": 130},
    ],
    ids=str,
)
def test_every_choice_of_imm_and_exkmc_is_the_oracles_on_tables_of_some_size(table, options):
    own = own_centers(table) if "imm" in options.values() else {}
    alone = check_method(table, **options, **own)
    assert_same(alone, grow(*table.arrays, **table.options, **options, **own, n_threads=2))


# Many trade-offs at once.


@some
@given(problems(), st.lists(st.sampled_from([0.0, 1e-3, 0.03, 0.3, 1.0, 10.0]), min_size=1, max_size=6))
def test_a_path_is_the_tree_of_each_tradeoff(problem, tradeoffs):
    path = grow_path(*problem.arrays, weight=problem.weight, tradeoffs=tradeoffs)
    for tradeoff, tree in zip(tradeoffs, path, strict=True):
        assert_same(tree, grow(*problem.arrays, weight=problem.weight, tradeoff=tradeoff))
    for i, one in enumerate(path):
        for two in path[:i]:
            equal = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in EVERYTHING)
            assert equal == (one is two)


@pytest.mark.parametrize("dense_limit", [None, 1, 5])
def test_a_path_is_the_tree_of_each_tradeoff_on_tables_of_some_size(table, dense_limit):
    tradeoffs = [0.0, 0.3, 0.01, 0.03, 0.031, 0.3]
    with version(dense_limit=dense_limit):
        path = grow_path(*table.arrays, weight=table.weight, tradeoffs=tradeoffs, n_threads=2)
    for tradeoff, tree in zip(tradeoffs, path, strict=True):
        assert_same(tree, grow(*table.arrays, weight=table.weight, tradeoff=tradeoff))
    assert path[1] is path[5]


def test_a_path_has_as_many_tradeoffs_as_are_asked_for():
    X = blobs(np.random.default_rng(4), 2000, 3, 8, 3.0)
    tradeoffs = list(np.linspace(0, 1, 150))
    path = grow_path(X, X, X[:8].copy(), X[:8].copy(), tradeoffs=tradeoffs)
    for i in (0, 63, 64, 127, 149):
        assert_same(path[i], grow(X, X, X[:8].copy(), X[:8].copy(), tradeoff=tradeoffs[i]))


def test_what_a_report_raises_ends_a_path():
    X = blobs(np.random.default_rng(3), 200_000, 12, 20, 3.0)

    def refuse(done):
        assert 0 < done <= 1
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        grow_path(X, X, X[:20].copy(), X[:20].copy(), tradeoffs=[0.0, 0.03], n_threads=2, progress=refuse)


# The same table said in another way.


@some
@given(problems(), st.sampled_from([2, 7]))
def test_threads_change_nothing_on_small_tables(problem, n_threads):
    assert_same(grown(problem), grown(problem, n_threads))


def test_threads_change_nothing_on_tables_of_some_size(table):
    alone = grown(table)
    for n_threads in (2, 7):
        assert_same(alone, grown(table, n_threads))


# The kernel sums in several ways: portable, AVX2 and AVX-512 code; lists of nearest centers and none.
VERSIONS = [{"instructions": i, "dense_limit": limit} for i in (0, 1, 2) for limit in (1, 5, 128)]


@contextmanager
def version(**options):
    with pytest.MonkeyPatch.context() as patch:
        for entry in ("grow_tree", "grow_path", "grow_imm", "grow_exkmc"):
            patch.setattr(_kernel, entry, functools.partial(getattr(_kernel, entry), **options))
        yield


@some
@given(problems(), st.sampled_from(VERSIONS))
def test_how_sums_are_made_changes_nothing_on_small_tables(problem, options):
    expected = grown(problem)
    with version(**options):
        assert_same(expected, grown(problem))


@pytest.mark.parametrize("options", VERSIONS, ids=str)
def test_how_sums_are_made_changes_nothing_on_tables_of_some_size(table, options):
    expected = grown(table)
    with version(**options):
        for n_threads in (1, 2):
            assert_same(expected, grown(table, n_threads))


# Dense nodes: sums that are rounded down choose the cut unless they leave a doubt. Here they would be wrong.
dense = pytest.mark.parametrize("options", [{"instructions": i, "dense_limit": 128} for i in (0, 1, 2)], ids=str)
nearly = pytest.mark.parametrize(
    ("gain", "second"), [(1e-7, 1), (1.3e-9, 1), (0.7e-9, 0), (0.0, 0), (-0.7e-9, 0), (-1.3e-9, 0), (-1e-7, 0)]
)


def chosen(columns: np.ndarray, coordinates: np.ndarray, points: np.ndarray, options: dict[str, int]) -> GrownTree:
    """Grow a tree for points around 0, 10, ...; look at the oracle and at a path, too."""
    centers = 10.0 * np.arange(len(coordinates))[:, None]
    problem = Problem(columns.astype(np.float64), points[:, None], coordinates.astype(np.float64), centers, None, 0.0)
    with version(**options):
        tree = check(problem)
        for tradeoff, one in zip([0.0, 0.3], grow_path(*problem.arrays, tradeoffs=[0.0, 0.3]), strict=True):
            assert_same(one, grow(*problem.arrays, tradeoff=tradeoff))
    return tree


@dense
@pytest.mark.parametrize("one_column", [False, True])
@nearly
def test_cuts_between_other_centers_that_nearly_tie_are_told_apart(options, one_column, gain, second):
    # One cut has 100 rows of the first cluster on the wrong side, the other 100 of the second. A row that lies at x
    # beyond its center costs 100 - 20 x more at the next one.
    for seed in range(8):
        random = np.random.default_rng(seed)
        cluster = np.arange(2000) % 3
        x = random.normal(size=2000)
        wrong = [np.flatnonzero(cluster == c)[:100] for c in (0, 1)]
        x[wrong] = random.uniform(1, 4, size=(2, 100))
        x[wrong[1]] += (x[wrong[0]].sum() - x[wrong[1]].sum()) / 100
        x[wrong[1][0]] += gain * ((x**2).sum() + (100 - 20 * x[wrong[0]]).sum()) / 20
        columns = np.stack([cluster > 0, cluster > 1], axis=1).astype(int)
        for c in (0, 1):
            columns[wrong[c], c] = 1
        coordinates = np.array([[0, 0], [1, 0], [1, 1]])
        if one_column:
            columns, coordinates = columns.sum(axis=1, keepdims=True), coordinates.sum(axis=1, keepdims=True)
        tree = chosen(columns, coordinates, 10.0 * cluster + x, options)
        assert (tree.cut[0] if one_column else tree.feature[0]) == second


def two_clusters(random: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    cluster = np.arange(n_rows) % 2
    return cluster, 10.0 * cluster + random.normal(size=n_rows)


@dense
@pytest.mark.parametrize(("spread", "apart"), [(0.0, 0.1), (1.0, 0.1), (1.0, 1e-6)])
@nearly
def test_cuts_next_to_each_other_that_nearly_tie_are_told_apart(options, spread, apart, gain, second):
    # Below two rows or above them, one of them is on the wrong side.
    for seed in range(4):
        random = np.random.default_rng(seed)
        cluster, points = two_clusters(random, 6000)
        points[:2] = 1.0, 9.0
        points[1] -= gain * (((points - 10 * cluster) ** 2).sum() + 80) / 20
        columns = spread * random.uniform(size=6000) + 2.0 * cluster
        columns[:2] = 1.5 + apart, 1.5
        assert (chosen(columns[:, None], np.array([[0], [3]]), points, options).cut[0] > 1.2) == second


@dense
def test_a_cut_that_costs_next_to_nothing_is_not_free(options):
    cluster, points = two_clusters(np.random.default_rng(0), 100)
    points[0] = 5.0 - 1e-7
    columns = 2 * cluster
    columns[0] = 1
    assert chosen(columns[:, None], np.array([[0], [2]]), points, options).cut[0] == 1


@dense
def test_a_row_too_far_for_the_bounds_still_counts(options):
    # The first feature has one row on the wrong side, far away and not in a sample; the second, several near ones.
    cluster, points = two_clusters(np.random.default_rng(0), 2000)
    points[101] = 5000.0
    columns = np.stack([cluster, cluster], axis=1)
    columns[101, 0] = columns[301:310:2, 1] = 0
    assert chosen(columns, np.array([[0, 0], [1, 1]]), points, options).feature[0] == 1


def test_every_choice_is_the_oracles_with_lists_only():
    random = np.random.default_rng(5)
    X = blobs(random, 3000, 5, 160, 3.0)
    problem = Problem(X, X, X[:160].copy(), X[:160].copy(), None, 0.03)
    tree = check(problem)
    for options in VERSIONS:
        with version(**options):
            assert_same(tree, check(problem))


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_nothing_where_they_share_a_node(weighted):
    random = np.random.default_rng(3)
    X = blobs(random, 80_000, 5, 12, 3.0)
    X[:, 3] = np.exp(X[:, 3] / 3)
    X[:, 4] = X[:, 4].round()
    centers = X[:12].copy()
    problem = Problem(X, X, centers, centers, random.choice([1.0, 2.5], len(X)) if weighted else None, 0.03)
    alone = check(problem)
    for n_threads in (2, 7):
        assert_same(alone, grown(problem, n_threads))


def test_growing_reports_how_far_it_is():
    random = np.random.default_rng(3)
    X = blobs(random, 200_000, 12, 20, 3.0)
    for n_threads in (1, 2):
        shares: list[float] = []
        grow(X, X, X[:20].copy(), X[:20].copy(), n_threads=n_threads, progress=shares.append)
        assert len(shares) >= 3 - n_threads
        assert shares == sorted(shares)
        assert 0 < shares[0] < shares[-1] <= 1 + 1e-9


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_a_report_raises_ends_growing(n_threads):
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


def test_the_kernel_says_whether_it_has_threads():
    assert openmp_enabled() in (True, False)


def assert_weight_repeats(problem: Problem) -> None:
    repeats = grown(repeated_rows(problem, problem.explained is problem.clustered))
    weighted = grown(problem)
    assert_same(weighted, repeats, (*STRUCTURE, "lower", "upper", "cut", "weight"))
    assert np.array_equal(repeats.rows, weighted.weight)
    assert np.array_equal(np.repeat(weighted.labels, problem.weight.astype(int)), repeats.labels)


@some
@given(problems(), st.integers(0, 2**32 - 1))
def test_a_row_of_weight_three_is_three_equal_rows(problem, seed):
    assert_weight_repeats(whole_weights(problem, np.random.default_rng(seed)))


def test_a_row_of_weight_three_is_three_equal_rows_on_tables_of_some_size(table):
    assert_weight_repeats(whole_weights(table, np.random.default_rng(1)))


@some
@given(problems().filter(lambda problem: problem.weight is not None))
def test_rows_of_no_weight_might_as_well_not_be_there(problem):
    present = problem.weight > 0
    explained = problem.explained[present]
    clustered = explained if problem.clustered is problem.explained else problem.clustered[present]
    without = grown(replace(problem, explained=explained, clustered=clustered, weight=problem.weight[present]))
    tree = grown(problem)
    assert_same(tree, without, EVERYTHING[:-1])
    assert np.array_equal(tree.labels[present], without.labels)
    assert (tree.labels[~present] == -1).all()


@some
@given(problems(), st.floats(1e-3, 1e3))
def test_a_unit_of_weight_is_no_matter(problem, unit):
    # A power of two, so that no weight is rounded and no tie broken.
    unit = 2.0 ** np.round(np.log2(unit))
    weight = np.ones(len(problem.explained)) if problem.weight is None else problem.weight
    tree, scaled = grown(replace(problem, weight=weight)), grown(replace(problem, weight=weight * unit))
    assert_same(tree, scaled, (*STRUCTURE, "lower", "upper", "cut", "rows", "labels"))
    assert np.array_equal(tree.weight * unit, scaled.weight)


def permuted(problem: Problem, order: np.ndarray) -> Problem:
    explained = problem.explained[order]
    clustered = explained if problem.clustered is problem.explained else problem.clustered[order]
    weight = None if problem.weight is None else problem.weight[order]
    return replace(problem, explained=explained, clustered=clustered, weight=weight)


def assert_order_is_no_matter(problem: Problem, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(problem.explained))
    tree, again = grown(problem), grown(permuted(problem, order))
    assert_same(tree, again, (*STRUCTURE, "lower", "upper", "cut", "rows"))
    assert np.array_equal(tree.labels[order], again.labels)
    assert np.allclose(tree.weight, again.weight, rtol=1e-12, atol=0)


@some
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_is_no_matter(problem, seed):
    assert_order_is_no_matter(problem, seed)


def test_the_order_of_rows_is_no_matter_on_tables_of_some_size(table):
    assert_order_is_no_matter(table, 5)


def ranked(problem: Problem) -> Problem:
    """Replace every explained value by its rank among the values of rows and centers."""
    both = np.vstack([problem.explained.astype(np.float64), problem.explained_centers])
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in both.T], axis=1).astype(np.float64)
    n_rows = len(problem.explained)
    return replace(problem, explained=ranks[:n_rows], explained_centers=ranks[n_rows:])


@some
@given(problems())
def test_only_the_order_of_explained_values_matters(problem):
    assert_same(grown(problem), grown(ranked(problem)), (*STRUCTURE, "rows", "weight", "labels"))


def test_only_the_order_of_explained_values_matters_on_tables_of_some_size(table):
    assert_same(grown(table), grown(ranked(table)), (*STRUCTURE, "rows", "weight", "labels"))


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1].copy()[::-1],
    ],
    ids=["columns first", "every other row", "every other column", "upside down"],
)
def test_the_layout_in_memory_is_no_matter(layout):
    problem = TABLES["narrow_precision"](np.random.default_rng(2))
    X = layout(problem.explained)
    X.flags.writeable = False
    assert_same(grown(problem), grown(replace(problem, explained=X, clustered=X)))


def test_float32_values_are_compared_as_what_they_are():
    problem = TABLES["narrow_precision"](np.random.default_rng(4))
    X = problem.explained.astype(np.float64)
    assert_same(grown(problem), grown(replace(problem, explained=X, clustered=X)))


# Corners.


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
    # The second feature parts the groups without loss and at the end of a bin. The first sends one row to
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
    with pytest.raises(OptionError, match="65535"):
        grow(X, X, np.zeros((65536, 1)), np.zeros((65536, 1)))


def test_grow_keeps_its_default_tradeoff():
    assert inspect.signature(growing.grow).parameters["tradeoff"].default == 0.03


# EvalWAD.


@pytest.mark.parametrize(("share", "depth"), [(0.5, 2.0), (0.25, 2.3125)])
def test_eval_wad_has_the_papers_two_values(share, depth):
    assert eval_wad(4, int(4 * share), share) == depth


@given(st.integers(2, 300).flatmap(lambda k: st.tuples(st.just(k), st.integers(1, k - 1))), st.floats(0, 1))
def test_eval_wad_is_the_definition(sizes, share):
    assert eval_wad(*sizes, share) == pytest.approx(float(oracle.eval_wad(*sizes, share)), rel=1e-12)


@pytest.mark.parametrize("n_left", [0, 4])
def test_eval_wad_wants_a_center_on_each_side(n_left):
    with pytest.raises(ValueError, match="each side"):
        eval_wad(4, n_left, 0.5)

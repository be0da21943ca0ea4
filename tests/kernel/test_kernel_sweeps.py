"""The way in which sums are computed changes nothing: distances that are kept or measured again, bounds and exact
sums."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from draws import IS_SHORT, drawn, draws, few
from growths import assert_same, check, grow, grow_path, grown, grown_once, unique_rows, version
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems
from tables import blobs, lloyd

from shallowrules import _kernel
from shallowrules.trees import growing
from shallowrules.trees.grown_tree import GrownTree

some = draws(150)

THREADS = (2,) if IS_SHORT else (1, 2)
"""How many threads grow a table of some size. For memory two are enough: they run all that one runs."""


# The kernel sums in several ways: from distances that are kept for the nodes below, or measured again.
VERSIONS = [{"kept_distances": kept} for kept in ((0, 4) if IS_SHORT else (0, 4, 128))]


@some
@given(problems(), st.sampled_from(VERSIONS))
def test_how_sums_are_made_changes_nothing_on_small_tables(problem, options):
    expected = grown(problem)
    with version(**options):
        assert_same(expected, grown(problem))


@pytest.mark.slow
@pytest.mark.parametrize("options", VERSIONS, ids=str)
def test_how_sums_are_made_changes_nothing_on_tables_of_some_size(table, options):
    expected = grown_once(table)
    with version(**options):
        for n_threads in THREADS:
            assert_same(expected, grown(table, n_threads))


def with_known_distances(entry: Callable[..., Any], problem: Problem, *args: Any, **options: Any) -> Any:
    """Grow a tree, or the trees of a path, from the distances computed while finding the nearest centers."""
    unique = unique_rows(*problem.arrays, weight=problem.weight)
    known = np.empty((len(problem.centers), len(unique.first)))
    _kernel.nearest_centers(problem.X_cluster, problem.centers, unique.first, distances=known)
    return entry(unique, *args, distances=known, **options)


# Distances that growth takes over, and some that it must not, as it keeps none, or fewer.
KNOWN = [{"kept_distances": kept} for kept in (128, 4)]
TRADEOFFS = [0.0, 1e-3, 0.03, 0.1, 0.5]


@some
@given(problems(), st.sampled_from(KNOWN))
def test_known_distances_change_nothing_on_small_tables(problem, options):
    expected, path = grown(problem), grow_path(*problem.arrays, weight=problem.weight, tradeoffs=TRADEOFFS)
    with version(**options):
        tree = with_known_distances(growing.grow, problem, tradeoff=problem.tradeoff)
        trees = with_known_distances(growing.grow_path, problem, TRADEOFFS)
    assert_same(expected, tree)
    for one, two in zip(path, trees, strict=True):
        assert_same(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("options", KNOWN, ids=str)
def test_known_distances_change_nothing_on_tables_of_some_size(table, options):
    expected = grown_once(table)
    with version(**options):
        for n_threads in THREADS:
            tree = with_known_distances(growing.grow, table, tradeoff=table.tradeoff, n_threads=n_threads)
            assert_same(expected, tree)


# Sums that are rounded down choose the cut unless they leave a doubt. Here they would be wrong.
versions = pytest.mark.parametrize("options", VERSIONS, ids=str)


nearly = pytest.mark.parametrize(
    ("gain", "second"), [(1e-7, 1), (1.3e-9, 1), (0.7e-9, 0), (0.0, 0), (-0.7e-9, 0), (-1.3e-9, 0), (-1e-7, 0)]
)


Checked = tuple[Problem, GrownTree]
"""A problem, and its tree, which the oracle has seen."""


def checked(columns: np.ndarray, coordinates: np.ndarray, points: np.ndarray) -> Checked:
    """Return the problem of points around 0, 10, ..."""
    centers = 10.0 * np.arange(len(coordinates))[:, None]
    problem = Problem(columns.astype(np.float64), points[:, None], coordinates.astype(np.float64), centers, None, 0.0)
    return problem, check(problem)


def chosen(problem: Problem, tree: GrownTree, options: dict[str, int]) -> GrownTree:
    """Grow the same tree in another way, and a path; return the tree."""
    with version(**options):
        first, second = grow_path(*problem.arrays, tradeoffs=[0.0, 0.3])
        for one in (grown(problem), first):
            assert_same(tree, one)
        assert_same(second, grow(*problem.arrays, tradeoff=0.3))
    return tree


SEEDS = drawn(8, least=1)


@functools.lru_cache(SEEDS)  # the versions come one after the other
def other_centers_that_nearly_tie(seed: int, one_column: bool, gain: float) -> Checked:
    """Return a table one cut of which has 100 rows of the first cluster on the wrong side, the other 100 of the second.

    A row that lies at x beyond its center costs 100 - 20 x more at the next one.
    """
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
    return checked(columns, coordinates, 10.0 * cluster + x)


@versions
@pytest.mark.parametrize("one_column", [False, True])
@nearly
def test_cuts_between_other_centers_that_nearly_tie_are_told_apart(options, one_column, gain, second):
    for seed in range(SEEDS):
        tree = chosen(*other_centers_that_nearly_tie(seed, one_column, gain), options)
        assert (tree.cut[0] if one_column else tree.feature[0]) == second


def two_clusters(random: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    cluster = np.arange(n_rows) % 2
    return cluster, 10.0 * cluster + random.normal(size=n_rows)


@functools.lru_cache(SEEDS)
def neighbors_that_nearly_tie(seed: int, spread: float, apart: float, gain: float) -> Checked:
    """Return a table where, below two rows or above them, one of them is on the wrong side."""
    random = np.random.default_rng(seed)
    cluster, points = two_clusters(random, 6000)
    points[:2] = 1.0, 9.0
    points[1] -= gain * (((points - 10 * cluster) ** 2).sum() + 80) / 20
    columns = spread * random.uniform(size=6000) + 2.0 * cluster
    columns[:2] = 1.5 + apart, 1.5
    return checked(columns[:, None], np.array([[0], [3]]), points)


@pytest.mark.slow
@versions
@pytest.mark.parametrize(("spread", "apart"), [(0.0, 0.1), (1.0, 0.1), (1.0, 1e-6)])
@nearly
def test_cuts_next_to_each_other_that_nearly_tie_are_told_apart(options, spread, apart, gain, second):
    for seed in range((SEEDS + 1) // 2):
        tree = chosen(*neighbors_that_nearly_tie(seed, spread, apart, gain), options)
        assert (tree.cut[0] > 1.2) == second


@versions
def test_a_cut_that_costs_next_to_nothing_is_not_free(options):
    cluster, points = two_clusters(np.random.default_rng(0), 100)
    points[0] = 5.0 - 1e-7
    columns = 2 * cluster
    columns[0] = 1
    problem = checked(columns[:, None], np.array([[0], [2]]), points)
    assert chosen(*problem, options).cut[0] == 1


@versions
def test_a_row_too_far_for_the_bounds_still_counts(options):
    # The first feature has one row on the wrong side, far away and not in a sample; the second, several near ones.
    random = np.random.default_rng(0)
    cluster, points = two_clusters(random, 2000)
    points[101] = 5000.0
    columns = np.stack([cluster, cluster], axis=1)
    columns[101, 0] = columns[301:310:2, 1] = 0
    assert chosen(*checked(columns, np.array([[0, 0], [1, 1]]), points), options).feature[0] == 1


@pytest.mark.slow
def test_every_choice_is_the_oracles_with_many_centers():
    random = np.random.default_rng(5)
    X = blobs(random, 3000, 5, 160, 3.0)
    problem = Problem(X, X, X[:160].copy(), X[:160].copy(), None, 0.03)
    tree = check(problem)
    for options in VERSIONS:
        with version(**options):
            assert_same(tree, grown(problem))


@pytest.mark.slow
def test_bounds_that_leave_a_doubt_leave_it_to_exact_sums_at_all_trade_offs():
    # Of equal columns the bounds are equal: they cannot tell which of them to cut by.
    random = np.random.default_rng(6)
    X = blobs(random, 3000, 3, 6, 2.0)
    X = np.column_stack([X, X[:, ::-1], X + random.normal(scale=1e-4, size=X.shape)])
    centers = lloyd(X, 6, random)
    problem = Problem(X, X, centers, centers, None, 0.03)
    expected, path = grown(problem), grow_path(*problem.arrays, tradeoffs=TRADEOFFS)
    for options in VERSIONS:
        with version(**options):
            assert_same(expected, grown(problem))
            for one, two in zip(path, grow_path(*problem.arrays, tradeoffs=TRADEOFFS), strict=True):
                assert_same(one, two)


@st.composite
def nearly_equal_columns(draw: st.DrawFn) -> Problem:
    """Return a table whose columns differ in a few rows at most, so that bounds cannot decide between their cuts.

    In other cases, rows at nearly the same points have changed places, so that rounding errors may matter more than
    they do.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([300, 1500] if IS_SHORT else [300, 1500, 40_000]))
    n_columns, k = draw(st.integers(1, 3)), draw(st.integers(2, 40))
    X = blobs(random, n_rows, n_columns, k, draw(st.sampled_from([0.5, 3.0, 8.0])))
    if draw(st.booleans()):
        X = X.round()
    X[random.random(n_rows) < 0.5] += draw(st.sampled_from([0.0, 100.0, 1e4]))
    centers = lloyd(X, k, random, rounds=1)
    weight = random.choice([1e-3, 1.0, 2.5], n_rows) if draw(st.booleans()) else None  # light rows may have no units
    movable = np.arange(n_rows) if weight is None else np.flatnonzero(weight == 1e-3)
    one = random.choice(n_rows // 2, n_rows // 10, replace=False) if draw(st.booleans()) else np.arange(0)
    other = one + n_rows // 2
    if weight is not None:
        weight[other] = weight[one]
    copies = []
    for _ in range(draw(st.sampled_from([1, 2, 4, 20] if n_rows < 40_000 else [1, 2, 4]))):  # 20 would take minutes
        copy = X.copy()
        if len(one):
            changed = random.random(len(one)) < 0.5
            copy[one[changed]], copy[other[changed]] = X[other[changed]], X[one[changed]]
        else:
            n_moved = draw(st.integers(0, 3 if weight is None else len(movable)))
            moved = random.choice(movable, n_moved, replace=False)
            copy[moved] = X[random.integers(n_rows, size=n_moved)]
        copies.append(copy)
    noise = draw(st.sampled_from([1.0, 5.0])) * random.normal(size=(n_rows, draw(st.sampled_from([0, 6, 40]))))
    points, middles = np.column_stack([X, noise]), np.column_stack([centers, np.zeros((k, noise.shape[1]))])
    points[other] = points[one] + random.normal(scale=1e-6, size=(len(one), points.shape[1]))
    columns, coordinates = np.column_stack([X, *copies]), np.column_stack([centers] * (len(copies) + 1))
    return Problem(columns, points, coordinates, middles, weight, draw(st.sampled_from([0.0, 0.03])))


@pytest.mark.slow
@draws(100)
@given(nearly_equal_columns(), st.sampled_from([0, 128]), st.sampled_from([1, 2]))
def test_runs_of_cuts_that_bounds_leave_in_doubt_are_told_apart(problem, kept, n_threads):
    tradeoffs = [problem.tradeoff, 0.3]
    expected = [check(replace(problem, tradeoff=tradeoff)) for tradeoff in tradeoffs]
    with version(kept_distances=kept):
        assert_same(expected[0], grown(problem, n_threads))
        path = grow_path(*problem.arrays, weight=problem.weight, tradeoffs=tradeoffs, n_threads=n_threads)
    for one, two in zip(expected, path, strict=True):
        assert_same(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", few([False, True]))
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

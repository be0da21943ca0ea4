"""The tree that is grown from parts is that of the whole table, bit for bit, however the rows are cut into parts."""

import pickle
from dataclasses import dataclass
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draws import draws, few, spread
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from strategies import Problem, problems

from shallowrules.encoding.rows import Rows
from shallowrules.errors import DataError, OptionError
from shallowrules.trees.growing import grow
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.growth_data import GrowthData, find_unique_rows
from shallowrules.trees.parts import cut_search, growing
from shallowrules.trees.parts.growing import PartsGrowthData, grow_parts

LEVELS = (0, 20, 10**9)
"""Rows that are collected: none, some, all."""


@dataclass
class ListParts:
    """Parts in a list; arguments and results are pickled, and results merged in an odd order."""

    parts: list[Any]

    def map_reduce(self, function: Any, state: Any) -> Any:
        results = []
        for part in self.parts:
            call, own_state = pickle.loads(pickle.dumps((function, state)))
            results.append(pickle.loads(pickle.dumps(call(part, own_state))))
        middle = len(results) // 2
        return reduce(lambda one, other: other.merged(one), results[middle:] + results[:middle])


def encode(part: tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]) -> Rows:
    """Leave out rows of weight 0."""
    X_explain, X_cluster, weight = part
    if weight is None:
        return Rows(X_explain, X_cluster)
    counted = weight > 0
    explained = X_explain[counted]
    return Rows(explained, explained if X_cluster is X_explain else X_cluster[counted], weight[counted])


def cut_into(problem: Problem, n_parts: int, seed: int | None = None) -> ListParts:
    """Cut a table into parts of different sizes, some empty, its rows shuffled."""
    random = np.random.default_rng(seed)
    order = np.arange(len(problem.X_explain)) if seed is None else random.permutation(len(problem.X_explain))
    ends = np.sort(random.integers(len(order) + 1, size=n_parts - 1))
    parts = []
    for rows in np.split(order, ends):
        explained = problem.X_explain[rows]
        clustered = explained if problem.X_cluster is problem.X_explain else problem.X_cluster[rows]
        parts.append((explained, clustered, None if problem.weight is None else problem.weight[rows]))
    return ListParts(parts)


def whole(problem: Problem) -> GrownTree:
    unique = find_unique_rows(GrowthData(*problem.arrays, problem.weight))
    return grow(unique, tradeoff=problem.tradeoff)


def from_parts(problem: Problem, parts: ListParts, collected_rows: int) -> GrownTree:
    n_rows = len(problem.X_explain) if problem.weight is None else np.count_nonzero(problem.weight)
    table = PartsGrowthData(parts, encode, problem.explain_centers, problem.centers, n_rows)
    tree, unique = grow_parts(table, tradeoff=problem.tradeoff, collected_rows=collected_rows)
    assert (unique is None) == (len(tree.labels) == 0)
    return tree


def assert_same(grown: GrownTree, expected: GrownTree) -> None:
    for name in ("feature", "left", "right", "center", "lower", "upper", "cut", "rows"):
        np.testing.assert_array_equal(getattr(grown, name), getattr(expected, name), err_msg=name)
    np.testing.assert_allclose(grown.weight, expected.weight, rtol=1e-13)


@draws(150)
@given(problems(), st.sampled_from([1, 2, 7]), st.integers(0, 99), st.sampled_from(LEVELS))
def test_small_tables(problem: Problem, n_parts: int, seed: int, collected_rows: int) -> None:
    assert_same(from_parts(problem, cut_into(problem, n_parts, seed), collected_rows), whole(problem))


@draws(20)
@given(problems(max_rows=2000, max_columns=4, max_centers=12), st.integers(0, 99))
def test_larger_tables_whose_nodes_are_all_cut_over_the_parts(problem: Problem, seed: int) -> None:
    assert_same(from_parts(problem, cut_into(problem, 5, seed), 0), whole(problem))


def blobs(n_rows: int, k: int, random: np.random.Generator, weighted: bool = False, dtype: Any = np.float64) -> Problem:
    """Rows around k points, one in ten of them repeated, some columns in steps."""
    X = random.normal(size=(k, 5))[random.integers(k, size=n_rows)] * 4 + random.normal(size=(n_rows, 5))
    X[:, 3] = np.round(X[:, 3])
    X[: n_rows // 10] = X[n_rows // 10 : n_rows // 10 * 2]
    X = X.astype(dtype)
    centers = KMeans(k, n_init=1, random_state=0, max_iter=5).fit(X.astype(np.float64)).cluster_centers_
    weight = random.choice([0.0, 0.25, 1.0, 3.0], size=n_rows) if weighted else None
    return Problem(X, X, centers, centers, weight, 0.03)


@pytest.mark.parametrize(
    ("n_parts", "collected_rows", "weighted", "dtype"),
    few(spread(product([1, 2, 7, 64], [0, 4_000], [False, True], [np.float64, np.float32]), 6), 2),
)
def test_any_number_of_parts(n_parts: int, collected_rows: int, weighted: bool, dtype: Any) -> None:
    problem = blobs(20_000, 12, np.random.default_rng(5), weighted, dtype)
    assert_same(from_parts(problem, cut_into(problem, n_parts, seed=n_parts), collected_rows), whole(problem))


@pytest.mark.slow
def test_more_centers_than_dense_nodes_have() -> None:
    problem = blobs(6000, 150, np.random.default_rng(1))
    assert_same(from_parts(problem, cut_into(problem, 3, seed=1), 0), whole(problem))


@pytest.mark.slow
@pytest.mark.parametrize("file", ["avila", "letter", "poker_part125008"])
def test_real_tables(file: str, shared_data: Path) -> None:
    X = np.load(shared_data / f"{file}.npz")["X"].astype(np.float64)
    centers = KMeans(12, n_init=1, random_state=0, max_iter=10).fit(X).cluster_centers_
    problem = Problem(X, X, centers, centers, None, 0.03)
    expected = whole(problem)
    for n_parts, collected_rows in ((2, 0), (7, 5_000), (64, 0)):
        assert_same(from_parts(problem, cut_into(problem, n_parts, seed=n_parts), collected_rows), expected)


@draws(20)
@given(st.integers(0, 9999))
def test_few_distinct_rows_there_many_times(seed: int) -> None:
    random = np.random.default_rng(seed)
    X = random.integers(3, size=(6, 2)).astype(float)[random.integers(6, size=3000)]
    centers = np.concatenate([X[random.integers(3000, size=3)], random.normal(size=(3, 2))])
    problem = Problem(X, X, centers, centers, None, 0.03)
    assert_same(from_parts(problem, cut_into(problem, 3, seed), 0), whole(problem))


@pytest.mark.slow
@draws(150)
@given(problems(), st.sampled_from([1, 2, 7]), st.integers(0, 99), st.sampled_from([4, 16]))
def test_bins_of_few_rows_that_are_divided_again(problem: Problem, n_parts: int, seed: int, n_sampled: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "NODE_SAMPLE", n_sampled)
        patch.setattr(cut_search, "NODE_SAMPLE", n_sampled)
        patch.setattr(growing, "MIN_FETCHED_ROWS", 0)
        grown = from_parts(problem, cut_into(problem, n_parts, seed), 0)
    assert_same(grown, whole(problem))


def test_centers_so_far_away_that_the_units_of_costs_tell_no_cost() -> None:
    random = np.random.default_rng(4)
    X_explain = np.stack([random.normal(size=24), random.integers(-1, 1, size=24)], axis=1)
    far = random.random(24) < 0.5
    X_cluster = np.stack([np.where(far, -1e12, 0.0), random.normal(size=24)], axis=1)
    centers = np.array([[0.0, 0.01], [-1e12, -0.2], [-4e11, 0.05], [-4e11, -0.9]])
    explain_centers = np.array([[0.36, -0.4], [0.66, 0.0], [0.79, -0.6], [0.355, -0.8]])
    problem = Problem(X_explain, X_cluster, explain_centers, centers, None, 0.0)
    assert_same(from_parts(problem, cut_into(problem, 2, seed=0), 0), whole(problem))


def test_what_cannot_be_grown_over_parts() -> None:
    X = np.zeros((3, 2))

    def grow_one_part(*part: np.ndarray | None, method: str = "exshallow") -> None:
        grow_parts(PartsGrowthData(ListParts([part]), encode, X[:1], X[:1], 3), collected_rows=0, method=method)

    with pytest.raises(OptionError, match='"imm" needs the whole table'):
        grow_one_part(X, X, None, method="imm")
    with pytest.raises(DataError, match="no rows of positive weight"):
        grow_one_part(X, X, np.zeros(3))
    with pytest.raises(DataError, match="squared distances overflow"):
        grow_one_part(X + 1e200, X + 1e200, None)

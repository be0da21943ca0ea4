"""Growing: tables that mean the same give the same tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from draws import draws
from growths import EVERYTHING, STRUCTURE, assert_same, grown
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems
from tables import TABLES, repeated_rows, whole_weights

from shallowrules._kernel import Ranges, column_ranges, encode
from shallowrules.measures.summation import group_means
from shallowrules.trees.growing import grow
from shallowrules.trees.growth_data import GrowthData, find_unique_rows

some = draws(150)


def assert_weight_repeats(problem: Problem) -> None:
    repeats = grown(repeated_rows(problem, problem.X_explain is problem.X_cluster))
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
    X_explain = problem.X_explain[present]
    X_cluster = X_explain if problem.X_cluster is problem.X_explain else problem.X_cluster[present]
    without = grown(replace(problem, X_explain=X_explain, X_cluster=X_cluster, weight=problem.weight[present]))
    tree = grown(problem)
    assert_same(tree, without, EVERYTHING[:-1])
    assert np.array_equal(tree.labels[present], without.labels)
    assert (tree.labels[~present] == -1).all()


@some
@given(problems(), st.floats(1e-3, 1e3))
def test_a_unit_of_weight_is_no_matter(problem, unit):
    # A power of two, so that no weight is rounded and no tie broken.
    unit = 2.0 ** np.round(np.log2(unit))
    weight = np.ones(len(problem.X_explain)) if problem.weight is None else problem.weight
    tree, scaled = grown(replace(problem, weight=weight)), grown(replace(problem, weight=weight * unit))
    assert_same(tree, scaled, (*STRUCTURE, "lower", "upper", "cut", "rows", "labels"))
    assert np.array_equal(tree.weight * unit, scaled.weight)


def permuted(problem: Problem, order: np.ndarray) -> Problem:
    X_explain = problem.X_explain[order]
    X_cluster = X_explain if problem.X_cluster is problem.X_explain else problem.X_cluster[order]
    weight = None if problem.weight is None else problem.weight[order]
    return replace(problem, X_explain=X_explain, X_cluster=X_cluster, weight=weight)


def assert_order_is_no_matter(problem: Problem, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(problem.X_explain))
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
    both = np.vstack([problem.X_explain.astype(np.float64), problem.explain_centers])
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in both.T], axis=1).astype(np.float64)
    n_rows = len(problem.X_explain)
    return replace(problem, X_explain=ranks[:n_rows], explain_centers=ranks[n_rows:])


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
    X = layout(problem.X_explain)
    X.flags.writeable = False
    assert_same(grown(problem), grown(replace(problem, X_explain=X, X_cluster=X)))


def test_float32_values_are_compared_as_what_they_are():
    problem = TABLES["narrow_precision"](np.random.default_rng(4))
    X = problem.X_explain.astype(np.float64)
    assert_same(grown(problem), grown(replace(problem, X_explain=X, X_cluster=X)))


@some
@given(problems(), st.sampled_from([0.0, 0.5, 3.0]))
def test_known_ranges_of_columns_change_no_tree_nor_wider_ones(problem, wider):
    def ranges(X):
        low, high = column_ranges(X)
        return Ranges(low - wider * (1 + np.abs(low)), high + wider * (1 + np.abs(high)))

    known = GrowthData(*problem.arrays, problem.weight, ranges(problem.X_explain), ranges(problem.X_cluster))
    assert_same(grow(find_unique_rows(known), tradeoff=problem.tradeoff), grown(problem))


@some
@given(problems(), st.sampled_from([0, 3, 64]), st.integers(1, 3))
def test_a_code_is_single_valued_where_all_of_its_rows_have_one_value(problem, ranks, n_threads):
    X = problem.X_explain
    rows = np.arange(len(X), dtype=np.int32)
    codes, _, n_codes, single_valued, largest = encode(X, rows, problem.explain_centers, n_threads, ranks=ranks)
    fullest = 0
    for j in range(X.shape[1]):
        for code in range(n_codes):
            values = X[codes[j] == code, j]
            assert single_valued[j, code] == (len(np.unique(values)) <= 1)
            fullest = max(fullest, len(values) * (not single_valued[j, code]))
    assert largest == fullest


@some
@given(problems())
def test_known_ranges_change_no_sum(problem):
    groups = np.arange(len(problem.X_cluster)) % 3 - 1
    means = group_means(problem.X_cluster, groups, 2, problem.weight)
    known = group_means(problem.X_cluster, groups, 2, problem.weight, ranges=column_ranges(problem.X_cluster))
    np.testing.assert_array_equal(known, means)

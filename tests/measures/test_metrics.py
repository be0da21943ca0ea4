"""Metrics against the definitions, in exact arithmetic where rounding is the point."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shallowrules._kernel import exact_squares
from shallowrules.fitting.measuring import Counting, count_labels
from shallowrules.measures.metrics import (
    agreement,
    partition_cost,
)
from shallowrules.measures.summation import exact_weights
from shallowrules.trees.tree import Tree


def make_tree(feature, left, right, weight) -> Tree:
    n = len(feature)
    return Tree(
        feature=np.array(feature, np.int32),
        threshold=np.zeros(n),
        left=np.array(left, np.int32),
        right=np.array(right, np.int32),
        cluster=np.where(np.array(feature) < 0, np.arange(n), -1).astype(np.int32),
        rows=np.array(weight, np.int64),
        weight=np.array(weight, np.float64),
    )


# x0 <= .: leaf 1 of weight 1; else x0 <= .: leaf 3 of weight 2; else x0 <= .: leaf 5 of 3, leaf 6 of 4.
CATERPILLAR = make_tree(
    [0, -1, 0, -1, 0, -1, -1], [1, -1, 3, -1, 5, -1, -1], [2, -1, 4, -1, 6, -1, -1], [10, 1, 9, 2, 7, 3, 4]
)
# The same shape, each cut on a feature of its own.
VARIED = make_tree(
    [0, -1, 1, -1, 2, -1, -1], [1, -1, 3, -1, 5, -1, -1], [2, -1, 4, -1, 6, -1, -1], [10, 1, 9, 2, 7, 3, 4]
)
STUMP = make_tree([-1], [-1], [-1], [10])


def test_depth_is_weighted_by_the_rows_that_go_there():
    assert CATERPILLAR.wad == pytest.approx((1 * 1 + 2 * 2 + 3 * 3 + 3 * 4) / 10)


def test_an_explanation_counts_a_feature_and_direction_once():
    # Leaf 1: {<=}; leaves 3 and 5: {>, <=}; leaf 6: {>}.
    assert CATERPILLAR.waes == pytest.approx((1 * 1 + 2 * 2 + 2 * 3 + 1 * 4) / 10)


def test_without_repeated_features_an_explanation_is_the_path():
    assert VARIED.waes == VARIED.wad


def test_a_single_leaf_asks_and_explains_nothing():
    assert STUMP.wad == STUMP.waes == 0


def exact_cost(X: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> float:
    cost = Fraction(0)
    for label in np.unique(labels[weight > 0]):
        rows = np.flatnonzero((labels == label) & (weight > 0))
        share = [Fraction(float(w)) for w in weight[rows]]
        for column in X.T:
            values = [Fraction(float(x)) for x in column[rows]]
            mean = sum(w * x for w, x in zip(share, values, strict=True)) / sum(share)
            cost += sum(w * (x - mean) ** 2 for w, x in zip(share, values, strict=True))
    return float(cost)


@given(st.data(), st.sampled_from([0.0, 1.0, 1e9, -1e9, 1e12]), st.sampled_from([1e-9, 1.0, 1e6]))
def test_cost_is_exact_to_rounding_whatever_the_offset(data, offset, scale):
    n = data.draw(st.integers(1, 30))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    X = (offset + scale * random.normal(size=(n, data.draw(st.integers(1, 4))))).astype(dtype)
    labels = random.integers(0, 4, n)
    weight = random.choice([0.0, 1e-6, 1.0, 3.0, 1e6], n)
    assert partition_cost(X, labels, weight) == pytest.approx(exact_cost(X, labels, weight), rel=1e-10, abs=0)


def test_cost_of_tight_clusters_far_from_the_origin():
    X = 1e9 + np.array([[0.0], [1.0], [100.0], [101.0]])
    assert partition_cost(X, [0, 0, 1, 1]) == 1.0


def test_a_first_row_far_from_its_cluster_costs_no_digits():
    X = np.concatenate([[[1e6]], np.random.default_rng(0).normal(size=(1000, 1))])
    weight = np.ones(1001)
    weight[0] = 1e-12
    assert partition_cost(X, np.zeros(1001), weight) == pytest.approx(exact_cost(X, np.zeros(1001), weight), rel=1e-11)


# Rows of a value, a cluster, and a weight of any size beside any other.
HEAVY_AND_LIGHT = st.lists(
    st.tuples(
        st.sampled_from([0.1, 3.0, -0.75, 1e6, 1e6 + 0.1]), st.integers(0, 1), st.floats(-290, 290) | st.integers(0, 3)
    ),
    min_size=1,
    max_size=6,
)


@given(HEAVY_AND_LIGHT)
@example([(0.1, 0, 215.0), (0.1, 1, -125.0)])  # beside the first weight the second is 0
@example([(0.1, 0, 215.0), (3.0, 0, 214.0), (0.1, 1, -125.0), (3.0, 1, -124.0)])
def test_weights_of_any_size(rows):
    X = np.array([[value] for value, _, _ in rows])
    labels = np.array([label for _, label, _ in rows])
    weight = np.array([10.0**exponent for _, _, exponent in rows])
    counted = np.where(weight < 1e-290 * weight.max(), 0.0, weight)
    exact = exact_cost(X, labels, counted)
    assert partition_cost(X, labels, weight) == pytest.approx(exact, rel=1e-9, abs=1e-270 * weight.max())


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e6, -1e9]), st.sampled_from([1e-9, 1.0, 1e100]))
def test_a_cost_by_weights_with_fractions_is_near_and_that_of_equal_rows_is_0(seed, offset, factor):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 60))
    X = offset + random.normal(size=(n, 3))
    labels = random.integers(0, 4, n).astype(np.int32)
    weight = exact_weights(factor * random.choice([0.0, 0.1, 1 / 3, 7.7], n) * random.random(n) + 0.01 * factor)
    assert partition_cost(X, labels, weight) == pytest.approx(exact_cost(X, labels, weight), rel=1e-9, abs=0)
    first = np.array([np.flatnonzero(labels == label)[0] for label in labels])
    assert partition_cost(X[first], labels, weight) == 0.0


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e-150, 1e140]), st.sampled_from([1, 5, 2**11 + 1, 2**36 + 7]))
def test_exact_squares_are_those_of_fractions_in_any_order_and_cut(seed, scale, factor):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2)) * scale * 10.0 ** rng.integers(-6, 6, (12, 1))
    labels, around = rng.integers(-1, 3, 12).astype(np.int32), rng.normal(size=(3, 2)) * scale
    weight = rng.integers(0, 4, 12).astype(np.float64) * factor
    squares = [sum((gap * gap for gap in row - around[label]), 0.0) for row, label in zip(X, labels, strict=True)]
    pairs = zip(squares, weight, labels, strict=True)
    expected = sum(Fraction(float(square)) * int(w) for square, w, label in pairs if label >= 0)
    assert Fraction(exact_squares(X, labels, around, weight), 2**1074) == expected
    order = rng.permutation(12)
    cut = [exact_squares(X[rows], labels[rows], around, weight[rows]) for rows in (order[:5], order[5:5], order[5:])]
    assert Fraction(sum(cut), 2**1074) == expected


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e9]), st.sampled_from([np.float32, np.float64]))
def test_a_cost_is_the_same_in_any_order_and_of_repeated_rows(seed, offset, dtype):
    rng = np.random.default_rng(seed)
    X = (offset + rng.normal(size=(50, 3))).astype(dtype)
    labels, weight = rng.integers(0, 3, 50), rng.integers(0, 4, 50).astype(np.float64)
    cost = partition_cost(X, labels, weight)
    order, repeated = rng.permutation(50), np.repeat(np.arange(50), weight.astype(int))
    assert partition_cost(X[order], labels[order], weight[order]) == cost
    assert partition_cost(X[repeated], labels[repeated]) == cost


def test_the_threads_do_not_show_in_a_cost():
    X = np.random.default_rng(0).normal(size=(70_000, 3))
    labels = np.arange(70_000) % 5
    assert len({partition_cost(X, labels, None, n_threads) for n_threads in (1, 2, 3)}) == 1


def test_a_cost_beyond_floats_is_infinite():
    assert partition_cost([[0.0], [1e10]], [0, 0], [1e300, 1e300]) == np.inf
    assert partition_cost([[0.0], [1e200]], [0, 0]) == np.inf
    assert partition_cost([[0.0], [2e154]] * 2, [0] * 4) == np.inf  # each square is a float, their sum is none


def test_labels_may_be_anything_that_compares():
    X = np.array([[0.0], [2.0], [10.0]])
    for labels in ([7, 7, -3], ["a", "a", "b"], [0.5, 0.5, 2.5]):
        assert partition_cost(X, labels) == 2.0


def test_labels_that_differ_in_a_last_character_0_are_two():
    X, labels = np.array([[0.0], [2.0]]), ["a", "a\0"]
    assert partition_cost(X, labels) == 0.0


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.float16, np.bool_])
def test_numbers_of_any_type_are_accepted(dtype):
    assert partition_cost(np.array([[0, 1], [1, 1], [1, 0], [1, 1]]).astype(dtype), [0, 0, 1, 1]) == 1.0


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_whole_numbers_do_not_wrap_around(dtype):
    assert partition_cost(np.array([[0], [100]], dtype=dtype), [0, 0]) == 5000.0


def test_a_weight_repeats_a_row_and_0_removes_it():
    X = np.array([[0.0], [3.0], [9.0]])
    assert partition_cost(X, [0, 0, 0], [2, 1, 0]) == pytest.approx(partition_cost(X[[0, 0, 1]], [0, 0, 0]))
    assert partition_cost(X, [0, 0, 0], [0, 0, 0]) == 0.0


def test_a_single_row_a_single_value_and_no_rows_cost_nothing():
    assert partition_cost(np.array([[3.7]]), [0]) == 0.0
    assert partition_cost(np.full((5, 2), 0.1), [0] * 5) == 0.0
    assert partition_cost(np.empty((0, 2)), []) == 0.0


def test_rows_of_no_weight_are_not_read():
    X = np.array([[0.0], [2.0], [1e200]])
    assert partition_cost(X, [0, 0, 0], [1, 1, 0]) == 2.0
    assert partition_cost(X, [0, 0, 7], [1, 1, 0]) == 2.0


def test_clusters_far_apart_keep_their_digits():
    random = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = random.integers(0, 3, size=(60, 2)) + 1e9 * labels[:, None]
    assert partition_cost(X, labels) == pytest.approx(exact_cost(X, labels, np.ones(60)), rel=1e-12)


def test_many_rows_cost_what_they_cost_in_numpy():
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(300_000, 2)), random.integers(0, 2, 300_000)
    naive = sum(((X[labels == i] - X[labels == i].mean(axis=0)) ** 2).sum() for i in range(2))
    assert partition_cost(X, labels) == pytest.approx(naive, rel=1e-12)


def test_a_float32_table_is_never_widened_whole():
    X = np.zeros((200_000, 40), dtype=np.float32)
    labels = np.zeros(len(X), dtype=np.int32)
    tracemalloc.start()
    partition_cost(X, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2


def test_a_read_only_table_in_any_layout_is_accepted():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 3)))
    labels = np.arange(50) % 3
    expected = partition_cost(np.ascontiguousarray(X), labels)
    X.setflags(write=False)
    assert partition_cost(X, labels) == expected


def agreement_of(labels, reference, k, weight=None):
    labels, reference = np.array(labels), np.array(reference)
    weight = None if weight is None else np.array(weight, float)
    counts = count_labels([], labels, reference, weight, Counting(k))
    return agreement(counts["shared"], counts["weight"], counts["followed"])


def test_agreement_is_a_share_of_weight():
    assert agreement_of([0, 1, 2, 2], [0, 1, 1, 2], 3)[0] == 0.75
    assert agreement_of([0, 1, 2, 2], [0, 1, 1, 2], 3, [1, 1, 6, 2])[0] == 0.4


def test_precision_and_recall_are_shares_of_either_side():
    _, precision, recall = agreement_of([0, 0, 0, 1, 1, 3], [0, 0, 1, 1, 2, 1], 5)
    assert precision.tolist() == pytest.approx([2 / 3, 1 / 2, 0, 0, 0])
    assert recall.tolist() == pytest.approx([1, 1 / 3, 0, 0, 0])


def test_precision_and_recall_weigh_rows():
    _, precision, recall = agreement_of([0, 0, 1], [0, 1, 1], 2, [3, 1, 4])
    assert precision.tolist() == [0.75, 1.0]
    assert recall.tolist() == [1.0, 0.8]


@given(hnp.arrays(np.int32, st.integers(1, 40), elements=st.integers(0, 5)))
def test_a_labelling_agrees_with_itself(labels):
    share, *by_cluster = agreement_of(labels, labels, 6)
    assert share == 1.0
    for shares in by_cluster:
        assert set(shares[np.unique(labels)]) == {1.0}

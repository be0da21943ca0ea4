"""The figures against their definitions, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shallowrules import metrics
from shallowrules.metrics import (
    agreement,
    partition_cost,
    precision_and_recall,
    weighted_average_depth,
    weighted_average_explanation_size,
)
from shallowrules.tree import LEAF, Tree


def plain_cost(X, labels, weight=None):
    """Return Eq. 1 in rational numbers."""
    weight = [1] * len(labels) if weight is None else weight
    cost = Fraction(0)
    for label in set(labels):
        rows = [i for i, found in enumerate(labels) if found == label and weight[i] > 0]
        total = sum(Fraction(weight[i]) for i in rows)
        for column in range(len(X[0])):
            values = [(Fraction(weight[i]), Fraction(X[i][column].item())) for i in rows]
            mean = sum(w * x for w, x in values) / total if rows else 0
            cost += sum(w * (x - mean) ** 2 for w, x in values)
    return float(cost)


@st.composite
def partitions(draw):
    """A table with its labels and weights."""
    n_rows = draw(st.integers(1, 20))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = random.normal(size=(n_rows, draw(st.integers(1, 4)))) * draw(st.sampled_from([1e-9, 1.0, 1e9]))
    X = X.astype(draw(st.sampled_from([np.float64, np.float32])))
    labels = random.integers(-1, draw(st.integers(0, 5)), n_rows)
    weight = random.choice([0.0, 0.25, 1.0, 3.0, 1e6], n_rows) if draw(st.booleans()) else None
    return X, labels, weight


@given(partitions())
def test_cost_is_the_plain_definition(partition):
    X, labels, weight = partition
    expected = plain_cost(X, labels.tolist(), None if weight is None else weight.tolist())
    scale = float((X.astype(np.float64) ** 2).sum()) * (1 if weight is None else weight.max())
    assert partition_cost(X, labels, weight) == pytest.approx(expected, rel=1e-9, abs=1e-15 * scale)


@pytest.mark.parametrize("offset", [1e9, -1e9, 1e12])
def test_cost_keeps_its_digits_far_from_the_origin(offset):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3)) + offset
    labels = random.integers(0, 4, 500)
    assert partition_cost(X, labels) == pytest.approx(plain_cost(X, labels.tolist()), rel=1e-12)


def test_cost_of_clusters_far_apart():
    random = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = random.integers(0, 3, size=(60, 2)) + 1e9 * labels[:, None]
    assert partition_cost(X, labels) == pytest.approx(plain_cost(X, labels.tolist()), rel=1e-12)


def test_cost_of_single_precision_is_summed_in_double():
    X = np.full((30_000, 1), 1000.0, dtype=np.float32)
    X[::2] = np.nextafter(np.float32(1000), np.float32(2000))
    step = float(X[0, 0]) - 1000
    assert partition_cost(X, np.zeros(30_000, int)) == pytest.approx(30_000 * step**2 / 4, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float16, bool])
def test_cost_of_narrow_numbers(dtype):
    X = np.array([[0, 1], [1, 1], [1, 0], [1, 1]]).astype(dtype)
    assert partition_cost(X, [0, 0, 1, 1]) == 1.0


def test_cost_of_narrow_integers_does_not_wrap():
    assert partition_cost(np.array([[-128], [127]], dtype=np.int8), [0, 0]) == 255**2 / 2
    assert partition_cost(np.array([[0], [255]], dtype=np.uint8), [0, 0]) == 255**2 / 2


def test_cost_in_blocks_is_the_same(monkeypatch):
    random = np.random.default_rng(0)
    X, labels, weight = random.normal(size=(100, 3)), random.integers(0, 3, 100), random.random(100)
    whole = partition_cost(X, labels, weight)
    monkeypatch.setattr(metrics, "_BLOCK", 7)
    assert partition_cost(X, labels, weight) == pytest.approx(whole, rel=1e-12)


def test_a_weight_is_so_many_rows():
    random = np.random.default_rng(0)
    X, labels, weight = random.normal(size=(40, 3)), random.integers(0, 4, 40), random.integers(0, 4, 40)
    repeated = partition_cost(np.repeat(X, weight, axis=0), np.repeat(labels, weight))
    assert partition_cost(X, labels, weight) == pytest.approx(repeated, rel=1e-12)


def test_rows_without_weight_do_not_count():
    X = np.array([[0.0], [2.0], [1e200]])
    assert partition_cost(X, [0, 0, 0], [1, 1, 0]) == 2.0
    assert partition_cost(X, [0, 0, 7], [1, 1, 0]) == 2.0
    assert partition_cost(X, [0, 0, 0], [0, 0, 0]) == 0.0


def test_equal_rows_cost_nothing():
    X = np.tile([1e9 + 0.1, 1e-9], (1000, 1))
    assert partition_cost(X, np.zeros(1000, int), np.linspace(0.1, 3, 1000)) == 0.0
    assert partition_cost(np.empty((0, 2)), np.empty(0, int)) == 0.0


def test_labels_of_any_kind_and_lists():
    X = [[0.0], [2.0], [5.0], [5.0]]
    assert partition_cost(X, ["a", "a", "b", "b"]) == 2.0
    assert partition_cost(X, [-1, -1, 3, 3]) == 2.0


def test_a_column_order_does_not_matter():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 4)))
    X.setflags(write=False)
    labels = np.arange(50) % 3
    assert partition_cost(X, labels) == partition_cost(np.ascontiguousarray(X), labels)


def small_tree(weights):
    """Return a chain of three cuts; the third repeats the first one's feature and direction."""
    return Tree(
        np.array([0, 1, LEAF, 0, LEAF, LEAF, LEAF], np.int32),
        np.array([5.0, 0, 0, 2, 0, 0, 0]),
        np.array([1, 2, LEAF, 4, LEAF, LEAF, LEAF], np.int32),
        np.array([6, 3, LEAF, 5, LEAF, LEAF, LEAF], np.int32),
        np.array([LEAF, LEAF, 0, LEAF, 1, 2, 3], np.int32),
        np.ones(7, np.int64),
        np.array([sum(weights), 0, weights[0], 0, weights[1], weights[2], weights[3]], np.float64),
    )


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (3, 0.5, 2, 1), (0, 0, 0, 1)])
def test_lengths_are_weighted_means_over_the_leaves(weights):
    tree = small_tree(weights)
    # node 4 is x0 <= 5, x1 > 0, x0 <= 2: three questions, two conditions
    assert weighted_average_depth(tree) == pytest.approx(np.dot((2, 3, 3, 1), weights) / sum(weights))
    assert weighted_average_explanation_size(tree) == pytest.approx(np.dot((2, 2, 3, 1), weights) / sum(weights))


def test_lengths_of_a_single_leaf():
    one = np.array([LEAF], np.int32)
    tree = Tree(one, np.zeros(1), one, one, np.zeros(1, np.int32), np.array([9]), np.array([9.0]))
    assert weighted_average_depth(tree) == 0
    assert weighted_average_explanation_size(tree) == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.25, 1.0, 7.0])), min_size=1))
def test_agreement_precision_and_recall_are_the_plain_definitions(rows):
    labels, reference, weight = map(list, zip(*rows, strict=True))
    total = sum(weight)
    equal = sum(w for a, b, w in rows if a == b)
    assert agreement(labels, reference, weight) == pytest.approx(equal / total)
    precision, recall = precision_and_recall(labels, reference, 5, weight)
    for cluster in range(5):
        shared = sum(w for a, b, w in rows if a == b == cluster)
        here = sum(w for a, _, w in rows if a == cluster)
        there = sum(w for _, b, w in rows if b == cluster)
        assert precision[cluster] == pytest.approx(shared / here if here else 0)
        assert recall[cluster] == pytest.approx(shared / there if there else 0)


def test_agreement_without_weights():
    assert agreement([0, 1, 1, 2], [0, 1, 2, 2]) == 0.75
    assert agreement([3], [3]) == 1.0
    precision, recall = precision_and_recall(np.array([0, 0, 1]), np.array([0, 1, 1]), 4)
    assert precision.tolist() == [0.5, 1, 0, 0]
    assert recall.tolist() == [1, 0.5, 0, 0]
    assert precision.dtype == recall.dtype == np.float64

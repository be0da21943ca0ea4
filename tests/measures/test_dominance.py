"""Cliff's delta and medians by cluster: the definition, weights, ties, parts of a table, and values put into bins."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from shallowrules.measures.dominance import ValueBins, WeightsByValue, codes_of, values_of

K = 3


def by_definition(values, groups, weight):
    """Return the delta of each group over all pairs of a row inside and a row outside; NaN where there are none."""
    found = []
    for group in range(K):
        inside, outside = groups == group, groups != group
        pairs = np.outer(weight[inside], weight[outside])
        signs = np.array([[(x > y) - (x < y) for y in values[outside].tolist()] for x in values[inside].tolist()])
        found.append((pairs * signs).sum() / pairs.sum() if pairs.size else math.nan)
    return np.array(found)


numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5]), st.floats(allow_nan=False, allow_infinity=False), st.floats(-9, 9)
)
columns = st.one_of(
    st.lists(numbers, min_size=1, max_size=50).map(np.array),
    st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=50).map(lambda each: np.array(each, np.float32)),
    st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50).map(
        lambda each: np.array(each, np.int64)
    ),
    st.lists(st.integers(0, 2) | st.integers(0, 2**64 - 1), min_size=1, max_size=50).map(
        lambda each: np.array(each, np.uint64)
    ),
)


@st.composite
def rows(draw):
    """Return values, groups, and weights that are whole."""
    values = draw(columns)
    n_rows = len(values)
    groups = draw(st.lists(st.integers(0, K - 1), min_size=n_rows, max_size=n_rows))
    weight = draw(st.lists(st.integers(1, 5), min_size=n_rows, max_size=n_rows))
    return values, np.array(groups, np.int32), np.array(weight, float)


@draws(300)
@given(rows())
def test_deltas_and_medians_are_those_of_the_definition(drawn_rows):
    values, groups, weight = drawn_rows
    standing = WeightsByValue.of(values, groups, K, weight).standing()
    np.testing.assert_allclose(standing.deltas, by_definition(values, groups, weight), rtol=0, atol=1e-11)
    repeated, copies = np.repeat(values.astype(float), weight.astype(int)), np.repeat(groups, weight.astype(int))
    with np.errstate(over="ignore"):
        medians = [np.median(repeated[copies == g] / 4) * 4 if (copies == g).any() else math.nan for g in range(K)]
    np.testing.assert_allclose(standing.medians, medians, rtol=1e-12, atol=1e-300)
    assert standing.quartiles[0] <= standing.quartiles[1] <= standing.quartiles[2]


@draws(100)
@given(rows(), st.randoms(use_true_random=False))
def test_a_row_of_weight_3_is_three_rows_and_their_order_does_not_matter(drawn_rows, random):
    values, groups, weight = drawn_rows
    weighted = WeightsByValue.of(values, groups, K, weight).standing()
    order = np.repeat(np.arange(len(values)), weight.astype(int))
    random.shuffle(order)
    repeated = WeightsByValue.of(values[order], groups[order], K).standing()
    for name in ("deltas", "medians", "quartiles"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def weighed(values, groups, weight, bins):
    if bins is None:
        return WeightsByValue.of(values, groups, K, weight)
    return WeightsByValue.in_bins([values], [bins], groups, K, weight)[0]


@draws(200)
@given(rows(), st.lists(st.integers(0, 50), max_size=4), st.booleans(), st.booleans())
def test_parts_add_up_to_the_whole_in_bins_too(drawn_rows, cuts, in_bins, weighted):
    values, groups, weight = drawn_rows
    weight = weight if weighted else None
    bins = ValueBins.between((values.min(), values.max()), K) if in_bins else None
    whole = weighed(values, groups, weight, bins)
    cuts = sorted(cuts)
    weights = [None] * (len(cuts) + 1) if weight is None else np.split(weight, cuts)
    parts = [weighed(*each, bins) for each in zip(np.split(values, cuts), np.split(groups, cuts), weights, strict=True)]
    added = reduce(add, parts[::-1])
    assert added.shift == whole.shift == (bins.shift if bins else 0)
    for name in ("codes", "places", "groups", "weight"):
        np.testing.assert_array_equal(getattr(added, name), getattr(whole, name))


@pytest.mark.parametrize("tail", [False, True])
def test_bins_put_deltas_off_by_no_more_than_the_pairs_in_one_bin(tail):
    random = np.random.default_rng(0)
    groups = random.integers(0, K, 20_000)
    values = random.normal(groups, 1.0)
    values = np.exp(values) if tail else values
    values[0] = 1e6  # no tail widens the bins
    bins = ValueBins.between((values.min(), values.max()), K)
    exact, binned = (weighed(values, groups, None, each) for each in (None, bins))
    assert exact.shift == 0 < binned.shift
    table = np.zeros((len(binned.codes), K))
    table[binned.places, binned.groups] = binned.weight
    inside, outside = table, table.sum(axis=1, keepdims=True) - table
    most = (inside * outside).sum(axis=0) / (inside.sum(axis=0) * outside.sum(axis=0))
    off = np.abs(binned.standing().deltas - exact.standing().deltas)
    assert (off <= most + 1e-12).all()
    assert (most < 0.02).all()
    if tail:
        np.testing.assert_allclose(binned.standing().medians, exact.standing().medians, rtol=1e-3)
    else:  # from below zero to above it
        assert np.isnan(binned.standing().medians).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_columns_side_by_side_have_the_bins_that_each_has_alone(n_columns, weighted):
    random = np.random.default_rng(n_columns)
    X = random.normal(size=(1500, 5)).round(2)
    X[::7] = -0.0
    groups = random.integers(0, K, len(X)).astype(np.int32)
    weight = random.integers(0, 3, len(X)).astype(float) if weighted else None
    bins = [ValueBins.between((X[:, j].min(), X[:, j].max()), K) for j in range(n_columns)]
    together = WeightsByValue.in_bins([X[:, j] for j in range(n_columns)], bins, groups, K, weight)
    for j, found in enumerate(together):
        exact = WeightsByValue.of(X[:, j], groups, K, weight)
        numbers = (exact.codes >> np.uint64(bins[j].shift)) - np.uint64(bins[j].first)
        wanted = np.zeros((bins[j].n_bins, K))
        np.add.at(wanted, (numbers[exact.places], exact.groups), exact.weight)
        places, of_groups = np.nonzero(wanted)
        first, shift = np.uint64(bins[j].first), np.uint64(found.shift)
        np.testing.assert_array_equal(found.codes >> shift, np.unique(places) + first)
        np.testing.assert_array_equal(found.groups, of_groups)
        np.testing.assert_array_equal(found.weight, wanted[places, of_groups])


@pytest.mark.parametrize("value", [-1.5, 3.5, math.nan])
def test_a_value_in_no_bin_is_refused(value):
    bins = ValueBins.between((-1.0, 3.0), K)
    with pytest.raises(ValueError, match="in none of its column's bins"):
        weighed(np.array([0.0, value, 1.0]), np.zeros(3, int), None, bins)


@draws(100)
@given(columns)
def test_codes_are_in_the_order_of_the_values_and_lead_back(values):
    codes = codes_of(values)
    order = np.argsort(codes, kind="stable")
    assert (values[order][1:] >= values[order][:-1]).all()
    np.testing.assert_array_equal(values_of(codes, values.dtype), values)

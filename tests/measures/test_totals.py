"""Totals against exact arithmetic: any numbers and weights, any order, any parts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shallowrules.errors import DataError
from shallowrules.measures.totals import Totals, check_measure, count_totals
from shallowrules.partitions.merging import Added
from shallowrules.tables.given import column_of

K = 3

number = st.one_of(
    st.floats(-1e300, 1e300), st.sampled_from([0.1, -0.1, 1e16, -1e16, 5e-324, 1e-310]), st.just(math.nan)
)
weights = st.one_of(st.just(0.1), st.floats(1e-3, 1e6), st.integers(1, 9).map(float))
rows = st.lists(st.tuples(number, st.integers(0, K - 1), weights), max_size=30)


def totals_of(values, labels, weight=None):
    found = count_totals(column_of("revenue", values), labels, K, weight)
    return Totals.of("revenue", found, range(K))


def arrays_of(rows):
    values, labels, weight = (np.array([row[i] for row in rows]) for i in range(3))
    return values.astype(float), labels.astype(int), weight.astype(float)


@given(rows)
@example([(0.1, 0, 1.0)] * 10)
@example([(1e16, 0, 1.0), (1.0, 0, 1.0), (-1e16, 0, 1.0)])
def test_sums_are_those_of_fsum(rows):
    values, labels, _ = arrays_of(rows)
    found = totals_of(values, labels)
    for cluster in range(K):
        mine = values[labels == cluster]
        assert found.sums[cluster] == math.fsum(mine[~np.isnan(mine)])
        assert found.missing[cluster] == np.count_nonzero(np.isnan(mine))
    assert found.whole == math.fsum(values[~np.isnan(values)])


@given(rows)
@example([(0.1, 0, 0.1)] * 100 + [(-1.0, 0, 1.0)])  # what rounding a product would leave
def test_each_number_counts_by_its_weight(rows):
    rows = [row for row in rows if math.isnan(row[0]) or row[0] == 0 or 1e-280 < abs(row[0]) < 1e280]
    values, labels, weight = arrays_of(rows)
    found = totals_of(values, labels, weight)
    for cluster in range(K):
        exact = sum((Fraction(v) * Fraction(w) for v, g, w in rows if g == cluster and v == v), Fraction(0))
        assert found.sums[cluster] == float(exact)


@given(rows, st.data())
def test_neither_order_nor_parts_matter(rows, data):
    shuffled = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    values, labels, weight = arrays_of(rows)
    if not np.isfinite(np.nan_to_num(values) * 1e6).all():
        values = values / 1e6
        shuffled = [(v / 1e6, g, w) for v, g, w in shuffled]
    whole = totals_of(values, labels, weight)
    parts = [
        Added(count_totals(column_of("revenue", v), g, K, w))
        for v, g, w in (arrays_of(shuffled[:cut]), arrays_of(shuffled[cut:]))
    ]
    assert Totals.of("revenue", parts[0].merged(parts[1]).arrays, range(K)) == whole


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, K - 1)), min_size=1, max_size=20))
def test_whole_numbers_that_no_double_holds(rows):
    values, labels = (np.array(each) for each in zip(*rows, strict=True))
    found = totals_of(values, labels)
    for cluster in range(K):
        assert found.sums[cluster] == float(sum(value for value, group in rows if group == cluster))
    unsigned = np.array([2**64 - 1, 2**63 + 1, 3], np.uint64)
    assert totals_of(unsigned, np.zeros(3, int)).sums[0] == float(2**64 + 2**63 + 3)
    assert totals_of(np.array([-128, 127], np.int8), np.zeros(2, int)).sums[0] == -1


def test_a_share_is_of_the_whole():
    found = totals_of([3.0, 1.0, -2.0, None], np.array([0, 1, 1, 2]))
    assert [found.share(cluster) for cluster in range(K)] == [1.5, -0.5, 0.0]
    assert found.missing == {0: 0, 1: 0, 2: 1}
    assert totals_of([1.0, -1.0], np.array([0, 1])).share(0) is None
    assert found.share(7) == 0.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "cannot be added up: it holds text"),
        ([True, False], "cannot be added up: it holds true or false"),
        (np.array(["2020-01-01"], "datetime64[D]"), "cannot be added up: it holds dates"),
        ([1.0, math.inf, -math.inf], "is infinite in 2 rows"),
    ],
)
def test_what_has_no_sum_is_refused(values, message):
    with pytest.raises(DataError, match=f"the measure 'revenue' {message}"):
        check_measure(column_of("revenue", values))


def test_a_sum_beyond_doubles_is_refused():
    large = np.array([1.7e308, 1.7e308])
    for labels, weight in ((np.array([0, 0]), None), (np.array([0, 1]), None), (np.array([0, 1]), np.array([9.0, 1]))):
        with pytest.raises(DataError, match="the sum of the measure 'revenue' is too large"):
            totals_of(large, labels, weight)
    assert totals_of(np.array([1.7e308, -1.7e308]), np.array([0, 0])).whole == 0

"""Masked arrays are tables with missing values; weights that floats cannot square are refused."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from shallowrules import ExplainableKMeans, rules_of_tree
from shallowrules.errors import DataError, OptionError
from shallowrules.tables.given import column_of
from shallowrules.tables.table import Table

GROUPS = np.repeat([0, 1, 2], 8)
X = np.column_stack([GROUPS * 10.0 + np.arange(24) / 100, GROUPS * 5.0])


def model(**parameters):
    return ExplainableKMeans(3, random_state=0, **parameters)


def masked(values, *places):
    found = np.ma.masked_array(values, mask=np.zeros(np.shape(values), dtype=bool))
    for place in places:
        found[place] = np.ma.masked
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_a_masked_value_is_missing_in_fit_predict_and_assign(dtype):
    fitted = model().fit(X)
    table = masked((X * 100).astype(dtype), (3, 0), (3, 1))
    given_again = model().fit(X * 100)
    for use in (model().fit, given_again.predict):
        with pytest.raises((DataError, ValueError), match="missing|NaN"):
            use(table)
    for held in (table, {"x0": table[:, 0], "x1": table[:, 1]}):
        labels = given_again.rules_.assign(held)
        assert labels[3] == -1
        np.testing.assert_array_equal(np.delete(labels, 3), np.delete(given_again.labels_, 3))
    imputed = ExplainableKMeans(3, random_state=0, impute="median").fit(table)
    assert imputed.rules_.columns[0].imputed is not None
    np.testing.assert_array_equal(fitted.predict(masked(X)), fitted.labels_)


@given(st.sampled_from([[1, 2, 3], [1.5, 2.5, 3.5], ["a", "b", "c"], [True, True, False]]), st.integers(0, 23))
@draws(20, deadline=None)
def test_a_masked_label_is_none(labels, row):
    given_labels = np.array(labels)[GROUPS]
    held = masked(given_labels, row)
    assert np.flatnonzero(column_of("labels", held).absent).tolist() == [row]
    fitted = ExplainableKMeans(clusterer=held).fit(X)
    assert fitted.rules_.statistics.left_out == 1
    assert fitted.reference_labels_[row] == -1
    rules = rules_of_tree(fitted.tree_, X, reference=held)
    assert rules.statistics.left_out == 1


def test_the_masked_constant_in_a_list_is_missing():
    assert column_of("x", [1, np.ma.masked, 3]).absent.tolist() == [False, True, False]
    assert column_of("x", ["a", np.ma.masked]).absent.tolist() == [False, True]
    table = Table.of(masked(np.array([["a", "b"]], dtype=object), (0, 1)))
    assert [column.absent.tolist() for column in table.columns] == [[False], [True]]


def test_masked_weights_and_centers_are_refused():
    with pytest.raises((DataError, ValueError), match="NaN"):
        model().fit(X, sample_weight=masked(np.ones(24), 0))
    with pytest.raises((DataError, ValueError), match="sample_weight"):
        rules_of_tree(model().fit(X).tree_, X, sample_weight=masked(np.ones(24), 0))
    with pytest.raises(OptionError, match="not finite numbers"):
        ExplainableKMeans(clusterer=masked(X[[0, 9, 20]], (0, 0))).fit(X)


@given(st.integers(-306, 306), st.booleans())
@draws(40, deadline=None)
def test_the_cost_is_that_of_the_weights_or_they_are_refused(exponent, equal):
    weight = np.ones(24) if equal else 1.0 + np.arange(24) % 3
    plain = model().fit(X, sample_weight=weight)
    scale = 10.0**exponent
    if not 1e-100 <= weight.max() * scale <= 1e100:
        with pytest.raises(DataError, match="the largest weight is"):
            model().fit(X, sample_weight=weight * scale)
        return
    scaled = model().fit(X, sample_weight=weight * scale)
    assert scaled.inertia_ == pytest.approx(plain.inertia_ * scale)
    assert scaled.normalized_cost_ == pytest.approx(plain.normalized_cost_)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)


def test_weights_and_values_that_overflow_together_are_refused():
    with pytest.raises(DataError, match="weights that sum to .* divide the weights by a constant"):
        ExplainableKMeans(clusterer=GROUPS).fit(X * 1e140, sample_weight=np.full(24, 1e60))


def test_extreme_weights_of_any_tree_are_refused():
    with pytest.raises(DataError, match=r"the largest weight is 1.0e\+300: .* multiply all weights by one constant"):
        rules_of_tree(model().fit(X).tree_, X, sample_weight=np.full(24, 1e300))

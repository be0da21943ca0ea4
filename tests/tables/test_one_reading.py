"""`fit`, `predict` and `assign` read a table in one way, whatever form it comes in."""

from __future__ import annotations

import numpy as np
import pytest
from drawntables import FORMS, KINDS, check_table
from draws import draws
from hypothesis import example, given
from hypothesis import strategies as st

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError


def test_the_drawn_tables_are_of_many_kinds_and_forms():
    assert len(KINDS) >= 24
    assert len(FORMS) >= 20


@draws(150)
@given(st.integers(0, 2**31))
@example(101962).via("the mean of 5e-324 and 0")
def test_every_table_has_one_label_a_row_or_is_refused_in_words(seed):
    assert check_table(seed) in ("labelled", "refused", "not made")


def test_truth_values_in_an_array_of_objects_are_truth_values():
    X = np.array([[True, 0.0], [False, 1.0], [True, 0.1]], dtype=object)
    model = ExplainableKMeans(2, random_state=0).fit(X)
    assert model.rules_.columns[0].type == "boolean"
    assert model.predict(X).tolist() == model.rules_.assign(X).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("X", [[["1", "2"], ["3", "4"]], np.array([["1", 2.0], ["3", 4.0]], dtype=object)])
def test_text_in_an_array_is_refused_by_column(X):
    with pytest.raises(DataError, match=r"'x0'.*dataframe"):
        ExplainableKMeans(1).fit(X)


def test_a_mapping_of_columns_is_a_table():
    columns = {"a": [1, 2, 30], "b": ["u", "v", "v"]}
    model = ExplainableKMeans(2, random_state=0).fit(columns)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.predict(columns).tolist() == model.rules_.assign(columns).tolist() == model.labels_.tolist()

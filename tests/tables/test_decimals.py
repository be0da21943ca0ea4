"""Decimals of dataframes count as the nearest doubles, in rules and in the modules that are written from them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import make_rules

from shallowrules import export

FRAMES = {
    "pyarrow": lambda table: table,
    "pandas, Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, objects": lambda table: table.to_pandas(),
    "polars": pl.DataFrame,
}


def emitted(rules, name):
    """Return the function of an emitted module."""
    namespace = {}
    exec(export(rules, name), namespace)
    return namespace["assign_cluster"]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
@draws(30)
@given(st.lists(st.integers(-(10**6), 10**6), min_size=20, max_size=40, unique=True), st.integers(1, 6))
def test_a_decimal_is_on_the_side_of_its_nearest_double(make, numbers, places):
    values = [Decimal(number).scaleb(-places) for number in numbers]
    doubles = np.array([float(value) for value in values])
    frame = make(pa.table({"x": pa.array(values, pa.decimal128(20, places))}))
    for threshold in doubles.tolist():
        rules = make_rules([("x", "float")], (0, threshold, 0, 1))
        expected = (doubles > threshold).astype(int).tolist()
        assert rules.assign(frame).tolist() == expected
    if isinstance(frame, pd.DataFrame):
        assert emitted(rules, "pandas")(frame).tolist() == expected
    if isinstance(frame, pl.DataFrame):
        assert frame.select(emitted(rules, "polars")()).to_series().to_list() == expected

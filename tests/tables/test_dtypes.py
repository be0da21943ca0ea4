"""Columns of every type of pandas, Arrow and polars: each form gives one label, and unusable values are refused."""

from __future__ import annotations

import datetime as dt
import math
import random
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError
from shallowrules.exporters import export
from shallowrules.tables.given import numbers_of

N_ROWS = 40

# What a column draws its values from.
WHOLE = range(10)
FRACTIONS = [number / 8 for number in range(-40, 41)]
HALVES = [-3.5, -1.0, 0.5, 2.0, 7.0]
CENTS = [Decimal(cents) / 100 for cents in range(0, 999, 7)]
TRUTH = [False, True]
TEXTS = ["a", "b", "cc", "7", "7.0"]


def arrow(values: Sequence[Any], dtype: pa.DataType) -> pa.ChunkedArray:
    """Return values in Arrow types."""
    if pa.types.is_dictionary(dtype):
        return pa.chunked_array([pa.array(values, dtype.value_type).dictionary_encode()])
    if pa.types.is_run_end_encoded(dtype):
        ends = pa.array(range(1, len(values) + 1), pa.int32())
        return pa.chunked_array([pa.RunEndEncodedArray.from_arrays(ends, pa.array(values, dtype.value_type))])
    if pa.types.is_float16(dtype):
        values = [None if value is None else np.float16(value) for value in values]
    return pa.chunked_array([pa.array(values, dtype)])


def of_pandas(dtype: Any) -> Callable[[Sequence[Any]], pd.Series]:
    """Return the function that makes a series of pandas' own type."""
    return lambda values: pd.Series(values, dtype=dtype)


def pandas_categories(values: Sequence[Any]) -> pd.Series:
    return pd.Series(values).astype("category")


def sparse(values: Sequence[Any]) -> pd.Series:
    return pd.Series(pd.arrays.SparseArray(values))


ARROW_TYPES = {
    **{name: (WHOLE, getattr(pa, name)()) for name in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")},
    **{name: (FRACTIONS, getattr(pa, name)()) for name in ("float16", "float32", "float64")},
    **{f"decimal{bits}": (CENTS, getattr(pa, f"decimal{bits}")(7, 2)) for bits in (32, 64, 128, 256)},
    **{name: (TEXTS, getattr(pa, name)()) for name in ("string", "large_string", "string_view")},
    "bool": (TRUTH, pa.bool_()),
    "dictionary of texts": (TEXTS, pa.dictionary(pa.int32(), pa.string())),
    "dictionary of whole numbers": (WHOLE, pa.dictionary(pa.int32(), pa.int64())),
    "dictionary of fractions": (HALVES, pa.dictionary(pa.int32(), pa.float64())),
    "dictionary of truth values": (TRUTH, pa.dictionary(pa.int32(), pa.bool_())),
    "run ends": (WHOLE, pa.run_end_encoded(pa.int32(), pa.int64())),
}


def in_pandas(dtype: pa.DataType) -> Callable[[Sequence[Any]], pd.Series]:
    return lambda values: pd.Series(pd.arrays.ArrowExtensionArray(arrow(values, dtype)))


def in_arrow(dtype: pa.DataType) -> Callable[[Sequence[Any]], pa.ChunkedArray]:
    return lambda values: arrow(values, dtype)


# What draws a value, and what makes a series of values of which some are None.
NULLABLE: dict[str, tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]] = {
    **{f"pandas {t}": (WHOLE, of_pandas(t)) for t in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt64")},
    **{f"pandas {t}": (FRACTIONS, of_pandas(t)) for t in ("Float32", "Float64", "float16", "float64", "longdouble")},
    "pandas boolean": (TRUTH, of_pandas("boolean")),
    **{f"pandas {t}": (TEXTS, of_pandas(t)) for t in ("string", "string[python]", "str", "object", "category")},
    "pandas object of whole numbers": (WHOLE, of_pandas("object")),
    "pandas object of truth values": (TRUTH, of_pandas("object")),
    "pandas object of decimals": (CENTS, of_pandas("object")),
    "pandas categories of whole numbers": (WHOLE, pandas_categories),
    "pandas categories of fractions": (HALVES, pandas_categories),
    "pandas categories of truth values": (TRUTH, pandas_categories),
    "pandas categories of Int64": (WHOLE, lambda values: pd.Series(values, dtype="Int64").astype("category")),
    "pandas sparse": (FRACTIONS, lambda values: sparse([np.nan if value is None else value for value in values])),
    **{f"pandas Arrow {name}": (values, in_pandas(dtype)) for name, (values, dtype) in ARROW_TYPES.items()},
    **{f"Arrow {name}": (values, in_arrow(dtype)) for name, (values, dtype) in ARROW_TYPES.items()},
    **{
        f"polars {dtype}": (WHOLE, lambda values, dtype=dtype: pl.Series(values, dtype=dtype))
        for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    },
    **{
        f"polars {dtype}": (FRACTIONS, lambda values, dtype=dtype: pl.Series(values, dtype=dtype))
        for dtype in (pl.Float32, pl.Float64)
    },
    "polars Decimal": (CENTS, lambda values: pl.Series(values, dtype=pl.Decimal(9, 2))),
    "polars Boolean": (TRUTH, lambda values: pl.Series(values, dtype=pl.Boolean)),
    "polars String": (TEXTS, lambda values: pl.Series(values, dtype=pl.String)),
    "polars Categorical": (TEXTS, lambda values: pl.Series(values, dtype=pl.Categorical)),
    "polars Enum": (TEXTS, lambda values: pl.Series(values, dtype=pl.Enum(["a", "b", "cc", "7", "7.0"]))),
    "polars Object": (WHOLE, lambda values: pl.Series(values, dtype=pl.Object)),
}

# Types that hold a value in every row.
COMPLETE = {
    **{f"pandas {t}": (WHOLE, of_pandas(t)) for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint64")},
    "pandas bool": (TRUTH, of_pandas("bool")),
    "pandas sparse whole numbers": (WHOLE, sparse),
    "pandas sparse truth values": (TRUTH, sparse),
}

REFUSED = {
    "pandas mixed categories": pd.Series([1, "a"] * 20, dtype="category"),
    "pandas categories of dates": pd.Series(pd.date_range("2020", periods=2).tolist() * 20).astype("category"),
    "pandas periods": pd.Series(pd.period_range("2020", periods=N_ROWS)),
    "pandas intervals": pd.Series(pd.interval_range(0, N_ROWS)),
    "pandas complex": pd.Series([1j] * N_ROWS),
    "Arrow list": pa.chunked_array([pa.array([[1, 2]] * N_ROWS)]),
    "Arrow fixed list": pa.chunked_array([pa.array([[1, 2]] * N_ROWS, pa.list_(pa.int64(), 2))]),
    "Arrow struct": pa.chunked_array([pa.array([{"a": 1}] * N_ROWS)]),
    "Arrow binary": pa.chunked_array([pa.array([b"a"] * N_ROWS)]),
    "Arrow time": pa.chunked_array([pa.array([dt.time(1)] * N_ROWS)]),
    "polars List": pl.Series([[1, 2]] * N_ROWS),
    "polars List with a gap": pl.Series([None, *[[1, 2]] * (N_ROWS - 1)]),
    "polars Array": pl.Series([[1, 2]] * N_ROWS, dtype=pl.Array(pl.Int64, 2)),
    "polars Struct": pl.Series([{"a": 1}] * N_ROWS),
    "polars Time": pl.Series([dt.time(1)] * N_ROWS),
    "polars Binary": pl.Series([b"a"] * N_ROWS),
    "polars Null": pl.Series([None] * N_ROWS),
    "whole numbers of 400 digits": pd.Series([10**400 + row for row in range(N_ROWS)], dtype=object),
}

BESIDE = np.random.default_rng(0).normal(size=N_ROWS).round(3).tolist()


def frame_of(series: Any) -> Any:
    """Return a dataframe of the series' own library, with a column of numbers beside it."""
    if isinstance(series, pd.Series):
        return pd.DataFrame({"v": series, "beside": BESIDE})
    return (pl.DataFrame if isinstance(series, pl.Series) else pa.table)({"v": series, "beside": BESIDE})


def rows_of(frame: Any) -> list[Any]:
    """Return the rows as the emitted Python takes them; those of pandas in both of its ways."""
    if isinstance(frame, pd.DataFrame):
        return [*(frame.iloc[row] for row in range(len(frame))), *frame.to_dict("records")]
    return frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_pylist()


def drawn(name: str, missing: int = 0) -> Any:
    """Return a series of a type, of values drawn at random, None in the first rows."""
    values, make = (NULLABLE | COMPLETE)[name]
    chance = random.Random(name)
    return make([None] * missing + [chance.choice(values) for _ in range(N_ROWS - missing)])


def fit(table: Any, **parameters: Any) -> ExplainableKMeans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ExplainableKMeans(3, scale="minmax", random_state=0, refine="none", **parameters).fit(table)


# pandas 2 warns of itself where it takes a row of truth values that are sparse
@pytest.mark.filterwarnings("ignore:Allowing arbitrary scalar fill_value:FutureWarning")
@pytest.mark.parametrize("name", [*NULLABLE, *COMPLETE])
def test_every_form_labels_values_of_every_type_alike(name):
    complete = frame_of(drawn(name))
    frames = [complete, frame_of(drawn(name, missing=3))] if name in NULLABLE else [complete]
    model = fit(frames[-1], impute="median")
    module: dict[str, Any] = {}
    exec(export(model.rules_, "python"), module)
    for frame in frames:
        expected = model.predict(frame).tolist()
        assert model.rules_.assign(frame).tolist() == expected
        rows = rows_of(frame)
        assert [module["assign_cluster"](row) for row in rows] == expected * (len(rows) // N_ROWS)


@pytest.mark.parametrize("name", NULLABLE)
def test_labels_and_weights_of_every_type_may_lack_values(name):
    series = drawn(name, missing=3)
    table = pd.DataFrame({"beside": BESIDE})
    model = fit(table, clusterer=series)
    assert "3 of 40 rows, without a given label" in model.rules_.statistics.notes[0]
    with pytest.raises(DataError, match="sample_weight contains NaN or another missing value, in 3 rows"):
        ExplainableKMeans(2).fit(table, sample_weight=series)


@pytest.mark.parametrize("name", REFUSED)
def test_types_that_are_refused(name):
    series = REFUSED[name]
    with pytest.raises(DataError, match="'v'"):
        ExplainableKMeans(2, scale="minmax").fit(frame_of(series))
    with pytest.raises(DataError, match="sample_weight"):
        ExplainableKMeans(2).fit(pd.DataFrame({"beside": BESIDE}), sample_weight=series)


@pytest.mark.parametrize("name", [name for name in REFUSED if any(kind in name for kind in ("ist", "truct", "Array"))])
def test_nested_labels_are_refused(name):
    with pytest.raises(DataError, match="mixed or nested values"):
        ExplainableKMeans(clusterer=REFUSED[name]).fit(pd.DataFrame({"beside": BESIDE}))


def test_numbers_that_are_categories_are_one_category_in_every_form():
    stores = pd.Series([7, 12, 30] * 14, dtype="category")
    model = ExplainableKMeans(3, random_state=0).fit(pd.DataFrame({"store": stores}))
    assert [column.values for column in model.rules_.columns] == [("12", "30", "7")]
    module: dict[str, Any] = {}
    exec(export(model.rules_, "python"), module)
    for store, expected in zip([7, 12, 30], model.labels_, strict=False):
        for given_as in (store, float(store), np.int8(store), np.float32(store), str(store), Decimal(store)):
            assert module["assign_cluster"]({"store": given_as}) == expected
            assert model.rules_.assign({"store": [given_as]}) == expected
    for other in (8, 7.5, 2**60):
        assert module["assign_cluster"]({"store": other}) == model.rules_.assign({"store": [other]})
    for nothing_of_it in (True, "07", b"7"):
        with pytest.raises(TypeError, match="store"):
            module["assign_cluster"]({"store": nothing_of_it})
    assert module["assign_cluster"]({"store": np.nan}) is None


def test_texts_that_look_like_numbers_stay_texts():
    """'007' is not a store's number, so a number is refused, rather than treated as an unknown category."""
    model = ExplainableKMeans(2, random_state=0).fit(pd.DataFrame({"store": ["007", "12"] * 20}))
    module: dict[str, Any] = {}
    exec(export(model.rules_, "python"), module)
    with pytest.raises(TypeError, match="not text"):
        module["assign_cluster"]({"store": 7})
    with pytest.raises(DataError, match="must hold text"):
        model.rules_.assign({"store": [7]})


FLOATS = [0.5, -0.0, math.nan, math.inf, -5e-324, None]
INTS = [5, -(2**63), 2**63 - 1, -1, None]
OTHERS = [2**63, 10**400, True, "1", Decimal(1), np.float64(1), np.int64(1)]


@given(st.sampled_from([FLOATS, INTS, FLOATS + INTS + OTHERS]).flatmap(lambda few: st.lists(st.sampled_from(few))))
def test_numbers_are_read_from_values_of_one_type(values):
    types = {type(value) for value in values} - {type(None)}
    found = numbers_of(values)
    assert repr(numbers_of(tuple(values))) == repr(found)
    fits = types == {float} or (types == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values))
    assert (found is not None) == fits
    if found is not None:
        read, missing = found
        assert read.dtype == (np.float64 if types == {float} else np.int64)
        assert (missing is None) == (None not in values)
        absent = [value is None for value in values]
        assert missing is None or missing.tolist() == absent
        expected = [(math.nan if types == {float} else 0) if value is None else value for value in values]
        assert repr(read.tolist()) == repr(expected)

"""Typed raw columns from NumPy, dataframes and mappings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shallowrules.errors import DataError
from shallowrules.tables.column import Column
from shallowrules.tables.given import column_of
from shallowrules.tables.table import Table


def test_a_matrix_is_not_copied():
    matrix = np.arange(6.0).reshape(3, 2)
    table = Table.of(matrix)
    assert table.names == ["x0", "x1"]
    assert table.n_rows == 3
    assert all(np.shares_memory(column.values, matrix) for column in table.columns)
    assert Table.of(table) is table


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_of_one_matrix_are_one_again(order):
    matrix = np.array(np.arange(12.0).reshape(3, 4), order=order)
    table = Table.of(matrix)
    assert np.shares_memory(table.matrix, matrix)
    np.testing.assert_array_equal(table.matrix, matrix)
    np.testing.assert_array_equal(table.select(["x1", "x2"]).matrix, matrix[:, 1:3])


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from("CF"),
)
def test_the_ends_of_all_columns_of_a_matrix_are_those_of_each(seed, dtype, order):
    random = np.random.default_rng(seed)
    odd = random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 3.0], size=(int(random.integers(1, 9)), 4))
    matrix = np.array(np.where(random.random(odd.shape) < 0.3, odd, 3.0), dtype=dtype, order=order)
    table, alone = Table.of(matrix), Table.of(matrix)
    ranges = table.ranges()
    for column, own, ends in zip(table.columns, alone.columns, np.transpose(ranges), strict=True):
        np.testing.assert_array_equal(column.ends, own.ends)
        np.testing.assert_array_equal(ends, own.ends)
        assert column.is_finite == own.is_finite == np.isfinite(own.values).all()
    np.testing.assert_array_equal(table.select(["x1", "x2"]).ranges(), np.array(ranges)[:, 1:3])


def test_only_a_matrix_has_ranges():
    assert Table.of({"a": np.arange(3.0), "b": np.arange(3)}).ranges() is None
    assert Table((), 3).ranges() is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_numbers_of_a_dataframe_are_a_matrix_that_is_not_written_to(dtype):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.arange(12.0).reshape(3, 4).astype(dtype), columns=["a", "b", "c", "d"]).copy()
    for some in (frame, frame[["b", "c"]], frame.iloc[1:], frame[["a"]]):
        matrix = Table.of(some).matrix
        np.testing.assert_array_equal(matrix, some.to_numpy())
        assert matrix.dtype == dtype
        assert not matrix.flags.writeable
    assert np.shares_memory(Table.of(frame).matrix, frame["c"].to_numpy())
    assert Table.of(frame.assign(d=[1, 2, 3])).matrix is None
    assert Table.of(frame[:0]).matrix is None


@pytest.mark.parametrize(
    ("table", "is_matrix"),
    [
        (Table.of(np.arange(12.0).reshape(3, 4)).select(["x2", "x1"]), False),
        (Table.of(np.arange(12.0).reshape(3, 4)).select(["x0", "x2"]), True),
        (Table.of(np.arange(12.0).reshape(3, 4)).take(np.array([0, 1])), False),
        (Table.of(np.array([[1.0, np.nan], [2.0, 3.0]])).filled([None, 0.0]), False),
        (Table.of(np.ma.array([[1.0, 2.0], [2.0, 3.0]], mask=[[0, 1], [0, 0]])), False),
        (Table.of(np.arange(12.0).reshape(6, 2)[::2]), True),
        (Table.of(np.arange(12.0).reshape(3, 4)[:, ::2]), True),
        (Table.of(np.arange(12).reshape(3, 4)), False),
        (Table.of({"a": np.arange(3.0), "b": np.arange(3.0)}), False),
        (Table((), 3), False),
    ],
)
def test_other_columns_are_no_matrix_or_that_of_their_values(table, is_matrix):
    columns = [column.values for column in table.columns]
    assert (table.matrix is not None) == is_matrix
    if is_matrix:
        np.testing.assert_array_equal(table.matrix, np.column_stack(columns))
        assert all(np.shares_memory(table.matrix, column) for column in columns)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([1, 2], np.uint8), "integer"),
        (np.array([1.5, 2], np.float32), "float"),
        (np.array(["a", "b"]), "text"),
        (np.array([1, None], object), "integer"),
        (np.array([1, 2.5, None], object), "float"),
        (np.array([1, "a"], object), "text"),
        (np.array([2**70, 1], object), "float"),
        (np.array([[1], {}], object), "other"),
        (np.array(["2020-01-01"], "datetime64[D]"), "date"),
    ],
)
def test_types_of_arrays(values, kind):
    assert Table.of({"x": values})["x"].type == kind


def test_missing_values():
    table = Table.of({"i": np.array([1, None], object), "f": [1.0, np.nan], "t": np.array(["a", None], object)})
    for column in table.columns:
        assert column.absent.tolist() == [False, True]
    assert table["i"].values.dtype == np.int64
    assert table.take(np.array([0]))["i"].absent.tolist() == [False]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dataframes_agree(library):
    module = pytest.importorskip(library)
    data = {"i": [1, 2, 3], "f": [0.5, None, 2.5], "s": ["a", None, "c"], "b": [True, False, True]}
    table = Table.of(module.table(data) if library == "pyarrow" else module.DataFrame(data))
    assert [(column.name, column.type) for column in table.columns] == [
        ("i", "integer"),
        ("f", "float"),
        ("s", "text"),
        ("b", "boolean"),
    ]
    assert table["i"].values.tolist() == [1, 2, 3]
    assert table["f"].absent.tolist() == [False, True, False]
    assert table["f"].values.dtype == np.float64
    assert table["s"].values[0] == "a"
    assert table["s"].absent.tolist() == [False, True, False]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_integers_with_missing_values_stay_integers(library):
    module = pytest.importorskip(library)
    values = [2**53 + 1, None, 3]
    if library == "pandas":
        frame = module.DataFrame({"i": module.array(values, dtype="Int64")})
    else:
        frame = module.table({"i": values}) if library == "pyarrow" else module.DataFrame({"i": values})
    column = Table.of(frame)["i"]
    assert column.type == "integer"
    assert column.values.dtype == np.int64
    assert column.values[0] == 2**53 + 1
    assert column.absent.tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_pandas_extension_floats(dtype):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    column = Table.of(pd.DataFrame({"f": pd.array([0.5, None], dtype=dtype)}))["f"]
    assert column.type == "float"
    assert column.values.dtype == np.float64
    assert column.absent.tolist() == [False, True]


def test_selecting_and_taking():
    table = Table.of({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
    assert table.select(["b"]).names == ["b"]
    for rows in (np.array([True, False, True]), np.array([0, 2])):
        taken = table.take(rows)
        assert taken.n_rows == 2
        assert taken["a"].values.tolist() == [1, 3]
    with pytest.raises(DataError, match="no column 'c'; the columns are: 'a', 'b'"):
        table.select(["c"])


def test_what_is_not_a_table_is_refused():
    with pytest.raises(DataError, match="1 dimension"):
        Table.of([1, 2, 3])
    with pytest.raises(DataError, match="2 columns, expected 1"):
        Table.of([[1, 2]], names=["a"])
    with pytest.raises(DataError, match="named 'a'"):
        Table((Column("a", "integer", np.arange(2)), Column("a", "integer", np.arange(2))), 2)
    with pytest.raises(DataError, match="has 2 rows, the table 1"):
        Table.of({"a": [1], "b": [1, 2]})
    with pytest.raises(DataError, match=r"'t' is not numeric \(it was read as text\)"):
        Table.of({"t": ["a"]})["t"].numbers()


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_missing_values_of_every_pandas_type(backend):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"s": ["a", None], "b": [True, None], "i": [1, None], "f": [0.5, None]})
    table = Table.of(frame.convert_dtypes(dtype_backend=backend))
    assert [c.type for c in table.columns] == ["text", "boolean", "integer", "float"]
    for column in table.columns:
        assert column.absent.tolist() == [False, True]
    assert table["f"].values.dtype == np.float64
    assert table["s"].values.tolist() == ["a", None]
    assert table["b"].positions([True, False]).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("values", "kind", "absent"),
    [
        (["a", float("nan")], "text", [False, True]),
        ([float("nan"), "a", None], "text", [True, False, True]),
        ([True, float("nan")], "boolean", [False, True]),
        ([1, float("nan")], "float", [False, True]),
        ([1, None], "integer", [False, True]),
        ([float("nan")], "float", [True]),
        ([1.5, "a"], "text", [False, False]),
    ],
)
def test_missing_values_in_lists(values, kind, absent):
    column = Table.of({"c": values})["c"]
    assert (column.type, column.absent.tolist()) == (kind, absent)


def test_missing_values_of_pandas_in_lists():
    pd = pytest.importorskip("pandas")
    for values, kind in (
        ([1, pd.NA], "integer"),
        (["a", pd.NA], "text"),
        ([True, pd.NA], "boolean"),
        ([1.5, pd.NA], "float"),
    ):
        column = Table.of({"c": values})["c"]
        assert (column.type, column.absent.tolist()) == (kind, [False, True])


@pytest.mark.parametrize("values", [[0, 1, None], [0.0, 1.0, float("nan")], [False, True, None], [False, 1, None]])
def test_zero_and_one_are_truth_values(values):
    assert column_of("c", values).positions([True, False]).tolist() == [1, 0, -1]


@pytest.mark.parametrize("values", [[0, 2], [0.5, 1], ["true", "false"], ["0", "1"]])
def test_other_values_are_not_truth_values(values):
    with pytest.raises(DataError, match="must hold true and false"):
        column_of("c", values).positions([True, False])

"""Every kind of table gives the same rules, is checked alike, and is predicted for alike."""

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
from rulesets import hostile_texts
from sklearn.datasets import make_blobs

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError
from shallowrules.tables.table import Table

NAMES = ["width", "my height", "n", "price", "short"]


@pytest.fixture(scope="module")
def columns():
    """Return columns of every number type: doubles, doubles of integers, integers, cents, single precision."""
    X = make_blobs(240, 5, centers=4, cluster_std=2.0, random_state=3)[0]
    return {
        "width": X[:, 0],
        "my height": np.round(X[:, 1]),
        "n": np.round(10 * X[:, 2]).astype(np.int64),
        "price": np.array([float(f"{value:.2f}") for value in X[:, 3]]),
        "short": X[:, 4].astype(np.float32),
    }


def decimals(values):
    return [Decimal(f"{value:.2f}") for value in values]


def arrow(columns):
    price = pa.array(decimals(columns["price"]), pa.decimal128(8, 2))
    return pa.table({**{name: pa.array(values) for name, values in columns.items()}, "price": price})


NULLABLE = {"width": "Float64", "my height": "Float64", "n": "Int64", "price": "Float64", "short": "Float32"}

FRAMES = {
    "Table": Table.of,
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda columns: pd.DataFrame(columns).astype(NULLABLE),
    "pandas, Arrow": lambda columns: arrow(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, small integers": lambda columns: pd.DataFrame(columns).astype({"n": np.int16}),
    "pandas, other index": lambda columns: pd.DataFrame(columns).set_index(np.arange(240)[::-1]),
    "polars": pl.DataFrame,
    "polars, decimals": lambda columns: pl.DataFrame({**columns, "price": pl.Series(decimals(columns["price"]))}),
    "polars, chunks": lambda columns: pl.concat(
        [pl.DataFrame(columns)[:100], pl.DataFrame(columns)[100:]], rechunk=False
    ),
    "pyarrow": lambda columns: pa.table(columns),
    "pyarrow, decimals": arrow,
    "pyarrow, chunks": lambda columns: pa.concat_tables([arrow(columns)[:50], arrow(columns)[50:]]),
}


@pytest.fixture(params=FRAMES.values(), ids=FRAMES.keys())
def frame(request, columns):
    return request.param(columns)


def select(frame, names):
    return frame[names] if isinstance(frame, pd.DataFrame) else frame.select(names)


def fit(X, **parameters):
    return ExplainableKMeans(4, scale="minmax", random_state=0, **parameters).fit(X)


@pytest.fixture(scope="module")
def expected(columns):
    return fit(pd.DataFrame(columns))


def test_every_frame_gives_the_same_rules(frame, expected):
    model = fit(frame)
    assert model.rules_ == expected.rules_
    assert [column.type for column in model.rules_.columns] == ["float", "float", "integer", "float", "float"]
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)


@pytest.mark.slow
def test_names_are_kept_and_checked(frame, columns, expected):
    model = fit(frame)
    assert list(model.feature_names_in_) == NAMES
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.predict(frame), expected.labels_)
    np.testing.assert_array_equal(model.apply(frame), expected.apply(frame))
    np.testing.assert_array_equal(model.rules_.assign(frame), expected.labels_)
    assert model.score(frame) == pytest.approx(-model.inertia_)
    turned = select(frame, NAMES[::-1])
    for wrong in (turned, select(frame, NAMES[:4])):
        with pytest.raises(ValueError, match=r"feature names|columns"):
            model.predict(wrong)
    # The rules find their columns by name, wherever they are.
    np.testing.assert_array_equal(model.rules_.assign(turned), expected.labels_)


def test_one_kind_predicts_for_another(frame, expected):
    np.testing.assert_array_equal(expected.predict(frame), expected.labels_)


TEXT_FRAMES = {
    "mapping": lambda texts: {"c": texts},
    "pandas": lambda texts: pd.DataFrame({"c": texts}),
    "pandas, objects": lambda texts: pd.DataFrame({"c": pd.Series(texts, dtype=object)}),
    "pandas, nullable": lambda texts: pd.DataFrame({"c": pd.Series(texts, dtype="string")}),
    "pandas, Arrow": lambda texts: pd.DataFrame({"c": pd.Series(texts, dtype=pd.ArrowDtype(pa.string()))}),
    "polars": lambda texts: pl.DataFrame({"c": pl.Series(texts, dtype=pl.String)}),
    "polars, categories": lambda texts: pl.DataFrame({"c": pl.Series(texts, dtype=pl.Categorical)}),
    "polars, listed categories": lambda texts: pl.DataFrame(
        {"c": pl.Series(texts, dtype=pl.Enum(sorted({text for text in texts if text is not None})))}
    ),
    "pyarrow": lambda texts: pa.table({"c": pa.array(texts, pa.string())}),
    "pyarrow, large": lambda texts: pa.table({"c": pa.array(texts, pa.large_string())}),
    "pyarrow, categories": lambda texts: pa.table({"c": pa.array(texts, pa.string()).dictionary_encode()}),
}


@pytest.mark.parametrize("name", TEXT_FRAMES)
@draws(50)
@given(texts=st.lists(st.none() | hostile_texts, min_size=1, max_size=8))
def test_texts_are_those_of_the_frame_to_their_last_character(name, texts):
    column = Table.of(TEXT_FRAMES[name](texts))["c"]
    assert [None if gone else text for text, gone in zip(column.values, column.absent, strict=True)] == texts


def test_columns_by_name_in_every_frame(frame, expected):
    model = fit(frame, cluster_columns=["price", "width"], explain_columns=["n", "my height"])
    same = fit(Table.of(frame), cluster_columns=["price", "width"], explain_columns=["n", "my height"])
    assert model.rules_ == same.rules_


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint16, ">f8", np.bool_])
def test_arrays_lists_and_frames_of_one_type(dtype):
    X = np.random.default_rng(0).integers(0, 100 if dtype != np.bool_ else 2, (200, 3)).astype(dtype)
    model = ExplainableKMeans(3, random_state=0).fit(X)
    kind = "float" if np.dtype(dtype).kind == "f" else "integer"
    assert {column.type for column in model.rules_.columns} == {kind}
    forms = [np.asfortranarray(X), X[:, ::-1][:, ::-1]]
    if dtype in (np.float64, np.int64):  # what Python's numbers are
        forms.append(X.tolist())
    if dtype != np.bool_:
        native = X.astype(X.dtype.newbyteorder("="))
        forms += [pd.DataFrame(native, columns=["x0", "x1", "x2"]), pl.DataFrame(native, schema=["x0", "x1", "x2"])]
        forms += [pa.table({f"x{j}": native[:, j] for j in range(3)})]
    for form in forms:
        other = ExplainableKMeans(3, random_state=0).fit(form)
        assert str(other.rules_) == str(model.rules_)
        assert [column.type for column in other.rules_.columns] == [kind] * 3
        np.testing.assert_array_equal(other.labels_, model.labels_)
        np.testing.assert_array_equal(other.predict(form), model.labels_)


def with_missing(frame):
    """Return a PyArrow table with a missing value in two columns."""
    for name in ("n", "width"):
        j = frame.column_names.index(name)
        values = frame.column(name).to_pylist()
        values[3] = None
        frame = frame.set_column(j, name, pa.array(values, frame.column(name).type))
    return frame


@pytest.mark.parametrize(
    "convert",
    [
        lambda table: table,
        lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
        lambda table: table.to_pandas().astype(NULLABLE),
        pl.from_arrow,
        Table.of,
    ],
    ids=["pyarrow", "pandas, Arrow", "pandas, nullable", "polars", "Table"],
)
def test_missing_values_are_named_in_every_frame(columns, expected, convert):
    frame = convert(with_missing(arrow(columns)))
    with pytest.raises(DataError, match=r"missing values .* 'width' \(1 row\), 'n' \(1 row\)"):
        fit(frame)
    labels = expected.rules_.assign(frame)
    tests_missing = {"width", "n"} & {expected.rules_.columns[j].name for j in expected.rules_.tested_columns}
    assert tests_missing
    np.testing.assert_array_equal(np.delete(labels, 3), np.delete(expected.labels_, 3))


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_nullable_pandas_columns_with_a_missing_value(backend):
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    plain = pd.DataFrame({"n": [0, 9] * 50, "s": list("aabb") * 25, "b": random.random(100) < 0.5})
    rules = ExplainableKMeans(4, random_state=0, scale="minmax").fit(plain).rules_
    frame = plain.convert_dtypes(dtype_backend=backend)
    frame.loc[0, "s"] = frame.loc[1, "b"] = pd.NA
    with pytest.raises(DataError, match=r"missing values .* 's' \(1 row\), 'b' \(1 row\)"):
        ExplainableKMeans(4).fit(frame)
    tested = {rules.columns[feature].name for feature in rules.tested_columns}
    labels = rules.assign(frame)
    assert (labels[2:] == rules.assign(plain)[2:]).all()
    assert "s" in tested
    assert labels[0] == -1
    assert (rules.assign(plain.assign(b=plain["b"].astype(int))) == rules.assign(plain)).all()
    assert len(ExplainableKMeans(4, impute="median", random_state=0).fit(frame).labels_) == 100

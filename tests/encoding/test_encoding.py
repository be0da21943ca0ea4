"""From raw columns to the matrices that are clustered and cut, and back: units, categories, monotone transforms."""

from __future__ import annotations

import math
from datetime import time

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from tables import shop

from shallowrules import ExplainableKMeans, RuleSet, Table
from shallowrules.encoding import (
    CATEGORY_WEIGHT,
    Encoder,
    ModelColumn,
    Weighing,
    blocks,
    encode,
    encoded,
)
from shallowrules.encoding.imputing import COMPLETE, IMPUTED, impute_table
from shallowrules.errors import DataError, OptionError
from shallowrules.partitions import TableParts
from shallowrules.rules import Leaf
from shallowrules.tables.column import Column
from shallowrules.verification import verify

# --- matrices


def test_a_matrix_of_numbers_is_itself():
    X = np.random.default_rng(0).normal(size=(5, 2))
    encoding = encode(Table.of(X), matrix=X)
    assert encoding.X_explain is encoding.X_cluster is X
    assert encoding.one_space
    assert encoding.encoder.columns == (ModelColumn(0), ModelColumn(1))


@pytest.mark.parametrize(
    ("scale", "scaler"), [("minmax", MinMaxScaler()), ("standard", StandardScaler()), ("robust", RobustScaler())]
)
def test_numbers_are_scaled_and_categories_weighted(scale, scaler):
    frame = shop()
    encoding = encode(Table.of(frame), scale, weighing=Weighing(0.25))
    names = [(frame.columns[c.source], *c.values) for c in encoding.encoder.columns]
    assert names == [
        *(("contract", value) for value in ("Month-to-month", "One year", "Two year")),
        *(("paid", value) for value in (False, True)),
        ("months",),
        *(("note", value) for value in ("", "a|b", "it's", "é")),
        ("amount",),
    ]
    for j, (name, *value) in enumerate(names):
        expected = frame[name] == value[0] if value else frame[name]
        np.testing.assert_array_equal(encoding.X_explain[:, j], expected)
    numbers = [5, 10]
    np.testing.assert_array_equal(
        encoding.X_cluster[:, numbers], scaler.fit_transform(frame[["months", "amount"]].to_numpy())
    )
    others = [j for j in range(11) if j not in numbers]
    np.testing.assert_array_equal(encoding.X_cluster[:, others], 0.25 * encoding.X_explain[:, others])


def test_two_categories_are_as_far_apart_as_the_ends_of_a_scaled_column():
    encoding = encode(Table.of({"c": ["a", "b", "c"], "n": [0, 7, 0]}), "minmax")
    a, b, c = encoding.X_cluster
    assert ((a - c) ** 2).sum() == pytest.approx(1)
    assert ((a - b) ** 2).sum() == pytest.approx(2)
    assert pytest.approx(math.sqrt(0.5)) == CATEGORY_WEIGHT


def test_rows_of_no_weight_decide_nothing():
    table = Table.of({"c": ["a", "b", "z"], "n": [0.0, 2.0, 100.0]})
    encoding = encode(table, "minmax", sample_weight=np.array([1.0, 2.0, 0.0]))
    assert [column.values for column in encoding.encoder.columns] == [("a",), ("b",), ()]
    assert encoding.X_cluster[:, 2].tolist() == [0, 1, 50]
    assert encoding.X_explain[2, :2].tolist() == [0, 0]


def test_a_category_of_no_training_row_is_none_of_them():
    encoder = encode(Table.of({"c": ["a", "b"], "n": [1, 2]})).encoder
    assert encoder.transform(Table.of({"c": ["z", "a"], "n": [5, 6]})).tolist() == [[0, 0, 5], [1, 0, 6]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_in_columns_is_turned_unless_it_is_large(dtype, monkeypatch):
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(7, 3)).astype(dtype))
    for some in (X, X[::-1], X[:, ::-1]):
        for how in ({"matrix": some}, {}):
            encoding = encode(Table.of(some), **how)
            assert encoding.X_explain is encoding.X_cluster is encoding.matrix
            assert encoding.matrix.flags.c_contiguous
            assert encoding.matrix.dtype == dtype
            np.testing.assert_array_equal(encoding.matrix, some)
    chosen = encode(Table.of(X), matrix=X, cluster_columns=[2, 0], explain_columns=[1, 2])
    for found, columns in ((chosen.X_cluster, [2, 0]), (chosen.X_explain, [1, 2])):
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, X[:, columns])
    monkeypatch.setattr(encoded, "MAX_TURNED_BYTES", X.nbytes - 1)
    assert encode(Table.of(X), matrix=X).matrix is X


@pytest.mark.parametrize("block_values", [1, 7, 1 << 18])
def test_the_model_matrix_lies_row_by_row_and_is_that_of_each_column(block_values, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", block_values)
    random = np.random.default_rng(block_values)
    numbers, whole, missing = random.normal(size=23), random.integers(0, 9, 23), random.random(23) < 0.3
    words = random.choice(np.array(["a", "b", "c"], object), 23)
    table = Table((*Table.of({"x": numbers, "word": words}).columns, Column("n", "integer", whole, missing)), 23)
    columns = (
        ModelColumn(2),
        ModelColumn(1, "indicator", ("b",)),
        ModelColumn(0, direction=-1),
        ModelColumn(1, "indicator", ("a",)),
        ModelColumn(0),
    )
    matrix = Encoder(columns, None, 1.0).transform(table)
    assert matrix.flags.c_contiguous
    expected = [np.where(missing, np.nan, whole), words == "b", -numbers, words == "a", numbers]
    np.testing.assert_array_equal(matrix, np.column_stack(expected))
    ranks = Encoder((ModelColumn(1, "rank", ("c", "a")), ModelColumn(0)), None, 1.0).transform(table)
    np.testing.assert_array_equal(ranks[:, 0], [{"c": 0, "a": 1}.get(word, 2) for word in words])
    assert ranks.flags.c_contiguous


def test_ranks_and_turned_numbers():
    columns = (ModelColumn(0, "rank", ("S", "M", "L")), ModelColumn(1, direction=-1))
    encoder = Encoder(columns, None, 1.0)
    X_explain = encoder.transform(Table.of({"size": ["M", "S", "XL", "L"], "n": [1.5, 2.0, -3.0, 0.0]}))
    assert X_explain.tolist() == [[1, -1.5], [0, -2], [3, 3], [2, 0]]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (np.array(["a", 1] * 5, object), []),
        (np.array([f"{i}" for i in range(10)], object), [("too many values", "c", 10, None)]),
        (np.array([time(12)] * 10, object), [("other type", "c", None, "times of day")]),
        (np.array([[1], {}] * 5, object), [("other type", "c", None, "mixed or nested values")]),
    ],
)
def test_columns_that_are_no_categories(values, found):
    with pytest.raises(DataError, match="'c'") as caught:
        encode(Table.of({"n": np.arange(10), "c": values}))
    assert [(f.kind, f.column, f.count, f.example) for f in caught.value.findings] == found


def test_columns_of_a_table_in_parts_that_are_no_categories_are_named_with_what_they_hold():
    tables = [Table.of({"n": [1.0, 2.0], "when": np.array([time(hour)] * 2, object)}) for hour in (8, 12)]
    with pytest.raises(DataError, match=r"neither numbers nor categories .*'when' \(times of day\); exclude"):
        ExplainableKMeans(2).fit_partitions(TableParts(tables), centers=[[1.0], [2.0]])


@pytest.mark.parametrize(
    ("n_rows", "n_values", "usable"),
    [(9, 9, True), (1000, 50, True), (1000, 51, False), (20, 19, False), (20, 18, True)],
)
def test_how_many_values_are_too_many(n_rows, n_values, usable):
    table = Table.of({"c": [f"v{i % n_values}" for i in range(n_rows)]})
    if usable:
        assert len(encode(table).encoder.columns) == n_values
    else:
        with pytest.raises(DataError) as caught:
            encode(table)
        assert [finding.kind for finding in caught.value.findings] == ["too many values"]


# --- through the estimator


@pytest.mark.parametrize("scale", [None, "minmax", "standard", "robust"])
def test_tree_rules_and_all_forms_agree_on_categories(scale):
    frame = shop()
    model = ExplainableKMeans(4, scale=scale, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    np.testing.assert_array_equal(model.rules_.assign(frame), model.labels_)
    assert model.waes_ == pytest.approx(sum(rule.size * rule.share for rule in model.rules_))
    assert model.score(frame) == pytest.approx(-model.inertia_)
    assert RuleSet.from_dict(model.rules_.to_dict()) == model.rules_
    for comparison in verify(model.rules_, frame):
        assert comparison.disagreements == 0, comparison


def test_rules_ask_for_categories_by_name():
    frame = shop()[["contract", "paid", "months"]]
    model = ExplainableKMeans(3, scale="minmax", category_weight=10, random_state=0).fit(frame)
    conditions = [str(condition) for rule in model.rules_ for condition in rule.conditions]
    assert all(text.split()[0] in ("contract", "paid") for text in conditions)
    assert any(text.startswith("contract = '") for text in conditions)
    for cluster in model.rules_.clusters:
        inside = frame[model.labels_ == cluster.index]
        for index, column in enumerate(model.rules_.columns):
            if column.is_numeric:
                assert cluster.means[index] == pytest.approx(inside[column.name].mean())
            else:
                shares = [(inside[column.name] == value).mean() for value in column.values]
                assert cluster.shares[index] == pytest.approx(shares)
                assert cluster.means[index] is None
    contract = model.rules_.columns[0]
    assert contract.values == tuple(frame["contract"].value_counts().index)
    assert contract.shares == pytest.approx(tuple(frame["contract"].value_counts(normalize=True)))


def test_a_category_of_no_training_row_meets_exclusions():
    frame = pd.DataFrame({"c": ["a"] * 5 + ["b"] * 5, "n": [0, 1] * 5})
    model = ExplainableKMeans(2, category_weight=9, random_state=0).fit(frame)
    assert {str(rule) for rule in model.rules_} == {"c = 'a'", "c <> 'a'"}
    new = pd.DataFrame({"c": ["a", "z"], "n": [0, 1]})
    assert model.predict(new).tolist() == model.rules_.assign(new).tolist() == [model.labels_[0], model.labels_[-1]]


def test_weights_and_categories():
    frame = shop()
    weight = np.random.default_rng(1).integers(0, 4, len(frame))
    centers = KMeans(4, n_init=1, random_state=0).fit(encode(Table.of(frame)).X_cluster).cluster_centers_
    weighted = ExplainableKMeans(clusterer=centers).fit(frame, sample_weight=weight)
    repeated = ExplainableKMeans(clusterer=centers).fit(frame.loc[frame.index.repeat(weight)])
    assert [node for node in weighted.rules_.nodes if not isinstance(node, Leaf)] == [
        node for node in repeated.rules_.nodes if not isinstance(node, Leaf)
    ]
    for one, two in zip(weighted.rules_.clusters, repeated.rules_.clusters, strict=True):
        assert one.shares[0] == pytest.approx(two.shares[0])


def test_missing_categories_are_refused_by_name():
    frame = shop()
    frame.loc[3:5, "contract"] = None
    with pytest.raises(DataError, match=r"missing values .* 'contract' \(3 rows\)"):
        ExplainableKMeans(4).fit(frame)
    model = ExplainableKMeans(4, random_state=0).fit(shop())
    with pytest.raises(DataError, match=r"missing values .* 'contract' \(3 rows\)"):
        model.predict(frame)


@pytest.mark.parametrize("weight", [0, -1, math.inf, math.nan, "1", True, None])
def test_the_weight_of_categories_is_checked(weight):
    with pytest.raises(OptionError, match="category_weight must be a number above 0"):
        ExplainableKMeans(3, category_weight=weight).fit(shop())


# --- missing values


def gaps(n_rows=300):
    frame = shop(n_rows)
    frame["months"] = pd.array(frame["months"].where(frame.index % 9 > 0), dtype="Int64")
    frame.loc[frame.index % 10 == 0, "contract"] = None
    frame.loc[frame.index % 13 == 0, "amount"] = np.nan
    return frame


def test_missing_values_are_imputed_where_asked_for():
    frame = gaps()
    with pytest.raises(DataError, match=r"'contract' \(30 rows\), 'months' \(34 rows\), 'amount' \(24 rows\).*impute"):
        ExplainableKMeans(6).fit(frame)
    model = ExplainableKMeans(8, scale="minmax", impute="median", random_state=0).fit(frame)
    imputed = {column.name: column.imputed for column in model.rules_.columns if column.imputed is not None}
    present = frame["months"].dropna().sort_values().tolist()
    assert imputed == {
        "contract": frame["contract"].mode()[0],
        "months": present[(len(present) - 1) // 2],
        "amount": pytest.approx(frame["amount"].dropna().quantile(interpolation="lower")),
    }
    assert len(model.rules_.statistics.notes) == 3
    filled = frame.fillna(imputed).astype({"months": int})
    np.testing.assert_array_equal(model.labels_, model.predict(filled))
    np.testing.assert_array_equal(model.labels_, model.predict(frame))
    np.testing.assert_array_equal(model.labels_, model.rules_.assign(frame))
    assert 0 in model.rules_.tested_columns
    for comparison in verify(model.rules_, frame):
        assert comparison.disagreements == 0, comparison
    assert RuleSet.from_dict(model.rules_.to_dict()) == model.rules_
    with pytest.raises(DataError, match=r"missing values .* 'paid' \(300 rows\): exclude"):
        model.predict(filled.assign(paid=pd.array([None] * 300, dtype=object)))


@pytest.mark.parametrize("taken", [(), ("(missing)",), ("(missing)", "((missing))")])
def test_missing_text_is_a_category_where_asked_for(taken):
    frame = gaps().drop(columns=["months", "amount"])
    frame.loc[frame.index[: len(taken)], "contract"] = taken
    with pytest.raises(DataError, match=r"'contract' \(\d+ rows\)"):
        ExplainableKMeans(6).fit(frame)
    model = ExplainableKMeans(6, scale="minmax", missing="category", random_state=0).fit(frame)
    category = "(" * len(taken) + "(missing)" + ")" * len(taken)
    assert [column.imputed for column in model.rules_.columns if column.name == "contract"] == [category]
    assert [note for note in model.rules_.statistics.notes if "category" in note] == [
        f"missing values of column 'contract' ({frame['contract'].isna().sum()} rows) are replaced by {category!r}, "
        "a category of its own"
    ]
    filled = ExplainableKMeans(6, scale="minmax", random_state=0).fit(frame.fillna({"contract": category}))
    np.testing.assert_array_equal(model.labels_, filled.labels_)
    np.testing.assert_array_equal(model.labels_, model.predict(frame))
    np.testing.assert_array_equal(model.labels_, model.rules_.assign(frame))
    absent = ExplainableKMeans(missing="category", clusterer=frame["contract"].isna()).fit(frame).rules_
    assert category in str(absent)
    for rules in (model.rules_, absent):
        for comparison in verify(rules, frame):
            assert comparison.disagreements == 0, comparison
        assert RuleSet.from_dict(rules.to_dict()) == rules


def test_missing_numbers_and_codes_are_no_category():
    frame = gaps()
    with pytest.raises(DataError, match=r"in 'months' \(34 rows\), 'amount' \(24 rows\)"):
        ExplainableKMeans(6, missing="category").fit(frame)
    rules = ExplainableKMeans(6, missing="category", impute="median", random_state=0).fit(frame).rules_
    imputed = {column.name: column.imputed for column in rules.columns if column.imputed is not None}
    assert imputed["contract"] == "(missing)"
    assert imputed["months"] == frame["months"].dropna().sort_values().iloc[(frame["months"].count() - 1) // 2]
    codes = frame[["paid"]].assign(region=pd.Categorical([None, 3, 11] * 100))
    with pytest.raises(DataError, match=r"missing values .* in 'region' \(100 rows\)"):
        ExplainableKMeans(2, missing="category").fit(codes)
    with pytest.raises(OptionError, match="unknown missing 'text'; use one of: category"):
        ExplainableKMeans(4, missing="text").fit(frame)


def test_imputing_in_arrays():
    X = np.random.default_rng(0).normal(size=(100, 2))
    complete = ExplainableKMeans(4, impute="median", random_state=0).fit(X)
    assert complete.rules_.statistics.notes == ()
    X[::7, 1] = np.nan
    model = ExplainableKMeans(4, impute="median", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.rules_.assign(X), model.labels_)
    with pytest.raises(DataError, match="'x0'"):
        model.predict([[np.nan, 1.0]])
    with pytest.raises(DataError, match="'x1'"):
        complete.predict([[1.0, np.nan]])
    with pytest.raises(DataError, match="column 'x1' has no values"):
        ExplainableKMeans(4, impute="median").fit(np.column_stack([X[:, 0], np.full(100, np.nan)]))
    with pytest.raises(OptionError, match="unknown impute 'mean'; use one of: median"):
        ExplainableKMeans(4, impute="mean").fit(X)


def test_the_median_of_a_row_of_weight_three_is_that_of_three_rows():
    table = Table.of({"n": np.array([5, 1, None, 9, 7], object), "c": np.array(["a", "b", None, "b", "c"], object)})
    weight = np.array([1.0, 2.0, 5.0, 0.0, 4.0])
    repeated = table.take(np.repeat(np.arange(5), weight.astype(int)))
    assert impute_table(table, weight).imputed == impute_table(repeated).imputed == (7, "c")
    assert impute_table(table).imputed == (5, "b")
    assert impute_table(table.take(np.array([0, 1]))).imputed == ()


def test_a_table_is_filled_once():
    table = Table.of({"n": np.array([5, 1, None, 9], object), "c": np.array(["a", None, None, "b"], object)})
    filled = impute_table(table, np.array([1.0, 0.0, 1.0, 1.0]))
    assert [column.values.tolist() for column in filled.columns] == [[5, 1, 5, 9], ["a", "a", "a", "b"]]
    assert [column.imputed_rows.tolist() for column in filled.take(np.array([1, 2])).columns] == [
        [False, True],
        [True, True],
    ]
    for filling in (COMPLETE, IMPUTED):
        encoding = encode(filled, filling=filling)
        assert encoding.table.columns == filled.columns
        assert encoding.encoder.imputed == (5, "a")

"""Names, values and estimators are read alike by fit, predict, assign and every emitted module."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from enum import Enum
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier

from shallowrules import ExplainableKMeans, Table, Tree, export, rules_of_tree
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning

BLOBS = make_blobs(90, 2, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)[0]


class Shade(Enum):
    DARK = 1


# Emitted modules -----------------------------------------------------------------------------------


EMITTED = (("python", {"style": "flat"}), ("python", {"vectorized": True}), ("pandas", {}), ("polars", {}))


def modules(rules):
    """Return the functions of all emitted modules, each of a dataframe of pandas, by their name."""
    functions = {}
    for name, options in EMITTED:
        namespace = {}
        exec(export(rules, name, **options), namespace)
        functions[name, bool(options.get("vectorized"))] = namespace
    by_row = functions["python", False]["assign_cluster"]
    return {
        "row by row": lambda frame: [by_row(row) for _, row in frame.iterrows()],
        "vectorized": lambda frame: functions["python", True]["assign_clusters"](frame).tolist(),
        "pandas": lambda frame: functions["pandas", False]["assign_cluster"](frame).tolist(),
        "polars": lambda frame: pl.from_pandas(frame).select(functions["polars", False]["assign_cluster"]())["cluster"],
    }


def labels_or_refusal(function, frame):
    """Return the clusters that a function gives the rows, None for none, or "refused"."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = list(function(frame))
    except (TypeError, ValueError, KeyError, pl.exceptions.ComputeError):
        return "refused"
    return [None if label is None or label is pd.NA or label == -1 else int(label) for label in found]


NAMES = {
    "integers of a matrix": [0, 1],
    "integers": [5, 7],
    "a range": pd.RangeIndex(1, 3),
    "short integers": pd.Index(np.array([1, 2], np.int8)),
    "floats": [1.0, 2.5],
    "truth values": [True, False],
    "intervals": pd.IntervalIndex.from_breaks([0, 1, 2]),
    "levels": pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]),
    "levels of one each": pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]),
    "dates": [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)],
    "points in time": pd.to_datetime(["2024-01-01", "2024-02-01"]),
    "periods": pd.period_range("2024-01", periods=2, freq="M"),
    "spans": pd.to_timedelta([1, 2], unit="D"),
    "categories": pd.CategoricalIndex(["a", "b"]),
    "categories of numbers": pd.CategoricalIndex([3, 4]),
    "texts": ["a", "b"],
    "texts of numbers": ["0", "1"],
    "numbers and texts": ["a", 0],
    "one text twice": ["0", 0],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES.keys())
def test_columns_of_any_name_are_found_by_every_form(names):
    frame = pd.DataFrame(BLOBS, columns=names)
    model = ExplainableKMeans(3, random_state=0)
    if len(set(map(type, names))) > 1:  # as scikit-learn
        with pytest.raises((TypeError, DataError), match="string names|two columns"):
            model.fit(frame)
        return
    model.fit(frame)
    expected = model.labels_.tolist()
    rules = model.rules_
    assert [column.name for column in rules.columns] == [str(name) for name in frame.columns]
    turned = frame.iloc[:, ::-1]
    by_text = frame.set_axis(list(map(str, frame.columns)), axis=1)
    assert model.predict(frame).tolist() == expected
    for form, function in {"assign": rules.assign, **modules(rules)}.items():
        for given in (frame, turned, by_text) if form != "polars" else (by_text, by_text[by_text.columns[::-1]]):
            assert labels_or_refusal(function, given) == expected, form
    with pytest.raises((DataError, ValueError), match="order"):
        model.predict(turned)
    if all(isinstance(name, int) for name in frame.columns):
        functions = modules(rules)
        assert labels_or_refusal(functions["row by row"], frame.astype(object)) == expected
        records = [dict(zip(frame.columns, row, strict=True)) for row in BLOBS.tolist()]
        namespace = {}
        exec(export(rules, "python"), namespace)
        assert [namespace["assign_cluster"](record) for record in records] == expected
        with pytest.raises(KeyError, match="the row has no column"):
            namespace["assign_cluster"]({99: 1.0})


def test_columns_to_cluster_by_may_have_numbers_for_names():
    frame = pd.DataFrame(BLOBS, columns=[1, 2])
    for wanted, name in (("1", "1"), ("2", "2"), (2, "2"), (0, "1")):
        rules = ExplainableKMeans(2, random_state=0, cluster_columns=[wanted]).fit(frame).rules_
        assert {condition.column.name for rule in rules for condition in rule.conditions} == {name}
    with pytest.raises(OptionError, match="position"):
        ExplainableKMeans(2, cluster_columns=[1]).fit(frame)


def column(values, **options):
    return pd.Series(values, **options)


def fitted_on(values):
    """Return a model whose rules tell two values of a column apart."""
    frame = pd.DataFrame({"c": column(values * 12) if isinstance(values, list) else values})
    return ExplainableKMeans(clusterer=[str(value) for value in frame["c"]]).fit(frame)


TRAINED = {
    "text": ["a", "b"],
    "texts of numbers": ["1", "2"],
    "codes": column(pd.Categorical([1, 2] * 12)),
    "categories of numbers": column(pd.Categorical([1.5, 2.0] * 12)),
    "intervals": column(pd.cut([0.5, 1.5] * 12, [0, 1, 2])),
    "truth values": [True, False],
    "integers": [1, 2],
    "floats": [1.5, 2.5],
    "times": [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-06-01")],
}
DAYS = ["2024-01-01", "2024-06-01"]
VALUES = {
    "categories of integers": column(pd.Categorical([1, 1])),
    "ordered categories of integers": column(pd.Categorical([1, 2], ordered=True)),
    "categories of floats": column(pd.Categorical([1.5, 2.0])),
    "categories of texts": column(pd.Categorical(["a", "b"])),
    "categories of digits": column(pd.Categorical(["1", "2"])),
    "categories of truth values": column(pd.Categorical([True, False])),
    "categories of days": column(pd.Categorical(pd.to_datetime(DAYS))),
    "categories of intervals": column(pd.cut([0.5, 1.5], [0, 1, 2])),
    "intervals": column(pd.arrays.IntervalArray.from_breaks([0, 1, 2])),
    "integers": column([1, 2]),
    "small integers": column([1, 2], dtype="uint8"),
    "floats": column([1.0, 2.5]),
    "single floats": column([1.5, 2.5], dtype="float32"),
    "texts": column(["a", "b"]),
    "digits": column(["1", "2"]),
    "truth values": column([True, False]),
    "integers or NA": column([1, None], dtype="Int64"),
    "truth values or NA": column([True, None], dtype="boolean"),
    "texts or NA": column(["a", None], dtype="string"),
    "objects of integers": column([1, 2], dtype=object),
    "objects of truth values": column([True, None], dtype=object),
    "a text beside a number": column(["1", 2], dtype=object),
    "a truth value beside a number": column([True, 2], dtype=object),
    "a truth value beside a text": column(["a", True], dtype=object),
    "days": column(pd.to_datetime(DAYS)),
    "days with a zone": column(pd.to_datetime(DAYS).tz_localize("UTC")),
    "dates": column([datetime.date(2024, 1, 1), datetime.date(2024, 6, 1)], dtype=object),
    "spans": column(pd.to_timedelta([1, 2], unit="D")),
    "decimals": column([Decimal(1), Decimal("2.5")], dtype=object),
    "complex numbers": column([1 + 0j, 2 + 0j]),
    "binary data": column([b"a", b"b"], dtype=object),
    "lists": column([[1], [2]], dtype=object),
    "an Enum": column([Shade.DARK, Shade.DARK], dtype=object),
    "UUIDs": column([UUID(int=1), UUID(int=2)], dtype=object),
    "None": column([None, None], dtype=object),
    "NaN": column([np.nan, np.nan]),
    "NA": column([pd.NA, pd.NA], dtype=object),
    "sparse": column(pd.arrays.SparseArray([1, 2])),
    "Arrow's integers": column([1, 2], dtype="int64[pyarrow]"),
    "Arrow's texts": column(["a", "b"], dtype="string[pyarrow]"),
    "Arrow's dictionary": column(["a", "b"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "Arrow's truth values": column([True, None], dtype="bool[pyarrow]"),
    "Arrow's decimals": column([Decimal(1), Decimal("2.5")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
}


@pytest.mark.parametrize("trained", TRAINED.values(), ids=TRAINED.keys())
def test_values_of_any_type_get_the_same_cluster_or_refusal_from_every_form(trained):
    model = fitted_on(trained)
    functions = modules(model.rules_)
    for kind, values in VALUES.items():
        frame = pd.DataFrame({"c": values})
        expected = labels_or_refusal(model.rules_.assign, frame)
        try:
            pl.from_pandas(frame)
        except (TypeError, pa.ArrowException, pl.exceptions.PolarsError):
            is_polars = False
        else:
            is_polars = "intervals" not in kind  # which Polars has no type for
        for form, function in functions.items():
            if form != "polars" or is_polars:
                # A number of a row is not Python's True, as JSON's true becomes; a column of truth values has numbers.
                truth = any(isinstance(row["c"], bool) for _, row in frame.iterrows())
                truth = truth and model.rules_.columns[0].is_numeric
                wanted = "refused" if form == "row by row" and truth else expected
                assert labels_or_refusal(function, frame) == wanted, (kind, form)
        if expected != "refused" and None not in expected:
            assert model.predict(frame).tolist() == expected, kind
        elif expected == "refused":
            assert labels_or_refusal(model.predict, frame) == "refused", kind


def test_dates_are_not_taken_for_points_in_time_by_predict():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in (0, 1, 2, 100, 101, 102)]
    dates = pl.DataFrame({"d": days})
    times = pl.DataFrame({"d": [datetime.datetime(day.year, day.month, day.day, 12) for day in days]})
    for trained, given in ((dates, times), (times, dates)):
        model = ExplainableKMeans(2, random_state=0).fit(trained)
        assert model.predict(given).tolist() == model.rules_.assign(given).tolist() == model.labels_.tolist()
    model = ExplainableKMeans(2, random_state=0).fit(dates)
    for other in (pl.DataFrame({"d": range(6)}), times.with_columns(pl.col("d").dt.replace_time_zone("UTC"))):
        with pytest.raises(DataError, match="must hold dates"):
            model.predict(other)


def test_labels_in_a_categorical_column_are_the_numbers_that_they_are():
    labels = column(pd.Categorical((BLOBS[:, 0] > 4).astype(int) + 5))
    assert ExplainableKMeans(clusterer=labels).fit(BLOBS).classes_.tolist() == [5, 6]


# What a value is called ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.arrays.IntervalArray.from_breaks(range(91)), "intervals"),
        (pd.period_range("2024", periods=90, freq="D"), "periods"),
        ([Shade.DARK] * 90, "members of the Enum Shade"),
        ([UUID(int=i) for i in range(90)], "UUIDs"),
        (np.arange(90) * 1j, "complex numbers"),
        ([object()] * 90, "values of type object"),
        ([[1]] * 90, "mixed or nested values"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_kind_of_other_values_is_named(values, words):
    frame = pd.DataFrame(BLOBS, columns=["a", "b"]).assign(v=values)
    with pytest.raises(DataError, match=f"'v' \\({words}\\)"):
        ExplainableKMeans(3).fit(frame)


def test_a_query_is_no_table():
    dask = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(BLOBS, columns=["a", "b"])
    model = ExplainableKMeans(3, random_state=0).fit(frame)
    for query, way in (
        (pl.from_pandas(frame).lazy(), "collect"),
        (duckdb.from_df(frame), "df"),
        (dask.from_pandas(frame, npartitions=2), "compute"),
    ):
        for use in (model.fit, model.predict, model.rules_.assign, Table.of):
            with pytest.raises(DataError, match=rf"a query whose rows are not read yet: give table\.{way}\(\)"):
                use(query)
        for parameters, arguments in (
            ({"clusterer": query}, {}),
            ({}, {"sample_weight": query}),
            ({}, {"measure": query}),
        ):
            [name] = parameters | arguments
            with pytest.raises(DataError, match=rf"^{name} is a .*: give {name}\.{way}\(\)$"):
                ExplainableKMeans(3, **parameters).fit(frame, **arguments)
    with pytest.raises(OptionError, match=r"^clusterer \(of type dict\) is neither a clusterer nor"):
        ExplainableKMeans(3, clusterer={"a": 1}).fit(frame)


def test_a_class_or_an_estimator_that_needs_a_target_is_refused():
    frame = pd.DataFrame({"c": ["x", "y", "z"] * 30, "a": BLOBS[:, 0]})
    of_columns = ColumnTransformer([("c", TargetEncoder(), ["c"])], remainder="passthrough")
    for encoder in (TargetEncoder(), make_pipeline(TargetEncoder(), StandardScaler()), of_columns):
        for parameters in ({"transformer": encoder}, {"clusterer": make_pipeline(encoder, KMeans(3))}):
            with pytest.raises(OptionError, match="TargetEncoder learns from a target y"):
                ExplainableKMeans(3, **parameters).fit(frame)
    for parameters, name in (({"transformer": StandardScaler}, "StandardScaler"), ({"clusterer": KMeans}, "KMeans")):
        with pytest.raises(OptionError, match=rf"{name} is a class: give .* {name}\(\.\.\.\)"):
            ExplainableKMeans(3, **parameters).fit(BLOBS)


def test_all_that_is_wrong_with_a_table_is_said_at_once():
    frame = pd.DataFrame(BLOBS, columns=["a", "b"]).assign(
        missing=[None, *range(89)],
        infinite=[np.inf, *range(89)],
        other=[[1]] * 90,
        ids=[f"row {i}" for i in range(90)],
        large=[1e300, *range(89)],
    )
    with pytest.raises(DataError) as caught:
        ExplainableKMeans(3).fit(frame)
    assert {finding.column for finding in caught.value.findings} == {"missing", "infinite", "other", "ids", "large"}
    assert str(caught.value).startswith("there are 5 things wrong with the table:\n- missing values")
    with pytest.raises(DataError, match=r"^infinity in 'infinite' \(1 row\): [^\n]*$"):  # not also as too large
        ExplainableKMeans(3).fit(frame[["a", "infinite"]])
    rules = ExplainableKMeans(3, random_state=0).fit(frame[["a", "b"]]).rules_
    with pytest.raises(DataError, match="columns 'a', 'b', which"):
        rules.assign(frame[["ids"]])
    wrong = frame[["ids", "other"]].set_axis(["a", "b"], axis=1)
    with pytest.raises(DataError, match=r"2 things wrong.*\n.*'a'.*\n.*'b'"):
        ExplainableKMeans(3, random_state=0).fit(frame[["a", "b"]]).predict(wrong)


def test_all_that_is_wrong_with_new_rows_is_said_at_once():
    group = np.repeat(["x", "y", "z"], 30)
    frame = pd.DataFrame(BLOBS, columns=["a", "b"]).assign(c=group, d=range(90))
    model = ExplainableKMeans(3, random_state=0).fit(frame)
    wrong = pd.DataFrame({"a": [1.0, None], "b": ["high", "low"], "c": [1, 2], "d": [np.inf, 0]})
    for use in (model.predict, model.transform, model.score):
        with pytest.raises(DataError, match=r"4 things wrong.*\n.*'b'.*\n.*'c' must hold text.*\n.*'a'.*\n.*'d'"):
            use(wrong)
    frame["b"] = np.tile([0.0, 1.0], 45)
    rules = ExplainableKMeans(clusterer=frame.b.astype(int) + 2 * (group == "x")).fit(frame[["b", "c"]]).rules_
    assert {rules.columns[j].name for j in rules.tested_columns} == {"b", "c"}
    for use in (rules.assign, rules.explain):
        with pytest.raises(DataError, match=r"2 things wrong.*\n.*test column 'c'.*\n.*'b' is not numeric"):
            use(wrong[["b"]])
        with pytest.raises(DataError, match=r"2 things wrong.*\n.*'b' is not numeric.*\n.*'c' must hold text"):
            use(wrong)


def test_a_table_in_another_order_is_told_so():
    table = Table.of({"a": BLOBS[:, 0], "b": BLOBS[:, 1]})
    model = ExplainableKMeans(3, random_state=0).fit(table)
    with pytest.raises(DataError, match=r"^the columns 'b', 'a' are in a different order than in fit, .* 'a', 'b'"):
        model.predict(table.select(["b", "a"]))
    for fitted_on, named in ((table, "a, b"), (BLOBS, "2 columns")):
        model.fit(fitted_on)
        with pytest.raises(DataError, match=rf"^the table has columns a, not those that the model was .* on: {named}$"):
            model.predict(table.select(["a"]))


# What an argument is -------------------------------------------------------------------------------


def test_a_matrix_of_one_row_per_row_is_no_clusterer():
    y = np.arange(90) % 2
    for matrix in (np.eye(2)[y], np.eye(2, dtype=bool)[y], np.eye(3)[y], pd.get_dummies(y), BLOBS, BLOBS.tolist()):
        with pytest.raises(OptionError, match=r"np\.argmax\(clusterer, axis=1\)"):
            ExplainableKMeans(clusterer=matrix).fit(BLOBS)


def test_a_frame_or_array_of_one_column_is_labels():
    labels = (BLOBS[:, 0] > 4).astype(int) + 3
    expected = ExplainableKMeans(clusterer=labels).fit(BLOBS).labels_
    frame = pd.DataFrame({"label": labels})
    for given in (frame, pl.from_pandas(frame), pa.table(frame), labels[:, None], labels[:, None].tolist()):
        np.testing.assert_array_equal(ExplainableKMeans(clusterer=given).fit(BLOBS).labels_, expected)
    by_text = ExplainableKMeans(clusterer=frame.astype(str)).fit(BLOBS)
    assert [cluster.name for cluster in by_text.rules_.clusters] == ["3", "4"]
    centers = ExplainableKMeans(clusterer=[[0.0], [9.0]]).fit(BLOBS[:, :1])  # two rows are centers
    assert centers.reference_centers_.tolist() == [[0.0], [9.0]]


def test_a_series_in_another_order_is_taken_by_position_with_a_warning():
    frame = pd.DataFrame(BLOBS, columns=["a", "b"])
    order = np.random.default_rng(0).permutation(90)
    labels = column((BLOBS[:, 0] > 4).astype(int))
    fit = ExplainableKMeans(clusterer=labels).fit
    for values in (labels, labels.iloc[order].loc[frame.index], labels.set_axis(range(1, 91)), labels.to_numpy()):
        ExplainableKMeans(clusterer=values).fit(frame)
    ExplainableKMeans(clusterer=labels.iloc[order]).fit(frame.iloc[order])
    moved = labels.iloc[order] + 1.0
    tree = Tree.from_sklearn(DecisionTreeClassifier(max_depth=1).fit(frame, labels))
    for name, call in {
        "clusterer": lambda: ExplainableKMeans(clusterer=moved.to_frame()).fit(frame),
        "sample_weight": lambda: fit(frame, sample_weight=moved),
        "measure": lambda: fit(frame, measure=moved),
        "reference": lambda: rules_of_tree(tree, frame, reference=labels.iloc[order]),
    }.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ShallowRulesWarning)
            call()
        [said] = [str(each.message) for each in caught if "another order" in str(each.message)]
        assert said.startswith(f"{name} has the index of the table in another order")
        assert f"{name}.loc" in said

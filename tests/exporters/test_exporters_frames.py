"""The exporters `pandas` and `polars`: their modules give a dataframe the clusters that the tree gives its rows."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from draws import draws, few
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    boundary_rows,
    chain_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
)
from sklearn.datasets import load_wine
from test_exporters_python_functions import CELLS, converted, converting_rules, names_of, of_rows

from shallowrules import ExplainableKMeans
from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import export
from shallowrules.rules import Leaf

FORMS = ("pandas", "polars")


def function_of(rules, form, **options):
    """Return the function that an emitted module defines."""
    namespace: dict[str, Any] = {"__name__": "emitted"}
    exec(export(rules, form, **options), namespace)
    return namespace[options.get("function_name", "assign_cluster")]


def by_pandas(rules, frame, **options):
    """Return the cluster of each row of a dataframe of pandas, None where it has none."""
    given = function_of(rules, "pandas", **options)(frame)
    assert given.index.equals(frame.index)
    return [None if value is pd.NA else value for value in given.tolist()]


def by_polars(rules, frame, **options):
    """Return the cluster of each row of a dataframe of Polars by every way to ask for it, None where it has none."""
    expression = function_of(rules, "polars", **options)()
    found = frame.select(expression).to_series().to_list()
    assert frame.lazy().with_columns(expression.alias("found by rules")).collect()["found by rules"].to_list() == found
    return found


def none_as_minus_one(labels):
    return [-1 if label is None else label for label in labels]


TYPES = {"float": pl.Float64, "integer": pl.Int64, "text": pl.String, "boolean": pl.Boolean}


def polars_frame(rules, rows):
    columns = zip(rules.columns, zip(*rows, strict=True), strict=True)
    return pl.DataFrame([pl.Series(column.name, list(values), dtype=TYPES[column.type]) for column, values in columns])


TEXTS_OF_ARROW = "str" if pd.__version__ >= "3" else "string[pyarrow]"
"""Before pandas 3, "str" makes the text "None" of a missing value."""

PANDAS_TYPES = {
    "objects": dict.fromkeys(MIXED, object),
    "numpy": {"float": "float64", "integer": object, "text": object, "boolean": object},
    "nullable": {"float": "Float64", "integer": "Int64", "text": "string", "boolean": "boolean"},
    "category": {"float": "float64", "integer": "Int64", "text": "category", "boolean": "category"},
    "arrow": {
        "float": "double[pyarrow]",
        "integer": "int64[pyarrow]",
        "text": TEXTS_OF_ARROW,
        "boolean": "bool[pyarrow]",
    },
}


def pandas_frame(rules, rows, types):
    frame = pd.DataFrame(index=[i // 2 for i in range(len(rows))])  # labels that are there twice
    for column, values in zip(rules.columns, zip(*rows, strict=True), strict=True):
        frame[column.name] = pd.Series(list(values), dtype=object, index=frame.index).astype(types[column.type])
    return frame


@pytest.mark.slow
@draws(80)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_pandas_is_the_tree(rules, seed):
    rows = boundary_rows(rules, seed)
    expected = [route(rules, row) for row in rows]
    zero = any(isinstance(value, str) and "\0" in value for row in rows for value in row)
    for name, types in PANDAS_TYPES.items():
        if name == "category" and zero:
            continue  # pandas makes one category of texts that are equal up to a character 0
        assert none_as_minus_one(by_pandas(rules, pandas_frame(rules, rows, types))) == expected


@draws(80)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_polars_is_the_tree(rules, seed):
    rows = boundary_rows(rules, seed)
    if largest_is_asked(rules):
        with pytest.raises(ExportError, match="the largest whole number of 64 bits"):
            export(rules, "polars")
        return
    assert none_as_minus_one(by_polars(rules, polars_frame(rules, rows))) == [route(rules, row) for row in rows]


def largest_is_asked(rules):
    cuts = [node for node in rules.nodes if not isinstance(node, Leaf) and rules.columns[node.column].type == "integer"]
    return any(cut.threshold == 2**63 - 1 for cut in cuts)


@draws(100)
@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_hostile_names_and_categories_stay_data(rules):
    rows = boundary_rows(rules, 0, 8)
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    expected = [names.get(route(rules, row)) for row in rows]
    options = {"cluster_as": "name", "cluster_column": "\"'\n{{ 1 }}^.*$"}
    assert by_pandas(rules, pandas_frame(rules, rows, PANDAS_TYPES["objects"]), **options) == expected
    if not largest_is_asked(rules):
        assert by_polars(rules, polars_frame(rules, rows), **options) == expected


@pytest.mark.parametrize("name", ["*", "^.*$", "^x$", "", " ", "a,b", "x"])
def test_names_that_polars_takes_for_patterns(name):
    rules = make_rules([(name, "float")], (0, 0.5, 0, 1))
    assert by_polars(rules, pl.DataFrame({name: [0.0, 1.0], "xx": [9.0, 9.0]})) == [0, 1]


@draws(100)
@given(rules=converting_rules(), data=st.data())
def test_they_read_whatever_columns_hold_as_the_function_of_rows_does(rules, data):
    names = names_of(rules)
    plain = [[row[j] for row in boundary_rows(rules, data.draw(st.integers(0, 99)), 4)] for j in range(len(names))]
    rows = data.draw(
        st.lists(st.tuples(*(st.sampled_from([*values, *CELLS]) for values in plain)), min_size=1, max_size=30)
    )
    expected = of_rows(rules, names, rows)
    good = [place for place, cluster in enumerate(expected) if cluster is not TypeError]
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    kept = {name: [values[place] for place in good] for name, values in columns.items()}
    wanted = [expected[place] for place in good]
    as_objects = {name: pd.Series(values, dtype=object) for name, values in kept.items()}
    assert none_as_minus_one(by_pandas(rules, pd.DataFrame(as_objects))) == wanted
    if good and not largest_is_asked(rules):
        frame = pl.DataFrame([pl.Series(name, values, dtype=pl.Object) for name, values in kept.items()])
        assert none_as_minus_one(by_polars(rules, frame)) == wanted
    if len(good) < len(rows):
        with pytest.raises(TypeError, match=re.escape("column ")):
            by_pandas(rules, pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}))


NUMBERS = [
    *([0, 1, 7, 8], [0.5, 1.5, -0.0, 7.0], [math.nan, math.inf, -math.inf, 2.0**53, 2.0**63, -(2.0**60)]),
    *([2**53, 2**53 + 1, 2**63 - 1, -(2**63)], [2**63, 2**64 - 1], [None, 7], [True, False, None]),
    *([Decimal("7.5"), Decimal("0.10000000000000000001"), Decimal(2**53 + 1), None], [2**100, -(2**100)], [None, None]),
]
POLARS_TYPES = [
    *(pl.Float64, pl.Float32, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32),
    *(pl.UInt64, pl.Boolean, pl.Decimal(38, 20), pl.Decimal(22, 1), pl.Object, pl.Null),
]
THRESHOLDS = (0, 1, 7, 2**53, 2**53 + 1, 2**63 - 2, -(2**53) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "integer"])
@pytest.mark.parametrize("nulls", few([[], ["NA", "1"], ["-9", "7.5", "9007199254740993"]]))
@pytest.mark.parametrize("imputed", [None, 3])
def test_columns_of_every_type_of_polars(kind, nulls, imputed):
    series = []
    for numbers in NUMBERS:
        for dtype in POLARS_TYPES:
            try:
                made = pl.Series("x", numbers, dtype=dtype)
            except (OverflowError, TypeError, pl.exceptions.PolarsError):
                continue
            series.append(made)
    assert len({made.dtype for made in series}) == len(POLARS_TYPES)
    for threshold in THRESHOLDS:
        rules = of_one_column(kind, threshold, nulls, imputed)
        expression, of_row = function_of(rules, "polars")(), function_of(rules, "python")
        for made in series:
            expected = [of_row({"x": +value if isinstance(value, bool) else value}) for value in made.to_list()]
            assert made.to_frame().select(expression).to_series().to_list() == expected, (threshold, made)


def of_one_column(kind, threshold, nulls, imputed):
    threshold = float(threshold) if kind == "float" else threshold
    rules = make_rules([("x", kind)], (0, threshold, 0, 1))
    column = replace(rules.columns[0], nulls=nulls, imputed=None if imputed is None else type(threshold)(imputed))
    return replace(rules, columns=(column,))


OF_PANDAS = [
    *("float64", "float32", "int8", "int64", "uint64", "bool", object, "Float64", "Float32", "Int8", "Int64", "UInt64"),
    *("boolean", "double[pyarrow]", "float[pyarrow]", "int64[pyarrow]", "uint64[pyarrow]", "bool[pyarrow]"),
    *(pd.ArrowDtype(pa.decimal128(38, 20)), pd.ArrowDtype(pa.null()), pd.SparseDtype("float64")),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "integer"])
@pytest.mark.parametrize("nulls", few([[], ["NA", "1"]]))
@pytest.mark.parametrize("imputed", few([None, 3]))
def test_columns_of_every_type_of_pandas(kind, nulls, imputed):
    series = []
    for numbers in NUMBERS:
        for dtype in OF_PANDAS:
            try:
                made = pd.Series(numbers, dtype=object, name="x").astype(dtype)
            except (OverflowError, TypeError, ValueError, pa.ArrowException):
                continue
            series.append(made)
    assert len({str(made.dtype) for made in series}) == len(OF_PANDAS)
    for threshold in THRESHOLDS:
        rules = of_one_column(kind, threshold, nulls, imputed)
        function, of_row = function_of(rules, "pandas"), function_of(rules, "python")
        for made in series:
            expected = [of_row({"x": +value if isinstance(value, bool) else value}) for value in made.tolist()]
            found = [None if value is pd.NA else value for value in function(made.to_frame()).tolist()]
            assert found == expected, (threshold, made)


def test_columns_that_are_no_numbers_are_refused_by_name():
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    for made in (*map(pd.Series, (["2020-01-01"], ["0.5"], [[0.5]])), pd.to_datetime(pd.Series(["2020-01-01"]))):
        with pytest.raises(TypeError, match="column 'x' holds"):
            function_of(rules, "pandas")(made.to_frame("x"))
    refused = [pl.Series(["0.5"]), pl.Series([[0.5]]), pl.Series(["a"], dtype=pl.Categorical), pl.Series([b"1"])]
    refused += [pl.Series([0]).cast(kind) for kind in (pl.Date, pl.Datetime, pl.Time, pl.Duration)]
    for made in refused:
        with pytest.raises((TypeError, pl.exceptions.ComputeError), match="column 'x' holds"):
            made.alias("x").to_frame().select(function_of(rules, "polars")())


def test_a_column_that_is_not_there_or_there_twice():
    rules = make_rules([("x", "float"), ("c", "text")], (0, 0.5, 0, (1, "A", 1, 2)))
    with pytest.raises(KeyError, match="the table has no column 'c', which the rules test"):
        function_of(rules, "pandas")(pd.DataFrame({"x": [1.0]}))
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="c"):
        pl.DataFrame({"x": [1.0]}).select(function_of(rules, "polars")())
    twice = pd.DataFrame([[1.0, "A", "B"]], columns=["x", "c", "c"])
    with pytest.raises(ValueError, match="column 'c' is not one-dimensional"):
        function_of(rules, "pandas")(twice)


def test_polars_reads_plain_columns_by_itself_and_any_other_once():
    rules = make_rules([("x", "float"), ("n", "integer")], (0, 0.5, 0, (1, 3, (0, 0.75, 1, 2), (0, 9.5, 3, 4))))
    column = replace(rules.columns[0], nulls=("NA",))
    rules = replace(rules, columns=(column, rules.columns[1]))
    namespace: dict[str, Any] = {}
    exec(export(rules, "polars"), namespace)
    read, asked = namespace["_read"], []
    namespace["_read"] = lambda series, *rest: asked.append(series.to_list()) or read(series, *rest)
    frame = pl.DataFrame({"x": [0.25, 1.0, None], "n": [1, 2, 3]})
    assert frame.select(namespace["assign_cluster"]()).to_series().to_list() == [0, 2, None]
    assert asked == []
    frame = pl.DataFrame({"x": ["0.25", "1", "NA"], "n": [1, 2, 3]})
    assert frame.select(namespace["assign_cluster"]()).to_series().to_list() == [0, 2, None]
    assert asked == [["0.25", "1", "NA"]]


def test_what_comes_back():
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1), {0: "low", 1: "high"})
    frame = pd.DataFrame({"x": [0.0, 1.0, None]}, index=["a", "b", "b"])
    found = function_of(rules, "pandas")(frame)
    assert (found.dtype, found.name) == (pd.Int64Dtype(), "cluster")
    assert list(frame.assign(cluster=function_of(rules, "pandas")).columns) == ["x", "cluster"]
    named = function_of(rules, "pandas", cluster_as="name", cluster_column="segment", function_name="segment")(frame)
    assert (named.dtype, named.name, named.tolist()) == (pd.StringDtype(), "segment", ["low", "high", pd.NA])
    lazy = pl.LazyFrame({"x": [0.0, 1.0, None]}).with_columns(function_of(rules, "polars")())
    assert lazy.collect_schema() == {"x": pl.Float64, "cluster": pl.Int64}
    segments = lazy.with_columns(function_of(rules, "polars", cluster_as="name", cluster_column="x")())
    assert segments.collect_schema() == {"x": pl.String, "cluster": pl.Int64}
    counted = lazy.group_by(function_of(rules, "polars")()).agg(pl.len()).sort("cluster").collect()
    assert counted.rows() == [(None, 1), (0, 1), (1, 1)]
    assert lazy.filter(function_of(rules, "polars")() == 1).collect().height == 1


@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_rules_of_one_leaf_and_frames_without_rows(n_rows):
    single = make_rules([("x", "float")], 3)
    assert by_pandas(single, pd.DataFrame({"y": [1.0] * n_rows})) == [3] * n_rows
    assert by_polars(single, pl.DataFrame({"y": [1.0] * n_rows})) == [3] * n_rows
    for rules in (example_rules(), example_of_categories(), converted(example_rules())):
        rows = boundary_rows(rules, 1, n_rows)
        expected = of_rows(rules, names_of(rules), rows)
        pandas = pd.DataFrame(rows, columns=names_of(rules), dtype=object)
        assert none_as_minus_one(by_pandas(rules, pandas)) == expected
        if n_rows:
            assert none_as_minus_one(by_polars(rules, polars_frame(rules, rows))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("rules", [balanced_rules(500), chain_rules(500)], ids=["balanced", "chain"])
def test_many_leaves(rules):
    rows = boundary_rows(rules, 0, 50)
    expected = [route(rules, row) for row in rows]
    assert none_as_minus_one(by_pandas(rules, pandas_frame(rules, rows, PANDAS_TYPES["numpy"]))) == expected
    assert none_as_minus_one(by_polars(rules, polars_frame(rules, rows))) == expected


@pytest.mark.parametrize("form", FORMS)
def test_options_that_cannot_be(form):
    for wrong, said in (
        ({"function_name": "pl"}, "function_name 'pl' is a name that the module itself needs"),
        ({"function_name": "a b"}, "function_name 'a b' is not a Python name"),
        ({"cluster_as": "x"}, "unknown cluster_as 'x'"),
        ({"cluster_column": " "}, "cluster_column must be text"),
    ):
        with pytest.raises(OptionError, match=said):
            export(example_rules(), form, **wrong)


def test_what_polars_cannot_hold():
    rules = make_rules([("c", "text")], (0, "\ud800", 0, 1))
    with pytest.raises(ExportError, match="an unpaired surrogate"):
        export(rules, "polars")


@pytest.mark.builds
def test_emitted_modules_type_check(tmp_path):
    made = {"plain": example_rules(), "categories": example_of_categories(), "converted": converted(example_rules())}
    for name, rules in {**made, "single": make_rules([("x", "float")], 3)}.items():
        (tmp_path / f"{name}_polars.py").write_text(export(rules, "polars"))
    (tmp_path / "use.py").write_text(
        "import polars as pl\nfrom plain_polars import assign_cluster\nfound: pl.Expr = assign_cluster()\n"
        "wrong: str = assign_cluster()\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = [line for line in checked.stdout.splitlines() if "error:" in line]
    assert len(complaints) == 1, checked.stdout
    assert complaints[0].startswith("use.py:4"), checked.stdout


def test_whole_arrays_are_what_numpy_compares():
    """No value of a plain column is read by itself."""
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    namespace: dict[str, Any] = {}
    exec(export(rules, "pandas"), namespace)
    namespace["_float"] = None
    frame = pd.DataFrame({"x": np.linspace(0, 1, 1001)})
    assert namespace["assign_cluster"](frame).tolist() == rules.assign(frame).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "telco"])
def test_tables_that_people_have(name, request):
    if name == "wine":
        table = load_wine(as_frame=True).data
        model = ExplainableKMeans(3, scale="minmax", random_state=0).fit(table)
    else:
        table = pd.read_csv(request.getfixturevalue("shared_data") / "telco_customer_churn.csv", keep_default_na=False)
        charges = pd.to_numeric(table.pop("TotalCharges"), errors="coerce").fillna(1397.475)
        table = table.drop(columns="customerID").assign(TotalCharges=charges)
        model = ExplainableKMeans(5, scale="minmax", random_state=0).fit(table)
    expected = model.rules_.assign(table).tolist()
    assert expected == model.predict(table).tolist()
    assert by_pandas(model.rules_, table) == expected
    assert by_polars(model.rules_, pl.from_pandas(table)) == expected

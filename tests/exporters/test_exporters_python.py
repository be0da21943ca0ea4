"""The emitted Python module, executed."""

import ast
import math
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from draws import draws
from goldenfiles import assert_golden
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    NO_NUMBERS,
    balanced_rules,
    boundary_rows,
    chain_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    plain_names,
    route,
    rule_sets,
    text_rules,
)
from structures import python_structure
from test_exporters_python_functions import run

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import export
from shallowrules.rules import RuleSet


def assign(rules, rows):
    function = run(rules)["assign_cluster"]
    names = [column.name for column in rules.columns]
    found = [function(dict(zip(names, row, strict=True))) for row in rows]
    return [-1 if cluster is None else cluster for cluster in found]


@draws(150)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_executed_python_is_the_tree(rules, seed):
    rows = boundary_rows(rules, seed)
    assert assign(rules, rows) == [route(rules, row) for row in rows]


@draws(50)
@given(rules=rule_sets(max_depth=4, kinds=MIXED), seed=st.integers(0, 2**32))
def test_executed_python_is_assign(rules, seed):
    rows = boundary_rows(rules, seed)
    table = {}
    for index, column in enumerate(rules.columns):
        values = [row[index] for row in rows]
        if column.type == "float":
            table[column.name] = np.array([math.nan if value is None else value for value in values])
        elif column.type != "integer":
            table[column.name] = np.array(values, dtype=object)
        else:
            # An array of integers beyond 2**53 holds no missing value without becoming one of doubles.
            values = [0 if value is None else value for value in values]
            rows = [(*row[:index], value, *row[index + 1 :]) for row, value in zip(rows, values, strict=True)]
            table[column.name] = np.array(values, dtype=np.int64)
    assert assign(rules, rows) == rules.assign(table).tolist()


@draws(150)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_hostile_names_are_contained(data, seed):
    any_text = hostile_names | st.text(max_size=8)
    tame = data.draw(rule_sets(plain_names, cluster_names=plain_names, max_depth=3))
    n_columns, n_clusters = len(tame.columns), len(tame.clusters)
    document = tame.to_dict()
    column_names = data.draw(st.lists(any_text, min_size=n_columns, max_size=n_columns, unique=True))
    cluster_names = data.draw(st.lists(any_text, min_size=n_clusters, max_size=n_clusters, unique=True))
    for column, name in zip(document["columns"], column_names, strict=True):
        column["name"] = name
    for cluster, name in zip(document["clusters"], cluster_names, strict=True):
        cluster["name"] = name
    hostile = RuleSet.from_dict(document)
    text = export(hostile, "python")
    assert python_structure(text) == python_structure(export(tame, "python"))
    assert text.encode()
    rows = boundary_rows(hostile, seed, 8)
    assert assign(hostile, rows) == [route(hostile, row) for row in rows]
    assert {c["name"] for c in run(hostile)["CLUSTERS"].values()} == set(cluster_names)


def test_golden():
    assert_golden("module.py", export(example_rules(), "python"))
    assert_golden("categories.py", export(example_of_categories(), "python"))


def test_it_is_python_3_9_and_needs_nothing():
    tree = ast.parse(export(example_rules(), "python"), feature_version=(3, 9))
    imported = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imported == [
        "from __future__ import annotations",
        "import operator",
        "import re",
        "from decimal import Decimal",
        "from typing import Any, Protocol, TypedDict",
    ]


@pytest.fixture(scope="module")
def function():
    """Return the function of rules over a float and an integer column, the integer cut at 2**53."""
    rules = make_rules([("x", "float"), ("n", "integer"), ("unused", "float")], (0, 0.3, 0, (1, 2**53, 1, 2)))
    return run(rules)["assign_cluster"]


@pytest.mark.parametrize("value", [0.3, Decimal("0.3"), np.float32(0.25), np.float64(0.3), 0, np.False_, -math.inf])
def test_numbers_of_a_float_column(function, value):
    assert function({"x": value, "n": 1}) == 0


@pytest.mark.parametrize(
    "value", [np.float32(0.3), math.inf, 10**400, Decimal("0.31"), np.int8(1), np.True_, Fraction(1, 2)]
)
def test_numbers_above_the_cut_of_a_float_column(function, value):
    assert function({"x": value, "n": 1}) == 1


@pytest.mark.parametrize(
    ("value", "cluster"),
    [
        (2**53, 1),
        (2**53 + 1, 2),
        (np.int64(2**53 + 1), 2),
        (np.uint64(2**53 + 1), 2),
        (Decimal(2**53 + 1), 2),
        (Decimal(2**53), 1),
        (Decimal("9007199254740992.5"), 2),
        (2.0**53, 1),
        (np.float32(1.5), 1),
        (math.inf, 2),
        (Decimal("-Infinity"), 1),
        (10**400, 2),
    ],
)
def test_numbers_of_an_integer_column(function, value, cluster):
    assert function({"x": 1.0, "n": value}) == cluster


@pytest.mark.parametrize(
    "missing",
    [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN"), np.ma.masked],
    ids=lambda value: type(value).__name__,
)
def test_a_missing_value_meets_no_condition(function, missing):
    assert function({"x": missing, "n": 1}) is None
    assert function({"x": 1.0, "n": missing}) is None
    assert function({"x": 0.0, "n": missing}) == 0


def test_a_missing_key_is_an_error(function):
    with pytest.raises(KeyError, match="no column 'n'"):
        function({"x": 1.0})


@pytest.mark.parametrize("value", ["1", b"1", "", pd.Timestamp("2020-01-01"), [1], 1j, True, False])
def test_what_is_no_number_is_an_error(function, value):
    with pytest.raises(TypeError, match="column 'n'"):
        function({"x": 1.0, "n": value})
    with pytest.raises(TypeError, match="column 'x'"):
        function({"x": value, "n": 1})


def test_any_mapping_is_a_row(function):
    frame = pd.DataFrame({"x": [0.1, 1.0], "n": [1, 2]})
    assert [function(row) for _, row in frame.iterrows()] == [0, 1]
    assert function(OrderedDict(x=0.1, n=1)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("make", [balanced_rules, chain_rules])
def test_many_leaves(make):
    rules = make(5000)
    rows = boundary_rows(rules, 0, 30)
    assert assign(rules, rows) == [route(rules, row) for row in rows]


def test_a_single_leaf_takes_every_row():
    assert run(make_rules([("x", "float")], 3))["assign_cluster"]({}) == 3


def test_variables_are_readable_and_distinct():
    names = ["Petal length (cm)", "petal length [cm]", "class", "row", "2nd", "é", "", "float", "Decimal", "λ"]
    tree = 0
    for index in range(len(names)):
        tree = (index, 1.0, 0, tree)
    text = export(make_rules([(name, "float") for name in names], tree), "python")
    found = [line.split(" = ")[0].strip() for line in text.splitlines() if " = row[" in line]
    assert found == [
        "petal_length_cm",
        "petal_length_cm_2",
        "class_",
        "row_2",
        "x_2nd",
        "x",
        "x_2",
        "float_",
        "decimal",
        "x_3",
    ]


def test_the_function_can_be_named():
    assert run(example_rules(), function_name="segment")["segment"]


@pytest.mark.parametrize(
    "name",
    ["a b", "1a", "", "class", "float", "operator", "_parse", "__name__", "x=1\nimport os", "ﬂoat", "été", None, "row"],
)
def test_names_that_a_function_cannot_have(name):
    with pytest.raises(OptionError, match="function_name"):
        export(example_rules(), "python", function_name=name)


def test_a_template_that_gives_no_python(tmp_path):
    template = tmp_path / "bad.py.j2"
    template.write_text("def {{ function_name }}(row) return")
    with pytest.raises(ExportError, match="not give valid Python"):
        export(example_rules(), "python", template=template)


def test_categories_in_python():
    rules = make_rules([("c", "text"), ("flag", "boolean")], (0, "A", 0, (1, True, 1, 2)))
    function = run(rules)["assign_cluster"]
    assert function({"c": "A", "flag": None}) == 0
    assert function({"c": np.str_("A"), "flag": None}) == 0
    for missing in (None, math.nan, pd.NA, pd.NaT):
        assert function({"c": missing, "flag": True}) is None
        assert function({"c": "B", "flag": missing}) is None
    for true in (True, np.True_, 1, np.int8(1), 1.0, "TRUE", "t", " 1 ", "1.0"):
        assert function({"c": "B", "flag": true}) == 1
    for false in (False, np.False_, 0, -0.0, "False", "F", "0", "0.0"):
        assert function({"c": "B", "flag": false}) == 2
    for wrong in (1, True, b"A", ["A"]):
        with pytest.raises(TypeError, match="column 'c' holds .*, which is not text"):
            function({"c": wrong, "flag": True})
    for wrong in ("yes", "", 2, 0.5, b"1", "1e0"):
        with pytest.raises(TypeError, match="column 'flag' holds .*, which is not true or false"):
            function({"c": "B", "flag": wrong})
    with pytest.raises(KeyError, match="the row has no column 'flag'"):
        function({"c": "B"})


@pytest.mark.parametrize("bound", [0, 0.5])
@pytest.mark.parametrize("text", ["1.4\n", "\t1", "\u0661", *(text for text in NO_NUMBERS if text.strip(" ") != "NA")])
def test_text_that_is_no_number_is_an_error(bound, text):
    namespace = {}
    exec(export(text_rules(bound), "python"), namespace)
    assign = namespace["assign_cluster"]
    assert [assign({"n": number}) for number in ("1.4", " -3 ", "NA", "inf", "-1e400", "9" * 300)] == [
        1,
        0,
        None,
        1,
        0,
        1,
    ]
    with pytest.raises(TypeError, match="holds text"):
        assign({"n": text})

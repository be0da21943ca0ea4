"""The functions of the emitted Python module: each style, for rows and for columns, gives the tree's clusters."""

from __future__ import annotations

import ast
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
    as_columns,
    balanced_rules,
    boundary_rows,
    chain_rules,
    example_of_categories,
    example_rules,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
)

from shallowrules.errors import OptionError
from shallowrules.exporters import export
from shallowrules.exporters.python.branches import Conditions
from shallowrules.exporters.python.module import MODULE_NAMES
from shallowrules.rules import RuleSet

STYLES = ("flat", "ordered", "nested")


def run(rules, **options):
    """Return the namespace of the emitted module."""
    namespace: dict[str, Any] = {"__name__": "emitted"}
    exec(export(rules, "python", **options), namespace)
    return namespace


def of_rows(rules, names, rows, **options):
    """Return the cluster of each row, or the kind of error, -1 where there is none."""
    function = run(rules, **options)["assign_cluster"]
    numeric = [column.is_numeric for column in rules.columns]
    found = []
    for row in rows:
        # A column of truth values has numbers; a row's True is none.
        row = [+v if is_number and isinstance(v, bool) else v for is_number, v in zip(numeric, row, strict=True)]
        try:
            cluster = function(dict(zip(names, row, strict=True)))
        except TypeError:
            cluster = TypeError
        found.append(-1 if cluster is None else cluster)
    return found


def names_of(rules):
    return [column.name for column in rules.columns]


@draws(60)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_every_style_is_the_tree(rules, seed):
    rows = boundary_rows(rules, seed)
    expected = [route(rules, row) for row in rows]
    for style in STYLES:
        assert of_rows(rules, names_of(rules), rows, style=style) == expected


@draws(60)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_the_function_of_columns_is_the_tree(rules, seed):
    rows = boundary_rows(rules, seed)
    expected = [route(rules, row) for row in rows]
    function = run(rules, vectorized=True)["assign_clusters"]
    found = function(as_columns(rules, rows))
    assert found.dtype == np.int64
    assert found.tolist() == expected
    lists = dict(zip(names_of(rules), map(list, zip(*rows, strict=True)), strict=True))
    assert function(lists).tolist() == expected


NUMBERS = st.sampled_from(["-9", "7", "1e2"])
CELLS = [
    *(None, math.nan, 0, 7, -9, -9.0, 1, 100, 2**53 + 1, 10**30, True, False, np.True_, 0.5, math.inf, -0.0),
    *(np.float32(0.1), np.int8(-9), np.float64("nan"), np.uint64(2**63 + 1), Decimal("7.5")),
    *(Decimal("nan"), pd.NA, pd.NaT),
    *("", " ", "NA", " NA ", "7", "7,5", "7.5", "-9.0", " 1e2", "nan", "true", "F", "x", "A", "1_0", b"7", [7], 1j),
    np.datetime64("2020-01-01"),
]  # fmt: skip


@st.composite
def converting_rules(draw):
    """Draw rules whose columns convert text, and impute missing values."""
    rules = draw(rule_sets(max_depth=4, kinds=MIXED, categories=st.sampled_from(["A", "x", "7", "NA", ""])))
    columns = []
    for column in rules.columns:
        changed = {}
        if column.type != "boolean" and draw(st.booleans()):
            words = draw(st.lists(st.sampled_from(["NA", "", "x"]), unique=True))
            numbers = draw(st.lists(NUMBERS, unique=True)) if column.is_numeric else []
            changed = {"nulls": (*words, *numbers)}
            if column.type == "float":
                changed["decimal"] = draw(st.sampled_from(".,"))
        if draw(st.booleans()):
            imputed = {"float": 0.25, "integer": 7, "boolean": True, "text": "A"}
            if column.type != "text" or "A" in column.values:
                changed["imputed"] = imputed[column.type]
        columns.append(replace(column, **changed))
    return replace(rules, columns=tuple(columns))


@pytest.mark.parametrize("kind", ["float", "integer"])
@pytest.mark.parametrize("cell", [[7], [[7]], (7, 8), [], [None], ["7"], np.array([7]), [7.0, 8.0]])
@pytest.mark.parametrize("n_rows", [1, 2])
def test_a_list_in_a_list_is_no_number(kind, cell, n_rows):
    threshold = 7.0 if kind == "float" else 7
    function = run(make_rules([("x", kind)], (0, threshold, 0, 1)), vectorized=True)["assign_clusters"]
    for column in ([cell] * n_rows, (cell,) * n_rows):  # NumPy makes an array of two dimensions of most
        with pytest.raises(TypeError, match=re.escape("column 'x'")):
            function({"x": column})
    for column in (np.ones((n_rows, 1)), np.ones((n_rows, 0)), np.array(7), 7):
        with pytest.raises(ValueError, match=re.escape("column 'x' is not one-dimensional")):
            function({"x": column})


@draws(60, deadline=None)
@given(rules=converting_rules(), data=st.data())
def test_all_functions_agree_on_whatever_rows_hold(rules, data):
    names = names_of(rules)
    plain = [[row[j] for row in boundary_rows(rules, data.draw(st.integers(0, 99)), 4)] for j in range(len(names))]
    rows = data.draw(
        st.lists(st.tuples(*(st.sampled_from([*values, *CELLS]) for values in plain)), min_size=1, max_size=30)
    )
    first, *others = (of_rows(rules, names, rows, style=style) for style in STYLES)
    for other in others:
        assert other == first
    good = [place for place, cluster in enumerate(first) if cluster is not TypeError]
    function = run(rules, vectorized=True)["assign_clusters"]
    if good:
        lists = {name: [rows[place][j] for place in good] for j, name in enumerate(names)}
        assert function(lists).tolist() == [first[place] for place in good]
    if len(good) < len(rows):
        with pytest.raises(TypeError, match=re.escape("column ")):
            function({name: [row[j] for row in rows] for j, name in enumerate(names)})


DTYPES = [
    *(np.float64, np.float32, np.float16, np.longdouble, np.int8, np.uint8, np.int16, np.int64, np.uint64, np.bool_),
    object,
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "integer"])
@pytest.mark.parametrize("nulls", few([[], ["NA", "1"], ["-9"]]))
@pytest.mark.parametrize("imputed", [None, 3])
def test_arrays_of_every_dtype(kind, nulls, imputed):
    for threshold in (0, 1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**53) - 1):
        threshold = float(threshold) if kind == "float" else threshold
        rules = make_rules([("x", kind)], (0, threshold, 0, 1))
        column = replace(rules.columns[0], nulls=nulls, imputed=None if imputed is None else type(threshold)(imputed))
        rules = replace(rules, columns=(column,))
        module = run(rules, vectorized=True)
        for dtype in DTYPES:
            numbers = [0, 1, 7, 8]
            if dtype in (np.float64, np.longdouble, object):
                numbers += [math.nan, math.inf, -math.inf, 2.0**53, 2.0**63, -(2.0**60)]
            if dtype in (np.int64, np.uint64, object):
                numbers += [2**53, 2**53 + 1, 2**63 - 1]
            if dtype in (np.uint64, object):
                numbers += [2**63, 2**64 - 1]
            array = np.array(numbers, dtype=dtype)
            expected = of_rows(rules, ["x"], [(value,) for value in array])
            assert module["assign_clusters"]({"x": array}).tolist() == expected, (threshold, dtype)
            mask = np.arange(len(array)) % 2 == 0
            masked = np.ma.MaskedArray(array, mask)
            expected = of_rows(rules, ["x"], [(None if m else value,) for value, m in zip(array, mask, strict=True)])
            assert module["assign_clusters"]({"x": masked}).tolist() == expected, (threshold, dtype)


def test_columns_of_pandas_polars_and_arrow():
    rules = make_rules(
        [("x", "float"), ("n", "integer"), ("c", "text"), ("flag", "boolean")],
        (0, 0.5, (1, 2**53, 0, 1), (2, "A", 2, (3, True, 3, 4))),
    )
    values = {
        "x": [0.25, 0.5, 0.75, 1.0, 0.75, None, math.nan, 0.75, 0.25],
        "n": [2**53, 2**53 + 1, 0, None, 5, 1, 2, 3, None],
        "c": ["A", "A", "A", "B", "B", "A", "B", None, "A"],
        "flag": [True, False, None, True, False, None, True, False, None],
    }
    expected = of_rows(rules, list(values), zip(*values.values(), strict=True))
    assert expected == [0, 1, 2, 3, 4, -1, -1, -1, -1]
    function = run(rules, vectorized=True)["assign_clusters"]
    frame = pl.DataFrame(values, strict=False)
    assert function(values).tolist() == expected
    assert function(frame).tolist() == expected
    assert function(frame.to_arrow()).tolist() == expected
    assert function(pd.DataFrame(values, dtype=object)).tolist() == expected
    extension = pd.DataFrame(values, dtype=object).astype(
        {"x": "Float64", "n": "Int64", "c": "string", "flag": "boolean"}
    )
    assert function(extension).tolist() == expected
    assert function(extension.astype({"c": "category"})).tolist() == expected
    table = pa.table({name: pa.array(column, from_pandas=True) for name, column in values.items()})
    assert function(table).tolist() == expected
    records = np.zeros(2, dtype=[("x", "f8"), ("n", "i8"), ("c", "U1"), ("flag", "?")])
    records["x"], records["c"] = [1, 0], ["A", "B"]
    assert function(records).tolist() == [2, 0]


def test_names_for_clusters_of_columns():
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1), {0: "it's", 1: 'a "b"'})
    module = run(rules, vectorized=True, cluster_as="name")
    assert module["assign_clusters"]({"x": [0.0, 1.0, None]}).tolist() == ["it's", 'a "b"', None]


def test_more_rows_than_go_through_the_tree_together():
    rules = balanced_rules(64)
    random = np.random.default_rng(0)
    columns = {name: random.normal(size=100_001) * 50 for name in names_of(rules)}
    assert np.array_equal(run(rules, vectorized=True)["assign_clusters"](columns), rules.assign(columns))


def test_no_rows_and_no_columns():
    function = run(example_rules(), vectorized=True)["assign_clusters"]
    assert function({name: [] for name in names_of(example_rules())}).shape == (0,)
    single = run(make_rules([("x", "float")], 3), vectorized=True)["assign_clusters"]
    assert single({}).tolist() == []
    assert single({"y": [1, 2]}).tolist() == [3, 3]
    assert single(pd.DataFrame({"y": [1, 2, 3]})).tolist() == [3, 3, 3]


def test_what_is_wrong_with_columns_is_named():
    function = run(make_rules([("x", "float"), ("n", "integer")], (0, 0.5, 0, (1, 3, 1, 2))), vectorized=True)[
        "assign_clusters"
    ]
    with pytest.raises(KeyError, match="the table has no column 'n', which the rules test"):
        function({"x": [1.0]})
    with pytest.raises(ValueError, match=re.escape("different numbers of rows: [1, 2]")):
        function({"x": [1.0, 2.0], "n": [1]})
    with pytest.raises(ValueError, match="column 'x' is not one-dimensional"):
        function({"x": np.ones((2, 2)), "n": [1, 2]})
    with pytest.raises(TypeError, match="column 'n' holds text, 'a'"):
        function({"x": [1.0, 2.0], "n": [1, "a"]})


@pytest.mark.slow
@pytest.mark.parametrize("make", [balanced_rules, chain_rules])
@pytest.mark.parametrize("style", few(STYLES))
def test_many_leaves(make, style):
    rules = make(2000)
    rows = boundary_rows(rules, 0, 30)
    expected = [route(rules, row) for row in rows]
    assert of_rows(rules, names_of(rules), rows, style=style) == expected
    if style == "nested":
        function = run(rules, vectorized=True)["assign_clusters"]
        assert function(as_columns(rules, rows)).tolist() == expected


@pytest.mark.parametrize("make", [balanced_rules, chain_rules])
def test_the_tree_is_indented_no_deeper_than_the_logarithm_of_the_leaves(make):
    text = export(make(1000), "python", style="nested")
    body = text.partition("def assign_cluster")[2].partition("\ndef ")[0]
    depths = [(len(line) - len(line.lstrip())) // 4 for line in body.splitlines()]
    assert max(depths) <= math.log2(1000) + 2


@draws(100)
@given(rules=rule_sets(kinds=MIXED))
def test_a_row_is_asked_no_more_by_the_tree_than_it_has_depth(rules):
    """The nested style compares a value once per node of its path, besides checking that it is there."""
    module = ast.parse(export(rules, "python"))
    [function] = (node for node in module.body if getattr(node, "name", "") == "assign_cluster")
    tests = [node for node in ast.walk(function) if isinstance(node, ast.If)]
    asked = [test for test in tests if "type(" not in ast.unparse(test.test)]
    missing = [test for test in asked if ast.unparse(test.body[-1]) == "return None"]
    assert len(asked) - len(missing) == len(rules) - 1


@draws(50)
@given(rules=rule_sets(kinds=MIXED))
def test_flat_rules_come_in_the_order_of_fewest_tests(rules):
    text = export(rules, "python", style="flat")
    by_test = {f"    if {rule_test(rule)}:": rule for rule in rules}
    found = [by_test[line] for line in text.splitlines() if line in by_test]
    assert len(found) == len(rules)
    worth = [rule.weight / max(1, len(rule.conditions)) for rule in found]
    assert worth == sorted(worth, reverse=True)


def rule_test(rule):
    """Return the test of a rule as the module has it, which tests columns by their names here."""
    return Conditions({condition.feature: condition.column.name for condition in rule.conditions}).of_rule(rule)


def test_a_style_that_there_is_not():
    with pytest.raises(OptionError, match="style"):
        export(example_rules(), "python", style="deep")


@pytest.mark.builds
def test_emitted_modules_type_check(tmp_path):
    made = {"plain": example_rules(), "categories": example_of_categories(), "converted": converted(example_rules())}
    options = [{"style": style} for style in STYLES] + [{"vectorized": True}]
    for name, rules in made.items():
        for place, chosen in enumerate(options):
            (tmp_path / f"{name}_{place}.py").write_text(export(rules, "python", **chosen))
    (tmp_path / "use.py").write_text(
        "from plain_0 import assign_cluster\n"
        "found: int | None = assign_cluster({'alcohol': 1.0, 'order': 3})\n"
        "wrong: str = assign_cluster({})\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = [line for line in checked.stdout.splitlines() if "error:" in line]
    assert len(complaints) == 1, checked.stdout
    assert complaints[0].startswith("use.py:3"), checked.stdout


def converted(rules: RuleSet) -> RuleSet:
    columns = tuple(replace(c, nulls=("NA", "-9"), imputed=7 if c.type == "integer" else 7.0) for c in rules.columns)
    return replace(rules, columns=columns)


@pytest.mark.parametrize("make", [example_rules, example_of_categories, lambda: converted(example_rules())])
def test_no_variable_has_a_name_that_the_module_needs(make):
    module = ast.parse(export(make(), "python", vectorized=True, reasons=True, function_name="segment"))
    needed = {
        alias.asname or alias.name
        for node in module.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            needed.add(node.name)
        elif isinstance(node, ast.Assign):
            needed |= {target.id for target in node.targets}
        elif isinstance(node, ast.AnnAssign):
            needed.add(node.target.id)
    assert needed - {"segment"} <= MODULE_NAMES

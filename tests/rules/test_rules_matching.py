"""Rules matched to tables of every form: labels are those of the tree."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    as_columns,
    balanced_rules,
    boundary_rows,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
    small_rules,
)

from shallowrules.errors import DataError
from shallowrules.exporters import export
from shallowrules.rules import RuleSet

BIG = 2**53


def emitted(rules, exporter, **options):
    """Return the names of an emitted module."""
    names = {}
    exec(export(rules, exporter, **options), names)
    return names


def columns_with_a_gap():
    """Yield columns of each type of numbers, whose last value is missing."""
    for dtype in ("float16", "float32", "float64"):
        yield np.array([0.1, 3, 0.3, np.nan], dtype)
    for dtype in (*(f"{sign}{bits}" for sign in ("Int", "UInt") for bits in (8, 16, 32, 64)), object):
        yield pandas.array([0, 3, 100, None], dtype)


NUMBERS = [0.1, 2.5, 1e300, -1, 300, 16_777_217, BIG + 1]


@pytest.mark.parametrize(
    ("kind", "imputed"), [("float", float(n)) for n in NUMBERS] + [("integer", n) for n in NUMBERS[3:]]
)
def test_an_imputed_number_is_not_rounded_to_the_type_of_the_column(kind, imputed):
    """Each row has the label of its number alone, in whatever type of column it is with missing values."""
    below = imputed - 1 if kind == "integer" else float(np.nextafter(imputed, -np.inf))
    for near in (imputed, below, 3):
        rules = make_rules([("x", kind)], (0, near, 0, 1))
        rules = replace(rules, columns=(replace(rules.columns[0], imputed=imputed),))
        module, of_pandas = emitted(rules, "python", vectorized=True), emitted(rules, "pandas")
        for column in columns_with_a_gap():
            expected = [int(number > near) for number in [*column[:-1].tolist(), imputed]]
            frame = pandas.DataFrame({"x": column})
            for rows in (frame, frame[-1:]):  # a row alone, too: no other chooses its type
                wanted = expected[-len(rows) :]
                assert rules.assign(rows).tolist() == wanted
                assert [module["assign_cluster"]({"x": value}) for value in rows["x"]] == wanted
                assert module["assign_clusters"](rows).tolist() == wanted
                assert of_pandas["assign_cluster"](rows).tolist() == wanted


def test_columns_are_converted_and_imputed():
    rules = make_rules([("x", "float"), ("c", "text"), ("n", "integer")], (0, 1.5, (1, "A", 0, 1), (2, 3, 2, 3)))
    x, c, n = rules.columns
    columns = (replace(x, decimal=",", nulls=("NA", "-9")), replace(c, nulls=("",), imputed="A"), replace(n, imputed=4))
    rules = replace(rules, columns=columns)
    assert RuleSet.from_dict(json.loads(rules.to_json())) == rules
    table = {
        "x": np.array(["1,5", " 1,6 ", "NA", "", "-9,0", None, "1e3"], object),
        "c": np.array(["A", "B", "B", "B", "B", "B", "B"], object),
        "n": np.array([1, None, 1, 1, 1, 1, 3], object),
    }
    assert rules.assign(table).tolist() == [0, 3, -1, -1, -1, -1, 2]
    assert rules.assign({**table, "x": [1.5, 1.6, -9, np.nan, 0, 0, 9], "n": [9] * 7}).tolist() == [
        0,
        3,
        -1,
        -1,
        1,
        1,
        3,
    ]
    table["c"] = np.array(["  ", "A", "", None, "A ", "A", "A"], object)
    assert rules.assign({**table, "x": [0.0] * 7}).tolist() == [0, 0, 0, 0, 1, 0, 0]
    with pytest.raises(DataError, match="column 'x' holds numbers, but row 2 has '1.6'"):
        rules.assign({"x": ["1", "1.6"], "c": ["A", "A"], "n": [1, 1]})
    with pytest.raises(DataError, match="column 'x' holds numbers, but row 1 has 'one'"):
        rules.assign({"x": ["one"], "c": ["A"], "n": [1]})


@given(rule_sets(kinds=MIXED, categories=hostile_texts), st.integers(0, 2**32))
def test_matching_the_rules_is_walking_the_tree(rules, seed):
    rows = boundary_rows(rules, seed)
    found = rules.assign(as_columns(rules, rows))
    assert found.dtype == np.int32
    assert found.tolist() == [route(rules, row) for row in rows]


@given(rule_sets(), st.integers(0, 2**32))
def test_every_complete_row_matches_exactly_one_rule(rules, seed):
    complete = [[0 if v is None or v != v else v for v in row] for row in boundary_rows(rules, seed)]
    assert -1 not in rules.assign(as_columns(rules, complete)).tolist()
    for row in complete:
        matching = [
            rule
            for rule in rules
            if all(
                (c.lower is None or row[c.feature] > c.lower) and (c.upper is None or row[c.feature] <= c.upper)
                for c in rule.conditions
            )
        ]
        assert len(matching) == 1


@given(rule_sets(), st.integers(0, 2**32))
def test_single_precision_is_matched_in_double(rules, seed):
    rows = boundary_rows(rules, seed)
    columns = as_columns(rules, rows)
    with np.errstate(over="ignore"):
        single = {
            name: values.astype(np.float32) if values.dtype == float else values for name, values in columns.items()
        }
    narrowed = [
        tuple(
            float(single[column.name][i]) if column.type == "float" else row[j]
            for j, column in enumerate(rules.columns)
        )
        for i, row in enumerate(rows)
    ]  # fmt: skip
    assert rules.assign(single).tolist() == [route(rules, row) for row in narrowed]


@given(rule_sets(), st.integers(0, 2**32))
def test_integer_columns_that_come_as_floats(rules, seed):
    rows = boundary_rows(rules, seed)
    columns = {
        column.name: np.array([np.nan if row[j] is None else float(row[j]) for row in rows])
        for j, column in enumerate(rules.columns)
    }
    floats = [tuple(float(columns[column.name][i]) for column in rules.columns) for i in range(len(rows))]
    assert rules.assign(columns).tolist() == [route(rules, row) for row in floats]


def test_integers_beyond_two_to_the_53_keep_their_neighbours():
    rules = make_rules([("i", "integer")], (0, BIG + 1, 0, 1))
    near = [BIG, BIG + 1, BIG + 2, 2**63 - 1, -(2**63)]
    assert rules.assign({"i": np.array(near)}).tolist() == [0, 0, 1, 1, 0]
    assert rules.assign({"i": np.array([BIG + 1, BIG + 2, 2**64 - 1], dtype=np.uint64)}).tolist() == [0, 1, 1]
    assert rules.assign({"i": near}).tolist() == [0, 0, 1, 1, 0]
    above = make_rules([("i", "integer")], (0, BIG + 3, 0, 1))
    assert above.assign({"i": np.array([BIG + 2.0, BIG + 4.0])}).tolist() == [0, 1]


@given(
    st.integers(-(2**60), 2**60),
    st.lists(st.tuples(st.integers(-1, 1), st.integers(-(10**9) + 1, 10**9 - 1)), min_size=1, max_size=5),
)
def test_decimals_are_compared_exactly_with_whole_numbers(threshold, beside):
    rules = make_rules([("x", "integer")], (0, threshold, 0, 1))
    decimals = [Decimal(threshold + whole) + Decimal(fraction).scaleb(-9) for whole, fraction in beside]
    expected = [0 if decimal <= threshold else 1 for decimal in decimals]
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": pl.Series(decimals, dtype=pl.Decimal(38, 9))})
    for table in ({"x": decimals}, {"x": np.array(decimals, dtype=object)}, frame):
        assert rules.assign(table).tolist() == expected


def frames():
    """Build the same table, with missing values, in every form."""
    data = {"i": [1, 5, None, 4, 1], "unused": list("abcde"), "x": [0.1, 0.9, 0.9, None, 0.5]}

    def pandas(pd):
        return pd.DataFrame({**data, "i": pd.array(data["i"], dtype="Int64")}, index=[9, 9, 3, 1, 0])

    def pandas_plain(pd):
        return pd.DataFrame(data)  # i becomes a float column

    return {
        "mapping": lambda: {**data, "i": np.array(data["i"], dtype=object)},
        "mapping of lists": lambda: {"x": [0.1, 0.9, 0.9, np.nan, 0.5], "i": [1, 5, np.nan, 4, 1]},
        "array": lambda: np.array([[0.1, 1], [0.9, 5], [0.9, np.nan], [np.nan, 4], [0.5, 1]]),
        "single precision": lambda: np.array([[0.1, 1], [0.9, 5], [0.9, np.nan], [np.nan, 4], [0.5, 1]], np.float32),
        "lists": lambda: [[0.1, 1], [0.9, 5], [0.9, None], [None, 4], [0.5, 1]],
        "pandas": lambda: pandas(pytest.importorskip("pandas")),
        "pandas, floats": lambda: pandas_plain(pytest.importorskip("pandas")),
        "polars": lambda: pytest.importorskip("polars").DataFrame(data),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(data),
    }


@pytest.mark.parametrize("form", frames())
def test_tables_of_every_form(form):
    assert small_rules().assign(frames()[form]()).tolist() == [0, 2, -1, -1, 0]


def test_a_missing_value_matters_only_where_it_is_tested():
    rules = small_rules()
    assert rules.assign({"x": [0.1, 0.9, np.nan], "i": np.array([None, None, 1], dtype=object)}).tolist() == [0, -1, -1]
    assert rules.assign({"x": [0.1, 0.9], "i": np.array([None, None], dtype=object)}).tolist() == [0, -1]


def test_infinities_are_values():
    assert small_rules().assign([[-np.inf, 0], [np.inf, -np.inf], [np.inf, np.inf]]).tolist() == [0, 1, 2]


def test_columns_that_no_rule_tests_need_not_be_there():
    rules = make_rules([("a", "float"), ("b", "float"), ("c", "float")], (1, 0.5, 0, 1))
    assert rules.assign({"b": [0.1, 0.9]}).tolist() == [0, 1]
    assert rules.assign({"other": ["x", "y"], "b": [0.1, 0.9], "c": ["text", "text"]}).tolist() == [0, 1]


def test_no_rows():
    rules = small_rules()
    assert rules.assign(np.empty((0, 2))).shape == (0,)
    assert rules.assign({"x": np.empty(0), "i": np.empty(0, int)}).dtype == np.int32


def test_a_tested_column_that_is_missing_is_named():
    with pytest.raises(DataError, match=r"test column 'i', which the table does not have; it has: 'x', 'I'"):
        small_rules().assign({"x": [0.1], "I": [1]})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": ["a"], "i": [1]}, "column 'x' is not numeric .it was read as text"),
        ({"x": ["0.1"], "i": [1]}, "column 'x' is not numeric"),
        ({"x": [0.1], "i": np.array(["2020-01-01"], "datetime64[D]")}, "column 'i' must hold numbers, but holds dates"),
        ({"x": [0.1, 0.2], "i": [1]}, "column 'i' has 1 row, the table 2"),
        (np.zeros((2, 3)), "the array has 3 columns, expected 2: x, i"),
        (np.zeros(2), "1 dimension"),
    ],
)
def test_tables_that_do_not_fit(table, message):
    with pytest.raises(DataError, match=message):
        small_rules().assign(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"c": [1.5], "flag": [True]}, r"column 'c' must hold text, but holds 1.5 \(float\)"),
        ({"c": [True], "flag": [True]}, "column 'c' must hold text, but holds"),
        ({"c": np.array(["A", 1], object), "flag": [True, True]}, r"column 'c' must hold text, but holds 1 \(int\)"),
        ({"c": ["A"], "flag": ["yes"]}, "column 'flag' must hold true and false, but row 1 has 'yes'"),
        ({"c": ["A"], "flag": [2]}, "column 'flag' must hold true and false, but row 1 has 2"),
    ],
)
def test_categories_that_do_not_fit(table, message):
    rules = make_rules([("c", "text"), ("flag", "boolean")], (0, "A", 0, (1, True, 1, 2)))
    with pytest.raises(DataError, match=message):
        rules.assign(table)


def test_a_missing_category_meets_no_condition():
    rules = make_rules([("c", "text"), ("flag", "boolean")], (0, "A", 0, (1, True, 1, 2)))
    c = np.array(["A", None, "B", "B", np.nan], object)
    flag = np.array([None, True, None, False, True], object)
    assert rules.assign({"c": c, "flag": flag}).tolist() == [0, -1, -1, 2, -1]
    assert rules.assign({"c": np.array([None, np.nan]), "flag": [True, False]}).tolist() == [-1, -1]


def test_many_rules_on_many_rows():
    rules = balanced_rules(200)
    X = np.random.default_rng(0).random((500, 3))
    assert rules.assign(X).tolist() == [route(rules, row) for row in X.tolist()]
    assert re.fullmatch(r"RuleSet\(200 rules, 7 clusters, 3 columns\)", repr(rules))

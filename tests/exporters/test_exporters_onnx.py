"""The tree as an ONNX model, run by onnxruntime: the clusters of the tree, on and beside every threshold."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from onnxmodels import holds_text, inputs_of
from rulesets import (
    MIXED,
    balanced_rules,
    boundary_rows,
    code_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
)

from shallowrules.errors import ExportError, MissingExtraError, OptionError
from shallowrules.exporters import export
from shallowrules.exporters.onnx import input_type
from shallowrules.rules.boundary import boundary_table
from shallowrules.verification.runners.onnx import open_session, run_onnx

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def run(rules, rows, **options):
    """Return the output for rows, None for a row that an input cannot hold."""
    session = open_session(export(rules, "onnx", **options))
    arrays, held = inputs_of(rules, rows)
    [found] = session.run(None, arrays)
    return [label if is_held else None for label, is_held in zip(found.tolist(), held, strict=True)]


def can_be_held(rules):
    columns = [rules.columns[feature] for feature in rules.tested_columns]
    texts = [value for column in columns for value in column.values if isinstance(value, str)]
    return all(column.name and holds_text(column.name) for column in columns) and all(map(holds_text, texts))


@draws(150, deadline=None)
@given(rules=rule_sets(hostile_names, kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_the_model_is_the_tree(rules, seed):
    assume(rules.tested_columns)
    if not can_be_held(rules):
        with pytest.raises(ExportError, match="ONNX"):
            export(rules, "onnx", cluster_column="the cluster")
        return
    rows = [row for row in boundary_rows(rules, seed) if all(not isinstance(v, str) or holds_text(v) for v in row)]
    found = run(rules, rows, cluster_column="the cluster")
    for row, label in zip(rows, found, strict=True):
        if label is not None:
            assert label == route(rules, row)


@draws(100, deadline=None)
@given(rules=rule_sets(kinds=MIXED))
def test_the_model_is_assign_on_boundary_rows(rules):
    assume(rules.tested_columns)
    table = boundary_table(rules)
    with run_onnx(rules) as forms:
        [form] = forms.values()
        held = form.holds(table)
        assert np.array_equal(form.label(table)[held], rules.assign(table)[held])


def test_a_column_may_have_the_name_of_the_output():
    rules = make_rules([("cluster", "float")], (0, 0.5, 0, 1))
    with run_onnx(rules) as forms:
        [form] = forms.values()
        table = boundary_table(rules)
        assert np.array_equal(form.label(table), rules.assign(table))


def test_thresholds_are_compared_exactly():
    """A tree ensemble of ONNX has thresholds in single precision, and is wrong for both neighbors of 0.1."""
    for threshold in (0.1, 1e-300, 5e-324, 1e300, -0.0, 16_777_217.0):
        rules = make_rules([("x", "float")], (0, threshold, 0, 1))
        near = [math.nextafter(threshold, -math.inf), threshold, math.nextafter(threshold, math.inf)]
        rows = [(value,) for value in (*near, -0.0, 0.0, math.inf, -math.inf, math.nan, None)]
        assert run(rules, rows) == [route(rules, row) for row in rows]
    for threshold in (2**53, 2**53 + 1, 2**63 - 1, -(2**63)):
        rules = make_rules([("n", "integer")], (0, threshold, 0, 1))
        assert input_type(rules, 0) == "int64"
        rows = [(value,) for value in (threshold - 1, threshold, threshold + 1, 0) if -(2**63) <= value < 2**63]
        assert run(rules, rows) == [route(rules, row) for row in rows]


def test_whole_numbers_are_doubles_where_these_tell_them_apart():
    rules = make_rules([("n", "integer")], (0, 2**53 - 1, 0, 1))
    assert input_type(rules, 0) == "double"
    assert run(rules, [(2**53 - 1,), (2**53,), (2**60 + 1,), (1.5,), (None,)]) == [0, 1, 1, 0, -1]


def test_missing_values_are_imputed():
    rules = make_rules([("x", "float"), ("c", "text"), ("b", "boolean")], (0, 0.5, (1, "A", 0, 1), (2, True, 2, 3)))
    x, c, b = rules.columns
    rows = [
        (None, "A", True),
        (None, None, True),
        (1.0, "A", None),
        (1.0, "A", True),
        (1.0, "A", False),
        (0.1, None, True),
    ]
    assert run(rules, rows) == [-1, -1, -1, 2, 3, -1]
    rules = replace(rules, columns=(replace(x, imputed=0.25), replace(c, imputed="A"), replace(b, imputed=True)))
    assert run(rules, rows) == [0, 0, 2, 2, 3, 0]


def test_null_markers():
    rules = make_rules([("c", "text")], (0, "A", 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], nulls=("NA", "?", "a.c")),))
    texts = ["A", "B", "", "NA", " NA ", "?", "a.c", "abc", "na", "(missing)"]
    assert run(rules, [(text,) for text in texts]) == [0, 1, 1, -1, -1, -1, -1, 1, 1, -1]
    for kind in ("float", "integer"):
        rules = make_rules([("x", kind)], (0, 3, 0, 1))
        rules = replace(rules, columns=(replace(rules.columns[0], nulls=("-9",)),))
        assert run(rules, [(-9.0,), (-8.0,), (4.0,), (None,)]) == [-1, 0, 1, -1]
    rules = make_rules([("n", "integer")], (0, 2**53 + 1, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], nulls=("-9",)),))
    assert run(rules, [(-9,), (-8,), (2**53 + 2,)]) == [-1, 0, 1]


def test_codes_are_numbers():
    for imputed, wanted in ((None, -1), ("3", 0)):
        rules = code_rules(imputed=imputed, nulls=("-1",))
        assert run(rules, [(3.0,), (-7.0,), (40000.0,), (11.0,), (3.5,), (None,), (-1.0,)]) == [
            0, 0, 0, 1, 1, wanted, wanted,
        ]  # fmt: skip


def test_numbers_that_are_not_truth_values_have_no_cluster():
    rules = make_rules([("b", "boolean")], (0, True, 0, 1))
    assert run(rules, [(1,), (0,), (-0.0,), (2,), (0.5,), (None,)]) == [0, 1, 1, -1, -1, -1]


def test_names_as_output():
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1), {0: "it's", 1: "λ\n"})
    assert run(rules, [(0.0,), (1.0,), (None,)], cluster_as="name") == ["it's", "λ\n", ""]


def test_rules_without_a_test_label_as_many_rows_as_are_given():
    session = open_session(export(make_rules([("x", "float")], 3), "onnx"))
    for n_rows in (0, 1, 3):
        assert session.run(None, {"x": np.zeros(n_rows)})[0].tolist() == [3] * n_rows


def test_the_file_says_where_it_comes_from_and_is_the_same_each_time():
    rules = example_of_categories()
    model = onnx.load_from_string(export(rules, "onnx"))
    onnx.checker.check_model(model, full_check=True)
    assert {each.key: each.value for each in model.metadata_props} == {"rules_sha256": rules.sha256}
    assert model.producer_name == "shallowrules"
    operators = {node.op_type for node in model.graph.node}
    assert operators <= {"Equal", "Gather", "Identity", "IsNaN", "LabelEncoder", "LessOrEqual", "Not", "Or", "Where"}
    assert open_session(export(rules, "onnx")).get_modelmeta().custom_metadata_map == {"rules_sha256": rules.sha256}
    assert export(rules, "onnx") == export(rules, "onnx")


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("float", {"decimal": ","}, "numbers in text, and one tests column 'x'"),
        ("integer", {"nulls": ("NA",)}, "numbers in text, and one tests column 'x'"),
        ("float", {"format": "$1,234.50"}, "numbers in text, and one tests column 'x'"),
        ("date", {"dates": "%d.%m.%Y"}, "rules on dates"),
        ("timestamp", {}, "rules on points in time"),
        ("duration", {}, "rules on durations"),
        ("text", {"name": "a\0b"}, "NUL character"),
        ("text", {"name": "a\ud800"}, "unpaired surrogate"),
        ("text", {"name": ""}, "the empty name"),
        ("text", {"name": "cluster"}, "give the output a different name with cluster_column"),
        ("text", {"values": ("A", "(missing)")}, "choose another one with missing_text"),
        ("integer", {"maximum": 2**63}, "whole numbers up to"),
    ],
)
def test_what_it_cannot_hold_is_refused_by_name(kind, changes, said):
    rules = make_rules([("x", kind)], (0, "A" if kind == "text" else 10_000, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], **changes),))
    with pytest.raises(ExportError, match=said):
        export(rules, "onnx")


def test_options():
    rules = make_rules([("c", "text")], (0, "(missing)", 0, 1))
    session = open_session(export(rules, "onnx", missing_text="?", cluster_column="segment"))
    assert [output.name for output in session.get_outputs()] == ["segment"]
    assert session.run(None, {"c": np.array(["(missing)", "?", "x"], dtype=object)})[0].tolist() == [0, -1, 1]
    for name, wrong in (("missing_text", " "), ("cluster_column", ""), ("cluster_as", "both")):
        with pytest.raises(OptionError, match=f"{name} must be text|unknown {name} 'both'"):
            export(rules, "onnx", **{name: wrong})


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        MissingExtraError, match=r"needs onnx, which is not installed: pip install 'shallowrules\[onnx\]'"
    ):
        export(example_rules(), "onnx")


def test_many_leaves():
    rules = balanced_rules(500)
    rows = boundary_rows(rules, 0, 50)
    assert run(rules, rows) == [route(rules, row) for row in rows]

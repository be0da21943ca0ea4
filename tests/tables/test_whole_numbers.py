"""Whole numbers of 64 bits, with a sign and without: every label and figure is that of the rules, in every form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from draws import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rulesets import make_rules
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from shallowrules import ExplainableKMeans, export, rules_of_tree
from shallowrules.errors import DataError, ExportError, OptionError, ShallowRulesWarning
from shallowrules.partitions import TableParts
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.trees.thresholds import readable_threshold
from shallowrules.verification import verify

FORMS = ("python", "pandas", "polars", "sql")
"""Exporters whose text runs here without starting a program."""

EDGES = (0, 2**52, 2**53, 2**53 + 2**20, 1_700_000_000 * 10**9, 2**62, 2**63 - 1, 2**63, 10**19, 2**64 - 1)


@st.composite
def whole_numbers(draw: st.DrawFn, n_rows: int) -> NDArray[Any]:
    """A column of int64 or uint64 around some edge, from neighbors of one to all of 64 bits apart."""
    dtype = draw(st.sampled_from([np.int64, np.uint64]))
    ends = np.iinfo(dtype)
    edge = draw(st.sampled_from(EDGES)) * draw(st.sampled_from([1, -1]))
    spread = draw(st.sampled_from([1, 3, 50, 1000, 2**20, 2**40, 2**64]))
    step = draw(st.sampled_from([1, 1, 2, 1000]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    offsets = [int(share * spread) * step for share in random.uniform(-1, 1, n_rows)]
    return np.array([min(max(edge + offset, ends.min), ends.max) for offset in offsets], dtype=dtype)


@st.composite
def fits(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, Any], NDArray[np.float64] | None]:
    """A table with columns of whole numbers, the options of its fit, and weights."""
    n_rows = draw(st.integers(2, 24))
    columns = {f"n{j}": draw(whole_numbers(n_rows)) for j in range(draw(st.integers(1, 3)))}
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        columns["x"] = random.normal(size=n_rows).round(2)
    if draw(st.booleans()):
        columns["t"] = random.choice(["a", "b", "c"], n_rows)
    options: dict[str, Any] = {
        "random_state": 0,
        "scale": draw(st.sampled_from([None, "minmax", "standard", "robust"])),
        "refine": draw(st.sampled_from(["none", "full"])),
        "tradeoff": draw(st.sampled_from([0.0, 0.03, 1.0])),
    }
    if draw(st.booleans()):
        labels = random.integers(0, 3, n_rows)
        options["clusterer"] = (np.sort(labels)[np.argsort(np.argsort(columns["n0"]))]).tolist()
    else:
        options |= {"n_clusters": draw(st.integers(1, min(4, n_rows)))}
        options["method"] = draw(st.sampled_from(["exshallow", "exshallow", "exgreedy", "imm", "exkmc"]))
    weight = None
    if draw(st.booleans()):
        weight = random.choice([0.0, 1.0, 3.0], n_rows)
        weight[:4] = 1.0
    return pd.DataFrame(columns), options, weight


def fit(frame: Any, options: dict[str, Any], weight: NDArray[np.float64] | None = None) -> ExplainableKMeans:
    """Return a fit; fewer distinct rows than clusters, or labels that rules cannot follow, do not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShallowRulesWarning)
        warnings.filterwarnings("ignore", message=".*[Nn]umber of distinct clusters")
        return ExplainableKMeans(**options).fit(frame, sample_weight=weight)


def check_counts(model: ExplainableKMeans, weight: NDArray[np.float64] | None) -> None:
    """Compare the rows and shares of the rules with the labels."""
    weight = np.ones(len(model.labels_)) if weight is None else weight
    for cluster in model.rules_.clusters:
        mine = (model.labels_ == cluster.index) & (weight > 0)
        assert cluster.rows == np.count_nonzero(mine)
        assert cluster.share == pytest.approx(weight[mine].sum() / weight.sum())


@pytest.mark.slow
@draws(150)
@given(fits())
def test_labels_are_those_of_every_form(drawn_fit):
    frame, options, weight = drawn_fit
    model = fit(frame, options, weight)
    labels, rules = model.labels_, model.rules_
    np.testing.assert_array_equal(model.predict(frame), labels)
    np.testing.assert_array_equal(rules.assign(frame), labels)
    check_counts(model, weight)
    for form in FORMS:
        try:
            for found in verify(rules, frame, exporters=[form], dialects=["duckdb"]):
                assert not found.disagreements, found
        except ExportError as error:
            assert (form, *str(error).split("'")[1:2]) in [("polars", f"n{j}") for j in range(3)]  # noqa: PT017
    try:
        text = export(rules, "sql", dialect="sqlite")
    except ExportError as error:
        assert "sqlite" in str(error)  # noqa: PT017
    else:
        assert text
        for found in verify(rules, frame, exporters=["sql"], dialects=["sqlite"]):
            assert not found.disagreements, found


@draws(80)
@given(fits(), st.integers(1, 4))
def test_a_table_in_parts_has_the_rules_of_fit(drawn_fit, n_parts):
    frame, options, weight = drawn_fit
    assume(len(frame) > 2)  # as many centers as rows are refused
    options = {name: value for name, value in options.items() if name not in ("clusterer", "method")}
    options["n_clusters"] = 2
    if weight is not None and np.count_nonzero(weight) < 2:
        weight = None
    centers = frame.select_dtypes("number").astype(float).to_numpy()[[0, -1]]
    options |= {"scale": None, "refine": "none"}
    frame = frame.select_dtypes("number")
    whole = fit(frame, {**options, "clusterer": centers}, weight)
    given_weight = {} if weight is None else {"w": weight}
    parts = np.array_split(np.arange(len(frame)), min(n_parts, len(frame)))
    tables = [Table.of(frame.assign(**given_weight).iloc[rows]) for rows in parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ExplainableKMeans(**options)
        try:
            in_parts = model.fit_partitions(
                TableParts(tables), centers=centers, sample_weight="w" if given_weight else None
            )
        except DataError as error:
            assert "no row is nearest to the centers" in str(error)  # noqa: PT017
            return
    assert [str(rule) for rule in in_parts.rules_] == [str(rule) for rule in whole.rules_]
    np.testing.assert_array_equal(in_parts.predict(frame), whole.labels_)
    np.testing.assert_array_equal(in_parts.cluster_centers_, whole.cluster_centers_)


def test_neighbors_that_a_double_merges_are_told_apart():
    X = np.array([[2**62], [2**62 + 512], [2**62 + 1024]])
    model = fit(X, {"clusterer": [0, 0, 1]})
    assert model.labels_.tolist() == model.predict(X).tolist() == model.rules_.assign(X).tolist() == [0, 0, 1]
    assert model.cluster_centers_.shape == (2, 1)
    # Rows that are not in the table go where the rules send them, whatever type they come in.
    [node, *_] = model.rules_.nodes
    rows = [node.threshold, node.threshold + 1, 0, 2**63 - 1]
    for dtype in (np.int64, np.uint64, object):
        new = np.array(rows, dtype)
        assert model.predict(new[:, None]).tolist() == model.rules_.assign({"x0": new}).tolist() == [0, 1, 0, 1]


def test_rows_of_weight_0_follow_the_rules():
    x = 2**60 + np.array([0, 10, 400, 1000])
    model = fit(x[:, None], {"clusterer": [0, 0, 0, 1]}, np.array([1.0, 1.0, 0.0, 1.0]))
    without = fit(x[[0, 1, 3], None], {"clusterer": [0, 0, 1]})
    assert [str(rule) for rule in model.rules_] == [str(rule) for rule in without.rules_]
    assert model.labels_.tolist() == model.rules_.assign({"x0": x}).tolist()


def test_missing_values_are_imputed_exactly():
    values = pd.array([2**62 + 1, 2**62 + 3, None, 2**62 + 900], dtype="Int64")
    model = fit(pd.DataFrame({"n": values}), {"n_clusters": 2, "clusterer": [0, 0, 0, 1], "impute": "median"})
    assert model.rules_.columns[0].imputed == 2**62 + 3
    assert model.rules_.columns[0].type == "integer"
    assert model.labels_.tolist() == model.rules_.assign({"n": values}).tolist() == [0, 0, 0, 1]
    assert Column("n", "integer", np.array([1, 0]), np.array([False, True])).filled(2**62).values.dtype == np.int64


def test_a_transformer_is_seen_through():
    x = 2**62 + np.array([0, 512, 700, 90_000, 90_001, 90_002])
    for transformer in (StandardScaler(), make_pipeline(FunctionTransformer(np.negative), StandardScaler())):
        model = fit(x[:, None], {"n_clusters": 2, "random_state": 0, "transformer": transformer})
        assert model.labels_.tolist() == model.rules_.assign({"x0": x}).tolist()
        assert model.predict(x[:, None]).tolist() == model.labels_.tolist()
        assert model.cluster_centers_.shape == (2, 1)


def test_a_kept_cut_is_at_a_value_of_the_table():
    x = 2**60 + np.array([0, 1, 2, 100, 101, 102])
    options = {"clusterer": [0, 0, 0, 1, 1, 1]}
    model = fit(x[:, None], {**options, "keep": [f"x0 <= {2**60 + 2}"]})
    assert model.rules_.nodes[0].threshold == 2**60 + 2
    assert model.predict(x[:, None]).tolist() == model.rules_.assign({"x0": x}).tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(OptionError, match=str(2**60 + 2)):
        fit(x[:, None], {**options, "keep": [f"x0 <= {2**60 + 50}"]})


@pytest.mark.parametrize("form", ["xlsx", "pmml"])
def test_a_form_that_cannot_hold_a_number_refuses_it_by_name(form):
    with pytest.raises(ExportError, match=rf"'{form}'.*'n'.*{2**64 - 2}"):
        export(make_rules([("n", "integer")], (0, 2**64 - 2, 0, 1)), form)


@pytest.mark.parametrize("dialect", ["sqlite", "bigquery", "trino"])
def test_a_dialect_without_unsigned_numbers_refuses_them_by_name(dialect):
    with pytest.raises(ExportError, match=rf"{2**63}.*'{dialect}'"):
        export(make_rules([("n", "integer")], (0, 2**63, 0, 1)), "sql", dialect=dialect)
    assert export(make_rules([("n", "integer")], (0, 2**63 - 1, 0, 1)), "sql", dialect=dialect)


def test_a_tree_over_doubles_refuses_columns_that_it_would_round():
    tree = fit(np.array([[0.0], [1.0]]), {"clusterer": [0, 1]}).tree_
    for value in (2**53, 2**53 + 1, -(2**53) - 1):
        with pytest.raises(DataError, match="'x0'"):
            rules_of_tree(tree, np.array([[value], [0]]))


@draws(300)
@given(st.integers(-(2**63), 2**64 - 1), st.integers(1, 2**40))
def test_thresholds_of_whole_numbers_are_inside_their_gap_exactly(lower, width):
    found = readable_threshold(lower, lower + width, integer=True)
    assert isinstance(found, int)
    assert lower <= found < lower + width

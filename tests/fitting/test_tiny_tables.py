"""Tables of 1 to 8 rows: whichever cost, weight or range is 0, the result is a figure, or a refusal in words."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone

from shallowrules import (
    ExplainableKMeans,
    RuleSet,
    compare_cluster_counts,
    edit_rules,
    export,
    fit_to_goal,
    tradeoff_path,
)
from shallowrules.errors import DataError, OptionError
from shallowrules.labelling.drift import count_clusters, measure_columns, measure_shifts
from shallowrules.models.pricing import measure_refit
from shallowrules.partitions import TableParts
from shallowrules.rules import Cut
from shallowrules.tables.table import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

NO_FIGURE = re.compile(r"(?<![A-Za-z])(nan|inf|Infinity)(?![A-Za-z])|[0-9]{40}|e\+30[0-9]", re.IGNORECASE)
FORMS = ("markdown", "html", "svg", "mermaid", "sql", "python")


WEIGHTS = (0.0, 0.0, 1.0, 1.0, 3.0, 0.1, 1e-12, 1e-300, 1e12)
STEPS = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 0.5, -3.0, 0.1])
DECIMALS = st.integers(-300, 300).map(lambda hundredths: hundredths / 100)


@st.composite
def tiny_tables(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return some rows, often equal ones, columns that are constant, a row far away; and weights."""
    n_rows, n_columns = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    cells = draw(st.sampled_from([STEPS, DECIMALS, DECIMALS]))
    size = n_rows * n_columns
    X = np.array(draw(st.lists(cells, min_size=size, max_size=size))).reshape(n_rows, n_columns)
    X *= draw(st.sampled_from([1.0, 1.0, 1.0, 1.0, 1e-9, 1e-160, 1e-162, 1e9]))
    if draw(st.booleans()):
        X[draw(st.integers(0, n_rows - 1))] = draw(st.sampled_from([1e13, 1e13, 1e15, 1e6, -1e6, 1e100, 1e-300]))
    if draw(st.sampled_from([False, False, True])):
        X += draw(st.sampled_from([1.0, -1e9]))
    if draw(st.booleans()):
        return X, None
    weight = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n_rows, max_size=n_rows)))
    return X, weight


@st.composite
def models(draw: st.DrawFn, X: NDArray[np.float64]) -> ExplainableKMeans:
    """Return a model with any method, and k up to the number of rows, often the number of distinct ones."""
    method = draw(st.sampled_from(["exshallow", "exshallow", "exgreedy", "imm", "exkmc"]))
    k = draw(st.one_of(st.just(len(np.unique(X, axis=0))), st.integers(1, len(X))))
    own: dict[str, Any] = {}
    if method == "exshallow":
        own["tradeoff"] = draw(st.sampled_from([0.0, 0.0, 0.03, 1.0, 1e5]))
    if method == "exkmc":
        own["max_leaves"] = draw(st.sampled_from([None, k, k + 1, k + 8]))
    if method in ("exshallow", "exgreedy"):
        own["refine"] = draw(st.sampled_from(["full", "full", "none", "thorough"]))
        own["round_within"] = draw(st.sampled_from([None, 0.0, 0.0005, 0.5, 10.0]))
    if own.get("refine") == "thorough":
        own["budget"] = 2
    return ExplainableKMeans(
        k,
        method=method,
        scale=draw(st.sampled_from([None, None, "minmax", "standard", "robust"])),
        random_state=0,
        **own,
    )


def check_figures(text: str) -> None:
    found = NO_FIGURE.search(text)
    assert found is None, text[max(0, found.start() - 80) : found.end() + 40]


def check_rules(rules: RuleSet) -> None:
    """Fail if a figure that is printed or kept is not a number."""
    check_figures(str(rules))
    json.loads(rules.to_json(), parse_constant=pytest.fail)
    for form in FORMS:
        text = export(rules, form)
        if form in ("markdown", "svg", "mermaid"):
            check_figures(text)


@pytest.mark.parametrize(
    "rows",
    [
        [[0.6], [-1.29], [-0.22], [0.13], [0.32], [1e13], [0.7]],
        [[1e15, 1e15], [0.4171, 0.0536], [-1.5398, -1.6891], [0.2999, -1.8214]],
        [[-1.01], [-2.19], [-0.03], [-2.69], [-0.03], [1e13], [-2.19], [0.47], [-2.19]],
    ],
)
def test_each_distinct_row_is_a_cluster_and_means_are_rounded(rows):
    """The row far away makes means so coarse that k-means keeps some cost; the refined tree costs nothing."""
    k = len(np.unique(rows, axis=0))
    model = ExplainableKMeans(k, tradeoff=0, random_state=0).fit(rows)
    assert model.reference_inertia_ > 0
    assert len(model.rules_) == k
    check_rules(model.rules_)


@pytest.mark.slow
@draws(200)
@given(st.data())
def test_a_fit_of_few_rows(data):
    X, weight = data.draw(tiny_tables())
    model = data.draw(models(X))
    try:
        model.fit(X, sample_weight=weight)
    except (DataError, OptionError):
        assert weight is not None or model.round_within == 10.0
        return
    check_rules(model.rules_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@draws(60)
@given(st.data())
def test_what_is_made_of_a_fit_of_few_rows(data):
    X, weight = data.draw(tiny_tables())
    model = data.draw(models(X))
    try:
        rules = model.fit(X, sample_weight=weight).rules_
    except (DataError, OptionError):
        return
    other = data.draw(st.sampled_from([X, X[:1], np.repeat(X, 2, axis=0), X * 2, X * 0]))
    for shift in (
        *measure_shifts(rules, count_clusters(rules.assign(Table.of(other)))),
        *measure_columns(rules, Table.of(other)),
    ):
        check_figures(str(shift))
    cuts = [node for node in rules.nodes if isinstance(node, Cut)]
    pairs = itertools.pairwise(cluster.index for cluster in rules.clusters)
    edits: list[dict[str, Any]] = [{"merge": [pair]} for pair in pairs][:1]
    if cuts:
        name, old = rules.columns[cuts[0].column].name, cuts[0].threshold
        edits.append({"replacements": [f"{name}: {old} -> {old * 1.5 + 0.25}"]})
    for table, given_weight in ((X, weight), (other, None)):
        for edit in edits:
            try:
                edited = edit_rules(rules, model, table, sample_weight=given_weight, **edit)
            except (DataError, OptionError):
                continue
            check_figures(str(edited))
            check_rules(edited.after)
        try:
            check_figures(str(measure_refit(rules, model, table, given_weight)))
        except (DataError, OptionError):
            continue


@draws(30)
@given(st.data())
def test_searches_over_few_rows(data):
    X, weight = data.draw(tiny_tables())
    model = data.draw(models(X))
    tradeoffs = data.draw(st.sampled_from([[0.0], None, [0.0, 1.0]]))
    goal = {
        "max_cost": data.draw(st.sampled_from([None, 1.0, 1.5])),
        "max_conditions": data.draw(st.sampled_from([1e-9, 1.0, 5.0])),
    }
    searches = [
        lambda: tradeoff_path(model, X, sample_weight=weight, tradeoffs=tradeoffs),
        lambda: fit_to_goal(model, X, sample_weight=weight, **goal).rules_,
        lambda: compare_cluster_counts(model, X, range(2, 2 + len(X)), sample_weight=weight),
    ]
    for search in searches:
        try:
            found = search()
        except (DataError, OptionError):
            continue
        check_figures(str(found))


@draws(60)
@given(st.data())
def test_parts_of_few_rows(data):
    X, weight = data.draw(tiny_tables())
    model = data.draw(models(X))
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    if weight is not None:
        columns["weight"] = weight
    at = data.draw(st.integers(0, len(X)))
    parts = [
        Table.of({name: column[some] for name, column in columns.items()}) for some in (slice(0, at), slice(at, None))
    ]
    try:
        model.fit_partitions(
            TableParts([part for part in parts if part.n_rows]),
            sample_weight=None if weight is None else "weight",
            memory=data.draw(st.sampled_from([None, 1])),
        )
    except (DataError, OptionError):
        needs_whole = model.method in ("imm", "exkmc")
        assert (
            weight is not None
            or model.round_within == 10.0
            or needs_whole
            or distinct_rows(model, X) < model.n_clusters
        )
        return
    check_rules(model.rules_)


def distinct_rows(model, X):
    """Return how many rows the clustered columns tell apart: beside a row far away, scaling may make two one."""
    return len(np.unique(clone(model).fit(X).encoder_.to_clustered_space(X), axis=0))


def test_rows_that_scaling_makes_one_are_too_few_for_their_clusters_in_parts():
    X = np.array([[1e15], [0.0], [0.0], [0.01]])
    with pytest.raises(DataError, match="2 distinct rows for 3 clusters"):
        ExplainableKMeans(3, scale="standard").fit_partitions(TableParts([Table.of(X)]))


@pytest.mark.parametrize("scale", ["minmax", "standard", "robust"])
@pytest.mark.parametrize("value", [1e-300, 1e-200, 1e-160, 1e-9])
def test_centers_that_distances_do_not_tell_apart_are_one_cluster_in_parts_too(scale, value):
    X = np.zeros((6, 3))
    X[3] = value
    table = Table.of(X)
    whole, in_parts = (ExplainableKMeans(2, random_state=0, scale=scale) for _ in range(2))
    whole.fit(X)
    in_parts.fit_partitions(TableParts([table]))
    assert in_parts.tree_.n_leaves == whole.tree_.n_leaves

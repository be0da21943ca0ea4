"""Trees measured on a table: given labels, and figures that follow from one another whatever the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from draws import drawn
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shallowrules import ExplainableKMeans, RuleSet, Tree, rules_of_tree
from shallowrules.errors import DataError

X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
LABELS = [3, 3, 5, 5, 3, 7]


def tree_of(labels):
    return Tree.from_sklearn(DecisionTreeClassifier(random_state=0).fit(X, labels))


def rules_by(reference, labels=LABELS, **options):
    return rules_of_tree(tree_of(labels), X, reference=reference, **options)


@pytest.mark.parametrize(
    "reference",
    [
        np.array(LABELS, dtype=float),
        np.array(LABELS, dtype=np.float32),
        [float(label) for label in LABELS],
        np.array(LABELS, dtype=object),
        pd.Series(LABELS, dtype="Float64"),
        pd.Series(LABELS, dtype="Int64"),
        pd.Series(map(str, LABELS)),
    ],
    ids=["floats", "single precision", "list of floats", "objects", "nullable floats", "nullable integers", "texts"],
)
def test_the_same_labels_however_they_are_held(reference):
    assert rules_by(reference) == rules_by(LABELS)


def test_float_classes_are_named_by_whole_numbers_too():
    floats = [float(label) for label in LABELS]
    rules = rules_by(LABELS, labels=floats)
    assert rules == rules_by(floats, labels=floats)
    assert rules.statistics.agreement == 1.0


@pytest.mark.parametrize(
    "reference",
    [
        np.array([3, 3, np.nan, 5, 3, np.nan]),
        [3, 3, None, 5, 3, None],
        ["3", "3", None, "5", "3", float("nan")],
        pd.Series([3, 3, np.nan, 5, 3, np.nan]),
        pd.Series([3, 3, None, 5, 3, None], dtype="Int64"),
    ],
    ids=["NaN", "None", "texts", "pandas", "nullable"],
)
def test_a_row_without_a_label_is_left_out(reference):
    rules = rules_by(reference)
    statistics = rules.statistics
    assert (statistics.rows, statistics.left_out, statistics.weighted, statistics.agreement) == (4, 2, False, 1.0)
    kept = [0, 1, 3, 4]
    alone = rules_of_tree(tree_of(LABELS), X[kept], reference=np.array(LABELS)[kept])
    assert [(c.index, c.rows, c.means) for c in rules.clusters] == [(c.index, c.rows, c.means) for c in alone.clusters]
    assert (statistics.cost, statistics.waes) == (alone.statistics.cost, alone.statistics.waes)


def test_weights_and_missing_labels_together():
    reference = np.array([3, 3, np.nan, 5, 3, np.nan])
    weighted = rules_by(reference, sample_weight=[1, 0, 1, 2, 3, 4]).statistics
    assert (weighted.rows, weighted.weight, weighted.weighted, weighted.left_out) == (3, 6.0, True, 2)


@pytest.mark.parametrize("options", [{}, {"sample_weight": [0, 0, 0, 0, 1, 0]}])
def test_no_row_with_a_label_and_a_weight(options):
    reference = [None] * 6 if not options else [3, 3, 5, 5, None, 7]
    with pytest.raises(DataError, match="no row to measure the tree on; .* and a label"):
        rules_by(reference, **options)


def test_a_number_and_its_text_are_not_merged():
    with pytest.raises(DataError, match="the labels 3 and '3', which name the same cluster"):
        rules_by([3, "3", 5, 5, 3, 7])
    with pytest.raises(DataError, match="does not know: '3.5', 'c'; its clusters are: '3', '5', '7'"):
        rules_by([3, 3.5, 5, 5, "c", 7])


def test_two_orders_of_one_column():
    """The tree cuts two model columns; the rules know the raw one, and count their conditions on it."""
    frame = pd.DataFrame({"size": ["S", "M", "L", "XL", "S", "M"] * 5, "c": ["a", "b", "a", "b", "b", "a"] * 5})
    transformer = make_column_transformer(
        (OrdinalEncoder(categories=[["S", "M", "L", "XL"]]), ["size"]),
        (OrdinalEncoder(categories=[["L", "S", "XL", "M"]]), ["size"]),
        (OneHotEncoder(), ["size", "c"]),
    )
    labels = np.array([0, 1, 2, 3, 4, 5] * 5)
    rules = ExplainableKMeans(clusterer=labels, transformer=transformer).fit(frame).rules_
    assert RuleSet.from_dict(rules.to_dict()) == rules


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("seed", range(drawn(8)))
def test_the_least_and_the_largest_value_are_those_of_the_column_whatever_the_order_of_rows(seed, n_jobs):
    random = np.random.default_rng(seed)
    n_rows = 40_000 if seed == 0 else 30
    X = random.choice([-2.0, -0.0, 0.0, 1e-9, 3.0], (n_rows, 3)) * [1, 1, 1e-3]
    whole = random.integers(-5, 5, n_rows) + random.choice([0, 2**53, -(2**60)])
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(whole=whole)

    def ends(table):
        clusterer = KMeans(2, n_init=1, random_state=0)
        columns = ExplainableKMeans(clusterer=clusterer, n_jobs=n_jobs).fit(table).rules_.columns
        return [repr((column.minimum, column.maximum)) for column in columns]

    for table in (frame[["a", "b", "c"]], X, X.astype(np.float32)):
        as_doubles = np.asarray(table).astype(np.float64)
        expected = [repr((float(column.min()) + 0, float(column.max()) + 0)) for column in as_doubles.T]
        assert ends(table) == expected == ends(table[::-1])
    assert ends(frame[["a", "whole"]])[1] == repr((int(whole.min()), int(whole.max())))

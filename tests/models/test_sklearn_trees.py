"""Trees that scikit-learn grew: the same labels to the last bit, and the same rules in every form."""

from __future__ import annotations

import copy
import math

import numpy as np
import pandas as pd
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from shallowrules import ExplainableKMeans, RuleSet, Tree, export, rules_of_tree
from shallowrules.errors import DataError, OptionError
from shallowrules.measures.metrics import partition_cost
from shallowrules.trees.tree import _widest_below
from shallowrules.verification import verify

finite = st.floats(-3.0e38, 3.0e38)


def single(value: float) -> float:
    """Return a value rounded to float32, as a double; infinite beyond its range."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@given(finite | st.floats(-(2.0**127), 2.0**127, width=32) | st.floats(-1e-44, 1e-44) | st.floats(-4.0, 4.0, width=16))
def test_a_threshold_is_the_widest_that_rounds_to_no_more(threshold):
    widest = _widest_below(threshold)
    assert single(widest) <= threshold < single(math.nextafter(widest, math.inf))


@pytest.mark.parametrize(
    ("threshold", "widest"),
    [
        (1.0, 1 + 2**-24),  # half way to the next float32, which is odd: the tie goes to 1
        (1 + 2**-23, math.nextafter(1 + 3 * 2**-24, 0)),  # odd itself: the tie goes up
        (0.0, 2.0**-150),
        (-(2.0**-149), math.nextafter(-(2.0**-150), -1)),
        (float(np.finfo(np.float32).max), math.nextafter(2.0**128 - 2.0**103, 0)),
    ],
)
def test_a_tie_goes_to_the_even_float32(threshold, widest):
    assert _widest_below(threshold) == widest


def rows_at_the_edge(classifier: DecisionTreeClassifier, X: np.ndarray) -> np.ndarray:
    """Return rows of X with one value moved to where scikit-learn's comparison flips, or next to it."""
    inner = np.flatnonzero(classifier.tree_.feature >= 0)
    edges = []
    for node in inner:
        threshold, feature = float(classifier.tree_.threshold[node]), classifier.tree_.feature[node]
        turn = _widest_below(threshold)
        near = [threshold, turn, single(threshold), single(turn)]
        near += [math.nextafter(value, side) for value in (threshold, turn) for side in (-math.inf, math.inf)]
        for value in near:
            moved = X[: min(len(X), 8)].copy()
            moved[:, feature] = value
            edges.append(moved)
    return np.vstack([X, *edges])


@draws(150)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([DecisionTreeClassifier, ExtraTreeClassifier]),
    st.sampled_from([0, 1, 3, 16]),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e7, 1e30]),
    st.sampled_from([None, 5, 20]),
    st.booleans(),
)
def test_labels_and_leaves_are_those_of_the_classifier(seed, kind, digits, unit, leaves, weighted):
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 3)).round(digits) * unit
    y = random.integers(0, 4, 60)
    weight = random.choice([0.0, 0.5, 2.0], 60) + np.eye(60)[0] if weighted else None
    classifier = kind(max_leaf_nodes=leaves, random_state=seed % 1000).fit(X, y, weight)
    tree = Tree.from_sklearn(classifier)
    rows = rows_at_the_edge(classifier, X)
    assert np.array_equal(tree.apply(rows), classifier.apply(rows))
    assert np.array_equal(classifier.classes_[tree.predict(rows)], classifier.predict(rows))
    assert np.array_equal(tree.apply(rows.astype(np.float32)), classifier.apply(rows.astype(np.float32)))
    counted = tree.count(X, weight)
    assert np.array_equal(counted.rows, tree.rows)
    np.testing.assert_allclose(counted.weight, tree.weight)


@draws(60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 2**24 + 5, 2**31]), st.booleans())
def test_tree_rules_python_and_sql_agree_on_integers_and_floats(seed, largest, narrow):
    random = np.random.default_rng(seed)
    whole = random.integers(-largest, largest, size=(80, 2))
    real = random.normal(size=80).astype(np.float32 if narrow else np.float64)
    frame = pd.DataFrame({"a": whole[:, 0], "b": whole[:, 1], "x": real})
    y = np.array(["no", "so", "yes"])[random.integers(0, 3, 80)]
    classifier = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(frame, y)
    rules = rules_of_tree(Tree.from_sklearn(classifier), frame, reference=y)
    found = rules.assign(frame)
    assert np.array_equal(classifier.classes_[found], classifier.predict(frame))
    assert all(
        isinstance(bound, int) == (condition.column.type == "integer")
        for rule in rules
        for condition in rule.conditions
        for bound in (condition.lower, condition.upper)
        if bound is not None
    )
    assert [comparison for comparison in verify(rules, frame) if comparison.disagreements] == []
    # Whole numbers next to every cut, where float32 may round across it.
    edges = frame.iloc[:6].loc[np.repeat(np.arange(6), 5)].reset_index(drop=True)
    for rule in rules:
        for condition in rule.conditions:
            bound = condition.upper if condition.lower is None else condition.lower
            if condition.column.type == "integer":
                edges[condition.column.name] = np.tile(np.arange(bound - 2, bound + 3), 6)
                assert np.array_equal(classifier.classes_[rules.assign(edges)], classifier.predict(edges))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["low", "high", "mid"], ("high", "low", "mid")),
        ([7, -3, 40], ("-3", "7", "40")),
        ([3.0, 1.0, 2.0], ("1.0", "2.0", "3.0")),
    ],
)
def test_clusters_have_the_names_of_the_classes(labels, names):
    X = np.array([[0.0], [1.0], [2.0]] * 4)
    y = np.array(labels * 4)
    tree = Tree.from_sklearn(DecisionTreeClassifier().fit(X, y))
    assert tree.names == names
    rules = rules_of_tree(tree, X, reference=y)
    assert {cluster.name for cluster in rules.clusters} == set(names)
    assert rules.statistics.agreement == 1
    named = {cluster.index: cluster.name for cluster in rules.clusters}
    assert [named[label] for label in rules.assign(X).tolist()[:3]] == [str(label) for label in y.tolist()[:3]]
    if y.dtype.kind != "U":
        assert rules.assign(X).tolist() == y.tolist()


def test_rules_of_a_classifier_are_measured_as_the_estimator_measures_its_own():
    X = load_wine(as_frame=True).data
    clusterer = KMeans(3, n_init=10, random_state=0).fit(StandardScaler().fit_transform(X))
    model = ExplainableKMeans(clusterer=clusterer, scale="standard").fit(X)
    again = rules_of_tree(
        model.tree_, X, reference=clusterer.labels_, clustered=model.scaler_.transform(X.to_numpy()), method="exshallow"
    )
    ours, theirs = model.rules_.to_dict(), again.to_dict()
    theirs["statistics"]["tradeoff"] = ours["statistics"]["tradeoff"]
    assert theirs["statistics"].pop("labelled")
    assert not ours["statistics"].pop("labelled")
    # The fit also knows its space and centers, the columns that separate the clusters, which get histograms, and that
    # the clusters were not named.
    assert ours.pop("clustering")["scale"] == "standard"
    assert all(column.pop("separation") >= 0 for column in ours["columns"])
    assert all(cluster.pop("named_by_rules") for cluster in ours["clusters"])
    with_edges = [column for column in ours["columns"] if "edges" in column]
    names = {column["name"] for column in theirs["columns"] if "edges" in column}
    drawn = [j for j, column in enumerate(with_edges) if column["name"] in names]
    for cluster in ours["clusters"]:
        cluster["name"] = str(cluster["index"])
        cluster["histograms"] = [cluster["histograms"][j] for j in drawn]
    for column in [column for j, column in enumerate(with_edges) if j not in drawn]:
        del column["edges"]
    ours["statistics"]["notes"] = theirs["statistics"]["notes"]
    assert ours == theirs


def test_weights_count_and_rows_of_weight_zero_do_not():
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(90, 2)), random.integers(0, 3, 90).astype(float)
    y = random.integers(0, 3, 90)
    tree = Tree.from_sklearn(DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y))
    weighted = rules_of_tree(tree, X, reference=y, sample_weight=weight).statistics
    times = weight.astype(int)
    repeated = rules_of_tree(tree, np.repeat(X, times, axis=0), reference=np.repeat(y, times)).statistics
    for name in ("weight", "cost", "reference_cost", "normalized_cost", "agreement", "wad", "waes"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name)), name
    assert weighted.rows == np.count_nonzero(weight)


def test_without_a_reference_the_tree_is_its_own():
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    statistics = rules_of_tree(Tree.from_sklearn(DecisionTreeClassifier().fit(X, y)), X).statistics
    assert (statistics.normalized_cost, statistics.agreement, statistics.method) == (1.0, 1.0, "cart")
    assert statistics.cost == pytest.approx(partition_cost(X, y))


def test_a_tree_counted_on_other_rows_has_their_lengths():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    tree = Tree.from_sklearn(DecisionTreeClassifier().fit(X, [0, 0, 1, 2]))
    assert tree.wad == 1.5
    assert tree.count([[0.5], [0.0], [9.0]]).wad == pytest.approx(4 / 3)


def test_a_tree_of_one_class_is_one_rule_for_every_row():
    X = np.zeros((3, 2))
    rules = rules_of_tree(Tree.from_sklearn(DecisionTreeClassifier().fit(X, ["a"] * 3)), X)
    assert [str(rule) for rule in rules] == ["every row"]
    assert rules.assign(X).tolist() == [0, 0, 0]


def many_leaves() -> tuple[RuleSet, pd.DataFrame, DecisionTreeClassifier]:
    """Return rules of 14 leaves for 5 clusters, of which one has no leaf."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"x": random.normal(size=400), "n": random.integers(-9, 9, 400)})
    y = ((frame.x * 2).round().astype(int) + frame.n) % 4
    y[0] = 4
    classifier = DecisionTreeClassifier(max_leaf_nodes=14, min_samples_leaf=5, random_state=0).fit(frame, y)
    return rules_of_tree(Tree.from_sklearn(classifier), frame, reference=y), frame, classifier


def test_clusters_of_several_leaves_and_of_none_go_through_every_form(tmp_path):
    rules, frame, classifier = many_leaves()
    assert len(rules) == 14
    assert [cluster.index for cluster in rules.clusters] == [0, 1, 2, 3]
    assert max(len(rules.rules_of(cluster.index)) for cluster in rules.clusters) > 3
    assert np.array_equal(rules.assign(frame), classifier.predict(frame))
    assert [c for c in verify(rules, frame) if c.disagreements] == []
    rules.to_json(tmp_path / "rules.json")
    assert RuleSet.from_json(tmp_path / "rules.json") == rules
    # Lengths count leaves by their rows.
    assert rules.statistics.waes == pytest.approx(sum(rule.size * rule.rows for rule in rules) / len(frame))
    assert rules.statistics.wad == pytest.approx(sum(rule.depth * rule.rows for rule in rules) / len(frame))
    where = export(rules, "sql")
    assert where.count("-- cluster ") == 4
    for cluster in rules.clusters:
        block = where.partition(f"-- cluster {cluster.index}:")[2].partition("-- cluster")[0]
        assert block.count("OR") == len(rules.rules_of(cluster.index)) - 1
    sheet = export(rules, "markdown")
    for cluster in rules.clusters:
        several = len(rules.rules_of(cluster.index))
        assert (f"one of {several} rules holds, see below" in sheet) == (several > 3)
        assert f"### Rule {several} of {several}" in sheet or several == 1
    assert "The rules come from a decision tree that was given (CART)." in sheet  # it has no trade-off


def spoilt(change) -> DecisionTreeClassifier:
    X = np.arange(12.0)[:, None]
    return change(X, np.arange(12) % 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: DecisionTreeRegressor().fit(X, y), "DecisionTreeRegressor is not a DecisionTreeClassifier"),
        (lambda X, y: make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, y), "of a pipeline"),
        (lambda X, y: DecisionTreeClassifier().fit(X, np.stack([y, y], axis=1)), "2 outputs"),
        (lambda X, y: DecisionTreeClassifier().fit(np.where(X < 3, np.nan, X), X.ravel() < 3), "missing values"),
        (lambda X, y: DecisionTreeClassifier().fit(np.where(X % 4 == 0, np.nan, X), y), r"missing values \(column 0\)"),
        (lambda X, y: "tree", "str is not a DecisionTreeClassifier"),
    ],
)
def test_what_is_no_tree_of_cuts_is_refused(change, message):
    with pytest.raises(OptionError, match=message):
        Tree.from_sklearn(spoilt(change))


def test_a_classifier_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        Tree.from_sklearn(DecisionTreeClassifier())


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros((4, 1)), {}, "tests column 1, but the table has 1 column"),
        (np.full((4, 2), np.nan), {}, r"missing values .* 'x0' \(4 rows\)"),
        (np.zeros((0, 2)), {}, "no row to measure"),
        (np.zeros((4, 2)), {"sample_weight": np.zeros(4)}, "no row to measure"),
        (np.zeros((4, 2)), {"sample_weight": -np.ones(4)}, "none negative"),
        (np.zeros((4, 2)), {"sample_weight": np.ones(3)}, "4 numbers, one per row"),
        (np.zeros((4, 2)), {"clustered": np.zeros((3, 1))}, "clustered must have 4 rows"),
        (np.zeros((4, 2)), {"reference": [0, 1, 0]}, "reference must have 4 labels"),
        (np.zeros((4, 2)), {"reference": ["a", "0", "1", "b"]}, "does not know: 'a', 'b'; its clusters are: '0', '1'"),
        (np.full((4, 2), 2**60), {}, r"'x1' holds integers beyond 2\*\*53"),
    ],
)
def test_tables_and_labels_that_do_not_fit_are_refused(X, options, message):
    tree = Tree.from_sklearn(DecisionTreeClassifier().fit([[0, 0], [0, 1]], [0, 1]))
    with pytest.raises(DataError, match=message):
        rules_of_tree(tree, X, **options)


def test_a_cluster_that_no_row_reaches_is_described_by_the_means_of_the_table():
    tree = Tree.from_sklearn(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]))
    empty = rules_of_tree(tree, [[2.0], [4.0]]).clusters[0]
    assert (empty.rows, empty.share, empty.means) == (0, 0.0, (3.0,))


def test_a_copy_keeps_the_names():
    tree = Tree.from_sklearn(DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"]))
    assert copy.deepcopy(tree).names == ("a", "b")

"""A row of weight w is w equal rows: in sums, scalers, centers and the tree, exactly."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from draws import draws, few
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from strategies import problems

from shallowrules import ExplainableKMeans, Table
from shallowrules.encoding import encode
from shallowrules.encoding.blocks import BLOCK_VALUES
from shallowrules.encoding.scaling import scale_rows
from shallowrules.errors import OptionError, ShallowRulesWarning
from shallowrules.measures.metrics import partition_cost
from shallowrules.measures.summation import exact_weights, group_means, group_sums, in_units

SCALERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "robust": RobustScaler}


@st.composite
def weighted_tables(draw):
    """A table, whole weights of its rows, and the rows repeated by their weights in another order."""
    X = draw(problems(max_rows=40)).X_explain
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weight = random.integers(0, 4, len(X)).astype(np.float64)
    weight[random.integers(len(X))] = 3
    order = random.permutation(int(weight.sum()))
    return X, weight, np.repeat(np.arange(len(X)), weight.astype(int))[order], random


# Sums ----------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(-1e100, 1e100), st.integers(1, 9), st.integers(0, 2)), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_sums_are_those_of_repeated_rows_in_any_order_and_exact(rows, random):
    values, weight, groups = map(np.array, zip(*rows, strict=True))
    repeated = [(value, group) for value, times, group in rows for _ in range(times)]
    random.shuffle(repeated)
    found = group_sums(values[:, None], groups, 3, weight.astype(float))
    again = group_sums(np.array([[value] for value, _ in repeated]), np.array([group for _, group in repeated]), 3)
    np.testing.assert_array_equal(found, again)
    largest = max(Fraction(abs(value)) for value, _, _ in rows)
    for i in range(3):
        exact = sum((Fraction(value) * times for value, times, group in rows if group == i), Fraction(0))
        # What is cut off lies 64 bits below the largest value; the last rounding is that of a float64.
        allowed = len(repeated) * largest / 2**63 + abs(exact) / 2**52
        assert abs(Fraction(found[i, 0]) - exact) <= allowed + Fraction(5, 10**324)


def test_sums_of_extreme_sizes():
    for size in (5e-324, 1e-310, 1e-200, 1e200, 1e307):
        assert group_sums(np.array([[size], [size], [-size]]), np.zeros(3, int), 1)[0, 0] == size
    many = np.full(100_000, 0.1, dtype=np.float32)
    assert group_sums(many[:, None], np.zeros(len(many), int), 1)[0, 0] == float(np.float32(0.1)) * 100_000


def mean_by_numpy(values, groups, n_groups, weight):
    """The same mean, computed column by column in NumPy alone."""
    exponent = math.frexp(np.abs(values).max(initial=0.0))[1]
    rest = np.ldexp(values.astype(np.float64), -exponent)
    size = np.bincount(groups, weight, n_groups).astype(float)
    size[size == 0] = np.nan
    total, kept = np.nansum(size), 62
    if weight is not None and (weight != np.floor(weight)).any():  # what a row adds is rounded once
        weight_exponent = math.frexp(weight.max())[1]
        kept += weight_exponent - math.frexp(weight.min())[1]
        size = np.ldexp(size, -weight_exponent)
        rest, weight, total = rest * np.ldexp(weight, -weight_exponent), None, len(values)
    bits = min(max(8, 51 - math.ceil(math.log2(max(total, 1.0)))), 49)
    result = np.zeros(n_groups)
    for level in reversed(range(1, -(-kept // bits) + 1)):
        left = rest.copy()
        for earlier in range(1, level + 1):
            rounder = math.ldexp(1.5, 52 - bits * earlier)
            part = (left + rounder) - rounder
            left -= part
        result += np.bincount(groups, part if weight is None else part * weight, n_groups)
    return np.ldexp(result, exponent) / size


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from([None, "whole", "any"]), threads=st.integers(1, 3))
def test_the_kernel_adds_up_as_numpy_does_bit_by_bit(seed, kind, threads):
    random = np.random.default_rng(seed)
    n, d, k = random.integers(1, [50, 6, 5], endpoint=True).tolist()
    X = random.normal(size=(n, d)) * 10.0 ** random.integers(-320, 300, d)
    if seed % 3 == 0:
        X = np.asfortranarray(random.normal(size=(n, d)).astype(np.float32))
    X[:, 0] *= seed % 5 > 0
    groups = random.integers(0, k, n)
    weight = {None: None, "whole": random.integers(1, 9, n).astype(float), "any": random.random(n) + 0.01}[kind]
    wanted = np.column_stack([mean_by_numpy(X[:, j], groups, k, weight) for j in range(d)])
    np.testing.assert_array_equal(group_means(X, groups, k, weight, threads), wanted)


FRACTIONS = st.sampled_from([0.1, 1 / 3, 2.5, 1.0, 1e-3]) | st.floats(1e-18, 1e18)


@given(st.lists(FRACTIONS, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_exact_weights_add_up_in_any_order(drawn, random):
    weight = np.array(drawn)
    exact = exact_weights(weight)
    total = sum(Fraction(w) for w in exact.tolist())
    assert sum(random.sample(exact.tolist(), len(exact))) == total
    assert (np.abs(exact - weight) <= float(total) * 2.0**-51).all()
    assert (exact > 0).all()
    [factor] = {Fraction(w) / int(u) for w, u in zip(exact.tolist(), in_units(exact, float(total)), strict=True)}
    assert factor > 0
    shuffled = np.array(random.sample(drawn, len(drawn)))
    np.testing.assert_array_equal(np.sort(exact_weights(shuffled)), np.sort(exact))


@draws(60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 18]), st.sampled_from([np.float32, np.float64]))
def test_sums_by_weights_with_fractions_depend_on_no_order_and_are_near(seed, spread, dtype):
    random = np.random.default_rng(seed)
    n, offset = int(random.integers(2, 80)), random.choice([0.0, 1e6])
    X = (offset + random.normal(size=(n, 2)) * [1.0, 1e-30]).astype(dtype)
    labels, order = random.integers(0, 3, n), random.permutation(n)
    weight = exact_weights(random.random(n) * 10.0 ** random.integers(-spread, 1, n))
    means, cost = group_means(X, labels, 3, weight), partition_cost(X, labels, weight)
    np.testing.assert_array_equal(group_means(X[order], labels[order], 3, weight[order], 2), means)
    assert partition_cost(X[order], labels[order], weight[order]) == cost
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        weights = [Fraction(w) for w in weight[rows].tolist()]
        for j in range(2):
            exact = sum(w * Fraction(float(x)) for w, x in zip(weights, X[rows, j], strict=True)) / sum(weights)
            assert abs(means[label, j] - float(exact)) <= np.abs(X[:, j]).max() * 2.0**-50


def test_threads_add_up_to_the_same():
    random = np.random.default_rng(3)
    X, groups = random.normal(size=(100_000, 3)), random.integers(-1, 7, 100_000)
    for weight in (None, random.integers(0, 5, len(X)).astype(float), random.random(len(X))):
        one, many = (group_means(X, groups, 7, weight, n_threads) for n_threads in (1, 5))
        np.testing.assert_array_equal(one, many)


def test_means_leave_out_what_is_in_no_group():
    X = np.array([[1.0], [2.0], [100.0], [7.0]])
    means = group_means(X, np.array([0, 0, -1, 2]), 4, np.array([1.0, 3.0, 5.0, 0.0]))
    np.testing.assert_array_equal(means, [[1.75], [np.nan], [np.nan], [np.nan]])


# Scalers -------------------------------------------------------------------------------------------


def fit_scaler(scale, X, weight=None):
    """Return the scaler of an encoded matrix."""
    return encode(Table.of(X), scale, matrix=X, sample_weight=weight).encoder.scaler


@pytest.mark.parametrize("scale", SCALERS)
@draws(60)
@given(weighted_tables())
def test_scalers_count_a_row_of_weight_three_as_three(scale, drawn):
    X, weight, rows, _ = drawn
    weighted, repeated = fit_scaler(scale, X, weight), fit_scaler(scale, X[rows])
    np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))


@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scalers_are_scikit_learns(scale, dtype):
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(5, 100, 333), random.integers(0, 3, 333), np.full(333, 0.1)]).astype(dtype)
    expected = SCALERS[scale]().fit(X).transform(X)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(fit_scaler(scale, X).transform(X), expected, rtol=tolerance, atol=tolerance)
    weight = random.random(333)
    if scale == "standard":
        varied = X[:, :2]
        expected = StandardScaler().fit(varied, sample_weight=weight).transform(varied)
        found = fit_scaler(scale, varied, weight).transform(varied)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", few(["C", "F"]))
def test_threads_and_known_ends_change_nothing_in_a_scaled_table(scale, dtype, order):
    random = np.random.default_rng(0)
    columns = [random.normal(5, 100, BLOCK_VALUES), random.normal(-1e9, 1, BLOCK_VALUES), np.full(BLOCK_VALUES, 0.1)]
    X = np.array(np.column_stack(columns), dtype=dtype, order=order)
    known = fit_scaler(scale, X)
    # Rows of weight 0 make the ends of the others unknown.
    plain = fit_scaler(scale, np.vstack([X, 2 * X[:1]]), np.append(np.ones(len(X)), 0.0))
    for name, value in vars(plain).items():
        np.testing.assert_array_equal(vars(known)[name], value)
        assert np.asarray(vars(known)[name]).dtype == np.asarray(value).dtype
    expected = plain.transform(X)
    for n_threads in (1, 2):
        found = scale_rows(known, X, n_threads=n_threads)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype
        assert found.flags.c_contiguous  # row by row, as distances take it


def test_quartiles_by_weights_that_are_not_whole_are_refused():
    X = np.arange(4.0)[:, None]
    with pytest.raises(OptionError, match="need whole-number weights"):
        ExplainableKMeans(2, scale="robust").fit(X, sample_weight=[1, 1, 0.5, 1])


# Trees ---------------------------------------------------------------------------------------------


def same_tree(one, two):
    for name in ("feature", "threshold", "left", "right", "cluster", "weight"):  # not rows: one of weight 3 is one row
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(two.tree_, name), err_msg=name)
    np.testing.assert_array_equal(one.reference_centers_, two.reference_centers_)
    assert one.waes_ == pytest.approx(two.waes_)
    assert one.wad_ == pytest.approx(two.wad_)
    same = one.rules_.statistics, two.rules_.statistics
    assert same[0].agreement == pytest.approx(same[1].agreement)
    assert same[0].weight == same[1].weight
    for a, b in zip(one.rules_.clusters, two.rules_.clusters, strict=True):
        assert (a.index, a.name, a.weight) == (b.index, b.name, b.weight)
        assert a.means == b.means
        assert (a.share, a.precision, a.recall) == pytest.approx((b.share, b.precision, b.recall))


def quietly(model, X, weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, sample_weight=weight)


@draws(150)
@given(weighted_tables(), st.integers(1, 6), st.sampled_from([None, *SCALERS]), st.booleans())
def test_trees_of_given_labels(drawn, k, scale, two_spaces):
    X, weight, rows, random = drawn
    labels = random.integers(-1, k, len(X)).astype(object)
    labels[labels == -1] = None
    assume(any(label is not None for label in labels[weight > 0]))
    columns = {"cluster_columns": [0], "explain_columns": [X.shape[1] - 1]} if two_spaces else {}
    weighted = quietly(ExplainableKMeans(clusterer=labels, scale=scale, **columns), X, weight)
    repeated = quietly(ExplainableKMeans(clusterer=labels[rows], scale=scale, **columns), X[rows])
    same_tree(weighted, repeated)


@pytest.mark.slow
@draws(100)
@given(weighted_tables(), st.integers(1, 6), st.sampled_from([None, *SCALERS]))
def test_trees_of_given_centers(drawn, k, scale):
    X, weight, rows, random = drawn
    assume(k not in (len(X), len(rows)))  # as many centers as rows are refused: they may be labels
    scaler = fit_scaler(scale, X, weight)
    space = X if scaler is None else scaler.transform(X)
    centers = space[random.integers(len(X), size=k)].astype(np.float64)
    weighted = quietly(ExplainableKMeans(clusterer=centers, scale=scale), X, weight)
    repeated = quietly(ExplainableKMeans(clusterer=centers, scale=scale), X[rows])
    same_tree(weighted, repeated)


@pytest.fixture(scope="module")
def groups():
    return make_blobs(400, 3, centers=5, cluster_std=1.0, random_state=3)[0]


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).integers(0, 4, 400).astype(float)


def test_weights_reach_the_clusterer_and_its_transformers(groups, weight):
    model = ExplainableKMeans(clusterer=KMeans(5, n_init=3, random_state=0)).fit(groups, sample_weight=weight)
    by_hand = KMeans(5, n_init=3, random_state=0).fit(groups[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_array_equal(model.reference_centers_, by_hand.cluster_centers_)
    pipeline = make_pipeline(StandardScaler(), KMeans(5, n_init=3, random_state=0))
    model = ExplainableKMeans(clusterer=pipeline).fit(groups, sample_weight=weight)
    np.testing.assert_allclose(model.clusterer_[0].mean_, np.average(groups, axis=0, weights=weight))
    np.testing.assert_allclose(model.score(groups, sample_weight=weight), -model.inertia_)
    assert model.rules_.statistics.notes == ()
    weighed = DBSCAN(eps=1.5, min_samples=6).fit(groups[weight > 0], sample_weight=weight[weight > 0])
    with pytest.warns(ShallowRulesWarning, match="DBSCAN calls 3 of 310 rows noise"):
        model = ExplainableKMeans(clusterer=DBSCAN(eps=1.5, min_samples=6)).fit(groups, sample_weight=weight)
    np.testing.assert_array_equal(model.reference_labels_[weight > 0], weighed.labels_)


def test_a_step_that_cannot_weigh_rows_is_named(groups, weight):
    clusterer = make_pipeline(PCA(2), AgglomerativeClustering(5))
    model = ExplainableKMeans(clusterer=clusterer).fit(groups, sample_weight=weight)
    assert model.rules_.statistics.notes == (
        "PCA and AgglomerativeClustering took no weights: each row counted once there",
    )
    # Rows of weight 0 are left out.
    inside = weight > 0
    without = ExplainableKMeans(clusterer=clusterer).fit(groups[inside], sample_weight=weight[inside])
    np.testing.assert_array_equal(model.tree_.threshold, without.tree_.threshold)
    assert (model.reference_labels_[~inside] == -1).all()
    assert model.rules_.statistics.left_out == 0


def test_a_label_without_weight_is_left_out(groups):
    class Given(ClusterMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.labels_ = np.where(X[:, 0] > 0, "a", "b")
            return self

    labels = np.where(groups[:, 0] > 0, "a", "b")
    weight = (labels == "b").astype(float)
    for clusterer in (labels, Given().fit(groups)):
        model = ExplainableKMeans(clusterer=clusterer).fit(groups, sample_weight=weight)
        assert [cluster.name for cluster in model.rules_.clusters] == ["b"]
        assert model.rules_.statistics.weight == weight.sum()


def test_figures_count_rows_by_their_weight(groups, weight):
    given_labels = KMeans(5, n_init=3, random_state=0).fit_predict(groups)
    given_labels[::9] = (given_labels[::9] + 1) % 5
    model = ExplainableKMeans(clusterer=given_labels).fit(groups, sample_weight=weight)
    statistics = model.rules_.statistics
    assert statistics.weighted
    assert statistics.rows == np.count_nonzero(weight)
    equal = model.labels_ == given_labels
    assert statistics.agreement == pytest.approx(weight[equal].sum() / weight.sum())
    for cluster in model.rules_.clusters:
        here, there = model.labels_ == cluster.index, given_labels == cluster.index
        assert math.isclose(cluster.precision, weight[here & there].sum() / weight[here].sum())
        assert math.isclose(cluster.recall, weight[here & there].sum() / weight[there].sum())
        np.testing.assert_allclose(cluster.means, np.average(groups[here], axis=0, weights=weight[here]))

"""Histograms and the confusion: their counts and bins, and figures that a document may not have."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import DELETE, change, small_rules

from shallowrules import ExplainableKMeans, RuleSet
from shallowrules._kernel import count_in_bins
from shallowrules.errors import RulesFormatError
from shallowrules.fitting.assembling import choose_bins
from shallowrules.measures.histograms import MAX_BINS, NarrowBins, count_rows, cross_weights, join_bins
from shallowrules.rules import Cut, Leaf, RuleColumn

K = 3


def counted(values, groups, weight=None, n_threads=1):
    """Return the edges and the weights of the histograms of a column, as `describing` measures them."""
    integer = values.dtype.kind in "iu"
    bins = NarrowBins.between(values.min().item(), values.max().item(), integer=integer)
    [sums] = count_rows([bins], [values], groups, K, weight, n_threads)
    return join_bins(bins, sums, integer=integer)


def by_comparison(edges, values, groups, weight):
    """Return the weight in each bin by comparing every value with the edges."""
    found = np.zeros((K, len(edges) - 1))
    for i, (lower, upper) in enumerate(pairwise(edges)):
        inside = (values <= upper) & ((values > lower) | ((values == lower) & (i == 0)))
        found[:, i] = [weight[inside & (groups == group)].sum() for group in range(K)]
    return found


numbers = st.one_of(
    st.floats(-1e6, 1e6).map(lambda value: round(value, 3)),
    st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False, min_value=-1e300, max_value=1e300),
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1e-9, 1e9, 2.5]),
)
columns = st.one_of(
    st.lists(numbers, min_size=2, max_size=60).map(np.array),
    st.lists(st.floats(-(2.0**90), 2.0**90, width=32), min_size=2, max_size=60).map(
        lambda values: np.array(values, dtype=np.float32)
    ),
    st.lists(st.integers(-300, 300), min_size=2, max_size=60).map(np.array),
    st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=60).map(np.array),
    st.lists(st.integers(0, 255), min_size=2, max_size=60).map(lambda values: np.array(values, dtype=np.uint8)),
)


@draws(60)
@given(columns, st.data())
def test_every_row_is_in_the_bin_that_holds_it(values, data):
    groups = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=len(values), max_size=len(values))), np.int32)
    weight = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values))), np.float64)
    integer = values.dtype.kind in "iu"
    if NarrowBins.between(values.min().item(), values.max().item(), integer=integer) is None:
        return
    edges, sums = counted(values, groups)
    assert 2 <= len(edges) <= MAX_BINS + 1
    assert all(lower < upper for lower, upper in pairwise(edges))
    assert {type(edge) for edge in edges} == {int if integer else float}
    assert edges[0] <= values.min() <= values.max() <= edges[-1]
    doubles = values.astype(np.float64)
    assert (sums == by_comparison(edges, doubles, groups, np.ones(len(values)))).all()
    assert sums.dtype == np.int64
    weighted_edges, weighted = counted(values, groups, weight)
    assert (weighted == by_comparison(weighted_edges, doubles, groups, weight)).all()


@draws(20)
@given(st.integers(0, 2**32 - 1))
def test_parts_add_up_and_the_order_does_not_matter(seed):
    random = np.random.default_rng(seed)
    values, groups = random.lognormal(0, 2, 500), random.integers(0, K, 500).astype(np.int32)
    weight = random.random(500)
    order = random.permutation(500)
    assert counted(values, groups)[0] == counted(values[order], groups[order])[0]
    assert (counted(values, groups, weight)[1] == counted(values[order], groups[order], weight[order])[1]).all()
    bins = NarrowBins.between(values.min(), values.max(), integer=False)
    [whole] = count_rows([bins], [values], groups, K)
    cut = int(random.integers(0, 501))
    parts = [count_rows([bins], [values[part]], groups[part], K)[0] for part in (slice(cut), slice(cut, None))]
    assert (whole == parts[0] + parts[1]).all()


def drawn_column(random, n_rows):
    """Return values on the edges of their bins, beside them and between them, in a type of number."""
    decimals = int(random.integers(0, 4))
    values = np.round(random.normal(size=n_rows) * 10.0 ** int(random.integers(-2, 5)), decimals)
    values = np.where(random.random(n_rows) < 0.2, np.nextafter(values, random.choice([-np.inf, np.inf])), values)
    return values.astype(random.choice(["f4", "f8", "i8"]))


@draws(25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 11), st.sampled_from([2, 511, 512, 513, 1300]))
def test_columns_side_by_side_are_counted_by_comparison(seed, n_columns, n_rows):
    random = np.random.default_rng(seed)
    columns = [drawn_column(random, n_rows) for _ in range(n_columns)]
    groups = random.integers(0, K, n_rows).astype(np.int32)
    bins = [NarrowBins.between(values.min().item(), values.max().item(), integer=False) for values in columns]
    known = [(each.column(values), each.edges) for values, each in zip(columns, bins, strict=True) if each is not None]
    found = count_in_bins([column for column, _ in known], groups, K)
    for ((values, *_), edges), counts in zip(known, found, strict=True):
        place = np.clip(np.searchsorted(edges, values.astype(np.float64)) - 1, 0, len(edges) - 2)
        expected = np.zeros((K, len(edges) - 1), np.int64)
        np.add.at(expected, (groups, place), 1)
        assert (counts == expected).all()


def test_threads_count_the_same():
    random = np.random.default_rng(0)
    values, groups = random.normal(size=300_000), random.integers(0, K, 300_000).astype(np.int32)
    assert (counted(values, groups)[1] == counted(values, groups, n_threads=3)[1]).all()


@pytest.mark.parametrize(
    ("values", "edges"),
    [
        (np.arange(5), (-1, 0, 1, 2, 3, 4)),
        (np.array([0, 1]), (-1, 0, 1)),
        (np.arange(73), tuple(range(0, 80, 5))),
        (np.arange(1, 74), tuple(range(0, 80, 5))),
        (np.linspace(0, 1, 500), tuple(round(0.05 * i, 2) for i in range(21))),
        (np.linspace(0.26, 0.98, 500), tuple(round(0.25 + 0.05 * i, 2) for i in range(16))),
        (np.append(np.linspace(0, 1, 999), 1e3), (-1.0, 0.0, 1.0, 1000.0)),
        (np.append(np.linspace(0.5, 9.5, 999), 1e3), (0.0, *(float(i) for i in range(1, 11)), 1000.0)),
    ],
    ids=["whole", "flag", "months", "from one", "unit", "inside", "far outlier", "long tail"],
)
def test_edges_are_plain(values, edges):
    assert counted(values, np.zeros(len(values), np.int32))[0] == edges


@pytest.mark.parametrize(
    ("low", "high", "integer"),
    [(1.0, 1.0, False), (0.0, 1e-300, False), (2**62, 2**62 + 3, True), (0.0, 5e-324, False)],
)
def test_no_bins_where_numbers_are_too_close(low, high, integer):
    assert NarrowBins.between(low, high, integer=integer) is None


# --- as they are measured with a tree


def table(n_rows=400, seed=0):
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, n_rows)
    return pd.DataFrame(
        {
            "size": group * 10 + random.normal(size=n_rows),
            "months": group * 4 + random.integers(0, 3, n_rows),
            "kind": np.array(["a", "b", "c"])[group],
            "noise": random.random(n_rows),
        }
    )


def fitted(data, **options):
    weight = options.pop("sample_weight", None)
    return ExplainableKMeans(3, random_state=0, scale="minmax", **options).fit(data, sample_weight=weight)


def test_a_fit_measures_what_it_tests():
    data = table()
    model = fitted(data)
    rules = model.rules_
    binned = [i for i, column in enumerate(rules.columns) if column.edges]
    assert binned == [i for i, column in enumerate(rules.columns) if column.is_numeric]  # few, so all of them
    for cluster in rules.clusters:
        mine = model.labels_ == cluster.index
        for i, weights in zip(binned, cluster.histograms, strict=True):
            values = data.iloc[:, i].to_numpy(dtype=float)
            expected = by_comparison(rules.columns[i].edges, values, np.where(mine, 0, 1), np.ones(len(data)))[0]
            assert list(weights) == expected.tolist()
        before = np.bincount(model.reference_labels_[mine], minlength=3)
        assert dict(zip(cluster.reference_clusters, cluster.reference_weights, strict=True)) == {
            i: n for i, n in enumerate(before.tolist()) if n
        }
    assert RuleSet.from_dict(json.loads(rules.to_json())) == rules


def test_columns_that_are_not_tested_have_histograms_where_they_separate_most_and_are_few():
    columns = [RuleColumn(f"c{i}", "float", 0.0, -1.0, 1.0) for i in range(50)]
    nodes = (Cut(7, 0.0, 1, 2), Leaf(0, 1, 1.0), Leaf(1, 1, 1.0))
    separation = {i: 1.0 / (1 + i) for i in range(50)}
    most = dict(enumerate(range(50)))
    few = choose_bins(columns, nodes, 2, most, separation)
    assert set(few) == {*range(31)}  # the tested one and thirty others
    assert set(choose_bins(columns, nodes, 150, most, separation)) == {*range(11)}  # 1,500 of 150 clusters
    assert set(choose_bins(columns, nodes, 2, {3, 7}, separation)) == {3, 7}
    assert set(choose_bins(columns, nodes, 2, most, {})) == {7}


def test_the_document_does_not_depend_on_the_order_of_rows_or_threads():
    data = table(5000)
    weight = np.random.default_rng(1).integers(1, 5, len(data)).astype(float)
    centers = fitted(data, sample_weight=weight).clusterer_
    order = np.random.default_rng(2).permutation(len(data))
    measured = []
    for rows, n_jobs in ((slice(None), 1), (order, 2)):
        model = ExplainableKMeans(clusterer=centers, scale="minmax", n_jobs=n_jobs)
        rules = model.fit(data.iloc[rows], sample_weight=weight[rows]).rules_
        measured.append(
            [[c.edges for c in rules.columns], [(c.histograms, c.reference_weights) for c in rules.clusters]]
        )
    assert measured[0] == measured[1]


def test_weights_count_as_rows_repeated():
    data = table()
    weight = np.random.default_rng(1).integers(0, 4, len(data))
    weighted = fitted(data, sample_weight=weight)
    repeated = ExplainableKMeans(clusterer=weighted.clusterer_, scale="minmax")
    rules = repeated.fit(data.loc[np.repeat(data.index, weight)]).rules_
    assert [c.histograms for c in rules.clusters] == [c.histograms for c in weighted.rules_.clusters]
    assert [c.reference_weights for c in rules.clusters] == [c.reference_weights for c in weighted.rules_.clusters]


def test_given_labels_and_rows_without_one():
    data = table()
    labels = np.where(np.arange(len(data)) % 7 == 0, None, np.array(["x", "y", "z"])[data["months"] // 4])
    rules = ExplainableKMeans(clusterer=labels, scale="minmax").fit(data).rules_
    assert sum(sum(cluster.reference_weights) for cluster in rules.clusters) == rules.statistics.rows
    assert rules.statistics.left_out == -(-len(data) // 7)


def test_without_histograms_is_what_was_before():
    rules = fitted(table()).rules_
    bare = rules.without_histograms()
    assert [str(r) for r in bare] == [str(r) for r in rules]
    assert not any(name in bare.to_json() for name in ("edges", "histograms", "reference_clusters"))
    assert bare.without_histograms() == bare


def test_cross_weights_are_sums_by_pair():
    random = np.random.default_rng(0)
    labels, reference = random.integers(0, 4, (2, 100)).astype(np.int32)
    weight = random.integers(1, 9, 100).astype(float)
    expected = np.zeros((4, 4))
    np.add.at(expected, (labels, reference), weight)
    assert (cross_weights(labels, reference, 4, weight) == expected).all()
    assert (cross_weights(labels, reference, 4, None) == cross_weights(labels, reference, 4, np.ones(100))).all()


# --- what a document may not say. The small rules are over x from -5 to 100; clusters 0, 1, 2 have 38, 12 and 49 rows.


def measured_document():
    """Return the document of the small rules with histograms of x, and a confusion, that fit them."""
    document = small_rules().to_dict()
    column = document["columns"][0]
    column["edges"] = [-5.0, 50.0, 100.0]
    total = {}
    for cluster in document["clusters"]:
        rows = cluster["rows"]
        cluster["histograms"] = [[rows - 3, 3]]
        cluster["weight"] = float(rows)
        cluster["precision"] = cluster["recall"] = (rows - 1) / rows
        following = (cluster["index"] + 1) % 3
        pairs = sorted([(cluster["index"], rows - 1), (following, 1)])
        cluster["reference_clusters"], cluster["reference_weights"] = (list(part) for part in zip(*pairs, strict=True))
        for index, weight in pairs:
            total[index] = total.get(index, 0) + weight
    for cluster in document["clusters"]:
        cluster["recall"] = (cluster["rows"] - 1) / total[cluster["index"]]
    document["statistics"]["agreement"] = sum(c["precision"] * c["share"] for c in document["clusters"])
    return document


REFUSED = [
    (change("columns", 0, "edges", [1.0]), "'x' has 1 edge of bins, not 2 to 1000"),
    (change("columns", 0, "edges", [-5.0, 100.0, 50.0]), "edges of bins that do not ascend"),
    (change("columns", 0, "edges", [-5.0, 50.0, 10**400]), "too large a number|not finite"),
    (change("columns", 0, "edges", [0.0, 50.0, 100.0]), "bins from 0.0 to 100.0, which do not hold its values from -5"),
    (change("columns", 0, "edges", []), "cluster 0 has 1 histogram for 0 columns with bins"),
    (change("columns", 0, "edges", [-5.0, 60.0, 70.0, 100.0]), "a histogram of column 'x' of 2 bins, not of 3"),
    (change("columns", 0, "edges", [-5.0, 5.0, 100.0]), "a histogram of column 'x' by which its mean"),
    (change("clusters", 1, "histograms", DELETE), "cluster 1 has 0 histograms for 1 column with bins"),
    (change("clusters", 1, "histograms", 0, 0, -1), "with a weight that is negative"),
    (change("clusters", 1, "histograms", 0, 0, 10**400), "with a weight that is negative or not finite"),
    (change("clusters", 1, "histograms", 0, 0, -(10**400)), "with a weight that is negative or not finite"),
    (change("clusters", 1, "histograms", 0, 0, 100), "a histogram of column 'x' that weighs 103, not 12"),
    (change("clusters", 1, "reference_weights", [11]), "1 reference_weights for 2 reference_clusters"),
    (change("clusters", 1, "reference_clusters", [2, 1]), "not numbers of clusters, ascending"),
    (change("clusters", 1, "reference_clusters", [-1, 2]), "not numbers of clusters, ascending"),
    (change("clusters", 1, "reference_weights", 0, 0), "not all positive"),
    (change("clusters", 1, "reference_weights", 0, 10), "reference_weights that sum to 11, not to 12"),
    (change("clusters", 1, "reference_weights", [10, 2]), "the precision 0.91.*reference_weights give 0.83"),
    (change("clusters", 1, "reference_clusters", [1, 3]), "cluster 2 has the recall .*reference_weights give 1"),
]


@pytest.mark.parametrize(("damage", "message"), REFUSED)
def test_pictures_that_contradict_the_figures_are_refused(damage, message):
    document = measured_document()
    RuleSet.from_dict(document)
    damage(document)
    with pytest.raises(RulesFormatError, match=message):
        RuleSet.from_dict(document)


def test_all_clusters_have_a_confusion_or_none_has():
    document = measured_document()
    for name in ("reference_clusters", "reference_weights"):
        del document["clusters"][1][name]
    with pytest.raises(RulesFormatError, match="some clusters have reference_clusters"):
        RuleSet.from_dict(document)
    for name in ("reference_clusters", "reference_weights"):
        del document["clusters"][0][name], document["clusters"][2][name]
    RuleSet.from_dict(document)


def test_categories_have_no_bins():
    document = fitted(table()).rules_.without_histograms().to_dict()
    document["columns"][2]["edges"] = [0, 1]
    with pytest.raises(RulesFormatError, match="'kind' is of type text and has edges of bins"):
        RuleSet.from_dict(document)

"""Given labels are explained: their names, rows without one, and those that are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from clusterers import fit

from shallowrules import ExplainableKMeans
from shallowrules.clustering.given_labels import Labelling
from shallowrules.errors import DataError, OptionError, ShallowRulesWarning


def test_different_labels_of_one_text_are_refused(five_groups, words):
    said = []
    for labels in ([1, "1"], ["1", 1], [1.5, "1.5"], [True, "True"], [None, "None", 1, "1"]):
        with pytest.raises(DataError, match=f"both called {str(labels[-1])!r}") as caught:
            fit((labels * len(five_groups))[: len(five_groups)], five_groups)
        said.append((repr(labels), str(caught.value)))
    words(said)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["a\0", "a"], ["a", "a\0"]),
        (["", "\0"], ["", "\0"]),
        ([1, "b"], ["1", "b"]),
        ([np.str_("a"), "a", "b"], ["a", "b"]),
    ],
)
def test_different_texts_are_different_labels(labels, names):
    rows = np.arange(len(labels) * 4)
    given = Labelling.of(np.array(labels * 4, dtype=object), np.zeros(len(rows), dtype=bool))
    assert list(given.names) == names
    assert [given.names[i] for i in given.labels] == [str(label) for label in labels * 4]


# Labels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([10, -5, 3], ["-5", "3", "10"]),
        ([2.0, 0.5, 7.0], ["0.5", "2.0", "7.0"]),
        ([2.0, 4.0, 7.0], ["2", "4", "7"]),
        (["x", "b|d", "ä"], ["b|d", "x", "ä"]),
        ([True, True, False], ["False", "True"]),
        (["b", 3, 0.5], ["0.5", "3", "b"]),
    ],
)
@pytest.mark.parametrize(
    "as_container", [list, lambda names: np.array(names, dtype=object), pd.Series], ids=["list", "array", "series"]
)
def test_labels_keep_their_names(five_groups, as_container, names, expected):
    three = np.digitize(five_groups[:, 0], np.quantile(five_groups[:, 0], [0.3, 0.6]))
    model = fit(as_container([names[i] for i in three]), five_groups)
    clusters = model.rules_.clusters
    assert [cluster.name for cluster in clusters] == expected
    whole = names in ([10, -5, 3], [2.0, 4.0, 7.0])
    classes = list(map(int, expected)) if whole else list(range(len(expected)))
    assert [cluster.index for cluster in clusters] == model.classes_.tolist() == classes
    given = [names[i] for i in three]
    labels = given if whole else [expected.index(str(name)) for name in given]
    assert model.reference_labels_.tolist() == labels


@pytest.mark.parametrize(
    "labels",
    [
        np.where(np.arange(500) % 7 == 0, np.nan, np.arange(500) % 3),
        pd.Series(np.arange(500) % 3).where(np.arange(500) % 7 != 0).astype("Int64"),
        pd.Series(np.array(["0", "1", "2"])[np.arange(500) % 3]).where(np.arange(500) % 7 != 0),
        [None if i % 7 == 0 else i % 3 for i in range(500)],
        pl.Series([None if i % 7 == 0 else i % 3 for i in range(500)]),
        pl.Series([None if i % 7 == 0 else str(i % 3) for i in range(500)], dtype=pl.Categorical),
    ],
    ids=["nan", "Int64", "text", "list", "polars", "categorical"],
)
def test_rows_without_a_label_are_left_out(five_groups, labels):
    with pytest.warns(ShallowRulesWarning, match="given label"):
        model = ExplainableKMeans(clusterer=labels, scale="standard").fit(five_groups)
    statistics = model.rules_.statistics
    assert statistics.left_out == 72
    [note] = statistics.notes
    assert all(part in note for part in ("72 of 500 rows", "given label"))
    inside = np.arange(500) % 7 != 0
    with pytest.warns(ShallowRulesWarning, match="given label"):
        without = ExplainableKMeans(clusterer=(np.arange(500) % 3)[inside], scale="standard").fit(five_groups[inside])
    assert [cluster.name for cluster in model.rules_.clusters] == ["0", "1", "2"]
    np.testing.assert_array_equal(model.tree_.threshold, without.tree_.threshold)
    np.testing.assert_array_equal(model.reference_centers_, without.reference_centers_)
    np.testing.assert_array_equal(model.labels_[inside], without.labels_)
    np.testing.assert_array_equal(model.predict(five_groups), model.labels_)


def test_given_labels_are_their_own_assignment_and_their_means_the_centers(five_groups):
    given = np.random.default_rng(0).integers(0, 3, 500)
    with pytest.warns(ShallowRulesWarning, match=r"\d+% of the rows .*given label"):
        model = ExplainableKMeans(clusterer=given).fit(five_groups)
    np.testing.assert_array_equal(model.reference_labels_, given)
    np.testing.assert_allclose(model.reference_centers_, [five_groups[given == i].mean(axis=0) for i in range(3)])


def test_minus_one_in_a_list_of_labels_is_a_label(five_groups, words):
    with pytest.warns(ShallowRulesWarning, match=r"contain -1, .* 0 to 1 "):
        model = ExplainableKMeans(clusterer=np.where(five_groups[:, 0] > 0, -1, 0)).fit(five_groups)
    assert [cluster.title for cluster in model.rules_.clusters] == ["0 (-1)", "1 (0)"]
    assert set(model.labels_.tolist()) == {0, 1}
    [note] = model.rules_.statistics.notes
    assert all(part in note for part in ("-1", "noise"))
    words(note)


def test_labels_that_are_refused(five_groups, words):
    said = []
    for kind, about, labels, weight in (
        (DataError, "3 labels for 500 rows", [0, 1, 2], None),
        (DataError, "no label", [None] * 500, None),
        (DataError, "labels where there is no weight", ["a"] * 3 + [None] * 497, np.arange(500) > 2),
        (OptionError, "not an array", [[1.0, 2.0], [3.0]], None),
    ):
        with pytest.raises(kind) as caught:
            ExplainableKMeans(clusterer=labels).fit(five_groups, sample_weight=weight)
        said.append((about, str(caught.value)))
    words(said)

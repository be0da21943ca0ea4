"""How much categories count beside numbers: the balanced weight, and columns of two values in all their types."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from shallowrules import ExplainableKMeans, Table
from shallowrules.encoding import CATEGORY_WEIGHT, Weighing, encode
from shallowrules.encoding.blocks import place_between
from shallowrules.encoding.weighing import WEIGHT_RANGE, balanced_weight

SCALES = pytest.mark.parametrize("scale", [None, "minmax", "standard", "robust"])
SCALERS = {"minmax": MinMaxScaler(), "standard": StandardScaler(), "robust": RobustScaler()}


def customers(n_rows=300, seed=0):
    """Return a table of numbers, categories, a flag of 0 and 1, and constant columns."""
    random = np.random.default_rng(seed)
    flag = (random.random(n_rows) < 0.3).astype(int)
    return pd.DataFrame(
        {
            "spent": random.exponential(size=n_rows).round(2) + 3 * flag,
            "visits": random.integers(0, 40, n_rows) * 100,
            "plan": random.choice(list("xyz"), n_rows, p=[0.6, 0.3, 0.1]),
            "flag": flag,
            "year": 2024,
            "country": "NZ",
        }
    )


def fit(frame, scale=None, sample_weight=None, **options):
    options = {"category_weight": "auto"} | options
    return ExplainableKMeans(4, scale=scale, random_state=0, **options).fit(frame, sample_weight=sample_weight)


def gini(values):
    return 1 - (pd.Series(values).value_counts(normalize=True) ** 2).sum()


@SCALES
def test_the_balanced_weight_is_that_of_equal_mean_inertia(scale):
    frame = customers()
    numbers = frame[["spent", "visits"]].to_numpy()
    scaled = numbers if scale is None else SCALERS[scale].fit_transform(numbers)
    expected = math.sqrt(scaled.var(axis=0).mean() / np.mean([gini(frame["plan"]), gini(frame["flag"])]))
    model = fit(frame, scale)
    assert model.category_weight_ == float(f"{expected:.4g}")
    assert model.rules_.statistics.notes[0] == (
        f"for the clustering, categories and columns of two numbers are weighted by {model.category_weight_:g}"
    )


@SCALES
@pytest.mark.parametrize("options", [{}, {"category_weight": 0.3, "two_values": "category"}], ids=["auto", "given"])
def test_a_column_of_two_values_counts_alike_in_every_type(scale, options):
    frame = customers()
    flag = frame["flag"]
    alike = [flag, flag.astype(bool), flag.map({0: "no", 1: "yes"}), 1 - flag, 20240101 + 7 * flag, -0.25 * flag]
    models = [fit(frame.assign(flag=values), scale, **options) for values in alike]
    for model in models:
        assert model.category_weight_ == models[0].category_weight_
        assert model.reference_inertia_ == pytest.approx(models[0].reference_inertia_, rel=1e-12)
        np.testing.assert_array_equal(model.reference_labels_, models[0].reference_labels_)


def test_two_numbers_are_as_far_apart_as_two_categories():
    table = Table.of({"n": [0.0, 1.0, 4.0], "two": [3.0, 8.0, 3.0], "c": ["a", "b", "a"]})
    X = encode(table, "standard", weighing=Weighing(0.3, pairs=True)).X_cluster
    assert (X[0, 1] - X[1, 1]) ** 2 == pytest.approx(2 * 0.3**2)
    assert ((X[0, 2:] - X[1, 2:]) ** 2).sum() == pytest.approx(2 * 0.3**2)
    assert X[2, 1] == X[0, 1]


@SCALES
def test_constant_columns_do_not_count(scale):
    frame = customers()
    assert fit(frame, scale).category_weight_ == fit(frame[["spent", "visits", "plan", "flag"]], scale).category_weight_


@SCALES
@pytest.mark.parametrize("columns", [["spent", "visits", "country"], ["plan", "flag", "year"], ["spent", "visits"]])
def test_without_both_kinds_the_weight_is_the_usual_one(scale, columns):
    model = fit(customers()[columns], scale)
    assert model.category_weight_ == CATEGORY_WEIGHT
    assert not any("weighted" in note for note in model.rules_.statistics.notes)


@SCALES
def test_a_weight_is_a_number_of_rows_and_their_order_does_not_matter(scale):
    frame = customers()
    weight = np.arange(300) % 4
    repeated = frame.loc[frame.index.repeat(weight)]
    models = [fit(frame, scale, weight), fit(repeated, scale), fit(repeated.sample(frac=1, random_state=1), scale)]
    assert len({model.category_weight_ for model in models}) == 1
    assert models[0].category_weight_ != fit(frame, scale).category_weight_


def test_a_third_number_is_found_wherever_it_stands():
    values = np.tile([0.0, 1.0], 2500)
    assert place_between(values, 0.0, 1.0) is None
    for place in (0, 1023, 1024, 4999):
        assert place_between(np.where(np.arange(5000) >= place, 0.5, values), 0.0, 1.0) == place


def test_rows_of_no_weight_do_not_make_three_values():
    frame = customers()
    other = frame.assign(flag=frame["flag"].where(frame.index > 0, 9))
    weight = (frame.index > 0).astype(float)
    assert set(fit(other, "standard", weight).encoder_.pairs) == {3}
    assert fit(other, "standard").encoder_.pairs == {}


@SCALES
def test_parts_have_the_weight_and_the_rules_of_the_table(scale, tmp_path):
    frame = customers().assign(weight=np.arange(300) % 3 + 1)
    for i in range(3):
        frame[100 * i : 100 * (i + 1)].to_csv(tmp_path / f"{i}.csv", index=False)
    whole = fit(frame.drop(columns="weight"), scale, frame["weight"])
    model = ExplainableKMeans(4, category_weight="auto", scale=scale)
    model.fit_partitions(
        [tmp_path / f"{i}.csv" for i in range(3)], centers=whole.reference_centers_, sample_weight="weight"
    )
    assert model.category_weight_ == whole.category_weight_
    unit = 1 / (math.sqrt(2) * model.category_weight_)  # two categories are sqrt(2) of their weight apart
    assert model.encoder_.pairs == whole.encoder_.pairs == {3: (0.0, unit)}
    assert model.rules_.nodes == whole.rules_.nodes
    assert model.rules_.statistics.reference_cost == whole.rules_.statistics.reference_cost


def test_the_balanced_weight_can_be_given_as_an_option():
    for spread in (1e-300, 1e300):
        weight = balanced_weight([spread], [0.5])
        assert WEIGHT_RANGE[0] <= weight <= WEIGHT_RANGE[1]
        fit(customers(), category_weight=weight)
    assert balanced_weight([2.0, 4.0], [0.25, 0.5]) == 2.828


def test_columns_of_numbers_alone_stay_as_they_are():
    X = np.column_stack([np.arange(40.0), np.arange(40) % 2])
    given, unbalanced = (ExplainableKMeans(3, random_state=0, category_weight=w).fit(X) for w in ("auto", 0.3))
    assert given.category_weight_ != CATEGORY_WEIGHT  # 0 and 1 are categories
    assert unbalanced.encoder_.pairs == {}
    np.testing.assert_array_equal(unbalanced.encoder_.to_clustered_space(X), X)

"""Transformers in front are seen through: rules test the raw columns, whatever was derived from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from shallowrules import ExplainableKMeans, Table
from shallowrules.errors import DataError, OptionError
from shallowrules.verification import verify


def shop(n_rows=400, seed=0):
    random = np.random.default_rng(seed)
    group = random.integers(0, 4, n_rows)
    return pd.DataFrame(
        {
            "size": np.array(["S", "M", "L", "XL"], object)[group],
            "months": 1.0 + 12 * group + random.integers(0, 6, n_rows),
            "paid": group < 2,
            "kind": random.choice(np.array(["web", "shop", "phone"], object), n_rows),
            "amount": random.lognormal(size=n_rows),
            "code": random.integers(1, 4, n_rows),
            "id": [f"row {i}" for i in range(n_rows)],
        }
    )


def fitted(transformer, frame, k=5, **options):
    """Return a model, after every form of its rules has been compared with its labels."""
    model = ExplainableKMeans(k, transformer=transformer, random_state=0, **options).fit(frame)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    np.testing.assert_array_equal(model.rules_.assign(frame), model.labels_)
    assert model.waes_ == pytest.approx(sum(rule.size * rule.share for rule in model.rules_))
    assert model.score(frame) == pytest.approx(-model.inertia_)
    for comparison in verify(model.rules_, frame, ["duckdb"]):
        assert comparison.disagreements == 0, comparison
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler((2, 3)), MaxAbsScaler(), RobustScaler(), PowerTransformer()]
)
def test_scalers_leave_the_raw_units(scaler):
    X = shop()[["months", "amount"]]
    model = fitted(scaler, X)
    direct = ExplainableKMeans(5, random_state=0).fit(scaler.fit_transform(X))
    np.testing.assert_array_equal(model.reference_labels_, direct.reference_labels_)
    for rule in model.rules_:
        for condition in rule.conditions:
            raw = X[condition.column.name]
            assert all(raw.min() <= b <= raw.max() for b in (condition.lower, condition.upper) if b is not None)


@pytest.mark.parametrize("scale", ["minmax", "standard", "robust"])
def test_a_scaler_in_front_is_the_option_scale(scale):
    X = shop()[["months", "amount"]]
    scaler = {"minmax": MinMaxScaler(), "standard": StandardScaler(), "robust": RobustScaler()}[scale]
    by_option = ExplainableKMeans(5, scale=scale, random_state=0).fit(X)
    through = ExplainableKMeans(5, transformer=make_pipeline("passthrough", scaler), random_state=0).fit(X)
    np.testing.assert_array_equal(through.labels_, by_option.labels_)
    assert through.rules_.nodes == by_option.rules_.nodes


def test_a_falling_function_turns_the_sides():
    X = shop()[["amount", "months"]]
    model = fitted(FunctionTransformer(lambda frame: 1 / frame), X)
    assert {column.direction for column in model.encoder_.columns} == {-1}
    rising = fitted(FunctionTransformer(lambda frame: -1 / frame), X)
    np.testing.assert_array_equal(model.reference_labels_, rising.reference_labels_)
    mixed = fitted(make_column_transformer((FunctionTransformer(np.log), ["amount"]), ("passthrough", ["months"])), X)
    assert {column.direction for column in mixed.encoder_.columns} == {1}


def everything():
    gaps = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(drop="if_binary"))
    order = OrdinalEncoder(categories=[["S", "M", "L", "XL"]])
    numbers = make_pipeline(SimpleImputer(strategy="mean"), RobustScaler())
    return ColumnTransformer(
        [
            ("numbers", numbers, ["months", "amount"]),
            ("order", make_pipeline(order, MinMaxScaler()), ["size"]),
            ("kinds", gaps, ["kind"]),
            ("flags", OneHotEncoder(drop="if_binary"), ["paid", "code"]),
            ("left out", "drop", ["id"]),
        ]
    )


def test_categories_orders_and_imputed_values_are_seen_through():
    frame = shop()
    frame.loc[::7, "kind"] = np.nan
    frame.loc[::9, "months"] = np.nan
    model = fitted(everything(), frame, 12, refine="none")
    assert [column.name for column in model.rules_.columns] == ["size", "months", "paid", "kind", "amount", "code"]
    imputed = {column.name: column.imputed for column in model.rules_.columns if column.imputed is not None}
    assert imputed == {"months": pytest.approx(frame["months"].mean()), "kind": "none"}
    assert {note.split("'")[1] for note in model.rules_.statistics.notes} == {"months", "kind"}
    texts = [str(condition) for rule in model.rules_ for condition in rule.conditions]
    assert any(text.startswith(("size in (", "size not in (")) for text in texts), texts
    kinds = {column.kind for column in model.encoder_.columns}
    assert kinds == {"number", "rank", "indicator"}
    with pytest.raises(DataError, match=r"missing values .* 'amount'"):
        model.predict(frame.assign(amount=frame["amount"].where(frame.index > 3)))


@pytest.mark.slow
def test_fitted_frozen_cloned_and_unfitted_give_one_tree():
    frame = shop()
    prepared = everything().fit(frame)
    models = [fitted(transformer, frame) for transformer in (everything(), prepared, FrozenEstimator(prepared))]
    models.append(clone(models[2]).fit(frame))
    for model in models[1:]:
        assert model.rules_ == models[0].rules_


@pytest.mark.slow
def test_columns_are_found_however_they_are_named():
    frame = shop()[["amount", "months", "code"]]
    wanted = fitted(make_column_transformer((StandardScaler(), ["months", "code"])), frame).rules_
    assert {column.name for column in wanted.columns} == {"amount", "months", "code"}
    for columns in ([1, 2], [-2, -1], slice(1, 3), slice("months", "code"), slice("months", None), [False, True, True]):
        assert fitted(make_column_transformer((StandardScaler(), columns)), frame).rules_ == wanted
    one = fitted(
        make_column_transformer((StandardScaler(), make_column_selector("months")), (OneHotEncoder(), [])), frame
    )
    assert one.rules_.tested_columns == (1,)
    rest = fitted(make_column_transformer((StandardScaler(), ["amount"]), remainder="passthrough"), frame)
    assert len(rest.encoder_.columns) == 3


@pytest.mark.slow
def test_arrays_polars_and_frames_that_come_out():
    frame = shop()[["amount", "months"]]
    pandas_out = make_pipeline(StandardScaler(), MinMaxScaler()).set_output(transform="pandas")
    model = fitted(pandas_out, frame)
    for table in (frame.to_numpy(), pl.DataFrame({name: frame[name].to_numpy() for name in frame})):
        other = fitted(make_pipeline(StandardScaler(), MinMaxScaler()), table)
        np.testing.assert_array_equal(other.labels_, model.labels_)


def test_rows_of_no_weight_do_not_fit_the_transformer():
    frame = shop()[["amount", "months"]]
    weight = np.where(np.arange(len(frame)) < 300, 1.0, 0.0)
    centers = np.array([[0.1, 0.1], [0.9, 0.9], [0.1, 0.9]])
    options = {"transformer": MinMaxScaler(), "clusterer": centers}
    for table in (frame, frame.to_numpy()):
        weighted = ExplainableKMeans(**options).fit(table, sample_weight=weight)
        alone = ExplainableKMeans(**options).fit(table[:300])
        np.testing.assert_array_equal(weighted.labels_[:300], alone.labels_)


@pytest.mark.parametrize(
    ("transformer", "columns", "error", "message"),
    [
        (PCA(2), ["months", "amount"], OptionError, r"PCA mixes columns.*clusterer=make_pipeline\(transformer, KMeans"),
        (make_pipeline(StandardScaler(), PCA(1)), ["months"], OptionError, "PCA mixes columns.*clusterer="),
        (PolynomialFeatures(), ["months"], OptionError, "PolynomialFeatures mixes columns.*clusterer="),
        (
            FunctionTransformer(np.cos),
            ["months"],
            OptionError,
            "column 'months' in a way that is not.*clusterer=",
        ),
        (
            FunctionTransformer(lambda X: X.sub(X.mean(axis=1), axis=0)),
            ["months", "amount"],
            OptionError,
            "column 'months' in a way that is not monotone",
        ),
        (
            FunctionTransformer(lambda X: X[["months"]]),
            ["months", "amount"],
            OptionError,
            "FunctionTransformer gives 1 columns where 2 can be traced",
        ),
        (OneHotEncoder(max_categories=2), ["kind"], OptionError, "puts infrequent categories together"),
        (SimpleImputer(add_indicator=True), ["gaps"], OptionError, "turn the indicator off"),
        (SimpleImputer(missing_values=-9), ["months"], OptionError, r"missing_values=-9\) .* make them missing"),
        (make_pipeline(MinMaxScaler(), SimpleImputer()), ["gaps"], OptionError, "'gaps' after it was scaled.*first"),
        (
            OneHotEncoder(),
            ["holes"],
            OptionError,
            "missing values of column 'holes' for a category: put a SimpleImputer",
        ),
        (
            make_pipeline(OrdinalEncoder(), OneHotEncoder()),
            ["kind"],
            OptionError,
            "OneHotEncoder encodes column 'kind'",
        ),
        ("passthrough", ["kind"], OptionError, "is not a scikit-learn transformer"),
        (
            make_column_transformer(("passthrough", ["kind"])),
            ["kind"],
            DataError,
            "not numbers .*encode its categories",
        ),
        (StandardScaler(), ["gaps"], DataError, r"missing or infinite values in 1 of its columns"),
        (
            make_column_transformer((OrdinalEncoder(encoded_missing_value=-1), ["gaps"])),
            ["gaps"],
            DataError,
            r"missing values .* 'gaps' \(80 rows\): put a SimpleImputer",
        ),
        (
            make_column_transformer(
                (SimpleImputer(), ["gaps"]), (SimpleImputer(strategy="constant", fill_value=0), ["gaps"])
            ),
            ["gaps"],
            OptionError,
            "'gaps' has its missing values imputed in two ways",
        ),
    ],
)
def test_what_cannot_be_seen_through_is_refused(transformer, columns, error, message):
    frame = shop()
    frame["gaps"] = frame["months"].where(frame.index % 5 > 0)
    frame["holes"] = frame["kind"].where(frame.index % 5 > 0, None)
    with pytest.raises(error, match=message):
        ExplainableKMeans(3, transformer=transformer).fit(frame[columns])


def test_options_that_a_transformer_replaces():
    frame = shop()[["months", "amount"]]
    for options in ({"scale": "minmax"}, {"impute": "median"}, {"missing": "category"}):
        with pytest.raises(OptionError, match="transformer does what scale, impute and missing do"):
            ExplainableKMeans(3, transformer=StandardScaler(), **options).fit(frame)
    with pytest.raises(OptionError, match="not a Table"):
        ExplainableKMeans(3, transformer=StandardScaler()).fit(Table.of(frame))

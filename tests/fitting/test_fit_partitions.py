"""A fit of a table in parts gives the result of `fit` for the whole table with refine="none", from the same centers."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from itertools import product

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from draws import draws, few, spread
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tablesinparts import a_frame, check_equal, cut

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError, OptionError
from shallowrules.measures.summation import ExactSums
from shallowrules.partitions import TableParts
from shallowrules.sources import read_table
from shallowrules.trees.parts import cut_search, growing, node_passes


def fractions(n_rows: int, seed: int = 0) -> np.ndarray:
    """Weights of any size, some 0, many equal, few of which are whole numbers."""
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 0.1, 1 / 3, 2.5, np.pi], n_rows) * np.where(rng.random(n_rows) < 0.2, rng.random(n_rows), 1)


@pytest.fixture(params=[None, 1], ids=["collected", "over the parts"])
def memory(request):
    """Bytes that a fit may take: so many that all rows are collected, or so few that none are."""
    return request.param


@pytest.mark.parametrize(
    ("n_parts", "scale", "weights"),
    few(
        spread(
            product([1, 2, 7, 64], [None, "minmax", "standard", "robust"], [None, "whole", "fractions"]),
            12,
        ),
        4,
    ),
)
def test_given_centers(n_parts, scale, weights, memory):
    frame = a_frame().drop(columns="label")
    used = frame.drop(columns="copies")
    weight = {None: None, "whole": frame.copies, "fractions": fractions(len(frame))}[weights]
    if scale == "robust" and weights == "fractions":
        weight = np.ceil(weight)  # quartiles need whole weights
    model = ExplainableKMeans(5, refine="none", scale=scale, random_state=0).fit(used, sample_weight=weight)
    centers = model.reference_centers_
    again = ExplainableKMeans(refine="none", scale=scale, clusterer=centers).fit(used, sample_weight=weight)
    parts = cut(used if weight is None else used.assign(weight=weight), n_parts)
    of_parts = ExplainableKMeans(refine="none", scale=scale)
    of_parts.fit_partitions(parts, centers=centers, sample_weight=weights and "weight", memory=memory)
    check_equal(of_parts, again)
    np.testing.assert_array_equal(of_parts.predict(used), again.predict(used))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "impute", "way", "columns"),
    spread(
        product(
            [None, "minmax", "standard", "robust"],
            [None, "median"],
            ["weights", "labels"],
            [["amount", "length"], ["amount", "age", "length", "kind", "open"]],
        ),
        12,
    ),
)
@pytest.mark.filterwarnings("ignore:the rules give")
def test_parts_of_which_no_row_counts(scale, impute, way, columns, memory):
    frame = a_frame()
    if impute is not None:
        frame.loc[::5, columns[0]] = np.nan
    without = frame.index < 250  # the first two of five parts, and half of the third
    frame["copies"] = np.where(without, 0, 1 + frame.copies)
    frame["label"] = frame.label.where(~without)
    used, weight = frame[columns], frame.copies if way == "weights" else None
    model = ExplainableKMeans(refine="none", scale=scale, impute=impute)
    labels = "label" if way == "labels" else None
    centers = None
    if labels is None:
        own = ExplainableKMeans(5, refine="none", scale=scale, impute=impute, random_state=0)
        centers = own.fit(used, sample_weight=weight).reference_centers_
    expected = clone(model).set_params(clusterer=frame.label if labels else centers).fit(used, sample_weight=weight)
    parts = cut(frame[[*columns, labels or "copies"]], 5, shuffled=False)
    named = None if labels else "copies"
    model.fit_partitions(parts, centers=centers, labels=labels, sample_weight=named, memory=memory)
    check_equal(model, expected)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [{}, {"explain_columns": ["age", "kind"]}, {"cluster_columns": ["amount", "open"]}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_and_single_precision(columns, dtype, memory):
    names = ["amount", "age", "kind", "open"] if columns else ["amount", "length"]
    frame = a_frame()[names].astype({"amount": dtype})
    if not columns:
        frame = frame.astype(dtype)
    model = ExplainableKMeans(4, refine="none", random_state=0, **columns).fit(frame)
    again = ExplainableKMeans(refine="none", clusterer=model.clusterer_, **columns).fit(frame)
    of_parts = ExplainableKMeans(refine="none", clusterer=model.clusterer_, **columns)
    of_parts.fit_partitions(cut(frame, 5), memory=memory)
    check_equal(of_parts, again)


@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.filterwarnings("ignore:the rules give")
def test_given_labels(weights, gaps, memory):
    frame, weighted = a_frame(), weights is not None
    if weights == "fractions":
        frame["copies"] = fractions(len(frame))
    if gaps:
        frame.loc[::7, "label"] = None
    used = frame.drop(columns=["copies", "label"])
    weight = frame.copies if weighted else None
    model = ExplainableKMeans(refine="none", scale="minmax", clusterer=frame.label).fit(used, sample_weight=weight)
    of_parts = ExplainableKMeans(refine="none", scale="minmax")
    parts = cut(frame if weighted else frame.drop(columns="copies"), 6)
    of_parts.fit_partitions(parts, labels="label", sample_weight="copies" if weighted else None, memory=memory)
    check_equal(of_parts, model)


@pytest.mark.slow
@draws(40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 7, 64]),
    st.integers(1, 6),
    st.integers(0, 2),
    st.sampled_from([None, 1]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([None, "whole", "fractions", "of any size"]),
)
def test_small_tables_with_ties(seed, n_parts, k, digits, memory, dtype, weights):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(int(rng.integers(8, 60)), int(rng.integers(1, 4)))), digits).astype(dtype)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    weight = None
    if weights == "whole":
        weight = np.append(1, rng.integers(0, 4, len(X) - 1))
    elif weights is not None:
        weight = fractions(len(X), seed) + (np.arange(len(X)) == 0)
        weight *= 10.0 ** rng.integers(-18, 18, len(X)) if weights == "of any size" else 1.0
    centers = X[rng.choice(len(X), k, replace=False)]
    model, of_parts = ExplainableKMeans(refine="none", clusterer=centers), ExplainableKMeans(refine="none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer leaves than centers
        model.fit(frame, sample_weight=weight)
        parts = cut(frame.assign(weight=weight) if weights else frame, n_parts)
        of_parts.fit_partitions(parts, centers=centers, sample_weight="weight" if weights else None, memory=memory)
    check_equal(of_parts, model)


def with_holes(frame: pd.DataFrame, seed: int, share: float = 0.1) -> pd.DataFrame:
    """Return rows with values missing in some columns of each type."""
    rng = np.random.default_rng(seed)
    frame = frame.astype({"age": "Int64", "open": object, "kind": object})
    for name in ("amount", "age", "length", "kind", "open"):
        frame.loc[rng.random(len(frame)) < share, name] = None
    return frame


@pytest.mark.parametrize(
    ("n_parts", "scale", "way"),
    few(spread(product([1, 2, 7, 64], [None, "robust"], ["centers", "labels", "weights", "fractions"]), 8), 2),
)
@pytest.mark.filterwarnings("ignore:the rules give")
def test_imputed_values(n_parts, scale, way, memory):
    frame = with_holes(a_frame(), n_parts)
    if way == "fractions":
        frame["copies"], scale = fractions(len(frame)), scale and "standard"
    frame.loc[frame.index[::9], "label"] = None
    used = frame.drop(columns=["copies", "label"])
    model = ExplainableKMeans(5, refine="none", scale=scale, impute="median", random_state=0)
    weighted = way in ("weights", "fractions")
    weight = frame.copies if weighted else None
    if way == "labels":
        again = clone(model).set_params(clusterer=frame.label).fit(used)
        parts = cut(frame.drop(columns="copies"), n_parts)
        of_parts = clone(model).fit_partitions(parts, labels="label", memory=memory)
    else:
        centers = clone(model).fit(used, sample_weight=weight).reference_centers_
        again = clone(model).set_params(clusterer=centers).fit(used, sample_weight=weight)
        parts = cut(frame.drop(columns="label") if weighted else used, n_parts)
        named = "copies" if weighted else None
        of_parts = clone(model).fit_partitions(parts, centers=centers, sample_weight=named, memory=memory)
    check_equal(of_parts, again)
    assert sum("are replaced by" in note for note in of_parts.rules_.statistics.notes) == 5
    np.testing.assert_array_equal(of_parts.predict(used), again.predict(used))


@pytest.mark.slow
@draws(30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 7]), st.sampled_from([None, "minmax", "robust"]))
def test_imputed_values_of_small_tables_with_ties(seed, n_parts, scale):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(4, 30))
    frame = pd.DataFrame(
        {
            "number": np.round(rng.normal(size=n_rows), 1) * rng.choice([1.0, -0.0, np.nan], n_rows),
            "whole": rng.integers(-3, 3, n_rows),
            "kind": rng.choice(["a", "b", None], n_rows),
        }
    )
    frame.loc[:1, "number"], frame.loc[:1, "kind"] = [1.0, 2.0], ["a", "b"]
    weight = np.append([1, 1], rng.integers(0, 4, n_rows - 2))
    model = ExplainableKMeans(2, refine="none", impute="median", scale=scale, random_state=0)
    centers = clone(model).fit(frame, sample_weight=weight).reference_centers_
    parts = cut(frame.assign(weight=weight), n_parts)
    of_parts = clone(model).fit_partitions(parts, centers=centers, sample_weight="weight", memory=1)
    check_equal(of_parts, model.set_params(clusterer=centers).fit(frame, sample_weight=weight))


@pytest.mark.slow
def test_missing_values_in_files_are_imputed(tmp_path, memory):
    frame = with_holes(a_frame(), 3).drop(columns=["label", "copies"])
    pieces = [frame.iloc[:100].assign(age=pd.array([None] * 100, "Int64")), frame.iloc[100:]]
    for i, piece in enumerate(pieces):
        pyarrow.parquet.write_table(pyarrow.Table.from_pandas(piece, preserve_index=False), tmp_path / f"{i}.parquet")
    pd.concat(pieces).to_csv(tmp_path / "all.csv", index=False)
    for files in (str(tmp_path / "*.parquet"), str(tmp_path / "all.csv")):
        model = ExplainableKMeans(4, refine="none", impute="median", random_state=0)
        whole = read_table([tmp_path / "0.parquet", tmp_path / "1.parquet"] if files.endswith("parquet") else files)
        model.set_params(clusterer=clone(model).fit(whole).reference_centers_)
        check_equal(clone(model).fit_partitions(files, memory=memory), clone(model).fit(whole))


@pytest.mark.parametrize("impute", [None, "median"])
@pytest.mark.parametrize("lacking", ["some", "of weight 0", "none of a part"])
@pytest.mark.filterwarnings("ignore:the rules give")
def test_missing_text_is_a_category_in_parts(impute, lacking, memory):
    frame = a_frame()
    if impute is not None:
        frame.loc[::11, "amount"] = np.nan
    places = {"some": frame.index % 7 == 0, "of weight 0": frame["copies"] == 0, "none of a part": frame.index < 90}
    frame.loc[places[lacking], "kind"] = None
    used = frame.drop(columns=["copies", "label"])
    model = ExplainableKMeans(refine="none", scale="minmax", impute=impute, missing="category", clusterer=frame.label)
    model.fit(used, sample_weight=frame.copies)
    of_parts = clone(model).set_params(clusterer=None)
    of_parts.fit_partitions(cut(frame, 6, shuffled=False), labels="label", sample_weight="copies", memory=memory)
    check_equal(of_parts, model)
    assert [column.imputed for column in model.rules_.columns if column.name == "kind"] == ["(missing)"]


def test_a_column_without_values_that_count_is_not_imputed():
    frame = a_frame(50)[["amount", "copies"]].assign(size=np.where(np.arange(50) < 3, 1.0, np.nan))
    frame.loc[frame.index[:3], "copies"] = 0
    model = ExplainableKMeans(2, refine="none", impute="median")
    with pytest.raises(DataError, match="'size' has no values"):
        model.fit_partitions(cut(frame, 3), sample_weight="copies")


def test_our_own_centers_do_not_depend_on_the_cut_and_are_near_those_of_kmeans(capsys):
    frame = load_iris(as_frame=True).data
    found = []
    for n_parts in (1, 4):
        model = ExplainableKMeans(3, refine="none", random_state=0, verbose=1).fit_partitions(cut(frame, n_parts))
        found.append(model.reference_centers_)
        assert "iteration 1 over all rows: centers moved by" in capsys.readouterr().out
    np.testing.assert_array_equal(*found)
    usual = KMeans(3, n_init=10, random_state=0).fit(frame).inertia_
    assert model.reference_inertia_ == pytest.approx(usual, rel=0.01)


@pytest.mark.slow
def test_parquet_and_csv_files(tmp_path, memory):
    frame = a_frame().drop(columns=["label", "copies"])
    pieces = [frame.iloc[:100], frame.iloc[100:100], frame.iloc[100:]]
    for i, piece in enumerate(pieces):
        pyarrow.parquet.write_table(pyarrow.Table.from_pandas(piece, preserve_index=False), tmp_path / f"{i}.parquet")
    frame.to_csv(tmp_path / "all.csv", index=False)
    fitted = ExplainableKMeans(4, refine="none", random_state=0).fit(read_table(tmp_path / "all.csv"))
    for files in (str(tmp_path / "*.parquet"), str(tmp_path / "all.csv")):
        whole = read_table([tmp_path / "0.parquet", tmp_path / "2.parquet"] if files.endswith("parquet") else files)
        model = ExplainableKMeans(refine="none", clusterer=fitted.reference_centers_)
        check_equal(clone(model).fit_partitions(files, memory=memory), clone(model).fit(whole))
    broken = frame.iloc[:50].assign(amount=np.nan)
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(broken, preserve_index=False), tmp_path / "3.parquet")
    with pytest.raises(DataError, match=r"column 'amount' of .*3\.parquet \(50 rows\)"):
        clone(model).fit_partitions(str(tmp_path / "*.parquet"))


class MLlibModel:
    """A model that gives its centers as those of Spark MLlib do."""

    def __init__(self, centers):
        self.centers = centers

    def clusterCenters(self):
        return list(self.centers)


def test_centers_of_fitted_clusterers():
    frame = load_iris(as_frame=True).data
    fitted = KMeans(3, n_init=1, random_state=0).fit(frame)
    one, other = ExplainableKMeans(refine="none"), ExplainableKMeans(refine="none")
    one.fit_partitions(cut(frame, 3), centers=fitted)
    other.fit_partitions(cut(frame, 3), centers=MLlibModel(fitted.cluster_centers_))
    assert one.rules_ == other.rules_


def test_refusals(words):
    said = []
    for options, arguments in (
        ({"method": "imm"}, {}),
        ({"transformer": StandardScaler()}, {}),
        ({}, {"centers": make_pipeline(StandardScaler(), KMeans())}),
        ({}, {"centers": KMeans(3)}),
        ({}, {"centers": [[1.0, 2.0]]}),
        ({}, {"labels": "kind"}),
    ):
        with pytest.raises(OptionError) as caught:
            ExplainableKMeans(3, refine="none", **options).fit_partitions(
                cut(load_iris(as_frame=True).data, 2), **arguments
            )
        [(name, value)] = (options | arguments).items()
        said.append((f"{name}={value!r}", str(caught.value)))
    words(said)


def test_a_clusterer_whose_rows_are_not_nearest_to_their_centers_is_refused():
    frame = load_iris(as_frame=True).data
    with pytest.raises(OptionError, match="give its labels as a column"):
        ExplainableKMeans(refine="none").fit_partitions(cut(frame, 2), centers=BisectingKMeans(3).fit(frame))


def test_what_cannot_be_used_is_named_with_its_part():
    frame = a_frame(100)[["amount", "age"]]
    frame.loc[frame.index[60:63], "amount"] = np.nan
    model = ExplainableKMeans(2, refine="none")
    with pytest.raises(DataError) as error:
        model.fit_partitions(cut(frame, 5, shuffled=False))
    assert [(f.column, f.count, f.file) for f in error.value.findings] == [("amount", 3, "partition 3")]
    frame.loc[frame.index[60:63], "amount"] = np.inf
    for weight in (None, "amount"):
        with pytest.raises(DataError, match=r"infinity .*'amount' of partition 3 \(3 rows\)"):
            model.fit_partitions(cut(frame, 5, shuffled=False), sample_weight=weight)
    frame["amount"] = np.arange(100) / 8
    with pytest.raises(OptionError, match="weights"):
        clone(model).set_params(scale="robust").fit_partitions(cut(frame, 5), sample_weight="amount")
    with pytest.raises(DataError, match="the largest weight is"):
        model.fit_partitions(cut(frame.assign(amount=1e300), 5), sample_weight="amount")
    frame["name"] = [f"n{i}" for i in range(100)]
    with pytest.raises(DataError, match="'name' .*too many values"):
        model.fit_partitions(cut(frame, 5))


@given(st.lists(st.floats(-1e300, 1e300), max_size=30))
def test_exact_sums_are_rounded_once(values):
    array = np.array(values, dtype=np.float64)
    groups = np.arange(len(array)) % 2
    whole = ExactSums.of(array, groups, 2)
    parts = ExactSums.of(array[:7], groups[:7], 2).merged(ExactSums.of(array[7:], groups[7:], 2))
    expected = [math.fsum(array[groups == group]) for group in (0, 1)]
    np.testing.assert_array_equal(whole.rounded(), expected)
    assert whole.units == parts.units


@contextmanager
def small_sample(monkeypatch, n_sampled, n_fetched):
    """Make bins of a few rows, and have those of more than `n_fetched` rows divided; yield the results of
    passes."""
    found = {"divided": 0, "largest": 0}
    map_reduce = TableParts.map_reduce

    def counted(self, function, state):
        result = map_reduce(self, function, state)
        found["divided"] += function is node_passes.sample_bins
        if function is node_passes.sum_values:
            by_node = {}
            for (place, _), values in result.values.items():
                by_node[place] = by_node.get(place, 0) + len(values.whole()[0])
            found["largest"] = max(found["largest"], *by_node.values())
        return result

    with monkeypatch.context() as patch:
        patch.setattr(TableParts, "map_reduce", counted)
        patch.setattr(growing, "NODE_SAMPLE", n_sampled)
        patch.setattr(cut_search, "NODE_SAMPLE", n_sampled)
        patch.setattr(growing, "MIN_FETCHED_ROWS", n_fetched)
        yield found


def test_bins_of_many_rows_are_divided_again(monkeypatch):
    rng = np.random.default_rng(0)
    rows = 20_000
    group = rng.integers(0, 4, rows)
    frame = pd.DataFrame({"paid": np.exp(rng.normal(group, 2.0)), "length": rng.normal(group % 2 * 3, 1.0)})
    centers = np.array([[np.exp(c), c % 2 * 3] for c in range(4)])
    model = ExplainableKMeans(refine="none", clusterer=centers).fit(frame)
    largest = {}
    for n_fetched in (10**9, 50):
        with small_sample(monkeypatch, 64, n_fetched) as found:
            of_parts = ExplainableKMeans(refine="none", clusterer=centers)
            of_parts.fit_partitions(cut(frame, 5), memory=1)
        check_equal(of_parts, model)
        assert (found["divided"] > 0) == (n_fetched == 50)
        largest[n_fetched] = found["largest"]
    assert largest[50] <= 50 < largest[10**9]


@pytest.mark.slow
@draws(40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10_000),
    n_parts=st.sampled_from([1, 2, 7]),
    k=st.integers(2, 6),
    digits=st.integers(0, 3),
    weights=st.sampled_from([None, "whole", "fractions"]),
    n_sampled=st.integers(1, 30),
)
def test_small_tables_whose_bins_are_divided(monkeypatch, seed, n_parts, k, digits, weights, n_sampled):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(120, 3)) * [1, 10, 0.5], digits) + 0.0
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    weight = {None: None, "whole": rng.integers(0, 3, len(X)), "fractions": fractions(len(X), seed)}[weights]
    centers = np.round(rng.normal(size=(k, 3)) * [1, 10, 0.5], digits) + 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer leaves than centers
        model = ExplainableKMeans(refine="none", clusterer=centers).fit(frame, sample_weight=weight)
    parts = cut(frame if weight is None else frame.assign(copies=weight), n_parts)
    of_parts = ExplainableKMeans(refine="none", clusterer=centers)
    with small_sample(monkeypatch, n_sampled, 1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_parts.fit_partitions(parts, sample_weight="copies" if weights else None, memory=1)
    check_equal(of_parts, model)


def test_deltas_in_bins_do_not_depend_on_the_cut_and_are_near_the_exact_ones(monkeypatch):
    frame = a_frame(2_000)[["amount", "length", "age"]]
    exact = ExplainableKMeans(5, refine="none", random_state=0).fit(frame)
    monkeypatch.setattr("shallowrules.fitting.describing.MAX_CELLS", 900)  # of three columns
    whole = ExplainableKMeans(5, refine="none", random_state=0).fit(frame)
    binned = [
        ExplainableKMeans(refine="none", random_state=0)
        .fit_partitions(cut(frame, n_parts), centers=exact.reference_centers_)
        .rules_
        for n_parts in (1, 7)
    ]
    assert binned[0].to_json() == binned[1].to_json()
    assert [each.deltas for each in whole.rules_.clusters] == [each.deltas for each in binned[0].clusters]
    assert any(one.deltas != other.deltas for one, other in zip(binned[0].clusters, exact.rules_.clusters, strict=True))
    for one, other in zip(binned[0].clusters, exact.rules_.clusters, strict=True):
        np.testing.assert_allclose(one.deltas, other.deltas, rtol=0, atol=0.02)

"""The result of reading a file before it is clustered: columns and rows, notes, or a refusal."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shallowrules import ExplainableKMeans, Table
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.cli.preparation import prepared
from shallowrules.encoding import ColumnFacts
from shallowrules.errors import DataError, OptionError
from shallowrules.files import Reading
from shallowrules.tables.column import Column
from shallowrules.tables.given import column_of

READING = Reading()


def options(**changed):
    given = {
        "clusters": 2,
        "scale": None,
        "category_weight": 0.5,
        "two_values": "number",
        "noise": "drop",
        "seed": 0,
        "columns": None,
        "explain": None,
        "exclude": (),
        "categories": (),
        "numbers": (),
        "labels": None,
        "weight": None,
        "measure": None,
        "drop_missing": False,
        "impute": None,
        "missing": None,
        "histograms": True,
    }
    return FitOptions(**{**given, **changed})


def prepare(where, fit, reading):
    with prepared(where, fit, reading) as loaded:
        return loaded


@pytest.fixture
def write(tmp_path):
    def write(**columns):
        path = tmp_path / "t.csv"
        names = ",".join(f'"{name}"' for name in columns)
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n")
        return str(path)

    return write


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"n": [1, 2, 4]}, "minmax"),
        ({"n": [1, 2, 4], "c": list("aba")}, "standard"),
        ({"n": [1, 2, 4], "c": [0, 1, 0]}, "standard"),
        ({"n": [1, 2, 4], "c": ["true", "false", "true"]}, "standard"),
        ({"n": [1, 2, 4], "c": list("aaa"), "one": [1, 1, 1]}, "minmax"),
        ({"n": [7, 7, 7], "c": list("aba")}, "minmax"),
    ],
)
def test_the_scale_is_that_of_the_kinds_of_columns(write, columns, expected):
    path = write(**columns)
    assert prepare(path, options(scale="auto"), READING).scale == expected
    assert prepare(path, options(), READING).scale is None


def test_a_column_that_categories_are_balanced_with_does_not_decide_alone(write):
    path = write(big=[0, 5000, 9000, 100], small=[1, 3, 2, 4], c=list("abab"))
    [warning] = map(str, prepare(path, options(), READING).warnings)
    assert warning.startswith("column 'big' has 99.9% of the variance")
    assert prepare(path, options(category_weight="auto"), READING).warnings == ()


def test_two_numbers_in_all_parts_count_as_categories():
    def facts(*values):
        return ColumnFacts.of(column_of("n", np.array(values)), None)

    assert facts(1, 1).counts_as is None
    assert facts(1, 1).merged(facts(0, 0)).counts_as == "category"
    assert facts(1, 0).merged(facts(0, 2)).counts_as == "number"
    assert facts(5, 6, 7, 8).merged(facts(5)).counts_as == "number"


def test_numeric_columns_pass(write):
    loaded = prepare(write(a=[5, 1, 3], b=[0.5, 2.5, 1.5]), options(), READING)
    assert loaded.table.names == ["a", "b"]
    assert loaded.weight is None
    assert loaded.notes == ()


def test_categories_pass_and_texts_with_many_values_are_named_with_the_way_out(write):
    n_rows = 120
    path = write(
        **{
            "my name": [f"row {i}" for i in range(n_rows)],
            "b": [i % 7 for i in range(n_rows)],
            "kind": ["x", "y", "z"] * 40,
            "free": [f"text {i % 60}" for i in range(n_rows)],
        }
    )
    with pytest.raises(
        DataError, match=r"'my name' \(120 values\), 'free' \(60 values\) have too many values in 120 rows"
    ) as caught:
        prepare(path, options(), READING)
    advice = shlex.split(str(caught.value).partition("--exclude ")[2])[0]
    assert prepare(path, options(exclude=tuple(advice.split(","))), READING).table.names == ["b", "kind"]


def test_dates_are_refused(tmp_path, write):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": [True, False], "d": pa.array([1, 2], pa.time32("s"))}), path)
    with pytest.raises(DataError, match=r"^1 column .*: 'd' \(times of day\).*--exclude d$"):
        prepare(str(path), options(), READING)
    assert prepare(str(path), options(exclude=("d",)), READING).table["b"].type == "boolean"
    path = write(a=[1, 2, 2], day=["2020-01-01", "2020-1-2 10:00", ""], when=["1.2.2020", "", "03/04/2020"])
    with pytest.raises(DataError, match=r"^2 columns .*'day' \(dates .*'when' \(dates .*--exclude day,when$"):
        prepare(path, options(), READING)


@pytest.mark.parametrize("value", ['[1, "x"]', '{"b": 1}'])
def test_nested_values_are_called_so(tmp_path, value):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"a": 1, "x": 1}}\n{{"a": "y", "x": 2}}\n{{"a": {value}, "x": 3}}\n')
    with pytest.raises(DataError, match=r"'a' \(.*\bnested\b.*\).*--exclude a"):
        prepare(str(path), options(), READING)


def test_whole_numbers_for_names_are_doubted(write):
    path = write(**{"1": [3, 5, 5], "2": [4, 6, 6]})
    with pytest.raises(DataError, match=r"'1, 2', may name the columns or be a row: .*header"):
        prepare(path, options(), READING)
    assert prepare(path, options(), replace(READING, header="first")).table.names == ["1", "2"]
    assert prepare(path, options(), replace(READING, header="none")).n_rows == 4


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", [5, 3, 9]),
        ("ID", [5, 3, 9]),
        ("customerID", [5, 3, 9]),
        ("customer_id", [5, 3, 9]),
        ("Customer No", [5, 3, 9]),
        ("key", [5, 3, 9]),
        ("uuid", [5, 3, 9]),
        ("row.index", [5, 3, 9]),
        ("plain", range(100, 110)),
        ("plain", range(10, 0, -1)),
        ("plain", range(1000, 1080, 10)),
        ("id", [1, 5, 7, 20, 21, 30, 41, 50]),
        ("plain", [3, 1, 2, 0, 4, 7, 6, 5]),
        ("id", [1e20, 3e20, 2e20]),
        ("", range(10)),
    ],
)
def test_what_looks_like_an_id_is_refused(write, name, values):
    path = write(**{name: values, "x": [0.5 * (i % 3) for i in range(len(values))]})
    shown = name or "column0"
    with pytest.raises(DataError, match=f"column '{shown}' .* row ID .*--exclude.*--columns"):
        prepare(path, options(), READING)
    assert prepare(path, options(columns=(shown, "x")), READING).table.names == [shown, "x"]
    assert prepare(path, options(exclude=(shown,)), READING).table.names == ["x"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", [5, 3, 5]),
        ("identity", [5, 3, 9]),
        ("no_of_rooms", [5, 3, 9]),
        ("valid", [5, 3, 9]),
        ("year", [2019, 2020, 2021]),
        ("amount", [300, 100, 200, 50, 700, 20, 10, 999]),
        ("plain", [1, 2, 3, 4, 5, 6, 7, 7]),
        ("plain", [5] * 8),
        ("income", [10, 12, 20, 55, 70, 71, 90, 99]),
        ("income", [99, 90, 71, 70, 55, 20, 12, 10]),
        ("plain", range(7)),
        ("plain", [2**62, -(2**62)] * 4),
        ("x", [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]),
    ],
)
def test_what_does_not_look_like_an_id_passes(write, name, values):
    path = write(**{name: values, "y": [i % 2 for i in range(len(values))]})
    assert prepare(path, options(), READING).table.names == [name, "y"]


def test_missing_values_are_counted_or_dropped(write):
    path = write(a=[1, "", 3, 3], b=[0.5, 1.5, "nan", ""], c=[5, 5, 6, 7])
    found = r"missing in 'a' \(1 row\), 'b' \(2 rows\), 3 of 4 rows .*--drop-missing.*--exclude a,b"
    with pytest.raises(DataError, match=found):
        prepare(path, options(), READING)
    assert prepare(path, options(exclude=("a", "b")), READING).table.n_rows == 4
    loaded = prepare(write(a=[1, "", 3, 3], b=[0.5, 1.5, 2, 3]), options(drop_missing=True), READING)
    assert loaded.table["a"].values.tolist() == [1, 3, 3]
    [note] = map(str, loaded.notes)
    assert note.startswith("1 of 4 rows excluded ")
    assert "'a' (1 row)" in note


def test_missing_values_that_are_imputed_are_kept(write, words):
    path = write(a=[1, "", 3, 3], b=["x", "y", "nan", ""], w=[1, 2, 1, 1])
    loaded = prepare(path, options(impute="median", weight="w"), replace(READING, keep_text=("nan",)))
    assert loaded.table.n_rows == 4
    assert [column.values.tolist() for column in loaded.table.columns] == [[1, 3, 3, 3], ["x", "y", "nan", "y"]]
    assert loaded.table.imputed == (3, "y")
    assert loaded.table["a"].imputed_rows.tolist() == [False, True, False, False]
    with pytest.raises(OptionError, match="--drop-missing and --impute") as caught:
        prepare(path, options(impute="median", drop_missing=True), READING)
    words(str(caught.value))
    with pytest.raises(DataError, match=r"missing in 'w' \(1 row\)"):
        prepare(write(a=[1, "", 3], w=[1, "", 1]), options(impute="median", weight="w"), READING)
    with pytest.raises(DataError, match=" 2 distinct rows"):
        prepare(write(a=[1, "", 3, 1]), options(impute="median", clusters=3), READING)


def test_a_column_is_filled_once_from_the_file_to_the_rules(write, monkeypatch):
    path = write(a=[1, "", 3, 3, 5, 9], b=["x", "y", "x", "", "y", "x"], c=[1, 2, 1, 2, 1, 2])
    fill, filled = Column.filled, []

    def spy(column, value):
        found = fill(column, value)
        filled.extend([column.name] if found is not column else [])
        return found

    monkeypatch.setattr(Column, "filled", spy)
    loaded = prepare(path, options(impute="median"), READING)
    rules = ExplainableKMeans(2, impute="median", random_state=0).fit(loaded.table).rules_
    assert filled == ["a", "b"]
    assert [column.imputed for column in rules.columns] == [3, "x", None]


def test_rows_without_a_label_have_no_say_in_what_is_imputed(write):
    path = write(a=[1, "", 2, 2, 9, 9, 9], b=[1, 2, 1, 2, 1, 2, 1], label=["u", "v", "u", "v", "", "", ""])
    loaded = prepare(path, options(impute="median", clusters=None, labels="label"), READING)
    assert loaded.table.imputed == (2, None)
    as_given = Table.of({"a": [1, None, 2, 2, 9, 9, 9], "b": [1, 2, 1, 2, 1, 2, 1]})
    for table in (loaded.table, as_given):
        rules = ExplainableKMeans(clusterer=loaded.labels, impute="median").fit(table).rules_
        assert [column.imputed for column in rules.columns] == [2, None]
        assert "'a' (1 row)" in rules.statistics.notes[0]
        assert " 2, the median" in rules.statistics.notes[0]


def test_no_row_left_is_an_error(write, words):
    with pytest.raises(DataError, match="every row") as caught:
        prepare(write(a=[1, ""], b=["", 2]), options(drop_missing=True), READING)
    words(str(caught.value))


def test_empty_columns_are_named(write):
    with pytest.raises(DataError, match="^1 column .*no values.*'b'.*--exclude b"):
        prepare(write(a=[1, 3], b=["", ""]), options(drop_missing=True), READING)


def test_infinity_is_refused_not_dropped(write):
    path = write(a=[1.5, "inf", 3], b=[2, 1, 1], c=["-inf", 1, "inf"])
    for drop in (False, True):
        with pytest.raises(DataError, match=r"infinite in 'a' \(1 row\), 'c' \(2 rows\).*--exclude a,c"):
            prepare(path, options(drop_missing=drop), READING)


def test_more_clusters_than_rows(write, words):
    said = []
    for values, clusters, found in (
        ([1, 5, 3], 4, "4 clusters .* 3 rows"),
        ([1, 1, 3], 3, "3 clusters .* 2 distinct rows"),
        ([7], 2, "1 row"),
        ([7, 7, 7], 2, "1 distinct row"),
        ([1] * 1000 + [2, 3], 4, "4 clusters .* 3 distinct rows"),
    ):
        with pytest.raises(DataError, match=found) as caught:
            prepare(write(a=values), options(clusters=clusters), READING)
        said.append((f"{len(values)} rows, {len(set(values))} distinct, {clusters} clusters", str(caught.value)))
    words(said)


def test_as_many_clusters_as_distinct_rows_pass(write):
    path = write(a=[1] * 1000 + [2, 3, 3])
    assert prepare(path, options(clusters=3), READING).table.n_rows == 1003


def test_rows_of_no_weight_are_no_rows_to_cluster(write):
    path = write(a=[1, 2, 3], w=[1, 0, 1])
    with pytest.raises(DataError, match=" 2 distinct rows"):
        prepare(path, options(clusters=3, weight="w"), READING)


def test_rows_of_other_categories_are_distinct_rows(write):
    path = write(a=[1, 1, 1, 1], b=["x", "y", "x", "y"])
    assert prepare(path, options(clusters=2), READING).table.n_rows == 4
    with pytest.raises(DataError, match=" 2 distinct rows"):
        prepare(path, options(clusters=3), READING)


def test_what_is_done_to_the_scales_is_noted(write):
    path = write(a=[1, 5, 3], b=["x", "y", "x"])
    assert prepare(path, options(), READING).notes == ()
    for scale in ("minmax", "standard", "robust"):
        [note] = map(str, prepare(path, options(scale=scale), READING).notes)
        assert f"(--scale {scale})" in note
    assert prepare(path, options(scale="minmax", exclude=("a",)), READING).notes == ()


def test_a_constant_column_is_named(write):
    loaded = prepare(write(a=[1, 5, 3], b=[0.5, 0.5, 0.5]), options(), READING)
    assert loaded.table.names == ["a", "b"]
    [note] = map(str, loaded.notes)
    assert "'b'" in note
    assert "only one value (0.5)" in note


def test_many_constant_columns_are_one_note(write):
    loaded = prepare(write(a=[1, 5, 3], **{f"c{j}": [j] * 3 for j in range(175)}), options(), READING)
    [note] = map(str, loaded.notes)
    assert note.startswith("175 columns have only one value")
    assert note.endswith("'c0' (0), 'c1' (1), 'c2' (2), 'c3' (3), 'c4' (4) and 170 more")


@pytest.mark.parametrize("memory", [None, 10**8])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_an_encoding_that_is_found_is_noted(tmp_path, encoding, memory):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,é\n2,ü\n5,é\n".encode(encoding))
    with prepared(str(path), options(), READING, memory) as loaded:
        assert all("UTF-16" in note.fact for note in loaded.notes)
        assert len(loaded.notes) == (encoding == "utf-16")


def test_a_dominant_column_is_named(write):
    generator = np.random.default_rng(0)
    path = write(income=generator.normal(0, 1000, 50), age=generator.normal(0, 10, 50))
    [warning] = map(str, prepare(path, options(), READING).warnings)
    assert "'income'" in warning
    assert "99.9% of the variance" in warning
    assert "--scale minmax" in warning
    assert prepare(path, options(scale="minmax"), READING).warnings == ()
    assert prepare(path, options(columns=("income",)), READING).warnings == ()


def test_numbers_at_the_edge_of_a_double_raise_no_warning(write):
    [warning] = map(str, prepare(write(a=[1e308, -1e308, 1e307], b=[1e-300, 0.0, 1e-300]), options(), READING).warnings)
    assert "'a'" in warning


def test_weights(write):
    path = write(a=[1, 5, 3], w=[1, 2.5, 0.5])
    loaded = prepare(path, options(weight="w"), READING)
    assert loaded.table.names == ["a"]
    assert loaded.weight.tolist() == [1, 2.5, 0.5]
    assert prepare(path, options(weight="w", columns=("a",)), READING).weight is not None
    with pytest.raises(DataError, match="no column 'v'"):
        prepare(path, options(weight="v"), READING)
    with pytest.raises(DataError, match="no column besides .*'w'"):
        prepare(path, options(weight="w", exclude=("a",)), READING)
    with pytest.raises(DataError, match="weights 'w' .*not numbers"):
        prepare(write(a=[1, 5], w=["x", "y"]), options(weight="w"), READING)
    with pytest.raises(DataError, match=r"missing in 'w' \(1 row\)"):
        prepare(write(a=[1, 5], w=[1, ""]), options(weight="w"), READING)
    dropped = prepare(write(a=[1, 5, 6], w=[1, "", 2]), options(weight="w", drop_missing=True), READING)
    assert dropped.weight.tolist() == [1, 2]


def test_a_column_dominates_by_the_weights_of_its_rows(write):
    path = write(a=[1000, 5, 5, 6, 7], b=[1, 5, 2, 9, 5], w=[0, 1, 1, 1, 1])
    assert prepare(path, options(weight="w"), READING).warnings == ()
    [warning] = map(str, prepare(path, options(exclude=("w",)), READING).warnings)
    assert "column 'a'" in warning


def test_rows_of_no_weight_make_no_column_vary(write):
    path = write(color=["red", "blue", "red"], a=[1, 1, 2], b=[1, 1, 3], w=[1, 1, 0])
    loaded = prepare(path, options(weight="w"), READING)
    assert loaded.warnings == ()
    assert loaded.notes[0].fact == "2 columns have only one value and are not used: 'a' (1), 'b' (1)"


def test_numbers_that_no_float_tells_apart_have_no_variance(write):
    big = 2**60
    path = write(a=[big, big + 1, big, big + 2], b=[big, big + 2, big + 1, big])
    assert prepare(path, options(columns=("a", "b")), READING).warnings == ()


def test_only_clustered_columns_are_judged_for_clustering(write):
    path = write(a=[1, 2, 1, 2, 1, 2], b=[1000, 2, 5, 7, 8, 11], c=[5, 5, 6, 6, 7, 7])
    with pytest.raises(DataError, match="3 clusters .* 2 distinct rows"):
        prepare(path, options(clusters=3, columns=("a",), explain=("b",)), READING)
    loaded = prepare(path, options(columns=("c", "a"), explain=("b", "a")), READING)
    assert (loaded.cluster_columns, loaded.explain_columns) == (["c", "a"], ["b", "a"])
    assert loaded.warnings == ()


def test_rows_left_out_lose_their_labels_too(write):
    path = write(a=[1, "", 3, 4, 5], c=["x", "y", "", "y", "x"])
    loaded = prepare(path, options(clusters=None, labels="c", drop_missing=True), READING)
    assert loaded.labels.values.tolist() == ["x", None, "y", "x"]
    assert loaded.table.names == ["a"]

"""Dates, points in time and durations: as numbers, as text, in tables, and in every form of the rules."""

from __future__ import annotations

import re
import tempfile
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from commandline import call, refused
from databases import of, on
from draws import draws
from hypothesis import example, given
from hypothesis import strategies as st
from rulesets import TIMED, as_columns, boundary_rows, make_rules, route, rule_sets, times

from shallowrules import ExplainableKMeans, RuleSet, export
from shallowrules.errors import DataError, ExportError, MissingExtraError, RulesFormatError, ShallowRulesWarning
from shallowrules.exporters.sheet_reading import text_of_sheet
from shallowrules.rules.conditions import is_empty
from shallowrules.rules.words.editing import edit
from shallowrules.rules.words.written import read_rules
from shallowrules.sources import read_table
from shallowrules.tables.given import column_of
from shallowrules.tables.table import Table
from shallowrules.tables.times import (
    DAY,
    TIME_TYPES,
    format_time,
    parse_time,
    readable_time,
    rounder_times,
    time_level,
    time_of,
    time_range,
    to_time,
)
from shallowrules.verification import verify

FORMS = ["python", "pandas", "polars", "sql"]
"""Exporters whose forms are quick to run."""

all_kinds = pytest.mark.parametrize("kind", TIME_TYPES)
any_time = st.sampled_from(TIME_TYPES).flatmap(lambda kind: st.tuples(st.just(kind), times(kind)))


def load(text):
    """Return the rules of a document."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.json"
        path.write_text(text)
        return RuleSet.from_json(path)


# Numbers and text ------------------------------------------------------------------------------------


@given(any_time)
@example(("date", time_range("date")[-1]))
@example(("duration", time_range("duration")[0]))
def test_what_is_written_is_read_as_it_was(drawn):
    kind, number = drawn
    assert parse_time(kind, format_time(kind, number)) == number
    assert time_of(to_time(kind, number)) == (kind, number)


@given(st.dates())
def test_dates_are_those_of_python(day):
    assert to_time("date", parse_time("date", day.isoformat())) == day
    assert format_time("date", (day - date(1970, 1, 1)).days) == day.isoformat()


@given(
    st.datetimes(),
    st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    st.sampled_from([" ", "T"]),
)
def test_points_in_time_are_those_of_python(moment, zone, separator):
    text = moment.replace(tzinfo=zone).isoformat(separator)
    kind = "timestamp" if zone is None else "timestamptz"
    found = parse_time(kind, text)
    if found is None:  # in UTC it is before the year 1, or after 9999
        assert moment.year in (1, 9999)
    else:
        assert found in time_range(kind)
        assert to_time(kind, found) == moment.replace(tzinfo=zone)
    assert parse_time("timestamptz" if zone is None else "timestamp", text) is None
    assert parse_time("date", text) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("date", "2024-02-30"),
        ("date", "2024-2-3"),
        ("date", "0000-01-01"),
        ("date", "٢٠٢٤-01-01"),
        ("date", "20240101"),
        ("date", "2024-01-01\n"),
        ("timestamp", "2024-01-01 24:00"),
        ("timestamp", "2024-01-01 12:60"),
        ("timestamp", "2024-01-01 12"),
        ("timestamp", "2024-01-01 12:00:00.1234567"),
        ("timestamptz", "2024-01-01 12:00"),
        ("timestamptz", "2024-01-01 12:00+25:00"),
        ("timestamptz", "2024-01-01 12:00+2"),
        ("timestamptz", "2024-01-01 12:00+02:"),
        ("timestamptz", "0001-01-01 00:00+01:00"),
        ("duration", ""),
        ("duration", "-"),
        ("duration", "2 days12:00"),
        ("duration", "1:00:60"),
        ("duration", "9999999 days"),
    ],
)
def test_what_is_no_time(kind, text):
    assert parse_time(kind, text) is None


# The roundest threshold of a gap -----------------------------------------------------------------------


@given(any_time, st.integers(1, 10**15))
def test_a_threshold_is_in_its_gap_and_as_round_as_any_near_it(drawn, wide):
    kind, lower = drawn
    upper = min(lower + wide, time_range(kind)[-1])
    found = readable_time(kind, lower, upper)
    assert lower <= found < upper
    for other in rounder_times(kind, lower, upper):
        assert time_level(kind, other) < time_level(kind, found)
        quarter = (upper - lower) // 4
        assert not (lower + quarter <= other <= upper - quarter and other < upper)


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "expected"),
    [
        ("date", "2023-11-20", "2024-02-10", "2023-12-31"),
        ("date", "2024-03-10", "2024-04-20", "2024-03-31"),
        ("date", "2024-05-10", "2024-06-20", "2024-05-31"),
        ("date", "2024-05-03", "2024-05-09", "2024-05-06"),
        ("date", "2024-05-03", "2024-05-04", "2024-05-03"),
        ("timestamp", "2023-12-31", "2024-01-01", "2023-12-31 23:59:59.999999"),
        ("timestamp", "2024-02-28", "2024-03-01", "2024-02-29 23:59:59.999999"),
        ("timestamp", "2024-05-03 10:00", "2024-05-03 11:00", "2024-05-03 10:59:59.999999"),
        ("duration", "2 days", "3 days", "2 days"),
        ("duration", "00:00", "01:00", "00:00"),
        ("timestamp", "2024-05-03 07:13:05", "2024-05-05 21:00", "2024-05-04 23:59:59.999999"),
        ("timestamp", "2024-05-03 07:13:05", "2024-05-03 10:45", "2024-05-03 08:59:59.999999"),
        ("duration", "1 day 03:00", "3 days 07:00", "2 days"),
        ("duration", "-01:00", "01:00", "00:00"),
    ],
)
def test_years_months_and_days_come_first(kind, lower, upper, expected):
    found = readable_time(kind, *(parse_time(kind, text) for text in (lower, upper)))
    assert format_time(kind, found) == expected


# Tables ------------------------------------------------------------------------------------------------


DAYS = [date(2024, 3, 31), None, date(1969, 12, 31)]
MOMENTS = [datetime(2024, 3, 31, 12, 30, 0, 5), None, datetime(1969, 12, 31, 23, 59, 59, 999_999)]
SPANS = [timedelta(days=2, hours=12, microseconds=5), None, timedelta(microseconds=-1)]
BERLIN = timezone(timedelta(hours=2))


def held(values):
    """Return values in columns of every library, with the type that each column is read as."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    kind, _ = time_of(values[0])
    yield kind, values
    yield kind, pl.Series(values)
    yield kind, pd.Series(pa.array(values)).astype(pd.ArrowDtype(pa.array(values).type))
    if kind in ("timestamp", "duration"):
        dtype = "M8" if kind == "timestamp" else "m8"
        yield kind, np.array(values, dtype=f"{dtype}[us]")
        yield kind, pd.Series(values, dtype=f"{dtype}[ns]")
        yield kind, pl.Series(values).cast(pl.Datetime("ns") if kind == "timestamp" else pl.Duration("ns"))
    if kind == "date":
        yield kind, np.array(values, dtype="M8[D]")
    if kind == "timestamptz":
        yield kind, pd.Series([None if v is None else v.astimezone(UTC) for v in values], dtype="datetime64[us, UTC]")
        yield kind, pl.Series([v and v.replace(tzinfo=None) for v in values]).dt.replace_time_zone("Europe/Berlin")


@pytest.mark.parametrize(
    "values", [DAYS, MOMENTS, SPANS, [v and v.replace(tzinfo=BERLIN) for v in MOMENTS]], ids=TIME_TYPES
)
def test_columns_of_every_library(values):
    for library in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(library)
    expected = [0 if value is None else time_of(value)[1] for value in values]
    for number, (kind, data) in enumerate(held(values)):
        column = column_of("t", data)
        assert (number, column.type, column.absent.tolist()) == (number, kind, [False, True, False])
        if "Berlin" not in str(getattr(data, "dtype", "")):
            assert column.values.tolist() == expected


def test_what_is_finer_than_a_microsecond_is_cut_off_towards_the_past():
    for unit, kind in (("M8[ns]", "timestamp"), ("m8[ns]", "duration")):
        column = column_of("t", np.array([-1, -1001, 999, 1000], dtype=unit))
        assert (column.type, column.values.tolist()) == (kind, [-1, -2, 0, 1])


def test_times_beyond_the_years_are_refused():
    with pytest.raises(DataError, match="column 'born' .* 1 to 9999"):
        column_of("born", np.array(["-0044-03-15"], "M8[s]"))


@pytest.mark.parametrize(
    "value", [timedelta.max, timedelta(9_999_999), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))]
)
def test_times_of_python_beyond_the_years_are_refused(value):
    with pytest.raises(DataError, match="column 't' .* 1 to 9999"):
        Table.of({"t": np.array([value, None], dtype=object)})


@pytest.mark.parametrize("nothing", [None, float("nan"), np.datetime64("NaT", "us"), "pd.NaT", "pd.NA"])
@pytest.mark.parametrize("value", [date(2024, 3, 31), datetime(2024, 3, 31, 12), timedelta(3)])
def test_nothing_beside_times_is_missing(nothing, value):
    if isinstance(nothing, str):
        nothing = getattr(pytest.importorskip("pandas"), nothing.removeprefix("pd."))
    column = Table.of({"t": np.array([value, nothing], dtype=object)})["t"]
    assert column.is_time
    assert column.absent.tolist() == [False, True]


@pytest.mark.parametrize("unit", ["D", "ns", "h"])
@pytest.mark.parametrize("nature", ["M8", "m8"])
def test_an_array_of_times_holds_times(nature, unit):
    X = np.array([[0], [1], [1000], [1001]]).astype(f"{nature}[{unit}]")
    model = ExplainableKMeans(2, random_state=0).fit(X)
    assert model.rules_.columns[0].is_time
    assert model.predict(X).tolist() == model.labels_.tolist()
    assert model.rules_.assign(X).tolist() == model.labels_.tolist()
    masked = np.ma.masked_array(X, [[True], *[[False]] * 3])
    X[0] = "NaT"
    for missing in (X, masked):
        with pytest.raises(DataError, match="missing"):
            ExplainableKMeans(2).fit(missing)


def test_times_of_several_kinds_are_no_column():
    assert column_of("t", [date(2024, 1, 1), datetime(2024, 1, 1)]).type == "other"
    with pytest.raises(DataError, match="mixed or nested"):
        ExplainableKMeans(2).fit(Table.of({"t": [date(2024, 1, 1), datetime(2024, 1, 1), date(2024, 1, 2)]}))


READ = {
    ("date", "date"): "2024-03-31",
    ("date", "timestamp"): "2024-03-31 12:30",
    ("timestamp", "date"): "2024-03-31",
    ("timestamptz", "timestamptz"): "2024-03-31 12:30Z",
    ("duration", "duration"): "2 days",
}


@all_kinds
@pytest.mark.parametrize("given", [*TIME_TYPES, "text", "integer"])
def test_which_columns_rules_read(kind, given):
    rules = make_rules([("t", kind)], (0, 0, 0, 1))
    if given == "integer":
        column = column_of("t", [5])
    elif given == "text":
        column = column_of("t", [format_time(kind, 1)])
    else:
        text = READ.get((kind, given), READ.get((given, given), "2024-03-31"))
        column = column_of("t", [to_time(given, parse_time(given, text))])
    if given == "text" or (kind, given) in READ or kind == given:
        assert rules.assign(Table((column,), 1)).tolist() == [1]
        return
    with pytest.raises(DataError, match="column 't' .*(dates|points|durations).*convert"):
        rules.assign(Table((column,), 1))


def test_of_a_text_of_a_point_in_time_rules_on_dates_ask_the_day():
    rules = make_rules([("t", "date")], (0, parse_time("date", "2024-03-31"), 0, 1))
    texts = ["2024-03-31 23:59:59.999999", "2024-04-01T00:00", " 2024-03-31 ", "2024-04-01 12:30"]
    assert rules.assign({"t": texts}).tolist() == [0, 1, 0, 1]
    for text in ("2024-04-01 12:30Z", "2024-04-01T", "2024-02-30 12:00", "2024-03-31 24:00"):
        with pytest.raises(DataError, match="column 't' holds dates, but row 1 has"):
            rules.assign({"t": [text]})


def test_a_text_that_is_no_time_is_named_with_its_row():
    rules = make_rules([("t", "date")], (0, 0, 0, 1))
    assert rules.assign({"t": ["2024-01-01", "", None, " 1969-01-01 "]}).tolist() == [1, -1, -1, 0]
    with pytest.raises(DataError, match="column 't' holds dates, but row 2 has '31.12.2024'"):
        rules.assign({"t": ["2024-01-01", "31.12.2024"]})


# Fitting ------------------------------------------------------------------------------------------------


def dated_table(seed, kind, n_rows=60):
    """Return a table of times of a kind and numbers, and the same with the numbers of the times."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    wide = 1 if kind == "date" else DAY
    numbers = (group * 90 + rng.integers(0, 60, n_rows)) * wide + rng.integers(0, wide, n_rows)
    x = rng.normal(size=n_rows) + group
    dated = {"t": [to_time(kind, int(number)) for number in numbers], "x": x}
    return Table.of(dated), Table.of({"t": numbers, "x": x})


@pytest.mark.slow
@all_kinds
@pytest.mark.parametrize("refine", ["none", "full"])
def test_times_are_clustered_as_their_numbers(kind, refine):
    for seed in range(4):
        dated, numbers = dated_table(seed, kind)
        fits = [
            ExplainableKMeans(3, random_state=0, scale="standard", refine=refine, round_within=0).fit(data)
            for data in (dated, numbers)
        ]
        assert fits[0].labels_.tolist() == fits[1].labels_.tolist()
        assert fits[0].predict(dated).tolist() == fits[0].labels_.tolist()
        assert [rule.size for rule in fits[0].rules_] == [rule.size for rule in fits[1].rules_]
        [column] = [column for column in fits[0].rules_.columns if column.name == "t"]
        assert column.type == kind
        assert load(fits[0].rules_.to_json()) == fits[0].rules_


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("never", ["9999-12-31", "0001-01-01"])
def test_a_day_that_stands_for_never(kind, never):
    dated, _ = dated_table(2, kind)
    numbers = dated["t"].values.copy()
    numbers[::3] = parse_time(kind, never)
    table = Table((replace(dated["t"], values=numbers), dated["x"]), len(numbers))
    model = ExplainableKMeans(2, random_state=0, scale="standard").fit(table)
    assert 0 in model.rules_.tested_columns
    assert model.predict(table).tolist() == model.labels_.tolist()
    cuts = [node.threshold for node in model.rules_.nodes if hasattr(node, "threshold") and node.column == 0]
    assert all(time_level(kind, cut) == 1 for cut in cuts)


def test_round_within_finds_months():
    dated, _ = dated_table(3, "date", 4000)
    model = ExplainableKMeans(3, random_state=0, scale="standard", round_within=0.02).fit(dated)
    cuts = [node.threshold for node in model.rules_.nodes if hasattr(node, "threshold") and node.column == 0]
    assert cuts
    assert all(time_level("date", cut) <= 2 for cut in cuts)


def test_a_missing_date_is_imputed_and_said():
    dated, _ = dated_table(1, "date")
    dated = Table.of({"t": [None, *dated["t"].values[1:].astype("M8[D]").tolist()], "x": dated["x"].values})
    rules = ExplainableKMeans(3, random_state=0, scale="standard", impute="median").fit(dated).rules_
    [column] = [column for column in rules.columns if column.name == "t"]
    shown = format_time("date", column.imputed)
    assert any(f"{shown}, the median" in note for note in rules.statistics.notes)
    assert f'"t" counts as {shown}.' in export(rules, "sql", dialect="duckdb")
    assert f"({shown} where missing)" in export(rules, "markdown")


def test_weights_are_no_times_and_labels_are_their_text():
    dated, _ = dated_table(0, "date")
    with pytest.raises(DataError, match="sample_weight .* dates"):
        ExplainableKMeans(2).fit(dated.select(["x"]), sample_weight=dated["t"])
    labels = [to_time("date", number).replace(day=1) for number in dated["t"].values.tolist()]
    with pytest.warns(ShallowRulesWarning, match="their given label"):
        named = ExplainableKMeans(2, clusterer=labels).fit(dated.select(["x"])).rules_
    assert {cluster.name for cluster in named.clusters} <= {label.isoformat() for label in labels}


# Every form -------------------------------------------------------------------------------------------------


@draws(60, deadline=None)
@given(rule_sets(kinds=TIMED, max_depth=3, floats=st.integers(-9, 9).map(float)), st.integers(0, 999), st.booleans())
def test_every_form_gives_the_labels_of_the_tree(rules, seed, imputes):
    for package in ("pandas", "polars", "duckdb"):
        pytest.importorskip(package)
    if imputes:
        columns = tuple(replace(c, imputed=c.minimum if c.is_numeric else c.values[0]) for c in rules.columns)
        rules = replace(rules, columns=columns)
    rows = boundary_rows(rules, seed)
    table = as_columns(rules, rows)
    if not imputes:
        assert rules.assign(table).tolist() == [route(rules, row) for row in rows]
    for comparison in verify(rules, table, ["duckdb"], exporters=FORMS):
        assert comparison.disagreements == 0, comparison
        assert comparison.rows


@draws(40, deadline=None)
@given(rule_sets(kinds=("date", "timestamp", "text"), max_depth=3), st.integers(0, 999), st.booleans())
def test_sqlite_gives_the_labels_of_the_tree(rules, seed, imputes):
    if imputes:
        columns = tuple(replace(c, imputed=c.minimum if c.is_numeric else c.values[0]) for c in rules.columns)
        rules = replace(rules, columns=columns)
    for comparison in verify(rules, as_columns(rules, boundary_rows(rules, seed)), ["sqlite"], exporters=["sql"]):
        assert comparison.disagreements == 0, comparison


pieces = st.sampled_from(
    [
        *"0123456789-:.T ZN+\n\t\0é",
        "  ",
        "2024-04-01",
        "2024-02-29",
        "2024-02-30",
        "1969-12-31",
        "0000-00-00",
        " 12:30",
        "T24:00",
        ":59.999999",
        "-02:00",
        "now",
    ]
)


@draws(300, deadline=None)
@given(st.lists(pieces, max_size=7).map("".join), st.sampled_from(TIME_TYPES))
@example("2024-04-01 23:59:59.9999999", "timestamp")
@example("2024-04-01 12:00+02:00", "timestamp")
@example("2024-04-01 12:00Z", "timestamp")
@example("2024-02-30", "date")
@example("2460000.5", "date")
@example(" 2024-04-01", "date")
@example("2024-03-31 12:00 ", "timestamp")
@example("0000-01-01", "date")
@example("2024-04-01 12:00", "date")
@example("2024-03-31  13:31", "timestamp")
@example("2024-04-01T", "timestamp")
@example("2024-03-31 24:00", "timestamp")
@example("2024-03-31 12:00:00.1\0002", "timestamp")
@example("2024-03-31 12:00:00.1.2", "timestamp")
def test_a_text_is_a_time_to_python_and_sqlite_where_it_is_one_to_the_tree(text, kind):
    rules = make_rules([("t", kind)], (0, parse_time(kind, READ.get((kind, kind), "2024-04-01")) or 0, 0, 1))
    try:
        [expected] = rules.assign({"t": [text]})
    except DataError:
        expected = None
    namespace = {}
    exec(export(rules, "python"), namespace)
    try:
        found = namespace["assign_cluster"]({"t": text})
    except TypeError:
        assert expected is None
    else:
        assert expected == (-1 if found is None else found)
    if kind in ("date", "timestamp"):
        import sqlite3

        with closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE TABLE data (t TEXT)")
            database.execute("INSERT INTO data VALUES (?)", [text])
            query = f"SELECT {export(rules, 'sql', dialect='sqlite', style='case')} FROM data"
            [[label]] = database.execute(query).fetchall()
        assert label == (None if expected in (None, -1) else expected)


@pytest.mark.renders
def test_pages_take_times():
    pytest.importorskip("playwright")
    rules = make_rules(
        [("d", "date"), ("t", "timestamp"), ("z", "timestamptz"), ("u", "duration")],
        (
            0,
            parse_time("date", "2024-03-31"),
            (1, parse_time("timestamp", "1969-12-31 12:30") - 1, 0, 1),
            (2, parse_time("timestamptz", "2024-04-01 12:30:05.000001Z") - 1, 2, (3, -93_600_000_001, 3, 4)),
        ),
    )
    rows = boundary_rows(rules, 0, 30)
    try:
        comparisons = list(verify(rules, as_columns(rules, rows), exporters=["html"]))
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    assert [(c.form, c.disagreements) for c in comparisons if "page" in c.form] == [("page in chromium", 0)]


@pytest.mark.parametrize("exporter", ["python", "pandas", pytest.param("html", marks=pytest.mark.renders)])
def test_every_form_takes_the_day_of_a_text(exporter):
    rules = make_rules([("t", "date")], (0, parse_time("date", "2024-03-31"), 0, 1))
    texts = ["2024-03-31 23:59:59.999999", "2024-04-01T00:00", " 2024-03-31 12:30 ", "2024-04-01", "", None]
    try:
        comparisons = list(verify(rules, {"t": np.array(texts, dtype=object)}, exporters=[exporter]))
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    assert len(comparisons) > 1
    assert [(comparison.form, comparison.disagreements) for comparison in comparisons] == [
        (comparison.form, 0) for comparison in comparisons
    ]
    assert all(comparison.rows >= len(texts) - 2 for comparison in comparisons)


@pytest.mark.parametrize("name", ["pmml", "xlsx"])
def test_forms_without_points_in_time_say_so(name):
    if name == "xlsx":
        pytest.importorskip("xlsxwriter")
    rules = make_rules([("born", "timestamp")], (0, 0, 0, 1))
    with pytest.raises(ExportError, match=f"'{name}' .*'born'"):
        export(rules, name)


def test_what_a_dialect_does_not_hold_is_refused(words):
    said = []
    for dialect, kind, threshold in (
        ("sqlite", "duration", 0),
        ("sqlite", "timestamptz", 0),
        ("clickhouse", "duration", 0),
        ("clickhouse", "date", -40_000),
        ("mysql", "duration", 900 * 3600 * 10**6),
        ("mysql", "timestamptz", 10**16),
    ):
        with pytest.raises(ExportError, match="'t'") as caught:
            export(make_rules([("t", kind)], (0, threshold, 0, 1)), "sql", dialect=dialect)
        said.append((f"{dialect}, {kind}, {threshold}", str(caught.value)))
    words(said)


@pytest.mark.parametrize(
    ("kind", "threshold"), [("date", 10**7), ("timestamp", 10**18), ("date", time_range("date")[-1]), ("duration", 0.5)]
)
def test_documents_with_no_such_time_are_refused(kind, threshold):
    document = make_rules([("t", kind)], (0, 5, 0, 1)).to_json()
    damaged = document.replace('"threshold": 5', f'"threshold": {threshold}')
    assert damaged != document
    with pytest.raises(RulesFormatError, match="1 to 9999|the last|whole number"):
        load(damaged)


# Printed and read back ---------------------------------------------------------------------------------------


@draws(150, deadline=None)
@given(rule_sets(kinds=TIMED, max_depth=3))
def test_what_is_printed_is_read_back(rules):
    if any(is_empty(condition) for rule in rules for condition in rule.conditions):
        return
    asked, names = read_rules(str(rules), rules.columns, rules.clusters)
    assert not names
    assert {frozenset(rule.conditions) for rule in asked} == {frozenset(rule.conditions) for rule in rules}
    sheet = text_of_sheet(export(rules, "markdown"), rules)
    assert [node for node in edit(rules, text=sheet).nodes if hasattr(node, "threshold")] == [
        node for node in edit(rules, text=str(rules)).nodes if hasattr(node, "threshold")
    ]


def test_times_are_written_as_people_do(words):
    rules = make_rules([("day", "date"), ("seen", "timestamp")], (0, 19_812, 0, (1, 19_814 * DAY - 1, 1, 2)))
    assert "cluster 0: day <= 2024-03-30" in str(rules)
    assert "day > 2024-03-30 and seen >= 2024-04-01" in str(rules)
    said = sorted(re.findall(r"\| (\*\*day\*\* .*) \|", export(rules, "markdown")))
    both = ["2024-03-30", "2024-04-01"]
    assert [re.findall("[0-9-]{10}", line) for line in said] == [both, both, both[:1]]
    words("\n".join(said))
    edited = edit(
        rules, text=str(rules).replace("2024-04-01", "2024-05-01").replace("day <= 2024-03-30", "day < 2024-03-31")
    )
    assert [node.threshold for node in edited.nodes if hasattr(node, "threshold")] == [19_812, 19_844 * DAY - 1]
    for text, said in (("day <= 30.3.2024", "a time"), ("day <= 2024-02-30", "not a date, .*'day'")):
        with pytest.raises(DataError, match=said):
            edit(rules, text=str(rules).replace("day <= 2024-03-30", text))


# Files -------------------------------------------------------------------------------------------------------


def write_csv(path, rows, header="day,seen,zone,x"):
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")


def rows_of(n_rows=80, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(n_rows):
        group = i % 2
        day = date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 40)) + 100 * group)
        seen = datetime(2024, 5, 1) + timedelta(seconds=int(rng.integers(0, 10**6)) + 3 * 10**6 * group)
        yield day.isoformat(), seen.isoformat(" "), f"{seen.isoformat()}Z", f"{rng.normal() + group:.3f}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
def test_a_file_of_dates_from_end_to_end(folder):
    rows = list(rows_of())
    rows[7] = ("", *rows[7][1:])
    write_csv(folder / "t.csv", rows)
    call("run", "t.csv", "-k", "2", "--impute", "median", "-o", "out")
    rules = RuleSet.from_json("out/rules.json")
    assert [column.type for column in rules.columns] == ["date", "timestamp", "timestamptz", "float"]
    call("label", "out/rules.json", "t.csv", "-o", "labelled.csv")
    labelled = (folder / "labelled.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in labelled[1:]] == [",".join(row) for row in rows]
    call("label", "out/rules.json", "t.csv", "-o", "labelled.parquet")
    call("label", "out/rules.json", "labelled.parquet", "-o", "again.csv", "--cluster-column", "again")
    again = [line.split(",")[-2:] for line in (folder / "again.csv").read_text().splitlines()[1:]]
    assert all(one == other for one, other in again)
    call("run", "t.csv", "-k", "2", "--impute", "median", "-o", "parts", "--memory", "64MB")
    in_parts = RuleSet.from_json("parts/rules.json")
    assert {frozenset(rule.conditions) for rule in in_parts} == {frozenset(rule.conditions) for rule in rules}


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2024-01-01", " 2024-02-03 ", ""], "date"),
        (["2024-01-01", "2024-02-03 12:30"], "timestamp"),
        (["2024-01-01T00:00:00", "2024-02-03 12:30:05.25"], "timestamp"),
        (["2024-01-01 00:00Z", "2024-02-03 12:30+0200"], "timestamptz"),
        (["2024-01-01 00:00", "2024-02-03 12:30+02:00"], "other"),
        (["2024-02-30", "2024-01-01"], "other"),
        (["01.01.2024", "31.12.2024"], "date"),
        (["31.12.2024", "01/01/2024"], "other"),
        (["2024-01-01", "soon"], "text"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesNote")
def test_what_makes_a_column_one_of_times(folder, texts, kind, form):
    import json

    from shallowrules.sources import open_source

    if form == "csv":
        (folder / "t.csv").write_text("t,x\n" + "".join(f"{text},1\n" for text in texts))
    else:
        (folder / "t.json").write_text(json.dumps([{"t": text or None, "x": 1} for text in texts]))
    with open_source(f"t.{form}") as source:
        column = source.table()["t"]
    assert column.type == kind
    if kind in TIME_TYPES:
        shown = [
            None if absent else format_time(kind, v)
            for v, absent in zip(column.values.tolist(), column.absent, strict=True)
        ]
        assert shown[0] in ("2024-01-01", "2024-01-01 00:00Z")


def test_words_for_no_value_beside_dates(folder):
    rows = list(rows_of())
    rows[3] = ("NA", *rows[3][1:])
    write_csv(folder / "t.csv", rows)
    call("run", "t.csv", "-k", "2", "--null", "NA", "--impute", "median", "--columns", "day", "-o", "out")
    rules = RuleSet.from_json("out/rules.json")
    assert (rules.columns[0].type, rules.columns[0].nulls) == ("date", ("NA",))
    call("label", "out/rules.json", "t.csv", "-o", "labelled.csv")
    namespace = {}
    exec((folder / "out/rules.py").read_text(), namespace)
    labels = [line.rpartition(",")[2] for line in (folder / "labelled.csv").read_text().splitlines()[1:]]
    assert labels == [str(namespace["assign_cluster"]({"day": row[0]})) for row in rows]
    rows[5] = ("5th of May", *rows[5][1:])
    write_csv(folder / "t.csv", rows)
    assert re.search("column 'day' .*text, .* date", refused("label", "out/rules.json", "t.csv", "-o", "refused.csv"))


def test_a_row_of_times_is_explained(folder):
    write_csv(folder / "t.csv", rows_of())
    call("run", "t.csv", "-k", "2", "--columns", "day", "-o", "out")
    said = call("explain", "out/rules.json", "--row", "day=2024-01-05").stdout
    assert "day is 2024-01-05: day <= 2024-0" in said
    refusal = refused("explain", "out/rules.json", "--row", "day=May", status=2)
    assert all(part in refusal for part in ("--row: 'May'", "not a date", "column 'day'", " 2024-01-"))


# Databases ---------------------------------------------------------------------------------------------------


TIMED_TYPES = {
    "sqlite": ("DATE", "DATETIME"),
    "duckdb": ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"),
    "postgres": ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"),
    "mysql": ("DATE", "DATETIME(6)", "TIMESTAMP(6) NULL", "TIME(6)"),
}
"""By the dialect of a database: its columns of dates, points in time, those with a zone, and durations."""


def cells(dialect, day, seen, span):
    """Return the values of a row as a database takes them."""
    if dialect == "sqlite":
        return [day and day.isoformat(), seen.isoformat(" ")]
    return [day, seen, seen.replace(tzinfo=UTC), span][: len(TIMED_TYPES[dialect])]


def test_a_table_of_a_database_from_end_to_end(database, fill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = TIMED_TYPES[database.dialect]
    columns = [*zip(("day", "seen", "zone", "span"), kinds, strict=False), ("x", database.types["float"])]
    rng = np.random.default_rng(1)
    rows = []
    for i in range(60):
        day = date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 40)) + 100 * (i % 2))
        seen = datetime(2024, 5, 1) + timedelta(seconds=int(rng.integers(0, 10**6)) + 10**7 * (i % 3), microseconds=i)
        rows.append((*cells(database.dialect, None if i == 4 else day, seen, timedelta(minutes=i * 7)), float(i % 2)))
    fill("timed", columns, rows)
    there = ["--database", database.url, "--table", "timed"]
    made = call("run", *there, "-k", "3", "--impute", "median", "-o", "out", "--tradeoff", "0")
    assert made.exit_code == 0, made.stderr
    rules = RuleSet.from_json("out/rules.json")
    assert [column.type for column in rules.columns] == [*TIME_TYPES[: len(kinds)], "float"]
    assert {rules.columns[feature].is_time for feature in rules.tested_columns} >= {True}
    verified = call("verify", "out/rules.json", *there)
    assert verified.exit_code == 0, verified.stdout
    call("label", "out/rules.json", *there, "-o", "labelled.parquet")
    table = read_table("labelled.parquet")
    assert [table[name].type for name, _ in columns] == [column.type for column in rules.columns]
    assert rules.assign(table).tolist() == table["cluster"].values.tolist()
    assert rules.assign(table).tolist() == rules.assign(as_columns(rules, [numbers_of(row) for row in rows])).tolist()


def numbers_of(row):
    """Return a row of a database with Python values in place of the texts that SQLite stores."""
    return [value_of(value) if isinstance(value, str) else value for value in row]


def value_of(text):
    """Return the date or the point in time that a text means."""
    return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)


@on("duckdb", "postgres")
def test_times_beyond_the_years_are_at_their_ends(database, fill):
    columns = [("d", "DATE"), ("t", "TIMESTAMP"), ("z", "TIMESTAMPTZ")]
    before = "0044-03-15 (BC)" if database.dialect == "duckdb" else "0044-03-15 BC"
    given = ["infinity", "-infinity", "12000-01-01", before]
    fill("far", [("i", database.types["integer"]), *columns], [(i, *[text] * 3) for i, text in enumerate(given)])
    table = read_table(of(database, "far"))
    for name, kind in (("d", "date"), ("t", "timestamp"), ("z", "timestamptz")):
        first, last = time_range(kind)[0], time_range(kind)[-1]
        order = np.argsort(table["i"].values)
        assert table[name].values[order].tolist() == [last, first, last, first]


@pytest.mark.parametrize("adbc", [True, False])
@pytest.mark.parametrize(
    "session", ["", "-c intervalstyle=sql_standard -c datestyle=german -c timezone=Pacific/Kiritimati"]
)
@on("postgres")
def test_settings_of_a_session_change_no_time(database, fill, adbc, session, monkeypatch):
    if not adbc:
        monkeypatch.setattr("shallowrules.sources.database.is_usable", lambda connection: False)
    given = ["1 year", "365 days", "360 days", "-1 month", "2 years -3 days 04:05:06.789", "170000000 years", None]
    zones = ["infinity", "-infinity", "9999-12-31 23:30+00", "0001-01-01 00:30+00", "2024-03-31 12:00+02"]
    zones += ["1969-12-31", None]
    columns = [("i", "INTEGER"), ("t", "INTERVAL"), ("z", "TIMESTAMPTZ"), ("d", "DATE")]
    fill("spans", columns, [(i, *row, "2024-03-31") for i, row in enumerate(zip(given, zones, strict=True))])
    rows = of(database, "spans")
    options = f"{'&' if '?' in rows.database else '?'}options={quote(session)}" if session else ""
    table = read_table(replace(rows, database=rows.database + options))
    order = np.argsort(table["i"].values)
    spans = [day * DAY for day in (360, 365, 360, -30, 717)]
    spans[4] += 4 * 3600 * 10**6 + 5 * 60 * 10**6 + 6_789_000
    assert table["t"].values[order].tolist()[:-1] == [*spans, time_range("duration")[-1]]
    for name in "tz":
        assert table[name].absent[order].tolist() == [False] * 6 + [True]
    first, last = time_range("timestamptz")[0], time_range("timestamptz")[-1]
    moments = [last, first, last + 1 - 1_800_000_000, first + 1_800_000_000]
    assert table["z"].values[order].tolist()[:4] == moments
    assert table["z"].values[order].tolist()[4] == parse_time("timestamptz", "2024-03-31 10:00Z")
    assert set(table["d"].values.tolist()) == {parse_time("date", "2024-03-31")}


def test_arrow_columns_with_a_zone_are_no_points_in_time_without_one():
    pa = pytest.importorskip("pyarrow")
    rules = make_rules([("t", "timestamp")], (0, parse_time("timestamp", "2024-04-01") - 1, 0, 1))
    namespace = {}
    exec(export(rules, "python", vectorized=True), namespace)
    naive = pa.array([datetime(2024, 3, 31, 23), datetime(2024, 4, 1)], pa.timestamp("us"))
    assert namespace["assign_clusters"](pa.table({"t": naive})).tolist() == [0, 1]
    with pytest.raises(TypeError, match="is not a point"):
        namespace["assign_clusters"](pa.table({"t": naive.cast(pa.timestamp("us", "America/New_York"))}))


@pytest.mark.renders
def test_durations_from_end_to_end(folder):
    duckdb = pytest.importorskip("duckdb")
    hours = [*range(10), *range(100, 120), *range(500, 520)]
    rows = ", ".join(f"(INTERVAL '{hour} hours', {i % 3})" for i, hour in enumerate(hours))
    with duckdb.connect() as database:
        database.execute(f"COPY (SELECT * FROM (VALUES {rows}) AS t (stay, x)) TO '{folder / 'd.parquet'}'")
    made = call("run", "d.parquet", "-k", "3", "--scale", "standard", "-o", "out")
    assert made.exit_code == 0, made.stderr
    assert re.search("rules.sql .* dialect 'ansi' .* duration", " ".join(made.stderr.split()))
    assert not Path("out/rules.sql").exists()
    assert Path("out/report.md").exists()
    again = call("run", "--settings", "out/settings.json", "-o", "again")  # a run that left a form out can be repeated
    assert again.exit_code == 0, again.stderr
    assert Path("again/rules.json").read_bytes() == Path("out/rules.json").read_bytes()
    assert "sql" in refused("run", "d.parquet", "-k", "3", "--write", "sql", "-o", "named")
    verified = call("verify", "out/rules.json", "d.parquet")
    assert verified.exit_code == 0, verified.stdout
    assert re.search("sqlite: dialect 'sqlite' .* duration", " ".join(verified.stdout.split()))


def test_label_reads_durations_of_a_file_of_text(folder):
    rules = make_rules([("t", "duration")], (0, 2 * DAY, 0, 1))
    rules.to_json("rules.json")
    texts = ["2 days", "2 days 00:00:01", "-3 days 12:00", "99:59", " 49:00:00.5 ", ""]
    Path("t.csv").write_text("t\n" + "".join(f'"{text}"\n' for text in texts))
    call("label", "rules.json", "t.csv", "-o", "out.csv")
    assert [line.rpartition(",")[2] for line in Path("out.csv").read_text().splitlines()[1:]] == [
        *("0", "1", "0", "1", "1", ""),
    ]
    Path("t.csv").write_text("t\n9999999 days\n")  # beyond what rules compare
    refusal = refused("label", "rules.json", "t.csv", "-o", "out.csv", "--force")
    assert re.search("column 't' .*text, .* duration", refusal)

"""Dates, points in time and durations: as numbers, as text, and in tables."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rulesets import make_rules, times

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError
from shallowrules.tables.given import column_of
from shallowrules.tables.table import Table
from shallowrules.tables.times import (
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

all_kinds = pytest.mark.parametrize("kind", TIME_TYPES)
any_time = st.sampled_from(TIME_TYPES).flatmap(lambda kind: st.tuples(st.just(kind), times(kind)))


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


@pytest.mark.parametrize("values", [[np.datetime64("NaT")] * 2, np.array(["NaT", "NaT"], "M8")])
def test_nothing_but_missing_points_in_time_have_no_unit_and_are_missing(values):
    column = column_of("t", np.array(values))
    assert (column.type, column.absent.tolist()) == ("timestamp", [True, True])


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

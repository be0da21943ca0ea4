"""Dates, points in time and durations in every form of the rules."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from draws import draws
from hypothesis import example, given
from hypothesis import strategies as st
from rulesets import TIMED, as_columns, boundary_rows, loaded, make_rules, route, rule_sets

from shallowrules import export
from shallowrules.errors import DataError, ExportError, MissingExtraError, RulesFormatError
from shallowrules.exporters.sheet_reading import text_of_sheet
from shallowrules.exporters.sql import LABELLING_STYLES
from shallowrules.rules.conditions import is_empty
from shallowrules.rules.words.editing import edit
from shallowrules.rules.words.written import read_rules
from shallowrules.tables.times import (
    DAY,
    TIME_TYPES,
    parse_time,
    time_range,
)
from shallowrules.verification import verify

FORMS = ["python", "pandas", "polars", "sql"]
"""Exporters whose forms are quick to run."""

WRITTEN = {"date": "2024-03-31", "timestamp": "2024-04-01", "timestamptz": "2024-03-31 12:30Z", "duration": "2 days"}
"""A text of each type of time."""


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
    comparisons = list(verify(rules, table, ["duckdb"], exporters=FORMS))
    assert len(comparisons) > len(FORMS)
    for comparison in comparisons:
        assert comparison.disagreements == 0, comparison
        assert comparison.rows


@draws(40, deadline=None)
@given(rule_sets(kinds=("date", "timestamp", "text"), max_depth=3), st.integers(0, 999), st.booleans())
def test_sqlite_gives_the_labels_of_the_tree(rules, seed, imputes):
    if imputes:
        columns = tuple(replace(c, imputed=c.minimum if c.is_numeric else c.values[0]) for c in rules.columns)
        rules = replace(rules, columns=columns)
    comparisons = list(verify(rules, as_columns(rules, boundary_rows(rules, seed)), ["sqlite"], exporters=["sql"]))
    assert len(comparisons) > len(LABELLING_STYLES)
    for comparison in comparisons:
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
    rules = make_rules([("t", kind)], (0, parse_time(kind, WRITTEN[kind]) or 0, 0, 1))
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
        loaded(damaged)


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

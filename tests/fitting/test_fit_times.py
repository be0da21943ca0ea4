"""Dates, points in time and durations in a fit: clustered as their numbers, imputed, and rounded to months."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rulesets import loaded

from shallowrules import ExplainableKMeans, export
from shallowrules.errors import DataError, ShallowRulesWarning
from shallowrules.tables.table import Table
from shallowrules.tables.times import (
    DAY,
    TIME_TYPES,
    format_time,
    parse_time,
    time_level,
    to_time,
)


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
@pytest.mark.parametrize("kind", TIME_TYPES)
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
        assert loaded(fits[0].rules_.to_json()) == fits[0].rules_


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

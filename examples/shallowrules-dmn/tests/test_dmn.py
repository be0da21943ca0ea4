"""The decision table: checked against the contract, and executed by a rule engine."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shallowrules_dmn import DmnExporter, _literal

import shallowrules
from shallowrules.errors import ExportError, OptionError
from shallowrules.rules import RuleSet


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    kind = random.choice(np.array(["red", "green", "blue", "a b, c"], object), 600)
    shift = {"red": 0, "green": 3, "blue": 6, "a b, c": 9}
    width = random.normal(0, 1, 600) + np.array([shift[k] for k in kind])
    return pd.DataFrame({"width": width, "length": random.normal(5, 2, 600), "kind": kind, "flag": width > 4})


@pytest.fixture(scope="module")
def rules(table):
    return shallowrules.ExplainableKMeans(6, scale="minmax", random_state=0).fit(table).rules_


def test_the_contract():
    with pytest.raises(ExportError, match="FEEL cannot have the name"):
        shallowrules.check_exporter(DmnExporter)  # a column of its samples has a name that FEEL cannot have
    shallowrules.check_exporter(DmnExporter, columns={'a "quoted" `name` | <b>': "a"})


def test_it_is_installed(rules):
    assert "dmn" in shallowrules.exporter_names()
    text = shallowrules.export(rules, "dmn", decision="segment", hit_policy="FIRST")
    assert 'hitPolicy="FIRST"' in text
    assert text.count("<rule ") == len(rules)


def test_what_is_refused(rules):
    with pytest.raises(OptionError, match="hit_policy"):
        shallowrules.export(rules, "dmn", hit_policy="SOME")
    with pytest.raises(ExportError, match="decision"):
        shallowrules.export(rules, "dmn", decision="a b")
    with pytest.raises(ExportError, match="column"):
        shallowrules.export(rules, "dmn", columns={rules.columns[rules.tested_columns[0]].name: "a-b"})


def rows_of(rules: RuleSet, table):
    """Return rows of the table, and rows on each threshold, beside it, and without a value."""
    names = [rules.columns[feature].name for feature in rules.tested_columns]
    rows = table[names].astype(object).head(100).to_dict("records")
    for node in rules.nodes:
        if hasattr(node, "threshold"):
            name = rules.columns[node.column].name
            beside = (math.nextafter(node.threshold, -math.inf), math.nextafter(node.threshold, math.inf))
            rows += [{**rows[i], name: value} for i in range(5) for value in (node.threshold, *beside)]
    rows += [{**row, name: None} for row in rows[:20] for name in names]
    return [*rows, {**rows[0], "kind": "a new one"}] if "kind" in names else rows


def test_quotes_and_backslashes_in_a_category():
    assert _literal('a "b" \\ c') == '"a \\"b\\" \\\\ c"'  # pyDMNrules itself takes no such value in a row
    with pytest.raises(ExportError, match="cannot be printed"):
        _literal("a\nb")


def test_a_rule_engine_gives_the_clusters_of_the_tree(rules, table, tmp_path):
    engine = pytest.importorskip("pyDMNrules", reason="pyDMNrules is not installed").DMN()
    path = Path(tmp_path) / "clusters.dmn"
    path.write_text(shallowrules.export(rules, "dmn"), encoding="utf-8")
    assert engine.loadXML(str(path)) == {}
    rows = rows_of(rules, table)
    expected = rules.assign(pd.DataFrame(rows, columns=list(table), dtype=object)).tolist()
    found = []
    for row in rows:
        status, decision = engine.decide(row)
        found.append(-1 if "errors" in status else int(decision["Result"]["cluster.cluster"]))
    assert found == expected
    assert -1 in found
    assert len(set(found)) > 3

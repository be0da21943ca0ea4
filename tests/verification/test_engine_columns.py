"""Columns in an engine's own types: texts of every collation under every setting, whole numbers, and writing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import cases
from columntypes import Texts
from comparing import GUARDS
from databases import marked
from rulesets import make_rules
from run import Run

from shallowrules.exporters import export
from shallowrules.verification.engines import ENGINES

pytestmark = pytest.mark.slow

CHOSEN = ("text, words, imputed", "integer, small, words, imputed")
"""Cases of the conformance run, which are run under each setting of the engine too."""

OF_SPARK = ("STRING COLLATE UTF8_LCASE",)
"""Spark plans a query for seconds; `make conformance` runs all of its types and cases."""

ALL_ENGINES = pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)


@ALL_ENGINES
def test_texts_in_columns_of_every_type(engine):
    run = Run(engine, engine.dialect, GUARDS)
    run.columns = [
        kind
        for kind in run.columns
        if isinstance(kind.holds, Texts) and (engine.dialect != "spark" or str(kind) in OF_SPARK)
    ]
    assert [result.findings for result in run.results.values()] == [[]] * len(GUARDS)
    for case in cases():
        if case.name in CHOSEN[: 1 if engine.dialect == "spark" else None]:
            assert case.settings
            run.case(case)
    for result in run.results.values():
        assert {kind for _, kind in result.cells} == {str(kind) for kind in run.columns}
        assert result.guards == "usual" or {kind for _, kind in result.rows} == {str(kind) for kind in run.columns}
        assert (dict(result.mismatches), result.findings) == ({}, [])


BIG = 2**53


@ALL_ENGINES
def test_whole_numbers_are_doubles_to_a_float_rule(engine):
    """2**53 + 1 is not a double, and the nearest is 2**53."""
    rules = make_rules([("x", "float")], (0, float(BIG), 0, (0, 2.0**62, 1, 2)))
    numbers = [BIG, BIG + 1, BIG + 2, 2**62 + 1, 2**62 + 1024]
    assert rules.assign({"x": numbers}).tolist() == [0, 0, 1, 1, 2]
    engine.create("whole", [("i", engine.types["integer"]), ("x", engine.types["integer"])], list(enumerate(numbers)))
    try:
        case = export(rules, "sql", dialect=engine.dialect, style="case")
        found = engine.query(f"SELECT i, {case} FROM whole ORDER BY i")
    finally:
        engine.drop("whole")
    assert [int(label) for _, label in found] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("engine", ["postgres", "mysql"], indirect=True)
def test_no_text_ends_a_statement_that_writes(engine):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], nulls=("NA",), imputed=0.25),))
    labels = {"1e400": 1, "-1e400": 0, "1e-400": 0, "9" * 300: 1, "1e1000": None, "abc": None, "NA": 0, "4x": None}
    declared = [("i", engine.types["integer"]), ("x", engine.types["text"]), ("cluster", engine.types["integer"])]
    engine.create("written", declared, [(i, text, None) for i, text in enumerate(labels)])
    case = export(rules, "sql", dialect=engine.dialect, style="case")
    try:
        engine.query(f"CREATE TABLE made AS SELECT i, {case}\nAS cluster FROM written")
        engine.query(f"UPDATE written SET cluster = {case}")
        for table in ("made", "written"):
            found = engine.query(f"SELECT cluster FROM {table} ORDER BY i")
            assert [None if label is None else int(label) for (label,) in found] == list(labels.values())
    finally:
        engine.drop("made")
        engine.drop("written")

"""The one definition of numbers, texts and missing values: every form of the rules on the table of cases."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from decimal import Decimal
from itertools import product

import numbercases
import pytest
from databases import marked
from draws import spread
from numbercases import MISSING, NEITHER, READINGS, TEXTS
from rulesets import make_rules

from shallowrules.errors import DataError
from shallowrules.exporters import export
from shallowrules.files import Reading
from shallowrules.labelling.files import label_file
from shallowrules.labelling.writing import Output
from shallowrules.verification.engines import ENGINES

IMPUTED = pytest.mark.parametrize("imputed", [False, True], ids=["", "imputed"])
READING = pytest.mark.parametrize("reading", READINGS)


EACH_OF_SPARK = 5
"""Spark, which plans a query for seconds, is asked for one threshold in this many; `make conformance` asks for more."""

ALL_ENGINES = pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)


def labels_in(engine, declaration, cells, how, *, imputed):
    """Return for each threshold the labels of cells in a column, by the engine."""
    thresholds = list(how.thresholds)[:: EACH_OF_SPARK if engine.dialect == "spark" else 1]
    engine.create("cells", [("number_of_row", engine.types["integer"]), ("x", declaration)], enumerate_cells(cells))
    try:
        cases = [
            export(how.rules(threshold, imputed=imputed), "sql", dialect=engine.dialect, style="case", guards="full")
            for threshold in thresholds
        ]
        found = engine.query(f"SELECT number_of_row, {', '.join(cases)} FROM cells ORDER BY number_of_row")
    finally:
        engine.drop("cells")
    columns = zip(*((-1 if label is None else int(label) for label in row[1:]) for row in found), strict=True)
    return dict(zip(thresholds, map(list, columns), strict=True))


def enumerate_cells(cells):
    return [(row, cell) for row, (cell, _) in enumerate(cells)]


def expected(cells, how, *, imputed):
    return {
        threshold: [how.label(meaning, threshold, imputed=imputed) for _, meaning in cells]
        for threshold in how.thresholds
    }


def differences(found, wanted, cells):
    """Return the cells that got another label, each once."""
    wrong = {}
    for threshold, labels in found.items():
        for row, (label, right) in enumerate(zip(labels, wanted[threshold], strict=True)):
            if label != right:
                wrong.setdefault(repr(cells[row]), (threshold, label, right))
    return wrong


@pytest.mark.slow
@ALL_ENGINES
@pytest.mark.parametrize(("reading", "imputed"), spread(product(READINGS, [False, True]), 3))
def test_texts_in_every_engine(engine, reading, imputed):
    cells, how = TEXTS[reading], READINGS[reading]
    found = labels_in(engine, engine.types["text"], cells, how, imputed=imputed)
    assert differences(found, expected(cells, how, imputed=imputed), cells) == {}


DECLARED = [(dialect, kind) for dialect, kinds in numbercases.NUMBER_COLUMNS.items() for kind in kinds]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "declaration", "reading", "imputed"),
    spread([(*declared, *how) for declared in DECLARED for how in product(READINGS, [False, True])], 30),
    indirect=["engine"],
)
def test_columns_of_every_type(engine, declaration, reading, imputed):
    cells, how = numbercases.cells_of(engine.dialect, declaration, reading), READINGS[reading]
    found = labels_in(engine, declaration, cells, how, imputed=imputed)
    assert differences(found, expected(cells, how, imputed=imputed), cells) == {}


NUMERIC = [(dialect, kind) for dialect, kind in spread(DECLARED, 10) if numbercases.numbers_of(dialect, kind)]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "declaration"), NUMERIC, indirect=["engine"])
@IMPUTED
def test_columns_of_numbers_that_are_never_text(engine, declaration, imputed):
    cells, how = numbercases.numbers_of(engine.dialect, declaration), numbercases.NUMBERS
    found = labels_in(engine, declaration, cells, how, imputed=imputed)
    assert differences(found, expected(cells, how, imputed=imputed), cells) == {}


def truth_rules(name, imputed):
    rules = make_rules([(name, "boolean")], (0, True, 0, 1))
    return replace(rules, columns=(replace(rules.columns[0], imputed=imputed),))


def truth_labels(engine, declaration, cells, imputed, name="x"):
    engine.create("truths", [("number_of_row", engine.types["integer"]), (name, declaration)], enumerate_cells(cells))
    try:
        case = export(truth_rules(name, imputed), "sql", dialect=engine.dialect, style="case")
        found = engine.query(f"SELECT number_of_row, {case} FROM truths ORDER BY number_of_row")
    finally:
        engine.drop("truths")
    return [None if label is None else int(label) for _, label in found]


def truth_label(cell, truth, imputed):
    truth = imputed if cell is None else truth
    return None if truth is None else int(not truth)


TRUTHS_IMPUTED = pytest.mark.parametrize("imputed", [None, True, False])


@pytest.mark.slow
@ALL_ENGINES
@TRUTHS_IMPUTED
def test_texts_that_are_truth_values(engine, imputed):
    cells = numbercases.TRUTH_TEXTS
    found = truth_labels(engine, engine.types["text"], cells, imputed)
    assert list(zip(cells, found, strict=True)) == [(cell, truth_label(*cell, imputed)) for cell in cells]


TRUTH_DECLARED = [(dialect, kind) for dialect, kinds in numbercases.TRUTH_COLUMNS.items() for kind in kinds]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "declaration"), TRUTH_DECLARED, indirect=["engine"])
@TRUTHS_IMPUTED
def test_truth_values_of_every_type(engine, declaration, imputed):
    values = (True, False, None) if declaration in numbercases.BOOLEANS else (1, 0, None)
    cells = [(value, None if value is None else bool(value)) for value in values]
    found = truth_labels(engine, declaration, cells, imputed, name="true")
    assert found == [truth_label(*cell, imputed) for cell in cells]


@TRUTHS_IMPUTED
def test_truth_values_in_python(imputed):
    namespace = {}
    rules = truth_rules("x", imputed)
    exec(export(rules, "python"), namespace)
    numbers = [(1, True), (0, False), (1.0, True), (-0.0, False), (True, True), (False, False)]
    for cell, truth in [*numbercases.TRUTH_TEXTS, *numbers]:
        right = truth_label(cell, truth, imputed)
        if cell is not None and truth is None:
            with pytest.raises(DataError, match="'x' must hold true and false, but row 1 has"):
                rules.assign({"x": [cell]})
            with pytest.raises(TypeError, match="'x' holds .* not true or false"):
                namespace["assign_cluster"]({"x": cell})
        else:
            assert rules.assign({"x": [cell]}).tolist() == [-1 if right is None else right]
            assert namespace["assign_cluster"]({"x": cell}) == right


# Rows as Python has them: texts beside numbers of every kind that are numbers already.
def python_cells(reading):
    big = numbercases.BIG
    values = [7, 7.0, 0.1, big + 1, Decimal("1.5"), Decimal(big + 1), 10**30, math.inf, 2**63]
    missing = [None, math.nan, Decimal("NaN"), *([-9, -9.0, Decimal("-9.00")] * ("-9" in READINGS[reading].nulls))]
    return [*TEXTS[reading], *((value, value) for value in values), *((value, MISSING) for value in missing)]


@READING
@IMPUTED
def test_assign(reading, imputed):
    how = READINGS[reading]
    cells = [cell for cell in python_cells(reading) if cell[1] != NEITHER]
    wanted = expected(cells, how, imputed=imputed)
    column = [cell for cell, _ in cells]
    found = {t: how.rules(t, imputed=imputed).assign({"x": column}).tolist() for t in how.thresholds}
    assert differences(found, wanted, cells) == {}


@READING
def test_assign_names_the_text_that_is_neither(reading):
    rules = READINGS[reading].rules(0, imputed=True)
    for text, meaning in TEXTS[reading]:
        if meaning == NEITHER:
            with pytest.raises(DataError) as error:
                rules.assign({"x": ["NA", "7", text]})
            assert "'x'" in str(error.value)
            assert "row 3" in str(error.value)
            assert repr(text) in str(error.value)


@READING
@IMPUTED
def test_the_emitted_python(reading, imputed):
    how, cells = READINGS[reading], python_cells(reading)
    wanted = expected(cells, how, imputed=imputed)
    for threshold in how.thresholds:
        namespace = {}
        exec(export(how.rules(threshold, imputed=imputed), "python"), namespace)
        assign = namespace["assign_cluster"]
        for (cell, meaning), right in zip(cells, wanted[threshold], strict=True):
            if meaning == NEITHER:
                with pytest.raises(TypeError, match=r"column 'x' holds"):
                    assign({"x": cell})
            else:
                label = assign({"x": cell})
                assert (-1 if label is None else label) == right, (cell, threshold)


@pytest.mark.slow
@READING
@IMPUTED
def test_label(tmp_path, reading, imputed):
    """Texts as they stand in a CSV file, each quoted."""
    how = READINGS[reading]
    cells = [cell for cell in TEXTS[reading] if cell[1] != NEITHER and cell[0] is not None]
    wanted = expected(cells, how, imputed=imputed)
    for threshold in how.thresholds[::4]:
        counts, labels = labelled(tmp_path, how.rules(threshold, imputed=imputed), [cell for cell, _ in cells])
        assert differences({threshold: labels}, wanted, cells) == {}
        assert sum(counts.values()) == len(cells)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["abc", "4x", "1_0", "0x10", "5\n", "1e"])
@READING
def test_label_names_the_text_that_is_neither(tmp_path, reading, text):
    with pytest.raises(DataError, match=r"'x' holds numbers, but row 2 has "):
        labelled(tmp_path, READINGS[reading].rules(0, imputed=True), ["7", text, "NA", "x"])


def labelled(folder, rules, texts):
    """Return the counts of clusters, and the label of each text of a CSV file."""
    source, target = folder / "texts.csv", folder / "labelled.csv"
    with source.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["row", "x"], *enumerate(texts)])
    counts = label_file(rules, str(source), Output(target), Reading()).counts
    with target.open(newline="") as file:
        found = [row["cluster"] for row in csv.DictReader(file)]
    return counts, [-1 if label == "" else int(label) for label in found]


# A null number that no double is: in a float column the nearest double means it, in one of whole numbers none does.
@pytest.mark.parametrize("words", [(), ("inf",)], ids=["a number", "a number and a word"])
@pytest.mark.parametrize(("kind", "missing"), [("float", {2**53, 2**53 + 1}), ("integer", {2**53 + 1})])
def test_null_numbers_that_no_double_is(running, kind, missing, words):
    rules = make_rules([("x", kind)], (0, 5, 0, (0, 2**53, 1, 1)))
    imputed = {"float": 3.0, "integer": 3}[kind]
    column = replace(rules.columns[0], nulls=("9007199254740993", *words), imputed=imputed)
    rules = replace(rules, columns=(column,))
    namespace = {}
    exec(export(rules, "python"), namespace)
    values = [2.0**53, 2.0**53 + 2, 7.0, 2**53, 2**53 + 1, 2**53 + 2]
    right = [0 if value in missing else 1 for value in values]
    assert [int(rules.assign({"x": [value]})[0]) for value in values] == right
    assert [namespace["assign_cluster"]({"x": value}) for value in values] == right
    for dialect in ("sqlite", "duckdb"):
        engine = running(dialect)
        for place, declaration in enumerate(("DOUBLE", "BIGINT")):
            here = [place * 3 + step for step in range(3)]
            cells = [(values[row], None) for row in here]
            found = null_labels(engine, declaration, cells, rules)
            assert found == [right[row] for row in here]
        assert null_labels(engine, "DOUBLE", [(math.inf, None)], rules) == [1]


def test_a_null_number_with_a_fraction_is_no_whole_number(running):
    rules = make_rules([("x", "integer")], (0, 5, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], nulls=("1.5",), imputed=9),))
    values = [1, 2, 1.5]
    assert rules.assign({"x": values}).tolist() == [0, 0, 1]
    for dialect in ("sqlite", "duckdb"):
        cells = [(value, None) for value in values]
        assert null_labels(running(dialect), "DOUBLE", cells, rules) == [0, 0, 1]


def null_labels(engine, declaration, cells, rules):
    engine.create("nulls", [("number_of_row", engine.types["integer"]), ("x", declaration)], enumerate_cells(cells))
    try:
        case = export(rules, "sql", dialect=engine.dialect, style="case")
        found = engine.query(f"SELECT number_of_row, {case} FROM nulls ORDER BY number_of_row")
    finally:
        engine.drop("nulls")
    return [int(label) for _, label in found]

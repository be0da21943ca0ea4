"""The exporter `xlsx`: the workbook's cells, and what LibreOffice computes in it."""

from __future__ import annotations

import csv
import io
import math
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    boundary_rows,
    chain_rules,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
)

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import check_exporter, export, get_exporter
from shallowrules.exporters.xlsx.exporter import FIRST_ROW, NONE, UNREADABLE
from shallowrules.exporters.xlsx.formulas import column_letters

xlsxwriter = pytest.importorskip("xlsxwriter", reason="XlsxWriter is not installed: pip install 'shallowrules[xlsx]'")

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SHEETS = {
    "Rules": "xl/worksheets/sheet1.xml",
    "Label rows": "xl/worksheets/sheet2.xml",
    "Values": "xl/worksheets/sheet3.xml",
}

CSV_OF_SECOND_SHEET = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,2"


def part(workbook, sheet):
    """Return the XML of a sheet."""
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        return archive.read(SHEETS[sheet]).decode()


def pasted(workbook, rows):
    """Return a workbook with rows pasted where they are to be labelled."""
    xml = part(workbook, "Label rows")
    for number, row in enumerate(rows, start=FIRST_ROW):
        cells = "".join(cell(f"{column_letters(j)}{number}", value) for j, value in enumerate(row) if value is not None)
        xml, n = re.subn(rf'(<row r="{number}"[^>]*>)', lambda found, cells=cells: found[1] + cells, xml)
        assert n == 1
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive, zipfile.ZipFile(changed, "w") as made:
        for name in archive.namelist():
            made.writestr(name, xml if name == SHEETS["Label rows"] else archive.read(name))
    return changed.getvalue()


def cell(place, value):
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        text = ElementTree.Element("t")
        text.text = value
        text.set("xml:space", "preserve")
        return f'<c r="{place}" t="inlineStr"><is>{ElementTree.tostring(text, encoding="unicode")}</is></c>'
    return f'<c r="{place}"><v>{float(value)!r}</v></c>'


def holdable(value):
    """Return whether a cell can hold a value, or be empty for it."""
    if isinstance(value, str):
        return bool(value) and not re.search("[\x00-\x1f\ud800-\udfff\ufffe\uffff]|_x[0-9A-Fa-f]{4}_", value)
    return value is None or math.isfinite(value)


def computed(folder, workbooks):
    """Return what LibreOffice shows of the sheet of labels in each of several workbooks, as rows of texts."""
    program = shutil.which("soffice")
    if program is None:
        pytest.skip("LibreOffice is not installed: apt-get install libreoffice-calc-nogui")
    for number, workbook in enumerate(workbooks):
        (folder / f"w{number}.xlsx").write_bytes(workbook)
    command = [program, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--norestore"]
    command += ["--convert-to", CSV_OF_SECOND_SHEET, "--outdir", str(folder / "out")]
    command += [str(folder / f"w{number}.xlsx") for number in range(len(workbooks))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    found = []
    for number in range(len(workbooks)):
        made = folder / "out" / f"w{number}-Label rows.csv"
        assert made.exists(), done.stdout + done.stderr
        with made.open(encoding="utf-8", newline="") as file:
            found.append(list(csv.reader(file)))
    return found


def clusters_in(rules, shown, n_rows):
    """Return what the column of clusters shows of the rows that were pasted."""
    at = len(rules.tested_columns) or 1
    return [row[at] for row in shown[FIRST_ROW - 1 : FIRST_ROW - 1 + n_rows]]


def rows_of_cells(rules, rows):
    """Return what cells hold of rows: of the tested columns, whole numbers as doubles, nothing for NaN."""
    held = []
    for row in rows:
        values = [None if value is None or value != value else value for value in row]
        values = [
            float(value) if rules.columns[j].is_numeric and value is not None else value
            for j, value in enumerate(values)
        ]
        if all(holdable(values[j]) for j in rules.tested_columns) and any(
            values[j] is not None for j in rules.tested_columns
        ):
            held.append(values)
    return held


def tree_says(rules, rows):
    clusters = (route(rules, row) for row in rows)
    return [NONE if cluster == -1 else str(cluster) for cluster in clusters]


def in_a_workbook(rules, **options):
    """Return the workbook, None where none can hold a name, a category or a threshold."""
    try:
        return export(rules, "xlsx", **options)
    except ExportError:
        return None


def test_it_meets_the_contract():
    check_exporter(get_exporter("xlsx"), label_rows=2)


def test_libreoffice_computes_the_labels_of_the_tree(tmp_path):
    cases = []

    @settings(max_examples=60, phases=[Phase.generate])
    @given(rules=rule_sets(kinds=MIXED, categories=hostile_texts, names=hostile_names), seed=st.integers(0, 2**32))
    def collect(rules, seed):
        rows = rows_of_cells(rules, boundary_rows(rules, seed, 30))
        workbook = in_a_workbook(rules, label_rows=30)
        if workbook is not None and rules.tested_columns:
            cases.append((rules, rows, workbook))

    collect()
    cases += [
        (rules, rows_of_cells(rules, boundary_rows(rules, 1, 30)), export(rules, "xlsx", label_rows=30))
        for rules in (example_rules(), balanced_rules(30), chain_rules(30))
    ]
    assert sum(len(rows) for _, rows, _ in cases) > 200
    books = [pasted(book, [[row[j] for j in rules.tested_columns] for row in rows]) for rules, rows, book in cases]
    for (rules, rows, _), shown in zip(cases, computed(tmp_path, books), strict=True):
        assert clusters_in(rules, shown, len(rows)) == tree_says(rules, rows), (rules, rows)
        rest = [row[len(rules.tested_columns)] for row in shown[FIRST_ROW - 1 + len(rows) :]]
        assert set(rest) <= {""}


def test_cells_of_every_kind(tmp_path):
    """What is no value of its column's type is said to be none; missing values are what the rules take them as."""
    column = [("x", "float"), ("n", "integer"), ("c", "text"), ("flag", "boolean")]
    number = make_rules(column, (0, 0.5, 0, 1))
    converted = replace(
        number, columns=(replace(number.columns[0], nulls=("NA", "-9"), imputed=7.0), *number.columns[1:])
    )
    text = make_rules(column, (2, "7", 0, 1))
    truth = make_rules(column, (3, True, 0, 1))
    above, below = math.nextafter(0.5, 1), math.nextafter(0.5, 0)
    cases = [
        (
            number,
            [
                (0.5, "0"),
                (above, "1"),
                (below, "0"),
                ("0.5", UNREADABLE),
                ("NA", UNREADABLE),
                (True, "1"),
                (False, "0"),
            ],
        ),
        (
            converted,
            [("NA", "1"), (" NA ", "1"), ("na", UNREADABLE), (-9, "1"), (-9.000000000000002, "0"), ("  ", "1")],
        ),
        (
            text,
            [("7", "0"), ("7 ", "1"), ("a*", "1"), ("=1+1", "1"), (7, UNREADABLE), (True, UNREADABLE), ("~*?", "1")],
        ),
        (
            truth,
            [
                (True, "0"),
                (False, "1"),
                (1, "0"),
                (0, "1"),
                (2, UNREADABLE),
                (" T ", "0"),
                ("f", "1"),
                ("t*", UNREADABLE),
            ],
        ),
        (truth, [("TRUE", "0"), ("False", "1"), ("1.0", "0"), ("yes", UNREADABLE), (math.nextafter(1, 2), UNREADABLE)]),
    ]
    books = [pasted(export(rules, "xlsx", label_rows=9), [[value] for value, _ in cells]) for rules, cells in cases]
    for (rules, cells), shown in zip(cases, computed(tmp_path, books), strict=True):
        assert clusters_in(rules, shown, len(cells)) == [expected for _, expected in cells]


def values_of(workbook):
    """Return the numbers and texts that formulas refer to, in their order."""
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        shared = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    texts = ["".join(item.itertext()) for item in shared]
    found = []
    for place in ElementTree.fromstring(part(workbook, "Values")).iter(f"{MAIN}c"):
        if place.get("r").startswith("A"):
            value = place.find(f"{MAIN}v").text
            found.append(texts[int(value)] if place.get("t") == "s" else float(value))
    return found[1:]


@settings(max_examples=60)
@given(numbers=st.lists(st.floats(2.3e-308, 1e308) | st.floats(-1e308, -2.3e-308), min_size=1, max_size=9, unique=True))
def test_thresholds_are_stored_as_they_are(numbers):
    tree = 0
    for threshold in sorted(numbers):
        tree = (0, threshold, tree, 1)
    rules = make_rules([("x", "float")], tree)
    assert set(values_of(export(rules, "xlsx", label_rows=1))) == set(numbers)


def test_whole_numbers_beyond_the_doubles_are_compared_as_cells_can_be():
    for threshold, stored in (
        (2**53 + 1, 2.0**53),
        (2**63 - 1, 2.0**63 - 1024),
        (-(2**53) - 1, -(2.0**53) - 2),
        (7, 7.0),
    ):
        assert values_of(export(make_rules([("n", "integer")], (0, threshold, 0, 1)), "xlsx", label_rows=1)) == [stored]


@settings(max_examples=80)
@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_no_formula_holds_anything_of_the_data(rules):
    workbook = in_a_workbook(rules, label_rows=2, cluster_as="name")
    if workbook is None:
        return
    known = (
        r"(IF|AND|NOT|LEN|MATCH|INDEX|COUNTA|EXACT|GESTEP|ISBLANK|ISERROR|ISLOGICAL|ISNUMBER|ISTEXT|LOWER|TRIM|NA)\("
    )
    known += (
        r"|SUMPRODUCT\(|INT\(|ABS\(|TEXT\(|Values!|TRUE|FALSE|\$?[A-Z]{1,3}\$?[0-9]+|[(),=<>:{}-]|[01]|1000000000000000"
    )
    known += r'|"(|0|true|false|t|f|1|1\.0|0\.0|\(no cluster\)|\(a cell cannot be read\))"'
    for sheet, n_formulas in (("Rules", 0), ("Values", 0), ("Label rows", None)):
        formulas = [found.text for found in ElementTree.fromstring(part(workbook, sheet)).iter(f"{MAIN}f")]
        assert n_formulas in (None, len(formulas))
        for formula in formulas:
            assert re.fullmatch(f"({known})+", formula), formula


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (make_rules([("x", "float")], (0, 1e-310, 0, 1)), "Excel takes so small a number for 0"),
        (make_rules([("c", "text")], (0, "", 0, 1)), "cannot tell from an empty cell"),
        (make_rules([("c", "text")], (0, "\0", 0, 1)), "XML cannot hold"),
        (make_rules([("c", "text")], (0, "a\rb", 0, 1)), "would change the text"),
        (make_rules([("c_x0041_", "text")], (0, "a", 0, 1)), "would change the text"),
        (make_rules([("c", "text")], (0, "a" * 33_000, 0, 1)), "at most 32,767 characters"),
        (make_rules([("c", "text")], (0, "0.5", 0, 1)), None),
    ],
)
def test_what_a_workbook_cannot_hold_is_refused(rules, message):
    if message is None:
        rules = replace(rules, columns=(replace(rules.columns[0], values=("0.5", "7")),))
        message = "numbers with fractions for categories"
    with pytest.raises(ExportError, match=message):
        export(rules, "xlsx", label_rows=1)


@pytest.mark.parametrize("rows", [0, True, 2.5, 1_048_576])
def test_rows_that_there_cannot_be(rows):
    with pytest.raises(OptionError, match=r"label_rows must be a whole number from 1 to"):
        export(example_rules(), "xlsx", label_rows=rows)

"""The exporter `xlsx`: the workbook's cells, and the results that LibreOffice computes in it."""

from __future__ import annotations

import io
import math
import random
import re
import zipfile
from dataclasses import replace
from datetime import date
from xml.etree import ElementTree

import pytest
from draws import drawn, draws
from hypothesis import Phase, given
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
    rule_sets,
)
from workbooks import rows_of_cells, tree_says

from shallowrules import ExplainableKMeans
from shallowrules.errors import EngineError, ExportError, MissingExtraError, OptionError
from shallowrules.exporters import export
from shallowrules.exporters.xlsx.labelling import FIRST_ROW, MISSING, UNREADABLE
from shallowrules.tables.table import Table
from shallowrules.verification.runners.xlsx import PARTS, compute_workbooks, paste_rows, shown_labels

xlsxwriter = pytest.importorskip("xlsxwriter", reason="XlsxWriter is not installed: pip install 'shallowrules[xlsx]'")

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SHEETS = {
    "Rules": "xl/worksheets/sheet1.xml",
    "Clusters": "xl/worksheets/sheet2.xml",
    "Differences": "xl/worksheets/sheet3.xml",
    "Label rows": "xl/worksheets/sheet4.xml",
    "Workings": "xl/worksheets/sheet5.xml",
    "Values": "xl/worksheets/sheet6.xml",
}


def part(workbook, sheet):
    """Return the XML of a sheet."""
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        return archive.read(SHEETS[sheet]).decode()


def computed(workbooks):
    """Return the rows that LibreOffice shows in the sheet of labels of each workbook; skip where it is not
    installed."""
    try:
        return compute_workbooks(workbooks)
    except MissingExtraError as error:
        pytest.skip(str(error))


def in_a_workbook(rules, **options):
    """Return the workbook, None where none can hold a name, a category or a threshold."""
    try:
        return export(rules, "xlsx", **options)
    except ExportError:
        return None


def pasted(workbook, rules, rows):
    """Return a workbook with the tested columns of rows pasted."""
    tested = rules.tested_columns
    return paste_rows(workbook, [rules.columns[j].name for j in tested], [[row[j] for j in tested] for row in rows])


@pytest.mark.renders
def test_libreoffice_computes_the_labels_of_the_tree():
    cases = []

    @draws(240, phases=[Phase.generate])
    @given(
        rules=rule_sets(kinds=(*MIXED, "date"), categories=hostile_texts, names=hostile_names),
        seed=st.integers(0, 2**32),
    )
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
    assert sum(len(rows) for _, rows, _ in cases) > drawn(200)
    books = []
    for rules, rows, book in cases:  # all columns, in any order, among others
        order = random.Random(len(books)).sample(range(len(rules.columns)), len(rules.columns))
        names = ["  ", *(rules.columns[j].name for j in order), "Cluster"]
        books.append(paste_rows(book, names, [["id", *(row[j] for j in order), "none"] for row in rows]))
    for (rules, rows, _), shown in zip(cases, computed(books), strict=True):
        assert shown_labels(shown, len(rows)) == tree_says(rules, rows), (rules, rows)
        names = {str(cluster.index): cluster.name for cluster in rules.clusters}
        for row in shown[FIRST_ROW - 1 : FIRST_ROW - 1 + len(rows)]:
            assert row[1] == names.get(row[0], "")
        assert {row[0] for row in shown[FIRST_ROW - 1 + len(rows) :]} <= {""}


def cases_of_cells():
    """Return rules, and cells with the label or the report that each gets."""
    column = [("x", "float"), ("n", "integer"), ("c", "text"), ("flag", "boolean")]
    number = make_rules(column, (0, 0.5, 0, 1))
    converted = replace(
        number, columns=(replace(number.columns[0], nulls=("NA", "-9"), imputed=7.0), *number.columns[1:])
    )
    text = make_rules(column, (2, "7", 0, 1))
    truth = make_rules(column, (3, True, 0, 1))
    above, below = math.nextafter(0.5, 1), math.nextafter(0.5, 0)
    return [
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
        (
            make_rules([("d", "date")], (0, 20_000, 0, 1)),  # until 2024-10-04
            [
                (date(2024, 10, 4), "0"),
                (date(2024, 10, 5), "1"),
                (date(1900, 3, 1), "0"),
                (date(9999, 12, 31), "1"),
                (45569.5, "0"),  # at noon
                ("2024-10-04", UNREADABLE),
            ],
        ),
        (truth, [("TRUE", "0"), ("False", "1"), ("1.0", "0"), ("yes", UNREADABLE), (math.nextafter(1, 2), UNREADABLE)]),
    ]


@pytest.mark.renders
def test_cells_of_every_kind():
    """A cell that is not a value of its column's type is reported; missing values are imputed as the rules do."""
    cases = cases_of_cells()
    books = []
    for rules, cells in cases:
        [tested] = rules.tested_columns
        names, rows = [rules.columns[tested].name], [[value] for value, _ in cells]
        books.append(paste_rows(export(rules, "xlsx", label_rows=9), names, rows))
    for (_, cells), shown in zip(cases, computed(books), strict=True):
        assert shown_labels(shown, len(cells)) == [expected for _, expected in cells]


@pytest.mark.renders
def test_rows_beyond_the_formulas_have_those_of_the_last_row():
    rules = make_rules([("x", "float"), ("c", "text")], (0, 0.5, 0, (1, "7", 1, 2)))
    rows = [(x, c) for x in (0.25, 0.75) for c in ("7", "A6", None)] * 200
    book = export(rules, "xlsx", label_rows=6)
    [shown] = computed([pasted(book, rules, rows)])
    assert len(shown) == FIRST_ROW - 1 + len(rows)
    assert shown_labels(shown, len(rows)) == tree_says(rules, rows)
    [shown] = computed([pasted(book, rules, rows[:2])])
    assert shown_labels(shown, 6) == [*tree_says(rules, rows[:2]), *[""] * 4]


@pytest.mark.renders
def test_columns_that_are_not_as_the_rules_need_them_are_named():
    rules = make_rules([("a", "float"), ("b", "float"), ("2019", "float")], (0, 0.5, 0, (1, 0.5, 1, (2, 0.5, 2, 3))))
    book = export(rules, "xlsx", label_rows=2)
    cases = [
        (["b", "a", "2019"], [(1.0, 1.0, 1.0)] * 2, "", "3"),
        (["b", "a", 2019], [(1.0, 1.0, 1.0)] * 2, "", "3"),
        (["b", "a", "A", "x*", "2019"], [(1.0, 1.0, 0.0, 0.0, 1.0)], "", "3"),
        (["b", "A", "2019"], [(1.0, 1.0, 1.0)], "No column is called a", MISSING),
        (["b", "a", "2019", "a"], [(1.0, 1.0, 1.0, 1.0)], "Two columns are called a", MISSING),
        (["b", "a", "2019"], [(1.0, 1.0, None)], "No value in column 2019", "(no cluster)"),
        (["a", "b"], [(1.0, 1.0)], "No value in column 2019", "(no cluster)"),
        (["b", "A", "2019"], [], "", ""),
    ]
    books = [paste_rows(book, names, rows) for names, rows, _, _ in cases]
    for (names, _, state, label), shown in zip(cases, computed(books), strict=True):
        assert (shown[1][0], shown[FIRST_ROW - 1][0]) == (state, label), names


@pytest.mark.renders
def test_rows_without_formulas_are_told():
    """Where people copied them down on only one sheet, or on none, a row gets no label."""
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    copied = paste_rows(export(rules, "xlsx", label_rows=2), ["x"], [(1.0,)] * 3)
    books = []
    for sheets in (PARTS, PARTS[:1], PARTS[1:]):
        with zipfile.ZipFile(io.BytesIO(copied)) as archive:
            parts = {name: archive.read(name).decode() for name in archive.namelist()}
        parts |= {name: re.sub(r'<c r="[AB]7"[^/]*<f>.*?</c>', "", parts[name]) for name in sheets}
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, text in parts.items():
                archive.writestr(name, text)
        books.append(content.getvalue())
    for shown in computed(books):
        assert shown[1][0] == "Rows below 6 have no formulas: copy those of row 6 down, here and on Workings."
        assert [row[0] for row in shown[FIRST_ROW - 1 :]] == ["1", "1", ""]
    [shown] = computed([copied])
    assert (shown[1][0], [row[0] for row in shown[FIRST_ROW - 1 :]]) == ("", ["1", "1", "1"])


@pytest.mark.renders
def test_a_workbook_that_libreoffice_cannot_read_is_an_error():
    computed([])
    with pytest.raises(EngineError, match="LibreOffice: "):
        compute_workbooks([b"PK no workbook"])


@pytest.mark.renders
def test_labels_that_a_cell_does_not_show_as_numbers_are_texts():
    clusters = [2**53 + 1, -(2**63), 2**63 - 1, 7]
    rules = make_rules([("x", "float")], (0, 0.5, clusters[0], (0, 1.5, clusters[1], (0, 2.5, clusters[2], 7))))
    [shown] = computed([pasted(export(rules, "xlsx", label_rows=4), rules, [(0,), (1,), (2,), (3,)])])
    assert shown_labels(shown, 4) == list(map(str, clusters))


@pytest.mark.parametrize("name", ["(no cluster)", "(a cell cannot be read)", "(see cell A2)", ""])
def test_a_name_that_stands_for_no_cluster_is_refused(name):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1), {0: name, 1: "b"})
    export(rules, "xlsx", label_rows=1)
    with pytest.raises(ExportError, match=r"cluster 0 is called .* rename it, or use the number"):
        export(rules, "xlsx", label_rows=1, cluster_as="name")


def test_clusters_have_the_means_and_shares_of_their_rows():
    calamine = pytest.importorskip("python_calamine", reason="python-calamine is not installed")
    chooser = random.Random(10)
    kinds = [chooser.choice("abcdefghijklmnopq") for _ in range(400)]
    table = {
        "x": [float(ord(kind) // 6) + chooser.random() for kind in kinds],
        "kind": kinds,
        "vip": [kind < "c" for kind in kinds],
    }
    spent = [chooser.randrange(5000) for _ in kinds]
    rules = ExplainableKMeans(3, random_state=0).fit(Table.of(table), measure=spent).rules_
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(export(rules, "xlsx", label_rows=1)))
    heads, names, *lines = book.get_sheet_by_name("Clusters").to_python()
    labels = rules.assign(Table.of(table)).tolist()
    assert heads[:3] == ["Column", "Category", "Table"]
    assert heads[3:] == [f"Cluster {cluster.index}" for cluster in rules.by_size]
    assert names[3:] == [cluster.name for cluster in rules.by_size]
    rows = [range(400), *([i for i in range(400) if labels[i] == each.index] for each in rules.by_size)]
    expected = [("rows", "", [len(of) for of in rows]), ("share", "", [len(of) / 400 for of in rows])]
    totals = [sum(spent[i] for i in of) for of in rows]
    expected += [("total of measure", "", totals), ("share of measure", "", [each / sum(spent) for each in totals])]
    expected.append(("x", "", [sum(table["x"][i] for i in of) / len(of) for of in rows]))
    most = sorted(set(kinds), key=lambda kind: (-kinds.count(kind), kind))
    groups = [("kind", most[0], most[:1]), *(("", kind, [kind]) for kind in most[1:12]), ("", "5 others", most[12:])]
    for name, said, group in groups:
        expected.append((name, said, [sum(kinds[i] in group for i in of) / len(of) for of in rows]))
    found = {(line[0], line[1]): line[2:] for line in lines}
    for name, said, figures in expected:
        assert found[name, said] == pytest.approx(figures), (name, said)
    columns = [line[0] for line in lines if line[0]]
    assert columns == ["rows", "share", "total of measure", "share of measure", "x", "kind", "vip"]


def test_sheets_print_across_the_page_and_show_their_heads_whole():
    long = {0: "a name of many words, " * 8, 1: "b"}
    workbook = export(make_rules([("x" * 90, "float")], (0, 0.5, 0, 1), long), "xlsx", label_rows=1)
    for sheet in SHEETS:
        text = part(workbook, sheet)
        for setting in ('orientation="landscape"', 'fitToPage="1"', 'fitToHeight="0"', 'state="frozen"'):
            assert setting in text, (sheet, setting)
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        defined = archive.read("xl/workbook.xml").decode()
    assert defined.count("_xlnm.Print_Area") == defined.count("_xlnm.Print_Titles") == len(SHEETS)
    heights = {
        sheet: dict(re.findall(r'<row r="([0-9]+)"[^>]* ht="([0-9.]+)"', part(workbook, sheet))) for sheet in SHEETS
    }
    assert float(heights["Clusters"]["2"]) >= 15 * 176 / 18  # the name, in a column of 18 characters
    assert float(heights["Workings"]["3"]) >= 15 * 176 / 28
    assert float(heights["Label rows"]["4"]) >= 15 * 90 / 14


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


@draws(60)
@given(numbers=st.lists(st.floats(2.3e-308, 1e308) | st.floats(-1e308, -2.3e-308), min_size=1, max_size=9, unique=True))
def test_thresholds_are_stored_as_they_are(numbers):
    tree = 0
    for threshold in sorted(numbers):
        tree = (0, threshold, tree, 1)
    rules = make_rules([("x", "float")], tree)
    assert set(values_of(export(rules, "xlsx", label_rows=1))) == set(numbers)


@pytest.mark.parametrize("threshold", [2**53 - 1, 1 - 2**53, 7])
def test_whole_numbers_that_doubles_hold_are_stored_as_they_are(threshold):
    assert values_of(export(make_rules([("n", "integer")], (0, threshold, 0, 1)), "xlsx", label_rows=1)) == [threshold]


@pytest.mark.parametrize("threshold", [2**53, 2**53 + 1, -(2**53), 2**63 - 1, -(2**63), 2**64 - 2])
def test_whole_numbers_that_a_cell_would_round_are_refused(threshold):
    with pytest.raises(ExportError, match=f"'n'.*{threshold}"):
        export(make_rules([("n", "integer")], (0, threshold, 0, 1)), "xlsx", label_rows=1)


@pytest.mark.slow
@draws(80)
@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_no_formula_holds_anything_of_the_data(rules):
    workbook = in_a_workbook(rules, label_rows=2, cluster_as="name")
    if workbook is None:
        return
    known = (
        r"(IF|AND|NOT|LEN|MATCH|INDEX|COUNTA|EXACT|GESTEP|ISBLANK|ISERROR|ISLOGICAL|ISNUMBER|ISTEXT|LOWER|TRIM|NA)\("
    )
    known += r"|(SUMPRODUCT|INT|ABS|TEXT|VALUE|IFERROR|MIN|COLUMN)\(|Values!|Workings!|'Label rows'!|TRUE|FALSE"
    known += r"|\$?[A-Z]{1,3}\$?[0-9]+|[(),=<>:{}*&-]|[012]|1000000000000000"
    known += r'|"(|0|true|false|t|f|1|1\.0|0\.0|\(no cluster\)|\(a cell cannot be read\)|\(see cell A2\))"'
    known += r'|"(No value in column |No column is called |Two columns are called )"'
    known += r'|"Rows below 6 have no formulas: copy those of row 6 down, here and on Workings\."'
    for sheet in SHEETS:
        formulas = [found.text for found in ElementTree.fromstring(part(workbook, sheet)).iter(f"{MAIN}f")]
        assert bool(formulas) == (sheet in ("Label rows", "Workings"))
        for formula in formulas:
            assert re.fullmatch(f"({known})+", formula), formula


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (make_rules([("x", "float")], (0, 1e-310, 0, 1)), "Excel reads so small a number as 0"),
        (make_rules([("d", "date")], (0, -25509, 0, 1)), "compares column 'd' with 1900-02-28, .* before 1900-03-01"),
        (make_rules([("t", "timestamp")], (0, 0, 0, 1)), "cannot write rules on points in time"),
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
        message = "numbers with fractions as categories"
    with pytest.raises(ExportError, match=message):
        export(rules, "xlsx", label_rows=1)


@pytest.mark.parametrize("rows", [0, True, 2.5, 1_048_576])
def test_rows_that_there_cannot_be(rows):
    with pytest.raises(OptionError, match=r"label_rows must be a whole number from 1 to"):
        export(example_rules(), "xlsx", label_rows=rows)

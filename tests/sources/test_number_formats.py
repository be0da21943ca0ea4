"""Numbers as people write them: each kind as a file, and drawn formats against the plain table."""

from __future__ import annotations

import csv
from dataclasses import replace

import pandas as pd
import pytest
from commandline import call
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from rulesets import make_rules
from sourcefiles import read_as_told, typed

from shallowrules.errors import DataError, ExportError
from shallowrules.exporters import export
from shallowrules.files import Reading
from shallowrules.labelling.files import label_file
from shallowrules.labelling.writing import Output
from shallowrules.rules import RuleSet
from shallowrules.sources import open_source, read_table
from shallowrules.tables.conversion import Conversion
from shallowrules.tables.number_format import MARKS, NumberFormat
from shallowrules.tables.table import Table
from shallowrules.verification import verify


def write_column(path, texts, name="x", delimiter=";"):
    """Write a column of texts, and one of whole numbers beside it."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = [[name, "other"], *([text, str(i % 3)] for i, text in enumerate(texts))]
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def read_found(path, **reading):
    """Return the column x, and the kinds of findings about it."""
    with open_source(path, Reading(**reading)) as source:
        column = source.table()["x"]
        return column, [note.kind for note in source.column_notes.get("x", ())]


FOUND = [
    (["1 675", "312", "12 480"], [1675, 312, 12480], "1 234.50"),
    (["1\u00a0675", "312"], [1675, 312], "1\u00a0234.50"),
    (["1\u202f675,5", "312"], [1675.5, 312.0], "1\u202f234,50"),
    (["1'675.25", "312"], [1675.25, 312.0], "1'234.50"),
    (["1\u2019675", "12\u2019480"], [1675, 12480], "1\u2019234.50"),
    (["1,234.50", "88", "-7,000"], [1234.5, 88.0, -7000.0], "1,234.50"),
    (["1.234,50", "88", "7.000"], [1234.5, 88.0, 7000.0], "1.234,50"),
    (["1,234,567", "88"], [1234567, 88], "1,234.50"),
    (["1.234.567", "1.5", "88"], None, "mixed"),
    (["$2,512.20", "$88.10", "-$3.00"], [2512.2, 88.1, -3.0], "$1,234.50"),
    (["$ 2", "$ -3", "$10"], [2, -3, 10], "$12.5"),
    (["R$ 1.234,50", "R$ 0,99"], [1234.5, 0.99], "R$1.234,50"),
    (["12.5%", "3%", "100 %"], [12.5, 3.0, 100.0], "12.5%"),
    (["2,50 \u20ac", "1.250,00\u00a0\u20ac"], [2.5, 1250.0], "1.234,50 \u20ac"),
    (["EUR 5", "EUR 12,25"], [5.0, 12.25], "EUR 12,5"),
    (["\u22123", "5", "\u22127.5"], [-3.0, 5.0, -7.5], "\u221212.5"),
    (["(1,250)", "88.5"], [-1250.0, 88.5], "(1,234.50)"),
    (["($3.50)", "$4.00"], [-3.5, 4.0], "($12.5)"),
    (["1.250,00-", "88,50"], [-1250.0, 88.5], "1.234,50-"),
    (["41,5", "0,25"], [41.5, 0.25], "12,5"),
    (["0,123", "1,234"], [0.123, 1.234], "12,5"),
    (["1,234", "1234"], [1.234, 1234.0], "12,5"),
    (["12,34,567", "88"], None, "mixed"),
    (["A-1", "A-2"], None, None),
    (["555-1234", "555-9876"], None, "digits"),
    (["3+", "2", "1"], None, "mixed"),
    (["10-20", "20-30"], None, "digits"),
]


@pytest.mark.parametrize(("texts", "values", "example"), FOUND)
def test_a_format_is_found_from_all_values(tmp_path, texts, values, example):
    texts = [*texts * 3, ""]
    column, notes = read_found(write_column(tmp_path / "t.csv", texts))
    if values is None:
        assert (column.type, notes) == ("text", [example] if example else [])
        return
    kind = "integer" if all(isinstance(value, int) for value in values) else "float"
    assert (column.type, column.conversion, notes) == (kind, Conversion.of(NumberFormat.of(example)), ["written"])
    assert typed(Table((column,), len(texts)))[0][2] == [*values * 3, None]


IN_TWO_WAYS = [
    (["312", "845", "2.564", "48.123"], [312, 845, 2564, 48123], "."),
    (["312", "845", "2,564", "48,123"], [312, 845, 2564, 48123], ","),
    (["2,564", "48,123"], [2564, 48123], ","),
    (["(1,250)", "88", "(3)"], [-1250, 88, -3], ","),
    (["$312", "$2.564"], [312, 2564], "."),
]


@pytest.mark.parametrize(("texts", "grouped", "mark"), IN_TWO_WAYS)
def test_what_can_be_read_in_two_ways_is_refused_until_one_is_told(tmp_path, texts, grouped, mark):
    path = write_column(tmp_path / "t.csv", texts * 3)
    with pytest.raises(DataError) as caught:
        read_table(path)
    [finding] = caught.value.findings
    assert (finding.kind, finding.column, finding.values[0]) == ("two readings", "x", mark)
    assert read_table(path, thousands=mark)["x"].values.tolist() == grouped * 3
    either = [read_table(path, format=[f"x={example}"])["x"].values.tolist() for example in finding.values[1:]]
    assert either[0] == grouped * 3
    assert either[1] != grouped * 3
    currency = "$" if "$" in texts[0] else ""
    if "(" in texts[0]:
        return
    decimal = read_table(path, format=[f"x={currency}12{mark}5"])["x"]
    assert decimal.values.tolist() == [float(text.strip("$").replace(",", ".")) for text in texts * 3]
    other = "," if mark == "." else "."
    in_groups = read_table(path, format=[f"x={currency}1{mark}234{other}5"])["x"]
    assert in_groups.values.tolist() == grouped * 3
    if mark == ".":  # the comma of the whole file leaves the point to group digits
        assert read_table(path, decimal=",")["x"].values.tolist() == grouped * 3


def write_typed(path, texts):
    """Write a column of texts, None where missing, and one of whole numbers, into a file whose values have types."""
    frame = pd.DataFrame({"x": pd.array(texts, dtype="str"), "other": [i % 3 for i in range(len(texts))]})
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


TYPED = pytest.mark.parametrize("ending", ["parquet", "jsonl"])


@TYPED
@pytest.mark.parametrize(("texts", "values", "example"), FOUND)
def test_text_in_files_with_types_has_formats_too(tmp_path, texts, values, example, ending):
    path = write_typed(tmp_path / f"t.{ending}", [*texts * 3, None])
    column, notes = read_found(path)
    if values is None:
        assert (column.type, notes) == ("text", [example] if example == "digits" else [])
        return
    kind = "integer" if all(isinstance(value, int) for value in values) else "float"
    assert (column.type, column.conversion, notes) == (kind, Conversion.of(NumberFormat.of(example)), ["written"])
    assert typed(Table((column,), 3 * len(texts) + 1))[0][2] == [*values * 3, None]
    assert read_found(path, format=["x="])[0].type == "text"


@TYPED
def test_formats_of_files_with_types_are_told_and_refused(tmp_path, ending):
    path = write_typed(tmp_path / f"t.{ending}", ["2,564", "48,123", "7,000"] * 3)
    with pytest.raises(DataError) as caught:
        read_as_told(path)
    assert "use --format x=1,234.50 if it groups digits, --format x=12,5 if" in str(caught.value)
    assert read_table(path, format=["x=1,234.50"])["x"].values.tolist() == [2564, 48123, 7000] * 3
    assert read_table(path, format=["x=12,5"])["x"].values.tolist() == [2.564, 48.123, 7.0] * 3
    with pytest.raises(DataError, match="'x' is not written as"):
        read_table(path, format=["x=$12.5"])
    with pytest.raises(DataError, match="there is no column 'y'"):
        read_table(path, format=["y=$12.5"])
    path = write_typed(tmp_path / f"plain.{ending}", ["0312", "845", "2.5"])
    assert (read_found(path)[0].type, read_found(path, format=["x=12.5"])[0].type) == ("text", "float")


@TYPED
def test_rules_of_files_with_types_label_every_kind_of_file(tmp_path, ending):
    texts = [f"${1000 + 37 * i:,}.50" for i in range(40)]
    trained = write_typed(tmp_path / f"t.{ending}", texts)
    done = call("fit", trained, "-k", 2, "-o", tmp_path / "r.json")
    assert done.exit_code == 0, done.stderr
    assert "'x' is written as $1,234.50" in done.stderr
    rules = RuleSet.from_json(tmp_path / "r.json")
    plain = pd.DataFrame({"x": [1000.5 + 37 * i for i in range(40)], "other": [i % 3 for i in range(40)]})
    others = [write_typed(tmp_path / f"new.{kind}", texts) for kind in ("parquet", "jsonl")]
    others.append(write_column(tmp_path / "new.csv", texts))
    for path in others:
        done = call("label", tmp_path / "r.json", path, "-o", tmp_path / "o.csv", "--force")
        assert done.exit_code == 0, done.stderr
        assert pd.read_csv(tmp_path / "o.csv", sep=None, engine="python")["cluster"].tolist() == [
            *rules.assign(plain)
        ], path


def test_three_digits_behind_every_point_are_decimals_with_a_note(tmp_path):
    path = write_column(tmp_path / "t.csv", ["1.234", "12.250", "7.125"] * 4)
    column, notes = read_found(path)
    assert (column.type, column.values[:3].tolist(), notes) == ("float", [1.234, 12.25, 7.125], ["three digits"])
    assert read_found(path, format=["x=12.5"])[1] == []
    assert read_found(path, thousands=".")[0].values[:3].tolist() == [1234, 12250, 7125]
    beside = "x;y\n" + "1.234;3,5\n12.250;4,25\n" * 5
    path.write_text(beside)
    with pytest.raises(DataError, match="column 'x' can be read in two ways"):
        read_table(path)


@pytest.mark.parametrize(
    "texts", [["1.5", "2.564", "312"], ["0.564", "2.564", "312"], ["1234", "2.564"], ["1e3", "2.564"]]
)
def test_points_that_cannot_group_digits_are_decimal_without_a_word(tmp_path, texts):
    column, notes = read_found(write_column(tmp_path / "t.csv", texts * 3))
    assert (column.values.tolist(), notes) == ([float(text) for text in texts * 3], [])


def test_points_that_a_sample_misses_are_found(tmp_path):
    path = write_column(tmp_path / "t.csv", [*["312", "845"] * 30_000, "2.564", *["312", "845"] * 30_000])
    with pytest.raises(DataError, match="column 'x' can be read in two ways.*120,000 of 120,001 values have no point"):
        read_table(path)


@pytest.mark.parametrize(
    ("texts", "values", "kind"),
    [
        (["12 kg", "7.5 kg"], ("kg", "12.5 kg"), "unit"),
        (["19M", "1.2M"], ("M", "12.5 M"), "unit"),
        (["19M", "850K"], ("K", "M"), "unit"),
        (["1st", "2nd"], None, None),
    ],
)
def test_units_are_named(tmp_path, texts, values, kind):
    path = write_column(tmp_path / "t.csv", texts * 3)
    with open_source(path) as source:
        assert source.table()["x"].type == "text"
        assert [(note.kind, note.values) for note in source.column_notes["x"]] == (
            [] if kind is None else [(kind, values)]
        )
    if values is not None and len(values) == 2 and values[1].startswith("12.5"):
        assert read_table(path, format=[f"x={values[1]}"])["x"].is_numeric


def test_a_decimal_comma_in_quotes_between_commas(tmp_path):
    path = write_column(tmp_path / "t.csv", ["41,5", "7,25"] * 3, delimiter=",")
    for told in ({}, {"decimal": ","}, {"decimal": ",", "delimiter": ","}):
        assert read_table(path, **told)["x"].values.tolist() == [41.5, 7.25] * 3
    path.write_text("width,cm\n1,5\n2,5\n")
    with pytest.raises(DataError, match="delimiter looks wrong"):
        read_table(path, decimal=",")


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        (["1,234.5", "7"], ["88", "9"], [1234.5, 7.0, 88.0, 9.0]),
        (["1,234.5", "7"], ["2,000.25", "9"], [1234.5, 7.0, 2000.25, 9.0]),
        (["1.234,5", "7"], ["2.5", "9"], None),
        (["$7", "$8"], ["88", "9"], None),
        (["12,5", "7"], ["2.5", "9"], None),
    ],
)
def test_files_of_one_table_write_a_column_in_one_way(tmp_path, first, second, values):
    paths = [write_column(tmp_path / name, texts) for name, texts in (("a.csv", first), ("b.csv", second))]
    if values is not None:
        assert read_table(paths)["x"].values.tolist() == values
        return
    with pytest.raises(DataError, match=r"'x' is written as .*a\.csv and .*b\.csv"):
        read_table(paths)


def test_a_format_that_is_told_is_held_to(tmp_path):
    path = write_column(tmp_path / "t.csv", ["$7", "8", "abc"] * 3)
    with pytest.raises(DataError, match="'x' is not written as"):
        read_table(path, format=["x=$12.5"])
    with pytest.raises(DataError, match="there is no column 'y'"):
        read_table(path, format=["y=$12.5"])


# --- drawn

AFFIXES = ["", "", "$", "\u20ac", "CHF", "%"]


@st.composite
def number_formats(draw):
    """Draw the format of a column."""
    decimal = draw(st.sampled_from(".,"))
    thousands = draw(st.sampled_from(["", *(mark for mark in MARKS if mark != decimal)]))
    before = draw(st.sampled_from(AFFIXES))
    behind = "" if before else draw(st.sampled_from(AFFIXES))
    negative = draw(st.sampled_from(["front", "minus", "behind", "parentheses"]))
    return NumberFormat(thousands, decimal, before, behind, negative)


NUMBERS = st.one_of(
    st.integers(-(10**7), 10**7),
    st.decimals(-(10**5), 10**5, places=2),
    st.decimals(-(10**4), 10**4, places=3),
    st.integers(2**53, 2**62),
)


@pytest.mark.slow
@given(number_formats(), st.lists(NUMBERS, min_size=2, max_size=12))
@draws(300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_drawn_format_gives_the_plain_numbers_or_a_refusal(tmp_path, number_format, numbers):
    texts = [number_format.written(str(number)) for number in numbers]
    path = write_column(tmp_path / "t.csv", texts)
    plain = read_table(write_column(tmp_path / "plain.csv", [*map(str, numbers)]), format=["x="])["x"]
    assert NumberFormat.of(number_format.example) == number_format
    told = read_table(path, format=[f"x={number_format.example}"])["x"]
    assert (told.type, told.values.tolist()) == (plain.type, plain.values.tolist())
    findings = []
    with open_source(path) as source:
        found = source.table(findings=findings)["x"]
        notes = [note.kind for note in source.column_notes.get("x", ())]
    if findings:
        assert [finding.kind for finding in findings] == ["two readings"]
    elif "three digits" not in notes:
        assert (found.type, found.values.tolist()) == (plain.type, plain.values.tolist())
        assert found.conversion == Conversion() or found.conversion.read(texts[0]) == plain.values[0]


def rules_over(number_format, kind, threshold, imputed=None):
    """Return rules of one cut over a column in a format."""
    rules = make_rules([("x", kind)], (0, threshold, 0, 1))
    conversion = Conversion.of(number_format)
    column = replace(
        rules.columns[0], decimal=conversion.decimal, format=conversion.format, nulls=("NA",), imputed=imputed
    )
    return replace(rules, columns=(column,))


@pytest.mark.slow
@given(number_formats(), st.lists(NUMBERS, min_size=2, max_size=12), st.data())
@draws(100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_form_labels_a_drawn_format_as_the_plain_numbers(tmp_path, number_format, numbers, data):
    import pandas as pd
    import polars as pl

    whole = all(number == int(number) for number in numbers)
    kind, threshold = ("integer" if whole else "float"), data.draw(st.sampled_from(numbers))
    threshold = int(threshold) if whole else float(threshold)
    rules = rules_over(number_format, kind, threshold)
    assert RuleSet.from_dict(rules.to_dict()) == rules
    texts = [f" {number_format.written(str(number))} " for number in numbers] + ["NA", ""]
    values = [int(number) if whole else float(number) for number in numbers]
    right = [*(int(value > threshold) for value in values), None, None]
    assert [None if label == -1 else label for label in rules.assign({"x": texts}).tolist()] == right
    for name, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        namespace = {}
        exec(export(rules, name), namespace)
        table = frame({"x": texts})
        labelled = (
            namespace["assign_cluster"](table)
            if name == "pandas"
            else table.select(namespace["assign_cluster"]())["cluster"]
        )
        assert [None if label is pd.NA else label for label in labelled.to_list()] == right
    path = write_column(tmp_path / "t.csv", texts)
    label_file(rules, str(path), Output(tmp_path / "out.csv"), Reading())
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        found = [row["cluster"] for row in csv.DictReader(file, delimiter=";")]
    assert [int(label) if label else None for label in found] == right
    write_column(path, [*texts, "12;5"])
    with pytest.raises(DataError, match=f"row {len(texts) + 1} has '12;5'"):
        label_file(rules, str(path), Output(tmp_path / "out.csv"), Reading())


@pytest.mark.parametrize("example", ["1,234.50", "1\u00a0234,50", "$1,234.50", "12,5 %", "(1,234.50)"])
@pytest.mark.parametrize(("kind", "threshold"), [("float", 1234.5), ("integer", 2**53 + 1)])
def test_every_form_is_verified_in_a_format(example, kind, threshold):
    number_format = NumberFormat.of(example)
    rules = rules_over(number_format, kind, threshold, imputed=3)
    texts = [number_format.written(text) for text in ("7", "-1250", "9007199254740993", "1234567")]
    table = Table.of({"x": [*texts, "NA"]})
    compared = list(verify(rules, table, ["sqlite", "duckdb"], exporters=["python", "pandas", "polars", "sql"]))
    assert {comparison.form: comparison.disagreements for comparison in compared if comparison.disagreements} == {}
    assert {"SQL, sqlite", "SQL, duckdb"} <= {comparison.form[:11].rstrip(",") for comparison in compared}


def test_sql_names_the_column_that_it_does_not_convert():
    rules = rules_over(NumberFormat.of("$1,234.50"), "float", 7.0)
    assert '"x" is read as a number only; a text in it, such as $1,234.50, has no cluster.' in export(rules, "sql")
    for dialect in ("tsql", "redshift"):
        with pytest.raises(ExportError, match="'x' may be text, written as"):
            export(rules, "sql", dialect=dialect)


def test_the_command_line_says_finds_and_takes_formats(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    rows = [f'{i % 2},"${1000 * (i % 2) + i:,}.50",{12.5 * (i % 2) + i / 100:.2f}%' for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["g,revenue,share", *rows]) + "\n")
    done = call("fit", "t.csv", "-k", "2", "-o", "r.json")
    assert done.exit_code == 0, done.stderr
    words(done.stderr.partition("\n\n")[0])
    assert "--format 'revenue=$1,234.50'" in done.stderr
    assert '"format": "12.5%"' in (tmp_path / "r.json").read_text()
    assert call("label", "r.json", "t.csv", "-o", "out.csv").exit_code == 0
    for options in (["--thousands", ","], ["--format", "revenue=$1,234.5"]):
        assert call("fit", "t.csv", "-k", "2", "-o", "again.json", "--force", *options).exit_code == 0
        assert RuleSet.from_json("again.json").nodes == RuleSet.from_json("r.json").nodes


TOLD = [
    ("$1,234.50", "1.234,50 \u20ac", ["--format", "x=1.234,50 \u20ac"]),
    ("$1,234.50", "12.5", ["--format", "x="]),
    ("$1,234.50", "$1.234,50", ["--decimal", ","]),
    ("1,234.50", "1.234,50", ["--thousands", "."]),
    ("1 234,50", "1.234,50", ["--thousands", "."]),
    ("12,5", "1.234,50", ["--thousands", "."]),
    ("12.5", "1.234,50", ["--thousands", "."]),
    ("12.5", "$1,234.50", ["--format", "x=$1,234.50"]),
]
"""How rules know a column, how a file writes it, and the option that says so."""


@pytest.mark.parametrize(("known", "given", "options"), TOLD)
@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize("nulls", [(), ("NA",)])
def test_what_is_told_of_a_file_goes_before_what_the_rules_know(
    tmp_path, monkeypatch, known, given, options, name, nulls
):
    monkeypatch.chdir(tmp_path)
    rules = rules_over(NumberFormat.of(known), "float", 1234.5)
    replace(rules, columns=(replace(rules.columns[0], nulls=nulls),)).to_json("r.json")
    numbers, right = ["2", "-1250", "1234.5", "1235", "999999"], ["0", "0", "0", "1", "1"]
    written = [NumberFormat.of(given).written(number) for number in numbers]
    write_column(tmp_path / "t.csv", written, name)
    told = [option.replace("x=", f"{name}=") for option in options]
    renamed = [] if name == "x" else ["--column", f"x={name}"]
    done = call("label", "r.json", "t.csv", "-o", "out.csv", *told, *renamed)
    assert done.exit_code == 0, done.stderr
    with open("out.csv", newline="", encoding="utf-8") as file:
        assert [row["cluster"] for row in csv.DictReader(file, delimiter=";")] == right


def test_a_unit_is_one_that_every_value_has(tmp_path):
    assert read_found(write_column(tmp_path / "t.csv", ["12 kg", "3 kg"]))[1] == ["unit"]
    with open_source(write_column(tmp_path / "t.csv", ["0.5", "3+", "2", "3+", "7"]), Reading()) as source:
        source.table(findings=[])
        assert [note.kind for note in source.column_notes.get("x", ())] == ["mixed"]

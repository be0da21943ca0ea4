"""verify runs whatever an exporter writes that labels rows, and reports that all else was not run, and why."""

from __future__ import annotations

import builtins
import importlib
import math
import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commandline import call
from rulesets import code_rules, example_of_categories, example_rules, make_rules, small_rules, text_rules

from shallowrules.errors import EngineError, MissingExtraError, OptionError
from shallowrules.exporters import exporter_names
from shallowrules.exporters.sql import LABELLING_STYLES
from shallowrules.rules.boundary import boundary_table
from shallowrules.tables.number_format import NumberFormat
from shallowrules.tables.table import Table
from shallowrules.verification import runners, verify
from shallowrules.verification.comparing import NO_ANSWER
from shallowrules.verification.runners import page, pmml, xlsx
from shallowrules.verification.runners.languages import TOOLCHAINS

BUILT_IN = [
    *("c", "dbt", "go", "html", "java", "javascript", "markdown", "mermaid", "onnx", "pandas", "pmml", "polars"),
    *("python", "r", "rust", "sql", "svg", "xlsx"),
]


def found(rules, table, dialects=("sqlite",), **options):
    """Return comparisons by form, and by exporter what was not run."""
    not_run = []
    comparisons = verify(rules, table, dialects, on_not_run=not_run.append, **options)
    return {each.form: each for each in comparisons}, {each.exporter: each.reason for each in not_run}


def rows(rules, n_rows=30):
    generator = np.random.default_rng(0)
    table = {}
    for column in rules.columns:
        if column.is_numeric:
            table[column.name] = generator.normal(0, 5, n_rows).round()
        else:
            values = [*column.values, "a new one"] if column.type == "text" else [True, False]
            table[column.name] = generator.choice(np.array(values, object), n_rows)
    return table


def test_every_exporter_of_ours_has_a_runner_or_a_reason():
    placed = [*runners.RUNNERS, *runners.SQL_RUNNERS, *runners.NOT_RUN]
    assert sorted(placed) == sorted(set(placed))
    assert set(BUILT_IN) <= set(placed) <= set(exporter_names())


@pytest.fixture(scope="module")
def engines():
    """Skip where PMML cannot be scored, the page cannot be opened or the workbook cannot be computed.

    The Java that scores PMML runs on for all tests: `verify` uses the one that is already running.
    """
    with ExitStack() as opened:
        try:
            xlsx.find_libreoffice()
            with page.open_chromium():
                pass
            opened.enter_context(pmml.open_models())
        except MissingExtraError as error:
            pytest.skip(str(error))
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        example_rules,
        example_of_categories,
        lambda: text_rules(1.5, 2.5),
        lambda: text_rules(1),
        lambda: text_rules(2**53 + 1, 3),
        lambda: make_rules([("x", "float")], (0, 0, -(2**63), (0, 1, 2**63 - 1, (0, 2, 2**53 + 1, (0, 3, -2, -3))))),
    ],
    ids=["numbers", "categories", "imputed", "fractions", "large numbers", "labels that could be marks"],
)
def test_all_forms_agree(make, engines):
    rules = make()
    comparisons, not_run = found(rules, rows(rules))
    refused = {"xlsx", "onnx"} & set(not_run)  # a workbook takes no rules on integers beyond its doubles
    in_text = any(rules.columns[feature].from_text for feature in rules.tested_columns)
    is_large = rules.columns[0].type == "integer" and rules.nodes[0].threshold > 2**53
    assert refused == ({"xlsx"} if is_large else set()) | ({"onnx"} if in_text else set())
    in_workbook = [] if "xlsx" in refused else ["workbook in LibreOffice"]
    assert {form: each.disagreements for form, each in comparisons.items()} == dict.fromkeys(
        [
            *("RuleSet.assign", "Python, flat", "Python, ordered", "Python, nested", "Python, vectorized", "PMML"),
            *("pandas", "Polars", *([] if "onnx" in refused else ["ONNX"])),
            *("page in chromium", *in_workbook, *(f"SQL, sqlite, {style}" for style in LABELLING_STYLES)),
            "dbt, sqlite, model rendered by Jinja",
        ],
        0,
    )
    assert 30 <= comparisons["PMML"].rows <= comparisons["RuleSet.assign"].rows
    assert 30 < comparisons["page in chromium"].rows <= comparisons["RuleSet.assign"].rows
    for form in in_workbook:
        assert 30 < comparisons[form].rows <= comparisons["RuleSet.assign"].rows
    languages = set(TOOLCHAINS)  # which have a test of their own
    assert set(not_run) == {"markdown", "mermaid", "svg"} | languages | refused | (set(not_run) - set(BUILT_IN))


@pytest.mark.slow
@pytest.mark.parametrize("format", ["$1,234.50", "1.234,50 €", "1 234,50", "12.5%", "1,234.50-", "(1,234.50)"])
def test_the_page_reads_numbers_as_their_column_has_them(engines, format):
    rules = make_rules([("x", "float"), ("n", "integer")], (0, 1234.5, (1, -2000, 0, 1), (0, 1e7, 2, 3)))
    written = NumberFormat.of(format)
    columns = (replace(column, format=written.example, decimal=written.decimal) for column in rules.columns)
    rules = replace(rules, columns=tuple(columns))
    table = boundary_table(rules)
    with page.run_page(rules) as forms:
        form = forms["page in chromium"]
        typed = table.take(form.holds(table).nonzero()[0])
        assert typed.n_rows > 20
        assert form.label(typed).tolist() == rules.assign(typed).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pmml", "html", "xlsx"])
def test_a_threshold_that_is_off_by_one_float_is_found(monkeypatch, engines, name):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    [node, *leaves] = rules.nodes
    wrong = replace(rules, nodes=(replace(node, threshold=math.nextafter(0.5, 1)), *leaves))
    module = {"pmml": pmml, "html": page, "xlsx": xlsx}[name]
    export = module.export
    monkeypatch.setattr(module, "export", lambda rules, name, **options: export(wrong, name, **options))
    comparisons, _ = found(rules, {"x": [0.1, 0.9]}, [], exporters=[name])
    [first] = [each.first for each in comparisons.values() if each.disagreements]
    assert (first.values, first.expected, first.found) == ({"x": math.nextafter(0.5, 1)}, 1, 0)


def test_dbt_is_run_as_it_is_rendered(monkeypatch):
    rules = make_rules([("x", "float"), ("{{ 7*7 }}", "text")], (0, 0.5, 0, (1, "{% raw %}", 1, 2)))
    export = runners.dbt.export
    table = {"x": [0.1, 0.9, 0.9, np.nan], "{{ 7*7 }}": np.array(["", "{% raw %}", "", ""], object)}
    comparisons, _ = found(rules, table, ["duckdb", "sqlite"], exporters=["dbt"])
    assert [form for form in comparisons if form.startswith("dbt")] == [
        "dbt, duckdb, model rendered by Jinja",
        "dbt, sqlite, model rendered by Jinja",
    ]
    assert not any(form.startswith("SQL") for form in comparisons)
    assert {each.disagreements for each in comparisons.values()} == {0}

    def faulty(*arguments, **options):
        return {name: text.replace("{{ '{%' }}", "{ %") for name, text in export(*arguments, **options).items()}

    monkeypatch.setattr(runners.dbt, "export", faulty)
    comparisons, _ = found(rules, table, exporters=["dbt"])
    assert comparisons["dbt, sqlite, model rendered by Jinja"].disagreements >= 1


@pytest.mark.renders
def test_what_is_not_run_is_said_with_its_reason(monkeypatch, words, install):
    install("shout-plugin", {"shout": "shout_exporter:ShoutExporter"})
    imported = importlib.import_module

    def missing(name, *rest):
        if name in ("playwright.sync_api", "pypmml"):
            raise ImportError(name)
        return imported(name, *rest)

    for module in (page, pmml):
        monkeypatch.setattr(module, "import_module", missing)
    comparisons, not_run = found(small_rules(), {"x": [0.1], "i": [1]})
    assert not any("PMML" in form or "page" in form for form in comparisons)
    assert "shout-plugin" in not_run["shout"]
    for name, package in (("html", "playwright"), ("pmml", "pypmml")):
        assert re.search(rf"needs {package}, .*'shallowrules\[engines\]'", not_run[name])
    assert not_run["svg"] == not_run["markdown"]
    assert "read by people" in not_run["svg"]
    words([(name, not_run[name]) for name in ("shout", "html", "pmml", "svg")])
    with pytest.raises(MissingExtraError, match="needs pypmml"):
        found(small_rules(), {"x": [0.1], "i": [1]}, exporters=["pmml"])


@pytest.mark.parametrize(("module", "package"), [(page, "chromium"), (pmml, "Java"), (xlsx, "LibreOffice")])
def test_a_missing_program_is_named(monkeypatch, module, package):
    monkeypatch.setattr(module, "import_module", lambda name: builtins, raising=False)
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    opened = {page: page.open_chromium, pmml: pmml.open_models, xlsx: lambda: xlsx.run_workbook(small_rules())}[module]
    with pytest.raises(MissingExtraError, match=f"needs {package}, .*: apt-get install"), opened():
        pass


@pytest.mark.slow
def test_what_a_workbook_shows_that_is_no_cluster_is_none_of_the_tree(monkeypatch):
    rules = make_rules([("x", "float")], (0, 0.5, -2, 1))
    for shown, found_there in (("(no cluster)", None), ("7", NO_ANSWER), ("Err:522", NO_ANSWER), ("", NO_ANSWER)):
        row = [shown]
        monkeypatch.setattr(xlsx, "compute_workbooks", lambda books, row=row: [[row] * 99])
        monkeypatch.setattr(xlsx, "find_libreoffice", lambda: "soffice")
        _, workbook = verify(rules, {"x": [0.1]}, [], exporters=["xlsx"])
        assert workbook.disagreements == workbook.rows > 1
        assert (workbook.first.expected, workbook.first.found) == (-2, found_there)


@pytest.mark.parametrize("text", [None, ""])
def test_a_workbook_that_libreoffice_does_not_compute_is_an_error(monkeypatch, text):
    def convert(command):
        made = Path(command[command.index("--outdir") + 1], f"w0-{xlsx.LABEL_SHEET}.csv")
        made.parent.mkdir()
        if text is not None:
            made.write_text(text)
        return ""

    monkeypatch.setattr(xlsx, "find_libreoffice", lambda: "soffice")
    monkeypatch.setattr(xlsx, "_run", convert)
    with pytest.raises(EngineError, match="it computed no labels"):
        xlsx.compute_workbooks([b""])


def test_a_workbook_is_asked_for_rows_that_cells_hold():
    rules = make_rules([("n", "integer"), ("c", "text")], (0, 2**53, 0, (1, "a", 1, 2)))
    texts = ["a", "", "a\x01", "_x0041_", None, "b", "b", "c" * 32_768]
    table = Table.of({"n": [2**53, 1, 1, 1, 1, 2**53 + 1, 2**53 + 2, 1], "c": np.array(texts, object)})
    assert xlsx._pasted(rules, table).tolist() == [True, False, False, False, True, False, True, False]
    empty = Table.of({"n": [np.nan, np.inf, 1.0], "c": np.array([None, "a", None], object)})
    assert xlsx._pasted(rules, empty).tolist() == [False, False, True]


@pytest.mark.parametrize(("name", "message"), [("svg", "'svg' cannot be run"), ("no", "unknown exporter .*'no'")])
def test_what_is_asked_for_and_cannot_be_run_is_refused(name, message):
    with pytest.raises(OptionError, match=message):
        found(small_rules(), {"x": [0.1], "i": [1]}, exporters=[name])


@pytest.mark.renders
def test_rules_that_a_form_cannot_express_are_named():
    rules = make_rules([("a\x1b", "float")], (0, 1.0, 0, 1))
    _, not_run = found(rules, {"a\x1b": [0.5]})
    assert "U+001B" in not_run["pmml"]


@pytest.mark.renders
def test_the_command_says_it(tmp_path, monkeypatch, install):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i\n0.1,1\n0.9,3\n0.9,4\n")
    result = call("verify", "rules.json", "t.csv", "--dialect", "sqlite", "--exporter", "python")
    assert result.exit_code == 0
    assert "Python, flat" in result.stdout
    assert "not run" not in result.stdout
    assert "SQL" not in result.stdout
    install("shout-plugin", {"shout": "shout_exporter:ShoutExporter"})
    result = call("verify", "rules.json", "t.csv", "--dialect", "sqlite")
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    assert "not run: markdown, mermaid, svg: " in said
    assert re.search("not run: shout: .*shout-plugin", said)
    assert re.search(r"dbt, sqlite, model rendered by Jinja +\d+ +0\b", said)
    result = call("verify", "rules.json", "t.csv", "--exporter", "svg")
    assert result.exit_code == 2
    assert "exporter 'svg' cannot be run" in result.stderr


@pytest.mark.renders
@pytest.mark.parametrize("exporter", ["xlsx", "pmml"])
def test_codes_are_numbers_in_programs(exporter):
    [form] = [
        each
        for each in verify(code_rules("3"), {"region": ["3.0", "-7", "11", ""]}, dialects=[], exporters=[exporter])
        if each.form != "RuleSet.assign"
    ]
    assert form.rows > 10
    assert form.first is None

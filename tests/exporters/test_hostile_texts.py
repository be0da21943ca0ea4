"""Hostile names, labels and values, drawn and run in every form, as `tests/conformance/hostile.py` does at length."""

from __future__ import annotations

import random
import sys
from collections import Counter
from contextlib import ExitStack

import pytest
from draws import drawn

pytest.importorskip("markdown_it")

from hostile import KEPT, Hostile, audit, findings, surrogates_are_refused
from hostile_exporters import HEADING, last_findings, missing_checks, renewed, round_findings
from hostile_forms import BESIDE, CHECKS
from hostile_tools import ManyNames, Tools

from shallowrules.errors import MissingExtraError
from shallowrules.verification.runners.languages import TOOLCHAINS
from shallowrules.verification.runners.page import open_chromium
from shallowrules.verification.runners.pmml import open_models
from shallowrules.verification.runners.xlsx import find_libreoffice


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(drawn(8, least=2)))
def test_every_form_gives_the_labels_of_the_tree_and_does_nothing_else(running, seed):
    engines = [running("sqlite"), running("duckdb")]
    drawn = Hostile(random.Random(seed))
    try:
        for engine in engines:
            engine.create(KEPT, [("x", engine.types["integer"])], [(1,)])
        assert [*surrogates_are_refused(drawn), *findings(drawn, engines, Counter())] == []
    finally:
        for engine in engines:
            engine.drop(KEPT)


def test_rows_of_exporters_that_ran_alone_join_the_page(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    head = ["9 names", "seeds", "", "| exporter | how |", "|---|---|"]
    text = [f"## {HEADING}", "", *head, "| sql | old |", "| dbt | old |", "", "End.", "", "## Last", ""]
    page.write_text("\n".join(text))
    monkeypatch.setattr("hostile_exporters.PAGE", page)
    assert renewed([*head, "| onnx | new |", "| dbt | new |", "| go | new |", "", "New end."]) == [
        *head, "| sql | old |", "| onnx | new |", "| dbt | new |", "| go | new |", "", "New end."
    ]  # fmt: skip
    with pytest.raises(SystemExit, match="other names"):
        renewed(["8 names", *head[1:], "| go | new |"])


def test_an_exporter_without_a_check_is_named(install):
    assert missing_checks() == []
    install("shout", {"shout": "shout_exporter:ShoutExporter"})
    assert missing_checks() == ["shout"]


@pytest.fixture(scope="module")
def browser():
    """Start the browser and the Java that scores PMML, for all tests; skip where a program of the checks is missing."""
    with ExitStack() as opened:
        try:
            find_libreoffice()
            browser = opened.enter_context(open_chromium())
            opened.enter_context(open_models())
        except MissingExtraError as error:
            pytest.skip(str(error))
        yield browser


@pytest.fixture
def tools(running, browser):
    engine = running("sqlite")
    engine.create(KEPT, [("x", engine.types["integer"])], [(1,)])
    with ExitStack() as opened:
        opened.callback(engine.drop, KEPT)
        yield Tools(opened, [engine], browser)


@pytest.mark.renders
def test_every_exporter_keeps_hostile_names_in_their_place(tools):
    sys.addaudithook(audit)
    tools.seed = 3
    ours = {name: check for name, check in CHECKS.items() if name not in TOOLCHAINS}  # these have a test of their own
    checks = {**ours, "path documents": BESIDE["path documents"]}  # the engine of DMN takes half a minute to load
    assert list(round_findings(ManyNames(random.Random(3)), tools, checks)) == []
    assert tools.counts["xlsx, rows"] > 10
    assert list(last_findings(tools, {"xlsx"})) == []
    rules, rows, workbook, seed = tools.workbooks[0]
    tools.workbooks = [(rules, rows[1:], workbook, seed)]
    assert [name for name, _ in last_findings(tools, {"xlsx"})] == ["xlsx"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "written", "instead"),
    [
        ("html", "</title>", "</title><img src=x>"),
        ("svg", "</desc>", "</desc><a xmlns='http://www.w3.org/1999/xhtml' onclick='x'/>"),
        ("python", "def assign_cluster(", "import this_is_not_there\n\n\ndef assign_cluster("),
        ("mermaid", "-->|", "---|"),
        ("pmml", 'operator="lessOrEqual"', 'operator="lessThan"'),
        ("path documents", '"threshold": 0.5', '"threshold": 0.25'),
    ],
)
def test_a_check_finds_what_is_wrong(tools, monkeypatch, name, written, instead):
    import hostile_forms

    from shallowrules.rules import RulePath
    from shallowrules.verification.runners import python

    def faulty(make):
        def changed(*arguments, **options):
            return make(*arguments, **options).replace(written, instead)

        return changed

    if name == "path documents":
        monkeypatch.setattr(RulePath, "to_json", faulty(RulePath.to_json))
    else:
        right = hostile_forms.export
        wrong = faulty(right)
        monkeypatch.setattr(
            hostile_forms, "export", lambda rules, *a, **o: (right if rules is drawn.plain else wrong)(rules, *a, **o)
        )
        monkeypatch.setattr(python, "export", wrong)
    drawn = ManyNames(random.Random(5))
    found = list(round_findings(drawn, tools, {name: {**CHECKS, **BESIDE}[name]}))
    assert found
    assert {each for each, _ in found} == {name}

"""The commands of docs/examples: each does what the page says, and every form of its rules agrees on every row."""

from __future__ import annotations

import re
import shlex

import pytest
from browser import chromium
from conftest import ROOT
from structures import MARKDOWN

from shallowrules.rules import RuleSet

click_testing = pytest.importorskip("click.testing")
pytest.importorskip("duckdb")

PAGE = (ROOT / "docs" / "examples" / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^shallowrules (run .*)\nshallowrules (verify .*)$", PAGE, re.MULTILINE)


@pytest.mark.docs
@pytest.mark.parametrize(
    ("run", "verify"), COMMANDS, ids=[shlex.split(verify)[1].split("/")[0] for _, verify in COMMANDS]
)
def test_the_commands_of_the_page(run, verify, shared_data, tmp_path, monkeypatch):
    from shallowrules.cli.commands import shallowrules

    monkeypatch.chdir(tmp_path)
    for command in (run, verify):
        arguments = shlex.split(command.replace("$DATA", shlex.quote(str(shared_data))))
        result = click_testing.CliRunner().invoke(shallowrules, arguments)
        assert result.exit_code == 0, result.output
    folder = tmp_path / arguments[1].split("/")[0]
    rules = RuleSet.from_json(folder / "rules.json")
    [(compared, wrong)] = re.findall(r"on the file itself +([0-9,]+) +([0-9,]+)", result.output)
    assert (int(compared.replace(",", "")), wrong) == (rules.statistics.rows, "0")
    kept = ROOT / "docs" / "examples" / folder.name
    assert sorted(path.name for path in kept.iterdir()) == ["report.html", "report.md", "rules.py", "rules.sql"]


STYLE = (
    "@page {size: A4; margin: 2.5cm} body {font: 10.5pt/1.35 sans-serif}"
    "table {border-collapse: collapse} td, th {border: 1px solid; padding: 1pt 4pt}"
)


@pytest.mark.renders
@pytest.mark.parametrize("run", [run for run, _ in COMMANDS], ids=[verify.split("/")[0] for _, verify in COMMANDS])
def test_the_summary_of_a_sheet_is_on_one_page(run, shared_data, tmp_path, monkeypatch):
    from shallowrules.cli.commands import shallowrules

    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(run.replace("$DATA", shlex.quote(str(shared_data))))
    assert click_testing.CliRunner().invoke(shallowrules, [*arguments, "--write", "markdown"]).exit_code == 0
    [sheet] = tmp_path.glob("*/report.md")
    summary, after, rest = sheet.read_text(encoding="utf-8").partition("\n## Cluster ")
    assert len(re.findall(r"^\| [0-9]+ \| ", summary, re.MULTILINE)) == rest.count("\nA row is here if ")
    assert "\nRead and approved by: ___" in summary
    with chromium() as browser:
        page = browser.new_page()

        def pages_of(text):
            """Return the number of pages that a text takes on paper."""
            page.set_content(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{MARKDOWN.render(text)}")
            return len(re.findall(rb"/Type */Page\b", page.pdf(prefer_css_page_size=True)))

        assert pages_of(summary) == 1
        assert pages_of(summary + after + rest) > 1


def test_there_are_three_of_them():
    assert len(COMMANDS) == 3


@pytest.mark.slow
def test_an_id_is_refused_with_what_the_page_says(shared_data):
    from shallowrules.cli.commands import shallowrules

    for name, column in (("wholesale_customers", "Customer ID"), ("telco_customer_churn", "customerID")):
        arguments = ["run", str(shared_data / f"{name}.csv"), "-k", "4", "--null", ""]
        result = click_testing.CliRunner().invoke(shallowrules, arguments)
        assert result.exit_code == 3
        assert f"--exclude {shlex.quote(column)}" in result.output

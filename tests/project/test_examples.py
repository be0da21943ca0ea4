"""The commands of docs/examples: each does what the page says, and every form of its rules agrees on every row."""

from __future__ import annotations

import re
import shlex

import pytest
from conftest import ROOT

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

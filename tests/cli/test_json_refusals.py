"""Errors with --json: their kinds, their fields, and commands that work instead."""

from __future__ import annotations

import json
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
from commandline import COMMAND
from jsonresults import asked, document_of, make_folder

from shallowrules.cli.escaping import printable
from shallowrules.cli.failures import DONE, MISUSED, STOPPED


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_folder(tmp_path_factory)


@pytest.fixture(autouse=True)
def in_folder(folder):
    """Every test works in the folder."""


@pytest.mark.parametrize(
    ("words", "status", "kind", "fields"),
    [
        (["run", "t.csv", "-k", "x"], MISUSED, "usage", {"option": "-k"}),
        (["run", "t.csv", "-k", "3", "--scal", "x"], MISUSED, "usage", {"option": "--scal"}),
        (
            ["run", "t.csv", "-k", "3", "--method", "imm", "--refine", "thorough"],
            MISUSED,
            "usage",
            {"option": "--refine"},
        ),
        (["drift"], MISUSED, "usage", {}),
        (["nothing"], MISUSED, "usage", {}),
        (["fit", "t.csv", "-k", "3"], MISUSED, "usage", {"option": "--json"}),
        (["refit", "rules.json", "t.csv"], MISUSED, "usage", {}),
        (["explain", "rules.json"], MISUSED, "usage", {}),
        (["drift", "rules.json", "no.csv"], STOPPED, "file", {}),
        (["drift", "rules.json", "no*.csv"], STOPPED, "file", {}),
        (["drift", "no.json", "t.csv"], STOPPED, "file", {}),
        (["drift", "t.csv", "t.csv"], STOPPED, "rules", {}),
        (["drift", "rules.json", "gaps.csv"], STOPPED, "table", {"column": "width"}),
        (["clusters", "t.csv", "--exclude", "no"], STOPPED, "table", {"column": "no"}),
        (["clusters", "t.csv", "--weight", "no"], STOPPED, "table", {"column": "no"}),
        (["label", "rules.json", "t.csv", "-o", "moved.csv"], STOPPED, "refused", {"option": "-o"}),
        (["label", "rules.json", "t.csv", "-o", "no/out.csv"], STOPPED, "refused", {"option": "-o"}),
        (["refit", "rules.json", "t.csv", "-o", "-"], STOPPED, "refused", {"option": "-o"}),
        (["clusters", "t.csv", "--to", "2", "--plot", "no/x.svg"], STOPPED, "refused", {"option": "--plot"}),
        (["diff", "rules.json", "rules.json", "--log-file", "t.csv"], STOPPED, "refused", {"option": "--log-file"}),
        (["run", "gaps.csv", "-k", "2"], STOPPED, "table", {"column": "b"}),
        (["drift", "rules.json", "--database", "sqlite:///no.db", "--table", "t"], STOPPED, "file", {}),
        (["drift", "rules.json", "--database", "sqlite:///t.csv", "--table", "t"], STOPPED, "database", {}),
    ],
)
def test_a_refusal_has_its_kind_and_its_fields(words, status, kind, fields):
    Path("gaps.csv").write_text("a,b\n" + "".join(f"{i % 7},{i if i % 4 else ''}\n" for i in range(1, 20)))
    document, stderr = asked(*words)
    error = document["error"]
    assert (document["status"], error["kind"], document["result"]) == (status, kind, None)
    assert {name: error[name] for name in ("option", "column")} == {"option": None, "column": None} | fields
    assert printable(error["message"]) in stderr


@pytest.mark.parametrize(
    "text", ["sead = 1", "seed = 'x'", "= 1", "[exporters.sql]\ndialect = 'x'", "[databases.shop]\nurll = 'x'"]
)
def test_a_fault_in_the_settings_has_its_kind(text):
    Path("shallowrules.toml").write_text(text + "\n")
    document, _ = asked("run", "t.csv", "-k", "3")
    assert (document["status"], document["error"]["kind"]) == (STOPPED, "settings")
    assert document["error"]["option"] is None


def test_a_refused_table_has_its_findings_and_a_command_that_works():
    Path("gaps.csv").write_text("a,b\n" + "".join(f"{i % 7},{i if i % 4 else ''}\n" for i in range(1, 20)))
    document, stderr = asked("clusters", "gaps.csv", "--to", "2")
    [finding] = document["error"]["findings"]
    assert (finding["kind"], finding["column"], finding["count"], finding["rows"]) == ("missing values", "b", 4, 19)
    [command] = document["error"]["commands"]
    assert f"This works: {command}\n" in stderr
    again = subprocess.run(
        ["sh", "-c", command.replace("shallowrules", '"$@"', 1), "sh", *COMMAND], stdout=-1, stderr=-1
    )
    assert document_of(again.stdout.decode())["status"] == DONE


def test_an_output_that_exists_has_a_command_that_replaces_it():
    document, _ = asked("label", "rules.json", "t.csv", "-o", "moved.csv")
    [command] = document["error"]["commands"]
    assert command == "shallowrules label rules.json t.csv -o moved.csv --json --force"
    assert asked(*command.split()[1:-2], "--force")[0]["status"] == DONE


def test_a_choice_has_a_command_for_each():
    Path("two.csv").write_text("a;b,c\n1;2,3\n4;5,6\n7;8,9\n")
    document, stderr = asked("run", "two.csv", "-k", "2")
    first, second = document["error"]["commands"]
    assert f"This works: {first}\nOr: {second}\n" in stderr
    assert ("--delimiter ," in first) != ("--delimiter ," in second)


def test_a_password_is_in_no_document():
    url = "postgresql://me:s3cret@127.0.0.1:1/x"
    document, stderr = asked("drift", "rules.json", "--database", url, "--table", "t")
    assert document["error"]["kind"] in ("database", "extra")
    assert "s3cret" not in json.dumps(document) + stderr


def test_an_answer_that_stops_is_refused(monkeypatch):
    import click

    command = import_module("shallowrules.cli.commands.diff").command
    monkeypatch.setattr(command, "callback", lambda **options: click.confirm("Go on?", abort=True, err=True))
    document, _ = asked("diff", "rules.json", "rules.json", input="n\n")
    assert (document["status"], document["error"]["kind"]) == (STOPPED, "refused")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (MemoryError(), "memory"),
        (ZeroDivisionError("x"), "unexpected"),
        (ModuleNotFoundError("no", name="rich"), "unexpected"),
    ],
)
def test_what_is_unexpected_is_an_error_too(monkeypatch, failure, kind):
    def fail(**options):
        raise failure

    monkeypatch.setattr(import_module("shallowrules.cli.commands.diff").command, "callback", fail)
    document, _ = asked("diff", "rules.json", "rules.json")
    assert (document["status"], document["error"]["kind"]) == (STOPPED, kind)


def test_what_was_found_before_it_stopped_is_kept(monkeypatch):
    from shallowrules.cli.commands import drift
    from shallowrules.errors import DataError

    def fail(*given):
        raise DataError("the table is gone")

    monkeypatch.setattr(drift, "_gain", fail)
    document, _ = asked("drift", "rules.json", "t.csv", "--refit")
    assert (document["status"], document["error"]["message"]) == (STOPPED, "the table is gone")
    assert document["result"]["rows"] == 60

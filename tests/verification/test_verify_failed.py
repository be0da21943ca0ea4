"""verify compares the other forms where one fails, and reports it."""

from __future__ import annotations

import json

import pytest
from commandline import call
from rulesets import small_rules

from shallowrules.errors import EngineError
from shallowrules.exporters import export
from shallowrules.verification import verify
from shallowrules.verification.engines.sqlite import SQLite
from shallowrules.verification.runners import RUNNERS, languages, sql

FORMS = ("--exporter", "c", "--exporter", "python", "--exporter", "sql", "--dialect", "sqlite")
STYLES = [f"SQL, sqlite, {style}" for style in sql.LABELLING_STYLES]


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i\n0.1,1\n0.9,3\n0.9,4\n")


@pytest.fixture
def broken_compiler(tmp_path, monkeypatch):
    """A C compiler that refuses every program, in two lines."""
    compiler = tmp_path / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\necho 'main.c: no\nsuch thing' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(compiler.parent), prepend=":")


def test_a_form_that_does_not_compile_is_reported_after_the_others(broken_compiler):
    ended = call("verify", "rules.json", "t.csv", *FORMS)
    assert ended.exit_code == 3
    assert ended.stderr == "Error: C: ends in an error: cc: main.c: no such thing\n"
    assert all(form in ended.stdout for form in ("Python, flat", *STYLES))
    document = json.loads(call("verify", "rules.json", "t.csv", *FORMS, "--json").stdout)
    compared = [each["form"] for each in document["result"]["comparisons"]]
    assert {"Python, flat", *STYLES} <= {*compared}
    assert "C" not in compared
    assert document["result"]["failed"] == [{"form": "C", "reason": "cc: main.c: no\nsuch thing"}]
    assert (document["status"], document["error"]["kind"]) == (3, "engine")


def test_another_form_that_differs_decides_the_status(broken_compiler, monkeypatch):
    predicates = sql.cluster_predicates
    monkeypatch.setattr(
        sql, "cluster_predicates", lambda *given, **kept: dict.fromkeys(predicates(*given, **kept), "1=1")
    )
    ended = call("verify", "rules.json", "t.csv", *FORMS)
    assert ended.exit_code == 1
    assert "C: ends in an error: cc: main.c: no such thing\n" in ended.stdout
    assert "SQL, sqlite, where" in ended.stderr


def test_a_compiler_that_says_nothing_has_a_status():
    chain = languages.TOOLCHAINS["c"]
    with pytest.raises(EngineError, match="cc: sh ends with status 7"):
        chain.command(("sh", "-c", "exit 7"), ".")


def test_sql_that_an_engine_refuses_leaves_the_other_styles(monkeypatch):
    monkeypatch.setattr(
        sql,
        "export",
        lambda rules, *given, **kept: export(rules, *given, **kept) + (")" if kept["style"] == "case" else ""),
    )
    failed = []
    found = verify(small_rules(), {"x": [0.1], "i": [1]}, ["sqlite"], exporters=["sql"], on_failed=failed.append)
    assert [each.form for each in found] == [
        "RuleSet.assign",
        *(form for form in STYLES if not form.endswith(", case")),
    ]
    assert [each.form for each in failed] == ["SQL, sqlite, case"]
    with pytest.raises(EngineError, match="syntax error"):
        list(verify(small_rules(), {"x": [0.1], "i": [1]}, ["sqlite"], exporters=["sql"]))


def test_an_engine_that_does_not_start_leaves_the_others(monkeypatch):
    def no(*arguments):
        raise EngineError("SQLite", "start", "no")

    monkeypatch.setattr(SQLite, "open", no)
    monkeypatch.setitem(RUNNERS, "c", no)
    failed = []
    found = verify(
        small_rules(), {"x": [0.1], "i": [1]}, ["sqlite", "duckdb"], exporters=["c", "sql"], on_failed=failed.append
    )
    assert [each.form.partition(",")[0] for each in found] == ["RuleSet.assign", *["SQL"] * len(STYLES)]
    assert [(each.form, each.reason) for each in failed] == [("c", "SQLite: no"), ("SQL, sqlite", "SQLite: no")]

"""The commands that take rules: `export` and `verify`."""

from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import replace

import pytest
from commandline import call, refused, write_groups
from rulesets import make_rules

from shallowrules.rules import RuleSet
from shallowrules.verification import runners


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Rules in ------------------------------------------------------------------------------------------


@pytest.fixture
def rules():
    rules = make_rules([("x", "float"), ("n", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))
    rules.to_json("rules.json")
    return rules


def test_export_to_stdout_and_to_a_file(folder, rules):
    text = call("export", "rules.json", "sql", "--dialect", "duckdb", "--style", "select", "--table", "t").stdout
    assert 'FROM "t"' in text
    result = call(
        "export", "rules.json", "sql", "--dialect", "duckdb", "--style", "select", "--table", "t", "-o", "r.sql"
    )
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (folder / "r.sql").read_text() == text
    assert (
        "def assign_cluster(row: NamedValues, lenient: bool = False)" in call("export", "rules.json", "python").stdout
    )
    assert call("export", "rules.json", "markdown").stdout.startswith("#")
    assert (
        "`y` <= CAST(0.5 AS NUMERIC)"
        in call("export", "rules.json", "sql", "--dialect", "sqlite", "--column", "x=y").stdout
    )


def test_export_with_a_template(folder, rules):
    (folder / "mine.j2").write_text("{% for cluster in clusters %}{{ cluster.index }};{% endfor %}")
    result = call("export", "rules.json", "sql", "--template", "mine.j2")
    assert result.exit_code == 0
    assert sorted(result.stdout.strip().strip(";").split(";")) == ["0", "1", "2"]
    assert "mine.j2" in refused("export", "rules.json", "sql", "--template", "mine.j2", "-o", "mine.j2")
    (folder / "broken.j2").write_text("{{ nothing_like_it }}")
    assert "nothing_like_it" in refused("export", "rules.json", "sql", "--template", "broken.j2", status=2)


def test_export_refuses_what_it_does_not_know(rules, words):
    message = refused("export", "rules.json", "python", "--dialect", "duckdb", status=2)
    assert all(part in message for part in ("'--dialect'", "'python'", ": --function-name,")), message
    message = refused("export", "rules.json", "sql", "--column", "nix=x", status=2)
    assert all(part in message for part in ("--column", "'nix'")), message
    assert "rules.json is the file " in refused("export", "rules.json", "sql", "-o", "rules.json")
    said = []
    for arguments, status, found in (
        (["cobol"], 2, ["exporter 'cobol'", "sql"]),
        (["sql", "--dialect", "mysql", "--column", f"x={'x' * 65}"], 3, ["65", "mysql", "64", "--column"]),
    ):
        message = refused("export", "rules.json", *arguments, status=status)
        assert all(part in message for part in found), message
        said.append((" ".join(arguments), message))
    words(said)


def damage(document, what):
    if what == "truncated":
        return json.dumps(document)[:-40]
    if what == "of another version":
        document["format"] = "shallowrules/3"
    elif what == "has a cycle":
        document["nodes"][2]["left"] = 0
    elif what == "has a NaN":
        document["nodes"][0]["threshold"] = float("nan")
    elif what == "has an unknown kind of node":
        document["nodes"][0]["kind"] = "slope"
    elif what == "a table":
        return "a,b\n1,2\n"
    return json.dumps(document)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("truncated", "not valid JSON"),
        ("of another version", "'shallowrules/3'"),
        ("has a cycle", "no cycles"),
        ("has a NaN", "not finite"),
        ("has an unknown kind of node", "'slope'"),
        ("a table", "not valid JSON"),
    ],
)
def test_damaged_rules_are_refused(folder, rules, what, message):
    write_groups()
    (folder / "rules.json").write_text(damage(json.loads((folder / "rules.json").read_text()), what))
    for arguments in (["export", "rules.json", "sql", "-o", "r.sql"], ["verify", "rules.json", "t.csv"]):
        found = refused(*arguments)
        assert found.startswith("rules.json: ")
        assert message in found


def test_an_entry_that_is_not_known_is_named_on_stderr(folder, rules, words):
    document = json.loads((folder / "rules.json").read_text())
    (folder / "rules.json").write_text(json.dumps({**document, "later": 1}))
    result = call("export", "rules.json", "sql")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: ")
    assert "'later'" in result.stderr
    words(result.stderr.strip())


def test_missing_rules():
    for arguments in (["export", "none.json", "sql"], ["verify", "none.json", "t.csv"]):
        assert refused(*arguments) == f"none.json: {os.strerror(errno.ENOENT)}"


AT_MOST = r" <= (?=(CAST\()?0\.5)"


def test_verify_reports_the_first_row_that_differs(folder, rules, monkeypatch):
    (folder / "t.csv").write_text("x,n\n0.1,1\n0.9,3\n")
    export = runners.sql.export

    def faulty(rules, name, **settings):
        return re.sub(AT_MOST, " < ", export(rules, name, **settings))

    def faulty_predicates(rules, **settings):
        found = predicates(rules, **settings)
        return {cluster: re.sub(AT_MOST, " < ", predicate) for cluster, predicate in found.items()}

    predicates = runners.sql.cluster_predicates
    monkeypatch.setattr(runners.python, "export", faulty)
    monkeypatch.setattr(runners.sql, "export", faulty)
    monkeypatch.setattr(runners.sql, "cluster_predicates", faulty_predicates)
    result = call("verify", "rules.json", "t.csv", "--dialect", "sqlite")
    assert result.exit_code == 1
    assert re.search(r"RuleSet.assign\s+\d+\s+0\b", result.stdout)
    assert re.search(r"SQL, sqlite, where\s+\d+\s+[1-9]", result.stdout)
    assert re.search(r"Python, flat: boundary row \d+ \(x = 0.5, n = -?\d+\) .*\bcluster 0\b", result.stdout)
    assert "duckdb" not in result.stdout
    assert ": Python, flat; Python, ordered;" in " ".join(result.stderr.split())


def test_verify_reads_only_what_the_rules_test(folder, rules):
    (folder / "t.csv").write_text("comment,n,x\nfirst,1,0.1\nsecond,,0.9\nthird,7,nan\n")
    assert call("verify", "rules.json", "t.csv").exit_code == 0
    (folder / "u.csv").write_text("n\n1\n")
    assert "no column 'x'" in refused("verify", "rules.json", "u.csv")
    (folder / "v.csv").write_text("n,x\n1,much\n2,little\n")
    assert "'x' is not numeric" in refused("verify", "rules.json", "v.csv")
    assert "duckdb, sqlite" in refused("verify", "rules.json", "t.csv", "--dialect", "oracle", status=2)


def test_text_that_is_no_unicode_is_refused(folder, rules):
    (folder / "half.j2").write_text('{{ "\\ud800" }}')
    for target in ([], ["-o", "r.sql"]):
        message = refused("export", "rules.json", "sql", "--template", "half.j2", *target)
        assert "not valid UTF-8" in message


def test_histograms_are_kept_unless_they_are_not_wanted(folder):
    write_groups(folder / "t.csv")
    call("fit", "t.csv", "-k", "2", "-o", "with.json")
    call("fit", "t.csv", "-k", "2", "--no-histograms", "-o", "without.json")
    with_them, without = (RuleSet.from_json(name) for name in ("with.json", "without.json"))
    assert any(column.edges for column in with_them.columns)
    assert all(cluster.reference_weights for cluster in with_them.clusters)
    assert without.settings["histograms"] is False
    assert replace(without, settings=with_them.settings) == with_them.without_histograms() != with_them

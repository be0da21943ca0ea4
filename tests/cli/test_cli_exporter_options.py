"""Options of exporters on the command line: made from their dataclasses, a plugin's just like ours."""

from __future__ import annotations

import ast
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from commandline import call, refused
from rulesets import make_rules

from shallowrules import RuleSet, cli, export
from shallowrules.cli.commands import run
from shallowrules.errors import PluginError
from shallowrules.exporters import check_exporter, exporter_names, get_exporter
from shallowrules.exporters.options import Fact, describe_options, on_command_line


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder that has rules and a table."""
    monkeypatch.chdir(tmp_path)
    make_rules([("x", "float"), ("n", "integer")], (0, 0.5, 0, (1, 3, 1, 2))).to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,n\n" + "0.5,1\n9.5,7\n" * 10)
    return tmp_path


@pytest.fixture
def letter(install):
    install("stationery", {"letter": "letter_exporter:LetterExporter"})


def exported(*arguments):
    """Return the options that the letter was written with, as text by name."""
    result = call("export", "rules.json", "letter", *arguments)
    assert result.exit_code == 0, result.output
    return dict(line.split("=", 1) for line in result.stdout.splitlines())


def one_line(text):
    return " ".join(text.split())


def test_no_option_of_an_exporter_is_known_by_name():
    """No text of the command line is the name of an option of our exporters, except for its own options."""
    names = {field.name for name in ("sql", "python", "markdown") for field in fields(get_exporter(name).options)}
    names |= {name.replace("_", "-") for name in names}
    folder = Path(cli.__file__).parent
    for path in [
        folder / "options" / "exporters.py",
        folder / "commands" / "run.py",
        folder / "commands" / "export.py",
    ]:
        texts = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
        }
        assert not names & texts - set(get_args(Fact)), path.name  # there, what a run knows of its rows


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"greeting": "'Dear'", "signed": "True", "margin": "None", "enclosed": "()", "recipient": "'you'"}),
        (["--greeting", "Hi"], {"greeting": "'Hi'"}),
        (["--greeting="], {"greeting": "''"}),
        (["--paper-size", "letter"], {"paper_size": "'letter'"}),
        (["--paper-size", "5"], {"paper_size": "5"}),
        (["--no-signed", "--draft"], {"signed": "False", "draft": "True"}),
        (["--copies", "3", "--pages=2"], {"copies": "3", "pages": "2"}),
        (["--margin", "0.5"], {"margin": "0.5"}),
        (["--enclosed", "a", "--enclosed", "b"], {"enclosed": repr((Path("a"), Path("b")))}),
        (["--words", "a,b"], {"words": "('a,b',)"}),
        (["--letterhead", "x.png"], {"letterhead": repr(Path("x.png"))}),
        (["--name", "a=b", "--name", "c=d=e"], {"names": "{'a': 'b', 'c=d': 'e'}"}),
        (["--levels", "a=3"], {"levels": "{'a': 3}"}),
        (["--recipient", "me"], {"recipient": "'me'"}),
    ],
)
def test_every_kind_of_option(letter, arguments, expected):
    assert exported(*arguments).items() >= expected.items()


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--paper-size", "a5"], ["'--paper-size'", "'a5'", "'a4', 'letter', '5'"]),
        (["--copies", "many"], ["'--copies'", "'many'", "integer"]),
        (["--margin", "wide"], ["'--margin'", "'wide'", "float"]),
        (["--name", "a"], ["'--name'", "'a'", "OLD=NEW"]),
        (["--levels", "a=b"], ["'--levels'", "'b'", "integer"]),
        (["--loud"], ["'--loud'", "'letter'", ": --greeting, --paper-size, --signed, --draft, --copies,"]),
        (["--greeting", "Oi"], ["--greeting: that is rude"]),
        (["--copies", "0"], ["--copies must be 1 "]),
    ],
)
def test_what_is_wrong_with_an_option_is_said_as_it_was_typed(letter, arguments, found):
    message = refused("export", "rules.json", "letter", *arguments, status=2)
    assert all(part in message for part in found), message


def test_options_are_found_wherever_they_stand(letter):
    for arguments in (
        ["--greeting", "sql", "rules.json", "letter"],
        ["rules.json", "--greeting", "sql", "letter"],
        ["rules.json", "letter", "--greeting", "sql"],
        ["rules.json", "letter", "--greeting=sql"],
        ["--greeting=sql", "--", "rules.json", "letter"],
    ):
        result = call("export", *arguments)
        assert "greeting='sql'\n" in result.stdout, arguments
    os.rename("rules.json", "sql")
    assert "greeting='letter'\n" in call("export", "sql", "letter", "--greeting", "letter").stdout


@pytest.mark.parametrize("arguments", [["letter"], ["none.json", "letter"], ["letter", "--copies", "3"]])
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_of_an_exporter_needs_no_rules(letter, arguments, word):
    for given in ([*arguments, word], [word, *arguments]):
        result = call("export", *given)
        assert (result.exit_code, result.stderr) == (0, "")
        text = one_line(result.stdout)
        assert "Options of letter:" in text
        assert "--greeting TEXT How the letter begins: Dear. [default: Dear]" in text
        assert "--paper-size [a4|letter|5] What it is printed on. [default: a4]" in text
        assert "--signed / --no-signed Whether there is a name below. [default: --signed]" in text
        assert "--copies N How many. [default: 1] --pages N How many. --margin NUMBER In inches. --enclosed" in text
        assert "--enclosed FILE Files to go with it. May be repeated." in text
        assert "--name OLD=NEW Who is who. May be repeated." in text
        assert "--recipient TEXT [default: you]" in text
        assert "no section" not in text


def test_help_of_export_alone_says_how_to_see_more():
    result = call("export", "--help")
    assert result.exit_code == 0
    assert "export FORMAT --help" in one_line(result.stdout)
    assert "Options of" not in result.stdout


@pytest.mark.parametrize("name", ["sql", "python", "markdown"])
def test_our_own_options_are_explained(name):
    text = one_line(call("export", name, "--help").stdout)
    for spec in describe_options(get_exporter(name).options):
        assert spec.help in text
        assert f"--{spec.spelling} " in text


def test_our_exporters_take_their_options(words):
    assert call("export", "rules.json", "markdown", "--title", "My sheet").stdout.startswith("# My sheet\n")
    assert (
        "def segment(row: NamedValues, lenient: bool = False)"
        in call("export", "rules.json", "python", "--function-name", "segment").stdout
    )
    message = refused("export", "rules.json", "python", "--function-name", "if", status=2)
    assert "--function-name 'if'" in message
    words(message)
    message = refused("export", "rules.json", "markdown", "--title", " ", status=2)
    assert "--title must " in message
    assert "blank" in message


# run -----------------------------------------------------------------------------------------------


def test_run_writes_what_it_is_told(folder, letter):
    result = call("run", "t.csv", "-k", 2, "--write", "letter,python", "--python-function-name", "f")
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir("t_rules")) == ["letter.txt", "rules.json", "rules.py", "settings.json"]
    assert "def f(row: NamedValues, lenient: bool = False)" in (folder / "t_rules" / "rules.py").read_text()
    assert "recipient=['t']\n" in (folder / "t_rules" / "letter.txt").read_text()
    written = "t_rules/rules.json, t_rules/settings.json, t_rules/letter.txt, t_rules/rules.py"
    assert re.search(rf"written\s+{written}\n", result.stdout)
    again = ["run", "t.csv", "-k", 2, "--write=markdown", "--write", "letter", "--force"]
    assert call(*again, "--no-letter-signed", "--recipient", "us").exit_code == 0
    assert {"signed=False", "recipient='us'"} <= set((folder / "t_rules" / "letter.txt").read_text().split("\n"))
    assert call(*again, "--letter-recipient", "them").exit_code == 0
    assert "recipient='them'" in (folder / "t_rules" / "letter.txt").read_text()


def test_an_option_that_is_the_name_of_the_file_too(folder):
    for stem, words in (("Cluster", []), ("Rules", []), ("Segments", ["--name", "Segments"])):
        assert call("export", "rules.json", "java", "-o", f"{stem}.java", *words).exit_code == 0
        assert f"public final class {stem} {{" in (folder / f"{stem}.java").read_text()
    assert "class Rules {" in call("export", "rules.json", "java").stdout
    assert "class Other {" in call("export", "rules.json", "java", "--name", "Other").stdout
    said = refused("export", "rules.json", "java", "-o", "A.java", "--name", "B", status=2)
    assert "--name 'B' has to be the name of the file too: name the file B.java, or use --name A" in one_line(said)
    must = "the file must have the name of what it defines, and"
    for stem, why in (
        ("my-rules", "is not a name that Java allows: use ASCII letters, digits and _"),
        ("class", "is already used by Java or by the generated code; choose another name"),
    ):
        said = refused("export", "rules.json", "java", "-o", f"{stem}.java", status=2)
        assert one_line(said) == f"-o {stem}.java: {must} {stem!r} {why}"
    said = refused("export", "rules.json", "java", "-o", "my-rules.java", "--name", "Segments", status=2)
    assert one_line(said) == "--name 'Segments' has to be the name of the file too: name the file Segments.java"
    said = refused("export", "rules.json", "java", "--name", "my-rules", status=2)
    assert one_line(said).startswith("--name 'my-rules' is not a name that Java allows")
    assert call("run", "t.csv", "-k", "2", "--write", "java", "--java-name", "Cluster").exit_code == 0
    assert "class Cluster {" in (folder / "t_rules" / "Cluster.java").read_text()


def test_the_help_of_run_names_the_short_spellings():
    names = [
        f"--{spec.spelling}" for spec in describe_options(get_exporter("sql").options) if spec.command_line.unprefixed
    ]
    assert len(names) == 5
    assert f": {', '.join(names)}." in run.command.epilog.partition(" sql ")[2]


def test_the_spellings_with_and_without_the_exporters_name_are_the_same(folder):
    short = ["--dialect", "mysql", "--style", "select", "--column", "x=y", "--cluster-column", "c", "--table", "a.b"]
    long = [f"--sql-{word[2:]}" if word.startswith("--") else word for word in short]
    texts = []
    for given in (short, long, [*short[:4], *long[4:]]):
        assert call("run", "t.csv", "-k", 2, "--force", *given).exit_code == 0
        texts.append((folder / "t_rules" / "rules.sql").read_text())
    assert texts[0] == texts[1] == texts[2]
    assert "FROM `a`.`b`" in texts[0]
    assert "AS `c`" in texts[0]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--write", "sql,cobol"], ["exporter 'cobol'", "sql"]),
        (["--sql-dialekt", "duckdb"], ["'--sql-dialekt'", "'--html-dialect', '--sql-dialect', "]),
        (["--sql-dialect", "klingon"], ["--sql-dialect: ", "dialect 'klingon'", "ansi"]),
        (["--dialect", "klingon"], ["--dialect: ", "dialect 'klingon'", "ansi"]),
        (["--sql-column", "nix=y"], ["--sql-column", "'nix'"]),
        (["--markdown-title", " "], ["--markdown-title", "blank"]),
    ],
)
def test_what_run_refuses(arguments, found):
    message = refused("run", "t.csv", "-k", 2, *arguments, status=2)
    assert all(part in message for part in found), message


def test_run_refuses_options_of_what_it_does_not_write(words):
    said = []
    for arguments, found in (
        (["--write", "python", "--dialect", "duckdb"], ["--dialect", "sql", "(--write)", "--python-function-name,"]),
        (["--write", "sql", "--markdown-title", "X"], ["--markdown-title", "markdown", "(--write)"]),
    ):
        message = refused("run", "t.csv", "-k", 2, *arguments, status=2)
        assert all(part in message for part in found), message
        said.append((" ".join(arguments), message[message.index(f" {arguments[2]} ") + 1 :]))  # without click's
    words(said)


def test_run_stops_at_a_missing_template():
    assert "none.j2" in refused("run", "t.csv", "-k", 2, "--sql-template", "none.j2")


def test_what_a_plugin_refuses_is_known_before_the_work(folder, letter, monkeypatch):
    monkeypatch.setattr(
        "shallowrules.models.estimator.ExplainableKMeans.fit", lambda *_, **__: pytest.fail("it went to work")
    )
    (folder / "u.csv").write_text("x,forbidden\n1,2\n3,4\n")
    run = ["run", "u.csv", "-k", 2, "--write", "letter"]
    assert "go with --recipient" in refused(*run, status=2)
    assert "go with --letter-recipient" in refused(*run, "--letter-recipient", "x", status=2)
    assert "--letter-copies must be 1 " in refused("run", "none", "-k", 2, *run[4:], "--letter-copies", 0, status=2)


def test_files_of_one_name_are_refused_before_anything_is_written(install, words):
    install("more", {"letter": "letter_exporter:LetterExporter", "postcard": "letter_exporter:PostcardExporter"})
    message = refused("run", "none.csv", "-k", 2, "--write", "letter,postcard", status=2)
    assert "'postcard' writes LETTER.txt" in message
    assert "exporter 'letter'" in message
    words(message)
    install("rival", {"rival": "letter_exporter:RivalExporter"}, folder="other")
    message = refused("run", "none.csv", "-k", 2, "--write", "rival", status=2)
    assert "'rival' writes Rules.json" in message
    words(message)


def test_an_option_that_two_exporters_claim_needs_their_name(install):
    install("more", {"letter": "letter_exporter:LetterExporter", "postcard": "letter_exporter:PostcardExporter"})
    arguments = ["run", "none.csv", "-k", 2, "--write", "letter,postcard"]
    assert "'--recipient'" in refused(*arguments, "--recipient", "me", status=2)


def test_help_of_run(letter):
    text = one_line(call("run", "--help").stdout)
    assert "run --write NAMES --help" in text
    assert "Options of" not in text
    text = one_line(call("run", "--write", "sql,letter", "--help").stdout)
    assert "Options of sql: --sql-dialect, --dialect TEXT" in text
    assert "--letter-recipient, --recipient TEXT [default: the table's name]" in text
    assert "--letter-signed / --no-letter-signed" in text
    assert "--markdown" not in text.partition("Options of sql")[2].replace("--markdown-title X", "")


# The contract --------------------------------------------------------------------------------------


def exporter_with(options):
    class Exporter:
        name, file_extension, media_type = "made-up", ".txt", "text/plain"

        def export(self, rules, **given):
            return ""

    Exporter.options = options
    return Exporter


@pytest.mark.parametrize(
    "kind",
    [Callable[[], int], Any, Literal[True], tuple[int, str], list[dict[str, int]], dict[int, str], list[bool]],
    ids=repr,
)
def test_types_that_the_command_line_cannot_offer_break_the_contract(kind):
    with pytest.raises(PluginError) as caught:
        check_exporter(exporter_with(make_dataclass("Options", [("x", kind, None)])))
    assert "'x'" in str(caught.value)
    assert f" type {kind}" in str(caught.value)


def test_options_that_the_command_line_cannot_offer_break_the_contract(words):
    said = []
    for fields_, found in (
        ([("x", Any, None)], ["'x'", "type typing.Any"]),
        ([("x", "Nowhere", 1)], ["types", "NameError"]),
        ([("_x", int, 1)], ["'_x'", " ---x"]),
        ([("größe", int, 1)], [" --größe"]),
        ([("output", str, "")], ["'output'", " --output"]),
        ([("a", bool, False), ("no_a", int, 1)], ["'no_a'", " --no-a", "'a'"]),
    ):
        with pytest.raises(PluginError) as caught:
            check_exporter(exporter_with(make_dataclass("Options", fields_)))
        assert all(part in str(caught.value) for part in found), caught.value
        said.append((" ".join(name for name, *_ in fields_), str(caught.value)))
    words(said)


def test_metadata_and_file_stem_are_held_against_the_contract():
    @dataclass
    class Options:
        x: int = 1

    Options.__dataclass_fields__["x"].metadata = {"command_line": "y"}
    with pytest.raises(PluginError, match=r"\bon_command_line\b"):
        check_exporter(exporter_with(Options))
    Options.__dataclass_fields__["x"].metadata = on_command_line("y")
    exporter = exporter_with(Options)
    check_exporter(exporter)
    for stem in ("a/b", "", " ", 3, "a\n"):
        exporter.file_stem = stem
        with pytest.raises(PluginError, match="file_stem"):
            check_exporter(exporter)


# What is loaded ------------------------------------------------------------------------------------


HEAVY = {"sklearn", "scipy", "duckdb", "pandas", "sqlglot", "jinja2", "rich", "numpy"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--version"], []),
        (["--help"], []),
        (["run", "--help"], []),
        (["export", "--help"], []),
        (["verify", "--help"], []),
        (["exporters"], ["rich", "jinja2", "numpy"]),
        (["export", "markdown", "--help"], ["jinja2", "numpy"]),
        (["export", "rules.json", "python"], ["jinja2", "numpy"]),
        (["export", "rules.json", "sql"], ["jinja2", "numpy", "sqlglot"]),
        (["fit", "t.csv", "-k", "2", "-o", "new.json"], ["duckdb", "jinja2", "numpy", "rich", "scipy", "sklearn"]),
    ],
    ids=" ".join,
)
def test_a_command_loads_what_it_needs(arguments, allowed):
    assert loaded(arguments) & HEAVY <= set(allowed)


@pytest.mark.slow
def test_run_imports_only_the_exporters_that_it_writes():
    found = loaded(["run", "t.csv", "-k", "2", "--write", "python"])
    ours = {name.rpartition(".")[2] for name in found if name.startswith("shallowrules.exporters.")}
    assert ours & set(exporter_names()) == {"python"}
    assert "sqlglot" not in found


@pytest.mark.slow
def test_run_looks_for_no_dialect_where_it_writes_no_sql(folder):
    pytest.importorskip("sqlalchemy")
    with closing(sqlite3.connect(folder / "t.db")) as connection:
        connection.execute("CREATE TABLE t (a REAL, b REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i % 5 / 2, i % 3) for i in range(12)])
        connection.commit()
    rows = ["run", "--database", "sqlite:///t.db", "--table", "t", "-k", "2", "--write", "python"]
    assert "sqlglot" not in loaded(rows)


def loaded(arguments):
    """Return the modules that are loaded when a command has run as a process of its own."""
    code = (
        "import atexit, sys\nfrom shallowrules.cli import main\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_names_of_columns_are_given_as_a_list():
    wanted = ["id", "a,b", "c"]
    typed = ["--output-columns", 'id,"a,b"', "--output-columns=c"]
    text = call("export", "rules.json", "sql", "--style", "select", *typed).stdout
    assert text == export(RuleSet.from_json("rules.json"), "sql", style="select", output_columns=wanted)
    options = ["--write", "sql", "--style", "select", "--sql-output-columns", 'id,"a,b",c']
    assert call("run", "t.csv", "-k", "2", "-o", "first", *options).exit_code == 0
    assert call("run", "--settings", "first/settings.json", "-o", "again").exit_code == 0
    assert Path("again/rules.sql").read_bytes() == Path("first/rules.sql").read_bytes()


@pytest.mark.parametrize("name", ["onnx", "pmml"])
def test_a_refusal_names_the_option_of_the_command_line(tmp_path, name):
    if name == "onnx":
        pytest.importorskip("onnx")
    make_rules([("cluster", "float")], (0, 0.5, 0, 1)).to_json(tmp_path / "rules.json")
    done = call("export", tmp_path / "rules.json", name)
    assert done.exit_code == 3
    assert done.stderr.endswith("a different name with --cluster-column\n")

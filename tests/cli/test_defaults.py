"""Defaults of options from shallowrules.toml and pyproject.toml, and what takes precedence over them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shallowrules.cli import commands
from shallowrules.cli.failures import DONE, MISUSED, STOPPED
from shallowrules.cli.options.defaults import TYPED_ONLY
from shallowrules.cli.options.settings import OPTIONS
from shallowrules.files import SETTINGS_FILE

FILE = Path(SETTINGS_FILE)


def command_of(name):
    return commands.shallowrules.get_command(click.Context(commands.shallowrules), name)


def toml(value):
    """Return a value as TOML: values of the kinds used here are written as in JSON."""
    return json.dumps(value, ensure_ascii=False)


# Which values there may be ---------------------------------------------------------------------------

SAMPLES = {
    "max-shift": "5%",
    "memory": "1GB",
    "names": "names.csv",
    "database": "@shop",
    "merge": ["0,1"],
    "write": ["sql"],
    "column": ["width=w"],
    "format": ["width=1.5"],
    "dates": ["width=%d.%m.%Y"],
    "category-weight": "auto",
}
"""A value of each option that does not take any text."""


def sample_of(key, option):
    """Return a value that an option takes."""
    if key in SAMPLES:
        return SAMPLES[key]
    if option.is_flag:
        return True
    if isinstance(option.type, click.Choice):
        return option.type.choices[0]
    if isinstance(option.type, click.types.IntParamType):
        value = max(option.type.min or 0, 2)
    elif isinstance(option.type, click.types.FloatParamType):
        value = 0.5
    else:
        value = "a"
    return [value] if option.multiple else value


def options_of(name):
    return {
        max(option.opts, key=len).removeprefix("--"): option
        for option in command_of(name).params
        if isinstance(option, click.Option)
    }


ARGUMENTS = {
    "diff": ["rules.json", "rules.json"],
    "edit": ["rules.json"],
    "explain": ["rules.json"],
    "export": ["rules.json", "sql"],
    "exporters": [],
    "sample": ["iris"],
    **{name: ["t.csv"] for name in ("clusters", "fit", "path", "run")},
    **{name: ["rules.json", "t.csv"] for name in ("drift", "label", "refit", "verify")},
}


def given_to(name, *words):
    """Return what a command gets from its options, without running it."""
    found = {}
    command = command_of(name)
    callback, command.callback = command.callback, lambda *others, **values: found.update(values)
    try:
        done = call(name, *words)
    finally:
        command.callback = callback
    assert done.exit_code == DONE, done.stderr
    return found


def typed(key, value):
    """Return the words for an option."""
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--no-{key}"]
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (f"--{key}", quoted(each) if key in LISTS else str(each))]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


LISTS = {"columns", "explain", "exclude", "categories", "numbers", "key", "write"}
"""Options that take names with commas between them."""


@pytest.mark.parametrize("name", commands.NAMES)
def test_an_option_of_the_file_is_as_if_typed_or_refused_with_the_reason(folder, name):
    """And a value of another type is refused."""
    Path("names.csv").write_text("number,name\n0,Zero\n")
    for place, (key, option) in enumerate(options_of(name).items()):
        value = sample_of(key, option)
        table = f"[{name}]\n" if place % 2 and name != "exporters" else ""
        where = f"shallowrules.toml: {f'[{name}] ' if table else ''}{key}"
        FILE.write_text(f"{table}{key} = {toml(value)}\n", encoding="utf-8")
        if key in TYPED_ONLY:
            assert f"{where} cannot be given in a file: {TYPED_ONLY[key]}" in call(name, *ARGUMENTS[name]).stderr
            continue
        by_file = given_to(name, *ARGUMENTS[name])
        wrong = 5.5 if isinstance(value, list) else ["x"]
        FILE.write_text(f"{table}{key} = {toml(wrong)}\n", encoding="utf-8")
        refusal = call(name, *ARGUMENTS[name])
        assert refusal.exit_code == STOPPED
        assert f"{where} must be " in refusal.stderr
        FILE.unlink()
        own = name == "refit" and option.name in OPTIONS  # the rules hold these
        assert by_file == given_to(name, *ARGUMENTS[name], *([] if own else typed(key, value))), key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sead = 1", "shallowrules.toml: option 'sead' is not known; did you mean 'seed'?"),
        ("k = 3", "shallowrules.toml: option 'k' is not known; did you mean 'clusters'?"),
        ("tables = ['t.csv']", "shallowrules.toml: option 'tables' is not known; did you mean 'table'?"),
        ("[run]\nmax-shift = '5%'", "shallowrules.toml: [run] option 'max-shift' is not known"),
        ("[drift]\nmax_shift = '5%'", "[drift] option 'max_shift' is not known; did you mean 'max-shift'?"),
        ("[rum]\nseed = 1", "shallowrules.toml: table 'rum' is not known; did you mean 'run'?"),
        ("[run.seed]\nx = 1", "shallowrules.toml: [run] seed must be a whole number, not {'x': 1}"),
        ("seed = '1'", "shallowrules.toml: seed must be a whole number, not '1'"),
        ("seed = true", "shallowrules.toml: seed must be a whole number, not True"),
        ("seed = -1", "shallowrules.toml: seed: -1 is not in the range 0<=x<=4294967295."),
        ("tradeoff = nan", "shallowrules.toml: tradeoff: nan is not in the range"),
        ("histograms = 1", "shallowrules.toml: histograms must be true or false, not 1"),
        ("scale = 'big'", "shallowrules.toml: scale: 'big' is not one of 'auto', 'none', 'minmax'"),
        ("exclude = 'a'", "shallowrules.toml: exclude must be a list of strings, not 'a'"),
        ("memory = 'much'", "shallowrules.toml: memory: 'much' is not a size"),
        ("weight = 2026-01-01", "shallowrules.toml: weight must be text, not datetime.date(2026, 1, 1)"),
        ("database = 'postgresql://a:secret@b/c'", "database must be @NAME, of a table [databases.NAME]: a URL may"),
        ("database = ['postgresql://a:secret@b/c']", "database must be text, not ['postgresql://a:***@b/c']"),
        ("exporters = 3", "shallowrules.toml: exporters must be a table of tables"),
        ("[exporters.sqll]\nx = 1", "shallowrules.toml: exporter 'sqll' is not known; did you mean 'sql'?"),
        ("[exporters.sql]\ndialct = 1", "[exporters.sql] option 'dialct' is not known; did you mean 'dialect'?"),
        ("[exporters.sql]\ndialect = 1", "shallowrules.toml: [exporters.sql] dialect must be text, not 1"),
        ("[exporters.sql]\ndialect = 'postgress'", "shallowrules.toml: [exporters.sql] dialect: unknown SQL dialect"),
        ("[exporters.sql]\ncluster-column = ' '", "[exporters.sql] cluster-column must be text that is not blank"),
        ("[exporters.sql]\nmaterialized = true", "[exporters.sql] materialized goes with a view, not with"),
        ("[exporters.sql]\ncolumn = ['a=b']", '[exporters.sql] column must be a table of strings ({ OLD = "NEW" })'),
        ("[exporters.sql]\noutput-columns = 'a'", "[exporters.sql] output-columns must be a list of strings, not 'a'"),
        ("[exporters.python]\nstyle = 'bad'", "[exporters.python] style: 'bad' is not one of 'flat'"),
        ("[exporters.java]\nname = '1x'", "[exporters.java] name '1x' is not a name that Java allows"),
        (
            "[export]\ndialect = 'x'",
            "[export] option 'dialect' is not known; options of exporters go in their own tables, "
            "such as [exporters.sql]",
        ),
        (
            "json = true",
            "shallowrules.toml: json cannot be given in a file: it decides where results go; type it (--json)",
        ),
        ("[databases]\nshop = 'x'", "shallowrules.toml must have a table [databases.NAME] for each database"),
        ("[databases.shop]\nurll = 'x'", "key of [databases.shop] 'urll' is not known; did you mean 'url'?"),
        ("[exporters]\nsql = 1", "shallowrules.toml: [exporters.sql] must be a table of options"),
        ("[exporters.markdown]\ntemplate = 'x'", "[exporters.markdown] template cannot be given in a file: it names"),
        ("seed = ", "shallowrules.toml cannot be read: "),
        ("seed = 1\nseed = 2", "shallowrules.toml cannot be read: "),
    ],
)
def test_a_fault_is_refused_with_the_file_and_the_key(folder, text, message):
    FILE.write_text(text + "\n", encoding="utf-8")
    said = refused("run", "t.csv", "-k", "3", "--write", "sql,python,java,markdown")
    assert message in said
    assert "secret" not in said
    assert call("run", "--help").exit_code == DONE
    assert call("export", "rules.json", "sql", "--help").exit_code == DONE


@pytest.mark.parametrize(
    ("of_command", "exporter", "of_exporter", "words"),
    [
        ("seed", "xlsx", "label-rows", "a whole number"),
        ("tradeoff", "dbt", "max-shift", "a number"),
        ("histograms", "sql", "materialized", "true or false"),
        ("labels", "sql", "dialect", "text"),
        ("exclude", "sql", "output-columns", "a list of strings"),
    ],
)
def test_the_type_of_a_value_has_the_same_words_for_commands_and_exporters(
    folder, of_command, exporter, of_exporter, words
):
    for text in (f"[run]\n{of_command} = {{ a = 1 }}", f"[exporters.{exporter}]\n{of_exporter} = {{ a = 1 }}"):
        FILE.write_text(text)
        said = refused("run", "t.csv", "-k", "3", "--write", exporter)
        assert said.endswith(f" must be {words}, not {{'a': 1}}")


def test_a_fault_in_the_table_of_another_command_is_refused(folder):
    FILE.write_text("[drift]\nmax-shif = '5%'\n")
    assert "'max-shift'" in refused("exporters")


# Precedence ------------------------------------------------------------------------------------------

DRAWN = {
    "seed": st.integers(0, 99),
    "scale": st.sampled_from(["none", "minmax", "standard", "robust"]),
    "tradeoff": st.sampled_from([0.01, 0.25, 0.5]),
    "max-leaves": st.integers(3, 9),
    "exclude": st.lists(st.sampled_from(["a", "b, c", 'd"']), min_size=1, unique=True),
    "null": st.lists(st.sampled_from(["?", "-", ""]), min_size=1, unique=True),
    "drop-missing": st.just(True),
    "impute": st.sampled_from(["median", "none"]),
    "decimal": st.sampled_from([",", "."]),
    "memory": st.sampled_from(["1GB", "2GB"]),
    "min-gain": st.sampled_from([0.1, 0.2]),
    "slider": st.booleans(),
}
"""Options that settings or rules hold, and others."""

KEPT = DRAWN.keys() - {"memory", "min-gain", "slider"}
"""The options that rules hold."""


def shown(value):
    """Return a value as an option gives it to its command."""
    return tuple(value) if isinstance(value, list) else {"none": None, "1GB": 10**9, "2GB": 2 * 10**9}.get(value, value)


sources = st.fixed_dictionaries({}, optional=DRAWN)


def write_rules(path, settings):
    """Write the rules with other settings."""
    document = json.loads(Path("rules.json").read_text(encoding="utf-8"))
    Path(path).write_text(json.dumps({**document, "settings": settings}), encoding="utf-8")


@draws(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["run", "fit", "refit"]),
    by_word=sources,
    by_settings=st.none() | sources,
    of_command=sources,
    of_all=sources,
)
def test_the_highest_source_that_has_a_value_gives_it(folder, name, by_word, by_settings, of_command, of_all):
    """By machine: typed, in settings or the rules, in the command's table, at the top, the option's own default."""
    options = options_of(name)
    FILE.unlink(missing_ok=True)
    if name == "refit":
        write_rules("kept.json", {"clusters": 3})
    own = given_to(name, *(["kept.json", "t.csv"] if name == "refit" else ARGUMENTS[name]))
    kept = KEPT if name == "refit" else KEPT | {"memory", "slider"}
    lines = [f"{key} = {toml(value)}" for key, value in of_all.items()]
    lines += [f"[{name}]", *(f"{key} = {toml(value)}" for key, value in of_command.items() if key in options)]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    by_settings = None if by_settings is None else {key: by_settings[key] for key in by_settings.keys() & kept}
    words = [word for key, value in by_word.items() if key in options for word in typed(key, value)]
    if name == "refit":
        write_rules("kept.json", {"clusters": 3} | {k.replace("-", "_"): v for k, v in (by_settings or {}).items()})
        words = ["kept.json", "t.csv", *words]
        by_settings = by_settings or {}
    elif by_settings is not None:
        apart = {key: by_settings[key] for key in ("memory", "slider") if key in by_settings}
        others = {k.replace("-", "_"): v for k, v in by_settings.items() if k not in apart}
        text = {"format": "shallowrules-settings/1", "options": {"clusters": 3} | others, **apart}
        Path("s.json").write_text(json.dumps(text), encoding="utf-8")
        words = ["t.csv", "--settings", "s.json", *words]
    else:
        words = ["t.csv", "-k", "3", *words]
    found = given_to(name, *words)
    complete = () if by_settings is None else kept
    for key in DRAWN.keys() & options.keys():
        ordered = [by_word, by_settings or {}, *([] if key in complete else [of_command, of_all])]
        wanted = next((shown(source[key]) for source in ordered if key in source), own[options[key].name])
        assert found[options[key].name] == wanted, key


def test_the_command_says_which_option_the_file_gives(folder):
    FILE.write_text("labels = 'width'\nseed = 3\n")
    said = refused("fit", "t.csv", "-k", "3", status=2)
    assert said.endswith("the labels determine the clusters (--labels: given by shallowrules.toml)")
    FILE.write_text("tradeoff = 0.1\n")
    assert "(--tradeoff: given by shallowrules.toml)" in refused("fit", "t.csv", "-k", "3", "--method", "imm", status=2)
    again = refused("fit", "t.csv", "-k", "3", "--method", "imm", "--tradeoff", "0.1", status=2)
    assert "given by" not in again


def test_the_command_says_which_option_of_an_exporter_the_file_gives(folder):
    FILE.write_text("[exporters.sql]\nstyle = 'case'\n[exporters.dbt]\nmaterialized = 'table'\n")
    export = ("export", "rules.json", "sql", "--measure", "width")
    because = "--measure goes with check and drift, not with --style case"
    assert refused(*export, status=2) == f"{because} (--style: given by shallowrules.toml)"
    assert refused(*export, "--style", "case", status=2) == because
    said = refused("export", "rules.json", "dbt", "-o", "d", "--updated-at", "seen", status=2)
    assert said.endswith("change --materialized (--materialized: given by shallowrules.toml)")
    said = refused("run", "t.csv", "-k", "3", "--write", "sql", "--sql-materialized", "-o", "r", status=2)
    assert said.endswith("not with --style case (--style: given by shallowrules.toml)")
    FILE.write_text("[exporters.sql]\nmeasure = 'width'\n")
    said = refused("export", "rules.json", "sql", "--style", "case")
    assert said == f"shallowrules.toml: [exporters.sql] {because.removeprefix('--')}"


def test_a_typed_table_goes_before_the_database_of_the_file(folder):
    FILE.write_text('database = "@shop"\nquery = "SELECT 1"\nsample = 5\ntimeout = 3\n[databases.shop]\nurl = "x"\n')
    assert call("fit", "t.csv", "-k", "3").stdout == Path("rules.json").read_text(encoding="utf-8")
    assert call("drift", "rules.json", "t.csv").exit_code == DONE
    FILE.write_text("timeout = 3\n")
    assert call("fit", "t.csv", "-k", "3").exit_code == DONE


def test_rows_of_a_database_of_the_file(folder):
    pytest.importorskip("sqlalchemy")
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect("shop.db")) as connection:
        connection.execute('CREATE TABLE t (width REAL, "my height" REAL)')
        rows = [line.split(",") for line in Path("t.csv").read_text().splitlines()[1:]]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()
    settings = 'database = "@shop"\ntable = "t"\nclusters = 3\n{}url = "sqlite:///shop.db"\n'
    FILE.write_text(settings.format("[databases.shop]\n"))
    first = call("fit")
    assert first.exit_code == DONE, first.stderr
    FILE.unlink()
    Path("pyproject.toml").write_text("[tool.shallowrules]\n" + settings.format("[tool.shallowrules.databases.shop]\n"))
    assert call("fit").stdout == first.stdout


def test_options_of_an_exporter(folder):
    FILE.write_text(
        "[exporters.sql]\ndialect = 'mysql'\nstyle = 'case'\n[exporters.python]\nfunction-name = 'segment'\n"
    )
    by_file = call("export", "rules.json", "sql").stdout
    assert by_file == call("export", "rules.json", "sql", "--dialect", "mysql", "--style", "case").stdout
    typed = call("export", "rules.json", "sql", "--dialect", "postgres").stdout
    assert "def segment(" in call("export", "rules.json", "python").stdout
    FILE.unlink()
    assert by_file != typed == call("export", "rules.json", "sql", "--dialect", "postgres", "--style", "case").stdout


def test_a_typed_option_of_an_exporter_goes_before_a_wrong_one(folder):
    FILE.write_text("[exporters.sql]\ndialect = 'postgress'\n")
    assert call("export", "rules.json", "sql", "--dialect", "mysql").exit_code == DONE
    typed = refused("export", "rules.json", "sql", "--dialect", "mysqll", status=MISUSED)
    assert typed.startswith("--dialect: unknown SQL dialect 'mysqll'")


def test_settings_go_before_wrong_options_of_an_exporter(folder):
    assert call("run", "t.csv", "-k", "3", "--write", "sql", "-o", "first").exit_code == DONE
    path = Path("first/settings.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | {"exporters": {"sql": {"dialect": "mysqll"}}}), encoding="utf-8")
    FILE.write_text("[exporters.sql]\ndialect = 'mysql'\n")
    said = refused("run", "--settings", path, "-o", "again", status=MISUSED)
    assert "'mysqll'" in said
    assert "shallowrules.toml" not in said


def test_help_shows_the_default_of_the_file(folder):
    FILE.write_text("seed = 12345\n")
    assert "[default: 12345;" in call("fit", "--help").stdout


# A run that is repeated ------------------------------------------------------------------------------

DEFAULTS = """\
clusters = 3
null = ["?"]

[run]
write = ["sql", "html"]
tradeoff = 0.1
exclude = ["w, *", "third"]
slider = false
sample-rows = 20
names = "names.csv"

[exporters.sql]
dialect = "mysql"
cluster-column = "segment"
column = { width = "w" }

[exporters.html]
title = "Groups"
"""

OTHERS = """\
clusters = 5
seed = 7
max-leaves = 9
null = ["-"]
names = "others.csv"
write = ["mermaid"]
sample-rows = 9
table = "other"
database = "@shop"

[exporters.sql]
style = "case"

[databases.shop]
url = "sqlite:///none.db"
"""


@pytest.mark.parametrize("others", [None, OTHERS], ids=["no file", "another file"])
def test_settings_repeat_a_run_without_the_file(folder, monkeypatch, others):
    FILE.write_text(DEFAULTS)
    header, *rows = Path("t.csv").read_text().splitlines()
    Path("t.csv").write_text("\n".join([f'{header},third,"w, x"', *(f"{row},5,7" for row in rows)]))
    Path("names.csv").write_text("number,name\n0,Zero\n")
    first = call("run", "t.csv", "-o", "first")
    assert first.exit_code == DONE, first.stderr
    kept = json.loads(Path("first/settings.json").read_text())
    assert {name: kept["options"][name] for name in ("clusters", "tradeoff", "null")} == {
        "clusters": 3,
        "tradeoff": 0.1,
        "null": ["?"],
    }
    assert (kept["slider"], kept["sample_rows"], kept["write"]) == (False, 20, ["sql", "html"])
    given = {"dialect": "mysql", "columns": {"width": "w"}, "cluster_column": "segment"}
    assert {**kept["exporters"]["sql"], **given} == kept["exporters"]["sql"]
    assert sorted(path.name for path in Path("first").iterdir()) == [
        "report.html",
        "rules.json",
        "rules.sql",
        "settings.json",
    ]
    Path("elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    if others is not None:
        FILE.write_text(others)
        Path("others.csv").write_text("number,name\n0,Other\n")
    again = call("run", "--settings", "../first/settings.json", "-o", "again")
    assert again.exit_code == DONE, again.stderr
    for path in (folder / "first").iterdir():
        if path.name != "settings.json":
            assert (folder / "elsewhere" / "again" / path.name).read_bytes() == path.read_bytes(), path.name
    repeated = json.loads(Path("again/settings.json").read_text())
    assert {**repeated, "tables": 0} == {**kept, "tables": 0}


def test_the_rules_own_settings_go_before_the_file(folder):
    first = call("refit", "rules.json", "t.csv")
    FILE.write_text("seed = 9\ntradeoff = 0.9\nmax-leaves = 7\nscale = 'none'\n")
    assert call("refit", "rules.json", "t.csv").stdout == first.stdout


# Where the file is -----------------------------------------------------------------------------------


def test_pyproject_toml_has_the_same(folder):
    project = Path("pyproject.toml")
    project.write_text("[tool.shallowrules]\nclusters = 3\n[tool.shallowrules.fit]\nseed = 5\n")
    assert json.loads(call("fit", "t.csv").stdout)["settings"]["seed"] == 5
    project.write_text("[tool.shallowrules]\nsead = 3\n")
    assert refused("fit", "t.csv").startswith("[tool.shallowrules] in pyproject.toml: option 'sead' is not known")
    project.write_text("[tool.shallowrules]\nclusters = 3\n")
    FILE.write_text("clusters = 3\n")
    assert "both have settings; use one" in refused("fit", "t.csv")
    FILE.write_text("")
    assert call("fit", "t.csv").exit_code == DONE
    project.write_text("tool = 3  # shallowrules")
    assert call("fit", "t.csv").exit_code == MISUSED
    project.write_text("[tool]\nshallowrules = 3")
    assert "tool.shallowrules must be a table" in refused("fit", "t.csv")
    project.write_text("= of another program, not of shallowrules")
    assert call("fit", "t.csv", "-k", "3").exit_code == DONE
    project.write_text("[tool.shallowrules]\n= 3")
    assert "pyproject.toml cannot be read" in refused("fit", "t.csv", "-k", "3")


def test_a_missing_value_is_no_value(folder):
    """TOML has no null, and its NaN is not a whole number."""
    FILE.write_text("clusters = nan\n")
    assert f"must be a whole number, not {math.nan}" in refused("fit", "t.csv")

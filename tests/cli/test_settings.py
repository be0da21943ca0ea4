"""A run that is repeated from its file of settings."""

import csv
import json

import numpy as np
import pytest
from commandline import call, refused
from draws import draws, few
from hypothesis import given
from hypothesis import strategies as st

from shallowrules import ExplainableKMeans
from shallowrules.cli.commands import run
from shallowrules.exporters import get_exporter
from shallowrules.exporters.options import describe_options
from shallowrules.files import distinct_keys

WRONG = '{"format": "shallowrules-settings/1", %s}'

OPTIONS = (
    ["-k", "3"],
    ["-k", "4", "--scale", "none", "--seed", "7", "--tradeoff", "0.1", "--refine", "none"],
    ["--labels", "group, given", "--no-histograms"],
    ["-k", "3", "--weight", "weight", "--exclude", '"group, given"', "--exclude", "flag_*"],
    ["-k", "3", "--columns", "a,b", "--explain", "kind", "--category-weight", "0.3", "--method", "imm"],
    ["-k", "3", "--columns", "a,b,kind,flag_x", "--category-weight", "auto", "--scale", "standard"],
    ["-k", "3", "--null", "?", "--null", "", "--keep-text", "NA", "--impute", "median", "--round-within", "0.5%"],
    ["-k", "3", "--drop-missing", "--refine", "thorough", "--budget", "5", "--max-conditions", "2"],
    ["-k", "3", "--categories", "code", "--decimal", ".", "--delimiter", ",", "--encoding", "utf-8-sig"],
)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write a table with names that have commas, and missing values."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=150)
    with open("t.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["a", "b", "kind", "code", "flag_x", "weight", "group, given"])
        for i in range(150):
            numbers = (rng.normal([0, 5, 9], 0.5) + group[i] * 4).round(2).tolist()
            kind = ["dark", "red", "blue"][group[i]]
            writer.writerow([*numbers[:2], kind, 10 * int(rng.integers(4)), i % 2, 1 + i % 3, f"g{group[i]}"])
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("options", few(OPTIONS, 2), ids=map(" ".join, OPTIONS))
def test_a_run_is_repeated_as_it_was(table, options) -> None:
    first = call("run", "t.csv", *options, "-o", "first")
    assert first.exit_code == 0, first.stderr
    again = call("run", "--settings", "first/settings.json", "-o", "again")
    assert again.exit_code == 0, again.stderr
    for name in ("rules.json", "settings.json", "rules.sql"):
        assert (table / "again" / name).read_bytes() == (table / "first" / name).read_bytes()
    fitted = call("fit", "--settings", "first/settings.json")
    assert fitted.stdout == (table / "first" / "rules.json").read_text(encoding="utf-8")


def test_a_balanced_weight_is_kept_for_refit_and_edit(table) -> None:
    first = call("run", "t.csv", "-k", 3, "--exclude", '"group, given"', "-o", "first")
    assert first.exit_code == 0, first.stderr
    kept, settings = (json.loads((table / "first" / name).read_text()) for name in ("rules.json", "settings.json"))
    weight = kept["settings"]["category_weight"]
    assert 1 < weight < 2
    assert kept["settings"]["scale"] == "standard"
    assert kept["settings"]["two_values"] == "category"
    assert settings["options"]["category_weight"] == weight
    note = f"for the clustering, categories and columns of two numbers are weighted by {weight}"
    assert note in kept["statistics"]["notes"]
    assert f"note: {note}" in " ".join(first.stderr.split())
    edited = call("edit", "first/rules.json", "--merge", "0,1", "--table", "t.csv", "-o", "edited.json")
    assert edited.exit_code == 0, edited.stderr
    edited = json.loads((table / "edited.json").read_text())
    assert edited["statistics"]["reference_cost"] == kept["statistics"]["reference_cost"]
    rows = (table / "t.csv").read_text().splitlines()
    (table / "half.csv").write_text("\n".join([rows[0], *(row for row in rows[1:] if ",red," not in row)]))
    again = call("refit", "first/rules.json", "half.csv", "-k", 2)
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["settings"]["category_weight"] == weight
    other = call("fit", "half.csv", "-k", 2, "--exclude", '"group, given"')
    assert json.loads(other.stdout)["settings"]["category_weight"] != weight


def test_how_numbers_are_written_is_repeated(table) -> None:
    options = ["--format", "a=12.5", "--format", "b=", "--thousands", "'"]
    first = call("run", "t.csv", "-k", 3, *options, "-o", "first")
    assert first.exit_code == 0, first.stderr
    again = call("run", "--settings", "first/settings.json", "-o", "again")
    assert again.exit_code == 0, again.stderr
    for name in ("rules.json", "settings.json"):
        assert (table / "again" / name).read_bytes() == (table / "first" / name).read_bytes()


def test_what_is_typed_goes_before(table) -> None:
    call("run", "t.csv", "-k", 3, "--seed", 5, "--exclude", "code", "-o", "first")
    call("run", "t.csv", "--settings", "first/settings.json", "-k", 2, "-o", "second")
    options = json.loads((table / "second" / "settings.json").read_text())["options"]
    assert (options["clusters"], options["seed"], options["exclude"]) == (2, 5, ["code"])


def test_options_and_outputs_are_of_the_same_settings_however_they_are_spelt(table):
    for name, clusters, exporter in (("two", 2, "sql"), ("three", 3, "mermaid")):
        call("run", "t.csv", "-k", clusters, "--exclude", '"group, given"', "--write", exporter, "-o", name)
    for spelt in (
        ["--settings", "two/settings.json", "--settings=three/settings.json"],
        ["--settings=two/settings.json", "--settings", "three/settings.json"],
    ):
        done = call("run", *spelt, "-o", "again", "--force")
        assert done.exit_code == 0, done.stderr
        kept = json.loads((table / "again" / "settings.json").read_text())
        assert (kept["options"]["clusters"], kept["write"]) == (3, ["mermaid"])


def test_it_has_a_value_for_every_option(table):
    first = call("run", "t.csv", "-k", 3, "--exclude", '"group, given"', "-o", "first")
    assert first.exit_code == 0, first.stderr
    kept = json.loads((table / "first" / "settings.json").read_text())
    offered = {parameter.name for parameter in run.command.params}
    elsewhere = {"tables", "names", "write", "memory", "slider", "sample_rows", "table"}
    never = {"database", "query", "sample", "timeout", "settings", "output", "force"}
    never |= {"json", "quiet", "verbose", "log_file"}
    assert set(kept["options"]) == offered - elsewhere - never
    assert {"tables", "memory", "slider", "sample_rows", "write"} <= set(kept)
    for name, values in kept["exporters"].items():
        assert list(values) == [spec.name for spec in describe_options(get_exporter(name).options)], name
    assert list(kept["exporters"]) == kept["write"] == ["sql", "python", "markdown", "html"]
    assert (kept["options"]["tradeoff"], kept["options"]["budget"]) == (0.03, None)
    kept = json.loads((table / "first" / "rules.json").read_text())["settings"]
    assert kept["tradeoff"] == 0.03
    assert None not in kept.values()


def test_a_run_is_repeated_by_a_version_with_other_defaults(table, monkeypatch):
    call("run", "t.csv", "-k", 3, "--exclude", '"group, given"', "--refine", "thorough", "-o", "first")
    kept = json.loads((table / "first" / "settings.json").read_text())
    assert kept["options"]["budget"] == "100"
    defaults = ExplainableKMeans.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "tradeoff", 5.0)
    monkeypatch.setitem(defaults, "budget", 1e-9)
    call("run", "t.csv", "-k", 3, "--exclude", '"group, given"', "--refine", "thorough", "-o", "other")
    again = call("run", "--settings", "first/settings.json", "-o", "again")
    assert again.exit_code == 0, again.stderr
    first, other, repeated = (
        json.loads((table / name / "rules.json").read_text()) for name in ("first", "other", "again")
    )
    assert repeated == first
    assert other["nodes"] != first["nodes"]


@pytest.mark.parametrize("goal", ["--max-cost=2", "--max-conditions=1.9"])
def test_a_typed_goal_replaces_the_tradeoff(table, goal):
    call("run", "t.csv", "-k", 3, "--tradeoff", 0.2, "--exclude", '"group, given"', "-o", "first")
    done = call("run", "--settings", "first/settings.json", goal, "-o", "second")
    assert done.exit_code == 0, done.stderr
    name, value = goal.removeprefix("--").replace("-", "_").split("=")
    options = json.loads((table / "second" / "settings.json").read_text())["options"]
    assert (options["tradeoff"], options[name]) == (None, float(value))


def test_nothing_of_a_database_is_in_it(table) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect("shop.db")) as connection:
        connection.execute("CREATE TABLE t (a REAL, b REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", np.random.default_rng(0).normal(size=(60, 2)).tolist())
        connection.commit()
    done = call("run", "--database", "sqlite:///shop.db", "--table", "t", "-k", 2, "-o", "out")
    assert done.exit_code == 0, done.stderr
    text = (table / "out" / "settings.json").read_text()
    assert "shop" not in text
    assert "tables" not in text
    assert "| Table | table t in sqlite:///shop.db (60 rows, 2 columns) |" in (table / "out" / "report.md").read_text()
    assert "tables" not in json.loads((table / "out" / "rules.json").read_text())["settings"]
    again = call("run", "--database", "sqlite:///shop.db", "--table", "t", "--settings", "out/settings.json", "-o", "b")
    assert again.exit_code == 0, again.stderr
    assert (table / "b" / "rules.json").read_bytes() == (table / "out" / "rules.json").read_bytes()


NAMES = "number,name,note\n1,Low,\n2,,seen\n"
WRITTEN = ["--sql-dialect", "postgres", "--sql-column", "a=A", "--markdown-title", "Groups", "--table", "s.groups"]


def test_names_and_what_is_written_are_repeated(table) -> None:
    (table / "names.csv").write_text(NAMES)
    (table / "own.j2").write_text("{{ title }}")
    written = ["--write", "sql,markdown", *WRITTEN, "--markdown-template", "own.j2"]
    first = call("run", "t.csv", "-k", 3, "--names", "names.csv", *written, "-o", "first")
    assert first.exit_code == 0, first.stderr
    (table / "names.csv").unlink()
    template = ["--markdown-template", "own.j2"]
    again = call("run", "--settings", "first/settings.json", *template, "-o", "again")
    assert again.exit_code == 0, again.stderr
    files = sorted(path.name for path in (table / "first").iterdir())
    assert files == ["report.md", "rules.json", "rules.sql", "settings.json"]
    assert sorted(path.name for path in (table / "again").iterdir()) == files
    for name in files:
        assert (table / "again" / name).read_bytes() == (table / "first" / name).read_bytes()
    assert (table / "first" / "report.md").read_text() == "Groups\n"
    assert call("fit", "--settings", "first/settings.json").stdout == (table / "first" / "rules.json").read_text()
    # In place, too; and options on the command line take precedence.
    title = ["--markdown-title", "Other"]
    call("run", "--settings", "again/settings.json", *template, "-o", "again", "--force", *title)
    assert (table / "again" / "report.md").read_text() == "Other\n"
    assert (table / "again" / "rules.sql").read_bytes() == (table / "first" / "rules.sql").read_bytes()
    call("run", "--settings", "first/settings.json", "-o", "third", "--write", "mermaid")
    assert sorted(path.name for path in (table / "third").iterdir()) == ["rules.json", "settings.json", "tree.mmd"]


def test_names_of_other_clusters_are_not_repeated(table) -> None:
    (table / "names.csv").write_text(NAMES)
    call("run", "t.csv", "-k", 3, "--names", "names.csv", "-o", "first")
    other = call("run", "--settings", "first/settings.json", "-k", 2, "-o", "second")
    assert other.exit_code == 0
    assert "note: the names of clusters in --settings are not used, because other options are given" in other.stderr
    assert "Low" not in (table / "second" / "rules.json").read_text()


def test_names_of_earlier_rules_are_repeated(table) -> None:
    (table / "names.csv").write_text(NAMES)
    call("fit", "t.csv", "-k", 3, "--names", "names.csv", "-o", "named.json")
    call("run", "t.csv", "-k", 3, "--seed", 1, "--names", "named.json", "-o", "first")
    (table / "named.json").unlink()
    call("run", "--settings", "first/settings.json", "-o", "again")
    text = (table / "first" / "rules.json").read_text()
    assert '"Low"' in text
    assert (table / "again" / "rules.json").read_text() == text


@pytest.mark.usefixtures("in_parts")
def test_a_run_in_parts_is_repeated_in_parts(table) -> None:
    call("run", "t.csv", "-k", 3, "--memory", "64MB", "--columns", "a,b", "-o", "first")
    assert json.loads((table / "first" / "settings.json").read_text())["memory"] == "64000000"
    again = call("run", "--settings", "first/settings.json", "-o", "again")
    assert again.exit_code == 0, again.stderr
    for name in ("rules.json", "settings.json"):
        assert (table / "again" / name).read_bytes() == (table / "first" / name).read_bytes()


def test_a_run_is_repeated_from_another_folder(table, monkeypatch) -> None:
    call("run", "t.csv", "-k", 3, "-o", "first")
    assert json.loads((table / "first" / "settings.json").read_text())["tables"] == ["../t.csv"]
    (table / "sub").mkdir()
    monkeypatch.chdir(table / "sub")
    again = call("run", "--settings", "../first/settings.json", "-o", "again")
    assert again.exit_code == 0, again.stderr
    assert (table / "sub" / "again" / "rules.json").read_bytes() == (table / "first" / "rules.json").read_bytes()
    call("run", str(table / "t.csv"), "-k", 3, "-o", "whole")
    assert json.loads((table / "sub" / "whole" / "settings.json").read_text())["tables"] == [str(table / "t.csv")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is not a file of settings"),
        ('{"format": "shallowrules/2"}', "is not a file of settings"),
        (WRONG % '"options": []', "bad.json: options must be an object"),
        (WRONG % '"tables": "t.csv"', "bad.json: tables must be a list of names"),
        (WRONG % '"exporters": {"sql": 5}', "bad.json: exporters must be an object of objects"),
    ],
)
def test_a_file_that_is_none_is_refused(table, text: str, message: str) -> None:
    (table / "bad.json").write_text(text)
    assert message in refused("run", "t.csv", "-k", 2, "--settings", "bad.json")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ('"options": {"speed": 1}', "has unknown options: 'speed'"),
        ('"options": {"exclude": "a"}', "option 'exclude' must be a list of names"),
        ('"options": {"seed": [1]}', "option 'seed' cannot be [1]"),
        ('"options": {"seed": "x"}', "option 'seed': 'x' is not a valid integer"),
        ('"options": {"clusters": 1}', "option 'clusters': 1 is not in the range x>=2"),
        ('"options": {"labels": 5}', "option 'labels' cannot be 5"),
        ('"options": {"drop_missing": 1}', "option 'drop_missing' cannot be 1"),
        ('"options": {"tradeoff": true}', "option 'tradeoff' cannot be True"),
        ('"names": [{"number": "a", "name": "b"}]', "names, entry 1: 'a' is not the number of a cluster"),
        ('"exporters": {"sql": {"dialect": 5}}', "option 'dialect' of exporter 'sql' cannot be 5"),
        ('"exporters": {"sql": {"speed": 5}}', "exporter 'sql' has no option 'speed'"),
    ],
)
def test_a_wrong_value_names_its_entry(table, part: str, message: str) -> None:
    (table / "bad.json").write_text(WRONG % part)
    said = refused("run", "t.csv", "--settings", "bad.json", status=2)
    assert said.startswith("--settings: ")
    assert message in said


# What settings may not do ----------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def objects_in(value):
    """Yield the objects in a JSON value that have a key."""
    if isinstance(value, dict):
        yield from [value] if value else []
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from objects_in(each)


def repeating(value, repeated):
    """Return JSON in which one object has its first key twice."""
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {repeating(each, repeated)}" for key, each in value.items()]
        return "{" + ", ".join(entries + entries[:1] * (value is repeated)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(repeating(each, repeated) for each in value) + "]"
    return json.dumps(value)


@draws(200)
@given(st.dictionaries(st.text(max_size=3), json_values, min_size=1, max_size=3), st.data())
def test_a_repeated_key_is_refused_wherever_it_stands(document, data):
    objects = list(objects_in(document))
    assert json.loads(repeating(document, None), object_pairs_hook=distinct_keys) == document
    repeated = objects[data.draw(st.integers(0, len(objects) - 1))]
    with pytest.raises(ValueError, match="repeats the key"):
        json.loads(repeating(document, repeated), object_pairs_hook=distinct_keys)


@pytest.mark.parametrize(
    "text",
    [
        WRONG % '"options": {}, "options": {"seed": 1}',
        WRONG % '"options": {"seed": 1, "seed": 2}',
        WRONG % '"exporters": {"sql": {"dialect": "duckdb", "dialect": "sqlite"}}',
        WRONG % '"names": [{"number": 0, "number": 1, "name": "a"}]',
    ],
)
def test_settings_that_repeat_a_key_are_refused(table, text):
    (table / "bad.json").write_text(text)
    assert "repeats the key" in refused("run", "t.csv", "-k", 2, "--settings", "bad.json")


def test_names_that_repeat_a_key_are_refused(table):
    (table / "names.json").write_text('[{"number": 0, "name": "a", "name": "b"}]')
    assert "repeats the key" in refused("fit", "t.csv", "-k", 2, "--names", "names.json")


def test_rules_that_repeat_a_key_are_refused(table):
    call("fit", "t.csv", "-k", 2, "-o", "rules.json")
    text = (table / "rules.json").read_text()
    (table / "bad.json").write_text(text.replace('"settings": {', '"settings": {"seed": 4, ', 1))
    assert "repeats the key" in refused("diff", "bad.json", "rules.json")


PLACES = {
    "absolute": lambda table: str(table / "elsewhere" / "own.j2"),
    "above": lambda table: "../elsewhere/own.j2",
    "up and down": lambda table: "below/../../elsewhere/own.j2",
    "link": lambda table: "link.j2",
    "linked folder": lambda table: "linked/own.j2",
    "link in a folder": lambda table: "below/link.j2",
}


@pytest.mark.slow
@pytest.mark.parametrize("option", [("markdown", "template"), ("sql", "template"), ("html", "path")])
@pytest.mark.parametrize("place", PLACES)
def test_a_file_outside_of_the_folder_is_not_read_unless_it_is_typed(table, place, option):
    exporter, name = option
    for folder in ("elsewhere", "given", "given/below"):
        (table / folder).mkdir()
    (table / "elsewhere" / "own.j2").write_text("the secret")
    (table / "given" / "link.j2").symlink_to(table / "elsewhere" / "own.j2")
    (table / "given" / "below" / "link.j2").symlink_to("../../elsewhere/own.j2")
    (table / "given" / "linked").symlink_to(table / "elsewhere")
    exporters = {exporter: {name: PLACES[place](table)}}
    document = {"format": "shallowrules-settings/1", "options": {"clusters": 2}, "write": [exporter]}
    (table / "given" / "settings.json").write_text(json.dumps(document | {"exporters": exporters}))
    message = refused("run", "t.csv", "--settings", "given/settings.json", "-o", "out", status=2)
    assert f"--{exporter}-{name}" in message or f"--{name}" in message
    assert not (table / "out").exists()
    typed = (f"--{exporter}-{name}", "given/link.j2")
    result = call("run", "t.csv", "--settings", "given/settings.json", *typed, "-o", "out")
    if name == "template":
        assert result.exit_code == 0, result.stderr
    else:  # it is read, and holds no path
        assert "outside" not in result.stderr


def test_a_template_in_the_folder_is_taken(table):
    (table / "given" / "below").mkdir(parents=True)
    (table / "given" / "below" / "own.j2").write_text("mine")
    (table / "given" / "link.j2").symlink_to("below/own.j2")
    for name in ("below/own.j2", "link.j2", str(table / "given" / "link.j2")):
        document = {"format": "shallowrules-settings/1", "write": ["markdown"], "options": {"clusters": 2}}
        document["exporters"] = {"markdown": {"template": name}}
        (table / "given" / "settings.json").write_text(json.dumps(document))
        result = call("run", "t.csv", "--settings", "given/settings.json", "-o", "out", "--force")
        assert result.exit_code == 0, result.stderr
        assert (table / "out" / "report.md").read_text().strip() == "mine"

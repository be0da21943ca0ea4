"""Names and notes that a person gives to clusters: read from a file, and put into every form of the rules."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner
from commandline import call, refused
from hypothesis import given
from hypothesis import strategies as st
from rulesets import boundary_rows, hostile_texts, make_rules, route, small_rules
from structures import markdown_structure

from shallowrules.cli.commands import shallowrules
from shallowrules.errors import DataError
from shallowrules.exporters import export
from shallowrules.exporters.rendering import escape_markdown
from shallowrules.rules import RuleSet, read_names

CSV = 'number,name,note\r\n0,Small,\r\n2,"Large, heavy","two\nlines"\r\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_of(content, name="names.csv"):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    found = read_names(name)
    return dict(found.names), dict(found.notes)


FOUND = ({0: "Small", 2: "Large, heavy"}, {2: "two\nlines"})


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        "\ufeff" + CSV,
        '\n number ; Name ;NOTE\n 0 ; Small \n\n2;Large, heavy;"two\nlines"\n',
        'note\tnumber\tname\n\t0\tSmall\n"two\nlines"\t2\tLarge, heavy\n',
    ],
    ids=["csv", "byte order mark", "semicolons", "tabs, another order"],
)
def test_names_are_read_from_csv(content):
    assert names_of(content) == FOUND


def test_names_are_read_from_json():
    entries = [{"number": 0, "name": "Small"}, {"number": 2, "name": "Large, heavy", "note": "two\nlines"}]
    assert names_of(json.dumps(entries), "names.json") == FOUND


def test_a_column_may_be_absent_and_a_field_blank():
    assert names_of("number,name\n0,a\n1,\n") == ({0: "a"}, {})
    assert names_of("number,note\n-5,b\n") == ({}, {-5: "b"})


def test_what_is_wrong_with_a_csv_file_is_said(words):
    said = []
    for content, named in (
        ("", "names.csv .*number,name,note"),
        ("number,name\n", "names.csv .*no cluster"),
        ("0,Small\n1,Large\n", "names.csv: .*'0', 'Small'"),
        ("number\n0\n", "'number'"),
        ("number,name,name\n0,a,b\n", "each once"),
        ("number,name,color\n0,a,b\n", "'color'"),
        ("number,name\n0,a\nx,b\n", "names.csv, line 3: 'x'"),
        ("number,name\n1.0,a\n", r"line 2: '1\.0'"),
        ("number,name\n٣,a\n", "line 2: '٣'"),
        ("number,name\n0,a\n0,b\n", "line 3: cluster 0 .*twice"),
        ("name,number\nSmall\n", "names.csv, line 2: ''"),
        ("number,name\n0,a,b\n", "line 2 has 3 fields.* line 2: .*','"),
        ('number,name\n0,"a\n', "line 2: "),
        (b"number,name\n0,\xe4\n", "names.csv .*UTF-8"),
    ):
        with pytest.raises(DataError, match=named) as caught:
            names_of(content)
        said.append((repr(content), str(caught.value)))
    words(said)


def test_what_is_wrong_with_a_json_file_is_said(words):
    said = []
    for content, named in (
        ("{", "names.json .*JSON"),
        ('{"0": "a"}', "names.json is not a list"),
        ("[1]", "names.json, entry 1 is not an object"),
        ('[{"number": true, "name": "a"}]', "entry 1: True"),
        ('[{"number": 0, "name": 5}]', "entry 1: .*name is 5"),
        ('[{"number": 0, "name": "\\ud800"}]', "half a character"),
        ("[]", "names.json .*no cluster"),
    ):
        with pytest.raises(DataError, match=named) as caught:
            names_of(content, "names.json")
        said.append((content, str(caught.value)))
    words(said)


def test_names_that_do_not_fit_the_rules_are_refused(words):
    said = []
    for names, named in (
        ({7: "a"}, "no cluster 7 .*0, 1, 2"),
        ({0: " "}, "cluster 0 is blank"),
        ({0: "a", 2: "a"}, "clusters 0 and 2 .*'a'"),
        ({0: "1"}, "clusters 0 and 1 .*'1'"),
    ):
        with pytest.raises(DataError, match=named) as caught:
            small_rules().with_names(names)
        said.append((repr(names), str(caught.value)))
    words(said)


def test_numbers_may_be_exchanged_as_names():
    named = small_rules().with_names({0: "1", 1: "0"})
    assert [cluster.name for cluster in named.clusters] == ["1", "0", "2"]


def test_an_empty_note_takes_one_away():
    noted = small_rules().with_names({}, {0: "one", 1: "two"})
    assert [cluster.note for cluster in noted.with_names({}, {0: ""}).clusters] == ["", "two", ""]
    assert RuleSet.from_dict(noted.to_dict()) == noted


texts = hostile_texts.map(str.strip).filter(lambda text: text and "\0" not in text)


@pytest.mark.slow
@given(names=st.lists(texts, min_size=3, max_size=3, unique=True), note=texts, delimiter=st.sampled_from(",;\t"))
def test_hostile_names_come_through_a_file_to_every_form(tmp_path_factory, names, note, delimiter):
    file = tmp_path_factory.mktemp("names") / "names.csv"
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter)
    writer.writerows([["number", "name", "note"], *([i, name, note] for i, name in enumerate(names))])
    file.write_bytes(written.getvalue().encode())
    found = read_names(file)
    plain = make_rules([("x", "float"), ("i", "float")], (0, 0.5, 0, (1, 3, 1, 2)))
    rules = plain.with_names(found.names, found.notes)
    assert [(cluster.name, cluster.note) for cluster in rules.clusters] == [(name, note) for name in names]
    assert RuleSet.from_dict(json.loads(rules.to_json())) == rules
    rows = boundary_rows(rules, 0)
    expected = [names[route(rules, row)] if route(rules, row) >= 0 else None for row in rows]
    module: dict[str, object] = {"__name__": "emitted"}
    exec(export(rules, "python", cluster_as="name"), module)
    assert [module["assign_cluster"](dict(zip("xi", row, strict=True))) for row in rows] == expected
    assert module["CLUSTERS"][names[0]]["note"] == note
    database = duckdb.connect()
    database.execute("CREATE TABLE t (n INTEGER, x DOUBLE, i DOUBLE)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(n, *row) for n, row in enumerate(rows)])
    query = export(rules, "sql", dialect="duckdb", style="case", cluster_as="name").strip().rstrip(";")
    assert [row[0] for row in database.sql(f"SELECT {query} FROM t ORDER BY n").fetchall()] == expected
    sheet = export(rules, "markdown")
    if all(map(escape_markdown, [*names, note])):  # of control characters nothing is left
        assert markdown_structure(sheet) == markdown_structure(
            export(plain.with_names({0: "a", 1: "b", 2: "c"}, dict.fromkeys(range(3), "d")), "markdown")
        )


def invoke(*arguments):
    return CliRunner().invoke(shallowrules, [str(argument) for argument in arguments])


@pytest.fixture
def table():
    with open("t.csv", "w") as file:
        file.write("x,i\n" + "".join(f"{x},{i}\n" for x in (0, 10) for i in (1, 2, 30) for _ in range(5)))


def test_run_fit_export_and_label_take_names(table):
    with open("names.csv", "w") as file:
        file.write("number,name,note\n0,Zero,a note on 0\n1,One,\n2,Two,\n3,Three,\n")
    for command, *options in (["run", "-o", "named"], ["fit", "-o", "named/rules.json", "--force"]):
        result = invoke(command, "t.csv", "-k", 4, "--names", "names.csv", *options, *["--force"] * (command == "run"))
        assert result.exit_code == 0, result.output
        rules = RuleSet.from_json("named/rules.json")
        assert {cluster.name for cluster in rules.clusters} == {"Zero", "One", "Two", "Three"}
    sheet, page = (Path(f"named/report.{kind}").read_text(encoding="utf-8") for kind in ("md", "html"))
    assert "## Cluster 0 (Zero)\n\na note on 0\n" in sheet
    assert '<p class="note" dir="auto" data-k="0">a note on 0</p>' in page
    assert invoke("fit", "t.csv", "-k", 4, "-o", "rules.json").exit_code == 0
    for form in ("markdown", "python", "html"):
        given = invoke("export", "rules.json", form, "--names", "names.csv")
        assert given.output == invoke("export", "named/rules.json", form).output
    for rules in (["rules.json", "--names", "names.csv"], ["named/rules.json"]):
        assert invoke("label", *rules, "t.csv", "-o", "out.csv", "--force").exit_code == 0
        with open("out.csv", newline="") as file:
            assert {row["cluster"] for row in csv.DictReader(file)} == {"Zero", "One", "Two", "Three"}


def labels_of(*arguments):
    """Return the name that `label` gives each row's cluster."""
    assert invoke("label", *arguments, "t.csv", "-o", "out.csv", "--force").exit_code == 0
    with open("out.csv", newline="") as file:
        return [row["cluster"] for row in csv.DictReader(file)]


def test_labels_are_the_names_of_all_clusters_where_one_is_named(table):
    with open("names.csv", "w") as file:
        file.write("number,name\n1,One\n")
    assert invoke("fit", "t.csv", "-k", 4, "-o", "rules.json").exit_code == 0
    rules = RuleSet.from_json("rules.json")
    numbers = labels_of("rules.json")
    assert set(numbers) == {"0", "1", "2", "3"}
    rules.with_names({1: "One"}).to_json("named.json")
    names = {str(cluster.index): cluster.name for cluster in rules.with_names({1: "One"}).clusters}
    for arguments in (["rules.json", "--names", "names.csv"], ["named.json"]):
        assert labels_of(*arguments) == [names[number] for number in numbers]
    select = invoke("export", "named.json", "sql", "--style", "select", "--table", "t", "--cluster-as", "name").output
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t AS SELECT * FROM 't.csv'")
        assert {row[-1] for row in database.execute(select).fetchall()} == set(names.values())


@pytest.mark.parametrize("command", [["export", "r.json", "sql"], ["label", "r.json", "t.csv", "-o", "o.csv"]])
def test_names_of_no_cluster_are_an_error_of_the_option(table, command):
    call("fit", "t.csv", "-k", 2, "-o", "r.json")
    for content, named in (("2,Two", "no cluster 2 "), ("0,A\n1,A", "both be called 'A'")):
        Path("names.csv").write_text(f"number,name\n{content}\n")
        said = refused(*command, "--names", "names.csv", status=2)
        assert said.startswith("--names: ")
        assert named in said


def test_names_of_no_cluster_are_refused_before_the_work(table, words):
    with open("names.csv", "w") as file:
        file.write("number,name\n4,Four\n")
    result = invoke("run", "t.csv", "-k", 4, "--names", "names.csv", "-o", "out")
    assert result.exit_code != 0
    message = " ".join(result.stderr.partition("Error: ")[2].split())
    assert all(part in message for part in ("--names", "cluster 4", "-k 4", "0 to 3"))
    words(message)
    result = invoke("run", "missing.csv", "-k", 4, "--names", "absent.csv")
    assert "absent.csv" in str(result.exception) + result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "t.csv", "-k", 4, "--names", "names.json", "-o", "names.json"],
        ["fit", "t.csv", "-k", 4, "--names", "names.json", "-o", "t.csv"],
        ["run", "t.csv", "-k", 4, "--names", "rules.json", "-o", ".", "--force"],
        ["run", "t.csv", "-k", 4, "--write", "sql", "--sql-template", "rules.sql", "-o", ".", "--force"],
        ["run", "rules.json", "-k", 2, "-o", ".", "--force"],
        ["export", "kept.json", "sql", "--names", "names.json", "-o", "names.json"],
        ["export", "kept.json", "dbt", "--names", "models/data_clusters.yml", "-o", "."],
        ["label", "kept.json", "t.csv", "--names", "names.csv", "-o", "names.csv", "--force"],
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_no_file_that_is_read_is_written(table, arguments):
    names = '[{"number": 0, "name": "Zero"}]'
    for name in ("names.json", "rules.json", "rules.sql"):
        Path(name).write_text(names)
    Path("models").mkdir()
    for name in ("names.csv", "models/data_clusters.yml"):
        Path(name).write_text("number,name\n0,Zero\n")
    assert invoke("fit", "t.csv", "-k", 4, "-o", "kept.json").exit_code == 0
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = invoke(*arguments)
    assert result.exit_code != 0
    assert "that is read" in str(result.exception) + result.output
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


# Names of an earlier fit ---------------------------------------------------------------------------


def groups(path, order, n_rows=90):
    """Write a table of three groups, in an order that gives them other numbers."""
    generator = np.random.default_rng(0)
    centers = np.array([[0, 0], [10, 0], [0, 10]])[np.resize(order, n_rows)]
    rows = (centers + generator.normal(0, 0.5, (n_rows, 2))).round(3)
    Path(path).write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows.tolist()))


def group_of(cluster):
    return int(np.argmax([5, *cluster.means]))  # the mean of which column is large, or of none


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("memory", [[], ["--memory", "64MB"]], ids=["in memory", "in parts"])
def test_names_go_on_to_the_clusters_of_a_new_fit(memory):
    names = {0: "none", 1: "a is large", 2: "b is large"}
    numbers = set()
    groups("old.csv", [0, 1, 2])
    assert call("fit", "old.csv", "-k", "3", "--scale", "none", "-o", "old.json").exit_code == 0
    old = RuleSet.from_json("old.json")
    old = old.with_names({c.index: names[group_of(c)] for c in old.clusters}, {old.clusters[0].index: "seen"})
    old.to_json("named.json")
    for seed in range(4):
        groups("new.csv", [2, 1, 0])
        options = ["-k", "3", "--scale", "none", "--seed", str(seed), "--names", "named.json"]
        result = call("fit", "new.csv", *options, *memory, "-o", "new.json", "--force")
        assert re.search(r"\b3 clusters .*named\.json", " ".join(result.stderr.split()))
        new = RuleSet.from_json("new.json")
        assert all(cluster.name == names[group_of(cluster)] for cluster in new.clusters)
        assert [group_of(c) for c in new.clusters if c.note == "seen"] == [group_of(old.clusters[0])]
        numbers.add(tuple(group_of(cluster) for cluster in new.clusters))
    assert len(numbers) > 1  # else the numbers alone would have done


def test_names_of_clusters_that_are_no_more_are_said():
    groups("t.csv", [0, 1, 2])
    call("fit", "t.csv", "-k", "3", "--scale", "none", "-o", "old.json")
    RuleSet.from_json("old.json").with_names({0: "A", 1: "B", 2: "C"}).to_json("named.json")
    result = call("run", "t.csv", "-k", "2", "--scale", "none", "--names", "named.json", "--write", "sql", "-o", "r")
    said = " ".join(result.stderr.split())
    assert re.search(r"\b2 clusters .*named\.json.*; no cluster .* \d \([ABC]\)$", said)
    assert len({cluster.name for cluster in RuleSet.from_json("r/rules.json").clusters} & {"A", "B", "C"}) == 2


@pytest.mark.parametrize("command", [["export", "named.json", "sql"], ["label", "named.json", "t.csv", "-o", "o.csv"]])
def test_names_of_rules_need_a_table(command, words):
    groups("t.csv", [0, 1, 2])
    call("fit", "t.csv", "-k", "3", "-o", "named.json")
    said = refused(*command, "--names", "named.json", status=2)
    assert all(part in said for part in ("--names", "named.json", "table"))
    if command[0] == "label":
        words(said)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("memory", [[], ["--memory", "64MB"]], ids=["in memory", "in parts"])
def test_rules_that_test_a_column_that_is_left_out_name_nothing(memory):
    groups("t.csv", [0, 1, 2])
    make_rules([("a", "float"), ("b", "float")], (0, 5.0, (1, 5.0, 0, 1), 2)).to_json("both.json")
    options = ["-k", "2", "--exclude", "b", "--names", "both.json", *memory]
    assert "--names: both.json tests 'b'" in refused("fit", "t.csv", *options, status=2)

"""Verifying the SQL that its user exports: by names of clusters, and with a value for rows without one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from commandline import call, refused
from databases import SMALL, File, of
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from rulesets import FRAGMENTS, make_rules, moderate_float, rule_sets, small_rules

from shallowrules.errors import OptionError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS
from shallowrules.labelling.answers import Answers
from shallowrules.labelling.column_types import column_types
from shallowrules.sources.database import DatabaseSource, open_rows
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.verification import database as verification
from shallowrules.verification import runners, verify
from shallowrules.verification.comparing import NO_ANSWER, SEVERAL
from shallowrules.verification.database import verify_database

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

NAMES = {0: "it's", 1: "%s :p \\", 2: "{{ é😀 }}"}
CHOSEN = [("number", "-5"), ("number", 99), ("name", "none"), ("name", 'no "one" \\ %s'), ("name", None)]


def named_rules():
    return make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 0, (1, 3, 1, 2)), NAMES)


@pytest.mark.parametrize(("cluster_as", "otherwise"), CHOSEN)
def test_what_is_run_is_the_very_text(small, monkeypatch, cluster_as, otherwise):
    rules, run = named_rules(), []
    fetch = DatabaseSource.fetch
    monkeypatch.setattr(DatabaseSource, "fetch", lambda source, text: run.append(text) or fetch(source, text))
    certificate = verify_database(rules, of(small), answers=Answers(rules, cluster_as, otherwise))
    assert certificate.disagreeing == []
    assert certificate.by_cluster == {0: 2, 1: 1, 2: 1}
    assert sum(part.rows for part in certificate.unlabelled) == 2
    with open_rows(of(small)) as source:
        options = {"cluster_as": cluster_as, "otherwise": otherwise, "types": column_types(source)}
    text = export(rules, "sql", dialect=small.dialect, style="case", **options)
    assert sum(text in statement for statement in run) == 2  # on rows and on boundary rows
    assert certificate.to_dict()["cluster_as"] == cluster_as
    assert certificate.to_dict()["else"] == otherwise


def test_the_command_says_what_the_sql_gives(small):
    named_rules().to_json("rules.json")
    there = ["--database", small.url, "--table", "small", "-o", "certificate.json"]
    done = call("verify", "rules.json", *there, "--cluster-as", "name", "--else", "none")
    assert done.exit_code == 0, done.output
    assert "'none' for a row" in done.stdout
    with open("certificate.json", encoding="utf-8") as file:
        assert json.load(file)["else"] == "none"


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ("ELSE NULL", NO_ANSWER),  # a NULL where the user asked for a value
        ("ELSE 98", NO_ANSWER),
        ("ELSE 1", 1),
    ],
)
def test_another_value_than_that_asked_for_is_a_mismatch(small, monkeypatch, wrong, found):
    export = verification.export

    def changed(*arguments, **options):
        text = export(*arguments, **options).replace("ELSE 99", wrong)
        return text.replace("THEN 99", wrong.replace("ELSE", "THEN"))  # in the style "ordered"

    monkeypatch.setattr(verification, "export", changed)
    rules = small_rules()
    certificate = verify_database(rules, of(small), answers=Answers(rules, otherwise=99))
    for comparison in certificate.comparisons[1:]:
        assert comparison.disagreements == 2
        assert {(each.expected, each.found) for each in comparison.differences} == {(None, found)}
        assert comparison.first.places == ("no cluster", "cluster 1" if found == 1 else NO_ANSWER)
    assert json.loads(certificate.to_json())["agrees"] is False


def test_a_cluster_that_sql_takes_for_none_is_a_mismatch(small, monkeypatch):
    export = verification.export

    def changed(*arguments, **options):
        return export(*arguments, **options).replace("THEN 2", "THEN 99").replace("ELSE 2\n", "ELSE 99\n")

    monkeypatch.setattr(verification, "export", changed)
    rules = small_rules()
    certificate = verify_database(rules, of(small), answers=Answers(rules, otherwise=99))
    for comparison in certificate.comparisons[1:]:
        assert [(each.expected, each.found) for each in comparison.differences] == [(2, None)]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--else", "2"], ("--else", "'2'", "cluster 2")),
        (["--else", "none"], ("--else", "'none'", "are numbers")),
        (["--else", str(2**63)], ("--else", "64 bits")),
        (["--cluster-as", "name", "--else", "it's"], ("--else", "which is cluster")),
        (["--cluster-as", "title"], ("'--cluster-as'", "'title'")),
    ],
)
@pytest.mark.parametrize("place", ["file", "database"])
def test_what_no_row_can_get_is_refused_before_any_work(tmp_path, monkeypatch, place, arguments, named):
    monkeypatch.chdir(tmp_path)
    named_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i\n0.5,1\n")
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [("x", "REAL"), ("i", "INTEGER")], SMALL)
    rows = ["t.csv"] if place == "file" else ["--database", file.url, "--table", "small", "-o", "certificate.txt"]
    said = refused("verify", "rules.json", *rows, *arguments, status=2)
    assert all(part in said for part in named)


def test_an_option_is_named_as_the_command_spells_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [("x", "REAL"), ("i", "INTEGER")], SMALL)
    there = ["--database", file.url, "--table", "small"]
    assert "--column renames 'nix'" in refused("verify", "rules.json", *there, "--column", "nix=y", status=2)


@pytest.mark.slow
@pytest.mark.parametrize(("cluster_as", "otherwise"), CHOSEN)
def test_files_are_verified_by_it_too(tmp_path, monkeypatch, cluster_as, otherwise):
    monkeypatch.chdir(tmp_path)
    named_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i\n0.25,1\n0.75,3\n0.75,4\n,4\n0.75,\n")
    options = ["--cluster-as", cluster_as, *([] if otherwise is None else ["--else", otherwise])]
    done = call("verify", "rules.json", "t.csv", *options)
    assert done.exit_code == 0, done.output
    assert "SQL, duckdb, on the file itself" in done.stdout


def test_a_row_that_does_not_come_back_is_a_mismatch(monkeypatch):
    export = runners.sql.export

    def shortened(*arguments, **options):
        return export(*arguments, **options) + (" WHERE x = x" if options.get("style") == "select" else "")

    monkeypatch.setattr(runners.sql, "export", shortened)
    found = {each.form: each for each in verify(small_rules(), {"x": [0.1, None], "i": [1, 2]}, ["sqlite"])}
    select = found["SQL, sqlite, select"]
    assert (select.first.expected, select.first.found) == (None, NO_ANSWER)


def test_any_number_may_be_a_cluster():
    """Also -2, so that the mark for "not a cluster" has a free number."""
    rules = make_rules([("x", "float")], (0, 0.5, -2, -3))
    answers = Answers(rules, otherwise=-1)
    assert [answers.cluster(text) for text in ("-2", -3, "-1")] == [-2, -3, NO_CLUSTER]
    assert {answers.cluster(7), answers.cluster(None)} == {answers.foreign}
    assert answers.foreign not in (-1, -2, -3)
    assert all(not each.disagreements for each in verify(rules, {"x": [0.1, 0.7, None]}, answers=answers))


def test_overlapping_predicates_of_any_numbers(monkeypatch):
    rules = make_rules([("x", "float")], (0, 0.5, -2, -3))
    monkeypatch.setattr(runners.sql, "cluster_predicates", lambda *a, **o: {-2: "x <= 0.5", -3: "x <= 9"})
    found = {each.form: each for each in verify(rules, {"x": [0.1, 0.7]}, ["sqlite"])}
    assert (found["SQL, sqlite, where"].first.expected, found["SQL, sqlite, where"].first.found) == (-2, SEVERAL)


@draws(12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_any_names_and_any_value(tmp_path_factory, kind, data):
    rules = data.draw(rule_sets(floats=moderate_float, kinds=("float",)))
    texts = st.sampled_from([text for text in FRAGMENTS if "\0" not in text])
    plain = make_names(rules, data.draw(st.lists(texts, min_size=len(rules.clusters), max_size=len(rules.clusters))))
    cluster_as = data.draw(st.sampled_from(["number", "name"]))
    otherwise = data.draw(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1) if cluster_as == "number" else texts))
    answers = Answers(plain, cluster_as, otherwise)
    database = File(kind, tmp_path_factory.mktemp("answers") / "file.db")
    values = st.one_of(st.none(), moderate_float)
    rows = data.draw(st.lists(st.tuples(*[values] * len(rules.columns)), min_size=1, max_size=8))
    database.create("t", [(column.name, database.types["float"]) for column in rules.columns], rows)
    try:
        certificate = verify_database(plain, of(database, "t"), answers=answers)
    except OptionError as error:
        assert "which is cluster" in str(error)  # noqa: PT017 (what is refused depends on what was drawn)
        return
    assert certificate.disagreeing == [], certificate.to_text()
    assert DIALECTS[kind].name == certificate.dialect


def make_names(rules, names):
    clusters = [replace(c, name=f"{name}{c.index}") for c, name in zip(rules.clusters, names, strict=True)]
    return replace(rules, clusters=tuple(clusters))

"""Refusals of the command line: tables, options, and names that would clash."""

from __future__ import annotations

import shlex

import pytest
from commandline import call, refused, write_groups


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Bad input -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("in_parts")
def test_bad_tables_are_refused_and_nothing_is_left_behind(folder, words):
    said = []
    for what, content, arguments, found in (
        ("no file", None, [], ["t.csv"]),
        ("an empty file", "", [], ["t.csv"]),
        ("no rows", "a,b\n", [], ["t.csv", "2 column"]),
        ("no text", b"\x7fELF\x02\x01\x01\0\0\0", [], ["t.csv", "line 1", "zero byte"]),
        ("a short line", "a,b\n1,2\n3\n", [], ["t.csv", "line 3", "1 field", "2"]),
        ("a name twice", "a,a\n1,2\n3,4\n", [], ["1 and 2", "'a'"]),
        ("a name in two cases", "a,A\n1,2\n3,4\n", [], ["1 and 2", "'a' and 'A'"]),
        ("dates", "a,b\n1,1.1.2020\n3,2/1.2020\n5,\n", [], ["1 column", "'b'", "2024-03-31", "--exclude b"]),
        (
            "free text",
            "a,b\n" + "".join(f"{i % 3},name {i}\n" for i in range(1200)),
            [],
            ["'b' has 1,200 values in 1,200 rows", "--exclude b"],
        ),
        ("no value", "a,b\n1,\n3,4\n2,5\n", [], ["missing", "'b' (1 row)", "1 of 3 rows"]),
        ("nan", "a,b\n1,nan\n3,4\n2,5\n", [], ["missing", "'b' (1 row)"]),
        ("infinity", "a,b\n1,inf\n3,4\n2,5\n", [], ["infinite", "'b' (1 row)"]),
        ("infinity", "a,b\n1,inf\n3,4\n2,5\n", ["--drop-missing"], ["infinite", "'b' (1 row)"]),
        ("a word among numbers", "a,b\n1,NA\n3,4\n2,5\n", [], ["'b'", "1 of 3 values", "NA"]),
        ("few rows", "a\n1\n2\n1\n", ["-k", "4"], ["4 clusters", "3 rows"]),
        ("few distinct rows", "a\n1\n2\n1\n", ["-k", "3"], ["3 clusters", "2 distinct rows"]),
        ("the number of a row", "id,x\n4,1\n2,3\n9,5\n", [], ["'id'", "--exclude id"]),
        ("one column", "a\n1\n2\n1\n", ["--columns", "b"], ["no column 'b'", "'a'"]),
        ("one column", "a\n1\n2\n1\n", ["--exclude", "b"], ["no column 'b'", "'a'"]),
        ("one column", "a\n1\n2\n1\n", ["--exclude", "a"], ["no column"]),
        ("one column", "a\n1\n2\n1\n", ["--weight", "w"], ["no column 'w'", "'a'"]),
        ("a weight below 0", "a,w\n1,1\n2,-1\n3,1\n", ["--weight", "w"], ["'w'", "negative", "1 row"]),
        ("weights of 0", "a,w\n1,0\n2,0\n3,0\n", ["--weight", "w"], ["'w'", "all zero"]),
    ):
        (folder / "t.csv").unlink(missing_ok=True)
        if content is not None:
            (folder / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
        given = arguments if "-k" in arguments else ["-k", "2", *arguments]
        message = refused("run", "t.csv", *given)
        fitted = refused("fit", "t.csv", *given, "-o", "rules.json")
        for text in (message, fitted):
            assert all(part in text for part in found), text
        in_parts = refused("fit", "t.csv", *given, "--memory", "1GB", "-o", "rules.json")
        assert in_parts.replace(" --memory 1GB", "") == fitted
        said.append((" ".join([f"{what}:", *given]), message))
    words(said)


def test_a_folder_is_no_table(folder, words):
    (folder / "t.csv").mkdir()
    message = refused("run", "t.csv", "-k", 2)
    assert "t.csv" in message
    words(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "t.csv"], "'-k'"),
        (["run", "t.csv", "-k", "1"], "x>=2"),
        (["run", "t.csv", "-k", "many"], "'many'"),
        (["run", "t.csv", "-k", "2", "--method", "magic"], "'exshallow', 'exgreedy'"),
        (["run", "t.csv", "-k", "2", "--scale", "log"], "'none', 'minmax', 'standard', 'robust'"),
        (["run", "t.csv", "-k", "2", "--style", "haiku"], "'--sql-style' / '--style'"),
        (["run", "t.csv", "-k", "2", "--style", "haiku"], "'where', 'case', 'ordered'"),
        (["run", "t.csv", "-k", "2", "--tradeoff", "-1"], "0<=x<1000000"),
        (["run", "t.csv", "-k", "2", "--tradeoff", "nan"], "nan"),
        (["run", "t.csv", "-k", "2", "--seed", "-1"], "-1"),
        (["run"], "'TABLE'"),
        (["sample", "roses"], "'breast_cancer', 'digits', 'iris', 'wine'"),
        (["dance"], "'dance'"),
    ],
)
def test_wrong_usage_is_status_2(arguments, message):
    write_groups()
    assert message in refused(*arguments, status=2)


def test_wrong_values_of_options_are_status_2(words):
    write_groups()
    said = []
    for arguments, found in (
        (["--dialect", "klingon"], ["dialect 'klingon'", "ansi"]),
        (["--column", "width"], ["'width'", "OLD=NEW"]),
        (["--column", "nix=x"], ["--column", "'nix'"]),
        (["--decimal", ";"], ["decimal", "';'"]),
        (["--delimiter", "ab"], ["delimiter", "'ab'"]),
        (["--encoding", "klingon"], ["encoding 'klingon'"]),
        (["--table", "a..b"], ["'a..b'"]),
        (["--cluster-column", " "], ["--cluster-column", "blank"]),
    ):
        message = refused("run", "t.csv", "-k", "2", *arguments, status=2)
        assert all(part in message for part in found), message
        said.append((shlex.join(arguments), message))
    words(said)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--tradeoff", "nan"), ("--tradeoff", "inf"), ("--dialect", "klingon"), ("--table", "a..b"), ("--style", "haiku")],
)
def test_a_wrong_value_is_known_before_the_table_is_read(option, value):
    message = refused("run", "none.csv", "-k", 2, option, value, status=2)
    assert value in message


def test_a_column_named_like_the_new_one_is_known_before_the_work(folder, monkeypatch, words):
    (folder / "t.csv").write_text("Cluster,x\n" + "0.5,1.5\n7.5,9.5\n" * 5)
    select = ["run", "t.csv", "-k", 2, "--style", "select"]
    with monkeypatch.context() as patch:
        patch.setattr(
            "shallowrules.models.estimator.ExplainableKMeans.fit", lambda *_, **__: pytest.fail("it went to work")
        )
        message = refused(*select)
        assert "'Cluster'" in message
        assert "--cluster-column" in message
        assert "column 'grp'" in refused(*select, "--column", "x=grp", "--cluster-column", "GRP")
        assert "'nix'" in refused("run", "t.csv", "-k", 2, "--column", "nix=x", status=2)
    words(message)
    assert call(*select, "--cluster-column", "segment").exit_code == 0
    assert 'END AS "segment"' in (folder / "t_rules" / "rules.sql").read_text()
    assert call(*select, "--column", "Cluster=c", "--force").exit_code == 0
    assert call("run", "t.csv", "-k", 2, "--force").exit_code == 0  # no new column, no clash
    arguments = ["export", "t_rules/rules.json", "sql", "--style", "select"]
    assert "--cluster-column" in refused(*arguments)
    assert 'AS "segment"' in call(*arguments, "--cluster-column", "segment").stdout

"""What the command line refuses: tables, options, and names that would clash."""

from __future__ import annotations

import pytest
from commandline import call, refused, write_groups


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "t.csv: there is no such file"),
        ("", [], "t.csv: the file is empty"),
        ("a,b\n", [], "t.csv: there are no rows below the 2 column names"),
        (b"\x7fELF\x02\x01\x01\0\0\0", [], "t.csv: line 1 has a zero byte: this is not a text file"),
        ("a,b\n1,2\n3\n", [], "t.csv: line 3 has 1 field(s), the header has 2"),
        ("a,a\n1,2\n3,4\n", [], "columns 1 and 2 are both named 'a'"),
        ("a,A\n1,2\n3,4\n", [], "columns 1 and 2 are named 'a' and 'A'"),
        (
            "a,b\n1,1.1.2020\n3,2.1.2020\n5,\n",
            [],
            "1 column holds neither numbers nor categories: 'b' (dates in another form than 2024-03-31); "
            "leave out what is to play no part: --exclude b",
        ),
        (
            "a,b\n" + "".join(f"{i % 3},name {i}\n" for i in range(1200)),
            [],
            "too many different texts to be categories, as ids and free text have them, in 'b' (1,200 values) of "
            "1,200 rows; leave out what is to play no part: --exclude b",
        ),
        ("a,b\n1,\n3,4\n2,5\n", [], "values are missing in 'b' (1 row), 1 of 3 rows in all"),
        ("a,b\n1,nan\n3,4\n2,5\n", [], "values are missing in 'b' (1 row)"),
        ("a,b\n1,inf\n3,4\n2,5\n", [], "values are infinite in 'b' (1 row)"),
        ("a,b\n1,inf\n3,4\n2,5\n", ["--drop-missing"], "values are infinite in 'b' (1 row)"),
        ("a,b\n1,NA\n3,4\n2,5\n", [], "column 'b' is nearly all numbers, but 1 of 3 values is not"),
        ("a\n1\n2\n1\n", ["-k", "4"], "only 3 rows"),
        ("a\n1\n2\n1\n", ["-k", "3"], "only 2 distinct rows"),
        ("id,x\n4,1\n2,3\n9,5\n", [], "--exclude id"),
        ("a\n1\n2\n1\n", ["--columns", "b"], "there is no column 'b'; the columns are: 'a'"),
        ("a\n1\n2\n1\n", ["--exclude", "b"], "there is no column 'b'"),
        ("a\n1\n2\n1\n", ["--exclude", "a"], "no column is left"),
        ("a\n1\n2\n1\n", ["--weight", "w"], "there is no column 'w'"),
        ("a,w\n1,1\n2,-1\n3,1\n", ["--weight", "w"], "the weights 'w' are negative in 1 row"),
        ("a,w\n1,0\n2,0\n3,0\n", ["--weight", "w"], "the weights 'w' are all zero"),
    ],
)
def test_bad_tables_are_refused_and_nothing_is_left_behind(folder, content, arguments, message):
    if content is not None:
        (folder / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    given = arguments if "-k" in arguments else ["-k", "2", *arguments]
    assert message in refused("run", "t.csv", *given)
    assert message in refused("fit", "t.csv", *given, "-o", "rules.json")


def test_a_folder_is_no_table(folder):
    (folder / "t.csv").mkdir()
    assert "t.csv: this is a folder" in refused("run", "t.csv", "-k", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "t.csv"], "Missing option '-k'"),
        (["run", "t.csv", "-k", "1"], "1 is not in the range x>=2"),
        (["run", "t.csv", "-k", "many"], "'many' is not a valid integer range"),
        (["run", "t.csv", "-k", "2", "--method", "magic"], "'exshallow', 'exgreedy'"),
        (["run", "t.csv", "-k", "2", "--scale", "log"], "'none', 'minmax', 'standard', 'robust'"),
        (
            ["run", "t.csv", "-k", "2", "--style", "haiku"],
            "Invalid value for '--sql-style' / '--style': 'haiku' is not one of 'where', 'case', 'ordered'",
        ),
        (["run", "t.csv", "-k", "2", "--dialect", "klingon"], "unknown SQL dialect 'klingon'; known are: ansi"),
        (["run", "t.csv", "-k", "2", "--column", "width"], "'width' is not OLD=NEW"),
        (["run", "t.csv", "-k", "2", "--column", "nix=x"], "--column renames 'nix', which the rules do not have"),
        (["run", "t.csv", "-k", "2", "--decimal", ";"], "unknown decimal separator"),
        (["run", "t.csv", "-k", "2", "--delimiter", "ab"], "delimiter must be one character"),
        (["run", "t.csv", "-k", "2", "--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["run", "t.csv", "-k", "2", "--tradeoff", "-1"], "-1.0 is not in the range 0<=x<1000000"),
        (["run", "t.csv", "-k", "2", "--tradeoff", "nan"], "nan is not in the range"),
        (["run", "t.csv", "-k", "2", "--table", "a..b"], "'a..b' is not a table name"),
        (["run", "t.csv", "-k", "2", "--cluster-column", " "], "--cluster-column must be text that is not blank"),
        (["run", "t.csv", "-k", "2", "--seed", "-1"], "-1 is not in the range"),
        (["run"], "Missing argument 'TABLE'"),
        (["sample", "roses"], "'breast_cancer', 'digits', 'iris', 'wine'"),
        (["dance"], "No such command 'dance'"),
    ],
)
def test_wrong_usage_is_status_2(arguments, message):
    write_groups()
    assert message in refused(*arguments, status=2)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--tradeoff", "nan"), ("--tradeoff", "inf"), ("--dialect", "klingon"), ("--table", "a..b"), ("--style", "haiku")],
)
def test_a_wrong_value_is_known_before_the_table_is_read(option, value):
    message = refused("run", "none.csv", "-k", 2, option, value, status=2)
    assert value in message


def test_a_column_named_like_the_new_one_is_known_before_the_work(folder, monkeypatch):
    (folder / "t.csv").write_text("Cluster,x\n" + "0.5,1.5\n7.5,9.5\n" * 5)
    select = ["run", "t.csv", "-k", 2, "--style", "select"]
    with monkeypatch.context() as patch:
        patch.setattr("shallowrules.estimator.ExplainableKMeans.fit", lambda *_, **__: pytest.fail("it went to work"))
        message = refused(*select)
        assert "already has a column 'Cluster': name the new one otherwise by --cluster-column" in message
        assert "column 'grp'" in refused(*select, "--column", "x=grp", "--cluster-column", "GRP")
        assert "--column renames 'nix'" in refused("run", "t.csv", "-k", 2, "--column", "nix=x", status=2)
    assert call(*select, "--cluster-column", "segment").exit_code == 0
    assert 'END AS "segment"' in (folder / "t_rules" / "rules.sql").read_text()
    assert call(*select, "--column", "Cluster=c", "--force").exit_code == 0
    assert call("run", "t.csv", "-k", 2, "--force").exit_code == 0  # no new column, no clash
    arguments = ["export", "t_rules/rules.json", "sql", "--style", "select"]
    assert "by --cluster-column" in refused(*arguments)
    assert 'AS "segment"' in call(*arguments, "--cluster-column", "segment").stdout

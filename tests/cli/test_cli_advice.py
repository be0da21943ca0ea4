"""The remedies that the command line proposes for a table that it refuses: options, and a whole command that works."""

from __future__ import annotations

import csv
import random
import shlex

import pytest
from click.testing import CliRunner

from shallowrules.cli.advice import Remedy, amended, column_list
from shallowrules.cli.commands import shallowrules
from shallowrules.errors import DataError
from shallowrules.sources import read_table


@pytest.mark.parametrize(
    ("names", "word"), [(["a", "b"], "a,b"), (["my id"], "'my id'"), (["a,b", 'c"d'], '\'"a,b","c""d"\'')]
)
def test_a_column_list_can_be_pasted(names, word):
    assert column_list(names) == word


WORKS = "This works: "
"""What a command that is proposed stands after."""


def write_messy(path, n_rows=200):
    """Write a table with every fault that tables have."""
    pick = random.Random(0)
    with open(path, "w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["my id", "day", "age", "income", "charges", "segment", "note", "empty", "rate"])
        for i in range(n_rows):
            rows.writerow(
                [
                    1000 + i,
                    f"{i % 28 + 1:02d}{'./'[i % 2]}01.2020",
                    pick.randint(18, 90),
                    pick.randint(0, 90_000) if i % 9 else "",
                    pick.random() * 100 if i % 20 else " ",
                    pick.choice("ABC"),
                    f"free text {i}",
                    "",
                    "inf" if i == 7 else pick.random(),
                ]
            )


def test_all_that_is_wrong_is_said_at_once_with_a_command_that_works(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    write_messy("messy.csv")
    refused = CliRunner().invoke(shallowrules, ["fit", "messy.csv", "-k", "3", "-o", "rules.json"])
    assert refused.exit_code == 3
    for part in (
        "column 'charges'",
        "10 of 200",
        "'day' (dates ",
        "column 'empty'",
        "'note' has 200 values in 200 rows",
        "column 'my id'",
        "missing in 'income' (23 rows)",
        "infinite in 'rate' (1 row)",
    ):
        assert part in refused.stderr
    words(refused.stderr.strip())
    proposed = shlex.split(refused.stderr.partition(WORKS)[2])
    assert proposed[:6] == ["shallowrules", "fit", "messy.csv", "-k", "3", "-o"]
    done = CliRunner().invoke(shallowrules, proposed[1:])
    assert done.exit_code == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "option"),
    [
        ("a,b\n" + "1,é\n2,é\n5,b\n" * 5, ["--encoding", "cp1252"]),
        ("a;b\n" + "1,500;1\n2;2\n3,500;7\n" * 5, ["--format", "a=1,234.50"]),
        ("a,b\n" + "1,2\n,3\n3,4\n" * 5, ["--impute", "median"]),
        ("a,b\n" + "1,2\n" * 10 + "2,3\n3,-\n" * 2, ["--null", "-"]),
    ],
)
def test_the_command_proposed_fits_what_was_found(tmp_path, monkeypatch, content, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(content.encode("cp1252"))
    refused = CliRunner().invoke(shallowrules, ["fit", "t.csv", "-k", "2", "-o", "r.json"])
    assert refused.exit_code == 3
    proposed = shlex.split(refused.stderr.partition(WORKS)[2])
    assert any(proposed[i : i + 2] == option for i in range(len(proposed)))
    done = CliRunner().invoke(shallowrules, proposed[1:])
    assert done.exit_code == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "found", "options"),
    [
        (
            ["2", "1", "?", "3", "1"] * 8,
            ["column 'w'", "8 of 40 values", "'?' in row 3", "(--null '?')"],
            ["--null", "?", "--drop-missing"],
        ),
        (["2", "1", "", "3", "1"] * 8, ["missing in 'w'", "8 of 40 rows", "(--drop-missing)"], ["--drop-missing"]),
        (["2", "1", "inf", "3", "1"] * 8, ["infinite in 'w' (8 rows)"], ["--null", "inf", "--drop-missing"]),
        (["a", "b"] * 20, ["'w'", "not numbers", "text"], []),
        (["2", *"pqrst"] + ["4"] * 60, ["'w'", "5 of 66 values", "'p' in row 2"], []),
        (["1,500", "2"] * 20, ["'w'", "'1,500'", "--thousands ,"], ["--format", "w=1,234.50"]),
    ],
    ids=["a mark", "empty", "infinite", "categories", "texts", "commas"],
)
def test_unclean_weights_are_explained_and_never_left_out(tmp_path, monkeypatch, words, weights, found, options):
    monkeypatch.chdir(tmp_path)
    rows = [[0.5 * (i % 7), i % 4, weight] for i, weight in enumerate(weights)]
    with open("t.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([["a", "b", "w"], *rows])
    typed = ["fit", "t.csv", "-k", "2", "--weight", "w", "-o", "r.json"]
    refused = CliRunner().invoke(shallowrules, typed)
    assert refused.exit_code == 3
    assert all(part in refused.stderr for part in found), refused.stderr
    assert "--exclude w" not in refused.stderr
    words(refused.stderr.partition(WORKS)[0].strip())
    if options == []:
        assert WORKS not in refused.stderr
    else:
        proposed = shlex.split(refused.stderr.partition(WORKS)[2])
        assert proposed[1 : len(typed) + 1] == typed
        assert proposed[len(typed) + 1 :] == options
        done = CliRunner().invoke(shallowrules, proposed[1:])
        assert done.exit_code == 0, done.stderr


def test_weights_are_not_imputed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,w\n" + "0.5,2,1\n,3,2\n4.5,1,\n" * 5)
    refused = CliRunner().invoke(shallowrules, ["fit", "t.csv", "-k", "2", "--weight", "w", "--impute", "median"])
    assert "missing in 'w' (5 rows)" in refused.stderr
    assert refused.stderr.endswith("(--drop-missing instead of --impute median)\n")


def test_findings_about_weights_and_other_columns_are_said_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_messy("messy.csv")
    refused = CliRunner().invoke(shallowrules, ["fit", "messy.csv", "-k", "3", "--weight", "segment"])
    for part in ("weights 'segment'", "column 'charges'", "missing in 'income'"):
        assert part in refused.stderr


def test_no_command_is_proposed_where_none_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("day\n1.1.2020\n2/1.2020\n")
    refused = CliRunner().invoke(shallowrules, ["fit", "t.csv", "-k", "2"])
    assert "--exclude day" in refused.stderr
    assert WORKS not in refused.stderr


@pytest.mark.parametrize(
    "content", [b"a,b\n1,\xe9\n", b"a;b,c\n1;x,y\n", b"a,b\n1\n", b'a,b\n"1,500",2\n', b"a,b\n1,2\nNA,3\n"]
)
def test_a_source_names_no_option_of_the_command_line(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "t.csv")
    assert "--" not in str(caught.value)
    [finding] = caught.value.findings
    assert finding.file == str(tmp_path / "t.csv")
    assert finding.message in str(caught.value)


def test_remedies_add_up():
    both = Remedy(exclude=("a",), null=("x",)) | Remedy(exclude=("b", "a"), format=("a=12,5",), drop_missing=True)
    assert both.arguments() == ["--exclude", "a,b", "--null", "x", "--format", "a=12,5", "--drop-missing"]


@pytest.mark.parametrize(
    ("typed", "remedy", "expected"),
    [
        ("run t.csv --encoding utf-32 -k 2", Remedy(encoding="cp1252"), "run t.csv -k 2 --encoding cp1252"),
        (
            "run --encoding=x t.csv --null x",
            Remedy(encoding="y", null=("y",)),
            "run t.csv --null x --null y --encoding y",
        ),
        ("run t.csv --exclude a --exclude=b", Remedy(exclude=("c",)), "run t.csv --exclude a,b,c"),
        ("run t.csv --exclude a", Remedy(drop_missing=True), "run t.csv --exclude a --drop-missing"),
        ("run --exclude a -- --exclude", Remedy(exclude=("c",)), "run --exclude a,c -- --exclude"),
    ],
)
def test_a_remedy_stands_in_place_of_earlier_options(typed, remedy, expected):
    excluded = [name for name in "ab" if f"--exclude {name}" in typed or f"--exclude={name}" in typed]
    assert amended(typed.split(), remedy, None, excluded) == expected.split()


def test_columns_to_leave_out_are_taken_out_of_those_named():
    typed = ["run", "t.csv", "--columns", "a,c", "--columns", "d", "-k", "2"]
    assert amended(typed, Remedy(exclude=("c",)), ("a", "c", "d")) == ["run", "t.csv", "-k", "2", "--columns", "a,d"]
    # b is one to explain by, say
    assert amended(typed, Remedy(exclude=("b",)), ("a", "c", "d")) == [*typed, "--exclude", "b"]


def test_the_command_proposed_repeats_no_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,day\n" + "1,5,1.1.2020\n2,6,2/1.2020\n4,1,2.1.2020\n")
    typed = ["fit", "t.csv", "--columns", "a,b,day", "-k", "2", "--encoding", "utf-16", "-o", "r.json"]
    refused = CliRunner().invoke(shallowrules, typed)
    proposed = shlex.split(refused.stderr.partition(WORKS)[2])
    assert proposed[1:] == ["fit", "t.csv", "-k", "2", "-o", "r.json", "--columns", "a,b", "--encoding", "utf-8"]
    done = CliRunner().invoke(shallowrules, proposed[1:])
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "ways"), [(["--delimiter", ";"], [","]), (["--decimal", ","], [","]), ([], [",", ";"])]
)
def test_each_delimiter_that_fits_is_given_in_a_command_that_works(tmp_path, monkeypatch, options, ways):
    monkeypatch.chdir(tmp_path)
    head, between = ("a,b", ",") if options else ("a,x;b", ",1;")
    with open("t.csv", "w") as stream:
        stream.writelines([f"{head}\n", *(f"{i % 2 * 9}{between}{i % 5}\n" for i in range(20))])
    refused = CliRunner().invoke(shallowrules, ["fit", "t.csv", "-k", "2", "-o", "rules.json", *options])
    assert refused.exit_code == 3
    assert "delimiter" in refused.stderr
    commands = [
        line.partition(": shallowrules ")[2] for line in refused.stderr.splitlines() if ": shallowrules " in line
    ]
    assert [shlex.split(command)[-1] for command in commands] == ways
    for command in commands:
        worked = CliRunner().invoke(shallowrules, [*shlex.split(command), "--force"])
        assert worked.exit_code == 0, worked.stderr


@pytest.mark.parametrize(
    ("first", "step", "words"),
    [
        (
            1_700_000_000,
            3600,
            "'created_at' also looks like seconds since 1970 (1700068400 is 2023-11-15 17:13:20Z): write",
        ),
        (1_700_000_000_000, 1, "'created_at' also looks like milliseconds since 1970"),
        (20_240_101, 1, "'created_at' also looks like dates written as whole numbers (20240120 for 2024-01-20)"),
        (1, 1, None),
    ],
)
def test_a_row_id_that_may_be_a_time_is_called_so(tmp_path, monkeypatch, first, step, words):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w") as stream:
        stream.writelines(["created_at,b\n", *(f"{first + step * i},{i * i % 7}\n" for i in range(20))])
    refused = CliRunner().invoke(shallowrules, ["fit", "t.csv", "-k", "2", "-o", "rules.json"])
    said = " ".join(refused.stderr.split())
    assert refused.exit_code == 3
    assert "'created_at' looks like a row ID" in said
    assert words in said if words else "also" not in said

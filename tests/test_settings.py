"""A run that is repeated from its file of settings."""

import csv
import json

import numpy as np
import pytest
from commandline import call, refused

OPTIONS = (
    ["-k", "3"],
    ["-k", "4", "--scale", "none", "--seed", "7", "--tradeoff", "0.1", "--refine", "none"],
    ["--labels", "group, given", "--no-histograms"],
    ["-k", "3", "--weight", "weight", "--exclude", '"group, given"', "--exclude", "flag_*"],
    ["-k", "3", "--columns", "a,b", "--explain", "kind", "--category-weight", "0.3", "--method", "imm"],
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


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_a_run_is_repeated_as_it_was(table, options) -> None:
    first = call("run", "t.csv", *options, "-o", "first")
    assert first.exit_code == 0, first.stderr
    again = call("run", "--settings", "first/settings.json", "-o", "again")
    assert again.exit_code == 0, again.stderr
    for name in ("rules.json", "settings.json", "rules.sql"):
        assert (table / "again" / name).read_bytes() == (table / "first" / name).read_bytes()
    fitted = call("fit", "--settings", "first/settings.json")
    assert fitted.stdout == (table / "first" / "rules.json").read_text(encoding="utf-8")


def test_what_is_typed_goes_before(table) -> None:
    call("run", "t.csv", "-k", 3, "--seed", 5, "--exclude", "code", "-o", "first")
    call("run", "t.csv", "--settings", "first/settings.json", "-k", 2, "-o", "second")
    options = json.loads((table / "second" / "settings.json").read_text())["options"]
    assert (options["clusters"], options["seed"], options["exclude"]) == (2, 5, ["code"])


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
    again = call("run", "--database", "sqlite:///shop.db", "--table", "t", "--settings", "out/settings.json", "-o", "b")
    assert again.exit_code == 0, again.stderr
    assert (table / "b" / "rules.json").read_bytes() == (table / "out" / "rules.json").read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "is no file of settings"),
        ('{"format": "shallowrules/2"}', "is no file of settings"),
        ('{"format": "shallowrules-settings/1", "options": []}', "options must be an object"),
        ('{"format": "shallowrules-settings/1", "tables": "t.csv"}', "tables a list of names"),
        ('{"format": "shallowrules-settings/1", "options": {"speed": 1}}', "options that are not known here: 'speed'"),
        ('{"format": "shallowrules-settings/1", "options": {"exclude": "a"}}', "'exclude' must be a list of names"),
        ('{"format": "shallowrules-settings/1", "options": {"seed": [1]}}', "'seed' must be a value"),
    ],
)
def test_a_file_that_is_none_is_refused(table, text: str, message: str) -> None:
    (table / "bad.json").write_text(text)
    assert message in refused("run", "t.csv", "-k", 2, "--settings", "bad.json")


def test_a_wrong_value_names_its_option(table) -> None:
    (table / "bad.json").write_text('{"format": "shallowrules-settings/1", "options": {"clusters": 3, "seed": "x"}}')
    assert "--seed" in refused("run", "t.csv", "--settings", "bad.json", status=2)

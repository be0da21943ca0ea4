"""Absurd numbers for every option and parameter: each works or is refused in words."""

from __future__ import annotations

import contextlib
import csv
import sqlite3

import click
import numpy as np
import pytest
from click.testing import CliRunner
from commandline import write_groups
from draws import few

from shallowrules import (
    ExplainableKMeans,
    Table,
    compare_cluster_counts,
    edit_rules,
    fit_to_goal,
    tradeoff_path,
)
from shallowrules.cli.commands import shallowrules
from shallowrules.errors import DataError, OptionError
from shallowrules.partitions import TableParts
from shallowrules.sources import DatabaseRows, read_table

pytestmark = pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesWarning")

NUMBERS = [
    *(-1, 0, 10**9, 10**20, -(10**20), 10**400),
    *(float("inf"), float("-inf"), float("nan"), 1e300, np.int64(2**62), np.uint64(2**64 - 1)),
]
TEXTS = ["-1", "0", "1000000000", f"{10**20}", f"{10**400}", "1e400", "-inf", "nan"]
X = np.array([[0.0, 0], [0, 1], [0, 2], [9, 3], [9, 4], [9, 5], [9, 9], [4, 4]])
TABLE = Table.of({"a": X[:, 0], "b": X[:, 1]})


# On the command line -------------------------------------------------------------------------------

DATABASE = ["--database", "sqlite:///t.db", "--table", "t"]
USUAL = {
    "clusters": ["t.csv", "--to", "3"],
    "diff": ["rules.json", "rules.json", "t.csv"],
    "drift": ["rules.json", "t.csv"],
    "explain": ["rules.json", "t.csv"],
    "fit": ["t.csv", "-k", "3"],
    "label": ["rules.json", "t.csv"],
    "path": ["t.csv", "-k", "3"],
    "refit": ["rules.json", "t.csv"],
    "run": ["t.csv", "-k", "3", "--force", "--write", "sql"],
    "verify": ["rules.json", "t.csv", "--dialect", "duckdb"],
}
WITH = {"--max-leaves": ["--method", "exkmc"], "--budget": ["--refine", "thorough"]}
OF_UPDATES = ["rules.json", *DATABASE, "--apply", "update", "--yes", "--replace"]


def is_number(option: click.Parameter) -> bool:
    numbers = click.types.IntParamType, click.types.FloatParamType
    return isinstance(option.type, numbers) or option.name in ("memory", "budget")


def numbers_of_all_commands() -> list[tuple[str, str]]:
    """Return every option that takes a number, by command."""
    context = click.Context(shallowrules)
    commands = {name: shallowrules.get_command(context, name) for name in shallowrules.list_commands(context)}
    return [
        (name, option.opts[-1])
        for name, command in commands.items()
        for option in command.params
        if isinstance(option, click.Option) and is_number(option)
    ]


def arguments(command: str, option: str) -> list[str]:
    """Return the arguments with which a command works, apart from this option."""
    if option in ("--batch", "--lock-timeout"):
        return OF_UPDATES
    usual = USUAL[command]
    if option == "--sample":
        fits = "rules.json" not in usual
        return [word for word in usual if word != "t.csv"] + DATABASE + ["--exclude", "id"] * fits
    return usual + WITH.get(option, [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, as a file and in a database, and its rules."""
    folder = tmp_path_factory.mktemp("limits")
    with contextlib.chdir(folder):
        write_groups("t.csv")
        with open("t.csv", newline="", encoding="utf-8") as stream:
            names, *rows = csv.reader(stream)
        with contextlib.closing(sqlite3.connect("t.db")) as database:
            columns = ", ".join(f'"{name}" REAL' for name in names)
            database.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {columns})")
            database.executemany("INSERT INTO t VALUES (NULL, ?, ?)", rows)
            database.commit()
        assert CliRunner().invoke(shallowrules, ["fit", "t.csv", "-k", "3", "-o", "rules.json"]).exit_code == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option"), numbers_of_all_commands())
def test_every_number_of_every_command(command, option, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for text in TEXTS:
        result = CliRunner().invoke(shallowrules, [command, *arguments(command, option), option, text])
        assert result.exception is None or isinstance(result.exception, SystemExit), (text[:25], result.exc_info)
        if result.exit_code:
            assert result.exit_code in (1, 2, 3)
            assert "Error: " in result.stderr
            assert "Traceback" not in result.stderr


def test_there_are_such_options():
    found = {option for _, option in numbers_of_all_commands()}
    assert found >= {"--max-leaves", "--to", "--sample", "--memory", "--budget", "--number", "--batch", "--max-cost"}


@pytest.mark.parametrize(
    ("option", "number"),
    [
        ("--max-leaves", "1000000000"),
        ("--max-leaves", f"{10**20}"),
        ("--sample", f"{10**20}"),
    ],
)
def test_what_a_table_cannot_use_up_is_as_much_as_it_has(option, number, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(shallowrules, ["fit", *arguments("fit", option), option, str(number)])
    assert result.exit_code == 0, result.stderr


# In Python -----------------------------------------------------------------------------------------

PARAMETERS = [
    name
    for name, value in ExplainableKMeans().get_params().items()
    if isinstance(value, int | float) or name in ("max_leaves", "round_within", "random_state", "n_jobs")
]
WITH_PARAMETER = {"budget": {"refine": "thorough"}, "max_leaves": {"method": "exkmc"}}
CALLS = {
    "tradeoff_path": lambda model, number: tradeoff_path(model, X, tradeoffs=[number]),
    "fit_to_goal, max_cost": lambda model, number: fit_to_goal(model, X, max_cost=number),
    "fit_to_goal, max_conditions": lambda model, number: fit_to_goal(model, X, max_conditions=number),
    "fit_to_goal, both": lambda model, number: fit_to_goal(model, X, max_cost=number, max_conditions=1e-9),
    "compare_cluster_counts": lambda model, number: compare_cluster_counts(model, X, [2, number]),
    "compare_cluster_counts, a range": lambda model, number: compare_cluster_counts(model, X, range(2, _whole(number))),
    "edit_rules, merge": lambda model, number: edit_rules(model.fit(X).rules_, model, X, merge=[(0, number)]),
    "columns": lambda model, number: model.set_params(cluster_columns=[number]).fit(X),
    "memory": lambda model, number: model.fit_partitions(TableParts([TABLE]), memory=number),
    "memory of files": lambda model, number: model.fit_partitions("t.csv", memory=number),
    "sample": lambda model, number: read_table(DatabaseRows("sqlite:///t.db", "t", sample=number)),
}


def _whole(number):
    return int(number) if abs(number) < np.inf else 0


def works_or_is_refused(call, number):
    with contextlib.suppress(DataError, OptionError):
        call(number)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number!r:.25}")
@pytest.mark.parametrize("name", PARAMETERS)
def test_every_number_of_the_estimator(name, number, capsys):
    given = {"n_clusters": 2, "random_state": 0, **WITH_PARAMETER.get(name, {}), name: number}
    works_or_is_refused(lambda _: ExplainableKMeans(**given).fit(X).predict(X), number)
    if name not in ("max_leaves", "base"):
        works_or_is_refused(lambda _: ExplainableKMeans(**given).fit_partitions(TableParts([TABLE])), number)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number!r:.25}")
@pytest.mark.parametrize("name", few(CALLS, 3))
def test_every_number_of_a_function(name, number, folder, monkeypatch):
    monkeypatch.chdir(folder)
    works_or_is_refused(lambda number: CALLS[name](ExplainableKMeans(2, random_state=0), number), number)


def test_more_leaves_than_rows_are_as_many_as_rows():
    models = [ExplainableKMeans(3, method="exkmc", max_leaves=most, random_state=0) for most in (8, 10**9, 10**400)]
    assert len({str(model.fit(X).rules_) for model in models}) == 1

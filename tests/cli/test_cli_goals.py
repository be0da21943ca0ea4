"""What shorter rules cost, and goals on their cost and length, by the command line."""

from __future__ import annotations

import json
import re

import pyarrow.parquet as pq
import pytest
from commandline import call, refused
from commandtables import crowded, mixed
from draws import few

from shallowrules.rules import RuleSet
from shallowrules.sources import read_table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def path_lines(*arguments):
    """Return the lines of `path`'s table, numbers except for the last; the third is in percent."""
    result = call("path", crowded(), "-k", 9, *arguments)
    assert result.exit_code == 0
    found = [line.replace("%", "").split() for line in result.stdout.splitlines()]
    return [[*map(float, line[:-1]), line[-1]] for line in found if line and re.fullmatch(r"[\d.]+", line[0])]


@pytest.mark.slow
def test_path_shows_what_run_would_give():
    lines = path_lines()
    assert len(lines) > 4
    assert [line[1] for line in lines] == sorted(line[1] for line in lines)
    assert [line[3] for line in lines] == sorted((line[3] for line in lines), reverse=True)
    assert {line[6] for line in lines} == {"full", "none"}
    for tradeoff, cost, extra, conditions, questions, rules, refine in lines:
        assert extra == pytest.approx(100 * (cost - 1), abs=0.11)
        assert rules == 9
        fitted = call("fit", "t.csv", "-k", 9, "--tradeoff", tradeoff, "--refine", refine)
        statistics = json.loads(fitted.stdout)["statistics"]
        if refine == "none":
            assert statistics["normalized_cost"] == pytest.approx(cost, abs=6e-4)
            assert extra == pytest.approx(100 * (statistics["normalized_cost"] - 1), abs=0.06)
            assert (statistics["waes"], statistics["wad"]) == pytest.approx((conditions, questions), abs=6e-3)
        else:  # the trees of a path help each other: together they are as good as each alone, or better
            alone = statistics["normalized_cost"] + tradeoff * statistics["waes"]
            assert min(line[1] + tradeoff * line[3] for line in lines) <= alone + 6e-4 + 6e-3 * tradeoff


@pytest.mark.slow
def test_goals_choose_on_the_path():
    lines = path_lines()
    cheap, short = lines[2], lines[-2]
    call("run", "t.csv", "-k", 9, "--max-conditions", cheap[3] + 0.01)
    statistics = RuleSet.from_json("t_rules/rules.json").statistics
    assert statistics.waes <= cheap[3] + 0.01
    assert statistics.normalized_cost <= cheap[1] + 6e-4
    statistics = json.loads(call("fit", "t.csv", "-k", 9, "--max-cost", short[1] + 0.001).stdout)["statistics"]
    assert statistics["normalized_cost"] <= short[1] + 0.001
    assert statistics["waes"] <= short[3] + 6e-3
    result = call("fit", "t.csv", "-k", 9, "--max-cost", cheap[1] + 0.001, "--max-conditions", short[3] - 0.1)
    assert result.exit_code == 0
    [warning] = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert f" {cheap[1] + 0.001:g} " in warning
    assert f" {short[3] - 0.1:g} conditions" in warning


@pytest.mark.slow
def test_goals_and_leaves_that_are_refused(words):
    crowded()
    said = []
    for arguments, status, found in (
        (["--max-cost", "0.9"], 3, ["0.9", "1."]),
        (["--max-conditions", "0.2"], 3, ["0.2 conditions"]),
        (["--max-cost", "1.1", "--tradeoff", "0.1"], 2, ["--max-cost", "--tradeoff"]),
        (["--max-cost", "1.1", "--method", "exgreedy"], 2, ["--method exgreedy"]),
        (["--budget", "9"], 2, ["--budget", "--refine thorough", "--refine full"]),
        (["--refine", "thorough", "--budget", "soon"], 2, ["--budget", "'soon'"]),
        (["--max-leaves", "8"], 2, ["--max-leaves 8", "9 clusters"]),
        (["--method", "imm", "--max-leaves", "9"], 2, ["--max-leaves", "--method exkmc", "--method exshallow"]),
        (["--base", "imm"], 2, ["--base", "--method exkmc"]),
        (["--method", "exkmc", "--max-leaves", "4"], 2, ["--max-leaves 4", "9 clusters"]),
    ):
        message = refused("run", "t.csv", "-k", 9, *arguments, status=status)
        assert all(part in message for part in found), message
        said.append((" ".join(arguments), re.sub(r"\d\.\d\d+", "…", message)))  # figures of k-means
    words(said)


@pytest.mark.parametrize(("option", "value"), [("--max-cost", "0"), ("--max-conditions", "nan")])
def test_goals_out_of_range_are_refused(option, value):
    message = refused("run", crowded(), "-k", 9, option, value, status=2)
    assert f"'{option}'" in message
    assert "0<x<inf" in message


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen",
    few(
        [
            ["--labels", "segment", "--weight", "w"],
            ["--labels", "segment", "--weight", "w", "--explain", "kind,amount"],
            ["-k", "4", "--columns", "months,amount", "--explain", "kind,amount", "--weight", "w"],
            ["-k", "4", "--columns", "months,kind", "--scale", "standard"],
        ]
    ),
    ids=["labels", "labels by some", "some by others", "some"],
)
def test_path_and_goals_of_any_clustering(chosen):
    result = call("path", mixed(), *chosen)
    assert result.exit_code == 0
    found = [line.replace("%", "").split() for line in result.stdout.splitlines()]
    lines = [[*map(float, line[:-1]), line[-1]] for line in found if line and re.fullmatch(r"[\d.]+", line[0])]
    for tradeoff, cost, _, conditions, *_, refine in (lines[0], lines[-1]):
        alone = json.loads(call("fit", "t.csv", *chosen, "--tradeoff", tradeoff, "--refine", refine).stdout)
        statistics = alone["statistics"]
        assert (statistics["normalized_cost"], statistics["waes"]) == pytest.approx((cost, conditions), abs=6e-3)
        goal = json.loads(call("fit", "t.csv", *chosen, "--max-cost", cost + 0.001).stdout)
        assert goal.pop("settings") != alone.pop("settings")
        assert goal == alone
        assert statistics["labelled"] == ("--labels" in chosen)
        assert (statistics["left_out"] > 0) == ("--labels" in chosen)
    assert call("run", "t.csv", *chosen, "--max-conditions", lines[-1][3] + 0.01).exit_code == 0
    rules = RuleSet.from_json("t_rules/rules.json")
    tested = {rules.columns[j].name for j in rules.tested_columns}
    if "--explain" in chosen:
        assert tested <= {"kind", "amount"}
    assert call("verify", "t_rules/rules.json", "t.csv").exit_code == 0
    assert call("label", "t_rules/rules.json", "t.csv", "-o", "out.parquet").exit_code == 0
    named = any(cluster.is_named for cluster in rules.clusters)
    names = {cluster.index: cluster.name if named else str(cluster.index) for cluster in rules.clusters}
    given = [names[i] for i in rules.assign(read_table("t.csv")).tolist()]
    assert [str(name) for name in pq.read_table("out.parquet")["cluster"].to_pylist()] == given

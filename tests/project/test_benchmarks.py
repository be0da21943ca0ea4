"""The benchmarks run. People judge the measurements of the benchmarks: no test asserts a time."""

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarkpages import SCRIPTS

from shallowrules import Tree

SPEED = SCRIPTS / "speed.py"
VERSIONS = SCRIPTS / "versions.py"
SCALE = SCRIPTS / "scale.py"


def run_speed(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(SPEED), "--quick", *arguments],
        env={**os.environ, "SHALLOWRULES_DATA": str(data)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.measures
def test_speed_prints_every_ratio_and_judges_none_of_a_quick_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "letter.npz", X=np.random.default_rng(0).integers(0, 16, (2000, 16)).astype(float), k=26)
    done = run_speed("--cases", "100000x20-k20", "letter", "poker", "--memory", data=tmp_path)
    assert done.returncode == 0, done.stderr
    for ratio in ("growth ÷ KMeans fit", "growth ÷ Lloyd iteration", "CART ÷ growth", "growth ÷ growth", "peak memory"):
        assert ratio in done.stdout
    assert "1,000 x 16, k=26, letter" in done.stdout
    assert "poker: skipped" in done.stdout
    assert done.stdout.count("trees for 1, 2, 7 threads: identical") == 2
    for verdict in ("missed", " ok", "≤", "≥"):
        assert verdict not in done.stdout
    assert "100000x20-k20: seed 1 of 1" in done.stderr


@pytest.mark.measures
def test_speed_draws_slopes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "slopes.png"
    done = run_speed("--cases", "none", "--slopes", "-o", str(picture), data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "slope in rows" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "iris"], "'iris'"),
        (["--seeds", "0"], "--seeds must"),
        (["-o", "slopes.png"], "--slopes"),
        (["--slopes", "-o", os.path.join(os.devnull, "slopes.png")], "slopes.png: "),
    ],
)
def test_speed_refuses_before_it_measures(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(SPEED))["main"](arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert message in said.err
    assert not said.out


@pytest.mark.slow
def test_functions_prints_every_ratio_and_judges_none_of_a_quick_run() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPTS / "functions.py"), "--quick"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert [line[0] for line in lines] == ["3", "10", "50"]
    assert all(float(figure) > 0 for line in lines for figure in line[2:])


@pytest.mark.measures
def test_fit_prints_every_ratio_and_judges_none_of_a_quick_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "letter.npz", X=np.random.default_rng(0).integers(0, 16, (2000, 16)).astype(float), k=26)
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "fit.py"), "--quick"],
        env={**os.environ, "SHALLOWRULES_DATA": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ratios = ("greedy fit ÷ KMeans, 1 threads", "refined fit ÷ KMeans, 2 threads", "CART ÷ greedy fit")
    runs = ("run ÷ script", "run --scale none ÷ script")
    for ratio in (*ratios, *runs, "own: letter, 300 x 16, k=26", "own: avila: skipped", "own: digits"):
        assert ratio in done.stdout
    assert "≤" not in done.stdout


@pytest.mark.measures
def test_fit_puts_pieces_together(tmp_path: Path) -> None:
    kept = tmp_path / "ratios.jsonl"
    for seed, seeds in ((3, "1 seed"), (4, "2 seeds"), (4, "2 seeds")):
        command = ["--quick", "--parts", "own", "--cases", "digits", "--seed", str(seed), "--keep", str(kept)]
        done = subprocess.run(
            [sys.executable, str(SCRIPTS / "fit.py"), *command],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert f"own: digits, 300 x 64, k=10; {seeds}\n" in done.stdout
    ratios = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [ratio["seed"] for ratio in ratios] == [3, 4, 4]
    assert "own: letter" not in done.stdout


@pytest.mark.measures
def test_versions_compares_and_times_two_environments() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(VERSIONS), sys.executable, "--tables", "iris", "--threads", "1", "--quick"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "iris: 10 fits, all equal" in done.stdout
    assert re.search("^every .* equal$", done.stdout, re.MULTILINE)
    ratio = r"(\d+\.\d{3}) \((\d+\.\d{3}) to (\d+\.\d{3})\)"
    lines = re.findall(
        rf"^iris +(.+?)  +processor {ratio}   clock {ratio}(?:   clock, 2 threads {ratio})?$", done.stdout, re.M
    )
    both = ["grow", "grow, refine", "predict", "assign", "imm", "exkmc"]
    assert [line[0] for line in lines if line[7]] == both
    assert [line[0] for line in lines if not line[7]] == ["assign columns", "assign text", "label"]
    # One round: its own ratio is that of the least times.
    assert all(line[i] == line[i + 1] == line[i + 2] for line in lines for i in (1, 4, 7))


@pytest.mark.measures
def test_versions_compares_the_least_times_of_rounds_that_begin_in_turn() -> None:
    ratios = runpy.run_path(str(VERSIONS))["ratios"]
    asked = []

    class Answers:
        def __init__(self, name: str, times: list[tuple[float, float]]) -> None:
            self.name, self.times = name, iter(times)

        def ask(self, *question: Any) -> tuple[float, float]:
            asked.append(self.name)
            return next(self.times)

    new = Answers("new", [(3.0, 30.0), (2.0, 90.0), (4.0, 20.0)])
    other = Answers("other", [(2.0, 10.0), (4.0, 30.0), (4.0, 10.0)])
    processor, clock = ratios(new, other, "iris", "grow", 1, 3)
    assert asked == ["other", "new", "new", "other", "other", "new"]
    assert processor == (1.0, 0.75, 1.25)  # rounds of 1.5, 0.5 and 1
    assert clock == (2.0, 2.5, 3.0)  # rounds of 3, 3 and 2


class Fits:
    """A version whose fits differ in one kind if a question contains `odd`, and whose steps take no time."""

    def __init__(self, odd: str, kind: str = "labels") -> None:
        self.odd, self.kind, self.timed = odd, kind, 0

    def ask(self, name: str, *question: Any) -> Any:
        if name == "time":
            self.timed += 1
            return 1.0, 1.0
        return {"tree": "a", "labels": "b", "sql ansi": "c"} | ({self.kind: "d"} if self.odd in question else {})

    def close(self) -> None:
        pass


def test_versions_names_what_differs() -> None:
    differences = runpy.run_path(str(VERSIONS))["differences"]
    assert differences(Fits("none"), Fits("none"), "iris", 150, 4, [1]) == {}
    assert differences(Fits("imm"), Fits("none"), "iris", 150, 4, [1, 2]) == {
        "labels": ["iris imm 1", "iris imm 2", "iris none"]
    }


@pytest.mark.measures
@pytest.mark.parametrize(("kind", "timed"), [("sql ansi", True), ("labels", False), ("tree", False)])
def test_versions_times_trees_of_other_texts_and_no_other_trees(
    kind: str, timed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = importlib.import_module("versions")
    workers = [Fits("imm", kind), Fits("nothing")]
    monkeypatch.setattr(versions, "Version", lambda python, folder: workers.pop())
    both = list(workers)
    assert versions.main(["other", "--tables", "iris", "--threads", "1", "--quick"]) == 1
    said = capsys.readouterr().out
    assert f"DIFFERENT: {kind} in 1 fits, such as iris imm 1" in said
    assert [worker.timed > 0 for worker in both] == [timed, timed]
    assert ("clock, 2 threads 1.000" in said) == timed


@pytest.mark.measures
def test_reading_prints_every_ratio() -> None:
    script = SCRIPTS / "reading.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--quick", "--rounds", "1"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[1:]] == [
        "floats",
        "whole numbers",
        "floats, whole numbers, text",
    ]
    assert "≤" not in done.stdout


@pytest.mark.measures
def test_characters_are_those_of_a_person() -> None:
    script = SCRIPTS / "characters.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--quick"], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [re.split("  +", line) for line in done.stdout.splitlines()[2:]]
    assert {row[0] for row in rows} == {"wine"}
    assert {row[1]: row[6] for row in rows}["duckdb"] == "1.00"
    assert "missed" not in done.stdout


@pytest.mark.measures
def test_database_prints_every_ratio() -> None:
    pytest.importorskip("sqlalchemy")
    script = SCRIPTS / "database.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--quick", "--rounds", "1", "--engines", "sqlite"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [re.split("  +", line)[:2] for line in done.stdout.splitlines()[2:]] == [
        ["sqlite", "table: command by engine alone"],
        ["sqlite", "table: its statements by engine alone"],
        ["sqlite", "update: rules alone by first command"],
        ["sqlite", "update: second command by first"],
        ["sqlite", "update: its statements, second by first"],
        ["sqlite", "case: for types by a person's"],
        ["sqlite", "ordered: for types by a person's"],
        ["sqlite", "read: driver by plain cursor"],
    ]
    assert "≤" not in done.stdout


@pytest.mark.measures
def test_label_prints_every_pair_of_kinds_and_judges_none_of_a_quick_run() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "label.py"), "--quick", "--kinds", "csv", "sqlite"],
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    pairs = list(product(("csv", "sqlite"), ("csv", "parquet")))
    assert re.findall(r"(\w+) +to (\w+) +[0-9]", done.stdout) == pairs
    assert "≤" not in done.stdout


@pytest.mark.slow
def test_command_prints_every_part_and_judges_none_of_a_quick_run() -> None:
    command = [sys.executable, "-W", "error", str(SCRIPTS / "command.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    parts = dict(re.findall(r"^  ([a-z- ]+?) +([0-9.]+)$", done.stdout, re.MULTILINE))
    fitting = ["k-means", "distinct rows", "growing", "refining"]
    named = ["reading", "checking", "encoding", *fitting, "finishing", "exporting"]
    assert list(parts) == ["until reading", *named, "the rest"]
    assert all(float(parts[part]) for part in ("until reading", "reading", "k-means", "exporting"))
    assert done.stdout.count("÷ read_csv") == 2
    assert "≤" not in done.stdout


@pytest.mark.measures
def test_work_counts_what_the_definitions_say() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "work.py"), "--quick"], capture_output=True, encoding="utf-8", check=True
    )
    assert "visits, millions (2,000 x 10)" in done.stdout
    counted = re.findall(r"(?:rows|distances) .* ([0-9.,]+) +([0-9.,]+) +([0-9.]+)$", done.stdout, re.MULTILINE)
    assert [float(ratio) >= 1.0 for _, _, ratio in counted] == [True] * 6
    visits = runpy.run_path(str(SCRIPTS / "work.py"))["visits"]
    feature, left, right = [0, 1, -1, -1, -1], [1, 2, -1, -1, -1], [4, 3, -1, -1, -1]
    rows = np.array([10, 6, 4, 2, 4])
    tree = Tree(
        np.array(feature, dtype=np.int32),
        np.zeros(5),
        *(np.array(values, dtype=np.int32) for values in (left, right, [-1, -1, 0, 1, 2])),
        rows,
        rows.astype(float),
    )
    assert list(visits(tree, 3).values()) == [30, 48, 42, 126]


@pytest.mark.measures
@pytest.mark.parametrize(("n_rows", "n_columns", "k"), [(60, 3, 7), (40, 2, 2), (50, 4, 15)])
def test_work_counts_the_steps_and_centers_that_every_cut_needs(n_rows: int, n_columns: int, k: int) -> None:
    random = np.random.default_rng(k)
    X, centers = random.normal(size=(n_rows, n_columns)) * 1.5, random.normal(size=(k, n_columns))
    n_steps = n_centers = 0
    for row in X:
        distance = ((centers - row) ** 2).sum(axis=1)
        cheapest = {int(distance.argmin())}
        for value, column in zip(row, centers.T, strict=True):
            ends = np.unique(np.append(column, np.clip(value, column.min(), column.max())))
            found = [
                int(np.where((column <= cut) == (value <= cut), distance, np.inf).argmin())
                for cut in (ends[1:] + ends[:-1]) / 2
            ]
            n_steps += sum(one != other for one, other in pairwise(found))
            cheapest |= set(found)
        n_centers += len(cheapest)
    needed_of = runpy.run_path(str(SCRIPTS / "work.py"))["needed_of"]
    assert needed_of(X, centers) == (n_steps / n_rows, n_centers / n_rows)


@pytest.mark.measures
def test_scale_prints_ratios_and_peaks_and_judges_none_of_a_quick_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("dask.dataframe")
    picture, scratch = tmp_path / "scale.png", tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            str(SCALE),
            "--quick",
            "--largest",  # the second size, of which slopes are made
            "--rows",
            "1000",
            "-o",
            str(picture),
            "--folder",
            str(scratch),
        ],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for ratio in ("collected ÷ memory", "parts ÷ memory", "dask ÷ collected", "peak memory", "slope in rows, parts"):
        assert ratio in done.stdout
    assert "1,000 rows x 10, k=20: trees identical" in done.stdout
    assert "4,000 rows x 10:" in done.stdout
    for verdict in ("missed", " ok", "≤"):
        assert verdict not in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not list(scratch.iterdir())

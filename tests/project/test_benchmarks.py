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
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from shallowrules import ExplainableKMeans, Tree

PAPER = Path(__file__).resolve().parents[2] / "benchmarks" / "paper.py"
QUALITY = PAPER.with_name("quality.py")
SPEED = PAPER.with_name("speed.py")
VERSIONS = PAPER.with_name("versions.py")
SCALE = PAPER.with_name("scale.py")


def run_speed(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(SPEED), "--quick", *arguments],
        env={**os.environ, "SHALLOWRULES_DATA": str(data)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def stale_page(page: Path, script: str) -> Path:
    """Return a page with a script's table that should be renewed."""
    begin, end = (f"<!-- measured by benchmarks/{script}: {word} -->" for word in ("begin", "end"))
    page.write_text(f"before\n{begin}\na stale table\n{end}\n")
    return page


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
        [sys.executable, "-W", "error", str(SPEED.with_name("functions.py")), "--quick"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert [line[0] for line in lines] == ["3", "10", "50"]
    assert all(float(figure) > 0 for line in lines for figure in line[2:])


@pytest.mark.measures
def test_fit_prints_every_ratio_and_judges_none_of_a_quick_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "letter.npz", X=np.random.default_rng(0).integers(0, 16, (2000, 16)).astype(float), k=26)
    done = subprocess.run(
        [sys.executable, str(SPEED.with_name("fit.py")), "--quick"],
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
            [sys.executable, str(SPEED.with_name("fit.py")), *command],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert f"own: digits, 300 x 64, k=10; {seeds}\n" in done.stdout
    ratios = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [ratio["seed"] for ratio in ratios] == [3, 4, 4]
    assert "own: letter" not in done.stdout


def run_paper(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(PAPER), "--data", str(data), *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page that each of the two scripts can write into."""
    page = tmp_path / "page.md"
    page.write_text("".join(f"before\n<!-- measured by benchmarks/{script.name}: begin -->\nold\n"
                            f"<!-- measured by benchmarks/{script.name}: end -->\nafter\n"
                            for script in (PAPER, QUALITY)))  # fmt: skip
    return page


@pytest.mark.measures
def test_paper_measures_beside_the_published_figures_and_draws(
    tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    measuring, paper = importlib.import_module("measuring"), importlib.import_module("paper")
    monkeypatch.setattr(measuring, "free_share", lambda: 1.0)
    arguments = ["--tables", "iris", "--seeds", "2", "--methods", "exshallow,exgreedy", "--data", str(tmp_path)]
    assert paper.main([*arguments, "--figures", str(tmp_path / "drawn"), "--markdown", str(page)]) == 0
    done = capsys.readouterr()
    assert "iris: seed 2 of 2" in done.err
    for method in ("ExShallow", "ExGreedy"):
        assert re.search(rf"iris +{method} +1\.04 .*\(1\.04, \+0\.00\) +1\.44 \(1\.67, -0\.23\).* within", done.out)
    assert re.search(r"iris +CART +1\.04 ", done.out)
    assert "Table 4" in done.out
    text, quality = page.read_text().split("before\n")[1:]
    assert text.endswith("-->\nafter\n")
    assert "| iris | ExShallow |" in text
    assert "old" not in text
    assert "old" in quality
    for name in ("waes", "cost"):
        assert (tmp_path / "drawn" / f"{name}_over_tradeoff.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.measures
@pytest.mark.parametrize("script", ["paper", "quality"])
def test_no_page_is_written_on_a_busy_machine(
    script: str, tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    measuring, main = importlib.import_module("measuring"), importlib.import_module(script).main
    drawn = ["-o", str(tmp_path / "drawn.png")] if script == "quality" else ["--figures", str(tmp_path)]
    arguments = ["--tables", "iris", "--seeds", "1", *drawn, "--markdown", str(page)]
    before = page.read_text()
    monkeypatch.setattr(measuring, "free_share", lambda: 0.5)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "busy: a probe got 50%" in capsys.readouterr().err
    shares = iter([0.5, 1.0, *[0.5] * measuring.MAX_PROBES])  # busy for a moment, and for longer later on
    monkeypatch.setattr(measuring, "free_share", lambda: next(shares, 1.0))
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert "machine is busy" in said.out
    assert re.search(rf"{re.escape(str(page))} .*machine is busy", said.err)
    assert page.read_text() == before


@pytest.mark.slow
def test_a_probe_gets_a_share_of_the_cores() -> None:
    measuring = importlib.import_module("measuring")
    assert 0.0 < measuring.free_share() < 1.2


@pytest.mark.measures
def test_paper_says_what_is_off(tmp_path: Path) -> None:
    # Under the name of a table of the paper, one that has not its structure.
    np.savez(tmp_path / "vowel.npz", X=np.random.default_rng(0).normal(size=(300, 2)), k=11)
    done = run_paper("--seeds", "1", "--tables", "vowel", "--methods", "exshallow",
                     "--figures", str(tmp_path), data=tmp_path)  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert re.search(r"vowel +ExShallow .* off", done.stdout)
    assert re.search(r"vowel, exshallow: cost is 1\.\d+, .* 0\.03 .* 1\.21", done.stdout)


@pytest.mark.measures
def test_paper_searches_for_a_tree_as_good_as_that_of_exkmc(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run_paper("--tables", "iris", "--seeds", "1", "--figures", str(tmp_path), data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"iris +1\.04 .* 1\.44 .* measured: yes, paper: no", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tables", "moons"], "unknown tables: moons; use one of: 20newsgroups, anuran"),
        (["--tables", "letter"], "letter.npz, though table letter"),
        (["--methods", "cart"], "unknown methods: cart; use one of: exshallow"),
        (["--seeds", "0"], "--seeds must"),
        (["--markdown", "nowhere.md"], "--markdown nowhere.md: "),
        (["--markdown", str(PAPER.parent.parent / "README.md")], "lacks the lines"),
    ],
)
def test_paper_refuses_before_it_measures(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(PAPER))["main"](["--data", str(tmp_path), *arguments])
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert message in said.err
    assert not said.out


def run_quality(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(QUALITY), *arguments], capture_output=True, encoding="utf-8", check=False
    )


@pytest.mark.measures
def test_quality_prints_every_sheet_and_judges_no_time_of_a_quick_run(tmp_path: Path, page: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "drawn" / "quality.png"
    done = run_quality("--quick", "-o", str(picture), "--markdown", str(page))
    assert done.returncode == 0, done.stderr
    curve = ElementTree.parse(page.with_name("refinement-curve.svg"))
    names = [text.text for text in curve.iter("{http://www.w3.org/2000/svg}text")]
    assert {"iris", "wine", "all"} < set(names)
    assert "### J lower by, %, after" in page.read_text()
    assert "wine: seed 1 of 1" in done.stderr
    assert re.search(r"J is no higher, .* +4 of 4 +all +ok", done.stdout)
    assert done.stdout.count("not judged") == 13
    assert "missed" not in done.stdout
    for method in ("ExShallow, greedy", "ExShallow, refined", "ExShallow, thorough", "ExGreedy", "IMM", "ExKMC"):
        assert re.search(rf"iris +{method} +1\.037 +1\.44 +1\.67 +0\.91 +1\.080 ", done.stdout)
    assert re.search(r"wine +CART, Gini +1\.\d+ ", done.stdout)
    assert re.search(r"^1000000x10-k50 +2 +[\d.]+ +[\d.]+ +–$", done.stdout, re.MULTILINE)
    assert picture.read_bytes().startswith(b"\x89PNG")
    paper, text = page.read_text().split("before\n")[1:]
    assert "old" in paper
    assert text.endswith("-->\nafter\n")
    assert "Measured by `benchmarks/quality.py --seeds 1 --quick`" in text
    assert "| wine | ExShallow, refined |" in text
    assert "old" not in text


@pytest.mark.measures
def test_rounding_prints_its_sheet_and_renews_its_page(tmp_path: Path) -> None:
    page = stale_page(tmp_path / "rounding.md", "rounding.py")
    command = [sys.executable, str(PAPER.with_name("rounding.py")), "--quick", "--markdown", str(page)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^wine +3 +0\.20% +[12]\.\d\d +0\.[01]\d\d% +\d\.\d\d%$", done.stdout, re.MULTILINE)
    assert "| breast_cancer | 10 | 0.00% |" in page.read_text()
    assert "a stale table" not in page.read_text()


@pytest.mark.measures
def test_refits_prints_its_sheets_and_renews_its_page(tmp_path: Path) -> None:
    page = stale_page(tmp_path / "editing.md", "refits.py")
    command = [sys.executable, str(PAPER.with_name("refits.py")), "--quick", "--markdown", str(page)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^wine +refit +\d+\.\d% +\d+\.\d% +\d+% +0 ", done.stdout, re.MULTILINE)
    assert "| 2.0% |" in page.read_text()
    assert "a stale table" not in page.read_text()


@pytest.mark.measures
def test_mixed_prints_its_pairs_and_renews_its_page(tmp_path: Path) -> None:
    page = stale_page(tmp_path / "mixed.md", "mixed.py")
    rows = [f"{i};{1 + i % 2};{1 + i % 3};{i * i % 97};{i % 3 * 50 + i * 7 % 11}" for i in range(150)]
    (tmp_path / "wholesale_customers.csv").write_text("\n".join(["Customer ID;Channel;Region;Fresh;Milk", *rows]))
    command = [sys.executable, str(PAPER.with_name("mixed.py")), "--quick", "--tables", "wholesale"]
    done = subprocess.run(
        [*command, "--data", str(tmp_path), "--markdown", str(page)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert "wholesale: 150 rows, 2 numbers, 2 categories" in done.stderr
    assert len(re.findall(r"^(?:none|minmax|standard|robust|ranks) ", done.stdout, re.MULTILINE)) == 22
    assert "| wholesale | standard | pooled |" in page.read_text()
    assert "a stale table" not in page.read_text()


@pytest.mark.measures
def test_quality_measures_the_trees_that_the_estimator_grows() -> None:
    measuring, quality = importlib.import_module("measuring"), importlib.import_module("quality")
    for table in ("wine", "diabetes"):
        X, k = measuring.load(table, QUALITY.parent)
        found = quality.Measured(table)
        quality.measure_quality(found, X, measuring.into_space(table, X), k, seed=1)
        for method, refinement in (("greedy", "none"), ("refined", "full"), ("thorough", "thorough")):
            model = ExplainableKMeans(
                k, refine=refinement, round_within=0, scale=measuring.SCALES[table], random_state=1
            ).fit(X)
            figures = model.normalized_cost_, model.waes_, model.wad_
            assert [found.runs[method][name][0] for name in ("cost", "waes", "wad")] == pytest.approx(figures)
        assert found.runs["refined"]["J"] < found.runs["greedy"]["J"]


def test_quality_judges_what_was_found() -> None:
    quality = importlib.import_module("quality")
    results = [quality.Measured(table, times={"growths": [20.0], "whole": [2.0]}) for table in quality.TABLES]
    for i, found in enumerate(results):
        found.add("greedy", cost=1.2, waes=4.0, J=1.32)
        found.add("greedy", cost=1.2, waes=4.0, J=1.32)
        found.add("refined", cost=1.1, waes=4.0 if i < 4 else 3.9, J=1.22)
        found.add("refined", cost=1.2, waes=4.2 if i == 8 else 4.0, J=1.323 if i == 8 else 1.32)
        for _ in range(2):
            found.add("thorough", cost=1.1, waes=4.0, J=1.2)
            for method in (*quality.OTHERS, *quality.PEERS):
                found.add(method, J=1.321 if (i, method) == (8, "data") else 1.4)
        theirs = {f"ExKMC, 2 k, base {base}": [1.2 if i else 1.1] for base in ("none", "imm")}
        found.more.found = {"k": [1.25], "k + 1": [1.2], "k + 2": [1.24], "2 k": [1.15]} | theirs
        found.more.points, found.more.peers = int(i == 8), 24
    many = {30: {"refined": 1.2, "data": 1.3}, 60: {"refined": 1.3, "data": 1.29}}
    sheet, holds = quality.verdicts(results, None, many, quick=False)
    assert not holds
    assert [row[1:] for row in sheet.rows] == [
        ["35 of 36", "all", "missed"],
        ["1 of 144", "≤ 0", "missed"],
        ["8 of 9", "≥ 7", "ok"],
        ["4 of 9", "≥ 7", "missed"],
        ["1 of 9", "≤ 0", "missed"],
        ["3.78", "≥ 2.1", "ok"],
        ["9.09", "≥ 2.4", "ok"],
        ["20", "≤ 15", "missed"],
        ["4.00", "≥ 0.8", "ok"],
        ["0.80", "≥ 1.3", "missed"],
        ["8.00", "≥ 2.5", "ok"],
        ["1 of 9", "≤ 0", "missed"],
        ["1 of 216", "≤ 0", "missed"],
        ["1", "≤ 0", "missed"],
        ["2", "≤ 3", "ok"],
        ["2", "≤ 3", "ok"],
    ]
    counted = [row[5:] for row in quality.comparison(results).rows]
    assert counted[0] == ["0", "1", "1", "0", "0"]
    assert counted[8:] == [["1", "0", "0", "0", "1"], ["5", "4", "8", "0", "1"]]


@pytest.mark.measures
def test_quality_fails_where_refinement_does_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    quality = importlib.import_module("quality")

    def harm(partition: Any, tree: Any, unique: Any) -> Any:
        return SimpleNamespace(tree=partition.grow("exkmc"))  # on wine its J is higher

    monkeypatch.setattr(quality.Partition, "refine", harm)
    arguments = ["--quick", "-o", str(tmp_path / "quality.png"), "--tables"]
    assert quality.main([*arguments, "iris"]) == 0
    assert quality.main([*arguments, "wine"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tables", "vowel"], "unknown tables: vowel; use one of: iris"),
        (["--tables", "letter"], "letter.npz, though table letter"),
        (["--seeds", "0"], "--seeds must"),
        (["--markdown", str(QUALITY.parent.parent / "README.md")], "lacks the lines"),
        (["-o", os.path.join(os.devnull, "quality.png")], "quality.png: "),
    ],
)
def test_quality_refuses_before_it_measures(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(QUALITY))["main"](["--data", str(tmp_path), *arguments])
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert message in said.err
    assert not said.out


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
    script = PAPER.with_name("reading.py")
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
    script = PAPER.with_name("characters.py")
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
    script = PAPER.with_name("database.py")
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
        ["sqlite", "read: driver by plain cursor"],
    ]
    assert "≤" not in done.stdout


@pytest.mark.measures
def test_label_prints_every_pair_of_kinds_and_judges_none_of_a_quick_run() -> None:
    done = subprocess.run(
        [sys.executable, str(SPEED.with_name("label.py")), "--quick", "--kinds", "csv", "sqlite"],
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    pairs = list(product(("csv", "sqlite"), ("csv", "parquet")))
    assert re.findall(r"(\w+) +to (\w+) +[0-9]", done.stdout) == pairs
    assert "≤" not in done.stdout


@pytest.mark.slow
def test_command_prints_every_part_and_judges_none_of_a_quick_run() -> None:
    command = [sys.executable, "-W", "error", str(SPEED.with_name("command.py")), "--quick"]
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
        [sys.executable, str(SPEED.with_name("work.py")), "--quick"], capture_output=True, encoding="utf-8", check=True
    )
    assert "visits, millions (2,000 x 10)" in done.stdout
    counted = re.findall(r"(?:rows|distances) .* ([0-9.,]+) +([0-9.,]+) +([0-9.]+)$", done.stdout, re.MULTILINE)
    assert [float(ratio) >= 1.0 for _, _, ratio in counted] == [True] * 6
    visits = runpy.run_path(str(SPEED.with_name("work.py")))["visits"]
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
    needed_of = runpy.run_path(str(SPEED.with_name("work.py")))["needed_of"]
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

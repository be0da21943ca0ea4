"""The benchmark of the quality of trees, and those of rounding, refits and mixed tables, on small tables."""

import importlib
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from benchmarkpages import SCRIPTS, page_of_both, renewed

from shallowrules import ExplainableKMeans

QUALITY = SCRIPTS / "quality.py"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return page_of_both(tmp_path)


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
    page = tmp_path / "rounding.md"
    done = renewed(page, "rounding.py")
    assert re.search(r"^wine +3 +0\.20% +[12]\.\d\d +0\.[01]\d\d% +\d\.\d\d%$", done.stdout, re.MULTILINE)
    assert "| breast_cancer | 10 | 0.00% |" in page.read_text()


@pytest.mark.measures
def test_refits_prints_its_sheets_and_renews_its_page(tmp_path: Path) -> None:
    page = tmp_path / "editing.md"
    done = renewed(page, "refits.py")
    assert re.search(r"^wine +refit +\d+\.\d% +\d+\.\d% +\d+% +0 ", done.stdout, re.MULTILINE)
    assert "| 2.0% |" in page.read_text()


@pytest.mark.measures
def test_mixed_prints_its_pairs_and_renews_its_page(tmp_path: Path) -> None:
    page = tmp_path / "mixed.md"
    rows = [f"{i};{1 + i % 2};{1 + i % 3};{i * i % 97};{i % 3 * 50 + i * 7 % 11}" for i in range(150)]
    (tmp_path / "wholesale_customers.csv").write_text("\n".join(["Customer ID;Channel;Region;Fresh;Milk", *rows]))
    done = renewed(page, "mixed.py", "--tables", "wholesale", "--data", str(tmp_path))
    assert "wholesale: 150 rows, 2 numbers, 2 categories" in done.stderr
    assert len(re.findall(r"^(?:none|minmax|standard|robust|ranks) ", done.stdout, re.MULTILINE)) == 22
    assert "| wholesale | standard | pooled |" in page.read_text()


@pytest.mark.measures
def test_quality_measures_the_trees_that_the_estimator_grows() -> None:
    measuring, runs = importlib.import_module("measuring"), importlib.import_module("quality_runs")
    for table in ("wine", "diabetes"):
        X, k = measuring.load(table, QUALITY.parent)
        found = runs.Measured(table)
        runs.measure_quality(found, X, measuring.into_space(table, X), k, seed=1)
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

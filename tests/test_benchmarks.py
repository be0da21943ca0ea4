"""The benchmarks run. What they measure is judged by people: no test asserts a time."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAPER = Path(__file__).resolve().parent.parent / "benchmarks" / "paper.py"
SPEED = Path(__file__).resolve().parent.parent / "benchmarks" / "speed.py"


def run_speed(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(SPEED), "--quick", *arguments],
        env={**os.environ, "SHALLOWRULES_DATA": str(data)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


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
        (["--seeds", "0"], "--seeds must be at least 1"),
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


def run_paper(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(PAPER), "--data", str(data), *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_paper_measures_beside_the_published_figures_and_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    page.write_text("# Before\n<!-- measured by benchmarks/paper.py: begin -->\nold\n"
                    "<!-- measured by benchmarks/paper.py: end -->\nafter\n")  # fmt: skip
    arguments = ("--tables", "iris", "--seeds", "2", "--methods", "exshallow,exgreedy")
    done = run_paper(*arguments, "--figures", str(tmp_path / "drawn"), "--markdown", str(page), data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "iris: seed 2 of 2" in done.stderr
    for method in ("ExShallow", "ExGreedy"):
        assert re.search(rf"iris +{method} +1\.04 .*\(1\.04, \+0\.00\) +1\.44 \(1\.67, -0\.23\).* within", done.stdout)
    assert re.search(r"iris +CART +1\.04 ", done.stdout)
    assert "Table 4" in done.stdout
    text = page.read_text()
    assert text.startswith("# Before\n")
    assert text.endswith("-->\nafter\n")
    assert "| iris | ExShallow |" in text
    assert "old" not in text
    for name in ("waes", "cost"):
        assert (tmp_path / "drawn" / f"{name}_over_tradeoff.png").read_bytes().startswith(b"\x89PNG")


def test_paper_says_what_is_off(tmp_path: Path) -> None:
    # Under the name of a table of the paper, one that has not its structure.
    np.savez(tmp_path / "vowel.npz", X=np.random.default_rng(0).normal(size=(300, 2)), k=11)
    done = run_paper("--seeds", "1", "--tables", "vowel", "--methods", "exshallow",
                     "--figures", str(tmp_path), data=tmp_path)  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert re.search(r"vowel +ExShallow .* off", done.stdout)
    assert re.search(r"vowel, exshallow: cost is 1\.\d+, more than 0\.03 away from 1\.21", done.stdout)


def test_paper_searches_for_a_tree_as_good_as_that_of_exkmc(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run_paper("--tables", "iris", "--seeds", "1", "--figures", str(tmp_path), data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"iris +1\.04 .* 1\.44 .* measured: yes, paper: no", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tables", "moons"], "unknown tables: moons; known are: 20newsgroups, anuran"),
        (["--tables", "letter"], "letter.npz, though table letter was asked for"),
        (["--methods", "cart"], "unknown methods: cart; known are: exshallow"),
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--markdown", "nowhere.md"], "--markdown nowhere.md: "),
        (["--markdown", str(PAPER.parent.parent / "README.md")], "the page lacks the lines"),
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

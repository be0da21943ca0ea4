"""The benchmark beside the figures of the paper, on small tables."""

import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarkpages import SCRIPTS, page_of_both

PAPER = SCRIPTS / "paper.py"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return page_of_both(tmp_path)


def run_paper(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(PAPER), "--data", str(data), *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


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

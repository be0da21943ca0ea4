"""The benchmarks run. What they measure is judged by people: no test asserts a time."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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

"""Results in a folder: they are of a single run, whatever happens."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from shallowrules.cli.commands import shallowrules
from shallowrules.cli.output import ProgressLine, write_files

NAMES = ("rules.json", "rules.sql", "rules.py", "report.md")


def texts(run):
    return {name: f"{run} wrote {name}" for name in NAMES}


def runs_of(folder):
    """Return the runs that wrote the files of a folder."""
    return {path.read_text().split()[0] for path in Path(folder).iterdir() if path.name in NAMES}


def slowly(monkeypatch):
    replace = os.replace

    def replaced(*paths):
        time.sleep(random.uniform(0, 0.003))
        replace(*paths)

    monkeypatch.setattr(os, "replace", replaced)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_runs_into_one_folder_do_not_mix_their_files(tmp_path, monkeypatch):
    slowly(monkeypatch)
    for number in range(10):
        folder = tmp_path / str(number)
        runs = [threading.Thread(target=write_files, args=(folder, texts(f"run{i}"))) for i in range(4)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert len(runs_of(folder)) == 1
        assert sorted(os.listdir(folder)) == sorted(NAMES)


@draws(40, deadline=None)
@given(
    moment=st.integers(0, 16),
    held=st.sets(st.sampled_from(NAMES)),
    error=st.sampled_from([KeyboardInterrupt, OSError, MemoryError]),
)
def test_an_interrupted_run_leaves_the_folder_as_it_was(tmp_path_factory, moment, held, error):
    folder = tmp_path_factory.mktemp("interrupted") / "out"
    if held:
        folder.mkdir()
        for name in held:
            (folder / name).write_text("old file")
    before = {path.name: path.read_text() for path in folder.iterdir()} if held else None
    replace, calls = os.replace, iter(range(1000))

    def interrupted(*paths):
        if next(calls) == moment:
            raise error
        replace(*paths)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        try:
            write_files(folder, texts("new"))
        except error:
            after = {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else None
            assert after == before
        else:
            assert runs_of(folder) == {"new"}
            assert sorted(os.listdir(folder)) == sorted(NAMES)


KILLED = """
import os, sys
from pathlib import Path
from shallowrules.cli.output import write_files
replace, moment, calls = os.replace, int(sys.argv[2]), iter(range(1000))
def killed(*paths):
    if next(calls) == moment:
        os._exit(0)
    replace(*paths)
os.replace = killed
write_files(Path(sys.argv[1]), {name: f"new wrote {name}" for name in sys.argv[3:]})
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(13))
def test_a_killed_run_leaves_files_of_one_run_and_the_next_one_tidies_up(tmp_path, moment):
    write_files(tmp_path, texts("old"))
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(moment), *NAMES], check=True)
    assert runs_of(tmp_path) in ({"old"}, {"new"}, set())
    write_files(tmp_path, texts("next"))
    assert runs_of(tmp_path) == {"next"}
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)


def test_the_progress_line_says_the_best_objective_once_there_is_one():
    lines: list[str] = []
    line = ProgressLine("growing", lines.append)
    line(0.1)
    line.tell_best(1.25)
    line(0.5)
    line.tell_best(1.2345678)
    assert lines == [
        "growing: 10%",
        "growing: 10%, best J 1.2500",
        "growing: 50%, best J 1.2500",
        "growing: 50%, best J 1.2346",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "path"])
def test_a_thorough_search_tells_its_best_objective_to_the_progress_line(command, tmp_path, monkeypatch):
    told: list[float] = []
    monkeypatch.setattr(ProgressLine, "tell_best", lambda line, objective: told.append(objective))
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("a,b\n" + "".join(f"{i % 7},{i * i % 11}\n" for i in range(60)))
    options = ["table.csv", "-k", "5", "--refine", "thorough", "--budget", "5", "--seed", "0"]
    result = CliRunner().invoke(shallowrules, [command, *options])
    assert result.exit_code == 0, result.stderr
    assert told
    assert all(objective >= 1.0 for objective in told)

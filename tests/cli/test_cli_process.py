"""The small commands, and the command line as a process: streams, signals, terminals."""

from __future__ import annotations

import csv
import gc
import io
import os
import re
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
from commandline import COMMAND, SCALED, call, spawn, write_groups

from shallowrules.cli.modules import loading_modules


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The small commands --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape"), [("wine", (178, 13)), ("iris", (150, 4)), ("digits", (1797, 64)), ("breast_cancer", (569, 30))]
)
def test_samples(folder, name, shape):
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    result = call("sample", name)
    header, *rows = csv.reader(io.StringIO(result.stdout))
    assert header == list(bunch.feature_names)
    np.testing.assert_array_equal(np.array(rows, dtype=float), bunch.data)
    assert bunch.data.shape == shape
    call("sample", name, "-o", "s.csv")
    assert (folder / "s.csv").read_text() == result.stdout


def test_a_sample_can_be_run():
    call("sample", "wine", "-o", "wine.csv")
    assert call("run", "wine.csv", "-k", 3).exit_code == 0
    assert call("verify", "wine_rules/rules.json", "wine.csv").exit_code == 0


def test_exporters_are_listed():
    result = call("exporters")
    for name in ("sql", "python", "markdown"):
        assert re.search(rf"^ ?{name} +shallowrules [\d.]+ ", result.stdout, re.MULTILINE)


def test_version_and_help():
    assert re.fullmatch(r"shallowrules \d+\.\d+\.\d+\S*\n", call("--version").stdout)
    text = call("--help").stdout
    for command in ("run", "fit", "export", "verify", "exporters", "sample"):
        assert re.search(rf"^  {command} ", text, re.MULTILINE)
        assert call(command, "--help").exit_code == 0
    assert "shallowrules run wine.csv -k 3" in text


# As a process --------------------------------------------------------------------------------------


def test_streams_and_status_of_a_process(folder):
    write_groups()
    done = spawn("run", "t.csv", "-k", "3", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, f"note: {SCALED}\n")
    assert "k-means cost" in done.stdout
    assert "\x1b" not in done.stdout
    again = spawn("run", "t.csv", "-k", "3", stdin=subprocess.DEVNULL)
    assert (again.returncode, again.stdout) == (3, "")
    assert again.stderr.startswith("Error: t_rules/rules.json, t_rules/settings.json")
    wrong = spawn("run", "t.csv")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.slow
def test_a_poor_terminal_is_no_reason_to_fail(folder):
    (folder / "t.csv").write_text("größe,b\n" + "1,2\n4,5\n" * 5, encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = spawn("run", "t.csv", "-k", "2", env=environment)
    assert (done.returncode, done.stderr) == (0, f"note: {SCALED}\n")
    fitted = subprocess.run([*COMMAND, "fit", "t.csv", "-k", "2"], capture_output=True, env=environment, check=True)
    assert fitted.stdout == (folder / "t_rules" / "rules.json").read_bytes()
    assert "größe" in fitted.stdout.decode()


@pytest.mark.slow
def test_a_closed_pipe_is_no_error_to_speak_of():
    process = subprocess.Popen([*COMMAND, "sample", "digits"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(timeout=60)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing_behind(folder, name):
    os.mkfifo("t.csv")  # reading waits for a writer
    os.mkdir("scratch")
    process = subprocess.Popen(
        [*COMMAND, "run", "t.csv", "-k", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder / "scratch")},
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),  # the tests may be run under nohup
    )
    writer = os.open("t.csv", os.O_WRONLY)  # returns when the command has begun to read
    time.sleep(0.2)
    process.send_signal(getattr(signal, name))
    out, error = process.communicate(timeout=60)
    os.close(writer)
    assert process.returncode == (130 if name == "SIGINT" else 128 + getattr(signal, name))
    assert (out, error.strip()) == (b"", b"Aborted!")
    assert sorted(os.listdir(folder)) == ["scratch", "t.csv"]
    assert os.listdir("scratch") == []


INTERRUPTED = """
import signal
from shallowrules.sources.engine import open_database

signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    with open_database(".") as database:
        # DuckDB may look for an interrupt at the end of a query alone; this one takes a few seconds.
        database.execute("CREATE TABLE numbers AS SELECT range AS n FROM range(3000000)")
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        database.execute("SELECT count(*) FROM numbers, range(200) b WHERE hash(n + b.range) % 7 = 3")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupt_of_a_query_is_an_interrupt(tmp_path):
    """DuckDB ends the query by an error of its own, which used to cause a traceback."""
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("no_color", [False, True])
def test_colour_only_where_it_is_wanted(folder, no_color):
    import pty

    write_groups()
    master, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", **({"NO_COLOR": "1"} if no_color else {})}
    if not no_color:
        environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [*COMMAND, "run", "t.csv", "-k", "3"], stdout=subprocess.PIPE, stderr=terminal, env=environment
    )
    os.close(terminal)
    seen = b""
    try:
        while chunk := os.read(master, 4096):
            seen += chunk
    except OSError:
        pass  # the other end is closed
    os.close(master)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"\x1b" not in out
    assert b"clustering 60 rows" in seen
    assert bool(re.search(rb"\x1b\[[0-9;]*3[0-9]m", seen)) == (not no_color)


def test_without_the_extra_it_is_named(words):
    said = []
    for package, argument in (("click", "--help"), ("rich", "exporters")):
        code = f"import sys; sys.modules[{package!r}] = None; from shallowrules.cli import script; script()"
        done = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, check=False)
        assert done.returncode == 3
        assert f" {package}" in done.stderr
        assert "pip install 'shallowrules[cli]'" in done.stderr
        said.append((package, done.stderr.removesuffix("\n")))
    words(said)


@pytest.mark.slow
@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_looked_for_again_once_modules_are_loaded(collects):
    class Cycle:
        def __init__(self):
            self.itself = self

    try:
        if not collects:
            gc.disable()
        with loading_modules():
            assert not gc.isenabled()
            left = weakref.ref(Cycle())
        assert gc.isenabled() == collects
        assert left() is not None
        gc.collect()
        assert left() is None
    finally:
        gc.enable()

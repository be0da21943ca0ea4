"""The exit status of every command, for each that it can have: docs/commands.md lists them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from commandline import COMMAND, call, write_groups
from conftest import ROOT
from draws import spread

from shallowrules.cli import commands, failures
from shallowrules.cli.failures import DONE, FOUND, INTERRUPTED, MISUSED, STOPPED

DOES = {
    "clusters": ["clusters", "t.csv", "--to", "3"],
    "diff": ["diff", "rules.json", "rules.json"],
    "drift": ["drift", "rules.json", "t.csv"],
    "edit": ["edit", "rules.json"],
    "explain": ["explain", "rules.json", "--row", "width=1"],
    "export": ["export", "rules.json", "sql"],
    "exporters": ["exporters"],
    "fit": ["fit", "t.csv", "-k", "3"],
    "label": ["label", "rules.json", "t.csv", "-o", "out.csv"],
    "path": ["path", "t.csv", "-k", "3", "--refine", "none"],
    "refit": ["refit", "rules.json", "t.csv"],
    "run": ["run", "t.csv", "-k", "3"],
    "sample": ["sample", "iris"],
    "verify": ["verify", "rules.json", "t.csv", "--dialect", "sqlite"],
}
"""A use of each command that does all of its work."""

FINDS = {
    "diff": ["diff", "rules.json", "others.json"],
    "drift": ["drift", "rules.json", "moved.csv"],
    "verify": ["verify", "rules.json", "t.csv", "--dialect", "sqlite"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write_groups(folder / "t.csv")
    header, *rows = (folder / "t.csv").read_text().splitlines()
    (folder / "moved.csv").write_text("\n".join([header, *rows[::3]]) + "\n")
    for clusters, name in ((3, "rules.json"), (4, "others.json")):
        assert call("fit", folder / "t.csv", "-k", clusters, "-o", folder / name).exit_code == 0
    return folder


def test_every_command_is_here():
    assert set(DOES) == set(commands.NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOES)
def test_what_is_done_is_0(folder, name):
    done = call(*DOES[name])
    assert done.exit_code == DONE, done.output


@pytest.mark.parametrize("name", FINDS)
def test_what_is_found_is_1(folder, monkeypatch, name):
    if name == "verify":
        from shallowrules.verification.runners import sql

        predicates = sql.cluster_predicates
        monkeypatch.setattr(
            sql, "cluster_predicates", lambda *given, **kept: dict.fromkeys(predicates(*given, **kept), "1 = 1")
        )
    assert call(*FINDS[name]).exit_code == FOUND


def test_a_name_alone_is_a_difference(folder):
    Path("names.csv").write_text("number,name\n0,Zero\n")
    assert call("export", "rules.json", "sql").exit_code == DONE
    named = folder / "named.json"
    assert call("fit", "t.csv", "-k", "3", "--names", "names.csv", "-o", named).exit_code == DONE
    assert call("diff", "rules.json", named).exit_code == FOUND


@pytest.mark.parametrize("name", DOES)
def test_wrong_use_is_2(folder, name):
    for arguments in ([*DOES[name], "--nothing-like-it"], [*DOES[name], "--help=1"]):
        assert call(*arguments).exit_code == MISUSED, arguments


@pytest.mark.parametrize("name", [name for name in DOES if name not in ("exporters", "sample")])
@pytest.mark.parametrize("how", ["missing", "broken", "a folder"])
def test_a_file_that_cannot_be_used_is_3(folder, name, how):
    """Also for the commands whose status says what they found: a missing file is not drift."""
    for path in ("t.csv", "rules.json"):
        Path(path).unlink()
        if how == "broken":
            Path(path).write_bytes(b"\x00\xff\xfe\n,,\n")
        elif how == "a folder":
            Path(path).mkdir()
    done = call(*DOES[name])
    assert (done.exit_code, done.stdout) == (STOPPED, "")
    assert done.stderr.startswith("Error: ") or "\nError: " in done.stderr


@pytest.mark.parametrize("option", ["--settings", "--names", "--rules", "--template", "--path"])
def test_a_missing_file_of_an_option_is_3(folder, option):
    use = {
        "--settings": DOES["fit"],
        "--names": DOES["fit"],
        "--rules": [*DOES["edit"], "--table", "t.csv"],
        "--template": DOES["export"],
        "--path": ["export", "rules.json", "html"],
    }
    done = call(*use[option], option, "none")
    assert done.exit_code == STOPPED
    assert "none" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exporters", "sample"])
def test_what_cannot_be_written_is_3(name):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *DOES[name]], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == STOPPED
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("answer", ["", "n\n"])
def test_an_answer_that_stops_is_3_and_ctrl_c_130(monkeypatch, answer):
    import click

    def asking(context):
        click.confirm("Go on?", abort=True)

    monkeypatch.setattr(commands.Commands, "invoke", lambda self, context: asking(context))
    assert call("exporters", input=answer).exit_code == STOPPED

    def interrupted(self, context):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.Commands, "invoke", interrupted)
    assert call("exporters").exit_code == INTERRUPTED


@pytest.mark.parametrize("name", DOES)
def test_an_interrupt_of_any_command_is_130(folder, monkeypatch, name):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module(f"shallowrules.cli.commands.{name}").command, "callback", interrupted)
    done = call(*DOES[name])
    assert (done.exit_code, done.stdout) == (INTERRUPTED, "")
    assert done.stderr.endswith("Aborted!\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("name", spread(["clusters", "drift", "fit", "label", "path", "refit", "run", "verify"], 4))
def test_an_interrupt_is_130(folder, name):
    Path("t.csv").unlink()
    os.mkfifo("t.csv")  # reading waits for a writer
    process = subprocess.Popen(
        [*COMMAND, *DOES[name]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    writer = os.open("t.csv", os.O_WRONLY)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    os.close(writer)
    assert process.returncode == INTERRUPTED
    assert error.strip().endswith(b"Aborted!")


def test_the_page_lists_them():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert listed == {DONE, FOUND, MISUSED, STOPPED, INTERRUPTED}
    found = {}
    for row in re.findall(r"^\| (`.*`) \| .* \| (.*) \| as above \|$", page, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"`(\w+)`", row[0]), row[1] != "never")
    assert found == {name: name in FINDS for name in DOES}
    assert set(failures.__all__) >= {"DONE", "FOUND", "MISUSED", "STOPPED", "INTERRUPTED"}


@pytest.mark.slow
def test_python_runs_the_package(tmp_path):
    command = [sys.executable, "-m", "shallowrules"]
    done = subprocess.run([*command, "sample", "iris"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (DONE, "", 151)
    wrong = subprocess.run([*command, "fit"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert wrong.returncode == MISUSED
    assert "Missing option" in wrong.stderr

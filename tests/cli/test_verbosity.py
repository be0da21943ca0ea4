"""-q, -v, --log-file and NO_COLOR, which every command has."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import COMMAND, call

from shallowrules.cli import commands
from shallowrules.cli.failures import DONE, FOUND, INTERRUPTED, MISUSED, STOPPED

DOES = {
    "clusters": ["clusters", "t.csv", "--to", "3"],
    "diff": ["diff", "rules.json", "rules.json"],
    "drift": ["drift", "rules.json", "t.csv"],
    "edit": ["edit", "rules.json", "--rename", "0=Zero", "-o", "out.json"],
    "explain": ["explain", "rules.json", "--row", "width=1"],
    "export": ["export", "rules.json", "sql"],
    "exporters": ["exporters"],
    "fit": ["fit", "t.csv", "-k", "3"],
    "label": ["label", "rules.json", "t.csv", "-o", "out.csv"],
    "path": ["path", "t.csv", "-k", "3", "--refine", "none", "-o", "out.json"],
    "refit": ["refit", "rules.json", "t.csv", "--rescale"],
    "run": ["run", "t.csv", "-k", "3", "-o", "out"],
    "sample": ["sample", "iris"],
    "verify": ["verify", "rules.json", "t.csv", "--dialect", "sqlite", "--exporter", "sql"],
}
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4} (.*)")


def logged(path="log"):
    """Return the messages of a log."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    assert all(LINE.fullmatch(line) or line.startswith("    ") for line in lines)
    return [found[1] for line in lines if (found := LINE.fullmatch(line))]


def contents(*without):
    return {str(p): p.read_bytes() for p in sorted(Path().rglob("*")) if p.is_file() and str(p) not in without}


@pytest.mark.parametrize("name", DOES)
def test_a_quiet_command_prints_its_product_alone_and_logs_what_it_did(folder, name):
    talking = call(*DOES[name])
    written = contents()
    for path in contents().keys() - {"t.csv", "rules.json"}:
        Path(path).unlink()
    quiet = call(*DOES[name], "-q", "--log-file", "log")
    assert (talking.exit_code, quiet.exit_code) == (DONE, DONE)
    assert quiet.stderr == ""
    assert quiet.stdout == ("" if name == "run" else talking.stdout)
    assert contents("log") == written
    first, *others, last = logged()
    assert first == f"shallowrules {' '.join([*DOES[name], '-q', '--log-file', 'log'])}"
    assert last == "ended with exit status 0"
    notes = re.findall(r"^(?:note|warning): .*", talking.stderr, re.MULTILINE)
    assert [line for line in others if line.startswith(("note: ", "warning: "))] == notes
    assert logging.getLogger("shallowrules").level == logging.NOTSET
    assert not logging.getLogger("shallowrules").handlers


@pytest.mark.parametrize("name", ["clusters", "diff", "drift", "explain", "verify", "run"])
def test_the_document_of_a_quiet_command_is_all_that_it_prints(folder, name):
    talking = call(*DOES[name], "--json")
    quiet = call(*DOES[name], "-q", "--json", *(["--force"] if name == "run" else []))
    assert (quiet.exit_code, quiet.stderr) == (DONE, "")
    assert talking.stderr
    assert quiet.stdout == talking.stdout


def test_every_command_is_here():
    assert set(DOES) == set(commands.NAMES)


def test_verbose_shows_stages_and_each_note_once(folder):
    plain, verbose = call(*DOES["run"]), call(*DOES["run"], "-v", "--force")
    assert verbose.stdout == plain.stdout
    lines = verbose.stderr.splitlines()
    assert [line for line in lines if line.startswith(("note: ", "warning: "))] == plain.stderr.splitlines()
    stages = [line for line in lines if line not in plain.stderr.splitlines()]
    assert stages[:2] == ["reading t.csv", "clustering 60 rows and growing the tree"]
    assert "clustering 60 rows x 2 columns" in stages
    assert stages[-1] == "writing the rules"


def test_the_log_of_a_run_has_what_verbose_shows(folder):
    said = call(*DOES["run"], "-v", "--log-file", "log").stderr.splitlines()
    assert logged()[1:-1] == said
    before = logged()
    call("exporters", "--log-file", "log")
    assert logged() == [*before, "shallowrules exporters --log-file log", "ended with exit status 0"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["drift", "rules.json", "moved.csv"], FOUND, "error: shifted by more than 5 percentage points"),
        (["fit", "t.csv", "-k", "1"], MISUSED, "error: Invalid value for '-k' / '--clusters': 1 is not in the range"),
        (["fit", "t.csv", "-k", "3", "--noise", "cluster"], MISUSED, "error: --noise applies to --labels only"),
        (["fit", "t.csv", "--nothing"], MISUSED, "error: No such option '--nothing'"),
        (["fit", "none.csv", "-k", "3"], STOPPED, "error: none.csv"),
    ],
)
def test_errors_are_printed_and_logged(folder, arguments, status, said):
    header, *rows = Path("t.csv").read_text().splitlines()
    Path("moved.csv").write_text("\n".join([header, *rows[::3]]) + "\n")
    done = call(arguments[0], "-q", "--log-file", "log", *arguments[1:])
    assert done.exit_code == status
    assert said.removeprefix("error: ") in " ".join(done.stderr.partition("Error: ")[2].split())
    *_, error, last = logged()
    assert error.startswith(said)
    assert last == f"ended with exit status {status}"


def test_an_interrupt_is_logged(folder, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("shallowrules.exporters.installed_exporters", interrupted)
    assert call("exporters", "--log-file", "log").exit_code == INTERRUPTED
    assert logged()[-1] == "interrupted"
    assert not logging.getLogger("shallowrules").handlers


def test_a_name_with_a_line_break_is_one_line_of_the_log(folder):
    call("fit", "none\n2026-01-01 00:00:00+0000 forged\x1b.csv", "-k", "3", "--log-file", "log")
    assert not any(line.startswith("forged") for line in logged())
    assert b"\x1b" not in Path("log").read_bytes()


def test_a_password_is_not_logged(folder):
    pytest.importorskip("sqlalchemy")
    url = "postgresql://me:hidden@127.0.0.1:1/x"
    assert call("fit", "--database", url, "--table", "t", "-k", 2, "--log-file", "log").exit_code == STOPPED
    assert "hidden" not in Path("log").read_text()
    assert "--database 'postgresql://me:***@127.0.0.1:1/x'" in logged()[0]


def test_quiet_and_verbose_exclude_each_other_and_what_is_typed_goes_before(folder):
    assert "-q and -v exclude each other" in call("exporters", "-q", "-v").stderr
    Path("shallowrules.toml").write_text("quiet = true\n")
    assert call(*DOES["fit"]).stderr == ""
    assert "reading t.csv" in call(*DOES["fit"], "-v").stderr
    Path("shallowrules.toml").write_text("verbose = true\n")
    assert "reading t.csv" in call(*DOES["fit"]).stderr
    assert call(*DOES["fit"], "-q").stderr == ""
    Path("shallowrules.toml").write_text("quiet = true\nverbose = true\n")
    assert call("exporters").exit_code == MISUSED


def test_labels_in_a_database_are_applied_quietly_but_not_without_consent(folder):
    pytest.importorskip("sqlalchemy")
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect("t.db")) as connection:
        connection.execute('CREATE TABLE t (width REAL, "my height" REAL)')
        rows = [line.split(",") for line in Path("t.csv").read_text().splitlines()[1:]]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()
        label = ["label", "rules.json", "--database", "sqlite:///t.db", "--table", "t", "--apply"]
        applied = call(*label, "view", "-q")
        assert (applied.exit_code, applied.stdout, applied.stderr) == (DONE, "", "")
        assert connection.execute("SELECT count(cluster) FROM t_clusters").fetchone() == (60,)
    asked = call(*label, "update", "-q")
    assert asked.exit_code == STOPPED
    assert "UPDATE" in asked.stderr
    assert "use --yes to allow it" in asked.stderr
    tried = call(*label, "table", "--into", "new", "--dry-run", "-q")
    assert (tried.exit_code, tried.stderr) == (DONE, "")
    assert "CREATE TABLE" in tried.stdout


def test_no_other_file_is_appended_to(folder):
    before = contents()
    for path in ("t.csv", "rules.json"):
        refused = call("exporters", "--log-file", path)
        assert (refused.exit_code, refused.stdout) == (STOPPED, "")
        assert f"{path} is not a log" in refused.stderr
    assert call("exporters", "--log-file", "none/log").exit_code == STOPPED
    assert call("exporters", "--log-file", ".").exit_code == STOPPED
    assert contents() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_log_on_a_full_disk_ends_and_the_work_goes_on(folder):
    done = call(*DOES["fit"], "--log-file", "/dev/full")
    assert done.exit_code == DONE
    assert done.stdout == Path("rules.json").read_text(encoding="utf-8")
    assert done.stderr.count("warning: /dev/full cannot be written to; the log ends") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_no_color_prints_no_control_sequence(folder):
    import pty

    master, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1"}
    command = [*COMMAND, "clusters", "t.csv", "--to", "3"]
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    seen = b""
    try:
        while chunk := os.read(master, 4096):
            seen += chunk
    except OSError:
        pass  # the other end is closed
    os.close(master)
    assert process.wait(60) == DONE
    assert b"\x1b" not in seen
    assert b"clustering from k = 2 to 3" in seen


def test_no_control_sequence_goes_into_a_file(folder, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    done = call("clusters", "t.csv", "--to", "3")
    assert "\x1b" not in done.output

"""Every command overwrites existing files only with --force, and read-only ones never."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import click
import pytest
from commandline import call, refused, write_groups

from shallowrules.cli import commands
from shallowrules.rules import RuleSet

WRITES = {
    ("clusters", "plot"): ["clusters", "t.csv", "--to", "3", "--plot", "out.svg"],
    ("edit", "output"): ["edit", "rules.json", "--merge", "0,1", "--table", "t.csv", "-o", "out.json"],
    ("export", "output"): ["export", "rules.json", "sql", "-o", "out.sql"],
    ("export", "migration"): ["export", "rules.json", "sql", "--style", "view", "--migration", "."],
    ("fit", "output"): ["fit", "t.csv", "-k", "3", "-o", "out.json"],
    ("label", "output"): ["label", "rules.json", "t.csv", "-o", "out.csv"],
    ("path", "output"): ["path", "t.csv", "-k", "3", "--refine", "none", "-o", "out.json"],
    ("path", "plot"): ["path", "t.csv", "-k", "3", "--refine", "none", "--plot", "out.svg"],
    ("refit", "output"): ["refit", "rules.json", "t.csv", "-o", "out.json"],
    ("refit", "page"): ["refit", "rules.json", "t.csv", "--page", "out.html"],
    ("run", "output"): ["run", "t.csv", "-k", "3", "--write", "sql", "-o", "."],
    ("sample", "output"): ["sample", "iris", "-o", "out.csv"],
    ("verify", "output"): [
        *("verify", "rules.json", "--database", "sqlite:///t.db", "--table", "t"),
        *("-o", "out.json"),
    ],
}
"""By command and parameter: what writes to a file `out`, or run's to the files of a folder."""

WRITTEN = {"run": "rules.sql", ".": "data_clusters.up.sql"}
"""By the command, or the last argument, the file written to a folder."""

READ = {"settings", "names", "text_file"}
"""Options of files that are read."""

APPENDED = {"log_file"}
"""Options of files that are appended to, and only if they are logs: see test_verbosity.py."""


def written_by(name):
    """Return the parameters of a command that are paths to write to."""
    command = commands.shallowrules.get_command(click.Context(commands.shallowrules), name)
    return [p.name for p in command.params if isinstance(p.type, click.Path) and p.name not in READ | APPENDED], command


def test_every_command_that_writes_is_here():
    found = {(name, parameter) for name in commands.NAMES for parameter in written_by(name)[0]}
    assert found == set(WRITES)
    for name, _ in found:
        assert any("--force" in parameter.opts for parameter in written_by(name)[1].params), name


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a table, as a file and in a database, and its rules, once."""
    import sqlite3

    folder = tmp_path_factory.mktemp("made")
    write_groups(folder / "t.csv")
    assert call("fit", folder / "t.csv", "-k", "3", "-o", folder / "rules.json").exit_code == 0
    with sqlite3.connect(folder / "t.db") as database:
        header, *rows = (folder / "t.csv").read_text().splitlines()
        database.execute(f"CREATE TABLE t ({', '.join(f'`{name}` REAL' for name in header.split(','))})")
        database.executemany("INSERT INTO t VALUES (?, ?)", [row.split(",") for row in rows])
    database.close()
    return folder


@pytest.fixture(params=WRITES, ids="-".join)
def writer(request, made, tmp_path, monkeypatch):
    """Return a command that writes and the file that it writes, in a folder of its own."""
    if request.param[1] == "plot":
        pytest.importorskip("matplotlib")
    if request.param[0] == "verify":
        pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    for path in made.iterdir():
        shutil.copy(path, tmp_path / path.name)
    arguments = WRITES[request.param]
    if request.param[0] == "run":
        Path("rules.json").unlink()
        return arguments, Path(WRITTEN["run"])
    return arguments, Path(WRITTEN.get(arguments[-1], arguments[-1]))


@pytest.mark.slow
def test_a_file_that_exists_needs_force_and_a_read_only_one_is_kept(writer):
    arguments, target = writer
    target.write_text("signed")
    message = refused(*arguments)
    assert f"{target} exists" in message
    assert "--force" in message
    target.chmod(0o444)
    for force in ([], ["--force"]):
        assert f"{target} is read-only" in refused(*arguments, *force)
    assert stat.S_IMODE(target.stat().st_mode) == 0o444
    target.chmod(0o644)
    assert call(*arguments, "--force").exit_code == 0
    assert target.read_bytes() != b"signed"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="has no links")
def test_a_link_counts_as_the_file_that_it_leads_to(writer):
    arguments, target = writer
    Path("signed").write_text("signed")
    target.symlink_to("signed")
    assert "--force" in refused(*arguments)
    Path("signed").chmod(0o444)
    assert "is read-only" in refused(*arguments, "--force")
    Path("signed").unlink()
    target.unlink()
    target.symlink_to(target.name)
    assert ("--force" if arguments[-1] == "." else "circle") in refused(*arguments)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="has no /dev/stdout")
@pytest.mark.parametrize("target", ["/dev/null", "pipe"])
def test_what_is_no_regular_file_is_written_to(made, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    if target == "pipe":
        os.mkfifo("pipe")
        reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert call("export", made / "rules.json", "mermaid", "-o", target).exit_code == 0
    if target == "pipe":
        assert b"flowchart" in os.read(reader, 65536)
        os.close(reader)


def test_several_files_are_named_at_once(made, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    arguments = ["run", made / "t.csv", "-k", "3", "--write", "sql", "-o", "out"]
    assert call(*arguments).exit_code == 0
    message = refused(*arguments)
    assert all(f"out/{name}" in message for name in ("rules.json", "settings.json", "rules.sql"))
    assert "--force" in message
    Path("out/rules.json").chmod(0o444)
    kept = refused(*arguments, "--force")
    assert "out/rules.json is read-only" in kept
    words([("they exist", message), ("--force", kept)])
    assert RuleSet.from_json("out/rules.json").clusters

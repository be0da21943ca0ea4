"""The files of a run: not replaced unasked, all of them or none, and read again later."""

from __future__ import annotations

import os

import pytest
from commandline import call, refused, write_groups

from shallowrules.cli import output

FILES = ["report.html", "report.md", "rules.json", "rules.py", "rules.sql", "settings.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, as a person would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_not_replaced_unasked(folder, words):
    write_groups()
    (folder / "t_rules").mkdir()
    (folder / "t_rules" / "report.md").write_text("mine")
    (folder / "t_rules" / "other.txt").write_text("mine too")
    message = refused("run", "t.csv", "-k", 3)
    assert "t_rules/report.md" in message
    assert "--force" in message
    words(message)
    assert call("run", "t.csv", "-k", 3, "--force").exit_code == 0
    assert sorted(os.listdir("t_rules")) == ["other.txt", *FILES]
    assert (folder / "t_rules" / "report.md").read_text() != "mine"


@pytest.mark.parametrize("existed", [False, True])
def test_a_failure_half_way_leaves_nothing_half_written(folder, monkeypatch, existed):
    write_groups()
    if existed:
        (folder / "t_rules").mkdir()
        (folder / "t_rules" / "report.md").write_text("mine")
    atomic_write = output.atomic_write

    def full_disk(path, text):
        if path.name == "rules.py":
            raise OSError(28, "No space left on device", str(path))
        atomic_write(path, text)

    monkeypatch.setattr(output, "atomic_write", full_disk)
    message = refused("run", "t.csv", "-k", 3, "--force")
    assert "No space left on device" in message
    assert (folder / "t_rules").exists() == existed


def test_places_that_cannot_be_written_are_known_before_the_work(folder, monkeypatch, words):
    monkeypatch.setattr(
        "shallowrules.cli.commands.run.fit_with_slider", lambda *_, **__: pytest.fail("it went to work")
    )
    write_groups()
    (folder / "file").write_text("x")
    (folder / "full").mkdir()
    (folder / "full" / "rules.sql").mkdir()
    said = []
    for command, arguments, found in (
        ("run", ["-o", "file"], "file "),
        ("run", ["-o", "none/here"], "none"),
        ("run", ["-o", "full", "--force"], "full/rules.sql"),
        ("fit", ["-o", "none/rules.json"], "none"),
        ("fit", ["-o", "full"], "full"),
        ("fit", ["-o", "t.csv"], "t.csv"),
    ):
        message = refused(command, "t.csv", "-k", 3, *arguments)
        assert found in message
        said.append((" ".join([command, *arguments]), message))
    words(said)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(folder):
    write_groups()
    (folder / "closed").mkdir(mode=0o500)
    message = refused("run", "t.csv", "-k", 3, "-o", "closed")
    assert "closed" in message
    assert "written" in message


def test_a_folder_is_read_again_without_the_results_of_last_time(folder):
    write_groups("t.csv")
    for name in "first", "second":
        done = call("run", ".", "-k", 3, "-o", f"{name}_rules")
        assert done.exit_code == 0, done.stderr
    assert (folder / "second_rules" / "rules.json").read_text() == (folder / "first_rules" / "rules.json").read_text()

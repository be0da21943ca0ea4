"""`make release` names all that is missing before it builds anything."""

from __future__ import annotations

import runpy
import subprocess

import pytest
from conftest import ROOT

SCRIPT = ROOT / ".ci" / "release.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="an sdist has no .ci")
READY = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2030-01-31\n\n- A line\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return a repository that is ready to be released."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(READY)
    (tmp_path / "tests" / "pickles" / "1.2").mkdir(parents=True)
    (tmp_path / "tests" / "pickles" / "1.2" / "labels.json").write_text("{}\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(root, *arguments):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", *arguments], cwd=root, check=True)


def commit(root):
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a commit", "--allow-empty")


def faults(root, ci_passed="", tagged=""):
    return runpy.run_path(str(SCRIPT))["faults"](root, ci_passed, tagged)


def test_a_commit_that_is_ready(root):
    assert faults(root) == []
    assert faults(root, "HEAD") == []


def test_a_file_that_is_not_committed(root):
    (root / "new.txt").write_text("")
    [fault] = faults(root)
    assert "new.txt" in fault


def test_a_version_that_is_tagged(root):
    git(root, "tag", "v1.2.0")
    [fault] = faults(root)
    assert "v1.2.0" in fault


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (READY.replace("[1.2.0] - 2030-01-31", "[1.2.0]"), "[1.2.0] - YYYY"),
        (READY.replace("1.2.0", "1x2.0"), "[1.2.0] - YYYY"),
        (READY.replace("[Unreleased]\n", "[Unreleased]\n\n- A line\n"), "Unreleased"),
        (READY.replace("[Unreleased]\n", "[Unreleased]\n\n### Added\n\n- A line\n"), "Unreleased"),
    ],
)
def test_a_changelog_without_the_version_or_with_more(root, changes, told):
    (root / "CHANGELOG.md").write_text(changes)
    commit(root)
    [fault] = faults(root)
    assert told in fault


def test_no_stored_models_of_the_version(root):
    (root / "pyproject.toml").write_text('[project]\nversion = "1.3.0"\n')
    (root / "CHANGELOG.md").write_text(READY.replace("1.2.0", "1.3.0"))
    commit(root)
    [fault] = faults(root)
    assert "tests/pickles/1.3" in fault


def test_ci_that_passed_on_another_commit(root):
    commit(root)
    [fault] = faults(root, "HEAD~1")
    assert "HEAD~1" in fault
    assert len(faults(root, "v9")) == 1


def test_a_commit_that_has_its_tag(root):
    git(root, "tag", "v1.2.0")
    assert faults(root, tagged="v1.2.0") == []
    [fault] = faults(root, tagged="v1.2.1")
    assert "v1.2.1" in fault

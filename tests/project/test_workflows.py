"""The workflows of a public CI and the wheels of a release: what several files have in common, and who may publish."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

import pytest
from conftest import ROOT

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
pytestmark = pytest.mark.skipif(not FILES, reason="an sdist has no workflows")
yaml = pytest.importorskip("yaml", reason="the extra dev has it")

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]


def workflow(name):
    """Return a workflow; YAML reads its key `on` as true."""
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def variable(name):
    """Return the words of a variable of the Makefile."""
    return re.search(rf"^{name} :?= (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1].split()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_workflow_may_only_read_and_its_actions_are_pinned(file):
    text = file.read_text(encoding="utf-8")
    assert workflow(file.name)["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    for action in re.findall(r"uses: (\S+)", text):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}|\./\.github/workflows/\w+\.yml", action), action
        if action.startswith("./"):
            assert (ROOT / action).is_file()
    for job in workflow(file.name)["jobs"].values():
        assert "uses" in job or job["timeout-minutes"] <= 60
        for step in job.get("steps", []):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


def test_only_the_tag_of_a_checked_version_publishes():
    granted = {
        (file.name, name): job["permissions"]
        for file in FILES
        for name, job in workflow(file.name)["jobs"].items()
        if "permissions" in job
    }
    assert granted == {("release.yml", "publish"): {"id-token": "write"}}
    release = workflow("release.yml")
    assert release[True] == {"push": {"tags": ["v*"]}}
    jobs = release["jobs"]
    assert '--tagged "$GITHUB_REF_NAME"' in jobs["check"]["steps"][-1]["run"]
    assert (jobs["wheels"]["needs"], jobs["publish"]["needs"]) == ("check", "wheels")
    assert jobs["publish"]["environment"] == "pypi"
    publish = jobs["publish"]["steps"][-1]
    assert publish["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert publish["with"] == {"attestations": True}
    assert "git tag -a v{version}" in (ROOT / ".ci" / "release.py").read_text(encoding="utf-8")


def test_ci_runs_on_every_python():
    matrix = workflow("ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == variable("VERSIONS")
    assert {entry["python"] for entry in matrix["include"]} <= set(matrix["python"])
    oldest, newest = matrix["python"][0], matrix["python"][-1]
    assert CONFIGURATION["build"] == [f"cp{version.replace('.', '')}-*" for version in (oldest, newest)]


def identifiers(runner):
    """Return the wheels that cibuildwheel makes on a runner."""
    options = [f"--{name}={runner[name]}" for name in ("platform", "archs")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CIBW_")}
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", *options, str(ROOT)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()


def test_the_table_of_wheels_is_what_cibuildwheel_builds():
    pytest.importorskip("cibuildwheel", reason="the extra dev has it")
    runners = workflow("wheels.yml")["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    found = [identifier.split("-") for runner in runners for identifier in identifiers(runner)]
    platforms = {platform for _, platform in found}
    assert sorted(found) == sorted([f"cp{version}", platform] for version in (311, 313) for platform in platforms)
    pages = (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `((?:many|musl)linux_\w+|macosx_\w+|win_\w+)` \|", pages, re.M)
    target = CONFIGURATION["macos"]["environment"]["MACOSX_DEPLOYMENT_TARGET"].replace(".", "_")
    for platform in platforms:
        system, _, machine = platform.partition("_")
        tag = CONFIGURATION.get(f"{system}-{machine}-image", {"macosx": f"macosx_{target}"}.get(system, system))
        assert f"{tag}_{machine}" in rows
    assert len(rows) == len(set(rows)) == len(platforms)


def test_the_wheels_for_macos_alone_are_serial():
    trees = "python {project}/tests/helpers/trees.py --openmp "
    assert CONFIGURATION["test-command"] == [trees + "on", *CONFIGURATION["macos"]["test-command"][1:]]
    assert CONFIGURATION["macos"]["test-command"][0] == trees + "off"
    assert CONFIGURATION["macos"]["environment"]["SHALLOWRULES_NO_OPENMP"] == "1"
    assert "SHALLOWRULES_NO_OPENMP" not in str({**CONFIGURATION, "macos": {}})
    assert (ROOT / "tests" / "helpers" / "trees.py").is_file()
    assert variable("INSTALLED_TESTS")

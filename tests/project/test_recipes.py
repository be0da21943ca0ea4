"""The recipes of docs/automation.md: each is taken from the page and run."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import ClassVar

import click
import pytest
from conftest import ROOT
from dbtprojects import DBT
from draws import few

from shallowrules.cli import commands
from shallowrules.cli.options.defaults import folder_defaults

PAGE = (ROOT / "docs" / "automation.md").read_text(encoding="utf-8")
DONE, FOUND, MISUSED, STOPPED = 0, 1, 2, 3

environment_of = runpy.run_path(str(ROOT / "docs" / "run_pages.py"))["environment_of"]


def blocks(heading, language):
    """Return the blocks of code below a heading of the page."""
    section = re.split(r"^##+ ", PAGE.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    say(folder, "shallowrules sample wine -o customers.csv && shallowrules run customers.csv -k 3 -o rules -q")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """Make a folder with a table, rules as a run writes them, and a copy of rules.json."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    shutil.copy(tmp_path / "rules" / "rules.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def say(folder, command, *programs, shell="sh", **variables):
    """Run a command in a shell, and return how it ended."""
    return subprocess.run(
        [shell, "-e", "-c", command],
        cwd=folder,
        env=environment_of(*programs, **variables),
        capture_output=True,
        text=True,
        check=False,
    )


def shifted(path="customers.csv"):
    """Keep the first third of the rows, most of which are in one cluster."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    Path(path).write_text("\n".join(lines[: len(lines) // 3]) + "\n", encoding="utf-8")


# cron ------------------------------------------------------------------------------------------------


@pytest.fixture
def mail(folder):
    """Make a program that keeps what it is to send."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "mail"
    program.write_text('#!/bin/sh\n{ echo "$@"; cat; } > sent.txt\n', encoding="utf-8")
    program.chmod(0o755)
    return folder / "bin"


def remove():
    Path("customers.csv").unlink()


def change_nothing():
    """Leave the folder as it is."""


def change_the_script():
    script = Path("nightly.sh")
    script.write_text(script.read_text().replace("--force", "--nothing-like-it"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "status", "sent"),
    few(
        [
            (change_nothing, DONE, None),
            (shifted, FOUND, ["the rules need a look team@example.org", "shifted by more than 5 percentage points"]),
            (
                change_the_script,
                MISUSED,
                ["stopped with status 2 oncall@example.org", "No such option '--nothing-like-it'"],
            ),
            (
                remove,
                STOPPED,
                ["with status 3 oncall@example.org", "customers.csv: there is no such file"],
            ),
        ],
        2,
    ),
    ids=["done", "found", "wrong use", "stopped"],
)
def test_the_script_of_cron_mails_by_the_status(folder, mail, change, status, sent):
    [code] = blocks("cron", "sh")
    Path("nightly.sh").write_text(code.partition("<<'END'\n")[2].partition("\nEND\n")[0] + "\n", encoding="utf-8")
    Path("nightly.sh").chmod(0o755)
    change()
    done = say(folder, "./nightly.sh", mail)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    if sent is None:
        assert not Path("sent.txt").exists()
        assert Path("labelled.csv").exists()
    else:
        mailed = Path("sent.txt").read_text(encoding="utf-8")
        assert [each for each in sent if each not in mailed] == [], mailed
    assert Path("nightly.log").read_text(encoding="utf-8").splitlines()[-1].endswith(f"ended with exit status {status}")


# Airflow ---------------------------------------------------------------------------------------------


class Operator:
    """An operator of Airflow: its state follows from the exit status as that of BashOperator does."""

    made: ClassVar[list[Operator]] = []

    def __init__(self, task_id, bash_command, cwd, skip_on_exit_code=99):
        self.task_id, self.bash_command, self.cwd, self.skip = task_id, bash_command, cwd, skip_on_exit_code
        self.before = None
        self.made.append(self)

    def __rshift__(self, other):
        other.before = self
        return other

    def run(self, folder, states):
        earlier = "success" if self.before is None else states[self.before.task_id]
        if earlier != "success":  # the rule "all_success"
            return "skipped" if earlier == "skipped" else "upstream_failed"
        status = say(folder, self.bash_command, shell="bash").returncode
        return {0: "success", self.skip: "skipped"}.get(status, "failed")


class Dag:
    def __init__(self, name, **options):
        assert options["default_args"]["retries"] == 2

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


@pytest.fixture
def tasks(monkeypatch):
    """Return the tasks of the page's DAG, in their order."""
    monkeypatch.setattr(Operator, "made", [])
    bash, sdk = "airflow.providers.standard.operators.bash", "airflow.sdk"
    for name in (bash.rsplit(".", parts)[0] for parts in range(1, 5)):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, bash, types.SimpleNamespace(BashOperator=Operator))
    monkeypatch.setitem(sys.modules, sdk, types.SimpleNamespace(DAG=Dag))
    [code] = blocks("Airflow", "python")
    exec(compile(code, "dag.py", "exec"), {})
    assert {task.cwd for task in Operator.made} == {"/srv/customers"}
    return Operator.made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "states"),
    few(
        [
            (change_nothing, ["success"] * 4),
            (shifted, ["success", "success", "skipped", "skipped"]),
            (remove, ["failed", *["upstream_failed"] * 3]),
        ]
    ),
    ids=["done", "found", "stopped"],
)
def test_the_dag_of_airflow_skips_and_fails_by_the_status(folder, tasks, change, states):
    change()
    found = {}
    for task in tasks:
        found[task.task_id] = task.run(folder, found)
    assert found == dict(zip(["verify", "label", "drift", "publish"], states, strict=True))
    assert Path("published.csv").exists() == (states[-1] == "success")


# dbt -------------------------------------------------------------------------------------------------


@pytest.mark.builds
@pytest.mark.skipif(DBT is None, reason="dbt is not installed: make build/dbt/bin/dbt")
def test_the_project_of_dbt_is_built_and_a_shift_fails_it(folder):
    for text in blocks("dbt", "yaml"):
        Path(re.match(r"# (\S+)\n", text)[1]).write_text(text, encoding="utf-8")
    [code] = blocks("dbt", "sh")
    (folder / "bin").mkdir()
    (folder / "bin" / "dbt").symlink_to(DBT)
    quiet = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DO_NOT_TRACK": "1"}
    built = say(folder, code, folder / "bin", **quiet)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "Completed successfully" in built.stdout
    shifted("seeds/customers.csv")
    found = say(folder, "dbt seed --full-refresh && dbt build", folder / "bin", **quiet)
    assert found.returncode == 1, found.stdout
    assert re.search(r"FAIL \d+ customers_clusters_shares", re.sub(r"\x1b\[\d+m", "", found.stdout))


# CI --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_job_passes_and_fails_if_rules_and_settings_differ(folder):
    yaml = pytest.importorskip("yaml")
    [text] = blocks("A CI job", "yaml")
    job = yaml.safe_load(text)["jobs"]["rules"]
    install, *lines = [step["run"] for step in job["steps"] if "run" in step]
    assert install.startswith("pip install ")
    for line in lines:
        done = say(folder, line, shell="bash", **job["env"])
        assert done.returncode == DONE, done.stdout + done.stderr
    settings = Path("rules/settings.json")
    kept = json.loads(settings.read_text(encoding="utf-8"))
    settings.write_text(json.dumps({**kept, "options": {**kept["options"], "clusters": 4}}), encoding="utf-8")
    shutil.rmtree("rebuilt")
    assert [say(folder, line, shell="bash", **job["env"]).returncode for line in lines[:2]] == [DONE, FOUND]


# Defaults and completion -----------------------------------------------------------------------------


def test_the_file_of_defaults_is_taken(folder):
    [text] = [text for text in blocks("Defaults in a file", "toml") if "[databases.shop]" in text]
    document = tomllib.loads(text)
    group = commands.shallowrules
    found = {
        name: folder_defaults(
            click.Context(group),
            name,
            ("shallowrules.toml", document),
            lambda each: group.get_command(click.Context(group), each),
            commands.NAMES,
        )
        for name in commands.NAMES
    }
    assert found["run"] == {
        "null": ["?", "unknown"],
        "database": "@shop",
        "clusters": 3,
        "exclude": ["ash", "hue"],
        "write": ["sql", "markdown"],
    }
    assert found["drift"] == {"null": ["?", "unknown"], "database": "@shop", "max_shift": "2%"}
    assert found["sample"] == {}


def test_scripts_of_completion_are_written(folder):
    commands_shown = re.findall(r"^\| (?:bash|zsh|fish) \| `([^`]*)` \|", PAGE, re.MULTILINE)
    assert len(commands_shown) == 3
    Path(".config/fish/completions").mkdir(parents=True)
    for command in commands_shown:
        assert say(folder, command, HOME=str(folder)).returncode == DONE
    names = [".shallowrules.bash", ".shallowrules.zsh", ".config/fish/completions/shallowrules.fish"]
    assert all("_SHALLOWRULES_COMPLETE" in Path(name).read_text(encoding="utf-8") for name in names)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "wanted"),
    few(
        [
            ("shallowrules re", ["refit"]),
            ("shallowrules run --log", ["--log-file"]),
            ("shallowrules run --sql-dial", ["--sql-dialect"]),
            ("shallowrules run --scale m", ["minmax"]),
            ("shallowrules export rules.json s", ["sql", "svg"]),
            ("shallowrules label rules.json cust", []),
        ],
        2,
    ),
)
def test_bash_completes(folder, line, wanted):
    words = line.split()
    script = (
        'eval "$(_SHALLOWRULES_COMPLETE=bash_source shallowrules)"; compopt() { echo "falls back to $2"; }; '
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
        '_shallowrules_completion shallowrules || true; echo "${COMPREPLY[@]}"'
    )
    done = say(folder, script, shell="bash")
    assert done.returncode == DONE, done.stderr
    said = done.stdout.split("\n")
    assert said[-2].split() == wanted
    assert ("falls back to default" in said) == (not wanted)  # names of files


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(("typed", "incomplete", "wanted"), [([], "re", ["refit"]), (["run"], "--log", ["--log-file"])])
def test_other_shells_complete(folder, shell, typed, incomplete, wanted):
    words = " ".join(["shallowrules", *typed, incomplete])
    place = incomplete if shell == "fish" else str(len(typed) + 1)
    given = {"COMP_WORDS": words, "COMP_CWORD": place, "_SHALLOWRULES_COMPLETE": f"{shell}_complete"}
    done = say(folder, "shallowrules", **given)
    assert done.returncode == DONE, done.stderr
    assert all(word in done.stdout for word in wanted)

"""Input that people and programs pass by mistake or on purpose is refused in words: no traceback, no other status."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commandline import COMMAND, call, refused, write_groups
from draws import draws, spread
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shallowrules import files
from shallowrules.cli import commands
from shallowrules.cli.failures import failure_text
from shallowrules.cli.options.memory import _Memory
from shallowrules.errors import DataError
from shallowrules.sources import connecting

DEEP = 100_000
DIGITS = "9" * 400


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a table, its rules, and files and links that nobody should be able to read."""
    folder = tmp_path_factory.mktemp("made")
    write_groups(folder / "t.csv")
    assert call("fit", folder / "t.csv", "-k", "3", "-o", folder / "rules.json").exit_code == 0
    (folder / "deep.json").write_text("[" * DEEP + "]" * DEEP)
    (folder / "objects.json").write_text('{"a":' * DEEP + "1" + "}" * DEEP)
    for one, other in (("loop", "pool"), ("pool", "loop")):
        (folder / one).symlink_to(other)
    shutil.copy(folder / "t.csv", os.fsencode(folder) + b"/caf\xe9.csv")
    return folder


READERS = {
    "settings": ["run", "t.csv", "-k", "3", "--settings"],
    "names": ["fit", "t.csv", "-k", "3", "--names"],
    "rules": ["diff", "rules.json"],
    "text": ["edit", "rules.json", "--table", "t.csv", "--rules"],
    "template": ["export", "rules.json", "sql", "--template"],
    "path": ["export", "rules.json", "html", "--path"],
    "table": ["fit", "-k", "3"],
}
"""What reads a file whole that the next argument names."""


@pytest.mark.parametrize("name", ["deep.json", "objects.json"])
@pytest.mark.parametrize("reader", [name for name in READERS if name != "template"])
def test_deep_nesting(folder, reader, name):
    status = 2 if reader == "path" else 3
    assert refused(*READERS[reader], name, status=status)


def test_deep_nesting_of_the_settings_of_databases(folder):
    for text in ("a = " + "[" * DEEP + "]" * DEEP, "a = " + "9" * 5000):
        Path("shallowrules.toml").write_text(text)
        assert "shallowrules.toml cannot " in refused("fit", "--database", "@x", "--table", "t", "-k", "3")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["a\0b", "a\0b.json"])
def test_a_nul_in_the_name_of_a_file(folder, reader, name):
    assert "NUL" in refused(*READERS[reader], name)


def test_a_nul_in_settings(folder):
    assert call("run", "t.csv", "-k", "3", "-o", "out").exit_code == 0
    found = json.loads(Path("out/settings.json").read_text())
    Path("s.json").write_text(json.dumps(found | {"tables": ["a\0b"]}))
    assert "NUL" in refused("fit", "--settings", "s.json")


@pytest.mark.parametrize("size", [DIGITS, f"{DIGITS}GB", "9" * 30, "9" * 5000])
def test_more_memory_than_there_is(folder, size):
    assert "memory" in refused("fit", "t.csv", "-k", "3", "--memory", size, status=2)
    assert call("run", "t.csv", "-k", "3", "-o", "out").exit_code == 0
    found = json.loads(Path("out/settings.json").read_text())
    Path("s.json").write_text(json.dumps(found | {"memory": size}))
    assert "memory" in refused("fit", "t.csv", "--settings", "s.json", status=2)
    with pytest.raises(click.BadParameter):
        _Memory().convert(size, None, None)


@pytest.mark.parametrize("digits", [DIGITS, "9" * 5000, "1e400"])
def test_numbers_of_many_digits(folder, digits):
    edit = ["edit", "rules.json", "--table", "t.csv", "--set"]
    assert "too large" in refused(*edit, f"width: 5 -> {digits}", status=2)
    assert "too large" in refused("fit", "t.csv", "-k", "3", "--keep", f"width <= {digits}", status=2)
    for option in ("--max-cost", "--max-conditions", "--tradeoff"):
        assert "range" in refused("fit", "t.csv", "-k", "3", option, digits, status=2)


@pytest.mark.parametrize("command", ["fit", "run"])
@pytest.mark.parametrize("target", ["loop", "loop/out.json"])
def test_links_that_lead_in_a_circle_are_not_written_to(folder, command, target):
    assert "loop" in refused(command, "t.csv", "-k", "3", "-o", target)


def test_links_that_lead_in_a_circle_are_not_read(folder):
    for reader in READERS.values():
        assert "loop" in refused(*reader, "loop")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="has no /dev/zero")
@pytest.mark.parametrize("reader", [name for name in READERS if name != "table"])
def test_a_file_that_never_ends(folder, monkeypatch, reader):
    monkeypatch.setattr(files.read_whole, "__defaults__", (2**16,))
    assert "65,536 bytes" in refused(*READERS[reader], "/dev/zero")


def test_a_password_that_never_ends(folder):
    pytest.importorskip("sqlalchemy")
    url = 'url = "postgresql://me@localhost/shop"'
    Path("shallowrules.toml").write_text(f'[databases.x]\n{url}\npassword_file = "/dev/zero"\n')
    assert "65,536" in refused("fit", "--database", "@x", "--table", "t", "-k", "3")
    os.mkfifo("pipe")
    Path("shallowrules.toml").write_text(f'[databases.x]\n{url}\npassword_file = "pipe"\n')
    writer = ["sh", "-c", "exec cat /dev/zero > pipe"]
    with subprocess.Popen(writer, stderr=subprocess.DEVNULL), pytest.raises(DataError, match="65,536"):
        connecting.find_url("@x")


ENDED_BELOW_PYTHON = ("std::bad_alloc", "cannot allocate memory for thread-local data")
"""Of a thread of DuckDB, and of the loader of libraries."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs ulimit -v")
@pytest.mark.parametrize("kilobytes", spread([150_000, 250_000, 300_000, 400_000], 2))
@pytest.mark.parametrize("command", ["fit", "label", "verify"])
def test_a_limit_of_memory(folder, kilobytes, command):
    use = {
        "fit": ["fit", "t.csv", "-k", "3"],
        "label": ["label", "rules.json", "t.csv", "-o", "out.csv"],
        "verify": ["verify", "rules.json", "t.csv", "--dialect", "duckdb"],
    }
    shell = f"ulimit -v {kilobytes}; exec {shlex.join([*COMMAND, *use[command]])}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False, env=environment)
    if any(words in done.stderr for words in ENDED_BELOW_PYTHON):
        pytest.skip("what is below Python ended the process, which no program can keep it from")
    assert done.returncode in (0, 3)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert "Error: " in done.stderr
        assert not Path("out.csv").exists()


def test_what_a_failure_says(words):
    import duckdb

    said = []
    for error, found in (
        (MemoryError(), "enough memory"),
        (duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate\nmore"), "enough memory"),
        (ImportError("x.so: failed to map segment from shared object"), "enough memory"),
        (RuntimeError("can't start new thread"), "threads"),
        (RecursionError("maximum recursion depth exceeded"), "nested"),
        (ValueError("embedded null byte"), "NUL"),
        (KeyError("a"), "unexpected KeyError: 'a'"),
    ):
        assert found in failure_text(error)
        said.append((repr(error), failure_text(error)))
    words(said)
    assert failure_text(FileNotFoundError(2, "No such file", "x")) == "x: No such file"
    assert len(failure_text(KeyError("a\nb")).splitlines()) == 1


@pytest.mark.parametrize("value", ["", "0", "1"])
def test_the_environment_shows_the_traceback(monkeypatch, value):
    def broken(self, context):
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr(commands.Commands, "invoke", broken)
    monkeypatch.setenv("SHALLOWRULES_TRACEBACK", value)
    result = CliRunner().invoke(commands.shallowrules, ["exporters"])
    assert result.exit_code == 3
    assert "unexpected ZeroDivisionError: nothing " in result.stderr
    assert ("Traceback (most recent call last)" in result.stderr) == (value == "1")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux alone")
def test_names_of_files_that_are_not_utf8(folder):
    name = os.fsdecode(b"caf\xe9")
    for arguments in (
        ["fit", f"{name}.csv", "-k", "3", "-o", f"{name}.json"],
        ["run", f"{name}.csv", "-k", "3"],
        ["run", "--settings", f"{name}_rules/settings.json", "--force"],
        ["label", f"{name}.json", f"{name}.csv", "-o", f"{name}.out.csv"],
        ["drift", f"{name}.json", f"{name}.csv"],
        ["diff", f"{name}.json", f"{name}_rules/rules.json"],
        ["export", f"{name}.json", "markdown", "-o", f"{name}.md"],
    ):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
    assert "\\udce9" in Path(f"{name}_rules/rules.json").read_text(encoding="utf-8")
    for arguments in (["fit", f"no{name}", "-k", "3"], ["fit", "t.csv", f"--{name}"], [name], ["diff", name, name]):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, check=False)
        assert done.returncode in (2, 3)
        assert b"\\udce9" in done.stderr


def test_names_of_files_as_long_as_names_can_be(folder):
    rules, labels = "r" * 250 + ".json", "t" * 251 + ".csv"
    for arguments in (["fit", "t.csv", "-k", "3", "-o", rules], ["label", rules, "t.csv", "-o", labels]):
        assert call(*arguments).exit_code == 0
    assert Path(labels).stat().st_size > 0


def test_an_unknown_name_in_the_settings_of_databases(folder, words):
    pytest.importorskip("sqlalchemy")
    fit = ["fit", "--database", "@shop", "--table", "t", "-k", "3"]
    said = []
    for text, found in (
        ('[database.shop]\nurl = "x"\n', ["'database'", "'databases'"]),
        ('[databases.shop]\nulr = "x"\n', ["[databases.shop] 'ulr'", "'url'"]),
        ('[databases.shop]\nurl = "x"\npassword_fil = "y"\n', ["'password_fil'", "'password_file'"]),
        ('[databases.shop]\nurl = "x"\n[databases.other]\nurl = "x"\nqqq = 1\n', ["[databases.other] 'qqq'"]),
        ("databases = 3\n", ["[databases.NAME]"]),
        ("[databases]\nshop = 3\n", ["[databases.NAME]"]),
    ):
        Path("shallowrules.toml").write_text(text)
        message = refused(*fit)
        assert all(part in message for part in found), message
        said.append((" ".join(text.split("\n")).strip(), message))
    Path("shallowrules.toml").write_text('[databases.shop]\nurl = "x"\n')
    message = refused("fit", "--database", "@shp", "--table", "t", "-k", "3", status=2)
    assert "@shop" in message
    words([*said, ("@shp", message)])


def test_an_unknown_option_in_settings(folder, words):
    Path("s.json").write_text(json.dumps({"format": "shallowrules-settings/1", "options": {"tradeof": 0.1}}))
    message = refused("fit", "t.csv", "-k", "3", "--settings", "s.json", status=2)
    assert "'tradeof'" in message
    assert "'tradeoff'" in message
    words(message)


@pytest.mark.parametrize("value", ["a\rb", "a" * 200_000])
def test_a_list_that_is_none(folder, value):
    for use in (
        ["explain", "rules.json", "--row"],
        ["fit", "t.csv", "-k", "3", "--exclude"],
        ["run", "t.csv", "--write"],
    ):
        assert "list" in refused(*use, value, status=2)


# Drawn ---------------------------------------------------------------------------------------------

BASES = {
    "clusters": ["clusters", "t.csv", "--to", "3"],
    "diff": ["diff", "rules.json", "rules.json"],
    "drift": ["drift", "rules.json", "t.csv"],
    "edit": ["edit", "rules.json", "--table", "t.csv"],
    "explain": ["explain", "rules.json", "--row", "width=1"],
    "export": ["export", "rules.json", "sql"],
    "fit": ["fit", "t.csv", "-k", "3", "--refine", "none"],
    "label": ["label", "rules.json", "t.csv", "-o", "out.csv", "--force"],
    "path": ["path", "t.csv", "-k", "3", "--refine", "none"],
    "refit": ["refit", "rules.json", "t.csv"],
    "run": ["run", "t.csv", "-k", "3", "--write", "sql", "--force", "--refine", "none"],
    "sample": ["sample", "iris"],
    "verify": ["verify", "rules.json", "t.csv", "--dialect", "sqlite", "--exporter", "sql"],
}


def _options_of(name):
    command = commands.shallowrules.get_command(click.Context(commands.shallowrules), name)
    found = [p.opts[-1] for p in command.params if isinstance(p, click.Option) and not p.is_flag and not p.count]
    return [option for option in found if option != "--budget"]  # which may take as long as it is told to


COMMAND_OPTIONS = [(name, option) for name in BASES for option in [*_options_of(name), *range(1, len(BASES[name]))]]
"""A command and an option to give a hostile value, or the place of an argument to put one in."""

HOSTILE = st.one_of(
    st.sampled_from(
        ["a\0b", "\0", "loop", "loop/x", "deep.json", "objects.json", "none", ".", "", "-", "@x", "/dev/null"]
    ),
    st.sampled_from(["\udce9", "caf\udce9.csv", "x\udce9.json", "\ud800=\udfff", "t.csv\udcff"]),
    st.integers(15, 6000).map(lambda n: "9" * n),
    st.sampled_from(
        ["1e400", "-1e400", "nan", "inf", "-inf", "1e-400", f"{DIGITS}%", f"{DIGITS}GB", f"-{DIGITS}", "0x10"]
    ),
    st.sampled_from(
        [f"width <= {DIGITS}", f"width: 5 -> {DIGITS}", f"width={DIGITS}", f"{DIGITS},1", "sqlite:///a\0b"]
    ),
    st.integers(1, 3000).map(lambda n: "(" * n + "width <= 5" + ")" * n),
    st.integers(1, 3000).map(lambda n: "[" * n),
    st.text(max_size=8),
)


@draws(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(COMMAND_OPTIONS), HOSTILE)
def test_no_hostile_value_is_a_traceback(folder, chosen, value):
    name, where = chosen
    arguments = list(BASES[name])
    if isinstance(where, int):
        arguments[where] = value
    else:
        arguments += [where, value]
    result = CliRunner().invoke(commands.shallowrules, arguments, input="")
    assert result.exception is None or isinstance(result.exception, SystemExit), arguments
    assert result.exit_code in (0, 1, 2, 3), arguments
    assert "Traceback" not in result.stderr
    assert result.exit_code == 0 or result.stderr or result.exit_code == 1

"""No command shows or writes a password, however it is given and whatever goes wrong.

The commands and their options are read from the command line itself, so any that are added later are tried too.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import click
import pytest
from commandline import COMMAND, call
from draws import few, spread
from rulesets import small_rules

from shallowrules.cli.commands import NAMES, shallowrules
from shallowrules.errors import EngineError, ShallowRulesError
from shallowrules.sources import DatabaseRows, read_table

pytest.importorskip("sqlalchemy")

CONTEXT = click.Context(shallowrules)
COMMANDS = {name: shallowrules.get_command(CONTEXT, name) for name in NAMES}

PIECES = ("Zq7x", "Kw9v", "Jm3t", "Rp5b")
"""What passwords are made of, so that each part of one is known where it is left."""

BETWEEN = [
    "",
    "@",
    "/",
    ":",
    "%",
    "%41",
    "#",
    "?",
    "&",
    "=",
    "'",
    '"',
    "`",
    "\\",
    "$",
    ";--",
    "[",
    " ",
    "é😀",
    "@@/",
    "%s",
    "+",
    "::",
]
"""What stands between them."""


def password_of(mark):
    return mark.join(PIECES)


def urls(scheme, place, marks=BETWEEN):
    """Yield URLs with a password: as it has to be written, as people write it, and as a parameter."""
    host, _, parameters = place.partition("?")
    rest = f"?{parameters}" if parameters else ""
    joined = f"{rest}&" if parameters else "?"
    for mark in marks:
        password = password_of(mark)
        yield f"{scheme}://me:{quote(password, safe='')}@{host}{rest}"
        yield f"{scheme}://me:{password}@{host}{rest}"
        for name in ("password", "passwd", "sslpassword", "PWD"):
            yield f"{scheme}://me@{host}{joined}{name}={quote(password, safe='')}"


def leaked(text):
    return [piece for piece in PIECES if piece.lower() in text.lower()]


def files():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


KEPT = ("shallowrules.toml", "password.txt")
"""Where a user has a password."""


@pytest.fixture
def folder(tmp_path, monkeypatch, caplog):
    """A folder with rules and a table; after the test no file of it has the password, no message logged, no child."""
    monkeypatch.chdir(tmp_path)
    replace(small_rules(), settings={"clusters": 2}).to_json("rules.json")
    Path("t.csv").write_text("x,i\n0.25,1\n0.75,3\n0.75,4\n0.25,7\n")
    started = []
    popen = subprocess.Popen.__init__
    monkeypatch.setattr(
        subprocess.Popen, "__init__", lambda self, *a, **o: started.append(repr(a)) or popen(self, *a, **o)
    )
    yield tmp_path
    assert not leaked(caplog.text)
    assert not any(map(leaked, started))


def check(done, what):
    """Assert that no output of a command has the password."""
    assert not leaked(done.output), (what, done.output)
    for path, content in files().items():
        if path.name not in KEPT:
            assert not leaked(f"{path} {content.decode(errors='replace')}"), (what, path)


def arguments_of(command, *, of_files=False):
    """Return the arguments that a command needs besides its rows, which are in a database unless told otherwise."""
    needed = {"rules_file": ["rules.json"], "old": ["rules.json"], "format_name": ["sql"], "name": ["wine"]}
    applies = not of_files and any(parameter.name == "apply" for parameter in command.params)
    words = ["--apply", "view", "--yes", "--replace"] if applies else []
    words += list(chain(*(needed.get(p.name, []) for p in command.params if isinstance(p, click.Argument))))
    for parameter in command.params:
        if parameter.name == "clusters":
            words += ["-k", "2"]
        elif parameter.name == "output" and isinstance(parameter, click.Option) and not applies:
            words += ["-o", {"run": "out", "verify": "out.txt", "label": "out.csv"}.get(command.name, "out.json")]
        elif parameter.name == "max_shift":
            words += ["--max-shift", "100%"]
        elif parameter.name == "force":
            words.append("--force")
    return words


FITTING = ("scale", "drop_missing", "impute", "method", "base", "refine")
"""Options that say how to fit, whatever the rows come from."""


def variants(command, besides=()):
    """Yield no further option, each flag alone, and each choice of each option that has choices."""
    yield []
    for option in command.params:
        if not isinstance(option, click.Option) or option.name in ("force", *besides):
            continue
        if option.is_flag:
            yield [option.opts[0]]
        elif isinstance(option.type, click.Choice):
            yield from ([option.opts[-1], str(choice)] for choice in option.type.choices)


READING = [name for name, command in COMMANDS.items() if any(p.name == "database" for p in command.params)]


def test_the_commands_that_read_databases_are_tried():
    assert {"run", "fit", "path", "verify", "drift"} <= set(READING)


SCHEMES = ("postgresql", "mysql", "sqlite", "duckdb", "mssql+pyodbc", "oracle", "nonsense", "postgresql+psycopg2")
NOWHERE = "127.0.0.1:1/shop?connect_timeout=1"


@pytest.mark.filterwarnings("ignore:'passwd' is deprecated")
@pytest.mark.parametrize("scheme", few(SCHEMES))
def test_a_database_that_is_not_there(folder, scheme):
    for url in urls(scheme, NOWHERE):
        with pytest.raises(ShallowRulesError) as error:
            read_table(DatabaseRows(url, "small"))
        said = "".join(traceback.format_exception(error.value))
        assert not leaked(said.replace(url, "")), url
        assert not leaked(f"{DatabaseRows(url, 'small')!r}"), url


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'passwd' is deprecated")
@pytest.mark.parametrize("name", few(READING))
def test_every_option_with_a_database_that_is_not_there(folder, name):
    command = COMMANDS[name]
    for scheme in SCHEMES:
        for url in urls(scheme, NOWHERE, ["%41"]):
            done = call(name, *arguments_of(command), "--database", url, "--table", "small")
            assert done.exit_code
            check(done, (name, url))
    url = f"postgresql://me:{password_of('')}@{NOWHERE}"
    for variant in variants(command):
        done = call(name, *arguments_of(command), *variant, "--database", url, "--table", "small")
        assert done.exit_code
        check(done, (name, variant))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_url_in_place_of_anything_else(folder, name):
    """As TABLE, as an option that wants another value, as an option that does not exist."""
    command = COMMANDS[name]
    for url in urls("postgresql", NOWHERE, ["@", "'"]):
        check(call(name, *arguments_of(command, of_files=True), url), (name, url))
        check(call(name, *arguments_of(command), f"--nonsense={url}"), (name, url))
    url = f"postgresql://me:{password_of('@')}@{NOWHERE}"
    for parameter in command.params:
        if parameter.name == "cluster_column":  # the column gets the name that is typed
            continue
        placed = [url] if isinstance(parameter, click.Argument) else [parameter.opts[-1], url]
        for rows in ([], ["--database", url, "--table", "small"]):
            words = arguments_of(command, of_files=len(rows) < 2)
            before = [word for word in words if word != "rules.json" or parameter.name not in ("rules_file", "old")]
            check(call(name, *placed, *before, *rows), (name, parameter.name))


@pytest.mark.parametrize("name", few(READING))
def test_a_name_of_the_settings(folder, monkeypatch, name):
    """The password is in the environment or a file, or the settings are wrong."""
    command = COMMANDS[name]
    for mark in BETWEEN if name == "drift" else BETWEEN[1:2]:
        password = password_of(mark)
        monkeypatch.setenv("SHOP_PASSWORD", password)
        Path("password.txt").write_text(password + "\n", encoding="utf-8")
        for scheme in ("postgresql", "mysql"):
            for entry in ('password_env = "SHOP_PASSWORD"', 'password_file = "password.txt"', 'password = "Zq7xKw9v"'):
                Path("shallowrules.toml").write_text(
                    f'[databases.shop]\nurl = "{scheme}://me@127.0.0.1:1/shop"\n{entry}\n', encoding="utf-8"
                )
                done = call(name, *arguments_of(command), "--database", "@shop", "--table", "small")
                assert done.exit_code
                check(done, (name, mark, entry))
    Path("shallowrules.toml").write_text("[databases.shop]\nurl = 'x'\npassword = \"Zq7xKw9v\n", encoding="utf-8")
    check(call(name, *arguments_of(command), "--database", "@shop", "--table", "small"), (name, "broken settings"))


def test_what_is_no_url_is_not_said(folder):
    for text in (
        "me:Zq7x@host/db",
        "postgresql://me:Zq7x",
        "postgresql:/me:Zq7x@host/db",
        "host=x password=Zq7x",
        "Zq7x!",
    ):
        done = call("drift", "rules.json", "--database", text, "--table", "small")
        assert done.exit_code == 2
        check(done, text)
    assert "'shop' is not a URL" in call("drift", "rules.json", "--database", "shop", "--table", "small").stderr


# With a server ------------------------------------------------------------------------------------

SECRET = password_of("@/:'%s")


@pytest.fixture
def guarded(request, running, folder):
    """Return the URL of a server whose user has a password, with the table ``small`` of 40 rows."""
    place = request.param
    pytest.importorskip({"postgres": "psycopg", "mysql": "pymysql"}[place])
    server = running(place)
    quoted = SECRET.replace("'", "''")
    user = "shallowrules"
    if place == "mysql":
        user = "keeper"
        server.query(
            "GRANT ALL ON test.* TO keeper@localhost",
            [f"CREATE USER keeper@localhost IDENTIFIED BY '{quoted}'"],
        )
    server.create(
        "small",
        [("x", server.types["float"]), ("i", server.types["integer"])],
        [(j % 7 / 4, j % 9) for j in range(40)],
    )
    yield server, re.sub("://[^/]*@", f"://{user}:{quote(SECRET, safe='')}@", server.url)
    for kind in ("VIEW", "TABLE"):
        with suppress(EngineError):  # it is the other
            server.query(f"DROP {kind} IF EXISTS small_clusters")
    server.query("DROP TABLE IF EXISTS shallowrules_objects")
    server.drop("small")
    if place == "mysql":
        server.query("DROP USER keeper@localhost")


@pytest.mark.services
@pytest.mark.parametrize("guarded", ["postgres", "mysql"], indirect=True)
@pytest.mark.parametrize("name", spread(READING, 4))
def test_with_a_password_that_lets_in(guarded, name):
    """Commands that succeed, then commands that fail, with the rows named in every way."""
    command, (_, url) = COMMANDS[name], guarded
    well = 0
    for rows in (
        ["--table", "small"],
        ["--table", "small", "--sample", "20"],
        ["--query", "SELECT x, i FROM small"],
        ["--table", "nowhere"],
        ["--table", "no.where"],
        ["--query", "SELECT x, FROM small WHERE"],
        ["--query", "SELECT x / 0 AS x, CAST('a' AS DATE) AS i FROM small"],
        ["--query", "SELECT i FROM small"],
    ):
        for variant in variants(command, FITTING) if rows == ["--table", "small"] else [[]]:
            done = call(name, *arguments_of(command), *variant, "--database", url, *rows)
            check(done, (name, variant, rows))
            well += done.exit_code == 0
    assert well
    if "--apply" in arguments_of(command):
        done = call(name, "rules.json", "--database", url, "--table", "small", "-o", "out.csv", "--cluster-column", "c")
        check(done, (name, "-o"))
        assert done.exit_code == 0, done.output
    wrong = url.replace("Zq7x", "Rp5bZq7x")
    done = call(name, *arguments_of(command), "--database", wrong, "--table", "small")
    check(done, (name, "wrong password"))
    assert done.exit_code == 3 or url.startswith("postgresql")  # which lets everybody in


def _command_lines(parent):
    """Return the command line of each child of a process that was itself given no password."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                yield (folder / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue


@pytest.mark.services
@pytest.mark.parametrize("guarded", ["postgres", "mysql"], indirect=True)
def test_interrupted(guarded):
    """In a process of its own, whose password is in the environment: neither its output nor its children have it."""
    server, url = guarded
    host = url.replace(f":{quote(SECRET, safe='')}", "")
    Path("shallowrules.toml").write_text(f'[databases.shop]\nurl = "{host}"\npassword_env = "SHOP_PASSWORD"\n')
    running, sleep = {
        "postgres": ("FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()", "pg_sleep(0.5)"),
        "mysql": (
            "FROM information_schema.processlist WHERE info LIKE 'SELECT%SLEEP%' AND id <> CONNECTION_ID()",
            "SLEEP(0.1)",
        ),
    }[server.dialect]
    words = ["fit", "--database", "@shop", "--query", f"SELECT x, i, {sleep} AS s FROM small", "-k", "2"]
    with subprocess.Popen(
        [*COMMAND, *words],
        env={**os.environ, "SHOP_PASSWORD": SECRET},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while server.query(f"SELECT COUNT(*) {running}")[0][0] == "0" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(map(leaked, _command_lines(process.pid)))
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode
    assert not leaked(output), output

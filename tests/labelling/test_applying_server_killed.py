"""A server that is killed while labels are written: after its recovery all is as before, and the command works."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from commandline import COMMAND, call
from comparing import PLACES
from databases import execute, schema_of
from draws import spread
from rulesets import small_rules

from shallowrules.errors import EngineError, MissingExtraError
from shallowrules.sources.connecting import parse_url
from shallowrules.verification.engines.programs import is_root, serving, unprivileged

pytest.importorskip("sqlalchemy")

pytestmark = pytest.mark.services

ROWS = 1_000_000
SECONDS = 60

RUNNING = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%{word}%' "
    "AND pid <> pg_backend_pid() AND now() - query_start > interval '0.2 s'",
    "mysql": "SELECT count(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Query' AND INFO LIKE '%{word}%' "
    "AND ID <> CONNECTION_ID() AND TIME_MS > 200",
}

SERVER = {"postgres": ("postgres", "-D"), "mysql": ("mariadbd", "--datadir")}
"""What the server's program is called, and an option that it alone has."""


@pytest.fixture
def server(request, tmp_path, monkeypatch):
    """Start a server for one test, with the table ``small``; write rules."""
    kind = PLACES[request.param]
    try:
        kind.check_installed()
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    digits = " UNION ALL ".join(f"SELECT {digit} AS v" for digit in range(10))
    with kind.open() as opened:
        execute(opened, f"CREATE TABLE digits AS {digits}")
        number = " + ".join(f"{10**place} * d{place}.v" for place in range(6))
        tables = ", ".join(f"digits d{place}" for place in range(6))
        execute(opened, "CREATE TABLE small (x DOUBLE PRECISION, i INTEGER)")
        execute(opened, f"INSERT INTO small SELECT ({number}) / 1e6, ({number}) % 7 FROM {tables}")
        yield opened


def folder_of(opened):
    """Return the folder of a server, where its socket is."""
    query = parse_url(opened.url).query
    return str(query["host"]) if "host" in query else str(Path(str(query["unix_socket"])).parent)


def process_of(opened):
    """Return the ID of a server's process and its command."""
    name, option = SERVER[opened.dialect]
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            number, words = int(folder.name), (folder / "cmdline").read_bytes().decode().split("\0")[:-1]
            is_server = words and Path(words[0]).name == name and any(word.startswith(option) for word in words[1:])
            if is_server and any(folder_of(opened) in word for word in words):
                return number, words
    raise AssertionError("no server runs")


def kill(number):
    """Kill a server and the processes that it has started."""
    started = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == number:
                started.append(int(folder.name))
    for each in (number, *started):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def wait_until(what):
    latest = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < latest
        time.sleep(0.02)


def rows_of(opened):
    return [tuple(map(str, row)) for row in opened.query("SELECT count(*), sum(i), min(x), max(x) FROM small")]


@pytest.mark.parametrize(("server", "style"), spread(product(SERVER, ["table", "update"]), 2), indirect=["server"])
def test_a_killed_server_has_nothing_half_made(server, style):
    before, rows = schema_of(server), rows_of(server)
    number, command = process_of(server)
    label = ["label", "rules.json", "--database", server.url, "--table", "small", "--apply", style, "--yes"]
    word = {"table": "CREATE TABLE", "update": "UPDATE"}[style]
    with subprocess.Popen([*COMMAND, *label], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        try:
            wait_until(lambda: server.query(RUNNING[server.dialect].format(word=word))[0][0] != "0")
            kill(number)
            _, said = client.communicate(timeout=SECONDS)
        finally:
            client.kill()
    assert client.returncode == 3
    assert "Traceback" not in said
    assert "Error: " in said
    as_user = (unprivileged() or []) if is_root() and server.dialect == "postgres" else []
    os.waitpid(number, 0)  # it is a child of this process; its number is not free before

    def answers():
        server.query("SELECT 1")

    refused = None
    for _ in range(20):  # the last processes of the old one hold its memory for a moment
        try:
            with serving(server.title, [*as_user, *command], folder_of(server), answers, signal.SIGKILL):
                assert rows_of(server) == rows
                if style == "update" and server.dialect == "mysql":
                    before = [*before, *(row for row in schema_of(server) if "cluster" in repr(row))]
                assert schema_of(server) == sorted(before, key=repr)
                done = call(*label)
                assert done.exit_code == 0, done.output
                target = "small" if style == "update" else "small_clusters"
                found = dict(server.query(f"SELECT cluster, count(*) FROM {target} GROUP BY cluster"))
                assert sum(map(int, found.values())) == ROWS
                assert {int(label) for label in found if label is not None} == {0, 1, 2}
            return
        except EngineError as error:
            refused = error
            time.sleep(0.5)
    raise refused

"""Labels in a user's database when something goes wrong: locks, rights, interrupts, kills, lost servers, no room."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from applications import OTHER, OTHER_LABELS, applied, apply, expected, labelled, target
from commandline import COMMAND
from databases import SERVERS, SMALL, File, objects_of, on, schema_of
from draws import few
from rights import without_rights
from rulesets import small_rules

from shallowrules.errors import DataError
from shallowrules.labelling.databases import Application, plan_labels, run_plan, running
from shallowrules.sources import DatabaseRows
from shallowrules.sources.connecting import connect, parse_url

sqlalchemy = pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

SECONDS = 20
"""What another process is waited for, at most."""


def said_of(done):
    return " ".join(done.stderr.split())


@contextmanager
def locked(database, statement):
    """Hold the locks of a statement."""
    with connect(parse_url(database.url)) as connection:
        if database.dialect == "sqlite":
            connection.connection.driver_connection.isolation_level = None
        connection.exec_driver_sql(statement)
        yield
        connection.rollback()


LOCKS = {
    "postgres": "LOCK TABLE small IN ACCESS EXCLUSIVE MODE",
    "sqlite": "BEGIN EXCLUSIVE",
    "mysql": "UPDATE small SET x = x + 1",
}


@pytest.mark.slow
@on(*LOCKS)
@pytest.mark.parametrize("style", ["table", "update"])
def test_a_lock_of_another_is_waited_for_no_longer_than_said(shop, words, style):
    before = schema_of(shop)
    with locked(shop, LOCKS[shop.dialect]):
        done = apply(shop, style, "--yes", "--lock-timeout", "1")
    said = said_of(done)
    assert done.exit_code == 3, said
    assert all(part in said for part in ("lock", "--lock-timeout"))
    if shop.dialect in SERVERS:
        assert re.search(r"session \d+ of (shallowrules|root), since \d{4}-", said)
    if (shop.dialect, style) == ("sqlite", "table"):
        words(said)
    assert schema_of(shop) == before
    applied(shop, style)
    assert labelled(shop, target(style)) == expected()


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return a function that makes a file with the table ``small``; the rules are beside it."""
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")

    def file(dialect, folder=tmp_path):
        made = File(dialect, folder / "file.db")
        made.create("small", [("x", "DOUBLE"), ("i", "BIGINT")], SMALL)
        return made

    return file


def test_a_file_of_duckdb_that_another_has_open(file):
    duck = file("duckdb")
    script = f"import duckdb; c = duckdb.connect({str(duck.path)!r}); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        done = apply(duck, "view")
        other.communicate(b"\n")
    assert done.exit_code == 3
    assert "lock" in said_of(done)
    assert f"PID {other.pid}" in said_of(done)
    applied(duck, "view")


# Ended between two statements ------------------------------------------------------------------------


def before_each_event(monkeypatch, do):
    """Call `do` with a number before each statement and each commit of a run."""
    numbers, inside = count(), []
    execute_as_it_is, commit_as_it_is, run = (
        sqlalchemy.Connection.exec_driver_sql,
        sqlalchemy.Connection.commit,
        running._run,
    )

    def executing(self, *arguments, **settings):
        if inside:
            do(next(numbers))
        return execute_as_it_is(self, *arguments, **settings)

    def committing(self):
        if inside:
            do(next(numbers))
        commit_as_it_is(self)

    def running_it(*arguments):
        inside.append(True)
        try:
            run(*arguments)
        finally:
            inside.clear()

    monkeypatch.setattr(sqlalchemy.Connection, "exec_driver_sql", executing)
    monkeypatch.setattr(sqlalchemy.Connection, "commit", committing)
    monkeypatch.setattr(running, "_run", running_it)


@pytest.mark.slow
@on("sqlite", "duckdb", "mysql")
@pytest.mark.parametrize("case", few(["view", "table again", "update"]))
def test_an_interrupt_before_any_statement_leaves_all_as_it_was(shop, monkeypatch, case):
    style, *again = case.split()
    rows, application = DatabaseRows(shop.url, "small"), Application(style=style, replace=bool(again))
    if again:
        run_plan(plan_labels(OTHER, rows, Application(style=application.style)))
    before, labels = schema_of(shop), OTHER_LABELS
    name = target(application.style)
    for moment in count():
        plan = plan_labels(small_rules(), rows, application)

        def interrupt(number, moment=moment):
            if number == moment:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            before_each_event(patch, interrupt)
            try:
                run_plan(plan)
                break
            except KeyboardInterrupt:
                pass
        if again:
            assert labelled(shop, name) in (expected(labels), expected())
        if shop.dialect != "mysql":
            assert schema_of(shop) == before
        elif not again:  # all of it, or nothing
            found = schema_of(shop)
            assert found == before or (labelled(shop, name) == expected() and "unfinished" not in repr(found))
    assert moment >= 2
    assert labelled(shop, name) == expected()
    run_plan(plan_labels(small_rules(), rows, application, undo=True))
    assert not [row for row in schema_of(shop) if "shallowrules" in repr(row)]


def killed_at(moment, plan):
    """Run a plan in another process, which is killed before a statement; return whether it was."""

    def kill(number):
        if number == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            before_each_event(pytest.MonkeyPatch(), kill)
            run_plan(plan)
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the child runs nothing of other threads


@FORKS
@on("mysql")
@pytest.mark.parametrize("style", ["view", "table", "update"])
def test_what_a_kill_leaves_where_nothing_is_undone_is_whole_and_known(shop, style):
    """Killed before each statement in turn; the same command does the rest, and leftovers are removed."""
    original, rows = schema_of(shop), DatabaseRows(shop.url, "small")
    first, again = Application(style=style), Application(style=style, replace=True)
    for moment in count():
        run_plan(plan_labels(small_rules(), rows, first))
        was_killed = killed_at(moment, plan_labels(OTHER, rows, again))
        assert labelled(shop, target(style)) in (expected(), expected(OTHER_LABELS))
        run_plan(plan_labels(OTHER, rows, again))
        assert labelled(shop, target(style)) == expected(OTHER_LABELS)
        run_plan(plan_labels(OTHER, rows, again, undo=True))
        assert schema_of(shop) == original
        if not was_killed:
            break
    assert moment >= 3


@FORKS
@on("mysql")
@pytest.mark.parametrize("style", ["view", "table"])
def test_a_kill_while_something_is_made_first_leaves_it_whole_or_not_at_all(shop, style):
    original, rows = schema_of(shop), DatabaseRows(shop.url, "small")
    for moment in count():
        was_killed = killed_at(moment, plan_labels(small_rules(), rows, Application(style=style)))
        if "small_clusters" in repr(shop.query("SHOW TABLES")):
            assert labelled(shop, "small_clusters") == expected()
        run_plan(plan_labels(small_rules(), rows, Application(style=style, replace=True)))
        assert labelled(shop, target(style)) == expected()
        run_plan(plan_labels(small_rules(), rows, Application(style=style), undo=True))
        assert schema_of(shop) == original
        if not was_killed:
            break
    assert moment >= 1


@pytest.mark.slow
@FORKS
@on("sqlite", "duckdb", "postgres")
@pytest.mark.parametrize("style", few(["view", "table", "update"]))
def test_a_kill_before_the_end_of_the_transaction_changes_nothing(shop, style):
    rows = DatabaseRows(shop.url, "small")
    applied(shop, style)
    before = schema_of(shop)
    plan = plan_labels(OTHER, rows, Application(style=style, replace=True))
    last = len(plan.statements)
    for moment in range(last + 1):
        assert killed_at(moment, plan)
        assert schema_of(shop) == before
        assert labelled(shop, target(style)) == expected()
    assert not killed_at(last + 1, plan)
    assert labelled(shop, target(style)) == expected(OTHER_LABELS)


# Ended in the middle of a statement, which waits for a lock -------------------------------------------

BLOCKING = {"postgres": "LOCK TABLE small IN EXCLUSIVE MODE", "mysql": "UPDATE small SET x = x + 1"}
WAITING = {
    "postgres": "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    "mysql": "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' "
    "UNION SELECT ID FROM information_schema.PROCESSLIST WHERE STATE LIKE '%metadata lock'",
}
BUSY = WAITING | {
    "mysql": "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Query' AND ID <> CONNECTION_ID()"
}
END = {"postgres": "SELECT pg_terminate_backend({number})", "mysql": "KILL {number}"}


def session_of(database, query, there=True):
    """Return the first session of a query when there is one, or wait until there is none."""
    latest = time.monotonic() + SECONDS
    while time.monotonic() < latest:
        rows = database.query(query[database.dialect])
        if bool(rows) == there:
            return rows[0][0] if rows else None
        time.sleep(0.2)  # MariaDB renews its table of transactions when that has not been read for a tenth of a second
    raise AssertionError("nobody waits" if there else "somebody still works")


def ended_while_it_waits(database, style, end):
    """Apply in another process, end it while its statement waits for a lock; return its status and its message."""
    command = ["label", "rules.json", "--database", database.url, "--table", "small", "--yes", "--apply", style]
    with (
        locked(database, BLOCKING[database.dialect]),
        subprocess.Popen([*COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client,
    ):
        try:
            number = session_of(database, WAITING)
            if end == "server":
                database.query(END[database.dialect].format(number=number))
            else:
                client.send_signal(end)
            _, said = client.communicate(timeout=SECONDS)
        finally:
            client.kill()
    session_of(database, BUSY, there=False)
    return client.returncode, " ".join(said.split())


@on("postgres", "mysql")
@pytest.mark.parametrize("end", [signal.SIGINT, "server"])
def test_who_is_stopped_while_waiting_leaves_nothing(shop, end):
    before = schema_of(shop)
    style = "update" if shop.dialect == "postgres" else "table"
    status, said = ended_while_it_waits(shop, style, end)
    assert status == (3 if end == "server" else 130)
    if end == "server":
        assert "connection is lost" in said or "been dropped" in said
    assert "Traceback" not in said
    assert schema_of(shop) == before
    applied(shop, style)
    assert labelled(shop, target(style)) == expected()


@on("postgres", "mysql")
@pytest.mark.parametrize("style", ["table", "update"])
def test_who_is_killed_while_waiting_leaves_nothing_half_made(shop, style):
    before = schema_of(shop)
    if (shop.dialect, style) == ("postgres", "table"):
        return  # which waits for nobody: the kill before each statement shows it
    status, _ = ended_while_it_waits(shop, style, signal.SIGKILL)
    assert status == -signal.SIGKILL
    if shop.dialect == "postgres":
        assert schema_of(shop) == before
    elif style == "table" and "small_clusters" in repr(shop.query("SHOW TABLES")):  # the server went on
        assert labelled(shop, "small_clusters") == expected()
    applied(shop, style, "--replace")
    assert labelled(shop, target(style)) == expected()
    applied(shop, style, "--undo")
    assert schema_of(shop) == before


ENDLESS = "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT 0.5 AS x, n AS i FROM r"


@pytest.mark.slow
@on("sqlite")  # DuckDB looks for signals between its tasks alone, and one may take as long as it likes
def test_ctrl_c_ends_a_statement_in_this_process(shop):
    shop.run(f"CREATE VIEW endless AS {ENDLESS}")
    before = schema_of(shop)
    command = ["label", "rules.json", "--database", shop.url, "--table", "endless", "--apply", "view"]
    with subprocess.Popen([*COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        try:
            time.sleep(3)
            client.send_signal(signal.SIGINT)
            _, said = client.communicate(timeout=SECONDS)
        finally:
            client.kill()
    assert said.strip() == "Aborted!"
    assert client.returncode == 130
    assert schema_of(shop) == before


@on("mysql")
def test_what_could_not_be_taken_away_is_said(shop, monkeypatch):
    rows, application = DatabaseRows(shop.url, "small"), Application(style="view")
    plan = plan_labels(small_rules(), rows, application)

    def unreachable(url):
        raise DataError("no server")

    def fail(number):
        if number == 3:
            monkeypatch.setattr(running, "connect", unreachable)
            raise sqlalchemy.exc.OperationalError("a statement", None, Exception("gone"))

    before_each_event(monkeypatch, fail)
    with pytest.raises(DataError, match="been dropped, except .*undo"):
        run_plan(plan)
    monkeypatch.undo()
    assert "shallowrules_new" in repr(schema_of(shop))
    run_plan(plan_labels(small_rules(), rows, application, undo=True))
    assert "shallowrules" not in repr(schema_of(shop))


# Rights and room ------------------------------------------------------------------------------------

GUESTS = {
    "postgres": ["CREATE ROLE guest LOGIN PASSWORD 'hidden'", "GRANT SELECT, UPDATE ON small TO guest"],
    "mysql": [
        "CREATE DATABASE shop",  # everybody may do everything in `test`
        "CREATE TABLE shop.small AS SELECT * FROM test.small",
        "CREATE USER guest@localhost IDENTIFIED BY 'hidden'",
        "GRANT SELECT, UPDATE ON shop.small TO guest@localhost",
    ],
}
"""What makes a user who may read and update the table, and no more."""

NO_GUESTS = {
    "postgres": ["REVOKE ALL ON small FROM guest", "DROP ROLE guest"],
    "mysql": ["DROP USER guest@localhost", "DROP DATABASE shop"],
}


@on(*SERVERS)
def test_a_right_that_is_missing_is_named(shop):
    *first, last = GUESTS[shop.dialect]
    shop.query(last, first)
    before = objects_of(shop)
    url = re.sub("://[^/]*@", "://guest:hidden@", shop.url).replace("/test?", "/shop?")
    guest = type("Guest", (), {"url": url})
    try:
        for style, right in (("view", "CREATE"), ("table", "CREATE"), ("update", "column to|ALTER")):
            done = apply(guest, style, "--yes")
            assert done.exit_code == 3
            assert re.search(rf"right is missing.* '{style}' .*({right})", said_of(done))
            assert "hidden" not in done.output
            assert objects_of(shop) == before
    finally:
        *first, last = NO_GUESTS[shop.dialect]
        shop.query(last, first)


def test_a_file_that_may_only_be_read(file):
    with tempfile.TemporaryDirectory() as folder:
        lite = file("sqlite", Path(folder))
        before = lite.path.read_bytes()
        os.chmod(lite.path, 0o444)
        os.chmod(folder, 0o555)
        rows = DatabaseRows(lite.url, "small")
        with without_rights(), pytest.raises(DataError, match="right is missing") as error:
            run_plan(plan_labels(small_rules(), rows, Application(style="view")))
        assert all(part in str(error.value) for part in ("'view'", "folder", "Nothing has changed"))
        assert lite.path.read_bytes() == before


@pytest.fixture
def tiny():
    """Return a folder with room for 2 MB, which everybody may write to; or skip."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "tiny")
        folder.mkdir()
        os.chmod(parent, 0o755)
        mount = shutil.which("mount")
        made = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs", folder], check=False)
        if not made or made.returncode:
            pytest.skip("no file system of a given size can be mounted here")
        yield folder
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("style", ["table", "update"])
def test_a_full_disk_leaves_the_table_as_it_was(file, tiny, dialect, style):
    full = file(dialect, tiny)
    rows = "INSERT INTO small WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {}) {}"
    select = (
        "SELECT random() * 0.5 + 0.25, random() * 4 FROM r"
        if dialect == "duckdb"
        else ("SELECT abs(random() % 1000000) / 2e6 + 0.25, random() FROM r")
    )
    full.run(rows.format(45_000, select))
    before = schema_of(full)
    content = full.query("SELECT count(*), sum(x), min(i) FROM small")
    with open(tiny / "filler", "wb") as filler:
        filler.write(bytes(max(0, shutil.disk_usage(tiny).free - 200_000)))
    done = apply(full, style, "--yes")
    assert done.exit_code == 3, done.output
    assert all(part in said_of(done) for part in ("the disk is full", "Nothing has changed"))
    (tiny / "filler").unlink()
    assert schema_of(full) == before
    assert full.query("SELECT count(*), sum(x), min(i) FROM small") == content


@on("postgres")
def test_a_full_tablespace_leaves_all_as_it_was(shop, tiny):
    [[data]] = shop.query("SHOW data_directory")
    owner = os.stat(data)
    os.chown(tiny, owner.st_uid, owner.st_gid)
    shop.query("INSERT INTO small SELECT random(), n % 7 FROM generate_series(1, 100000) n")
    shop.query(f"CREATE TABLESPACE tiny LOCATION '{tiny}'")
    before = schema_of(shop)
    try:
        shop.query("ALTER ROLE shallowrules SET default_tablespace = tiny")
        done = apply(shop, "table")
        assert done.exit_code == 3, done.output
        assert all(part in said_of(done) for part in ("the disk is full", "Nothing has changed"))
        assert schema_of(shop) == before
    finally:
        shop.query("ALTER ROLE shallowrules RESET default_tablespace")
        shop.query("DROP TABLESPACE tiny")

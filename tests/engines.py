"""Database servers for tests: started where they are installed, for the tests alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def _binary(name: str) -> str | None:
    """Return where a PostgreSQL binary is; Debian keeps them off the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders)]))


class Postgres:
    """A PostgreSQL server that listens on a socket in a folder of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def query(self, text: str) -> list[list[str]]:
        """Run statements and return the rows, NULL as the empty text."""
        command = [
            "psql",
            "-h",
            self.folder,
            "-U",
            "tester",
            "-d",
            "postgres",
            "-XqAt",
            "-F",
            "\x1f",
            "-v",
            "ON_ERROR_STOP=1",
        ]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [line.split("\x1f") for line in done.stdout.splitlines()]


@contextlib.contextmanager
def postgres() -> Iterator[Postgres | None]:
    """Run a server; None where PostgreSQL is not installed or does not start."""
    initdb, pg_ctl = _binary("initdb"), _binary("pg_ctl")
    as_user = []
    if os.name == "posix" and os.geteuid() == 0:  # it refuses to run as root
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    if not (initdb and pg_ctl and shutil.which("psql") and (not as_user or shutil.which("setpriv"))):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="shallowrules-pg-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)
        data = f"{folder}/data"

        def run(*command: str) -> bool:
            return (
                subprocess.run([*as_user, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
                == 0
            )

        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        made = run(initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        if not (made and run(pg_ctl, "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")):
            yield None
            return
        try:
            yield Postgres(folder)
        finally:
            run(pg_ctl, "-D", data, "-m", "immediate", "stop")

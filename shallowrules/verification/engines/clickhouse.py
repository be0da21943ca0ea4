"""ClickHouse, in this process: the package chdb."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Self

from shallowrules.errors import EngineError
from shallowrules.verification.engines.base import Cell, Engine, Row, escape_line, missing_engine, unescape_cell

__all__ = ["ClickHouse"]


def _import_session() -> ModuleType:
    try:
        return import_module("chdb.session")
    except ImportError:
        raise missing_engine(ClickHouse.dialect, "chdb", extra="engines") from None


class ClickHouse(Engine):
    """The ClickHouse of the package chdb, a database of its own in it."""

    dialect = "clickhouse"
    title = "ClickHouse"
    types: ClassVar[Mapping[str, str]] = {
        "integer": "Nullable(Int64)",
        "unsigned": "Nullable(UInt64)",
        "float": "Nullable(Float64)",
        "float32": "Nullable(Float32)",
        "text": "Nullable(String)",
        "date": "Nullable(Date32)",
        "timestamp": "Nullable(DateTime64(6))",
        "timestamptz": "Nullable(DateTime64(6, 'UTC'))",
        "boolean": "Nullable(Bool)",
    }
    settings: ClassVar[Mapping[str, str]] = {"SET transform_null_in = 1": "SET transform_null_in = 0"}

    def __init__(self, session: Any) -> None:
        self._session = session
        [[version]] = self.query("SELECT version()")
        self.version = str(version)

    @classmethod
    def check_installed(cls) -> None:
        """Import it."""
        _import_session()

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        """Open a database. All databases in a process share one engine, so each has a name of its own."""
        database = f"shallowrules_{uuid.uuid4().hex}"
        with closing(_import_session().Session()) as session:
            engine = cls(session)
            [[before]] = engine.query("SELECT currentDatabase()")
            engine.query(f"USE {database}", [f"CREATE DATABASE {database} ENGINE = Memory"])
            try:
                yield engine
            finally:
                engine.query(f"DROP DATABASE {database}", [f"USE {before}"])

    def quote(self, name: str) -> str:
        """Return a name as SQL."""
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make and fill a table."""
        self.query(f"{self._declare(table, columns)} ENGINE = Memory")
        lines = "".join(f"{escape_line(map(_in_utc, row))}\n" for row in rows)
        if lines:
            self.query(f"INSERT INTO {self.quote(table)} FORMAT TabSeparated\n{lines}")

    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run a statement. Settings in `before` hold for this statement alone, as in a session of its own."""
        settings = [name for text in before if text.startswith("SET ") for name in re.findall(r"(\w+) =", text)]
        try:
            for text in (*before, statement):
                said = self._run(text)
        finally:
            if settings:
                self._run(f"SET {', '.join(f'{name} = DEFAULT' for name in settings)}")
        lines = said.decode(errors="surrogateescape").split("\n")[:-1]
        return [tuple(map(unescape_cell, line.split("\t"))) for line in lines]

    def _run(self, text: str) -> bytes:
        try:
            said: bytes = self._session.query(text, "TabSeparated").bytes()
        except (RuntimeError, UnicodeError) as error:
            raise EngineError(self.title, text, str(error)) from error
        return said


def _in_utc(value: Cell) -> Cell:
    """Return a point in time as it is read into a column in UTC: without an offset."""
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value

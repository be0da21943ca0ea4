"""The abilities of every database engine that is run here."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import ClassVar, Self

from shallowrules.errors import MissingExtraError

__all__ = [
    "Cell",
    "Engine",
    "Row",
    "as_text",
    "days_and_clock",
    "escape_line",
    "missing_engine",
    "unescape_cell",
]

Cell = bool | int | float | Decimal | str | date | timedelta | None
"""A value for filling a column: NaN and infinities are floats, NULL is None."""

Row = tuple[str | None, ...]
"""A row of a result: every value as the engine writes it, None for NULL."""


class Engine(ABC):
    """A database engine that runs in this process, or as a server of its own for as long as it is open.

    Attributes
    ----------
    dialect : str
        The SQL dialect that it speaks, as `shallowrules.exporters.sql.DIALECTS` names it.
    title : str
        What it is called.
    types : mapping
        For each type of the rules ("float", "integer", "text", "boolean", and those of dates, points in time and
        durations that the engine has) the column that holds it, for "float32" the column of single precision, and for
        "unsigned" that of whole numbers up to 2**64 - 1 where the engine has one.
    settings : mapping
        Statements that change what SQL means in a session, each with the one that takes it back; rules have to mean the
        same under each.
    holds_nan, holds_infinity, holds_nul : bool
        Whether its columns can hold NaN, infinities, and a text with the character 0.
    version : str
        What the engine says of itself.
    """

    dialect: ClassVar[str]
    title: ClassVar[str]
    types: ClassVar[Mapping[str, str]]
    settings: ClassVar[Mapping[str, str]] = {}
    holds_nan: ClassVar[bool] = True
    holds_infinity: ClassVar[bool] = True
    holds_nul: ClassVar[bool] = True
    version: str

    @classmethod
    @abstractmethod
    def check_installed(cls) -> None:
        """Raise MissingExtraError, which says what to install, where the engine is not installed."""

    @classmethod
    @abstractmethod
    def open(cls) -> AbstractContextManager[Self]:
        """Start a server of its own; nothing is left of it when the context ends.

        Raises
        ------
        MissingExtraError
            If it is not installed.
        EngineError
            If it does not start.
        """

    def quote(self, name: str) -> str:
        """Return a name as SQL, without the exporter's help."""
        return '"' + name.replace('"', '""') + '"'

    @abstractmethod
    def create(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]]) -> None:
        """Make a table of columns, each a name and its declared type, and fill it.

        A value has to fit the declared type; the engine converts it on insertion. EngineError if it refuses
        the table or a row.
        """

    @abstractmethod
    def query(self, statement: str, before: Sequence[str] = ()) -> list[Row]:
        """Run a statement and return its rows, in order; `before` are statements to run first, in the same session.

        EngineError, with the statement and the engine's answer, if it refuses one.
        """

    def drop(self, table: str) -> None:
        """Remove a table."""
        self.query(f"DROP TABLE {self.quote(table)}")

    def _declare(self, table: str, columns: Sequence[tuple[str, str]]) -> str:
        declared = ", ".join(f"{self.quote(name)} {kind}" for name, kind in columns)
        return f"CREATE TABLE {self.quote(table)} ({declared})"


def missing_engine(dialect: str, package: str, *, extra: str | None = None, command: str | None = None) -> Exception:
    """Return the error of an engine that is not installed."""
    return MissingExtraError(f"running the SQL of dialect {dialect!r}", package, extra, command=command)


def as_text(value: Cell) -> str | None:
    """Return a value as most engines read it from text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, timedelta):
        days, clock = days_and_clock(value)
        return f"{days} days {'-' if value < timedelta(0) else ''}{clock}"
    return format(value, "f") if isinstance(value, Decimal) else repr(value)


def days_and_clock(value: timedelta) -> tuple[str, str]:
    """Return the days of a duration with its sign, and the rest as hours, minutes and seconds without one."""
    sign, size = ("-", -value) if value < timedelta(0) else ("", value)
    return (
        f"{sign}{size.days}",
        f"{size.seconds // 3600:02}:{size.seconds // 60 % 60:02}:{size.seconds % 60:02}.{size.microseconds:06}",
    )


_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_ESCAPED = {escape[1]: character for character, escape in _ESCAPES.items()} | {"b": "\b", "f": "\f"}  # of ClickHouse


def escape_line(values: Iterable[Cell]) -> str:
    r"""Return a row as a line of values between tabs, ``\N`` for NULL: what several engines read and write."""
    texts = map(as_text, values)
    return "\t".join(
        "\\N" if text is None else re.sub(r"[\\\t\n\r\0]", lambda m: _ESCAPES[m[0]], text) for text in texts
    )


def unescape_cell(cell: str) -> str | None:
    """Return a value of such a line."""
    if cell == "\\N":
        return None
    return re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), cell, flags=re.DOTALL)

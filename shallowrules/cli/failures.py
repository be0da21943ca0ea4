"""Exit statuses, and messages for failures other than the package's own errors."""

from __future__ import annotations

import os
from collections.abc import Sequence

from shallowrules.errors import (
    DataError,
    EngineError,
    ExportError,
    MissingExtraError,
    OptionError,
    RulesFormatError,
    SettingsError,
    ShallowRulesError,
)

__all__ = ["DONE", "FOUND", "INTERRUPTED", "MISUSED", "STOPPED", "RefusedOutputError", "failure_kind", "failure_text"]

DONE = 0
FOUND = 1
"""`verify`, `drift` or `diff` completed its check and found something."""

MISUSED = 2
"""The command line itself is wrong: an option, a value or a combination of options."""

STOPPED = 3
"""Anything else that stopped the command: a missing file, data that cannot be used, an existing file, no memory."""

INTERRUPTED = 130

TRACEBACK = "SHALLOWRULES_TRACEBACK"
"""The environment variable that also shows the traceback of a failure."""

KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (KeyboardInterrupt, "interrupted"),
    (SettingsError, "settings"),
    (OptionError, "usage"),
    (MissingExtraError, "extra"),
    (RulesFormatError, "rules"),
    (ExportError, "export"),
    (EngineError, "engine"),
    (MemoryError, "memory"),
    (OSError, "file"),
    (DataError, "table"),
    (ShallowRulesError, "refused"),
)
"""The kinds of failures for programs, by the exception that is among the causes; the first one holds."""


class RefusedOutputError(ShallowRulesError):
    """A file that cannot or may not be written: the option that names it, and command lines that write it."""

    def __init__(self, message: str, option: str, commands: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.option, self.commands = option, tuple(commands)


DATABASE_PACKAGES = ("sqlalchemy", "adbc_driver_manager")
"""Packages whose exceptions are about a database."""


def failure_kind(causes: Sequence[BaseException]) -> str:
    """Return the kind of a failure: a word that stays the same when a message is reworded.

    `causes` are the exception and those that led to it.
    """
    types = [kind for cause in causes for kind in type(cause).__mro__]
    if any(kind.__module__.partition(".")[0] in DATABASE_PACKAGES for kind in types):
        return "database"
    if any(kind.__name__ == "OutOfMemoryException" for kind in types):
        return "memory"
    return next((word for kind, word in KINDS if kind in types), "unexpected")


def failure_text(error: Exception) -> str:
    """Return a failure as one line with a remedy, below its traceback where `TRACEBACK` asks for one."""
    shown = ""
    if os.environ.get(TRACEBACK, "0") not in ("", "0"):
        import traceback

        shown = "".join(traceback.format_exception(error)) + "\n"
    return shown + _line(error)


def _line(error: Exception) -> str:
    said = str(error).strip().partition("\n")[0]
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in ("click", "rich"):
        return str(MissingExtraError("the command line", package, "cli"))
    if isinstance(error, UnicodeEncodeError) or "cannot encode str as UTF-8" in said:  # DuckDB's words
        return "a name or text is not valid UTF-8 and cannot be written; rename the file, or correct the text"
    # DuckDB is not imported to say so.
    unmapped = isinstance(error, ImportError) and ("map segment" in said or "allocate memory" in said)
    if isinstance(error, MemoryError) or unmapped or type(error).__name__ == "OutOfMemoryException":
        return (
            "there is not enough memory; free some or raise the limit (ulimit -v); "
            "run, fit and refit read a table in parts with --memory SIZE"
        )
    if isinstance(error, RuntimeError) and "start new thread" in said:
        return (
            "no more threads can be started; raise the limit of memory or of processes (ulimit -v, ulimit -u), "
            "or set OMP_NUM_THREADS=1"
        )
    if isinstance(error, RecursionError):
        return "the input is nested too deeply to be read; use a flatter one"
    if isinstance(error, ValueError) and "embedded null" in said:
        return "the name of a file contains a NUL character; remove it"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    kind = type(error).__name__
    return f"unexpected {kind}: {said or 'no message'}; {TRACEBACK}=1 shows the traceback to include in a report"

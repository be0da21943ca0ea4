"""``--json``: what a command found, its notes and its refusal, as one JSON document on stdout."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import click

from shallowrules.cli.escaping import as_utf8, spell_plainly
from shallowrules.cli.failures import MISUSED, STOPPED, RefusedOutputError, failure_kind
from shallowrules.cli.options.shared import split_at_dashes
from shallowrules.cli.options.verbosity import is_quiet
from shallowrules.errors import OptionError, OptionName

__all__ = [
    "Record",
    "is_for_document",
    "json_option",
    "json_wanted",
    "plain",
    "record_command",
    "record_note",
    "recording",
    "report",
]

SCHEMA = "shallowrules-result/1"

OPTION = "--json"

NOT_RUN = frozenset({"-h", "--help", "--version"})
"""Options with which no command runs: what they show goes to stdout."""


@dataclass
class Record:
    """What a command says, kept for a document while it is shown to people.

    Parameters
    ----------
    stdout : text stream or None
        Where the document goes.
    nowhere : text stream
        Where the text for people goes if the command is quiet.
    wanted : bool
        Whether a document is written.
    command : click.Command or None
        None until it is known which one runs.
    result : mapping or None
        What it found; None if it stopped before that.
    notes : list of dict
    """

    stdout: TextIO | None
    nowhere: TextIO
    wanted: bool = False
    command: click.Command | None = None
    result: Mapping[str, Any] | None = None
    notes: list[dict[str, str | None]] = field(default_factory=list)

    def want(self, wanted: bool) -> None:
        """Keep stdout for the document, if one is wanted: all else then goes to stderr, or nowhere if that is quiet."""
        self.wanted = wanted
        others = self.nowhere if is_quiet() else sys.stderr
        sys.stdout = others if wanted else self.stdout

    def document(self, status: int, failure: BaseException | None, hide: Callable[[str], str]) -> str:
        """Return the document.

        Parameters
        ----------
        status : int
        failure : BaseException or None
            What stopped the command.
        hide : callable
            Returns a text without the passwords of the command line.
        """
        document = {
            "schema": SCHEMA,
            "command": None if self.command is None else self.command.name,
            "status": status,
            "result": self.result,
            "notes": self.notes,
            "error": None if failure is None else _error(failure, status, self.command),
        }
        return json.dumps(plain(document, hide), indent=1, allow_nan=False) + "\n"


_record: ContextVar[Record] = ContextVar("record")


@contextmanager
def recording(typed: Sequence[str]) -> Iterator[Record]:
    """Keep a record of a command.

    A document is wanted from the first moment, so that a wrong option too is reported as one; the option itself, once
    it is parsed, may tell otherwise.
    """
    words, _ = split_at_dashes(typed)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        record = Record(sys.stdout, nowhere)
        record.want(OPTION in words and not NOT_RUN & set(words))
        token = _record.set(record)
        try:
            yield record
        finally:
            _record.reset(token)
            if record.wanted:  # otherwise click may have put something in its place
                sys.stdout = record.stdout


def _want(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not context.resilient_parsing and (record := _record.get(None)) is not None:
        record.want(wanted)


json_option = click.option(
    OPTION,
    is_flag=True,
    expose_value=False,
    callback=_want,
    help="Write the result to stdout as one JSON document for programs; text for people goes to stderr.",
)


def json_wanted() -> bool:
    """Return whether stdout is kept for a document."""
    record = _record.get(None)
    return record is not None and record.wanted


def record_command(command: click.Command | None) -> None:
    """Keep the command that is run."""
    if (record := _record.get(None)) is not None:
        record.command = command


def is_for_document(path: Path) -> bool:
    """Return whether a path is where the document goes."""
    record = _record.get(None)
    if record is None or not record.wanted or record.stdout is None or str(path) == os.devnull:
        return False
    try:
        return os.path.samestat(os.stat(path), os.fstat(record.stdout.fileno()))
    except (OSError, ValueError):  # the file does not exist, or the stream is not one of a file
        return False


def report(result: Mapping[str, Any]) -> None:
    """Keep a command's result for the document."""
    if (record := _record.get(None)) is not None:
        record.result = result


def record_note(kind: str, fact: str, remedy: str) -> None:
    """Keep a note or a warning for the document."""
    if (record := _record.get(None)) is not None:
        record.notes.append({"kind": kind, "fact": fact, "remedy": _words(remedy) or None})


def _words(remedy: str) -> str:
    """Return a remedy without what joins it to the fact before it: a blank, a mark, or brackets around it all."""
    words = remedy.strip().lstrip(":;,").strip()
    inner = words[1:-1]
    around = all(inner.count("(", 0, end) >= inner.count(")", 0, end) for end in range(len(words)))
    return inner if words[:1] + words[-1:] == "()" and around else words


def plain(value: Any, text: Callable[[str], str] = str) -> Any:
    """Return a value as JSON holds it.

    NaN is null, infinity the largest double, and whole numbers have all their digits. Times and other values are text,
    which `text` may change.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(as_utf8(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        largest = sys.float_info.max
        return None if math.isnan(value) else float(max(-largest, min(largest, value)))
    if isinstance(value, Mapping):
        return {as_utf8(str(key)): plain(held, text) for key, held in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(each, text) for each in value]
    number = getattr(value, "item", None)  # of NumPy
    return plain(number() if callable(number) else str(value), text)


def _error(failure: BaseException, status: int, command: click.Command | None) -> dict[str, Any]:
    """Return the entry for the failure that stopped a command."""
    causes = _causes(failure)
    kind = _kind(failure, status, causes)
    options = (option for cause in causes if (option := _option(cause, command)) is not None)
    findings = next((found for cause in causes if (found := getattr(cause, "findings", ()))), ())
    return {
        "kind": kind,
        "message": _message(failure),
        "option": None if kind == "settings" else next(options, None),  # nobody typed one
        "column": next((finding.column for finding in findings if finding.column is not None), None),
        "commands": next((commands for cause in causes if (commands := getattr(cause, "commands", ()))), ()),
        "findings": [vars(finding) for finding in findings],
    }


def _kind(failure: BaseException, status: int, causes: Sequence[BaseException]) -> str:
    if status == MISUSED:
        return "usage"
    answered_no = isinstance(failure, click.Abort) and status == STOPPED
    return "refused" if answered_no else failure_kind(causes)


def _causes(failure: BaseException) -> list[BaseException]:
    """Return an exception and those that led to it, also those that its traceback would hide."""
    causes: list[BaseException] = []
    cause: BaseException | None = failure
    while cause is not None and cause not in causes:  # an exception may lead back to itself
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes


def _message(failure: BaseException) -> str:
    if isinstance(failure, click.ClickException):
        return failure.format_message()
    return "Aborted!" if isinstance(failure, click.Abort) else str(failure)


def _option(error: BaseException, command: click.Command | None) -> str | None:
    """Return the option that an error is about, as the command line spells it."""
    if isinstance(error, OptionError) and error.option is not None:
        return spell_plainly(OptionName(error.option), command)
    if isinstance(error, RefusedOutputError):
        return error.option
    if isinstance(error, click.NoSuchOption | click.BadOptionUsage):
        return error.option_name
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        return error.param.opts[0]
    return None

"""How much a command tells, and where: -q, -v and --log-file, which every command has."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shallowrules.cli.failures import INTERRUPTED, RefusedOutputError
from shallowrules.cli.options.shared import typed_arguments, values_typed
from shallowrules.errors import ShallowRulesError

if TYPE_CHECKING:
    from shallowrules.cli.terminal import Terminal

__all__ = ["end_log", "is_quiet", "is_verbose", "log_misuse", "log_shown", "log_stage", "verbosity_options"]

CHOSEN = "shallowrules.cli: verbosity"
"""The key under which a context keeps how strongly -q and -v are chosen: 0 not at all, 1 by a file, 2 as typed."""

LOGGER = logging.getLogger("shallowrules")
"""Gets the stages of a command, and those of the fit."""

SHOWN = LOGGER.getChild("cli")
"""Gets what a command shows on the terminal: notes, warnings and errors."""

TIME = "%Y-%m-%d %H:%M:%S%z"

LOG_BEGINS = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4} ")

_added: list[tuple[logging.Handler, int]] = []
"""The handlers of the command that runs, and the level of the logger before each."""


def _choice() -> int:
    """Return how much more -v is chosen than -q."""
    context = click.get_current_context(silent=True)
    chosen = {} if context is None else context.meta.get(CHOSEN, {})
    return int(chosen.get("verbose", 0) - chosen.get("quiet", 0))


def is_quiet() -> bool:
    """Return whether to show only errors and the product of the command."""
    return _choice() < 0


def is_verbose() -> bool:
    """Return whether to show the stages of the command."""
    return _choice() > 0


def log_stage(doing: str) -> None:
    """Log the stage that begins."""
    LOGGER.info("%s", doing)


def log_shown(kind: str, message: str) -> None:
    """Log a note, a warning or an error that the terminal shows."""
    SHOWN.info("%s: %s", kind, message)


def end_log(status: int) -> None:
    """Log how the command ended, and close its log."""
    SHOWN.info("interrupted" if status == INTERRUPTED else f"ended with exit status {status}")
    while _added:
        handler, level = _added.pop()
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        with suppress(OSError):  # of a full disk, which was said
            handler.close()


def _add(handler: logging.Handler) -> None:
    _added.append((handler, LOGGER.level))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)


class _StagesOnTerminal(logging.Handler):
    """Shows stages on stderr. Notes of a fit are left to the command, which shows them with remedies."""

    def __init__(self) -> None:
        from shallowrules.cli.terminal import Terminal

        super().__init__()
        self._console: Terminal = Terminal(stderr=True, soft_wrap=True)

    def filter(self, record: logging.LogRecord) -> bool:
        return record.name == LOGGER.name and not _is_note(record)

    def emit(self, record: logging.LogRecord) -> None:
        from rich.text import Text

        self._console.print(Text(record.getMessage()))


class _LogFile(logging.FileHandler):
    """Appends lines with their time to a file; further lines of a message are indented."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s", TIME))

    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_note(record)

    def format(self, record: logging.LogRecord) -> str:
        from shallowrules.cli.escaping import printable

        return printable(super().format(record)).replace("\n", "\n    ")

    def handleError(self, record: logging.LogRecord) -> None:
        """Say once that the log ends here: the work goes on."""
        LOGGER.removeHandler(self)
        click.echo(f"warning: {self.baseFilename} cannot be written to; the log ends", err=True)


def _is_note(record: logging.LogRecord) -> bool:
    """Return whether a record is a note of a fit, which is logged again as it is shown."""
    return getattr(record, "is_note", False)


def _choose(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Keep the choice: a typed option takes precedence over a file. Once both are known, show stages if wanted."""
    name = str(parameter.name)
    chosen: dict[str, int] = context.meta.setdefault(CHOSEN, {})
    chosen[name] = wanted * (2 if context.get_parameter_source(name) is ParameterSource.COMMANDLINE else 1)
    if len(chosen) < 2 or context.resilient_parsing:
        return
    if wanted and chosen["quiet"] == chosen["verbose"]:
        raise click.UsageError("-q and -v exclude each other")
    if is_verbose():
        _add(_StagesOnTerminal())


def _begin_log(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is not None and not context.resilient_parsing:
        _open_log(path, typed_arguments() or [])


def log_misuse(typed: Sequence[str]) -> None:
    """Begin the log of a command whose options could not be parsed, --log-file among them, if it can be."""
    paths = values_typed("--log-file", typed)
    if paths and not _added:
        with suppress(ShallowRulesError, OSError):
            _open_log(Path(paths[-1]), typed)


def _open_log(path: Path, words: Sequence[str]) -> None:
    """Begin a log with the command line, without passwords."""
    if path.is_file():
        with open(path, "rb") as stream:
            begin = stream.read(64)
        if begin and not LOG_BEGINS.match(begin):
            message = f"{path} is not a log of shallowrules; name another file (--log-file)"
            raise RefusedOutputError(message, "--log-file")
    from shallowrules.cli.escaping import join_words

    _add(_LogFile(path))
    if any("://" in word for word in words):
        from shallowrules.sources.connecting import hide_typed_passwords

        words = [hide_typed_passwords(word, [word]) for word in words]
    SHOWN.info("%s", join_words(["shallowrules", *words]))


def verbosity_options() -> Sequence[click.Option]:
    """Return the options that every command has."""
    common: dict[str, Any] = {"is_eager": True, "expose_value": False}
    return (
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            callback=_choose,
            help="Print only errors and the product: no progress, notes, warnings or summary of what was written.",
            **common,
        ),
        click.Option(
            ["-v", "--verbose"], is_flag=True, callback=_choose, help="Print the stages of the work.", **common
        ),
        click.Option(
            ["--log-file"],
            type=click.Path(path_type=Path),
            metavar="FILE",
            callback=_begin_log,
            help="Append the stages, notes, warnings, errors and the exit status to this file, each with its time.",
            **common,
        ),
    )

"""Results to stdout or to files that are written whole, everything else to stderr."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from shallowrules.cli.escaping import join_words, spell_plainly
from shallowrules.cli.failures import FOUND, RefusedOutputError
from shallowrules.cli.options.shared import split_at_dashes, typed_arguments
from shallowrules.cli.options.verbosity import is_quiet, is_verbose, log_shown, log_stage
from shallowrules.cli.results import is_for_document, record_note
from shallowrules.errors import ShallowRulesNote, ShallowRulesWarning
from shallowrules.files import atomic_write

__all__ = [
    "FindingsReported",
    "Note",
    "check_folder",
    "check_target",
    "messages_of",
    "progress",
    "say",
    "show_message",
    "warnings_shown",
    "write_files",
    "write_result",
    "written_line",
]

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
"""The mode bits for writing: a writable file has at least one of them; root may write any file."""

UNFINISHED = ".unfinished-"
"""Prefix of the name of a folder in which files wait until all are written."""


class FindingsReported(click.ClickException):
    """A finding of `verify` or `drift`, in a sentence: not a failure, but the caller has to know about it."""

    exit_code = FOUND


@dataclass(frozen=True)
class Note:
    """A message on a table: the fact, which the rules keep, then a remedy, which names options."""

    fact: str
    remedy: str = ""

    def __str__(self) -> str:
        return self.fact + self.remedy


def check_folder(folder: Path, names: Sequence[str], *sources: str, force: bool) -> None:
    """Make sure that files may be written to a folder, are not among the inputs, and may be replaced if they exist.

    Raises
    ------
    RefusedOutputError
        If they may not.
    """
    _refuse_loop(folder)
    if folder.exists() and not folder.is_dir():
        raise RefusedOutputError(f"{folder} is a file; name a folder for the results (-o)", "-o")
    _check_writable(folder if folder.is_dir() else _parent(folder))
    existing = [folder / name for name in names if os.path.lexists(folder / name)]
    for path in existing:
        if path.is_dir():
            raise RefusedOutputError(f"{path} is a folder; name another folder for the results (-o)", "-o")
    for name in _folders_of(names):
        if os.path.lexists(folder / name) and not (folder / name).is_dir():
            raise RefusedOutputError(f"{folder / name} is a file; name another folder for the results (-o)", "-o")
    for path in existing:
        _check_unread(path, sources)
    _check_overwriting(existing, force)


def check_target(target: Path | None, *sources: str, force: bool, option: str = "-o") -> None:
    """Make sure, before the work, that a file named by an option can be written and is not one of the inputs.

    One that exists is replaced if `force` says so; pipes and devices are written to.

    Raises
    ------
    RefusedOutputError
        If it cannot or may not be written.
    """
    if target is None:
        return
    if str(target) == "-":
        raise RefusedOutputError(f"'-' does not stand for stdout here; name a file ({option})", option)
    if target.is_dir():
        raise RefusedOutputError(f"{target} is a folder; name a file ({option})", option)
    _refuse_loop(target, option)
    if not target.exists() or target.is_file():  # not a pipe or a device
        _check_writable(_parent(target), option)
    _check_unread(target, sources, option)
    if is_for_document(target):
        raise RefusedOutputError(
            f"{target} is stdout, which --json needs for its document; name another file ({option})", option
        )
    if target.is_file():
        _check_overwriting([target], force, option)


def _parent(path: Path) -> Path:
    """Return the folder that a path leads to through links; for a loop of links, which `resolve` refuses, its own."""
    return Path(os.path.realpath(path)).parent


def _refuse_loop(path: Path, option: str = "-o") -> None:
    """Raise RefusedOutputError for a path whose links lead in a circle: `Path.exists` says that nothing is there."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RefusedOutputError(
                f"the links of {path} lead in a circle; name another place ({option})", option
            ) from None


def _check_overwriting(existing: Sequence[Path], force: bool, option: str = "-o") -> None:
    """Refuse to replace files without --force, and read-only ones in any case: RefusedOutputError."""
    for path in existing:
        if path.is_file() and not (path.stat().st_mode & WRITABLE and os.access(path, os.W_OK)):
            raise RefusedOutputError(
                f"{path} is read-only and is not overwritten; make it writable, or name another ({option})",
                option,
            )
    if existing and not force:
        names = ", ".join(map(str, existing))
        said = "exists; use --force to overwrite it" if len(existing) == 1 else "exist; use --force to overwrite them"
        raise RefusedOutputError(f"{names} {said}", option, _forced())


def _forced() -> list[str]:
    """Return the command that was typed, with --force."""
    typed = typed_arguments()
    if not typed:
        return []
    options, arguments = split_at_dashes(typed)
    return [join_words(["shallowrules", *options, "--force", *arguments])]


def _check_unread(target: Path, sources: Iterable[str], option: str = "-o") -> None:
    for source in sources:
        if target.exists() and os.path.exists(source) and os.path.samefile(target, source):
            raise RefusedOutputError(f"{target} is the file that is read; name another ({option})", option)


def written_line(*files: object) -> str:
    """Return the line that names the written files."""
    return f"written        {', '.join(map(str, files))}"


def write_result(content: str | bytes, target: Path | None) -> None:
    """Write a result to a file, whole or not at all, or the same bytes to stdout."""
    if target is None:
        click.echo(content.encode("utf-8") if isinstance(content, str) else content, nl=False)
    else:
        atomic_write(target, content)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files to a folder, so that it never holds files of two runs under these names.

    A name may contain folders, with ``/`` between its parts; missing ones are created.

    New files are written beside the old ones, which are removed before the new ones take their places: a run that is
    killed in between leaves files of one run only. Runs into one folder wait for one another.
    """
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with _held(folder):
            for abandoned in folder.glob(f"{UNFINISHED}*"):  # of a run that was killed
                shutil.rmtree(abandoned, ignore_errors=True)
            with TemporaryDirectory(prefix=UNFINISHED, dir=folder) as stage:
                _swap(folder, Path(stage), files)
    except BaseException:
        if made:
            with suppress(OSError):  # the folder has files, or another run uses it
                folder.rmdir()
        raise


def _swap(folder: Path, stage: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files to the stage, and put them in the folder in place of its own; or leave the folder unchanged."""
    new, old = stage / "new", stage / "old"
    folders = _folders_of(files)
    for root in (new, old):
        for part in ("", *folders):
            (root / part).mkdir()
    for name, content in files.items():
        atomic_write(new / name, content)
    made: list[Path] = []
    replaced: list[str] = []
    written: list[str] = []
    try:
        for part in folders:
            if not (folder / part).is_dir():
                (folder / part).mkdir()
                made.append(folder / part)
        for name in files:
            if os.path.lexists(folder / name):
                replaced.append(name)
                os.replace(folder / name, old / name)
        for name in files:
            written.append(name)
            os.replace(new / name, folder / name)
    except BaseException:
        for name in written:
            with suppress(FileNotFoundError):
                os.replace(folder / name, new / name)
        for name in replaced:
            with suppress(FileNotFoundError):
                os.replace(old / name, folder / name)
        for place in reversed(made):
            with suppress(OSError):  # somebody else put a file there
                place.rmdir()
        raise


def _folders_of(names: Iterable[str]) -> list[str]:
    """Return the folders in front of names, each before those within it."""
    parts = [name.split("/")[:-1] for name in names]
    return sorted({"/".join(folders[: end + 1]) for folders in parts for end in range(len(folders))})


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep other runs from writing to a folder; the system ends that with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def show_message(kind: str, message: str | Note) -> None:
    """Show a note or a warning on stderr, unless the user wants neither."""
    log_shown(kind, str(message))
    record_note(kind, *((message.fact, message.remedy) if isinstance(message, Note) else (message, "")))
    if is_quiet():
        return
    from rich.text import Text

    from shallowrules.cli.terminal import Terminal

    console = Terminal(stderr=True, soft_wrap=True)
    console.print(Text.assemble((f"{kind}: ", "bold yellow"), str(message)))


def say(text: str) -> None:
    """Show a line on stderr that is neither a note nor an error, unless the user wants none."""
    if not is_quiet():
        click.echo(text, err=True)


class ProgressLine:
    """The line that shows progress. Call it with the completed share of the work.

    Parameters
    ----------
    doing : str
    show : callable
        Takes the line; called when it has changed.
    """

    def __init__(self, doing: str, show: Callable[[str], None]) -> None:
        self._doing, self._show = doing, show
        self._done = self._best = ""

    def __call__(self, done: float) -> None:
        self._done = f": {done:.0%}"
        self._show(self._doing + self._done + self._best)

    def tell_best(self, objective: float) -> None:
        """From now on, show J of the best tree so far."""
        self._best = f", best J {objective:.4f}"
        self._show(self._doing + self._done + self._best)


@contextmanager
def progress(doing: str) -> Iterator[ProgressLine]:
    """Show progress on a terminal, and pass the package's warnings on to stderr.

    Yields a function to call with the completed share of the work.
    """
    from rich.text import Text

    from shallowrules.cli.terminal import Terminal

    log_stage(doing)
    console = Terminal(stderr=True)
    with warnings_shown():
        shows = console.is_terminal and not (is_quiet() or is_verbose())
        if shows and not console.is_plain:
            with console.status(Text(doing)) as status:
                yield ProgressLine(doing, lambda line: status.update(Text(line)))
        else:
            if shows:
                console.print(Text(doing))
            yield ProgressLine(doing, lambda line: None)


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Pass our warnings on to stderr, in our own form."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ShallowRulesWarning)
        yield
    for kind, message in messages_of(caught):
        show_message(kind, message)


def messages_of(caught: Iterable[warnings.WarningMessage]) -> list[tuple[str, Note]]:
    """Return the kind (note or warning) and message of each warning that is the package's own or meant for users."""
    found: list[tuple[str, Note]] = []
    for warning in caught:
        message = warning.message
        if isinstance(message, ShallowRulesWarning):
            kind = "note" if isinstance(message, ShallowRulesNote) else "warning"
            remedy = message.worded(spell_plainly).removeprefix(message.fact)
            found.append((kind, Note(message.fact, remedy)))
        elif isinstance(message, UserWarning):
            found.append(("warning", Note(str(message))))
    return found


def _check_writable(folder: Path, option: str = "-o") -> None:
    if not folder.is_dir():
        raise RefusedOutputError(f"there is no folder {folder}; create it first, or name another ({option})", option)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RefusedOutputError(f"the folder {folder} cannot be written to; name another ({option})", option)

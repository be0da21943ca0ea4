"""Files: reading, writing them whole or not at all, keeping them for a while; rules for every JSON file."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallowrules.errors import DataError, SettingsError

__all__ = [
    "FULL",
    "RULES_FILE",
    "SETTINGS_FILE",
    "STANDARD_INPUT",
    "Reading",
    "atomic_path",
    "atomic_write",
    "distinct_keys",
    "folder_settings",
    "read_whole",
    "scratch_folder",
]

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a file on a full disk."""

STANDARD_INPUT = "-"
"""The name that stands for data piped to the command."""

RULES_FILE = "rules.json"
"""The file of rules that `run` writes, by which its folder is known to hold results."""

SETTINGS_FILE = "shallowrules.toml"
"""The file of the current folder with databases and with defaults of the command line."""

PROJECT_FILE = "pyproject.toml"
"""The file whose table ``[tool.shallowrules]`` may have them instead."""

MAX_WHOLE = 2**28
"""Maximum number of bytes of a file that is read whole: rules of 5,000 clusters and 400 columns take a sixth of it."""


@dataclass(frozen=True)
class Reading:
    """How a file of rows is read.

    Parameters
    ----------
    delimiter : str, optional
        One character between the fields of a CSV file. By default a tab for ``.tsv``, else the one
        of ``, ; tab |`` by which the header and the rows have the same number of fields.
    decimal : {".", ","}
        The separator of the fraction of a number in a CSV file.
    thousands : str, optional
        What groups the digits of numbers in a CSV file: a comma, a point, an apostrophe or a blank. Where it is a
        point, the decimal separator is a comma. By default it is found, column by column.
    format : sequence of str
        How columns write numbers, where that is not detected: the name and an example, as ``"revenue=$1,234.50"``;
        without an example, as any program reads them.
    null : sequence of str
        Texts that mean "no value", compared without the blanks around them: ``""`` is a field
        of nothing but spaces. An empty field has no value in any case.
    encoding : str
        Of a text file; a byte order mark is skipped.
    keep_text : sequence of str
        Words such as NA, NULL and None that are values of a CSV file's columns of text. Others read them as missing, so
        that they are refused unless they are here or in `null`.
    dates : sequence of str
        How dates are written in columns, each as ``"signup=%d/%m/%Y"``, in the letters of `strptime`; one of
        `shallowrules.tables.dates.FORMATS`. By default it is found, and refused where two formats fit.
    header : {"first", "none"}, optional
        Whether the first row of a text file's table names the columns; without a header they are called column1 and so
        on. By default the rows tell.
    skip : int, optional
        Lines above the table. By default title lines are found.
    comment : str, optional
        Prefix of lines that are not part of the table. By default ``#`` where these lines are not rows.
    footer : int, optional
        Rows at the end that are not part of the table, blank ones not counted. By default notes and totals are found.
    sheet : str, optional
        The sheet of a workbook. By default the only one that has a table.
    """

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    format: Sequence[str] = ()
    null: Sequence[str] = ()
    encoding: str = "utf-8"
    keep_text: Sequence[str] = ()
    dates: Sequence[str] = ()
    header: str | None = None
    skip: int | None = None
    comment: str | None = None
    footer: int | None = None
    sheet: str | None = None


def distinct_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, for `json.loads`; ValueError for a repeated key, which readers resolve differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        repeated = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"an object repeats the key {repeated!r}")
    return found


def read_whole(path: str | os.PathLike[str], most: int = MAX_WHOLE) -> bytes:
    """Return the content of a file that is read whole: not a table, whose rows may be more than memory holds.

    Raises
    ------
    DataError
        If it has more than `most` bytes, as an endless device does.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise DataError(f"{path} is larger than {most:,} bytes, the maximum that is read; is it the right file?")
    return content


def folder_settings() -> tuple[str, dict[str, Any]] | None:
    """Return the settings of the current folder, after the name of their file; None if there are none.

    Raises
    ------
    SettingsError
        If a file is not TOML, or both files have settings.
    """
    own = _read_toml(SETTINGS_FILE)
    # A pyproject.toml that is not TOML, and does not even seem to have the table, is a matter of other programs.
    project = _read_toml(PROJECT_FILE, b"shallowrules", b"[tool.shallowrules").get("tool", {})
    table = project.get("shallowrules", {}) if isinstance(project, dict) else {}
    if not isinstance(table, dict):
        raise SettingsError(f"{PROJECT_FILE}: tool.shallowrules must be a table")
    if own and table:
        raise SettingsError(f"{SETTINGS_FILE} and [tool.shallowrules] in {PROJECT_FILE} both have settings; use one")
    if table:
        return f"[tool.shallowrules] in {PROJECT_FILE}", table
    return (SETTINGS_FILE, own) if os.path.exists(SETTINGS_FILE) else None


def _read_toml(path: str, needed: bytes = b"", table: bytes = b"") -> dict[str, Any]:
    """Return the content of a TOML file; nothing if it does not exist, or does not contain the text `needed`.

    One that is not TOML is refused if it has the beginning of a `table`; otherwise it says nothing to this program.
    """
    try:
        content = read_whole(path)
    except FileNotFoundError:
        return {}
    if needed not in content:
        return {}
    import tomllib

    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if table not in content:
            return {}
        raise SettingsError(f"{path} cannot be read: {error}") from error


def atomic_write(path: str | Path, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, to `path`: all of it, or the file stays as it was.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to.
    """
    with atomic_path(path) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield the path of an empty file to write to, which takes the place of `path` if all goes well.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to.
    """
    target = Path(path)
    special = target.exists() and not target.is_file()  # a pipe, a terminal, /dev/stdout
    if not special:
        # A link keeps pointing to the file; a link to a pipe has no path after it.
        target = Path(os.path.realpath(target))
    try:
        part = _private_file() if special else _new_file(target)
        try:
            with _room_in_scratch() if special else nullcontext():
                yield part
            if special:
                with open(part, "rb") as source, open(target, "wb") as sink:
                    shutil.copyfileobj(source, sink)
                part.unlink()
            else:
                if target.exists():
                    os.chmod(part, target.stat().st_mode & 0o777)
                os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:  # it may name the temporary file, or nothing
        if error.errno is not None:
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def scratch_folder() -> Iterator[str]:
    """Yield a folder for temporary files, which is removed when the context ends.

    Raises
    ------
    DataError
        If the disk is full: names the folder and a remedy.
    """
    with _room_in_scratch(), tempfile.TemporaryDirectory(prefix="shallowrules-") as folder:
        yield folder


@contextmanager
def _room_in_scratch() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise DataError(
            f"the folder for temporary files, {tempfile.gettempdir()}, is full ({error.strerror}); free some space "
            "there, or name another folder in the environment variable TMPDIR"
        ) from error


def _new_file(path: Path) -> Path:
    """Make an empty file beside a path, which has the permissions that any new file gets, and return its path.

    Its name is not that of `path`, which may be as long as a name can be, or hold bytes that no database takes.
    """
    while True:
        part = path.with_name(f".shallowrules-{secrets.token_hex(8)}.part")
        try:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # less the umask
        except FileExistsError:
            continue
        return part


def _private_file() -> Path:
    """Create an empty file for the content of a pipe or a device, and return its path."""
    handle, name = tempfile.mkstemp(prefix="shallowrules-", suffix=".part")
    os.close(handle)
    return Path(name)

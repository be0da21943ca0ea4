"""Looking for files: a path that cannot be examined is an error that names it, so no rows are silently omitted."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path

from shallowrules.errors import DataError

__all__ = ["is_file", "is_folder", "look", "matches", "walk"]


def look(path: str) -> os.stat_result | None:
    """Return the system's information on a path, None if nothing is there.

    Raises
    ------
    DataError
        If that cannot be determined, or the path is a link that leads nowhere: its target may have been a folder of
        tables.
    """
    try:
        return os.stat(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.islink(path):
            return None
        raise _unreachable(path, error) from error


def is_folder(path: str) -> bool:
    """Return whether a path is a folder; DataError as of `look`."""
    found = look(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def is_file(path: str) -> bool:
    """Return whether a path is a regular file; DataError as of `look`, and for a pipe, a socket or a device."""
    found = look(path)
    if found is None or stat.S_ISDIR(found.st_mode):
        return False
    if not stat.S_ISREG(found.st_mode):
        raise DataError(
            f"{path}: this is a pipe, a socket or a device, which is not read as one of several files; move it to "
            "another folder, or name the files to read"
        )
    return True


def walk(folder: str, leaves_out: Callable[[str], bool]) -> Iterator[tuple[str, list[str]]]:
    """Yield a folder and each folder below it, with the paths in it that are not folders.

    Links to folders are followed. A folder that is reached in several ways is entered once, by its own name if it lies
    below `folder`.

    Parameters
    ----------
    folder : str
    leaves_out : callable
        Takes the path of a file or folder, and returns whether to pass over it without looking at it.
    """
    pending, entered = deque([folder]), set[str]()
    while pending:
        parent = pending.popleft()
        place = os.path.realpath(parent)
        if place in entered:
            continue
        entered.add(place)
        files = []
        for path in _paths_in(parent):
            if leaves_out(path):
                continue
            if not is_folder(path):
                files.append(path)
            elif os.path.islink(path):
                pending.append(path)
            else:
                pending.appendleft(path)
        yield parent, files


def matches(pattern: str) -> list[str]:
    """Return the files that match a pattern: those of `glob.glob`, which skips paths that it cannot examine."""
    found, parts = [os.curdir], Path(pattern).parts
    for place, part in enumerate(parts, start=1):
        folders = list(filter(is_folder, found))
        if part == "**":
            found = []
            for folder, files in (each for start in folders for each in walk(start, _is_hidden)):
                found += files if place == len(parts) else [folder]
        elif has_magic(part):
            hidden = part.startswith(".")
            found = [
                path
                for path in (each for folder in folders for each in _paths_in(folder))
                if fnmatch(os.path.basename(path), part) and (hidden or not _is_hidden(path))
            ]
        else:
            found = [_join(folder, part) for folder in folders]
    return list(filter(is_file, found))


def _is_hidden(path: str) -> bool:
    return os.path.basename(path).startswith(".")


def _join(folder: str, name: str) -> str:
    return name if folder == os.curdir else os.path.join(folder, name)


def _paths_in(folder: str) -> list[str]:
    """Return the paths of everything in a folder, sorted; DataError if they cannot be listed."""
    try:
        return [_join(folder, name) for name in sorted(os.listdir(folder))]
    except OSError as error:
        raise _unreachable(folder, error) from error


def _unreachable(path: str, error: OSError) -> DataError:
    what = f"this link leads to {os.readlink(path)}, which" if os.path.islink(path) else "this"
    return DataError(
        f"{path}: {what} cannot be reached ({error.strerror or error}), and its rows would be missing. Make it "
        "readable, or move it away; or name the files to read"
    )

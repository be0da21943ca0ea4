"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`: all of it, or the file stays as it was.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to.
    """
    target = Path(path).resolve()
    try:
        _replace(target, text)
    except OSError as error:  # it may name the temporary file, or nothing
        if error.errno is not None:
            error.filename, error.filename2 = str(path), None
        raise


def _replace(target: Path, text: str) -> None:
    """Write beside the target, then put it in its place."""
    if target.exists() and not target.is_file():  # a pipe, a terminal, /dev/stdout
        target.write_text(text, encoding="utf-8", newline="\n")
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode & 0o777)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

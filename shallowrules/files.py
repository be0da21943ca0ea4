"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_path", "atomic_write"]


def atomic_write(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`: all of it, or the file stays as it was.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to.
    """
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give the path of an empty file to write to, which takes the place of `path` if all goes well.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to.
    """
    target = Path(path).resolve()
    special = target.exists() and not target.is_file()  # a pipe, a terminal, /dev/stdout
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".part", dir=None if special else target.parent
        )
        os.close(handle)
        part = Path(name)
        try:
            yield part
            if special:
                with open(part, "rb") as source, open(target, "wb") as sink:
                    shutil.copyfileobj(source, sink)
                part.unlink()
            else:
                mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
                os.chmod(part, mode & 0o777)
                os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:  # it may name the temporary file, or nothing
        if error.errno is not None:
            error.filename, error.filename2 = str(path), None
        raise


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

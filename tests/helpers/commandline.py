"""Running the command line, in this process or in another."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

from shallowrules.cli import commands

COMMAND = [sys.executable, "-c", "from shallowrules.cli import script; script()"]
SCALED = (
    "the rules are in the table's own units; "
    "for the clustering, every column of numbers is scaled to the range 0 to 1 (--scale minmax)"
)
"""The note about the default scale."""


def call(*arguments: object, **settings: Any) -> Result:
    """Run a command in this process."""
    result = CliRunner().invoke(commands.shallowrules, [str(argument) for argument in arguments], **settings)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def spawn(*arguments: Any, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in another process."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=120, **settings)


def refused(*arguments: object, status: int = 3, **settings: Any) -> str:
    """Run a command that must fail with a message and leave every file as it was; return the message."""
    before = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
    result = call(*arguments, **settings)
    assert result.exit_code == status
    assert result.stdout == ""
    assert {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()} == before
    assert "Traceback" not in result.stderr
    # One message, in one paragraph, whatever the width of a terminal.
    return " ".join(result.stderr.partition("Error: ")[2].split())


def write_groups(path: Any = "t.csv", n_rows: int = 60) -> Any:
    """Write a table of three groups and two columns, and return its path."""
    generator = np.random.default_rng(0)
    centers = np.array([[0, 0], [10, 0], [0, 10]])[np.arange(n_rows) % 3]
    rows: np.ndarray = (centers + generator.normal(0, 0.5, (n_rows, 2))).round(3)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["width", "my height"], *rows.tolist()])
    return path

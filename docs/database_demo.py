"""The commands of docs/database.md, run in order against a PostgreSQL of their own.

    python docs/database_demo.py            # runs them and shows what they print
    python docs/database_demo.py --write    # and puts it into the page

The commands are the lines of the page's `console` blocks that begin with ``$``, so that the page shows what runs. The
server, its database with the table and the folder of the commands are made for them, and nothing of it is left.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from shallowrules.engines.postgres import Postgres
from shallowrules.engines.programs import program
from shallowrules.sources import read_table

PAGE = Path(__file__).with_name("database.md")

BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)

SETTINGS = """\
[databases.cellar]
url = "postgresql:///cellar"
password_env = "CELLAR_PASSWORD"
"""

COLUMNS = 110
"""Width of the terminal that the commands see."""


@dataclass(frozen=True)
class Shell:
    """A folder and an environment to run commands in."""

    folder: str
    environment: dict[str, str]

    def run(self, command: str) -> str:
        """Return what a command prints, with its exit status on a line of its own where that is not 0."""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        lines = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n").splitlines()
        lines += [f"[exit status {done.returncode}]"] if done.returncode else []
        return "".join(f"{line}\n" for line in lines)

    def prepare(self, command: str) -> None:
        """Run a command that the page does not show; RuntimeError if it prints anything."""
        if said := self.run(command):
            raise RuntimeError(f"{command}: {said}")


@contextmanager
def cellar() -> Iterator[Shell]:
    """Start a server whose database ``cellar`` has the table ``wine``."""
    with Postgres.open() as server, TemporaryDirectory(prefix="shallowrules-") as folder:
        programs = [str(Path(sys.executable).parent), str(Path(str(program("psql"))).parent)]
        others = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        environment = {
            **others,
            "PATH": os.pathsep.join([*programs, os.environ.get("PATH", os.defpath)]),
            "COLUMNS": str(COLUMNS),
            "PGHOST": server.url.partition("?host=")[2],
            "PGUSER": "shallowrules",
            "CELLAR_PASSWORD": "a cork",
        }
        shell = Shell(folder, environment)
        Path(folder, "shallowrules.toml").write_text(SETTINGS, encoding="utf-8")
        shell.prepare("shallowrules sample wine -o wine.csv 2>&1 | grep -v ^written; test -s wine.csv")
        wine = read_table(Path(folder, "wine.csv"))
        declared = ", ".join(f'"{column.name}" {server.types[column.type]}' for column in wine.columns)
        shell.prepare("psql -Xqd postgres -c 'CREATE DATABASE cellar'")
        shell.prepare(f"psql -Xqd cellar -c 'CREATE TABLE wine ({declared})'")
        shell.prepare(r"psql -Xqd cellar -c '\copy wine FROM wine.csv CSV HEADER' && rm wine.csv")
        yield shell


def renewed(page: str, shell: Shell) -> str:
    """Return a page with what its commands print now, which is shown on the way."""

    def block(found: re.Match[str]) -> str:
        shown = []
        for command in re.findall(r"^\$ (.*)$", found[0], re.MULTILINE):
            shown.append(f"$ {command}\n{shell.run(command)}")
            print(shown[-1], flush=True)
        return "\n".join(shown)

    return BLOCK.sub(block, page)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the page. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"put what comes into {PAGE.name}")
    options = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    with cellar() as shell:
        text = renewed(page, shell)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

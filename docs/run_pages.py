"""The commands that pages of docs/ show, run in order.

database.md has a PostgreSQL of its own, the others have an empty folder.

    python docs/run_pages.py                     # runs them all and shows what they print
    python docs/run_pages.py database --write    # runs those of one page, and puts what comes into it

The commands are the lines of a page's `console` blocks that begin with ``$``, so that the page shows what runs. Folder,
server and table are made for them, and nothing of it is left.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from shallowrules.engines.postgres import Postgres
from shallowrules.engines.programs import program
from shallowrules.sources import read_table

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


def environment_of(*programs: Path, **variables: str) -> dict[str, str]:
    """Return the environment of commands that find these folders of programs first, this Python's among them."""
    path = [str(Path(sys.executable).parent), *map(str, programs), os.environ.get("PATH", os.defpath)]
    others = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**others, "PATH": os.pathsep.join(path), "COLUMNS": str(COLUMNS), **variables}


@contextmanager
def folder() -> Iterator[Shell]:
    """Make an empty folder."""
    with TemporaryDirectory(prefix="shallowrules-") as name:
        yield Shell(name, environment_of())


@contextmanager
def cellar() -> Iterator[Shell]:
    """Start a server whose database ``cellar`` has the table ``wine``."""
    with Postgres.open() as server, TemporaryDirectory(prefix="shallowrules-") as name:
        environment = environment_of(
            Path(str(program("psql"))).parent,
            PGHOST=server.url.partition("?host=")[2],
            PGUSER="shallowrules",
            CELLAR_PASSWORD="a cork",
        )
        shell = Shell(name, environment)
        Path(name, "shallowrules.toml").write_text(SETTINGS, encoding="utf-8")
        shell.prepare("shallowrules sample wine -o wine.csv 2>&1 | grep -v ^written; test -s wine.csv")
        wine = read_table(Path(name, "wine.csv"))
        declared = ", ".join(f'"{column.name}" {server.types[column.type]}' for column in wine.columns)
        shell.prepare("psql -Xqd postgres -c 'CREATE DATABASE cellar'")
        shell.prepare(f"psql -Xqd cellar -c 'CREATE TABLE wine ({declared})'")
        shell.prepare(r"psql -Xqd cellar -c '\copy wine FROM wine.csv CSV HEADER' && rm wine.csv")
        yield shell


PLACES: dict[str, Callable[[], AbstractContextManager[Shell]]] = {
    "index": folder,
    "clusters": folder,
    "sheet": folder,
    "tables": folder,
    "editing": folder,
    "commands": folder,
    "database": cellar,
}
"""Where the commands of each page run."""


def page_of(name: str) -> Path:
    """Return the file of a page."""
    return Path(__file__).with_name(f"{name}.md")


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
    """Run pages. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"{', '.join(PLACES)}; all of them by default")
    parser.add_argument("--write", action="store_true", help="put what comes into the page")
    options = parser.parse_args(arguments)
    if unknown := sorted({*options.pages} - {*PLACES}):
        parser.error(f"no page has the name {unknown[0]}: there are {', '.join(PLACES)}")
    for name in options.pages or PLACES:
        page = page_of(name)
        with PLACES[name]() as shell:
            text = renewed(page.read_text(encoding="utf-8"), shell)
        if options.write:
            page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The code blocks of README.md, CONTRIBUTING.md and the pages of docs/, run in order.

    python docs/run_pages.py                     # runs them all and shows what the commands print
    python docs/run_pages.py database --write    # runs those of one page, and puts what they print into it

A page runs in a folder of its own, database.md beside a PostgreSQL of its own; nothing of either is left.

- ``console``: lines that begin with ``$`` are commands, and what follows is what they print.
- ``sh`` is run as a whole, and must succeed.
- ``python``: the blocks of a page run after its commands, in one process, as one module.
- ``<!-- not run: reason -->`` on the line before a block says why it is not run.
- ``<!-- printed by: command -->`` on the line before a block or a table: this is what the command prints, and not run.
- ``<!-- run sh`` or ``<!-- run python``, on a line of its own, begins what is run and not shown; ``-->`` ends it.
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
from textwrap import dedent, indent

from shallowrules.sources import read_table
from shallowrules.verification.engines.postgres import Postgres
from shallowrules.verification.engines.programs import program

BLOCK = re.compile(
    r"(?P<left_out>^ *<!-- not run: [^\n]+ -->\n)?(?:^ *<!-- printed by: (?P<printed>[^\n]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$"
    r"|^(?P<margin> *)<!-- printed by: (?P<table>[^\n]+) -->\n(?P<rows>(?:(?P=margin)\|[^\n]*\n)+)"
    r"|^<!-- run (?P<unseen>sh|python)\n(?P<first>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
LANGUAGES = {"console", "sh", "python"}
"""What is run."""
SHOWN = {"text", "json", "toml", "yaml", "ini", "jinja", "c", "js", "sql"}
"""What is not code, or is a part of other code."""

SETTINGS = """\
[databases.cellar]
url = "postgresql:///cellar"
password_env = "CELLAR_PASSWORD"
"""

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

COLUMNS = 110
"""Width of the terminal that the commands see."""


@dataclass(frozen=True)
class Shell:
    """A folder and an environment to run commands in."""

    folder: str
    environment: dict[str, str]

    def start(self, command: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
        """Return what came of a command that reads a text."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )

    def run(self, command: str) -> str:
        """Return what a command prints, with its exit status on a line of its own where that is not 0."""
        done = self.start(["sh", "-c", command])
        lines = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n").splitlines()
        lines += [f"[exit status {done.returncode}]"] if done.returncode else []
        return "".join(f"{line}\n" for line in lines)

    def execute(self, command: Sequence[str], text: str, place: str) -> None:
        """Run code; RuntimeError if it fails."""
        done = self.start(command, text)
        if done.returncode:
            raise RuntimeError(f"{place}: exit status {done.returncode}\n{text}\n{done.stdout}")

    def prepare(self, command: str) -> None:
        """Run a command that the page does not show; RuntimeError if it prints anything."""
        if said := self.run(command):
            raise RuntimeError(f"{command}: {said}")


def environment_of(*programs: Path, **variables: str) -> dict[str, str]:
    """Return the environment of commands that find these folders of programs first, this Python's among them."""
    path = [str(Path(sys.executable).parent), *map(str, programs), os.environ.get("PATH", os.defpath)]
    others = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    data = os.environ.get("SHALLOWRULES_DATA") or str(ROOT.parent / "shared" / "data")
    settings = {
        "PATH": os.pathsep.join(path),
        "COLUMNS": str(COLUMNS),
        "DATA": data,
        "DOCS": str(DOCS),
        "MPLBACKEND": "agg",
    }
    return {**others, **settings, **variables}


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


PLACES: dict[str, Callable[[], AbstractContextManager[Shell]]] = {"database": cellar}
"""Where the code of a page runs, if not in an empty folder."""


def pages() -> dict[str, Path]:
    """Return the file of each page that has code, by its name."""
    found = {name: ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING")}
    found |= {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    return {name: path for name, path in found.items() if BLOCK.search(path.read_text(encoding="utf-8"))}


def place_of(name: str) -> AbstractContextManager[Shell]:
    """Make the place where the code of a page runs."""
    return PLACES.get(name, folder)()


def renewed(name: str, page: str, shell: Shell) -> str:
    """Return a page with what its commands print now, which is shown on the way; RuntimeError if its code fails."""
    module = [""] * page.count("\n")  # each line of Python where it stands in the page, for tracebacks

    def printed(found: re.Match[str]) -> str:
        command, part, margin = (
            (found["printed"], "code", found["indent"])
            if found["printed"]
            else (found["table"], "rows", found["margin"])
        )
        lines = shell.run(command).splitlines()
        if not lines or lines[-1].startswith("[exit status"):
            raise RuntimeError(f"{name}, line {page.count(chr(10), 0, found.start(part))}: {command}: {lines}")
        begin, end = (offset - found.start() for offset in found.span(part))
        return found[0][:begin] + indent("".join(f"{line}\n" for line in lines), margin) + found[0][end:]

    def block(found: re.Match[str]) -> str:
        if found["printed"] or found["table"]:
            return printed(found)
        part = "first" if found["unseen"] else "code"
        language = found["unseen"] or found["language"]
        line = page.count("\n", 0, found.start(part))
        if language not in LANGUAGES | SHOWN:
            raise RuntimeError(f"{name}, line {line}: {language or 'a block without a language'}, which is not known")
        if found["left_out"] or language in SHOWN:
            return found[0]
        code = dedent(found[part])
        if language == "sh":
            shell.execute(["sh", "-e"], code, f"{name}, line {line + 1}")
        elif language == "python":
            lines = code.splitlines()
            module[line : line + len(lines)] = lines
        else:
            shown = []
            for command in re.findall(r"^\$ (.*)$", code, re.MULTILINE):
                shown.append(f"$ {command}\n{shell.run(command)}")
                print(shown[-1], flush=True)
            begin, end = (offset - found.start() for offset in found.span("code"))
            return found[0][:begin] + "\n".join(shown) + found[0][end:]
        return found[0]

    text = BLOCK.sub(block, page)
    if any(module):
        code = f"import sys; exec(compile(sys.stdin.read(), {f'{name}.md'!r}, 'exec'))"
        shell.execute([sys.executable, "-c", code], "\n".join(module), name)
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pages. Returns the exit status."""
    found = pages()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"{', '.join(found)}; all of them by default")
    parser.add_argument("--write", action="store_true", help="put what comes into the page")
    options = parser.parse_args(arguments)
    if unknown := sorted({*options.pages} - {*found}):
        parser.error(f"there is no page {unknown[0]!r}: there are {', '.join(found)}")
    for name in options.pages or found:
        page = found[name]
        with place_of(name) as shell:
            text = renewed(name, page.read_text(encoding="utf-8"), shell)
        if options.write:
            page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

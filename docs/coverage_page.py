"""Which lines no quick test runs: what `make coverage` counted, by file; --write puts the tables into coverage.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "coverage"
PAGE = ROOT / "docs" / "coverage.md"

MAX_NAMES = 6
"""The functions that are named for a file, those with most lines that are not run."""

MARKER = re.compile(r' */\* "(.*)":(\d+)$')
"""Cython writes one before the C of each line: the source and the number of the line."""

HEAD = re.compile(r"^(?: *(?:async def|def|cdef|cpdef|class)\b[^=(]*?|(?:static|inline)\b[^=(]*?)(\w+)[(:]")
"""The line on which a function or a class begins, in Python, Cython or C."""

Lines = dict[int, bool]  # by number: whether it ran


def lines_of_python() -> dict[str, Lines]:
    """Return the lines of each module, by its path in the repository."""
    coverage = Coverage(data_file=str(BUILD / "data"), config_file=str(ROOT / "pyproject.toml"))
    coverage.load()
    found: dict[str, Lines] = {}
    for path in sorted((BUILD / "lib" / "shallowrules").rglob("*.py")):
        _, statements, _, missing, _ = coverage.analysis2(str(path))
        if statements:
            found[path.relative_to(BUILD / "lib").as_posix()] = {line: line not in missing for line in statements}
    return found


def markers_of(source: Path) -> Iterator[tuple[str, int] | None]:
    """Yield for each line of a C source the line of Cython that it belongs to; None between functions."""
    place = None
    for line in source.read_text(encoding="utf-8").splitlines():
        marker = MARKER.match(line)
        if marker:
            place = marker[1], int(marker[2])
        elif line.startswith("}"):
            place = None
        yield place


def lines_of_kernel() -> dict[str, Lines]:
    """Return the lines of each source of the kernel: one that many modules include ran if it ran in one of them."""
    found: dict[str, Lines] = {}
    for counts in sorted(BUILD.rglob("*.gcda")):
        told = subprocess.run(["gcov", "--json-format", "--stdout", counts], capture_output=True, check=True, cwd=ROOT)
        for file in json.loads(told.stdout)["files"]:
            name = file["file"].removeprefix(f"{ROOT}/")
            if not name.startswith(("build/", "shallowrules/")):
                continue  # Python's and the compiler's own headers
            places = list(markers_of(ROOT / name)) if name.endswith(".c") else []
            for line in file["lines"]:
                number, ran = line["line_number"], line["count"] > 0
                place = places[number - 1] if places else (name, number)
                if place and place[0].startswith("shallowrules/"):
                    lines = found.setdefault(place[0], {})
                    lines[place[1]] = lines.get(place[1], False) or ran
    return dict(sorted(found.items()))


def functions_of(name: str, numbers: list[int]) -> Counter[str]:
    """Return how many of a file's lines are in each function."""
    found: Counter[str] = Counter()
    heads = [HEAD.match(line) for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    for number in numbers:
        head = next((head for head in reversed(heads[:number]) if head), None)
        found[f"`{head[1]}`" if head else "top of the file"] += 1
    return found


def table_of(files: dict[str, Lines]) -> str:
    """Return a table of the files in which a line was not run."""
    rows = ["| file | lines | not run | in |", "|---|--:|--:|---|"]
    for name, lines in files.items():
        missing = sorted(number for number, ran in lines.items() if not ran)
        if missing:
            names = functions_of(name, missing).most_common()
            told = ", ".join(f"{where} {count}" for where, count in names[:MAX_NAMES])
            more = f", {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
            rows.append(f"| `{name.removeprefix('shallowrules/')}` | {len(lines)} | {len(missing)} | {told}{more} |")
    return "\n".join(rows)


def summary_of(kind: str, files: dict[str, Lines]) -> str:
    """Return the share of lines that were run."""
    lines = [ran for each in files.values() for ran in each.values()]
    whole = sum(all(each.values()) for each in files.values())
    share = f"{sum(lines):,} of {len(lines):,} lines ({sum(lines) / len(lines):.1%})"
    return f"{kind}: {share} ran, in {whole} of {len(files)} files all of them."


def main() -> None:
    """Print the shares, and write the page if told so."""
    parts = {"The kernel": lines_of_kernel(), "Python": lines_of_python()}
    for kind, files in parts.items():
        print(summary_of(kind, files))
    if "--write" in sys.argv:
        tables = "\n\n".join(f"{summary_of(kind, files)}\n\n{table_of(files)}" for kind, files in parts.items())
        begin, end = "<!-- counted: begin -->\n", "<!-- counted: end -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        PAGE.write_text(before + begin + "\n" + tables + "\n\n" + end + rest.partition(end)[2], encoding="utf-8")


if __name__ == "__main__":
    main()

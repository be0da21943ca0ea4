"""The kernel's map, `_kernel/README.md`, names the files and functions that there are."""

import re
from pathlib import Path

KERNEL = Path(__file__).resolve().parents[2] / "shallowrules" / "_kernel"
MAP = (KERNEL / "README.md").read_text(encoding="utf-8")
FILES = [path for kind in ("py", "pyx", "pxd", "h") for path in KERNEL.rglob(f"*.{kind}")]


def test_the_table_has_every_file():
    rows = MAP.split("| file | does |")[1].splitlines()
    named = [name for row in rows if row.startswith("| `") for name in re.findall(r"`(.+?)`", row.split("|")[1])]
    files = {path.relative_to(KERNEL).with_suffix("").as_posix() for path in FILES if path.stem != "__init__"}
    assert sorted(named) == sorted(files)


def test_every_function_and_constant_exists():
    words = {word for path in FILES for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    named = set(re.findall(r"`(\w+)`", MAP.split("## Files")[0]))
    assert named
    assert named <= words

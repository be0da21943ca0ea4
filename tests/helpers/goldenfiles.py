"""Comparison with the files in ``golden``; SHALLOWRULES_UPDATE_GOLDEN=1 writes them again."""

import os
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden"
UPDATES = os.environ.get("SHALLOWRULES_UPDATE_GOLDEN") == "1"
HOW = "run once with SHALLOWRULES_UPDATE_GOLDEN=1 and read what it wrote"
MARK = "=== "


def assert_golden(name: str, text: str) -> None:
    """Assert that a text equals the golden file of that name."""
    path = FOLDER / name
    if UPDATES:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    assert path.is_file(), f"no golden file {name}: {HOW}"
    assert text.encode() == path.read_bytes()


def sections(path: Path) -> dict[str, str]:
    """Return the texts of a file of words, each by the name of its test."""
    if not path.is_file():
        return {}
    parts = ("\n" + path.read_bytes().decode()).split(f"\n{MARK}")[1:]
    return dict(part.split("\n", 1) for part in parts)


def assert_words(module: str, test: str, text: str) -> None:
    """Assert that the file of a module holds this text for a test; a rewritten file is sorted by test."""
    path = FOLDER / "words" / f"{module}.txt"
    held = sections(path)
    if UPDATES:
        held[test] = text
        path.parent.mkdir(exist_ok=True)
        path.write_bytes("\n".join(f"{MARK}{name}\n{held[name]}" for name in sorted(held)).encode())
    assert test in held, f"no words of {test} in {path.name}: {HOW}"
    assert text == held[test]

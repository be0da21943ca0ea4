"""Comparison with the files in ``golden``; SHALLOWRULES_UPDATE_GOLDEN=1 writes them again."""

import os
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """Assert that text is what the golden file of that name holds."""
    path = FOLDER / name
    if os.environ.get("SHALLOWRULES_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    assert path.is_file(), f"no golden file {name}: run once with SHALLOWRULES_UPDATE_GOLDEN=1 and read what it wrote"
    assert text.encode() == path.read_bytes()


def assert_words(area: str, said: Iterable[tuple[str, str]]) -> None:
    """Assert that messages are those of the golden file of their area, each below what it answers.

    The words of messages stand there alone: other tests ask for the kind of an error and what it names.
    """
    assert_golden(f"words/{area}.txt", "".join(f"{asked}\n    {words}\n" for asked, words in said))

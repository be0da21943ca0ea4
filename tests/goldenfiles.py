"""Comparison with the files in ``golden``; SHALLOWRULES_UPDATE_GOLDEN=1 writes them anew."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """Assert that text is what the golden file of that name holds."""
    path = FOLDER / name
    if os.environ.get("SHALLOWRULES_UPDATE_GOLDEN") == "1":
        path.write_bytes(text.encode())
    assert path.is_file(), f"no golden file {name}: run once with SHALLOWRULES_UPDATE_GOLDEN=1 and read what it wrote"
    assert text.encode() == path.read_bytes()

"""Texts of a page: shortened, and many that share lines packed into one."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

__all__ = ["Lines", "pack", "shorten"]


def shorten(text: str, length: int) -> str:
    """Return a text of at most so many characters, the last of them … where it was longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


class Lines:
    """Texts as runs of lines that they share: those of one tree are most of those of the next."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}

    def add(self, text: str) -> list[int]:
        """Return a text as runs: the number of a first line and how many follow one another from it on, in turn."""
        runs: list[int] = []
        for line in text.split("\n"):
            number = self.lines.setdefault(line, len(self.lines))
            if runs and number == runs[-2] + runs[-1]:
                runs[-1] += 1
            else:
                runs += [number, 1]
        return runs


def pack(data: Mapping[str, Any]) -> str:
    """Return data as JSON, compressed, in characters that no HTML reads anything into."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(text) + packer.flush()).decode("ascii")

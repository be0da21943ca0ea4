"""Texts of a page: shortened, and many that share pieces packed into one."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

__all__ = ["pack", "share_pieces", "shorten"]

SECTIONS = re.compile(r"^(?=<article |<svg class=\"(?:tree|defs)\"|## )", re.MULTILINE)
"""Where sections of a page and of a sheet begin."""


LETTERS = "".join(chr(code) for code in range(ord("!"), ord("~") + 1) if chr(code) != "<")
BITS = 13
"""The number of letter pairs; there are 93 letters."""

NUMBER = re.compile(r"[0-9.,]+")

ALIKE = 40
"""Characters at the beginning by which lines are alike, their numbers aside; 12 and 80 made larger pages."""


def shorten(text: str, length: int) -> str:
    """Return a text of at most so many characters, the last of them … where it was longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def share_pieces(
    forms: Mapping[str, Sequence[str]],
) -> tuple[dict[str, list[list[int]]], list[list[int]], list[str]]:
    """Return each text as the numbers of pieces, which make it when they are joined, the pieces, and their lines.

    A piece is kept once: the texts of one tree have many of those of the next. So is a line of the pieces; those that
    differ in their numbers alone stand side by side, where the packer finds that they say nearly the same. A piece is
    a list of lines, each given by its distance from the line before, in that piece or at the end of the last.
    """
    split = {form: [re.split(SECTIONS, text) for text in texts] for form, texts in forms.items()}
    pieces = dict.fromkeys(chain.from_iterable(chain.from_iterable(split.values())))
    alike: dict[str, list[str]] = {}
    for piece in pieces:
        for line in piece.splitlines(keepends=True):
            alike.setdefault(re.sub(NUMBER, "0", line)[:ALIKE], []).append(line)
    lines = {line: place for place, line in enumerate(dict.fromkeys(chain.from_iterable(alike.values())))}
    numbers = {piece: place for place, piece in enumerate(pieces)}
    last, steps = 0, []
    for piece in pieces:
        places = [lines[line] for line in piece.splitlines(keepends=True)]
        steps.append([place - before for before, place in pairwise([last, *places])])
        last = places[-1] if places else last
    found = {form: [[numbers[piece] for piece in text] for text in texts] for form, texts in split.items()}
    return found, steps, list(lines)


def pack(data: Mapping[str, Any]) -> str:
    """Return data as JSON, compressed, in letters: its number of bytes, a blank, and two of `LETTERS` for 13 bits each.

    In a page that is an eighth shorter than base64. The text of a script ends at ``<`` alone, which is not a letter.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text) + packer.flush()
    bits = "".join(f"{byte:08b}" for byte in packed)
    bits += "0" * (-len(bits) % BITS)
    pairs = (divmod(int(bits[i : i + BITS], 2), len(LETTERS)) for i in range(0, len(bits), BITS))
    return f"{len(packed)} " + "".join(LETTERS[place] for pair in pairs for place in pair)

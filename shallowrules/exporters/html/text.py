"""Texts of a page: shortened, and many that share pieces packed into one."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

__all__ = ["pack", "share_pieces", "shorten"]

SECTIONS = re.compile(r"^(?=<article |<svg class=\"(?:tree|defs)\"|## )", re.MULTILINE)
"""Where sections of a page and of a sheet begin."""


def shorten(text: str, length: int) -> str:
    """Return a text of at most so many characters, the last of them … where it was longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def share_pieces(forms: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[list[int]]], list[str]]:
    """Return each text as the numbers of pieces, which make it when they are joined, and the pieces.

    A piece is kept once: the texts of one tree have many of those of the next. Pieces that begin alike, as those
    about one cluster do, stand side by side, where the packer finds that they say nearly the same.
    """
    split = {form: [re.split(SECTIONS, text) for text in texts] for form, texts in forms.items()}
    alike: dict[tuple[str, str], list[str]] = {}
    for form, texts in split.items():
        for piece in chain.from_iterable(texts):
            alike.setdefault((form, piece.partition("\n")[0]), []).append(piece)
    numbers: dict[str, int] = {}
    for piece in chain.from_iterable(alike.values()):
        numbers.setdefault(piece, len(numbers))
    return {form: [[numbers[piece] for piece in pieces] for pieces in texts] for form, texts in split.items()}, list(
        numbers
    )


def pack(data: Mapping[str, Any]) -> str:
    """Return data as JSON, compressed, in characters that no HTML reads anything into."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(text) + packer.flush()).decode("ascii")

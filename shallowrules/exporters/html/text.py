"""Texts of a page: shortened or wrapped, and many that share pieces packed into one."""

from __future__ import annotations

import json
import re
import textwrap
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise, zip_longest
from typing import Any

__all__ = ["pack", "share_pieces", "shorten_apart", "wrap"]

SECTIONS = re.compile(r"^(?=<article |<svg class=\"(?:tree|defs)\"|## )", re.MULTILINE)
"""Where sections of a page and of a sheet begin."""


LETTERS = "".join(chr(code) for code in range(ord("!"), ord("~") + 1) if chr(code) != "<")
BITS = 13
"""The bits that a pair of letters holds: there are 93 letters, so 8,649 pairs."""

SIGN = re.compile(r"([<>]=?) (?=\S)")

NUMBER = re.compile(r"[0-9.,]+")

ALIKE = 40
"""Lines that agree in this many characters at the beginning, apart from numbers, are alike; 12 and 80 made larger
pages."""


def shorten_apart(texts: Iterable[str], length: int) -> dict[str, str]:
    """Return texts of at most `length` characters, … where something is left out; two different ones do not look alike.

    For those that would, the part that they have in common is left out, except for its beginning; if that is not
    enough, they end in a number.
    """
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(_shorten(text, length), []).append(text)
    shown = {group[0]: short for short, group in alike.items() if len(group) == 1}
    for group in (group for group in alike.values() if len(group) > 1):
        shown |= {text: _excerpt(text, places, length) for text, places in _differences(sorted(group)).items()}
    taken: set[str] = set()
    for text, short in shown.items():
        number, own = 2, short
        while own in taken:
            own, number = f"{short[: length - 1 - len(str(number))]}…{number}", number + 1
        taken.add(own)
        shown[text] = own
    return shown


def _differences(texts: Sequence[str], known: tuple[int, ...] = ()) -> dict[str, tuple[int, ...]]:
    """Return for each of some sorted texts the places where it begins to differ from others of them."""
    if len(texts) == 1:
        return {texts[0]: known}
    pairs = zip_longest(texts[0], texts[-1])  # texts are sorted: what these two share all share
    place = next(i for i, pair in enumerate(pairs) if pair[0] != pair[1])
    found: dict[str, tuple[int, ...]] = {}
    for _, group in groupby(texts, key=lambda text: text[place : place + 1]):
        found |= _differences(list(group), (*known, place))
    return found


def _excerpt(text: str, places: Sequence[int], length: int) -> str:
    """Return an excerpt of a given length: the beginning of a text, and the parts at the last two of some places."""
    begin = length // 4
    size = (length - begin) // min(2, len(places)) - 2
    shown, end = text[:begin], begin
    for place in places[-2:]:
        start = max(end, min(place - 1, len(text) - size))
        shown += ("…" if start > end else "") + text[start : start + size]
        end = max(end, start + size)
    return shown + ("…" if end < len(text) else "")


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def wrap(text: str, length: int) -> list[str]:
    """Return a text in lines of at most a given number of characters; a sign such as <= stays with its number."""
    return textwrap.wrap(re.sub(SIGN, "\\1\u00a0", text), length) or [""]


def share_pieces(
    forms: Mapping[str, Sequence[str]],
) -> tuple[dict[str, list[list[int]]], list[list[int]], list[str]]:
    """Return for each text the numbers of the pieces that make it when joined; the pieces; and their lines.

    A piece is kept once: the texts of one tree have many of those of the next. So is a line of the pieces; those that
    differ only in their numbers are side by side, where the packer finds that they are nearly the same. A piece is
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

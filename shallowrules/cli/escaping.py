"""Text of a table, made safe for a terminal, which treats some characters as commands, and for a shell."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from shallowrules.errors import OptionName

__all__ = ["as_utf8", "join_words", "printable", "shell_word", "spell_plainly"]

DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text around them."""


def printable(text: str) -> str:
    r"""Return text with terminal control characters escaped as ``\x1b`` and the like; line breaks stay."""
    return "".join(c if c == "\n" or not _commands(c) else _escaped(c) for c in text)


def as_utf8(name: str) -> str:
    r"""Return the name of a file as text that can be written: bytes that are not UTF-8 as ``\udce9``."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def shell_word(text: str) -> str:
    """Return text as one word of a shell, printable all the same (``$'…'``, which bash and zsh know)."""
    if not any(map(_commands, text)):
        return shlex.quote(text)
    return "$'" + "".join(_escaped(c) if _commands(c) or c in "\\'" else c for c in text) + "'"


def join_words(words: Iterable[str]) -> str:
    """Return a command of these words."""
    return " ".join(map(shell_word, words))


def spell_plainly(option: OptionName, command: click.Command | None = None) -> str:
    """Return a parameter of the package as a command spells it: by its option, if there is one."""
    spelt = f"--{option.name.replace('_', '-')}"
    if command is not None:
        spelt = next((each.opts[0] for each in command.params if each.name == option.name), spelt)
    if option.value is None:
        return spelt
    value = option.value
    if isinstance(value, dict):
        value = ",".join(f"{key}={each}" for key, each in value.items())
    return f"{spelt} {shell_word(str(value))}"


def _commands(character: str) -> bool:
    return character in DIRECTIONS or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}"

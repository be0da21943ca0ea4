"""How names and texts come through Jinja, and through YAML that dbt renders by Jinja."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.sql.dialect import JINJA_MARK

__all__ = ["OPENING", "QUOTE", "YAML", "call", "escape"]

CHANGED = re.compile(rf"{JINJA_MARK.pattern}|\r")
"""Marks that Jinja interprets, and the character that it drops: it normalizes all line endings."""

OPENING = re.compile(r"\{(?=[{%#])")
"""The first character of a mark, written as an entity: Markdown shows the character, and Jinja sees no mark."""

QUOTE = re.compile(r"[\"`\\]")
"""Characters that dbt does not escape where it puts quotes around a name."""


def call(function: str, parts: Sequence[str]) -> str:
    """Return a call of a dbt function; a Python string literal is valid in Jinja."""
    return f"{function}({', '.join(map(repr, parts))})"


def escape(text: str) -> str:
    """Return text that Jinja renders unchanged: anything that it would read or change becomes an expression."""
    return CHANGED.sub(lambda found: f"{{{{ {found[0]!r} }}}}", text)


class YamlLanguage:
    """How data is written in YAML that dbt renders by Jinja."""

    def identifier(self, name: str) -> str:
        """Return a key, which dbt does not render."""
        shown = (c if c.isprintable() else f"\\U{ord(c):08x}" for c in name.replace("\\", "\\\\").replace('"', '\\"'))
        return f'"{"".join(shown)}"'

    def string(self, text: str) -> str:
        """Return text that Jinja renders as the given text."""
        changed = CHANGED.search(text) is not None or text.endswith("\n")
        return self.identifier(f"{{{{ {text!r} }}}}" if changed else text)

    def number(self, value: float | bool | None) -> str:
        """Return a number, a truth value, or null."""
        return json.dumps(value)

    def comment(self, text: str) -> str:
        """Return text on one line."""
        return one_line(text)


YAML = YamlLanguage()

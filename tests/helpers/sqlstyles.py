"""The styles of SQL that a dialect has."""

from __future__ import annotations

from shallowrules.exporters.sql import STYLES
from shallowrules.exporters.sql.functions import FUNCTIONS
from shallowrules.exporters.sql.writing import WRITING


def styles_of(dialect: str) -> list[str]:
    lacks = {"column": not WRITING[dialect].column, "function": dialect not in FUNCTIONS}
    return [style for style in STYLES if not lacks.get(style)]

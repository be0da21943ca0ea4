"""All dialects, by name and alias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shallowrules.errors import check_choice
from shallowrules.exporters.base import check_text
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.documented import DOCUMENTED
from shallowrules.exporters.sql.executed import EXECUTED

__all__ = ["ALIASES", "DIALECTS", "dialect_of_database", "find_dialect"]

ALIASES = {"postgresql": "postgres", "mssql": "tsql", "mariadb": "mysql"}

DIALECTS: Mapping[str, Dialect] = {"ansi": DOCUMENTED["ansi"], **EXECUTED, **DOCUMENTED}

MARIADB = replace(
    EXECUTED["mysql"], texts=replace(EXECUTED["mysql"].texts, exactly="{literal} COLLATE utf8mb4_nopad_bin")
)
"""MySQL does not have this collation."""


def find_dialect(name: object) -> Dialect:
    """Return the dialect of a name or alias in any case; OptionError listing all if there is none."""
    spelt = check_text("dialect", name).lower()
    if spelt == "mariadb":
        return MARIADB
    return DIALECTS[check_choice("SQL dialect", ALIASES.get(spelt, spelt), DIALECTS, option="dialect")]


def dialect_of_database(backend: str) -> str | None:
    """Return the name of a database's dialect, by the URL's name for its kind; None if there is none."""
    name = ALIASES.get(backend, backend)
    return name if name in DIALECTS else None

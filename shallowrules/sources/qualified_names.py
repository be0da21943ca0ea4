"""Names of tables with a schema before them, as people write them: ``sales.visits``, ``"my.schema".visits``."""

from __future__ import annotations

import re
from typing import Any

from shallowrules.errors import OptionError

__all__ = ["split_table"]

_PART = r'(?:"(?:[^"]|"")+"|[^".][^.]*)'
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")


def split_table(table: Any) -> list[str]:
    """Return the parts of a table's name: schema and the like, then the table.

    Parameters
    ----------
    table : str, or sequence of its parts
        In a text, dots separate the parts. A part in double quotes may hold dots, and quotes that are doubled.

    Raises
    ------
    OptionError
        If it is not a name.
    """
    if isinstance(table, str) and _NAME.fullmatch(table):
        found = re.findall(_PART, table)
        return [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in found]
    if isinstance(table, list | tuple) and table and all(isinstance(part, str) and part for part in table):
        return list(table)
    raise OptionError(
        f"{table!r} is not a table name: dots separate its parts, a part with dots or quotes goes in "
        'double quotes, for example "my.schema".customers',
        option="table",
    )

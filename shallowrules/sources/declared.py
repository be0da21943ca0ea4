"""What a database says of the type of a column: which kind of values it holds, and how they are fetched unchanged.

A driver gives the type of each column of a result, in numbers or words of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["UNKNOWN", "DeclaredType", "Kind", "declared_type"]

Kind = Literal["number", "text", "boolean", "other"]


@dataclass(frozen=True)
class DeclaredType:
    """A column's type as the database declares it.

    Parameters
    ----------
    kind : {"number", "text", "boolean", "other"} or None
        What its values are; None where that is known of the values alone.
    fetched : str
        The SQL by which the driver gives the values of a ``{column}`` unchanged.
    """

    kind: Kind | None
    fetched: str = "{column}"


UNKNOWN = DeclaredType(None)
NUMBER, TEXT, BOOLEAN, OTHER = (
    DeclaredType("number"),
    DeclaredType("text"),
    DeclaredType("boolean"),
    DeclaredType("other"),
)

POSTGRES: Mapping[int, DeclaredType] = {
    **dict.fromkeys((20, 21, 23, 26, 701, 1700), NUMBER),
    700: DeclaredType("number", "CAST({column} AS DOUBLE PRECISION)"),  # psycopg gives the shortest text of a REAL
    **dict.fromkeys((18, 19, 25, 705, 1043), TEXT),
    1042: DeclaredType("text", "CAST({column} AS TEXT)"),  # the padding of CHAR(n) is no part of the value
    16: BOOLEAN,
    # bytea, json, money, dates, times, intervals, uuid
    **dict.fromkeys((17, 114, 790, 1082, 1083, 1114, 1184, 1186, 1266, 2950, 3802), OTHER),
}
"""By the number of a type in `pg_type`; enums have numbers of their own."""

MYSQL: Mapping[int, DeclaredType] = {
    **dict.fromkeys((0, 1, 2, 3, 5, 8, 9, 13, 246), NUMBER),
    4: DeclaredType("number", "CAST({column} AS DOUBLE)"),  # the server writes six digits of a FLOAT
    16: DeclaredType("number", "({column} + 0)"),  # BIT comes as bytes
    **dict.fromkeys((15, 247, 249, 250, 251, 252, 253, 254), TEXT),
    **dict.fromkeys((7, 10, 11, 12, 245, 255), OTHER),  # dates, times, json, geometry
}
"""By the number of a type in the client's protocol; text and bytes have the same."""

DUCKDB: tuple[tuple[str, DeclaredType], ...] = (
    (r".*\]|(STRUCT|MAP|UNION|DATE|TIME|INTERVAL|BLOB|UUID|BIT\b).*", OTHER),
    (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*", NUMBER),
    (r"VARCHAR|ENUM.*", TEXT),
    ("BOOLEAN", BOOLEAN),
)
"""By a pattern for the name of a type."""


def declared_type(backend: str, code: Any) -> DeclaredType:
    """Return what the type code of a column in a cursor's description means; SQLite gives none."""
    if backend == "postgresql":
        return POSTGRES.get(code, UNKNOWN)
    if backend in ("mysql", "mariadb"):
        return MYSQL.get(code, UNKNOWN)
    if backend == "duckdb":
        name = str(code)
        return next((kind for pattern, kind in DUCKDB if re.fullmatch(pattern, name, re.DOTALL)), UNKNOWN)
    return UNKNOWN

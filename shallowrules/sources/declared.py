"""What a database says of the type of a column: which kind of values it holds, and how they are fetched unchanged.

A driver gives the type of each column of a result, in numbers or words of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["DeclaredType", "Kind", "declared_types"]

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
NUMBER, TEXT, BOOLEAN = DeclaredType("number"), DeclaredType("text"), DeclaredType("boolean")
OTHER = DeclaredType("other")

CAST_TO_TEXT = "CAST({column} AS TEXT)"

POSTGRES: Mapping[int, DeclaredType] = {
    **dict.fromkeys((20, 21, 23, 701, 1700), NUMBER),
    700: DeclaredType("number", "CAST({column} AS DOUBLE PRECISION)"),  # psycopg gives the shortest text of a REAL
    **dict.fromkeys((18, 19, 25, 705, 1043), TEXT),
    1042: DeclaredType("text", CAST_TO_TEXT),  # the padding of CHAR(n) is no part of the value
    16: BOOLEAN,
    # Bytes, oid (which compares with no number), json, money, times, intervals, uuid, dates: not each is one to Python.
    **dict.fromkeys(
        (17, 26, 114, 790, 1082, 1083, 1114, 1184, 1186, 1266, 2950, 3802), DeclaredType("other", CAST_TO_TEXT)
    ),
}
"""By the number of a type in `pg_type`."""

POSTGRES_TEXTS = ("E", "S", "V")
"""The categories in `pg_type` of types whose values are text: enums, citext and the like, bits."""

MYSQL: Mapping[int, DeclaredType] = {
    **dict.fromkeys((0, 1, 2, 3, 5, 8, 9, 13, 246), NUMBER),
    4: DeclaredType("number", "CAST({column} AS DOUBLE)"),  # the server writes six digits of a FLOAT
    16: DeclaredType("number", "({column} + 0)"),  # BIT comes as bytes
    **dict.fromkeys((15, 247, 249, 250, 251, 252, 253, 254), TEXT),
    **dict.fromkeys((7, 10, 11, 12, 245, 255), OTHER),  # dates, times, json, geometry
}
"""By the number of a type in the client's protocol; text and bytes have the same."""

DUCKDB: tuple[tuple[str, DeclaredType], ...] = (
    # The driver makes a number or text of JSON and BIGNUM, and cannot read a time with a zone.
    (
        r".*\]|(STRUCT|MAP|UNION|DATE|TIME|INTERVAL|BLOB|UUID|BIT\b|JSON|BIGNUM|VARINT|GEOMETRY|VARIANT).*",
        DeclaredType("other", "CAST({column} AS VARCHAR)"),
    ),
    (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*", NUMBER),
    (r"VARCHAR|ENUM.*", TEXT),
    ("BOOLEAN", BOOLEAN),
)
"""By a pattern for the name of a type."""


def declared_types(connection: Connection, description: Sequence[Any]) -> list[DeclaredType]:
    """Return what the type code of each column in a cursor's description means; SQLite gives none."""
    backend, codes = connection.dialect.name, [entry[1] for entry in description]
    if backend == "postgresql":
        known = _postgres_types(connection, codes)
        return [known[code] for code in codes]
    if backend in ("mysql", "mariadb"):
        return [MYSQL.get(code, UNKNOWN) for code in codes]
    return [_duckdb_type(str(code)) if backend == "duckdb" else UNKNOWN for code in codes]


def _postgres_types(connection: Connection, codes: Sequence[int]) -> Mapping[int, DeclaredType]:
    """Return what types mean; the database says it of those that are not built in."""
    unknown = {code for code in codes if code not in POSTGRES}
    if not unknown:
        return POSTGRES
    asked = f"SELECT oid, typcategory FROM pg_catalog.pg_type WHERE oid IN ({', '.join(map(str, unknown))})"
    categories = dict(map(tuple, connection.exec_driver_sql(asked)))
    kinds: dict[int, Kind] = {code: "text" if categories[code] in POSTGRES_TEXTS else "other" for code in unknown}
    return {**POSTGRES, **{code: DeclaredType(kind, CAST_TO_TEXT) for code, kind in kinds.items()}}


def _duckdb_type(name: str) -> DeclaredType:
    return next((kind for pattern, kind in DUCKDB if re.fullmatch(pattern, name, re.DOTALL)), UNKNOWN)

"""The type of a column as a database declares it: the kind of its values, and how they are fetched unchanged.

A driver gives the type of each column of a result, in numbers or words of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shallowrules.tables.times import DAY, HOUR, MINUTE, time_range

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["DeclaredType", "Kind", "declared_types"]

Kind = Literal["number", "text", "boolean", "date", "timestamp", "timestamptz", "duration", "other"]


@dataclass(frozen=True)
class DeclaredType:
    """A column's type as the database declares it.

    Parameters
    ----------
    kind : {"number", "text", "boolean", "date", "timestamp", "timestamptz", "duration", "other"} or None
        What its values are; None where only the values tell.
    fetched : str
        The SQL by which the driver gives the values of a ``{column}`` unchanged.
    """

    kind: Kind | None
    fetched: str = "{column}"


UNKNOWN = DeclaredType(None)
NUMBER, TEXT, BOOLEAN = DeclaredType("number"), DeclaredType("text"), DeclaredType("boolean")
OTHER = DeclaredType("other")


def _within(first: str, last: str) -> str:
    """Return the SQL for a column of times that Python has: times beyond the years 1 to 9999 are moved to their ends.

    All rules see them on the same side as before, even infinite ones.
    """
    return f"CASE WHEN {{column}} < {first} THEN {first} WHEN {{column}} > {last} THEN {last} ELSE {{column}} END"


DATE = DeclaredType("date", _within("DATE '0001-01-01'", "DATE '9999-12-31'"))
TIMESTAMP = DeclaredType("timestamp", _within("TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"))
_IN_ZONE = _within("TIMESTAMPTZ '0001-01-01 00:00:00+00'", "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'")
TIMESTAMPTZ = DeclaredType("timestamptz", f"({_IN_ZONE}) AT TIME ZONE 'UTC'")
"""In UTC and without its zone: PostgreSQL's driver reads the text of the session's zone, in which a time of the last
year may fall into the next, and DuckDB's driver needs another package for zones."""

_INTERVAL_PARTS = (("YEAR", 360 * DAY), ("MONTH", 30 * DAY), ("DAY", DAY), ("HOUR", HOUR), ("MINUTE", MINUTE))
_MICROSECONDS = " + ".join(
    f"CAST(EXTRACT({part} FROM {{column}}) AS NUMERIC) * {length}"
    for part, length in (*_INTERVAL_PARTS, ("MICROSECONDS", 1))
)
INTERVAL = DeclaredType(
    "duration",
    # GREATEST and LEAST ignore NULL.
    f"CASE WHEN {{column}} IS NOT NULL THEN CAST(GREATEST(LEAST({_MICROSECONDS}, {time_range('duration')[-1]}), "
    f"{time_range('duration')[0]}) AS BIGINT) END",
)
"""Microseconds, a month of 30 days and a year of 360, as PostgreSQL compares them; a driver counts a year as 365."""

CAST_TO_TEXT = "CAST({column} AS TEXT)"

POSTGRES: Mapping[int, DeclaredType] = {
    **dict.fromkeys((20, 21, 23, 701, 1700), NUMBER),
    700: DeclaredType("number", "CAST({column} AS DOUBLE PRECISION)"),  # psycopg gives the shortest text of a REAL
    **dict.fromkeys((18, 19, 25, 705, 1043), TEXT),
    1042: DeclaredType("text", CAST_TO_TEXT),  # the padding of CHAR(n) is not part of the value
    16: BOOLEAN,
    1082: DATE,
    1114: TIMESTAMP,
    1184: TIMESTAMPTZ,
    1186: INTERVAL,
    # Bytes, oid (which compares with no number), json, money, times of a day, uuid: Python has no value for some.
    **dict.fromkeys((17, 26, 114, 790, 1083, 1266, 2950, 3802), DeclaredType("other", CAST_TO_TEXT)),
}
"""By the number of a type in `pg_type`."""

POSTGRES_TEXTS = ("E", "S", "V")
"""The categories in `pg_type` of types whose values are text: enums, citext and the like, bits."""

IN_UTC = "TIMESTAMPADD(MICROSECOND, UNIX_TIMESTAMP({column}) * 1000000, TIMESTAMP '1970-01-01 00:00:00')"

MYSQL: Mapping[int, DeclaredType] = {
    **dict.fromkeys((0, 1, 2, 3, 5, 8, 9, 13, 246), NUMBER),
    4: DeclaredType("number", "CAST({column} AS DOUBLE)"),  # the server writes six digits of a FLOAT
    16: DeclaredType("number", "({column} + 0)"),  # BIT comes as bytes
    **dict.fromkeys((15, 247, 249, 250, 251, 252, 253, 254), TEXT),
    10: DeclaredType("date"),
    12: DeclaredType("timestamp"),
    7: DeclaredType("timestamptz", IN_UTC),
    11: DeclaredType("duration"),
    **dict.fromkeys((245, 255), OTHER),  # json, geometry
}
"""By the number of a type in the client's protocol; text and bytes have the same."""

DUCKDB: tuple[tuple[str, DeclaredType], ...] = (
    # The driver turns JSON and BIGNUM into a number or text, and cannot read a time with a zone.
    (
        r".*\]|(STRUCT|MAP|UNION|TIME\b(?! ?STAMP)|TIME_|BLOB|UUID|BIT\b|JSON|BIGNUM|VARINT|GEOMETRY|VARIANT).*",
        DeclaredType("other", "CAST({column} AS VARCHAR)"),
    ),
    (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*", NUMBER),
    (r"VARCHAR|ENUM.*", TEXT),
    ("BOOLEAN", BOOLEAN),
    ("DATE", DATE),
    ("TIMESTAMP WITH TIME ZONE", TIMESTAMPTZ),
    (r"TIMESTAMP(_S|_MS)?", TIMESTAMP),
    ("TIMESTAMP_NS", DeclaredType("timestamp")),
    ("INTERVAL", DeclaredType("duration")),
)
"""By a pattern for the name of a type."""


def declared_types(connection: Connection, description: Sequence[Any]) -> list[DeclaredType]:
    """Return the type that each column has in a cursor's description; SQLite gives none."""
    backend, codes = connection.dialect.name, [entry[1] for entry in description]
    if backend == "postgresql":
        known = _postgres_types(connection, codes)
        return [known[code] for code in codes]
    if backend in ("mysql", "mariadb"):
        return [MYSQL.get(code, UNKNOWN) for code in codes]
    return [_duckdb_type(str(code)) if backend == "duckdb" else UNKNOWN for code in codes]


def _postgres_types(connection: Connection, codes: Sequence[int]) -> Mapping[int, DeclaredType]:
    """Return the meaning of types; the database is asked about those that are not built in."""
    unknown = {code for code in codes if code not in POSTGRES}
    if not unknown:
        return POSTGRES
    asked = f"SELECT oid, typcategory FROM pg_catalog.pg_type WHERE oid IN ({', '.join(map(str, unknown))})"
    categories = dict(map(tuple, connection.exec_driver_sql(asked)))
    kinds: dict[int, Kind] = {code: "text" if categories[code] in POSTGRES_TEXTS else "other" for code in unknown}
    return {**POSTGRES, **{code: DeclaredType(kind, CAST_TO_TEXT) for code, kind in kinds.items()}}


def _duckdb_type(name: str) -> DeclaredType:
    return next((kind for pattern, kind in DUCKDB if re.fullmatch(pattern, name, re.DOTALL)), UNKNOWN)

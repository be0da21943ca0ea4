"""Columns of dates, points in time and durations as SQL: how each dialect writes and compares them.

Columns are compared with the first moment above a threshold (``x < DATE '2024-04-01'`` for at most 2024-03-31), so a
column that is finer than the rules gets the same cluster. Durations have no such moment and are compared as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shallowrules.errors import ExportError
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.rules import Number, RuleColumn
from shallowrules.tables.times import DAY, format_time, parse_time

__all__ = ["TimeColumn", "range_of_times"]


@dataclass(frozen=True, kw_only=True)
class Times:
    """How a dialect writes and compares times.

    Attributes
    ----------
    literals : mapping from str to str
        For each type of column that the dialect has: a literal of ``{text}``, such as 2024-03-31 12:00:00, or of
        ``{iso}``, with a T in it, or of ``{seconds}`` since 1970. For a duration, ``{text}`` is 2 12:00:00, ``{clock}``
        60:00:00 and ``{parts}`` 2 days 12:00:00.
    shortest : bool
        Whether the text of a point in time ends before zeros: texts are compared.
    values : mapping from str to str
        For each type of column where it is not the column itself: what is compared, made of ``{value}``.
    guards : mapping from str to str
        For each type of column, where times are text: the predicate for a ``{value}`` that is such a text.
    ranges : mapping from str to tuple of int
        For each type of column, the first and the last that the dialect can write.
    """

    literals: Mapping[str, str]
    shortest: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    guards: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class TimeColumn:
    """A column of dates, points in time or durations.

    Parameters
    ----------
    column : RuleColumn
    name : str
        Its name in the database.
    dialect : Dialect

    Raises
    ------
    ExportError
        If the dialect has no columns of this type.
    """

    def __init__(self, column: RuleColumn, name: str, dialect: Dialect) -> None:
        facts = _TIMES[dialect.name]
        if column.type not in facts.literals:
            able = ", ".join(sorted(name for name, facts in _TIMES.items() if name and column.type in facts.literals))
            raise ExportError(
                f"dialect {dialect.name or 'ansi'!r} has no columns of type {column.type}, which the rules compare in "
                f"{column.name!r}; choose a dialect that has them ({able}), or keep it as a number, and fit on that "
                "number"
            )
        self.column, self.facts, self.dialect = column, facts, dialect
        self.value = dialect.column(name)
        self.guard = facts.guards.get(column.type, "").format(value=self.value)

    def missing(self) -> str:
        """Return the predicate for rows without a value: NULL, or a text that is a null marker."""
        if not self.guard:
            return f"{self.value} IS NULL"
        words = ", ".join(map(self.dialect.string, dict.fromkeys(("", *self.column.nulls))))
        return f"{self.value} IS NULL OR TRIM({self.value}) IN ({words})"

    def without_value(self) -> str:
        """Return the predicate for rows that satisfy no comparison; empty where there are none."""
        if self.column.imputed is None:
            return f"({self.guard}) IS NOT TRUE" if self.guard else self.missing()
        return f"({self.guard}) IS NOT TRUE AND NOT ({self.missing()})" if self.guard else ""

    def between(self, lower: Number | None, upper: Number | None) -> list[str]:
        """Return a comparison for each bound, after a guard against text that is not a time."""
        value = self.facts.values.get(self.column.type, "{value}").format(value=self.value)
        parts = [self.guard] if self.guard else []
        exact = self.column.type == "duration"
        for bound, sign in ((lower, ">" if exact else ">="), (upper, "<=" if exact else "<")):
            if bound is not None:
                parts.append(f"{value} {sign} {self._literal(int(bound) + (not exact))}")
        return parts

    def _literal(self, number: int) -> str:
        kind, facts = self.column.type, self.facts
        first, last = facts.ranges.get(kind, (number, number))
        if not first <= number <= last:
            raise ExportError(
                f"dialect {self.dialect.name!r} can compare column {self.column.name!r} with values from "
                f"{format_time(kind, first)} to {format_time(kind, last)}, and a rule compares it with "
                f"{format_time(kind, number)}"
            )
        if kind == "duration":
            return _duration(facts.literals[kind], number)
        if kind == "date":
            text = format_time(kind, number)
        elif facts.shortest:
            text = format_time("timestamp", number)
        else:
            text = _with_seconds(number)
        iso = text.replace(" ", "T")
        return facts.literals[kind].format(text=text, iso=iso, seconds=f"{number // 10**6}.{number % 10**6:06}")


def _with_seconds(number: int) -> str:
    days, rest = divmod(number, DAY)
    return f"{format_time('date', days)} {_clock(rest)}"


def _clock(rest: int) -> str:
    seconds, fraction = divmod(rest, 10**6)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text


def _duration(template: str, number: int) -> str:
    sign = "-" if number < 0 else ""
    days, rest = divmod(abs(number), DAY)
    return template.format(
        text=f"{sign}{days} {_clock(rest)}",
        clock=f"{sign}{_clock(abs(number))}",
        parts=f"{sign}{days} days {sign}{_clock(rest)}",
    )


def range_of_times(dialect: str, kind: str) -> tuple[int, int] | None:
    """Return the first and the last time of a kind that a dialect can hold; None for no limits."""
    return _TIMES[dialect].ranges.get(kind)


_BY_OFFSET = {
    "date": "DATE '{text}'",
    "timestamp": "TIMESTAMP '{text}'",
    "timestamptz": "TIMESTAMP WITH TIME ZONE '{text}+00:00'",
}
_DAY_TO_SECOND = "INTERVAL '{text}' DAY TO SECOND"
_SPARK = Times(
    literals={
        "date": "DATE '{text}'",
        "timestamp": "TIMESTAMP_NTZ '{text}'",
        "timestamptz": "TIMESTAMP '{text}Z'",
        "duration": _DAY_TO_SECOND,
    }
)
_ANSI = Times(literals={**_BY_OFFSET, "timestamptz": "TIMESTAMP '{text}+00:00'"})


def _number(kind: str, text: str) -> int:
    number = parse_time(kind, text)
    assert number is not None
    return number


_CLICKHOUSE = {
    kind: (_number(kind, f"1900-01-01{zone}"), _number(kind, f"2299-12-31{zone}"))
    for kind, zone in (("date", ""), ("timestamp", ""), ("timestamptz", " 00:00Z"))
}
_MYSQL = {
    "date": (_number("date", "1000-01-01"), _number("date", "9999-12-31")),
    "timestamp": (_number("timestamp", "1000-01-01"), _number("timestamp", "9999-12-31 23:59:59.999999")),
    "timestamptz": (10**6, _number("timestamptz", "2038-01-19 03:14:07Z")),
    "duration": (-(838 * 3600 + 3599) * 10**6, (838 * 3600 + 3599) * 10**6),
}

# SQLite's own functions accept more as a time: 2024-02-30 is a date to them unless they calculate with it. `length`
# ends at a character 0, the length of the bytes does not.
_SQLITE_DAY = (
    "LENGTH(CAST({text} AS BLOB)) = LENGTH({text}) AND {text} >= '0001' AND "
    "DATE(SUBSTR({text}, 1, 10), '+0 days') = SUBSTR({text}, 1, 10)"
)
_SQLITE_CLOCK = (
    "(LENGTH({text}) = 10 OR {text} GLOB '??????????[ T][0-2][0-9]:[0-5][0-9]*' AND SUBSTR({text}, 12, 2) < '24' AND "
    "(LENGTH({text}) = 16 OR SUBSTR({text}, 17) GLOB ':[0-5][0-9]*' AND (LENGTH({text}) = 19 OR LENGTH({text}) BETWEEN "
    "21 AND 26 AND SUBSTR({text}, 20) GLOB '.[0-9]*' AND SUBSTR({text}, 21) NOT GLOB '*[^0-9]*')))"
)
_SQLITE_TEXT = "TRIM({value})"
_SQLITE_GUARD = f"{_SQLITE_DAY} AND {_SQLITE_CLOCK}".replace("{text}", _SQLITE_TEXT)

_TIMES: Mapping[str, Times] = {
    # Dates are text there. A text that is the beginning of another one is less, so literals end before their zeros.
    "sqlite": Times(
        literals={"date": "'{text}'", "timestamp": "'{text}'"},
        shortest=True,
        values={
            "timestamp": f"REPLACE({_SQLITE_TEXT}, 'T', ' ') COLLATE BINARY",
            "date": f"{_SQLITE_TEXT} COLLATE BINARY",
        },
        guards=dict.fromkeys(("date", "timestamp"), _SQLITE_GUARD),
    ),
    "duckdb": Times(
        literals={**_BY_OFFSET, "timestamptz": "TIMESTAMPTZ '{text}+00'", "duration": "INTERVAL '{parts}'"}
    ),
    "postgres": Times(
        literals={**_BY_OFFSET, "timestamptz": "TIMESTAMPTZ '{text}+00'", "duration": "INTERVAL '{parts}'"}
    ),
    # A literal of a TIMESTAMP would be read in the time zone of the session.
    "mysql": Times(
        literals={
            "date": "DATE '{text}'",
            "timestamp": "TIMESTAMP '{text}'",
            "timestamptz": "{seconds}",
            "duration": "TIME '{clock}'",
        },
        values={"timestamptz": "UNIX_TIMESTAMP({value})"},
        ranges=_MYSQL,
    ),
    "clickhouse": Times(
        literals={
            "date": "toDate32('{text}')",
            "timestamp": "toDateTime64('{text}', 6)",
            "timestamptz": "toDateTime64('{text}', 6, 'UTC')",
        },
        ranges=_CLICKHOUSE,
    ),
    "spark": _SPARK,
    "databricks": _SPARK,
    "": _ANSI,
    "trino": replace(_ANSI, literals={**_BY_OFFSET, "timestamptz": "TIMESTAMP '{text} UTC'"}),
    "oracle": Times(
        literals={
            **_BY_OFFSET,
            "timestamptz": "TIMESTAMP '{text} +00:00'",
            "duration": "INTERVAL '{text}' DAY(9) TO SECOND(6)",
        }
    ),
    "snowflake": Times(
        literals={
            "date": "DATE '{text}'",
            "timestamp": "'{text}'::TIMESTAMP_NTZ",
            "timestamptz": "'{text} +00:00'::TIMESTAMP_TZ",
        }
    ),
    "bigquery": Times(
        literals={
            "date": "DATE '{text}'",
            "timestamp": "DATETIME '{text}'",
            "timestamptz": "TIMESTAMP '{text}+00'",
        }
    ),
    "redshift": Times(literals={**_BY_OFFSET, "timestamptz": "TIMESTAMPTZ '{text}+00'"}),
    "tsql": Times(
        literals={
            "date": "CAST('{text}' AS DATE)",
            "timestamp": "CAST('{iso}' AS DATETIME2(6))",
            "timestamptz": "CAST('{iso}Z' AS DATETIMEOFFSET(6))",
        }
    ),
}
"""By the name that sqlglot has for a dialect."""

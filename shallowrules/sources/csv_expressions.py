"""The text of a field as SQL for DuckDB: as a number or a truth value, NULL where it is not one."""

from __future__ import annotations

from shallowrules.sources.engine import quote_text
from shallowrules.sources.number_formats import plain_number
from shallowrules.sources.text_findings import DATES
from shallowrules.tables.conversion import PLAIN, Conversion

__all__ = ["as_number", "as_truth", "as_whole", "checked_whole", "count_numbers", "count_truths_and_dates"]

WHOLE_PATTERN = quote_text(r"\s*[+-]?[0-9]+\s*")
CONVERTED_WHOLE_PATTERN = quote_text(" *[+-]?[0-9]+ *")
"""A given conversion allows only spaces around a number, and so do the rules, which keep it."""


def as_number(value: str, conversion: Conversion) -> str:
    """Return SQL for a text as a double, NULL where it is not a number."""
    if conversion.format:
        return f"TRY_CAST({plain_number(value, conversion.number_format)} AS DOUBLE)"
    # DuckDB would read 1_000 and +-1 as numbers, and with a decimal comma a dot can only group digits.
    foreign = f"contains({value}, '_') OR contains({value}, '+-')"
    if conversion.decimal == ",":
        foreign += f" OR contains({value}, '.')"
        value = f"replace({value}, ',', '.')"
    if conversion != PLAIN:
        foreign += f" OR regexp_matches({value}, '[\\t-\\r]')"
    return f"CASE WHEN {foreign} THEN NULL ELSE TRY_CAST({value} AS DOUBLE) END"


def as_whole(value: str, conversion: Conversion) -> str:
    """Return SQL for a text as a 64-bit integer, NULL where it is not one."""
    if conversion.format:
        value = plain_number(value, conversion.number_format)
    pattern = WHOLE_PATTERN if conversion == PLAIN else CONVERTED_WHOLE_PATTERN
    return f"CASE WHEN regexp_full_match({value}, {pattern}) THEN TRY_CAST({value} AS BIGINT) END"


def count_numbers(conversion: Conversion, value: str) -> tuple[str, str, str]:
    """Return SQL that counts values, numbers and whole numbers."""
    number, whole = as_number(value, conversion), as_whole(value, conversion)
    return f"count({value})", f"count({number})", f"count({whole})"


def count_truths_and_dates(value: str) -> tuple[str, str]:
    """Return SQL that counts truth values and dates."""
    return f"count({as_truth(value)})", f"count(*) FILTER (regexp_full_match({value}, {quote_text(DATES)}))"


def as_truth(value: str) -> str:
    """Return SQL for a text as a truth value, NULL where it is not one."""
    return f"CASE WHEN lower({value}) IN ('true', 't') THEN true WHEN lower({value}) IN ('false', 'f') THEN false END"


def checked_whole(j: int) -> str:
    """Return SQL for a column of 64-bit integers, cast as ``whole0`` and so on, that fails where a text is not one."""
    # Most are written as DuckDB itself writes them, and that is faster to check than a pattern.
    return (
        f"CASE WHEN CAST(whole{j} AS VARCHAR) = c{j} THEN whole{j} WHEN c{j} IS NULL THEN NULL "
        f"WHEN whole{j} IS NOT NULL AND regexp_full_match(c{j}, {WHOLE_PATTERN}) THEN whole{j} "
        f"ELSE CAST(error('shallowrules column {j}') AS BIGINT) END AS c{j}"
    )

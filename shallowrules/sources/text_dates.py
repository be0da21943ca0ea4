"""Columns of text that are dates, points in time or durations, as SQL for DuckDB."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import cast

from shallowrules.errors import DataError, Finding, OptionName, ShallowRulesNote
from shallowrules.sources.engine import PLACE, DuckDBSource, Field, quote_text
from shallowrules.sources.text_findings import note_dates
from shallowrules.tables.conversion import Conversion
from shallowrules.tables.dates import FORMATS, format_words, swapped, written_pattern, written_time
from shallowrules.tables.times import DAY, FORMS, SPAN, TimeType, time_range

__all__ = [
    "duration_cast",
    "kind_of_dates",
    "text_field",
    "time_cast",
    "time_type",
    "written_cast",
]


def text_field(
    source: DuckDBSource, j: int, text: str, dates: int, given: int, conversion: Conversion, findings: list[Finding]
) -> Field:
    """Return how to fetch a column of text: if all of its `given` values are dates, as times, or as "other"."""
    if not given or (dates != given and source.names[j] not in source.dates):
        note_dates(source, source.names[j], text, dates, given)
        return Field("text", text, conversion)
    kind = time_type(source, text, given)
    if kind is not None:
        return Field(kind, time_cast(text, kind), conversion)
    form = find_dates(source, source.names[j], text, given, findings)
    if form is None:
        return Field("other", text, conversion)
    return Field(kind_of_dates(form), written_cast(text, form), replace(conversion, dates=form))


def find_dates(source: DuckDBSource, name: str, text: str, given: int, findings: list[Finding]) -> str | None:
    """Return the format that all values of a column are written in, and note it; None if there is none, or several.

    `text` is SQL for a value, `given` how many are not NULL.

    Raises
    ------
    DataError
        If the given format does not fit a value; names its row.
    """
    told = source.dates.get(name)
    sample = [] if told else source.row(f"(list(DISTINCT {text}) FILTER ({text} IS NOT NULL))[:{SAMPLED_DATES}]")[0]
    forms = [told] if told else [f for f in FORMATS if all(written_time(f, value) is not None for value in sample)]
    counts = source.row(*(f"count({written_cast(text, form)})" for form in forms)) if forms else ()
    forms = [form for form, count in zip(forms, counts, strict=True) if count == given]
    if not forms and told:
        row, example = source.row(
            f"min({PLACE})",
            f"arg_min({text}, {PLACE})",
            where=f"{text} IS NOT NULL AND ({written_cast(text, told)}) IS NULL",
            rows=source.numbered,
        )
        raise DataError(
            f"column {name!r} has {example!r} in row {row}, which is not a date in the format {told!r} ("
            f"{format_words(told)}): correct it, or give the format of all its values with ",
            OptionName("dates"),
        )
    if not forms:
        return None
    example = source.row(f"min({text})")[0]
    if (other := swapped(forms[0])) in forms:
        message = (
            f"the dates in column {name!r}, such as {example!r}, may be {format_words(forms[0])} or "
            f"{format_words(other)}: no value tells which"
        )
        findings.append(Finding("dates", message, name, given, given, example=example, values=(forms[0], other)))
        return None
    note = f"{name!r} holds dates written as {format_words(forms[0])} ({forms[0]}), such as {example!r}"
    if not told:
        warnings.warn(note, ShallowRulesNote, stacklevel=2)
    return forms[0]


def kind_of_dates(form: str) -> TimeType:
    """Return the type of the values of a format."""
    return "timestamp" if ":" in form else "date"


def written_cast(text: str, form: str) -> str:
    """Return SQL for a text as a date or a point in time, written in a format or in ISO 8601; NULL for any other."""
    kind = kind_of_dates(form)
    written = f"try_strptime(trim({text}), {quote_text(form)})"
    return (
        f"CASE WHEN regexp_full_match(trim({text}), {quote_text(written_pattern(form))}) "
        f"THEN CAST({written} AS {kind.upper()}) ELSE {_checked_time(text, kind)} END"
    )


def time_type(source: DuckDBSource, text: str, given: int) -> TimeType | None:
    """Return the type of time that all values of a text column have, in ISO 8601; None if there is none.

    `text` is SQL for a value, `given` how many are not NULL.
    """
    counts = source.row(*(f"count({_checked_time(text, kind)})" for kind in FORMS))
    return next((cast(TimeType, kind) for kind, count in zip(FORMS, counts, strict=True) if count == given), None)


SAMPLED_DATES = 100
"""Number of distinct texts that determine which formats to try on all rows."""


def _checked_time(text: str, kind: str) -> str:
    """Return SQL for a text as a time, NULL where it is not one in the form of `FORMS`, or is before the year 1."""
    time = f"TRY_{time_cast(text, kind)}"
    return f"CASE WHEN regexp_full_match(trim({text}), {quote_text(FORMS[kind])}) AND year({time}) > 0 THEN {time} END"


def time_cast(text: str, kind: str) -> str:
    """Return SQL for a text, ignoring blanks around it, as a date or a point in time."""
    return f"CAST(trim({text}) AS {kind.upper()})"


def duration_cast(text: str) -> str:
    """Return SQL for a text, ignoring blanks around it, as a duration; NULL where it is not one that rules compare."""
    size = f"TRY_CAST(ltrim(trim({text}), '-') AS INTERVAL)"  # the sign applies to days and clock together
    signed = f"CASE WHEN trim({text}) LIKE '-%' THEN -{size} ELSE {size} END"
    longest = f"INTERVAL '{time_range('duration')[-1] // DAY} days'"
    return f"CASE WHEN regexp_full_match(trim({text}), {quote_text(SPAN)}) AND {size} <= {longest} THEN {signed} END"

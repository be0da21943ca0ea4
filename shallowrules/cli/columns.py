"""Messages on the columns of a table to cluster: refusals and notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from shallowrules.cli.advice import (
    TAKEN_AS_TEXT,
    Refusal,
    Remedy,
    column_list,
    counts_of,
    either_of,
    exclude,
    names_of,
    number_remedy,
)
from shallowrules.cli.escaping import shell_word
from shallowrules.cli.missing import MAX_DROPPED_SHARE
from shallowrules.cli.opening import Opened
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.cli.output import Note
from shallowrules.encoding import ColumnFacts
from shallowrules.encoding.checks import (
    MAX_CATEGORIES,
    find_infinite,
    find_other_types,
    find_too_many_values,
    find_without_values,
    values_counted,
)
from shallowrules.errors import Finding, counted
from shallowrules.fitting.examining import Rows, find_ids
from shallowrules.fitting.meanings import find_date_numbers, find_labels, find_repeated_ids, find_sentinels, is_whole
from shallowrules.fitting.survey import Survey
from shallowrules.tables.times import TIME_TYPES, format_time

__all__ = ["column_notes", "columns_of", "infinite_columns", "label_warnings", "repeated_ids", "unusable_columns"]

INFINITIES = ("inf", "-inf")
"""How most programs write infinite numbers."""

TEXT_FORMATS = ("csv", "workbook")
"""Formats of files in which numbers are text, so that ``--null`` may name one."""

MAX_SHOWN = 5
"""Maximum number of columns with only one value that a note names."""

UUID = "UUID"
"""The example of a finding on a column all of whose values are UUIDs, which a message then calls so."""

IS_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

CODE = re.compile(r"(?i)(?<![a-z])(zip|plz|post_?code|postal|region|code|sku|msisdn)(?![a-z])")
"""Words in the names of columns whose whole numbers are codes more often than quantities."""


def columns_of(refusals: Sequence[Refusal]) -> set[str]:
    """Return the columns that are already refused; their other faults do not matter."""
    return {name for refusal in refusals for name in names_of(refusal.findings)}


def unusable_columns(opened: Opened, facts: Survey, fit: FitOptions, refusals: Sequence[Refusal]) -> list[Refusal]:
    """Return the refusals of columns that do not depend on the rows: one reason for each column."""
    rows, found = opened.rows, _nearly_numbers(opened.rows, facts, columns_of(refusals))
    for find, word in (
        (find_other_types, _other_types),
        (find_without_values, _without_values),
        (lambda columns: _find_too_many_values(rows, columns), _too_many_values),
        (
            lambda columns: find_ids(rows, opened.first, columns, _insisted(fit)),
            lambda findings: _ids(findings, find_date_numbers(opened.first, facts, names_of(findings))),
        ),
    ):
        refused = columns_of([*refusals, *found])
        findings = find([column for column in facts.columns if column.name not in refused])
        if findings:
            found.append(Refusal(tuple(findings), word(findings), Remedy(exclude=names_of(findings))))
    return found


def _nearly_numbers(rows: Rows, facts: Survey, refused: Collection[str]) -> list[Refusal]:
    """Return the columns with too many distinct texts that may be meant as numbers."""
    noted = {name: note for name, notes in rows.column_notes.items() for note in notes if note.kind in TAKEN_AS_TEXT}
    asked = [column for column in facts.columns if column.name in noted and column.name not in refused]
    found = []
    for finding in _find_too_many_values(rows, asked):
        note = noted[str(finding.column)]
        remedy = number_remedy(note)
        leave_out = f"; exclude the column ({exclude(remedy.exclude)})" if remedy.exclude else ""
        found.append(Refusal((finding,), f"{TAKEN_AS_TEXT[note.kind](note)}{leave_out}", remedy))
    return found


def _other_types(findings: Sequence[Finding]) -> str:
    return (
        f"{counted(len(findings), 'column holds', 'columns hold')} neither numbers nor categories: "
        f"{', '.join(f'{finding.column!r} ({finding.example})' for finding in findings)}; "
        f"exclude columns that should not be used: {exclude(names_of(findings))}"
    )


def _without_values(findings: Sequence[Finding]) -> str:
    return (
        f"{counted(len(findings), 'column has', 'columns have')} no values: {_listed(findings)}; "
        f"exclude {'it' if len(findings) == 1 else 'them'}: {exclude(names_of(findings))}"
    )


def _too_many_values(findings: Sequence[Finding]) -> str:
    rows = counted(findings[0].rows or 0, "row")
    ids = "UUIDs" if all(finding.example == UUID for finding in findings) else "IDs or free text"
    ways = f"exclude columns that should not be used: {exclude(names_of(findings))}"
    shown = [(repr(finding.column), values_counted(finding.count or 0)) for finding in findings]
    if len(shown) == 1:
        [(name, values)] = shown
        return f"{name} has {values} in {rows}, too many for categories: they look like {ids}; {ways}"
    listed = ", ".join(f"{name} ({values})" for name, values in shown)
    return f"{listed} have too many values in {rows} to be categories: they look like {ids}; {ways}"


def _ids(findings: Sequence[Finding], times: Sequence[Finding]) -> str:
    looks, meant = ("looks like a row ID", "it is") if len(findings) == 1 else ("look like row IDs", "they are")
    but = "".join(f"; {time.column!r} also looks like {''.join(_written_time(time))}" for time in times)
    return (
        f"{_listed(findings)} {looks} (a different value in every row): use {exclude(names_of(findings))}, or, if "
        f"{meant} meant, list all columns to cluster by in --columns{but}"
    )


def _find_too_many_values(rows: Rows, columns: Sequence[ColumnFacts]) -> list[Finding]:
    """Return the columns of text with too many values, and how many each has, where that is known."""
    uuids = {column.name for column in columns if all(IS_UUID.fullmatch(str(value)) for value in column.values)}
    return [
        replace(
            finding,
            count=rows.count_distinct(str(finding.column)) or finding.count,
            example=UUID if finding.column in uuids else None,
        )
        for finding in find_too_many_values(columns)
    ]


def infinite_columns(opened: Opened, facts: Survey, refused: set[str]) -> list[Refusal]:
    """Return why columns with infinite values are refused.

    In a text file, infinity can be treated as missing, which excludes some rows instead of a column. A column with
    more infinite values than rows that may be excluded is itself excluded: imputing them would make the largest values
    average.
    """
    columns = [*facts.columns, *([] if facts.weight is None else [facts.weight])]
    columns = [column for column in columns if column.name not in refused]
    findings = find_infinite(columns)
    if not findings:
        return []
    names = tuple(name for name in names_of(findings) if facts.weight is None or name != facts.weight.name)
    often = tuple(
        f.column for f in findings if f.column in names and (f.count or 0) > MAX_DROPPED_SHARE * (f.rows or 0)
    )
    ends = {end for column in columns if column.name not in often for end in column.ends or ()}
    words = tuple(word for word in INFINITIES if float(word) in ends and word not in opened.nulls)
    remedy = Remedy(exclude=names)
    if words and opened.rows.format in TEXT_FORMATS:
        remedy = Remedy(null=words, exclude=often)
    ways = ["correct the file"]
    if remedy.null:
        ways.insert(0, f"treat infinity as missing ({' '.join(f'--null {word}' for word in words)})")
    if names:
        ways.append(f"exclude columns ({exclude(names)})")
    message = f"values are infinite in {counts_of(findings)}: {either_of(ways)}"
    return [Refusal(tuple(findings), message, remedy)]


def column_notes(rows: Rows, opened: Opened, facts: Survey, ids: Sequence[Finding], fit: FitOptions) -> list[Note]:
    """Return the notes on the columns: codes that may have been taken for quantities, and columns that are not used.

    `ids` are the columns that look like IDs; columns named by options need no note.
    """
    doubtful = _doubtful(opened, fit)
    dates = find_date_numbers(opened.first, facts, doubtful - set(names_of(ids)))
    few = {str(f.column) for f in ids if f.distinct is not None and f.distinct <= MAX_CATEGORIES}
    many = [finding for finding in ids if finding.column not in few]
    others = doubtful - set(names_of([*dates, *many]))
    whole = {column.name for column in facts.columns if is_whole(opened.first, column)}
    return [
        *_truth_values(rows, opened.columns),
        *_codes([name for name in opened.columns if name in others and name in whole | few], few, opened.padded),
        *_repeated_ids(many),
        *_date_numbers(dates),
        *_sentinels(rows, facts, find_sentinels(rows, opened.first, facts)),
        *_constant_columns(facts),
    ]


def label_warnings(opened: Opened, facts: Survey, fit: FitOptions) -> list[Note]:
    """Return a warning of columns that look like the labels of an earlier clustering."""
    names = names_of(find_labels(facts, {name for name in opened.columns if name not in _insisted(fit)}))
    if not names:
        return []
    looks, decide = ("looks like the", "decides") if len(names) == 1 else ("look like", "decide")
    explain = "" if fit.labels is not None else f", --labels {column_list(names[:1])} explains it as it is"
    return [
        Note(
            f"{', '.join(map(repr, names))} {looks} labels of an earlier clustering; clustered again, "
            f"{'it' if len(names) == 1 else 'they'} nearly {decide} the result",
            f": {exclude(names)} excludes {'it' if len(names) == 1 else 'them'}{explain}",
        )
    ]


def _insisted(fit: FitOptions) -> set[str]:
    """Return the columns that options name as something to use."""
    return {*(fit.columns or ()), *(fit.explain or ())}


def repeated_ids(opened: Opened, facts: Survey, fit: FitOptions, refused: set[str]) -> list[Finding]:
    """Return the columns that look like repeating IDs, except those that are refused or that options name."""
    return find_repeated_ids(opened.rows, opened.first, facts, _doubtful(opened, fit) - _insisted(fit) - refused)


def _doubtful(opened: Opened, fit: FitOptions) -> set[str]:
    """Return the columns that are not declared to be quantities or categories."""
    return {*opened.columns} - {*fit.numbers, *fit.categories}


def _codes(columns: Sequence[str], few: Collection[str], padded: Collection[str]) -> list[Note]:
    """Return notes on whole numbers that may be codes: by their names, as `few` IDs, or `padded` with zeros."""
    with_zeros = [name for name in columns if name in padded]
    called = [name for name in columns if name not in padded and (name in few or CODE.search(name))]
    notes = []
    for found, one, more in (
        (called, "holds whole numbers that look like a code", "hold whole numbers that look like codes"),
        (with_zeros, "has leading zeros, which a number loses", "have leading zeros, which numbers lose"),
    ):
        if found:
            notes.append(
                Note(
                    f"{', '.join(map(repr, found))} {one if len(found) == 1 else more}",
                    f": --categories {column_list(found)} treats them as categories, --numbers {column_list(found)} "
                    "as quantities",
                )
            )
    return notes


def _repeated_ids(findings: Sequence[Finding]) -> list[Note]:
    """Return a note on columns that look like IDs that repeat."""
    if not findings:
        return []
    listed = ", ".join(
        f"{f.column!r}" + (f" ({f.distinct:,} distinct values in {f.rows or 0:,} rows)" if f.distinct else "")
        for f in findings
    )
    names, one = column_list(names_of(findings)), len(findings) == 1
    return [
        Note(
            f"{listed} {'looks like an ID' if one else 'look like IDs'}, and IDs are not quantities",
            f": --exclude {names} excludes {'it' if one else 'them'}, --numbers {names} treats "
            f"{'it as a quantity' if one else 'them as quantities'}",
        )
    ]


def _date_numbers(findings: Sequence[Finding]) -> list[Note]:
    """Return a note on each column of whole numbers that look like dates, which are unevenly spaced, or times."""
    notes = []
    for finding in findings:
        name = column_list(names_of([finding]))
        what, way = _written_time(finding)
        notes.append(
            Note(
                f"{finding.column!r} looks like {what}",
                f"{way}; --exclude {name} excludes the column, --numbers {name} treats it as a quantity",
            )
        )
    return notes


def _written_time(finding: Finding) -> tuple[str, str]:
    """Return the dates or times that whole numbers look like, and how to write them."""
    example, shown = finding.example, finding.values[0]
    if finding.kind == "dates":
        what = f"dates written as whole numbers ({example} for {shown}), which are not evenly spaced"
    else:
        what = f"{finding.kind} since 1970 ({example} is {shown})"
    return what, f": write them as {shown} for rules with dates"


def _sentinels(rows: Rows, facts: Survey, findings: Sequence[Finding]) -> list[Note]:
    """Return a note on each column with values that are far from all others and repeat.

    ``--null`` applies to every column, and is not advised if another column may have the value as well.
    """
    notes = []
    for finding in findings:
        *before, last = finding.values
        values = f"{', '.join(before)} or {last}" if before else last
        nulls = " ".join(f"--null {shell_word(value)}" for value in finding.values)
        alike = {f.column for f in findings if f.values == finding.values}
        others = [column for column in facts.columns if column.name not in alike and _may_have(column, finding.values)]
        way = "make it NULL in the table" if rows.format != "csv" else f"use {nulls}"
        if rows.format == "csv" and others:
            way = f"leave these fields empty in the file ({nulls} would also remove it from {others[0].name!r})"
        notes.append(
            Note(
                f"{finding.column!r} is {values} in {finding.count:,} of {counted(finding.rows or 0, 'row')}, far from "
                f"its other values ({finding.example})",
                f": if that is a null marker, {way}",
            )
        )
    return notes


def _may_have(column: ColumnFacts, texts: Sequence[str]) -> bool:
    """Return whether a column may have one of some values, by its range or its categories."""
    if column.ends is None:
        return not column.values.isdisjoint(texts)
    if column.type in TIME_TYPES:
        low, high = (format_time(column.type, int(end)) for end in column.ends)
        return any(low <= text <= high for text in texts if not text.lstrip("-").isdigit())
    numbers = [float(text) for text in texts if re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", text)]
    return any(column.ends[0] <= number <= column.ends[1] for number in numbers)


def _truth_values(rows: Rows, columns: Sequence[str]) -> list[Note]:
    """Return a note on columns of a CSV file that are truth values by their words alone."""
    names = [repr(name) for name in columns if rows.types[name] == "boolean"]
    if rows.format != "csv" or not names:
        return []
    return [Note(f"the only values are true and false in {', '.join(names)}: read as truth values, not as text")]


def _constant_columns(facts: Survey) -> list[Note]:
    """Return a note on the columns that have only one value."""
    constant = [column for column in facts.columns if column.only_value is not None]
    if not constant:
        return []
    shown = ", ".join(f"{column.name!r} ({_shown(column)})" for column in constant[:MAX_SHOWN])
    if len(constant) == 1:
        return [Note(f"column {constant[0].name!r} has only one value ({_shown(constant[0])}) and is not used")]
    more = f" and {len(constant) - MAX_SHOWN:,} more" if len(constant) > MAX_SHOWN else ""
    return [Note(f"{len(constant):,} columns have only one value and are not used: {shown}{more}")]


def _shown(column: ColumnFacts) -> str:
    """Return the only value of a column, with times in their own format."""
    value = column.only_value
    return format_time(column.type, value) if column.type in TIME_TYPES and isinstance(value, int) else str(value)


def _listed(findings: Sequence[Finding]) -> str:
    return ("column " if len(findings) == 1 else "columns ") + ", ".join(map(repr, names_of(findings)))

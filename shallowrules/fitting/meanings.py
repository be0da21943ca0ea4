"""Possible meanings of values that are not quantities: repeated IDs, cluster labels, dates as numbers, sentinels."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import ColumnFacts
from shallowrules.encoding.checks import MAX_CATEGORIES
from shallowrules.errors import Finding
from shallowrules.fitting.examining import Rows
from shallowrules.fitting.survey import Survey
from shallowrules.partitions import Part
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Table
from shallowrules.tables.times import TIME_TYPES, format_time

__all__ = ["find_date_numbers", "find_labels", "find_repeated_ids", "find_sentinels", "is_whole"]

LOOKED_AT = 1000
"""Rows, spread over a table or its first part, that decide which columns are examined in full."""

REPEATED_ID = re.compile(
    r"(?i:(^|[ _.-])(id|ids|key|pk|uuid|guid)$)|(?<=[a-z])(ID|IDs|Id|Key)$|^(id|ID|Id)(?=[ _.A-Z])"
    r"|(?i:^(customer|client|user|account|order|invoice|contract|policy|patient|member|product|article|ticket|device)"
    r"[ _.-]?(no|nr|num|number)\.?$)"
)
"""Names of columns whose whole numbers identify the customer, order and so on of a row."""

MIN_ID = 10_000
"""Smallest start of a dense range of whole numbers that looks like a numbering: quantities seldom begin there."""

LABEL = re.compile(
    r"(?i)^(predicted[ _.-]?)?(k-?_?means[ _.-]?)?(cluster|kmeans)s?([ _.-]?(id|name|label|no|nr|number))?$"
)
"""Names of columns of labels: those that `label` gives, and those that people give to the result of k-means."""

TIME_NAME = re.compile(r"(?i)time|date|stamp|epoch|created|updated|(^|_)(at|ts)$")
"""Names of columns whose whole numbers may be seconds; larger units have more digits than most other numbers."""

EPOCHS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
"""Units of time since 1970, by their number per second."""

FIRST_SECOND, LAST_SECOND = 946_684_800, 2_208_988_800
"""Seconds from 1970 to the beginnings of 2000 and of 2040: numbers between them look like points in time."""

MAX_SENTINELS = 3
"""Distinct values at one end of a column that may stand for something else, as 97, 98 and 99 do in surveys."""

BEYOND = 1e15
"""A bound that no column of quantities reaches."""

LARGEST = tuple(2**bits - 1 for bits in (8, 15, 16, 31, 32))
"""The largest whole numbers of some types, which stand for missing values in files of programs and devices."""

MIN_OTHERS = 5
"""The number of other distinct values that a column must have; with fewer, none is far from the others."""


def find_labels(facts: Survey, names: Collection[str]) -> list[Finding]:
    """Return which of some columns have the name, and as few values, as labels of clusters have."""
    return [
        Finding("labels", repr(column.name), column.name)
        for column in facts.columns
        if column.name in names and LABEL.search(column.name) and _are_few(column)
    ]


def _are_few(column: ColumnFacts) -> bool:
    """Return whether texts, or whole numbers by their range, are within the limit on categories."""
    if column.ends is None:
        return column.n_distinct <= MAX_CATEGORIES
    return column.type == "integer" and column.ends[1] - column.ends[0] <= MAX_CATEGORIES


def find_repeated_ids(rows: Rows, first: Table, facts: Survey, names: Collection[str]) -> list[Finding]:
    """Return which of some columns look like IDs that repeat, as customers do in a table of orders.

    They are whole numbers whose column's name says so, or numbers of five digits and more with few gaps. `first` are
    the rows of the first part; `distinct` is how many IDs there are, None where that is not known.
    """
    found = []
    for column in facts.columns:
        if column.name not in names or column.type not in ("integer", "float") or column.ends is None:
            continue
        named = REPEATED_ID.search(column.name) is not None
        span = column.ends[1] - column.ends[0]
        if not named and (column.ends[0] < MIN_ID or not MAX_CATEGORIES < span < 2 * column.present):
            continue
        if not is_whole(first, column) or not (named or _is_dense(_present(first, column))):
            continue
        distinct = rows.count_distinct(column.name)
        found.append(Finding("repeated id", repr(column.name), column.name, rows=facts.rows, distinct=distinct))
    return found


def is_whole(first: Table, column: ColumnFacts) -> bool:
    """Return whether a column holds whole numbers, perhaps as floats, as a column with gaps often does."""
    if column.type != "float":
        return column.type == "integer"
    values = _present(first, column)
    return np.array_equal(values, np.floor(values))


def _is_dense(values: NDArray[Any]) -> bool:
    """Return whether many whole numbers repeat and leave out less than half of those between them."""
    distinct = np.unique(values)
    span = distinct[-1].item() - distinct[0].item() if len(distinct) else 0
    return MAX_CATEGORIES < len(distinct) < len(values) and span < 2 * len(distinct)


def find_date_numbers(first: Table, facts: Survey, names: Collection[str]) -> list[Finding]:
    """Return which of some columns of whole numbers look like dates, 20240131 or 202401, or time since 1970.

    `example` is a number, and `values` its meaning.
    """
    found = []
    for column in facts.columns:
        if column.name not in names or column.type != "integer" or column.ends is None or column.only_value is not None:
            continue
        ends = (int(column.ends[0]), int(column.ends[1]))
        if all(map(_day, ends)) or all(map(_month, ends)):
            read: Callable[[int], object] = _day if all(map(_day, ends)) else _month
            if all(map(read, _sample(_present(first, column)).tolist())):
                found.append(_as_date(column, str(read(ends[1]))))
            continue
        for unit, size in EPOCHS.items():
            if FIRST_SECOND * size <= ends[0] and ends[1] < LAST_SECOND * size:
                if size > 1 or TIME_NAME.search(column.name):
                    shown = format_time("timestamptz", ends[1] * 10**6 // size)
                    found.append(replace(_as_date(column, shown), kind=unit))
                break
    return found


def _as_date(column: ColumnFacts, shown: str) -> Finding:
    assert column.ends is not None
    return Finding("dates", repr(column.name), column.name, example=str(column.ends[1]), values=(shown,))


def _day(number: int) -> date | None:
    """Return the day that digits such as 20240131 represent, None if it is not from 1900 to 2100."""
    try:
        return date(number // 10_000, number // 100 % 100, number % 100) if 19_000_000 < number < 21_010_000 else None
    except ValueError:
        return None


def _month(number: int) -> date | None:
    """Return the first day of the month that digits such as 202401 represent, None if it is not from 1900 to 2100."""
    return _day(100 * number + 1)


def find_sentinels(rows: Rows, first: Table, facts: Survey) -> list[Finding]:
    """Return the columns with few values at one end that repeat, are far from all others and look chosen: -999, 99.

    Far is farther than the others are from one another. `values` are these values, `count` is the number of rows with
    them, and `example` gives the range of the others. 0 is a value like any other.
    """
    cuts: list[tuple[str, Number, bool]] = []
    types = {}
    for column in facts.columns:
        if column.ends is None or column.ends[0] == column.ends[1]:
            continue
        types[column.name] = column.type
        values = sorted({*_sample(_present(first, column)).tolist(), *column.ends})
        cuts += [(column.name, cut, above) for above in (False, True) if (cut := _cut(values, above)) is not None]
    if not cuts:
        return []
    found = []
    for (name, _, above), end in zip(cuts, rows.map_reduce(_split, tuple(cuts)).ends, strict=True):
        kind = types[name]
        if not end.stands_apart or not (kind in TIME_TYPES or _is_marker(end, above=above)):
            continue

        def shown(value: Number, kind: str = kind) -> str:
            return format_time(kind, int(value)) if kind not in ("integer", "float") else f"{value:g}"

        others = f"{shown(end.others[0])} to {shown(end.others[1])}"
        texts = tuple(map(shown, sorted(end.counts)))
        found.append(
            Finding("sentinels", repr(name), name, sum(end.counts.values()), facts.rows, example=others, values=texts)
        )
    return found


def _is_marker(end: _End, *, above: bool) -> bool:
    """Return whether the outermost value looks chosen: 99, 8888, -1 among others of 0 and more, -200, 32767, 1e20."""
    value = max(end.counts) if above else min(end.counts)
    digits = f"{abs(value):g}".replace(".", "")
    repeated = len(digits) > 1 and len(set(digits)) == 1
    below = value < 0 and (end.others[0] >= 0 or value % 100 == 0)
    return repeated or below or abs(value) >= BEYOND or abs(value) in LARGEST


def _cut(values: Sequence[Number], above: bool) -> Number | None:
    """Return the outermost of ascending values that is not a sentinel; None if there are no sentinels."""
    ordered = values if above else [-value for value in reversed(values)]
    for n in range(1, MAX_SENTINELS + 1):
        if len(ordered) < n + MIN_OTHERS:
            return None
        if ordered[-n] - ordered[-n - 1] > ordered[-n - 1] - ordered[0]:
            return ordered[-n - 1] if above else -ordered[-n - 1]
    return None


@dataclass(frozen=True)
class _End:
    """One end of a column: how often each of a few values occurs, and the range of all others."""

    counts: Mapping[Number, int]
    others: tuple[Number, Number]

    @property
    def stands_apart(self) -> bool:
        """Whether few values repeat and are far from the others."""
        if not 0 < len(self.counts) <= MAX_SENTINELS or sum(self.counts.values()) <= len(self.counts):
            return False
        low, high = self.others
        gap = min(max(value - high, low - value) for value in self.counts)
        return 0 not in self.counts and gap > high - low

    def merged(self, other: _End) -> _End:
        """Return the end in both parts together."""
        counts = {v: self.counts.get(v, 0) + other.counts.get(v, 0) for v in (*self.counts, *other.counts)}
        few = dict(sorted(counts.items())[: MAX_SENTINELS + 1])
        return _End(few, (min(self.others[0], other.others[0]), max(self.others[1], other.others[1])))


@dataclass(frozen=True)
class _Ends:
    """The ends of some columns."""

    ends: tuple[_End, ...]

    def merged(self, other: _Ends) -> _Ends:
        """Return the ends in both parts together."""
        return _Ends(tuple(one.merged(another) for one, another in zip(self.ends, other.ends, strict=True)))


def _split(part: Part, cuts: tuple[tuple[str, Number, bool], ...]) -> _Ends:
    found = []
    for name, cut, above in cuts:
        column = part[name]
        values = column.numbers() if not column.n_missing else column.numbers()[~column.absent]
        beyond = values > cut if above else values < cut
        outer, counts = np.unique(values[beyond], return_counts=True)
        inner = values[~beyond]
        ends = (inner.min().item(), inner.max().item()) if len(inner) else (cut, cut)
        few = slice(MAX_SENTINELS + 1)
        found.append(_End(dict(zip(outer[few].tolist(), counts[few].tolist(), strict=True)), ends))
    return _Ends(tuple(found))


def _present(first: Table, column: ColumnFacts) -> NDArray[Any]:
    """Return the values of a column of numbers that are not missing."""
    raw = first[column.name]
    return raw.numbers() if not raw.n_missing else raw.numbers()[~raw.absent]


def _sample(values: NDArray[Any]) -> NDArray[Any]:
    """Return some values from all over an array."""
    return values[:: max(1, len(values) // LOOKED_AT)]

"""Dates, points in time and durations: whole numbers to the rules, but written as times.

A date is its days since 1970-01-01; a point in time its microseconds since then, in UTC where it has a time zone; a
duration its microseconds. Anything finer is truncated towards the past. Years go from 1 to 9999.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BOUND_WORDS",
    "DAY",
    "DURATION",
    "FORMS",
    "HOUR",
    "MINUTE",
    "MOMENT",
    "NATURE",
    "NATURES",
    "SPAN",
    "TIME_TYPES",
    "TimeType",
    "array_of_times",
    "average_text",
    "bound_text",
    "format_time",
    "is_moment",
    "numbers_of_times",
    "parse_time",
    "readable_time",
    "rounder_times",
    "threshold_of",
    "time_level",
    "time_of",
    "time_of_text",
    "time_pattern",
    "time_range",
    "to_time",
]

TimeType = Literal["date", "timestamp", "timestamptz", "duration"]

TIME_TYPES: tuple[TimeType, ...] = ("date", "timestamp", "timestamptz", "duration")

NATURES: Mapping[str, str] = {
    "date": "dates",
    "timestamp": "points in time",
    "timestamptz": "points in time with a time zone",
    "duration": "durations",
}
"""The values of a column of a kind, in the words of a message."""

NATURE: Mapping[str, str] = {
    "date": "date",
    "timestamp": "point in time",
    "timestamptz": "point in time with a time zone",
    "duration": "duration",
}
"""The same, of one value."""

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND

_DAY = "(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_CLOCK_TEXT = (
    "(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])"
    r"(?:\.(?P<fraction>[0-9]{1,6}))?)?"
)
_ZONE = "(?P<zone>Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"

MOMENT = f"{_DAY}(?:[ T]{_CLOCK_TEXT}{_ZONE}?)?"
"""A date or a point in time as text, in the form of ISO 8601."""

FORMS: Mapping[str, str] = {
    "date": _DAY,
    "timestamp": f"{_DAY}(?:[ T]{_CLOCK_TEXT})?",
    "timestamptz": f"{_DAY}[ T]{_CLOCK_TEXT}{_ZONE}",
}
"""By kind, the pattern that every text in a file's column must match for the column to be one of times."""

DURATION = (
    r"(?P<sign>-?)(?:(?P<days>[0-9]{1,7}) days?)?(?:(?(days) )(?P<h>[0-9]{1,2}):(?P<m>[0-5][0-9])"
    r"(?::(?P<s>[0-5][0-9])(?:\.(?P<f>[0-9]{1,6}))?)?)?"
)
"""A duration as text: 2 days 12:30:00, where parts that are 0 may be omitted."""

SPAN = r"-?(?:[0-9]{1,7} days?|(?:[0-9]{1,7} days? )?[0-9]{1,2}:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?)"
"""The same without groups, for engines whose patterns have no conditions."""

EPOCH = date(1970, 1, 1)
_MOMENT = datetime(1970, 1, 1)
_LONGEST = 10_000 * 366 * DAY

_RANGES: Mapping[str, range] = {
    "date": range((date.min - EPOCH).days, (date.max - EPOCH).days + 1),
    **dict.fromkeys(
        ("timestamp", "timestamptz"),
        range((date.min - EPOCH).days * DAY, ((date.max - EPOCH).days + 1) * DAY),
    ),
    "duration": range(-_LONGEST, _LONGEST + 1),
}


def time_pattern(kind: str) -> re.Pattern[str]:
    """Return the pattern of a text that may be a time of a kind, and has at least one character."""
    return re.compile(f"(?=[-0-9]){DURATION if kind == 'duration' else MOMENT}")


def time_range(kind: str) -> range:
    """Return the numbers that stand for values of a kind."""
    return _RANGES[kind]


def to_time(kind: str, number: int) -> date | datetime | timedelta:
    """Return the Python value that a number stands for."""
    if kind == "date":
        return EPOCH + timedelta(days=number)
    if kind == "duration":
        return timedelta(microseconds=number)
    moment = _MOMENT + timedelta(microseconds=number)
    return moment.replace(tzinfo=UTC) if kind == "timestamptz" else moment


def time_of(value: object) -> tuple[TimeType, int] | None:
    """Return the kind of a date, point in time or duration of Python, and its number; None for any other value."""
    if isinstance(value, timedelta):
        return "duration", value // timedelta(microseconds=1)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return "timestamp", (value.replace(fold=0) - _MOMENT) // timedelta(microseconds=1)
        return "timestamptz", (value - _MOMENT.replace(tzinfo=UTC)) // timedelta(microseconds=1)
    if isinstance(value, date):
        return "date", (value - EPOCH).days
    return None


def format_time(kind: str, number: int) -> str:
    """Return the text that a number stands for, without needless zeros.

    Examples
    --------
    >>> format_time("date", 19813), format_time("timestamp", 19813 * 86_400_000_000)
    ('2024-03-31', '2024-03-31')
    >>> format_time("timestamptz", 45_000_000_000), format_time("duration", 95_400_000_000)
    ('1970-01-01 12:30Z', '1 day 02:30')
    """
    if kind == "date":
        return cast(date, to_time(kind, number)).isoformat()
    if kind == "duration":
        days, rest = divmod(abs(number), DAY)
        parts = [f"{days} day{'' if days == 1 else 's'}"] * bool(days) + [_clock(rest)] * bool(rest or not days)
        return "-" * (number < 0) + " ".join(parts)
    days, rest = divmod(number, DAY)
    text = format_time("date", days)
    if kind == "timestamptz":
        return f"{text} {_clock(rest)}Z"
    return f"{text} {_clock(rest)}" if rest else text


def _clock(rest: int) -> str:
    minutes, rest = divmod(rest, MINUTE)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    if rest:
        seconds, fraction = divmod(rest, SECOND)
        text += f":{seconds:02}" + (f".{fraction:06}" if fraction else "").rstrip("0")
    return text


def parse_time(kind: str, text: str) -> int | None:
    """Return the number of the time in a text, in the forms of `format_time` and ISO 8601; None if it is not a time."""
    text = text.strip(" ")
    number = _duration(text) if kind == "duration" else _moment(kind, text)
    return number if number is not None and number in _RANGES[kind] else None


def time_of_text(kind: str, text: str) -> int | None:
    """Return the number of the time in a text, as rules of a kind compare it; None if it is not a time.

    It is the result of `parse_time`; for rules on dates, a point in time also stands for its day.
    """
    if kind != "date":
        return parse_time(kind, text)
    moment = parse_time("timestamp", text)
    return None if moment is None else moment // DAY


def _moment(kind: str, text: str) -> int | None:
    match = re.fullmatch(MOMENT, text)
    if match is None or (kind == "date" and match["hour"]):
        return None
    zone = match["zone"]
    if match["hour"] and (zone is not None) != (kind == "timestamptz"):
        return None
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    try:
        days = (date(int(match["year"]), int(match["month"]), int(match["day"])) - EPOCH).days
    except ValueError:
        return None
    ahead = 0
    if zone is not None and zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
        ahead = (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)
    clock = hour * HOUR + (minute - ahead) * MINUTE + second * SECOND + int((match["fraction"] or "").ljust(6, "0"))
    return days if kind == "date" else days * DAY + clock


def _duration(text: str) -> int | None:
    match = re.fullmatch(DURATION, text)
    if match is None or (match["days"] is None and match["h"] is None):
        return None
    clock = int(match["h"] or 0) * HOUR + int(match["m"] or 0) * MINUTE + int(match["s"] or 0) * SECOND
    number = int(match["days"] or 0) * DAY + clock + int((match["f"] or "").ljust(6, "0"))
    return -number if match["sign"] else number


def is_moment(kind: str) -> bool:
    """Return whether a kind means points in time."""
    return kind in ("timestamp", "timestamptz")


def bound_text(kind: str, bound: int, *, above: bool) -> tuple[str, str]:
    """Return the comparison of rules for values above a bound, or for those up to it: the sign, and the text after it.

    A point in time is compared with the next microsecond, which is a rounder number: it is before that, or not.

    Examples
    --------
    >>> bound_text("date", 19813, above=False), bound_text("timestamp", 19814 * 86_400_000_000 - 1, above=True)
    (('<=', '2024-03-31'), ('>=', '2024-04-01'))
    """
    if is_moment(kind):
        return ">=" if above else "<", format_time(kind, bound + 1)
    return ">" if above else "<=", format_time(kind, bound)


BOUND_WORDS: Mapping[str, tuple[str, str]] = {
    "date": ("after", "on or before"),
    "timestamp": ("at or after", "before"),
    "timestamptz": ("at or after", "before"),
    "duration": ("above", "at most"),
}
"""By the kind of a column, the words for "above a bound" and "at most a bound"."""


def threshold_of(kind: str, sign: str, text: str) -> int | None:
    """Return the threshold of a text compared with ``<=``, ``<``, ``>`` or ``>=``; None if it is not a time."""
    number = parse_time(kind, text)
    if number is None:
        return None
    number -= sign in ("<", ">=")
    return number if number in _RANGES[kind] else None


def average_text(kind: str, mean: float) -> str:
    """Return the mean of some times: a day, or a minute of a day; for durations below an hour, with all digits."""
    number = round(mean)
    if kind != "date" and abs(number) >= HOUR:
        number = round(mean / MINUTE) * MINUTE
    held = _RANGES[kind]
    return format_time(kind, min(max(number, held[0]), held[-1]))


# How round a time is ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Level:
    """A grid of times, from the coarsest: its multiple at or before a number, and the next one."""

    digits: int
    around: Callable[[int], tuple[int, int]]


def _steps(step: int, digits: int) -> _Level:
    return _Level(digits, lambda number: (number // step * step, (number // step + 1) * step))


def _months(months: int, day: int, digits: int) -> _Level:
    """Return the grid of the first days of every given number of months, where a day is a given number of units."""

    def around(number: int) -> tuple[int, int]:
        at = EPOCH + timedelta(days=number // day)
        first = (at.year * 12 + at.month - 1) // months * months
        return _first(first) * day, _first(first + months) * day

    return _Level(digits, around)


def _first(month: int) -> int:
    """Return the days from the epoch to the first of a month, counted from year 0."""
    year = month // 12
    if year < 1:
        return _RANGES["date"][0]
    return (date(year, month % 12 + 1, 1) - EPOCH).days if year <= date.max.year else _RANGES["date"].stop


def _calendar(day: int) -> tuple[_Level, ...]:
    return _months(12, day, 1), _months(3, day, 2), _months(1, day, 2), _steps(day, 3)


_CLOCK = (
    *(_steps(step, 4) for step in (6 * HOUR, HOUR)),
    *(_steps(step, 5) for step in (15 * MINUTE, 5 * MINUTE, MINUTE)),
    *(_steps(step, 6) for step in (10 * SECOND, SECOND)),
    *(_steps(10**power, 12 - power) for power in range(5, -1, -1)),
)

_LEVELS: Mapping[str, tuple[_Level, ...]] = {
    "date": _calendar(1),
    **dict.fromkeys(("timestamp", "timestamptz"), (*_calendar(DAY), *_CLOCK)),
    "duration": (*(_steps(10**power * DAY, 1 + (power == 0)) for power in range(6, -1, -1)), *_CLOCK),
}

_SHIFT: Mapping[str, int] = {"date": 1, "timestamp": 1, "timestamptz": 1, "duration": 0}
"""The first value above a threshold should be round; for a duration, the threshold."""


def readable_time(kind: str, lower: int, upper: int) -> int:
    """Return the roundest threshold t with ``lower <= t < upper``.

    Just above the threshold, a year, a quarter, a month, a day, an hour, … begins, so the threshold of dates is the
    last day of one of these. Among equally round ones, it is the one nearest to the middle, from the middle half
    of the gap if one is there.

    Parameters
    ----------
    kind : {"date", "timestamp", "timestamptz", "duration"}
    lower, upper : int
        The largest value that goes left and the smallest that goes right.

    Examples
    --------
    >>> format_time("date", readable_time("date", 19790, 19850))
    '2024-03-31'
    """
    shift, unit = _SHIFT[kind], _common_unit(kind, lower, upper)
    low, high = lower // unit, upper // unit
    middle, quarter = (low + high) / 2, (high - low) // 4
    for level in _LEVELS[kind]:
        # The last unit at or before a threshold: days, for a column whose points in time are whole days.
        near = [(at - shift, (at - shift) // unit) for at in level.around((lower + upper) // 2)]
        found = [(t, whole) for t, whole in near if low + quarter <= whole <= high - quarter and low <= whole < high]
        if found:
            return min(found, key=lambda pair: (abs(pair[1] - middle), pair[0]))[0]
    return lower


def _common_unit(kind: str, lower: int, upper: int) -> int:
    """Return the largest of a day, an hour, a minute and a second that both ends of a gap are multiples of, or 1."""
    if kind == "date":
        return 1
    return next((unit for unit in (DAY, HOUR, MINUTE, SECOND) if lower % unit == upper % unit == 0), 1)


def rounder_times(kind: str, lower: int, upper: int) -> list[int]:
    """Return thresholds near a gap that are rounder than its readable one; they may lie outside the gap."""
    shift, most = _SHIFT[kind], time_level(kind, readable_time(kind, lower, upper))
    near = (at for level in _LEVELS[kind] if level.digits < most for at in level.around((lower + upper) // 2))
    return sorted({at - shift for at in near if at - shift in _RANGES[kind] and at in _RANGES[kind]})


def time_level(kind: str, threshold: int) -> int:
    """Return how many units of a threshold a person has to read: 1 for a year, 2 for a month, 3 for a day, etc."""
    at = threshold + _SHIFT[kind]
    levels = (level.digits for level in _LEVELS[kind] if at in _RANGES[kind] and level.around(at)[0] == at)
    return next(levels, _LEVELS[kind][-1].digits)


# Arrays -------------------------------------------------------------------------------------------


def numbers_of_times(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the numbers of the points in time or durations in an array, 0 where one is missing, and where that is.

    Parameters
    ----------
    values : ndarray of datetime64 or timedelta64

    Raises
    ------
    OverflowError
        If one is beyond the years 1 to 9999, or of no unit.
    """
    missing = np.isnat(values)
    kind = "duration" if values.dtype.kind == "m" else "timestamp"
    unit = np.datetime_data(values.dtype)[0]
    day = values.astype("m8[D]" if kind == "duration" else "M8[D]").view(np.int64)  # days do for any unit
    days = np.where(missing, 0, day)
    bounds = _RANGES[kind]
    no_unit = unit == "generic" and not missing.all()
    if no_unit or ((days < bounds[0] // DAY) | (days > bounds[-1] // DAY)).any():
        raise OverflowError
    numbers = values.astype("m8[us]" if kind == "duration" else "M8[us]").view(np.int64)
    return np.where(missing, 0, numbers), missing


def array_of_times(kind: str, numbers: NDArray[np.int64], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Return numbers as datetime64 or timedelta64 values, NaT where one is missing; without a time zone."""
    array = numbers.astype({"date": "M8[D]", "duration": "m8[us]"}.get(kind, "M8[us]"))
    array[missing] = np.array("NaT", array.dtype)
    return array

"""Dates as people write them in files: the formats that are read, in the letters of `strptime`.

A format is one of `FORMATS`, so that Python, DuckDB and the page read it alike: each has one pattern. Days, months and
hours may lack a leading zero, months have English names, and years of two digits are from 1969 to 2068.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache

from shallowrules.tables.times import time_of

__all__ = ["FORMATS", "MONTHS", "format_words", "swapped", "written_pattern", "written_time"]

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)

_DAYS = (
    *("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")

FORMATS = tuple(f"{day}{clock}" for clock in _CLOCKS for day in _DAYS)
"""The formats; where several fit, the first is taken, unless another one swaps day and month."""


def _names(names: list[str]) -> str:
    return "|".join(spelt for name in names for spelt in dict.fromkeys((name, name.upper(), name.lower())))


_PATTERNS: Mapping[str, str] = {
    "%d": "(?P<day>[0-9]{1,2})",
    "%m": "(?P<month>[0-9]{1,2})",
    "%b": f"(?P<name>{_names([name[:3] for name in MONTHS])})",
    "%B": f"(?P<name>{_names(list(MONTHS))})",
    "%Y": "(?P<year>[0-9]{4})",
    "%y": "(?P<year>[0-9]{2})",
    "%H": "(?P<hour>[01]?[0-9]|2[0-3])",
    "%I": "(?P<hour>0?[1-9]|1[0-2])",
    "%M": "(?P<minute>[0-5][0-9])",
    "%S": "(?P<second>[0-5][0-9])",
    "%p": "(?P<half>[AaPp])[Mm]",
}

_WORDS = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year"}


@cache
def written_pattern(form: str) -> str:
    """Return the pattern of a format's texts, without the spaces around them."""
    return re.sub("%[a-zA-Z]", lambda found: _PATTERNS[found[0]], form.replace(".", "[.]"))


def written_time(form: str, text: str) -> int | None:
    """Return the microseconds since 1970 of a point in time written in a format; None if the text is not one.

    Examples
    --------
    >>> written_time("%d.%m.%Y", "2.1.1970"), written_time("%m/%d/%y %I:%M %p", "01/01/70 12:01 am")
    (86400000000, 60000000)
    """
    match = re.fullmatch(written_pattern(form), text.strip(" "))
    if match is None:
        return None
    found = match.groupdict()
    year = int(found["year"])
    if "%y" in form:
        year += 1900 if year >= 69 else 2000
    short = [name[:3].lower() for name in MONTHS]
    month = short.index(found["name"][:3].lower()) + 1 if "name" in found else int(found["month"])
    hour = int(found.get("hour", 0))
    if "half" in found:
        hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
    minute, second = int(found.get("minute", 0)), int(found.get("second", 0))
    try:
        moment = datetime(year, month, int(found["day"]), hour, minute, second)
    except ValueError:
        return None
    kind_and_number = time_of(moment)
    return None if kind_and_number is None else kind_and_number[1]


def swapped(form: str) -> str:
    """Return a format with day and month swapped."""
    return form.replace("%d", "%0").replace("%m", "%d").replace("%0", "%m")


def format_words(form: str) -> str:
    """Return how a format is written, in words.

    Examples
    --------
    >>> format_words("%d/%m/%y"), format_words("%b %d, %Y %I:%M %p")
    ('day/month/year', 'month day, year')
    """
    day = form.partition(" %H")[0].partition(" %I")[0]
    return re.sub("%[a-zA-Z]", lambda found: _WORDS[found[0]], day)

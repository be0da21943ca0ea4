"""Edits as a person types them: thresholds with grouped digits or in the column's own format, and new names."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal

from shallowrules.errors import DataError
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.conditions import printable
from shallowrules.rules.words.written import read_number
from shallowrules.tables.conversion import Number
from shallowrules.tables.dates import written_time
from shallowrules.tables.number_format import BLANKS, NumberFormat
from shallowrules.tables.times import DAY, format_time
from shallowrules.tables.values import Value

__all__ = ["read_new_name", "read_threshold"]

GROUPING = f"{BLANKS}'\u2019"
"""Marks that may group digits in any column, besides the comma."""


def read_threshold(text: str, column: RuleColumn, among: Collection[Number | Value] = ()) -> Number:
    """Return a threshold as a person types it: 50,000 or 1 675, or as the files of the column have it.

    Parameters
    ----------
    text : str
    column : RuleColumn
    among : collection of number
        Thresholds, one of which is meant if the text can be read so.

    Raises
    ------
    DataError
        If it is not a threshold of the column, or can be read in two ways; says how to write each.
    """
    found = list(dict.fromkeys(_numbers(text, column)))
    if len(expected := [number for number in found if number in among]) == 1:
        return expected[0]
    if len(found) == 1:
        return found[0]
    if found:
        ways = " or ".join(_plainly(number, column) for number in found)
        raise DataError(f"{text!r} can be read in two ways in column {column.name!r}: write {ways}")
    if text.endswith("%") and (bare := dict.fromkeys(_numbers(text[:-1].rstrip(BLANKS), column))):
        ways = " or ".join(way for number in bare for way in _of_percent(number, column))
        raise DataError(
            f"{text!r} has a percent sign, and the numbers of column {column.name!r} have none: write {ways}"
        )
    return read_number(text, column)  # which says what is wrong


def _numbers(text: str, column: RuleColumn) -> Iterator[Number]:
    """Yield the thresholds that a text may mean."""
    for plain in _plain_texts(text, column):
        try:
            yield read_number(plain, column)
        except DataError:
            continue


def _plain_texts(text: str, column: RuleColumn) -> Iterator[str]:
    """Yield the texts in the form of printed rules that a text may stand for."""
    yield text
    if column.is_time:
        moment = written_time(column.dates, text) if column.dates else None
        if moment is not None:
            yield format_time(column.type, moment // DAY if column.type == "date" else moment)
        return
    own = column.conversion.number(text)
    if own is not None and math.isfinite(own):
        yield str(own)
    for decimal in dict.fromkeys((".", column.decimal)):
        for mark in GROUPING:
            if (plain := NumberFormat(mark, decimal).plain(text)) is not None:
                yield plain


def _plainly(number: Number, column: RuleColumn) -> str:
    """Return a number so that it reads in only one way: a further zero keeps a fraction from looking like a group."""
    shown = column.show(number)
    return shown if len(set(_numbers(shown, column))) == 1 else f"{shown}0"


def _of_percent(number: Number, column: RuleColumn) -> list[str]:
    """Return the readings of a percentage in a column of other numbers: as many, or hundredths."""
    hundredths = [] if column.is_whole else [float(Decimal(str(number)).scaleb(-2))]
    return [_plainly(each, column) for each in (number, *hundredths)]


def read_new_name(text: str, called: Mapping[int, str]) -> tuple[int, str]:
    """Return the number of a cluster and its new name, from ``0=High spenders`` or ``old name=new name``.

    Parameters
    ----------
    text : str
    called : mapping from int to str
        What each cluster is called today; its number, where nobody named it.

    Raises
    ------
    DataError
        If it names no cluster, or can be read in two ways; says how to write each.
    """
    titles = {number: str(number) if name == str(number) else f"{number} ({name})" for number, name in called.items()}
    found: dict[tuple[int, str], None] = {}
    for place in (i for i, character in enumerate(text) if character == "="):
        cluster, name = text[:place].strip(), text[place + 1 :].strip()
        exact = [number for number, title in titles.items() if cluster in (title, printable(title))]
        known = [n for n, said in called.items() if cluster in (str(n), said, printable(said))]
        found |= {(number, name): None for number in exact or known if name}
    if len(found) == 1:
        return next(iter(found))
    if found:
        ways = " or ".join(repr(f"{printable(titles[number])}={name}") for number, name in found)
        raise DataError(f"{text!r} can be read in two ways: write {ways}")
    listed = ", ".join(map(printable, titles.values()))
    raise DataError(
        f"{text!r} does not give a cluster a name; write it as '{min(called)}=New name'; the clusters are {listed}"
    )

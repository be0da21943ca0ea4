"""Rules read from text, in the form in which ``print(rules)`` shows them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from shallowrules.conversion import Number
from shallowrules.errors import DataError
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.conditions import Between, Condition, NoneOf, OneOf, both, format_value, printable
from shallowrules.rules.figures import Cluster
from shallowrules.rules.from_rules import Asked
from shallowrules.table import Value

__all__ = ["read_condition", "read_number", "read_rules"]

T = TypeVar("T")

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
TAIL = re.compile(r"\s+\([0-9,]+ rows?, [0-9.]+%\)\s*$")
"""What a printed rule says of its training rows, which nobody has to keep up to date."""
HEAD = re.compile(r"cluster (-?[0-9]+)")
MAX_READINGS = 1000
"""Ways to read a line that are followed at once. Names such as "a and b" beside "a" have two or three."""


def read_rules(
    text: str, columns: Sequence[RuleColumn], clusters: Sequence[Cluster]
) -> tuple[list[Asked], dict[int, str]]:
    """Read rules, one per line: ``cluster 3 (Name): income <= 40 and city in ('Bonn', 'Ulm')``.

    Parameters
    ----------
    text : str
        As ``print(rules)`` shows them; the count of rows behind a rule and the line of figures may be left out. Blank
        lines, and those that begin with #, say nothing.
    columns : sequence of RuleColumn
        What rules may test.
    clusters : sequence of Cluster
        Those that are known. A rule may give another number.

    Returns
    -------
    list of Asked
    dict from int to str
        The names that the text has for clusters and that are new.

    Raises
    ------
    DataError
        Naming the line that cannot be read, and what is expected there.
    """
    _refuse_alike(columns)
    titles = {f"cluster {printable(each.title)}:": each.index for each in clusters}
    rules: list[Asked] = []
    names: dict[int, str] = {}
    for number, given in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        line = given.strip()
        if not line or line.startswith("#") or (rules and line.startswith("cost ")):
            continue
        try:
            cluster, name, conditions = _read_line(TAIL.sub("", line), titles, columns)
        except DataError as error:
            raise DataError(f"line {number}: {error}") from error
        rules.append(Asked(cluster, conditions, f"the rule of line {number} ({_short(line)})"))
        if name is not None and names.setdefault(cluster, name) != name:
            raise DataError(f"line {number} calls cluster {cluster} {name!r}, and a line before it {names[cluster]!r}")
    if not rules:
        raise DataError('there is no rule in the text: a rule is a line such as "cluster 0: income <= 40"')
    return rules, names


def read_condition(text: str, columns: Sequence[RuleColumn]) -> Condition:
    """Return the one condition that a text says, as ``proline <= 750``.

    Raises
    ------
    DataError
        If it says none, or several.
    """
    _refuse_alike(columns)
    try:
        [condition] = _read_conditions(text.strip(), columns)
    except DataError as error:
        raise DataError(f"the condition {text!r}: {error}") from error
    except ValueError:
        raise DataError(f"{text!r} is not one condition, such as income <= 40 or city = 'Bonn'") from None
    return condition


def read_number(text: str, column: RuleColumn) -> Number:
    """Return a threshold for a column.

    Raises
    ------
    DataError
        If it is no number, or one with a fraction for a column of whole numbers.
    """
    if not NUMBER.fullmatch(text):
        raise DataError(f"{text!r} is no number, and column {column.name!r} holds numbers")
    if column.type == "integer":
        if not re.fullmatch("[+-]?[0-9]+", text):
            raise DataError(f"column {column.name!r} holds whole numbers: say {math.floor(float(text))}, not {text}")
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise DataError(f"{text} is too large a number for column {column.name!r}")
    return value


def _short(line: str) -> str:
    return line if len(line) <= 60 else f"{line[:57]}..."


def _refuse_alike(columns: Sequence[RuleColumn]) -> None:
    """Raise DataError if two columns look the same in print."""
    shown: dict[str, str] = {}
    for column in columns:
        other = shown.setdefault(printable(column.name), column.name)
        if other != column.name:
            raise DataError(f"the columns {other!r} and {column.name!r} are printed alike: no text can tell them apart")


def _read_line(
    line: str, titles: Mapping[str, int], columns: Sequence[RuleColumn]
) -> tuple[int, str | None, tuple[Condition, ...]]:
    """Return the cluster of a line, what the line newly calls it, and what it asks."""
    for title in sorted(titles, key=len, reverse=True):
        if line.startswith(title):
            return titles[title], None, _read_conditions(line[len(title) :].strip(), columns)
    head = HEAD.match(line)
    if head is None:
        raise DataError(f'{_short(line)!r} is no rule: a rule begins with "cluster 0:"')
    cluster, rest = int(head[1]), line[head.end() :]
    if rest.startswith(":"):
        return cluster, None, _read_conditions(rest[1:].strip(), columns)
    refused: DataError | None = None
    for end in re.finditer(r"\):", rest):  # which may be in the name, too
        try:
            conditions = _read_conditions(rest[end.end() :].strip(), columns)
        except DataError as error:
            refused = error
            continue
        if rest.startswith(" (") and rest[2 : end.start()].strip():
            return cluster, rest[2 : end.start()], conditions
    raise refused or DataError(f'behind cluster {cluster} there must be ":" or "(a name):"')


def _read_conditions(text: str, columns: Sequence[RuleColumn]) -> tuple[Condition, ...]:
    """Return what a rule asks, one condition per column in the order of the text."""
    if text in ("every row", ""):
        if not text:
            raise DataError("the rule asks nothing; a rule that holds for every row says so: every row")
        return ()
    reader = _Reader(text, columns)
    found = reader.readings()
    if not found:
        raise DataError(reader.complaint())
    if len(found) > 1:
        raise DataError(f"{_short(text)!r} can be read in {len(found)} ways, for names of columns are in others")
    conditions: dict[int, Condition] = {}
    for condition in found[0]:
        feature = condition.feature
        conditions[feature] = both(conditions[feature], condition) if feature in conditions else condition
    return tuple(conditions.values())


class _Reader:
    """A text of conditions, and how far it could be read."""

    def __init__(self, text: str, columns: Sequence[RuleColumn]) -> None:
        self.text = text
        self.columns = columns
        self.furthest = -1
        self.wanted = "the name of a column"

    def readings(self) -> list[list[Condition]]:
        """Return all ways to read the whole text."""
        found = []
        pending: list[tuple[int, list[Condition]]] = [(0, [])]
        while pending and len(pending) < MAX_READINGS:
            place, before = pending.pop()
            for condition, end in self._condition(place):
                conditions = [*before, condition]
                if end == len(self.text):
                    found.append(conditions)
                elif (behind := self._word(end, " and ")) is not None:
                    pending.append((behind, conditions))
        return found

    def complaint(self) -> str:
        """Say what was wanted where reading ended."""
        rest = self.text[self.furthest :].strip()
        return f"{_short(rest)!r} should be {self.wanted}" if rest else f"{self.wanted} is missing at the end"

    def _fail(self, place: int, wanted: str) -> None:
        if place > self.furthest:
            self.furthest, self.wanted = place, wanted

    def _word(self, place: int, word: str) -> int | None:
        """Return the place behind a word, None where another one is."""
        if self.text.startswith(word, place):
            return place + len(word)
        self._fail(place, f'"{word.strip()}"')
        return None

    def _condition(self, place: int) -> Iterator[tuple[Condition, int]]:
        """Yield the conditions that the text may have at a place, and the place behind each."""
        self._fail(place, "the name of a column and a comparison")
        for feature, column in enumerate(self.columns):
            name = printable(column.name)
            if self.text.startswith(name, place):
                yield from self._compared(feature, column, place + len(name))
        if number := NUMBER.match(self.text, place):
            behind = self._word(number.end(), " < ")
            for feature, column in enumerate(self.columns):
                if behind is None:
                    break
                name = printable(column.name)
                if column.is_numeric and self.text.startswith(name, behind):
                    for upper, end in self._number(column, self._word(behind + len(name), " <= ")):
                        yield Between(feature, column, read_number(number[0], column), upper), end

    def _compared(self, feature: int, column: RuleColumn, place: int) -> Iterator[tuple[Condition, int]]:
        """Yield what may stand behind the name of a column."""
        if column.is_numeric:
            self._fail(place, f"{'= 0, = 1, ' if column.is_flag else ''}<= or > with a number")
            for bound, end in self._number(column, self._word(place, " <= ")):
                yield Between(feature, column, upper=bound), end
            for bound, end in self._number(column, self._word(place, " > ")):
                yield Between(feature, column, lower=bound), end
            for bound, end in self._number(column, self._word(place, " = ")) if column.is_flag else ():
                if bound in (0, 1):
                    yield (Between(feature, column, lower=0) if bound else Between(feature, column, upper=0)), end
            return
        self._fail(place, "=, <>, in (…) or not in (…) with categories")
        for words, kind in ((" = ", OneOf), (" <> ", NoneOf)):
            for value, end in self._value(column, self._word(place, words)):
                yield _asking(kind, feature, column, (value,)), end
        for words, kind in ((" in (", OneOf), (" not in (", NoneOf)):
            for values, end in self._values(column, self._word(place, words)):
                yield _asking(kind, feature, column, values), end

    def _number(self, column: RuleColumn, place: int | None) -> Iterator[tuple[Number, int]]:
        if place is None:
            return
        found = NUMBER.match(self.text, place)
        if found is None:
            self._fail(place, "a number")
            return
        yield read_number(found[0], column), found.end()

    def _value(self, column: RuleColumn, place: int | None) -> Iterator[tuple[Value, int]]:
        if place is None:
            return
        known: Sequence[Value] = (False, True) if column.type == "boolean" else column.values
        self._fail(place, f"a value that column {column.name!r} has, such as {format_value(known[0])}")
        for value in known:
            shown = printable(format_value(value))
            # A quote behind a closing one belongs to the value.
            if self.text.startswith(shown, place) and not self.text.startswith("'", place + len(shown)):
                yield value, place + len(shown)

    def _values(self, column: RuleColumn, place: int | None) -> Iterator[tuple[tuple[Value, ...], int]]:
        pending: list[tuple[tuple[Value, ...], int]] = [] if place is None else [((), place)]
        while pending and len(pending) < MAX_READINGS:
            before, at = pending.pop()
            for value, end in self._value(column, at):
                values = (*before, value)
                if self.text.startswith(")", end):
                    yield tuple(dict.fromkeys(values)), end + 1
                elif (behind := self._word(end, ", ")) is not None:
                    pending.append((values, behind))


def _asking(
    kind: Callable[[int, RuleColumn, tuple[Value, ...]], OneOf | NoneOf],
    feature: int,
    column: RuleColumn,
    values: tuple[Value, ...],
) -> Condition:
    """Return a condition on categories; of truth values none of some is one of the others."""
    if kind is NoneOf and column.type == "boolean":
        return OneOf(feature, column, tuple(value for value in (False, True) if value not in values))
    return kind(feature, column, values)

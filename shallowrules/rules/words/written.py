"""Rules read from text, in the form in which ``print(rules)`` shows them."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from shallowrules.errors import DataError
from shallowrules.rules.columns import RuleColumn, format_value
from shallowrules.rules.conditions import Between, Condition, both, category_condition, printable
from shallowrules.rules.figures import Cluster
from shallowrules.rules.words.from_rules import WrittenRule
from shallowrules.tables.conversion import Number
from shallowrules.tables.times import bound_text, threshold_of, time_pattern
from shallowrules.tables.values import Value

__all__ = ["ConditionReader", "PrintedReader", "read_condition", "read_number", "read_rules"]

MAX_WHOLE = 2.0**64
"""Columns of whole numbers have at most 64 bits."""

NUMBER = re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""Thousands may be grouped, as in the sheet."""
TAIL = re.compile(r"\s+\([0-9,]+ rows?, [0-9.]+%\)\s*$")
"""A printed rule's remark on its training rows, which need not be kept up to date."""
HEAD = re.compile(r"cluster (-?[0-9]+)")
MAX_READINGS = 1000
"""Maximum number of ways to read a line that are followed at once. Names such as "a and b" beside "a" have two or
three."""


def read_rules(
    text: str, columns: Sequence[RuleColumn], clusters: Sequence[Cluster]
) -> tuple[list[WrittenRule], dict[int, str]]:
    """Read rules, one per line: ``cluster 3 (Name): income <= 40 and city in ('Bonn', 'Ulm')``.

    Parameters
    ----------
    text : str
        As ``print(rules)`` shows them; the count of rows after a rule and the line of figures may be left out. Blank
        lines, and those that begin with #, are ignored.
    columns : sequence of RuleColumn
        The columns that rules may test.
    clusters : sequence of Cluster
        The known clusters. A rule may give another number.

    Returns
    -------
    list of WrittenRule
    dict from int to str
        New names that the text gives to clusters.

    Raises
    ------
    DataError
        Naming the line that cannot be read, and what is expected there.
    """
    _refuse_alike(columns)
    titles = {f"cluster {printable(each.title)}:": each.index for each in clusters}
    rules: list[WrittenRule] = []
    names: dict[int, str] = {}
    for number, given in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        line = given.strip()
        if not line or line.startswith("#") or (rules and line.startswith("cost ")):
            continue
        try:
            cluster, name, conditions = _read_line(TAIL.sub("", line), titles, columns)
        except DataError as error:
            raise DataError(f"line {number}: {error}") from error
        rules.append(WrittenRule(cluster, conditions, f"the rule of line {number} ({_short(line)})"))
        if name is not None and names.setdefault(cluster, name) != name:
            raise DataError(f"line {number} calls cluster {cluster} {name!r}, and a line before it {names[cluster]!r}")
    if not rules:
        raise DataError('the text has no rule; a rule is a line such as "cluster 0: income <= 40"')
    return rules, names


def read_condition(text: str, columns: Sequence[RuleColumn]) -> Condition:
    """Return the one condition in a text, such as ``proline <= 750``.

    Raises
    ------
    DataError
        If it has none, or several.
    """
    _refuse_alike(columns)
    reader = PrintedReader(text.strip(), columns)
    try:
        [condition] = reader.read()
    except DataError as error:
        is_unknown = reader.furthest <= 0
        there = f"; the columns are: {', '.join(printable(column.name) for column in columns)}" if is_unknown else ""
        raise DataError(f"the condition {text!r}: {error}{there}") from error
    except ValueError:
        raise DataError(f"{text!r} is not one condition, such as income <= 40 or city = 'Bonn'") from None
    return condition


def read_number(text: str, column: RuleColumn) -> Number:
    """Return a threshold for a column.

    Raises
    ------
    DataError
        If it is not a number, or has a fraction for a column of whole numbers, or is not a time of the column's kind.
    """
    if column.is_time:
        return read_time(text, column, bound_text(column.type, 0, above=False)[0])
    if not NUMBER.fullmatch(text):
        raise DataError(f"{text!r} is not a number, and column {column.name!r} holds numbers")
    text = text.replace(",", "")
    value = float(text)
    if not math.isfinite(value) or (column.is_whole and abs(value) > MAX_WHOLE):
        raise DataError(f"{text} is too large a number for column {column.name!r}")
    if column.is_whole:
        if not re.fullmatch("[+-]?[0-9]+", text):
            raise DataError(f"column {column.name!r} holds whole numbers; use {math.floor(value)}, not {text}")
        return int(text)
    return value


def read_time(text: str, column: RuleColumn, sign: str) -> int:
    """Return the threshold of a comparison of a column with a time; DataError if it is not of the column's kind."""
    threshold = threshold_of(column.type, sign, text)
    if threshold is None:
        example = bound_text(column.type, -1 if column.minimum is None else int(column.minimum), above=False)[1]
        raise DataError(f"{text!r} is not a {column.type}, as column {column.name!r} holds: write it as {example}")
    return threshold


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
    """Return the cluster of a line, its new name if the line gives one, and the conditions."""
    for title in sorted(titles, key=len, reverse=True):
        if line.startswith(title):
            return titles[title], None, _read_conditions(line[len(title) :].strip(), columns)
    head = HEAD.match(line)
    if head is None:
        raise DataError(f'{_short(line)!r} is not a rule: a rule begins with "cluster 0:"')
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
    raise refused or DataError(f'after cluster {cluster} there must be ":" or "(a name):"')


def _read_conditions(text: str, columns: Sequence[RuleColumn]) -> tuple[Condition, ...]:
    """Return the conditions of a rule, one per column in the order of the text."""
    if text in ("every row", ""):
        if not text:
            raise DataError("the rule has no conditions; write a rule that holds for every row as: every row")
        return ()
    return PrintedReader(text, columns).read()


class ConditionReader(ABC):
    """Reads a text of conditions, in any wording; it remembers how far it got.

    Parameters
    ----------
    text : str
    columns : sequence of RuleColumn
        The columns that the text may name.
    """

    number = NUMBER
    joint = " and "
    """The words between conditions."""
    closing = ")"
    """The end of several categories."""

    def __init__(self, text: str, columns: Sequence[RuleColumn]) -> None:
        self.text = text
        self.columns = columns
        self.furthest = -1
        self.wanted = "the name of a column"

    @abstractmethod
    def conditions_at(self, place: int) -> Iterator[tuple[Condition, int]]:
        """Yield the conditions that the text may have at a place, and the place after each."""

    @abstractmethod
    def show(self, value: Value) -> str:
        """Return a category as the text writes it."""

    def read(self) -> tuple[Condition, ...]:
        """Return the conditions in the text, one per column in its order.

        Raises
        ------
        DataError
            If it cannot be read, or in more than one way.
        """
        found = self._readings()
        if not found:
            rest = self.text[self.furthest :].strip()
            wanted = f"{_short(rest)!r} should be {self.wanted}" if rest else f"{self.wanted} is missing at the end"
            raise DataError(wanted)
        if len(found) > 1:
            raise DataError(
                f"{_short(self.text)!r} can be read in {len(found)} ways, because some names of columns contain others"
            )
        conditions: dict[int, Condition] = {}
        for condition in found[0]:
            feature = condition.feature
            conditions[feature] = both(conditions[feature], condition) if feature in conditions else condition
        return tuple(conditions.values())

    def _readings(self) -> list[list[Condition]]:
        """Return all ways to read the whole text."""
        found = []
        pending: list[tuple[int, list[Condition]]] = [(0, [])]
        while pending and len(pending) < MAX_READINGS:
            place, before = pending.pop()
            for condition, end in self.conditions_at(place):
                conditions = [*before, condition]
                if end == len(self.text):
                    found.append(conditions)
                elif (behind := self.behind(end, self.joint)) is not None:
                    pending.append((behind, conditions))
        return found

    def fail(self, place: int, wanted: str) -> None:
        """Remember what is expected at a place, unless reading got further."""
        if place > self.furthest:
            self.furthest, self.wanted = place, wanted

    def behind(self, place: int, word: str) -> int | None:
        """Return the place after a word, None if a different one is there."""
        if self.text.startswith(word, place):
            return place + len(word)
        self.fail(place, f'"{word.strip(" ,")}"')
        return None

    def number_at(self, column: RuleColumn, place: int | None) -> Iterator[tuple[Number, int]]:
        """Yield the number at a place, if there is one."""
        if place is None:
            return
        found = (time_pattern(column.type) if column.is_time else self.number).match(self.text, place)
        if found is None:
            self.fail(place, "a time" if column.is_time else "a number")
            return
        yield read_number(found[0], column), found.end()

    def bound_at(self, column: RuleColumn, place: int, *, above: bool) -> Iterator[tuple[Number, int]]:
        """Yield the threshold of a comparison whose sign is at a place; times may have any sign of comparison."""
        if not column.is_time:
            yield from self.number_at(column, self.behind(place, " > " if above else " <= "))
            return
        for sign in (">", ">=") if above else ("<=", "<"):
            begin = self.behind(place, f" {sign} ")
            found = None if begin is None else time_pattern(column.type).match(self.text, begin)
            if begin is not None and found is None:
                self.fail(begin, "a time")
            if found is not None:
                yield read_time(found[0], column, sign), found.end()

    def value_at(self, column: RuleColumn, place: int | None) -> Iterator[tuple[Value, int]]:
        """Yield the categories of a column that may be at a place."""
        if place is None:
            return
        known: Sequence[Value] = (False, True) if column.type == "boolean" else column.values
        self.fail(place, f"a value that column {column.name!r} has, such as {format_value(known[0])}")
        for value in known:
            shown = self.show(value)
            # A quote after a closing one belongs to the value.
            if self.text.startswith(shown, place) and not self.text.startswith("'", place + len(shown)):
                yield value, place + len(shown)

    def values_at(self, column: RuleColumn, place: int | None) -> Iterator[tuple[tuple[Value, ...], int]]:
        """Yield the lists of categories that may be at a place."""
        pending: list[tuple[tuple[Value, ...], int]] = [] if place is None else [((), place)]
        while pending and len(pending) < MAX_READINGS:
            before, at = pending.pop()
            for value, end in self.value_at(column, at):
                values = (*before, value)
                if self.text.startswith(self.closing, end):
                    yield tuple(dict.fromkeys(values)), end + len(self.closing)
                if (behind := self.behind(end, ", ")) is not None:
                    pending.append((values, behind))

    def asking_at(
        self, words: Mapping[str, bool], feature: int, column: RuleColumn, place: int, *, several: bool
    ) -> Iterator[tuple[Condition, int]]:
        """Yield conditions on categories, by the words before these and whether they are included."""
        for word, included in words.items():
            start = self.behind(place, word) if word else place
            found: Iterator[tuple[tuple[Value, ...], int]] = (
                self.values_at(column, start)
                if several
                else (((value,), end) for value, end in self.value_at(column, start))
            )
            for values, end in found:
                yield category_condition(feature, column, values, included=included), end


class PrintedReader(ConditionReader):
    """Reads conditions as they are printed."""

    def show(self, value: Value) -> str:
        """Return a category as it is printed."""
        return printable(format_value(value))

    def conditions_at(self, place: int) -> Iterator[tuple[Condition, int]]:
        """Yield the conditions that the text may have at a place, and the place after each."""
        self.fail(place, "the name of a column and a comparison")
        for feature, column in enumerate(self.columns):
            name = printable(column.name)
            if self.text.startswith(name, place):
                yield from self._compared(feature, column, place + len(name))
        for feature, column in enumerate(self.columns):
            if column.is_numeric:
                yield from self._after_a_bound(feature, column, place)

    def _after_a_bound(self, feature: int, column: RuleColumn, place: int) -> Iterator[tuple[Condition, int]]:
        """Yield a column between two bounds, the lower of which is at a place."""
        bound = (time_pattern(column.type) if column.is_time else NUMBER).match(self.text, place)
        for sign in ("<", "<=") if column.is_time else ("<",):
            behind = None if bound is None else self.behind(bound.end(), f" {sign} ")
            name = printable(column.name)
            if bound is None or behind is None or not self.text.startswith(name, behind):
                continue
            for upper, end in self.bound_at(column, behind + len(name), above=False):
                if column.is_time:
                    lower: Number = read_time(bound[0], column, ">" if sign == "<" else ">=")
                else:
                    lower = read_number(bound[0], column)
                yield Between(feature, column, lower, upper), end

    def _compared(self, feature: int, column: RuleColumn, place: int) -> Iterator[tuple[Condition, int]]:
        """Yield the tokens that may follow the name of a column."""
        if column.is_numeric:
            wanted = "a time" if column.is_time else "a number"
            self.fail(place, f"{'= 0, = 1, ' if column.is_flag else ''}<= or > with {wanted}")
            for bound, end in self.bound_at(column, place, above=False):
                yield Between(feature, column, upper=bound), end
            for bound, end in self.bound_at(column, place, above=True):
                yield Between(feature, column, lower=bound), end
            for bound, end in self.number_at(column, self.behind(place, " = ")) if column.is_flag else ():
                if bound in (0, 1):
                    yield (Between(feature, column, lower=0) if bound else Between(feature, column, upper=0)), end
            return
        self.fail(place, "=, <>, in (…) or not in (…) with categories")
        yield from self.asking_at({" = ": True, " <> ": False}, feature, column, place, several=False)
        yield from self.asking_at({" in (": True, " not in (": False}, feature, column, place, several=True)

"""Columns of texts and of truth values as SQL, from which conditions are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shallowrules.exporters.sql.declared import TYPES, Held
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.rules import FALSE_TEXTS, TRUE_TEXTS, RuleColumn

__all__ = ["TextColumn", "TruthColumn", "among"]


class TextColumn:
    """A column of text; the parameters are those of `reading.NumberColumn`."""

    def __init__(self, column: RuleColumn, name: str, dialect: Dialect, held: Held | None = None) -> None:
        self.column = column
        self.nulls = column.conversion.nulls
        self.dialect = dialect
        self.value = dialect.column(name)
        self.held = held if held is not None and held.kind == "texts" else None

    def missing(self) -> str:
        """Return the predicate for rows without a value."""
        words = self._null_words("IN")
        return f"{self.value} IS NULL OR {words}" if words else f"{self.value} IS NULL"

    def without_value(self) -> str:
        """Return the predicate for rows that satisfy no comparison; empty where there are none."""
        return self.missing() if self.column.imputed is None else ""

    def one_of(self, values: Sequence[str]) -> str:
        """Return the predicate for rows with one of some texts; empty where none is possible."""
        nulls = set(self.nulls)
        return self._compare(
            [value for value in values if value.strip(" ") not in nulls], "=", "{text} IN ({literals})"
        )

    def none_of(self, values: Sequence[str]) -> str:
        """Return the predicate for rows with a text other than these."""
        parts = [self._compare(values, "<>", self.dialect.texts.not_in), self._null_words("NOT IN")]
        return " AND ".join(part for part in parts if part)

    def _compare(self, values: Sequence[str], with_one: str, with_several: str) -> str:
        if not values:
            return ""
        held = self.held
        if held is None or (held.padded and any(value.endswith(" ") for value in values)):
            return self._compare_bytes(values, with_one, with_several)
        exactly = None if held.bytewise else self.dialect.texts.exactly
        literals = ", ".join((exactly or "{literal}").format(literal=self.dialect.string(value)) for value in values)
        if len(values) == 1:
            alike = f"{self.value} {with_one} {literals}"
        else:
            alike = with_several.format(value=self.value, text=self.value, literals=literals)
        if held.bytewise or exactly is not None:
            return alike
        bytes_alike = self._compare_bytes(values, with_one, with_several)
        # Text that is equal byte by byte is equal in any collation, so an index finds it. The column's character set
        # may lack characters beyond ASCII.
        serves = with_one == "=" and all(value.isascii() for value in values)
        return f"{alike} AND {bytes_alike}" if serves else bytes_alike

    def _compare_bytes(self, values: Sequence[str], with_one: str, with_several: str) -> str:
        """Return the comparison that no collation changes."""
        facts, literals = self.dialect.texts, ", ".join(map(self.dialect.category, values))
        if facts.cast is not None and not any(re.search(facts.typed, value) for value in values):
            text = facts.cast.format(column=self.value)
        else:
            text, literals = facts.column.format(column=self.value), facts.listed.format(literals=literals)
        if len(values) == 1:
            return f"{text} {with_one} {literals}"
        return with_several.format(value=self.value, text=text, literals=literals)

    def _null_words(self, test: str) -> str:
        return among(self.dialect.texts.trimmed.format(value=self.value), self.nulls, self.dialect, test)


class TruthColumn:
    """A column of truth values, in whatever type it is held; the parameters are those of `reading.NumberColumn`."""

    def __init__(self, column: RuleColumn, name: str, dialect: Dialect, held: Held | None = None) -> None:
        self.column = column
        self.dialect = dialect
        self.value = dialect.column(name)
        self.held = held if held is not None and held.kind != "texts" and not held.loose else None

    def missing(self) -> str:
        """Return the predicate for rows without a value."""
        return f"{self.value} IS NULL"

    def without_value(self) -> str:
        """Return the predicate for rows that satisfy no comparison; empty where there are none."""
        if self.held is not None and self.held.kind == "truths":
            return "" if self.column.imputed is not None else self.missing()
        neither = f"NOT {self.one_of([True, False])}"
        return neither if self.column.imputed is not None else f"{self.missing()} OR {neither}"

    def one_of(self, values: Sequence[bool]) -> str:
        """Return the predicate for rows with one of some truth values; empty for none."""
        if self.held is not None:
            return self._plain(values)
        facts = self.dialect.numbers
        texts = [text for value in values for text in (TRUE_TEXTS if value else FALSE_TEXTS)]
        text = (self.dialect.texts.truth or self.dialect.texts.trimmed).format(value=self.value)
        spelt = among(f"LOWER({text})", texts, self.dialect)
        if not spelt or facts.truth is None:
            return spelt
        is_number, number = (fact.format(value=self.value, text=text) for fact in facts.truth)
        wanted = ", ".join(str(int(value)) for value in values)
        return f"CASE WHEN {is_number} THEN {number} IN ({wanted}) ELSE {spelt} END"

    def _plain(self, values: Sequence[bool]) -> str:
        """Return the comparison with a column of a boolean or a number type."""
        assert self.held is not None
        if self.held.kind == "truths":
            tests = [TYPES[self.dialect.name].truths[not value].format(value=self.value) for value in values]
            return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})" if tests else ""
        numbers = ", ".join(str(int(value)) for value in values)
        return f"{self.value} IN ({numbers})" if len(values) > 1 else f"{self.value} = {numbers}" if values else ""


def among(text: str, words: Iterable[str], dialect: Dialect, test: str = "IN") -> str:
    """Return the predicate for texts that are among some words; empty if none can be told from NULL."""
    writable = [word for word in dict.fromkeys(words) if word or dialect.texts.empty]
    if not writable:
        return ""
    return f"{dialect.texts.column.format(column=text)} {test} ({', '.join(map(dialect.category, writable))})"

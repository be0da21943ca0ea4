"""What is odd about a column of text: nearly all of it numbers or dates, or words that others read as "no value"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shallowrules.errors import Finding, counted
from shallowrules.sources.engine import PLACE, DuckDBSource, quote_text, text_literals
from shallowrules.tables.conversion import has_digit

__all__ = [
    "DATES",
    "MISSING_SPELLINGS",
    "MISSING_WORDS",
    "missing_words",
    "nearly_numeric",
    "note_dates",
]

NEARLY_ALL = 0.9
"""Share of numbers from which a column counts as numbers with faults."""

MIN_NUMBERS = 10
"""Number of distinct numbers from which a single word among them means "no value", whatever its share: fewer may be
categories, as the word is."""

MISSING_SPELLINGS = (
    *("", "?", "-", "--", "---", "–", "—", ".", "..", "...", "*", "**", "/", "na", "<na>", "n/a", "n.a.", "n. a."),
    *("n.d.", "n/d", "#na", "#n/a", "#null!", "#value!", "#ref!", "#div/0!", "#num!", "#name?", "null", "none", "nil"),
    *("nan", "missing", "unknown", "not available", "not applicable", "suppressed", "privacysuppressed", "(d)", "(s)"),
    *("(x)", "(z)", "(na)", "k.a.", "k. a.", "keine angabe", "unbekannt", "nicht verfügbar", "s.d.", "n.s.p."),
)
"""Ways to write "no value" that reveal a column of numbers, whatever their share. In lower case."""

MISSING_WORDS = (
    *("NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "NULL", "null", "None", "NaN", "nan", "-NaN", "-nan"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""Texts that pandas, like most programs that load a file, reads as "no value" by default."""

DATES = (
    r"\s*([0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}|[0-9]{1,2}([/.-])[0-9]{1,2}[/.-][0-9]{2,4}"
    r"|[0-9]{1,2}[ -][A-Za-z]{3,9}[ -][0-9]{2,4}|[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4})([ T][0-9]{1,2}:[0-9].*)?\s*"
)
"""Texts that are dates, with or without a time."""


def nearly_numeric(
    source: DuckDBSource, name: str, text: str, offending: str, numbers: int, given: int
) -> list[Finding]:
    """Return a finding for a column of numbers with something else in it, none for plain text.

    Where at least half of the texts are numbers, and all become categories, this is noted.

    A single word among numbers stands for "no value" whatever its share; a text with a digit never does. Among the
    texts of the finding, those with a digit come first.
    """
    if not numbers:
        return []
    words, others = _others(source, name, text, offending, given - numbers, given)
    nearly_all = numbers >= NEARLY_ALL * given
    has_digits, distinct = any(map(has_digit, others.values)), others.distinct or 0
    if words and not nearly_all and (len(others.values) > 1 or has_digits or distinct <= MIN_NUMBERS):
        _note_mixed(source, replace(others, message="numbers"))
        return []
    what = "is nearly all numbers" if nearly_all else "holds numbers"
    n_others = given - numbers
    message = (
        f"column {name!r} {what}, but {n_others:,} of {counted(given, 'value')} {'is' if n_others == 1 else 'are'} "
        f"not, such as {others.example!r} in row {others.place}"
    )
    return [replace(others, kind="nearly numeric", message=message)]


def note_dates(source: DuckDBSource, name: str, text: str, dates: int, given: int) -> None:
    """Note a column of text at least half of whose `given` values are dates."""
    if 0 < dates < given <= 2 * dates:
        offending = f"NOT regexp_full_match({text}, {quote_text(DATES)})"
        _, others = _others(source, name, text, offending, given - dates, given)
        _note_mixed(source, replace(others, message="dates"))


def _note_mixed(source: DuckDBSource, others: Finding) -> None:
    """Note, with `message`, a column of which at least half are numbers or dates, and the rest other text."""
    if 2 * (others.count or 0) <= (others.rows or 0):
        name = str(others.column)
        source.column_notes[name] = (*source.column_notes.get(name, ()), others)


def _others(source: DuckDBSource, name: str, text: str, offending: str, count: int, given: int) -> tuple[int, Finding]:
    """Return the number of offending texts that are not a known null marker, and a note on all offending texts."""
    trimmed = f"trim({text})"
    plain = f"'plain': NOT {_has_digit(trimmed)}"
    words, first, texts = source.row(
        f"count(*) FILTER (lower({trimmed}) NOT IN ({text_literals(MISSING_SPELLINGS)}))",
        f"min({{{plain}, 'row': {PLACE}, 'text': {text}}})",
        f"list_slice(list_sort(list(DISTINCT {{{plain}, 'text': {trimmed}}})), 1, 4)",
        where=f"{text} IS NOT NULL AND {offending}",
        rows=source.numbered,
    )
    values = tuple(each["text"] for each in texts)
    distinct = source.row(f"count(DISTINCT {trimmed})")[0]
    return words, Finding("mixed", "", name, count, given, first["row"], first["text"], values, distinct=distinct)


def _has_digit(text: str) -> str:
    """Return SQL for whether a text has a digit, or another character that is a number in any script."""
    return f"regexp_matches({text}, '\\pN')"


def missing_words(source: DuckDBSource, texts: Mapping[str, str], words: Sequence[str]) -> list[Finding]:
    """Return a finding for each column of text, SQL by name, that has words that others read as "no value"."""
    if not words:
        return []
    known = text_literals(words)
    counts = source.row(
        *(f"count({text})" for text in texts.values()),
        *(f"count(*) FILTER (trim({text}) IN ({known}))" for text in texts.values()),
    )
    findings = []
    for (name, text), given, n_words in zip(texts.items(), counts[: len(texts)], counts[len(texts) :], strict=True):
        if not n_words:
            continue
        found, row = source.row(
            f"list_sort(list(DISTINCT trim({text})))",
            f"min({PLACE})",
            where=f"trim({text}) IN ({known})",
            rows=source.numbered,
        )
        verb, listed = "is" if n_words == 1 else "are", " or ".join(map(repr, found))
        message = (
            f"column {name!r} is text, and {n_words} of {given} values {verb} {listed}, for example in row {row}: "
            "most programs read these as missing"
        )
        findings.append(Finding("missing words", message, name, n_words, given, row, found[0], tuple(found)))
    return findings

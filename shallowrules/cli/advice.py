"""Remedies for findings in a table and doubts about a clustering, in the words of the command line."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shallowrules.cli.escaping import join_words, shell_word
from shallowrules.cli.options.shared import split_at_dashes, typed_arguments
from shallowrules.cli.output import Note, show_message
from shallowrules.errors import DataError, Finding, OptionName, counted
from shallowrules.tables.conversion import has_digit

if TYPE_CHECKING:
    from shallowrules.rules import RuleSet
    from shallowrules.rules.words.doubts import Doubt

__all__ = [
    "TAKEN_AS_TEXT",
    "AdvisedError",
    "Refusal",
    "RefusedTable",
    "Remedy",
    "amended",
    "column_list",
    "counts_of",
    "either_of",
    "exclude",
    "first_of",
    "format_notes",
    "listed",
    "names_of",
    "number_remedy",
    "refusals_of",
    "refused_table",
    "remedy_of",
    "show_doubts",
    "worded",
]

MAX_NAMED = 5
"""Maximum number of columns that a message names."""

MAX_SPELLINGS = 3
"""Maximum number of distinct texts that get a --null each; more are unlikely to be null markers."""


@dataclass(frozen=True)
class Remedy:
    """Options that resolve findings."""

    exclude: tuple[str, ...] = ()
    null: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    format: tuple[str, ...] = ()
    encoding: str | None = None
    drop_missing: bool = False
    impute: str | None = None
    missing: str | None = None

    def __or__(self, other: Remedy) -> Remedy:
        """Return both remedies together."""
        return Remedy(
            tuple(dict.fromkeys((*self.exclude, *other.exclude))),
            tuple(dict.fromkeys((*self.null, *other.null))),
            tuple(dict.fromkeys((*self.categories, *other.categories))),
            tuple(dict.fromkeys((*self.format, *other.format))),
            self.encoding or other.encoding,
            self.drop_missing or other.drop_missing,
            self.impute or other.impute,
            self.missing or other.missing,
        )

    def without_rows(self) -> Remedy:
        """Return the same remedy for columns and texts, without the missing values that it may cause."""
        return replace(self, drop_missing=False, impute=None, missing=None)

    def arguments(self) -> list[str]:
        """Return the options as the command line takes them."""
        found = ["--exclude", listed(self.exclude)] if self.exclude else []
        found += [word for token in self.null for word in ("--null", token)]
        found += ["--categories", listed(self.categories)] if self.categories else []
        found += [word for each in self.format for word in ("--format", each)]
        for name, value in (("--encoding", self.encoding), ("--missing", self.missing), ("--impute", self.impute)):
            found += [] if value is None else [name, value]
        return [*found, "--drop-missing"] if self.drop_missing else found


def amended(
    typed: Sequence[str], remedy: Remedy, columns: Sequence[str] | None = None, excluded: Sequence[str] = ()
) -> list[str]:
    """Return the words of a command with a remedy, whose options replace earlier ones.

    Parameters
    ----------
    typed : sequence of str
        The words as they were typed.
    remedy : Remedy
    columns, excluded : sequence of str
        The names given by ``--columns`` and ``--exclude``.
    """
    options, arguments = split_at_dashes(typed)
    added: list[str] = []
    kept = [name for name in columns or () if name not in remedy.exclude]
    if kept and len(kept) < len(columns or ()):
        added += ["--columns", listed(kept)]
        remedy = replace(remedy, exclude=tuple(name for name in remedy.exclude if name not in (columns or ())))
    if remedy.exclude:
        remedy = replace(remedy, exclude=tuple(dict.fromkeys((*excluded, *remedy.exclude))))
    added += remedy.arguments()
    replaced = {word for word in added if word in ("--columns", "--exclude", "--encoding", "--missing", "--impute")}
    return [*_without(options, replaced), *added, *arguments]


def _without(words: Sequence[str], options: Collection[str]) -> list[str]:
    """Return the words without options and their values."""
    found, is_value = [], False
    for word in words:
        if not is_value and word.partition("=")[0] not in options:
            found.append(word)
        is_value = not is_value and word in options
    return found


class RefusedTable(DataError):
    """A table that cannot be clustered as it is: all its faults, in words, and options that may help.

    `said` are the notes and warnings of its reading, which show what was read.
    """

    def __init__(
        self, message: str, findings: Iterable[Finding], remedy: Remedy, said: Sequence[tuple[str, Note]] = ()
    ) -> None:
        super().__init__(message, findings=findings)
        self.remedy = remedy
        self.said = said


@dataclass(frozen=True)
class Refusal:
    """Findings of one kind, worded together, and options that may resolve them."""

    findings: tuple[Finding, ...]
    message: str
    remedy: Remedy


def refused_table(refusals: Sequence[Refusal], said: Sequence[tuple[str, Note]]) -> RefusedTable:
    """Return why a table is refused; a column's content does not matter if another refusal excludes the column."""
    left_out = {name for refusal in refusals for name in refusal.remedy.exclude}
    remedy = Remedy()
    for refusal in refusals:
        needless = all(finding.column in left_out for finding in refusal.findings)
        remedy |= Remedy(exclude=refusal.remedy.exclude) if needless else refusal.remedy
    message = "\n".join(refusal.message for refusal in refusals)
    return RefusedTable(message, [finding for refusal in refusals for finding in refusal.findings], remedy, said)


def names_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the columns that findings are about."""
    return tuple(finding.column for finding in findings if finding.column is not None)


def counts_of(findings: Iterable[Finding]) -> str:
    """Return columns with the number of rows concerned in each, as a list."""
    return ", ".join(f"{finding.column!r} ({counted(finding.count or 0, 'row')})" for finding in findings)


def either_of(ways: Sequence[str]) -> str:
    """Return alternatives as a list that ends with "or"."""
    *others, last = ways
    return f"{', '.join(others)} or {last}" if others else last


def first_of(shown: Sequence[str]) -> str:
    """Return the first of many columns in a list, and how many more there are."""
    more = len(shown) - MAX_NAMED
    return ", ".join(shown[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def column_list(names: Iterable[str]) -> str:
    """Return column names as a shell word that ``--columns`` and ``--exclude`` understand."""
    return shell_word(listed(names))


def listed(names: Iterable[str]) -> str:
    """Return names as ``--columns`` and ``--exclude`` take them: commas between, a name with a comma in quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def exclude(names: Iterable[str]) -> str:
    """Return the option that excludes columns."""
    return f"--exclude {column_list(names)}"


class AdvisedError(DataError):
    """A table that is refused, with command lines that work: `commands`, which the message ends with."""

    def __init__(self, *parts: str | OptionName, findings: Iterable[Finding], commands: Sequence[str]) -> None:
        words = [f"\n{'Or' if place else 'This works'}: {command}" for place, command in enumerate(commands)]
        super().__init__(*parts, *words, findings=findings)
        self.commands = tuple(commands)


@contextmanager
def worded() -> Iterator[None]:
    """Add a remedy to an error about a source."""
    try:
        yield
    except DataError as error:
        if any(finding.kind in CHOICES for finding in error.findings):
            raise AdvisedError(*error.parts, findings=error.findings, commands=_commands(error)) from error
        if not any(finding.kind in WAYS_OUT for finding in error.findings):
            raise
        told = "; ".join(finding.message for finding in error.findings)
        before = str(error).removesuffix(told)
        # Commands that apply rules have no categories to choose, and need the columns that they read.
        told_of = [replace(finding, distinct=None) for finding in error.findings]
        advised = "; ".join(f"{finding.message}{_remedy_words(finding, needed=True)}" for finding in told_of)
        raise DataError(before + advised, findings=error.findings) from error


def _commands(error: DataError) -> list[str]:
    """Return a command for each option that an error names: the one that was typed, with this option."""
    typed = typed_arguments() or []
    options, arguments = split_at_dashes(typed)
    commands: list[str] = []
    for option in (part for part in error.parts if isinstance(part, OptionName) and typed):
        words = [f"--{option.name}", str(option.value)]
        commands.append(join_words(["shallowrules", *_without(options, words[:1]), *words, *arguments]))
    return commands


def _remedy_words(finding: Finding, *, needed: bool) -> str:
    """Return the remedy for a finding, to follow its message; "" where the message is complete.

    A `needed` column, such as that of the weights, cannot be excluded.
    """
    word = WAYS_OUT.get(finding.kind)
    return "" if word is None else word(finding, needed)


def remedy_of(finding: Finding, *, needed: bool = False) -> Remedy:
    """Return options that resolve a source's findings without excluding a column that is `needed`."""
    if finding.kind == "encoding":
        return Remedy(encoding=finding.values[0])
    if finding.kind == "two readings":
        return Remedy(format=(f"{finding.column}={finding.values[1]}",))
    if finding.kind == "nearly numeric" and _may_be_categories(finding) and not needed:
        return Remedy(categories=(str(finding.column),))
    if finding.kind == "missing words" or (finding.kind == "nearly numeric" and _means_missing(finding)):
        return Remedy(null=finding.values)
    return Remedy() if needed or finding.column is None else Remedy(exclude=(finding.column,))


def refusals_of(findings: Sequence[Finding], where: str, needed: Collection[str]) -> list[Refusal]:
    """Return why a source is refused; columns with the same words for a missing value are refused together.

    Parameters
    ----------
    findings : sequence of Finding
    where : str
        The source, for findings that do not name their file.
    needed : collection of str
        Columns that cannot be left out.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for i, finding in enumerate(findings):
        alike = finding.kind in TOGETHER and _means_missing(finding) and finding.column not in needed
        groups.setdefault((finding.kind, finding.values, finding.file, 0 if alike else i + 1), []).append(finding)
    refusals = []
    for group in groups.values():
        first, *more = group
        place = "" if first.file is not None else f"{where}: "  # for several files, the error already names the file
        if more:
            names = tuple(str(finding.column) for finding in group)
            remedy = Remedy(null=first.values)
            refusals.append(
                Refusal(tuple(group), f"{place}{_together(group)}{TOGETHER[first.kind](first, names)}", remedy)
            )
            continue
        is_needed = first.column in needed
        message = f"{place}{first.message}{_remedy_words(first, needed=is_needed)}"
        refusals.append(Refusal((first,), message, remedy_of(first, needed=is_needed)))
    return refusals


def _together(group: Sequence[Finding]) -> str:
    """Return which columns have the same words for a missing value, and in how many values."""
    words = " or ".join(map(repr, group[0].values))
    shown = [f"{f.column!r} ({f.count or 0:,} of {f.rows or 0:,} values)" for f in group]
    what = "text" if group[0].kind == "missing words" else "numbers"
    return f"{len(group):,} columns of {what} have {words} in some rows: {first_of(shown)}"


def _numbers_together(first: Finding, names: Sequence[str]) -> str:
    return f"; treat {_it(first)} as missing ({_each('--null', first)}) or exclude the columns ({exclude(names)})"


def _texts_together(first: Finding, names: Sequence[str]) -> str:
    return f"; most programs read these as missing values{_missing_words(first, needed=False)}"


TOGETHER: Mapping[str, Callable[[Finding, Sequence[str]], str]] = {
    "nearly numeric": _numbers_together,
    "missing words": _texts_together,
}
"""Remedies for several columns with the same words, by the kind of their findings."""


def _encoding(finding: Finding, needed: bool) -> str:
    return f": use for example --encoding {finding.values[0]}"


def _ragged(finding: Finding, needed: bool) -> str:
    return "; correct the line, or use --delimiter if the delimiter is different"


def _two_readings(finding: Finding, needed: bool) -> str:
    mark, *examples = finding.values
    grouped, decimal = (shell_word(f"{finding.column}={example}") for example in examples)
    groups = f"--thousands {mark} (or --format {grouped} for this column alone)" if mark else f"--format {grouped}"
    return f": use {groups} if it groups digits, --format {decimal} if it is the decimal separator"


def _format(finding: Finding, needed: bool) -> str:
    leave_out = "" if needed else f", or exclude the column ({exclude([str(finding.column)])})"
    return f": correct the file, give another example (--format){leave_out}"


def _nearly_numeric(finding: Finding, needed: bool) -> str:
    name = str(finding.column)
    leave_out = "" if needed else f" or exclude the column ({exclude([name])})"
    if _means_missing(finding):
        return f": treat {_it(finding)} as missing ({_each('--null', finding)}){leave_out}"
    is_value = "; a text with a digit is a value, not a missing one" if any(map(has_digit, finding.values)) else ""
    if needed or not _may_be_categories(finding):
        return f"{is_value}: correct the file{leave_out}"
    as_categories = f"treat its {finding.distinct} values as categories (--categories {column_list([name])})"
    return f"{is_value}: {as_categories}, correct the file,{leave_out}"


def _means_missing(finding: Finding) -> bool:
    """Return whether the texts among numbers are few ways to write "no value"."""
    return len(finding.values) <= MAX_SPELLINGS and not any(map(has_digit, finding.values))


def _may_be_categories(finding: Finding) -> bool:
    """Return whether texts among numbers are values, and few enough for each to be a category."""
    from shallowrules.encoding.checks import are_too_many

    is_value = any(map(has_digit, finding.values))
    return is_value and finding.distinct is not None and not are_too_many(finding.distinct, finding.rows or 0)


def _missing_words(finding: Finding, needed: bool) -> str:
    return (
        f"; treat {_it(finding)} as missing ({_each('--null', finding)}) or as text ({_each('--keep-text', finding)})"
    )


def _dates(finding: Finding, needed: bool) -> str:
    ways = " or ".join(f"--dates {shell_word(f'{finding.column}={form}')}" for form in finding.values)
    return f"; use {ways}"


def _it(finding: Finding) -> str:
    return "it" if len(finding.values) == 1 else "them"


def _each(option: str, finding: Finding) -> str:
    return " ".join(f"{option} {shell_word(token)}" for token in finding.values)


WAYS_OUT: Mapping[str, Callable[[Finding, bool], str]] = {
    "encoding": _encoding,
    "ragged": _ragged,
    "two readings": _two_readings,
    "format": _format,
    "nearly numeric": _nearly_numeric,
    "missing words": _missing_words,
    "dates": _dates,
}
"""Remedies for findings of sources, by their kind."""

CHOICES = ("delimiter", "extent", "sheet")
"""Kinds of findings whose message names an option for each remedy."""


def format_notes(notes: Mapping[str, Sequence[Finding]]) -> list[Note]:
    """Return a note per column, by name, for numbers that are written in a format or with a unit."""
    found = [note for each in notes.values() for note in each]
    written = [note for note in found if note.kind == "written"]
    said = []
    for values in dict.fromkeys(note.values for note in written):
        names = [str(note.column) for note in written if note.values == values]
        shown = first_of([*map(repr, names)])
        what = f"column {shown} is" if len(names) == 1 else f"columns {shown} are"
        option = shell_word(f"{names[0] if len(names) == 1 else 'COLUMN'}={values[0]}")
        said.append(Note(f"{what} written as {values[0]}: read as numbers", f" (--format {option})"))
    words = {"three digits": _three_digits, **TAKEN_AS_TEXT}
    return [*said, *(words[note.kind](note) for note in found if note.kind in words)]


def _three_digits(note: Finding) -> Note:
    grouped = shell_word(f"{note.column}=1.234,5")
    return Note(
        f"every value of column {note.column!r} has three digits after the point, as in {note.example!r}: it is read "
        "as a decimal point",
        f"; if it groups digits, use --thousands . or, for this column alone, --format {grouped}",
    )


def _unit_words(note: Finding) -> Note:
    """Return the note for a column whose numbers have a unit, or letters for thousands and millions."""
    remedy = number_remedy(note)
    if not remedy.format:
        letters = ", ".join(map(repr, note.values))
        return Note(
            f"the values of column {note.column!r} are numbers scaled by letters ({letters}), as in {note.example!r}, "
            "and are read as text",
            ": write them out in the file to use them as numbers",
        )
    return Note(
        f"the values of column {note.column!r} have the unit {note.values[0]!r}, as in {note.example!r}, and are read "
        "as text",
        f": use --format {shell_word(remedy.format[0])} to read them as numbers",
    )


def number_remedy(note: Finding) -> Remedy:
    """Return the option that reads a column as numbers, or else the one that excludes it."""
    if note.kind == "unit" and has_digit(note.values[-1]):
        return Remedy(format=(f"{note.column}={note.values[1]}",))
    if note.kind == "mixed" and _means_missing(note):
        return Remedy(null=note.values)
    return Remedy(exclude=(str(note.column),))


def _digits_words(note: Finding) -> Note:
    return Note(
        f"the values of column {note.column!r} have digits but are not numbers in a known format, as in "
        f"{note.example!r}, and are read as text"
    )


def _mixed_words(note: Finding) -> Note:
    rows = note.rows or 0
    known = rows - (note.count or 0)
    return Note(
        f"column {note.column!r} holds {note.message} in {known:,} of {counted(rows, 'value')} and other text, such as "
        f"{note.example!r}, and is read as text",
        f"; use {_each('--null', note)} if that means a missing value" if _means_missing(note) else "",
    )


TAKEN_AS_TEXT: Mapping[str, Callable[[Finding], Note]] = {
    "unit": _unit_words,
    "digits": _digits_words,
    "mixed": _mixed_words,
}
"""Words for notes on columns of text that may be meant as numbers, by their kind."""


def show_doubts(rules: RuleSet, category_weight: float) -> None:
    """Warn of doubts about a clustering, with remedies."""
    from shallowrules.rules.words.doubts import doubts_about

    for doubt in doubts_about(rules):
        show_message("warning", Note(doubt.text, f" {_doubt_remedy(doubt, category_weight)}"))


def _doubt_remedy(doubt: Doubt, category_weight: float) -> str:
    if doubt.kind == "poor":
        return "Try other numbers of clusters (`shallowrules clusters`), another --scale, or more rules (--max-leaves)."
    lighter = f"--category-weight {category_weight / 2:.2g}"
    if doubt.kind == "numbers":
        return f"Give categories less weight: {lighter}."
    categories = any(not column.is_numeric for column in doubt.columns)
    other = lighter if categories else "another --scale"
    this = "it" if len(doubt.columns) == 1 else "them"
    excluded = exclude(column.name for column in doubt.columns)
    return f"To give other columns more influence, try {other}, or exclude {this}: {excluded}."

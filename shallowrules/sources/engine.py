"""Files in an embedded DuckDB: what sources of CSV, JSON and Parquet share."""

from __future__ import annotations

import glob
import os
import re
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from errno import ENOSPC
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from shallowrules.errors import DataError, Finding, MissingExtraError, ShallowRulesNote, counted
from shallowrules.sources.base import BATCH_ROWS, Provenance, Source, import_pyarrow, refuse
from shallowrules.tables.conversion import PLAIN, Conversion, has_digit
from shallowrules.tables.dates import FORMATS, format_words, swapped, written_pattern, written_time
from shallowrules.tables.table import Column, ColumnType, time_column
from shallowrules.tables.times import DAY, FORMS, SPAN, TIME_TYPES, TimeType, time_range

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyarrow import RecordBatch

__all__ = [
    "MISSING_WORDS",
    "PLACE",
    "DuckDBSource",
    "Field",
    "absent_name",
    "batched",
    "duration_cast",
    "file_literal",
    "missing_words",
    "nearly_numeric",
    "note_dates",
    "open_database",
    "quote_name",
    "quote_text",
    "text_field",
    "text_literals",
    "time_cast",
    "time_type",
    "typed_column",
]

Item = TypeVar("Item")

BATCH_COLUMNS = 100
"""Columns of one query. The time in which DuckDB plans a query grows with the square of its expressions: 2,000 counts
took 0.22 s of CPU in one query of 1,000 columns each and 0.02 s per 100."""

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

PLACE = '"place of the row, from 1"'
"""SQL for the number of a row among those of `DuckDBSource.numbered`."""

DATES = (
    r"\s*([0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}|[0-9]{1,2}([/.-])[0-9]{1,2}[/.-][0-9]{2,4}"
    r"|[0-9]{1,2}[ -][A-Za-z]{3,9}[ -][0-9]{2,4}|[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4})([ T][0-9]{1,2}:[0-9].*)?\s*"
)
"""Texts that are dates, with or without a time."""


NO_ROOM = ("No space left on device", "max_temp_directory_size")
"""DuckDB's message when the disk of temporary files is full."""


@dataclass(frozen=True)
class Field:
    """How to fetch one column: its type, the SQL expression that gives its values, and the conversion in it."""

    type: ColumnType
    expression: str
    conversion: Conversion = PLAIN


class DuckDBSource(Source):
    """A file in a database, its columns by position.

    `relation` is the table or expression to select from. Each column has two expressions: `original`, as it stands in
    the file, and that of `fields`, in the type that it is read as.
    """

    def __init__(
        self, database: DuckDBPyConnection, names: list[str], provenance: Provenance, relation: str = ""
    ) -> None:
        super().__init__(names, provenance)
        self.dates: Mapping[str, str] = {}  # how dates are written in columns, where that was given
        self.formats: Mapping[str, Conversion | None] = {}  # how numbers are written; None: look for no format
        self.database = database
        self._relation = relation

    @property
    def relation(self) -> str:
        """The table or expression that SQL selects the rows from."""
        return self._relation

    def checked(self, formats: Mapping[str, Conversion | None]) -> Mapping[str, Conversion | None]:
        """Return the formats that the user gave; OptionError for one of a column that does not exist."""
        for name in (name for name, told in formats.items() if told is not None):
            self.positions([name])
        return formats

    def count_rows(self) -> int:
        """Return the number of rows; DataError if there are none."""
        n_rows = self._count()
        if not n_rows:
            raise DataError(f"there are no rows below the {len(self.names)} column names")
        return n_rows

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return not self._count()

    def _count(self) -> int:
        return cast(int, self.row("count(*)")[0])

    def read(self, positions: Sequence[int], as_text: Sequence[str], findings: list[Finding]) -> list[Column]:
        """Return columns by position, read as `fields` says."""
        fields = self.examine(positions, as_text, findings)
        as_they_are = [i for i, field in enumerate(fields) if field.expression.isidentifier()]
        computed = [i for i, field in enumerate(fields) if not field.expression.isidentifier()]
        arrays: dict[str, Any] = {}
        for batch in (*([as_they_are] if as_they_are else []), *batched(computed)):
            expressions = ", ".join(f"{fields[i].expression} AS f{i}" for i in batch)
            arrays |= self.database.execute(f"SELECT {expressions} FROM {self.relation}").fetchnumpy()
        return [
            replace(typed_column(self.names[j], field.type, arrays[f"f{i}"]), conversion=field.conversion)
            for i, (j, field) in enumerate(zip(positions, fields, strict=True))
        ]

    def types(self, columns: Sequence[str] | None = None) -> dict[str, ColumnType]:
        """Return the type of each wanted column, as `table` gives it."""
        positions = self.positions(columns)
        fields = self.fields(positions)
        return {self.names[j]: field.type for j, field in zip(positions, fields, strict=True)}

    def batches(
        self, columns: Sequence[str] | None = None, exclude: Sequence[str] = (), n_rows: int = BATCH_ROWS
    ) -> Iterator[RecordBatch]:
        """Yield the rows as Arrow record batches, in order, straight from DuckDB; needs pyarrow."""
        positions = self.positions(columns, exclude)
        return self.stream(positions, self.fields(positions), n_rows)

    def stream(self, positions: Sequence[int], fields: Sequence[Field], n_rows: int) -> Iterator[RecordBatch]:
        """Yield columns, read as `fields` says, as Arrow record batches; needs pyarrow."""
        import_pyarrow()
        selected = ", ".join(
            f"{field.expression} AS {quote_name(self.names[j])}" for j, field in zip(positions, fields, strict=True)
        )
        # Within a transaction of its own, so that other queries of the database do not end the stream.
        reader: Any = self.database.cursor().sql(f"SELECT {selected} FROM {self.relation}").to_arrow_reader(n_rows)
        yield from reader

    def stream_text(self, examined: Sequence[int] = ()) -> None:
        """Make sure that `fields` and `original` can be asked for in one query, of rows that no table holds.

        `examined` are the positions that `fields` will be asked for.
        """

    def original(self, j: int) -> str:
        """Return SQL for a column as it stands in the file."""
        return f"c{j}"

    def text(self, j: int) -> str | None:
        """Return SQL for a column as the text that it is in the file, None if the file declares its type."""
        return None

    def fields(
        self,
        positions: Sequence[int],
        as_text: Sequence[str] = (),
        *,
        as_words: Sequence[str] = (),
        findings: list[Finding] | None = None,
    ) -> list[Field]:
        """Return columns as they are read, those named in `as_text` as the text that they are.

        Truth values of columns named in `as_words` are the words that the file has for them. A column of numbers with
        something else in it is refused by DataError; if `findings` are given, the fault is added to them and the column
        read as text.
        """
        found: list[Finding] = []
        fields = self.examine(positions, as_text, found)
        if findings is None:
            refuse(found)
        else:
            findings += found
        read = zip(positions, fields, strict=True)
        return [self._in_words(j, field) if self.names[j] in as_words else field for j, field in read]

    def _in_words(self, j: int, field: Field) -> Field:
        text = self.text(j) if field.type == "boolean" else None
        return field if text is None else Field("text", f"CASE WHEN ({field.expression}) IS NOT NULL THEN {text} END")

    def examine(self, positions: Sequence[int], as_text: Sequence[str], findings: list[Finding]) -> list[Field]:
        """Return columns as they are read, text where there is a finding."""
        wanted = set(as_text)
        texts = {j: self.text(j) for j in positions if self.names[j] in wanted}
        fields = {j: Field("text", text) for j, text in texts.items() if text is not None}
        others = [j for j in positions if j not in fields]
        fields |= zip(others, self._fields(others, findings), strict=True)
        return [fields[j] for j in positions]

    @abstractmethod
    def _fields(self, positions: Sequence[int], findings: list[Finding]) -> list[Field]:
        """Return columns in the type that all their rows have."""

    @property
    def numbered(self) -> str:
        """The source of rows in SQL, each with its `PLACE`: the relation may be a view, which has no rowid."""
        return f"(SELECT *, row_number() OVER () AS {PLACE} FROM {self.relation})"

    def row(self, *expressions: str, where: str = "true", rows: str | None = None) -> tuple[Any, ...]:
        """Return the single row of an aggregating query, over the relation, or over `rows`."""
        query = f"SELECT {', '.join(expressions)} FROM {rows or self.relation} WHERE {where}"
        return cast("tuple[Any, ...]", self.database.execute(query).fetchone())


def text_field(
    source: DuckDBSource, j: int, text: str, dates: int, given: int, conversion: Conversion, findings: list[Finding]
) -> Field:
    """Return how to fetch a column of text: if all of its `given` values are dates, as times, or as "other"."""
    if not given or (dates != given and source.names[j] not in source.dates):
        note_dates(source, source.names[j], text, dates, given)
        return Field("text", text, conversion)
    kind = time_type(source, text, given)
    if kind is not None:
        return Field(kind, time_cast(text, kind), conversion)
    form = find_dates(source, source.names[j], text, given, findings)
    if form is None:
        return Field("other", text, conversion)
    return Field(kind_of_dates(form), written_cast(text, form), replace(conversion, dates=form))


def find_dates(source: DuckDBSource, name: str, text: str, given: int, findings: list[Finding]) -> str | None:
    """Return the format that all values of a column are written in, and note it; None if there is none, or several.

    `text` is SQL for a value, `given` how many are not NULL.

    Raises
    ------
    DataError
        If the given format does not fit a value; names its row.
    """
    told = source.dates.get(name)
    sample = [] if told else source.row(f"(list(DISTINCT {text}) FILTER ({text} IS NOT NULL))[:{SAMPLED_DATES}]")[0]
    forms = [told] if told else [f for f in FORMATS if all(written_time(f, value) is not None for value in sample)]
    counts = source.row(*(f"count({written_cast(text, form)})" for form in forms)) if forms else ()
    forms = [form for form, count in zip(forms, counts, strict=True) if count == given]
    if not forms and told:
        row, example = source.row(
            f"min({PLACE})",
            f"arg_min({text}, {PLACE})",
            where=f"{text} IS NOT NULL AND ({written_cast(text, told)}) IS NULL",
            rows=source.numbered,
        )
        raise DataError(
            f"column {name!r} has {example!r} in row {row}, which is not a date in the format {told!r} ("
            f"{format_words(told)}): correct it, or give the format of all its values with --dates"
        )
    if not forms:
        return None
    example = source.row(f"min({text})")[0]
    if (other := swapped(forms[0])) in forms:
        message = (
            f"the dates in column {name!r}, such as {example!r}, may be {format_words(forms[0])} or "
            f"{format_words(other)}: no value tells which"
        )
        findings.append(Finding("dates", message, name, given, given, example=example, values=(forms[0], other)))
        return None
    note = f"{name!r} holds dates written as {format_words(forms[0])} ({forms[0]}), such as {example!r}"
    if not told:
        warnings.warn(note, ShallowRulesNote, stacklevel=2)
    return forms[0]


def kind_of_dates(form: str) -> TimeType:
    """Return the type of the values of a format."""
    return "timestamp" if ":" in form else "date"


def written_cast(text: str, form: str) -> str:
    """Return SQL for a text as a date or a point in time, written in a format or in ISO 8601; NULL for any other."""
    kind = kind_of_dates(form)
    written = f"try_strptime(trim({text}), {quote_text(form)})"
    return (
        f"CASE WHEN regexp_full_match(trim({text}), {quote_text(written_pattern(form))}) "
        f"THEN CAST({written} AS {kind.upper()}) ELSE {_checked_time(text, kind)} END"
    )


def time_type(source: DuckDBSource, text: str, given: int) -> TimeType | None:
    """Return the type of time that all values of a text column have, in ISO 8601; None if there is none.

    `text` is SQL for a value, `given` how many are not NULL.
    """
    counts = source.row(*(f"count({_checked_time(text, kind)})" for kind in FORMS))
    return next((cast(TimeType, kind) for kind, count in zip(FORMS, counts, strict=True) if count == given), None)


SAMPLED_DATES = 100
"""Number of distinct texts that determine which formats to try on all rows."""


def _checked_time(text: str, kind: str) -> str:
    """Return SQL for a text as a time, NULL where it is not one in the form of `FORMS`, or is before the year 1."""
    time = f"TRY_{time_cast(text, kind)}"
    return f"CASE WHEN regexp_full_match(trim({text}), {quote_text(FORMS[kind])}) AND year({time}) > 0 THEN {time} END"


def time_cast(text: str, kind: str) -> str:
    """Return SQL for a text, ignoring blanks around it, as a date or a point in time."""
    return f"CAST(trim({text}) AS {kind.upper()})"


def duration_cast(text: str) -> str:
    """Return SQL for a text, ignoring blanks around it, as a duration; NULL where it is not one that rules compare."""
    size = f"TRY_CAST(ltrim(trim({text}), '-') AS INTERVAL)"  # the sign applies to days and clock together
    signed = f"CASE WHEN trim({text}) LIKE '-%' THEN -{size} ELSE {size} END"
    longest = f"INTERVAL '{time_range('duration')[-1] // DAY} days'"
    return f"CASE WHEN regexp_full_match(trim({text}), {quote_text(SPAN)}) AND {size} <= {longest} THEN {signed} END"


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


def typed_column(name: str, kind: ColumnType, values: Any) -> Column:
    """Make a column from values that DuckDB fetched, masked where a value is missing."""
    if kind in TIME_TYPES:
        return time_column(name, kind, values)
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if mask is None or not mask.any():
        return Column(name, kind, np.ma.getdata(values) if kind in ("integer", "float") else _objects(values))
    if kind == "integer":
        return Column(name, kind, values.filled(0), mask)
    if kind == "float":
        return Column(name, kind, values.filled(np.nan))
    objects = _objects(values)
    objects[mask] = None
    return Column(name, kind, objects)


def _objects(values: Any) -> Any:
    return np.ma.getdata(values).astype(object)


def batched(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Divide columns into groups that a single query handles quickly."""
    return (items[start : start + BATCH_COLUMNS] for start in range(0, len(items), BATCH_COLUMNS))


@contextmanager
def open_database(scratch: str) -> Iterator[DuckDBPyConnection]:
    """Open an embedded database that downloads nothing and leaves nothing behind."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise MissingExtraError("reading a file", "duckdb", "cli") from None
    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": scratch,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with duckdb.connect(config=settings) as database:
        try:
            yield database
        except duckdb.Error as error:
            if any(words in str(error) for words in NO_ROOM):
                raise OSError(ENOSPC, os.strerror(ENOSPC)) from error
            raise DataError(f"cannot be read: {reason(error)}") from error
        except RuntimeError as error:
            if str(error) != "Query interrupted":
                raise
            raise KeyboardInterrupt from error  # DuckDB's conversion of it


def reason(error: Exception) -> str:
    """Return DuckDB's error message, on one line and without the file."""
    return re.sub(r'^[A-Z][A-Za-z/ ]+ Error: | in file "[^"]*"', "", str(error).strip().splitlines()[0])


def absent_name(stem: str, names: Iterable[str]) -> str:
    """Return a name that begins with `stem` and that DuckDB, which folds case, distinguishes from all others."""
    taken = {name.casefold() for name in names}
    numbered = (f"{stem} {number}" for number in count(2))
    return next(name for name in chain([stem], numbered) if name.casefold() not in taken)


def quote_name(name: str) -> str:
    """Return a name as DuckDB's SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return text as a literal of DuckDB's SQL."""
    return "'" + text.replace("'", "''") + "'"


def text_literals(texts: Iterable[str]) -> str:
    """Return texts as a list of literals."""
    return ", ".join(map(quote_text, texts))


def file_literal(file: str) -> str:
    """Return a file as a literal; its name may look like a pattern."""
    return quote_text(glob.escape(file))

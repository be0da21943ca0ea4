"""Files become tables: CSV, Parquet and JSON, read by DuckDB and never guessed from a sample.

For CSV the shape of the file is decided here, by Python's `csv` module over every row: the header, the
one delimiter, ragged rows and their lines. DuckDB then gets all of it fixed, reads every field as text, and the
types are decided in SQL over all rows. So nothing is renamed, padded or retyped in silence.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import itertools
import os
import re
import shlex
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO, TypeVar, cast

import numpy as np

from shallowrules.conversion import PLAIN, Conversion
from shallowrules.errors import DataError, MissingExtraError, OptionError, ShallowRulesWarning, check_choice
from shallowrules.table import Column, ColumnType, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Field", "Source", "column_list", "file_relation", "open_file", "quote_name", "quote_text", "read_table"]

Item = TypeVar("Item")

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that a CSV file may have without being asked."""

SAMPLE_ROWS = 200
"""Rows that decide the delimiter, and nothing else."""

NEARLY_ALL = 0.9
"""Share of numbers from which a column is taken for numbers with something wrong in it."""

MISSING_SPELLINGS = ("", "?", "-", "--", ".", "na", "n/a", "#n/a", "null", "none", "nil", "missing", "unknown")
"""Ways to write "no value" that betray a column of numbers, however many there are. In lower case."""

DATES = r"\s*([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}([/.])[0-9]{1,2}[/.][0-9]{2,4})([ T][0-9]{1,2}:[0-9].*)?\s*"
"""Texts that are dates, with or without a time."""

CONTROL_BYTES = bytes({*range(32)} - set(b"\t\n\v\f\r"))
MOST_CONTROL_BYTES = 0.02
"""Share of control bytes from which a file is no text in any encoding."""

CHUNK = 1 << 20
BATCH = 100

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
NOT_TEXT = "this is not a text file; save the table as CSV, Parquet or JSON lines"
JSON_NUMBERS = {"BIGINT", "UBIGINT", "DOUBLE"}
WIDE_INTEGERS = ("HUGEINT", "UHUGEINT", "UBIGINT", "BIGNUM", "VARINT")


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    delimiter: str | None = None,
    decimal: str = ".",
    null: Sequence[str] = (),
    encoding: str = "utf-8",
    as_text: Sequence[str] = (),
) -> Table:
    """Read a CSV, Parquet or JSON file as a table.

    The kind of file is known by its content and name: ``.csv``, ``.tsv``, ``.txt``, ``.parquet``,
    ``.json``, ``.jsonl``, ``.ndjson``, all but Parquet also with ``.gz`` behind.

    Parameters
    ----------
    path : str or Path
    columns : sequence of str, optional
        Read these columns only, in this order.
    exclude : sequence of str
        Leave these columns out; what is wrong with their values does not matter then.
    delimiter : str, optional
        One character between the fields of a CSV file. By default a tab for ``.tsv``, else the one
        of ``, ; tab |`` by which the header and the rows have the same number of fields.
    decimal : {".", ","}
        What separates the fraction of a number in a CSV file.
    null : sequence of str
        Texts that mean "no value", compared without the blanks around them: ``""`` is a field
        of nothing but spaces. An empty field has no value in any case.
    encoding : str
        Of a text file; a byte order mark is skipped.
    as_text : sequence of str
        Columns of a CSV or JSON file to leave as the text that they are, for rules that know how to convert it.

    Returns
    -------
    Table
        A column of whole numbers that fit 64 bits is "integer", other numbers are "float" (in single
        precision where Parquet says so, else in double). ``true`` and ``yes`` are text
        in a CSV file; dates (also as text), lists and objects are "other".

    Raises
    ------
    DataError
        If the file is not a table, or a column is nearly all numbers but not quite. The message
        names the file, and the line, row or column.
    OptionError
        If an option has a value that is not allowed.
    MissingExtraError
        If DuckDB is not installed.

    Warns
    -----
    ShallowRulesWarning
        If the column names may be a first row, or the delimiter looks wrong.
    """
    with open_file(path, delimiter=delimiter, decimal=decimal, null=null, encoding=encoding) as source:
        return source.table(source.positions(columns, exclude), as_text)


@contextmanager
def open_file(
    path: str | Path,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    null: Sequence[str] = (),
    encoding: str = "utf-8",
) -> Iterator[Source]:
    """Open a file as `read_table` does, in a database that is closed afterwards.

    The parameters and what is raised are those of `read_table`.

    Yields
    ------
    Source
    """
    _check_options(delimiter, decimal, encoding)
    told = Conversion(decimal, tuple(dict.fromkeys(token.strip(" ") for token in null)))
    shown = os.fspath(path)
    try:
        with TemporaryDirectory(prefix="shallowrules-") as scratch:
            file = _regular_file(shown, scratch)
            kind = _kind(shown, file)
            with _database(scratch) as database:
                if kind == "parquet":
                    yield _parquet(database, file)
                    return
                text, line_ends = _plain_text(file, encoding, scratch)
                if kind == "json":
                    yield _json(database, text, told)
                    return
                if delimiter is None:
                    delimiter = _delimiter(shown, text, decimal)
                elif delimiter == decimal:
                    raise OptionError(f"{delimiter!r} cannot be both the delimiter and the decimal separator")
                yield _csv(database, text, line_ends, delimiter, told, scratch)
    except DataError as error:
        raise DataError(f"{shown}: {error}") from error.__cause__
    except OSError as error:
        raise DataError(f"{shown}: cannot be read: {error.strerror or error}") from error


def file_relation(path: str | Path, delimiter: str | None = None) -> str | None:
    """Return what DuckDB selects a CSV or Parquet file from by itself, as a user would write it; None for others.

    Nothing that `read_table` finds out is told, but for a delimiter that it had to be told too.
    """
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        return None
    kind = _kind(os.fspath(path), file)
    if kind == "csv":
        said = "" if delimiter is None else f", delim={quote_text(delimiter)}"
        return f"read_csv({_file_literal(file)}, header=true, sample_size=-1{said})"
    return f"read_parquet({_file_literal(file)})" if kind == "parquet" else None


def column_list(names: Iterable[str]) -> str:
    """Return column names as a shell word that ``--columns`` and ``--exclude`` understand."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return shlex.quote(line.getvalue())


# What each kind of file gives --------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """How to fetch one column: its type, the SQL expression that gives its values, and what that converts."""

    type: ColumnType
    expression: str
    conversion: Conversion = PLAIN


class Source:
    """A file in a database, its columns by position.

    `names` are the file's, `relation` is what to select from. Each column has two expressions: `original`, as it
    stands in the file, and that of `fields`, in the type as which it is read.
    """

    kind: Literal["csv", "json", "parquet"]

    def __init__(self, database: DuckDBPyConnection, names: list[str], relation: str) -> None:
        _check_names(names)
        self.database = database
        self.names = names
        self.relation = relation

    def table(self, chosen: Sequence[int], as_text: Sequence[str] = ()) -> Table:
        """Return the table of the chosen columns, read as `fields` says."""
        n_rows = self.count_rows()
        fields = self.fields(chosen, as_text)
        arrays: dict[str, Any] = {}
        for batch in _batches(list(enumerate(fields))):
            expressions = ", ".join(f"{field.expression} AS c{i}" for i, field in batch)
            arrays |= self.database.execute(f"SELECT {expressions} FROM {self.relation}").fetchnumpy()
        columns = [
            replace(_column(self.names[j], field.type, arrays[f"c{i}"]), conversion=field.conversion)
            for i, (j, field) in enumerate(zip(chosen, fields, strict=True))
        ]
        return Table(tuple(columns), n_rows)

    def count_rows(self) -> int:
        """Return the number of rows; DataError if there is none."""
        n_rows: int = self._row("count(*)")[0]
        if not n_rows:
            raise DataError(f"there are no rows below the {len(self.names)} column names")
        return n_rows

    def positions(self, columns: Sequence[str] | None, exclude: Sequence[str] = ()) -> list[int]:
        """Return where the wanted columns stand; DataError names one that is not there."""
        return _choose(self.names, columns, exclude)

    def original(self, j: int) -> str:
        """Return SQL for a column as it stands in the file."""
        return f"c{j}"

    def text(self, j: int) -> str | None:
        """Return SQL for a column as the text that it is in the file, None where the file says its type."""
        return None

    def fields(self, chosen: Sequence[int], as_text: Sequence[str] = (), *, lenient: bool = False) -> list[Field]:
        """Return the chosen columns as they are read, those named in `as_text` as the text that they are.

        A column of numbers with something else in it is refused by DataError; if `lenient`, it is text.
        """
        complaints: list[str] = []
        texts = {j: self.text(j) for j in chosen if self.names[j] in as_text}
        fields = {j: Field("text", text) for j, text in texts.items() if text is not None}
        others = [j for j in chosen if j not in fields]
        fields |= zip(others, self._fields(others, complaints), strict=True)
        if complaints and not lenient:
            raise DataError("; ".join(complaints))
        return [fields[j] for j in chosen]

    def _fields(self, chosen: Sequence[int], complaints: list[str]) -> list[Field]:
        raise NotImplementedError

    def _words(self, text: str, given: int, conversion: Conversion) -> Field:
        """Return how to fetch a column of text, or of dates if all of it is."""
        dates = self._row(f"count(*) FILTER (regexp_full_match({text}, {quote_text(DATES)}))")[0]
        return Field("other" if dates == given else "text", text, conversion)

    def _row(self, *expressions: str, where: str = "true") -> tuple[Any, ...]:
        query = f"SELECT {', '.join(expressions)} FROM {self.relation} WHERE {where}"
        return cast("tuple[Any, ...]", self.database.execute(query).fetchone())


class _ParquetSource(Source):
    """Types are declared; only wide integers are looked at."""

    kind = "parquet"

    def original(self, j: int) -> str:
        return quote_name(self.names[j])

    def _fields(self, chosen: Sequence[int], complaints: list[str]) -> list[Field]:
        described = self.database.execute(f"DESCRIBE SELECT * FROM {self.relation}").fetchall()
        return [self._field(quote_name(described[j][0]), described[j][1]) for j in chosen]

    def _field(self, name: str, declared: str) -> Field:
        if declared in INTEGERS:
            return Field("integer", name)
        if declared in WIDE_INTEGERS:
            # All of them in 64 bits, or as the double that a database compares them as.
            given, fitting = self._row(f"count({name})", f"count(TRY_CAST({name} AS BIGINT))")
            fits = given == fitting
            return Field("integer" if fits else "float", f"CAST({name} AS {'BIGINT' if fits else 'DOUBLE'})")
        if declared in ("FLOAT", "DOUBLE"):
            return Field("float", name)
        if declared.startswith("DECIMAL"):
            return Field("float", f"CAST({name} AS DOUBLE)")
        if declared == "BOOLEAN":
            return Field("boolean", name)
        text = declared in ("VARCHAR", "UUID") or declared.startswith("ENUM")
        # Dates and the like as text: an infinite date has no Python value.
        return Field("text" if text else "other", f"CAST({name} AS VARCHAR)")


class _JsonSource(Source):
    """Values say their own type; a column has the one type that all of them fit."""

    kind = "json"

    def __init__(self, database: DuckDBPyConnection, names: list[str], relation: str, told: Conversion) -> None:
        super().__init__(database, names, relation)
        self.told = told

    def text(self, j: int) -> str:
        return f"(c{j}->>'$')"

    def _fields(self, chosen: Sequence[int], complaints: list[str]) -> list[Field]:
        return [self._field(j, complaints) for j in chosen]

    def _field(self, j: int, complaints: list[str]) -> Field:
        value = f"c{j}"
        conversion = PLAIN
        if self.told.nulls:
            is_null = f"json_type({value}) = 'VARCHAR' AND trim({value}->>'$') IN ({_literals(self.told.nulls)})"
            used = set(self._row(f"list(DISTINCT trim({value}->>'$')) FILTER ({is_null})")[0] or ())
            if used:
                conversion = Conversion(nulls=tuple(token for token in self.told.nulls if token in used))
                value = f"(CASE WHEN {is_null} THEN NULL ELSE {value} END)"
        count_kinds = f"SELECT json_type({value}), count(*) FROM {self.relation} GROUP BY 1"
        kinds = {kind: n for kind, n in self.database.execute(count_kinds).fetchall() if kind not in (None, "NULL")}
        given = sum(kinds.values())
        text = f"({value}->>'$')"
        if set(kinds) <= JSON_NUMBERS:
            whole = f"TRY_CAST({text} AS BIGINT)"
            if given and "DOUBLE" not in kinds and self._row(f"count({whole})")[0] == given:
                return Field("integer", whole, conversion)
            return Field("float", f"TRY_CAST({text} AS DOUBLE)", conversion)
        if set(kinds) == {"BOOLEAN"}:
            return Field("boolean", f"CAST({text} AS BOOLEAN)")
        if set(kinds) & {"ARRAY", "OBJECT"}:
            return Field("other", text)
        offending = f"json_type({value}) NOT IN ({', '.join(map(quote_text, sorted(JSON_NUMBERS)))})"
        numbers = sum(n for kind, n in kinds.items() if kind in JSON_NUMBERS)
        complaints += _almost_numeric(self, self.names[j], text, offending, numbers, given)
        return self._words(text, given, conversion)


class _CsvSource(Source):
    """Everything is text, and a column is numeric if all of its values are.

    Its relation has a column for each field, ``c0`` and so on, NULL where the field means "no value", and
    beside it ``raw0`` and so on with the text of the file.
    """

    kind = "csv"

    def __init__(self, database: DuckDBPyConnection, names: list[str], told: Conversion, delimiter: str) -> None:
        super().__init__(database, names, "fields")
        self.delimiter = delimiter
        self.told = told

    def original(self, j: int) -> str:
        return self.text(j)

    def text(self, j: int) -> str:
        return f"NULLIF(raw{j}, '')"

    def _fields(self, chosen: Sequence[int], complaints: list[str]) -> list[Field]:
        counts: list[int] = []
        for batch in _batches(chosen):
            expressions = ((f"c{j}", self._number(f"c{j}"), self._whole(f"c{j}")) for j in batch)
            counts += self._row(*(f"count({expression})" for each in expressions for expression in each))
        fields = []
        for i, j in enumerate(chosen):
            given, numbers, whole = counts[3 * i : 3 * i + 3]
            if given == whole > 0:
                fields.append(self._numeric("integer", j, self._whole(f"c{j}")))
            elif given == numbers:
                fields.append(self._numeric("float", j, self._number(f"c{j}")))
            else:
                complaints += self._comma_numbers(j, given, numbers) or _almost_numeric(
                    self, self.names[j], f"c{j}", f"{self._number(f'c{j}')} IS NULL", numbers, given
                )
                fields.append(self._words(f"c{j}", given, self._needed(j, f"c{j}")))
        return fields

    def _numeric(self, kind: ColumnType, j: int, expression: str) -> Field:
        """Return how to fetch a column of numbers, those left out that stand for "no value"."""
        if self.told.null_numbers:
            tokens = ", ".join(map(repr, self.told.null_numbers))
            expression = f"CASE WHEN {expression} NOT IN ({tokens}) THEN {expression} END"
        return Field(kind, expression, self._needed(j, expression, numeric=True))

    def _needed(self, j: int, expression: str, *, numeric: bool = False) -> Conversion:
        """Return what of the conversion that was told makes a difference to a column."""
        if self.told == PLAIN:
            return PLAIN
        missing, commas, words = self._row(
            f"count(c{j}) - count({expression})",
            f"count(*) FILTER (contains(c{j}, ','))",
            f"list(DISTINCT trim(raw{j})) FILTER (c{j} IS NULL)",
        )
        used = set(words or ())
        nulls = tuple(
            token for token in self.told.nulls if token in used or (missing and self.told.number(token) is not None)
        )
        return Conversion(self.told.decimal if numeric and commas else ".", nulls)

    def _number(self, field: str) -> str:
        """Return SQL for the field as a double, NULL where it is none."""
        # DuckDB would take 1_000 for a number, and with a decimal comma a dot can only group digits.
        foreign = f"contains({field}, '_')"
        if self.told.decimal == ",":
            foreign += f" OR contains({field}, '.')"
            field = f"replace({field}, ',', '.')"
        return f"CASE WHEN {foreign} THEN NULL ELSE TRY_CAST({field} AS DOUBLE) END"

    def _whole(self, field: str) -> str:
        """Return SQL for the field as a 64-bit integer, NULL where it is none."""
        return rf"CASE WHEN regexp_full_match({field}, '\s*[+-]?[0-9]+\s*') THEN TRY_CAST({field} AS BIGINT) END"

    def _comma_numbers(self, j: int, given: int, numbers: int) -> list[str]:
        """Return a complaint if the column is numeric once a comma is allowed."""
        if self.told.decimal == ",":
            return []
        is_comma_number = rf"regexp_full_match(c{j}, '\s*[+-]?[0-9]*(,[0-9]+)+\s*')"
        count, example = self._row("count(*)", f"min(c{j})", where=is_comma_number)
        if not count or numbers + count < given:
            return []
        return [
            f"column {self.names[j]!r} has numbers with a comma ({count} of {given}, such as {example!r}): say "
            "--decimal , if it is the decimal separator; if it groups digits, take it out of the file, "
            f"or leave the column out (--exclude {column_list([self.names[j]])})"
        ]


def _almost_numeric(source: Source, name: str, text: str, offending: str, numbers: int, given: int) -> list[str]:
    """Return a complaint about a column of numbers with something else in it, or nothing for plain text."""
    if not numbers:
        return []
    spellings = ", ".join(map(quote_text, MISSING_SPELLINGS))
    where = f"{text} IS NOT NULL AND {offending}"
    words, example, row, distinct = source._row(
        f"count(*) FILTER (lower(trim({text})) NOT IN ({spellings}))",
        f"arg_min({text}, rowid)",
        "min(rowid) + 1",
        f"list_slice(list_sort(list(DISTINCT trim({text}))), 1, 4)",
        where=where,
    )
    if words and numbers < NEARLY_ALL * given:
        return []
    ways = f"leave the column out (--exclude {column_list([name])})"
    if len(distinct) <= 3:
        nulls = " ".join(f"--null {shlex.quote(token)}" for token in distinct)
        ways = f"treat {'it' if len(distinct) == 1 else 'them'} as missing ({nulls}) or {ways}"
    else:
        ways = f"correct the file or {ways}"
    return [
        f"column {name!r} is nearly all numbers, but {given - numbers} of {given} values are not, "
        f"such as {example!r} in row {row}: {ways}"
    ]


def _column(name: str, kind: ColumnType, values: Any) -> Column:
    """Make a column of what DuckDB fetched, masked where a value is missing."""
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


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut into pieces that one query is quick with; its planning takes the square of its columns."""
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _check_names(names: Sequence[str]) -> None:
    """Refuse names that a database would take for one."""
    seen: dict[str, tuple[int, str]] = {}
    for position, name in enumerate(names, start=1):
        earlier, other = seen.setdefault(name.lower(), (position, name))
        if earlier != position:
            what = f"are both named {name!r}" if name == other else f"are named {other!r} and {name!r}, one name in SQL"
            raise DataError(f"columns {earlier} and {position} {what}: rename one of them")


def _choose(names: Sequence[str], columns: Sequence[str] | None, exclude: Sequence[str]) -> list[int]:
    """Return the positions of the wanted columns."""
    position = {name: j for j, name in enumerate(names)}
    for name in itertools.chain(columns or (), exclude):
        if name not in position:
            raise DataError(f"there is no column {name!r}; the columns are: {', '.join(map(repr, names))}")
    wanted = names if columns is None else list(dict.fromkeys(columns))
    left_out = set(exclude)
    chosen = [position[name] for name in wanted if name not in left_out]
    if not chosen:
        raise DataError("no column is left to read")
    return chosen


# The file itself ---------------------------------------------------------------------------------


def _check_options(delimiter: str | None, decimal: str, encoding: str) -> None:
    check_choice("decimal separator", decimal, (".", ","))
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or delimiter.isalnum()):
        raise OptionError(f"the delimiter must be one character and no quote, letter or digit, not {delimiter!r}")
    try:
        # Codecs such as "zlib" are not text encodings, and look-up alone would take them.
        "".encode(encoding)
    except LookupError:
        raise OptionError(
            f"unknown encoding {encoding!r}; known are for example: utf-8, utf-16, cp1252, latin-1"
        ) from None


@contextmanager
def _database(scratch: str) -> Iterator[DuckDBPyConnection]:
    """Open an embedded database that downloads nothing and leaves nothing behind."""
    try:
        import duckdb
    except ImportError:
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
            reason = re.sub(r'^[A-Z][A-Za-z/ ]+ Error: | in file "[^"]*"', "", str(error).strip().splitlines()[0])
            raise DataError(f"cannot be read: {reason}") from error


def _regular_file(path: str, scratch: str) -> str:
    """Return the path of a file with something in it; what comes from a pipe is copied."""
    source = Path(path)
    if not source.exists():
        raise DataError("there is no such file")
    if source.is_dir():
        raise DataError("this is a folder; name the file")
    if not source.is_file():
        copy = Path(scratch, "piped")
        with open(source, "rb") as stream, open(copy, "wb") as target:
            while chunk := stream.read(CHUNK):
                target.write(chunk)
        source = copy
    if source.stat().st_size == 0:
        raise DataError("the file is empty")
    return os.path.abspath(source)


def _kind(name: str, file: str) -> str:
    """Return "parquet", "json" or "csv", by the content where it is plain and else by the name."""
    stem = name.lower().removesuffix(".gz")
    with _open_bytes(file) as stream:
        head = stream.read(64)
    if head.startswith(b"PAR1"):
        return "parquet"
    if stem.endswith((".parquet", ".pq")):
        raise DataError("this is not a Parquet file, whatever its name says")
    if stem.endswith((".json", ".jsonl", ".ndjson")):
        return "json"
    named_text = stem.endswith((".csv", ".tsv", ".tab", ".txt"))
    return "json" if not named_text and head.lstrip().startswith((b"{", b"[")) else "csv"


@contextmanager
def _open_bytes(file: str) -> Iterator[BinaryIO]:
    """Open a file, or what is compressed in it."""
    with open(file, "rb") as raw:
        compressed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not compressed:
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield cast(BinaryIO, stream)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"the compressed file is damaged: {error}") from error


def _plain_text(file: str, encoding: str, scratch: str) -> tuple[str, str | tuple[str, ...] | None]:
    """Return the path of the text as UTF-8 without a byte order mark, and the line ends in it.

    Every byte is decoded, so that a file that is not text is refused with its line.
    """
    name = codecs.lookup(encoding).name
    decode = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
    line_ends = io.IncrementalNewlineDecoder(None, translate=False)
    text = os.path.join(scratch, "text")
    lines = 1
    with _open_bytes(file) as stream, open(text, "w", encoding="utf-8", newline="") as copy:
        as_is = name == "utf-8" and isinstance(stream, io.BufferedReader) and stream.peek(3)[:3] != codecs.BOM_UTF8
        ended = False
        while not ended:
            chunk = stream.read(CHUNK)
            ended = not chunk
            try:
                decoded = decode.decode(chunk, final=ended)
            except UnicodeDecodeError as error:
                lines += error.object[: error.start].count(b"\n")
                if not name.startswith(("utf-16", "utf-32")) and _is_binary(error.object):
                    raise DataError(f"line {lines} has bytes that no text has: {NOT_TEXT}") from error
                byte = error.object[error.start : error.start + 1].hex()
                other = "utf-16" if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "cp1252"
                raise DataError(
                    f"line {lines}: byte 0x{byte} is not {name}; if the file is written in another encoding, "
                    f"say so (for example --encoding {other})"
                ) from error
            if "\0" in decoded:
                raise DataError(
                    f"line {lines + decoded[: decoded.index(chr(0))].count(chr(10))} has a zero byte: {NOT_TEXT}"
                )
            lines += decoded.count("\n")
            line_ends.decode(decoded, final=ended)
            if not as_is:
                copy.write(decoded)
    return (file if as_is else text), line_ends.newlines


def _is_binary(content: bytes) -> bool:
    """Return whether bytes are text in no encoding, or in one that needs to be known: UTF-16 has a mark for that."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    control = len(content) - len(content.translate(None, CONTROL_BYTES))
    return b"\0" in content or control > MOST_CONTROL_BYTES * len(content)


def quote_name(name: str) -> str:
    """Return a name as DuckDB's SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return text as a literal of DuckDB's SQL."""
    return "'" + text.replace("'", "''") + "'"


def _literals(texts: Iterable[str]) -> str:
    return ", ".join(map(quote_text, texts))


def _file_literal(file: str) -> str:
    # A file name may look like a pattern.
    return quote_text(glob.escape(file))


# Parquet and JSON --------------------------------------------------------------------------------


def _parquet(database: DuckDBPyConnection, file: str) -> Source:
    # The schema is a tree in pre-order; DuckDB's own description has renamed what repeats.
    schema = database.execute(f"SELECT name, num_children FROM parquet_schema({_file_literal(file)})").fetchall()
    names = []
    within = 0
    for name, children in schema[1:]:
        if not within:
            names.append(name)
            within = 1
        within += (children or 0) - 1
    # A folder called a=1 would add a column.
    return _ParquetSource(database, names, f"read_parquet({_file_literal(file)}, hive_partitioning=false)")


def _json(database: DuckDBPyConnection, file: str, told: Conversion) -> Source:
    documents = f"read_json_objects({_file_literal(file)}, format='auto', compression='none', hive_partitioning=false)"
    numbered = f"(SELECT json, row_number() OVER () AS row FROM {documents})"
    stray = database.execute(
        f"SELECT row FROM {numbered} WHERE json_type(json) <> 'OBJECT' ORDER BY row LIMIT 1"
    ).fetchone()
    if stray is not None:
        raise DataError(f"row {stray[0]} is not a JSON object; every row must be one, from column name to value")
    names = [
        name
        for (name,) in database.execute(
            "SELECT name FROM (SELECT unnest(keys) AS name, unnest(range(len(keys))) AS place, row "
            f"FROM (SELECT json_keys(json) AS keys, row FROM {numbered})) "
            "GROUP BY name ORDER BY min({'row': row, 'place': place})"
        ).fetchall()
    ]
    if not names:
        raise DataError("there are no rows with columns in it")
    if "" in names:
        raise DataError("a column has an empty name: rename it")
    _check_names(names)
    types = ", ".join(f"{quote_text(name)}: 'JSON'" for name in names)
    selected = ", ".join(f"{quote_name(name)} AS c{j}" for j, name in enumerate(names))
    database.execute(
        f"CREATE TABLE fields AS SELECT {selected} FROM read_json({_file_literal(file)}, "
        f"columns={{{types}}}, format='auto', compression='none', hive_partitioning=false)"
    )
    return _JsonSource(database, names, "fields", told)


# CSV ---------------------------------------------------------------------------------------------


def _delimiter(name: str, text: str, decimal: str) -> str:
    """Return the one delimiter by which header and rows have equally many fields."""
    if name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    fits = _fits(text, decimal)
    if not fits:
        return next(delimiter for delimiter in DELIMITERS if delimiter != decimal)  # a single column
    perfect = [delimiter for delimiter, (share, _) in fits.items() if share == 1]
    if len(perfect) > 1:
        raise DataError(
            f"the delimiter may be {' or '.join(map(repr, perfect))}: all rows have equally many fields by each; "
            "say which it is (--delimiter)"
        )
    return max(fits, key=lambda delimiter: fits[delimiter])


def _fits(text: str, decimal: str | None = None) -> dict[str, tuple[float, int]]:
    """Return the delimiters by which the header has several fields: the share of rows with as many, and how many."""
    fits: dict[str, tuple[float, int]] = {}
    for delimiter in DELIMITERS:
        if delimiter == decimal:
            continue
        with _open_text(text) as stream:
            try:
                rows = [
                    row
                    for row in itertools.islice(csv.reader(stream, delimiter=delimiter, strict=True), SAMPLE_ROWS)
                    if row
                ]
            except csv.Error:
                continue
        if rows and len(rows[0]) > 1:
            fitting = sum(len(row) == len(rows[0]) for row in rows[1:])
            fits[delimiter] = (fitting / max(1, len(rows) - 1), len(rows[0]))
    return fits


def _check_single(name: str, text: str, delimiter: str, decimal: str) -> None:
    """Refuse one column that another delimiter divides in every row, or warn where it may be the decimal separator."""
    others = [other for other, (share, _) in _fits(text).items() if share == 1]
    if not others:
        return
    wrong = (
        f"by the delimiter {delimiter!r} there is one column only, {name!r}, and {others[0]!r} divides it in every "
        "row: the delimiter looks wrong (--delimiter)"
    )
    if others != [decimal]:
        raise DataError(wrong)
    warnings.warn(wrong, ShallowRulesWarning, stacklevel=2)


def _csv(
    database: DuckDBPyConnection,
    text: str,
    line_ends: str | tuple[str, ...] | None,
    delimiter: str,
    told: Conversion,
    scratch: str,
) -> Source:
    """Load the fields of a CSV file as text into the table ``fields``."""
    names, n_rows, blank_lines = _shape(text, delimiter)
    if len(names) == 1:
        _check_single(names[0], text, delimiter, told.decimal)
    if blank_lines or line_ends not in (None, "\n", "\r\n"):
        # DuckDB takes a blank line for a row where there is one column, and no mixture of line ends.
        text = _rewritten(text, delimiter, scratch)
    types = ", ".join(f"'raw{j}': 'VARCHAR'" for j in range(len(names)))
    database.execute(
        f"CREATE TABLE lines AS SELECT * FROM read_csv({_file_literal(text)}, auto_detect=false, "
        f"columns={{{types}}}, delim={quote_text(delimiter)}, quote='\"', escape='\"', header=true, nullstr='', "
        "null_padding=false, compression='none', hive_partitioning=false)"
    )
    field = "NULLIF(raw{0}, '') AS c{0}"
    if told.nulls:
        tokens = _literals(told.nulls).replace("{", "{{").replace("}", "}}")
        field = f"CASE WHEN trim(raw{{0}}) NOT IN ({tokens}) THEN NULLIF(raw{{0}}, '') END AS c{{0}}"
    selected = ", ".join(field.format(j) for j in range(len(names)))
    database.execute(f"CREATE VIEW fields AS SELECT *, {selected}, rowid FROM lines")
    [(loaded,)] = database.execute("SELECT count(*) FROM fields").fetchall()
    if loaded != n_rows:
        raise DataError(
            f"the file has {n_rows} rows, but DuckDB finds {loaded}; quote the fields in it, or use Parquet"
        )
    return _CsvSource(database, names, told, delimiter)


def _open_text(text: str) -> TextIO:
    return open(text, encoding="utf-8", newline="")


def _shape(text: str, delimiter: str) -> tuple[list[str], int, int]:
    """Return the column names, the number of rows and that of blank lines; every row is looked at."""
    with _open_text(text) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            names = next(reader, [])
            if not names:
                raise DataError("line 1 is blank; the first line must name the columns")
            lengths = Counter(map(len, reader))
        except csv.Error as error:
            raise DataError(_first_fault(text, delimiter)) from error
    blank_lines = lengths.pop(0, 0)
    if set(lengths) - {len(names)}:
        raise DataError(_first_fault(text, delimiter))
    _check_header(names)
    # The name that DuckDB gives; data frames write their index without one.
    names = [name or f"column{j}" for j, name in enumerate(names)]
    return names, lengths[len(names)], blank_lines


def _first_fault(text: str, delimiter: str) -> str:
    """Return what is wrong with the first row that is none, and the line it begins on."""
    with _open_text(text) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        width = line = 0
        try:
            for row in reader:
                width = width or len(row)
                if len(row) not in (0, width):
                    break
                line = reader.line_num
        except csv.Error as error:
            # A quote that is left open shows only at the end of the file, or of what a field may hold.
            if "unexpected end of data" in str(error) or "field limit" in str(error):
                return f"line {line + 1}: a field is too long or its quote is never closed ({error})"
            return f"line {line + 1}: {error}"
    return (
        f"line {line + 1} has {len(row)} field(s), the header has {width} (delimiter {delimiter!r}): "
        "correct the line, or say --delimiter if it is another"
    )


def _check_header(names: Sequence[str]) -> None:
    """Refuse a first line that can only be data, and warn of one that may be."""

    def is_number(name: str) -> bool:
        try:
            float(name.replace(",", "."))
        except ValueError:
            return False
        return True

    if not all(map(is_number, names)):
        return
    shown = ", ".join([*names[:3], "…"] if len(names) > 3 else names)
    # Whole numbers without a sign may be years or positions.
    if not all(name.strip().isdigit() for name in names):
        raise DataError(f"line 1 holds numbers ({shown}); it must name the columns: add a header line")
    warnings.warn(
        f"the first line, {shown}, was taken for the column names; if the file has no header, add one",
        ShallowRulesWarning,
        stacklevel=2,
    )


def _rewritten(text: str, delimiter: str, scratch: str) -> str:
    """Return the path of a copy with every field quoted, one line end, and no blank lines."""
    target = os.path.join(scratch, "rewritten")
    with _open_text(text) as stream, open(target, "w", encoding="utf-8", newline="") as copy:
        writer = csv.writer(copy, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows(filter(None, csv.reader(stream, delimiter=delimiter, strict=True)))
    return target

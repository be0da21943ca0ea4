"""Files in an embedded DuckDB: what sources of CSV, JSON and Parquet share."""

from __future__ import annotations

import glob
import os
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from errno import ENOSPC
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from shallowrules.errors import DataError, Finding, MissingExtraError
from shallowrules.sources.base import Provenance, Source, refuse
from shallowrules.tables.column import Column, ColumnType
from shallowrules.tables.conversion import PLAIN, Conversion
from shallowrules.tables.time_columns import time_column
from shallowrules.tables.times import TIME_TYPES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyarrow import RecordBatch

__all__ = [
    "PLACE",
    "DuckDBSource",
    "Field",
    "absent_name",
    "batched",
    "file_literal",
    "open_database",
    "quote_name",
    "quote_text",
    "reason",
    "text_literals",
    "typed_column",
]

Item = TypeVar("Item")

BATCH_COLUMNS = 100
"""Columns of one query. The time in which DuckDB plans a query grows with the square of its expressions: 2,000 counts
took 0.22 s of CPU in one query of 1,000 columns each and 0.02 s per 100."""

PLACE = '"place of the row, from 1"'
"""SQL for the number of a row among those of `DuckDBSource.numbered`."""

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

    def stream(self, positions: Sequence[int], fields: Sequence[Field], n_rows: int) -> Iterator[RecordBatch]:
        """Yield columns, read as `fields` says, as Arrow record batches of at most `n_rows` rows; needs pyarrow."""
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtraError("reading rows as Arrow", "pyarrow") from None
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
        database.execute("SET enable_progress_bar = false")  # it prints one in a notebook
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

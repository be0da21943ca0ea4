"""Files and rows of databases as parts, which this process streams from where they are in every pass."""

from __future__ import annotations

import os
import pickle
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from shallowrules.errors import DataError, Finding
from shallowrules.files import Reading, scratch_folder
from shallowrules.partitions.base import ColumnKind, KindsFound, Part, ThreadedPartitions, as_part, merge_all
from shallowrules.sources import DatabaseRows, Files, open_source
from shallowrules.sources.base import in_file, named
from shallowrules.sources.combined import FOUND_TYPES, CombinedSource, check_one_format
from shallowrules.sources.database import open_rows
from shallowrules.sources.engine import DuckDBSource, Field
from shallowrules.tables.column import ColumnType
from shallowrules.tables.conversion import Conversion
from shallowrules.tables.table import Table
from shallowrules.tables.times import TIME_TYPES

if TYPE_CHECKING:
    from pyarrow import RecordBatch

__all__ = ["PART_ROWS", "open_files", "open_stored_rows"]

PART_ROWS = 131_072
"""Rows of a part: enough that work done once per part does not matter, and few enough to keep the parts in memory
small."""

ENGINE_SHARE = 0.25
"""Share of the memory that the embedded DuckDB, which reads files, may take; anything more is on disk."""

MIN_ENGINE_MIB = 256
"""The minimum that DuckDB gets: it holds a whole row group of a Parquet file, which may have 100 MB."""


class FileParts(ThreadedPartitions):
    """Files as parts, each of at most `PART_ROWS` rows.

    Parameters
    ----------
    sources : sequence of DuckDBSource
    columns : sequence of str or None
    exclude : sequence of str
    as_words : sequence of str
        Columns whose truth values are the words that the files have for them.
    findings : list of Finding or None
        Where to add faults of columns, which are then text; with None, DataError reports them.
    n_threads : int
    """

    def __init__(
        self,
        sources: Sequence[DuckDBSource],
        columns: Sequence[str] | None,
        exclude: Sequence[str],
        as_words: Sequence[str],
        findings: list[Finding] | None,
        n_threads: int,
    ) -> None:
        self.sources = [source for source in sources if not source.is_empty]
        if not self.sources:
            with named(str(sources[0].provenance)):
                sources[0].count_rows()  # refuses a file without rows
        found: list[KindsFound] = []
        self._read: list[tuple[list[int], list[Field]]] = []
        written: dict[str, list[tuple[str, ColumnType, Conversion]]] = {}
        for number, source in enumerate(self.sources):
            where = str(source.provenance)
            with named(where):
                positions = source.positions(columns, exclude)
                wrong: list[Finding] = []
                fields = source.fields(positions, as_words=as_words, findings=None if findings is None else wrong)
                if findings is not None:
                    findings += wrong if len(sources) == 1 else [in_file(finding, where) for finding in wrong]
                self._read.append((positions, fields))
                kinds = self._kinds(source, positions, fields)
            for name, kind in kinds.items():
                if kind.has_values:
                    written.setdefault(name, []).append((where, kind.type, kind.conversion))
            places = {name: (kind, where) for name, kind in kinds.items()}
            found.append(KindsFound(places, tuple(kinds), origin=f"{number:09}"))
        for name, each in written.items():
            check_one_format(name, each)
        where = str(self.sources[0].provenance) if len(sources) == 1 else f"{len(sources)} files"
        super().__init__(cast(KindsFound, merge_all(None, found)).checked(), where, n_threads)
        self.all_names = list(dict.fromkeys(self.sources[0].names))
        self.format = self.sources[0].provenance.kind
        self.column_notes = {name: notes for source in self.sources for name, notes in source.column_notes.items()}

    def _kinds(self, source: DuckDBSource, positions: Sequence[int], fields: Sequence[Field]) -> dict[str, ColumnKind]:
        """Return the kinds of the columns of one file, by name."""
        with closing(_batches(source, positions, fields)) as batches:
            table = _table(next(batches))
        declared = source.provenance.kind not in FOUND_TYPES
        counts = [1] * len(fields)
        if not declared:
            counts = [source.row(f"count({field.expression})")[0] for field in fields]
        kinds = {}
        for column, each, n_values in zip(table.columns, fields, counts, strict=True):
            kind = ColumnKind.of(column)
            dtype = kind.dtype if each.type in ("integer", "float") else "<i8" if each.type in TIME_TYPES else "object"
            kinds[column.name] = ColumnKind(each.type, dtype, each.conversion, n_values > 0, declared)
        return kinds

    def parts(self) -> Generator[Part, None, None]:
        """Yield the parts, file by file."""
        for source, (positions, fields) in zip(self.sources, self._read, strict=True):
            origin = str(source.provenance)
            for batch in _batches(source, positions, fields):
                yield as_part(_table(batch), self.kinds, origin)

    def zero_padded(self) -> set[str]:
        """Return columns whose whole numbers have leading zeros in any file."""
        return set().union(*(source.zero_padded() for source in self.sources))

    def count_distinct(self, name: str) -> int | None:
        """Return how many different values a column has."""
        values = (
            f"SELECT {field.expression} AS value FROM {source.relation}"
            for source, (positions, fields) in zip(self.sources, self._read, strict=True)
            for j, field in zip(positions, fields, strict=True)
            if source.names[j] == name
        )
        return cast(int, self.sources[0].row("count(DISTINCT value)", rows=f"({' UNION ALL '.join(values)})")[0])


def _batches(
    source: DuckDBSource, positions: Sequence[int], fields: Sequence[Field]
) -> Generator[RecordBatch, None, None]:
    yield from (batch for batch in source.stream(positions, fields, PART_ROWS) if batch.num_rows)


def _table(batch: RecordBatch) -> Table:
    """Return a batch of Arrow as a table."""
    import pyarrow

    return Table.of(pyarrow.Table.from_batches([batch]))


@contextmanager
def open_files(
    where: Files,
    *,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    as_words: Sequence[str],
    findings: list[Finding] | None,
    reading: Reading,
    memory: int | None,
    n_threads: int,
) -> Iterator[FileParts]:
    """Open CSV, Parquet or JSON files of any size, until the end of the context; parameters as `open_partitions`.

    Text files are kept as a table of DuckDB meanwhile, on disk where it is larger than its share of `memory`; without
    a limit, DuckDB takes most of the machine's.

    Raises
    ------
    DataError
        If a file is not a table, or columns are missing in one or have a different type; the message names the file.
    """
    with open_source(where, reading) as source:
        sources = source.parts if isinstance(source, CombinedSource) else (source,)
        opened = cast("tuple[DuckDBSource, ...]", sources)
        if memory is not None:
            opened[0].database.execute(
                f"SET memory_limit = '{max(MIN_ENGINE_MIB, int(memory * ENGINE_SHARE) >> 20)}MiB'"
            )
        yield FileParts(opened, columns, exclude, as_words, findings, n_threads)


class StoredParts(ThreadedPartitions):
    """Parts stored in temporary files of this process."""

    def __init__(self, kinds: Mapping[str, ColumnKind], where: str, files: Sequence[str], n_threads: int) -> None:
        super().__init__(kinds, where, n_threads)
        self.files = list(files)

    def parts(self) -> Generator[Part, None, None]:
        """Yield the parts."""
        for file in self.files:
            with open(file, "rb") as stream:
                table: Table = pickle.load(stream)  # written by open_stored_rows
            yield as_part(table, self.kinds, self.where)


@contextmanager
def open_stored_rows(
    rows: DatabaseRows, *, columns: Sequence[str] | None, exclude: Sequence[str], n_threads: int
) -> Iterator[StoredParts]:
    """Fetch rows of a database once, in batches, and keep them on disk until the end of the context.

    They may change in the database between two passes, and would have to cross the network in each.
    """
    with scratch_folder() as scratch:
        found: KindsFound | None = None
        files = []
        with open_rows(rows) as source:
            names = source.names
            for number, table in enumerate(source.tables(source.positions(columns, exclude))):
                kinds = KindsFound.of(table, str(rows))
                kinds = replace(kinds, origin=f"{number:09}")
                found = kinds if found is None else found.merged(kinds)
                files.append(os.path.join(scratch, f"{number}"))
                with open(files[-1], "wb") as stream:
                    pickle.dump(table, stream, protocol=5)
        if found is None:
            raise DataError(f"{rows}: there are no rows")
        stored = StoredParts(found.checked(), str(rows), files, n_threads)
        stored.all_names = names
        yield stored

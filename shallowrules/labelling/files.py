"""The labels of rows, written to a file: of files by exported SQL in an embedded DuckDB, of a database by the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, cast

import numpy as np

from shallowrules.errors import DataError, ExportError, OptionError, ShallowRulesError
from shallowrules.exporters import export
from shallowrules.exporters.sql import neither_predicate
from shallowrules.files import Reading, atomic_path, scratch_folder
from shallowrules.labelling.row_parts import RowParts
from shallowrules.labelling.tested_columns import FoundColumns, find_tested_columns
from shallowrules.labelling.workbook import write_sheet
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.sources import DatabaseRows, Source, Where, open_source
from shallowrules.sources.base import named
from shallowrules.sources.combined import CombinedSource
from shallowrules.sources.database import DatabaseSource, open_rows
from shallowrules.sources.engine import (
    MISSING_WORDS,
    PLACE,
    DuckDBSource,
    Field,
    absent_name,
    duration_cast,
    open_database,
    quote_name,
    quote_text,
    text_literals,
    time_cast,
    time_type,
)
from shallowrules.tables.conversion import DOUBLE_EXACT, GRAMMAR, INT64
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Column, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["check_format", "label_file", "label_rows"]

TAB = "\t"

MEMORY_PER_THREAD = 256
"""MiB for each thread that labels a file, and as for two more: 400 columns of text fit. The rest is on disk."""

COUNTING = 0.3
"""Share of the time that counting the rows of each cluster takes, before they are written: 0.28 to 0.74 s of CSV."""

FETCHING = 0.8
"""Share of the time that the rows of a database take to arrive, before they are written: 0.76 to 0.94 of it."""

WATCH_EVERY = 0.2
"""Seconds between two looks at how far a query is."""

Progress = Callable[[float], None]
"""Takes the share of the work that is done."""

FORMATS: Mapping[str, tuple[str, str]] = {
    ".csv": ("csv", "FORMAT csv, HEADER"),
    ".tsv": ("csv", "FORMAT csv, HEADER"),
    ".parquet": ("parquet", "FORMAT parquet"),
    ".pq": ("parquet", "FORMAT parquet"),
    ".json": ("json", "FORMAT json, ARRAY true"),
    ".jsonl": ("json", "FORMAT json, ARRAY false"),
    ".ndjson": ("json", "FORMAT json, ARRAY false"),
    ".xlsx": ("xlsx", ""),
}
"""By the ending of a file: its kind, and what DuckDB is told to write it."""

NUMERIC = ("integer", "float")

FORMULA = "^[=+@\\t\\r\\n\uff1d\uff0b\uff0d\uff20-]"
"""How texts begin that a spreadsheet may run as a formula: OWASP's list for CSV injection."""

NUMBER = "^[+-]?([0-9][0-9.,]*|[.,][0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(inf|infinity|nan)$"
"""Those of them that are numbers, and stay."""


def check_format(target: Path) -> tuple[str, str, bool]:
    """Return the ending, the kind of file and whether it is compressed; OptionError for an ending not known."""
    name = target.name.lower()
    compressed = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in FORMATS or (compressed and FORMATS[ending][0] in ("parquet", "xlsx")):
        raise OptionError(
            f"-o {target}: the ending says what to write; known are: {', '.join(FORMATS)}, and .gz for text"
        )
    return ending, FORMATS[ending][0], compressed


def label_file(
    rules: RuleSet,
    where: Where,
    target: Path,
    reading: Reading,
    cluster_column: str,
    progress: Progress | None = None,
    csv_safe: bool = False,
) -> dict[int | None, int]:
    """Write every row of a file with one more column, its cluster.

    The cluster is its given label where the rules have names, else its number; NULL where no rule matches.
    A column keeps what stands in the file if the kind of file stays the same, and else has the type as which
    it is read.

    A CSV file is read three times: by a query that finds every field sound and counts the numbers of the tested
    columns, on which the CASE expression depends; by one that counts the rows of each cluster; and by COPY, which
    writes the rows and counts none. Text in tested columns, and another kind of file to write, take further queries.

    Parameters
    ----------
    rules : RuleSet
    where : str or sequence of str
        CSV, Parquet or JSON files.
    target : Path
        Written whole or not at all, as its ending says.
    reading : Reading
    cluster_column : str
        Name of the column that is added.
    progress : callable, optional
        Called now and then with the share of the work that is done.
    csv_safe : bool
        Whether a CSV file has an apostrophe before each text and name that a spreadsheet may run as a formula.

    Returns
    -------
    dict
        Rows by number of the cluster, None for those without one.

    Raises
    ------
    DataError
        If the file is not a table, or lacks a tested column or has it in another type.
    ExportError
        If the file has a column of the new one's name.
    ShallowRulesError
        If the result cannot be written.
    """
    _, kind, _ = check_format(target)
    with open_source(where, reading) as source:
        parts = _parts(source)
        database = parts[0].database
        _bound_memory(database)
        number = absent_name("cluster number", [cluster_column, *(name for file in parts for name in file.names)])
        queries = []
        for file in parts:
            with named(str(file.provenance)) if len(parts) > 1 else nullcontext():
                queries.append(_labelled(rules, file, kind, cluster_column, number))
        labelled = f"({' UNION ALL BY NAME '.join(f'({query})' for query in queries)}) AS labelled"
        delimiter = getattr(parts[0], "delimiter", ",").replace("\t", ",")
        return _write(database, labelled, number, target, delimiter, progress, csv_safe)


def label_rows(
    rules: RuleSet,
    rows: DatabaseRows,
    target: Path,
    columns: Mapping[str, str],
    cluster_column: str,
    progress: Progress | None = None,
    csv_safe: bool = False,
) -> dict[int | None, int]:
    """Write rows of a database as `label_file` writes those of a file; clusters are those of the tree.

    Columns have the type as which they are read: a NUMERIC with a fraction is a double. Rows are fetched in batches,
    which DuckDB keeps, on disk beyond its bound of memory, until the types of all columns are known. They are fetched
    a second time, and held whole, only where the values of a column are of several types (SQLite alone has such) or
    the rules cannot be held against some of them.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
    target : Path
    columns : mapping from str to str
        What the database calls columns of the rules that have another name there.
    cluster_column : str
    progress : callable, optional
        Called now and then with the share of the work that is done.
    csv_safe : bool
        As `label_file` has it.

    Raises
    ------
    DataError
        If a tested column is missing or of another type, there are no rows, or the database refuses something.
    ExportError
        If the table has a column of the new one's name.
    ShallowRulesError
        If the result cannot be written.
    """
    check_format(target)
    with scratch_folder() as scratch, open_database(scratch) as database:
        _bound_memory(database)
        with open_rows(rows) as source:
            _refuse_taken(cluster_column, source.names)
            found = find_tested_columns(rules, source, columns)
            parts = RowParts(database)
            fetched = _part_of(progress, 0.0, FETCHING)
            selection = _fetch_batches(rules, source, found, parts, fetched) or _fetch_whole(
                rules, source, found, parts
            )
            names = source.names
        number = absent_name("cluster number", [cluster_column, *names])
        selected = ", ".join(f"c{j} AS {quote_name(name)}" for j, name in enumerate((*names, number)))
        name = _name(rules, quote_name(number))
        numbered = f"(SELECT {selected} FROM ({selection})) AS numbered"
        labelled = f"(SELECT *, {name} AS {quote_name(cluster_column)} FROM {numbered}) AS labelled"
        return _write(database, labelled, number, target, progress=_part_of(progress, FETCHING, 1.0), csv_safe=csv_safe)


def _fetch_batches(
    rules: RuleSet, source: DatabaseSource, found: FoundColumns, parts: RowParts, progress: Progress | None
) -> str | None:
    """Add all rows and their clusters in batches, and return the query for them.

    None where only all rows together tell the type of a column, or whether the rules can be held against it.
    """
    expected = source.rows.sample
    if source.rows.is_whole_table and progress is not None:
        expected = source.count_rows()
    with closing(source.tables(range(len(source.names)))) as tables:
        for table in tables:
            try:
                clusters = _clusters_of(rules, table, found)
            except DataError:  # of which all rows together say more: the number of a row
                return None
            parts.add([*table.columns, clusters])
            if progress is not None and expected is not None:
                progress(min(1.0, parts.n_rows / expected))
    return parts.selection(single=found.positions)


def _fetch_whole(rules: RuleSet, source: DatabaseSource, found: FoundColumns, parts: RowParts) -> str | None:
    """Add all rows and their clusters at once, and return the query for them."""
    parts.clear()
    table = source.table()
    parts.add([*table.columns, _clusters_of(rules, table, found)])
    return parts.selection()


def _clusters_of(rules: RuleSet, table: Table, found: FoundColumns) -> Column:
    """Return the numbers of the clusters of rows, by the tree."""
    tested = (replace(table.columns[j], name=c.name) for c, j in zip(found.columns, found.positions, strict=True))
    labels = rules.assign(Table(tuple(tested), table.n_rows))
    return Column("cluster number", "integer", labels.astype(np.int64), labels == NO_CLUSTER)


def _part_of(progress: Progress | None, first: float, last: float) -> Progress | None:
    """Return what reports the shares of a part of the work, from the share `first` of all work to `last`."""
    return None if progress is None else lambda share: progress(first + (last - first) * share)


def _bound_memory(database: DuckDBPyConnection) -> None:
    """Bound what DuckDB takes: otherwise rows that are to be written wait in most of the machine's memory."""
    [(n_threads,)] = database.execute("SELECT current_setting('threads')").fetchall()
    database.execute(f"SET memory_limit = '{(n_threads + 2) * MEMORY_PER_THREAD} MiB'")


def _write(
    database: DuckDBPyConnection,
    labelled: str,
    number: str,
    target: Path,
    delimiter: str = ",",
    progress: Progress | None = None,
    csv_safe: bool = False,
) -> dict[int | None, int]:
    """Write a table, or a query in brackets, to a file, whole or not at all; return its rows by the column `number`.

    Rows are counted by a query of their own, so that those of a file are never all in memory.
    """
    import duckdb

    ending, kind, compressed = check_format(target)
    query = f"SELECT {quote_name(number)}, count(*) FROM {labelled} GROUP BY 1 ORDER BY 2 DESC, 1"
    with _watched(database, progress, 0.0, COUNTING):
        counts = dict(database.execute(query).fetchall())
    written = f"SELECT * EXCLUDE ({quote_name(number)}) FROM {labelled}"
    if csv_safe:
        written = _defused(database, written)
    options = f"{FORMATS[ending][1]}, USE_TMP_FILE false"  # which would be left behind by an interrupt
    if kind == "csv":
        options += f", DELIMITER {quote_text(TAB if ending == '.tsv' else delimiter)}"
    if compressed:
        options += ", COMPRESSION gzip"
    try:
        with atomic_path(target) as part, _watched(database, progress, COUNTING, 1.0):
            if kind == "xlsx":
                write_sheet(database, written, part)
            else:
                database.execute(f"COPY ({written}) TO {quote_text(str(part))} ({options})")
    except (duckdb.Error, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
        raise ShallowRulesError(f"{target} cannot be written: {reason}") from error
    return counts


def _defused(database: DuckDBPyConnection, query: str) -> str:
    """Return a query for the texts that CSV has for the rows of another, none of them a formula, nor a name."""
    text = "CAST({0} AS VARCHAR)"
    is_formula = f"regexp_matches({text}, '{FORMULA}') AND NOT regexp_matches({text}, '{NUMBER}', 'i')"
    defused = f"CASE WHEN {is_formula} THEN '''' || {text} ELSE {text} END"
    columns = []
    for name, *_ in database.execute(f"DESCRIBE {query}").fetchall():
        [(shown,)] = database.execute(f"SELECT {defused.format('$1')}", [name]).fetchall()
        columns.append(f"{defused.format(quote_name(name))} AS {quote_name(shown)}")
    return f"SELECT {', '.join(columns)} FROM ({query})"


@contextmanager
def _watched(database: DuckDBPyConnection, progress: Progress | None, first: float, last: float) -> Iterator[None]:
    """Report how far the query of a block is, from the share `first` of all work to `last`."""
    ended = Event()

    def watch() -> None:
        while progress is not None and not ended.wait(WATCH_EVERY):
            share = database.query_progress() / 100
            if 0.0 <= share <= 1.0:  # it is less where DuckDB does not know
                progress(first + (last - first) * share)

    database.execute("SET enable_progress_bar = true")
    database.execute("SET enable_progress_bar_print = false")
    thread = Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _parts(source: Source) -> list[DuckDBSource]:
    """Return the files of a source, each in the same database."""
    parts = source.parts if isinstance(source, CombinedSource) else (source,)
    return [part for part in parts if isinstance(part, DuckDBSource)]


def _labelled(rules: RuleSet, source: DuckDBSource, kind: str, cluster_column: str, number: str) -> str:
    """Return the query that gives the columns to write, and the number of each row's cluster, by the name `number`."""
    _refuse_taken(cluster_column, source.names)
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    positions = source.positions([column.name for column in tested]) if tested else []
    source.stream_text(positions)
    read = ["*"]
    inner: dict[str, str] = {}
    # Of text, also words that others read as missing: in the rules they are values, or they are not.
    as_text = [c.name for c in tested if c.converts_text or not set(c.values).isdisjoint(MISSING_WORDS)]
    empty = source.is_empty
    for column, j, found in zip(tested, positions, source.fields(positions, as_text), strict=True):
        # Without a value there is no type.
        nothing = Field(column.type, f"CAST(NULL AS {_declared(column)})")
        field = nothing if empty else _as_compared(column, source, j, found)
        if column.from_text and field.type == "text":
            _refuse_stray(column, source, field)
        # Beside the columns of the file, whose names may be anything.
        inner[column.name] = absent_name(f"tested column {len(inner)}", source.names)
        read.append(f"{field.expression} AS {quote_name(inner[column.name])}")
    case = export(rules, "sql", dialect="duckdb", style="case", columns=inner)
    everything = list(range(len(source.names)))
    if _as_they_stand(source, kind):
        values = [source.original(j) for j in everything]
    else:
        values = [field.expression for field in source.fields(everything, findings=[])]
    written = [f"{value} AS {quote_name(name)}" for value, name in zip(values, source.names, strict=True)]
    relation = f"(SELECT {', '.join(read)} FROM {source.relation})"
    numbered = f"SELECT {', '.join(written)}, {case}\nAS {quote_name(number)} FROM {relation} AS read"
    name = _name(rules, quote_name(number))
    return f"SELECT *, {name} AS {quote_name(cluster_column)} FROM ({numbered}) AS numbered"


def _declared(column: RuleColumn) -> str:
    """Return the type of DuckDB that holds what rules compare."""
    if column.is_time:
        return "INTERVAL" if column.type == "duration" else column.type.upper()
    return "DOUBLE" if column.is_numeric else "VARCHAR"


def _as_they_stand(source: DuckDBSource, kind: str) -> bool:
    """Whether columns are written as they stand in the file: to a file of the same kind, or if they have types."""
    return source.provenance.kind in (kind, "parquet")


def _refuse_taken(cluster_column: str, names: Sequence[str]) -> None:
    """Raise ExportError if a table has a column of the new one's name."""
    for name in names:
        if name.casefold() == cluster_column.casefold():
            raise ExportError(f"the table already has a column {name!r}: name the new one by --cluster-column")


def _as_compared(column: RuleColumn, source: DuckDBSource, j: int, field: Field) -> Field:
    """Return how to fetch a column as the rules compare it; DataError if it holds values of another type."""
    if column.codes:
        return _as_codes(column, source, field)
    found = source.provenance.kind in ("csv", "workbook")
    if column.type == "text" and field.type in (*NUMERIC, "boolean") and found:
        return Field("text", source.original(j))  # categories that happen to be numbers or truth values here
    if column.holds_numbers and field.type in NUMERIC and _are_exact(source, field):
        return Field("text", _number_text(field.expression))
    if column.type == "boolean" and field.type in NUMERIC and _is_zero_one(source, field):
        return Field("boolean", f"({field.expression} = 1)")
    if column.is_time:
        return _as_time(column, source, j, field)
    if _kind(column.type) != _kind(field.type) and not (column.from_text and field.type == "text"):
        raise DataError(f"column {column.name!r} was read as {field.type}, the rules test it as {column.type}")
    return field


def _as_codes(column: RuleColumn, source: DuckDBSource, field: Field) -> Field:
    """Return how to fetch a column of codes as numbers; DataError for what is neither a code nor missing."""
    if field.type in NUMERIC:
        return field
    if field.type != "text":
        raise DataError(f"column {column.name!r} was read as {field.type}, the rules test it as codes")

    def is_code(text: str) -> str:
        return f"regexp_full_match({text}, {quote_text(GRAMMAR.code)}) AND length({text}) <= {GRAMMAR.longest}"

    read, words = "trim(read, ' ')", text_literals(["", *column.conversion.words])
    missing = f"{read} IN ({words}) OR regexp_full_match({read}, {quote_text(GRAMMAR.nan)})"
    stray = f"read IS NOT NULL AND NOT ({missing} OR {is_code(read)})"
    _refuse_stray(column, source, field, stray, "codes, which are whole numbers such as 3")
    text = f"trim({field.expression}, ' ')"
    return Field("float", f"CASE WHEN {is_code(text)} THEN CAST({text} AS DOUBLE) END")


def _as_time(column: RuleColumn, source: DuckDBSource, j: int, field: Field) -> Field:
    """Return how to fetch a column as times; DataError if it holds something else."""
    if field.type == column.type or {field.type, column.type} == {"date", "timestamp"}:
        return field
    text = source.text(j)
    given = None if text is None else source.row(f"count({text})")[0]
    if text is not None and not given:
        return Field(column.type, f"CAST(NULL AS {_declared(column)})")
    if text is not None and field.type == "text":
        word = f"trim({text}) IN ({text_literals(column.nulls)})" if column.nulls else "false"
        value = f"CASE WHEN {word} THEN NULL ELSE {text} END"
        given = source.row(f"count({value})")[0]
        if column.type == "duration":
            span = duration_cast(value)
            if source.row(f"count({span})")[0] == given:
                return Field("duration", span)
        kind = time_type(source, value, given)
        if kind is not None and (kind == column.type or {kind, column.type} == {"date", "timestamp"}):
            return Field(kind, time_cast(value, kind))
    raise DataError(
        f"column {column.name!r} was read as {field.type}, the rules test it as {column.type}: write its values as "
        f"{column.show(int(cast(int, column.minimum)))}"
    )


def _refuse_stray(
    column: RuleColumn, source: DuckDBSource, field: Field, stray: str = "", kind: str = "numbers"
) -> None:
    """Raise DataError for a text, `read`, that is neither a value of its `kind` nor means "no value"."""
    values = f"(SELECT {PLACE}, {field.expression} AS read FROM {source.numbered})"
    stray = stray or neither_predicate(column, "read", "duckdb")
    found = source.database.execute(f"SELECT {PLACE}, read FROM {values} WHERE {stray} ORDER BY 1 LIMIT 1")
    if row := found.fetchone():
        place, value = row
        raise DataError(
            f"column {column.name!r} holds {kind}, but row {place} has {value!r}: correct it, or leave it empty"
        )


def _are_exact(source: DuckDBSource, field: Field) -> bool:
    """Return whether a double tells each number of a column from its neighbours."""
    number = f"CAST({field.expression} AS DOUBLE)"
    return not source.row(f"count(*) FILTER (abs({number}) > {DOUBLE_EXACT} AND NOT isnan({number}))")[0]


def _number_text(expression: str) -> str:
    """Return SQL for `shallowrules.tables.table.number_text` of such numbers, NULL for NaN."""
    number = f"CAST({expression} AS DOUBLE)"
    return (
        f"CASE WHEN isnan({number}) THEN NULL "
        f"WHEN {number} = trunc({number}) THEN CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR) "
        f"ELSE CAST({number} AS VARCHAR) END"
    )


def _is_zero_one(source: DuckDBSource, field: Field) -> bool:
    """Return whether a column of numbers holds truth values, as in a database that has no others."""
    return not source.row(f"count(*) FILTER ({field.expression} NOT IN (0, 1))")[0]


def _kind(column_type: str) -> str:
    return "number" if column_type in NUMERIC else column_type


def _name(rules: RuleSet, number: str) -> str:
    """Return SQL for what to call the cluster of a row: its name where a person named some cluster, else its number.

    Names that are whole numbers, all of them, as given labels are, stay numbers.
    """
    if not any(cluster.is_named for cluster in rules.clusters):
        return number
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    whole = all(name.removeprefix("-").isdecimal() and name == str(int(name)) for name in names.values())
    whole = whole and all(int(name) in INT64 for name in names.values())
    branches = (f"WHEN {index} THEN {name if whole else quote_text(name)}" for index, name in names.items())
    return f"CASE {number} {' '.join(branches)} END"

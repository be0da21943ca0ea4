"""The file that rows are written to with their clusters: whole or not at all, in the format of its ending."""

from __future__ import annotations

import csv
import gzip
import io
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from shallowrules.errors import ExportError, OptionError, OptionName, ShallowRulesError
from shallowrules.exporters.base import precision_column_of
from shallowrules.files import atomic_path
from shallowrules.labelling.workbook import write_sheet
from shallowrules.rules import RuleSet
from shallowrules.sources.engine import quote_name, quote_text
from shallowrules.tables.conversion import INT64

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from shallowrules.labelling.drift import ColumnShift
    from shallowrules.measures.totals import Totals

__all__ = ["Labelled", "Output", "Progress", "bound_memory", "check_format", "labelled_query", "refuse_taken", "write"]

TAB = "\t"

MEMORY_PER_THREAD = 256
"""MiB for each thread that labels a file, and for two more: enough for 400 columns of text. The rest is on disk."""

COUNTING = 0.3
"""Share of the time that counting the rows of each cluster takes: 0.28 s before 0.74 s of writing a CSV file."""

WATCH_EVERY = 0.2
"""Seconds between two checks of a query's progress."""

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
"""By the ending of a file: its kind, and DuckDB's options for writing it."""

FORMULA = "^[=+@\\t\\r\\n\uff1d\uff0b\uff0d\uff20-]"
"""The beginnings of texts that a spreadsheet may run as a formula: OWASP's list for CSV injection."""

NUMBER = "^[+-]?([0-9][0-9.,]*|[.,][0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(inf|infinity|nan)$"
"""The texts with one of these beginnings that are numbers, and stay as they are."""


@dataclass(frozen=True)
class Output:
    """The output.

    Parameters
    ----------
    path : Path
        Written whole or not at all, as its ending says.
    cluster_column : str
        Name of the column that is added.
    csv_safe : bool
        Whether a CSV file has an apostrophe before each text and name that a spreadsheet may run as a formula.
    with_precision : bool
        Whether a second column is added, with the precision of each row's rule.
    """

    path: Path
    cluster_column: str = "cluster"
    csv_safe: bool = False
    with_precision: bool = False

    @property
    def precision_column(self) -> str | None:
        """Name of the column of the precision, if there is one."""
        return precision_column_of(self.cluster_column) if self.with_precision else None

    @property
    def new_columns(self) -> list[str]:
        """The columns that are added."""
        return [name for name in (self.cluster_column, self.precision_column) if name is not None]


@dataclass(frozen=True)
class Labelled:
    """The result of writing.

    Parameters
    ----------
    counts : mapping from int or None to int
        Rows by number of the cluster, None for those without one.
    unseen : tuple of ColumnShift
        The columns with categories that training did not have.
    totals : Totals or None
        The sums of a column by cluster.
    """

    counts: Mapping[int | None, int]
    unseen: tuple[ColumnShift, ...] = ()
    totals: Totals | None = None


def check_format(target: Path) -> tuple[str, str, bool]:
    """Return the ending, the kind of file and whether it is compressed; OptionError for an unknown ending."""
    name = target.name.lower()
    compressed = name.endswith(".gz")
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in FORMATS or (compressed and FORMATS[ending][0] in ("parquet", "xlsx")):
        raise OptionError(
            OptionName("output", str(target)),
            f": the ending decides the format; use one of: {', '.join(FORMATS)}, and .gz for text",
        )
    return ending, FORMATS[ending][0], compressed


def refuse_taken(new_columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise ExportError if a table has a column of a new one's name."""
    new = {name.casefold() for name in new_columns}
    for name in names:
        if name.casefold() in new:
            raise ExportError(
                f"the table already has a column {name!r}: name the new one with ", OptionName("cluster_column")
            )


def bound_memory(database: DuckDBPyConnection) -> None:
    """Limit DuckDB's memory: otherwise rows waiting to be written take most of the machine's memory."""
    [(n_threads,)] = database.execute("SELECT current_setting('threads')").fetchall()
    database.execute(f"SET memory_limit = '{(n_threads + 2) * MEMORY_PER_THREAD} MiB'")


def write(
    database: DuckDBPyConnection,
    labelled: str,
    number: str,
    output: Output,
    delimiter: str = ",",
    progress: Progress | None = None,
    header: Sequence[str] | None = None,
) -> dict[int | None, int]:
    """Write a table, or a query in brackets, to a file, whole or not at all; return its rows by the column `number`.

    Rows are counted by a query of their own, so that those of a file are never all in memory. The names of a CSV file
    are those of the `header`, where two of them are the same name in SQL.
    """
    import duckdb

    target = output.path
    ending, kind, compressed = check_format(target)
    query = f"SELECT {quote_name(number)}, count(*) FROM {labelled} GROUP BY 1 ORDER BY 2 DESC, 1"
    with _watched(database, progress, 0.0, COUNTING):
        counts = dict(database.execute(query).fetchall())
    written = f"SELECT * EXCLUDE ({quote_name(number)}) FROM {labelled}"
    if output.csv_safe:
        written = _defused(database, written)
    options = f"{FORMATS[ending][1]}, USE_TMP_FILE false"  # which would be left behind by an interrupt
    between = TAB if ending == ".tsv" else delimiter
    if kind == "csv":
        options += f", DELIMITER {quote_text(between)}"
        if header is not None:
            options = options.replace("HEADER", "HEADER false")
    if compressed:
        options += ", COMPRESSION gzip"
    try:
        with atomic_path(target) as part, _watched(database, progress, COUNTING, 1.0):
            if kind == "xlsx":
                write_sheet(database, written, part)
            else:
                database.execute(f"COPY ({written}) TO {quote_text(str(part))} ({options})")
            if header is not None:
                _put_before(part, header, between, compressed=compressed)
    except (duckdb.Error, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
        raise ShallowRulesError(f"{target} cannot be written: {reason}") from error
    return counts


def _put_before(path: Path, header: Sequence[str], delimiter: str, *, compressed: bool) -> None:
    """Put a line of names before the rows of a CSV file; DuckDB would rename some of them."""
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(header)
    content = line.getvalue().encode()
    rows = path.with_name(f"{path.name}.rows")
    os.replace(path, rows)
    try:
        with open(rows, "rb") as source, open(path, "wb") as target:
            target.write(gzip.compress(content) if compressed else content)  # gzip files may be concatenated
            shutil.copyfileobj(source, target)
    finally:
        rows.unlink()


def _defused(database: DuckDBPyConnection, query: str) -> str:
    """Return a query for the CSV texts of a query's rows, with no formula among the texts or names."""
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
    """Report how far the query of a block has come, from the share `first` of all work to `last`."""
    ended = Event()

    def watch() -> None:
        while progress is not None and not ended.wait(WATCH_EVERY):
            share = database.query_progress() / 100
            if 0.0 <= share <= 1.0:  # it is lower if DuckDB does not know
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


def labelled_query(rules: RuleSet, output: Output, numbered: str, number: str, precision: str) -> str:
    """Return the query for rows with their new columns, from rows with the number of the cluster.

    Parameters
    ----------
    rules : RuleSet
    output : Output
    numbered : str
        SQL of the rows.
    number, precision : str
        Their columns of the number and, where it is wanted, of the precision.
    """
    new = f"{_cluster_name(rules, quote_name(number))} AS {quote_name(output.cluster_column)}"
    if output.precision_column is None:
        return f"SELECT *, {new} FROM {numbered}"
    given = quote_name(precision)
    return f"SELECT * EXCLUDE ({given}), {new}, {given} AS {quote_name(output.precision_column)} FROM {numbered}"


def _cluster_name(rules: RuleSet, number: str) -> str:
    """Return SQL for the label of a row's cluster: its name if a person named any cluster, else its number.

    If all names are whole numbers, as given labels may be, they stay numbers.
    """
    if not any(cluster.is_named or cluster.noise for cluster in rules.clusters):
        return number
    names = {c.index: str(c.label) if c.noise and not c.is_named else c.name for c in rules.clusters}
    whole = all(name.removeprefix("-").isdecimal() and name == str(int(name)) for name in names.values())
    whole = whole and all(int(name) in INT64 for name in names.values())
    branches = (f"WHEN {index} THEN {name if whole else quote_text(name)}" for index, name in names.items())
    return f"CASE {number} {' '.join(branches)} END"

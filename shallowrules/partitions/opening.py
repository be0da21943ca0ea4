"""Opening the parts that a source stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from shallowrules.errors import Finding, OptionError
from shallowrules.files import Reading
from shallowrules.partitions.base import Partitions
from shallowrules.partitions.memory import check_memory
from shallowrules.partitions.sources import open_files, open_stored_rows
from shallowrules.sources import DatabaseRows

__all__ = ["open_partitions"]


@contextmanager
def open_partitions(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    as_words: Sequence[str] = (),
    findings: list[Finding] | None = None,
    reading: Reading | None = None,
    memory: int | None = None,
    n_threads: int = 1,
) -> Iterator[Partitions]:
    """Open a table in parts, until the end of the context.

    Parameters
    ----------
    source : str, Path, sequence of these, DatabaseRows, dataframe or array of Dask, dataframe of Spark, or Partitions
        Files, folders or patterns such as ``"sales/*.parquet"``; rows of a database; or a table of an engine that has
        it in parts.
    columns, exclude : sequence of str
        Columns to take, all by default, and columns to exclude.
    as_words : sequence of str
        Columns whose truth values are the words that a text file has for them.
    findings : list of Finding, optional
        Where to add faults of columns. By default DataError reports them.
    reading : Reading, optional
        How files are read.
    memory : int, optional
        Bytes that the work may take in this process.
    n_threads : int
        In this process; Dask and Spark have workers of their own.

    Raises
    ------
    DataError
        If there are no rows, or a part has different columns or a column of a different type.
    OptionError
        If `source` is none of these, or `memory` is not a number of bytes.
    """
    memory = check_memory(memory)
    if isinstance(source, Partitions):
        yield source
        return
    if isinstance(source, DatabaseRows):
        with open_stored_rows(source, columns=columns, exclude=exclude, n_threads=n_threads) as stored:
            yield stored
        return
    engine = type(source).__module__.partition(".")[0]
    if engine in ("dask", "dask_expr"):
        from shallowrules.partitions.dask import DaskParts

        yield DaskParts(source, columns, exclude)
    elif engine == "pyspark":
        from shallowrules.partitions.spark import SparkParts

        yield SparkParts(source, columns, exclude)
    elif isinstance(source, str | list | tuple) or hasattr(source, "__fspath__"):
        with open_files(
            source,
            columns=columns,
            exclude=exclude,
            as_words=as_words,
            findings=findings,
            reading=reading or Reading(),
            memory=memory,
            n_threads=n_threads,
        ) as files:
            yield files
    else:
        raise OptionError(
            f"source is a {type(source).__name__}: give files, rows of a database (DatabaseRows), or a table of Dask "
            "or Spark; use fit for a table in memory"
        )

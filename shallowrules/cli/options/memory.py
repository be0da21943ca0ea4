"""How much memory a fit may take, and whether it has to read the table in parts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.options.reading import Tables, show_tables
from shallowrules.cli.output import show_message

if TYPE_CHECKING:
    from shallowrules.sources import DatabaseRows

__all__ = ["memory_for_parts", "memory_option"]

UNITS = {"": 1} | {f"{letter}b": 1000**i for i, letter in enumerate("kmgt", start=1)}
UNITS |= {f"{letter}ib": 1024**i for i, letter in enumerate("kmgt", start=1)}

LEAST_MEMORY = 64_000_000

MOST_MEMORY = 1e18
"""The largest size that is accepted."""

WORKING_SHARE = 8
"""Memory that a fit of a table in memory takes, as a multiple of its numbers as float64. Measured at 1,000,000 x 10, k
= 10: 6.0 from CSV and 7.2 from Parquet, on top of Python and its packages."""

TEXT_SHARE = 1.0
"""Size of the numbers of a text file as float64, as a multiple of the file: a number takes about 8 characters."""

PACKED_SHARE = 5.0
"""The same for a compressed file."""

PACKED = (".gz", ".xlsx", ".ods")
"""The endings of compressed files, sheets among them."""

MIN_INSPECTED = LEAST_MEMORY // 100
"""Bytes of a Parquet file from which on DuckDB, which takes a while to load, is asked how many numbers it has."""


class _Memory(click.ParamType[int]):
    """A number of bytes: 2GB, 500MB, 1.5GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", str(value).strip().lower())
        if found is None or found[2] not in UNITS:
            self.fail(f"{value!r} is not a size; write a number of bytes, or a size such as 500MB or 2GB.", param, ctx)
        size = float(found[1]) * UNITS[found[2]]  # inf for hundreds of digits
        if size > MOST_MEMORY:
            self.fail("no machine has that much memory; give less than 1,000,000TB.", param, ctx)
        n_bytes = int(size)
        if n_bytes < LEAST_MEMORY:
            self.fail(f"{value} is too little: Python itself takes more; give 64MB or more.", param, ctx)
        return n_bytes


memory_option = click.option(
    "--memory",
    type=_Memory(),
    metavar="SIZE",
    help="Use at most about this much memory, such as 2GB; a larger table is read in parts. [default: "
    "what is available]",
)
"""How much memory a fit may take."""


def memory_for_parts(rows: Tables | DatabaseRows, memory: int | None) -> int | None:
    """Return the memory for a fit in parts; None to fit the table whole.

    Parameters
    ----------
    rows : str, tuple of str or DatabaseRows
        The size of rows of a database or a pipe is unknown: they are read in parts if `memory` is given.
    memory : int or None
        The user's limit.
    """
    from shallowrules.partitions.memory import available_memory
    from shallowrules.sources import input_files

    files = input_files(rows)
    if not files or not all(map(os.path.isfile, files)):
        return memory
    allowed = available_memory() if memory is None else memory
    needed = WORKING_SHARE * sum(map(_numbers_size, files))
    if needed <= allowed:
        return None
    if memory is not None:
        return memory
    show_message(
        "note",
        f"{show_tables(rows)} would take about {needed / 1e9:.1f} GB of memory, and {allowed / 1e9:.1f} GB are "
        "available, so it is read in parts (--memory SIZE sets the limit)",
    )
    return allowed // 2


def _numbers_size(file: str) -> float:
    """Return about how many bytes the numbers of a file take as float64."""
    size = os.path.getsize(file)
    if file.lower().endswith((".parquet", ".pq")) and size > MIN_INSPECTED:
        import duckdb

        counts = "SELECT sum(num_values) FROM parquet_metadata(?)"
        try:
            found = duckdb.execute(counts, [file]).fetchone()
        except duckdb.Error:
            return float(size)  # reading it reports the error
        return 8.0 * float((found and found[0]) or 0)
    return size * (PACKED_SHARE if file.lower().endswith(PACKED) else TEXT_SHARE)

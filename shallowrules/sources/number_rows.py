"""Numbers straight from the bytes of a regular CSV file to arrays, on all processors; nothing else is held.

A file of nothing but plain numbers needs no database to read it: its lines are counted and its quotes known, so that
each part of it can be read straight to its place. DuckDB reads all other files, and also one of these where a field
turns out to be anything else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import read_number_rows
from shallowrules.sources.text import Scan
from shallowrules.tables.column import ColumnType

__all__ = ["read_numbers"]

BUFFER_BYTES = 1 << 18
"""Bytes that are read at once, few enough to stay in a processor's cache. A longer line is not read here."""

LINE_END = ord("\n")


def read_numbers(text: str, delimiter: str, found: Scan, types: Mapping[int, ColumnType]) -> list[NDArray[Any]] | None:
    """Return the columns of a regular file without quotes; None if any field is not a plain number of its type.

    Parameters
    ----------
    text : str
        The file, its first line the header.
    delimiter : str
    found : Scan
        What is known of its bytes.
    types : mapping from int to {"integer", "float"}
        Of all columns, in order.

    Returns
    -------
    list of ndarray or None
        Of int64, or of float64, NaN where a field is empty. Arrays of floats are columns of one matrix, row by row in
        memory.
    """
    n_rows = found.lines - 1
    begins = [_first_row(text, *part) for part in found.parts]
    if n_rows < 1 or None in begins:
        return None
    n_floats = sum(kind == "float" for kind in types.values())
    columns = iter(np.empty((n_rows, n_floats)).T)
    arrays = [next(columns) if kind == "float" else np.empty(n_rows, np.int64) for kind in types.values()]
    pieces = pairwise([*(begin for begin in begins if begin is not None), (os.path.getsize(text), n_rows)])
    with ThreadPoolExecutor(len(begins)) as pool:
        parts = [
            pool.submit(_read_part, text, ord(delimiter), arrays, start, row, last)
            for (start, row), (_, last) in pieces
        ]
        return arrays if all(part.result() for part in parts) else None


def _first_row(text: str, start: int, line_ends: int) -> tuple[int, int] | None:
    """Return where the first row after a byte begins, and which row it is, given the line ends before that byte.

    The row -1 is the header. None where a line is too long to be read here.
    """
    with open(text, "rb") as stream:
        if start:
            stream.seek(start - 1)
            if stream.read(1) == b"\n":
                return start, line_ends - 1
        line = stream.readline(BUFFER_BYTES)
    return (start + len(line), line_ends) if line.endswith(b"\n") else None


def _read_part(text: str, delimiter: int, arrays: list[NDArray[Any]], start: int, row: int, last: int) -> bool:
    """Read the rows from `row` to `last` - 1, which begin at the byte `start`; whether all are plain numbers."""
    buffer = memoryview(bytearray(BUFFER_BYTES))
    held = 0  # bytes at the front of the buffer that wait for the end of their line
    with open(text, "rb", buffering=0) as stream:
        stream.seek(start)
        while row < last:
            given = stream.readinto(buffer[held:])
            if not given:  # the last line may have no end; a line that fills the buffer is too long
                if not held or held == BUFFER_BYTES:
                    return False
                buffer[held] = LINE_END
                given = 1
            held += given
            row, taken = read_number_rows(buffer[:held], delimiter, arrays, row, last)
            if taken < 0 or (not given and not taken):
                return False
            held -= taken
            buffer[:held] = buffer[taken : taken + held]
    return True

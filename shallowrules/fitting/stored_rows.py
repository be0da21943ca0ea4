"""Encoded rows in files of this process: a table that takes many passes is read and encoded once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import gettempdir, mkstemp

import numpy as np

from shallowrules.encoding.rows import Encode, Rows
from shallowrules.files import scratch_folder
from shallowrules.partitions import Part, Partitions, ThreadedPartitions

__all__ = ["stored_rows"]

FREE_SHARE = 0.8
"""Share of the free disk space that may be used."""


@dataclass(frozen=True, eq=False)
class StoredPart(Part):
    """A part whose rows are in a file, encoded; it has no columns.

    Parameters
    ----------
    file : str
    one_space, weighted : bool
        Whether `X_cluster` is `X_explain`, and whether there are weights.
    """

    file: str = ""
    one_space: bool = True
    weighted: bool = False


@dataclass(frozen=True)
class StoredParts:
    """Parts that were stored."""

    parts: tuple[StoredPart, ...]

    def merged(self, other: StoredParts) -> StoredParts:
        """Return the stored parts of both."""
        return StoredParts(self.parts + other.parts)


class StoredRows(ThreadedPartitions):
    """A table whose parts are stored; each is read by the thread that works on it."""

    def __init__(self, of: ThreadedPartitions, stored: StoredParts) -> None:
        super().__init__(of.kinds, of.where, of.n_threads)
        self.stored = stored.parts

    def parts(self) -> Generator[Part, None, None]:
        """Yield the parts."""
        yield from self.stored


@contextmanager
def stored_rows(parts: Partitions, encode: Encode, n_bytes: int) -> Iterator[tuple[Partitions, Encode]]:
    """Store encoded rows in files until the end of the context, so that each pass need not read and convert them again.

    Parameters
    ----------
    parts : Partitions
    encode : callable
    n_bytes : int
        Size of the encoded rows of all parts. If the disk of temporary files has no room for them, or the parts are in
        memory or held by workers, they stay where they are.

    Yields
    ------
    parts : Partitions
    encode : callable
        Takes one of these parts, and returns its `Rows`.

    Raises
    ------
    DataError
        If the files cannot be written after all.
    """
    room = FREE_SHARE * shutil.disk_usage(gettempdir()).free
    if not (isinstance(parts, ThreadedPartitions) and parts.rereads) or n_bytes > room:
        yield parts, encode
        return
    with scratch_folder() as folder:
        yield StoredRows(parts, parts.map_reduce(_store_part, (encode, folder))), _read_part


def _store_part(part: Part, state: tuple[Encode, str]) -> StoredParts:
    encode, folder = state
    rows = encode(part)
    one_space, weight = rows.X_cluster is rows.X_explain, rows.weight
    handle, file = mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as stream:
        np.save(stream, rows.X_explain)
        if not one_space:
            np.save(stream, rows.X_cluster)
        if weight is not None:
            np.save(stream, weight)
    stored = StoredPart((), len(rows.X_explain), part.origin, file, one_space, weight is not None)
    return StoredParts((stored,) if stored.n_rows else ())


def _read_part(part: StoredPart) -> Rows:
    with open(part.file, "rb") as stream:
        X_explain = np.load(stream)
        X_cluster = X_explain if part.one_space else np.load(stream)
        return Rows(X_explain, X_cluster, np.load(stream) if part.weighted else None)

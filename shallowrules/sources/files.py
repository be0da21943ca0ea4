"""Files as they lie there: which ones a name means, of what kind each is, and what is compressed in it."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast

from shallowrules.errors import DataError

__all__ = ["FileKind", "files_of", "kind_of", "open_bytes", "regular_file"]

FileKind = Literal["csv", "json", "parquet"]

CHUNK = 1 << 20
"""Bytes that are read at once."""

PARQUET_ENDINGS = (".parquet", ".pq")
JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt")


def files_of(where: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the files that a name means, or several names, in the order of their rows.

    A name is that of a file, of a folder (all files in it and below whose ending is that of a table, by name) or,
    where there is no such file, a pattern with ``*``, ``?``, ``[…]`` and ``**`` for any folders between.

    Raises
    ------
    DataError
        If there is no such file, or the folder has no table in it.
    """
    if isinstance(where, str | os.PathLike):
        return _named(os.fspath(where))
    return list(dict.fromkeys(file for name in where for file in _named(os.fspath(name))))


def _named(name: str) -> list[str]:
    path = Path(name)
    if path.is_dir():
        found = sorted(
            str(file)
            for file in path.rglob("*")
            if file.is_file()
            and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
            and _stem(file.name).endswith((*PARQUET_ENDINGS, *JSON_ENDINGS, *CSV_ENDINGS))
        )
        if not found:
            raise DataError(f"{name}: this is a folder without a CSV, Parquet or JSON file; name the file")
        return found
    if not path.exists() and glob.has_magic(name):
        found = sorted(file for file in glob.glob(name, recursive=True) if os.path.isfile(file))
        if not found:
            raise DataError(f"{name}: there is no such file, and none that the pattern fits")
        return found
    return [name]


def regular_file(name: str, scratch: str) -> str:
    """Return the path of a file with something in it; what comes from a pipe is copied."""
    source = Path(name)
    if not source.exists():
        raise DataError("there is no such file")
    if not source.is_file():
        copy = Path(scratch, "piped")
        with open(source, "rb") as stream, open(copy, "wb") as target:
            while chunk := stream.read(CHUNK):
                target.write(chunk)
        source = copy
    if source.stat().st_size == 0:
        raise DataError("the file is empty")
    return os.path.abspath(source)


def kind_of(name: str, file: str) -> FileKind:
    """Return the kind of a file, by the content where it is plain and else by the name."""
    stem = _stem(name)
    with open_bytes(file) as stream:
        head = stream.read(64)
    if head.startswith(b"PAR1"):
        return "parquet"
    if stem.endswith(PARQUET_ENDINGS):
        raise DataError("this is not a Parquet file, whatever its name says")
    if stem.endswith(JSON_ENDINGS):
        return "json"
    return "json" if not stem.endswith(CSV_ENDINGS) and head.lstrip().startswith((b"{", b"[")) else "csv"


def _stem(name: str) -> str:
    return name.lower().removesuffix(".gz")


@contextmanager
def open_bytes(file: str) -> Iterator[BinaryIO]:
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

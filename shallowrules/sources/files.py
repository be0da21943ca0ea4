"""Files on disk: the ones that a name means, the kind of each, and reading compressed ones."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from tempfile import gettempdir
from typing import BinaryIO, Literal, cast

from shallowrules.errors import DataError
from shallowrules.files import RULES_FILE, STANDARD_INPUT
from shallowrules.sources.base import named
from shallowrules.sources.looking import is_file, is_folder, look, matches, walk

__all__ = [
    "CHUNK",
    "STANDARD_INPUT",
    "FileKind",
    "files_of",
    "is_compressed",
    "kind_of",
    "open_bytes",
    "regular_file",
    "told_delimiter",
]

FileKind = Literal["csv", "json", "parquet", "workbook"]

CHUNK = 1 << 20
"""Bytes that are read at once."""

ZIP = b"PK\x03\x04"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of archives, and of Excel workbooks, which have been archives since 2007."""

SEPARATOR_LINE = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(?P<delimiter>[,;|\t])"?\r?\n', re.IGNORECASE)

MAX_PIPED = 64 * 10**9
"""Maximum number of bytes of a pipe that are kept; also at most half of the free disk space."""

PARQUET_ENDINGS = (".parquet", ".pq")
JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt")

RULES_DOCUMENT = re.compile(rb'\s*\{\s*"format"\s*:\s*"shallowrules/')
"""The beginnings of this package's own documents: they lie beside tables, and are not tables."""


def files_of(where: str | Path | Sequence[str | Path], besides: Path | None = None) -> list[str]:
    """Return the files that a name means, or several names, in the order of their rows.

    A name is that of a file, of a folder (all files in it and below whose ending is that of a table, by name) or,
    where there is no such file, a pattern with ``*``, ``?``, ``[…]`` and ``**`` for any folders between.

    A folder's own results are not part of it: rules documents of this package, folders below it that hold a
    ``rules.json`` of this package, with all in them, and the file `besides`, which is about to be written.

    Raises
    ------
    DataError
        If there is no such file, the folder has no table in it, a file is named twice, or a path that may be a file or
        a folder of them cannot be reached.
    """
    names = [where] if isinstance(where, str | os.PathLike) else where
    files = [file for name in names for file in _named(os.fspath(name), besides)]
    seen: dict[str, str] = {}
    for file in files:
        place = os.path.realpath(file)
        if place in seen:
            also = "" if seen[place] == file else f", also as {seen[place]}"
            raise DataError(f"{file}: this file is named twice{also}, and its rows would count twice; name it once")
        seen[place] = file
    return files


def _named(name: str, besides: Path | None) -> list[str]:
    if name == STANDARD_INPUT:
        return [name]
    if is_folder(name):
        found = sorted(_tables_below(name, besides))
        if not found:
            raise DataError(f"{name}: this is a folder without a CSV, Parquet or JSON file; name the file")
        return found
    if look(name) is None and has_magic(name):
        found = sorted(matches(name))
        if not found:
            raise DataError(f"{name}: there is no such file, and no file matches the pattern") from FileNotFoundError(
                name
            )
        return found
    return [name]


def _tables_below(folder: str, besides: Path | None) -> Iterator[str]:
    written = None if besides is None else os.path.realpath(besides)

    def leaves_out(path: str) -> bool:
        return (
            os.path.basename(path).startswith((".", "_"))
            or os.path.realpath(path) == written
            or (is_folder(path) and _is_rules_document(os.path.join(path, RULES_FILE)))
        )

    for _, files in walk(str(Path(folder)), leaves_out):
        for file in files:
            stem = _stem(file)
            if (
                stem.endswith((*PARQUET_ENDINGS, *JSON_ENDINGS, *CSV_ENDINGS))
                and is_file(file)
                and not (file.endswith(".json") and _is_rules_document(file))
            ):
                yield file


def _is_rules_document(file: str) -> bool:
    if not is_file(file):
        return False
    with named(file), open(file, "rb") as stream:
        return RULES_DOCUMENT.match(stream.read(256)) is not None


def regular_file(name: str, scratch: str) -> str:
    """Return the path of a file that is not empty; the content of a pipe is copied."""
    source = Path(name)
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise DataError("there is no standard input; name a file")
        source = _copied(sys.stdin.buffer, scratch)
    elif look(name) is None:
        raise DataError("there is no such file") from FileNotFoundError(name)
    elif source.is_char_device() or source.is_block_device():
        raise DataError(f"this is a device, which may never end; name a file, or {STANDARD_INPUT} for standard input")
    elif not source.is_file():
        with open(source, "rb") as stream:
            source = _copied(stream, scratch)
    if source.stat().st_size == 0:
        raise DataError("the file is empty")
    return os.path.abspath(source)


def _copied(stream: BinaryIO, scratch: str) -> Path:
    """Return the path of a file with the whole content of a pipe; DataError if that is more than may be kept."""
    copy = Path(scratch, "piped")
    largest = min(MAX_PIPED, shutil.disk_usage(scratch).free // 2)
    with open(copy, "wb") as target:
        while chunk := stream.read(CHUNK):
            if target.tell() + len(chunk) > largest:
                raise DataError(
                    f"more than {largest / 1e9:,.1f} GB came from a pipe, and {gettempdir()}, the folder for temporary "
                    "files, has no room for more: make room there, name another folder in the environment variable "
                    "TMPDIR, or write the table to a file and name that"
                    if largest < MAX_PIPED
                    else f"more than {largest / 1e9:,.1f} GB came from a pipe; write the table to a file, and name that"
                )
            target.write(chunk)
    return copy


def kind_of(name: str, file: str) -> FileKind:
    """Return the kind of a file, by the content where it is clear, and otherwise by the name."""
    stem = _stem(name)
    with open_bytes(file) as stream:
        head = stream.read(64)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(OLD_OFFICE) or (head.startswith(ZIP) and _is_workbook(file)):
        return "workbook"
    if head.startswith(ZIP):
        raise DataError("this is an archive; unpack it, and name a file in it")
    if stem.endswith(PARQUET_ENDINGS):
        raise DataError("this is not a Parquet file, whatever its name says")
    if stem.endswith(JSON_ENDINGS):
        return "json"
    return "json" if not stem.endswith(CSV_ENDINGS) and head.lstrip().startswith((b"{", b"[")) else "csv"


def _stem(name: str) -> str:
    return name.lower().removesuffix(".gz")


def _is_workbook(file: str) -> bool:
    """Return whether a zip archive is a workbook of Excel or LibreOffice."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return False
    return any(name.startswith("xl/") for name in names) or "content.xml" in names


def told_delimiter(file: str) -> tuple[str, int] | None:
    """Return the delimiter that the first line of a CSV file names for Excel (``sep=;``), and that line's bytes."""
    with open_bytes(file) as stream:
        found = SEPARATOR_LINE.match(stream.read(16))
    return None if found is None else (found["delimiter"].decode(), found.end())


def is_compressed(file: str) -> bool:
    """Return whether a file is compressed by gzip."""
    with open(file, "rb") as raw:
        return _begins_as_gzip(raw)


def _begins_as_gzip(raw: BinaryIO) -> bool:
    found = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    return found


@contextmanager
def open_bytes(file: str) -> Iterator[BinaryIO]:
    """Open a file, decompressing it if need be."""
    with open(file, "rb") as raw:
        if not _begins_as_gzip(raw):
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield cast(BinaryIO, stream)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"the compressed file is damaged: {error}") from error

"""The bytes of a text file: every one is decoded, and the structure of a CSV file is checked without parsing it."""

from __future__ import annotations

import codecs
import io
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

from shallowrules._kernel import ByteScan
from shallowrules.errors import DataError, Finding, OptionError
from shallowrules.sources.base import refuse
from shallowrules.sources.files import CHUNK, open_bytes

__all__ = ["Scan", "check_encoding", "found_encoding", "plain_text", "scan"]

CONTROL_BYTES = bytes({*range(32)} - set(b"\t\n\v\f\r"))
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Prefix of a file in UTF-16; text in UTF-8 never begins with it."""

MAX_CONTROL_SHARE = 0.02
"""Share of control bytes above which a file is not text in any encoding."""

NOT_TEXT = "this is not a text file; save the table as CSV, Parquet or JSON lines"

PART_BYTES = 8 << 20
"""A file is examined in as many parts at once as there are processors, each of this size or larger."""

SCAN_BYTES = 1 << 18
"""Bytes that are examined at a time: few enough to stay in a processor's cache."""


def check_encoding(encoding: str) -> None:
    """Refuse a name that does not name a text encoding."""
    try:
        # Codecs such as "zlib" are not text encodings, and a lookup alone would accept them.
        "".encode(encoding)
    except (LookupError, ValueError):  # ValueError: a zero byte in the name, or the codec "undefined"
        raise OptionError(f"unknown encoding {encoding!r}; use for example utf-8, utf-16, cp1252, latin-1") from None


def found_encoding(file: str, encoding: str) -> str:
    """Return the encoding of a text file: the given one, but UTF-16 in place of UTF-8 where a byte order mark says so.

    A byte order mark is not a guess: those of UTF-16 are not UTF-8.
    """
    if codecs.lookup(encoding).name != "utf-8":
        return encoding
    with open_bytes(file) as stream:
        return "utf-16" if stream.read(2) in UTF16_MARKS else encoding


def plain_text(file: str, encoding: str, target: str) -> str:
    """Return the path of the text as UTF-8 without a byte order mark: `file` itself, or `target` rewritten.

    Every byte is decoded, so that a file that is not text is refused with its line.
    """
    name = codecs.lookup(encoding).name
    decode = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
    with open_bytes(file) as stream:
        as_is = name == "utf-8" and isinstance(stream, io.BufferedReader) and stream.peek(3)[:3] != codecs.BOM_UTF8
        with open(os.devnull if as_is else target, "w", encoding="utf-8", newline="") as copy:
            ended = False
            start = 0
            while not ended:
                chunk = stream.read(CHUNK)
                ended = not chunk
                if as_is and chunk.isascii() and b"\0" not in chunk and not decode.getstate()[0]:
                    start += len(chunk)
                    continue
                try:
                    decoded = decode.decode(chunk, final=ended)
                except UnicodeDecodeError as error:
                    # Bytes kept from the previous chunk come first in the bytes that could not be decoded.
                    _refuse_bytes(error, name, _line_at(file, start + len(chunk) - len(error.object)))
                except UnicodeError as error:  # no byte order mark, for example: the text as a whole is at fault
                    message = f"this is not {name} ({error}); the file may be written in another encoding"
                    refuse([Finding("encoding", message, values=(_other_encoding(chunk, name),))])
                if "\0" in decoded:
                    line = _line_at(file, start) + decoded[: decoded.index("\0")].count("\n")
                    raise DataError(f"line {line} has a zero byte: {NOT_TEXT}")
                start += len(chunk)
                if not as_is:
                    copy.write(decoded)
    return file if as_is else target


def _line_at(file: str, position: int) -> int:
    """Return the line of a byte in a file, as it is once decompressed."""
    line = 1
    with open_bytes(file) as stream:
        while position > 0 and (chunk := stream.read(min(CHUNK, position))):
            line += chunk.count(b"\n")
            position -= len(chunk)
    return line


def _refuse_bytes(error: UnicodeDecodeError, encoding: str, line: int) -> None:
    """Raise DataError with the byte that is not text, and the encoding that may be meant."""
    line += error.object[: error.start].count(b"\n")
    if not encoding.startswith(("utf-16", "utf-32")) and _is_binary(error.object):
        raise DataError(f"line {line} has bytes that cannot occur in text: {NOT_TEXT}") from error
    byte = error.object[error.start : error.start + 1].hex()
    other = _other_encoding(error.object, encoding)
    message = f"line {line}: byte 0x{byte} is not {encoding}; the file may be written in another encoding"
    refuse([Finding("encoding", message, place=line, example=f"0x{byte}", values=(other,))])


def _other_encoding(content: bytes, tried: str) -> str:
    """Return the encoding that bytes may be in, since they are not in the one that was tried."""
    if content[:2] in UTF16_MARKS and tried != "utf-16":
        return "utf-16"
    if tried != "utf-8":
        try:
            codecs.getincrementaldecoder("utf-8")().decode(content)
        except UnicodeDecodeError:
            pass
        else:
            return "utf-8"
    return "latin-1" if tried == "cp1252" else "cp1252"


def _is_binary(content: bytes) -> bool:
    """Return whether bytes are not text, or text in an encoding such as UTF-16 without its mark."""
    if content.startswith(UTF16_MARKS):
        return False
    control = len(content) - len(content.translate(None, CONTROL_BYTES))
    return b"\0" in content or control > MAX_CONTROL_SHARE * len(content)


@dataclass(frozen=True)
class Scan:
    """The structure of a CSV file, as far as its bytes show it.

    Parameters
    ----------
    regular : bool
        Whether lines end in one way and every quote opens or closes a whole field. Python's `csv` and DuckDB's
        strict mode then find the same fields, except for extra empty fields at the end of a line, which DuckDB ignores:
        `delimiters` reveals them. (Tried on every text of at most 6 characters of ``a , " space newline``.)
    quoted : bool
        Whether there are quotes.
    delimiters, lines : int
        Delimiters and lines outside of quotes.
    blank_lines : bool
        Whether a line may be blank.
    odd_numbers : bool
        Whether there is a digit after an underscore, or +-: DuckDB reads 1_000 and +-1 as numbers.
    whole_numbers : bool
        Whether there are only digits, signs and blanks below the header: otherwise DuckDB may read 1.5, 1e3 or 0x1F as
        a whole number.
    """

    regular: bool
    quoted: bool = False
    delimiters: int = 0
    lines: int = 0
    blank_lines: bool = False
    odd_numbers: bool = False
    whole_numbers: bool = False


def _feed(found: ByteScan, text: str, start: int, end: int, *, follows: bool = False) -> None:
    """Examine a part of a file; `follows` tells whether everything before it has been examined."""
    buffer = memoryview(bytearray(SCAN_BYTES))
    with open(text, "rb", buffering=0) as stream:
        if start and not follows:
            stream.seek(start - 2)
            found.begin_behind(stream.read(2))
        stream.seek(start)
        while start < end and (n_bytes := stream.readinto(buffer[: end - start])):
            found.feed(buffer[:n_bytes])
            start += n_bytes


def scan(text: str, delimiter: str, *, single: bool = False) -> Scan:
    """Examine every byte of a CSV file once; blank lines are looked for where there is a `single` column."""
    if not delimiter.isascii():
        return Scan(regular=False)
    size = os.path.getsize(text)
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n_parts = max(1, min(n_cores, size // PART_BYTES))
    edges = [size * part // n_parts for part in range(n_parts + 1)]
    scans = [ByteScan(ord(delimiter), single) for _ in range(n_parts)]
    with ThreadPoolExecutor(n_parts) as pool:
        parts = [pool.submit(_feed, each, text, *edge) for each, edge in zip(scans, pairwise(edges), strict=True)]
        for part in parts:
            part.result()
    found = scans[0]
    for following, (start, end) in zip(scans[1:], pairwise(edges[1:]), strict=True):
        if not found.add(following):  # there was a quote before it, which may be open there
            _feed(found, text, start, end, follows=True)
    return Scan(
        found.regular,
        found.quoted,
        found.delimiters,
        found.lines,
        found.blank_lines,
        found.odd_numbers,
        found.whole_numbers,
    )

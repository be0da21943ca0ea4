"""The bytes of a text file: every one is decoded, and the structure of a CSV file is checked without parsing it."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

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

SCAN_BYTES = 1 << 18
"""Bytes that are examined at a time: few enough to stay in a processor's cache."""

MAX_LINE = 1 << 26
"""Longest line, in bytes: a file with a longer one, as where all lines end with a return alone, is not regular."""

ODD_NUMBER = re.compile(rb"_[0-9]|\+-")
BLANK_LINE = re.compile(rb"\n\r?\n")


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


def scan(text: BinaryIO, delimiter: str, *, single: bool = False) -> Scan:
    """Examine every byte of a CSV file once; blank lines are looked for where there is a `single` column."""
    if not delimiter.isascii():
        return Scan(regular=False)
    of_whole_numbers = b'0123456789+- "\r\n' + delimiter.encode()
    inside = quoted = blank_lines = odd_numbers = False
    regular = whole_numbers = True
    delimiters = lines = newlines = returns = pairs = 0
    for i, piece in enumerate(_pieces(text)):
        if len(piece) > MAX_LINE:
            return Scan(regular=False)
        characters = np.frombuffer(piece, np.uint8)
        are_delimiters, are_ends = characters == ord(delimiter), characters == ord("\n")
        newlines += int(np.count_nonzero(are_ends))
        returns += piece.count(b"\r")
        pairs += piece.count(b"\r\n")
        if inside or b'"' in piece:
            quoted = True
            are_quotes = characters == ord('"')
            regular = regular and _enclose_fields(piece, np.flatnonzero(are_quotes), inside, delimiter)
            is_outside = np.logical_xor.accumulate(are_quotes) == inside
            are_delimiters &= is_outside
            are_ends &= is_outside
            inside = not is_outside[-1]
        delimiters += int(np.count_nonzero(are_delimiters))
        lines += int(np.count_nonzero(are_ends))
        blank_lines = blank_lines or (single and BLANK_LINE.search(b"\n" + piece) is not None)
        odd_numbers = odd_numbers or ((b"_" in piece or b"+" in piece) and ODD_NUMBER.search(piece) is not None)
        whole_numbers = whole_numbers and (i == 0 or not piece.translate(None, of_whole_numbers))
    one_end = not returns or returns == newlines == pairs
    return Scan(
        bool(regular and not inside and one_end),
        quoted,
        delimiters,
        lines + (piece[-1:] not in (b"", b"\n")),
        blank_lines,
        odd_numbers,
        whole_numbers,
    )


def _pieces(text: BinaryIO) -> Iterator[bytes]:
    """Yield the header, and then a number of lines at a time."""
    yield text.readline(MAX_LINE + 1)
    while piece := text.read(SCAN_BYTES) + text.readline(MAX_LINE):
        yield piece


def _enclose_fields(piece: bytes, quotes: NDArray[np.intp], inside: bool, delimiter: str) -> bool:
    """Return whether each quote opens or closes a whole field, or is doubled; `inside` tells of the first one."""
    opening, closing = quotes[int(inside) :: 2], quotes[1 - int(inside) :: 2]
    characters = np.frombuffer(b"\n" + piece + b"\n", np.uint8)
    before, after = characters[opening], characters[closing + 2]
    return bool(
        np.isin(before, np.frombuffer(f'{delimiter}\n"'.encode(), np.uint8)).all()
        and np.isin(after, np.frombuffer(f'{delimiter}\n\r"'.encode(), np.uint8)).all()
    )

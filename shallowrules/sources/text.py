"""The bytes of a text file: every one is decoded, and the structure of a CSV file is checked without parsing it."""

from __future__ import annotations

import codecs
import io
import os
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, Finding, OptionError
from shallowrules.sources.base import refuse
from shallowrules.sources.files import CHUNK, open_bytes

__all__ = ["Scan", "check_encoding", "plain_text", "scan"]

CONTROL_BYTES = bytes({*range(32)} - set(b"\t\n\v\f\r"))
MAX_CONTROL_SHARE = 0.02
"""Share of control bytes above which a file is text in no encoding."""

NOT_TEXT = "this is not a text file; save the table as CSV, Parquet or JSON lines"
QUOTE, NEWLINE, RETURN = b'"\n\r'
BLANK_LINE = re.compile(rb"\n\r?\n")
GROUPED_DIGIT = re.compile(rb"_[0-9]")


def check_encoding(encoding: str) -> None:
    """Refuse a name that is no text encoding's."""
    try:
        # Codecs such as "zlib" are not text encodings, and look-up alone would take them.
        "".encode(encoding)
    except LookupError:
        raise OptionError(
            f"unknown encoding {encoding!r}; known are for example: utf-8, utf-16, cp1252, latin-1"
        ) from None


def plain_text(file: str, encoding: str, target: str) -> str:
    """Return the path of the text as UTF-8 without a byte order mark: `file` itself, or `target` written anew.

    Every byte is decoded, so that a file that is not text is refused with its line.
    """
    name = codecs.lookup(encoding).name
    decode = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
    lines = 1
    with open_bytes(file) as stream:
        as_is = name == "utf-8" and isinstance(stream, io.BufferedReader) and stream.peek(3)[:3] != codecs.BOM_UTF8
        with open(os.devnull if as_is else target, "w", encoding="utf-8", newline="") as copy:
            ended = False
            while not ended:
                chunk = stream.read(CHUNK)
                ended = not chunk
                if as_is and chunk.isascii() and b"\0" not in chunk and not decode.getstate()[0]:
                    lines += chunk.count(b"\n")
                    continue
                try:
                    decoded = decode.decode(chunk, final=ended)
                except UnicodeDecodeError as error:
                    _refuse_bytes(error, name, lines)
                if "\0" in decoded:
                    line = lines + decoded[: decoded.index("\0")].count("\n")
                    raise DataError(f"line {line} has a zero byte: {NOT_TEXT}")
                lines += decoded.count("\n")
                if not as_is:
                    copy.write(decoded)
    return file if as_is else target


def _refuse_bytes(error: UnicodeDecodeError, encoding: str, line: int) -> None:
    """Say which byte is not text, and which encoding may be meant."""
    line += error.object[: error.start].count(b"\n")
    if not encoding.startswith(("utf-16", "utf-32")) and _is_binary(error.object):
        raise DataError(f"line {line} has bytes that no text has: {NOT_TEXT}") from error
    byte = error.object[error.start : error.start + 1].hex()
    other = "utf-16" if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "cp1252"
    message = f"line {line}: byte 0x{byte} is not {encoding}; the file may be written in another encoding"
    refuse([Finding("encoding", message, place=line, example=f"0x{byte}", values=(other,))])


def _is_binary(content: bytes) -> bool:
    """Return whether bytes are text in no encoding, or in one that needs to be known: UTF-16 has a mark for that."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    control = len(content) - len(content.translate(None, CONTROL_BYTES))
    return b"\0" in content or control > MAX_CONTROL_SHARE * len(content)


@dataclass(frozen=True)
class Scan:
    """What the bytes of a CSV file tell of its structure.

    Parameters
    ----------
    regular : bool
        Whether lines end in one way and every quote opens or closes a whole field. Python's `csv` and DuckDB's
        strict mode then find the same fields, but for empty fields too many at the end of a line, which DuckDB passes
        over: `delimiters` betrays them. (Tried on every text of at most 6 characters of ``a , " space newline``.)
    quoted : bool
        Whether there are quotes.
    delimiters, lines : int
        Delimiters and lines outside of quotes.
    blank_lines : bool
        Whether a line may be blank.
    grouped : bool
        Whether there is a digit behind an underscore: DuckDB takes 1_000 for a number.
    """

    regular: bool
    quoted: bool = False
    delimiters: int = 0
    lines: int = 0
    blank_lines: bool = False
    grouped: bool = False


def scan(text: str, delimiter: str) -> Scan:
    """Look at every byte of a CSV file once."""
    if not delimiter.isascii():
        return Scan(regular=False)
    content: NDArray[np.uint8] = np.memmap(text, dtype=np.uint8, mode="r")
    separator = ord(delimiter)
    blank_lines = bool(content[0] in (NEWLINE, RETURN))
    quoted = grouped = inside = False
    delimiters = lines = newlines = returns = pairs = 0
    for start in range(0, len(content), CHUNK):
        part = content[start : start + CHUNK]
        chunk = part.tobytes()
        following = content[start + CHUNK : start + CHUNK + 2].tobytes()  # what a pattern may reach into
        is_delimiter, is_newline = part == separator, part == NEWLINE
        newlines += int(np.count_nonzero(is_newline))
        if b"\r" in chunk:
            returns += chunk.count(b"\r")
            pairs += (chunk + following[:1]).count(b"\r\n")
        blank_lines = blank_lines or BLANK_LINE.search(chunk + following) is not None
        grouped = grouped or (b"_" in chunk and GROUPED_DIGIT.search(chunk + following) is not None)
        if inside or b'"' in chunk:
            quoted = True
            is_quote = part == QUOTE
            if not _quotes_are_regular(content, start + np.flatnonzero(is_quote), inside, separator):
                return Scan(regular=False)
            is_inside = ((np.cumsum(is_quote, dtype=np.uint8) + np.uint8(inside)) & 1).astype(bool)
            inside = bool(is_inside[-1])
            is_delimiter &= ~is_inside
            is_newline &= ~is_inside
        lines += int(np.count_nonzero(is_newline))
        delimiters += int(np.count_nonzero(is_delimiter))
    lines += int(content[-1] != NEWLINE)
    regular = not inside and (not returns or returns == newlines == pairs)
    return Scan(regular, quoted, delimiters, lines, blank_lines, grouped)


def _quotes_are_regular(content: NDArray[np.uint8], quotes: NDArray[np.intp], inside: bool, separator: int) -> bool:
    """Return whether quotes open at the beginning of a field, or close at its end, or are doubled.

    `quotes` are positions; `inside` says whether the first of them closes.
    """
    opening, closing = quotes[int(inside) :: 2], quotes[1 - int(inside) :: 2]
    before = content[opening[opening > 0] - 1]
    after = content[closing[closing < len(content) - 1] + 1]
    opens = (before == separator) | (before == NEWLINE) | (before == QUOTE)
    closes = (after == separator) | (after == NEWLINE) | (after == RETURN) | (after == QUOTE)
    return bool(opens.all() and closes.all())

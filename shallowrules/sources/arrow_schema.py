"""Durations in a Parquet file of pandas, Polars or Arrow: whole numbers to Parquet, which has no type for them.

Their type is in the entry ``ARROW:schema`` of the file's metadata, an encapsulated message of Arrow's IPC format: a
flatbuffer, of which the names and the units of durations are read here (Message.fbs and Schema.fbs of Arrow).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator

__all__ = ["duration_units"]

HEADER, FIELDS = 2, 1
"""Slots of the table Message and of the table Schema."""

NAME, TYPE_KIND, TYPE = 0, 2, 3
"""Slots of the table Field."""

DURATION = 18
"""The kind of type."""

UNIT = 0
"""Slot of the table Duration."""

PER_SECOND = (1, 10**3, 10**6, 10**9)
"""By the unit."""

MILLISECOND = 1
"""The unit where a table does not say one."""


def duration_units(encoded: bytes) -> dict[str, int]:
    """Return the columns of durations, each with its units per second; none if the metadata cannot be read.

    Parameters
    ----------
    encoded : bytes
        The entry of the metadata, in base64.
    """
    try:
        return dict(_durations(base64.b64decode(encoded, validate=True)))
    except (ValueError, IndexError, struct.error):  # damaged, or of another version
        return {}


def _durations(message: bytes) -> Iterator[tuple[str, int]]:
    start = 8 if message[:4] == b"\xff\xff\xff\xff" else 4  # after the length of the message
    buffer = message[start:]
    schema = _offset(buffer, _slot(buffer, _at(buffer, 0), HEADER))
    fields = _offset(buffer, _slot(buffer, schema, FIELDS))
    for place in range(struct.unpack_from("<I", buffer, fields)[0]):
        field = _at(buffer, fields + 4 + 4 * place)
        kind = _slot(buffer, field, TYPE_KIND)
        if kind is None or buffer[kind] != DURATION:
            continue
        name = _offset(buffer, _slot(buffer, field, NAME))
        unit = _slot(buffer, _offset(buffer, _slot(buffer, field, TYPE)), UNIT)
        code = MILLISECOND if unit is None else struct.unpack_from("<h", buffer, unit)[0]
        length = struct.unpack_from("<I", buffer, name)[0]
        yield buffer[name + 4 : name + 4 + length].decode("utf-8"), PER_SECOND[code]


def _at(buffer: bytes, place: int) -> int:
    """Return the target of the offset at a place."""
    return int(place + struct.unpack_from("<I", buffer, place)[0])


def _offset(buffer: bytes, place: int | None) -> int:
    """Return the target of the offset at a slot; ValueError where the slot is empty."""
    if place is None:
        raise ValueError("an entry is missing")
    return _at(buffer, place)


def _slot(buffer: bytes, table: int, slot: int) -> int | None:
    """Return where a slot of a table is, None where it is empty."""
    layout = table - struct.unpack_from("<i", buffer, table)[0]
    size = struct.unpack_from("<H", buffer, layout)[0]
    entry = 4 + 2 * slot
    offset = struct.unpack_from("<H", buffer, layout + entry)[0] if entry < size else 0
    return table + offset if offset else None

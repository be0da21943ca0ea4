"""Names and notes that a person gives to clusters, in a file: CSV or JSON of the columns number, name and note.

The page offers this file for download, and a spreadsheet can write one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from shallowrules.errors import DataError, counted
from shallowrules.files import distinct_keys, read_whole
from shallowrules.rules.figures import Cluster

__all__ = ["ClusterNames", "list_names", "names_of_list", "read_names"]

ENTRIES = ("number", "name", "note")
DELIMITERS = (",", ";", "\t")
"""Separators of the fields of a CSV file: spreadsheets write a semicolon if the comma is the decimal separator."""


@dataclass(frozen=True)
class ClusterNames:
    """Names of clusters, and notes on them, by the clusters' numbers, and the file that holds them."""

    names: Mapping[int, str]
    notes: Mapping[int, str]
    path: str | None


def read_names(path: str | Path) -> ClusterNames:
    """Return the names and notes of a file.

    A CSV file in UTF-8 has the columns ``number``, ``name`` and ``note``, of which one of the last two may be absent;
    a file whose name ends in ``.json`` has a list of objects with these entries. A blank name leaves a cluster the
    name that it has, a blank note leaves it without one.

    Raises
    ------
    DataError
        If the file is neither of these, a number is not a whole number or occurs twice, or two clusters have the same
        name; names the file and the entry.
    OSError
        If it cannot be read.
    """
    try:
        text = read_whole(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not in UTF-8: save the names of clusters as UTF-8") from error
    read = _read_json if Path(path).suffix.lower() == ".json" else _read_csv
    entries = list(read(text, str(path)))
    if not entries:
        raise DataError(f"{path} names no cluster")
    return ClusterNames(*_collected(entries), str(path))


def list_names(clusters: Iterable[Cluster]) -> list[dict[str, int | str]]:
    """Return the names of clusters and their notes in the format of a JSON file; `names_of_list` reads it."""
    return [
        {"number": each.index, "name": each.name if each.is_named else "", "note": each.note}
        for each in clusters
        if each.is_named or each.note
    ]


def names_of_list(listed: Any, where: str) -> ClusterNames:
    """Return the names and notes of a list that is part of a file; DataError, with the place, for anything else."""
    return ClusterNames(*_collected(_read_list(listed, where)), None)


def _collected(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[dict[int, str], dict[int, str]]:
    """Return names and notes by number, from entries and a name for each."""
    names: dict[int, str] = {}
    notes: dict[int, str] = {}
    found: set[int] = set()
    for where, entry in entries:
        number = _number(entry.get("number", ""), where)  # a line may be shorter than the first one
        if number in found:
            raise DataError(f"{where}: cluster {number} appears twice")
        found.add(number)
        for target, kind in ((names, "name"), (notes, "note")):
            if words := _words(entry.get(kind), kind, where):
                target[number] = words
    return names, notes


def _read_csv(text: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a CSV file that is not blank, and its name in messages."""
    head = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(DELIMITERS, key=head.count)
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: Sequence[str] = ()
    try:
        for row in rows:
            where = f"{path}, line {rows.line_num}"
            if not any(field.strip() for field in row):
                continue
            if not header:
                header = _entries(row, f"{path}: its first line")
            elif len(row) > len(header):
                raise DataError(
                    f"{where} has {counted(len(row), 'field')}, and the first line {len(header)}: put text that holds "
                    f"{delimiter!r} in quotes"
                )
            else:
                yield where, dict(zip(header, row, strict=False))
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: {error}") from error
    if not header:
        raise DataError(f"{path} is empty: its first line is number,name,note")


def _read_json(text: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a list in JSON, and its name in messages."""
    try:
        listed = json.loads(text, object_pairs_hook=distinct_keys)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}") from error
    return _read_list(listed, path)


def _read_list(listed: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a list, and its name in messages."""
    if not isinstance(listed, list):
        raise DataError(f'{path} is not a list: names look like [{{"number": 0, "name": "…", "note": "…"}}]')
    for i, entry in enumerate(listed):
        if not isinstance(entry, dict):
            raise DataError(f"{path}, entry {i + 1} is not an object with a number, a name and a note")
        names = _entries(list(entry), f"{path}, entry {i + 1}")
        yield f"{path}, entry {i + 1}", dict(zip(names, entry.values(), strict=True))


def _entries(given: Sequence[str], where: str) -> list[str]:
    """Return the name of the entry in each place."""
    names = [name.strip().lower() for name in given]
    if not set(names) <= set(ENTRIES) or "number" not in names or len(names) == 1 or len(set(names)) != len(names):
        raise DataError(f"{where} has {', '.join(map(repr, given))}; expected number, name and note, each once")
    return names


def _number(value: Any, where: str) -> int:
    """Return the number of a cluster, written as text in CSV."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    written = value.strip() if isinstance(value, str) else ""
    if written.removeprefix("-").isascii() and written.removeprefix("-").isdigit() and len(written) <= 20:
        return int(written)
    raise DataError(f"{where}: {value!r} is not the number of a cluster")


def _words(value: Any, kind: str, where: str) -> str:
    if not isinstance(value, str | None):
        raise DataError(f"{where}: the {kind} is {value!r}, not text")
    if any("\ud800" <= character <= "\udfff" for character in value or ""):
        raise DataError(f"{where}: the {kind} {value!r} has half a character, which no file in UTF-8 can hold")
    return (value or "").strip()

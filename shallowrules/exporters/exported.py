"""An exporter's output: text, bytes, or several files by their names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Exported", "exported_faults", "find_clash"]

Exported = str | bytes | Mapping[str, str | bytes]
"""Text, which files hold as UTF-8; bytes; or files by name: relative to a folder, with ``/`` between its parts."""

RESERVED = frozenset({"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))})
"""Names that are devices on Windows, whatever follows a dot."""


def exported_faults(value: Any) -> list[str]:
    """Return the reasons why a value is not `Exported`, as sentences without a subject: ``returned int, not …``."""
    if not isinstance(value, Mapping):
        return _content_faults(value, "")
    if not value:
        return ["returned a mapping without files"]
    faults = []
    names = []
    for name, content in value.items():
        if not isinstance(name, str) or not _is_safe(name):
            faults.append(
                f"returned a file named {name!r}: names are relative, with / between their parts, and valid on any "
                "system"
            )
            continue
        names.append(name)
        faults += _content_faults(content, f" as file {name!r}")
    clash = find_clash(names)
    if clash is not None:
        first, second = (names[place] for place in clash)
        faults.append(f"returned the files {first!r} and {second!r}, which cannot be in one folder")
    return faults


def find_clash(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of two names that cannot be files of one folder on every system, the earlier first.

    Names are the same if they differ only in case or in how accents are encoded; a file cannot also be a folder.
    """
    files: dict[str, int] = {}
    folders: dict[str, int] = {}
    for place, name in enumerate(names):
        key = _key(name)
        parents = list(_parents(key))
        held = next((files[path] for path in (key, *parents) if path in files), folders.get(key))
        if held is not None:
            return held, place
        files[key] = place
        for parent in parents:
            folders.setdefault(parent, place)
    return None


def _content_faults(value: Any, place: str) -> list[str]:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            return [f"returned text{place} with an unpaired surrogate at character {error.start}, which no file holds"]
        return []
    if isinstance(value, bytes):
        return []
    return [f"returned {type(value).__name__}{place}, not str{'' if place else ', bytes or a mapping of files'}"]


def _is_safe(name: str) -> bool:
    return bool(name) and all(_is_safe_part(part) for part in name.split("/"))


def _is_safe_part(part: str) -> bool:
    return (
        part.isprintable()
        and part not in ("", ".", "..")
        and part == part.strip(" ")
        and not part.endswith(".")
        and not set(part) & set('\\:*?"<>|')
        and part.split(".")[0].upper() not in RESERVED
        and len(part.encode("utf-8")) <= 255
    )


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _parents(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name

"""Plugins that give bytes, and files by name."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class NoOptions:
    """No options."""


@dataclass(frozen=True)
class FileOptions:
    """Options of the exporter ``"files"``.

    Attributes
    ----------
    names : tuple of str
        What the files are called.
    """

    names: tuple[str, ...] = field(default=("model.sql", "docs/notes.txt", "docs/picture.bin"))


class BytesExporter:
    """Gives bytes that are not text."""

    name = "bytes"
    file_extension = ".bin"
    media_type = "application/octet-stream"
    options = NoOptions

    def export(self, rules, **options):
        return b"\xff\x00\r\n" + bytes([len(rules)])


class FilesExporter:
    """Gives several files; every second one is of bytes."""

    name = "files"
    file_extension = ""
    media_type = "text/plain"
    options = FileOptions

    def export(self, rules, **options):
        names = FileOptions(**options).names
        return {name: b"\xff\r\n" if place % 2 else f"{name}: é\n" for place, name in enumerate(names)}


class NamedFilesExporter(FilesExporter):
    """Gives several files, and yet has a file's extension."""

    name = "named"
    file_extension = ".txt"

"""A plugin with an option of every kind, as the command line offers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from shallowrules.errors import OptionError, OptionName
from shallowrules.exporters.options import on_command_line


@dataclass(frozen=True)
class LetterOptions:
    """Options of the exporter ``"letter"``.

    Attributes
    ----------
    greeting : str
        How the letter
        begins: ``Dear``.
    paper_size : {"a4", "letter"}
        What it is printed on.
    signed : bool
        Whether there is a name below.
    copies, pages : int
        How many.
    margin : float or None
        In inches.
    enclosed : sequence of Path
        Files to go with it.
    letterhead : Path
        A file.
    names : mapping from str to str
        Who is who.
    levels : mapping from str to int
        How loud.

    Notes
    -----
    greeting : not an entry
        Of no section that is read.
    """

    greeting: str = "Dear"
    paper_size: Literal["a4", "letter", 5] = "a4"
    signed: bool = True
    draft: bool = False
    copies: int = 1
    pages: int | None = None
    margin: float | None = None
    enclosed: Sequence[Path] = ()
    words: list[str] = field(default_factory=list)
    letterhead: str | Path | None = None
    names: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("name"))
    levels: dict[str, int] = field(default_factory=dict)
    recipient: str = field(default="you", metadata=on_command_line(unprefixed=True, default_from="table"))

    def __post_init__(self) -> None:
        if self.greeting == "Oi":
            raise OptionError("that is rude", option="greeting")
        if self.copies < 1:
            raise OptionError(OptionName("copies"), " must be 1 or more")


class LetterExporter:
    """Writes its options and nothing else."""

    name = "letter"
    file_extension = ".txt"
    media_type = "text/plain"
    file_stem = "letter"
    options = LetterOptions

    def export(self, rules, **options):
        return "".join(f"{name}={value!r}\n" for name, value in vars(LetterOptions(**options)).items())

    def check_columns(self, names, **options):
        if "forbidden" in names:
            raise OptionError("column 'forbidden' does not go with ", OptionName("recipient"))


class PostcardExporter(LetterExporter):
    """Claims the letter's file, in other capitals, and its option without a prefix."""

    name = "postcard"
    file_stem = "LETTER"


class RivalExporter(LetterExporter):
    """Claims the file of the rules."""

    name = "rival"
    file_stem = "Rules"
    file_extension = ".json"

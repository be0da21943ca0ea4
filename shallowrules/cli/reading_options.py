"""How to read a table: the options of every command that reads one."""

from __future__ import annotations

from dataclasses import dataclass

import click

from shallowrules.cli.options import together

__all__ = ["ReadingOptions", "reading_options"]


@dataclass(frozen=True)
class ReadingOptions:
    """How to read a file: what `shallowrules.sources.read_table` takes, but for the columns."""

    delimiter: str | None
    decimal: str
    null: tuple[str, ...]
    encoding: str


def _delimiter(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    return "\t" if text in ("tab", "\\t") else text


reading_options = together(
    click.option(
        "--delimiter", metavar="CHAR", callback=_delimiter, help="What separates the fields of a CSV file; else found."
    ),
    click.option("--decimal", metavar="CHAR", default=".", show_default=True, help="Decimal separator: . or ,"),
    click.option(
        "--null",
        multiple=True,
        metavar="TEXT",
        help="A text that means \"no value\"; '' is a field of blanks. May be repeated.",
    ),
    click.option("--encoding", metavar="NAME", default="utf-8", show_default=True, help="Encoding of a text file."),
)
"""The options of `ReadingOptions`."""

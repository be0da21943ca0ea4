"""How to read a table: the options of every command that reads one."""

from __future__ import annotations

from dataclasses import dataclass

import click

from shallowrules.cli.options import together

__all__ = ["ReadingOptions", "Tables", "reading_options", "show_tables", "table_argument"]

Tables = str | tuple[str, ...]
"""What a command was given as TABLE: a file, folder or pattern, or several of these."""


@dataclass(frozen=True)
class ReadingOptions:
    """How to read a file: what `shallowrules.sources.read_table` takes, but for the columns."""

    delimiter: str | None
    decimal: str
    null: tuple[str, ...]
    encoding: str
    keep_text: tuple[str, ...] = ()


def _delimiter(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    return "\t" if text in ("tab", "\\t") else text


def _tables(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> Tables:
    return names[0] if len(names) == 1 else names


def show_tables(tables: Tables) -> str:
    """Return what a command was given as TABLE, for a line on the terminal."""
    return tables if isinstance(tables, str) else f"{tables[0]} and {len(tables) - 1} more"


table_argument = click.argument("tables", metavar="TABLE", nargs=-1, required=True, callback=_tables)
"""A file, a folder or a pattern; or several, whose rows are one table."""

reading_options = together(
    click.option(
        "--delimiter",
        metavar="CHAR",
        callback=_delimiter,
        help="Character between the fields of a CSV file.  [default: found]",
    ),
    click.option("--decimal", metavar="CHAR", default=".", show_default=True, help="Decimal separator: . or ,"),
    click.option(
        "--null",
        multiple=True,
        metavar="TEXT",
        help="A text that means \"no value\"; '' is a field of blanks. May be repeated.",
    ),
    click.option(
        "--keep-text",
        multiple=True,
        metavar="WORD",
        help='A word such as NA or None that is a text like any other, not "no value". May be repeated.',
    ),
    click.option("--encoding", metavar="NAME", default="utf-8", show_default=True, help="Encoding of a text file."),
)
"""The options of `ReadingOptions`."""

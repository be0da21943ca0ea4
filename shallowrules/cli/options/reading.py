"""How to read a table: the options of every command that reads one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shallowrules.cli.options.shared import NumberRange, together
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.rules import RuleSet
    from shallowrules.sources import DatabaseRows
    from shallowrules.tables.table import Table

__all__ = [
    "Tables",
    "optional_table",
    "read_tested",
    "reading_options",
    "refuse_reading",
    "rows_of",
    "show_tables",
    "table_or_database",
]

Tables = str | tuple[str, ...]
"""A command's TABLE: a file, folder or pattern, or several of these."""


def _delimiter(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    return "\t" if text in ("tab", "\\t") else text


def _tables(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> Tables:
    return names[0] if len(names) == 1 else names


def show_tables(rows: Tables | DatabaseRows) -> str:
    """Return the input of a command, for a line on the terminal."""
    return f"{rows[0]} and {len(rows) - 1} more" if isinstance(rows, tuple) else str(rows)


def rows_of(tables: Tables, options: Mapping[str, Any]) -> Tables | DatabaseRows:
    """Return the input of a command with `table_or_database`; UsageError unless there is exactly one."""
    source_of = click.get_current_context().get_parameter_source
    if tables and source_of("tables") is ParameterSource.COMMANDLINE:
        # A typed TABLE takes precedence over the database of a file of defaults.
        options = {name: None if source_of(name) is ParameterSource.DEFAULT_MAP else options[name] for name in options}
    database, sample = options["database"], options["sample"]
    if database is None:
        for name in ("query", "sample", "timeout"):
            if options[name] is not None:
                raise click.UsageError(f"--{name} is for rows of a database; name it with --database URL")
        if not tables:
            raise click.UsageError("Missing argument 'TABLE': a file to read, or --database URL and --table NAME")
        return tables
    if tables:
        raise click.UsageError(f"TABLE {show_tables(tables)} and --database exclude each other: read one of them")
    from shallowrules.sources import DatabaseRows

    return DatabaseRows(database, options["table"], options["query"], sample, options["seed"], options["timeout"])


def refuse_reading(options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of text files with rows of a database, where they would be ignored."""
    default = vars(Reading())
    for name in default:
        if options[name] and options[name] != default[name]:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is for text files, and a database has types; omit it")


def read_tested(
    rules: RuleSet, rows: Tables | DatabaseRows, reading: Reading, measure: str | None = None
) -> tuple[RuleSet, Table]:
    """Read the columns that rules test. Text stays as it is, and so do columns that the rules convert.

    `measure` is another column to read.

    Returns
    -------
    RuleSet
        The rules, which read those columns as `read_as_told` says.
    Table
    """
    from shallowrules.labelling.tested_columns import reading_for
    from shallowrules.labelling.told import read_as_told
    from shallowrules.sources import read_table

    rules = read_as_told(rules, reading)
    reading = reading_for(rules, reading)
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    as_text = [column.name for column in tested if column.converts_text or column.type == "text"]
    names = [*(column.name for column in tested), *([] if measure is None else [measure])] or None
    return rules, read_table(rows, columns=names, as_text=as_text, **vars(reading))


optional_table = click.argument("tables", metavar="[TABLE]", nargs=-1, required=False, callback=_tables)
"""A file, a folder or a pattern, or several, whose rows are one table; empty where other options replace it."""

table_or_database = together(
    optional_table,
    click.option(
        "--database",
        metavar="URL",
        help="Database to read instead of TABLE, such as postgresql://user@host/name or sqlite:///file.db; or "
        "@NAME, an entry of shallowrules.toml.",
    ),
    click.option("--table", metavar="SCHEMA.T", help="Table or view of the database."),
    click.option("--query", metavar="SQL", help="SELECT statement whose rows are read, instead of --table."),
    click.option(
        "--sample",
        type=click.IntRange(min=1),
        metavar="N",
        help="Read a random sample of N rows, drawn by the database (--seed).",
    ),
    click.option(
        "--timeout",
        type=NumberRange(min=0, min_open=True, max=86_400),
        metavar="SECONDS",
        help="Have PostgreSQL, MySQL or MariaDB cancel a statement that takes longer; SQLite and DuckDB have no "
        "setting for that and refuse the option.",
    ),
)
"""TABLE, or the options that name rows of a database: the arguments of `rows_of`, apart from --seed."""

reading_options = together(
    click.option(
        "--delimiter",
        metavar="CHAR",
        callback=_delimiter,
        help="Character between the fields of a CSV file. [default: detected]",
    ),
    click.option("--decimal", metavar="CHAR", default=".", show_default=True, help="Decimal separator: . or ,"),
    click.option(
        "--thousands",
        metavar="CHAR",
        help="Character that groups the digits of numbers: , . ' or a blank; with a point, the decimal separator "
        "is a comma. [default: detected]",
    ),
    click.option(
        "--format",
        multiple=True,
        metavar="COLUMN=NUMBER",
        help="An example of how a column writes numbers, such as 'revenue=$1,234.50', 'share=12.5%' or 'weight=12 kg'. "
        "May be repeated. [default: detected]",
    ),
    click.option(
        "--null",
        multiple=True,
        metavar="TEXT",
        help="A null marker: text that means a missing value; '' is a field of blanks. May be repeated.",
    ),
    click.option(
        "--keep-text",
        multiple=True,
        metavar="WORD",
        help="A word such as NA or None that is ordinary text, not a missing value. May be repeated.",
    ),
    click.option(
        "--dates",
        multiple=True,
        metavar="COLUMN=FORMAT",
        help="The format of the dates in a column, such as 'signup=%d/%m/%Y', where two formats fit. May be repeated.",
    ),
    click.option("--encoding", metavar="NAME", default="utf-8", show_default=True, help="Encoding of a text file."),
    click.option(
        "--header",
        type=click.Choice(["first", "none"]),
        help="Whether the first row names the columns; if not, they are called column1, column2, … [default: detected]",
    ),
    click.option(
        "--skip", type=click.IntRange(min=0), metavar="N", help="Lines above the table to skip. [default: detected]"
    ),
    click.option(
        "--comment",
        metavar="TEXT",
        help="Skip lines that begin with this. [default: # where these lines are not rows]",
    ),
    click.option(
        "--footer",
        type=click.IntRange(min=0),
        metavar="N",
        help="Rows at the end to skip, such as notes and totals. [default: detected]",
    ),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook.  [default: the only one with a table]"),
)
"""The options of `Reading`."""

"""``shallowrules explain``: why a row has its cluster, and what would move it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from shallowrules.cli.options.reading import Tables, optional_table, read_tested, reading_options, show_tables
from shallowrules.cli.options.shared import gather, split_list
from shallowrules.cli.output import progress, warnings_shown, write_result
from shallowrules.cli.results import json_option, report
from shallowrules.errors import OptionError
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.rules import RuleColumn, RuleSet
    from shallowrules.tables.column import Column
    from shallowrules.tables.conversion import Number
    from shallowrules.tables.table import Table
    from shallowrules.tables.values import Value

__all__ = ["command"]


@click.command("explain", short_help="Show why a row is in its cluster, and what would move it.")
@click.argument("rules_file", metavar="RULES")
@optional_table
@click.option(
    "--row",
    "rows",
    multiple=True,
    metavar="COLUMN=VALUE,...",
    help="A row, written out; a value with a comma needs quotes: '\"city=Bonn, Rhine\",age=40'. May be repeated.",
)
@click.option(
    "--number",
    "numbers",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Row N of TABLE, counted from 1.",
)
@json_option
@reading_options
def command(rules_file: str, tables: Tables, rows: tuple[str, ...], numbers: tuple[int, ...], **options: Any) -> None:
    """Show which cluster a row is in, the conditions that decide it, and the smallest change that would move it.

    That is a change of one value, measured in ranges of its column in training; a different category is a whole range
    away. A value that --row does not give is missing. What sets the cluster apart from all other rows is shown below.

    \b
    Examples:
      shallowrules explain rules.json --row 'alcohol=13.2,proline=1065'
      shallowrules explain rules.json wine.csv --number 3 --number 17
    """  # noqa: D301 (click wants a backspace)
    import numpy as np

    from shallowrules.rules import RuleSet

    if bool(rows) == bool(tables):
        raise click.UsageError("no row is given; use either --row 'COLUMN=VALUE,...', or TABLE and --number N")
    if bool(tables) != bool(numbers):
        raise click.UsageError("--number says which row of TABLE: give both, or neither")
    with warnings_shown():
        rules = RuleSet.from_json(rules_file)
        if rows:
            explained = [found for text in rows for found in rules.explain(_written_row(rules, text))]
        else:
            with progress(f"reading {show_tables(tables)}"):
                rules, table = read_tested(rules, tables, gather(Reading, options))
            if max(numbers) > table.n_rows:
                raise OptionError(f"--number {max(numbers)}: the table has {table.n_rows:,} rows")
            explained = rules.explain(table.take(np.array(numbers) - 1))
    report({"rows": [each.to_dict() for each in explained]})
    write_result("\n\n".join(map(str, explained)) + "\n", None)


def _written_row(rules: RuleSet, text: str) -> Table:
    """Return the row that --row gives, its tested columns alone; one that it does not name is missing."""
    from shallowrules.tables.given import column_of
    from shallowrules.tables.table import Table

    tested = [rules.columns[feature].name for feature in rules.tested_columns]
    row = {name: column_of(name, [None]) for name in tested}
    known = {column.name: column for column in rules.columns}
    said = set()
    for field in split_list([text]):
        name = max((name for name in known if field.startswith(f"{name}=")), key=len, default=None)
        if name is None:
            named = ", ".join(map(repr, tested))
            raise OptionError(f"--row: {field!r} is not COLUMN=VALUE with a column of the rules; they test {named}")
        if name in said:
            raise OptionError(f"--row gives column {name!r} twice")
        said.add(name)
        value = _value(known[name], field[len(name) + 1 :])
        if name in row:
            row[name] = value
    return Table(tuple(row.values()), 1)


def _value(column: RuleColumn, text: str) -> Column:
    """Return a value as a column of one row."""
    import numpy as np

    from shallowrules.tables.column import Column
    from shallowrules.tables.given import column_of
    from shallowrules.tables.times import time_of_text

    given: Number | Value | None = text
    if not text.strip(" ") or (column.is_time and column.conversion.is_null(text)):
        return column_of(column.name, [None])
    if column.is_time:
        if (time := time_of_text(column.type, text)) is None:
            example = column.show(cast(int, column.minimum))
            raise OptionError(
                f"--row: {text!r} is not a {column.type}; column {column.name!r} has values such as {example}"
            )
        return Column(column.name, column.type, np.array([time]))
    if column.is_numeric:
        given = column.conversion.read(text)
        if given is None:
            raise OptionError(f"--row: {text!r} is not a number, and column {column.name!r} holds numbers")
    return column.read(column_of(column.name, [given]))

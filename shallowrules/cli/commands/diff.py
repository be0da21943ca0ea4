"""``shallowrules diff``: the changes from one set of rules to another."""

from __future__ import annotations

from typing import Any

import click

from shallowrules.cli.failures import FOUND
from shallowrules.cli.options.reading import (
    Tables,
    optional_table,
    read_tested,
    reading_options,
    show_tables,
)
from shallowrules.cli.options.shared import gather
from shallowrules.cli.output import progress, warnings_shown, write_result
from shallowrules.cli.results import json_option, report
from shallowrules.files import Reading

__all__ = ["command"]


@click.command("diff", short_help="Show what has changed from one set of rules to another.")
@click.argument("old_file", metavar="OLD")
@click.argument("new_file", metavar="NEW")
@optional_table
@json_option
@reading_options
def command(old_file: str, new_file: str, tables: Tables, **options: Any) -> None:
    """Show the changes from the rules OLD to the rules NEW in words: moved thresholds, added rules and removed ones.

    With TABLE, its rows are labelled by both, and those that change cluster are counted. Clusters are then matched
    by the rows that they share, so a new fit may number them differently; otherwise they are matched by their rules.
    The exit status is 1 if anything has changed.

    \b
    Examples:
      shallowrules diff last_year.json rules.json
      shallowrules diff last_year.json rules.json customers.csv
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.rules import RuleSet, changes_between

    with warnings_shown():
        old, new = RuleSet.from_json(old_file), RuleSet.from_json(new_file)
    if not tables:
        changes = changes_between(old, new)
    else:
        reading = gather(Reading, options)
        with progress(f"reading {show_tables(tables)}"):
            told = (read_tested(rules, tables, reading) for rules in (old, new))
            before, now = (rules.assign(table) for rules, table in told)
        changes = changes_between(old, new, labels=(before, now))
    report(changes.to_dict())
    write_result(f"{changes}\n", None)
    if changes:
        click.get_current_context().exit(FOUND)

"""``shallowrules label``: every row of a table with its cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shallowrules.cli.options import force_option, gather
from shallowrules.cli.output import check_replacing, check_target, progress, warnings_shown
from shallowrules.cli.reading_options import ReadingOptions, Tables, reading_options, show_tables, table_argument
from shallowrules.errors import OptionError

__all__ = ["command"]


@click.command("label", short_help="Give every row of a table its cluster.")
@click.argument("rules_file", metavar="RULES")
@table_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="OUT",
    help="Write to this file: .csv, .tsv, .parquet, .json or .jsonl, as its ending says.",
)
@force_option
@click.option(
    "--cluster-column",
    metavar="NAME",
    default="cluster",
    show_default=True,
    help="Name of the column that is added.",
)
@reading_options
def command(rules_file: str, tables: Tables, output: Path, force: bool, cluster_column: str, **options: Any) -> None:
    """Write TABLE with one more column: the cluster of each row, empty where no rule matches.

    A cluster goes by its given label where the rules were made with --labels, else by its number.

    \b
    Example:
      shallowrules label wine_rules/rules.json new_wine.csv -o labelled.parquet
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.labelling import check_format, label_file
    from shallowrules.cli.summary import show_labels
    from shallowrules.rules import RuleSet
    from shallowrules.sources import files_of

    if not cluster_column.strip():
        raise OptionError("--cluster-column must not be blank")
    check_format(output)
    files = files_of(tables, besides=output)  # a folder may hold the result of last time
    check_target(output, rules_file, *files)
    with warnings_shown():
        rules = RuleSet.from_json(rules_file)
    check_replacing(output, force)
    with progress(f"labelling {show_tables(tables)}"):
        counts = label_file(rules, files, output, gather(ReadingOptions, options), cluster_column)
    show_labels(rules, counts, str(output))

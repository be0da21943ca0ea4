"""``shallowrules verify``: every form of the rules against the tree, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.options import gather
from shallowrules.cli.output import progress, warnings_shown
from shallowrules.cli.reading_options import ReadingOptions, Tables, reading_options, show_tables, table_argument
from shallowrules.errors import ShallowRulesError

if TYPE_CHECKING:
    from shallowrules.verification import Comparison

__all__ = ["command"]


@click.command("verify", short_help="Run every form of the rules against the tree.")
@click.argument("rules_file", metavar="RULES")
@table_argument
@click.option(
    "--dialect",
    "dialects",
    multiple=True,
    metavar="NAME",
    help="SQL to run: duckdb, sqlite, postgres, mysql, clickhouse, spark; any of them that is installed, several by "
    "repeating the option. [default: duckdb and sqlite]",
)
@reading_options
def command(rules_file: str, tables: Tables, dialects: tuple[str, ...], **options: Any) -> None:
    """Run every form of the rules over TABLE and compare it with the tree, row by row.

    Rows on every threshold, next to it, and with missing values are compared too, and for a CSV or Parquet file
    what DuckDB reads from it by itself. The exit status is 1 if any row differs. RULES knows how the text of a
    column becomes numbers, so the options for it need not be repeated.
    """
    from shallowrules.cli.advice import worded
    from shallowrules.cli.summary import show_comparisons
    from shallowrules.rules import RuleSet
    from shallowrules.sources import file_relation, read_table
    from shallowrules.verification import DEFAULT_DIALECTS
    from shallowrules.verification import verify as verify_forms

    with warnings_shown():
        rules = RuleSet.from_json(rules_file)
    reading = gather(ReadingOptions, options)
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    # As they stand, those columns show whether every form of the rules knows how to convert them.
    as_text = [column.name for column in tested if column.converts_text or column.type == "text"]
    with progress(f"reading {show_tables(tables)}"), worded():
        names = [column.name for column in tested] or None
        table = read_table(tables, columns=names, as_text=as_text, **vars(reading))
    same = reading.encoding.lower() in ("utf-8", "utf8") and reading.decimal == "." and not reading.null
    relation = file_relation(tables, reading.delimiter) if same and isinstance(tables, str) else None
    comparisons: list[Comparison] = []
    try:
        with progress("comparing"):
            comparisons.extend(verify_forms(rules, table, dialects or DEFAULT_DIALECTS, relation))
    finally:  # what was compared is worth knowing, also if an engine fails after that
        if comparisons:
            show_comparisons(comparisons)
    wrong = [comparison.form for comparison in comparisons if comparison.disagreements]
    if wrong:
        raise ShallowRulesError(f"not all forms agree with the tree: {'; '.join(wrong)}")

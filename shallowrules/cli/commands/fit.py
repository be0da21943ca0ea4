"""``shallowrules fit``: a table's rules as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.fitting import fit_rules
from shallowrules.cli.naming import NamedRules, check_numbers, files_of_names, names_option
from shallowrules.cli.options.fitting import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options.memory import memory_option
from shallowrules.cli.options.reading import Tables, reading_options, rows_of, table_or_database
from shallowrules.cli.options.settings import repeated_names, settings_option
from shallowrules.cli.options.shared import gather, output_option
from shallowrules.cli.output import check_target, write_result
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.rules import ClusterNames

__all__ = ["command"]


@click.command("fit", short_help="Cluster a table and write its rules as JSON.")
@table_or_database
@fit_options
@method_options
@settings_option
@memory_option
@names_option
@output_option("Write the rules here, not to stdout.")
@reading_options
def command(
    tables: Tables,
    output: Path | None,
    force: bool,
    memory: int | None,
    names: ClusterNames | NamedRules | None,
    **options: Any,
) -> None:
    """Cluster TABLE and write the rules as JSON.

    \b
    Example:
      shallowrules fit wine.csv -k 3 -o rules.json
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.summary import show_rules
    from shallowrules.sources import input_files

    chosen, growing = gather(FitOptions, options), gather(MethodOptions, options)
    names = repeated_names(names)
    check_numbers(names, chosen.clusters)
    rows = rows_of(tables, options)
    check_target(output, *input_files(rows), *files_of_names(names), force=force)
    rules = fit_rules(rows, chosen, growing, gather(Reading, options), memory=memory, names=names)
    write_result(rules.to_json(), output)
    show_rules(rules, [] if output is None else [str(output)], stderr=True)

"""``shallowrules refit``: rules for a newer table, made as earlier ones were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.fitting import fit_rules
from shallowrules.cli.naming import NamedRules, files_of_names, names_option, with_names
from shallowrules.cli.options.fitting import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options.memory import memory_option
from shallowrules.cli.options.reading import Tables, reading_options, rows_of, table_or_database
from shallowrules.cli.options.settings import refuse_without_settings, take_settings
from shallowrules.cli.options.shared import gather, output_option
from shallowrules.cli.output import check_target, show_message, warnings_shown, write_result
from shallowrules.errors import OptionError
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.rules import ClusterNames

__all__ = ["command"]


def _read(context: click.Context, parameter: click.Parameter, path: str) -> NamedRules:
    """Return the rules, and take their settings for the options that are not typed."""
    from shallowrules.rules import RuleSet

    with warnings_shown():
        rules = RuleSet.from_json(path)
    refuse_without_settings(rules, path)
    take_settings(context, rules.settings, path)
    return NamedRules(rules, path, keeps_numbers=True)


@click.command("refit", short_help="Refit rules on a newer table.")
@click.argument("old", metavar="RULES", is_eager=True, callback=_read)
@table_or_database
@fit_options
@method_options
@memory_option
@names_option
@output_option("Write the rules here, not to stdout.")
@reading_options
def command(
    old: NamedRules,
    tables: Tables,
    output: Path | None,
    force: bool,
    memory: int | None,
    names: ClusterNames | NamedRules | None,
    **options: Any,
) -> None:
    """Cluster TABLE with the settings stored in RULES, and write its rules as JSON.

    Options on the command line take precedence. --keep gives a cut with which the new tree has to start. The
    numbers, names and notes of RULES go to the clusters that share the most rows of TABLE with theirs. Edits by hand
    are not repeated.

    \b
    Examples:
      shallowrules refit rules.json customers.csv -o new.json
      shallowrules refit rules.json customers.csv --keep 'income <= 40000' -o new.json
      shallowrules diff rules.json new.json customers.csv
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.summary import show_rules
    from shallowrules.models.pricing import notes_of_edits
    from shallowrules.sources import input_files

    chosen, growing = gather(FitOptions, options), gather(MethodOptions, options)
    if isinstance(names, NamedRules):
        raise OptionError(f"--names: names are kept from {old.path}; give others as a list of number, name and note")
    rows = rows_of(tables, options)
    check_target(output, old.path, *input_files(rows), *files_of_names(names), force=force)
    for note in notes_of_edits(old.rules):
        show_message("note", f"{old.path} was {note}: this is not repeated")
    rules = fit_rules(rows, chosen, growing, gather(Reading, options), memory=memory, names=old)
    rules = with_names(rules, names)
    write_result(rules.to_json(), output)
    show_rules(rules, [] if output is None else [str(output)], stderr=True)

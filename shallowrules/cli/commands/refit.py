"""``shallowrules refit``: rules for a newer table, made as earlier ones were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.fitting import fit_rules
from shallowrules.cli.naming import EarlierRules, NamedRules, files_of_names, names_option, with_names
from shallowrules.cli.options.fitting import FitOptions, MethodOptions, Percentage, fit_options, method_options
from shallowrules.cli.options.memory import memory_option
from shallowrules.cli.options.reading import Tables, reading_options, rows_of, table_or_database
from shallowrules.cli.options.settings import refuse_without_settings, take_settings
from shallowrules.cli.options.shared import gather, output_option
from shallowrules.cli.output import check_target, progress, show_message, warnings_shown, write_result
from shallowrules.cli.results import json_option, json_wanted, report
from shallowrules.errors import OptionError
from shallowrules.files import Reading
from shallowrules.fitting.options import MIN_GAIN

if TYPE_CHECKING:
    from shallowrules.rules import ClusterNames

__all__ = ["command"]


def _read(context: click.Context, parameter: click.Parameter, path: str) -> NamedRules:
    """Return the rules, and use their settings for options that are not typed."""
    from shallowrules.rules import RuleSet

    with warnings_shown():
        rules = RuleSet.from_json(path)
    refuse_without_settings(rules, path)
    take_settings(context, rules.settings, path)
    return NamedRules(rules, path)


@click.command("refit", short_help="Refit rules on a newer table.")
@click.argument("old", metavar="RULES", is_eager=True, callback=_read)
@table_or_database
@fit_options
@method_options
@memory_option
@click.option(
    "--rescale", is_flag=True, help="Scale the columns by this table; by default they keep the scale of RULES' table."
)
@click.option(
    "--min-gain",
    type=Percentage(0, 1, max_open=True),
    default=MIN_GAIN,
    metavar="SHARE",
    help="Take other rules only where they are better by this share of J, the cost and length of rules.  "
    f"[default: {MIN_GAIN:.0%}]",
)
@click.option(
    "--page", type=click.Path(path_type=Path), metavar="FILE", help="Write the page (HTML) of the new rules here, too."
)
@names_option
@output_option("Write the rules here, not to stdout.")
@json_option
@reading_options
def command(
    old: NamedRules,
    tables: Tables,
    output: Path | None,
    force: bool,
    memory: int | None,
    rescale: bool,
    min_gain: float,
    page: Path | None,
    names: ClusterNames | NamedRules | None,
    **options: Any,
) -> None:
    """Fit rules to TABLE that continue from RULES, with their settings; options on the command line take precedence.

    Columns keep their scale, and k-means starts from the centers of RULES. RULES stay as they are unless the same cuts
    with new thresholds, or a new tree, are better by --min-gain, including on rows that these were not fitted to.
    Clusters keep numbers, names and notes by the rows that they share. A table shows which rows change cluster.
    --keep gives a cut with which the new tree has to start.

    \b
    Examples:
      shallowrules refit rules.json customers.csv -o new.json --page new.html
      shallowrules refit rules.json customers.csv --min-gain 5% -o new.json
      shallowrules refit rules.json customers.csv --keep 'income <= 40000' -o new.json
      shallowrules diff rules.json new.json customers.csv
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.figures import rules_of
    from shallowrules.cli.summary import show_flow, show_rules
    from shallowrules.rules.words.editing import notes_of_edits
    from shallowrules.sources import input_files

    chosen, growing = gather(FitOptions, options), gather(MethodOptions, options)
    if isinstance(names, NamedRules):
        raise OptionError(f"--names: names are kept from {old.path}; give others as a list of number, name and note")
    if json_wanted() and output is None:
        raise click.UsageError("--json writes its document to stdout; use -o FILE to write the rules to a file")
    rows = rows_of(tables, options)
    read = [old.path, *input_files(rows), *files_of_names(names)]
    check_target(output, *read, force=force)
    check_target(page, *read, *([] if output is None else [str(output)]), force=force, option="--page")
    for note in notes_of_edits(old.rules):
        show_message("note", f"{old.path} was {note}: this lasts only if the rules stay as they are")
    earlier = EarlierRules(old.rules, old.path, rescale, min_gain)
    rules = fit_rules(rows, chosen, growing, gather(Reading, options), memory=memory, names=earlier)
    rules = with_names(rules, names)
    write_result(rules.to_json(), output)
    if page is not None:
        from shallowrules.exporters import export

        with progress("writing the page"):
            text = export(rules, "html")
        write_result(text, page)
    paths = [str(path) for path in (output, page) if path is not None]
    report(rules_of(rules, paths))
    show_rules(rules, paths, stderr=True)
    show_flow(rules)

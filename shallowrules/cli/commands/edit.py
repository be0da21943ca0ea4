"""``shallowrules edit``: rules changed by hand, and the cost."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shallowrules.cli.fitting import prepare_model, with_table
from shallowrules.cli.options.reading import Tables, show_tables
from shallowrules.cli.options.settings import options_of, with_tables
from shallowrules.cli.options.shared import output_option
from shallowrules.cli.output import check_target, progress, say, warnings_shown, write_result, written_line
from shallowrules.errors import DataError
from shallowrules.files import read_whole

if TYPE_CHECKING:
    from shallowrules.rules import RuleSet

__all__ = ["command"]


def _groups(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Read the numbers of clusters, such as 3,4."""
    try:
        return tuple(tuple(int(number) for number in value.split(",")) for value in values)
    except ValueError:
        raise click.BadParameter(
            "give the numbers of clusters separated by commas, such as 3,4", context, parameter
        ) from None


@click.command("edit", short_help="Change rules by hand, and show the cost.")
@click.argument("rules_file", metavar="RULES")
@click.option(
    "--set",
    "replacements",
    multiple=True,
    metavar="CHANGE",
    help="'COLUMN: OLD -> NEW': change a threshold or a category in all rules; 'COLUMN: NEW' if they test only "
    "one value of it. Write numbers and dates as in the table, or as 50,000. May be repeated.",
)
@click.option(
    "--merge",
    multiple=True,
    metavar="A,B,…",
    callback=_groups,
    help="Merge several clusters into one, which keeps the lowest number. May be repeated.",
)
@click.option(
    "--rename",
    multiple=True,
    metavar="CLUSTER=NAME",
    help="Rename a cluster, given by its number or its name; alone it needs no --table. May be repeated.",
)
@click.option(
    "--rules",
    "text_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="All rules: one per line, as `edit RULES` prints them without further options; or the sheet (report.md), "
    "of which the headings of clusters and the sentences with their rules are read.",
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="TABLE",
    help="The table that RULES were made from, or a newer one, used to measure the effect. May be repeated.",
)
@output_option("Write the rules here, not to stdout.")
def command(
    rules_file: str,
    replacements: tuple[str, ...],
    merge: tuple[tuple[int, ...], ...],
    rename: tuple[str, ...],
    text_file: Path | None,
    tables: tuple[str, ...],
    output: Path | None,
    force: bool,
) -> None:
    """Change RULES by hand. TABLE is clustered again with the settings stored in RULES.

    It says which rows change cluster, and what cost and length of rules were before and are now. Rules that overlap,
    leave a gap or hold for no row are refused. Names and notes stay, unless --rename gives others. With RULES alone it
    prints the rules as text, to be edited and given to --rules.

    \b
    Examples:
      shallowrules edit rules.json --set 'proline: 750 -> 700' --table wine.csv -o new.json
      shallowrules edit rules.json --set 'proline: 700' --merge 3,4 --table wine.csv -o new.json
      shallowrules edit rules.json --rename 0='Light wines' --rename 2='Heavy wines' -o new.json
      shallowrules edit rules.json > rules.txt
      shallowrules edit rules.json --rules rules.txt --table wine.csv -o new.json
      shallowrules edit rules.json --rules report.md --table wine.csv -o new.json
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.rules import RuleSet

    with warnings_shown():
        rules = RuleSet.from_json(rules_file)
    if not (replacements or merge or rename or text_file):
        check_target(output, rules_file, force=force)
        write_result(f"{rules}\n", output)
        return
    if rename and not (replacements or merge or text_file or tables):
        check_target(output, rules_file, force=force)
        _rename(rules, rename, output)
        return
    if not tables:
        raise click.UsageError("Missing option '--table', the table used to measure the effect of the edit")
    from shallowrules.models.pricing import edit_rules

    where: Tables = tables[0] if len(tables) == 1 else tables
    check_target(output, rules_file, *tables, *([] if text_file is None else [str(text_file)]), force=force)
    chosen, growing, reading = options_of(rules, rules_file)
    loaded, model = prepare_model(where, chosen, reading, growing.parameters())
    if rules.flow is not None:  # made by `refit`: their clustering is found again from their own scale and centers
        model.earlier = rules
    with progress(f"measuring the rules on {show_tables(where)}"):
        found = edit_rules(
            rules,
            model,
            loaded.table,
            text=None if text_file is None else _read(text_file, rules),
            replacements=replacements,
            merge=merge,
            rename=rename,
            sample_weight=loaded.weight,
            measure=loaded.measure,
        )
    edited = replace(with_table(found.after, loaded, chosen), settings=with_tables(rules.settings, where))
    write_result(edited.to_json(), output)
    _show(str(found), output)


def _rename(rules: RuleSet, rename: tuple[str, ...], output: Path | None) -> None:
    """Write the rules with other names; everything else stays as it was measured."""
    from shallowrules.rules import changes_between
    from shallowrules.rules.words.editing import edit

    renamed = rules.with_names(edit(rules, rename=rename).names)
    write_result(renamed.to_json(), output)
    _show(str(changes_between(rules, renamed, same_numbers=True)), output)


def _show(changes: str, output: Path | None) -> None:
    """Say what has changed, and where the changed rules are."""
    say(changes)
    if output is not None:
        say(written_line(output))


def _read(path: Path, rules: RuleSet) -> str:
    """Return the rules of a file as text; those of a sheet are written as rules are printed."""
    from shallowrules.exporters.sheet_reading import is_sheet, text_of_sheet

    try:
        text = StringIO(read_whole(path).decode("utf-8-sig"), newline=None).read()  # lines may end as on Windows
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not valid UTF-8 text: {error.reason} at byte {error.start}") from error
    if not is_sheet(text):
        return text
    try:
        return text_of_sheet(text, rules)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error

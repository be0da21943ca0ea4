"""``shallowrules export``: rules in another format."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click
import click.shell_completion

from shallowrules.cli.failures import RefusedOutputError
from shallowrules.cli.naming import NamedRules, files_of_names, names_option, with_names
from shallowrules.cli.options.exporters import ExporterChoice, ExporterCommand
from shallowrules.cli.options.shared import output_option
from shallowrules.cli.output import check_folder, check_target, warnings_shown, write_files, write_result
from shallowrules.errors import OptionError, OptionName, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shallowrules.rules import ClusterNames, RuleSet

__all__ = ["command"]


def _choose(command: ExporterCommand, context: click.Context, arguments: list[str]) -> list[ExporterChoice]:
    """Return the exporter that the arguments name as FORMAT, if they do.

    Only the exporter's options tell arguments from values of options, so each exporter that is named anywhere is
    tried.
    """
    from shallowrules.exporters import exporter_names, get_exporter

    installed = exporter_names()
    named = [word for word in dict.fromkeys(arguments) if word in installed]
    help_words = set(context.help_option_names)
    asks_for_help = bool(help_words & set(arguments))
    words = [word for word in arguments if word not in help_words]
    fallback: list[ExporterChoice] = []
    for name in named:
        choice = ExporterChoice(get_exporter(name))
        command.offer(context, [choice], words)
        try:
            values, _, _ = command.make_parser(context).parse_args(list(words))
        except click.UsageError:
            fallback = fallback or [choice]
            continue
        if values.get("format_name") == name:
            return [ExporterChoice(choice.exporter)]
        if asks_for_help or (values.get("rules_file") == name and not values.get("format_name")):
            fallback = fallback or [choice]
    return [ExporterChoice(choice.exporter) for choice in fallback]


class _Format(click.types.StringParamType):
    """The name of an exporter, which a shell completes."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        from shallowrules.exporters import exporter_names

        return [click.shell_completion.CompletionItem(name) for name in exporter_names() if name.startswith(incomplete)]


@click.command(
    "export",
    cls=ExporterCommand,
    choose=_choose,
    short_help="Write rules as SQL, Python, Markdown, …",
    epilog="`shallowrules export FORMAT --help` shows the options of a FORMAT.",
)
@click.argument("rules_file", metavar="RULES")
@click.argument("format_name", metavar="FORMAT", type=_Format())
@output_option("Write to this file, not to stdout; to this folder, where FORMAT gives several files.")
@names_option
@click.option(
    "--database",
    metavar="URL",
    help="Write SQL for the types that the columns of FORMAT's --table have in this database.",
)
@click.option(
    "--migration",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write SQL that keeps clusters in a database as a migration into this folder: an up and a down file.",
)
@click.option(
    "--vectors",
    is_flag=True,
    help="Write rows at the limits of the rules with their clusters (.vectors.json) and the schema of a row "
    "(.schema.json) beside the file of -o, or beside the first of several; for python also a test for pytest, for "
    "javascript one for node --test.",
)
@click.pass_obj
def command(
    chosen: list[ExporterChoice],
    /,
    rules_file: str,
    format_name: str,
    output: Path | None,
    force: bool,
    names: ClusterNames | NamedRules | None,
    database: str | None,
    migration: Path | None,
    vectors: bool,
) -> None:
    """Write the rules of a rules.json in another FORMAT; `shallowrules exporters` lists them.

    \b
    Examples:
      shallowrules export rules.json sql --dialect postgres --table sales.customers --style select
      shallowrules export rules.json sql --database postgresql://localhost/shop --table customers
      shallowrules export rules.json sql --column 'alcohol=ALC' -o rules.sql
      shallowrules export rules.json sql --dialect postgres --table customers --style view --migration migrations
      shallowrules export rules.json python --function-name segment -o segments.py
      shallowrules export rules.json python -o rules.py --vectors
      shallowrules export rules.json markdown --title 'Customer segments' --names names.csv
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.exporters import export_by, get_exporter
    from shallowrules.rules import RuleSet

    get_exporter(format_name)  # an unknown one is refused before anything is read
    if vectors and migration is not None:
        raise click.UsageError(
            "--vectors and --migration exclude each other: a folder of migrations holds only SQL; use --vectors with -o"
        )
    [choice] = chosen
    with warnings_shown():
        rules = with_names(RuleSet.from_json(rules_file), names)
    read = [rules_file, *choice.paths, *files_of_names(names)]
    with choice.as_typed(), _named_by_file(choice, output):
        settings = choice.settings(_stem(choice, output)) if database is None else _typed(choice, database)
        if migration is None:
            exported = export_by(choice.exporter, rules, settings)
        else:
            exported, output = _migration(choice, rules, settings, output), migration
    if not isinstance(exported, str | bytes):
        if output is None:
            raise click.UsageError(
                f"{format_name} gives {counted(len(exported), 'file')}: name a folder for them (-o DIR)"
            )
        files = _with_vectors(choice, rules, settings, exported) if vectors else exported
        check_folder(output, list(files), *read, force=force)
        write_files(output, files)
    elif vectors:
        if output is None:
            raise click.UsageError("--vectors writes files beside that of -o: name it (-o FILE)")
        _write_beside(output, _with_vectors(choice, rules, settings, {output.name: exported}), read, force)
    else:
        check_target(output, *read, force=force)
        write_result(exported, output)


def _stem(choice: ExporterChoice, output: Path | None) -> dict[str, str]:
    """Return the name of the file without its extension as a fact; OptionError if an option has another name."""
    if output is None:
        return {}
    facts = {"stem": output.stem}
    for option in choice.following(facts):
        named = choice.given.get(option)
        if named and named != output.stem:
            way_out = (", or use ", OptionName(option), f" {output.stem}") if output.stem.isidentifier() else ()
            raise OptionError(
                OptionName(option),
                f" {named!r} has to be the name of the file too: name the file {named}{output.suffix}",
                *way_out,
            )
    return facts


@contextmanager
def _named_by_file(choice: ExporterChoice, output: Path | None) -> Iterator[None]:
    """Word the refusal of a name that an option has from the file as one of the file's name."""
    try:
        yield
    except OptionError as error:
        if (
            output is None
            or error.option in choice.given
            or error.option not in choice.following({"stem": output.stem})
        ):
            raise
        said = error.worded(lambda option: "").lstrip()
        raise OptionError(f"-o {output}: the file must have the name of what it defines, and {said}") from error


def _typed(choice: ExporterChoice, database: str) -> dict[str, Any]:
    """Return the options, with the dialect of a database and the types that it declares for the table's columns."""
    from shallowrules.labelling.column_types import table_facts
    from shallowrules.sources import DatabaseRows

    if "types" not in choice.facts:
        raise click.UsageError(f"{choice.name} does not depend on the types of columns; omit --database")
    table = choice.given_for("table")
    if table is None:
        raise click.UsageError("--database needs --table, the table whose column types are read")
    return {**choice.following(table_facts(DatabaseRows(database, table))), **choice.given}


def _with_vectors(
    choice: ExporterChoice, rules: RuleSet, settings: dict[str, Any], exported: Mapping[str, str | bytes]
) -> dict[str, str | bytes]:
    """Return exported files and, beside the first, the test vectors, the schema of a row, and the exporter's test."""
    from shallowrules.exporters.vectors import row_schema, vectors

    first = PurePosixPath(next(iter(exported)))
    name = f"{first.stem}.vectors.json"
    write_test = getattr(choice.exporter(), "vectors_test", None)
    beside = {
        name: vectors(rules),
        f"{first.stem}.schema.json": row_schema(rules),
        **({} if write_test is None else write_test(rules, first.name, name, **settings)),
    }
    return {**exported, **{str(first.with_name(each)): text for each, text in beside.items()}}


def _write_beside(output: Path, files: dict[str, str | bytes], read: list[str], force: bool) -> None:
    """Write a file and those that go beside it; where one is a link, the file that it leads to, as ``-o`` does."""
    folder, written = output.parent, dict(files)
    for name in files:
        check_target(folder / name, *read, force=True)
        if (folder / name).exists() and not (folder / name).is_file():
            raise RefusedOutputError(
                f"{folder / name} is a pipe or a device; --vectors writes files: name another (-o)", "-o"
            )
    check_folder(folder, list(files), *read, force=force)
    for name in files:
        if (folder / name).is_symlink():
            write_result(written.pop(name), folder / name)
    write_files(folder, written)


def _migration(choice: ExporterChoice, rules: RuleSet, settings: dict[str, Any], output: Path | None) -> dict[str, str]:
    """Return the files of a migration."""
    from shallowrules.exporters.sql import write_migration

    if choice.name != "sql" or output is not None:
        raise click.UsageError("--migration DIR is for sql, in place of -o")
    return write_migration(rules, **settings)

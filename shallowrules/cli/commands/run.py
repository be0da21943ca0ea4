"""``shallowrules run``: the main task, a table's rules in every format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.advice import listed
from shallowrules.cli.escaping import as_utf8
from shallowrules.cli.fitting import PageExtras, fit_with_slider
from shallowrules.cli.modules import loading_modules
from shallowrules.cli.naming import NamedRules, check_numbers, files_of_names, names_option
from shallowrules.cli.options.exporters import ExporterChoice, ExporterCommand, prefix_of
from shallowrules.cli.options.fitting import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options.memory import memory_option
from shallowrules.cli.options.reading import (
    Tables,
    reading_options,
    rows_of,
    show_tables,
    table_or_database,
)
from shallowrules.cli.options.settings import (
    PAGE,
    RUN_SETTINGS_FILE,
    exporters_of_settings,
    repeated_names,
    settings_option,
    settings_text,
)
from shallowrules.cli.options.shared import gather, output_option, split_list, values_typed
from shallowrules.cli.output import check_folder, progress, show_message, write_files
from shallowrules.cli.results import json_option, report
from shallowrules.errors import OptionError
from shallowrules.files import RULES_FILE, STANDARD_INPUT, Reading

if TYPE_CHECKING:
    from shallowrules.rules import ClusterNames, RuleSet
    from shallowrules.sources import DatabaseRows

__all__ = ["command"]

WRITTEN = "sql,python,markdown,html"
"""The exporters whose files are written unless the user names others."""


def _choose(command: ExporterCommand, context: click.Context, arguments: list[str]) -> list[ExporterChoice]:
    """Return the exporters to write; none is imported to show the help, unless it is named."""
    named = values_typed("--write", arguments)
    if not named and (kept := values_typed("--settings", arguments)):
        named = [listed([name]) for name in exporters_of_settings(kept[-1]) or ()]
    elif not named:
        named = (context.default_map or {}).get("write", [])
    if not named and set(context.help_option_names) & set(arguments):
        return []
    names = _split_names(named or [WRITTEN])
    with loading_modules():
        from shallowrules.exporters import get_exporter

        exporters = [get_exporter(name) for name in names]
    return [
        ExporterChoice(exporter, prefix_of(name), required=bool(named))
        for name, exporter in zip(names, exporters, strict=True)
    ]


def _split_names(values: Sequence[str]) -> list[str]:
    """Return the names in comma-separated lists, each once."""
    return list(dict.fromkeys(name.strip() for name in split_list(values) if name.strip()))


@click.command(
    "run",
    cls=ExporterCommand,
    choose=_choose,
    usual=_split_names([WRITTEN]),
    short_help="Cluster a table and write its rules in every format.",
    epilog="The exporters that --write names have options of their own, prefixed with the exporter's name: "
    "--sql-dialect postgres, --markdown-title X. Those of sql also work without the prefix: --dialect, --table, "
    "--style, --column, --cluster-column. `shallowrules run --write NAMES --help` shows them, "
    "`shallowrules exporters` lists the exporters.",
)
@table_or_database
@fit_options
@method_options
@settings_option
@memory_option
@names_option
@output_option("Folder to write to. [default: STEM_rules]", "DIR")
@click.option(
    "--write",
    multiple=True,
    metavar="A,B,…",
    expose_value=False,
    help=f"Exporters whose files are written beside {RULES_FILE}. May be repeated.  [default: {WRITTEN}]",
)
@click.option(
    "--slider/--no-slider",
    default=PAGE["slider"],
    show_default=True,
    help="Give the page a slider over trees of other trade-offs and of one or two more rules, if growing them visits "
    "at most as many rows as the fit does, or 600 million values.",
)
@click.option(
    "--sample-rows",
    type=click.IntRange(0, 5000),
    default=PAGE["sample_rows"],
    metavar="N",
    help="Show N rows, at most 5,000, as points on the page: two projected coordinates and the cluster, no "
    "values.  [default: 0, so that a page that is passed on holds no rows]",
)
@json_option
@reading_options
@click.pass_obj
def command(
    chosen: list[ExporterChoice],
    /,
    tables: Tables,
    output: Path | None,
    force: bool,
    table: str | None,
    memory: int | None,
    names: ClusterNames | NamedRules | None,
    slider: bool,
    sample_rows: int,
    **options: Any,
) -> None:
    """Cluster TABLE and write rules.json and, by default, SQL, Python, a sheet and a page (--write).

    \b
    Examples:
      shallowrules run wine.csv -k 3
      shallowrules run customers.csv -k 6 --exclude customer_id,city --scale standard
      shallowrules run customers.csv --labels segment --exclude customer_id,city
      shallowrules run customers.csv -k 6 --names names.csv
      shallowrules run customers.csv -k 6 --write sql,markdown --sql-dialect postgres
      shallowrules run 'daten.csv' -k 4 --delimiter ';' --decimal , --drop-missing
      shallowrules run --database postgresql://me@localhost/shop --table visits -k 4
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.figures import rules_of
    from shallowrules.cli.summary import show_rules
    from shallowrules.sources import input_files

    names = repeated_names(names)
    rows = rows_of(tables, {"table": table, **options})
    wanted = {fact for choice in chosen for fact in choice.facts}
    stem, facts = _known_of(rows, table, wanted)
    fitting, growing = gather(FitOptions, options), gather(MethodOptions, options)
    check_numbers(names, fitting.clusters)
    if tables and table is not None and "table" not in wanted:
        raise click.UsageError("--table names the table in SQL, which is not written (--write)")
    folder = output if output is not None else Path(f"{stem}_rules")
    reading = gather(Reading, options)
    files = _check_distinct({choice.name: [_file_of(choice)] for choice in chosen if choice.exporter.file_extension})
    _check_values(chosen, facts)
    read = [*input_files(rows), *files_of_names(names), *(path for choice in chosen for path in choice.paths)]
    check_folder(folder, files, *read, force=force)
    open_facts = {fact for choice in chosen for fact in choice.facts if choice.given_for(fact) is None}
    page = PageExtras(slider and "trees" in open_facts, sample_rows if "points" in open_facts else 0)
    check = partial(_check_columns, chosen, facts)
    rules, found = fit_with_slider(rows, fitting, growing, reading, check=check, memory=memory, names=names, page=page)
    facts |= found
    if not tables:  # the rules name no database
        facts["made"] = as_utf8(show_tables(rows))
    with progress("writing the rules"):
        written, left_out = _export(chosen, rules, facts)
        named = _check_distinct(written)
        check_folder(folder, [name for name in named if name not in files], *read, force=force)
        settings = settings_text(
            folder,
            rules.settings,
            tables=tables,
            table=table if tables else None,
            memory=memory,
            page={"slider": slider, "sample_rows": sample_rows},
            clusters=None if names is None else rules.clusters,
            chosen=[choice for choice in chosen if choice.name in written],
        )
        contents = [content for given in written.values() for content in given.values()]
        write_files(folder, dict(zip(named, [rules.to_json(), settings, *contents], strict=True)))
    for message in left_out:
        show_message("warning", message)
    paths = [str(folder / name) for name in named]
    report(rules_of(rules, paths))
    show_rules(rules, paths)


def _check_values(chosen: Sequence[ExporterChoice], facts: Mapping[str, Any]) -> None:
    """Report a wrong value of an exporter's option before the work."""
    for choice in chosen:
        with choice.as_typed():
            choice.exporter.options(**choice.settings(facts))


def _check_columns(chosen: Sequence[ExporterChoice], facts: Mapping[str, Any], names: Sequence[str]) -> None:
    """Report options of exporters that do not go with the names of the columns, as soon as these are known."""
    for choice in chosen:
        check = getattr(choice.exporter(), "check_columns", None)
        if check is not None:
            with choice.as_typed():
                check(names, **choice.settings(facts))


def _export(
    chosen: Sequence[ExporterChoice], rules: RuleSet, facts: Mapping[str, Any]
) -> tuple[dict[str, Mapping[str, str | bytes]], list[str]]:
    """Return the files of each exporter by its name, and why those that nobody asked for are not written."""
    from shallowrules.exporters import export_by

    written: dict[str, Mapping[str, str | bytes]] = {}
    left_out: list[str] = []
    for choice in chosen:
        try:
            with choice.as_typed():
                exported = export_by(choice.exporter, rules, choice.settings(facts))
        except click.UsageError:
            raise
        except click.ClickException as error:  # these rules cannot be written in that format
            if choice.required:
                raise
            left_out.append(f"{_file_of(choice)} is not written: {error.message}")
            continue
        if isinstance(exported, str | bytes):
            exported = {_file_of(choice): exported}
        written[choice.name] = exported
    return written, left_out


def _file_of(choice: ExporterChoice) -> str:
    """Return the name of the file for an exporter's output, where that is a single file."""
    stem = choice.given_for("stem") or getattr(choice.exporter, "file_stem", "rules")
    return f"{stem}{choice.exporter.file_extension}"


def _check_distinct(files: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the files of a run: the rules themselves, and those of each exporter; OptionError if two share a name."""
    from shallowrules.exporters.exported import find_clash

    claims = [("the rules themselves", RULES_FILE), ("the settings", RUN_SETTINGS_FILE)]
    claims += [(f"those of exporter {name!r}", file) for name, given in files.items() for file in given]
    names = [file for _, file in claims]
    clash = find_clash(names)
    if clash is not None:
        (first, _), (second, file) = (claims[place] for place in clash)
        raise OptionError(
            f"--write: {second.removeprefix('those of ')} writes {file}, and so do {first}; "
            "write one of them with `shallowrules export`"
        )
    return names


def _known_of(rows: Tables | DatabaseRows, table: str | None, wanted: Set[str]) -> tuple[str, dict[str, Any]]:
    """Return the name of the folder, and the facts about the rows, by the name of each `Fact`.

    The table's name in SQL is that of --sql-table, --table, or the file.
    """
    from shallowrules.sources import DatabaseRows

    if not isinstance(rows, DatabaseRows):
        stem = _stem(rows)
        return stem, {"table": [as_utf8(stem)] if table is None else table}
    facts: dict[str, Any] = {"table": rows.name_parts or ["query"]}
    if "dialect" in wanted:  # only then is the exporter of SQL imported
        from shallowrules.exporters.sql import dialect_of_database

        if (dialect := dialect_of_database(rows.backend)) is not None:
            facts["dialect"] = dialect
            if "types" in wanted and rows.name_parts:
                from shallowrules.labelling.column_types import table_facts

                facts |= table_facts(rows)
    return re.sub(r"[^\w. -]", "_", facts["table"][-1]), facts


def _stem(tables: Tables) -> str:
    """Return the name of the first file without folder and endings; of a pattern, without its wildcards."""
    path = Path(tables if isinstance(tables, str) else tables[0])
    if str(path) == STANDARD_INPUT:
        return "table"
    if path.exists() or not has_magic(str(path)):
        name = path.resolve().name if path.is_dir() else path.name.removesuffix(".gz")
        return Path(name).stem or name
    plain = [re.sub(r"\[[^]]*\]|[*?]", "", Path(part).stem).strip(" -_.") for part in reversed(path.parts)]
    return next((part for part in plain if part.strip("/")), "table")

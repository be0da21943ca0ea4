"""``shallowrules run``: the main job, a table's rules in every form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from shallowrules.cli.fitting import fit_rules
from shallowrules.cli.fitting_options import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options import ExportOptions, export_options, force_option, gather
from shallowrules.cli.output import check_folder, progress, write_files
from shallowrules.cli.reading_options import ReadingOptions, reading_options
from shallowrules.errors import ExportError, OptionError

__all__ = ["command"]


@click.command("run", short_help="Cluster a table and write its rules in every form.")
@click.argument("table_file", metavar="TABLE")
@fit_options
@method_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write to. [default: STEM_rules]"
)
@force_option
@export_options
@reading_options
def command(table_file: str, output: Path | None, force: bool, **options: Any) -> None:
    """Cluster TABLE and write rules.json, rules.sql, rules.py and report.md.

    \b
    Examples:
      shallowrules run wine.csv -k 3
      shallowrules run customers.csv -k 6 --exclude customer_id,city --scale standard
      shallowrules run customers.csv --labels segment --exclude customer_id,city
      shallowrules run 'daten.csv' -k 4 --delimiter ';' --decimal , --drop-missing
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.summary import show_rules
    from shallowrules.exporters import export as export_rules
    from shallowrules.exporters import get_exporter

    stem = _stem(table_file)
    chosen, growing = gather(FitOptions, options), gather(MethodOptions, options)
    exporting = gather(ExportOptions, options).given()
    folder = output if output is not None else Path(f"{stem}_rules")
    files = ("rules.json", "rules.sql", "rules.py", "report.md")
    settings = get_exporter("sql").options(**exporting)  # a wrong value is to be known before the work
    check_folder(folder, files, force)
    reading = gather(ReadingOptions, options)
    rules = fit_rules(table_file, chosen, growing, reading, lambda names: _check_names(names, settings))
    with progress("writing the rules"):
        texts = (
            rules.to_json(),
            export_rules(rules, "sql", **{"table": [stem], **exporting}),
            export_rules(rules, "python"),
            export_rules(rules, "markdown"),
        )
        write_files(folder, dict(zip(files, texts, strict=True)))
    show_rules(rules, [str(folder / name) for name in files])


def _check_names(names: Sequence[str], settings: Any) -> None:
    """Refuse, before the work, what SQL would refuse after it whatever the rules are."""
    unknown = [old for old in settings.columns if old not in names]
    if unknown:
        raise OptionError(
            f"--column renames {', '.join(map(repr, unknown))}, which the rules do not have; "
            f"their columns are: {', '.join(map(repr, names))}"
        )
    if settings.style != "select":
        return
    for name in (settings.columns.get(old, old) for old in names):
        if name.casefold() == settings.cluster_column.casefold():
            raise ExportError(
                f"the table already has a column {name!r}: name the new one otherwise by --cluster-column"
            )


def _stem(path: str) -> str:
    """Return a file's name without folder and endings."""
    name = Path(path).name.removesuffix(".gz")
    return Path(name).stem or name

"""``shallowrules export``: rules in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shallowrules.cli.options import ExportOptions, export_options, gather
from shallowrules.cli.output import check_target, write_result

__all__ = ["command"]


@click.command("export", short_help="Write rules as SQL, Python, Markdown, …")
@click.argument("rules_file", metavar="RULES")
@click.argument("format_name", metavar="FORMAT")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the text here, not to stdout."
)
@export_options
@click.option("--template", metavar="FILE", help="Your own jinja2 template; trusted like a program.")
def command(rules_file: str, format_name: str, output: Path | None, template: str | None, **options: Any) -> None:
    """Write the rules of a rules.json in another FORMAT; `shallowrules exporters` lists them.

    \b
    Examples:
      shallowrules export rules.json sql --dialect postgres --table sales.customers --style select
      shallowrules export rules.json sql --column 'alcohol=ALC' -o rules.sql
      shallowrules export rules.json python -o rules.py
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.exporters import export as export_rules
    from shallowrules.rules import RuleSet

    check_target(output, rules_file, *([] if template is None else [template]))
    rules = RuleSet.from_json(rules_file)
    given = gather(ExportOptions, options).given()
    if template is not None:
        given["template"] = template
    write_result(export_rules(rules, format_name, **given), output)

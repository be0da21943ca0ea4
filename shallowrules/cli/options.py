"""What the modules of options share, and the options of several commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

__all__ = ["ExportOptions", "export_options", "force_option", "gather", "together"]

Command = TypeVar("Command", bound=Callable[..., Any])
Options = TypeVar("Options")


@dataclass(frozen=True)
class ExportOptions:
    """Options for an exporter; None and nothing renamed leave the exporter its own default."""

    dialect: str | None
    table: str | None
    style: str | None
    renamed: dict[str, str]
    cluster_column: str | None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, as `shallowrules.export` takes them."""
        named = {
            "dialect": self.dialect,
            "table": self.table,
            "style": self.style,
            "columns": self.renamed or None,
            "cluster_column": self.cluster_column,
        }
        return {name: value for name, value in named.items() if value is not None}


def gather(kind: type[Options], values: Mapping[str, Any]) -> Options:
    """Return a command's option values as a dataclass of options."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: values[name] for name in names})


def _renamed(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    renamed = {}
    for pair in pairs:
        old, _, new = pair.rpartition("=")
        if not (old and new):
            raise click.BadParameter(f"{pair!r} is not OLD=NEW", context, parameter)
        renamed[old] = new
    return renamed


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command several options, in their order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# The options of `ExportOptions`.
export_options = together(
    click.option("--dialect", metavar="NAME", help="SQL: duckdb, sqlite, postgres, mysql, …  [default: ansi]"),
    click.option("--table", metavar="NAME", help="SQL: name of the table in the database."),
    click.option(
        "--style", metavar="NAME", help="SQL: where (a predicate per cluster), case (an expression), select (a query)."
    ),
    click.option(
        "--column",
        "renamed",
        multiple=True,
        metavar="OLD=NEW",
        callback=_renamed,
        help="SQL: name of a column in the database. May be repeated.",
    ),
    click.option(
        "--cluster-column", metavar="NAME", help="SQL: name of the column that select adds.  [default: cluster]"
    ),
)


force_option = click.option("--force", is_flag=True, help="Replace files without asking.")

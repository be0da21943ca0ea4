"""The commands, one module each: a command reads, calls the package, and writes.

A command is the attribute ``command`` of the module of its name, and is imported when it is asked for. What a command
needs of the package it imports when it runs, so that its help is quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from shallowrules.cli.escaping import printable
from shallowrules.cli.exporter_options import spell_plainly
from shallowrules.cli.options import TYPED
from shallowrules.errors import OptionError, OptionName, ShallowRulesError

__all__ = ["shallowrules"]

NAMES = (
    "clusters",
    "diff",
    "drift",
    "edit",
    "explain",
    "export",
    "exporters",
    "fit",
    "label",
    "path",
    "refit",
    "run",
    "sample",
    "verify",
)


class Commands(click.Group):
    """Loads a command when it is asked for; turns what the package raises into a message and an exit status."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, so that a message can propose a whole command."""
        ctx.meta[TYPED] = list(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, sorted."""
        return sorted(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, None for a name that is not known."""
        if cmd_name not in NAMES:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Read the options before the command, and word what is wrong with them for a terminal."""
        with _printable(arguments[1]):
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and word what goes wrong for a terminal."""
        with _printable(ctx.meta[TYPED]):
            return self._run(ctx)

    def _run(self, ctx: click.Context) -> Any:
        """Run the command; 2 for a wrong option, 1 for anything else that is wrong."""

        def spell(option: OptionName) -> str:
            return spell_plainly(option, self.get_command(ctx, ctx.invoked_subcommand or ""))

        try:
            return super().invoke(ctx)
        except OptionError as error:
            raise click.UsageError(error.worded(spell)) from error
        except ShallowRulesError as error:
            raise click.ClickException(error.worded(spell)) from error
        except UnicodeEncodeError as error:
            raise click.ClickException(f"the text cannot be written as UTF-8: {error.reason}") from error
        except BrokenPipeError:
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(f"{where}{error.strerror or error}") from error


@contextmanager
def _printable(typed: Sequence[str]) -> Iterator[None]:
    """Take out of an error's message what a terminal would obey, and passwords: it may quote what was typed or read."""
    typed = list(typed)  # which is used up by parsing
    try:
        yield
    except click.ClickException as error:
        message = error.message
        if any("://" in word for word in typed):  # else no source is imported to say what is wrong
            from shallowrules.sources.connecting import hide_typed_passwords

            message = hide_typed_passwords(message, typed)
        vars(error)["message"] = printable(message)
        raise


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        try:
            click.echo(f"shallowrules {version('shallowrules')}")
        except PackageNotFoundError:
            raise click.ClickException("shallowrules is not installed, so that its version is not known") from None
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Show the version."
)
def shallowrules() -> None:
    """Explain a k-means clustering by a few short rules, as SQL, Python and Markdown.

    \b
    Examples:
      shallowrules sample wine -o wine.csv
      shallowrules run wine.csv -k 3
      shallowrules verify wine_rules/rules.json wine.csv
      shallowrules export wine_rules/rules.json sql --dialect postgres --table wines

    TABLE is a CSV, Parquet or JSON file (also .gz), a folder of them or a quoted pattern such as 'sales/*.parquet',
    or several of these: their rows are one table; - is standard input. In a folder, rules and folders of
    results are left out. Results go to stdout or the named file, everything else to stderr. The exit status is 0,
    1 for an error or 2 for a wrong option.
    """  # noqa: D301 (click wants a backspace)

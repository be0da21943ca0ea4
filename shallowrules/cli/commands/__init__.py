"""The commands, one module each: a command reads, calls the package, and writes.

A command is the attribute ``command`` of the module of its name, and is imported when it is asked for. A command
imports the parts of the package that it needs when it runs, so that its help is quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

import click

from shallowrules.cli.escaping import printable, spell_plainly
from shallowrules.cli.failures import DONE, INTERRUPTED, STOPPED, failure_text
from shallowrules.cli.options.shared import FILE_NAME, TYPED
from shallowrules.cli.options.verbosity import end_log, log_misuse, log_shown, verbosity_options
from shallowrules.cli.output import FindingsReported
from shallowrules.cli.results import record_command, recording
from shallowrules.errors import OptionError, OptionName, ShallowRulesError
from shallowrules.files import folder_settings

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
    """Loads a command when it is asked for; turns the package's exceptions into a message and an exit status."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the command line, so that a message can propose a whole command."""
        ctx.meta[TYPED] = list(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, sorted."""
        return sorted(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, None for a name that is not known."""
        return _command(cmd_name) if cmd_name in NAMES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and let its options have the folder's defaults; a fault in these does not keep its help."""
        name, command, rest = super().resolve_command(ctx, args)
        record_command(command)
        try:
            if name is not None and (found := folder_settings()) is not None:
                from shallowrules.cli.options.defaults import folder_defaults

                ctx.default_map = {name: folder_defaults(ctx, name, found, _command, NAMES)}
        except ShallowRulesError:
            if not {*ctx.help_option_names} & {*rest}:
                raise
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors spell options as this command does."""

        def spell(option: OptionName) -> str:
            return spell_plainly(option, self.get_command(ctx, ctx.invoked_subcommand or ""))

        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _add_origins(ctx, error)
            raise
        except OptionError as error:
            worded = click.UsageError(error.worded(spell))
            _add_origins(ctx, worded)
            raise worded from error
        except ShallowRulesError as error:
            raise click.ClickException(error.worded(spell)) from error

    def main(
        self, args: Sequence[str] | None = None, *arguments: Any, signals: Sequence[int] = (), **settings: Any
    ) -> NoReturn:
        """Run the command line and exit; anything raised becomes a message and one of the exit statuses.

        `signals` are those that ended the process, if any.
        """
        typed = list(sys.argv[1:] if args is None else args)  # a list of arguments is used up by parsing
        failure: BaseException | None = None
        with recording(typed) as record:
            try:
                status = super().main(args, *arguments, **settings | {"standalone_mode": False}) or DONE
            except click.Abort as error:
                failure = error
                status = INTERRUPTED if isinstance(error.__context__, KeyboardInterrupt) else STOPPED
            except click.ClickException as error:
                failure = error
                status = error.exit_code if isinstance(error, click.UsageError | FindingsReported) else STOPPED
            except SystemExit as end:  # click's own, for a closed pipe and for completion in a shell
                failure = end.__context__
                status = STOPPED if end.code else DONE
            except Exception as error:
                failure = click.ClickException(failure_text(error))
                failure.__cause__ = error
                status = STOPPED
            status = 128 + signals[0] if signals else status
            stopped = None if isinstance(failure, FindingsReported) else failure
            document = record.document(status, stopped, partial(_hide, typed)) if record.wanted else None
            if isinstance(failure, click.Abort):
                click.echo("Aborted!", err=True)
            elif isinstance(failure, click.ClickException):
                if isinstance(failure, click.UsageError):
                    log_misuse(typed)
                _show(failure, typed)
        if document is not None and not _write(document):
            status = STOPPED
        end_log(status)
        sys.exit(status)


def _add_origins(context: click.Context, error: click.UsageError) -> None:
    """Let an error say which of the options that it names are given by the folder's file."""
    if context.default_map:
        from shallowrules.cli.options.defaults import given_by_file

        vars(error)["message"] = error.message + given_by_file(context, error.format_message())


@cache
def _command(name: str) -> click.Command:
    """Return a command with the options that all have; a shell completes arguments as names of files."""
    command: click.Command = import_module(f"{__name__}.{name}").command
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and parameter.type is click.STRING:
            parameter.type = FILE_NAME
    command.params = [*command.params, *verbosity_options()]
    return command


def _show(error: click.ClickException, typed: Sequence[str]) -> None:
    """Show an error without terminal control sequences and passwords: it may quote the command line or a file."""
    vars(error)["message"] = printable(_hide(typed, error.message))
    log_shown("error", error.format_message())
    error.show()


def _hide(typed: Sequence[str], text: str) -> str:
    """Return a text without the passwords of the command line."""
    if not any("://" in word for word in typed):  # do not import sources for any other text
        return text
    from shallowrules.sources.connecting import hide_typed_passwords

    return hide_typed_passwords(text, typed)


def _write(document: str) -> bool:
    """Write the document of --json; return whether it could be written."""
    try:
        if sys.stdout is None:
            raise OSError("stdout is closed, so the document of --json is not written")
        click.echo(document, nl=False)
    except OSError as error:
        sys.stdout = None  # at the end Python would try again
        click.echo(f"Error: {failure_text(error)}", err=True)
        return False
    return True


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        try:
            click.echo(f"shallowrules {version('shallowrules')}")
        except PackageNotFoundError:
            raise click.ClickException("shallowrules is not installed, so its version is unknown") from None
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
    a sheet of a workbook (.xlsx, .xls, .ods), or several of these, whose rows form one table; - is standard input. In
    a folder, workbooks, rules and folders of results are skipped. Results go to stdout or the named file, everything
    else to stderr. The exit status is 0 for success, 1 if verify, drift or diff found something, 2 for a usage
    error, 3 for any other error and 130 for an interrupt.
    """  # noqa: D301 (click wants a backspace)

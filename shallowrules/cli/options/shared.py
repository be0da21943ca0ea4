"""Code shared by the modules of options, and the options of several commands."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click
import click.shell_completion

__all__ = [
    "FILE_NAME",
    "TYPED",
    "GroupedCommand",
    "NumberRange",
    "answer_options",
    "columns_option",
    "force_option",
    "gather",
    "listed_names",
    "measure_option",
    "output_option",
    "seed_option",
    "split_at_dashes",
    "split_list",
    "split_pair",
    "together",
    "typed_arguments",
    "values_typed",
    "write_options",
]


Command = TypeVar("Command", bound=Callable[..., Any])
Options = TypeVar("Options")

TYPED = "shallowrules.cli: arguments as typed"
"""The key under which a context keeps the arguments after ``shallowrules``."""


def typed_arguments() -> list[str] | None:
    """Return the arguments after ``shallowrules``, None outside of a command."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(TYPED)


def split_at_dashes(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words before ``--``, where options stand, and the others: ``--`` and the arguments after it."""
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end:]


def values_typed(option: str, arguments: Sequence[str]) -> list[str]:
    """Return the values of an option in their order, before all options are known and can be parsed."""
    words, _ = split_at_dashes(arguments)
    values: list[str] = []
    for place, word in enumerate(words):
        if word == option:
            values += words[place + 1 : place + 2]
        elif word.startswith(f"{option}="):
            values.append(word.removeprefix(f"{option}="))
    return values


def gather(kind: type[Options], values: Mapping[str, Any]) -> Options:
    """Return a command's option values as a dataclass of options."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: values[name] for name in names})


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command several options, in their order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def write_options(
    context: click.Context, formatter: click.HelpFormatter, groups: Mapping[str, Sequence[click.Parameter]]
) -> None:
    """Write the help of options under headings; nothing for a group without any."""
    for heading, parameters in groups.items():
        records = [record for parameter in parameters if (record := parameter.get_help_record(context))]
        if records:
            with formatter.section(heading):
                formatter.write_dl(records)


class GroupedCommand(click.Command):
    """A command whose help has some options under headings of their own.

    Parameters
    ----------
    groups : mapping from str to sequence of str
        The names of parameters, by heading.
    """

    def __init__(self, *arguments: Any, groups: Mapping[str, Sequence[str]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that are in no group first."""
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        grouped = {name for names in self.groups.values() for name in names}
        found: dict[str, list[click.Parameter]] = {"Options": [o for o in options if o.name not in grouped]}
        for heading, names in self.groups.items():
            found[heading] = [option for option in options if option.name in names]
        write_options(ctx, formatter, found)


def split_list(values: Iterable[str]) -> list[str]:
    """Return the fields between the commas of option values; those with a comma are in double quotes."""
    try:
        return [field for row in csv.reader(values) for field in row]
    except csv.Error as error:
        raise click.UsageError(
            f"a list of names and values cannot be read: {error}; put it in double quotes"
        ) from error


def listed_names(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of an option's lists, as a callback of the option."""
    return tuple(filter(None, split_list(values)))


def split_pair(pair: str, context: click.Context, parameter: click.Parameter) -> tuple[str, str]:
    """Return both sides of an option's ``OLD=NEW``; BadParameter for other text."""
    old, _, new = pair.rpartition("=")
    if not (old and new):
        raise click.BadParameter(f"{pair!r} is not OLD=NEW", context, parameter)
    return old, new


class NumberRange(click.FloatRange):
    """A number in a range; NaN is refused too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; BadParameter if it is not in the range."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class _FileName(click.types.StringParamType):
    """A text that a shell completes as the name of a file."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        return [click.shell_completion.CompletionItem(incomplete, type="file")]


FILE_NAME = _FileName()

seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, metavar="N", help="Random seed."
)


def measure_option(help_text: str) -> Callable[[Command], Command]:
    """Return the option for the column that is added up by cluster."""
    return click.option("--measure", metavar="COLUMN", help=help_text)


def answer_options(*kinds: str) -> Callable[[Command], Command]:
    """Return the options for the labels in SQL, as for `export`, with the choices for a cluster's label."""
    said = "number, or the name that it was given by --labels"
    if "both" in kinds:
        said = "number, the name that it was given by --labels, or both"
    return together(
        click.option(
            "--cluster-as",
            type=click.Choice(kinds),
            default=kinds[0],
            show_default=True,
            help=f"The label of a row's cluster in SQL: its {said}.",
        ),
        click.option(
            "--else",
            "otherwise",
            metavar="VALUE",
            help="The value for a row without a cluster in SQL, instead of NULL; not a cluster's number or name.",
        ),
    )


force_option = click.option("--force", is_flag=True, help="Overwrite files that exist, unless they are read-only.")


def output_option(help_text: str, metavar: str = "FILE") -> Callable[[Command], Command]:
    """Return the option for the file or folder that a command writes, and --force."""
    return together(
        click.option("-o", "--output", type=click.Path(path_type=Path), metavar=metavar, help=help_text), force_option
    )


def _pairs(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    return dict(split_pair(pair, context, parameter) for pair in pairs)


columns_option = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OLD=NEW",
    callback=_pairs,
    help="The table's name for a column of the rules. May be repeated.",
)

"""The options of a run, so that it can be repeated: rules hold them, and `run` writes them to a file, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.advice import listed
from shallowrules.cli.fitting_options import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options import gather
from shallowrules.cli.reading_options import ReadingOptions, Tables, reading_options
from shallowrules.errors import DataError

if TYPE_CHECKING:
    from shallowrules.rules import RuleSet
    from shallowrules.rules.document import Setting

__all__ = [
    "SETTINGS_FILE",
    "options_of",
    "refuse_without_settings",
    "settings_of",
    "settings_option",
    "settings_text",
    "take_settings",
]

SETTINGS_FILE = "settings.json"

FORMAT = "shallowrules-settings/1"

OPTIONS = tuple(field.name for kind in (FitOptions, MethodOptions, ReadingOptions) for field in fields(kind))
"""What a file of settings says: nothing of databases, whose addresses may hold passwords, and of what is written."""

LISTS = ("columns", "explain", "exclude", "categories", "numbers")
"""Options whose values are lists of names with commas between."""


def settings_of(*options: FitOptions | MethodOptions | ReadingOptions) -> dict[str, Setting]:
    """Return options as rules hold them: those that say something, by name."""
    values = {name: value for group in options for name, value in vars(group).items()}
    for name in ("scale", "impute"):  # None is a choice there
        values[name] = values[name] or "none"
    known = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {name: value for name, value in known.items() if value not in (None, [])}


def settings_text(tables: Tables | None, settings: Mapping[str, Setting]) -> str:
    """Return the file of settings for a run; `tables` is None for rows of a database."""
    document: dict[str, Any] = {"format": FORMAT, "version": version("shallowrules")}
    if tables is not None:
        document["tables"] = [tables] if isinstance(tables, str) else list(tables)
    document["options"] = dict(settings)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def take_settings(context: click.Context, settings: Mapping[str, Setting], path: str) -> None:
    """Let settings stand for those options of a command that are not typed; `path` is where they are from."""
    _check(settings, path)
    words = {
        name: [listed([str(each)]) for each in value] if isinstance(value, list) and name in LISTS else value
        for name, value in settings.items()
    }
    context.default_map = {**(context.default_map or {}), **words}


def options_of(rules: RuleSet, path: str) -> tuple[FitOptions, MethodOptions, ReadingOptions]:
    """Return the options that rules were made with.

    Raises
    ------
    DataError
        If they do not hold them.
    """
    command = click.Command("settings", params=[])
    for decorate in (fit_options, method_options, reading_options):
        decorate(command)
    refuse_without_settings(rules, path)
    context = click.Context(command)
    take_settings(context, rules.settings, path)
    try:
        command.parse_args(context, [])
    except click.UsageError as error:
        raise DataError(f"{path}: its settings are not understood: {error.format_message()}") from error
    return (
        gather(FitOptions, context.params),
        gather(MethodOptions, context.params),
        gather(ReadingOptions, context.params),
    )


def refuse_without_settings(rules: RuleSet, path: str) -> None:
    """Raise DataError for rules that do not say how they were made."""
    if not rules.settings:
        raise DataError(
            f"{path} does not say with which options it was made, as rules of an older version or of Python do not: "
            "make the rules again by `shallowrules run`"
        )


def _read(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Take the values of a file of settings, or of rules, for those options that are not typed."""
    if path is None:
        return
    settings, tables = _load(path)
    take_settings(context, settings, path)
    if tables:
        context.default_map = {**(context.default_map or {}), "tables": tables}


def _load(path: str) -> tuple[Mapping[str, Setting], Sequence[str]]:
    """Return the options and the tables of a file of settings; DataError if it is none."""
    try:
        document = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except ValueError as error:
        raise DataError(f"{path} is no JSON in UTF-8: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f'{path} is no file of settings: it lacks "format": "{FORMAT}"; `run` writes {SETTINGS_FILE}')
    options, tables = document.get("options", {}), document.get("tables", [])
    if not isinstance(options, dict) or not _are_texts(tables):
        raise DataError(f"{path}: options must be an object, and tables a list of names")
    return options, tables


def _check(settings: Mapping[str, Setting], path: str) -> None:
    """Raise DataError for settings that no option has."""
    unknown = sorted(set(settings) - set(OPTIONS))
    if unknown:
        raise DataError(f"{path} has options that are not known here: {', '.join(map(repr, unknown))}")
    for name, value in settings.items():
        is_list = name in LISTS or name in ("null", "keep_text", "keep")
        if not (_are_texts(value) if is_list else isinstance(value, str | int | float)):
            raise DataError(f"{path}: option {name!r} must be {'a list of names' if is_list else 'a value'}")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


settings_option = click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_read,
    help=f"Take options, and TABLE, from the {SETTINGS_FILE} of an earlier run; what is typed goes before.",
)

"""Defaults of options: shallowrules.toml of the current folder, or ``[tool.shallowrules]`` of its pyproject.toml.

A key is an option without its dashes. At the top it holds for every command that has the option, in a table ``[run]``
for that command, where it comes first. ``[exporters.sql]`` has the options of an exporter, for `run` and `export`, and
``[databases.shop]`` a database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from shallowrules.cli.advice import listed
from shallowrules.cli.options.shared import TYPED
from shallowrules.errors import SettingsError, refuse_unknown, suggestion

__all__ = ["LISTS", "as_typed", "exporter_defaults", "folder_defaults", "given_by_file", "is_of", "type_in_words"]

DATABASES, EXPORTERS = "databases", "exporters"

EXPORTERS_GIVEN = "shallowrules.cli: exporters in the file of defaults"
EXPORTERS_CHOSEN = "shallowrules.cli: exporters whose options a command has"
NAMES_GIVEN = "shallowrules.cli: options in the file of defaults"
FILE_READ = "shallowrules.cli: file of defaults"
"""The keys under which a context keeps what the file says, and for whom."""

TYPED_ONLY = {
    **dict.fromkeys(("output", "plot", "page", "migration", "into", "log-file"), "it names what is written"),
    **dict.fromkeys(("force", "yes"), "it allows a command to change what exists"),
    **dict.fromkeys(("apply", "replace", "undo"), "it changes a database"),
    "settings": "it names a file of options, which come before these",
    "json": "it decides where results go",
}
"""Options that no file gives, and why."""


LISTS = ("columns", "explain", "exclude", "categories", "numbers", "key", "write")
"""Options whose values are comma-separated lists of names."""


def as_typed(name: str, value: Any) -> Any:
    """Return the value of an option as click takes it."""
    return [listed([str(each)]) for each in value] if isinstance(value, list) and name in LISTS else value


def is_of(kind: click.ParamType[Any], value: Any) -> bool:
    """Return whether a value in JSON is of an option's type, or a text that click reads as one."""
    if isinstance(value, bool) or isinstance(kind, click.types.BoolParamType):
        return isinstance(value, bool) and isinstance(kind, click.types.BoolParamType)
    if isinstance(kind, click.types.FloatParamType):
        return isinstance(value, int | float | str)
    return isinstance(value, int | str if isinstance(kind, click.types.IntParamType) else str)


def folder_defaults(
    context: click.Context,
    name: str,
    settings: tuple[str, Mapping[str, Any]],
    command_of: Callable[[str], click.Command],
    names: Sequence[str],
) -> dict[str, Any]:
    """Return the defaults that the folder's file gives the options of a command, by their names in click.

    Parameters
    ----------
    context : Context
        Keeps what the file says for `exporter_defaults` and `given_by_file`.
    name : str
        The command.
    settings : tuple of str and mapping
        The file and what it says.
    command_of : callable
        Returns the command of a name.
    names : sequence of str
        All commands.

    Raises
    ------
    SettingsError
        If there is an unknown key, or a value that its option does not take.
    """
    file, document = settings
    if DATABASES in document:
        from shallowrules.sources.connecting import check_databases

        check_databases(file, document[DATABASES])
    tables = {key: value for key, value in document.items() if isinstance(value, dict)}
    shared = {key: value for key, value in document.items() if key not in tables and key != DATABASES}
    if not shared and tables.keys() <= {DATABASES}:
        return {}
    refuse_unknown(tables, (DATABASES, EXPORTERS, *names), f"{file}: table")
    known = {each: _options(command_of(each)) for each in names}
    if EXPORTERS in shared:
        raise SettingsError(f"{file}: {EXPORTERS} must be a table of tables")
    of_any = {key: option for options in known.values() for key, option in options.items()}
    _refuse_unknown_options(shared, of_any, f"{file}:")
    own = {each: tables.get(each, {}) for each in names if each != EXPORTERS}  # that command has none of its own
    for each, values in own.items():
        _refuse_unknown_options(values, known[each], f"{file}: [{each}]")
    options = known[name]
    given = {key: (key, value) for key, value in shared.items() if key in options}
    given |= {key: (f"[{name}] {key}", value) for key, value in own.get(name, {}).items()}
    found = {
        str(options[key].name): _value(command_of(name), options[key], key, value, f"{file}: {where}")
        for key, (where, value) in given.items()
    }
    context.meta[FILE_READ] = file
    context.meta[EXPORTERS_GIVEN] = tables.get(EXPORTERS, {})
    context.meta[NAMES_GIVEN] = [options[key] for key in given]
    return found


def exporter_defaults(context: click.Context, choices: Sequence[Any]) -> dict[str, Any]:
    """Return the defaults that the folder's file gives the options of exporters, by their names in click.

    Parameters
    ----------
    context : Context
        Gets the choices, for `given_by_file`.
    choices : sequence of ExporterChoice

    Raises
    ------
    SettingsError
        If it names an exporter that is not installed, an unknown option or a file, or a value has the wrong type.
    """
    from shallowrules.exporters import exporter_names

    file, tables = context.meta.get(FILE_READ), context.meta.get(EXPORTERS_GIVEN, {})
    if not tables or not choices:
        return {}
    refuse_unknown(tables, exporter_names(), f"{file}: exporter")
    context.meta[EXPORTERS_CHOSEN] = choices
    found: dict[str, Any] = {}
    for choice in choices:
        where, values = f"{file}: [exporters.{choice.name}]", tables.get(choice.name, {})
        if not isinstance(values, dict):
            raise SettingsError(f"{where} must be a table of options")
        specs = {spec.spelling: spec for spec in choice.specs}
        refuse_unknown(values, tuple(specs), f"{where} option")
        for key in values:
            if specs[key].kind == "path":
                spelt = choice.spellings[specs[key].name]
                raise SettingsError(
                    f"{where} {key} cannot be given in a file: it names a file to read; type it ({spelt})"
                )
        choice.by_file = {specs[key].name: f"{where} {key}" for key in values}
        found |= choice.option_defaults({specs[key].name: value for key, value in values.items()})
    return found


def given_by_file(context: click.Context, message: str) -> str:
    """Return the end of a refusal that names options which the folder's file gives, and nobody typed; or ""."""
    words = {word.partition("=")[0] for word in context.meta[TYPED]}
    options = [option for option in context.meta.get(NAMES_GIVEN, ()) if not words & {*option.opts}]
    spellings = [spelt for option in options for spelt in option.opts]
    for choice in context.meta.get(EXPORTERS_CHOSEN, ()):
        spellings += [choice.spellings[name] for name in choice.by_file if name not in choice.typed]
    named = [spelt for spelt in spellings if _mentions(message, spelt)]
    if not named:
        return ""
    return f" ({' and '.join(named)}: given by {context.meta[FILE_READ]})"


def _mentions(message: str, spelt: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(spelt)}(?![\w-])", message) is not None


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their keys."""
    options = (each for each in command.params if isinstance(each, click.Option))
    return {_key(option): option for option in options}


def _key(option: click.Option) -> str:
    return max(option.opts, key=len).removeprefix("--")


def _value(command: click.Command, option: click.Option, key: str, value: Any, where: str) -> Any:
    """Return a value as click takes it; SettingsError if the option refuses it."""
    if key == "database" and isinstance(value, str) and not value.startswith("@"):
        raise SettingsError(f"{where} must be @NAME, of a table [databases.NAME]: a URL may contain a password")
    items = value if isinstance(value, list) else [value]
    if isinstance(value, list) != option.multiple or not all(_is_item(option, each) for each in items):
        from shallowrules.sources.connecting import hide_password

        raise SettingsError(f"{where} must be {_expected(option)}, not {hide_password(repr(value))}")
    value = as_typed(str(option.name), value)
    try:
        with click.Context(command) as context:
            option.type_cast_value(context, value) if option.is_eager else option.process_value(context, value)
    except click.UsageError as error:
        raise SettingsError(f"{where}: {error.message}") from error
    return value


def _is_item(option: click.Option, value: Any) -> bool:
    whole = isinstance(option.type, click.types.IntParamType)
    return is_of(option.type, value) and not (whole and isinstance(value, str))


def _expected(option: click.Option) -> str:
    """Return the type of an option's value, in words."""
    kinds = (
        (click.types.BoolParamType, "flag"),
        (click.types.IntParamType, "integer"),
        (click.types.FloatParamType, "float"),
    )
    kind = next((kind for each, kind in kinds if isinstance(option.type, each)), "text")
    return type_in_words(kind, "sequence" if option.multiple else "one")


def type_in_words(kind: str, shape: str) -> str:
    """Return the type of an option's value, in words; the kind and the shape are those of an `OptionSpec`."""
    words = {
        "flag": ("true or false", "truth values"),
        "integer": ("a whole number", "whole numbers"),
        "float": ("a number", "numbers"),
    }
    one, several = words.get(kind, ("text", "strings"))
    shapes = {
        "one": one,
        "sequence": f"a list of {several}",
        "mapping": f'a table of {several} ({{ OLD = "NEW" }})',
    }
    return shapes[shape]


def _refuse_unknown_options(keys: Iterable[str], known: Mapping[str, click.Option], where: str) -> None:
    """Raise SettingsError for a key that is not an option's, with the most similar one, or that of its short name."""
    for key in keys:
        if key not in known:
            short = next((each for each, option in known.items() if f"-{key}" in option.opts), None)
            hint = suggestion(key, known) if short is None else f"; did you mean {short!r}?"
            if short is None and where.endswith((":", "[run]", "[export]")):
                hint = _exporter_with(key) or hint
            raise SettingsError(f"{where} option {key!r} is not known{hint}")
        if key in TYPED_ONLY:
            raise SettingsError(f"{where} {key} cannot be given in a file: {TYPED_ONLY[key]}; type it (--{key})")


def _exporter_with(key: str) -> str:
    """Return where an option of an exporter belongs, as the end of a refusal; "" if no exporter has it."""
    from shallowrules.exporters import exporter_names, get_exporter
    from shallowrules.exporters.options import describe_options

    holders = [
        name
        for name in exporter_names()
        if any(spec.spelling == key for spec in describe_options(get_exporter(name).options))
    ]
    name = "sql" if "sql" in holders else next(iter(holders), None)
    return "" if name is None else f"; options of exporters go in their own tables, such as [exporters.{name}]"

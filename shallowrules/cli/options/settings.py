"""The options of a run, so that it can be repeated: rules hold them, and `run` writes them to a file, too."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shallowrules.cli.escaping import as_utf8
from shallowrules.cli.options.defaults import LISTS, as_typed, is_of
from shallowrules.cli.options.exporters import ExporterChoice
from shallowrules.cli.options.fitting import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options.reading import Tables, reading_options
from shallowrules.cli.options.shared import FILE_NAME, TYPED, gather, values_typed
from shallowrules.cli.output import show_message
from shallowrules.errors import DataError, OptionError, suggestion
from shallowrules.files import STANDARD_INPUT, Reading, distinct_keys, read_whole

if TYPE_CHECKING:
    from shallowrules.cli.naming import NamedRules
    from shallowrules.rules import Cluster, ClusterNames, RuleSet
    from shallowrules.rules.documents.document import Setting
    from shallowrules.sources import DatabaseRows

__all__ = [
    "PAGE",
    "RUN_SETTINGS_FILE",
    "exporters_of_settings",
    "options_of",
    "refuse_without_settings",
    "repeated_names",
    "settings_of",
    "settings_option",
    "settings_text",
    "take_settings",
    "with_tables",
]

RUN_SETTINGS_FILE = "settings.json"
"""The file of settings that `run` writes; the folder's defaults are in `shallowrules.files.SETTINGS_FILE`."""

FORMAT = "shallowrules-settings/1"

TABLES = "tables"
"""The entry for the names of the files that rules were made from; not an option, since a name alone finds no file."""

PAGE: dict[str, bool | int] = {"slider": True, "sample_rows": 0}
"""Options of `run` for the page, and their defaults."""

GOALS = ("--max-cost", "--max-conditions")
"""Options that search the trade-off, and so exclude one."""

KEPT_NAMES = "shallowrules.cli: names in the settings"
"""The key under which a context keeps the names of clusters from a file of settings."""

OPTIONS = tuple(field.name for kind in (FitOptions, MethodOptions, Reading) for field in fields(kind))
"""The contents of a file of settings: not databases, whose addresses may hold passwords, and not outputs."""


def settings_of(rows: Tables | DatabaseRows, *options: FitOptions | MethodOptions | Reading) -> dict[str, Setting]:
    """Return the settings that rules keep: the names of files, and the options that have a value."""
    values = {name: value for group in options for name, value in vars(group).items()}
    for name in ("scale", "impute", "missing"):  # None is a choice there
        values[name] = values[name] or "none"
    known = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return with_tables({name: value for name, value in known.items() if value not in (None, [])}, rows)


def with_tables(settings: Mapping[str, Setting], rows: Tables | DatabaseRows) -> dict[str, Setting]:
    """Return settings with the names of the files that were read, without their folders, which others lack."""
    found = {name: value for name, value in settings.items() if name != TABLES}
    if not isinstance(rows, str | tuple):
        return found
    names = (rows,) if isinstance(rows, str) else rows
    return found | {
        TABLES: ["standard input" if name == STANDARD_INPUT else as_utf8(Path(name).name) for name in names]
    }


def settings_text(
    folder: Path,
    settings: Mapping[str, Setting],
    *,
    tables: Tables,
    table: str | None,
    memory: int | None,
    page: Mapping[str, bool | int],
    clusters: Iterable[Cluster] | None,
    chosen: Sequence[ExporterChoice],
) -> str:
    """Return the file of settings for a run: a value for each option, so that it does not depend on later defaults.

    Parameters
    ----------
    folder : Path
        Its place; the names of files are relative to it.
    settings : mapping
        As rules hold them.
    tables : str or tuple of str
        Empty for rows of a database.
    table : str or None
        The table's name in SQL by --table; None for rows of a database.
    memory : int or None
    page : mapping
        The options of `PAGE`.
    clusters : iterable of Cluster or None
        Those that --names named, if it was given.
    chosen : sequence of ExporterChoice
        Those that wrote something.
    """

    def shorten(path: str | Path) -> str:
        return _from_folder(str(path), folder)

    document: dict[str, Any] = {"format": FORMAT, "version": version("shallowrules")}
    if tables:
        document["tables"] = [shorten(each) for each in ([tables] if isinstance(tables, str) else tables)]
    document["options"] = {name: settings.get(name) for name in OPTIONS}  # None: not used, or decided by the table
    document["memory"] = None if memory is None else str(memory)
    document |= page
    if clusters is not None:
        from shallowrules.rules.words.naming import list_names

        document["names"] = list_names(clusters)
    document["write"] = [choice.name for choice in chosen]
    document["exporters"] = {choice.name: choice.values(table, shorten) for choice in chosen}
    return as_utf8(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"  # in JSON that is the name itself


def _from_folder(path: str, folder: Path) -> str:
    """Return the name of a file relative to a folder; standard input and absolute paths stay as they are."""
    if path == STANDARD_INPUT or os.path.isabs(path):
        return path
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return str(Path(path).absolute())


def _seen_from(path: str, folder: str) -> str:
    """Return the path of a file that is named relative to a folder."""
    return path if path == STANDARD_INPUT else os.path.normpath(os.path.join(folder, path))


def _within(settings: str, option: str, path: str) -> str:
    """Return the path of a file that settings give to an exporter's option, such as a template.

    Raises
    ------
    OptionError
        If it is not in the folder of the settings or below: users of somebody else's settings may not know of it.
    """
    folder = os.path.dirname(settings)
    found = _seen_from(path, folder)
    if not Path(found).resolve().is_relative_to(Path(folder).resolve()):
        raise OptionError(
            f"{settings} names {path!r} for {option}, which is outside its folder; to allow that file, add "
            f"{option} {shlex.quote(found)} to the command"
        )
    return found


def take_settings(context: click.Context, settings: Mapping[str, Setting], path: str) -> None:
    """Use settings for the options of a command that are not typed; `path` is where they are from.

    They are complete, so the folder's file of defaults no longer counts.
    """
    settings = {name: value for name, value in settings.items() if name != TABLES and value is not None}
    if any(values_typed(goal, context.meta.get(TYPED, [])) for goal in GOALS):
        settings.pop("tradeoff", None)  # which is then searched
    _check(context, settings, path)
    _drop_defaults(context, OPTIONS)
    _add_defaults(context, {name: as_typed(name, value) for name, value in settings.items()})


def _drop_defaults(context: click.Context, names: Iterable[str]) -> None:
    context.default_map = {name: value for name, value in (context.default_map or {}).items() if name not in names}


def _add_defaults(context: click.Context, values: Mapping[str, Any]) -> None:
    """Add the defaults that are not None."""
    known = {name: value for name, value in values.items() if value is not None}
    context.default_map = {**(context.default_map or {}), **known}


def repeated_names(names: ClusterNames | NamedRules | None) -> ClusterNames | NamedRules | None:
    """Return the names of --names, or else those of --settings.

    The latter depend on the numbers of the clusters, so they are dropped if a typed option may change these.
    """
    context = click.get_current_context()
    kept: ClusterNames | None = context.meta.get(KEPT_NAMES)
    if names is not None or kept is None:
        return names
    changed = [
        name for name in ("tables", *OPTIONS) if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if not changed:
        return kept
    show_message(
        "note",
        "the names of clusters in --settings are not used, because other options are given and clusters may have "
        "different numbers; --names with the rules.json of that run matches them by the rows that they share",
    )
    return None


def exporters_of_settings(path: str) -> list[str] | None:
    """Return the exporters that a settings file names; None if it cannot be read: the option that reads it says why."""
    try:
        written = _load(path).get("write")
    except (DataError, OSError):
        return None
    return written if _are_texts(written) else None


def options_of(rules: RuleSet, path: str) -> tuple[FitOptions, MethodOptions, Reading]:
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
    command.parse_args(context, [])
    return (
        gather(FitOptions, context.params),
        gather(MethodOptions, context.params),
        gather(Reading, context.params),
    )


def refuse_without_settings(rules: RuleSet, path: str) -> None:
    """Raise DataError for rules that do not say how they were made."""
    if not rules.settings:
        raise DataError(
            f"{path} does not record the options that it was made with (rules of an older version or from Python do "
            "not); make the rules again with `shallowrules run`"
        )


def _read(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Use the values of a file of settings for options that are not typed."""
    if path is None:
        return
    document, folder = _load(path), os.path.dirname(path)
    try:
        options = document.get("options", {})
        take_settings(context, options, path)
        exporters = [str(option.name) for choice in context.obj or () for option in choice.options]
        _drop_defaults(context, ("names", "write", "memory", *PAGE, *exporters))
        if document.get("tables"):
            _drop_defaults(context, ("database", "table", "query", "sample"))
            _add_defaults(context, {"tables": [_seen_from(each, folder) for each in document["tables"]]})
        _add_defaults(context, {name: document.get(name) for name in ("memory", *PAGE)})
        if "names" in document:
            from shallowrules.rules.words.naming import names_of_list

            context.meta[KEPT_NAMES] = names_of_list(document["names"], f"{path}, names")
        for choice in context.obj or ():
            choice.by_file.clear()
            values = document.get("exporters", {}).get(choice.name, {})
            _add_defaults(context, choice.option_defaults(values, partial(_within, path)))
    except (DataError, OptionError) as error:
        raise OptionError(f"--settings: {error}") from error
    offered = {parameter.name for parameter in context.command.params}
    known = (*offered, "clusters", "histograms")
    if left_out := [name for name, value in options.items() if value is not None and name not in known]:
        are = "is" if len(left_out) == 1 else "are"
        show_message("note", f"{', '.join(left_out)} of {path} {are} not for this command and {are} ignored")


def _load(path: str) -> dict[str, Any]:
    """Return a file of settings, with the types of its parts checked; DataError for anything else."""
    content = read_whole(path)
    try:
        document = json.loads(content.decode("utf-8-sig"), object_pairs_hook=distinct_keys)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON in UTF-8: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(
            f'{path} is not a file of settings: it lacks "format": "{FORMAT}"; `run` writes {RUN_SETTINGS_FILE}'
        )
    for part, is_right, what in (
        ("options", _is_object, "an object"),
        ("tables", _are_texts, "a list of names"),
        ("write", _are_texts, "a list of names"),
        ("memory", lambda value: value is None or isinstance(value, str), "a text"),
        ("slider", lambda value: isinstance(value, bool), "true or false"),
        ("sample_rows", lambda value: type(value) is int, "a whole number"),
        ("exporters", lambda value: _is_object(value) and all(map(_is_object, value.values())), "an object of objects"),
    ):
        if part in document and not is_right(document[part]):
            raise DataError(f"{path}: {part} must be {what}")
    return document


def _check(context: click.Context, settings: Mapping[str, Setting], path: str) -> None:
    """Raise DataError for settings that belong to no option, or that their option refuses."""
    unknown = sorted(set(settings) - set(OPTIONS))
    if unknown:
        hint = suggestion(unknown[0], OPTIONS)
        raise DataError(f"{path} has unknown options: {', '.join(map(repr, unknown))}{hint}")
    options = {parameter.name: parameter for parameter in context.command.params}
    for name, value in settings.items():
        where = f"{path}: option {name!r}"
        is_list = name in LISTS or name in ("null", "keep_text", "format", "dates", "keep")
        if is_list:
            if not _are_texts(value):
                raise DataError(f"{where} must be a list of names")
        elif name in options and not is_of(options[name].type, value):
            raise DataError(f"{where} cannot be {value!r}")
        if name in options:
            try:
                options[name].type_cast_value(context, as_typed(name, value))
            except click.BadParameter as error:
                raise DataError(f"{where}: {error.message}") from error


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


settings_option = click.option(
    "--settings",
    type=FILE_NAME,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_read,
    help=f"Take options, TABLE, the names of clusters and the outputs from the {RUN_SETTINGS_FILE} of an earlier run; "
    "options on the command line take precedence.",
)

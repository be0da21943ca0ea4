"""``--settings``: a file with the options of a run, which `run` writes beside its rules, so that it can be repeated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from shallowrules.cli.advice import listed
from shallowrules.cli.fitting_options import FitOptions, MethodOptions
from shallowrules.cli.reading_options import ReadingOptions, Tables
from shallowrules.errors import DataError

__all__ = ["SETTINGS_FILE", "settings_option", "settings_text"]

SETTINGS_FILE = "settings.json"

FORMAT = "shallowrules-settings/1"

OPTIONS = tuple(field.name for kind in (FitOptions, MethodOptions, ReadingOptions) for field in fields(kind))
"""What a file of settings says: nothing of databases, whose addresses may hold passwords, and of what is written."""

LISTS = ("columns", "explain", "exclude", "categories", "numbers")
"""Options whose values are lists of names with commas between."""


def settings_text(tables: Tables | None, *options: FitOptions | MethodOptions | ReadingOptions) -> str:
    """Return the file of settings for a run of these options; `tables` is None for rows of a database."""
    values = {name: value for group in options for name, value in vars(group).items()}
    for name in ("scale", "impute"):  # None is a choice there
        values[name] = values[name] or "none"
    known = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    document: dict[str, Any] = {"format": FORMAT, "version": version("shallowrules")}
    if tables is not None:
        document["tables"] = [tables] if isinstance(tables, str) else list(tables)
    document["options"] = {name: value for name, value in known.items() if value not in (None, [])}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _read(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Take the values of a file of settings for those options that are not typed."""
    if path is None:
        return
    options, tables = _checked(path)
    words: dict[str, Any] = {
        name: [listed([each]) for each in value] if name in LISTS else value for name, value in options.items()
    }
    if tables:
        words["tables"] = tables
    context.default_map = {**(context.default_map or {}), **words}


def _checked(path: str) -> tuple[dict[str, Any], Sequence[str]]:
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
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise DataError(f"{path} has options that are not known here: {', '.join(map(repr, unknown))}")
    for name, value in options.items():
        is_list = name in LISTS or name in ("null", "keep_text")
        if not (_are_texts(value) if is_list else isinstance(value, str | int | float)):
            raise DataError(f"{path}: option {name!r} must be {'a list of names' if is_list else 'a value'}")
    return options, tables


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

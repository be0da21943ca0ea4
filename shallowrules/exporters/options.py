"""An exporter's options as data, read from its dataclass, for the command line and the controls of a page.

An option's type says what it is: ``bool``, ``str``, ``int``, ``float``, ``Path``, a ``Literal`` of texts or numbers; a
``Mapping[str, X]``; a ``Sequence[X]``, ``list[X]`` or ``tuple[X, ...]`` of those. ``None`` may be allowed too. If there
are several types, the first is offered, or ``Path`` where it is among them. An option's purpose is described in the
section ``Parameters`` or ``Attributes`` of the dataclass's docstring, in the form of numpydoc.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

__all__ = ["CommandLine", "OptionKind", "OptionSpec", "describe_options", "on_command_line"]

OptionKind = Literal["flag", "choice", "text", "integer", "float", "path"]

SCALARS: Mapping[type, OptionKind] = {bool: "flag", str: "text", int: "integer", float: "float", Path: "path"}
SEQUENCES = (Sequence, list, tuple)
MAPPINGS = (Mapping, dict)

METADATA_KEY = "command_line"

_SPELLING = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*")


Fact = Literal["table", "dialect", "types", "made", "trees", "points", "stem"]
"""The facts that ``run`` knows about the rows that it read: the parts of their table's name, the SQL dialect of their
database, the declared types of their columns, a description in words, the rules of other trees, rows as points. The
last is a fact of ``export -o``: the name of the file without its extension."""

DEFAULTS_OF_FACTS: Mapping[Fact, str] = {
    "table": "the table's name",
    "dialect": "that of --database, else {}",
    "types": "those of --database",
    "made": "the file or table",
    "trees": "trees grown beside the fit, with --slider",
    "points": "rows of the table, with --sample-rows",
    "stem": "that of the file",
}
"""The help of ``run`` for a default that follows from a fact, around the field's own default."""


@dataclass(frozen=True)
class CommandLine:
    """Facts that the command line cannot know from a field alone: see `on_command_line`."""

    name: str | None = None
    unprefixed: bool = False
    default_from: Fact | None = None
    listed: bool = False


def on_command_line(
    name: str | None = None, *, unprefixed: bool = False, default_from: Fact | None = None, listed: bool = False
) -> dict[str, CommandLine]:
    """Return the metadata of a field that says how the command line offers it.

    Parameters
    ----------
    name : str, optional
        The option's name there, without the leading dashes; by default the field's name with dashes. A
        mapping or sequence is given one item at a time, so that a singular reads better.
    unprefixed : bool
        Whether ``run``, where an option begins with its exporter's name, also takes it without the name.
    default_from : {"table", "dialect", "types", "made", "trees", "points", "stem"}, optional
        The default that ``run`` supplies, in this order: the name of the table that was read, as a list of its parts;
        if a database has it, the SQL dialect, and the types of its columns by their names; the table in words; a
        `RulePath` of other trees of the same clustering; some rows as `Points`. An option with "stem" is the name of
        the file too, without its extension: ``export`` takes it from ``-o``, and ``run`` calls the file so.
    listed : bool
        Whether a sequence of texts is given as ``A,B,…``, as ``--columns`` is.
    """
    return {METADATA_KEY: CommandLine(name, unprefixed, default_from, listed)}


@dataclass(frozen=True)
class OptionSpec:
    """One option of an exporter.

    Attributes
    ----------
    name : str
        The field.
    spelling : str
        Its name on the command line, without dashes before it.
    kind : OptionKind
        The kind of its value, or of each of its items or values.
    shape : {"one", "sequence", "mapping"}
        Whether it is one value, several, or texts that map to values.
    choices : tuple of str or int
        The allowed values of a choice.
    default : object
        As the field has it.
    help : str
        Its docstring, on one line; empty if it has none.
    command_line : CommandLine
    """

    name: str
    spelling: str
    kind: OptionKind
    shape: Literal["one", "sequence", "mapping"]
    choices: tuple[str | int, ...]
    default: Any
    help: str
    command_line: CommandLine


def describe_options(options: type) -> tuple[OptionSpec, ...]:
    """Return the options of a dataclass, in their order.

    Raises
    ------
    ValueError
        Saying which fields cannot be offered, and why; each fault on a line.
    """
    try:
        hints = get_type_hints(options)
    except Exception as error:
        raise ValueError(f"the types of the options cannot be read: {type(error).__name__}: {error}") from error
    texts = _read_docstrings(options)
    found: list[OptionSpec] = []
    faults: list[str] = []
    for field in fields(options):
        declared = field.metadata.get(METADATA_KEY, CommandLine())
        if not isinstance(declared, CommandLine):
            faults.append(f"option {field.name!r} has metadata {METADATA_KEY!r} that is not made by on_command_line")
            continue
        read = _read_type(hints[field.name])
        if read is None:
            faults.append(
                f"option {field.name!r} is of the type {field.type}; an option is a bool, str, int, float, Path or "
                "Literal, a Mapping from str to one of these or a Sequence of them; each may also be None"
            )
            continue
        kind, shape, choices = read
        spelling = field.name.replace("_", "-") if declared.name is None else declared.name
        if not _SPELLING.fullmatch(spelling):
            faults.append(f"option {field.name!r} would be --{spelling}: use letters, digits and single dashes")
        default = field.default if field.default_factory is MISSING else field.default_factory()
        found.append(
            OptionSpec(field.name, spelling, kind, shape, choices, default, texts.get(field.name, ""), declared)
        )
    faults += _clashes(found)
    if faults:
        raise ValueError("\n".join(faults))
    return tuple(found)


def _clashes(specs: Sequence[OptionSpec]) -> list[str]:
    """Return which options would have the same name on the command line, or a name that `export` has for itself."""
    holders: dict[str, str] = {"help": "the command line", "output": "the command line"}
    faults = []
    for spec in specs:
        names = [spec.spelling, *([f"no-{spec.spelling}"] if spec.kind == "flag" and spec.shape == "one" else [])]
        for name in names:
            if name in holders:
                faults.append(f"option {spec.name!r} would be --{name}, which {holders[name]} has already")
            holders.setdefault(name, f"option {spec.name!r}")
    return faults


def _read_type(
    annotation: Any,
) -> tuple[OptionKind, Literal["one", "sequence", "mapping"], tuple[str | int, ...]] | None:
    """Return the kind, the shape and the choices of a type, None for one that cannot be offered."""
    if get_origin(annotation) in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        return _read_type(Path if Path in members else members[0])
    scalar = _read_scalar(annotation)
    if scalar is not None:
        return scalar[0], "one", scalar[1]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in MAPPINGS and len(arguments) == 2 and arguments[0] is str:
        item, shape = _read_scalar(arguments[1]), "mapping"
    elif origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        return None
    elif origin in SEQUENCES and arguments:
        item, shape = _read_scalar(arguments[0]), "sequence"
    else:
        return None
    if item is None or item[0] == "flag":
        return None
    return item[0], shape, item[1]  # type: ignore[return-value]


def _read_scalar(annotation: Any) -> tuple[OptionKind, tuple[str | int, ...]] | None:
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
        if all(type(choice) in (str, int) for choice in choices):
            return "choice", choices
        return None
    return (SCALARS[annotation], ()) if annotation in SCALARS else None


def _read_docstrings(options: type) -> dict[str, str]:
    """Return the descriptions of all fields in the docstrings of a dataclass and its bases, each on one line."""
    texts: dict[str, str] = {}
    for kind in reversed(options.__mro__):
        texts.update(_read_entries(cleandoc(kind.__dict__.get("__doc__") or "")))
    return texts


def _read_entries(docstring: str) -> dict[str, str]:
    """Return the entries of the sections Parameters and Attributes of a numpydoc docstring."""
    entries: dict[str, list[str]] = {}
    inside = False
    current: list[str] = []
    lines = docstring.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and not following.strip("-") and line.strip():
            inside, current = line.strip() in ("Parameters", "Attributes"), []
        elif inside and line and not line[0].isspace() and line.strip("-"):
            current = []
            for name in line.partition(":")[0].split(","):
                entries[name.strip()] = current
        elif inside and line.strip("-"):
            current.append(line.strip())
    return {name: " ".join(filter(None, found)).replace("`", "") for name, found in entries.items()}

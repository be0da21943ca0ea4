"""Dataclasses as JSON objects: written from their fields, read back by their annotations.

A field is an entry of the object. Its annotation, made of int, float, bool, str, None, Literal, unions and
``tuple[..., ...]``, says what the entry may hold, so that a new field is a line in its dataclass. A field marked
`OPTIONAL` is written only where it differs from its default, and may be absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from shallowrules.errors import RulesFormatError

__all__ = ["is_written", "read_object", "write_object"]

T = TypeVar("T")


def write_object(item: Any) -> dict[str, Any]:
    """Return a dataclass's fields as JSON-ready data, without optional ones that have their default."""
    return {
        entry.name: _as_list(getattr(item, entry.name))
        for entry in fields(item)
        if not (entry.metadata.get("optional") and getattr(item, entry.name) == entry.default)
    }


def _as_list(value: Any) -> Any:
    return [_as_list(item) for item in value] if isinstance(value, tuple) else value


def read_object(kind: type[T], item: Any, where: str, ignored: list[str]) -> T:
    """Return the dataclass that a JSON object describes.

    Parameters
    ----------
    kind : dataclass
    item : JSON data
    where : str
        The object's name in messages.
    ignored : list of str
        Gets the entries that `kind` has no field for.

    Raises
    ------
    RulesFormatError
        If it is not an object, lacks an entry, or an entry holds a different type than its field.
    """
    if not isinstance(item, Mapping):
        raise RulesFormatError(f"{where} must be an object")
    hints = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    known = {entry.name: entry for entry in fields(kind)}  # type: ignore[arg-type]
    lacking = [name for name, entry in known.items() if name not in item and not entry.metadata.get("optional")]
    if lacking:
        raise RulesFormatError(f"{where} lacks {', '.join(lacking)}")
    ignored += [f"{name!r} of {where}" for name in item if name not in known]
    return kind(**{name: _read(hints[name], item[name], f"{where}.{name}") for name in known if name in item})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the annotation of every field as a type."""
    return get_type_hints(kind)


def _read(annotation: Any, value: Any, where: str) -> Any:
    """Return a value of its annotated type; RulesFormatError if it is something else."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        if not isinstance(value, list):
            raise RulesFormatError(f"{where} is {_shown(value)}, not a list")
        return tuple(_read(members[0], entry, f"{where}[{i}]") for i, entry in enumerate(value))
    if origin is Literal:
        if type(value) is not str or value not in members:
            raise RulesFormatError(f"{where} is {_shown(value)}, not {_either(list(members))}")
        return value
    choices = members if origin in (Union, UnionType) else (annotation,)
    for choice in choices:
        if _CHECKS[choice](value):
            return value
    if float in choices and _is_whole(value):
        try:
            return float(value)
        except OverflowError:
            raise RulesFormatError(f"{where} is too large a number") from None
    words = [_WORDS[choice] for choice in choices if not (choice is int and float in choices)]
    raise RulesFormatError(f"{where} is {_shown(value)}, not {_either(words)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_written(value: object) -> bool:
    """Return whether a value can be written: JSON can escape half a surrogate pair, but UTF-8 cannot hold it."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 2**64
    return not isinstance(value, str) or not any("\ud800" <= character <= "\udfff" for character in value)


_CHECKS: dict[Any, Callable[[object], bool]] = {
    int: _is_whole,
    float: lambda value: isinstance(value, float) and is_written(value),
    bool: lambda value: isinstance(value, bool),
    str: lambda value: isinstance(value, str) and is_written(value),
    NoneType: lambda value: value is None,
}

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "text",
    NoneType: "null",
}

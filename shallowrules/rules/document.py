"""The JSON document: how a rule set is written and read.

A part of the document is an object with the fields of a dataclass. `load` checks the type of every entry;
whether the parts fit one another is checked where the `RuleSet` is made (`shallowrules.rules.validation`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

from shallowrules.conversion import Number
from shallowrules.errors import RulesFormatError
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.figures import Cluster, Statistics
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node
from shallowrules.table import Value

__all__ = ["FORMAT", "dump", "load", "parse", "write"]

FORMAT = "shallowrules/1"

Parts = tuple[tuple[RuleColumn, ...], tuple[Node, ...], tuple[Cluster, ...], Statistics]


def dump(
    columns: Sequence[RuleColumn], nodes: Sequence[Node], clusters: Sequence[Cluster], statistics: Statistics
) -> dict[str, Any]:
    """Return the parts of a rule set as JSON-ready data."""
    return {
        "format": FORMAT,
        "columns": [_plain(column) for column in columns],
        "nodes": [_plain_node(node) for node in nodes],
        "clusters": [_plain(cluster) for cluster in clusters],
        "statistics": _plain(statistics),
    }


def load(document: Any) -> Parts:
    """Return the parts of a rule set from `dump`'s data, the type of every entry checked.

    Raises
    ------
    RulesFormatError
        If it is something else.
    """
    if not isinstance(document, dict):
        raise RulesFormatError("not a rules document: the top level is not a JSON object")
    version = document.get("format")
    if version != FORMAT:
        raise RulesFormatError(
            f'this is not a {FORMAT!r} document (its "format" is {version!r}); '
            "write it again with this version of shallowrules"
        )
    unknown = set(document) - {"format", "columns", "nodes", "clusters", "statistics"}
    if unknown:
        raise RulesFormatError(f"unknown entries in the rules document: {', '.join(sorted(map(repr, unknown)))}")
    return (
        tuple(_build(RuleColumn, item, f"columns[{i}]") for i, item in _items(document, "columns")),
        tuple(_build_node(item, f"nodes[{i}]") for i, item in _items(document, "nodes")),
        tuple(_build(Cluster, item, f"clusters[{i}]") for i, item in _items(document, "clusters")),
        _build(Statistics, document.get("statistics"), "statistics"),
    )


def write(document: Mapping[str, Any]) -> str:
    """Return a document as JSON text."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def parse(text: bytes) -> Any:
    """Return the data that a JSON text holds.

    Raises
    ------
    RulesFormatError
        If it is no JSON in UTF-8, holds numbers that are not finite, or repeats a key.
    """
    try:
        return json.loads(
            text.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_keys
        )
    except RulesFormatError:
        raise
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise RulesFormatError(f"not valid JSON ({error}); write the rules again") from error


def _plain(item: Any) -> dict[str, Any]:
    """Return a part of a document as JSON-ready data, without what is optional and empty."""
    return {
        entry.name: _list(getattr(item, entry.name))
        for entry in fields(item)
        if not (entry.metadata.get("optional") and getattr(item, entry.name) == entry.default)
    }


def _list(value: Any) -> Any:
    return [_list(item) for item in value] if isinstance(value, tuple) else value


def _plain_node(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return _plain(node)
    test: dict[str, Any]
    if isinstance(node, Cut):
        test = {"operator": "<=", "value": node.threshold}
    elif node.ordered:
        test = {"operator": "in", "value": list(node.values)}
    else:
        test = {"operator": "=", "value": node.values[0]}
    return {"column": node.column, **test, "left": node.left, "right": node.right}


def _build_node(item: Any, where: str) -> Node:
    if isinstance(item, dict) and "cluster" in item:
        return cast(Leaf, _build(Leaf, item, where))
    split: _Split = _build(_Split, item, where)
    value: Any = split.value
    if split.operator == "<=":
        return Cut(split.column, value, split.left, split.right)
    values = value if split.operator == "in" else (value,)
    return Membership(split.column, values, split.left, split.right, ordered=split.operator == "in")


@dataclass(frozen=True)
class _Split:
    column: int
    operator: Literal["<=", "=", "in"]
    value: Number | Value | tuple[Value, ...]
    left: int
    right: int


def _refuse_constant(token: str) -> float:
    raise RulesFormatError(f"the number {token} is not finite; rules hold finite numbers only")


def _refuse_repeated_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RulesFormatError("a JSON object repeats a key")
    return found


def _items(document: Mapping[str, Any], key: str) -> Iterator[tuple[int, Any]]:
    items = document.get(key)
    if not isinstance(items, list) or not items:
        raise RulesFormatError(f"{key!r} must be a list that is not empty")
    return iter(enumerate(items))


def is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_text(value: object) -> bool:
    """Say whether a value is text that can be written: JSON can escape half a surrogate pair, UTF-8 has none."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(is_text(item) for item in value)


def is_numbers(value: object) -> bool:
    return isinstance(value, list | tuple) and all(is_number(item) for item in value)


def is_numbers_or_none(value: object) -> bool:
    return isinstance(value, list | tuple) and all(item is None or is_number(item) for item in value)


def is_value(value: object) -> bool:
    return isinstance(value, bool) or is_text(value)


def is_values(value: object) -> bool:
    return isinstance(value, list | tuple) and all(is_value(item) for item in value)


def _floats(numbers: Sequence[Number | None]) -> tuple[float | None, ...]:
    return tuple(None if number is None else float(number) for number in numbers)


# What each annotation allows in a document: a check, what to call it, how to store it.
_KINDS: dict[str, tuple[Any, str, Any]] = {
    "str": (is_text, "text", str),
    "bool": (lambda value: isinstance(value, bool), "true or false", bool),
    "int": (is_whole, "a whole number", int),
    "float": (is_number, "a finite number", float),
    "float | None": (
        lambda value: value is None or is_number(value),
        "a finite number",
        lambda value: None if value is None else float(value),
    ),
    "Number | None": (lambda value: value is None or is_number(value), "a finite number", lambda value: value),
    "Number | Value | tuple[Value, ...]": (
        lambda value: is_number(value) or is_value(value) or is_values(value),
        "a finite number, a category or a list of categories",
        lambda value: tuple(value) if isinstance(value, list | tuple) else value,
    ),
    "Number | Value | None": (
        lambda value: value is None or is_number(value) or is_value(value),
        "a finite number, a category or null",
        lambda value: value,
    ),
    "tuple[Value, ...]": (is_values, "a list of texts or of true and false", tuple),
    "tuple[float, ...]": (is_numbers, "a list of finite numbers", lambda value: tuple(map(float, value))),
    "tuple[float | None, ...]": (is_numbers_or_none, "a list of finite numbers", _floats),
    "tuple[tuple[float, ...], ...]": (
        lambda value: isinstance(value, list | tuple) and all(map(is_numbers, value)),
        "a list of lists of finite numbers",
        lambda value: tuple(tuple(map(float, item)) for item in value),
    ),
    "tuple[str, ...]": (is_texts, "a list of texts", tuple),
    "Literal['<=', '=', 'in']": (lambda value: value in ("<=", "=", "in"), "one of the operators <=, = and in", str),
    "Literal['integer', 'float', 'text', 'boolean']": (
        lambda value: value in ("integer", "float", "text", "boolean"),
        "integer, float, text or boolean",
        str,
    ),
}


def _build(kind: type, item: Any, where: str) -> Any:
    """Make a `kind` from a JSON object, checking every entry against its annotation."""
    if not isinstance(item, dict):
        raise RulesFormatError(f"{where} must be an object")
    known = {entry.name: str(entry.type).replace('"', "'") for entry in fields(kind)}
    optional = {entry.name for entry in fields(kind) if entry.metadata.get("optional")}
    missing = [name for name in known if name not in item and name not in optional]
    unknown = [name for name in item if name not in known]
    if missing or unknown:
        what = f"lacks {', '.join(missing)}" if missing else f"has unknown entries {', '.join(map(repr, unknown))}"
        raise RulesFormatError(f"{where} {what}")
    values = {}
    for name, annotation in known.items():
        if name not in item:
            continue
        allowed, description, convert = _KINDS[annotation]
        if not allowed(item[name]):
            raise RulesFormatError(f"{where}.{name} is {item[name]!r}, not {description}")
        try:
            values[name] = convert(item[name])
        except OverflowError:
            raise RulesFormatError(f"{where}.{name} is too large a number") from None
    return kind(**values)

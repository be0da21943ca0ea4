"""The JSON document: how a rule set is written and read; `docs/rules-format.md` describes it.

A part of the document is an object with the fields of a dataclass (`shallowrules.rules.documents.entries`), and a node
names its kind. `load` checks the type of every entry; whether the parts fit one another is checked where the `RuleSet`
is made (`shallowrules.rules.validation`).

To add an optional field, give its dataclass one with a default and ``metadata=OPTIONAL``. Readers of this version that
do not know it leave it out with a warning, so it must not bear on which cluster a row gets: an entry that does needs a
new `FORMAT`.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from shallowrules.errors import RulesFormatError, ShallowRulesWarning
from shallowrules.files import atomic_write, distinct_keys, read_whole
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.documents.entries import is_written, read_object, write_object
from shallowrules.rules.earlier import Clustering, Flow
from shallowrules.rules.figures import Cluster, Statistics
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node

__all__ = ["FORMAT", "Setting", "Source", "dump", "load", "read_file", "write"]

T = TypeVar("T")

FORMAT = "shallowrules/2"

PARTS = ("format", "columns", "nodes", "clusters", "statistics", "settings", "clustering", "flow")

Setting = str | int | float | bool | list[str]
"""The value of an option that rules were made with."""

Source = str | bytes | os.PathLike[str] | IO[str] | IO[bytes]
"""A document: the path of its file, its text (which begins with a brace) or bytes, or an open file."""

NODE_KINDS: dict[str, type[Node]] = {"cut": Cut, "membership": Membership, "leaf": Leaf}

Parts = tuple[
    tuple[RuleColumn, ...],
    tuple[Node, ...],
    tuple[Cluster, ...],
    Statistics,
    dict[str, Setting],
    Clustering | None,
    Flow | None,
]


def dump(
    columns: Sequence[RuleColumn],
    nodes: Sequence[Node],
    clusters: Sequence[Cluster],
    statistics: Statistics,
    settings: Mapping[str, Setting],
    clustering: Clustering | None,
    flow: Flow | None,
) -> dict[str, Any]:
    """Return the parts of a rule set as JSON-ready data."""
    kinds = {kind: name for name, kind in NODE_KINDS.items()}
    found = {
        "format": FORMAT,
        "columns": [write_object(column) for column in columns],
        "nodes": [{"kind": kinds[type(node)], **write_object(node)} for node in nodes],
        "clusters": [write_object(cluster) for cluster in clusters],
        "statistics": write_object(statistics),
    }
    if settings:
        found["settings"] = dict(settings)
    for name, part in (("clustering", clustering), ("flow", flow)):
        if part is not None:
            found[name] = write_object(part)
    return found


def load(document: Any) -> Parts:
    """Return the parts of a rule set from `dump`'s data, the type of every entry checked.

    Entries that this version does not know are left out with a `ShallowRulesWarning`.

    Raises
    ------
    RulesFormatError
        If it is something else.
    """
    if not isinstance(document, dict):
        raise RulesFormatError("not a rules document: the top level is not a JSON object")
    if document.get("format") != FORMAT:
        raise RulesFormatError(
            f'its "format" is {document.get("format")!r}, and this version of shallowrules reads {FORMAT!r}: '
            "if a newer version wrote it, use that one, else write the rules again"
        )
    ignored = [repr(name) for name in document if name not in PARTS]
    parts = (
        tuple(read_object(RuleColumn, item, where, ignored) for where, item in _items(document, "columns")),
        tuple(_load_node(item, where, ignored) for where, item in _items(document, "nodes")),
        tuple(read_object(Cluster, item, where, ignored) for where, item in _items(document, "clusters")),
        read_object(Statistics, document.get("statistics"), "statistics", ignored),
        _load_settings(document.get("settings", {})),
        read_object(Clustering, document["clustering"], "clustering", ignored) if "clustering" in document else None,
        read_object(Flow, document["flow"], "flow", ignored) if "flow" in document else None,
    )
    if ignored:
        more = f" and {len(ignored) - 5} more" if len(ignored) > 5 else ""
        warnings.warn(
            f"this version of shallowrules does not know the entries {', '.join(ignored[:5])}{more} of the rules "
            "document and ignores them; they do not affect the cluster of a row",
            ShallowRulesWarning,
            stacklevel=3,
        )
    return parts


def _load_settings(settings: Any) -> dict[str, Setting]:
    """Return the options that rules were made with; only the code that fits interprets them."""
    if not isinstance(settings, dict):
        raise RulesFormatError("settings must be an object")
    for name, value in settings.items():
        entries = value if isinstance(value, list) else [value]
        kinds = (str,) if isinstance(value, list) else (str, int, float, bool)
        if not all(isinstance(entry, kinds) and is_written(entry) for entry in entries) or not is_written(name):
            raise RulesFormatError(
                f"settings.{name!r} must be a text, a number of 64 bits, true, false or a list of texts"
            )
    return settings


def _load_node(item: Any, where: str, ignored: list[str]) -> Node:
    """Return the node of its kind that a JSON object describes."""
    if not isinstance(item, dict):
        raise RulesFormatError(f"{where} must be an object")
    entries = dict(item)
    kind = entries.pop("kind", None)
    if not isinstance(kind, str) or kind not in NODE_KINDS:
        raise RulesFormatError(f"{where}.kind is {kind!r}, not one of {', '.join(NODE_KINDS)}")
    return read_object(NODE_KINDS[kind], entries, where, ignored)


def write(document: Mapping[str, Any], path: str | Path | None = None) -> str:
    """Return a document as JSON text, and write it to a file if one is given: whole, or the file stays as it was."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if path is not None:
        atomic_write(path, text)
    return text


def read_file(source: Source, make: Callable[[Any], T]) -> T:
    """Return the object made of a document's data.

    Raises
    ------
    RulesFormatError
        If it is not JSON, or `make` refuses its data; names the file.
    OSError
        If it cannot be read.
    """
    content, where = _content(source)
    try:
        return make(_parse(content))
    except RulesFormatError as error:
        raise RulesFormatError(f"{where}{error}") from error.__cause__


def _content(source: Source) -> tuple[bytes, str]:
    """Return a document, and what a message about it begins with: the name of its file, if it has one."""
    where = ""
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{") and not os.path.exists(source):
        content: str | bytes = source
    elif isinstance(source, str | os.PathLike):
        content, where = read_whole(source), f"{source}: "
    elif isinstance(source, bytes | bytearray):
        content = bytes(source)
    elif not hasattr(source, "read"):
        remedy = ": read it with from_dict" if isinstance(source, Mapping) else ""
        raise RulesFormatError(
            f"expected a path, the text or bytes of a document, or an open file, not a {type(source).__name__}{remedy}"
        )
    else:
        content, name = source.read(), getattr(source, "name", None)
        where = f"{name}: " if isinstance(name, str) else ""
    # A lone surrogate is refused as invalid UTF-8.
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content, where


def _parse(text: bytes) -> Any:
    """Return the data that a JSON text holds.

    Raises
    ------
    RulesFormatError
        If it is not valid UTF-8 JSON, holds numbers that are not finite, or repeats a key.
    """
    try:
        return json.loads(text.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=distinct_keys)
    except RulesFormatError:
        raise
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise RulesFormatError(f"not valid JSON ({error}); write the rules again") from error


def _refuse_constant(token: str) -> float:
    raise RulesFormatError(f"the number {token} is not finite; rules hold finite numbers only")


def _items(document: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    """Return the items of a part of the document, and a name for each."""
    items = document.get(key)
    if not isinstance(items, list) or not items:
        raise RulesFormatError(f"{key!r} must be a list that is not empty")
    return ((f"{key}[{i}]", item) for i, item in enumerate(items))

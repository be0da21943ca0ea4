"""Pickles of rules and models: each holds the version that wrote it, and one that cannot be read is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from shallowrules.errors import RulesFormatError

__all__ = ["reading", "stamped"]

STAMP = "_shallowrules"

FORMAT = 2
"""The format of pickles: raise it with a change that makes an older version misread them. Format 1 has no stamp, and
holds rules as they were in memory; `tests/pickles` has files of it."""


def stamped(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of an object with the format and the version that write it."""
    return {**state, STAMP: (FORMAT, version("shallowrules"))}


@contextmanager
def reading(state: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the state of an object without its stamp; RulesFormatError if no object can be made of it."""
    reader, fault = version("shallowrules"), "this pickle cannot be read"
    try:
        parts = dict(state)
        written, writer = parts.pop(STAMP, (1, "0.1.0"))
        if writer == reader:
            fault = f"this pickle, of format {written}, cannot be read"
        else:
            fault = f"this pickle was written by shallowrules {writer}, and version {reader} cannot read it"
        if written > FORMAT:
            raise RulesFormatError(f"format {written} of pickles")
        if not parts:
            raise RulesFormatError("no parts")
        yield parts
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # of which RulesFormatError is one
        raise RulesFormatError(
            f"{fault}: fit again, or load the rules from their rules.json, which stays readable"
        ) from error

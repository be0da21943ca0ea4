"""Merging results from the parts of a table; a table in memory is one part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Added", "ByKey", "Run", "as_given", "at_once"]

Run = Callable[[Callable[[Any, Any], Any], Any], Any]
"""Calls a function with the rows of a table, or of each of its parts, and a state; returns the merged results."""


def at_once(rows: Any) -> Run:
    """Return the runner over rows that are one part."""
    return lambda function, state: function(rows, state)


def as_given(rows: Any) -> Any:
    """Return the rows unchanged: those of a table in memory need no encoding."""
    return rows


@dataclass(frozen=True, eq=False)
class Added:
    """Arrays of counts or of exact sums, by name, which add up, and other sums that do."""

    arrays: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]

    def merged(self, other: Added) -> Added:
        """Return the sums of both parts."""
        return Added({name: array + other.arrays[name] for name, array in self.arrays.items()})


@dataclass(frozen=True, eq=False)
class ByKey:
    """Results for several things, some of them found in each part: results by node, for example."""

    values: Mapping[Any, Any]

    def merged(self, other: ByKey) -> ByKey:
        """Return the merged result of both parts."""
        values = dict(self.values)
        for key, value in other.values.items():
            values[key] = values[key].merged(value) if key in values else value
        return ByKey(values)

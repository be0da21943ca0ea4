"""Columns that grow by batches of Python's values, as drivers of databases give them."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.tables.column import Column
from shallowrules.tables.conversion import INT64
from shallowrules.tables.given import column_of, numbers_of

__all__ = ["ColumnBuilder"]

WHOLE = Decimal(1)

Values = tuple[Any, ...] | list[Any]


class ColumnBuilder:
    """A column that grows by batches of values in Python's types."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._parts: list[NDArray[Any]] = []
        self._missing: list[NDArray[np.bool_]] = []
        self._scaled = False

    def add(self, values: Values) -> None:
        """Add the values of some rows, None where one is missing."""
        found = numbers_of(values)
        if found is None:
            objects = np.empty(len(values), object)
            objects[:] = values
            missing = np.fromiter((value is None for value in values), bool, len(values))
            if not self._scaled:
                self._scaled = any(isinstance(value, Decimal) and _has_scale(value) for value in values)
            found = objects, missing
        numbers, absent = found
        self._parts.append(numbers)
        self._missing.append(np.zeros(len(values), bool) if absent is None else absent)

    def column(self) -> Column:
        """Return all of it as a column."""
        missing = np.concatenate(self._missing) if self._missing else np.zeros(0, bool)
        kinds = {part.dtype.kind for part, absent in zip(self._parts, self._missing, strict=True) if not absent.all()}
        if kinds == {"i"}:
            whole = [part if part.dtype.kind == "i" else np.zeros(len(part), np.int64) for part in self._parts]
            return Column(self.name, "integer", np.concatenate(whole), missing if missing.any() else None)
        if kinds == {"f"}:
            floats = [part if part.dtype.kind == "f" else np.full(len(part), np.nan) for part in self._parts]
            return Column(self.name, "float", np.concatenate(floats), missing if missing.any() else None)
        objects = np.empty(len(missing), object)
        start = 0
        for part in self._parts:
            objects[start : start + len(part)] = part.tolist() if part.dtype.kind != "O" else part
            start += len(part)
        objects[missing] = None
        types = set(map(type, objects.tolist())) - {NoneType}
        if types == {str}:
            return Column(self.name, "text", objects)
        if types and all(issubclass(kind, date | timedelta) for kind in types):
            return column_of(self.name, objects)
        if not types <= {int, float, Decimal, bool} or (bool in types and len(types) > 1):
            return Column(self.name, "other", objects)
        if Decimal in types and not self._scaled and types <= {int, Decimal}:
            exact = [int(value) for value in objects[~missing]]
            if all(value in INT64 for value in exact):
                objects[~missing] = exact
        return column_of(self.name, objects)


def _has_scale(value: Decimal) -> bool:
    """Return whether a decimal has digits after its point, or is not a number."""
    if value.same_quantum(WHOLE):
        return False
    exponent = value.as_tuple().exponent
    return not isinstance(exponent, int) or exponent < 0

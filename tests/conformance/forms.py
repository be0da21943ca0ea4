"""The forms of the rules that need no engine, on the values of every type of column: `RuleSet.assign` and Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from cases import Case
from columntypes import (
    ColumnType,
    Decimals,
    Doubles,
    Singles,
    Texts,
    Truths,
    dates,
    durations,
    moments,
    signed,
    unsigned,
)
from comparing import Block
from results import Result
from values import applies, block_of

from shallowrules.errors import DataError
from shallowrules.exporters import export

__all__ = ["FORMS"]

COLUMNS = (
    ColumnType("float", Doubles()),
    ColumnType("float32", Singles()),
    ColumnType("int", signed(64)),
    ColumnType("int of 128 bits", signed(128)),
    ColumnType("int of 64 bits, unsigned", unsigned(64)),
    ColumnType("Decimal", Decimals(38, 9)),
    ColumnType("str", Texts()),
    ColumnType("bool", Truths()),
    ColumnType("date", dates()),
    ColumnType("datetime", moments()),
    ColumnType("datetime with a time zone", moments(zoned=True)),
    ColumnType("timedelta", durations()),
)

Labels = list[int | None]


def _run(title: str, labels_of: Callable[[Block], Labels], chosen: Sequence[Case]) -> Result:
    result = Result(title, f"Python {sys.version.split()[0]}")
    for case in chosen:
        for place, kind in enumerate(COLUMNS):
            if not all(applies(column, kind) for column in case.rules.columns):
                continue
            block = block_of(case, kind, place)
            for row, (label, wanted) in enumerate(zip(labels_of(block), block.expected(), strict=True)):
                wrong = None if label == wanted else f"gives {label}, the tree {wanted}"
                result.count(case, block, row, wrong)
    return result


def _assigned(block: Block) -> Labels:
    """Return the cluster that `RuleSet.assign` gives each row; None where it refuses one, as it also must if it is
    alone."""
    return [_assigned_row(block, row) for row in block.rows]


def _assigned_row(block: Block, row: Sequence[Any]) -> int | None:
    table = {column.name: _array(value) for column, value in zip(block.rules.columns, row, strict=True)}
    try:
        [label] = block.rules.assign(table)
    except DataError:
        return None
    return None if label == -1 else int(label)


def _array(value: Any) -> Any:
    array = np.empty(1, dtype=object)
    array[0] = value
    return array


def _emitted(block: Block) -> Labels:
    """Return the cluster that the emitted function gives each row; None where it raises an error."""
    namespace: dict[str, Any] = {"__name__": "emitted_rules"}
    exec(compile(export(block.rules, "python"), "<emitted rules>", "exec"), namespace)
    labels: Labels = []
    for row in block.rows:
        values = dict(zip((column.name for column in block.rules.columns), row, strict=True))
        try:
            labels.append(namespace["assign_cluster"](values))
        except (TypeError, ValueError):
            labels.append(None)
    return labels


FORMS: Mapping[str, Callable[[Sequence[Case]], Result]] = {
    "assign": lambda chosen: _run("RuleSet.assign", _assigned, chosen),
    "python": lambda chosen: _run("the emitted Python", _emitted, chosen),
}
"""By name, what runs a form over some cases."""
